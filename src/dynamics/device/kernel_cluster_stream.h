/* SPDX-License-Identifier: MIT */
/* kernel_cluster_stream.h - one rollout of one member on a cluster of 16 blocks when U is too large
 * for their registers: every step reads it again, from the second-level cache or from memory, with
 * all 16 multiprocessors. Otherwise as kernel_cluster.h, which see for the exchange of h and r * h.
 *
 * A warp owns G groups of four units: those from (g * WARPS + warp) * 4 on.
 * Defines: DYN_P (hidden units, a multiple of 512, at most 4,096), DYN_RESET_LAST. */
#include "dynamics/device/cluster_common.h"

#ifndef DYN_P
#define DYN_P 1024
#define DYN_RESET_LAST 0
#endif

#if DM_HAS_CLUSTERS

#define DYN_C 16
#define DYN_UNITS (DYN_P / DYN_C)
#define DYN_WARPS 8
#define DYN_G (DYN_UNITS / (4 * DYN_WARPS))
#define DYN_QUADS (DYN_P / 128)
#define DYN_BUFFERS (1 + DYN_RESET_LAST)
#define DYN_THREADS ((DYN_WARPS + 1) * 32)

struct stream_block {
    float4 h[DYN_BUFFERS][DYN_P / 4];
#if !DYN_RESET_LAST
    float4 reset[DYN_P / 4];
#endif
    float x0[2]; /* in turns */
    unsigned long long h_barrier[DYN_BUFFERS], reset_barrier;
};

/* sum[i] = row i of U . v for N rows; rows of a gate follow each other, gates are P rows apart. */
template <int N>
DM_FN void stream_multiply(const float4 *U, uint32_t first_row, const float4 *v, int lane,
                           float (&sum)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        sum[i] = 0;
#pragma unroll 2
    for (int k = 0; k < DYN_QUADS; k++) {
        float4 x = v[k * 32 + lane];
#pragma unroll
        for (int i = 0; i < N; i++) {
            uint64_t row = (i >> 2) * DYN_P + first_row + (i & 3);
            float4 w = __ldg(U + row * (DYN_P / 4) + k * 32 + lane);
            float s = dm_fmaf(w.x, x.x, sum[i]);
            s = dm_fmaf(w.y, x.y, s);
            s = dm_fmaf(w.z, x.z, s);
            sum[i] = dm_fmaf(w.w, x.w, s);
        }
    }
}

/* Sums of a step, for its entropy and norm. */
struct stream_sums {
    float sum, weighted, squares;
};

/* The loss of h, by one warp. */
DM_FN float stream_head(const dm_rollout_args &args, const float *head, const float *h, int lane,
                        stream_sums &s)
{
    const uint32_t H = args.hidden, S = args.stochastic;
    float u = 0, top = -3.4e38f, product = 0;
    s.sum = s.weighted = s.squares = 0;
    for (uint32_t i = lane; i < H; i += 32) {
        u = dm_fmaf(head[i], h[i], u);
        s.squares = dm_fmaf(h[i], h[i], s.squares);
    }
    for (uint32_t i = lane; i < S; i += 32) {
        float logit = h[(uint32_t)((uint64_t)i * H / S)];
        top = logit <= top ? top : logit;
    }
    top = dyn_warp_max(top);
    for (uint32_t i = lane; i < S; i += 32) {
        float logit = h[(uint32_t)((uint64_t)i * H / S)] - top, e = dyn_exp(logit);
        s.sum += e;
        product = dm_fmaf(e, head[H + i], product);
        s.weighted = dm_fmaf(e, logit < -80.0f ? -80.0f : logit, s.weighted);
    }
    u = dyn_warp_sum(u);
    s.sum = dyn_warp_sum(s.sum);
    return dyn_loss(u + dyn_warp_sum(product) / s.sum);
}

DM_FN void stream_store(const dm_rollout_args &args, stream_sums s, uint64_t at, float loss,
                        int lane)
{
    s.weighted = dyn_warp_sum(s.weighted);
    s.squares = dyn_warp_sum(s.squares);
    if (lane == 0) {
        args.loss[at] = loss;
        args.entropy[at] = dyn_log(s.sum) - s.weighted / s.sum;
        args.norm[at] = sqrtf(s.squares);
    }
}

/* W x without feature 0, for the units of one group. */
DM_FN void stream_input(const dm_rollout_args &args, const cluster_place &at, uint32_t unit,
                        int lane, cluster_input &in)
{
    const uint64_t H = args.hidden, I = args.input;
    float first8[8], last4[4];
#pragma unroll
    for (int i = 0; i < 8; i++)
        first8[i] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        last4[i] = 0;
    for (uint32_t j = lane; j < args.input; j += 32) {
        float x = j == 0 ? 0.0f : (at.features[j] - args.shift[j]) * args.scale[j];
#pragma unroll
        for (int row = 0; row < 12; row++) {
            uint64_t u = unit + (row & 3) < H ? unit + (row & 3) : H - 1;
            float w = at.member[args.at_w + ((row >> 2) * H + u) * I + j];
            if (row < 8)
                first8[row & 7] = dm_fmaf(w, x, first8[row & 7]);
            else
                last4[row & 3] = dm_fmaf(w, x, last4[row & 3]);
        }
    }
    in.base_zr = dyn_sum8(first8, lane);
    in.base_n = dyn_sum4(last4, lane);
}

extern "C" __global__ void __launch_bounds__(DYN_THREADS, 1)
    dm_rollout_cluster_stream(const __grid_constant__ dm_rollout_args args)
{
    __shared__ stream_block block;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool multiplies = warp < DYN_WARPS;
    const cluster_place at =
        cluster_begin<DYN_P, DYN_C, DYN_BUFFERS, DYN_THREADS>(args, block, multiplies ? warp : 0);

    /* Group g of the warp begins with unit + g * 4 * WARPS; the lane has z or r of one of its
     * units. */
    cluster_input in[DYN_G] = {};
#if DYN_RESET_LAST
    float recurrent[DYN_G] = {};
#endif
#pragma unroll
    for (int g = 0; g < DYN_G; g++) {
        uint32_t first = at.unit + g * 4 * DYN_WARPS, own = first + ((lane >> 2) & 3);
        if (!multiplies)
            continue;
        stream_input(args, at, first, lane, in[g]);
        input_finish(in[g], args, at.member, own, lane);
#if DYN_RESET_LAST
        recurrent[g] = own < args.hidden ? at.member[args.at_c + own] : 0;
#endif
    }
    const float shift0 = args.shift[0], scale0 = args.scale[0];
    float x0 = (at.features[0] - shift0) * scale0;
    uint32_t to = lane < DYN_C ? lane : 0;
    const uint32_t h_to = remote_address(shared_address((float *)block.h[0] + at.unit), to),
                   h_barrier_to = remote_address(at.h_barrier, to);
#if !DYN_RESET_LAST
    const uint32_t reset_to = remote_address(shared_address((float *)block.reset + at.unit), to),
                   reset_barrier_to = remote_address(at.reset_barrier, to);
#endif
    __syncthreads();
    cluster_barrier();

    for (uint32_t t = 0; t < args.steps; t++) {
        const uint32_t turn = DYN_RESET_LAST ? t & 1 : 0;
        const float4 *h = block.h[turn];
        if (t > 0)
            wait_phase(at.h_barrier + 8 * turn, ((t - 1) / DYN_BUFFERS) & 1);
        if (!multiplies) {
            if (t > 0) {
                stream_sums s;
                float loss = stream_head(args, at.member + args.at_head, (const float *)h, lane, s);
                if (lane == 0)
                    block.x0[t & 1] = (loss - shift0) * scale0;
                asm volatile("bar.sync 1, %0;" ::"n"(DYN_THREADS) : "memory");
                if (at.rank == 0)
                    stream_store(args, s, at.out + t - 1, loss, lane);
            }
            continue;
        }
        if (threadIdx.x == 0 && t > 0)
            expect_bytes(at.h_barrier + 8 * turn, DYN_P * 4);
        float gate[DYN_G];
#if DYN_RESET_LAST
        float product[DYN_G];
#endif
#pragma unroll
        for (int g = 0; g < DYN_G; g++) {
#if DYN_RESET_LAST
            float all[12], sums[8], more[4];
            stream_multiply<12>(at.U, at.unit + g * 4 * DYN_WARPS, h, lane, all);
#pragma unroll
            for (int i = 0; i < 12; i++)
                (i < 8 ? sums[i & 7] : more[i & 3]) = all[i];
            product[g] = dyn_sum4(more, lane) + recurrent[g];
#else
            float sums[8];
            stream_multiply<8>(at.U, at.unit + g * 4 * DYN_WARPS, h, lane, sums);
#endif
            gate[g] = dyn_sum8(sums, lane) + in[g].base_zr;
        }
        if (t > 0) {
            asm volatile("bar.sync 1, %0;" ::"n"(DYN_THREADS) : "memory");
            x0 = *(volatile float *)&block.x0[t & 1];
        }
        const uint32_t next = DYN_RESET_LAST ? (t + 1) & 1 : 0;
#if !DYN_RESET_LAST
#pragma unroll
        for (int g = 0; g < DYN_G; g++) {
            uint32_t own = at.unit + g * 4 * DYN_WARPS + ((lane >> 2) & 3);
            gate[g] = dyn_sigmoid(dm_fmaf(in[g].column_zr, x0, gate[g]));
            send_units<DYN_C>(gate[g] * ((const float *)h)[own], 16, lane,
                              reset_to + g * DYN_WARPS * 16, reset_barrier_to);
        }
        wait_phase(at.reset_barrier, t & 1);
        if (threadIdx.x == 0)
            expect_bytes(at.reset_barrier, DYN_P * 4);
#endif
        float fresh[DYN_G];
#pragma unroll
        for (int g = 0; g < DYN_G; g++) {
            float old = ((const float *)h)[at.unit + g * 4 * DYN_WARPS + ((lane >> 2) & 3)];
#if DYN_RESET_LAST
            float z = dyn_sigmoid(dm_fmaf(in[g].column_zr, x0, gate[g]));
            float r = __shfl_xor_sync(DYN_FULL, z, 16); /* lanes 0-15 have z, the others r */
            float n = dyn_tanh(dm_fmaf(r, product[g], dm_fmaf(in[g].column_n, x0, in[g].base_n)));
            fresh[g] = dm_fmaf(z, old - n, n);
#else
            float more[4];
            stream_multiply<4>(at.U + (uint64_t)2 * DYN_P * (DYN_P / 4),
                               at.unit + g * 4 * DYN_WARPS, block.reset, lane, more);
            float n = dyn_tanh(dyn_sum4(more, lane) + dm_fmaf(in[g].column_n, x0, in[g].base_n));
            fresh[g] = dm_fmaf(gate[g], n - old, old);
#endif
        }
        /* Only now: this warp has read all it needs of r * h. */
#pragma unroll
        for (int g = 0; g < DYN_G; g++)
            send_units<DYN_C>(fresh[g], 0, lane, h_to + next * DYN_P * 4 + g * DYN_WARPS * 16,
                              h_barrier_to + 8 * next);
    }

    const uint32_t turn = DYN_RESET_LAST ? args.steps & 1 : 0;
    wait_phase(at.h_barrier + 8 * turn, ((args.steps - 1) / DYN_BUFFERS) & 1);
    if (!multiplies && at.rank == 0) {
        stream_sums s;
        float loss =
            stream_head(args, at.member + args.at_head, (const float *)block.h[turn], lane, s);
        stream_store(args, s, at.out + args.steps - 1, loss, lane);
    }
    cluster_end<DYN_THREADS>(args, at, block.h[turn]);
}

#endif
