/* SPDX-License-Identifier: MIT */
/* How machines are spread over the threads of a GPU (swarm/launch_config.c). */
#include "swarm/internal.h"
#include "tests/support/test.h"

/* What docs/performance.md's figures are of. */
static void sizes_that_were_measured(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        uint32_t lanes, block, blocks;
        bool sorts_often;
    } cases[] = {{1, 1, 128, 4, false},      {1024, 1, 128, 4, false},   {4096, 1, 1024, 1, false},
                 {16384, 16, 128, 4, false}, {65536, 32, 128, 4, false}, {262144, 32, 256, 4, true},
                 {1 << 30, 32, 256, 4, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_swarm_desc d = {.count = cases[i].count};
        dm_swarm_launch_config_for(132, &d);
        assert_int_equal(d.lanes_per_warp, cases[i].lanes);
        assert_int_equal(d.block_threads, cases[i].block);
        assert_int_equal(d.blocks_per_multiprocessor, cases[i].blocks);
        assert_int_equal(dm_swarm_sorts_often(&d), cases[i].sorts_often);
    }
}

/* Any number of machines on any GPU: shapes that the kernels can have; and where machines have
 * warps of their own, all are on the GPU at once, on nearly all of its multiprocessors. */
static void all_multiprocessors_work(void **state)
{
    (void)state;
    static const uint64_t gpus[] = {1, 16, 132};
    for (int i = 0; i < 3; i++) {
        for (uint64_t count = 1; count < 100000; count += count / 50 + 1) {
            dm_swarm_desc d = {.count = count};
            dm_swarm_launch_config_for((int)gpus[i], &d);
            const uint32_t most = d.lanes_per_warp == 1 ? 1024 : 256;
            assert_true(d.lanes_per_warp >= 1 && d.lanes_per_warp <= 32);
            assert_true(d.block_threads >= 32 && d.block_threads % 32 == 0);
            assert_true(d.block_threads <= most);
            assert_in_range(d.blocks_per_multiprocessor * d.block_threads, 128, 1024);
            if (d.lanes_per_warp != 1)
                continue;
            const uint64_t each = d.block_threads / 32, blocks = (count + each - 1) / each;
            const uint64_t used = blocks < gpus[i] ? blocks : gpus[i];
            const uint64_t needed = count / 4 < gpus[i] ? count / 4 : gpus[i];
            assert_true(blocks <= gpus[i] * d.blocks_per_multiprocessor);
            assert_true(4 * used >= 3 * needed);
        }
    }
}

/* Every machine is in one block, and blocks that are to be even have as many as they can. */
static void blocks_have_all_machines(void **state)
{
    (void)state;
    static const uint32_t gpus[] = {1, 16, 132};
    for (int i = 0; i < 3; i++) {
        for (uint64_t count = 1; count < 300000; count += count / 70 + 1) {
            dm_swarm_desc d = {.count = count};
            dm_swarm_launch_config_for((int)gpus[i], &d);
            const dm_swarm_blocks blocks = dm_swarm_blocks_over((int)gpus[i], &d);
            const dm_gb_batch batch = {.block_machines = blocks.block_machines,
                                       .short_blocks = blocks.short_blocks};
            const uint32_t most = d.block_threads / 32u * d.lanes_per_warp;
            assert_int_equal(dm_simt_first_slot(&batch, 0), 0);
            assert_true(dm_simt_first_slot(&batch, blocks.count) >= count);
            assert_true(dm_simt_first_slot(&batch, blocks.count - 1u) < count);
            for (uint32_t block = 0; block < blocks.count; block++)
                assert_in_range(dm_simt_first_slot(&batch, block + 1u) -
                                    dm_simt_first_slot(&batch, block),
                                1, most);
        }
    }
    dm_swarm_desc d = {.count = 4096};
    dm_swarm_launch_config_for(132, &d);
    const dm_swarm_blocks blocks = dm_swarm_blocks_over(132, &d);
    assert_int_equal(blocks.count, 132);
    assert_int_equal(blocks.block_machines, 31);
    assert_int_equal(blocks.short_blocks, 128);
}

/* What the caller has chosen stays. */
static void choices_stay(void **state)
{
    (void)state;
    dm_swarm_desc d = {.count = 10, .lanes_per_warp = 1, .block_threads = 1024};
    dm_swarm_launch_config_for(132, &d);
    assert_int_equal(d.block_threads, 1024);
    assert_int_equal(d.blocks_per_multiprocessor, 1);
}

DM_TESTS("swarm/launch_config", cmocka_unit_test(sizes_that_were_measured),
         cmocka_unit_test(all_multiprocessors_work), cmocka_unit_test(blocks_have_all_machines),
         cmocka_unit_test(choices_stay));
