/* SPDX-License-Identifier: MIT */
/* quick_kinds.h - eight kinds of instructions, each with a road of its own; kernel text.
 *
 * Where few lanes share a warp, what counts is not that lanes go the same way but that the way is
 * short. The road of quick.h is steered by bits of a row; for the instructions of one kind most of
 * those bits are known. Told to the compiler, nothing is left of the parts that the kind does not
 * need. So the road is written once, and this says only what a kind may have and what it must;
 * tests/gb/test_quick.c holds it against all 512 rows. */
#ifndef DM_GB_QUICK_KINDS_H
#define DM_GB_QUICK_KINDS_H

#include "gb/quick_rows.h"

/* Bits of the adder and of flags. */
#define DM_GB_Q_ADDER                                                                              \
    (DM_GB_Q_SETS_H | DM_GB_Q_SETS_N | DM_GB_Q_SETS_HN | DM_GB_Q_H_ADDER | DM_GB_Q_X_A |           \
     DM_GB_Q_X_V | DM_GB_Q_Y_CONST | DM_GB_Q_SUBTRACT | DM_GB_Q_CARRY_IN | DM_GB_Q_XOR |           \
     DM_GB_Q_AND | DM_GB_Q_WIDE)
#define DM_GB_Q_IF (DM_GB_Q_IF_NONZERO | DM_GB_Q_IF_CARRY)
#define DM_GB_Q_POPS (DM_GB_Q_READS | DM_GB_Q_TWO | DM_GB_Q_STACK | (1u << 30))
#define DM_GB_Q_PUSHES (DM_GB_Q_WRITES | DM_GB_Q_TWO | DM_GB_Q_STACK | (3u << 30))

/* In a row's other words: the result's selectors when there is no result, flags that do not change,
 * time of a jump, HL that does not move. */
#define DM_GB_Q_NOWHERE 0x3210u
#define DM_GB_Q_NO_RESULT_LOW 0xFFFF0000u
#define DM_GB_Q_NO_RESULT_HIGH 0x7777u
#define DM_GB_Q_CHANGE_BITS 0x1FFu
#define DM_GB_Q_TAKEN_BITS (15u << 14)
#define DM_GB_Q_HL_BITS (3u << 30)

/* What is known of a row of a kind, word by word: bits it may have, bits it has. */
typedef struct dm_gb_quick_kind {
    dm_gb_quick_row may, must;
} dm_gb_quick_kind;

#define DM_GB_QUICK_ANY 0xFFFFFFFFu

/* Always known of what is no jump: it is "taken", and takes no time for that. */
DM_FN dm_gb_quick_kind dm_gb_quick_kind_of(uint32_t kind)
{
    const uint32_t any = DM_GB_QUICK_ANY;
    const uint32_t nowhere_low = DM_GB_Q_NOWHERE << 16;
    const uint32_t tame = ~(DM_GB_Q_CONTROL | DM_GB_Q_CLEAR_Z);
    const uint32_t no_jump = ~DM_GB_Q_TAKEN_BITS;
    dm_gb_quick_kind k = {{any, any, any, any}, {0, 0, 0, 0}};
    switch (kind) {
    case DM_GB_KIND_MOVE:
        k.may.flags = DM_GB_Q_SOURCE_IMM;
        k.may.address = tame;
        k.must.address = DM_GB_Q_UNLESS;
        k.may.numbers = no_jump & ~(DM_GB_Q_CHANGE_BITS | DM_GB_Q_HL_BITS);
        break;
    case DM_GB_KIND_ALU:
        k.may.flags = DM_GB_Q_SOURCE_IMM | DM_GB_Q_ADJUST | DM_GB_Q_TO_SP | DM_GB_Q_ADDER;
        k.may.address = ~DM_GB_Q_CONTROL;
        k.must.address = DM_GB_Q_UNLESS;
        k.may.numbers = no_jump & ~DM_GB_Q_HL_BITS;
        break;
    case DM_GB_KIND_READ:
        k.may.flags = DM_GB_Q_READS | DM_GB_Q_ADDRESS_IMM | DM_GB_Q_HIGH | DM_GB_Q_ADDER;
        k.must.flags = DM_GB_Q_READS;
        k.may.address = tame;
        k.must.address = DM_GB_Q_UNLESS;
        k.may.numbers = no_jump;
        break;
    case DM_GB_KIND_WRITE:
        k.may.registers = ~DM_GB_Q_NO_RESULT_LOW | nowhere_low;
        k.must.registers = nowhere_low;
        k.may.flags =
            DM_GB_Q_WRITES | DM_GB_Q_SOURCE_IMM | DM_GB_Q_ADDRESS_IMM | DM_GB_Q_HIGH;
        k.must.flags = DM_GB_Q_WRITES;
        k.may.address = tame & (~DM_GB_Q_NO_RESULT_HIGH | DM_GB_Q_NOWHERE);
        k.must.address = DM_GB_Q_UNLESS | DM_GB_Q_NOWHERE;
        k.may.numbers = no_jump & ~DM_GB_Q_CHANGE_BITS;
        break;
    case DM_GB_KIND_JUMP:
        k.may.registers = ~DM_GB_Q_NO_RESULT_LOW | nowhere_low;
        k.must.registers = nowhere_low;
        k.may.flags = DM_GB_Q_JUMPS | DM_GB_Q_SOURCE_IMM | DM_GB_Q_LOOPS | DM_GB_Q_RELATIVE |
                      DM_GB_Q_IF;
        k.must.flags = DM_GB_Q_JUMPS;
        k.may.address = tame & (~DM_GB_Q_NO_RESULT_HIGH | DM_GB_Q_NOWHERE);
        k.must.address = DM_GB_Q_NOWHERE;
        k.may.numbers = ~(DM_GB_Q_CHANGE_BITS | DM_GB_Q_HL_BITS);
        break;
    case DM_GB_KIND_POP:
        k.may.flags = DM_GB_Q_POPS | DM_GB_Q_JUMPS | DM_GB_Q_IF;
        k.must.flags = DM_GB_Q_POPS;
        k.may.address = tame;
        k.may.numbers = ~(DM_GB_Q_CHANGE_BITS | DM_GB_Q_HL_BITS);
        break;
    case DM_GB_KIND_PUSH:
        k.may.registers = ~DM_GB_Q_NO_RESULT_LOW | nowhere_low;
        k.must.registers = nowhere_low;
        k.may.flags = DM_GB_Q_PUSHES | DM_GB_Q_SOURCE_IMM | DM_GB_Q_JUMPS | DM_GB_Q_CALLS |
                      DM_GB_Q_IF;
        k.must.flags = DM_GB_Q_PUSHES;
        k.may.address = tame & (~DM_GB_Q_NO_RESULT_HIGH | DM_GB_Q_NOWHERE);
        k.must.address = DM_GB_Q_NOWHERE;
        k.may.numbers = ~(DM_GB_Q_CHANGE_BITS | DM_GB_Q_HL_BITS);
        break;
    default: break;
    }
    return k;
}

/* The row itself, for a compiler that knows `kind`. */
DM_FN dm_gb_quick_row dm_gb_quick_as(dm_gb_quick_row row, uint32_t kind)
{
    const dm_gb_quick_kind k = dm_gb_quick_kind_of(kind);
    row.registers = (row.registers & k.may.registers) | k.must.registers;
    row.address = (row.address & k.may.address) | k.must.address;
    row.flags = (row.flags & k.may.flags) | k.must.flags;
    row.numbers = (row.numbers & k.may.numbers) | k.must.numbers;
    return row;
}

#endif
