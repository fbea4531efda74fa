/* SPDX-License-Identifier: MIT */
/* test_gpu_agent_memory.c - agents on a GPU whose policy remembers (gpu_run.h). */
#include "tests/agent/gpu_run.h"

static const char *const memory[] = {"policy=gru", NULL};

static void memory_as_on_the_cpu(void **state)
{
    dm_test_compare_learners(state, memory);
}

static void memory_gives_the_same_bits(void **state)
{
    dm_test_same_bits(state, memory);
}

DM_TESTS("gpu/agent-memory", DM_TEST_IN_DIR(memory_as_on_the_cpu),
         DM_TEST_IN_DIR(memory_gives_the_same_bits));
