/* SPDX-License-Identifier: MIT */
/* test_gpu_agent.c - agents on a GPU: the first update beside the CPU's, the same bits in two runs, and a run that was
 * saved and resumed with the bits of one that was not. */
#include "agent/learner_internal.h"
#include "tests/agent/small_run.h"
#include "tests/device/gpu.h"
#include "tests/support/tmpdir.h"

#include <math.h>

typedef struct learned {
    dm_agent_figures figures;
    float *weights;
    uint64_t count;
} learned;

static void take_weights(dm_agent_run *run, learned *out)
{
    dm_agent_learner *l = dm_agent_run_learner(run);
    out->count = l->policy.parameter_room;
    out->weights = malloc(out->count * sizeof(float));
    assert_non_null(out->weights);
    assert_ok(dm_agent_read(l, out->weights, l->parameters, out->count * sizeof(float), err));
}

/* `rounds` rounds; saved, closed and resumed after `pause` of them (0: never). */
static learned learn(void **state, const char *device, const char *name,
                     const char *const *settings, int rounds, int pause)
{
    const char *folder = dm_test_path(state, name);
    dm_agent_config config = dm_test_small_run(state, settings);
    uint64_t round = config.machines * config.horizon;
    dm_agent_run *run = NULL;
    learned out = {0};
    config.steps = round * 100;
    assert_ok(dm_agent_run_begin(device, &config, folder, &run, err));
    if (pause > 0) {
        assert_ok(dm_agent_run_train(run, round * (uint64_t)pause, NULL, NULL, err));
        dm_agent_run_close(run);
        assert_ok(dm_agent_run_resume(device, folder, &run, err));
    }
    for (int i = pause; i < rounds; i++)
        assert_ok(dm_agent_learner_round(dm_agent_run_learner(run), &out.figures, err));
    take_weights(run, &out);
    dm_agent_run_close(run);
    return out;
}

static void near(const char *what, double a, double b, double within)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= within * (1 + fabs(b))))
        fail_msg("%s is %g on the GPU, %g on the CPU", what, a, b);
}

/* Logits differ in their last bits, so the first rollout's actions are the same but for chance. */
static void compare(void **state, const char *const *settings)
{
    dm_test_gpu();
    learned cpu = learn(state, "cpu:2", "cpu", settings, 1, 0);
    learned gpu = learn(state, "cuda:0", "gpu", settings, 1, 0);
    const dm_agent_figures *a = &gpu.figures, *b = &cpu.figures;
    near("the number of episodes", (double)a->episodes, (double)b->episodes, 0);
    near("the score", a->score, b->score, 1e-6);
    near("the reward", a->reward, b->reward, 1e-5);
    near("the policy's loss", a->policy_loss, b->policy_loss, 1e-3);
    near("the value's loss", a->value_loss, b->value_loss, 1e-3);
    near("the entropy", a->entropy, b->entropy, 1e-3);
    near("the divergence", a->divergence, b->divergence, 1e-3);
    near("the explained share", a->explained, b->explained, 1e-3);
    near("the norm", a->norm, b->norm, 1e-3);
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

static const char *const numbers[] = {NULL};
static const char *const pictures[] = {"obs=packed", "policy=cnn", "stack=2", NULL};
static const char *const memory[] = {"policy=gru", NULL};
static const char *const practice[] = {"curriculum=0.5", "before=2",    "practice=8",
                                       "archive=16",     "stir=3",      "limit=0",
                                       "horizon=64",     "machines=64", NULL};

static const char *const normalised[] = {"normalise_obs=1", "normalise_rewards=1", "limit=5", NULL};

static void numbers_as_on_the_cpu(void **state)
{
    compare(state, numbers);
}

static void pictures_as_on_the_cpu(void **state)
{
    compare(state, pictures);
}

static void memory_as_on_the_cpu(void **state)
{
    compare(state, memory);
}

static void same_bits(void **state, const char *const *settings)
{
    dm_test_gpu();
    learned once = learn(state, "cuda:0", "once", settings, 6, 0);
    learned twice = learn(state, "cuda:0", "twice", settings, 6, 0);
    learned resumed = learn(state, "cuda:0", "resumed", settings, 6, 3);
    assert_memory_equal(once.weights, twice.weights, once.count * sizeof(float));
    assert_memory_equal(once.weights, resumed.weights, once.count * sizeof(float));
    free(once.weights);
    free(twice.weights);
    free(resumed.weights);
}

static void numbers_give_the_same_bits(void **state)
{
    same_bits(state, numbers);
}

static void pictures_give_the_same_bits(void **state)
{
    same_bits(state, pictures);
}

static void practice_as_on_the_cpu(void **state)
{
    compare(state, practice);
}

static void practice_gives_the_same_bits(void **state)
{
    same_bits(state, practice);
}

static void normalised_as_on_the_cpu(void **state)
{
    compare(state, normalised);
}

static void normalised_gives_the_same_bits(void **state)
{
    same_bits(state, normalised);
}

typedef struct lives {
    dm_swarm_rom_source rom;
    size_t count;
} lives;

static dm_status replay_life(const char *root, const dm_dir_entry *entry, void *user,
                             dm_error *error)
{
    lives *all = user;
    char path[DM_PATH_MAX];
    dm_agent_life life;
    dm_agent_replayed played;
    (void)error;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_agent_life_read(path, &life, err));
    assert_string_equal(life.device, "cuda:0");
    assert_ok(dm_agent_life_replay(&life, all->rom.bytes, all->rom.size, &(dm_agent_replay){0},
                                   &played, err));
    if (!played.same_end || !played.same_total)
        fail_msg("%s: %s", entry->path, played.same_end ? "other rewards" : "ends elsewhere");
    all->count++;
    dm_agent_life_deinit(&life);
    return DM_OK;
}

/* Episodes of two machines on the GPU, practice among them, each played again on the CPU. */
static void lives_are_the_same_on_the_cpu(void **state)
{
    dm_test_gpu();
    const char *folder = dm_test_path(state, "lives");
    dm_agent_config config = dm_test_small_run(state, practice);
    dm_agent_run *run = NULL;
    char root[DM_PATH_MAX];
    lives all = {.rom = dm_case_rom("STARFALL")};
    assert_ok(dm_agent_run_begin("cuda:0", &config, folder, &run, err));
    assert_ok(dm_agent_run_keep(run, (uint32_t[]){0, 17}, 2, err));
    assert_ok(dm_agent_run_train(run, config.machines * config.horizon * 6, NULL, NULL, err));
    uint64_t written = dm_agent_run_lives(run);
    dm_agent_run_close(run);
    assert_true(written >= 4);
    assert_ok(dm_path_join(root, folder, "lives", err));
    assert_ok(dm_dir_walk(root, replay_life, &all, err));
    assert_int_equal(all.count, written);
}

static void memory_gives_the_same_bits(void **state)
{
    same_bits(state, memory);
}

DM_TESTS("gpu/agent", DM_TEST_IN_DIR(numbers_as_on_the_cpu), DM_TEST_IN_DIR(pictures_as_on_the_cpu),
         DM_TEST_IN_DIR(numbers_give_the_same_bits), DM_TEST_IN_DIR(pictures_give_the_same_bits),
         DM_TEST_IN_DIR(memory_as_on_the_cpu), DM_TEST_IN_DIR(practice_as_on_the_cpu),
         DM_TEST_IN_DIR(practice_gives_the_same_bits), DM_TEST_IN_DIR(memory_gives_the_same_bits),
         DM_TEST_IN_DIR(normalised_as_on_the_cpu), DM_TEST_IN_DIR(normalised_gives_the_same_bits),
         DM_TEST_IN_DIR(lives_are_the_same_on_the_cpu));
