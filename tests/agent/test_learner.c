/* SPDX-License-Identifier: MIT */
/* test_learner.c - PPO on worlds whose best policy and values are known. */
#include "agent/learner.h"
#include "tests/agent/toy_worlds.h"
#include "tests/support/test.h"

#include <math.h>

typedef struct trained {
    float chances[2 * 3], values[2];
    dm_agent_figures figures;
} trained;

static const float states[4] = {1, 0, 0, 1}; /* the two states' observations */

static trained train(toy_kind kind, uint32_t limit, const dm_agent_config *config, int rounds,
                     const char *device_name)
{
    toy_world toy;
    trained out = {0};
    dm_device *device = NULL;
    dm_agent_learner *learner = NULL;
    toy_world_open(&toy, kind, config->machines, limit);
    assert_ok(dm_device_open(device_name, &device, err));
    assert_ok(dm_agent_learner_create(device, &toy.world, config, &learner, err));
    for (int i = 0; i < rounds; i++)
        assert_ok(dm_agent_learner_round(learner, &out.figures, err));
    assert_ok(dm_agent_learner_look(learner, states, 2, out.chances, out.values, err));
    dm_agent_learner_destroy(learner);
    dm_device_close(device);
    toy_world_close(&toy);
    return out;
}

static dm_agent_config small(void)
{
    dm_agent_config config = dm_agent_config_default;
    config.machines = 32;
    config.horizon = 16;
    config.hidden = 16;
    config.entropy = 0;
    config.rate = 0.01;
    config.act_rows = 8;
    config.learn_rows = 32;
    config.steps = 32 * 16 * 60;
    config.rate_end = 0.01;
    return config;
}

static void near(const char *what, double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%s is %g, not %g", what, got, want);
}

static void a_bandit_is_solved(void **state)
{
    (void)state;
    dm_agent_config config = small();
    trained t = train(TOY_BANDIT, 0, &config, 60, "cpu:2");
    assert_true((double)t.chances[1] > 0.97);
    near("the value", (double)t.values[0], 1, 0.05);
    near("the mean score", t.figures.score, 1, 0.1);
    near("the mean length", t.figures.length, 1, 0);
}

/* Going back and forth gives 2 every second step, staying gives 1 each: the same per step, but later.
 * With the discount g, always staying is worth 1 / (1 - g) in state 1; back and forth 2 / (1 - g^2),
 * which is less than that by the factor 2 / (1 + g) > 1: more. So back is best, V(1) = 2 / (1 - g^2),
 * V(0) = g V(1). */
static void a_chain_of_two_states_is_solved(void **state)
{
    (void)state;
    const double g = 0.8;
    for (int shared = 0; shared < 3; shared++)             /* the third time with V-trace */
        for (uint32_t limit = 0; limit <= 9; limit += 9) { /* cut off, it is worth the same */
            dm_agent_config config = small();
            config.gamma = g;
            config.shared = shared == 1;
            config.vtrace = shared == 2;
            trained t = train(TOY_CHAIN, limit, &config, 60, "cpu:2");
            assert_true((double)t.chances[1] > 0.9); /* state 0: on */
            assert_true((double)t.chances[2] > 0.9); /* state 1: back */
            near("the value of state 1", (double)t.values[1], 2 / (1 - g * g), 0.4);
            near("the value of state 0", (double)t.values[0], g * 2 / (1 - g * g), 0.4);
        }
}

static void memory_solves_what_a_plain_policy_cannot(void **state)
{
    (void)state;
    for (int policy = DM_AGENT_MLP; policy <= DM_AGENT_GRU; policy += DM_AGENT_GRU) {
        dm_agent_config config = small();
        config.machines = 64;
        config.horizon = 24;
        config.policy = policy;
        config.entropy = 0.005;
        config.learn_rows = 384;
        config.steps = 64 * 24 * 80;
        trained t = train(TOY_MEMORY, 0, &config, 80, "cpu:2");
        if (policy == DM_AGENT_GRU)
            assert_true(t.figures.score > 0.95);
        else
            near("the mean score without memory", t.figures.score, 0.5, 0.1);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    dm_agent_config config = small();
    trained one = train(TOY_CHAIN, 9, &config, 3, "cpu:1"),
            three = train(TOY_CHAIN, 9, &config, 3, "cpu:3");
    assert_memory_equal(one.chances, three.chances, sizeof one.chances);
    assert_memory_equal(one.values, three.values, sizeof one.values);
    config.seed = 2;
    three = train(TOY_CHAIN, 9, &config, 3, "cpu:3");
    assert_memory_not_equal(one.values, three.values, sizeof one.values);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    toy_world toy;
    dm_device *device = NULL;
    dm_agent_learner *learner = NULL;
    dm_error error = {0};
    dm_agent_config config = small();
    config.minibatches = 7;
    toy_world_open(&toy, TOY_CHAIN, config.machines, 0);
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_int_equal(dm_agent_learner_create(device, &toy.world, &config, &learner, &error),
                     DM_EINVAL);
    assert_non_null(strstr(error.message, "minibatches is 7"));
    assert_int_equal(dm_agent_config_set(&config, "horizont=3", &error), DM_EINVAL);
    assert_non_null(strstr(error.message, "did you mean horizon"));
    assert_int_equal(dm_agent_config_set(&config, "policy=mlpp", &error), DM_EINVAL);
    assert_int_equal(dm_agent_config_set(&config, "clip=-1", &error), DM_EINVAL);
    assert_ok(dm_agent_config_set(&config, "clip=0.5", err));
    assert_true(config.clip == 0.5);
    dm_device_close(device);
    toy_world_close(&toy);
}

DM_TESTS("agent/learner", DM_TEST(a_bandit_is_solved), DM_TEST(a_chain_of_two_states_is_solved),
         DM_TEST(memory_solves_what_a_plain_policy_cannot), DM_TEST(bits_do_not_depend_on_threads),
         DM_TEST(what_does_not_fit_is_refused));
