/* SPDX-License-Identifier: MIT */
/* back.c - going back: rollbacks of the monitor, and the plain run after too many of them. */
#include "train/predict/run/internal.h"

void dm_predictive_go_back(dm_predictive *p, const dm_model_state *state)
{
    p->c.progress = state->progress;
    p->c.has_next = 0;
    dm_pace_back(&p->c.pace, state->progress);
    dm_forecaster_back(p->forecaster, state->progress);
    dm_snapshots_clear(&p->snapshots);
}

/* To the older state: the newer one may have been taken when the divergence had begun. */
static uint64_t older_state(const dm_predictive *p)
{
    const dm_predictive_core *c = &p->c;
    return p->states[1 - c->newest].taken ? 1 - c->newest : c->newest;
}

/* After `monitor_tries` rollbacks: go back once more, and continue without monitor and predictions. */
static dm_status go_on_plainly(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    const dm_model_state *state =
        c->proposal.made ? &p->states[DM_PREDICT_STATE_BEFORE] : &p->states[older_state(p)];
    dm_status status = dm_model_state_put_back(state, p->run.model, err);
    if (c->proposal.made)
        c->counts.skipped -= c->proposal.length;
    dm_predictive_go_back(p, state);
    c->proposal.made = 0;
    c->counts.plain_from = c->progress + 1;
    c->rate.since = p->rules.monitor_recover; /* the planned rate */
    dm_predict_phases_cut(&c->phases);
    p->turn.rolled_back = true;
    return status;
}

dm_status dm_predictive_roll_back(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    uint64_t older = older_state(p);
    const dm_model_state *state = &p->states[older];
    c->blamed = c->progress + 1;
    if (c->progress > c->furthest + p->rules.monitor_recover) {
        c->furthest = c->progress;
        c->tries = 0;
    }
    c->counts.rollbacks++;
    if (++c->tries > p->rules.monitor_tries)
        return go_on_plainly(p, err);
    dm_status status = dm_model_state_put_back(state, p->run.model, err);
    if (c->proposal.made) /* a jump that is not judged yet is gone as well */
        c->counts.skipped -= c->proposal.length;
    dm_predictive_go_back(p, state);
    c->newest = older;
    p->states[1 - older].taken = 0;
    c->proposal.made = 0;
    c->warned = 1;
    dm_monitor_calm(&c->monitor);
    dm_monitor_rate_lower(&c->rate, &p->rules);
    dm_predict_phases_cut(&c->phases);
    p->turn.rolled_back = true;
    return status;
}
