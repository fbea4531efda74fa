/* SPDX-License-Identifier: MIT */
/* trial.c - made-up arguments for one kernel; see trial.h. */
#include "synth/check/trial.h"

#include "kernel/internal.h"
#include "lang/sema/builtins.h"
#include "synth/gen/generate.h"
#include "synth/lesson/roles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES_MAX 4096

/* ---- Layout ---- */

static size_t align_up(size_t offset, size_t align)
{
    return (offset + align - 1) / align * align;
}

/* The numbers of a type, in the order of memory; false for types that hold none. */
static bool list_leaves(const dm_type *type, size_t at, dm_trial_leaf *leaves, int *count)
{
    if (dm_type_is_scalar(type) || dm_type_is_numeric(type)) {
        dm_scalar scalar = (dm_scalar)type->scalar;
        for (int i = 0; i < dm_type_components(type); i++) {
            if (*count == LEAVES_MAX)
                return false;
            leaves[(*count)++] =
                (dm_trial_leaf){.offset = at + (size_t)i * (size_t)dm_scalar_bytes(scalar),
                                .scalar = (dm_kernel_scalar)scalar,
                                .is_float = dm_scalar_is_float(scalar)};
        }
        return true;
    }
    bool fine = type->kind == DM_TYPE_STRUCT;
    size_t offset = 0;
    for (int i = 0; fine && i < type->field_count; i++) {
        const dm_type *field = type->fields[i].type;
        offset = align_up(offset, (size_t)dm_type_align(field));
        fine = list_leaves(field, at + offset, leaves, count);
        offset += (size_t)dm_type_bytes(field);
    }
    return fine;
}

/* The columns of an element, in the order of its leaves. */
static bool list_columns(dm_trial *t, dm_trial_param *p, const dm_type *type, const char *path,
                         int *leaf)
{
    char inner[256];
    if (type->kind != DM_TYPE_STRUCT) {
        int count = dm_type_components(type);
        size_t length = strlen(path);
        char *kept = dm_arena_strndup(&t->arena, path, length);
        if (kept == NULL || p->column_count == p->leaf_count)
            return false;
        p->columns[p->column_count++] = (dm_trial_column){kept, *leaf, count};
        *leaf += count;
        return true;
    }
    for (int i = 0; i < type->field_count; i++) {
        int size = snprintf(inner, sizeof inner, "%s%s%s", path, path[0] == '\0' ? "" : ".",
                            type->fields[i].name);
        if (size >= (int)sizeof inner || !list_columns(t, p, type->fields[i].type, inner, leaf))
            return false;
    }
    return true;
}

static dm_status lay_out_param(dm_trial *t, dm_trial_param *p, const dm_type *type,
                               const char *name, dm_error *err)
{
    dm_trial_leaf leaves[LEAVES_MAX];
    const dm_type *element = type->kind == DM_TYPE_ARRAY ? type->element : type;
    p->is_array = type->kind == DM_TYPE_ARRAY;
    p->ndim = p->is_array ? type->ndim : 0;
    p->floats = element->floats;
    p->step = (size_t)dm_type_bytes(element);
    p->count = 1;
    for (int i = 0; i < p->ndim; i++)
        p->count *= (size_t)t->size;
    if (!list_leaves(element, 0, leaves, &p->leaf_count))
        return dm_fail(err, DM_EUNSUPPORTED, "no values can be made up for the parameter '%s'",
                       name);
    p->name = dm_arena_strndup(&t->arena, name, strlen(name));
    p->leaves = dm_arena_alloc_array(&t->arena, (size_t)p->leaf_count + 1, sizeof(dm_trial_leaf));
    p->columns = dm_arena_alloc_array(&t->arena, (size_t)p->leaf_count + 1, sizeof *p->columns);
    p->column_count = 0;
    if (p->name == NULL || p->leaves == NULL || p->columns == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    memcpy(p->leaves, leaves, (size_t)p->leaf_count * sizeof leaves[0]);
    int leaf = 0;
    return list_columns(t, p, element, "", &leaf)
               ? DM_OK
               : dm_fail(err, DM_EUNSUPPORTED, "the fields of '%s' are too many", name);
}

/* The block is as lang/emit/print.h describes it: int dim[n], then the parameters as C lays them out. */
static dm_status lay_out(dm_trial *t, const dm_ir_function *f, dm_error *err)
{
    uint8_t roles[DM_SYNTH_PARAMS_MAX] = {0};
    size_t offset = sizeof(int) * (size_t)t->dimensions, align = sizeof(int);
    t->image_size = DM_TRIAL_GUARD;
    t->param_count = f->body->param_count;
    if (t->param_count > DM_SYNTH_PARAMS_MAX)
        return dm_fail(err, DM_EUNSUPPORTED, "more than %d parameters", DM_SYNTH_PARAMS_MAX);
    t->params = dm_arena_alloc_array(&t->arena, (size_t)t->param_count + 1, sizeof *t->params);
    t->guards = dm_arena_alloc_array(&t->arena, (size_t)t->param_count + 1, sizeof *t->guards);
    if (t->params == NULL || t->guards == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_synth_find_roles(f, roles);
    for (int i = 0; i < t->param_count; i++) {
        const dm_ir_value *value = &f->values[f->body->params[i]];
        dm_trial_param *p = &t->params[i];
        dm_status status =
            lay_out_param(t, p, value->type, value->name == NULL ? "" : value->name, err);
        if (status != DM_OK)
            return status;
        size_t own = (size_t)dm_type_align(value->type);
        offset = align_up(offset, own);
        align = own > align ? own : align;
        p->block_offset = offset;
        p->reads = (roles[i] & DM_SYNTH_READS) != 0;
        p->writes = (roles[i] & DM_SYNTH_WRITES) != 0;
        offset += (size_t)dm_type_bytes(value->type);
        if (p->is_array) {
            p->offset = t->image_size;
            t->guards[t->guard_count].size = p->offset - t->guards[t->guard_count].offset;
            t->guards[++t->guard_count].offset = p->offset + p->step * p->count;
            t->image_size += align_up(p->step * p->count, 64) + DM_TRIAL_GUARD;
        }
    }
    t->guards[t->guard_count].size = t->image_size - t->guards[t->guard_count].offset;
    t->guard_count++;
    t->block_size = align_up(offset, align);
    return DM_OK;
}

/* ---- Edges ---- */

/* Only what four digits say, as a test has them. */
static void add_edge(dm_trial *t, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    if (strtod(text, NULL) != value || fabs(value) > 1000 || t->edge_count == DM_TRIAL_EDGES)
        return;
    for (int i = 0; i < t->edge_count; i++)
        if (t->edges[i] == value)
            return;
    t->edges[t->edge_count++] = value;
}

static void find_edges(dm_trial *t, const dm_ir_function *f, const dm_ir_block *block, int depth)
{
    static const char *const rows[] = {"_lt", "_le", "_gt", "_ge", "min", "max", "clamp", NULL};
    for (int i = 0; block != NULL && depth < 8 && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        for (int k = 0; op->kind == DM_IR_CALL && rows[k] != NULL; k++)
            for (int a = 0; strcmp(op->row->name, rows[k]) == 0 && a < op->arg_count; a++) {
                const dm_ir_op *c = dm_ir_const(f, op->args[a]);
                if (c != NULL && dm_type_is_float(dm_ir_type(f, op->args[a])))
                    add_edge(t, c->real);
            }
        if (op->kind == DM_IR_INVOKE && !op->callee->is_library)
            find_edges(t, op->callee, op->callee->body, depth + 1);
        find_edges(t, f, op->blocks[0], depth);
        find_edges(t, f, op->blocks[1], depth);
    }
}

/* ---- Contents ---- */

double dm_trial_number(const uint8_t *image, const dm_trial_param *p, size_t element, int leaf)
{
    return dm_kernel_load_number(image + dm_trial_at(p, element, leaf), p->leaves[leaf].scalar);
}

static double draw(const dm_trial *t, const dm_trial_param *p, const dm_trial_leaf *leaf,
                   dm_test_stream *random)
{
    uint64_t word = dm_test_stream_next(random);
    if (leaf->is_float)
        return DM_SYNTH_INPUT_LOW +
               (DM_SYNTH_INPUT_HIGH - DM_SYNTH_INPUT_LOW) * (double)(word >> 11) * 0x1p-53;
    if (leaf->scalar == DM_KERNEL_BOOL)
        return (double)(word & 1);
    return (double)(word % (uint64_t)t->size) + (p->is_array ? 0 : 1);
}

static uint64_t param_seed(int param)
{
    const uint64_t apart = 0x100000001B3u;
    return apart * (uint32_t)param;
}

void dm_trial_draw(dm_trial *t, int param, uint64_t seed)
{
    const dm_trial_param *p = &t->params[param];
    uint8_t *memory = p->is_array ? t->before : t->block;
    dm_test_stream random;
    dm_test_stream_seed(&random, seed + param_seed(param));
    for (size_t e = 0; e < p->count; e++)
        for (int i = 0; i < p->leaf_count; i++)
            dm_kernel_store_number(memory + dm_trial_at(p, e, i), p->leaves[i].scalar,
                                   draw(t, p, &p->leaves[i], &random));
}

static double draw_for_case(const dm_trial *t, const dm_trial_param *p, const dm_trial_leaf *leaf,
                            dm_trial_kind kind, uint64_t word)
{
    uint64_t last = (uint64_t)t->size - 1;
    if (leaf->is_float)
        return (kind == DM_TRIAL_ENDS ? 600 + (double)(word % 3) * 400
                                      : 600 + (double)(word % 801)) /
               1000;
    if (leaf->scalar == DM_KERNEL_BOOL)
        return (double)(word & 1);
    if (p->is_array)
        return (double)(kind == DM_TRIAL_ENDS ? word % 2 * last : word % (last + 1));
    return (double)(kind == DM_TRIAL_ENDS ? 1 : kind == DM_TRIAL_FULL ? last + 1 : word % last + 1);
}

/* ---- Mixed cases ---- */

/* How a parameter's floats are drawn, and its integers. */
typedef enum mood {
    GRID,
    SIGNED_GRID,
    TWO,
    EDGES,
    ZEROS,
    SMALL,
    LARGE,
    WIDE,
    BOTH_SIGNS,
    PLAIN,
    MOODS
} mood;

static double draw_float_in(const dm_trial *t, mood way, uint64_t word)
{
    static const double grid[] = {0.5, 1.0, 1.5, 2.0}, both[] = {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0};
    static const double decades[] = {0.01, 0.1, 1, 10};
    double part = (double)(word >> 8 & 0xFFFF) / 65536;
    switch (way) {
    case GRID:
        return grid[word % 4];
    case SIGNED_GRID:
        return both[word % 6];
    case TWO:
        return word % 2 == 0 ? 0.5 : 1.0;
    case EDGES: /* half of them */
        return t->edge_count > 0 && word % 2 == 0 ? t->edges[word / 2 % (uint64_t)t->edge_count]
                                                  : floor(600 + 801 * part) / 1000;
    case ZEROS:
        return word % 5 < 2 ? 0 : floor(600 + 801 * part) / 1000;
    case SMALL:
        return floor(10 + 191 * part) / 1000;
    case LARGE:
        return floor(20 + 381 * part) / 10;
    case WIDE:
        return decades[word % 4] * floor(100 + 900 * part) / 100;
    case BOTH_SIGNS:
        return (word % 2 == 0 ? 1 : -1) * floor(600 + 801 * part) / 1000;
    default:
        return floor(600 + 801 * part) / 1000;
    }
}

static double draw_integer_in(const dm_trial *t, const dm_trial_param *p, mood way, uint64_t word,
                              uint64_t same)
{
    uint64_t size = (uint64_t)t->size;
    int low = p->is_array ? 0 : 1;
    uint64_t value = way == GRID                       ? same % size
                     : way == TWO || way == BOTH_SIGNS ? word % 2 * (size - 1)
                     : way == SMALL                    ? word % 2
                                                       : word % size;
    return (double)value + low;
}

static void draw_mixed(dm_trial *t, int number, mood whole, uint64_t seed)
{
    const dm_trial_param *p = &t->params[number];
    uint8_t *memory = p->is_array ? t->before : t->block;
    dm_test_stream random;
    dm_test_stream_seed(&random, seed + param_seed(number));
    mood own = (mood)((dm_test_stream_next(&random) >> 20) % MOODS);
    uint64_t same = dm_test_stream_next(&random) >> 20;
    mood way = whole == MOODS ? own : whole;
    for (size_t e = 0; e < p->count; e++)
        for (int k = 0; k < p->leaf_count; k++) {
            uint64_t word = dm_test_stream_next(&random) >> 20;
            dm_kernel_scalar scalar = p->leaves[k].scalar;
            double value = p->leaves[k].is_float      ? draw_float_in(t, way, word)
                           : scalar == DM_KERNEL_BOOL ? (double)(word & 1)
                                                      : draw_integer_in(t, p, own, word, same);
            dm_kernel_store_number(memory + dm_trial_at(p, e, k), scalar, value);
        }
}

/* Three of seven cases have all numbers in one way, so that those of two parameters are equal, too. */
static void draw_all_mixed(dm_trial *t, uint64_t seed)
{
    dm_test_stream random;
    dm_test_stream_seed(&random, ~seed);
    static const mood whole[] = {GRID, SIGNED_GRID, EDGES, MOODS, MOODS, MOODS, MOODS};
    mood way = whole[(dm_test_stream_next(&random) >> 20) % (sizeof whole / sizeof whole[0])];
    for (int i = 0; i < t->param_count; i++)
        draw_mixed(t, i, way, seed);
}

void dm_trial_draw_case(dm_trial *t, dm_trial_kind kind, int percent, uint64_t seed)
{
    if (kind == DM_TRIAL_MIXED) {
        draw_all_mixed(t, seed);
        return;
    }
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        uint8_t *memory = p->is_array ? t->before : t->block;
        dm_test_stream random;
        dm_test_stream_seed(&random, seed + param_seed(i));
        bool both =
            kind == DM_TRIAL_SIGNED && dm_test_stream_next(&random) % 100 < (uint64_t)percent;
        for (size_t e = 0; e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                uint64_t word = dm_test_stream_next(&random) >> 20;
                double sign = both && p->leaves[k].is_float && (word >> 30 & 1) != 0 ? -1 : 1;
                dm_kernel_store_number(memory + dm_trial_at(p, e, k), p->leaves[k].scalar,
                                       sign * draw_for_case(t, p, &p->leaves[k], kind, word));
            }
    }
}

/* Between -1 and 1, and not near 0: every output counts. */
static void draw_weights(dm_trial *t, int param, uint64_t seed)
{
    const dm_trial_param *p = &t->params[param];
    dm_test_stream random;
    dm_test_stream_seed(&random, ~(seed + param_seed(param)));
    for (size_t e = 0; e < p->count; e++)
        for (int i = 0; i < p->leaf_count; i++) {
            uint64_t word = dm_test_stream_next(&random);
            double weight = 0.25 + 0.75 * (double)(word >> 11) * 0x1p-53;
            if (p->leaves[i].is_float)
                dm_kernel_store_number(t->weights + dm_trial_at(p, e, i), p->leaves[i].scalar,
                                       (word & 1) != 0 ? weight : -weight);
        }
}

void dm_trial_bind(const dm_trial *t, uint8_t *block, void *now, void *grad)
{
    memcpy(block, t->block, t->block_size);
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        if (!p->is_array)
            continue;
        uint8_t *to = block + p->block_offset;
        uint8_t *data = (uint8_t *)now + p->offset;
        uint8_t *gradient = p->floats ? (uint8_t *)grad + p->offset : NULL;
        long long stride = (long long)p->step;
        memcpy(to, &data, sizeof data);
        memcpy(to + 8, &gradient, sizeof gradient);
        for (int d = p->ndim - 1; d >= 0; d--) {
            memcpy(to + 16 + 8 * d, &stride, sizeof stride);
            memcpy(to + 16 + 8 * p->ndim + 4 * d, &t->size, sizeof t->size);
            stride *= t->size;
        }
    }
}

void dm_trial_fill_guards(const dm_trial *t, uint8_t *image, uint8_t byte)
{
    for (int i = 0; i < t->guard_count; i++)
        memset(image + t->guards[i].offset, byte, t->guards[i].size);
}

bool dm_trial_guards_hold(const dm_trial *t, const uint8_t *image, uint8_t byte)
{
    bool hold = true;
    for (int i = 0; i < t->guard_count; i++) {
        const uint8_t *guard = image + t->guards[i].offset;
        hold &= guard[0] == byte && memcmp(guard, guard + 1, t->guards[i].size - 1) == 0;
    }
    return hold;
}

/* ---- The whole ---- */

static dm_status make(dm_trial *t, const dm_ir_function *f, uint64_t seed, dm_error *err)
{
    dm_status status = lay_out(t, f, err);
    if (status != DM_OK)
        return status;
    uint8_t **images[] = {&t->before, &t->now, &t->grad, &t->weights};
    bool fine = true;
    for (int i = 0; i < 4; i++)
        fine &= (*images[i] = dm_arena_alloc(&t->arena, t->image_size)) != NULL;
    fine &= (t->block = dm_arena_alloc(&t->arena, t->block_size + 8)) != NULL;
    if (!fine)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < t->dimensions; i++)
        memcpy(t->block + sizeof(int) * (size_t)i, &t->size, sizeof(int));
    for (int i = 0; i < t->param_count; i++) {
        if (!t->params[i].is_array || t->params[i].reads)
            dm_trial_draw(t, i, seed);
        if (t->params[i].writes)
            draw_weights(t, i, seed);
    }
    dm_trial_bind(t, t->block, t->now, t->grad);
    find_edges(t, f, f->body, 0);
    return DM_OK;
}

dm_status dm_trial_create(const dm_ir_function *forward, int size, uint64_t seed, dm_trial **out,
                          dm_error *err)
{
    dm_trial *t = *out = calloc(1, sizeof *t);
    if (t == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_arena_init(&t->arena, 0);
    t->size = size;
    t->dimensions = forward->tid_count < 1 ? 1 : forward->tid_count;
    dm_status status = make(t, forward, seed, err);
    if (status != DM_OK) {
        dm_trial_destroy(t);
        *out = NULL;
    }
    return status;
}

void dm_trial_destroy(dm_trial *t)
{
    if (t == NULL)
        return;
    dm_arena_deinit(&t->arena);
    free(t);
}
