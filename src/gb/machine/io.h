/* SPDX-License-Identifier: MIT */
/* io.h - registers FF00..FF7F and IE: joypad, serial, interrupts, DMA, and the PPU's own; kernel
 * text.
 *
 * Unmapped registers read FF. The functions sync the device they touch, which makes them slow paths. The
 * joypad needs no sync, and its lines are also asked by simt/predict.h.
 */
#ifndef DM_GB_IO_H
#define DM_GB_IO_H

#include "gb/machine/ppu.h"
#include "gb/machine/timer.h"

/* ---- Joypad ---- */

/* The low four bits of P1; a pressed key of a selected row reads 0. */
DM_FN uint32_t dm_gb_joypad_lines(const dm_gb_joypad *joypad)
{
    uint32_t pressed = 0;
    if ((joypad->select & 0x10u) == 0)
        pressed |= joypad->keys & 0x0Fu;
    if ((joypad->select & 0x20u) == 0)
        pressed |= joypad->keys >> 4;
    return ~pressed & 0x0Fu;
}

/* Change what is pressed or selected; a line that falls asks for the interrupt. */
DM_FN void dm_gb_joypad_set(dm_gb_machine *m, uint8_t select, uint8_t keys)
{
    uint32_t before = dm_gb_joypad_lines(&m->joypad);
    m->joypad.select = select;
    m->joypad.keys = keys;
    if ((before & ~dm_gb_joypad_lines(&m->joypad)) != 0)
        m->int_flags |= DM_GB_INT_JOYPAD;
}

/* ---- Serial ----
 * The serial clock changes at each falling edge of bit 7 of the divider; when it goes down, at 8192
 * Hz, a bit moves. Nothing is connected, so ones come in. A write to SC counts bits from 0 again
 * and puts the clock down, and a write to DIV may be an edge (SameBoy; gambatte's serial tests,
 * mooneye's boot_sclk_align). */

#define DM_GB_SERIAL_BIT 512u

DM_FN_SLOW void dm_gb_serial_advance(dm_gb_machine *m, uint32_t now)
{
    dm_gb_serial *serial = &m->serial;
    while (serial->bits_left != 0 && !dm_gb_before(now, serial->next_bit)) {
        serial->sb = (uint8_t)(serial->sb << 1 | 1);
        serial->next_bit += DM_GB_SERIAL_BIT;
        if (--serial->bits_left == 0) {
            serial->sc &= 0x7Fu;
            m->int_flags |= DM_GB_INT_SERIAL;
        }
    }
}

/* Bring a transfer up to accesses at `now`. */
DM_FN void dm_gb_serial_sync(dm_gb_context *context, uint32_t now)
{
    if (DM_UNLIKELY(dm_gb_m(context)->serial.bits_left != 0))
        dm_gb_serial_advance(dm_gb_m(context), now);
}

/* T-cycle at which a running transfer ends. */
DM_FN uint32_t dm_gb_serial_next(const dm_gb_machine *m, uint32_t now)
{
    const dm_gb_serial *serial = &m->serial;
    if (serial->bits_left == 0)
        return dm_gb_never(now);
    return serial->next_bit + (serial->bits_left - 1u) * DM_GB_SERIAL_BIT - 1u;
}

DM_FN uint32_t dm_gb_serial_clock(const dm_gb_machine *m, uint32_t now)
{
    return ((dm_gb_div(m, now) >> 8) & 1u) ^ m->serial.turned;
}

/* The clock goes down at `now`, which is no falling edge of the divider. */
DM_FN void dm_gb_serial_down(dm_gb_context *context, uint32_t now)
{
    dm_gb_serial *serial = &dm_gb_m(context)->serial;
    serial->turned ^= 1u;
    serial->next_bit = now;
    dm_gb_serial_sync(context, now);
}

DM_FN void dm_gb_serial_control(dm_gb_context *context, uint32_t now, uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_serial *serial = &m->serial;
    dm_gb_serial_sync(context, now);
    uint8_t sent = serial->sb, bits = 8;
    bool running = serial->bits_left != 0;
    if (running)
        serial->bits_left = bits; /* so that the edge does not end it */
    if (dm_gb_serial_clock(m, now) != 0)
        dm_gb_serial_down(context, now);
    if (running)
        bits = serial->bits_left;
    serial->sc = value & 0x81u;
    serial->bits_left = 0;
    if (serial->sc != 0x81u)
        return;
    serial->bits_left = bits;
    serial->next_bit = now + DM_GB_SERIAL_BIT - (dm_gb_div(m, now) & (DM_GB_SERIAL_BIT / 2u - 1u));
    if (context->serial != 0) {
        dm_gb_serial_log *log = context->serial;
        if (log->size < log->capacity)
            log->bytes[log->size] = sent;
        log->size++;
    }
}

/* The divider is about to be cleared. */
DM_FN void dm_gb_serial_div_reset(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_serial *serial = &m->serial;
    dm_gb_serial_sync(context, now);
    uint32_t clock = dm_gb_serial_clock(m, now);
    if ((dm_gb_div(m, now) & 0x80u) != 0) {
        if (clock != 0)
            dm_gb_serial_down(context, now);
        clock ^= 1u;
    }
    serial->turned = (uint8_t)clock;
    if (serial->bits_left != 0)
        serial->next_bit = now + (clock != 0 ? DM_GB_SERIAL_BIT / 2u : DM_GB_SERIAL_BIT);
}

/* ---- OAM DMA (dma.h) ---- */

DM_FN_SLOW bool dm_gb_dma_advance(dm_gb_context *context, uint32_t now)
{
    dm_gb_dma *dma = &dm_gb_m(context)->dma;
    /* A locked-up CPU comes here once in a run, so the end may be long past: the picture unit sees DMA until it. */
    bool over = dm_gb_dma_elapsed(dm_gb_m(context), now) >= DM_GB_DMA_CYCLES;
    uint32_t until = over ? dma->start + DM_GB_DMA_CYCLES : now;
    dm_gb_ppu_sync(context, until);
    dm_gb_scan_until(context, until);
    dm_gb_draw_advance(context, until);
    dm_gb_dma_copy(context, now);
    if (!over)
        return false;
    dma->active = 0;
    return true;
}

/* Copy what is due. True when the transfer ended and memory is mapped as usual again. */
DM_FN bool dm_gb_dma_sync(dm_gb_context *context, uint32_t now)
{
    return DM_UNLIKELY(dm_gb_m(context)->dma.active != 0) && dm_gb_dma_advance(context, now);
}

DM_FN uint32_t dm_gb_dma_next(const dm_gb_machine *m, uint32_t now)
{
    return m->dma.active && m->cpu.mode == DM_GB_RUNNING ? m->dma.start + DM_GB_DMA_CYCLES - 1u
                                                         : dm_gb_never(now);
}

/* Is OAM out of the CPU's reach because of DMA? */
DM_FN bool dm_gb_dma_holds_oam(const dm_gb_machine *m, uint32_t now)
{
    return m->dma.active && (m->dma.restarted || dm_gb_dma_elapsed(m, now) >= 8u);
}

DM_FN_SLOW void dm_gb_dma_start(dm_gb_context *context, uint32_t now, uint8_t value)
{
    dm_gb_dma *dma = &dm_gb_m(context)->dma;
    dm_gb_dma_sync(context, now);
    dm_gb_ppu_sync(context, now);
    dm_gb_draw_sync(context, now);
    dm_gb_scan_until(context, now);
    dm_gb_draw_sprites_late(context);
    dm_gb_render_logged(context);
    uint32_t done = dma->active ? dm_gb_dma_done(dm_gb_m(context), now) : 0u;
    dma->reg = value;
    dma->source = (uint16_t)(value << 8);
    if (done != 0 && done < 160u) {
        dm_gb_ram_store(context, DM_GB_OAM + done, dm_gb_dma_source(context, dma->source + done));
        done++;
    }
    dma->restarted = (uint8_t)done;
    dma->start = now;
    dma->next = 0;
    dma->active = 1;
}

/* The CPU was halted for `cycles` up to `now`: so was the transfer. */
DM_FN void dm_gb_dma_wake(dm_gb_context *context, uint32_t now, uint32_t cycles)
{
    if (!dm_gb_m(context)->dma.active)
        return;
    dm_gb_ppu_sync(context, now);
    dm_gb_scan_until(context, now);
    dm_gb_draw_advance(context, now);
    dm_gb_m(context)->dma.start += cycles;
}

/* ---- PPU registers ---- */

DM_FN uint8_t dm_gb_ppu_read(dm_gb_context *context, uint32_t now, uint32_t address)
{
    dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    switch (address) {
    case 0xFF41:
        dm_gb_ppu_sync(context, now);
        return (uint8_t)(0x80u | ppu->stat | (ppu->lyc_bit ? 4u : 0u) |
                         dm_gb_ppu_mode(context, now));
    case 0xFF44:
        dm_gb_ppu_sync(context, now);
        return (uint8_t)dm_gb_ppu_ly(m, now);
    case 0xFF46:
        return m->dma.reg;
    default:
        return *dm_gb_ppu_byte(&m->ppu, address);
    }
}

/* A register changed that decides the length of mode 3. */
DM_FN void dm_gb_mode3_changed(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (!dm_gb_fifo_live(ppu))
        return;
    ppu->mode0_dot = 0;
    if (ppu->edge == 3)
        ppu->next_dot = (uint16_t)dm_gb_mode0_edge(context);
}

/* WY or LCDC was written: WY is compared again, two dots later (gambatte's window/arg/late_wy). */
DM_FN void dm_gb_window_written(dm_gb_context *context, uint32_t now)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (!dm_gb_in_picture(dm_gb_m(context)) || ppu->window_on || (ppu->lcdc & 0x20u) == 0 ||
        ppu->wy != ppu->line)
        return;
    dm_gb_draw_sync(context, now + 2u);
    ppu->window_on = 1;
}

DM_FN void dm_gb_lcdc_write(dm_gb_context *context, uint32_t now, uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    uint8_t before = ppu->lcdc;
    if (((before ^ value) & 4u) != 0)
        dm_gb_scan_until(context, now);
    if ((before & ~(uint32_t)value & DM_GB_LCD_ON) != 0)
        dm_gb_mode0_sync(context, now);
    ppu->lcdc = value;
    if (((before ^ value) & DM_GB_LCD_ON) != 0) {
        dm_gb_render_logged(context);
        if ((value & DM_GB_LCD_ON) != 0)
            dm_gb_lcd_start(context, now);
        else
            dm_gb_lcd_stop(m);
        return;
    }
    dm_gb_window_written(context, now);
}

/* Registers act a little before or after the access that writes them: by dot, as seen on hardware
 * (mealybug-tearoom's m3 tests; SameBoy lists the offsets). */
DM_FN_SLOW void dm_gb_ppu_write(dm_gb_context *context, uint32_t now, uint32_t address,
                                uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    dm_gb_ppu_sync(context, now);
    switch (address) {
    case 0xFF40:
        if (value != ppu->lcdc) {
            dm_gb_draw_sync(context, now - 2u);
            dm_gb_fifo_lcdc(ppu, value);
            dm_gb_draw_sync(context, now - 1u);
            dm_gb_fifo_lcdc_late(ppu, value);
        }
        dm_gb_lcdc_write(context, now, value);
        dm_gb_mode3_changed(context);
        break;
    case 0xFF41:
        /* The DMG writes FF for one T-cycle first, which enables every source: if one of them holds,
         * the interrupt is requested. */
        if (dm_gb_lcd_on(m)) {
            dm_gb_mode0_sync(context, now);
            ppu->stat = 0x78;
            dm_gb_stat_update(m);
            dm_gb_ppu_sync(context, now + 1u);
        }
        ppu->stat = value & 0x78u;
        if (dm_gb_lcd_on(m))
            dm_gb_stat_update(m);
        break;
    case 0xFF42:
        if (value != ppu->scy)
            dm_gb_draw_sync(context, now - 2u);
        ppu->scy = value;
        break;
    case 0xFF43:
        if (value != ppu->scx) {
            /* The fetcher sees the column one dot before the fine scroll changes (mealybug's
             * m3_scx_high_5_bits, gambatte's scx_m3_extend and ly0_late_scx7). */
            dm_gb_draw_sync(context, now - 2u);
            ppu->scx = (uint8_t)((value & 0xF8u) | (ppu->scx & 7u));
            dm_gb_draw_sync(context, now - 1u);
        }
        ppu->scx = value;
        dm_gb_mode3_changed(context);
        break;
    case 0xFF45:
        ppu->lyc = value;
        if (dm_gb_lcd_on(m))
            dm_gb_stat_update(m);
        break;
    case 0xFF46:
        dm_gb_dma_start(context, now, value);
        break;
    case 0xFF47:
    case 0xFF48:
    case 0xFF49: {
        uint8_t *palette = dm_gb_ppu_byte(ppu, address);
        if (value == *palette)
            break;
        /* For one dot the palette is old and new together. */
        dm_gb_draw_sync(context, now - 2u);
        *palette |= value;
        dm_gb_draw_sync(context, now - 1u);
        *palette = value;
        break;
    }
    case 0xFF4A:
        ppu->wy = value;
        dm_gb_window_written(context, now);
        dm_gb_mode3_changed(context);
        break;
    case 0xFF4B:
        if (value != ppu->wx) {
            dm_gb_draw_sync(context, now);
            ppu->fifo.flags |= ppu->fifo.dot != 0 ? DM_GB_FIFO_WX_CHANGED : 0;
        }
        ppu->wx = value;
        dm_gb_mode3_changed(context);
        break;
    default: /* LY is read-only */
        break;
    }
}

#endif
