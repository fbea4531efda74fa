/* SPDX-License-Identifier: MIT */
/* print_stmt.c - operations as statements: variables and control; see print.h. What changes memory
 * is in print_effect.c. */
#include "lang/emit/print_line.h"

#include <stdarg.h>

/* ---- Lines ---- */

void dm_print_line(dm_printer *pr, const char *format, ...)
{
    va_list args;
    start_line(pr);
    va_start(args, format);
    dm_emit_list(pr->out, format, args);
    va_end(args);
    dm_buffer_putc(pr->out, '\n');
}

static void close_brace(dm_printer *pr)
{
    start_line(pr);
    dm_buffer_puts(pr->out, "}\n");
}

/* "/" "* 12: x = y * 2 *" "/" before the first statement of each source line */
static void source_line(dm_printer *pr, dm_pos pos)
{
    const dm_lang_source *source;
    int number, column;
    if (!pr->options.lines || pos == DM_POS_NONE || pr->f->is_backward)
        return;
    dm_lang_locate(pr->lang, pos, &source, &number, &column);
    if (source->library || (dm_pos)number == pr->last_line)
        return;
    pr->last_line = (dm_pos)number;
    const char *text = source->text + source->lines[number - 1];
    const char *end = memchr(text, '\n', source->size - source->lines[number - 1]);
    size_t length = end == NULL ? source->size - source->lines[number - 1] : (size_t)(end - text);
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    start_line(pr);
    dm_emit(pr->out, "/* %d: ", number);
    for (size_t i = 0; i < length && i < 120; i++) {
        bool closes = text[i] == '*' && i + 1 < length && text[i + 1] == '/';
        bool opens = text[i] == '/' && i + 1 < length && text[i + 1] == '*';
        unsigned char c = (unsigned char)text[i];
        dm_buffer_putc(pr->out, closes || opens || c < 0x20 || c >= 0x7f ? '?' : text[i]);
    }
    dm_buffer_puts(pr->out, " */\n");
}

/* ---- Variables ---- */

const char *dm_print_name(dm_printer *pr, dm_val v)
{
    const char *wanted = pr->f->values[v].name;
    pr->plan[v].name = dm_print_fresh(pr, wanted == NULL ? pr->temporary : wanted);
    return pr->plan[v].name;
}

/* Can the variable of `old` hold the next value from this operation on? */
static bool can_take_over(const dm_printer *pr, dm_val old, int at)
{
    const dm_plan *plan = &pr->plan[old];
    const dm_ir_op *def = pr->f->values[old].def;
    if (plan->name == NULL || plan->inlined || plan->last > at || plan->fixed ||
        plan->loop != pr->loop)
        return false;
    return def == NULL || def->kind != DM_IR_TID;
}

static void declare(dm_printer *pr, const dm_ir_op *op)
{
    const dm_type *type = pr->f->values[op->result].type;
    if (op->kind == DM_IR_ZERO) { /* as an expression it would need a helper */
        start_line(pr);
        put_variable(pr, dm_print_type(pr, type), op->result, false);
        dm_buffer_puts(pr->out, " = {0};\n");
    } else if (type->declared == pr->stamp) {
        start_line(pr);
        put_variable(pr, type->c_name, op->result, true);
        dm_buffer_puts(pr->out, " = ");
        dm_print_op(pr, pr->out, op, ANY_LEVEL);
        dm_buffer_puts(pr->out, ";\n");
    } else { /* types that the expression needs are declared first */
        dm_buffer *text = dm_text_open(pr->lang);
        dm_print_op(pr, text, op, ANY_LEVEL);
        start_line(pr);
        put_variable(pr, dm_print_type(pr, type), op->result, true);
        dm_buffer_puts(pr->out, " = ");
        end_with_text(pr, text, ";\n");
        dm_text_close(pr->lang, 1);
    }
}

/* v = insert old ...: in place when old is not needed any more */
static void print_change(dm_printer *pr, const dm_ir_op *op, int at)
{
    dm_val old = op->args[0];
    const dm_type *type = pr->f->values[old].type;
    dm_buffer *value = dm_text_open(pr->lang), *index = dm_text_open(pr->lang);
    dm_print_value(pr, value, op->args[op->arg_count - 1], ANY_LEVEL);
    if (op->kind == DM_IR_INSERT) {
        int64_t number;
        dm_buffer_puts(index, "c[");
        if (dm_ir_const_int(pr->f, op->args[1], &number)) {
            dm_put_number(index, number);
            dm_buffer_putc(index, ']');
        } else {
            dm_print_value(pr, index, op->args[1], 12);
            dm_buffer_putc(index, ']');
        }
    } else {
        dm_buffer_puts(index, type->fields[op->index].c_name);
    }
    if (can_take_over(pr, old, at)) {
        pr->plan[op->result].name = pr->plan[old].name;
    } else {
        dm_buffer *before = dm_text_open(pr->lang);
        dm_print_value(pr, before, old, ANY_LEVEL);
        const dm_ir_op *def = pr->f->values[old].def;
        const char *name = dm_print_name(pr, op->result);
        if (def != NULL && def->kind == DM_IR_ZERO && pr->plan[old].name == NULL)
            dm_print_line(pr, "%s %s = {0};", dm_print_type(pr, type), name);
        else
            dm_print_line(pr, "%s %s = %s;", dm_print_type(pr, type), name, dm_buffer_text(before));
        dm_text_close(pr->lang, 1);
    }
    start_line(pr);
    dm_put_name(pr->out, pr->plan[op->result].name);
    dm_buffer_putc(pr->out, '.');
    end_with_text(pr, index, " = ");
    end_with_text(pr, value, ";\n");
    dm_text_close(pr->lang, 1);
    dm_text_close(pr->lang, 1);
}

/* ---- Handing values over ---- */

/* Does the expression of `v` read the variable `name`? */
static bool reads(const dm_printer *pr, dm_val v, const char *name)
{
    const dm_plan *plan = &pr->plan[v];
    const dm_ir_op *def = pr->f->values[v].def;
    if (plan->name != NULL)
        return plan->name == name;
    if (def == NULL)
        return false;
    for (int i = 0; i < def->arg_count; i++)
        if (def->args[i] != DM_VAL_NONE && reads(pr, def->args[i], name))
            return true;
    for (int k = 0; k < 2; k++)
        if (def->blocks[k] != NULL && dm_ir_terminator(def->blocks[k]) != NULL &&
            dm_ir_terminator(def->blocks[k])->arg_count > 0 &&
            reads(pr, dm_ir_terminator(def->blocks[k])->args[0], name))
            return true;
    return false;
}

/* x = x + y is written x += y */
static bool is_update(const dm_printer *pr, const char *target, dm_val v, const dm_ir_op **op)
{
    const dm_ir_op *def = pr->f->values[v].def;
    if (pr->plan[v].name != NULL || def == NULL || def->kind != DM_IR_CALL || def->arg_count != 2 ||
        def->row->text == NULL || def->row->text[0] == '{' ||
        pr->plan[def->args[0]].name != target || !dm_type_is_scalar(def->bind->result) ||
        dm_scalar_bytes((dm_scalar)def->bind->result->scalar) < 4)
        return false;
    *op = def;
    return def->row->number >= DM_ROW_ADD && def->row->number <= DM_ROW_DIV;
}

static void assign(dm_printer *pr, const char *target, dm_val v)
{
    const dm_ir_op *op;
    if (pr->plan[v].name == target)
        return;
    start_line(pr);
    dm_put_name(pr->out, target);
    if (is_update(pr, target, v, &op)) {
        dm_buffer_putc(pr->out, ' ');
        dm_buffer_putc(pr->out, "+-*/"[op->row->number - DM_ROW_ADD]);
        dm_buffer_puts(pr->out, "= ");
        v = op->args[1];
    } else {
        dm_buffer_puts(pr->out, " = ");
    }
    end_with_value(pr, v, ";\n");
}

/* A parallel assignment: if a value reads another's target, all values are computed first. */
static void hand_over(dm_printer *pr, const dm_val *values, int count, const dm_ir_op *owner)
{
    bool conflict = false;
    for (int i = 0; i < count && i < owner->result_count; i++) {
        const char *target = pr->plan[owner->result + i].name;
        for (int k = i + 1; k < count && !conflict; k++)
            conflict = pr->plan[values[k]].name != pr->plan[owner->result + k].name &&
                       pr->plan[values[i]].name != target && reads(pr, values[k], target);
    }
    const char **temporaries = NULL;
    if (conflict) {
        temporaries = dm_lang_alloc_array(pr->lang, (size_t)count, sizeof *temporaries);
        for (int i = 0; i < count; i++) {
            dm_buffer *text = dm_text_open(pr->lang);
            if (pr->plan[values[i]].name == pr->plan[owner->result + i].name)
                continue;
            dm_print_value(pr, text, values[i], ANY_LEVEL);
            const char *wanted =
                dm_lang_format(pr->lang, "next_%s", pr->plan[owner->result + i].name);
            temporaries[i] = dm_print_fresh(pr, dm_lang_intern_text(pr->lang, wanted));
            dm_print_line(pr, "const %s %s = %s;", dm_print_type(pr, pr->f->values[values[i]].type),
                          temporaries[i], dm_buffer_text(text));
            dm_text_close(pr->lang, 1);
        }
    }
    for (int i = 0; i < count && i < owner->result_count; i++) {
        if (temporaries == NULL)
            assign(pr, pr->plan[owner->result + i].name, values[i]);
        else if (temporaries[i] != NULL)
            dm_print_line(pr, "%s = %s;", pr->plan[owner->result + i].name, temporaries[i]);
    }
}

/* ---- Control ---- */

/* Both branches give the same variable back, or one keeps what was there. */
static void name_if_results(dm_printer *pr, const dm_ir_op *op, int at)
{
    const dm_ir_op *ends[2] = {dm_ir_terminator(op->blocks[0]), dm_ir_terminator(op->blocks[1])};
    int end = at + op->inside;
    for (int i = 0; i < op->result_count; i++) {
        dm_val r = op->result + i, kept = DM_VAL_NONE;
        for (int k = 0; k < 2; k++) {
            if (ends[k] == NULL || ends[k]->kind != DM_IR_YIELD)
                continue;
            dm_val v = ends[k]->args[i];
            bool shared = false; /* another result may have taken it */
            for (int j = 0; j < i; j++)
                shared |= pr->plan[op->result + j].name == pr->plan[v].name;
            const char *wanted = pr->f->values[r].name, *have = pr->f->values[v].name;
            if (!shared && wanted == have && wanted != NULL && pr->plan[v].name != NULL &&
                can_take_over(pr, v, end))
                kept = v;
        }
        if (kept != DM_VAL_NONE) {
            pr->plan[r].name = pr->plan[kept].name;
            continue;
        }
        /* Every side that does not leave sets it, so it is never read uninitialised. */
        start_line(pr);
        put_variable(pr, dm_print_type(pr, pr->f->values[r].type), r, false);
        dm_buffer_puts(pr->out, ";\n");
    }
}

static bool is_empty(const dm_printer *pr, const dm_ir_block *block, const dm_ir_op *owner)
{
    if (block->count == 0)
        return true;
    const dm_ir_op *end = block->ops[0];
    if (block->count > 1 || end->kind != DM_IR_YIELD)
        return false;
    for (int i = 0; i < end->arg_count; i++)
        if (pr->plan[end->args[i]].name == NULL ||
            pr->plan[end->args[i]].name != pr->plan[owner->result + i].name)
            return false;
    return true;
}

static void print_if(dm_printer *pr, const dm_ir_op *op, const dm_ir_op *loop, int at)
{
    name_if_results(pr, op, at);
    bool no_then = is_empty(pr, op->blocks[0], op), no_else = is_empty(pr, op->blocks[1], op);
    bool negated = no_then && !no_else;
    start_line(pr);
    dm_buffer_puts(pr->out, negated ? "if (!" : "if (");
    dm_print_value(pr, pr->out, op->args[0], negated ? 14 : ANY_LEVEL);
    dm_buffer_puts(pr->out, ") {\n");
    if (negated) {
        pr->number += op->blocks[0]->count;
    } else {
        pr->depth++;
        dm_print_block(pr, op->blocks[0], op, loop);
        pr->depth--;
        if (!no_else) {
            start_line(pr);
            dm_buffer_puts(pr->out, "} else {\n");
        }
    }
    if (!no_else) {
        pr->depth++;
        dm_print_block(pr, op->blocks[1], op, loop);
        pr->depth--;
    } else {
        pr->number += op->blocks[1]->count;
    }
    close_brace(pr);
}

/* Carried values: the variable that holds the first value goes on, or a new one starts from it. */
static void start_carried(dm_printer *pr, const dm_ir_op *op, int fixed, int at)
{
    int skip = op->kind == DM_IR_FOR ? 1 : 0;
    for (int i = 0; i < op->result_count; i++) {
        dm_val first = op->args[fixed + i], result = op->result + i;
        dm_val param = op->blocks[0]->params[skip + i];
        bool shared = false;
        for (int k = 0; k < i; k++)
            shared |= op->args[fixed + k] == first;
        const char *wanted = pr->f->values[result].name, *have = pr->f->values[first].name;
        if (!shared && wanted == have && wanted != NULL && can_take_over(pr, first, at)) {
            pr->plan[result].name = pr->plan[first].name;
        } else {
            dm_buffer *text = dm_text_open(pr->lang);
            dm_print_value(pr, text, first, ANY_LEVEL);
            const dm_ir_op *def = pr->f->values[first].def;
            bool zero = def != NULL && def->kind == DM_IR_ZERO && pr->plan[first].name == NULL;
            start_line(pr);
            put_variable(pr, dm_print_type(pr, pr->f->values[result].type), result, false);
            dm_buffer_puts(pr->out, " = ");
            if (zero)
                dm_buffer_puts(pr->out, "{0};\n");
            else
                end_with_text(pr, text, ";\n");
            dm_text_close(pr->lang, 1);
        }
        pr->plan[param].name = pr->plan[result].name;
    }
}

/* ptxas 13.0 unrolls loops with very large steps wrongly: where a few steps overflow 32 bits the
 * loop makes too many passes. Loops whose step may be that large are not unrolled. */
#define UNROLLED_STEP_MAX (INT64_C(1) << 24)

static void print_for(dm_printer *pr, const dm_ir_op *op, int at)
{
    start_carried(pr, op, 3, at);
    dm_buffer *first = dm_text_open(pr->lang), *last = dm_text_open(pr->lang),
              *step = dm_text_open(pr->lang);
    dm_print_value(pr, first, op->args[0], ANY_LEVEL);
    dm_print_value(pr, last, op->args[1], 12);
    dm_print_value(pr, step, op->args[2], 12);
    const char *type = dm_print_type(pr, pr->f->values[op->args[0]].type);
    const char *i = dm_print_name(pr, op->blocks[0]->params[0]);
    int64_t by;
    bool known = dm_ir_const_int(pr->f, op->args[2], &by);
    if (pr->options.target == DM_TARGET_CUDA &&
        (!known || by > UNROLLED_STEP_MAX || by < -UNROLLED_STEP_MAX)) {
        start_line(pr);
        dm_buffer_puts(pr->out, "#pragma unroll 1\n");
    }
    start_line(pr);
    dm_buffer_puts(pr->out, "for (");
    dm_put_name(pr->out, type);
    dm_buffer_putc(pr->out, ' ');
    dm_put_name(pr->out, i);
    dm_buffer_puts(pr->out, " = ");
    end_with_text(pr, first, "; ");
    if (known) {
        dm_put_name(pr->out, i);
        dm_buffer_puts(pr->out, by > 0 ? " < " : " > ");
        end_with_text(pr, last, "; ");
    } else {
        dm_emit(pr->out, "%s > 0 ? %s < %s : %s > %s; ", dm_buffer_text(step), i,
                dm_buffer_text(last), i, dm_buffer_text(last));
    }
    if (known && (by == 1 || by == -1))
        dm_emit(pr->out, "%s%s) {\n", i, by == 1 ? "++" : "--");
    else
        dm_emit(pr->out, "%s += %s) {\n", i, dm_buffer_text(step));
    dm_text_close(pr->lang, 3);
    pr->depth++;
    dm_print_round(pr, op);
    dm_print_block(pr, op->blocks[0], op, op);
    pr->depth--;
    close_brace(pr);
}

static void print_while(dm_printer *pr, const dm_ir_op *op, int at)
{
    start_carried(pr, op, 0, at);
    const dm_ir_block *head = op->blocks[0];
    const dm_ir_op *cond = dm_ir_terminator(head);
    bool simple = true;
    for (int i = 0; i + 1 < head->count; i++)
        simple &= head->ops[i]->result_count == 1 && pr->plan[head->ops[i]->result].inlined;
    if (simple) {
        for (int i = 0; i < head->count; i++)
            pr->number += 1 + head->ops[i]->inside;
        start_line(pr);
        dm_buffer_puts(pr->out, "while (");
        end_with_value(pr, cond->args[0], ") {\n");
        pr->depth++;
    } else {
        dm_print_line(pr, "for (;;) {");
        pr->depth++;
        dm_print_block(pr, head, op, op);
        start_line(pr);
        dm_buffer_puts(pr->out, "if (!");
        dm_print_value(pr, pr->out, cond->args[0], 14);
        dm_buffer_puts(pr->out, ")\n");
        dm_print_line(pr, "    break;");
    }
    dm_print_round(pr, op);
    dm_print_block(pr, op->blocks[1], op, op);
    pr->depth--;
    close_brace(pr);
}

/* ---- Statements ---- */

static void print_return(dm_printer *pr, const dm_ir_op *op, bool last)
{
    if (op->arg_count == 0) {
        if (!last)
            dm_print_line(pr, "return;");
        return;
    }
    start_line(pr);
    dm_buffer_puts(pr->out, "return ");
    end_with_value(pr, op->args[0], ";\n");
}

static void print_statement(dm_printer *pr, const dm_ir_op *op, const dm_ir_op *owner,
                            const dm_ir_op *loop, int at)
{
    switch (op->kind) {
    case DM_IR_IF:
        print_if(pr, op, loop, at);
        break;
    case DM_IR_FOR:
        print_for(pr, op, at);
        break;
    case DM_IR_WHILE:
        print_while(pr, op, at);
        break;
    case DM_IR_YIELD:
        if (owner != NULL)
            hand_over(pr, op->args, op->arg_count, owner);
        break;
    case DM_IR_BREAK:
    case DM_IR_CONTINUE:
        hand_over(pr, op->args, op->arg_count, loop);
        dm_print_line(pr, op->kind == DM_IR_BREAK ? "break;" : "continue;");
        break;
    case DM_IR_RETURN:
        print_return(pr, op, owner == NULL && loop == NULL);
        break;
    case DM_IR_COND:
        break;
    case DM_IR_INSERT:
    case DM_IR_SETFIELD:
        print_change(pr, op, at);
        break;
    case DM_IR_INVOKE:
        if (op->result_count == 0 || pr->plan[op->result].uses == 0) {
            start_line(pr);
            dm_buffer_puts(pr->out, op->result_count > 0 ? "(void)" : "");
            dm_print_op(pr, pr->out, op, ANY_LEVEL);
            dm_buffer_puts(pr->out, ";\n");
        } else {
            declare(pr, op);
        }
        break;
    default:
        if (!dm_print_effect(pr, op))
            declare(pr, op);
        break;
    }
}

void dm_print_block(dm_printer *pr, const dm_ir_block *block, const dm_ir_op *owner,
                    const dm_ir_op *loop)
{
    const dm_ir_op *outer = pr->loop;
    pr->loop = loop;
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        int at = pr->number++;
        bool inlined = op->result_count == 1 && pr->plan[op->result].inlined;
        if (inlined) {
            pr->number += op->inside;
            continue;
        }
        source_line(pr, op->pos);
        print_statement(pr, op, owner, loop, at);
    }
    pr->loop = outer;
}
