/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

static void empty_has_text(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    assert_string_equal(dm_buffer_text(&b), "");
    char *taken = dm_buffer_take(&b);
    assert_non_null(taken);
    assert_string_equal(taken, "");
    free(taken);
    dm_buffer_deinit(&b);
}

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    for (int i = 0; i < 10000; i++) {
        dm_buffer_putc(&b, (char)('a' + i % 26));
        assert_int_equal(b.data[b.size], 0);
    }
    assert_int_equal(b.size, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(b.data[i], 'a' + i % 26);
    dm_buffer_deinit(&b);
    assert_null(b.data);
}

static void holds_bytes_with_nul(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    dm_buffer_append(&b, "a\0b", 3);
    dm_buffer_append(&b, NULL, 0);
    assert_int_equal(b.size, 3);
    assert_memory_equal(b.data, "a\0b\0", 4);
    dm_buffer_deinit(&b);
}

/* Texts that end just before, at and after the capacity. */
static void printf_at_every_length(void **state)
{
    (void)state;
    char text[300];
    for (int prefix = 0; prefix < 140; prefix++) {
        for (int length = 0; length < 140; length++) {
            dm_buffer b = DM_BUFFER_EMPTY;
            memset(text, 'x', sizeof text);
            dm_buffer_append(&b, text, (size_t)prefix);
            dm_buffer_printf(&b, "%.*s", length, text);
            assert_int_equal(b.size, prefix + length);
            assert_int_equal(strlen(dm_buffer_text(&b)), b.size);
            dm_buffer_deinit(&b);
        }
    }
}

static void clear_keeps_memory(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    dm_buffer_puts(&b, "hello");
    const char *data = b.data;
    dm_buffer_clear(&b);
    assert_string_equal(dm_buffer_text(&b), "");
    dm_buffer_puts(&b, "x");
    assert_ptr_equal(b.data, data);
    assert_string_equal(b.data, "x");
    dm_buffer_deinit(&b);
}

/* No memory for SIZE_MAX/2 bytes: the buffer fails, keeps what it had and ignores the rest. */
static void failure_is_sticky(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 5, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        dm_buffer b = DM_BUFFER_EMPTY;
        dm_buffer_puts(&b, "kept");
        assert_ok(dm_buffer_check(&b, err));
        assert_false(dm_buffer_reserve(&b, sizes[i]));
        assert_true(b.failed);
        dm_buffer_puts(&b, "lost");
        dm_buffer_printf(&b, "%d", 7);
        assert_string_equal(dm_buffer_text(&b), "kept");
        dm_error err;
        assert_int_equal(dm_buffer_check(&b, &err), DM_ENOMEM);
        assert_non_null(strstr(err.message, "memory"));
        assert_null(dm_buffer_take(&b));
        assert_null(b.data);
    }
}

static void clear_makes_a_failed_buffer_good(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    assert_false(dm_buffer_reserve(&b, SIZE_MAX));
    dm_buffer_clear(&b);
    dm_buffer_puts(&b, "again");
    assert_string_equal(dm_buffer_text(&b), "again");
    dm_buffer_deinit(&b);
}

static void take_empties(void **state)
{
    (void)state;
    dm_buffer b = DM_BUFFER_EMPTY;
    dm_buffer_printf(&b, "%s-%d", "n", 42);
    char *taken = dm_buffer_take(&b);
    assert_string_equal(taken, "n-42");
    assert_int_equal(b.size, 0);
    assert_int_equal(b.capacity, 0);
    free(taken);
}

DM_TESTS("base/buffer", DM_TEST(empty_has_text), DM_TEST(grows_and_stays_terminated),
         DM_TEST(holds_bytes_with_nul), DM_TEST(printf_at_every_length),
         DM_TEST(clear_keeps_memory), DM_TEST(failure_is_sticky),
         DM_TEST(clear_makes_a_failed_buffer_good), DM_TEST(take_empties))
