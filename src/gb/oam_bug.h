/* SPDX-License-Identifier: MIT */
/* oam_bug.h - how a DMG corrupts OAM; kernel text.
 *
 * While mode 2 looks for sprites it reads OAM row by row (8 bytes, one row per M-cycle). A 16-bit
 * register between FE00 and FEFF on the CPU's address bus in that time disturbs the row being read
 * (Pan Docs, "OAM Corruption Bug"; blargg's oam_bug). */
#ifndef DM_GB_OAM_BUG_H
#define DM_GB_OAM_BUG_H

#include "gb/ppu.h"

enum dm_gb_oam_bug_kind { DM_GB_OAM_BUG_WRITE, DM_GB_OAM_BUG_READ };

/* The row (byte offset) that mode 2 is reading at an access at `now`; 0 when there is none to
 * disturb. */
DM_FN uint32_t dm_gb_oam_row(const dm_gb_machine *m, uint32_t now)
{
    if (!dm_gb_in_picture(m) || m->ppu.first_line)
        return 0;
    uint32_t dot = dm_gb_ppu_dot(m, now);
    if (dot <= 4u || dot > 84u)
        return 0;
    return ((dot - 5u) >> 2) * 8u;
}

DM_FN uint32_t dm_gb_oam_word(const dm_gb_lane *lane, uint32_t offset)
{
    return dm_gb_ram_load(lane, DM_GB_OAM + offset) |
           ((uint32_t)dm_gb_ram_load(lane, DM_GB_OAM + offset + 1u) << 8);
}

DM_FN void dm_gb_oam_bug(dm_gb_lane *lane, uint32_t now, enum dm_gb_oam_bug_kind kind)
{
    uint32_t row = dm_gb_oam_row(lane->m, now);
    if (row == 0 || row > 0x98u)
        return;
    uint32_t a = dm_gb_oam_word(lane, row);
    uint32_t b = dm_gb_oam_word(lane, row - 8u);
    uint32_t c = dm_gb_oam_word(lane, row - 4u);
    uint32_t word = kind == DM_GB_OAM_BUG_WRITE ? ((a ^ c) & (b ^ c)) ^ c : b | (a & c);
    dm_gb_ram_store(lane, DM_GB_OAM + row, word);
    dm_gb_ram_store(lane, DM_GB_OAM + row + 1u, word >> 8);
    for (uint32_t i = 2; i < 8; i++)
        dm_gb_ram_store(lane, DM_GB_OAM + row + i, dm_gb_ram_load(lane, DM_GB_OAM + row - 8u + i));
}

/* A 16-bit register passed through the incrementer. */
DM_FN_SLOW void dm_gb_oam_bug_now(dm_gb_lane *lane, uint32_t now)
{
    dm_gb_ppu_sync(lane, now);
    dm_gb_oam_bug(lane, now, DM_GB_OAM_BUG_WRITE);
}

#endif
