/* SPDX-License-Identifier: MIT */
/* dynamics_case.c - see dynamics_case.h. */
#include "tests/dynamics/dynamics_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *dyn_random(size_t n, uint64_t seed, float bound)
{
    float *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (2 * dm_random_unit(dm_random4(seed, 77, i).v[0]) - 1) * bound;
    return out;
}

double *dyn_to_double(const float *from, size_t n)
{
    double *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)from[i];
    return out;
}

double dyn_distance(const float *got, const double *want, size_t n)
{
    double largest = 1e-300, furthest = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(got[i]) != isnan(want[i]))
            return INFINITY;
        if (isnan(got[i]))
            continue;
        largest = fmax(largest, fabs(want[i]));
        furthest = fmax(furthest, fabs((double)got[i] - want[i]));
    }
    return furthest / largest;
}

void dyn_member64_init(dyn_member64 *m, const dm_dynamics *model, uint32_t member)
{
    m->weights = dyn_to_double(dm_dynamics_member(model, member), model->layout.total);
    m->member = (dm_ref64_member){&model->config, &model->layout, m->weights,
                                  (double)model->shift[0], (double)model->scale[0]};
}

void dyn_member64_deinit(dyn_member64 *m)
{
    free(m->weights);
}

void dyn_gru64(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
               const float *h, double *out)
{
    size_t I = model->config.input, H = model->config.hidden;
    dyn_member64 m;
    dyn_member64_init(&m, model, member);
    double *gates = malloc(4 * H * sizeof *gates), *dx = dyn_to_double(x, batch * I),
           *dh = dyn_to_double(h, batch * H);
    assert_non_null(gates);
    dm_ref64_tape tape = {gates, gates + H, gates + 2 * H, gates + 3 * H};
    for (size_t b = 0; b < batch; b++)
        dm_ref64_cell(&m.member, dx + b * I, dh + b * H, out + b * H, &tape);
    free(gates);
    free(dx);
    free(dh);
    dyn_member64_deinit(&m);
}

static void roll(const dm_ref64_member *m, const double *x, const double *h0, uint32_t steps,
                 double *loss, double *entropy, double *norm, double *last)
{
    size_t H = m->config->hidden, I = m->config->input, S = m->config->stochastic, Y = steps;
    double *memory = malloc(((Y + 1) * H + Y * (I + 4 * H + S)) * sizeof *memory);
    assert_non_null(memory);
    dm_ref64_sequence q = {.steps = steps,
                           .forced = 1,
                           .x = x,
                           .h0 = h0,
                           .loss = loss,
                           .entropy = entropy,
                           .hidden_norm = norm,
                           .h = memory,
                           .inputs = memory + (Y + 1) * H,
                           .gates = memory + (Y + 1) * H + Y * I,
                           .s = memory + (Y + 1) * H + Y * (I + 4 * H)};
    dm_ref64_sequence_forward(m, &q);
    memcpy(last, q.h + Y * H, H * sizeof *last);
    free(memory);
}

void dyn_rollout64_make(dyn_rollout64 *out, const dm_dynamics *model, const float *features,
                        const float *hidden, uint32_t rollouts, uint32_t steps)
{
    size_t I = model->config.input, H = model->config.hidden, E = model->config.members;
    size_t R = rollouts, Y = steps;
    out->loss = malloc(R * E * Y * sizeof(double));
    out->entropy = malloc(R * E * Y * sizeof(double));
    out->hidden_norm = malloc(R * E * Y * sizeof(double));
    out->hidden_last = malloc(R * E * H * sizeof(double));
    double *x = malloc(I * sizeof(double)), *h = calloc(R * E * H, sizeof(double));
    assert_true(out->loss != NULL && out->entropy != NULL && out->hidden_norm != NULL &&
                out->hidden_last != NULL && x != NULL && h != NULL);
    for (size_t i = 0; hidden != NULL && i < R * E * H; i++)
        h[i] = (double)hidden[i];
    for (uint32_t e = 0; e < E; e++) {
        dyn_member64 m;
        dyn_member64_init(&m, model, e);
        for (size_t k = 0; k < R; k++) {
            size_t at = k * E + e;
            for (size_t i = 0; i < I; i++)
                x[i] = ((double)features[k * I + i] - (double)model->shift[i]) *
                       (double)model->scale[i];
            roll(&m.member, x, h + at * H, steps, out->loss + at * Y, out->entropy + at * Y,
                 out->hidden_norm + at * Y, out->hidden_last + at * H);
        }
        dyn_member64_deinit(&m);
    }
    free(x);
    free(h);
}

void dyn_rollout64_deinit(dyn_rollout64 *out)
{
    free(out->loss);
    free(out->entropy);
    free(out->hidden_norm);
    free(out->hidden_last);
}

static void assert_near(const char *what, const float *got, const double *want, size_t n)
{
    double distance = dyn_distance(got, want, n);
    if (!(distance <= DYN_TOLERANCE))
        fail_msg("%s is %g of its magnitude away from the reference", what, distance);
}

void dyn_assert_rollout(const dm_rollout *got, const dyn_rollout64 *want)
{
    size_t cells = (size_t)got->rollouts * got->members;
    assert_near("loss", got->loss, want->loss, cells * got->steps);
    assert_near("entropy", got->entropy, want->entropy, cells * got->steps);
    assert_near("hidden_norm", got->hidden_norm, want->hidden_norm, cells * got->steps);
    assert_near("hidden_last", got->hidden_last, want->hidden_last, cells * got->hidden);
}
