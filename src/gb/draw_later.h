/* SPDX-License-Identifier: MIT */
/* draw_later.h - lines that a GPU draws later, many at a time; kernel text.
 *
 * A line is drawn in 160 pixels' worth of work by one lane, and lanes of a warp come to the ends of
 * their lines at different times. So a line is not drawn when it ends but kept: its place in the
 * back picture holds, instead of the first eight pixels, a note of the registers that it shows. Of
 * a picture that nothing disturbs all 144 lines are kept until it is complete, and then a warp
 * draws it with all its lanes (swarm/warp.h).
 *
 *   byte of a note  0     1    2    3    4     5     6   7
 *                   LCDC  SCY  SCX  BGP  OBP0  OBP1  WX  line of the window
 *
 * LCDC bit 7 tells a note from pixels, which are 0..3; bit 5 is set where the window is on.
 * What else a line depends on, VRAM and OAM, must not change while it is kept: whoever is about to
 * change them, or the state of the picture, calls dm_gb_draw_kept first, and so does the end of a
 * run; STOP lasts until then. While OAM DMA is active nothing is kept. The machine's own state is
 * the same as if the line had been drawn; tests/gb/test_quick.c compares that, and the pictures. */
#ifndef DM_GB_DRAW_LATER_H
#define DM_GB_DRAW_LATER_H

#if DM_GB_GPU_FORM

#define DM_GB_NOTE_LCDC 0x80u
#define DM_GB_NOTE_WINDOW 0x20u
#define DM_GB_NOTE_NEXT (1ull << 56) /* the window's next line */

DM_FN uint64_t dm_gb_note_of(const dm_gb_ppu *ppu)
{
    return (uint64_t)(ppu->lcdc & ~DM_GB_NOTE_WINDOW) | (uint64_t)ppu->scy << 8 |
           (uint64_t)ppu->scx << 16 | (uint64_t)ppu->bgp << 24 | (uint64_t)ppu->obp0 << 32 |
           (uint64_t)ppu->obp1 << 40 | (uint64_t)ppu->wx << 48 |
           (uint64_t)ppu->window_line * DM_GB_NOTE_NEXT;
}

DM_FN void dm_gb_note_lines(dm_gb_lane *lane, uint32_t first, uint32_t end)
{
    if (lane->kept_end == 0)
        lane->kept_next = (uint8_t)first;
    lane->kept_end = (uint8_t)end;
}

/* Keep the present line, whose mode 3 is over; false: it has to be drawn now. */
DM_FN bool dm_gb_draw_later(dm_gb_lane *lane)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    /* OAM will be searched again, as a whole. */
    const bool sprites_known =
        (ppu->lcdc & 2u) == 0 || ppu->scanned == 0 ||
        (ppu->scanned == DM_GB_SPRITES && lane->scan_height == ((ppu->lcdc & 4u) != 0 ? 16u : 8u));
    if (!sprites_known || ppu->first_line || lane->m->dma.active || dm_gb_only_by_dots(ppu))
        return false;
    *(uint64_t *)(void *)dm_gb_back_line(lane, ppu) =
        dm_gb_note_of(ppu) | (dm_gb_window_shown(ppu) ? DM_GB_NOTE_WINDOW : 0u);
    dm_gb_note_lines(lane, ppu->line, ppu->line + 1u);
    return true;
}

/* At the start of a line: can that and others be kept of which nothing happens on any? */
DM_FN bool dm_gb_can_draw_later(const dm_gb_lane *lane)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    return !lane->m->dma.active && !dm_gb_fifo_pixel_slips_in(ppu) &&
           ((ppu->lcdc & 0x20u) == 0 || ppu->wx != 0 || (ppu->scx & 7u) == 0);
}

/* Then keep those before `end`; the window is on from line `window` on. */
DM_FN_SLOW void dm_gb_draw_all_later(dm_gb_lane *lane, uint32_t end, uint32_t window)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint64_t *out = (uint64_t *)(void *)dm_gb_back_line(lane, ppu);
    uint64_t note = dm_gb_note_of(ppu);
    dm_gb_note_lines(lane, ppu->line, end);
    DM_NO_UNROLL
    for (uint32_t line = ppu->line; line < end; line++) {
        *out = note | (line >= window ? DM_GB_NOTE_WINDOW : 0u);
        note += line >= window ? DM_GB_NOTE_NEXT : 0u;
        out += DM_GB_GROUPS;
    }
}

/* The note of a line, or its first pixels. */
DM_FN uint64_t dm_gb_note_at(const dm_gb_lane *lane, uint32_t line)
{
    dm_gb_ppu then;
    then.front = lane->m->ppu.front;
    then.line = (uint8_t)line;
    return *(const uint64_t *)(const void *)dm_gb_back_line(lane, &then);
}

/* Draw the lane's part of a line, if that is one of those kept. */
DM_FN_SLOW void dm_gb_draw_noted(dm_gb_lane *lane, uint32_t line, uint64_t note)
{
    dm_gb_ppu then;
    if ((note & DM_GB_NOTE_LCDC) == 0)
        return;
    then.front = lane->m->ppu.front;
    then.line = (uint8_t)line;
    then.lcdc = (uint8_t)note;
    then.scy = (uint8_t)(note >> 8);
    then.scx = (uint8_t)(note >> 16);
    then.bgp = (uint8_t)(note >> 24);
    then.obp0 = (uint8_t)(note >> 32);
    then.obp1 = (uint8_t)(note >> 40);
    then.wx = (uint8_t)(note >> 48);
    then.window_line = (uint8_t)(note >> 56);
    then.window_on = (note & DM_GB_NOTE_WINDOW) != 0;
    dm_gb_draw_spans(lane, &then);
}

/* Draw the lines that are kept. (Where that is, is in the lane and not in registers, which are dear
 * under a turn.) */
DM_FN_SLOW void dm_gb_draw_lines(dm_gb_lane *lane)
{
    DM_NO_UNROLL
    for (; lane->kept_next < lane->kept_end; lane->kept_next++)
        dm_gb_draw_noted(lane, lane->kept_next, dm_gb_note_at(lane, lane->kept_next));
    lane->kept_end = 0;
}

/* Draw every line that is kept: something is about to change that they depend on. */
DM_FN void dm_gb_draw_kept(dm_gb_lane *lane)
{
    if (lane->kept_end != 0)
        dm_gb_draw_lines(lane);
}

/* Lanes share the work on a picture: pairs of lines, four lanes to each. */
#define DM_GB_PAIRS (DM_GB_SCREEN_H / 2u)
DM_STATIC_ASSERT(DM_GB_PAIRS % (32u / DM_GB_DRAW_PARTS) == 0, "lanes of a warp stay together");

DM_FN void dm_gb_draw_share(dm_gb_lane *lane, uint32_t number)
{
    lane->part = (uint8_t)(number % DM_GB_DRAW_PARTS);
    lane->shares = 1;
}

/* Draw the lane's part of lines 2 * pair and the next, as far as this or another lane of the
 * machine keeps them. All of a warp call this together; where they are played one after the other,
 * the last comes first, since the first part of a line takes the note's place. */
DM_FN void dm_gb_draw_pair(dm_gb_lane *lane, uint32_t pair)
{
    const uint64_t upper = dm_gb_note_at(lane, 2u * pair);
    const uint64_t lower = dm_gb_note_at(lane, 2u * pair + 1u);
    dm_warp_sync(); /* before they are overwritten */
    dm_gb_draw_noted(lane, 2u * pair, upper);
    dm_gb_draw_noted(lane, 2u * pair + 1u, lower);
}

/* Which picture is on the screen after `frames` VBlanks if `front` is: tells it from all others
 * that a machine shows in a run. */
DM_FN uint32_t dm_gb_picture_key(uint32_t frames, uint32_t front)
{
    return (frames << 1 | front) + 1u;
}

/* Of the picture whose lines are kept, if the last of them is among those: then nothing of it will
 * change any more, and it will be on the screen after the next VBlank, if that comes before the LCD
 * is switched off; else 0. */
DM_FN uint32_t dm_gb_complete_key(const dm_gb_lane *lane)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    return lane->kept_end == DM_GB_SCREEN_H ? dm_gb_picture_key(ppu->frames + 1u, ppu->front ^ 1u)
                                            : 0u;
}

/* Is that picture, whose key was kept, on the screen? */
DM_FN bool dm_gb_shows(const dm_gb_ppu *ppu, uint32_t key)
{
    return key != 0 && ppu->blank == 0 && key == dm_gb_picture_key(ppu->frames, ppu->front);
}

#else

/* The CPU draws a line when it ends. */

DM_FN bool dm_gb_draw_later(dm_gb_lane *lane)
{
    (void)lane;
    return false;
}

DM_FN bool dm_gb_can_draw_later(const dm_gb_lane *lane)
{
    (void)lane;
    return false;
}

DM_FN void dm_gb_draw_all_later(dm_gb_lane *lane, uint32_t end, uint32_t window)
{
    (void)lane;
    (void)end;
    (void)window;
}

DM_FN void dm_gb_draw_kept(dm_gb_lane *lane)
{
    (void)lane;
}

#endif
#endif
