/* SPDX-License-Identifier: MIT */
/* print_expr.c - SSA values as C expressions. A level is C's precedence: 16 a primary, 14 a unary
 * operator, 13 * / %, 12 + -, 11 shifts, 10 and 9 comparisons, 8 to 6 bits, 5 and 4 && ||, 3 ?:. */
#include "lang/emit/print.h"
#include "lang/sema/builtins.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIMARY 16
#define UNARY 14
#define TERNARY 3

/* ---- Numbers ---- */

/* The common constants, without a search: integers, and decimals of at most six digits. At most one
 * text that short reads back equal, so it is the shortest. */
static bool put_short(dm_buffer *out, double value, bool narrow)
{
    double size = fabs(value), scale = 1;
    if (signbit(value) && value == 0)
        return false;
    if (size < 1e10 && size == (double)(long long)size) {
        dm_put_number(out, (long long)value);
        dm_buffer_puts(out, narrow ? ".0f" : ".0");
        return true;
    }
    for (int places = 1; places <= 4 && size >= 1e-3; places++) {
        scale *= 10;
        long long digits = size * scale < 999999 ? (long long)(size * scale + 0.5) : 0;
        double back = (double)digits / scale;
        if (digits == 0 || (narrow ? (float)back != (float)size : back != size))
            continue;
        char text[16]; /* ".25f" from its end */
        size_t start = sizeof text;
        if (narrow)
            text[--start] = 'f';
        for (int i = 0; i < places; i++, digits /= 10)
            text[--start] = (char)('0' + digits % 10);
        text[--start] = '.';
        if (value < 0)
            dm_buffer_putc(out, '-');
        dm_put_number(out, digits);
        dm_buffer_append(out, text + start, sizeof text - start);
        return true;
    }
    return false;
}

/* The shortest text that reads back equal. */
static void put_shortest(dm_buffer *out, double value, bool narrow)
{
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (narrow ? (float)back == (float)value : back == value)
            break;
    }
    if (strchr(text, 'e') != NULL && fabs(value) >= 1 && fabs(value) < 1e10)
        snprintf(text, sizeof text, "%.0f", value); /* 100, not 1e+02 */
    dm_buffer_puts(out, text);
    if (strpbrk(text, ".e") == NULL)
        dm_buffer_puts(out, ".0");
    if (narrow)
        dm_buffer_putc(out, 'f');
}

static void make_real(dm_buffer *out, double value, bool narrow)
{
    if (isnan(value))
        dm_buffer_puts(out, narrow ? "(0.0f / 0.0f)" : "(0.0 / 0.0)");
    else if (isinf(value))
        dm_buffer_puts(out, narrow ? (value > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)")
                                   : (value > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)"));
    else if (!put_short(out, value, narrow))
        put_shortest(out, value, narrow);
}

/* A cache of the last numbers' texts: the same constants occur in most kernels and adjoints. */
#define NUMBERS 1024u
struct dm_number_text {
    uint64_t bits;
    uint8_t length; /* 0: none yet */
    bool narrow;
    char text[46];
};

static void print_real(dm_printer *pr, dm_buffer *out, double value, bool narrow)
{
    dm_kept *kept = pr->lang->kept;
    uint64_t bits;
    if (narrow)
        value = (float)value;
    memcpy(&bits, &value, sizeof bits);
    if (kept->numbers == NULL)
        kept->numbers = dm_lang_keep(pr->lang, NUMBERS * sizeof *kept->numbers);
    struct dm_number_text *number = &kept->numbers[bits * 0x9E3779B97F4A7C15u >> 54];
    _Static_assert(NUMBERS == 1u << (64 - 54), "the table's size is in the shift");
    if (number->length > 0 && number->bits == bits && number->narrow == narrow) {
        dm_buffer_append(out, number->text, number->length);
        return;
    }
    size_t start = out->size;
    make_real(out, value, narrow);
    size_t length = out->size - start;
    if (length < sizeof number->text) {
        *number =
            (struct dm_number_text){.bits = bits, .narrow = narrow, .length = (uint8_t)length};
        memcpy(number->text, out->data + start, length);
    }
}

void dm_print_number(dm_printer *pr, dm_buffer *out, const dm_type *type, const dm_ir_op *op)
{
    long long value = (long long)op->integer;
    switch (type->scalar) {
    case DM_F16:
        dm_emit(out, "%s(", dm_help_cast(pr, dm_type_scalar(pr->lang, DM_F32), type));
        print_real(pr, out, op->real, true);
        dm_buffer_putc(out, ')');
        break;
    case DM_F32:
    case DM_F64:
        print_real(pr, out, op->real, type->scalar == DM_F32);
        break;
    case DM_BOOL:
        dm_buffer_putc(out, value != 0 ? '1' : '0');
        break;
    case DM_U32:
        dm_emit(out, "%lluu", (unsigned long long)value);
        break;
    case DM_U64:
        dm_emit(out, "%lluull", (unsigned long long)value);
        break;
    case DM_I64:
        if (value == INT64_MIN)
            dm_buffer_puts(out, "(-9223372036854775807ll - 1)");
        else
            dm_emit(out, "%lldll", value);
        break;
    case DM_I32:
        if (value == INT32_MIN)
            dm_buffer_puts(out, "(-2147483647 - 1)");
        else
            dm_put_number(out, value);
        break;
    default:
        dm_emit(out, "(%s)%lld", type->c_name, value);
        break;
    }
}

static int number_level(const dm_type *type, const dm_ir_op *op)
{
    if (dm_type_is_float(type))
        return type->scalar == DM_F16 || !(signbit(op->real) && isfinite(op->real)) ? PRIMARY
                                                                                    : UNARY;
    bool small = type->scalar != DM_BOOL && dm_scalar_bytes((dm_scalar)type->scalar) < 4;
    return small || (op->integer < 0 && dm_scalar_is_signed((dm_scalar)type->scalar)) ? UNARY
                                                                                      : PRIMARY;
}

/* ---- Rows ---- */

static bool is_narrow(const dm_bind *bind)
{
    const dm_type *type =
        dm_bind_type(bind, 'F') != NULL ? dm_bind_type(bind, 'F') : dm_bind_type(bind, 'S');
    return type != NULL && type->scalar == DM_F32;
}

static void print_row_text(dm_printer *pr, dm_buffer *out, const dm_ir_op *op)
{
    const dm_builtin *row = op->row;
    for (const dm_piece *piece = row->pieces; piece < row->pieces + row->piece_count; piece++) {
        switch (piece->kind) {
        case DM_PIECE_TEXT:
            dm_put_piece(out, piece);
            break;
        case DM_PIECE_PARAM:
            dm_print_value(pr, out, op->args[piece->index], piece->level);
            break;
        case DM_PIECE_SUFFIX:
            if (is_narrow(op->bind))
                dm_buffer_putc(out, 'f');
            break;
        default: {
            const dm_type *type = dm_bind_type(op->bind, (char)piece->index);
            if (type != NULL)
                dm_put_name(out, dm_print_type(pr, type));
            else
                dm_emit(out, "%d", dm_bind_number(op->bind, (char)piece->index));
            break;
        }
        }
    }
}

static void print_call(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int level)
{
    const dm_builtin *row = op->row;
    pr->uses_math = true;
    if (pr->options.bounds && dm_print_checked_call(pr, out, op))
        return;
    if (row->text[0] == '{') {
        dm_put_name(out, dm_help_row(pr, op->bind));
        dm_buffer_putc(out, '(');
        for (int i = 0; i < op->arg_count; i++) {
            if (i > 0)
                dm_buffer_puts(out, ", ");
            dm_print_value(pr, out, op->args[i], TERNARY);
        }
        dm_buffer_putc(out, ')');
        return;
    }
    /* C promotes smaller integers to int: cast the result back. */
    const dm_type *type = op->bind->result;
    bool small = dm_type_is_int(type) && dm_scalar_bytes((dm_scalar)type->scalar) < 4 &&
                 row->precedence < PRIMARY && row->precedence != TERNARY;
    int own = small ? UNARY : row->precedence;
    bool bracket = own < level;
    if (bracket)
        dm_buffer_putc(out, '(');
    if (small)
        dm_emit(out, "(%s)(", type->c_name);
    print_row_text(pr, out, op);
    if (small)
        dm_buffer_putc(out, ')');
    if (bracket)
        dm_buffer_putc(out, ')');
}

/* ---- Other operations ---- */

static void print_args(dm_printer *pr, dm_buffer *out, const dm_val *args, int count)
{
    dm_buffer_putc(out, '(');
    for (int i = 0; i < count; i++) {
        if (i > 0)
            dm_buffer_puts(out, ", ");
        dm_print_value(pr, out, args[i], TERNARY);
    }
    dm_buffer_putc(out, ')');
}

/* The same for a helper that checks indices. */
static void print_checked_args(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int count)
{
    print_args(pr, out, op->args, count);
    if (pr->options.bounds) {
        out->size--; /* the bracket */
        dm_print_site(pr, out, op);
        dm_buffer_putc(out, ')');
    }
}

static void print_cast(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int level)
{
    const dm_type *to = pr->f->values[op->result].type, *from = pr->f->values[op->args[0]].type;
    bool plain = dm_type_is_scalar(to) && to->scalar != DM_F16 && from->scalar != DM_F16;
    if (!plain) {
        dm_put_name(out, dm_help_cast(pr, from, to));
        print_args(pr, out, op->args, 1);
        return;
    }
    if (to->scalar == DM_BOOL) {
        bool bracket = level > 9;
        dm_buffer_puts(out, bracket ? "(" : "");
        dm_print_value(pr, out, op->args[0], 12);
        dm_buffer_puts(out, bracket ? " != 0)" : " != 0");
        return;
    }
    if (level > UNARY)
        dm_buffer_putc(out, '(');
    dm_buffer_putc(out, '(');
    dm_put_name(out, to->c_name);
    dm_buffer_putc(out, ')');
    dm_print_value(pr, out, op->args[0], UNARY);
    if (level > UNARY)
        dm_buffer_putc(out, ')');
}

static void print_extract(dm_printer *pr, dm_buffer *out, const dm_ir_op *op)
{
    const dm_type *type = pr->f->values[op->args[0]].type;
    int64_t index;
    if (dm_ir_const_int(pr->f, op->args[1], &index)) {
        dm_print_value(pr, out, op->args[0], PRIMARY);
        dm_buffer_puts(out, ".c[");
        dm_put_number(out, index);
        dm_buffer_putc(out, ']');
    } else if (pr->options.bounds) {
        dm_print_value(pr, out, op->args[0], PRIMARY);
        dm_buffer_puts(out, ".c[");
        dm_print_component(pr, out, op, op->args[1], dm_type_components(type));
        dm_buffer_putc(out, ']');
    } else {
        dm_put_name(out, dm_help_extract(pr, type));
        print_args(pr, out, op->args, 2);
    }
}

void dm_print_element(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, const dm_type *array,
                      bool gradient)
{
    dm_buffer_puts(out, op->path == NULL || op->path->count == 0 ? "*" : "");
    dm_print_place(pr, out, op, array, gradient);
}

void dm_print_place(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, const dm_type *array,
                    bool gradient)
{
    int used = 1 + array->ndim;
    dm_put_name(out, dm_help_at(pr, array, gradient));
    print_checked_args(pr, out, op, used);
    const dm_type *type = array->element;
    for (int i = 0; op->path != NULL && i < op->path->count; i++) {
        dm_buffer_puts(out, i == 0 ? "->" : ".");
        if (op->path->field[i] >= 0) {
            const dm_field *field = &type->fields[op->path->field[i]];
            dm_buffer_puts(out, field->c_name);
            type = field->type;
        } else {
            dm_buffer_puts(out, "c[");
            if (pr->options.bounds)
                dm_print_component(pr, out, op, op->args[used++], dm_type_components(type));
            else
                dm_print_value(pr, out, op->args[used++], TERNARY);
            dm_buffer_putc(out, ']');
            type = dm_type_scalar(pr->lang, (dm_scalar)type->scalar);
        }
    }
}

/* c ? a : b, or && and || where one side is settled */
static void print_choice(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int level)
{
    dm_val a = dm_ir_terminator(op->blocks[0])->args[0];
    dm_val b = dm_ir_terminator(op->blocks[1])->args[0];
    bool is_bool = pr->f->values[op->result].type->scalar == DM_BOOL &&
                   dm_type_is_scalar(pr->f->values[op->result].type);
    int64_t settled;
    const char *joint = NULL;
    dm_val other = a;
    if (is_bool && dm_ir_const_int(pr->f, b, &settled) && settled == 0) {
        joint = " && ";
    } else if (is_bool && dm_ir_const_int(pr->f, a, &settled) && settled != 0) {
        joint = " || ";
        other = b;
    }
    int own = joint == NULL ? TERNARY : joint[1] == '&' ? 5 : 4;
    if (own < level)
        dm_buffer_putc(out, '(');
    dm_print_value(pr, out, op->args[0], 9);
    if (joint != NULL) {
        dm_buffer_puts(out, joint);
        dm_print_value(pr, out, other, 9);
    } else {
        dm_buffer_puts(out, " ? ");
        dm_print_value(pr, out, a, 12);
        dm_buffer_puts(out, " : ");
        dm_print_value(pr, out, b, 12);
    }
    if (own < level)
        dm_buffer_putc(out, ')');
}

static void print_unary_place(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, bool gradient,
                              int level)
{
    bool bracket = level > UNARY && (op->path == NULL || op->path->count == 0);
    if (bracket)
        dm_buffer_putc(out, '(');
    dm_print_element(pr, out, op, pr->f->values[op->args[0]].type, gradient);
    if (bracket)
        dm_buffer_putc(out, ')');
}

void dm_print_op(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int level)
{
    const dm_type *type = op->result == DM_VAL_NONE ? NULL : pr->f->values[op->result].type;
    switch (op->kind) {
    case DM_IR_CONST: {
        assert(type != NULL);
        bool bracket = number_level(type, op) < level;
        if (bracket)
            dm_buffer_putc(out, '(');
        dm_print_number(pr, out, type, op);
        if (bracket)
            dm_buffer_putc(out, ')');
        break;
    }
    case DM_IR_ZERO:
        dm_put_name(out, dm_help_zero(pr, type));
        dm_buffer_puts(out, "()");
        break;
    case DM_IR_CALL:
        print_call(pr, out, op, level);
        break;
    case DM_IR_INVOKE:
        dm_put_name(out, op->callee->c_name);
        print_args(pr, out, op->args, op->arg_count);
        break;
    case DM_IR_CAST:
        print_cast(pr, out, op, level);
        break;
    case DM_IR_MAKE:
        dm_put_name(out, dm_help_make(pr, type));
        print_args(pr, out, op->args, op->arg_count);
        break;
    case DM_IR_EXTRACT:
        print_extract(pr, out, op);
        break;
    case DM_IR_FIELD:
        dm_print_value(pr, out, op->args[0], PRIMARY);
        dm_buffer_putc(out, '.');
        dm_buffer_puts(out, pr->f->values[op->args[0]].type->fields[op->index].c_name);
        break;
    case DM_IR_TID:
        dm_buffer_puts(out, "tid");
        dm_put_number(out, op->index);
        break;
    case DM_IR_SHAPE:
        dm_print_value(pr, out, op->args[0], PRIMARY);
        dm_buffer_puts(out, ".shape[");
        dm_print_value(pr, out, op->args[1], TERNARY);
        dm_buffer_putc(out, ']');
        break;
    case DM_IR_VIEW:
        dm_put_name(out, dm_help_view(pr, pr->f->values[op->args[0]].type, op->arg_count - 1));
        print_checked_args(pr, out, op, op->arg_count);
        break;
    case DM_IR_SLICE:
        dm_put_name(out, dm_help_slice(pr, pr->f->values[op->args[0]].type, op->index));
        print_checked_args(pr, out, op, op->arg_count);
        break;
    case DM_IR_ADJOINT:
        dm_put_name(out, dm_help_adjoint(pr, type));
        print_args(pr, out, op->args, 1);
        break;
    case DM_IR_IS_NULL:
        dm_buffer_puts(out, level > 9 ? "(" : "");
        dm_print_value(pr, out, op->args[0], PRIMARY);
        dm_buffer_puts(out, level > 9 ? ".data == 0)" : ".data == 0");
        break;
    case DM_IR_LOAD:
        print_unary_place(pr, out, op, false, level);
        break;
    case DM_IR_GRAD:
        print_unary_place(pr, out, op, true, level);
        break;
    case DM_IR_GET:
        dm_put_name(out, pr->plan[op->args[0]].name);
        break;
    case DM_IR_RECALL:
        dm_put_name(out, pr->plan[op->args[0]].name);
        dm_buffer_putc(out, '[');
        dm_print_value(pr, out, op->args[1], TERNARY);
        dm_buffer_putc(out, ']');
        break;
    case DM_IR_IF:
        print_choice(pr, out, op, level);
        break;
    default:
        dm_emit(out, "/* %s */", dm_ir_infos[op->kind].text);
        break;
    }
}

void dm_print_value(dm_printer *pr, dm_buffer *out, dm_val v, int level)
{
    const dm_plan *plan = &pr->plan[v];
    const dm_ir_op *def = pr->f->values[v].def;
    if (plan->name != NULL)
        dm_put_name(out, plan->name);
    else if (def != NULL)
        dm_print_op(pr, out, def, level);
    else
        dm_emit(out, "v%d", v); /* a parameter always has a name */
}
