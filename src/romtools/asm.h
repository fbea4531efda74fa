/* SPDX-License-Identifier: MIT */
/* asm.h - a two-pass assembler for Game Boy programs, in a subset of RGBDS's syntax.
 *
 * Our own ROMs (roms/) are built with it. The source is read twice. The first pass runs macros,
 * conditions and repetitions, gives labels their places and measures the sections; then sections
 * without a fixed address are placed; the second pass runs everything again, now with every label
 * known, and writes bytes. No instruction's length depends on a label, so both passes agree.
 *
 *   asm_source.c  files, macros and repetitions: where the next line comes from
 *   asm_lex.c     one line into tokens
 *   asm_expr.c    expressions, with RGBDS's precedence
 *   asm_insn.c    instructions, matched against the rows of opcodes.def
 *   asm_symbol.c  messages and the table of symbols
 *   asm_section.c sections and the bytes that go into them
 *   asm_place.c   between and after the passes: places for sections, checksums
 *   asm.c         statements and the two passes
 *
 * Understood: SECTION (ROM0 ROMX VRAM SRAM WRAM0 WRAMX OAM HRAM, [address], BANK[n], ALIGN[n]),
 * LOAD and ENDL, PUSHS and POPS, labels (Global: Global:: .local), DEF x EQU|EQUS|=|RB|RW, REDEF,
 * the same without DEF, DB DW DS, RSRESET RSSET, INCLUDE, REPT, IF ELIF ELSE ENDC, MACRO with
 * \1..\9 \@ \# _NARG SHIFT, CHARMAP, ASSERT, STATIC_ASSERT, FAIL, WARN, HIGH LOW BANK DEF STRLEN
 * SIZEOF STARTOF, and one directive of ours that fills the cartridge header in:
 *
 *   HEADER "TITLE", MBC1_RAM_BATTERY, 8      ; RAM in KiB; type a name or a number
 *
 * ROM size and both checksums are always computed. The logo bytes stay as the source has them, zero
 * where it says nothing. Floating ROM0 sections start at $0150, behind the header.
 *
 * Any input gives a result or messages: lines, macro depth, includes, memory are all limited. */
#ifndef DM_GB_ASM_H
#define DM_GB_ASM_H

#include "base/arena.h"
#include "base/buffer.h"

#include <dotmatrix/base.h>

#define DM_GB_ASM_LINES 1000000u

typedef struct dm_gb_asm_options {
    /* INCLUDE looks in the source's own folder, then here (NULL: nowhere else), and never leaves
     * these folders. */
    const char *include_dir;
    /* Lines run per pass, with those of macros and repetitions; 0: DM_GB_ASM_LINES. */
    uint32_t line_limit;
} dm_gb_asm_options;

typedef struct dm_gb_asm_symbol {
    const char *name; /* "Main", "Main.loop" */
    uint16_t bank;
    uint16_t address;
} dm_gb_asm_symbol;

typedef struct dm_gb_asm_result {
    uint8_t *rom; /* NULL unless the call gave DM_OK */
    size_t rom_size;
    const dm_gb_asm_symbol *symbols; /* labels by bank, address, name */
    size_t symbol_count;
    dm_buffer messages; /* "file:line: error: text", one line each; warnings too */
    unsigned errors;
    dm_arena arena; /* owns all of the above but `messages` */
} dm_gb_asm_result;

/* Assemble a file. DM_ECOMPILE when there are errors: `err` has the first one, result->messages
 * all. `result` must be given to dm_gb_asm_result_deinit whatever came back; `options` may be NULL.
 */
dm_status dm_gb_asm_file(const char *path, const dm_gb_asm_options *options,
                         dm_gb_asm_result *result, dm_error *err);
/* The same for a text in memory called `name`; INCLUDE looks in include_dir alone. */
dm_status dm_gb_asm_text(const char *name, const char *text, size_t size,
                         const dm_gb_asm_options *options, dm_gb_asm_result *result, dm_error *err);
void dm_gb_asm_result_deinit(dm_gb_asm_result *result);

/* NULL when there is no such label. */
const dm_gb_asm_symbol *dm_gb_asm_find(const dm_gb_asm_result *result, const char *name);
/* The labels as a .sym file: "bank:address name" in hexadecimal. */
void dm_gb_asm_write_symbols(const dm_gb_asm_result *result, dm_buffer *out);

#endif
