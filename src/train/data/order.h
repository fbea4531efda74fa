/* SPDX-License-Identifier: MIT */
/* order.h - shuffling without a table: position i of an epoch is a pure function of (seed, epoch,
 * count, i), so that a run resumes at any position.
 *
 * A Feistel network over the smallest even number of bits that holds `count`, with Philox as its
 * round function, permutes a power of four. Results outside [0, count) are permuted again ("cycle
 * walking"), at most four times on average, which gives a permutation of [0, count). */
#ifndef DM_TRAIN_ORDER_H
#define DM_TRAIN_ORDER_H

#include "base/philox.h"

#define DM_ORDER_ROUNDS 6

/* index < count, count >= 1 */
static inline uint64_t dm_order_at(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t index)
{
    unsigned half = 1;
    while (half < 32 && (count - 1) >> (2 * half) != 0)
        half++;
    uint32_t mask = half == 32 ? UINT32_MAX : (UINT32_C(1) << half) - 1;
    do {
        uint32_t left = (uint32_t)(index >> half) & mask, right = (uint32_t)index & mask;
        for (uint32_t round = 0; round < DM_ORDER_ROUNDS; round++) {
            dm_philox4 f = dm_philox(right, round, (uint32_t)epoch, (uint32_t)(epoch >> 32),
                                     (uint32_t)seed, (uint32_t)(seed >> 32));
            uint32_t next = left ^ (f.v[0] & mask);
            left = right;
            right = next;
        }
        index = (uint64_t)left << half | right;
    } while (index >= count);
    return index;
}

#endif
