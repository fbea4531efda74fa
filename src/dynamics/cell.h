/* SPDX-License-Identifier: MIT */
/* cell.h - the GRU cell and the head on the CPU, with vectorised loops, for a batch. */
#ifndef DM_DYNAMICS_CELL_H
#define DM_DYNAMICS_CELL_H

#include "dynamics/internal.h"
#include "dynamics/simd.h"

/* One member as the loops want it. */
typedef struct dm_cell {
    const dm_simd *simd;
    const dm_dynamics_config *config;
    const float *W, *U, *b, *c, *projection, *head;
} dm_cell;

dm_cell dm_cell_of(const dm_dynamics *model, uint32_t member, const dm_simd *simd);

/* a[batch][3 H] = W x + b */
void dm_cell_input(const dm_cell *cell, size_t batch, const float *x, float *a);
/* From a, which becomes z, r and n, to out[batch][H]; `out` may be h. q[batch][H] becomes r * h, or
 * Un h + cn for DM_DYNAMICS_GRU_RESET_LAST. */
void dm_cell_step(const dm_cell *cell, size_t batch, float *a, const float *h, float *out,
                  float *q);
/* s[S] from h[H]; gives its entropy. */
float dm_cell_stochastic(const dm_cell *cell, const float *h, float *s);
/* w . [h, s] before exp and clamp. */
float dm_cell_head(const dm_cell *cell, const float *h, const float *s);

#endif
