/* SPDX-License-Identifier: MIT */
/* intern.h - lookup of an interned name. Inline, since the lexer looks up nearly every token: names
 * and operators alike. */
#ifndef DM_LANG_INTERN_H
#define DM_LANG_INTERN_H

#include "lang/lang.h"

/* The key of a lookup. Short names are hashed and compared as two 64-bit words: a loop over bytes
 * would mispredict its end. */
typedef struct dm_name_key {
    uint64_t words[2]; /* its first bytes, zeros behind its end */
    uint32_t hash;
} dm_name_key;

/* The first n of eight bytes, the others zero; 8 and more: all. */
static inline uint64_t dm_name_cut(uint64_t bytes, size_t n)
{
    n = n < 8 ? n : 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return n == 0 ? 0 : bytes & ~(uint64_t)0 >> (64 - 8 * n);
#else
    return n == 0 ? 0 : bytes & ~(uint64_t)0 << (64 - 8 * n);
#endif
}

/* DM_NAME_PADDING bytes can be read from `text` on. */
static inline dm_name_key dm_name_key_of(const char *text, size_t length)
{
    dm_name_key key;
    uint64_t last = 0;
    _Static_assert(sizeof key.words == DM_NAME_PADDING, "so much is read");
    memcpy(key.words, text, sizeof key.words);
    key.words[0] = dm_name_cut(key.words[0], length);
    key.words[1] = dm_name_cut(key.words[1], length > 8 ? length - 8 : 0);
    if (length > sizeof key.words)
        memcpy(&last, text + length - 8, 8);
    uint64_t mixed =
        (key.words[0] ^ length) * 0x9E3779B97F4A7C15u ^ (key.words[1] + last) * 0xC2B2AE3D27D4EB4Fu;
    key.hash = (uint32_t)(mixed ^ mixed >> 32);
    return key;
}

/* The slot that the name is in, or the free one where it would be. */
static inline uint32_t dm_name_slot_of(const dm_kept *kept, const char *text, size_t length,
                                       const dm_name_key *key)
{
    uint32_t mask = kept->name_capacity - 1, slot = key->hash & mask;
    for (; kept->names[slot].name != NULL; slot = (slot + 1) & mask) {
        const dm_lang_name *name = kept->names[slot].name;
        uint64_t known[2];
        if (kept->names[slot].hash != key->hash)
            continue;
        memcpy(known, name->text, sizeof known); /* zeros behind its end, as in the key */
        if (known[0] == key->words[0] && known[1] == key->words[1] && name->length == length &&
            (length <= sizeof known || memcmp(name->text, text, length) == 0))
            break;
    }
    return slot;
}

#endif
