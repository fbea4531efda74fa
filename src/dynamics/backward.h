/* SPDX-License-Identifier: MIT */
/* backward.h - sequences on the CPU with vectorised loops, forward with a tape and backward; the
 * same as sequence_forward and sequence_backward of reference_text.h. */
#ifndef DM_DYNAMICS_BACKWARD_H
#define DM_DYNAMICS_BACKWARD_H

#include "dynamics/cell.h"

/* Memory for sequences of up to `steps`, and their results. */
typedef struct dm_tape {
    uint32_t steps; /* room */
    float *memory;
    float *h;       /* [steps + 1][H]; the first is h0 */
    float *inputs;  /* [steps][I] */
    float *gates;   /* [steps][3 H]: z, r, n */
    float *q;       /* [steps][H]: r * h, or Un h + cn */
    float *s;       /* [steps][S] */
    float *u;       /* [steps]: before clamp and exp */
    float *loss;    /* [steps] */
    float *scratch; /* 7 H + I + S */
} dm_tape;

dm_status dm_tape_init(dm_tape *tape, const dm_dynamics_config *config, uint32_t steps,
                       dm_error *err);
void dm_tape_deinit(dm_tape *tape);

/* x[forced][I] as it enters the cell; h0 NULL: zeros. */
void dm_tape_forward(dm_tape *tape, const dm_cell *cell, const float *x, uint32_t forced,
                     uint32_t steps, const float *h0, float feedback_shift, float feedback_scale);
/* Adds to `grad`, laid out as a member's weights. */
void dm_tape_backward(dm_tape *tape, const dm_cell *cell, const dm_dynamics_layout *layout,
                      uint32_t forced, uint32_t steps, const float *dloss, float feedback_scale,
                      float *grad);

#endif
