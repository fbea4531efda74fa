/* SPDX-License-Identifier: MIT */
/* ram_search.h - find the address where a game keeps a value, as cheat searchers do.
 *
 * All of RAM is a candidate at first. The game is played on, and addresses that do not change as the value on the
 * screen does are dropped: it should have gone up, or be 150 now. Marks are copies of RAM to compare with. A search is
 * a text file, so that it goes on over several calls:
 *
 *   dotmatrix ram search 1
 *   rom 0f3c...                 the ROM's hash
 *   frames 660                  played so far
 *   state 646d...               the machine, as dm_gb_save_state_bytes gives it
 *   mark last 0000...           RAM 8000..FFFF at some time, registers as 0
 *   keep C000-C0FF C1A3         the candidates
 *   name C1A3 wScore
 *
 * '#' begins a comment. */
#ifndef DM_ROMTOOLS_RAM_SEARCH_H
#define DM_ROMTOOLS_RAM_SEARCH_H

#include "base/buffer.h"
#include "base/hash.h"

#include <dotmatrix/base.h>

#define DM_RAM_FIRST 0x8000u
#define DM_RAM_SIZE 0x8000u
#define DM_RAM_MARKS_MAX 32u
#define DM_RAM_NAMES_MAX 1024u
#define DM_RAM_NAME_MAX 64u
#define DM_RAM_FILE_MAX (8u << 20)

/* What a candidate's bytes stand for; all but the first of two bytes, the low one first. */
typedef enum dm_ram_kind {
    DM_RAM_U8,
    DM_RAM_U16,
    DM_RAM_BCD,   /* one byte, two decimal digits */
    DM_RAM_BCD16, /* two bytes, four digits */
    DM_RAM_KINDS
} dm_ram_kind;
extern const char *const dm_ram_kind_names[]; /* and NULL */

typedef enum dm_ram_relation {
    DM_RAM_CHANGED,
    DM_RAM_UNCHANGED,
    DM_RAM_UP,
    DM_RAM_DOWN,
    DM_RAM_EQUALS, /* a number, whatever it was */
    DM_RAM_RELATIONS
} dm_ram_relation;

typedef struct dm_ram_mark {
    char name[DM_RAM_NAME_MAX];
    uint8_t memory[DM_RAM_SIZE];
} dm_ram_mark;

typedef struct dm_ram_name {
    char name[DM_RAM_NAME_MAX];
    uint16_t address;
} dm_ram_name;

typedef struct dm_ram_search {
    dm_hash128 rom;
    uint64_t frames;
    uint8_t *state; /* NULL: none */
    size_t state_size;
    dm_ram_mark *marks;
    size_t mark_count;
    uint8_t keep[DM_RAM_SIZE]; /* 1: a candidate */
    dm_ram_name *names;
    size_t name_count;
} dm_ram_search;

/* All of VRAM, cartridge RAM, WRAM and HRAM; not the echo and OAM. Give it to dm_ram_search_deinit. */
void dm_ram_search_init(dm_ram_search *search, dm_hash128 rom);
void dm_ram_search_deinit(dm_ram_search *search);
/* `name` is what messages call the file. Must be given to deinit whatever came back. */
dm_status dm_ram_search_parse(dm_ram_search *search, const char *name, const char *text,
                              size_t size, dm_error *err);
dm_status dm_ram_search_write(const dm_ram_search *search, dm_buffer *out, dm_error *err);

dm_status dm_ram_search_set_state(dm_ram_search *search, const void *state, size_t size,
                                  dm_error *err);
/* NULL: there is none of that name. */
const dm_ram_mark *dm_ram_search_mark(const dm_ram_search *search, const char *name);
/* A mark of that name, in place of an older one. */
dm_status dm_ram_search_set_mark(dm_ram_search *search, const char *name,
                                 const uint8_t memory[DM_RAM_SIZE], dm_error *err);
dm_status dm_ram_search_set_name(dm_ram_search *search, uint16_t address, const char *name,
                                 dm_error *err);

/* The value at an address of a copy of RAM; -1: these bytes stand for none. */
int32_t dm_ram_value(const uint8_t memory[DM_RAM_SIZE], uint16_t address, dm_ram_kind kind);
/* Drop candidates for which the relation between two copies does not hold; `number` is for DM_RAM_EQUALS. */
void dm_ram_search_keep(dm_ram_search *search, dm_ram_kind kind, dm_ram_relation relation,
                        int32_t number, const uint8_t before[DM_RAM_SIZE],
                        const uint8_t now[DM_RAM_SIZE]);
uint32_t dm_ram_search_count(const dm_ram_search *search);

#endif
