/* SPDX-License-Identifier: MIT */
/* predictive.c - see predictive.h. */
#include "train/predict/run/internal.h"

#include <math.h>
#include <stdlib.h>

static dm_status create_parts(dm_predictive *p, const char *forecaster, dm_error *err)
{
    dm_nn_model *model = p->run.model;
    dm_status status = dm_predict_rules_check(&p->rules, err);
    if (status == DM_OK)
        status = dm_forecaster_create(&p->rules, forecaster, p->seed, &p->forecaster, err);
    if (status == DM_OK)
        status = dm_residual_store_init(&p->residuals, err);
    if (status == DM_OK)
        status = dm_nn_store_create(p->run.device, dm_nn_store_room(model),
                                    DM_PREDICT_SLOT_SNAPSHOTS + (size_t)p->rules.proposal_snapshots,
                                    &p->store, err);
    if (status == DM_OK)
        status = dm_snapshots_init(&p->snapshots, p->store, DM_PREDICT_SLOT_SNAPSHOTS,
                                   p->rules.proposal_snapshots, err);
    for (size_t i = 0; i < 3; i++)
        p->states[i] = (dm_model_state){.store = p->store,
                                        .first = DM_PREDICT_SLOT_STATES + i * DM_MODEL_STATE_PARTS};
    return status;
}

dm_status dm_predictive_create(const dm_predict_rules *rules, const dm_predict_run *run,
                               const char *forecaster, uint64_t seed, dm_predictive **out,
                               dm_error *err)
{
    dm_predictive *p = calloc(1, sizeof *p);
    if (p == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    p->rules = *rules;
    p->run = *run;
    p->seed = seed;
    dm_predict_phases_init(&p->c.phases);
    dm_predict_confidence_init(&p->c.confidence);
    dm_monitor_init(&p->c.monitor);
    dm_monitor_rate_init(&p->c.rate);
    dm_corrector_init(&p->c.corrector);
    dm_bandit_init(&p->c.bandit);
    dm_status status = create_parts(p, forecaster, err);
    if (status != DM_OK)
        dm_predictive_destroy(p);
    else
        *out = p;
    return status;
}

void dm_predictive_destroy(dm_predictive *p)
{
    if (p == NULL)
        return;
    dm_forecaster_destroy(p->forecaster);
    dm_residual_store_deinit(&p->residuals);
    dm_nn_store_destroy(p->store);
    dm_predictive_forget_told(p);
    free(p->forecaster_bytes);
    free(p);
}

dm_status dm_predictive_turn(dm_predictive *p, uint64_t steps, dm_predict_turn *turn, dm_error *err)
{
    dm_status status = DM_OK;
    uint64_t begun = dm_trace_now(p->run.trace);
    p->turn = (dm_predict_turn){.loss = NAN, .norm = NAN, .rate = NAN};
    dm_predictive_forget_told(p);
    if (p->c.real_steps == 0 && !p->states[0].taken)
        status = dm_predictive_keep_state(p, err); /* a run may diverge in its first steps */
    if (status == DM_OK && p->c.phases.left == 0)
        status = dm_predictive_decide(p, steps, err);
    p->turn.phase = (dm_predict_phase)p->c.phases.phase;
    if (status == DM_OK)
        status = p->turn.phase == DM_PHASE_PREDICT   ? dm_predictive_propose(p, err)
                 : p->turn.phase == DM_PHASE_CORRECT ? dm_predictive_correct(p, err)
                                                     : dm_predictive_real_step(p, err);
    dm_trace_span(p->run.trace, dm_predict_phase_names[p->turn.phase], begun);
    p->turn.progress = p->c.progress;
    *turn = p->turn;
    return status;
}

uint64_t dm_predictive_progress(const dm_predictive *p)
{
    return p->c.progress;
}

const dm_predict_counts *dm_predictive_counts(const dm_predictive *p)
{
    return &p->c.counts;
}

const dm_predict_phases *dm_predictive_phases(const dm_predictive *p)
{
    return &p->c.phases;
}
