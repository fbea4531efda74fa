/* SPDX-License-Identifier: MIT */
/* asm_place.c - between and after the passes: places for sections, the header, the symbols. */
#include "romtools/asm_internal.h"

#include <stdlib.h>
#include <string.h>

const dm_asm_region_info dm_asm_regions[DM_ASM_REGION_COUNT] = {
    {"ROM0", 0x0000, 0x3FFF, 0, 0},  {"ROMX", 0x4000, 0x7FFF, 1, DM_ASM_ROM_BANKS_MAX - 1},
    {"VRAM", 0x8000, 0x9FFF, 0, 0},  {"SRAM", 0xA000, 0xBFFF, 0, 15},
    {"WRAM0", 0xC000, 0xCFFF, 0, 0}, {"WRAMX", 0xD000, 0xDFFF, 1, 1},
    {"OAM", 0xFE00, 0xFE9F, 0, 0},   {"HRAM", 0xFF80, 0xFFFE, 0, 0},
};

enum {
    ROM_BANK_SIZE = 0x4000,
    HEADER_END = 0x0150, /* floating sections start here */
    TITLE = 0x0134,
    TYPE = 0x0147,
    ROM_SIZE = 0x0148,
    RAM_SIZE = 0x0149,
    HEADER_CHECKSUM = 0x014D,
    GLOBAL_CHECKSUM = 0x014E,
};

static bool overlap(const dm_asm_section *a, uint32_t bank, uint32_t start, uint32_t size,
                    dm_asm_region region)
{
    return a->placed && a->size > 0 && a->region == region && a->bank == bank &&
           start < (uint32_t)a->address + a->size && a->address < start + size;
}

static void place_fixed(dm_asm *as, dm_asm_section *section)
{
    const dm_asm_region_info *info = &dm_asm_regions[section->region];
    if (section->address + section->size > info->end + 1u) {
        dm_asm_error_at(as, section->file, section->line, "section '%.100s' runs past $%04X",
                        section->name, (unsigned)info->end);
        return;
    }
    for (unsigned i = 0; i < as->section_count && section->size > 0; i++) {
        const dm_asm_section *other = as->sections[i];
        if (overlap(other, section->bank, section->address, section->size, section->region)) {
            dm_asm_error_at(as, section->file, section->line,
                            "section '%.100s' overlaps section '%.100s'", section->name,
                            other->name);
            return;
        }
    }
    section->placed = true;
}

/* The first address in the bank where the section fits, or -1. */
static int32_t first_fit(const dm_asm *as, const dm_asm_section *section, uint32_t bank)
{
    const dm_asm_region_info *info = &dm_asm_regions[section->region];
    uint32_t align = section->align ? section->align : 1;
    uint32_t start = section->region == DM_ASM_ROM0 ? HEADER_END : info->start;
    bool moved;
    do {
        moved = false;
        start = (start + align - 1) / align * align;
        for (unsigned i = 0; i < as->section_count; i++) {
            const dm_asm_section *other = as->sections[i];
            if (overlap(other, bank, start, section->size, section->region)) {
                start = (uint32_t)other->address + other->size;
                moved = true;
            }
        }
    } while (moved);
    return start + section->size <= info->end + 1u ? (int32_t)start : -1;
}

static void place_floating(dm_asm *as, dm_asm_section *section)
{
    const dm_asm_region_info *info = &dm_asm_regions[section->region];
    uint32_t first = section->bank_fixed ? section->bank : info->first_bank;
    uint32_t last = section->bank_fixed ? section->bank : info->last_bank;
    for (uint32_t bank = first; bank <= last; bank++) {
        int32_t start = first_fit(as, section, bank);
        if (start >= 0) {
            section->address = (uint16_t)start;
            section->bank = (uint16_t)bank;
            section->placed = true;
            return;
        }
    }
    dm_asm_error_at(as, section->file, section->line,
                    "no room for section '%.100s' (%u bytes) in %s", section->name,
                    (unsigned)section->size, info->name);
}

static dm_asm_section *largest_floating(const dm_asm *as)
{
    dm_asm_section *best = NULL;
    for (unsigned i = 0; i < as->section_count; i++) {
        dm_asm_section *section = as->sections[i];
        if (!section->placed && !section->address_fixed && section->line > 0 &&
            (!best || section->size > best->size))
            best = section;
    }
    return best;
}

/* Fixed sections first, then the floating ones, the largest first, each at the first fit. */
void dm_asm_place(dm_asm *as)
{
    for (unsigned i = 0; i < as->section_count; i++) {
        dm_asm_section *section = as->sections[i];
        if (section->address_fixed) {
            if (!section->bank_fixed)
                section->bank = dm_asm_regions[section->region].first_bank;
            place_fixed(as, section);
        }
    }
    for (dm_asm_section *section; !as->stop && (section = largest_floating(as)) != NULL;) {
        place_floating(as, section);
        if (!section->placed)
            return;
    }
    if (as->result->errors > 0)
        return;

    uint32_t banks = 2;
    for (unsigned i = 0; i < as->section_count; i++)
        if (as->sections[i]->region == DM_ASM_ROMX)
            while (banks <= as->sections[i]->bank)
                banks *= 2;
    as->rom_size = (size_t)banks * ROM_BANK_SIZE;
    as->rom = dm_arena_alloc(as->arena, as->rom_size);
    if (!as->rom)
        dm_asm_fatal(as, "out of memory");
}

size_t dm_asm_rom_offset(const dm_asm_section *section, uint32_t cursor)
{
    return (size_t)section->bank * ROM_BANK_SIZE + (section->address & (ROM_BANK_SIZE - 1)) +
           cursor;
}

/* The cartridge header: ROM size and checksums always, the rest where HEADER was given. */
void dm_asm_finish_header(dm_asm *as)
{
    uint8_t *rom = as->rom;
    if (as->header.given) {
        memcpy(rom + TITLE, as->header.title, 16);
        rom[TYPE] = as->header.type;
        rom[RAM_SIZE] = as->header.ram_code;
    }
    rom[ROM_SIZE] = 0;
    while (((size_t)2 * ROM_BANK_SIZE) << rom[ROM_SIZE] < as->rom_size)
        rom[ROM_SIZE]++;
    uint8_t header = 0;
    for (size_t i = TITLE; i < HEADER_CHECKSUM; i++)
        header = (uint8_t)(header - rom[i] - 1);
    rom[HEADER_CHECKSUM] = header;
    unsigned sum = 0;
    rom[GLOBAL_CHECKSUM] = rom[GLOBAL_CHECKSUM + 1] = 0;
    for (size_t i = 0; i < as->rom_size; i++)
        sum += rom[i];
    rom[GLOBAL_CHECKSUM] = (uint8_t)(sum >> 8);
    rom[GLOBAL_CHECKSUM + 1] = (uint8_t)sum;
}

static int compare_symbols(const void *left, const void *right)
{
    const dm_gb_asm_symbol *a = left, *b = right;
    if (a->bank != b->bank)
        return a->bank < b->bank ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return strcmp(a->name, b->name);
}

void dm_asm_collect_symbols(dm_asm *as)
{
    dm_gb_asm_symbol *symbols =
        dm_arena_alloc_array(as->arena, as->symbol_count + 1, sizeof *symbols);
    size_t count = 0;
    if (!symbols) {
        dm_asm_fatal(as, "out of memory");
        return;
    }
    for (const dm_asm_symbol *symbol = as->first_symbol; symbol; symbol = symbol->next)
        if (symbol->kind == DM_ASM_LABEL)
            symbols[count++] = (dm_gb_asm_symbol){symbol->name, symbol->section->bank,
                                                  (uint16_t)symbol->value.number};
    qsort(symbols, count, sizeof *symbols, compare_symbols);
    as->result->symbols = symbols;
    as->result->symbol_count = count;
}

const dm_gb_asm_symbol *dm_gb_asm_find(const dm_gb_asm_result *result, const char *name)
{
    for (size_t i = 0; i < result->symbol_count; i++)
        if (strcmp(result->symbols[i].name, name) == 0)
            return &result->symbols[i];
    return NULL;
}

void dm_gb_asm_write_symbols(const dm_gb_asm_result *result, dm_buffer *out)
{
    for (size_t i = 0; i < result->symbol_count; i++)
        dm_buffer_printf(out, "%02x:%04x %s\n", (unsigned)result->symbols[i].bank,
                         (unsigned)result->symbols[i].address, result->symbols[i].name);
}
