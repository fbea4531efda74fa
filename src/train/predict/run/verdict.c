/* SPDX-License-Identifier: MIT */
/* verdict.c - whether an accepted proposal was right, once real steps have followed it. */
#include "train/predict/run/internal.h"

#include <math.h>

/* Of the losses seen since the jump beside the forecast; `failed`: it is known to be wrong. */
static dm_status close_proposal(dm_predictive *p, bool failed, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_predict_pending *q = &c->proposal;
    double forecast = 0, actual = q->sum / (double)q->seen;
    for (uint64_t i = 0; i < q->seen; i++) {
        uint64_t at = q->length + i;
        forecast += (double)q->forecast.mean[at < q->forecast.steps ? at : q->forecast.steps - 1] /
                    (double)q->seen;
    }
    bool undo = failed || !(actual <= forecast);
    double gap = undo ? 1 : 0, speedup = undo ? 0 : (double)q->length / fmax(q->cost, 1e-9);
    double reward = dm_bandit_reward(speedup, gap, dm_predict_stability(&c->confidence));
    dm_bandit_learn(&c->bandit, &p->rules, (size_t)q->arm, q->inputs, reward);
    p->turn.judged = true;
    p->judged.undone = undo;
    p->judged.loss = actual;
    p->judged.forecast = forecast;
    p->judged.reward = reward;
    q->made = 0;
    if (!undo)
        return DM_OK;
    c->counts.undone++;
    c->counts.skipped -= q->length;
    dm_status status =
        dm_model_state_put_back(&p->states[DM_PREDICT_STATE_BEFORE], p->run.model, err);
    dm_predictive_go_back(p, &p->states[DM_PREDICT_STATE_BEFORE]);
    return status;
}

dm_status dm_predictive_judge(dm_predictive *p, double loss, dm_error *err)
{
    dm_predict_pending *q = &p->c.proposal;
    if (!q->made)
        return DM_OK;
    q->sum += loss;
    return ++q->seen < p->rules.verdict_steps ? DM_OK : close_proposal(p, false, err);
}

/* The losses since the jump are far above the forecast several times in a row: give the verdict now.
 * The jump is the cause, not the run. */
dm_status dm_predictive_judge_early(dm_predictive *p, double loss, dm_error *err)
{
    dm_predict_pending *q = &p->c.proposal;
    q->sum += loss;
    q->seen++;
    p->c.warned = 1;
    dm_monitor_calm(&p->c.monitor);
    dm_predict_phases_cut(&p->c.phases);
    return close_proposal(p, true, err);
}
