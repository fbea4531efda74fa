/* SPDX-License-Identifier: MIT */
#include "tests/support/test.h"

#include <string.h>

static void fail_fills_and_returns(void **state)
{
    (void)state;
    dm_error err;
    assert_int_equal(dm_fail(&err, DM_EIO, "disk %d", 7), DM_EIO);
    assert_int_equal(err.status, DM_EIO);
    assert_string_equal(err.message, "disk 7");
    assert_string_equal(err.file, "");
    assert_int_equal(err.line, 0);
}

static void fail_accepts_no_error(void **state)
{
    (void)state;
    assert_int_equal(dm_fail(NULL, DM_ENOENT, "gone"), DM_ENOENT);
    dm_error_prefix(NULL, "no %s", "where");
}

static void fail_at_keeps_the_place(void **state)
{
    (void)state;
    dm_error err;
    dm_fail_at(&err, DM_ECOMPILE, "k.py", 12, "what is this");
    assert_string_equal(err.file, "k.py");
    assert_int_equal(err.line, 12);
}

static void prefix_goes_before(void **state)
{
    (void)state;
    dm_error err;
    dm_fail(&err, DM_EIO, "inner");
    dm_error_prefix(&err, "outer %d", 1);
    assert_string_equal(err.message, "outer 1: inner");
    assert_int_equal(err.status, DM_EIO);
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    dm_error err;
    char text[3 * DM_ERROR_MESSAGE_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    dm_fail(&err, DM_EINVAL, "%s", text);
    assert_int_equal(strlen(err.message), DM_ERROR_MESSAGE_MAX - 1);
    dm_error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.message), DM_ERROR_MESSAGE_MAX - 1);
}

/* Names and texts come from files: what would move a terminal's cursor is not repeated. */
static void messages_are_one_line(void **state)
{
    (void)state;
    dm_error err;
    dm_fail(&err, DM_EFORMAT, "'%s' is no\tword", "a\nb\033[2J\x7F\xC3\xA9");
    assert_string_equal(err.message, "'a b?[2J?\xC3\xA9' is no word");
    dm_error_prefix(&err, "%s", "x\ry");
    assert_string_equal(err.message, "x?y: 'a b?[2J?\xC3\xA9' is no word");
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    for (int s = 0; s < DM_STATUS_COUNT; s++)
        assert_string_not_equal(dm_status_name((dm_status)s), "unknown status");
    assert_string_equal(dm_status_name((dm_status)999), "unknown status");
}

static void version_agrees_with_its_text(void **state)
{
    (void)state;
    assert_int_equal(dm_version(), DM_VERSION);
    assert_string_equal(dm_version_string(), "0.2.0");
}

DM_TESTS("base/error", DM_TEST(fail_fills_and_returns), DM_TEST(fail_accepts_no_error),
         DM_TEST(fail_at_keeps_the_place), DM_TEST(prefix_goes_before),
         DM_TEST(long_messages_are_cut), DM_TEST(messages_are_one_line),
         DM_TEST(every_status_has_a_name), DM_TEST(version_agrees_with_its_text))
