/* SPDX-License-Identifier: MIT */
/* print_plan.c - decides which values become part of an expression and which get a variable. A value
 * that has a name in the source gets a variable of that name. A temporary is written where it is used
 * if it is used once, in the same block, and nothing in between changes what it reads. A variable is
 * reused for the next value of the same thing (a loop's carried value, a changed component) when the
 * old value is not needed any more. */
#include "lang/emit/print.h"
#include "lang/sema/builtins.h"

/* An operation that writes memory or a slot. */
typedef struct written {
    int number;
    dm_val slot; /* or tape; NONE: memory */
} written;

typedef struct planner {
    dm_printer *pr;
    const dm_ir_function *f;
    dm_plan *plan;
    int block_count, op_count;
    written *writes;
    int write_count, write_capacity;
    const dm_ir_op **ends; /* the ends of blocks that hand values over */
    int end_count, end_capacity;
} planner;

/* Does a CALL that may read really do so? */
static bool reads_arrays(const dm_ir_op *op)
{
    for (int i = 0; i < op->row->param_count; i++)
        if (op->bind->args[i]->kind == DM_TYPE_ARRAY)
            return true;
    return false;
}

static void count_block(planner *p, const dm_ir_block *block, const dm_ir_op *loop);

/* The kinds that count_kind has something to do for. */
#define COUNTED                                                                                    \
    (DM_IR_NESTS | DM_IR_BIT(INSERT) | DM_IR_BIT(SETFIELD) | DM_IR_BIT(TID) | DM_IR_BIT(SET) |     \
     DM_IR_BIT(ADD) | DM_IR_BIT(RECORD) | DM_IR_BIT(INVOKE) | DM_IR_BIT(STORE) |                   \
     DM_IR_BIT(ATOMIC))

static void change(planner *p, const dm_val *values, int count)
{
    for (int i = 0; i < count; i++)
        p->plan[values[i]].changes = true;
}

/* What the operations do to the plan besides using their arguments, by kind. */
static void count_kind(planner *p, dm_ir_op *op, const dm_ir_op *loop, int at)
{
    dm_val slot = DM_VAL_NONE;
    switch (op->kind) {
    case DM_IR_IF:
        count_block(p, op->blocks[0], loop);
        count_block(p, op->blocks[1], loop);
        for (int k = 0; k < 2; k++) {
            const dm_ir_op *end = dm_ir_terminator(op->blocks[k]);
            if (end != NULL && end->kind == DM_IR_YIELD)
                change(p, end->args, end->arg_count);
        }
        return;
    case DM_IR_FOR:
        count_block(p, op->blocks[0], op);
        change(p, op->args + 3, op->arg_count - 3);
        return;
    case DM_IR_WHILE:
        count_block(p, op->blocks[0], op);
        count_block(p, op->blocks[1], op);
        change(p, op->args, op->arg_count);
        return;
    case DM_IR_INSERT:
    case DM_IR_SETFIELD:
        p->plan[op->args[0]].changes = p->plan[op->result].changes = true;
        return;
    case DM_IR_TID:
        ((dm_ir_function *)p->f)->tid_used[op->index] = true;
        return;
    case DM_IR_SET:
    case DM_IR_ADD:
    case DM_IR_RECORD:
        slot = op->args[0];
        break;
    case DM_IR_INVOKE:
        if (!op->callee->has_effects)
            return;
        break;
    case DM_IR_STORE: /* gradients are not read by anything that could be moved */
    case DM_IR_ATOMIC:
        break;
    default:
        return;
    }
    written made = {.number = at, .slot = slot};
    DM_LANG_PUSH(p->pr->lang, p->writes, p->write_count, p->write_capacity, made);
}

static inline void count_result(dm_plan *plan, const dm_ir_op *loop, int block, int at)
{
    plan->def_block = block;
    plan->def_number = at;
    plan->loop = loop;
}

static inline void count_use(dm_plan *plan, int block, int at)
{
    plan->use_block = block & -((plan->uses == 0) | (plan->use_block == block));
    plan->uses++;
    plan->last = at;
}

/* First walk: number the operations, count uses, note writes and variables that change. */
static void count_block(planner *p, const dm_ir_block *block, const dm_ir_op *loop)
{
    int number = ++p->block_count;
    for (int i = 0; i < block->param_count; i++) {
        dm_plan *plan = &p->plan[block->params[i]];
        plan->def_block = number;
        plan->loop = loop;
    }
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        int at = p->op_count++;
        count_result(&p->plan[op->result], loop, number, at);
        for (int r = 1; r < op->result_count; r++)
            count_result(&p->plan[op->result + r], loop, number, at);
        count_use(&p->plan[op->args[0]], number, at);
        count_use(&p->plan[op->args[1]], number, at);
        for (int a = 2; a < op->arg_count; a++)
            count_use(&p->plan[op->args[a]], number, at);
        op->inside = 0;
        if (dm_ir_is_in(COUNTED, op->kind)) {
            count_kind(p, op, loop, at);
            op->inside = p->op_count - at - 1;
        }
    }
    const dm_ir_op *end = block->count > 0 ? block->ops[block->count - 1] : NULL;
    if (end != NULL && end->arg_count > 0 && dm_ir_is_terminator(end->kind))
        DM_LANG_PUSH_POINTER(p->pr->lang, p->ends, p->end_count, p->end_capacity, end);
}

/* The first write behind a number. */
static int first_write(const planner *p, int number)
{
    int low = 0, high = p->write_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->writes[middle].number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is what `op` reads written between two numbers? */
static bool written_between(const planner *p, const dm_ir_op *op, int from, int to)
{
    bool slot = op->kind == DM_IR_GET || op->kind == DM_IR_RECALL;
    dm_val which = slot ? op->args[0] : DM_VAL_NONE;
    int at = first_write(p, from);
    for (int steps = 0; at < p->write_count && p->writes[at].number < to; at++) {
        if (p->writes[at].slot == which)
            return true;
        if (++steps > 64)
            return true; /* far apart: a variable is as good */
    }
    return false;
}

/* Written wherever they are used; where they are used once; and those of them that read nothing. */
#define CHEAP (DM_IR_BIT(CONST) | DM_IR_BIT(TEXT) | DM_IR_BIT(DIM) | DM_IR_BIT(SHAPE))
#define PURE_ONES                                                                                  \
    (CHEAP | DM_IR_BIT(CAST) | DM_IR_BIT(MAKE) | DM_IR_BIT(EXTRACT) | DM_IR_BIT(FIELD) |           \
     DM_IR_BIT(TID) | DM_IR_BIT(VIEW) | DM_IR_BIT(SLICE) | DM_IR_BIT(ADJOINT) |                    \
     DM_IR_BIT(IS_NULL))
#define READING                                                                                    \
    (DM_IR_BIT(INVOKE) | DM_IR_BIT(LOAD) | DM_IR_BIT(GET) | DM_IR_BIT(RECALL) | DM_IR_BIT(IF))
#define EXPRESSIONS (PURE_ONES | DM_IR_BIT(CALL) | READING)

/* Second walk, backwards: users are decided before what they use. */
static void decide_block(planner *p, const dm_ir_block *block, int *number);

static bool is_expression_if(const planner *p, const dm_ir_op *op)
{
    if (op->kind != DM_IR_IF || op->result_count != 1 || p->plan[op->result].uses != 1 ||
        op->path != NULL)
        return false;
    for (int k = 0; k < 2; k++) {
        const dm_ir_block *block = op->blocks[k];
        if (block == NULL || block->count == 0 || block->ops[block->count - 1]->kind != DM_IR_YIELD)
            return false;
        for (int i = 0; i + 1 < block->count; i++) {
            const dm_ir_op *inner = block->ops[i];
            if (inner->result_count != 1 || !p->plan[inner->result].inlined)
                return false;
        }
    }
    return true;
}

/* Is what the operation reads the same where its result is used? */
static bool is_steady(const planner *p, const dm_ir_op *op, const dm_plan *plan, int end)
{
    static const dm_ir_op load = {.kind = DM_IR_LOAD};
    if (op->kind == DM_IR_IF)
        return is_expression_if(p, op) && !written_between(p, &load, end, plan->last);
    if (op->kind == DM_IR_INVOKE && op->callee->has_effects)
        return false;
    if (op->kind == DM_IR_CALL && !reads_arrays(op))
        return true;
    return !written_between(p, op, end, plan->last);
}

/* Is the operation part of the expression that uses its result? The conditions are combined without
 * branches, since none of them is predictable. */
static inline bool is_inlined(const planner *p, const dm_ir_op *op, const dm_plan *plan, int end)
{
    bool once = (plan->uses == 1) & (plan->use_block == plan->def_block);
    bool named = (p->f->values[op->result].name != NULL) &
                 !(p->f->is_backward & dm_ir_is_in(PURE_ONES | DM_IR_BIT(CALL), op->kind));
    bool inlined = once & !named & dm_ir_is_in(EXPRESSIONS, op->kind);
    if (inlined & (dm_ir_is_in(READING, op->kind) | op->may_read))
        inlined = is_steady(p, op, plan, end);
    return inlined | dm_ir_is_in(CHEAP, op->kind);
}

static inline void need_until(dm_plan *plan, int until)
{
    plan->last = plan->last < until ? until : plan->last;
}

static void decide_op(planner *p, const dm_ir_op *op, int at, int end)
{
    int last = at;
    if (op->result_count == 1) {
        dm_plan *plan = &p->plan[op->result];
        plan->inlined = is_inlined(p, op, plan, end);
        last = plan->inlined ? plan->last : at;
    }
    need_until(&p->plan[op->args[0]], last);
    need_until(&p->plan[op->args[1]], last);
    for (int a = 2; a < op->arg_count; a++)
        need_until(&p->plan[op->args[a]], last);
    for (int a = 0; op->kind == DM_IR_FOR && a < 3; a++) /* bounds are asked for in each round */
        need_until(&p->plan[op->args[a]], end);
}

static void decide_block(planner *p, const dm_ir_block *block, int *number)
{
    for (int i = block->count - 1; i >= 0; i--) {
        const dm_ir_op *op = block->ops[i];
        int end = *number;
        for (int k = 1; k >= 0; k--)
            if (op->blocks[k] != NULL)
                decide_block(p, op->blocks[k], number);
        int at = --*number;
        decide_op(p, op, at, end - 1);
    }
}

/* A value is now needed up to `last`, and so are the values in its expression. */
static void needed_until(planner *p, dm_val v, int last)
{
    if (p->plan[v].last < last)
        p->plan[v].last = last;
    const dm_ir_op *def = p->f->values[v].def;
    if (def != NULL && p->plan[v].inlined && def->blocks[0] == NULL)
        for (int i = 0; i < def->arg_count; i++)
            needed_until(p, def->args[i], last);
}

static bool any_write_between(const planner *p, int from, int to)
{
    int at = first_write(p, from);
    return at < p->write_count && p->writes[at].number < to;
}

/* Third: a value whose only use is the end of its block is written there. */
static void fold_into_end(planner *p, const dm_ir_op *end)
{
    for (int a = 0; a < end->arg_count; a++) {
        dm_val v = end->args[a];
        dm_plan *plan = &p->plan[v];
        const dm_ir_op *def = p->f->values[v].def;
        if (def == NULL || plan->inlined || plan->uses != 1 || def->result_count != 1 ||
            !(dm_ir_infos[def->kind].effect == DM_IR_PURE ||
              (def->kind == DM_IR_INVOKE && !def->callee->has_effects)) ||
            def->kind == DM_IR_INSERT || def->kind == DM_IR_SETFIELD || def->kind == DM_IR_ZERO ||
            plan->use_block != plan->def_block ||
            any_write_between(p, plan->def_number, plan->last))
            continue;
        plan->inlined = true;
        needed_until(p, v, plan->last);
    }
}

void dm_print_plan(dm_printer *pr, const dm_ir_function *f)
{
    dm_lang *lang = pr->lang;
    planner p = {.pr = pr, .f = f};
    /* From -1 on: NONE may be counted, too. */
    p.plan = dm_lang_alloc_array(lang, (size_t)f->value_count + 1, sizeof *p.plan);
    p.plan++;
    count_block(&p, f->body, NULL);
    int number = p.op_count;
    decide_block(&p, f->body, &number);
    for (int i = p.end_count - 1; i >= 0; i--) /* outer ones first */
        fold_into_end(&p, p.ends[i]);
    pr->f = f;
    pr->plan = p.plan;
    pr->function_stamp = ++lang->kept->texts;
}
