/* SPDX-License-Identifier: MIT */
/* dma.h - OAM DMA: what is copied when; kernel text.
 *
 * A write to FF46 at access time t: OAM stays open for one M-cycle, then byte i is copied by the
 * access at t + 8 + 4 i, and OAM is closed from t + 8 to t + 644. Source addresses from E000 up
 * read WRAM. A transfer that is asked for during another changes the source at once, so the one
 * byte that the old transfer still copies comes from the new page. While the CPU is halted the
 * transfer stands still (gambatte's oamdma tests). */
#ifndef DM_GB_DMA_H
#define DM_GB_DMA_H

#include "gb/machine/executor.h"

#define DM_GB_DMA_CYCLES 648u

/* T-cycles that the present OAM DMA has run by `now`; it stands still from the second M-cycle of a
 * HALT on. */
DM_FN uint32_t dm_gb_dma_elapsed(const dm_gb_machine *m, uint32_t now)
{
    uint32_t still = m->cpu.halted_at + 4u;
    if (m->cpu.mode == DM_GB_HALTED && dm_gb_before(still, now))
        now = still;
    return now - m->dma.start;
}

/* For how long it is remembered when a HALT began; after that nothing depends on it. */
#define DM_GB_HALT_KNOWN 16u

/* A HALT may last longer than the clock counts: keep its beginning near. The transfer that stands
 * still meanwhile goes along. */
DM_FN void dm_gb_halt_forget(dm_gb_machine *m)
{
    uint32_t ago = m->clock - m->cpu.halted_at;
    if (m->cpu.mode != DM_GB_HALTED || ago <= DM_GB_HALT_KNOWN)
        return;
    m->cpu.halted_at += ago - DM_GB_HALT_KNOWN;
    if (m->dma.active)
        m->dma.start += ago - DM_GB_HALT_KNOWN;
}

/* Bytes copied before an access at `now`. */
DM_FN uint32_t dm_gb_dma_done(const dm_gb_machine *m, uint32_t now)
{
    uint32_t elapsed = dm_gb_dma_elapsed(m, now);
    uint32_t done = elapsed < 8u ? 0u : (elapsed - 4u) >> 2;
    return done < 160u ? done : 160u;
}

/* 1 + the byte of OAM that the transfer is busy with at an access; 0: none. */
DM_FN uint32_t dm_gb_dma_busy(const dm_gb_machine *m, uint32_t now)
{
    uint32_t done = dm_gb_dma_done(m, now);
    return done != 0 ? done : m->dma.restarted;
}

/* Where the DMA unit reads: memory as it is, without side effects. */
DM_FN uint8_t dm_gb_dma_source(dm_gb_context *context, uint32_t address)
{
    const dm_gb_cart *cart = dm_gb_cart_of(context);
    if (address >= 0xE000u)
        address -= 0x2000u;
    if (address >= 0xC000u)
        return dm_gb_ram_load(context, DM_GB_WRAM + (address & 0x1FFFu));
    if (address >= 0xA000u)
        return dm_gb_cart_ram_read(context, address);
    if (address >= 0x8000u)
        return dm_gb_ram_load(context, DM_GB_VRAM + (address & 0x1FFFu));
    if (address >= 0x4000u)
        return context->rom[cart->rom_high + (address & 0x3FFFu)];
    return context->rom[cart->rom_low + address];
}

/* Copy the bytes that are due before an access at `now`. */
DM_FN void dm_gb_dma_copy(dm_gb_context *context, uint32_t now)
{
    dm_gb_dma *dma = &dm_gb_m(context)->dma;
    uint32_t done = dm_gb_dma_done(dm_gb_m(context), now);
    const bool from_wram = (dma->source & 0xE000u) == 0xC000u; /* nearly always */
    if (from_wram && dma->next == 0 && done == 160u) {
        dm_gb_ram_copy160(context, DM_GB_OAM, DM_GB_WRAM + (dma->source & 0x1FFFu));
    } else if (from_wram) {
        uint32_t from = DM_GB_WRAM + (dma->source & 0x1FFFu);
        for (uint32_t i = dma->next; i < done; i++)
            dm_gb_ram_store(context, DM_GB_OAM + i, dm_gb_ram_load(context, from + i));
    } else {
        for (uint32_t i = dma->next; i < done; i++)
            dm_gb_ram_store(context, DM_GB_OAM + i, dm_gb_dma_source(context, dma->source + i));
    }
    if (done > dma->next)
        dma->next = (uint8_t)done;
}

#endif
