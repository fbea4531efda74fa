/* SPDX-License-Identifier: MIT */
/* mgba.c - see mgba.h. */
#include <mgba/flags.h> /* first: it decides the layout of struct mCore */

#include <mgba-util/vfs.h>
#include <mgba/core/blip_buf.h>
#include <mgba/core/config.h>
#include <mgba/core/core.h>
#include <mgba/core/log.h>
#include <mgba/core/timing.h>
#include <mgba/core/version.h>
#include <mgba/gb/core.h>
#include <mgba/internal/gb/gb.h>
#include <mgba/internal/gb/io.h>
#include <mgba/internal/sm83/sm83.h>

#include "lab/reference/mgba.h"

#include "gb/host/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_STRIDE 256
/* In mGBA's units, two to a T-cycle. Sampling is an event in each GB_MAX_SAMPLES intervals: with
 * this one it comes every 3,800 frames, and their product still fits an int32_t. */
#define NO_SAMPLES (1 << 24)

/* The few functions that are not reached through a core's own table. */
static struct {
    __typeof__(GBCoreCreate) *core_create;
    __typeof__(mCoreInitConfig) *init_config;
    __typeof__(mCoreConfigSetDefaultValue) *set_value;
    __typeof__(mCoreConfigSetDefaultIntValue) *set_int;
    __typeof__(mCoreLoadConfig) *load_config;
    __typeof__(mCoreConfigDeinit) *deinit_config;
    __typeof__(VFileFromMemory) *file_from_memory;
    __typeof__(mLogSetDefaultLogger) *set_logger;
    __typeof__(mTimingGlobalTime) *global_time;
    __typeof__(SM83Tick) *tick;
    __typeof__(mTimingSchedule) *schedule;
    __typeof__(mTimingDeschedule) *deschedule;
    __typeof__(blip_samples_avail) *samples_avail;
    const char *const *version;
} api;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char open_error[256];

struct dm_mgba {
    struct mCore *core;
    uint8_t *rom;
    dm_mgba_pictures pictures;
    color_t *picture; /* NULL: none is made */
    uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    uint8_t blank[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    /* See dm_mgba_run_to. */
    struct mTimingEvent leave;
};

static void drop_log(struct mLogger *logger, int category, enum mLogLevel level, const char *format,
                     va_list args)
{
    (void)logger;
    (void)category;
    (void)level;
    (void)format;
    (void)args;
}

static struct mLogger silent = {.log = drop_log};

static void open_library(void)
{
    const struct {
        const char *name;
        void *function; /* where its address goes */
    } symbols[] = {
        {"GBCoreCreate", &api.core_create},
        {"mCoreInitConfig", &api.init_config},
        {"mCoreConfigSetDefaultValue", &api.set_value},
        {"mCoreConfigSetDefaultIntValue", &api.set_int},
        {"mCoreLoadConfig", &api.load_config},
        {"mCoreConfigDeinit", &api.deinit_config},
        {"VFileFromMemory", &api.file_from_memory},
        {"mLogSetDefaultLogger", &api.set_logger},
        {"mTimingGlobalTime", &api.global_time},
        {"SM83Tick", &api.tick},
        {"mTimingSchedule", &api.schedule},
        {"mTimingDeschedule", &api.deschedule},
        {"blip_samples_avail", &api.samples_avail},
        {"projectVersion", &api.version},
    };
    void *library = dlopen(DM_MGBA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        memcpy(symbols[i].function, &address, sizeof address);
        if (address == NULL) {
            dlclose(library);
            library = NULL;
        }
    }
    if (library == NULL) {
        const char *why = dlerror();
        snprintf(open_error, sizeof open_error, "libmgba is not installed (%s)",
                 why != NULL ? why : DM_MGBA_LIBRARY);
        return;
    }
    api.set_logger(&silent);
}

dm_status dm_mgba_open(dm_error *err)
{
    pthread_once(&once, open_library);
    return open_error[0] == 0 ? DM_OK : dm_fail(err, DM_EUNAVAILABLE, "%s", open_error);
}

static struct GB *gb_of(const dm_mgba *mgba)
{
    return mgba->core->board;
}

static struct SM83Core *cpu_of(const dm_mgba *mgba)
{
    return mgba->core->cpu;
}

/* The picture in the buffer, in our shades. */
static void keep_picture(void *context)
{
    dm_mgba *mgba = context;
    for (unsigned y = 0; y < DM_GB_SCREEN_H; y++)
        for (unsigned x = 0; x < DM_GB_SCREEN_W; x++) {
            /* Its greys are evenly spaced; green, the middle byte, stands for all three. */
            unsigned green = (mgba->picture[y * PICTURE_STRIDE + x] >> 8) & 0xFFu;
            mgba->shades[y * DM_GB_SCREEN_W + x] = (uint8_t)(3u - ((green + 42u) / 85u));
        }
}

void dm_mgba_reset(dm_mgba *mgba)
{
    mgba->core->reset(mgba->core);
    gb_of(mgba)->audio.sampleInterval = NO_SAMPLES;
}

static dm_status start(dm_mgba *mgba, const void *rom, size_t size, dm_error *err)
{
    static const char *const models[] = {"gb.model", "sgb.model", "cgb.model", "cgb.hybridModel",
                                         "cgb.sgbModel"};
    struct mCore *core = mgba->core;
    api.init_config(core, NULL);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        api.set_value(&core->config, models[i], "DMG");
    api.set_int(&core->config, "useBios", 0);
    api.load_config(core);
    mgba->rom = malloc(size);
    if (mgba->rom == NULL)
        return dm_fail(err, DM_ENOMEM, "mgba: no memory for the ROM");
    memcpy(mgba->rom, rom, size);
    if (mgba->pictures != DM_MGBA_NO_PICTURES) {
        mgba->picture = calloc((size_t)PICTURE_STRIDE * 224, sizeof *mgba->picture);
        if (mgba->picture == NULL)
            return dm_fail(err, DM_ENOMEM, "mgba: no memory for a picture");
        core->setVideoBuffer(core, mgba->picture, PICTURE_STRIDE);
    }
    if (mgba->pictures == DM_MGBA_KEEP_COMPLETE) {
        /* The buffer gets the next picture line by line. */
        struct mCoreCallbacks callbacks = {.context = mgba, .videoFrameEnded = keep_picture};
        core->addCoreCallbacks(core, &callbacks);
    }
    struct VFile *file = api.file_from_memory(mgba->rom, size);
    if (file == NULL || !core->loadROM(core, file))
        return dm_fail(err, DM_EINVAL, "mgba: refuses the ROM");
    dm_mgba_reset(mgba);
    return DM_OK;
}

dm_status dm_mgba_create(const void *rom, size_t size, dm_mgba_pictures pictures, dm_mgba **out,
                         dm_error *err)
{
    *out = NULL;
    dm_status opened = dm_mgba_open(err);
    if (opened != DM_OK)
        return opened;
    dm_mgba *mgba = calloc(1, sizeof *mgba);
    if (mgba == NULL)
        return dm_fail(err, DM_ENOMEM, "mgba: no memory");
    struct mCore *core = api.core_create();
    if (core == NULL || !core->init(core)) {
        free(core);
        free(mgba);
        return dm_fail(err, DM_ENOMEM, "mgba: cannot start its core");
    }
    mgba->core = core;
    mgba->pictures = pictures;
    dm_status status = start(mgba, rom, size, err);
    if (status != DM_OK) {
        dm_mgba_destroy(mgba);
        return status;
    }
    *out = mgba;
    return DM_OK;
}

void dm_mgba_destroy(dm_mgba *mgba)
{
    if (mgba == NULL)
        return;
    api.deinit_config(&mgba->core->config);
    mgba->core->deinit(mgba->core);
    free(mgba->rom);
    free(mgba->picture);
    free(mgba);
}

const char *dm_mgba_version(void)
{
    return *api.version;
}

void dm_mgba_set_keys(dm_mgba *mgba, uint8_t keys)
{
    /* theirs: A B SELECT START RIGHT LEFT UP DOWN, as on the Game Boy Advance */
    uint32_t theirs = ((uint32_t)keys & 0x0Fu) << 4 | keys >> 4;
    mgba->core->setKeys(mgba->core, theirs);
}

/* One instruction, one dispatch, or in a HALT one round of events. Its own step does not return
 * from a HALT before that has ended. */
static void advance(dm_mgba *mgba)
{
    struct SM83Core *cpu = cpu_of(mgba);
    if (cpu->halted) {
        cpu->irqh.processEvents(cpu);
        return;
    }
    do
        api.tick(cpu);
    while (cpu->executionState != SM83_CORE_FETCH && !cpu->halted);
}

void dm_mgba_step_in(dm_mgba *mgba)
{
    advance(mgba);
}

void dm_mgba_step(dm_mgba *mgba)
{
    mgba->core->step(mgba->core);
}

/* A HALT is passed over in jumps from event to event, inside one call, until it ends. An event of
 * ours makes that call return, with time at the next event: shortly before the end of a run there
 * is one of ours in every M-cycle, so that it is exactly there. */
#define M_CYCLE 8 /* in mGBA's units, two to a T-cycle */

static void leave_halt(struct mTiming *timing, void *context, uint32_t late)
{
    dm_mgba *mgba = context;
    gb_of(mgba)->earlyExit = true;
    api.schedule(timing, &mgba->leave, M_CYCLE - (int32_t)late);
}

void dm_mgba_pass_halt(dm_mgba *mgba)
{
    for (unsigned i = 0; i < 100000 && cpu_of(mgba)->halted && !dm_mgba_sleeps(mgba); i++)
        advance(mgba);
}

void dm_mgba_run_to(dm_mgba *mgba, uint64_t cycles)
{
    struct mTiming *timing = &gb_of(mgba)->timing;
    uint64_t now = dm_mgba_cycles(mgba);
    if (cycles <= now)
        return;
    mgba->leave = (struct mTimingEvent){
        .context = mgba, .callback = leave_halt, .name = "leave", .priority = 0xFF};
    int32_t when = (int32_t)((cycles - now) * 2) - M_CYCLE;
    api.schedule(timing, &mgba->leave, when > 0 ? when : 0);
    while (dm_mgba_cycles(mgba) < cycles && !dm_mgba_sleeps(mgba))
        advance(mgba);
    api.deschedule(timing, &mgba->leave);
}

void dm_mgba_run_frame(dm_mgba *mgba)
{
    mgba->core->runFrame(mgba->core);
}

dm_gb_registers dm_mgba_get_registers(const dm_mgba *mgba)
{
    const struct SM83Core *cpu = cpu_of(mgba);
    return (dm_gb_registers){.a = cpu->a,
                             .f = cpu->f.packed,
                             .b = cpu->b,
                             .c = cpu->c,
                             .d = cpu->d,
                             .e = cpu->e,
                             .h = cpu->h,
                             .l = cpu->l,
                             .pc = cpu->pc,
                             .sp = cpu->sp,
                             .ime = gb_of(mgba)->memory.ime,
                             .halted = cpu->halted};
}

unsigned dm_mgba_samples(const dm_mgba *mgba)
{
    int waiting = api.samples_avail(mgba->core->getAudioChannel(mgba->core, 0));
    return (unsigned)(gb_of(mgba)->audio.sampleIndex + waiting);
}

bool dm_mgba_sleeps(const dm_mgba *mgba)
{
    return cpu_of(mgba)->halted && (gb_of(mgba)->memory.ie & 0x1Fu) == 0;
}

uint64_t dm_mgba_cycles(const dm_mgba *mgba)
{
    /* Two of its units are one T-cycle. */
    return api.global_time(&gb_of(mgba)->timing) / 2;
}

static uint8_t *raw(dm_mgba *mgba, uint16_t address)
{
    struct GB *gb = gb_of(mgba);
    if (address >= 0x8000 && address < 0xA000)
        return gb->video.vram + (address & 0x1FFF);
    if (address >= 0xC000 && address < 0xFE00)
        return gb->memory.wram + (address & 0x1FFF);
    if (address >= 0xFE00 && address < 0xFEA0)
        return gb->video.oam.raw + (address & 0xFF);
    if (address >= 0xFF80 && address < 0xFFFF)
        return gb->memory.hram + (address & 0x7F);
    return NULL;
}

uint8_t dm_mgba_peek(dm_mgba *mgba, uint16_t address)
{
    const uint8_t *byte = raw(mgba, address);
    return byte != NULL ? *byte : (uint8_t)mgba->core->busRead8(mgba->core, address);
}

void dm_mgba_poke(dm_mgba *mgba, uint16_t address, uint8_t value)
{
    uint8_t *byte = raw(mgba, address);
    if (byte != NULL)
        *byte = value;
    else
        mgba->core->busWrite8(mgba->core, address, value);
}

void dm_mgba_draw_last_of(dm_mgba *mgba, uint32_t frames)
{
    struct GBVideo *video = &gb_of(mgba)->video;
    video->frameskip = (int)frames - 1;
    video->frameskipCounter = (int)frames - 1;
}

const uint8_t *dm_mgba_frame(dm_mgba *mgba)
{
    bool on = (gb_of(mgba)->memory.io[GB_REG_LCDC] & 0x80u) != 0;
    if (mgba->pictures == DM_MGBA_KEEP_NOTHING)
        keep_picture(mgba);
    return on ? mgba->shades : mgba->blank;
}

size_t dm_mgba_state_size(const dm_mgba *mgba)
{
    return mgba->core->stateSize(mgba->core);
}

bool dm_mgba_save(const dm_mgba *mgba, void *bytes)
{
    return mgba->core->saveState(mgba->core, bytes);
}

bool dm_mgba_load(dm_mgba *mgba, const void *bytes)
{
    bool loaded = mgba->core->loadState(mgba->core, bytes);
    gb_of(mgba)->audio.sampleInterval = NO_SAMPLES;
    return loaded;
}

static void copy_cartridge_ram(dm_mgba *mgba, const dm_gb *like)
{
    struct GB *gb = gb_of(mgba);
    size_t size = like->rom.ram_size < gb->sramSize ? like->rom.ram_size : gb->sramSize;
    if (gb->memory.sram != NULL)
        memcpy(gb->memory.sram, like->ram + DM_GB_CART_RAM, size);
}

void dm_mgba_start_like(dm_mgba *mgba, dm_gb *like)
{
    /* Registers whose writing does nothing but set them. */
    static const uint16_t registers[] = {0xFF05, 0xFF06, 0xFF07, 0xFF42, 0xFF43, 0xFF45,
                                         0xFF47, 0xFF48, 0xFF49, 0xFF4A, 0xFF4B, 0xFF41,
                                         0xFF00, 0xFF26, 0xFFFF, 0xFF0F};
    uint8_t lcdc = dm_gb_peek(like, 0xFF40);
    dm_mgba_poke(mgba, 0xFF40, 0);
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
        dm_mgba_poke(mgba, registers[i], dm_gb_peek(like, registers[i]));
    for (uint32_t address = 0x8000; address < 0xFFFF; address++)
        if (address < 0xA000 || (address >= 0xC000 && address < 0xE000) ||
            (address >= 0xFE00 && address < 0xFEA0) || address >= 0xFF80)
            dm_mgba_poke(mgba, (uint16_t)address, dm_gb_peek(like, (uint16_t)address));
    copy_cartridge_ram(mgba, like);
    dm_mgba_poke(mgba, 0xFF04, 0);
    dm_gb_registers r = dm_gb_get_registers(like);
    struct SM83Core *cpu = cpu_of(mgba);
    cpu->a = r.a;
    cpu->f.packed = r.f;
    cpu->b = r.b;
    cpu->c = r.c;
    cpu->d = r.d;
    cpu->e = r.e;
    cpu->h = r.h;
    cpu->l = r.l;
    cpu->pc = r.pc;
    cpu->sp = r.sp;
    gb_of(mgba)->memory.ime = r.ime;
    if (lcdc & 0x80u)
        dm_mgba_poke(mgba, 0xFF40, lcdc);
    memset(mgba->shades, 0, sizeof mgba->shades);
}
