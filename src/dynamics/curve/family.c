/* SPDX-License-Identifier: MIT */
/* family.c - see family.h. A family gives the logarithm of the loss without noise, the noise's
 * deviation, and the learning rate, all over u = t/n in (0, 1] and t. */
#include "dynamics/curve/family.h"
#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARAMETERS = 12, LEAST = 160, MOST = 640 };

/* A curve that is being drawn: its parameters are uniform in [0, 1). */
typedef struct drawing {
    double p[PARAMETERS];
    uint64_t seed, stream;
    double n, t;  /* samples of the curve, this one's number from 1 */
    double level; /* of a process with memory */
} drawing;

/* What a family says of one step. */
typedef struct point {
    double loss; /* without noise, above 0 */
    double noise;
    double rate;
} point;

typedef void (*family_step)(drawing *d, point *out);

static double between(double p, double low, double high)
{
    return low + p * (high - low);
}

static double log_between(double p, double low, double high)
{
    return exp(between(p, log(low), log(high)));
}

static double uniform(const drawing *d, uint64_t what)
{
    return (double)dm_random_unit(
        dm_random4(d->seed, d->stream, 16 + what * 4096 + (uint64_t)d->t).v[0]);
}

static double normal(const drawing *d, uint64_t what)
{
    dm_philox4 r = dm_random4(d->seed, d->stream, 16 + what * 4096 + (uint64_t)d->t);
    return sqrt(-2 * log(((double)r.v[0] + 1) / 4294967297.0)) *
           cos(6.283185307179586 * (double)r.v[1] / 4294967296.0);
}

/* ---- Shapes that families share ---- */

/* Parameters 0 to 3: scale, exponent, offset of time, floor. */
static double power_law(const drawing *d)
{
    double a = log_between(d->p[0], 0.3, 6), b = between(d->p[1], 0.15, 1.2);
    double t0 = log_between(d->p[2], 1, 60), c = log_between(d->p[3], 0.02, 1.5);
    return a * pow((d->t + t0) / t0, -b) + c;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double cosine(double u)
{
    return 0.5 * (1 + cos(3.141592653589793 * u));
}

/* ---- The families ---- */

static void step_power_law(drawing *d, point *o)
{
    o->loss = power_law(d);
}

static void step_exponential(drawing *d, point *o)
{
    double tau = d->n * log_between(d->p[1], 0.05, 0.8);
    o->loss = log_between(d->p[0], 0.5, 5) * exp(-d->t / tau) + log_between(d->p[3], 0.02, 1);
}

static void step_two_phase(drawing *d, point *o)
{
    double turn = d->n * between(d->p[4], 0.2, 0.7), fast = d->n * between(d->p[5], 0.03, 0.15);
    double slow = d->n * between(d->p[6], 0.3, 2), t = d->t;
    double first = exp(-fmin(t, turn) / fast), second = t > turn ? exp(-(t - turn) / slow) : 1;
    o->loss = 1.5 * first + log_between(d->p[0], 0.3, 2) * second + log_between(d->p[3], 0.05, 0.5);
}

static void step_plateau_drop(drawing *d, point *o)
{
    double at = d->n * between(d->p[4], 0.15, 0.8), width = d->n * between(d->p[5], 0.01, 0.08);
    double high = between(d->p[0], 1, 3), drop = high * between(d->p[6], 0.3, 0.95);
    o->loss = high - drop * sigmoid((d->t - at) / width) + 0.3 * exp(-d->t / (0.05 * d->n));
}

/* The loss falls as the rate allows: noise and a floor follow a warm-up and a cosine. */
static void step_cosine(drawing *d, point *o)
{
    double warm = d->n * between(d->p[4], 0.02, 0.2), t = d->t;
    double rate = t < warm ? t / warm : cosine((t - warm) / (d->n - warm));
    d->level += rate; /* the distance that was gone */
    double gone = d->level / d->n;
    o->rate = 1e-3 * fmax(rate, 1e-4);
    o->loss = log_between(d->p[0], 0.5, 4) *
                  pow(1 + gone / log_between(d->p[2], 0.005, 0.2), -between(d->p[1], 0.3, 1.5)) +
              log_between(d->p[3], 0.05, 0.8) * (1 + between(d->p[5], 0, 0.4) * rate);
    o->noise *= 0.3 + 0.7 * rate;
}

static void step_step_decay(drawing *d, point *o)
{
    double first = d->n * between(d->p[4], 0.25, 0.5), second = d->n * between(d->p[5], 0.6, 0.85);
    double rate = d->t < first ? 1 : d->t < second ? 0.1 : 0.01, t = d->t;
    double fall = between(d->p[6], 0.1, 0.5), quick = 0.02 * d->n;
    o->loss = power_law(d);
    if (t >= first)
        o->loss *= 1 - fall * (1 - exp(-(t - first) / quick));
    if (t >= second)
        o->loss *= 1 - 0.4 * fall * (1 - exp(-(t - second) / quick));
    o->rate = 0.1 * rate;
    o->noise *= sqrt(fmax(rate, 0.1));
}

/* Noise that grows as the loss falls, as with small batches and a floor near 0. */
static void step_noisy(drawing *d, point *o)
{
    o->loss = power_law(d);
    o->noise = log_between(d->p[4], 0.04, 0.4) * pow(o->loss / 3, -between(d->p[5], 0, 0.6));
    o->noise = fmin(o->noise, 0.8);
}

static void step_rise_fall(drawing *d, point *o)
{
    double at = d->n * between(d->p[4], 0.05, 0.35), width = d->n * between(d->p[5], 0.03, 0.15);
    double bump = between(d->p[6], 0.2, 1.5) * exp(-pow((d->t - at) / width, 2) / 2);
    o->loss = power_law(d) * (1 + bump);
}

static void step_spikes(drawing *d, point *o)
{
    double share = between(d->p[4], 0.005, 0.03);
    if (uniform(d, 3) < share)
        d->level = between(uniform(d, 4), 0.2, 1.5);
    d->level *= between(d->p[5], 0.3, 0.85);
    o->loss = power_law(d) * exp(d->level);
}

static void step_divergence(drawing *d, point *o)
{
    double at = d->n * between(d->p[4], 0.3, 0.95), speed = between(d->p[5], 0.004, 0.03);
    double most = between(d->p[6], 0.5, 2.5);
    o->loss = power_law(d);
    if (d->t > at)
        o->loss *= exp(most * (1 - exp(-speed * (d->t - at))));
}

static void step_saturation(drawing *d, point *o)
{
    double end = d->n * between(d->p[4], 0.1, 0.6), c = log_between(d->p[3], 0.05, 2);
    double left = fmax(0, 1 - d->t / end);
    o->loss = c * (1 + between(d->p[0], 0.5, 4) * pow(left, between(d->p[5], 1.5, 4)));
}

static void step_log_linear(drawing *d, point *o)
{
    double from = between(d->p[0], 1.5, 5), share = between(d->p[1], 0.3, 0.85);
    o->loss = from * (1 - share * log1p(d->t) / log1p(d->n));
}

/* A smooth fall in the middle of the run, as when one ability is learnt. */
static void step_sigmoid(drawing *d, point *o)
{
    double at = d->n * between(d->p[4], 0.1, 0.9), width = d->n * between(d->p[5], 0.05, 0.2);
    o->loss =
        between(d->p[0], 0.5, 3) * (1 - between(d->p[6], 0.2, 0.9) * sigmoid((d->t - at) / width)) +
        0.02;
}

/* Straight in the logarithm: interpolating models without a floor. */
static void step_geometric(drawing *d, point *o)
{
    double rate = between(d->p[4], 0.5, 6) / d->n;
    o->loss =
        log_between(d->p[0], 0.5, 5) * exp(-rate * d->t) + 0.5 * exp(-d->t / (0.05 * d->n)) + 1e-3;
}

/* Loss on one epoch's order of data: waves over a power law. */
static void step_waves(drawing *d, point *o)
{
    double period = d->n * between(d->p[4], 0.08, 0.5);
    o->loss = power_law(d) *
              exp(between(d->p[5], 0.02, 0.2) * sin(6.283185307179586 * (d->t / period + d->p[6])));
}

static void step_random_walk(drawing *d, point *o)
{
    d->level += normal(d, 5) * log_between(d->p[4], 0.002, 0.03);
    o->loss = power_law(d) * exp(d->level);
}

/* Warm-up, long constant rate, linear decay at the end during which the loss falls anew. */
static void step_decay_end(drawing *d, point *o)
{
    double warm = d->n * 0.05, from = d->n * between(d->p[4], 0.5, 0.85), t = d->t;
    double rate = t < warm ? t / warm : t < from ? 1 : 1 - (t - from) / (d->n - from + 1);
    o->rate = 2e-3 * fmax(rate, 1e-3);
    o->loss =
        power_law(d) * (1 - between(d->p[5], 0.05, 0.35) * (t < from ? 0 : pow(1 - rate, 1.5)));
    o->noise *= 0.4 + 0.6 * rate;
}

/* Overfitting on the other side: falls, then rises slowly. */
static void step_fall_rise(drawing *d, point *o)
{
    double at = d->n * between(d->p[4], 0.25, 0.7), gain = between(d->p[5], 0.1, 1);
    o->loss = power_law(d) * (d->t > at ? 1 + gain * (d->t - at) / d->n : 1);
}

static const struct {
    const char *name;
    family_step step;
} families[DM_FAMILY_COUNT] = {
    {"power-law", step_power_law},   {"exponential", step_exponential},
    {"two-phase", step_two_phase},   {"plateau-drop", step_plateau_drop},
    {"cosine", step_cosine},         {"step-decay", step_step_decay},
    {"noisy", step_noisy},           {"rise-fall", step_rise_fall},
    {"spikes", step_spikes},         {"divergence", step_divergence},
    {"saturation", step_saturation}, {"log-linear", step_log_linear},
    {"sigmoid", step_sigmoid},       {"geometric", step_geometric},
    {"waves", step_waves},           {"random-walk", step_random_walk},
    {"decay-end", step_decay_end},   {"fall-rise", step_fall_rise},
};

/* ---- Drawing ---- */

const char *dm_family_name(size_t family)
{
    return family < DM_FAMILY_COUNT ? families[family].name : NULL;
}

int dm_family_find(const char *name)
{
    for (int i = 0; i < DM_FAMILY_COUNT; i++)
        if (strcmp(families[i].name, name) == 0)
            return i;
    return -1;
}

dm_status dm_family_draw(size_t family, uint64_t seed, uint64_t index, dm_curve *out, dm_error *err)
{
    drawing d = {.seed = seed, .stream = (uint64_t)family << 32 | index};
    for (uint32_t i = 0; i < PARAMETERS; i++)
        d.p[i] = (double)dm_random_unit(dm_random4(seed, d.stream, i / 4).v[i % 4]);
    d.n = floor(LEAST + (MOST - LEAST) * d.p[11]);
    *out = (dm_curve){0};
    snprintf(out->name, sizeof out->name, "%s-%llu", families[family].name,
             (unsigned long long)index);
    dm_status status = DM_OK;
    double usual = log_between(d.p[10], 0.003, 0.25), memory = 0;
    for (uint32_t t = 1; t <= (uint32_t)d.n && status == DM_OK; t++) {
        d.t = t;
        point o = {.noise = usual, .rate = 1e-3};
        families[family].step(&d, &o);
        /* A part of the noise lasts: batches come from the same weights. */
        memory = 0.6 * memory + 0.8 * normal(&d, 1);
        double noise = o.noise * (d.p[9] < 0.3 ? memory : normal(&d, 2));
        dm_dynamics_sample s = {.step = t, .phase = 1, .phase_step = t};
        s.loss = (float)(o.loss * exp(noise - o.noise * o.noise / 2));
        s.learning_rate = d.p[8] < 0.3 ? 0 : (float)o.rate; /* not every log has it */
        s.gradient_norm = d.p[8] < 0.5 ? 0 : (float)exp(0.3 * log(o.loss) + 0.2 * normal(&d, 6));
        status = dm_curve_append(out, &s, err);
    }
    if (status != DM_OK)
        dm_curve_deinit(out);
    return status;
}
