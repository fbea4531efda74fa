/* SPDX-License-Identifier: MIT */
/* output.c - how a kernel ends: values that depend on every input, stored or added atomically. */
#include "synth/gen/gen.h"

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

/* A slot that several threads may share: a fixed one, one by an array of indices, a bin. */
static int shared_slot(dm_gen *g, int param, int dimension)
{
    int last, bin, i = dm_gen_below(g, g->kernel.rank);
    switch (dm_gen_below(g, 4)) {
    case 0:
        return dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_below(g, DM_SYNTH_SIZE_LEAST));
    case 1: { /* a bin: a value rounded, kept inside */
        if (!dm_gen_kind_is_float(g->scalar))
            break;
        int value = dm_gen_leaf(g, dm_gen_type_of(DM_GEN_SCALAR, g->scalar));
        last = dm_gen_binary(g, DM_GEN_OP_SUB, int32, dm_gen_extent(g, param, dimension),
                             dm_gen_constant(g, DM_GEN_I32, 1));
        bin = dm_gen_cast(g, DM_GEN_I32,
                          dm_gen_binary(g, DM_GEN_OP_MUL, dm_gen_at(g, value)->type, value,
                                        dm_gen_constant(g, g->scalar, 2)));
        return dm_gen_ternary(g, DM_GEN_OP_CLAMP, int32, bin, dm_gen_constant(g, DM_GEN_I32, 0),
                              last);
    }
    default:
        break;
    }
    if (dm_gen_chance(g, 50))
        return dm_gen_index(g, param, dimension);
    int by = dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_between(g, 2, 4));
    return dm_gen_binary(g, dm_gen_chance(g, 50) ? DM_GEN_OP_FLOORDIV : DM_GEN_OP_MOD, int32,
                         dm_gen_coordinate(g, i), by);
}

static int ready(dm_gen *g, dm_gen_type type, int size, bool all)
{
    int node = dm_gen_value(g, type, size);
    if (all)
        node = dm_gen_use_all(g, node, DM_GEN_FIXED_MAX);
    return dm_gen_complete(g, node);
}

/* Above what any slot starts with, or below: the extreme is one of the threads'. */
static int extreme(dm_gen *g, int node, bool most)
{
    dm_gen_type type = dm_gen_at(g, node)->type;
    int kind = dm_gen_kind(type);
    if (dm_gen_kind_is_float(kind))
        node = dm_gen_fit(g, node, 8);
    int far = dm_gen_constant(g, kind, dm_gen_most(dm_gen_at(g, node)->span) + 2);
    if (most)
        return dm_gen_binary(g, DM_GEN_OP_ADD, type, node, far);
    return dm_gen_binary(g, DM_GEN_OP_SUB, type, node, far);
}

enum { ATOMIC_ADD, ATOMIC_SUB, ATOMIC_PLUS, ATOMIC_MINUS, ATOMIC_MAX, ATOMIC_MIN, ATOMIC_KINDS };

static void atomic(dm_gen *g, dm_gen_type type, int size, bool all)
{
    static const dm_gen_text calls[] = {DM_GEN_TEXT("wp.atomic_add("),
                                        DM_GEN_TEXT("wp.atomic_sub("),
                                        DM_GEN_TEXT(""),
                                        DM_GEN_TEXT(""),
                                        DM_GEN_TEXT("wp.atomic_max("),
                                        DM_GEN_TEXT("wp.atomic_min(")};
    static const uint8_t weights[ATOMIC_KINDS] = {50, 8, 16, 5, 12, 9};
    int kind = dm_gen_pick(g, weights, ATOMIC_KINDS);
    bool is_unsigned = dm_gen_kind(type) == DM_GEN_U32 || dm_gen_kind(type) == DM_GEN_U64;
    bool scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    if ((kind >= ATOMIC_MAX && (!scalar || dm_gen_kind(type) == DM_GEN_F16)) ||
        (is_unsigned && kind != ATOMIC_MAX))
        kind = ATOMIC_ADD;
    /* An extreme has a gradient to one thread only; where threads differ each has its own. */
    bool exact = kind >= ATOMIC_MAX && g->has_parity;
    int dimensions = dm_gen_chance(g, 75) && !exact ? 1 : g->kernel.rank, indices[4];
    int param = dm_gen_new_array(g, type, dimensions, true);
    for (int d = 0; d < dimensions; d++)
        indices[d] = exact ? dm_gen_coordinate(g, d) : shared_slot(g, param, d);
    int node = ready(g, type, size, all);
    if (kind >= ATOMIC_MAX)
        node = extreme(g, node, kind == ATOMIC_MAX);
    bool call = kind != ATOMIC_PLUS && kind != ATOMIC_MINUS;
    dm_gen_indent(g);
    dm_gen_put(g, &calls[kind]);
    dm_gen_put(g, g->params[param].name);
    dm_gen_puts(g, call ? ", " : "[");
    for (int d = 0; d < dimensions; d++) {
        if (d > 0)
            dm_gen_puts(g, ", ");
        dm_gen_write(g, indices[d]);
    }
    dm_gen_puts(g, call ? ", " : kind == ATOMIC_PLUS ? "] += " : "] -= ");
    dm_gen_write(g, node);
    dm_gen_puts(g, call ? ")\n" : "\n");
    dm_gen_next(g);
}

static void store(dm_gen *g, dm_gen_type type, int size, bool all)
{
    int node = ready(g, type, size, all);
    int param = dm_gen_new_array(g, type, g->kernel.rank, true);
    dm_gen_indent(g);
    dm_gen_write_slot(g, param);
    dm_gen_puts(g, " = ");
    dm_gen_write(g, node);
    dm_gen_puts(g, "\n");
    dm_gen_next(g);
}

int dm_gen_choose_outputs(dm_gen *g, int lines)
{
    static const uint8_t counts[] = {74, 21, 5};
    int count = 1 + dm_gen_pick(g, counts, 3);
    g->output_count = count < lines ? count : lines > 2 ? lines - 1 : 1;
    g->output_struct = g->structure.name != NULL && dm_gen_chance(g, 25);
    return lines - g->output_count - (g->output_struct ? 1 + g->structure.count : 0);
}

void dm_gen_outputs(dm_gen *g)
{
    bool atomics = dm_gen_chance(g, g->recipe->atomics);
    for (int i = 0; i < g->output_count; i++) {
        dm_gen_type type = dm_gen_some_type(g);
        int size = dm_gen_some_size(g) + (i == 0 ? 2 : 1); /* what makes kernels distinct */
        if (i == 0 && g->output_struct)
            dm_gen_store_struct(g);
        else if (atomics && (i == 0 || dm_gen_chance(g, 40)))
            atomic(g, type, size, i == 0);
        else
            store(g, type, size, i == 0);
    }
}
