/* SPDX-License-Identifier: MIT */
/* propose.c - a turn of PREDICT: a proposal, its check on held-out samples, and for how many steps it stands. */
#include "train/predict/run/internal.h"

#include <math.h>

/* The held-out loss of what is in the model's average. */
static dm_status check_average(dm_predictive *p, double *loss, dm_error *err)
{
    dm_status status = dm_nn_model_swap_average(p->run.model, err);
    uint64_t begun = dm_trace_now(p->run.trace);
    if (status == DM_OK)
        status = p->run.held_out(p->run.user, loss, err);
    dm_trace_span(p->run.trace, "held-out check", begun);
    if (status == DM_OK)
        status = dm_nn_model_swap_average(p->run.model, err);
    p->c.counts.forward += p->run.held_batches;
    p->c.proposal.cost += p->run.held_batches / 3;
    return status;
}

/* Does the check accept the proposal, and for how many steps does it stand? */
static bool judge_check(dm_predictive *p)
{
    dm_predictive_core *c = &p->c;
    double before = p->proposed.before, after = p->proposed.after;
    dm_pace_see(&c->pace, c->progress, before);
    p->proposed.reason = "the held-out loss does not fall";
    if (!(after < before * (1 - p->rules.proposal_margin)))
        return false;
    if (p->rules.proposal_worth) {
        uint64_t worth = dm_pace_worth(&c->pace, before, after, p->proposed.length);
        p->proposed.reason =
            c->pace.known ? "the held-out loss falls by less than a few real steps would bring"
                          : "the pace of the real steps is not known yet";
        if (worth < p->rules.predict_least && worth < p->proposed.length)
            return false;
        p->proposed.length = worth;
    }
    p->proposed.reason = "the held-out loss falls";
    return true;
}

/* Apply the proposal if the held-out loss allows it; otherwise the model keeps every bit. */
static dm_status try_proposal(dm_predictive *p, bool *accepted, dm_error *err)
{
    dm_nn_model *model = p->run.model;
    dm_nn_store *store = p->store;
    *accepted = false;
    dm_status status = dm_nn_store_take(store, DM_PREDICT_SLOT_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status == DM_OK)
        status =
            dm_nn_store_copy(store, DM_PREDICT_SLOT_TRIAL_AVERAGE, DM_PREDICT_SLOT_AVERAGE, err);
    if (status == DM_OK)
        status = dm_nn_store_take(store, DM_PREDICT_SLOT_TRIAL_WEIGHTS, model, DM_NN_VALUE, err);
    if (status == DM_OK)
        status = dm_proposal_make(p->proposed.kind, &p->rules, p->proposed.length, &p->snapshots,
                                  DM_PREDICT_SLOT_TRIAL_AVERAGE, DM_PREDICT_SLOT_TRIAL_WEIGHTS,
                                  &p->proposed.made, err);
    if (status != DM_OK)
        return status;
    if (!p->proposed.made) {
        p->proposed.reason =
            p->proposed.kind == DM_PROPOSAL_NONE ? "the arm proposes nothing" : "too few snapshots";
        return DM_OK;
    }
    status = check_average(p, &p->proposed.before, err);
    if (status == DM_OK)
        status = dm_nn_store_put(store, DM_PREDICT_SLOT_TRIAL_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status == DM_OK)
        status = check_average(p, &p->proposed.after, err);
    if (status != DM_OK)
        return status;
    *accepted = judge_check(p);
    /* After an accepted proposal too: the state before the jump, needed if the verdict is against it, still has the old
 * average. */
    status = dm_nn_store_put(store, DM_PREDICT_SLOT_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status != DM_OK || !*accepted)
        return status;
    status = dm_model_state_take(&p->states[DM_PREDICT_STATE_BEFORE], model, p->c.progress, err);
    if (status == DM_OK)
        status = dm_nn_store_put(store, DM_PREDICT_SLOT_TRIAL_AVERAGE, model, DM_NN_AVERAGE, err);
    return status == DM_OK
               ? dm_nn_store_put(store, DM_PREDICT_SLOT_TRIAL_WEIGHTS, model, DM_NN_VALUE, err)
               : status;
}

dm_status dm_predictive_propose(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    dm_predict_pending *q = &c->proposal;
    bool accepted = false;
    uint64_t ahead = p->proposed.length + p->rules.verdict_steps;
    q->cost = (double)p->rules.correct_steps / 3;
    dm_status status = dm_forecaster_forecast(
        p->forecaster, (uint32_t)(ahead < DM_FORECAST_MAX ? ahead : DM_FORECAST_MAX), &q->forecast,
        err);
    if (status == DM_OK)
        status = try_proposal(p, &accepted, err);
    if (status != DM_OK)
        return status;
    p->turn.proposed = true;
    if (p->proposed.kind != DM_PROPOSAL_NONE) /* that asks for nothing */
        dm_predict_phases_answer(&c->phases, accepted);
    c->counts.proposed++;
    c->counts.predicted_lengths += p->proposed.length;
    if (accepted) {
        q->length = p->proposed.length;
        q->seen = 0;
        q->sum = 0;
        q->made = 1;
        c->counts.accepted++;
        c->counts.skipped += q->length;
        c->phases.steps[DM_PHASE_PREDICT] += q->length;
        c->progress += q->length;
        dm_pace_stand(&c->pace, c->progress, p->proposed.after);
        c->has_next = 0;
        dm_snapshots_clear(&p->snapshots); /* the path begins anew */
    } else {
        c->counts.rejected++;
        dm_bandit_learn(&c->bandit, &p->rules, (size_t)q->arm, q->inputs,
                        dm_bandit_reward(0, 0, dm_predict_stability(&c->confidence)));
    }
    dm_predict_phases_cut(&c->phases);
    return DM_OK;
}
