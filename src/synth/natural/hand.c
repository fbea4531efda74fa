/* SPDX-License-Identifier: MIT */
/* hand.c - what differs between authors: annotations, comments, docstrings, the order of parameters. */
#include "synth/natural/idiom.h"

#include <string.h>

/* How often, in a hundred kernels. */
enum {
    DOCSTRING_LINE = 14,
    DOCSTRING_REMARK = 4, /* the line as a comment */
    DOCSTRING_TEXT = 6,
    DOCSTRING_ENTRIES = 7,
    KERNEL_SUFFIX = 14,
    OUTPUTS_MARKED = 18,
    AIRY = 50,
    NAMED_LENGTHS = 30,
    PYTHON_NAMES = 15,
    WIDTHS = 14,
    MOVED_SCALAR = 45,
    MOVED_ARRAY = 35,
    USUAL_FIRST = 18,
    USUAL_LAST = 22
};

enum { AS_DECLARED, OUTPUTS_BEFORE_SCALARS, ARRAYS_FIRST, SCALARS_FIRST };

static bool is_array(const dm_natural_arg *arg)
{
    const dm_natural_piece *type = &arg->block->lines[1].pieces[0];
    return type->name < 0 && type->length > 4 && memcmp(type->text, "array", 5) == 0;
}

/* The place of a parameter's group in the signature. */
static int group_of(const dm_natural_arg *arg, int order)
{
    static const int groups[][3] = {/* scalar, array, output */
                                    [AS_DECLARED] = {0, 0, 1},
                                    [OUTPUTS_BEFORE_SCALARS] = {2, 0, 1},
                                    [ARRAYS_FIRST] = {1, 0, 2},
                                    [SCALARS_FIRST] = {0, 1, 2}};
    return groups[order][arg->output ? 2 : is_array(arg)];
}

static void order_parameters(dm_natural *n)
{
    int count = 0;
    for (int group = 0; group < 3; group++)
        for (int i = 0; i < n->arg_count; i++)
            if (group_of(&n->args[i], n->hand.order) == group)
                n->order[count++] = i;
}

/* Time steps, seeds and the like stand first or last as often as among the others. */
static bool is_usual(const dm_natural_arg *arg)
{
    static const char *const names[] = {"dt", "seed", "lr", "eps", "t", "time", "inv_dx"};
    const dm_natural_piece *name = &arg->block->lines[0].pieces[0];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name->name < 0 && strlen(names[i]) == (size_t)name->length &&
            memcmp(names[i], name->text, (size_t)name->length) == 0)
            return true;
    return false;
}

static void move_usual(dm_natural *n)
{
    for (int i = 0; i < n->arg_count; i++) {
        int moved = n->order[i], way = dm_natural_below(n, 100);
        if (!is_usual(&n->args[moved]) || way >= USUAL_FIRST + USUAL_LAST)
            continue;
        int to = way < USUAL_FIRST ? 0 : n->arg_count - 1, step = to < i ? -1 : 1;
        for (int k = i; k != to; k += step)
            n->order[k] = n->order[k + step];
        n->order[to] = moved;
        return;
    }
}

/* Signatures grow: now and then a parameter stands elsewhere among its like. */
static void move_one(dm_natural *n, bool arrays, int percent)
{
    int places[DM_NATURAL_ARGS_MAX], count = 0;
    for (int i = 0; i < n->arg_count; i++) {
        const dm_natural_arg *arg = &n->args[n->order[i]];
        if (!arg->output && is_array(arg) == arrays)
            places[count++] = i;
    }
    if (count < 2 || !dm_natural_chance(n, percent))
        return;
    int from = places[dm_natural_below(n, count)], to = places[dm_natural_below(n, count)];
    int moved = n->order[from], step = from < to ? 1 : -1;
    for (int i = from; i != to; i += step)
        n->order[i] = n->order[i + step];
    n->order[to] = moved;
}

/* `bounds[k]` out of a hundred draws are above k. */
static int draw(dm_natural *n, const int *percent, int count)
{
    int left = dm_natural_below(n, 100), i = 0;
    while (i + 1 < count && left >= percent[i])
        left -= percent[i++];
    return i;
}

void dm_natural_draw_hand(dm_natural *n)
{
    static const int annotations[] = {38, 34, 28};
    static const int inlines[] = {50, 30, 20}, inline_percents[] = {8, 40, 80};
    static const int loads[] = {35, 35, 30}, load_percents[] = {6, 35, 75};
    static const int comments[] = {30, 25, 45}, comment_percents[] = {0, 60, 100};
    static const int orders[] = {42, 20, 22, 16}, updates[] = {44, 32, 24};
    static const int docstrings[] = {
        100 - DOCSTRING_LINE - DOCSTRING_REMARK - DOCSTRING_TEXT - DOCSTRING_ENTRIES,
        DOCSTRING_LINE, DOCSTRING_REMARK, DOCSTRING_TEXT, DOCSTRING_ENTRIES};
    n->hand = (dm_natural_hand){
        .brackets = draw(n, annotations, 3),
        .inline_percent = inline_percents[draw(n, inlines, 3)],
        .load_percent = load_percents[draw(n, loads, 3)],
        .comment_percent = comment_percents[draw(n, comments, 3)],
        .airy = dm_natural_chance(n, AIRY),
        .kernel = dm_natural_chance(n, KERNEL_SUFFIX),
        .marked = dm_natural_chance(n, OUTPUTS_MARKED),
        .plain_constants = dm_natural_chance(n, 50),
        .docstring = draw(n, docstrings, 5),
        .order = draw(n, orders, 4),
        .updates = draw(n, updates, 3),
        .named_lengths = dm_natural_chance(n, NAMED_LENGTHS),
        .python_names = dm_natural_chance(n, PYTHON_NAMES),
        .widths = dm_natural_chance(n, WIDTHS),
    };
    order_parameters(n);
    move_usual(n);
    move_one(n, false, MOVED_SCALAR);
    move_one(n, true, MOVED_ARRAY);
}
