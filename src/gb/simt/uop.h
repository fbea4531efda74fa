/* SPDX-License-Identifier: MIT */
/* uop.h - rows of opcodes.def as fast.h wants them; kernel text.
 *
 * decode.h's rows name things; these answer questions. Eight words per opcode, so that what an
 * instruction does is told by bits and byte selectors, and lanes with different instructions need
 * not branch. Where one instruction of the GPU can use a field as it stands, it stands so:
 * selectors (dm_byte_pick's) are halves of words, signs are at the top of a word or a byte.
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
 *   mask      bit 0: Z is cleared; 1 and 3: what memory has to be like (smem.h); 8..10: the
 *             condition of a jump */
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

/* What no kind of fast_scalar.h knows. */
#define DM_GB_UOP_NOT_SCALAR                                                                       \
    (DM_GB_UOP_ADJUST | DM_GB_UOP_ODD | DM_GB_UOP_ODD_RESULT | DM_GB_UOP_CONTROL)

/* ---- From a row's columns; all of them constants ---- */

#define DM_GB_UOP_IS(operation, first, last)                                                       \
    ((operation) >= DM_GB_DO_##first && (operation) <= DM_GB_DO_##last)
#define DM_GB_UOP_BIT(condition, flag) ((condition) ? (uint32_t)(flag) : 0u)
#define DM_GB_UOP_PICKS(first, second) ((first) | ((uint32_t)(second) << 16))

#define DM_GB_UOP_BITWISE(o)                                                                       \
    ((o) == DM_GB_DO_BIT || (o) == DM_GB_DO_RES || (o) == DM_GB_DO_SET || (o) == DM_GB_DO_CPL)
#define DM_GB_UOP_ONE_OPERAND(o)                                                                   \
    (DM_GB_UOP_IS(o, INC, DEC) || DM_GB_UOP_IS(o, INC16, DEC16) || DM_GB_UOP_BITWISE(o))
#define DM_GB_UOP_IS_RELATIVE(o) ((o) == DM_GB_DO_JR || (o) == DM_GB_DO_ADD_SP)
#define DM_GB_UOP_IS_CONTROL(o)                                                                    \
    ((o) == DM_GB_DO_RETI || (o) == DM_GB_DO_HALT || DM_GB_UOP_IS(o, DI, EI))
#define DM_GB_UOP_IS_LONG(o) ((o) == DM_GB_DO_STOP || DM_GB_UOP_IS(o, ILLEGAL, PREFIX))
/* Of rotates and shifts SLA and RL are additions, and not RLA, which clears Z. */
#define DM_GB_UOP_DOUBLES(o, extra)                                                                \
    ((o) == DM_GB_DO_SLA || ((o) == DM_GB_DO_RL && (extra) != DM_GB_CLEAR_Z))

#define DM_GB_UOP_CLEARS_Z(o, extra)                                                               \
    ((o) == DM_GB_DO_ADD_SP || (DM_GB_UOP_IS(o, RLC, SRL) && (extra) == DM_GB_CLEAR_Z))

/* Registers: none of them, 7, is a byte that is zero. */
#define DM_GB_UOP_REGISTERS(s)                                                                     \
    ((s) <= DM_GB_ARG_A && (s) != DM_GB_ARG_MEM ? 0x7770u | ((s) ^ 1u)                             \
     : (s) == DM_GB_ARG_BC                      ? 0x7710u                                          \
     : (s) == DM_GB_ARG_DE                      ? 0x7732u                                          \
     : (s) == DM_GB_ARG_HL                      ? 0x7754u                                          \
                                                : 0x7777u)
/* 5 and 6 are the bytes after the opcode, D is the sign of the first. */
#define DM_GB_UOP_SOURCE(o, s)                                                                     \
    DM_GB_UOP_PICKS(DM_GB_UOP_REGISTERS(s), (s) == DM_GB_ARG_IMM16     ? 0x3365u                   \
                                            : (s) != DM_GB_ARG_IMM8    ? 0x3210u                   \
                                            : DM_GB_UOP_IS_RELATIVE(o) ? 0x33D5u                   \
                                                                       : 0x3335u)
/* 7 is the top byte of the word: FF. */
#define DM_GB_UOP_ADDRESS(a)                                                                       \
    ((a) == DM_GB_ADDR_AT_BC    ? DM_GB_UOP_PICKS(0x7710u, 0x3210u)                                \
     : (a) == DM_GB_ADDR_AT_DE  ? DM_GB_UOP_PICKS(0x7732u, 0x3210u)                                \
     : (a) == DM_GB_ADDR_AT_C   ? DM_GB_UOP_PICKS(0x7770u, 0x3370u)                                \
     : (a) == DM_GB_ADDR_AT_A16 ? DM_GB_UOP_PICKS(0x7777u, 0x3365u)                                \
     : (a) == DM_GB_ADDR_AT_A8  ? DM_GB_UOP_PICKS(0x7777u, 0x3375u)                                \
                                : DM_GB_UOP_PICKS(0x7754u, 0x3210u))
#define DM_GB_UOP_ADDER(o, extra)                                                                  \
    DM_GB_UOP_PICKS(DM_GB_UOP_IS(o, ADD, OR)                                  ? 0x3332u            \
                    : (o) == DM_GB_DO_ADD16                                   ? 0x3310u            \
                    : DM_GB_UOP_ONE_OPERAND(o) || DM_GB_UOP_DOUBLES(o, extra) ? 0x7654u            \
                                                                              : 0x3333u,           \
                    DM_GB_UOP_ONE_OPERAND(o) ? 0x3336u : 0x3210u)
#define DM_GB_UOP_CONSTANT(o, extra)                                                               \
    ((o) == DM_GB_DO_BIT || (o) == DM_GB_DO_SET ? 1u << ((extra)&7)                                \
     : (o) == DM_GB_DO_RES                      ? 0xFFu & ~(1u << ((extra)&7))                     \
     : (o) == DM_GB_DO_CPL                      ? 0xFFu                                            \
     : (o) == DM_GB_DO_RST                      ? (uint32_t)(extra)                                \
                                                : 1u)
/* 4 and 5 are the bytes of the result. */
#define DM_GB_UOP_TO_LOW(d)                                                                        \
    ((d) == DM_GB_ARG_B    ? 0x3240u                                                               \
     : (d) == DM_GB_ARG_C  ? 0x3214u                                                               \
     : (d) == DM_GB_ARG_D  ? 0x4210u                                                               \
     : (d) == DM_GB_ARG_E  ? 0x3410u                                                               \
     : (d) == DM_GB_ARG_BC ? 0x3254u                                                               \
     : (d) == DM_GB_ARG_DE ? 0x5410u                                                               \
                           : 0x3210u)
#define DM_GB_UOP_TO_HIGH(d)                                                                       \
    ((d) == DM_GB_ARG_H    ? 0x3240u                                                               \
     : (d) == DM_GB_ARG_L  ? 0x3214u                                                               \
     : (d) == DM_GB_ARG_A  ? 0x3410u                                                               \
     : (d) == DM_GB_ARG_HL ? 0x3254u                                                               \
                           : 0x3210u)
#define DM_GB_UOP_PUT(d, a)                                                                        \
    (DM_GB_UOP_PICKS(DM_GB_UOP_TO_LOW(d), DM_GB_UOP_TO_HIGH(d)) |                                  \
     DM_GB_UOP_BIT((a) == DM_GB_ADDR_AT_HLI, 1u << 30) |                                           \
     DM_GB_UOP_BIT((a) == DM_GB_ADDR_AT_HLD, 3u << 30))

/* Of a conditional jump; NZ and C as they are, Z and NC negated. */
#define DM_GB_UOP_CONDITIONAL(o, extra) (DM_GB_UOP_IS(o, CALL, JP) && (extra) != 0)
#define DM_GB_UOP_CONDITION(o, extra)                                                              \
    (!DM_GB_UOP_CONDITIONAL(o, extra) ? DM_GB_UOP_ALWAYS                                           \
     : (extra) <= DM_GB_IF_Z          ? DM_GB_UOP_IF_NONZERO                                       \
                                      : DM_GB_UOP_IF_CARRY)
#define DM_GB_UOP_NEGATED(o, extra)                                                                \
    (!DM_GB_UOP_CONDITIONAL(o, extra) ? DM_GB_UOP_ALWAYS                                           \
     : (extra) == DM_GB_IF_Z          ? DM_GB_UOP_IF_NONZERO                                       \
     : (extra) == DM_GB_IF_NC         ? DM_GB_UOP_IF_CARRY                                         \
                                      : 0u)

#define DM_GB_UOP_FLAGS_OPERATION(o, extra)                                                        \
    (DM_GB_UOP_BIT(DM_GB_UOP_IS(o, JR, JP), DM_GB_UOP_LOOPS) |                                     \
     DM_GB_UOP_BIT((o) == DM_GB_DO_JR, DM_GB_UOP_RELATIVE) |                                       \
     DM_GB_UOP_BIT((o) == DM_GB_DO_ADD_SP, DM_GB_UOP_X_SP) |                                       \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, RST, JP) || (o) == DM_GB_DO_JP_HL, DM_GB_UOP_JUMPS) |           \
     DM_GB_UOP_BIT((o) == DM_GB_DO_CALL || (o) == DM_GB_DO_RST, DM_GB_UOP_CALLS) |                 \
     DM_GB_UOP_BIT(DM_GB_UOP_IS_CONTROL(o), DM_GB_UOP_CONTROL) |                                   \
     DM_GB_UOP_BIT((o) == DM_GB_DO_AND || (o) == DM_GB_DO_BIT, DM_GB_UOP_SETS_H) |                 \
     DM_GB_UOP_BIT((o) == DM_GB_DO_AND || (o) == DM_GB_DO_OR || (o) == DM_GB_DO_BIT ||             \
                       (o) == DM_GB_DO_RES || (o) == DM_GB_DO_SET,                                 \
                   DM_GB_UOP_AND) |                                                                \
     DM_GB_UOP_BIT((o) == DM_GB_DO_XOR || (o) == DM_GB_DO_OR || (o) == DM_GB_DO_SET ||             \
                       (o) == DM_GB_DO_CPL,                                                        \
                   DM_GB_UOP_XOR) |                                                                \
     DM_GB_UOP_BIT((o) == DM_GB_DO_CPL, DM_GB_UOP_SETS_H | DM_GB_UOP_SETS_N) |                     \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, ADD, DEC) || (o) == DM_GB_DO_ADD16 || (o) == DM_GB_DO_ADD_SP || \
                       (o) == DM_GB_DO_BIT || (o) == DM_GB_DO_CPL || DM_GB_UOP_DOUBLES(o, extra),  \
                   DM_GB_UOP_SETS_HN) |                                                            \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, ADD, CP) || DM_GB_UOP_IS(o, INC, DEC) ||                        \
                       (o) == DM_GB_DO_ADD16 || (o) == DM_GB_DO_ADD_SP,                            \
                   DM_GB_UOP_H_ADDER) |                                                            \
     DM_GB_UOP_BIT((o) == DM_GB_DO_ADD16, DM_GB_UOP_WIDE) |                                        \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, SUB, CP) || (o) == DM_GB_DO_DEC || (o) == DM_GB_DO_DEC16,       \
                   DM_GB_UOP_SUBTRACT) |                                                           \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, SUB, CP) || (o) == DM_GB_DO_DEC, DM_GB_UOP_SETS_N) |            \
     DM_GB_UOP_BIT((o) == DM_GB_DO_ADC || (o) == DM_GB_DO_SBC ||                                   \
                       ((o) == DM_GB_DO_RL && DM_GB_UOP_DOUBLES(o, extra)),                        \
                   DM_GB_UOP_CARRY_IN) |                                                           \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, INC16, LD_SP_HL), DM_GB_UOP_ADJUST) |                           \
     DM_GB_UOP_BIT((o) == DM_GB_DO_RST, DM_GB_UOP_ODD) |                                           \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, RLC, CCF) && !DM_GB_UOP_BITWISE(o) &&                           \
                       !DM_GB_UOP_DOUBLES(o, extra),                                               \
                   DM_GB_UOP_ODD_RESULT) |                                                         \
     DM_GB_UOP_BIT(DM_GB_UOP_IS(o, ADD, DEC) || DM_GB_UOP_IS(o, ADD16, DEC16) ||                   \
                       DM_GB_UOP_BITWISE(o) || DM_GB_UOP_DOUBLES(o, extra),                        \
                   DM_GB_UOP_ADDS) |                                                               \
     DM_GB_UOP_BIT(DM_GB_UOP_IS_LONG(o), DM_GB_UOP_LONG | DM_GB_UOP_ODD))

#define DM_GB_UOP_FLAGS_OPERANDS(s, d)                                                             \
    (DM_GB_UOP_BIT((s) == DM_GB_ARG_MEM, DM_GB_UOP_READS) |                                        \
     DM_GB_UOP_BIT((d) == DM_GB_ARG_MEM, DM_GB_UOP_WRITES) |                                       \
     DM_GB_UOP_BIT((d) == DM_GB_ARG_MEM16, DM_GB_UOP_WRITES | DM_GB_UOP_TWO) |                     \
     DM_GB_UOP_BIT((s) == DM_GB_ARG_STACK,                                                         \
                   DM_GB_UOP_READS | DM_GB_UOP_TWO | DM_GB_UOP_STACK | (2u << 29)) |               \
     DM_GB_UOP_BIT((d) == DM_GB_ARG_STACK,                                                         \
                   DM_GB_UOP_WRITES | DM_GB_UOP_TWO | DM_GB_UOP_STACK | (6u << 29)) |              \
     DM_GB_UOP_BIT((d) == DM_GB_ARG_SP, DM_GB_UOP_TO_SP | DM_GB_UOP_ODD_RESULT) |                  \
     DM_GB_UOP_BIT((s) == DM_GB_ARG_SP || (s) == DM_GB_ARG_AF, DM_GB_UOP_ODD) |                    \
     DM_GB_UOP_BIT((d) == DM_GB_ARG_AF, DM_GB_UOP_ODD_RESULT))

/* Nothing but the adder, and registers in and out of it. */
#define DM_GB_UOP_NOT_SIMPLE                                                                       \
    (DM_GB_UOP_READS | DM_GB_UOP_WRITES | DM_GB_UOP_ODD | DM_GB_UOP_ODD_RESULT | DM_GB_UOP_JUMPS | \
     DM_GB_UOP_X_SP | DM_GB_UOP_CONTROL)
#define DM_GB_UOP_FLAGS(o, s, d, extra)                                                            \
    (DM_GB_UOP_FLAGS_OPERATION(o, extra) | DM_GB_UOP_FLAGS_OPERANDS(s, d) |                        \
     DM_GB_UOP_CONDITION(o, extra) |                                                               \
     DM_GB_UOP_BIT(((DM_GB_UOP_FLAGS_OPERATION(o, extra) | DM_GB_UOP_FLAGS_OPERANDS(s, d)) &       \
                    DM_GB_UOP_NOT_SIMPLE) == 0,                                                    \
                   DM_GB_UOP_SIMPLE))

#define DM_GB_UOP_CHANGES(o, extra)                                                                \
    (DM_GB_UOP_IS(o, ADD, OR) || DM_GB_UOP_DOUBLES(o, extra) ? 0x1FFu                              \
     : DM_GB_UOP_IS(o, INC, DEC) || (o) == DM_GB_DO_BIT      ? 0xFFu                               \
     : (o) == DM_GB_DO_ADD16 || (o) == DM_GB_DO_ADD_SP       ? 0x100u                              \
                                                             : 0u)

#define DM_GB_UOP_ROW(o, s, d, a, length, extra, cycles, taken)                                    \
    {                                                                                              \
        DM_GB_UOP_SOURCE(o, s), DM_GB_UOP_ADDRESS(a), DM_GB_UOP_ADDER(o, extra),                   \
            DM_GB_UOP_FLAGS(o, s, d, extra), DM_GB_UOP_PUT(d, a),                                  \
            (uint32_t)(cycles) | ((uint32_t)(taken) << 8) | (DM_GB_UOP_CONSTANT(o, extra) << 16) | \
                ((uint32_t)(o) << 24) | ((uint32_t)(length) << 30),                                \
            DM_GB_UOP_CHANGES(o, extra),                                                           \
            8u |                                                                                   \
                DM_GB_UOP_BIT((d) == DM_GB_ARG_MEM || (d) == DM_GB_ARG_MEM16 ||                    \
                                  (d) == DM_GB_ARG_STACK,                                          \
                              2u) |                                                                \
                DM_GB_UOP_BIT(DM_GB_UOP_CLEARS_Z(o, extra), DM_GB_UOP_CLEAR_Z) |                   \
                DM_GB_UOP_NEGATED(o, extra)                                                        \
    }

/* The first is DM_GB_NO_WORD's; then those after 0xCB, then the base opcodes: as predecode.h counts
 * them. (PREFIX is LONG: its second byte makes the row, so there is no such word.) */
#define DM_GB_UOP_FIRST 0xFDFFu
#define DM_GB_UOPS 513u
DM_TABLE dm_gb_uop dm_gb_uops[DM_GB_UOPS] = {
    DM_GB_UOP_ROW(DM_GB_DO_PREFIX, DM_GB_ARG_NONE, DM_GB_ARG_NONE, DM_GB_ADDR_NONE, 1, 0, 4, 4),
#define DM_GB_UOP_OPCODE(code, mnemonic, length, cycles, taken, operation, source, destination,    \
                         address, extra)                                                           \
    DM_GB_UOP_ROW(DM_GB_DO_##operation, DM_GB_ARG_##source, DM_GB_ARG_##destination,               \
                  DM_GB_ADDR_##address, length, extra, cycles, taken),
#define OP(...)
#define CB DM_GB_UOP_OPCODE
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
#define OP DM_GB_UOP_OPCODE
#define CB(...)
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
};

#endif
