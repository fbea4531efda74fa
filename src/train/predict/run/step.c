/* SPDX-License-Identifier: MIT */
/* step.c - a real step: what the monitor says of it, and the copies that are kept of the model. */
#include "train/predict/run/internal.h"

#include <math.h>

dm_status dm_predictive_keep_state(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    bool first = !p->states[0].taken;
    if (!first && (c->real_steps % p->rules.monitor_checkpoint != 0 || c->warned))
        return DM_OK;
    c->newest = first ? 0 : 1 - c->newest;
    uint64_t begun = dm_trace_now(p->run.trace);
    dm_status status = dm_model_state_take(&p->states[c->newest], p->run.model, c->progress, err);
    dm_trace_span(p->run.trace, "state", begun);
    return status;
}

static dm_status take_snapshot(dm_predictive *p, dm_error *err)
{
    if (p->c.real_steps % p->rules.proposal_every != 0)
        return DM_OK;
    uint64_t begun = dm_trace_now(p->run.trace);
    dm_status status = dm_nn_store_take(p->store, dm_snapshots_next(&p->snapshots), p->run.model,
                                        DM_NN_AVERAGE, err);
    dm_trace_span(p->run.trace, "snapshot", begun);
    return status;
}

/* A step of a run that has become a plain one: without monitor and predictions. */
static dm_status plain_step(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_predict_turn *t = &p->turn;
    if (!isfinite(t->loss) || !isfinite(t->norm))
        return dm_fail(err, DM_EINVAL,
                       "predict: the run diverges at step %llu (%s), also after %llu rollbacks",
                       (unsigned long long)c->progress, "a loss or norm that is no number",
                       (unsigned long long)c->counts.rollbacks);
    c->progress++;
    dm_predict_phases_step(&c->phases);
    return DM_OK;
}

/* After a critical step: is the batch the cause, and not the run? It is when the run went back from this step already
 * and meets it again at a lower rate, or when the next batch's loss is like those before, which costs a forward pass
 * instead of a rollback. */
static dm_status look_again(dm_predictive *p, bool *batch_alone, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    double next = 0;
    *batch_alone = c->blamed == c->progress + 1;
    if (*batch_alone || dm_monitor_calms(&c->monitor, &p->rules, p->turn.loss))
        return DM_OK; /* it is not the loss that is critical */
    dm_status status = p->run.peek(p->run.user, c->progress + 1, &next, err);
    c->counts.forward += 1;
    *batch_alone = status == DM_OK && dm_monitor_calms(&c->monitor, &p->rules, next);
    return status;
}

dm_status dm_predictive_real_step(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_predict_turn *t = &p->turn;
    double factor = dm_monitor_rate_value(&c->rate, &p->rules);
    uint64_t begun = dm_trace_now(p->run.trace);
    dm_status status =
        p->run.step(p->run.user, c->progress, factor, &t->loss, &t->norm, &t->rate, err);
    dm_trace_span(p->run.trace, "step", begun);
    if (status != DM_OK)
        return status;
    c->counts.backward++;
    c->real_steps++;
    dm_monitor_rate_step(&c->rate);
    if (c->counts.plain_from > 0)
        return plain_step(p, err);
    /* The monitor judges a forecast only where a decision depends on it. */
    double predicted = c->proposal.made && c->has_next ? c->next : NAN;
    dm_monitor_sample sample = {t->loss, t->norm, predicted};
    p->verdict = dm_monitor_step(&c->monitor, &p->rules, &sample);
    bool batch_alone = false;
    if (p->verdict.level == DM_MONITOR_CRITICAL && !p->verdict.forecasts && isfinite(t->loss) &&
        isfinite(t->norm))
        status = look_again(p, &batch_alone, err);
    if (status != DM_OK)
        return status;
    if (batch_alone) {
        p->verdict =
            (dm_monitor_verdict){.level = DM_MONITOR_WARNING, .reason = "a batch of its own kind"};
        dm_monitor_accept(&c->monitor, &p->rules, &sample);
        dm_monitor_calm(&c->monitor);
    }
    t->level = p->verdict.level;
    c->warned = c->warned || p->verdict.level >= DM_MONITOR_WARNING;
    if (p->verdict.level == DM_MONITOR_CRITICAL)
        return p->verdict.forecasts ? dm_predictive_judge_early(p, t->loss, err)
                                    : dm_predictive_roll_back(p, err);
    c->progress++;
    dm_predict_phases_step(&c->phases);
    dm_predictive_compare(p, t->loss);
    dm_predict_confidence_loss(&c->confidence, &p->rules, t->loss);
    status = dm_predictive_observe(p, t->loss, t->norm, t->rate, err);
    if (status == DM_OK)
        status = take_snapshot(p, err);
    if (status == DM_OK)
        status = dm_predictive_keep_state(p, err);
    return status == DM_OK ? dm_predictive_judge(p, t->loss, err) : status;
}
