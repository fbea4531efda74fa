/* SPDX-License-Identifier: MIT */
/* idle.h - idle loops, skipped; kernel text.
 *
 * As on the CPU (cpu/idle.h): a loop that comes back to its head with the same registers has changed nothing if it has
 * written nothing, and passes up to the next change of what it reads are accounted for at once. Here writes are
 * allowed: games of some compilers wait in their main loop, which calls functions, looks at keys and so writes a lot.
 * What a pass writes, to plain memory or to P1, is hashed into hot.written (dm_gb_fast_mix_write); when the next pass
 * writes the same again, it has changed nothing. The fast path itself skips loops that wait for a line or a mode
 * (dm_gb_fast_wait_passes in fast.h). */
#ifndef DM_SIMT_IDLE_H
#define DM_SIMT_IDLE_H

#include "gb/simt/bus.h"

DM_FN bool dm_gb_idle_same(const dm_gb_cold *cold, const dm_gb_hot *hot)
{
    const uint32_t *r = cold->idle_regs;
    return ((r[0] ^ hot->sp) | (r[1] ^ hot->zc) | (r[2] ^ hot->hn) | (r[3] ^ hot->low) |
            (r[4] ^ hot->high)) == 0;
}

/* Did the last two passes write the same? Then the second changed nothing. */
DM_FN bool dm_gb_idle_wrote_same(const dm_gb_cold *cold, const dm_gb_hot *hot)
{
    return ((cold->idle_written[0] ^ hot->written[0]) |
            (cold->idle_written[1] ^ hot->written[1])) == 0;
}

/* PC may be the head of an idle loop. */
DM_FN void dm_gb_idle_begin(dm_gb_hot *hot)
{
    hot->idle_pc = hot->pc;
    hot->written[0] = hot->written[1] = 0;
}

DM_FN void dm_gb_idle_remember(dm_gb_cold *cold, dm_gb_hot *hot)
{
    uint32_t *r = cold->idle_regs;
    r[0] = hot->sp;
    r[1] = hot->zc;
    r[2] = hot->hn;
    r[3] = hot->low;
    r[4] = hot->high;
    cold->idle_limit = dm_gb_never(hot->clock);
    cold->idle_clock = hot->clock;
    cold->idle_count = hot->count;
    cold->idle_written[0] = hot->written[0];
    cold->idle_written[1] = hot->written[1];
    dm_gb_idle_begin(hot);
    hot->idle_pc |= DM_GB_IDLE_KNOWN;
    /* Forget answers and VRAM's time: each read of the next pass must move idle_limit. */
    hot->io_address = DM_GB_NO_ADDRESS;
    hot->vram_until = hot->clock;
}

/* How long a pass takes, in T-cycles. */
DM_FN uint32_t dm_gb_idle_period(const dm_gb_cold *cold, const dm_gb_hot *hot)
{
    return hot->clock - cold->idle_clock;
}

/* Leave out as many whole passes as end by `until`. */
DM_FN void dm_gb_idle_skip(const dm_gb_cold *cold, dm_gb_hot *hot, uint32_t until)
{
    if (dm_gb_before(hot->clock, until)) {
        const uint32_t period = dm_gb_idle_period(cold, hot);
        const uint32_t passes = (until - hot->clock) / period;
        hot->count += passes * (hot->count - cold->idle_count);
        hot->clock += passes * period;
    }
    dm_gb_idle_begin(hot);
}

/* The head of the watched loop has been reached again. True: the last pass changed nothing, so the
 * next will not either. */
DM_FN bool dm_gb_idle_again(dm_gb_cold *cold, dm_gb_hot *hot)
{
    if (cold->skip_idle == 0)
        return false;
    if ((hot->idle_pc & DM_GB_IDLE_KNOWN) == 0 || !dm_gb_idle_same(cold, hot)) {
        dm_gb_idle_remember(cold, hot);
        return false;
    }
    if (!dm_gb_idle_wrote_same(cold, hot)) {
        hot->idle_pc = hot->pc | DM_GB_IDLE_VAIN;
        return false;
    }
    return true;
}

/* The same in a service: a backward jump was taken by the slow path. */
DM_FN void dm_gb_bus_loop(dm_gb_context *context, dm_gb_hot *hot)
{
    dm_gb_cold *cold = context->cold;
    if ((hot->idle_pc & ~DM_GB_IDLE_MARKS) != hot->pc) {
        dm_gb_idle_begin(hot);
        return;
    }
    if (!dm_gb_idle_again(cold, hot))
        return;
    uint32_t until = dm_gb_earlier(cold->idle_limit, context->idle_limit);
    dm_gb_idle_skip(cold, hot, dm_gb_earlier(until, hot->next_event));
}

/* ---- What machine/executor.h asks for ----
 * Only the CPU watches loops instruction by instruction (cpu/idle_watch.h). */

DM_FN void dm_gb_idle_before_write(dm_gb_context *context, uint32_t address)
{
    (void)context;
    (void)address;
}

DM_FN void dm_gb_idle_after_write(dm_gb_context *context, uint32_t now, uint32_t address)
{
    (void)context;
    (void)now;
    (void)address;
}

DM_FN bool dm_gb_idle_watch_due(dm_gb_context *context)
{
    (void)context;
    return false;
}

/* The bus is complete. */
#include "gb/machine/sm83.h"

#endif
