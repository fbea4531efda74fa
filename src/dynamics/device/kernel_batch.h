/* SPDX-License-Identifier: MIT */
/* kernel_batch.h - many rollouts: a block takes a tile of them through all steps of one member.
 *
 * The products are matrix products in float32: a thread has `M` rollouts by `N` units of every gate
 * in registers. h and r * h of the tile lie in shared memory, by unit; U comes from the
 * second-level cache, by columns (args.packed: [E][P][3][P], k outermost), in stages of DYN_K
 * columns that are copied ahead of their use. What x gives to the gates does not change between
 * steps except for feature 0; it is computed once and kept in args.scratch, in the order in which
 * threads read it.
 *
 *   tile: 4 groups of M rollouts; the 64 threads of a group own N = P / 64 units each: unit
 *   i * 64 + column is number i of thread `column`
 *
 * In args.packed the units of a gate lie in the order of the threads (pack_columns in model.c), so
 * that a thread's are side by side. Rows of h are an odd number of float4s apart, so that the lanes
 * of a warp touch all banks.
 *
 * |h0| must be below 60, since the softmax subtracts no maximum (the host checks). No projection.
 * Defines: DYN_P = 64, 128, 256 or 512; DYN_M, rollouts per thread; DYN_RESET_LAST. */
#include "dynamics/device/cuda_math.h"
#include "dynamics/device/rollout_args.h"

#ifndef DYN_P
#define DYN_P 256
#define DYN_M 10
#define DYN_RESET_LAST 0
#endif

#define BATCH_THREADS 256
#define DYN_N (DYN_P / 64)
#define DYN_V (DYN_N < 4 ? DYN_N : 4) /* units side by side */
#define DYN_Q (DYN_N / DYN_V)         /* groups of those */
#define DYN_MP ((DYN_M + 3) / 4 * 4)  /* room for M rollouts */
#define DYN_TILE (4 * DYN_M)          /* rollouts */
#define DYN_TILE_P (4 * DYN_MP)
#define DYN_ROW (DYN_TILE_P + 4)
#define DYN_K (DYN_P > 256 ? 4 : 8)     /* columns of U in a stage */
#define DYN_STAGES (DYN_M <= 2 ? 8 : 4) /* little work per stage: more of them on their way */

/* Gates that are multiplied with h at once: z and r, then n with r * h; or all three. */
#define DYN_GATES_H (DYN_RESET_LAST ? 3 : 2)
#define STAGE_FLOATS (DYN_K * DYN_GATES_H * DYN_P)

struct batch_shared {
    float stage[DYN_STAGES][STAGE_FLOATS];
    float h[DYN_P][DYN_ROW];
#if !DYN_RESET_LAST
    float reset[DYN_P][DYN_ROW];
#endif
    float sums[8][5][64]; /* by warp: u, sum, product, weighted, squares of each rollout */
    float x0[DYN_TILE_P];
};

extern __shared__ char batch_memory[];

DM_FN void copy16(void *to, const void *from)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}

DM_FN void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> DM_FN void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Columns [k, k + DYN_K) of gates [first, first + count) into a stage. */
DM_FN void load_stage(float *stage, const float *U, int k, int first, int count)
{
    const int quads = DYN_K * count * DYN_P / 4, row = count * DYN_P / 4;
    for (int i = threadIdx.x; i < quads; i += BATCH_THREADS)
        copy16(stage + 4 * i,
               U + (uint64_t)(k + i / row) * 3 * DYN_P + first * DYN_P + 4 * (i % row));
}

DM_FN void load_row(float (&to)[DYN_MP], const float *from)
{
#pragma unroll
    for (int m = 0; m < DYN_MP; m += 4)
        *(float4 *)&to[m] = *(const float4 *)(from + m);
}

DM_FN void store_row(float *to, const float (&from)[DYN_MP])
{
#pragma unroll
    for (int m = 0; m < DYN_MP; m += 4)
        *(float4 *)(to + m) = *(const float4 *)&from[m];
}

/* acc[gate][unit][rollout] += U[gates first ..][unit][k] * v[k][rollout] over all k. */
template <int GATES>
DM_FN void multiply(float (&acc)[GATES][DYN_N][DYN_M], batch_shared &shared,
                    const float (*v)[DYN_ROW], const float *U, int first, int group, int column)
{
    const int count = DYN_P / DYN_K;
#pragma unroll
    for (int s = 0; s < DYN_STAGES - 1; s++) {
        load_stage(shared.stage[s], U, s * DYN_K, first, GATES);
        copy_commit();
    }
    for (int c = 0; c < count; c++) {
        copy_wait<DYN_STAGES - 2>();
        __syncthreads(); /* the stage is there, and the one before it is free */
        if (c + DYN_STAGES - 1 < count)
            load_stage(shared.stage[(c + DYN_STAGES - 1) % DYN_STAGES], U,
                       (c + DYN_STAGES - 1) * DYN_K, first, GATES);
        copy_commit();
        const float *stage = shared.stage[c % DYN_STAGES];
#pragma unroll
        for (int k = 0; k < DYN_K; k++) {
            float x[DYN_MP], w[DYN_V];
            load_row(x, &v[c * DYN_K + k][group * DYN_MP]);
#pragma unroll
            for (int g = 0; g < GATES; g++) {
#pragma unroll
                for (int q = 0; q < DYN_Q; q++) {
                    const float *row =
                        stage + (k * GATES + g) * DYN_P + q * 64 * DYN_V + column * DYN_V;
#pragma unroll
                    for (int i = 0; i < DYN_V; i++)
                        w[i] = row[i];
#pragma unroll
                    for (int i = 0; i < DYN_V; i++)
#pragma unroll
                        for (int m = 0; m < DYN_M; m++)
                            acc[g][q * DYN_V + i][m] =
                                dm_fmaf(w[i], x[m], acc[g][q * DYN_V + i][m]);
                }
            }
        }
    }
    __syncthreads(); /* all stages are free */
}

/* Column 0 of W, which the fed-back loss is multiplied with. */
DM_FN float column0(const dm_rollout_args &args, const float *member, int g, uint32_t unit)
{
    return unit < args.hidden ? member[args.at_w + ((uint64_t)g * args.hidden + unit) * args.input]
                              : 0.0f;
}

/* Where base values of a thread lie: gate g, its unit i, its rollout m. */
DM_FN uint32_t base_at(int g, int i, int m)
{
    return ((g * DYN_N + i) * DYN_M + m) * BATCH_THREADS + threadIdx.x;
}

/* W x + b, without feature 0, for the thread's units and rollouts: once per launch. */
DM_FN void input_product(const dm_rollout_args &args, const float *member, float *scratch,
                         uint32_t first, uint32_t rollouts, int group, int column)
{
    const uint32_t H = args.hidden, I = args.input;
    for (int g = 0; g < 3; g++) {
        for (int i = 0; i < DYN_N; i++) {
            uint32_t unit = i * 64 + column;
            uint64_t row = (uint64_t)g * H + unit;
            float sum[DYN_M];
#pragma unroll
            for (int m = 0; m < DYN_M; m++)
                sum[m] = unit < H ? member[args.at_b + row] : 0.0f;
            for (uint32_t j = 1; j < I && unit < H; j++) {
                float w = member[args.at_w + row * I + j], shift = args.shift[j],
                      scale = args.scale[j];
#pragma unroll
                for (int m = 0; m < DYN_M; m++) {
                    uint32_t k = group * DYN_M + m;
                    float x = args.features[(uint64_t)(first + (k < rollouts ? k : 0)) * I + j];
                    sum[m] = dm_fmaf(w, (x - shift) * scale, sum[m]);
                }
            }
#pragma unroll
            for (int m = 0; m < DYN_M; m++)
                scratch[base_at(g, i, m)] = sum[m];
        }
    }
}

/* Loss, entropy and norm of every rollout of the tile from h; sets x0. */
DM_FN void heads(const dm_rollout_args &args, batch_shared &shared, const float *head,
                 uint32_t first, uint32_t rollouts, uint32_t member_index, uint32_t t)
{
    const uint32_t H = args.hidden, S = args.stochastic;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (uint32_t slot = lane; slot < DYN_TILE_P; slot += 32) {
        float u = 0, sum = 0, product = 0, weighted = 0, squares = 0;
        for (uint32_t i = warp; i < H; i += 8) {
            float v = shared.h[i][slot];
            u = dm_fmaf(head[i], v, u);
            squares = dm_fmaf(v, v, squares);
        }
        for (uint32_t i = warp; i < S; i += 8) {
            float logit = shared.h[i * H / S][slot], e = dyn_exp(logit);
            sum += e;
            product = dm_fmaf(e, head[H + i], product);
            weighted = dm_fmaf(e, logit, weighted);
        }
        shared.sums[warp][0][slot] = u;
        shared.sums[warp][1][slot] = sum;
        shared.sums[warp][2][slot] = product;
        shared.sums[warp][3][slot] = weighted;
        shared.sums[warp][4][slot] = squares;
    }
    __syncthreads();
    if (threadIdx.x < DYN_TILE_P) {
        uint32_t slot = threadIdx.x, m = slot % DYN_MP, k = slot / DYN_MP * DYN_M + m;
        float total[5];
#pragma unroll
        for (int i = 0; i < 5; i++) {
            total[i] = 0;
            for (int w = 0; w < 8; w++)
                total[i] += shared.sums[w][i][slot];
        }
        float loss = dyn_loss(total[0] + total[2] / total[1]);
        shared.x0[slot] = (loss - args.shift[0]) * args.scale[0];
        if (m < DYN_M && k < rollouts) {
            uint64_t at = ((uint64_t)(first + k) * args.members + member_index) * args.steps + t;
            args.loss[at] = loss;
            /* A single value has entropy 0, or NaN. */
            args.entropy[at] = args.stochastic == 1 ? total[1] - total[1]
                                                    : dyn_log(total[1]) - total[3] / total[1];
            args.norm[at] = sqrtf(total[4]);
        }
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BATCH_THREADS, 1)
    dm_rollout_batch(const __grid_constant__ dm_rollout_args args)
{
    batch_shared &shared = *(batch_shared *)batch_memory;
    const int group = threadIdx.x / 64, column = threadIdx.x % 64;
    const uint32_t member_index = blockIdx.x % args.members, tile = blockIdx.x / args.members;
    const uint32_t first = tile * DYN_TILE, H = args.hidden;
    const uint32_t rollouts = args.rollouts - first < DYN_TILE ? args.rollouts - first : DYN_TILE;
    const float *member = args.weights + member_index * args.stride;
    const float *U = args.packed + (uint64_t)member_index * 3 * DYN_P * DYN_P;
    float *scratch = args.scratch + (uint64_t)blockIdx.x * 3 * DYN_P * DYN_TILE;

    input_product(args, member, scratch, first, rollouts, group, column);
    for (uint32_t i = threadIdx.x; i < DYN_P * DYN_TILE_P; i += BATCH_THREADS) {
        uint32_t unit = i % DYN_P, slot = i / DYN_P;
        uint32_t m = slot % DYN_MP, k = slot / DYN_MP * DYN_M + m;
        bool there = args.h0 != 0 && m < DYN_M && k < rollouts && unit < H;
        shared.h[unit][slot] =
            there ? args.h0[((uint64_t)(first + k) * args.members + member_index) * H + unit]
                  : 0.0f;
    }
    if (threadIdx.x < DYN_TILE_P) {
        uint32_t slot = threadIdx.x, m = slot % DYN_MP, k = slot / DYN_MP * DYN_M + m;
        float x = m < DYN_M && k < rollouts ? args.features[(uint64_t)(first + k) * args.input] : 0;
        shared.x0[slot] = (x - args.shift[0]) * args.scale[0];
    }
    __syncthreads();

    for (uint32_t t = 0; t < args.steps; t++) {
        float x0[DYN_MP];
#pragma unroll
        for (int m = 0; m < DYN_MP; m++)
            x0[m] = shared.x0[group * DYN_MP + m];
        float acc[DYN_GATES_H][DYN_N][DYN_M];
#pragma unroll
        for (int g = 0; g < DYN_GATES_H; g++)
#pragma unroll
            for (int i = 0; i < DYN_N; i++)
#pragma unroll
                for (int m = 0; m < DYN_M; m++)
                    acc[g][i][m] = 0;
        multiply<DYN_GATES_H>(acc, shared, shared.h, U, 0, group, column);
        float z[DYN_N][DYN_M];
#pragma unroll
        for (int i = 0; i < DYN_N; i++) {
            float wz = column0(args, member, 0, i * 64 + column),
                  wr = column0(args, member, 1, i * 64 + column);
#pragma unroll
            for (int m = 0; m < DYN_M; m++) {
                z[i][m] = dyn_sigmoid(acc[0][i][m] + dm_fmaf(wz, x0[m], scratch[base_at(0, i, m)]));
                acc[1][i][m] =
                    dyn_sigmoid(acc[1][i][m] + dm_fmaf(wr, x0[m], scratch[base_at(1, i, m)]));
            }
        }
#if DYN_RESET_LAST
#pragma unroll
        for (int i = 0; i < DYN_N; i++) {
            uint32_t unit = i * 64 + column;
            float wn = column0(args, member, 2, unit),
                  c = unit < H ? member[args.at_c + unit] : 0.0f;
            float old[DYN_MP];
            load_row(old, &shared.h[unit][group * DYN_MP]);
#pragma unroll
            for (int m = 0; m < DYN_M; m++) {
                float a = dm_fmaf(wn, x0[m], scratch[base_at(2, i, m)]);
                float n = dyn_tanh(dm_fmaf(acc[1][i][m], acc[2][i][m] + c, a));
                old[m] = dm_fmaf(z[i][m], old[m] - n, n);
            }
            store_row(&shared.h[unit][group * DYN_MP], old);
        }
#else
#pragma unroll
        for (int i = 0; i < DYN_N; i++) {
            uint32_t unit = i * 64 + column;
            float old[DYN_MP];
            load_row(old, &shared.h[unit][group * DYN_MP]);
#pragma unroll
            for (int m = 0; m < DYN_M; m++)
                old[m] *= acc[1][i][m];
            store_row(&shared.reset[unit][group * DYN_MP], old);
        }
        float candidate[1][DYN_N][DYN_M];
#pragma unroll
        for (int i = 0; i < DYN_N; i++)
#pragma unroll
            for (int m = 0; m < DYN_M; m++)
                candidate[0][i][m] = 0;
        multiply<1>(candidate, shared, shared.reset, U, 2, group, column);
#pragma unroll
        for (int i = 0; i < DYN_N; i++) {
            uint32_t unit = i * 64 + column;
            float wn = column0(args, member, 2, unit), old[DYN_MP];
            load_row(old, &shared.h[unit][group * DYN_MP]);
#pragma unroll
            for (int m = 0; m < DYN_M; m++) {
                float a = dm_fmaf(wn, x0[m], scratch[base_at(2, i, m)]);
                float n = dyn_tanh(candidate[0][i][m] + a);
                old[m] = dm_fmaf(z[i][m], n - old[m], old[m]);
            }
            store_row(&shared.h[unit][group * DYN_MP], old);
        }
#endif
        __syncthreads();
        heads(args, shared, member + args.at_head, first, rollouts, member_index, t);
    }
    for (uint32_t i = threadIdx.x; i < rollouts * H; i += BATCH_THREADS) {
        uint32_t k = i / H, unit = i % H;
        args.last[((uint64_t)(first + k) * args.members + member_index) * H + unit] =
            shared.h[unit][k / DYN_M * DYN_MP + k % DYN_M];
    }
}
