/* SPDX-License-Identifier: MIT */
/* profile.h - how long each kernel of an exec on CUDA takes: events around every launch, while it is on. Not
 * during the recording of a graph. */
#ifndef DM_NN_PROFILE_H
#define DM_NN_PROFILE_H

#include "nn/ops.h"

typedef struct dm_nn_profile_row {
    char name[80]; /* "nn_norm_vec"; "product 768 x 65536 x 3072 dw" */
    uint32_t calls;
    double ms;    /* all of them */
    double flops; /* of products */
    double bytes;
} dm_nn_profile_row;

typedef struct dm_nn_profile dm_nn_profile;

/* From now on launches are measured, `capacity` at most. */
dm_status dm_nn_profile_start(dm_nn_exec *exec, size_t capacity, dm_error *err);
/* Stop; one row for each name, the longest first. Returns how many there are. */
dm_status dm_nn_profile_stop(dm_nn_exec *exec, dm_nn_profile_row *rows, size_t room, size_t *count,
                             dm_error *err);

/* Called before and after a launch. NULL: does nothing. */
void dm_nn_profile_begin(dm_nn_profile *profile, const char *name, double flops, double bytes);
void dm_nn_profile_end(dm_nn_profile *profile);

#endif
