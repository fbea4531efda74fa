/* SPDX-License-Identifier: MIT */
/* test_cuda_fake.c - the learner's host side on a stand-in driver whose kernels do nothing: a round allocates nothing,
 * waits twice, and leaves nothing behind. What the kernels compute is gpu/agent's to say. */
#include "tests/agent/small_run.h"
#include "tests/nn/fake_kernels.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>

static const fake_cuda *fake_with_kernels(void)
{
    static const char *const names[] = {"adam_forward",
                                        "sample_forward",
                                        "look_forward",
                                        "greedy_forward",
                                        "ppo_forward",
                                        "ppo_backward",
                                        "gather_forward",
                                        "unpack_forward",
                                        "part_sums_forward",
                                        "add_parts_forward",
                                        "standardise_forward",
                                        "account_forward",
                                        "tally_forward",
                                        "gae_forward",
                                        "vtrace_forward",
                                        "ratios_forward",
                                        "shuffle_forward",
                                        "control_forward",
                                        "lucky_forward",
                                        "keep_forward",
                                        "see_forward",
                                        "discounted_forward",
                                        "divide_forward",
                                        "begin_forward",
                                        "starts_of_forward",
                                        "sequences_forward",
                                        "gather_starts_forward",
                                        "after_forward",
                                        "archive_forward",
                                        "observe_forward",
                                        "first_potential_forward",
                                        "dm_swarm_bulk_read",
                                        "dm_swarm_bulk_poke",
                                        "dm_swarm_bulk_gather",
                                        "dm_swarm_bulk_scatter",
                                        "dm_swarm_reset_full_step",
                                        "dm_swarm_step_full_step",
                                        "dm_swarm_rebalance_full_step",
                                        "dm_swarm_answered_full_step"};
    return dm_test_fake_kernels(names, sizeof names / sizeof names[0]);
}

static void rounds_allocate_nothing(void **state, const char *const *settings)
{
    const fake_cuda *fake = fake_with_kernels();
    dm_agent_config config = dm_test_small_run(state, settings);
    dm_agent_run *run = NULL;
    dm_agent_figures figures;
    const int T = (int)config.horizon;
    assert_ok(dm_agent_run_begin("cuda:0", &config, dm_test_path(state, "run"), &run, err));
    for (int i = 0; i < 3; i++) {
        int memory = fake->calls("cuMemAlloc_v2") + fake->calls("cuMemHostAlloc");
        int waits = fake->calls("cuStreamSynchronize");
        int launches = fake->calls("cuLaunchKernel"), graphs = fake->calls("cuGraphLaunch");
        assert_ok(dm_agent_learner_round(dm_agent_run_learner(run), &figures, err));
        assert_int_equal(fake->calls("cuMemAlloc_v2") + fake->calls("cuMemHostAlloc"), memory);
        assert_true(fake->calls("cuStreamSynchronize") - waits <= 2);
        /* From the third round on all but what counts the rollout's episodes is replayed. */
        if (i == 2)
            assert_int_equal(fake->calls("cuLaunchKernel") - launches, 2);
        assert_int_equal(fake->calls("cuGraphLaunch") - graphs, i == 0 ? 0 : 2 * T + 2);
    }
    dm_agent_run_close(run);
    assert_int_equal(fake->live(), 0);
    assert_int_equal(fake->errors(), 0);
    assert_int_equal(fake->retained(), 0);
}

static void a_round_on_numbers_waits_twice(void **state)
{
    rounds_allocate_nothing(state, NULL);
}

static void a_round_on_pictures_waits_twice(void **state)
{
    static const char *const settings[] = {"obs=packed", "policy=cnn", "stack=2", NULL};
    rounds_allocate_nothing(state, settings);
}

static void a_round_with_practice_waits_twice(void **state)
{
    static const char *const settings[] = {"curriculum=0.5", "before=2", "archive=16", NULL};
    rounds_allocate_nothing(state, settings);
}

/* A driver that captures nothing: the same calls, one by one. */
static void rounds_do_without_graphs(void **state)
{
    const fake_cuda *fake = fake_with_kernels();
    dm_agent_config config = dm_test_small_run(state, NULL);
    dm_agent_run *run = NULL;
    dm_agent_figures figures;
    assert_ok(dm_agent_run_begin("cuda:0", &config, dm_test_path(state, "run"), &run, err));
    int launches[3];
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            fake->fail_next("cuStreamBeginCapture_v2", 900);
        int before = fake->calls("cuLaunchKernel");
        assert_ok(dm_agent_learner_round(dm_agent_run_learner(run), &figures, err));
        launches[i] = fake->calls("cuLaunchKernel") - before;
    }
    assert_int_equal(launches[1], launches[0]);
    assert_int_equal(launches[2], launches[0]);
    dm_agent_run_close(run);
}

static void machines_that_do_not_fit_are_counted(void **state)
{
    const fake_cuda *fake = fake_with_kernels();
    static const char *const settings[] = {"obs=packed",   "policy=cnn", "machines=2048",
                                           "horizon=1024", "starts=1",   NULL};
    dm_agent_config config = dm_test_small_run(state, settings);
    dm_agent_run *run = NULL;
    dm_error error = {0};
    (void)fake;
    assert_int_equal(
        dm_agent_run_begin("cuda:0", &config, dm_test_path(state, "large"), &run, &error),
        DM_ENOMEM);
    assert_non_null(strstr(error.message, "machines would fit"));
}

DM_TESTS("agent/cuda-fake", DM_TEST_IN_DIR(a_round_on_numbers_waits_twice),
         DM_TEST_IN_DIR(a_round_on_pictures_waits_twice),
         DM_TEST_IN_DIR(a_round_with_practice_waits_twice),
         DM_TEST_IN_DIR(rounds_do_without_graphs),
         DM_TEST_IN_DIR(machines_that_do_not_fit_are_counted));
