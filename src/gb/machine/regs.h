/* SPDX-License-Identifier: MIT */
/* regs.h - the registers of the CPU while instructions run; kernel text.
 *
 * Outside the loop registers are the bytes of dm_gb_cpu. Inside they live in dm_gb_hot, a local variable that the
 * compiler keeps in machine registers. It is the executor's own struct (gb/cpu/regs.h, gb/simt/regs.h), with at least
 *
 *   pc, sp   16 bits each
 *   zc, hn   flags, unevaluated, since most are overwritten unread:
 *              zc   bits 0..7: a value that is zero when Z is set; bit 8: C; others are noise
 *              hn   bit 4: H; bit 16: N; others are noise
 *
 * With it come
 *
 *   dm_gb_reg8, dm_gb_set_reg8       a register by its number (enum dm_gb_operand)
 *   dm_gb_pair, dm_gb_set_pair       BC, DE or HL by its number
 *   dm_gb_hot_clock, dm_gb_hot_tick  the time in T-cycles; an M-cycle passes
 *   dm_gb_hot_take                   pairs, PC, SP and time from a machine
 *   dm_gb_hot_put_time               clock and next event to it; returns the instructions since they were taken */
#ifndef DM_GB_REGS_H
#define DM_GB_REGS_H

#include "gb/machine/context.h"
#include "gb/machine/decode.h"

#define DM_GB_N 0x10000u
#define DM_GB_H 0x10u
#define DM_GB_CARRY 0x100u
#define DM_GB_FAR 0xFFFFu /* in place of the address that a short jump came from */

DM_FN uint32_t dm_gb_flags(const dm_gb_hot *hot)
{
    return ((hot->zc & 0xFFu) == 0 ? 0x80u : 0u) | ((hot->hn & DM_GB_N) != 0 ? 0x40u : 0u) |
           ((hot->hn & DM_GB_H) != 0 ? 0x20u : 0u) | ((hot->zc & DM_GB_CARRY) != 0 ? 0x10u : 0u);
}

DM_FN void dm_gb_set_flags(dm_gb_hot *hot, uint32_t f)
{
    hot->zc = ((f & 0x80u) != 0 ? 0u : 1u) | ((f & 0x10u) << 4);
    hot->hn = ((f & 0x40u) != 0 ? DM_GB_N : 0u) | ((f & 0x20u) >> 1);
}

/* Any 16-bit operand. */
DM_FN uint32_t dm_gb_reg16(const dm_gb_hot *hot, uint32_t number)
{
    if (number == DM_GB_ARG_SP)
        return hot->sp;
    if (number == DM_GB_ARG_AF)
        return (dm_gb_reg8(hot, DM_GB_ARG_A) << 8) | dm_gb_flags(hot);
    return dm_gb_pair(hot, number);
}

DM_FN void dm_gb_set_reg16(dm_gb_hot *hot, uint32_t number, uint32_t value)
{
    if (number == DM_GB_ARG_SP) {
        hot->sp = value & 0xFFFFu;
    } else if (number == DM_GB_ARG_AF) {
        dm_gb_set_reg8(hot, DM_GB_ARG_A, value >> 8);
        dm_gb_set_flags(hot, value);
    } else {
        dm_gb_set_pair(hot, number, value);
    }
}

/* ---- Between the two forms ---- */

/* Put the registers that only instructions use into the machine. */
DM_FN void dm_gb_hot_save(const dm_gb_hot *hot, dm_gb_machine *m)
{
    dm_gb_cpu *cpu = &m->cpu;
    cpu->b = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_B);
    cpu->c = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_C);
    cpu->d = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_D);
    cpu->e = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_E);
    cpu->h = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_H);
    cpu->l = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_L);
    cpu->a = (uint8_t)dm_gb_reg8(hot, DM_GB_ARG_A);
    cpu->f = (uint8_t)dm_gb_flags(hot);
}

/* Put the rest into the machine while instructions pause: the registers that interrupts change, the time
 * and the count of instructions. */
DM_FN void dm_gb_hot_pause(const dm_gb_hot *hot, dm_gb_machine *m)
{
    const uint32_t count = dm_gb_hot_put_time(hot, m);
    m->cpu.pc = (uint16_t)hot->pc;
    m->cpu.sp = (uint16_t)hot->sp;
    uint32_t low = m->instructions_low + count;
    m->instructions_high += low < count ? 1u : 0u;
    m->instructions_low = low;
}

DM_FN void dm_gb_hot_store(const dm_gb_hot *hot, dm_gb_machine *m)
{
    dm_gb_hot_pause(hot, m);
    dm_gb_hot_save(hot, m);
}

DM_FN void dm_gb_hot_load(dm_gb_hot *hot, dm_gb_machine *m, dm_gb_context *context)
{
    dm_gb_hot_take(hot, m, context);
    dm_gb_set_flags(hot, m->cpu.f);
}

#endif
