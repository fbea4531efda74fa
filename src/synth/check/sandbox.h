/* SPDX-License-Identifier: MIT */
/* sandbox.h - runs programs that may do anything: mutants of kernels.
 *
 * Arrays lie between inaccessible memory, so that a wrong index traps. A run that traps, divides by
 * zero or exceeds 20 ms is stopped, and the caller continues. For one thread of a process that runs
 * nothing else: between open and close it owns the process's signals.
 *
 *     | no access, 64 GiB | arrays of one trial | no access, 64 GiB | */
#ifndef DM_SYNTH_SANDBOX_H
#define DM_SYNTH_SANDBOX_H

#include "synth/check/trial.h"

#include <signal.h>

#define DM_SANDBOX_SIGNALS 5

typedef void (*dm_sandbox_entry)(const void *block, uint64_t first, uint64_t last, uint64_t count);

typedef struct dm_sandbox {
    uint8_t *zone; /* all of it */
    size_t zone_size;
    uint8_t *image; /* arrays after a run, as dm_trial.now */
    size_t image_size;
    uint8_t *block;
    struct sigaction before[DM_SANDBOX_SIGNALS];
} dm_sandbox;

/* For images and blocks of up to these sizes; false: no memory. */
bool dm_sandbox_open(dm_sandbox *s, size_t image_size, size_t block_size);
void dm_sandbox_close(dm_sandbox *s);
/* Run on the trial's contents. False: it was stopped. */
bool dm_sandbox_run(dm_sandbox *s, const dm_trial *trial, dm_sandbox_entry entry);

#endif
