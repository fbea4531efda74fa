/* SPDX-License-Identifier: MIT */
/* test_choice.c - the choice of kernels by size, against what was measured. */
#include "tests/support/test.h"

#include "dynamics/device/choice.h"

#define KB 1024u

static const dm_dyn_gpu h200 = {132, 227 * KB, 50 * KB *KB, true, true};
static const dm_dyn_gpu a100 = {108, 163 * KB, 40 * KB *KB, false, true};
static const dm_dyn_gpu ada = {76, 99 * KB, 64 * KB *KB, false, true};
static const dm_dyn_gpu volta = {80, 96 * KB, 6 * KB *KB, false, false};

/* Microseconds of one step on an H200 (input 64, reset last) with the small kernel and with the
 * matrix kernel's shapes, in the order of dm_dyn_shapes; 0: not measured. */
static const struct {
    uint32_t hidden, batch;
    double us[1 + DM_DYN_SHAPES];
} measured[] = {
    /* clang-format off */
    {64, 1, {2.1, 0, 0, 0}},
    {64, 8, {3.4, 8.2, 6.8, 6.1}},
    {64, 16, {3.4, 8.7, 7.3, 6.8}},
    {64, 32, {3.5, 10.3, 8.6, 7.2}},
    {64, 64, {3.5, 10.7, 9.6, 7.2}},
    {64, 128, {0, 11.2, 9.8, 7.1}},
    {64, 256, {0, 11.4, 9.9, 7.5}},
    {64, 1024, {0, 11.7, 10.1, 7.6}},
    {64, 4096, {0, 11.8, 10.3, 14.4}},
    {128, 1, {2.1, 0, 0, 0}},
    {128, 8, {3.4, 11.3, 9.2, 7.8}},
    {128, 16, {3.5, 11.8, 9.7, 8.5}},
    {128, 32, {3.5, 13.6, 11.5, 8.8}},
    {128, 64, {3.7, 13.9, 12.2, 8.8}},
    {128, 128, {0, 14.5, 12.2, 9.2}},
    {128, 256, {0, 14.8, 12.4, 9.3}},
    {128, 1024, {0, 15.0, 12.6, 9.8}},
    {128, 4096, {0, 15.1, 16.1, 28.2}},
    {256, 1, {2.3, 0, 0, 0}},
    {256, 8, {3.9, 17.7, 14.0, 11.7}},
    {256, 16, {4.0, 18.2, 14.9, 12.5}},
    {256, 32, {4.1, 20.1, 16.7, 12.9}},
    {256, 64, {7.2, 20.4, 17.2, 12.8}},
    {256, 128, {0, 21.1, 17.5, 12.9}},
    {256, 256, {0, 21.5, 17.4, 13.0}},
    {256, 1024, {0, 21.2, 17.1, 25.6}},
    {256, 4096, {0, 32.0, 43.6, 79.0}},
    {512, 1, {2.7, 0, 0, 0}},
    {512, 8, {4.8, 30.3, 23.9, 18.4}},
    {512, 16, {4.9, 30.9, 24.7, 19.1}},
    {512, 32, {8.7, 32.8, 26.7, 20.2}},
    {512, 64, {16.3, 33.3, 27.8, 20.1}},
    {512, 128, {0, 35.0, 27.7, 20.2}},
    {512, 256, {0, 34.3, 25.9, 20.8}},
    {512, 1024, {0, 33.8, 35.2, 65.8}},
    {512, 4096, {0, 99.5, 135.7, 244.0}},
    {1024, 1, {3.9, 0, 0, 0}},
    {1024, 8, {6.5, 55.3, 39.7, 31.7}},
    {1024, 16, {11.8, 55.8, 41.7, 32.8}},
    {1024, 32, {22.4, 58.0, 45.9, 34.0}},
    {1024, 64, {43.6, 58.3, 47.9, 34.1}},
    {1024, 128, {0, 58.7, 43.6, 35.4}},
    {1024, 256, {0, 56.9, 43.9, 67.8}},
    {1024, 1024, {0, 89.6, 120.4, 222.9}},
    {1024, 4096, {0, 343.9, 468.1, 852.1}},
    {2048, 1, {9.9, 0, 0, 0}},
    {2048, 8, {26.4, 97.2, 76.5, 70.4}},
    {2048, 16, {50.7, 98.6, 78.4, 71.4}},
    {2048, 32, {98.4, 102.2, 81.2, 73.3}},
    {2048, 64, {192.9, 106.5, 84.1, 73.4}},
    {2048, 128, {0, 115.8, 83.6, 138.3}},
    {2048, 256, {0, 114.1, 113.2, 223.9}},
    {2048, 1024, {0, 328.8, 440.0, 836.9}},
    {2048, 4096, {0, 1288.8, 1723.4, 3215.7}},
    {4096, 1, {48.4, 0, 0, 0}},
    {4096, 8, {91.3, 189.0, 157.4, 142.5}},
    {4096, 16, {180.4, 192.6, 156.0, 144.7}},
    {4096, 32, {356.6, 200.8, 159.9, 172.3}},
    {4096, 64, {708.2, 210.3, 182.4, 286.9}},
    {4096, 128, {0, 235.2, 217.4, 439.4}},
    {4096, 256, {0, 330.9, 427.3, 839.7}},
    {4096, 1024, {0, 1242.1, 1670.6, 3130.1}},
    {4096, 4096, {0, 5063.0, 6532.9, 13175.4}},
    /* clang-format on */
};

static size_t choice_of(const dm_dyn_gpu *gpu, dm_dynamics_gru_kind kind, uint32_t hidden,
                        uint32_t batch)
{
    dm_dynamics_config config = {1, hidden, 1, 64, kind, false};
    const dm_dyn_shape *shape = dm_dyn_choose_gru(gpu, &config, batch);
    return shape == NULL ? 0 : 1 + (size_t)(shape - dm_dyn_shapes);
}

static void steps_take_the_fastest_kernel_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        uint32_t H = measured[i].hidden, B = measured[i].batch;
        const double *us = measured[i].us;
        size_t chosen = choice_of(&h200, DM_DYNAMICS_GRU_RESET_LAST, H, B);
        double best = 1e9;
        for (size_t k = 0; k <= DM_DYN_SHAPES; k++)
            best = us[k] > 0 && us[k] < best ? us[k] : best;
        /* The small kernel was not timed above 64 vectors, and goes on growing in proportion. */
        bool beyond = us[chosen] <= 0 && chosen == 0 && H * B <= 16384;
        if (!beyond && (us[chosen] <= 0 || us[chosen] > 1.03 * best))
            fail_msg("hidden %u, batch %u: choice %zu takes %g us, the best %g", H, B, chosen,
                     us[chosen], best);
    }
}

/* Two launches: fewer blocks each, so the matrix kernel begins to win later. */
static void reset_first_has_its_own_costs(void **state)
{
    (void)state;
    assert_int_equal(choice_of(&h200, DM_DYNAMICS_GRU_RESET_FIRST, 1024, 64), 0);
    assert_true(choice_of(&h200, DM_DYNAMICS_GRU_RESET_LAST, 1024, 64) > 0);
    assert_int_equal(choice_of(&h200, DM_DYNAMICS_GRU_RESET_FIRST, 256, 64), 0);
    assert_int_equal(choice_of(&h200, DM_DYNAMICS_GRU_RESET_FIRST, 4096, 4096), 1);
}

static void other_gpus_get_what_they_have(void **state)
{
    (void)state;
    for (uint32_t H = 1; H <= 65536; H = H * 3 + 1) {
        for (uint32_t B = 1; B <= 65536; B = B * 3 + 1) {
            assert_int_equal(choice_of(&volta, DM_DYNAMICS_GRU_RESET_LAST, H, B), 0);
            size_t chosen = choice_of(&ada, DM_DYNAMICS_GRU_RESET_FIRST, H, B);
            assert_true(chosen == 0 ||
                        dm_dyn_shape_shared_bytes(&dm_dyn_shapes[chosen - 1]) <= ada.shared_bytes);
        }
    }
    assert_int_equal(choice_of(&a100, DM_DYNAMICS_GRU_RESET_LAST, 4096, 4096), 1);
}

static void variants_by_size(void **state)
{
    (void)state;
    static const struct {
        const dm_dyn_gpu *gpu;
        uint32_t hidden, rollouts;
        bool projection, tame;
        dm_dyn_variant variant;
    } cases[] = {
        {&h200, 256, 1, false, true, DM_DYN_VARIANT_CLUSTER},
        {&h200, 256, 64, false, true, DM_DYN_VARIANT_CLUSTER}, /* 1,265 us, 1,712 by batch */
        {&h200, 256, 256, false, true, DM_DYN_VARIANT_BATCH},
        {&h200, 256, 256, false, false, DM_DYN_VARIANT_CLUSTER},
        {&h200, 512, 1, false, true, DM_DYN_VARIANT_CLUSTER},
        {&h200, 513, 1, false, true, DM_DYN_VARIANT_CLUSTER},
        {&h200, 4096, 5000, false, true, DM_DYN_VARIANT_CLUSTER},
        {&h200, 4097, 1, false, true, DM_DYN_VARIANT_STREAM},
        {&h200, 256, 1, true, true, DM_DYN_VARIANT_STREAM},
        {&a100, 256, 1, false, true, DM_DYN_VARIANT_STREAM},
        {&a100, 256, 1024, false, true, DM_DYN_VARIANT_BATCH},
        {&a100, 1024, 1024, false, true, DM_DYN_VARIANT_STREAM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_dynamics_config config = {
            5, cases[i].hidden, 32, 64, DM_DYNAMICS_GRU_RESET_FIRST, cases[i].projection};
        dm_dyn_variant variant =
            dm_dyn_choose_variant(cases[i].gpu, &config, cases[i].rollouts, cases[i].tame);
        if (variant != cases[i].variant)
            fail_msg("case %zu: variant %d instead of %d", i, (int)variant, (int)cases[i].variant);
    }
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    assert_int_equal(dm_dyn_choose_tile(&h200, &config, 1024), 10);
    assert_int_equal(dm_dyn_choose_tile(&h200, &config, 64), 2);
    config = (dm_dynamics_config)DM_DYNAMICS_DEFAULT;
    config.members = 5;
    config.hidden = 256;
    assert_int_equal(dm_dyn_choose_cluster(&h200, &config, 1), 16); /* 56.4 us, 59.6 with 8 */
    assert_int_equal(dm_dyn_choose_cluster(&h200, &config, 2), 8);
    config.members = 10;
    assert_int_equal(dm_dyn_choose_cluster(&h200, &config, 1), 8);
    config.hidden = 64;
    config.members = 1;
    assert_int_equal(dm_dyn_choose_cluster(&h200, &config, 1), 8);
    config.hidden = 512;
    assert_int_equal(dm_dyn_choose_cluster(&h200, &config, 1), 16);
    assert_true(dm_dyn_choose_tile(&h200, &config, 1u << 20) <= 5);
}

DM_TESTS("dynamics/choice", DM_TEST(steps_take_the_fastest_kernel_seen),
         DM_TEST(reset_first_has_its_own_costs), DM_TEST(other_gpus_get_what_they_have),
         DM_TEST(variants_by_size))
