/* SPDX-License-Identifier: MIT */
/* parts.c - all of a run that predicts as named byte arrays, for checkpoints. */
#include "train/predict/run/internal.h"

#include <stdlib.h>

/* The copies that were made for a checkpoint. */
void dm_predictive_forget_told(dm_predictive *p)
{
    free(p->told_states);
    free(p->told_snapshots);
    p->told_states = p->told_snapshots = NULL;
}

/* Slots of the store as one array on the host, parameters one after the other: the same for every device. */
static dm_status tell_slots(dm_predictive *p, size_t first, size_t count, float **out,
                            dm_error *err)
{
    size_t size = dm_nn_model_size(p->run.model);
    dm_status status = DM_OK;
    if (*out == NULL && (*out = malloc(count * size * sizeof **out)) == NULL)
        return dm_fail(err, DM_ENOMEM, "predict: no memory for %zu copies of %zu weights", count,
                       size);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = dm_nn_store_read(p->store, first + i, p->run.model, *out + i * size, err);
    return status;
}

static dm_status take_slots(dm_predictive *p, size_t first, size_t count, const float *from,
                            dm_error *err)
{
    size_t size = dm_nn_model_size(p->run.model);
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = dm_nn_store_write(p->store, first + i, p->run.model, from + i * size, err);
    return status;
}

dm_status dm_predictive_parts(dm_predictive *p, dm_predict_part parts[DM_PREDICT_PARTS_MAX],
                              size_t *count, dm_error *err)
{
    static const char *const names[3] = {"predict.state.0", "predict.state.1", "predict.before"};
    size_t n = 0, size = dm_forecaster_state_size(p->forecaster);
    free(p->forecaster_bytes);
    p->forecaster_bytes = malloc(size);
    if (p->forecaster_bytes == NULL)
        return dm_fail(err, DM_ENOMEM, "predict: no memory for the forecaster's state");
    dm_forecaster_state_get(p->forecaster, p->forecaster_bytes);
    size_t snapshots = (size_t)p->snapshots.kept, states = 3 * DM_MODEL_STATE_PARTS;
    dm_status status = tell_slots(p, DM_PREDICT_SLOT_STATES, states, &p->told_states, err);
    if (status == DM_OK)
        status = tell_slots(p, DM_PREDICT_SLOT_SNAPSHOTS, snapshots, &p->told_snapshots, err);
    if (status != DM_OK)
        return status;
    size_t weights = dm_nn_model_size(p->run.model) * sizeof(float);
    p->c.model_steps = dm_nn_model_steps(p->run.model);
    p->c.stored = p->residuals.added;
    p->c.taken = p->snapshots.taken;
    for (int i = 0; i < 3; i++) {
        p->c.states[i][0] = p->states[i].steps;
        p->c.states[i][1] = p->states[i].progress;
        p->c.states[i][2] = p->states[i].taken;
    }
    parts[n++] = (dm_predict_part){"predict.core", &p->c, sizeof p->c};
    parts[n++] = (dm_predict_part){"predict.residuals", p->residuals.entries,
                                   DM_RESIDUALS_MAX * sizeof *p->residuals.entries};
    parts[n++] = (dm_predict_part){"predict.snapshots", p->told_snapshots, snapshots * weights};
    parts[n++] = (dm_predict_part){"predict.forecaster", p->forecaster_bytes, size};
    for (int i = 0; i < 3; i++)
        parts[n++] = (dm_predict_part){
            names[i], p->told_states + (size_t)i * DM_MODEL_STATE_PARTS * weights / sizeof(float),
            DM_MODEL_STATE_PARTS * weights};
    *count = n;
    return DM_OK;
}

uint64_t dm_predictive_model_steps(const dm_predictive *p)
{
    return p->c.model_steps;
}

dm_status dm_predictive_loaded(dm_predictive *p, dm_error *err)
{
    const dm_predictive_core *c = &p->c;
    if (c->phases.phase >= DM_PHASES || c->newest > 1 || c->proposal.arm >= DM_BANDIT_ARMS ||
        c->proposal.forecast.steps > DM_FORECAST_MAX || c->outlook.steps > DM_FORECAST_MAX)
        return dm_fail(err, DM_EFORMAT, "predict: a damaged state");
    p->residuals.added = c->stored;
    p->snapshots.taken = c->taken;
    for (int i = 0; i < 3; i++) {
        p->states[i].steps = c->states[i][0];
        p->states[i].progress = c->states[i][1];
        p->states[i].taken = c->states[i][2];
    }
    dm_status status =
        take_slots(p, DM_PREDICT_SLOT_STATES, 3 * DM_MODEL_STATE_PARTS, p->told_states, err);
    if (status == DM_OK)
        status = take_slots(p, DM_PREDICT_SLOT_SNAPSHOTS, (size_t)p->snapshots.kept,
                            p->told_snapshots, err);
    dm_predictive_forget_told(p);
    return status != DM_OK ? status
                           : dm_forecaster_state_set(p->forecaster, p->forecaster_bytes,
                                                     dm_forecaster_state_size(p->forecaster), err);
}
