/* SPDX-License-Identifier: MIT */
/* model_state.h - copies of all that a step changes in a model, to go back to the same bits:
 * weights, moments, their average, the count of steps. They are slots of a store (nn/store.h), in the memory of the
 * model's device. The run's position in its data is not part of them; the caller keeps it. */
#ifndef DM_TRAIN_PREDICT_MODEL_STATE_H
#define DM_TRAIN_PREDICT_MODEL_STATE_H

#include "nn/store.h"

enum { DM_MODEL_STATE_PARTS = 4 }; /* DM_NN_VALUE .. DM_NN_AVERAGE */

typedef struct dm_model_state {
    dm_nn_store *store;
    size_t first;      /* slots first .. first + DM_MODEL_STATE_PARTS - 1 are its own */
    uint64_t steps;    /* of the model */
    uint64_t progress; /* of the run */
    uint64_t taken;    /* 0: nothing yet */
} dm_model_state;

dm_status dm_model_state_take(dm_model_state *state, dm_nn_model *model, uint64_t progress,
                              dm_error *err);
dm_status dm_model_state_put_back(const dm_model_state *state, dm_nn_model *model, dm_error *err);

#endif
