/* SPDX-License-Identifier: MIT */
/* predict.h - what devices will answer, without bringing them up to date; kernel text.
 *
 * The fast path (fast.h) traps where it accesses a device. Often that is not needed: the picture unit's line and dot
 * follow from the time since it was last brought up to date, and a write that sets a mapper's register to the value
 * that it has changes nothing. The rules themselves are const queries of the devices (machine/ppu.h, machine/cart.h,
 * machine/io.h). Each function here answers only what is certain; anything else traps, with the same result. */
#ifndef DM_SIMT_PREDICT_H
#define DM_SIMT_PREDICT_H

#include "gb/simt/write_queue.h"

/* P1 needs no device: it reads as the keys are, and a write has no other effect unless it requests the joypad's
 * interrupt and IE lets that through. (A queued write to IF would lose the request.) */
DM_FN bool dm_gb_predict_joypad(dm_gb_machine *m, const dm_gb_cold *cold, const uint8_t *ram,
                                bool writes, uint32_t *value)
{
    dm_gb_joypad joypad = m->joypad;
    uint32_t before = dm_gb_joypad_lines(&joypad);
    if (!writes) {
        *value = 0xC0u | joypad.select | before;
        return true;
    }
    joypad.select = *value & 0x30u;
    if ((before & ~dm_gb_joypad_lines(&joypad)) != 0) {
        if ((cold->queued_kinds & DM_GB_QUEUE_IF) != 0 ||
            (ram[DM_GB_IE] & ~(uint32_t)m->int_flags & DM_GB_INT_JOYPAD) != 0)
            return false;
        m->int_flags |= DM_GB_INT_JOYPAD;
    }
    m->joypad.select = joypad.select;
    return true;
}

DM_FN bool dm_gb_predict_register(dm_gb_machine *m, const dm_gb_cold *cold, uint32_t address,
                                  uint32_t *value)
{
    if (!dm_gb_ppu_has_byte(address))
        return false;
    *value = dm_gb_queue_read(cold, address, *dm_gb_ppu_byte(&m->ppu, address));
    return true;
}

/* Where the picture unit is at T-cycle `now`. */
typedef struct dm_gb_prediction {
    uint32_t line, dot; /* line: not more than one frame on, 154 and up are of the next frame */
    uint32_t start;     /* T-cycle of its dot 0 */
    uint32_t mode0_dot; /* when mode 3 of it ends; 0: not known */
    bool certain;       /* the LCD is on, and this is an ordinary line */
} dm_gb_prediction;

DM_FN dm_gb_prediction dm_gb_predict_at(const dm_gb_machine *m, uint32_t now)
{
    const dm_gb_ppu *ppu = &m->ppu;
    dm_gb_prediction at;
    const uint32_t lines = (now - ppu->line_start) / DM_GB_LINE_CYCLES;
    at.line = ppu->line + lines;
    at.start = ppu->line_start + lines * DM_GB_LINE_CYCLES;
    at.dot = now - at.start;
    at.mode0_dot = lines == 0 ? ppu->mode0_dot : 0u;
    if (at.mode0_dot == 0 && (ppu->lcdc & 0x22u) == 0) /* neither sprites nor window */
        at.mode0_dot = dm_gb_plain_mode0_dot(ppu);
    /* Lines that are made dot by dot, and those that begin in the window, are not ordinary. */
    at.certain = dm_gb_lcd_on(m) && lines < DM_GB_LINES && (lines != 0 || !ppu->first_line) &&
                 ppu->fifo.dot == 0 && !ppu->window_carry && ppu->wx != 166u;
    return at;
}

/* The dot at which mode 3 of a visible line ends, if there is neither a sprite nor the window on it;
 * else 0: only a service can tell. OAM is what mode 2 of that line saw or will see, since only services
 * change it, and they record how far mode 2 was (ppu.scanned). */
DM_FN_SLOW uint32_t dm_gb_predict_mode0(const dm_gb_machine *m, const uint8_t *ram,
                                        const dm_gb_prediction *at)
{
    const dm_gb_ppu *ppu = &m->ppu;
    const bool ahead = at->line >= DM_GB_LINES; /* in the next frame */
    const uint32_t line = ahead ? at->line - DM_GB_LINES : at->line;
    const bool window =
        (!ahead && ppu->window_on) || (ppu->wy <= line && (ahead || ppu->wy >= ppu->line));
    if (m->dma.active || (at->line == ppu->line && ppu->scanned != 0) ||
        ((ppu->lcdc & 0x20u) != 0 && window))
        return 0;
    dm_gb_context context;
    context.ram = (uint8_t *)(uintptr_t)ram;
    if ((ppu->lcdc & 2u) != 0 &&
        dm_gb_any_sprite(&context, line + 16u, (ppu->lcdc & 4u) != 0 ? 16u : 8u))
        return 0;
    return dm_gb_plain_mode0_dot(ppu);
}

#define DM_GB_PREDICT_MODE3 250u /* mode 3 lasts until this dot at least */

/* The number of its line in its frame. */
DM_FN uint32_t dm_gb_predict_line(const dm_gb_prediction *at)
{
    return at->line < DM_GB_LINES ? at->line : at->line - DM_GB_LINES;
}

/* The mode; DM_GB_MODE_3_OR_0: not certain. */
DM_FN uint32_t dm_gb_predict_mode(const dm_gb_prediction *at)
{
    const uint32_t mode = dm_gb_line_mode(dm_gb_predict_line(at), at->dot);
    if (mode != DM_GB_MODE_3_OR_0)
        return mode;
    if (at->mode0_dot != 0)
        return at->dot <= at->mode0_dot ? 3u : 0u;
    return at->dot <= DM_GB_PREDICT_MODE3 ? 3u : at->dot > DM_GB_MODE0_LATEST ? 0u : mode;
}

/* A loop reads STAT while bits `mask` of it are not all zero, or with `while_zero` while they are, and
 * has just read so. The time up to which it goes on at least, if only the mode matters; else `now`. */
DM_FN uint32_t dm_gb_predict_mode_until(const dm_gb_machine *m, const uint8_t *ram, uint32_t now,
                                        uint32_t mask, bool while_zero)
{
    dm_gb_prediction at = dm_gb_predict_at(m, now);
    if (!at.certain || at.dot <= DM_GB_FIRST_DOTS || dm_gb_predict_line(&at) >= DM_GB_VBLANK_LINE ||
        (mask & ~3u) != 0)
        return now;
    if (at.mode0_dot == 0)
        at.mode0_dot = dm_gb_predict_mode0(m, ram, &at);
    const uint32_t mode = dm_gb_predict_mode(&at);
    if (while_zero)
        return mode == 0 ? at.start + DM_GB_LINE_CYCLES : now;
    if ((mode != 2u && mode != 3u) || (mask & 2u) == 0) /* what both have in common */
        return now;
    return at.start + (at.mode0_dot != 0 ? at.mode0_dot : DM_GB_PREDICT_MODE3);
}

/* LY, which depends on nothing but time while the LCD stays on or off; it stays the same for
 * accesses up to `until`. */
DM_FN uint32_t dm_gb_predict_ly(const dm_gb_machine *m, uint32_t now, uint32_t *until)
{
    const dm_gb_prediction at = dm_gb_predict_at(m, now);
    if (!dm_gb_lcd_on(m))
        return 0;
    *until = at.dot > 6u ? at.start + DM_GB_LINE_CYCLES : now;
    return dm_gb_line_ly(at.line % DM_GB_LINES, at.dot);
}

/* A loop is about to read LY, from the next M-cycle but one on, until `jump` (the opcode of a JR) is not
 * taken after CP `line`. The time up to which it goes on at least; `now` if that is not known. */
DM_FN uint32_t dm_gb_predict_line_until(const dm_gb_machine *m, uint32_t now, uint32_t line,
                                        uint32_t jump)
{
    const dm_gb_prediction at = dm_gb_predict_at(m, now);
    const uint32_t first = at.line % DM_GB_LINES;
    uint32_t end = first;
    if (!dm_gb_lcd_on(m) || line > DM_GB_LAST_LINE)
        return now;
    if (jump == 0x20u) /* NZ; line 0 shows early, in line 153 */
        end = line == 0 && first != 0 ? DM_GB_LAST_LINE : line;
    if (jump == 0x38u && line != 0 && (first < line || first == DM_GB_LAST_LINE)) /* C */
        end = line;
    if (jump == 0x30u && line != 0 && first >= line) /* NC */
        end = DM_GB_LAST_LINE;
    const uint32_t lines = end >= first ? end - first : end + DM_GB_LINES - first;
    return lines != 0 ? at.start + lines * DM_GB_LINE_CYCLES : now;
}

/* Were all queued writes to the picture unit made in mode 0 of the line that begins at `start`? Then
 * they do not change that it is in mode 0. */
DM_FN_SLOW bool dm_gb_predict_quiet(const dm_gb_machine *m, const dm_gb_cold *cold, uint32_t start)
{
    const uint32_t count = cold->queued;
    bool quiet = true;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t address = cold->what[i] >> 8;
        const dm_gb_prediction at = dm_gb_predict_at(m, cold->when[i]);
        if (address >= 0xFF40u && address != 0xFF45u)
            quiet &= at.start == start && at.dot > DM_GB_MODE2_DOT && dm_gb_predict_mode(&at) == 0;
    }
    return quiet;
}

/* STAT; it stays the same for accesses up to `until`. Queued writes matter from the dot on at which
 * mode 3 begins. */
DM_FN bool dm_gb_predict_stat(const dm_gb_machine *m, const dm_gb_cold *cold, const uint8_t *ram,
                              uint32_t now, uint32_t *value, uint32_t *until)
{
    dm_gb_prediction at = dm_gb_predict_at(m, now);
    const uint32_t line = dm_gb_predict_line(&at);
    uint32_t mode = dm_gb_predict_mode(&at);
    if (!at.certain)
        return false;
    if (line < DM_GB_VBLANK_LINE && at.dot > DM_GB_MODE2_DOT) {
        const bool settled = dm_gb_queue_has_no_picture(cold);
        if (mode > 3u && settled) {
            at.mode0_dot = dm_gb_predict_mode0(m, ram, &at);
            mode = dm_gb_predict_mode(&at);
        }
        if (mode > 3u || (!settled && (mode != 0 || !dm_gb_predict_quiet(m, cold, at.start))))
            return false;
    }
    const uint32_t lyc = dm_gb_queue_read(cold, 0xFF45u, m->ppu.lyc);
    *value = 0x80u | m->ppu.stat | (dm_gb_line_compared(line, at.dot) == lyc ? 4u : 0u) | mode;
    const uint32_t mode3 = at.mode0_dot != 0 ? at.mode0_dot : DM_GB_PREDICT_MODE3;
    const uint32_t mode2 = at.dot <= DM_GB_VRAM_READ_DOT ? DM_GB_VRAM_READ_DOT : DM_GB_MODE2_DOT;
    *until = at.dot <= DM_GB_FIRST_DOTS ? now
                                        : at.start + (mode < 2u    ? DM_GB_LINE_CYCLES
                                                      : mode == 3u ? mode3
                                                                   : mode2);
    return true;
}

/* Make a write to LCDC, SCY, SCX, a palette, WY or WX that acts only on the next picture: in VBlank,
 * if the unit was last synced in the same VBlank. Likewise a write of the value that SCY or a palette
 * has already. */
#define DM_GB_PREDICT_SAME_BITS 0x384u /* SCY, BGP, OBP0, OBP1: by number from FF40 on */
DM_FN bool dm_gb_predict_write(dm_gb_machine *m, uint32_t now, uint32_t address, uint32_t value)
{
    const uint32_t number = address - 0xFF40u;
    if (!dm_gb_ppu_has_byte(address) || address == 0xFF45u ||
        (address == 0xFF40u && ((value ^ m->ppu.lcdc) & DM_GB_LCD_ON) != 0))
        return false;
    uint8_t *byte = dm_gb_ppu_byte(&m->ppu, address);
    const dm_gb_prediction at = dm_gb_predict_at(m, now);
    const bool same = *byte == (uint8_t)value && (DM_GB_PREDICT_SAME_BITS >> number & 1u) != 0;
    if (!same && (!at.certain || m->ppu.line < DM_GB_VBLANK_LINE || at.line >= DM_GB_LINES ||
                  at.dot <= DM_GB_FIRST_DOTS || at.dot >= DM_GB_LINE_CYCLES - DM_GB_FIRST_DOTS))
        return false;
    *byte = (uint8_t)value;
    return true;
}

/* May VRAM be used as plain memory from `now` on, since the picture unit does not read it? Then `until` is set to the
 * end of that time. */
DM_FN bool dm_gb_predict_vram(const dm_gb_machine *m, const uint8_t *ram, uint32_t now,
                              uint32_t *until)
{
    dm_gb_prediction at = dm_gb_predict_at(m, now);
    if (!dm_gb_lcd_on(m)) {
        *until = dm_gb_never(now);
        return true;
    }
    if (!at.certain || m->ppu.drawing || at.line >= DM_GB_LINES)
        return false;
    uint32_t end = at.start + DM_GB_VRAM_READ_DOT;
    if (at.line < DM_GB_VBLANK_LINE && dm_gb_predict_mode(&at) > 3u)
        at.mode0_dot = dm_gb_predict_mode0(m, ram, &at);
    if (at.line >= DM_GB_VBLANK_LINE)
        end += (DM_GB_LINES - at.line) * DM_GB_LINE_CYCLES;
    else if (at.dot > DM_GB_MODE2_DOT && dm_gb_predict_mode(&at) == 0)
        end += DM_GB_LINE_CYCLES;
    if (!dm_gb_before(now + DM_GB_INSTRUCTION_MOST, end))
        return false;
    *until = end;
    return true;
}

/* Is VRAM shut during the whole instruction, since mode 3 reads it? */
DM_FN bool dm_gb_predict_shut(const dm_gb_machine *m, uint32_t now)
{
    const dm_gb_prediction at = dm_gb_predict_at(m, now);
    const uint32_t end = at.mode0_dot != 0 ? at.mode0_dot : DM_GB_PREDICT_MODE3;
    return at.certain && dm_gb_predict_line(&at) < DM_GB_VBLANK_LINE && at.dot > DM_GB_MODE2_DOT &&
           at.dot + DM_GB_INSTRUCTION_MOST <= end;
}

/* Does a write to the cartridge change nothing? */
DM_FN bool dm_gb_predict_cart(const dm_gb_cart *cart, uint32_t address, uint32_t value)
{
    const uint32_t area = address >> 13;
    if (area == 5u) /* RAM and clock ignore writes while they are not enabled */
        return !cart->ram_enabled;
    return area <= 3u && dm_gb_cart_ignores(cart, address, value);
}

/* Make a write that selects a ROM bank in the mapper's registers; the caller sets cart->rom_high. Returns the bank that
 * 4000..7FFF shows from now on; DM_GB_PREDICT_NO_BANK: it is another kind of write, and nothing has changed. */
#define DM_GB_PREDICT_NO_BANK 0xFFFFFFFFu
DM_FN uint32_t dm_gb_predict_bank(dm_gb_cart *cart, uint32_t address, uint32_t value)
{
    const dm_gb_cart_change change = dm_gb_cart_decode(cart, address, value);
    if (change.which != DM_GB_CART_ROM_BANK)
        return DM_GB_PREDICT_NO_BANK;
    cart->rom_bank = (uint16_t)change.value;
    return dm_gb_cart_high_bank(cart);
}

/* Does a write below C000 change nothing? It is of one byte, or of two bytes to the same register, of
 * which `value` is the last one written and so the one that counts. */
DM_FN bool dm_gb_predict_ignored(dm_gb_machine *m, uint32_t begin, uint32_t address, uint32_t value,
                                 uint32_t two)
{
    if (m->dma.active || (two != 0 && (address & 0xFFu) == 0xFFu))
        return false;
    return address >> 13 == 4u ? dm_gb_predict_shut(m, begin)
                               : dm_gb_predict_cart(dm_gb_cart_by(m), address, value);
}

/* When the first interrupt can come that a queued write causes (DM_GB_QUEUE_URGENT): the time that
 * dm_gb_schedule would find, or `now` or earlier if it is not known. Only interrupts by LYC are
 * predicted. */
DM_FN_SLOW uint32_t dm_gb_predict_urgent(const dm_gb_machine *m, const dm_gb_cold *cold,
                                         uint32_t now)
{
    const uint32_t count = cold->queued;
    uint32_t first = dm_gb_never(now);
    if ((m->ppu.stat & 0x08u) != 0)
        return now;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lyc = cold->what[i] & 0xFFu;
        if (cold->what[i] >> 8 != 0xFF45u || lyc > DM_GB_LAST_LINE)
            continue;
        const dm_gb_prediction at = dm_gb_predict_at(m, cold->when[i]);
        const uint32_t line = at.line % DM_GB_LINES;
        const uint32_t lines = (dm_gb_lyc_line(lyc) + DM_GB_LINES - line) % DM_GB_LINES;
        /* In a line's first dots the one before is still compared. */
        if (lines == DM_GB_LINES - 1u || (lyc == 0 && lines == DM_GB_LINES - 2u))
            return now;
        const uint32_t dots = lines * DM_GB_LINE_CYCLES + dm_gb_lyc_dot(lyc);
        first = dm_gb_earlier(first, at.start + dots + 1u);
    }
    return first;
}

/* DI, EI or RETI has been executed. True: it needs no service, since no interrupt is pending. A request
 * that IE lets through is an event, so m.int_flags is right until the next event. EI takes effect one
 * instruction late, which makes no difference where no event is due before that. */
DM_FN_SLOW bool dm_gb_predict_control(dm_gb_machine *m, const dm_gb_cold *cold, uint32_t operation,
                                      uint32_t enabled, bool event_later)
{
    const bool off = operation == DM_GB_DO_DI;
    if (operation == DM_GB_DO_HALT)
        return false;
    const uint32_t requests = dm_gb_queue_read(cold, 0xFF0Fu, m->int_flags);
    if (!off && ((requests & enabled & 0x1Fu) != 0 || m->cpu.ei_delay || !event_later))
        return false;
    m->cpu.ime = off ? 0 : 1;
    m->cpu.ei_delay = 0;
    return true;
}

/* Can an access at `now`, of an instruction that begins at `begin`, be made without a service? A
 * read's answer is `value` then, and holds for accesses up to `until`. */
DM_FN bool dm_gb_predict_access(dm_gb_machine *m, const dm_gb_cold *cold, const uint8_t *ram,
                                uint32_t begin, uint32_t now, uint32_t address, bool writes,
                                uint32_t two, uint32_t *value, uint32_t *until)
{
    const bool settled = dm_gb_queue_has_no_picture(cold);
    if (writes && address < 0xC000u)
        return (settled || (address >> 13 != 4u && !dm_gb_queue_has_dma(cold))) &&
               dm_gb_predict_ignored(m, begin, address, *value, two);
    if (two != 0)
        return false;
    if (address == 0xFF00u)
        return dm_gb_predict_joypad(m, cold, ram, writes, value);
    if (writes)
        return settled && dm_gb_predict_write(m, now, address, *value);
    if (address == 0xFF44u) {
        *value = dm_gb_predict_ly(m, now, until);
        return true;
    }
    if (address != 0xFF41u)
        return dm_gb_predict_register(m, cold, address, value);
    return dm_gb_predict_stat(m, cold, ram, now, value, until);
}

#endif
