/* SPDX-License-Identifier: MIT */
/* run.c - each kind of layer as a call of its operation. */
#include "nn/run.h"

#include "device/internal.h"

#include <assert.h>
#include <string.h>

static const void *weight(const dm_nn_plan *plan, const dm_nn_shard *shard, int index)
{
    return index == DM_NN_NONE
               ? NULL
               : (const char *)shard->weights + plan->offsets[index] * plan->element;
}

static void *weight_grad(const dm_nn_plan *plan, const dm_nn_shard *shard, int index)
{
    return index == DM_NN_NONE ? NULL : shard->gradients + plan->offsets[index] * dm_nn_wide(plan);
}

static const void *value_before(const dm_nn_plan *plan, const dm_nn_shard *shard, size_t layer)
{
    return layer == 0 ? shard->input : shard->memory + plan->layers[layer - 1].value;
}

static dm_status copy(dm_nn_exec *exec, void *to, const void *from, size_t bytes, dm_error *err)
{
    if (exec->stream)
        return exec->stream->device->ops->copy(exec->stream, to, from, bytes, err);
    memcpy(to, from, bytes);
    return DM_OK;
}

static dm_nn_linear linear_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_linear){.N = (uint32_t)dm_nn_shape_rows(p->in),
                          .C = p->in.C * p->in.H * p->in.W,
                          .O = p->pitch,
                          .activation = p->layer.activation,
                          .add_dx = add};
}

static dm_nn_conv conv_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_conv){.B = p->in.B,
                        .I = p->in.C,
                        .H = p->in.H,
                        .W = p->in.W,
                        .O = p->out.C,
                        .K = p->layer.kernel,
                        .stride = p->layer.stride,
                        .activation = p->layer.activation,
                        .add_dx = add};
}

static dm_nn_pool pool_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_pool){p->in.B, p->in.C, p->in.H, p->in.W, p->layer.kernel, add};
}

static dm_nn_norm norm_of(const dm_nn_planned *p, bool add)
{
    return (dm_nn_norm){(uint32_t)dm_nn_shape_rows(p->in), p->in.C, add};
}

static dm_nn_embed embed_of(const dm_nn_planned *p)
{
    return (dm_nn_embed){p->in.B, p->out.rows, p->out.C, p->layer.size};
}

static dm_nn_attention attention_of(const dm_nn_planned *p)
{
    return (dm_nn_attention){p->in.B, p->in.rows, p->out.C, p->layer.size};
}

static dm_nn_gru gru_of(const dm_nn_planned *p)
{
    return (dm_nn_gru){p->in.B, p->in.rows, p->out.C};
}

/* A norm makes the sum of the residual before it. */
static dm_status norm_forward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                              size_t i, dm_error *err)
{
    const dm_nn_planned *p = &plan->layers[i], *sum = i > 0 ? &plan->layers[i - 1] : NULL;
    char *m = shard->memory;
    bool adds = sum && sum->in_norm;
    const void *x = value_before(plan, shard, adds ? i - 1 : i);
    const void *residual = adds ? m + plan->layers[sum->layer.from].value : NULL;
    dm_nn_norm op = norm_of(p, false);
    return exec->ops->norm(exec, &op, x, residual, weight(plan, shard, p->weight),
                           weight(plan, shard, p->bias), adds ? m + sum->value : NULL, m + p->value,
                           m + p->kept[0], m + p->kept[1], err);
}

static dm_status layer_forward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                               size_t i, dm_error *err)
{
    const dm_nn_ops *ops = exec->ops;
    const dm_nn_planned *p = &plan->layers[i];
    const void *x = value_before(plan, shard, i), *w = weight(plan, shard, p->weight),
               *b = weight(plan, shard, p->bias);
    char *m = shard->memory, *y = m + p->value;
    switch (p->layer.kind) {
    case DM_NN_LAYER_LINEAR: {
        dm_nn_linear op = linear_of(p, false);
        return ops->linear(exec, &op, x, w, b, y,
                           p->layer.activation == DM_NN_GELU ? m + p->kept[0] : NULL, err);
    }
    case DM_NN_LAYER_CONV: {
        dm_nn_conv op = conv_of(p, false);
        op.packed = i == 0 && shard->packed;
        op.rows = op.packed ? shard->rows : NULL;
        return ops->conv(exec, &op, x, w, b, y, err);
    }
    case DM_NN_LAYER_POOL: {
        dm_nn_pool op = pool_of(p, false);
        return ops->pool(exec, &op, x, y, (uint8_t *)m + p->kept[0], err);
    }
    case DM_NN_LAYER_EMBED: {
        dm_nn_embed op = embed_of(p);
        return ops->embed(exec, &op, x, w, b, y, err);
    }
    case DM_NN_LAYER_NORM:
        return norm_forward(plan, exec, shard, i, err);
    case DM_NN_LAYER_ATTENTION: {
        dm_nn_attention op = attention_of(p);
        return ops->attention(exec, &op, x, y, m + p->kept[0], err);
    }
    case DM_NN_LAYER_RESIDUAL:
        return p->in_norm ? DM_OK
                          : ops->add(exec, dm_nn_shape_count(p->in), x,
                                     m + plan->layers[p->layer.from].value, y, err);
    case DM_NN_LAYER_GRU: {
        dm_nn_gru op = gru_of(p);
        return ops->gru(exec, &op, x, w, shard->state, shard->starts, y, m + p->kept[0], err);
    }
    case DM_NN_LAYER_MINGRU: {
        dm_nn_mingru op = gru_of(p);
        return ops->mingru(exec, &op, x, shard->state, shard->starts, y, err);
    }
    default:
        return dm_fail(err, DM_EUNSUPPORTED, "nn: layer %zu has no operation", i);
    }
}

dm_status dm_nn_shard_forward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                              dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < plan->layer_count && status == DM_OK; i++)
        status = layer_forward(plan, exec, shard, i, err);
    return status;
}

dm_status dm_nn_shard_loss(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_loss loss,
                           dm_nn_shard *shard, float scale, dm_error *err)
{
    const dm_nn_planned *last = &plan->layers[plan->layer_count - 1];
    char *y = shard->memory + last->value;
    uint32_t N = (uint32_t)dm_nn_shape_rows(last->out), C = last->out.C * last->out.H * last->out.W;
    if (scale != 0 && !plan->in_place) { /* the loss turns it into its gradient */
        dm_status status = copy(exec, shard->memory + last->grad, y,
                                (size_t)N * C / last->out.C * last->pitch * plan->element, err);
        if (status != DM_OK)
            return status;
        y = shard->memory + last->grad;
    }
    if (loss == DM_NN_LOSS_SOFTMAX) {
        dm_nn_softmax_loss op = {N, C, last->pitch, scale};
        return exec->ops->softmax_loss(exec, &op, y, shard->target, shard->losses, err);
    }
    dm_nn_value_loss op = {N, C, scale};
    return loss == DM_NN_LOSS_SQUARE
               ? exec->ops->square_loss(exec, &op, y, shard->target, shard->losses, err)
               : exec->ops->sigmoid_loss(exec, &op, y, shard->target, shard->losses, err);
}

static dm_status pass_on(dm_nn_exec *exec, dm_nn_pass_on how, size_t n, size_t element,
                         const void *dy, void *to, dm_error *err)
{
    if (how == DM_NN_SAME_PLACE)
        return DM_OK;
    return how == DM_NN_ADD ? exec->ops->add(exec, n, to, dy, to, err)
                            : copy(exec, to, dy, n * element, err);
}

static dm_status layer_backward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                                size_t i, dm_error *err)
{
    const dm_nn_ops *ops = exec->ops;
    const dm_nn_planned *p = &plan->layers[i];
    const void *x = value_before(plan, shard, i), *w = weight(plan, shard, p->weight);
    char *m = shard->memory, *y = m + p->value, *dy = m + p->grad;
    char *dx = i == 0 ? NULL : m + plan->layers[i - 1].grad;
    float *dw = weight_grad(plan, shard, p->weight), *db = weight_grad(plan, shard, p->bias);
    switch (p->layer.kind) {
    case DM_NN_LAYER_LINEAR: {
        dm_nn_linear op = linear_of(p, p->add_dx);
        if (i > 0 && plan->layers[i - 1].slope_after)
            op.dx_pre = m + plan->layers[i - 1].kept[0];
        if (p->slope_after)
            op.activation = DM_NN_LINEAR;
        return ops->linear_backward(exec, &op, x, w, y,
                                    op.activation == DM_NN_GELU ? m + p->kept[0] : NULL, dy, dx, dw,
                                    db, err);
    }
    case DM_NN_LAYER_CONV: {
        dm_nn_conv op = conv_of(p, p->add_dx);
        op.packed = i == 0 && shard->packed;
        op.rows = op.packed ? shard->rows : NULL;
        return ops->conv_backward(exec, &op, x, w, y, dy, dx, dw, db, err);
    }
    case DM_NN_LAYER_POOL: {
        dm_nn_pool op = pool_of(p, p->add_dx);
        return dx ? ops->pool_backward(exec, &op, (uint8_t *)m + p->kept[0], dy, dx, err) : DM_OK;
    }
    case DM_NN_LAYER_EMBED: {
        dm_nn_embed op = embed_of(p);
        return ops->embed_backward(exec, &op, x, dy, dw, db, err);
    }
    case DM_NN_LAYER_NORM: {
        /* A first layer's dx is of no use; its own output's gradient has been read by then. */
        dm_nn_norm op = norm_of(p, p->add_dx);
        return ops->norm_backward(exec, &op, x, w, m + p->kept[0], m + p->kept[1], dy, dx ? dx : dy,
                                  dw, db, err);
    }
    case DM_NN_LAYER_ATTENTION: {
        dm_nn_attention op = attention_of(p);
        return ops->attention_backward(exec, &op, x, y, m + p->kept[0], dy, dx, err);
    }
    case DM_NN_LAYER_RESIDUAL: {
        size_t n = dm_nn_shape_count(p->in);
        assert(i > 0); /* it adds an earlier layer's values (plan.c) */
        dm_status status =
            pass_on(exec, p->from, n, plan->element, dy, m + plan->layers[p->layer.from].grad, err);
        return status != DM_OK ? status : pass_on(exec, p->before, n, plan->element, dy, dx, err);
    }
    case DM_NN_LAYER_GRU: {
        dm_nn_gru op = gru_of(p);
        return ops->gru_backward(exec, &op, w, shard->state, shard->starts, y, m + p->kept[0], dy,
                                 dx, dw, NULL, err);
    }
    case DM_NN_LAYER_MINGRU: {
        dm_nn_mingru op = gru_of(p);
        return ops->mingru_backward(exec, &op, x, shard->state, shard->starts, y, dy, dx, NULL,
                                    err);
    }
    default:
        return dm_fail(err, DM_EUNSUPPORTED, "nn: layer %zu has no operation", i);
    }
}

dm_status dm_nn_shard_backward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                               dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = plan->layer_count; i-- > 0 && status == DM_OK;)
        status = layer_backward(plan, exec, shard, i, err);
    return status;
}
