/* SPDX-License-Identifier: MIT */
/* numpy.c - a kernel as plain Python with NumPy: functions, blocks, control flow; see numpy.h. */
#include "synth/lesson/numpy_internal.h"

#include "lang/sema/builtins.h"
#include "synth/lesson/roles.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Names ---- */

static bool is_taken(const dm_numpy_writer *w, const char *name)
{
    static const char *const reserved[] = {"np",   "math", "f32",  "launch", "thread", "min", "max",
                                           "abs",  "int",  "bool", "range",  "lambda", "del", "is",
                                           "None", "try",  "with", "as",     NULL};
    for (int i = 0; reserved[i] != NULL; i++)
        if (strcmp(reserved[i], name) == 0)
            return true;
    for (int i = 0; dm_numpy_helpers[i].name != NULL; i++)
        if (strcmp(dm_numpy_helpers[i].name, name) == 0)
            return true;
    for (int i = 0; i < w->function_count; i++)
        if (strcmp(w->function_names[i], name) == 0)
            return true;
    for (int i = 0; i < w->f->value_count; i++)
        if (w->plan[i].name != NULL && strcmp(w->plan[i].name, name) == 0)
            return true;
    return false;
}

/* A variable for a value: its name in the source, with a number where that is taken. */
static void declare(dm_numpy_writer *w, dm_val v)
{
    const char *wanted = w->f->values[v].name;
    char name[160];
    snprintf(name, sizeof name, "%.100s", wanted == NULL ? "t" : wanted);
    for (int i = wanted == NULL ? 1 : 2; wanted == NULL || is_taken(w, name); i++) {
        snprintf(name, sizeof name, "%.100s%s%d", wanted == NULL ? "t" : wanted,
                 wanted == NULL ? "" : "_", i);
        if (!is_taken(w, name))
            break;
    }
    w->plan[v].name = dm_lang_format(w->lang, "%s", name);
}

const char *dm_numpy_function(const dm_numpy_writer *w, const dm_ir_function *f)
{
    for (int i = 0; i < w->function_count; i++)
        if (w->functions[i] == f)
            return w->function_names[i];
    return "unknown";
}

/* ---- What stands where it is used ---- */

static void count_uses(dm_numpy_writer *w, const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        for (int k = 0; k < op->arg_count; k++)
            if (op->args[k] != DM_VAL_NONE)
                w->plan[op->args[k]].uses++;
        count_uses(w, op->blocks[0]);
        count_uses(w, op->blocks[1]);
    }
}

static void choose_inlined(dm_numpy_writer *w, const dm_ir_block *block);

/* An IF that only chooses between two expressions. */
static bool is_choice(const dm_numpy_writer *w, const dm_ir_op *op)
{
    for (int k = 0; k < 2; k++) {
        const dm_ir_block *block = op->blocks[k];
        if (block->count == 0 || block->ops[block->count - 1]->kind != DM_IR_YIELD ||
            block->ops[block->count - 1]->arg_count != 1)
            return false;
        for (int i = 0; i + 1 < block->count; i++)
            if (block->ops[i]->result_count != 1 || !w->plan[block->ops[i]->result].inlined)
                return false;
    }
    return op->kind == DM_IR_IF && op->result_count == 1;
}

static bool can_stand_in_place(const dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_ir_value *v = &w->f->values[op->result];
    if (op->result_count != 1 || w->plan[op->result].uses != 1 || v->name != NULL)
        return false;
    switch (op->kind) {
    case DM_IR_CALL:
        return !op->may_read;
    case DM_IR_CAST:
    case DM_IR_MAKE:
    case DM_IR_EXTRACT:
    case DM_IR_INSERT:
    case DM_IR_FIELD:
    case DM_IR_SETFIELD:
    case DM_IR_TID:
    case DM_IR_SHAPE:
    case DM_IR_ZERO:
    case DM_IR_VIEW:
        return true;
    case DM_IR_LOAD:
        return dm_numpy_is_constant(w, op->args[0]);
    case DM_IR_IF:
        return is_choice(w, op);
    default:
        return false;
    }
}

static void choose_inlined(dm_numpy_writer *w, const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        choose_inlined(w, op->blocks[0]);
        choose_inlined(w, op->blocks[1]);
        if (op->result_count == 1)
            w->plan[op->result].inlined = can_stand_in_place(w, op);
    }
}

/* ---- Lines ---- */

static void start_line(dm_numpy_writer *w)
{
    for (int i = 0; i < w->depth; i++)
        dm_buffer_puts(w->out, "    ");
}

static void put_block(dm_numpy_writer *w, const dm_ir_block *block, const dm_ir_op *owner,
                      const dm_ir_op *loop, bool last);

/* `targets` get `values`, all at once. */
static void hand_over(dm_numpy_writer *w, const dm_val *values, int count, const dm_ir_op *owner)
{
    assert(owner != NULL); /* a kernel's own block gives nothing */
    int used = 0;
    size_t line = w->out->size;
    start_line(w);
    for (int pass = 0; pass < 2; pass++) {
        int number = 0;
        for (int i = 0; i < count && i < owner->result_count; i++) {
            const char *target = w->plan[owner->result + i].name, *own = w->plan[values[i]].name;
            if (own != NULL && strcmp(own, target) == 0)
                continue;
            dm_buffer_puts(w->out, number++ > 0 ? ", " : "");
            if (pass == 0)
                dm_buffer_puts(w->out, target);
            else
                dm_numpy_value(w, values[i], DM_PY_CHOICE);
        }
        used = number;
        if (pass == 0)
            dm_buffer_puts(w->out, " = ");
    }
    if (used == 0)
        w->out->size = line;
    else
        dm_buffer_putc(w->out, '\n');
}

/* A block as a suite of its own; `pass` when it is empty. */
static void put_suite(dm_numpy_writer *w, const dm_ir_block *block, const dm_ir_op *owner,
                      const dm_ir_op *loop)
{
    size_t before = w->out->size;
    w->depth++;
    put_block(w, block, owner, loop, false);
    if (w->out->size == before) {
        start_line(w);
        dm_buffer_puts(w->out, "pass\n");
    }
    w->depth--;
}

static void put_if(dm_numpy_writer *w, const dm_ir_op *op, const dm_ir_op *loop)
{
    for (int i = 0; i < op->result_count; i++)
        declare(w, op->result + i);
    size_t before = w->out->size;
    w->depth++;
    put_block(w, op->blocks[0], op, loop, false);
    bool no_then = w->out->size == before;
    w->out->size = before;
    put_block(w, op->blocks[1], op, loop, false);
    bool no_else = w->out->size == before;
    w->out->size = before;
    w->depth--;
    if (no_then && no_else)
        return;
    start_line(w);
    dm_buffer_puts(w->out, no_then ? "if not " : "if ");
    dm_numpy_value(w, op->args[0], no_then ? DM_PY_NOT : DM_PY_ANY);
    dm_buffer_puts(w->out, ":\n");
    put_suite(w, op->blocks[no_then ? 1 : 0], op, loop);
    if (no_then || no_else)
        return;
    start_line(w);
    dm_buffer_puts(w->out, "else:\n");
    put_suite(w, op->blocks[1], op, loop);
}

/* Variables for what a loop carries: its parameters and its results are the same ones. */
static void start_carried(dm_numpy_writer *w, const dm_ir_op *op)
{
    int fixed = op->kind == DM_IR_FOR ? 3 : 0, skip = op->kind == DM_IR_FOR ? 1 : 0;
    for (int i = 0; i < op->result_count; i++) {
        dm_val result = op->result + i, first = op->args[fixed + i];
        declare(w, result);
        w->plan[op->blocks[0]->params[skip + i]].name = w->plan[result].name;
        start_line(w);
        dm_buffer_printf(w->out, "%s = ", w->plan[result].name);
        bool number =
            dm_ir_const(w->f, first) != NULL && dm_type_is_float(w->f->values[first].type);
        dm_buffer_puts(w->out, number ? "f32(" : "");
        dm_numpy_value(w, first, DM_PY_ANY);
        dm_buffer_puts(w->out, number ? ")\n" : "\n");
    }
}

static void put_for(dm_numpy_writer *w, const dm_ir_op *op)
{
    int64_t first, step;
    start_carried(w, op);
    declare(w, op->blocks[0]->params[0]);
    start_line(w);
    dm_buffer_printf(w->out, "for %s in range(", w->plan[op->blocks[0]->params[0]].name);
    bool by_one = dm_ir_const_int(w->f, op->args[2], &step) && step == 1;
    if (!(by_one && dm_ir_const_int(w->f, op->args[0], &first) && first == 0)) {
        dm_numpy_value(w, op->args[0], DM_PY_ANY);
        dm_buffer_puts(w->out, ", ");
    }
    dm_numpy_value(w, op->args[1], DM_PY_ANY);
    if (!by_one) {
        dm_buffer_puts(w->out, ", ");
        dm_numpy_value(w, op->args[2], DM_PY_ANY);
    }
    dm_buffer_puts(w->out, "):\n");
    put_suite(w, op->blocks[0], op, op);
}

static void put_while(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_ir_block *head = op->blocks[0];
    bool simple = true;
    start_carried(w, op);
    for (int i = 0; i + 1 < head->count; i++)
        simple &= head->ops[i]->result_count == 1 && w->plan[head->ops[i]->result].inlined;
    dm_val condition = dm_ir_terminator(head)->args[0];
    start_line(w);
    if (simple) {
        dm_buffer_puts(w->out, "while ");
        dm_numpy_value(w, condition, DM_PY_ANY);
        dm_buffer_puts(w->out, ":\n");
        put_suite(w, op->blocks[1], op, op);
        return;
    }
    dm_buffer_puts(w->out, "while True:\n");
    w->depth++;
    put_block(w, head, op, op, false);
    start_line(w);
    dm_buffer_puts(w->out, "if not ");
    dm_numpy_value(w, condition, DM_PY_NOT);
    dm_buffer_puts(w->out, ":\n");
    w->depth++;
    start_line(w);
    dm_buffer_puts(w->out, "break\n");
    w->depth--;
    put_block(w, op->blocks[1], op, op, false);
    w->depth--;
}

static void put_store(dm_numpy_writer *w, const dm_ir_op *op)
{
    start_line(w);
    dm_numpy_place(w, op);
    dm_buffer_puts(w->out, " = ");
    dm_numpy_value(w, op->args[op->arg_count - 1], DM_PY_ANY);
    dm_buffer_putc(w->out, '\n');
}

static void put_atomic(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *element = op->path != NULL && op->path->count > 0
                                 ? op->path->type
                                 : w->f->values[op->args[0]].type->element;
    bool least = strcmp(op->text, "min") == 0, most = strcmp(op->text, "max") == 0;
    bool scalar = dm_type_is_scalar(element);
    if (op->result_count > 0 && w->plan[op->result].uses > 0) {
        declare(w, op->result);
        start_line(w);
        dm_buffer_printf(w->out, "%s = ", w->plan[op->result].name);
        dm_numpy_place(w, op);
        dm_buffer_puts(w->out, scalar ? "\n" : ".copy()\n");
    }
    start_line(w);
    dm_numpy_place(w, op);
    if (strcmp(op->text, "add") == 0 || strcmp(op->text, "sub") == 0) {
        dm_buffer_puts(w->out, op->text[0] == 'a' ? " += " : " -= ");
        dm_numpy_value(w, op->args[op->arg_count - 1], DM_PY_ANY);
    } else if (least || most) {
        dm_buffer_puts(w->out, scalar ? (least ? " = min(" : " = max(")
                                      : (least ? "[:] = np.minimum(" : "[:] = np.maximum("));
        dm_numpy_place(w, op);
        dm_buffer_puts(w->out, ", ");
        dm_numpy_value(w, op->args[op->arg_count - 1], DM_PY_ANY);
        dm_buffer_putc(w->out, ')');
    } else {
        dm_numpy_unknown(w, op->text);
    }
    dm_buffer_putc(w->out, '\n');
}

static void put_assignment(dm_numpy_writer *w, const dm_ir_op *op)
{
    if (op->result_count > 0 && w->plan[op->result].uses > 0) {
        declare(w, op->result);
        start_line(w);
        dm_buffer_printf(w->out, "%s = ", w->plan[op->result].name);
    } else if (op->kind == DM_IR_INVOKE) {
        start_line(w);
    } else {
        return;
    }
    const char *name = op->result_count > 0 ? w->plan[op->result].name : NULL;
    if (name != NULL)
        w->plan[op->result].name = NULL; /* the operation, not its variable */
    dm_numpy_op(w, op, DM_PY_ANY);
    if (name != NULL)
        w->plan[op->result].name = name;
    dm_buffer_putc(w->out, '\n');
}

/* ---- Blocks ---- */

static void put_end(dm_numpy_writer *w, const dm_ir_op *op, const dm_ir_op *owner,
                    const dm_ir_op *loop, bool last)
{
    switch (op->kind) {
    case DM_IR_YIELD:
        if (owner != NULL)
            hand_over(w, op->args, op->arg_count, owner);
        break;
    case DM_IR_BREAK:
    case DM_IR_CONTINUE:
        hand_over(w, op->args, op->arg_count, loop);
        start_line(w);
        dm_buffer_puts(w->out, op->kind == DM_IR_BREAK ? "break\n" : "continue\n");
        break;
    case DM_IR_RETURN:
        if (last && op->arg_count == 0)
            break;
        start_line(w);
        dm_buffer_puts(w->out, op->arg_count > 0 ? "return " : "return");
        if (op->arg_count > 0)
            dm_numpy_value(w, op->args[0], DM_PY_ANY);
        dm_buffer_putc(w->out, '\n');
        break;
    default:
        break;
    }
}

static void put_op(dm_numpy_writer *w, const dm_ir_op *op, const dm_ir_op *loop)
{
    switch (op->kind) {
    case DM_IR_IF:
        if (is_choice(w, op))
            put_assignment(w, op);
        else
            put_if(w, op, loop);
        break;
    case DM_IR_FOR:
        put_for(w, op);
        break;
    case DM_IR_WHILE:
        put_while(w, op);
        break;
    case DM_IR_STORE:
        put_store(w, op);
        break;
    case DM_IR_ATOMIC:
        put_atomic(w, op);
        break;
    default:
        if (dm_ir_infos[op->kind].effect == DM_IR_WRITES && op->kind != DM_IR_INVOKE)
            dm_numpy_unknown(w, dm_ir_infos[op->kind].text);
        put_assignment(w, op);
        break;
    }
}

static void forget_names(dm_numpy_writer *w, const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        for (int k = 0; k < op->result_count; k++)
            w->plan[op->result + k].name = NULL;
        for (int k = 0; k < 2 && op->blocks[k] != NULL; k++) {
            for (int j = 0; j < op->blocks[k]->param_count; j++)
                w->plan[op->blocks[k]->params[j]].name = NULL;
            forget_names(w, op->blocks[k]);
        }
    }
}

static void put_block(dm_numpy_writer *w, const dm_ir_block *block, const dm_ir_op *owner,
                      const dm_ir_op *loop, bool last)
{
    forget_names(w, block); /* it may be written twice: the first time to see whether it is empty */
    for (int i = 0; i < block->count && w->status == DM_OK; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->result_count == 1 && w->plan[op->result].inlined)
            continue;
        if (dm_ir_is_terminator(op->kind))
            put_end(w, op, owner, loop, last);
        else
            put_op(w, op, loop);
    }
}

/* ---- Functions ---- */

/* Constants that no small program has, and operations on bits, are signs of hashes and the like. */
static bool may_wrap(const dm_ir_function *f, const dm_ir_block *block)
{
    static const char *const bits[] = {"lshift", "rshift", "bit_xor", "invert", "_pcg", NULL};
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_CALL)
            for (int k = 0; bits[k] != NULL; k++)
                if (strcmp(op->row->name, bits[k]) == 0)
                    return true;
        for (int k = 0; k < op->arg_count; k++) {
            const dm_ir_op *c = op->args[k] == DM_VAL_NONE ? NULL : dm_ir_const(f, op->args[k]);
            if (c != NULL && dm_type_is_int(f->values[op->args[k]].type) &&
                (c->integer > 65535 || c->integer < -65535))
                return true;
        }
        if (op->kind == DM_IR_INVOKE && !op->callee->is_library &&
            may_wrap(op->callee, op->callee->body))
            return true;
        if (may_wrap(f, op->blocks[0]) || may_wrap(f, op->blocks[1]))
            return true;
    }
    return false;
}

static void put_params(dm_numpy_writer *w)
{
    for (int i = 0; i < w->f->body->param_count; i++)
        dm_buffer_printf(w->out, "%s%s", i > 0 ? ", " : "", w->plan[w->f->body->params[i]].name);
}

static bool begin_function(dm_numpy_writer *w, const dm_ir_function *f)
{
    uint8_t roles[DM_SYNTH_PARAMS_MAX] = {0};
    w->f = f;
    w->plan = calloc((size_t)f->value_count + 1, sizeof *w->plan);
    if (w->plan == NULL) {
        w->status = dm_fail(w->err, DM_ENOMEM, "out of memory");
        return false;
    }
    w->written = 0;
    dm_synth_find_roles(f, roles);
    for (int i = 0; i < 64 && i < f->body->param_count; i++)
        w->written |= (uint64_t)((roles[i] & DM_SYNTH_WRITES) != 0) << i;
    for (int i = 0; i < f->body->param_count; i++)
        declare(w, f->body->params[i]);
    count_uses(w, f->body);
    choose_inlined(w, f->body);
    return true;
}

static void put_function(dm_numpy_writer *w, const dm_ir_function *f)
{
    if (!begin_function(w, f))
        return;
    dm_buffer_printf(w->out, "def %s(", dm_numpy_function(w, f));
    put_params(w);
    dm_buffer_puts(w->out, "):\n");
    put_suite(w, f->body, NULL, NULL);
    dm_buffer_puts(w->out, "\n\n");
    free(w->plan);
}

static void put_kernel(dm_numpy_writer *w, const dm_ir_function *f)
{
    if (!begin_function(w, f))
        return;
    size_t before = w->out->size;
    bool empty = f->body->param_count == 0;
    dm_buffer_printf(w->out, "def %s_thread(thread%s", f->name, empty ? "" : ", ");
    put_params(w);
    dm_buffer_puts(w->out, "):\n");
    w->depth++;
    put_block(w, f->body, NULL, NULL, true);
    w->depth--;
    if (w->out->size > before && w->out->data[w->out->size - 2] == ':')
        dm_buffer_puts(w->out, "    pass\n");
    dm_buffer_printf(w->out, "\n\ndef %s(launch%s", f->name, empty ? "" : ", ");
    put_params(w);
    dm_buffer_printf(
        w->out,
        "):\n    \"\"\"One thread after the other; results are written in place.\"\"\"\n"
        "    for thread in np.ndindex(*launch):\n        %s_thread(thread%s",
        f->name, empty ? "" : ", ");
    put_params(w);
    dm_buffer_puts(w->out, ")\n");
    free(w->plan);
}

/* Callees first. */
static void list_functions(dm_numpy_writer *w, const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        list_functions(w, op->blocks[0]);
        list_functions(w, op->blocks[1]);
        if (op->kind != DM_IR_INVOKE)
            continue;
        bool known = false;
        for (int k = 0; k < w->function_count; k++)
            known |= w->functions[k] == op->callee;
        if (known)
            continue;
        list_functions(w, op->callee->body);
        if (w->function_count == DM_NUMPY_FUNCTIONS_MAX) {
            dm_numpy_unknown(w, "more functions");
            return;
        }
        int overloads = 0;
        for (int k = 0; k < w->function_count; k++)
            overloads += strcmp(w->functions[k]->name, op->callee->name) == 0;
        char *name = w->function_names[w->function_count];
        if (overloads == 0)
            snprintf(name, 80, "%.70s", op->callee->name);
        else
            snprintf(name, 80, "%.60s_%d", op->callee->name, overloads + 1);
        w->functions[w->function_count++] = op->callee;
    }
}

/* ---- The whole ---- */

dm_status dm_synth_numpy_print(const dm_ir_function *const *kernels, int count, dm_buffer *out,
                               dm_error *err)
{
    dm_buffer body = DM_BUFFER_EMPTY;
    dm_numpy_writer w = {.out = &body, .lang = kernels[0]->lang, .err = err};
    for (int k = 0; k < count; k++) {
        const dm_ir_function *f = kernels[k];
        w.wraps |= may_wrap(f, f->body);
        list_functions(&w, f->body);
        for (int i = 0; i < f->body->param_count; i++)
            dm_synth_numpy_struct(f->values[f->body->params[i]].type, &w.structs);
    }
    for (int i = 0; i < w.function_count && w.status == DM_OK; i++)
        put_function(&w, w.functions[i]);
    for (int k = 0; k < count && w.status == DM_OK; k++) {
        dm_buffer_puts(&body, k > 0 ? "\n\n" : "");
        put_kernel(&w, kernels[k]);
    }
    bool math = strstr(dm_buffer_text(&body), "math.") != NULL;
    dm_buffer_puts(out, math ? "import math\n\nimport numpy as np\n\n" : "import numpy as np\n\n");
    dm_buffer_puts(out, "f32 = np.float32\n");
    dm_buffer_append(out, dm_buffer_text(&w.structs), w.structs.size);
    for (int i = 0; dm_numpy_helpers[i].name != NULL; i++)
        if ((w.helpers >> i & 1) != 0)
            dm_buffer_printf(out, "\n\n%s", dm_numpy_helpers[i].text);
    dm_buffer_puts(out, "\n\n");
    dm_buffer_append(out, dm_buffer_text(&body), body.size);
    dm_status status = w.status == DM_OK ? dm_buffer_check(&body, err) : w.status;
    dm_buffer_deinit(&body);
    dm_buffer_deinit(&w.structs);
    return status == DM_OK ? dm_buffer_check(out, err) : status;
}
