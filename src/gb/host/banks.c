/* SPDX-License-Identifier: MIT */
/* banks.c - memory of one machine by bank, whether the mapper shows it or not. */
#include "base/require.h"
#include "gb/host/core.h"

#include <string.h>

int32_t dm_gb_bank(const dm_gb *gb, uint16_t address)
{
    if (gb == NULL)
        return 0;
    const dm_gb_cart *cart = &gb->machine.cart;
    if (address < 0x4000)
        return (int32_t)(cart->rom_low >> 14);
    if (address < 0x8000)
        return (int32_t)(cart->rom_high >> 14);
    if (address < 0xA000 || address >= 0xC000)
        return 0;
    const uint32_t offset = dm_gb_cart_ram_offset(cart, 0xA000);
    return offset == DM_GB_NO_RAM ? -1 : (int32_t)(offset >> 13);
}

/* Where a bank's bytes are. */
typedef struct place {
    const char *area;
    uint32_t first, last; /* addresses */
    uint32_t banks;
    uint8_t *bytes; /* of the bank, at address `first` */
} place;

static place find(const dm_gb *gb, uint32_t bank, uint32_t address)
{
    const uint32_t cart_ram = gb->rom.ram_size, rom_bank = bank < gb->rom.size >> 14 ? bank : 0;
    if (address < 0x8000) {
        const uint32_t first = address & 0x4000u;
        return (place){"ROM", first, first + 0x3FFF, gb->rom.size >> 14,
                       gb->rom.bytes + ((size_t)rom_bank << 14)};
    }
    if (address < 0xA000)
        return (place){"video RAM", 0x8000, 0x9FFF, 1, gb->ram + DM_GB_VRAM};
    if (address < 0xC000) {
        const uint32_t banks = (cart_ram + 0x1FFFu) >> 13,
                       width = cart_ram < 0x2000 ? cart_ram : 0x2000;
        return (place){"cartridge RAM", 0xA000, 0xA000 + width - 1, banks,
                       gb->ram + DM_GB_CART_RAM + (bank < banks ? (size_t)bank << 13 : 0)};
    }
    if (address < 0xD000 || (address < 0xE000 && bank == 0))
        return (place){"work RAM", 0xC000, 0xDFFF, 1, gb->ram + DM_GB_WRAM};
    if (address < 0xE000)
        return (place){"work RAM", 0xD000, 0xDFFF, 2, gb->ram + DM_GB_WRAM + 0x1000};
    return (place){"memory", 0xE000, 0xFFFF, 0, NULL};
}

static dm_status check(const place *at, uint32_t bank, uint32_t address, size_t size, dm_error *err)
{
    if (at->bytes == NULL)
        return dm_fail(err, DM_EINVAL, "bank: %04X has no banks", (unsigned)address);
    if (bank >= at->banks)
        return dm_fail(err, DM_EINVAL, "bank: %s at %04X has %u banks, there is no number %u",
                       at->area, (unsigned)address, at->banks, bank);
    if (address > at->last || size > at->last - address + 1)
        return dm_fail(err, DM_EINVAL, "bank: %s ends at %04X: %zu bytes from %04X do not fit",
                       at->area, (unsigned)at->last, size, (unsigned)address);
    return DM_OK;
}

dm_status dm_gb_read_bank(const dm_gb *gb, uint32_t bank, uint16_t address, void *to, size_t size,
                          dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE_SOME(err, to, size);
    const place at = find(gb, bank, address);
    const dm_status status = check(&at, bank, address, size, err);
    if (status != DM_OK || size == 0)
        return status;
    memcpy(to, at.bytes + (address - at.first), size);
    if (address >= 0xA000 && address < 0xC000)
        for (size_t i = 0; i < size; i++)
            ((uint8_t *)to)[i] |= dm_gb_cart_open_bits(&gb->machine.cart);
    return DM_OK;
}

dm_status dm_gb_write_bank(dm_gb *gb, uint32_t bank, uint16_t address, const void *from,
                           size_t size, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE_SOME(err, from, size);
    const place at = find(gb, bank, address);
    const dm_status status = check(&at, bank, address, size, err);
    if (status != DM_OK || size == 0)
        return status;
    if (address < 0x8000)
        return dm_fail(
            err, DM_EUNSUPPORTED,
            "bank: ROM is not written; change the file's bytes before the machine is made");
    memcpy(at.bytes + (address - at.first), from, size);
    return DM_OK;
}
