/* SPDX-License-Identifier: MIT */
/* learner_internal.h - the learner's memory, shared by its files. N machines, T steps, C numbers in an
 * observation, A actions, S = N x T samples.
 *
 *     learner.c           memory, creation, queries of the policy
 *     learner_rollout.c   acting for T steps, figures of the rollout
 *     learner_update.c    advantages, epochs, the optimiser
 *     learner_normalise.c running means and deviations
 *     learner_graphs.c    CUDA: the same as graphs
 *
 * On the CPU threads take shards, each with gradients of its own. On CUDA there is one worker: shards run one after the
 * other on the stream and add to the same gradients; the host reads a few figures twice a round. Values that change
 * from round to round lie in device memory (`seeds`, `orders`, `schedule`), so that captured graphs can be replayed. */
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
    DM_AGENT_TALLY = 6,        /* columns of `tally` */
    DM_AGENT_REPORT_ROWS = 64, /* samples whose parts of the loss one thread sums, on CUDA */
};

/* Figures that the host reads after an update, by their place in `numbers`. */
enum {
    DM_AGENT_AT_ADVANTAGES = 0, /* count, mean, squares off it */
    DM_AGENT_AT_RETURNS = 3,    /* likewise */
    DM_AGENT_AT_REPORT = 8,     /* likewise, of each part of the loss */
    DM_AGENT_AT_CONTROL =
        DM_AGENT_AT_REPORT + 3 * DM_AGENT_PARTS + 1, /* kernels/agent/optimise.py */
    DM_AGENT_NUMBERS = DM_AGENT_AT_CONTROL + 8,
};

/* Where time went: marks on the stream, or the clock. */
enum { DM_AGENT_SPAN_ACT, DM_AGENT_SPAN_WORLD, DM_AGENT_SPANS };

/* What a thread needs for one shard. */
typedef struct dm_agent_worker {
    dm_device *device; /* the CPU: of one thread */
    dm_nn_exec exec;
    char *memory[DM_AGENT_TOWERS];
    dm_agent_text sample, look, ratios, greedy, ppo, gather, unpack, see, part_sums, gather_starts;
    /* The samples of a shard that learns. */
    float *input, *chances, *advantages, *returns, *values, *weights;
    int32_t *actions;
    uint8_t *starts;
    float *losses, *slopes_of_losses, *ones, *states, *parts, *slopes[DM_AGENT_TOWERS];
    dm_status failed;
    dm_error error;
} dm_agent_worker;

struct dm_agent_learner {
    dm_device *device;
    dm_stream *stream;
    bool cuda;
    dm_agent_world *world;
    dm_agent_config config;
    dm_nn_exec exec; /* of the workers; the CUDA table's owner */
    dm_agent_policy policy;
    uint64_t N, T, row_bytes; /* row_bytes: of a machine's observation */
    uint64_t minibatch, shards, act_shards;
    uint64_t report_parts; /* of a shard */
    dm_pool *pool;
    dm_agent_worker *workers;
    int worker_count;
    dm_agent_text account, lucky, tally, part_sums, add_parts, standardise, gae, vtrace, shuffle,
        control, adam, starts_of, sequences, discounted, divide;

    dm_device_buffer *buffers[DM_AGENT_BUFFERS];
    size_t buffer_count;
    uint8_t *observations; /* [T + 1][N][row_bytes]; row T is where the machines are */
    int32_t *actions;      /* [T][N], as all that follow */
    float *chances, *values, *rewards, *scaled, *weights, *advantages, *standard, *returns;
    uint8_t *flags;
    float *score, *length, *practice, *ended; /* [N], [N], [N], [N][DM_AGENT_ENDED] */
    float *action_ratios;                     /* V-trace's, [T][N] */
    float *game;                              /* scores, [T][N] */
    int32_t *bad, *order;
    /* Of a policy with memory: the states now and when the rollout began [N][state]; where a state is zero before a
     * step, [T + 1][N]; the order of machines. */
    float *states, *first_states;
    uint8_t *starts;
    int32_t *machine_order;
    /* Of normalise_obs and normalise_rewards, over the whole run: count, mean and squares of each number [C][3], of the
     * discounted sums of rewards [3]; such sums of the episodes that go on [N], and of each step [T][N]. */
    float *seen, *gains, *running, *totals;
    float *numbers, *moment_parts, *tallies, *square_sums;
    /* Of this round: the seed of each step's draws [T], of each epoch's order [epochs], and `schedule`: the weight of
     * the entropy, then for each of the optimiser's steps the rate and Adam's corrections [1 + 3 epochs
     * minibatches]. */
    int32_t *seeds;
    uint32_t *orders;
    float *schedule;
    float *parameters, *first, *second, *gradients; /* gradients: of each shard */
    float *shard_parts, *shard_counts;              /* [shards][report_parts][5][3], [shards][2] */
    double squares[DM_AGENT_CHUNKS];

    int64_t bad_machine;               /* whose reward was no number; -1: none */
    uint64_t updates, optimiser_steps; /* done */
    /* Of the call that runs. */
    uint64_t t, batch_first;
    const uint8_t *looked_at;
    bool again;        /* V-trace: the rollout is looked at again */
    float *remembered; /* greedy: the states */
    int32_t *chosen;   /* greedy */
    float *taught;
    double entropy;
    bool reports;
    uint64_t ns[DM_AGENT_SPANS];
    dm_event **events; /* CUDA: 2 T + 2 of a rollout */
    /* CUDA: graphs of act(0), the world's step 0, act(1) .. act(T), then of the update. NULL: not captured yet. */
    dm_graph **graphs;
    bool warm;      /* a round was made without graphs: products chose their algorithms */
    bool no_graphs; /* the driver cannot capture it */
};

/* What one of the graphs captures; `t` is its step. */
typedef dm_status (*dm_agent_piece)(dm_agent_learner *l, uint64_t t, dm_error *err);
/* Queues `piece`: as graph `index`, once the learner is warm. */
dm_status dm_agent_queue(dm_agent_learner *l, uint64_t index, dm_agent_piece piece, uint64_t t,
                         dm_error *err);
uint64_t dm_agent_graph_count(const dm_agent_learner *l);
void dm_agent_graphs_destroy(dm_agent_learner *l);

/* Bytes of device memory, queued. */
dm_status dm_agent_clear(dm_agent_learner *l, void *at, size_t bytes, dm_error *err);
dm_status dm_agent_copy(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                        dm_error *err);
/* To the host; waits. */
dm_status dm_agent_read(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                        dm_error *err);

typedef dm_status (*dm_agent_task)(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard,
                                   dm_error *err);
dm_status dm_agent_run_shards(dm_agent_learner *l, uint64_t count, dm_agent_task task,
                              dm_error *err);
/* A number for a kernel that seeds its generator with an int. */
int32_t dm_agent_seed_number(uint64_t seed, uint64_t stream, uint64_t index);
enum { DM_AGENT_STREAM_SAMPLE = 1 << 20, DM_AGENT_STREAM_ORDER }; /* beside those of the weights */
/* Rows first .. of observations, or those that order[first ..] names, as a network's input. */
dm_status dm_agent_see(dm_agent_learner *l, dm_agent_worker *w, const uint8_t *observations,
                       const int32_t *order, uint64_t first, uint64_t rows, dm_agent_sight *sight,
                       dm_error *err);
void dm_agent_logits(dm_agent_text *text, dm_agent_rows rows, float *slopes, uint64_t count,
                     uint64_t columns);
void dm_agent_column(dm_agent_text *text, const char *name, dm_agent_rows rows, float *slopes,
                     uint64_t count);

/* Merge the count, mean and sum of squared deviations of each column of samples [T x N][columns] into state
 * [columns][3]; samples of weight 0 are left out. */
dm_status dm_agent_add_moments(dm_agent_learner *l, float *samples, uint64_t columns, float *state,
                               dm_error *err);
/* The rollout's rewards in `scaled`. */
dm_status dm_agent_normalise_rewards(dm_agent_learner *l, dm_error *err);
/* After the update. */
dm_status dm_agent_count_observations(dm_agent_learner *l, dm_error *err);
/* dm_agent_see into the worker's input. */
dm_status dm_agent_see_normalised(dm_agent_learner *l, dm_agent_worker *w,
                                  const uint8_t *observations, const int32_t *order, uint64_t first,
                                  uint64_t rows, dm_error *err);

/* Run the updated policy over the rollout again, for ratios and values. */
dm_status dm_agent_look_again(dm_agent_learner *l, dm_error *err);
dm_status dm_agent_rollout(dm_agent_learner *l, dm_agent_figures *f, dm_error *err);
dm_status dm_agent_update(dm_agent_learner *l, dm_agent_figures *f, dm_error *err);

#endif
