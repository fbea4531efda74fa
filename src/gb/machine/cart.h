/* SPDX-License-Identifier: MIT */
/* cart.h - cartridges: bank switching, RAM and the real-time clock; kernel text.
 *
 * A dm_gb_cart holds the mapper's registers and, worked out from them, where the bus finds things:
 *
 *   0000..3FFF  ROM at rom_low  + (address & 3FFF)
 *   4000..7FFF  ROM at rom_high + (address & 3FFF)
 *   A000..BFFF  cartridge RAM at ram_window + (address & 1FFF), unless ram_window is DM_GB_NO_RAM
 *
 * All three are already masked to the sizes, so an address is found with one addition. This file only
 * computes offsets; the bytes are in the ROM and in machine memory, and the callers access them:
 *
 *   read                                            write
 *     offset = dm_gb_cart_ram_offset(cart, a);        offset = dm_gb_cart_ram_offset(cart, a);
 *     if (offset != DM_GB_NO_RAM)                     if (offset != DM_GB_NO_RAM)
 *         v = ram[offset]                                 ram[offset] =
 *             | dm_gb_cart_open_bits(cart);                   v | dm_gb_cart_open_bits(cart);
 *     else                                            else
 *         v = dm_gb_cart_special_read(cart, a);           dm_gb_cart_special_write(cart, now, a, v);
 *
 * A write to 0000..7FFF goes to dm_gb_cart_write.
 *
 * The clock of an MBC3 counts emulated time: 2^22 T-cycles are one second. It is brought forward
 * lazily by dm_gb_cart_sync, which must be called at least every 2^30 T-cycles (and is called here
 * where the registers matter). It is the cartridge's own: STOP does not stop it.
 *
 * Facts: Pan Docs; mooneye's emulator-only mbc1, mbc2 and mbc5 tests; rtc3test (ranges, sub-second
 * writes); the MBC3 tests by CasualPokePlayer (RAMG mask, banks that do not exist). */
#ifndef DM_GB_CART_H
#define DM_GB_CART_H

#include "base/port.h"

enum dm_gb_mapper {
    DM_GB_MAPPER_NONE,
    DM_GB_MAPPER_MBC1,
    DM_GB_MAPPER_MBC1_MULTI,
    DM_GB_MAPPER_MBC2,
    DM_GB_MAPPER_MBC3,
    DM_GB_MAPPER_MBC5,
    DM_GB_MAPPER_COUNT
};

/* The registers of the clock, as MBC3 numbers them from 8 on. */
enum dm_gb_rtc_register {
    DM_GB_RTC_SECONDS,
    DM_GB_RTC_MINUTES,
    DM_GB_RTC_HOURS,
    DM_GB_RTC_DAYS_LOW,
    DM_GB_RTC_DAYS_HIGH, /* bit 0: day bit 8; bit 6: halt; bit 7: day carry */
    DM_GB_RTC_REGISTERS
};

#define DM_GB_RTC_HALT 0x40u
#define DM_GB_RTC_CARRY 0x80u
#define DM_GB_RTC_SECOND_SHIFT 22 /* 4,194,304 T-cycles */

#define DM_GB_NO_RAM 0xFFFFFFFFu

typedef struct dm_gb_cart {
    /* What the cartridge is; never changes while it runs. */
    uint8_t mapper; /* enum dm_gb_mapper */
    uint8_t has_rtc, has_rumble, has_battery;
    uint32_t rom_mask; /* size of the ROM minus one; a power of two */
    uint32_t ram_size; /* bytes of RAM on the cartridge; 0 or a power of two */
    /* What the mapper shows now; dm_gb_cart_update_windows sets them. */
    uint32_t rom_low, rom_high, ram_window;
    /* The mapper's registers. */
    uint16_t rom_bank; /* MBC1: BANK1 (5 bits); MBC2: ROMB; MBC3; MBC5 (9 bits) */
    uint8_t ram_bank;  /* MBC1: BANK2; MBC3: RAM bank or clock register; MBC5 */
    uint8_t mode;      /* MBC1: 1 lets BANK2 reach 0000..3FFF and the RAM */
    uint8_t ram_enabled;
    uint8_t rumble; /* the motor runs */
    uint8_t rtc_latched[DM_GB_RTC_REGISTERS];
    uint8_t rtc[DM_GB_RTC_REGISTERS];
    uint32_t rtc_fraction; /* T-cycles of the current second that have passed at rtc_synced */
    uint32_t rtc_synced;
} dm_gb_cart;

/* ---- The clock ---- */

/* Add `n` to a counter that carries at `limit` and holds `width` values. A value out of range
 * counts up to the width, then wraps without a carry. Gives the number of carries. */
DM_FN uint32_t dm_gb_rtc_count(uint8_t *counter, uint32_t n, uint32_t limit, uint32_t width)
{
    uint32_t value = *counter;
    if (value >= limit) {
        uint32_t to_wrap = width - value;
        if (n < to_wrap) {
            *counter = (uint8_t)(value + n);
            return 0;
        }
        n -= to_wrap;
        value = 0;
    }
    /* n is far below 2^32 - 64: dm_gb_cart_advance_clock takes at most 2^31 seconds. */
    value += n;
    *counter = (uint8_t)(value % limit);
    return value / limit;
}

/* Let `seconds` (up to 2^31) pass, whether the clock is halted or not. */
DM_FN_SLOW void dm_gb_cart_advance_clock(dm_gb_cart *cart, uint32_t seconds)
{
    uint32_t n = dm_gb_rtc_count(&cart->rtc[DM_GB_RTC_SECONDS], seconds, 60, 64);
    n = dm_gb_rtc_count(&cart->rtc[DM_GB_RTC_MINUTES], n, 60, 64);
    n = dm_gb_rtc_count(&cart->rtc[DM_GB_RTC_HOURS], n, 24, 32);
    uint32_t high = cart->rtc[DM_GB_RTC_DAYS_HIGH];
    uint32_t days = (cart->rtc[DM_GB_RTC_DAYS_LOW] | ((high & 1u) << 8)) + n;
    if (days > 0x1FFu)
        high |= DM_GB_RTC_CARRY; /* stays until the program clears it */
    cart->rtc[DM_GB_RTC_DAYS_LOW] = (uint8_t)days;
    cart->rtc[DM_GB_RTC_DAYS_HIGH] = (uint8_t)((high & ~1u) | ((days >> 8) & 1u));
}

/* Bring the clock up to `now`. */
DM_FN_SLOW void dm_gb_cart_sync(dm_gb_cart *cart, uint32_t now)
{
    uint32_t elapsed = now - cart->rtc_synced;
    cart->rtc_synced = now;
    if (!cart->has_rtc || (cart->rtc[DM_GB_RTC_DAYS_HIGH] & DM_GB_RTC_HALT))
        return; /* a halted clock keeps its fraction of a second */
    uint64_t cycles = (uint64_t)cart->rtc_fraction + elapsed;
    cart->rtc_fraction = (uint32_t)cycles & ((1u << DM_GB_RTC_SECOND_SHIFT) - 1u);
    if (cycles >> DM_GB_RTC_SECOND_SHIFT)
        dm_gb_cart_advance_clock(cart, (uint32_t)(cycles >> DM_GB_RTC_SECOND_SHIFT));
}

/* ---- Windows ---- */

/* MBC30 is an MBC3 that is wired for more than 2 MiB of ROM or 32 KiB of RAM. */
DM_FN bool dm_gb_cart_is_mbc30(const dm_gb_cart *cart)
{
    return cart->rom_mask >= 0x200000u || cart->ram_size > 0x8000u;
}

/* The RAM bank that A000..BFFF shows, or -1 where there is no RAM in that place. */
DM_FN int32_t dm_gb_cart_ram_bank(const dm_gb_cart *cart)
{
    if (!cart->ram_enabled || cart->ram_size == 0)
        return -1;
    switch (cart->mapper) {
    case DM_GB_MAPPER_MBC1:
    case DM_GB_MAPPER_MBC1_MULTI:
        return cart->mode ? cart->ram_bank : 0;
    case DM_GB_MAPPER_MBC3:
        if (dm_gb_cart_is_mbc30(cart))
            return cart->has_rtc && (cart->ram_bank & 8u) ? -1 : (int32_t)(cart->ram_bank & 7u);
        /* With a clock, 4..7 are nothing and 8..F the clock's; without one the bits are not wired.
         */
        if (cart->has_rtc)
            return cart->ram_bank > 3u ? -1 : (int32_t)cart->ram_bank;
        return cart->ram_bank & 3u;
    case DM_GB_MAPPER_MBC5:
        return cart->ram_bank;
    default:
        return 0;
    }
}

/* Where in cartridge RAM an address of A000..BFFF lies, mirrors included; DM_GB_NO_RAM when
 * something else is there. */
DM_FN_SLOW uint32_t dm_gb_cart_ram_offset(const dm_gb_cart *cart, uint32_t address)
{
    int32_t bank = dm_gb_cart_ram_bank(cart);
    if (bank < 0)
        return DM_GB_NO_RAM;
    return (((uint32_t)bank << 13) | (address & 0x1FFFu)) & (cart->ram_size - 1u);
}

/* Bits of a RAM byte that no chip drives: MBC2 has four-bit cells. */
DM_FN uint8_t dm_gb_cart_open_bits(const dm_gb_cart *cart)
{
    return cart->mapper == DM_GB_MAPPER_MBC2 ? 0xF0 : 0x00;
}

/* The ROM bank that 4000..7FFF shows, before it is masked to the size. */
DM_FN uint32_t dm_gb_cart_high_bank(const dm_gb_cart *cart)
{
    const uint32_t bank = cart->rom_bank;
    uint32_t wired;
    switch (cart->mapper) {
    case DM_GB_MAPPER_MBC1:
        return ((uint32_t)cart->ram_bank << 5) | bank;
    case DM_GB_MAPPER_MBC1_MULTI:
        /* Bit 4 of BANK1 is not wired, yet counts when 0 is turned into 1. */
        return ((uint32_t)cart->ram_bank << 4) | (bank & 0x0Fu);
    case DM_GB_MAPPER_MBC3:
        wired = dm_gb_cart_is_mbc30(cart) ? bank : bank & 0x7Fu;
        return wired == 0 ? 1u : wired;
    case DM_GB_MAPPER_NONE:
        return 1;
    default:
        return bank;
    }
}

/* The ROM bank that 0000..3FFF shows. */
DM_FN uint32_t dm_gb_cart_low_bank(const dm_gb_cart *cart)
{
    const uint32_t bank = cart->mode != 0 ? cart->ram_bank : 0u;
    return cart->mapper == DM_GB_MAPPER_MBC1         ? bank << 5
           : cart->mapper == DM_GB_MAPPER_MBC1_MULTI ? bank << 4
                                                     : 0u;
}

/* Work the windows out from the registers. True when one moved. */
DM_FN_SLOW bool dm_gb_cart_update_windows(dm_gb_cart *cart)
{
    const uint32_t low = (dm_gb_cart_low_bank(cart) << 14) & cart->rom_mask;
    const uint32_t high = (dm_gb_cart_high_bank(cart) << 14) & cart->rom_mask;
    uint32_t ram = DM_GB_NO_RAM;
    if (cart->ram_size >= 0x2000u)
        ram = dm_gb_cart_ram_offset(cart, 0xA000u);
    bool moved = low != cart->rom_low || high != cart->rom_high || ram != cart->ram_window;
    cart->rom_low = low;
    cart->rom_high = high;
    cart->ram_window = ram;
    return moved;
}

/* The mapper as it is after power-on. The clock runs on its battery and keeps its time. */
DM_FN_SLOW void dm_gb_cart_reset(dm_gb_cart *cart, uint32_t now)
{
    cart->rom_bank = 1;
    cart->ram_bank = 0;
    cart->mode = 0;
    /* Without a mapper nothing can switch the RAM off. */
    cart->ram_enabled = cart->mapper == DM_GB_MAPPER_NONE;
    cart->rumble = 0;
    cart->rtc_synced = now;
    dm_gb_cart_update_windows(cart);
}

/* ---- Writes to 0000..7FFF ----
 * One function says what a write would change, another changes it: the GPU's fast path needs the first alone
 * (simt/predict.h). */

/* A write sets one register of the mapper, or none. */
enum dm_gb_cart_register {
    DM_GB_CART_NOTHING,
    DM_GB_CART_RAM_ENABLED,
    DM_GB_CART_ROM_BANK,
    DM_GB_CART_RAM_BANK,
    DM_GB_CART_RAM_BANK_AND_MOTOR, /* of an MBC5 with rumble: the bank in bits 0..2, the motor in bit 3 */
    DM_GB_CART_MODE,
    DM_GB_CART_LATCH /* none, but the clock is copied to where the program reads it */
};

typedef struct dm_gb_cart_change {
    enum dm_gb_cart_register which;
    uint32_t value;
} dm_gb_cart_change;

DM_FN dm_gb_cart_change dm_gb_cart_decode(const dm_gb_cart *cart, uint32_t address, uint32_t value)
{
    const uint32_t area = (address >> 13) & 3u; /* 0000, 2000, 4000 or 6000 */
    dm_gb_cart_change change = {DM_GB_CART_NOTHING, 0};
    value &= 0xFFu;
    switch (cart->mapper) {
    case DM_GB_MAPPER_MBC1:
    case DM_GB_MAPPER_MBC1_MULTI:
        change.which = area == 0   ? DM_GB_CART_RAM_ENABLED
                       : area == 1 ? DM_GB_CART_ROM_BANK
                       : area == 2 ? DM_GB_CART_RAM_BANK
                                   : DM_GB_CART_MODE;
        change.value = area == 0   ? (value & 0x0Fu) == 0x0Au
                       : area == 1 ? ((value & 0x1Fu) == 0 ? 1u : value & 0x1Fu)
                       : area == 2 ? value & 3u
                                   : value & 1u;
        break;
    case DM_GB_MAPPER_MBC2:
        if (area > 1u)
            break;
        change.which = (address & 0x100u) != 0 ? DM_GB_CART_ROM_BANK : DM_GB_CART_RAM_ENABLED;
        change.value = (address & 0x100u) == 0 ? (value & 0x0Fu) == 0x0Au
                       : (value & 0x0Fu) == 0  ? 1u
                                               : value & 0x0Fu;
        break;
    case DM_GB_MAPPER_MBC3:
        change.which = area == 0       ? DM_GB_CART_RAM_ENABLED
                       : area == 1     ? DM_GB_CART_ROM_BANK
                       : area == 2     ? DM_GB_CART_RAM_BANK
                       : cart->has_rtc ? DM_GB_CART_LATCH
                                       : DM_GB_CART_NOTHING;
        change.value = area == 0 ? (value & 0x0Fu) == 0x0Au : area == 2 ? value & 0x0Fu : value;
        break;
    case DM_GB_MAPPER_MBC5:
        change.which = area == 0          ? DM_GB_CART_RAM_ENABLED
                       : area == 1        ? DM_GB_CART_ROM_BANK
                       : area == 3        ? DM_GB_CART_NOTHING
                       : cart->has_rumble ? DM_GB_CART_RAM_BANK_AND_MOTOR
                                          : DM_GB_CART_RAM_BANK;
        change.value = area == 0                  ? value == 0x0Au /* all eight bits count here */
                       : area == 2                ? value & 0x0Fu
                       : (address & 0x1000u) == 0 ? (cart->rom_bank & 0x100u) | value
                                                  : (cart->rom_bank & 0xFFu) | ((value & 1u) << 8);
        break;
    default:
        break;
    }
    return change;
}

/* Would a write leave the mapper as it is? */
DM_FN bool dm_gb_cart_ignores(const dm_gb_cart *cart, uint32_t address, uint32_t value)
{
    const dm_gb_cart_change change = dm_gb_cart_decode(cart, address, value);
    switch (change.which) {
    case DM_GB_CART_NOTHING:
        return true;
    case DM_GB_CART_RAM_ENABLED:
        return cart->ram_enabled == change.value;
    case DM_GB_CART_ROM_BANK:
        return cart->rom_bank == change.value;
    case DM_GB_CART_RAM_BANK:
        return cart->ram_bank == change.value;
    case DM_GB_CART_MODE:
        return cart->mode == change.value;
    default:
        return false;
    }
}

DM_FN void dm_gb_cart_latch_clock(dm_gb_cart *cart, uint32_t now)
{
    dm_gb_cart_sync(cart, now);
    for (int i = 0; i < DM_GB_RTC_REGISTERS; i++)
        cart->rtc_latched[i] = cart->rtc[i];
}

/* True when the windows changed. */
DM_FN_SLOW bool dm_gb_cart_write(dm_gb_cart *cart, uint32_t now, uint32_t address, uint8_t value)
{
    const dm_gb_cart_change change = dm_gb_cart_decode(cart, address, value);
    switch (change.which) {
    case DM_GB_CART_RAM_ENABLED:
        cart->ram_enabled = (uint8_t)change.value;
        break;
    case DM_GB_CART_ROM_BANK:
        cart->rom_bank = (uint16_t)change.value;
        break;
    case DM_GB_CART_RAM_BANK:
        cart->ram_bank = (uint8_t)change.value;
        break;
    case DM_GB_CART_RAM_BANK_AND_MOTOR:
        cart->ram_bank = (uint8_t)(change.value & 7u);
        cart->rumble = (change.value & 8u) != 0;
        break;
    case DM_GB_CART_MODE:
        cart->mode = (uint8_t)change.value;
        break;
    case DM_GB_CART_LATCH:
        dm_gb_cart_latch_clock(cart, now);
        return false;
    default:
        return false;
    }
    return dm_gb_cart_update_windows(cart);
}

/* ---- A000..BFFF where there is no RAM ---- */

/* The clock's register that is selected; DM_GB_RTC_REGISTERS when none is. */
DM_FN uint32_t dm_gb_cart_rtc_selected(const dm_gb_cart *cart)
{
    if (!cart->has_rtc || !cart->ram_enabled || cart->ram_bank < 8u || cart->ram_bank > 12u)
        return DM_GB_RTC_REGISTERS;
    return cart->ram_bank - 8u;
}

DM_FN_SLOW uint8_t dm_gb_cart_special_read(const dm_gb_cart *cart, uint32_t address)
{
    (void)address;
    uint32_t selected = dm_gb_cart_rtc_selected(cart);
    return selected < DM_GB_RTC_REGISTERS ? cart->rtc_latched[selected] : 0xFF;
}

DM_FN_SLOW void dm_gb_cart_special_write(dm_gb_cart *cart, uint32_t now, uint32_t address,
                                         uint8_t value)
{
    (void)address;
    uint32_t selected = dm_gb_cart_rtc_selected(cart);
    if (selected == DM_GB_RTC_REGISTERS)
        return;
    dm_gb_cart_sync(cart, now);
    uint8_t mask = 0xFF;
    switch (selected) {
    case DM_GB_RTC_SECONDS:
        cart->rtc_fraction = 0; /* the second begins anew */
        mask = 0x3F;
        break;
    case DM_GB_RTC_MINUTES:
        mask = 0x3F;
        break;
    case DM_GB_RTC_HOURS:
        mask = 0x1F;
        break;
    case DM_GB_RTC_DAYS_HIGH:
        mask = 0xC1;
        break;
    default:
        break;
    }
    cart->rtc[selected] = value & mask;
}

#endif
