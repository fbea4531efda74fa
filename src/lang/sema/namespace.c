/* SPDX-License-Identifier: MIT */
/* namespace.c - the names of Warp's module, and the few of Python's that kernels use: types, constants,
 * classes of types; every other name of Warp is a builtin. The tables are read once per process:
 * common.c attaches the meaning to each interned name, and a compilation only looks at the name. */
#include "lang/common.h"
#include "lang/sema/module.h"

#include "base/closest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int scalar;
} scalar_names[] = {
    {"bool", DM_BOOL},         {"int8", DM_I8},     {"uint8", DM_U8},        {"int16", DM_I16},
    {"uint16", DM_U16},        {"int32", DM_I32},   {"uint32", DM_U32},      {"int64", DM_I64},
    {"uint64", DM_U64},        {"float16", DM_F16}, {"float32", DM_F32},     {"float64", DM_F64},
    {"int", DM_I32},           {"float", DM_F32},   {"Float", DM_ANY_FLOAT}, {"Int", DM_ANY_INT},
    {"Scalar", DM_ANY_SCALAR}, {"byte", DM_U8},     {"half", DM_F16},        {"double", DM_F64}};

/* vec3, vec2d, mat33, mat22h, quatf, transform ...: a shape with a letter for the scalar */
static const struct {
    const char *name;
    uint8_t kind, rows, cols;
} shapes[] = {{"vec2", DM_TYPE_VEC, 2, 1},           {"vec3", DM_TYPE_VEC, 3, 1},
              {"vec4", DM_TYPE_VEC, 4, 1},           {"mat22", DM_TYPE_MAT, 2, 2},
              {"mat33", DM_TYPE_MAT, 3, 3},          {"mat44", DM_TYPE_MAT, 4, 4},
              {"quat", DM_TYPE_QUAT, 4, 1},          {"transform", DM_TYPE_TRANSFORM, 7, 1},
              {"spatial_vector", DM_TYPE_VEC, 6, 1}, {"spatial_matrix", DM_TYPE_MAT, 6, 6}};

static const struct {
    const char *letter;
    int scalar;
} letters[] = {{"", DM_F32},  {"f", DM_F32},  {"d", DM_F64}, {"h", DM_F16},
               {"b", DM_I8},  {"ub", DM_U8},  {"s", DM_I16}, {"us", DM_U16},
               {"i", DM_I32}, {"ui", DM_U32}, {"l", DM_I64}, {"ul", DM_U64}};

static const struct {
    const char *name;
    double value;
} numbers[] = {{"pi", 3.14159265358979323846},
               {"PI", 3.14159265358979323846},
               {"e", 2.71828182845904523536},
               {"E", 2.71828182845904523536},
               {"tau", 6.28318530717958647692},
               {"TAU", 6.28318530717958647692},
               {"half_pi", 1.57079632679489661923},
               {"HALF_PI", 1.57079632679489661923},
               {"phi", 1.61803398874989484820},
               {"PHI", 1.61803398874989484820},
               {"ln2", 0.69314718055994530942},
               {"LN2", 0.69314718055994530942},
               {"ln10", 2.30258509299404568402},
               {"LN10", 2.30258509299404568402},
               {"log2e", 1.44269504088896340736},
               {"LOG2E", 1.44269504088896340736},
               {"log10e", 0.43429448190325182765},
               {"LOG10E", 0.43429448190325182765},
               {"inf", INFINITY},
               {"INF", INFINITY},
               {"nan", NAN},
               {"NAN", NAN}};

static const char *const generic_classes[] = {"array",          "array1d",
                                              "array2d",        "array3d",
                                              "array4d",        "vec",
                                              "vector",         "mat",
                                              "matrix",         "quaternion",
                                              "transformation", "indexedarray",
                                              "indexedarray1d", "indexedarray2d",
                                              "indexedarray3d", "indexedarray4d",
                                              "tuple",          "Tuple",
                                              "Sequence",       "ref"};

static const char *const modules[] = {"types", "math", "constants"};

static const char *const python_names[] = {
    "range",      "len",  "min", "max",      "abs", "round", "print", "pow",  "zip",  "enumerate",
    "isinstance", "type", "sum", "reversed", "str", "int",   "float", "bool", "tuple"};

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* ---- Reading the tables ---- */

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool read_numeric(const char *name, dm_known_name *out)
{
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        size_t length = strlen(shapes[i].name);
        if (strncmp(shapes[i].name, name, length) != 0)
            continue;
        for (size_t k = 0; k < LENGTH(letters); k++) {
            if (strcmp(letters[k].letter, name + length) != 0)
                continue;
            out->kind = DM_KNOWN_NUMERIC;
            out->type_kind = shapes[i].kind;
            out->rows = shapes[i].rows;
            out->cols = shapes[i].cols;
            out->scalar = (uint8_t)letters[k].scalar;
            return true;
        }
    }
    return false;
}

dm_known_name dm_namespace_read(const char *name)
{
    dm_known_name known = {.kind = DM_KNOWN_BUILTIN, .special = -1};
    known.python = is_among(python_names, LENGTH(python_names), name);
    for (size_t i = 0; i < LENGTH(scalar_names); i++)
        if (strcmp(scalar_names[i].name, name) == 0) {
            known.kind = DM_KNOWN_SCALAR;
            known.scalar = (uint8_t)scalar_names[i].scalar;
            return known;
        }
    if (read_numeric(name, &known))
        return known;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (strcmp(numbers[i].name, name) == 0) {
            known.kind = DM_KNOWN_NUMBER;
            known.real = numbers[i].value;
            return known;
        }
    if (is_among(modules, LENGTH(modules), name))
        known.kind = DM_KNOWN_MODULE;
    else if (is_among(generic_classes, LENGTH(generic_classes), name))
        known.kind = DM_KNOWN_GENERIC;
    return known;
}

void dm_namespace_names(void (*each)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < LENGTH(scalar_names); i++)
        each(context, scalar_names[i].name);
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (size_t k = 0; k < LENGTH(letters); k++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", shapes[i].name, letters[k].letter);
            each(context, name);
        }
    for (size_t i = 0; i < LENGTH(numbers); i++)
        each(context, numbers[i].name);
    for (size_t i = 0; i < LENGTH(modules); i++)
        each(context, modules[i]);
    for (size_t i = 0; i < LENGTH(generic_classes); i++)
        each(context, generic_classes[i]);
    for (size_t i = 0; i < LENGTH(python_names); i++)
        each(context, python_names[i]);
}

/* ---- Asking ---- */

static const dm_value *type_value(dm_lang *lang, const dm_known_name *known)
{
    dm_scalar scalar = (dm_scalar)known->scalar;
    if (known->kind == DM_KNOWN_SCALAR)
        return dm_value_type(lang, dm_type_scalar(lang, scalar));
    return dm_value_type(lang,
                         known->type_kind == DM_TYPE_VEC ? dm_type_vec(lang, known->rows, scalar)
                         : known->type_kind == DM_TYPE_MAT
                             ? dm_type_mat(lang, known->rows, known->cols, scalar)
                         : known->type_kind == DM_TYPE_QUAT ? dm_type_quat(lang, scalar)
                                                            : dm_type_transform(lang, scalar));
}

static dm_value *keep_value(dm_lang *lang, dm_value value)
{
    dm_value *kept = dm_lang_keep(lang, sizeof *kept);
    *kept = value;
    return kept;
}

static const dm_value *make_value(dm_lang *lang, const char *name, const dm_known_name *known)
{
    switch ((dm_known_kind)known->kind) {
    case DM_KNOWN_SCALAR:
    case DM_KNOWN_NUMERIC:
        return keep_value(lang, *type_value(lang, known));
    case DM_KNOWN_NUMBER:
        return keep_value(lang, (dm_value){.kind = DM_VALUE_FLOAT, .real = known->real});
    case DM_KNOWN_MODULE:
        return keep_value(lang, (dm_value){.kind = DM_VALUE_MODULE, .text = "warp"});
    case DM_KNOWN_GENERIC:
        return keep_value(lang, (dm_value){.kind = DM_VALUE_GENERIC_CLASS, .text = name});
    default:
        return keep_value(lang, (dm_value){.kind = DM_VALUE_BUILTIN, .text = name, .known = known});
    }
}

/* What the names that are known mean stays in the workspace. */
const dm_value *dm_namespace_warp(dm_lang *lang, const char *name)
{
    const dm_known_name *known = dm_lang_name_of(name)->known;
    if (known == NULL)
        return dm_value_text(lang, DM_VALUE_BUILTIN, name);
    dm_kept *kept = lang->kept;
    uint32_t number = dm_lang_name_of(name)->number; /* a common one: only they are known */
    if (kept->warp_values == NULL)
        kept->warp_values =
            dm_lang_keep(lang, lang->common->lang.kept->name_count * sizeof(dm_value *));
    if (kept->warp_values[number] == NULL)
        kept->warp_values[number] = make_value(lang, name, known);
    const dm_value *value = kept->warp_values[number];
    if (value->kind == DM_VALUE_TYPE)
        dm_type_see(lang, value->type);
    return value;
}

const dm_value *dm_namespace_python(dm_lang *lang, const char *name)
{
    const dm_known_name *known = dm_lang_name_of(name)->known;
    if (known == NULL || !known->python)
        return NULL;
    return dm_namespace_warp(lang, name); /* they mean the same there */
}

/* math.pi, numpy.float32 ... */
const dm_value *dm_namespace_other(dm_lang *lang, const char *module, const char *name)
{
    const dm_known_name *known = dm_lang_name_of(name)->known;
    if (strcmp(module, "typing") == 0)
        return strcmp(name, "Any") == 0 ? dm_value_type(lang, lang->types->any)
               : known != NULL && known->kind == DM_KNOWN_GENERIC
                   ? dm_value_text(lang, DM_VALUE_GENERIC_CLASS, name)
                   : NULL;
    if (strcmp(module, "math") != 0 && strcmp(module, "numpy") != 0)
        return NULL;
    if (known != NULL && known->kind == DM_KNOWN_NUMBER)
        return dm_value_real(lang, known->real);
    if (module[0] == 'n' && known != NULL && known->kind == DM_KNOWN_SCALAR)
        return type_value(lang, known);
    /* A function of a name that Warp has, too, is Warp's in a kernel. */
    dm_value *value = dm_value_new(lang, DM_VALUE_BUILTIN);
    value->text = dm_lang_format(lang, "%s.%s", module, name);
    value->known = known != NULL && known->kind == DM_KNOWN_BUILTIN ? known : NULL;
    return value;
}

/* ---- Names that are not there ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_supported(const dm_known_name *known)
{
    return known != NULL && (known->kind != DM_KNOWN_BUILTIN || known->row != NULL ||
                             known->special >= 0 || known->library != NULL);
}

/* What stands outside of kernels. */
static const char *const outside[] = {"kernel",      "func",        "struct",  "func_grad",
                                      "func_replay", "func_native", "constant"};

bool dm_namespace_has(const char *name)
{
    return is_supported(dm_lang_name_of(name)->known) || is_among(outside, LENGTH(outside), name);
}

/* Families by how their names begin, then single ones. */
static const char *const unsupported[] = {
    "tile_",      "mesh_",      "bvh_",      "volume_",   "texture_",
    "hash_grid_", "fabric",     "dense_",    "untile",    "zeros",
    "ones",       "empty",      "full",      "grad",      "load",
    "store",      "bfloat16",   "tile",      "copy",      "cast",
    "address_of", "breakpoint", "Mesh",      "Volume",    "Texture",
    "Bvh",        "svd2",       "intersect", "iter_next", "HashGrid",
    "launch",     "reversed",   "array_",    "slice",     "view",
    "indexref",   "ref",        "quat_to_",  "assign",    "closest_point_edge",
    "bit_count"};

bool dm_namespace_unsupported(const char *name)
{
    for (size_t i = 0; i < LENGTH(unsupported); i++) {
        size_t length = strlen(unsupported[i]);
        bool family = unsupported[i][length - 1] == '_' || i < 8 || length > 9;
        if (strncmp(name, unsupported[i], length) == 0 && (family || name[length] == '\0'))
            return true;
    }
    return false;
}

const char *dm_namespace_closest(dm_lang *lang, const char *name)
{
    const dm_kept *kept = lang->common->lang.kept;
    const char **all = dm_lang_alloc_array(lang, kept->name_capacity + 1, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < kept->name_capacity; i++) {
        const dm_lang_name *one = kept->names[i].name;
        if (one != NULL && one->text[0] != '_' && is_supported(one->known))
            all[count++] = one->text;
    }
    /* The order of the table of names says nothing: equally near ones by the alphabet. */
    qsort(all, count, sizeof *all, by_text);
    return dm_closest(name, all);
}
