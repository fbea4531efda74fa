/* SPDX-License-Identifier: MIT */
/* test_gpu_agent.c - agents on a GPU that see numbers or pictures (gpu_run.h). */
#include "tests/agent/gpu_run.h"

static const char *const numbers[] = {NULL};
static const char *const pictures[] = {"obs=packed", "policy=cnn", "stack=2", NULL};

static const char *const normalised[] = {"normalise_obs=1", "normalise_rewards=1", "limit=5", NULL};

static void numbers_as_on_the_cpu(void **state)
{
    dm_test_compare_learners(state, numbers);
}

static void pictures_as_on_the_cpu(void **state)
{
    dm_test_compare_learners(state, pictures);
}

static void numbers_give_the_same_bits(void **state)
{
    dm_test_same_bits(state, numbers);
}

static void pictures_give_the_same_bits(void **state)
{
    dm_test_same_bits(state, pictures);
}

static void normalised_as_on_the_cpu(void **state)
{
    dm_test_compare_learners(state, normalised);
}

static void normalised_gives_the_same_bits(void **state)
{
    dm_test_same_bits(state, normalised);
}

DM_TESTS("gpu/agent", DM_TEST_IN_DIR(numbers_as_on_the_cpu), DM_TEST_IN_DIR(pictures_as_on_the_cpu),
         DM_TEST_IN_DIR(numbers_give_the_same_bits), DM_TEST_IN_DIR(pictures_give_the_same_bits),
         DM_TEST_IN_DIR(normalised_as_on_the_cpu), DM_TEST_IN_DIR(normalised_gives_the_same_bits));
