/* SPDX-License-Identifier: MIT */
/* produce_internal.h - what the producer's files share.
 *
 *   produce.c       set-up, shards one after the other, resuming, the manifest
 *   produce_wave.c  a wave of slots: made, verified, replaced, written */
#ifndef DM_SYNTH_PRODUCE_INTERNAL_H
#define DM_SYNTH_PRODUCE_INTERNAL_H

#include "base/terminal/progress.h"
#include "base/thread.h"
#include "synth/check/compile.h"
#include "synth/check/verify.h"
#include "synth/produce.h"
#include "synth/store/plan.h"
#include "synth/store/shard.h"

/* Slots that a thread takes at a time without verification: ten of each category, whose lines are a
 * megabyte and still in the cache when they are written to the file. */
#define DM_SYNTH_WAVE_SLOTS 120

/* One slot of a wave. */
typedef struct dm_synth_produce_slot {
    dm_synth_record record, rejected;
    bool has_rejected;
    bool fresh;   /* the record is to be made: attempt `attempt` */
    bool written; /* its line is of this record */
    int attempt;
    dm_synth_result result;
    dm_buffer line, rejected_line;
} dm_synth_produce_slot;

typedef struct dm_synth_produce_worker {
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_verifier *verifier;
    dm_synth_record texts; /* lends its buffers to one record after the other */
    dm_buffer scratch;
    dm_synth_tally pairs, rejected; /* of this wave */
    dm_status status;
    dm_error err;
} dm_synth_produce_worker;

typedef struct dm_synth_producer {
    const dm_synth_produce_options *options;
    dm_synth_profile *profile;
    dm_synth_plan *plan;
    dm_pool *pool;
    dm_synth_produce_worker *workers;
    int threads, batch;
    dm_synth_produce_slot *slots;
    const dm_buffer **lines; /* of the slots, for one append */
    int capacity;            /* of slots: the largest wave */
    int wave;                /* slots of the next wave */
    double slot_seconds;     /* by the last wave; 0: not known yet */
    uint64_t first;          /* slot of slots[0] */
    int count;
    dm_synth_shard pairs, rejected;
    dm_hash128 *replaced; /* forms that took the place of others in this shard */
    size_t replaced_count, replaced_capacity;
    dm_progress *progress;
    bool replacing; /* only between waves, on one thread */
    int lock;
} dm_synth_producer;

/* Make, verify and write the next `count` slots of the open shard. */
dm_status dm_synth_produce_wave(dm_synth_producer *producer, uint64_t first, int count,
                                dm_error *err);
/* A line that an earlier run wrote, made again and compared; `user` is the producer (shard.h). */
dm_status dm_synth_produce_check_line(void *user, const dm_synth_record *record, const char *line,
                                      size_t size, dm_error *err);

#endif
