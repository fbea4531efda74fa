/* SPDX-License-Identifier: MIT */
/* event.h - everything that is not executing instructions: devices brought up to date, interrupts, HALT, STOP, the end
 * of a run; kernel text.
 *
 * An executor calls dm_gb_event when the clock reaches machine.next_event, and dm_gb_sync_end at the end of a run. */
#ifndef DM_GB_EVENT_H
#define DM_GB_EVENT_H

#include "gb/machine/bus.h"

enum dm_gb_next { DM_GB_NEXT_STOP, DM_GB_NEXT_RUN, DM_GB_NEXT_HALT_BUG };

/* Bring every device up to accesses at `now`. */
DM_FN void dm_gb_sync_all(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (dm_gb_dma_sync(context, now))
        dm_gb_map(context);
    dm_gb_ppu_sync(context, now);
    dm_gb_timer_sync(m, now);
    dm_gb_serial_sync(context, now);
}

DM_FN void dm_gb_count64(uint32_t *low, uint32_t *high, uint32_t amount)
{
    *low += amount;
    *high += *low < amount ? 1u : 0u;
}

DM_FN void dm_gb_push_byte(dm_gb_context *context, uint32_t now, uint32_t address, uint32_t value)
{
    if (address - 0xFF80u < 0x7Fu)
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
    else if (address - 0xC000u < 0x3E00u && !dm_gb_m(context)->dma.active)
        dm_gb_ram_store(context, DM_GB_WRAM + (address & 0x1FFFu), value);
    else
        dm_gb_slow_write(context, now, address, value);
}

/* Interrupt dispatch, five M-cycles. Which interrupt it is, is decided after the high byte of PC
 * was pushed: when that push goes to IE it may be another one than before, or none (mooneye:
 * interrupts/ie_push). */
DM_FN_SLOW void dm_gb_dispatch(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t now = m->clock + 4u; /* the opcode at PC is fetched and dropped */
    if (DM_UNLIKELY((cpu->pc & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(context, now);
    now += 4u;
    if (DM_UNLIKELY((cpu->sp & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(context, now);
    now += 4u;
    dm_gb_push_byte(context, now, --cpu->sp, cpu->pc >> 8);
    now += 4u;
    uint32_t enabled = dm_gb_ram_load(context, DM_GB_IE);
    dm_gb_sync_all(context, now);
    uint32_t requests = m->int_flags;
    dm_gb_push_byte(context, now, --cpu->sp, cpu->pc & 0xFFu);
    uint32_t pending = enabled & requests & 0x1Fu;
    cpu->pc = 0;
    if (pending != 0) {
        uint32_t bit = dm_ffs_u32(pending) - 1u;
        /* Acknowledged in the middle of the M-cycle: a request that comes before that is lost. */
        dm_gb_sync_all(context, now + 2u);
        m->int_flags &= (uint8_t) ~(1u << bit);
        cpu->pc = (uint16_t)(0x40u + 8u * bit);
    }
    cpu->ime = 0;
    m->clock = now + 4u;
}

/* The earliest T-cycle at which a device will request an enabled interrupt, or do other work of its
 * own. */
DM_FN uint32_t dm_gb_next_request(dm_gb_context *context, uint32_t enabled)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint32_t next = dm_gb_earlier(dm_gb_ppu_next(context, enabled), dm_gb_dma_next(m, m->clock));
    if ((enabled & DM_GB_INT_TIMER) != 0)
        next = dm_gb_earlier(next, dm_gb_timer_next(m, m->clock));
    if ((enabled & DM_GB_INT_SERIAL) != 0)
        next = dm_gb_earlier(next, dm_gb_serial_next(m, m->clock));
    return next;
}

/* Pass time in HALT until `until` at most. A request at T-cycle e is noticed in the middle of an
 * M-cycle and ends the HALT at the end of it, at the earliest two M-cycles after it began (mooneye:
 * halt_ime0_nointr_timing, halt_ime1_timing2; the half M-cycle: intr_2_mode0_timing and
 * hblank_ly_scx_timing). */
DM_FN void dm_gb_halted(dm_gb_context *context, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t enabled = dm_gb_ram_load(context, DM_GB_IE);
    uint32_t from = m->clock;
    uint32_t last = from - 8u;
    /* Requests in the M-cycle that crosses `until` count here, while their moment is known. */
    uint32_t stop = (until + 3u) & ~3u;
    while (!cpu->waking) {
        uint32_t event = m->clock - 1u;
        if ((m->int_flags & enabled & 0x1Fu) == 0) {
            event = dm_gb_next_request(context, enabled);
            /* Time always moves on, except from a damaged save state. */
            if (!dm_gb_before(last, event))
                event = last + 4u;
            last = event;
            if (!dm_gb_before(event, stop))
                break;
            dm_gb_sync_all(context, event + 1u);
            if (dm_gb_before(m->clock, event & ~3u))
                m->clock = event & ~3u;
            if ((m->int_flags & enabled & 0x1Fu) == 0)
                continue;
        }
        uint32_t wake = ((event + 2u) & ~3u) + 4u;
        uint32_t earliest = cpu->halted_at + 8u;
        cpu->wake_at = dm_gb_before(wake, earliest) ? earliest : wake;
        cpu->waking = 1;
    }
    if (cpu->waking && !dm_gb_before(stop, cpu->wake_at)) {
        m->clock = cpu->wake_at;
        dm_gb_dma_wake(context, m->clock, m->clock - cpu->halted_at - 4u);
        cpu->waking = 0;
        cpu->halted_at = 0;
        cpu->mode = DM_GB_RUNNING;
    } else if (dm_gb_before(m->clock, stop)) {
        m->clock = stop;
    }
    dm_gb_count64(&m->halted_low, &m->halted_high, m->clock - from);
}

/* Add `cycles` to every time a device remembers: the oscillator stood still. An MBC3's clock has an oscillator of its
 * own and goes on. */
DM_FN_SLOW void dm_gb_shift_time(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_machine *m = dm_gb_m(context);
    m->timer.div_base += cycles;
    m->timer.synced += cycles;
    m->timer.reload_at += cycles;
    m->serial.next_bit += cycles;
    m->dma.start += cycles;
    m->ppu.line_start += cycles;
    dm_gb_apu_shift_time(dm_gb_apu_of(context), cycles);
    dm_gb_cart_sync(dm_gb_cart_of(context), m->clock);
}

/* STOP and lock-up: nothing moves until a selected key is down (STOP), or ever. */
DM_FN void dm_gb_stopped(dm_gb_context *context, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (m->cpu.mode == DM_GB_STOPPED && dm_gb_joypad_lines(&m->joypad) != 0x0Fu) {
        m->cpu.mode = DM_GB_RUNNING;
        return;
    }
    uint32_t stop = (until + 3u) & ~3u;
    if (m->cpu.mode == DM_GB_STOPPED)
        dm_gb_shift_time(context, stop - m->clock);
    m->clock = stop;
}

/* Do what is due and return what the CPU does next. Its registers are in m. */
DM_FN_SLOW enum dm_gb_next dm_gb_event(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    for (;;) {
        if (!dm_gb_before(m->clock, m->target))
            return DM_GB_NEXT_STOP;
        if (cpu->mode == DM_GB_HALTED) {
            dm_gb_halted(context, m->target);
            continue;
        }
        if (DM_UNLIKELY(cpu->mode != DM_GB_RUNNING)) {
            dm_gb_stopped(context, m->target);
            continue;
        }
        dm_gb_sync_all(context, m->clock);
        if (DM_UNLIKELY(cpu->ei_delay != 0)) {
            /* One more instruction runs before an interrupt can. */
            cpu->ei_delay = 0;
            cpu->ime = 1;
            if (dm_gb_pending(context))
                m->next_event = m->clock + 1u;
            else
                dm_gb_schedule(context, m->clock);
            return DM_GB_NEXT_RUN;
        }
        if (cpu->ime && dm_gb_pending(context)) {
            dm_gb_dispatch(context);
            continue;
        }
        bool halt_bug = cpu->halt_bug != 0;
        cpu->halt_bug = 0;
        dm_gb_schedule(context, m->clock);
        if (!halt_bug && dm_gb_idle_watch_due(context))
            continue;
        return halt_bug ? DM_GB_NEXT_HALT_BUG : DM_GB_NEXT_RUN;
    }
}

/* Bring everything lazy up to the clock, so that two machines that did the same are equal byte for byte. */
DM_FN void dm_gb_sync_end(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint32_t now = m->clock;
    dm_gb_sync_all(context, now);
    dm_gb_render_logged(context);
    dm_gb_apu_sync(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now));
    dm_gb_cart_sync(dm_gb_cart_of(context), now);
    if (dm_gb_in_picture(m) && dm_gb_ppu_dot(m, now) > 84u) {
        dm_gb_mode0_dot(context);
        dm_gb_sprite_count(context);
        dm_gb_mode0_sync(context, now);
    }
    dm_gb_scan_until(context, now);
    dm_gb_draw_advance(context, now);
    for (uint32_t i = m->ppu.sprites; i < 10; i++)
        m->ppu.sprite[i] = m->ppu.sprite_x[i] = m->ppu.sprite_y[i] = 0;
    dm_gb_halt_forget(m);
    dm_gb_count64(&m->cycles_low, &m->cycles_high, now - m->counted_at);
    m->counted_at = now;
    m->next_event = now;
}

#endif
