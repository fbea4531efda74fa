/* SPDX-License-Identifier: MIT */
/* synth_read.h - the actions of `dotmatrix synth` that read a dataset. */
#ifndef DM_CLI_SYNTH_READ_H
#define DM_CLI_SYNTH_READ_H

#include "synth/store/record.h"

typedef struct dm_synth_read_options {
    const char *in;  /* the dataset */
    const char *id;  /* show */
    const char *png; /* stats: a picture; NULL: none */
    dm_synth_level level;
    int64_t sample, seed, jobs;
    bool json, random, list;
    int color;       /* of dm_synth_colors */
    const char *out; /* report: the page */
} dm_synth_read_options;

extern const char *const dm_synth_colors[]; /* "auto", "always", "never", ends with NULL */

/* `*negative`: something is wrong with the dataset. */
dm_status dm_cli_synth_validate(const dm_synth_read_options *options, bool *negative,
                                dm_error *err);
dm_status dm_cli_synth_show(const dm_synth_read_options *options, dm_error *err);
dm_status dm_cli_synth_report(const dm_synth_read_options *options, dm_error *err);
dm_status dm_cli_synth_stats(const dm_synth_read_options *options, dm_error *err);

#endif
