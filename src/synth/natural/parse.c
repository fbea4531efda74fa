/* SPDX-License-Identifier: MIT */
/* parse.c - the library's texts become trees; idioms/README.md has the grammar.
 *
 * Lines nest by indentation. A statement's own children are the lines that stand further in. */
#include "synth/natural/idiom.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct source_line {
    const char *text;
    int length, indent, number;
} source_line;

typedef struct parser {
    dm_natural *n;
    const char *file;
    source_line *lines;
    int count, at;
    dm_status status;
    dm_error *err;
} parser;

static void *take_memory(parser *p, size_t count, size_t size)
{
    void *memory = dm_arena_alloc_array(&p->n->arena, count + 1, size);
    if (memory == NULL && p->status == DM_OK)
        p->status = dm_fail(p->err, DM_ENOMEM, "out of memory");
    else if (memory != NULL)
        memset(memory, 0, (count + 1) * size);
    return memory;
}

static void complain(parser *p, const source_line *line, const char *what)
{
    if (p->status == DM_OK)
        p->status = dm_fail(p->err, DM_EINTERNAL, "%s:%d: %s: '%.*s'", p->file, line->number, what,
                            line->length, line->text);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *copy(parser *p, const char *text, int length)
{
    const char *made = dm_arena_strndup(&p->n->arena, text, (size_t)length);
    if (made == NULL && p->status == DM_OK)
        p->status = dm_fail(p->err, DM_ENOMEM, "out of memory");
    return made == NULL ? "" : made;
}

static int name_of(parser *p, const char *text, int length)
{
    dm_natural *n = p->n;
    for (int i = 0; i < n->name_count; i++)
        if (strncmp(n->names[i], text, (size_t)length) == 0 && n->names[i][length] == '\0')
            return i;
    if (n->name_count == DM_NATURAL_NAMES_MAX) {
        if (p->status == DM_OK)
            p->status = dm_fail(p->err, DM_EINTERNAL, "%s: too many names", p->file);
        return 0;
    }
    n->names[n->name_count] = copy(p, text, length);
    return n->name_count++;
}

/* ---- Lines of text: pieces between `$name` and `${name}` ---- */

static void parse_pieces(parser *p, const char *text, int length, dm_natural_line *out)
{
    int most = 1;
    for (int i = 0; i < length; i++)
        most += 2 * (text[i] == '$');
    dm_natural_piece *pieces = take_memory(p, (size_t)most, sizeof *pieces);
    if (pieces == NULL)
        return;
    int count = 0, from = 0;
    for (int i = 0; i < length; i++) {
        if (text[i] != '$')
            continue;
        if (i > from)
            pieces[count++] = (dm_natural_piece){text + from, i - from, -1};
        bool braced = i + 1 < length && text[i + 1] == '{';
        int begin = i + 1 + braced, end = begin;
        while (end < length && is_name(text[end]))
            end++;
        pieces[count++] =
            (dm_natural_piece){text + begin, end - begin, name_of(p, text + begin, end - begin)};
        if (end - begin == 1 && text[begin] == '_') /* `$_`: a space that is not trimmed */
            pieces[count - 1] = (dm_natural_piece){" ", 1, -1};
        from = end + braced;
        i = from - 1;
    }
    if (length > from)
        pieces[count++] = (dm_natural_piece){text + from, length - from, -1};
    out->pieces = pieces;
    out->count = count;
}

static const dm_natural_block *block_of(parser *p, const dm_natural_piece *pieces, int count)
{
    dm_natural_line *line = take_memory(p, 1, sizeof *line);
    dm_natural_block *block = take_memory(p, 1, sizeof *block);
    if (line == NULL || block == NULL)
        return NULL;
    *line = (dm_natural_line){.pieces = pieces, .count = count, .let = -1};
    *block = (dm_natural_block){line, 1};
    return block;
}

/* `let NAME = EXPRESSION`, `also NAME = EXPRESSION`: the pieces are those of the expression. */
static void parse_text_line(parser *p, const char *text, int length, int indent,
                            dm_natural_line *out)
{
    out->indent = indent;
    out->let = -1;
    out->also = length > 5 && strncmp(text, "also ", 5) == 0;
    int begin = out->also ? 5 : 4;
    if (out->also || (length > 4 && strncmp(text, "let ", 4) == 0)) {
        int end = begin;
        while (end < length && is_name(text[end]))
            end++;
        if (end + 3 < length && strncmp(text + end, " = ", 3) == 0) {
            dm_natural_piece *own = take_memory(p, 1, sizeof *own);
            out->let = name_of(p, text + begin, end - begin);
            if (own != NULL)
                *own = (dm_natural_piece){text + begin, end - begin, -1};
            out->own = block_of(p, own, own != NULL);
            text += end + 3;
            length -= end + 3;
        }
    }
    parse_pieces(p, text, length, out);
    if (out->let >= 0)
        out->in_place = block_of(p, out->pieces, out->count);
}

static dm_natural_block parse_inline(parser *p, const char *text, int length)
{
    if (length == 0)
        return (dm_natural_block){0};
    dm_natural_line *line = take_memory(p, 1, sizeof *line);
    if (line == NULL)
        return (dm_natural_block){0};
    parse_text_line(p, text, length, 0, line);
    return (dm_natural_block){line, 1};
}

/* The lines that stand further in than `indent`; empty ones keep their place. */
static dm_natural_block parse_block(parser *p, int indent)
{
    int end = p->at, own = -1;
    for (; end < p->count && (p->lines[end].length == 0 || p->lines[end].indent > indent); end++)
        if (own < 0 && p->lines[end].length > 0)
            own = p->lines[end].indent;
    int count = end - p->at;
    while (count > 0 && p->lines[p->at + count - 1].length == 0)
        count--;
    dm_natural_line *lines = take_memory(p, (size_t)count, sizeof *lines);
    for (int i = 0; lines != NULL && i < count; i++) {
        const source_line *line = &p->lines[p->at + i];
        parse_text_line(p, line->text, line->length, line->length == 0 ? 0 : line->indent - own,
                        &lines[i]);
    }
    p->at = end;
    return (dm_natural_block){lines, lines == NULL ? 0 : count};
}

/* ---- Statements ---- */

static dm_natural_node *parse_statements(parser *p, int indent, bool options);

static int trim(const char *text, int length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

/* `pick NAME: a | b | c` */
static dm_natural_node *parse_alternatives(parser *p, const char *text, int length)
{
    dm_natural_node *first = NULL, **link = &first;
    for (int from = 0; from <= length;) {
        int end = from;
        while (end < length && !(text[end] == '|' && text[end - 1] == ' '))
            end++;
        int begin = from;
        while (begin < end && text[begin] == ' ')
            begin++;
        dm_natural_node *option = take_memory(p, 1, sizeof *option);
        if (option == NULL)
            return first;
        option->kind = DM_NATURAL_OPTION;
        option->weight = 1;
        option->word = copy(p, text + begin, trim(text + begin, end - begin));
        option->block = parse_inline(p, text + begin, trim(text + begin, end - begin));
        *link = option;
        link = &option->next;
        from = end + 1;
    }
    return first;
}

/* NAME TYPE = MEANING, three lines of a block. */
static void parse_arg(parser *p, const source_line *line, dm_natural_node *node)
{
    const char *end = line->text + line->length;
    const char *text = (const char *)memchr(line->text, ' ', (size_t)line->length) + 1;
    const char *space = memchr(text, ' ', (size_t)(end - text)), *equals = NULL;
    for (const char *c = text; c + 3 <= end && equals == NULL; c++)
        if (strncmp(c, " = ", 3) == 0)
            equals = c;
    dm_natural_line *lines = take_memory(p, 3, sizeof *lines);
    if (space == NULL || equals == NULL || equals <= space || lines == NULL) {
        complain(p, line, "needs NAME TYPE = MEANING");
        return;
    }
    parse_pieces(p, text, (int)(space - text), &lines[0]);
    parse_pieces(p, space + 1, (int)(equals - space - 1), &lines[1]);
    parse_pieces(p, equals + 3, (int)(end - equals - 3), &lines[2]);
    node->block = (dm_natural_block){lines, 3};
}

/* As parse_arg; the name's value is the name, or its element at `$at`. */
static void parse_vary(parser *p, const source_line *line, dm_natural_node *node)
{
    char text[256];
    parse_arg(p, line, node);
    if (p->status != DM_OK)
        return;
    int length = node->block.lines[0].pieces[0].length;
    const char *name = node->block.lines[0].pieces[0].text;
    node->name = name_of(p, name, length);
    node->own = parse_inline(p, name, length);
    snprintf(text, sizeof text, "%.*s[$at]", length, name);
    node->element = parse_inline(p, copy(p, text, length + 5), length + 5);
    const char *type = memchr(line->text + 5, ' ', (size_t)line->length - 5);
    int most = (int)(strstr(type, " = ") - type);
    snprintf(text, sizeof text, "array$nd%.*s", most, type);
    dm_natural_line *lines = take_memory(p, 3, sizeof *lines);
    if (lines == NULL)
        return;
    lines[0] = node->block.lines[0];
    lines[2] = node->block.lines[2];
    int size = (int)strlen(text);
    parse_pieces(p, copy(p, text, size), size, &lines[1]);
    node->each = (dm_natural_block){lines, 3};
}

/* NAME TYPE VALUE = MEANING: as parse_arg; the name's value is the name, or the name in capitals. */
static void parse_tune(parser *p, const source_line *line, dm_natural_node *node)
{
    char capitals[128];
    node->always = line->text[0] == 'c';
    parse_arg(p, line, node);
    if (p->status != DM_OK)
        return;
    dm_natural_line *lines = (dm_natural_line *)node->block.lines;
    int length = lines[0].pieces[0].length;
    const char *name = lines[0].pieces[0].text;
    const dm_natural_piece *type = &lines[1].pieces[0];
    const char *space = memchr(type->text, ' ', (size_t)type->length);
    if (space == NULL || length >= (int)sizeof capitals) {
        complain(p, line, "needs NAME TYPE VALUE = MEANING");
        return;
    }
    int before = (int)(space - type->text);
    node->name = name_of(p, name, length);
    node->own = parse_inline(p, name, length);
    node->word = copy(p, space + 1, type->length - before - 1);
    parse_pieces(p, type->text, before, &lines[1]);
    for (int i = 0; i < length; i++)
        capitals[i] = (char)toupper((unsigned char)name[i]);
    node->constant = parse_inline(p, copy(p, capitals, length), length);
}

static void parse_when(parser *p, const source_line *line, int from, dm_natural_node *node)
{
    const char *text = line->text + from;
    int length = line->length - from, at = 0;
    while (at < length && is_name(text[at]))
        at++;
    node->name = name_of(p, text, at);
    node->words = take_memory(p, 8, sizeof *node->words);
    if (at + 4 > length || strncmp(text + at, " is ", 4) != 0 || node->words == NULL) {
        complain(p, line, "needs NAME is WORD ...");
        return;
    }
    for (at += 4; at < length && node->word_count < 8;) {
        int end = at;
        while (end < length && text[end] != ' ')
            end++;
        node->words[node->word_count++] = copy(p, text + at, end - at);
        at = end + 1;
    }
    node->first = parse_statements(p, line->indent, false);
}

static void parse_pick(parser *p, const source_line *line, dm_natural_node *node)
{
    const char *text = line->text + 5;
    int length = line->length - 5, at = 0;
    while (at < length && is_name(text[at]))
        at++;
    node->name = name_of(p, text, at);
    node->first = at < length && text[at] == ':'
                      ? parse_alternatives(p, text + at + 1, length - at - 1)
                      : parse_statements(p, line->indent, true);
    for (const dm_natural_node *o = node->first; o != NULL; o = o->next)
        node->total += o->weight;
    if (node->total == 0)
        complain(p, line, "no options");
}

/* NAME = TEXT, NAME += TEXT; NAME: and NAME+: with a block below. */
static void parse_value(parser *p, const source_line *line, dm_natural_node *node)
{
    const char *text = line->text;
    int length = line->length, at = 0;
    while (at < length && is_name(text[at]))
        at++;
    node->name = name_of(p, text, at);
    while (at < length && text[at] == ' ')
        at++;
    bool add = at < length && text[at] == '+';
    at += add;
    node->kind = add ? DM_NATURAL_ADD : DM_NATURAL_SET;
    if (at < length && text[at] == '=') {
        at += at + 1 < length ? 2 : 1;
        node->block = parse_inline(p, text + at, length - at);
    } else if (at + 1 == length && text[at] == ':') {
        node->block = parse_block(p, line->indent);
    } else {
        complain(p, line, "no statement of an idiom");
    }
}

static bool begins(const source_line *line, const char *word)
{
    size_t length = strlen(word);
    return (size_t)line->length > length && strncmp(line->text, word, length) == 0;
}

static void parse_option(parser *p, const source_line *line, dm_natural_node *node)
{
    int end = 0;
    while (end < line->length && is_name(line->text[end]))
        end++;
    node->kind = DM_NATURAL_OPTION;
    node->word = copy(p, line->text, end);
    node->block = parse_inline(p, line->text, end);
    node->weight = 1;
    if (end + 1 < line->length && line->text[end] == '*')
        node->weight = line->text[end + 1] - '0';
    else if (end < line->length)
        complain(p, line, "no option");
    node->first = parse_statements(p, line->indent, false);
}

static void parse_statement(parser *p, const source_line *line, dm_natural_node *node)
{
    if (begins(line, "pick ")) {
        node->kind = DM_NATURAL_PICK;
        parse_pick(p, line, node);
    } else if (begins(line, "use ")) {
        node->kind = DM_NATURAL_USE;
        node->word = copy(p, line->text + 4, line->length - 4);
    } else if (begins(line, "arg ") || begins(line, "out ")) {
        node->kind = line->text[0] == 'a' ? DM_NATURAL_ARG : DM_NATURAL_OUT;
        parse_arg(p, line, node);
    } else if (begins(line, "vary ")) {
        node->kind = DM_NATURAL_VARY;
        parse_vary(p, line, node);
    } else if (begins(line, "tune ") || begins(line, "const ")) {
        node->kind = DM_NATURAL_TUNE;
        parse_tune(p, line, node);
    } else if (begins(line, "when ") || begins(line, "unless ")) {
        node->kind = DM_NATURAL_WHEN;
        node->negated = line->text[0] == 'u';
        parse_when(p, line, node->negated ? 7 : 5, node);
    } else {
        parse_value(p, line, node);
    }
}

/* Those that stand further in than `indent`. */
static dm_natural_node *parse_statements(parser *p, int indent, bool options)
{
    dm_natural_node *first = NULL, **link = &first;
    while (p->at < p->count && p->status == DM_OK) {
        const source_line *line = &p->lines[p->at];
        if (line->length == 0) {
            p->at++;
            continue;
        }
        if (line->indent <= indent)
            break;
        dm_natural_node *node = take_memory(p, 1, sizeof *node);
        if (node == NULL)
            break;
        p->at++;
        if (options)
            parse_option(p, line, node);
        else
            parse_statement(p, line, node);
        *link = node;
        link = &node->next;
    }
    return first;
}

/* ---- A file: idioms and fragments, each begun by a line at its margin ---- */

static void parse_file(parser *p, int category)
{
    while (p->at < p->count && p->status == DM_OK) {
        const source_line *line = &p->lines[p->at];
        if (line->length == 0) {
            p->at++;
            continue;
        }
        bool fragment = begins(line, "fragment "), program = begins(line, "program ");
        if (line->indent != 0 || (!fragment && !program && !begins(line, "idiom "))) {
            complain(p, line, "not in an idiom");
            return;
        }
        int from = fragment ? 9 : program ? 8 : 6, own = -1;
        if (program) { /* its category stands before its name */
            char word[64];
            int length = 0;
            while (from + length < line->length && line->text[from + length] != ' ')
                length++;
            snprintf(word, sizeof word, "%.*s", length, line->text + from);
            own = dm_synth_category_find(word);
            from += length + 1;
            if (own < 0 || from >= line->length) {
                complain(p, line, "no category and name");
                return;
            }
        }
        dm_natural_idiom *idiom = take_memory(p, 1, sizeof *idiom);
        if (idiom == NULL)
            return;
        idiom->name = copy(p, line->text + from, line->length - from);
        idiom->category = fragment || program ? -1 : category;
        idiom->program = own;
        p->at++;
        idiom->first = parse_statements(p, 0, false);
        idiom->next = p->n->all;
        p->n->all = idiom;
    }
}

/* Comments of the library start with `##`, so that `#` is Python's. */
static void split(parser *p, const char *text, size_t size)
{
    int number = 0;
    for (size_t from = 0; from < size; number++) {
        size_t end = from;
        while (end < size && text[end] != '\n')
            end++;
        source_line *line = &p->lines[p->count++];
        *line = (source_line){.text = text + from, .number = number + 1};
        while (line->indent < (int)(end - from) && line->text[0] == ' ') {
            line->text++;
            line->indent++;
        }
        line->length = trim(line->text, (int)(end - from) - line->indent);
        if (line->length >= 2 && strncmp(line->text, "##", 2) == 0)
            p->count--;
        from = end + 1;
    }
}

dm_status dm_natural_parse(dm_natural *n, const char *file, const char *text, size_t size,
                           dm_error *err)
{
    parser p = {.n = n, .file = file, .err = err};
    const char *base = strrchr(file, '/');
    char category[64] = "";
    int count = 1;
    base = base == NULL ? file : base + 1;
    for (size_t i = 0; base[i] != '.' && base[i] != '\0' && i + 1 < sizeof category; i++)
        category[i] = base[i];
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    p.lines = take_memory(&p, (size_t)count, sizeof *p.lines);
    if (p.lines == NULL)
        return p.status;
    split(&p, text, size);
    parse_file(&p, dm_synth_category_find(category));
    return p.status;
}
