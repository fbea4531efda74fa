/* SPDX-License-Identifier: MIT */
/* adjoint_loop.c - loops in the backward pass; see adjoint.h.
 *
 * The backward loop runs the rounds (iterations) from last to first. How depends on the values that
 * a reversed round needs:
 *
 *   plain_loop    a FOR whose rounds need no carried value (sums): from the last round to the first
 *   counted_loop  a WHILE of that kind: its rounds are counted first
 *   taped_loop    rounds need values that the loop carries. They are reversed in segments of at most
 *                 K rounds, the last segment first: replay the loop to the segment's start, replay
 *                 the segment and write the carried values to a tape of K, then reverse from the tape
 *   warp_loop     a FOR with --warp-compat: carried values are not restored
 *
 * The forward pass keeps nothing: the tape is a local array of the backward function. Its memory is bounded and known, whatever the number of rounds n; the time is n plus
 * n * n / (2 K) rounds of replay. K is at most TAPE_LENGTH_MAX, less where the tape would grow
 * beyond TAPE_BYTES, but never less than TAPE_LENGTH_MIN.
 */
#include "lang/adjoint/adjoint.h"

#include <string.h>

#define TAPE_BYTES 1024
#define TAPE_LENGTH_MIN 4
#define TAPE_LENGTH_MAX 32

/* ---- Loops ---- */

typedef struct loop {
    const dm_ir_op *op;
    const dm_ir_block *head; /* its params are the counter (FOR) and the carried values */
    const dm_ir_block *body;
    const dm_ir_op *end; /* the body's YIELD */
    int fixed, skip;
    dm_val *adjoints; /* per carried value: the variable of its adjoint, NONE: carries none */
    bool *needed;     /* per carried value: the way back needs it */
    int needed_count;
} loop;

static void mark_inner(dm_adjoint_state *a, loop *l, const dm_ir_block *block);

/* Mark the carried values that `v` is computed from. */
static void mark_origin(dm_adjoint_state *a, loop *l, dm_val v)
{
    if (a->seen[v] == a->searches)
        return;
    a->seen[v] = a->searches;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->head->params[l->skip + i] == v && !l->needed[i]) {
            l->needed[i] = true;
            l->needed_count++;
        }
    const dm_ir_op *def = a->f->values[v].def;
    if (def == NULL || a->home[v] == NULL || a->home[v]->source != l->body)
        return; /* from outside */
    if (dm_adjoint_known(a, v) != DM_VAL_NONE) {
        mark_origin(a, l, dm_adjoint_known(a, v));
        return;
    }
    for (int i = 0; i < def->arg_count; i++)
        mark_origin(a, l, def->args[i]);
    for (int k = 0; k < 2; k++)
        if (def->blocks[k] != NULL)
            mark_inner(a, l, def->blocks[k]);
}

static void mark_inner(dm_adjoint_state *a, loop *l, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        for (int n = 0; n < op->arg_count; n++)
            mark_origin(a, l, op->args[n]);
        if (op->result_count == 1 && dm_adjoint_known(a, op->result) != DM_VAL_NONE)
            mark_origin(a, l, dm_adjoint_known(a, op->result));
        for (int b = 0; b < 2; b++)
            if (op->blocks[b] != NULL)
                mark_inner(a, l, op->blocks[b]);
    }
}

/* Carried values that the reverse part asked for, and those that they are computed from. */
static void find_needed(dm_adjoint_state *a, loop *l)
{
    int count = l->op->result_count, before;
    l->needed = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *l->needed);
    l->needed_count = 0;
    for (int i = 0; i < count; i++) {
        l->needed[i] = a->map[l->head->params[l->skip + i]] != DM_VAL_NONE;
        l->needed_count += l->needed[i];
    }
    a->searches++;
    do {
        before = l->needed_count;
        for (int i = 0; i < count; i++)
            if (l->needed[i])
                mark_origin(a, l, l->end->args[i]);
    } while (l->needed_count != before);
}

/* One round of replay: the body's operations, then the needed carried values of the next round.
 * `from` holds their values at its start, `counter` is the FOR's counter (or NONE). */
static void replay_round(dm_adjoint_state *a, const loop *l, const dm_val *from, dm_val counter,
                         dm_val *next)
{
    dm_adjoint_clear_inside(a);
    int n = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i])
            dm_adjoint_set_inside(a, l->head->params[l->skip + i], from[n++]);
    if (l->skip > 0)
        dm_adjoint_set_inside(a, l->head->params[0], counter);
    /* Carried values that are not needed feed only what will be dropped. */
    for (int i = 0; i < l->op->result_count; i++) {
        dm_val v = l->head->params[l->skip + i];
        if (a->inside[v] == DM_VAL_NONE)
            dm_adjoint_set_inside(a, v, dm_ir_zero(&a->b, type_of(a, v)));
    }
    dm_ir_block *copy =
        dm_adjoint_copy_block(a, &(dm_ir_block){.ops = l->body->ops, .count = l->body->count});
    for (int i = 0; i < copy->count; i++)
        if (!dm_ir_is_terminator(copy->ops[i]->kind))
            dm_ir_append(a->lang, a->b.block, copy->ops[i]);
    n = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i]) {
            dm_val v = l->end->args[i];
            next[n++] = a->inside[v] != DM_VAL_NONE ? a->inside[v] : dm_adjoint_use(a, v);
        }
}

/* for it in range(first, last, step) carrying the needed values; the body is filled by the caller,
 * from `begin_for` to `end_for`. */
typedef struct building {
    dm_ir_block *before, *body;
    dm_val counter, bounds[3];
    dm_val *initial, *params;
    int count;
} building;

static building begin_for(dm_adjoint_state *a, const char *name, dm_val first, dm_val last,
                          dm_val step, dm_val *initial, const char *const *names, int count)
{
    building made = {.before = a->b.block,
                     .body = dm_ir_block_new(a->lang),
                     .bounds = {first, last, step},
                     .initial = initial,
                     .count = count};
    made.counter = dm_ir_param(a->b.function, made.body, dm_type_scalar(a->lang, DM_I32),
                               dm_lang_intern_text(a->lang, name));
    made.params = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *made.params);
    for (int i = 0; i < count; i++)
        made.params[i] =
            dm_ir_param(a->b.function, made.body, a->b.function->values[initial[i]].type, names[i]);
    a->b.block = made.body;
    return made;
}

static dm_ir_op *end_for(dm_adjoint_state *a, const building *made, const dm_val *next)
{
    dm_ir_op_new(&a->b, DM_IR_YIELD, next, made->count, NULL);
    a->b.block = made->before;
    dm_val *args = dm_lang_alloc_array(a->lang, (size_t)made->count + 3, sizeof *args);
    memcpy(args, made->bounds, sizeof made->bounds);
    if (made->count > 0)
        memcpy(args + 3, made->initial, (size_t)made->count * sizeof *args);
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_FOR, args, made->count + 3, NULL);
    op->blocks[0] = made->body;
    op->no_break = true;
    op->result_count = made->count;
    for (int i = 0; i < made->count; i++) {
        dm_val v = dm_ir_value_new(a->b.function, a->b.function->values[made->params[i]].type,
                                   a->b.function->values[made->params[i]].name);
        a->b.function->values[v].def = op;
        if (i == 0)
            op->result = v;
    }
    return op;
}

static dm_val constant(dm_adjoint_state *a, int value)
{
    return dm_ir_int(&a->b, dm_type_scalar(a->lang, DM_I32), value);
}

/* How many rounds a WHILE makes: it is replayed with a counter. */
static dm_val count_rounds(dm_adjoint_state *a, const loop *l)
{
    dm_ir_function *to = a->b.function;
    const dm_type *i32 = dm_type_scalar(a->lang, DM_I32);
    int count = l->op->result_count;
    dm_adjoint_clear_inside(a);
    dm_val *args = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *args);
    for (int i = 0; i < count; i++)
        args[i] = dm_adjoint_use(a, l->op->args[i]);
    args[count] = constant(a, 0);
    dm_ir_block *head = dm_adjoint_copy_block(a, l->head), *body;
    dm_val counter = dm_ir_param(to, head, i32, dm_lang_intern_text(a->lang, "n"));
    body = dm_adjoint_copy_block(a, l->body);
    dm_ir_op *end = body->ops[body->count - 1];
    dm_ir_block *before = a->b.block;
    body->count--;
    a->b.block = body;
    dm_val *next = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *next);
    memcpy(next, end->args, (size_t)count * sizeof *next);
    next[count] = dm_adjoint_call(a, DM_ROW_ADD, counter, constant(a, 1));
    dm_ir_op_new(&a->b, DM_IR_YIELD, next, count + 1, NULL);
    a->b.block = before;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_WHILE, args, count + 1, NULL);
    op->blocks[0] = head;
    op->blocks[1] = body;
    op->no_break = true;
    op->result_count = count + 1;
    for (int i = 0; i <= count; i++) {
        dm_val v = dm_ir_value_new(to, to->values[args[i]].type, to->values[head->params[i]].name);
        to->values[v].def = op;
        if (i == 0)
            op->result = v;
    }
    return op->result + count;
}

static dm_val trip_count(dm_adjoint_state *a, const loop *l)
{
    if (l->op->kind == DM_IR_WHILE)
        return count_rounds(a, l);
    dm_val args[] = {dm_adjoint_use(a, l->op->args[0]), dm_adjoint_use(a, l->op->args[1]),
                     dm_adjoint_use(a, l->op->args[2])};
    return dm_adjoint_row(a, DM_ROW_RANGE_LENGTH, args, 3);
}

/* The FOR's counter in round `round`. */
static dm_val counter_at(dm_adjoint_state *a, const loop *l, dm_val round)
{
    if (l->op->kind == DM_IR_WHILE)
        return DM_VAL_NONE;
    dm_val offset = dm_adjoint_call(a, DM_ROW_MUL, round, dm_adjoint_use(a, l->op->args[2]));
    return dm_adjoint_call(a, DM_ROW_ADD, dm_adjoint_use(a, l->op->args[0]), offset);
}

/* Move the adjoints of the carried values to the values that the round yielded. */
static dm_val *reverse_round(dm_adjoint_state *a, const loop *l)
{
    int count = l->op->result_count;
    dm_val *given = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *given);
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE)
            given[i] =
                dm_ir_simple(&a->b, DM_IR_GET, &l->adjoints[i], 1, type_of(a, l->op->result + i));
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE && l->end->args[i] != l->head->params[l->skip + i]) {
            dm_val args[] = {l->adjoints[i], dm_ir_zero(&a->b, type_of(a, l->op->result + i))};
            dm_ir_op_new(&a->b, DM_IR_SET, args, 2, NULL);
        }
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE && l->end->args[i] != l->head->params[l->skip + i])
            dm_adjoint_add(a, l->end->args[i], given[i]);
    return given;
}

static bool mentions(const dm_ir_op *op, dm_val v)
{
    for (int i = 0; i < op->arg_count; i++)
        if (op->args[i] == v)
            return true;
    for (int k = 0; k < 2; k++)
        for (int i = 0; op->blocks[k] != NULL && i < op->blocks[k]->count; i++)
            if (mentions(op->blocks[k]->ops[i], v))
                return true;
    return false;
}

/* Merge the SET to zero of a carried adjoint with the first ADD to it. If that adds back the value
 * it had, both disappear: for x += y the reversed round does not touch adj_x. */
static void merge_first_add(dm_ir_block *block, dm_val adjoint, dm_val given)
{
    int set = 0, add;
    while (set < block->count &&
           (block->ops[set]->kind != DM_IR_SET || block->ops[set]->args[0] != adjoint))
        set++;
    for (add = set + 1; add < block->count && !mentions(block->ops[add], adjoint);)
        add++;
    if (add >= block->count)
        return;
    dm_ir_op *op = block->ops[add];
    if (op->kind != DM_IR_ADD || op->args[0] != adjoint || op->path != NULL)
        return;
    op->kind = DM_IR_SET;
    bool same = op->args[1] == given;
    int kept = set;
    for (int i = set + 1; i < block->count; i++)
        if (i != add || !same)
            block->ops[kept++] = block->ops[i];
    block->count = kept;
}

/* Make the reversed round once, to see which carried values it needs; it is used once, too. */
static dm_adjoint_scope *make_round(dm_adjoint_state *a, loop *l, dm_adjoint_scope *outer)
{
    dm_adjoint_scope *s = dm_adjoint_open(a, l->body, outer);
    for (int i = 0; i < l->head->param_count; i++)
        a->home[l->head->params[i]] = s;
    for (int i = 0; i < l->op->result_count; i++) {
        dm_val param = l->head->params[l->skip + i];
        a->slot[param] = l->adjoints[i];
        a->touched[param] = l->adjoints[i] != DM_VAL_NONE;
    }
    const dm_val *given = reverse_round(a, l);
    dm_adjoint_reverse_block(a, s);
    for (int i = 0; i < l->op->result_count; i++)
        if (l->adjoints[i] != DM_VAL_NONE)
            merge_first_add(a->b.block, l->adjoints[i], given[i]);
    return s;
}

static void start_adjoints(dm_adjoint_state *a, loop *l)
{
    int count = l->op->result_count;
    l->adjoints = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *l->adjoints);
    for (int i = 0; i < count; i++) {
        dm_val r = l->op->result + i;
        l->adjoints[i] = DM_VAL_NONE;
        if (!carries(a, r))
            continue;
        dm_val initial = a->touched[r] ? dm_adjoint_get(a, r) : dm_ir_zero(&a->b, type_of(a, r));
        dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_SLOT, &initial, 1, type_of(a, r));
        const char *name = a->f->values[r].name;
        a->b.function->values[op->result].name =
            dm_lang_adjoint_name(a->lang, name == NULL ? a->temporary : name);
        l->adjoints[i] = op->result;
    }
}

/* Give a replayed value that was asked for a definition: a copy of another. */
static void define(dm_adjoint_state *a, dm_val source, dm_val value)
{
    dm_adjoint_reserve_aliases(a, 1);
    if (a->map[source] != DM_VAL_NONE)
        a->alias[a->alias_count++] = (dm_adjoint_alias){a->map[source], value};
    else
        a->map[source] = value;
}

static void plain_loop(dm_adjoint_state *a, loop *l, const dm_adjoint_scope *s)
{
    int64_t step;
    dm_val first = dm_adjoint_use(a, l->op->args[0]), last = dm_adjoint_use(a, l->op->args[1]),
           down, start, end;
    if (dm_ir_const_int(a->f, l->op->args[2], &step) && (step == 1 || step == -1)) {
        start = dm_adjoint_call(a, DM_ROW_SUB, last, constant(a, (int)step));
        end = dm_adjoint_call(a, DM_ROW_SUB, first, constant(a, (int)step));
        down = constant(a, (int)-step);
    } else {
        dm_val by = dm_adjoint_use(a, l->op->args[2]);
        dm_val one = constant(a, 1);
        dm_val rounds = dm_adjoint_call(a, DM_ROW_SUB, trip_count(a, l), one);
        start = dm_adjoint_call(a, DM_ROW_ADD, first, dm_adjoint_call(a, DM_ROW_MUL, rounds, by));
        end = dm_adjoint_call(a, DM_ROW_SUB, first, by);
        down = dm_ir_const_int(a->f, l->op->args[2], &step) ? constant(a, (int)-step)
                                                            : dm_adjoint_row(a, DM_ROW_NEG, &by, 1);
    }
    building made =
        begin_for(a, a->f->values[l->head->params[0]].name, start, end, down, NULL, NULL, 0);
    define(a, l->head->params[0], made.counter);
    dm_adjoint_close(a, s, a->b.block);
    end_for(a, &made, NULL);
}

/* What Warp does with a loop that it cannot unroll: carried variables are not restored. Each round,
 * the last one first, runs the body again from the variables' present values, and its reverse reads
 * a variable after the round has changed it. */
static void warp_loop(dm_adjoint_state *a, const loop *l, const dm_adjoint_scope *s)
{
    int count = l->op->result_count;
    dm_val *slots = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *slots);
    for (int i = 0; i < count; i++) {
        dm_val initial = dm_adjoint_use(a, l->op->args[l->fixed + i]);
        dm_ir_op *slot =
            dm_ir_op_new(&a->b, DM_IR_SLOT, &initial, 1, type_of(a, l->op->result + i));
        a->b.function->values[slot->result].name = a->f->values[l->op->result + i].name;
        slots[i] = slot->result;
    }
    dm_val by = dm_adjoint_use(a, l->op->args[2]), first = dm_adjoint_use(a, l->op->args[0]);
    dm_val one = constant(a, 1);
    dm_val rounds = dm_adjoint_call(a, DM_ROW_SUB, trip_count(a, l), one);
    dm_val start =
        dm_adjoint_call(a, DM_ROW_ADD, first, dm_adjoint_call(a, DM_ROW_MUL, rounds, by));
    dm_val down = dm_adjoint_row(a, DM_ROW_NEG, &by, 1);
    dm_val before = dm_adjoint_call(a, DM_ROW_SUB, first, by);
    building made =
        begin_for(a, a->f->values[l->head->params[0]].name, start, before, down, NULL, NULL, 0);
    dm_adjoint_clear_inside(a);
    dm_adjoint_set_inside(a, l->head->params[0], made.counter);
    for (int i = 0; i < count; i++)
        dm_adjoint_set_inside(
            a, l->head->params[l->skip + i],
            dm_ir_simple(&a->b, DM_IR_GET, &slots[i], 1, type_of(a, l->op->result + i)));
    dm_ir_block *copy =
        dm_adjoint_copy_block(a, &(dm_ir_block){.ops = l->body->ops, .count = l->body->count - 1});
    dm_adjoint_append(a, a->b.block, copy);
    define(a, l->head->params[0], made.counter);
    for (int i = 0; i < count; i++) {
        dm_val end = l->end->args[i];
        dm_val next = a->inside[end] != DM_VAL_NONE ? a->inside[end] : dm_adjoint_use(a, end);
        dm_val args[] = {slots[i], next};
        dm_ir_op_new(&a->b, DM_IR_SET, args, 2, NULL);
        define(a, l->head->params[l->skip + i], next);
    }
    for (int i = 0; i + 1 < l->body->count; i++)
        for (int r = 0; r < l->body->ops[i]->result_count; r++)
            if (a->inside[l->body->ops[i]->result + r] != DM_VAL_NONE)
                define(a, l->body->ops[i]->result + r, a->inside[l->body->ops[i]->result + r]);
    dm_adjoint_append(a, a->b.block, s->slots);
    dm_adjoint_append(a, a->b.block, s->reverse);
    end_for(a, &made, NULL);
}

static int tape_length(const dm_adjoint_state *a, const loop *l)
{
    int bytes = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i])
            bytes += dm_type_bytes(type_of(a, l->op->result + i));
    int length = bytes == 0 ? TAPE_LENGTH_MAX : TAPE_BYTES / bytes;
    return length < TAPE_LENGTH_MIN   ? TAPE_LENGTH_MIN
           : length > TAPE_LENGTH_MAX ? TAPE_LENGTH_MAX
                                      : length;
}

/* A WHILE whose reverse needs only the number of rounds. */
static void counted_loop(dm_adjoint_state *a, loop *l, const dm_adjoint_scope *s)
{
    dm_val rounds = trip_count(a, l), one = constant(a, 1);
    dm_val down = constant(a, -1), end = constant(a, -1);
    dm_val last = dm_adjoint_call(a, DM_ROW_SUB, rounds, one);
    building made = begin_for(a, "it", last, end, down, NULL, NULL, 0);
    dm_adjoint_close(a, s, a->b.block);
    end_for(a, &made, NULL);
}

static void taped_loop(dm_adjoint_state *a, loop *l, const dm_adjoint_scope *s)
{
    int count = l->needed_count, length = tape_length(a, l), n = 0;
    dm_val rounds = trip_count(a, l);
    dm_val *tapes = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *tapes);
    dm_val *initial = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *initial);
    dm_val *next = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *next);
    const char **names = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *names);
    for (int i = 0; i < l->op->result_count; i++) {
        if (!l->needed[i])
            continue;
        dm_ir_op *tape = dm_ir_op_new(&a->b, DM_IR_TAPE, NULL, 0, type_of(a, l->op->result + i));
        const char *name = a->f->values[l->op->result + i].name;
        tape->index = length;
        a->b.function->values[tape->result].name = dm_lang_intern_text(
            a->lang, dm_lang_format(a->lang, "tape_%s", name == NULL ? "t" : name));
        tapes[n] = tape->result;
        names[n] = name;
        initial[n++] = dm_adjoint_use(a, l->op->args[l->fixed + i]);
    }
    /* Segments, the last one first. */
    dm_val k = constant(a, length), one = constant(a, 1), zero = constant(a, 0);
    dm_val top = dm_adjoint_call(
        a, DM_ROW_MUL,
        dm_adjoint_call(a, DM_ROW_DIV, dm_adjoint_call(a, DM_ROW_SUB, rounds, one), k), k);
    dm_val by = constant(a, -length), end = constant(a, -1);
    building segment = begin_for(a, "start", top, end, by, NULL, NULL, 0);
    building skipped = begin_for(a, "it", zero, segment.counter, one, initial, names, count);
    replay_round(a, l, skipped.params, counter_at(a, l, skipped.counter), next);
    dm_ir_op *to_start = end_for(a, &skipped, next);

    dm_val left = dm_adjoint_call(a, DM_ROW_SUB, rounds, segment.counter);
    dm_val length_here = dm_adjoint_call(a, DM_ROW_MIN, left, k);
    a->b.function->values[length_here].name = dm_lang_intern_text(a->lang, "length");
    dm_val *from = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *from);
    for (int i = 0; i < count; i++)
        from[i] = to_start->result + i;
    building taped = begin_for(a, "it", zero, length_here, one, from, names, count);
    for (int i = 0; i < count; i++) {
        dm_val args[] = {tapes[i], taped.counter, taped.params[i]};
        dm_ir_op_new(&a->b, DM_IR_RECORD, args, 3, NULL);
    }
    dm_val here = dm_adjoint_call(a, DM_ROW_ADD, segment.counter, taped.counter);
    replay_round(a, l, taped.params, counter_at(a, l, here), next);
    end_for(a, &taped, next);

    dm_val down = constant(a, -1), before = constant(a, -1);
    dm_val last = dm_adjoint_call(a, DM_ROW_SUB, length_here, one);
    building back = begin_for(a, "it", last, before, down, NULL, NULL, 0);
    n = 0;
    for (int i = 0; i < l->op->result_count; i++) {
        if (!l->needed[i])
            continue;
        dm_val args[] = {tapes[n++], back.counter};
        dm_val value = dm_ir_simple(&a->b, DM_IR_RECALL, args, 2, type_of(a, l->op->result + i));
        a->b.function->values[value].name = a->f->values[l->op->result + i].name;
        define(a, l->head->params[l->skip + i], value);
    }
    if (l->skip > 0)
        define(a, l->head->params[0],
               counter_at(a, l, dm_adjoint_call(a, DM_ROW_ADD, segment.counter, back.counter)));
    dm_adjoint_close(a, s, a->b.block);
    end_for(a, &back, NULL);
    end_for(a, &segment, NULL);
}

void dm_adjoint_reverse_loop(dm_adjoint_state *a, dm_adjoint_scope *outer, const dm_ir_op *op)
{
    if (!dm_adjoint_touched(a, op) && !dm_adjoint_matters(a, op))
        return;
    bool is_for = op->kind == DM_IR_FOR;
    loop l = {.op = op,
              .head = op->blocks[0],
              .body = is_for ? op->blocks[0] : op->blocks[1],
              .fixed = is_for ? 3 : 0,
              .skip = is_for ? 1 : 0};
    l.end = dm_ir_terminator(l.body);
    dm_ir_block *before = a->b.block;
    start_adjoints(a, &l);
    dm_adjoint_scope *s = make_round(a, &l, outer);
    /* The values that the round's replay uses show which carried values it needs. */
    int aliases = a->alias_count;
    int kept = 0, count = l.body->param_count;
    for (int i = 0; i < l.body->count; i++)
        count += l.body->ops[i]->result_count;
    dm_val *saved = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *saved);
    for (int i = 0; i < l.body->count; i++)
        for (int r = 0; r < l.body->ops[i]->result_count; r++)
            saved[kept++] = a->map[l.body->ops[i]->result + r];
    dm_adjoint_replay_block(a, l.body);
    find_needed(a, &l);
    a->alias_count = aliases;
    /* Values of the body that only the trial asked for are asked for again by the real one. */
    kept = 0;
    for (int i = 0; i < l.body->count; i++)
        for (int r = 0; r < l.body->ops[i]->result_count; r++)
            a->map[l.body->ops[i]->result + r] = saved[kept++];
    a->b.block = before;
    if (is_for && l.needed_count > 0 && a->compat)
        warp_loop(a, &l, s);
    else if (is_for && l.needed_count == 0)
        plain_loop(a, &l, s);
    else if (l.needed_count == 0)
        counted_loop(a, &l, s);
    else
        taped_loop(a, &l, s);
    dm_adjoint_forget(a, l.body);
    if (!is_for)
        dm_adjoint_forget(a, l.head);
    for (int i = 0; i < op->result_count; i++)
        if (l.adjoints[i] != DM_VAL_NONE)
            dm_adjoint_add(
                a, op->args[l.fixed + i],
                dm_ir_simple(&a->b, DM_IR_GET, &l.adjoints[i], 1, type_of(a, op->result + i)));
}
