/* SPDX-License-Identifier: MIT */
/* node.c - making the nodes of expressions. */
#include "synth/gen/node.h"

#include <assert.h>

void dm_gen_next(dm_gen *g)
{
    g->node_count = 0;
    g->more_count = 0;
}

static dm_gen_node *new_node(dm_gen *g, dm_gen_op op, dm_gen_type type, int *at)
{
    assert(g->node_count < DM_GEN_NODES_MAX && "statements are small");
    *at = g->node_count++;
    dm_gen_node *n = &g->nodes[*at];
    *n = (dm_gen_node){.op = (uint8_t)op, .type = type, .more = -1, .gain = 1};
    return n;
}

static int finish(dm_gen *g, int at, const int *kids, int count)
{
    dm_gen_node *n = &g->nodes[at];
    n->count = (uint8_t)count;
    n->constant = true;
    for (int i = 0; i < count; i++) {
        n->kids[i] = (int16_t)kids[i];
        n->constant &= g->nodes[kids[i]].constant;
    }
    dm_gen_facts(g, n);
    n->span = dm_gen_range(n, &g->nodes[n->kids[0]], &g->nodes[n->kids[count > 1]],
                           &g->nodes[n->kids[count > 2 ? 2 : 0]]);
    return at;
}

int dm_gen_unary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, &a, 1);
}

int dm_gen_binary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, (int[]){a, b}, 2);
}

int dm_gen_ternary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b, int c)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, (int[]){a, b, c}, 3);
}

int dm_gen_constant(dm_gen *g, int kind, float value)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_CONSTANT, dm_gen_type_of(DM_GEN_SCALAR, kind), &at);
    if (dm_gen_kind_is_float(kind)) {
        n->number = (int)lrintf(value * 1000);
        value = (float)n->number / 1000;
    } else {
        n->number = (int)value;
    }
    n->constant = true;
    n->span = dm_gen_span_of(value, value);
    return at;
}

int dm_gen_name(dm_gen *g, dm_gen_variable *variable)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_NAME, variable->type, &at);
    variable->used = true;
    n->name = variable->name;
    n->span = variable->span;
    n->masks = variable->masks;
    n->stuck = variable->stuck;
    n->uneven = variable->uneven;
    n->unit = variable->unit;
    n->gain = variable->gain;
    n->masks.plus |=
        1u << (DM_GEN_TERMS_SHIFT + (variable - g->frame->variables) % DM_GEN_TERMS_SHIFT);
    return at;
}

int dm_gen_make(dm_gen *g, dm_gen_type type, const int *kids, int count)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_MAKE, type, &at);
    n->count = (uint8_t)count;
    n->span = g->nodes[kids[0]].span;
    n->more = (int16_t)g->more_count;
    n->constant = true;
    for (int i = 0; i < count; i++) {
        const dm_gen_node *kid = &g->nodes[kids[i]];
        g->more[g->more_count++] = (int16_t)kids[i];
        n->span = dm_gen_hull(n->span, kid->span);
        n->constant &= kid->constant;
        dm_gen_masks first = g->nodes[kids[0]].masks;
        n->uneven |= kid->masks.live != first.live || kid->masks.depends != first.depends;
        n->masks.depends |= kid->masks.depends;
        n->masks.live |= kid->masks.live;
        n->gain = kid->gain < n->gain ? kid->gain : n->gain;
    }
    return at;
}

int dm_gen_load(dm_gen *g, int param, const int *indices)
{
    int at;
    const dm_gen_param *p = &g->params[param];
    dm_gen_node *n = new_node(g, DM_GEN_OP_LOAD, p->type, &at);
    bool real = dm_gen_kind_is_float(dm_gen_kind(p->type));
    n->name = p->name;
    n->count = (uint8_t)p->dimensions;
    n->masks = (dm_gen_masks){1u << param, real ? 1u << param : 0, 1u << param, 0};
    n->span = real ? dm_gen_span_of((float)DM_SYNTH_INPUT_LOW, (float)DM_SYNTH_INPUT_HIGH)
                   : dm_gen_span_of(0, DM_GEN_SIZE_MOST - 1);
    for (int i = 0; i < p->dimensions; i++) {
        n->kids[i] = (int16_t)indices[i];
        n->masks.depends |= g->nodes[indices[i]].masks.depends;
    }
    return at;
}

int dm_gen_extent(dm_gen *g, int param, int dimension)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_EXTENT, dm_gen_type_of(DM_GEN_SCALAR, DM_GEN_I32), &at);
    n->name = g->params[param].name;
    n->style = (uint8_t)dimension;
    n->span = dm_gen_span_of(DM_SYNTH_SIZE_LEAST, DM_GEN_SIZE_MOST);
    return at;
}

int dm_gen_component(dm_gen *g, int node, int which)
{
    dm_gen_type type = dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(g->nodes[node].type));
    int at = dm_gen_unary(g, DM_GEN_OP_COMPONENT, type, node);
    g->nodes[at].style = (uint8_t)which;
    g->nodes[at].number = dm_gen_chance(g, 25); /* v.x, else v[0] */
    return at;
}

int dm_gen_cast(dm_gen *g, int kind, int node)
{
    int at = dm_gen_unary(g, DM_GEN_OP_CAST, dm_gen_type_of(DM_GEN_SCALAR, kind), node);
    dm_gen_node *n = &g->nodes[at];
    if (!dm_gen_kind_is_float(kind) && dm_gen_kind_is_float(dm_gen_kind(g->nodes[node].type)))
        n->masks = DM_GEN_NOTHING; /* may round to the same for all */
    return at;
}

int dm_gen_identity(dm_gen *g, dm_gen_type type)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_IDENTITY, type, &at);
    n->span = dm_gen_span_of(0, 1);
    n->uneven = n->constant = true;
    return at;
}

int dm_gen_user(dm_gen *g, const dm_gen_function *function, const int *args)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_USER, function->result, &at);
    n->name = function->name;
    n->count = (uint8_t)function->param_count;
    n->span = function->span;
    for (int i = 0; i < function->param_count; i++) {
        dm_gen_masks m = g->nodes[args[i]].masks;
        n->kids[i] = (int16_t)args[i];
        n->masks.depends |= (function->depends >> i & 1) != 0 ? m.depends : 0;
        n->masks.live |= (function->live >> i & 1) != 0 ? m.live : 0;
        n->masks.plus |= m.plus | m.minus; /* nothing is known of the signs */
        if ((m.depends | m.live) != 0 && g->nodes[args[i]].gain < n->gain)
            n->gain = g->nodes[args[i]].gain;
    }
    n->masks.minus = n->masks.plus;
    n->gain *= function->gain;
    n->uneven = true; /* nothing is known of the components */
    if (n->gain < DM_GEN_GAIN_LEAST) {
        n->masks = DM_GEN_NOTHING;
        n->gain = 1;
    }
    return at;
}
