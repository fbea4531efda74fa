/* SPDX-License-Identifier: MIT */
/* shard.h - a file of records being written: whole lines, whatever happens.
 *
 *   pairs-00003.jsonl.part    lines are appended; the last may be cut off by a kill
 *   pairs-00003.jsonl         complete: renamed when all its lines are on disk
 *   state/pairs-00003.json    size, checksum and counts of a complete one
 *
 * A shard that is opened again goes on behind its last whole line. */
#ifndef DM_SYNTH_SHARD_H
#define DM_SYNTH_SHARD_H

#include "base/file.h"
#include "synth/tally.h"

typedef struct dm_synth_shard {
    const char *folder, *kind; /* the dataset's; "pairs" or "rejected" */
    uint64_t number;
    int file; /* descriptor of the part; -1: not open */
    uint64_t lines, bytes;
    dm_hasher *hasher; /* of these bytes */
    dm_synth_tally tally;
} dm_synth_shard;

/* "pairs-00003.jsonl" */
#define DM_SYNTH_SHARD_NAME_MAX 64
void dm_synth_shard_name(char out[DM_SYNTH_SHARD_NAME_MAX], const char *kind, uint64_t number);

/* What a complete shard is, from its state; `*complete` is false when it has none yet. */
typedef struct dm_synth_shard_state {
    uint64_t lines, bytes;
    dm_hash128 checksum;
    double seconds;
    int rank;
    dm_synth_tally tally;
} dm_synth_shard_state;
dm_status dm_synth_shard_load(const char *folder, const char *kind, uint64_t number,
                              dm_synth_shard_state *state, bool *complete, dm_error *err);

/* Open to go on. Lines of slots from `slot_limit` on are cut off: ids end with "-<slot>". */
dm_status dm_synth_shard_open(dm_synth_shard *shard, const char *folder, const char *kind,
                              uint64_t number, uint64_t slot_limit, dm_error *err);
/* Give it up: what was written stays as a part. */
void dm_synth_shard_close(dm_synth_shard *shard);
/* Append whole lines, `count` of them; the caller counts them in the tally. */
dm_status dm_synth_shard_append(dm_synth_shard *shard, const dm_buffer *const *lines, int count,
                                dm_error *err);
/* All lines are there: to disk, checksum, state, and the name of a complete one. Closes it. */
dm_status dm_synth_shard_finish(dm_synth_shard *shard, double seconds, int rank, dm_error *err);

#endif
