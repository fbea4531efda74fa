/* SPDX-License-Identifier: MIT */
/* observe.c - what the forecasts learn from a loss: the ensemble, the residuals, the corrector, the confidence. */
#include "train/predict/run/internal.h"

#include <math.h>
#include <string.h>

void dm_predictive_remember(dm_predictive *p, double actual, double predicted, uint32_t horizon,
                            double confidence)
{
    dm_predictive_core *c = &p->c;
    dm_residual residual = {.step = c->real_steps,
                            .phase = (uint32_t)c->phases.phase,
                            .horizon = horizon,
                            .residual = actual - predicted,
                            .confidence = confidence};
    memcpy(residual.features, c->features, sizeof residual.features);
    residual.norms[0] = (float)p->turn.norm;
    if (dm_residual_store_add(&p->residuals, &residual))
        dm_corrector_teach(&c->corrector, &p->rules, c->features, actual - predicted);
    dm_predict_confidence_error(&c->confidence, actual - predicted);
}

/* The one-step forecast that was made after the step before, against what came. */
void dm_predictive_compare(dm_predictive *p, double loss)
{
    dm_predictive_core *c = &p->c;
    if (!c->has_next)
        return;
    dm_predictive_remember(p, loss, c->next_raw, 1, p->c.confidence_now);
    c->counts.errors++;
    c->counts.error_sum += fabs(loss - c->next);
    c->has_next = 0;
}

static dm_status forecast_next(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_forecast next;
    if (!dm_forecaster_ready(p->forecaster))
        return DM_OK;
    dm_status status = dm_forecaster_forecast(p->forecaster, 1, &next, err);
    c->next_raw = (double)next.mean[0];
    c->next = c->next_raw + dm_corrector_correction(&c->corrector, &p->rules, &p->residuals,
                                                    c->real_steps, c->features, c->next_raw);
    c->has_next = status == DM_OK;
    return status;
}

dm_status dm_predictive_observe(dm_predictive *p, double loss, double norm, double rate,
                                dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_status status = DM_OK;
    if (c->real_steps % p->rules.ensemble_moments == 1 || p->rules.ensemble_moments == 1) {
        uint64_t looked = dm_trace_now(p->run.trace);
        status = dm_nn_store_moments(p->store, p->run.model, DM_NN_FIRST, c->moments, err);
        if (status == DM_OK)
            status = dm_nn_store_moments(p->store, p->run.model, DM_NN_SECOND, c->moments + 2, err);
        dm_trace_span(p->run.trace, "moments", looked);
    }
    dm_dynamics_sample sample = {.step = c->progress,
                                 .loss = (float)loss,
                                 .gradient_norm = (float)norm,
                                 .first_mean = c->moments[0],
                                 .first_std = c->moments[1],
                                 .second_mean = c->moments[2],
                                 .second_std = c->moments[3],
                                 .learning_rate = (float)rate,
                                 .beta1 = (float)p->run.beta1,
                                 .beta2 = (float)p->run.beta2,
                                 .phase = (uint32_t)c->phases.phase,
                                 .phase_step = (uint32_t)(c->phases.length - c->phases.left)};
    uint64_t begun = dm_trace_now(p->run.trace);
    if (status == DM_OK)
        status = dm_forecaster_observe(p->forecaster, &sample, c->features, err);
    dm_trace_span(p->run.trace, "ensemble learns", begun);
    begun = dm_trace_now(p->run.trace);
    if (status == DM_OK)
        status = forecast_next(p, err);
    dm_trace_span(p->run.trace, "forecast", begun);
    return status;
}
