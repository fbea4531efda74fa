/* SPDX-License-Identifier: MIT */
/* learner_internal.h - the learner's memory. N machines, T steps, C numbers in an observation, A
 * actions. */
#ifndef DM_AGENT_LEARNER_INTERNAL_H
#define DM_AGENT_LEARNER_INTERNAL_H

#include "agent/learner.h"
#include "agent/policy.h"
#include "base/thread.h"

enum {
    DM_AGENT_BUFFERS = 4096,
    DM_AGENT_ENDED = 5,          /* columns of `ended` (kernels/agent/normalise.py) */
    DM_AGENT_MOMENTS = 6,        /* of advantages, of returns */
    DM_AGENT_MOMENT_PARTS = 256, /* sums are made of so many, in order */
    DM_AGENT_CHUNKS = 65536,
};

/* What a thread needs for one shard. */
typedef struct dm_agent_worker {
    dm_device *device; /* the CPU: of one thread */
    dm_nn_exec exec;
    char *memory[DM_AGENT_TOWERS];
    dm_agent_text sample, greedy, ppo, gather, part_sums;
    /* The samples of a shard that learns. */
    float *input, *chances, *advantages, *returns, *values, *weights;
    int32_t *actions;
    float *losses, *slopes_of_losses, *parts, *slopes[DM_AGENT_TOWERS];
    dm_status failed;
    dm_error error;
} dm_agent_worker;

struct dm_agent_learner {
    dm_device *device;
    dm_stream *stream;
    bool cuda;
    dm_agent_world *world;
    dm_agent_config config;
    dm_agent_policy policy;
    uint64_t N, T, row; /* row: N * C */
    uint64_t minibatch, shards, act_shards;
    dm_pool *pool;
    dm_agent_worker *workers;
    int worker_count;
    dm_agent_text account, part_sums, add_parts, standardise, gae, shuffle;

    dm_device_buffer *buffers[DM_AGENT_BUFFERS];
    size_t buffer_count;
    float *observations; /* [T + 1][N][C]; row T is where the machines are */
    int32_t *actions;    /* [T][N], as all that follow */
    float *chances, *values, *rewards, *scaled, *weights, *advantages, *standard, *returns;
    uint8_t *flags;
    float *score, *length, *practice, *ended; /* [N], [N], [N], [N][DM_AGENT_ENDED] */
    float *game;                              /* scores, [T][N] */
    int32_t *bad, *order;
    float *moments, *moment_parts;
    float *parameters, *first, *second, *gradients; /* gradients: of each shard */
    float *shard_parts, *shard_counts;
    double squares[DM_AGENT_CHUNKS];

    uint64_t updates, optimiser_steps; /* done */
    /* Of the call that runs. */
    uint64_t t, batch_first;
    const float *looked_at;
    int32_t *chosen; /* greedy */
    float *taught;
    double entropy;
    bool reports;
    uint64_t ns_world, ns_act;
};

#endif
