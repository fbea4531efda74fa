/* SPDX-License-Identifier: MIT */
/* profile.h - how large real kernels are and how often they use what: the weights that the
 * generator draws with. profile.json is the default, measured by tools/kernel-corpus --profile;
 * another file of the same form can be given. */
#ifndef DM_SYNTH_PROFILE_H
#define DM_SYNTH_PROFILE_H

#include "base/hash.h"

#include <dotmatrix/base.h>

typedef struct dm_synth_profile dm_synth_profile;

/* `path` NULL: the built-in profile. */
dm_status dm_synth_profile_create(const char *path, dm_synth_profile **out, dm_error *err);
void dm_synth_profile_destroy(dm_synth_profile *profile);
/* Of the file's bytes; a dataset's manifest has it. */
dm_hash128 dm_synth_profile_hash(const dm_synth_profile *profile);

#endif
