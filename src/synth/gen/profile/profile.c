/* SPDX-License-Identifier: MIT */
/* profile.c - from counts in real kernels to weights.
 *
 * A share of the counts, so that files of any size do, and a least weight for each operation, so
 * that what is rare in the world is seen at all. */
#include "synth/gen/profile/profile.h"

#include "base/file.h"
#include "base/json.h"
#include "device/sources.h"
#include "synth/gen/gen.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE_NAME "synth/gen/profile/profile.json"
#define FILE_LIMIT ((size_t)1 << 22)
#define SHARE 1000 /* weights of one kind add up to about this, and the least ones */

static const char *const op_texts[] = {
#define OP(name, form, text, level, masks) text,
#include "synth/gen/ops.def"
#undef OP
};

/* Python's own names for operators. */
static const struct {
    const char *name;
    uint8_t op;
    uint8_t part; /* of ten: the minus of a literal is no operation */
} operators[] = {{"Add", DM_GEN_OP_ADD, 10},           {"Sub", DM_GEN_OP_SUB, 10},
                 {"Mult", DM_GEN_OP_MUL, 10},          {"Div", DM_GEN_OP_DIV, 10},
                 {"Mod", DM_GEN_OP_MOD, 10},           {"Pow", DM_GEN_OP_POWER, 10},
                 {"FloorDiv", DM_GEN_OP_FLOORDIV, 10}, {"USub", DM_GEN_OP_NEG, 1},
                 {"BitAnd", DM_GEN_OP_BIT_AND, 10},    {"BitOr", DM_GEN_OP_BIT_OR, 10},
                 {"BitXor", DM_GEN_OP_BIT_XOR, 10},    {"LShift", DM_GEN_OP_SHIFT_LEFT, 10},
                 {"RShift", DM_GEN_OP_SHIFT_RIGHT, 10}};

static dm_status count_of(json_t *object, const char *key, const char *file, long long *out,
                          dm_error *err)
{
    json_t *value = json_object_get(object, key);
    long long count = value == NULL ? 0 : (long long)json_integer_value(value);
    if (value != NULL && (!json_is_integer(value) || count < 0 || count > 1000000000))
        return dm_fail_at(err, DM_EFORMAT, file, 0, "'%s' is not a count", key);
    *out = count;
    return DM_OK;
}

static uint16_t weight_of(long long count, long long total, int least)
{
    return (uint16_t)(least + (total > 0 ? count * SHARE / total : 0));
}

static dm_status object_of(json_t *root, const char *key, const char *file, json_t **out,
                           dm_error *err)
{
    *out = json_object_get(root, key);
    if (!json_is_object(*out))
        return dm_fail_at(err, DM_EFORMAT, file, 0, "no object '%s'", key);
    return DM_OK;
}

static dm_status read_operators(dm_synth_profile *p, json_t *root, const char *file, dm_error *err)
{
    json_t *object;
    size_t count = sizeof operators / sizeof operators[0];
    long long counts[sizeof operators / sizeof operators[0]] = {0}, total = 0;
    dm_status status = object_of(root, "operators", file, &object, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        status = count_of(object, operators[i].name, file, &counts[i], err);
        counts[i] = counts[i] * operators[i].part / 10;
        total += counts[i];
    }
    for (size_t i = 0; i < count && status == DM_OK; i++)
        p->weights[operators[i].op] = weight_of(counts[i], total, 8);
    return status;
}

static dm_status read_builtins(dm_synth_profile *p, json_t *root, const char *file, dm_error *err)
{
    json_t *object;
    long long counts[DM_GEN_OP_COUNT] = {0}, total = 0;
    dm_status status = object_of(root, "builtins", file, &object, err);
    for (int i = 0; i < DM_GEN_OP_COUNT && status == DM_OK; i++) {
        if (strncmp(op_texts[i], "wp.", 3) != 0)
            continue;
        status = count_of(object, op_texts[i] + 3, file, &counts[i], err);
        total += counts[i];
    }
    for (int i = 0; i < DM_GEN_OP_COUNT && status == DM_OK; i++)
        if (strncmp(op_texts[i], "wp.", 3) == 0)
            p->weights[i] = weight_of(counts[i], total, 16);
    p->weights[DM_GEN_OP_COMPONENT] = p->weights[DM_GEN_OP_LENGTH];
    return status;
}

/* How many have the size 1, 2 ... `size`; a size that does not occur has no weight. */
static dm_status read_sizes(json_t *root, const char *key, size_t size, uint16_t *weights,
                            const char *file, dm_error *err)
{
    json_t *list = json_object_get(root, key);
    if (!json_is_array(list) || json_array_size(list) != size)
        return dm_fail_at(err, DM_EFORMAT, file, 0, "'%s' is not a list of %zu counts", key, size);
    long long total = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < size; i++) {
            json_t *value = json_array_get(list, i);
            long long count = (long long)json_integer_value(value);
            if (!json_is_integer(value) || count < 0 || count > 1000000000)
                return dm_fail_at(err, DM_EFORMAT, file, 0, "'%s' has what is not a count", key);
            if (pass == 0)
                total += count;
            else
                weights[i] = weight_of(count, total, 0);
        }
    if (total == 0)
        return dm_fail_at(err, DM_EFORMAT, file, 0, "'%s' has no counts", key);
    return DM_OK;
}

static dm_status read_scalars(dm_synth_profile *p, json_t *root, const char *file, dm_error *err)
{
    static const char *const names[] = {"float32", "float64", "float16"};
    json_t *object;
    long long counts[3] = {0}, total = 0;
    dm_status status = object_of(root, "scalars", file, &object, err);
    for (int i = 0; i < 3 && status == DM_OK; i++) {
        status = count_of(object, names[i], file, &counts[i], err);
        total += counts[i];
    }
    for (int i = 0; i < 3 && status == DM_OK; i++)
        p->scalars[i] = weight_of(counts[i], total, 15);
    return status;
}

static dm_status read_profile(dm_synth_profile *p, const char *text, size_t size, const char *file,
                              dm_error *err)
{
    json_t *root = NULL;
    dm_status status = dm_json_parse(text, size, file, &root, err);
    p->hash = dm_hash128_of(text, size);
    if (status == DM_OK)
        status = read_operators(p, root, file, err);
    if (status == DM_OK)
        status = read_builtins(p, root, file, err);
    if (status == DM_OK)
        status = read_sizes(root, "lines", DM_SYNTH_LINES_MAX, p->lines, file, err);
    if (status == DM_OK)
        status = read_sizes(root, "parameters", DM_SYNTH_PARAMETERS_MAX, p->parameters, file, err);
    if (status == DM_OK)
        status = read_sizes(root, "operations", DM_SYNTH_OPERATIONS_MAX, p->operations, file, err);
    if (status == DM_OK)
        status = read_scalars(p, root, file, err);
    json_decref(root);
    return status;
}

const char *const dm_synth_style_names[] = {"random", "natural", NULL};

dm_status dm_synth_profile_create(const char *path, dm_synth_profile **out, dm_error *err)
{
    _Static_assert(DM_GEN_OP_COUNT <= DM_SYNTH_WEIGHTS_MAX, "a weight for each operation");
    char *bytes = NULL;
    const char *text = NULL;
    size_t size = 0;
    dm_status status = DM_OK;
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    if (path != NULL) {
        status = dm_file_read(path, FILE_LIMIT, &bytes, &size, err);
        text = bytes;
    } else {
        text = dm_embedded_text(PROFILE_NAME);
        size = text == NULL ? 0 : strlen(text);
        if (text == NULL)
            status = dm_fail(err, DM_EINTERNAL, "no built-in profile");
    }
    if (status == DM_OK)
        status = read_profile(*out, text, size, path != NULL ? path : PROFILE_NAME, err);
    free(bytes);
    if (status != DM_OK) {
        dm_synth_profile_destroy(*out);
        *out = NULL;
    }
    return status;
}

void dm_synth_profile_destroy(dm_synth_profile *profile)
{
    free(profile);
}
