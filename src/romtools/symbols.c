/* SPDX-License-Identifier: MIT */
/* symbols.c - see symbols.h. */
#include "romtools/symbols.h"
#include "base/closest.h"
#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 20)
#define NAME_MAX_LENGTH 255u /* bytes */
#define BANK_MAX 0x1FFu

/* ---- One line ---- */

typedef struct line {
    const char *at, *end;
} line;

/* The next word, parted from others by blanks; its length, 0 at the end. */
static size_t next_word(line *l, const char **word)
{
    while (l->at < l->end && isspace((unsigned char)*l->at))
        l->at++;
    *word = l->at;
    while (l->at < l->end && !isspace((unsigned char)*l->at))
        l->at++;
    return (size_t)(l->at - *word);
}

/* All of these characters as a hexadecimal number of at most 8 digits. */
static bool hex_number(const char *text, size_t length, uint32_t *out)
{
    uint32_t value = 0;
    if (length == 0 || length > 8)
        return false;
    for (size_t i = 0; i < length; i++) {
        int c = tolower((unsigned char)text[i]);
        if (!isxdigit(c))
            return false;
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = value;
    return true;
}

/* "bank:address"; "BOOT" is bank 0. */
static bool banked(const char *word, size_t length, uint32_t *bank, uint32_t *address)
{
    const char *colon = memchr(word, ':', length);
    if (colon == NULL)
        return false;
    size_t before = (size_t)(colon - word);
    if (before == 4 && memcmp(word, "BOOT", 4) == 0)
        *bank = 0;
    else if (!hex_number(word, before, bank) || *bank > BANK_MAX)
        return false;
    return hex_number(colon + 1, length - before - 1, address) && *address <= 0xFFFFu;
}

/* May this be the name of a symbol? */
static bool is_name(const char *word, size_t length)
{
    if (length == 0 || length > NAME_MAX_LENGTH)
        return false;
    for (size_t i = 0; i < length; i++)
        if (word[i] == 0 || (!isalnum((unsigned char)word[i]) && strchr("_.#@$", word[i]) == NULL))
            return false;
    return !isdigit((unsigned char)word[0]);
}

/* What stands in a line: a symbol, or nothing. `section_bank`: of an RGBDS map, from line to line. */
typedef struct found {
    const char *name;
    size_t length;
    uint32_t bank, address;
    bool has_bank;
} found;

static bool split_bank(uint32_t value, found *f)
{
    f->bank = value >> 16;
    f->address = value & 0xFFFFu;
    f->has_bank = f->bank != 0;
    return f->bank <= BANK_MAX;
}

static bool read_line(const char *at, const char *end, uint32_t *section_bank, found *f)
{
    line l = {at, end};
    const char *first, *second, *third;
    size_t a = next_word(&l, &first), b = next_word(&l, &second), c = next_word(&l, &third);
    uint32_t value;
    if (a == 0 || first[0] == ';')
        return false;
    if (banked(first, a, &f->bank, &f->address)) { /* RGBDS .sym */
        f->has_bank = true;
        f->name = second, f->length = b;
        return is_name(second, b);
    }
    if (a == 3 && memcmp(first, "DEF", 3) == 0) { /* .noi */
        f->name = second, f->length = b;
        return c > 2 && third[0] == '0' && (third[1] | 32) == 'x' && is_name(second, b) &&
               hex_number(third + 2, c - 2, &value) && split_bank(value, f);
    }
    if (b == 4 && memcmp(second, "bank", 4) == 0 && c > 2 && third[0] == '#') { /* RGBDS .map */
        *section_bank = 0;
        for (size_t i = 1; i < c && isdigit((unsigned char)third[i]) && *section_bank <= BANK_MAX;
             i++)
            *section_bank = *section_bank * 10 + (uint32_t)(third[i] - '0');
        return false;
    }
    if (first[0] == '$' && b == 1 && second[0] == '=' && *section_bank <= BANK_MAX) {
        f->bank = *section_bank, f->has_bank = true;
        f->name = third, f->length = c;
        return is_name(third, c) && hex_number(first + 1, a - 1, &f->address) &&
               f->address <= 0xFFFFu;
    }
    f->name = second, f->length = b; /* GBDK .map */
    return first > at && a >= 4 && hex_number(first, a, &value) && split_bank(value, f) &&
           is_name(second, b);
}

/* ---- Files ---- */

static int by_name(const void *a, const void *b)
{
    const dm_symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    /* Of two with one name the first of the file: names lie in the arena in that order. */
    return order != 0 ? order : (x->name > y->name) - (x->name < y->name);
}

static void keep_first_of_each(dm_symbols *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || strcmp(s->items[kept - 1].name, s->items[i].name) != 0)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

dm_status dm_symbols_parse(dm_symbols *s, const char *name, const char *text, size_t size,
                           dm_error *err)
{
    const char *at = text, *end = text + size;
    uint32_t section_bank = 0;
    size_t lines = 1, names = 0;
    found f = {0};
    memset(s, 0, sizeof *s);
    /* Counted first, so that names are one block, in the file's order. */
    for (const char *l = at; l < end; lines++) {
        const char *stop = memchr(l, '\n', (size_t)(end - l));
        stop = stop == NULL ? end : stop;
        if (read_line(l, stop, &section_bank, &f)) {
            s->count++;
            names += f.length + 1;
        }
        l = stop == end ? end : stop + 1;
    }
    if (s->count == 0)
        return dm_fail_at(err, DM_EFORMAT, name, 0,
                          "no line holds a symbol; RGBDS's .sym (rgblink -n), GBDK's .noi and .map "
                          "files are read");
    s->items = dm_arena_alloc(&s->arena, s->count * sizeof *s->items);
    char *room = dm_arena_alloc(&s->arena, names);
    if (s->items == NULL || room == NULL) {
        s->count = 0;
        return dm_fail(err, DM_ENOMEM, "symbols: out of memory");
    }
    size_t i = 0;
    section_bank = 0;
    for (const char *l = at; l < end;) {
        const char *stop = memchr(l, '\n', (size_t)(end - l));
        stop = stop == NULL ? end : stop;
        if (read_line(l, stop, &section_bank, &f)) {
            memcpy(room, f.name, f.length);
            room[f.length] = 0;
            s->items[i++] = (dm_symbol){room, (uint16_t)f.bank, (uint16_t)f.address, f.has_bank};
            room += f.length + 1;
        }
        l = stop == end ? end : stop + 1;
    }
    qsort(s->items, s->count, sizeof *s->items, by_name);
    keep_first_of_each(s);
    return DM_OK;
}

dm_status dm_symbols_read(dm_symbols *symbols, const char *path, dm_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    memset(symbols, 0, sizeof *symbols);
    dm_status status = dm_file_read(path, FILE_MAX, &bytes, &size, err);
    if (status == DM_OK)
        status = dm_symbols_parse(symbols, path, bytes, size, err);
    free(bytes);
    return status;
}

void dm_symbols_deinit(dm_symbols *symbols)
{
    dm_arena_deinit(&symbols->arena);
    memset(symbols, 0, sizeof *symbols);
}

/* ---- Looking up ---- */

static const dm_symbol *find(const dm_symbols *s, const char *name)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, s->items[middle].name);
        if (order == 0)
            return &s->items[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const dm_symbol *dm_symbols_find(const dm_symbols *symbols, const char *name)
{
    char c_name[NAME_MAX_LENGTH + 2];
    const dm_symbol *symbol = find(symbols, name);
    if (symbol != NULL || strlen(name) > NAME_MAX_LENGTH)
        return symbol;
    snprintf(c_name, sizeof c_name, "_%s", name); /* of C, as GBDK's linker has it */
    return find(symbols, c_name);
}

static dm_status unknown(const dm_symbols *s, const char *name, dm_error *err)
{
    const char **names = s == NULL ? NULL : malloc((s->count + 1) * sizeof *names);
    const char *closest = NULL;
    if (names != NULL) {
        for (size_t i = 0; i < s->count; i++)
            names[i] = s->items[i].name;
        names[s->count] = NULL;
        closest = dm_closest(name, names);
    }
    free(names);
    if (s == NULL)
        return dm_fail(
            err, DM_ENOENT,
            "'%.80s' is no address, and no symbol file is given (symbols=\"game.sym\", --symbols)",
            name);
    if (closest != NULL)
        return dm_fail(err, DM_ENOENT, "there is no symbol '%.80s'; did you mean '%s'?", name,
                       closest);
    return dm_fail(err, DM_ENOENT, "there is no symbol '%.80s' among %zu", name, s->count);
}

dm_status dm_symbols_resolve(const dm_symbols *symbols, const char *text, dm_symbol *out,
                             dm_error *err)
{
    char name[NAME_MAX_LENGTH + 1];
    size_t length = strlen(text);
    uint32_t bank = 0, address = 0, plus = 0;
    *out = (dm_symbol){.name = text};
    if (banked(text, length, &bank, &address)) {
        out->bank = (uint16_t)bank, out->address = (uint16_t)address, out->has_bank = true;
        return DM_OK;
    }
    const char *add = strrchr(text, '+');
    size_t stem = add == NULL ? length : (size_t)(add - text);
    if (add != NULL) {
        char *rest;
        unsigned long value = strtoul(add + 1, &rest, 0);
        if (!isdigit((unsigned char)add[1]) || *rest != 0 || value > 0xFFFFu)
            return dm_fail(err, DM_EINVAL, "'%.80s': a number must follow '+'", text);
        plus = (uint32_t)value;
    }
    if (stem > NAME_MAX_LENGTH)
        return dm_fail(err, DM_EINVAL, "'%.80s...' is too long for a symbol", text);
    memcpy(name, text, stem);
    name[stem] = 0;
    const dm_symbol *known = symbols == NULL ? NULL : dm_symbols_find(symbols, name);
    const size_t prefix = name[0] == '$' ? 1 : name[0] == '0' && (name[1] | 32) == 'x' ? 2 : 0;
    if (known != NULL) {
        out->bank = known->bank, out->has_bank = known->has_bank;
        address = known->address;
    } else if ((prefix == 0 && stem != 4) || !hex_number(name + prefix, stem - prefix, &address)) {
        return unknown(symbols, name, err);
    }
    if (address + plus > 0xFFFFu)
        return dm_fail(err, DM_EINVAL, "'%.80s' lies beyond FFFF", text);
    out->address = (uint16_t)(address + plus);
    return DM_OK;
}

static int by_place(const void *a, const void *b)
{
    const dm_symbol *x = a, *y = b;
    if (x->bank != y->bank)
        return x->bank < y->bank ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return strcmp(x->name, y->name);
}

dm_status dm_symbols_write(const dm_symbol *items, size_t count, const char *title, dm_buffer *out,
                           dm_error *err)
{
    dm_symbol *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return dm_fail(err, DM_ENOMEM, "symbols: out of memory");
    if (count > 0)
        memcpy(sorted, items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_place);
    dm_buffer_printf(out, "; %s\n", title);
    for (size_t i = 0; i < count; i++)
        dm_buffer_printf(out, "%02X:%04X %s\n", sorted[i].bank, sorted[i].address, sorted[i].name);
    free(sorted);
    return dm_buffer_check(out, err);
}
