/* SPDX-License-Identifier: MIT */
/* rewrite.c - other forms of a program with the same results; see rewrite.h. */
#include "synth/lesson/rewrite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 400
#define BODY_MAX 24 /* lines of a loop */
#define WHOLE_MAX 8 /* rounds that are written out */
#define TOGETHER 4  /* rounds of an unrolled loop in one */
#define NAME_MAX_ 64

typedef struct line {
    const char *text; /* behind the spaces */
    int size, indent;
} line;

typedef struct program {
    line lines[LINES_MAX];
    int count;
} program;

/* `for NAME in range(FIRST, LAST):` and the lines of its body. */
typedef struct loop {
    int at, end; /* lines at + 1 .. end - 1 */
    char name[NAME_MAX_];
    char first[160], last[160]; /* as written */
    bool known;                 /* both are numbers */
    int from, to;
} loop;

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool read_lines(program *p, const char *text, size_t size)
{
    p->count = 0;
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        int length = (int)((stop == NULL ? end : stop) - at), spaces = 0;
        if (p->count == LINES_MAX)
            return false;
        while (spaces < length && at[spaces] == ' ')
            spaces++;
        p->lines[p->count++] = (line){at + spaces, length - spaces, spaces};
        at += length + 1;
    }
    return true;
}

/* ---- Words of a line ---- */

/* Where `word` stands in the line, from `from` on; -1: it does not. */
static int find_word(const line *l, const char *word, int from)
{
    int length = (int)strlen(word);
    for (int i = from; i + length <= l->size; i++)
        if (memcmp(l->text + i, word, (size_t)length) == 0 &&
            (i == 0 || (!is_letter(l->text[i - 1]) && l->text[i - 1] != '.')) &&
            (i + length == l->size || !is_letter(l->text[i + length])))
            return i;
    return -1;
}

static bool has_word(const line *l, const char *word)
{
    return find_word(l, word, 0) >= 0;
}

static bool starts_with(const line *l, const char *word)
{
    size_t length = strlen(word);
    return (size_t)l->size >= length && memcmp(l->text, word, length) == 0;
}

/* Brackets that the line opens and does not close; strings are not looked into. */
static bool is_whole(const line *l)
{
    int depth = 0;
    for (int i = 0; i < l->size; i++)
        depth += (strchr("([{", l->text[i]) != NULL) - (strchr(")]}", l->text[i]) != NULL);
    return depth == 0;
}

static void put_line(const line *l, int indent, dm_buffer *out)
{
    if (l->size > 0)
        dm_buffer_printf(out, "%*s%.*s", indent, "", l->size, l->text);
    dm_buffer_putc(out, '\n');
}

/* ---- Loops ---- */

static bool read_range(const line *l, loop *out)
{
    char text[400], *comma = NULL, *end;
    int depth = 0, n = 0;
    if (!starts_with(l, "for ") || l->size >= (int)sizeof text)
        return false;
    memcpy(text, l->text, (size_t)l->size);
    text[l->size] = '\0';
    if (sscanf(text, "for %63[A-Za-z0-9_] in range(%n", out->name, &n) != 1 || n == 0 ||
        l->size < n + 3 || strcmp(text + l->size - 2, "):") != 0)
        return false;
    text[l->size - 2] = '\0';
    for (char *c = text + n; *c != '\0'; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (*c != ',' || depth > 0)
            continue;
        if (comma != NULL)
            return false; /* a step */
        comma = c;
    }
    snprintf(out->first, sizeof out->first, "0");
    if (comma != NULL) {
        *comma = '\0';
        snprintf(out->first, sizeof out->first, "%.150s", text + n);
        comma += 1 + (comma[1] == ' ');
    }
    snprintf(out->last, sizeof out->last, "%.150s", comma != NULL ? comma : text + n);
    out->from = (int)strtol(out->first, &end, 10);
    out->known = *end == '\0';
    out->to = (int)strtol(out->last, &end, 10);
    out->known &= *end == '\0';
    return out->last[0] != '\0';
}

/* The loop at a line, when nothing in it loops or leaves. */
static bool read_loop(const program *p, int at, loop *out)
{
    static const char *const leaving[] = {"for", "while", "break", "continue", "return", NULL};
    const line *head = &p->lines[at];
    out->at = at;
    if (!is_whole(head) || !read_range(head, out))
        return false;
    for (out->end = at + 1; out->end < p->count; out->end++) {
        const line *l = &p->lines[out->end];
        if (l->size > 0 && l->indent <= head->indent)
            break;
        for (int i = 0; l->text[0] != '#' && leaving[i] != NULL; i++)
            if (has_word(l, leaving[i]))
                return false;
        int name = (int)strlen(out->name);
        if (!is_whole(l) || (starts_with(l, out->name) && !is_letter(l->text[name]) &&
                             strchr("=+-*", l->text[name + 1]) != NULL))
            return false;
    }
    while (out->end > at + 1 && p->lines[out->end - 1].size == 0)
        out->end--;
    return out->end > at + 1 && out->end - at - 1 <= BODY_MAX;
}

static void put_range(const program *p, int from, int to, dm_buffer *out)
{
    for (int i = from; i < to; i++)
        put_line(&p->lines[i], p->lines[i].indent, out);
}

/* ---- Unrolled ---- */

/* The body with another expression in place of the loop's name; in brackets but for between commas. */
static void put_body(const program *p, const loop *l, int shift, const char *value, bool plain,
                     dm_buffer *out)
{
    int length = (int)strlen(l->name);
    for (int i = l->at + 1; i < l->end; i++) {
        const line *from = &p->lines[i];
        int done = 0;
        if (from->size == 0 || from->text[0] == '#')
            continue;
        dm_buffer_printf(out, "%*s", from->indent - shift, "");
        for (int at; (at = find_word(from, l->name, done)) >= 0; done = at + length) {
            char before = at > 0 ? from->text[at - 1] : '=';
            char after = at + length < from->size ? from->text[at + length] : '\n';
            bool between =
                at > 1 &&
                (strchr("([", before) != NULL || (before == ' ' && from->text[at - 2] == ',')) &&
                strchr("),]", after) != NULL;
            dm_buffer_printf(out, "%.*s%s%s%s", at - done, from->text + done,
                             plain || between ? "" : "(", value, plain || between ? "" : ")");
        }
        dm_buffer_printf(out, "%.*s\n", from->size - done, from->text + done);
    }
}

static void put_unrolled(const program *p, const loop *l, dm_buffer *out)
{
    int indent = p->lines[l->at].indent;
    char value[NAME_MAX_ + 16], rest[512], whole[80];
    if (l->known) {
        for (int k = l->from; k < l->to; k++) {
            snprintf(value, sizeof value, "%d", k);
            put_body(p, l, 4, value, k >= 0, out);
        }
        return;
    }
    bool simple = strpbrk(l->last, " ") == NULL, zero = strcmp(l->first, "0") == 0;
    if (zero && simple)
        snprintf(rest, sizeof rest, "%s - %s %% %d", l->last, l->last, TOGETHER);
    else if (zero)
        snprintf(rest, sizeof rest, "(%s) - (%s) %% %d", l->last, l->last, TOGETHER);
    else
        snprintf(rest, sizeof rest, "(%s) - ((%s) - (%s)) %% %d", l->last, l->last, l->first,
                 TOGETHER);
    snprintf(whole, sizeof whole, "whole");
    for (int i = 0; i < p->count && strcmp(whole, "whole") == 0; i++)
        if (has_word(&p->lines[i], whole))
            snprintf(whole, sizeof whole, "whole_%.60s", l->name);
    dm_buffer_printf(out, "%*s# four at a time\n%*s%s = %s\n", indent, "", indent, "", whole, rest);
    dm_buffer_printf(out, "%*sfor %s in range(%s, %s, %d):\n", indent, "", l->name, l->first, whole,
                     TOGETHER);
    put_body(p, l, 0, l->name, true, out);
    for (int k = 1; k < TOGETHER; k++) {
        snprintf(value, sizeof value, "%s + %d", l->name, k);
        put_body(p, l, 0, value, false, out);
    }
    dm_buffer_printf(out, "%*s# what is left\n", indent, "");
    dm_buffer_printf(out, "%*sfor %s in range(%s, %s):\n", indent, "", l->name, whole, l->last);
    put_range(p, l->at + 1, l->end, out);
}

bool dm_synth_unroll(const char *text, size_t size, dm_buffer *out)
{
    program *p = malloc(sizeof *p);
    loop l = {0};
    bool found = false;
    if (p == NULL || !read_lines(p, text, size)) {
        free(p);
        return false;
    }
    for (int i = 0; i < p->count && !found; i++)
        found =
            read_loop(p, i, &l) && (!l.known || (l.to - l.from > 1 && l.to - l.from <= WHOLE_MAX));
    if (found) {
        put_range(p, 0, l.at, out);
        put_unrolled(p, &l, out);
        put_range(p, l.end, p->count, out);
    }
    free(p);
    return found;
}

/* ---- Split ---- */

/* The name that a plain statement gives a value; false for everything else. */
static bool read_target(const line *l, char name[NAME_MAX_], bool *updates)
{
    int length = 0;
    while (length < l->size && is_letter(l->text[length]))
        length++;
    const char *sign = l->text + length;
    int left = l->size - length;
    if (length == 0 || length >= NAME_MAX_ || left < 4 || sign[0] != ' ')
        return false;
    bool augmented = strchr("+-*", sign[1]) != NULL && sign[2] == '=' && sign[3] == ' ';
    if (!augmented && !(sign[1] == '=' && sign[2] == ' '))
        return false;
    memcpy(name, l->text, (size_t)length);
    name[length] = '\0';
    *updates = augmented || find_word(l, name, length) >= 0;
    return true;
}

/* Mark the lines that what is marked needs, looking backwards. */
static void mark_needed(const program *p, const loop *l, char names[][NAME_MAX_], bool *marked)
{
    int first = l->at + 1, count = l->end - first;
    for (int again = 1; again != 0;) {
        again = 0;
        for (int i = count - 1; i >= 0; i--)
            for (int k = 0; k < count && !marked[i] && names[i][0] != '\0'; k++)
                if (k != i && marked[k] && has_word(&p->lines[first + k], names[i]))
                    again = marked[i] = true;
    }
}

static bool is_used_behind(const program *p, const loop *l, const char *name)
{
    for (int i = l->end; i < p->count && (p->lines[i].size == 0 || p->lines[i].indent > 0); i++)
        if (has_word(&p->lines[i], name))
            return true;
    return false;
}

static bool try_split(const program *p, const loop *l, bool one[BODY_MAX], bool other[BODY_MAX])
{
    char names[BODY_MAX][NAME_MAX_] = {{0}};
    bool carried[BODY_MAX] = {false};
    int first = l->at + 1, count = l->end - first, chosen = -1, rest = -1;
    memset(one, 0, BODY_MAX * sizeof *one);
    memset(other, 0, BODY_MAX * sizeof *other);
    for (int i = 0; i < count; i++) {
        const line *s = &p->lines[first + i];
        if (s->size == 0 || s->text[0] == '#')
            continue;
        if (s->indent != p->lines[l->at].indent + 4 || !read_target(s, names[i], &carried[i]))
            return false;
        for (int k = 0; k < i; k++) /* a name with two statements */
            if (strcmp(names[k], names[i]) == 0)
                return false;
        if (!carried[i] && is_used_behind(p, l, names[i]))
            return false;
        if (carried[i] && chosen < 0)
            chosen = i;
        else if (carried[i])
            rest = i;
    }
    if (chosen < 0 || rest < 0)
        return false;
    one[chosen] = true;
    for (int i = 0; i < count; i++)
        other[i] = carried[i] && i != chosen;
    mark_needed(p, l, names, one);
    mark_needed(p, l, names, other);
    for (int i = 0; i < count; i++)
        if (carried[i] && one[i] && other[i]) /* one needs the other */
            return false;
    return true;
}

static void put_half(const program *p, const loop *l, const bool *kept, dm_buffer *out)
{
    put_line(&p->lines[l->at], p->lines[l->at].indent, out);
    for (int i = l->at + 1; i < l->end; i++)
        if (kept[i - l->at - 1])
            put_line(&p->lines[i], p->lines[i].indent, out);
}

bool dm_synth_unfuse(const char *text, size_t size, dm_buffer *out)
{
    program *p = malloc(sizeof *p);
    bool one[BODY_MAX], other[BODY_MAX], found = false;
    loop l = {0};
    if (p == NULL || !read_lines(p, text, size)) {
        free(p);
        return false;
    }
    for (int i = 0; i < p->count && !found; i++)
        found = read_loop(p, i, &l) && try_split(p, &l, one, other);
    if (found) {
        put_range(p, 0, l.at, out);
        put_half(p, &l, one, out);
        put_half(p, &l, other, out);
        put_range(p, l.end, p->count, out);
    }
    free(p);
    return found;
}
