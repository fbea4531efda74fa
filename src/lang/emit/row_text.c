/* SPDX-License-Identifier: MIT */
/* row_text.c - the C text of a builtin's row split into pieces, so that a call is printed by copying
 * them one after the other. Bodies are broken into lines first. Done once per process (common.c). */
#include "lang/sema/builtins.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define PIECES_MAX 128
#define PRIMARY 16
#define TERNARY 3

/* ---- Layout of a body ---- */

static void indent(dm_buffer *out, int depth)
{
    for (int i = 0; i < depth; i++)
        dm_buffer_puts(out, "    ");
}

/* One line of row text as lines of C: a new one behind ';', '{' and '}' that are in no brackets. */
static void lay_out(dm_buffer *out, const char *text)
{
    int depth = 0, brackets = 0;
    bool at_start = true;
    for (const char *p = text; *p != '\0'; p++) {
        if (at_start && *p == ' ')
            continue;
        if (*p == '}' && brackets == 0) {
            indent(out, --depth);
            dm_buffer_puts(out, "}\n");
            at_start = true;
            continue;
        }
        if (at_start)
            indent(out, depth);
        at_start = false;
        dm_buffer_putc(out, *p);
        brackets += *p == '(' || *p == '[' ? 1 : *p == ')' || *p == ']' ? -1 : 0;
        if (*p == '{' && brackets == 0)
            depth++;
        if ((*p == '{' || *p == ';') && brackets == 0) {
            dm_buffer_putc(out, '\n');
            at_start = true;
        }
    }
}

/* ---- Pieces ---- */

static bool is_between(const char *before, const char *after)
{
    while (*after == ' ')
        after++;
    return (*before == '(' || *before == ',') && (*after == ')' || *after == ',');
}

/* The level that an argument of a row's expression needs. */
static int argument_level(const dm_builtin *row, const char *text, const char *at, const char *end)
{
    const char *before = at - 1;
    while (before > text && *before == ' ')
        before--;
    if (at > text && is_between(before, end))
        return TERNARY;
    switch (row->precedence) {
    case 13:
    case 12:
        return at == text ? row->precedence : row->precedence + 1;
    case 10:
    case 9:
        return 12;
    case 5:
    case 4:
        return 9;
    case 3:
        return at == text ? 9 : 12;
    default:
        return PRIMARY;
    }
}

static int param_of(const dm_builtin *row, const char *name, size_t length)
{
    for (int i = 0; i < row->param_count; i++)
        if (strlen(row->params[i].name) == length && memcmp(row->params[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Resolve '$name'; *used: how many bytes of it are the name. */
static dm_piece read_mark(const dm_builtin *row, const char *text, const char *mark, size_t *used)
{
    const char *name = mark + 1;
    bool body = row->text[0] == '{';
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    int param = param_of(row, name, length);
    *used = length;
    if (param >= 0)
        return (dm_piece){.kind = DM_PIECE_PARAM,
                          .index = (uint8_t)param,
                          .level =
                              (uint8_t)(body ? 0 : argument_level(row, text, mark, name + length))};
    if (body && length == 3 && memcmp(name, "ret", 3) == 0)
        return (dm_piece){.kind = DM_PIECE_RESULT};
    if (body && length == 5 && memcmp(name, "block", 5) == 0)
        return (dm_piece){.kind = DM_PIECE_BLOCK};
    *used = 1; /* "sin$f(", "1.0$f", "$Nu" */
    if (isupper((unsigned char)name[0]))
        return (dm_piece){.kind = DM_PIECE_LETTER, .index = (uint8_t)name[0]};
    assert(name[0] == 'f');
    return (dm_piece){.kind = DM_PIECE_SUFFIX};
}

void dm_builtin_read_text(dm_lang *lang, dm_builtin *row)
{
    dm_piece pieces[PIECES_MAX];
    int count = 0;
    if (row->text == NULL)
        return;
    const char *text = row->text;
    if (text[0] == '{') {
        dm_buffer *lines = dm_text_open(lang);
        lay_out(lines, text);
        text = dm_lang_format(lang, "%s", dm_buffer_text(lines));
        dm_text_close(lang, 1);
    }
    for (const char *p = text; *p != '\0';) {
        assert(count + 2 < PIECES_MAX);
        size_t length = strcspn(p, "$");
        if (length > 0)
            pieces[count++] =
                (dm_piece){.kind = DM_PIECE_TEXT, .text = p, .length = (uint16_t)length};
        p += length;
        if (*p == '$') {
            pieces[count++] = read_mark(row, text, p, &length);
            p += 1 + length;
        }
    }
    dm_piece *kept = dm_lang_alloc_array(lang, (size_t)count + 1, sizeof *kept);
    memcpy(kept, pieces, (size_t)count * sizeof *kept);
    for (int i = 0; i < count; i++)
        if (kept[i].length <= sizeof kept[i].start && kept[i].length > 0)
            memcpy(kept[i].start, kept[i].text, kept[i].length);
    row->pieces = kept;
    row->piece_count = count;
}
