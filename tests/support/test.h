/* SPDX-License-Identifier: MIT */
/* test.h - how tests are written here.
 *
 * A test file holds one group, named after the source it tests, and registers it by itself:
 *
 *     #include "tests/support/test.h"
 *
 *     static void starts_empty(void **state) { (void)state; assert_int_equal(...); }
 *
 *     DM_TESTS("base/arena", DM_TEST(starts_empty), DM_TEST(grows));
 *
 * The assertions are cmocka's. The runner (runner.c) runs each group in a process of its own,
 * several at a time, and prints one closing line: `N passed, N failed, N skipped`. */
#ifndef DM_TESTS_SUPPORT_TEST_H
#define DM_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above before it. */
#include <cmocka.h>

#include <dotmatrix/base.h>

typedef struct dm_test_group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
    struct dm_test_group *next;
} dm_test_group;

void dm_test_register(dm_test_group *group);

#define DM_TEST(function) cmocka_unit_test(function)
#define DM_TESTS(group_name, ...)                                                                  \
    static const struct CMUnitTest dm_group_tests[] = {__VA_ARGS__};                               \
    static dm_test_group dm_group = {group_name, dm_group_tests,                                   \
                                     sizeof dm_group_tests / sizeof dm_group_tests[0], NULL};      \
    __attribute__((constructor)) static void dm_group_register(void)                               \
    {                                                                                              \
        dm_test_register(&dm_group);                                                               \
    }

/* End the running test as skipped; the reason is printed and counted. */
#define dm_test_skip(...)                                                                          \
    do {                                                                                           \
        dm_test_note_skip(__VA_ARGS__);                                                            \
        skip();                                                                                    \
    } while (0)
void dm_test_note_skip(const char *format, ...) DM_PRINTF(1, 2);

/* The root of the source tree: $DM_TEST_SOURCE_ROOT, for programs that run on another machine than
 * they were built on, else where they were built. */
const char *dm_test_source_root(void);

/* Fail unless the call gives DM_OK; shows its error. The call passes `err`, which is a pointer here
 * whatever the test itself calls so. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        _Pragma("GCC diagnostic push");                                                            \
        _Pragma("GCC diagnostic ignored \"-Wshadow\"");                                            \
        dm_error ok_err_ = {0};                                                                    \
        dm_error *err = &ok_err_;                                                                  \
        dm_status ok_status_ = (call);                                                             \
        if (ok_status_ != DM_OK)                                                                   \
            fail_msg("%s: %s: %s", #call, dm_status_name(ok_status_), err->message);               \
        _Pragma("GCC diagnostic pop");                                                             \
    } while (0)

/* Two numbers no further apart than a tolerance; float64, which cmocka's own has not. */
#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a_ = (a), near_b_ = (b);                                                       \
        if (!(near_a_ - near_b_ <= (tolerance) && near_b_ - near_a_ <= (tolerance)))               \
            fail_msg("%s is %.17g, %s is %.17g", #a, near_a_, #b, near_b_);                        \
    } while (0)

#endif
