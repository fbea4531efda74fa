/* SPDX-License-Identifier: MIT */
/* kernel_cluster.h - one rollout of one member on a cluster of blocks; compute capability 9.0.
 *
 * A step is two small products that depend on each other, so what counts is latency. The matrix U
 * stays in registers for all steps: a block owns P / C hidden units, a warp four of them, a lane
 * P / 32 columns of their rows. h and r * h are exchanged through distributed shared memory: a warp
 * sends its four values to every block with one asynchronous store that also counts at the
 * receiver's barrier; nobody waits for anything but the data.
 *
 *   warps:     wait h > Uz h, Ur h > (x0) > z, r > send r*h > wait > Un (r*h) > n, h' > send h'
 *   head warp: wait h > w.[h, s] > loss > x0 > entropy, norm > results, from one block
 *
 * When may a buffer be overwritten? A block sends r*h of step t+1 when it has all of h(t+1), whose
 * parts every warp sent after it had read r*h of step t; and h(t+1) when it has all of r*h(t),
 * whose parts were sent after the named barrier that follows every read of h(t). One buffer of each
 * is enough. DM_DYNAMICS_GRU_RESET_LAST has no r*h to exchange: there h has two buffers with a barrier each,
 * in turns, since a block may be one step ahead of another, but not two.
 *
 * x0 goes from the head's warp to the others of its block and has two places, in turns: x0 of step
 * t+2 is written after the named barrier of step t+1, which every warp reaches after it has read
 * that of step t. One place would do, since the head waits for h(t+1), whose parts were sent after
 * those reads; but compute-sanitizer does not follow asynchronous stores and calls it a hazard.
 *
 * With DYN_PROFILE the clock at some points of every step of block 0 goes to args.scratch:
 * [steps][16], marks 0-7 by the first warp, 8-15 by the head's.
 *
 * Defines: DYN_P (hidden units, a multiple of 128), DYN_C (blocks of a cluster), DYN_N_SHARED (1:
 * Un lies in shared memory instead of registers), DYN_RESET_LAST. */
#include "dynamics/device/cluster_common.h"
#include "dynamics/device/rollout_args.h"

#ifndef DYN_P
#define DYN_P 256
#define DYN_C 8
#define DYN_N_SHARED 0
#define DYN_RESET_LAST 0
#endif

#if DM_HAS_CLUSTERS

#ifdef DYN_PROFILE
#define DYN_MARK(t, i)                                                                             \
    do {                                                                                           \
        if (blockIdx.x == 0 && lane == 0 && (warp == 0 || !multiplies))                            \
            ((uint32_t *)args.scratch)[(t)*16 + (i)] = (uint32_t)clock();                          \
    } while (0)
#else
#define DYN_MARK(t, i)
#endif
#define DYN_UNITS (DYN_P / DYN_C) /* of a block */
#define DYN_WARPS (DYN_UNITS / 4) /* that multiply; one more has the head */
#define DYN_QUADS (DYN_P / 128)   /* float4s of a row that a lane owns */
#define DYN_BUFFERS (1 + DYN_RESET_LAST)
#ifndef DYN_HEAD_EACH
#define DYN_HEAD_EACH 0
#endif
#define DYN_THREADS ((DYN_WARPS + 1 - DYN_HEAD_EACH) * 32)

extern __shared__ float4 dyn_shared[]; /* Un, with DYN_N_SHARED */

/* sum[i] += rows[i] . v for the lane's columns; `rows` are in registers. */
template <int N>
DM_FN void multiply(const float4 (&rows)[N][DYN_QUADS], const float4 (&v)[DYN_QUADS],
                    float (&sum)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        float s = 0;
#pragma unroll
        for (int k = 0; k < DYN_QUADS; k++) {
            s = dm_fmaf(rows[i][k].x, v[k].x, s);
            s = dm_fmaf(rows[i][k].y, v[k].y, s);
            s = dm_fmaf(rows[i][k].z, v[k].z, s);
            s = dm_fmaf(rows[i][k].w, v[k].w, s);
        }
        sum[i] = s;
    }
}

/* The lane's columns of four rows of U that follow each other. */
DM_FN void load_rows(float4 (&rows)[4][DYN_QUADS], const float4 *from, int lane)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int k = 0; k < DYN_QUADS; k++)
            rows[i][k] = from[i * (DYN_P / 4) + k * 32 + lane];
}

struct dyn_block {
    float4 h[DYN_BUFFERS][DYN_P / 4]; /* of the whole member */
    float4 reset[DYN_P / 4];          /* r * h */
    float x[1024]; /* features, shifted and scaled, without feature 0; in pieces */
    float x0[2];
    unsigned long long h_barrier[DYN_BUFFERS], reset_barrier;
};

/* ---- The head ---- */

/* One warp: everything that follows from h. What every step needs is kept: the lane's weights, and
 * index and weight of stochastic value `lane`; there are rarely more than 32 of those. */
struct dyn_head {
    float4 w[DYN_QUADS];
    const float *stochastic; /* weights of s */
    uint32_t index;
    float weight;
    float sum, product, weighted, squares; /* sums of a step */
};

DM_FN void head_init(dyn_head &head, const dm_rollout_args &args, const float *w, int lane)
{
    uint32_t H = args.hidden;
#pragma unroll
    for (int k = 0; k < DYN_QUADS; k++) {
        uint32_t i = (k * 32 + lane) * 4;
        head.w[k] = make_float4(i < H ? w[i] : 0, i + 1 < H ? w[i + 1] : 0,
                                i + 2 < H ? w[i + 2] : 0, i + 3 < H ? w[i + 3] : 0);
    }
    head.stochastic = w + H;
    bool there = lane < args.stochastic;
    head.index = there ? selected(args, lane) : 0;
    head.weight = there ? head.stochastic[lane] : 0;
}

/* One stochastic value's share of the sums. */
DM_FN void head_add(dyn_head &head, float logit, float weight)
{
    float e = dyn_exp(logit);
    head.sum += e;
    head.product = dm_fmaf(e, weight, head.product);
    head.weighted = dm_fmaf(e, logit < -80.0f ? -80.0f : logit, head.weighted);
}

/* This lane's part of the sums over the stochastic values. */
DM_FN void head_begin(dyn_head &head, const dm_rollout_args &args, const float *h, int lane)
{
    const uint32_t S = args.stochastic;
    float first = h[head.index], top = lane < S ? first : -3.4e38f;
    bool wide = lane < S && (S == 1 || !(fabsf(first) <= 2.0f));
    DM_NO_UNROLL
    for (uint32_t i = lane + 32; i < S; i += 32) {
        float logit = h[selected(args, i)];
        top = logit <= top ? top : logit;
        wide = wide || !(fabsf(logit) <= 2.0f);
    }
    /* |h| stays within 1 unless it began outside; only then is the largest needed. A single value
     * has entropy 0, which is exact only with it. */
    top = __any_sync(DYN_FULL, wide) ? dyn_warp_max(top) : 0.0f;
    head.sum = head.weighted = head.product = 0;
    if (lane < S)
        head_add(head, first - top, head.weight);
    DM_NO_UNROLL
    for (uint32_t i = lane + 32; i < S; i += 32)
        head_add(head, h[selected(args, i)] - top, head.stochastic[i]);
}

/* The sums over the warp, and the loss; v is the lane's part of h. */
DM_FN float head_end(dyn_head &head, const float4 (&v)[DYN_QUADS])
{
    float u = 0;
    head.squares = 0;
#pragma unroll
    for (int k = 0; k < DYN_QUADS; k++) {
        u = dm_fmaf(head.w[k].x, v[k].x, u);
        u = dm_fmaf(head.w[k].y, v[k].y, u);
        u = dm_fmaf(head.w[k].z, v[k].z, u);
        u = dm_fmaf(head.w[k].w, v[k].w, u);
        head.squares = dm_fmaf(v[k].x, v[k].x, dm_fmaf(v[k].y, v[k].y, head.squares));
        head.squares = dm_fmaf(v[k].z, v[k].z, dm_fmaf(v[k].w, v[k].w, head.squares));
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        u += __shfl_xor_sync(DYN_FULL, u, mask);
        head.sum += __shfl_xor_sync(DYN_FULL, head.sum, mask);
        head.product += __shfl_xor_sync(DYN_FULL, head.product, mask);
    }
    return dyn_loss(u + __fdividef(head.product, head.sum));
}

DM_FN void head_store(const dyn_head &head, const dm_rollout_args &args, uint64_t at, float loss,
                      int lane)
{
    float weighted = dyn_warp_sum(head.weighted), squares = dyn_warp_sum(head.squares);
    if (lane == 0) {
        args.loss[at] = loss;
        args.entropy[at] = dyn_log(head.sum) - weighted / head.sum;
        args.norm[at] = sqrtf(squares);
    }
}

/* ---- Setting up ---- */

/* W x without feature 0, for the rows of a warp's units. */
DM_FN void input_product(const dm_rollout_args &args, dyn_block &block, const cluster_place &at,
                         int lane, cluster_input &in)
{
    const float *W = at.member + args.at_w;
    uint64_t H = args.hidden, I = args.input;
    float sums[12];
#pragma unroll
    for (int i = 0; i < 12; i++)
        sums[i] = 0;
    for (uint32_t first = 0; first < args.input; first += 1024) {
        uint32_t count = args.input - first < 1024 ? args.input - first : 1024;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
            block.x[i] = first + i == 0 ? 0
                                        : (at.features[first + i] - args.shift[first + i]) *
                                              args.scale[first + i];
        __syncthreads();
        if (threadIdx.x >= DYN_WARPS * 32)
            continue;
        /* All rows of a column at once, so that their loads are on the way together. */
        for (uint32_t i = lane; i < count; i += 32)
#pragma unroll
            for (int row = 0; row < 12; row++) {
                uint64_t u = at.unit + (row & 3) < H ? at.unit + (row & 3) : H - 1;
                sums[row] = dm_fmaf(W[((row >> 2) * H + u) * I + first + i], block.x[i], sums[row]);
            }
    }
    float first8[8], last4[4];
#pragma unroll
    for (int i = 0; i < 12; i++)
        (i < 8 ? first8[i & 7] : last4[i & 3]) = sums[i];
    in.base_zr = dyn_sum8(first8, lane);
    in.base_n = dyn_sum4(last4, lane);
}

/* ---- The kernel ---- */

extern "C" __global__ void __launch_bounds__(DYN_THREADS, 1)
    dm_rollout_cluster(const __grid_constant__ dm_rollout_args args)
{
    __shared__ dyn_block block;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool multiplies = DYN_HEAD_EACH || warp < DYN_WARPS;
    const cluster_place at =
        cluster_begin<DYN_P, DYN_C, DYN_BUFFERS, DYN_THREADS>(args, block, multiplies ? warp : 0);
    const uint64_t H = args.hidden;

    /* The weights of this warp: rows z0..z3 r0..r3, then n0..n3. */
    float4 rows[8][DYN_QUADS];
#if DYN_N_SHARED
    for (uint32_t i = threadIdx.x; i < DYN_UNITS * (DYN_P / 4); i += DYN_THREADS)
        dyn_shared[i] = at.U[(2 * DYN_P + at.rank * DYN_UNITS) * (DYN_P / 4) + i];
#else
    float4 candidate_rows[4][DYN_QUADS];
#endif
    if (multiplies) {
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int k = 0; k < DYN_QUADS; k++)
                rows[i][k] =
                    at.U[((i >> 2) * DYN_P + at.unit + (i & 3)) * (DYN_P / 4) + k * 32 + lane];
#if !DYN_N_SHARED
        load_rows(candidate_rows, at.U + (2 * DYN_P + at.unit) * (DYN_P / 4), lane);
#endif
    }

    const uint32_t own = at.unit + ((lane >> 2) & 3);
#if DYN_RESET_LAST
    const float recurrent = multiplies && own < H ? at.member[args.at_c + own] : 0;
#endif
    cluster_input in;
    input_product(args, block, at, lane, in);
    input_finish(in, args, at.member, multiplies ? own : H, lane);
    const float shift0 = args.shift[0], scale0 = args.scale[0];
    float x0 = (at.features[0] - shift0) * scale0;

    /* Where this warp's values go in the block that the lane sends to. */
    uint32_t to = lane < DYN_C ? lane : 0;
    const uint32_t h_to = remote_address(shared_address((float *)block.h[0] + at.unit), to),
                   h_barrier_to = remote_address(at.h_barrier, to),
                   reset_to = remote_address(shared_address((float *)block.reset + at.unit), to),
                   reset_barrier_to = remote_address(at.reset_barrier, to);
    dyn_head head;
    head_init(head, args, at.member + args.at_head, lane);
    __syncthreads();
    cluster_barrier();

    for (uint32_t t = 0; t < args.steps; t++) {
        const uint32_t turn = DYN_RESET_LAST ? t & 1 : 0; /* the buffer of h before this step */
        const float4 *h = block.h[turn];
        float4 v[DYN_QUADS];
        if (t > 0)
            wait_phase(at.h_barrier + 8 * turn, ((t - 1) / DYN_BUFFERS) & 1);
        DYN_MARK(t, multiplies ? 0 : 8);
#pragma unroll
        for (int k = 0; k < DYN_QUADS; k++)
            v[k] = h[k * 32 + lane];
        float loss = 0; /* of the step before, from the h that has just come */
        if (!DYN_HEAD_EACH && !multiplies) {
            if (t > 0) {
                head_begin(head, args, (const float *)h, lane);
                loss = head_end(head, v);
                if (lane == 0)
                    block.x0[t & 1] = (loss - shift0) * scale0;
                DYN_MARK(t, 9);
                asm volatile("bar.sync 1, %0;" ::"n"(DYN_THREADS) : "memory");
                if (at.rank == 0)
                    head_store(head, args, at.out + t - 1, loss, lane);
                DYN_MARK(t, 10);
            }
            continue;
        }
        if (threadIdx.x == 0 && t > 0)
            expect_bytes(at.h_barrier + 8 * turn, DYN_P * 4);
        float sums[8], more[4];
        float h_own = ((const float *)h)[own];
        if (DYN_HEAD_EACH && t > 0)
            head_begin(head, args, (const float *)h, lane);
        multiply<8>(rows, v, sums);
#if DYN_RESET_LAST
#if DYN_N_SHARED
        float4 candidate_rows[4][DYN_QUADS];
        load_rows(candidate_rows, dyn_shared + warp * DYN_P, lane);
#endif
        multiply<4>(candidate_rows, v, more);
        float product = dyn_sum4(more, lane) + recurrent;
#endif
        float a = dyn_sum8(sums, lane) + in.base_zr;
        DYN_MARK(t, 1);
        if (DYN_HEAD_EACH && t > 0) {
            loss = head_end(head, v);
            x0 = (loss - shift0) * scale0;
        } else if (t > 0) {
            asm volatile("bar.sync 1, %0;" ::"n"(DYN_THREADS) : "memory");
            x0 = *(volatile float *)&block.x0[t & 1];
        }
        DYN_MARK(t, 2);
        float gate = dyn_sigmoid(dm_fmaf(in.column_zr, x0, a)); /* z or r */
#if DYN_RESET_LAST
        float r = __shfl_xor_sync(DYN_FULL, gate, 16);
        float n = dyn_tanh(dm_fmaf(r, product, dm_fmaf(in.column_n, x0, in.base_n)));
        float h_new = dm_fmaf(gate, h_own - n, n);
#else
        send_units<DYN_C>(gate * h_own, 16, lane, reset_to, reset_barrier_to);
        if (DYN_HEAD_EACH && at.rank == 0 && warp == 0 && t > 0)
            head_store(head, args, at.out + t - 1, loss, lane); /* others' r * h is on its way */
        DYN_MARK(t, 3);
        wait_phase(at.reset_barrier, t & 1);
        DYN_MARK(t, 4);
        if (threadIdx.x == 0)
            expect_bytes(at.reset_barrier, DYN_P * 4);
#if DYN_N_SHARED
        float4 candidate_rows[4][DYN_QUADS];
        load_rows(candidate_rows, dyn_shared + warp * DYN_P, lane);
#endif
#pragma unroll
        for (int k = 0; k < DYN_QUADS; k++)
            v[k] = block.reset[k * 32 + lane];
        multiply<4>(candidate_rows, v, more);
        float n = dyn_tanh(dyn_sum4(more, lane) + dm_fmaf(in.column_n, x0, in.base_n));
        float h_new = dm_fmaf(gate, n - h_own, h_own);
#endif
        DYN_MARK(t, 5);
        const uint32_t next = DYN_RESET_LAST ? (t + 1) & 1 : 0;
        send_units<DYN_C>(h_new, 0, lane, h_to + next * DYN_P * 4,
                          h_barrier_to + 8 * next); /* with z */
#if DYN_RESET_LAST
        if (DYN_HEAD_EACH && at.rank == 0 && warp == 0 && t > 0)
            head_store(head, args, at.out + t - 1, loss, lane);
#endif
    }

    const uint32_t turn = DYN_RESET_LAST ? args.steps & 1 : 0;
    wait_phase(at.h_barrier + 8 * turn, ((args.steps - 1) / DYN_BUFFERS) & 1);
    if (warp == (DYN_HEAD_EACH ? 0 : DYN_WARPS) && at.rank == 0) {
        float4 v[DYN_QUADS];
#pragma unroll
        for (int k = 0; k < DYN_QUADS; k++)
            v[k] = block.h[turn][k * 32 + lane];
        head_begin(head, args, (const float *)block.h[turn], lane);
        head_store(head, args, at.out + args.steps - 1, head_end(head, v), lane);
    }
    cluster_end<DYN_THREADS>(args, at, block.h[turn]);
}

#endif
