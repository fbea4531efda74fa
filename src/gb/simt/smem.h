/* SPDX-License-Identifier: MIT */
/* smem.h - where the short road (fast.h) keeps its map and its tables; kernel text.
 *
 * The map of plain memory (page_table.h) stands outside of the hot registers, on a GPU in shared
 * memory, where lanes can look up different slots at once: slots of a block's lanes side by side,
 * and before them what is the same for all machines, the rows (uop.h) and the kinds of
 * memory. Shared memory is taken from the first cache, so in large blocks slots are of 32 bits. */
#ifndef DM_SIMT_SMEM_H
#define DM_SIMT_SMEM_H

#include "gb/machine/context.h"
#include "gb/simt/uop.h"

/* Blocks of more machines than this have slots of 32 bits. */
#define DM_GB_QUICK_WIDE_LANES 128u
#define DM_GB_QUICK_NARROW_FOR(lanes) ((lanes) > DM_GB_QUICK_WIDE_LANES)

/* They count in these, from so far below the lowest address of plain memory, since they are where
 * address 0 would be (0 is NULL). So memory has to lie in so many bytes. */
#define DM_GB_QUICK_UNIT 32u
#define DM_GB_QUICK_BELOW 0x40000u
#define DM_GB_QUICK_SPAN ((1ull << 32) * DM_GB_QUICK_UNIT - DM_GB_QUICK_BELOW)

#if DM_GB_GPU_FORM

/* The map: slots 0 and 1 are 16 KiB of ROM each, then 8 KiB of addresses each, then FF80..FFFF. A
 * slot is where address 0 would be; NULL: not plain. The last three are for instructions in 16 KiB
 * of ROM each, and in the rest of the addresses, which has none: where the word of address 0 would
 * be (lane.rom_words; for the rest, of address 8000). */
enum dm_gb_quick_slot {
    DM_GB_QUICK_ROM,
    DM_GB_QUICK_VRAM = 2,
    DM_GB_QUICK_CART,
    DM_GB_QUICK_WRAM,
    DM_GB_QUICK_ECHO,
    DM_GB_QUICK_HRAM,
    DM_GB_QUICK_CODE,
    DM_GB_QUICK_NO_CODE = DM_GB_QUICK_CODE + 2,
    DM_GB_QUICK_SLOTS
};

#if DM_ON_CUDA

#ifndef DM_GB_QUICK_LANES
#define DM_GB_QUICK_LANES 256 /* machines of a block at most */
#endif
#ifndef DM_GB_QUICK_SEAT
#define DM_GB_QUICK_SEAT threadIdx.x /* this thread's number among them */
#endif

/* A slot as it stands there; 0: not plain. */
#define DM_GB_QUICK_NARROW DM_GB_QUICK_NARROW_FOR(DM_GB_QUICK_LANES)
#if DM_GB_QUICK_NARROW
typedef uint32_t dm_gb_quick_unit;
#else
typedef uint64_t dm_gb_quick_unit;
#endif
#define DM_GB_QUICK_STRIDE ((uint32_t)sizeof(dm_gb_quick_unit) * DM_GB_QUICK_LANES)

#else

typedef const uint8_t *dm_gb_quick_unit;
#define DM_GB_QUICK_STRIDE 1u

#endif

/* What is known of 128 bytes of addresses whatever is mapped there: the slot in the upper half, by
 * how far it is from the first, and which accesses are not plain: those that write, while VRAM is
 * not open, or all. The bits are those of dm_gb_quick_row.mask. */
#define DM_GB_KIND_WRITES 2u
#define DM_GB_KIND_VRAM 4u
#define DM_GB_KIND_ALL 8u
#define DM_GB_KINDS 512u
#define DM_GB_KIND(slot, kind) ((uint32_t)(slot) * (DM_GB_QUICK_STRIDE << 16) | (kind))
DM_FN uint32_t dm_gb_quick_kind_of(uint32_t number)
{
    if (number < 0x100u)
        return DM_GB_KIND(DM_GB_QUICK_ROM + (number >> 7), DM_GB_KIND_WRITES);
    if (number < 0x140u)
        return DM_GB_KIND(DM_GB_QUICK_VRAM, DM_GB_KIND_VRAM);
    /* Of the echo not the last bytes: what follows is OAM and registers, and a push that ends there
     * begins with SP in OAM (oam_bug.h). */
    if (number < 0x1FBu)
        return DM_GB_KIND(DM_GB_QUICK_VRAM - 4u + (number >> 6), 0u);
    return DM_GB_KIND(DM_GB_QUICK_HRAM, number == 0x1FFu ? 0u : DM_GB_KIND_ALL);
}

#if DM_ON_CUDA

/* What a block has in shared memory. */
typedef struct dm_gb_quick_shared {
    uint32_t kinds[DM_GB_KINDS];
    uint4 rows[2][DM_GB_QUICK_ROWS]; /* in halves, which lie side by side for all banks of memory */
    uint64_t slates[DM_GB_QUICK_LANES];
    dm_gb_quick_unit slots[DM_GB_QUICK_SLOTS * DM_GB_QUICK_LANES];
} dm_gb_quick_shared;
#define DM_GB_QUICK_ROWS_AT ((int)sizeof(uint32_t[DM_GB_KINDS]))
#define DM_GB_QUICK_SLATES_AT (DM_GB_QUICK_ROWS_AT + (int)sizeof(dm_gb_quick_row[DM_GB_QUICK_ROWS]))
#define DM_GB_QUICK_SLOTS_SIZE ((int)DM_GB_QUICK_SLOTS * (int)DM_GB_QUICK_STRIDE)
#define DM_GB_QUICK_SLOTS_AT (DM_GB_QUICK_SLATES_AT + (int)sizeof(uint64_t[DM_GB_QUICK_LANES]))

DM_STATIC_ASSERT(sizeof(dm_gb_quick_shared) - DM_GB_QUICK_SLOTS_AT - DM_GB_QUICK_SLOTS_SIZE < 16u,
                 "its parts follow one another");
DM_STATIC_ASSERT(DM_GB_QUICK_SLOTS_SIZE <= 0x10000u, "a kind has half a word for it");
DM_STATIC_ASSERT((DM_GB_VRAM | DM_GB_WRAM | DM_GB_HRAM | DM_GB_CART_RAM) % DM_GB_QUICK_UNIT == 0,
                 "memory begins at units");

/* Make room in shared memory and fill in rows and kinds; all threads of the block call this first.
 * `lowest`: of all addresses of ROMs, words and lane memory. */
DM_FN dm_gb_quick_place dm_gb_quick_open(uint64_t lowest)
{
    __shared__ dm_gb_quick_shared shared;
    for (uint32_t i = threadIdx.x; i < DM_GB_QUICK_ROWS; i += blockDim.x) {
        const dm_gb_quick_row row = dm_gb_quick_rows[i];
        shared.rows[0][i] = make_uint4(row.source, row.address, row.adder, row.flags);
        shared.rows[1][i] = make_uint4(row.put, row.numbers, row.changes, row.mask);
    }
    for (uint32_t i = threadIdx.x; i < DM_GB_KINDS; i += blockDim.x)
        shared.kinds[i] = dm_gb_quick_kind_of(i);
    __syncthreads();
    dm_gb_quick_place place;
    place.base = lowest - DM_GB_QUICK_BELOW;
    place.tables = (uint32_t)__cvta_generic_to_shared(&shared);
    /* By way of the warp, so that the compiler keeps it and does not work it out again and again.
     */
    place.slots = __shfl_sync(0xFFFFFFFFu,
                              (uint32_t)__cvta_generic_to_shared(shared.slots + DM_GB_QUICK_SEAT),
                              (int)dm_lane());
    return place;
}

DM_FN dm_gb_quick_unit dm_gb_quick_unit_at(uint32_t shared)
{
    dm_gb_quick_unit unit;
#if DM_GB_QUICK_NARROW
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(unit) : "r"(shared));
#else
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(unit) : "r"(shared));
#endif
    return unit;
}

/* The one that a kind names. */
DM_FN dm_gb_quick_unit dm_gb_quick_unit_of(const dm_gb_quick_place *place, uint32_t kind)
{
    return dm_gb_quick_unit_at(place->slots + (kind >> 16));
}

/* The byte `offset` behind where it points to. */
DM_FN const uint8_t *dm_gb_quick_at(const dm_gb_quick_place *place, dm_gb_quick_unit unit,
                                    uint32_t offset)
{
#if DM_GB_QUICK_NARROW
    return (const uint8_t *)(place->base + (uint64_t)unit * DM_GB_QUICK_UNIT) + offset;
#else
    (void)place;
    return (const uint8_t *)unit + offset;
#endif
}

DM_FN dm_gb_quick_unit dm_gb_quick_unit_in(const dm_gb_quick_place *place, uint32_t slot)
{
    return dm_gb_quick_unit_at(place->slots + slot * DM_GB_QUICK_STRIDE);
}

DM_FN void dm_gb_quick_set_slot(const dm_gb_quick_place *place, uint32_t slot, const void *value)
{
#if DM_GB_QUICK_NARROW
    const uint32_t units =
        value == 0 ? 0u : (uint32_t)(((uint64_t)value - place->base) / DM_GB_QUICK_UNIT);
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(place->slots + slot * DM_GB_QUICK_STRIDE),
                 "r"(units));
#else
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(place->slots + slot * DM_GB_QUICK_STRIDE),
                 "l"(value));
#endif
}

/* The slate's slot is of 64 bits: it may be anywhere. */
DM_FN uint32_t dm_gb_quick_slate_at(const dm_gb_quick_place *place)
{
    const uint32_t seat = place->slots - place->tables - (uint32_t)DM_GB_QUICK_SLOTS_AT;
    return place->tables + (uint32_t)DM_GB_QUICK_SLATES_AT +
           seat * (uint32_t)(sizeof(uint64_t) / sizeof(dm_gb_quick_unit));
}

DM_FN dm_gb_slate *dm_gb_quick_slate(const dm_gb_quick_place *place)
{
    uint64_t value;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(dm_gb_quick_slate_at(place)));
    return (dm_gb_slate *)value;
}

DM_FN void dm_gb_quick_set_slate(const dm_gb_quick_place *place, dm_gb_slate *slate)
{
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(dm_gb_quick_slate_at(place)), "l"(slate));
}

/* The row of the instruction that `word` is. */
DM_FN dm_gb_quick_row dm_gb_quick_row_at(const dm_gb_quick_place *place, uint32_t word)
{
    dm_gb_quick_row row;
    const uint32_t number = dm_byte_pick(word, 0, 0x4430u);
    const uint32_t at = place->tables + number * (uint32_t)sizeof(uint4);
    const int first = DM_GB_QUICK_ROWS_AT - (int)(DM_GB_QUICK_FIRST_ROW * sizeof(uint4));
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4+%5];"
        : "=r"(row.source), "=r"(row.address), "=r"(row.adder), "=r"(row.flags)
        : "r"(at), "n"(first));
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4+%5];"
        : "=r"(row.put), "=r"(row.numbers), "=r"(row.changes), "=r"(row.mask)
        : "r"(at), "n"(first + (int)(DM_GB_QUICK_ROWS * sizeof(uint4))));
    return row;
}

DM_FN uint32_t dm_gb_quick_kind(const dm_gb_quick_place *place, uint32_t address)
{
    uint32_t kind;
    asm("ld.shared.u32 %0, [%1];" : "=r"(kind) : "r"(place->tables + (address >> 7) * 4u));
    return kind;
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

DM_FN uint32_t dm_gb_quick_code(const uint8_t *at)
{
    uint32_t word;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
}

#else

DM_FN dm_gb_quick_unit dm_gb_quick_unit_of(const dm_gb_quick_place *place, uint32_t kind)
{
    return place->slots[kind >> 16];
}

DM_FN const uint8_t *dm_gb_quick_at(const dm_gb_quick_place *place, dm_gb_quick_unit unit,
                                    uint32_t offset)
{
    (void)place;
    return unit + offset;
}

DM_FN dm_gb_quick_unit dm_gb_quick_unit_in(const dm_gb_quick_place *place, uint32_t slot)
{
    return place->slots[slot];
}

DM_FN void dm_gb_quick_set_slot(const dm_gb_quick_place *place, uint32_t slot, const void *value)
{
    place->slots[slot] = (const uint8_t *)value;
}

/* (Behind the slots.) */
DM_FN dm_gb_slate *dm_gb_quick_slate(const dm_gb_quick_place *place)
{
    return (dm_gb_slate *)(uintptr_t)place->slots[DM_GB_QUICK_SLOTS];
}

DM_FN void dm_gb_quick_set_slate(const dm_gb_quick_place *place, dm_gb_slate *slate)
{
    place->slots[DM_GB_QUICK_SLOTS] = (const uint8_t *)slate;
}

DM_FN dm_gb_quick_row dm_gb_quick_row_at(const dm_gb_quick_place *place, uint32_t word)
{
    (void)place;
    return dm_gb_quick_rows[dm_byte_pick(word, 0, 0x4430u) - DM_GB_QUICK_FIRST_ROW];
}

DM_FN uint32_t dm_gb_quick_kind(const dm_gb_quick_place *place, uint32_t address)
{
    (void)place;
    return dm_gb_quick_kind_of(address >> 7);
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

DM_FN uint32_t dm_gb_quick_code(const uint8_t *at)
{
    return *(const uint32_t *)(const void *)at;
}

#endif

DM_FN const uint8_t *dm_gb_quick_slot(const dm_gb_quick_place *place, uint32_t slot)
{
    const dm_gb_quick_unit unit = dm_gb_quick_unit_in(place, slot);
    return unit == 0 ? 0 : dm_gb_quick_at(place, unit, 0);
}

#endif
#endif
