/* SPDX-License-Identifier: MIT */
/* port.h - the only file that knows whether kernel text is being compiled as C or as CUDA.
 *
 * Kernel text (what src/device/kernels.def lists, and the swarm's kernels) is written in the common subset
 * of C17 and CUDA C++: no designated array initialisers with gaps, no implicit conversion from
 * `void *`, no libc. It includes this header first and uses only what is defined here:
 *
 *   DM_FN          a function that both the host and the device may call; always inline-able
 *   DM_TABLE       a read-only table at file scope (constant memory on the device)
 *   DM_FN_SLOW     as DM_FN, but kept out of line: for slow paths
 *   DM_RESTRICT    restrict
 *   DM_LIKELY/DM_UNLIKELY, DM_NO_UNROLL
 *   DM_STATIC_ASSERT(condition, "text")
 *   DM_KERNEL(name, args_type)   the head of a kernel that takes one argument block by value
 *   DM_KERNEL_BOUNDS(name, args_type, block_threads, min_blocks)   with a promise about the launch
 *   dm_thread_index()            this thread's index in the grid; only inside a kernel
 *   dm_thread_count()            threads in the whole grid; likewise
 *   dm_any, dm_all, dm_ballot, dm_from_lane        the warp: 32 lanes on CUDA, one on the CPU
 *   dm_lane, DM_LANES                              the number of this lane; lanes of a warp
 *   dm_warp_sync, dm_warp_copy                     lanes see each other's stores; copy together
 *   dm_warp_vote, dm_warp_converge                 a vote of some lanes; lanes execute together again
 *   dm_block_sync, dm_block_count, DM_SHARED, DM_BLOCK_THREAD, dm_shared_*, dm_global_*
 *                                the block, in kernel text for many lanes (DM_MANY_LANES)
 *   DM_PHASE_EACH, DM_PHASE_SHARED, DM_PHASE_OWN   a block in phases, in kernel text for both devices
 *   dm_atomic_<add|min|max|cas|exch|and|or|xor>_u32, dm_atomic_<add|cas|max>_u64,
 *   dm_atomic_add_f32            relaxed; return the old value
 *   dm_load_u64, dm_store_u64, dm_bswap_u64      eight bytes at any address
 *   dm_store_u32x4                               sixteen, from a multiple of sixteen on
 *   dm_byte_perm, dm_byte_pick, dm_popcount_u32, dm_ffs_u32, dm_clz_u32, dm_reverse_u32,
 *   dm_mulhi_u32, dm_rotl_u32, dm_funnel_u32, dm_choose_u32, dm_element, dm_fmaf, dm_mul_add, dm_f32_bits,
 *   dm_bits_f32
 *                                one instruction each where the machine has it
 *
 * A kernel:
 *
 *     typedef struct saxpy_args { uint64_t n; float a; const float *x; float *y; } saxpy_args;
 *     DM_KERNEL(saxpy, saxpy_args)
 *     {
 *         for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
 *             args.y[i] = dm_fmaf(args.a, args.x[i], args.y[i]);
 *     }
 *
 * On the CPU this becomes an inlined body for one thread index and an exported loop over a range of
 * indices, `void saxpy(const void *args, uint64_t first, uint64_t last, uint64_t count)`; the
 * launch spreads ranges over the thread pool, so a grid-stride loop works unchanged and an index
 * costs no call. Ordinary C files may include kernel text too and call its functions and loops
 * directly.
 *
 * Floats: `a * b + c` is never contracted to a fused multiply-add (-ffp-contract=off, -fmad=false);
 * write dm_fmaf where a fused one is meant. Then + - * / and fmaf give the same bits on both. */
#ifndef DM_BASE_PORT_H
#define DM_BASE_PORT_H

#if defined(__CUDACC_RTC__)
/* NVRTC has no standard headers, but knows size_t. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#else
#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif
#endif

#if defined(__CUDACC__)
#define DM_ON_CUDA 1
#define DM_FN static __device__ __forceinline__
#define DM_FN_SLOW static __device__ __noinline__
#define DM_TABLE static __constant__ const
#define DM_RESTRICT __restrict__
#define DM_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define DM_ON_CUDA 0
#define DM_FN static inline __attribute__((always_inline, unused))
#define DM_FN_SLOW static __attribute__((noinline, unused))
#define DM_TABLE static const
#ifdef __cplusplus
#define DM_RESTRICT __restrict__
#define DM_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define DM_RESTRICT restrict
#define DM_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#endif

/* Before a short loop: keep one copy of its body on CUDA, where code size and divergence cost more
 * than the loop. The CPU's compiler sees constant bounds and unrolls as it likes. */
#if DM_ON_CUDA
#define DM_NO_UNROLL _Pragma("unroll 1")
#else
#define DM_NO_UNROLL
#endif

/* DM_MANY_LANES: threads come in warps and blocks. So on a GPU, and on the host in tests that run a block of lanes
 * there (DM_HOST_BLOCK, block_host.h). */
#ifndef DM_HOST_BLOCK
#define DM_HOST_BLOCK 0
#endif
#define DM_MANY_LANES (DM_ON_CUDA || DM_HOST_BLOCK)
/* Headers that are not kernel text can be included. */
#define DM_HAS_HEADERS (!DM_ON_CUDA)
#if DM_HOST_BLOCK
#include "base/block_host.h"
#endif

/* Blocks of a cluster share their memory: compute capability 9.0. */
#if DM_ON_CUDA && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#define DM_HAS_CLUSTERS 1
#else
#define DM_HAS_CLUSTERS 0
#endif

#define DM_LIKELY(x) __builtin_expect(!!(x), 1)
#define DM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- Kernels ---- */

#if DM_ON_CUDA

#if __CUDACC_VER_MAJOR__ >= 12
/* The block stays in constant memory even when its address is taken. */
#define DM_GRID_CONSTANT __grid_constant__
#else
#define DM_GRID_CONSTANT
#endif
#define DM_KERNEL(name, args_type)                                                                 \
    extern "C" __global__ void name(const DM_GRID_CONSTANT args_type args)
/* The same with a promise about the block size, which gives the compiler more registers. */
#define DM_KERNEL_BOUNDS(name, args_type, block_threads, min_blocks)                               \
    extern "C" __global__ void __launch_bounds__(block_threads, min_blocks)                        \
        name(const DM_GRID_CONSTANT args_type args)
#define dm_thread_index() ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define dm_thread_count() ((uint64_t)gridDim.x * blockDim.x)

#elif DM_HOST_BLOCK

/* A kernel is static here: the library has it too. Tests put it into a table (tests/swarm/block_modes.h). */
#define DM_KERNEL(name, args_type) DM_KERNEL_BOUNDS(name, args_type, 32u, 1)
#define DM_KERNEL_BOUNDS(name, args_type, block_threads, min_blocks)                               \
    static void name##_thread(const args_type args);                                               \
    static void name##_enter(const void *args)                                                     \
    {                                                                                              \
        name##_thread(*(const args_type *)args);                                                   \
    }                                                                                              \
    static __attribute__((unused)) void name(const void *block, uint64_t first, uint64_t last,     \
                                             uint64_t count)                                       \
    {                                                                                              \
        args_type args;                                                                            \
        __builtin_memcpy(&args, block, sizeof args);                                               \
        dm_host_run(name##_enter, &args, block_threads, first, last, count);                       \
    }                                                                                              \
    static void name##_thread(const args_type args)
#define dm_thread_index() (dm_host_block.first + dm_host_block.current)
#define dm_thread_count() (dm_host_block.total)

#else

/* A module compiled at run time shows its kernels to dlsym; inside the library they stay hidden. */
#ifdef DM_MODULE_BUILD
#define DM_KERNEL_EXPORT __attribute__((visibility("default")))
#else
#define DM_KERNEL_EXPORT
#endif
#define DM_KERNEL(name, args_type)                                                                 \
    static inline __attribute__((always_inline)) void name##_thread(                               \
        const args_type args, const uint64_t dm_thread_index_, const uint64_t dm_thread_count_);   \
    DM_KERNEL_EXPORT extern const uint64_t name##_args_size;                                       \
    const uint64_t name##_args_size = sizeof(args_type);                                           \
    DM_KERNEL_EXPORT void name(const void *block, uint64_t first, uint64_t last, uint64_t count);  \
    void name(const void *block, uint64_t first, uint64_t last, uint64_t count)                    \
    {                                                                                              \
        args_type args;                                                                            \
        __builtin_memcpy(&args, block, sizeof args);                                               \
        for (uint64_t index = first; index < last; index++)                                        \
            name##_thread(args, index, count);                                                     \
    }                                                                                              \
    static inline void name##_thread(const args_type args, const uint64_t dm_thread_index_,        \
                                     const uint64_t dm_thread_count_)
#define DM_KERNEL_BOUNDS(name, args_type, block_threads, min_blocks) DM_KERNEL(name, args_type)
#define dm_thread_index() ((void)dm_thread_count_, dm_thread_index_)
#define dm_thread_count() ((void)dm_thread_index_, dm_thread_count_)

#endif

/* ---- The warp ----
 * Every lane that has not left the kernel must reach these together. */

#if DM_ON_CUDA
#define DM_LANES 32
DM_FN uint32_t dm_lane(void)
{
    uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
DM_FN bool dm_any(bool value)
{
    return __any_sync(0xffffffffu, value) != 0;
}
DM_FN bool dm_all(bool value)
{
    return __all_sync(0xffffffffu, value) != 0;
}
/* Bit n is lane n's value; bits of missing lanes are 0. */
DM_FN uint32_t dm_ballot(bool value)
{
    return __ballot_sync(0xffffffffu, value);
}
/* The value of lane `lane`, for every lane. */
DM_FN uint32_t dm_from_lane(uint32_t value, uint32_t lane)
{
    return __shfl_sync(0xffffffffu, value, (int)lane);
}
/* What lanes stored before, all of them see after. */
DM_FN void dm_warp_sync(void)
{
    __syncwarp();
}
/* Copy with all lanes; both ends and the size are multiples of 8. Sync before reading it. */
DM_FN void dm_warp_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
    uint64_t *out = (uint64_t *)to;
    const uint64_t *in = (const uint64_t *)from;
    for (uint64_t i = dm_lane(); i < size / 8; i += DM_LANES)
        out[i] = in[i];
}
/* The lanes of `mask` whose value is true; all lanes of `mask` must call this. */
DM_FN uint32_t dm_warp_vote(uint32_t mask, bool value)
{
    return __ballot_sync(mask, value);
}
/* The lanes of `mask` execute together again where they can; no data passes. */
DM_FN void dm_warp_converge(uint32_t mask)
{
    __syncwarp(mask);
}
#elif DM_HOST_BLOCK
#define DM_LANES 32
DM_FN uint32_t dm_lane(void)
{
    return dm_host_block.current % 32u;
}
DM_FN uint32_t dm_warp_vote(uint32_t mask, bool value)
{
    return dm_host_meet(DM_HOST_IN_WARP, mask, value ? 1u : 0u, 0)->votes;
}
DM_FN uint32_t dm_ballot(bool value)
{
    return dm_warp_vote(0xFFFFFFFFu, value);
}
DM_FN bool dm_any(bool value)
{
    return dm_ballot(value) != 0;
}
DM_FN bool dm_all(bool value)
{
    return dm_ballot(!value) == 0;
}
DM_FN uint32_t dm_from_lane(uint32_t value, uint32_t lane)
{
    return dm_host_meet(DM_HOST_IN_WARP, 0xFFFFFFFFu, value, lane)->answer;
}
DM_FN void dm_warp_sync(void)
{
    dm_ballot(false);
}
DM_FN void dm_warp_converge(uint32_t mask)
{
    (void)mask;
}
DM_FN void dm_warp_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
    for (uint64_t i = dm_lane(); i < size / 8u; i += DM_LANES)
        __builtin_memcpy(to + 8u * i, from + 8u * i, 8u);
}
#else
#define DM_LANES 1
DM_FN uint32_t dm_lane(void)
{
    return 0;
}
DM_FN bool dm_any(bool value)
{
    return value;
}
DM_FN bool dm_all(bool value)
{
    return value;
}
DM_FN uint32_t dm_ballot(bool value)
{
    return value ? 1u : 0u;
}
DM_FN uint32_t dm_from_lane(uint32_t value, uint32_t lane)
{
    (void)lane;
    return value;
}
DM_FN void dm_warp_sync(void)
{
}
DM_FN void dm_warp_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
    __builtin_memcpy(to, from, size);
}
#endif

/* ---- The block and its shared memory ----
 * All threads of the block must reach these together. Kernel text that uses them is for many lanes. */

#if DM_ON_CUDA
#define DM_SHARED __shared__
#define DM_BLOCK_THREAD threadIdx.x
#define DM_BLOCK_THREADS blockDim.x
DM_FN void dm_block_sync(void)
{
    __syncthreads();
}
/* The number of threads with a true value. */
DM_FN int dm_block_count(bool value)
{
    return __syncthreads_count(value);
}
/* Addresses in shared memory are of 32 bits. */
DM_FN uint32_t dm_shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}
DM_FN uint32_t dm_shared_load_u32(uint32_t address)
{
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
    return value;
}
DM_FN uint64_t dm_shared_load_u64(uint32_t address)
{
    uint64_t value;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(address));
    return value;
}
DM_FN void dm_shared_store_u32(uint32_t address, uint32_t value)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value));
}
DM_FN void dm_shared_store_u64(uint32_t address, uint64_t value)
{
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(value));
}
/* A load from a table that does not change any more, so the compiler may move it. */
DM_FN uint32_t dm_shared_table_u32(uint32_t address)
{
    uint32_t value;
    asm("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
    return value;
}
/* Four words at once, from `address` + `offset`; `offset` is a constant. */
#define DM_SHARED_TABLE_U32X4(w0, w1, w2, w3, address, offset)                                     \
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4+%5];"                                              \
        : "=r"(w0), "=r"(w1), "=r"(w2), "=r"(w3)                                                   \
        : "r"(address), "n"(offset))
/* Bytes of global memory: a known address space lets the compiler avoid generic loads. */
DM_FN uint32_t dm_global_load_u8(const uint8_t *at)
{
    uint32_t value;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
/* The byte there if `wanted`, else 0; without a branch. */
DM_FN uint32_t dm_global_load_u8_if(bool wanted, const uint8_t *at)
{
    uint32_t value = 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.u8 %0, [%2]; }"
                 : "+r"(value)
                 : "r"((uint32_t)wanted), "l"(at));
    return value;
}
DM_FN void dm_global_store_u8_if(bool wanted, const uint8_t *at, uint32_t value)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.u8 [%1], %2; }" ::"r"((uint32_t)wanted),
        "l"(at), "r"(value)
        : "memory");
}
/* A word that no kernel writes. */
DM_FN uint32_t dm_global_constant_u32(const uint8_t *at)
{
    uint32_t word;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
}
typedef uint4 dm_u32x4;
#define DM_U32X4_ALIGNMENT 16u
#elif DM_HOST_BLOCK
#define DM_SHARED
#define DM_BLOCK_THREAD (dm_host_block.current)
#define DM_BLOCK_THREADS (dm_host_block.count)
DM_FN void dm_block_sync(void)
{
    dm_host_meet(DM_HOST_IN_BLOCK, 0, 0, 0);
}
DM_FN int dm_block_count(bool value)
{
    return (int)dm_host_meet(DM_HOST_IN_BLOCK, 0, value ? 1u : 0u, 0)->votes;
}
/* An address of 32 bits is a distance from a static object, since a program's static objects lie near each other.
 * The asm hides that object: else the compiler would take every access by such an address for one to it. */
DM_FN uint32_t dm_shared_address(const void *shared)
{
    __asm__ volatile("" : "+r"(shared) : : "memory");
    return (uint32_t)((uintptr_t)shared - (uintptr_t)&dm_host_block);
}
DM_FN void *dm_host_shared(uint32_t address)
{
    uintptr_t at = (uintptr_t)&dm_host_block + (uintptr_t)(intptr_t)(int32_t)address;
    __asm__("" : "+r"(at));
    return (void *)at;
}
DM_FN uint32_t dm_shared_load_u32(uint32_t address)
{
    return *(const uint32_t *)dm_host_shared(address);
}
DM_FN uint64_t dm_shared_load_u64(uint32_t address)
{
    return *(const uint64_t *)dm_host_shared(address);
}
DM_FN void dm_shared_store_u32(uint32_t address, uint32_t value)
{
    *(uint32_t *)dm_host_shared(address) = value;
}
DM_FN void dm_shared_store_u64(uint32_t address, uint64_t value)
{
    *(uint64_t *)dm_host_shared(address) = value;
}
DM_FN uint32_t dm_shared_table_u32(uint32_t address)
{
    return dm_shared_load_u32(address);
}
#define DM_SHARED_TABLE_U32X4(w0, w1, w2, w3, address, offset)                                     \
    do {                                                                                           \
        const uint32_t *words_ = (const uint32_t *)dm_host_shared((address) + (uint32_t)(offset)); \
        w0 = words_[0];                                                                            \
        w1 = words_[1];                                                                            \
        w2 = words_[2];                                                                            \
        w3 = words_[3];                                                                            \
    } while (0)
DM_FN uint32_t dm_global_load_u8(const uint8_t *at)
{
    return *at;
}
DM_FN uint32_t dm_global_load_u8_if(bool wanted, const uint8_t *at)
{
    return wanted ? *at : 0u;
}
DM_FN void dm_global_store_u8_if(bool wanted, const uint8_t *at, uint32_t value)
{
    if (wanted)
        *(uint8_t *)(uintptr_t)at = (uint8_t)value;
}
DM_FN uint32_t dm_global_constant_u32(const uint8_t *at)
{
    return *(const uint32_t *)(const void *)at;
}
#define DM_U32X4_ALIGNMENT 4u
typedef struct dm_u32x4 {
    uint32_t x, y, z, w;
} dm_u32x4;
#endif

/* ---- A block in phases ----
 * For kernel text that a CPU executes too: what the threads of a block do between two barriers is the body of
 * DM_PHASE_EACH. On a CPU the first index of a block executes each body for all threads, one after the other.
 *
 *     if (!DM_PHASE_LEADS(threads)) return;
 *     DM_PHASE_SHARED float tile[64];
 *     float own[DM_PHASE_OWNERS(threads)];       what a thread keeps from one phase to the next: own[DM_PHASE_OWN(id)]
 *     DM_PHASE_EACH(id, threads) { ... }
 *     DM_PHASE_SYNC(); */

#if DM_MANY_LANES
#define DM_PHASE_LEADS(threads) true
#define DM_PHASE_SHARED DM_SHARED
#define DM_PHASE_OWNERS(threads) 1
#define DM_PHASE_OWN(id) 0
#define DM_PHASE_EACH(id, threads)                                                                 \
    for (uint32_t id = DM_BLOCK_THREAD, once_##id = 1; once_##id != 0; once_##id = 0)
#define DM_PHASE_SYNC() dm_block_sync()
#else
#define DM_PHASE_LEADS(threads) (dm_thread_index() % (threads) == 0)
#define DM_PHASE_SHARED
#define DM_PHASE_OWNERS(threads) (threads)
#define DM_PHASE_OWN(id) (id)
#define DM_PHASE_EACH(id, threads) for (uint32_t id = 0; id < (threads); id++)
#define DM_PHASE_SYNC() (void)0
#endif

/* ---- Atomics ---- */

#if DM_ON_CUDA
#define DM_ATOMIC_(name, type, native, call)                                                       \
    DM_FN type dm_atomic_##name(type *address, type value)                                         \
    {                                                                                              \
        return (type)call((native *)address, (native)value);                                       \
    }
DM_ATOMIC_(add_u32, uint32_t, unsigned int, atomicAdd)
DM_ATOMIC_(min_u32, uint32_t, unsigned int, atomicMin)
DM_ATOMIC_(max_u32, uint32_t, unsigned int, atomicMax)
DM_ATOMIC_(exch_u32, uint32_t, unsigned int, atomicExch)
DM_ATOMIC_(and_u32, uint32_t, unsigned int, atomicAnd)
DM_ATOMIC_(or_u32, uint32_t, unsigned int, atomicOr)
DM_ATOMIC_(xor_u32, uint32_t, unsigned int, atomicXor)
DM_ATOMIC_(add_u64, uint64_t, unsigned long long, atomicAdd)
DM_ATOMIC_(max_u64, uint64_t, unsigned long long, atomicMax)
DM_ATOMIC_(add_f32, float, float, atomicAdd)
#undef DM_ATOMIC_
DM_FN uint32_t dm_atomic_cas_u32(uint32_t *address, uint32_t expected, uint32_t value)
{
    return atomicCAS(address, expected, value);
}
DM_FN uint64_t dm_atomic_cas_u64(uint64_t *address, uint64_t expected, uint64_t value)
{
    return (uint64_t)atomicCAS((unsigned long long *)address, (unsigned long long)expected,
                               (unsigned long long)value);
}
#else
#define DM_ATOMIC_(name, type, call)                                                               \
    DM_FN type dm_atomic_##name(type *address, type value)                                         \
    {                                                                                              \
        return call(address, value, __ATOMIC_RELAXED);                                             \
    }
DM_ATOMIC_(add_u32, uint32_t, __atomic_fetch_add)
DM_ATOMIC_(exch_u32, uint32_t, __atomic_exchange_n)
DM_ATOMIC_(and_u32, uint32_t, __atomic_fetch_and)
DM_ATOMIC_(or_u32, uint32_t, __atomic_fetch_or)
DM_ATOMIC_(xor_u32, uint32_t, __atomic_fetch_xor)
DM_ATOMIC_(add_u64, uint64_t, __atomic_fetch_add)
#undef DM_ATOMIC_
/* `old` is reloaded by each failed exchange. */
#define DM_ATOMIC_LOOP_(name, type, keep, result)                                                  \
    DM_FN type dm_atomic_##name(type *address, type value)                                         \
    {                                                                                              \
        type old = __atomic_load_n(address, __ATOMIC_RELAXED);                                     \
        while (!(keep) && !__atomic_compare_exchange_n(address, &old, result, 1, __ATOMIC_RELAXED, \
                                                       __ATOMIC_RELAXED)) {                        \
        }                                                                                          \
        return old;                                                                                \
    }
DM_ATOMIC_LOOP_(min_u32, uint32_t, old <= value, value)
DM_ATOMIC_LOOP_(max_u32, uint32_t, old >= value, value)
DM_ATOMIC_LOOP_(max_u64, uint64_t, old >= value, value)
#undef DM_ATOMIC_LOOP_
DM_FN uint32_t dm_atomic_cas_u32(uint32_t *address, uint32_t expected, uint32_t value)
{
    __atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
DM_FN uint64_t dm_atomic_cas_u64(uint64_t *address, uint64_t expected, uint64_t value)
{
    __atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
#endif

/* ---- Bits ---- */

DM_FN uint32_t dm_f32_bits(float value)
{
#if DM_ON_CUDA
    return __float_as_uint(value);
#else
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}

DM_FN float dm_bits_f32(uint32_t bits)
{
#if DM_ON_CUDA
    return __uint_as_float(bits);
#else
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

#if !DM_ON_CUDA
DM_FN float dm_atomic_add_f32(float *address, float value)
{
    uint32_t *word = (uint32_t *)(void *)address;
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, dm_f32_bits(dm_bits_f32(old) + value), 1,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return dm_bits_f32(old);
}
#endif

/* Four bytes picked out of the eight of (y, x), x the low word: nibble n of `selector` (its low
 * three bits) says which byte becomes byte n. */
DM_FN uint32_t dm_byte_perm(uint32_t x, uint32_t y, uint32_t selector)
{
#if DM_ON_CUDA
    return __byte_perm(x, y, selector);
#else
    uint64_t both = ((uint64_t)y << 32) | x;
    uint32_t b0 = (uint32_t)(both >> ((selector & 7u) * 8)) & 0xFFu;
    uint32_t b1 = (uint32_t)(both >> (((selector >> 4) & 7u) * 8)) & 0xFFu;
    uint32_t b2 = (uint32_t)(both >> (((selector >> 8) & 7u) * 8)) & 0xFFu;
    uint32_t b3 = (uint32_t)(both >> (((selector >> 12) & 7u) * 8)) & 0xFFu;
    return b0 | (b1 << 8) | (b2 << 16) | (b3 << 24);
#endif
}

/* The same in one instruction on a GPU: bits of `selector` from 16 up are ignored, and a nibble
 * with 8 added picks the byte's sign eight times. */
DM_FN uint32_t dm_byte_pick(uint32_t x, uint32_t y, uint32_t selector)
{
#if DM_ON_CUDA
    uint32_t picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(selector));
    return picked;
#else
    uint32_t picked = dm_byte_perm(x, y, selector);
    for (uint32_t i = 0; i < 4u; i++)
        if ((selector >> (4u * i) & 8u) != 0)
            picked = (picked & ~(0xFFu << 8u * i)) |
                     ((picked >> (8u * i + 7u) & 1u) != 0 ? 0xFFu << 8u * i : 0u);
    return picked;
#endif
}

/* Eight bytes at any address, the lowest first. */
DM_FN uint64_t dm_load_u64(const uint8_t *at)
{
#if DM_ON_CUDA
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
#else
    uint64_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
#endif
}

DM_FN void dm_store_u64(uint8_t *at, uint64_t value)
{
#if DM_ON_CUDA
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
#else
    __builtin_memcpy(at, &value, sizeof value);
#endif
}

/* Sixteen bytes at once, the first word's first; `at` is a multiple of 16 on CUDA. */
DM_FN void dm_store_u32x4(uint8_t *at, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
#if DM_ON_CUDA
    *(uint4 *)at = make_uint4(w0, w1, w2, w3);
#else
    const uint32_t words[4] = {w0, w1, w2, w3};
    __builtin_memcpy(at, words, sizeof words);
#endif
}

/* The bytes in reverse order. */
DM_FN uint64_t dm_bswap_u64(uint64_t value)
{
#if DM_ON_CUDA
    uint32_t low = __byte_perm((uint32_t)value, 0, 0x0123),
             high = __byte_perm((uint32_t)(value >> 32), 0, 0x0123);
    return ((uint64_t)low << 32) | high;
#else
    return __builtin_bswap64(value);
#endif
}

DM_FN uint32_t dm_popcount_u32(uint32_t x)
{
#if DM_ON_CUDA
    return (uint32_t)__popc(x);
#else
    return (uint32_t)__builtin_popcount(x);
#endif
}

/* 1 + the number of the lowest set bit; 0 for 0. */
DM_FN uint32_t dm_ffs_u32(uint32_t x)
{
#if DM_ON_CUDA
    return (uint32_t)__ffs((int)x);
#else
    return (uint32_t)__builtin_ffs((int)x);
#endif
}

/* Bit 0 becomes bit 31. */
DM_FN uint32_t dm_reverse_u32(uint32_t x)
{
#if DM_ON_CUDA
    return __brev(x);
#else
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(x);
#endif
}

/* Leading zeros; 32 for 0. */
DM_FN uint32_t dm_clz_u32(uint32_t x)
{
#if DM_ON_CUDA
    return (uint32_t)__clz((int)x);
#else
    return x == 0 ? 32u : (uint32_t)__builtin_clz(x);
#endif
}

DM_FN uint32_t dm_mulhi_u32(uint32_t x, uint32_t y)
{
    return (uint32_t)(((uint64_t)x * y) >> 32);
}

DM_FN uint32_t dm_rotl_u32(uint32_t x, uint32_t n)
{
    return (x << (n & 31u)) | (x >> ((32u - n) & 31u));
}

/* `high` moved left by n, 0..31, with the upper bits of `low` behind it. */
DM_FN uint32_t dm_funnel_u32(uint32_t high, uint32_t low, uint32_t n)
{
#if DM_ON_CUDA
    return __funnelshift_l(low, high, n);
#else
    return (uint32_t)((((uint64_t)high << 32 | low) << (n & 31u)) >> 32);
#endif
}

/* Bit by bit: `yes` where `which` is set, else `no`. */
DM_FN uint32_t dm_choose_u32(uint32_t which, uint32_t yes, uint32_t no)
{
#if DM_ON_CUDA
    uint32_t chosen; /* the compiler takes two where `which` is constant */
    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(chosen) : "r"(which), "r"(yes), "r"(no));
    return chosen;
#else
    return (yes & which) | (no & ~which);
#endif
}

/* Where the element of this number lies, if all are of `size` bytes. */
DM_FN const void *dm_element(const void *first, uint32_t number, uint32_t size)
{
#if DM_ON_CUDA
    const void *at; /* the compiler would add up offsets first, and then in 64 bits */
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(number), "r"(size), "l"(first));
    return at;
#else
    return (const uint8_t *)first + (uint64_t)number * size;
#endif
}

/* a * b + c, rounded once. */
DM_FN float dm_fmaf(float a, float b, float c)
{
#if DM_ON_CUDA
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/* a * b + c, rounded as is cheapest: once on a GPU, twice on a CPU, where dm_fmaf may be a call. */
DM_FN float dm_mul_add(float a, float b, float c)
{
#if DM_ON_CUDA
    return dm_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

#endif
