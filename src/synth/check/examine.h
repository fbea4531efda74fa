/* SPDX-License-Identifier: MIT */
/* examine.h - run compiled kernels on made-up arguments, and judge what comes out.
 *
 * A wrong kernel may crash, write out of bounds, or never end. So kernels run in a process of their
 * own, many in a row. When one ends the process, that is its result, and the rest continue in a new
 * process. */
#ifndef DM_SYNTH_EXAMINE_H
#define DM_SYNTH_EXAMINE_H

#include "synth/check/cheat.h"
#include "synth/check/trial.h"
#include "synth/store/record.h"

/* An entry point of the C text: threads first .. last - 1 of `count`. */
typedef void (*dm_examine_entry)(const void *block, uint64_t first, uint64_t last, uint64_t count);

typedef struct dm_examine_pass {
    dm_trial *trial;
    dm_examine_entry forward, backward; /* backward may be NULL */
} dm_examine_pass;

typedef struct dm_examine_job {
    dm_synth_level level;                /* run, grad or full */
    dm_examine_pass single;              /* as written */
    dm_examine_pass wide;                /* in float64; from level grad on */
    dm_cheat_case cases[DM_CHEAT_CASES]; /* of a test; trials are NULL: none is wanted */
    uint64_t seed;                       /* of the test */
    const dm_cheat_mutant *mutants;      /* that it has to notice */
    int mutant_count;
    dm_examine_entry compared; /* not NULL: only this is run, on cases that were found before */
    int case_count;            /* so many */
} dm_examine_job;

typedef struct dm_examine_outcome {
    bool passed;
    dm_synth_level failed_at;
    char reason[1024];
    int compared;
    double gradient_error, output_magnitude;
    dm_cheat_found found; /* of the test's cases */
} dm_examine_outcome;

/* Differences and gradients may be this far apart, relative to max(1, |difference|). */
#define DM_EXAMINE_TOLERANCE 1e-5

/* An error is the machine's (no process, no memory). */
dm_status dm_examine(const dm_examine_job *jobs, int count, dm_examine_outcome *outcomes,
                     dm_error *err);

#endif
