/* SPDX-License-Identifier: MIT */
/* cmd_replay.c - `dotmatrix replay`: show a mismatch again, from its bundle, or an episode that an agent's run kept. */
#include "agent/life.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/lab/verify_suite.h"
#include "lab/verify/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay_options {
    const char *reference, *dut; /* a bundle */
    const char *rom, *gif, *png; /* a life */
    int64_t scale, frames;
    dm_strings given;
} replay_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(replay_options, reference, "ref-backend", "NAME", NULL,
                     "another reference than the bundle's"),
    DM_OPTION_STRING(replay_options, dut, "dut-backend", "NAME", NULL,
                     "another backend under test than the bundle's"),
    DM_OPTION_STRING(replay_options, rom, "rom", "FILE", NULL,
                     "a life: the game, where it is elsewhere now"),
    DM_OPTION_STRING(replay_options, gif, "gif", "FILE", NULL, "a life: an animation of it"),
    DM_OPTION_STRING(replay_options, png, "png", "FILE", NULL, "a life: its last picture"),
    DM_OPTION_INT(replay_options, scale, "scale", "N", 1, 16, "2", "of the pictures"),
    DM_OPTION_INT(replay_options, frames, "frames", "N", 1, 1000000000, NULL,
                  "of the animation, at most"),
    DM_OPTION_GIVEN(replay_options, given),
};

/* ---- A life ---- */

static dm_status run_life(const replay_options *o, const char *path, bool *negative, dm_error *err)
{
    dm_agent_life life;
    dm_agent_replayed played = {0};
    const dm_agent_replay how = {
        .scale = (unsigned)o->scale, .gif = o->gif, .png = o->png, .frames = (uint64_t)o->frames};
    char *rom = NULL;
    size_t rom_size = 0;
    dm_status status = dm_agent_life_read(path, &life, err);
    if (status != DM_OK)
        return status;
    status = dm_file_read(o->rom ? o->rom : life.rom, 8u << 20, &rom, &rom_size, err);
    if (status != DM_OK && o->rom == NULL)
        dm_error_prefix(err, "%.300s: the game that was played; --rom names it", path);
    if (status == DM_OK)
        status = dm_agent_life_replay(&life, rom, rom_size, &how, &played, err);
    if (status == DM_OK) {
        *negative = !played.same_end || !played.same_total;
        printf("machine %" PRIu64 ", step %" PRIu64 " of a run on %s: %" PRIu64 " steps of %" PRIu32
               " frames%s, %s, reward %g\n",
               life.machine, life.begun, life.device, life.steps, life.frames,
               life.practice ? " of practice" : "", life.ended, life.total);
        if (!played.same_end)
            printf("the machine is not where it was at the end\n");
        else if (!played.same_total)
            printf("the machine ends where it was, but the rewards' sum is %.9g\n", played.total);
        else
            printf("the same on this CPU: registers, memory, cycles%s\n",
                   life.program ? ", rewards" : "");
    }
    free(rom);
    dm_agent_life_deinit(&life);
    return status;
}

/* ---- A mismatch ---- */

/* Options of the other kind are refused. */
static dm_status check(const replay_options *o, bool life, dm_error *err)
{
    static const char *const of[2][5] = {{"rom", "gif", "png", "scale", "frames"},
                                         {"ref-backend", "dut-backend"}};
    for (size_t i = 0; i < o->given.count; i++)
        for (size_t k = 0; k < 5 && of[life][k] != NULL; k++)
            if (strcmp(o->given.items[i], of[life][k]) == 0)
                return dm_fail(err, DM_EINVAL, "--%s is for %s", of[life][k],
                               life ? "the folder of a mismatch"
                                    : "an episode that train agent --lives kept");
    return DM_OK;
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const replay_options *o = values;
    dm_lab_bundle bundle;
    dm_lab_verdict verdict = {0};
    bool life = dm_file_exists(arguments->items[0]);
    dm_status status = check(o, life, err);
    if (status != DM_OK || life)
        return status != DM_OK ? status : run_life(o, arguments->items[0], negative, err);
    status = dm_lab_bundle_load(arguments->items[0], &bundle, err);
    if (status != DM_OK)
        return status;
    if (o->reference != NULL)
        status = dm_lab_kind_find(o->reference, &bundle.v.reference, err);
    if (o->reference != NULL)
        bundle.v.recording = NULL;
    if (status == DM_OK && o->dut != NULL)
        status = dm_lab_kind_find(o->dut, &bundle.v.dut, err);
    if (status == DM_OK)
        status = dm_lab_verify_run(&bundle.v, "replay", &verdict, err);
    if (status == DM_OK && verdict.interrupted) {
        dm_stop_kept("%" PRIu64 " steps until then agree", verdict.steps_done);
    } else if (status == DM_OK && verdict.matched) {
        printf("no mismatch: %s agrees with %s for %" PRIu64 " steps\n", bundle.v.dut->name,
               bundle.v.reference->name, verdict.steps_done);
    } else if (status == DM_OK) {
        *negative = true;
        status = dm_verify_tell(&bundle.v, &verdict, NULL, err);
    }
    dm_lab_verdict_deinit(&verdict);
    dm_lab_bundle_deinit(&bundle);
    return status;
}

const dm_command dm_command_replay = {
    .name = "replay",
    .summary = "Show a mismatch that verify found, or an agent's episode, again",
    .arguments = "BUNDLE|LIFE",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(replay_options),
    .run = run,
    .examples = "dotmatrix replay runs/mismatch/STARFALL\n"
                "dotmatrix replay runs/agent-1/lives/machine-7-0.life --gif life.gif\n",
};
