/* SPDX-License-Identifier: MIT */
/* write.c - expressions as text, with the brackets that Python needs and no others. */
#include "synth/gen/gen.h"

#include <string.h>

#define T DM_GEN_TEXT
#define NUMBER_MAX 24 /* bytes of one */

enum { INFIX, PREFIX, CALL, OTHER };

#define OP(name, form, text, level, masks) DM_GEN_TEXT(text),
static const dm_gen_text texts[] = {
#include "synth/gen/ops.def"
};
#undef OP
#define OP(name, form, text, level, masks) form,
static const uint8_t forms[] = {
#include "synth/gen/ops.def"
};
#undef OP
#define OP(name, form, text, level, masks) level,
static const uint8_t levels[] = {
#include "synth/gen/ops.def"
};
#undef OP

void dm_gen_indent(dm_gen *g)
{
    static const char spaces[48] = "                                                ";
    int depth = g->frame->block_depth + 1;
    char *to = dm_gen_room(g, sizeof spaces);
    g->budget--;
    if (to == NULL)
        return;
    memcpy(to, spaces, sizeof spaces); /* what is too much is written over */
    dm_gen_wrote(g, to + (depth < 12 ? depth : 12) * 4);
}

static void put_digit(dm_gen *g, int digit)
{
    const char text = (char)('0' + digit);
    dm_gen_append(g, &text, 1);
}

static char *put_digits(char *to, unsigned value)
{
    char digits[12];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* Thousandths as a decimal fraction without trailing zeros: 1.0, 0.25, -3.125. The number of digits
 * is unpredictable, so all are written without branches, and the significant ones counted. */
static char *put_decimal(char *to, unsigned value)
{
    unsigned whole = value / 1000, tenths = value / 100 % 10, rest = value % 100;
    if (whole < 10)
        *to++ = (char)('0' + whole);
    else
        to = put_digits(to, whole);
    to[0] = '.';
    to[1] = (char)('0' + tenths);
    to[2] = (char)('0' + rest / 10);
    to[3] = (char)('0' + rest % 10);
    return to + 2 + (rest != 0) + (rest % 10 != 0);
}

static void put_number(dm_gen *g, const dm_gen_node *n)
{
    unsigned value = (unsigned)(n->number < 0 ? -n->number : n->number);
    int kind = dm_gen_kind(n->type);
    bool plain = kind == DM_GEN_F32 || kind == DM_GEN_I32 || kind == DM_GEN_BOOLEAN;
    if (!plain) {
        dm_gen_put(g, dm_gen_type_text(n->type));
        dm_gen_puts(g, "(");
    }
    char *to = dm_gen_room(g, NUMBER_MAX);
    if (to == NULL)
        return;
    *to = '-';
    to += n->number < 0;
    to = dm_gen_kind_is_float(kind) ? put_decimal(to, value) : put_digits(to, value);
    dm_gen_wrote(g, to);
    if (!plain)
        dm_gen_puts(g, ")");
}

static void put_list(dm_gen *g, const int16_t *kids, int count);

static void put_component(dm_gen *g, const dm_gen_node *n)
{
    static const dm_gen_text letters[] = {T(".x"), T(".y"), T(".z"), T(".w")};
    static const dm_gen_text places[] = {T("[0]"), T("[1]"), T("[2]"), T("[3]")};
    static const dm_gen_text cells[4][4] = {{T("[0, 0]"), T("[0, 1]"), T("[0, 2]"), T("[0, 3]")},
                                            {T("[1, 0]"), T("[1, 1]"), T("[1, 2]"), T("[1, 3]")},
                                            {T("[2, 0]"), T("[2, 1]"), T("[2, 2]"), T("[2, 3]")},
                                            {T("[3, 0]"), T("[3, 1]"), T("[3, 2]"), T("[3, 3]")}};
    dm_gen_type type = g->nodes[n->kids[0]].type;
    int rows = dm_gen_rows(type);
    if (dm_gen_is_mat(type))
        dm_gen_put(g, &cells[n->style / rows][n->style % rows]);
    else
        dm_gen_put(g, n->number != 0 ? &letters[n->style] : &places[n->style]);
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
