/* SPDX-License-Identifier: MIT */
/* peer_gambatte.c - gambatte through the libretro interface, of which only what is needed is
 * declared here (https://docs.libretro.com describes it). The core is one global machine. It has no
 * way not to draw. */
#include "bench/peers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENV_CAN_DUPE = 3, ENV_PIXEL_FORMAT = 10 };
enum { DEVICE_JOYPAD = 1 };

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

static void *library;
static void (*core_deinit)(void);
static bool (*core_load)(const struct game_info *game);
static void (*core_unload)(void);
static void (*core_run)(void);

static uint8_t keys_now;
/* The last picture, in the core's own memory; NULL before the first. */
static const uint8_t *picture;
static size_t picture_width, picture_height, picture_pitch;

static bool environment(unsigned command, void *data)
{
    switch (command) {
    case ENV_CAN_DUPE:
        *(bool *)data = true;
        return true;
    case ENV_PIXEL_FORMAT:
        return true;
    default:
        return false; /* the core then takes its defaults */
    }
}

static void video(const void *pixels, unsigned width, unsigned height, size_t pitch)
{
    if (pixels == NULL)
        return; /* the same again */
    picture = pixels;
    picture_width = width;
    picture_height = height;
    picture_pitch = pitch;
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

static int16_t input_state(unsigned port, unsigned device, unsigned index, unsigned id)
{
    /* By their numbers: B, Y, SELECT, START, UP, DOWN, LEFT, RIGHT, A. */
    static const uint8_t masks[] = {DM_GB_KEY_B,      0,
                                    DM_GB_KEY_SELECT, DM_GB_KEY_START,
                                    DM_GB_KEY_UP,     DM_GB_KEY_DOWN,
                                    DM_GB_KEY_LEFT,   DM_GB_KEY_RIGHT,
                                    DM_GB_KEY_A};
    (void)index;
    return port == 0 && device == DEVICE_JOYPAD && id < sizeof masks && (keys_now & masks[id]) != 0;
}

static bool find_core(char *out, size_t size)
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

static bool bind_symbol(void *into, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(into, &symbol, sizeof symbol);
    return symbol != NULL;
}

static dm_status open_gambatte(char *version, size_t size, dm_error *err)
{
    char path[1024];
    if (!find_core(path, sizeof path))
        return dm_fail(err, DM_EUNAVAILABLE, "gambatte's libretro core is not installed");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "gambatte: %s", dlerror());
    void (*init)(void), (*system_info)(struct system_info *);
    void (*set_environment)(environment_fn *), (*set_video)(video_fn *), (*set_audio)(audio_fn *);
    void (*set_audio_batch)(audio_batch_fn *), (*set_poll)(input_poll_fn *);
    void (*set_state)(input_state_fn *);
    if (!bind_symbol(&init, "retro_init") || !bind_symbol(&core_deinit, "retro_deinit") ||
        !bind_symbol(&system_info, "retro_get_system_info") ||
        !bind_symbol(&set_environment, "retro_set_environment") ||
        !bind_symbol(&set_video, "retro_set_video_refresh") ||
        !bind_symbol(&set_audio, "retro_set_audio_sample") ||
        !bind_symbol(&set_audio_batch, "retro_set_audio_sample_batch") ||
        !bind_symbol(&set_poll, "retro_set_input_poll") ||
        !bind_symbol(&set_state, "retro_set_input_state") ||
        !bind_symbol(&core_load, "retro_load_game") ||
        !bind_symbol(&core_unload, "retro_unload_game") || !bind_symbol(&core_run, "retro_run"))
        return dm_fail(err, DM_EUNAVAILABLE, "gambatte: %s is no libretro core", path);
    set_environment(environment);
    init();
    set_video(video);
    set_audio(audio);
    set_audio_batch(audio_batch);
    set_poll(input_poll);
    set_state(input_state);
    struct system_info info = {0};
    system_info(&info);
    snprintf(version, size, "%s", info.version != NULL ? info.version : "unknown");
    return DM_OK;
}

/* The core prints what it loads; nobody here wants to read that. */
static bool load_silently(const struct game_info *game)
{
    fflush(stdout);
    int saved = dup(1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved >= 0 && null >= 0)
        dup2(null, 1);
    bool loaded = core_load(game);
    fflush(stdout);
    if (saved >= 0 && null >= 0)
        dup2(saved, 1);
    close(saved);
    close(null);
    return loaded;
}

static void play(const uint8_t *keys, uint32_t frames)
{
    for (uint32_t i = 0; i < frames / DM_BENCH_KEY_FRAMES; i++) {
        keys_now = keys[i];
        for (int k = 0; k < DM_BENCH_KEY_FRAMES; k++)
            core_run();
    }
}

static bool is_blank(void)
{
    for (size_t y = 0; y < picture_height; y++) /* pixels have two bytes */
        for (size_t x = 0; x < picture_width * 2; x++)
            if (picture[y * picture_pitch + x] != picture[x & 1])
                return false;
    return true;
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    /* It takes a ROM that knows a Game Boy Color for one of that machine; ours is a DMG. */
    uint8_t *rom = malloc(job->rom_size);
    if (rom == NULL)
        return dm_fail(err, DM_ENOMEM, "gambatte: no memory for the ROM");
    memcpy(rom, job->rom, job->rom_size);
    if (job->rom_size > 0x143)
        rom[0x143] &= 0x7F;
    struct game_info game = {.path = job->path, .data = rom, .size = job->rom_size};
    dm_status status = DM_OK;
    picture = NULL;
    if (load_silently(&game)) {
        play(job->keys, job->warmup);
        double start = dm_bench_cpu_seconds();
        play(job->keys + job->warmup / DM_BENCH_KEY_FRAMES, job->frames);
        out->seconds = dm_bench_cpu_seconds() - start;
        if (picture == NULL)
            status = dm_fail(err, DM_EINTERNAL, "gambatte: showed nothing of %s", job->path);
        else
            out->blank = is_blank();
        core_unload();
    } else {
        status = dm_fail(err, DM_EUNSUPPORTED, "gambatte: cannot load %s", job->path);
    }
    free(rom);
    return status;
}

static void close_gambatte(void)
{
    core_deinit();
    dlclose(library);
}

const dm_bench_peer dm_bench_gambatte = {
    .name = "gambatte",
    .install = "apt-get install libretro-gambatte",
    .sound = "makes samples",
    .always_draws = true,
    .open = open_gambatte,
    .pass = pass,
    .close = close_gambatte,
};
