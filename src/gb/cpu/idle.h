/* SPDX-License-Identifier: MIT */
/* idle.h - idle loops, skipped; kernel text.
 *
 * Many games wait for the next frame in a loop such as `ldh a,[rLY] / cp 144 / jr nz`. When a loop comes back to its
 * head with the same registers, having written nothing, the next pass can only differ if something it reads differs.
 * The slow path records how long each answer holds (context.idle_limit), plain memory holds as long as nothing is
 * written, and an interrupt cannot come before next_event. So whole passes up to there are accounted for at once: clock
 * and instruction count move on, nothing else would have changed. Loops that only count are skipped likewise.
 * tests/gb/test_idle.c runs programs with and without and compares every state.
 *
 * LY changes at every line, so by this rule a wait for a line would be skipped line by line. But such a loop sets A and
 * the flags anew in every pass, so passes are skipped until shortly before the awaited line, and those that are then
 * executed leave what the skipped ones would have left. */
#ifndef DM_GB_CPU_IDLE_H
#define DM_GB_CPU_IDLE_H

#include "gb/cpu/bus.h"

DM_FN bool dm_gb_idle_same(const dm_gb_context *context, const dm_gb_hot *hot)
{
    const uint32_t *r = context->idle_regs;
    return ((r[0] ^ hot->sp) | (r[1] ^ hot->zc) | (r[2] ^ hot->hn) | (r[3] ^ hot->bc) |
            (r[4] ^ hot->de) | (r[5] ^ hot->hl) | (r[6] ^ hot->a)) == 0;
}

/* PC may be the head of an idle loop. */
DM_FN void dm_gb_idle_begin(dm_gb_context *context, const dm_gb_hot *hot)
{
    context->idle_pc = hot->pc;
    context->idle_passes = 0;
}

DM_FN void dm_gb_idle_remember(dm_gb_context *context, const dm_gb_hot *hot)
{
    uint32_t *r = context->idle_regs;
    r[0] = hot->sp;
    r[1] = hot->zc;
    r[2] = hot->hn;
    r[3] = hot->bc;
    r[4] = hot->de;
    r[5] = hot->hl;
    r[6] = hot->a;
    context->idle_time = hot->time;
    context->idle_passes = 1;
    context->idle_limit = dm_gb_never(dm_gb_hot_clock(hot, dm_gb_m(context)));
}

/* How long a pass takes, in T-cycles. */
DM_FN uint32_t dm_gb_idle_period(const dm_gb_context *context, const dm_gb_hot *hot)
{
    return 4u * (uint32_t)((hot->time - context->idle_time) >> 28);
}

/* If the loop at PC waits for a line: two passes before that line or the next event; else `until`. A
 * loop that only begins in the same way takes longer than DM_GB_LINE_LOOP. */
#define DM_GB_LINE_LOOP 32u /* T-cycles of a pass */
DM_FN uint32_t dm_gb_idle_line(const dm_gb_context *context, const dm_gb_hot *hot, uint32_t period,
                               uint32_t next_event, uint32_t until)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (hot->pc > 0x7FF0u || (hot->pc & 0x3FFFu) > 0x3FF0u || m->boot_mapped || m->dma.active)
        return until;
    const uint8_t *at = context->rom + (hot->pc < 0x4000u ? m->cart.rom_low : m->cart.rom_high) +
                        (hot->pc & 0x3FFFu);
    uint32_t line = at[3];
    if (at[0] != 0xF0u || at[1] != 0x44u || at[2] != 0xFEu || (at[4] != 0x20u && at[4] != 0x38u) ||
        at[5] != 0xFAu || period != DM_GB_LINE_LOOP)
        return until;
    if (!dm_gb_lcd_on(m) || line > DM_GB_LAST_LINE || line == m->ppu.line || line < 2u)
        return until;
    uint32_t shown = dm_gb_line_time(&m->ppu, line, 0, 0);
    uint32_t last = dm_gb_earlier(shown, next_event) - 2u * period;
    return dm_gb_before(until, last) ? last : until;
}

/* Can this be the head of a loop that only counts? Then run.h, at its next dispatch, calls
 * dm_gb_idle_count: in one place, since it is long. */
DM_FN bool dm_gb_may_count(const dm_gb_context *context, const dm_gb_hot *hot)
{
    if (hot->pc >= context->code_limit)
        return true;
    uint32_t opcode = hot->code[hot->pc];
    return opcode < 64u && (0x2000202029202821u >> opcode & 1u) != 0;
}

/* How long a pass of the loop at `head` takes, in hot.time's form, when it counts `counter` down to
 * zero and does nothing else; else 0. Such loops wait for OAM DMA and for time to pass:
 *
 *   NOP and JR to the next instruction; once DEC r8, or DEC BC (DE), LD A,B (D), OR A,C (E);
 *   at the end JR NZ or JP NZ to the head */
DM_FN_SLOW uint64_t dm_gb_idle_counter(const uint8_t *code, uint32_t head, uint32_t *counter)
{
    const uint8_t *at = code + head;
    uint64_t period = 0;
    *counter = DM_GB_ARG_NONE;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t cycles, length = 1, instructions = 1;
        bool counts = false;
        if (at[0] == 0x20 || at[0] == 0xC2) {
            bool back = at[0] == 0x20 ? at + 2 + (int8_t)at[1] == code + head
                                      : (at[1] | (uint32_t)at[2] << 8) == head;
            cycles = at[0] == 0x20 ? 3u : 4u;
            return back && *counter != DM_GB_ARG_NONE ? period + cycles * DM_GB_TIME_CYCLE + 1u : 0;
        }
        if (at[0] == 0x00) {
            cycles = 1;
        } else if (at[0] == 0x18 && at[1] == 0) {
            cycles = 3;
            length = 2;
        } else if ((at[0] & 0xC7u) == 0x05 && at[0] != 0x35) {
            cycles = 1;
            counts = true;
        } else if ((at[0] == 0x0B && at[1] == 0x78 && at[2] == 0xB1) ||
                   (at[0] == 0x1B && at[1] == 0x7A && at[2] == 0xB3)) {
            cycles = 4;
            length = instructions = 3;
            counts = true;
        } else {
            return 0;
        }
        if (counts && *counter != DM_GB_ARG_NONE)
            return 0;
        if (counts)
            *counter = length == 1 ? at[0] >> 3 : at[0] == 0x0B ? DM_GB_ARG_BC : DM_GB_ARG_DE;
        period += cycles * DM_GB_TIME_CYCLE + instructions;
        at += length;
    }
    return 0;
}

#define DM_GB_COUNTER_BYTES 32u /* more than dm_gb_idle_counter looks at */

/* Skip as many passes of a loop that counts as are left before the event, but for the last. hot->code is plain memory
 * up to `end`. */
DM_FN void dm_gb_idle_count(dm_gb_hot *hot, uint32_t end)
{
    if (hot->pc + DM_GB_COUNTER_BYTES >= end || (int64_t)hot->time >= 0)
        return;
    uint32_t counter;
    uint64_t period = dm_gb_idle_counter(hot->code, hot->pc, &counter);
    if (period == 0)
        return;
    bool wide = counter >= DM_GB_ARG_BC;
    uint32_t value = wide ? dm_gb_pair(hot, counter) : dm_gb_reg8(hot, counter);
    uint64_t left = 0u - (uint64_t)((int64_t)hot->time >> 28);
    uint64_t passes = left / (period >> 28);
    if (wide && (value == 0 || value >= 0xFE00u))
        return;     /* DEC of such a value may damage OAM (oam_bug.h) */
    if (value == 0) /* the head was reached from elsewhere: all 256 are to come */
        value = 0x100;
    if (passes > value - 1u)
        passes = value - 1u;
    if (passes == 0)
        return;
    hot->time += passes * period;
    value -= (uint32_t)passes;
    if (wide) {
        dm_gb_set_pair(hot, counter, value);
        hot->a = (value >> 8) | (value & 0xFFu);
        hot->zc = hot->a;
        hot->hn = 0;
    } else {
        dm_gb_set_reg8(hot, counter, value);
        hot->zc = (hot->zc & DM_GB_CARRY) | value;
        hot->hn = ((value + 1u) ^ value) | DM_GB_N;
    }
}

/* A backward jump was taken; PC is the head of the loop. Writes forget idle_pc. */
DM_FN void dm_gb_bus_loop(dm_gb_context *context, dm_gb_hot *hot)
{
    const bool known = context->idle_passes != 0;
    if (DM_LIKELY(context->idle_pc != hot->pc)) {
        dm_gb_idle_begin(context, hot);
        return;
    }
    if (!context->skip_idle)
        return;
    if (!known || !dm_gb_idle_same(context, hot)) {
        if (known && dm_gb_may_count(context, hot)) {
            context->idle_counts = true;
            context->code_limit = 0;
            return;
        }
        dm_gb_idle_remember(context, hot);
        return;
    }
    const uint32_t now = dm_gb_hot_clock(hot, dm_gb_m(context)),
                   next_event = dm_gb_m(context)->next_event;
    const uint32_t period = dm_gb_idle_period(context, hot);
    uint32_t until = dm_gb_earlier(context->idle_limit, next_event);
    until = dm_gb_idle_line(context, hot, period, next_event, until);
    if (dm_gb_before(now, until))
        hot->time += (until - now) / period * (hot->time - context->idle_time);
    dm_gb_idle_begin(context, hot);
}

/* The bus is complete. */
#include "gb/machine/sm83.h"

#endif
