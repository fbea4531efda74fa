/* SPDX-License-Identifier: MIT */
/* peer_mgba.c - libmgba as a DMG without a boot ROM. Without a video buffer it draws nothing. */
#include "bench/peers.h"

#include <stdio.h>

#if DM_HAVE_MGBA

#include <mgba/flags.h> /* first: it decides what struct mCore holds */

#include <mgba-util/vfs.h>
#include <mgba/core/core.h>
#include <mgba/core/log.h>
#include <mgba/core/version.h>
#include <mgba/gb/core.h>

#include <string.h>

#define STRIDE 256
static color_t pixels[STRIDE * 256];

static void say_nothing(struct mLogger *logger, int category, enum mLogLevel level,
                        const char *format, va_list args)
{
    (void)logger, (void)category, (void)level, (void)format, (void)args;
}

static struct mLogger silent = {.log = say_nothing};

static dm_status open_mgba(char *version, size_t size, dm_error *err)
{
    (void)err;
    mLogSetDefaultLogger(&silent);
    snprintf(version, size, "%s", projectVersion);
    return DM_OK;
}

/* Theirs are A B SELECT START RIGHT LEFT UP DOWN from bit 0, ours have the halves exchanged. */
static uint32_t keys_of(uint8_t keys)
{
    return (uint32_t)(keys >> 4) | (uint32_t)(keys & 0x0F) << 4;
}

static void play(struct mCore *core, const uint8_t *keys, uint32_t frames)
{
    for (uint32_t i = 0; i < frames / DM_BENCH_KEY_FRAMES; i++) {
        core->setKeys(core, keys_of(keys[i]));
        for (int k = 0; k < DM_BENCH_KEY_FRAMES; k++)
            core->runFrame(core);
    }
}

static void configure(struct mCore *core)
{
    static const char *const models[] = {"gb.model", "sgb.model", "cgb.model", "cgb.hybridModel",
                                         "cgb.sgbModel"};
    mCoreInitConfig(core, NULL);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        mCoreConfigSetDefaultValue(&core->config, models[i], "DMG");
    mCoreConfigSetDefaultIntValue(&core->config, "useBios", 0);
    mCoreLoadConfig(core);
}

static bool is_blank(void)
{
    for (int y = 0; y < DM_GB_SCREEN_H; y++)
        for (int x = 0; x < DM_GB_SCREEN_W; x++)
            if (pixels[y * STRIDE + x] != pixels[0])
                return false;
    return true;
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    struct mCore *core = GBCoreCreate();
    if (core == NULL || !core->init(core))
        return dm_fail(err, DM_ENOMEM, "libmgba: no core");
    configure(core);
    if (job->draw)
        core->setVideoBuffer(core, pixels, STRIDE);
    dm_status status = DM_OK;
    /* Not mCoreLoadFile: that wants a logo in the header, which ROMs of ours do not have. */
    struct VFile *file = VFileMemChunk(job->rom, job->rom_size);
    if (file != NULL && core->loadROM(core, file)) {
        core->reset(core);
        play(core, job->keys, job->warmup);
        double start = dm_bench_cpu_seconds();
        play(core, job->keys + job->warmup / DM_BENCH_KEY_FRAMES, job->frames);
        out->seconds = dm_bench_cpu_seconds() - start;
        out->blank = job->draw && is_blank();
        core->unloadROM(core);
    } else {
        status = dm_fail(err, DM_EUNSUPPORTED, "libmgba: cannot load %s", job->path);
    }
    mCoreConfigDeinit(&core->config);
    core->deinit(core);
    return status;
}

#else

static dm_status open_mgba(char *version, size_t size, dm_error *err)
{
    (void)version, (void)size;
    return dm_fail(err, DM_EUNAVAILABLE, "libmgba was not there when this was built");
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    (void)job, (void)out;
    return dm_fail(err, DM_EUNAVAILABLE, "libmgba was not there when this was built");
}

#endif

static void close_mgba(void)
{
}

const dm_bench_peer dm_bench_mgba = {
    .name = "libmgba",
    .install = "apt-get install libmgba-dev, then build again",
    .sound = "makes samples",
    .open = open_mgba,
    .pass = pass,
    .close = close_mgba,
};
