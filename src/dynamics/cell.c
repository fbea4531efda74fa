/* SPDX-License-Identifier: MIT */
/* cell.c - see cell.h. */
#include "dynamics/cell.h"

#include <string.h>

dm_cell dm_cell_of(const dm_dynamics *model, uint32_t member, const dm_simd *simd)
{
    const float *weights = dm_dynamics_member(model, member);
    const size_t *at = model->layout.offset;
    return (dm_cell){simd,
                     &model->config,
                     weights + at[DM_DYNAMICS_W],
                     weights + at[DM_DYNAMICS_U],
                     weights + at[DM_DYNAMICS_B],
                     weights + at[DM_DYNAMICS_C],
                     weights + at[DM_DYNAMICS_PROJECTION],
                     weights + at[DM_DYNAMICS_HEAD]};
}

void dm_cell_input(const dm_cell *cell, size_t batch, const float *x, float *a)
{
    size_t H = cell->config->hidden, I = cell->config->input;
    for (size_t i = 0; i < batch; i++)
        memcpy(a + i * 3 * H, cell->b, 3 * H * sizeof *a);
    cell->simd->multiply(cell->W, 3 * H, I, x, I, batch, a, 3 * H);
}

void dm_cell_step(const dm_cell *cell, size_t batch, float *a, const float *h, float *out, float *q)
{
    const dm_simd *simd = cell->simd;
    size_t H = cell->config->hidden;
    bool reset_last = cell->config->kind == DM_DYNAMICS_GRU_RESET_LAST;
    const float *Un = cell->U + 2 * H * H;
    simd->multiply(cell->U, 2 * H, H, h, H, batch, a, 3 * H);
    for (size_t i = 0; i < batch; i++)
        simd->gates(a + i * 3 * H, a + i * 3 * H + H, h + i * H, q + i * H, H);
    if (reset_last) {
        for (size_t i = 0; i < batch; i++)
            memcpy(q + i * H, cell->c, H * sizeof *q);
        simd->multiply(Un, H, H, h, H, batch, q, H);
    } else {
        simd->multiply(Un, H, H, q, H, batch, a + 2 * H, 3 * H);
    }
    for (size_t i = 0; i < batch; i++) {
        float *z = a + i * 3 * H, *r = z + H, *n = r + H;
        simd->candidate(n, reset_last ? r : NULL, q + i * H, H);
        if (reset_last)
            simd->blend(out + i * H, n, h + i * H, z, H);
        else
            simd->blend(out + i * H, h + i * H, n, z, H);
    }
}

float dm_cell_stochastic(const dm_cell *cell, const float *h, float *s)
{
    uint32_t H = cell->config->hidden, S = cell->config->stochastic;
    if (cell->config->projection) {
        memset(s, 0, S * sizeof *s);
        cell->simd->multiply(cell->projection, S, H, h, H, 1, s, S);
    } else {
        for (uint32_t i = 0; i < S; i++)
            s[i] = h[dm_dynamics_selected(cell->config, i)];
    }
    return cell->simd->softmax(s, S);
}

float dm_cell_head(const dm_cell *cell, const float *h, const float *s)
{
    uint32_t H = cell->config->hidden, S = cell->config->stochastic;
    return cell->simd->dot(cell->head, h, H) + cell->simd->dot(cell->head + H, s, S);
}
