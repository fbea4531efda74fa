/* SPDX-License-Identifier: MIT */
/* loss.h - losses and their gradients, written in place; sums; rows. */
#include "nn/cuda/common.h"

/* A block of 512 threads per row: one pass for maximum and sum, one for the gradient. */
template <int W> DM_FN void softmax_loss(const nn_loss_args &args)
{
    __shared__ float maxima[32], sums[32];
    uint64_t row = (uint64_t)blockIdx.x * args.P;
    int32_t target = ((const int32_t *)args.target)[blockIdx.x];
    float high = -NN_INFINITY, sum = 0, x[W];
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (uint32_t c = threadIdx.x * W; c < args.V; c += blockDim.x * W) {
        nn_load<W>(x, args.y, row + c);
        float top = high;
        for (int w = 0; w < W; w++)
            if (c + w < args.V)
                top = fmaxf(top, x[w]);
        if (top == -NN_INFINITY)
            continue;
        sum *= __expf(high - top);
        high = top;
        for (int w = 0; w < W; w++)
            if (c + w < args.V)
                sum += __expf(x[w] - high);
    }
    float top = high;
    for (int mask = 16; mask > 0; mask >>= 1)
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, mask));
    if (lane == 0)
        maxima[warp] = top;
    __syncthreads();
    for (uint32_t w = 0; w < blockDim.x / 32; w++)
        top = fmaxf(top, maxima[w]);
    sum = nn_block_sum(high == -NN_INFINITY ? 0.0f : sum * __expf(high - top), sums);
    if (threadIdx.x == 0)
        args.losses[blockIdx.x] =
            target < 0 ? 0.0f : logf(sum) + top - nn_get(args.y, row + target);
    if (args.scale == 0)
        return;
    __syncthreads(); /* the target's logit was read */
    float factor = target < 0 ? 0.0f : args.scale / sum;
    for (uint32_t c = threadIdx.x * W; c < args.P; c += blockDim.x * W) {
        nn_load<W>(x, args.y, row + c);
        for (int w = 0; w < W; w++) {
            x[w] = c + w < args.V && target >= 0 ? __expf(x[w] - top) * factor : 0.0f;
            if ((int32_t)(c + w) == target)
                x[w] -= args.scale;
        }
        nn_store<W>(args.y, row + c, x);
    }
}

DM_KERNEL_BOUNDS(nn_softmax_loss, nn_loss_args, 512, 2)
{
    softmax_loss<1>(args);
}
DM_KERNEL_BOUNDS(nn_softmax_loss_vec, nn_loss_args, 512, 2)
{
    softmax_loss<NN_VEC>(args);
}

#if NN_BF16
/* The same with the row in shared memory: it is read from memory once and written once. A thread reads
 * only what it copied itself, the first half while the second arrives. */
#define KEPT_STEP 4096 /* numbers of 512 threads */

extern __shared__ __align__(16) uint16_t loss_row[];

DM_FN float loss_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Eight logits; minus infinity from column V on. */
DM_FN void loss_load(float (&x)[8], uint32_t c, uint32_t V)
{
    nn_load<8>(x, loss_row, c);
    if (c + 8 > V)
        for (int w = 0; w < 8; w++)
            x[w] = c + w < V ? x[w] : -NN_INFINITY;
}

DM_KERNEL_BOUNDS(nn_softmax_loss_kept, nn_loss_args, 512, 2)
{
    __shared__ float maxima[16], sums[32];
    const float LOG2E = 1.4426950408889634f;
    uint16_t *y = (uint16_t *)args.y + (uint64_t)blockIdx.x * args.P;
    int32_t target = ((const int32_t *)args.target)[blockIdx.x];
    float high = -NN_INFINITY, sum = 0, x[8];
    uint32_t half = args.P / 2 / KEPT_STEP * KEPT_STEP, first = threadIdx.x * 8;
    for (uint32_t c = first; c < args.P; c += KEPT_STEP) {
        if (c - first == half)
            asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(nn_shared(loss_row + c)),
                     "l"(y + c)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    for (uint32_t c = first; c < args.V; c += KEPT_STEP) {
        if (c - first == half)
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        loss_load(x, c, args.V);
        float top = high;
        for (int w = 0; w < 8; w++)
            top = fmaxf(top, x[w]);
        if (top == -NN_INFINITY)
            continue;
        sum *= loss_exp2((high - top) * LOG2E);
        high = top;
        for (int w = 0; w < 8; w++)
            sum += loss_exp2(x[w] * LOG2E - high * LOG2E);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    float top = high;
    for (int mask = 16; mask > 0; mask >>= 1)
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, mask));
    if ((threadIdx.x & 31) == 0)
        maxima[threadIdx.x >> 5] = top;
    __syncthreads();
    for (int w = 0; w < 16; w++)
        top = fmaxf(top, maxima[w]);
    sum = nn_block_sum(high == -NN_INFINITY ? 0.0f : sum * loss_exp2((high - top) * LOG2E), sums);
    if (threadIdx.x == 0)
        args.losses[blockIdx.x] = target < 0 ? 0.0f : logf(sum) + top - nn_get(loss_row, target);
    if (args.scale == 0)
        return;
    float factor = args.scale / sum, shift = top * LOG2E;
    for (uint32_t c = first; c < args.P; c += KEPT_STEP) {
        loss_load(x, c, args.V);
        for (int w = 0; w < 8; w++)
            x[w] = target < 0 ? 0.0f : loss_exp2(x[w] * LOG2E - shift) * factor;
        if ((uint32_t)target - c < 8)
            for (int w = 0; w < 8; w++)
                x[w] -= c + w == (uint32_t)target ? args.scale : 0.0f;
        nn_store<8>(y, c, x);
    }
}
#endif

/* A warp per row of V numbers. */
DM_FN void value_loss(const nn_loss_args &args, bool sigmoid)
{
    uint32_t n = blockIdx.x * 8 + (threadIdx.x >> 5);
    if (n >= args.N)
        return;
    float total = 0;
    for (uint32_t c = threadIdx.x & 31; c < args.V; c += 32) {
        uint64_t at = (uint64_t)n * args.V + c;
        float y = nn_get(args.y, at), t = ((const float *)args.target)[at], d;
        if (sigmoid) {
            total += fmaxf(y, 0.0f) - y * t + log1pf(expf(-fabsf(y)));
            d = nn_sigmoid(y) - t;
        } else {
            total += (y - t) * (y - t);
            d = 2.0f * (y - t);
        }
        if (args.scale != 0)
            nn_put(args.y, at, d * args.scale / (float)args.V);
    }
    total = nn_warp_sum(total);
    if ((threadIdx.x & 31) == 0)
        args.losses[n] = total / (float)args.V;
}

DM_KERNEL(nn_square_loss, nn_loss_args)
{
    value_loss(args, false);
}
DM_KERNEL(nn_sigmoid_loss, nn_loss_args)
{
    value_loss(args, true);
}

DM_KERNEL(nn_add, nn_rows_args)
{
    uint64_t n = args.n / NN_VEC * NN_VEC, first = dm_thread_index();
    if (!nn_aligned(args.a) || !nn_aligned(args.b) || !nn_aligned(args.y))
        n = 0;
    for (uint64_t i = first * NN_VEC; i < n; i += dm_thread_count() * NN_VEC) {
        float a[NN_VEC], b[NN_VEC];
        nn_load<NN_VEC>(a, args.a, i);
        nn_load<NN_VEC>(b, args.b, i);
        for (int v = 0; v < NN_VEC; v++)
            a[v] += b[v];
        nn_store<NN_VEC>(args.y, i, a);
    }
    for (uint64_t i = n + first; i < args.n; i += dm_thread_count())
        nn_put(args.y, i, nn_get(args.a, i) + nn_get(args.b, i));
}

DM_KERNEL(nn_gather, nn_rows_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n * args.C; i += dm_thread_count())
        ((real *)args.y)[i] =
            ((const real *)args.a)[(uint64_t)args.index[i / args.C] * args.C + i % args.C];
}

/* One block of 1,024 threads over floats: two numbers. */
DM_KERNEL_BOUNDS(nn_sums, nn_rows_args, 1024, 1)
{
    __shared__ float room[32];
    const float *x = (const float *)args.a;
    float sum = 0, squares = 0;
#pragma unroll 4
    for (uint64_t i = threadIdx.x; i < args.n; i += 1024) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    sum = nn_block_sum(sum, room);
    squares = nn_block_sum(squares, room);
    if (threadIdx.x == 0) {
        ((float *)args.y)[0] = sum;
        ((float *)args.y)[1] = squares;
    }
}

/* Large n: a pair per block, summed by nn_sums_end in the order of the blocks. */
DM_KERNEL(nn_sums_parts, nn_rows_args)
{
    __shared__ float room[32];
    const float *x = (const float *)args.a;
    float sum = 0, squares = 0;
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count()) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    sum = nn_block_sum(sum, room);
    squares = nn_block_sum(squares, room);
    if (threadIdx.x == 0) {
        ((float *)args.y)[2 * blockIdx.x] = sum;
        ((float *)args.y)[2 * blockIdx.x + 1] = squares;
    }
}

DM_KERNEL(nn_sums_end, nn_rows_args)
{
    float total = 0;
    if (threadIdx.x < 2 && blockIdx.x == 0) {
        for (uint64_t i = 0; i < args.n; i++)
            total += ((const float *)args.a)[2 * i + threadIdx.x];
        ((float *)args.y)[threadIdx.x] = total;
    }
}

/* Means over the rows that count, and by what gradients are multiplied. One thread. */
DM_KERNEL(nn_step_control, nn_control_args)
{
    if (dm_thread_index() != 0)
        return;
    nn_control *c = args.control;
    float loss = 0, norm = args.learn ? sqrtf(args.gradients[1]) / args.counted : 0.0f;
    for (uint32_t i = 0; i < args.microbatches; i++)
        loss += args.losses[2 * i];
    loss /= args.counted;
    c->loss = loss;
    c->norm = norm;
    if (!args.learn)
        return;
    if (c->bad_step == 0 && !(fabsf(loss) < NN_INFINITY && norm < NN_INFINITY)) {
        c->bad_step = args.step;
        c->bad_loss = loss;
        c->bad_norm = norm;
    }
    c->ok = c->bad_step == 0 ? 1.0f : 0.0f;
    c->scale = (args.clip > 0 && norm > args.clip ? args.clip / norm : 1.0f) / args.counted;
}

/* y = a, from float to the exec's type. */
DM_KERNEL(nn_convert, nn_rows_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
        nn_put(args.y, i, ((const float *)args.a)[i]);
}

DM_KERNEL(nn_blend, nn_blend_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count()) {
        float other = args.b == 0 ? 0.0f : args.q * nn_get(args.b, i);
        nn_put(args.y, i, args.p * nn_get(args.a, i) + other);
    }
}

/* y = a / (sqrt(b[1]) + 1e-7) for floats a and their sums b, which may be missing. */
DM_KERNEL(nn_narrow, nn_rows_args)
{
    float norm = args.b == 0 ? 1.0f : sqrtf(((const float *)args.b)[1]) + 1e-7f;
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
        nn_put(args.y, i, ((const float *)args.a)[i] / norm);
}

/* y = p a for floats y. */
DM_KERNEL(nn_widen, nn_blend_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
        ((float *)args.y)[i] = args.p * nn_get(args.a, i);
}

/* y = 1 when one of a's numbers is none. */
DM_KERNEL(nn_finite, nn_rows_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
        if (!(fabsf(nn_get(args.a, i)) < NN_INFINITY))
            *(uint32_t *)args.y = 1;
}

/* Exchange floats. */
DM_KERNEL(nn_swap, nn_rows_args)
{
    float *a = (float *)args.a, *y = (float *)args.y;
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count()) {
        float x = a[i];
        a[i] = y[i];
        y[i] = x;
    }
}
