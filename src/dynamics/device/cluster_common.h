/* SPDX-License-Identifier: MIT */
/* cluster_common.h - what kernel_cluster.h and kernel_cluster_stream.h share: how blocks of a cluster talk
 * (barriers that count bytes, stores into each other's shared memory), and how a rollout begins and ends.
 * CUDA, compute capability 9.0. */
#ifndef DM_DYNAMICS_CLUSTER_COMMON_H
#define DM_DYNAMICS_CLUSTER_COMMON_H

#include "dynamics/device/cuda_math.h"
#include "dynamics/device/rollout_args.h"

#if DM_HAS_CLUSTERS

DM_FN uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

DM_FN uint32_t remote_address(uint32_t address, uint32_t rank)
{
    uint32_t out;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(rank));
    return out;
}

DM_FN void cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

DM_FN void barrier_init(uint32_t barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

/* The phase ends when this was called and so many bytes have come. */
DM_FN void expect_bytes(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

DM_FN void wait_phase(uint32_t barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

/* One thread of a block: its `count` barriers from `h_barrier` on and `reset_barrier`, each of whose phases ends with
 * `bytes`. */
DM_FN void barriers_begin(uint32_t h_barrier, int count, uint32_t reset_barrier, uint32_t bytes)
{
    for (int i = 0; i < count; i++)
        barrier_init(h_barrier + 8 * i);
    barrier_init(reset_barrier);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int i = 0; i < count; i++)
        expect_bytes(h_barrier + 8 * i, bytes);
    expect_bytes(reset_barrier, bytes);
}

/* Four floats to another block's shared memory; counts 16 bytes at its barrier. */
DM_FN void send4(uint32_t address, uint32_t barrier, float a, float b, float c, float d)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, "
                 "%3, %4}, [%5];" ::"r"(address),
                 "f"(a), "f"(b), "f"(c), "f"(d), "r"(barrier)
                 : "memory");
}

/* Send the values of four units, which lanes 4 u + base hold, to every block. */
template <int BLOCKS>
DM_FN void send_units(float value, int base, int lane, uint32_t address, uint32_t barrier)
{
    float a = __shfl_sync(DYN_FULL, value, base), b = __shfl_sync(DYN_FULL, value, base + 4),
          c = __shfl_sync(DYN_FULL, value, base + 8), d = __shfl_sync(DYN_FULL, value, base + 12);
    if (lane < BLOCKS)
        send4(address, barrier, a, b, c, d);
}

/* ---- One rollout of one member on one cluster ---- */

/* The work of a thread of a cluster's block. */
struct cluster_place {
    const float *member, *features;
    const float4 *U;    /* rows and columns padded to P */
    uint64_t out;       /* of the first step, in the results */
    uint32_t rank, job; /* of the block in its cluster; of the cluster: rollout and member */
    uint32_t unit;      /* the warp's first hidden unit */
    uint32_t h_barrier, reset_barrier;
};

/* Finds the place, sets the block's barriers up and puts the first h into block.h[0]. Both kernels' blocks have h
 * [BUFFERS][P / 4], h_barrier[BUFFERS] and reset_barrier. `group`: the warp's place among those that multiply. */
template <int P, int C, int BUFFERS, int THREADS, typename Block>
DM_FN cluster_place cluster_begin(const dm_rollout_args &args, Block &block, uint32_t group)
{
    cluster_place at;
    at.rank = blockIdx.x % C;
    at.job = blockIdx.x / C;
    const uint32_t member = at.job % args.members, rollout = at.job / args.members;
    at.member = args.weights + member * args.stride;
    at.features = args.features + (uint64_t)rollout * args.input;
    at.U = (const float4 *)(args.packed + (uint64_t)member * 3 * P * P);
    at.out = (uint64_t)at.job * args.steps;
    at.unit = at.rank * (P / C) + group * 4;
    at.h_barrier = shared_address(block.h_barrier);
    at.reset_barrier = shared_address(&block.reset_barrier);
    if (threadIdx.x == 0)
        barriers_begin(at.h_barrier, BUFFERS, at.reset_barrier, P * 4);
    const uint64_t H = args.hidden;
    for (uint32_t i = threadIdx.x; i < P; i += THREADS)
        ((float *)block.h[0])[i] = args.h0 != 0 && i < H ? args.h0[at.job * H + i] : 0.0f;
    return at;
}

/* What a lane's unit gets from x: `base` from the biases and all features but 0, `column` times feature 0. Lanes 0-15
 * have z, 16-31 r of their unit; all have n. */
struct cluster_input {
    float base_zr, base_n, column_zr, column_n;
};

/* `in` holds W x without feature 0. Units that only fill up get nothing. */
DM_FN void input_finish(cluster_input &in, const dm_rollout_args &args, const float *member,
                        uint32_t own, int lane)
{
    const uint64_t H = args.hidden;
    in.column_zr = in.column_n = 0;
    if (own >= H) {
        in.base_zr = in.base_n = 0;
        return;
    }
    const uint64_t zr_row = (lane >> 4) * H + own;
    in.base_zr += member[args.at_b + zr_row];
    in.base_n += member[args.at_b + 2 * H + own];
    in.column_zr = member[args.at_w + zr_row * args.input];
    in.column_n = member[args.at_w + (2 * H + own) * args.input];
}

/* The last h is a result. No block leaves while another may still send to it. */
template <int THREADS>
DM_FN void cluster_end(const dm_rollout_args &args, const cluster_place &at, const float4 *h)
{
    if (at.rank == 0)
        for (uint32_t i = threadIdx.x; i < args.hidden; i += THREADS)
            args.last[(uint64_t)at.job * args.hidden + i] = ((const float *)h)[i];
    cluster_barrier();
}

/* Products with the hidden size stay below 2^26 here: 32 bits are enough. */
DM_FN uint32_t selected(const dm_rollout_args &args, uint32_t i)
{
    return i * args.hidden / args.stochastic;
}

#endif
#endif
