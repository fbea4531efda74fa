/* SPDX-License-Identifier: MIT */
/* quick_rows.h - rows of opcodes.def as quick.h wants them; kernel text.
 *
 * decode.h's rows name things; these answer questions. Sixteen bytes per opcode, so that what an
 * instruction does is told by bits and byte selectors, and lanes with different instructions need
 * not branch:
 *
 *   registers   0..7 which bytes are the source, 8..15 a constant, 16..31 where the result goes
 *               among B C D E
 *   address     0..15 where the result goes among H L A, 16..23 which bytes are the address, then
 *               the length and five more flags
 *   flags       DM_GB_Q_*, and the change of SP in its top two bits, signed, in words
 *   numbers     0..8 which bits of zc change, 9..13 T-cycles, 14..17 more of them when a jump is
 *               taken, 18..23 operation, 24..29 extra, and the change of HL in its top two bits
 *
 * Selectors are dm_byte_perm's: 0..7 are C B E D L H A and a byte that is zero; for the result
 * 4 and 5 are its low and high byte. */
#ifndef DM_GB_QUICK_ROWS_H
#define DM_GB_QUICK_ROWS_H

#include "gb/decode.h"

typedef struct dm_gb_quick_row {
    uint32_t registers, address, flags, numbers;
} dm_gb_quick_row;

#define DM_GB_Q_SOURCE_IMM (1u << 0)  /* the source's bytes are the instruction's */
#define DM_GB_Q_ADDRESS_IMM (1u << 1) /* so are the address's */
#define DM_GB_Q_LOOPS (1u << 2)       /* JR or JP: backwards, it may be a polling loop */
#define DM_GB_Q_READS (1u << 3)
#define DM_GB_Q_SETS_H (1u << 4) /* bit 4, as in hn */
#define DM_GB_Q_WRITES (1u << 5)
#define DM_GB_Q_TWO (1u << 6)   /* bytes of memory, not one */
#define DM_GB_Q_STACK (1u << 7) /* the address is SP's */
#define DM_GB_Q_HIGH (1u << 8)  /* the address is FF00 + a byte */
#define DM_GB_Q_ADJUST (1u << 9)
#define DM_GB_Q_LONG (1u << 10) /* only the long road knows it */
#define DM_GB_Q_ODD_SOURCE (1u << 11)
#define DM_GB_Q_ODD_RESULT (1u << 12)
#define DM_GB_Q_CALLS (1u << 13)
#define DM_GB_Q_WIDE (1u << 14)       /* ADD HL: flags are those of the high byte */
#define DM_GB_Q_TO_SP (1u << 15)      /* the result */
#define DM_GB_Q_SETS_N (1u << 16)     /* bit 16, as in hn */
#define DM_GB_Q_IF_NONZERO (1u << 17) /* a jump on NZ, or with UNLESS on Z */
#define DM_GB_Q_X_A (1u << 18)        /* the adder's first operand is A, */
#define DM_GB_Q_X_V (1u << 19)        /* or the source; else 0 */
#define DM_GB_Q_Y_CONST (1u << 20)    /* its second operand is the constant, else the source */
#define DM_GB_Q_SUBTRACT (1u << 21)
#define DM_GB_Q_CARRY_IN (1u << 22)
#define DM_GB_Q_XOR (1u << 23)
#define DM_GB_Q_SETS_HN (1u << 24)
#define DM_GB_Q_H_ADDER (1u << 25)  /* H is the adder's */
#define DM_GB_Q_IF_CARRY (1u << 26) /* on C, or with UNLESS on NC */
#define DM_GB_Q_RELATIVE (1u << 27)
#define DM_GB_Q_JUMPS (1u << 28)
#define DM_GB_Q_AND (1u << 29)

/* A result that is not the source, or flags. */
#define DM_GB_Q_ADDS                                                                               \
    (DM_GB_Q_X_A | DM_GB_Q_X_V | DM_GB_Q_SETS_HN | DM_GB_Q_WIDE | DM_GB_Q_AND | DM_GB_Q_XOR)
/* What no kind of quick_alone.h knows. */
#define DM_GB_Q_UNKIND                                                                             \
    (DM_GB_Q_LONG | DM_GB_Q_ADJUST | DM_GB_Q_ODD_SOURCE | DM_GB_Q_ODD_RESULT | DM_GB_Q_TO_SP)

/* ---- From a row's columns; all of them constants ---- */

#define DM_GB_Q_IS(operation, first, last)                                                         \
    ((operation) >= DM_GB_DO_##first && (operation) <= DM_GB_DO_##last)

#define DM_GB_Q_PICK(source)                                                                       \
    ((source) == DM_GB_ARG_MEM     ? 0x77u                                                         \
     : (source) <= DM_GB_ARG_A     ? 0x70u | ((source) ^ 1u)                                       \
     : (source) == DM_GB_ARG_BC    ? 0x10u                                                         \
     : (source) == DM_GB_ARG_DE    ? 0x32u                                                         \
     : (source) == DM_GB_ARG_HL    ? 0x54u                                                         \
     : (source) == DM_GB_ARG_IMM8  ? 0x71u                                                         \
     : (source) == DM_GB_ARG_IMM16 ? 0x21u                                                         \
                                   : 0x77u)
#define DM_GB_Q_CONSTANT(o, extra)                                                                 \
    ((o) == DM_GB_DO_BIT || (o) == DM_GB_DO_SET ? 1u << ((extra)&7)                                \
     : (o) == DM_GB_DO_RES                      ? 0xFFu & ~(1u << ((extra)&7))                     \
     : (o) == DM_GB_DO_CPL                      ? 0xFFu                                            \
                                                : 1u)
#define DM_GB_Q_TO_LOW(destination)                                                                \
    ((destination) == DM_GB_ARG_B    ? 0x3240u                                                     \
     : (destination) == DM_GB_ARG_C  ? 0x3214u                                                     \
     : (destination) == DM_GB_ARG_D  ? 0x4210u                                                     \
     : (destination) == DM_GB_ARG_E  ? 0x3410u                                                     \
     : (destination) == DM_GB_ARG_BC ? 0x3254u                                                     \
     : (destination) == DM_GB_ARG_DE ? 0x5410u                                                     \
                                     : 0x3210u)
#define DM_GB_Q_TO_HIGH(destination)                                                               \
    ((destination) == DM_GB_ARG_H    ? 0x3240u                                                     \
     : (destination) == DM_GB_ARG_L  ? 0x3214u                                                     \
     : (destination) == DM_GB_ARG_A  ? 0x3410u                                                     \
     : (destination) == DM_GB_ARG_HL ? 0x3254u                                                     \
                                     : 0x3210u)
#define DM_GB_Q_PAIR(address)                                                                      \
    ((address) == DM_GB_ADDR_AT_BC    ? 0x10u                                                      \
     : (address) == DM_GB_ADDR_AT_DE  ? 0x32u                                                      \
     : (address) == DM_GB_ADDR_AT_A16 ? 0x21u                                                      \
     : (address) == DM_GB_ADDR_AT_A8  ? 0x71u                                                      \
     : (address) == DM_GB_ADDR_AT_C   ? 0x70u                                                      \
                                      : 0x54u)

#define DM_GB_Q_BIT(condition, flag) ((condition) ? (uint32_t)(flag) : 0u)

/* Conditions: NZ, C as they are; Z, NC negated; none: neither, negated. */
#define DM_GB_Q_CONDITION(operation, extra)                                                        \
    (!DM_GB_Q_IS(operation, CALL, JP) || (extra) == 0                                              \
         ? 0u                                                                                      \
         : ((extra) <= DM_GB_IF_Z ? DM_GB_Q_IF_NONZERO : DM_GB_Q_IF_CARRY))
#define DM_GB_Q_NEGATED(operation, extra)                                                          \
    (!DM_GB_Q_IS(operation, CALL, JP) || (extra) == 0 || (extra) == DM_GB_IF_Z ||                  \
     (extra) == DM_GB_IF_NC)

#define DM_GB_Q_BITWISE(o)                                                                         \
    ((o) == DM_GB_DO_BIT || (o) == DM_GB_DO_RES || (o) == DM_GB_DO_SET || (o) == DM_GB_DO_CPL)

#define DM_GB_Q_FLAGS_OPERATION(o)                                                                 \
    (DM_GB_Q_BIT(DM_GB_Q_IS(o, JR, JP), DM_GB_Q_LOOPS) |                                           \
     DM_GB_Q_BIT((o) == DM_GB_DO_JR || (o) == DM_GB_DO_ADD_SP, DM_GB_Q_RELATIVE) |                 \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, RST, JP) || (o) == DM_GB_DO_JP_HL, DM_GB_Q_JUMPS) |                 \
     DM_GB_Q_BIT((o) == DM_GB_DO_CALL || (o) == DM_GB_DO_RST, DM_GB_Q_CALLS) |                     \
     DM_GB_Q_BIT((o) == DM_GB_DO_AND, DM_GB_Q_SETS_H | DM_GB_Q_AND) |                              \
     DM_GB_Q_BIT((o) == DM_GB_DO_OR, DM_GB_Q_AND | DM_GB_Q_XOR) |                                  \
     DM_GB_Q_BIT((o) == DM_GB_DO_XOR, DM_GB_Q_XOR) |                                               \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, ADD, OR), DM_GB_Q_X_A | DM_GB_Q_SETS_HN) |                          \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, INC, DEC), DM_GB_Q_SETS_HN) |                                       \
     DM_GB_Q_BIT((o) == DM_GB_DO_ADD16, DM_GB_Q_SETS_HN | DM_GB_Q_WIDE | DM_GB_Q_H_ADDER) |        \
     DM_GB_Q_BIT((o) == DM_GB_DO_ADD_SP, DM_GB_Q_SETS_HN | DM_GB_Q_H_ADDER) |                      \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, ADD, CP) || DM_GB_Q_IS(o, INC, DEC), DM_GB_Q_H_ADDER) |             \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, INC, DEC) || DM_GB_Q_IS(o, INC16, DEC16) || DM_GB_Q_BITWISE(o),     \
                 DM_GB_Q_X_V | DM_GB_Q_Y_CONST) |                                                  \
     DM_GB_Q_BIT((o) == DM_GB_DO_BIT, DM_GB_Q_SETS_HN | DM_GB_Q_SETS_H | DM_GB_Q_AND) |            \
     DM_GB_Q_BIT((o) == DM_GB_DO_RES, DM_GB_Q_AND) |                                               \
     DM_GB_Q_BIT((o) == DM_GB_DO_SET, DM_GB_Q_AND | DM_GB_Q_XOR) |                                 \
     DM_GB_Q_BIT((o) == DM_GB_DO_CPL,                                                              \
                 DM_GB_Q_SETS_HN | DM_GB_Q_SETS_H | DM_GB_Q_SETS_N | DM_GB_Q_XOR) |                \
     DM_GB_Q_BIT((o) == DM_GB_DO_SLA || (o) == DM_GB_DO_RL, DM_GB_Q_X_V | DM_GB_Q_SETS_HN) |       \
     DM_GB_Q_BIT((o) == DM_GB_DO_RL, DM_GB_Q_CARRY_IN) |                                           \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, SUB, CP) || (o) == DM_GB_DO_DEC || (o) == DM_GB_DO_DEC16,           \
                 DM_GB_Q_SUBTRACT) |                                                               \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, SUB, CP) || (o) == DM_GB_DO_DEC, DM_GB_Q_SETS_N) |                  \
     DM_GB_Q_BIT((o) == DM_GB_DO_ADC || (o) == DM_GB_DO_SBC, DM_GB_Q_CARRY_IN) |                   \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, INC16, LD_SP_HL), DM_GB_Q_ADJUST) |                                 \
     DM_GB_Q_BIT((o) == DM_GB_DO_RST, DM_GB_Q_ODD_SOURCE) |                                        \
     DM_GB_Q_BIT(DM_GB_Q_IS(o, RLC, CCF) && !DM_GB_Q_BITWISE(o) && (o) != DM_GB_DO_SLA &&          \
                     (o) != DM_GB_DO_RL,                                                           \
                 DM_GB_Q_ODD_RESULT) |                                                             \
     DM_GB_Q_BIT((o) == DM_GB_DO_STOP || DM_GB_Q_IS(o, ILLEGAL, PREFIX), DM_GB_Q_LONG))

#define DM_GB_Q_IS_CONTROL(o)                                                                      \
    ((o) == DM_GB_DO_RETI || (o) == DM_GB_DO_HALT || DM_GB_Q_IS(o, DI, EI))

#define DM_GB_Q_IS_RLA(o, extra) ((o) == DM_GB_DO_RL && (extra) == DM_GB_CLEAR_Z)

/* INC SP and DEC SP. */
#define DM_GB_Q_STEPS_SP(o, s) (DM_GB_Q_IS(o, INC16, DEC16) && (s) == DM_GB_ARG_SP)

#define DM_GB_Q_FLAGS_OPERANDS(o, s, d, a)                                                         \
    (DM_GB_Q_BIT((s) == DM_GB_ARG_IMM8 || (s) == DM_GB_ARG_IMM16, DM_GB_Q_SOURCE_IMM) |            \
     DM_GB_Q_BIT((a) == DM_GB_ADDR_AT_A16 || (a) == DM_GB_ADDR_AT_A8, DM_GB_Q_ADDRESS_IMM) |       \
     DM_GB_Q_BIT((a) == DM_GB_ADDR_AT_A8 || (a) == DM_GB_ADDR_AT_C, DM_GB_Q_HIGH) |                \
     DM_GB_Q_BIT((s) == DM_GB_ARG_MEM, DM_GB_Q_READS) |                                            \
     DM_GB_Q_BIT((d) == DM_GB_ARG_MEM, DM_GB_Q_WRITES) |                                           \
     DM_GB_Q_BIT((d) == DM_GB_ARG_MEM16, DM_GB_Q_WRITES | DM_GB_Q_TWO) |                           \
     DM_GB_Q_BIT((s) == DM_GB_ARG_STACK,                                                           \
                 DM_GB_Q_READS | DM_GB_Q_TWO | DM_GB_Q_STACK | (1u << 30)) |                       \
     DM_GB_Q_BIT((d) == DM_GB_ARG_STACK,                                                           \
                 DM_GB_Q_WRITES | DM_GB_Q_TWO | DM_GB_Q_STACK | (3u << 30)) |                      \
     DM_GB_Q_BIT((d) == DM_GB_ARG_SP, DM_GB_Q_TO_SP) |                                             \
     DM_GB_Q_BIT(((s) == DM_GB_ARG_SP && !DM_GB_Q_STEPS_SP(o, s)) || (s) == DM_GB_ARG_AF,          \
                 DM_GB_Q_ODD_SOURCE) |                                                             \
     DM_GB_Q_BIT((d) == DM_GB_ARG_AF, DM_GB_Q_ODD_RESULT))

#define DM_GB_Q_CHANGES(o)                                                                         \
    (DM_GB_Q_IS(o, ADD, OR) || (o) == DM_GB_DO_SLA || (o) == DM_GB_DO_RL ? 0x1FFu                  \
     : DM_GB_Q_IS(o, INC, DEC) || (o) == DM_GB_DO_BIT                    ? 0xFFu                   \
     : (o) == DM_GB_DO_ADD16 || (o) == DM_GB_DO_ADD_SP                   ? 0x100u                  \
                                                                         : 0u)

#define DM_GB_Q_NUMBERS(o, a, extra, cycles, taken)                                                \
    (DM_GB_Q_CHANGES(o) | ((uint32_t)(cycles) << 9) | ((uint32_t)((taken) - (cycles)) << 14) |     \
     ((uint32_t)(o) << 18) | ((uint32_t)(extra) << 24) |                                           \
     DM_GB_Q_BIT((a) == DM_GB_ADDR_AT_HLI, 1u << 30) |                                             \
     DM_GB_Q_BIT((a) == DM_GB_ADDR_AT_HLD, 3u << 30))

/* Nothing but the adder, and registers in and out of it. */
#define DM_GB_Q_IS_SIMPLE(o, s, d, a, extra)                                                       \
    (((DM_GB_Q_FLAGS_OPERATION(o) | DM_GB_Q_FLAGS_OPERANDS(o, s, d, a)) &                          \
      (DM_GB_Q_READS | DM_GB_Q_WRITES | DM_GB_Q_LONG | DM_GB_Q_ODD_SOURCE | DM_GB_Q_ODD_RESULT |   \
       DM_GB_Q_JUMPS | DM_GB_Q_RELATIVE | DM_GB_Q_TO_SP)) == 0 &&                                  \
     !DM_GB_Q_STEPS_SP(o, s) && !DM_GB_Q_IS_CONTROL(o) && !DM_GB_Q_IS_RLA(o, extra))

#define DM_GB_Q_LENGTH(row) ((row).address >> 24 & 3u)
#define DM_GB_Q_UNLESS (1u << 26)  /* in `address`: the condition is negated, */
#define DM_GB_Q_CONTROL (1u << 27) /* and: HALT, DI, EI or RETI, */
#define DM_GB_Q_CLEAR_Z (1u << 28) /* and: RLA, SP + e */
#define DM_GB_Q_X_SP (1u << 29)    /* and: the adder's first operand is SP, */
#define DM_GB_Q_SIMPLE (1u << 31)  /* and: may follow another one in the same round */
#define DM_GB_Q_CYCLES(row) ((row).numbers >> 9 & 31u)
#define DM_GB_Q_CYCLES_TAKEN(row) ((row).numbers >> 14 & 15u)
#define DM_GB_Q_OPERATION(row) ((row).numbers >> 18 & 63u)
#define DM_GB_Q_EXTRA(row) ((row).numbers >> 24 & 63u)

#define DM_GB_Q_ROW(o, s, d, a, length, extra, cycles, taken)                                      \
    {                                                                                              \
        DM_GB_Q_PICK(s) | (DM_GB_Q_CONSTANT(o, extra) << 8) | (DM_GB_Q_TO_LOW(d) << 16),           \
            DM_GB_Q_TO_HIGH(d) | (DM_GB_Q_PAIR(a) << 16) | ((uint32_t)(length) << 24) |            \
                DM_GB_Q_BIT(DM_GB_Q_NEGATED(o, extra), DM_GB_Q_UNLESS) |                           \
                DM_GB_Q_BIT(DM_GB_Q_IS_CONTROL(o), DM_GB_Q_CONTROL) |                              \
                DM_GB_Q_BIT(DM_GB_Q_IS_SIMPLE(o, s, d, a, extra), DM_GB_Q_SIMPLE) |                \
                DM_GB_Q_BIT(DM_GB_Q_IS_RLA(o, extra) || (o) == DM_GB_DO_ADD_SP, DM_GB_Q_CLEAR_Z) | \
                DM_GB_Q_BIT((o) == DM_GB_DO_ADD_SP || DM_GB_Q_STEPS_SP(o, s), DM_GB_Q_X_SP),       \
            DM_GB_Q_FLAGS_OPERATION(o) | DM_GB_Q_FLAGS_OPERANDS(o, s, d, a) |                      \
                DM_GB_Q_CONDITION(o, extra),                                                       \
            DM_GB_Q_NUMBERS(o, a, extra, cycles, taken)                                            \
    }

/* Rows 0..255 are the base opcodes, 256..511 those after 0xCB. */
DM_TABLE dm_gb_quick_row dm_gb_quick_rows[512] = {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    DM_GB_Q_ROW(DM_GB_DO_##operation, DM_GB_ARG_##source, DM_GB_ARG_##destination,                 \
                DM_GB_ADDR_##address, length, extra, cycles, taken),
#define CB OP
#include "gb/opcodes.def"
#undef OP
#undef CB
};

#endif
