/* SPDX-License-Identifier: MIT */
/* asm.c - statements, symbols and the two passes. asm.h says what is understood. */
#include "base/file.h"
#include "gb/asm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- messages ---- */

/* The macro a place is in is named with where it was called: the body alone tells too little. */
static void add_caller(dm_asm *as, dm_buffer *out)
{
    if (as->frame_count == 0 || !as->frames[as->frame_count - 1].macro)
        return;
    const char *macro = as->frames[as->frame_count - 1].macro;
    unsigned i = as->frame_count - 1;
    while (i > 0 && as->frames[i].kind != DM_ASM_FRAME_MACRO)
        i--;
    if (i > 0)
        dm_buffer_printf(out, " (in macro %.100s, called at %s:%d)", macro, as->frames[i - 1].file,
                         as->frames[i - 1].line);
}

static void report(dm_asm *as, const char *file, int line, bool is_error, const char *text)
{
    dm_buffer *out = &as->result->messages;
    if (line > 0)
        dm_buffer_printf(out, "%s:%d: ", file, line);
    else
        dm_buffer_printf(out, "%s: ", file);
    dm_buffer_printf(out, "%s: %s", is_error ? "error" : "warning", text);
    add_caller(as, out);
    dm_buffer_putc(out, '\n');
    if (!is_error)
        return;
    if (as->result->errors++ == 0)
        dm_fail_at(as->err, DM_ECOMPILE, file, line, "%.200s:%d: %.700s", file, line, text);
    if (as->result->errors == DM_ASM_ERRORS_MAX && !as->stop) {
        dm_buffer_printf(out, "%s: error: too many errors\n", file);
        as->stop = true;
    }
}

static void report_here(dm_asm *as, bool is_error, const char *format, va_list args)
{
    char text[DM_ERROR_MESSAGE_MAX];
    vsnprintf(text, sizeof text, format, args);
    const dm_asm_frame *top = &as->frames[as->frame_count ? as->frame_count - 1 : 0];
    report(as, top->file, as->frame_count ? top->line : 0, is_error, text);
}

void dm_asm_error(dm_asm *as, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_here(as, true, format, args);
    va_end(args);
}

void dm_asm_warning(dm_asm *as, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_here(as, false, format, args);
    va_end(args);
}

void dm_asm_error_at(dm_asm *as, const char *file, int line, const char *format, ...)
{
    char text[DM_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(as, file, line, true, text);
}

void dm_asm_fatal(dm_asm *as, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!as->stop)
        report_here(as, true, format, args);
    va_end(args);
    as->stop = true;
}

void *dm_asm_alloc(dm_asm *as, size_t size)
{
    void *memory = dm_arena_alloc(as->arena, size);
    if (!memory)
        dm_asm_fatal(as, "out of memory");
    return memory;
}

const char *dm_asm_copy(dm_asm *as, const char *text, size_t size)
{
    char *copy = dm_asm_alloc(as, size + 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

/* ---- symbols ---- */

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static dm_asm_symbol **slot_of(const dm_asm *as, const char *name, uint32_t hash)
{
    size_t mask = as->table_size - 1;
    size_t i = hash & mask;
    while (as->table[i] && (as->table[i]->hash != hash || strcmp(as->table[i]->name, name) != 0))
        i = (i + 1) & mask;
    return &as->table[i];
}

dm_asm_symbol *dm_asm_symbol_find(const dm_asm *as, const char *name)
{
    return as->table_size ? *slot_of(as, name, hash_name(name)) : NULL;
}

static bool grow_table(dm_asm *as)
{
    if (2 * (as->symbol_count + 1) <= as->table_size)
        return true;
    size_t size = as->table_size ? as->table_size * 2 : 256;
    dm_asm_symbol **table = dm_asm_alloc(as, size * sizeof(dm_asm_symbol *));
    if (!table)
        return false;
    as->table = table;
    as->table_size = size;
    for (dm_asm_symbol *symbol = as->first_symbol; symbol; symbol = symbol->next)
        *slot_of(as, symbol->name, symbol->hash) = symbol;
    return true;
}

/* The symbol of that name, new or to be given its value again in the second pass. NULL (reported)
 * when this pass has it already, unless both are of a kind that may change. */
static dm_asm_symbol *define(dm_asm *as, const char *name, dm_asm_symbol_kind kind, bool again)
{
    if (dm_asm_is_register(name)) {
        dm_asm_error(as, "'%s' is a register's name", name);
        return NULL;
    }
    dm_asm_symbol *symbol = dm_asm_symbol_find(as, name);
    if (symbol) {
        bool changes = symbol->kind == kind && (again || kind == DM_ASM_VARIABLE);
        if (symbol->kind != kind || (symbol->pass == as->pass && !changes)) {
            dm_asm_error(as, "'%.200s' is already defined", name);
            return NULL;
        }
        symbol->pass = as->pass;
        return symbol;
    }
    symbol = grow_table(as) ? dm_asm_alloc(as, sizeof *symbol) : NULL;
    const char *copy = symbol ? dm_asm_copy(as, name, strlen(name)) : NULL;
    if (!copy)
        return NULL;
    symbol->name = copy;
    symbol->hash = hash_name(copy);
    symbol->kind = kind;
    symbol->pass = as->pass;
    *slot_of(as, copy, symbol->hash) = symbol;
    as->symbol_count++;
    if (as->last_symbol)
        as->last_symbol->next = symbol;
    else
        as->first_symbol = symbol;
    as->last_symbol = symbol;
    return symbol;
}

bool dm_asm_symbol_full_name(dm_asm *as, const char *name, char out[DM_ASM_LINE_MAX])
{
    const char *scope = name[0] == '.' ? as->scope : "";
    if (!scope) {
        dm_asm_error(as, "'%.200s' before any global label", name);
        return false;
    }
    if (strlen(scope) + strlen(name) >= DM_ASM_LINE_MAX) {
        dm_asm_error(as, "the name is too long");
        return false;
    }
    strcpy(out, scope);
    strcat(out, name);
    return true;
}

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

static bool needs_section(dm_asm *as)
{
    if (!as->section)
        dm_asm_error(as, "this needs a SECTION before it");
    return as->section != NULL;
}

static bool needs_rom(dm_asm *as)
{
    if (!needs_section(as))
        return false;
    if (!is_rom(as->section))
        dm_asm_error(as, "%s cannot hold bytes given in advance",
                     dm_asm_regions[as->section->region].name);
    return is_rom(as->section);
}

/* ---- labels and constants ---- */

static void define_label(dm_asm *as, const char *name)
{
    char full[DM_ASM_LINE_MAX];
    if (!needs_section(as) || !dm_asm_symbol_full_name(as, name, full))
        return;
    dm_asm_symbol *symbol = define(as, full, DM_ASM_LABEL, false);
    if (!symbol)
        return;
    dm_asm_value here = dm_asm_here(as);
    if (as->pass == 2) {
        int32_t before = symbol->value.number;
        if (symbol->value.kind == DM_ASM_RELATIVE)
            before += symbol->value.section->address;
        /* After an error bytes are missing; that alone is worth a message. */
        if (before != here.number && as->result->errors == 0)
            dm_asm_error(as, "'%.200s' moved between the passes", full);
    }
    symbol->value = here;
    symbol->section = as->load ? as->load : as->section;
    if (!strchr(full, '.'))
        as->scope = symbol->name;
}

static void define_number(dm_asm *as, const char *name, dm_asm_symbol_kind kind, bool again)
{
    dm_asm_value value;
    if (!dm_asm_expr(as, &value))
        return;
    if (value.kind == DM_ASM_UNKNOWN) {
        dm_asm_error(as, "the value of '%.200s' depends on what comes later", name);
        return;
    }
    dm_asm_symbol *symbol = define(as, name, kind, again);
    if (symbol)
        symbol->value = value;
}

/* name RB [count], name RW [count] */
static void define_offset(dm_asm *as, const char *name, int32_t unit)
{
    int32_t count = 1;
    if (dm_asm_peek(as)->kind != DM_ASM_T_END && !dm_asm_expr_known(as, "the count", &count))
        return;
    dm_asm_symbol *symbol = define(as, name, DM_ASM_CONSTANT, false);
    if (!symbol)
        return;
    symbol->value = (dm_asm_value){as->rs, DM_ASM_KNOWN, NULL};
    as->rs = (int32_t)((uint32_t)as->rs + (uint32_t)count * (uint32_t)unit);
}

static void define_text(dm_asm *as, const char *name, bool again)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (!dm_asm_expect(as, DM_ASM_T_STRING, "a text"))
        return;
    dm_asm_symbol *symbol = define(as, name, DM_ASM_TEXT, again);
    if (!symbol)
        return;
    symbol->text = dm_asm_copy(as, token->text, token->size);
    symbol->text_size = symbol->text ? token->size : 0;
    if (symbol->text && memchr(symbol->text, 0, symbol->text_size))
        symbol->text_size = strlen(symbol->text);
}

/* name (EQU | = | EQUS | RB | RW) ...; false when it is none of these. */
static bool assignment(dm_asm *as, bool again)
{
    const dm_asm_token *name = dm_asm_peek(as), *how = name + 1;
    if (name->kind != DM_ASM_T_NAME)
        return false;
    bool is_rb = dm_asm_is_word(how, "RB"), is_rw = dm_asm_is_word(how, "RW");
    bool is_equ = dm_asm_is_word(how, "EQU"), is_equs = dm_asm_is_word(how, "EQUS");
    if (!is_rb && !is_rw && !is_equ && !is_equs && how->kind != '=')
        return false;
    as->at += 2;
    if (name->text[0] == '.')
        dm_asm_error(as, "a constant's name may not begin with a dot");
    else if (is_equs)
        define_text(as, name->text, again);
    else if (is_rb || is_rw)
        define_offset(as, name->text, is_rw ? 2 : 1);
    else
        define_number(as, name->text, is_equ ? DM_ASM_CONSTANT : DM_ASM_VARIABLE, again);
    return true;
}

static void do_def(dm_asm *as)
{
    if (!assignment(as, false))
        dm_asm_error(as, "expected NAME EQU, EQUS, =, RB or RW");
}

static void do_redef(dm_asm *as)
{
    if (!assignment(as, true))
        dm_asm_error(as, "expected NAME EQU, EQUS or =");
}

static void do_rsreset(dm_asm *as)
{
    as->rs = 0;
}

static void do_rsset(dm_asm *as)
{
    dm_asm_expr_known(as, "RSSET's value", &as->rs);
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

static void do_section(dm_asm *as)
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

static void do_load(dm_asm *as)
{
    dm_asm_section spec;
    if (!needs_rom(as) || !parse_section(as, &spec))
        return;
    if (as->load || is_rom(&spec)) {
        dm_asm_error(as, as->load ? "LOAD inside LOAD" : "LOAD needs a section in RAM");
        return;
    }
    as->load = open_section(as, &spec);
}

static void do_endl(dm_asm *as)
{
    if (!as->load)
        dm_asm_error(as, "ENDL without LOAD");
    as->load = NULL;
}

static void do_pushs(dm_asm *as)
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

static void do_pops(dm_asm *as)
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
        if (needs_section(as))
            dm_asm_skip(as, (uint32_t)size);
        return;
    }
    if (!needs_rom(as))
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

static void do_db(dm_asm *as)
{
    data(as, 1);
}

static void do_dw(dm_asm *as)
{
    data(as, 2);
}

/* DS count[, fill] */
static void do_ds(dm_asm *as)
{
    int32_t count;
    dm_asm_value fill = {0};
    if (!needs_section(as) || !dm_asm_expr_known(as, "the count", &count))
        return;
    if (count < 0 || count > 0x8000) {
        dm_asm_error(as, "the count %d is not in 0..32768", (int)count);
        return;
    }
    if (!dm_asm_accept(as, ',')) {
        dm_asm_skip(as, (uint32_t)count);
        return;
    }
    if (!needs_rom(as) || !dm_asm_expr(as, &fill))
        return;
    while (count-- > 0 && !as->stop)
        emit_value(as, fill, 1);
}

static void do_charmap(dm_asm *as)
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

/* ---- flow ---- */

static void do_include(dm_asm *as)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_expect(as, DM_ASM_T_STRING, "a file's name"))
        dm_asm_push_file(as, token->text);
}

static void do_if(dm_asm *as)
{
    int32_t value = 0;
    if (as->if_count == DM_ASM_IFS_MAX) {
        dm_asm_fatal(as, "IF is more than %d deep", DM_ASM_IFS_MAX);
        return;
    }
    dm_asm_expr_known(as, "the condition", &value);
    as->ifs[as->if_count].taken = value != 0;
    as->ifs[as->if_count++].in_else = false;
    if (value == 0)
        dm_asm_skip_branch(as);
}

static bool needs_if(dm_asm *as, const char *what)
{
    bool open = as->if_count > as->frames[as->frame_count - 1].ifs;
    if (!open)
        dm_asm_error(as, "%s without IF", what);
    else if (as->ifs[as->if_count - 1].in_else && strcmp(what, "ENDC") != 0)
        dm_asm_error(as, "%s after ELSE", what);
    return open;
}

static void do_elif(dm_asm *as)
{
    int32_t value = 0;
    if (!needs_if(as, "ELIF"))
        return;
    if (!as->ifs[as->if_count - 1].taken)
        dm_asm_expr_known(as, "the condition", &value);
    if (value != 0)
        as->ifs[as->if_count - 1].taken = true;
    else
        dm_asm_skip_branch(as);
}

static void do_else(dm_asm *as)
{
    if (!needs_if(as, "ELSE"))
        return;
    as->ifs[as->if_count - 1].in_else = true;
    if (as->ifs[as->if_count - 1].taken)
        dm_asm_skip_branch(as);
}

static void do_endc(dm_asm *as)
{
    if (needs_if(as, "ENDC"))
        as->if_count--;
}

static void do_rept(dm_asm *as)
{
    int32_t count = 0;
    const char *text;
    size_t size;
    int line;
    bool good = dm_asm_expr_known(as, "the count", &count);
    if (!dm_asm_block(as, "REPT", "ENDR", &text, &size, &line) || !good)
        return;
    if (count < 0)
        dm_asm_error(as, "the count %d is negative", (int)count);
    else
        dm_asm_push_rept(as, text, size, line, (uint32_t)count);
}

static void define_macro(dm_asm *as, const char *name)
{
    const char *text;
    size_t size;
    int line;
    char copy[DM_ASM_LINE_MAX];
    strcpy(copy, name); /* the tokens stay, but the block is read below */
    dm_asm_symbol *symbol = define(as, copy, DM_ASM_MACRO, false);
    if (!dm_asm_block(as, NULL, "ENDM", &text, &size, &line) || !symbol)
        return;
    symbol->text = text;
    symbol->text_size = size;
    symbol->file = as->frames[as->frame_count - 1].file;
    symbol->line = line;
}

static void do_macro(dm_asm *as)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_expect(as, DM_ASM_T_NAME, "the macro's name"))
        define_macro(as, token->text);
}

static void do_shift(dm_asm *as)
{
    dm_asm_args *args = as->frames[as->frame_count - 1].args;
    if (!args)
        dm_asm_error(as, "SHIFT outside a macro");
    else if (args->shift < args->count)
        args->shift++;
}

static void do_stray(dm_asm *as)
{
    dm_asm_error(as, "%s without its beginning", as->tokens[as->at - 1].text);
}

/* ---- checks ---- */

static void do_assert(dm_asm *as)
{
    const dm_asm_token *word = dm_asm_peek(as);
    if (dm_asm_is_word(word, "FAIL") || dm_asm_is_word(word, "FATAL") ||
        dm_asm_is_word(word, "WARN")) {
        as->at++;
        if (!dm_asm_expect(as, ',', "','"))
            return;
    }
    dm_asm_value value;
    const char *message = "";
    if (!dm_asm_expr(as, &value))
        return;
    if (dm_asm_accept(as, ',')) {
        message = dm_asm_peek(as)->text;
        if (!dm_asm_expect(as, DM_ASM_T_STRING, "a text"))
            return;
    }
    if (as->pass == 1 || value.number != 0)
        return;
    if (dm_asm_is_word(word, "WARN"))
        dm_asm_warning(as, "assertion failed%s%.300s", *message ? ": " : "", message);
    else
        dm_asm_error(as, "assertion failed%s%.300s", *message ? ": " : "", message);
}

static void do_fail(dm_asm *as)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_expect(as, DM_ASM_T_STRING, "a text"))
        dm_asm_error(as, "%.500s", token->text);
}

static void do_warn(dm_asm *as)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_expect(as, DM_ASM_T_STRING, "a text") && as->pass == 2)
        dm_asm_warning(as, "%.500s", token->text);
}

/* Labels are all visible: EXPORT and GLOBAL say nothing new. */
static void do_nothing(dm_asm *as)
{
    while (dm_asm_peek(as)->kind != DM_ASM_T_END)
        as->at++;
}

/* ---- the cartridge header ---- */

/* HEADER "TITLE", TYPE[, RAM in KiB] */
static void do_header(dm_asm *as)
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

/* ---- statements ---- */

static const struct {
    const char *name;
    void (*run)(dm_asm *as);
    bool takes_rest; /* reads to the end of the line itself, or starts a new one */
} directives[] = {
    {"ASSERT", do_assert, false},
    {"CHARMAP", do_charmap, false},
    {"DB", do_db, false},
    {"DEF", do_def, false},
    {"DS", do_ds, false},
    {"DW", do_dw, false},
    {"ELIF", do_elif, true},
    {"ELSE", do_else, true},
    {"ENDC", do_endc, false},
    {"ENDL", do_endl, false},
    {"ENDM", do_stray, false},
    {"ENDR", do_stray, false},
    {"EXPORT", do_nothing, false},
    {"FAIL", do_fail, false},
    {"GLOBAL", do_nothing, false},
    {"HEADER", do_header, false},
    {"IF", do_if, true},
    {"INCLUDE", do_include, true},
    {"LOAD", do_load, false},
    {"MACRO", do_macro, true},
    {"POPS", do_pops, false},
    {"PUSHS", do_pushs, false},
    {"REDEF", do_redef, false},
    {"REPT", do_rept, true},
    {"RSRESET", do_rsreset, false},
    {"RSSET", do_rsset, false},
    {"SECTION", do_section, false},
    {"SHIFT", do_shift, false},
    {"STATIC_ASSERT", do_assert, false},
    {"WARN", do_warn, false},
};

static bool directive(dm_asm *as, const dm_asm_token *word)
{
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        if (!dm_asm_is_word(word, directives[i].name))
            continue;
        unsigned errors = as->result->errors;
        as->at++;
        directives[i].run(as);
        if (!directives[i].takes_rest && as->result->errors == errors && !as->stop)
            dm_asm_expect(as, DM_ASM_T_END, "the line's end");
        return true;
    }
    return false;
}

/* line := [label] [assignment | directive | instruction | macro arguments] */
static void statement(dm_asm *as)
{
    const dm_asm_token *word = dm_asm_peek(as);
    bool colon =
        word->kind == DM_ASM_T_NAME && (word[1].kind == ':' || word[1].kind == DM_ASM_T_COLONS);
    if (colon && dm_asm_is_word(&word[2], "MACRO")) {
        define_macro(as, word->text);
        return;
    }
    if (colon || (word->kind == DM_ASM_T_NAME && word->text[0] == '.')) {
        define_label(as, word->text);
        as->at += colon ? 2 : 1;
        word = dm_asm_peek(as);
    }
    if (word->kind == DM_ASM_T_END)
        return;
    if (word->kind != DM_ASM_T_NAME) {
        dm_asm_expect(as, DM_ASM_T_NAME, "a label, directive or instruction");
        return;
    }
    if (directive(as, word))
        return;
    if (dm_asm_insn_known(as, word->text)) {
        if (needs_rom(as))
            dm_asm_insn(as);
        return;
    }
    if (assignment(as, false)) {
        if (dm_asm_peek(as)->kind != DM_ASM_T_END && as->result->errors == 0)
            dm_asm_expect(as, DM_ASM_T_END, "the line's end");
        return;
    }
    const dm_asm_symbol *macro = dm_asm_symbol_find(as, word->text);
    if (macro && macro->kind == DM_ASM_MACRO && macro->pass == as->pass)
        dm_asm_push_macro(as, macro, as->line + word[1].offset);
    else
        dm_asm_error(as, "unknown instruction, directive or macro '%.100s'", word->text);
}

static void run_pass(dm_asm *as, int pass, const char *name, const char *text, size_t size)
{
    as->pass = pass;
    as->lines = as->unique = 0;
    as->rs = 0;
    as->scope = NULL;
    as->section = as->load = NULL;
    as->if_count = as->pushed_count = as->frame_count = 0;
    for (int i = 0; i < 256; i++)
        as->charmap[i] = i;
    for (unsigned i = 0; i < as->section_count; i++) {
        as->sections[i]->opened = false;
        as->sections[i]->cursor = 0;
    }
    dm_asm_push_text(as, name, text, size);
    while (dm_asm_next_line(as)) {
        as->nesting = 0;
        if (dm_asm_lex(as))
            statement(as);
    }
    as->frame_count = 0;
    if (pass == 1)
        for (unsigned i = 0; i < as->section_count; i++)
            as->sections[i]->size = as->sections[i]->cursor;
}

static void assemble(dm_asm *as, const char *name, const char *text, size_t size)
{
    dm_asm_insn_init(as);
    run_pass(as, 1, name, text, size);
    as->frames[0].file = name;
    if (as->result->errors > 0)
        return;
    dm_asm_place(as);
    if (as->result->errors > 0)
        return;
    run_pass(as, 2, name, text, size);
    if (as->result->errors > 0)
        return;
    dm_asm_finish_header(as);
    dm_asm_collect_symbols(as);
}

static dm_status run(const char *name, const char *text, size_t size, const char *folder,
                     const dm_gb_asm_options *options, dm_gb_asm_result *result, dm_error *err)
{
    dm_asm *as = calloc(1, sizeof *as);
    if (!as)
        return dm_fail(err, DM_ENOMEM, "assembler: out of memory");
    dm_error first = {0};
    as->result = result;
    as->arena = &result->arena;
    as->err = &first;
    as->folder = folder;
    as->include_dir = options ? options->include_dir : NULL;
    as->line_limit = options && options->line_limit ? options->line_limit : DM_GB_ASM_LINES;
    name = dm_asm_copy(as, name, strlen(name));
    if (name)
        assemble(as, name, text, size);
    for (dm_asm_file *file = as->files; file; file = file->next)
        free(file->text);
    dm_status status =
        result->errors > 0 ? DM_ECOMPILE : dm_buffer_check(&result->messages, &first);
    if (status == DM_OK) {
        result->rom = as->rom;
        result->rom_size = as->rom_size;
    } else if (err) {
        *err = first;
    }
    free(as);
    return status;
}

static void result_init(dm_gb_asm_result *result)
{
    memset(result, 0, sizeof *result);
    dm_arena_init(&result->arena, DM_ASM_MEMORY_MAX);
}

dm_status dm_gb_asm_text(const char *name, const char *text, size_t size,
                         const dm_gb_asm_options *options, dm_gb_asm_result *result, dm_error *err)
{
    result_init(result);
    return run(name, text, size, NULL, options, result, err);
}

dm_status dm_gb_asm_file(const char *path, const dm_gb_asm_options *options,
                         dm_gb_asm_result *result, dm_error *err)
{
    result_init(result);
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, DM_ASM_FILE_MAX, &text, &size, err);
    if (status != DM_OK)
        return status;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (folder)
        status = run(path, text, size, folder, options, result, err);
    else
        status = dm_fail(err, DM_ENOMEM, "assembler: out of memory");
    free(folder);
    free(text);
    return status;
}

void dm_gb_asm_result_deinit(dm_gb_asm_result *result)
{
    dm_buffer_deinit(&result->messages);
    dm_arena_deinit(&result->arena);
    memset(result, 0, sizeof *result);
}
