/* SPDX-License-Identifier: MIT */
/* lower_special.c - builtins whose type rule or meaning cannot be a row of builtins.def. Each has a function
 * here and a line in the table below. See lower.h. */
#include "lang/ir/lower_call.h"

#include <stdio.h>
#include <string.h>

/* ---- Builtins with a meaning of their own ---- */

static dm_operand special_tid(dm_lower *lw, const dm_call *c)
{
    if (lw->function->role != DM_IR_KERNEL)
        return dm_lower_error(lw, c->ast, "pass its value to the function",
                              "tid() can be called in kernels only");
    /* One value or several: the target of the assignment decides (dm_lower.tid_wanted). */
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

static dm_operand special_len(dm_lower *lw, const dm_call *c)
{
    const dm_type *i32 = scalar(lw, DM_I32);
    dm_val value;
    if (c->count != 1)
        return dm_lower_error(lw, c->ast, NULL, "len takes one argument");
    if (c->args[0].kind == DM_OPERAND_ITEMS)
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, c->args[0].count));
    const dm_type *named = dm_call_type(&c->args[0]);
    if (named != NULL && dm_type_is_numeric(named))
        return dm_lower_value_operand(dm_ir_int(&lw->b, i32, named->rows));
    if (!dm_call_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, value);
    if (type->kind == DM_TYPE_ARRAY) {
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
static dm_operand special_atomic(dm_lower *lw, const dm_call *c)
{
    const char *kind = dm_lang_intern_text(lw->lang, strrchr(c->name, '_') + 1);
    int values = strcmp(kind, "cas") == 0 ? 2 : 1;
    dm_val args[8];
    if (c->count < 2 + values || c->count > 8)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes an array, its indices and a value",
                              c->name);
    for (int i = 0; i < c->count; i++)
        if (!dm_call_value(lw, c, i, &args[i]))
            return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, args[0]);
    if (type->kind != DM_TYPE_ARRAY)
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
        if (!dm_call_fit(lw, type->element, &args[i]))
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

static dm_operand special_print(dm_lower *lw, const dm_call *c)
{
    const char *format = "";
    dm_val values[32];
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (!dm_call_value(lw, c, i, &value))
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

static dm_operand special_printf(dm_lower *lw, const dm_call *c)
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
        if (!dm_call_value(lw, c, used + 1, &value))
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
static dm_operand special_expect(dm_lower *lw, const dm_call *c)
{
    bool near = strcmp(c->name, "expect_near") == 0, unequal = strcmp(c->name, "expect_neq") == 0;
    dm_val a, b, tolerance = DM_VAL_NONE, all = DM_VAL_NONE;
    if (c->count < 2 || c->count > 2 + near)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes two values", c->name);
    if (!dm_call_value(lw, c, 0, &a) || !dm_call_value(lw, c, 1, &b) ||
        (c->count == 3 && !dm_call_value(lw, c, 2, &tolerance)))
        return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, a);
    if (dm_lower_type(lw, b) != type && !dm_call_fit(lw, type, &b) &&
        !dm_call_fit(lw, dm_lower_type(lw, b), &a))
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
        if (!dm_call_fit(lw, leaf, &tolerance))
            return dm_lower_error(lw, c->ast, NULL, "the tolerance must be %s", leaf->name);
    }
    for (int i = 0; i < dm_type_components(type); i++) {
        dm_val x = dm_type_is_scalar(type) ? a : dm_ir_extract_at(&lw->b, a, i);
        dm_val y = dm_type_is_scalar(type) ? b : dm_ir_extract_at(&lw->b, b, i);
        dm_val pair[] = {x, y}, one;
        if (near) {
            dm_val difference =
                dm_lower_builtin(lw, c->ast, dm_builtin_row(DM_ROW_SUB), pair, 2, "-").value;
            dm_val size =
                dm_lower_builtin(lw, c->ast, dm_builtin_row(DM_ROW_ABS), &difference, 1, "abs")
                    .value;
            dm_val bound[] = {size, tolerance};
            one = dm_lower_builtin(lw, c->ast, dm_builtin_row(DM_ROW_LE), bound, 2, "<=").value;
        } else {
            one = dm_lower_builtin(lw, c->ast, dm_builtin_row(unequal ? DM_ROW_NE : DM_ROW_EQ),
                                   pair, 2, "==")
                      .value;
        }
        dm_val both[] = {all, one};
        all = i == 0
                  ? one
                  : dm_lower_builtin(lw, c->ast, dm_builtin_row(unequal ? DM_ROW_OR : DM_ROW_AND),
                                     both, 2, "and")
                        .value;
    }
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_CHECK, &all, 1, NULL);
    op->text = c->name;
    return (dm_operand){.kind = DM_OPERAND_VALUE, .value = DM_VAL_NONE};
}

static dm_operand special_static(dm_lower *lw, const dm_call *c)
{
    return c->count == 1 ? c->args[0]
                         : dm_lower_error(lw, c->ast, NULL, "static takes one expression");
}

/* select(cond, value_if_false, value_if_true), the older order of where */
static dm_operand special_select(dm_lower *lw, const dm_call *c)
{
    dm_val args[3];
    if (c->count != 3)
        return dm_lower_error(lw, c->ast, NULL, "select takes three values");
    if (!dm_call_value(lw, c, 0, &args[0]) || !dm_call_value(lw, c, 1, &args[2]) ||
        !dm_call_value(lw, c, 2, &args[1]))
        return DM_OPERAND_BAD;
    return dm_lower_builtin(lw, c->ast, dm_builtin_row(DM_ROW_WHERE), args, 3, "select");
}

dm_operand dm_lower_where(dm_lower *lw, const dm_ast *at, dm_val *args)
{
    if (dm_lower_type(lw, args[0])->kind == DM_TYPE_ARRAY &&
        !dm_lower_truth(lw, at, args[0], &args[0]))
        return DM_OPERAND_BAD;
    if (!dm_call_fit(lw, dm_lower_type(lw, args[1]), &args[2]))
        dm_call_fit(lw, dm_lower_type(lw, args[2]), &args[1]);
    return dm_lower_builtin(lw, at, dm_builtin_row(DM_ROW_WHERE), args, 3, "where");
}

static dm_operand special_where(dm_lower *lw, const dm_call *c)
{
    dm_val args[3];
    if (c->count != 3)
        return dm_lower_error(lw, c->ast, NULL, "where takes three values");
    for (int i = 0; i < 3; i++)
        if (!dm_call_value(lw, c, i, &args[i]))
            return DM_OPERAND_BAD;
    return dm_lower_where(lw, c->ast, args);
}

static dm_operand special_zero_like(dm_lower *lw, const dm_call *c)
{
    dm_val value;
    if (c->count != 1 || !dm_call_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    return dm_lower_value_operand(dm_ir_zero(&lw->b, dm_lower_type(lw, value)));
}

static dm_operand special_type(dm_lower *lw, const dm_call *c)
{
    dm_val value;
    if (c->count != 1 || !dm_call_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    return dm_lower_known(dm_value_type(lw->lang, dm_lower_type(lw, value)));
}

/* identity(n=3, dtype=float), quat_identity(dtype=...), transform_identity(...) */
static dm_operand special_identity(dm_lower *lw, const dm_call *c)
{
    bool matrix = strcmp(c->name, "identity") == 0;
    const dm_type *dtype = dm_call_type(dm_call_find(c, matrix ? 1 : 0, "dtype"));
    dm_scalar s = dtype == NULL ? DM_F32 : (dm_scalar)dtype->scalar;
    int n = 0;
    if (matrix && !dm_call_int(lw, dm_call_find(c, 0, "n"), &n))
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
static dm_operand special_matrix_from(dm_lower *lw, const dm_call *c)
{
    bool rows = strcmp(c->name, "matrix_from_rows") == 0;
    dm_val vectors[64];
    if (c->count < 1 || c->count > 64)
        return dm_lower_error(lw, c->ast, NULL, "'%s' takes vectors", c->name);
    for (int i = 0; i < c->count; i++)
        if (!dm_call_value(lw, c, i, &vectors[i]))
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
    dm_operand (*lower)(dm_lower *lw, const dm_call *c);
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

dm_operand dm_lower_special_call(dm_lower *lw, const dm_call *c, int number)
{
    return specials[number].lower(lw, c);
}
