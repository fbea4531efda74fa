/* SPDX-License-Identifier: MIT */
/* regs.h - the CPU's registers while instructions run; kernel text.
 *
 * Outside the loop registers are the bytes of dm_gb_cpu. Inside they live in dm_gb_hot, a local
 * variable that the compiler keeps in machine registers: on the CPU as pairs, where the register
 * number is a compile-time constant; on the GPU as two words whose bytes are picked by number:
 *
 *   low word: C B E D, lowest byte first      high word: L H A and a byte that is always zero
 *
 * Flags are kept unevaluated, since most are overwritten unread:
 *
 *   zc   bits 0..7: a value that is zero when Z is set; bit 8: C; others are noise
 *   hn   bit 4: H; bit 16: N; others are noise
 *
 * The CPU keeps clock and instruction count in one word, so that an instruction costs one addition,
 * whose sign says whether next_event has been reached:
 *
 *   time   bits 0..27: instructions since the registers were loaded
 *          bits 28..63, signed: M-cycles since m->next_event, negative before it
 *
 * No two events are 2^28 instructions apart (dm_gb_never is 2^27 M-cycles away). */
#ifndef DM_GB_REGS_H
#define DM_GB_REGS_H

#include "gb/machine/context.h"
#include "gb/machine/decode.h"
#include "gb/simt/predecode.h"

#define DM_GB_N 0x10000u
#define DM_GB_H 0x10u
#define DM_GB_CARRY 0x100u

typedef struct dm_gb_hot {
    uint32_t pc, sp;
#if DM_GB_GPU_FORM
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
#else
    uint64_t time;
    uint32_t bc, de, hl, a;
    const uint8_t *code; /* where instructions come from, indexed by full address */
    bool careful;        /* fetch byte by byte over the bus (run.h); a constant to the compiler */
#endif
    uint32_t zc, hn;
} dm_gb_hot;

/* In the GPU's idle_pc: the context remembers the registers there; or they are the same each time, but
 * what is written is not. */
#define DM_GB_IDLE_KNOWN 0x10000u
#define DM_GB_IDLE_VAIN 0x20000u
#define DM_GB_IDLE_MARKS (DM_GB_IDLE_KNOWN | DM_GB_IDLE_VAIN)
#define DM_GB_NO_ADDRESS 0xFFFFFFFFu
#define DM_GB_FAR 0xFFFFu /* in place of the address that a short jump came from */

/* ---- Time ---- */

#if DM_GB_GPU_FORM

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

#else

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

#endif

/* ---- Registers by number ---- */

#if DM_GB_GPU_FORM

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

#else

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

#endif

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

/* The registers that only instructions know. */
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

/* Those that interrupts change, time, and the count of instructions: what the machine has to know
 * while instructions pause. */
DM_FN void dm_gb_hot_pause(const dm_gb_hot *hot, dm_gb_machine *m)
{
    m->clock = dm_gb_hot_clock(hot, m);
#if DM_GB_GPU_FORM
    m->next_event = hot->next_event;
    uint32_t count = hot->count;
#else
    uint32_t count = (uint32_t)(hot->time & DM_GB_TIME_COUNT);
#endif
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

#if DM_GB_GPU_FORM
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
#endif

DM_FN void dm_gb_hot_load(dm_gb_hot *hot, dm_gb_machine *m, dm_gb_context *context)
{
    const dm_gb_cpu *cpu = &m->cpu;
#if DM_GB_GPU_FORM
    dm_gb_hot_resume(hot, m);
    hot->low =
        cpu->c | ((uint32_t)cpu->b << 8) | ((uint32_t)cpu->e << 16) | ((uint32_t)cpu->d << 24);
    hot->high = cpu->l | ((uint32_t)cpu->h << 8) | ((uint32_t)cpu->a << 16);
    (void)context;
#else
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
#endif
    dm_gb_set_flags(hot, cpu->f);
}

#endif
