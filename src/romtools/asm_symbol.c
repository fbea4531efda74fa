/* SPDX-License-Identifier: MIT */
/* asm_symbol.c - messages, memory and the table of symbols, which all other files use. */
#include "romtools/asm_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

/* A message inside a macro also names the line that called it, since the line in the body is not enough. */
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

dm_asm_symbol *dm_asm_define(dm_asm *as, const char *name, dm_asm_symbol_kind kind, bool again)
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
