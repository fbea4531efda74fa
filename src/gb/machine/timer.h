/* SPDX-License-Identifier: MIT */
/* timer.h - DIV and TIMA; kernel text.
 *
 * A 16-bit counter runs at the clock's rate; DIV is its high byte. TIMA counts falling edges of one
 * of its bits, gated by TAC, so that clearing DIV or changing TAC can make an edge. An overflowed
 * TIMA reads 0 for one M-cycle, then takes TMA and asks for the interrupt; a write to TIMA in
 * between cancels both (mooneye: timer/tima_reload, tima_write_reloading, tma_write_reloading,
 * rapid_toggle). */
#ifndef DM_GB_TIMER_H
#define DM_GB_TIMER_H

#include "gb/machine/context.h"

DM_FN uint32_t dm_gb_div(const dm_gb_machine *m, uint32_t now)
{
    return (now - m->timer.div_base) & 0xFFFFu;
}

DM_FN bool dm_gb_timer_enabled(const dm_gb_timer *timer)
{
    return (timer->tac & 4u) != 0;
}

/* TIMA counts once every 2^n T-cycles: 1024, 16, 64, 256. */
DM_FN uint32_t dm_gb_timer_shift(uint32_t tac)
{
    uint32_t select = tac & 3u;
    return select == 0 ? 10u : 2u + 2u * select;
}

/* Level of the counted bit behind the gate. */
DM_FN bool dm_gb_timer_level(uint32_t counter, uint32_t tac)
{
    return (tac & 4u) != 0 && ((counter >> (dm_gb_timer_shift(tac) - 1u)) & 1u) != 0;
}

DM_FN_SLOW void dm_gb_timer_advance(dm_gb_machine *m, uint32_t now)
{
    dm_gb_timer *timer = &m->timer;
    for (;;) {
        if (timer->overflowed) {
            if (dm_gb_before(now, timer->reload_at))
                break;
            timer->overflowed = 0;
            timer->tima = timer->tma;
            m->int_flags |= DM_GB_INT_TIMER;
            timer->synced = timer->reload_at;
        }
        if (!dm_gb_timer_enabled(timer)) {
            timer->synced = now;
            break;
        }
        uint32_t shift = dm_gb_timer_shift(timer->tac);
        uint32_t from = timer->synced - timer->div_base;
        uint32_t edges =
            (((now - timer->div_base) >> shift) - (from >> shift)) & (0xFFFFFFFFu >> shift);
        uint32_t left = 256u - timer->tima;
        if (edges < left) {
            timer->tima = (uint8_t)(timer->tima + edges);
            timer->synced = now;
            break;
        }
        timer->synced = timer->div_base + (((from >> shift) + left) << shift);
        timer->tima = 0;
        timer->overflowed = 1;
        timer->reload_at = timer->synced + 4u;
    }
}

/* Bring TIMA and its interrupt up to accesses at `now`. */
DM_FN void dm_gb_timer_sync(dm_gb_machine *m, uint32_t now)
{
    if (dm_gb_timer_enabled(&m->timer) || m->timer.overflowed)
        dm_gb_timer_advance(m, now);
    else
        m->timer.synced = now;
}

/* T-cycle of the next interrupt request, as of the last sync. */
DM_FN uint32_t dm_gb_timer_next(const dm_gb_machine *m, uint32_t now)
{
    const dm_gb_timer *timer = &m->timer;
    if (timer->overflowed)
        return timer->reload_at - 1u;
    if (!dm_gb_timer_enabled(timer))
        return dm_gb_never(now);
    uint32_t shift = dm_gb_timer_shift(timer->tac);
    uint32_t from = timer->synced - timer->div_base;
    uint32_t edge = timer->div_base + (((from >> shift) + (256u - timer->tima)) << shift);
    return edge + 3u;
}

/* One falling edge made by a write at `now`. */
DM_FN void dm_gb_timer_edge(dm_gb_machine *m, uint32_t now)
{
    dm_gb_timer *timer = &m->timer;
    if (timer->overflowed)
        return;
    timer->tima = (uint8_t)(timer->tima + 1u);
    if (timer->tima == 0) {
        timer->overflowed = 1;
        timer->reload_at = now + 4u;
    }
}

DM_FN uint8_t dm_gb_timer_read(dm_gb_machine *m, uint32_t now, uint32_t address)
{
    dm_gb_timer *timer = &m->timer;
    dm_gb_timer_sync(m, now);
    switch (address) {
    case 0xFF04:
        return (uint8_t)(dm_gb_div(m, now) >> 8);
    case 0xFF05:
        return timer->tima;
    case 0xFF06:
        return timer->tma;
    default:
        return (uint8_t)(timer->tac | 0xF8u);
    }
}

DM_FN void dm_gb_timer_write(dm_gb_machine *m, uint32_t now, uint32_t address, uint8_t value)
{
    dm_gb_timer *timer = &m->timer;
    dm_gb_timer_sync(m, now);
    bool reloading = !timer->overflowed && timer->reload_at == now;
    switch (address) {
    case 0xFF04: {
        bool edge = dm_gb_timer_level(dm_gb_div(m, now), timer->tac);
        timer->div_base = now;
        timer->synced = now;
        if (edge)
            dm_gb_timer_edge(m, now);
        break;
    }
    case 0xFF05:
        if (reloading)
            break;
        timer->tima = value;
        timer->overflowed = 0;
        break;
    case 0xFF06:
        timer->tma = value;
        if (reloading)
            timer->tima = value;
        break;
    default: {
        uint32_t counter = dm_gb_div(m, now);
        bool before = dm_gb_timer_level(counter, timer->tac);
        timer->tac = value & 7u;
        if (before && !dm_gb_timer_level(counter, timer->tac))
            dm_gb_timer_edge(m, now);
        break;
    }
    }
}

#endif
