/* SPDX-License-Identifier: MIT */
/* policy.h - the networks: from observations to logits of the actions and a value.
 *
 *     observation ──► actor ──► logits[A]          or      ──► both ──► logits[A], value
 *               └───► critic ─► value                          (config field "shared")
 *
 * Networks are lists of layers of nn (nn/plan.h, nn/run.h), each planned twice with the same weights:
 * for the rows of a shard that acts and of one that learns. All networks' weights are one array.
 *
 * On the CPU a worker is a thread, with a device of one thread for the texts and memory for one
 * shard; on CUDA there is one worker, whose shards run one after the other on the stream. */
#ifndef DM_AGENT_POLICY_H
#define DM_AGENT_POLICY_H

#include "agent/config.h"
#include "agent/texts.h"
#include "agent/world.h"
#include "nn/run.h"

enum { DM_AGENT_TOWERS = 2, DM_AGENT_PARTS = 5 };

typedef struct dm_agent_tower {
    dm_nn_layer layers[32];
    size_t layer_count;
    dm_nn_plan act, learn;
    size_t first; /* of its parameters, in the arrays of all */
    bool logits, value;
} dm_agent_tower;

typedef struct dm_agent_policy {
    uint32_t actions;
    uint64_t numbers; /* in an observation */
    uint32_t act_rows, learn_rows;
    dm_agent_tower towers[DM_AGENT_TOWERS];
    uint32_t tower_count;
    size_t parameter_room;
    size_t shard_bytes[DM_AGENT_TOWERS], scratch_bytes;
    uint32_t state;     /* numbers that a machine's policy remembers; 0: none */
    uint32_t steps;     /* of a sequence that learns: learn_rows is a multiple; 1 without memory */
    size_t state_layer; /* of tower 0 */
    bool packed;        /* the networks take packed pictures as they are */
} dm_agent_policy;

/* The networks' input: rows of numbers, or packed pictures (those that `rows` names, or all in order). */
typedef struct dm_agent_sight {
    const void *at;
    const int32_t *rows;
} dm_agent_sight;

/* The other input of a policy with memory: states before the first step [sequences][state], and a byte for each row,
 * not 0 where the state before it is zero. */
typedef struct dm_agent_memory {
    const float *states;
    const uint8_t *starts;
} dm_agent_memory;

/* Rows of numbers that a network made, or wants the gradients of. */
typedef struct dm_agent_rows {
    float *at;
    uint64_t pitch; /* floats */
} dm_agent_rows;

/* `steps`: of the sequences that a policy with memory learns from. */
dm_status dm_agent_policy_init(const dm_agent_config *config, const dm_agent_world *world,
                               uint32_t steps, uint32_t act_rows, uint32_t learn_rows,
                               const dm_nn_exec *exec, dm_agent_policy *out, dm_error *err);
void dm_agent_policy_deinit(dm_agent_policy *policy);
/* The first weights, in host memory: `parameter_room` floats. */
void dm_agent_policy_first_weights(const dm_agent_policy *policy, uint64_t seed, float *weights);

/* Run the networks on a shard's input. `memory`: shard_bytes for each tower. */
dm_status dm_agent_policy_forward(const dm_agent_policy *policy, bool learn, dm_nn_exec *exec,
                                  char *const memory[DM_AGENT_TOWERS], const float *weights,
                                  dm_agent_sight input, const dm_agent_memory *before,
                                  dm_agent_rows *logits, dm_agent_rows *values, dm_error *err);
/* The states after the rows of a shard that acted: [act_rows][state]. */
const float *dm_agent_policy_states(const dm_agent_policy *policy,
                                    char *const memory[DM_AGENT_TOWERS]);
/* The backward pass. Takes the gradients of the outputs, one array per tower with the outputs'
 * pitches. Adds to `gradients`. */
dm_status dm_agent_policy_backward(const dm_agent_policy *policy, dm_nn_exec *exec,
                                   char *const memory[DM_AGENT_TOWERS], const float *weights,
                                   dm_agent_sight input, const dm_agent_memory *before,
                                   float *const slopes[DM_AGENT_TOWERS], float *gradients,
                                   dm_error *err);
/* The length of a row of a tower's output, padded to a multiple of 4 so that products are fast. */
static inline uint32_t dm_agent_tower_outputs(const dm_agent_policy *policy,
                                              const dm_agent_tower *tower)
{
    return ((tower->logits ? policy->actions : 0) + (tower->value ? 1 : 0) + 3) / 4 * 4;
}

#endif
