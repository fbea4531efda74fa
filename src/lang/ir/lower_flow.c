/* SPDX-License-Identifier: MIT */
/* lower_flow.c - branches and loops turn variables into SSA values: what an `if` changes becomes
 * its results, what a loop changes its carried values. See lower.h. */
#include "lang/ir/lower.h"

#include <string.h>

#define UNROLL_MAX 16 /* as Warp's max_unroll */

/* ---- Branches ---- */

typedef struct change {
    int variable;
    dm_operand value;
} change;

typedef struct changes {
    change *items;
    int count, capacity;
} changes;

static bool first_seen(dm_lower *lw, int variable)
{
    dm_variable *v = &lw->variables[variable];
    bool first = v->mark != lw->marks;
    if (first)
        v->changed[0] = v->changed[1] = 0;
    v->mark = lw->marks;
    return first;
}

/* Undo the changes since the log had `mark` entries, and return them. */
static changes take_changes(dm_lower *lw, int mark)
{
    changes out = {0};
    lw->marks++;
    for (int i = mark; i < lw->undo_count; i++) {
        int variable = lw->undo[i].variable;
        if (!first_seen(lw, variable))
            continue;
        change one = {.variable = variable, .value = lw->variables[variable].now};
        DM_LANG_PUSH(lw->lang, out.items, out.count, out.capacity, one);
    }
    for (int i = lw->undo_count - 1; i >= mark; i--)
        lw->variables[lw->undo[i].variable].now = lw->undo[i].before;
    lw->undo_count = mark;
    return out;
}

typedef struct branch {
    dm_ir_block *block;
    changes changed;
    bool ended;
} branch;

static branch lower_branch(dm_lower *lw, const dm_ast *body)
{
    branch made = {.block = dm_ir_block_new(lw->lang)};
    dm_ir_block *before = lw->b.block;
    int mark = lw->undo_count;
    bool ended = lw->ended;
    lw->b.block = made.block;
    if (body != NULL)
        dm_lower_block(lw, body);
    made.ended = lw->ended;
    made.changed = take_changes(lw, mark);
    lw->ended = ended;
    lw->b.block = before;
    return made;
}

/* A variable's value at the end of a branch as an IR value; zero where it was never set. */
static dm_val branch_value(dm_lower *lw, dm_ir_block *block, const dm_operand *operand,
                           const dm_type *type)
{
    dm_ir_block *before = lw->b.block;
    dm_val value;
    lw->b.block = block;
    if (operand->kind == DM_OPERAND_VALUE && dm_lower_type(lw, operand->value) == type)
        value = operand->value;
    else
        value = dm_ir_zero(&lw->b, type);
    lw->b.block = before;
    return value;
}

static void end_with(dm_lower *lw, dm_ir_block *block, dm_ir_kind kind, const dm_val *args,
                     int count)
{
    dm_ir_block *before = lw->b.block;
    lw->b.block = block;
    dm_ir_op_new(&lw->b, kind, args, count, NULL);
    lw->b.block = before;
}

/* Variables that a branch which goes on changed, each once. */
static int *merged_variables(dm_lower *lw, const branch *a, const branch *b, int *count)
{
    int *list = dm_lang_alloc_array(lw->lang, (size_t)(a->changed.count + b->changed.count) + 1,
                                    sizeof *list);
    const branch *both[] = {a, b};
    lw->marks++;
    *count = 0;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < both[k]->changed.count; i++) {
            int variable = both[k]->changed.items[i].variable;
            bool first = first_seen(lw, variable);
            lw->variables[variable].changed[k] = i + 1;
            if (first && !(a->ended && k == 0) && !(b->ended && k == 1))
                list[(*count)++] = variable;
            else if (first)
                lw->variables[variable].mark = 0; /* listed if the other branch changed it too */
        }
    }
    return list;
}

static dm_operand changed_value(const dm_lower *lw, const branch *from, int variable, int which)
{
    int at = lw->variables[variable].changed[which];
    return at > 0 ? from->changed.items[at - 1].value : lw->variables[variable].now;
}

static void merge(dm_lower *lw, dm_val condition, branch *then, branch *other)
{
    int count, results = 0;
    int *list = merged_variables(lw, then, other, &count);
    dm_val *then_args = dm_lang_alloc_array(lw->lang, (size_t)count + 1, sizeof *then_args);
    dm_val *other_args = dm_lang_alloc_array(lw->lang, (size_t)count + 1, sizeof *other_args);
    int *result_of = dm_lang_alloc_array(lw->lang, (size_t)count + 1, sizeof *result_of);
    for (int i = 0; i < count; i++) {
        dm_operand a = changed_value(lw, then, list[i], 0),
                   b = changed_value(lw, other, list[i], 1);
        const dm_type *type = lw->variables[list[i]].type;
        bool values = (a.kind == DM_OPERAND_VALUE || a.kind == DM_OPERAND_ERROR) &&
                      (b.kind == DM_OPERAND_VALUE || b.kind == DM_OPERAND_ERROR) && type != NULL;
        if (!values) { /* a known thing: the branch that goes on decides */
            dm_lower_set(lw, list[i], then->ended ? b : a);
            continue;
        }
        if (!then->ended)
            then_args[results] = branch_value(lw, then->block, &a, type);
        if (!other->ended)
            other_args[results] = branch_value(lw, other->block, &b, type);
        result_of[results++] = list[i];
    }
    if (!then->ended)
        end_with(lw, then->block, DM_IR_YIELD, then_args, results);
    if (!other->ended)
        end_with(lw, other->block, DM_IR_YIELD, other_args, results);
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_IF, &condition, 1, NULL);
    op->blocks[0] = then->block;
    op->blocks[1] = other->block;
    op->result_count = results;
    for (int i = 0; i < results; i++) {
        const dm_variable *variable = &lw->variables[result_of[i]];
        dm_val v = dm_ir_value_new(lw->function, variable->type, variable->name);
        lw->function->values[v].def = op;
        if (i == 0)
            op->result = v;
        dm_lower_set(lw, result_of[i], dm_lower_value_operand(v));
    }
    lw->ended = then->ended && other->ended;
}

void dm_lower_if(dm_lower *lw, const dm_ast *ast)
{
    dm_val condition;
    int64_t decided;
    if (!dm_lower_value(lw, ast->a, &condition) ||
        !dm_lower_truth(lw, ast->a, condition, &condition)) {
        condition = dm_ir_bool(&lw->b, true); /* go on, for more errors */
        branch lost = lower_branch(lw, ast->body);
        if (ast->other != NULL)
            lower_branch(lw, ast->other);
        for (int i = 0; i < lost.changed.count; i++)
            lw->variables[lost.changed.items[i].variable].bad = true;
        return;
    }
    if (dm_ir_const_int(lw->function, condition, &decided)) {
        if (decided != 0)
            dm_lower_block(lw, ast->body);
        else if (ast->other != NULL)
            dm_lower_block(lw, ast->other);
        return;
    }
    branch then = lower_branch(lw, ast->body), other = lower_branch(lw, ast->other);
    lw->b.pos = ast->pos;
    merge(lw, condition, &then, &other);
}

/* ---- Loops ---- */

typedef struct assigned {
    int *items;  /* variables */
    bool *whole; /* the name itself is bound, not only a part of its value */
    int count, capacity, whole_capacity;
} assigned;

static void add_assigned(dm_lower *lw, assigned *out, const char *name, bool whole)
{
    int variable = dm_lower_variable(lw, name), count = out->count;
    for (int i = 0; i < out->count; i++) {
        if (out->items[i] == variable) {
            out->whole[i] |= whole;
            return;
        }
    }
    DM_LANG_PUSH(lw->lang, out->items, out->count, out->capacity, variable);
    DM_LANG_PUSH(lw->lang, out->whole, count, out->whole_capacity, whole);
}

static void find_target(dm_lower *lw, assigned *out, const dm_ast *target)
{
    bool whole = true;
    for (int i = 0;
         (target->kind == DM_AST_TUPLE || target->kind == DM_AST_LIST) && i < target->count; i++)
        find_target(lw, out, target->items[i]);
    while (target->kind == DM_AST_ATTRIBUTE || target->kind == DM_AST_SUBSCRIPT) {
        target = target->a;
        whole = false;
    }
    if (target->kind == DM_AST_NAME)
        add_assigned(lw, out, target->name, whole);
}

/* Random numbers change their state, an argument: `x = wp.randf(state)`. */
static void find_states(dm_lower *lw, assigned *out, const dm_ast *at)
{
    if (at == NULL)
        return;
    if (at->kind == DM_AST_CALL && at->count > 0 && at->items[0]->kind == DM_AST_NAME &&
        (at->a->kind == DM_AST_NAME || at->a->kind == DM_AST_ATTRIBUTE)) {
        int variable = dm_lower_find_variable(lw, at->items[0]->name);
        const dm_operand *now = variable < 0 ? NULL : &lw->variables[variable].now;
        if (now != NULL && now->kind == DM_OPERAND_VALUE && now->value != DM_VAL_NONE &&
            dm_lower_type(lw, now->value) == dm_type_scalar(lw->lang, DM_U32))
            find_target(lw, out, at->items[0]);
    }
    find_states(lw, out, at->a);
    find_states(lw, out, at->b);
    find_states(lw, out, at->c);
    for (int i = 0; i < at->count; i++)
        find_states(lw, out, at->items[i]);
}

static void find_assigned(dm_lower *lw, assigned *out, const dm_ast *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ast *at = block->items[i];
        find_states(lw, out, at);
        if (at->kind == DM_AST_ASSIGN)
            for (int t = 0; t < at->count; t++)
                find_target(lw, out, at->items[t]);
        if (at->kind == DM_AST_AUGMENTED || at->kind == DM_AST_ANNOTATED || at->kind == DM_AST_FOR)
            find_target(lw, out, at->a);
        find_assigned(lw, out, at->body);
        find_assigned(lw, out, at->other);
    }
}

/* Does the block leave or repeat the loop it belongs to? */
static bool has_jump(const dm_ast *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ast *at = block->items[i];
        if (at->kind == DM_AST_BREAK || at->kind == DM_AST_CONTINUE)
            return true;
        if (at->kind != DM_AST_FOR && at->kind != DM_AST_WHILE &&
            (has_jump(at->body) || has_jump(at->other)))
            return true;
    }
    return false;
}

static void split_assigned(dm_lower *lw, dm_loop *loop, const assigned *found)
{
    loop->carried = dm_lang_alloc_array(lw->lang, (size_t)found->count + 1, sizeof(int));
    loop->late = dm_lang_alloc_array(lw->lang, (size_t)found->count + 1, sizeof(int));
    for (int i = 0; i < found->count; i++) {
        const dm_variable *variable = &lw->variables[found->items[i]];
        if (variable->now.kind == DM_OPERAND_VALUE) {
            bool element = !found->whole[i] && variable->type->kind == DM_TYPE_ARRAY;
            if (!element)
                loop->carried[loop->carried_count++] = found->items[i];
        } else if (variable->now.kind == DM_OPERAND_ERROR && found->whole[i]) {
            loop->late[loop->late_count++] = found->items[i];
        }
    }
}

/* End the current block by leaving or repeating the loop. */
void dm_lower_exit(dm_lower *lw, dm_loop *loop, dm_ir_kind kind)
{
    dm_val *args = dm_lang_alloc_array(lw->lang, (size_t)loop->carried_count + 1, sizeof *args);
    for (int i = 0; i < loop->carried_count; i++) {
        const dm_variable *variable = &lw->variables[loop->carried[i]];
        args[i] = branch_value(lw, lw->b.block, &variable->now, variable->type);
    }
    dm_exit exit = {.op = dm_ir_op_new(&lw->b, kind, args, loop->carried_count, NULL)};
    exit.late = dm_lang_alloc_array(lw->lang, (size_t)loop->late_count + 1, sizeof *exit.late);
    for (int i = 0; i < loop->late_count; i++) {
        const dm_operand *now = &lw->variables[loop->late[i]].now;
        exit.late[i] = now->kind == DM_OPERAND_VALUE ? now->value : DM_VAL_NONE;
    }
    DM_LANG_PUSH(lw->lang, loop->exits, loop->exit_count, loop->exit_capacity, exit);
}

static void add_arg(dm_lang *lang, dm_ir_op *op, dm_val value)
{
    dm_val *larger = dm_ir_args(lang, op->arg_count + 1);
    if (op->arg_count > 0)
        memcpy(larger, op->args, (size_t)op->arg_count * sizeof *larger);
    larger[op->arg_count++] = value;
    op->args = larger;
}

/* Variables first set inside: carried too, from zero, so that they can be used behind the loop. */
static void carry_late(dm_lower *lw, dm_loop *loop, dm_ir_block *head, dm_val *initial,
                       int *initial_count, int *variables)
{
    for (int i = 0; i < loop->late_count; i++) {
        const dm_variable *variable = &lw->variables[loop->late[i]];
        bool set = false;
        for (int e = 0; e < loop->exit_count; e++)
            set |= loop->exits[e].late[i] != DM_VAL_NONE;
        if (variable->type == NULL || !set)
            continue;
        dm_val param = dm_ir_param(lw->function, head, variable->type, variable->name);
        variables[*initial_count] = loop->late[i];
        initial[(*initial_count)++] = dm_ir_zero(&lw->b, variable->type);
        for (int e = 0; e < loop->exit_count; e++)
            add_arg(lw->lang, loop->exits[e].op,
                    loop->exits[e].late[i] == DM_VAL_NONE ? param : loop->exits[e].late[i]);
    }
}

static void loop_params(dm_lower *lw, const dm_loop *loop, dm_ir_block *head, dm_val *initial)
{
    for (int i = 0; i < loop->carried_count; i++) {
        dm_variable *variable = &lw->variables[loop->carried[i]];
        initial[i] = variable->now.value;
        dm_val param = dm_ir_param(lw->function, head, variable->type, variable->name);
        dm_lower_set(lw, loop->carried[i], dm_lower_value_operand(param));
    }
}

/* The loop's operation, behind its blocks; its results are the variables' values from here. */
static void finish_loop(dm_lower *lw, dm_loop *loop, dm_ir_kind kind, const dm_val *bounds,
                        dm_ir_block *head, dm_ir_block *body, dm_val *initial, int mark)
{
    int count = loop->carried_count, fixed = kind == DM_IR_FOR ? 3 : 0;
    int *variables = dm_lang_alloc_array(
        lw->lang, (size_t)(loop->carried_count + loop->late_count) + 1, sizeof *variables);
    memcpy(variables, loop->carried, (size_t)loop->carried_count * sizeof *variables);
    take_changes(lw, mark);
    carry_late(lw, loop, head, initial, &count, variables);
    dm_val *args = dm_lang_alloc_array(lw->lang, (size_t)(count + fixed) + 1, sizeof *args);
    if (fixed > 0)
        memcpy(args, bounds, (size_t)fixed * sizeof *args);
    memcpy(args + fixed, initial, (size_t)count * sizeof *args);
    dm_ir_op *op = dm_ir_op_new(&lw->b, kind, args, fixed + count, NULL);
    op->blocks[0] = head;
    op->blocks[1] = body;
    op->result_count = count;
    op->no_break = true;
    for (int e = 0; e < loop->exit_count; e++)
        op->no_break &= loop->exits[e].op->kind != DM_IR_BREAK;
    for (int i = 0; i < count; i++) {
        const dm_variable *variable = &lw->variables[variables[i]];
        dm_val v = dm_ir_value_new(lw->function, variable->type, variable->name);
        lw->function->values[v].def = op;
        if (i == 0)
            op->result = v;
        dm_lower_set(lw, variables[i], dm_lower_value_operand(v));
    }
    lw->loop = loop->outer;
    lw->ended = false;
}

static void start_loop(dm_lower *lw, dm_loop *loop, const dm_ast *ast)
{
    assigned found = {0};
    find_assigned(lw, &found, ast->body);
    if (ast->kind == DM_AST_FOR)
        find_target(lw, &found, ast->a);
    split_assigned(lw, loop, &found);
    loop->outer = lw->loop;
    lw->loop = loop;
}

static dm_ast *made_node(dm_lower *lw, dm_ast_kind kind, const dm_ast *at, const dm_ast *item)
{
    dm_ast *made = dm_lang_alloc(lw->lang, sizeof *made);
    *made = (dm_ast){.kind = (uint8_t)kind, .pos = at->pos, .end = at->end};
    if (item != NULL) {
        made->items = dm_lang_alloc(lw->lang, sizeof(void *));
        made->items[made->count++] = (dm_ast *)item;
    }
    return made;
}

/* A condition that draws random numbers changes their state, the last time too:
 * `while c: body` is lowered as `while True: if c: body else: break`. */
static const dm_ast *with_plain_condition(dm_lower *lw, const dm_ast *ast)
{
    assigned found = {0};
    find_states(lw, &found, ast->a);
    if (found.count == 0)
        return ast;
    dm_ast *choice = made_node(lw, DM_AST_IF, ast->a, NULL);
    choice->a = ast->a;
    choice->body = ast->body;
    choice->other = made_node(lw, DM_AST_BLOCK, ast->a, made_node(lw, DM_AST_BREAK, ast->a, NULL));
    dm_ast *loop = made_node(lw, DM_AST_WHILE, ast, NULL);
    loop->a = made_node(lw, DM_AST_BOOL, ast->a, NULL);
    loop->a->integer = 1;
    loop->body = made_node(lw, DM_AST_BLOCK, ast, choice);
    return loop;
}

void dm_lower_while(dm_lower *lw, const dm_ast *ast)
{
    dm_loop loop = {0};
    ast = with_plain_condition(lw, ast);
    dm_ir_block *before = lw->b.block, *head = dm_ir_block_new(lw->lang),
                *body = dm_ir_block_new(lw->lang);
    start_loop(lw, &loop, ast);
    dm_val *initial = dm_lang_alloc_array(
        lw->lang, (size_t)(loop.carried_count + loop.late_count) + 1, sizeof *initial);
    int mark = lw->undo_count;
    loop_params(lw, &loop, head, initial);
    lw->b.block = head;
    dm_val condition;
    if (!dm_lower_value(lw, ast->a, &condition) ||
        !dm_lower_truth(lw, ast->a, condition, &condition))
        condition = dm_ir_bool(&lw->b, false);
    dm_ir_op_new(&lw->b, DM_IR_COND, &condition, 1, NULL);
    lw->b.block = body;
    dm_lower_block(lw, ast->body);
    if (!lw->ended)
        dm_lower_exit(lw, &loop, DM_IR_YIELD);
    lw->b.block = before;
    lw->b.pos = ast->pos;
    finish_loop(lw, &loop, DM_IR_WHILE, NULL, head, body, initial, mark);
}

/* The bounds of range(...); false after an error. */
static bool lower_range(dm_lower *lw, const dm_ast *call, dm_val bounds[3])
{
    dm_val given[3];
    const dm_type *type = dm_type_scalar(lw->lang, DM_I32); /* as Warp's range */
    if (call->count < 1 || call->count > 3) {
        dm_lower_error(lw, call, NULL, "range takes one to three arguments");
        return false;
    }
    for (int i = 0; i < call->count; i++) {
        if (!dm_lower_value(lw, call->items[i], &given[i]))
            return false;
        const dm_type *found = dm_lower_type(lw, given[i]);
        if (found != type) {
            dm_lower_error(lw, call->items[i], "convert it with int(...)",
                           "range takes int32, not %s", found->name);
            return false;
        }
    }
    bounds[0] = call->count == 1 ? dm_ir_int(&lw->b, type, 0) : given[0];
    bounds[1] = call->count == 1 ? given[0] : given[1];
    bounds[2] = call->count == 3 ? given[2] : dm_ir_int(&lw->b, type, 1);
    int64_t step;
    if (dm_ir_const_int(lw->function, bounds[2], &step) && step == 0) {
        dm_lower_error(lw, call, NULL, "range with step 0 never ends");
        return false;
    }
    return true;
}

/* A range of known, short length without break and continue is unrolled. */
static bool unroll(dm_lower *lw, const dm_ast *ast, const dm_val bounds[3])
{
    int64_t first, last, step;
    if (lw->module->options.keep_loops && !lw->function->is_library)
        return false;
    if (!dm_ir_const_int(lw->function, bounds[0], &first) ||
        !dm_ir_const_int(lw->function, bounds[1], &last) ||
        !dm_ir_const_int(lw->function, bounds[2], &step) || step == 0 || has_jump(ast->body))
        return false;
    int64_t count = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
    if (count > UNROLL_MAX)
        return false;
    for (int64_t i = 0; i < count && !lw->ended; i++) {
        dm_val index = dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), first + i * step);
        dm_lower_assign(lw, ast->a, dm_lower_value_operand(index), ast->a);
        dm_lower_block(lw, ast->body);
    }
    return true;
}

void dm_lower_for(dm_lower *lw, const dm_ast *ast)
{
    dm_val bounds[3];
    const dm_ast *call = ast->b;
    dm_operand callee = DM_OPERAND_BAD;
    if (call->kind == DM_AST_CALL)
        callee = dm_lower_expr(lw, call->a);
    if (callee.kind != DM_OPERAND_KNOWN || callee.known->kind != DM_VALUE_BUILTIN ||
        strcmp(callee.known->text, "range") != 0 || ast->a->kind != DM_AST_NAME) {
        dm_lower_error(lw, call, "for i in range(...)", "a kernel can only loop over a range");
        return;
    }
    if (!lower_range(lw, call, bounds) || unroll(lw, ast, bounds))
        return;
    dm_loop loop = {0};
    dm_ir_block *before = lw->b.block, *body = dm_ir_block_new(lw->lang);
    const dm_type *type = dm_lower_type(lw, bounds[0]);
    start_loop(lw, &loop, ast);
    dm_val *initial = dm_lang_alloc_array(
        lw->lang, (size_t)(loop.carried_count + loop.late_count) + 1, sizeof *initial);
    int mark = lw->undo_count;
    dm_val counter = dm_ir_param(lw->function, body, type, ast->a->name);
    loop_params(lw, &loop, body, initial);
    lw->b.block = body;
    dm_lower_assign(lw, ast->a, dm_lower_value_operand(counter), ast->a);
    dm_lower_block(lw, ast->body);
    if (!lw->ended)
        dm_lower_exit(lw, &loop, DM_IR_YIELD);
    lw->b.block = before;
    lw->b.pos = ast->pos;
    finish_loop(lw, &loop, DM_IR_FOR, bounds, body, NULL, initial, mark);
}
