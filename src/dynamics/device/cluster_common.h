/* SPDX-License-Identifier: MIT */
/* cluster_common.h - how blocks of a cluster talk: barriers that count bytes, and stores into each
 * other's shared memory; CUDA, compute capability 9.0. */
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

/* The value that the lanes of four units hold (lane 4 u + base), to every block. */
template <int BLOCKS>
DM_FN void send_units(float value, int base, int lane, uint32_t address, uint32_t barrier)
{
    float a = __shfl_sync(DYN_FULL, value, base), b = __shfl_sync(DYN_FULL, value, base + 4),
          c = __shfl_sync(DYN_FULL, value, base + 8), d = __shfl_sync(DYN_FULL, value, base + 12);
    if (lane < BLOCKS)
        send4(address, barrier, a, b, c, d);
}

/* Products with the hidden size stay below 2^26 here: 32 bits are enough. */
DM_FN uint32_t selected(const dm_rollout_args &args, uint32_t i)
{
    return i * args.hidden / args.stochastic;
}

#endif
#endif
