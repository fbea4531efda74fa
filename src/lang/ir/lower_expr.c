/* SPDX-License-Identifier: MIT */
/* lower_expr.c - expressions: names, literals, operators, choices. See lower.h. */
#include "lang/ir/lower.h"

#include "base/closest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Shared ---- */

dm_operand dm_lower_value_operand(dm_val value)
{
    return (dm_operand){.kind = DM_OPERAND_VALUE, .value = value};
}

dm_operand dm_lower_known(const dm_value *known)
{
    return (dm_operand){.kind = DM_OPERAND_KNOWN, .known = known, .value = DM_VAL_NONE};
}

dm_operand dm_lower_error(dm_lower *lw, const dm_ast *at, const char *hint, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dm_lang_error(lw->lang, at->pos, at->end, hint, "%s", text);
    return DM_OPERAND_BAD;
}

const dm_type *dm_lower_type(const dm_lower *lw, dm_val value)
{
    return lw->function->values[value].type;
}

const char *dm_lower_describe(dm_lower *lw, const dm_operand *operand)
{
    static const char *const kinds[] = {"unknown",   "None",     "bool",       "int",
                                        "float",     "str",      "constant",   "constant",
                                        "a type",    "a tuple",  "a function", "a kernel",
                                        "a builtin", "a module", "a class",    "a type"};
    switch (operand->kind) {
    case DM_OPERAND_VALUE:
        return operand->value == DM_VAL_NONE ? "None" : dm_lower_type(lw, operand->value)->name;
    case DM_OPERAND_KNOWN:
        return kinds[operand->known->kind];
    case DM_OPERAND_ITEMS:
        return "a tuple";
    default:
        return "?";
    }
}

static dm_val numbers_value(dm_lower *lw, const dm_value *known)
{
    const dm_type *scalar = dm_type_scalar(lw->lang, (dm_scalar)known->type->scalar);
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)known->count + 1, sizeof *parts);
    for (int i = 0; i < known->count; i++)
        parts[i] = dm_type_is_float(scalar) ? dm_ir_real(&lw->b, scalar, known->numbers[i])
                                            : dm_ir_int(&lw->b, scalar, (int64_t)known->numbers[i]);
    return dm_ir_make(&lw->b, known->type, parts, known->count);
}

static dm_val literal(dm_lower *lw, dm_val value)
{
    lw->function->values[value].def->is_literal = true;
    return value;
}

dm_val dm_lower_int_literal(dm_lower *lw, int64_t number)
{
    bool wide = number < INT32_MIN || number > (int64_t)UINT32_MAX;
    return literal(lw, dm_ir_int(&lw->b, dm_type_scalar(lw->lang, wide ? DM_I64 : DM_I32), number));
}

dm_val dm_lower_real_literal(dm_lower *lw, double number)
{
    return literal(lw, dm_ir_real(&lw->b, dm_type_scalar(lw->lang, DM_F32), number));
}

static bool known_value(dm_lower *lw, const dm_ast *at, const dm_value *known, dm_val *out)
{
    dm_ir_builder *b = &lw->b;
    switch (known->kind) {
    case DM_VALUE_BOOL:
        *out = dm_ir_bool(b, known->integer != 0);
        return true;
    case DM_VALUE_INT:
        *out = dm_lower_int_literal(lw, known->integer);
        return true;
    case DM_VALUE_FLOAT:
        *out = dm_lower_real_literal(lw, known->real);
        return true;
    case DM_VALUE_SCALAR:
        *out = dm_type_is_float(known->type) ? dm_ir_real(b, known->type, known->real)
                                             : dm_ir_int(b, known->type, known->integer);
        return true;
    case DM_VALUE_NUMBERS:
        *out = numbers_value(lw, known);
        return true;
    case DM_VALUE_STRING: {
        dm_ir_op *op = dm_ir_op_new(b, DM_IR_TEXT, NULL, 0, lw->lang->types->string);
        op->text = known->text;
        *out = op->result;
        return true;
    }
    case DM_VALUE_UNKNOWN:
        dm_lower_error(lw, at, "--define NAME=VALUE gives a captured name its value",
                       "this cannot be used in a kernel: %s", known->text);
        return false;
    default: {
        dm_operand operand = dm_lower_known(known);
        dm_lower_error(lw, at, NULL, "expected a value, found %s", dm_lower_describe(lw, &operand));
        return false;
    }
    }
}

bool dm_lower_materialize(dm_lower *lw, const dm_ast *at, const dm_operand *operand, dm_val *out)
{
    switch (operand->kind) {
    case DM_OPERAND_VALUE:
        *out = operand->value;
        if (*out == DM_VAL_NONE)
            dm_lower_error(lw, at, NULL, "this gives no value");
        return *out != DM_VAL_NONE;
    case DM_OPERAND_KNOWN:
        return known_value(lw, at, operand->known, out);
    case DM_OPERAND_ITEMS: {
        dm_val parts[64];
        const dm_type *types[64];
        int64_t bytes = 0;
        if (operand->count > 64 || operand->count == 0) {
            dm_lower_error(lw, at, NULL, "this tuple cannot be a value");
            return false;
        }
        for (int i = 0; i < operand->count; i++) {
            if (!dm_lower_materialize(lw, at, &operand->items[i], &parts[i]))
                return false;
            types[i] = dm_lower_type(lw, parts[i]);
            bytes += dm_type_bytes(types[i]);
        }
        if (bytes > DM_TYPE_BYTES_MAX) {
            dm_lower_error(lw, at, NULL, "this tuple is too large for a value");
            return false;
        }
        *out = dm_ir_make(&lw->b, dm_type_tuple(lw->lang, types, operand->count), parts,
                          operand->count);
        return true;
    }
    default:
        return false;
    }
}

bool dm_lower_value(dm_lower *lw, const dm_ast *ast, dm_val *out)
{
    dm_operand operand = dm_lower_expr(lw, ast);
    return dm_lower_materialize(lw, ast, &operand, out);
}

bool dm_lower_truth(dm_lower *lw, const dm_ast *at, dm_val value, dm_val *out)
{
    const dm_type *type = dm_lower_type(lw, value);
    if (type->kind == DM_TYPE_SCALAR) {
        *out = dm_ir_const(lw->function, value) != NULL || type->scalar == DM_BOOL
                   ? dm_ir_cast(&lw->b, value, dm_type_scalar(lw->lang, DM_BOOL))
                   : DM_VAL_NONE;
        if (*out == DM_VAL_NONE) {
            dm_val args[] = {value, dm_ir_zero(&lw->b, type)};
            *out = dm_lower_builtin(lw, at, dm_builtin_row(DM_ROW_NE), args, 2, "!=").value;
        }
        return true;
    }
    if (type->kind == DM_TYPE_ARRAY) {
        dm_val null =
            dm_ir_simple(&lw->b, DM_IR_IS_NULL, &value, 1, dm_type_scalar(lw->lang, DM_BOOL));
        *out = dm_lower_builtin(lw, at, dm_builtin_row(DM_ROW_NOT), &null, 1, "not").value;
        return true;
    }
    dm_lower_error(lw, at, NULL, "%s cannot be a condition", type->name);
    return false;
}

/* ---- Builtin rows ---- */

static const char *describe_types(dm_lower *lw, const dm_val *args, int count)
{
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = dm_lang_format(lw->lang, "%s%s%s", text, i > 0 ? ", " : "",
                              dm_lower_type(lw, args[i])->name);
    return text;
}

dm_val dm_lower_row(dm_lower *lw, const dm_bind *bind, const dm_val *args, int count)
{
    dm_val folded;
    if (dm_fold(&lw->b, bind, args, count, &folded))
        return folded;
    return dm_ir_call(&lw->b, bind, args, count)->result;
}

/* The row that takes these arguments once weak literals are given the others' scalar. */
static const dm_bind *find_weak_row(dm_lower *lw, const dm_builtin *first, const dm_type **types,
                                    dm_val *args, int count)
{
    int scalar = -1;
    for (int i = 0; i < count; i++) {
        const dm_ir_op *c = dm_ir_const(lw->function, args[i]);
        bool number = dm_type_is_scalar(types[i]) || dm_type_is_numeric(types[i]);
        if (!(c != NULL && c->is_literal) && number && types[i]->scalar != DM_BOOL)
            scalar = types[i]->scalar;
    }
    if (scalar < 0)
        return NULL;
    for (int i = 0; i < count; i++) {
        const dm_ir_op *c = dm_ir_const(lw->function, args[i]);
        if (c != NULL && c->is_literal) {
            args[i] = dm_ir_cast(&lw->b, args[i], dm_type_scalar(lw->lang, (dm_scalar)scalar));
            types[i] = dm_lower_type(lw, args[i]);
        }
    }
    return dm_builtin_bind(lw->lang, first, types, count);
}

static bool holds_half(const dm_type *type)
{
    return (type->scalar == DM_F16) & ((type->kind == DM_TYPE_SCALAR) | dm_type_is_numeric(type));
}

static dm_operand refuse(dm_lower *lw, const dm_ast *at, const dm_val *args, int count,
                         const char *shown)
{
    const char *hint = NULL;
    const dm_type *first = count == 2 ? dm_lower_type(lw, args[0]) : NULL;
    const dm_type *second = count == 2 ? dm_lower_type(lw, args[1]) : NULL;
    if (count == 2 && dm_type_is_scalar(first) && dm_type_is_scalar(second)) {
        const bool to_second = dm_type_is_float(second) && !dm_type_is_float(first);
        hint = dm_lang_format(lw->lang, "convert one of them, for instance with wp.%s(...)",
                              to_second ? second->name : first->name); /* a fraction is kept */
    }
    return dm_lower_error(lw, at, hint, "'%s' does not take (%s)", shown,
                          describe_types(lw, args, count));
}

dm_operand dm_lower_builtin(dm_lower *lw, const dm_ast *at, const dm_builtin *first,
                            const dm_val *args, int count, const char *shown)
{
    if (lw->module->options.warp_compat && first->compat != NULL)
        first = first->compat; /* a row with the gradient that Warp has, where it differs */
    const dm_type *types[DM_BUILTIN_PARAMS_MAX];
    dm_val given[DM_BUILTIN_PARAMS_MAX];
    if (count > DM_BUILTIN_PARAMS_MAX)
        return dm_lower_error(lw, at, NULL, "'%s' is not supported", shown);
    bool half = false;
    for (int i = 0; i < count; i++) {
        given[i] = args[i];
        types[i] = dm_lower_type(lw, args[i]);
        half |= holds_half(types[i]);
    }
    for (int i = 0; half && i < count; i++) /* rows never see them */
        if (holds_half(types[i])) {
            types[i] = dm_type_with_scalar(lw->lang, types[i], DM_F32);
            given[i] = dm_ir_cast(&lw->b, args[i], types[i]);
        }
    const dm_bind *bind = dm_builtin_bind(lw->lang, first, types, count);
    if (bind == NULL && lw->weak)
        bind = find_weak_row(lw, first, types, given, count);
    if (bind == NULL)
        return refuse(lw, at, args, count, shown);
    dm_val result = dm_lower_row(lw, bind, given, count);
    if (half && holds_half(dm_type_with_scalar(lw->lang, bind->result, DM_F16)) &&
        bind->result->scalar == DM_F32)
        result = dm_ir_cast(&lw->b, result, dm_type_with_scalar(lw->lang, bind->result, DM_F16));
    return dm_lower_value_operand(result);
}

static dm_row_number operator_row(dm_token_kind op)
{
    switch (op) {
    case DM_TOK_PLUS:
        return DM_ROW_ADD;
    case DM_TOK_MINUS:
        return DM_ROW_SUB;
    case DM_TOK_STAR:
    case DM_TOK_AT:
        return DM_ROW_MUL;
    case DM_TOK_SLASH:
        return DM_ROW_DIV;
    case DM_TOK_DOUBLESLASH:
        return DM_ROW_FLOORDIV;
    case DM_TOK_PERCENT:
        return DM_ROW_MOD;
    case DM_TOK_DOUBLESTAR:
        return DM_ROW_POW;
    case DM_TOK_AMPERSAND:
        return DM_ROW_BIT_AND;
    case DM_TOK_PIPE:
        return DM_ROW_BIT_OR;
    case DM_TOK_CARET:
        return DM_ROW_BIT_XOR;
    case DM_TOK_SHIFTLEFT:
        return DM_ROW_LSHIFT;
    case DM_TOK_SHIFTRIGHT:
        return DM_ROW_RSHIFT;
    case DM_TOK_LESS:
        return DM_ROW_LT;
    case DM_TOK_LESSEQUAL:
        return DM_ROW_LE;
    case DM_TOK_GREATER:
        return DM_ROW_GT;
    case DM_TOK_GREATEREQUAL:
        return DM_ROW_GE;
    case DM_TOK_EQUAL:
        return DM_ROW_EQ;
    case DM_TOK_NOTEQUAL:
        return DM_ROW_NE;
    default:
        return DM_ROW_OTHER;
    }
}

const dm_builtin *dm_lower_operator(dm_token_kind op)
{
    return dm_builtin_row(operator_row(op));
}

dm_operand dm_lower_binary(dm_lower *lw, const dm_ast *at, dm_token_kind op, dm_val a, dm_val b)
{
    dm_val args[] = {a, b};
    return dm_lower_builtin(lw, at, dm_lower_operator(op), args, 2, dm_token_spelling(op));
}

/* ---- Names and literals ---- */

/* A hint for an unknown name: Warp's name, or a variable, with nearly the same spelling. */
static const char *meant_name(dm_lower *lw, const char *name)
{
    const char *warp = lw->module->warp == NULL ? "wp" : lw->module->warp;
    const dm_known_name *known = dm_lang_name_of(name)->known;
    if (known != NULL && known->kind == DM_KNOWN_MODULE)
        return dm_lang_format(lw->lang, "import %s", name);
    if (dm_namespace_has(name))
        return dm_lang_format(lw->lang, "did you mean '%s.%s'?", warp, name);
    const char **names =
        dm_lang_alloc_array(lw->lang, (size_t)lw->variable_count + 1, sizeof *names);
    int count = 0;
    for (int i = 0; i < lw->variable_count; i++)
        if (strchr(lw->variables[i].name, '.') == NULL)
            names[count++] = lw->variables[i].name;
    const char *near = dm_closest(name, names);
    return near == NULL ? NULL : dm_lang_format(lw->lang, "did you mean '%s'?", near);
}

/* In a kernel, Warp finds its functions and types without "wp." too, but for tid. */
static bool is_bare_builtin(const char *name)
{
    const dm_known_name *known = dm_lang_name_of(name)->known;
    return name[0] != '_' && known != NULL && dm_namespace_has(name) && strcmp(name, "tid") != 0 &&
           (known->kind == DM_KNOWN_BUILTIN || known->kind == DM_KNOWN_NUMERIC);
}

static dm_operand lower_name(dm_lower *lw, const dm_ast *ast)
{
    for (int i = 0; i < lw->bound_count; i++)
        if (lw->bound_names[i] == ast->name)
            return dm_lower_value_operand(lw->bound[i]);
    int found = dm_lower_find_variable(lw, ast->name);
    if (found >= 0) {
        const dm_variable *variable = &lw->variables[found];
        if (variable->now.kind != DM_OPERAND_ERROR)
            return variable->now;
        if (variable->bad)
            return DM_OPERAND_BAD;
        if (variable->type != NULL)
            return dm_lower_error(lw, ast, NULL, "'%s' has no value here", ast->name);
    }
    const dm_value *known = dm_scope_eval(lw->scope, ast);
    if (known == lw->module->unknown && dm_scope_lookup(lw->scope, ast->name, ast->pos) == NULL) {
        if (lw->scope == lw->module->library || lw->weak) /* our own texts leave "wp." out */
            return dm_lower_known(dm_value_member(
                lw->scope, &(dm_value){.kind = DM_VALUE_MODULE, .text = "warp"}, ast->name));
        if (is_bare_builtin(ast->name))
            return dm_lower_known(dm_namespace_warp(lw->lang, ast->name));
        return dm_lower_error(lw, ast, meant_name(lw, ast->name), "nothing is called '%s' here",
                              ast->name);
    }
    return dm_lower_known(known);
}

/* ---- Operators ---- */

static dm_operand lower_unary(dm_lower *lw, const dm_ast *ast)
{
    dm_val value;
    if (!dm_lower_value(lw, ast->a, &value))
        return DM_OPERAND_BAD;
    if (ast->op == DM_TOK_NOT) {
        dm_val truth;
        if (!dm_lower_truth(lw, ast->a, value, &truth))
            return DM_OPERAND_BAD;
        return dm_lower_builtin(lw, ast, dm_builtin_row(DM_ROW_NOT), &truth, 1, "not");
    }
    dm_row_number row = ast->op == DM_TOK_MINUS  ? DM_ROW_NEG
                        : ast->op == DM_TOK_PLUS ? DM_ROW_POS
                                                 : DM_ROW_INVERT;
    return dm_lower_builtin(lw, ast, dm_builtin_row(row), &value, 1,
                            ast->op == DM_TOK_MINUS  ? "-"
                            : ast->op == DM_TOK_PLUS ? "+"
                                                     : "~");
}

static dm_operand lower_binary(dm_lower *lw, const dm_ast *ast)
{
    dm_val a, b;
    bool fine = dm_lower_value(lw, ast->a, &a);
    fine = dm_lower_value(lw, ast->b, &b) && fine;
    if (!fine)
        return DM_OPERAND_BAD;
    return dm_lower_binary(lw, ast, ast->op, a, b);
}

/* As C converts before it compares. */
static const dm_type *common_scalar(dm_lower *lw, const dm_type *a, const dm_type *b)
{
    int bytes_a = dm_scalar_bytes((dm_scalar)a->scalar),
        bytes_b = dm_scalar_bytes((dm_scalar)b->scalar);
    bool float_a = dm_type_is_float(a), float_b = dm_type_is_float(b);
    if (float_a || float_b)
        return float_a && float_b ? (bytes_a >= bytes_b ? a : b) : float_a ? a : b;
    if (bytes_a < 4 && bytes_b < 4)
        return dm_type_scalar(lw->lang, DM_I32);
    if (bytes_a != bytes_b)
        return bytes_a > bytes_b ? a : b;
    return dm_scalar_is_signed((dm_scalar)a->scalar) ? b : a;
}

/* Vectors and matrices are equal when all components are. */
static dm_val compare_numeric(dm_lower *lw, const dm_ast *at, dm_token_kind op, dm_val a, dm_val b)
{
    dm_val all = DM_VAL_NONE;
    int count = dm_type_components(dm_lower_type(lw, a));
    for (int i = 0; i < count; i++) {
        dm_val parts[] = {dm_ir_extract_at(&lw->b, a, i), dm_ir_extract_at(&lw->b, b, i)};
        dm_val one = dm_lower_builtin(lw, at, dm_lower_operator(op), parts, 2, "==").value;
        dm_val both[] = {all, one};
        all = i == 0 ? one
                     : dm_lower_builtin(lw, at,
                                        dm_builtin_row(op == DM_TOK_EQUAL ? DM_ROW_AND : DM_ROW_OR),
                                        both, 2, "==")
                           .value;
    }
    return all;
}

bool dm_lower_compare(dm_lower *lw, const dm_ast *at, dm_token_kind op, dm_val a, dm_val b,
                      dm_val *out)
{
    const dm_type *type_a = dm_lower_type(lw, a), *type_b = dm_lower_type(lw, b);
    if (dm_type_is_scalar(type_a) && dm_type_is_scalar(type_b) && type_a != type_b) {
        const dm_type *common = common_scalar(lw, type_a, type_b);
        a = dm_ir_cast(&lw->b, a, common);
        b = dm_ir_cast(&lw->b, b, common);
    }
    if (dm_type_is_numeric(type_a) && type_a == type_b &&
        (op == DM_TOK_EQUAL || op == DM_TOK_NOTEQUAL)) {
        *out = compare_numeric(lw, at, op, a, b);
        return true;
    }
    dm_operand result = dm_lower_binary(lw, at, op, a, b);
    *out = result.value;
    return result.kind == DM_OPERAND_VALUE;
}

/* `a is None`, `dtype == wp.float32`: known while compiling. */
static bool same_known(const dm_value *a, const dm_value *b, bool *out)
{
    if (a->kind == DM_VALUE_UNKNOWN || b->kind == DM_VALUE_UNKNOWN)
        return false;
    if (a->kind != b->kind)
        *out = false;
    else if (a->kind == DM_VALUE_TYPE)
        *out = a->type == b->type;
    else if (a->kind == DM_VALUE_STRING || a->kind == DM_VALUE_BUILTIN)
        *out = strcmp(a->text, b->text) == 0;
    else if (a->kind == DM_VALUE_NONE)
        *out = true;
    else if (a->kind == DM_VALUE_FUNCTION)
        *out = a->function == b->function;
    else
        return false;
    return true;
}

static dm_operand lower_compare(dm_lower *lw, const dm_ast *ast)
{
    dm_val left, all = DM_VAL_NONE;
    dm_operand first = dm_lower_expr(lw, ast->items[0]);
    for (int i = 0; i + 1 < ast->count; i++) {
        dm_token_kind op = ast->ops[i];
        dm_operand second = dm_lower_expr(lw, ast->items[i + 1]);
        bool negated = op == DM_TOK_NOTEQUAL || op == DM_TOK_NOT_SIGN, same;
        bool equality = negated || op == DM_TOK_EQUAL || op == DM_TOK_IS;
        dm_val right, one;
        if (equality && first.kind == DM_OPERAND_KNOWN && second.kind == DM_OPERAND_KNOWN &&
            same_known(first.known, second.known, &same)) {
            one = dm_ir_bool(&lw->b, same != negated);
        } else {
            if (!dm_lower_operator(op))
                return dm_lower_error(lw, ast, NULL, "%s is not supported in kernels",
                                      dm_token_name(op));
            if (!dm_lower_materialize(lw, ast->items[i], &first, &left) ||
                !dm_lower_materialize(lw, ast->items[i + 1], &second, &right) ||
                !dm_lower_compare(lw, ast, op, left, right, &one))
                return DM_OPERAND_BAD;
        }
        dm_val both[] = {all, one};
        all = i == 0 ? one
                     : dm_lower_builtin(lw, ast, dm_builtin_row(DM_ROW_AND), both, 2, "and").value;
        first = second;
    }
    return dm_lower_value_operand(all);
}

/* ---- Choices: the untaken side is not evaluated ---- */

static bool only_pure(const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        bool traps = op->kind == DM_IR_CALL &&
                     (op->row->number == DM_ROW_DIV || op->row->number == DM_ROW_MOD ||
                      op->row->number == DM_ROW_FLOORDIV) &&
                     dm_type_is_int(op->bind->result);
        if (dm_ir_infos[op->kind].effect != DM_IR_PURE || traps)
            return false;
    }
    return true;
}

static void append_all(dm_lower *lw, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++)
        dm_ir_append(lw->lang, lw->b.block, block->ops[i]);
}

static void end_block(dm_lower *lw, dm_ir_block *block, dm_val value)
{
    dm_ir_block *before = lw->b.block;
    lw->b.block = block;
    dm_ir_op_new(&lw->b, DM_IR_YIELD, &value, value == DM_VAL_NONE ? 0 : 1, NULL);
    lw->b.block = before;
}

static dm_val choose(dm_lower *lw, dm_val condition, dm_ir_block *then, dm_ir_block *other,
                     dm_val a, dm_val b)
{
    end_block(lw, then, a);
    end_block(lw, other, b);
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_IF, &condition, 1, dm_lower_type(lw, a));
    op->blocks[0] = then;
    op->blocks[1] = other;
    return op->result;
}

/* a and b, a or b: b's work is done only when it counts, unless it is free of effects. */
static dm_operand lower_boolean(dm_lower *lw, const dm_ast *ast)
{
    dm_val all;
    bool is_or = ast->op == DM_TOK_OR;
    if (!dm_lower_value(lw, ast->items[0], &all) || !dm_lower_truth(lw, ast->items[0], all, &all))
        return DM_OPERAND_BAD;
    for (int i = 1; i < ast->count; i++) {
        int64_t decided;
        if (dm_ir_const_int(lw->function, all, &decided) && (decided != 0) == is_or)
            break;
        dm_ir_block *before = lw->b.block, *inner = dm_ir_block_new(lw->lang);
        dm_val next;
        lw->b.block = inner;
        bool fine = dm_lower_value(lw, ast->items[i], &next) &&
                    dm_lower_truth(lw, ast->items[i], next, &next);
        lw->b.block = before;
        if (!fine)
            return DM_OPERAND_BAD;
        if (only_pure(inner)) {
            append_all(lw, inner);
            dm_val both[] = {all, next};
            all = dm_lower_builtin(lw, ast, dm_builtin_row(is_or ? DM_ROW_OR : DM_ROW_AND), both, 2,
                                   "and")
                      .value;
        } else {
            dm_ir_block *shortcut = dm_ir_block_new(lw->lang);
            lw->b.block = shortcut;
            dm_val decision = dm_ir_bool(&lw->b, is_or);
            lw->b.block = before;
            all = is_or ? choose(lw, all, shortcut, inner, decision, next)
                        : choose(lw, all, inner, shortcut, next, decision);
        }
    }
    return dm_lower_value_operand(all);
}

/* a if c else b */
static dm_operand lower_ternary(dm_lower *lw, const dm_ast *ast)
{
    dm_val condition, a, b;
    if (!dm_lower_value(lw, ast->b, &condition) ||
        !dm_lower_truth(lw, ast->b, condition, &condition))
        return DM_OPERAND_BAD;
    int64_t decided;
    if (dm_ir_const_int(lw->function, condition, &decided))
        return dm_lower_expr(lw, decided != 0 ? ast->a : ast->c);
    dm_ir_block *before = lw->b.block, *then = dm_ir_block_new(lw->lang),
                *other = dm_ir_block_new(lw->lang);
    lw->b.block = then;
    bool fine = dm_lower_value(lw, ast->a, &a);
    lw->b.block = other;
    fine = dm_lower_value(lw, ast->c, &b) && fine;
    lw->b.block = before;
    if (!fine)
        return DM_OPERAND_BAD;
    if (dm_lower_type(lw, a) != dm_lower_type(lw, b))
        return dm_lower_error(lw, ast, NULL, "the two sides of 'if ... else' are %s and %s",
                              dm_lower_type(lw, a)->name, dm_lower_type(lw, b)->name);
    return dm_lower_value_operand(choose(lw, condition, then, other, a, b));
}

static dm_operand lower_tuple(dm_lower *lw, const dm_ast *ast)
{
    dm_operand *items = dm_lang_alloc_array(lw->lang, (size_t)ast->count + 1, sizeof *items);
    for (int i = 0; i < ast->count; i++) {
        items[i] = dm_lower_expr(lw, ast->items[i]);
        if (items[i].kind == DM_OPERAND_ERROR)
            return DM_OPERAND_BAD;
    }
    return (dm_operand){
        .kind = DM_OPERAND_ITEMS, .items = items, .count = ast->count, .value = DM_VAL_NONE};
}

dm_operand dm_lower_expr(dm_lower *lw, const dm_ast *ast)
{
    dm_operand result;
    dm_pos before = lw->b.pos;
    lw->b.pos = ast->pos;
    switch (ast->kind) {
    case DM_AST_NAME:
        result = lower_name(lw, ast);
        break;
    case DM_AST_INT:
        result = dm_lower_value_operand(dm_lower_int_literal(lw, (int64_t)ast->integer));
        break;
    case DM_AST_FLOAT:
        result = dm_lower_value_operand(dm_lower_real_literal(lw, ast->real));
        break;
    case DM_AST_BOOL:
    case DM_AST_STRING:
    case DM_AST_NONE:
        result = dm_lower_known(dm_scope_eval(lw->scope, ast));
        break;
    case DM_AST_UNARY:
        result = lower_unary(lw, ast);
        break;
    case DM_AST_BINARY:
        result = lower_binary(lw, ast);
        break;
    case DM_AST_COMPARE:
        result = lower_compare(lw, ast);
        break;
    case DM_AST_BOOLEAN:
        result = lower_boolean(lw, ast);
        break;
    case DM_AST_TERNARY:
        result = lower_ternary(lw, ast);
        break;
    case DM_AST_CALL:
        result = dm_lower_call(lw, ast);
        break;
    case DM_AST_ATTRIBUTE: {
        if (ast->a->kind == DM_AST_NAME && ast->a->name == lw->module->warp &&
            lw->scope == lw->module->root && lw->bound_count == 0 &&
            dm_lower_find_variable(lw, ast->a->name) < 0) { /* wp.something */
            result = dm_lower_known(dm_namespace_warp(lw->lang, ast->name));
            break;
        }
        dm_operand base = dm_lower_expr(lw, ast->a);
        result = dm_lower_attribute(lw, ast, &base, ast->name);
        break;
    }
    case DM_AST_SUBSCRIPT:
        result = dm_lower_subscript(lw, ast);
        break;
    case DM_AST_TUPLE:
    case DM_AST_LIST:
        result = lower_tuple(lw, ast);
        break;
    default:
        result = dm_lower_error(lw, ast, NULL, "%s cannot be used in a kernel",
                                ast->kind == DM_AST_OPAQUE ? ast->name : "this");
        break;
    }
    lw->b.pos = before;
    return result;
}
