/* SPDX-License-Identifier: MIT */
/* compose.c - an idiom's picks are drawn; what the options set is gathered by name. */
#include "synth/natural/idiom.h"

#include "base/philox.h"

#include <string.h>

#define EACH_PERCENT 35     /* of parameters that can differ from element to element */
#define CONSTANT_PERCENT 35 /* of those that can be constants of the file */

int dm_natural_below(dm_natural *n, int bound)
{
    if (n->words_left == 0) {
        dm_philox4 made = dm_random4(n->key, n->stream, n->counter++);
        memcpy(n->words, made.v, sizeof n->words);
        n->words_left = 4;
    }
    return (int)dm_random_below(n->words[--n->words_left], (uint32_t)bound);
}

bool dm_natural_chance(dm_natural *n, int percent)
{
    return dm_natural_below(n, 100) < percent;
}

const dm_natural_idiom *dm_natural_find(const dm_natural *n, const char *name)
{
    for (const dm_natural_idiom *i = n->all; i != NULL; i = i->next)
        if (strcmp(i->name, name) == 0)
            return i;
    return NULL;
}

int dm_natural_name_number(const dm_natural *n, const char *name)
{
    for (int i = 0; i < n->name_count; i++)
        if (strcmp(n->names[i], name) == 0)
            return i;
    return 0;
}

static void touch(dm_natural *n, int name)
{
    if (!n->is_touched[name]) {
        n->is_touched[name] = true;
        n->touched[n->touched_count++] = name;
    }
}

static void set(dm_natural *n, int name, const dm_natural_block *block, bool add)
{
    dm_natural_value *v = &n->values[name];
    touch(n, name);
    if (!add)
        v->count = 0;
    if (v->count < DM_NATURAL_BLOCKS_MAX)
        v->blocks[v->count++] = block;
    else
        n->unknown = "more blocks than fit";
}

static bool holds(const dm_natural *n, const dm_natural_node *node)
{
    const char *picked = n->picked[node->name];
    bool found = false;
    for (int i = 0; picked != NULL && i < node->word_count && !found; i++)
        found = strcmp(picked, node->words[i]) == 0;
    return found != node->negated;
}

static void run(dm_natural *n, const dm_natural_node *first, int depth);

static void pick(dm_natural *n, const dm_natural_node *node, int depth)
{
    int left = dm_natural_below(n, node->total);
    const dm_natural_node *option = node->first;
    while (left >= option->weight) {
        left -= option->weight;
        option = option->next;
    }
    set(n, node->name, &option->block, false);
    n->picked[node->name] = option->word;
    run(n, option->first, depth + 1);
}

static void add_arg(dm_natural *n, const dm_natural_block *block, bool output)
{
    if (n->arg_count < DM_NATURAL_ARGS_MAX)
        n->args[n->arg_count++] = (dm_natural_arg){block, output};
    else
        n->unknown = "more parameters than fit";
}

static void run(dm_natural *n, const dm_natural_node *first, int depth)
{
    if (depth > DM_NATURAL_DEPTH_MAX) {
        n->unknown = "fragments that use each other";
        return;
    }
    for (const dm_natural_node *node = first; node != NULL; node = node->next) {
        const dm_natural_idiom *fragment;
        bool each;
        switch (node->kind) {
        case DM_NATURAL_SET:
        case DM_NATURAL_ADD:
            set(n, node->name, &node->block, node->kind == DM_NATURAL_ADD);
            break;
        case DM_NATURAL_PICK:
            pick(n, node, depth);
            break;
        case DM_NATURAL_USE:
            fragment = dm_natural_find(n, node->word);
            if (fragment == NULL)
                n->unknown = node->word;
            else
                run(n, fragment->first, depth + 1);
            break;
        case DM_NATURAL_ARG:
        case DM_NATURAL_OUT:
            add_arg(n, &node->block, node->kind == DM_NATURAL_OUT);
            break;
        case DM_NATURAL_VARY:
            each = dm_natural_chance(n, EACH_PERCENT);
            set(n, node->name, each ? &node->element : &node->own, false);
            add_arg(n, each ? &node->each : &node->block, false);
            break;
        case DM_NATURAL_TUNE:
            if (!node->always && !dm_natural_chance(n, CONSTANT_PERCENT)) {
                set(n, node->name, &node->own, false);
                add_arg(n, &node->block, false);
            } else if (n->constant_count < DM_NATURAL_ARGS_MAX) {
                set(n, node->name, &node->constant, false);
                n->constants[n->constant_count++] = node;
            }
            break;
        case DM_NATURAL_WHEN:
            if (holds(n, node))
                run(n, node->first, depth + 1);
            break;
        case DM_NATURAL_OPTION:
            break;
        }
    }
}

void dm_natural_compose(dm_natural *n, const dm_natural_idiom *idiom)
{
    for (int i = 0; i < n->touched_count; i++) {
        n->values[n->touched[i]].count = 0;
        n->picked[n->touched[i]] = NULL;
        n->lets[n->touched[i]] = NULL;
        n->is_touched[n->touched[i]] = false;
    }
    n->touched_count = n->arg_count = n->constant_count = 0;
    n->unknown = NULL;
    const dm_natural_idiom *everywhere = dm_natural_find(n, "everywhere");
    if (everywhere != NULL)
        run(n, everywhere->first, 0);
    run(n, idiom->first, 0);
    dm_natural_draw_hand(n);
}
