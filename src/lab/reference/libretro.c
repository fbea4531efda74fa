/* SPDX-License-Identifier: MIT */
/* libretro.c - loads a libretro core; declares the part of the interface that it uses. See libretro.h. */
#include "lab/reference/libretro.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API_VERSION 1u
#define WORK_RAM 0xC000u
#define WORK_RAM_SIZE 0x2000u

enum { ENV_CAN_DUPE = 3, ENV_PIXEL_FORMAT = 10, ENV_AUDIO_VIDEO_ENABLE = 47 | 0x10000 };
enum { ENABLE_VIDEO = 1, ENABLE_NO_AUDIO = 8 }; /* the latter: none will ever be asked for */
enum { DEVICE_JOYPAD = 1, DEVICE_ID_MASK = 256 };
enum { MEMORY_SYSTEM_RAM = 2 };
typedef enum pixel_format { PIXEL_0RGB1555, PIXEL_XRGB8888, PIXEL_RGB565 } pixel_format;

struct game_info {
    const char *path;
    const void *data;
    size_t size;
    const char *meta;
};

struct system_info {
    const char *name, *version, *extensions;
    bool need_fullpath, block_extract;
};

typedef bool environment_fn(unsigned command, void *data);
typedef void video_fn(const void *pixels, unsigned width, unsigned height, size_t pitch);
typedef void audio_fn(int16_t left, int16_t right);
typedef size_t audio_batch_fn(const int16_t *samples, size_t frames);
typedef void input_poll_fn(void);
typedef int16_t input_state_fn(unsigned port, unsigned device, unsigned index, unsigned id);

/* The core that is open, and its game. */
static struct {
    void *library; /* NULL: none */
    bool plays;
    void (*init)(void);
    void (*deinit)(void);
    unsigned (*api_version)(void);
    void (*system_info)(struct system_info *);
    void (*set_environment)(environment_fn *);
    void (*set_video)(video_fn *);
    void (*set_audio)(audio_fn *);
    void (*set_audio_batch)(audio_batch_fn *);
    void (*set_poll)(input_poll_fn *);
    void (*set_state)(input_state_fn *);
    bool (*load)(const struct game_info *);
    void (*unload)(void);
    void (*run)(void);
    void *(*memory)(unsigned id);
    size_t (*memory_size)(unsigned id);
    uint8_t *rom;
    uint8_t keys;
    pixel_format format;
    /* The last picture, in the core's own memory; NULL before the first. */
    const uint8_t *pixels;
    size_t width, height, pitch;
} core;

/* ---- What the core calls ---- */

static bool environment(unsigned command, void *data)
{
    switch (command) {
    case ENV_CAN_DUPE:
        *(bool *)data = true;
        return true;
    case ENV_PIXEL_FORMAT:
        memcpy(&core.format, data, sizeof core.format);
        return core.format <= PIXEL_RGB565;
    case ENV_AUDIO_VIDEO_ENABLE:
        *(int *)data = ENABLE_VIDEO | ENABLE_NO_AUDIO;
        return true;
    default:
        return false; /* the core then takes its defaults */
    }
}

static void video(const void *pixels, unsigned width, unsigned height, size_t pitch)
{
    if (pixels == NULL)
        return; /* the same again */
    core.pixels = pixels;
    core.width = width;
    core.height = height;
    core.pitch = pitch;
}

static void audio(int16_t left, int16_t right)
{
    (void)left, (void)right;
}

static size_t audio_batch(const int16_t *samples, size_t frames)
{
    (void)samples;
    return frames;
}

static void input_poll(void)
{
}

/* By their numbers: B, Y, SELECT, START, UP, DOWN, LEFT, RIGHT, A. */
static const uint8_t masks[] = {DM_GB_KEY_B,      0,
                                DM_GB_KEY_SELECT, DM_GB_KEY_START,
                                DM_GB_KEY_UP,     DM_GB_KEY_DOWN,
                                DM_GB_KEY_LEFT,   DM_GB_KEY_RIGHT,
                                DM_GB_KEY_A};

static int16_t input_state(unsigned port, unsigned device, unsigned index, unsigned id)
{
    int16_t all = 0;
    (void)index;
    if (port != 0 || device != DEVICE_JOYPAD)
        return 0;
    for (unsigned i = 0; i < sizeof masks; i++)
        if (core.keys & masks[i])
            all = (int16_t)(all | 1 << i);
    return id == DEVICE_ID_MASK ? all : id < sizeof masks ? (all >> id & 1) : 0;
}

/* ---- Opening ---- */

static bool find_gambatte(char *out, size_t size)
{
    static const char *const patterns[] = {"/usr/lib/*/libretro/gambatte_libretro.so",
                                           "/usr/lib/libretro/gambatte_libretro.so"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        glob_t found;
        bool any = glob(patterns[i], 0, NULL, &found) == 0;
        if (any)
            snprintf(out, size, "%s", found.gl_pathv[0]);
        globfree(&found);
        if (any)
            return true;
    }
    return false;
}

static bool bind_symbols(void)
{
    const struct {
        const char *name;
        void *function; /* where its address goes */
    } symbols[] = {
        {"retro_init", &core.init},
        {"retro_deinit", &core.deinit},
        {"retro_api_version", &core.api_version},
        {"retro_get_system_info", &core.system_info},
        {"retro_set_environment", &core.set_environment},
        {"retro_set_video_refresh", &core.set_video},
        {"retro_set_audio_sample", &core.set_audio},
        {"retro_set_audio_sample_batch", &core.set_audio_batch},
        {"retro_set_input_poll", &core.set_poll},
        {"retro_set_input_state", &core.set_state},
        {"retro_load_game", &core.load},
        {"retro_unload_game", &core.unload},
        {"retro_run", &core.run},
        {"retro_get_memory_data", &core.memory},
        {"retro_get_memory_size", &core.memory_size},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0] && all; i++) {
        void *address = dlsym(core.library, symbols[i].name);
        memcpy(symbols[i].function, &address, sizeof address);
        all = address != NULL;
    }
    return all && core.api_version() == API_VERSION;
}

static dm_status open_core(const char *path, dm_error *err)
{
    char found[1024];
    if (core.library != NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "libretro: one core at a time, with one machine");
    if (path == NULL && !find_gambatte(found, sizeof found))
        return dm_fail(err, DM_EUNAVAILABLE, "gambatte's libretro core is not installed");
    path = path != NULL ? path : found;
    /* A name without a slash would be looked for in the system's folders. */
    core.library = strchr(path, '/') != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (core.library == NULL && strchr(path, '/') == NULL)
        return dm_fail(err, DM_EINVAL, "libretro:%.800s: the path of a file, with a / in it", path);
    if (core.library == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "libretro: %.800s", dlerror());
    if (!bind_symbols()) {
        dlclose(core.library);
        core.library = NULL;
        return dm_fail(err, DM_EUNAVAILABLE, "%.800s: no libretro core of version %u", path,
                       API_VERSION);
    }
    core.format = PIXEL_0RGB1555;
    core.pixels = NULL;
    core.keys = 0;
    core.set_environment(environment);
    core.init();
    core.set_video(video);
    core.set_audio(audio);
    core.set_audio_batch(audio_batch);
    core.set_poll(input_poll);
    core.set_state(input_state);
    return DM_OK;
}

static void close_core(void)
{
    core.deinit();
    dlclose(core.library);
    core.library = NULL;
}

/* Cores print what they load. */
static bool load_silently(const struct game_info *game)
{
    fflush(stdout);
    int saved = dup(1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved >= 0 && null >= 0)
        dup2(null, 1);
    bool loaded = core.load(game);
    fflush(stdout);
    if (saved >= 0 && null >= 0)
        dup2(saved, 1);
    close(saved);
    close(null);
    return loaded;
}

dm_status dm_libretro_begin(const char *path, const void *rom, size_t size, dm_error *err)
{
    dm_status status = open_core(path, err);
    if (status != DM_OK)
        return status;
    core.rom = malloc(size);
    if (core.rom == NULL) {
        close_core();
        return dm_fail(err, DM_ENOMEM, "libretro: no memory for the ROM");
    }
    /* A ROM that knows the Game Boy Color would be run as on one; ours is a DMG. */
    memcpy(core.rom, rom, size);
    if (size > 0x143)
        core.rom[0x143] &= 0x7F;
    struct game_info game = {.path = "game.gb", .data = core.rom, .size = size};
    core.plays = load_silently(&game);
    if (core.plays)
        return DM_OK;
    dm_libretro_end();
    return dm_fail(err, DM_EUNSUPPORTED, "libretro: the core refuses the ROM");
}

void dm_libretro_end(void)
{
    if (core.plays)
        core.unload();
    core.plays = false;
    free(core.rom);
    core.rom = NULL;
    if (core.library != NULL)
        close_core();
}

dm_status dm_libretro_version(const char *path, char *out, size_t size, dm_error *err)
{
    struct system_info info = {0};
    bool open = core.library != NULL;
    dm_status status = open ? DM_OK : open_core(path, err);
    if (status != DM_OK)
        return status;
    core.system_info(&info);
    snprintf(out, size, "%s %s", info.name != NULL ? info.name : "unknown",
             info.version != NULL ? info.version : "");
    if (!open)
        close_core();
    return DM_OK;
}

/* ---- Running ---- */

void dm_libretro_set_keys(uint8_t keys)
{
    core.keys = keys;
}

void dm_libretro_run_frame(void)
{
    core.run();
}

/* The green of a pixel, 0 to 255: in a palette of greys, and in one of a DMG's greens, it tells the
 * shades apart. */
static unsigned green_of(const uint8_t *row, size_t x)
{
    uint16_t half;
    uint32_t word;
    if (core.format == PIXEL_XRGB8888) {
        memcpy(&word, row + 4 * x, sizeof word);
        return word >> 8 & 0xFFu;
    }
    memcpy(&half, row + 2 * x, sizeof half);
    return core.format == PIXEL_RGB565 ? (half >> 5 & 63u) * 255u / 63u
                                       : (half >> 5 & 31u) * 255u / 31u;
}

dm_status dm_libretro_picture(uint8_t *shades, dm_error *err)
{
    memset(shades, 0, (size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    if (core.pixels == NULL)
        return DM_OK;
    if (core.width != DM_GB_SCREEN_W || core.height != DM_GB_SCREEN_H)
        return dm_fail(err, DM_EUNSUPPORTED, "libretro: its pictures have %zu x %zu pixels",
                       core.width, core.height);
    for (size_t y = 0; y < DM_GB_SCREEN_H; y++)
        for (size_t x = 0; x < DM_GB_SCREEN_W; x++)
            shades[y * DM_GB_SCREEN_W + x] =
                (uint8_t)(3u - (green_of(core.pixels + y * core.pitch, x) + 42u) / 85u);
    return DM_OK;
}

dm_status dm_libretro_read(uint16_t address, uint8_t *to, size_t size, dm_error *err)
{
    const uint8_t *ram = core.memory(MEMORY_SYSTEM_RAM);
    if (ram == NULL || core.memory_size(MEMORY_SYSTEM_RAM) < WORK_RAM_SIZE)
        return dm_fail(err, DM_EUNSUPPORTED, "libretro: the core does not show its work RAM");
    if (address < WORK_RAM || address + size > WORK_RAM + WORK_RAM_SIZE)
        return dm_fail(err, DM_EUNSUPPORTED, "libretro: of memory it shows C000:E000 alone");
    memcpy(to, ram + (address - WORK_RAM), size);
    return DM_OK;
}
