/* SPDX-License-Identifier: MIT */
/* selftest_kernels.h - small kernels that show whether a device computes what the CPU does; kernel
 * text.
 *
 * saxpy tests floats (one explicit fma per element), the Philox fill 32x32 -> 64 bit products and
 * stores, the hash chain long integer dependencies, atomics and the bit helpers of the port header.
 * The empty kernel is for measuring launches. */
#ifndef DM_DEVICE_SELFTEST_KERNELS_H
#define DM_DEVICE_SELFTEST_KERNELS_H

#include "base/philox.h"
#include "base/port.h"

typedef struct dm_selftest_saxpy_args {
    uint64_t n;
    const float *x;
    float *y;
    float a;
    uint32_t unused;
} dm_selftest_saxpy_args;

/* y = a * x + y */
DM_KERNEL(dm_selftest_saxpy, dm_selftest_saxpy_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())
        args.y[i] = dm_fmaf(args.a, args.x[i], args.y[i]);
}

typedef struct dm_selftest_philox_args {
    uint64_t n; /* words */
    uint64_t seed;
    uint32_t *out;
} dm_selftest_philox_args;

/* out[4k + j] = word j of the draw (seed, stream 1, index k) */
DM_KERNEL(dm_selftest_philox, dm_selftest_philox_args)
{
    for (uint64_t k = dm_thread_index(); k * 4 < args.n; k += dm_thread_count()) {
        dm_philox4 draw = dm_random4(args.seed, 1, k);
        for (uint64_t j = 0; j < 4 && k * 4 + j < args.n; j++)
            args.out[k * 4 + j] = draw.v[j];
    }
}

#define DM_SELFTEST_BINS 64u

typedef struct dm_selftest_hash_args {
    uint64_t n;
    const uint32_t *in;
    uint32_t *out;
    uint32_t *bins;   /* DM_SELFTEST_BINS counts of the hashes */
    uint32_t *minmax; /* smallest, largest, xor, or, and */
    uint64_t *sum;
    uint32_t rounds;
    uint32_t unused;
} dm_selftest_hash_args;

DM_FN uint32_t dm_selftest_hash_round(uint32_t h, uint32_t salt)
{
    h ^= salt * 0x9E3779B1u;
    h = dm_rotl_u32(h * 0x85EBCA6Bu, 13 + (salt & 7u));
    h ^= dm_byte_perm(h, salt, 0x0246u + (h & 0x1111u));
    h += dm_popcount_u32(h) + 33u * dm_clz_u32(h) + 65u * dm_ffs_u32(h);
    return h ^ dm_mulhi_u32(h, 0xC2B2AE35u);
}

DM_KERNEL(dm_selftest_hash, dm_selftest_hash_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count()) {
        uint32_t h = args.in[i];
        for (uint32_t r = 0; r < args.rounds; r++)
            h = dm_selftest_hash_round(h, r + (uint32_t)i);
        args.out[i] = h;
        dm_atomic_add_u32(&args.bins[h % DM_SELFTEST_BINS], 1);
        dm_atomic_min_u32(&args.minmax[0], h);
        dm_atomic_max_u32(&args.minmax[1], h);
        dm_atomic_xor_u32(&args.minmax[2], h);
        dm_atomic_or_u32(&args.minmax[3], h);
        dm_atomic_and_u32(&args.minmax[4], h);
        dm_atomic_add_u64(args.sum, h);
    }
}

typedef struct dm_selftest_empty_args {
    uint64_t unused;
} dm_selftest_empty_args;

DM_KERNEL(dm_selftest_empty, dm_selftest_empty_args)
{
    (void)args;
    (void)dm_thread_index();
}

#endif
