/* SPDX-License-Identifier: MIT */
/* notes.c - the notes in a ROM's source. notes.h has the form. */
#include "romtools/notes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { EXPECTS_MAX = 32, BYTES_MAX = 4096, MEMORY_MAX = 16 << 20 };

typedef struct reader {
    const char *name;
    int line;
    const char *at; /* in a copy of the line */
    dm_gb_notes *notes;
    dm_error *err;
} reader;

static const char *const register_names[DM_GB_NOTE_REGISTERS] = {"A", "F", "B", "C", "D",
                                                                 "E", "H", "L", "SP"};

const char *dm_gb_notes_register_name(unsigned index)
{
    return index < DM_GB_NOTE_REGISTERS ? register_names[index] : "?";
}

static dm_status bad(const reader *r, const char *what)
{
    return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line, "%.200s:%d: %s near '%.40s'", r->name,
                      r->line, what, r->at);
}

static bool take(reader *r, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* $hexadecimal or decimal */
static bool take_number(reader *r, uint32_t limit, uint32_t *out)
{
    int base = take(r, "$") ? 16 : 10;
    if (!isxdigit((unsigned char)*r->at))
        return false;
    char *end;
    unsigned long value = strtoul(r->at, &end, base);
    if (end == r->at || value > limit)
        return false;
    r->at = end;
    *out = (uint32_t)value;
    return true;
}

static bool take_hex_byte(reader *r, uint8_t *out)
{
    if (!isxdigit((unsigned char)r->at[0]) || !isxdigit((unsigned char)r->at[1]) ||
        (r->at[2] && r->at[2] != ' '))
        return false;
    char digits[3] = {r->at[0], r->at[1], 0};
    *out = (uint8_t)strtoul(digits, NULL, 16);
    r->at += 2;
    return true;
}

static bool add_byte(dm_gb_expect *expect, uint32_t address, uint8_t value)
{
    if (expect->byte_count == BYTES_MAX || address > 0xFFFF)
        return false;
    expect->bytes[expect->byte_count++] = (dm_gb_notes_byte){(uint16_t)address, value};
    return true;
}

/* [$C000]=12 34 or [$C000..$C0FF]=00; the bracket has been read. */
static dm_status parse_memory(reader *r, dm_gb_expect *expect)
{
    uint32_t first, last;
    uint8_t value;
    if (!take_number(r, 0xFFFF, &first))
        return bad(r, "expected an address");
    bool range = take(r, "..");
    if (range && (!take_number(r, 0xFFFF, &last) || last < first))
        return bad(r, "expected the range's end");
    if (!take(r, "]=") || !take_hex_byte(r, &value))
        return bad(r, "expected ]= and bytes of two hexadecimal digits");
    if (range) {
        for (uint32_t address = first; address <= last; address++)
            if (!add_byte(expect, address, value))
                return bad(r, "too many bytes");
        return DM_OK;
    }
    for (;;) {
        if (!add_byte(expect, first++, value))
            return bad(r, "too many bytes");
        reader next = *r;
        next.at += strspn(next.at, " ");
        if (next.at == r->at || !take_hex_byte(&next, &value))
            return DM_OK;
        *r = next;
    }
}

/* RIGHT+A, NONE */
static bool parse_buttons(reader *r, uint8_t *keys)
{
    static const struct {
        const char *name;
        uint8_t key;
    } names[] = {
        {"NONE", 0},
        {"RIGHT", DM_GB_KEY_RIGHT},
        {"LEFT", DM_GB_KEY_LEFT},
        {"UP", DM_GB_KEY_UP},
        {"DOWN", DM_GB_KEY_DOWN},
        {"SELECT", DM_GB_KEY_SELECT},
        {"START", DM_GB_KEY_START},
        {"A", DM_GB_KEY_A},
        {"B", DM_GB_KEY_B},
    };
    *keys = 0;
    do {
        size_t i = 0;
        while (i < sizeof names / sizeof names[0] && !take(r, names[i].name))
            i++;
        if (i == sizeof names / sizeof names[0])
            return false;
        *keys |= names[i].key;
    } while (take(r, "+"));
    return true;
}

static dm_status parse_keys(reader *r, dm_gb_expect *expect)
{
    expect->key_count = 0;
    do {
        uint32_t frames = 0;
        if (expect->key_count == DM_GB_NOTES_KEYS)
            return bad(r, "too many changes of buttons");
        if (isdigit((unsigned char)*r->at) &&
            (!take_number(r, 1000000, &frames) || frames == 0 || !take(r, "*")))
            return bad(r, "expected frames*buttons");
        if (!parse_buttons(r, &expect->keys[expect->key_count].keys))
            return bad(r, "expected buttons");
        expect->keys[expect->key_count++].frames = frames;
        if (frames == 0)
            return DM_OK;
    } while (take(r, ","));
    return DM_OK;
}

static dm_status parse_serial(reader *r, dm_gb_expect *expect)
{
    size_t size = strcspn(r->at, "\"");
    if (!r->at[size])
        return bad(r, "the text is not closed");
    expect->serial = dm_arena_strndup(&r->notes->arena, r->at, size);
    r->at += size + 1;
    return expect->serial ? DM_OK : dm_fail(r->err, DM_ENOMEM, "out of memory");
}

static dm_status parse_frame(reader *r, dm_gb_expect *expect)
{
    char *end;
    expect->frame = strtoull(r->at, &end, 16);
    if (end != r->at + 16)
        return bad(r, "expected 16 hexadecimal digits");
    r->at = end;
    expect->has_frame = true;
    return DM_OK;
}

static dm_status parse_register(reader *r, dm_gb_expect *expect)
{
    for (unsigned i = DM_GB_NOTE_REGISTERS; i-- > 0;) {
        size_t size = strlen(register_names[i]);
        uint32_t value;
        if (strncmp(r->at, register_names[i], size) != 0 || r->at[size] != '=')
            continue;
        r->at += size + 1;
        if (!take_number(r, i == DM_GB_NOTE_SP ? 0xFFFF : 0xFF, &value))
            return bad(r, "expected the register's value");
        expect->registers[i] = (uint16_t)value;
        expect->register_mask |= (uint16_t)(1u << i);
        return DM_OK;
    }
    return bad(r, "unknown word");
}

static dm_status parse_terms(reader *r, dm_gb_expect *expect)
{
    dm_status status = DM_OK;
    while (status == DM_OK) {
        r->at += strspn(r->at, " \t");
        if (!*r->at)
            return DM_OK;
        if (take(r, "frames="))
            status = take_number(r, 1000000, &expect->frames) ? DM_OK : bad(r, "expected a number");
        else if (take(r, "keys="))
            status = parse_keys(r, expect);
        else if (take(r, "serial=\""))
            status = parse_serial(r, expect);
        else if (take(r, "frame="))
            status = parse_frame(r, expect);
        else if (take(r, "["))
            status = parse_memory(r, expect);
        else
            status = parse_register(r, expect);
        if (status == DM_OK && *r->at && *r->at != ' ')
            status = bad(r, "expected a space");
    }
    return status;
}

static dm_status begin_expect(reader *r)
{
    dm_gb_notes *notes = r->notes;
    if (notes->expect_count == EXPECTS_MAX)
        return bad(r, "too many expectations");
    dm_gb_expect *expect = &notes->expects[notes->expect_count++];
    memset(expect, 0, sizeof *expect);
    expect->line = r->line;
    expect->bytes = dm_arena_alloc_array(&notes->arena, BYTES_MAX, sizeof *expect->bytes);
    return expect->bytes ? DM_OK : dm_fail(r->err, DM_ENOMEM, "out of memory");
}

/* A comment line without its semicolon. `*proving`: the sentence may go on. */
static dm_status parse_comment(reader *r, bool *proving)
{
    dm_gb_notes *notes = r->notes;
    const char *start = r->at;
    r->at += strspn(r->at, " \t");
    if (take(r, "proves:")) {
        r->at += strspn(r->at, " \t");
        notes->proves = r->at;
        *proving = true;
        return DM_OK;
    }
    if (*proving && r->at - start >= 2 && *r->at) {
        size_t old = strlen(notes->proves), more = strlen(r->at);
        char *joined = dm_arena_alloc(&notes->arena, old + more + 2);
        if (!joined)
            return dm_fail(r->err, DM_ENOMEM, "out of memory");
        memcpy(joined, notes->proves, old);
        joined[old] = ' ';
        memcpy(joined + old + 1, r->at, more);
        notes->proves = joined;
        return DM_OK;
    }
    *proving = false;
    if (take(r, "expect ")) {
        dm_status status = begin_expect(r);
        return status == DM_OK ? parse_terms(r, &notes->expects[notes->expect_count - 1]) : status;
    }
    if (take(r, "and ") && notes->expect_count > 0 && start[0] == ' ')
        return parse_terms(r, &notes->expects[notes->expect_count - 1]);
    return DM_OK;
}

dm_status dm_gb_notes_parse(const char *name, const char *text, size_t size, dm_gb_notes *notes,
                            dm_error *err)
{
    memset(notes, 0, sizeof *notes);
    dm_arena_init(&notes->arena, MEMORY_MAX);
    notes->proves = "";
    notes->expects = dm_arena_alloc_array(&notes->arena, EXPECTS_MAX, sizeof *notes->expects);
    reader r = {.name = name, .notes = notes, .err = err};
    bool proving = false;
    if (!notes->expects)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        size_t used = length;
        r.line++;
        while (used > 0 && isspace((unsigned char)text[at + used - 1]))
            used--;
        if (used > 0 && text[at] == ';') {
            r.at = dm_arena_strndup(&notes->arena, text + at + 1, used - 1);
            if (!r.at)
                return dm_fail(err, DM_ENOMEM, "out of memory");
            dm_status status = parse_comment(&r, &proving);
            if (status != DM_OK)
                return status;
        } else {
            proving = false;
        }
        at += length + 1;
    }
    for (size_t i = 0; i < notes->expect_count; i++)
        if (notes->expects[i].frames == 0)
            return dm_fail_at(err, DM_EFORMAT, name, notes->expects[i].line,
                              "%.200s:%d: an expectation needs frames=", name,
                              notes->expects[i].line);
    return DM_OK;
}

void dm_gb_notes_deinit(dm_gb_notes *notes)
{
    dm_arena_deinit(&notes->arena);
    memset(notes, 0, sizeof *notes);
}

uint8_t dm_gb_expect_keys(const dm_gb_expect *expect, uint32_t frame)
{
    for (unsigned i = 0; i < expect->key_count; i++) {
        if (expect->keys[i].frames == 0 || frame < expect->keys[i].frames)
            return expect->keys[i].keys;
        frame -= expect->keys[i].frames;
    }
    return 0;
}
