/* SPDX-License-Identifier: MIT */
/* bus.h - the bus of sm83.h in a service; kernel text.
 *
 * Instructions that come here are those that the fast path does not have, so every access takes the slow path
 * (machine/bus.h). There is one place that reads and one that writes, where lanes with different instructions meet. */
#ifndef DM_SIMT_BUS_H
#define DM_SIMT_BUS_H

#include "gb/machine/bus.h"
#include "gb/machine/regs.h"

typedef dm_gb_context dm_gb_bus;

/* The page table is filled anew after the service (page_table.h). */
DM_FN void dm_gb_map(dm_gb_context *context)
{
    context->remap = true;
}

/* A slow path may have moved the next event or changed the map. */
DM_FN void dm_gb_hot_reload(const dm_gb_context *context, dm_gb_hot *hot)
{
    hot->next_event = dm_gb_m(context)->next_event;
    hot->io_address = DM_GB_NO_ADDRESS;
    hot->vram_until = hot->clock;
}

/* Until when VRAM is plain memory, after an access at `now` that was let through: the unit does not read it
 * for a picture and the access stays open. */
DM_FN uint32_t dm_gb_vram_steady(dm_gb_context *context, uint32_t now)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    if (!dm_gb_lcd_on(m))
        return dm_gb_never(now);
    if (context->log_end != 0) /* logged lines still need it */
        return now;
    if (ppu->line >= DM_GB_VBLANK_LINE)
        return dm_gb_line_time(ppu, 0, 80, 0);
    if (ppu->fifo.dot != 0)
        return now;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (dot <= 80u)
        return ppu->line_start + 80u;
    /* Mode 3 refuses reads from dot 80 on and writes from dot 84: an access after dot 86 is in mode 0. */
    return dot > 86u && dot < DM_GB_LINE_CYCLES && ppu->line + 1u < DM_GB_VBLANK_LINE &&
                   (!ppu->drawing || ppu->drawn != 0)
               ? ppu->line_start + DM_GB_LINE_CYCLES + 80u
               : now;
}

DM_FN uint32_t dm_gb_bus_read(dm_gb_context *context, dm_gb_hot *hot, uint32_t address)
{
    uint32_t now = hot->clock;
    hot->clock = now + 4u;
    return dm_gb_slow_read(context, now, address);
}

DM_FN void dm_gb_bus_write(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint32_t now = hot->clock;
    hot->clock = now + 4u;
    hot->idle_pc = DM_GB_NO_IDLE;
    if (address - 0xFF80u < 0x7Fu) {
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
        return;
    }
    dm_gb_slow_write(context, now, address, value);
    dm_gb_hot_reload(context, hot);
}

/* `count` bytes, 0 to 2, the low one first. */
DM_FN uint32_t dm_gb_bus_load(dm_gb_context *context, dm_gb_hot *hot, uint32_t address,
                              uint32_t count)
{
    uint32_t value = 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        value |= dm_gb_bus_read(context, hot, (address + i) & 0xFFFFu) << (8u * i);
    return value;
}

/* Likewise; `push`: the high one first, downwards. */
DM_FN void dm_gb_bus_store(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value,
                           uint32_t count, bool push)
{
    const uint32_t step = push ? 0xFFFFu : 1u;
    if (push) {
        address = (address + 1u) & 0xFFFFu;
        value = ((value >> 8) & 0xFFu) | (value << 8);
    }
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        dm_gb_bus_write(context, hot, address, value & 0xFFu);
        address = (address + step) & 0xFFFFu;
        value >>= 8;
    }
}

DM_FN uint32_t dm_gb_fetch(dm_gb_context *context, dm_gb_hot *hot)
{
    uint32_t value = dm_gb_bus_read(context, hot, hot->pc);
    hot->pc = (hot->pc + 1u) & 0xFFFFu;
    return value;
}

DM_FN uint32_t dm_gb_bus_fetch8(dm_gb_context *context, dm_gb_hot *hot)
{
    return dm_gb_fetch(context, hot);
}

DM_FN uint32_t dm_gb_bus_fetch16(dm_gb_context *context, dm_gb_hot *hot)
{
    uint32_t low = dm_gb_fetch(context, hot);
    return low | (dm_gb_fetch(context, hot) << 8);
}

DM_FN void dm_gb_bus_jump(dm_gb_context *context, dm_gb_hot *hot, uint32_t from)
{
    (void)context;
    (void)hot;
    (void)from;
}

DM_FN void dm_gb_bus_idle(dm_gb_context *context, dm_gb_hot *hot)
{
    (void)context;
    dm_gb_hot_tick(hot);
}

DM_FN void dm_gb_bus_adjust(dm_gb_context *context, dm_gb_hot *hot, uint32_t value)
{
    if (DM_UNLIKELY((value & 0xFF00u) == 0xFE00u)) {
        dm_gb_oam_bug_write(context, hot->clock);
        hot->idle_pc = DM_GB_NO_IDLE; /* a loop that does this does not only wait */
    }
}

DM_FN void dm_gb_bus_control(dm_gb_context *context, dm_gb_hot *hot, uint32_t operation)
{
    hot->pc = (hot->pc + dm_gb_control(context, hot->clock, operation)) & 0xFFFFu;
    hot->idle_pc = DM_GB_NO_IDLE;
    dm_gb_hot_reload(context, hot);
}

#endif
