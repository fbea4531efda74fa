/* SPDX-License-Identifier: MIT */
/* predictive.c - see predictive.h. */
#include "train/predict/predictive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A proposal from the moment it is made to its verdict. */
typedef struct pending {
    uint64_t arm, length; /* steps that it stands for */
    uint64_t made;        /* 1: accepted, its verdict is open */
    uint64_t seen;        /* real steps since then */
    double sum;           /* of their losses */
    double cost;          /* in steps: checks and CORRECT, a forward pass is a third of a step */
    double inputs[DM_BANDIT_INPUTS];
    dm_forecast forecast; /* without the jump, from before it on */
} pending;

/* Plain numbers: the first part of a checkpoint. */
typedef struct core {
    uint64_t progress, model_steps;
    dm_predict_phases phases;
    dm_predict_confidence confidence;
    dm_monitor monitor;
    dm_monitor_rate rate;
    dm_corrector corrector;
    dm_bandit bandit;
    pending proposal;
    dm_pace pace;
    dm_predict_counts counts;
    uint64_t warned;          /* the monitor warned since the last decision */
    uint64_t real_steps;      /* made, whatever was undone later */
    uint64_t correct_at;      /* which step of CORRECT is next */
    uint64_t furthest, tries; /* progress of the last rollbacks, and how many were there */
    uint64_t blamed;          /* progress of the last rollback, and 1 */
    uint64_t stored, taken;   /* of the residual store and the snapshots */
    uint64_t states[3][3];    /* steps, progress, taken of the three model states */
    uint64_t newest;          /* which of the first two states is the newer */
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    float moments[4];      /* mean and deviation of the first moments, then of the second */
    double confidence_now; /* at the last decision */
    uint64_t has_next;
    double next, next_raw; /* the forecast of the next real step: corrected, and as it came */
    dm_forecast outlook;   /* at the last decision */
} core;

enum { STATE_BEFORE = 2 }; /* the state before a jump; 0 and 1 are for rollbacks */

/* Slots of the store, on the model's device: the states, then those of a trial, then the snapshots. What a trial holds
 * is not told to checkpoints: no trial lasts longer than its turn. */
enum {
    SLOT_STATES = 0,
    SLOT_AVERAGE = SLOT_STATES + 3 * DM_MODEL_STATE_PARTS, /* as it was before the trial */
    SLOT_TRIAL_AVERAGE,
    SLOT_TRIAL_WEIGHTS,
    SLOT_SNAPSHOTS
};

struct dm_predictive {
    dm_predict_rules rules;
    dm_predict_run run;
    uint64_t seed;
    core c;
    dm_residual_store residuals;
    dm_snapshots snapshots;
    dm_model_state states[3];
    dm_forecaster *forecaster;
    void *forecaster_bytes; /* of the last dm_predictive_parts */
    dm_nn_store *store;
    float *told_states,
        *told_snapshots; /* for checkpoints, between dm_predictive_parts and the next turn */
    /* Of the last turn, for the log. */
    dm_predict_decision decision;
    dm_monitor_verdict verdict;
    dm_predict_turn turn;
    struct {
        dm_proposal_kind kind;
        uint64_t length;
        bool drawn, made;
        double before, after; /* held-out losses of the averages */
        const char *reason;
    } proposed;
    struct {
        bool undone;
        double loss, forecast, reward;
    } judged;
};

/* ---- Creating ---- */

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
                                    SLOT_SNAPSHOTS + (size_t)p->rules.proposal_snapshots, &p->store,
                                    err);
    if (status == DM_OK)
        status = dm_snapshots_init(&p->snapshots, p->store, SLOT_SNAPSHOTS,
                                   p->rules.proposal_snapshots, err);
    for (size_t i = 0; i < 3; i++)
        p->states[i] =
            (dm_model_state){.store = p->store, .first = SLOT_STATES + i * DM_MODEL_STATE_PARTS};
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

/* The copies that were made for a checkpoint. */
static void forget_told(dm_predictive *p)
{
    free(p->told_states);
    free(p->told_snapshots);
    p->told_states = p->told_snapshots = NULL;
}

void dm_predictive_destroy(dm_predictive *p)
{
    if (p == NULL)
        return;
    dm_forecaster_destroy(p->forecaster);
    dm_residual_store_deinit(&p->residuals);
    dm_nn_store_destroy(p->store);
    forget_told(p);
    free(p->forecaster_bytes);
    free(p);
}

/* ---- What follows a real step ---- */

static void remember_error(dm_predictive *p, double actual, double predicted, uint32_t horizon,
                           double confidence)
{
    core *c = &p->c;
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
static void compare_next(dm_predictive *p, double loss)
{
    core *c = &p->c;
    if (!c->has_next)
        return;
    remember_error(p, loss, c->next_raw, 1, p->c.confidence_now);
    c->counts.errors++;
    c->counts.error_sum += fabs(loss - c->next);
    c->has_next = 0;
}

static dm_status forecast_next(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
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

static dm_status observe(dm_predictive *p, double loss, double norm, double rate, dm_error *err)
{
    core *c = &p->c;
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

/* Two states for rollbacks, the older of which is replaced; none is taken while the monitor warns.
 */
static dm_status keep_state(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
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

static void go_back_to(dm_predictive *p, const dm_model_state *state)
{
    p->c.progress = state->progress;
    p->c.has_next = 0;
    dm_pace_back(&p->c.pace, state->progress);
    dm_forecaster_back(p->forecaster, state->progress);
    dm_snapshots_clear(&p->snapshots);
}

/* The older state: the newer one may be of the time when it began. */
static uint64_t older_state(const dm_predictive *p)
{
    const core *c = &p->c;
    return p->states[1 - c->newest].taken ? 1 - c->newest : c->newest;
}

/* The monitor has had its tries: back once more, and on without it and without predictions. */
static dm_status go_on_plainly(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
    const dm_model_state *state =
        c->proposal.made ? &p->states[STATE_BEFORE] : &p->states[older_state(p)];
    dm_status status = dm_model_state_put_back(state, p->run.model, err);
    if (c->proposal.made)
        c->counts.skipped -= c->proposal.length;
    go_back_to(p, state);
    c->proposal.made = 0;
    c->counts.plain_from = c->progress + 1;
    c->rate.since = p->rules.monitor_recover; /* the planned rate */
    dm_predict_phases_cut(&c->phases);
    p->turn.rolled_back = true;
    return status;
}

static dm_status roll_back(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
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
    go_back_to(p, state);
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

/* ---- The verdict on an accepted proposal ---- */

/* Of the losses seen since the jump beside the forecast; `failed`: it is known to be wrong. */
static dm_status close_proposal(dm_predictive *p, bool failed, dm_error *err)
{
    core *c = &p->c;
    pending *q = &c->proposal;
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
    dm_status status = dm_model_state_put_back(&p->states[STATE_BEFORE], p->run.model, err);
    go_back_to(p, &p->states[STATE_BEFORE]);
    return status;
}

static dm_status judge(dm_predictive *p, double loss, dm_error *err)
{
    pending *q = &p->c.proposal;
    if (!q->made)
        return DM_OK;
    q->sum += loss;
    return ++q->seen < p->rules.verdict_steps ? DM_OK : close_proposal(p, false, err);
}

/* The losses since the jump are far above what was forecast, again and again: its verdict comes
 * now, and the run itself is not blamed. */
static dm_status judge_early(dm_predictive *p, double loss, dm_error *err)
{
    pending *q = &p->c.proposal;
    q->sum += loss;
    q->seen++;
    p->c.warned = 1;
    dm_monitor_calm(&p->c.monitor);
    dm_predict_phases_cut(&p->c.phases);
    return close_proposal(p, true, err);
}

/* ---- Turns ---- */

/* A step of a run that the monitor and the predictions have nothing to say in any more. */
static dm_status plain_step(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
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

/* After a critical step: is it the batch, and not the run? It is when the run went back from it already and meets it
 * again, at a lower rate, or when the next batch has a loss like those before: a forward pass instead of a rollback. */
static dm_status look_again(dm_predictive *p, bool *strange, dm_error *err)
{
    core *c = &p->c;
    double next = 0;
    *strange = c->blamed == c->progress + 1;
    if (*strange || dm_monitor_calms(&c->monitor, &p->rules, p->turn.loss))
        return DM_OK; /* it is not the loss that is critical */
    dm_status status = p->run.peek(p->run.user, c->progress + 1, &next, err);
    c->counts.forward += 1;
    *strange = status == DM_OK && dm_monitor_calms(&c->monitor, &p->rules, next);
    return status;
}

static dm_status real_step(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
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
    /* A forecast counts for the monitor only where something hangs on it. */
    double predicted = c->proposal.made && c->has_next ? c->next : NAN;
    dm_monitor_sample sample = {t->loss, t->norm, predicted};
    p->verdict = dm_monitor_step(&c->monitor, &p->rules, &sample);
    bool strange = false;
    if (p->verdict.level == DM_MONITOR_CRITICAL && !p->verdict.forecasts && isfinite(t->loss) &&
        isfinite(t->norm))
        status = look_again(p, &strange, err);
    if (status != DM_OK)
        return status;
    if (strange) {
        p->verdict =
            (dm_monitor_verdict){.level = DM_MONITOR_WARNING, .reason = "a batch of its own kind"};
        dm_monitor_accept(&c->monitor, &p->rules, &sample);
        dm_monitor_calm(&c->monitor);
    }
    t->level = p->verdict.level;
    c->warned = c->warned || p->verdict.level >= DM_MONITOR_WARNING;
    if (p->verdict.level == DM_MONITOR_CRITICAL)
        return p->verdict.forecasts ? judge_early(p, t->loss, err) : roll_back(p, err);
    c->progress++;
    dm_predict_phases_step(&c->phases);
    compare_next(p, t->loss);
    dm_predict_confidence_loss(&c->confidence, &p->rules, t->loss);
    status = observe(p, t->loss, t->norm, t->rate, err);
    if (status == DM_OK)
        status = take_snapshot(p, err);
    if (status == DM_OK)
        status = keep_state(p, err);
    return status == DM_OK ? judge(p, t->loss, err) : status;
}

static dm_status forward_step(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
    const pending *q = &c->proposal;
    dm_status status = p->run.peek(p->run.user, c->progress + c->correct_at, &p->turn.loss, err);
    if (status != DM_OK)
        return status;
    c->counts.forward += 1;
    /* After a jump the forecast of the steps that it stood for has come to its end; without one
     * the weights are those from which it was made. */
    uint64_t at = q->made ? q->length + c->correct_at : 0;
    if (q->forecast.steps > 0 && isfinite(p->turn.loss))
        remember_error(
            p, p->turn.loss,
            (double)q->forecast.mean[at < q->forecast.steps ? at : q->forecast.steps - 1],
            (uint32_t)at + 1, p->c.confidence_now);
    c->correct_at++;
    dm_predict_phases_step(&c->phases);
    return DM_OK;
}

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

/* Whether the check lets the proposal through, and for how many steps it stands then. */
static bool judge_check(dm_predictive *p)
{
    core *c = &p->c;
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

/* The proposal into the model when the held-out samples say so; otherwise every bit as it was. */
static dm_status try_proposal(dm_predictive *p, bool *accepted, dm_error *err)
{
    dm_nn_model *model = p->run.model;
    dm_nn_store *store = p->store;
    *accepted = false;
    dm_status status = dm_nn_store_take(store, SLOT_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status == DM_OK)
        status = dm_nn_store_copy(store, SLOT_TRIAL_AVERAGE, SLOT_AVERAGE, err);
    if (status == DM_OK)
        status = dm_nn_store_take(store, SLOT_TRIAL_WEIGHTS, model, DM_NN_VALUE, err);
    if (status == DM_OK)
        status = dm_proposal_make(p->proposed.kind, &p->rules, p->proposed.length, &p->snapshots,
                                  SLOT_TRIAL_AVERAGE, SLOT_TRIAL_WEIGHTS, &p->proposed.made, err);
    if (status != DM_OK)
        return status;
    if (!p->proposed.made) {
        p->proposed.reason =
            p->proposed.kind == DM_PROPOSAL_NONE ? "the arm proposes nothing" : "too few snapshots";
        return DM_OK;
    }
    status = check_average(p, &p->proposed.before, err);
    if (status == DM_OK)
        status = dm_nn_store_put(store, SLOT_TRIAL_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status == DM_OK)
        status = check_average(p, &p->proposed.after, err);
    if (status != DM_OK)
        return status;
    *accepted = judge_check(p);
    /* Also an accepted one: the state before the jump, for a verdict against it, has the average as it was. */
    status = dm_nn_store_put(store, SLOT_AVERAGE, model, DM_NN_AVERAGE, err);
    if (status != DM_OK || !*accepted)
        return status;
    status = dm_model_state_take(&p->states[STATE_BEFORE], model, p->c.progress, err);
    if (status == DM_OK)
        status = dm_nn_store_put(store, SLOT_TRIAL_AVERAGE, model, DM_NN_AVERAGE, err);
    return status == DM_OK ? dm_nn_store_put(store, SLOT_TRIAL_WEIGHTS, model, DM_NN_VALUE, err)
                           : status;
}

static dm_status propose(dm_predictive *p, dm_error *err)
{
    core *c = &p->c;
    pending *q = &c->proposal;
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

/* ---- Decisions ---- */

static dm_status decide(dm_predictive *p, uint64_t steps, dm_error *err)
{
    core *c = &p->c;
    pending *q = &c->proposal;
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

dm_status dm_predictive_turn(dm_predictive *p, uint64_t steps, dm_predict_turn *turn, dm_error *err)
{
    dm_status status = DM_OK;
    uint64_t begun = dm_trace_now(p->run.trace);
    p->turn = (dm_predict_turn){.loss = NAN, .norm = NAN, .rate = NAN};
    forget_told(p);
    if (p->c.real_steps == 0 && !p->states[0].taken)
        status = keep_state(p, err); /* a run may diverge in its first steps */
    if (status == DM_OK && p->c.phases.left == 0)
        status = decide(p, steps, err);
    p->turn.phase = (dm_predict_phase)p->c.phases.phase;
    if (status == DM_OK)
        status = p->turn.phase == DM_PHASE_PREDICT   ? propose(p, err)
                 : p->turn.phase == DM_PHASE_CORRECT ? forward_step(p, err)
                                                     : real_step(p, err);
    dm_trace_span(p->run.trace, dm_predict_phase_names[p->turn.phase], begun);
    p->turn.progress = p->c.progress;
    *turn = p->turn;
    return status;
}

/* ---- Questions ---- */

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

double dm_predictive_seconds(const dm_predictive *p)
{
    return dm_forecaster_seconds(p->forecaster);
}

static void log_decision(const dm_predictive *p, dm_json *json)
{
    const dm_forecast *f = &p->c.outlook;
    dm_json_begin_object(json, "decision");
    dm_json_string(json, "phase", dm_predict_phase_names[p->decision.phase]);
    dm_json_uint(json, "steps", p->decision.steps);
    dm_json_string(json, "reason", p->decision.reason);
    dm_json_double(json, "confidence", p->c.confidence_now);
    if (f->steps > 0) {
        dm_json_uint(json, "horizon", f->steps);
        dm_json_double(json, "forecast", (double)f->mean[f->steps - 1]);
        dm_json_double(json, "band", (double)f->band[f->steps - 1]);
    }
    dm_json_end_object(json);
}

void dm_predictive_log(const dm_predictive *p, dm_json *json)
{
    if (p->turn.decided)
        log_decision(p, json);
    if (p->turn.proposed) {
        dm_json_begin_object(json, "proposal");
        dm_json_string(json, "kind", dm_proposal_names[p->proposed.kind]);
        dm_json_uint(json, "length", p->proposed.length);
        dm_json_bool(json, "drawn", p->proposed.drawn);
        dm_json_bool(json, "accepted", p->c.proposal.made != 0);
        dm_json_double(json, "held_out_before", p->proposed.before);
        dm_json_double(json, "held_out_after", p->proposed.after);
        dm_json_string(json, "reason", p->proposed.reason);
        dm_json_end_object(json);
    }
    if (p->turn.judged) {
        dm_json_begin_object(json, "verdict");
        dm_json_bool(json, "undone", p->judged.undone);
        dm_json_double(json, "loss", p->judged.loss);
        dm_json_double(json, "forecast", p->judged.forecast);
        dm_json_double(json, "reward", p->judged.reward);
        dm_json_end_object(json);
    }
    if (p->turn.level >= DM_MONITOR_WARNING) {
        dm_json_begin_object(json, "monitor");
        dm_json_string(json, "level", dm_monitor_level_names[p->turn.level]);
        dm_json_string(json, "reason", p->verdict.reason);
        dm_json_bool(json, "rolled_back", p->turn.rolled_back);
        if (p->c.counts.plain_from > 0)
            dm_json_bool(json, "plain_from_now_on", true);
        dm_json_end_object(json);
    }
}

/* ---- Checkpoints ---- */

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
    dm_status status = tell_slots(p, SLOT_STATES, states, &p->told_states, err);
    if (status == DM_OK)
        status = tell_slots(p, SLOT_SNAPSHOTS, snapshots, &p->told_snapshots, err);
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
    const core *c = &p->c;
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
    dm_status status = take_slots(p, SLOT_STATES, 3 * DM_MODEL_STATE_PARTS, p->told_states, err);
    if (status == DM_OK)
        status = take_slots(p, SLOT_SNAPSHOTS, (size_t)p->snapshots.kept, p->told_snapshots, err);
    forget_told(p);
    return status != DM_OK ? status
                           : dm_forecaster_state_set(p->forecaster, p->forecaster_bytes,
                                                     dm_forecaster_state_size(p->forecaster), err);
}
