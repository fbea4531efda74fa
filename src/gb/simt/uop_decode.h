/* SPDX-License-Identifier: MIT */
/* uop_decode.h - the table of uops (uop.h), from the rows of opcodes.def; for the host, which uploads it with the ROMs.
 *
 * A uop is put together from four parts of a row, a function each: what the operation does, where the source comes
 * from, where the result goes, and which address is accessed. dm_gb_uop_decode calls them. */
#ifndef DM_SIMT_UOP_DECODE_H
#define DM_SIMT_UOP_DECODE_H

#include "gb/machine/decode.h"
#include "gb/simt/limits.h"
#include "gb/simt/uop.h"

/* ---- Selectors (dm_byte_pick): each hexadecimal digit names a byte, the lowest byte of the result last ----
 * Of registers: C B E D L H A and 0 are bytes 0 to 7. */
#define DM_GB_PICK_NO_REGISTER 0x7777u
#define DM_GB_PICK_BC 0x7710u
#define DM_GB_PICK_DE 0x7732u
#define DM_GB_PICK_HL 0x7754u
#define DM_GB_PICK_REGISTER_C 0x7770u
/* Then of those (0 to 3) and the instruction's word: 5, 6 are the bytes after the opcode, D the sign of 5, 7 is FF. */
#define DM_GB_PICK_REGISTERS 0x3210u
#define DM_GB_PICK_IMM16 0x3365u
#define DM_GB_PICK_IMM8 0x3335u
#define DM_GB_PICK_RELATIVE 0x33D5u
#define DM_GB_PICK_PAGE_FF_IMM8 0x3375u
#define DM_GB_PICK_PAGE_FF_LOW 0x3370u
/* The adder's operands: of L H A 0 (0 to 3) and the source (4 to 7); of the source and the constant, byte 6. */
#define DM_GB_PICK_X_NONE 0x3333u
#define DM_GB_PICK_X_A 0x3332u
#define DM_GB_PICK_X_HL 0x3310u
#define DM_GB_PICK_X_SOURCE 0x7654u
#define DM_GB_PICK_Y_SOURCE 0x3210u
#define DM_GB_PICK_Y_CONSTANT 0x3336u
/* What becomes of four bytes of registers: themselves, or bytes 4 and 5, the result. */
#define DM_GB_PICK_KEEP 0x3210u

DM_FN uint32_t dm_gb_uop_picks(uint32_t first, uint32_t second)
{
    return first | second << 16;
}

/* ---- What the operation does ---- */

/* 8-bit arithmetic of A and the source. */
DM_FN void dm_gb_uop_arithmetic(dm_gb_uop *uop, uint32_t flags)
{
    uop->adder = dm_gb_uop_picks(DM_GB_PICK_X_A, DM_GB_PICK_Y_SOURCE);
    uop->flags |= flags | DM_GB_UOP_SETS_HN | DM_GB_UOP_ADDS;
    uop->changes = 0x1FFu;
}

/* The source and a constant. */
DM_FN void dm_gb_uop_with_constant(dm_gb_uop *uop, uint32_t constant, uint32_t flags)
{
    uop->adder = dm_gb_uop_picks(DM_GB_PICK_X_SOURCE, DM_GB_PICK_Y_CONSTANT);
    uop->numbers = (uop->numbers & ~0xFF0000u) | constant << 16;
    uop->flags |= flags | DM_GB_UOP_ADDS;
}

/* A jump, call or return, with a condition unless `extra` is 0. */
DM_FN void dm_gb_uop_branch(dm_gb_uop *uop, uint32_t extra, uint32_t flags)
{
    uop->flags |= flags | DM_GB_UOP_JUMPS;
    if (extra == 0)
        return;
    const uint32_t condition =
        extra == DM_GB_IF_NZ || extra == DM_GB_IF_Z ? DM_GB_UOP_IF_NONZERO : DM_GB_UOP_IF_CARRY;
    const bool negated = extra == DM_GB_IF_Z || extra == DM_GB_IF_NC;
    uop->flags = (uop->flags & ~DM_GB_UOP_ALWAYS) | condition;
    uop->mask = (uop->mask & ~DM_GB_UOP_ALWAYS) | (negated ? condition : 0u);
}

DM_FN void dm_gb_uop_operation(dm_gb_uop *uop, uint32_t operation, uint32_t extra)
{
    const uint32_t bit = 1u << (extra & 7u);
    const bool clears_z = extra == DM_GB_CLEAR_Z;
    switch (operation) {
    case DM_GB_DO_NOP:
    case DM_GB_DO_LD:
    case DM_GB_DO_LD16:
    case DM_GB_DO_PUSH:
        break;
    case DM_GB_DO_RST:
        dm_gb_uop_branch(uop, 0, DM_GB_UOP_CALLS | DM_GB_UOP_ODD);
        uop->numbers = (uop->numbers & ~0xFF0000u) | extra << 16;
        break;
    case DM_GB_DO_CALL:
        dm_gb_uop_branch(uop, extra, DM_GB_UOP_CALLS);
        break;
    case DM_GB_DO_RET_IF:
    case DM_GB_DO_RET:
        dm_gb_uop_branch(uop, extra, 0);
        break;
    case DM_GB_DO_RETI:
        dm_gb_uop_branch(uop, extra, DM_GB_UOP_CONTROL);
        break;
    case DM_GB_DO_JR:
        dm_gb_uop_branch(uop, extra, DM_GB_UOP_LOOPS | DM_GB_UOP_RELATIVE);
        break;
    case DM_GB_DO_JP:
        dm_gb_uop_branch(uop, extra, DM_GB_UOP_LOOPS);
        break;
    case DM_GB_DO_JP_HL:
        dm_gb_uop_branch(uop, 0, 0);
        break;
    case DM_GB_DO_ADD16:
        uop->adder = dm_gb_uop_picks(DM_GB_PICK_X_HL, DM_GB_PICK_Y_SOURCE);
        uop->flags |= DM_GB_UOP_WIDE | DM_GB_UOP_SETS_HN | DM_GB_UOP_H_ADDER | DM_GB_UOP_ADDS;
        uop->changes = 0x100u;
        break;
    case DM_GB_DO_ADD_SP:
        uop->flags |= DM_GB_UOP_X_SP | DM_GB_UOP_SETS_HN | DM_GB_UOP_H_ADDER;
        uop->changes = 0x100u;
        uop->mask |= DM_GB_UOP_CLEAR_Z;
        break;
    case DM_GB_DO_INC16:
        dm_gb_uop_with_constant(uop, 1, DM_GB_UOP_ADJUST);
        break;
    case DM_GB_DO_DEC16:
        dm_gb_uop_with_constant(uop, 1, DM_GB_UOP_ADJUST | DM_GB_UOP_SUBTRACT);
        break;
    case DM_GB_DO_LD_SP_HL:
        uop->flags |= DM_GB_UOP_ADJUST;
        break;
    case DM_GB_DO_ADD:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_H_ADDER);
        break;
    case DM_GB_DO_ADC:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_H_ADDER | DM_GB_UOP_CARRY_IN);
        break;
    case DM_GB_DO_SUB:
    case DM_GB_DO_CP:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_H_ADDER | DM_GB_UOP_SUBTRACT | DM_GB_UOP_SETS_N);
        break;
    case DM_GB_DO_SBC:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_H_ADDER | DM_GB_UOP_SUBTRACT | DM_GB_UOP_SETS_N |
                                      DM_GB_UOP_CARRY_IN);
        break;
    case DM_GB_DO_AND:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_SETS_H | DM_GB_UOP_AND);
        break;
    case DM_GB_DO_XOR:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_XOR);
        break;
    case DM_GB_DO_OR:
        dm_gb_uop_arithmetic(uop, DM_GB_UOP_AND | DM_GB_UOP_XOR);
        break;
    case DM_GB_DO_INC:
        dm_gb_uop_with_constant(uop, 1, DM_GB_UOP_SETS_HN | DM_GB_UOP_H_ADDER);
        uop->changes = 0xFFu;
        break;
    case DM_GB_DO_DEC:
        dm_gb_uop_with_constant(
            uop, 1, DM_GB_UOP_SETS_HN | DM_GB_UOP_H_ADDER | DM_GB_UOP_SUBTRACT | DM_GB_UOP_SETS_N);
        uop->changes = 0xFFu;
        break;
    case DM_GB_DO_RL:
    case DM_GB_DO_SLA:
        if (!clears_z) { /* the source and itself; RLA, which clears Z, is rotated */
            uop->adder = dm_gb_uop_picks(DM_GB_PICK_X_SOURCE, DM_GB_PICK_Y_SOURCE);
            uop->flags |= DM_GB_UOP_SETS_HN | DM_GB_UOP_ADDS |
                          (operation == DM_GB_DO_RL ? DM_GB_UOP_CARRY_IN : 0u);
            uop->changes = 0x1FFu;
            break;
        }
        uop->flags |= DM_GB_UOP_ODD_RESULT;
        uop->mask |= DM_GB_UOP_CLEAR_Z;
        break;
    case DM_GB_DO_RLC:
    case DM_GB_DO_RRC:
    case DM_GB_DO_RR:
    case DM_GB_DO_SRA:
    case DM_GB_DO_SWAP:
    case DM_GB_DO_SRL:
        uop->flags |= DM_GB_UOP_ODD_RESULT;
        uop->mask |= clears_z ? DM_GB_UOP_CLEAR_Z : 0u;
        break;
    case DM_GB_DO_BIT:
        dm_gb_uop_with_constant(uop, bit, DM_GB_UOP_SETS_H | DM_GB_UOP_AND | DM_GB_UOP_SETS_HN);
        uop->changes = 0xFFu;
        break;
    case DM_GB_DO_RES:
        dm_gb_uop_with_constant(uop, 0xFFu & ~bit, DM_GB_UOP_AND);
        break;
    case DM_GB_DO_SET:
        dm_gb_uop_with_constant(uop, bit, DM_GB_UOP_AND | DM_GB_UOP_XOR);
        break;
    case DM_GB_DO_CPL:
        dm_gb_uop_with_constant(
            uop, 0xFFu, DM_GB_UOP_XOR | DM_GB_UOP_SETS_H | DM_GB_UOP_SETS_N | DM_GB_UOP_SETS_HN);
        break;
    case DM_GB_DO_DAA:
    case DM_GB_DO_SCF:
    case DM_GB_DO_CCF:
        uop->flags |= DM_GB_UOP_ODD_RESULT;
        break;
    case DM_GB_DO_HALT:
    case DM_GB_DO_DI:
    case DM_GB_DO_EI:
        uop->flags |= DM_GB_UOP_CONTROL;
        break;
    default: /* STOP, illegal opcodes and the prefix: only the slow path knows them */
        uop->flags |= DM_GB_UOP_LONG | DM_GB_UOP_ODD;
        break;
    }
}

/* ---- Operands ---- */

/* Where the source comes from; what is read from memory is put where the selectors give zeros. */
DM_FN void dm_gb_uop_source(dm_gb_uop *uop, uint32_t source, bool relative)
{
    uint32_t registers = DM_GB_PICK_NO_REGISTER, then = DM_GB_PICK_REGISTERS;
    switch (source) {
    case DM_GB_ARG_BC:
        registers = DM_GB_PICK_BC;
        break;
    case DM_GB_ARG_DE:
        registers = DM_GB_PICK_DE;
        break;
    case DM_GB_ARG_HL:
        registers = DM_GB_PICK_HL;
        break;
    case DM_GB_ARG_IMM8:
        then = relative ? DM_GB_PICK_RELATIVE : DM_GB_PICK_IMM8;
        break;
    case DM_GB_ARG_IMM16:
        then = DM_GB_PICK_IMM16;
        break;
    case DM_GB_ARG_MEM:
        uop->flags |= DM_GB_UOP_READS;
        break;
    case DM_GB_ARG_STACK:
        uop->flags |= DM_GB_UOP_READS | DM_GB_UOP_TWO | DM_GB_UOP_STACK | 2u << 29; /* SP + 2 */
        break;
    case DM_GB_ARG_SP:
    case DM_GB_ARG_AF:
        uop->flags |= DM_GB_UOP_ODD;
        break;
    case DM_GB_ARG_MEM16:
    case DM_GB_ARG_NONE:
        break;
    default: /* B C D E H L and A, as opcodes number them; bytes are in the order C B E D L H A */
        registers = 0x7770u | (source ^ 1u);
        break;
    }
    uop->source = dm_gb_uop_picks(registers, then);
}

/* Where the result goes: into one of two registers' four bytes each, or elsewhere. */
DM_FN void dm_gb_uop_destination(dm_gb_uop *uop, uint32_t destination)
{
    uint32_t low = DM_GB_PICK_KEEP, high = DM_GB_PICK_KEEP;
    switch (destination) {
    case DM_GB_ARG_B:
        low = 0x3240u;
        break;
    case DM_GB_ARG_C:
        low = 0x3214u;
        break;
    case DM_GB_ARG_D:
        low = 0x4210u;
        break;
    case DM_GB_ARG_E:
        low = 0x3410u;
        break;
    case DM_GB_ARG_BC:
        low = 0x3254u;
        break;
    case DM_GB_ARG_DE:
        low = 0x5410u;
        break;
    case DM_GB_ARG_H:
        high = 0x3240u;
        break;
    case DM_GB_ARG_L:
        high = 0x3214u;
        break;
    case DM_GB_ARG_A:
        high = 0x3410u;
        break;
    case DM_GB_ARG_HL:
        high = 0x3254u;
        break;
    case DM_GB_ARG_SP:
        uop->flags |= DM_GB_UOP_TO_SP | DM_GB_UOP_ODD_RESULT;
        break;
    case DM_GB_ARG_AF:
        uop->flags |= DM_GB_UOP_ODD_RESULT;
        break;
    case DM_GB_ARG_MEM:
        uop->flags |= DM_GB_UOP_WRITES;
        uop->mask |= DM_GB_PAGE_NO_WRITES;
        break;
    case DM_GB_ARG_MEM16:
        uop->flags |= DM_GB_UOP_WRITES | DM_GB_UOP_TWO;
        uop->mask |= DM_GB_PAGE_NO_WRITES;
        break;
    case DM_GB_ARG_STACK:
        uop->flags |= DM_GB_UOP_WRITES | DM_GB_UOP_TWO | DM_GB_UOP_STACK | 6u << 29; /* SP - 2 */
        uop->mask |= DM_GB_PAGE_NO_WRITES;
        break;
    default:
        break;
    }
    uop->put |= dm_gb_uop_picks(low, high);
}

/* The address that is accessed, if it is not SP's. */
DM_FN void dm_gb_uop_address(dm_gb_uop *uop, uint32_t address)
{
    uint32_t registers = DM_GB_PICK_NO_REGISTER, then = DM_GB_PICK_REGISTERS;
    switch (address) {
    case DM_GB_ADDR_AT_BC:
        registers = DM_GB_PICK_BC;
        break;
    case DM_GB_ADDR_AT_DE:
        registers = DM_GB_PICK_DE;
        break;
    case DM_GB_ADDR_AT_C:
        registers = DM_GB_PICK_REGISTER_C;
        then = DM_GB_PICK_PAGE_FF_LOW;
        break;
    case DM_GB_ADDR_AT_A16:
        then = DM_GB_PICK_IMM16;
        break;
    case DM_GB_ADDR_AT_A8:
        then = DM_GB_PICK_PAGE_FF_IMM8;
        break;
    case DM_GB_ADDR_AT_HLI:
        uop->put |= 1u << 30; /* HL + 1 */
        registers = DM_GB_PICK_HL;
        break;
    case DM_GB_ADDR_AT_HLD:
        uop->put |= 3u << 30; /* HL - 1 */
        registers = DM_GB_PICK_HL;
        break;
    default:
        registers = DM_GB_PICK_HL;
        break;
    }
    uop->address = dm_gb_uop_picks(registers, then);
}

/* ---- The table ---- */

/* Of a row (decode.h) and its T-cycles, without and with a jump. */
DM_FN dm_gb_uop dm_gb_uop_decode(uint32_t row, uint32_t cycles, uint32_t taken)
{
    const uint32_t operation = DM_GB_ROW_OPERATION(row);
    dm_gb_uop uop = {0};
    uop.flags = uop.mask = DM_GB_UOP_ALWAYS;
    uop.mask |= DM_GB_PAGE_NO_ACCESS;
    uop.adder = dm_gb_uop_picks(DM_GB_PICK_X_NONE, DM_GB_PICK_Y_SOURCE);
    uop.numbers = cycles | taken << 8 | 1u << 16 | operation << 24 | DM_GB_ROW_LENGTH(row) << 30;
    dm_gb_uop_operation(&uop, operation, DM_GB_ROW_EXTRA(row));
    dm_gb_uop_source(&uop, DM_GB_ROW_SOURCE(row),
                     operation == DM_GB_DO_JR || operation == DM_GB_DO_ADD_SP);
    dm_gb_uop_destination(&uop, DM_GB_ROW_DESTINATION(row));
    dm_gb_uop_address(&uop, DM_GB_ROW_ADDRESS(row));
    /* Simple: nothing but the adder, and registers in and out of it. */
    if ((uop.flags & (DM_GB_UOP_READS | DM_GB_UOP_WRITES | DM_GB_UOP_ODD | DM_GB_UOP_ODD_RESULT |
                      DM_GB_UOP_JUMPS | DM_GB_UOP_X_SP | DM_GB_UOP_CONTROL)) == 0)
        uop.flags |= DM_GB_UOP_SIMPLE;
    return uop;
}

/* Number `index` of the table. */
DM_FN dm_gb_uop dm_gb_uop_table_at(uint32_t index)
{
    static const uint8_t cycles[512][2] = {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    {cycles, taken},
#define CB OP
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
    };
    if (index == 0)
        return dm_gb_uop_decode(DM_GB_ROW(PREFIX, NONE, NONE, NONE, 1, 0), 4, 4);
    const uint32_t row = index <= 256u ? index + 255u : index - 257u;
    return dm_gb_uop_decode(dm_gb_rows[row], cycles[row][0], cycles[row][1]);
}

#endif
