/* SPDX-License-Identifier: MIT */
/* philox.h - Philox4x32-10, the counter-based random numbers of dotmatrix; kernel text.
 *
 * A number is a pure function of (key, counter), so a result depends on its seed, machine and step, and
 * not on the device, the thread or the order in which numbers are drawn. Algorithm and test vectors:
 * Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, and Random123's
 * known-answer tests. */
#ifndef DM_BASE_PHILOX_H
#define DM_BASE_PHILOX_H

#include "base/port.h"

typedef struct dm_philox4 {
    uint32_t v[4];
} dm_philox4;

DM_FN dm_philox4 dm_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                           uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    dm_philox4 out;
    out.v[0] = c0;
    out.v[1] = c1;
    out.v[2] = c2;
    out.v[3] = c3;
    return out;
}

/* The four words for (seed, stream, index): stream is usually a machine, index a step. */
DM_FN dm_philox4 dm_random4(uint64_t seed, uint64_t stream, uint64_t index)
{
    return dm_philox((uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                     (uint32_t)(stream >> 32), (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* Uniform in [0, 1): the top 24 bits. */
DM_FN float dm_random_unit(uint32_t word)
{
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in [0, bound), by multiplication: bias below bound / 2^32. */
DM_FN uint32_t dm_random_below(uint32_t word, uint32_t bound)
{
    return (uint32_t)(((uint64_t)word * bound) >> 32);
}

#endif
