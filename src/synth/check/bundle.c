/* SPDX-License-Identifier: MIT */
/* bundle.c - many kernel texts as one compilation unit; see bundle.h.
 *
 * For each text: find its words (identifiers), cut it into declarations at file level, find the names
 * that each declares, hash every declared name with the declarations it depends on, then write the
 * declarations whose hash is new. */
#include "synth/check/bundle.h"

#include "base/arena.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An identifier's place in the text. */
typedef struct word {
    uint32_t at, size;
    uint32_t symbol; /* in the bundle's table */
} word;

/* From its first to its last byte; words [first, last). */
typedef struct declaration {
    uint32_t begin, end;
    uint32_t first, last;
    uint32_t symbol; /* what it declares */
} declaration;

/* One meaning of a name, from some text, and its name in the unit. */
typedef struct meaning {
    struct meaning *next;
    dm_hash128 hash;
    const char *name;
} meaning;

typedef struct symbol {
    const char *name;
    uint64_t hash;
    meaning *meanings;
    /* In the text that is being added, when `text` says so: */
    uint32_t text;
    uint32_t declarations; /* how many declare it */
    uint32_t seen;         /* of those, hashed so far */
    bool known;            /* `closure` is final */
    bool fresh;            /* its declarations are to be written */
    dm_hash128 closure;
    const char *alias; /* what the unit calls it; NULL: as it is */
} symbol;

struct dm_bundle {
    dm_arena arena; /* names and meanings */
    symbol *symbols;
    uint32_t symbol_count, symbol_capacity;
    uint32_t *slots; /* hash table of numbers into symbols, plus one */
    uint32_t slot_count;
    word *words;
    uint32_t word_count, word_capacity;
    declaration *declarations;
    uint32_t declaration_count, declaration_capacity;
    dm_buffer includes, body, unit, scratch;
    uint32_t text; /* number of the last text, from 1 */
    bool failed;   /* no memory */
};

/* ---- Symbols ---- */

dm_status dm_bundle_create(dm_bundle **out, dm_error *err)
{
    dm_bundle *b = *out = calloc(1, sizeof *b);
    if (b != NULL) {
        dm_arena_init(&b->arena, 0);
        b->slot_count = 4096;
        b->slots = calloc(b->slot_count, sizeof *b->slots);
    }
    if (b == NULL || b->slots == NULL) {
        dm_bundle_destroy(b);
        *out = NULL;
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    return DM_OK;
}

void dm_bundle_destroy(dm_bundle *b)
{
    if (b == NULL)
        return;
    dm_arena_deinit(&b->arena);
    free(b->symbols);
    free(b->slots);
    free(b->words);
    free(b->declarations);
    dm_buffer_deinit(&b->includes);
    dm_buffer_deinit(&b->body);
    dm_buffer_deinit(&b->unit);
    dm_buffer_deinit(&b->scratch);
    free(b);
}

void dm_bundle_clear(dm_bundle *b)
{
    dm_arena_reset(&b->arena);
    memset(b->slots, 0, b->slot_count * sizeof *b->slots);
    b->symbol_count = b->text = 0;
    b->failed = false;
    dm_buffer_clear(&b->includes);
    dm_buffer_clear(&b->body);
}

static bool grow(dm_bundle *b, void **items, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return true;
    uint32_t more = *capacity == 0 ? 1024 : 2 * *capacity;
    void *grown = realloc(*items, more * size);
    b->failed |= grown == NULL;
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = more;
    return true;
}

static void put_slot(dm_bundle *b, uint32_t index)
{
    uint32_t slot = (uint32_t)b->symbols[index].hash & (b->slot_count - 1);
    while (b->slots[slot] != 0)
        slot = (slot + 1) & (b->slot_count - 1);
    b->slots[slot] = index + 1;
}

static void widen_table(dm_bundle *b)
{
    uint32_t *wider = calloc(2 * (size_t)b->slot_count, sizeof *wider);
    b->failed |= wider == NULL;
    if (wider == NULL)
        return;
    free(b->slots);
    b->slots = wider;
    b->slot_count *= 2;
    for (uint32_t i = 0; i < b->symbol_count; i++)
        put_slot(b, i);
}

static symbol *find_symbol(const dm_bundle *b, const char *name, size_t size, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash & (b->slot_count - 1);
    for (; b->slots[slot] != 0; slot = (slot + 1) & (b->slot_count - 1)) {
        symbol *s = &b->symbols[b->slots[slot] - 1];
        if (s->hash == hash && strlen(s->name) == size && memcmp(s->name, name, size) == 0)
            return s;
    }
    return NULL;
}

/* The symbol's number, made when it is new; as of the text that is being added. */
static uint32_t intern(dm_bundle *b, const char *name, size_t size)
{
    uint64_t hash = dm_hash64(name, size);
    symbol *s = find_symbol(b, name, size, hash);
    if (s == NULL) {
        char *copy = dm_arena_strndup(&b->arena, name, size);
        b->failed |= copy == NULL;
        if (copy == NULL ||
            !grow(b, (void **)&b->symbols, &b->symbol_capacity, b->symbol_count, sizeof *s))
            return 0;
        s = &b->symbols[b->symbol_count++];
        *s = (symbol){.name = copy, .hash = hash};
        put_slot(b, b->symbol_count - 1);
        if (2 * b->symbol_count > b->slot_count)
            widen_table(b);
    }
    if (s->text != b->text) {
        s->text = b->text;
        s->declarations = s->seen = 0;
        s->known = s->fresh = false;
        s->alias = NULL;
    }
    return (uint32_t)(s - b->symbols);
}

/* ---- Words ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind a comment, a quoted text or a number that starts at `p`; else `p`. */
static const char *skip_opaque(const char *p, const char *end)
{
    if (*p == '/' && p + 1 < end && p[1] == '*') {
        const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
        return close == NULL ? end : close + 2;
    }
    if (*p == '/' && p + 1 < end && p[1] == '/') {
        const char *close = memchr(p, '\n', (size_t)(end - p));
        return close == NULL ? end : close;
    }
    if (*p == '"' || *p == '\'') {
        const char *q = p + 1;
        while (q < end && *q != *p)
            q += *q == '\\' && q + 1 < end ? 2 : 1;
        return q < end ? q + 1 : end;
    }
    if (is_digit(*p) || (*p == '.' && p + 1 < end && is_digit(p[1]))) {
        const char *q = p + 1;
        while (q < end && (is_letter(*q) || is_digit(*q) || *q == '.' ||
                           ((*q == '+' || *q == '-') &&
                            (q[-1] == 'e' || q[-1] == 'E' || q[-1] == 'p' || q[-1] == 'P'))))
            q++;
        return q;
    }
    return p;
}

/* ---- Declarations ---- */

/* A declaration while it is read. */
typedef struct shape {
    int depth;
    uint32_t tag, called, last; /* words, plus one: after `struct`, before '(', the last */
    bool is_typedef, has_value;
    bool after_parenthesis; /* the last sign was ')' */
    bool has_body;
    bool in_attribute;
} shape;

static bool word_is(const word *w, const char *text, const char *is)
{
    return w->size == strlen(is) && memcmp(text + w->at, is, w->size) == 0;
}

static void read_word(dm_bundle *b, const char *text, uint32_t at, uint32_t size, shape *s)
{
    if (!grow(b, (void **)&b->words, &b->word_capacity, b->word_count, sizeof *b->words))
        return;
    word *w = &b->words[b->word_count++];
    *w = (word){.at = at, .size = size, .symbol = intern(b, text + at, size)};
    if (s->depth > 0)
        return;
    bool after_struct = b->word_count > 1 && word_is(w - 1, text, "struct") && s->last != 0;
    if (word_is(w, text, "typedef"))
        s->is_typedef = true;
    else if (word_is(w, text, "__attribute__"))
        s->in_attribute = true;
    else if (after_struct && s->tag == 0)
        s->tag = b->word_count;
    if (!s->has_value && !word_is(w, text, "__attribute__"))
        s->last = b->word_count;
}

/* Follow one sign; true when it ends the declaration. */
static bool read_sign(char c, shape *s)
{
    bool end = false;
    if (c == '(' && s->depth == 0) {
        if (s->in_attribute)
            s->in_attribute = false;
        else if (s->called == 0)
            s->called = s->last;
    }
    if (c == '{' && s->depth == 0)
        s->has_body = s->after_parenthesis;
    if (c == '=' && s->depth == 0)
        s->has_value = true;
    s->depth += c == '(' || c == '{' || c == '[';
    s->depth -= c == ')' || c == '}' || c == ']';
    if (s->depth == 0 && (c == ';' || (c == '}' && s->has_body)))
        end = true;
    s->after_parenthesis = c == ')';
    return end;
}

static bool end_declaration(dm_bundle *b, uint32_t begin, uint32_t end, uint32_t first,
                            const shape *s)
{
    uint32_t name = s->called != 0 && !s->is_typedef ? s->called : s->last;
    if (name == 0 || name <= first ||
        !grow(b, (void **)&b->declarations, &b->declaration_capacity, b->declaration_count,
              sizeof *b->declarations))
        return false;
    uint32_t declared = b->words[name - 1].symbol;
    /* `typedef struct a {...} b` declares two names; ours are the same. */
    if (s->tag != 0 && s->is_typedef && b->words[s->tag - 1].symbol != declared)
        return false;
    b->declarations[b->declaration_count++] = (declaration){
        .begin = begin, .end = end, .first = first, .last = b->word_count, .symbol = declared};
    b->symbols[declared].declarations++;
    return true;
}

/* A line such as "#include <math.h>"; each goes to the top once. */
static bool read_directive(dm_bundle *b, const char *line, size_t size)
{
    if (size < 8 || memcmp(line, "#include", 8) != 0)
        return false;
    if (b->includes.size == 0 || memmem(b->includes.data, b->includes.size, line, size) == NULL) {
        dm_buffer_append(&b->includes, line, size);
        dm_buffer_putc(&b->includes, '\n');
    }
    return true;
}

static bool take_apart(dm_bundle *b, const char *text, size_t size)
{
    const char *p = text, *end = text + size;
    shape s = {0};
    uint32_t begin = UINT32_MAX, first = 0;
    while (p < end) {
        uint32_t at = (uint32_t)(p - text);
        const char *behind = skip_opaque(p, end);
        bool comment = behind != p && *p == '/';
        if (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') {
            p++;
            continue;
        }
        if (begin == UINT32_MAX && *p == '#') {
            behind = memchr(p, '\n', (size_t)(end - p));
            behind = behind == NULL ? end : behind;
            if (!read_directive(b, p, (size_t)(behind - p)))
                return false;
            p = behind;
            continue;
        }
        if (begin == UINT32_MAX && !comment) {
            begin = at;
            first = b->word_count;
            s = (shape){0};
        }
        if (behind != p) {
            p = behind;
        } else if (is_letter(*p)) {
            while (p < end && (is_letter(*p) || is_digit(*p)))
                p++;
            read_word(b, text, at, (uint32_t)(p - text) - at, &s);
        } else {
            bool ends = read_sign(*p, &s);
            p++;
            if (*(p - 1) == '#' || *(p - 1) == '\\' || s.depth < 0 ||
                (ends && !end_declaration(b, begin, (uint32_t)(p - text), first, &s)))
                return false;
            if (ends)
                begin = UINT32_MAX;
        }
    }
    return begin == UINT32_MAX;
}

/* ---- Hashes ---- */

/* Append what a declaration means, to be hashed: its bytes, with a declared name's hash in its place. */
static void put_meaning(dm_bundle *b, const char *text, const declaration *d, bool *complete)
{
    dm_buffer *out = &b->scratch;
    uint32_t at = d->begin;
    for (uint32_t i = d->first; i < d->last; i++) {
        const word *w = &b->words[i];
        const symbol *s = &b->symbols[w->symbol];
        dm_buffer_append(out, text + at, w->at - at);
        at = w->at + w->size;
        if (s->declarations == 0 || w->symbol == d->symbol) {
            dm_buffer_append(out, text + w->at, w->size);
            dm_buffer_putc(out, '\1'); /* a name that is not declared here, or the name itself */
        } else if (s->known) {
            dm_buffer_append(out, &s->closure, sizeof s->closure);
            dm_buffer_append(out, s->name, strlen(s->name));
            dm_buffer_putc(out, '\2');
        } else {
            *complete = false;
        }
    }
    dm_buffer_append(out, text + at, d->end - at);
}

/* Declarations of one name are hashed together when the last is reached: a prototype is the same as
 * another only when the functions are. A declaration that names something declared later is like no
 * other. */
static void hash_names(dm_bundle *b, const char *text)
{
    for (uint32_t i = 0; i < b->declaration_count; i++) {
        symbol *s = &b->symbols[b->declarations[i].symbol];
        bool complete = true;
        if (++s->seen < s->declarations)
            continue;
        dm_buffer_clear(&b->scratch);
        for (uint32_t k = s->declarations == 1 ? i : 0; k <= i; k++)
            if (b->declarations[k].symbol == b->declarations[i].symbol)
                put_meaning(b, text, &b->declarations[k], &complete);
        if (!complete) {
            dm_buffer_append(&b->scratch, &b->text, sizeof b->text);
            dm_buffer_putc(&b->scratch, '\3');
        }
        b->failed |= b->scratch.failed;
        s->closure = dm_hash128_of(dm_buffer_text(&b->scratch), b->scratch.size);
        s->known = true;
    }
}

/* ---- Names ---- */

static const char *new_name(dm_bundle *b, const char *name)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%.480s__b%u", name, b->text);
    char *copy = dm_arena_strndup(&b->arena, text, (size_t)size);
    b->failed |= copy == NULL;
    return copy == NULL ? name : copy;
}

static void choose_name(dm_bundle *b, symbol *s)
{
    meaning *m = s->meanings;
    while (m != NULL && memcmp(&m->hash, &s->closure, sizeof m->hash) != 0)
        m = m->next;
    s->fresh = m == NULL;
    if (m == NULL) {
        m = dm_arena_alloc(&b->arena, sizeof *m);
        b->failed |= m == NULL;
        if (m == NULL)
            return;
        *m = (meaning){.next = s->meanings, .hash = s->closure};
        m->name = s->meanings == NULL ? s->name : new_name(b, s->name);
        s->meanings = m;
    }
    s->alias = m->name;
}

static void choose_names(dm_bundle *b)
{
    for (uint32_t i = 0; i < b->declaration_count; i++) {
        symbol *s = &b->symbols[b->declarations[i].symbol];
        if (s->alias == NULL)
            choose_name(b, s);
    }
    /* What is not declared here may not be found in another text. */
    for (uint32_t i = 0; i < b->word_count; i++) {
        symbol *s = &b->symbols[b->words[i].symbol];
        if (s->alias == NULL && s->meanings != NULL)
            s->alias = new_name(b, s->name);
    }
}

static void write_declarations(dm_bundle *b, const char *text)
{
    for (uint32_t i = 0; i < b->declaration_count; i++) {
        const declaration *d = &b->declarations[i];
        uint32_t at = d->begin;
        if (!b->symbols[d->symbol].fresh)
            continue;
        for (uint32_t k = d->first; k < d->last; k++) {
            const word *w = &b->words[k];
            const char *alias = b->symbols[w->symbol].alias;
            if (alias == NULL)
                continue;
            dm_buffer_append(&b->body, text + at, w->at - at);
            dm_buffer_puts(&b->body, alias);
            at = w->at + w->size;
        }
        dm_buffer_append(&b->body, text + at, d->end - at);
        dm_buffer_puts(&b->body, "\n");
    }
}

/* ---- The whole ---- */

dm_status dm_bundle_add(dm_bundle *b, const char *text, size_t size, dm_error *err)
{
    size_t includes = b->includes.size;
    if (size > INT32_MAX / 2)
        return dm_fail(err, DM_EUNSUPPORTED, "the text is too long");
    b->text++;
    b->word_count = b->declaration_count = 0;
    bool apart = take_apart(b, text, size);
    if (!apart && !b->failed) {
        b->includes.size = includes;
        return dm_fail(err, DM_EUNSUPPORTED, "the text cannot be taken apart");
    }
    hash_names(b, text);
    choose_names(b);
    write_declarations(b, text);
    if (b->failed || b->body.failed || b->includes.failed)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return DM_OK;
}

const char *dm_bundle_name(const dm_bundle *b, const char *name)
{
    const symbol *s = find_symbol(b, name, strlen(name), dm_hash64(name, strlen(name)));
    return s == NULL || s->text != b->text || s->alias == NULL ? name : s->alias;
}

const char *dm_bundle_text(dm_bundle *b, size_t *size)
{
    dm_buffer_clear(&b->unit);
    dm_buffer_append(&b->unit, dm_buffer_text(&b->includes), b->includes.size);
    dm_buffer_append(&b->unit, dm_buffer_text(&b->body), b->body.size);
    *size = b->unit.size;
    return dm_buffer_text(&b->unit);
}
