/* SPDX-License-Identifier: MIT */
/* draw.h - when a line is drawn, and how long its mode 3 is; kernel text.
 *
 * A line is drawn when something changes that it depends on, or when it ends. If a register changes
 * in mode 3, fifo.h makes the line dot by dot. The executor draws all other lines whole
 * (dm_gb_draw_at_once: cpu/spans.h; simt/render.h), and their mode 3 has the length that the formula
 * here gives. Which of the two a line takes never depends on whether its picture is wanted. */
#ifndef DM_GB_DRAW_H
#define DM_GB_DRAW_H

#include "gb/machine/fifo.h"

#define DM_GB_MODE0_BASE 256u
/* No line is longer: 7 for SCX, 7 for the window, 11 for each of ten sprites, 2 on the first line.
 */
#define DM_GB_MODE0_LATEST (DM_GB_MODE0_BASE + 7u + 7u + 110u + 2u)

#define DM_GB_TANGLED_WX 8u
#define DM_GB_TANGLED_X 16u

/* Where line ppu.line is drawn. */
DM_FN uint8_t *dm_gb_back_line(const dm_gb_context *context, const dm_gb_ppu *ppu)
{
    return context->frames + (ppu->front ^ 1u) * (DM_GB_SCREEN_W * DM_GB_SCREEN_H) +
           (uint32_t)ppu->line * DM_GB_SCREEN_W;
}

/* ---- The length of mode 3 ---- */

DM_FN bool dm_gb_window_shown(const dm_gb_ppu *ppu)
{
    return ppu->window_on && (ppu->lcdc & 0x20u) != 0 && ppu->wx < 166u;
}

/* Delays that happen before pixel `x` leaves: 6 for the window, and for each sprite the fetch (6)
 * and the wait for the background fetch under it, which sprites over the same tile share. */
DM_FN_SLOW uint32_t dm_gb_delays(dm_gb_context *context, uint32_t x)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t delay = 0;
    uint32_t window_x = DM_GB_SCREEN_W;
    if (dm_gb_window_shown(ppu)) {
        window_x = ppu->wx < 7u ? 0u : ppu->wx - 7u;
        if (x >= window_x)
            delay += 6u + (ppu->wx == 0 && (ppu->scx & 7u) != 0 ? 1u : 0u);
    }
    if ((ppu->lcdc & 2u) == 0)
        return delay;
    uint32_t count = dm_gb_sprite_count(context);
    uint32_t last_tile = 0xFFFFu;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sprite_x = ppu->sprite_x[i];
        if (sprite_x >= 168u || (sprite_x >= 8u && sprite_x - 8u > x))
            break;
        /* The background column under the sprite's left edge; the window starts its own count. */
        bool in_window = sprite_x >= window_x + 8u;
        uint32_t column = in_window ? sprite_x + 255u - ppu->wx : sprite_x + (ppu->scx & 7u);
        uint32_t tile = (column >> 3) + (in_window ? 0x100u : 0u);
        delay += 6u;
        if (tile != last_tile) {
            uint32_t wait = sprite_x == 0 ? 0u : column & 7u;
            delay += wait < 5u ? 5u - wait : 0u;
            last_tile = tile;
        }
    }
    return delay;
}

/* Must fifo.h find the length of mode 3? Sprites at the left edge of a window that begins there meet
 * its first fetch, and a pixel that a switched-off window leaves behind moves the fetches after it:
 * dm_gb_delays has no formula for these. */
DM_FN bool dm_gb_no_formula(dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (!ppu->window_on || (ppu->lcdc & 2u) == 0 || dm_gb_sprite_count(context) == 0)
        return false;
    if (dm_gb_window_shown(ppu))
        return ppu->wx == 0 || (ppu->wx < DM_GB_TANGLED_WX && ppu->sprite_x[0] < DM_GB_TANGLED_X);
    return dm_gb_fifo_pixel_slips_in(ppu);
}

/* OAM DMA starts: a line whose sprites are not fetched yet is made dot by dot, since a sprite's
 * fetch reads what DMA has put on OAM. */
DM_FN void dm_gb_draw_sprites_late(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if ((ppu->lcdc & 0x80u) != 0 && ppu->line < DM_GB_SCREEN_H && ppu->sprites != 0 &&
        ppu->fifo.dot == 0 && !ppu->closed)
        dm_gb_fifo_begin(ppu, &ppu->fifo);
}

/* The same, before the line is measured or drawn: OAM stays open for one M-cycle after DMA has
 * started, in which mode 2 may have found more. */
DM_FN void dm_gb_draw_sprites_in_dma(dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (DM_LIKELY(!dm_gb_m(context)->dma.active) || ppu->line >= DM_GB_SCREEN_H || ppu->closed)
        return;
    dm_gb_sprite_count(context);
    dm_gb_draw_sprites_late(context);
}

/* The dot at which mode 3 ends on a line with neither sprites nor the window. */
DM_FN uint32_t dm_gb_plain_mode0_dot(const dm_gb_ppu *ppu)
{
    return DM_GB_MODE0_BASE + (ppu->scx & 7u);
}

/* Work out ppu.mode0_dot. */
DM_FN_SLOW void dm_gb_find_mode0(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    dm_gb_draw_sprites_in_dma(context);
    if (ppu->fifo.dot != 0 || dm_gb_no_formula(context)) {
        ppu->mode0_dot = (uint16_t)dm_gb_fifo_end(context);
        return;
    }
    uint32_t dot = dm_gb_plain_mode0_dot(ppu) + (ppu->first_line ? 2u : 0u);
    if (ppu->window_on || (ppu->lcdc & 2u) != 0)
        dot += dm_gb_delays(context, DM_GB_SCREEN_W - 1u);
    ppu->mode0_dot = (uint16_t)dot;
}

/* The dot at which mode 3 of this line ends. Only asked from dot 84 on. */
DM_FN uint32_t dm_gb_mode0_dot(dm_gb_context *context)
{
    if (dm_gb_m(context)->ppu.mode0_dot == 0)
        dm_gb_find_mode0(context);
    return dm_gb_m(context)->ppu.mode0_dot;
}

/* ---- Drawing ---- */

/* Must a line be made dot by dot, although nothing happens on it? With WX = 0 the window moves with
 * SCX mod 8. */
DM_FN bool dm_gb_only_by_dots(const dm_gb_ppu *ppu)
{
    return dm_gb_fifo_pixel_slips_in(ppu) ||
           (dm_gb_window_shown(ppu) && ppu->wx == 0 && (ppu->scx & 7u) != 0);
}

/* Draw the present line with the registers as they are. */
DM_FN_SLOW void dm_gb_draw_line(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    dm_gb_fifo fifo;
    ppu->drawn = DM_GB_SCREEN_W;
    if (dm_gb_draw_at_once(context))
        return;
    dm_gb_fifo_begin(ppu, &fifo);
    dm_gb_fifo_run(context, &fifo, DM_GB_LINE_CYCLES, dm_gb_back_line(context, ppu));
}

/* ---- Changes ---- */

/* Where fifo.h draws the present line; NULL: its picture is not wanted. */
DM_FN uint8_t *dm_gb_fifo_line(const dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    return ppu->drawing ? dm_gb_back_line(context, ppu) : 0;
}

/* Mode 3 is over: draw the line, if it is wanted. */
DM_FN void dm_gb_draw_now(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    dm_gb_draw_sprites_in_dma(context);
    if (ppu->fifo.dot != 0)
        dm_gb_fifo_run(context, &ppu->fifo, DM_GB_LINE_CYCLES, dm_gb_fifo_line(context));
    else if (ppu->drawing && ppu->drawn == 0)
        dm_gb_draw_line(context);
}

/* ... and count the window's lines, once. */
DM_FN void dm_gb_draw_close(dm_gb_context *context)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (ppu->closed)
        return;
    dm_gb_draw_now(context);
    ppu->closed = 1;
    if (ppu->fifo.dot != 0) {
        ppu->window_line = (uint8_t)(ppu->window_line + ppu->fifo.windows);
        ppu->window_carry = (ppu->fifo.flags & DM_GB_FIFO_CARRY) != 0;
        return;
    }
    bool last_pixel = ppu->window_on && (ppu->lcdc & 0x20u) != 0 && ppu->wx == 166u;
    ppu->window_carry = last_pixel;
    if (last_pixel)
        ppu->window_line = (uint8_t)(ppu->window_line + 2u);
    else if (dm_gb_window_shown(ppu))
        ppu->window_line++;
}

/* Before VRAM changes at T-cycle `when`, which cannot be in mode 3: draw the line if its mode 3 is over. */
DM_FN void dm_gb_draw_until(dm_gb_context *context, uint32_t when)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t dot = when - ppu->line_start;
    if ((ppu->drawing || ppu->fifo.dot != 0) && ppu->line < DM_GB_SCREEN_H && dot > 84u &&
        dot <= DM_GB_LINE_CYCLES && dot > dm_gb_mode0_dot(context))
        dm_gb_draw_now(context);
}

/* Bring a line that is made dot by dot up to T-cycle `when`. */
DM_FN void dm_gb_draw_advance(dm_gb_context *context, uint32_t when)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t dot = when - ppu->line_start;
    if (ppu->fifo.dot != 0 && dot <= DM_GB_LINE_CYCLES && dot > ppu->fifo.dot)
        dm_gb_fifo_run(context, &ppu->fifo, dot, dm_gb_fifo_line(context));
}

/* Before something changes at T-cycle `when` that the present line depends on. In mode 3 the line
 * goes on dot by dot from here; after mode 3 it is drawn and closed. */
DM_FN_SLOW void dm_gb_draw_sync(dm_gb_context *context, uint32_t when)
{
    dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t dot = when - ppu->line_start;
    if ((ppu->lcdc & 0x80u) == 0 || ppu->line >= DM_GB_SCREEN_H || dot <= 84u ||
        dot > DM_GB_LINE_CYCLES || ppu->closed)
        return;
    if (dot > dm_gb_mode0_dot(context)) {
        dm_gb_draw_close(context);
        return;
    }
    if (ppu->fifo.dot == 0)
        dm_gb_fifo_begin(ppu, &ppu->fifo);
    dm_gb_fifo_run(context, &ppu->fifo, dot, dm_gb_fifo_line(context));
}

/* The line is over. */
DM_FN void dm_gb_draw_finish_line(dm_gb_context *context)
{
    dm_gb_draw_close(context);
}

#endif
