/* SPDX-License-Identifier: MIT */
/* test_gpu_agent_practice.c - agents on a GPU that practise from snapshots (gpu_run.h); their lives, played again on
 * the CPU; a run of the command that is killed ends with the bits of one that was not. */
#include "agent/life.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "tests/agent/gpu_run.h"
#include "tests/support/command.h"

static const char *const practice[] = {"curriculum=0.5", "before=2",    "practice=8",
                                       "archive=16",     "stir=3",      "limit=0",
                                       "horizon=64",     "machines=64", NULL};

static void practice_as_on_the_cpu(void **state)
{
    dm_test_compare_learners(state, practice);
}

static void practice_gives_the_same_bits(void **state)
{
    dm_test_same_bits(state, practice);
}

/* ---- Lives ---- */

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

/* ---- Killed ---- */

enum { KILLS = 10, TRIES = 60 };

static const char *const killed[] = {"machines=32",   "horizon=16", "hidden=32",
                                     "minibatches=2", "epochs=2",   "starts=16",
                                     "held_out=0",    "limit=30",   "checkpoint_seconds=1e-6",
                                     "before=2",      "archive=16", "curriculum=0.5",
                                     "practice=8",    "stir=3",     "steps=51200"};

static bool exists_in(const char *folder, const char *name)
{
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, folder, name, err));
    return dm_file_exists(path);
}

/* Begun in `folder`, or gone on with there; whether it came to its end within `seconds`. */
static bool command(const char *folder, const char *rom, const char *config, double seconds)
{
    const char *arguments[64] = {"train", "agent", "--device", "cuda:0"};
    size_t count = 4;
    bool resume = exists_in(folder, "checkpoint.safetensors");
    arguments[count++] = resume ? "--resume" : "--out";
    arguments[count++] = folder;
    for (size_t i = 0; !resume && i < sizeof killed / sizeof killed[0]; i++) {
        arguments[count++] = "--set";
        arguments[count++] = killed[i];
    }
    if (!resume) {
        arguments[count++] = "--rom";
        arguments[count++] = rom;
        arguments[count++] = "--config";
        arguments[count++] = config;
    }
    dm_test_result r;
    const dm_test_command limited = {.seconds = seconds};
    dm_test_run_dotmatrix(&limited, arguments, &r);
    bool ended = !r.timed_out;
    if (ended)
        dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    return ended;
}

static void same_file(const char *a, const char *b, const char *name)
{
    char path[2][DM_PATH_MAX], *bytes[2];
    size_t size[2];
    assert_ok(dm_path_join(path[0], a, name, err));
    assert_ok(dm_path_join(path[1], b, name, err));
    for (int i = 0; i < 2; i++)
        assert_ok(dm_file_read(path[i], 0, &bytes[i], &size[i], err));
    if (size[0] != size[1] || memcmp(bytes[0], bytes[1], size[0]) != 0)
        fail_msg("%s differs from %s", path[1], path[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void killed_runs_end_with_the_same_bits(void **state)
{
    dm_test_gpu();
    char config[DM_PATH_MAX], name[64];
    assert_ok(dm_path_join(config, dm_test_source_root(), "examples/agents/starfall.json", err));
    const char *rom = dm_test_path(state, "STARFALL.gb"), *whole = dm_test_path(state, "whole");
    dm_swarm_rom_source source = dm_case_rom("STARFALL");
    assert_ok(dm_file_write(rom, source.bytes, source.size, err));
    assert_true(command(whole, rom, config, 600)); /* compiles */
    const char *again = dm_test_path(state, "again");
    uint64_t begun = dm_time_ns();
    assert_true(command(again, rom, config, 600));
    double seconds = (double)(dm_time_ns() - begun) * 1e-9;
    same_file(whole, again, "checkpoint.safetensors");
    int kills = 0, folders = 0;
    const char *folder = NULL;
    for (int i = 0; i < TRIES; i++) {
        if (folder == NULL) {
            snprintf(name, sizeof name, "killed-%d", folders++);
            folder = dm_test_path(state, name);
        }
        double share = 0.2 + 0.8 * (double)dm_random_unit(dm_random4(5, 1, (uint64_t)i).v[0]);
        bool ended = command(folder, rom, config, kills < KILLS ? seconds * share : 600);
        kills += !ended && exists_in(folder, "checkpoint.safetensors");
        if (!ended)
            continue;
        same_file(whole, folder, "checkpoint.safetensors");
        same_file(whole, folder, "metrics.jsonl");
        same_file(whole, folder, "world-100.swarm");
        same_file(whole, folder, "world-100.swarm.starts");
        folder = NULL;
        if (kills >= KILLS) {
            print_message("killed %d times in %d runs\n", kills, folders);
            return;
        }
    }
    fail_msg("killed %d times only, of %d", kills, KILLS);
}

DM_TESTS("gpu/agent-practice", DM_TEST_IN_DIR(practice_as_on_the_cpu),
         DM_TEST_IN_DIR(practice_gives_the_same_bits),
         DM_TEST_IN_DIR(lives_are_the_same_on_the_cpu),
         DM_TEST_IN_DIR(killed_runs_end_with_the_same_bits));
