/* SPDX-License-Identifier: MIT */
/* random.h - a stream of random numbers for tests: one seed gives one stream for ever. */
#ifndef DM_TESTS_SUPPORT_RANDOM_H
#define DM_TESTS_SUPPORT_RANDOM_H

#include "base/philox.h"

typedef struct dm_test_random {
    uint64_t seed, stream, index;
    dm_philox4 words;
    unsigned left;
} dm_test_random;

static inline dm_test_random dm_test_random_make(uint64_t seed, uint64_t stream)
{
    return (dm_test_random){.seed = seed, .stream = stream};
}

static inline uint32_t dm_test_random_word(dm_test_random *random)
{
    if (random->left == 0) {
        random->words = dm_random4(random->seed, random->stream, random->index++);
        random->left = 4;
    }
    return random->words.v[--random->left];
}

/* 0 .. bound - 1 */
static inline uint32_t dm_test_random_below(dm_test_random *random, uint32_t bound)
{
    return dm_random_below(dm_test_random_word(random), bound);
}

/* True `percent` times in a hundred. */
static inline bool dm_test_random_chance(dm_test_random *random, uint32_t percent)
{
    return dm_test_random_below(random, 100) < percent;
}

static inline uint8_t dm_test_random_byte(dm_test_random *random)
{
    return (uint8_t)dm_test_random_word(random);
}

#endif
