/* SPDX-License-Identifier: MIT */
/* quick_map.h - plain memory as the short road (quick.h) sees it; kernel text.
 *
 * A map of slots says where each region of addresses lies, or that it is not plain. It stands
 * outside of the hot registers, on a GPU in shared memory beside the rows (quick_rows.h), where
 * lanes can look up different slots at once. Turns make it anew (dm_gb_quick_map). */
#ifndef DM_GB_QUICK_MAP_H
#define DM_GB_QUICK_MAP_H

#include "gb/later.h"
#include "gb/quick_rows.h"

#if DM_GB_GPU_FORM

/* The map: slots 0 and 1 are 16 KiB of ROM each, 2..5 8 KiB of addresses each, 6 is FF80..FFFF. A
 * slot is where address 0 would be; NULL: not plain. Slots 7 and 8 are for instructions in 16 KiB
 * of ROM each: where the word of address 0 would be (lane.rom_words). Slot 9 is the slate. */
enum dm_gb_quick_slot {
    DM_GB_QUICK_ROM,
    DM_GB_QUICK_VRAM = 2,
    DM_GB_QUICK_CART,
    DM_GB_QUICK_WRAM,
    DM_GB_QUICK_ECHO,
    DM_GB_QUICK_HRAM,
    DM_GB_QUICK_CODE,
    DM_GB_QUICK_SLATE = DM_GB_QUICK_CODE + 2,
    DM_GB_QUICK_SLOTS
};

/* ---- Where map and rows are: on a GPU in shared memory, with slots of a block's lanes side by
 * side ---- */

#if DM_ON_CUDA

#ifndef DM_GB_QUICK_LANES
#define DM_GB_QUICK_LANES 256 /* machines of a block at most */
#endif
#ifndef DM_GB_QUICK_SEAT
#define DM_GB_QUICK_SEAT threadIdx.x /* this thread's number among them */
#endif

/* Make room in shared memory and fill in the rows; all threads of the block call this first. */
DM_FN dm_gb_quick_place dm_gb_quick_open(void)
{
    __shared__ uint64_t slots[DM_GB_QUICK_SLOTS * DM_GB_QUICK_LANES];
    __shared__ dm_gb_quick_row rows[512];
    for (uint32_t i = threadIdx.x; i < 512u; i += blockDim.x)
        rows[i] = dm_gb_quick_rows[i];
    __syncthreads();
    dm_gb_quick_place place;
    /* By assembly, so that the compiler keeps them and does not work them out again and again. */
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(place.slots)
                 : "r"((uint32_t)__cvta_generic_to_shared(slots + DM_GB_QUICK_SEAT)));
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(place.rows)
                 : "r"((uint32_t)__cvta_generic_to_shared(rows)));
    return place;
}

DM_FN const uint8_t *dm_gb_quick_slot(const dm_gb_quick_place *place, uint32_t slot)
{
    uint64_t value;
    asm volatile("ld.shared.u64 %0, [%1];"
                 : "=l"(value)
                 : "r"(place->slots + slot * (8u * DM_GB_QUICK_LANES)));
    return (const uint8_t *)value;
}

DM_FN void dm_gb_quick_set_slot(const dm_gb_quick_place *place, uint32_t slot, const void *value)
{
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(place->slots + slot * (8u * DM_GB_QUICK_LANES)),
                 "l"(value));
}

DM_FN dm_gb_quick_row dm_gb_quick_row_of(const dm_gb_quick_place *place, uint32_t index)
{
    dm_gb_quick_row row;
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(row.registers), "=r"(row.address), "=r"(row.flags), "=r"(row.numbers)
        : "r"(place->rows + index * 16u));
    return row;
}

DM_FN uint32_t dm_gb_quick_load(const uint8_t *at)
{
    uint32_t value;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

/* The byte there if `wanted`, else 0; without a branch. */
DM_FN uint32_t dm_gb_quick_load_if(bool wanted, const uint8_t *at)
{
    uint32_t value = 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.u8 %0, [%2]; }"
                 : "+r"(value)
                 : "r"((uint32_t)wanted), "l"(at));
    return value;
}

DM_FN void dm_gb_quick_store_if(bool wanted, const uint8_t *at, uint32_t value)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.u8 [%1], %2; }" ::"r"((uint32_t)wanted),
        "l"(at), "r"(value)
        : "memory");
}

DM_FN uint32_t dm_gb_quick_code(const uint8_t *words, uint32_t pc)
{
    uint32_t word;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"((const uint32_t *)words + pc));
    return word;
}

/* The same if `plain`, else DM_GB_NO_WORD; without a branch. */
DM_FN uint32_t dm_gb_quick_code_if(bool plain, const uint8_t *words, uint32_t pc)
{
    uint32_t word = DM_GB_NO_WORD;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.nc.u32 %0, [%2]; }"
        : "+r"(word)
        : "r"((uint32_t)plain), "l"((const uint32_t *)words + pc));
    return word;
}

#else

DM_FN const uint8_t *dm_gb_quick_slot(const dm_gb_quick_place *place, uint32_t slot)
{
    return place->slots[slot];
}

DM_FN void dm_gb_quick_set_slot(const dm_gb_quick_place *place, uint32_t slot, const void *value)
{
    place->slots[slot] = (const uint8_t *)value;
}

DM_FN dm_gb_quick_row dm_gb_quick_row_of(const dm_gb_quick_place *place, uint32_t index)
{
    (void)place;
    return dm_gb_quick_rows[index];
}

DM_FN uint32_t dm_gb_quick_load(const uint8_t *at)
{
    return *at;
}

DM_FN uint32_t dm_gb_quick_load_if(bool wanted, const uint8_t *at)
{
    return wanted ? *at : 0u;
}

DM_FN void dm_gb_quick_store_if(bool wanted, const uint8_t *at, uint32_t value)
{
    if (wanted)
        *(uint8_t *)(uintptr_t)at = (uint8_t)value;
}

DM_FN uint32_t dm_gb_quick_code(const uint8_t *words, uint32_t pc)
{
    return ((const uint32_t *)(const void *)words)[pc];
}

DM_FN uint32_t dm_gb_quick_code_if(bool plain, const uint8_t *words, uint32_t pc)
{
    return plain ? dm_gb_quick_code(words, pc) : DM_GB_NO_WORD;
}

#endif

/* A transfer to OAM begins, but waits (later.h): only HRAM is plain memory from now on. */
DM_FN void dm_gb_quick_unmap(const dm_gb_quick_place *place)
{
    DM_NO_UNROLL
    for (uint32_t slot = 0; slot < DM_GB_QUICK_SLATE; slot++)
        if (slot != DM_GB_QUICK_HRAM)
            dm_gb_quick_set_slot(place, slot, 0);
}

/* After something may have changed the memory map. */
DM_FN void dm_gb_quick_map(const dm_gb_lane *lane, const dm_gb_quick_place *place)
{
    const dm_gb_machine *m = lane->m;
    const dm_gb_cart *cart = &m->cart;
    const bool plain = !m->dma.active && !m->boot_mapped && !dm_gb_later_dma(lane->slate);
    const bool words = plain && lane->rom_words != 0;
    const uint8_t *low = plain ? lane->rom + cart->rom_low : 0;
    const uint8_t *high = plain ? lane->rom + cart->rom_high - 0x4000 : 0;
    const bool ram = plain && cart->ram_window != DM_GB_NO_RAM;
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ROM, low);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ROM + 1u, high);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_VRAM, plain ? lane->ram + DM_GB_VRAM - 0x8000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CART,
                         ram ? lane->ram + DM_GB_CART_RAM + cart->ram_window - 0xA000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_WRAM, plain ? lane->ram + DM_GB_WRAM - 0xC000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ECHO, plain ? lane->ram + DM_GB_WRAM - 0xE000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_HRAM, lane->ram + DM_GB_HRAM - 0xFF80);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE, words ? lane->rom_words + cart->rom_low : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE + 1u,
                         words ? lane->rom_words + cart->rom_high - 0x4000 : 0);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_SLATE, lane->slate);
}

/* The machine's memory. */
DM_FN const uint8_t *dm_gb_quick_ram(const dm_gb_quick_place *place)
{
    return dm_gb_quick_slot(place, DM_GB_QUICK_HRAM) + (0xFF80 - DM_GB_HRAM);
}

DM_FN dm_gb_slate *dm_gb_quick_slate(const dm_gb_quick_place *place)
{
    return (dm_gb_slate *)(uintptr_t)dm_gb_quick_slot(place, DM_GB_QUICK_SLATE);
}

DM_FN const uint8_t *dm_gb_quick_memory(const dm_gb_quick_place *place, uint32_t address)
{
    uint32_t slot = address < 0x8000u ? address >> 14 : (address >> 13) - 2u;
    return dm_gb_quick_slot(place, address >= 0xFF80u ? DM_GB_QUICK_HRAM : slot);
}

/* The opcode at `pc` and the two bytes after it, as one word; DM_GB_NO_WORD: not from plain memory.
 */
DM_FN_SLOW uint32_t dm_gb_quick_fetch(dm_gb_quick_place where, uint32_t pc)
{
    const dm_gb_quick_place *place = &where;
    /* What follows the last two bytes of a bank depends on the map. */
    if (pc < 0x8000u && (pc & 0x3FFFu) < 0x3FFEu) {
        const uint8_t *words = dm_gb_quick_slot(place, DM_GB_QUICK_CODE + (pc >> 14));
        if (DM_LIKELY(words != 0))
            return dm_gb_quick_code(words, pc);
    }
    const uint8_t *at = dm_gb_quick_memory(place, pc);
    if (at == 0 || pc >> 13 == 4u || (pc & 0x1FFFu) >= 0x1FFEu || pc - 0xFDFEu < 0x182u)
        return DM_GB_NO_WORD;
    at += pc;
    return dm_gb_quick_load(at) | (dm_gb_quick_load(at + 1) << 8) |
           (dm_gb_quick_load(at + 2) << 16);
}

/* The instruction at `pc` ahead of time, so that the next round need not wait for it; only from
 * ROM, which nothing changes but a turn; DM_GB_NO_WORD: not. */
DM_FN uint32_t dm_gb_quick_ahead(const dm_gb_quick_place *place, uint32_t pc)
{
    const uint8_t *words = dm_gb_quick_slot(place, DM_GB_QUICK_CODE + (pc >> 14 & 1u));
    const bool plain = pc < 0x8000u && (pc & 0x3FFFu) < 0x3FFEu && words != 0;
    return dm_gb_quick_code_if(plain, words, pc);
}

#endif
#endif
