/* SPDX-License-Identifier: MIT */
/* write_queue.h - writes to devices that can be made later; kernel text of the GPU's form.
 *
 * Nobody hears the sound, and nobody looks at a picture before it is complete: a register of either
 * that is written matters when a device is asked next, which is in a turn. So the short road
 * (fast.h) only notes what is written and when (the lane's slate), and the next turn makes those
 * writes, in order and each at its own time, before it does anything else. Who writes seven
 * registers in a handler takes one turn for them, mostly one that comes anyway.
 *
 * That is the same as long as nothing happens in between that would have been different:
 *
 *   reading a device          takes a turn, but for a register of the picture unit that reads as it
 *                             was written; what else predict.h knows of that unit is not asked
 *                             where it depends on a register that waits here
 *   VRAM as plain memory      likewise
 *   the next event            may be an interrupt that such a write brings nearer. So IF, LYC, and
 *                             with an interrupt at mode 0 everything that mode 3's length depends
 *                             on, wait only while interrupts are off. EI and RETI take a turn then,
 *                             or bring the next event forward (dm_gb_look_urgent)
 *   memory's map              LCDC's top bit, which changes it, is not for later. A transfer to OAM
 *                             takes the map away at once: then only HRAM, P1 and LY are known
 *                             without a turn, and nothing that it copies from can change. The next
 *                             event is where it ends at the latest, so it takes one turn, not two
 */
#ifndef DM_SIMT_WRITE_QUEUE_H
#define DM_SIMT_WRITE_QUEUE_H

#include "gb/machine/bus.h"

#if DM_GB_GPU_FORM

#define DM_GB_LATER_PICTURE 1u /* some are to the picture unit, */
#define DM_GB_LATER_URGENT 2u  /* and the next interrupt may depend on one of them; */
#define DM_GB_LATER_DMA 4u     /* one begins a transfer to OAM */
#define DM_GB_LATER_IF 8u      /* or is to IF */
#define DM_GB_LATER_DMA_ADDRESS 0xFF46u

/* Registers of the picture unit that read as they were written: all but STAT, LY and DMA. */
DM_FN bool dm_gb_later_picture(uint32_t address)
{
    const uint32_t number = address - 0xFF40u;
    return number < 12u && (0xFADu >> number & 1u) != 0;
}

/* Is none of its registers waiting that decides what is shown or how long mode 3 is? */
DM_FN bool dm_gb_later_settled(const dm_gb_slate *slate)
{
    return (slate->later_kinds & DM_GB_LATER_PICTURE) == 0;
}

/* Does a transfer to OAM wait? */
DM_FN bool dm_gb_later_dma(const dm_gb_slate *slate)
{
    return (slate->later_kinds & DM_GB_LATER_DMA) != 0;
}

/* What such a register reads as: `value`, unless another waits. */
DM_FN uint32_t dm_gb_later_read(const dm_gb_slate *slate, uint32_t address, uint32_t value)
{
    const uint32_t count = slate->later;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        value = slate->what[i] >> 8 == address ? slate->what[i] & 0xFFu : value;
    return value;
}

/* May this write wait? If not, nothing happened. */
DM_FN bool dm_gb_later_write(const dm_gb_machine *m, dm_gb_slate *slate, uint32_t now,
                             uint32_t address, uint32_t value)
{
    const uint32_t number = address - 0xFF40u;
    const dm_gb_ppu *ppu = &m->ppu;
    uint32_t kinds = 0;
    if (address == DM_GB_LATER_DMA_ADDRESS) {
        kinds = DM_GB_LATER_PICTURE | DM_GB_LATER_DMA;
    } else if (address == 0xFF0Fu) {
        kinds = DM_GB_LATER_URGENT | DM_GB_LATER_IF;
    } else if (address - 0xFF10u >= 0x30u) {
        if (!dm_gb_later_picture(address) ||
            (number == 0 && ((value ^ ppu->lcdc) & DM_GB_LCD_ON) != 0))
            return false;
        kinds = number != 5u ? DM_GB_LATER_PICTURE : 0u; /* what LYC is, is known (predict.h) */
        if ((ppu->stat & (number == 5u ? 0x48u : 0x08u)) != 0)
            kinds |= DM_GB_LATER_URGENT;
    }
    if ((kinds & DM_GB_LATER_URGENT) != 0 && (m->cpu.ime | m->cpu.ei_delay) != 0)
        return false;
    const uint32_t count = slate->later;
    if (count == DM_GB_LATER)
        return false;
    slate->when[count] = now;
    slate->what[count] = (address << 8) | (value & 0xFFu);
    slate->later = count + 1u;
    slate->later_kinds |= kinds;
    return true;
}

/* Make one, as dm_gb_slow_write does, but when the next event comes is not worked out. */
DM_FN void dm_gb_later_make_one(dm_gb_lane *lane, uint32_t now, uint32_t address, uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(lane);
    if (dm_gb_dma_sync(lane, now))
        dm_gb_map(lane);
    if (address >= 0xFF40u)
        dm_gb_ppu_write(lane, now, address, value);
    else if (address >= 0xFF10u)
        dm_gb_apu_write(dm_gb_apu_of(lane), now, (uint16_t)dm_gb_div(m, now), address, value);
    else
        dm_gb_flags_write(lane, now, value);
}

/* Make them, at the beginning of a turn; `scheduled`: the turn works out the next event anyway. */
DM_FN void dm_gb_later_make(dm_gb_lane *lane, dm_gb_hot *hot, bool scheduled)
{
    dm_gb_slate *slate = lane->slate;
    const uint32_t count = slate->later;
    if (count == 0)
        return;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        dm_gb_later_make_one(lane, slate->when[i], slate->what[i] >> 8, (uint8_t)slate->what[i]);
    const bool heard = slate->later_kinds == 0; /* sound, or what nothing hangs on */
    slate->later = slate->later_kinds = 0;
    if (scheduled || heard)
        return;
    dm_gb_schedule(lane, slate->when[count - 1u]);
    hot->next_event = dm_gb_m(lane)->next_event;
}

#endif
#endif
