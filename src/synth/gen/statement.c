/* SPDX-License-Identifier: MIT */
/* statement.c - the statements of a body: locals, branches, loops.
 *
 * Every statement leaves a local that later ones can read. A block ends by combining its own locals
 * into a variable that outlives it, so that all computations are used. */
#include "synth/gen/gen.h"

#include <math.h>

#define T DM_GEN_TEXT

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

static bool is_real(dm_gen_type type)
{
    return dm_gen_kind_is_float(dm_gen_kind(type));
}

dm_gen_role dm_gen_local_role(dm_gen_type type)
{
    if (!is_real(type))
        return DM_GEN_ROLE_LOCAL_INTEGER;
    return dm_gen_shape(type) == DM_GEN_SCALAR ? DM_GEN_ROLE_LOCAL
           : dm_gen_is_vec(type)               ? DM_GEN_ROLE_LOCAL_VECTOR
                                               : DM_GEN_ROLE_LOCAL_MATRIX;
}

dm_gen_type dm_gen_some_type(dm_gen *g)
{
    if (!dm_gen_kind_is_float(g->scalar))
        return dm_gen_type_of(DM_GEN_SCALAR, g->scalar);
    int shape = dm_gen_pick(g, g->recipe->shapes, DM_GEN_QUAT + 1);
    return dm_gen_type_of(shape < 0 ? DM_GEN_SCALAR : shape, g->scalar);
}

static bool is_full(const dm_gen *g)
{
    return g->frame->count > DM_GEN_VARIABLES_MAX - 12;
}

dm_gen_variable *dm_gen_new_variable(dm_gen *g, const dm_gen_text *name, dm_gen_type type,
                                     dm_gen_span span, dm_gen_masks masks)
{
    dm_gen_variable *v = &g->frame->variables[g->frame->count++];
    *v = (dm_gen_variable){.name = name, .type = type, .span = span, .masks = masks, .gain = 1};
    return v;
}

/* ---- Lines ---- */

/* Operators of assignments, and words that lines begin with. */
static const dm_gen_text becomes = T(" = "), plus = T(" += "), minus = T(" -= "), times = T(" *= ");
static const dm_gen_text word_if = T("if "), word_elif = T("elif "), word_for = T("for "),
                         word_continue = T("continue\n"), word_break = T("break\n");

static void begin(dm_gen *g, const dm_gen_text *first, const dm_gen_text *second)
{
    dm_gen_indent(g);
    dm_gen_put(g, first);
    dm_gen_put(g, second);
}

static void line(dm_gen *g, const dm_gen_text *name, const dm_gen_text *operator, int node)
{
    begin(g, name, operator);
    dm_gen_write(g, node);
    dm_gen_puts(g, "\n");
}

void dm_gen_take(dm_gen_variable *v, const dm_gen_node *n)
{
    v->span = n->span;
    v->masks = n->masks;
    v->stuck = n->stuck;
    v->uneven = n->uneven;
    v->unit = n->unit;
    v->gain = n->gain;
}

dm_gen_variable *dm_gen_assign(dm_gen *g, const dm_gen_text *name, int node)
{
    const dm_gen_node *n = dm_gen_at(g, node);
    line(g, name, &becomes, node);
    dm_gen_variable *v = dm_gen_new_variable(g, name, n->type, n->span, n->masks);
    dm_gen_take(v, n);
    dm_gen_next(g);
    return v;
}

/* ---- Blocks ---- */

typedef struct block {
    int count, first;
} block;

static block open_block(dm_gen *g)
{
    block b = {g->frame->count, g->frame->block_first};
    g->frame->block_first = g->frame->count;
    g->frame->block_depth++;
    return b;
}

static void close_block(dm_gen *g, block b)
{
    g->frame->count = b.count;
    g->frame->block_first = b.first;
    g->frame->block_depth--;
}

/* Is there room for so many lines, and the last one of every block that is open? Functions are
 * short anyway. */
static bool has_room(const dm_gen *g, int lines)
{
    return !g->frame->kernel || g->budget >= lines + g->frame->block_depth;
}

/* Statements of a block, before its last one. */
static void fill_block(dm_gen *g, int size)
{
    int depth = g->frame->block_depth;
    int most = depth >= 3 || !has_room(g, 1) ? 0 : depth == 2 || !has_room(g, 2) ? 1 : 2;
    for (int n = dm_gen_below(g, most + 1); n > 0 && !is_full(g); n--)
        dm_gen_statement(g, size / 2 > 2 ? size / 2 : 2);
}

/* The value that ends a block: it uses what the block has made. */
static int last_value(dm_gen *g, dm_gen_type type, int size)
{
    return dm_gen_use_all(g, dm_gen_value(g, type, size), g->frame->block_first);
}

static dm_gen_span hull(dm_gen_span a, dm_gen_span b)
{
    return (dm_gen_span){fminf(a.low, b.low), fmaxf(a.high, b.high)};
}

static dm_gen_masks joined(dm_gen_masks a, dm_gen_masks b)
{
    return (dm_gen_masks){a.depends | b.depends, a.live | b.live, a.plus | b.plus,
                          a.minus | b.minus};
}

static dm_gen_masks common(dm_gen_masks a, dm_gen_masks b)
{
    return (dm_gen_masks){a.depends & b.depends, a.live & b.live, a.plus | b.plus,
                          a.minus | b.minus};
}

/* ---- Assignments ---- */

static void assign(dm_gen *g, int size)
{
    dm_gen_type type = dm_gen_some_type(g);
    if (is_real(type) && g->frame->kernel && dm_gen_chance(g, g->recipe->integer))
        type = int32;
    const dm_gen_text *name = dm_gen_fresh(g, dm_gen_local_role(type));
    int node = dm_gen_value(g, type, size);
    if (dm_gen_at(g, node)->op == DM_GEN_OP_CONSTANT || dm_gen_at(g, node)->op == DM_GEN_OP_NAME)
        node = dm_gen_join_values(g, node, dm_gen_leaf(g, type));
    dm_gen_assign(g, name, node);
}

/* A variable has got a value more: what is known of both. */
static void take_value(dm_gen_variable *v, const dm_gen_node *n)
{
    v->masks = joined(v->masks, n->masks);
    v->uneven |= n->uneven;
    v->gain = n->gain < v->gain ? n->gain : v->gain;
    v->unit = v->used = false;
}

/* A local of this very block that may change. */
static dm_gen_variable *changeable(dm_gen *g, bool vector)
{
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = g->frame->block_first; i < g->frame->count; i++) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->fixed || v->hidden || v->state || v->index || !is_real(v->type) ||
            dm_gen_shape(v->type) == DM_GEN_STRUCT || (vector && !dm_gen_is_vec(v->type)))
            continue;
        if (dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    return found;
}

static bool augment(dm_gen *g, int size)
{
    dm_gen_variable *v = changeable(g, false);
    if (v == NULL)
        return false;
    v->hidden = true;
    int node = dm_gen_value(g, v->type, size), way = dm_gen_below(g, 3);
    v->hidden = false;
    dm_gen_node *n = dm_gen_at(g, node);
    if (n->op == DM_GEN_OP_CONSTANT) {
        node = dm_gen_leaf(g, v->type);
        n = dm_gen_at(g, node);
    }
    static const dm_gen_text *const signs[] = {&plus, &minus, &times};
    static const dm_gen_op ops[] = {DM_GEN_OP_ADD, DM_GEN_OP_SUB, DM_GEN_OP_MUL};
    if (way == 2 && (dm_gen_shape(v->type) != DM_GEN_SCALAR || n->stuck))
        way = 0;
    int after = dm_gen_binary(g, ops[way], v->type, dm_gen_name(g, v), node);
    bool fits = dm_gen_most(dm_gen_at(g, after)->span) < g->cap;
    if (fits) {
        line(g, v->name, signs[way], node);
        dm_gen_take(v, dm_gen_at(g, after));
        v->used = false;
    }
    dm_gen_next(g);
    return fits;
}

static bool component(dm_gen *g, int size)
{
    static const dm_gen_text places[] = {T("[0]"), T("[1]"), T("[2]"), T("[3]")};
    dm_gen_variable *v = changeable(g, true);
    if (v == NULL)
        return false;
    int node = dm_gen_value(g, dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(v->type)), size);
    const dm_gen_node *n = dm_gen_at(g, node);
    bool add = dm_gen_chance(g, 40);
    dm_gen_indent(g);
    dm_gen_put(g, v->name);
    dm_gen_put(g, &places[dm_gen_below(g, dm_gen_rows(v->type))]);
    dm_gen_put(g, add ? &plus : &becomes);
    dm_gen_write(g, node);
    dm_gen_puts(g, "\n");
    dm_gen_span sum = {v->span.low + n->span.low, v->span.high + n->span.high};
    v->span = hull(v->span, add ? sum : n->span);
    take_value(v, n);
    v->uneven = true;
    dm_gen_next(g);
    return true;
}

/* ---- Branches ---- */

/* What a variable has at the end of an arm. */
typedef struct outcome {
    dm_gen_span span;
    dm_gen_masks masks;
    bool stuck, uneven;
    float gain;
} outcome;

/* One arm: statements, then the variable's new value. */
static outcome arm(dm_gen *g, dm_gen_variable *v, int size)
{
    block b = open_block(g);
    bool add = dm_gen_chance(g, 40) && dm_gen_most(v->span) < g->cap / 4;
    v->hidden = true;
    fill_block(g, size);
    int node = last_value(g, v->type, size);
    if (add)
        node = dm_gen_fit(g, node, g->cap / 4);
    line(g, v->name, add ? &plus : &becomes, node);
    if (add)
        node = dm_gen_binary(g, DM_GEN_OP_ADD, v->type, dm_gen_name(g, v), node);
    const dm_gen_node *n = dm_gen_at(g, node);
    outcome o = {n->span, n->masks, n->stuck, n->uneven, n->gain};
    v->hidden = false;
    dm_gen_next(g);
    close_block(g, b);
    return o;
}

static bool head(dm_gen *g, const dm_gen_text *word, int size)
{
    bool certain;
    int node = dm_gen_condition(g, size, &certain);
    dm_gen_indent(g);
    dm_gen_put(g, word);
    dm_gen_write(g, node);
    dm_gen_puts(g, ":\n");
    dm_gen_next(g);
    return certain;
}

static void branch(dm_gen *g, int size)
{
    dm_gen_type type = dm_gen_some_type(g);
    const dm_gen_text *name = dm_gen_fresh(g, dm_gen_local_role(type));
    int first = dm_gen_value(g, type, size > 3 ? size / 2 : 2);
    if (dm_gen_at(g, first)->op == DM_GEN_OP_CONSTANT)
        first = dm_gen_leaf(g, type);
    dm_gen_variable *v = dm_gen_assign(g, name, first);
    int small = size / 2 > 2 ? size / 2 : 2, arms = dm_gen_chance(g, 25) ? 2 : 1, count = 0;
    outcome before = {v->span, v->masks, v->stuck, v->uneven, v->gain}, ends[4];
    bool certain = false;
    for (int i = 0; i < arms; i++) {
        v->hidden = true; /* in a condition, too: it would be another value in the elif */
        certain = head(g, i == 0 ? &word_if : &word_elif, small) && arms == 1;
        v->hidden = false;
        ends[count++] = arm(g, v, small);
    }
    if (dm_gen_chance(g, 50)) {
        dm_gen_indent(g);
        dm_gen_puts(g, "else:\n");
        ends[count++] = arm(g, v, small);
    } else {
        ends[count++] = before;
    }
    outcome all = ends[0];
    for (int i = 1; i < count; i++) {
        all.span = hull(all.span, ends[i].span);
        all.masks = certain ? joined(all.masks, ends[i].masks) : common(all.masks, ends[i].masks);
        all.stuck |= ends[i].stuck;
        all.uneven |= ends[i].uneven;
        all.gain = fminf(all.gain, ends[i].gain);
    }
    v->span = all.span;
    v->masks = all.masks;
    v->stuck = all.stuck;
    v->uneven = all.uneven;
    v->gain = all.gain;
    v->used = v->unit = false;
}

/* ---- Loops ---- */

static const dm_gen_text *counter_name(dm_gen *g)
{
    static const dm_gen_text names[] = {T("k"), T("m"), T("p"), T("q"),
                                        T("s"), T("t"), T("u"), T("w")};
    return &names[g->frame->loop_depth < 7 ? g->frame->loop_depth : 7];
}

/* `range(...)`: the counter's range, and how often at most. */
static dm_gen_span range(dm_gen *g, int *rounds, bool *index)
{
    int param = -1, seen = 0;
    for (int i = 0; g->frame->kernel && i < g->param_count; i++)
        if (g->params[i].dimensions > 0 && dm_gen_below(g, ++seen) == 0)
            param = i;
    if (param >= 0 && dm_gen_chance(g, 55)) {
        int dimension = g->params[param].dimensions - 1;
        int extent = dm_gen_extent(g, param, dimension);
        *rounds = DM_GEN_SIZE_MOST;
        *index = true;
        if (dm_gen_chance(g, 15))
            dm_gen_puts(g, "1, ");
        dm_gen_write(g, extent);
        return (dm_gen_span){0, DM_GEN_SIZE_MOST - 1};
    }
    int count = dm_gen_between(g, 2, 8), from = dm_gen_chance(g, 20) ? 1 : 0;
    if (from > 0)
        dm_gen_puts(g, "1, ");
    dm_gen_write(g, dm_gen_constant(g, DM_GEN_I32, (float)(from + count)));
    *rounds = count;
    *index = from + count <= DM_SYNTH_SIZE_LEAST;
    return (dm_gen_span){(float)from, (float)(from + count - 1)};
}

/* How a loop carries a value on. */
enum { CARRY_SUM, CARRY_DECAY, CARRY_BEST, CARRY_PRODUCT, CARRY_KINDS };

static int start_value(dm_gen *g, dm_gen_type type, int carry)
{
    int kind = dm_gen_kind(type);
    if (carry == CARRY_BEST)
        return dm_gen_cast(g, kind, dm_gen_constant(g, DM_GEN_F32, -g->cap));
    if (carry == CARRY_PRODUCT)
        return dm_gen_cast(g, kind, dm_gen_constant(g, DM_GEN_F32, 1));
    if (dm_gen_shape(type) == DM_GEN_SCALAR)
        return dm_gen_cast(g, kind, dm_gen_constant(g, is_real(type) ? DM_GEN_F32 : DM_GEN_I32, 0));
    int kids[16], rows = dm_gen_rows(type);
    if (dm_gen_is_mat(type)) {
        int by = dm_gen_constant(g, kind, 0);
        return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type), by);
    }
    for (int i = 0; i < rows; i++)
        kids[i] = dm_gen_constant(g, kind, 0);
    return dm_gen_make(g, type, kids, rows);
}

/* A value that may be carried `rounds` times; what the variable has in the end goes to *v. */
static void carry_on(dm_gen *g, dm_gen_variable *v, int carry, int rounds, int size, bool sure)
{
    v->hidden = true;
    int node = last_value(g, v->type, size);
    if (dm_gen_at(g, node)->op == DM_GEN_OP_CONSTANT)
        node = dm_gen_leaf(g, v->type);
    v->hidden = false;
    if (!is_real(v->type)) {
        node = dm_gen_binary(g, DM_GEN_OP_MOD, v->type, node,
                             dm_gen_constant(g, dm_gen_kind(v->type), 101));
        carry = CARRY_SUM;
    }
    float n = (float)rounds;
    int self;
    switch (carry) {
    case CARRY_DECAY:
        node = dm_gen_fit(g, node, g->cap / 8);
        self = dm_gen_binary(
            g, DM_GEN_OP_MUL, v->type, dm_gen_name(g, v),
            dm_gen_constant(g, dm_gen_kind(v->type), (float)dm_gen_between(g, 2, 7) / 10));
        line(g, v->name, &becomes, dm_gen_binary(g, DM_GEN_OP_ADD, v->type, self, node));
        n = 4; /* a geometric series */
        break;
    case CARRY_BEST:
        node = dm_gen_fit(g, node, g->cap / 4);
        line(g, v->name, &becomes,
             dm_gen_binary(g, DM_GEN_OP_MAX, v->type, dm_gen_name(g, v), node));
        n = 1;
        break;
    case CARRY_PRODUCT: {
        int one = dm_gen_constant(g, dm_gen_kind(v->type), 1);
        node = dm_gen_fit(g, node, rounds > 8 ? 0.08f : 0.5f);
        line(g, v->name, &times, dm_gen_binary(g, DM_GEN_OP_ADD, v->type, one, node));
        break;
    }
    default:
        if (is_real(v->type))
            node = dm_gen_fit(g, node, g->cap / (n * 2));
        line(g, v->name, dm_gen_chance(g, 75) ? &plus : &minus, node);
    }
    const dm_gen_node *made = dm_gen_at(g, node);
    float most =
        carry == CARRY_PRODUCT ? powf(1 + dm_gen_most(made->span), n) : n * dm_gen_most(made->span);
    if (carry == CARRY_BEST)
        v->span = made->span;
    else
        v->span = hull(v->span, (dm_gen_span){carry == CARRY_PRODUCT ? 0 : -most, most});
    dm_gen_masks start = v->masks;
    take_value(v, made);
    if (!sure) { /* perhaps no round came this far */
        v->masks = start;
        v->stuck = true;
        v->span.low = carry == CARRY_BEST ? -g->cap : v->span.low;
    }
    if (carry == CARRY_BEST && g->has_parity)
        v->masks = start; /* the best round may be one that does other things */
    dm_gen_next(g);
}

/* `continue` and `break`. Whether the loop's work is surely done for some round. */
static bool leave_early(dm_gen *g, const dm_gen_text *word, int size)
{
    bool certain = head(g, &word_if, size);
    g->frame->block_depth++;
    dm_gen_indent(g);
    dm_gen_put(g, word);
    g->frame->block_depth--;
    return certain;
}

static void loop(dm_gen *g, int size)
{
    dm_gen_type type = dm_gen_some_type(g);
    static const uint8_t ways[CARRY_KINDS] = {60, 20, 12, 8};
    int carry = dm_gen_pick(g, ways, CARRY_KINDS);
    bool exits = g->category == DM_SYNTH_CONTROL_FLOW, sure = true, index;
    if (dm_gen_shape(type) != DM_GEN_SCALAR && carry > CARRY_DECAY)
        carry = CARRY_SUM;
    if (!is_real(type))
        carry = CARRY_SUM;
    const dm_gen_text *name = dm_gen_fresh(g, DM_GEN_ROLE_TOTAL), *counter = counter_name(g);
    dm_gen_variable *v = dm_gen_assign(g, name, start_value(g, type, carry));
    int rounds;
    v->hidden = true;
    v->stuck = v->uneven = false;
    begin(g, &word_for, counter);
    dm_gen_puts(g, " in range(");
    dm_gen_span counts = range(g, &rounds, &index);
    dm_gen_puts(g, "):\n");
    dm_gen_next(g);
    block b = open_block(g);
    g->frame->loop_depth++;
    dm_gen_variable *k = dm_gen_new_variable(g, counter, int32, counts, DM_GEN_NOTHING);
    k->fixed = k->used = true;
    k->index = index;
    g->frame->block_first = g->frame->count;
    if (exits && dm_gen_chance(g, 35))
        sure = leave_early(g, &word_continue, 2);
    fill_block(g, size);
    carry_on(g, v, carry, rounds, size, sure);
    if (exits && dm_gen_chance(g, 35)) {
        v->hidden = false;
        leave_early(g, &word_break, 2);
    }
    g->frame->loop_depth--;
    close_block(g, b);
    v->hidden = false;
    v->used = false;
}

/* A value that is made smaller until it is small enough, or for some rounds. */
static void while_loop(dm_gen *g, int size)
{
    dm_gen_type type = dm_gen_type_of(DM_GEN_SCALAR, g->scalar);
    const dm_gen_text *name = dm_gen_fresh(g, DM_GEN_ROLE_LOCAL);
    const dm_gen_text *steps = dm_gen_fresh(g, DM_GEN_ROLE_LOCAL_INTEGER);
    int first = dm_gen_value(g, type, size);
    if (dm_gen_at(g, first)->op == DM_GEN_OP_CONSTANT)
        first = dm_gen_leaf(g, type);
    dm_gen_variable *v = dm_gen_assign(g, name, dm_gen_fit(g, first, 20));
    dm_gen_variable *n =
        dm_gen_assign(g, steps, dm_gen_cast(g, DM_GEN_I32, dm_gen_constant(g, DM_GEN_I32, 0)));
    n->used = n->hidden = true;
    float middle = (v->span.low + v->span.high) / 2;
    int limit = dm_gen_constant(g, g->scalar, (float)(int)(middle * 10) / 10);
    dm_gen_type flag = dm_gen_type_of(DM_GEN_SCALAR, DM_GEN_BOOLEAN);
    int above = dm_gen_binary(g, DM_GEN_OP_GREATER, flag, dm_gen_name(g, v), limit);
    int left = dm_gen_binary(g, DM_GEN_OP_LESS, flag, dm_gen_name(g, n),
                             dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_between(g, 3, 9)));
    dm_gen_indent(g);
    dm_gen_puts(g, "while ");
    dm_gen_write(g, dm_gen_binary(g, DM_GEN_OP_AND, flag, above, left));
    dm_gen_puts(g, ":\n");
    dm_gen_next(g);
    block b = open_block(g);
    g->frame->loop_depth++;
    dm_gen_masks start = v->masks;
    int by = dm_gen_constant(g, g->scalar, (float)dm_gen_between(g, 2, 8) / 10);
    v->hidden = true;
    if (dm_gen_chance(g, 60)) {
        fill_block(g, size);
        by = dm_gen_constant(g, g->scalar, (float)dm_gen_between(g, 2, 8) / 10);
        int add = dm_gen_fit(g, last_value(g, type, size / 2), 1);
        v->hidden = false;
        int less = dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_name(g, v), by);
        line(g, v->name, &becomes, dm_gen_binary(g, DM_GEN_OP_ADD, type, less, add));
    } else {
        line(g, v->name, &times, by);
    }
    v->hidden = false;
    dm_gen_indent(g);
    dm_gen_put(g, steps);
    dm_gen_puts(g, " += 1\n");
    dm_gen_next(g);
    g->frame->loop_depth--;
    close_block(g, b);
    v->span = (dm_gen_span){fminf(v->span.low, 0) - 5, v->span.high + 5};
    v->masks = start;
    v->used = v->stuck = false;
    n->hidden = false;
    n->stuck = true; /* perhaps no round was made at all */
    n->span = (dm_gen_span){0, 9};
}

/* ---- Random numbers ---- */

bool dm_gen_draw(dm_gen *g)
{
    static const struct {
        dm_gen_text text;
        uint8_t shape;
        float low, high;
    } draws[] = {
        {T("wp.randf("), DM_GEN_SCALAR, 0, 1},
        {T("wp.randf("), DM_GEN_SCALAR, 0, 1},
        {T("wp.randn("), DM_GEN_SCALAR, -6, 6},
        {T("wp.sample_unit_disk("), DM_GEN_VEC2, -1, 1},
        {T("wp.sample_unit_square("), DM_GEN_VEC2, -1, 1},
        {T("wp.sample_unit_sphere("), DM_GEN_VEC3, -1, 1},
        {T("wp.sample_unit_cube("), DM_GEN_VEC3, -1, 1},
        {T("wp.sample_unit_sphere_surface("), DM_GEN_VEC3, -1, 1},
    };
    dm_gen_variable *state = NULL;
    for (int i = 0; i < g->frame->fixed_count; i++)
        if (g->frame->variables[i].state)
            state = &g->frame->variables[i];
    if (state == NULL)
        return false;
    int which = dm_gen_below(g, 8);
    dm_gen_type type = dm_gen_type_of(draws[which].shape, DM_GEN_F32);
    const dm_gen_text *name = dm_gen_fresh(g, dm_gen_local_role(type));
    dm_gen_span span = {draws[which].low, draws[which].high};
    begin(g, name, &becomes);
    dm_gen_put(g, &draws[which].text);
    dm_gen_put(g, state->name);
    if (which == 1) {
        int low = dm_gen_constant(g, DM_GEN_F32, (float)-dm_gen_between(g, 1, 20) / 10);
        int high = dm_gen_constant(g, DM_GEN_F32, (float)dm_gen_between(g, 1, 20) / 10);
        span = (dm_gen_span){-2, 2};
        dm_gen_puts(g, ", ");
        dm_gen_write(g, low);
        dm_gen_puts(g, ", ");
        dm_gen_write(g, high);
    }
    dm_gen_puts(g, ")\n");
    dm_gen_next(g);
    dm_gen_new_variable(g, name, type, span, (dm_gen_masks){.depends = state->masks.depends})
        ->unit = which == 7;
    return true;
}

/* ---- Any ---- */

enum {
    STATEMENT_ASSIGN,
    STATEMENT_LOOP,
    STATEMENT_WHILE,
    STATEMENT_BRANCH,
    STATEMENT_AUGMENT,
    STATEMENT_COMPONENT,
    STATEMENT_DRAW,
    STATEMENT_KINDS
};

void dm_gen_statement(dm_gen *g, int size)
{
    const dm_gen_recipe *r = g->recipe;
    bool deep = g->frame->block_depth >= 3, nested = deep || g->frame->loop_depth >= 2;
    bool real = dm_gen_kind_is_float(g->scalar);
    bool three = g->structured || has_room(g, 3), five = g->structured || has_room(g, 5);
    uint8_t weights[STATEMENT_KINDS] = {r->assign,
                                        three && !nested ? r->loop : 0,
                                        five && !nested && real ? r->while_ : 0,
                                        three && !deep ? r->branch : 0,
                                        r->augment,
                                        r->component,
                                        g->frame->kernel ? r->draw : 0};
    if (is_full(g))
        return;
    if (g->structured)
        weights[STATEMENT_ASSIGN] = weights[STATEMENT_AUGMENT] = weights[STATEMENT_COMPONENT] = 0;
    if (g->structured && g->category == DM_SYNTH_REDUCTION)
        weights[STATEMENT_BRANCH] = 0;
    g->structured = false;
    switch (dm_gen_pick(g, weights, STATEMENT_KINDS)) {
    case STATEMENT_LOOP:
        loop(g, size);
        return;
    case STATEMENT_WHILE:
        while_loop(g, size);
        return;
    case STATEMENT_BRANCH:
        branch(g, size);
        return;
    case STATEMENT_AUGMENT:
        if (augment(g, size))
            return;
        break;
    case STATEMENT_COMPONENT:
        if (component(g, size > 2 ? size / 2 : 1))
            return;
        break;
    case STATEMENT_DRAW:
        if (dm_gen_draw(g))
            return;
        break;
    default:
        break;
    }
    assign(g, size);
}
