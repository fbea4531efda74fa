/* SPDX-License-Identifier: MIT */
/* asm.c - statements and the two passes. asm.h lists the files and the syntax. */
#include "base/file.h"
#include "romtools/asm_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- labels and constants ---- */

static void define_label(dm_asm *as, const char *name)
{
    char full[DM_ASM_LINE_MAX];
    if (!dm_asm_needs_section(as) || !dm_asm_symbol_full_name(as, name, full))
        return;
    dm_asm_symbol *symbol = dm_asm_define(as, full, DM_ASM_LABEL, false);
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
    dm_asm_symbol *symbol = dm_asm_define(as, name, kind, again);
    if (symbol)
        symbol->value = value;
}

/* name RB [count], name RW [count] */
static void define_offset(dm_asm *as, const char *name, int32_t unit)
{
    int32_t count = 1;
    if (dm_asm_peek(as)->kind != DM_ASM_T_END && !dm_asm_expr_known(as, "the count", &count))
        return;
    dm_asm_symbol *symbol = dm_asm_define(as, name, DM_ASM_CONSTANT, false);
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
    dm_asm_symbol *symbol = dm_asm_define(as, name, DM_ASM_TEXT, again);
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
    dm_asm_symbol *symbol = dm_asm_define(as, copy, DM_ASM_MACRO, false);
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

/* ---- statements ---- */

static const struct {
    const char *name;
    void (*run)(dm_asm *as);
    bool takes_rest; /* reads to the end of the line itself, or starts a new one */
} directives[] = {
    {"ASSERT", do_assert, false},
    {"CHARMAP", dm_asm_do_charmap, false},
    {"DB", dm_asm_do_db, false},
    {"DEF", do_def, false},
    {"DS", dm_asm_do_ds, false},
    {"DW", dm_asm_do_dw, false},
    {"ELIF", do_elif, true},
    {"ELSE", do_else, true},
    {"ENDC", do_endc, false},
    {"ENDL", dm_asm_do_endl, false},
    {"ENDM", do_stray, false},
    {"ENDR", do_stray, false},
    {"EXPORT", do_nothing, false},
    {"FAIL", do_fail, false},
    {"GLOBAL", do_nothing, false},
    {"HEADER", dm_asm_do_header, false},
    {"IF", do_if, true},
    {"INCLUDE", do_include, true},
    {"LOAD", dm_asm_do_load, false},
    {"MACRO", do_macro, true},
    {"POPS", dm_asm_do_pops, false},
    {"PUSHS", dm_asm_do_pushs, false},
    {"REDEF", do_redef, false},
    {"REPT", do_rept, true},
    {"RSRESET", do_rsreset, false},
    {"RSSET", do_rsset, false},
    {"SECTION", dm_asm_do_section, false},
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
        if (dm_asm_needs_rom(as))
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
