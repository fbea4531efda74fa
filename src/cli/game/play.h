/* SPDX-License-Identifier: MIT */
/* play.h - run one machine for some frames the way `dotmatrix run` does: keys from a script,
 * pictures for a GIF, an instruction trace, breakpoints, serial output.
 *
 * Without trace and breakpoints many frames run at a time, at full speed, and only frames that are
 * shown or saved are drawn. With them it runs instruction by instruction. */
#ifndef DM_CLI_PLAY_H
#define DM_CLI_PLAY_H

#include "base/buffer.h"
#include "base/terminal/progress.h"
#include "cli/game/hooks.h"
#include "cli/game/reward.h"
#include "gb/host/picture.h"
#include "romtools/script.h"

#include <dotmatrix/gb.h>

#include <stdio.h>

enum dm_play_end { DM_PLAY_ALL_FRAMES, DM_PLAY_BREAKPOINT, DM_PLAY_LOCKED, DM_PLAY_EPISODE };

typedef struct dm_play {
    /* What to do. */
    dm_gb *gb;
    uint64_t frames;
    const dm_gb_script *script;
    dm_gb_gif *gif; /* NULL: none */
    uint32_t every; /* frames between the pictures of the GIF */
    bool draw_last; /* the screen at the end is wanted */
    const uint16_t *breakpoints;
    size_t breakpoint_count;
    FILE *trace;          /* NULL: none */
    uint64_t trace_limit; /* lines; then it goes on without */
    FILE *serial;         /* where sent bytes are shown as they come; NULL: they are gathered */
    dm_progress *progress;
    dm_run_hooks *hooks;      /* looked at after each frame; NULL: none */
    dm_reward_single *reward; /* judges every so many frames; NULL: nothing does */
    /* What came of it. */
    uint64_t done; /* frames that were completed */
    enum dm_play_end end;
    dm_buffer sent;      /* serial output, when gathered */
    bool sent_line_open; /* the last byte shown was no newline */
    /* Its own. */
    size_t script_next;
    uint8_t keys; /* held now */
    uint64_t traced;
    uint64_t start; /* T-cycle at which frame 0 began */
    bool stepped;   /* the last frame went instruction by instruction */
} dm_play;

/* Fails only when memory runs out or the GIF gets too large. The caller releases `sent`. */
dm_status dm_play_run(dm_play *play, dm_error *err);

#endif
