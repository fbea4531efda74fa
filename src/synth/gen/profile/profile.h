/* SPDX-License-Identifier: MIT */
/* profile.h - how large real kernels are and how often they use what: the weights that the
 * generator draws with. profile.json is the default, measured by tools/kernel-corpus --profile;
 * another file of the same form can be given. */
#ifndef DM_SYNTH_PROFILE_H
#define DM_SYNTH_PROFILE_H

#include <stdbool.h>

#include "base/hash.h"

#include <dotmatrix/base.h>

#define DM_SYNTH_LINES_MAX 32
#define DM_SYNTH_PARAMETERS_MAX 16
#define DM_SYNTH_OPERATIONS_MAX 16
#define DM_SYNTH_WEIGHTS_MAX 128

/* Kernels grown at random, or composed from idioms (synth/natural), which take no weights. */
typedef enum dm_synth_style { DM_SYNTH_STYLE_RANDOM, DM_SYNTH_STYLE_NATURAL } dm_synth_style;
extern const char *const dm_synth_style_names[]; /* "random", "natural", ends with NULL */

typedef struct dm_synth_profile {
    dm_synth_style style;                   /* random, unless the caller sets another */
    int programs;                           /* of the natural style: percent of several kernels */
    bool slower;                            /* of the natural style: slower forms as well */
    dm_hash128 hash;                        /* of the file's bytes; a manifest has it */
    uint16_t weights[DM_SYNTH_WEIGHTS_MAX]; /* of operations, by dm_gen_op */
    uint16_t lines[DM_SYNTH_LINES_MAX];     /* bodies of 1, 2 ... lines; the last: or more */
    uint16_t parameters[DM_SYNTH_PARAMETERS_MAX]; /* kernels with 1, 2 ... of them */
    uint16_t
        operations[DM_SYNTH_OPERATIONS_MAX]; /* values of 1, 2 ... of them; the first: or none */
    uint16_t scalars[3];                     /* float32, float64, float16 */
} dm_synth_profile;

/* `path` NULL: the built-in profile. DM_EFORMAT when the file is none. */
dm_status dm_synth_profile_create(const char *path, dm_synth_profile **out, dm_error *err);
void dm_synth_profile_destroy(dm_synth_profile *profile);

#endif
