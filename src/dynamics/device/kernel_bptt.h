/* SPDX-License-Identifier: MIT */
/* kernel_bptt.h - backpropagation through time: sequences of a batch forward with a tape, then backward
 * through all steps; for the CPU and for CUDA. The same as sequence_forward and sequence_backward of
 * reference_text.h, for all members and sequences at once. bptt.c launches these kernels in their
 * order, with the products of kernel_product.h in between.
 *
 * One thread per element, or one warp per cell (a member and a sequence) where there are sums. No
 * atomics: the same inputs give the same bits. */
#ifndef DM_DYNAMICS_KERNEL_BPTT_H
#define DM_DYNAMICS_KERNEL_BPTT_H

#include "dynamics/device/bptt_args.h"
#if DM_HAS_HEADERS
#include <math.h>
#endif

#define BPTT_LOG_MAX 10.0f /* the head's clamp */

DM_FN float bptt_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* The sum over a warp, in every lane; and the largest, NaN if there is one. */
DM_FN float bptt_warp_sum(float x)
{
    for (uint32_t mask = DM_LANES / 2; mask > 0; mask /= 2)
        x += dm_bits_f32(dm_from_lane(dm_f32_bits(x), dm_lane() ^ mask));
    return x;
}

DM_FN float bptt_warp_max(float x)
{
    for (uint32_t mask = DM_LANES / 2; mask > 0; mask /= 2) {
        float other = dm_bits_f32(dm_from_lane(dm_f32_bits(x), dm_lane() ^ mask));
        x = other <= x ? x : other;
    }
    return x;
}

/* Where the row of a member, step and sequence begins in an array of [E][T][R][width]. */
DM_FN uint64_t bptt_row(const dm_bptt_args *args, uint64_t e, uint64_t t, uint64_t r,
                        uint64_t width)
{
    return ((e * args->steps + t) * args->sequences + r) * width;
}

/* The same in h, which has one step more. */
DM_FN uint64_t bptt_h_row(const dm_bptt_args *args, uint64_t e, uint64_t t, uint64_t r)
{
    return ((e * (args->steps + 1) + t) * args->sequences + r) * args->hidden;
}

/* ---- Forward ---- */

/* h of step 0. */
DM_KERNEL(dm_bptt_start, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, H = args.hidden;
    for (uint64_t at = dm_thread_index(); at < E * R * H; at += dm_thread_count()) {
        uint64_t e = at / H / R, r = at / H % R, i = at % H;
        args.h[bptt_h_row(&args, e, 0, r) + i] = args.h0 != 0 ? args.h0[(r * E + e) * H + i] : 0.0f;
    }
}

/* What enters the cell in steps t .. t + step_count - 1. */
DM_KERNEL(dm_bptt_inputs, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, I = args.input, N = args.step_count;
    for (uint64_t at = dm_thread_index(); at < E * N * R * I; at += dm_thread_count()) {
        uint64_t i = at % I, r = at / I % R, t = args.t + at / I / R % N, e = at / I / R / N;
        uint64_t given = t < args.forced ? t : args.forced - 1;
        float feature = t >= args.forced && i == 0
                            ? args.loss[bptt_row(&args, e, t - 1, r, 1)]
                            : args.features[(r * args.forced + given) * I + i];
        args.inputs[bptt_row(&args, e, t, r, I) + i] = (feature - args.shift[i]) * args.scale[i];
    }
}

/* gates hold W x + U h for z and r. */
DM_KERNEL(dm_bptt_gates, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, H = args.hidden;
    for (uint64_t at = dm_thread_index(); at < E * R * H; at += dm_thread_count()) {
        uint64_t e = at / H / R, r = at / H % R, i = at % H;
        const float *b = args.weights + e * args.stride + args.at_b;
        float *gates = args.gates + bptt_row(&args, e, args.t, r, 3 * H);
        gates[i] = bptt_sigmoid(gates[i] + b[i]);
        gates[H + i] = bptt_sigmoid(gates[H + i] + b[H + i]);
        if (!args.reset_last)
            args.q[bptt_row(&args, e, args.t, r, H) + i] =
                gates[H + i] * args.h[bptt_h_row(&args, e, args.t, r) + i];
    }
}

/* gates hold W x for n, and Un (r * h) with it; with reset_last q holds Un h. */
DM_KERNEL(dm_bptt_candidate, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, H = args.hidden;
    for (uint64_t at = dm_thread_index(); at < E * R * H; at += dm_thread_count()) {
        uint64_t e = at / H / R, r = at / H % R, i = at % H;
        const float *member = args.weights + e * args.stride;
        float *gates = args.gates + bptt_row(&args, e, args.t, r, 3 * H);
        float *q = args.q + bptt_row(&args, e, args.t, r, H);
        const float *h = args.h + bptt_h_row(&args, e, args.t, r);
        float a = gates[2 * H + i] + member[args.at_b + 2 * H + i], z = gates[i], n;
        if (args.reset_last) {
            q[i] += member[args.at_c + i];
            n = tanhf(a + gates[H + i] * q[i]);
        } else {
            n = tanhf(a);
        }
        gates[2 * H + i] = n;
        args.h[bptt_h_row(&args, e, args.t + 1, r) + i] =
            args.reset_last ? (1.0f - z) * n + z * h[i] : (1.0f - z) * h[i] + z * n;
    }
}

/* s, u and the loss; with a projection s holds the logits. */
DM_KERNEL(dm_bptt_head, dm_bptt_args)
{
    const uint64_t cells = (uint64_t)args.members * args.sequences, R = args.sequences;
    const uint64_t H = args.hidden, S = args.stochastic;
    for (uint64_t cell = dm_thread_index() / DM_LANES; cell < cells;
         cell += dm_thread_count() / DM_LANES) {
        uint64_t e = cell / R, r = cell % R;
        const float *w = args.weights + e * args.stride + args.at_head;
        const float *h = args.h + bptt_h_row(&args, e, args.t + 1, r);
        float *s = args.s + bptt_row(&args, e, args.t, r, S);
        float top = -3.4e38f, sum = 0, product = 0, u = 0;
        for (uint64_t i = dm_lane(); i < S; i += DM_LANES) {
            s[i] = args.projection ? s[i] : h[i * H / S];
            top = s[i] <= top ? top : s[i];
        }
        top = bptt_warp_max(top);
        for (uint64_t i = dm_lane(); i < S; i += DM_LANES) {
            s[i] = expf(s[i] - top);
            sum += s[i];
            product += s[i] * w[H + i];
        }
        sum = bptt_warp_sum(sum);
        for (uint64_t i = dm_lane(); i < S; i += DM_LANES)
            s[i] /= sum;
        for (uint64_t i = dm_lane(); i < H; i += DM_LANES)
            u += w[i] * h[i];
        u = bptt_warp_sum(u) + bptt_warp_sum(product) / sum;
        if (dm_lane() == 0) {
            uint64_t at = bptt_row(&args, e, args.t, r, 1);
            float clamped = u < -BPTT_LOG_MAX ? -BPTT_LOG_MAX : u > BPTT_LOG_MAX ? BPTT_LOG_MAX : u;
            args.u[at] = u;
            args.loss[at] = expf(clamped);
        }
    }
}

/* ---- The objective ---- */

/* Mean over sequences and steps from `from` on of (log loss - log target)^2 / 2; its gradient goes
 * to dloss, the sum of each cell to `objective`. */
DM_KERNEL(dm_bptt_objective, dm_bptt_args)
{
    const uint64_t cells = (uint64_t)args.members * args.sequences, R = args.sequences;
    const double count = (double)(args.steps - args.from) * (double)R;
    for (uint64_t cell = dm_thread_index(); cell < cells; cell += dm_thread_count()) {
        uint64_t e = cell / R, r = cell % R;
        double sum = 0;
        for (uint64_t t = 0; t < args.steps; t++) {
            uint64_t at = bptt_row(&args, e, t, r, 1);
            const double most = (double)BPTT_LOG_MAX;
            double loss = (double)args.loss[at], value = (double)args.targets[r * args.steps + t];
            double target = value <= 0 ? -most : log(value);
            target = target < -most ? -most : target > most ? most : target;
            double away = log(loss) - target;
            args.dloss[at] = t < args.from ? 0.0f : (float)(away / (loss * count));
            sum += t < args.from ? 0 : away * away / (2 * count);
        }
        args.objective[cell] = sum;
    }
}

/* ---- Backward ---- */

/* From dloss, and the gradient fed back by the step after, compute du, ds and dout, the gradient of h
 * after the step. With a projection a product adds ds to dout. */
DM_KERNEL(dm_bptt_head_backward, dm_bptt_args)
{
    const uint64_t cells = (uint64_t)args.members * args.sequences, R = args.sequences;
    const uint64_t H = args.hidden, S = args.stochastic;
    for (uint64_t cell = dm_thread_index() / DM_LANES; cell < cells;
         cell += dm_thread_count() / DM_LANES) {
        uint64_t e = cell / R, r = cell % R, at = bptt_row(&args, e, args.t, r, 1);
        const float *w = args.weights + e * args.stride + args.at_head;
        const float *s = args.s + bptt_row(&args, e, args.t, r, S);
        float *ds = args.ds + bptt_row(&args, e, args.t, r, S);
        float *dout = args.dout + cell * H;
        float u = args.u[at];
        float du = u < -BPTT_LOG_MAX || u > BPTT_LOG_MAX
                       ? 0.0f
                       : (args.dloss[at] + args.fed_back[cell]) * args.loss[at];
        float mean = 0; /* of the gradients of s, weighted by s */
        for (uint64_t i = dm_lane(); i < S; i += DM_LANES)
            mean += s[i] * (du * w[H + i]);
        mean = bptt_warp_sum(mean);
        for (uint64_t i = dm_lane(); i < S; i += DM_LANES)
            ds[i] = s[i] * (du * w[H + i] - mean);
        for (uint64_t j = dm_lane(); j < H; j += DM_LANES) {
            float sum = dout[j] + du * w[j];
            /* The range of i with floor(i * H / S) = j; it may be empty. */
            for (uint64_t i = (j * S + H - 1) / H; !args.projection && i < S && i * H / S == j; i++)
                sum += s[i] * (du * w[H + i] - mean);
            dout[j] = sum;
        }
        if (dm_lane() == 0)
            args.du[at] = du;
    }
}

/* From dout compute the gradients before sigmoid and tanh, and the direct gradient of the previous h.
 * r of DM_DYNAMICS_GRU_RESET_FIRST follows below. */
DM_KERNEL(dm_bptt_gates_backward, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, H = args.hidden;
    for (uint64_t at = dm_thread_index(); at < E * R * H; at += dm_thread_count()) {
        uint64_t e = at / H / R, r = at / H % R, i = at % H;
        const float *gates = args.gates + bptt_row(&args, e, args.t, r, 3 * H);
        float *a = args.a + bptt_row(&args, e, args.t, r, 3 * H);
        float z = gates[i], reset = gates[H + i], n = gates[2 * H + i], d = args.dout[at],
              h = args.h[bptt_h_row(&args, e, args.t, r) + i];
        if (args.reset_last) {
            float an = d * (1.0f - z) * (1.0f - n * n);
            a[i] = d * (h - n) * z * (1.0f - z);
            a[H + i] = an * args.q[bptt_row(&args, e, args.t, r, H) + i] * reset * (1.0f - reset);
            a[2 * H + i] = an;
            args.work[bptt_row(&args, e, args.t, r, H) + i] = an * reset;
            args.dh[at] = d * z;
        } else {
            a[i] = d * (n - h) * z * (1.0f - z);
            a[2 * H + i] = d * z * (1.0f - n * n);
            args.dh[at] = d * (1.0f - z);
        }
    }
}

/* DM_DYNAMICS_GRU_RESET_FIRST: `work` holds the gradient of r * h. */
DM_KERNEL(dm_bptt_reset_backward, dm_bptt_args)
{
    const uint64_t E = args.members, R = args.sequences, H = args.hidden;
    for (uint64_t at = dm_thread_index(); at < E * R * H; at += dm_thread_count()) {
        uint64_t e = at / H / R, r = at / H % R, i = at % H;
        float reset = args.gates[bptt_row(&args, e, args.t, r, 3 * H) + H + i],
              h = args.h[bptt_h_row(&args, e, args.t, r) + i],
              d = args.work[bptt_row(&args, e, args.t, r, H) + i];
        args.a[bptt_row(&args, e, args.t, r, 3 * H) + H + i] = d * h * reset * (1.0f - reset);
        args.dh[at] += d * reset;
    }
}

/* A step whose feature 0 is the prediction before passes its gradient to that prediction's loss. */
DM_KERNEL(dm_bptt_feedback, dm_bptt_args)
{
    const uint64_t cells = (uint64_t)args.members * args.sequences, R = args.sequences;
    const uint64_t rows = 3 * (uint64_t)args.hidden, I = args.input;
    for (uint64_t cell = dm_thread_index() / DM_LANES; cell < cells;
         cell += dm_thread_count() / DM_LANES) {
        const float *W = args.weights + cell / R * args.stride + args.at_w;
        const float *a = args.a + bptt_row(&args, cell / R, args.t, cell % R, rows);
        float sum = 0;
        for (uint64_t i = dm_lane(); i < rows; i += DM_LANES)
            sum += W[i * I] * a[i];
        sum = bptt_warp_sum(sum);
        if (dm_lane() == 0)
            args.fed_back[cell] = args.t >= args.forced ? sum * args.scale[0] : 0.0f;
    }
}

/* Gradients of biases and head: sums over steps and sequences, one thread per element. */
DM_KERNEL(dm_bptt_sums, dm_bptt_args)
{
    const uint64_t H = args.hidden, S = args.stochastic;
    const uint64_t rows = (uint64_t)args.steps * args.sequences;
    const uint64_t recurrent = args.reset_last ? H : 0, width = 3 * H + recurrent + H + S;
    for (uint64_t at = dm_thread_index(); at < args.members * width; at += dm_thread_count()) {
        uint64_t e = at / width, i = at % width;
        const float *a = args.a + bptt_row(&args, e, 0, 0, 3 * H),
                    *work = args.work + bptt_row(&args, e, 0, 0, H),
                    *h = args.h + bptt_h_row(&args, e, 1, 0),
                    *s = args.s + bptt_row(&args, e, 0, 0, S),
                    *du = args.du + bptt_row(&args, e, 0, 0, 1);
        float *grad = args.grad + e * args.stride, sum = 0;
        if (i < 3 * H) {
            for (uint64_t row = 0; row < rows; row++)
                sum += a[row * 3 * H + i];
            grad[args.at_b + i] = sum;
        } else if (i < 3 * H + recurrent) {
            i -= 3 * H;
            for (uint64_t row = 0; row < rows; row++)
                sum += work[row * H + i];
            grad[args.at_c + i] = sum;
        } else {
            i -= 3 * H + recurrent;
            for (uint64_t row = 0; row < rows; row++)
                sum += du[row] * (i < H ? h[row * H + i] : s[row * S + i - H]);
            grad[args.at_head + i] = sum;
        }
    }
}

/* ---- The optimiser ---- */

/* Sums of squares, each over every DM_UPDATE_PARTS-th element. */
DM_KERNEL(dm_bptt_squares, dm_update_args)
{
    for (uint64_t at = dm_thread_index(); at < (uint64_t)args.members * DM_UPDATE_PARTS;
         at += dm_thread_count()) {
        const float *grad = args.grad + at / DM_UPDATE_PARTS * args.stride;
        double sum = 0;
        for (uint64_t i = at % DM_UPDATE_PARTS; i < args.total; i += DM_UPDATE_PARTS)
            sum += (double)grad[i] * (double)grad[i];
        args.partial[at] = sum;
    }
}

/* The factor of gradient clipping; NaN for a gradient that is not finite: its member is not updated. */
DM_KERNEL(dm_bptt_clip, dm_update_args)
{
    for (uint64_t e = dm_thread_index(); e < args.members; e += dm_thread_count()) {
        double sum = 0, clip = (double)args.clip;
        for (uint64_t i = 0; i < DM_UPDATE_PARTS; i++)
            sum += args.partial[e * DM_UPDATE_PARTS + i];
        double norm = sqrt(sum);
        args.factor[e] = (float)(norm - norm != 0          ? norm - norm
                                 : clip > 0 && norm > clip ? clip / norm
                                                           : 1.0);
    }
}

DM_KERNEL(dm_bptt_update, dm_update_args)
{
    for (uint64_t at = dm_thread_index(); at < args.members * args.total; at += dm_thread_count()) {
        uint64_t e = at / args.total, i = e * args.stride + at % args.total;
        float factor = args.factor[e];
        if (factor != factor)
            continue;
        float g = args.grad[i] * factor;
        if (args.sgd) {
            args.first[i] = args.beta1 * args.first[i] + g;
            args.weights[i] -= args.rate * args.first[i];
        } else {
            float first = args.beta1 * args.first[i] + (1.0f - args.beta1) * g;
            float second = args.beta2 * args.second[i] + (1.0f - args.beta2) * g * g;
            args.first[i] = first;
            args.second[i] = second;
            args.weights[i] -= args.rate * first / (sqrtf(second) + args.epsilon);
        }
    }
}

#endif
