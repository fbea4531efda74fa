/* SPDX-License-Identifier: MIT */
/* generate.c - one kernel: what it is made of, its body, its text. */
#include "synth/gen/generate.h"

#include "synth/gen/gen.h"

#include <stdlib.h>
#include <string.h>

#define T DM_GEN_TEXT

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

dm_status dm_synth_generator_create(const dm_synth_profile *profile, dm_synth_generator **out,
                                    dm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    (*out)->profile = profile;
    dm_gen_prepare(*out);
    dm_status status = DM_OK;
    if (profile->style == DM_SYNTH_STYLE_NATURAL)
        status = dm_natural_create(&(*out)->natural, err);
    if ((*out)->natural != NULL) {
        dm_natural_set_slower((*out)->natural, profile->slower);
        dm_natural_set_programs((*out)->natural, profile->programs);
    }
    if (status != DM_OK) {
        dm_synth_generator_destroy(*out);
        *out = NULL;
    }
    return status;
}

void dm_synth_generator_destroy(dm_synth_generator *generator)
{
    if (generator == NULL)
        return;
    dm_natural_destroy(generator->natural);
    dm_buffer_deinit(&generator->head);
    dm_buffer_deinit(&generator->body);
    free(generator);
}

/* ---- Choices ---- */

static void choose_scalar(dm_gen *g)
{
    static const uint8_t integers[] = {
        [DM_GEN_I32] = 12, [DM_GEN_I64] = 2, [DM_GEN_U32] = 3, [DM_GEN_U64] = 1};
    if (dm_gen_chance(g, g->recipe->integers))
        g->scalar = dm_gen_pick(g, integers, (int)sizeof integers);
    else if (g->category == DM_SYNTH_RANDOM) /* random numbers are float32 */
        g->scalar = DM_GEN_F32;
    else
        g->scalar = dm_gen_draw_from(g, &g->scalars);
    g->cap = g->scalar == DM_GEN_F16 ? 60 : 1000;
}

/* As many inputs as kernels of the profile have parameters, at most: arrays, and numbers in the
 * share that the category has them. Outputs come besides. */
static void choose_inputs(dm_gen *g)
{
    int arrays = g->recipe->arrays, both = arrays + g->recipe->scalars;
    int count = 1 + dm_gen_draw_from(g, &g->parameters);
    int share = (count * arrays + dm_gen_below(g, both)) / both;
    g->array_limit = share > 1 ? share : 1;
    g->scalar_limit = count - g->array_limit;
}

static void reset(dm_gen *g)
{
    dm_gen_begin(&g->kernel, true);
    g->frame = &g->kernel;
    g->out = &g->body;
    g->param_count = g->array_count = g->scalar_count = g->function_count = g->output_count = 0;
    g->structure = (dm_gen_struct){0};
    g->call_depth = 0;
    g->has_parity = g->guarded = g->has_neighbour = false;
    g->budget = 0;
    g->structured = false;
    g->pool_used = 0;
    memset(g->uses, 0, sizeof g->uses);
    dm_gen_next(g);
    dm_buffer_clear(&g->head);
    dm_buffer_clear(&g->body);
}

/* ---- The beginning of the body ---- */

static void coordinates(dm_gen *g)
{
    static const dm_gen_text sets[][4] = {{T("i"), T("j"), T("k0"), T("l0")},
                                          {T("i"), T("j"), T("h"), T("l")},
                                          {T("row"), T("col"), T("depth"), T("layer")},
                                          {T("x"), T("y"), T("z"), T("c")}};
    static const dm_gen_text singles[] = {T("i"), T("i"), T("tid"), T("idx"), T("thread")};
    int rank = 1 + dm_gen_pick(g, g->recipe->rank, 4), set = dm_gen_below(g, 4);
    g->kernel.rank = rank;
    g->first_coordinate = g->kernel.fixed_count;
    for (int d = 0; d < 4; d++)
        g->coordinates[d] = rank == 1 && d == 0 ? &singles[dm_gen_below(g, 5)] : &sets[set][d];
    dm_gen_indent(g);
    for (int d = 0; d < rank; d++) {
        if (d > 0)
            dm_gen_puts(g, ", ");
        dm_gen_put(g, g->coordinates[d]);
        dm_gen_variable *v =
            dm_gen_new_fixed(&g->kernel, g->coordinates[d], int32,
                             (dm_gen_span){0, DM_GEN_SIZE_MOST - 1}, DM_GEN_NOTHING);
        v->index = v->used = true;
    }
    dm_gen_puts(g, " = wp.tid()\n");
}

/* `if i >= n: return`: what it stores surely depends on n. */
static void guard(dm_gen *g)
{
    dm_gen_variable *n = dm_gen_new_scalar(g, int32);
    if (n == NULL)
        return;
    g->kernel.inputs &= ~n->masks.depends;
    n->masks.depends = 0;
    n->used = g->guarded = true;
    for (int i = 0; i < g->kernel.fixed_count; i++) /* thread 0 may be the only one */
        g->kernel.variables[i].stuck |= g->kernel.variables[i].index;
    dm_gen_indent(g);
    dm_gen_puts(g, "if ");
    dm_gen_put(g, g->coordinates[0]);
    dm_gen_puts(g, " >= ");
    dm_gen_put(g, n->name);
    dm_gen_puts(g, ":\n        return\n");
    g->budget--;
}

static void random_state(dm_gen *g)
{
    dm_gen_variable *seed = dm_gen_new_scalar(g, int32);
    if (seed == NULL)
        return;
    static const dm_gen_text names[] = {T("state"), T("rng"), T("rand_state")};
    const dm_gen_text *name = &names[dm_gen_below(g, 3)];
    g->scalar_count--;
    seed->used = true;
    dm_gen_indent(g);
    dm_gen_put(g, name);
    dm_gen_puts(g, " = wp.rand_init(");
    dm_gen_put(g, seed->name);
    dm_gen_puts(g, dm_gen_chance(g, 15) ? " + " : ", ");
    dm_gen_put(g, g->coordinates[0]);
    for (int d = 1; d < g->kernel.rank; d++) {
        dm_gen_puts(g, d == 1 ? " * 64 + " : " + 4096 * ");
        dm_gen_put(g, g->coordinates[d]);
    }
    dm_gen_puts(g, ")\n");
    dm_gen_variable *state =
        dm_gen_new_fixed(&g->kernel, name, dm_gen_type_of(DM_GEN_SCALAR, DM_GEN_U32),
                         (dm_gen_span){0, 1}, (dm_gen_masks){.depends = seed->masks.depends});
    state->state = state->used = true;
    seed->hidden = true;
    dm_gen_draw(g);
}

/* Numbers with a name, before everything. */
static void constants(dm_gen *g)
{
    int kind = g->scalar;
    const dm_gen_text *name = dm_gen_fresh(g, DM_GEN_ROLE_CONSTANT);
    bool real = dm_gen_kind_is_float(kind);
    int value = dm_gen_constant(
        g, kind, real ? (float)dm_gen_between(g, 1, 300) / 100 : (float)dm_gen_between(g, 2, 9));
    dm_gen_span span = dm_gen_at(g, value)->span;
    g->out = &g->head;
    dm_gen_puts(g, "\n");
    dm_gen_put(g, name);
    dm_gen_puts(g, " = wp.constant(");
    dm_gen_write(g, value);
    dm_gen_puts(g, ")\n");
    g->out = &g->body;
    dm_gen_next(g);
    dm_gen_new_fixed(&g->kernel, name, dm_gen_type_of(DM_GEN_SCALAR, kind), span, DM_GEN_NOTHING);
}

/* ---- The text ---- */

static void write_annotation(dm_gen *g, const dm_gen_param *p, int style)
{
    static const dm_gen_text plain[] = {T("wp.array(dtype="), T("wp.array2d(dtype="),
                                        T("wp.array3d(dtype="), T("wp.array4d(dtype=")};
    static const dm_gen_text ends[] = {T(")"), T(", ndim=2)"), T(", ndim=3)"), T(", ndim=4)")};
    const dm_gen_text *element =
        dm_gen_shape(p->type) == DM_GEN_STRUCT ? g->structure.name : dm_gen_type_text(p->type);
    if (p->dimensions == 0) {
        dm_gen_put(g, element);
        return;
    }
    dm_gen_put(g, &plain[style == 0 ? p->dimensions - 1 : 0]);
    dm_gen_put(g, element);
    dm_gen_put(g, &ends[style == 0 ? 0 : p->dimensions - 1]);
}

static void write_kernel(dm_gen *g, const dm_gen_text *name)
{
    static const dm_gen_text before[] = {T(""), T(", "), T("\n    ")}; /* a parameter */
    dm_buffer *out = g->out;
    int style = dm_gen_chance(g, 25);
    dm_gen_puts(g, "\n\n@wp.kernel\ndef ");
    dm_gen_put(g, name);
    dm_gen_puts(g, "(");
    bool tall = g->param_count > 4;
    for (int k = 0, written = 0; k < 2 * g->param_count; k++) { /* inputs, then outputs */
        const dm_gen_param *p = &g->params[k % g->param_count];
        if (p->output != (k >= g->param_count))
            continue;
        dm_gen_put(g, &before[tall ? 2 : written++ > 0]);
        dm_gen_put(g, p->name);
        dm_gen_puts(g, ": ");
        write_annotation(g, p, style);
        if (tall)
            dm_gen_puts(g, ",");
    }
    dm_gen_puts(g, tall ? "\n):\n" : "):\n");
    dm_buffer_append(out, dm_buffer_text(&g->body), g->body.size);
}

/* Statements before the outputs, until the body has its length. */
static void statements(dm_gen *g)
{
    g->structured = g->category == DM_SYNTH_CONTROL_FLOW || g->category == DM_SYNTH_REDUCTION;
    for (int n = 0; n < g->recipe->least || (g->budget > 0 && n < DM_SYNTH_LINES_MAX); n++)
        dm_gen_statement(g, dm_gen_some_size(g));
}

/* Functions that nothing has called yet are called now; those that they call are in use then. */
static void call_all(dm_gen *g)
{
    for (int i = g->function_count - 1; i >= 0; i--) {
        dm_gen_function *f = &g->functions[i];
        int node = f->used ? -1 : dm_gen_call_of(g, f, 3);
        if (node >= 0)
            dm_gen_assign(g, dm_gen_fresh(g, dm_gen_local_role(f->result)), node);
        dm_gen_next(g);
    }
}

/* A category that is about matrices has one. */
static void some_matrix(dm_gen *g)
{
    int shape = DM_GEN_MAT22 + dm_gen_pick(g, g->recipe->shapes + DM_GEN_MAT22, 3);
    dm_gen_type type = dm_gen_type_of(shape, g->scalar);
    int node = dm_gen_value(g, type, dm_gen_between(g, 2, 5));
    dm_gen_assign(g, dm_gen_fresh(g, dm_gen_local_role(type)), node);
}

static void grow(dm_gen *g)
{
    const dm_gen_recipe *r = g->recipe;
    if (dm_gen_chance(g, 10))
        constants(g);
    if (dm_gen_chance(g, r->structs))
        dm_gen_declare_struct(g);
    if (dm_gen_chance(g, r->functions)) {
        int count = r->call > 20 ? dm_gen_between(g, 1, 2) : 1;
        for (int i = 0; i < count; i++)
            dm_gen_declare_function(g);
    }
    g->budget = dm_gen_choose_outputs(g, 1 + dm_gen_draw_from(g, &g->lines));
    coordinates(g);
    if (dm_gen_chance(g, g->category == DM_SYNTH_CONTROL_FLOW ? 20 : 4))
        guard(g);
    if (r->draw > 0)
        random_state(g);
    if (g->structure.name != NULL)
        dm_gen_use_struct(g);
    if (g->category == DM_SYNTH_MATRIX)
        some_matrix(g);
    statements(g);
    call_all(g);
    dm_gen_outputs(g);
}

static char *put_decimal(char *to, uint64_t value, int least)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (; count < least; count++)
        digits[count] = '0';
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* "<seed>-<slot>", the slot with eight digits at least. */
void dm_synth_id(char id[DM_SYNTH_ID_MAX], uint64_t seed, uint64_t slot)
{
    char *to = put_decimal(id, seed, 1);
    *to++ = '-';
    *put_decimal(to, slot, 8) = '\0';
}

dm_status dm_synth_generate(dm_synth_generator *generator, uint64_t seed, uint64_t slot,
                            int attempt, dm_synth_category category, dm_synth_record *record,
                            dm_error *err)
{
    dm_gen *g = generator;
    dm_synth_record_clear(record);
    if (g->natural != NULL) {
        dm_synth_id(record->id, seed, slot);
        record->attempt = attempt;
        return dm_natural_generate(g->natural, seed, slot, attempt, (int)category, record, err);
    }
    dm_gen_seed(g, seed, slot, attempt);
    g->category = category;
    g->recipe = &dm_gen_recipes[category];
    reset(g);
    choose_scalar(g);
    choose_inputs(g);
    const dm_gen_text *verb = dm_gen_fresh(g, DM_GEN_ROLE_VERB);
    const dm_gen_text *name = dm_gen_join(g, verb, '_', dm_gen_fresh(g, DM_GEN_ROLE_NOUN));
    grow(g);
    dm_buffer_puts(&record->python_source, "import warp as wp\n");
    dm_buffer_append(&record->python_source, dm_buffer_text(&g->head), g->head.size);
    g->out = &record->python_source;
    write_kernel(g, name);
    dm_synth_id(record->id, seed, slot);
    memcpy(record->kernel_name, name->bytes, name->length);
    record->kernel_name[name->length] = '\0';
    record->category = (int)category;
    record->attempt = attempt;
    if (g->head.failed || g->body.failed)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_buffer_check(&record->python_source, err);
}
