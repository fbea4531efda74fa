/* SPDX-License-Identifier: MIT */
/* smem.h - page tables, uops and page attributes in shared memory, for the fast path (fast.h); kernel text.
 *
 * Lanes can look up different words of shared memory at once. First come the tables that all machines share: page
 * attributes and uops (uop.h); then the page tables (page_table.h), each entry for all the block's machines side by
 * side. Shared memory is taken from the L1 cache, so in large blocks an entry has 32 bits. */
#ifndef DM_SIMT_SMEM_H
#define DM_SIMT_SMEM_H

#include "gb/machine/context.h"
#include "gb/simt/limits.h"
#include "gb/simt/uop.h"

/* Entries of a page table. The first two are 16 KiB of ROM each, then come 8 KiB of addresses each, then FF80..FFFF: an
 * entry is where address 0 would be; NULL: not plain. The last three are for instruction fetch, 16 KiB of ROM each and
 * all other addresses, which have no predecoded words: where the word of address 0 would be (of the last, that of
 * address 8000). */
enum dm_gb_page_address {
    DM_GB_PAGE_ROM,
    DM_GB_PAGE_VRAM = 2,
    DM_GB_PAGE_CART,
    DM_GB_PAGE_WRAM,
    DM_GB_PAGE_ECHO,
    DM_GB_PAGE_HRAM,
    DM_GB_PAGE_CODE,
    DM_GB_PAGE_NO_CODE = DM_GB_PAGE_CODE + 2,
    DM_GB_PAGES
};

#ifndef DM_GB_BLOCK_MACHINES
#define DM_GB_BLOCK_MACHINES 256 /* machines of a block at most */
#endif
#ifndef DM_GB_BLOCK_SLOT
#define DM_GB_BLOCK_SLOT DM_BLOCK_THREAD /* this thread's number among them */
#endif

/* An entry as it is stored; 0: not plain. */
#define DM_GB_PAGE_NARROW DM_GB_PAGE_NARROW_FOR(DM_GB_BLOCK_MACHINES)
#if DM_GB_PAGE_NARROW
typedef uint32_t dm_gb_page_entry;
#else
typedef uint64_t dm_gb_page_entry;
#endif
#define DM_GB_PAGE_STRIDE ((uint32_t)sizeof(dm_gb_page_entry) * DM_GB_BLOCK_MACHINES)

/* Page attributes, what is known of 128 bytes of addresses whatever is mapped there: in the upper half the offset of
 * the page's entry from the first one, below it which accesses are not plain (limits.h). */
#define DM_GB_PAGE_ATTRIBUTES 512u
#define DM_GB_PAGE_ATTRIBUTE(page, attributes)                                                     \
    ((uint32_t)(page) * (DM_GB_PAGE_STRIDE << 16) | (attributes))
DM_FN uint32_t dm_gb_page_attributes_of(uint32_t number)
{
    if (number < 0x100u)
        return DM_GB_PAGE_ATTRIBUTE(DM_GB_PAGE_ROM + (number >> 7), DM_GB_PAGE_NO_WRITES);
    if (number < 0x140u)
        return DM_GB_PAGE_ATTRIBUTE(DM_GB_PAGE_VRAM, DM_GB_PAGE_IS_VRAM);
    /* Of the echo not the last bytes: what follows is OAM and registers, and a push that ends there
     * begins with SP in OAM (oam_bug.h). */
    if (number < 0x1FBu)
        return DM_GB_PAGE_ATTRIBUTE(DM_GB_PAGE_VRAM - 4u + (number >> 6), 0u);
    return DM_GB_PAGE_ATTRIBUTE(DM_GB_PAGE_HRAM, number == 0x1FFu ? 0u : DM_GB_PAGE_NO_ACCESS);
}

/* What a block has in shared memory. */
typedef struct dm_gb_smem_layout {
    uint32_t attributes[DM_GB_PAGE_ATTRIBUTES];
    dm_u32x4 uops[2][DM_GB_UOPS]; /* in halves, which lie side by side for all banks of memory */
    uint64_t cold[DM_GB_BLOCK_MACHINES];
    dm_gb_page_entry pages[DM_GB_PAGES * DM_GB_BLOCK_MACHINES];
} dm_gb_smem_layout;
#define DM_GB_SMEM_UOPS_AT ((int)sizeof(uint32_t[DM_GB_PAGE_ATTRIBUTES]))
#define DM_GB_SMEM_COLD_AT (DM_GB_SMEM_UOPS_AT + (int)sizeof(dm_gb_uop[DM_GB_UOPS]))
#define DM_GB_SMEM_PAGES_SIZE ((int)DM_GB_PAGES * (int)DM_GB_PAGE_STRIDE)
#define DM_GB_SMEM_PAGES_AT (DM_GB_SMEM_COLD_AT + (int)sizeof(uint64_t[DM_GB_BLOCK_MACHINES]))

DM_STATIC_ASSERT(sizeof(dm_gb_smem_layout) - DM_GB_SMEM_PAGES_AT - DM_GB_SMEM_PAGES_SIZE < 16u,
                 "its parts follow one another");
DM_STATIC_ASSERT(DM_GB_SMEM_PAGES_SIZE <= 0x10000u, "attributes have half a word for the offset");
DM_STATIC_ASSERT((DM_GB_VRAM | DM_GB_WRAM | DM_GB_HRAM | DM_GB_CART_RAM) % DM_GB_PAGE_UNIT == 0,
                 "memory begins at units");

/* Make room in shared memory and fill in uops and attributes; all threads of the block call this first. `lowest`: of
 * all addresses of ROMs, their predecoded words and machine memory. `uops`: all of them, in order. */
DM_FN dm_gb_smem dm_gb_smem_open(uint64_t lowest, const dm_gb_uop *uops)
{
    static DM_SHARED dm_gb_smem_layout shared;
    const dm_u32x4 *halves = (const dm_u32x4 *)(const void *)uops;
    for (uint32_t i = DM_BLOCK_THREAD; i < 2u * DM_GB_UOPS; i += DM_BLOCK_THREADS)
        shared.uops[i % 2u][i / 2u] = halves[i];
    for (uint32_t i = DM_BLOCK_THREAD; i < DM_GB_PAGE_ATTRIBUTES; i += DM_BLOCK_THREADS)
        shared.attributes[i] = dm_gb_page_attributes_of(i);
    dm_block_sync();
    dm_gb_smem smem;
    smem.base = lowest - DM_GB_PAGE_BELOW;
    smem.tables = dm_shared_address(&shared);
    /* Through a shuffle, so that the compiler keeps the result and does not compute it at each use. */
    smem.pages = dm_from_lane(dm_shared_address(shared.pages + DM_GB_BLOCK_SLOT), dm_lane());
    return smem;
}

DM_FN dm_gb_page_entry dm_gb_page_entry_at(uint32_t shared)
{
#if DM_GB_PAGE_NARROW
    return dm_shared_load_u32(shared);
#else
    return dm_shared_load_u64(shared);
#endif
}

/* The entry that page attributes name. */
DM_FN dm_gb_page_entry dm_gb_page_entry_of(const dm_gb_smem *smem, uint32_t attributes)
{
    return dm_gb_page_entry_at(smem->pages + (attributes >> 16));
}

/* The byte `offset` behind where it points to. */
DM_FN const uint8_t *dm_gb_page_byte(const dm_gb_smem *smem, dm_gb_page_entry entry,
                                     uint32_t offset)
{
#if DM_GB_PAGE_NARROW
    return (const uint8_t *)(smem->base + (uint64_t)entry * DM_GB_PAGE_UNIT) + offset;
#else
    (void)smem;
    return (const uint8_t *)entry + offset;
#endif
}

DM_FN dm_gb_page_entry dm_gb_page_entry_in(const dm_gb_smem *smem, uint32_t page)
{
    return dm_gb_page_entry_at(smem->pages + page * DM_GB_PAGE_STRIDE);
}

DM_FN void dm_gb_page_set(const dm_gb_smem *smem, uint32_t page, const void *value)
{
#if DM_GB_PAGE_NARROW
    const uint32_t units =
        value == 0 ? 0u : (uint32_t)(((uint64_t)value - smem->base) / DM_GB_PAGE_UNIT);
    dm_shared_store_u32(smem->pages + page * DM_GB_PAGE_STRIDE, units);
#else
    dm_shared_store_u64(smem->pages + page * DM_GB_PAGE_STRIDE, (uint64_t)value);
#endif
}

/* The pointer to cold has 64 bits in all blocks: cold may be anywhere. */
DM_FN uint32_t dm_gb_smem_cold_at(const dm_gb_smem *smem)
{
    const uint32_t slot = smem->pages - smem->tables - (uint32_t)DM_GB_SMEM_PAGES_AT;
    return smem->tables + (uint32_t)DM_GB_SMEM_COLD_AT + slot * (DM_GB_PAGE_NARROW ? 2u : 1u);
}

DM_FN dm_gb_cold *dm_gb_smem_cold(const dm_gb_smem *smem)
{
    return (dm_gb_cold *)dm_shared_load_u64(dm_gb_smem_cold_at(smem));
}

DM_FN void dm_gb_smem_set_cold(const dm_gb_smem *smem, dm_gb_cold *cold)
{
    dm_shared_store_u64(dm_gb_smem_cold_at(smem), (uint64_t)cold);
}

/* The uop of the instruction that `word` is. */
DM_FN dm_gb_uop dm_gb_uop_at(const dm_gb_smem *smem, uint32_t word)
{
    dm_gb_uop uop;
    const uint32_t number = dm_byte_pick(word, 0, 0x4430u);
    const uint32_t at = smem->tables + number * (uint32_t)sizeof(dm_u32x4);
    const int first = DM_GB_SMEM_UOPS_AT - (int)(DM_GB_UOP_FIRST * sizeof(dm_u32x4));
    DM_SHARED_TABLE_U32X4(uop.source, uop.address, uop.adder, uop.flags, at, first);
    DM_SHARED_TABLE_U32X4(uop.put, uop.numbers, uop.changes, uop.mask, at,
                          first + (int)(DM_GB_UOPS * sizeof(dm_u32x4)));
    return uop;
}

DM_FN uint32_t dm_gb_page_attributes(const dm_gb_smem *smem, uint32_t address)
{
    return dm_shared_table_u32(smem->tables + (address >> 7) * 4u);
}

DM_FN const uint8_t *dm_gb_page_address(const dm_gb_smem *smem, uint32_t page)
{
    const dm_gb_page_entry entry = dm_gb_page_entry_in(smem, page);
    return entry == 0 ? 0 : dm_gb_page_byte(smem, entry, 0);
}

#endif
