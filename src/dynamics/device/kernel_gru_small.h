/* SPDX-License-Identifier: MIT */
/* kernel_gru_small.h - one step of the cell for a few vectors: the time is that of reading the
 * weights once. A warp has one hidden unit and multiplies its rows with up to 8 vectors; blocks
 * beyond the first H / 8 take the next 8 vectors.
 *
 * DM_DYNAMICS_GRU_RESET_FIRST takes two kernels, since every r must be known before the first n: _gates
 * writes z and q = r * h, _candidate the rest. DM_DYNAMICS_GRU_RESET_LAST is one, _whole. */
#include "dynamics/device/cuda_math.h"
#include "dynamics/device/gru_args.h"

#define SMALL_WARPS 8

/* sums[i][k] += row i . vector k, this lane's part. Rows are `stride` elements apart. */
template <int ROWS, int VECTORS>
DM_FN void small_multiply(float (&sums)[ROWS][VECTORS], const float *rows, uint64_t stride,
                          const float *v, uint32_t n, uint32_t there, int lane)
{
    uint32_t j = 0;
    if ((n & 3) == 0) {
        for (j = lane * 4; j + 3 < n; j += 128) {
            float4 w[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                w[i] = __ldg((const float4 *)(rows + i * stride + j));
#pragma unroll
            for (int k = 0; k < VECTORS; k++) {
                float4 a = *(const float4 *)(v + (uint64_t)(k < there ? k : 0) * n + j);
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    float s = dm_fmaf(w[i].x, a.x, sums[i][k]);
                    s = dm_fmaf(w[i].y, a.y, s);
                    s = dm_fmaf(w[i].z, a.z, s);
                    sums[i][k] = dm_fmaf(w[i].w, a.w, s);
                }
            }
        }
        return;
    }
    for (j = lane; j < n; j += 32)
#pragma unroll
        for (int k = 0; k < VECTORS; k++) {
            float a = v[(uint64_t)(k < there ? k : 0) * n + j];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                sums[i][k] = dm_fmaf(rows[i * stride + j], a, sums[i][k]);
        }
}

/* Which unit and which vectors this warp has; false when none. */
struct small_job {
    uint32_t unit, first, there;
    int lane;
};

template <int VECTORS> DM_FN bool small_begin(const dm_gru_args &args, small_job &job)
{
    uint32_t blocks = (args.hidden + SMALL_WARPS - 1) / SMALL_WARPS;
    job.lane = threadIdx.x & 31;
    job.unit = blockIdx.x % blocks * SMALL_WARPS + (threadIdx.x >> 5);
    job.first = blockIdx.x / blocks * VECTORS;
    job.there = args.batch - job.first < VECTORS ? args.batch - job.first : VECTORS;
    return job.unit < args.hidden;
}

template <int N, int VECTORS> DM_FN void small_sum(float (&sums)[N][VECTORS])
{
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            sums[i][k] = dyn_warp_sum(sums[i][k]);
}

/* Lane k does what remains for vector k: a select instead of an index keeps sums in registers. */
template <int VECTORS> DM_FN float small_pick(const float (&sums)[VECTORS], int lane)
{
    float x = 0;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        x = lane == k ? sums[k] : x;
    return x;
}

template <int VECTORS> DM_FN void small_gates(const dm_gru_args &args)
{
    small_job job;
    if (!small_begin<VECTORS>(args, job))
        return;
    uint64_t H = args.hidden, I = args.input, u = job.unit;
    float sums[2][VECTORS] = {};
    small_multiply<2>(sums, args.W + u * I, H * I, args.x + job.first * I, I, job.there, job.lane);
    small_multiply<2>(sums, args.U + u * H, H * H, args.h + job.first * H, H, job.there, job.lane);
    small_sum(sums);
    if (job.lane < job.there) {
        uint64_t at = (job.first + job.lane) * H + u;
        args.z[at] = dyn_sigmoid(small_pick(sums[0], job.lane) + args.b[u]);
        args.q[at] = dyn_sigmoid(small_pick(sums[1], job.lane) + args.b[H + u]) * args.h[at];
    }
}

template <int VECTORS> DM_FN void small_candidate(const dm_gru_args &args)
{
    small_job job;
    if (!small_begin<VECTORS>(args, job))
        return;
    uint64_t H = args.hidden, I = args.input, u = job.unit;
    float sums[1][VECTORS] = {};
    small_multiply<1>(sums, args.W + (2 * H + u) * I, 0, args.x + job.first * I, I, job.there,
                      job.lane);
    small_multiply<1>(sums, args.U + (2 * H + u) * H, 0, args.q + job.first * H, H, job.there,
                      job.lane);
    small_sum(sums);
    if (job.lane < job.there) {
        uint64_t at = (job.first + job.lane) * H + u;
        float n = dyn_tanh(small_pick(sums[0], job.lane) + args.b[2 * H + u]), h = args.h[at];
        args.out[at] = dm_fmaf(args.z[at], n - h, h);
    }
}

template <int VECTORS> DM_FN void small_whole(const dm_gru_args &args)
{
    small_job job;
    if (!small_begin<VECTORS>(args, job))
        return;
    uint64_t H = args.hidden, I = args.input, u = job.unit;
    float from_x[3][VECTORS] = {}, from_h[3][VECTORS] = {};
    small_multiply<3>(from_x, args.W + u * I, H * I, args.x + job.first * I, I, job.there,
                      job.lane);
    small_multiply<3>(from_h, args.U + u * H, H * H, args.h + job.first * H, H, job.there,
                      job.lane);
    small_sum(from_x);
    small_sum(from_h);
    if (job.lane < job.there) {
        int k = job.lane;
        uint64_t at = (job.first + k) * H + u;
        float z = dyn_sigmoid(small_pick(from_x[0], k) + small_pick(from_h[0], k) + args.b[u]);
        float r = dyn_sigmoid(small_pick(from_x[1], k) + small_pick(from_h[1], k) + args.b[H + u]);
        float v = small_pick(from_h[2], k) + args.c[u];
        float n = dyn_tanh(dm_fmaf(r, v, small_pick(from_x[2], k) + args.b[2 * H + u]));
        args.out[at] = dm_fmaf(z, args.h[at] - n, n);
    }
}

#define SMALL_KERNELS(vectors)                                                                     \
    DM_KERNEL_BOUNDS(dm_gru_gates_##vectors, dm_gru_args, SMALL_WARPS * 32, 1)                     \
    {                                                                                              \
        small_gates<vectors>(args);                                                                \
    }                                                                                              \
    DM_KERNEL_BOUNDS(dm_gru_candidate_##vectors, dm_gru_args, SMALL_WARPS * 32, 1)                 \
    {                                                                                              \
        small_candidate<vectors>(args);                                                            \
    }                                                                                              \
    DM_KERNEL_BOUNDS(dm_gru_whole_##vectors, dm_gru_args, SMALL_WARPS * 32, 1)                     \
    {                                                                                              \
        small_whole<vectors>(args);                                                                \
    }
SMALL_KERNELS(1)
SMALL_KERNELS(2)
SMALL_KERNELS(4)
SMALL_KERNELS(8)
