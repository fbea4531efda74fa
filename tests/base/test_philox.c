/* SPDX-License-Identifier: MIT */
#include "base/philox.h"
#include "tests/support/test.h"

/* Random123's known answers for philox4x32, 10 rounds: counter, key, result. */
static void known_answers(void **state)
{
    (void)state;
    static const uint32_t rows[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t *r = rows[i];
        dm_philox4 got = dm_philox(r[0], r[1], r[2], r[3], r[4], r[5]);
        assert_memory_equal(got.v, r + 6, sizeof got.v);
    }
}

/* The index counts in the low words, the stream in the high ones, the seed is the key. Results on
 * disk depend on this order. */
static void random4_argument_order(void **state)
{
    (void)state;
    dm_philox4 got = dm_random4(UINT64_C(0x299f31d0a4093822), UINT64_C(0x0370734413198a2e),
                                UINT64_C(0x85a308d3243f6a88));
    static const uint32_t pi_row[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(got.v, pi_row, sizeof pi_row);
}

static void unit_stays_below_one(void **state)
{
    (void)state;
    assert_true(dm_random_unit(0) == 0.0f);
    assert_true(dm_random_unit(0xFFFFFFFFu) < 1.0f);
    assert_true(dm_random_unit(0xFFFFFFFFu) == 1.0f - 1.0f / 16777216.0f);
    assert_true(dm_random_unit(0x80000000u) == 0.5f);
    assert_true(dm_random_unit(0xFFu) == 0.0f); /* the low 8 bits do not count */
}

static void below_stays_below(void **state)
{
    (void)state;
    static const uint32_t bounds[] = {1, 2, 3, 7, 8, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        assert_int_equal(dm_random_below(0, bounds[i]), 0);
        assert_int_equal(dm_random_below(0xFFFFFFFFu, bounds[i]), bounds[i] - 1);
        for (uint32_t k = 0; k < 1000; k++)
            assert_true(dm_random_below(dm_random4(1, 2, k).v[k % 4], bounds[i]) < bounds[i]);
    }
    assert_int_equal(dm_random_below(0xFFFFFFFFu, 0), 0);
}

/* 60,000 throws of a die: each face within five standard deviations (91) of 10,000. */
static void below_is_even(void **state)
{
    (void)state;
    int faces[6] = {0};
    for (uint64_t k = 0; k < 15000; k++) {
        dm_philox4 r = dm_random4(42, 7, k);
        for (int j = 0; j < 4; j++)
            faces[dm_random_below(r.v[j], 6)]++;
    }
    for (int f = 0; f < 6; f++)
        assert_in_range(faces[f], 10000 - 455, 10000 + 455);
}

DM_TESTS("base/philox", DM_TEST(known_answers), DM_TEST(random4_argument_order),
         DM_TEST(unit_stays_below_one), DM_TEST(below_stays_below), DM_TEST(below_is_even))
