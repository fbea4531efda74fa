/* SPDX-License-Identifier: MIT */
/* learner.h - proximal policy optimisation (Schulman et al. 2017): act, then learn from it.
 *
 *     rollout   T times: policy ─► sampling ─► world      observations, actions, rewards ...  [T][N]
 *     update    values, advantages (gae), then `epochs` times: a new order of the T x N samples;
 *               for each minibatch: shards forward, loss, backward ─► sum ─► clip ─► Adam
 *
 * All random numbers are functions of the seed and the update's number, so a resumed run gives the
 * same bits. On the CPU samples are cut into shards of a fixed number of rows, which threads take;
 * gradients are summed in the shards' order. learner_internal.h says which file does what. */
#ifndef DM_AGENT_LEARNER_H
#define DM_AGENT_LEARNER_H

#include "agent/config.h"
#include "agent/world.h"

typedef struct dm_agent_learner dm_agent_learner;

/* What happened since the last look. */
typedef struct dm_agent_figures {
    uint64_t updates, steps; /* since the beginning: of the optimiser's rounds, of all machines */
    uint64_t episodes;       /* that ended in the last rollout */
    double score, length;    /* their mean sum of rewards and number of steps */
    double reward;           /* mean of a step */
    double loss, policy_loss, value_loss, entropy, divergence, clipped; /* of the last epoch */
    double norm;      /* of the gradients, mean over the update */
    double explained; /* share of the returns' variance that the values have */
    double rate;
    double seconds_world, seconds_act, seconds_learn; /* of the last rollout and update */
} dm_agent_figures;

/* The world must live as long as the learner. DM_EINVAL names the field that does not fit. */
dm_status dm_agent_learner_create(dm_device *device, dm_agent_world *world,
                                  const dm_agent_config *config, dm_agent_learner **out,
                                  dm_error *err);
void dm_agent_learner_destroy(dm_agent_learner *learner);

/* One rollout and one update. A reward that is no number is DM_EINVAL, and says of which machine in
 * which step it was; nothing is learned from that rollout. */
dm_status dm_agent_learner_round(dm_agent_learner *learner, dm_agent_figures *figures,
                                 dm_error *err);

/* Probabilities and values of observations [count][...] in host memory. */
dm_status dm_agent_learner_look(dm_agent_learner *learner, const float *observations,
                                uint64_t count, float *chances, float *values, dm_error *err);
/* The most probable actions for observations [count][...] in device memory; `count` is a multiple of
 * dm_agent_learner_rows. `states` [count][state_bytes]: the recurrent state of a policy with memory, zeros at first;
 * updated by the call. */
size_t dm_agent_learner_state_bytes(const dm_agent_learner *learner);
dm_status dm_agent_learner_greedy(dm_agent_learner *learner, const void *observations,
                                  uint64_t count, float *states, int32_t *actions, dm_error *err);

/* The machine whose reward ended a round; -1: none did. */
int64_t dm_agent_learner_bad_machine(const dm_agent_learner *learner);

/* Host memory to the device or back; waits. */
dm_status dm_agent_learner_copy(dm_agent_learner *learner, void *to, const void *from, size_t bytes,
                                bool to_device, dm_error *err);
uint64_t dm_agent_learner_updates(const dm_agent_learner *learner);
/* Rows that dm_agent_learner_greedy takes at a time: its arrays have a multiple of them. */
uint64_t dm_agent_learner_rows(const dm_agent_learner *learner);

#endif
