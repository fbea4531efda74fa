/* SPDX-License-Identifier: MIT */
/* encoder_plain.c - the 64 features by their formulas, from all samples of a run: the reference for
 * encoder_text.h, in values and in time. */
#include "dynamics/encoder_plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 1e30f

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double log_of(double x)
{
    return x <= 1e-10 ? -10 : clamp(log10(x), -10, 10);
}

static double quotient(double a, double b)
{
    return b == 0 ? 0 : a / b;
}

/* The finite values of one quantity, limited. */
typedef struct values {
    double *at;
    size_t count;
} values;

static void add(values *v, float x)
{
    if (isfinite(x))
        v->at[v->count++] = clamp((double)x, (double)-LIMIT, (double)LIMIT);
}

static double last_of(const values *v)
{
    return v->count == 0 ? 0 : v->at[v->count - 1];
}

/* mean, deviation, min, max of the last values. */
static void window(const values *v, size_t size, float *out)
{
    size_t n = v->count < size ? v->count : size;
    const double *x = v->at + v->count - n;
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    memset(out, 0, 4 * sizeof *out);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - sum / (double)n;
        squares += d * d;
    }
    out[0] = (float)(sum / (double)n);
    out[1] = (float)sqrt(squares / (double)n);
    out[2] = (float)low;
    out[3] = (float)high;
}

static double mean(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

/* Exponential averages: average += 2 / (span + 1) * (x - average). */
static double average(double old, double x, double span, bool started)
{
    return started ? old + 2 / (span + 1) * (x - old) : x;
}

static void loss_trends(const values *losses, float *f)
{
    static const double spans[4] = {4, 16, 64, 256};
    double ema[4] = {0}, deviation = 0, change = 0, size = 0, falling16 = 0, falling64 = 0,
           best = 0;
    size_t count = losses->count, best_at = 0;
    for (size_t i = 0; i < count; i++) {
        double loss = losses->at[i], log = log_of(loss);
        if (i > 0) {
            double delta = loss - losses->at[i - 1], away = log - ema[1];
            bool again = i > 1;
            deviation = average(deviation, away * away, 16, again);
            change = average(change, delta, 16, again);
            size = average(size, fabs(delta), 16, again);
            falling16 = average(falling16, delta < 0, 16, again);
            falling64 = average(falling64, delta < 0, 64, again);
        }
        for (int k = 0; k < 4; k++)
            ema[k] = average(ema[k], log, spans[k], i > 0);
        if (i == 0 || loss < best) {
            best = loss;
            best_at = i + 1;
        }
    }
    double log = log_of(last_of(losses));
    f[26] = (float)log;
    for (int k = 0; k < 4; k++)
        f[27 + k] = (float)ema[k];
    f[31] = (float)(log - ema[1]);
    for (int k = 0; k < 3; k++)
        f[32 + k] = (float)(ema[k] - ema[k + 1]);
    f[35] = (float)sqrt(deviation);
    f[36] = (float)change;
    f[37] = (float)size;
    f[38] = (float)falling16;
    f[39] = (float)falling64;
    f[42] = (float)clamp((double)(count - best_at) / 256, 0, 1);
    f[43] = count > 0 ? (float)log_of(best) : 0;
    for (size_t k = 0, lag = 1; k < 4; k++, lag *= 2)
        f[44 + k] = count > lag ? (float)(log - log_of(losses->at[count - 1 - lag])) : 0;
}

static void norm_trends(const values *norms, float *f)
{
    static const double spans[3] = {4, 16, 64};
    double ema[3] = {0}, change = 0, previous = 0;
    for (size_t i = 0; i < norms->count; i++) {
        double log = log_of(norms->at[i]);
        if (i > 0)
            change = average(change, fabs(log - previous), 16, i > 1);
        for (int k = 0; k < 3; k++)
            ema[k] = average(ema[k], log, spans[k], i > 0);
        previous = log;
    }
    for (int k = 0; k < 3; k++)
        f[48 + k] = (float)ema[k];
    f[51] = (float)(ema[0] - ema[2]);
    f[52] = (float)change;
}

/* The last finite value of a field, up to a sample. */
static float held(const dm_dynamics_sample *samples, size_t count, size_t offset)
{
    for (size_t i = count; i-- > 0;) {
        float x;
        memcpy(&x, (const char *)&samples[i] + offset, sizeof x);
        if (isfinite(x))
            return (float)clamp((double)x, (double)-LIMIT, (double)LIMIT);
    }
    return 0;
}

#define HELD(field) x->field = held(samples, count, offsetof(dm_dynamics_sample, field))

static void rest(const dm_dynamics_sample *samples, size_t count, float *f)
{
    dm_dynamics_sample held_values = samples[count - 1], *x = &held_values;
    const size_t rate_at = offsetof(dm_dynamics_sample, learning_rate);
    HELD(first_mean);
    HELD(first_std);
    HELD(second_mean);
    HELD(second_std);
    HELD(learning_rate);
    HELD(beta1);
    HELD(beta2);
    double rate = (double)x->learning_rate, first = fabs((double)x->first_mean);
    double most = (double)held(samples, 1, rate_at);
    for (size_t i = 0; i < count; i++)
        if (isfinite(samples[i].learning_rate))
            most = fmax(most, (double)held(samples, i + 1, rate_at));
    f[16] = x->first_mean;
    f[17] = x->first_std;
    f[18] = x->second_mean;
    f[19] = x->second_std;
    f[20] = (float)log_of(rate);
    f[21] = (float)pow((double)x->beta1, (double)x->step);
    f[22] = (float)pow((double)x->beta2, (double)x->step);
    f[24] = (float)x->phase;
    f[25] = (float)x->phase_step / 100;
    f[54] = (float)clamp(quotient(first, (double)x->first_std), 0, 10);
    f[55] = (float)log_of((double)x->second_mean);
    f[56] = (float)log_of(rate * first / (sqrt(fmax((double)x->second_mean, 0)) + 1e-8));
    f[57] = (float)quotient(rate, most);
    f[58] =
        count < 2 ? 0 : (float)(log_of(rate) - log_of((double)held(samples, count - 1, rate_at)));
    for (uint32_t i = 0; i < 4; i++)
        f[60 + i] = x->phase == i;
}

static void losses_and_norms(const dm_dynamics_sample *x, const values *losses, const values *norms,
                             uint32_t losses_size, uint32_t norms_size, float *f)
{
    size_t count = losses->count, filled = count < losses_size ? count : losses_size;
    double loss = last_of(losses), norm = last_of(norms);
    f[0] = (float)loss;
    window(losses, losses_size, f + 1);
    f[5] = 0;
    f[6] = 1;
    if (filled >= 32) {
        double last = mean(losses->at + count - 16, 16);
        double before = mean(losses->at + count - 32, 16);
        f[5] = (float)(last - before);
        f[6] = before == 0 ? 1 : (float)(last / before);
    }
    f[7] = (float)((double)x->step / 10000);
    f[23] = (float)log10(1 + (double)x->step);
    loss_trends(losses, f);
    f[40] = (float)quotient(loss - (double)f[3], (double)f[4] - (double)f[3]);
    f[41] = (float)clamp(quotient(loss - (double)f[1], (double)f[2]), -10, 10);
    f[59] = (float)filled / (float)losses_size;
    f[8] = (float)norm;
    window(norms, norms_size, f + 9);
    f[13] = (float)log_of(norm);
    f[14] = f[9] == 0 ? 0 : (float)clamp(norm / (double)f[9], -10, 10);
    f[15] = (float)quotient((double)f[10], (double)f[9]);
    norm_trends(norms, f);
    f[53] = (float)quotient(norm - (double)f[11], (double)f[12] - (double)f[11]);
}

void dm_plain_encode(const dm_dynamics_sample *samples, size_t count, uint32_t losses_size,
                     uint32_t norms_size, float f[DM_DYNAMICS_ENCODER_FEATURES])
{
    double *memory = malloc(2 * count * sizeof *memory);
    if (memory == NULL)
        abort();
    values losses = {.at = memory}, norms = {.at = memory + count};
    for (size_t i = 0; i < count; i++) {
        add(&losses, samples[i].loss);
        add(&norms, samples[i].gradient_norm);
    }
    losses_and_norms(&samples[count - 1], &losses, &norms, losses_size, norms_size, f);
    rest(samples, count, f);
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
        f[i] = (float)clamp((double)f[i], (double)-LIMIT, (double)LIMIT);
    free(memory);
}
