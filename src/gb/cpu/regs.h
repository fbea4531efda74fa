/* SPDX-License-Identifier: MIT */
/* regs.h - the registers of the CPU while instructions run, as a CPU runs them; kernel text.
 *
 * Pairs, since the register number is a compile-time constant. Clock and instruction count are one word, so that an
 * instruction costs one addition, whose sign says whether next_event has been reached:
 *
 *   time   bits 0..27: instructions since the registers were loaded
 *          bits 28..63, signed: M-cycles since m->next_event, negative before it
 *
 * No two events are 2^28 instructions apart (dm_gb_never is 2^27 M-cycles away). */
#ifndef DM_GB_CPU_REGS_H
#define DM_GB_CPU_REGS_H

#include "gb/cpu/context.h"
#include "gb/machine/decode.h"

typedef struct dm_gb_hot {
    uint32_t pc, sp;
    uint64_t time;
    uint32_t bc, de, hl, a;
    const uint8_t *code; /* where instructions come from, indexed by full address */
    bool careful;        /* fetch byte by byte over the bus (run.h); a constant to the compiler */
    uint32_t zc, hn;
} dm_gb_hot;

/* ---- Time ---- */

#define DM_GB_TIME_CYCLE ((uint64_t)1 << 28)
#define DM_GB_TIME_COUNT (DM_GB_TIME_CYCLE - 1u)

DM_FN uint32_t dm_gb_time_clock(uint64_t time, const dm_gb_machine *m)
{
    return m->next_event + 4u * (uint32_t)(time >> 28);
}

/* The word for `clock` and as many instructions as in `count`. The event is moved to the M-cycle
 * boundary at which it can be noticed, the first not before it. */
DM_FN uint64_t dm_gb_time_make(uint32_t clock, uint64_t count, dm_gb_machine *m)
{
    int32_t passed = (int32_t)(clock - m->next_event) >> 2;
    m->next_event = clock - 4u * (uint32_t)passed;
    return ((uint64_t)(int64_t)passed << 28) | (count & DM_GB_TIME_COUNT);
}

DM_FN uint32_t dm_gb_hot_clock(const dm_gb_hot *hot, const dm_gb_machine *m)
{
    return dm_gb_time_clock(hot->time, m);
}

DM_FN void dm_gb_hot_tick(dm_gb_hot *hot)
{
    hot->time += DM_GB_TIME_CYCLE;
}

DM_FN uint32_t dm_gb_hot_put_time(const dm_gb_hot *hot, dm_gb_machine *m)
{
    m->clock = dm_gb_hot_clock(hot, m);
    return (uint32_t)(hot->time & DM_GB_TIME_COUNT);
}

/* ---- Registers by number ---- */

DM_FN uint32_t dm_gb_reg8(const dm_gb_hot *hot, uint32_t number)
{
    switch (number) {
    case DM_GB_ARG_B:
        return hot->bc >> 8;
    case DM_GB_ARG_C:
        return hot->bc & 0xFFu;
    case DM_GB_ARG_D:
        return hot->de >> 8;
    case DM_GB_ARG_E:
        return hot->de & 0xFFu;
    case DM_GB_ARG_H:
        return hot->hl >> 8;
    case DM_GB_ARG_L:
        return hot->hl & 0xFFu;
    default:
        return hot->a;
    }
}

DM_FN void dm_gb_set_reg8(dm_gb_hot *hot, uint32_t number, uint32_t value)
{
    value &= 0xFFu;
    switch (number) {
    case DM_GB_ARG_B:
        hot->bc = (hot->bc & 0xFFu) | (value << 8);
        break;
    case DM_GB_ARG_C:
        hot->bc = (hot->bc & 0xFF00u) | value;
        break;
    case DM_GB_ARG_D:
        hot->de = (hot->de & 0xFFu) | (value << 8);
        break;
    case DM_GB_ARG_E:
        hot->de = (hot->de & 0xFF00u) | value;
        break;
    case DM_GB_ARG_H:
        hot->hl = (hot->hl & 0xFFu) | (value << 8);
        break;
    case DM_GB_ARG_L:
        hot->hl = (hot->hl & 0xFF00u) | value;
        break;
    default:
        hot->a = value;
        break;
    }
}

DM_FN uint32_t dm_gb_pair(const dm_gb_hot *hot, uint32_t number)
{
    return number == DM_GB_ARG_BC ? hot->bc : number == DM_GB_ARG_DE ? hot->de : hot->hl;
}

DM_FN void dm_gb_set_pair(dm_gb_hot *hot, uint32_t number, uint32_t value)
{
    value &= 0xFFFFu;
    if (number == DM_GB_ARG_BC)
        hot->bc = value;
    else if (number == DM_GB_ARG_DE)
        hot->de = value;
    else
        hot->hl = value;
}

DM_FN void dm_gb_hot_take(dm_gb_hot *hot, dm_gb_machine *m, dm_gb_context *context)
{
    const dm_gb_cpu *cpu = &m->cpu;
    hot->pc = cpu->pc;
    hot->sp = cpu->sp;
    hot->bc = ((uint32_t)cpu->b << 8) | cpu->c;
    hot->de = ((uint32_t)cpu->d << 8) | cpu->e;
    hot->hl = ((uint32_t)cpu->h << 8) | cpu->l;
    hot->a = cpu->a;
    hot->time = dm_gb_time_make(m->clock, 0, m);
    hot->code = 0;
    hot->careful = false;
    context->code_limit = 0;
    context->idle_pc = DM_GB_NO_IDLE;
    context->idle_counts = false;
}

#endif
