/* SPDX-License-Identifier: MIT */
/* write_queue.h - writes to devices, applied at the next service; kernel text.
 *
 * A write to a sound register or to a register of the picture unit has no effect that the program can see before it
 * reads a device, which traps. So the fast path (fast.h) puts it into the lane's queue with its time, and the next
 * service applies the queue, in order and each write at its own time, before anything else. An interrupt handler that
 * writes seven registers then costs one service, mostly one that comes anyway.
 *
 * The result is the same as long as nothing in between depends on the write:
 *
 *   reading a device          traps, but for a register of the picture unit that reads as it was written;
 *                             predict.h does not answer where it depends on a queued write
 *   VRAM as plain memory      likewise
 *   the next event            may be an interrupt that such a write brings nearer. So IF, LYC, and
 *                             with an interrupt at mode 0 everything that mode 3's length depends
 *                             on, are queued only while interrupts are off. EI and RETI trap then,
 *                             or bring the next event forward (dm_gb_predict_urgent)
 *   the page table            a write that changes LCDC's top bit, and so the table, is not queued. An OAM
 *                             transfer unmaps all but HRAM at once: then only HRAM, P1 and LY are known
 *                             without a service, and nothing that it copies from can change. The next
 *                             event is its end at the latest, so that it costs one service and not two
 */
#ifndef DM_SIMT_WRITE_QUEUE_H
#define DM_SIMT_WRITE_QUEUE_H

#include "gb/simt/bus.h"

#define DM_GB_QUEUE_PICTURE 1u /* a write to the picture unit is queued, */
#define DM_GB_QUEUE_URGENT 2u  /* one that the next interrupt may depend on, */
#define DM_GB_QUEUE_DMA 4u     /* one that begins a transfer to OAM, */
#define DM_GB_QUEUE_IF 8u      /* one to IF */
#define DM_GB_QUEUE_DMA_ADDRESS 0xFF46u

/* Is no write queued that decides the picture or the length of mode 3? */
DM_FN bool dm_gb_queue_has_no_picture(const dm_gb_cold *cold)
{
    return (cold->queued_kinds & DM_GB_QUEUE_PICTURE) == 0;
}

/* Is a transfer to OAM queued? */
DM_FN bool dm_gb_queue_has_dma(const dm_gb_cold *cold)
{
    return (cold->queued_kinds & DM_GB_QUEUE_DMA) != 0;
}

/* What a register of the picture unit reads as: the last write queued for it, else `value`. */
DM_FN uint32_t dm_gb_queue_read(const dm_gb_cold *cold, uint32_t address, uint32_t value)
{
    const uint32_t count = cold->queued;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        value = cold->what[i] >> 8 == address ? cold->what[i] & 0xFFu : value;
    return value;
}

/* Queue a write; false: it cannot be, and nothing has changed. */
DM_FN bool dm_gb_queue_write(const dm_gb_machine *m, dm_gb_cold *cold, uint32_t now,
                             uint32_t address, uint32_t value)
{
    const uint32_t number = address - 0xFF40u;
    const dm_gb_ppu *ppu = &m->ppu;
    uint32_t kinds = 0;
    if (address == DM_GB_QUEUE_DMA_ADDRESS) {
        kinds = DM_GB_QUEUE_PICTURE | DM_GB_QUEUE_DMA;
    } else if (address == 0xFF0Fu) {
        kinds = DM_GB_QUEUE_URGENT | DM_GB_QUEUE_IF;
    } else if (address - 0xFF10u >= 0x30u) {
        if (!dm_gb_ppu_has_byte(address) ||
            (number == 0 && ((value ^ ppu->lcdc) & DM_GB_LCD_ON) != 0))
            return false;
        kinds = number != 5u ? DM_GB_QUEUE_PICTURE : 0u; /* predict.h knows a queued LYC */
        if ((ppu->stat & (number == 5u ? 0x48u : 0x08u)) != 0)
            kinds |= DM_GB_QUEUE_URGENT;
    }
    if ((kinds & DM_GB_QUEUE_URGENT) != 0 && (m->cpu.ime | m->cpu.ei_delay) != 0)
        return false;
    const uint32_t count = cold->queued;
    if (count == DM_GB_QUEUE_SIZE)
        return false;
    cold->when[count] = now;
    cold->what[count] = (address << 8) | (value & 0xFFu);
    cold->queued = count + 1u;
    cold->queued_kinds |= kinds;
    return true;
}

/* Apply one, as dm_gb_slow_write does, but without working out the next event. */
DM_FN void dm_gb_queue_apply_one(dm_gb_context *context, uint32_t now, uint32_t address,
                                 uint8_t value)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (dm_gb_dma_sync(context, now))
        dm_gb_map(context);
    if (address >= 0xFF40u)
        dm_gb_ppu_write(context, now, address, value);
    else if (address >= 0xFF10u)
        dm_gb_apu_write(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now), address, value);
    else
        dm_gb_flags_write(context, now, value);
}

/* Apply all, at the beginning of a service; `scheduled`: the service works out the next event anyway. */
DM_FN void dm_gb_queue_apply(dm_gb_context *context, dm_gb_hot *hot, bool scheduled)
{
    dm_gb_cold *cold = context->cold;
    const uint32_t count = cold->queued;
    if (count == 0)
        return;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        dm_gb_queue_apply_one(context, cold->when[i], cold->what[i] >> 8, (uint8_t)cold->what[i]);
    const bool heard = cold->queued_kinds == 0; /* sound alone, which no event depends on */
    cold->queued = cold->queued_kinds = 0;
    if (scheduled || heard)
        return;
    dm_gb_schedule(context, cold->when[count - 1u]);
    hot->next_event = dm_gb_m(context)->next_event;
}

#endif
