/* SPDX-License-Identifier: MIT */
/* test_peer.c - training's files and tokens beside other people's programs: GPT-2's byte pairs by
 * tiktoken, a GPT's weights by safetensors and numpy. Skipped where no Python has these
 * (dm_test_python_with). */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"

#include <stdlib.h>
#include <string.h>

static const char *program(void)
{
    const char *named = getenv("DM_TEST_COMMAND");
    return named != NULL && *named != 0 ? named : DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";
}

static void run(const char *const *argv, const char *said)
{
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, said));
    dm_test_result_free(&r);
}

static void byte_pairs_equal_tiktokens(void **state)
{
    char cache[DM_PATH_MAX], vocabulary[DM_PATH_MAX], script[DM_PATH_MAX];
    const char *python = dm_test_python_with("tiktoken, regex, numpy");
    small_text(state, "text.txt");
    assert_ok(dm_path_cache(cache, err));
    assert_ok(dm_path_join(vocabulary, cache, "data/gpt2/vocab.bpe", err));
    if (!dm_file_exists(vocabulary))
        dm_test_skip("GPT-2's vocabulary is not in the cache folder (dotmatrix train data)");
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/train/bpe_peer.py", err));
    const char *const argv[] = {python,      script,    dm_test_path(state, "text.txt"),
                                "--program", program(), "--bytes",
                                "30000",     NULL};
    run(argv, "30000 random bytes: ");
}

static void weights_mean_the_same_to_others(void **state)
{
    char script[DM_PATH_MAX];
    const char *python = dm_test_python_with("safetensors, numpy");
    small_text(state, "text.txt");
    const char *text = dm_test_path(state, "text.txt"), *folder = dm_test_path(state, "run");
    dm_test_result r;
    dm_test_dotmatrix(&r, "train", "gpt", "--data", text, "--out", folder, "--steps", "30", "--set",
                      "layers=2", "--set", "width=24", "--set", "heads=3", "--set", "context=20");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/train/weights_peer.py", err));
    const char *const argv[] = {python, script,      folder,    "--data",
                                text,   "--program", program(), NULL};
    run(argv, "28 tensors");
}

DM_TESTS("train/peer", DM_TEST_IN_DIR(byte_pairs_equal_tiktokens),
         DM_TEST_IN_DIR(weights_mean_the_same_to_others))
