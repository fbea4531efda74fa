/* SPDX-License-Identifier: MIT */
/* lower_grad.c - gradients written in the dialect: the program's @wp.func_grad and @wp.func_replay, and
 * the adjoint expressions of builtins. See lower.h. */
#include "lang/ir/lower_call.h"

#include <assert.h>
#include <string.h>

/* ---- Custom gradients ---- */

dm_custom *dm_lower_find_custom(dm_module_unit *module, const dm_ir_function *f, bool is_replay)
{
    const dm_ir_block *body = f->body;
    for (dm_custom *c = f->decl == NULL ? NULL : module->customs; c != NULL; c = c->next) {
        if (c->is_replay != is_replay || c->target != f->decl->name || c->scope != f->decl->scope ||
            c->ast->count < body->param_count)
            continue;
        bool fits = f->call_arg_count == body->param_count;
        for (int i = 0; fits && i < body->param_count; i++) {
            const dm_ast *annotation = c->ast->items[i]->a;
            const dm_type *type =
                annotation == NULL ? NULL : dm_scope_annotation(c->scope, annotation);
            fits = type == NULL || dm_type_matches(type, f->values[body->params[i]].type);
        }
        if (fits)
            return c;
    }
    return NULL;
}

/* A variable's name for its adjoint; no name of the source has a '.'. */
static const char *adjoint_name(dm_lang *lang, const char *name)
{
    return dm_lang_intern_text(lang, dm_lang_format(lang, "adj.%s", name));
}

/* The path a.b[i] with its first name replaced by that of its adjoint. */
static dm_ast *adjoint_path(dm_lang *lang, const dm_ast *path)
{
    dm_ast *copy = dm_lang_alloc(lang, sizeof *copy);
    *copy = *path;
    if (path->kind == DM_AST_NAME)
        copy->name = adjoint_name(lang, path->name);
    else if (path->a != NULL)
        copy->a = adjoint_path(lang, path->a);
    return copy;
}

/* A copy of the tree in which wp.adjoint[x] is a variable. */
static dm_ast *without_adjoint(dm_lang *lang, const dm_ast *ast)
{
    if (ast == NULL)
        return NULL;
    if (ast->kind == DM_AST_SUBSCRIPT && ast->count == 1 &&
        (ast->a->kind == DM_AST_ATTRIBUTE || ast->a->kind == DM_AST_NAME) &&
        strcmp(ast->a->name, "adjoint") == 0)
        return adjoint_path(lang, ast->items[0]);
    dm_ast *copy = dm_lang_alloc(lang, sizeof *copy);
    *copy = *ast;
    copy->a = without_adjoint(lang, ast->a);
    copy->b = without_adjoint(lang, ast->b);
    copy->c = without_adjoint(lang, ast->c);
    copy->body = without_adjoint(lang, ast->body);
    copy->other = without_adjoint(lang, ast->other);
    copy->items = dm_lang_alloc_array(lang, (size_t)ast->count + 1, sizeof(void *));
    for (int i = 0; i < ast->count; i++)
        copy->items[i] = without_adjoint(lang, ast->items[i]);
    return copy;
}

void dm_lower_custom_grad(dm_module_unit *module, const dm_ir_function *f, const dm_custom *custom,
                          dm_ir_function *made, const dm_val *slots, dm_val given)
{
    dm_lang *lang = module->lang;
    dm_lower *lw = dm_lang_alloc(lang, sizeof *lw);
    int count = f->body->param_count;
    dm_lower_start(lw, module, custom->scope, made);
    for (int i = 0; i < count; i++) {
        const char *name = custom->ast->items[i]->name;
        dm_val param = made->body->params[i];
        const dm_type *type = made->values[param].type;
        dm_lower_set(lw, dm_lower_variable(lw, name), dm_lower_value_operand(param));
        dm_val adjoint = DM_VAL_NONE;
        if (type->kind == DM_TYPE_ARRAY)
            adjoint = dm_ir_simple(&lw->b, DM_IR_ADJOINT, &param, 1, type);
        else if (slots[i] != DM_VAL_NONE)
            adjoint = dm_ir_zero(&lw->b, type);
        if (adjoint != DM_VAL_NONE)
            dm_lower_set(lw, dm_lower_variable(lw, adjoint_name(lang, name)),
                         dm_lower_value_operand(adjoint));
    }
    for (int i = count; i < custom->ast->count && given != DM_VAL_NONE; i++) {
        const dm_type *type = made->values[given].type;
        bool parts = type->kind == DM_TYPE_TUPLE && custom->ast->count > count + 1;
        if (parts ? i - count >= type->field_count : i > count)
            break;
        dm_lower_set(lw, dm_lower_variable(lw, custom->ast->items[i]->name),
                     dm_lower_value_operand(parts ? dm_ir_field(&lw->b, given, i - count) : given));
    }
    dm_lower_block(lw, without_adjoint(lang, custom->ast->body));
    for (int i = 0; i < count && !lw->ended; i++) {
        int which = dm_lower_find_variable(lw, adjoint_name(lang, custom->ast->items[i]->name));
        if (slots[i] == DM_VAL_NONE || which < 0)
            continue;
        dm_val args[] = {slots[i], lw->variables[which].now.value};
        dm_ir_op_new(&lw->b, DM_IR_ADD, args, 2, NULL);
    }
    if (lw->ended)
        dm_lang_error(lang, custom->ast->pos, custom->ast->end, NULL,
                      "a custom gradient cannot return early");
    dm_ir_op_new(&lw->b, DM_IR_RETURN, NULL, 0, NULL);
}

/* ---- Adjoint expressions of builtins ---- */

/* From the tree, for what steps cannot say. */
static bool lower_tree(dm_lower *lw, const dm_builtin *row, const dm_builtin_param *param,
                       const dm_adjoint_values *values, dm_val *out)
{
    const char *names[DM_BUILTIN_PARAMS_MAX + 2];
    dm_val bound[DM_BUILTIN_PARAMS_MAX + 2];
    int count = 0;
    for (int i = 0; i < row->param_count; i++)
        if (values->params[i] != DM_VAL_NONE) {
            names[count] = row->params[i].name;
            bound[count++] = values->params[i];
        }
    if (values->ret != DM_VAL_NONE) {
        names[count] = dm_lang_intern_text(lw->lang, "ret");
        bound[count++] = values->ret;
    }
    names[count] = dm_lang_intern_text(lw->lang, "g");
    bound[count++] = values->g;
    lw->bound_names = names;
    lw->bound = bound;
    lw->bound_count = count;
    bool fine = dm_lower_value(lw, param->adjoint_tree, out);
    lw->bound_count = 0;
    return fine;
}

static bool lower_steps(dm_lower *lw, const dm_builtin_param *param,
                        const dm_adjoint_values *values, dm_val *out)
{
    const dm_ast *at = param->adjoint_tree; /* for messages */
    dm_val stack[DM_STEPS_MAX] = {0};
    int top = 0;
    for (const dm_adjoint_step *step = param->steps; step < param->steps + param->step_count;
         step++) {
        int taken = 0;
        dm_operand made = {.kind = DM_OPERAND_VALUE};
        switch ((dm_adjoint_step_kind)step->kind) {
        case DM_STEP_PARAM:
            made.value = values->params[step->number];
            break;
        case DM_STEP_RET:
            made.value = values->ret;
            break;
        case DM_STEP_G:
            made.value = values->g;
            break;
        case DM_STEP_INT:
            made.value = dm_lower_int_literal(lw, (int64_t)step->real);
            break;
        case DM_STEP_FLOAT:
            made.value = dm_lower_real_literal(lw, step->real);
            break;
        case DM_STEP_ROW:
            taken = step->number;
            made = dm_lower_builtin(lw, at, step->row, stack + top - taken, taken, step->row->name);
            break;
        case DM_STEP_COMPARE:
            taken = 2;
            if (!dm_lower_compare(lw, at, step->number, stack[top - 2], stack[top - 1],
                                  &made.value))
                return false;
            break;
        case DM_STEP_WHERE:
            taken = 3;
            made = dm_lower_where(lw, at, stack + top - taken);
            break;
        case DM_STEP_ZERO_LIKE:
            taken = 1;
            made.value = dm_ir_zero(&lw->b, dm_lower_type(lw, stack[top - 1]));
            break;
        }
        if (made.kind != DM_OPERAND_VALUE || made.value == DM_VAL_NONE)
            return false;
        top -= taken;
        stack[top++] = made.value;
    }
    assert(top == 1);
    *out = stack[0];
    return true;
}

bool dm_lower_adjoint(dm_lower *lw, const dm_builtin *row, const dm_builtin_param *param,
                      const dm_adjoint_values *values, const dm_type *wanted, dm_val *out)
{
    bool fine = param->steps != NULL ? lower_steps(lw, param, values, out)
                                     : lower_tree(lw, row, param, values, out);
    if (!fine)
        return false;
    if (dm_ir_const(lw->function, *out) != NULL && dm_type_is_scalar(wanted))
        *out = dm_ir_cast(&lw->b, *out, wanted);
    assert(dm_lower_type(lw, *out) == wanted);
    return dm_lower_type(lw, *out) == wanted;
}
