/* SPDX-License-Identifier: MIT */
/* decide.c - which phase comes next, for how many steps, and by which arm of the bandit. */
#include "train/predict/run/internal.h"

#include <math.h>

dm_status dm_predictive_decide(dm_predictive *p, uint64_t steps, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_predict_pending *q = &c->proposal;
    dm_predict_view view = {.warned = c->warned};
    dm_status status = DM_OK;
    c->outlook.steps = 0;
    bool plain = c->counts.plain_from > 0, ready = dm_forecaster_ready(p->forecaster) && !plain;
    if (ready) {
        uint32_t horizon = (uint32_t)p->rules.confidence_horizon;
        status = dm_forecaster_forecast(
            p->forecaster, horizon < DM_FORECAST_MAX ? horizon : DM_FORECAST_MAX, &c->outlook, err);
        if (status != DM_OK)
            return status;
        double mean = (double)c->outlook.mean[c->outlook.steps - 1],
               total = (double)c->outlook.total[c->outlook.steps - 1];
        p->c.confidence_now =
            dm_predict_confidence_value(&c->confidence, &p->rules, total / fmax(fabs(mean), 1e-30));
        view.confidence = p->c.confidence_now;
    }
    /* One at a time, and none without a forecast or the steps for its verdict. */
    bool free_to = ready && !q->made && c->progress + p->rules.verdict_steps < steps;
    if (!free_to)
        view.confidence = -1; /* below any that may be asked for */
    size_t arm = 0;
    bool drawn = false;
    dm_predict_phases before = c->phases;
    uint64_t room = free_to ? steps - c->progress - p->rules.verdict_steps : 0;
    p->decision = dm_predict_decide(&c->phases, &p->rules, &view);
    if (p->decision.phase == DM_PHASE_PREDICT) {
        uint64_t length = p->decision.steps;
        dm_bandit_inputs(c->features, q->inputs);
        arm = DM_PROPOSAL_SHIFT * DM_BANDIT_LENGTHS;
        if (p->rules.bandit) {
            arm = dm_bandit_choose(&c->bandit, &p->rules, p->seed, q->inputs, &drawn);
            length = dm_bandit_length(arm);
        }
        c->phases = before; /* the same decision, with the arm's length */
        view.length = length < room ? length : room;
        p->decision = dm_predict_decide(&c->phases, &p->rules, &view);
        q->arm = arm;
        p->proposed.kind = dm_bandit_kind(arm);
        p->proposed.length = p->decision.steps;
        p->proposed.drawn = drawn;
        p->proposed.before = p->proposed.after = NAN;
    }
    if (p->decision.phase == DM_PHASE_CORRECT)
        c->correct_at = 0;
    if (p->decision.phase == DM_PHASE_FULL && !free_to && !c->warned)
        p->decision.reason = plain     ? "a plain run: the monitor has had its tries"
                             : q->made ? "a proposal waits for its verdict"
                             : !ready  ? "the ensemble has not seen enough"
                                       : "the run ends soon";
    c->warned = 0;
    p->turn.decided = true;
    return DM_OK;
}
