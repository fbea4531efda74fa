/* SPDX-License-Identifier: MIT */
/* limits.h - where memory has to lie for page tables (page_table.h), sizes of blocks; for the host too; kernel text. */
#ifndef DM_SIMT_LIMITS_H
#define DM_SIMT_LIMITS_H

/* Blocks of more machines than this have page table entries of 32 bits. */
#define DM_GB_PAGE_WIDE_MACHINES 128u
#define DM_GB_PAGE_NARROW_FOR(lanes) ((lanes) > DM_GB_PAGE_WIDE_MACHINES)

/* Those count in units, from DM_GB_PAGE_BELOW bytes below the lowest address of plain memory, since an entry says where
 * address 0 of the Game Boy would be (0 is NULL). All plain memory has to lie in a span of DM_GB_PAGE_SPAN bytes. */
#define DM_GB_PAGE_UNIT 32u
#define DM_GB_PAGE_BELOW 0x40000u
#define DM_GB_PAGE_SPAN ((1ull << 32) * DM_GB_PAGE_UNIT - DM_GB_PAGE_BELOW)

/* Page attributes (smem.h): which accesses to a page are not plain: writes, all while VRAM is not open, or all. An
 * instruction has the ones that it asks about in dm_gb_uop.mask. */
#define DM_GB_PAGE_NO_WRITES 2u
#define DM_GB_PAGE_IS_VRAM 4u
#define DM_GB_PAGE_NO_ACCESS 8u

/* Threads of the one block that sorts machines (rebalance.h). */
#define DM_SIMT_SORTERS 1024u

#endif
