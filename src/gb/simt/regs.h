/* SPDX-License-Identifier: MIT */
/* regs.h - the registers of the CPU while instructions run, in a lane of a GPU; kernel text.
 *
 * Two words, whose bytes are picked by number:
 *
 *   low: C B E D, lowest byte first      high: L H A and a byte that is always zero */
#ifndef DM_SIMT_REGS_H
#define DM_SIMT_REGS_H

#include "gb/machine/decode.h"
#include "gb/simt/context.h"
#include "gb/simt/predecode.h"

typedef struct dm_gb_hot {
    uint32_t pc, sp;
    uint32_t clock, next_event;
    uint32_t count;   /* instructions since the hot registers were loaded */
    uint32_t idle_pc; /* head of the loop that is being watched (idle.h); DM_GB_NO_IDLE: none */
    uint32_t low, high;
    /* What fast.h may do without asking a device: */
    uint32_t io_address, io_value, io_until; /* the register read last, while it cannot change */
    uint32_t vram_until;                     /* VRAM is plain memory before this time */
    uint32_t idle_sum;                       /* of the registers at idle_pc */
    uint32_t written[2];                     /* what was written since then, mixed (fast.h) */
    uint32_t word; /* the instruction at PC, fetched ahead (predecode.h); DM_GB_NO_WORD: not */
    uint32_t zc, hn;
} dm_gb_hot;

#define DM_GB_NO_IDLE 0xFFFFFFFFu /* for idle_pc */
/* In idle_pc: cold remembers the registers there; or they are the same each time, but
 * what is written is not. */
#define DM_GB_IDLE_KNOWN 0x10000u
#define DM_GB_IDLE_VAIN 0x20000u
#define DM_GB_IDLE_MARKS (DM_GB_IDLE_KNOWN | DM_GB_IDLE_VAIN)
#define DM_GB_NO_ADDRESS 0xFFFFFFFFu

/* ---- Time ---- */

DM_FN uint32_t dm_gb_hot_clock(const dm_gb_hot *hot, const dm_gb_machine *m)
{
    (void)m;
    return hot->clock;
}

/* One M-cycle passes. */
DM_FN void dm_gb_hot_tick(dm_gb_hot *hot)
{
    hot->clock += 4u;
}

DM_FN uint32_t dm_gb_hot_put_time(const dm_gb_hot *hot, dm_gb_machine *m)
{
    m->clock = hot->clock;
    m->next_event = hot->next_event;
    return hot->count;
}

/* ---- Registers by number ---- */

/* Number n is byte n ^ 1. */
DM_FN uint32_t dm_gb_reg8(const dm_gb_hot *hot, uint32_t number)
{
    return dm_byte_pick(hot->low, hot->high, 0x7770u | (number ^ 1u));
}

DM_FN void dm_gb_set_reg8(dm_gb_hot *hot, uint32_t number, uint32_t value)
{
    uint32_t shift = ((number ^ 1u) & 3u) * 8u;
    uint32_t mask = 0xFFu << shift;
    uint32_t bits = (value & 0xFFu) << shift;
    if (number < 4u)
        hot->low = (hot->low & ~mask) | bits;
    else
        hot->high = (hot->high & ~mask) | bits;
}

DM_FN uint32_t dm_gb_pair(const dm_gb_hot *hot, uint32_t number)
{
    return number == DM_GB_ARG_BC   ? hot->low & 0xFFFFu
           : number == DM_GB_ARG_DE ? hot->low >> 16
                                    : hot->high & 0xFFFFu;
}

DM_FN void dm_gb_set_pair(dm_gb_hot *hot, uint32_t number, uint32_t value)
{
    if (number == DM_GB_ARG_BC)
        hot->low = (hot->low & 0xFFFF0000u) | (value & 0xFFFFu);
    else if (number == DM_GB_ARG_DE)
        hot->low = (hot->low & 0xFFFFu) | (value << 16);
    else
        hot->high = (hot->high & 0xFFFF0000u) | (value & 0xFFFFu);
}

/* After dm_gb_hot_pause and what came then; the other registers are still in `hot`. */
DM_FN void dm_gb_hot_resume(dm_gb_hot *hot, const dm_gb_machine *m)
{
    hot->pc = m->cpu.pc;
    hot->sp = m->cpu.sp;
    hot->clock = m->clock;
    hot->next_event = m->next_event;
    hot->count = 0;
    hot->idle_pc = DM_GB_NO_IDLE;
    hot->io_address = DM_GB_NO_ADDRESS;
    hot->io_value = 0;
    hot->io_until = hot->vram_until = m->clock;
    hot->idle_sum = 0;
    hot->written[0] = hot->written[1] = 0;
    hot->word = DM_GB_NO_WORD;
}

DM_FN void dm_gb_hot_take(dm_gb_hot *hot, dm_gb_machine *m, dm_gb_context *context)
{
    const dm_gb_cpu *cpu = &m->cpu;
    (void)context;
    dm_gb_hot_resume(hot, m);
    hot->low =
        cpu->c | ((uint32_t)cpu->b << 8) | ((uint32_t)cpu->e << 16) | ((uint32_t)cpu->d << 24);
    hot->high = cpu->l | ((uint32_t)cpu->h << 8) | ((uint32_t)cpu->a << 16);
}

#endif
