/* SPDX-License-Identifier: MIT */
/* lower_grad.c - what is said about gradients in the dialect: @wp.func_grad and @wp.func_replay of
 * the program, and the adjoint expressions of builtins. See lower.h. */
#include "lang/lower.h"

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
        if (type->kind == DM_TYPE_ARRAY && !type->fixed)
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

bool dm_lower_adjoint_text(dm_module_unit *module, dm_ir_builder *b, const dm_ast *ast,
                           const char *const *names, const dm_val *values, int count,
                           const dm_type *wanted, dm_val *out)
{
    dm_lower state, *lw = &state;
    dm_lower_start(lw, module, module->root, b->function);
    lw->b = *b;
    lw->weak = true;
    lw->bound_names = names;
    lw->bound = values;
    lw->bound_count = count;
    if (!dm_lower_value(lw, ast, out))
        return false;
    const dm_ir_op *c = dm_ir_const(b->function, *out);
    if (c != NULL && dm_type_is_scalar(wanted))
        *out = dm_ir_cast(b, *out, wanted);
    assert(b->function->values[*out].type == wanted);
    return b->function->values[*out].type == wanted;
}
