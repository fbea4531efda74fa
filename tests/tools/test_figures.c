/* SPDX-License-Identifier: MIT */
/* tools/figures: the documents' tables are what the artifacts say, and it notices when not. */
#include "base/file.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *script(void)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/tools/figures", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    return path;
}

static void run(const char *const *argv, int code, const char *text)
{
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, code);
    if (text[0] != 0 && strstr(r.err, text) == NULL)
        fail_msg("'%s' is not in: %s", text, r.err);
    dm_test_result_free(&r);
}
#define figures(code, text, ...)                                                                   \
    run((const char *const[]){"python3", "-B", script(), __VA_ARGS__, NULL}, code, text)

static void write_text(void **state, const char *name, const char *text)
{
    assert_ok(dm_file_write(dm_test_path(state, name), text, strlen(text), err));
}

#define TEXT_MAX 16384
static void read_text(void **state, const char *name, char out[TEXT_MAX])
{
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, name), TEXT_MAX - 1, &bytes, &size, err));
    memcpy(out, bytes, size);
    out[size] = 0;
    free(bytes);
}

/* What is here is what was measured. */
static void the_documents_are_what_the_artifacts_say(void **state)
{
    (void)state;
    figures(DM_EXIT_OK, "", "--check");
}

/* Two games, of which ours is 2 and 8 times as fast as mGBA on two threads; PyBoy 1 and 4 times. */
static void write_artifact(void **state, const char *name, const char *commit, const char *games)
{
    static const struct {
        const char *backend, *how;
        int fps[2];
    } rows[] = {{"vec_cpu", "\"is_reference\": false, \"envs\": 2048", {200000, 80000}},
                {"mgba_vec_mt", "\"is_reference\": true, \"threads\": 1", {60000, 6000}},
                {"mgba_vec_mt", "\"is_reference\": true, \"threads\": 2", {100000, 10000}},
                {"pyboy_vec_mp", "\"is_reference\": true, \"threads\": 2", {200000, 20000}}};
    char text[8192];
    int used = snprintf(
        text, sizeof text,
        "{\"schema\": \"dotmatrix-bench-2\", \"partial\": false, \"configuration\": "
        "{\"diverge_machines\": "
        "8, \"diverge_frames\": 9, \"frames_per_step\": 24, "
        "\"rounds\": 3, \"window_seconds\": 1, \"reference_machines\": 8}, "
        "\"provenance\": {\"time\": \"2030-01-02T03:04:05Z\", \"build\": {\"commit\": \"%s\"}, "
        "\"machine\": {\"cpu\": \"Test CPU\", \"cores\": 2}, \"backends\": {\"mgba_vec_mt\": "
        "\"1.0\", \"pyboy_vec_mp\": \"2.0\"}}, \"results\": [",
        commit);
    for (size_t g = 0; games[g] != 0; g++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "%s{\"backend\": \"%s\", %s, \"folder\": \"roms\", \"rom\": "
                             "\"%c.gb\", \"stage\": \"full_step\", \"synchronized\": true, "
                             "\"window_seconds\": [1, 1.5], \"fps\": %d}",
                             g + i > 0 ? ", " : "", rows[i].backend, rows[i].how, games[g],
                             rows[i].fps[games[g] - 'A']);
    snprintf(text + used, sizeof text - (size_t)used, "]}");
    write_text(state, name, text);
}

static void make_tree(void **state)
{
    assert_ok(dm_dir_create(dm_test_path(state, "docs/results/cpu"), err));
    assert_ok(dm_dir_create(dm_test_path(state, "tools"), err));
    write_text(state, "tools/games.tsv", "# none\n");
    write_text(state, "README.md",
               "Before.\n<!-- figures: headline -->\nold\n<!-- end of figures -->\nAfter.\n");
    write_artifact(state, "docs/results/cpu/artifact-1.json", "abc", "AB");
}

static void a_block_is_written_and_compared(void **state)
{
    char root[DM_PATH_MAX];
    make_tree(state);
    snprintf(root, sizeof root, "%s", dm_test_dir(state));
    figures(DM_EXIT_NEGATIVE, "README.md: not what the artifacts say", "--check", "--root", root);
    figures(DM_EXIT_OK, "", "--root", root);
    figures(DM_EXIT_OK, "", "--check", "--root", root);
    char text[TEXT_MAX];
    read_text(state, "README.md", text);
    static const char row[] =
        "| A and B, `full_step` | 126,000 | 4.00 (2.00 to 8.00) | 2.00 (1.00 to 4.00) |";
    if (strstr(text, row) == NULL || strstr(text, "Before.\n") == NULL ||
        strstr(text, "\nAfter.\n") == NULL || strstr(text, "old") != NULL)
        fail_msg("%s", text);
    size_t at = (size_t)(strstr(text, "126,000") - text);
    text[at] = '2'; /* a figure that was not measured */
    write_text(state, "README.md", text);
    figures(DM_EXIT_NEGATIVE, "README.md: not what the artifacts say", "--check", "--root", root);
}

static void what_does_not_belong_together_is_refused(void **state)
{
    char root[DM_PATH_MAX];
    make_tree(state);
    snprintf(root, sizeof root, "%s", dm_test_dir(state));
    write_artifact(state, "docs/results/cpu/artifact-2.json", "def", "A");
    figures(DM_EXIT_NEGATIVE, "artifacts of more than one commit", "--root", root);
    write_text(state, "docs/results/cpu/artifact-2.json", "{\"schema\": \"dotmatrix-bench-0\"}");
    figures(DM_EXIT_NEGATIVE, "schema 'dotmatrix-bench-0'", "--root", root);
    assert_ok(dm_dir_remove(dm_test_path(state, "docs/results/cpu"), err));
    write_text(state, "README.md", "<!-- figures: speed -->\n<!-- end of figures -->\n");
    figures(DM_EXIT_NEGATIVE, "no figures called 'speed'", "--root", root);
    write_text(state, "README.md", "<!-- figures: headline -->\n");
    figures(DM_EXIT_NEGATIVE, "has no end", "--root", root);
}

static void pieces_become_one_artifact(void **state)
{
    char out[DM_PATH_MAX], a[DM_PATH_MAX], b[DM_PATH_MAX], c[DM_PATH_MAX];
    write_artifact(state, "a.json", "abc", "A");
    write_artifact(state, "b.json", "abc", "B");
    write_artifact(state, "c.json", "def", "B");
    snprintf(out, sizeof out, "%s", dm_test_path(state, "out.json"));
    snprintf(a, sizeof a, "%s", dm_test_path(state, "a.json"));
    snprintf(b, sizeof b, "%s", dm_test_path(state, "b.json"));
    snprintf(c, sizeof c, "%s", dm_test_path(state, "c.json"));
    figures(DM_EXIT_NEGATIVE, "another build", "--merge", out, a, c);
    figures(DM_EXIT_NEGATIVE, "is in another one, too", "--merge", out, a, b, a);
    assert_false(dm_file_exists(out));
    figures(DM_EXIT_OK, "", "--merge", out, a, b);
    char text[TEXT_MAX];
    read_text(state, "out.json", text);
    assert_non_null(strstr(text, "\"A.gb\""));
    assert_non_null(strstr(text, "\"B.gb\""));
}

DM_TESTS("tools/figures", DM_TEST(the_documents_are_what_the_artifacts_say),
         DM_TEST_IN_DIR(a_block_is_written_and_compared),
         DM_TEST_IN_DIR(what_does_not_belong_together_is_refused),
         DM_TEST_IN_DIR(pieces_become_one_artifact));
