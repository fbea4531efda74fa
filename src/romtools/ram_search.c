/* SPDX-License-Identifier: MIT */
/* ram_search.c - see ram_search.h. */
#include "romtools/ram_search.h"

#include <stdlib.h>
#include <string.h>

const char *const dm_ram_kind_names[] = {"u8", "u16", "bcd", "bcd16", NULL};
static const char head[] = "dotmatrix ram search 1";

/* ---- Values ---- */

static int32_t decimal(int32_t byte)
{
    return (byte & 15) < 10 && byte >> 4 < 10 ? (byte >> 4) * 10 + (byte & 15) : -1;
}

int32_t dm_ram_value(const uint8_t memory[DM_RAM_SIZE], uint16_t address, dm_ram_kind kind)
{
    const size_t at = address - DM_RAM_FIRST;
    const int32_t low = memory[at], high = at + 1 < DM_RAM_SIZE ? memory[at + 1] : -1;
    switch (kind) {
    case DM_RAM_U16:
        return high < 0 ? -1 : high << 8 | low;
    case DM_RAM_BCD:
        return decimal(low);
    case DM_RAM_BCD16:
        return high < 0 || decimal(high) < 0 || decimal(low) < 0
                   ? -1
                   : decimal(high) * 100 + decimal(low);
    case DM_RAM_U8:
    case DM_RAM_KINDS:
        break;
    }
    return low;
}

static bool holds(dm_ram_relation relation, int32_t number, int32_t before, int32_t now)
{
    switch (relation) {
    case DM_RAM_CHANGED:
        return now != before;
    case DM_RAM_UNCHANGED:
        return now == before;
    case DM_RAM_UP:
        return before >= 0 && now > before;
    case DM_RAM_DOWN:
        return now >= 0 && now < before;
    case DM_RAM_EQUALS:
    case DM_RAM_RELATIONS:
        break;
    }
    return now == number;
}

void dm_ram_search_keep(dm_ram_search *search, dm_ram_kind kind, dm_ram_relation relation,
                        int32_t number, const uint8_t before[DM_RAM_SIZE],
                        const uint8_t now[DM_RAM_SIZE])
{
    for (uint32_t i = 0; i < DM_RAM_SIZE; i++) {
        const uint16_t at = (uint16_t)(DM_RAM_FIRST + i);
        if (search->keep[i] != 0)
            search->keep[i] = holds(relation, number, dm_ram_value(before, at, kind),
                                    dm_ram_value(now, at, kind));
    }
}

uint32_t dm_ram_search_count(const dm_ram_search *search)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < DM_RAM_SIZE; i++)
        count += search->keep[i];
    return count;
}

/* ---- Making one ---- */

static bool is_ram(uint32_t address)
{
    return (address >= DM_RAM_FIRST && address < 0xE000) || (address >= 0xFF80 && address < 0xFFFF);
}

void dm_ram_search_init(dm_ram_search *search, dm_hash128 rom)
{
    *search = (dm_ram_search){.rom = rom};
    for (uint32_t i = 0; i < DM_RAM_SIZE; i++)
        search->keep[i] = is_ram(DM_RAM_FIRST + i);
}

void dm_ram_search_deinit(dm_ram_search *search)
{
    free(search->state);
    free(search->marks);
    free(search->names);
    *search = (dm_ram_search){0};
}

dm_status dm_ram_search_set_state(dm_ram_search *search, const void *state, size_t size,
                                  dm_error *err)
{
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL)
        return dm_fail(err, DM_ENOMEM, "ram: out of memory");
    memcpy(copy, state, size);
    free(search->state);
    search->state = copy;
    search->state_size = size;
    return DM_OK;
}

/* One word of letters, digits and what else names are made of. */
static dm_status check_name(const char *what, const char *name, dm_error *err)
{
    const size_t length = strlen(name);
    if (length == 0 || length >= DM_RAM_NAME_MAX)
        return dm_fail(err, DM_EINVAL, "ram: a %s has 1 to %u characters", what,
                       DM_RAM_NAME_MAX - 1);
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != length)
        return dm_fail(err, DM_EINVAL, "ram: '%.40s' is no %s; letters, digits, _ and . are", name,
                       what);
    return DM_OK;
}

const dm_ram_mark *dm_ram_search_mark(const dm_ram_search *search, const char *name)
{
    for (size_t i = 0; i < search->mark_count; i++)
        if (strcmp(search->marks[i].name, name) == 0)
            return &search->marks[i];
    return NULL;
}

dm_status dm_ram_search_set_mark(dm_ram_search *search, const char *name,
                                 const uint8_t memory[DM_RAM_SIZE], dm_error *err)
{
    dm_status status = check_name("mark", name, err);
    if (status != DM_OK)
        return status;
    dm_ram_mark *mark = (dm_ram_mark *)dm_ram_search_mark(search, name);
    if (mark == NULL) {
        if (search->mark_count == DM_RAM_MARKS_MAX)
            return dm_fail(err, DM_EINVAL, "ram: more than %u marks", DM_RAM_MARKS_MAX);
        dm_ram_mark *more =
            realloc(search->marks, (search->mark_count + 1) * sizeof *search->marks);
        if (more == NULL)
            return dm_fail(err, DM_ENOMEM, "ram: out of memory");
        search->marks = more;
        mark = &more[search->mark_count++];
        memset(mark->name, 0, sizeof mark->name);
        memcpy(mark->name, name, strlen(name));
    }
    memcpy(mark->memory, memory, DM_RAM_SIZE);
    return DM_OK;
}

dm_status dm_ram_search_set_name(dm_ram_search *search, uint16_t address, const char *name,
                                 dm_error *err)
{
    dm_status status = check_name("name", name, err);
    size_t i = 0;
    if (status != DM_OK)
        return status;
    while (i < search->name_count && strcmp(search->names[i].name, name) != 0)
        i++;
    if (i == DM_RAM_NAMES_MAX)
        return dm_fail(err, DM_EINVAL, "ram: more than %u names", DM_RAM_NAMES_MAX);
    if (i == search->name_count) {
        dm_ram_name *more = realloc(search->names, (i + 1) * sizeof *more);
        if (more == NULL)
            return dm_fail(err, DM_ENOMEM, "ram: out of memory");
        search->names = more;
        memset(&more[i], 0, sizeof more[i]);
        memcpy(more[i].name, name, strlen(name));
        search->name_count++;
    }
    search->names[i].address = address;
    return DM_OK;
}

/* ---- Writing ---- */

static void put_hex(dm_buffer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        const char two[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        dm_buffer_append(out, two, 2);
    }
    dm_buffer_putc(out, '\n');
}

static void put_ranges(dm_buffer *out, const uint8_t keep[DM_RAM_SIZE])
{
    for (uint32_t i = 0; i < DM_RAM_SIZE;) {
        uint32_t end = i;
        while (end < DM_RAM_SIZE && keep[end] != 0)
            end++;
        if (end == i) {
            i++;
            continue;
        }
        dm_buffer_printf(out, "keep %04X-%04X\n", DM_RAM_FIRST + i, DM_RAM_FIRST + end - 1);
        i = end;
    }
}

dm_status dm_ram_search_write(const dm_ram_search *search, dm_buffer *out, dm_error *err)
{
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(search->rom, hex);
    dm_buffer_printf(out, "%s\nrom %s\nframes %llu\n", head, hex,
                     (unsigned long long)search->frames);
    if (search->state != NULL) {
        dm_buffer_puts(out, "state ");
        put_hex(out, search->state, search->state_size);
    }
    for (size_t i = 0; i < search->mark_count; i++) {
        dm_buffer_printf(out, "mark %s ", search->marks[i].name);
        put_hex(out, search->marks[i].memory, DM_RAM_SIZE);
    }
    put_ranges(out, search->keep);
    for (size_t i = 0; i < search->name_count; i++)
        dm_buffer_printf(out, "name %04X %s\n", search->names[i].address, search->names[i].name);
    return dm_buffer_check(out, err);
}

/* ---- Reading ---- */

typedef struct reader {
    const char *name, *at, *end; /* of the present line */
    int line;
    dm_error *err;
} reader;

static dm_status wrong(const reader *r, const char *what)
{
    return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line, "%s", what);
}

/* The next word of the line; empty at its end. */
static size_t word(reader *r, const char **out)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    *out = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r')
        r->at++;
    return (size_t)(r->at - *out);
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool get_hex(const char *text, size_t digits, uint8_t *to)
{
    for (size_t i = 0; i < digits / 2; i++) {
        const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool get_address(const char *text, size_t length, uint32_t *out)
{
    uint8_t bytes[2];
    if (length != 4 || !get_hex(text, 4, bytes))
        return false;
    *out = (uint32_t)bytes[0] << 8 | bytes[1];
    return true;
}

/* "C000-C0FF" or "C1A3" */
static bool get_range(const char *text, size_t length, uint32_t *first, uint32_t *last)
{
    if (length == 4 && get_address(text, 4, first)) {
        *last = *first;
        return true;
    }
    return length == 9 && text[4] == '-' && get_address(text, 4, first) &&
           get_address(text + 5, 4, last) && *first <= *last;
}

static dm_status read_keep(reader *r, dm_ram_search *search)
{
    const char *text;
    for (size_t length; (length = word(r, &text)) != 0;) {
        uint32_t first, last;
        if (!get_range(text, length, &first, &last))
            return wrong(r, "keep has ranges such as C000-C0FF and addresses");
        for (uint32_t at = first; at <= last; at++) {
            if (!is_ram(at))
                return wrong(r, "keep: candidates are in 8000-DFFF and FF80-FFFE");
            search->keep[at - DM_RAM_FIRST] = 1;
        }
    }
    return DM_OK;
}

static dm_status read_bytes(reader *r, size_t wanted, uint8_t **out, size_t *size)
{
    const char *text;
    const size_t digits = word(r, &text);
    if (digits == 0 || digits % 2 != 0 || (wanted != 0 && digits != 2 * wanted))
        return wrong(r, "so many hexadecimal digits are not expected here");
    *out = malloc(digits / 2);
    if (*out == NULL)
        return dm_fail(r->err, DM_ENOMEM, "ram: out of memory");
    *size = digits / 2;
    if (get_hex(text, digits, *out))
        return DM_OK;
    free(*out);
    *out = NULL;
    return wrong(r, "these are not hexadecimal digits");
}

static dm_status read_name_text(reader *r, char name[DM_RAM_NAME_MAX])
{
    const char *text;
    const size_t length = word(r, &text);
    if (length == 0 || length >= DM_RAM_NAME_MAX)
        return wrong(r, "a name is missing or too long");
    memset(name, 0, DM_RAM_NAME_MAX);
    memcpy(name, text, length);
    return DM_OK;
}

/* Put file and line before the error of a call that does not know them. */
static dm_status here(const reader *r, dm_status status)
{
    if (status == DM_OK || status == DM_ENOMEM)
        return status;
    char message[sizeof r->err->message] = "";
    if (r->err != NULL)
        memcpy(message, r->err->message, sizeof message);
    return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line, "%.200s", message);
}

static dm_status read_mark(reader *r, dm_ram_search *search)
{
    char name[DM_RAM_NAME_MAX];
    uint8_t *memory = NULL;
    size_t size = 0;
    dm_status status = read_name_text(r, name);
    if (status == DM_OK)
        status = read_bytes(r, DM_RAM_SIZE, &memory, &size);
    if (status == DM_OK)
        status = here(r, dm_ram_search_set_mark(search, name, memory, r->err));
    free(memory);
    return status;
}

static dm_status read_name(reader *r, dm_ram_search *search)
{
    char name[DM_RAM_NAME_MAX];
    const char *text;
    uint32_t address;
    const size_t length = word(r, &text);
    if (!get_address(text, length, &address))
        return wrong(r, "a line is: name C1A3 wScore");
    dm_status status = read_name_text(r, name);
    return status == DM_OK
               ? here(r, dm_ram_search_set_name(search, (uint16_t)address, name, r->err))
               : status;
}

static dm_status read_frames(reader *r, dm_ram_search *search)
{
    const char *text;
    const size_t length = word(r, &text);
    if (length == 0 || length > 15)
        return wrong(r, "frames has a number");
    search->frames = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return wrong(r, "frames has a number");
        search->frames = search->frames * 10 + (uint64_t)(text[i] - '0');
    }
    return DM_OK;
}

static dm_status read_rom(reader *r, dm_ram_search *search)
{
    const char *text;
    uint8_t bytes[16];
    const size_t length = word(r, &text);
    if (length != 32 || !get_hex(text, 32, bytes))
        return wrong(r, "rom has the 32 digits of a hash");
    search->rom = (dm_hash128){0, 0};
    for (int i = 0; i < 8; i++) { /* as dm_hash128_hex writes it */
        search->rom.high = search->rom.high << 8 | bytes[i];
        search->rom.low = search->rom.low << 8 | bytes[8 + i];
    }
    return DM_OK;
}

static bool is_word(const char *text, size_t length, const char *word_)
{
    return strlen(word_) == length && memcmp(text, word_, length) == 0;
}

static dm_status read_line(reader *r, dm_ram_search *search)
{
    const char *text;
    size_t length = word(r, &text);
    dm_status status = DM_OK;
    if (length == 0)
        return DM_OK;
    if (is_word(text, length, "keep"))
        return read_keep(r, search);
    if (is_word(text, length, "mark"))
        status = read_mark(r, search);
    else if (is_word(text, length, "name"))
        status = read_name(r, search);
    else if (is_word(text, length, "frames"))
        status = read_frames(r, search);
    else if (is_word(text, length, "rom"))
        status = read_rom(r, search);
    else if (is_word(text, length, "state")) {
        free(search->state);
        search->state = NULL;
        status = read_bytes(r, 0, &search->state, &search->state_size);
    } else {
        return wrong(r, "a line begins with rom, frames, state, mark, keep or name");
    }
    return status == DM_OK && word(r, &text) != 0 ? wrong(r, "something follows") : status;
}

dm_status dm_ram_search_parse(dm_ram_search *search, const char *name, const char *text,
                              size_t size, dm_error *err)
{
    reader r = {.name = name, .err = err};
    dm_ram_search_init(search, (dm_hash128){0, 0});
    memset(search->keep, 0, sizeof search->keep);
    const char *end = text + size;
    for (const char *at = text; at < end; at = r.end + 1) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        r.at = at;
        r.end = newline != NULL ? newline : end;
        const char *next = r.end, *comment = memchr(at, '#', (size_t)(r.end - at));
        r.line++;
        if (r.line == 1 && !is_word(at, (size_t)(r.end - at), head))
            return wrong(&r,
                         "this is no search; the first line of one is 'dotmatrix ram search 1'");
        if (comment != NULL)
            r.end = comment;
        dm_status status = r.line == 1 ? DM_OK : read_line(&r, search);
        if (status != DM_OK)
            return status;
        r.end = next;
    }
    return r.line == 0 ? dm_fail(err, DM_EFORMAT, "%s: the file is empty", name) : DM_OK;
}
