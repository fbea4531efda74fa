/* SPDX-License-Identifier: MIT */
/* disasm.h - machine code back to text, from the rows of opcodes.def. */
#ifndef DM_GB_DISASM_H
#define DM_GB_DISASM_H

#include <stddef.h>
#include <stdint.h>

#define DM_GB_DISASM_MAX 24 /* the longest line and its NUL */

/* One instruction at `address`, as asm.h's assembler reads it: "JR NZ,$0150", "LDH [$FF44],A". What
 * is no instruction, or is cut off by the end of the bytes, becomes "DB $D3". Returns how many
 * bytes were used: 1 to 3, or 0 when there are none. The text is cut to `size`. */
unsigned dm_gb_disasm(const uint8_t *bytes, size_t available, uint16_t address, char *out,
                      size_t size);

#endif
