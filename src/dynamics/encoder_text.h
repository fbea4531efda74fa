/* SPDX-License-Identifier: MIT */
/* encoder_text.h - one update of a training-state encoder; kernel text, for the CPU and for CUDA.
 *
 * The state of an encoder holds no pointers, so that many of them are an array on either.
 * Everything is updated in constant time:
 *
 *   mean, deviation   sums of differences from a centre, in float64, made anew whenever the window
 *                     has been replaced once, or when something large has left it
 *   min, max          monotone queues: the candidates for the time when those before have left
 *   trends            the last 32 losses, summed anew; exponential averages of logarithms
 *
 * A value of a sample that is not finite is passed over: windows and averages stay as they were,
 * and the last finite one (0 where there is none) stands in its place. Values and features are
 * limited to +-1e30, so that every feature is finite whatever comes.
 *
 * The formulas of all features are in docs/dynamics.md and, from scratch, in encoder_plain.c. */
#ifndef DM_DYNAMICS_ENCODER_TEXT_H
#define DM_DYNAMICS_ENCODER_TEXT_H

#include "base/port.h"
#include "dynamics/device/encoder_sample.h"
#if DM_HAS_HEADERS
#include <math.h>
#endif

#define DM_ENC_WINDOW_MAX 256
#define DM_ENC_LAGS 16 /* the longest lag is 8 */
#define DM_ENC_LIMIT 1e30f

/* A queue of positions in a ring whose values only rise (or only fall). Positions and counts are
 * those of a ring of the window's size. */
typedef struct dm_enc_queue {
    uint16_t first, count;
    uint16_t at[DM_ENC_WINDOW_MAX];
} dm_enc_queue;

/* The last values of one quantity. */
typedef struct dm_enc_window {
    double centre, sum, squares; /* of (value - centre) */
    uint32_t size;               /* of the window */
    uint32_t count;              /* values in it */
    uint32_t next;               /* where the next one goes */
    dm_enc_queue low, high;
    float values[DM_ENC_WINDOW_MAX];
} dm_enc_window;

typedef struct dm_enc_state {
    uint64_t samples;
    uint64_t passed;          /* samples with a value that is not finite */
    uint64_t finite;          /* losses that were finite */
    dm_dynamics_sample taken; /* the last finite values, within the limit */
    dm_enc_window losses, norms;
    float loss_ema[4];          /* of log10 loss, spans 4, 16, 64, 256 */
    float norm_ema[3];          /* of log10 norm, spans 4, 16, 64 */
    float deviation;            /* of log10 loss around its average: mean square, span 16 */
    float change, change_size;  /* of the loss per step, span 16 */
    float falling16, falling64; /* share of steps on which it fell */
    float norm_change;          /* |change| of log10 norm, span 16 */
    float previous_loss, previous_norm_log, previous_rate;
    float best;           /* least loss so far */
    uint64_t best_number; /* its number among the finite ones */
    float rate_max;
    float lags[DM_ENC_LAGS]; /* log10 of the last losses */
    uint32_t has_loss, has_norm, has_change;
} dm_enc_state;

/* ---- Windows ---- */

DM_FN bool dm_enc_finite(float x)
{
    return x - x == 0.0f;
}

DM_FN void dm_enc_window_init(dm_enc_window *w, uint32_t size)
{
    w->centre = w->sum = w->squares = 0;
    w->size = size;
    w->count = w->next = 0;
    w->low.first = w->low.count = w->high.first = w->high.count = 0;
}

/* Sums from what is in the window, around its mean. */
DM_FN void dm_enc_window_resum(dm_enc_window *w)
{
    double sum = 0;
    for (uint32_t i = 0; i < w->count; i++)
        sum += (double)w->values[i];
    w->centre = w->count > 0 ? sum / w->count : 0;
    w->sum = w->squares = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        double d = (double)w->values[i] - w->centre;
        w->sum += d;
        w->squares += d * d;
    }
}

/* Drop the front of a queue when it is the value that leaves. */
DM_FN void dm_enc_queue_leave(dm_enc_queue *q, uint32_t position)
{
    if (q->count > 0 && q->at[q->first] == position) {
        q->first = (uint16_t)((q->first + 1u) % DM_ENC_WINDOW_MAX);
        q->count--;
    }
}

/* Put a position at the end, after those that it makes useless have gone. `sign` is 1 for the
 * least, -1 for the greatest. */
DM_FN void dm_enc_queue_add(dm_enc_queue *q, const float *values, uint32_t position, float sign)
{
    while (q->count > 0) {
        uint32_t last = (q->first + q->count - 1u) % DM_ENC_WINDOW_MAX;
        if (sign * values[q->at[last]] < sign * values[position])
            break;
        q->count--;
    }
    q->at[(q->first + (uint32_t)q->count) % DM_ENC_WINDOW_MAX] = (uint16_t)position;
    q->count++;
}

DM_FN void dm_enc_window_push(dm_enc_window *w, float value)
{
    uint32_t position = w->next;
    bool full = w->count == w->size, resum = false;
    float old = full ? w->values[position] : 0.0f;
    if (full) {
        double gone = (double)old - w->centre, share = gone * gone / (w->squares + 1e-300);
        w->sum -= gone;
        w->squares -= gone * gone;
        resum = share > 0.5; /* what is left may be rounding */
        dm_enc_queue_leave(&w->low, position);
        dm_enc_queue_leave(&w->high, position);
    }
    w->values[position] = value;
    w->count += !full;
    w->next = position + 1u == w->size ? 0u : position + 1u;
    double d = (double)value - w->centre;
    w->sum += d;
    w->squares += d * d;
    dm_enc_queue_add(&w->low, w->values, position, 1.0f);
    dm_enc_queue_add(&w->high, w->values, position, -1.0f);
    if (resum || w->next == 0)
        dm_enc_window_resum(w);
}

/* mean, standard deviation, min, max; 0 of nothing. */
DM_FN void dm_enc_window_stats(const dm_enc_window *w, float out[4])
{
    if (w->count == 0) {
        for (int i = 0; i < 4; i++)
            out[i] = 0.0f;
        return;
    }
    double mean = w->sum / w->count, variance = w->squares / w->count - mean * mean;
    out[0] = (float)(w->centre + mean);
    out[1] = variance > 0 ? (float)sqrt(variance) : 0.0f;
    out[2] = w->values[w->low.at[w->low.first]];
    out[3] = w->values[w->high.at[w->high.first]];
}

/* The mean of 16 values: those after the last `skip`. */
DM_FN double dm_enc_window_mean16(const dm_enc_window *w, uint32_t skip)
{
    double sum = 0;
    uint32_t at = (w->next + 2u * w->size - 16u - skip) % w->size;
    for (int i = 0; i < 16; i++) {
        sum += (double)w->values[at];
        at = at + 1u == w->size ? 0u : at + 1u;
    }
    return sum / 16;
}

/* ---- Small functions ---- */

DM_FN float dm_enc_clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* log10 within +-10; -10 for what has none. NaN stays. */
DM_FN float dm_enc_log(float x)
{
    return x <= 1e-10f ? -10.0f : dm_enc_clamp(log10f(x), -10.0f, 10.0f);
}

DM_FN float dm_enc_quotient(float a, float b)
{
    return b == 0.0f ? 0.0f : a / b;
}

DM_FN float dm_enc_average(float average, float x, float span, bool started)
{
    return started ? average + 2.0f / (span + 1.0f) * (x - average) : x;
}

/* beta^t for the step's number. */
DM_FN float dm_enc_power(float beta, uint64_t t)
{
    if (beta == 0.0f)
        return t == 0 ? 1.0f : 0.0f;
    double size = exp((double)t * log(fabs((double)beta)));
    return (float)(beta < 0 && t % 2 == 1 ? -size : size);
}

DM_FN void dm_enc_init(dm_enc_state *s, uint32_t losses, uint32_t norms)
{
    uint32_t *words = (uint32_t *)s;
    for (uint32_t i = 0; i < sizeof *s / 4; i++)
        words[i] = 0;
    dm_enc_window_init(&s->losses, losses);
    dm_enc_window_init(&s->norms, norms);
}

/* ---- The update ---- */

DM_FN void dm_enc_push_loss(dm_enc_state *s, float loss)
{
    dm_enc_window_push(&s->losses, loss);
    s->finite++;
    float log = dm_enc_log(loss), spans[4] = {4, 16, 64, 256};
    bool started = s->has_loss != 0;
    s->lags[(s->finite - 1) % DM_ENC_LAGS] = log;
    if (started) {
        float delta = loss - s->previous_loss, fell = delta < 0 ? 1.0f : 0.0f;
        float away = log - s->loss_ema[1];
        bool again = s->has_change != 0;
        s->deviation = dm_enc_average(s->deviation, away * away, 16, again);
        s->change = dm_enc_average(s->change, delta, 16, again);
        s->change_size = dm_enc_average(s->change_size, fabsf(delta), 16, again);
        s->falling16 = dm_enc_average(s->falling16, fell, 16, again);
        s->falling64 = dm_enc_average(s->falling64, fell, 64, again);
        s->has_change = 1;
    }
    for (int i = 0; i < 4; i++)
        s->loss_ema[i] = dm_enc_average(s->loss_ema[i], log, spans[i], started);
    if (!started || loss < s->best) {
        s->best = loss;
        s->best_number = s->finite;
    }
    s->previous_loss = loss;
    s->has_loss = 1;
}

DM_FN void dm_enc_push_norm(dm_enc_state *s, float norm)
{
    dm_enc_window_push(&s->norms, norm);
    float log = dm_enc_log(norm), spans[3] = {4, 16, 64};
    bool started = s->has_norm != 0;
    if (started)
        s->norm_change =
            dm_enc_average(s->norm_change, fabsf(log - s->previous_norm_log), 16, s->has_norm > 1);
    for (int i = 0; i < 3; i++)
        s->norm_ema[i] = dm_enc_average(s->norm_ema[i], log, spans[i], started);
    s->previous_norm_log = log;
    s->has_norm += s->has_norm < 2;
}

DM_FN void dm_enc_features_loss(const dm_enc_state *s, const dm_dynamics_sample *sample, float *f)
{
    dm_enc_window_stats(&s->losses, f + 1);
    f[0] = sample->loss;
    f[5] = 0;
    f[6] = 1;
    if (s->losses.count >= 32) {
        double last = dm_enc_window_mean16(&s->losses, 0);
        double before = dm_enc_window_mean16(&s->losses, 16);
        f[5] = (float)(last - before);
        f[6] = before == 0 ? 1.0f : (float)(last / before);
    }
    f[7] = (float)((double)sample->step / 10000);
    f[23] = log10f(1.0f + (float)sample->step);
    float log = dm_enc_log(sample->loss), range = f[4] - f[3];
    f[26] = log;
    for (int i = 0; i < 4; i++)
        f[27 + i] = s->loss_ema[i];
    f[31] = log - s->loss_ema[1];
    for (int i = 0; i < 3; i++)
        f[32 + i] = s->loss_ema[i] - s->loss_ema[i + 1];
    f[35] = sqrtf(s->deviation);
    f[36] = s->change;
    f[37] = s->change_size;
    f[38] = s->falling16;
    f[39] = s->falling64;
    f[40] = dm_enc_quotient(sample->loss - f[3], range);
    f[41] = dm_enc_clamp(dm_enc_quotient(sample->loss - f[1], f[2]), -10.0f, 10.0f);
    f[42] = dm_enc_clamp((float)(s->finite - s->best_number) / 256.0f, 0.0f, 1.0f);
    f[43] = s->has_loss ? dm_enc_log(s->best) : 0.0f;
    f[59] = (float)s->losses.count / (float)s->losses.size;
}

/* Differences of log10 loss to 1, 2, 4 and 8 losses before. */
DM_FN void dm_enc_features_lags(const dm_enc_state *s, float log, float *f)
{
    for (uint32_t i = 0, lag = 1; i < 4; i++, lag *= 2)
        f[44 + i] = s->finite > lag ? log - s->lags[(s->finite - 1 - lag) % DM_ENC_LAGS] : 0.0f;
}

DM_FN void dm_enc_features_norm(const dm_enc_state *s, const dm_dynamics_sample *sample, float *f)
{
    float norm = sample->gradient_norm;
    dm_enc_window_stats(&s->norms, f + 9);
    f[8] = norm;
    f[13] = dm_enc_log(norm);
    f[14] = f[9] == 0.0f ? 0.0f : dm_enc_clamp(norm / f[9], -10.0f, 10.0f);
    f[15] = dm_enc_quotient(f[10], f[9]);
    for (int i = 0; i < 3; i++)
        f[48 + i] = s->norm_ema[i];
    f[51] = s->norm_ema[0] - s->norm_ema[2];
    f[52] = s->norm_change;
    f[53] = dm_enc_quotient(norm - f[11], f[12] - f[11]);
}

DM_FN void dm_enc_features_rest(dm_enc_state *s, const dm_dynamics_sample *x, float *f)
{
    float rate = x->learning_rate;
    f[16] = x->first_mean;
    f[17] = x->first_std;
    f[18] = x->second_mean;
    f[19] = x->second_std;
    f[20] = dm_enc_log(rate);
    f[21] = dm_enc_power(x->beta1, x->step);
    f[22] = dm_enc_power(x->beta2, x->step);
    f[24] = (float)x->phase;
    f[25] = (float)x->phase_step / 100.0f;
    f[54] = dm_enc_clamp(dm_enc_quotient(fabsf(x->first_mean), x->first_std), 0.0f, 10.0f);
    f[55] = dm_enc_log(x->second_mean);
    float root = x->second_mean > 0 ? sqrtf(x->second_mean) : 0.0f;
    f[56] = dm_enc_log(rate * fabsf(x->first_mean) / (root + 1e-8f));
    s->rate_max = s->samples == 1 || rate > s->rate_max ? rate : s->rate_max;
    f[57] = dm_enc_quotient(rate, s->rate_max);
    f[58] = s->samples == 1 ? 0.0f : f[20] - dm_enc_log(s->previous_rate);
    s->previous_rate = rate;
    for (uint32_t i = 0; i < 4; i++)
        f[60 + i] = x->phase == i ? 1.0f : 0.0f;
}

/* Take a value over when it is finite. */
DM_FN bool dm_enc_take(float *taken, float x)
{
    if (!dm_enc_finite(x))
        return false;
    *taken = dm_enc_clamp(x, -DM_ENC_LIMIT, DM_ENC_LIMIT);
    return true;
}

DM_FN void dm_enc_update(dm_enc_state *s, const dm_dynamics_sample *sample, float *f)
{
    dm_dynamics_sample *x = &s->taken;
    x->step = sample->step;
    x->phase = sample->phase;
    x->phase_step = sample->phase_step;
    bool loss = dm_enc_take(&x->loss, sample->loss);
    bool norm = dm_enc_take(&x->gradient_norm, sample->gradient_norm), rest = true;
    rest &= dm_enc_take(&x->first_mean, sample->first_mean);
    rest &= dm_enc_take(&x->first_std, sample->first_std);
    rest &= dm_enc_take(&x->second_mean, sample->second_mean);
    rest &= dm_enc_take(&x->second_std, sample->second_std);
    rest &= dm_enc_take(&x->learning_rate, sample->learning_rate);
    rest &= dm_enc_take(&x->beta1, sample->beta1);
    rest &= dm_enc_take(&x->beta2, sample->beta2);
    s->samples++;
    s->passed += !(loss && norm && rest);
    if (loss)
        dm_enc_push_loss(s, x->loss);
    if (norm)
        dm_enc_push_norm(s, x->gradient_norm);
    dm_enc_features_loss(s, x, f);
    dm_enc_features_lags(s, f[26], f);
    dm_enc_features_norm(s, x, f);
    dm_enc_features_rest(s, x, f);
    for (int i = 0; i < 64; i++) /* quotients */
        f[i] = dm_enc_clamp(f[i], -DM_ENC_LIMIT, DM_ENC_LIMIT);
}

#endif
