/* SPDX-License-Identifier: MIT */
/* `dotmatrix reward check` and `run --reward`: what they say of STARFALL's reward, played by a script. */
#include "base/file.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static const char rom[] = DM_TEST_BUILD_ROOT "/roms/STARFALL.gb";
static const char reward[] = DM_TEST_SOURCE_ROOT "/rewards/starfall.py";

static const char *script(void **state)
{
    static const char text[] = "20 START\n24 -\n";
    const char *path = dm_test_path(state, "keys.txt");
    assert_ok(dm_file_write(path, text, sizeof text - 1, err));
    return path;
}

/* Lives are given, stars caught and missed; the game is over in frame 432. */
static void one_machine_stops_at_the_end_of_the_episode(void **state)
{
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--reward", reward, "--frames", "6000", "--input",
                      script(state));
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "step 0      reward 6          return 6"));
    assert_non_null(strstr(r.out, "step 17     reward -2         return 1          terminated"));
    assert_non_null(strstr(r.out, "the episode ended in frame 432"));
    assert_non_null(strstr(r.out, "metric     score: 1 in the last step; at an episode's end 1"));
    dm_test_result_free(&r);
}

static void check_says_the_same_of_a_script(void **state)
{
    dm_test_result r;
    dm_test_dotmatrix(&r, "reward", "check", reward, "--rom", rom, "--input", script(state),
                      "--envs", "4", "--steps", "60");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "memory     8 bytes a machine"));
    assert_non_null(strstr(r.out, "random play: 4 machines, 60 steps of 24 frames"));
    assert_non_null(strstr(r.out, "step 17     reward -2         return 1          terminated"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "reward", "check", reward, "--rom", rom, "--input", script(state),
                      "--envs", "4", "--steps", "60", "--json");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "\"frames\": 432"));
    assert_non_null(strstr(r.out, "\"mean_return\": 1.0"));
    dm_test_result_free(&r);
}

/* START in the second step, and nothing else. */
static void a_swarm_plays_a_file_of_actions(void **state)
{
    char text[4 * 70 + 1] = "";
    const char *actions = dm_test_path(state, "actions.txt");
    for (int i = 0; i < 60; i++)
        strcat(text, i == 1 ? "START\n" : "0\n");
    assert_ok(dm_file_write(actions, text, strlen(text), err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--backend", "vec_cpu", "--envs", "2", "--steps",
                      "60", "--reward", reward, "--actions-file", actions, "--json");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "\"machine_steps\": 120"));
    assert_non_null(strstr(r.out, "\"highest\": 6.0"));
    dm_test_result_free(&r);
}

/* A state that a run saves carries the program's memory, and the next run goes on with it. */
static void a_saved_run_goes_on(void **state)
{
    static const char text[] = "import dotmatrix as dm\n@dm.memory\nclass Memory:\n    steps: int\n"
                               "@dm.program\ndef step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
                               "    mem.steps += int(m.step > 0)\n"
                               "    out.reward = float(mem.steps)\n";
    char saved[DM_PATH_MAX];
    dm_test_result r;
    strcpy(saved, dm_test_path(state, "saved.state"));
    const char *path = dm_test_path(state, "steps.py");
    assert_ok(dm_file_write(path, text, sizeof text - 1, err));
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--reward", path, "--frames", "48", "--save", saved);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "step 1      reward 2 "));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--reward", path, "--frames", "24", "--load", saved);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "step 0      reward 3 "));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--reward", reward, "--frames", "24", "--load",
                      saved);
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    assert_non_null(strstr(r.err, "saved.state: it was saved with a reward program whose memory "
                                  "has other fields than this one's"));
    dm_test_result_free(&r);
}

static void a_mistake_is_told_with_line_and_caret(void **state)
{
    static const char text[] =
        "import dotmatrix as dm\n@dm.program\ndef step(m: dm.Machine, out: dm.Out):\n"
        "    out.reward = float(dm.u9(m, 0xC000))\n";
    const char *path = dm_test_path(state, "wrong.py");
    assert_ok(dm_file_write(path, text, sizeof text - 1, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "reward", "check", path, "--rom", rom);
    dm_test_expect_exit(&r, DM_EXIT_COMPILE);
    assert_non_null(strstr(r.err, "wrong.py:4:24: error: the module has no 'u9' for programs\n"));
    assert_non_null(strstr(r.err, "                       ^~~~~\n    hint: did you mean 'u8'?\n"));
    dm_test_result_free(&r);
}

/* A program that rewards nothing is doubted. */
static void nothing_rewarded_is_doubtful(void **state)
{
    static const char text[] =
        "import dotmatrix as dm\n@dm.program\ndef step(m: dm.Machine, out: dm.Out):\n"
        "    out.reward = 0.0\n";
    const char *path = dm_test_path(state, "none.py");
    assert_ok(dm_file_write(path, text, sizeof text - 1, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "reward", "check", path, "--rom", rom, "--steps", "5");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "doubtful   no step was rewarded"));
    dm_test_result_free(&r);
}

DM_TESTS("cli/reward", DM_TEST_IN_DIR(one_machine_stops_at_the_end_of_the_episode),
         DM_TEST_IN_DIR(check_says_the_same_of_a_script),
         DM_TEST_IN_DIR(a_swarm_plays_a_file_of_actions), DM_TEST_IN_DIR(a_saved_run_goes_on),
         DM_TEST_IN_DIR(a_mistake_is_told_with_line_and_caret),
         DM_TEST_IN_DIR(nothing_rewarded_is_doubtful))
