/* SPDX-License-Identifier: MIT */
/* memory.h - where in machine memory an address is; kernel text. */
#ifndef DM_SWARM_MEMORY_H
#define DM_SWARM_MEMORY_H

#include "gb/batch_args.h"

#define DM_SWARM_NO_MEMORY 0xFFFFFFFFu

/* The offset in machine memory of an address outside of the cartridge; DM_SWARM_NO_MEMORY: there is none. */
DM_FN uint32_t dm_swarm_own_offset(uint32_t address)
{
    if (address >= 0xFF80u)
        return DM_GB_HRAM + address - 0xFF80u;
    if (address >= 0xFE00u)
        return address < 0xFEA0u ? DM_GB_OAM + (address & 0xFFu) : DM_SWARM_NO_MEMORY;
    if (address >= 0xC000u)
        return DM_GB_WRAM + (address & 0x1FFFu);
    return address >= 0x8000u && address < 0xA000u ? DM_GB_VRAM + (address & 0x1FFFu)
                                                   : DM_SWARM_NO_MEMORY;
}

/* The same for any address, cartridge RAM included. */
DM_FN uint32_t dm_swarm_memory_offset(const dm_gb_cart *cart, uint32_t address)
{
    if (address < 0xA000u || address >= 0xC000u)
        return dm_swarm_own_offset(address);
    const uint32_t offset = dm_gb_cart_ram_offset(cart, address);
    return offset == DM_GB_NO_RAM ? DM_SWARM_NO_MEMORY : DM_GB_CART_RAM + offset;
}

#endif
