/* SPDX-License-Identifier: MIT */
/* leaf.c - where expressions end: variables, elements of arrays, numbers. */
#include "synth/gen/expression.h"

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

/* ---- Leaves ---- */

/* Variables of a type that can be read, and those of them that nothing has used yet. */
typedef struct readable {
    dm_gen_list all, unused;
} readable;

static void list_readable(dm_gen *g, dm_gen_type type, readable *r)
{
    r->all.count = r->unused.count = 0;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        bool fits = (v->type == type) & !(v->hidden | v->state);
        dm_gen_list_add(&r->all, v, fits);
        dm_gen_list_add(&r->unused, v, fits & !v->used);
    }
}

dm_gen_variable *dm_gen_some_variable(dm_gen *g, dm_gen_type type)
{
    readable r;
    list_readable(g, type, &r);
    return dm_gen_one_of(g, &r.all);
}

/* A component of something larger that is there. */
static int some_component(dm_gen *g, dm_gen_type type)
{
    dm_gen_list list;
    list.count = 0;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        int shape = dm_gen_shape(v->type);
        dm_gen_list_add(&list, v,
                        (dm_gen_kind(v->type) == dm_gen_kind(type)) & (shape != DM_GEN_SCALAR) &
                            (shape != DM_GEN_STRUCT) & !v->hidden);
    }
    dm_gen_variable *found = dm_gen_one_of(g, &list);
    if (found == NULL)
        return -1;
    int rows = dm_gen_rows(found->type), all = dm_gen_is_mat(found->type) ? rows * rows : rows;
    return dm_gen_component(g, dm_gen_name(g, found), dm_gen_below(g, all));
}

/* A counter or coordinate as a small number. */
static int counted(dm_gen *g, dm_gen_type type)
{
    dm_gen_list list;
    list.count = 0;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        dm_gen_list_add(&list, v, (v->type == int32) & !v->hidden);
    }
    dm_gen_variable *found = dm_gen_one_of(g, &list);
    if (found == NULL)
        return -1;
    return dm_gen_fit(g, dm_gen_cast(g, dm_gen_kind(type), dm_gen_name(g, found)), 8);
}

static int constant_leaf(dm_gen *g, dm_gen_type type)
{
    int kind = dm_gen_kind(type);
    if (dm_gen_shape(type) == DM_GEN_SCALAR)
        return dm_gen_kind_is_float(kind)
                   ? dm_gen_some_constant(g, kind, 0.1f, 3.0f)
                   : dm_gen_constant(g, kind, (float)dm_gen_between(g, 1, 9));
    if (dm_gen_is_mat(type)) {
        int by = dm_gen_factor(g, type);
        return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type), by);
    }
    return dm_gen_splat(g, type, dm_gen_factor(g, type));
}

/* Something larger out of what there is: vectors of numbers, matrices of vectors. */
static int assembled(dm_gen *g, dm_gen_type type)
{
    int kids[4], rows = dm_gen_rows(type);
    if (dm_gen_is_mat(type)) {
        dm_gen_type vector = dm_gen_type_of(DM_GEN_VEC2 + rows - 2, dm_gen_kind(type));
        switch (dm_gen_below(g, 3)) {
        case 0:
            kids[1] = dm_gen_some_leaf(g, vector, false);
            kids[0] = dm_gen_some_leaf(g, vector, false);
            return dm_gen_binary(g, DM_GEN_OP_OUTER, type, kids[0], kids[1]);
        case 1:
            return dm_gen_unary(g, DM_GEN_OP_DIAG, type, dm_gen_some_leaf(g, vector, false));
        default:
            return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type),
                                 dm_gen_some_leaf(g, dm_gen_scalar_of(type), false));
        }
    }
    for (int i = 0; i < rows; i++)
        kids[i] = dm_gen_some_leaf(g, dm_gen_scalar_of(type), i > 0);
    return dm_gen_make(g, type, kids, rows);
}

enum {
    LEAF_UNUSED,
    LEAF_VARIABLE,
    LEAF_NEW_ARRAY,
    LEAF_ARRAY,
    LEAF_SCALAR,
    LEAF_COMPONENT,
    LEAF_COUNTED,
    LEAF_CONSTANT,
    LEAF_KINDS
};

static int leaf_of_kind(dm_gen *g, dm_gen_type type, const readable *r, int kind)
{
    dm_gen_variable *v;
    switch (kind) {
    case LEAF_UNUSED:
        v = dm_gen_one_of(g, &r->unused);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_VARIABLE:
        v = dm_gen_one_of(g, &r->all);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_NEW_ARRAY:
        return dm_gen_element(g, type, true);
    case LEAF_ARRAY:
        return dm_gen_element(g, type, false);
    case LEAF_SCALAR:
        v = dm_gen_new_scalar(g, type);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_COMPONENT:
        return some_component(g, type);
    case LEAF_COUNTED:
        return counted(g, type);
    default:
        return constant_leaf(g, type);
    }
}

int dm_gen_some_leaf(dm_gen *g, dm_gen_type type, bool constant)
{
    bool kernel = g->frame->kernel, scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool room = kernel && g->array_count < g->array_limit;
    uint8_t weights[LEAF_KINDS] = {
        [LEAF_UNUSED] = 60,
        [LEAF_VARIABLE] = 14,
        [LEAF_NEW_ARRAY] = room ? 30 : 0,
        [LEAF_ARRAY] = kernel ? 14 : 0,
        [LEAF_SCALAR] = kernel && scalar && g->scalar_count < g->scalar_limit ? 12 : 0,
        [LEAF_COMPONENT] = scalar ? 8 : 0,
        [LEAF_COUNTED] = scalar && dm_gen_kind_is_float(dm_gen_kind(type)) ? 3 : 0,
        [LEAF_CONSTANT] = constant ? 6 : 0,
    };
    readable r;
    list_readable(g, type, &r);
    for (;;) {
        int kind = dm_gen_pick(g, weights, LEAF_KINDS);
        if (kind < 0)
            break;
        int node = leaf_of_kind(g, type, &r, kind);
        if (node >= 0)
            return node;
        weights[kind] = 0;
    }
    if (kernel && scalar && !constant) { /* nothing is there yet */
        int node = dm_gen_element(g, type, true);
        if (node >= 0)
            return node;
    }
    if (!scalar && dm_gen_kind_is_float(dm_gen_kind(type)))
        return assembled(g, type);
    return constant_leaf(g, type);
}

int dm_gen_leaf(dm_gen *g, dm_gen_type type)
{
    return dm_gen_some_leaf(g, type, false);
}
