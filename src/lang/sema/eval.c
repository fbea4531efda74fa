/* SPDX-License-Identifier: MIT */
/* eval.c - expressions outside of kernels: constants, types and the calls that make them; see
 * value.h. */
#include "lang/sema/module.h"

#include <math.h>
#include <string.h>

#define EVAL_DEPTH_MAX 100

/* ---- Expressions ---- */

bool dm_value_number(const dm_value *value, double *out)
{
    if (value->kind == DM_VALUE_INT || value->kind == DM_VALUE_BOOL)
        *out = (double)value->integer;
    else if (value->kind == DM_VALUE_FLOAT)
        *out = value->real;
    else if (value->kind == DM_VALUE_SCALAR)
        *out = dm_type_is_float(value->type) ? value->real : (double)value->integer;
    else
        return false;
    return true;
}

static const dm_value *int_binary(dm_scope *scope, dm_token_kind op, int64_t a, int64_t b)
{
    dm_lang *lang = scope->lang;
    int64_t result = 0;
    bool bad = false;
    switch (op) {
    case DM_TOK_PLUS:
        bad = __builtin_add_overflow(a, b, &result);
        break;
    case DM_TOK_MINUS:
        bad = __builtin_sub_overflow(a, b, &result);
        break;
    case DM_TOK_STAR:
        bad = __builtin_mul_overflow(a, b, &result);
        break;
    case DM_TOK_SLASH:
        return b == 0 ? dm_value_unknown(scope) : dm_value_real(lang, (double)a / (double)b);
    case DM_TOK_DOUBLESLASH:
        bad = b == 0 || b == -1;
        result =
            bad ? (b == -1 ? -a : 0) : a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
        bad = b == 0;
        break;
    case DM_TOK_PERCENT:
        bad = b == 0 || b == -1;
        result = bad ? 0 : (a % b + b) % b;
        bad = b == 0;
        break;
    case DM_TOK_DOUBLESTAR:
        bad = b < 0;
        result = 1;
        for (int64_t i = 0; !bad && i < b; i++)
            bad = i > 64 || __builtin_mul_overflow(result, a, &result);
        break;
    case DM_TOK_SHIFTLEFT:
        bad = b < 0 || b > 62 || a < 0 || (b > 0 && (a >> (62 - b)) != 0);
        result = bad ? 0 : a << b;
        break;
    case DM_TOK_SHIFTRIGHT:
        bad = b < 0 || b > 63;
        result = bad ? 0 : a >> b;
        break;
    case DM_TOK_AMPERSAND:
        result = a & b;
        break;
    case DM_TOK_PIPE:
        result = a | b;
        break;
    case DM_TOK_CARET:
        result = a ^ b;
        break;
    default:
        bad = true;
        break;
    }
    return bad ? dm_value_unknown(scope) : dm_value_int(lang, result);
}

static const dm_value *bool_value(dm_scope *scope, bool truth)
{
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_BOOL);
    value->integer = truth;
    return value;
}

/* The value's truth in Python; false when that is not known. */
static bool truth_of(const dm_value *value, bool *out)
{
    double x;
    if (value->kind == DM_VALUE_NONE)
        *out = false;
    else if (value->kind == DM_VALUE_STRING)
        *out = value->text[0] != '\0';
    else if (value->kind == DM_VALUE_ITEMS)
        *out = value->count > 0;
    else if (dm_value_number(value, &x))
        *out = x != 0;
    else
        return false;
    return true;
}

static bool is_whole(const dm_value *value)
{
    return value->kind == DM_VALUE_INT || value->kind == DM_VALUE_BOOL ||
           (value->kind == DM_VALUE_SCALAR && !dm_type_is_float(value->type));
}

const dm_value *dm_value_binary(dm_scope *scope, dm_token_kind op, const dm_value *a,
                                const dm_value *b)
{
    double x, y, rest;
    if (is_whole(a) && is_whole(b))
        return int_binary(scope, op, a->integer, b->integer);
    if (!dm_value_number(a, &x) || !dm_value_number(b, &y))
        return dm_value_unknown(scope);
    switch (op) {
    case DM_TOK_PLUS:
        return dm_value_real(scope->lang, x + y);
    case DM_TOK_MINUS:
        return dm_value_real(scope->lang, x - y);
    case DM_TOK_STAR:
        return dm_value_real(scope->lang, x * y);
    case DM_TOK_SLASH:
        return y == 0 ? dm_value_unknown(scope) : dm_value_real(scope->lang, x / y);
    case DM_TOK_DOUBLESLASH:
    case DM_TOK_PERCENT: /* as Python: the rest has the sign of y */
        if (y == 0)
            return dm_value_unknown(scope);
        rest = fmod(x, y);
        rest += rest != 0 && (rest < 0) != (y < 0) ? y : 0;
        return dm_value_real(scope->lang, op == DM_TOK_PERCENT ? rest : round((x - rest) / y));
    case DM_TOK_DOUBLESTAR:
        return dm_value_real(scope->lang, pow(x, y));
    default:
        return dm_value_unknown(scope);
    }
}

static const dm_value *eval_binary(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *a = dm_scope_eval_at(scope, ast->a, depth),
                   *b = dm_scope_eval_at(scope, ast->b, depth);
    return dm_value_binary(scope, ast->op, a, b);
}

/* One comparison; -1: not known. */
static int compare_values(dm_token_kind op, const dm_value *a, const dm_value *b)
{
    double x = 0, y = 0;
    bool same_kind = a->kind == b->kind;
    bool is = op == DM_TOK_IS || op == DM_TOK_EQUAL,
         is_not = op == DM_TOK_NOTEQUAL || op == DM_TOK_NOT_SIGN; /* "is not" */
    if (dm_value_number(a, &x) && dm_value_number(b, &y)) {
        if (is_whole(a) && is_whole(b)) { /* exactly */
            y = a->integer < b->integer ? 1 : a->integer > b->integer ? -1 : 0;
            x = 0;
        }
        switch (op) {
        case DM_TOK_LESS:
            return x < y;
        case DM_TOK_LESSEQUAL:
            return x <= y;
        case DM_TOK_GREATER:
            return x > y;
        case DM_TOK_GREATEREQUAL:
            return x >= y;
        case DM_TOK_EQUAL:
            return x == y;
        case DM_TOK_NOTEQUAL:
            return x != y;
        default:
            return -1;
        }
    }
    if (!is && !is_not)
        return -1;
    if (same_kind && a->kind == DM_VALUE_STRING)
        return (strcmp(a->text, b->text) == 0) == is;
    if (same_kind && a->kind == DM_VALUE_TYPE)
        return (a->type == b->type) == is;
    if (a->kind == DM_VALUE_NONE || b->kind == DM_VALUE_NONE)
        return a->kind == DM_VALUE_UNKNOWN || b->kind == DM_VALUE_UNKNOWN ? -1 : same_kind == is;
    return -1;
}

static const dm_value *eval_compare(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *a = dm_scope_eval_at(scope, ast->items[0], depth);
    for (int i = 1; i < ast->count; i++) {
        const dm_value *b = dm_scope_eval_at(scope, ast->items[i], depth);
        int holds = compare_values(ast->ops[i - 1], a, b);
        if (holds <= 0)
            return holds < 0 ? dm_value_unknown(scope) : bool_value(scope, false);
        a = b;
    }
    return bool_value(scope, true);
}

/* `and`, `or`: the operand that decides. */
static const dm_value *eval_boolean(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *value = NULL;
    for (int i = 0; i < ast->count; i++) {
        bool truth;
        value = dm_scope_eval_at(scope, ast->items[i], depth);
        if (i + 1 == ast->count)
            break;
        if (!truth_of(value, &truth))
            return dm_value_unknown(scope);
        if (truth == (ast->op == DM_TOK_OR))
            break;
    }
    return value == NULL ? dm_value_unknown(scope) : value;
}

static const dm_value *eval_ternary(dm_scope *scope, const dm_ast *ast, int depth)
{
    bool truth;
    if (!truth_of(dm_scope_eval_at(scope, ast->b, depth), &truth))
        return dm_value_unknown(scope);
    return dm_scope_eval_at(scope, truth ? ast->a : ast->c, depth);
}

static const dm_value *eval_unary(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *a = dm_scope_eval_at(scope, ast->a, depth);
    if (ast->op == DM_TOK_MINUS && a->kind == DM_VALUE_INT && a->integer != INT64_MIN)
        return dm_value_int(scope->lang, -a->integer);
    if (ast->op == DM_TOK_MINUS && a->kind == DM_VALUE_FLOAT)
        return dm_value_real(scope->lang, -a->real);
    if (ast->op == DM_TOK_TILDE && a->kind == DM_VALUE_INT)
        return dm_value_int(scope->lang, ~a->integer);
    bool truth;
    if (ast->op == DM_TOK_NOT && truth_of(a, &truth))
        return bool_value(scope, !truth);
    return dm_value_unknown(scope);
}

static const dm_value *eval_items(dm_scope *scope, const dm_ast *ast, int depth)
{
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_ITEMS);
    const dm_value **items =
        dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof(void *));
    for (int i = 0; i < ast->count; i++)
        items[i] = dm_scope_eval_at(scope, ast->items[i], depth);
    value->items = items;
    value->count = ast->count;
    return value;
}

static const dm_value *eval_call(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *callee = dm_scope_eval_at(scope, ast->a, depth);
    const dm_value **args =
        dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof(void *));
    const char **names = dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof *names);
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *arg = ast->items[i];
        if (arg->kind == DM_AST_STARRED || (arg->kind == DM_AST_KEYWORD && arg->name == NULL))
            return dm_value_unknown(scope);
        names[i] = arg->kind == DM_AST_KEYWORD ? arg->name : NULL;
        args[i] = dm_scope_eval_at(scope, arg->kind == DM_AST_KEYWORD ? arg->a : arg, depth);
    }
    bool own =
        ast->a->kind == DM_AST_NAME && dm_scope_lookup(scope, ast->a->name, ast->pos) == NULL;
    if (callee->kind == DM_VALUE_BUILTIN) {
        for (int i = 0; i < ast->count; i++)
            if (names[i] != NULL)
                return dm_value_unknown(scope);
        const dm_value *value = dm_python_call(scope, callee->text, !own, args, ast->count);
        if (value == scope->module->unknown && ast->a->kind == DM_AST_NAME)
            value = dm_python_call(scope, callee->text, false, args, ast->count);
        return value;
    }
    if (own && strcmp(ast->a->name, "int") == 0 && ast->count == 1) {
        double number; /* Python's own: as large as it wants to be */
        if (!dm_value_number(args[0], &number) || fabs(number) > 9e15)
            return args[0]->kind == DM_VALUE_INT ? args[0] : dm_value_unknown(scope);
        return dm_value_int(scope->lang, is_whole(args[0]) ? args[0]->integer : (int64_t)number);
    }
    return dm_scope_call(scope, callee, args, names, ast->count);
}

/* array[float], vec[3, float], tuple[int, float], Literal[2], a constant's item */
static const dm_value *eval_subscript(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *base = dm_scope_eval_at(scope, ast->a, depth);
    const dm_value *args[4];
    const char *names[4] = {0};
    if (base->kind == DM_VALUE_ITEMS && ast->count == 1) {
        const dm_value *index = dm_scope_eval_at(scope, ast->items[0], depth);
        if (index->kind == DM_VALUE_INT && index->integer >= -base->count &&
            index->integer < base->count)
            return base->items[index->integer < 0 ? index->integer + base->count : index->integer];
        return dm_value_unknown(scope);
    }
    if (base->kind != DM_VALUE_GENERIC_CLASS || ast->count > 4)
        return dm_value_unknown(scope);
    for (int i = 0; i < ast->count; i++)
        args[i] = dm_scope_eval_at(scope, ast->items[i], depth);
    if (strcmp(base->text, "tuple") == 0 || strcmp(base->text, "Tuple") == 0) {
        const dm_type *types[4];
        for (int i = 0; i < ast->count; i++) {
            if (args[i]->kind != DM_VALUE_TYPE)
                return dm_value_unknown(scope);
            types[i] = args[i]->type;
        }
        return dm_value_type(scope->lang, dm_type_tuple(scope->lang, types, ast->count));
    }
    return dm_scope_call(scope, base, args, names, ast->count);
}

const dm_value *dm_scope_eval_at(dm_scope *scope, const dm_ast *ast, int depth)
{
    dm_lang *lang = scope->lang;
    dm_value *made;
    if (depth > EVAL_DEPTH_MAX)
        return dm_value_unknown(scope);
    depth++;
    switch (ast->kind) {
    case DM_AST_NONE:
        return dm_value_new(lang, DM_VALUE_NONE);
    case DM_AST_BOOL:
        made = dm_value_new(lang, DM_VALUE_BOOL);
        made->integer = (int64_t)ast->integer;
        return made;
    case DM_AST_INT:
        return dm_value_int(lang, (int64_t)ast->integer);
    case DM_AST_FLOAT:
        return dm_value_real(lang, ast->real);
    case DM_AST_STRING:
        return dm_value_text(lang, DM_VALUE_STRING, ast->name);
    case DM_AST_NAME: {
        const dm_value *value = dm_scope_lookup(scope, ast->name, ast->pos);
        if (value == NULL && scope == scope->module->library) /* ours leave "wp." out */
            value = dm_namespace_warp(lang, ast->name);
        if (value == NULL)
            value = dm_namespace_python(lang, ast->name);
        if (value == NULL && strcmp(ast->name, "Any") == 0)
            value = dm_value_type(lang, lang->types->any);
        return value == NULL ? dm_value_unknown(scope) : value;
    }
    case DM_AST_ATTRIBUTE: {
        const dm_value *base = dm_scope_eval_at(scope, ast->a, depth);
        const dm_value *member = dm_value_member(scope, base, ast->name);
        return member == NULL ? dm_value_unknown(scope) : member;
    }
    case DM_AST_UNARY:
        return eval_unary(scope, ast, depth);
    case DM_AST_BINARY:
        return eval_binary(scope, ast, depth);
    case DM_AST_COMPARE:
        return eval_compare(scope, ast, depth);
    case DM_AST_BOOLEAN:
        return eval_boolean(scope, ast, depth);
    case DM_AST_TERNARY:
        return eval_ternary(scope, ast, depth);
    case DM_AST_TUPLE:
    case DM_AST_LIST:
        return eval_items(scope, ast, depth);
    case DM_AST_CALL:
        return eval_call(scope, ast, depth);
    case DM_AST_SUBSCRIPT:
        return eval_subscript(scope, ast, depth);
    default:
        return dm_value_unknown(scope);
    }
}

const dm_value *dm_scope_eval(dm_scope *scope, const dm_ast *ast)
{
    return dm_scope_eval_at(scope, ast, 0);
}

/* ---- Types from calls ---- */

typedef struct call_args {
    const dm_value *const *args;
    const char *const *names;
    int count;
} call_args;

/* The argument at a position or of a name; NULL when it is not given. */
static const dm_value *find_arg(const call_args *call, int position, const char *name)
{
    for (int i = 0; i < call->count; i++) {
        if (call->names[i] == NULL ? i == position : strcmp(call->names[i], name) == 0)
            return call->args[i];
    }
    return NULL;
}

static bool is_any(const dm_value *value)
{
    return value->kind == DM_VALUE_UNKNOWN ||
           (value->kind == DM_VALUE_TYPE && value->type->kind == DM_TYPE_ANY);
}

/* The scalar that a dtype argument names, or a wildcard; -1 when it is no scalar. */
static int dtype_scalar(const dm_value *value)
{
    if (value == NULL)
        return DM_F32;
    if (is_any(value))
        return DM_ANY_SCALAR;
    return value->kind == DM_VALUE_TYPE && value->type->kind == DM_TYPE_SCALAR ? value->type->scalar
                                                                               : -1;
}

/* A length: 0 for Any; -1 when it is no length. */
static int length_of(const dm_value *value)
{
    if (is_any(value))
        return 0;
    return value->kind == DM_VALUE_INT && value->integer > 0 && value->integer < 4096
               ? (int)value->integer
               : -1;
}

static const dm_value *array_type(dm_scope *scope, const char *name, const call_args *call,
                                  bool named_first)
{
    dm_lang *lang = scope->lang;
    const dm_value *dtype = find_arg(call, named_first ? 99 : 0, "dtype");
    const dm_value *ndim = find_arg(call, named_first ? 99 : 1, "ndim");
    if (dtype == NULL)
        dtype = find_arg(call, 0, "dtype");
    const char *digit = strpbrk(name, "1234");
    int dimensions = digit != NULL ? *digit - '0' : 1;
    if (ndim != NULL && ndim->kind == DM_VALUE_INT && ndim->integer >= 1 && ndim->integer <= 4)
        dimensions = (int)ndim->integer;
    else if (ndim != NULL && is_any(ndim))
        dimensions = 0;
    else if (ndim != NULL && ndim->kind == DM_VALUE_INT)
        return dm_value_unknown(scope);
    const dm_type *element = dm_type_scalar(lang, DM_F32);
    if (dtype == NULL ? call->count == 0 : is_any(dtype))
        element = lang->types->any;
    else if (dtype != NULL && dtype->kind == DM_VALUE_TYPE)
        element = dtype->type;
    else if (dtype != NULL)
        return dm_value_unknown(scope);
    return dm_value_type(lang, dm_type_array(lang, dimensions, element));
}

static const dm_value *numeric_type(dm_scope *scope, const char *name, const call_args *call)
{
    dm_lang *lang = scope->lang;
    if (strcmp(name, "quaternion") == 0 || strcmp(name, "transformation") == 0) {
        int scalar = dtype_scalar(find_arg(call, 0, "dtype"));
        if (scalar < 0)
            return dm_value_unknown(scope);
        return dm_value_type(lang, name[0] == 'q' ? dm_type_quat(lang, (dm_scalar)scalar)
                                                  : dm_type_transform(lang, (dm_scalar)scalar));
    }
    if (name[0] == 'v') {
        const dm_value *length = find_arg(call, 0, "length"), *dtype = find_arg(call, 1, "dtype");
        int rows = length == NULL ? -1 : length_of(length), scalar = dtype_scalar(dtype);
        if (rows < 0 || scalar < 0 || dtype == NULL)
            return dm_value_unknown(scope);
        return dm_value_type(lang, dm_type_vec(lang, rows, (dm_scalar)scalar));
    }
    const dm_value *shape = find_arg(call, 0, "shape"), *dtype = find_arg(call, 1, "dtype");
    int rows = 0, cols = 0, scalar = dtype_scalar(dtype);
    if (shape != NULL && shape->kind == DM_VALUE_ITEMS && shape->count == 2) {
        rows = length_of(shape->items[0]);
        cols = length_of(shape->items[1]);
    } else if (shape != NULL && shape->kind == DM_VALUE_INT && call->count == 3) {
        rows = length_of(shape); /* mat[3, 3, float] */
        cols = length_of(call->args[1]);
        scalar = dtype_scalar(call->args[2]);
        dtype = call->args[2];
    } else if (shape == NULL || !is_any(shape)) {
        return dm_value_unknown(scope);
    }
    if (rows < 0 || cols < 0 || scalar < 0 || dtype == NULL)
        return dm_value_unknown(scope);
    return dm_value_type(lang, dm_type_mat(lang, rows, cols, (dm_scalar)scalar));
}

/* wp.float64(0.1), int(x): a typed constant */
static const dm_value *scalar_constant(dm_scope *scope, const dm_type *type, const call_args *call)
{
    double number = 0;
    if (call->count > 1 || (call->count == 1 && !dm_value_number(call->args[0], &number)))
        return dm_value_unknown(scope);
    bool python = call->count == 1 && call->args[0]->kind != DM_VALUE_SCALAR;
    if (python && type->scalar == DM_F32)
        return dm_value_real(scope->lang, number);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_SCALAR);
    value->type = type;
    if (dm_type_is_float(type))
        value->real = number;
    else if (call->count == 1 && (call->args[0]->kind == DM_VALUE_INT))
        value->integer = call->args[0]->integer;
    else
        value->integer = fabs(number) < 9e18 ? (int64_t)number : 0;
    return value;
}

/* Append a number, the components of a vector, or the items of a list, which may be rows. */
static bool put_numbers(const dm_value *value, double *out, int *given, int most, int depth)
{
    if (value->kind == DM_VALUE_NUMBERS) {
        for (int n = 0; n < value->count; n++)
            if (*given == most)
                return false;
            else
                out[(*given)++] = value->numbers[n];
        return true;
    }
    if (value->kind == DM_VALUE_ITEMS && depth < 2) {
        for (int i = 0; i < value->count; i++)
            if (!put_numbers(value->items[i], out, given, most, depth + 1))
                return false;
        return true;
    }
    return *given < most && dm_value_number(value, &out[(*given)++]);
}

/* wp.vec3(1.0, 2.0, 3.0) outside of kernels */
static const dm_value *numeric_constant(dm_scope *scope, const dm_type *type, const call_args *call)
{
    int components = dm_type_components(type), given = 0;
    if (components > 256)
        return dm_value_unknown(scope);
    double *numbers = dm_lang_alloc_array(scope->lang, (size_t)components + 1, sizeof *numbers);
    for (int i = 0; i < call->count; i++)
        if (!put_numbers(call->args[i], numbers, &given, components, 0))
            return dm_value_unknown(scope);
    if (given == 1)
        for (int i = 1; i < components; i++)
            numbers[i] = numbers[0];
    else if (given != components && given != 0)
        return dm_value_unknown(scope);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_NUMBERS);
    value->type = type;
    value->numbers = numbers;
    value->count = components;
    return value;
}

const dm_value *dm_scope_call(dm_scope *scope, const dm_value *callee, const dm_value *const *args,
                              const char *const *names, int count)
{
    call_args call = {.args = args, .names = names, .count = count};
    switch (callee->kind) {
    case DM_VALUE_GENERIC_CLASS:
        if (strstr(callee->text, "array") != NULL)
            return array_type(scope, callee->text, &call, false);
        if (strcmp(callee->text, "ref") == 0)
            return dm_value_unknown(scope);
        return numeric_type(scope, callee->text, &call);
    case DM_VALUE_TYPE:
        if (callee->type->kind == DM_TYPE_SCALAR && !callee->type->generic)
            return scalar_constant(scope, callee->type, &call);
        if (dm_type_is_numeric(callee->type) && !callee->type->generic)
            return numeric_constant(scope, callee->type, &call);
        return dm_value_unknown(scope);
    default:
        return dm_value_unknown(scope);
    }
}

const dm_type *dm_scope_annotation(dm_scope *scope, const dm_ast *ast)
{
    dm_lang *lang = scope->lang;
    if (ast->kind == DM_AST_STRING) { /* "MyStruct" */
        dm_lang_source *source =
            dm_lang_add_source(lang, "annotation", ast->name, strlen(ast->name));
        ast = dm_lang_parse_expression(lang, source);
    }
    const dm_value *value = dm_scope_eval(scope, ast);
    if (value->kind == DM_VALUE_TYPE)
        return value->type;
    if (value->kind == DM_VALUE_GENERIC_CLASS && strstr(value->text, "array") != NULL) {
        call_args none = {0};
        return array_type(scope, value->text, &none, true)->type;
    }
    if (value->kind == DM_VALUE_NONE)
        return lang->types->none;
    /* A captured parameter such as dtype: whatever the caller gives. */
    if (value == scope->module->unknown && ast->kind == DM_AST_NAME &&
        dm_scope_lookup(scope, ast->name, ast->pos) != NULL)
        return lang->types->any;
    dm_lang_error(lang, ast->pos, ast->end, NULL,
                  "this annotation is not a type that is known here");
    return NULL;
}
