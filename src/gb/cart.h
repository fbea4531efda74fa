/* SPDX-License-Identifier: MIT */
/* cart.h - cartridges: bank switching, RAM and the real-time clock; kernel text. */
#ifndef DM_GB_CART_H
#define DM_GB_CART_H

#include "base/port.h"

enum dm_gb_mapper {
    DM_GB_MAPPER_NONE,
    DM_GB_MAPPER_MBC1,
    DM_GB_MAPPER_MBC1_MULTI,
    DM_GB_MAPPER_MBC2,
    DM_GB_MAPPER_MBC3,
    DM_GB_MAPPER_MBC5
};

typedef struct dm_gb_cart {
    uint8_t mapper;    /* enum dm_gb_mapper */
    uint8_t has_rtc, has_rumble, has_battery;
    uint32_t rom_mask; /* size of the ROM minus one; a power of two */
    uint32_t ram_size; /* bytes of RAM on the cartridge */
    /* What the mapper shows now: byte offsets into ROM for 0000..3FFF and 4000..7FFF, and into cartridge RAM for
     * A000..BFFF (DM_GB_NO_RAM when something other than plain RAM is there). Kept by dm_gb_cart_write. */
    uint32_t rom_low, rom_high, ram_window;
    uint8_t ram_enabled;
} dm_gb_cart;

#define DM_GB_NO_RAM 0xFFFFFFFFu

/* A write to 0000..7FFF. True when the windows changed. */
DM_FN_SLOW bool dm_gb_cart_write(dm_gb_cart *cart, uint32_t now, uint32_t address, uint8_t value)
{
    (void)now;
    (void)address;
    (void)value;
    (void)cart;
    return false;
}

#endif
