/* SPDX-License-Identifier: MIT */
/* flops.c - see flops.h. */
#include "train/report/flops.h"
#include "nn/model.h"

enum { NEWTON_SCHULZ = 5 }; /* steps, as nn/muon.c has them */

/* Of one shard. */
static double layer_flops(const dm_nn_planned *l)
{
    double rows = (double)dm_nn_shape_rows(l->out), in = (double)l->in.C * l->in.H * l->in.W;
    switch (l->layer.kind) {
    case DM_NN_LAYER_LINEAR:
        return 2 * rows * in * l->out.C;
    case DM_NN_LAYER_CONV:
        return 2 * rows * l->layer.kernel * l->layer.kernel * l->in.C * l->out.C * l->out.H *
               l->out.W;
    case DM_NN_LAYER_ATTENTION: /* scores and sums over half of the pairs */
        return 2 * rows * l->out.C * l->out.rows;
    case DM_NN_LAYER_GRU:
        return 2 * rows * 3 * l->out.C * l->out.C;
    default:
        return 0;
    }
}

double dm_report_forward_flops(const dm_nn_model *model)
{
    const dm_nn_plan *plan = &model->plan;
    double sum = 0;
    for (size_t i = 0; i < plan->layer_count; i++)
        sum += layer_flops(&plan->layers[i]);
    return sum * plan->shards * plan->microbatches;
}

double dm_report_optimiser_flops(const dm_nn_model *model)
{
    const dm_nn_plan *plan = &model->plan;
    double sum = 0;
    for (size_t k = 0; k < plan->parameter_count; k++) {
        if (plan->offsets[k] >= plan->muon_room)
            continue;
        double n = plan->parameters[k].shape[0], m = plan->parameters[k].shape[1];
        double few = n < m ? n : m, many = n < m ? m : n;
        /* X X^T, its square, and a product with X */
        sum += NEWTON_SCHULZ * (4 * few * few * many + 2 * few * few * few);
    }
    return sum;
}
