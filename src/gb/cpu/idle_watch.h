/* SPDX-License-Identifier: MIT */
/* idle_watch.h - skip idle loops that write nothing new; kernel text.
 *
 * A game that waits for a key asks the joypad in a subroutine: it selects keys by writing to P1 and
 * pushes return addresses, so idle.h, which skips only loops without writes, does not recognise it.
 * But a write to P1 takes the slow path, where counting costs nothing. After many of them
 * machine/event.h calls dm_gb_idle_watch_due, and the next instructions are executed here, one by
 * one. If the machine comes back to the same PC with the same registers and memory, and has written
 * only to RAM and P1, it will do the same again until something it reads changes
 * (context.idle_limit) or an event is due. So whole passes up to there are accounted for at once. A
 * watch that finds nothing costs a little time and doubles the writes before the next one.
 * tests/gb/test_idle.c compares every state with and without. */
#ifndef DM_GB_CPU_IDLE_WATCH_H
#define DM_GB_CPU_IDLE_WATCH_H

#include "gb/cpu/idle.h"

/* ---- Writes ---- */

/* Remember a byte of WRAM before it is written. A write elsewhere, or one too many, ends the watch. */
DM_FN_SLOW void dm_gb_watch_ram(dm_gb_context *context, uint32_t address)
{
    dm_gb_journal *journal = context->journal;
    const uint32_t at = address & 0x1FFFu;
    const bool wram = address - 0xC000u < 0x3E00u;
    for (uint32_t i = 0; wram && i < journal->count; i++)
        if (journal->at[i] == at)
            return;
    if (!wram || journal->count == DM_GB_JOURNAL) {
        dm_gb_idle_break(context);
        return;
    }
    journal->at[journal->count] = (uint16_t)at;
    journal->was[journal->count++] = dm_gb_ram_load(context, DM_GB_WRAM + at);
}

DM_FN void dm_gb_idle_before_write(dm_gb_context *context, uint32_t address)
{
    if (DM_UNLIKELY(context->watch == DM_GB_WATCHING) && address != 0xFF00u)
        dm_gb_watch_ram(context, address);
}

/* P1 was written: after many such writes one is made an event, so that event.h begins a watch. */
DM_FN void dm_gb_idle_after_write(dm_gb_context *context, uint32_t now, uint32_t address)
{
    if (address != 0xFF00u || !context->skip_idle || context->watch != DM_GB_NOT_WATCHING)
        return;
    if (++context->pad_writes >= DM_GB_IDLE_WATCH_AFTER << context->watch_level) {
        context->watch_next = true;
        dm_gb_m(context)->next_event = now;
    }
}

/* ---- Watching ---- */

/* Execute one instruction whose bytes come one by one over the bus: they are not all plain memory,
 * the first is read twice, or a hook may be there. */
DM_FN_SLOW void dm_gb_careful_step(dm_gb_context *context, dm_gb_hot *hot, bool halt_bug)
{
    hot->careful = true;
    if (context->hooks != 0)
        dm_gb_hooks_meet_pc(context->hooks, context->hook_bits, dm_gb_m(context),
                            dm_gb_cart_of(context), hot->pc);
    uint32_t row = dm_gb_rows[dm_gb_fetch(context, hot)];
    if (halt_bug)
        hot->pc = (hot->pc - 1u) & 0xFFFFu;
    hot->time++;
    if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
        row = dm_gb_rows[256u + dm_gb_fetch(context, hot)];
    dm_gb_exec(context, hot, row);
}

#define DM_GB_IDLE_WATCH_STEPS 256u /* instructions of a pass at most */

/* Bytes of HRAM. It is written without the slow path, so a watch compares all of it. */
#define DM_GB_IDLE_WATCH_HRAM 0x7Fu

typedef struct dm_gb_idle_watch {
    dm_gb_hot hot;
    uint32_t clock, count;
    uint8_t int_flags, select;
    uint8_t hram[DM_GB_IDLE_WATCH_HRAM];
    dm_gb_journal journal;
} dm_gb_idle_watch;

DM_FN uint32_t dm_gb_idle_watch_count(const dm_gb_hot *hot)
{
    return (uint32_t)(hot->time & DM_GB_TIME_COUNT);
}

/* Here a pass may begin. */
DM_FN void dm_gb_idle_watch_begin(dm_gb_idle_watch *watch, dm_gb_context *context,
                                  const dm_gb_hot *hot)
{
    const dm_gb_machine *m = dm_gb_m(context);
    watch->hot = *hot;
    watch->clock = dm_gb_hot_clock(hot, m);
    watch->count = dm_gb_idle_watch_count(hot);
    watch->int_flags = m->int_flags;
    watch->select = m->joypad.select;
    for (uint32_t i = 0; i < DM_GB_IDLE_WATCH_HRAM; i++)
        watch->hram[i] = dm_gb_ram_load(context, DM_GB_HRAM + i);
    watch->journal.count = 0;
    context->idle_limit = dm_gb_never(watch->clock);
}

/* Is the machine where it was when the pass began, but for the time? */
DM_FN bool dm_gb_idle_watch_back(const dm_gb_idle_watch *watch, const dm_gb_context *context,
                                 const dm_gb_hot *hot)
{
    const dm_gb_hot *was = &watch->hot;
    uint32_t differ = (hot->sp ^ was->sp) | (hot->a ^ was->a) | (hot->bc ^ was->bc) |
                      (hot->de ^ was->de) | (hot->hl ^ was->hl) | (hot->zc ^ was->zc) |
                      (hot->hn ^ was->hn);
    differ |= (uint32_t)(dm_gb_m(context)->int_flags ^ watch->int_flags) |
              (uint32_t)(dm_gb_m(context)->joypad.select ^ watch->select);
    for (uint32_t i = 0; i < DM_GB_IDLE_WATCH_HRAM; i++)
        differ |= (uint32_t)(dm_gb_ram_load(context, DM_GB_HRAM + i) ^ watch->hram[i]);
    for (uint32_t i = 0; i < watch->journal.count; i++)
        differ |= (uint32_t)(dm_gb_ram_load(context, DM_GB_WRAM + watch->journal.at[i]) ^
                             watch->journal.was[i]);
    return differ == 0;
}

/* Execute up to one pass of a loop and leave out those that would follow. The CPU's registers are
 * in m, and nothing is due. True: there were some. */
DM_FN_SLOW bool dm_gb_idle_watch_run(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_hot hot;
    dm_gb_idle_watch watch;
    bool found = false;
    dm_gb_hot_load(&hot, m, context);
    for (uint32_t i = 0; i < 16; i++)
        context->write_page[i] = 0;
    const uint8_t skip_idle = context->skip_idle;
    context->skip_idle = 0;
    context->watch = DM_GB_WATCHING;
    /* cppcheck-suppress autoVariables ; it is taken back at the end */
    context->journal = &watch.journal;
    dm_gb_idle_watch_begin(&watch, context, &hot);
    for (uint32_t i = 0; i < DM_GB_IDLE_WATCH_STEPS && context->watch == DM_GB_WATCHING && !found &&
                         (int64_t)hot.time < 0;
         i++) {
        dm_gb_careful_step(context, &hot, false);
        if (hot.pc != watch.hot.pc)
            continue;
        found = dm_gb_idle_watch_back(&watch, context, &hot);
        if (!found) /* the first pass may still have had other registers */
            dm_gb_idle_watch_begin(&watch, context, &hot);
    }
    found = found && context->watch == DM_GB_WATCHING;
    context->watch = DM_GB_NOT_WATCHING;
    context->journal = 0;
    context->skip_idle = skip_idle;
    dm_gb_map(context);
    uint32_t clock = dm_gb_hot_clock(&hot, m), count = dm_gb_idle_watch_count(&hot);
    const uint32_t until = dm_gb_earlier(context->idle_limit, m->next_event);
    uint32_t passes = 0;
    if (found && dm_gb_before(clock, until)) {
        const uint32_t period = clock - watch.clock;
        passes = (until - clock) / period;
        count += passes * (count - watch.count);
        clock += passes * period;
    }
    hot.time = dm_gb_time_make(clock, count, m);
    dm_gb_hot_store(&hot, m);
    return passes != 0;
}

/* Begin a watch if dm_gb_idle_after_write asked for one and nothing is due. True: time has passed. */
DM_FN bool dm_gb_idle_watch_due(dm_gb_context *context)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (DM_LIKELY(!context->watch_next) || !dm_gb_before(m->clock, m->next_event) || m->dma.active)
        return false;
    const bool found = dm_gb_idle_watch_run(context);
    context->watch_next = false;
    /* A loop that was found once is likely to go on after the next event. */
    context->pad_writes = found ? DM_GB_IDLE_WATCH_AFTER * 3u / 4u : 0u;
    if (found)
        context->watch_level = 0;
    else if (context->watch_level < DM_GB_IDLE_WATCH_LEVELS)
        context->watch_level++;
    return true;
}

#endif
