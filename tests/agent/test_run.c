/* SPDX-License-Identifier: MIT */
/* test_run.c - dotmatrix train agent on STARFALL: what a run leaves, runs that are killed, and what
 * is refused. All use one reward text, so that it is compiled once. */
#include "agent/life.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "tests/support/command.h"
#include "tests/support/killed.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rom[] = DM_TEST_BUILD_ROOT "/roms/STARFALL.gb";

static const char *const small[] = {"machines=16",   "horizon=8",       "hidden=8",
                                    "minibatches=2", "epochs=2",        "starts=16",
                                    "held_out=0",    "steps=5120",      "checkpoint_seconds=1e-6",
                                    "limit=30",      "before=2",        "curriculum=0.5",
                                    "practice=8",    "archive=16",      "act_rows=4",
                                    "learn_rows=16", "normalise_obs=1", "normalise_rewards=1"};

static const char *config_path(void)
{
    static char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_source_root(), "examples/agents/starfall.json", err));
    return path;
}

/* Begun in `folder` or gone on with there; killed after `seconds`. Whether it came to its end. */
static bool run(const char *folder, uint32_t threads, double seconds, const char *const *more)
{
    char device[16], checkpoint[DM_PATH_MAX];
    const char *arguments[96] = {"train", "agent", "--device", device};
    size_t count = 4;
    snprintf(device, sizeof device, "cpu:%u", threads);
    assert_ok(dm_path_join(checkpoint, folder, "checkpoint.safetensors", err));
    bool resume = dm_file_exists(checkpoint);
    arguments[count++] = resume ? "--resume" : "--out";
    arguments[count++] = folder;
    for (size_t i = 0; !resume && i < sizeof small / sizeof small[0]; i++) {
        arguments[count++] = "--set";
        arguments[count++] = small[i];
    }
    if (!resume) {
        arguments[count++] = "--rom";
        arguments[count++] = rom;
        arguments[count++] = "--config";
        arguments[count++] = config_path();
    }
    for (size_t i = 0; more != NULL && more[i] != NULL; i++)
        arguments[count++] = more[i];
    return dm_test_ends_within(arguments, seconds);
}

static bool run_alone(const void *context, const char *folder, uint32_t threads, double seconds)
{
    (void)context;
    return run(folder, threads, seconds, NULL);
}

static void killed_runs_end_with_the_same_bits(void **state)
{
    static const char *const files[] = {"checkpoint.safetensors", "metrics.jsonl", "world-40.swarm",
                                        "world-40.swarm.starts", NULL};
    assert_true(
        run(dm_test_path(state, "compiled"), 2, 600, NULL)); /* so that the next are alike */
    dm_test_killed_runs_end_alike(
        state,
        &(dm_test_killed){
            .name = "agent", .run = run_alone, .seed = 3, .from = 0.2, .to = 1.2, .files = files});
}

static void an_agent_is_measured_and_filmed(void **state)
{
    const char *folder = dm_test_path(state, "run"), *gif = dm_test_path(state, "a.gif");
    assert_true(run(folder, 2, 600,
                    (const char *const[]){"--set", "held_out=5", "--set", "eval_frames=2000",
                                          "--until", "256", NULL}));
    dm_test_result r;
    dm_test_dotmatrix(&r, "train", "agent", "--resume", folder, "--eval", "5");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "in 5 games of at most 2000 frames"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "train", "agent", "--play", folder, "--gif", gif, "--frames", "200");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(gif, 0, &bytes, &size, err));
    assert_true(size > 1000 && memcmp(bytes, "GIF89a", 6) == 0);
    free(bytes);
    static const char *const left[] = {"index.html", "report.json", "before.gif", "after.gif",
                                       "reward.py"};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        char path[DM_PATH_MAX];
        assert_ok(dm_path_join(path, folder, left[i], err));
        assert_true(dm_file_exists(path));
    }
}

/* The only file of lives/ whose name begins with `name`. */
static dm_status find_life(const char *root, const dm_dir_entry *entry, void *user, dm_error *error)
{
    char(*found)[2][DM_PATH_MAX] = user; /* what is looked for, what was found */
    (void)error;
    if (strncmp(entry->path, (*found)[0], strlen((*found)[0])) == 0)
        assert_ok(dm_path_join((*found)[1], root, entry->path, err));
    return DM_OK;
}

static void a_life_is_played_again(void **state)
{
    const char *folder = dm_test_path(state, "run"), *gif = dm_test_path(state, "life.gif"),
               *broken = dm_test_path(state, "broken.life");
    static const char *const names[] = {"machine-3-", "machine-0-0", "held-out-2-0"};
    char lives[DM_PATH_MAX], found[2][DM_PATH_MAX] = {{0}}, *bytes;
    size_t size;
    dm_test_result r;
    assert_true(run(folder, 2, 600,
                    (const char *const[]){"--lives", "0,3", "--set", "eval_frames=2000", NULL}));
    dm_test_dotmatrix(&r, "train", "agent", "--resume", folder, "--eval", "4", "--lives", "2");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1 episode in")); /* what follows a measured game is none */
    dm_test_result_free(&r);
    assert_ok(dm_path_join(lives, folder, "lives", err));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(found[0], sizeof found[0], "%s", names[i]);
        found[1][0] = 0;
        assert_ok(dm_dir_walk(lives, find_life, &found, err));
        assert_true(found[1][0] != 0);
        dm_test_dotmatrix(&r, "replay", found[1], "--gif", gif);
        dm_test_expect_exit(&r, 0);
        assert_non_null(strstr(r.out, "the same on this CPU: registers, memory, cycles, rewards"));
        dm_test_result_free(&r);
        assert_true(dm_file_exists(gif));
    }
    /* Other keys lead elsewhere: the first byte behind the state is what was pressed first. */
    dm_agent_life life;
    assert_ok(dm_agent_life_read(found[1], &life, err));
    uint8_t *keys = malloc(life.steps);
    assert_non_null(keys);
    memset(keys, DM_GB_KEY_A | DM_GB_KEY_RIGHT, life.steps);
    life.keys = keys;
    assert_ok(dm_agent_life_write(&life, broken, err));
    free(keys);
    dm_agent_life_deinit(&life);
    dm_test_dotmatrix(&r, "replay", broken);
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "the machine is not where it was at the end"));
    dm_test_result_free(&r);
    /* A damaged file, and another game. */
    assert_ok(dm_file_read(found[1], 0, &bytes, &size, err));
    bytes[size / 2] ^= 1;
    assert_ok(dm_file_write(broken, bytes, size, err));
    free(bytes);
    dm_test_dotmatrix(&r, "replay", broken);
    dm_test_expect_exit(&r, 4);
    assert_non_null(strstr(r.err, "damaged: its hash differs"));
    dm_test_result_free(&r);
    static const char other[] = DM_TEST_BUILD_ROOT "/roms/WARREN.gb";
    dm_test_dotmatrix(&r, "replay", found[1], "--rom", other);
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "the ROM is another than the one that was played"));
    dm_test_result_free(&r);
}

static void what_is_wrong_is_one_line(void **state)
{
    static const struct {
        const char *arguments[8];
        const char *says;
    } cases[] = {
        {{"--reward", "x.c"}, "which game? --rom names a ROM"},
        {{"--rom", rom}, "what is good play? --reward names a file"},
        {{"--rom", rom, "--reward", "not-there.c"}, "not-there.c"},
        {{"--rom", rom, "--reward", "PROGRAM"}, "sets no reward"},
        {{"--rom", rom, "--config", "CONFIG", "--set", "actions=LEFT,JUMP"}, "'JUMP'; keys are"},
        {{"--rom", rom, "--config", "CONFIG", "--set", "rom_sha256=another"}, "another game than"},
        {{"--rom", rom, "--config", "CONFIG", "--set", "random=4000:2"}, "'4000:2'"},
        {{"--rom", rom, "--config", "CONFIG", "--set", "start=soon"}, "'soon'"},
        {{"--rom", rom, "--config", "CONFIG", "--set", "horizn=8"}, "did you mean horizon?"},
        {{"--rom", rom, "--config", "CONFIG", "--envs", "16777216"}, "machines do not fit: each"},
        {{"--eval", "3"}, "--eval wants --resume DIR"},
        {{"--rom", rom, "--config", "CONFIG", "--lives", "3,x"}, "'x' is no number"},
        {{"--rom", rom, "--config", "CONFIG", "--lives", "256"}, "--lives: 256; there are 256"},
        {{"--play", "nowhere", "--gif", "a.gif"}, "no run of train agent lies there"},
    };
    static const char nothing[] =
        "import dotmatrix as dm\n@dm.program\n"
        "def step(m: dm.Machine, out: dm.Out):\n    out.terminated = True\n";
    const char *program = dm_test_path(state, "nothing.py");
    assert_ok(dm_file_write(program, nothing, sizeof nothing - 1, err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *arguments[16] = {"train", "agent", "--out", dm_test_path(state, "none")};
        size_t count = strcmp(cases[i].arguments[0], "--play") == 0 ? 2 : 4;
        for (size_t k = 0; k < 8 && cases[i].arguments[k] != NULL; k++)
            arguments[count++] = strcmp(cases[i].arguments[k], "CONFIG") == 0 ? config_path()
                                 : strcmp(cases[i].arguments[k], "PROGRAM") == 0
                                     ? program
                                     : cases[i].arguments[k];
        arguments[count] = NULL;
        dm_test_result r;
        dm_test_run_dotmatrix(NULL, arguments, &r);
        if (r.exit_code == 0 || strstr(r.err, cases[i].says) == NULL ||
            strchr(r.err, '\n') != r.err + strlen(r.err) - 1)
            fail_msg("case %zu says: %s", i, r.err);
        dm_test_result_free(&r);
    }
}

static void a_reward_that_is_no_number_is_shown(void **state)
{
    static const char text[] = "import dotmatrix as dm\n@dm.program(obs=1)\n"
                               "def step(m: dm.Machine, out: dm.Out):\n"
                               "    score = float(dm.u8(m, 0xC001))\n"
                               "    out.obs[0] = score\n    out.reward = score / score\n";
    const char *program = dm_test_path(state, "nan.py"), *folder = dm_test_path(state, "nan");
    char kept[DM_PATH_MAX];
    assert_ok(dm_file_write(program, text, sizeof text - 1, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "train", "agent", "--rom", rom, "--config", config_path(), "--reward",
                      program, "--set", "machines=8", "--set", "horizon=4", "--set", "curriculum=0",
                      "--set", "starts=4", "--out", folder);
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(r.err, "the reward of machine 0 in step 0 is no number"));
    assert_ok(dm_path_join(kept, folder, "bad-reward.state", err));
    assert_non_null(strstr(r.err, kept));
    assert_true(dm_file_exists(kept));
    dm_test_result_free(&r);
}

DM_TESTS("agent/run", DM_TEST_IN_DIR(killed_runs_end_with_the_same_bits),
         DM_TEST_IN_DIR(an_agent_is_measured_and_filmed), DM_TEST_IN_DIR(a_life_is_played_again),
         DM_TEST_IN_DIR(a_reward_that_is_no_number_is_shown),
         DM_TEST_IN_DIR(what_is_wrong_is_one_line));
