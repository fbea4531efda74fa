/* SPDX-License-Identifier: MIT */
/* encoder_plain.c - the 64 features as their formulas say, from all samples of a run: the reference
 * for encoder_text.h, and what that is timed against. */
#include "dynamics/encoder_plain.h"

#include <math.h>

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

static double loss_at(const dm_train_sample *samples, size_t i)
{
    return (double)samples[i].loss;
}

static double norm_at(const dm_train_sample *samples, size_t i)
{
    return (double)samples[i].gradient_norm;
}

/* mean, deviation, min, max of the last values. */
static void window(const dm_train_sample *samples, size_t count, size_t size,
                   double (*value)(const dm_train_sample *, size_t), float *out)
{
    size_t n = count < size ? count : size;
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (size_t i = count - n; i < count; i++) {
        double v = value(samples, i);
        if (!isfinite(v)) {
            out[0] = out[1] = out[2] = out[3] = NAN;
            return;
        }
        sum += v;
        low = fmin(low, v);
        high = fmax(high, v);
    }
    for (size_t i = count - n; i < count; i++) {
        double d = value(samples, i) - sum / (double)n;
        squares += d * d;
    }
    out[0] = (float)(sum / (double)n);
    out[1] = (float)sqrt(squares / (double)n);
    out[2] = (float)low;
    out[3] = (float)high;
}

static double mean_loss(const dm_train_sample *samples, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += isfinite(samples[i].loss) ? loss_at(samples, i) : NAN;
    return sum / (double)(to - from);
}

/* Exponential averages over all finite values: average += 2 / (span + 1) * (x - average). */
static double average(double old, double x, double span, bool started)
{
    return started ? old + 2 / (span + 1) * (x - old) : x;
}

static void loss_trends(const dm_train_sample *samples, size_t count, float *f)
{
    static const double spans[4] = {4, 16, 64, 256};
    double ema[4] = {0}, deviation = 0, change = 0, size = 0, falling16 = 0, falling64 = 0,
           best = 0;
    size_t finite = 0, previous = 0, best_at = 0;
    for (size_t i = 0; i < count; i++) {
        double loss = loss_at(samples, i), log = log_of(loss);
        if (!isfinite(loss))
            continue;
        if (finite > 0) {
            double delta = loss - loss_at(samples, previous), away = log - ema[1];
            bool again = finite > 1;
            deviation = average(deviation, away * away, 16, again);
            change = average(change, delta, 16, again);
            size = average(size, fabs(delta), 16, again);
            falling16 = average(falling16, delta < 0, 16, again);
            falling64 = average(falling64, delta < 0, 64, again);
        }
        for (int k = 0; k < 4; k++)
            ema[k] = average(ema[k], log, spans[k], finite > 0);
        if (finite == 0 || loss < best) {
            best = loss;
            best_at = i + 1;
        }
        previous = i;
        finite++;
    }
    double log = log_of(loss_at(samples, count - 1));
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
    f[43] = finite > 0 ? (float)log_of(best) : 0;
    for (size_t k = 0, lag = 1; k < 4; k++, lag *= 2)
        f[44 + k] = count > lag ? (float)(log - log_of(loss_at(samples, count - 1 - lag))) : 0;
}

static void norm_trends(const dm_train_sample *samples, size_t count, float *f)
{
    static const double spans[3] = {4, 16, 64};
    double ema[3] = {0}, change = 0, previous = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        double norm = norm_at(samples, i), log = log_of(norm);
        if (!isfinite(norm))
            continue;
        if (finite > 0)
            change = average(change, fabs(log - previous), 16, finite > 1);
        for (int k = 0; k < 3; k++)
            ema[k] = average(ema[k], log, spans[k], finite > 0);
        previous = log;
        finite++;
    }
    for (int k = 0; k < 3; k++)
        f[48 + k] = (float)ema[k];
    f[51] = (float)(ema[0] - ema[2]);
    f[52] = (float)change;
}

static void rest(const dm_train_sample *samples, size_t count, float *f)
{
    const dm_train_sample *x = &samples[count - 1];
    double rate = (double)x->learning_rate, most = rate, first = fabs((double)x->first_mean);
    for (size_t i = 0; i < count; i++)
        most = i == 0 || (double)samples[i].learning_rate > most ? (double)samples[i].learning_rate
                                                                 : most;
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
        count < 2 ? 0 : (float)(log_of(rate) - log_of((double)samples[count - 2].learning_rate));
    for (uint32_t i = 0; i < 4; i++)
        f[60 + i] = x->phase == i;
}

void dm_plain_encode(const dm_train_sample *samples, size_t count, uint32_t losses, uint32_t norms,
                     float f[DM_ENCODER_FEATURES])
{
    const dm_train_sample *x = &samples[count - 1];
    size_t filled = count < losses ? count : losses;
    f[0] = x->loss;
    window(samples, count, losses, loss_at, f + 1);
    f[5] = 0;
    f[6] = 1;
    if (filled >= 32) {
        double last = mean_loss(samples, count - 16, count);
        double before = mean_loss(samples, count - 32, count - 16);
        f[5] = (float)(last - before);
        f[6] = before == 0 ? 1 : (float)(last / before);
        if (isnan(f[5]))
            f[6] = NAN;
    }
    f[7] = (float)((double)x->step / 10000);
    f[23] = (float)log10(1 + (double)x->step);
    loss_trends(samples, count, f);
    f[40] = (float)quotient((double)x->loss - (double)f[3], (double)f[4] - (double)f[3]);
    f[41] = (float)clamp(quotient((double)x->loss - (double)f[1], (double)f[2]), -10, 10);
    f[59] = (float)filled / (float)losses;
    f[8] = x->gradient_norm;
    window(samples, count, norms, norm_at, f + 9);
    f[13] = (float)log_of((double)x->gradient_norm);
    f[14] = f[9] == 0 ? 0 : (float)clamp((double)x->gradient_norm / (double)f[9], -10, 10);
    f[15] = (float)quotient((double)f[10], (double)f[9]);
    norm_trends(samples, count, f);
    f[53] =
        (float)quotient((double)x->gradient_norm - (double)f[11], (double)f[12] - (double)f[11]);
    rest(samples, count, f);
}
