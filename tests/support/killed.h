/* SPDX-License-Identifier: MIT */
/* killed.h - runs of the command that are killed at random moments and resumed, each time with another number of
 * threads: what they leave at their end is what an uninterrupted run leaves, to the bit. */
#ifndef DM_TESTS_SUPPORT_KILLED_H
#define DM_TESTS_SUPPORT_KILLED_H

#include <stdbool.h>
#include <stdint.h>

#define DM_TEST_KILLS 10 /* that hit a run which had a checkpoint */

typedef struct dm_test_killed {
    const char *name; /* of the folders */
    /* Begin in `folder` or go on there; killed after `seconds`. Whether it came to its end. */
    bool (*run)(const void *context, const char *folder, uint32_t threads, double seconds);
    const void *context;
    uint64_t seed;
    double from, to; /* a kill comes between these parts of an uninterrupted run's seconds */
    const char *const *files; /* that are compared; ended by NULL */
} dm_test_killed;

/* `state`: the test's, which has a folder of its own (tmpdir.h). */
void dm_test_killed_runs_end_alike(void **state, const dm_test_killed *k);

/* dotmatrix with these arguments (ended by NULL), killed after `seconds`: whether it came to its end, which is then a
 * good one. */
bool dm_test_ends_within(const char *const *arguments, double seconds);

/* Fails the test when a file of two folders differs. */
void dm_test_same_file(const char *folder, const char *other, const char *name);

#endif
