/* SPDX-License-Identifier: MIT */
/* asm_expr.c - expressions of 32 bits.
 *
 * From the tightest: ** (to the right), then the signs ~ + - !, then * / %, << >> >>>, & | ^, + -,
 * comparisons, &&, ||. Arithmetic wraps, division rounds down, comparisons are signed: RGBDS's
 * rules.
 *
 * In the first pass a value may be relative to a section that has no address yet, or unknown. The
 * difference of two places in one section is known. */
#include "romtools/asm_internal.h"

#include <string.h>

static dm_asm_value known(int32_t number)
{
    return (dm_asm_value){.number = number, .kind = DM_ASM_KNOWN};
}

static dm_asm_value unknown(void)
{
    return (dm_asm_value){.kind = DM_ASM_UNKNOWN};
}

/* Higher binds tighter; 0: not an operator. */
static int precedence(int kind)
{
    switch (kind) {
    case '*':
    case '/':
    case '%':
        return 7;
    case DM_ASM_T_SHL:
    case DM_ASM_T_SHR:
    case DM_ASM_T_SHR_LOGICAL:
        return 6;
    case '&':
    case '|':
    case '^':
        return 5;
    case '+':
    case '-':
        return 4;
    case DM_ASM_T_EQ:
    case DM_ASM_T_NE:
    case '<':
    case '>':
    case DM_ASM_T_LE:
    case DM_ASM_T_GE:
        return 3;
    case DM_ASM_T_AND:
        return 2;
    case DM_ASM_T_OR:
        return 1;
    default:
        return 0;
    }
}

static int32_t shift(int32_t a, int64_t by, bool logical)
{
    if (by < 0) /* to the right */
        return -by > 31  ? (logical || a >= 0 ? 0 : -1)
               : logical ? (int32_t)((uint32_t)a >> -by)
                         : (int32_t)((int64_t)a >> -by);
    return by > 31 ? 0 : (int32_t)((uint32_t)a << by);
}

static int32_t power(int32_t base, int32_t exponent)
{
    uint32_t result = 1, factor = (uint32_t)base;
    for (; exponent > 0; exponent >>= 1, factor *= factor)
        if (exponent & 1)
            result *= factor;
    return (int32_t)result;
}

static bool divide(dm_asm *as, int kind, int32_t a, int32_t b, int32_t *out)
{
    if (b == 0) {
        dm_asm_error(as, "division by zero");
        return false;
    }
    int64_t quotient = (int64_t)a / b, rest = (int64_t)a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    *out = (int32_t)(kind == '/' ? quotient : rest);
    return true;
}

static bool apply_known(dm_asm *as, int kind, int32_t a, int32_t b, int32_t *out)
{
    uint32_t ua = (uint32_t)a, ub = (uint32_t)b;
    switch (kind) {
    case '*':
        *out = (int32_t)(ua * ub);
        return true;
    case '+':
        *out = (int32_t)(ua + ub);
        return true;
    case '-':
        *out = (int32_t)(ua - ub);
        return true;
    case '&':
        *out = a & b;
        return true;
    case '|':
        *out = a | b;
        return true;
    case '^':
        *out = a ^ b;
        return true;
    case '<':
        *out = a < b;
        return true;
    case '>':
        *out = a > b;
        return true;
    case DM_ASM_T_LE:
        *out = a <= b;
        return true;
    case DM_ASM_T_GE:
        *out = a >= b;
        return true;
    case DM_ASM_T_EQ:
        *out = a == b;
        return true;
    case DM_ASM_T_NE:
        *out = a != b;
        return true;
    case DM_ASM_T_AND:
        *out = a && b;
        return true;
    case DM_ASM_T_OR:
        *out = a || b;
        return true;
    case DM_ASM_T_SHL:
        *out = shift(a, b, false);
        return true;
    case DM_ASM_T_SHR:
        *out = shift(a, -(int64_t)b, false);
        return true;
    case DM_ASM_T_SHR_LOGICAL:
        *out = shift(a, -(int64_t)b, true);
        return true;
    case DM_ASM_T_POWER:
        if (b < 0) {
            dm_asm_error(as, "a power may not be negative");
            return false;
        }
        *out = power(a, b);
        return true;
    default:
        return divide(as, kind, a, b, out);
    }
}

static bool apply(dm_asm *as, int kind, dm_asm_value a, dm_asm_value b, dm_asm_value *out)
{
    if (a.kind == DM_ASM_KNOWN && b.kind == DM_ASM_KNOWN) {
        *out = known(0);
        return apply_known(as, kind, a.number, b.number, &out->number);
    }
    bool same = a.kind == DM_ASM_RELATIVE && b.kind == DM_ASM_RELATIVE && a.section == b.section;
    bool comparison = precedence(kind) == 3;
    if (same && (kind == '-' || comparison)) {
        *out = known(0);
        return apply_known(as, kind, a.number, b.number, &out->number);
    }
    if (a.kind == DM_ASM_RELATIVE && b.kind == DM_ASM_KNOWN && (kind == '+' || kind == '-')) {
        *out = a;
        return apply_known(as, kind, a.number, b.number, &out->number);
    }
    if (a.kind == DM_ASM_KNOWN && b.kind == DM_ASM_RELATIVE && kind == '+') {
        *out = b;
        return apply_known(as, kind, a.number, b.number, &out->number);
    }
    *out = unknown();
    return true;
}

/* ---- names and functions ---- */

static bool symbol_value(dm_asm *as, const char *name, dm_asm_value *out)
{
    char full[DM_ASM_LINE_MAX];
    if (!dm_asm_symbol_full_name(as, name, full))
        return false;
    dm_asm_symbol *symbol = dm_asm_symbol_find(as, full);
    if (!symbol || (symbol->kind == DM_ASM_VARIABLE && symbol->pass != as->pass)) {
        *out = unknown();
        if (as->pass == 1)
            return true;
        dm_asm_error(as, "'%.200s' is not defined", full);
        return false;
    }
    if (symbol->kind == DM_ASM_TEXT || symbol->kind == DM_ASM_MACRO) {
        dm_asm_error(as, "'%.200s' is not a number", full);
        return false;
    }
    *out = symbol->value;
    if (out->kind == DM_ASM_RELATIVE && out->section->placed)
        *out = known(out->number + out->section->address);
    return true;
}

static dm_asm_section *section_named(dm_asm *as, const char *name)
{
    for (unsigned i = 0; i < as->section_count; i++)
        if (strcmp(as->sections[i]->name, name) == 0)
            return as->sections[i];
    return NULL;
}

/* BANK(label), BANK("section"), BANK(@); SIZEOF("section"), STARTOF("section"). */
static bool section_function(dm_asm *as, const char *function, dm_asm_value *out)
{
    const dm_asm_token *token = dm_asm_peek(as);
    const dm_asm_section *section = NULL;
    char full[DM_ASM_LINE_MAX] = "@";
    bool bank = function[0] == 'B';
    if (token->kind == DM_ASM_T_STRING) {
        section = section_named(as, token->text);
    } else if (bank && token->kind == '@') {
        section = as->section;
    } else if (bank && token->kind == DM_ASM_T_NAME) {
        if (!dm_asm_symbol_full_name(as, token->text, full))
            return false;
        dm_asm_symbol *symbol = dm_asm_symbol_find(as, full);
        section = symbol && symbol->kind == DM_ASM_LABEL ? symbol->section : NULL;
    } else {
        dm_asm_error(as, "%s needs a %ssection's name", function, bank ? "label or a " : "");
        return false;
    }
    as->at++;
    *out = unknown();
    if (!section && as->pass == 2) {
        dm_asm_error(as, "%s: there is no '%.200s'", function, token->text);
        return false;
    }
    if (!section)
        return true;
    if (strcmp(function, "SIZEOF") == 0)
        *out = as->pass == 2 ? known((int32_t)section->size) : unknown();
    else if (bank)
        *out = section->placed || section->bank_fixed ? known(section->bank) : unknown();
    else
        *out = section->placed ? known(section->address) : unknown();
    return true;
}

static bool call(dm_asm *as, const char *function, dm_asm_value *out)
{
    as->at += 2; /* its name and the parenthesis */
    const dm_asm_token *token = dm_asm_peek(as);
    if (strcmp(function, "DEF") == 0) {
        char full[DM_ASM_LINE_MAX];
        if (!dm_asm_expect(as, DM_ASM_T_NAME, "a name") ||
            !dm_asm_symbol_full_name(as, token->text, full))
            return false;
        const dm_asm_symbol *symbol = dm_asm_symbol_find(as, full);
        *out = known(symbol && symbol->pass == as->pass);
    } else if (strcmp(function, "STRLEN") == 0) {
        if (!dm_asm_expect(as, DM_ASM_T_STRING, "a text"))
            return false;
        *out = known((int32_t)token->size);
    } else if (strcmp(function, "HIGH") == 0 || strcmp(function, "LOW") == 0) {
        dm_asm_value value;
        if (!dm_asm_expr(as, &value))
            return false;
        int32_t bits = function[0] == 'H' ? value.number >> 8 & 0xFF : value.number & 0xFF;
        *out = value.kind == DM_ASM_KNOWN ? known(bits) : unknown();
    } else if (!section_function(as, function, out)) {
        return false;
    }
    return dm_asm_expect(as, ')', "')'");
}

static const char *function_named(const dm_asm_token *token)
{
    static const char *const names[] = {"HIGH",   "LOW",    "BANK",   "DEF",
                                        "STRLEN", "SIZEOF", "STARTOF"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (dm_asm_is_word(token, names[i]))
            return names[i];
    return NULL;
}

/* ---- the grammar ---- */

static bool parse_binary(dm_asm *as, int lowest, dm_asm_value *out);

static bool parse_primary(dm_asm *as, dm_asm_value *out)
{
    const dm_asm_token *token = dm_asm_peek(as);
    const char *function = function_named(token);
    if (function && token[1].kind == '(')
        return call(as, function, out);
    if (dm_asm_accept(as, '('))
        return parse_binary(as, 1, out) && dm_asm_expect(as, ')', "')'");
    if (dm_asm_accept(as, DM_ASM_T_NUMBER)) {
        *out = known(token->number);
        return true;
    }
    if (token->kind == DM_ASM_T_STRING && token->size == 1) {
        as->at++;
        *out = known(as->charmap[(unsigned char)token->text[0]]);
        return true;
    }
    if (dm_asm_accept(as, '@')) {
        if (!as->section) {
            dm_asm_error(as, "'@' outside a section");
            return false;
        }
        *out = dm_asm_here(as);
        return true;
    }
    if (token->kind == DM_ASM_T_NAME && dm_asm_is_register(token->text)) {
        dm_asm_error(as, "register %.10s in an expression", token->text);
        return false;
    }
    if (dm_asm_is_word(token, "_RS")) {
        as->at++;
        *out = known(as->rs);
        return true;
    }
    if (dm_asm_accept(as, DM_ASM_T_NAME))
        return symbol_value(as, token->text, out);
    dm_asm_expect(as, DM_ASM_T_NUMBER, "a value"); /* which it is not */
    return false;
}

/* unary := ('~' | '+' | '-' | '!') unary | primary ('**' unary)? */
static bool parse_unary(dm_asm *as, dm_asm_value *out)
{
    if (as->nesting >= DM_ASM_NESTING_MAX) {
        dm_asm_error(as, "the expression is nested too deeply");
        return false;
    }
    as->nesting++;
    int kind = dm_asm_peek(as)->kind;
    bool good;
    if (kind == '~' || kind == '+' || kind == '-' || kind == '!') {
        as->at++;
        good = parse_unary(as, out);
        if (good && kind != '+') {
            uint32_t bits = (uint32_t)out->number;
            bits = kind == '~' ? ~bits : kind == '-' ? 0u - bits : !bits;
            *out = out->kind == DM_ASM_KNOWN ? known((int32_t)bits) : unknown();
        }
    } else {
        dm_asm_value exponent;
        good = parse_primary(as, out);
        if (good && dm_asm_accept(as, DM_ASM_T_POWER))
            good = parse_unary(as, &exponent) && apply(as, DM_ASM_T_POWER, *out, exponent, out);
    }
    as->nesting--;
    return good;
}

static bool parse_binary(dm_asm *as, int lowest, dm_asm_value *out)
{
    if (!parse_unary(as, out))
        return false;
    for (;;) {
        int kind = dm_asm_peek(as)->kind, level = precedence(kind);
        if (level < lowest || level == 0)
            return true;
        as->at++;
        dm_asm_value right;
        if (!parse_binary(as, level + 1, &right) || !apply(as, kind, *out, right, out))
            return false;
    }
}

bool dm_asm_expr(dm_asm *as, dm_asm_value *out)
{
    return parse_binary(as, 1, out);
}

bool dm_asm_expr_known(dm_asm *as, const char *what, int32_t *out)
{
    dm_asm_value value;
    if (!dm_asm_expr(as, &value))
        return false;
    if (value.kind != DM_ASM_KNOWN) {
        dm_asm_error(as, "%s has to be known here, but depends on what comes later", what);
        return false;
    }
    *out = value.number;
    return true;
}
