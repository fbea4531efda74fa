/* SPDX-License-Identifier: MIT */
/* test_load.c - a dataset in pandas, datasets and DuckDB, where they are installed: for python3, or
 * for the one that $DM_DATA_PYTHON names (tools/requirements-data.txt). */
#include "base/file.h"
#include "synth/check/compile.h"
#include "synth/produce.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 30, SKIPPED = 77 };

static void loads_in_the_usual_tools(void **state)
{
    char script[DM_PATH_MAX], cache[DM_PATH_MAX + 32];
    dm_synth_produced made;
    dm_test_result r;
    const char *folder = dm_test_path(state, "set"), *python = getenv("DM_DATA_PYTHON");
    dm_synth_produce_options options = {.folder = folder,
                                        .count = PAIRS,
                                        .seed = 3,
                                        .texts = DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_CUDA,
                                        .shard_lines = 12,
                                        .jobs = 1,
                                        .ranks = 1,
                                        .quiet = true};
    every_category(&options);
    assert_ok(dm_synth_produce(&options, &made, err));
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/synth/load_test.py", err));
    snprintf(cache, sizeof cache, "LOAD_TEST_CACHE=%s", dm_test_path(state, "cache"));
    const char *const argv[] = {python == NULL ? "python3" : python, script, folder, "30", NULL};
    const char *const env[] = {cache, "HF_HUB_OFFLINE=1", NULL};
    dm_test_run(&(dm_test_command){.argv = argv, .env = env, .seconds = 120}, &r);
    if (r.exit_code == SKIPPED) {
        dm_test_result_free(&r);
        dm_test_skip("neither pandas, datasets nor DuckDB is installed "
                     "(tools/requirements-data.txt, $DM_DATA_PYTHON)");
    }
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, " ok\n"));
    dm_test_result_free(&r);
}

DM_TESTS("synth/load", DM_TEST_IN_DIR(loads_in_the_usual_tools))
