/* SPDX-License-Identifier: MIT */
/* bus.h - the memory map; kernel text.
 *
 *   0000..3FFF ROM    8000..9FFF VRAM           C000..DFFF WRAM   FE00..FE9F OAM    FF80..FFFE HRAM
 *   4000..7FFF ROM    A000..BFFF cartridge RAM  E000..FDFF echo   FF00..FF7F I/O    FFFF IE
 *
 * Plain memory is read and written inline; everything that has a side effect, can be blocked or
 * needs a device brought up to date goes through dm_gb_slow_read and dm_gb_slow_write. */
#ifndef DM_GB_BUS_H
#define DM_GB_BUS_H

#include "gb/machine/io.h"
#include "gb/machine/oam_bug.h"
#include "gb/machine/regs.h"

typedef dm_gb_context dm_gb_bus;

/* ---- Scheduling ---- */

DM_FN bool dm_gb_pending(const dm_gb_context *context)
{
    return (dm_gb_m(context)->int_flags & dm_gb_ram_load(context, DM_GB_IE) & 0x1Fu) != 0;
}

/* Is there anything to do before the next instruction? */
DM_FN bool dm_gb_waiting(const dm_gb_context *context)
{
    const dm_gb_cpu *cpu = &dm_gb_m(context)->cpu;
    return cpu->mode != DM_GB_RUNNING || cpu->ei_delay || cpu->halt_bug ||
           (cpu->ime && dm_gb_pending(context));
}

/* Work out when the loop must look up from executing instructions: at `now` when an interrupt is
 * waiting, else when the next one that IE lets through can come, or where the run stops. */
DM_FN_SLOW void dm_gb_schedule(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (dm_gb_waiting(context)) {
        m->next_event = now;
        return;
    }
    uint32_t enabled = dm_gb_ram_load(context, DM_GB_IE);
    uint32_t next = dm_gb_ppu_next(context, enabled);
    if ((enabled & DM_GB_INT_TIMER) != 0)
        next = dm_gb_earlier(next, dm_gb_timer_next(m, now));
    if ((enabled & DM_GB_INT_SERIAL) != 0)
        next = dm_gb_earlier(next, dm_gb_serial_next(m, now));
    next = dm_gb_earlier(next, dm_gb_dma_next(m, now));
    m->next_event = dm_gb_earlier(next + 1u, m->target);
}

/* ---- Which addresses are plain memory ---- */

#if DM_GB_GPU_FORM

/* The map is fast.h's business, after the service. */
DM_FN void dm_gb_map(dm_gb_context *context)
{
    context->remap = true;
}

#else

/* Point every 4 KiB page at its memory. Called when a bank, the boot ROM or DMA changes the map. */
DM_FN_SLOW void dm_gb_map(dm_gb_context *context)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_cart *cart = &m->cart;
    for (uint32_t page = 0; page < 16; page++) {
        context->read_page[page] = 0;
        context->write_page[page] = 0;
        context->code_end[page] = 0;
    }
    if (m->dma.active)
        return;
    for (uint32_t page = m->boot_mapped ? 1 : 0; page < 4; page++) {
        context->read_page[page] = context->rom + cart->rom_low;
    }
    for (uint32_t page = 4; page < 8; page++)
        context->read_page[page] = context->rom + cart->rom_high - 0x4000;
    if (!dm_gb_lcd_on(m)) {
        for (uint32_t page = 8; page < 10; page++)
            context->read_page[page] = context->write_page[page] =
                context->ram + DM_GB_VRAM - 0x8000;
    }
    if (cart->ram_window != DM_GB_NO_RAM) {
        for (uint32_t page = 10; page < 12; page++)
            context->read_page[page] = context->write_page[page] =
                context->ram + DM_GB_CART_RAM + cart->ram_window - 0xA000;
    }
    for (uint32_t page = 12; page < 14; page++)
        context->read_page[page] = context->write_page[page] = context->ram + DM_GB_WRAM - 0xC000;
    context->read_page[14] = context->write_page[14] = context->ram + DM_GB_WRAM - 0xE000;
    /* An instruction has up to three bytes. */
    for (uint32_t page = 0; page < 15; page++)
        if (context->read_page[page] != 0)
            context->code_end[page] =
                (uint16_t)(((page < 8 ? page | 3u : page | 1u) << 12) + 0xFFEu);
    context->code_end[14] = 0xEFFE; /* what follows is echo too, but FE00 is not */
}

#endif

/* ---- Slow reads ---- */

/* While DMA reads from a bus, an access of the CPU to the same bus meets the byte under way: a read
 * gets it, a write goes to OAM in its place. */
DM_FN bool dm_gb_dma_conflict(const dm_gb_machine *m, uint32_t now, uint32_t address)
{
    if (!m->dma.active || address >= 0xFE00u || dm_gb_dma_busy(m, now) == 0)
        return false;
    uint32_t source = m->dma.source;
    bool source_vram = (source & 0xE000u) == 0x8000u;
    bool address_vram = (address & 0xE000u) == 0x8000u;
    return source_vram == address_vram;
}

/* Everything that could make a read of IF differ later. */
DM_FN uint32_t dm_gb_flags_steady(dm_gb_context *context, uint32_t now)
{
    const dm_gb_machine *m = dm_gb_m(context);
    uint32_t until = dm_gb_earlier(dm_gb_ppu_next(context, 0x1F), dm_gb_timer_next(m, now));
    return dm_gb_earlier(until, dm_gb_serial_next(m, now));
}

DM_FN uint32_t dm_gb_io_read(dm_gb_context *context, uint32_t now, uint32_t address)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint32_t steady = now; /* how long the answer stays the same */
    uint32_t value = 0xFF;
    if (address >= 0xFF40u && address <= 0xFF4Bu) {
        value = dm_gb_ppu_read(context, now, address);
        if (address == 0xFF41u || address == 0xFF44u)
            steady = dm_gb_ppu_steady(context, now, address == 0xFF44u);
        else
            steady = dm_gb_never(now);
    } else if (address >= 0xFF10u && address < 0xFF40u) {
        value = dm_gb_apu_read(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now), address);
    } else if (address >= 0xFF04u && address <= 0xFF07u) {
        value = dm_gb_timer_read(m, now, address);
    } else if (address == 0xFF0Fu) {
        dm_gb_ppu_sync(context, now);
        dm_gb_timer_sync(m, now);
        dm_gb_serial_sync(context, now);
        value = m->int_flags | 0xE0u;
        steady = dm_gb_flags_steady(context, now);
    } else if (address == 0xFF00u) {
        value = 0xC0u | m->joypad.select | dm_gb_joypad_lines(&m->joypad);
        steady = dm_gb_never(now);
    } else if (address == 0xFF01u || address == 0xFF02u) {
        dm_gb_serial_sync(context, now);
        value = address == 0xFF01u ? m->serial.sb : m->serial.sc | 0x7Eu;
        steady = m->serial.bits_left != 0 ? m->serial.next_bit - 1u : dm_gb_never(now);
    } else if (address == 0xFF50u) {
        value = m->boot_mapped ? 0xFEu : 0xFFu;
    }
    context->idle_limit = dm_gb_earlier(context->idle_limit, steady);
#if DM_GB_GPU_FORM
    context->steady = steady;
#endif
    return value;
}

DM_FN_SLOW uint32_t dm_gb_slow_read(dm_gb_context *context, uint32_t now, uint32_t address)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (address >= 0xFF80u)
        return dm_gb_ram_load(context, DM_GB_HRAM + address - 0xFF80u);
    if (address >= 0xFF00u)
        return dm_gb_io_read(context, now, address);
    if (m->dma.active) {
        context->idle_limit = now;
        if (dm_gb_dma_sync(context, now)) {
            dm_gb_map(context);
        } else if (dm_gb_dma_conflict(m, now, address)) {
            return dm_gb_ram_load(context, DM_GB_OAM + dm_gb_dma_busy(m, now) - 1u);
        }
    }
    if (address < 0x8000u) {
        if (m->boot_mapped && address < 0x100u)
            return context->boot[address];
        const dm_gb_cart *cart = dm_gb_cart_of(context);
        return context
            ->rom[(address < 0x4000u ? cart->rom_low : cart->rom_high) + (address & 0x3FFFu)];
    }
    if (address - 0xC000u < 0x3E00u)
        return dm_gb_ram_load(context, DM_GB_WRAM + (address & 0x1FFFu));
    context->idle_limit = now;
    if (address < 0xA000u) {
        dm_gb_ppu_sync(context, now);
        if (dm_gb_vram_blocked(context, now, false))
            return 0xFF;
        return dm_gb_ram_load(context, DM_GB_VRAM + (address & 0x1FFFu));
    }
    if (address < 0xC000u)
        return dm_gb_cart_ram_read(context, address);
    dm_gb_ppu_sync(context, now);
    if (dm_gb_dma_holds_oam(m, now))
        return 0xFF;
    dm_gb_oam_bug_read(context, now);
    if (dm_gb_oam_blocked(context, now, false)) {
        dm_gb_oam_touch(context, now, address & 0xFFu);
        return 0xFF;
    }
    return address < 0xFEA0u ? dm_gb_ram_load(context, DM_GB_OAM + (address & 0xFFu)) : 0u;
}

/* ---- Slow writes ---- */

#if DM_GB_GPU_FORM

DM_FN void dm_gb_watch_write(dm_gb_context *context, uint32_t address)
{
    (void)context;
    (void)address;
}

DM_FN void dm_gb_idle_probe_soon(dm_gb_context *context, uint32_t now, uint32_t address)
{
    (void)context;
    (void)now;
    (void)address;
}

#else

/* Such a loop writes to P1, and to WRAM what is there at its end again. */
DM_FN_SLOW void dm_gb_watch_ram(dm_gb_context *context, uint32_t address)
{
    dm_gb_journal *journal = context->journal;
    const uint32_t at = address & 0x1FFFu;
    const bool wram = address - 0xC000u < 0x3E00u;
    for (uint32_t i = 0; wram && i < journal->count; i++)
        if (journal->at[i] == at)
            return;
    if (!wram || journal->count == DM_GB_JOURNAL) {
        dm_gb_watch_over(context);
        return;
    }
    journal->at[journal->count] = (uint16_t)at;
    journal->was[journal->count++] = dm_gb_ram_load(context, DM_GB_WRAM + at);
}

DM_FN void dm_gb_watch_write(dm_gb_context *context, uint32_t address)
{
    if (DM_UNLIKELY(context->watch == DM_GB_WATCHING) && address != 0xFF00u)
        dm_gb_watch_ram(context, address);
}

/* P1 was written: one of many such writes is an event, so that run.h can look for a loop. */
DM_FN void dm_gb_idle_probe_soon(dm_gb_context *context, uint32_t now, uint32_t address)
{
    if (address != 0xFF00u || !context->skip_idle || context->watch != DM_GB_NOT_WATCHING)
        return;
    if (++context->pad_writes >= DM_GB_IDLE_PROBE_AFTER << context->probe_level) {
        context->probe = true;
        dm_gb_m(context)->next_event = now;
    }
}

#endif

DM_FN void dm_gb_flags_write(dm_gb_context *context, uint32_t now, uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu_sync(context, now);
    dm_gb_timer_sync(m, now);
    dm_gb_serial_sync(context, now);
    m->int_flags = value & 0x1Fu;
}

DM_FN void dm_gb_io_write(dm_gb_context *context, uint32_t now, uint32_t address, uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (address >= 0xFF40u && address <= 0xFF4Bu) {
        uint8_t lcdc = m->ppu.lcdc;
        dm_gb_ppu_write(context, now, address, value);
        if (address == 0xFF46u || ((lcdc ^ m->ppu.lcdc) & DM_GB_LCD_ON) != 0)
            dm_gb_map(context);
    } else if (address >= 0xFF10u && address < 0xFF40u) {
        dm_gb_apu_write(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now), address, value);
    } else if (address >= 0xFF04u && address <= 0xFF07u) {
        if (address == 0xFF04u) {
            dm_gb_apu_div_reset(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now));
            dm_gb_serial_div_reset(context, now);
        }
        dm_gb_timer_write(m, now, address, value);
    } else if (address == 0xFF0Fu) {
        dm_gb_flags_write(context, now, value);
    } else if (address == 0xFF00u) {
        dm_gb_joypad_set(m, value & 0x30u, m->joypad.keys);
    } else if (address == 0xFF01u) {
        dm_gb_serial_sync(context, now);
        m->serial.sb = value;
    } else if (address == 0xFF02u) {
        dm_gb_serial_control(context, now, value);
    } else if (address == 0xFF50u && (value & 1u) != 0 && m->boot_mapped) {
        m->boot_mapped = 0;
        dm_gb_map(context);
    }
}

DM_FN_SLOW void dm_gb_slow_write(dm_gb_context *context, uint32_t now, uint32_t address,
                                 uint32_t byte)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint8_t value = (uint8_t)byte;
    dm_gb_watch_write(context, address);
    if (m->dma.active) {
        if (dm_gb_dma_sync(context, now)) {
            dm_gb_map(context);
        } else if (dm_gb_dma_conflict(m, now, address)) {
            /* WRAM drives the bus as well: bits that either side pulls down are 0. */
            uint32_t at = DM_GB_OAM + dm_gb_dma_busy(m, now) - 1u;
            uint8_t driven = m->dma.source >= 0xC000u ? dm_gb_ram_load(context, at) : 0xFFu;
            dm_gb_ram_store(context, at, value & driven);
            return;
        }
    }
    if (address >= 0xFF00u) {
        if (address == 0xFFFFu) {
            /* What was not worth an event before may be pending now. */
            dm_gb_ppu_sync(context, now);
            dm_gb_timer_sync(m, now);
            dm_gb_serial_sync(context, now);
            dm_gb_ram_store(context, DM_GB_IE, value);
        } else {
            dm_gb_io_write(context, now, address, value);
            if (address >= 0xFF10u && address < 0xFF40u)
                return; /* sound asks for nothing */
        }
        dm_gb_schedule(context, now);
        dm_gb_idle_probe_soon(context, now, address);
        return;
    }
    if (address < 0x8000u) {
        if (dm_gb_cart_write(dm_gb_cart_of(context), now, address, value))
            dm_gb_map(context);
    } else if (address < 0xA000u) {
        dm_gb_ppu_sync(context, now);
        if (dm_gb_vram_blocked(context, now, true))
            return;
        dm_gb_draw_until(context, now);
        if (dm_gb_ram_load(context, DM_GB_VRAM + (address & 0x1FFFu)) != value)
            dm_gb_render_logged(context);
        dm_gb_ram_store(context, DM_GB_VRAM + (address & 0x1FFFu), value);
    } else if (address < 0xC000u) {
        dm_gb_cart_ram_write(context, now, address, value);
    } else if (address < 0xFE00u) {
        dm_gb_ram_store(context, DM_GB_WRAM + (address & 0x1FFFu), value);
    } else {
        dm_gb_ppu_sync(context, now);
        if (dm_gb_dma_holds_oam(m, now))
            return;
        dm_gb_oam_bug_write(context, now);
        if (dm_gb_oam_blocked(context, now, true))
            return;
        dm_gb_draw_sync(context, now);
        dm_gb_scan_until(context, now);
        dm_gb_render_logged(context);
        dm_gb_oam_store(context, now, address & 0xFFu, value);
    }
}

/* ---- What sm83.h calls ---- */

#if DM_GB_GPU_FORM

/* A slow path may have moved the next event or changed the map. */
DM_FN void dm_gb_hot_reload(const dm_gb_context *context, dm_gb_hot *hot)
{
    hot->next_event = dm_gb_m(context)->next_event;
    hot->io_address = DM_GB_NO_ADDRESS;
    hot->vram_until = hot->clock;
}

/* Until when VRAM is plain memory, after an access at `now` that was let through: nobody reads it
 * for a picture and the access stays open. */
DM_FN uint32_t dm_gb_vram_steady(dm_gb_context *context, uint32_t now)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    if (!dm_gb_lcd_on(m))
        return dm_gb_never(now);
    if (context->log_end != 0) /* lines wait to be drawn */
        return now;
    if (ppu->line >= DM_GB_VBLANK_LINE)
        return dm_gb_line_time(ppu, 0, 80, 0);
    if (ppu->fifo.dot != 0)
        return now;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (dot <= 80u)
        return ppu->line_start + 80u;
    /* Reads are shut out at dot 80, writes later: what is let through after that is in mode 0. */
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

#else

/* Find the code at PC again: it jumped, or something may have changed the map. */
DM_FN void dm_gb_hot_remap(dm_gb_hot *hot, dm_gb_context *context)
{
    uint32_t page = hot->pc >> 12;
    hot->code = context->read_page[page];
    context->code_limit = context->code_end[page];
}

/* A slow write may move the next event. Returns the time in relation to it. */
DM_FN_SLOW uint64_t dm_gb_timed_write(dm_gb_context *context, uint64_t time, uint32_t address,
                                      uint32_t value)
{
    uint32_t now = dm_gb_time_clock(time, dm_gb_m(context));
    dm_gb_slow_write(context, now, address, value);
    return dm_gb_time_make(now, time, dm_gb_m(context));
}

/* Does the compiler know that this holds? LDH needs no look at the page. */
#define DM_GB_KNOWN(condition) (__builtin_constant_p(condition) && (condition))

DM_FN uint32_t dm_gb_bus_read(dm_gb_context *context, dm_gb_hot *hot, uint32_t address)
{
    const uint8_t *page = DM_GB_KNOWN(address >= 0xFF00u) ? 0 : context->read_page[address >> 12];
    uint32_t value;
    if (DM_LIKELY(page != 0))
        value = page[address];
    else if (address >= 0xFF80u)
        value = dm_gb_ram_load(context, DM_GB_HRAM + address - 0xFF80u);
    else
        value = dm_gb_slow_read(context, dm_gb_hot_clock(hot, dm_gb_m(context)), address);
    dm_gb_hot_tick(hot);
    return value;
}

DM_FN void dm_gb_bus_write(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint8_t *page = DM_GB_KNOWN(address >= 0xFF00u) ? 0 : context->write_page[address >> 12];
    context->idle_pc = DM_GB_NO_IDLE;
    if (DM_LIKELY(page != 0)) {
        page[address] = (uint8_t)value;
    } else if (address - 0xFF80u < 0x7Fu) {
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
    } else {
        hot->time = dm_gb_timed_write(context, hot->time, address, value);
        dm_gb_hot_remap(hot, context);
    }
    dm_gb_hot_tick(hot);
}

/* Are the two bytes at an address in HRAM, below IE? */
DM_FN bool dm_gb_in_hram(uint32_t address)
{
    return address - 0xFF80u < 0x7Eu;
}

/* Are they on one page? */
DM_FN bool dm_gb_one_page(uint32_t address)
{
    return (address & 0xFFFu) != 0xFFFu;
}

DM_FN_SLOW uint32_t dm_gb_slow_pop(dm_gb_context *context, uint64_t time, uint32_t address)
{
    dm_gb_hot hot;
    hot.time = time;
    uint32_t low = dm_gb_bus_read(context, &hot, address);
    return low | (dm_gb_bus_read(context, &hot, (address + 1u) & 0xFFFFu) << 8);
}

DM_FN uint32_t dm_gb_bus_pop(dm_gb_context *context, dm_gb_hot *hot, uint32_t address)
{
    const uint8_t *page = context->read_page[address >> 12];
    uint32_t value;
    if (DM_UNLIKELY(page == 0) && dm_gb_in_hram(address))
        page = context->ram + DM_GB_HRAM - 0xFF80;
    if (DM_LIKELY(page != 0 && dm_gb_one_page(address))) {
        page += address;
        value = page[0] | ((uint32_t)page[1] << 8);
    } else {
        value = dm_gb_slow_pop(context, hot->time, address);
    }
    hot->time += 2u * DM_GB_TIME_CYCLE;
    return value;
}

DM_FN_SLOW uint64_t dm_gb_slow_push(dm_gb_context *context, uint64_t time, uint32_t address,
                                    uint32_t value)
{
    dm_gb_hot hot;
    hot.time = time;
    hot.pc = 0;
    dm_gb_bus_write(context, &hot, (address + 1u) & 0xFFFFu, value >> 8);
    dm_gb_bus_write(context, &hot, address, value & 0xFFu);
    return hot.time;
}

DM_FN void dm_gb_bus_push(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint8_t *page = context->write_page[address >> 12];
    context->idle_pc = DM_GB_NO_IDLE;
    if (DM_UNLIKELY(page == 0) && dm_gb_in_hram(address))
        page = context->ram + DM_GB_HRAM - 0xFF80;
    if (DM_LIKELY(page != 0 && dm_gb_one_page(address))) {
        page += address;
        page[0] = (uint8_t)value;
        page[1] = (uint8_t)(value >> 8);
        hot->time += 2u * DM_GB_TIME_CYCLE;
    } else {
        hot->time = dm_gb_slow_push(context, hot->time, address, value);
        dm_gb_hot_remap(hot, context);
    }
}

#endif

DM_FN uint32_t dm_gb_fetch(dm_gb_context *context, dm_gb_hot *hot)
{
    uint32_t value = dm_gb_bus_read(context, hot, hot->pc);
    hot->pc = (hot->pc + 1u) & 0xFFFFu;
    return value;
}

#if DM_GB_GPU_FORM

DM_FN uint32_t dm_gb_bus_fetch8(dm_gb_context *context, dm_gb_hot *hot)
{
    return dm_gb_fetch(context, hot);
}

DM_FN uint32_t dm_gb_bus_fetch16(dm_gb_context *context, dm_gb_hot *hot)
{
    uint32_t low = dm_gb_fetch(context, hot);
    return low | (dm_gb_fetch(context, hot) << 8);
}

#else

/* The loop dispatches only where code holds the whole instruction; elsewhere it is careful. */

DM_FN uint32_t dm_gb_bus_fetch8(dm_gb_context *context, dm_gb_hot *hot)
{
    if (hot->careful)
        return dm_gb_fetch(context, hot);
    uint32_t value = hot->code[hot->pc];
    dm_gb_hot_tick(hot);
    hot->pc++;
    return value;
}

DM_FN uint32_t dm_gb_bus_fetch16(dm_gb_context *context, dm_gb_hot *hot)
{
    if (hot->careful) {
        uint32_t low = dm_gb_fetch(context, hot);
        return low | (dm_gb_fetch(context, hot) << 8);
    }
    const uint8_t *at = hot->code + hot->pc;
    uint32_t value = at[0] | ((uint32_t)at[1] << 8);
    hot->time += 2u * DM_GB_TIME_CYCLE;
    hot->pc += 2u;
    return value;
}

#endif

DM_FN void dm_gb_bus_jump(dm_gb_context *context, dm_gb_hot *hot, uint32_t from)
{
#if DM_GB_GPU_FORM
    (void)context;
    (void)hot;
    (void)from;
#else
    /* Page F is not all one memory. */
    if (from == DM_GB_FAR || DM_UNLIKELY(((from ^ hot->pc) & 0xF000u) != 0 || hot->pc >= 0xF000u))
        dm_gb_hot_remap(hot, context);
#endif
}

DM_FN void dm_gb_bus_idle(dm_gb_context *context, dm_gb_hot *hot)
{
    (void)context;
    dm_gb_hot_tick(hot);
}

DM_FN void dm_gb_bus_adjust(dm_gb_context *context, dm_gb_hot *hot, uint32_t value)
{
    if (DM_UNLIKELY((value & 0xFF00u) == 0xFE00u)) {
        dm_gb_oam_bug_write(context, dm_gb_hot_clock(hot, dm_gb_m(context)));
#if DM_GB_GPU_FORM
        hot->idle_pc = DM_GB_NO_IDLE; /* a loop that does this is not one that only waits */
#endif
    }
}

/* HALT, STOP, DI, EI, RETI and illegal opcodes; `now` is the end of the opcode's M-cycle. Returns
 * what to add to PC. */
DM_FN_SLOW uint32_t dm_gb_control(dm_gb_context *context, uint32_t now, uint32_t operation)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t move = 0;
    bool pending;
    dm_gb_watch_over(context);
    switch (operation) {
    case DM_GB_DO_EI:
        if (!cpu->ime)
            cpu->ei_delay = 1;
        break;
    case DM_GB_DO_RETI:
        cpu->ime = 1;
        break;
    case DM_GB_DO_DI:
        cpu->ime = 0;
        cpu->ei_delay = 0;
        break;
    case DM_GB_DO_ILLEGAL:
        cpu->mode = DM_GB_LOCKED;
        break;
    default:
        dm_gb_ppu_sync(context, now);
        dm_gb_timer_sync(m, now);
        dm_gb_serial_sync(context, now);
        pending = dm_gb_pending(context);
        if (operation == DM_GB_DO_HALT) {
            if (!pending) {
                cpu->mode = DM_GB_HALTED;
                cpu->halted_at = now;
                cpu->waking = 0;
            } else if (cpu->ime) {
                move = 0xFFFFu; /* the handler returns to the HALT */
            } else {
                cpu->halt_bug = 1;
            }
            m->next_event = now;
            return move;
        }
        /* STOP (Pan Docs, "Using the STOP instruction"): its second byte is skipped unless an
         * interrupt waits. */
        if (!pending)
            move = 1;
        if (dm_gb_joypad_lines(&m->joypad) != 0x0Fu) {
            if (!pending) {
                cpu->mode = DM_GB_HALTED;
                cpu->halted_at = now;
                cpu->waking = 0;
            }
        } else {
            cpu->mode = DM_GB_STOPPED;
            dm_gb_ppu_sync(context, now);
            dm_gb_screen_off(m);
            dm_gb_apu_div_reset(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now));
            dm_gb_serial_div_reset(context, now);
            dm_gb_timer_write(m, now, 0xFF04, 0);
        }
        dm_gb_schedule(context, now);
        return move;
    }
    /* When the next request can come does not depend on IME. */
    if (dm_gb_waiting(context))
        m->next_event = now;
    return move;
}

DM_FN void dm_gb_bus_control(dm_gb_context *context, dm_gb_hot *hot, uint32_t operation)
{
    uint32_t now = dm_gb_hot_clock(hot, dm_gb_m(context));
    hot->pc = (hot->pc + dm_gb_control(context, now, operation)) & 0xFFFFu;
#if DM_GB_GPU_FORM
    hot->idle_pc = DM_GB_NO_IDLE;
    dm_gb_hot_reload(context, hot);
#else
    context->idle_pc = DM_GB_NO_IDLE;
    hot->time = dm_gb_time_make(now, hot->time, dm_gb_m(context));
    dm_gb_hot_remap(hot, context);
#endif
}

#endif
