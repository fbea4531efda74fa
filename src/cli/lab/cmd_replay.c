/* SPDX-License-Identifier: MIT */
/* cmd_replay.c - `dotmatrix replay`: show a mismatch again, from its bundle. */
#include "cli/command.h"
#include "cli/lab/verify_suite.h"
#include "lab/verify/bundle.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct replay_options {
    const char *reference, *dut;
} replay_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(replay_options, reference, "ref-backend", "NAME", NULL,
                     "another reference than the bundle's"),
    DM_OPTION_STRING(replay_options, dut, "dut-backend", "NAME", NULL,
                     "another backend under test than the bundle's"),
};

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const replay_options *o = values;
    dm_lab_bundle bundle;
    dm_lab_verdict verdict = {0};
    dm_status status = dm_lab_bundle_load(arguments->items[0], &bundle, err);
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
    .summary = "Show a mismatch that verify found again",
    .arguments = "BUNDLE",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(replay_options),
    .run = run,
    .examples = "dotmatrix replay runs/mismatch/STARFALL\n",
};
