/* SPDX-License-Identifier: MIT */
/* model_state.h - copies of all that a step changes in a model, to go back to the same bits:
 * weights, moments, their average, the count of steps. In host memory; where the run is in its data
 * is its owner's and kept beside it. */
#ifndef DM_TRAIN_PREDICT_MODEL_STATE_H
#define DM_TRAIN_PREDICT_MODEL_STATE_H

#include <dotmatrix/nn.h>

typedef struct dm_model_state {
    size_t count;      /* numbers in a part */
    float *values;     /* [parts][count] */
    uint64_t steps;    /* of the model */
    uint64_t progress; /* of the run */
    uint64_t taken;    /* 0: nothing yet */
} dm_model_state;

enum { DM_MODEL_STATE_PARTS = 4 }; /* DM_NN_VALUE .. DM_NN_AVERAGE */

dm_status dm_model_state_init(dm_model_state *state, const dm_nn_model *model, dm_error *err);
void dm_model_state_deinit(dm_model_state *state);
dm_status dm_model_state_take(dm_model_state *state, dm_nn_model *model, uint64_t progress,
                              dm_error *err);
dm_status dm_model_state_put_back(const dm_model_state *state, dm_nn_model *model, dm_error *err);

/* One part of all parameters, flat, in their order. */
dm_status dm_model_part_read(dm_nn_model *model, dm_nn_part part, float *to, dm_error *err);
dm_status dm_model_part_write(dm_nn_model *model, dm_nn_part part, const float *from,
                              dm_error *err);

#endif
