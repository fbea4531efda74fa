/* SPDX-License-Identifier: MIT */
/* page_table.h - plain memory as the short road (fast.h) sees it; kernel text.
 *
 * A map of slots says where each region of addresses lies, or that it is not plain; turns make it
 * anew where it may have changed. Instructions come through it too. */
#ifndef DM_SIMT_PAGE_TABLE_H
#define DM_SIMT_PAGE_TABLE_H

#include "gb/simt/write_queue.h"
#include "gb/simt/smem.h"
#include "gb/simt/predecode.h"

#if DM_GB_GPU_FORM

/* A transfer to OAM begins, but waits (write_queue.h): only HRAM is plain memory from now on. */
DM_FN void dm_gb_quick_unmap(const dm_gb_quick_place *place)
{
    const uint8_t *spare = dm_gb_quick_slot(place, DM_GB_QUICK_NO_CODE) + 0x20000;
    DM_NO_UNROLL
    for (uint32_t slot = 0; slot < DM_GB_QUICK_HRAM; slot++)
        dm_gb_quick_set_slot(place, slot, 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE, spare);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE + 1u, spare - 0x10000);
}

/* After something may have changed the memory map of the lane's machine, `m` or what that is a copy
 * of. */
DM_FN void dm_gb_quick_map(const dm_gb_lane *lane, const dm_gb_machine *m,
                           const dm_gb_quick_place *place)
{
    const dm_gb_cart *cart = dm_gb_cart_of(lane);
    const bool plain = !m->dma.active && !m->boot_mapped && !dm_gb_later_dma(lane->slate);
    const uint8_t *low = plain ? lane->rom + cart->rom_low : 0;
    const uint8_t *high = plain ? lane->rom + cart->rom_high - 0x4000 : 0;
    const bool ram = plain && cart->ram_window != DM_GB_NO_RAM;
    const uint32_t *spare = lane->rom_words + cart->rom_mask + 1u;
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ROM, low);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ROM + 1u, high);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_VRAM, plain ? lane->ram + DM_GB_VRAM - 0x8000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CART,
                         ram ? lane->ram + DM_GB_CART_RAM + cart->ram_window - 0xA000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_WRAM, plain ? lane->ram + DM_GB_WRAM - 0xC000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ECHO, plain ? lane->ram + DM_GB_WRAM - 0xE000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_HRAM, lane->ram + DM_GB_HRAM - 0xFF80);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE, plain ? lane->rom_words + cart->rom_low : spare);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE + 1u,
                         (plain ? lane->rom_words + cart->rom_high : spare) - 0x4000);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_NO_CODE, spare - 0x8000);
    dm_gb_quick_set_slate(place, lane->slate);
}

/* The machine's memory. */
DM_FN const uint8_t *dm_gb_quick_ram(const dm_gb_quick_place *place)
{
    return dm_gb_quick_slot(place, DM_GB_QUICK_HRAM) + (0xFF80 - DM_GB_HRAM);
}

/* The instruction at `pc` ahead of time, so that the next round need not wait for it; only from
 * ROM, which nothing changes but a turn; DM_GB_NO_WORD: not. */
DM_FN uint32_t dm_gb_quick_ahead(const dm_gb_quick_place *place, uint32_t pc)
{
    const uint32_t at = pc < 0x8000u ? pc : 0x8000u;
    const dm_gb_quick_unit unit = dm_gb_quick_unit_in(place, DM_GB_QUICK_CODE + (at >> 14));
    return dm_gb_quick_code(dm_gb_quick_at(place, unit, 4u * at));
}

/* The instruction at `pc`; DM_GB_NO_WORD: not from plain memory. */
DM_FN_SLOW uint32_t dm_gb_quick_fetch(dm_gb_quick_place where, uint32_t pc)
{
    const dm_gb_quick_place *place = &where;
    const uint32_t word = dm_gb_quick_ahead(place, pc), kind = dm_gb_quick_kind(place, pc);
    if (word != DM_GB_NO_WORD)
        return word;
    const dm_gb_quick_unit unit = dm_gb_quick_unit_of(place, kind);
    if (unit == 0 || (kind & (DM_GB_KIND_VRAM | DM_GB_KIND_ALL)) != 0 || (pc & 0x1FFFu) >= 0x1FFEu)
        return DM_GB_NO_WORD;
    const uint8_t *at = dm_gb_quick_at(place, unit, pc);
    return dm_gb_word(dm_gb_quick_load(at), dm_gb_quick_load(at + 1), dm_gb_quick_load(at + 2));
}

#endif
#endif
