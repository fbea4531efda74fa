/* SPDX-License-Identifier: MIT */
/* lower_call.c - calls: of types (casts and constructors), of functions of the program, of
 * builtins. Builtins whose type rule or meaning is not a row of builtins.def have a handler in
 * `specials`. See lower.h. */
#include "lang/lower.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ARGS_MAX 256

/* A call with its arguments lowered. */
typedef struct call {
    const dm_ast *ast;
    const char *name; /* as it was written, for messages */
    dm_operand *args;
    const char **names; /* keywords; NULL: by position */
    int count;
} call;

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

static const dm_type *scalar(dm_lower *lw, dm_scalar which)
{
    return dm_type_scalar(lw->lang, which);
}

static bool arg_value(dm_lower *lw, const call *c, int i, dm_val *out)
{
    const dm_ast *at = c->ast->kind == DM_AST_CALL && i < c->ast->count ? c->ast->items[i] : c->ast;
    return dm_lower_materialize(lw, at, &c->args[i], out);
}

/* The argument of a name or position; NULL when it is not given. */
static const dm_operand *find_arg(const call *c, int position, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (c->names[i] == NULL ? i == position : strcmp(c->names[i], name) == 0)
            return &c->args[i];
    return NULL;
}

/* A literal takes the type that is wanted; other values must have it. */
static bool fit(dm_lower *lw, const dm_type *type, dm_val *value)
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

static bool known_int(dm_lower *lw, const dm_operand *operand, int *out)
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

static const dm_type *known_type(const dm_operand *operand)
{
    return operand != NULL && operand->kind == DM_OPERAND_KNOWN &&
                   operand->known->kind == DM_VALUE_TYPE
               ? operand->known->type
               : NULL;
}

/* ---- Constructors ---- */

static dm_operand fill(dm_lower *lw, const dm_type *type, dm_val value)
{
    int count = dm_type_components(type);
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count, sizeof *parts);
    for (int i = 0; i < count; i++)
        parts[i] = value;
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, count));
}

/* Scalars one by one, vectors and quaternions with their components one after the other. */
static dm_operand construct_parts(dm_lower *lw, const dm_type *type, const call *c)
{
    const dm_type *part = scalar(lw, (dm_scalar)type->scalar);
    int count = dm_type_components(type), used = 0;
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count + 1, sizeof *parts);
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (!arg_value(lw, c, i, &value))
            return DM_OPERAND_BAD;
        const dm_type *have = dm_lower_type(lw, value);
        int have_count = dm_type_components(have);
        bool whole = dm_type_is_numeric(have) && have->scalar == type->scalar;
        if (used + have_count > count || (!whole && !fit(lw, part, &value)))
            return dm_lower_error(lw, c->ast, NULL,
                                  dm_type_is_scalar(have) && used + have_count <= count
                                      ? "a component of %s cannot be %s"
                                      : "%s cannot be made from these arguments (%s)",
                                  type->name, have->name);
        for (int k = 0; whole && k < have_count; k++)
            parts[used++] = dm_ir_extract_at(&lw->b, value, k);
        if (!whole)
            parts[used++] = value;
    }
    if (used != count)
        return dm_lower_error(lw, c->ast, NULL, "%s has %d components, not %d", type->name, count,
                              used);
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, count));
}

/* Vectors given to a matrix are its columns. */
static dm_operand construct_columns(dm_lower *lw, const dm_type *type, const call *c)
{
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)dm_type_components(type), sizeof *parts);
    for (int j = 0; j < type->cols; j++) {
        dm_val column;
        if (!arg_value(lw, c, j, &column))
            return DM_OPERAND_BAD;
        if (dm_lower_type(lw, column) != dm_type_vec(lw->lang, type->rows, (dm_scalar)type->scalar))
            return dm_lower_error(lw, c->ast, NULL, "a column of %s cannot be %s", type->name,
                                  dm_lower_type(lw, column)->name);
        for (int i = 0; i < type->rows; i++)
            parts[i * type->cols + j] = dm_ir_extract_at(&lw->b, column, i);
    }
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, type->rows * type->cols));
}

static dm_operand construct_numeric(dm_lower *lw, const dm_type *type, const call *c)
{
    dm_val value;
    if (c->count == 0)
        return dm_lower_value_operand(dm_ir_zero(&lw->b, type));
    if (c->count == 1 && c->args[0].kind == DM_OPERAND_ITEMS) {
        call inner = *c;
        const char *none[ARGS_MAX] = {0};
        if (c->args[0].count > ARGS_MAX)
            return DM_OPERAND_BAD;
        inner.args = (dm_operand *)c->args[0].items;
        inner.count = c->args[0].count;
        inner.names = none;
        return construct_parts(lw, type, &inner);
    }
    if (!arg_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    const dm_type *have = dm_lower_type(lw, value);
    if (c->count == 1 && dm_type_is_scalar(have) && type->kind != DM_TYPE_TRANSFORM) {
        if (!fit(lw, scalar(lw, (dm_scalar)type->scalar), &value))
            return dm_lower_error(lw, c->ast, NULL, "a component of %s cannot be %s", type->name,
                                  have->name);
        return fill(lw, type, value);
    }
    if (c->count == 1 && dm_type_is_numeric(have) &&
        dm_type_components(have) == dm_type_components(type)) {
        if (have->kind == type->kind)
            return dm_lower_value_operand(dm_ir_cast(&lw->b, value, type));
        return construct_parts(lw, type, c);
    }
    if (type->kind == DM_TYPE_MAT && c->count == type->cols && dm_type_is_numeric(have))
        return construct_columns(lw, type, c);
    return construct_parts(lw, type, c);
}

static dm_operand construct_struct(dm_lower *lw, const dm_type *type, const call *c)
{
    dm_val made = dm_ir_zero(&lw->b, type);
    for (int i = 0; i < type->field_count; i++) {
        dm_val value;
        const dm_field *field = &type->fields[i];
        const dm_operand *given = find_arg(c, i, field->name);
        dm_operand initial;
        if (given == NULL && field->initial == NULL)
            continue;
        if (given == NULL) {
            initial = dm_lower_known(dm_scope_eval((dm_scope *)type->scope, field->initial));
            given = &initial;
        }
        if (!dm_lower_materialize(lw, c->ast, given, &value))
            return DM_OPERAND_BAD;
        if (!fit(lw, field->type, &value))
            return dm_lower_error(lw, c->ast, NULL, "the field '%s' is %s, not %s", field->name,
                                  field->type->name, dm_lower_type(lw, value)->name);
        made = dm_ir_setfield(&lw->b, made, i, value);
    }
    return dm_lower_value_operand(made);
}

dm_operand dm_lower_construct(dm_lower *lw, const dm_ast *at, const dm_type *type,
                              const dm_operand *args, const char *const *names, int count)
{
    call c = {.ast = at,
              .name = type->name,
              .args = (dm_operand *)args,
              .names = (const char **)names,
              .count = count};
    dm_val value;
    if (type->kind == DM_TYPE_STRUCT)
        return construct_struct(lw, type, &c);
    if (dm_type_is_numeric(type) && !type->generic) {
        int kept = 0; /* dtype= says what is known already */
        for (int i = 0; i < c.count; i++)
            if (c.names[i] == NULL || strcmp(c.names[i], "dtype") != 0) {
                c.args[kept] = c.args[i];
                c.names[kept++] = c.names[i];
            }
        c.count = kept;
        return construct_numeric(lw, type, &c);
    }
    if (!dm_type_is_scalar(type) || type->generic)
        return dm_lower_error(lw, at, NULL, "%s cannot be made in a kernel", type->name);
    if (count == 0)
        return dm_lower_value_operand(dm_ir_zero(&lw->b, type));
    if (count != 1 || !arg_value(lw, &c, 0, &value))
        return count == 1 ? DM_OPERAND_BAD
                          : dm_lower_error(lw, at, NULL, "%s takes one value", type->name);
    if (!dm_type_is_scalar(dm_lower_type(lw, value)))
        return dm_lower_error(lw, at, NULL, "%s cannot be converted to %s",
                              dm_lower_type(lw, value)->name, type->name);
    dm_val made = dm_ir_cast(&lw->b, value, type);
    /* float(0.0) is a variable's first value, no literal any more. */
    if (made == value && dm_ir_const(lw->function, value) != NULL)
        made = dm_type_is_float(type)
                   ? dm_ir_real(&lw->b, type, dm_ir_const(lw->function, value)->real)
                   : dm_ir_int(&lw->b, type, dm_ir_const(lw->function, value)->integer);
    return dm_lower_value_operand(made);
}

/* wp.vector(1.0, 2.0), wp.matrix(..., shape=(2, 2)): the type follows from the arguments */
static dm_operand construct_generic(dm_lower *lw, const call *c, const char *name)
{
    const dm_operand *length = find_arg(c, ARGS_MAX, "length"),
                     *shape = find_arg(c, ARGS_MAX, "shape");
    const dm_type *dtype = known_type(find_arg(c, ARGS_MAX, "dtype"));
    dm_operand rest[ARGS_MAX];
    const char *none[ARGS_MAX] = {0};
    int count = 0, rows = 0, cols = 0;
    for (int i = 0; i < c->count; i++)
        if (c->names[i] == NULL)
            rest[count++] = c->args[i];
    dm_val first;
    if (dtype == NULL && count > 0) {
        if (!dm_lower_materialize(lw, c->ast, &rest[0], &first))
            return DM_OPERAND_BAD;
        const dm_type *have = dm_lower_type(lw, first);
        if (dm_type_is_scalar(have) || dm_type_is_numeric(have))
            dtype = scalar(lw, (dm_scalar)have->scalar);
        if (name[0] == 'v' && dm_type_is_numeric(have) && count == 1 && length == NULL)
            rows = dm_type_components(have);
    }
    if (dtype == NULL)
        dtype = scalar(lw, DM_F32);
    if (name[0] == 'q')
        return dm_lower_construct(lw, c->ast, dm_type_quat(lw->lang, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    if (name[0] == 't')
        return dm_lower_construct(lw, c->ast, dm_type_transform(lw->lang, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    if (name[0] == 'v') {
        if (rows == 0 && !known_int(lw, length, &rows))
            rows = count;
        if (rows < 1)
            return dm_lower_error(lw, c->ast, NULL, "the vector's length is not known");
        return dm_lower_construct(lw, c->ast, dm_type_vec(lw->lang, rows, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    }
    bool given = shape != NULL && shape->kind == DM_OPERAND_ITEMS && shape->count == 2 &&
                 known_int(lw, &shape->items[0], &rows) && known_int(lw, &shape->items[1], &cols);
    if (!given && shape != NULL && shape->kind == DM_OPERAND_KNOWN &&
        shape->known->kind == DM_VALUE_ITEMS && shape->known->count == 2) {
        rows = (int)shape->known->items[0]->integer;
        cols = (int)shape->known->items[1]->integer;
        given = rows > 0 && cols > 0 && rows < 4096 && cols < 4096;
    }
    if (!given)
        return dm_lower_error(lw, c->ast, "matrix(..., shape=(2, 3))",
                              "the matrix's shape is not known");
    return dm_lower_construct(
        lw, c->ast, dm_type_mat(lw->lang, rows, cols, (dm_scalar)dtype->scalar), rest, none, count);
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
    op->callee = f;
    return dm_lower_value_operand(op->result);
}

dm_operand dm_lower_call_user(dm_lower *lw, const dm_ast *at, const dm_value *callee,
                              const dm_operand *args, const char *const *names, int count)
{
    const dm_value *first = callee;
    dm_operand *bound = dm_lang_alloc_array(lw->lang, ARGS_MAX, sizeof *bound);
    dm_val *values = dm_lang_alloc_array(lw->lang, ARGS_MAX, sizeof *values);
    for (; callee != NULL; callee = callee->next) {
        dm_function_decl *decl = callee->function;
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
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = dm_lang_format(lw->lang, "%s%s%s", text, i > 0 ? ", " : "",
                              dm_lower_describe(lw, &args[i]));
    return dm_lower_error(lw, at, NULL, "'%s' does not take (%s)", first->function->name, text);
}

/* ---- Builtins with a meaning of their own ---- */

static dm_operand special_tid(dm_lower *lw, const call *c)
{
    if (lw->function->role != DM_IR_KERNEL)
        return dm_lower_error(lw, c->ast, "pass its value to the function",
                              "tid() can be called in kernels only");
    /* One value or several: the target of the assignment decides, see dm_lower_tid_count. */
    dm_operand *items = dm_lang_alloc_array(lw->lang, 4, sizeof *items);
    int count = lw->tid_wanted < 1 ? 1 : lw->tid_wanted;
    if (count > 4)
        return dm_lower_error(lw, c->ast, NULL, "tid() gives at most four values");
    if (lw->function->tid_count < count)
        lw->function->tid_count = count;
    for (int i = 0; i < count; i++) {
        dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_TID, NULL, 0, scalar(lw, DM_I32));
        op->index = i;
        items[i] = dm_lower_value_operand(op->result);
    }
    if (count == 1)
        return items[0];
    return (dm_operand){
        .kind = DM_OPERAND_ITEMS, .items = items, .count = count, .value = DM_VAL_NONE};
}

static dm_operand special_len(dm_lower *lw, const call *c)
{
    const dm_type *i32 = scalar(lw, DM_I32);
    dm_val value;
    if (c->count != 1)
        return dm_lower_error(lw, c->ast, NULL, "len takes one argument");
    if (c->args[0].kind == DM_OPERAND_ITEMS)
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, c->args[0].count));
    const dm_type *named = known_type(&c->args[0]);
    if (named != NULL && dm_type_is_numeric(named))
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, named->rows));
    if (!arg_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, value);
    if (type->kind == DM_TYPE_ARRAY && !type->fixed) {
        dm_val args[] = {value, dm_ir_int(&lw->b, i32, 0)};
        return dm_lower_value_operand(dm_ir_simple(&lw->b, DM_IR_SHAPE, args, 2, i32));
    }
    if (dm_type_is_numeric(type) || type->kind == DM_TYPE_ARRAY)
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, type->rows));
    if (type->kind == DM_TYPE_TUPLE)
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, type->field_count));
    return dm_lower_error(lw, c->ast, NULL, "%s has no length", type->name);
}

/* wp.atomic_add(array, i, j, value) */
static dm_operand special_atomic(dm_lower *lw, const call *c)
{
    const char *kind = dm_lang_intern_text(lw->lang, strrchr(c->name, '_') + 1);
    int values = strcmp(kind, "cas") == 0 ? 2 : 1;
    dm_val args[8];
    if (c->count < 2 + values || c->count > 8)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes an array, its indices and a value",
                              c->name);
    for (int i = 0; i < c->count; i++)
        if (!arg_value(lw, c, i, &args[i]))
            return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, args[0]);
    if (type->kind != DM_TYPE_ARRAY || type->fixed)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes an array first, not %s", c->name,
                              type->name);
    if (c->count - 1 - values != type->ndim)
        return dm_lower_error(lw, c->ast, NULL, "%d indices for an array of %d dimensions",
                              c->count - 1 - values, type->ndim);
    for (int i = 1; i <= type->ndim; i++) {
        if (!dm_type_is_int(dm_lower_type(lw, args[i])))
            return dm_lower_error(lw, c->ast, NULL, "an index must be an integer, not %s",
                                  dm_lower_type(lw, args[i])->name);
        args[i] = dm_ir_cast(&lw->b, args[i], scalar(lw, DM_I32));
    }
    for (int i = c->count - values; i < c->count; i++)
        if (!fit(lw, type->element, &args[i]))
            return dm_lower_error(lw, c->ast, NULL, "the array holds %s, not %s",
                                  type->element->name, dm_lower_type(lw, args[i])->name);
    const dm_type *element = type->element;
    bool bits = strcmp(kind, "and") == 0 || strcmp(kind, "or") == 0 || strcmp(kind, "xor") == 0;
    bool numbers = dm_type_is_scalar(element) || dm_type_is_numeric(element);
    if (!numbers || element->scalar == DM_BOOL ||
        (bits && !dm_scalar_is_int((dm_scalar)element->scalar)) ||
        (dm_scalar_bytes((dm_scalar)element->scalar) < 4 && element->scalar != DM_F16))
        return dm_lower_error(lw, c->ast, NULL, "'%s' does not work on %s", c->name, element->name);
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_ATOMIC, args, c->count, element);
    op->text = kind;
    return dm_lower_value_operand(op->result);
}

/* printf conversions of a value's parts, appended with the values. */
static bool print_parts(dm_lower *lw, dm_val value, const char **format, dm_val *out, int *count)
{
    const dm_type *type = dm_lower_type(lw, value);
    const dm_ir_op *def = lw->function->values[value].def;
    if (type->kind == DM_TYPE_STRING) {
        char *escaped = dm_lang_alloc(lw->lang, 2 * strlen(def->text) + 1), *to = escaped;
        for (const char *p = def->text; *p != '\0'; *to++ = *p++)
            if (*p == '%')
                *to++ = '%';
        *format = dm_lang_format(lw->lang, "%s%s", *format, escaped);
        return true;
    }
    if (type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_ARRAY || type->kind == DM_TYPE_TUPLE)
        return false;
    int parts = dm_type_components(type);
    if (*count + parts > 32)
        return false;
    for (int i = 0; i < parts; i++) {
        dm_val part = dm_type_is_scalar(type) ? value : dm_ir_extract_at(&lw->b, value, i);
        dm_scalar s = (dm_scalar)type->scalar;
        const char *one = dm_scalar_is_float(s) ? "%g"
                          : s == DM_U64         ? "%llu"
                          : s == DM_I64         ? "%lld"
                          : s == DM_U32         ? "%u"
                                                : "%d";
        dm_scalar as = dm_scalar_is_float(s)                    ? DM_F64
                       : dm_scalar_bytes(s) == 8 || s == DM_U32 ? s
                                                                : DM_I32;
        out[(*count)++] = dm_ir_cast(&lw->b, part, scalar(lw, as));
        *format = dm_lang_format(lw->lang, "%s%s%s", *format, i > 0 ? " " : "", one);
    }
    return true;
}

static dm_operand special_print(dm_lower *lw, const call *c)
{
    const char *format = "";
    dm_val values[32];
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (!arg_value(lw, c, i, &value))
            return DM_OPERAND_BAD;
        if (i > 0)
            format = dm_lang_format(lw->lang, "%s ", format);
        if (!print_parts(lw, value, &format, values, &count))
            return dm_lower_error(lw, c->ast, NULL, "%s cannot be printed",
                                  dm_lower_type(lw, value)->name);
    }
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_PRINT, values, count, NULL);
    op->text = dm_lang_format(lw->lang, "%s\n", format);
    return (dm_operand){.kind = DM_OPERAND_VALUE, .value = DM_VAL_NONE};
}

static dm_operand special_printf(dm_lower *lw, const call *c)
{
    dm_val values[32];
    if (c->count < 1 || c->count > 33 || c->args[0].kind != DM_OPERAND_KNOWN ||
        c->args[0].known->kind != DM_VALUE_STRING)
        return dm_lower_error(lw, c->ast, NULL, "printf takes a format string and its values");
    /* Each conversion gets the width that its value has. */
    const char *given = c->args[0].known->text, *format = "";
    int used = 0;
    if (strlen(given) > 4096)
        return dm_lower_error(lw, c->ast, NULL, "the format is longer than 4096 bytes");
    for (const char *p = given; *p != '\0'; p++) {
        if (*p != '%' || p[1] == '%') {
            format = dm_lang_format(lw->lang, "%s%.*s", format, *p == '%' ? 2 : 1, p);
            p += *p == '%';
            continue;
        }
        size_t flags = strspn(p + 1, "-+ #0123456789.");
        size_t length = strspn(p + 1 + flags, "hlLqjzt");
        char conversion = p[1 + flags + length];
        if (conversion == '\0' || strchr("diuxXofFeEgGcs", conversion) == NULL ||
            used + 1 >= c->count)
            return dm_lower_error(lw, c->ast, NULL, "the format does not fit its values");
        dm_val value;
        if (!arg_value(lw, c, used + 1, &value))
            return DM_OPERAND_BAD;
        const dm_type *type = dm_lower_type(lw, value);
        bool real = strchr("fFeEgG", conversion) != NULL;
        if (!dm_type_is_scalar(type) || real != dm_type_is_float(type) || conversion == 's')
            return dm_lower_error(lw, c->ast, NULL, "%%%c cannot show %s", conversion, type->name);
        bool wide = dm_scalar_bytes((dm_scalar)type->scalar) == 8 && !real;
        bool is_signed = strchr("dic", conversion) != NULL;
        values[used++] = dm_ir_cast(&lw->b, value,
                                    scalar(lw, real   ? DM_F64
                                               : wide ? (is_signed ? DM_I64 : DM_U64)
                                                      : (is_signed ? DM_I32 : DM_U32)));
        format = dm_lang_format(lw->lang, "%s%.*s%s%c", format, (int)(1 + flags), p,
                                wide ? "ll" : "", conversion);
        p += flags + length + 1;
    }
    if (used + 1 != c->count)
        return dm_lower_error(lw, c->ast, NULL, "the format does not fit its values");
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_PRINT, values, used, NULL);
    op->text = format;
    return (dm_operand){.kind = DM_OPERAND_VALUE, .value = DM_VAL_NONE};
}

/* expect_eq(a, b), expect_neq(a, b), expect_near(a, b, tolerance) */
static dm_operand special_expect(dm_lower *lw, const call *c)
{
    bool near = strcmp(c->name, "expect_near") == 0, unequal = strcmp(c->name, "expect_neq") == 0;
    dm_val a, b, tolerance = DM_VAL_NONE, all = DM_VAL_NONE;
    if (c->count < 2 || c->count > 2 + near)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes two values", c->name);
    if (!arg_value(lw, c, 0, &a) || !arg_value(lw, c, 1, &b) ||
        (c->count == 3 && !arg_value(lw, c, 2, &tolerance)))
        return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, a);
    if (dm_lower_type(lw, b) != type && !fit(lw, type, &b) && !fit(lw, dm_lower_type(lw, b), &a))
        return dm_lower_error(lw, c->ast, NULL, "'%s' compares %s with %s", c->name, type->name,
                              dm_lower_type(lw, b)->name);
    type = dm_lower_type(lw, a);
    bool leafs = dm_type_is_scalar(type) || dm_type_is_numeric(type);
    if (!leafs || (near && !dm_scalar_is_float((dm_scalar)type->scalar)))
        return dm_lower_error(lw, c->ast, NULL, "'%s' does not take %s", c->name, type->name);
    const dm_type *leaf = scalar(lw, (dm_scalar)type->scalar);
    if (near && tolerance == DM_VAL_NONE)
        tolerance = dm_ir_real(&lw->b, leaf, 1e-6);
    if (near && dm_lower_type(lw, tolerance) != leaf) {
        if (!fit(lw, leaf, &tolerance))
            return dm_lower_error(lw, c->ast, NULL, "the tolerance must be %s", leaf->name);
    }
    for (int i = 0; i < dm_type_components(type); i++) {
        dm_val x = dm_type_is_scalar(type) ? a : dm_ir_extract_at(&lw->b, a, i);
        dm_val y = dm_type_is_scalar(type) ? b : dm_ir_extract_at(&lw->b, b, i);
        dm_val pair[] = {x, y}, one;
        if (near) {
            dm_val difference = dm_lower_builtin(lw, c->ast, "sub", pair, 2, "-").value;
            dm_val size = dm_lower_builtin(lw, c->ast, "abs", &difference, 1, "abs").value;
            dm_val bound[] = {size, tolerance};
            one = dm_lower_builtin(lw, c->ast, "_le", bound, 2, "<=").value;
        } else {
            one = dm_lower_builtin(lw, c->ast, unequal ? "_ne" : "_eq", pair, 2, "==").value;
        }
        dm_val both[] = {all, one};
        all = i == 0 ? one
                     : dm_lower_builtin(lw, c->ast, unequal ? "_or" : "_and", both, 2, "and").value;
    }
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_CHECK, &all, 1, NULL);
    op->text = c->name;
    return (dm_operand){.kind = DM_OPERAND_VALUE, .value = DM_VAL_NONE};
}

static dm_operand special_static(dm_lower *lw, const call *c)
{
    return c->count == 1 ? c->args[0]
                         : dm_lower_error(lw, c->ast, NULL, "static takes one expression");
}

/* select(cond, value_if_false, value_if_true), the older order of where */
static dm_operand special_select(dm_lower *lw, const call *c)
{
    dm_val args[3];
    if (c->count != 3)
        return dm_lower_error(lw, c->ast, NULL, "select takes three values");
    if (!arg_value(lw, c, 0, &args[0]) || !arg_value(lw, c, 1, &args[2]) ||
        !arg_value(lw, c, 2, &args[1]))
        return DM_OPERAND_BAD;
    return dm_lower_builtin(lw, c->ast, "where", args, 3, "select");
}

static dm_operand special_where(dm_lower *lw, const call *c)
{
    dm_val args[3];
    if (c->count != 3)
        return dm_lower_error(lw, c->ast, NULL, "where takes three values");
    for (int i = 0; i < 3; i++)
        if (!arg_value(lw, c, i, &args[i]))
            return DM_OPERAND_BAD;
    if (dm_lower_type(lw, args[0])->kind == DM_TYPE_ARRAY &&
        !dm_lower_truth(lw, c->ast, args[0], &args[0]))
        return DM_OPERAND_BAD;
    if (!fit(lw, dm_lower_type(lw, args[1]), &args[2]))
        fit(lw, dm_lower_type(lw, args[2]), &args[1]);
    return dm_lower_builtin(lw, c->ast, "where", args, 3, "where");
}

static dm_operand special_zero_like(dm_lower *lw, const call *c)
{
    dm_val value;
    if (c->count != 1 || !arg_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    return dm_lower_value_operand(dm_ir_zero(&lw->b, dm_lower_type(lw, value)));
}

static dm_operand special_type(dm_lower *lw, const call *c)
{
    dm_val value;
    if (c->count != 1 || !arg_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    return dm_lower_known(dm_value_type(lw->lang, dm_lower_type(lw, value)));
}

/* identity(n=3, dtype=float), quat_identity(dtype=...), transform_identity(...) */
static dm_operand special_identity(dm_lower *lw, const call *c)
{
    bool matrix = strcmp(c->name, "identity") == 0;
    const dm_type *dtype = known_type(find_arg(c, matrix ? 1 : 0, "dtype"));
    dm_scalar s = dtype == NULL ? DM_F32 : (dm_scalar)dtype->scalar;
    int n = 0;
    if (matrix && !known_int(lw, find_arg(c, 0, "n"), &n))
        return dm_lower_error(lw, c->ast, "identity(n=3, dtype=float)",
                              "the size of the matrix must be a constant");
    const dm_type *type = matrix                             ? dm_type_mat(lw->lang, n, n, s)
                          : strncmp(c->name, "quat", 4) == 0 ? dm_type_quat(lw->lang, s)
                                                             : dm_type_transform(lw->lang, s);
    int count = dm_type_components(type);
    if (count > 1024)
        return dm_lower_error(lw, c->ast, NULL, "the matrix is too large");
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count, sizeof *parts);
    for (int i = 0; i < count; i++) {
        bool one = matrix ? i % (n + 1) == 0 : i == count - 1;
        parts[i] = dm_ir_int(&lw->b, scalar(lw, s), one);
    }
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, count));
}

/* matrix_from_rows(a, b, ...), matrix_from_cols(...) */
static dm_operand special_matrix_from(dm_lower *lw, const call *c)
{
    bool rows = strcmp(c->name, "matrix_from_rows") == 0;
    dm_val vectors[64];
    if (c->count < 1 || c->count > 64)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes vectors", c->name);
    for (int i = 0; i < c->count; i++)
        if (!arg_value(lw, c, i, &vectors[i]))
            return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, vectors[0]);
    for (int i = 0; i < c->count; i++)
        if (type->kind != DM_TYPE_VEC || dm_lower_type(lw, vectors[i]) != type)
            return dm_lower_error(lw, c->ast, NULL, "'%s' takes vectors of one type", c->name);
    int r = rows ? c->count : type->rows, k = rows ? type->rows : c->count;
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)r * (size_t)k, sizeof *parts);
    for (int i = 0; i < r; i++)
        for (int j = 0; j < k; j++)
            parts[i * k + j] = dm_ir_extract_at(&lw->b, vectors[rows ? i : j], rows ? j : i);
    return dm_lower_value_operand(
        dm_ir_make(&lw->b, dm_type_mat(lw->lang, r, k, (dm_scalar)type->scalar), parts, r * k));
}

static const struct {
    const char *name;
    dm_operand (*lower)(dm_lower *lw, const call *c);
} specials[] = {
    {"tid", special_tid},
    {"len", special_len},
    {"atomic_add", special_atomic},
    {"atomic_sub", special_atomic},
    {"atomic_min", special_atomic},
    {"atomic_max", special_atomic},
    {"atomic_and", special_atomic},
    {"atomic_or", special_atomic},
    {"atomic_xor", special_atomic},
    {"atomic_cas", special_atomic},
    {"atomic_exch", special_atomic},
    {"print", special_print},
    {"printf", special_printf},
    {"expect_eq", special_expect},
    {"expect_neq", special_expect},
    {"expect_near", special_expect},
    {"static", special_static},
    {"select", special_select},
    {"where", special_where},
    {"zero_like", special_zero_like},
    {"type", special_type},
    {"identity", special_identity},
    {"quat_identity", special_identity},
    {"transform_identity", special_identity},
    {"matrix_from_rows", special_matrix_from},
    {"matrix_from_cols", special_matrix_from},
};

/* ---- Rows and the library ---- */

/* Arguments in a row's order, by keyword too. */
static bool bind_row(dm_lower *lw, const dm_builtin *row, const call *c, dm_val *out)
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
        if (to >= row->param_count || set[to] || !arg_value(lw, c, i, &out[to]))
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

static dm_operand call_row(dm_lower *lw, const call *c, const dm_builtin *first)
{
    dm_val args[DM_BUILTIN_PARAMS_MAX];
    assert(first != NULL);
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (c->args[i].kind == DM_OPERAND_ERROR || !arg_value(lw, c, i, &value))
            return DM_OPERAND_BAD;
        c->args[i] = dm_lower_value_operand(value);
    }
    for (const dm_builtin *row = first; row != NULL; row = row->next)
        if (bind_row(lw, row, c, args) &&
            (row->next == NULL || row->param_count != row->next->param_count ||
             c->count == row->param_count))
            return dm_lower_builtin(lw, c->ast, c->name, args, row->param_count, c->name);
    return dm_lower_error(lw, c->ast, first->signature, "'%s' does not take these arguments",
                          c->name);
}

/* Library functions whose first parameter is `state` hand back the new state. */
static dm_operand call_library(dm_lower *lw, const call *c, const dm_value *callee)
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

int dm_lower_special(const char *name)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (strcmp(specials[i].name, name) == 0)
            return (int)i;
    return -1;
}

const char *dm_lower_special_name(int number)
{
    return (size_t)number < sizeof specials / sizeof specials[0] ? specials[number].name : NULL;
}

static dm_operand call_builtin(dm_lower *lw, const call *c, const dm_known_name *known)
{
    bool ours = lw->weak || lw->scope == lw->module->library;
    if (known != NULL && known->special >= 0)
        return specials[known->special].lower(lw, c);
    if (known != NULL && known->row != NULL && (c->name[0] != '_' || ours))
        return call_row(lw, c, known->row);
    if (known != NULL && known->library != NULL)
        return call_library(lw, c, library_function(lw, known->library));
    return dm_lower_error(lw, c->ast, NULL, "the builtin '%s' is not supported", c->name);
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

dm_operand dm_lower_call(dm_lower *lw, const dm_ast *ast)
{
    int tid_wanted = lw->tid_wanted;
    lw->tid_wanted = 0;
    dm_operand callee = dm_lower_expr(lw, ast->a);
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
    call c = {.ast = ast, .args = args, .names = names, .count = count};
    if (callee.kind != DM_OPERAND_KNOWN)
        return dm_lower_error(lw, ast->a, NULL, "%s cannot be called",
                              dm_lower_describe(lw, &callee));
    switch (callee.known->kind) {
    case DM_VALUE_TYPE:
        return dm_lower_construct(lw, ast, callee.known->type, args, names, count);
    case DM_VALUE_GENERIC_CLASS:
        if (strstr(callee.known->text, "array") == NULL) {
            /* vec(length=3, dtype=float) without values is a type */
            const dm_value *type = dm_scope_eval(lw->scope, ast);
            if (type->kind == DM_VALUE_TYPE && !type->type->generic &&
                find_arg(&c, ARGS_MAX, "dtype") != NULL && ast->a->kind == DM_AST_ATTRIBUTE &&
                ast->a->a->kind == DM_AST_ATTRIBUTE)
                return dm_lower_known(type);
            return construct_generic(lw, &c, callee.known->text);
        }
        return dm_lower_error(lw, ast, NULL, "arrays cannot be made in a kernel");
    case DM_VALUE_FUNCTION:
        return dm_lower_call_user(lw, ast, callee.known, args, names, count);
    case DM_VALUE_BUILTIN:
        c.name = callee.known->text;
        return call_builtin(lw, &c, callee.known->known);
    case DM_VALUE_UNKNOWN:
        return dm_lower_error(lw, ast->a, NULL, "this cannot be called in a kernel: %s",
                              callee.known->text);
    default:
        return dm_lower_error(lw, ast->a, NULL, "%s cannot be called in a kernel",
                              dm_lower_describe(lw, &callee));
    }
}
