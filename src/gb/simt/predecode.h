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

/* Where hooks are (gb/hooks.h): the same to the fast path, with the number of one of them from 1 on, whose `together` are
 * met if the address is right; or DM_GB_HOOKS_MANY, since places are at two addresses. */
#define DM_GB_HOOK_WORD(number) (DM_GB_NO_WORD | (number) << 8)
#define DM_GB_HOOK_OF(word) ((word) >> 8 & 0xFFFFu)
#define DM_GB_HOOKS_MANY 0xFFFFu
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

/* Number `index` of them. What follows the last two bytes of a bank depends on the map. */
DM_FN uint32_t dm_gb_predecode_at(const uint8_t *rom, uint64_t size, uint64_t index)
{
    return index >= size || (index & 0x3FFFu) >= 0x3FFEu
               ? DM_GB_NO_WORD
               : dm_gb_predecode(rom[index], rom[index + 1u], rom[index + 2u]);
}

#endif
