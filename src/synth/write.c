/* SPDX-License-Identifier: MIT */
/* write.c - expressions as text, with the brackets that Python needs and no others. */
#include "synth/gen.h"

#include <string.h>

enum { INFIX, PREFIX, CALL, OTHER };

#define OP(name, form, text, level, masks) DM_GEN_TEXT(text),
static const dm_gen_text texts[] = {
#include "synth/ops.def"
};
#undef OP
#define OP(name, form, text, level, masks) form,
static const uint8_t forms[] = {
#include "synth/ops.def"
};
#undef OP
#define OP(name, form, text, level, masks) level,
static const uint8_t levels[] = {
#include "synth/ops.def"
};
#undef OP

void dm_gen_indent(dm_gen *g)
{
    static const char spaces[] = "                                                ";
    int depth = g->frame->block_depth + 1;
    g->budget--;
    dm_gen_append(g, spaces, (size_t)(depth < 12 ? depth : 12) * 4);
}

static void put_digit(dm_gen *g, int digit)
{
    const char text = (char)('0' + digit);
    dm_gen_append(g, &text, 1);
}

static char *put_digits(char *end, unsigned value)
{
    do
        *--end = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    return end;
}

/* Thousandths as a decimal fraction without needless zeros: 1.0, 0.25, -3.125. */
static void put_number(dm_gen *g, const dm_gen_node *n)
{
    char text[24], *end = text + sizeof text, *at = end;
    unsigned value = (unsigned)(n->number < 0 ? -n->number : n->number);
    int kind = dm_gen_kind(n->type);
    bool plain = kind == DM_GEN_F32 || kind == DM_GEN_I32 || kind == DM_GEN_BOOLEAN;
    if (dm_gen_kind_is_float(kind)) {
        int digits = 3;
        unsigned fraction = value % 1000;
        for (; digits > 1 && fraction % 10 == 0; digits--)
            fraction /= 10;
        for (int i = 0; i < digits; i++, fraction /= 10)
            *--at = (char)('0' + fraction % 10);
        *--at = '.';
        at = put_digits(at, value / 1000);
    } else {
        at = put_digits(at, value);
    }
    if (n->number < 0)
        *--at = '-';
    if (!plain) {
        dm_gen_put(g, dm_gen_type_text(n->type));
        dm_gen_puts(g, "(");
    }
    dm_gen_append(g, at, (size_t)(end - at));
    if (!plain)
        dm_gen_puts(g, ")");
}

static void put_list(dm_gen *g, const int16_t *kids, int count);

static void put_component(dm_gen *g, const dm_gen_node *n)
{
    static const char letters[] = "xyzw";
    dm_gen_type type = g->nodes[n->kids[0]].type;
    char text[8];
    size_t size;
    if (dm_gen_is_mat(type)) {
        int rows_of = dm_gen_rows(type);
        memcpy(text, "[0, 0]", size = 6);
        text[1] = (char)('0' + n->style / rows_of);
        text[4] = (char)('0' + n->style % rows_of);
    } else if (n->number != 0) {
        memcpy(text, ".x", size = 2);
        text[1] = letters[n->style];
    } else {
        memcpy(text, "[0]", size = 3);
        text[1] = (char)('0' + n->style);
    }
    dm_gen_append(g, text, size);
}

static void put_more(dm_gen *g, const dm_gen_node *n, int level);

/* An expression whose text binds at least as tightly as `level`. Names are the commonest. */
static inline void put(dm_gen *g, int node, int level)
{
    const dm_gen_node *n = &g->nodes[node];
    if (n->op == DM_GEN_OP_NAME)
        dm_gen_put(g, n->name);
    else
        put_more(g, n, level);
}

/* Can a * (b * c) be written without brackets? Not where the text then begins with another
 * operator of the same level: a * (b % c * d). */
static bool is_flat(const dm_gen *g, int op, int node)
{
    const dm_gen_node *n = &g->nodes[node];
    bool same = n->op == op || (op == DM_GEN_OP_ADD && n->op == DM_GEN_OP_SUB);
    if (!same)
        return levels[n->op] != levels[op];
    return is_flat(g, op, n->kids[0]);
}

/* The level that the right operand needs. */
static int right_level(const dm_gen *g, const dm_gen_node *n)
{
    int level = levels[n->op];
    bool chain = n->op == DM_GEN_OP_ADD || n->op == DM_GEN_OP_MUL || n->op == DM_GEN_OP_AND ||
                 n->op == DM_GEN_OP_OR;
    return chain && is_flat(g, n->op, n->kids[1]) ? level : level + 1;
}

/* Operators and calls of functions: as their rows say. */
static void put_by_form(dm_gen *g, const dm_gen_node *n)
{
    int form = forms[n->op], level = levels[n->op];
    if (form == CALL) {
        dm_gen_put(g, &texts[n->op]);
        dm_gen_puts(g, "(");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, ")");
    } else if (form == PREFIX) {
        dm_gen_put(g, &texts[n->op]);
        put(g, n->kids[0], level);
    } else {
        bool comparison = level == levels[DM_GEN_OP_LESS];
        bool power = n->op == DM_GEN_OP_POWER;
        put(g, n->kids[0], comparison || power ? level + 1 : level);
        dm_gen_put(g, &texts[n->op]);
        put(g, n->kids[1], right_level(g, n));
    }
}

static void put_more(dm_gen *g, const dm_gen_node *n, int level)
{
    bool negative = n->op == DM_GEN_OP_CONSTANT && n->number < 0;
    bool brackets = levels[negative ? DM_GEN_OP_NEG : n->op] < level;
    if (brackets)
        dm_gen_puts(g, "(");
    switch (n->op) {
    case DM_GEN_OP_CONSTANT:
        put_number(g, n);
        break;
    case DM_GEN_OP_LOAD:
        dm_gen_put(g, n->name);
        dm_gen_puts(g, "[");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, "]");
        break;
    case DM_GEN_OP_EXTENT:
        dm_gen_put(g, n->name);
        dm_gen_puts(g, ".shape[");
        put_digit(g, n->style);
        dm_gen_puts(g, "]");
        break;
    case DM_GEN_OP_COMPONENT:
        put(g, n->kids[0], 14);
        put_component(g, n);
        break;
    case DM_GEN_OP_MAKE:
        dm_gen_put(g, dm_gen_type_text(n->type));
        dm_gen_puts(g, "(");
        put_list(g, g->more + n->more, n->count);
        dm_gen_puts(g, ")");
        break;
    case DM_GEN_OP_CAST:
    case DM_GEN_OP_USER:
        dm_gen_put(g, n->op == DM_GEN_OP_CAST ? dm_gen_type_text(n->type) : n->name);
        dm_gen_puts(g, "(");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, ")");
        break;
    case DM_GEN_OP_TERNARY:
        put(g, n->kids[0], 1);
        dm_gen_puts(g, " if ");
        put(g, n->kids[1], 1);
        dm_gen_puts(g, " else ");
        put(g, n->kids[2], 0);
        break;
    case DM_GEN_OP_IDENTITY:
        dm_gen_puts(g, "wp.identity(n=");
        put_digit(g, dm_gen_rows(n->type));
        dm_gen_puts(g, ", dtype=");
        dm_gen_put(g, dm_gen_type_text(dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(n->type))));
        dm_gen_puts(g, ")");
        break;
    default:
        put_by_form(g, n);
    }
    if (brackets)
        dm_gen_puts(g, ")");
}

static void put_list(dm_gen *g, const int16_t *kids, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            dm_gen_append(g, ", ", 2);
        put(g, kids[i], 0);
    }
}

void dm_gen_write(dm_gen *g, int node)
{
    put(g, node, 0);
}
