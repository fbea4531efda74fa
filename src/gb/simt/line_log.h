/* SPDX-License-Identifier: MIT */
/* line_log.h - the finished scanlines of a picture, run-length coded; kernel text.
 *
 * A line that is rendered later (render.h) is logged with the registers that draw it (render_words.h). Consecutive
 * lines usually differ only in the window line, so they are run-length coded as ranges. Where a picture needs more
 * than DM_GB_RANGES of them, the other lines spill: the registers of each are stored in place of its first eight
 * pixels, and rendering loads them from there. */
#ifndef DM_SIMT_LINE_LOG_H
#define DM_SIMT_LINE_LOG_H

#include "gb/simt/render_words.h"

#define DM_GB_RANGES 7u

/* A range: registers_low and registers_high of its first line, and in `lines` that line, in the next byte the
 * line after its last, and above that the first with the window (after its last: none has). */
struct dm_gb_line_log {
    uint32_t count;
    uint32_t spilled; /* there are lines with registers of their own */
    uint32_t lines[DM_GB_RANGES], registers_low[DM_GB_RANGES], registers_high[DM_GB_RANGES];
};

#define DM_GB_LINE_HIGH_NEXT (uint32_t)(DM_GB_LINE_NEXT >> 32)

DM_FN uint32_t dm_gb_range_first(uint32_t lines)
{
    return lines & 0xFFu;
}

DM_FN uint32_t dm_gb_range_end(uint32_t lines)
{
    return lines >> 8 & 0xFFu;
}

DM_FN uint32_t dm_gb_range_window(uint32_t lines)
{
    return lines >> 16;
}

/* Lines with the window before `line`. */
DM_FN uint32_t dm_gb_range_shown(uint32_t lines, uint32_t line)
{
    const uint32_t window = dm_gb_range_window(lines);
    return line > window ? line - window : 0u;
}

/* Do lines first..end - 1 continue the last range? */
DM_FN bool dm_gb_range_goes_on(const dm_gb_line_log *log, uint64_t registers, uint32_t first,
                               uint32_t window)
{
    const uint32_t last = log->count - 1u, lines = log->lines[last];
    const uint32_t shown = dm_gb_range_shown(lines, first);
    return dm_gb_range_end(lines) == first && log->registers_low[last] == (uint32_t)registers &&
           log->registers_high[last] + shown * DM_GB_LINE_HIGH_NEXT ==
               (uint32_t)(registers >> 32) &&
           (shown == 0 || window == first);
}

/* Log lines first..end - 1 of `picture`, of which those from `window` on show the window. `registers` are those of
 * the first, as if without the window. */
DM_FN void dm_gb_log_lines(dm_gb_line_log *log, uint8_t *picture, uint64_t registers,
                           uint32_t first, uint32_t end, uint32_t window)
{
    uint32_t range = log->count;
    if (range != 0 && dm_gb_range_goes_on(log, registers, first, window)) {
        const uint32_t before = log->lines[--range];
        if (dm_gb_range_shown(before, first) != 0)
            window = dm_gb_range_window(before);
        first = dm_gb_range_first(before);
    } else if (range < DM_GB_RANGES) {
        log->count = range + 1u;
        log->registers_low[range] = (uint32_t)registers;
        log->registers_high[range] = (uint32_t)(registers >> 32);
    }
    if (range < DM_GB_RANGES) {
        log->lines[range] = first | end << 8 | window << 16;
        return;
    }
    log->spilled = 1;
    DM_NO_UNROLL
    for (uint32_t line = first; line < end; line++) {
        *(uint64_t *)(void *)(picture + line * DM_GB_SCREEN_W) =
            registers | (line >= window ? DM_GB_LINE_WINDOW : 0u);
        registers += line >= window ? DM_GB_LINE_NEXT : 0u;
    }
}

/* ---- Reading the log, line by line ---- */

/* A position in the log, which only moves down the picture. */
typedef struct dm_gb_walk {
    const dm_gb_line_log *log;
    uint32_t next, count;                          /* ranges */
    uint32_t lines, registers_low, registers_high; /* of the current range */
    bool spilled;
} dm_gb_walk;

DM_FN dm_gb_walk dm_gb_walk_begin(const dm_gb_line_log *log)
{
    dm_gb_walk walk = {log, 0, log->count, 0, 0, 0, log->spilled != 0};
    return walk;
}

/* The line registers of `line`, which is not above the last one asked for; for a line that is not logged its first
 * pixels, or 0. */
DM_FN uint64_t dm_gb_walk_to(dm_gb_walk *walk, const uint8_t *picture, uint32_t line)
{
    DM_NO_UNROLL
    while (line >= dm_gb_range_end(walk->lines) && walk->next < walk->count) {
        walk->lines = walk->log->lines[walk->next];
        walk->registers_low = walk->log->registers_low[walk->next];
        walk->registers_high = walk->log->registers_high[walk->next++];
    }
    const uint32_t lines = walk->lines;
    if (line >= dm_gb_range_first(lines) && line < dm_gb_range_end(lines)) {
        const uint32_t window = line >= dm_gb_range_window(lines) ? DM_GB_LINE_WINDOW : 0u;
        const uint32_t high =
            walk->registers_high + dm_gb_range_shown(lines, line) * DM_GB_LINE_HIGH_NEXT;
        return (walk->registers_low | window) | (uint64_t)high << 32;
    }
    return walk->spilled ? *(const uint64_t *)(const void *)(picture + line * DM_GB_SCREEN_W) : 0u;
}

DM_FN dm_gb_both dm_gb_walk_pair(dm_gb_walk *walk, const uint8_t *picture, uint32_t pair)
{
    dm_gb_both registers = {0, 0};
    if (pair < DM_GB_PAIRS) {
        registers.upper = dm_gb_walk_to(walk, picture, 2u * pair);
        registers.lower = dm_gb_walk_to(walk, picture, 2u * pair + 1u);
    }
    return registers;
}

#endif
