/* SPDX-License-Identifier: MIT */
/* decide.c - see decide.h. */
#include "train/sweep/decide.h"

#include <math.h>
#include <stdlib.h>

/* ---- Creating ---- */

static dm_status make_cuts(dm_decider *d, dm_error *err)
{
    d->cuts = calloc(d->checks + 1, sizeof *d->cuts);
    if (d->cuts == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    double share = d->rules.first;
    size_t at = dm_sweep_check_at(d->checks, share);
    while (at < d->checks) {
        if (d->cut_count == 0 || at > d->cuts[d->cut_count - 1])
            d->cuts[d->cut_count++] = at;
        share *= (double)d->rules.eta;
        at = dm_sweep_check_at(d->checks, share);
    }
    d->cuts[d->cut_count++] = d->checks;
    return DM_OK;
}

static dm_status learn_history(dm_decider *d, const dm_sweep_curves *history, dm_error *err)
{
    dm_status status = DM_OK;
    double *logs = calloc(d->checks, sizeof *logs);
    if (logs == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; history != NULL && i < history->count && status == DM_OK; i++)
        if (dm_sweep_curve_logs(&history->items[i], d->checks, logs))
            status = dm_final_forecaster_add(d->forecaster, logs, false, err);
    free(logs);
    return status;
}

dm_status dm_decider_create(dm_sweep_rule rule, const dm_sweep_rules *rules, size_t count,
                            size_t checks, const dm_sweep_curves *history, dm_decider **out,
                            dm_error *err)
{
    dm_decider *d = calloc(1, sizeof *d);
    if (d == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    d->rule = rule;
    d->rules = *rules;
    d->checks = checks;
    d->runs = calloc(count, sizeof *d->runs);
    dm_status status =
        d->runs == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : make_cuts(d, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        d->count = i + 1;
        d->runs[i].values = calloc(2 * checks, sizeof(double));
        if (d->runs[i].values == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
        else
            d->runs[i].logs = d->runs[i].values + checks;
    }
    if (status == DM_OK)
        status = dm_final_forecaster_create(checks, &d->forecaster, err);
    if (status == DM_OK)
        status = learn_history(d, history, err);
    if (status != DM_OK)
        dm_decider_destroy(d);
    else
        *out = d;
    return status;
}

void dm_decider_destroy(dm_decider *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++)
        free(d->runs[i].values);
    free(d->runs);
    free(d->cuts);
    dm_final_forecaster_destroy(d->forecaster);
    free(d);
}

/* ---- What comes back ---- */

dm_status dm_decider_reached(dm_decider *d, size_t run, const double *values, dm_error *err)
{
    dm_sweep_run *r = &d->runs[run];
    for (size_t i = 0; i < r->until; i++) {
        if (!(values[i] > 0) || !isfinite(values[i])) {
            dm_decider_failed(d, run, "the metric is not a positive number");
            return DM_OK;
        }
        r->values[i] = values[i];
        r->logs[i] = log(values[i]);
        r->reached = i + 1;
    }
    r->state = r->reached == d->checks ? DM_SWEEP_DONE : DM_SWEEP_WAITING;
    if (r->state == DM_SWEEP_DONE && d->rule == DM_SWEEP_FORECAST)
        return dm_final_forecaster_add(d->forecaster, r->logs, true, err);
    return DM_OK;
}

void dm_decider_failed(dm_decider *d, size_t run, const char *reason)
{
    dm_sweep_run *r = &d->runs[run];
    r->state = DM_SWEEP_FAILED;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

size_t dm_decider_winner(const dm_decider *d)
{
    size_t best = d->count;
    for (size_t i = 0; i < d->count; i++)
        if (d->runs[i].state == DM_SWEEP_DONE &&
            (best == d->count ||
             d->runs[i].values[d->checks - 1] < d->runs[best].values[d->checks - 1]))
            best = i;
    return best;
}

/* ---- Actions ---- */

static size_t count_state(const dm_decider *d, dm_sweep_run_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++)
        n += d->runs[i].state == state;
    return n;
}

static void go(dm_decider *d, size_t run, size_t until, dm_sweep_action *out)
{
    out->kind = DM_SWEEP_RUN;
    out->run = run;
    out->until = until;
    d->runs[run].state = DM_SWEEP_RUNNING;
    d->runs[run].until = until;
}

static void stop(dm_decider *d, size_t run, dm_sweep_action *out)
{
    out->kind = DM_SWEEP_STOP;
    out->run = run;
    d->runs[run].state = DM_SWEEP_STOPPED;
    snprintf(d->runs[run].reason, sizeof d->runs[run].reason, "%s", out->reason);
}

static void wait_or_end(const dm_decider *d, dm_sweep_action *out)
{
    out->kind = count_state(d, DM_SWEEP_RUNNING) > 0 ? DM_SWEEP_WAIT : DM_SWEEP_END;
}

/* The next run that has not begun, up to `until`. */
static bool begin_one(dm_decider *d, size_t until, const char *reason, dm_sweep_action *out)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->runs[i].state == DM_SWEEP_WAITING && d->runs[i].reached == 0) {
            snprintf(out->reason, sizeof out->reason, "%s", reason);
            go(d, i, until, out);
            return true;
        }
    return false;
}

/* ---- Halving ---- */

/* Is `a` before `b` at a check? Equal values: the smaller number. */
static bool before(const dm_decider *d, size_t a, size_t b, size_t check)
{
    double x = d->runs[a].values[check - 1], y = d->runs[b].values[check - 1];
    return x != y ? x < y : a < b;
}

static size_t rank_of(const dm_decider *d, size_t run, size_t check)
{
    size_t rank = 1;
    for (size_t i = 0; i < d->count; i++)
        rank += d->runs[i].reached >= check && i != run && before(d, i, run, check);
    return rank;
}

/* May anything still come to this check that is not there yet? */
static bool settled(const dm_decider *d, size_t check)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->runs[i].state == DM_SWEEP_RUNNING && d->runs[i].reached < check)
            return false;
    return true;
}

static bool waits_between(const dm_sweep_run *r, size_t low, size_t high)
{
    return r->state == DM_SWEEP_WAITING && r->reached >= low && r->reached < high;
}

/* The best run that waits at cut `c`, if it is among those that may continue. */
static bool promote(dm_decider *d, size_t c, dm_sweep_action *out)
{
    size_t check = d->cuts[c], n = 0, best = d->count;
    for (size_t i = 0; i < d->count; i++) {
        n += d->runs[i].reached >= check;
        if (waits_between(&d->runs[i], check, d->cuts[c + 1]) &&
            (best == d->count || before(d, i, best, check)))
            best = i;
    }
    size_t eta = (size_t)d->rules.eta, may = settled(d, check) ? (n + eta - 1) / eta : n / eta;
    size_t rank = best < d->count ? rank_of(d, best, check) : 0;
    if (best == d->count || rank > may)
        return false;
    snprintf(out->reason, sizeof out->reason, "%zu of %zu at %.0f%% of the steps, %zu go on", rank,
             n, 100.0 * (double)check / (double)d->checks, may);
    go(d, best, d->cuts[c + 1], out);
    return true;
}

/* When no run is promoted any more, the waiting ones are stopped. */
static bool drop(dm_decider *d, dm_sweep_action *out)
{
    for (size_t i = 0; i < d->count; i++) {
        if (d->runs[i].state != DM_SWEEP_WAITING || d->runs[i].reached == 0)
            continue;
        size_t c = 0, n = 0;
        while (c + 2 < d->cut_count && d->runs[i].reached >= d->cuts[c + 1])
            c++;
        size_t check = d->cuts[c] < d->runs[i].reached ? d->cuts[c] : d->runs[i].reached;
        for (size_t k = 0; k < d->count; k++)
            n += d->runs[k].reached >= check;
        snprintf(out->reason, sizeof out->reason, "halving: %zu of %zu at %.0f%% of the steps",
                 rank_of(d, i, check), n, 100.0 * (double)check / (double)d->checks);
        stop(d, i, out);
        return true;
    }
    return false;
}

static void halve(dm_decider *d, dm_sweep_action *out)
{
    /* Runs that stand before the first cut, where forecasts left them, come to it first. */
    if (begin_one(d, d->cuts[0], "to the first cut", out))
        return;
    for (size_t i = 0; i < d->count; i++)
        if (d->cut_count > 1 && waits_between(&d->runs[i], 1, d->cuts[0])) {
            snprintf(out->reason, sizeof out->reason, "to the first cut");
            go(d, i, d->cuts[0], out);
            return;
        }
    for (size_t c = 0; c + 1 < d->cut_count; c++)
        if (promote(d, c, out))
            return;
    if (count_state(d, DM_SWEEP_RUNNING) > 0 || !drop(d, out))
        wait_or_end(d, out);
}

/* ---- Forecasts ---- */

/* Decide again, after more runs are complete, whether forecasts may be used; and why. */
static dm_status calibrate(dm_decider *d, size_t complete, dm_sweep_action *out, bool *told,
                           dm_error *err)
{
    size_t curves = dm_final_forecaster_count(d->forecaster);
    bool was = d->forecasts;
    *told = false;
    if (d->told && complete == d->calibrated)
        return DM_OK;
    d->calibrated = complete;
    d->forecasts = false;
    dm_final_calibration *c = &d->calibration;
    if (curves < d->rules.history) {
        snprintf(out->reason, sizeof out->reason,
                 "halving alone: %zu complete curves to learn from, forecasts need %zu", curves,
                 (size_t)d->rules.history);
    } else if (complete < d->rules.calibrate) {
        snprintf(out->reason, sizeof out->reason,
                 "halving alone: %zu runs are complete, the calibration needs %zu", complete,
                 (size_t)d->rules.calibrate);
    } else {
        dm_status status = dm_final_calibrate(
            d->forecaster, dm_sweep_check_at(d->checks, d->rules.forecast_every), c, err);
        if (status != DM_OK)
            return status;
        d->forecasts = c->coverage >= d->rules.coverage && c->far <= d->rules.far &&
                       c->width <= d->rules.width && c->apart <= d->rules.apart &&
                       c->error < c->last;
        snprintf(out->reason, sizeof out->reason,
                 "%s: %zu forecasts for %zu complete runs: %.0f%% within the 90%% band, %.0f%% far "
                 "from all curves, deviation %.2f of what was to come, %.2f apart from the curves, "
                 "RMS log error %.4f "
                 "(last value: %.4f)",
                 d->forecasts ? "forecasts" : "halving alone", c->forecasts, c->runs,
                 100 * c->coverage, 100 * c->far, c->width, c->apart, c->error, c->last);
    }
    *told = !d->told || was != d->forecasts;
    d->told = true;
    out->kind = DM_SWEEP_SWITCH;
    out->forecasts = d->forecasts;
    out->complete = complete;
    return DM_OK;
}

typedef struct guess {
    double mean, deviation;
} guess;

/* Of every run that has begun and has not failed; a complete one is certain. */
static dm_status guess_all(dm_decider *d, guess *guesses, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < d->count && status == DM_OK; i++) {
        const dm_sweep_run *r = &d->runs[i];
        guesses[i] = (guess){INFINITY, 0};
        if (r->state == DM_SWEEP_DONE)
            guesses[i].mean = r->logs[d->checks - 1];
        else if (r->reached > 0 && r->state != DM_SWEEP_FAILED && r->state != DM_SWEEP_STOPPED)
            status = dm_final_forecast(d->forecaster, r->logs, r->reached, &guesses[i].mean,
                                       &guesses[i].deviation, err);
    }
    return status;
}

/* Stop a run that loses to another by z deviations, or continue the best waiting one. */
static void advance(dm_decider *d, const guess *g, dm_sweep_action *out)
{
    size_t every = dm_sweep_check_at(d->checks, d->rules.forecast_every), best = d->count;
    for (size_t i = 0; i < d->count; i++) {
        if (d->runs[i].state != DM_SWEEP_WAITING)
            continue;
        for (size_t j = 0; j < d->count; j++) {
            double both = sqrt(g[i].deviation * g[i].deviation + g[j].deviation * g[j].deviation);
            if (j == i || !isfinite(g[j].mean) || g[i].mean - g[j].mean <= d->rules.z * both)
                continue;
            snprintf(out->reason, sizeof out->reason,
                     "forecast: %.4g (90%%: %.4g to %.4g) loses to run %zu's %s %.4g by %.1f "
                     "deviations",
                     exp(g[i].mean), exp(g[i].mean - DM_FINAL_BAND * g[i].deviation),
                     exp(g[i].mean + DM_FINAL_BAND * g[i].deviation), j,
                     d->runs[j].state == DM_SWEEP_DONE ? "final" : "forecast", exp(g[j].mean),
                     (g[i].mean - g[j].mean) / fmax(both, 1e-12));
            stop(d, i, out);
            return;
        }
        if (best == d->count || g[i].mean < g[best].mean)
            best = i;
    }
    if (best == d->count) {
        wait_or_end(d, out);
        return;
    }
    size_t until = d->runs[best].reached + every;
    snprintf(out->reason, sizeof out->reason,
             "the best forecast that waits: %.4g (90%%: %.4g to %.4g)", exp(g[best].mean),
             exp(g[best].mean - DM_FINAL_BAND * g[best].deviation),
             exp(g[best].mean + DM_FINAL_BAND * g[best].deviation));
    go(d, best, until < d->checks ? until : d->checks, out);
}

static dm_status forecast(dm_decider *d, dm_sweep_action *out, dm_error *err)
{
    bool told = false;
    size_t complete = count_state(d, DM_SWEEP_DONE), running = count_state(d, DM_SWEEP_RUNNING);
    size_t curves = dm_final_forecaster_count(d->forecaster);
    /* The runs of a space come in no order of quality, but for a grid's. */
    if (!d->told && complete < d->rules.calibrate &&
        curves + d->rules.calibrate - complete >= d->rules.history) {
        if (complete + running < d->rules.calibrate &&
            begin_one(d, d->checks, "to its end, for the calibration of forecasts", out))
            return DM_OK;
        if (running > 0) {
            out->kind = DM_SWEEP_WAIT;
            return DM_OK;
        }
    }
    dm_status status = calibrate(d, complete, out, &told, err);
    if (status != DM_OK || told)
        return status;
    if (!d->forecasts) {
        halve(d, out);
        return DM_OK;
    }
    size_t every = dm_sweep_check_at(d->checks, d->rules.forecast_every);
    if (begin_one(d, every, "to its first forecast", out))
        return DM_OK;
    guess *guesses = calloc(d->count, sizeof *guesses);
    if (guesses == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    status = guess_all(d, guesses, err);
    if (status == DM_OK)
        advance(d, guesses, out);
    free(guesses);
    return status;
}

dm_status dm_decider_next(dm_decider *d, dm_sweep_action *out, dm_error *err)
{
    *out = (dm_sweep_action){0};
    if (d->rule == DM_SWEEP_FORECAST)
        return forecast(d, out, err);
    if (d->rule == DM_SWEEP_HALVING)
        halve(d, out);
    else if (!begin_one(d, d->checks, "all runs go to their end", out))
        wait_or_end(d, out);
    return DM_OK;
}

/* ---- From a log ---- */

void dm_decider_redo(dm_decider *d, const dm_sweep_action *action)
{
    dm_sweep_action copy = *action;
    if (action->kind == DM_SWEEP_RUN) {
        go(d, action->run, action->until, &copy);
    } else if (action->kind == DM_SWEEP_STOP) {
        stop(d, action->run, &copy);
    } else if (action->kind == DM_SWEEP_SWITCH) {
        d->told = true;
        d->forecasts = action->forecasts;
        d->calibrated = action->complete;
    }
}

void dm_decider_release(dm_decider *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->runs[i].state == DM_SWEEP_RUNNING)
            d->runs[i].state = DM_SWEEP_WAITING;
}
