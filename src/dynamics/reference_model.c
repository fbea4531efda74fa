/* SPDX-License-Identifier: MIT */
/* reference_model.c - see reference_model.h. */
#include "dynamics/reference_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double dm_reference_distance(const float *got, const double *want, size_t n)
{
    double largest = DM_DYNAMICS_SMALL, furthest = 0;
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

double dm_reference_rollout_distance(const dm_dynamics_forecast *got,
                                     const dm_reference_results *want)
{
    size_t cells = (size_t)got->rollouts * got->members;
    double a = dm_reference_distance(got->loss, want->loss, cells * got->steps);
    double b = dm_reference_distance(got->entropy, want->entropy, cells * got->steps);
    double c = dm_reference_distance(got->hidden_norm, want->hidden_norm, cells * got->steps);
    double d = dm_reference_distance(got->hidden_last, want->hidden_last, cells * got->hidden);
    return fmax(fmax(a, b), fmax(c, d));
}

void dm_reference_results_deinit(dm_reference_results *results)
{
    free(results->loss);
    free(results->entropy);
    free(results->hidden_norm);
    free(results->hidden_last);
    *results = (dm_reference_results){0};
}

/* ---- float64 ---- */

static double *to_double(const float *from, size_t n)
{
    double *to = malloc((n + 1) * sizeof *to);
    for (size_t i = 0; to != NULL && i < n; i++)
        to[i] = (double)from[i];
    return to;
}

/* Memory of one sequence besides its results. */
static size_t sequence_size(const dm_dynamics_config *c, size_t steps)
{
    return (steps + 1) * c->hidden + steps * (c->input + 4 * (size_t)c->hidden + c->stochastic);
}

static void roll64(const dm_ref64_member *m, const double *x, const double *h0, uint32_t steps,
                   double *memory, const dm_reference_results *out, size_t at)
{
    size_t H = m->config->hidden, I = m->config->input, Y = steps;
    dm_ref64_sequence q = {.steps = steps,
                           .forced = 1,
                           .x = x,
                           .h0 = h0,
                           .loss = out->loss + at * Y,
                           .entropy = out->entropy + at * Y,
                           .hidden_norm = out->hidden_norm + at * Y,
                           .h = memory,
                           .inputs = memory + (Y + 1) * H,
                           .gates = memory + (Y + 1) * H + Y * I,
                           .s = memory + (Y + 1) * H + Y * (I + 4 * H)};
    dm_ref64_sequence_forward(m, &q);
    memcpy(out->hidden_last + at * H, q.h + Y * H, H * sizeof(double));
}

dm_status dm_reference_rollout(const dm_dynamics *model, const float *features, const float *hidden,
                               uint32_t rollouts, uint32_t steps, dm_reference_results *out,
                               dm_error *err)
{
    size_t I = model->config.input, H = model->config.hidden, E = model->config.members;
    size_t R = rollouts, Y = steps;
    out->loss = malloc(R * E * Y * sizeof(double));
    out->entropy = malloc(R * E * Y * sizeof(double));
    out->hidden_norm = malloc(R * E * Y * sizeof(double));
    out->hidden_last = malloc(R * E * H * sizeof(double));
    double *x = malloc(I * sizeof(double)), *h = calloc(H, sizeof(double));
    double *memory = malloc(sequence_size(&model->config, steps) * sizeof(double));
    bool good = out->loss != NULL && out->entropy != NULL && out->hidden_norm != NULL &&
                out->hidden_last != NULL && x != NULL && h != NULL && memory != NULL;
    for (uint32_t e = 0; e < E && good; e++) {
        double *weights = to_double(dm_dynamics_member(model, e), model->layout.total);
        good = weights != NULL;
        dm_ref64_member m = {&model->config, &model->layout, weights, (double)model->shift[0],
                             (double)model->scale[0]};
        for (size_t k = 0; k < R && good; k++) {
            for (size_t i = 0; i < I; i++)
                x[i] = ((double)features[k * I + i] - (double)model->shift[i]) *
                       (double)model->scale[i];
            for (size_t i = 0; i < H && hidden != NULL; i++)
                h[i] = (double)hidden[(k * E + e) * H + i];
            roll64(&m, x, h, steps, memory, out, k * E + e);
        }
        free(weights);
    }
    free(x);
    free(h);
    free(memory);
    if (good)
        return DM_OK;
    dm_reference_results_deinit(out);
    return dm_fail(err, DM_ENOMEM, "out of memory");
}

dm_status dm_reference_gru(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
                           const float *h, double *out, dm_error *err)
{
    size_t I = model->config.input, H = model->config.hidden;
    double *weights = to_double(dm_dynamics_member(model, member), model->layout.total);
    double *gates = malloc(4 * H * sizeof *gates), *from_x = to_double(x, batch * I),
           *from_h = to_double(h, batch * H);
    bool good = weights != NULL && gates != NULL && from_x != NULL && from_h != NULL;
    if (good) {
        dm_ref64_member m = {&model->config, &model->layout, weights, 0, 1};
        dm_ref64_tape tape = {gates, gates + H, gates + 2 * H, gates + 3 * H};
        for (size_t b = 0; b < batch; b++)
            dm_ref64_cell(&m, from_x + b * I, from_h + b * H, out + b * H, &tape);
    }
    free(weights);
    free(gates);
    free(from_x);
    free(from_h);
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

/* One sequence of one member; d is [steps], then x [forced][I], then what the sequence needs. */
static void sequence_gradients(const dm_ref64_member *m, uint32_t forced, uint32_t steps,
                               const double *h0, double *memory, double *grad, double *dh0)
{
    size_t H = m->config->hidden, I = m->config->input, T = steps;
    const double *d = memory, *x = d + T;
    double *loss = memory + T + forced * I;
    dm_ref64_sequence q = {.steps = steps,
                           .forced = forced,
                           .x = x,
                           .h0 = h0,
                           .loss = loss,
                           .h = loss + T,
                           .inputs = loss + T + (T + 1) * H,
                           .gates = loss + T + (T + 1) * H + T * I,
                           .s = loss + T + (T + 1) * H + T * (I + 4 * H)};
    dm_ref64_sequence_forward(m, &q);
    dm_ref64_sequence_backward(m, &q, d, grad, dh0, NULL, loss + T + sequence_size(m->config, T));
}

dm_status dm_reference_gradients(const dm_dynamics *model, uint32_t sequences, uint32_t forced,
                                 uint32_t steps, const float *features, const float *hidden,
                                 const float *dloss, double *loss, double *dh0, double *grad,
                                 dm_error *err)
{
    const dm_dynamics_config *c = &model->config;
    size_t H = c->hidden, I = c->input, S = c->stochastic, E = c->members, R = sequences, T = steps;
    double *memory =
        malloc((2 * T + forced * I + sequence_size(c, T) + 8 * H + I + S) * sizeof *memory);
    bool good = memory != NULL;
    for (size_t at = 0; at < E * R && good; at++) {
        size_t e = at / R, r = at % R;
        double *weights = to_double(dm_dynamics_member(model, (uint32_t)e), model->layout.total);
        double *h0 = hidden != NULL ? to_double(hidden + (r * E + e) * H, H) : NULL;
        dm_ref64_member m = {c, &model->layout, weights, (double)model->shift[0],
                             (double)model->scale[0]};
        good = weights != NULL && (hidden == NULL || h0 != NULL);
        for (size_t t = 0; t < T; t++)
            memory[t] = (double)dloss[(e * T + t) * R + r];
        for (size_t k = 0; k < forced * I; k++)
            memory[T + k] = ((double)features[r * forced * I + k] - (double)model->shift[k % I]) *
                            (double)model->scale[k % I];
        if (good)
            sequence_gradients(&m, forced, steps, h0, memory, grad + e * model->layout.total,
                               dh0 + at * H);
        for (size_t t = 0; t < T && good; t++)
            loss[(e * T + t) * R + r] = memory[T + forced * I + t];
        free(weights);
        free(h0);
    }
    free(memory);
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

/* ---- float32 ---- */

static dm_ref32_member member32(const dm_dynamics *model, uint32_t member)
{
    return (dm_ref32_member){&model->config, &model->layout, dm_dynamics_member(model, member),
                             model->shift[0], model->scale[0]};
}

dm_status dm_plain_rollout(const dm_dynamics *model, const float *features, const float *hidden,
                           dm_dynamics_forecast *out, dm_error *err)
{
    size_t I = model->config.input, H = model->config.hidden, E = model->config.members;
    size_t Y = out->steps;
    float *memory = malloc((sequence_size(&model->config, Y) + I) * sizeof *memory);
    if (memory == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    float *x = memory + sequence_size(&model->config, Y);
    for (size_t at = 0; at < out->rollouts * E; at++) {
        dm_ref32_member m = member32(model, (uint32_t)(at % E));
        for (size_t i = 0; i < I; i++)
            x[i] = (features[at / E * I + i] - model->shift[i]) * model->scale[i];
        dm_ref32_sequence q = {.steps = out->steps,
                               .forced = 1,
                               .x = x,
                               .h0 = hidden == NULL ? NULL : hidden + at * H,
                               .loss = out->loss + at * Y,
                               .entropy = out->entropy + at * Y,
                               .hidden_norm = out->hidden_norm + at * Y,
                               .h = memory,
                               .inputs = memory + (Y + 1) * H,
                               .gates = memory + (Y + 1) * H + Y * I,
                               .s = memory + (Y + 1) * H + Y * (I + 4 * H)};
        dm_ref32_sequence_forward(&m, &q);
        memcpy(out->hidden_last + at * H, q.h + Y * H, H * sizeof(float));
    }
    free(memory);
    dm_dynamics_forecast_aggregate(out);
    return DM_OK;
}

dm_status dm_plain_gru(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
                       const float *h, float *out, dm_error *err)
{
    size_t I = model->config.input, H = model->config.hidden;
    float *gates = malloc(4 * H * sizeof *gates);
    if (gates == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_ref32_member m = member32(model, member);
    dm_ref32_tape tape = {gates, gates + H, gates + 2 * H, gates + 3 * H};
    for (size_t b = 0; b < batch; b++)
        dm_ref32_cell(&m, x + b * I, h + b * H, out + b * H, &tape);
    free(gates);
    return DM_OK;
}
