/* SPDX-License-Identifier: MIT */
/* cheat.h - the cases of a record's test: inputs that tell the kernel from what only looks like it.
 *
 * Arguments are drawn, the kernel gives the expected numbers, and cheats are planted:
 *
 *     results are zero            results stay as they were
 *     a result is a copy of another array of its kind
 *     an argument is ignored: as if it were one, or zero, or its least or largest value
 *
 * Each has to be off by more than the test allows, with some to spare, in one of the cases; if not, all
 * are drawn again. Runs in the process that examines kernels; what was found is left in memory that
 * both processes see. */
#ifndef DM_SYNTH_CHEAT_H
#define DM_SYNTH_CHEAT_H

#include "synth/check/trial.h"

typedef void (*dm_cheat_entry)(const void *block, uint64_t first, uint64_t last, uint64_t count);

#define DM_CHEAT_CASES DM_TRIAL_KINDS
extern const char *const dm_cheat_case_names[DM_CHEAT_CASES];
/* Elements per dimension of each case. */
extern const int dm_cheat_case_sizes[DM_CHEAT_CASES];

typedef struct dm_cheat_case {
    dm_trial *trial;
    uint8_t *kept; /* block, before, outputs, gradients: dm_cheat_size bytes of shared memory */
} dm_cheat_case;

static inline size_t dm_cheat_size(const dm_trial *t)
{
    return t->block_size + 3 * t->image_size;
}

/* False, and why in `reason`, when no draw gives cases that notice every cheat. `backward` may be
 * NULL. */
bool dm_cheat_find_cases(const dm_cheat_case cases[DM_CHEAT_CASES], dm_cheat_entry forward,
                         dm_cheat_entry backward, uint64_t seed, char *reason, size_t size);
/* Another program on the cases that were found: false when its results are theirs, else what the test
 * says of it, a line for each result that is wrong, is in `symptom`. */
bool dm_cheat_compare(const dm_cheat_case cases[DM_CHEAT_CASES], dm_cheat_entry forward,
                      char *symptom, size_t size);

/* Are gradients of this case in the test? At the ends of ranges numbers are equal, and a minimum has
 * no gradient there. */
bool dm_cheat_has_gradients(int number);

#endif
