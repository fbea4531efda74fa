/* SPDX-License-Identifier: MIT */
/* sm83.h - one instruction of the SM83, as a datapath; kernel text.
 *
 * Every instruction takes the same path, and its row (decode.h) says which parts of it:
 *
 *   operand bytes -> condition -> idle -> read (0..2) -> operation -> write (0..2) -> idle (0..2)
 *
 * Each access and each idle M-cycle happens in the order of the hardware, so that the bus sees the
 * right thing at the right time. A file that includes this defines the bus before:
 *
 *   dm_gb_bus                                       a type
 *   dm_gb_bus_load(bus, hot, address, count)        read 0 to 2 bytes, the low one first, an M-cycle each
 *   dm_gb_bus_store(bus, hot, address, value, count, push)   write them; `push`: the high one first, downwards
 *   dm_gb_bus_fetch8(bus, hot), _fetch16            read operand bytes at PC, which moves on
 *   dm_gb_bus_idle(bus, hot)
 *   dm_gb_bus_adjust(bus, hot, value)               a 16-bit register went through the incrementer
 *   dm_gb_bus_control(bus, hot, operation)          HALT STOP DI EI RETI ILLEGAL
 *   dm_gb_bus_jump(bus, hot, from)                  PC jumped; `from` near there, or DM_GB_FAR
 *   dm_gb_bus_loop(bus, hot)                        PC jumped backwards: it may be an idle loop
 *
 * so that the same text runs the machine (cpu/bus.h, simt/bus.h) and the single-instruction test vectors
 * (kernel_vectors.h). */
#ifndef DM_GB_SM83_H
#define DM_GB_SM83_H

#include "gb/machine/regs.h"

DM_FN bool dm_gb_condition(const dm_gb_hot *hot, uint32_t extra)
{
    switch (extra) {
    case DM_GB_IF_NZ:
        return (hot->zc & 0xFFu) != 0;
    case DM_GB_IF_Z:
        return (hot->zc & 0xFFu) == 0;
    case DM_GB_IF_NC:
        return (hot->zc & DM_GB_CARRY) == 0;
    case DM_GB_IF_C:
        return (hot->zc & DM_GB_CARRY) != 0;
    default:
        return true;
    }
}

/* BCD correction after an addition or a subtraction. */
DM_FN uint32_t dm_gb_daa(dm_gb_hot *hot, uint32_t a)
{
    uint32_t carry = hot->zc & DM_GB_CARRY;
    uint32_t half = hot->hn & DM_GB_H;
    uint32_t negative = hot->hn & DM_GB_N;
    uint32_t fix = half != 0 ? 0x06u : 0u;
    if (carry != 0)
        fix |= 0x60u;
    if (negative == 0) {
        if ((a & 0x0Fu) > 9u)
            fix |= 0x06u;
        if (a > 0x99u) {
            fix |= 0x60u;
            carry = DM_GB_CARRY;
        }
        a += fix;
    } else {
        a -= fix;
    }
    a &= 0xFFu;
    hot->zc = a | carry;
    hot->hn = negative;
    return a;
}

/* Those on one operand that are not INC or DEC. */
DM_FN uint32_t dm_gb_alu_one(dm_gb_hot *hot, uint32_t operation, uint32_t value, uint32_t extra)
{
    switch (operation) {
    case DM_GB_DO_DAA:
        return dm_gb_daa(hot, value);
    case DM_GB_DO_CPL:
        hot->hn = DM_GB_H | DM_GB_N;
        return value ^ 0xFFu;
    case DM_GB_DO_BIT:
        hot->zc = (hot->zc & DM_GB_CARRY) | (value & (1u << extra));
        hot->hn = DM_GB_H;
        return value;
    case DM_GB_DO_SCF:
        hot->zc |= DM_GB_CARRY;
        hot->hn = 0;
        return value;
    case DM_GB_DO_CCF:
        hot->zc ^= DM_GB_CARRY;
        hot->hn = 0;
        return value;
    case DM_GB_DO_RES:
        return value & ~(1u << extra);
    case DM_GB_DO_SET:
        return value | (1u << extra);
    default:
        return value;
    }
}

/* The 8-bit operations: from source value and A to result, with flags. */
DM_FN uint32_t dm_gb_alu(dm_gb_hot *hot, uint32_t operation, uint32_t value, uint32_t extra)
{
    uint32_t a = dm_gb_reg8(hot, DM_GB_ARG_A);
    uint32_t carry = (hot->zc >> 8) & 1u;
    uint32_t r;
    switch (operation) {
    case DM_GB_DO_ADD:
    case DM_GB_DO_ADC:
        r = a + value + (operation == DM_GB_DO_ADC ? carry : 0u);
        hot->zc = r;
        hot->hn = a ^ value ^ r;
        return r & 0xFFu;
    case DM_GB_DO_SUB:
    case DM_GB_DO_SBC:
    case DM_GB_DO_CP:
        r = a - value - (operation == DM_GB_DO_SBC ? carry : 0u);
        hot->zc = r;
        hot->hn = (a ^ value ^ r) | DM_GB_N;
        return r & 0xFFu;
    case DM_GB_DO_AND:
        r = a & value;
        hot->zc = r;
        hot->hn = DM_GB_H;
        return r;
    case DM_GB_DO_XOR:
        r = a ^ value;
        hot->zc = r;
        hot->hn = 0;
        return r;
    case DM_GB_DO_OR:
        r = a | value;
        hot->zc = r;
        hot->hn = 0;
        return r;
    case DM_GB_DO_INC:
        r = (value + 1u) & 0xFFu;
        hot->zc = (hot->zc & DM_GB_CARRY) | r;
        hot->hn = value ^ r;
        return r;
    case DM_GB_DO_DEC:
        r = (value - 1u) & 0xFFu;
        hot->zc = (hot->zc & DM_GB_CARRY) | r;
        hot->hn = (value ^ r) | DM_GB_N;
        return r;
    default:
        return dm_gb_alu_one(hot, operation, value, extra);
    }
}

/* Rotates and shifts: the bit that falls out becomes C. */
DM_FN uint32_t dm_gb_rotate(dm_gb_hot *hot, uint32_t operation, uint32_t value, uint32_t extra)
{
    uint32_t carry = (hot->zc >> 8) & 1u;
    uint32_t r, out;
    switch (operation) {
    case DM_GB_DO_RLC:
        out = value >> 7;
        r = (value << 1) | out;
        break;
    case DM_GB_DO_RRC:
        out = value & 1u;
        r = (value >> 1) | (out << 7);
        break;
    case DM_GB_DO_RL:
        out = value >> 7;
        r = (value << 1) | carry;
        break;
    case DM_GB_DO_RR:
        out = value & 1u;
        r = (value >> 1) | (carry << 7);
        break;
    case DM_GB_DO_SLA:
        out = value >> 7;
        r = value << 1;
        break;
    case DM_GB_DO_SRA:
        out = value & 1u;
        r = (value >> 1) | (value & 0x80u);
        break;
    case DM_GB_DO_SWAP:
        out = 0;
        r = (value >> 4) | (value << 4);
        break;
    default: /* SRL */
        out = value & 1u;
        r = value >> 1;
        break;
    }
    r &= 0xFFu;
    hot->zc = (out << 8) | (extra == DM_GB_CLEAR_Z ? 1u : r);
    hot->hn = 0;
    return r;
}

/* The address of MEM; HL moves on for [HL+] and [HL-]. */
DM_FN uint32_t dm_gb_address(dm_gb_hot *hot, uint32_t mode, uint32_t operand)
{
    uint32_t hl = dm_gb_pair(hot, DM_GB_ARG_HL);
    switch (mode) {
    case DM_GB_ADDR_AT_HLI:
        dm_gb_set_pair(hot, DM_GB_ARG_HL, hl + 1u);
        return hl;
    case DM_GB_ADDR_AT_HLD:
        dm_gb_set_pair(hot, DM_GB_ARG_HL, hl - 1u);
        return hl;
    case DM_GB_ADDR_AT_BC:
        return dm_gb_pair(hot, DM_GB_ARG_BC);
    case DM_GB_ADDR_AT_DE:
        return dm_gb_pair(hot, DM_GB_ARG_DE);
    case DM_GB_ADDR_AT_A16:
        return operand;
    case DM_GB_ADDR_AT_A8:
        return 0xFF00u | operand;
    case DM_GB_ADDR_AT_C:
        return 0xFF00u | dm_gb_reg8(hot, DM_GB_ARG_C);
    default:
        return hl;
    }
}

/* 16-bit arithmetic. */
DM_FN uint32_t dm_gb_alu16(dm_gb_hot *hot, uint32_t operation, uint32_t value)
{
    uint32_t r;
    switch (operation) {
    case DM_GB_DO_ADD16: {
        uint32_t hl = dm_gb_pair(hot, DM_GB_ARG_HL);
        r = hl + value;
        hot->zc = (hot->zc & 0xFFu) | ((r >> 8) & DM_GB_CARRY);
        hot->hn = ((hl ^ value ^ r) >> 8) & DM_GB_H;
        return r;
    }
    case DM_GB_DO_INC16:
        return value + 1u;
    case DM_GB_DO_DEC16:
        return value - 1u;
    case DM_GB_DO_ADD_SP:
        r = (hot->sp & 0xFFu) + value;
        hot->zc = (r & DM_GB_CARRY) | 1u;
        hot->hn = (hot->sp ^ value ^ r) & DM_GB_H;
        return hot->sp + ((value ^ 0x80u) - 0x80u);
    default:
        return value;
    }
}

/* The idle M-cycles after the accesses. A 16-bit register that goes through the incrementer is on
 * the address bus meanwhile. */
DM_FN void dm_gb_idle_after(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t operation, uint32_t passing,
                            uint32_t destination)
{
    if (operation == DM_GB_DO_INC16 || operation == DM_GB_DO_DEC16 ||
        operation == DM_GB_DO_LD_SP_HL)
        dm_gb_bus_adjust(bus, hot, passing);
    dm_gb_bus_idle(bus, hot);
    if (operation == DM_GB_DO_ADD_SP && destination == DM_GB_ARG_SP)
        dm_gb_bus_idle(bus, hot);
}

/* Execute the instruction whose opcode (and prefix) has been fetched. */
DM_FN void dm_gb_exec(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t row)
{
    const uint32_t operation = DM_GB_ROW_OPERATION(row);
    const uint32_t source = DM_GB_ROW_SOURCE(row);
    const uint32_t destination = DM_GB_ROW_DESTINATION(row);
    const uint32_t mode = DM_GB_ROW_ADDRESS(row);
    const uint32_t extra = DM_GB_ROW_EXTRA(row);
    const bool wide_operand = source == DM_GB_ARG_IMM16 || mode == DM_GB_ADDR_AT_A16;
    const bool jumps = operation >= DM_GB_DO_RST && operation <= DM_GB_DO_JP;
    uint32_t operand = 0, address = 0, value = 0;

    if (wide_operand)
        operand = dm_gb_bus_fetch16(bus, hot);
    else if (source == DM_GB_ARG_IMM8 || mode == DM_GB_ADDR_AT_A8)
        operand = dm_gb_bus_fetch8(bus, hot);

    const bool taken = !jumps || operation == DM_GB_DO_RST || dm_gb_condition(hot, extra);

    if (DM_GB_IDLES_BEFORE(operation) && (taken || operation == DM_GB_DO_RET_IF)) {
        if (operation != DM_GB_DO_RET_IF)
            dm_gb_bus_adjust(bus, hot, hot->sp);
        dm_gb_bus_idle(bus, hot);
    }

    if (source == DM_GB_ARG_STACK) {
        address = hot->sp;
        if (taken)
            hot->sp = (hot->sp + 2u) & 0xFFFFu;
    } else if (mode != DM_GB_ADDR_NONE) {
        address = dm_gb_address(hot, mode, operand);
    }

    if (source < 8u && source != DM_GB_ARG_MEM)
        value = dm_gb_reg8(hot, source);
    else if (source == DM_GB_ARG_IMM8 || source == DM_GB_ARG_IMM16)
        value = operand;
    else if (source >= DM_GB_ARG_BC && source <= DM_GB_ARG_AF)
        value = dm_gb_reg16(hot, source);
    const uint32_t reads = source == DM_GB_ARG_MEM              ? 1u
                           : source == DM_GB_ARG_STACK && taken ? 2u
                                                                : 0u;
    value |= dm_gb_bus_load(bus, hot, address, reads);

    const uint32_t before = value, from = hot->pc;
    if (operation >= DM_GB_DO_RLC && operation <= DM_GB_DO_SRL) {
        value = dm_gb_rotate(hot, operation, value, extra);
    } else if (operation >= DM_GB_DO_ADD && operation <= DM_GB_DO_CCF) {
        value = dm_gb_alu(hot, operation, value, extra);
    } else if (operation >= DM_GB_DO_ADD16 && operation <= DM_GB_DO_ADD_SP) {
        value = dm_gb_alu16(hot, operation, value);
    } else if (jumps && taken) {
        if (operation == DM_GB_DO_JR)
            hot->pc = (from + ((value ^ 0x80u) - 0x80u)) & 0xFFFFu;
        else
            hot->pc = operation == DM_GB_DO_RST ? extra : value;
        value = from; /* what a call pushes */
    } else if (operation == DM_GB_DO_JP_HL) {
        hot->pc = value;
    }

    if (destination < 8u && destination != DM_GB_ARG_MEM)
        dm_gb_set_reg8(hot, destination, value);
    else if (destination >= DM_GB_ARG_BC && destination <= DM_GB_ARG_AF)
        dm_gb_set_reg16(hot, destination, value);
    const bool push = destination == DM_GB_ARG_STACK;
    const uint32_t writes = destination == DM_GB_ARG_MEM                        ? 1u
                            : destination == DM_GB_ARG_MEM16 || (push && taken) ? 2u
                                                                                : 0u;
    if (push && taken)
        address = hot->sp = (hot->sp - 2u) & 0xFFFFu;
    dm_gb_bus_store(bus, hot, address, value, writes, push);

    if (DM_GB_IDLES_AFTER(operation) && taken)
        dm_gb_idle_after(bus, hot, operation, before, destination);
    if ((jumps && taken) || operation == DM_GB_DO_JP_HL)
        dm_gb_bus_jump(bus, hot, operation == DM_GB_DO_JR ? from : DM_GB_FAR);
    if ((operation == DM_GB_DO_JR || operation == DM_GB_DO_JP) && taken) {
        /* After a jump `value` is where it came from. */
        if (hot->pc < value)
            dm_gb_bus_loop(bus, hot);
    } else if (operation == DM_GB_DO_RETI ||
               (operation >= DM_GB_DO_HALT && operation <= DM_GB_DO_ILLEGAL)) {
        dm_gb_bus_control(bus, hot, operation);
    }
}

#endif
