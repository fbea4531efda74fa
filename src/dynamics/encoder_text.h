/* SPDX-License-Identifier: MIT */
/* encoder_text.h - one update of a training-state encoder; kernel text, for the CPU and for CUDA.
 *
 * The state of an encoder holds no pointers, so that many of them are an array on either.
 * Everything is updated in constant time:
 *
 *   mean, deviation   sums of differences from a centre, in float64; summed anew whenever the
 * window has been replaced once, or when something large has left it min, max          monotone
 * queues: the candidates for the time when those before them have left trends            sums of
 * the last 16 and 32 losses; exponential averages of logarithms
 *
 * The formulas of all features are in docs/dynamics.md and, from scratch, in encoder_plain.c. */
#ifndef DM_DYNAMICS_ENCODER_TEXT_H
#define DM_DYNAMICS_ENCODER_TEXT_H

#include "base/port.h"
#include "dynamics/encoder_sample.h"
#if !DM_ON_CUDA
#include <math.h>
#endif

#define DM_ENC_WINDOW_MAX 256
#define DM_ENC_LAGS 8

/* A queue of positions in a ring whose values only rise (or only fall). Positions and counts are
 * those of a ring of the window's size. */
typedef struct dm_enc_queue {
    uint16_t first, count;
    uint16_t at[DM_ENC_WINDOW_MAX];
} dm_enc_queue;

/* The last values of one quantity. */
typedef struct dm_enc_window {
    double centre, sum, squares; /* of (value - centre), finite values only */
    uint32_t size;               /* of the window */
    uint32_t count;              /* values in it */
    uint32_t next;               /* where the next one goes */
    uint32_t bad;                /* values in it that are not finite */
    dm_enc_queue low, high;
    float values[DM_ENC_WINDOW_MAX];
} dm_enc_window;

typedef struct dm_enc_state {
    uint64_t samples;
    dm_enc_window losses, norms;
    double sum16, sum32;        /* of the last losses, those that are not finite as 0 */
    uint64_t bad_sample;        /* number of the last sample with such a loss; 0: none */
    float loss_ema[4];          /* of log10 loss, spans 4, 16, 64, 256 */
    float norm_ema[3];          /* of log10 norm, spans 4, 16, 64 */
    float deviation;            /* of log10 loss around its average: mean square, span 16 */
    float change, change_size;  /* of the loss per step, span 16 */
    float falling16, falling64; /* share of steps on which it fell */
    float norm_change;          /* |change| of log10 norm, span 16 */
    float previous_loss, previous_norm_log, previous_rate;
    float best;           /* least loss so far */
    uint64_t best_sample; /* its number */
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
    w->count = w->next = w->bad = 0;
    w->low.first = w->low.count = w->high.first = w->high.count = 0;
}

/* Sums from what is in the window, around its mean. */
DM_FN void dm_enc_window_resum(dm_enc_window *w)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (dm_enc_finite(w->values[i])) {
            sum += (double)w->values[i];
            n++;
        }
    }
    w->centre = n > 0 ? sum / n : 0;
    w->sum = w->squares = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (dm_enc_finite(w->values[i])) {
            double d = (double)w->values[i] - w->centre;
            w->sum += d;
            w->squares += d * d;
        }
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
    if (full && !dm_enc_finite(old)) {
        w->bad--;
    } else if (full) {
        double d = (double)old - w->centre, share = d * d / (w->squares + 1e-300);
        w->sum -= d;
        w->squares -= d * d;
        resum = share > 0.5; /* what is left may be rounding */
        dm_enc_queue_leave(&w->low, position);
        dm_enc_queue_leave(&w->high, position);
    }
    w->values[position] = value;
    w->count += !full;
    w->next = position + 1u == w->size ? 0u : position + 1u;
    if (dm_enc_finite(value)) {
        double d = (double)value - w->centre;
        w->sum += d;
        w->squares += d * d;
        dm_enc_queue_add(&w->low, w->values, position, 1.0f);
        dm_enc_queue_add(&w->high, w->values, position, -1.0f);
    } else {
        w->bad++;
    }
    if (resum || w->next == 0)
        dm_enc_window_resum(w);
}

/* mean, standard deviation, min, max. */
DM_FN void dm_enc_window_stats(const dm_enc_window *w, float out[4])
{
    if (w->bad > 0) {
        for (int i = 0; i < 4; i++)
            out[i] = dm_bits_f32(0x7FC00000u);
        return;
    }
    double mean = w->sum / w->count, variance = w->squares / w->count - mean * mean;
    out[0] = (float)(w->centre + mean);
    out[1] = variance > 0 ? (float)sqrt(variance) : 0.0f;
    out[2] = w->values[w->low.at[w->low.first]];
    out[3] = w->values[w->high.at[w->high.first]];
}

/* The value `back` pushes before the last. */
DM_FN float dm_enc_window_back(const dm_enc_window *w, uint32_t back)
{
    return w->values[(w->next + 2u * w->size - 1u - back) % w->size];
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
    return beta == 0.0f ? (t == 0 ? 1.0f : 0.0f) : (float)exp((double)t * log((double)beta));
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
    uint32_t size = s->losses.size, had = s->losses.count;
    bool finite = dm_enc_finite(loss);
    float value = finite ? loss : 0.0f;
    if (size >= 32) {
        float left16 = had >= 16 ? dm_enc_window_back(&s->losses, 15) : 0.0f;
        float left32 = had >= 32 ? dm_enc_window_back(&s->losses, 31) : 0.0f;
        s->sum16 += (double)value - (dm_enc_finite(left16) ? (double)left16 : 0);
        s->sum32 += (double)value - (dm_enc_finite(left32) ? (double)left32 : 0);
    }
    dm_enc_window_push(&s->losses, loss);
    if (s->losses.next == 0 && size >= 32) { /* once per window: no drift */
        s->sum16 = s->sum32 = 0;
        for (uint32_t i = 0; i < 32 && i < s->losses.count; i++) {
            float x = dm_enc_window_back(&s->losses, i);
            s->sum32 += dm_enc_finite(x) ? (double)x : 0;
            s->sum16 += i < 16 && dm_enc_finite(x) ? (double)x : 0;
        }
    }
    if (!finite) {
        s->bad_sample = s->samples;
        return;
    }
    float log = dm_enc_log(loss), spans[4] = {4, 16, 64, 256};
    bool started = s->has_loss != 0;
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
        s->best_sample = s->samples;
    }
    s->previous_loss = loss;
    s->has_loss = 1;
}

DM_FN void dm_enc_push_norm(dm_enc_state *s, float norm)
{
    dm_enc_window_push(&s->norms, norm);
    if (!dm_enc_finite(norm))
        return;
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

DM_FN void dm_enc_features_loss(const dm_enc_state *s, const dm_train_sample *sample, float *f)
{
    dm_enc_window_stats(&s->losses, f + 1);
    f[0] = sample->loss;
    f[5] = 0;
    f[6] = 1;
    if (s->losses.count >= 32) {
        bool bad = s->bad_sample != 0 && s->samples - s->bad_sample < 32;
        float last = (float)(s->sum16 / 16), before = (float)((s->sum32 - s->sum16) / 16);
        f[5] = bad ? dm_bits_f32(0x7FC00000u) : last - before;
        f[6] = bad ? f[5] : before == 0.0f ? 1.0f : last / before;
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
    f[42] = dm_enc_clamp((float)(s->samples - s->best_sample) / 256.0f, 0.0f, 1.0f);
    f[43] = s->has_loss ? dm_enc_log(s->best) : 0.0f;
    f[59] = (float)s->losses.count / (float)s->losses.size;
}

/* Differences of log10 loss to 1, 2, 4 and 8 samples ago; takes the sample's in. */
DM_FN void dm_enc_features_lags(dm_enc_state *s, float log, float *f)
{
    for (uint32_t i = 0, lag = 1; i < 4; i++, lag *= 2)
        f[44 + i] = s->samples > lag ? log - s->lags[(s->samples - 1 - lag) % DM_ENC_LAGS] : 0.0f;
    s->lags[(s->samples - 1) % DM_ENC_LAGS] = log;
}

DM_FN void dm_enc_features_norm(const dm_enc_state *s, const dm_train_sample *sample, float *f)
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

DM_FN void dm_enc_features_rest(dm_enc_state *s, const dm_train_sample *x, float *f)
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

DM_FN void dm_enc_update(dm_enc_state *s, const dm_train_sample *sample, float *f)
{
    s->samples++;
    dm_enc_push_loss(s, sample->loss);
    dm_enc_push_norm(s, sample->gradient_norm);
    dm_enc_features_loss(s, sample, f);
    dm_enc_features_lags(s, f[26], f);
    dm_enc_features_norm(s, sample, f);
    dm_enc_features_rest(s, sample, f);
}

#endif
