/* SPDX-License-Identifier: MIT */
/* asm_internal.h - what the assembler's files share. */
#ifndef DM_GB_ASM_INTERNAL_H
#define DM_GB_ASM_INTERNAL_H

#include "romtools/asm.h"

#include <stdbool.h>

enum {
    DM_ASM_LINE_MAX = 4096, /* of one line after expansion */
    DM_ASM_TOKENS_MAX = 1024,
    DM_ASM_FRAMES_MAX = 64, /* macros, repetitions and files inside each other */
    DM_ASM_INCLUDES_MAX = 16,
    DM_ASM_IFS_MAX = 64,
    DM_ASM_ARGS_MAX = 32,
    DM_ASM_EXPANSIONS_MAX = 64, /* of EQUS, in one line */
    DM_ASM_NESTING_MAX = 64,    /* of parentheses and signs in an expression */
    DM_ASM_SECTIONS_MAX = 1024,
    DM_ASM_PUSHES_MAX = 16,
    DM_ASM_ERRORS_MAX = 32,
    DM_ASM_FILE_MAX = 4 << 20,
    DM_ASM_MEMORY_MAX = 256 << 20,
    DM_ASM_ROM_BANKS_MAX = 512,
};

/* ---- sections ---- */

typedef enum dm_asm_region {
    DM_ASM_ROM0,
    DM_ASM_ROMX,
    DM_ASM_VRAM,
    DM_ASM_SRAM,
    DM_ASM_WRAM0,
    DM_ASM_WRAMX,
    DM_ASM_OAM,
    DM_ASM_HRAM,
    DM_ASM_REGION_COUNT
} dm_asm_region;

typedef struct dm_asm_region_info {
    const char *name;
    uint16_t start, end; /* first and last address */
    uint16_t first_bank, last_bank;
} dm_asm_region_info;

extern const dm_asm_region_info dm_asm_regions[DM_ASM_REGION_COUNT];

typedef struct dm_asm_section {
    const char *name;
    const char *file; /* where it was opened, for messages */
    int line;
    dm_asm_region region;
    uint16_t address, bank, align; /* align: addresses are a multiple of it */
    bool address_fixed, bank_fixed;
    bool placed;   /* address and bank are final */
    bool opened;   /* in this pass */
    uint32_t size; /* from the first pass */
    uint32_t cursor;
} dm_asm_section;

/* ---- values and symbols ---- */

typedef enum dm_asm_value_kind {
    DM_ASM_KNOWN,
    DM_ASM_RELATIVE, /* `number` bytes from the start of a section not yet placed */
    DM_ASM_UNKNOWN   /* depends on what comes later */
} dm_asm_value_kind;

typedef struct dm_asm_value {
    int32_t number;
    dm_asm_value_kind kind;
    const dm_asm_section *section;
} dm_asm_value;

typedef enum dm_asm_symbol_kind {
    DM_ASM_LABEL,
    DM_ASM_CONSTANT, /* EQU, RB */
    DM_ASM_VARIABLE, /* = */
    DM_ASM_TEXT,     /* EQUS */
    DM_ASM_MACRO
} dm_asm_symbol_kind;

typedef struct dm_asm_symbol {
    const char *name;
    dm_asm_symbol_kind kind;
    int pass; /* the last pass that defined it */
    dm_asm_value value;
    const dm_asm_section *section; /* a label's */
    const char *text;              /* of EQUS, or a macro's body */
    size_t text_size;
    const char *file; /* a macro's place */
    int line;
    uint32_t hash;
    struct dm_asm_symbol *next; /* in the order of definition */
} dm_asm_symbol;

/* ---- where lines come from ---- */

typedef struct dm_asm_args {
    unsigned count, shift;
    const char *text[DM_ASM_ARGS_MAX];
} dm_asm_args;

typedef enum dm_asm_frame_kind {
    DM_ASM_FRAME_FILE,
    DM_ASM_FRAME_MACRO,
    DM_ASM_FRAME_REPT
} dm_asm_frame_kind;

typedef struct dm_asm_frame {
    dm_asm_frame_kind kind;
    const char *file;
    const char *macro; /* its name, where there is one */
    const char *text;
    size_t size, pos;
    int first_line; /* number of the text's first line */
    int line;       /* of the line last read */
    int next_line;
    uint32_t repeats_left;
    uint32_t unique;   /* what \@ stands for */
    dm_asm_args *args; /* of the innermost macro */
    unsigned ifs;      /* open conditions when it began */
} dm_asm_frame;

typedef struct dm_asm_file {
    const char *path;
    char *text;
    size_t size;
    struct dm_asm_file *next;
} dm_asm_file;

/* ---- tokens ---- */

/* Punctuation of one character is its own kind. */
enum {
    DM_ASM_T_END = 0,
    DM_ASM_T_NAME = 256,
    DM_ASM_T_NUMBER,
    DM_ASM_T_STRING,
    DM_ASM_T_SHL,
    DM_ASM_T_SHR,
    DM_ASM_T_SHR_LOGICAL,
    DM_ASM_T_EQ,
    DM_ASM_T_NE,
    DM_ASM_T_LE,
    DM_ASM_T_GE,
    DM_ASM_T_AND,
    DM_ASM_T_OR,
    DM_ASM_T_POWER,
    DM_ASM_T_COLONS,
};

typedef struct dm_asm_token {
    int kind;
    int32_t number;
    const char *text; /* NUL-terminated: a name, or a string's bytes */
    uint32_t size;
    uint32_t offset; /* in the line */
} dm_asm_token;

/* A row of opcodes.def, taken apart. Operands are spelled as in the table. */
typedef struct dm_asm_row {
    char name[8];
    char operand[2][8];
    uint8_t operands;
    uint8_t code, length, prefixed;
} dm_asm_row;

typedef struct dm_asm_header {
    bool given;
    char title[17];
    uint8_t type, ram_code;
} dm_asm_header;

typedef struct dm_asm {
    dm_gb_asm_result *result;
    dm_error *err;
    dm_arena *arena;
    const char *folder;      /* of the main file; NULL for a text */
    const char *include_dir; /* may be NULL */
    uint32_t line_limit, lines;
    int pass;
    bool stop; /* nothing more can be done */

    dm_asm_frame frames[DM_ASM_FRAMES_MAX];
    unsigned frame_count;
    dm_asm_file *files;
    uint32_t unique;
    struct {
        bool taken; /* a branch of it has run */
        bool in_else;
    } ifs[DM_ASM_IFS_MAX];
    unsigned if_count;

    char line[DM_ASM_LINE_MAX];
    char words[2 * DM_ASM_LINE_MAX]; /* the tokens' texts */
    dm_asm_token tokens[DM_ASM_TOKENS_MAX + 1];
    unsigned at; /* the token looked at */
    unsigned nesting;

    dm_asm_symbol **table; /* open addressing */
    size_t table_size, symbol_count;
    dm_asm_symbol *first_symbol, *last_symbol;
    const char *scope; /* the last global label */
    int32_t rs;
    int32_t charmap[256];

    dm_asm_section *sections[DM_ASM_SECTIONS_MAX];
    unsigned section_count;
    dm_asm_section *section; /* where bytes go */
    dm_asm_section *load;    /* whose addresses labels get, inside LOAD */
    struct {
        dm_asm_section *section, *load;
        const char *scope;
    } pushed[DM_ASM_PUSHES_MAX];
    unsigned pushed_count;

    dm_asm_row rows[512];
    unsigned row_count;
    dm_asm_header header;
    uint8_t *rom;
    size_t rom_size;
} dm_asm;

/* asm_symbol.c */
void dm_asm_error(dm_asm *as, const char *format, ...) DM_PRINTF(2, 3);
void dm_asm_warning(dm_asm *as, const char *format, ...) DM_PRINTF(2, 3);
void dm_asm_error_at(dm_asm *as, const char *file, int line, const char *format, ...)
    DM_PRINTF(4, 5);
/* Report it and end the run: out of memory, out of lines. */
void dm_asm_fatal(dm_asm *as, const char *format, ...) DM_PRINTF(2, 3);
/* Zeroed; NULL, the run ended, when there is no memory left. */
void *dm_asm_alloc(dm_asm *as, size_t size);
const char *dm_asm_copy(dm_asm *as, const char *text, size_t size);
dm_asm_symbol *dm_asm_symbol_find(const dm_asm *as, const char *name);
/* The symbol of that name, new or to be given its value again in the second pass. NULL (reported)
 * when this pass has it already, unless both are of a kind that may change. */
dm_asm_symbol *dm_asm_define(dm_asm *as, const char *name, dm_asm_symbol_kind kind, bool again);
/* "Scope.local" for ".local", in `out`; false (reported) when it does not fit or has no scope. */
bool dm_asm_symbol_full_name(dm_asm *as, const char *name, char out[DM_ASM_LINE_MAX]);

/* asm_section.c */
/* The address of the next byte. */
dm_asm_value dm_asm_here(const dm_asm *as);
/* One byte, or room for `count` bytes, at the current place. */
void dm_asm_emit(dm_asm *as, int32_t byte);
void dm_asm_skip(dm_asm *as, uint32_t count);
/* Is there a section, one that can hold bytes? Reported when not. */
bool dm_asm_needs_section(dm_asm *as);
bool dm_asm_needs_rom(dm_asm *as);
/* The directives of these names; the token looked at is the one behind the name. */
void dm_asm_do_section(dm_asm *as);
void dm_asm_do_load(dm_asm *as);
void dm_asm_do_endl(dm_asm *as);
void dm_asm_do_pushs(dm_asm *as);
void dm_asm_do_pops(dm_asm *as);
void dm_asm_do_db(dm_asm *as);
void dm_asm_do_dw(dm_asm *as);
void dm_asm_do_ds(dm_asm *as);
void dm_asm_do_charmap(dm_asm *as);
void dm_asm_do_header(dm_asm *as);

/* asm_source.c */
void dm_asm_push_file(dm_asm *as, const char *name);
void dm_asm_push_text(dm_asm *as, const char *name, const char *text, size_t size);
void dm_asm_push_macro(dm_asm *as, const dm_asm_symbol *macro, const char *arguments);
void dm_asm_push_rept(dm_asm *as, const char *text, size_t size, int line, uint32_t count);
/* The next line as it stands in the source, or with macro arguments put in into as->line, without
 * its comment. False at the end. */
bool dm_asm_raw_line(dm_asm *as, const char **text, size_t *size);
bool dm_asm_next_line(dm_asm *as);
/* The text up to the line that starts with `end`, which is read too; blocks begun by a line with
 * `nested` (or NULL) are passed over. False (reported) when there is none. */
bool dm_asm_block(dm_asm *as, const char *nested, const char *end, const char **text, size_t *size,
                  int *line);
/* Pass over lines up to the ELIF, ELSE or ENDC that belongs to the open condition, which is the
 * next line then. */
void dm_asm_skip_branch(dm_asm *as);
/* Is the line's first word `word`, whatever the case? */
bool dm_asm_starts_with(const char *text, size_t size, const char *word);

/* asm_lex.c: as->line into as->tokens; false when reported. */
bool dm_asm_lex(dm_asm *as);
static inline const dm_asm_token *dm_asm_peek(const dm_asm *as)
{
    return &as->tokens[as->at];
}
bool dm_asm_accept(dm_asm *as, int kind);
bool dm_asm_expect(dm_asm *as, int kind, const char *what);
bool dm_asm_is_word(const dm_asm_token *token, const char *word);

/* asm_expr.c: false when reported. */
bool dm_asm_expr(dm_asm *as, dm_asm_value *out);
/* A value that has to be known at once, in both passes. */
bool dm_asm_expr_known(dm_asm *as, const char *what, int32_t *out);

/* asm_insn.c */
void dm_asm_insn_init(dm_asm *as);
bool dm_asm_insn_known(const dm_asm *as, const char *name);
/* The mnemonic is the token looked at. */
void dm_asm_insn(dm_asm *as);
/* "HL", "NZ" ... may not be used as symbols. */
bool dm_asm_is_register(const char *name);

/* asm_place.c */
void dm_asm_place(dm_asm *as);
void dm_asm_finish_header(dm_asm *as);
void dm_asm_collect_symbols(dm_asm *as);
/* Where in the ROM a section's byte lies. */
size_t dm_asm_rom_offset(const dm_asm_section *section, uint32_t cursor);

#endif
