/* SPDX-License-Identifier: MIT */
/* fifo.h - a line of the picture dot by dot, as the hardware makes it; kernel text.
 *
 * A line is drawn whole, and draw.h has a formula for the length of its mode 3. That is right as
 * long as no register changes in mode 3. A line on which one does is made by this file: the
 * fetcher reads a tile in six dots (number, low plane, high plane, two dots each) and pushes its
 * eight pixels when the background's queue is empty; one pixel leaves per dot; the window empties
 * the queue and starts the fetcher again; a sprite holds everything up while it is fetched.
 *
 * Registers are read at the dot that uses them. The state lives in ppu.fifo between writes, so a
 * line costs one pass however many writes there are, plus one look ahead for each that may change
 * the length of mode 3. On a line without writes the result is the formula's, pixel for pixel and
 * dot for dot (tests/gb/test_fifo.c).
 *
 * Facts: Pan Docs ("Pixel FIFO"), mealybug-tearoom's m3 tests, and SameBoy for what happens when
 * LCDC or WX change at an awkward dot. */
#ifndef DM_GB_FIFO_H
#define DM_GB_FIFO_H

#include "gb/machine/sprites.h"

#define DM_GB_FIFO_START 89u
#define DM_GB_FIFO_LATEST 455u /* a line that is not done by then ends anyhow */

/* Steps of the fetcher: the address in the first dot of each read, the data in the second. */
enum dm_gb_fetch {
    DM_GB_FETCH_TILE,
    DM_GB_FETCH_TILE_2,
    DM_GB_FETCH_LOW,
    DM_GB_FETCH_LOW_2,
    DM_GB_FETCH_HIGH,
    DM_GB_FETCH_HIGH_2,
    DM_GB_FETCH_PUSH
};

/* What the next dot begins with. */
enum dm_gb_fifo_state {
    DM_GB_FIFO_PIXEL,       /* a new pixel: window, sprites, out */
    DM_GB_FIFO_WINDOW,      /* the window starts one dot late */
    DM_GB_FIFO_SPRITE_WAIT, /* for the background's fetch to end */
    DM_GB_FIFO_SPRITE_TILE,
    DM_GB_FIFO_SPRITE_LOW,
    DM_GB_FIFO_SPRITE_HIGH,
    DM_GB_FIFO_SPRITE_DONE,
    DM_GB_FIFO_FINISHED
};

/* Bits of fifo.flags. */
#define DM_GB_FIFO_IN_WINDOW 0x01u   /* the fetcher reads the window's map */
#define DM_GB_FIFO_NEW_WINDOW 0x02u  /* its first tile is not there yet */
#define DM_GB_FIFO_INSERT 0x04u      /* one pixel of colour 0 comes before the queue's */
#define DM_GB_FIFO_ABORT 0x08u       /* sprites were switched off during the fetch of one */
#define DM_GB_FIFO_WX_CHANGED 0x10u  /* in this dot */
#define DM_GB_FIFO_KEEP_PIXELS 0x20u /* the window went off while its first tile was fetched */
#define DM_GB_FIFO_CARRY 0x40u       /* WX = 166: the next line begins in the window */

DM_FN_SLOW void dm_gb_fifo_begin(const dm_gb_ppu *ppu, dm_gb_fifo *fifo)
{
    fifo->dot = (uint16_t)(DM_GB_FIFO_START + (ppu->first_line ? 2u : 0u));
    fifo->address = 0;
    fifo->x = 0xF0;
    fifo->out = 0;
    fifo->step = DM_GB_FETCH_TILE;
    fifo->tile = fifo->low = fifo->high = 0;
    fifo->queue_low = fifo->queue_high = 0;
    fifo->queue = 8; /* junk, dropped before the first pixel */
    fifo->sprite_low = fifo->sprite_high = fifo->sprite_palette = fifo->sprite_behind = 0;
    fifo->sprite = 0;
    fifo->state = DM_GB_FIFO_PIXEL;
    fifo->sprite_tile = fifo->sprite_flags = fifo->sprite_data = 0;
    fifo->flags = ppu->window_carry ? DM_GB_FIFO_IN_WINDOW : 0;
    fifo->window_tile = ppu->window_carry;
    fifo->windows = 0;
    fifo->wait = 0;
    fifo->pad[0] = fifo->pad[1] = 0;
}

/* Can dm_gb_fifo_push let in a pixel where a window that is switched off would begin? */
DM_FN bool dm_gb_fifo_pixel_slips_in(const dm_gb_ppu *ppu)
{
    return ppu->window_on && (ppu->lcdc & 0x20u) == 0 && ppu->wx <= 167u &&
           (ppu->wx == 0 || ((ppu->wx + ppu->scx + 1u) & 7u) == 0);
}

DM_FN uint32_t dm_gb_fifo_row(const dm_gb_ppu *ppu, const dm_gb_fifo *fifo)
{
    return (fifo->flags & DM_GB_FIFO_IN_WINDOW) != 0 ? ppu->window_line + fifo->windows - 1u
                                                     : ppu->line + (uint32_t)ppu->scy;
}

/* Address of a row of the tile under the fetcher. */
DM_FN uint16_t dm_gb_fifo_data(const dm_gb_ppu *ppu, const dm_gb_fifo *fifo)
{
    uint32_t tile =
        (ppu->lcdc & 0x10u) != 0 ? fifo->tile * 16u : 0x800u + (fifo->tile ^ 0x80u) * 16u;
    return (uint16_t)(tile + (dm_gb_fifo_row(ppu, fifo) & 7u) * 2u);
}

DM_FN void dm_gb_fifo_push(const dm_gb_ppu *ppu, dm_gb_fifo *fifo)
{
    fifo->step = DM_GB_FETCH_PUSH;
    if (fifo->queue != 0)
        return;
    if (ppu->window_on && (ppu->lcdc & 0x20u) == 0 && (fifo->flags & DM_GB_FIFO_KEEP_PIXELS) == 0) {
        /* Where a window that is switched off would begin, one pixel of colour 0 slips in. */
        uint32_t at = (fifo->x + 7u) & 0xFFu;
        if (ppu->wx == (at > 167u ? 0u : at)) {
            fifo->queue_low = fifo->queue_high = 0;
            fifo->queue = 1;
            return;
        }
    }
    fifo->queue_low = fifo->low;
    fifo->queue_high = fifo->high;
    fifo->queue = 8;
    fifo->step = DM_GB_FETCH_TILE;
}

DM_FN void dm_gb_fifo_fetch(const dm_gb_context *context, dm_gb_fifo *fifo)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    switch (fifo->step) {
    case DM_GB_FETCH_TILE: {
        if ((ppu->lcdc & 0x20u) == 0)
            fifo->flags &= (uint8_t)~DM_GB_FIFO_IN_WINDOW;
        bool window = (fifo->flags & DM_GB_FIFO_IN_WINDOW) != 0;
        uint32_t map = (ppu->lcdc & (window ? 0x40u : 0x08u)) != 0 ? 0x1C00u : 0x1800u;
        uint32_t column = window                           ? fifo->window_tile
                          : ((fifo->x + 16u) & 0xFFu) < 8u ? ppu->scx >> 3
                                                           : ((ppu->scx + fifo->x + 8u) >> 3) & 31u;
        uint32_t row = (dm_gb_fifo_row(ppu, fifo) >> 3) & 31u;
        fifo->address = (uint16_t)(map + row * 32u + column);
        fifo->step++;
        break;
    }
    case DM_GB_FETCH_TILE_2:
        fifo->tile = dm_gb_ram_load(context, DM_GB_VRAM + fifo->address);
        fifo->step++;
        break;
    case DM_GB_FETCH_LOW:
        fifo->address = dm_gb_fifo_data(ppu, fifo);
        fifo->step++;
        break;
    case DM_GB_FETCH_LOW_2:
        fifo->low = dm_gb_ram_load(context, DM_GB_VRAM + fifo->address);
        fifo->step++;
        break;
    case DM_GB_FETCH_HIGH:
        fifo->address = (uint16_t)(dm_gb_fifo_data(ppu, fifo) + 1u);
        fifo->step++;
        break;
    case DM_GB_FETCH_HIGH_2:
        fifo->high = dm_gb_ram_load(context, DM_GB_VRAM + fifo->address);
        if ((fifo->flags & DM_GB_FIFO_IN_WINDOW) != 0)
            fifo->window_tile = (fifo->window_tile + 1u) & 31u;
        dm_gb_fifo_push(ppu, fifo);
        break;
    default:
        dm_gb_fifo_push(ppu, fifo);
        break;
    }
}

/* ---- The window ---- */

DM_FN bool dm_gb_fifo_window_starts(const dm_gb_ppu *ppu, dm_gb_fifo *fifo)
{
    uint32_t x = fifo->x;
    if (ppu->wx == 0)
        return x == 0xF9u || (x == 0xF0u && (ppu->scx & 7u) != 0) || (x >= 0xF1u && x <= 0xF8u);
    if (ppu->wx >= 166u) {
        if (ppu->wx == 166u && x == 159u)
            fifo->windows++;
        return false;
    }
    if (ppu->wx == ((x + 7u) & 0xFFu))
        return true;
    if (ppu->wx != ((x + 6u) & 0xFFu) || (fifo->flags & DM_GB_FIFO_WX_CHANGED) != 0)
        return false;
    /* One pixel too late: the screen stays behind by one. */
    if (fifo->out > 0)
        fifo->out--;
    return true;
}

DM_FN void dm_gb_fifo_window_begin(dm_gb_fifo *fifo)
{
    fifo->flags |= DM_GB_FIFO_IN_WINDOW | DM_GB_FIFO_NEW_WINDOW;
    fifo->step = DM_GB_FETCH_TILE;
}

/* False: the rest of this dot's work is due in the next. */
DM_FN bool dm_gb_fifo_window(const dm_gb_ppu *ppu, dm_gb_fifo *fifo)
{
    if ((fifo->flags & DM_GB_FIFO_IN_WINDOW) == 0 && ppu->window_on && (ppu->lcdc & 0x20u) != 0 &&
        dm_gb_fifo_window_starts(ppu, fifo)) {
        fifo->windows++;
        fifo->window_tile = 0;
        fifo->queue = 0;
        if (ppu->wx == 0 && (ppu->scx & 7u) != 0) {
            fifo->state = DM_GB_FIFO_WINDOW;
            return false;
        }
        dm_gb_fifo_window_begin(fifo);
    }
    return true;
}

/* ---- Sprites ---- */

DM_FN bool dm_gb_fifo_sprite_here(const dm_gb_ppu *ppu, dm_gb_fifo *fifo)
{
    uint32_t at = (fifo->x + 8u) & 0xFFu;
    if (at > 0xF0u)
        at = 0;
    while (fifo->sprite < ppu->sprites && ppu->sprite_x[fifo->sprite] < at)
        fifo->sprite++;
    return fifo->sprite < ppu->sprites && (ppu->lcdc & 2u) != 0 &&
           ppu->sprite_x[fifo->sprite] == at;
}

/* Read tile and attributes from OAM; while DMA runs, from the entry that DMA is writing. */
DM_FN void dm_gb_fifo_sprite_read(dm_gb_context *context, dm_gb_fifo *fifo)
{
    const dm_gb_machine *m = dm_gb_m(context);
    uint32_t at = m->ppu.sprite[fifo->sprite] * 4u + 2u;
    uint32_t when = m->ppu.line_start + fifo->dot;
    /* A look ahead (dm_gb_fifo_end) works on a copy of ppu.fifo and must not move the transfer. */
    if (m->dma.active && fifo == &m->ppu.fifo && dm_gb_scan_blocked(m, when)) {
        dm_gb_dma_copy(context, when);
        uint32_t busy = dm_gb_dma_busy(m, when);
        if (busy < 160u)
            at = busy & ~1u;
    }
    fifo->sprite_tile = dm_gb_ram_load(context, DM_GB_OAM + at);
    fifo->sprite_flags = dm_gb_ram_load(context, DM_GB_OAM + at + 1u);
}

DM_FN uint8_t dm_gb_fifo_sprite_data(const dm_gb_context *context, const dm_gb_fifo *fifo,
                                     uint32_t plane)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t row = (ppu->line + 16u - ppu->sprite_y[fifo->sprite]) & (height - 1u);
    if ((fifo->sprite_flags & 0x40u) != 0)
        row ^= height - 1u;
    uint32_t tile = fifo->sprite_tile & (height == 16u ? 0xFEu : 0xFFu);
    return dm_gb_ram_load(context, DM_GB_VRAM + tile * 16u + row * 2u + plane);
}

DM_FN uint32_t dm_gb_mirrored(uint32_t byte)
{
    byte = (byte & 0x0Fu) << 4 | (byte & 0xF0u) >> 4;
    byte = (byte & 0x33u) << 2 | (byte & 0xCCu) >> 2;
    return (byte & 0x55u) << 1 | (byte & 0xAAu) >> 1;
}

/* Lay the fetched sprite under those that are in the queue already. */
DM_FN void dm_gb_fifo_sprite_push(dm_gb_fifo *fifo)
{
    uint32_t low = fifo->sprite_data, high = fifo->sprite_tile;
    if ((fifo->sprite_flags & 0x20u) != 0) {
        low = dm_gb_mirrored(low);
        high = dm_gb_mirrored(high);
    }
    uint32_t mask = (low | high) & ~(uint32_t)(fifo->sprite_low | fifo->sprite_high);
    fifo->sprite_low |= (uint8_t)(low & mask);
    fifo->sprite_high |= (uint8_t)(high & mask);
    fifo->sprite_palette &= (uint8_t)~mask;
    if ((fifo->sprite_flags & 0x10u) != 0)
        fifo->sprite_palette |= (uint8_t)mask;
    fifo->sprite_behind &= (uint8_t)~mask;
    if ((fifo->sprite_flags & 0x80u) != 0)
        fifo->sprite_behind |= (uint8_t)mask;
    fifo->sprite++;
}

/* ---- Pixels ---- */

DM_FN void dm_gb_fifo_show(const dm_gb_ppu *ppu, dm_gb_fifo *fifo, uint8_t *line, uint32_t colour,
                           uint32_t sprite, uint32_t palette, bool behind)
{
    if ((ppu->lcdc & 1u) == 0)
        colour = 0;
    uint32_t shade = ppu->bgp >> (colour * 2u);
    if (sprite != 0 && (ppu->lcdc & 2u) != 0 && !(behind && colour != 0))
        shade = palette >> (sprite * 2u);
    if (line != 0 && fifo->out < DM_GB_SCREEN_W)
        line[fifo->out] = shade & 3u;
    fifo->out++;
}

/* Let one pixel out, if there is one. */
DM_FN void dm_gb_fifo_pixel(const dm_gb_ppu *ppu, dm_gb_fifo *fifo, uint8_t *line)
{
    if (fifo->sprite < ppu->sprites && (ppu->lcdc & 2u) != 0 && ppu->sprite_x[fifo->sprite] == 0)
        return;
    if (fifo->queue == 0)
        return;
    uint32_t colour = 0;
    if ((fifo->flags & DM_GB_FIFO_INSERT) != 0) {
        fifo->flags &= (uint8_t)~DM_GB_FIFO_INSERT;
    } else {
        colour = (uint32_t)(fifo->queue_low >> 7 | (fifo->queue_high >> 7) << 1);
        fifo->queue_low = (uint8_t)(fifo->queue_low << 1);
        fifo->queue_high = (uint8_t)(fifo->queue_high << 1);
        fifo->queue--;
    }
    uint32_t sprite = (uint32_t)(fifo->sprite_low >> 7 | (fifo->sprite_high >> 7) << 1);
    uint32_t palette = (fifo->sprite_palette & 0x80u) != 0 ? ppu->obp1 : ppu->obp0;
    bool behind = (fifo->sprite_behind & 0x80u) != 0;
    fifo->sprite_low = (uint8_t)(fifo->sprite_low << 1);
    fifo->sprite_high = (uint8_t)(fifo->sprite_high << 1);
    fifo->sprite_palette = (uint8_t)(fifo->sprite_palette << 1);
    fifo->sprite_behind = (uint8_t)(fifo->sprite_behind << 1);
    /* Before the screen: x goes from -16 until it meets SCX, then on from -8. */
    if (((fifo->x + 16u) & 0xFFu) < 8u) {
        uint32_t fine = ppu->scx & 7u;
        if ((fifo->x & 7u) == fine ||
            ((fifo->flags & DM_GB_FIFO_NEW_WINDOW) != 0 && (fifo->x & 7u) == 6u && fine == 7u)) {
            fifo->x = 0xF8;
        } else if (fifo->x == 0xF7u) {
            fifo->x = 0xF0;
            return;
        }
    }
    fifo->flags &= (uint8_t)~DM_GB_FIFO_NEW_WINDOW;
    if (fifo->x < DM_GB_SCREEN_W)
        dm_gb_fifo_show(ppu, fifo, line, colour, sprite, palette, behind);
    fifo->x++;
}

/* Mode 3 is over. */
DM_FN void dm_gb_fifo_finish(const dm_gb_ppu *ppu, dm_gb_fifo *fifo, uint8_t *line)
{
    fifo->state = DM_GB_FIFO_FINISHED;
    if (ppu->window_on && (ppu->lcdc & 0x20u) != 0 && ppu->wx == 166u) {
        fifo->flags |= DM_GB_FIFO_CARRY;
        fifo->windows++;
    }
    for (; fifo->out < DM_GB_SCREEN_W; fifo->out++)
        if (line != 0)
            line[fifo->out] = fifo->out == 0 ? 0 : line[fifo->out - 1];
}

/* The work of one dot. */
DM_FN void dm_gb_fifo_dot(dm_gb_context *context, dm_gb_fifo *fifo, uint8_t *line)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (fifo->wait != 0) {
        fifo->wait--;
        return;
    }
    if ((fifo->flags & DM_GB_FIFO_ABORT) != 0) {
        fifo->flags &= (uint8_t)~DM_GB_FIFO_ABORT;
        if (fifo->state >= DM_GB_FIFO_SPRITE_WAIT && fifo->state <= DM_GB_FIFO_SPRITE_HIGH) {
            fifo->state = DM_GB_FIFO_PIXEL;
            goto out;
        }
    }
    switch (fifo->state) {
    case DM_GB_FIFO_WINDOW:
        dm_gb_fifo_window_begin(fifo);
        fifo->state = DM_GB_FIFO_PIXEL;
        break;
    case DM_GB_FIFO_PIXEL:
        if (!dm_gb_fifo_window(ppu, fifo))
            return;
        break;
    case DM_GB_FIFO_SPRITE_WAIT:
        goto wait;
    case DM_GB_FIFO_SPRITE_TILE:
        dm_gb_fifo_fetch(context, fifo);
        dm_gb_fifo_sprite_read(context, fifo);
        fifo->state = DM_GB_FIFO_SPRITE_LOW;
        fifo->wait = 1;
        return;
    case DM_GB_FIFO_SPRITE_LOW:
        fifo->sprite_data = dm_gb_fifo_sprite_data(context, fifo, 0);
        fifo->state = DM_GB_FIFO_SPRITE_HIGH;
        fifo->wait = 1;
        return;
    case DM_GB_FIFO_SPRITE_HIGH:
        fifo->sprite_tile = dm_gb_fifo_sprite_data(context, fifo, 1);
        fifo->state = DM_GB_FIFO_SPRITE_DONE;
        return;
    default: /* DM_GB_FIFO_SPRITE_DONE */
        dm_gb_fifo_sprite_push(fifo);
        fifo->state = DM_GB_FIFO_PIXEL;
        goto match;
    }
    if (ppu->wx == ((fifo->x + 7u) & 0xFFu) &&
        (fifo->flags & (DM_GB_FIFO_IN_WINDOW | DM_GB_FIFO_NEW_WINDOW)) == DM_GB_FIFO_IN_WINDOW &&
        fifo->step == DM_GB_FETCH_TILE && fifo->queue == 8)
        fifo->flags |= DM_GB_FIFO_INSERT;
match:
    if (dm_gb_fifo_sprite_here(ppu, fifo)) {
        fifo->state = DM_GB_FIFO_SPRITE_WAIT;
        goto wait;
    }
out:
    dm_gb_fifo_pixel(ppu, fifo, line);
    dm_gb_fifo_fetch(context, fifo);
    if (fifo->x == DM_GB_SCREEN_W)
        dm_gb_fifo_finish(ppu, fifo, line);
    return;
wait:
    if (fifo->step >= DM_GB_FETCH_HIGH_2 && fifo->queue != 0)
        fifo->state = DM_GB_FIFO_SPRITE_TILE;
    dm_gb_fifo_fetch(context, fifo);
}

/* Will the next eight dots only fetch a tile and show the one before it? */
DM_FN bool dm_gb_fifo_plain(const dm_gb_ppu *ppu, const dm_gb_fifo *fifo)
{
    uint32_t x = fifo->x;
    if (fifo->state != DM_GB_FIFO_PIXEL || fifo->step != DM_GB_FETCH_TILE || fifo->queue != 8u ||
        (fifo->flags & (DM_GB_FIFO_NEW_WINDOW | DM_GB_FIFO_INSERT | DM_GB_FIFO_ABORT)) != 0 ||
        x + 8u >= DM_GB_SCREEN_W)
        return false;
    if ((ppu->lcdc & 2u) != 0 && fifo->sprite < ppu->sprites &&
        ppu->sprite_x[fifo->sprite] < x + 16u)
        return false;
    bool near_window = ppu->wx >= x + 6u && ppu->wx <= x + 15u;
    if ((fifo->flags & DM_GB_FIFO_IN_WINDOW) != 0)
        return (ppu->lcdc & 0x20u) != 0 && !near_window;
    return !ppu->window_on || (ppu->wx != 0 && !near_window);
}

DM_FN void dm_gb_fifo_tile(dm_gb_context *context, dm_gb_fifo *fifo, uint8_t *line)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t low = fifo->queue_low, high = fifo->queue_high;
    if (line == 0) {
        fifo->out = (uint8_t)(fifo->out + 8u);
        fifo->sprite_low = fifo->sprite_high = fifo->sprite_palette = fifo->sprite_behind = 0;
    } else {
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t bit = 7u - i;
            uint32_t colour = ((low >> bit) & 1u) | ((high >> bit) & 1u) << 1;
            uint32_t sprite = (uint32_t)(fifo->sprite_low >> 7 | (fifo->sprite_high >> 7) << 1);
            uint32_t palette = (fifo->sprite_palette & 0x80u) != 0 ? ppu->obp1 : ppu->obp0;
            dm_gb_fifo_show(ppu, fifo, line, colour, sprite, palette,
                            (fifo->sprite_behind & 0x80u) != 0);
            fifo->sprite_low = (uint8_t)(fifo->sprite_low << 1);
            fifo->sprite_high = (uint8_t)(fifo->sprite_high << 1);
            fifo->sprite_palette = (uint8_t)(fifo->sprite_palette << 1);
            fifo->sprite_behind = (uint8_t)(fifo->sprite_behind << 1);
        }
    }
    fifo->x++; /* the tile's column is worked out after the first pixel left */
    for (uint32_t i = DM_GB_FETCH_TILE; i < DM_GB_FETCH_HIGH_2; i++)
        dm_gb_fifo_fetch(context, fifo);
    fifo->x = (uint8_t)(fifo->x + 7u);
    fifo->queue = 0;
    dm_gb_fifo_fetch(context, fifo);
    fifo->dot = (uint16_t)(fifo->dot + 8u);
}

/* Do the dots before `end`; fifo.dot stays at the one that finished the line. */
DM_FN_SLOW void dm_gb_fifo_run(dm_gb_context *context, dm_gb_fifo *fifo, uint32_t end,
                               uint8_t *line)
{
    dm_gb_sprite_count(context);
    while (fifo->state != DM_GB_FIFO_FINISHED && fifo->dot < end) {
        if (fifo->dot + 8u < end && fifo->dot + 8u < DM_GB_FIFO_LATEST &&
            dm_gb_fifo_plain(&dm_gb_m(context)->ppu, fifo)) {
            fifo->flags &= (uint8_t)~DM_GB_FIFO_WX_CHANGED;
            dm_gb_fifo_tile(context, fifo, line);
            continue;
        }
        dm_gb_fifo_dot(context, fifo, line);
        fifo->flags &= (uint8_t)~DM_GB_FIFO_WX_CHANGED;
        if (fifo->state == DM_GB_FIFO_FINISHED)
            return;
        if (fifo->dot == DM_GB_FIFO_LATEST) {
            dm_gb_fifo_finish(&dm_gb_m(context)->ppu, fifo, line);
            return;
        }
        fifo->dot++;
    }
}

/* Is the line made dot by dot and not done? */
DM_FN bool dm_gb_fifo_live(const dm_gb_ppu *ppu)
{
    return ppu->fifo.dot != 0 && ppu->fifo.state != DM_GB_FIFO_FINISHED;
}

/* Sprites go off: a fetch under way is given up. */
DM_FN void dm_gb_fifo_sprites_off(dm_gb_ppu *ppu)
{
    dm_gb_fifo *fifo = &ppu->fifo;
    if ((ppu->lcdc & 2u) != 0 && fifo->state >= DM_GB_FIFO_SPRITE_WAIT &&
        fifo->state <= DM_GB_FIFO_SPRITE_HIGH)
        fifo->flags |= DM_GB_FIFO_ABORT;
    ppu->lcdc &= (uint8_t)~2u;
}

/* LCDC is about to become `value`. The fetcher's bits are new one dot before the others; in that
 * dot the background's bit is old and new together, and sprites can be off already. */
#define DM_GB_FIFO_EARLY 0x5Cu

DM_FN void dm_gb_fifo_lcdc(dm_gb_ppu *ppu, uint8_t value)
{
    const dm_gb_fifo *fifo = &ppu->fifo;
    if (!dm_gb_fifo_live(ppu))
        return;
    bool fetching = fifo->state >= DM_GB_FIFO_SPRITE_WAIT && fifo->state <= DM_GB_FIFO_SPRITE_HIGH;
    if ((value & 2u) == 0 && (fifo->x == 0 || fetching))
        dm_gb_fifo_sprites_off(ppu);
    ppu->lcdc = (uint8_t)((ppu->lcdc & ~DM_GB_FIFO_EARLY) | (value & (DM_GB_FIFO_EARLY | 1u)) |
                          (ppu->lcdc & 1u));
}

DM_FN void dm_gb_fifo_lcdc_late(dm_gb_ppu *ppu, uint8_t value)
{
    if (!dm_gb_fifo_live(ppu))
        return;
    if ((value & 2u) == 0)
        dm_gb_fifo_sprites_off(ppu);
    if ((ppu->lcdc & ~(uint32_t)value & 0x20u) != 0 &&
        (ppu->fifo.flags & DM_GB_FIFO_NEW_WINDOW) != 0)
        ppu->fifo.flags |= DM_GB_FIFO_KEEP_PIXELS;
}

/* The dot at which mode 3 will end if nothing changes any more. */
DM_FN uint32_t dm_gb_fifo_end(dm_gb_context *context)
{
    dm_gb_fifo ahead = dm_gb_m(context)->ppu.fifo;
    if (ahead.dot == 0)
        dm_gb_fifo_begin(&dm_gb_m(context)->ppu, &ahead);
    dm_gb_fifo_run(context, &ahead, DM_GB_FIFO_LATEST + 1u, 0);
    return ahead.dot;
}

#endif
