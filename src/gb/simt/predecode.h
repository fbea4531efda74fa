/* SPDX-License-Identifier: MIT */
/* predecode.h - instructions as words, for the GPU's fast path (fast.h); kernel text.
 *
 * An instruction is fetched with one load. A word has the opcode, then the two bytes after it, and on top what makes
 * the number of its uop (uop.h) when the lowest byte follows: FF, or FE where the opcode is the one after CB (the other
 * two bytes are 0 then). A ROM has such a word for each of its bytes. Behind them are DM_GB_SPARE_WORDS that are all
 * DM_GB_NO_WORD: a bank that is not mapped. */
#ifndef DM_SIMT_PREDECODE_H
#define DM_SIMT_PREDECODE_H

#include "gb/hooks.h"

#define DM_GB_NO_WORD 0xFD0000FFu /* unlike any instruction */
#define DM_GB_SPARE_WORDS 0x4000u

/* Where hooks are (gb/hooks.h): the same to the fast path, with a number from 1 on. Behind the spare words a ROM with
 * hooks has such a mark for each number: one load says what to do. */
#define DM_GB_HOOK_WORD(number) (DM_GB_NO_WORD | (number) << 8)
#define DM_GB_HOOK_OF(word) ((word) >> 8 & 0xFFFFu)

typedef struct dm_gb_hook_mark {
    uint32_t word; /* the instruction */
    uint32_t
        address; /* where the bits are met; DM_GB_HOOK_ADDRESSES: at two of them, look into the table */
    uint32_t bits[2]; /* the lower half first */
} dm_gb_hook_mark;

#define DM_GB_HOOK_ADDRESSES 0x10000u
#define DM_GB_HOOK_MARK_WORDS 4u
#define DM_GB_IS_NO_WORD(word)                                                                     \
    (DM_GB_HOOKS ? ((word)&0xFF0000FFu) == DM_GB_NO_WORD : (word) == DM_GB_NO_WORD)

DM_FN uint32_t dm_gb_predecode(uint32_t opcode, uint32_t second, uint32_t third)
{
    return opcode == 0xCBu ? 0xFE000000u | second
                           : 0xFF000000u | (third << 16) | (second << 8) | opcode;
}

/* How many words a ROM has, with those behind. */
DM_FN uint64_t dm_gb_predecoded_size(uint64_t size)
{
    return size + DM_GB_SPARE_WORDS;
}

/* The marks of so many hooks, as words; a hook may be in every bank. */
DM_FN uint64_t dm_gb_hook_mark_words(uint64_t size, uint64_t hooks)
{
    return hooks * (size >> 14) * DM_GB_HOOK_MARK_WORDS;
}

/* Number `index` of a ROM's words. What follows the last two bytes of a bank depends on the map. */
DM_FN uint32_t dm_gb_predecode_at(const uint8_t *rom, uint64_t size, uint64_t index)
{
    return index >= size || (index & 0x3FFFu) >= 0x3FFEu
               ? DM_GB_NO_WORD
               : dm_gb_predecode(rom[index], rom[index + 1u], rom[index + 2u]);
}

#endif
