/* SPDX-License-Identifier: MIT */
/* gpu_run.h - what tests of agents on a GPU share: some rounds of a small run, the first update beside the CPU's, and
 * the same bits in two runs, in one that was saved and resumed, and in one without graphs. */
#ifndef DM_TESTS_AGENT_GPU_RUN_H
#define DM_TESTS_AGENT_GPU_RUN_H

#include "agent/learner_internal.h"
#include "tests/agent/small_run.h"
#include "tests/device/gpu.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdlib.h>

typedef struct dm_test_learned {
    dm_agent_figures figures;
    float *weights;
    uint64_t count;
} dm_test_learned;

static inline void dm_test_take_weights(dm_agent_run *run, dm_test_learned *out)
{
    dm_agent_learner *l = dm_agent_run_learner(run);
    out->count = l->policy.parameter_room;
    out->weights = malloc(out->count * sizeof(float));
    assert_non_null(out->weights);
    assert_ok(dm_agent_read(l, out->weights, l->parameters, out->count * sizeof(float), err));
}

/* `rounds` rounds; saved, closed and resumed after `pause` of them (0: never). */
static inline dm_test_learned dm_test_learn(void **state, const char *device, const char *name,
                                            const char *const *settings, int rounds, int pause)
{
    const char *folder = dm_test_path(state, name);
    dm_agent_config config = dm_test_small_run(state, settings);
    uint64_t round = config.machines * config.horizon;
    dm_agent_run *run = NULL;
    dm_test_learned out = {0};
    config.steps = round * 100;
    config.graphs = strcmp(name, "graphs=0") != 0;
    assert_ok(dm_agent_run_begin(device, &config, folder, &run, err));
    if (pause > 0) {
        assert_ok(dm_agent_run_train(run, round * (uint64_t)pause, NULL, NULL, err));
        dm_agent_run_close(run);
        assert_ok(dm_agent_run_resume(device, folder, &run, err));
    }
    for (int i = pause; i < rounds; i++)
        assert_ok(dm_agent_learner_round(dm_agent_run_learner(run), &out.figures, err));
    dm_test_take_weights(run, &out);
    dm_agent_run_close(run);
    return out;
}

static inline void dm_test_near(const char *what, double a, double b, double within)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= within * (1 + fabs(b))))
        fail_msg("%s is %g on the GPU, %g on the CPU", what, a, b);
}

/* Logits differ in their last bits, so the first rollout's actions are the same but for chance. */
static inline void dm_test_compare_learners(void **state, const char *const *settings)
{
    dm_test_gpu();
    dm_test_learned cpu = dm_test_learn(state, "cpu:2", "cpu", settings, 1, 0);
    dm_test_learned gpu = dm_test_learn(state, "cuda:0", "gpu", settings, 1, 0);
    const dm_agent_figures *a = &gpu.figures, *b = &cpu.figures;
    dm_test_near("the number of episodes", (double)a->episodes, (double)b->episodes, 0);
    dm_test_near("the score", a->score, b->score, 1e-6);
    dm_test_near("the reward", a->reward, b->reward, 1e-5);
    dm_test_near("the policy's loss", a->policy_loss, b->policy_loss, 1e-3);
    dm_test_near("the value's loss", a->value_loss, b->value_loss, 1e-3);
    dm_test_near("the entropy", a->entropy, b->entropy, 1e-3);
    dm_test_near("the divergence", a->divergence, b->divergence, 1e-3);
    dm_test_near("the explained share", a->explained, b->explained, 1e-3);
    dm_test_near("the norm", a->norm, b->norm, 1e-3);
    assert_int_equal(gpu.count, cpu.count);
    double off = 0, all = 0;
    for (uint64_t i = 0; i < cpu.count; i++) {
        off += fabs((double)(gpu.weights[i] - cpu.weights[i]));
        all += fabs((double)cpu.weights[i]);
    }
    print_message("weights are %g of their size off\n", off / all);
    assert_true(off / all < 1e-3);
    free(cpu.weights);
    free(gpu.weights);
}

static inline void dm_test_same_bits(void **state, const char *const *settings)
{
    dm_test_gpu();
    dm_test_learned once = dm_test_learn(state, "cuda:0", "once", settings, 6, 0);
    dm_test_learned twice = dm_test_learn(state, "cuda:0", "twice", settings, 6, 0);
    dm_test_learned resumed = dm_test_learn(state, "cuda:0", "resumed", settings, 6, 3);
    dm_test_learned plain = dm_test_learn(state, "cuda:0", "graphs=0", settings, 6, 0);
    assert_memory_equal(once.weights, twice.weights, once.count * sizeof(float));
    assert_memory_equal(once.weights, resumed.weights, once.count * sizeof(float));
    assert_memory_equal(once.weights, plain.weights, once.count * sizeof(float));
    free(once.weights);
    free(twice.weights);
    free(resumed.weights);
    free(plain.weights);
}

#endif
