/* SPDX-License-Identifier: MIT */
/* manifest.h - manifest.json and stats.json of a dataset; produce.h says what they are for. */
#ifndef DM_SYNTH_MANIFEST_H
#define DM_SYNTH_MANIFEST_H

#include "synth/gen/profile/profile.h"
#include "synth/produce.h"

/* Raised when the same seed gives another kernel. */
uint64_t dm_synth_generator_number(dm_synth_style style);
/* If there is a manifest, compare it with the options. DM_EINVAL names the setting that differs. */
dm_status dm_synth_manifest_compare(const dm_synth_produce_options *options,
                                    const dm_synth_profile *profile, dm_error *err);
/* Write the manifest of a dataset that is begun, or compare the one that is there. */
dm_status dm_synth_manifest_begin(const dm_synth_produce_options *options,
                                  const dm_synth_profile *profile, dm_error *err);
/* When all shards are complete: the manifest with their checksums, and stats.json. Fills what
 * `produced` says of the whole dataset. */
dm_status dm_synth_manifest_finish(const dm_synth_produce_options *options,
                                   const dm_synth_profile *profile, dm_synth_produced *produced,
                                   dm_error *err);

static inline uint64_t dm_synth_shard_count(const dm_synth_produce_options *options)
{
    uint64_t lines = (uint64_t)options->shard_lines;
    return (options->count + lines - 1) / lines;
}

#endif
