/* SPDX-License-Identifier: MIT */
/* numpy_expr.c - the values of a kernel as Python expressions; see numpy.h. */
#include "lang/sema/builtins.h"
#include "synth/lesson/numpy_internal.h"
#include "synth/lesson/roles.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Helpers ---- */

/* clang-format off */
const dm_numpy_helper dm_numpy_helpers[] = {
    {"i32", "def i32(x):\n    \"\"\"The integer in 32 bits with sign.\"\"\"\n"
            "    return (int(x) + 2**31) % 2**32 - 2**31\n"},
    {"u32", "def u32(x):\n    \"\"\"The integer in 32 bits without sign.\"\"\"\n    return int(x) % 2**32\n"},
    {"quotient", "def quotient(a, b):\n    \"\"\"Of integers, towards zero as in C.\"\"\"\n"
                 "    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)\n"},
    {"remainder", "def remainder(a, b):\n    \"\"\"Of integers, with the sign of a as in C.\"\"\"\n"
                  "    return abs(a) % abs(b) * (-1 if a < 0 else 1)\n"},
    {"pcg", "def pcg(state):\n    \"\"\"The generator's step: 32 bits to 32 bits.\"\"\"\n"
            "    b = (state * 747796405 + 2891336453) % 2**32\n"
            "    c = ((b >> ((b >> 28) + 4)) ^ b) * 277803737 % 2**32\n    return (c >> 22) ^ c\n"},
    {"sign", "def sign(x):\n    return -1 if x < 0 else 1\n"},
    {"length_sq", "def length_sq(v):\n    return np.dot(v, v)\n"},
    {"normalize", "def normalize(v):\n    length = np.linalg.norm(v)\n"
                  "    return v / length if length > 0 else np.zeros_like(v)\n"},
    {"inverse", "def inverse(m):\n    \"\"\"Zeros where there is none, as in the kernel.\"\"\"\n"
                "    return np.linalg.inv(m) if np.linalg.det(m) != 0 else np.zeros_like(m)\n"},
    {"skew", "def skew(v):\n    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]], v.dtype)\n"},
    {"insert", "def insert(value, index, part):\n    \"\"\"A copy with another component.\"\"\"\n"
               "    changed = value.copy()\n    changed.reshape(-1)[index] = part\n    return changed\n"},
    {"with_field", "def with_field(value, name, part):\n    \"\"\"A copy with another field.\"\"\"\n"
                   "    changed = value.copy()\n    changed[name] = part\n    return changed\n"},
    {"make", "def make(dtype, *fields):\n    made = np.zeros((), dtype)[()]\n"
             "    for name, value in zip(dtype.names, fields):\n        made[name] = value\n    return made\n"},
    {"quat_inverse", "def quat_inverse(q):\n    return q * np.array([-1, -1, -1, 1], q.dtype)\n"},
    {"quat_multiply", "def quat_multiply(a, b):\n    w = a[3] * b[3] - np.dot(a[:3], b[:3])\n"
                      "    v = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])\n"
                      "    return np.array([v[0], v[1], v[2], w], a.dtype)\n"},
    {"quat_rotate", "def quat_rotate(q, v):\n    u, w = q[:3], q[3]\n"
                    "    return v * (2 * w * w - 1) + u * (2 * np.dot(u, v)) + np.cross(u, v) * (2 * w)\n"},
    {"quat_from_axis_angle", "def quat_from_axis_angle(axis, angle):\n    v = normalize(axis) * np.sin(angle / 2)\n"
                             "    return np.array([v[0], v[1], v[2], np.cos(angle / 2)], axis.dtype)\n"},
    {"quat_to_matrix", "def quat_to_matrix(q):\n    columns = [quat_rotate(q, e) for e in np.eye(3, dtype=q.dtype)]\n"
                       "    return np.array(columns).T\n"},
    {NULL, NULL},
};
/* clang-format on */

void dm_numpy_use(dm_numpy_writer *w, const char *helper)
{
    for (int i = 0; dm_numpy_helpers[i].name != NULL; i++)
        if (strcmp(dm_numpy_helpers[i].name, helper) == 0 && (w->helpers >> i & 1) == 0) {
            w->helpers |= (uint64_t)1 << i;
            for (int k = 0; dm_numpy_helpers[k].name != NULL; k++) { /* what it uses itself */
                char call[64];
                snprintf(call, sizeof call, " %s(", dm_numpy_helpers[k].name);
                if (k != i && strstr(dm_numpy_helpers[i].text, call) != NULL)
                    dm_numpy_use(w, dm_numpy_helpers[k].name);
            }
        }
}

void dm_numpy_unknown(dm_numpy_writer *w, const char *what)
{
    if (w->status == DM_OK)
        w->status = dm_fail(w->err, DM_EUNSUPPORTED, "no NumPy form of '%s' is known", what);
}

/* ---- Numbers ---- */

static void put_real(dm_buffer *out, double value, bool narrow)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        dm_buffer_puts(out, isnan(value) ? "np.nan" : value > 0 ? "np.inf" : "-np.inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (narrow ? (float)back == (float)value : back == value)
            break;
    }
    dm_buffer_puts(out, text);
    if (strpbrk(text, ".e") == NULL)
        dm_buffer_puts(out, ".0");
}

static void put_const(dm_numpy_writer *w, const dm_ir_op *op, int level)
{
    const dm_type *type = w->f->values[op->result].type;
    bool negative = dm_type_is_float(type) ? signbit(op->real) : op->integer < 0;
    bool bracket = negative && level > DM_PY_SIGN;
    dm_buffer_puts(w->out, bracket ? "(" : "");
    if (dm_type_is_float(type))
        put_real(w->out, op->real, type->scalar != DM_F64);
    else if (type->scalar == DM_BOOL)
        dm_buffer_puts(w->out, op->integer != 0 ? "True" : "False");
    else if (type->scalar == DM_U32)
        dm_buffer_printf(w->out, "%u", (unsigned)op->integer);
    else
        dm_buffer_printf(w->out, "%lld", (long long)op->integer);
    dm_buffer_puts(w->out, bracket ? ")" : "");
}

/* ---- Types ---- */

static const char *scalar_dtype(dm_scalar scalar)
{
    static const char *const names[] = {
        [DM_BOOL] = "np.bool_",  [DM_I8] = "np.int8",     [DM_U8] = "np.uint8",
        [DM_I16] = "np.int16",   [DM_U16] = "np.uint16",  [DM_I32] = "np.int32",
        [DM_U32] = "np.uint32",  [DM_I64] = "np.int64",   [DM_U64] = "np.uint64",
        [DM_F16] = "np.float16", [DM_F32] = "np.float32", [DM_F64] = "np.float64"};
    return names[scalar];
}

static void put_shape(const dm_type *type, dm_buffer *out)
{
    if (type->kind == DM_TYPE_MAT)
        dm_buffer_printf(out, "(%d, %d)", type->rows, type->cols);
    else
        dm_buffer_printf(out, "(%d,)", dm_type_components(type));
}

void dm_synth_numpy_dtype(const dm_type *type, dm_buffer *out)
{
    if (type->kind == DM_TYPE_STRUCT) {
        dm_buffer_puts(out, type->name);
    } else if (dm_type_is_numeric(type)) {
        dm_buffer_printf(out, "(%s, ", scalar_dtype((dm_scalar)type->scalar));
        put_shape(type, out);
        dm_buffer_putc(out, ')');
    } else {
        dm_buffer_puts(out, scalar_dtype((dm_scalar)type->scalar));
    }
}

void dm_synth_numpy_struct(const dm_type *type, dm_buffer *out)
{
    char start[160];
    if (type->kind == DM_TYPE_ARRAY)
        type = type->element;
    snprintf(start, sizeof start, "%.128s = np.dtype", type->name == NULL ? "" : type->name);
    if (type->kind != DM_TYPE_STRUCT || strstr(dm_buffer_text(out), start) != NULL)
        return;
    for (int i = 0; i < type->field_count; i++)
        dm_synth_numpy_struct(type->fields[i].type, out);
    dm_buffer_printf(out, "%s(\n    [", start);
    for (int i = 0; i < type->field_count; i++) {
        const dm_type *field = type->fields[i].type;
        dm_buffer_printf(out, "%s(\"%s\", ", i > 0 ? ", " : "", type->fields[i].name);
        if (dm_type_is_numeric(field)) {
            dm_buffer_printf(out, "%s, ", scalar_dtype((dm_scalar)field->scalar));
            put_shape(field, out);
        } else {
            dm_synth_numpy_dtype(field, out);
        }
        dm_buffer_putc(out, ')');
    }
    dm_buffer_puts(out, "],\n    align=True,\n)\n");
}

/* ---- Calls of builtins ---- */

typedef struct row {
    const char *name;
    int level;
    const char *text;
} row;

static const row rows[] = {
#define ROW(name, level, text) {name, DM_PY_##level, text},
#include "synth/lesson/numpy_rows.def"
#undef ROW
};

static bool is_binary(int level)
{
    return level > DM_PY_CHOICE && level < DM_PY_SIGN && level != DM_PY_NOT;
}

/* The level that argument `number` needs at `at` of the text. */
static int argument_level(const row *r, const char *at)
{
    bool begins = at == r->text, ends = at[2] == '\0';
    if (r->level == DM_PY_PRIMARY)
        return at[2] == '.' || at[2] == ' ' || (at > r->text && at[-1] == ' ' && at[-2] != ',')
                   ? DM_PY_PRIMARY
                   : DM_PY_ANY;
    if (r->level == DM_PY_COMPARE)
        return DM_PY_BIT_OR;
    if (is_binary(r->level))
        return begins ? r->level : r->level + ends;
    return r->level == DM_PY_CHOICE ? DM_PY_OR : r->level;
}

static void put_text(dm_numpy_writer *w, const dm_ir_op *op, const row *r, int level)
{
    bool bracket = r->level < level;
    dm_buffer_puts(w->out, bracket ? "(" : "");
    for (const char *c = r->text; *c != '\0'; c++) {
        if (*c != '$') {
            dm_buffer_putc(w->out, *c);
            continue;
        }
        dm_numpy_value(w, op->args[c[1] - '0'], argument_level(r, c));
        c++;
    }
    dm_buffer_puts(w->out, bracket ? ")" : "");
    for (int i = 0; dm_numpy_helpers[i].name != NULL; i++) { /* those that the text calls */
        const char *name = dm_numpy_helpers[i].name, *at = strstr(r->text, name);
        if (at != NULL && at[strlen(name)] == '(' && (at == r->text || at[-1] == '('))
            dm_numpy_use(w, name);
    }
}

static const row *find_row(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* Rows whose form depends on the types of the arguments. */
static row choose_row(dm_numpy_writer *w, const dm_ir_op *op)
{
    const char *name = op->row->name;
    const dm_type *a = w->f->values[op->args[0]].type;
    const dm_type *b = op->arg_count > 1 ? w->f->values[op->args[1]].type : a;
    bool integers = dm_type_is_int(a) && dm_type_is_int(b);
    if (strcmp(name, "mul") == 0 && a->kind == DM_TYPE_QUAT && b->kind == DM_TYPE_QUAT)
        return (row){name, DM_PY_PRIMARY, "quat_multiply($0, $1)"};
    if (strcmp(name, "mul") == 0 && (a->kind == DM_TYPE_MAT || b->kind == DM_TYPE_MAT) &&
        !dm_type_is_scalar(a) && !dm_type_is_scalar(b))
        return (row){name, DM_PY_PRODUCT, "$0 @ $1"};
    if (strcmp(name, "div") == 0 && integers)
        return (row){name, DM_PY_PRIMARY, "quotient($0, $1)"};
    if (strcmp(name, "floordiv") == 0)
        return (row){name, DM_PY_PRODUCT, "$0 // $1"};
    if (strcmp(name, "mod") == 0)
        return integers ? (row){name, DM_PY_PRIMARY, "remainder($0, $1)"}
                        : (row){name, DM_PY_PRIMARY, "np.fmod($0, $1)"};
    if ((strcmp(name, "min") == 0 || strcmp(name, "max") == 0) && !dm_type_is_scalar(a)) {
        bool least = name[1] == 'i';
        if (op->arg_count == 1)
            return (row){name, DM_PY_PRIMARY, least ? "np.min($0)" : "np.max($0)"};
        return (row){name, DM_PY_PRIMARY, least ? "np.minimum($0, $1)" : "np.maximum($0, $1)"};
    }
    if ((strcmp(name, "_eq") == 0 || strcmp(name, "_ne") == 0) && !dm_type_is_scalar(a))
        return name[1] == 'e' ? (row){name, DM_PY_PRIMARY, "np.array_equal($0, $1)"}
                              : (row){name, DM_PY_NOT, "not np.array_equal($0, $1)"};
    const row *found = find_row(name);
    if (found == NULL || a->kind == DM_TYPE_TRANSFORM || dm_type_is_int(a) > dm_type_is_scalar(a)) {
        dm_numpy_unknown(w, name);
        return (row){name, DM_PY_PRIMARY, "0"};
    }
    return *found;
}

/* May the result leave its integer type? */
static const char *wrapper_of(const dm_numpy_writer *w, const dm_ir_op *op)
{
    static const char *const leaving[] = {"add", "sub", "mul", "lshift", "neg", "invert", NULL};
    const dm_type *type = w->f->values[op->result].type;
    if (type->kind != DM_TYPE_SCALAR || (type->scalar != DM_U32 && type->scalar != DM_I32) ||
        (type->scalar == DM_I32 && !w->wraps))
        return NULL;
    for (int i = 0; leaving[i] != NULL; i++)
        if (strcmp(op->row->name, leaving[i]) == 0)
            return type->scalar == DM_U32 ? "u32" : "i32";
    return NULL;
}

static void put_call(dm_numpy_writer *w, const dm_ir_op *op, int level)
{
    const row r = choose_row(w, op);
    const char *wrapper = wrapper_of(w, op);
    if (wrapper == NULL) {
        put_text(w, op, &r, level);
        return;
    }
    dm_numpy_use(w, wrapper);
    dm_buffer_printf(w->out, "%s(", wrapper);
    put_text(w, op, &r, DM_PY_ANY);
    dm_buffer_putc(w->out, ')');
}

/* ---- Other operations ---- */

static void put_args(dm_numpy_writer *w, const dm_val *args, int count)
{
    for (int i = 0; i < count; i++) {
        dm_buffer_puts(w->out, i > 0 ? ", " : "");
        dm_numpy_value(w, args[i], DM_PY_ANY);
    }
}

static void put_cast(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *to = w->f->values[op->result].type, *from = w->f->values[op->args[0]].type;
    const char *before = "int(", *after = ")";
    if (!dm_type_is_scalar(to)) {
        dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
        dm_buffer_printf(w->out, ".astype(%s)", scalar_dtype((dm_scalar)to->scalar));
        return;
    }
    if (to->scalar == DM_BOOL) {
        before = "bool(";
    } else if (dm_type_is_float(to)) {
        dm_buffer_puts(w->out, to->scalar == DM_F32 ? "f32" : scalar_dtype((dm_scalar)to->scalar));
        before = "(";
    } else if (to->scalar == DM_U32 || (to->scalar == DM_I32 && from->scalar == DM_U32)) {
        before = to->scalar == DM_U32 ? "u32(" : "i32(";
        dm_numpy_use(w, to->scalar == DM_U32 ? "u32" : "i32");
    }
    dm_buffer_puts(w->out, before);
    dm_numpy_value(w, op->args[0], DM_PY_ANY);
    dm_buffer_puts(w->out, after);
}

static void put_make(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *type = w->f->values[op->result].type;
    if (type->kind == DM_TYPE_TUPLE) {
        dm_buffer_putc(w->out, '(');
        put_args(w, op->args, op->arg_count);
        dm_buffer_puts(w->out, op->arg_count == 1 ? ",)" : ")");
    } else if (type->kind == DM_TYPE_STRUCT) {
        dm_numpy_use(w, "make");
        dm_synth_numpy_struct(type, &w->structs);
        dm_buffer_printf(w->out, "make(%s, ", type->name);
        put_args(w, op->args, op->arg_count);
        dm_buffer_putc(w->out, ')');
    } else {
        const char *dtype = type->scalar == DM_F32 ? "f32" : scalar_dtype((dm_scalar)type->scalar);
        dm_buffer_puts(w->out, "np.array([");
        put_args(w, op->args, op->arg_count);
        dm_buffer_printf(w->out, "], %s)", dtype);
        if (type->kind == DM_TYPE_MAT)
            dm_buffer_printf(w->out, ".reshape(%d, %d)", type->rows, type->cols);
    }
}

static void put_zero(dm_numpy_writer *w, const dm_type *type)
{
    assert(type != NULL);
    const char *dtype = type->scalar == DM_F32 ? "f32" : scalar_dtype((dm_scalar)type->scalar);
    if (type->kind == DM_TYPE_STRUCT) {
        dm_synth_numpy_struct(type, &w->structs);
        dm_buffer_printf(w->out, "np.zeros((), %s)[()]", type->name);
    } else if (dm_type_is_numeric(type)) {
        dm_buffer_puts(w->out, "np.zeros(");
        put_shape(type, w->out);
        dm_buffer_printf(w->out, ", %s)", dtype);
    } else if (dm_type_is_float(type)) {
        dm_buffer_printf(w->out, "%s(0.0)", dtype);
    } else if (dm_type_is_scalar(type)) {
        dm_buffer_puts(w->out, type->scalar == DM_BOOL ? "False" : "0");
    } else {
        dm_numpy_unknown(w, "zero of this type");
    }
}

static void put_extract(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *type = w->f->values[op->args[0]].type;
    int64_t index;
    dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
    if (type->kind != DM_TYPE_MAT) {
        dm_buffer_putc(w->out, '[');
        dm_numpy_value(w, op->args[1], DM_PY_ANY);
        dm_buffer_putc(w->out, ']');
    } else if (dm_ir_const_int(w->f, op->args[1], &index)) {
        dm_buffer_printf(w->out, "[%d, %d]", (int)index / type->cols, (int)index % type->cols);
    } else {
        dm_buffer_puts(w->out, ".reshape(-1)[");
        dm_numpy_value(w, op->args[1], DM_PY_ANY);
        dm_buffer_putc(w->out, ']');
    }
}

bool dm_numpy_is_constant(const dm_numpy_writer *w, dm_val array)
{
    int root = dm_synth_root_of(w->f, array);
    return root >= 0 && root < 64 && (w->written >> root & 1) == 0;
}

/* What an operation's path leads to, behind the element that stands there. */
static void put_path(dm_numpy_writer *w, const dm_ir_op *op, const dm_type *type, int used)
{
    for (int i = 0; op->path != NULL && i < op->path->count; i++) {
        if (op->path->field[i] >= 0) {
            const dm_field *field = &type->fields[op->path->field[i]];
            dm_buffer_printf(w->out, "[\"%s\"]", field->name);
            type = field->type;
        } else {
            dm_buffer_puts(w->out, type->kind == DM_TYPE_MAT ? ".reshape(-1)[" : "[");
            dm_numpy_value(w, op->args[used++], DM_PY_ANY);
            dm_buffer_putc(w->out, ']');
        }
    }
}

void dm_numpy_place(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *array = w->f->values[op->args[0]].type;
    dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
    dm_buffer_putc(w->out, '[');
    put_args(w, op->args + 1, array->ndim);
    dm_buffer_putc(w->out, ']');
    put_path(w, op, array->element, 1 + array->ndim);
}

static void put_load(dm_numpy_writer *w, const dm_ir_op *op)
{
    const dm_type *type = w->f->values[op->result].type;
    bool integer = dm_type_is_int(type);
    dm_buffer_puts(w->out, integer ? "int(" : "");
    dm_numpy_place(w, op);
    dm_buffer_puts(w->out, integer ? ")" : "");
    if (!dm_type_is_scalar(type) && !dm_numpy_is_constant(w, op->args[0]))
        dm_buffer_puts(w->out, ".copy()");
}

static void put_choice(dm_numpy_writer *w, const dm_ir_op *op, int level)
{
    dm_val a = dm_ir_terminator(op->blocks[0])->args[0],
           b = dm_ir_terminator(op->blocks[1])->args[0];
    const dm_type *type = w->f->values[op->result].type;
    bool is_bool = dm_type_is_scalar(type) && type->scalar == DM_BOOL;
    int64_t settled;
    int own = DM_PY_CHOICE;
    if (is_bool && dm_ir_const_int(w->f, b, &settled) && settled == 0)
        own = DM_PY_AND;
    else if (is_bool && dm_ir_const_int(w->f, a, &settled) && settled != 0)
        own = DM_PY_OR;
    dm_buffer_puts(w->out, own < level ? "(" : "");
    dm_numpy_value(w, own == DM_PY_CHOICE ? a : op->args[0], own == DM_PY_CHOICE ? DM_PY_OR : own);
    dm_buffer_puts(w->out, own == DM_PY_CHOICE ? " if " : own == DM_PY_AND ? " and " : " or ");
    dm_numpy_value(w,
                   own == DM_PY_CHOICE ? op->args[0]
                   : own == DM_PY_AND  ? a
                                       : b,
                   own == DM_PY_CHOICE ? DM_PY_OR : own + 1);
    if (own == DM_PY_CHOICE) {
        dm_buffer_puts(w->out, " else ");
        dm_numpy_value(w, b, DM_PY_CHOICE);
    }
    dm_buffer_puts(w->out, own < level ? ")" : "");
}

void dm_numpy_op(dm_numpy_writer *w, const dm_ir_op *op, int level)
{
    const dm_type *type = op->result == DM_VAL_NONE ? NULL : w->f->values[op->result].type;
    switch (op->kind) {
    case DM_IR_CONST:
        put_const(w, op, level);
        break;
    case DM_IR_ZERO:
        put_zero(w, type);
        break;
    case DM_IR_CALL:
        put_call(w, op, level);
        break;
    case DM_IR_INVOKE:
        dm_buffer_printf(w->out, "%s(", dm_numpy_function(w, op->callee));
        put_args(w, op->args, op->arg_count);
        dm_buffer_putc(w->out, ')');
        break;
    case DM_IR_CAST:
        put_cast(w, op);
        break;
    case DM_IR_MAKE:
        put_make(w, op);
        break;
    case DM_IR_EXTRACT:
        put_extract(w, op);
        break;
    case DM_IR_INSERT:
        dm_numpy_use(w, "insert");
        dm_buffer_puts(w->out, "insert(");
        put_args(w, op->args, 3);
        dm_buffer_putc(w->out, ')');
        break;
    case DM_IR_FIELD: {
        const dm_type *from = w->f->values[op->args[0]].type;
        dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
        if (from->kind == DM_TYPE_TUPLE)
            dm_buffer_printf(w->out, "[%d]", op->index);
        else
            dm_buffer_printf(w->out, "[\"%s\"]", from->fields[op->index].name);
        break;
    }
    case DM_IR_SETFIELD:
        assert(type != NULL);
        dm_numpy_use(w, "with_field");
        dm_buffer_puts(w->out, "with_field(");
        dm_numpy_value(w, op->args[0], DM_PY_ANY);
        dm_buffer_printf(w->out, ", \"%s\", ", type->fields[op->index].name);
        dm_numpy_value(w, op->args[1], DM_PY_ANY);
        dm_buffer_putc(w->out, ')');
        break;
    case DM_IR_TID:
        dm_buffer_printf(w->out, "thread[%d]", op->index);
        break;
    case DM_IR_SHAPE:
        dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
        dm_buffer_puts(w->out, ".shape[");
        dm_numpy_value(w, op->args[1], DM_PY_ANY);
        dm_buffer_putc(w->out, ']');
        break;
    case DM_IR_VIEW:
        dm_numpy_value(w, op->args[0], DM_PY_PRIMARY);
        dm_buffer_putc(w->out, '[');
        put_args(w, op->args + 1, op->arg_count - 1);
        dm_buffer_putc(w->out, ']');
        break;
    case DM_IR_LOAD:
        put_load(w, op);
        break;
    case DM_IR_IF:
        put_choice(w, op, level);
        break;
    default:
        dm_numpy_unknown(w, dm_ir_infos[op->kind].text);
        break;
    }
}

void dm_numpy_value(dm_numpy_writer *w, dm_val v, int level)
{
    const dm_ir_op *def = w->f->values[v].def;
    if (w->plan[v].name != NULL)
        dm_buffer_puts(w->out, w->plan[v].name);
    else if (def != NULL)
        dm_numpy_op(w, def, level);
    else
        dm_numpy_unknown(w, "parameter without a name");
}
