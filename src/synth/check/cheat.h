/* SPDX-License-Identifier: MIT */
/* cheat.h - the cases of a record's test: inputs that distinguish the kernel from wrong implementations.
 *
 * Arguments are drawn, the kernel computes the expected numbers, and cheats (wrong results) are tried:
 *
 *     results are zero            results stay as they were
 *     a result is a copy of another array of its kind
 *     an argument is ignored: as if it were one, or zero, or its least or largest value; a plain one
 *     also as if it were always what it is in one of the cases
 *
 * In one of the cases each cheat must exceed the test's tolerance by a margin; if not, all cases are
 * drawn again. The kernel's mutants (mutant.h) are tried as well: for mutants that the four cases do not
 * notice, up to four more cases are added, with numbers that are often equal, zero, small or large. A
 * mutant that no case notices is counted; with more than two of these, and a quarter, the record is refused.
 *
 * A case is used only if the kernel in float64 gives the same within half of the tolerance, since results
 * that depend on rounding cannot test an implementation. Cases that take the root of a negative number are
 * not used either, even if a minimum drops the result.
 *
 * Runs in the process that examines kernels; results are left in memory that both processes share. */
#ifndef DM_SYNTH_CHEAT_H
#define DM_SYNTH_CHEAT_H

#include "synth/check/trial.h"

typedef void (*dm_cheat_entry)(const void *block, uint64_t first, uint64_t last, uint64_t count);

#define DM_CHEAT_BASE DM_TRIAL_KINDS /* cases that every test has */
#define DM_CHEAT_CASES (DM_CHEAT_BASE + 4)
extern const char *const dm_cheat_case_names[DM_CHEAT_CASES];
/* Elements per dimension of each case. */
extern const int dm_cheat_case_sizes[DM_CHEAT_CASES];

typedef struct dm_cheat_case {
    dm_trial *trial;
    dm_trial *wide; /* in float64; NULL: not compared */
    uint8_t *kept;  /* block, before, outputs, gradients: dm_cheat_size bytes of shared memory */
} dm_cheat_case;

static inline size_t dm_cheat_size(const dm_trial *t)
{
    return t->block_size + 3 * t->image_size;
}

typedef struct dm_cheat_mutant {
    dm_cheat_entry entry;
    bool edge;
} dm_cheat_mutant;

/* What is run. */
typedef struct dm_cheat_subject {
    dm_cheat_entry forward, backward, wide; /* the last two may be NULL */
    const dm_cheat_mutant *mutants;
    int mutant_count;
    uint64_t seed;
} dm_cheat_subject;

typedef struct dm_cheat_found {
    int case_count; /* the first so many of the cases are the test */
    int cheats;     /* planted, all of them noticed */
    int mutants, noticed;
    int edges, edges_noticed; /* of mutants that turn < into <= and the like */
    int missed[8];            /* the first mutants that are not noticed, edges apart */
} dm_cheat_found;

/* False, and why in `reason`, when no draw gives cases that notice every cheat. */
bool dm_cheat_find_cases(const dm_cheat_case cases[DM_CHEAT_CASES], const dm_cheat_subject *subject,
                         dm_cheat_found *found, char *reason, size_t size);
/* Another program on the first `count` cases, that were found: false when its results are theirs, else
 * what the test says of it, a line for each result that is wrong, is in `symptom`. */
bool dm_cheat_compare(const dm_cheat_case *cases, int count, dm_cheat_entry forward, char *symptom,
                      size_t size);

/* Are gradients of this case in the test? At the ends of ranges and on a grid numbers are equal, and a
 * minimum has no gradient there. */
bool dm_cheat_has_gradients(int number);

#endif
