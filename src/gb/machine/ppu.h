/* SPDX-License-Identifier: MIT */
/* ppu.h - the picture unit's time: lines, modes, interrupts, access to VRAM and OAM; kernel text.
 *
 * A line is 456 dots (T-cycles). What happens on it, by dot ("edges"; an access at dot t sees what
 * happened at dots < t):
 *
 *   lines 0..143   3 LY shows the line, mode-2 interrupt (4 on line 0)   4 mode 2, LYC compared
 *                  80 VRAM no longer readable   84 mode 3   256 + delays: mode 0, and a dot later its interrupt
 *   line 144       0 LYC comparison pauses   2 LY   4 LYC compared   5 mode 1, VBlank interrupt
 *   145..152       0 LYC comparison pauses   2 LY   4 LYC compared
 *   line 153       0 pause   2 LY = 153   6 LY = 0, LYC compared with 153   8 pause   12 compared with 0
 *
 * Switching the LCD on starts line 0 at its dot 8, without mode 2 and with mode 3 two dots late.
 * Mode 3 is longer by SCX mod 8, by 6 for the window, and by what each sprite costs. Times as
 * measured on hardware by mooneye's acceptance/ppu tests and described by Pan Docs ("Rendering")
 * and SameBoy.
 *
 * None of this runs by itself: dm_gb_ppu_sync brings it forward when an access looks at it, and
 * dm_gb_ppu_next says when an interrupt would be missed otherwise. */
#ifndef DM_GB_PPU_H
#define DM_GB_PPU_H

#include "gb/machine/draw.h"

#define DM_GB_VBLANK_LINE 144u
#define DM_GB_LAST_LINE 153u
#define DM_GB_LCD_ON 0x80u
/* As next_dot after edge 2: nothing depends on the end of mode 3, so its dot is not worked out, and
 * the next edge is the end of the line. */
#define DM_GB_NO_LOOK DM_GB_LINE_CYCLES

DM_FN bool dm_gb_lcd_on(const dm_gb_machine *m)
{
    return (m->ppu.lcdc & DM_GB_LCD_ON) != 0;
}

/* ---- What an access at a dot of a line sees ----
 * For lines that began with the LCD on. The unit itself asks these, and so does the GPU's fast path, which knows the
 * line and the dot without bringing the unit up to date (simt/predict.h). */

/* Dots up to which VRAM can be read on a visible line, and up to which mode 2 lasts and VRAM can be written. */
#define DM_GB_VRAM_READ_DOT 80u
#define DM_GB_MODE2_DOT 84u
/* A line later than this dot shows what it will until mode 2 ends, or until its end if it is not visible. */
#define DM_GB_FIRST_DOTS 12u

DM_FN uint32_t dm_gb_line_ly(uint32_t line, uint32_t dot)
{
    uint32_t late = line < DM_GB_VBLANK_LINE ? 3u : 2u;
    if (line == 0 || (line == DM_GB_LAST_LINE && dot > 6))
        return 0;
    return dot <= late ? line - 1u : line;
}

/* Mode bits of STAT; DM_GB_MODE_3_OR_0: after mode 2, which of the two depends on the length of mode 3. */
#define DM_GB_MODE_3_OR_0 4u
DM_FN uint32_t dm_gb_line_mode(uint32_t line, uint32_t dot)
{
    if (line > DM_GB_VBLANK_LINE)
        return 1;
    if (line == DM_GB_VBLANK_LINE)
        return dot > 5u ? 1u : 0u;
    if (dot <= 4u)
        return line == 0 && dot <= 3u ? 1u : 0u;
    return dot <= DM_GB_MODE2_DOT ? 2u : DM_GB_MODE_3_OR_0;
}

/* What LYC is compared with; DM_GB_NONE: nothing just now. */
DM_FN uint32_t dm_gb_line_compared(uint32_t line, uint32_t dot)
{
    const bool hidden = line >= DM_GB_VBLANK_LINE, last = line == DM_GB_LAST_LINE;
    if (line == 0 || (last && dot > 12u))
        return 0;
    if (dot <= (hidden ? 0u : 3u))
        return line - 1u;
    return dot <= (last ? 6u : 4u) || (last && dot > 8u) ? DM_GB_NONE : line;
}

/* The line and the dot on which the comparison with LYC becomes true. */
DM_FN uint32_t dm_gb_lyc_line(uint32_t lyc)
{
    return lyc == 0 ? DM_GB_LAST_LINE : lyc;
}

DM_FN uint32_t dm_gb_lyc_dot(uint32_t lyc)
{
    return lyc == 0 ? 12u : lyc == DM_GB_LAST_LINE ? 6u : 4u;
}

/* ---- Registers that are bytes ---- */

/* Where dm_gb_ppu has them, first of all (core.c asserts it: the GPU's compiler does not know offsetof). */
enum dm_gb_ppu_place {
    DM_GB_PPU_LCDC,
    DM_GB_PPU_STAT,
    DM_GB_PPU_SCY,
    DM_GB_PPU_SCX,
    DM_GB_PPU_LYC,
    DM_GB_PPU_BGP,
    DM_GB_PPU_OBP0,
    DM_GB_PPU_OBP1,
    DM_GB_PPU_WY,
    DM_GB_PPU_WX
};

/* The places of FF40..FF4B as nibbles, since a table would be a load. STAT, LY and DMA do not read as they were written
 * and have no place. */
#define DM_GB_PPU_AT(address, place) ((uint64_t)DM_GB_PPU_##place << ((address)-0xFF40u) * 4u)
#define DM_GB_PPU_PLACES                                                                           \
    (DM_GB_PPU_AT(0xFF40u, LCDC) | DM_GB_PPU_AT(0xFF42u, SCY) | DM_GB_PPU_AT(0xFF43u, SCX) |       \
     DM_GB_PPU_AT(0xFF45u, LYC) | DM_GB_PPU_AT(0xFF47u, BGP) | DM_GB_PPU_AT(0xFF48u, OBP0) |       \
     DM_GB_PPU_AT(0xFF49u, OBP1) | DM_GB_PPU_AT(0xFF4Au, WY) | DM_GB_PPU_AT(0xFF4Bu, WX))

/* Is the register at this address a byte that reads as it was written? */
DM_FN bool dm_gb_ppu_has_byte(uint32_t address)
{
    const uint32_t number = address - 0xFF40u;
    return number < 12u && (0xFADu >> number & 1u) != 0;
}

DM_FN uint8_t *dm_gb_ppu_byte(dm_gb_ppu *ppu, uint32_t address)
{
    return (uint8_t *)ppu + (DM_GB_PPU_PLACES >> (address - 0xFF40u) * 4u & 15u);
}

/* ---- Lines ---- */

/* Compare LYC, then raise the interrupt if the STAT line goes up. */
DM_FN void dm_gb_stat_update(dm_gb_machine *m)
{
    dm_gb_ppu *ppu = &m->ppu;
    ppu->lyc_bit = ppu->compare == ppu->lyc;
    if (ppu->compare != DM_GB_NONE)
        ppu->lyc_line = ppu->lyc_bit;
    bool level = (ppu->mode_int < 3u && (ppu->stat & (8u << ppu->mode_int)) != 0) ||
                 ((ppu->stat & 0x40u) != 0 && ppu->lyc_line != 0);
    if (level && !ppu->stat_line)
        m->int_flags |= DM_GB_INT_STAT;
    ppu->stat_line = level;
}

DM_FN void dm_gb_window_check(dm_gb_ppu *ppu)
{
    if ((ppu->lcdc & 0x20u) != 0 && ppu->wy == ppu->line)
        ppu->window_on = 1;
}

/* Should the frame that starts at ppu.line_start be drawn? */
DM_FN bool dm_gb_frame_wanted(const dm_gb_context *context)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (context->frames == 0 || context->draw == DM_GB_DRAW_NEVER)
        return false;
    if (context->draw == DM_GB_DRAW_ALWAYS)
        return true;
    uint32_t vblank = m->ppu.line_start + DM_GB_VBLANK_LINE * DM_GB_LINE_CYCLES + 6u;
    if (dm_gb_before(dm_gb_run_end(context), vblank))
        return context->single_frame != 0;
    return dm_gb_before(dm_gb_run_end(context), vblank + DM_GB_FRAME_CYCLES);
}

DM_FN void dm_gb_start_frame(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    ppu->window_on = 0;
    ppu->window_line = ppu->window_carry; /* WX = 166 on line 143: line 0 shows the first one */
    ppu->drawing = dm_gb_frame_wanted(context);
}

DM_FN void dm_gb_enter_vblank(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    dm_gb_render_logged(context);
    m->int_flags |= DM_GB_INT_VBLANK;
    ppu->frames++;
    if (ppu->new_screen != 0) {
        ppu->new_screen = 0;
    } else {
        ppu->blank = 0;
        if (ppu->drawing)
            ppu->front ^= 1u;
    }
    ppu->drawing = 0;
}

/* The dot of an edge in the present line. */
DM_FN uint32_t dm_gb_edge_dot(dm_gb_context *context, uint32_t edge)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (ppu->line < DM_GB_VBLANK_LINE) {
        switch (edge) {
        case 0:
            return 3;
        case 1:
            return 4;
        case 2:
            return 84;
        case 3:
            return dm_gb_mode0_dot(context) + 1u;
        default:
            return DM_GB_LINE_CYCLES;
        }
    }
    if (ppu->line == DM_GB_VBLANK_LINE)
        return edge == 0   ? 0u
               : edge == 1 ? 2u
               : edge == 2 ? 4u
               : edge == 3 ? 5u
                           : DM_GB_LINE_CYCLES;
    if (ppu->line == DM_GB_LAST_LINE)
        return edge == 0   ? 0u
               : edge == 1 ? 6u
               : edge == 2 ? 8u
               : edge == 3 ? 12u
                           : DM_GB_LINE_CYCLES;
    return edge == 0 ? 0u : edge == 1 ? 4u : DM_GB_LINE_CYCLES;
}

/* The dot of edge 3, if it is needed: for interrupts at mode 0, and for sprites that are searched for
 * while OAM DMA runs. */
DM_FN uint32_t dm_gb_mode0_edge(dm_gb_context *context)
{
    const dm_gb_machine *m = dm_gb_m(context);
    return (m->ppu.stat & 8u) != 0 || m->dma.active ? dm_gb_edge_dot(context, 3) : DM_GB_NO_LOOK;
}

DM_FN void dm_gb_next_line(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (ppu->line < DM_GB_VBLANK_LINE) {
        dm_gb_draw_finish_line(context);
        ppu->mode_int = 0;
    }
    ppu->line_start += DM_GB_LINE_CYCLES;
    ppu->first_line = 0;
    ppu->mode0_dot = 0;
    ppu->drawn = 0;
    ppu->closed = 0;
    ppu->sprites = 0;
    ppu->scanned = 0;
    ppu->fifo.dot = 0;
    if (ppu->line == DM_GB_LAST_LINE) {
        ppu->line = 0;
        dm_gb_start_frame(context);
    } else {
        ppu->line++;
    }
    ppu->edge = 0;
    ppu->next_dot = ppu->line < DM_GB_VBLANK_LINE ? 3 : 0;
    if (DM_UNLIKELY(ppu->window_carry != 0) && ppu->line < DM_GB_VBLANK_LINE)
        dm_gb_fifo_begin(ppu, &ppu->fifo);
}

/* One edge of a visible line. */
DM_FN void dm_gb_visible_edge(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    switch (ppu->edge) {
    case 0:
        ppu->compare = (uint8_t)dm_gb_line_compared(ppu->line, ppu->next_dot + 1u);
        if (ppu->line != 0)
            ppu->mode_int = 2;
        dm_gb_stat_update(m);
        break;
    case 1:
        ppu->compare = (uint8_t)dm_gb_line_compared(ppu->line, ppu->next_dot + 1u);
        dm_gb_window_check(ppu);
        ppu->mode_int = 2;
        dm_gb_stat_update(m);
        ppu->mode_int = DM_GB_NONE;
        dm_gb_stat_update(m);
        break;
    case 3:
        ppu->mode_int = 0;
        dm_gb_stat_update(m);
        break;
    default:
        break;
    }
}

DM_FN void dm_gb_hidden_edge(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    uint32_t edge = ppu->edge;
    if (ppu->line == DM_GB_VBLANK_LINE && edge != 0 && edge != 2) {
        /* Entering VBlank also looks like mode 2 to the STAT interrupt. */
        if (!ppu->stat_line && (ppu->stat & 0x20u) != 0)
            m->int_flags |= DM_GB_INT_STAT;
        if (edge == 1)
            return;
        dm_gb_enter_vblank(context);
        ppu->mode_int = 1;
    } else {
        ppu->compare = (uint8_t)dm_gb_line_compared(ppu->line, ppu->next_dot + 1u);
    }
    dm_gb_stat_update(m);
}

/* Pass the first edges of a line, which come before `dot`, in one go where only the last of them can
 * change the STAT line. False: an interrupt may depend on a mode in between; pass them one by one. */
DM_FN bool dm_gb_first_edges(dm_gb_context *context, uint32_t dot)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    uint32_t next = DM_GB_LINE_CYCLES;
    if (ppu->line < DM_GB_VBLANK_LINE) {
        if (dot <= 4u || (ppu->stat & 0x28u) != 0)
            return false;
        dm_gb_window_check(ppu);
        ppu->mode_int = DM_GB_NONE;
        ppu->edge = 2;
        next = 84;
    } else if (ppu->line == DM_GB_VBLANK_LINE) {
        if (dot <= 5u || (ppu->stat & 0x38u) != 0)
            return false;
        dm_gb_enter_vblank(context);
        ppu->mode_int = 1;
        ppu->edge = 4;
    } else {
        if (dot <= 4u || ppu->line == DM_GB_LAST_LINE)
            return false;
        ppu->edge = 2;
    }
    ppu->next_dot = (uint16_t)next;
    ppu->compare = ppu->line;
    dm_gb_stat_update(m);
    return true;
}

/* Can an edge of `line` request the STAT interrupt, and would it be noticed? If not, the line can
 * be passed as a whole. */
DM_FN bool dm_gb_line_matters(const dm_gb_machine *m, uint32_t line)
{
    const dm_gb_ppu *ppu = &m->ppu;
    if ((ppu->stat & 0x78u) == 0 || (m->int_flags & DM_GB_INT_STAT) != 0)
        return false;
    if ((ppu->stat & 0x28u) != 0)
        return true;
    if ((ppu->stat & 0x10u) != 0 && line == DM_GB_VBLANK_LINE)
        return true;
    return (ppu->stat & 0x40u) != 0 &&
           (line == ppu->lyc || (line == DM_GB_LAST_LINE && ppu->lyc == 0));
}

/* The rest of the present line. */
DM_FN void dm_gb_pass_line(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    if (ppu->line < DM_GB_VBLANK_LINE) {
        if (ppu->edge <= 1 && !ppu->first_line)
            dm_gb_window_check(ppu);
    } else if (ppu->line == DM_GB_VBLANK_LINE && ppu->edge <= 3) {
        dm_gb_enter_vblank(context);
        ppu->mode_int = 1;
    }
    dm_gb_next_line(context);
}

/* At the start of a line: pass all whole lines that end before `now` and on which nothing happens. */
DM_FN void dm_gb_pass_lines(dm_gb_context *context, uint32_t now)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t first = ppu->line;
    uint32_t end = first < DM_GB_VBLANK_LINE ? DM_GB_VBLANK_LINE : DM_GB_LAST_LINE;
    if ((ppu->drawing && !dm_gb_can_log_lines(context)) || first == DM_GB_VBLANK_LINE)
        return;
    if (first < DM_GB_VBLANK_LINE && (ppu->window_carry || ppu->wx == 166u))
        return;
    uint32_t whole = (now - ppu->line_start - 1u) / DM_GB_LINE_CYCLES;
    if (first + whole < end)
        end = first + whole;
    if (dm_gb_line_matters(dm_gb_m(context), ppu->lyc) && ppu->lyc >= first && ppu->lyc < end)
        end = ppu->lyc;
    if (end <= first)
        return;
    uint32_t shown_from = (ppu->lcdc & 0x20u) == 0 ? end
                          : ppu->window_on         ? first
                          : ppu->wy < first        ? end
                                                   : ppu->wy;
    if (ppu->drawing)
        dm_gb_log_all_lines(context, end, shown_from);
    if (first < DM_GB_VBLANK_LINE && shown_from < end) {
        ppu->window_on = 1;
        if (ppu->wx < 166u)
            ppu->window_line = (uint8_t)(ppu->window_line + end - shown_from);
    }
    if (first < DM_GB_VBLANK_LINE)
        ppu->mode_int = 0;
    ppu->line_start += (end - first) * DM_GB_LINE_CYCLES;
    ppu->line = (uint8_t)end;
    ppu->next_dot = end < DM_GB_VBLANK_LINE ? 3 : 0;
}

/* After passing lines: set the comparison and the STAT line for the start of the present one. */
DM_FN void dm_gb_after_passing(dm_gb_machine *m)
{
    dm_gb_ppu *ppu = &m->ppu;
    uint8_t requests = m->int_flags;
    ppu->compare = (uint8_t)dm_gb_line_compared(ppu->line, 0);
    dm_gb_stat_update(m);
    m->int_flags = requests;
}

/* Bring the unit up to accesses at `now`. */
DM_FN_SLOW void dm_gb_ppu_advance(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    for (;;) {
        uint32_t dot = now - ppu->line_start;
        if (dot > DM_GB_LINE_CYCLES && !dm_gb_line_matters(m, ppu->line)) {
            dm_gb_pass_line(context);
            if ((ppu->stat & 0x28u) == 0 || (m->int_flags & DM_GB_INT_STAT) != 0)
                dm_gb_pass_lines(context, now);
            dm_gb_after_passing(m);
            continue;
        }
        if (dot <= ppu->next_dot)
            return;
        if (ppu->next_dot == DM_GB_LINE_CYCLES) {
            dm_gb_next_line(context);
            continue;
        }
        if (ppu->edge == 0 && dm_gb_first_edges(context, dot))
            continue;
        const bool visible = ppu->line < DM_GB_VBLANK_LINE;
        if (visible)
            dm_gb_visible_edge(context);
        else
            dm_gb_hidden_edge(context);
        ppu->edge++;
        ppu->next_dot = (uint16_t)(visible && ppu->edge == 3 ? dm_gb_mode0_edge(context)
                                                             : dm_gb_edge_dot(context, ppu->edge));
    }
}

/* Has something happened that the unit does not know of yet? */
DM_FN bool dm_gb_ppu_behind(const dm_gb_ppu *ppu, uint32_t now)
{
    return (ppu->lcdc & DM_GB_LCD_ON) != 0 &&
           (int32_t)(now - ppu->line_start) > (int32_t)ppu->next_dot;
}

DM_FN void dm_gb_ppu_sync(dm_gb_context *context, uint32_t now)
{
    if (dm_gb_ppu_behind(&dm_gb_m(context)->ppu, now))
        dm_gb_ppu_advance(context, now);
}

/* Look for the end of mode 3 of the present line if that was not done, and pass it if it was before
 * `now`; the unit is synced up to there. */
DM_FN void dm_gb_mode0_sync(dm_gb_context *context, uint32_t now)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (!dm_gb_lcd_on(dm_gb_m(context)) || ppu->line >= DM_GB_VBLANK_LINE || ppu->edge != 3 ||
        ppu->next_dot != DM_GB_NO_LOOK)
        return;
    ppu->next_dot = (uint16_t)dm_gb_edge_dot(context, 3);
    dm_gb_ppu_sync(context, now);
}

/* T-cycle of dot `dot` of the next `line`, strictly after edge `edge` of the present one was
 * passed. */
DM_FN uint32_t dm_gb_line_time(const dm_gb_ppu *ppu, uint32_t line, uint32_t dot, uint32_t edge)
{
    uint32_t lines = line >= ppu->line ? line - ppu->line : line + DM_GB_LINES - ppu->line;
    if (line == ppu->line && ppu->edge > edge)
        lines = DM_GB_LINES;
    return ppu->line_start + lines * DM_GB_LINE_CYCLES + dot;
}

/* A run of `cycles` is about to begin. The run before drew the picture under way because it might be
 * the last of this one; if another picture comes after it, it need not be finished. */
DM_FN void dm_gb_drop_picture(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t vblank = dm_gb_line_time(ppu, DM_GB_VBLANK_LINE, 6, 3);
    if (context->draw == DM_GB_DRAW_LAST &&
        !dm_gb_before(dm_gb_m(context)->target + cycles, vblank + DM_GB_FRAME_CYCLES))
        ppu->drawing = 0;
}

/* T-cycle of the next interrupt that `enabled` (IE) would let through, or of VBlank at the latest.
 */
DM_FN_SLOW uint32_t dm_gb_ppu_next(dm_gb_context *context, uint32_t enabled)
{
    dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    if (!dm_gb_lcd_on(m))
        return dm_gb_never(m->clock);
    uint32_t next = dm_gb_line_time(ppu, DM_GB_VBLANK_LINE, 5, 3);
    if ((enabled & DM_GB_INT_STAT) == 0 || (ppu->stat & 0x78u) == 0)
        return next;
    if ((ppu->stat & 0x40u) != 0) {
        const uint32_t lyc = ppu->lyc;
        if (lyc <= DM_GB_LAST_LINE) {
            const uint32_t edge = lyc == 0 ? 3u : lyc == DM_GB_VBLANK_LINE ? 2u : 1u;
            next = dm_gb_earlier(
                next, dm_gb_line_time(ppu, dm_gb_lyc_line(lyc), dm_gb_lyc_dot(lyc), edge));
        }
        /* Also compared at the start of line 0, where the STAT line is mostly up since line 153. */
        if (lyc == 0 && !(ppu->stat_line && (ppu->line == DM_GB_LAST_LINE || ppu->line == 0)))
            next = dm_gb_earlier(next, dm_gb_line_time(ppu, 0, 3, 0));
    }
    if ((ppu->stat & 0x20u) != 0) {
        uint32_t line = ppu->line < 143u    ? ppu->line + 1u
                        : ppu->line == 143u ? DM_GB_VBLANK_LINE
                                            : 0u;
        uint32_t dot = line == 0 ? 4u : line == DM_GB_VBLANK_LINE ? 2u : 3u;
        if (ppu->line < DM_GB_VBLANK_LINE && !ppu->first_line && ppu->edge <= 1)
            next = dm_gb_earlier(next, ppu->line_start + ppu->next_dot);
        next = dm_gb_earlier(next, dm_gb_line_time(ppu, line, dot, line == 0 ? 1 : 0));
    }
    if ((ppu->stat & 0x08u) != 0) {
        if (ppu->line < DM_GB_VBLANK_LINE && ppu->edge <= 3)
            /* At dot 84 the end of mode 3 becomes known. */
            next = dm_gb_earlier(next, ppu->line_start + (ppu->edge < 2 ? 84u : ppu->next_dot));
        else
            next = dm_gb_earlier(
                next, dm_gb_line_time(ppu, ppu->line < 143u ? ppu->line + 1u : 0u, 84, 2));
    }
    return next;
}

/* ---- What the CPU sees ---- */

DM_FN uint32_t dm_gb_ppu_dot(const dm_gb_machine *m, uint32_t now)
{
    return now - m->ppu.line_start;
}

/* Mode bits of STAT at an access; the unit is synced. */
DM_FN uint32_t dm_gb_ppu_mode(dm_gb_context *context, uint32_t now)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    if (!dm_gb_lcd_on(m))
        return 0;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (ppu->first_line)
        return dot <= 86 ? 0u : dot <= dm_gb_mode0_dot(context) ? 3u : 0u;
    const uint32_t mode = dm_gb_line_mode(ppu->line, dot);
    if (mode != DM_GB_MODE_3_OR_0)
        return mode;
    return dot <= dm_gb_mode0_dot(context) ? 3u : 0u;
}

DM_FN uint32_t dm_gb_ppu_ly(const dm_gb_machine *m, uint32_t now)
{
    return dm_gb_lcd_on(m) ? dm_gb_line_ly(m->ppu.line, dm_gb_ppu_dot(m, now)) : 0u;
}

/* Until when (access time) LY and STAT read the same, at least. */
DM_FN uint32_t dm_gb_ppu_steady(dm_gb_context *context, uint32_t now, bool only_ly)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_ppu *ppu = &m->ppu;
    if (!dm_gb_lcd_on(m))
        return dm_gb_never(now);
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (dot <= DM_GB_FIRST_DOTS)
        return now;
    if (ppu->line < DM_GB_VBLANK_LINE && !only_ly) {
        uint32_t edges[3];
        edges[0] = ppu->first_line ? 86u : DM_GB_VRAM_READ_DOT;
        edges[1] = DM_GB_MODE2_DOT;
        if (dot <= edges[0])
            return ppu->line_start + edges[0];
        if (dot <= edges[1])
            return ppu->line_start + edges[1];
        edges[2] = dm_gb_mode0_dot(context);
        if (dot <= edges[2])
            return ppu->line_start + edges[2];
    }
    /* The next line begins to show at its dot 0 at the earliest. */
    return ppu->line_start + DM_GB_LINE_CYCLES;
}

DM_FN bool dm_gb_in_picture(const dm_gb_machine *m)
{
    return dm_gb_lcd_on(m) && m->ppu.line < DM_GB_VBLANK_LINE;
}

DM_FN bool dm_gb_vram_blocked(dm_gb_context *context, uint32_t now, bool write)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (!dm_gb_in_picture(m))
        return false;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    uint32_t from = m->ppu.first_line ? 86u : write ? DM_GB_MODE2_DOT : DM_GB_VRAM_READ_DOT;
    return dot > from && (m->ppu.fifo.dot != 0 || dot < DM_GB_MODE0_LATEST) &&
           dot <= dm_gb_mode0_dot(context);
}

DM_FN bool dm_gb_oam_blocked(dm_gb_context *context, uint32_t now, bool write)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (!dm_gb_in_picture(m))
        return false;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (m->ppu.first_line) {
        if (dot <= (write ? 84u : 86u))
            return false;
    } else {
        if (dot <= (write ? 4u : 3u) || (write && dot > 80 && dot <= 84))
            return false;
        if (dot <= 84)
            return true;
    }
    return (m->ppu.fifo.dot != 0 || dot < DM_GB_MODE0_LATEST) && dot <= dm_gb_mode0_dot(context);
}

/* ---- Switching on and off ---- */

DM_FN void dm_gb_lcd_start(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_ppu *ppu = &m->ppu;
    ppu->line = 0;
    ppu->first_line = 1;
    ppu->line_start = now - 8u;
    ppu->mode0_dot = 0;
    ppu->drawn = 0;
    ppu->closed = 0;
    ppu->window_carry = 0;
    ppu->fifo.dot = 0;
    ppu->sprites = 0;
    ppu->scanned = DM_GB_SPRITES; /* mode 2 does not happen */
    ppu->new_screen = 1;
    ppu->compare = 0;
    ppu->mode_int = DM_GB_NONE;
    ppu->edge = 2;
    ppu->next_dot = 86;
    dm_gb_start_frame(context);
    dm_gb_window_check(ppu);
    dm_gb_stat_update(m);
}

/* STOP switches the screen off. After it the second picture is the first to be shown, as after
 * switching the LCD on, so no picture is needed that began before it was known to be the last. */
DM_FN void dm_gb_screen_off(dm_gb_machine *m)
{
    m->ppu.blank = 1;
    m->ppu.drawing = 0;
    if (dm_gb_lcd_on(m))
        m->ppu.new_screen = 1;
}

DM_FN void dm_gb_lcd_stop(dm_gb_machine *m)
{
    dm_gb_ppu *ppu = &m->ppu;
    ppu->line = 0;
    ppu->first_line = 0;
    ppu->compare = 0;
    ppu->window_on = 0;
    ppu->drawing = 0;
    ppu->blank = 1;
    ppu->sprites = 0;
    ppu->scanned = 0;
    ppu->fifo.dot = 0;
    ppu->window_carry = 0;
    ppu->mode0_dot = 0;
    ppu->drawn = 0;
    ppu->edge = 0;
    ppu->next_dot = 0;
    ppu->line_start = 0;
}

#endif
