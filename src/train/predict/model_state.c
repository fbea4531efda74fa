/* SPDX-License-Identifier: MIT */
/* model_state.c - see model_state.h. */
#include "train/predict/model_state.h"

#include <stdlib.h>

dm_status dm_model_part_read(dm_nn_model *model, dm_nn_part part, float *to, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t k = 0; k < dm_nn_model_parameter_count(model) && status == DM_OK; k++) {
        status = dm_nn_model_read(model, k, part, to, err);
        to += dm_nn_model_parameter(model, k)->count;
    }
    return status;
}

dm_status dm_model_part_write(dm_nn_model *model, dm_nn_part part, const float *from, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t k = 0; k < dm_nn_model_parameter_count(model) && status == DM_OK; k++) {
        status = dm_nn_model_write(model, k, part, from, err);
        from += dm_nn_model_parameter(model, k)->count;
    }
    return status;
}

dm_status dm_model_state_init(dm_model_state *state, const dm_nn_model *model, dm_error *err)
{
    *state = (dm_model_state){.count = dm_nn_model_size(model)};
    state->values = calloc(state->count * DM_MODEL_STATE_PARTS, sizeof *state->values);
    return state->values != NULL
               ? DM_OK
               : dm_fail(err, DM_ENOMEM, "predict: no memory for a copy of %zu weights",
                         state->count);
}

void dm_model_state_deinit(dm_model_state *state)
{
    free(state->values);
    *state = (dm_model_state){0};
}

dm_status dm_model_state_take(dm_model_state *state, dm_nn_model *model, uint64_t progress,
                              dm_error *err)
{
    dm_status status = DM_OK;
    for (int part = 0; part < DM_MODEL_STATE_PARTS && status == DM_OK; part++)
        status = dm_model_part_read(model, (dm_nn_part)part,
                                    state->values + (size_t)part * state->count, err);
    state->steps = dm_nn_model_steps(model);
    state->progress = progress;
    state->taken = status == DM_OK;
    return status;
}

dm_status dm_model_state_put_back(const dm_model_state *state, dm_nn_model *model, dm_error *err)
{
    dm_status status = DM_OK;
    if (!state->taken)
        return dm_fail(err, DM_EINVAL, "predict: there is no state to go back to");
    for (int part = 0; part < DM_MODEL_STATE_PARTS && status == DM_OK; part++)
        status = dm_model_part_write(model, (dm_nn_part)part,
                                     state->values + (size_t)part * state->count, err);
    if (status == DM_OK)
        dm_nn_model_set_steps(model, state->steps);
    return status;
}
