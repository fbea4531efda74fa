/* SPDX-License-Identifier: MIT */
/* input.c - parameters of the kernel, made when a value of their type is first wanted, and how
 * their elements are reached: the thread's own, a neighbour, one named by another array. */
#include "synth/gen/gen.h"

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

static dm_gen_role array_role(dm_gen_type type, bool output)
{
    if (output)
        return DM_GEN_ROLE_OUTPUT;
    if (!dm_gen_kind_is_float(dm_gen_kind(type)))
        return DM_GEN_ROLE_INTEGERS;
    return dm_gen_shape(type) == DM_GEN_SCALAR ? DM_GEN_ROLE_FLOATS
           : dm_gen_is_vec(type)               ? DM_GEN_ROLE_VECTORS
                                               : DM_GEN_ROLE_MATRICES;
}

static int new_param(dm_gen *g, const dm_gen_text *name, dm_gen_type type, int dimensions,
                     bool output)
{
    int at = g->param_count++;
    g->params[at] =
        (dm_gen_param){.name = name, .type = type, .dimensions = dimensions, .output = output};
    if (!output)
        g->kernel.inputs |= 1u << at;
    return at;
}

/* May there be one more? Outputs need their places. */
static bool has_place(const dm_gen *g)
{
    return g->param_count + g->output_count < DM_GEN_PARAMS_MAX;
}

int dm_gen_new_array(dm_gen *g, dm_gen_type type, int dimensions, bool output)
{
    if (!output && !has_place(g))
        return -1;
    if (!output)
        g->array_count++;
    return new_param(g, dm_gen_fresh(g, array_role(type, output)), type, dimensions, output);
}

dm_gen_variable *dm_gen_new_fixed(dm_gen_frame *frame, const dm_gen_text *name, dm_gen_type type,
                                  dm_gen_span span, dm_gen_masks masks)
{
    if (frame->fixed_count == DM_GEN_FIXED_MAX)
        return NULL;
    dm_gen_variable *v = &frame->variables[frame->fixed_count++];
    *v = (dm_gen_variable){
        .name = name, .type = type, .fixed = true, .span = span, .masks = masks, .gain = 1};
    return v;
}

dm_gen_variable *dm_gen_new_scalar(dm_gen *g, dm_gen_type type)
{
    bool real = dm_gen_kind_is_float(dm_gen_kind(type));
    if (!has_place(g) || g->kernel.fixed_count == DM_GEN_FIXED_MAX)
        return NULL;
    const dm_gen_text *name = dm_gen_fresh(g, real ? DM_GEN_ROLE_SCALAR : DM_GEN_ROLE_COUNT);
    int param = new_param(g, name, type, 0, false);
    g->scalar_count++;
    dm_gen_span floats = {(float)DM_SYNTH_INPUT_LOW, (float)DM_SYNTH_INPUT_HIGH};
    dm_gen_span ints = {1, DM_GEN_SIZE_MOST};
    return dm_gen_new_fixed(&g->kernel, name, type, real ? floats : ints,
                            (dm_gen_masks){1u << param, 0, 1u << param, 0});
}

/* ---- Indices ---- */

static dm_gen_variable *index_variable(dm_gen *g)
{
    dm_gen_frame *frame = g->frame;
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = dm_gen_last(frame); i >= 0 && seen < 6; i = dm_gen_before(frame, i)) {
        dm_gen_variable *v = &frame->variables[i];
        if (v->index && !v->hidden && dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    return found;
}

static dm_gen_variable *coordinate(dm_gen *g, int dimension)
{
    return &g->kernel.variables[g->first_coordinate + dimension];
}

int dm_gen_coordinate(dm_gen *g, int dimension)
{
    return dm_gen_name(g, coordinate(g, dimension));
}

/* The innermost loop's counter, when arrays can be indexed with it. */
static dm_gen_variable *counter(dm_gen *g)
{
    if (g->frame->loop_depth == 0)
        return NULL;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->index && v->fixed && !v->hidden && v->name != g->coordinates[0] &&
            v->name != g->coordinates[1] && v->name != g->coordinates[2] &&
            v->name != g->coordinates[3])
            return v;
    }
    return NULL;
}

/* Beside the thread's own, and still inside. */
static int neighbour(dm_gen *g, int param, int dimension, dm_gen_variable *own)
{
    int i = dm_gen_name(g, own),
        step = dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_between(g, 1, 2));
    int zero = dm_gen_constant(g, DM_GEN_I32, 0), extent = dm_gen_extent(g, param, dimension);
    int last = dm_gen_binary(g, DM_GEN_OP_SUB, int32, extent, dm_gen_constant(g, DM_GEN_I32, 1));
    switch (dm_gen_below(g, 5)) {
    case 0:
        return dm_gen_binary(g, DM_GEN_OP_MAX, int32,
                             dm_gen_binary(g, DM_GEN_OP_SUB, int32, i, step), zero);
    case 1:
        return dm_gen_binary(g, DM_GEN_OP_MIN, int32,
                             dm_gen_binary(g, DM_GEN_OP_ADD, int32, i, step), last);
    case 2:
        return dm_gen_binary(g, DM_GEN_OP_MOD, int32,
                             dm_gen_binary(g, DM_GEN_OP_ADD, int32, i, step), extent);
    case 3:
        return dm_gen_binary(g, DM_GEN_OP_MOD, int32,
                             dm_gen_binary(g, DM_GEN_OP_ADD, int32,
                                           dm_gen_binary(g, DM_GEN_OP_SUB, int32, i, step), extent),
                             extent);
    default:
        return dm_gen_ternary(
            g, DM_GEN_OP_CLAMP, int32,
            dm_gen_binary(g, dm_gen_chance(g, 50) ? DM_GEN_OP_ADD : DM_GEN_OP_SUB, int32, i, step),
            zero, last);
    }
}

/* An element of an array of indices, as an index. */
static int indirect(dm_gen *g)
{
    int param = -1;
    for (int i = 0; i < g->param_count; i++)
        if (g->params[i].dimensions == 1 && g->params[i].type == int32 && !g->params[i].output)
            param = i;
    if (param < 0 && g->array_count < g->array_limit + 1 && has_place(g)) {
        g->array_count++;
        param = new_param(g, dm_gen_fresh(g, DM_GEN_ROLE_INDICES), int32, 1, false);
    }
    if (param < 0)
        return -1;
    dm_gen_variable *own = coordinate(g, dm_gen_below(g, g->kernel.rank));
    dm_gen_variable *k = counter(g);
    return dm_gen_load(g, param,
                       (int[]){dm_gen_name(g, k != NULL && dm_gen_chance(g, 50) ? k : own)});
}

int dm_gen_index(dm_gen *g, int param, int dimension)
{
    const dm_gen_recipe *recipe = g->recipe;
    dm_gen_variable *k = counter(g);
    int extra = g->params[param].dimensions - g->kernel.rank; /* dimensions that loops are for */
    if (dm_gen_chance(g, recipe->indirect)) {
        int node = indirect(g);
        if (node >= 0)
            return node;
    }
    if (k != NULL && (extra > 0 ? dimension >= g->kernel.rank : dm_gen_chance(g, 45)))
        return dm_gen_name(g, k);
    dm_gen_variable *own = coordinate(g, dimension < g->kernel.rank && !dm_gen_chance(g, 12)
                                             ? dimension
                                             : dm_gen_below(g, g->kernel.rank));
    bool wanted = g->category == DM_SYNTH_STENCIL && !g->has_neighbour;
    if (wanted || dm_gen_chance(g, recipe->neighbours)) {
        g->has_neighbour = true;
        return neighbour(g, param, dimension, own);
    }
    if (dm_gen_chance(g, 12)) {
        dm_gen_variable *v = index_variable(g);
        if (v != NULL)
            return dm_gen_name(g, v);
    }
    if (dimension >= g->kernel.rank && dm_gen_chance(g, 60))
        return dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_below(g, DM_SYNTH_SIZE_LEAST));
    return dm_gen_name(g, own);
}

int dm_gen_element_of(dm_gen *g, int param)
{
    int indices[4];
    for (int d = 0; d < g->params[param].dimensions; d++)
        indices[d] = dm_gen_index(g, param, d);
    return dm_gen_load(g, param, indices);
}

/* As many dimensions as the launch has, one more in a loop, fewer now and then. */
static int some_dimensions(dm_gen *g)
{
    int rank = g->kernel.rank;
    if (g->frame->loop_depth > 0 && rank < 4 && dm_gen_chance(g, 45))
        return rank + 1;
    if (rank > 1 && dm_gen_chance(g, 25))
        return dm_gen_between(g, 1, rank);
    return rank < 4 && dm_gen_chance(g, 4) ? rank + 1 : rank;
}

int dm_gen_element(dm_gen *g, dm_gen_type type, bool fresh)
{
    int found = -1, seen = 0;
    if (fresh)
        found = dm_gen_new_array(g, type, some_dimensions(g), false);
    for (int i = 0; i < g->param_count && !fresh; i++) {
        const dm_gen_param *p = &g->params[i];
        if (p->dimensions > 0 && !p->output && p->type == type && dm_gen_below(g, ++seen) == 0)
            found = i;
    }
    return found < 0 ? -1 : dm_gen_element_of(g, found);
}

int dm_gen_input(dm_gen *g, int param)
{
    const dm_gen_param *p = &g->params[param];
    if (p->dimensions > 0 && dm_gen_shape(p->type) != DM_GEN_STRUCT)
        return dm_gen_element_of(g, param);
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = 0; i < g->kernel.count; i = dm_gen_after(&g->kernel, i)) {
        dm_gen_variable *v = &g->kernel.variables[i];
        bool readable = v->masks.depends == 1u << param && !v->hidden && !v->state &&
                        dm_gen_shape(v->type) != DM_GEN_STRUCT;
        if (readable && dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    return found == NULL ? -1 : dm_gen_name(g, found);
}

void dm_gen_write_slot(dm_gen *g, int param)
{
    dm_gen_put(g, g->params[param].name);
    dm_gen_puts(g, "[");
    for (int d = 0; d < g->params[param].dimensions; d++) {
        if (d > 0)
            dm_gen_puts(g, ", ");
        dm_gen_put(g, g->coordinates[d]);
    }
    dm_gen_puts(g, "]");
}
