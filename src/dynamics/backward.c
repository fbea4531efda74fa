/* SPDX-License-Identifier: MIT */
/* backward.c - see backward.h. The loops over H elements are left to the compiler; those over H * H
 * are dm_simd's. */
#include "dynamics/backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

dm_status dm_tape_init(dm_tape *tape, const dm_dynamics_config *c, uint32_t steps, dm_error *err)
{
    size_t H = c->hidden, I = c->input, S = c->stochastic, T = steps;
    *tape = (dm_tape){.steps = steps};
    tape->memory =
        dm_dynamics_alloc((T + 1) * H + T * (I + 4 * H + S + 2) + 7 * H + I + S, sizeof(float));
    if (tape->memory == NULL)
        return dm_fail(err, DM_ENOMEM, "dynamics: no memory for a sequence of %u steps", steps);
    tape->h = tape->memory;
    tape->inputs = tape->h + (T + 1) * H;
    tape->gates = tape->inputs + T * I;
    tape->q = tape->gates + T * 3 * H;
    tape->s = tape->q + T * H;
    tape->u = tape->s + T * S;
    tape->loss = tape->u + T;
    tape->scratch = tape->loss + T;
    return DM_OK;
}

void dm_tape_deinit(dm_tape *tape)
{
    free(tape->memory);
    *tape = (dm_tape){0};
}

void dm_tape_forward(dm_tape *tape, const dm_cell *cell, const float *x, uint32_t forced,
                     uint32_t steps, const float *h0, float feedback_shift, float feedback_scale)
{
    size_t H = cell->config->hidden, I = cell->config->input, S = cell->config->stochastic;
    if (h0 != NULL)
        memcpy(tape->h, h0, H * sizeof(float));
    else
        memset(tape->h, 0, H * sizeof(float));
    for (size_t t = 0; t < steps; t++) {
        float *input = tape->inputs + t * I, *h = tape->h + t * H, *s = tape->s + t * S;
        memcpy(input, x + (t < forced ? t : forced - 1) * I, I * sizeof(float));
        if (t >= forced)
            input[0] = (tape->loss[t - 1] - feedback_shift) * feedback_scale;
        dm_cell_input(cell, 1, input, tape->gates + t * 3 * H);
        dm_cell_step(cell, 1, tape->gates + t * 3 * H, h, h + H, tape->q + t * H);
        dm_cell_stochastic(cell, h + H, s);
        float u = dm_cell_head(cell, h + H, s);
        tape->u[t] = u;
        tape->loss[t] = expf(u < -10 ? -10 : u > 10 ? 10 : u);
    }
}

/* ---- Backward ---- */

/* From the gradient of the loss of step t to those of the head and of h. */
static void head_backward(const dm_tape *tape, const dm_cell *cell,
                          const dm_dynamics_layout *layout, size_t t, float dloss, float *grad,
                          float *dh, float *ds)
{
    size_t H = cell->config->hidden, S = cell->config->stochastic;
    const float *h = tape->h + (t + 1) * H, *s = tape->s + t * S, *w = cell->head;
    float *gw = grad + layout->offset[DM_DYNAMICS_HEAD];
    float du = fabsf(tape->u[t]) > 10 ? 0 : dloss * tape->loss[t], mean = 0;
    cell->simd->add_scaled(gw, gw, h, du, H);
    cell->simd->add_scaled(dh, dh, w, du, H);
    for (size_t i = 0; i < S; i++) {
        gw[H + i] += du * s[i];
        mean += s[i] * du * w[H + i];
    }
    for (size_t i = 0; i < S; i++)
        ds[i] = s[i] * (du * w[H + i] - mean);
    if (cell->config->projection) {
        cell->simd->add_outer(grad + layout->offset[DM_DYNAMICS_PROJECTION], S, H, ds, h);
        cell->simd->multiply_transposed(cell->projection, S, H, ds, dh);
    } else {
        for (uint32_t i = 0; i < S; i++)
            dh[dm_dynamics_selected(cell->config, i)] += ds[i];
    }
}

/* Gradients before sigmoid and tanh, a[3][H], and of h, from dout; U's part for n on the way. */
static void gates_backward(const dm_tape *tape, const dm_cell *cell,
                           const dm_dynamics_layout *layout, size_t t, const float *dout,
                           float *grad, float *dh, float *a, float *work)
{
    size_t H = cell->config->hidden;
    const float *z = tape->gates + t * 3 * H, *r = z + H, *n = r + H, *h = tape->h + t * H,
                *q = tape->q + t * H;
    const float *Un = cell->U + 2 * H * H;
    float *gUn = grad + layout->offset[DM_DYNAMICS_U] + 2 * H * H;
    float *az = a, *ar = a + H, *an = a + 2 * H;
    if (cell->config->kind == DM_DYNAMICS_GRU_RESET_LAST) {
        float *gc = grad + layout->offset[DM_DYNAMICS_C];
        for (size_t i = 0; i < H; i++) {
            az[i] = dout[i] * (h[i] - n[i]) * z[i] * (1 - z[i]);
            an[i] = dout[i] * (1 - z[i]) * (1 - n[i] * n[i]);
            ar[i] = an[i] * q[i] * r[i] * (1 - r[i]);
            work[i] = an[i] * r[i]; /* of Un h + cn */
            gc[i] += work[i];
            dh[i] = dout[i] * z[i];
        }
        cell->simd->add_outer(gUn, H, H, work, h);
        cell->simd->multiply_transposed(Un, H, H, work, dh);
        return;
    }
    for (size_t i = 0; i < H; i++) {
        az[i] = dout[i] * (n[i] - h[i]) * z[i] * (1 - z[i]);
        an[i] = dout[i] * z[i] * (1 - n[i] * n[i]);
        work[i] = 0; /* of r * h */
    }
    cell->simd->add_outer(gUn, H, H, an, q);
    cell->simd->multiply_transposed(Un, H, H, an, work);
    for (size_t i = 0; i < H; i++) {
        ar[i] = work[i] * h[i] * r[i] * (1 - r[i]);
        dh[i] = dout[i] * (1 - z[i]) + work[i] * r[i];
    }
}

void dm_tape_backward(dm_tape *tape, const dm_cell *cell, const dm_dynamics_layout *layout,
                      uint32_t forced, uint32_t steps, const float *dloss, float feedback_scale,
                      float *grad)
{
    size_t H = cell->config->hidden, I = cell->config->input;
    float *dout = tape->scratch, *dh = dout + H, *a = dh + H, *work = a + 3 * H, *ds = work + H;
    float *gW = grad + layout->offset[DM_DYNAMICS_W], *gU = grad + layout->offset[DM_DYNAMICS_U],
          *gb = grad + layout->offset[DM_DYNAMICS_B];
    float fed_back = 0;
    memset(dout, 0, H * sizeof(float));
    for (size_t t = steps; t-- > 0;) {
        head_backward(tape, cell, layout, t, dloss[t] + fed_back, grad, dout, ds);
        gates_backward(tape, cell, layout, t, dout, grad, dh, a, work);
        cell->simd->add_outer(gU, 2 * H, H, a, tape->h + t * H);
        cell->simd->multiply_transposed(cell->U, 2 * H, H, a, dh);
        cell->simd->add_outer(gW, 3 * H, I, a, tape->inputs + t * I);
        cell->simd->add_scaled(gb, gb, a, 1, 3 * H);
        fed_back = 0;
        for (size_t i = 0; t >= forced && i < 3 * H; i++)
            fed_back += cell->W[i * I] * a[i];
        fed_back *= feedback_scale;
        float *swap = dout;
        dout = dh;
        dh = swap;
    }
}
