/* SPDX-License-Identifier: MIT */
/* type.c - interned types; see type.h. */
#include "lang/sema/type.h"

#include "lang/common.h"

#include <string.h>

static const struct {
    const char *warp, *c, *letter;
    int bytes;
} scalars[] = {
#define X(name, warp, c, letter, bytes) {warp, c, letter, bytes},
    DM_SCALARS(X)
#undef X
        {"Float", "?", "?", 0},
    {"Int", "?", "?", 0},
    {"Scalar", "?", "?", 0},
};

static const char *const suffixes[] = {"bool", "i8",  "u8",  "i16", "u16", "i32", "u32", "i64",
                                       "u64",  "f16", "f32", "f64", "?",   "?",   "?"};

bool dm_scalar_is_float(dm_scalar scalar)
{
    return scalar >= DM_F16 && scalar <= DM_F64;
}

bool dm_scalar_is_int(dm_scalar scalar)
{
    return scalar >= DM_I8 && scalar <= DM_U64;
}

bool dm_scalar_is_signed(dm_scalar scalar)
{
    return dm_scalar_is_float(scalar) || scalar == DM_I8 || scalar == DM_I16 || scalar == DM_I32 ||
           scalar == DM_I64;
}

int dm_scalar_bytes(dm_scalar scalar)
{
    return scalars[scalar].bytes;
}

/* ---- Making them ---- */

static dm_type *add(dm_lang *lang, dm_type type)
{
    dm_type *made = type.own ? dm_lang_alloc(lang, sizeof *made) : dm_lang_keep(lang, sizeof *made);
    *made = type;
    if (type.own) {
        made->next = lang->own_types;
        lang->own_types = made;
    }
    return made;
}

void dm_type_see(dm_lang *lang, const dm_type *type)
{
    dm_type *seen = (dm_type *)type;
    if (type->seen == lang->kept->compilations ||
        !(dm_type_is_numeric(type) || type->kind == DM_TYPE_STRUCT))
        return;
    seen->seen = lang->kept->compilations;
    seen->next_seen = lang->seen_types;
    lang->seen_types = seen;
}

static void fill_table(dm_lang *lang, bool all_double)
{
    dm_type_table *table = dm_lang_keep(lang, sizeof *table);
    const char *none = dm_lang_intern_text(lang, "void");
    table->none = add(lang, (dm_type){.kind = DM_TYPE_NONE, .name = "None", .c_name = none});
    table->any = add(lang, (dm_type){.kind = DM_TYPE_ANY, .name = "Any", .generic = true});
    table->string = add(lang, (dm_type){.kind = DM_TYPE_STRING, .name = "str"});
    for (int s = 0; s <= DM_ANY_SCALAR; s++) {
        dm_type type = {.kind = DM_TYPE_SCALAR,
                        .scalar = (uint8_t)s,
                        .name = scalars[s].warp,
                        .c_name = dm_lang_intern_text(lang, scalars[s].c),
                        .suffix = suffixes[s],
                        .generic = s >= DM_ANY_FLOAT,
                        .floats = dm_scalar_is_float((dm_scalar)s)};
        table->scalars[s] = add(lang, type);
    }
    table->all_double = all_double;
    if (all_double)
        table->scalars[DM_F16] = table->scalars[DM_F32] = table->scalars[DM_F64];
    lang->kept->types = table;
}

void dm_types_init(dm_lang *lang, bool all_double)
{
    if (lang->kept->types != NULL && lang->kept->types->all_double != all_double)
        dm_lang_forget(lang->kept);
    if (lang->kept->types == NULL)
        fill_table(lang, all_double);
    lang->types = lang->kept->types;
    lang->kept->compilations++;
}

const dm_type *dm_type_scalar(dm_lang *lang, dm_scalar scalar)
{
    return lang->types->scalars[scalar];
}

/* "3f", "22d"; lengths over 9 are written apart: "12x3f" */
static const dm_type *numeric(dm_lang *lang, dm_type_kind kind, int rows, int cols,
                              dm_scalar scalar)
{
    if (lang->types->all_double && dm_scalar_is_float(scalar))
        scalar = DM_F64;
    int key = ((rows * 7 + cols) * 5 + (int)kind) * 16 + (int)scalar;
    dm_type **slot = &lang->types->numeric[key % DM_TYPE_SLOTS];
    for (dm_type *t = *slot; t != NULL; t = t->next)
        if (t->kind == kind && t->rows == rows && t->cols == cols && t->scalar == scalar) {
            dm_type_see(lang, t);
            return t;
        }
    const char *letter = scalars[scalar].letter, *name;
    if (kind == DM_TYPE_QUAT || kind == DM_TYPE_TRANSFORM)
        name = dm_lang_format(lang, "%s%s", kind == DM_TYPE_QUAT ? "quat" : "transform", letter);
    else if (kind == DM_TYPE_VEC)
        name = dm_lang_format(lang, "vec%d%s", rows, letter);
    else
        name = dm_lang_format(lang, rows > 9 || cols > 9 ? "mat%dx%d%s" : "mat%d%d%s", rows, cols,
                              letter);
    name = dm_lang_intern_text(lang, name);
    *slot = add(lang, (dm_type){.kind = (uint8_t)kind,
                                .scalar = (uint8_t)scalar,
                                .rows = rows,
                                .cols = cols,
                                .name = name,
                                .c_name = name,
                                .suffix = name,
                                .generic = scalar >= DM_ANY_FLOAT || rows == 0 || cols == 0,
                                .floats = dm_scalar_is_float(scalar),
                                .next = *slot});
    dm_type_see(lang, *slot);
    return *slot;
}

const dm_type *dm_type_vec(dm_lang *lang, int rows, dm_scalar scalar)
{
    return numeric(lang, DM_TYPE_VEC, rows, 1, scalar);
}

const dm_type *dm_type_mat(dm_lang *lang, int rows, int cols, dm_scalar scalar)
{
    return numeric(lang, DM_TYPE_MAT, rows, cols, scalar);
}

const dm_type *dm_type_quat(dm_lang *lang, dm_scalar scalar)
{
    return numeric(lang, DM_TYPE_QUAT, 4, 1, scalar);
}

const dm_type *dm_type_transform(dm_lang *lang, dm_scalar scalar)
{
    return numeric(lang, DM_TYPE_TRANSFORM, 7, 1, scalar);
}

const dm_type *dm_type_array(dm_lang *lang, int ndim, const dm_type *element)
{
    dm_type **slot = &((dm_type *)element)->arrays[ndim];
    if (*slot != NULL)
        return *slot;
    const char *suffix = element->suffix == NULL ? "any" : element->suffix;
    const char *c_name =
        dm_lang_intern_text(lang, dm_lang_format(lang, "array%d_%s", ndim, suffix));
    const char *name = dm_lang_format(lang, "array(ndim=%d, dtype=%s)", ndim, element->name);
    *slot = add(lang, (dm_type){.kind = DM_TYPE_ARRAY,
                                .own = element->own,
                                .ndim = (uint8_t)ndim,
                                .element = element,
                                .name = dm_lang_intern_text(lang, name),
                                .c_name = c_name,
                                .suffix = c_name,
                                .generic = element->generic || ndim == 0});
    return *slot;
}

const dm_type *dm_type_tuple(dm_lang *lang, const dm_type *const *items, int count)
{
    for (dm_type *t = lang->own_types; t != NULL; t = t->next) {
        bool same = t->kind == DM_TYPE_TUPLE && t->field_count == count;
        for (int i = 0; same && i < count; i++)
            same = t->fields[i].type == items[i];
        if (same)
            return t;
    }
    dm_type type = {.kind = DM_TYPE_TUPLE, .own = true, .field_count = count};
    type.fields = dm_lang_alloc_array(lang, (size_t)count, sizeof *type.fields);
    const char *name = "tuple(", *c_name = "tuple";
    for (int i = 0; i < count; i++) {
        const char *field = dm_lang_format(lang, "v%d", i);
        type.fields[i] = (dm_field){.name = field, .c_name = field, .type = items[i]};
        name = dm_lang_format(lang, "%s%s%s", name, i > 0 ? ", " : "", items[i]->name);
        c_name = dm_lang_format(lang, "%s_%s", c_name,
                                items[i]->suffix == NULL ? "any" : items[i]->suffix);
    }
    type.name = dm_lang_format(lang, "%s)", name);
    type.c_name = type.suffix = dm_lang_intern_text(lang, c_name);
    dm_type_struct_finish(&type);
    return add(lang, type);
}

static bool is_struct_name(const dm_lang *lang, const char *c_name)
{
    for (const dm_type *t = lang->own_types; t != NULL; t = t->next)
        if (t->kind == DM_TYPE_STRUCT && t->c_name == c_name)
            return true;
    return false;
}

dm_type *dm_type_struct(dm_lang *lang, const char *name)
{
    /* Two structs may have one name, in different functions of a file. */
    const char *usual = dm_print_struct_name(lang, name), *c_name = usual;
    for (int same = 1; is_struct_name(lang, c_name); same++)
        c_name = dm_lang_intern_text(lang, dm_lang_format(lang, "%s_%d", usual, same + 1));
    dm_type *made = add(
        lang,
        (dm_type){
            .kind = DM_TYPE_STRUCT, .own = true, .name = name, .c_name = c_name, .suffix = c_name});
    dm_type_see(lang, made);
    return made;
}

void dm_type_struct_finish(dm_type *type)
{
    for (int i = 0; i < type->field_count; i++) {
        type->floats |= type->fields[i].type->floats;
        type->generic |= type->fields[i].type->generic;
    }
}

/* ---- Asking them ---- */

const dm_type *dm_type_with_scalar(dm_lang *lang, const dm_type *type, dm_scalar scalar)
{
    if (type->kind == DM_TYPE_SCALAR)
        return dm_type_scalar(lang, scalar);
    if (dm_type_is_numeric(type))
        return numeric(lang, (dm_type_kind)type->kind, type->rows, type->cols, scalar);
    return type;
}

static bool scalar_matches(dm_scalar pattern, dm_scalar scalar)
{
    if (pattern == DM_ANY_FLOAT)
        return dm_scalar_is_float(scalar);
    if (pattern == DM_ANY_INT)
        return dm_scalar_is_int(scalar);
    return pattern == DM_ANY_SCALAR || pattern == scalar;
}

bool dm_type_matches(const dm_type *pattern, const dm_type *type)
{
    if (pattern == type || pattern->kind == DM_TYPE_ANY)
        return true;
    if (pattern->kind != type->kind)
        return false;
    switch (pattern->kind) {
    case DM_TYPE_SCALAR:
        return scalar_matches((dm_scalar)pattern->scalar, (dm_scalar)type->scalar);
    case DM_TYPE_VEC:
    case DM_TYPE_MAT:
    case DM_TYPE_QUAT:
    case DM_TYPE_TRANSFORM:
        return scalar_matches((dm_scalar)pattern->scalar, (dm_scalar)type->scalar) &&
               (pattern->rows == 0 || pattern->rows == type->rows) &&
               (pattern->cols == 0 || pattern->cols == type->cols);
    case DM_TYPE_ARRAY:
        return (pattern->ndim == 0 || pattern->ndim == type->ndim) &&
               dm_type_matches(pattern->element, type->element);
    case DM_TYPE_TUPLE:
        if (pattern->field_count != type->field_count)
            return false;
        for (int i = 0; i < type->field_count; i++)
            if (!dm_type_matches(pattern->fields[i].type, type->fields[i].type))
                return false;
        return true;
    default:
        return false;
    }
}

int dm_type_components(const dm_type *type)
{
    return dm_type_is_numeric(type) ? type->rows * type->cols : 1;
}

int dm_type_field(const dm_type *type, const char *name)
{
    for (int i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            return i;
    return -1;
}

int dm_type_align(const dm_type *type)
{
    int align = 1;
    switch (type->kind) {
    case DM_TYPE_ARRAY:
        return 8;
    case DM_TYPE_STRUCT:
    case DM_TYPE_TUPLE:
        for (int i = 0; i < type->field_count; i++) {
            int field = dm_type_align(type->fields[i].type);
            align = field > align ? field : align;
        }
        return align;
    default:
        return scalars[type->scalar].bytes > 0 ? scalars[type->scalar].bytes : 1;
    }
}

int dm_type_bytes(const dm_type *type)
{
    int bytes = 0, align = dm_type_align(type);
    switch (type->kind) {
    case DM_TYPE_ARRAY: /* data, grad, strides, shape */
        bytes = 16 + 12 * type->ndim;
        break;
    case DM_TYPE_STRUCT:
    case DM_TYPE_TUPLE:
        for (int i = 0; i < type->field_count; i++) {
            int field = dm_type_align(type->fields[i].type);
            bytes = (bytes + field - 1) / field * field + dm_type_bytes(type->fields[i].type);
        }
        break;
    default:
        bytes = dm_type_components(type) * scalars[type->scalar].bytes;
        break;
    }
    if (bytes == 0)
        bytes = 1; /* C has no empty structs */
    return (bytes + align - 1) / align * align;
}
