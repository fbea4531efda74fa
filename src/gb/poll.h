/* SPDX-License-Identifier: MIT */
/* poll.h - skip polling loops; kernel text.
 *
 * Many games wait for the next frame in a loop such as `ldh a,[rLY] / cp 144 / jr nz`. When a loop
 * comes back to its head with the same registers, having written nothing, the next pass can only
 * differ if something it reads differs. The slow read path notes for how long each answer holds
 * (lane.poll_limit), plain memory holds as long as nothing is written, and an interrupt cannot come
 * before next_event. So whole passes up to there are accounted for at once: clock and instruction
 * count move on, nothing else would have changed. tests/gb/test_poll.c runs programs with and
 * without and compares every state. */
#ifndef DM_GB_POLL_H
#define DM_GB_POLL_H

#include "gb/bus.h"

DM_FN bool dm_gb_poll_same(const dm_gb_lane *lane, const dm_gb_hot *hot)
{
    const uint32_t *r = lane->poll_regs;
    uint32_t differ = (r[0] ^ hot->sp) | (r[1] ^ hot->zc) | (r[2] ^ hot->hn);
#if DM_GB_GPU_FORM
    differ |= (r[3] ^ hot->low) | (r[4] ^ hot->high);
#else
    differ |= (r[3] ^ hot->bc) | (r[4] ^ hot->de) | (r[5] ^ hot->hl) | (r[6] ^ hot->a);
#endif
    return differ == 0;
}

DM_FN void dm_gb_poll_remember(dm_gb_lane *lane, const dm_gb_hot *hot)
{
    uint32_t *r = lane->poll_regs;
    r[0] = hot->sp;
    r[1] = hot->zc;
    r[2] = hot->hn;
#if DM_GB_GPU_FORM
    r[3] = hot->low;
    r[4] = hot->high;
#else
    r[3] = hot->bc;
    r[4] = hot->de;
    r[5] = hot->hl;
    r[6] = hot->a;
#endif
#if DM_GB_GPU_FORM
    lane->poll_clock = hot->clock;
    lane->poll_count = hot->count;
#else
    lane->poll_time = hot->time;
#endif
    lane->poll_limit = dm_gb_never(dm_gb_hot_clock(hot, lane->m));
    lane->poll_passes = 1;
}

/* As many whole passes as end by `until`. */
DM_FN void dm_gb_poll_skip(dm_gb_lane *lane, dm_gb_hot *hot, uint32_t until)
{
    uint32_t left = until - dm_gb_hot_clock(hot, lane->m);
#if DM_GB_GPU_FORM
    uint32_t period = hot->clock - lane->poll_clock;
    uint32_t passes = left / period;
    hot->clock += passes * period;
    hot->count += passes * (hot->count - lane->poll_count);
#else
    uint64_t period = hot->time - lane->poll_time;
    hot->time += left / (4u * (uint32_t)(period >> 28)) * period;
#endif
}

/* A backward jump was taken; PC is the head of the loop. Writes forget poll_pc. */
DM_FN void dm_gb_bus_loop(dm_gb_lane *lane, dm_gb_hot *hot)
{
    if (DM_LIKELY(hot->poll_pc != hot->pc)) {
        hot->poll_pc = hot->pc;
        lane->poll_passes = 0;
        return;
    }
    if (!lane->skip_polls)
        return;
    if (lane->poll_passes == 0 || !dm_gb_poll_same(lane, hot)) {
        dm_gb_poll_remember(lane, hot);
        return;
    }
#if DM_GB_GPU_FORM
    uint32_t until = dm_gb_earlier(lane->poll_limit, hot->next_event);
#else
    uint32_t until = dm_gb_earlier(lane->poll_limit, lane->m->next_event);
#endif
    if (dm_gb_before(dm_gb_hot_clock(hot, lane->m), until))
        dm_gb_poll_skip(lane, hot, until);
    lane->poll_passes = 0;
}

#endif
