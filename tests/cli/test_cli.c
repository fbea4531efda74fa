/* SPDX-License-Identifier: MIT */
/* The real command, from outside: exit codes, one-line errors, help, JSON. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Run a shell line in which $dm is the command. */
static void shell(dm_test_result *result, const char *line)
{
    const char *other = getenv("DM_TEST_COMMAND");
    setenv("dm", other != NULL ? other : DM_TEST_BUILD_ROOT "/src/cli/dotmatrix", 1);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"sh", "-c", line, NULL}}, result);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text != 0; text++)
        lines += *text == '\n';
    return lines;
}

static void wrong_use_is_one_line_and_code_2(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *says;
    } cases[] = {
        {"$dm", "which command?"},
        {"$dm inof", "unknown command 'inof'; did you mean info?"},
        {"$dm xyzzy", "unknown command 'xyzzy'; dotmatrix --help lists them"},
        {"$dm ''", "unknown command ''"},
        {"$dm help inof", "did you mean info?"},
        {"$dm --log-levle debug", "did you mean --log-level?"},
        {"$dm --log-level", "--log-level needs a value"},
        {"$dm --log-level loud info", "--log-level: 'loud' is not one of error, warn, info, debug"},
        {"$dm info --jsn", "dotmatrix info: unknown option '--jsn'; did you mean --json?"},
        {"$dm info --json=1", "--json takes no value"},
        {"$dm info extra", "unexpected argument 'extra'"},
        {"$dm info -- --json", "unexpected argument '--json'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        shell(&r, cases[i].line);
        assert_int_equal(r.exit_code, DM_EXIT_USAGE);
        assert_string_equal(r.out, "");
        assert_non_null(strstr(r.err, cases[i].says));
        assert_int_equal(count_lines(r.err), 1);
        dm_test_result_free(&r);
    }
}

static void version_is_the_librarys(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm --version");
    assert_int_equal(r.exit_code, 0);
    char expected[64];
    snprintf(expected, sizeof expected, "dotmatrix %s\n", dm_version_string());
    assert_string_equal(r.out, expected);
    dm_test_result_free(&r);
}

static void help_lists_every_command_and_its_options(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm --help");
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    for (size_t i = 0; i < dm_command_count; i++) {
        const dm_command *command = dm_commands[i];
        assert_non_null(strstr(r.out, command->name));
        assert_non_null(strstr(r.out, command->summary));
        static const char *const forms[][2] = {{"", "--help"}, {"help", ""}, {"", "-h"}};
        for (size_t f = 0; f < 3; f++) {
            char line[128];
            snprintf(line, sizeof line, "$dm %s %s %s", forms[f][0], command->name, forms[f][1]);
            dm_test_result one;
            shell(&one, line);
            assert_int_equal(one.exit_code, 0);
            assert_string_equal(one.err, "");
            assert_non_null(strstr(one.out, "--log-level"));
            for (size_t o = 0; o < command->option_count; o++) {
                char option[80];
                snprintf(option, sizeof option, "  --%s", command->options[o].name);
                assert_non_null(strstr(one.out, option));
            }
            dm_test_result_free(&one);
        }
    }
    dm_test_result_free(&r);
}

static void commands_are_documented(void **state)
{
    (void)state;
    char *text;
    size_t size;
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/docs/cli.md"))
        dm_test_skip("the sources are not here");
    assert_ok(dm_file_read(DM_TEST_SOURCE_ROOT "/docs/cli.md", 0, &text, &size, err));
    for (size_t i = 0; i < dm_command_count; i++) {
        char heading[64];
        snprintf(heading, sizeof heading, "\n## `%s`", dm_commands[i]->name);
        if (strstr(text, heading) == NULL)
            fail_msg("docs/cli.md has no section '%s'", heading + 1);
        for (size_t o = 0; o < dm_commands[i]->option_count; o++) {
            char option[80];
            snprintf(option, sizeof option, "`--%s", dm_commands[i]->options[o].name);
            if (strstr(text, option) == NULL)
                fail_msg("docs/cli.md does not mention %s", option);
        }
    }
    free(text);
}

/* Takes `\\-` for `-`, as roff does. */
static void undo_roff(char *text)
{
    char *to = text;
    for (; *text != 0; text++)
        if (text[0] != '\\' || text[1] != '-')
            *to++ = *text;
    *to = 0;
}

/* The man page has each row of the table in docs/cli.md and no other: the same code, and a text
 * that the document begins with. */
static void exit_codes_of_the_man_page_are_those_of_the_document(void **state)
{
    (void)state;
    char *text;
    size_t size;
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/docs/cli.md"))
        dm_test_skip("the sources are not here");
    assert_ok(dm_file_read(DM_TEST_SOURCE_ROOT "/docs/cli.md", 0, &text, &size, err));
    dm_test_result r;
    shell(&r, "$dm --man");
    assert_int_equal(r.exit_code, 0);
    undo_roff(r.out);
    const char *in_page = strstr(r.out, ".SH EXIT STATUS\n"), *row = strstr(text, "## Exit codes");
    assert_true(in_page != NULL && row != NULL);
    in_page += strlen(".SH EXIT STATUS\n");
    int codes = 0, code, said, used;
    for (row = strstr(row, "\n| 0 |"); row != NULL && sscanf(row, "\n| %d | %n", &code, &used) == 1;
         row = strchr(row + 1, '\n'), codes++) {
        if (sscanf(in_page, ".TP\n.B %d", &said) != 1 || said != code)
            fail_msg("docs/cli.md lists exit code %d, the man page has: %.20s", code, in_page);
        const char *words = strchr(strstr(in_page, ".B "), '\n') + 1;
        size_t length = strcspn(words, "\n");
        if (strncmp(words, row + used, length) != 0)
            fail_msg("exit code %d: the man page says \"%.*s\", docs/cli.md another thing", code,
                     (int)length, words);
        in_page = words + length + 1;
    }
    assert_int_equal(codes, 11);
    assert_memory_equal(in_page, ".SH ", 4); /* the page lists no more */
    dm_test_result_free(&r);
    free(text);
}

static void every_status_has_its_exit_code(void **state)
{
    (void)state;
    static const struct {
        dm_status status;
        int code;
    } cases[] = {{DM_OK, 0},       {DM_EINVAL, 2},  {DM_ENOMEM, 6},       {DM_EIO, 5},
                 {DM_ENOENT, 4},   {DM_EFORMAT, 4}, {DM_EUNSUPPORTED, 4}, {DM_EUNAVAILABLE, 3},
                 {DM_ECOMPILE, 7}, {DM_EDEVICE, 8}, {DM_EINTERNAL, 70}};
    assert_int_equal(sizeof cases / sizeof cases[0], DM_STATUS_COUNT);
    for (size_t i = 0; i < DM_STATUS_COUNT; i++)
        assert_int_equal(dm_cli_exit_code(cases[i].status), cases[i].code);
    assert_int_equal(dm_cli_exit_code((dm_status)999), 70);
}

static void info_writes_the_documented_json(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm info --json");
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    json_t *root = NULL;
    assert_ok(dm_json_parse(r.out, strlen(r.out), "info", &root, err));
    static const char *const keys[][2] = {
        {"build", "version"},
        {"build", "commit"},
        {"build", "type"},
        {"build", "compiler"},
        {"machine", "os"},
        {"machine", "architecture"},
        {"machine", "cpu"},
        {"machine", "cores"},
        {"machine", "cpu_features"},
        {"machine", "memory"},
        {"machine", "memory_available"},
        {"compiler", "path"},
        {"compiler", "found"},
        {"compiler", "version"},
        {"compiler", "reason"},
        {"cuda", "found"},
        {"cuda", "reason"},
        {"cuda", "driver"},
        {"cuda", "version"},
        {"cuda", "path"},
        {"cuda", "visible_devices"},
        {"nvrtc", "found"},
        {"nvrtc", "reason"},
        {"nvrtc", "version"},
        {"nvrtc", "path"},
        {"nvrtc", "origin"},
        {"cache", "path"},
        {"cache", "files"},
        {"cache", "bytes"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *section = json_object_get(root, keys[i][0]);
        if (json_object_get(section, keys[i][1]) == NULL)
            fail_msg("no %s.%s", keys[i][0], keys[i][1]);
    }
    json_t *machine = json_object_get(root, "machine");
    assert_true(json_integer_value(json_object_get(machine, "cores")) >= 1);
    assert_true(json_integer_value(json_object_get(machine, "memory")) > 1 << 20);
    json_t *cpu = json_array_get(json_object_get(root, "devices"), 0);
    assert_string_equal(json_string_value(json_object_get(cpu, "id")), "cpu");
    assert_true(json_integer_value(json_object_get(cpu, "multiprocessors")) >= 1);
    assert_non_null(strstr(json_string_value(json_object_get(cpu, "products")), "cpu"));
    assert_null(json_object_get(cpu, "selftest"));
    json_t *components = json_object_get(root, "components");
    assert_true(json_array_size(components) >= 5);
    size_t index;
    json_t *part;
    json_array_foreach(components, index, part)
    {
        assert_true(json_is_string(json_object_get(part, "name")));
        assert_true(json_is_string(json_object_get(part, "install")));
        bool found = json_is_true(json_object_get(part, "found"));
        assert_true(found == json_is_string(json_object_get(part, "where")));
    }
    json_decref(root);
    dm_test_result_free(&r);
}

static void the_selftest_passes_on_every_device(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm info --json --selftest");
    dm_test_expect_exit(&r, 0);
    json_t *root = NULL;
    assert_ok(dm_json_parse(r.out, strlen(r.out), "info", &root, err));
    size_t index;
    json_t *device;
    json_array_foreach(json_object_get(root, "devices"), index, device)
    {
        json_t *results = json_object_get(device, "selftest");
        assert_true(json_array_size(results) >= 3);
        for (size_t i = 0; i < json_array_size(results); i++)
            assert_true(json_is_true(json_object_get(json_array_get(results, i), "passed")));
    }
    json_decref(root);
    dm_test_result_free(&r);
}

static void a_missing_compiler_is_told(void **state)
{
    dm_test_result r;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    shell(&r, "CC=/nowhere/cc $dm info --json");
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    json_t *root = NULL;
    assert_ok(dm_json_parse(r.out, strlen(r.out), "info", &root, err));
    json_t *compiler = json_object_get(root, "compiler");
    assert_true(json_is_false(json_object_get(compiler, "found")));
    assert_true(json_is_string(json_object_get(compiler, "reason")));
    json_decref(root);
    dm_test_result_free(&r);

    shell(&r, "CC=/nowhere/cc $dm info --selftest"); /* with the kernels that are built in */
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

/* A report about what is missing is an answer; a self-test that could not run is an error. */
static void a_broken_compiler_fails_the_selftest(void **state)
{
    dm_test_result r;
    setenv("d", dm_test_dir(state), 1);
    setenv("DM_CACHE_DIR", dm_test_path(state, "cache"), 1);
    shell(&r, "printf '#!/bin/sh\\ntest \"$1\" = --version && echo cc 1.0 && exit\\n"
              "echo out of order >&2; exit 1\\n' >$d/cc; chmod +x $d/cc\n"
              "CC=$d/cc $dm info --selftest");
    dm_test_expect_exit(&r, DM_EXIT_COMPILE);
    assert_int_equal(count_lines(r.err), 1);
    assert_non_null(strstr(r.err, "dotmatrix info: "));
    assert_non_null(strstr(r.err, "out of order"));
    assert_non_null(strstr(r.out, "components")); /* the rest of the report is there */
    dm_test_result_free(&r);
}

static void info_works_without_an_environment(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "env -i $dm info --json");
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    dm_test_result_free(&r);
}

static void lost_output_is_an_error(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm info >&-");
    assert_int_equal(r.exit_code, DM_EXIT_IO);
    assert_non_null(strstr(r.err, "dotmatrix: cannot write to standard output: "));
    assert_int_equal(count_lines(r.err), 1);
    dm_test_result_free(&r);
    shell(&r, "$dm info --json >/dev/full");
    assert_int_equal(r.exit_code, DM_EXIT_IO);
    assert_int_equal(count_lines(r.err), 1);
    dm_test_result_free(&r);
}

static void a_reader_may_leave_early(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "{ $dm info --json; echo code $? >&2; } | true");
    assert_string_equal(r.err, "code 0\n");
    dm_test_result_free(&r);
}

static void closed_stderr_does_not_hurt(void **state)
{
    (void)state;
    dm_test_result r;
    shell(&r, "$dm nonsense 2>&- <&-");
    assert_int_equal(r.exit_code, DM_EXIT_USAGE);
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

DM_TESTS("cli/cli", DM_TEST(wrong_use_is_one_line_and_code_2), DM_TEST(version_is_the_librarys),
         DM_TEST(help_lists_every_command_and_its_options), DM_TEST(commands_are_documented),
         DM_TEST(exit_codes_of_the_man_page_are_those_of_the_document),
         DM_TEST(every_status_has_its_exit_code), DM_TEST(info_writes_the_documented_json),
         DM_TEST(the_selftest_passes_on_every_device), DM_TEST_IN_DIR(a_missing_compiler_is_told),
         DM_TEST_IN_DIR(a_broken_compiler_fails_the_selftest),
         DM_TEST(info_works_without_an_environment), DM_TEST(lost_output_is_an_error),
         DM_TEST(a_reader_may_leave_early), DM_TEST(closed_stderr_does_not_hurt))
