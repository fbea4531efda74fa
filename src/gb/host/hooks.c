/* SPDX-License-Identifier: MIT */
/* hooks.c - see hooks.h. */
#include "gb/host/hooks.h"
#include "base/require.h"
#include "gb/cpu/run.h"
#include "gb/host/core.h"
#include "gb/simt/predecode.h"

#include <stdlib.h>
#include <string.h>

#define BANK 0x4000u

_Static_assert(DM_GB_HOOKS_MAX == DM_GB_HOOK_COUNT_MAX &&
                   DM_GB_HOOK_ANY_BANK == DM_GB_HOOK_EVERY_BANK,
               "kernel text and header agree");

/* Hooks at the same address that are met whenever hook i is: in its bank, or in any. */
static void find_together(dm_gb_hook_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        for (uint32_t k = 0; k < table->count; k++)
            if (table->places[k].address == table->places[i].address &&
                (table->places[k].bank == table->places[i].bank ||
                 table->places[k].bank == DM_GB_HOOK_ANY_BANK))
                table->together[i] |= 1ull << k;
}

dm_status dm_gb_hook_table_init(dm_gb_hook_table *table, const dm_gb_hook *hooks, size_t count,
                                const dm_gb_rom *rom, dm_error *err)
{
    memset(table, 0, sizeof *table);
    if (count > DM_GB_HOOKS_MAX)
        return dm_fail(err, DM_EINVAL, "hooks: %zu of them; at most %u", count, DM_GB_HOOKS_MAX);
    for (size_t i = 0; i < count; i++) {
        dm_gb_hook_place place = {hooks[i].address, hooks[i].bank};
        if (place.address < 0x8000u) {
            const size_t banks = rom->size / BANK;
            if (place.bank != DM_GB_HOOK_ANY_BANK && place.bank >= banks)
                return dm_fail(err, DM_EINVAL, "hook %02X:%04X: the ROM has banks 00 to %02zX",
                               place.bank, place.address, banks - 1);
        } else {
            if (place.address >> 13 != 5u) /* not cartridge RAM */
                place.bank = DM_GB_HOOK_ANY_BANK;
            table->ram_pages |= 1u << (place.address >> 12);
            table->ram_filter |= 1ull << (place.address & 63u);
        }
        table->places[table->count++] = place;
    }
    find_together(table);
    return DM_OK;
}

static void each_place(const dm_gb_hook_table *table, const dm_gb_rom *rom,
                       void (*mark)(void *to, size_t offset), void *to)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const dm_gb_hook_place place = table->places[i];
        if (place.address >= 0x8000u)
            continue;
        if (place.bank != DM_GB_HOOK_ANY_BANK) {
            mark(to, place.bank * (size_t)BANK + place.address % BANK);
            continue;
        }
        for (size_t bank = 0; bank < rom->size / BANK; bank++)
            mark(to, bank * BANK + place.address % BANK);
    }
}

/* The hook that stands for all at this byte of ROM, counted from 1: one of its own bank, if there is one; 0 where there
 * is none, `several` where they are at two addresses. */
static uint32_t number_at(const dm_gb_hook_table *table, size_t offset, uint32_t several)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < table->count && number != several; i++) {
        const dm_gb_hook_place place = table->places[i];
        if (place.address >= 0x8000u || place.address % BANK != offset % BANK ||
            (place.bank != DM_GB_HOOK_ANY_BANK && place.bank != offset / BANK))
            continue;
        if (number != 0 && table->places[number - 1u].address != place.address)
            number = several;
        else if (number == 0 || place.bank != DM_GB_HOOK_ANY_BANK)
            number = i + 1u;
    }
    return number;
}

/* ---- CPU ---- */

typedef struct marking {
    const dm_gb_hook_table *table;
    const uint8_t *rom;
    uint8_t *marked, *numbers;
} marking;

static uint32_t length_of(uint32_t opcode)
{
    return opcode == 0xCBu ? 2u : DM_GB_ROW_LENGTH(dm_gb_rows[opcode]);
}

/* Mark a byte. Operands are read from the marked copy too, so the instructions that may have this byte for an operand
 * are marked as well, with DM_GB_HOOK_OPERANDS. (A byte that holds DM_GB_HOOK_MARK itself is as good as marked.) */
static void mark_byte(void *to, size_t offset)
{
    const marking *m = to;
    if (m->marked[offset] == DM_GB_HOOK_MARK)
        return;
    m->marked[offset] = DM_GB_HOOK_MARK;
    for (size_t back = 1; back <= 2 && back <= offset % BANK; back++)
        if (length_of(m->rom[offset - back]) > back) {
            m->numbers[offset - back] |= DM_GB_HOOK_OPERANDS;
            mark_byte(to, offset - back);
        }
}

static void number_byte(void *to, size_t offset)
{
    const marking *m = to;
    m->numbers[offset] = (uint8_t)((m->numbers[offset] & DM_GB_HOOK_OPERANDS) |
                                   number_at(m->table, offset, DM_GB_HOOK_SEVERAL));
}

void dm_gb_hooks_mark_rom(dm_gb_hook_table *table, const dm_gb_rom *rom, uint8_t *room)
{
    marking m = {table, rom->bytes, room, room + rom->size};
    memcpy(m.marked, rom->bytes, rom->size);
    memset(m.numbers, 0, rom->size);
    each_place(table, rom, mark_byte, &m);
    each_place(table, rom, number_byte, &m);
    table->marked = m.marked;
    table->numbers = m.numbers;
}

size_t dm_gb_hooks_marked_size(const dm_gb_rom *rom)
{
    return 2 * rom->size;
}

/* ---- GPU ---- */

typedef struct word_marking {
    const dm_gb_hook_table *table;
    uint32_t *words;
} word_marking;

static void mark_word(void *to, size_t offset)
{
    const word_marking *m = to;
    m->words[offset] = DM_GB_HOOK_WORD(number_at(m->table, offset, DM_GB_HOOKS_MANY));
}

void dm_gb_hooks_mark_words(const dm_gb_hook_table *table, const dm_gb_rom *rom, uint32_t *words)
{
    word_marking m = {table, words};
    each_place(table, rom, mark_word, &m);
}

/* ---- One machine ---- */

dm_status dm_gb_set_hooks(dm_gb *gb, const dm_gb_hook *hooks, size_t count, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE_SOME(err, hooks, count);
    dm_gb_hook_table table;
    uint8_t *marked = NULL;
    dm_status status = dm_gb_hook_table_init(&table, hooks, count, &gb->rom, err);
    if (status != DM_OK)
        return status;
    if (count != 0 && (marked = malloc(dm_gb_hooks_marked_size(&gb->rom))) == NULL)
        return dm_fail(err, DM_ENOMEM, "gb: no memory for a ROM with hooks");
    if (count != 0)
        dm_gb_hooks_mark_rom(&table, &gb->rom, marked);
    free(gb->marked_rom);
    gb->marked_rom = marked;
    gb->hooks = table;
    gb->hook_bits = 0;
    gb->context.hooks = count != 0 ? &gb->hooks : NULL;
    gb->context.hook_bits = &gb->hook_bits;
    dm_gb_map(&gb->context);
    return DM_OK;
}

uint64_t dm_gb_take_hooks(dm_gb *gb)
{
    if (gb == NULL)
        return 0;
    uint64_t bits = gb->hook_bits;
    gb->hook_bits = 0;
    return bits;
}
