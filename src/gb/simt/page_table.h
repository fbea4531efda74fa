/* SPDX-License-Identifier: MIT */
/* page_table.h - where each page of the address space lies, for the fast path (fast.h); kernel text.
 *
 * An entry is the address of a page, or says that the page is not plain memory. A service that may have changed the
 * memory map fills the table anew. On the fast path a ROM bank (dm_gb_fast_bank) and a queued OAM DMA
 * (dm_gb_page_table_unmap) change entries. Instructions are fetched through it too. */
#ifndef DM_SIMT_PAGE_TABLE_H
#define DM_SIMT_PAGE_TABLE_H

#include "gb/simt/predecode.h"
#include "gb/simt/smem.h"
#include "gb/simt/write_queue.h"

/* A transfer to OAM has been queued (write_queue.h): only HRAM is plain memory from now on. */
DM_FN void dm_gb_page_table_unmap(const dm_gb_smem *smem)
{
    const uint8_t *spare = dm_gb_page_address(smem, DM_GB_PAGE_NO_CODE) + 0x20000;
    DM_NO_UNROLL
    for (uint32_t entry = 0; entry < DM_GB_PAGE_HRAM; entry++)
        dm_gb_page_set(smem, entry, 0);
    dm_gb_page_set(smem, DM_GB_PAGE_CODE, spare);
    dm_gb_page_set(smem, DM_GB_PAGE_CODE + 1u, spare - 0x10000);
}

/* After something may have changed the memory map of the machine; `m` may be a staged copy. */
DM_FN void dm_gb_page_table_fill(const dm_gb_context *context, const dm_gb_machine *m,
                                 const dm_gb_smem *smem)
{
    const dm_gb_cart *cart = dm_gb_cart_of(context);
    const bool plain = !m->dma.active && !m->boot_mapped && !dm_gb_queue_has_dma(context->cold);
    const uint8_t *low = plain ? context->rom + cart->rom_low : 0;
    const uint8_t *high = plain ? context->rom + cart->rom_high - 0x4000 : 0;
    const bool ram = plain && cart->ram_window != DM_GB_NO_RAM;
    const uint32_t *spare = context->predecoded + cart->rom_mask + 1u;
    dm_gb_page_set(smem, DM_GB_PAGE_ROM, low);
    dm_gb_page_set(smem, DM_GB_PAGE_ROM + 1u, high);
    dm_gb_page_set(smem, DM_GB_PAGE_VRAM, plain ? context->ram + DM_GB_VRAM - 0x8000 : 0);
    dm_gb_page_set(smem, DM_GB_PAGE_CART,
                   ram ? context->ram + DM_GB_CART_RAM + cart->ram_window - 0xA000 : 0);
    dm_gb_page_set(smem, DM_GB_PAGE_WRAM, plain ? context->ram + DM_GB_WRAM - 0xC000 : 0);
    dm_gb_page_set(smem, DM_GB_PAGE_ECHO, plain ? context->ram + DM_GB_WRAM - 0xE000 : 0);
    dm_gb_page_set(smem, DM_GB_PAGE_HRAM, context->ram + DM_GB_HRAM - 0xFF80);
    dm_gb_page_set(smem, DM_GB_PAGE_CODE, plain ? context->predecoded + cart->rom_low : spare);
    dm_gb_page_set(smem, DM_GB_PAGE_CODE + 1u,
                   (plain ? context->predecoded + cart->rom_high : spare) - 0x4000);
    dm_gb_page_set(smem, DM_GB_PAGE_NO_CODE, spare - 0x8000);
    dm_gb_smem_set_cold(smem, context->cold);
}

/* Machine memory, from the entry of HRAM, which is always plain. */
DM_FN const uint8_t *dm_gb_page_table_ram(const dm_gb_smem *smem)
{
    return dm_gb_page_address(smem, DM_GB_PAGE_HRAM) + (0xFF80 - DM_GB_HRAM);
}

/* The instruction at `pc` ahead of time, so that the next round need not wait for it; only from ROM. What is mapped
 * there changes in a service or by dm_gb_fast_bank, which both come before this fetch. DM_GB_NO_WORD: not. */
DM_FN uint32_t dm_gb_fetch_ahead(const dm_gb_smem *smem, uint32_t pc)
{
    const uint32_t at = pc < 0x8000u ? pc : 0x8000u;
    const dm_gb_page_entry entry = dm_gb_page_entry_in(smem, DM_GB_PAGE_CODE + (at >> 14));
    return dm_global_constant_u32(dm_gb_page_byte(smem, entry, 4u * at));
}

/* The instruction at `pc`; DM_GB_NO_WORD: not from plain memory. */
DM_FN_SLOW uint32_t dm_gb_fetch_word(dm_gb_smem where, uint32_t pc)
{
    const dm_gb_smem *smem = &where;
    const uint32_t word = dm_gb_fetch_ahead(smem, pc), attributes = dm_gb_page_attributes(smem, pc);
    if (!DM_GB_IS_NO_WORD(word))
        return word;
    const dm_gb_page_entry entry = dm_gb_page_entry_of(smem, attributes);
    if (entry == 0 || (attributes & (DM_GB_PAGE_IS_VRAM | DM_GB_PAGE_NO_ACCESS)) != 0 ||
        (pc & 0x1FFFu) >= 0x1FFEu)
        return DM_GB_NO_WORD;
    const uint8_t *at = dm_gb_page_byte(smem, entry, pc);
    return dm_gb_predecode(dm_global_load_u8(at), dm_global_load_u8(at + 1),
                           dm_global_load_u8(at + 2));
}

#if DM_GB_HOOKS

/* The same for an instruction that is about to be executed and may have a hook. Outside of plain memory
 * dm_gb_service_slow looks for hooks. `ahead`: the word that was fetched ahead. */
DM_FN_SLOW uint32_t dm_gb_fetch_hooked(dm_gb_smem where, uint32_t pc, uint32_t ahead)
{
    const dm_gb_smem *smem = &where;
    const dm_gb_cold *cold = dm_gb_smem_cold(smem);
    const dm_gb_hook_table *hooks = cold->hooks;
    /* After a service nothing was fetched ahead. */
    const uint32_t there = ahead == DM_GB_NO_WORD ? dm_gb_fetch_ahead(smem, pc) : ahead;
    if (!DM_GB_IS_NO_WORD(there))
        return there;
    const uint32_t word = dm_gb_fetch_word(where, pc), number = DM_GB_HOOK_OF(there);
    const bool in_rom = pc < 0x8000u;
    if (word == DM_GB_NO_WORD || hooks == 0 ||
        (in_rom ? number == 0 : (hooks->ram_pages >> (pc >> 12) & 1u) == 0))
        return word;
    if (in_rom && number != DM_GB_HOOKS_MANY) {
        if (hooks->places[number - 1u].address == pc)
            *cold->hook_bits |= hooks->together[number - 1u];
        return word;
    }
    uint32_t bank = 0;
    if (in_rom) {
        const uint8_t *at = dm_gb_page_address(smem, DM_GB_PAGE_CODE + (pc >> 14)) + 4u * pc;
        bank = (uint32_t)((const uint32_t *)(const void *)at - hooks->predecoded) >> 14;
    } else if (pc >> 13 == 5u) {
        const uint8_t *at = dm_gb_page_address(smem, DM_GB_PAGE_CART) + 0xA000u;
        bank = (uint32_t)(at - (dm_gb_page_table_ram(smem) + DM_GB_CART_RAM)) >> 13;
    }
    dm_gb_hooks_meet(hooks, cold->hook_bits, pc, bank);
    return word;
}

#endif

#endif
