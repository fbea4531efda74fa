/* SPDX-License-Identifier: MIT */
/* decode.h - rows of opcodes.def as 32-bit words; kernel text.
 *
 *   bit  0..5   operation       16..19  address of MEM
 *        6..10  source          20..21  length in bytes
 *       11..15  destination     22..27  extra: condition, bit number, RST target or CLEAR_Z
 *
 * A CPU dispatches by opcode and hands each row to dm_gb_exec (sm83.h) as a constant, so that the
 * compiler folds it to specialised code. A GPU's slow path indexes the table, so that lanes on
 * different opcodes share one path; simt/uop.h has the rows in the form of its fast path. */
#ifndef DM_GB_DECODE_H
#define DM_GB_DECODE_H

#include "base/port.h"

/* Ordered so that properties of operations are ranges: see DM_GB_IDLES_*. */
enum dm_gb_operation {
    /* Only move a value from source to destination. */
    DM_GB_DO_NOP,
    DM_GB_DO_LD,
    DM_GB_DO_LD16,
    /* Idle before they touch memory, */
    DM_GB_DO_PUSH,
    DM_GB_DO_RST,
    DM_GB_DO_CALL,
    DM_GB_DO_RET_IF,
    /* and after it, */
    DM_GB_DO_RET,
    DM_GB_DO_RETI,
    DM_GB_DO_JR,
    DM_GB_DO_JP,
    DM_GB_DO_ADD16,
    DM_GB_DO_INC16,
    DM_GB_DO_DEC16,
    DM_GB_DO_LD_SP_HL,
    DM_GB_DO_ADD_SP,
    /* 8-bit arithmetic with A, */
    DM_GB_DO_ADD,
    DM_GB_DO_ADC,
    DM_GB_DO_SUB,
    DM_GB_DO_SBC,
    DM_GB_DO_CP,
    DM_GB_DO_AND,
    DM_GB_DO_XOR,
    DM_GB_DO_OR,
    /* on one operand, */
    DM_GB_DO_INC,
    DM_GB_DO_DEC,
    DM_GB_DO_RLC,
    DM_GB_DO_RRC,
    DM_GB_DO_RL,
    DM_GB_DO_RR,
    DM_GB_DO_SLA,
    DM_GB_DO_SRA,
    DM_GB_DO_SWAP,
    DM_GB_DO_SRL,
    DM_GB_DO_BIT,
    DM_GB_DO_RES,
    DM_GB_DO_SET,
    DM_GB_DO_DAA,
    DM_GB_DO_CPL,
    DM_GB_DO_SCF,
    DM_GB_DO_CCF,
    /* and the rest. */
    DM_GB_DO_JP_HL,
    DM_GB_DO_HALT,
    DM_GB_DO_STOP,
    DM_GB_DO_DI,
    DM_GB_DO_EI,
    DM_GB_DO_ILLEGAL,
    DM_GB_DO_PREFIX
};

#define DM_GB_IDLES_BEFORE(operation)                                                              \
    ((operation) >= DM_GB_DO_PUSH && (operation) <= DM_GB_DO_RET_IF)
#define DM_GB_IDLES_AFTER(operation)                                                               \
    ((operation) >= DM_GB_DO_RET_IF && (operation) <= DM_GB_DO_ADD_SP)

/* Operands. 0..7 are the encoding of r8 in opcodes, with [HL] as any MEM. */
enum dm_gb_operand {
    DM_GB_ARG_B,
    DM_GB_ARG_C,
    DM_GB_ARG_D,
    DM_GB_ARG_E,
    DM_GB_ARG_H,
    DM_GB_ARG_L,
    DM_GB_ARG_MEM,
    DM_GB_ARG_A,
    DM_GB_ARG_BC,
    DM_GB_ARG_DE,
    DM_GB_ARG_HL,
    DM_GB_ARG_SP,
    DM_GB_ARG_AF,
    DM_GB_ARG_IMM8,
    DM_GB_ARG_IMM16,
    DM_GB_ARG_STACK, /* two bytes at SP, which moves */
    DM_GB_ARG_MEM16, /* two bytes at the address */
    DM_GB_ARG_NONE
};

enum dm_gb_address {
    DM_GB_ADDR_NONE,
    DM_GB_ADDR_AT_HL,
    DM_GB_ADDR_AT_HLI,
    DM_GB_ADDR_AT_HLD,
    DM_GB_ADDR_AT_BC,
    DM_GB_ADDR_AT_DE,
    DM_GB_ADDR_AT_A16,
    DM_GB_ADDR_AT_A8,
    DM_GB_ADDR_AT_C
};

/* Extra: conditions of jumps (0 is always), and rotates of A that clear Z. */
#define DM_GB_IF_NZ 1
#define DM_GB_IF_Z 2
#define DM_GB_IF_NC 3
#define DM_GB_IF_C 4
#define DM_GB_CLEAR_Z 1

#define DM_GB_ROW(operation, source, destination, address, length, extra)                          \
    ((uint32_t)DM_GB_DO_##operation | ((uint32_t)DM_GB_ARG_##source << 6) |                        \
     ((uint32_t)DM_GB_ARG_##destination << 11) | ((uint32_t)DM_GB_ADDR_##address << 16) |          \
     ((uint32_t)(length) << 20) | ((uint32_t)(extra) << 22))

#define DM_GB_ROW_OPERATION(row) ((row)&63u)
#define DM_GB_ROW_SOURCE(row) (((row) >> 6) & 31u)
#define DM_GB_ROW_DESTINATION(row) (((row) >> 11) & 31u)
#define DM_GB_ROW_ADDRESS(row) (((row) >> 16) & 15u)
#define DM_GB_ROW_LENGTH(row) (((row) >> 20) & 3u)
#define DM_GB_ROW_EXTRA(row) (((row) >> 22) & 63u)

/* Rows 0..255 are the base opcodes, 256..511 those after 0xCB. */
DM_TABLE uint32_t dm_gb_rows[512] = {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    DM_GB_ROW(operation, source, destination, address, length, extra),
#define CB OP
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
};

/* A row out of place, missing or doubled does not compile: row i must say code i. */
enum {
#define OP(code, ...) DM_GB_OP_INDEX_##code,
#define CB(code, ...) DM_GB_CB_INDEX_##code,
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
    DM_GB_ROW_COUNT
};
DM_STATIC_ASSERT(DM_GB_ROW_COUNT == 512, "256 + 256 opcodes");
#define OP(code, ...) DM_STATIC_ASSERT(DM_GB_OP_INDEX_##code == (code), "row out of place");
#define CB(code, ...) DM_STATIC_ASSERT(DM_GB_CB_INDEX_##code == 256 + (code), "row out of place");
#include "gb/machine/opcodes.def"
#undef OP
#undef CB

#endif
