/* SPDX-License-Identifier: MIT */
/* write.c - a composed kernel as a program's text.
 *
 * A `let` line becomes a local or is written where it is used, so that one computation has several
 * forms. Parentheses around a whole `let` are for the second case, and dropped in the first. */
#include "synth/natural/idiom.h"

#include <ctype.h>
#include <string.h>

#define COLUMNS 100

/* ---- Lines ---- */

/* Is the whole text in one pair of parentheses? */
static bool is_wrapped(const char *text, size_t size)
{
    int depth = 0;
    if (size < 2 || text[0] != '(')
        return false;
    for (size_t i = 0; i < size; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0)
            return i + 1 == size;
    }
    return false;
}

/* Parentheses of a value that stands alone between brackets, commas or the line's end. */
static void unwrap(const dm_natural_line *line, int piece, size_t begin, dm_buffer *out)
{
    const dm_natural_piece *next = piece + 1 < line->count ? &line->pieces[piece + 1] : NULL;
    const char *text = dm_buffer_text(out);
    bool ends = next == NULL || (next->name < 0 && strchr("),]", next->text[0]) != NULL);
    bool begins = begin > 0 &&
                  (strchr("([", text[begin - 1]) != NULL ||
                   (begin > 1 && text[begin - 1] == ' ' && strchr(",=", text[begin - 2]) != NULL));
    if (!ends || !begins || !is_wrapped(text + begin, out->size - begin))
        return;
    memmove(out->data + begin, text + begin + 1, out->size - begin - 2);
    out->size -= 2;
}

static void put_value(dm_natural *n, int name, dm_buffer *out, int depth)
{
    const dm_natural_value *v = &n->values[name];
    if (!n->is_touched[name] || depth > DM_NATURAL_DEPTH_MAX) {
        n->unknown = n->names[name];
        return;
    }
    for (int i = 0; i < v->count; i++)
        for (int k = 0; k < v->blocks[i]->count; k++) {
            if (i + k > 0)
                dm_buffer_putc(out, ' ');
            dm_natural_put_line(n, &v->blocks[i]->lines[k], out, depth + 1);
        }
}

void dm_natural_put_line(dm_natural *n, const dm_natural_line *line, dm_buffer *out, int depth)
{
    for (int i = 0; i < line->count; i++) {
        const dm_natural_piece *piece = &line->pieces[i];
        if (piece->name < 0) {
            dm_buffer_append(out, piece->text, (size_t)piece->length);
        } else {
            size_t begin = out->size;
            put_value(n, piece->name, out, depth);
            unwrap(line, i, begin, out);
        }
    }
}

void dm_natural_inline(dm_natural *n, int name, dm_buffer *out)
{
    if (n->is_touched[name])
        put_value(n, name, out, 0);
}

/* ---- Blocks ---- */

static void put_spaces(dm_buffer *out, int count)
{
    for (int i = 0; i < count; i++)
        dm_buffer_putc(out, ' ');
}

static void give(dm_natural *n, int name, const dm_natural_block *block)
{
    dm_natural_value *v = &n->values[name];
    if (!n->is_touched[name]) {
        n->is_touched[name] = true;
        n->touched[n->touched_count++] = name;
    }
    v->blocks[0] = block;
    v->count = 1;
}

/* The first expression of a line that stands in place of a local, or in such an expression; NULL. */
static const dm_natural_line *find_in_place(const dm_natural *n, const dm_natural_line *line,
                                            int depth)
{
    for (int i = 0; i < line->count && depth < DM_NATURAL_DEPTH_MAX; i++) {
        int name = line->pieces[i].name;
        if (name < 0 || n->values[name].count != 1 || n->values[name].blocks[0]->count != 1)
            continue;
        const dm_natural_line *let = n->lets[name];
        const dm_natural_line *inner =
            find_in_place(n, &n->values[name].blocks[0]->lines[0], depth + 1);
        if (inner != NULL)
            return inner;
        if (let != NULL && n->values[name].blocks[0] == let->in_place)
            return let;
    }
    return NULL;
}

static void put_local(dm_natural *n, const dm_natural_line *line, int indent, dm_buffer *out)
{
    size_t before = out->size;
    dm_buffer *text = &n->scratch;
    dm_buffer_clear(text);
    dm_natural_put_line(n, line, text, 0);
    bool wrapped = is_wrapped(dm_buffer_text(text), text->size);
    put_spaces(out, indent);
    dm_buffer_puts(out, n->names[line->let]);
    dm_buffer_puts(out, " = ");
    dm_buffer_append(out, dm_buffer_text(text) + wrapped, text->size - (size_t)(wrapped ? 2 : 0));
    const dm_natural_line *inner = out->size - before > COLUMNS ? find_in_place(n, line, 0) : NULL;
    if (inner != NULL) { /* too long: another local first */
        out->size = before;
        put_local(n, inner, indent, out);
        put_local(n, line, indent, out);
        return;
    }
    dm_buffer_putc(out, '\n');
    give(n, line->let, line->own);
}

static void put_let(dm_natural *n, const dm_natural_line *line, int indent, dm_buffer *out)
{
    n->lets[line->let] = line;
    if (!line->also)
        n->in_place = dm_natural_chance(n, n->hand.inline_percent);
    if (n->in_place || n->all_in_place)
        give(n, line->let, line->in_place);
    else
        put_local(n, line, indent, out);
}

static void put_value_block(dm_natural *n, int name, int indent, dm_buffer *out, int depth);

/* A line that is one name alone takes all the lines of its value; a line whose names have empty
 * values only is left out. */
static void put_block_line(dm_natural *n, const dm_natural_line *line, int indent, dm_buffer *out,
                           int depth)
{
    size_t before = out->size;
    if (line->let >= 0) {
        put_let(n, line, indent, out);
        return;
    }
    if (line->count == 1 && line->pieces[0].name >= 0) {
        put_value_block(n, line->pieces[0].name, indent, out, depth + 1);
        return;
    }
    bool comment = line->count > 0 && line->pieces[0].name < 0 && line->pieces[0].text[0] == '#';
    if (comment && !dm_natural_chance(n, n->hand.comment_percent))
        return;
    if (line->count > 0)
        put_spaces(out, indent);
    size_t begin = out->size;
    dm_natural_put_line(n, line, out, 0);
    const dm_natural_line *let = out->size - before > COLUMNS ? find_in_place(n, line, 0) : NULL;
    if (let != NULL) { /* too long: a local after all */
        out->size = before;
        put_local(n, let, indent, out);
        put_block_line(n, line, indent, out, depth);
        return;
    }
    if (line->count > 0 && out->size == begin)
        out->size = before;
    else
        dm_buffer_putc(out, '\n');
}

static void put_value_block(dm_natural *n, int name, int indent, dm_buffer *out, int depth)
{
    dm_natural_value v = n->values[name];
    if (!n->is_touched[name] || depth > DM_NATURAL_DEPTH_MAX) {
        n->unknown = n->names[name];
        return;
    }
    for (int i = 0; i < v.count; i++)
        for (int k = 0; k < v.blocks[i]->count; k++) {
            const dm_natural_line *line = &v.blocks[i]->lines[k];
            put_block_line(n, line, indent + line->indent, out, depth);
        }
}

void dm_natural_put_block(dm_natural *n, int name, int indent, dm_buffer *out)
{
    put_value_block(n, name, indent, out, 0);
}

/* ---- Parameters ---- */

/* "float", "vec3", "array vec3", "array2 Particle" as the dialect writes them. */
static void put_element(const char *text, size_t size, bool widths, dm_buffer *out)
{
    if (widths && size == 5 && memcmp(text, "float", 5) == 0) {
        dm_buffer_puts(out, "wp.float32");
        return;
    }
    if (widths && size == 3 && memcmp(text, "int", 3) == 0) {
        dm_buffer_puts(out, "wp.int32");
        return;
    }
    bool plain = (size == 5 && memcmp(text, "float", 5) == 0) ||
                 (size == 3 && memcmp(text, "int", 3) == 0) || (text[0] >= 'A' && text[0] <= 'Z');
    if (!plain)
        dm_buffer_puts(out, "wp.");
    dm_buffer_append(out, text, size);
}

static void put_type(const char *text, size_t size, const dm_natural_hand *hand, dm_buffer *out)
{
    int brackets = hand->brackets;
    if (size < 6 || memcmp(text, "array", 5) != 0) {
        put_element(text, size, hand->widths, out);
        return;
    }
    char rank = text[5];
    bool many = rank != ' ' && rank != '1';
    size_t from = rank == ' ' ? 6 : 7;
    dm_buffer_puts(out, "wp.array");
    if (many && brackets != 2)
        dm_buffer_printf(out, "%cd", rank);
    dm_buffer_puts(out, brackets == 0 ? "[" : "(dtype=");
    put_element(text + from, size - from, hand->widths, out);
    if (many && brackets == 2)
        dm_buffer_printf(out, ", ndim=%c", rank);
    dm_buffer_putc(out, brackets == 0 ? ']' : ')');
}

static void put_arg(dm_natural *n, const dm_natural_arg *arg, dm_buffer *out)
{
    dm_natural_put_line(n, &arg->block->lines[0], out, 0);
    dm_buffer_puts(out, ": ");
    dm_buffer_clear(&n->scratch);
    dm_natural_put_line(n, &arg->block->lines[1], &n->scratch, 0);
    put_type(dm_buffer_text(&n->scratch), n->scratch.size, &n->hand, out);
}

/* On one line where they fit. */
static void put_args(dm_natural *n, size_t line_begin, dm_buffer *out)
{
    bool tall = false;
    size_t begin = out->size;
    for (int attempt = 0; attempt < 2; attempt++) {
        out->size = begin;
        bool marked = !n->hand.marked || !n->args[n->order[n->arg_count - 1]].output;
        for (int k = 0; k < n->arg_count; k++) {
            const dm_natural_arg *arg = &n->args[n->order[k]];
            if (tall && arg->output && !marked && k > 0)
                dm_buffer_puts(out, "\n    # outputs");
            marked |= arg->output;
            dm_buffer_puts(out, tall ? "\n    " : k == 0 ? "" : ", ");
            put_arg(n, arg, out);
            if (tall)
                dm_buffer_putc(out, ',');
        }
        tall = out->size - line_begin > COLUMNS - 2 || n->arg_count > 6;
        if (!tall || attempt == 1)
            break;
    }
    if (tall)
        dm_buffer_putc(out, '\n');
}

/* ---- The program ---- */

static void put_constants(dm_natural *n, dm_buffer *out)
{
    bool explained = dm_natural_chance(n, n->hand.comment_percent / 2);
    for (int i = 0; i < n->constant_count; i++) {
        const dm_natural_node *node = n->constants[i];
        dm_natural_put_line(n, &node->constant.lines[0], out, 0);
        dm_buffer_puts(out, n->hand.plain_constants ? " = " : " = wp.constant(");
        dm_buffer_puts(out, node->word);
        dm_buffer_puts(out, n->hand.plain_constants ? "" : ")");
        if (explained) {
            dm_buffer_puts(out, "  # ");
            dm_natural_put_line(n, &node->block.lines[2], out, 0);
        }
        dm_buffer_putc(out, '\n');
    }
    if (n->constant_count > 0)
        dm_buffer_putc(out, '\n');
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does a word stand in a text more than once? */
static bool is_repeated(const char *text, const char *word, size_t length)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL && found < 2; at += length)
        found += (at == text || !is_letter(at[-1])) && !is_letter(at[length]);
    return found > 1;
}

/* A local that this kernel's picks have no use for; *end: behind its line. */
static char *find_unused(char *text, char **end)
{
    for (char *line = text; *line != '\0'; line = *end) {
        char *name = line + strspn(line, " "), word[128];
        size_t length = 0;
        *end = line + strcspn(line, "\n");
        *end += **end == '\n';
        while (is_letter(name[length]))
            length++;
        if (length == 0 || length >= sizeof word || strncmp(name + length, " = ", 3) != 0)
            continue;
        memcpy(word, name, length);
        word[length] = '\0';
        if (!is_repeated(text, word, length))
            return line;
    }
    return NULL;
}

static void drop_unused(dm_buffer *body)
{
    char *end;
    for (char *line; body->size > 0 && (line = find_unused(body->data, &end)) != NULL;) {
        memmove(line, end, body->size - (size_t)(end - body->data) + 1);
        body->size -= (size_t)(end - line);
    }
}

/* Lines that begin a new part of a body: comments, loops and branches at its margin, the first store.
 * An airy author leaves the line before them empty. */
static void put_body(dm_natural *n, const char *before, dm_buffer *out)
{
    dm_buffer body = DM_BUFFER_EMPTY;
    put_value_block(n, DM_NATURAL_BODY, 4, &body, 0);
    drop_unused(&body);
    dm_natural_shape_body(n, before, &body);
    if (n->all_in_place)
        dm_natural_write_out(n, &body);
    if (n->hand.python_names)
        dm_natural_drop_prefixes(&body);
    const char *line = dm_buffer_text(&body);
    int number = 0, apart = 0;
    bool stored = false, inside = false, opens = true;
    while (*line != '\0') {
        int length = (int)strcspn(line, "\n");
        bool margin = strspn(line, " ") == 4;
        bool store =
            margin && (memchr(line, '[', (size_t)length) != NULL || line[4] == 'w') &&
            (strncmp(line + 4, "wp.atomic", 9) == 0 || strcspn(line, "[") < strcspn(line, "="));
        bool goes_on =
            margin && (strncmp(line + 4, "el", 2) == 0 || line[4] == ')'); /* else, elif */
        bool part = margin && !goes_on &&
                    (line[4] == '#' || strncmp(line + 4, "for ", 4) == 0 || (store && !stored) ||
                     inside || number == 1);
        if (n->hand.airy && part && !opens && apart > 0)
            dm_buffer_putc(out, '\n');
        apart = n->hand.airy && part && !opens ? 0 : apart + 1;
        apart += number == 0;
        opens = line[4] == '#' || line[length - 1] == ':' || (stored && store);
        inside = !margin;
        stored |= store;
        dm_buffer_append(out, line, (size_t)length + (line[length] == '\n'));
        line += length + (line[length] == '\n');
        number++;
    }
    dm_buffer_deinit(&body);
}

/* Arrays of helpers as the kernel has them: `wp.array2d(dtype=float)` in the idioms' texts. */
static void unify_annotations(dm_natural *n, dm_buffer *out)
{
    dm_buffer other = DM_BUFFER_EMPTY;
    const char *text = dm_buffer_text(out), *from = text, *at;
    if (strstr(text, "@wp.func") != NULL)
        n->hand.widths = false;
    while (n->hand.brackets != 1 && (at = strstr(from, "wp.array")) != NULL) {
        const char *type = at + 8;
        char rank = *type;
        if (rank >= '2' && rank <= '4')
            type += 2; /* "2d" */
        dm_buffer_append(&other, from, (size_t)(at - from));
        from = at;
        const char *end = strchr(type, ')');
        if (strncmp(type, "(dtype=", 7) != 0 || end == NULL)
            break;
        dm_buffer_puts(&other, "wp.array");
        if (rank != '(' && n->hand.brackets == 0)
            dm_buffer_printf(&other, "%cd", rank);
        dm_buffer_puts(&other, n->hand.brackets == 0 ? "[" : "(dtype=");
        dm_buffer_append(&other, type + 7, (size_t)(end - type - 7));
        if (rank != '(' && n->hand.brackets == 2)
            dm_buffer_printf(&other, ", ndim=%c", rank);
        dm_buffer_putc(&other, n->hand.brackets == 0 ? ']' : ')');
        from = end + 1;
    }
    if (other.size > 0) {
        dm_buffer_puts(&other, from);
        dm_buffer_clear(out);
        dm_buffer_append(out, dm_buffer_text(&other), other.size);
    }
    dm_buffer_deinit(&other);
}

void dm_natural_write_name(dm_natural *n, dm_buffer *out)
{
    dm_natural_inline(n, DM_NATURAL_NAME, out);
    if (n->hand.kernel)
        dm_buffer_puts(out, "_kernel");
}

void dm_natural_write_program(dm_natural *n, dm_buffer *out)
{
    dm_buffer_puts(out, "import warp as wp\n\n");
    put_constants(n, out);
    dm_buffer_putc(out, '\n');
    if (n->is_touched[DM_NATURAL_HELPERS] && n->values[DM_NATURAL_HELPERS].count > 0) {
        dm_natural_value helpers = n->values[DM_NATURAL_HELPERS];
        for (int i = 0; i < helpers.count; i++) {
            if (helpers.blocks[i]->count == 0)
                continue;
            for (int k = 0; k < helpers.blocks[i]->count; k++) {
                const dm_natural_line *line = &helpers.blocks[i]->lines[k];
                put_block_line(n, line, line->indent, out, 0);
            }
            dm_buffer_puts(out, "\n\n");
        }
    }
    unify_annotations(n, out);
    dm_buffer_puts(out, "@wp.kernel\n");
    size_t begin = out->size;
    dm_buffer_puts(out, "def ");
    dm_natural_write_name(n, out);
    dm_buffer_putc(out, '(');
    put_args(n, begin, out);
    dm_buffer_puts(out, "):\n");
    dm_natural_write_docstring(n, out);
    dm_buffer body = DM_BUFFER_EMPTY;
    put_body(n, dm_buffer_text(out), &body);
    dm_buffer_append(out, dm_buffer_text(&body), body.size);
    dm_buffer_deinit(&body);
}
