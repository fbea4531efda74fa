/* SPDX-License-Identifier: MIT */
/* context.h - a machine context: everything a machine needs while it runs; kernel text.
 *
 * The context is made for a run and never saved. It is the executor's own struct (gb/cpu/context.h, gb/simt/context.h)
 * and has at least
 *
 *   ram             machine memory, reached only through the accessors here
 *   rom, boot       the ROM, a power of two in size; 256 bytes while a boot ROM may be mapped, else NULL
 *   frames          two pictures of 160 x 144 shades (ppu.front is the complete one); NULL: none wanted
 *   draw, single_frame   which pictures are wanted
 *   serial          what the machine sends, to be read; NULL: it is dropped
 *   skip_idle, trace     idle loops may be skipped; stop after each instruction
 *   idle_limit      until when everything stays the same that an idle loop has read
 *
 * With it come
 *
 *   dm_gb_m, dm_gb_apu_of, dm_gb_cart_of   the machine; sound and cartridge, which may be elsewhere
 *   dm_gb_run_end(context)                 where the run stops; m->target may be an earlier stop (simt/simt.h: halves)
 *   dm_gb_ram_load64(context, offset)      eight bytes of machine memory, from a multiple of eight on
 *   dm_gb_ram_copy160(context, to, from)   a copy of 160 bytes, the size of OAM
 *   dm_gb_scanned_for(context, height)     is told that all of OAM was searched for sprites of that height; 0: in parts
 *   dm_gb_read_holds(context, until)       is told that the last answer stays the same for accesses up to `until`
 *   dm_gb_idle_break(context)              is told of something that an idle loop does not do */
#ifndef DM_GB_CONTEXT_H
#define DM_GB_CONTEXT_H

#include "gb/executor.h"

DM_FN uint8_t dm_gb_ram_load(const dm_gb_context *context, uint32_t offset)
{
    return context->ram[offset];
}

DM_FN void dm_gb_ram_store(const dm_gb_context *context, uint32_t offset, uint32_t value)
{
    context->ram[offset] = (uint8_t)value;
}

/* Cartridge RAM and what else answers at A000..BFFF. */
DM_FN uint8_t dm_gb_cart_ram_read(dm_gb_context *context, uint32_t address)
{
    dm_gb_cart *cart = dm_gb_cart_of(context);
    uint32_t offset = dm_gb_cart_ram_offset(cart, address);
    if (offset == DM_GB_NO_RAM)
        return dm_gb_cart_special_read(cart, address);
    return (uint8_t)(dm_gb_ram_load(context, DM_GB_CART_RAM + offset) | dm_gb_cart_open_bits(cart));
}

DM_FN void dm_gb_cart_ram_write(dm_gb_context *context, uint32_t now, uint32_t address,
                                uint8_t value)
{
    dm_gb_cart *cart = dm_gb_cart_of(context);
    uint32_t offset = dm_gb_cart_ram_offset(cart, address);
    if (offset == DM_GB_NO_RAM)
        dm_gb_cart_special_write(cart, now, address, value);
    else
        dm_gb_ram_store(context, DM_GB_CART_RAM + offset, value | dm_gb_cart_open_bits(cart));
}

#endif
