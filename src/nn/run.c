/* SPDX-License-Identifier: MIT */
/* run.c - each kind of layer as a call of its operation. */
#include "nn/run.h"

#include <string.h>

static const float *weight(const dm_nn_weights *w, int index)
{
    return index == DM_NN_NONE ? NULL : w->values + w->offsets[index];
}

static float *weight_grad(const dm_nn_weights *w, dm_nn_shard *shard, int index)
{
    return index == DM_NN_NONE ? NULL : shard->gradients + w->offsets[index];
}

static const void *value_before(const dm_nn_plan *plan, const dm_nn_shard *shard, size_t layer)
{
    return layer == 0 ? shard->input : shard->floats + plan->layers[layer - 1].value;
}

static dm_nn_linear linear_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_linear){(uint32_t)dm_nn_shape_rows(p->in), p->in.C * p->in.H * p->in.W, p->out.C,
                          p->layer.activation, add};
}

static dm_nn_conv conv_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_conv){p->in.B,  p->in.C,         p->in.H,         p->in.W,
                        p->out.C, p->layer.kernel, p->layer.stride, p->layer.activation,
                        add};
}

static dm_nn_attention attention_of(const dm_nn_planned *p)
{
    return (dm_nn_attention){p->in.B, p->in.rows, p->out.C, p->layer.size};
}

dm_status dm_nn_shard_forward(const dm_nn_plan *plan, dm_nn_exec *exec, const dm_nn_weights *w,
                              dm_nn_shard *shard, dm_error *err)
{
    const dm_nn_ops *ops = exec->ops;
    dm_status status = DM_OK;
    for (size_t i = 0; i < plan->layer_count && status == DM_OK; i++) {
        const dm_nn_planned *p = &plan->layers[i];
        const void *x = value_before(plan, shard, i);
        float *f = shard->floats, *y = f + p->value;
        switch (p->layer.kind) {
        case DM_NN_LAYER_LINEAR:
            status = ops->linear(exec, &(dm_nn_linear[]){linear_of(p, false)}[0], x,
                                 weight(w, p->weight), weight(w, p->bias), y,
                                 p->layer.activation == DM_NN_GELU ? f + p->kept[0] : NULL, err);
            break;
        case DM_NN_LAYER_CONV:
            status = ops->conv(exec, &(dm_nn_conv[]){conv_of(p, false)}[0], x, weight(w, p->weight),
                               weight(w, p->bias), y, err);
            break;
        case DM_NN_LAYER_POOL:
            status = ops->pool(
                exec, &(dm_nn_pool){p->in.B, p->in.C, p->in.H, p->in.W, p->layer.kernel, false}, x,
                y, shard->bytes + p->bytes, err);
            break;
        case DM_NN_LAYER_EMBED:
            status = ops->embed(exec, &(dm_nn_embed){p->in.B, p->out.rows, p->out.C, p->layer.size},
                                x, weight(w, p->weight), weight(w, p->bias), y, err);
            break;
        case DM_NN_LAYER_NORM:
            status =
                ops->norm(exec, &(dm_nn_norm){(uint32_t)dm_nn_shape_rows(p->in), p->in.C, false}, x,
                          NULL, weight(w, p->weight), weight(w, p->bias), NULL, y, f + p->kept[0],
                          f + p->kept[1], err);
            break;
        case DM_NN_LAYER_ATTENTION:
            status = ops->attention(exec, &(dm_nn_attention[]){attention_of(p)}[0], x, y,
                                    f + p->kept[0], err);
            break;
        case DM_NN_LAYER_RESIDUAL:
            status = ops->add(exec, dm_nn_shape_count(p->in), x,
                              f + plan->layers[p->layer.from].value, y, err);
            break;
        default:
            break;
        }
    }
    return status;
}

dm_status dm_nn_shard_loss(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_loss loss,
                           dm_nn_shard *shard, float scale, dm_error *err)
{
    const dm_nn_planned *last = &plan->layers[plan->layer_count - 1];
    size_t count = dm_nn_shape_count(last->out);
    float *y = shard->floats + last->value;
    if (scale != 0) { /* the loss turns it into its gradient, and outputs are kept */
        memcpy(shard->floats + last->grad, y, count * sizeof(float));
        y = shard->floats + last->grad;
    }
    uint32_t N = (uint32_t)dm_nn_shape_rows(last->out), C = last->out.C * last->out.H * last->out.W;
    if (loss == DM_NN_LOSS_SOFTMAX)
        return exec->ops->softmax_loss(exec, &(dm_nn_softmax_loss){N, C, C, scale}, y,
                                       shard->target, shard->losses, err);
    dm_nn_value_loss op = {N, C, scale};
    return loss == DM_NN_LOSS_SQUARE
               ? exec->ops->square_loss(exec, &op, y, shard->target, shard->losses, err)
               : exec->ops->sigmoid_loss(exec, &op, y, shard->target, shard->losses, err);
}

dm_status dm_nn_shard_backward(const dm_nn_plan *plan, dm_nn_exec *exec, const dm_nn_weights *w,
                               dm_nn_shard *shard, dm_error *err)
{
    const dm_nn_ops *ops = exec->ops;
    dm_status status = DM_OK;
    bool written[DM_NN_LAYERS_MAX] = {false}; /* which outputs' gradients hold something */
    written[plan->layer_count - 1] = true;
    for (size_t i = plan->layer_count; i-- > 0 && status == DM_OK;) {
        const dm_nn_planned *p = &plan->layers[i];
        const void *x = value_before(plan, shard, i);
        float *f = shard->floats, *y = f + p->value, *dy = f + p->grad;
        float *dx = i == 0 ? NULL : f + plan->layers[i - 1].grad;
        bool add = i > 0 && written[i - 1];
        float *dw = weight_grad(w, shard, p->weight), *db = weight_grad(w, shard, p->bias);
        switch (p->layer.kind) {
        case DM_NN_LAYER_LINEAR:
            status = ops->linear_backward(
                exec, &(dm_nn_linear[]){linear_of(p, add)}[0], x, weight(w, p->weight), y,
                p->layer.activation == DM_NN_GELU ? f + p->kept[0] : NULL, dy, dx, dw, db, err);
            break;
        case DM_NN_LAYER_CONV:
            status = ops->conv_backward(exec, &(dm_nn_conv[]){conv_of(p, add)}[0], x,
                                        weight(w, p->weight), y, dy, dx, dw, db, err);
            break;
        case DM_NN_LAYER_POOL:
            if (dx)
                status = ops->pool_backward(
                    exec, &(dm_nn_pool){p->in.B, p->in.C, p->in.H, p->in.W, p->layer.kernel, add},
                    shard->bytes + p->bytes, dy, dx, err);
            break;
        case DM_NN_LAYER_EMBED:
            status = ops->embed_backward(
                exec, &(dm_nn_embed){p->in.B, p->out.rows, p->out.C, p->layer.size}, x, dy, dw, db,
                err);
            break;
        case DM_NN_LAYER_NORM:
            /* A first layer's dx is of no use; its own output's gradient has been read by then. */
            status = ops->norm_backward(
                exec, &(dm_nn_norm){(uint32_t)dm_nn_shape_rows(p->in), p->in.C, add}, x,
                weight(w, p->weight), f + p->kept[0], f + p->kept[1], dy, dx ? dx : dy, dw, db,
                err);
            break;
        case DM_NN_LAYER_ATTENTION:
            /* plan.c lets only one layer read q, k and v: nothing has been written there. */
            status = ops->attention_backward(exec, &(dm_nn_attention[]){attention_of(p)}[0], x, y,
                                             f + p->kept[0], dy, dx, err);
            break;
        case DM_NN_LAYER_RESIDUAL: {
            size_t n = dm_nn_shape_count(p->in), from = p->layer.from;
            float *dfrom = f + plan->layers[from].grad;
            if (add)
                status = ops->add(exec, n, dx, dy, dx, err);
            else
                memcpy(dx, dy, n * sizeof(float));
            if (status == DM_OK && (written[from] || from + 1 == i))
                status = ops->add(exec, n, dfrom, dy, dfrom, err);
            else
                memcpy(dfrom, dy, n * sizeof(float));
            written[from] = true;
            break;
        }
        default:
            break;
        }
        if (i > 0)
            written[i - 1] = true;
    }
    return status;
}
