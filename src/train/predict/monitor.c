/* SPDX-License-Identifier: MIT */
/* monitor.c - see monitor.h. */
#include "train/predict/monitor.h"

#include <math.h>
#include <string.h>

const char *const dm_monitor_level_names[DM_MONITOR_LEVELS] = {"fine", "caution", "warning",
                                                               "critical"};

void dm_monitor_init(dm_monitor *m)
{
    memset(m, 0, sizeof *m);
}

static uint64_t filled(const dm_monitor *m)
{
    return m->losses < DM_MONITOR_WINDOW ? m->losses : DM_MONITOR_WINDOW;
}

double dm_monitor_deviation(const dm_monitor *m)
{
    uint64_t count = filled(m);
    if (count < DM_MONITOR_DEVIATION_FROM)
        return 0;
    double mean = 0, square = 0;
    for (uint64_t i = 0; i < count; i++)
        mean += m->window[i] / (double)count;
    for (uint64_t i = 0; i < count; i++)
        square += (m->window[i] - mean) * (m->window[i] - mean);
    return sqrt(square / (double)count);
}

double dm_monitor_turns(const dm_monitor *m)
{
    if (m->losses < DM_MONITOR_WINDOW)
        return 0;
    uint64_t turns = 0;
    double before = 0;
    for (uint64_t i = 0; i + 1 < DM_MONITOR_WINDOW; i++) {
        double change = m->window[(m->losses + i + 1) % DM_MONITOR_WINDOW] -
                        m->window[(m->losses + i) % DM_MONITOR_WINDOW];
        turns += i > 0 && change * before < 0;
        before = change;
    }
    return (double)turns / (DM_MONITOR_WINDOW - 2);
}

static void raise(dm_monitor_verdict *verdict, dm_monitor_level level, const char *reason)
{
    if (level > verdict->level)
        *verdict = (dm_monitor_verdict){.level = level, .reason = reason};
}

static void judge_loss(const dm_monitor *m, const dm_predict_rules *r, double loss,
                       dm_monitor_verdict *v)
{
    double deviation = dm_monitor_deviation(m);
    if (!(deviation > 0))
        return;
    double z = (loss - m->loss_average) / deviation;
    if (z >= r->monitor_loss_critical)
        raise(v, DM_MONITOR_CRITICAL, "the loss is far above its average");
    else if (z >= r->monitor_loss_warning)
        raise(v, DM_MONITOR_WARNING, "the loss is well above its average");
    else if (z >= r->monitor_loss_caution)
        raise(v, DM_MONITOR_CAUTION, "the loss is above its average");
}

bool dm_monitor_calms(const dm_monitor *m, const dm_predict_rules *r, double loss)
{
    dm_monitor_verdict v = {.level = DM_MONITOR_FINE, .reason = ""};
    judge_loss(m, r, loss, &v);
    return isfinite(loss) && v.level < DM_MONITOR_WARNING;
}

/* A run that has converged has small gradients by right: they vanish only where the loss stays. */
static void judge_norm(const dm_monitor *m, const dm_predict_rules *r, double norm, double loss,
                       dm_monitor_verdict *v)
{
    if (norm < 0 || m->norms < r->monitor_baseline || !(m->baseline > 0))
        return;
    double ratio = norm / m->baseline;
    if (ratio >= r->monitor_norm_critical)
        raise(v, DM_MONITOR_CRITICAL, "the gradient explodes");
    else if (ratio >= r->monitor_norm_warning)
        raise(v, DM_MONITOR_WARNING, "the gradient grows");
    else if (ratio < r->monitor_norm_vanished && loss > 0.5 * m->baseline_loss)
        raise(v, DM_MONITOR_WARNING, "the gradient vanishes");
}

/* A loss below its forecast is no sign of divergence. */
static void judge_prediction(const dm_predict_rules *r, const dm_monitor_sample *s,
                             dm_monitor_verdict *v)
{
    if (isnan(s->predicted))
        return;
    double error = fabs(s->loss - s->predicted) / fmax(fabs(s->loss), 1e-30);
    if (error >= r->monitor_error_warning && s->loss > s->predicted)
        raise(v, DM_MONITOR_WARNING, "the forecast was far off");
    else if (error >= r->monitor_error_caution)
        raise(v, DM_MONITOR_CAUTION, "the forecast was off");
}

static void judge_turns(const dm_monitor *m, const dm_predict_rules *r, dm_monitor_verdict *v)
{
    double turns = dm_monitor_turns(m);
    if (turns >= r->monitor_signs_warning)
        raise(v, DM_MONITOR_WARNING, "the loss oscillates");
    else if (turns >= r->monitor_signs_caution)
        raise(v, DM_MONITOR_CAUTION, "the loss turns often");
}

static void take(dm_monitor *m, const dm_predict_rules *r, const dm_monitor_sample *s)
{
    double keep = r->monitor_average;
    m->loss_average = m->losses == 0 ? s->loss : keep * m->loss_average + (1 - keep) * s->loss;
    m->window[m->losses++ % DM_MONITOR_WINDOW] = s->loss;
    if (s->norm < 0)
        return;
    m->norm_average = m->norms == 0 ? s->norm : keep * m->norm_average + (1 - keep) * s->norm;
    if (m->norms < r->monitor_baseline) { /* running means; fixed afterwards */
        m->baseline += (s->norm - m->baseline) / (double)(m->norms + 1);
        m->baseline_loss += (s->loss - m->baseline_loss) / (double)(m->norms + 1);
    }
    m->norms++;
}

dm_monitor_verdict dm_monitor_step(dm_monitor *m, const dm_predict_rules *rules,
                                   const dm_monitor_sample *sample)
{
    dm_monitor_verdict verdict = {.level = DM_MONITOR_FINE, .reason = ""};
    if (!isfinite(sample->loss) || !isfinite(sample->norm)) {
        raise(&verdict, DM_MONITOR_CRITICAL, "a loss or norm that is no number");
    } else {
        judge_loss(m, rules, sample->loss, &verdict);
        judge_norm(m, rules, sample->norm, sample->loss, &verdict);
        judge_turns(m, rules, &verdict);
    }
    bool own = verdict.level >= DM_MONITOR_WARNING;
    if (verdict.level < DM_MONITOR_CRITICAL)
        judge_prediction(rules, sample, &verdict);
    bool warns = verdict.level == DM_MONITOR_WARNING;
    m->warnings = warns ? m->warnings + 1 : 0;
    m->own = warns ? m->own + own : 0;
    if (m->warnings >= rules->monitor_warnings)
        verdict = (dm_monitor_verdict){.level = DM_MONITOR_CRITICAL,
                                       .reason = m->own > 0 ? "warnings in a row"
                                                            : "forecasts far off in a row",
                                       .forecasts = m->own == 0};
    m->counts[verdict.level]++;
    if (verdict.level != DM_MONITOR_CRITICAL)
        take(m, rules, sample);
    return verdict;
}

void dm_monitor_accept(dm_monitor *m, const dm_predict_rules *rules,
                       const dm_monitor_sample *sample)
{
    take(m, rules, sample);
}

void dm_monitor_calm(dm_monitor *m)
{
    m->warnings = m->own = 0;
}

void dm_monitor_rate_init(dm_monitor_rate *rate)
{
    *rate = (dm_monitor_rate){1, 0};
}

double dm_monitor_rate_value(const dm_monitor_rate *rate, const dm_predict_rules *rules)
{
    if (rate->since >= rules->monitor_recover)
        return 1;
    double share = (double)rate->since / (double)rules->monitor_recover;
    return rate->factor + (1 - rate->factor) * share;
}

void dm_monitor_rate_lower(dm_monitor_rate *rate, const dm_predict_rules *rules)
{
    *rate = (dm_monitor_rate){dm_monitor_rate_value(rate, rules) * rules->monitor_rate, 0};
}

void dm_monitor_rate_step(dm_monitor_rate *rate)
{
    rate->since++;
}
