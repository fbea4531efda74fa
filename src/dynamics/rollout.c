/* SPDX-License-Identifier: MIT */
/* rollout.c - rollouts on the CPU, and what their results say over members and steps.
 *
 * The features other than the fed-back loss stay, so W x is computed once; each step adds column 0
 * of W times the new loss. A member's weights are used for a tile of rollouts and all steps before
 * the next member's, so that they stay in the cache. */
#include "base/require.h"
#include "dynamics/cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE 16 /* rollouts that go through the steps together */

/* ---- Results ---- */

dm_status dm_dynamics_forecast_create(const dm_dynamics *model, uint32_t rollouts, uint32_t steps,
                                      dm_dynamics_forecast **out, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, out);
    uint64_t E = model->config.members, H = model->config.hidden, R = rollouts, Y = steps;
    if (rollouts < 1 || rollouts > 1u << 20 || steps < 1 || steps > 1u << 20)
        return dm_fail(err, DM_EINVAL,
                       "rollout: %u rollouts of %u steps; both must be 1 to 1048576", rollouts,
                       steps);
    dm_dynamics_forecast *r = calloc(1, sizeof *r);
    if (r == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    *r = (dm_dynamics_forecast){
        .rollouts = rollouts, .members = (uint32_t)E, .steps = steps, .hidden = (uint32_t)H};
    struct {
        float **array;
        uint64_t count;
    } arrays[] = {
        {&r->loss, R * E * Y},        {&r->entropy, R * E * Y}, {&r->hidden_norm, R * E * Y},
        {&r->hidden_last, R * E * H}, {&r->mean, R * Y},        {&r->deviation, R * Y},
        {&r->total, R * Y},           {&r->confidence, R * Y},  {&r->step_deltas, R * Y}};
    bool good = true;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i].array = dm_dynamics_alloc(arrays[i].count, sizeof(float));
        good = good && *arrays[i].array != NULL;
    }
    r->member_metrics = calloc(R * E, sizeof *r->member_metrics);
    r->metrics = calloc(R, sizeof *r->metrics);
    if (!good || r->member_metrics == NULL || r->metrics == NULL) {
        dm_dynamics_forecast_destroy(r);
        return dm_fail(err, DM_ENOMEM, "rollout: no memory for %u rollouts of %u steps", rollouts,
                       steps);
    }
    *out = r;
    return DM_OK;
}

void dm_dynamics_forecast_destroy(dm_dynamics_forecast *r)
{
    if (r == NULL)
        return;
    free(r->loss);
    free(r->entropy);
    free(r->hidden_norm);
    free(r->hidden_last);
    free(r->mean);
    free(r->deviation);
    free(r->total);
    free(r->confidence);
    free(r->step_deltas);
    free(r->member_metrics);
    free(r->metrics);
    free(r);
}

static dm_dynamics_metrics metrics_of(const float *loss, uint32_t Y)
{
    double sum = 0, squares = 0, deltas = 0, bends = 0;
    for (uint32_t t = 0; t < Y; t++)
        sum += (double)loss[t];
    for (uint32_t t = 0; t < Y; t++) {
        double d = (double)loss[t] - sum / Y;
        squares += d * d;
        if (t >= 1)
            deltas += fabs((double)loss[t] - (double)loss[t - 1]);
        if (t >= 2)
            bends += fabs((double)loss[t] - 2 * (double)loss[t - 1] + (double)loss[t - 2]);
    }
    return (dm_dynamics_metrics){.loss_variance = (float)(squares / Y),
                                 .trajectory_smoothness = Y > 2 ? (float)(bends / (Y - 2)) : 0,
                                 .step_delta_mean = Y > 1 ? (float)(deltas / (Y - 1)) : 0};
}

/* Over the members, at step t of rollout k. */
static void aggregate_step(dm_dynamics_forecast *r, uint32_t k, uint32_t t)
{
    size_t E = r->members, Y = r->steps, at = k * Y + t;
    double sum = 0, squares = 0;
    for (size_t e = 0; e < E; e++)
        sum += (double)r->loss[(k * E + e) * Y + t];
    for (size_t e = 0; e < E; e++) {
        double d = (double)r->loss[(k * E + e) * Y + t] - sum / (double)E;
        squares += d * d;
    }
    double deviation = sqrt(squares / (double)E);
    double total = deviation * (1 + 0.1 * sqrt((double)t + 1));
    r->mean[at] = (float)(sum / (double)E);
    r->deviation[at] = (float)deviation;
    r->total[at] = (float)total;
    r->confidence[at] = (float)(1 / (1 + total));
}

void dm_dynamics_forecast_aggregate(dm_dynamics_forecast *r)
{
    size_t E = r->members, Y = r->steps;
    for (uint32_t k = 0; k < r->rollouts; k++) {
        for (uint32_t t = 0; t < r->steps; t++)
            aggregate_step(r, k, t);
        for (size_t t = 0; t + 1 < Y; t++)
            r->step_deltas[k * (Y - 1) + t] = fabsf(r->mean[k * Y + t + 1] - r->mean[k * Y + t]);
        for (size_t e = 0; e < E; e++)
            r->member_metrics[k * E + e] = metrics_of(r->loss + (k * E + e) * Y, r->steps);
        r->metrics[k] = metrics_of(r->mean + k * Y, r->steps);
    }
}

/* ---- The steps ---- */

typedef struct workspace {
    float *memory;
    float *base;    /* [TILE][3 H]: W x + b without feature 0 */
    float *a;       /* [TILE][3 H] */
    float *h, *q;   /* [TILE][H] */
    float *x;       /* [TILE][I] */
    float *column;  /* [3 H]: column 0 of W */
    float *s;       /* [S] */
    float x0[TILE]; /* feature 0, as it enters the cell */
} workspace;

static dm_status workspace_init(workspace *w, const dm_dynamics_config *c, dm_error *err)
{
    size_t H = c->hidden, I = c->input, S = c->stochastic;
    w->memory = dm_dynamics_alloc(TILE * (8 * H + I) + 3 * H + S, sizeof(float));
    if (w->memory == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    w->base = w->memory;
    w->a = w->base + TILE * 3 * H;
    w->h = w->a + TILE * 3 * H;
    w->q = w->h + TILE * H;
    w->x = w->q + TILE * H;
    w->column = w->x + TILE * I;
    w->s = w->column + 3 * H;
    return DM_OK;
}

/* The features of `count` rollouts as they enter the cell, W x without feature 0, and h. */
static void begin_tile(workspace *w, const dm_dynamics *model, const dm_cell *cell,
                       const float *features, const float *hidden, size_t hidden_stride,
                       uint32_t count)
{
    size_t H = model->config.hidden, I = model->config.input;
    for (uint32_t k = 0; k < count; k++) {
        for (size_t i = 0; i < I; i++)
            w->x[k * I + i] = (features[k * I + i] - model->shift[i]) * model->scale[i];
        w->x0[k] = w->x[k * I];
        w->x[k * I] = 0;
        if (hidden != NULL)
            memcpy(w->h + k * H, hidden + k * hidden_stride, H * sizeof(float));
        else
            memset(w->h + k * H, 0, H * sizeof(float));
    }
    dm_cell_input(cell, count, w->x, w->base);
    for (size_t i = 0; i < 3 * H; i++)
        w->column[i] = cell->W[i * I];
}

static float clamp10(float u)
{
    return u < -10 ? -10 : u > 10 ? 10 : u;
}

static void run_tile(workspace *w, const dm_dynamics *model, const dm_cell *cell, uint32_t count,
                     dm_dynamics_forecast *out, size_t first, uint32_t member)
{
    size_t H = model->config.hidden, E = out->members, Y = out->steps;
    for (uint32_t t = 0; t < out->steps; t++) {
        for (uint32_t k = 0; k < count; k++)
            cell->simd->add_scaled(w->a + k * 3 * H, w->base + k * 3 * H, w->column, w->x0[k],
                                   3 * H);
        dm_cell_step(cell, count, w->a, w->h, w->h, w->q);
        for (uint32_t k = 0; k < count; k++) {
            const float *h = w->h + k * H;
            size_t at = ((first + k) * E + member) * Y + t;
            out->entropy[at] = dm_cell_stochastic(cell, h, w->s);
            out->loss[at] = expf(clamp10(dm_cell_head(cell, h, w->s)));
            out->hidden_norm[at] = sqrtf(cell->simd->dot(h, h, H));
            w->x0[k] = (out->loss[at] - model->shift[0]) * model->scale[0];
        }
    }
    for (uint32_t k = 0; k < count; k++)
        memcpy(out->hidden_last + ((first + k) * E + member) * H, w->h + k * H, H * sizeof(float));
}

dm_status dm_dynamics_rollout(const dm_dynamics *model, const float *features, const float *hidden,
                              dm_dynamics_forecast *out, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, features);
    DM_REQUIRE(err, out);
    size_t H = model->config.hidden, I = model->config.input, E = model->config.members;
    if (out->members != E || out->hidden != H)
        return dm_fail(err, DM_EINVAL, "rollout: the results were made for another model");
    workspace w = {0};
    dm_status status = workspace_init(&w, &model->config, err);
    if (status != DM_OK)
        return status;
    const dm_simd *simd = dm_simd_best();
    for (uint32_t member = 0; member < E; member++) {
        dm_cell cell = dm_cell_of(model, member, simd);
        for (size_t first = 0; first < out->rollouts; first += TILE) {
            uint32_t count =
                out->rollouts - first < TILE ? (uint32_t)(out->rollouts - first) : TILE;
            begin_tile(&w, model, &cell, features + first * I,
                       hidden == NULL ? NULL : hidden + (first * E + member) * H, E * H, count);
            run_tile(&w, model, &cell, count, out, first, member);
        }
    }
    free(w.memory);
    dm_dynamics_forecast_aggregate(out);
    return DM_OK;
}

/* ---- One step ---- */

dm_status dm_dynamics_gru(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
                          const float *h, float *out, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE_SOME(err, x, batch);
    DM_REQUIRE_SOME(err, h, batch);
    DM_REQUIRE_SOME(err, out, batch);
    size_t H = model->config.hidden, I = model->config.input;
    if (member >= model->config.members || batch == 0)
        return dm_fail(err, DM_EINVAL, "gru: member %u of %u, batch %zu", member,
                       model->config.members, batch);
    size_t tile = batch < TILE ? batch : TILE;
    float *a = dm_dynamics_alloc(tile * 4 * H, sizeof(float));
    if (a == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_cell cell = dm_cell_of(model, member, dm_simd_best());
    for (size_t first = 0; first < batch; first += TILE) {
        size_t count = batch - first < TILE ? batch - first : TILE;
        dm_cell_input(&cell, count, x + first * I, a);
        dm_cell_step(&cell, count, a, h + first * H, out + first * H, a + tile * 3 * H);
    }
    free(a);
    return DM_OK;
}
