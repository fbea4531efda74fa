/* SPDX-License-Identifier: MIT */
/* Colours: on a terminal, and only there. */
#include "base/terminal/color.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void only_a_terminal_has_colors(void **state)
{
    (void)state;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), ends[2];
    assert_true(terminal >= 0);
    assert_int_equal(pipe(ends), 0);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_true(dm_color_wanted(terminal));
    assert_false(dm_color_wanted(ends[1]));
    assert_string_equal(dm_color(terminal, DM_COLOR_BOLD), "\033[1m");
    assert_string_equal(dm_color(ends[1], DM_COLOR_BOLD), "");
    setenv("NO_COLOR", "", 1); /* no-color.org: when present and not empty */
    assert_true(dm_color_wanted(terminal));
    setenv("NO_COLOR", "1", 1);
    assert_false(dm_color_wanted(terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(dm_color_wanted(terminal));
    unsetenv("TERM");
    assert_false(dm_color_wanted(terminal));
    close(terminal);
    close(ends[0]);
    close(ends[1]);
}

/* The text without its colours is the text. */
static void diagnostics_keep_their_text(void **state)
{
    static const char text[] = "k.py:3:5: error: no name 'x'\n    y = x + 1\n        ^~~\n"
                               "    hint: did you mean y?\nlast line without an end";
    static const char *const marked[] = {"\033[1;31merror:\033[0m", "\033[1mk.py:3:5: \033[0m",
                                         "\033[1;32m        ^~~\033[0m", "\033[36mhint:\033[0m"};
    (void)state;
    dm_buffer out = DM_BUFFER_EMPTY, plain = DM_BUFFER_EMPTY;
    dm_color_diagnostics(text, &out);
    for (size_t i = 0; i < sizeof marked / sizeof marked[0]; i++)
        assert_non_null(strstr(dm_buffer_text(&out), marked[i]));
    for (const char *at = dm_buffer_text(&out); *at != 0; at++) {
        if (*at == '\033')
            at += strcspn(at, "m");
        else
            dm_buffer_putc(&plain, *at);
    }
    assert_string_equal(dm_buffer_text(&plain), text);
    dm_buffer_deinit(&out);
    dm_buffer_deinit(&plain);
}

DM_TESTS("base/color", DM_TEST(only_a_terminal_has_colors), DM_TEST(diagnostics_keep_their_text))
