/* SPDX-License-Identifier: MIT */
/* verify.h - do records hold what they say? Many at a time, so that the start-up of the compilers
 * does not dominate.
 *
 *     dm_synth_verifier *verifier;
 *     dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_FULL};
 *     dm_synth_verifier_create(&options, &verifier, err);
 *     dm_synth_verify_batch(verifier, records, count, results, err);
 *     dm_synth_verifier_destroy(verifier);
 *
 *   bundle.c    the texts of many records as one unit for a compiler
 *   trial.c     made-up arguments for a kernel
 *   examine.c   runs kernels, in a process of their own, and judges
 *   extra.c     broken and slower forms of a program
 *   verify.c    the stages in their order; finds the record that breaks a unit
 *
 * A record's results depend on the record alone, not on its batch or on threads. One verifier serves
 * one thread; several can be used at once. */
#ifndef DM_SYNTH_VERIFY_H
#define DM_SYNTH_VERIFY_H

#include "synth/store/record.h"

typedef struct dm_synth_verifier dm_synth_verifier;

typedef struct dm_synth_verify_options {
    dm_synth_level level;
    uint64_t seed;     /* of the random arguments */
    bool repairs, ptx; /* fill these parts of the records, from level run on */
    bool warp_names;   /* the records' functions are named as in warp_name.h */
    const char *warp;  /* a Python with warp-lang, for Warp's texts; NULL: they are left alone */
    /* Called after each stage with its share of the batch's work, counted in pairs; the calls of a
     * batch add up to its pairs. May be NULL. */
    void (*progress)(void *user, uint64_t pairs);
    void *user;
} dm_synth_verify_options;

typedef struct dm_synth_result {
    bool passed;
    dm_synth_level failed_at; /* the level that was not passed */
    char reason[512];         /* one line, "" when passed */
} dm_synth_result;

/* DM_EUNAVAILABLE when the level needs a C compiler and there is none. */
dm_status dm_synth_verifier_create(const dm_synth_verify_options *options, dm_synth_verifier **out,
                                   dm_error *err);
void dm_synth_verifier_destroy(dm_synth_verifier *verifier);

/* How many records a batch should have, about: where more no longer makes it faster. */
int dm_synth_verifier_batch(const dm_synth_verifier *verifier);

/* Check `count` pairs, fill their `verification`, the `test` of those that have a reference (from
 * level run on) and `results`. A wrong record is a result; errors are those of the computer (no disk,
 * no memory, no NVRTC for records with CUDA texts). */
dm_status dm_synth_verify_batch(dm_synth_verifier *verifier, dm_synth_record *const *records,
                                int count, dm_synth_result *results, dm_error *err);

#endif
