/* SPDX-License-Identifier: MIT */
/* test_normalise.c - running normalisation of rewards and observations against plain loops over all that was played,
 * and what it is for: a world whose numbers are large. */
#include "agent/learner_internal.h"
#include "tests/agent/toy_worlds.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

enum { N = 32, T = 16, S = N * T, C = 2, ROUNDS = 5 };

static dm_agent_config small(void)
{
    dm_agent_config config = dm_agent_config_default;
    config.machines = N;
    config.horizon = T;
    config.hidden = 16;
    config.entropy = 0;
    config.rate = 0.01;
    config.gamma = 0.8;
    config.act_rows = 8;
    config.learn_rows = 32;
    config.steps = S * 60;
    config.rate_end = 0.01;
    config.normalise_obs = 1;
    config.normalise_rewards = 1;
    return config;
}

/* All numbers so far, by the definition: nothing is updated in place. */
typedef struct plain {
    double totals[ROUNDS * S], seen[C][ROUNDS * S], running[N];
    size_t counts;
} plain;

static void expect(const char *what, size_t i, double got, double want)
{
    if (!(fabs(got - want) <= 2e-4 * (1 + fabs(want))))
        fail_msg("%s %zu is %.9g, not %.9g", what, i, got, want);
}

static double mean(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

static double deviation(const double *x, size_t count)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += pow(x[i] - mean(x, count), 2);
    return sqrt(squares / (double)count);
}

static void expect_state(const char *what, const float state[3], const double *x, size_t count)
{
    expect(what, 0, (double)state[0], (double)count);
    expect(what, 1, (double)state[1], mean(x, count));
    expect(what, 2, sqrt((double)(state[2] / state[0])), deviation(x, count));
}

/* One rollout more; begins are left out. */
static void add_plain(plain *p, const dm_agent_learner *l)
{
    for (size_t t = 0; t < T; t++)
        for (size_t n = 0; n < N; n++) {
            size_t i = t * N + n;
            if (l->flags[i] & DM_AGENT_BEGINS) {
                p->running[n] = 0;
                continue;
            }
            p->running[n] = 0.8 * p->running[n] + (double)l->rewards[i];
            p->totals[p->counts] = p->running[n];
            for (size_t c = 0; c < C; c++)
                p->seen[c][p->counts] =
                    (double)((const float *)(const void *)l->observations)[i * C + c];
            p->counts++;
        }
}

static void running_means_equal_plain_loops(void **state)
{
    (void)state;
    toy_world toy;
    dm_device *device = NULL;
    dm_agent_learner *l = NULL;
    dm_agent_figures figures;
    dm_agent_config config = small();
    config.normalise_limit = 1.5;
    plain *p = calloc(1, sizeof *p);
    assert_non_null(p);
    toy_world_open(&toy, TOY_CHAIN, N, 9);
    toy.scale = 500;
    assert_ok(dm_device_open("cpu:2", &device, err));
    assert_ok(dm_agent_learner_create(device, &toy.world, &config, &l, err));
    for (int round = 0; round < ROUNDS; round++) {
        float before[C][3];
        memcpy(before, l->seen, sizeof before);
        assert_ok(dm_agent_learner_round(l, &figures, err));
        add_plain(p, l);
        expect_state("sums of rewards", l->gains, p->totals, p->counts);
        double scale = deviation(p->totals, p->counts);
        for (size_t i = 0; i < S; i++)
            expect("reward", i, (double)l->scaled[i],
                   fmax(-1.5, fmin(1.5, (double)l->rewards[i] / scale)));
        for (size_t c = 0; c < C; c++)
            expect_state("observation", l->seen + 3 * c, p->seen[c], p->counts);
        /* What the policy sees of the last rollout now, in the order that it learned from. */
        dm_agent_sight sight;
        dm_agent_worker *w = &l->workers[0];
        assert_ok(dm_agent_see(l, w, l->observations, l->order, 32, 32, &sight, err));
        const float *shown = sight.at, *all = (const float *)(const void *)l->observations;
        for (size_t r = 0; r < 32; r++)
            for (size_t c = 0; c < C; c++) {
                double x = (double)all[(size_t)l->order[32 + r] * C + c];
                double v = (x - mean(p->seen[c], p->counts)) / deviation(p->seen[c], p->counts);
                expect("what is seen", r * C + c, (double)shown[r * C + c],
                       fmax(-1.5, fmin(1.5, v)));
            }
        assert_true(round > 0 || before[0][0] == 0);
    }
    assert_true(p->counts < ROUNDS * S); /* some steps only began an episode */
    dm_agent_learner_destroy(l);
    dm_device_close(device);
    toy_world_close(&toy);
    free(p);
}

/* The chain of test_learner.c with rewards of 500 and 1,000 and observations of 1,500 and 2,000. */
static void large_numbers_are_learned_from(void **state)
{
    (void)state;
    static const float states[4] = {2000, 1500, 1500, 2000};
    toy_world toy;
    dm_device *device = NULL;
    dm_agent_learner *l = NULL;
    dm_agent_figures figures;
    float chances[4], values[2];
    dm_agent_config config = small();
    toy_world_open(&toy, TOY_CHAIN, N, 0);
    toy.scale = 500;
    assert_ok(dm_device_open("cpu:2", &device, err));
    assert_ok(dm_agent_learner_create(device, &toy.world, &config, &l, err));
    for (int i = 0; i < 60; i++)
        assert_ok(dm_agent_learner_round(l, &figures, err));
    assert_ok(dm_agent_learner_look(l, states, 2, chances, values, err));
    if (!(chances[1] > 0.9f) || !(chances[2] > 0.9f))
        fail_msg("on with %g, back with %g", (double)chances[1], (double)chances[2]);
    dm_agent_learner_destroy(l);
    dm_device_close(device);
    toy_world_close(&toy);
}

static void pictures_are_refused(void **state)
{
    (void)state;
    toy_world toy;
    dm_device *device = NULL;
    dm_agent_learner *l = NULL;
    dm_error error = {0};
    dm_agent_config config = small();
    toy_world_open(&toy, TOY_CHAIN, N, 0);
    toy.world.packed = true;
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_int_equal(dm_agent_learner_create(device, &toy.world, &config, &l, &error), DM_EINVAL);
    assert_non_null(strstr(error.message, "normalise_obs is for numbers"));
    dm_device_close(device);
    toy_world_close(&toy);
}

DM_TESTS("agent/normalise", DM_TEST(running_means_equal_plain_loops),
         DM_TEST(large_numbers_are_learned_from), DM_TEST(pictures_are_refused));
