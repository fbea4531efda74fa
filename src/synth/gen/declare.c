/* SPDX-License-Identifier: MIT */
/* declare.c - what stands before a kernel: functions and a struct. */
#include "synth/gen/gen.h"

/* The range of a function's parameter, for all callers. */
static const dm_gen_span argument_span = {-DM_GEN_ARGUMENT, DM_GEN_ARGUMENT};

static const dm_gen_text *type_text(const dm_gen *g, dm_gen_type type)
{
    return dm_gen_shape(type) == DM_GEN_STRUCT ? g->structure.name : dm_gen_type_text(type);
}

/* ---- Functions ---- */

/* A struct's fields as variables "name.field". */
static void add_fields(dm_gen *g, dm_gen_frame *frame, const dm_gen_text *name, dm_gen_span span,
                       dm_gen_masks masks)
{
    for (int i = 0; i < g->structure.count; i++) {
        const dm_gen_text *path = dm_gen_join(g, name, '.', g->structure.fields[i]);
        dm_gen_masks m = masks;
        if (!dm_gen_kind_is_float(dm_gen_kind(g->structure.types[i])))
            m.live = 0;
        dm_gen_new_fixed(frame, path, g->structure.types[i], span, m);
    }
}

static void write_head(dm_gen *g, const dm_gen_function *f, const dm_gen_text *const *names)
{
    dm_gen_puts(g, "\n\n@wp.func\ndef ");
    dm_gen_put(g, f->name);
    dm_gen_puts(g, "(");
    for (int i = 0; i < f->param_count; i++) {
        if (i > 0)
            dm_gen_puts(g, ", ");
        dm_gen_put(g, names[i]);
        dm_gen_puts(g, ": ");
        dm_gen_put(g, type_text(g, f->params[i]));
    }
    dm_gen_puts(g, ")");
    if (dm_gen_chance(g, 25)) {
        dm_gen_puts(g, " -> ");
        dm_gen_put(g, type_text(g, f->result));
    }
    dm_gen_puts(g, ":\n");
}

/* `return value`; what it gives goes to the function's range and masks. */
static void write_return(dm_gen *g, dm_gen_function *f, int node, bool first)
{
    const dm_gen_node *n = dm_gen_at(g, node);
    dm_gen_indent(g);
    dm_gen_puts(g, "return ");
    dm_gen_write(g, node);
    dm_gen_puts(g, "\n");
    f->gain = first || n->gain < f->gain ? n->gain : f->gain;
    f->depends = first ? n->masks.depends : f->depends & n->masks.depends;
    f->live = first ? n->masks.live : f->live & n->masks.live;
    if (first || n->span.low < f->span.low)
        f->span.low = n->span.low;
    if (first || n->span.high > f->span.high)
        f->span.high = n->span.high;
    dm_gen_next(g);
}

void dm_gen_declare_function(dm_gen *g)
{
    dm_gen_frame *frame = &g->function;
    dm_gen_begin(frame, false);
    dm_gen_function f = {.name = dm_gen_fresh(g, DM_GEN_ROLE_FUNCTION)};
    f.result = dm_gen_some_type(g);
    const dm_gen_text *names[4];
    bool instance = g->structure.name != NULL && dm_gen_chance(g, 60);
    f.param_count = dm_gen_between(g, 1, 3);
    for (int i = 0; i < f.param_count; i++) {
        bool is_struct = i == 0 && instance;
        f.params[i] = is_struct ? dm_gen_type_of(DM_GEN_STRUCT, g->scalar)
                      : i == 0  ? f.result
                                : dm_gen_some_type(g);
        names[i] = dm_gen_fresh(g, DM_GEN_ROLE_ARGUMENT);
        dm_gen_masks masks = {1u << i, 1u << i, 1u << i, 0};
        dm_gen_new_fixed(frame, names[i], f.params[i], argument_span, masks);
        if (is_struct)
            add_fields(g, frame, names[i], argument_span, masks);
        frame->inputs |= 1u << i;
    }
    g->frame = frame;
    g->out = &g->head;
    write_head(g, &f, names);
    bool early = dm_gen_chance(g, 20);
    for (int n = dm_gen_below(g, 3); n > 0; n--)
        dm_gen_statement(g, dm_gen_some_size(g));
    if (early) { /* what the rest uses is complete by itself */
        bool certain;
        int condition = dm_gen_condition(g, 2, &certain);
        dm_gen_indent(g);
        dm_gen_puts(g, "if ");
        dm_gen_write(g, condition);
        dm_gen_puts(g, ":\n");
        dm_gen_next(g);
        frame->block_depth++;
        write_return(g, &f, dm_gen_fit(g, dm_gen_complete(g, dm_gen_value(g, f.result, 3)), 50),
                     true);
        frame->block_depth--;
    }
    int node = dm_gen_value(g, f.result, dm_gen_some_size(g) + 1);
    node = dm_gen_complete(g, dm_gen_use_all(g, node, DM_GEN_FIXED_MAX));
    write_return(g, &f, dm_gen_fit(g, node, 50), !early);
    g->functions[g->function_count++] = f;
    g->frame = &g->kernel;
    g->out = &g->body;
}

/* ---- Structs ---- */

void dm_gen_declare_struct(dm_gen *g)
{
    dm_gen_struct *s = &g->structure;
    s->name = dm_gen_fresh(g, DM_GEN_ROLE_STRUCT);
    s->count = dm_gen_between(g, 2, 4);
    g->out = &g->head;
    dm_gen_puts(g, "\n\n@wp.struct\nclass ");
    dm_gen_put(g, s->name);
    dm_gen_puts(g, ":\n");
    for (int i = 0; i < s->count; i++) {
        s->fields[i] = dm_gen_fresh(g, DM_GEN_ROLE_FIELD);
        s->types[i] = dm_gen_some_type(g);
        dm_gen_puts(g, "    ");
        dm_gen_put(g, s->fields[i]);
        dm_gen_puts(g, ": ");
        dm_gen_put(g, dm_gen_type_text(s->types[i]));
        dm_gen_puts(g, "\n");
    }
    g->out = &g->body;
}

static dm_gen_span input_span(const dm_gen *g)
{
    dm_gen_span floats = {(float)DM_SYNTH_INPUT_LOW, (float)DM_SYNTH_INPUT_HIGH};
    return dm_gen_kind_is_float(g->scalar) ? floats : (dm_gen_span){0, DM_GEN_SIZE_MOST};
}

/* A local instance, each field set; returns its name. With `complete` the last field depends on
 * all inputs. */
static const dm_gen_text *make_instance(dm_gen *g, bool complete, dm_gen_masks *masks)
{
    const dm_gen_struct *s = &g->structure;
    const dm_gen_text *name = dm_gen_fresh(g, DM_GEN_ROLE_LOCAL);
    int first = g->frame->block_first;
    dm_gen_indent(g);
    dm_gen_put(g, name);
    dm_gen_puts(g, " = ");
    dm_gen_put(g, s->name);
    dm_gen_puts(g, "()\n");
    dm_gen_node made[DM_GEN_FIELDS_MAX] = {{0}};
    *masks = DM_GEN_NOTHING;
    for (int i = 0; i < s->count; i++) {
        int node = dm_gen_value(g, s->types[i], dm_gen_between(g, 2, 4));
        if (complete && i == s->count - 1)
            node = dm_gen_complete(g, dm_gen_use_all(g, node, first));
        if (!complete) /* functions may take it */
            node = dm_gen_fit(g, node, DM_GEN_ARGUMENT);
        made[i] = *dm_gen_at(g, node);
        masks->depends |= made[i].masks.depends;
        masks->live |= made[i].masks.live;
        dm_gen_indent(g);
        dm_gen_put(g, name);
        dm_gen_puts(g, ".");
        dm_gen_put(g, s->fields[i]);
        dm_gen_puts(g, " = ");
        dm_gen_write(g, node);
        dm_gen_puts(g, "\n");
        dm_gen_next(g);
    }
    dm_gen_type type = dm_gen_type_of(DM_GEN_STRUCT, g->scalar);
    dm_gen_new_variable(g, name, type, argument_span, *masks)->fixed = true;
    for (int i = 0; i < s->count && !complete; i++) {
        const dm_gen_text *path = dm_gen_join(g, name, '.', s->fields[i]);
        dm_gen_variable *v = dm_gen_new_variable(g, path, s->types[i], made[i].span, made[i].masks);
        dm_gen_take(v, &made[i]);
        v->fixed = true;
    }
    return name;
}

void dm_gen_use_struct(dm_gen *g)
{
    dm_gen_frame *frame = &g->kernel;
    dm_gen_type type = dm_gen_type_of(DM_GEN_STRUCT, g->scalar);
    bool real = dm_gen_kind_is_float(g->scalar);
    dm_gen_masks masks;
    int way = dm_gen_below(g, 4);
    if (way == 0) {
        make_instance(g, false, &masks);
        return;
    }
    bool array = way > 1;
    int param = dm_gen_new_array(g, type, array ? frame->rank : 0, false);
    if (!array)
        g->array_count--;
    const dm_gen_text *name = g->params[param].name;
    masks = (dm_gen_masks){1u << param, array && real ? 1u << param : 0, 1u << param, 0};
    if (array) {
        const dm_gen_text *local = dm_gen_fresh(g, DM_GEN_ROLE_LOCAL);
        dm_gen_indent(g);
        dm_gen_put(g, local);
        dm_gen_puts(g, " = ");
        dm_gen_write_slot(g, param);
        dm_gen_puts(g, "\n");
        name = local;
    }
    dm_gen_new_fixed(frame, name, type, input_span(g), masks);
    add_fields(g, frame, name, input_span(g), masks);
}

void dm_gen_store_struct(dm_gen *g)
{
    dm_gen_masks masks;
    const dm_gen_text *name = make_instance(g, true, &masks);
    int param = dm_gen_new_array(g, dm_gen_type_of(DM_GEN_STRUCT, g->scalar), g->kernel.rank, true);
    dm_gen_indent(g);
    dm_gen_write_slot(g, param);
    dm_gen_puts(g, " = ");
    dm_gen_put(g, name);
    dm_gen_puts(g, "\n");
}
