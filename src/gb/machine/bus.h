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

#include "gb/machine/decode.h"
#include "gb/machine/io.h"
#include "gb/machine/oam_bug.h"

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

/* Set machine.next_event, where the loop stops executing instructions: `now` when an interrupt is
 * pending, else when the next one that IE lets through can come, or where the run stops. */
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

/* The time up to which a read of IF gives the same: the next request of any device. */
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
    dm_gb_read_holds(context, steady);
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
    dm_gb_idle_before_write(context, address);
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
            /* Requests that IE did not let through had no event; one may be pending now. */
            dm_gb_ppu_sync(context, now);
            dm_gb_timer_sync(m, now);
            dm_gb_serial_sync(context, now);
            dm_gb_ram_store(context, DM_GB_IE, value);
        } else {
            dm_gb_io_write(context, now, address, value);
            if (address >= 0xFF10u && address < 0xFF40u)
                return; /* sound requests no interrupts */
        }
        dm_gb_schedule(context, now);
        dm_gb_idle_after_write(context, now, address);
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

/* ---- Instructions that control the CPU ---- */

/* HALT, STOP, DI, EI, RETI and illegal opcodes; `now` is the end of the opcode's M-cycle. Returns
 * what to add to PC. */
DM_FN_SLOW uint32_t dm_gb_control(dm_gb_context *context, uint32_t now, uint32_t operation)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t move = 0;
    bool pending;
    dm_gb_idle_break(context);
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

#endif
