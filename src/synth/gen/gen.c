/* SPDX-License-Identifier: MIT */
/* gen.c - the generator's random numbers and names. */
#include "synth/gen/gen.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void dm_gen_seed(dm_gen *g, uint64_t seed, uint64_t slot, int attempt)
{
    g->key = seed;
    g->stream = slot;
    g->counter = (uint64_t)attempt << 32; /* a kernel takes a few hundred numbers */
    g->words_left = 0;
}

/* Four blocks of Philox (base/philox.h), which do not wait for each other. */
#ifdef __SSE2__
/* Two of them, each word in the lower half of a lane; what is in the upper halves does not count.
 */
static void two_blocks(const dm_gen *g, uint64_t counter, uint32_t *first, uint32_t *second)
{
    __m128i c0 = _mm_set_epi64x((int64_t)(counter + 1), (int64_t)counter);
    __m128i c1 = _mm_srli_epi64(c0, 32);
    __m128i c2 = _mm_set1_epi64x((int64_t)g->stream), c3 = _mm_srli_epi64(c2, 32);
    __m128i k0 = _mm_set1_epi64x((int64_t)g->key), k1 = _mm_srli_epi64(k0, 32);
    for (int round = 0; round < 10; round++) {
        __m128i p0 = _mm_mul_epu32(c0, _mm_set1_epi64x(0xD2511F53));
        __m128i p1 = _mm_mul_epu32(c2, _mm_set1_epi64x(0xCD9E8D57));
        c0 = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(p1, 32), c1), k0);
        c2 = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(p0, 32), c3), k1);
        c1 = p1;
        c3 = p0;
        k0 = _mm_add_epi32(k0, _mm_set1_epi64x(0x9E3779B9));
        k1 = _mm_add_epi32(k1, _mm_set1_epi64x(0xBB67AE85));
    }
    _mm_storeu_si128((__m128i *)(void *)first,
                     _mm_unpacklo_epi64(_mm_unpacklo_epi32(c0, c1), _mm_unpacklo_epi32(c2, c3)));
    _mm_storeu_si128((__m128i *)(void *)second,
                     _mm_unpacklo_epi64(_mm_unpackhi_epi32(c0, c1), _mm_unpackhi_epi32(c2, c3)));
}
#else
static void two_blocks(const dm_gen *g, uint64_t counter, uint32_t *first, uint32_t *second)
{
    dm_philox4 made[2] = {dm_random4(g->key, g->stream, counter),
                          dm_random4(g->key, g->stream, counter + 1)};
    memcpy(first, made[0].v, sizeof made[0].v);
    memcpy(second, made[1].v, sizeof made[1].v);
}
#endif

void dm_gen_refill(dm_gen *g)
{
    two_blocks(g, g->counter, g->words + 12, g->words + 8);
    two_blocks(g, g->counter + 2, g->words + 4, g->words);
    g->counter += 4;
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
