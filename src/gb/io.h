/* SPDX-License-Identifier: MIT */
/* io.h - registers FF00..FF7F and IE: joypad, serial, interrupts, DMA, and the PPU's own; kernel
 * text.
 *
 * Unmapped registers read FF. Every function here is a slow path: it syncs the device it touches.
 */
#ifndef DM_GB_IO_H
#define DM_GB_IO_H

#include "gb/ppu.h"
#include "gb/timer.h"

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
 * Bits move on falling edges of bit 8 of the divider (8192 Hz); nothing is connected, so ones come
 * in. */

#define DM_GB_SERIAL_BIT 512u

DM_FN void dm_gb_serial_sync(dm_gb_lane *lane, uint32_t now)
{
    dm_gb_machine *m = lane->m;
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

/* T-cycle at which a running transfer ends. */
DM_FN uint32_t dm_gb_serial_next(const dm_gb_machine *m, uint32_t now)
{
    const dm_gb_serial *serial = &m->serial;
    if (serial->bits_left == 0)
        return dm_gb_never(now);
    return serial->next_bit + (serial->bits_left - 1u) * DM_GB_SERIAL_BIT - 1u;
}

DM_FN void dm_gb_serial_control(dm_gb_lane *lane, uint32_t now, uint8_t value)
{
    dm_gb_machine *m = lane->m;
    dm_gb_serial *serial = &m->serial;
    dm_gb_serial_sync(lane, now);
    serial->sc = value & 0x81u;
    serial->bits_left = 0;
    if (serial->sc != 0x81u)
        return;
    serial->bits_left = 8;
    serial->next_bit = now + DM_GB_SERIAL_BIT - (dm_gb_div(m, now) & (DM_GB_SERIAL_BIT - 1u));
    if (lane->serial != 0) {
        dm_gb_serial_log *log = lane->serial;
        if (log->size < log->capacity)
            log->bytes[log->size] = serial->sb;
        log->size++;
    }
}

/* ---- OAM DMA ----
 * A write to FF46 at access time t: OAM stays open for one M-cycle, then byte i is copied by the
 * access at t + 8 + 4 i, and OAM is closed from t + 8 to t + 644. Source addresses from E000 up
 * read WRAM. A transfer that is asked for during another changes the source at once, so the one
 * byte that the old transfer still copies comes from the new page. While the CPU is halted the
 * transfer stands still (gambatte's oamdma tests). */

#define DM_GB_DMA_CYCLES 648u

/* Bytes copied before an access at `now`. */
DM_FN uint32_t dm_gb_dma_done(const dm_gb_machine *m, uint32_t now)
{
    uint32_t elapsed = dm_gb_dma_elapsed(m, now);
    uint32_t done = elapsed < 8u ? 0u : (elapsed - 4u) >> 2;
    return done < 160u ? done : 160u;
}

/* Where the DMA unit reads: memory as it is, without side effects. */
DM_FN uint8_t dm_gb_dma_source(dm_gb_lane *lane, uint32_t address)
{
    const dm_gb_cart *cart = &lane->m->cart;
    if (address >= 0xE000u)
        address -= 0x2000u;
    if (address >= 0xC000u)
        return dm_gb_ram_load(lane, DM_GB_WRAM + (address & 0x1FFFu));
    if (address >= 0xA000u)
        return dm_gb_cart_ram_read(lane, address);
    if (address >= 0x8000u)
        return dm_gb_ram_load(lane, DM_GB_VRAM + (address & 0x1FFFu));
    if (address >= 0x4000u)
        return lane->rom[cart->rom_high + (address & 0x3FFFu)];
    return lane->rom[cart->rom_low + address];
}

/* Copy what is due. True when the transfer ended and memory is mapped as usual again. */
DM_FN_SLOW bool dm_gb_dma_sync(dm_gb_lane *lane, uint32_t now)
{
    dm_gb_dma *dma = &lane->m->dma;
    if (!dma->active)
        return false;
    /* A CPU that is locked up comes here once a run: lines after the end see what was copied. */
    bool over = dm_gb_dma_elapsed(lane->m, now) >= DM_GB_DMA_CYCLES;
    uint32_t until = over ? dma->start + DM_GB_DMA_CYCLES : now;
    dm_gb_ppu_sync(lane, until);
    dm_gb_scan_until(lane, until);
    uint32_t done = dm_gb_dma_done(lane->m, now);
    if ((dma->source & 0xE000u) == 0xC000u) {
        /* Nearly always WRAM. */
        uint32_t from = DM_GB_WRAM + (dma->source & 0x1FFFu);
        for (uint32_t i = dma->next; i < done; i++)
            dm_gb_ram_store(lane, DM_GB_OAM + i, dm_gb_ram_load(lane, from + i));
    } else {
        for (uint32_t i = dma->next; i < done; i++)
            dm_gb_ram_store(lane, DM_GB_OAM + i, dm_gb_dma_source(lane, dma->source + i));
    }
    dma->next = (uint8_t)done;
    if (!over)
        return false;
    dma->active = 0;
    return true;
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

/* 1 + the byte of OAM that the transfer is busy with at an access; 0: none. */
DM_FN uint32_t dm_gb_dma_busy(const dm_gb_machine *m, uint32_t now)
{
    uint32_t done = dm_gb_dma_done(m, now);
    return done != 0 ? done : m->dma.restarted;
}

DM_FN void dm_gb_dma_start(dm_gb_lane *lane, uint32_t now, uint8_t value)
{
    dm_gb_dma *dma = &lane->m->dma;
    dm_gb_dma_sync(lane, now);
    dm_gb_ppu_sync(lane, now);
    dm_gb_draw_settle(lane, now);
    dm_gb_scan_until(lane, now);
    uint32_t done = dma->active ? dm_gb_dma_done(lane->m, now) : 0u;
    dma->reg = value;
    dma->source = (uint16_t)(value << 8);
    if (done != 0 && done < 160u) {
        dm_gb_ram_store(lane, DM_GB_OAM + done, dm_gb_dma_source(lane, dma->source + done));
        done++;
    }
    dma->restarted = (uint8_t)done;
    dma->start = now;
    dma->next = 0;
    dma->active = 1;
}

/* The CPU was halted for `cycles` up to `now`: so was the transfer. */
DM_FN void dm_gb_dma_wake(dm_gb_lane *lane, uint32_t now, uint32_t cycles)
{
    if (!lane->m->dma.active)
        return;
    dm_gb_ppu_sync(lane, now);
    dm_gb_scan_until(lane, now);
    lane->m->dma.start += cycles;
}

/* ---- PPU registers ---- */

DM_FN uint8_t dm_gb_ppu_read(dm_gb_lane *lane, uint32_t now, uint32_t address)
{
    dm_gb_machine *m = lane->m;
    const dm_gb_ppu *ppu = &m->ppu;
    switch (address) {
    case 0xFF40:
        return ppu->lcdc;
    case 0xFF41:
        dm_gb_ppu_sync(lane, now);
        return (uint8_t)(0x80u | ppu->stat | (ppu->lyc_bit ? 4u : 0u) | dm_gb_ppu_mode(lane, now));
    case 0xFF42:
        return ppu->scy;
    case 0xFF43:
        return ppu->scx;
    case 0xFF44:
        dm_gb_ppu_sync(lane, now);
        return (uint8_t)dm_gb_ppu_ly(m, now);
    case 0xFF45:
        return ppu->lyc;
    case 0xFF46:
        return m->dma.reg;
    case 0xFF47:
        return ppu->bgp;
    case 0xFF48:
        return ppu->obp0;
    case 0xFF49:
        return ppu->obp1;
    case 0xFF4A:
        return ppu->wy;
    default:
        return ppu->wx;
    }
}

DM_FN void dm_gb_lcdc_write(dm_gb_lane *lane, uint32_t now, uint8_t value)
{
    dm_gb_machine *m = lane->m;
    dm_gb_ppu *ppu = &m->ppu;
    uint8_t before = ppu->lcdc;
    if (((before ^ value) & 4u) != 0)
        dm_gb_scan_until(lane, now);
    ppu->lcdc = value;
    if (((before ^ value) & DM_GB_LCD_ON) != 0) {
        if ((value & DM_GB_LCD_ON) != 0)
            dm_gb_lcd_start(lane, now);
        else
            dm_gb_lcd_stop(m);
        return;
    }
    if (dm_gb_in_picture(m))
        dm_gb_window_check(ppu);
}

/* Registers act a little before or after the access that writes them: by dot, as seen on hardware
 * (mealybug-tearoom's m3 tests; SameBoy lists the offsets). */
DM_FN void dm_gb_ppu_write(dm_gb_lane *lane, uint32_t now, uint32_t address, uint8_t value)
{
    dm_gb_machine *m = lane->m;
    dm_gb_ppu *ppu = &m->ppu;
    dm_gb_ppu_sync(lane, now);
    switch (address) {
    case 0xFF40:
        dm_gb_draw_settle(lane, now - 1u);
        dm_gb_lcdc_write(lane, now, value);
        break;
    case 0xFF41:
        /* The DMG writes FF for one T-cycle first: enabled or not, a mode that would interrupt
         * does. */
        if (dm_gb_lcd_on(m)) {
            ppu->stat = 0x78;
            dm_gb_stat_update(m);
            dm_gb_ppu_sync(lane, now + 1u);
        }
        ppu->stat = value & 0x78u;
        if (dm_gb_lcd_on(m))
            dm_gb_stat_update(m);
        break;
    case 0xFF42:
        dm_gb_draw_until(lane, now - 1u);
        ppu->scy = value;
        break;
    case 0xFF43:
        dm_gb_draw_settle(lane, now - 2u);
        ppu->scx = value;
        break;
    case 0xFF45:
        ppu->lyc = value;
        if (dm_gb_lcd_on(m))
            dm_gb_stat_update(m);
        break;
    case 0xFF46:
        dm_gb_dma_start(lane, now, value);
        break;
    case 0xFF47:
    case 0xFF48:
    case 0xFF49: {
        uint8_t *palette = address == 0xFF47   ? &ppu->bgp
                           : address == 0xFF48 ? &ppu->obp0
                                               : &ppu->obp1;
        /* For one dot the palette is old and new together. */
        dm_gb_draw_until(lane, now - 2u);
        *palette |= value;
        dm_gb_draw_until(lane, now - 1u);
        *palette = value;
        break;
    }
    case 0xFF4A:
        dm_gb_draw_settle(lane, now);
        ppu->wy = value;
        if (dm_gb_in_picture(m))
            dm_gb_window_check(ppu);
        break;
    case 0xFF4B:
        dm_gb_draw_settle(lane, now);
        ppu->wx = value;
        break;
    default: /* LY is read-only */
        break;
    }
}

#endif
