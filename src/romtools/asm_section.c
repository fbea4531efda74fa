/* SPDX-License-Identifier: MIT */
/* asm_section.c - sections, the bytes that go into them, and the cartridge header. */
#include "romtools/asm_internal.h"

#include <string.h>

/* ---- the current place ---- */

dm_asm_value dm_asm_here(const dm_asm *as)
{
    const dm_asm_section *section = as->load ? as->load : as->section;
    if (section->address_fixed || section->placed)
        return (dm_asm_value){(int32_t)(section->address + section->cursor), DM_ASM_KNOWN, NULL};
    return (dm_asm_value){(int32_t)section->cursor, DM_ASM_RELATIVE, section};
}

static bool is_rom(const dm_asm_section *section)
{
    return section->region == DM_ASM_ROM0 || section->region == DM_ASM_ROMX;
}

static void advance(dm_asm *as, dm_asm_section *section, uint32_t count)
{
    const dm_asm_region_info *info = &dm_asm_regions[section->region];
    section->cursor += count;
    if (section->cursor > (uint32_t)(info->end - info->start) + 1)
        dm_asm_fatal(as, "section '%.100s' is larger than %s", section->name, info->name);
}

void dm_asm_emit(dm_asm *as, int32_t byte)
{
    dm_asm_section *section = as->section;
    if (as->stop)
        return;
    if (as->pass == 2 && section->cursor < section->size)
        as->rom[dm_asm_rom_offset(section, section->cursor)] = (uint8_t)byte;
    advance(as, section, 1);
    if (as->load)
        advance(as, as->load, 1);
}

void dm_asm_skip(dm_asm *as, uint32_t count)
{
    if (as->stop)
        return;
    advance(as, as->section, count);
    if (as->load)
        advance(as, as->load, count);
}

bool dm_asm_needs_section(dm_asm *as)
{
    if (!as->section)
        dm_asm_error(as, "this needs a SECTION before it");
    return as->section != NULL;
}

bool dm_asm_needs_rom(dm_asm *as)
{
    if (!dm_asm_needs_section(as))
        return false;
    if (!is_rom(as->section))
        dm_asm_error(as, "%s cannot hold bytes given in advance",
                     dm_asm_regions[as->section->region].name);
    return is_rom(as->section);
}

/* ---- sections ---- */

/* [value] after a word, within limits. */
static bool bracketed(dm_asm *as, const char *what, int32_t low, int32_t high, uint16_t *out)
{
    int32_t value;
    if (!dm_asm_expect(as, '[', "'['") || !dm_asm_expr_known(as, what, &value) ||
        !dm_asm_expect(as, ']', "']'"))
        return false;
    if (value < low || value > high) {
        dm_asm_error(as, "%s is not in $%X..$%X", what, (unsigned)low, (unsigned)high);
        return false;
    }
    *out = (uint16_t)value;
    return true;
}

/* "name", REGION[address], BANK[n], ALIGN[bits] */
static bool parse_section(dm_asm *as, dm_asm_section *out)
{
    const dm_asm_token *name = dm_asm_peek(as);
    if (!dm_asm_expect(as, DM_ASM_T_STRING, "the section's name") || !dm_asm_expect(as, ',', "','"))
        return false;
    const dm_asm_token *region = dm_asm_peek(as);
    unsigned i = 0;
    while (i < DM_ASM_REGION_COUNT && !dm_asm_is_word(region, dm_asm_regions[i].name))
        i++;
    if (i == DM_ASM_REGION_COUNT)
        return dm_asm_expect(as, -1, "ROM0, ROMX, VRAM, SRAM, WRAM0, WRAMX, OAM or HRAM");
    as->at++;
    const dm_asm_region_info *info = &dm_asm_regions[i];
    *out = (dm_asm_section){.name = name->text,
                            .region = (dm_asm_region)i,
                            .bank = info->first_bank,
                            .bank_fixed = info->first_bank == info->last_bank};
    if (dm_asm_peek(as)->kind == '[') {
        out->address_fixed = true;
        if (!bracketed(as, "the address", info->start, info->end, &out->address))
            return false;
    }
    while (dm_asm_accept(as, ',')) {
        const dm_asm_token *word = dm_asm_peek(as);
        uint16_t bits;
        as->at += word->kind == DM_ASM_T_NAME;
        if (dm_asm_is_word(word, "BANK")) {
            out->bank_fixed = true;
            if (!bracketed(as, "the bank", info->first_bank, info->last_bank, &out->bank))
                return false;
        } else if (dm_asm_is_word(word, "ALIGN")) {
            if (!bracketed(as, "the alignment", 0, 14, &bits))
                return false;
            out->align = (uint16_t)(1u << bits);
        } else {
            dm_asm_error(as, "expected BANK[...] or ALIGN[...]");
            return false;
        }
    }
    if (out->address_fixed && out->align && out->address % out->align != 0) {
        dm_asm_error(as, "address $%04X is not aligned", (unsigned)out->address);
        return false;
    }
    return dm_asm_expect(as, DM_ASM_T_END, "the line's end");
}

/* The section opened by SECTION or LOAD, new in the first pass. */
static dm_asm_section *open_section(dm_asm *as, const dm_asm_section *spec)
{
    for (unsigned i = 0; i < as->section_count; i++) {
        dm_asm_section *section = as->sections[i];
        if (strcmp(section->name, spec->name) != 0)
            continue;
        if (section->opened) {
            dm_asm_error(as, "section '%.100s' is already there", spec->name);
            return NULL;
        }
        section->opened = true;
        return section;
    }
    if (as->pass == 2) {
        dm_asm_error(as, "section '%.100s' was not there in the first pass", spec->name);
        return NULL;
    }
    if (as->section_count == DM_ASM_SECTIONS_MAX) {
        dm_asm_fatal(as, "more than %d sections", DM_ASM_SECTIONS_MAX);
        return NULL;
    }
    dm_asm_section *section = dm_asm_alloc(as, sizeof *section);
    if (!section)
        return NULL;
    *section = *spec;
    section->name = dm_asm_copy(as, spec->name, strlen(spec->name));
    if (!section->name)
        return NULL;
    section->file = as->frames[as->frame_count - 1].file;
    section->line = as->frames[as->frame_count - 1].line;
    section->opened = true;
    as->sections[as->section_count++] = section;
    return section;
}

void dm_asm_do_section(dm_asm *as)
{
    dm_asm_section spec;
    if (as->load)
        dm_asm_error(as, "SECTION before ENDL");
    as->load = NULL;
    as->section = NULL;
    as->scope = NULL;
    if (parse_section(as, &spec))
        as->section = open_section(as, &spec);
}

void dm_asm_do_load(dm_asm *as)
{
    dm_asm_section spec;
    if (!dm_asm_needs_rom(as) || !parse_section(as, &spec))
        return;
    if (as->load || is_rom(&spec)) {
        dm_asm_error(as, as->load ? "LOAD inside LOAD" : "LOAD needs a section in RAM");
        return;
    }
    as->load = open_section(as, &spec);
}

void dm_asm_do_endl(dm_asm *as)
{
    if (!as->load)
        dm_asm_error(as, "ENDL without LOAD");
    as->load = NULL;
}

void dm_asm_do_pushs(dm_asm *as)
{
    if (as->pushed_count == DM_ASM_PUSHES_MAX) {
        dm_asm_error(as, "PUSHS is more than %d deep", DM_ASM_PUSHES_MAX);
        return;
    }
    as->pushed[as->pushed_count].section = as->section;
    as->pushed[as->pushed_count].load = as->load;
    as->pushed[as->pushed_count++].scope = as->scope;
    as->section = as->load = NULL;
    as->scope = NULL;
}

void dm_asm_do_pops(dm_asm *as)
{
    if (as->pushed_count == 0) {
        dm_asm_error(as, "POPS without PUSHS");
        return;
    }
    as->section = as->pushed[--as->pushed_count].section;
    as->load = as->pushed[as->pushed_count].load;
    as->scope = as->pushed[as->pushed_count].scope;
}

/* ---- data ---- */

static void emit_value(dm_asm *as, dm_asm_value value, int32_t size)
{
    int32_t number = value.kind == DM_ASM_KNOWN ? value.number : 0;
    int32_t low = size == 1 ? -128 : -32768, high = size == 1 ? 255 : 65535;
    if (as->pass == 2 && (number < low || number > high))
        dm_asm_error(as, "the value %d is not in %d..%d", (int)number, (int)low, (int)high);
    dm_asm_emit(as, number);
    if (size == 2)
        dm_asm_emit(as, number >> 8);
}

static void data(dm_asm *as, int32_t size)
{
    if (dm_asm_peek(as)->kind == DM_ASM_T_END) { /* room for one */
        if (dm_asm_needs_section(as))
            dm_asm_skip(as, (uint32_t)size);
        return;
    }
    if (!dm_asm_needs_rom(as))
        return;
    do {
        const dm_asm_token *token = dm_asm_peek(as);
        dm_asm_value value;
        if (token->kind == DM_ASM_T_END && as->at > 1)
            return; /* a comma at the end is allowed */
        if (size == 1 && token->kind == DM_ASM_T_STRING &&
            (token[1].kind == ',' || token[1].kind == DM_ASM_T_END)) {
            as->at++;
            for (uint32_t i = 0; i < token->size; i++)
                dm_asm_emit(as, as->charmap[(unsigned char)token->text[i]]);
        } else if (dm_asm_expr(as, &value)) {
            emit_value(as, value, size);
        } else {
            return;
        }
    } while (dm_asm_accept(as, ','));
    dm_asm_expect(as, DM_ASM_T_END, "',' or the line's end");
}

void dm_asm_do_db(dm_asm *as)
{
    data(as, 1);
}

void dm_asm_do_dw(dm_asm *as)
{
    data(as, 2);
}

/* DS count[, fill] */
void dm_asm_do_ds(dm_asm *as)
{
    int32_t count;
    dm_asm_value fill = {0};
    if (!dm_asm_needs_section(as) || !dm_asm_expr_known(as, "the count", &count))
        return;
    if (count < 0 || count > 0x8000) {
        dm_asm_error(as, "the count %d is not in 0..32768", (int)count);
        return;
    }
    if (!dm_asm_accept(as, ',')) {
        dm_asm_skip(as, (uint32_t)count);
        return;
    }
    if (!dm_asm_needs_rom(as) || !dm_asm_expr(as, &fill))
        return;
    while (count-- > 0 && !as->stop)
        emit_value(as, fill, 1);
}

void dm_asm_do_charmap(dm_asm *as)
{
    const dm_asm_token *token = dm_asm_peek(as);
    int32_t value;
    if (!dm_asm_expect(as, DM_ASM_T_STRING, "a text") || !dm_asm_expect(as, ',', "','") ||
        !dm_asm_expr_known(as, "the character", &value))
        return;
    if (token->size != 1 || value < 0 || value > 255)
        dm_asm_error(as, "CHARMAP takes one character and a byte");
    else
        as->charmap[(unsigned char)token->text[0]] = value;
}

/* ---- the cartridge header ---- */

/* HEADER "TITLE", TYPE[, RAM in KiB] */
void dm_asm_do_header(dm_asm *as)
{
    static const struct {
        const char *name;
        int32_t code;
    } types[] = {
        {"ROM", 0x00},
        {"MBC1", 0x01},
        {"MBC1_RAM", 0x02},
        {"MBC1_RAM_BATTERY", 0x03},
        {"MBC2", 0x05},
        {"MBC2_BATTERY", 0x06},
        {"MBC3_TIMER_BATTERY", 0x0F},
        {"MBC3_TIMER_RAM_BATTERY", 0x10},
        {"MBC3", 0x11},
        {"MBC3_RAM", 0x12},
        {"MBC3_RAM_BATTERY", 0x13},
        {"MBC5", 0x19},
        {"MBC5_RAM", 0x1A},
        {"MBC5_RAM_BATTERY", 0x1B},
        {"MBC5_RUMBLE", 0x1C},
        {"MBC5_RUMBLE_RAM", 0x1D},
        {"MBC5_RUMBLE_RAM_BATTERY", 0x1E},
    };
    static const int32_t ram_sizes[] = {0, 2, 8, 32, 128, 64}; /* KiB, by code */
    const dm_asm_token *title = dm_asm_peek(as);
    int32_t type = -1, ram = 0;
    if (!dm_asm_expect(as, DM_ASM_T_STRING, "the title") || !dm_asm_expect(as, ',', "','"))
        return;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (dm_asm_is_word(dm_asm_peek(as), types[i].name))
            type = types[i].code;
    if (type >= 0)
        as->at++;
    else if (!dm_asm_expr_known(as, "the cartridge type", &type))
        return;
    if (dm_asm_accept(as, ',') && !dm_asm_expr_known(as, "the RAM size", &ram))
        return;
    size_t code = 0;
    while (code < 6 && ram_sizes[code] != ram)
        code++;
    if (title->size > 16 || type < 0 || type > 255 || code == 6) {
        dm_asm_error(as, title->size > 16 ? "the title has more than 16 characters"
                         : code == 6      ? "the RAM size is 0, 2, 8, 32, 64 or 128 KiB"
                                          : "the cartridge type is a byte");
        return;
    }
    as->header = (dm_asm_header){.given = true, .type = (uint8_t)type, .ram_code = (uint8_t)code};
    memcpy(as->header.title, title->text, title->size);
}
