/* SPDX-License-Identifier: MIT */
/* exits.c - turns break, continue and return into data flow, so that the adjoint pass meets only IF,
 * FOR and WHILE whose blocks run to their ends.
 *
 *   if c: return          if (c) { yield } else { B; yield }
 *   B                ──►
 *
 * If one branch always leaves, the code after the IF moves into the other branch. If a branch leaves
 * only sometimes, the IF also yields an exit code, and the code after it goes into IF (code == 0). A
 * loop with break or return inside becomes a WHILE that carries the code and runs while it is 0. */
#include "lang/ir/ir.h"
#include "lang/sema/builtins.h"

#include <assert.h>
#include <string.h>

enum {
    GO_ON = 0,
    NEXT = 1,
    LEAVE = 2,
    FINISH = 3
}; /* the code; NEXT: the rest of the round is skipped */

typedef struct context {
    const dm_type **outputs; /* what the enclosing IF yields */
    int output_count;
    const dm_ir_op *loop; /* the innermost one in the source; NULL: none */
    const dm_type **carried;
    int carried_count;
} context;

typedef struct pass {
    dm_ir_builder b;
    const dm_ir_function *source;
    dm_val *map;
    const dm_type *result; /* the function's; NONE kind: no value */
} pass;

/* The outputs of rewritten code, in this order: the enclosing IF's, the exit code, the loop's
 * carried values, the return value. Code with exits has all of them. */
typedef struct outcome {
    dm_val *values;
    int count;
} outcome;

static outcome convert_rest(pass *p, const context *c, const dm_ir_block *block, int from);
static void convert_inside(pass *p, const context *c, const dm_ir_op *op);

/* ---- Asking ---- */

static bool block_exits(const dm_ir_block *block, bool in_loop);

/* Can the operation leave its block? A break of a loop inside of it does not count. */
static bool op_exits(const dm_ir_op *op, bool in_loop)
{
    if (op->kind == DM_IR_RETURN)
        return true;
    if (op->kind == DM_IR_BREAK || op->kind == DM_IR_CONTINUE)
        return !in_loop;
    bool loop = op->kind == DM_IR_FOR || op->kind == DM_IR_WHILE;
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL && block_exits(op->blocks[k], in_loop || loop))
            return true;
    return false;
}

static bool block_exits(const dm_ir_block *block, bool in_loop)
{
    for (int i = 0; i < block->count; i++)
        if (op_exits(block->ops[i], in_loop))
            return true;
    return false;
}

static bool has_break(const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_BREAK || op->kind == DM_IR_RETURN)
            return true;
        bool loop = op->kind == DM_IR_FOR || op->kind == DM_IR_WHILE;
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL &&
                (loop ? block_exits(op->blocks[k], true) : has_break(op->blocks[k])))
                return true;
    }
    return false;
}

/* Does it hold exits of any kind, also of loops that stand in it? */
static bool holds_exits(const dm_ir_op *op)
{
    if (op->kind == DM_IR_BREAK || op->kind == DM_IR_CONTINUE || op->kind == DM_IR_RETURN)
        return true;
    for (int k = 0; k < 2; k++)
        for (int i = 0; op->blocks[k] != NULL && i < op->blocks[k]->count; i++)
            if (holds_exits(op->blocks[k]->ops[i]))
                return true;
    return false;
}

/* Neither break, continue nor return, in inner loops neither. */
static bool has_no_exit(const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_BREAK || op->kind == DM_IR_CONTINUE || op->kind == DM_IR_RETURN)
            return false;
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL && !has_no_exit(op->blocks[k]))
                return false;
    }
    return true;
}

/* ---- Building ---- */

static const dm_type *i32(pass *p)
{
    return dm_type_scalar(p->b.lang, DM_I32);
}

static dm_val mapped(pass *p, dm_val v)
{
    if (v == DM_VAL_NONE)
        return v;
    const dm_ir_op *c = p->map[v] == DM_VAL_NONE ? dm_ir_const(p->source, v) : NULL;
    if (c != NULL)
        p->map[v] = dm_ir_const_copy(p->b.function, p->source->values[v].type, c);
    assert(p->map[v] != DM_VAL_NONE);
    return p->map[v];
}

static dm_val call(pass *p, dm_row_number row, dm_val x, dm_val y)
{
    const dm_type *types[] = {p->b.function->values[x].type, p->b.function->values[y].type};
    dm_val args[] = {x, y};
    const dm_bind *bind = dm_builtin_bind(p->b.lang, dm_builtin_row(row), types, 2);
    assert(bind != NULL);
    dm_ir_op *op = dm_ir_call(&p->b, bind, args, 2);
    return op->result;
}

static int outcome_size(const pass *p, const context *c)
{
    return c->output_count + 1 + c->carried_count + (p->result->kind != DM_TYPE_NONE);
}

static outcome outcome_new(pass *p, const context *c)
{
    outcome o = {.count = outcome_size(p, c)};
    o.values = dm_lang_alloc_array(p->b.lang, (size_t)o.count, sizeof *o.values);
    for (int i = 0; i < o.count; i++)
        o.values[i] = DM_VAL_NONE;
    return o;
}

static const dm_type *outcome_type(pass *p, const context *c, int i)
{
    if (i < c->output_count)
        return c->outputs[i];
    i -= c->output_count;
    if (i == 0)
        return i32(p);
    return i <= c->carried_count ? c->carried[i - 1] : p->result;
}

static void fill(pass *p, const context *c, outcome *o)
{
    for (int i = 0; i < o->count; i++)
        if (o->values[i] == DM_VAL_NONE)
            o->values[i] = dm_ir_zero(&p->b, outcome_type(p, c, i));
}

static dm_val code_of(const context *c, const outcome *o)
{
    return o->values[c->output_count];
}

/* The outcome of a block's last operation. */
static outcome convert_end(pass *p, const context *c, const dm_ir_op *op)
{
    outcome o = outcome_new(p, c);
    int at = 0, code = GO_ON;
    if (op->kind == DM_IR_BREAK || op->kind == DM_IR_CONTINUE ||
        (op->kind == DM_IR_YIELD && c->output_count == 0 && c->loop != NULL &&
         op->arg_count == c->carried_count && c->outputs == NULL)) {
        at = c->output_count + 1;
        code = op->kind == DM_IR_BREAK ? LEAVE : op->kind == DM_IR_CONTINUE ? NEXT : GO_ON;
    } else if (op->kind == DM_IR_RETURN) {
        at = c->output_count + 1 + c->carried_count;
        code = FINISH;
    }
    for (int i = 0; i < op->arg_count; i++)
        o.values[at + i] = mapped(p, op->args[i]);
    o.values[c->output_count] = dm_ir_int(&p->b, i32(p), code);
    fill(p, c, &o);
    return o;
}

/* An IF whose two blocks were filled; its results are the outcome. */
static outcome join(pass *p, const context *c, dm_val condition, dm_ir_block *then,
                    dm_ir_block *other, const outcome *a, const outcome *b)
{
    dm_ir_block *before = p->b.block;
    p->b.block = then;
    dm_ir_op_new(&p->b, DM_IR_YIELD, a->values, a->count, NULL);
    p->b.block = other;
    dm_ir_op_new(&p->b, DM_IR_YIELD, b->values, b->count, NULL);
    p->b.block = before;
    dm_ir_op *op = dm_ir_op_new(&p->b, DM_IR_IF, &condition, 1, NULL);
    op->blocks[0] = then;
    op->blocks[1] = other;
    op->result_count = a->count;
    outcome o = outcome_new(p, c);
    for (int i = 0; i < a->count; i++) {
        o.values[i] = dm_ir_value_new(p->b.function, outcome_type(p, c, i), NULL);
        p->b.function->values[o.values[i]].def = op;
    }
    op->result = o.values[0];
    return o;
}

/* The rest of a block, done only where `code` says so. */
static outcome guarded_rest(pass *p, const context *c, dm_val code, const outcome *left,
                            const dm_ir_block *block, int from)
{
    dm_ir_block *before = p->b.block, *then = dm_ir_block_new(p->b.lang),
                *other = dm_ir_block_new(p->b.lang);
    dm_val condition = call(p, DM_ROW_EQ, code, dm_ir_int(&p->b, i32(p), GO_ON));
    p->b.block = then;
    outcome a = convert_rest(p, c, block, from);
    p->b.block = other;
    outcome b = *left;
    outcome filled = outcome_new(p, c);
    memcpy(filled.values, b.values, (size_t)b.count * sizeof *b.values);
    fill(p, c, &filled);
    p->b.block = before;
    return join(p, c, condition, then, other, &a, &filled);
}

/* ---- Operations ---- */

static context inner_context(pass *p, const context *c, const dm_ir_op *op)
{
    context inner = *c;
    inner.output_count = op->result_count;
    inner.outputs = dm_lang_alloc_array(p->b.lang, (size_t)op->result_count + 1, sizeof(void *));
    for (int i = 0; i < op->result_count; i++)
        inner.outputs[i] = p->source->values[op->result + i].type;
    return inner;
}

static bool always_leaves(const dm_ir_block *block)
{
    const dm_ir_op *end = dm_ir_terminator(block);
    return end != NULL && end->kind != DM_IR_YIELD;
}

/* Copy a block that nothing leaves, up to its end, and hand back its YIELD. */
static const dm_ir_op *copy_plain(pass *p, const context *c, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        if (dm_ir_is_terminator(block->ops[i]->kind))
            return block->ops[i];
        convert_inside(p, c, block->ops[i]);
    }
    return NULL;
}

/* An IF that nothing leaves, with loops inside that something does leave. */
static void convert_plain_if(pass *p, const context *c, const dm_ir_op *op)
{
    dm_ir_block *before = p->b.block, *made[2];
    dm_val condition = mapped(p, op->args[0]);
    context inner = inner_context(p, c, op);
    for (int k = 0; k < 2; k++) {
        p->b.block = made[k] = dm_ir_block_new(p->b.lang);
        outcome o = convert_rest(p, &inner, op->blocks[k], 0);
        dm_ir_op_new(&p->b, DM_IR_YIELD, o.values, op->result_count, NULL);
    }
    p->b.block = before;
    dm_ir_op *joined = dm_ir_op_new(&p->b, DM_IR_IF, &condition, 1, NULL);
    joined->pos = op->pos;
    joined->blocks[0] = made[0];
    joined->blocks[1] = made[1];
    joined->result_count = op->result_count;
    for (int i = 0; i < op->result_count; i++) {
        dm_val v = dm_ir_value_new(p->b.function, inner.outputs[i],
                                   p->source->values[op->result + i].name);
        p->b.function->values[v].def = joined;
        p->map[op->result + i] = v;
        if (i == 0)
            joined->result = v;
    }
}

static outcome convert_if(pass *p, const context *c, const dm_ir_op *op, const dm_ir_block *block,
                          int next)
{
    dm_ir_block *before = p->b.block;
    dm_val condition = mapped(p, op->args[0]);
    for (int k = 0; k < 2; k++) { /* one leaves, the other goes on without exits */
        if (!always_leaves(op->blocks[k]) || block_exits(op->blocks[1 - k], false))
            continue;
        dm_ir_block *made[2] = {dm_ir_block_new(p->b.lang), dm_ir_block_new(p->b.lang)};
        outcome outcomes[2];
        p->b.block = made[k];
        outcomes[k] = convert_rest(p, c, op->blocks[k], 0);
        p->b.block = made[1 - k];
        const dm_ir_op *end = copy_plain(p, c, op->blocks[1 - k]);
        for (int i = 0; i < op->result_count; i++)
            p->map[op->result + i] = mapped(p, end->args[i]);
        outcomes[1 - k] = convert_rest(p, c, block, next);
        p->b.block = before;
        return join(p, c, condition, made[0], made[1], &outcomes[0], &outcomes[1]);
    }
    context inner = inner_context(p, c, op);
    dm_ir_block *then = dm_ir_block_new(p->b.lang), *other = dm_ir_block_new(p->b.lang);
    p->b.block = then;
    outcome a = convert_rest(p, &inner, op->blocks[0], 0);
    p->b.block = other;
    outcome b = convert_rest(p, &inner, op->blocks[1], 0);
    p->b.block = before;
    outcome both = join(p, &inner, condition, then, other, &a, &b);
    for (int i = 0; i < op->result_count; i++) {
        p->map[op->result + i] = both.values[i];
        p->b.function->values[both.values[i]].name = p->source->values[op->result + i].name;
    }
    outcome left = outcome_new(p, c);
    for (int i = op->result_count; i < both.count; i++)
        left.values[c->output_count + i - op->result_count] = both.values[i];
    return guarded_rest(p, c, code_of(&inner, &both), &left, block, next);
}

/* The body of a loop yields the exit code, the carried values of the next round, the result. */
static outcome convert_body(pass *p, const dm_ir_op *op, const dm_ir_block *body, context *inner)
{
    *inner = (context){.loop = op, .carried_count = op->result_count};
    inner->carried = dm_lang_alloc_array(p->b.lang, (size_t)op->result_count + 1, sizeof(void *));
    for (int i = 0; i < op->result_count; i++)
        inner->carried[i] = p->source->values[op->result + i].type;
    return convert_rest(p, inner, body, 0);
}

static dm_ir_op *loop_op(pass *p, const dm_ir_op *op, dm_ir_kind kind, const dm_val *args,
                         int count, int result_count, const dm_type *const *types)
{
    dm_ir_op *made = dm_ir_op_new(&p->b, kind, args, count, NULL);
    made->pos = op->pos;
    made->no_break = true;
    made->result_count = result_count;
    for (int i = 0; i < result_count; i++) {
        dm_val v = dm_ir_value_new(p->b.function, types[i], NULL);
        p->b.function->values[v].def = made;
        if (i == 0)
            made->result = v;
    }
    return made;
}

/* A FOR that no round leaves early: only `continue` inside, and exits of inner loops. */
static void convert_plain_for(pass *p, const dm_ir_op *op)
{
    dm_ir_block *before = p->b.block, *body = dm_ir_block_new(p->b.lang);
    const dm_ir_block *source = op->blocks[0];
    for (int i = 0; i < source->param_count; i++) {
        dm_val v = source->params[i];
        p->map[v] =
            dm_ir_param(p->b.function, body, p->source->values[v].type, p->source->values[v].name);
    }
    context inner;
    p->b.block = body;
    outcome o = convert_body(p, op, source, &inner);
    dm_ir_op_new(&p->b, DM_IR_YIELD, o.values + 1, op->result_count, NULL);
    p->b.block = before;
    dm_val *args = dm_lang_alloc_array(p->b.lang, (size_t)op->arg_count, sizeof *args);
    for (int i = 0; i < op->arg_count; i++)
        args[i] = mapped(p, op->args[i]);
    dm_ir_op *made =
        loop_op(p, op, DM_IR_FOR, args, op->arg_count, op->result_count, inner.carried);
    made->blocks[0] = body;
    for (int i = 0; i < op->result_count; i++) {
        p->map[op->result + i] = made->result + i;
        p->b.function->values[made->result + i].name = p->source->values[op->result + i].name;
    }
}

/* Other loops: WHILE with carried (code, values..., result if any, counter if FOR). */
static dm_val convert_loop(pass *p, const dm_ir_op *op, dm_val *result)
{
    bool is_for = op->kind == DM_IR_FOR, has_value = p->result->kind != DM_TYPE_NONE;
    int values = op->result_count, count = 1 + values + has_value + is_for, fixed = is_for ? 3 : 0;
    dm_ir_block *before = p->b.block, *head = dm_ir_block_new(p->b.lang),
                *body = dm_ir_block_new(p->b.lang);
    const dm_type **types = dm_lang_alloc_array(p->b.lang, (size_t)count, sizeof(void *));
    dm_val *args = dm_lang_alloc_array(p->b.lang, (size_t)count, sizeof *args);
    dm_val *params = dm_lang_alloc_array(p->b.lang, (size_t)count, sizeof *params);
    const char **names = dm_lang_alloc_array(p->b.lang, (size_t)count, sizeof *names);
    types[0] = i32(p);
    names[0] = dm_lang_intern_text(p->b.lang, "left");
    args[0] = dm_ir_int(&p->b, i32(p), GO_ON);
    const dm_ir_block *source = op->blocks[0];
    for (int i = 0; i < values; i++) {
        types[1 + i] = p->source->values[op->result + i].type;
        args[1 + i] = mapped(p, op->args[fixed + i]);
        names[1 + i] = p->source->values[op->result + i].name;
    }
    if (has_value) {
        types[1 + values] = p->result;
        args[1 + values] = dm_ir_zero(&p->b, p->result);
    }
    if (is_for) {
        types[count - 1] = i32(p);
        args[count - 1] = mapped(p, op->args[0]);
        names[count - 1] = p->source->values[source->params[0]].name;
    }
    for (int i = 0; i < count; i++)
        params[i] = dm_ir_param(p->b.function, head, types[i], names[i]);
    for (int i = 0; i < values; i++)
        p->map[source->params[i + is_for]] = params[1 + i];
    if (is_for)
        p->map[source->params[0]] = params[count - 1];

    p->b.block = head;
    dm_val going = call(p, DM_ROW_EQ, params[0], dm_ir_int(&p->b, i32(p), GO_ON));
    dm_ir_block *ask = dm_ir_block_new(p->b.lang), *stop = dm_ir_block_new(p->b.lang);
    p->b.block = ask;
    dm_val more;
    if (is_for) {
        int64_t step;
        dm_val last = mapped(p, op->args[1]);
        bool down = dm_ir_const_int(p->source, op->args[2], &step) && step < 0;
        bool known = dm_ir_const_int(p->source, op->args[2], &step);
        if (known) {
            more = call(p, down ? DM_ROW_GT : DM_ROW_LT, params[count - 1], last);
        } else {
            dm_val up = call(p, DM_ROW_LT, params[count - 1], last);
            dm_val under = call(p, DM_ROW_GT, params[count - 1], last);
            dm_val positive =
                call(p, DM_ROW_GT, mapped(p, op->args[2]), dm_ir_int(&p->b, i32(p), 0));
            dm_val negative =
                call(p, DM_ROW_LT, mapped(p, op->args[2]), dm_ir_int(&p->b, i32(p), 0));
            more = call(p, DM_ROW_OR, call(p, DM_ROW_AND, positive, up),
                        call(p, DM_ROW_AND, negative, under));
        }
    } else {
        const dm_ir_op *end = copy_plain(p, &(context){0}, source);
        more = mapped(p, end->args[0]);
    }
    dm_ir_op_new(&p->b, DM_IR_YIELD, &more, 1, NULL);
    p->b.block = stop;
    dm_val no = dm_ir_bool(&p->b, false);
    dm_ir_op_new(&p->b, DM_IR_YIELD, &no, 1, NULL);
    p->b.block = head;
    dm_ir_op *choice = dm_ir_op_new(&p->b, DM_IR_IF, &going, 1, dm_type_scalar(p->b.lang, DM_BOOL));
    choice->blocks[0] = ask;
    choice->blocks[1] = stop;
    dm_ir_op_new(&p->b, DM_IR_COND, &choice->result, 1, NULL);

    context inner;
    p->b.block = body;
    outcome o = convert_body(p, op, is_for ? source : op->blocks[1], &inner);
    dm_val *next = dm_lang_alloc_array(p->b.lang, (size_t)count, sizeof *next);
    memcpy(next, o.values, (size_t)o.count * sizeof *next);
    /* NEXT ends a round, not the loop. */
    dm_val leaves = call(p, DM_ROW_GE, o.values[0], dm_ir_int(&p->b, i32(p), LEAVE));
    dm_val cleared = dm_ir_int(&p->b, i32(p), GO_ON);
    dm_val where_args[] = {leaves, o.values[0], cleared};
    const dm_type *where_types[] = {dm_type_scalar(p->b.lang, DM_BOOL), i32(p), i32(p)};
    const dm_bind *bind = dm_builtin_bind(p->b.lang, dm_builtin_row(DM_ROW_WHERE), where_types, 3);
    assert(bind != NULL);
    dm_ir_op *select = dm_ir_call(&p->b, bind, where_args, 3);
    next[0] = select->result;
    if (is_for)
        next[count - 1] = call(p, DM_ROW_ADD, params[count - 1], mapped(p, op->args[2]));
    dm_ir_op_new(&p->b, DM_IR_YIELD, next, count, NULL);
    p->b.block = before;
    dm_ir_op *made = loop_op(p, op, DM_IR_WHILE, args, count, count, types);
    made->blocks[0] = head;
    made->blocks[1] = body;
    for (int i = 0; i < values; i++) {
        p->map[op->result + i] = made->result + 1 + i;
        p->b.function->values[made->result + 1 + i].name = names[1 + i];
    }
    p->b.function->values[made->result].name = names[0]; /* 0: it goes on */
    if (is_for)
        p->b.function->values[made->result + count - 1].name = names[count - 1];
    *result = has_value ? made->result + 1 + values : DM_VAL_NONE;
    return made->result;
}

/* An operation that does not leave the block that it stands in. */
static void convert_inside(pass *p, const context *c, const dm_ir_op *op)
{
    dm_val value;
    if (!holds_exits(op))
        dm_ir_clone_op(&p->b, p->source, op, p->map, false);
    else if (op->kind == DM_IR_IF)
        convert_plain_if(p, c, op);
    else if (op->kind == DM_IR_FOR && !has_break(op->blocks[0]))
        convert_plain_for(p, op);
    else
        convert_loop(p, op, &value);
}

static outcome convert_rest(pass *p, const context *c, const dm_ir_block *block, int from)
{
    for (int i = from; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (dm_ir_is_terminator(op->kind))
            return convert_end(p, c, op);
        if (op->kind == DM_IR_IF && op_exits(op, false))
            return convert_if(p, c, op, block, i + 1);
        if (!op_exits(op, true)) {
            convert_inside(p, c, op);
            continue;
        }
        dm_val value, code = convert_loop(p, op, &value); /* with a return inside */
        outcome left = outcome_new(p, c);
        /* A break is over with its loop; a return goes on. */
        dm_val finish = call(p, DM_ROW_EQ, code, dm_ir_int(&p->b, i32(p), FINISH));
        dm_val as_code = dm_ir_cast(&p->b, finish, i32(p));
        left.values[c->output_count] =
            call(p, DM_ROW_MUL, as_code, dm_ir_int(&p->b, i32(p), FINISH));
        if (value != DM_VAL_NONE)
            left.values[left.count - 1] = value;
        return guarded_rest(p, c, left.values[c->output_count], &left, block, i + 1);
    }
    outcome o = outcome_new(p, c);
    fill(p, c, &o);
    return o;
}

/* Is a return at the end the only exit? */
static bool is_plain(const dm_ir_block *body)
{
    for (int i = 0; i + 1 < body->count; i++) {
        const dm_ir_op *op = body->ops[i];
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL && !has_no_exit(op->blocks[k]))
                return false;
    }
    return body->count > 0 && body->ops[body->count - 1]->kind == DM_IR_RETURN;
}

dm_ir_function *dm_ir_without_exits(dm_lang *lang, dm_ir_function *f)
{
    if (is_plain(f->body))
        return f;
    dm_ir_function *made = dm_ir_function_new(lang, f->name);
    dm_ir_reserve(made, f->value_count + 8);
    made->role = f->role;
    made->pos = f->pos;
    made->result = f->result;
    made->tid_count = f->tid_count;
    made->reads = f->reads;
    made->writes = f->writes;
    made->has_effects = f->has_effects;
    made->decl = f->decl;
    pass p = {.b = {.lang = lang, .function = made, .block = made->body, .pos = f->pos},
              .source = f,
              .result = f->result};
    p.map = dm_lang_alloc_array(lang, (size_t)f->value_count + 1, sizeof *p.map);
    for (int i = 0; i < f->value_count; i++)
        p.map[i] = DM_VAL_NONE;
    for (int i = 0; i < f->body->param_count; i++) {
        dm_val v = f->body->params[i];
        p.map[v] = dm_ir_param(made, made->body, f->values[v].type, f->values[v].name);
    }
    context c = {0};
    outcome o = convert_rest(&p, &c, f->body, 0);
    bool has_value = f->result->kind != DM_TYPE_NONE;
    dm_ir_op_new(&p.b, DM_IR_RETURN, &o.values[o.count - 1], has_value, NULL);
    return made;
}
