/* SPDX-License-Identifier: MIT */
/* render.h - scanlines rendered when the picture is complete, many at a time; kernel text.
 *
 * Lanes of a warp come to the ends of their lines at different times, so drawing each line when it ends would occupy
 * one lane of the warp. Instead a finished line is logged with its registers (line_log.h). When the picture is
 * complete, which is usually with all 144 lines in the log, the warp renders it with all its lanes (simt.h).
 *
 * VRAM and OAM must not change while lines are in the log: code that is about to change them, or the state of the
 * picture, calls dm_gb_render_logged first, and so does the end of a run. While OAM DMA is active no line is logged.
 * The machine's own state is the same as if the line had been drawn; tests/gb/test_fast.c compares state and
 * pictures. */
#ifndef DM_SIMT_RENDER_H
#define DM_SIMT_RENDER_H

#include "gb/machine/ppu.h"
#include "gb/simt/line_log.h"

DM_FN uint64_t dm_gb_line_registers(const dm_gb_ppu *ppu)
{
    return (uint64_t)(ppu->lcdc & ~DM_GB_LINE_WINDOW) | (uint64_t)ppu->scy << 8 |
           (uint64_t)ppu->scx << 16 | (uint64_t)ppu->bgp << 24 | (uint64_t)ppu->obp0 << 32 |
           (uint64_t)ppu->obp1 << 40 | (uint64_t)ppu->wx << 48 |
           (uint64_t)ppu->window_line * DM_GB_LINE_NEXT;
}

/* The picture that is being drawn. */
DM_FN uint8_t *dm_gb_back_picture(const dm_gb_context *context)
{
    return context->frames + (dm_gb_m(context)->ppu.front ^ 1u) * (DM_GB_SCREEN_W * DM_GB_SCREEN_H);
}

/* Log the lines from the present one to the one before `end`, on which nothing changes; the window is on from line
 * `window` on. */
DM_FN_SLOW void dm_gb_log_present_lines(dm_gb_context *context, uint32_t end, uint32_t window)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    dm_gb_line_log *log = context->line_log;
    if (context->log_end == 0) {
        context->log_next = ppu->line;
        log->count = log->spilled = 0;
    }
    context->log_end = (uint8_t)end;
    dm_gb_log_lines(log, dm_gb_back_picture(context), dm_gb_line_registers(ppu), ppu->line, end,
                    window);
}

DM_FN void dm_gb_log_all_lines(dm_gb_context *context, uint32_t end, uint32_t window)
{
    dm_gb_log_present_lines(context, end, window);
}

/* Log the present line, whose mode 3 is over; the few lines that cannot be logged are made dot by dot. */
DM_FN bool dm_gb_draw_at_once(dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    /* The renderer searches all of OAM again: the line must show the sprites that such a search finds. */
    const bool sprites_known = (ppu->lcdc & 2u) == 0 || ppu->scanned == 0 ||
                               (ppu->scanned == DM_GB_SPRITES &&
                                context->scan_height == ((ppu->lcdc & 4u) != 0 ? 16u : 8u));
    if (!sprites_known || ppu->first_line || dm_gb_m(context)->dma.active ||
        dm_gb_only_by_dots(ppu))
        return false;
    dm_gb_log_present_lines(context, ppu->line + 1u,
                            ppu->line + (dm_gb_window_shown(ppu) ? 0u : 1u));
    return true;
}

DM_FN bool dm_gb_can_log_lines(const dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    return !dm_gb_m(context)->dma.active && !dm_gb_fifo_pixel_slips_in(ppu) &&
           ((ppu->lcdc & 0x20u) == 0 || ppu->wx != 0 || (ppu->scx & 7u) == 0);
}

/* Draw the logged lines of a pair, by one lane. */
DM_FN_SLOW void dm_gb_render_pair(const dm_gb_context *context, uint32_t pair)
{
    uint8_t *picture = dm_gb_back_picture(context), *at = picture + pair * DM_GB_PAIR_BYTES;
    dm_gb_walk walk = dm_gb_walk_begin(context->line_log);
    const dm_gb_both registers = dm_gb_walk_pair(&walk, picture, pair);
    const dm_gb_both sprites = dm_gb_sprites_on(context->ram, pair, registers);
    DM_NO_UNROLL
    for (uint32_t word = 0; word < DM_GB_LINE_WORDS; word++)
        dm_gb_store_logged(at + word * 32u, registers,
                           dm_gb_word_shades(context->ram, pair, word, registers, sprites));
}

/* Draw the logged lines by one lane. (The position is in the context, since registers are scarce in a service.) */
DM_FN_SLOW void dm_gb_render_lines(dm_gb_context *context)
{
    DM_NO_UNROLL
    for (; context->log_next < context->log_end;
         context->log_next = (uint8_t)((context->log_next | 1u) + 1u))
        dm_gb_render_pair(context, context->log_next / 2u);
    context->log_end = 0;
}

DM_FN void dm_gb_render_logged(dm_gb_context *context)
{
    if (context->log_end != 0)
        dm_gb_render_lines(context);
}

/* ---- The lanes of a warp share a picture ----
 * Five lanes draw a pair of lines, a word each, and a warp six pairs at a time; the other two lanes only help to find
 * sprites. All lanes of a warp call these functions together. A test that runs the lanes one after the other begins
 * with the last, since the first word of a line overwrites spilled registers. */

#define DM_GB_SHARED_PAIRS (32u / DM_GB_LINE_WORDS)
#define DM_GB_SHARED_LINES (2u * DM_GB_SHARED_PAIRS)
DM_STATIC_ASSERT(DM_GB_PAIRS % DM_GB_SHARED_PAIRS == 0, "lanes of a warp stay together");

typedef struct dm_gb_share {
    const uint8_t *ram;
    uint8_t *picture;
    uint32_t pair, word; /* the lane draws now; DM_GB_PAIRS or more: none */
    dm_gb_walk walk;
#if DM_LANES > 1
    /* Of sprites number `lane` and 32 + `lane`: how far the last line in hand lies below their
     * first; and which of those of all lanes touch the lane's word. */
    uint32_t below[2], touches[2];
#endif
} dm_gb_share;

/* Lane `number` of a warp begins. */
DM_FN dm_gb_share dm_gb_share_begin(const uint8_t *ram, uint8_t *picture, const dm_gb_line_log *log,
                                    uint32_t number)
{
    dm_gb_share share;
    share.ram = ram;
    share.pair = number / DM_GB_LINE_WORDS;
    share.word = number % DM_GB_LINE_WORDS;
    share.picture = picture;
    share.walk = dm_gb_walk_begin(log);
    if (share.pair >= DM_GB_SHARED_PAIRS)
        share.pair = DM_GB_PAIRS;
#if DM_LANES > 1
    const uint32_t *entries = (const uint32_t *)(const void *)(ram + DM_GB_OAM);
    const uint32_t entry[2] = {entries[number],
                               number < DM_GB_SPRITES - 32u ? entries[32u + number] : 0u};
    for (uint32_t i = 0; i < 2u; i++) {
        share.below[i] = DM_GB_SHARED_LINES - 1u + 16u - (entry[i] & 0xFFu);
        share.touches[i] = 0;
    }
    DM_NO_UNROLL
    for (uint32_t word = 0; word < DM_GB_LINE_WORDS; word++)
        for (uint32_t i = 0; i < 2u; i++) {
            const uint32_t touches = dm_ballot(dm_gb_entry_touches(entry[i], word));
            share.touches[i] = share.word == word ? touches : share.touches[i];
        }
#endif
    return share;
}

#if DM_LANES > 1
/* Of those in `near`, numbers of lanes, the ones on the lane's lines, which show `upper` and
 * `lower` rows of sprites. */
DM_FN void dm_gb_share_search(uint32_t near, uint32_t below, uint32_t upper, uint32_t lower,
                              uint32_t *on_upper, uint32_t *on_lower)
{
    /* Lines from the lane's upper one to the last in hand. */
    const uint32_t more = DM_GB_SHARED_LINES - 1u - dm_lane() / DM_GB_LINE_WORDS * 2u;
    *on_upper = *on_lower = 0;
    DM_NO_UNROLL
    for (; near != 0; near &= near - 1u) {
        const uint32_t bit = near & (0u - near);
        const uint32_t row = dm_from_lane(below, dm_ffs_u32(near) - 1u) - more;
        *on_upper |= row < upper ? bit : 0u;
        *on_lower |= row + 1u < lower ? bit : 0u;
    }
}
#endif

/* The sprites that touch the lane's word, as dm_gb_sprites_on. */
DM_FN dm_gb_both dm_gb_share_sprites(const dm_gb_share *share, dm_gb_both registers)
{
#if DM_LANES > 1
    /* Those that are on any line in hand: usually none or a few. */
    const bool tall = dm_any(dm_gb_either_has(registers, DM_GB_LINE_TALL));
    const uint32_t reach = DM_GB_SHARED_LINES - 1u + (tall ? 16u : 8u);
    const uint32_t first = dm_ballot(share->below[0] < reach);
    const uint32_t second = dm_ballot(share->below[1] < reach);
    dm_gb_both sprites = {0, 0};
    if ((first | second) == 0)
        return sprites;
    const uint32_t upper = dm_gb_logged_height(registers.upper),
                   lower = dm_gb_logged_height(registers.lower);
    uint32_t above[2], under[2];
    dm_gb_share_search(first, share->below[0], upper, lower, &above[0], &under[0]);
    dm_gb_share_search(second, share->below[1], upper, lower, &above[1], &under[1]);
    sprites.upper = above[0] | (uint64_t)above[1] << 32;
    sprites.lower = under[0] | (uint64_t)under[1] << 32;
    sprites = dm_gb_ten_each(sprites);
    const uint64_t touches = share->touches[0] | (uint64_t)share->touches[1] << 32;
    sprites.upper &= touches;
    sprites.lower &= touches;
    return sprites;
#else
    return dm_gb_sprites_on(share->ram, share->pair, registers);
#endif
}

/* The shades of the lane's word of the pair in hand, as far as its lines are logged, and the address where they are
 * stored; then the lane takes the next pair. `registers` are set to the pair's. */
DM_FN uint8_t *dm_gb_share_next(dm_gb_share *share, dm_gb_both *registers, dm_gb_two_planes *two)
{
    *registers = dm_gb_walk_pair(&share->walk, share->picture, share->pair);
    dm_warp_sync(); /* all have read the registers before they are overwritten */
    const dm_gb_both sprites = dm_gb_share_sprites(share, *registers);
    *two = dm_gb_word_shades(share->ram, share->pair, share->word, *registers, sprites);
    uint8_t *out = share->picture + share->pair * DM_GB_PAIR_BYTES + share->word * 32u;
    share->pair += DM_GB_SHARED_PAIRS;
#if DM_LANES > 1
    share->below[0] += DM_GB_SHARED_LINES;
    share->below[1] += DM_GB_SHARED_LINES;
#endif
    return out;
}

/* A number for picture `front` as it is on the screen after `frames` VBlanks, unlike that of any other picture of the
 * run. */
DM_FN uint32_t dm_gb_picture_key(uint32_t frames, uint32_t front)
{
    return (frames << 1 | front) + 1u;
}

/* The key of the logged picture if its last line is logged: then the picture will not change any more, and it will be
 * on the screen after the next VBlank, if that comes before the LCD is switched off; else 0. */
DM_FN uint32_t dm_gb_complete_key(const dm_gb_context *context, const dm_gb_ppu *ppu)
{
    return context->log_end == DM_GB_SCREEN_H ? dm_gb_picture_key(ppu->frames + 1u, ppu->front ^ 1u)
                                              : 0u;
}

/* Is the picture with that key on the screen? */
DM_FN bool dm_gb_shows(const dm_gb_ppu *ppu, uint32_t key)
{
    return key != 0 && ppu->blank == 0 && key == dm_gb_picture_key(ppu->frames, ppu->front);
}

/* When the last picture of the run that is about to begin will be complete, but not on the screen
 * yet; the end of the run where that is not known. */
DM_FN uint32_t dm_gb_last_picture(const dm_gb_context *context, const dm_gb_machine *m)
{
    const uint32_t end = context->run_end;
    const uint32_t complete = dm_gb_line_time(&m->ppu, DM_GB_VBLANK_LINE, 4, 3);
    if (!dm_gb_lcd_on(m) || dm_gb_before(end, complete))
        return end;
    return end - (end - complete) % DM_GB_FRAME_CYCLES;
}

#endif
