/* SPDX-License-Identifier: MIT */
/* lower_call.c - calls: of functions of the program, of rows of builtins.def, of our own functions
 * in library/; and what all kinds of calls share. See lower.h. */
#include "lang/ir/lower_call.h"

#include <assert.h>
#include <string.h>

/* ---- Our own functions ---- */

dm_scope *dm_module_library(dm_module_unit *module)
{
    if (module->library != NULL)
        return module->library;
    dm_lang *lang = module->lang;
    dm_scope *scope = dm_lang_alloc(lang, sizeof *scope);
    *scope = (dm_scope){.lang = lang, .module = module};
    module->library = scope;
    return scope;
}

/* The functions as values of this module, which keeps what they were compiled for. */
static const dm_value *library_function(dm_lower *lw, const dm_library_function *library)
{
    dm_module_unit *module = lw->module;
    dm_lang *lang = lw->lang;
    for (dm_library_found *found = module->library_found; found != NULL; found = found->next)
        if (found->library == library)
            return found->value;
    dm_value *head = NULL, **last = &head;
    for (const dm_library_function *f = library; f != NULL; f = f->next) {
        dm_value *value = dm_value_new(lang, DM_VALUE_FUNCTION);
        value->function = dm_lang_alloc(lang, sizeof *value->function);
        *value->function = (dm_function_decl){.ast = f->ast,
                                              .scope = dm_module_library(module),
                                              .name = f->ast->name,
                                              .is_library = true};
        *last = value;
        last = (dm_value **)&value->next;
    }
    dm_library_found *kept = dm_lang_alloc(lang, sizeof *kept);
    *kept = (dm_library_found){.library = library, .value = head, .next = module->library_found};
    module->library_found = kept;
    return head;
}

/* ---- Helpers ---- */

bool dm_call_value(dm_lower *lw, const dm_call *c, int i, dm_val *out)
{
    const dm_ast *at = c->ast->kind == DM_AST_CALL && i < c->ast->count ? c->ast->items[i] : c->ast;
    return dm_lower_materialize(lw, at, &c->args[i], out);
}

/* The argument of a name or position; NULL when it is not given. */
const dm_operand *dm_call_find(const dm_call *c, int position, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (c->names[i] == NULL ? i == position : strcmp(c->names[i], name) == 0)
            return &c->args[i];
    return NULL;
}

/* A literal takes the type that is wanted; other values must have it. */
bool dm_call_fit(dm_lower *lw, const dm_type *type, dm_val *value)
{
    const dm_type *have = dm_lower_type(lw, *value);
    const dm_ir_op *c = dm_ir_const(lw->function, *value);
    if (have == type)
        return true;
    if (c == NULL || !dm_type_is_scalar(type) || !(c->is_literal || lw->weak))
        return false;
    if (dm_type_is_float(have) && !dm_type_is_float(type))
        return false;
    *value = dm_ir_cast(&lw->b, *value, type);
    return true;
}

bool dm_call_int(dm_lower *lw, const dm_operand *operand, int *out)
{
    int64_t number;
    if (operand == NULL)
        return false;
    if (operand->kind == DM_OPERAND_KNOWN && operand->known->kind == DM_VALUE_INT)
        number = operand->known->integer;
    else if (operand->kind != DM_OPERAND_VALUE || operand->value == DM_VAL_NONE ||
             !dm_ir_const_int(lw->function, operand->value, &number))
        return false;
    *out = (int)number;
    return number > 0 && number < 4096;
}

const dm_type *dm_call_type(const dm_operand *operand)
{
    return operand != NULL && operand->kind == DM_OPERAND_KNOWN &&
                   operand->known->kind == DM_VALUE_TYPE
               ? operand->known->type
               : NULL;
}

/* ---- Functions of the program ---- */

/* Arguments in the order of the parameters; false when they do not fit. */
static bool bind_args(const dm_function_decl *decl, const dm_operand *args,
                      const char *const *names, int count, dm_operand *out)
{
    const dm_ast *ast = decl->ast;
    if (count > ast->count || ast->count > ARGS_MAX)
        return false;
    bool set[ARGS_MAX] = {false};
    for (int i = 0; i < count; i++) {
        int to = i;
        if (names[i] != NULL)
            for (to = 0; to < ast->count; to++)
                if (ast->items[to]->name == names[i] ||
                    (ast->items[to]->name != NULL && strcmp(ast->items[to]->name, names[i]) == 0))
                    break;
        if (to >= ast->count || set[to])
            return false;
        out[to] = args[i];
        set[to] = true;
    }
    for (int i = 0; i < ast->count; i++) {
        if (ast->items[i]->op != 0)
            return false;
        if (!set[i] && ast->items[i]->b == NULL)
            return false;
        if (!set[i])
            out[i] = dm_lower_known(dm_scope_eval(decl->scope, ast->items[i]->b));
    }
    return true;
}

static bool is_number(const dm_operand *operand)
{
    if (operand->kind != DM_OPERAND_KNOWN)
        return operand->kind == DM_OPERAND_VALUE || operand->kind == DM_OPERAND_ITEMS;
    dm_value_kind kind = operand->known->kind;
    return kind == DM_VALUE_BOOL || kind == DM_VALUE_INT || kind == DM_VALUE_FLOAT ||
           kind == DM_VALUE_SCALAR || kind == DM_VALUE_NUMBERS;
}

/* Do the arguments have the types that the annotations ask for? */
static bool accepts(dm_lower *lw, const dm_function_decl *decl, const dm_operand *args,
                    const dm_val *values)
{
    for (int i = 0; i < decl->ast->count; i++) {
        const dm_ast *annotation = decl->ast->items[i]->a;
        if (annotation == NULL || values[i] == DM_VAL_NONE)
            continue;
        const dm_value *type;
        if (decl->is_library && annotation->kind == DM_AST_NAME) {
            type = dm_value_member(lw->scope, &(dm_value){.kind = DM_VALUE_MODULE, .text = "warp"},
                                   annotation->name);
            if (strcmp(annotation->name, "Any") == 0)
                continue;
        } else {
            type = dm_scope_eval(decl->scope, annotation);
        }
        if (type->kind == DM_VALUE_STRING) {
            const dm_type *named = dm_scope_annotation(decl->scope, annotation);
            if (named == NULL)
                return false;
            type = dm_value_type(lw->lang, named);
        }
        if (type->kind == DM_VALUE_GENERIC_CLASS &&
            dm_lower_type(lw, values[i])->kind == DM_TYPE_ARRAY)
            continue;
        if (type->kind == DM_VALUE_TYPE &&
            !dm_type_matches(type->type, dm_lower_type(lw, values[i])))
            return false;
        (void)args;
    }
    return true;
}

/* Is one of the parameters of any type? Such an overload gives way to one that names the types. */
static bool is_generic(const dm_function_decl *decl)
{
    for (int i = 0; !decl->is_library && i < decl->ast->count; i++) {
        const dm_ast *annotation = decl->ast->items[i]->a;
        const dm_value *type = annotation == NULL ? NULL : dm_scope_eval(decl->scope, annotation);
        if (type == NULL || type->kind == DM_VALUE_GENERIC_CLASS ||
            (type->kind == DM_VALUE_TYPE && type->type->generic))
            return true;
    }
    return false;
}

static dm_operand invoke(dm_lower *lw, const dm_ast *at, dm_function_decl *decl,
                         const dm_operand *args, const dm_val *values)
{
    dm_call_arg types[ARGS_MAX];
    dm_val passed[ARGS_MAX];
    int count = decl->ast->count, used = 0;
    for (int i = 0; i < count; i++) {
        types[i] = (dm_call_arg){0};
        if (values[i] == DM_VAL_NONE) {
            types[i].known = args[i].known;
        } else {
            types[i].type = dm_lower_type(lw, values[i]);
            passed[used++] = values[i];
        }
    }
    dm_ir_function *f = dm_lower_function(lw->module, decl, types, count, at->pos);
    if (f == NULL) {
        if (lw->lang->error_count == 0)
            return dm_lower_error(lw, at, NULL, "'%s' could not be compiled", decl->name);
        return DM_OPERAND_BAD;
    }
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_INVOKE, passed, used, f->result);
    for (int i = 0; i < used; i++)
        dm_ir_note_array(lw->function, passed[i]);
    op->callee = f;
    return dm_lower_value_operand(op->result);
}

dm_operand dm_lower_call_user(dm_lower *lw, const dm_ast *at, const dm_value *callee,
                              const dm_operand *args, const char *const *names, int count)
{
    const dm_value *first = callee;
    dm_operand bound[ARGS_MAX];
    dm_val values[ARGS_MAX];
    for (int pass = 0; pass < 2;
         pass++) { /* overloads that name all types, then the generic ones */
        for (callee = first; callee != NULL; callee = callee->next) {
            dm_function_decl *decl = callee->function;
            if (is_generic(decl) != (pass == 1))
                continue;
            if (!bind_args(decl, args, names, count, bound))
                continue;
            bool fine = true;
            for (int i = 0; i < decl->ast->count && fine; i++) {
                values[i] = DM_VAL_NONE;
                if (is_number(&bound[i]))
                    fine = dm_lower_materialize(lw, at, &bound[i], &values[i]);
                else if (bound[i].kind == DM_OPERAND_ERROR)
                    return DM_OPERAND_BAD;
            }
            if (fine && accepts(lw, decl, bound, values))
                return invoke(lw, at, decl, bound, values);
        }
    }
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = dm_lang_format(lw->lang, "%s%s%s", text, i > 0 ? ", " : "",
                              dm_lower_describe(lw, &args[i]));
    return dm_lower_error(lw, at, NULL, "'%s' does not take (%s)", first->function->name, text);
}

/* ---- Rows and the library ---- */

/* Arguments in a row's order, by keyword too. */
static bool bind_row(dm_lower *lw, const dm_builtin *row, const dm_call *c, dm_val *out)
{
    bool set[DM_BUILTIN_PARAMS_MAX] = {false};
    if (c->count > row->param_count)
        return false;
    for (int i = 0; i < c->count; i++) {
        int to = i;
        if (c->names[i] != NULL)
            for (to = 0; to < row->param_count; to++)
                if (strcmp(row->params[to].name, c->names[i]) == 0)
                    break;
        if (to >= row->param_count || set[to] || !dm_call_value(lw, c, i, &out[to]))
            return false;
        set[to] = true;
    }
    for (int i = 0; i < row->param_count; i++) {
        if (set[i])
            continue;
        if (row->params[i].initial == NULL)
            return false;
        if (!dm_lower_value(lw, row->params[i].initial_tree, &out[i]))
            return false;
    }
    return true;
}

static dm_operand call_row(dm_lower *lw, const dm_call *c, const dm_builtin *first)
{
    dm_val args[DM_BUILTIN_PARAMS_MAX];
    assert(first != NULL);
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (c->args[i].kind == DM_OPERAND_ERROR || !dm_call_value(lw, c, i, &value))
            return DM_OPERAND_BAD;
        c->args[i] = dm_lower_value_operand(value);
    }
    for (const dm_builtin *row = first; row != NULL; row = row->next)
        if (bind_row(lw, row, c, args) &&
            (row->next == NULL || row->param_count != row->next->param_count ||
             c->count == row->param_count))
            return dm_lower_builtin(lw, c->ast, first, args, row->param_count, c->name);
    return dm_lower_error(lw, c->ast, first->signature, "'%s' does not take these arguments",
                          c->name);
}

/* Library functions whose first parameter is `state` hand back the new state. */
static dm_operand call_library(dm_lower *lw, const dm_call *c, const dm_value *callee)
{
    const dm_ast *ast = callee->function->ast;
    bool stateful = ast->count > 0 && strcmp(ast->items[0]->name, "state") == 0;
    dm_operand result = dm_lower_call_user(lw, c->ast, callee, c->args, c->names, c->count);
    if (!stateful || result.kind != DM_OPERAND_VALUE || result.value == DM_VAL_NONE ||
        dm_lower_type(lw, result.value)->kind != DM_TYPE_TUPLE)
        return result;
    const dm_ast *target = c->ast->items[0];
    if (target->kind == DM_AST_NAME || target->kind == DM_AST_SUBSCRIPT ||
        target->kind == DM_AST_ATTRIBUTE)
        dm_lower_assign(lw, target, dm_lower_value_operand(dm_ir_field(&lw->b, result.value, 1)),
                        target);
    return dm_lower_value_operand(dm_ir_field(&lw->b, result.value, 0));
}

static dm_operand no_builtin(dm_lower *lw, const dm_call *c)
{
    const char *dot = strrchr(c->name, '.');
    if (dot != NULL)
        return dm_lower_error(lw, c->ast,
                              "of math and numpy, kernels can call what Warp has by the "
                              "same name, such as sin",
                              "'%s' cannot be called in a kernel", c->name);
    if (dm_namespace_unsupported(c->name))
        return dm_lower_error(lw, c->ast, NULL, "the builtin '%s' is not supported", c->name);
    const char *near = dm_namespace_closest(lw->lang, c->name);
    return dm_lower_error(
        lw, c->ast, near == NULL ? NULL : dm_lang_format(lw->lang, "did you mean '%s'?", near),
        "there is no builtin '%s'", c->name);
}

static dm_operand call_builtin(dm_lower *lw, const dm_call *c, const dm_known_name *known)
{
    bool ours = lw->weak || lw->scope == lw->module->library;
    if (known != NULL && known->special >= 0)
        return dm_lower_special_call(lw, c, known->special);
    if (known != NULL && known->row != NULL && (c->name[0] != '_' || ours))
        return call_row(lw, c, known->row);
    if (known != NULL && known->library != NULL)
        return call_library(lw, c, library_function(lw, known->library));
    return no_builtin(lw, c);
}

static bool has_star(const dm_ast *ast)
{
    for (int i = 0; i < ast->count; i++)
        if (ast->items[i]->kind == DM_AST_STARRED)
            return true;
    return false;
}

/* f(*v): the components of a vector or the items of a tuple, one after the other */
static bool add_starred(dm_lower *lw, const dm_ast *star, dm_operand *args, int *count, int room)
{
    dm_operand value = dm_lower_expr(lw, star->a);
    const dm_type *type = value.kind == DM_OPERAND_VALUE && value.value != DM_VAL_NONE
                              ? dm_lower_type(lw, value.value)
                              : NULL;
    int items = -1;
    if (value.kind == DM_OPERAND_ITEMS)
        items = value.count;
    else if (value.kind == DM_OPERAND_KNOWN && value.known->kind == DM_VALUE_ITEMS)
        items = value.known->count;
    else if (type != NULL && type->kind == DM_TYPE_TUPLE)
        items = type->field_count;
    else if (type != NULL && dm_type_is_numeric(type) && type->kind != DM_TYPE_MAT)
        items = type->rows;
    if (items < 0 || *count + items > room) {
        if (value.kind != DM_OPERAND_ERROR)
            dm_lower_error(lw, star, NULL, "'*' takes a vector or a tuple, not %s",
                           dm_lower_describe(lw, &value));
        return false;
    }
    for (int i = 0; i < items; i++) {
        if (value.kind == DM_OPERAND_ITEMS)
            args[*count] = value.items[i];
        else if (value.kind == DM_OPERAND_KNOWN)
            args[*count] = dm_lower_known(value.known->items[i]);
        else
            args[*count] = dm_lower_value_operand(type->kind == DM_TYPE_TUPLE
                                                      ? dm_ir_field(&lw->b, value.value, i)
                                                      : dm_ir_extract_at(&lw->b, value.value, i));
        (*count)++;
    }
    return true;
}

/* wp.static(expression), evaluated as Python would if that is possible at compile time; otherwise the
 * expression is lowered like the rest of the kernel. */
static bool is_static(dm_lower *lw, const dm_ast *ast, const dm_operand *callee, dm_operand *out)
{
    if (callee->kind != DM_OPERAND_KNOWN || callee->known->kind != DM_VALUE_BUILTIN ||
        strcmp(callee->known->text, "static") != 0 || ast->count != 1 ||
        ast->items[0]->kind == DM_AST_KEYWORD || ast->items[0]->kind == DM_AST_STARRED)
        return false;
    const dm_value *value = dm_scope_eval(lw->scope, ast->items[0]);
    if (value->kind == DM_VALUE_UNKNOWN || value->kind == DM_VALUE_ITEMS)
        return false;
    *out = dm_lower_known(value);
    return true;
}

/* vector(length=3, dtype=float) is a type where it is called, and else a value, all zeros. */
static dm_operand lower_callee(dm_lower *lw, const dm_ast *ast)
{
    const dm_value *type = ast->kind == DM_AST_CALL ? dm_scope_eval(lw->scope, ast) : NULL;
    return type != NULL && type->kind == DM_VALUE_TYPE && !type->type->generic
               ? dm_lower_known(type)
               : dm_lower_expr(lw, ast);
}

dm_operand dm_lower_call(dm_lower *lw, const dm_ast *ast)
{
    int tid_wanted = lw->tid_wanted;
    lw->tid_wanted = 0;
    dm_operand callee = lower_callee(lw, ast->a), known;
    if (is_static(lw, ast, &callee, &known))
        return known;
    int room = has_star(ast) ? ARGS_MAX : ast->count + 1, count = 0;
    dm_operand *args = dm_lang_alloc_array(lw->lang, (size_t)room, sizeof *args);
    const char **names = dm_lang_alloc_array(lw->lang, (size_t)room, sizeof *names);
    bool bad = callee.kind == DM_OPERAND_ERROR;
    if (ast->count >= ARGS_MAX)
        return dm_lower_error(lw, ast, NULL, "too many arguments");
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *arg = ast->items[i];
        if (arg->kind == DM_AST_KEYWORD && arg->name == NULL)
            return dm_lower_error(lw, arg, NULL, "'**' arguments are not supported in kernels");
        if (arg->kind == DM_AST_STARRED) {
            if (!add_starred(lw, arg, args, &count, room))
                return DM_OPERAND_BAD;
            continue;
        }
        if (count >= room)
            return dm_lower_error(lw, ast, NULL, "too many arguments");
        names[count] = arg->kind == DM_AST_KEYWORD ? arg->name : NULL;
        args[count] = dm_lower_expr(lw, arg->kind == DM_AST_KEYWORD ? arg->a : arg);
        bad |= args[count++].kind == DM_OPERAND_ERROR;
    }
    lw->tid_wanted = tid_wanted;
    if (bad)
        return DM_OPERAND_BAD;
    dm_call c = {.ast = ast, .args = args, .names = names, .count = count};
    if (callee.kind != DM_OPERAND_KNOWN)
        return dm_lower_error(lw, ast->a, NULL, "%s cannot be called",
                              dm_lower_describe(lw, &callee));
    switch (callee.known->kind) {
    case DM_VALUE_TYPE:
        return dm_lower_construct(lw, ast, callee.known->type, args, names, count);
    case DM_VALUE_GENERIC_CLASS:
        if (strstr(callee.known->text, "array") == NULL)
            return dm_lower_construct_generic(lw, &c, callee.known->text);
        return dm_lower_error(lw, ast, NULL, "arrays cannot be made in a kernel");
    case DM_VALUE_FUNCTION:
        return dm_lower_call_user(lw, ast, callee.known, args, names, count);
    case DM_VALUE_BUILTIN:
        c.name = callee.known->text;
        if (callee.known->known != NULL && strchr(c.name, '.') != NULL &&
            dm_namespace_has(dm_lang_intern_text(lw->lang, strchr(c.name, '.') + 1)))
            c.name = strchr(c.name, '.') + 1; /* numpy.sin: Warp's */
        return call_builtin(lw, &c, callee.known->known);
    case DM_VALUE_UNKNOWN:
        return dm_lower_error(lw, ast->a, NULL, "this cannot be called in a kernel: %s",
                              callee.known->text);
    default:
        return dm_lower_error(lw, ast->a, NULL, "%s cannot be called in a kernel",
                              dm_lower_describe(lw, &callee));
    }
}
