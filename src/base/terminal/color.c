/* SPDX-License-Identifier: MIT */
/* color.c - see color.h. */
#include "base/terminal/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool dm_color_wanted(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return (no == NULL || no[0] == 0) && term != NULL && strcmp(term, "dumb") != 0 && isatty(fd);
}

const char *dm_color(int fd, const char *color)
{
    return dm_color_wanted(fd) ? color : "";
}

static void put(dm_buffer *out, const char *color, const char *text, size_t length)
{
    if (length == 0)
        return;
    dm_buffer_puts(out, color);
    dm_buffer_append(out, text, length);
    dm_buffer_puts(out, DM_COLOR_OFF);
}

/* "   ^~~~" and nothing else: the caret below a line. */
static bool is_caret(const char *line, size_t length)
{
    size_t blanks = 0;
    while (blanks < length && line[blanks] == ' ')
        blanks++;
    size_t marks = blanks;
    while (marks < length && (line[marks] == '^' || line[marks] == '~'))
        marks++;
    return marks == length && length > blanks && line[blanks] == '^';
}

static void put_line(dm_buffer *out, const char *line, size_t length)
{
    static const struct {
        const char *word, *color;
    } kinds[] = {{"error:", DM_COLOR_RED},
                 {"warning:", DM_COLOR_YELLOW},
                 {"note:", DM_COLOR_CYAN},
                 {"hint:", DM_COLOR_CYAN}};
    if (is_caret(line, length)) {
        put(out, DM_COLOR_GREEN, line, length);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t word = strlen(kinds[i].word);
        const char *at = memmem(line, length, kinds[i].word, word);
        if (at == NULL || (at > line && at[-1] != ' '))
            continue;
        put(out, DM_COLOR_BOLD, line, (size_t)(at - line));
        put(out, kinds[i].color, at, word);
        dm_buffer_append(out, at + word, length - (size_t)(at - line) - word);
        return;
    }
    dm_buffer_append(out, line, length);
}

void dm_color_diagnostics(const char *text, dm_buffer *out)
{
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        put_line(out, text, length);
        text += length;
        if (*text == '\n') {
            dm_buffer_putc(out, '\n');
            text++;
        }
    }
}

void dm_color_print_diagnostics(FILE *to, const char *text)
{
    dm_buffer colored = DM_BUFFER_EMPTY;
    if (dm_color_wanted(fileno(to)))
        dm_color_diagnostics(text, &colored);
    fputs(colored.size > 0 && !colored.failed ? dm_buffer_text(&colored) : text, to);
    dm_buffer_deinit(&colored);
}
