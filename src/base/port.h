/* SPDX-License-Identifier: MIT */
/* port.h - the only file that knows whether kernel text is being compiled as C or as CUDA.
 *
 * Kernel text (everything in the registry of src/device/kernels.c) is written in the common subset
 * of C17 and CUDA C++: no designated array initialisers with gaps, no implicit conversion from
 * `void *`, no libc. It includes this header first and uses only what is defined here:
 *
 *   DM_FN          a function that both the host and the device may call; always inline-able
 *   DM_TABLE       a read-only table at file scope (constant memory on the device)
 *   DM_RESTRICT    restrict
 *   DM_NOINLINE    after DM_FN: keep a slow path out of line
 *   DM_LIKELY/DM_UNLIKELY
 *   DM_STATIC_ASSERT(condition, "text")
 *   DM_KERNEL(name, args_type)   the head of a kernel that takes one argument block by value
 *   dm_thread_index()            this thread's index in the grid; only inside a kernel
 *   dm_thread_count()            threads in the whole grid
 *   dm_atomic_add_u32/_u64/_f32, dm_atomic_max_u32, dm_atomic_cas_u32 ...  return the old value
 *
 * A kernel:
 *
 *     typedef struct saxpy_args { uint64_t n; float a; const float *x; float *y; } saxpy_args;
 *     DM_KERNEL(saxpy, saxpy_args)
 *     {
 *         for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
 *             args.y[i] = args.a * args.x[i] + args.y[i];
 *     }
 *
 * On the CPU the kernel is a plain function called once per thread index of its grid; the launch
 * spreads the indices over the thread pool, so a grid-stride loop works unchanged. */
#ifndef DM_BASE_PORT_H
#define DM_BASE_PORT_H

#if defined(__CUDACC_RTC__)
/* NVRTC has no standard headers. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
typedef unsigned long long size_t;
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
#define DM_RESTRICT restrict
#define DM_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define DM_LIKELY(x) __builtin_expect(!!(x), 1)
#define DM_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
