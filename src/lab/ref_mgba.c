/* SPDX-License-Identifier: MIT */
#include <mgba/flags.h> /* first: it decides the layout of struct mCore */

#include <mgba-util/vfs.h>
#include <mgba/core/config.h>
#include <mgba/core/core.h>
#include <mgba/core/log.h>
#include <mgba/core/timing.h>
#include <mgba/core/version.h>
#include <mgba/gb/core.h>
#include <mgba/internal/gb/gb.h>
#include <mgba/internal/sm83/sm83.h>

#include "lab/ref_mgba.h"

#include <stdlib.h>
#include <string.h>

#define PICTURE_STRIDE 256

struct dm_mgba {
    struct mCore *core;
    uint8_t *rom;
    color_t *picture; /* NULL: none is made */
    uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
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

static struct GB *gb_of(const dm_mgba *mgba)
{
    return mgba->core->board;
}

static struct SM83Core *cpu_of(const dm_mgba *mgba)
{
    return mgba->core->cpu;
}

static dm_status start(dm_mgba *mgba, const void *rom, size_t size, bool draw, dm_error *err)
{
    static const char *const models[] = {"gb.model", "sgb.model", "cgb.model", "cgb.hybridModel",
                                         "cgb.sgbModel"};
    struct mCore *core = mgba->core;
    mCoreInitConfig(core, NULL);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        mCoreConfigSetDefaultValue(&core->config, models[i], "DMG");
    mCoreConfigSetDefaultIntValue(&core->config, "useBios", 0);
    mCoreLoadConfig(core);
    mgba->rom = malloc(size);
    if (mgba->rom == NULL)
        return dm_fail(err, DM_ENOMEM, "mgba: no memory for the ROM");
    memcpy(mgba->rom, rom, size);
    if (draw) {
        mgba->picture = calloc((size_t)PICTURE_STRIDE * 224, sizeof *mgba->picture);
        if (mgba->picture == NULL)
            return dm_fail(err, DM_ENOMEM, "mgba: no memory for a picture");
        core->setVideoBuffer(core, mgba->picture, PICTURE_STRIDE);
    }
    struct VFile *file = VFileFromMemory(mgba->rom, size);
    if (file == NULL || !core->loadROM(core, file))
        return dm_fail(err, DM_EINVAL, "mgba: refuses the ROM");
    core->reset(core);
    return DM_OK;
}

dm_status dm_mgba_create(const void *rom, size_t size, bool draw, dm_mgba **out, dm_error *err)
{
    *out = NULL;
    mLogSetDefaultLogger(&silent);
    dm_mgba *mgba = calloc(1, sizeof *mgba);
    if (mgba == NULL)
        return dm_fail(err, DM_ENOMEM, "mgba: no memory");
    struct mCore *core = GBCoreCreate();
    if (core == NULL || !core->init(core)) {
        free(core);
        free(mgba);
        return dm_fail(err, DM_ENOMEM, "mgba: cannot start its core");
    }
    mgba->core = core;
    dm_status status = start(mgba, rom, size, draw, err);
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
    mCoreConfigDeinit(&mgba->core->config);
    mgba->core->deinit(mgba->core);
    free(mgba->rom);
    free(mgba->picture);
    free(mgba);
}

void dm_mgba_reset(dm_mgba *mgba)
{
    mgba->core->reset(mgba->core);
}

const char *dm_mgba_version(void)
{
    return projectVersion;
}

void dm_mgba_set_keys(dm_mgba *mgba, uint8_t keys)
{
    /* theirs: A B SELECT START RIGHT LEFT UP DOWN, as on the Game Boy Advance */
    uint32_t theirs = ((uint32_t)keys & 0x0Fu) << 4 | keys >> 4;
    mgba->core->setKeys(mgba->core, theirs);
}

void dm_mgba_step(dm_mgba *mgba)
{
    mgba->core->step(mgba->core);
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

bool dm_mgba_sleeps(const dm_mgba *mgba)
{
    return cpu_of(mgba)->halted && (gb_of(mgba)->memory.ie & 0x1Fu) == 0;
}

uint64_t dm_mgba_cycles(const dm_mgba *mgba)
{
    /* Two of its units are one T-cycle. */
    return mTimingGlobalTime(&gb_of(mgba)->timing) / 2;
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

const uint8_t *dm_mgba_frame(dm_mgba *mgba)
{
    for (unsigned y = 0; y < DM_GB_SCREEN_H && mgba->picture != NULL; y++)
        for (unsigned x = 0; x < DM_GB_SCREEN_W; x++) {
            /* Its greys are evenly spaced; green, the middle byte, stands for all three. */
            unsigned green = (mgba->picture[y * PICTURE_STRIDE + x] >> 8) & 0xFFu;
            mgba->shades[y * DM_GB_SCREEN_W + x] = (uint8_t)(3u - ((green + 42u) / 85u));
        }
    return mgba->shades;
}
