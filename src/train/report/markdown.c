/* SPDX-License-Identifier: MIT */
/* markdown.c - see markdown.h. */
#include "train/report/markdown.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<style>\nbody { "
    "font-family: "
    "sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; line-height: "
    "1.4; }\ntable { border-collapse: collapse; margin: 1rem 0; font-size: .85rem; "
    "font-variant-numeric: tabular-nums; }\nth, td { border: 1px solid #bbb; padding: .2rem .5rem; "
    "text-align: right; }\nth:first-child, td:first-child { text-align: left; }\nth { background: "
    "#eee; font-weight: normal; }\nsvg { max-width: 100%; height: auto; }\ncode { background: "
    "#f2f2f2; }\n</style>\n";

static void put_escaped(dm_buffer *out, char c)
{
    if (c == '<')
        dm_buffer_puts(out, "&lt;");
    else if (c == '>')
        dm_buffer_puts(out, "&gt;");
    else if (c == '&')
        dm_buffer_puts(out, "&amp;");
    else
        dm_buffer_putc(out, c);
}

/* Words with **bold** and `code`. */
static void put_inline(dm_buffer *out, const char *at, const char *end)
{
    bool bold = false, code = false;
    for (; at < end; at++) {
        if (*at == '`') {
            dm_buffer_puts(out, code ? "</code>" : "<code>");
            code = !code;
        } else if (!code && at + 1 < end && at[0] == '*' && at[1] == '*') {
            dm_buffer_puts(out, bold ? "</b>" : "<b>");
            bold = !bold;
            at++;
        } else {
            put_escaped(out, *at);
        }
    }
}

/* "| a | b |" */
static void put_row(dm_buffer *out, const char *at, const char *end, const char *cell)
{
    dm_buffer_puts(out, "<tr>");
    for (at++; at < end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at)), *last;
        if (bar == NULL)
            break;
        last = bar;
        while (at < last && *at == ' ')
            at++;
        while (last > at && last[-1] == ' ')
            last--;
        dm_buffer_printf(out, "<%s>", cell);
        put_inline(out, at, last);
        dm_buffer_printf(out, "</%s>", cell);
        at = bar + 1;
    }
    dm_buffer_puts(out, "</tr>\n");
}

/* "![words](name.svg)" */
static dm_status put_picture(dm_buffer *out, const char *folder, const char *at, const char *end,
                             dm_error *err)
{
    char name[256], path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    const char *open = memchr(at, '(', (size_t)(end - at));
    const char *close = open != NULL ? memchr(open, ')', (size_t)(end - open)) : NULL;
    if (close == NULL)
        return DM_OK;
    snprintf(name, sizeof name, "%.*s", (int)(close - open - 1), open + 1);
    dm_status status = dm_path_join(path, folder, name, err);
    if (status == DM_OK)
        status = dm_file_read(path, (size_t)64 << 20, &text, &size, err);
    const char *svg = status == DM_OK ? strstr(text, "<svg") : NULL;
    if (svg != NULL)
        dm_buffer_puts(out, svg);
    free(text);
    return status;
}

enum { NOTHING, PARAGRAPH, LIST, TABLE };

static void change(dm_buffer *out, int *open, int to)
{
    static const char *const begins[] = {"", "<p>", "<ul>\n", "<table>\n"};
    static const char *const ends[] = {"", "</p>\n", "</li></ul>\n", "</table>\n"};
    if (*open == to)
        return;
    dm_buffer_puts(out, ends[*open]);
    dm_buffer_puts(out, begins[to]);
    *open = to;
}

dm_status dm_markdown_page(const char *markdown, const char *title, const char *folder,
                           dm_buffer *out, dm_error *err)
{
    int open = NOTHING;
    dm_status status = DM_OK;
    dm_buffer_puts(out, head);
    dm_buffer_printf(out, "<title>%s</title></head><body>\n", title);
    for (const char *at = markdown, *end; *at != 0 && status == DM_OK; at = end + (*end != 0)) {
        end = at + strcspn(at, "\n");
        size_t level = strspn(at, "#");
        if (at == end) {
            change(out, &open, NOTHING);
        } else if (level > 0) {
            change(out, &open, NOTHING);
            dm_buffer_printf(out, "<h%zu>", level);
            put_inline(out, at + level + 1, end);
            dm_buffer_printf(out, "</h%zu>\n", level);
        } else if (*at == '|') {
            bool first = open != TABLE;
            change(out, &open, TABLE);
            if (strncmp(at, "|---", 4) != 0)
                put_row(out, at, end, first ? "th" : "td");
        } else if (*at == '!') {
            change(out, &open, NOTHING);
            status = put_picture(out, folder, at, end, err);
        } else if (strncmp(at, "- ", 2) == 0) {
            dm_buffer_puts(out, open == LIST ? "</li>\n" : "");
            change(out, &open, LIST);
            dm_buffer_puts(out, "<li>");
            put_inline(out, at + 2, end);
            dm_buffer_putc(out, '\n');
        } else {
            if (open != LIST) /* a line of a list goes on */
                change(out, &open, PARAGRAPH);
            put_inline(out, at, end);
            dm_buffer_putc(out, '\n');
        }
    }
    change(out, &open, NOTHING);
    dm_buffer_puts(out, "</body></html>\n");
    return status == DM_OK ? dm_buffer_check(out, err) : status;
}

/* ---- Lines of a width ---- */

#define WIDTH 120

/* What may not be broken: up to the first space outside **bold** and `code`. */
static const char *word_end(const char *at, const char *end)
{
    bool bold = false, code = false;
    for (; at < end && (bold || code || *at != ' '); at++) {
        if (*at == '`')
            code = !code;
        else if (!code && at + 1 < end && at[0] == '*' && at[1] == '*') {
            bold = !bold;
            at++;
        }
    }
    return at;
}

/* Characters of UTF-8. */
static size_t width_of(const char *at, const char *end)
{
    size_t width = 0;
    for (; at < end; at++)
        width += ((unsigned char)*at & 0xC0) != 0x80;
    return width;
}

static void fill_line(dm_buffer *out, const char *at, const char *end)
{
    bool item = strncmp(at, "- ", 2) == 0;
    size_t column = 0;
    while (at < end) {
        const char *word = at + strspn(at, " "), *last = word_end(word, end);
        size_t width = width_of(word, last);
        if (column > 0 && column + 1 + width > WIDTH) {
            dm_buffer_puts(out, item ? "\n  " : "\n");
            column = item ? 2 : 0;
        } else if (column > 0) {
            dm_buffer_putc(out, ' ');
            column++;
        }
        dm_buffer_append(out, word, (size_t)(last - word));
        column += width;
        at = last;
    }
}

void dm_markdown_fill(const char *markdown, dm_buffer *out)
{
    for (const char *at = markdown, *end; *at != 0; at = end + (*end != 0)) {
        end = at + strcspn(at, "\n");
        if (strchr("#|!", *at) != NULL || width_of(at, end) <= WIDTH)
            dm_buffer_append(out, at, (size_t)(end - at));
        else
            fill_line(out, at, end);
        if (*end != 0)
            dm_buffer_putc(out, '\n');
    }
}
