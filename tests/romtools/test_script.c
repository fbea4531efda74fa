/* SPDX-License-Identifier: MIT */
#include "romtools/script.h"

#include "base/file.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/gb.h>

#include <stdio.h>
#include <string.h>

static void reads_lines_comments_and_blanks(void **state)
{
    (void)state;
    static const char text[] = "# a comment\n"
                               "0 -\r\n"
                               "\n"
                               "   12\tA # jump\n"
                               "13 a,right\n"
                               "14 Up,DOWN,left,B,SELECT,start\n"
                               "999999999999 RIGHT";
    static const dm_gb_script_line expected[] = {
        {0, 0},
        {12, DM_GB_KEY_A},
        {13, DM_GB_KEY_A | DM_GB_KEY_RIGHT},
        {14, 0xFF & ~(DM_GB_KEY_A | DM_GB_KEY_RIGHT)},
        {999999999999, DM_GB_KEY_RIGHT},
    };
    dm_gb_script script;
    assert_ok(dm_gb_script_parse(&script, "keys.txt", text, strlen(text), err));
    assert_int_equal(script.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(script.lines[i].frame, expected[i].frame);
        assert_int_equal(script.lines[i].keys, expected[i].keys);
    }
    dm_gb_script_deinit(&script);
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
        const char *says;
    } cases[] = {
        {"x A\n", 1, "'x' is no frame number"},
        {"0 A\n-1 B\n", 2, "'-1' is no frame number"},
        {"1.5 A", 1, "'1.5' is no frame number"},
        {"0 A\n\n5\n", 3, "the keys are missing"},
        {"0 A B\n", 1, "joined by commas"},
        {"0 JUMP\n", 1, "'JUMP' is no key"},
        {"0 A,\n", 1, "'' is no key"},
        {"0 ,A\n", 1, "'' is no key"},
        {"0 A,-\n", 1, "'-' is no key"},
        {"0 AA\n", 1, "'AA' is no key"},
        {"5 A\n5 B\n", 2, "frame 5 comes after frame 5"},
        {"5 A\n# x\n4 B\n", 3, "frame 4 comes after frame 5"},
        {"1000000000001 A\n", 1, "so many frames"},
        {"99999999999999999999999999 A\n", 1, "so many frames"},
        {"0 \x01\xFF\n", 1, "is no key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_gb_script script;
        dm_error err;
        assert_int_equal(
            dm_gb_script_parse(&script, "k.txt", cases[i].text, strlen(cases[i].text), &err),
            DM_EFORMAT);
        assert_string_equal(err.file, "k.txt");
        assert_int_equal(err.line, cases[i].line);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        assert_null(script.lines);
        assert_int_equal(script.count, 0);
    }
}

static void an_empty_text_presses_nothing(void **state)
{
    (void)state;
    dm_gb_script script;
    assert_ok(dm_gb_script_parse(&script, "k.txt", "", 0, err));
    assert_int_equal(script.count, 0);
    dm_gb_script_deinit(&script);
}

static void loads_files(void **state)
{
    dm_gb_script script;
    dm_error err;
    const char *path = dm_test_path(state, "keys.txt");
    assert_int_equal(dm_gb_script_load(&script, path, &err), DM_ENOENT);
    dm_gb_script_deinit(&script);
    char many[16 * 1000];
    size_t size = 0;
    for (unsigned i = 0; i < 1000; i++)
        size += (size_t)sprintf(many + size, "%u %s\n", i * 3, i % 2 == 0 ? "A" : "-");
    assert_ok(dm_file_write(path, many, size, err));
    assert_ok(dm_gb_script_load(&script, path, err));
    assert_int_equal(script.count, 1000);
    assert_int_equal(script.lines[998].frame, 2994);
    assert_int_equal(script.lines[998].keys, DM_GB_KEY_A);
    dm_gb_script_deinit(&script);
}

DM_TESTS("romtools/script", DM_TEST(reads_lines_comments_and_blanks),
         DM_TEST(errors_name_file_and_line), DM_TEST(an_empty_text_presses_nothing),
         DM_TEST_IN_DIR(loads_files))
