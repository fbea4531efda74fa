/* SPDX-License-Identifier: MIT */
/* shard.h - a file of records being written: whole lines, whatever happens.
 *
 *   pairs-00003.jsonl.part    lines are appended; the last may be cut off by a kill
 *   pairs-00003.jsonl         complete: renamed when all its lines are on disk
 *   pairs-00003.jsonl.zst     the same of a compressed dataset: written in place of the part
 *   state/pairs-00003.json    size, checksum and counts of a complete one
 *
 * A shard that is opened again goes on behind its last whole line. Only files whose lines start
 * with the ids of the dataset are ever written to or renamed; anything else under these names is
 * refused with DM_EINVAL and left as it is. */
#ifndef DM_SYNTH_SHARD_H
#define DM_SYNTH_SHARD_H

#include "base/file.h"
#include "synth/store/tally.h"

typedef struct dm_synth_shard {
    const char *folder, *kind; /* the dataset's; "pairs" or "rejected" */
    bool compressed;           /* when it is complete */
    uint64_t number;
    int file; /* descriptor of the part; -1: not open */
    uint64_t lines, bytes;
    dm_hasher *hasher; /* of these bytes */
    dm_synth_tally tally;
} dm_synth_shard;

/* "pairs-00003.jsonl" */
#define DM_SYNTH_SHARD_NAME_MAX 64
void dm_synth_shard_name(char out[DM_SYNTH_SHARD_NAME_MAX], const char *kind, uint64_t number,
                         bool compressed);

/* Read the state of a complete shard. `*complete` is false when there is none, or when the file has
 * another size. */
typedef struct dm_synth_shard_state {
    uint64_t lines, bytes;
    dm_hash128 checksum;
    double seconds;
    int rank;
    dm_synth_tally tally;
} dm_synth_shard_state;
dm_status dm_synth_shard_load(const char *folder, const char *kind, uint64_t number,
                              bool compressed, dm_synth_shard_state *state, bool *complete,
                              dm_error *err);

typedef enum dm_synth_shard_condition {
    DM_SYNTH_SHARD_NONE,  /* no state, or no file under the complete name: `state` is not filled */
    DM_SYNTH_SHARD_WHOLE, /* size and checksum are those of its state */
    DM_SYNTH_SHARD_CUT    /* shorter than its state says */
} dm_synth_shard_condition;
/* Read the file and compare it with its state. DM_EFORMAT when the bytes differ: the file was changed
 * from outside, and the user must remove it. */
dm_status dm_synth_shard_check(const char *folder, const char *kind, uint64_t number,
                               bool compressed, dm_synth_shard_state *state,
                               dm_synth_shard_condition *condition, dm_error *err);

/* The lines that a shard of pairs has: slots `first`, `first` + 1 ... of `seed`. */
typedef struct dm_synth_shard_lines {
    uint64_t seed, first;
    /* Is it the line that the dataset has there? DM_EFORMAT when not: a part then ends before it.
     * Any other error ends the opening. */
    dm_status (*check)(void *user, const dm_synth_record *record, const char *line, size_t size,
                       dm_error *err);
    void *user;
} dm_synth_shard_lines;

/* Open to go on behind the last line that is whole and right. */
dm_status dm_synth_shard_open(dm_synth_shard *shard, const char *folder, const char *kind,
                              uint64_t number, bool compressed, const dm_synth_shard_lines *lines,
                              dm_error *err);
/* Open empty, in place of what an earlier run with the same seed left. */
dm_status dm_synth_shard_open_anew(dm_synth_shard *shard, const char *folder, const char *kind,
                                   uint64_t number, bool compressed, uint64_t seed, dm_error *err);
/* Give it up: what was written stays as a part. */
void dm_synth_shard_close(dm_synth_shard *shard);
/* Append whole lines, `count` of them; the caller counts them in the tally. */
dm_status dm_synth_shard_append(dm_synth_shard *shard, const dm_buffer *const *lines, int count,
                                dm_error *err);
/* All lines are there: to disk, checksum, state, and the name of a complete one. Closes it. */
dm_status dm_synth_shard_finish(dm_synth_shard *shard, double seconds, int rank, dm_error *err);

#endif
