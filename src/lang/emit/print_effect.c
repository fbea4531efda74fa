/* SPDX-License-Identifier: MIT */
/* print_effect.c - statements for operations that write memory or print, and for those that occur only
 * in backward functions; see print.h. */
#include "lang/emit/print_line.h"

#include <string.h>

/* Does C have the arithmetic of this type? */
static bool is_plain(const dm_type *type)
{
    return dm_type_is_scalar(type) && type->scalar != DM_F16;
}

/* ---- Operations with effects ---- */

static void print_store(dm_printer *pr, const dm_ir_op *op)
{
    start_line(pr);
    dm_print_element(pr, pr->out, op, pr->f->values[op->args[0]].type, false);
    dm_buffer_puts(pr->out, " = ");
    end_with_value(pr, op->args[op->arg_count - 1], ";\n");
}

/* &element, for atomics */
static void print_address(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, bool gradient)
{
    bool whole = op->path == NULL || op->path->count == 0; /* then it is written as *address */
    dm_buffer_puts(out, whole ? "" : "&");
    dm_print_place(pr, out, op, pr->f->values[op->args[0]].type, gradient);
}

static const dm_type *element_type(const dm_printer *pr, const dm_ir_op *op)
{
    return op->path != NULL && op->path->count > 0 ? op->path->type
                                                   : pr->f->values[op->args[0]].type->element;
}

static void print_atomic(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = element_type(pr, op);
    bool cas = strcmp(op->text, "cas") == 0;
    dm_buffer *text = dm_text_open(pr->lang);
    dm_put_name(text, dm_help_atomic(pr, op->text, type));
    dm_buffer_putc(text, '(');
    print_address(pr, text, op, false);
    for (int i = op->arg_count - (cas ? 2 : 1); i < op->arg_count; i++) {
        dm_buffer_puts(text, ", ");
        dm_print_value(pr, text, op->args[i], ANY_LEVEL);
    }
    dm_buffer_putc(text, ')');
    if (op->result_count > 0 && pr->plan[op->result].uses > 0) {
        start_line(pr);
        put_variable(pr, dm_print_type(pr, type), op->result, true);
        dm_buffer_puts(pr->out, " = ");
    } else {
        start_line(pr);
    }
    end_with_text(pr, text, ";\n");
    dm_text_close(pr->lang, 1);
}

static void print_text_literal(dm_buffer *out, const char *text)
{
    dm_buffer_putc(out, '"');
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            dm_emit(out, "\\%c", c);
        else if (c == '\n')
            dm_buffer_puts(out, "\\n");
        else if (c < 0x20 || c >= 0x7f || c == '?')
            dm_emit(out, "\\%03o", c);
        else
            dm_buffer_putc(out, (char)c);
    }
    dm_buffer_putc(out, '"');
}

static void print_print(dm_printer *pr, const dm_ir_op *op)
{
    pr->uses_stdio = true;
    start_line(pr);
    dm_buffer_puts(pr->out, "printf(");
    print_text_literal(pr->out, op->text);
    for (int i = 0; i < op->arg_count; i++) {
        dm_buffer_puts(pr->out, ", ");
        dm_print_value(pr, pr->out, op->args[i], ANY_LEVEL);
    }
    dm_buffer_puts(pr->out, ");\n");
}

static void print_check(dm_printer *pr, const dm_ir_op *op)
{
    dm_buffer *text = dm_text_open(pr->lang);
    const dm_lang_source *source;
    int number, column;
    dm_lang_locate(pr->lang, op->pos, &source, &number, &column);
    pr->uses_stdio = true;
    dm_print_value(pr, text, op->args[0], 14);
    dm_print_line(pr, "if (!%s)", dm_buffer_text(text));
    dm_buffer_clear(text);
    dm_buffer *message = dm_text_open(pr->lang);
    for (const char *p = op->text; *p != '\0'; p++)
        dm_emit(message, *p == '%' ? "%%%%" : "%c", *p);
    print_text_literal(text,
                       dm_lang_format(pr->lang, "line %d: %s\n", number, dm_buffer_text(message)));
    dm_print_line(pr, "    printf(%s);", dm_buffer_text(text));
    dm_text_close(pr->lang, 1);
    dm_text_close(pr->lang, 1);
}

/* ---- Operations of the backward pass ---- */

static void print_slot(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = pr->f->values[op->result].type;
    start_line(pr);
    put_variable(pr, dm_print_type(pr, type), op->result, false);
    pr->plan[op->result].fixed = true;
    if (op->arg_count > 0) {
        dm_buffer_puts(pr->out, " = ");
        end_with_value(pr, op->args[0], ";\n");
    } else if (is_plain(type)) {
        dm_buffer_puts(pr->out, type->scalar == DM_F32   ? " = 0.0f;\n"
                                : type->scalar == DM_F64 ? " = 0.0;\n"
                                                         : " = 0;\n");
    } else {
        dm_buffer_puts(pr->out, " = {0};\n");
    }
}

static void print_add(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = pr->f->values[op->args[0]].type;
    dm_buffer *target = dm_text_open(pr->lang), *value = dm_text_open(pr->lang);
    dm_put_name(target, pr->plan[op->args[0]].name);
    if (op->path != NULL) {
        if (op->path->field[0] >= 0) {
            dm_buffer_putc(target, '.');
            dm_buffer_puts(target, type->fields[op->path->field[0]].c_name);
        } else {
            int64_t number;
            dm_buffer_puts(target, ".c[");
            if (dm_ir_const_int(pr->f, op->args[1], &number)) {
                dm_put_number(target, number);
                dm_buffer_putc(target, ']');
            } else if (pr->options.bounds) {
                dm_print_component(pr, target, op, op->args[1], dm_type_components(type));
                dm_buffer_putc(target, ']');
            } else {
                dm_print_value(pr, target, op->args[1], ANY_LEVEL);
                dm_buffer_putc(target, ']');
            }
        }
        type = op->path->type;
    }
    dm_print_value(pr, value, op->args[op->arg_count - 1], ANY_LEVEL);
    if (is_plain(type)) {
        const char *text = dm_buffer_text(value);
        bool minus = text[0] == '-' && strpbrk(text + 1, "+ ?") == NULL;
        start_line(pr);
        end_with_text(pr, target, minus ? " -= " : " += ");
        dm_buffer_append(pr->out, minus ? text + 1 : text, value->size - minus);
        dm_buffer_puts(pr->out, ";\n");
    } else {
        start_line(pr);
        dm_put_name(pr->out, dm_help_accumulate(pr, type));
        dm_buffer_puts(pr->out, "(&");
        end_with_text(pr, target, ", ");
        end_with_text(pr, value, ");\n");
    }
    dm_text_close(pr->lang, 1);
    dm_text_close(pr->lang, 1);
}

static void print_if_grad(dm_printer *pr, const dm_ir_op *op)
{
    start_line(pr);
    dm_buffer_puts(pr->out, "if (");
    dm_print_value(pr, pr->out, op->args[0], 16);
    dm_buffer_puts(pr->out, ".grad)\n");
}

static void print_add_grad(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = element_type(pr, op);
    print_if_grad(pr, op);
    pr->depth++;
    start_line(pr);
    pr->depth--;
    dm_put_name(pr->out, dm_help_atomic(pr, "add", type));
    dm_buffer_putc(pr->out, '(');
    print_address(pr, pr->out, op, true);
    dm_buffer_puts(pr->out, ", ");
    end_with_value(pr, op->args[op->arg_count - 1], ");\n");
}

static void put_zero(dm_printer *pr, const dm_type *type)
{
    if (is_plain(type)) {
        dm_buffer_puts(pr->out, type->scalar == DM_F32 ? "0.0f" : "0.0");
    } else {
        dm_put_name(pr->out, dm_help_zero(pr, type));
        dm_buffer_puts(pr->out, "()");
    }
}

static void print_zero_grad(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = element_type(pr, op);
    if (!is_plain(type))
        dm_help_zero(pr, type); /* before the element's */
    print_if_grad(pr, op);
    pr->depth++;
    start_line(pr);
    pr->depth--;
    dm_print_element(pr, pr->out, op, pr->f->values[op->args[0]].type, true);
    dm_buffer_puts(pr->out, " = ");
    put_zero(pr, type);
    dm_buffer_puts(pr->out, ";\n");
}

/* grad = the element's gradient, or zero where none is kept */
static void print_grad(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = element_type(pr, op);
    dm_buffer *array = dm_text_open(pr->lang), *element = dm_text_open(pr->lang);
    dm_print_value(pr, array, op->args[0], 16);
    dm_print_element(pr, element, op, pr->f->values[op->args[0]].type, true);
    start_line(pr);
    put_variable(pr, dm_print_type(pr, type), op->result, true);
    dm_buffer_puts(pr->out, " = ");
    end_with_text(pr, array, ".grad ? ");
    end_with_text(pr, element, " : ");
    put_zero(pr, type);
    dm_buffer_puts(pr->out, ";\n");
    dm_text_close(pr->lang, 1);
    dm_text_close(pr->lang, 1);
}

static void print_reverse(dm_printer *pr, const dm_ir_op *op)
{
    start_line(pr);
    dm_put_name(pr->out, op->callee->c_name);
    dm_buffer_putc(pr->out, '(');
    for (int i = 0; i < op->arg_count; i++) {
        if (i > 0)
            dm_buffer_puts(pr->out, ", ");
        if (pr->plan[op->args[i]].fixed) {
            dm_buffer_putc(pr->out, '&');
            dm_put_name(pr->out, pr->plan[op->args[i]].name);
        } else {
            dm_print_value(pr, pr->out, op->args[i], ANY_LEVEL);
        }
    }
    dm_buffer_puts(pr->out, ");\n");
}

/* ---- All of them ---- */

bool dm_print_effect(dm_printer *pr, const dm_ir_op *op)
{
    switch (op->kind) {
    case DM_IR_STORE:
        print_store(pr, op);
        break;
    case DM_IR_ATOMIC:
        print_atomic(pr, op);
        break;
    case DM_IR_PRINT:
        print_print(pr, op);
        break;
    case DM_IR_CHECK:
        print_check(pr, op);
        break;
    case DM_IR_SLOT:
        print_slot(pr, op);
        break;
    case DM_IR_SET:
        start_line(pr);
        dm_put_name(pr->out, pr->plan[op->args[0]].name);
        dm_buffer_puts(pr->out, " = ");
        end_with_value(pr, op->args[1], ";\n");
        break;
    case DM_IR_ADD:
        print_add(pr, op);
        break;
    case DM_IR_GRAD:
        print_grad(pr, op);
        break;
    case DM_IR_ZERO_GRAD:
        print_zero_grad(pr, op);
        break;
    case DM_IR_ADD_GRAD:
        print_add_grad(pr, op);
        break;
    case DM_IR_REVERSE:
        print_reverse(pr, op);
        break;
    case DM_IR_TAPE: {
        const char *type = dm_print_type(pr, pr->f->values[op->result].type);
        const char *name = dm_print_name(pr, op->result);
        dm_print_line(pr, "%s %s[%d];", type, name, op->index);
        break;
    }
    case DM_IR_RECORD:
        start_line(pr);
        dm_emit(pr->out, "%s[", pr->plan[op->args[0]].name);
        end_with_value(pr, op->args[1], "] = ");
        end_with_value(pr, op->args[2], ";\n");
        break;
    default:
        return false;
    }
    return true;
}
