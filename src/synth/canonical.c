/* SPDX-License-Identifier: MIT */
/* canonical.c - a kernel's text without names, constants, comments and spacing.
 *
 * One walk over the bytes. Lines keep their indentation as a count of columns, which is what tells
 * blocks apart; everything inside of brackets counts as one line. */
#include "synth/canonical.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NAMES_MAX 256 /* names beyond are written out: forms of such texts stay distinct */

typedef struct walk {
    const char *at, *end;
    char *start, *to; /* the form: there is room for the longest */
    const char *names[NAMES_MAX];
    uint16_t lengths[NAMES_MAX];
    uint32_t hashes[NAMES_MAX];
    uint16_t table[2 * NAMES_MAX]; /* number + 1, by hash */
    int count;
    int brackets;
    bool line_begun; /* something of this line was written */
} walk;

/* A byte of text becomes three of the form at most: a short name does. */
#define GROWTH 3

enum { OTHER, LETTER, DIGIT, SPACE, NEWLINE };

static int class_of(char c)
{
    static const uint8_t
        classes[256] = {['\n'] = NEWLINE,       [' '] = SPACE,          ['\t'] = SPACE,
                        ['\r'] = SPACE,         ['\\'] = SPACE,         ['0' ... '9'] = DIGIT,
                        ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER,
                        [128 ... 255] = LETTER};
    return classes[(unsigned char)c];
}

static bool is_letter(char c)
{
    return class_of(c) == LETTER;
}

static bool is_digit(char c)
{
    return class_of(c) == DIGIT;
}

static bool is_one_of(const char *name, const char *words, size_t length)
{
    for (; *words != '\0'; words += length)
        if (*name == *words && memcmp(name, words, length) == 0)
            return true;
    return false;
}

/* Words that mean something by themselves, by their length. */
static bool is_kept(const char *name, size_t length)
{
    static const char *const words[] = {
        [1] = "xyzw",
        [2] = "ifinorasiswp",
        [3] = "defforandnotintlenabsminmax",
        [4] = "elifelsefromboolpassndim",
        [5] = "classwhilebreakrangefloatprintrounddtypeshape",
        [6] = "returnimportassertlength",
        [8] = "continue",
    };
    return length < sizeof words / sizeof words[0] && words[length] != NULL &&
           is_one_of(name, words[length], length);
}

/* The number of a name, in the order of appearance; -1 when there are too many. */
static int number_of(walk *w, const char *name, size_t length, uint32_t hash)
{
    uint32_t slot = hash % (2 * NAMES_MAX);
    for (; w->table[slot] != 0; slot = (slot + 1) % (2 * NAMES_MAX)) {
        int n = w->table[slot] - 1;
        if (w->hashes[n] == hash && w->lengths[n] == length &&
            memcmp(w->names[n], name, length) == 0)
            return n;
    }
    if (w->count == NAMES_MAX || length > UINT16_MAX)
        return -1;
    w->names[w->count] = name;
    w->lengths[w->count] = (uint16_t)length;
    w->hashes[w->count] = hash;
    w->table[slot] = (uint16_t)(w->count + 1);
    return w->count++;
}

static bool ends_with(const walk *w, const char *text, size_t length)
{
    return (size_t)(w->to - w->start) >= length && memcmp(w->to - length, text, length) == 0;
}

static void walk_name(walk *w)
{
    const char *start = w->at;
    uint32_t hash = 2166136261u;
    for (; w->at < w->end && (is_letter(*w->at) || is_digit(*w->at)); w->at++)
        hash = (hash ^ (unsigned char)*w->at) * 16777619u;
    size_t length = (size_t)(w->at - start);
    bool builtin = ends_with(w, "wp.", 3);
    if ((length == 4 && memcmp(start, "True", 4) == 0) ||
        (length == 5 && memcmp(start, "False", 5) == 0)) {
        *w->to++ = '#';
        return;
    }
    bool kept = is_kept(start, length) && (length > 1 || ends_with(w, ".", 1)); /* v.x, not x */
    int number = builtin || kept ? -1 : number_of(w, start, length, hash);
    if (number >= 0) { /* a sign that no text has, then two that make the number */
        *w->to++ = '$';
        *w->to++ = (char)(0x40 + number / 64);
        *w->to++ = (char)(0x40 + number % 64);
        return;
    }
    if (w->to > w->start && is_letter(w->to[-1]))
        *w->to++ = ' ';
    memcpy(w->to, start, length);
    w->to += length;
}

static void walk_literal(walk *w)
{
    while (w->at < w->end) {
        char c = *w->at;
        bool exponent = (c == '+' || c == '-') && (w->at[-1] == 'e' || w->at[-1] == 'E');
        if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent)
            break;
        w->at++;
    }
    *w->to++ = '#';
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
        *w->to++ = '#';
}

/* The next line that says something, and how far it is indented. */
static void begin_line(walk *w)
{
    int columns = 0;
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t')) {
        columns++;
        w->at++;
    }
    if (w->at == w->end || class_of(*w->at) == NEWLINE || *w->at == '\r' || *w->at == '#' ||
        *w->at == '"' || *w->at == '\'')
        return;
    *w->to++ = '\n';
    if (columns > 0)
        *w->to++ = (char)(columns < 100 ? columns : 100);
    w->line_begun = true;
}

static void walk_sign(walk *w)
{
    char c = *w->at++;
    if (c == '(' || c == '[' || c == '{')
        w->brackets++;
    if (c == ')' || c == ']' || c == '}') {
        w->brackets--;
        if (ends_with(w, ",", 1)) /* a last comma says nothing */
            w->to--;
    }
    *w->to++ = c;
}

static void walk_one(walk *w)
{
    char c = *w->at;
    switch (class_of(c)) {
    case NEWLINE:
        w->at++;
        w->line_begun &= w->brackets > 0;
        break;
    case SPACE:
        w->at++;
        break;
    case LETTER:
        walk_name(w);
        break;
    case DIGIT:
        walk_literal(w);
        break;
    default:
        if (c == '#')
            while (w->at < w->end && *w->at != '\n')
                w->at++;
        else if (c == '"' || c == '\'')
            walk_string(w);
        else if (c == '.' && w->end - w->at > 1 && is_digit(w->at[1]))
            walk_literal(w);
        else
            walk_sign(w);
    }
}

void dm_synth_canonical_form(const char *text, size_t size, dm_buffer *out)
{
    if (!dm_buffer_reserve(out, GROWTH * size + 16))
        return;
    walk w = {.at = text, .end = text + size};
    w.start = w.to = out->data + out->size;
    while (w.at < w.end) {
        if (!w.line_begun && w.brackets <= 0)
            begin_line(&w);
        if (w.at < w.end)
            walk_one(&w);
    }
    *w.to = '\0';
    out->size += (size_t)(w.to - w.start);
}

dm_hash128 dm_synth_canonical_hash(const char *text, size_t size, dm_buffer *scratch)
{
    dm_buffer_clear(scratch);
    dm_synth_canonical_form(text, size, scratch);
    return dm_hash128_of(dm_buffer_text(scratch), scratch->size);
}
