/* SPDX-License-Identifier: MIT */
/* lower.c - variables, statements and functions; lower_flow.c has branches and loops. See lower.h.
 */
#include "lang/ir/lower.h"

#include <stdint.h>
#include <string.h>

/* ---- Variables ---- */

static int slot_of(const dm_lower *lw, const char *name)
{
    int mask = lw->slot_capacity - 1, slot = (int)dm_lang_name_of(name)->number & mask;
    while (lw->slots[slot] != 0 && lw->variables[lw->slots[slot] - 1].name != name)
        slot = (slot + 1) & mask;
    return slot;
}

int dm_lower_find_variable(const dm_lower *lw, const char *name)
{
    return lw->slot_capacity == 0 ? -1 : lw->slots[slot_of(lw, name)] - 1;
}

int dm_lower_variable(dm_lower *lw, const char *name)
{
    if (lw->variable_count * 2 >= lw->slot_capacity) {
        lw->slot_capacity = lw->slot_capacity == 0 ? 16 : lw->slot_capacity * 2;
        lw->slots = dm_lang_alloc_array(lw->lang, (size_t)lw->slot_capacity, sizeof *lw->slots);
        for (int i = 0; i < lw->variable_count; i++)
            lw->slots[slot_of(lw, lw->variables[i].name)] = i + 1;
    }
    int slot = slot_of(lw, name);
    if (lw->slots[slot] == 0) {
        dm_variable made = {.name = name, .now = DM_OPERAND_BAD};
        DM_LANG_PUSH(lw->lang, lw->variables, lw->variable_count, lw->variable_capacity, made);
        lw->slots[slot] = lw->variable_count;
    }
    return lw->slots[slot] - 1;
}

void dm_lower_set(dm_lower *lw, int variable, dm_operand value)
{
    dm_undo undo = {.variable = variable, .before = lw->variables[variable].now};
    DM_LANG_PUSH(lw->lang, lw->undo, lw->undo_count, lw->undo_capacity, undo);
    lw->variables[variable].now = value;
    if (lw->variables[variable].type == NULL && value.kind == DM_OPERAND_VALUE)
        lw->variables[variable].type = dm_lower_type(lw, value.value);
}

/* ---- Statements ---- */

static void lower_return(dm_lower *lw, const dm_ast *ast)
{
    dm_ir_function *f = lw->function;
    dm_val value = DM_VAL_NONE;
    if (ast->a != NULL && ast->a->kind != DM_AST_NONE) {
        if (f->role == DM_IR_KERNEL) {
            dm_lower_error(lw, ast->a, NULL, "a kernel returns nothing");
            return;
        }
        if (!dm_lower_value(lw, ast->a, &value)) {
            lw->ended = true;
            f->failed = true;
            return;
        }
        const dm_type *type = dm_lower_type(lw, value);
        if (f->result->kind == DM_TYPE_NONE) {
            f->result = type;
        } else if (f->result != type) {
            dm_lower_error(lw, ast->a, NULL, "this returns %s, but '%s' returns %s", type->name,
                           f->name, f->result->name);
            return;
        }
    }
    dm_ir_op_new(&lw->b, DM_IR_RETURN, &value, value == DM_VAL_NONE ? 0 : 1, NULL);
    lw->ended = true;
}

static void lower_jump(dm_lower *lw, const dm_ast *ast)
{
    if (lw->loop == NULL) {
        dm_lower_error(lw, ast, NULL, "this stands in no loop");
        return;
    }
    dm_lower_exit(lw, lw->loop, ast->kind == DM_AST_BREAK ? DM_IR_BREAK : DM_IR_CONTINUE);
    lw->ended = true;
}

static void lower_assert(dm_lower *lw, const dm_ast *ast)
{
    dm_val value;
    if (!dm_lower_value(lw, ast->a, &value) || !dm_lower_truth(lw, ast->a, value, &value))
        return;
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_CHECK, &value, 1, NULL);
    op->text = ast->b != NULL && ast->b->kind == DM_AST_STRING ? ast->b->name : "assertion failed";
}

static void lower_annotated(dm_lower *lw, const dm_ast *ast)
{
    const dm_type *type = dm_scope_annotation(lw->scope, ast->b);
    dm_val value;
    if (ast->c == NULL || type == NULL)
        return;
    dm_operand operand = dm_lower_expr(lw, ast->c);
    if (!dm_lower_materialize(lw, ast->c, &operand, &value))
        return;
    if (!dm_type_matches(type, dm_lower_type(lw, value)))
        dm_lower_error(lw, ast, NULL, "the value is %s, not %s", dm_lower_type(lw, value)->name,
                       type->name);
    else
        dm_lower_assign(lw, ast->a, operand, ast->c);
}

static void lower_statement(dm_lower *lw, const dm_ast *at)
{
    lw->b.pos = at->pos;
    switch (at->kind) {
    case DM_AST_PASS:
        break;
    case DM_AST_EXPR:
        if (at->a->kind != DM_AST_STRING && at->a->kind != DM_AST_ELLIPSIS)
            dm_lower_expr(lw, at->a);
        break;
    case DM_AST_ASSIGN: {
        lw->tid_wanted = at->items[0]->kind == DM_AST_TUPLE ? at->items[0]->count : 1;
        dm_operand value = dm_lower_expr(lw, at->a);
        for (int i = 0; i < at->count; i++)
            dm_lower_assign(lw, at->items[i], value, at->a);
        break;
    }
    case DM_AST_AUGMENTED:
        dm_lower_augmented(lw, at);
        break;
    case DM_AST_ANNOTATED:
        lower_annotated(lw, at);
        break;
    case DM_AST_IF:
        dm_lower_if(lw, at);
        break;
    case DM_AST_FOR:
        dm_lower_for(lw, at);
        break;
    case DM_AST_WHILE:
        dm_lower_while(lw, at);
        break;
    case DM_AST_BREAK:
    case DM_AST_CONTINUE:
        lower_jump(lw, at);
        break;
    case DM_AST_RETURN:
        lower_return(lw, at);
        break;
    case DM_AST_ASSERT:
        lower_assert(lw, at);
        break;
    default:
        dm_lower_error(lw, at, NULL, "%s cannot stand in a kernel",
                       at->kind == DM_AST_OPAQUE     ? at->name
                       : at->kind == DM_AST_FUNCTION ? "a function definition"
                       : at->kind == DM_AST_CLASS    ? "a class"
                                                     : "this");
        break;
    }
}

void dm_lower_block(dm_lower *lw, const dm_ast *block)
{
    for (int i = 0; i < block->count && !lw->ended; i++)
        lower_statement(lw, block->items[i]);
}

/* ---- Functions ---- */

void dm_lower_start(dm_lower *lw, dm_module_unit *module, dm_scope *scope, dm_ir_function *f)
{
    memset(lw, 0, sizeof *lw);
    lw->lang = module->lang;
    lw->module = module;
    lw->scope = scope;
    lw->function = f;
    lw->b = (dm_ir_builder){.lang = module->lang, .function = f, .block = f->body, .pos = f->pos};
}

static void add_function(dm_module_unit *module, dm_ir_function *f)
{
    if (module->last_function == NULL)
        module->functions = f;
    else
        module->last_function->next = f;
    module->last_function = f;
    f->order = module->function_count++;
}

static void add_param(dm_lower *lw, const char *name, const dm_type *type)
{
    dm_val v = dm_ir_param(lw->function, lw->function->body, type, name);
    dm_lower_set(lw, dm_lower_variable(lw, name), dm_lower_value_operand(v));
}

/* Of what it calls. */
static void find_effects(dm_ir_function *f, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        f->has_effects |= op->kind == DM_IR_INVOKE && op->callee->has_effects;
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                find_effects(f, op->blocks[k]);
    }
}

static void finish(dm_lower *lw)
{
    dm_ir_function *f = lw->function;
    if (!lw->ended) {
        dm_val value = DM_VAL_NONE;
        if (f->result->kind != DM_TYPE_NONE)
            value = dm_ir_zero(&lw->b, f->result);
        dm_ir_op_new(&lw->b, DM_IR_RETURN, &value, value == DM_VAL_NONE ? 0 : 1, NULL);
    }
    f->has_effects =
        (f->kinds & (DM_IR_BIT(STORE) | DM_IR_BIT(ATOMIC) | DM_IR_BIT(PRINT) | DM_IR_BIT(CHECK))) !=
        0;
    if ((f->kinds & DM_IR_BIT(INVOKE)) != 0)
        find_effects(f, f->body);
    dm_passes_lowered(f);
}

/* A name for C that no other function of the module has. */
static const char *unique_name(dm_module_unit *module, const char *name)
{
    int same = 0;
    for (const dm_ir_function *f = module->functions; f != NULL; f = f->next)
        same += f->name == name;
    return same == 0 ? name : dm_lang_format(module->lang, "%s_%d", name, same + 1);
}

static bool is_same_call(const dm_ir_function *f, const dm_call_arg *args, int count)
{
    if (f->call_arg_count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (f->call_args[i].type != args[i].type || f->call_args[i].known != args[i].known)
            return false;
    return true;
}

dm_ir_function *dm_lower_function(dm_module_unit *module, dm_function_decl *decl,
                                  const dm_call_arg *args, int count, dm_pos call)
{
    dm_lang *lang = module->lang;
    for (dm_ir_function *f = decl->instances; f != NULL; f = f->next_instance) {
        if (!is_same_call(f, args, count))
            continue;
        if (f->busy)
            dm_lang_error(lang, call, call, NULL, "'%s' calls itself, which kernels cannot do",
                          decl->name);
        return f->busy || f->failed ? NULL : f;
    }
    dm_ir_function *f = dm_ir_function_new(lang, decl->name);
    f->role = DM_IR_FUNCTION;
    f->pos = decl->ast->pos;
    f->decl = decl;
    f->ast = decl->ast;
    f->is_library = decl->is_library;
    f->busy = true;
    f->next_instance = decl->instances;
    decl->instances = f;
    dm_lower *lw = dm_lang_alloc(lang, sizeof *lw);
    dm_lower_start(lw, module, decl->scope, f);
    dm_call_arg *kept = dm_lang_alloc_array(lang, (size_t)count + 1, sizeof *kept);
    if (count > 0)
        memcpy(kept, args, (size_t)count * sizeof *kept);
    f->call_args = kept;
    f->call_arg_count = count;
    for (int i = 0; i < count; i++) {
        const char *name = decl->ast->items[i]->name;
        if (args[i].known != NULL)
            dm_lower_set(lw, dm_lower_variable(lw, name), dm_lower_known(args[i].known));
        else
            add_param(lw, name, args[i].type);
    }
    int errors = lang->error_count;
    dm_pos outer = lang->library_call;
    if (decl->is_library && outer == DM_POS_NONE)
        lang->library_call = call;
    if (++module->call_depth > DM_LANG_DEPTH_MAX / 4) {
        dm_lang_error(lang, call, call, NULL, "functions call each other too deeply");
        dm_lang_bail(lang, "functions call each other too deeply");
    }
    dm_lower_block(lw, decl->ast->body);
    finish(lw);
    module->call_depth--;
    lang->library_call = outer;
    f->busy = false;
    f->failed |= lang->error_count != errors;
    f->c_name = unique_name(module, f->name);
    add_function(module, f);
    return f->failed ? NULL : f;
}

/* The default types of a generic kernel's parameters. */
static const dm_type *concrete(dm_lang *lang, const dm_type *type)
{
    switch (type->kind) {
    case DM_TYPE_ANY:
        return dm_type_scalar(lang, DM_F32);
    case DM_TYPE_ARRAY:
        return dm_type_array(lang, type->ndim == 0 ? 1 : type->ndim, concrete(lang, type->element));
    case DM_TYPE_SCALAR:
        return dm_type_scalar(lang, type->scalar == DM_ANY_INT     ? DM_I32
                                    : type->scalar >= DM_ANY_FLOAT ? DM_F32
                                                                   : (dm_scalar)type->scalar);
    case DM_TYPE_VEC:
        return dm_type_vec(lang, type->rows == 0 ? 3 : type->rows,
                           type->scalar >= DM_ANY_FLOAT ? DM_F32 : (dm_scalar)type->scalar);
    case DM_TYPE_MAT:
        return dm_type_mat(lang, type->rows == 0 ? 3 : type->rows, type->cols == 0 ? 3 : type->cols,
                           type->scalar >= DM_ANY_FLOAT ? DM_F32 : (dm_scalar)type->scalar);
    default:
        return dm_type_with_scalar(lang, type,
                                   type->scalar >= DM_ANY_FLOAT ? DM_F32 : (dm_scalar)type->scalar);
    }
}

dm_ir_function *dm_lower_kernel(dm_module_unit *module, dm_function_decl *decl)
{
    dm_lang *lang = module->lang;
    const dm_ast *ast = decl->ast;
    dm_ir_function *f = dm_ir_function_new(lang, decl->name);
    f->role = DM_IR_KERNEL;
    f->pos = ast->pos;
    f->decl = decl;
    f->ast = ast;
    dm_ir_reserve(f, 120);
    dm_lower *lw = dm_lang_alloc(lang, sizeof *lw);
    dm_lower_start(lw, module, decl->scope, f);
    int errors = lang->error_count;
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *param = ast->items[i];
        if (param->name == NULL || param->op != 0) {
            dm_lang_error(lang, param->pos, param->end, NULL,
                          "a kernel takes plain parameters only");
            continue;
        }
        if (param->a == NULL) {
            dm_lang_error(lang, param->pos, param->end, "for instance: x: wp.array(dtype=float)",
                          "the parameter '%s' needs a type", param->name);
            continue;
        }
        const dm_type *type = dm_scope_annotation(decl->scope, param->a);
        if (type != NULL && type->kind == DM_TYPE_NONE)
            dm_lang_error(lang, param->pos, param->end, NULL, "a parameter cannot be None");
        else if (type != NULL)
            add_param(lw, param->name, type->generic ? concrete(lang, type) : type);
    }
    if (lang->error_count == errors) {
        dm_lower_block(lw, ast->body);
        finish(lw);
    }
    f->failed = lang->error_count != errors;
    f->c_name = unique_name(module, f->name);
    add_function(module, f);
    return f->failed ? NULL : f;
}
