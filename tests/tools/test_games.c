/* SPDX-License-Identifier: MIT */
/* tools/games: the list of homebrew games, and what it does about files that are not those. */
#include "base/file.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run(const char *argument, int code, const char *out, const char *message)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/tools/games", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    const char *argv[] = {path, argument, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, code);
    if (out[0] != 0 && strstr(r.out, out) == NULL)
        fail_msg("'%s' is not in: %s", out, r.out);
    if (message[0] != 0 && strstr(r.err, message) == NULL)
        fail_msg("'%s' is not in: %s", message, r.err);
    dm_test_result_free(&r);
}

/* At least twelve, each with a checksum and a licence. */
static void the_list_is_whole(void **state)
{
    (void)state;
    char path[DM_PATH_MAX], *text, *save = NULL;
    size_t size, games = 0;
    snprintf(path, sizeof path, "%s/tools/games.tsv", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (line[0] == '#')
            continue;
        const char *sum = strchr(line, '\t') + 1;
        assert_int_equal(strspn(sum, "0123456789abcdef"), 64);
        size_t tabs = 0;
        for (const char *c = line; *c != 0; c++)
            tabs += *c == '\t';
        assert_int_equal(tabs, 5);
        games++;
    }
    assert_true(games >= 12);
    free(text);
    run("--list", DM_EXIT_OK, "renegade-rush", "");
}

static void other_files_are_refused(void **state)
{
    setenv("DM_GAMES_URL", "file:///nowhere", 1);
    assert_ok(dm_file_write(dm_test_path(state, "2048gb.gb"), "text", 4, err));
    run(dm_test_dir(state), DM_EXIT_INPUT, "", "is not the game of the list");
    run("--all", DM_EXIT_USAGE, "", "unknown option --all");
    unsetenv("DM_GAMES_URL");
}

DM_TESTS("tools/games", DM_TEST(the_list_is_whole), DM_TEST_IN_DIR(other_files_are_refused));
