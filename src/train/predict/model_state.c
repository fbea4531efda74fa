/* SPDX-License-Identifier: MIT */
/* model_state.c - see model_state.h. */
#include "train/predict/model_state.h"

dm_status dm_model_state_take(dm_model_state *state, dm_nn_model *model, uint64_t progress,
                              dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t part = 0; part < DM_MODEL_STATE_PARTS && status == DM_OK; part++)
        status = dm_nn_store_take(state->store, state->first + part, model, (dm_nn_part)part, err);
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
    for (size_t part = 0; part < DM_MODEL_STATE_PARTS && status == DM_OK; part++)
        status = dm_nn_store_put(state->store, state->first + part, model, (dm_nn_part)part, err);
    if (status == DM_OK)
        dm_nn_model_set_steps(model, state->steps);
    return status;
}
