/* SPDX-License-Identifier: MIT */
/* gen.c - the generator's random numbers and names. */
#include "synth/gen.h"

#include <assert.h>
#include <string.h>

void dm_gen_seed(dm_gen *g, uint64_t seed, uint64_t slot, int attempt)
{
    g->key = seed;
    g->stream = slot;
    g->counter = (uint64_t)attempt << 32; /* a kernel takes a few hundred numbers */
    g->words_left = 0;
}

/* Four blocks of Philox, which do not wait for each other. */
void dm_gen_refill(dm_gen *g)
{
    for (int i = DM_GEN_RANDOM_WORDS; i > 0; i -= 4) {
        dm_philox4 made = dm_random4(g->key, g->stream, g->counter++);
        memcpy(g->words + i - 4, made.v, sizeof made.v);
    }
    g->words_left = DM_GEN_RANDOM_WORDS;
}

const dm_gen_text *dm_gen_join(dm_gen *g, const dm_gen_text *first, char between,
                               const dm_gen_text *second)
{
    size_t a = first->length, b = second->length;
    assert(g->pool_used < DM_GEN_POOL_MAX && a + 1 + b <= DM_GEN_TEXT_MAX && "names are short");
    dm_gen_text *made = &g->pool[g->pool_used++];
    *made = *first;
    made->bytes[a] = between;
    memcpy(made->bytes + a + 1, second->bytes, b);
    made->length = (uint8_t)(a + 1 + b);
    return made;
}

/* No word has two roles, so that a name is new when its word is (a test holds that). */
const dm_gen_text *dm_gen_fresh(dm_gen *g, dm_gen_role role)
{
    static const dm_gen_text digits[] = {DM_GEN_TEXT("2"),  DM_GEN_TEXT("3"), DM_GEN_TEXT("4"),
                                         DM_GEN_TEXT("5"),  DM_GEN_TEXT("6"), DM_GEN_TEXT("7"),
                                         DM_GEN_TEXT("8"),  DM_GEN_TEXT("9"), DM_GEN_TEXT("10"),
                                         DM_GEN_TEXT("11"), DM_GEN_TEXT("12")};
    int count = dm_gen_vocabulary_count[role], word = dm_gen_below(g, count);
    uint8_t *uses = g->uses[role];
    for (int tries = 0; tries < 4 && uses[word] > 0; tries++)
        word = dm_gen_below(g, count);
    const dm_gen_text *text = &dm_gen_vocabulary[role][word];
    if (uses[word]++ == 0)
        return text;
    return dm_gen_join(g, text, '_', &digits[(uses[word] - 2) % 11]);
}
