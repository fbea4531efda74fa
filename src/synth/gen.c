/* SPDX-License-Identifier: MIT */
/* gen.c - the generator's random numbers and names. */
#include "synth/gen.h"

#include <string.h>

void dm_gen_seed(dm_gen *g, uint64_t seed, uint64_t slot, int attempt)
{
    g->key = seed;
    g->stream = slot;
    g->counter = (uint64_t)attempt << 32; /* a kernel takes a few hundred numbers */
    g->words_left = 0;
}

dm_gen_variable *dm_gen_one_of(dm_gen *g, const dm_gen_list *list)
{
    if (list->count < 2)
        return list->count == 0 ? NULL : list->items[0];
    return list->items[dm_gen_below(g, list->count)];
}

static bool in_use(const dm_gen *g, const char *name)
{
    for (int i = 0; i < g->name_count; i++)
        if (g->names[i] == name)
            return true;
    return false;
}

const char *dm_gen_join(dm_gen *g, const char *first, const char *between, const char *second)
{
    size_t a = strlen(first), b = strlen(between), c = strlen(second);
    if ((size_t)g->pool_used + a + b + c + 1 > sizeof g->pool)
        return first; /* cannot be: the pool holds more names than a kernel has */
    char *made = g->pool + g->pool_used;
    memcpy(made, first, a);
    memcpy(made + a, between, b);
    memcpy(made + a + b, second, c + 1);
    g->pool_used += (int)(a + b + c + 1);
    return made;
}

static void take(dm_gen *g, const char *name)
{
    if (g->name_count < (int)(sizeof g->names / sizeof g->names[0]))
        g->names[g->name_count++] = name;
}

/* Words are distinct over all roles, so that comparing pointers is enough (a test holds that). */
const char *dm_gen_fresh(dm_gen *g, dm_gen_role role)
{
    static const char *const digits[] = {"2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"};
    const char *const *words = dm_gen_vocabulary[role];
    int count = dm_gen_vocabulary_count[role];
    const char *word = words[dm_gen_below(g, count)];
    for (int tries = 0; tries < 4 && in_use(g, word); tries++)
        word = words[dm_gen_below(g, count)];
    if (!in_use(g, word)) {
        take(g, word);
        return word;
    }
    int uses = 0; /* of the word with a digit: each one is remembered by the word itself */
    for (int i = 0; i < g->name_count; i++)
        uses += g->names[i] == word;
    take(g, word);
    return dm_gen_join(g, word, "_", digits[(uses > 0 ? uses - 1 : 0) % 11]);
}
