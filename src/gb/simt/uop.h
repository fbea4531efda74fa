/* SPDX-License-Identifier: MIT */
/* uop.h - uops: opcodes as steering bits for the fast path (fast.h); kernel text.
 *
 * A row of decode.h names an operation and its operands, which code must branch on. A uop has bits and
 * byte selectors instead, eight words per opcode, so that lanes with different instructions need not
 * branch. Fields lie where an instruction of the GPU can use them without shifting: selectors (of
 * dm_byte_pick) are halves of words, signs are at the top of a word or a byte. uop_decode.h makes the
 * table from the rows.
 *
 *   source    which bytes of C B E D L H A and 0 are the source; and which of these, or of the
 *             instruction's word (predecode.h), if it has them
 *   address   the same for the address in memory, if there is one that is not SP's
 *   adder     which bytes of L H A 0 and the source are its first operand; which of the source and
 *             `numbers` its second
 *   flags     DM_GB_Q_*, and the change of SP in its top three bits, signed
 *   put       which bytes of C B E D and the result become C B E D; which of L H A 0 and the result
 *             become those. In its top two bits the change of HL, signed: where there is one the
 *             result is a byte, so that the selector which they are part of still picks a zero
 *   numbers   bytes: T-cycles; T-cycles when a jump is taken; a constant; then the operation, and
 *             in the top two bits the length
 *   changes   which bits of zc change
 *   mask      bit 0: Z is cleared; 1 and 3: page attributes that make the access not plain
 *             (limits.h); 8..10: the condition of a jump */
#ifndef DM_SIMT_UOP_H
#define DM_SIMT_UOP_H

#include "gb/machine/decode.h"

typedef struct dm_gb_uop {
    uint32_t source, address, adder, flags;
    uint32_t put, numbers, changes, mask;
} dm_gb_uop;

#define DM_GB_UOP_READS (1u << 0)
#define DM_GB_UOP_WRITES (1u << 1)
#define DM_GB_UOP_TWO (1u << 2)    /* bytes of memory, not one */
#define DM_GB_UOP_WIDE (1u << 3)   /* ADD HL: flags are those of the high byte, 8 bits further up */
#define DM_GB_UOP_SETS_H (1u << 4) /* bit 4, as in hn */
#define DM_GB_UOP_STACK (1u << 5)  /* the address is SP's */
#define DM_GB_UOP_ODD (1u << 6)    /* the selectors cannot name the source, or LONG */
#define DM_GB_UOP_SUBTRACT (1u << 7)
/* Taken, if one of these is set and differs from its bit in `mask`: carry as in zc, not zero, and
 * one that is 0. */
#define DM_GB_UOP_IF_CARRY (1u << 8)
#define DM_GB_UOP_IF_NONZERO (1u << 9)
#define DM_GB_UOP_ALWAYS (1u << 10)
#define DM_GB_UOP_CONDITIONS (DM_GB_UOP_IF_CARRY | DM_GB_UOP_IF_NONZERO | DM_GB_UOP_ALWAYS)
#define DM_GB_UOP_RELATIVE (1u << 11)
#define DM_GB_UOP_JUMPS (1u << 12)
#define DM_GB_UOP_LOOPS (1u << 13) /* JR or JP: backwards, it may be an idle loop */
#define DM_GB_UOP_CALLS (1u << 14)
#define DM_GB_UOP_XOR (1u << 15)
#define DM_GB_UOP_SETS_N (1u << 16) /* bit 16, as in hn */
#define DM_GB_UOP_ODD_RESULT (1u << 17)
#define DM_GB_UOP_CONTROL (1u << 18)  /* HALT, DI, EI or RETI */
#define DM_GB_UOP_SIMPLE (1u << 19)   /* may follow another one in the same round */
#define DM_GB_UOP_ADJUST (1u << 20)   /* damages OAM if the source points there (oam_bug.h) */
#define DM_GB_UOP_CARRY_IN (1u << 21) /* 21 bits above the carry that is added */
#define DM_GB_UOP_X_SP (1u << 22)     /* the adder's first operand is SP */
#define DM_GB_UOP_AND (1u << 23)
#define DM_GB_UOP_SETS_HN (1u << 24)
#define DM_GB_UOP_H_ADDER (1u << 25) /* H is the adder's: 21 bits above it */
#define DM_GB_UOP_TO_SP (1u << 26)   /* the result */
#define DM_GB_UOP_LONG (1u << 27)    /* only the slow path knows it */
#define DM_GB_UOP_ADDS (1u << 28)    /* a result that is not the source, or flags */

#define DM_GB_UOP_CLEAR_Z (1u << 0) /* in `mask` */

#define DM_GB_UOP_CYCLES(row) ((row).numbers & 0xFFu)
#define DM_GB_UOP_CYCLES_TAKEN(row) ((row).numbers >> 8 & 0xFFu)
#define DM_GB_UOP_OPERATION(row) ((row).numbers >> 24 & 63u)
#define DM_GB_UOP_LENGTH(row) ((row).numbers >> 30)
#define DM_GB_UOP_SP_CHANGE(row) ((uint32_t)((int32_t)(row).flags >> 29))
#define DM_GB_UOP_HL_CHANGE(row) ((uint32_t)((int32_t)(row).put >> 30))

/* Flags of uops that no kind of fast_scalar.h executes. */
#define DM_GB_UOP_NOT_SCALAR                                                                       \
    (DM_GB_UOP_ADJUST | DM_GB_UOP_ODD | DM_GB_UOP_ODD_RESULT | DM_GB_UOP_CONTROL)

/* The table: the first row is DM_GB_NO_WORD's; then those after 0xCB, then the base opcodes, as predecode.h counts
 * them. (PREFIX is LONG: its second byte makes the row, so there is no such word.) The host makes it and uploads it
 * with the ROMs (uop_decode.h). */
#define DM_GB_UOP_FIRST 0xFDFFu
#define DM_GB_UOPS 513u

#endif
