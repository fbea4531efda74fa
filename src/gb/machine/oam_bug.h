/* SPDX-License-Identifier: MIT */
/* oam_bug.h - how a DMG corrupts OAM; kernel text.
 *
 * While mode 2 looks for sprites it reads OAM row by row: 20 rows of four words, one per M-cycle. A
 * 16-bit register between FE00 and FEFF on the CPU's address bus in that time disturbs the row
 * being read: its first word becomes a mix of words of this row and of earlier ones, the rest is
 * copied from the row before (Pan Docs, "OAM Corruption Bug"; blargg's oam_bug). Reads reach
 * further back on some rows, as SameBoy's author measured; where units differ, this is a common
 * DMG.
 *
 * In the M-cycle before the first row and in the one after the last, OAM still listens to the CPU's
 * address: the row at that address is open together with row 0 or with the last one. Writes get
 * through then, reads do not; both mix the two rows. */
#ifndef DM_GB_OAM_BUG_H
#define DM_GB_OAM_BUG_H

#include "gb/machine/ppu.h"

#define DM_GB_OAM_ROW 8u /* bytes */
#define DM_GB_OAM_LAST_ROW 0x98u

/* The row, as a byte offset, that an access at `now` disturbs; 0 when there is none (row 0 has none
 * before it). */
DM_FN uint32_t dm_gb_oam_row(const dm_gb_machine *m, uint32_t now)
{
    if (!dm_gb_in_picture(m) || m->ppu.first_line)
        return 0;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (dot < 8u || dot > 80u)
        return 0;
    return ((dot >> 2) - 1u) * DM_GB_OAM_ROW;
}

DM_FN uint32_t dm_gb_oam_word(const dm_gb_context *context, uint32_t offset)
{
    return dm_gb_ram_load(context, DM_GB_OAM + offset) |
           ((uint32_t)dm_gb_ram_load(context, DM_GB_OAM + offset + 1u) << 8);
}

DM_FN void dm_gb_oam_set_word(dm_gb_context *context, uint32_t offset, uint32_t word)
{
    dm_gb_ram_store(context, DM_GB_OAM + offset, word);
    dm_gb_ram_store(context, DM_GB_OAM + offset + 1u, word >> 8);
}

DM_FN void dm_gb_oam_copy_row(dm_gb_context *context, uint32_t to, uint32_t from,
                              uint32_t first_byte)
{
    for (uint32_t i = first_byte; i < DM_GB_OAM_ROW; i++)
        dm_gb_ram_store(context, DM_GB_OAM + to + i, dm_gb_ram_load(context, DM_GB_OAM + from + i));
}

/* A write, or a 16-bit register going through the incrementer. */
DM_FN_SLOW void dm_gb_oam_bug_write(dm_gb_context *context, uint32_t now)
{
    dm_gb_idle_break(context);
    dm_gb_ppu_sync(context, now);
    uint32_t row = dm_gb_oam_row(dm_gb_m(context), now);
    if (row == 0)
        return;
    dm_gb_scan_until(context, now);
    dm_gb_render_logged(context);
    uint32_t here = dm_gb_oam_word(context, row);
    uint32_t above = dm_gb_oam_word(context, row - 8u);
    uint32_t third = dm_gb_oam_word(context, row - 4u);
    dm_gb_oam_set_word(context, row, ((here ^ third) & (above ^ third)) ^ third);
    dm_gb_oam_copy_row(context, row, row - 8u, 2);
}

/* Every fourth row a read mixes four rows back; two rows further on, two rows back. */
DM_FN void dm_gb_oam_mix_back(dm_gb_context *context, uint32_t row)
{
    uint32_t a = dm_gb_oam_word(context, row);
    uint32_t b = dm_gb_oam_word(context, row - 4u);
    uint32_t c = dm_gb_oam_word(context, row - 8u);
    uint32_t d = dm_gb_oam_word(context, row - 16u);
    if ((row & 0x18u) == 0x10u) {
        dm_gb_oam_set_word(context, row - 8u, (c & (d | a | b)) | (d & a & b));
        dm_gb_oam_copy_row(context, row - 16u, row - 8u, 0);
        return;
    }
    uint32_t e = dm_gb_oam_word(context, row - 32u);
    uint32_t mixed;
    if (row == 0x40u) {
        uint32_t f = dm_gb_oam_word(context, row - 6u);
        uint32_t g = dm_gb_oam_word(context, row - 14u);
        mixed = (c & (e | d | (~f & g) | b | a)) | (b & d & e);
    } else if (row == 0x20u) {
        mixed = (c & (a | b | d | e)) | (a & b & d & e);
    } else if (row == 0x60u) {
        mixed = (c & (a | b | d | e)) | (b & d & e);
    } else {
        mixed = c | (a & b & d & e);
    }
    dm_gb_oam_set_word(context, row - 8u, mixed);
    dm_gb_oam_copy_row(context, row - 16u, row - 8u, 0);
    dm_gb_oam_copy_row(context, row - 32u, row - 8u, 0);
}

DM_FN_SLOW void dm_gb_oam_bug_read(dm_gb_context *context, uint32_t now)
{
    uint32_t row = dm_gb_oam_row(dm_gb_m(context), now);
    if (row == 0)
        return;
    dm_gb_scan_until(context, now);
    dm_gb_render_logged(context);
    if ((row & 8u) == 0) {
        if (row < DM_GB_OAM_LAST_ROW)
            dm_gb_oam_mix_back(context, row);
    } else {
        uint32_t above = dm_gb_oam_word(context, row - 8u);
        uint32_t mixed = above | (dm_gb_oam_word(context, row) & dm_gb_oam_word(context, row - 4u));
        dm_gb_oam_set_word(context, row, mixed);
        dm_gb_oam_set_word(context, row - 8u, mixed);
    }
    dm_gb_oam_copy_row(context, row, row - 8u, 0);
    if (row == 0x80u)
        dm_gb_oam_copy_row(context, 0, row, 0);
}

/* ---- The M-cycles before and after the rows ---- */

DM_FN bool dm_gb_oam_before_rows(const dm_gb_machine *m, uint32_t now)
{
    uint32_t dot = dm_gb_ppu_dot(m, now);
    return dm_gb_in_picture(m) && !m->ppu.first_line && dot > 0 && dot <= 4u;
}

DM_FN bool dm_gb_oam_after_rows(const dm_gb_machine *m, uint32_t now)
{
    uint32_t dot = dm_gb_ppu_dot(m, now);
    return dm_gb_in_picture(m) && !m->ppu.first_line && dot > 80u && dot <= 84u;
}

/* Each bit has the value that at least two of the three have. */
DM_FN uint32_t dm_gb_oam_most(uint32_t a, uint32_t b, uint32_t c)
{
    return (a & b) | (a & c) | (b & c);
}

/* A write that is let through at `now`; `offset` is the address's low byte. */
DM_FN_SLOW void dm_gb_oam_store(dm_gb_context *context, uint32_t now, uint32_t offset,
                                uint32_t value)
{
    const dm_gb_machine *m = dm_gb_m(context);
    uint32_t row = offset & 0xF8u;
    bool before = dm_gb_oam_before_rows(m, now);
    if (offset >= DM_GB_SPRITES * 4u) {
        if (before) /* only row 0 is there to take it */
            dm_gb_ram_store(context, DM_GB_OAM + (offset & 7u), value);
        return;
    }
    if (dm_gb_oam_after_rows(m, now)) {
        uint32_t third = dm_gb_ram_load(context, DM_GB_OAM + DM_GB_OAM_LAST_ROW + 4u);
        for (uint32_t i = 0; i < DM_GB_OAM_ROW; i++) {
            uint32_t last = dm_gb_ram_load(context, DM_GB_OAM + DM_GB_OAM_LAST_ROW + i);
            uint32_t here = dm_gb_ram_load(context, DM_GB_OAM + row + i);
            dm_gb_ram_store(context, DM_GB_OAM + row + i,
                            (i & 6u) == (offset & 6u) ? dm_gb_oam_most(here, third, last) : last);
        }
    }
    dm_gb_ram_store(context, DM_GB_OAM + offset, value);
    if (before) {
        dm_gb_oam_set_word(context, 0,
                           dm_gb_oam_most(dm_gb_oam_word(context, 0), dm_gb_oam_word(context, row),
                                          dm_gb_oam_word(context, offset & 0xFEu)));
        dm_gb_oam_copy_row(context, 0, row, 2);
    }
}

/* A read of `offset` at `now`, which is shut out. */
DM_FN_SLOW void dm_gb_oam_touch(dm_gb_context *context, uint32_t now, uint32_t offset)
{
    const dm_gb_machine *m = dm_gb_m(context);
    uint32_t row = offset & 0xF8u;
    bool before = dm_gb_oam_before_rows(m, now);
    if (offset >= DM_GB_SPRITES * 4u || (!before && !dm_gb_oam_after_rows(m, now)))
        return;
    dm_gb_scan_until(context, now);
    dm_gb_render_logged(context);
    if (before) {
        uint32_t mixed = dm_gb_oam_word(context, row) |
                         (dm_gb_oam_word(context, 0) & dm_gb_oam_word(context, offset & 0xFEu));
        dm_gb_oam_set_word(context, row, mixed);
        dm_gb_oam_set_word(context, 0, mixed);
        dm_gb_oam_copy_row(context, 0, row, 2);
        return;
    }
    uint32_t word = offset & 6u;
    uint32_t target = DM_GB_OAM_LAST_ROW + word;
    uint32_t a = dm_gb_oam_word(context, DM_GB_OAM_LAST_ROW + 4u);
    uint32_t b = dm_gb_oam_word(context, target);
    if (word < 4u)
        dm_gb_oam_set_word(context, target,
                           dm_gb_oam_most(a, b, dm_gb_oam_word(context, offset & 0xFEu)));
    else if (word == 6u)
        dm_gb_oam_set_word(context, target, b | (a & dm_gb_oam_word(context, row)));
    dm_gb_oam_copy_row(context, row, DM_GB_OAM_LAST_ROW, 0);
}

#endif
