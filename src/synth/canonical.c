/* SPDX-License-Identifier: MIT */
/* canonical.c - a kernel's text without names, constants, comments and spacing.
 *
 * One walk over the bytes. Lines keep their indentation as a count of columns, which is what tells
 * blocks apart; everything inside of brackets counts as one line. */
#include "synth/canonical.h"

#include <stdbool.h>
#include <string.h>

#define NAMES_MAX 256 /* names beyond are written out: forms of such texts stay distinct */

typedef struct walk {
    const char *at, *end;
    dm_buffer *out;
    const char *names[NAMES_MAX];
    size_t lengths[NAMES_MAX];
    uint32_t hashes[NAMES_MAX];
    uint16_t table[2 * NAMES_MAX]; /* number + 1, by hash */
    int count;
    int brackets;
    bool line_begun; /* something of this line was written */
} walk;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Words that mean something by themselves. */
static bool is_kept(const char *name, size_t length)
{
    static const char *const words[] = {
        "def",   "class", "return", "if",       "elif", "else",   "for", "while", "in",  "and",
        "or",    "not",   "break",  "continue", "pass", "import", "as",  "from",  "is",  "assert",
        "range", "int",   "float",  "bool",     "len",  "print",  "abs", "min",   "max", "round",
        "dtype", "shape", "ndim",   "length",   "wp",   "x",      "y",   "z",     "w"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i][0] == name[0] && strlen(words[i]) == length &&
            memcmp(words[i], name, length) == 0)
            return true;
    return false;
}

static uint32_t hash_name(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* The number of a name, in the order of appearance; -1 when there are too many. */
static int number_of(walk *w, const char *name, size_t length)
{
    uint32_t hash = hash_name(name, length), slot = hash % (2 * NAMES_MAX);
    for (; w->table[slot] != 0; slot = (slot + 1) % (2 * NAMES_MAX)) {
        int n = w->table[slot] - 1;
        if (w->hashes[n] == hash && w->lengths[n] == length &&
            memcmp(w->names[n], name, length) == 0)
            return n;
    }
    if (w->count == NAMES_MAX)
        return -1;
    w->names[w->count] = name;
    w->lengths[w->count] = length;
    w->hashes[w->count] = hash;
    w->table[slot] = (uint16_t)(w->count + 1);
    return w->count++;
}

/* Two letters that no text begins a token with, so that numbered names cannot be mistaken. */
static void put_number(walk *w, int number)
{
    char text[3] = {'$', (char)(0x40 + number / 64), (char)(0x40 + number % 64)};
    dm_buffer_append(w->out, text, 3);
}

static bool ends_with(const dm_buffer *out, const char *text, size_t length)
{
    return out->size >= length && memcmp(out->data + out->size - length, text, length) == 0;
}

static void walk_name(walk *w)
{
    const char *start = w->at;
    while (w->at < w->end && (is_letter(*w->at) || is_digit(*w->at)))
        w->at++;
    size_t length = (size_t)(w->at - start);
    bool builtin = ends_with(w->out, "wp.", 3);
    if ((length == 4 && memcmp(start, "True", 4) == 0) ||
        (length == 5 && memcmp(start, "False", 5) == 0)) {
        dm_buffer_putc(w->out, '#');
        return;
    }
    int number = builtin || is_kept(start, length) ? -1 : number_of(w, start, length);
    if (number >= 0) {
        put_number(w, number);
        return;
    }
    if (w->out->size > 0 && is_letter(w->out->data[w->out->size - 1]))
        dm_buffer_putc(w->out, ' ');
    dm_buffer_append(w->out, start, length);
}

static void walk_literal(walk *w)
{
    while (w->at < w->end) {
        char c = *w->at;
        bool exponent =
            (c == '+' || c == '-') && (w->at[-1] == 'e' || w->at[-1] == 'E') && w->at[-2] != 'x';
        if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent)
            break;
        w->at++;
    }
    dm_buffer_putc(w->out, '#');
}

/* A docstring vanishes; any other string becomes a constant. */
static void walk_string(walk *w)
{
    char quote = *w->at;
    size_t left = (size_t)(w->end - w->at);
    bool triple = left >= 3 && w->at[1] == quote && w->at[2] == quote;
    w->at += triple ? 3 : 1;
    while (w->at < w->end) {
        if (*w->at == '\\' && w->end - w->at > 1) {
            w->at += 2;
            continue;
        }
        if (*w->at == quote &&
            (!triple || (w->end - w->at >= 3 && w->at[1] == quote && w->at[2] == quote))) {
            w->at += triple ? 3 : 1;
            break;
        }
        w->at++;
    }
    if (w->line_begun)
        dm_buffer_putc(w->out, '#');
}

/* The next line that says something, and how far it is indented. */
static void begin_line(walk *w)
{
    int columns = 0;
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t')) {
        columns++;
        w->at++;
    }
    if (w->at == w->end || *w->at == '\n' || *w->at == '\r' || *w->at == '#' || *w->at == '"' ||
        *w->at == '\'')
        return;
    dm_buffer_putc(w->out, '\n');
    if (columns > 0)
        dm_buffer_putc(w->out, (char)(columns < 100 ? columns : 100));
    w->line_begun = true;
}

static void walk_sign(walk *w)
{
    char c = *w->at++;
    if (c == '(' || c == '[' || c == '{')
        w->brackets++;
    if (c == ')' || c == ']' || c == '}') {
        w->brackets--;
        if (ends_with(w->out, ",", 1)) /* a last comma says nothing */
            w->out->size--;
    }
    dm_buffer_putc(w->out, c);
}

void dm_synth_canonical_form(const char *text, size_t size, dm_buffer *out)
{
    walk w = {.at = text, .end = text + size, .out = out};
    if (!dm_buffer_reserve(out, size))
        return;
    while (w.at < w.end) {
        if (!w.line_begun && w.brackets <= 0) {
            begin_line(&w);
            if (w.at == w.end)
                break;
        }
        char c = *w.at;
        if (c == '\n') {
            w.at++;
            if (w.brackets <= 0)
                w.line_begun = false;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\\') {
            w.at++;
        } else if (c == '#') {
            while (w.at < w.end && *w.at != '\n')
                w.at++;
        } else if (c == '"' || c == '\'') {
            walk_string(&w);
        } else if (is_letter(c)) {
            walk_name(&w);
        } else if (is_digit(c) || (c == '.' && w.end - w.at > 1 && is_digit(w.at[1]))) {
            walk_literal(&w);
        } else {
            walk_sign(&w);
        }
    }
    if (out->data != NULL)
        out->data[out->size] = '\0';
}

dm_hash128 dm_synth_canonical_hash(const char *text, size_t size, dm_buffer *scratch)
{
    dm_buffer_clear(scratch);
    dm_synth_canonical_form(text, size, scratch);
    return dm_hash128_of(dm_buffer_text(scratch), scratch->size);
}
