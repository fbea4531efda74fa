/* SPDX-License-Identifier: MIT */
/* predecode.h - instructions as words, for the GPU's fast path (fast.h); kernel text.
 *
 * An instruction is fetched with one load. A ROM has a word for each of its bytes:
 *
 *   bits 0..7     the opcode, or the one after the prefix CB
 *        8..23    the two bytes after the opcode; 0 after CB
 *        24..31   FF, or FE after CB: with the opcode below it the number of the uop (uop.h)
 *
 * Behind the words of a ROM are DM_GB_SPARE_WORDS of DM_GB_NO_WORD: a bank that is not mapped. */
#ifndef DM_SIMT_PREDECODE_H
#define DM_SIMT_PREDECODE_H

#include "gb/hooks.h"

#define DM_GB_NO_WORD 0xFD0000FFu /* unlike any instruction */
#define DM_GB_SPARE_WORDS 0x4000u

/* The word where hooks are (gb/hooks.h): to the fast path it is DM_GB_NO_WORD. The number says which hook, from 1 on.
 * If its address is right all of its `together` are met. DM_GB_HOOKS_MANY: hooks at two addresses share the word. */
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

/* How many words a ROM has, the spare ones included. */
DM_FN uint64_t dm_gb_predecoded_size(uint64_t size)
{
    return size + DM_GB_SPARE_WORDS;
}

/* Word `index`. For the last two bytes of a bank the bytes that follow depend on the map. */
DM_FN uint32_t dm_gb_predecode_at(const uint8_t *rom, uint64_t size, uint64_t index)
{
    return index >= size || (index & 0x3FFFu) >= 0x3FFEu
               ? DM_GB_NO_WORD
               : dm_gb_predecode(rom[index], rom[index + 1u], rom[index + 2u]);
}

#endif
