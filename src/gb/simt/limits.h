/* SPDX-License-Identifier: MIT */
/* limits.h - limits that kernels and the host must agree on: where page tables (page_table.h) need memory to lie, page
 * attributes, the block that sorts machines; kernel text. */
#ifndef DM_SIMT_LIMITS_H
#define DM_SIMT_LIMITS_H

/* Blocks of more machines than this have page table entries of 32 bits. */
#define DM_GB_PAGE_WIDE_MACHINES 128u
#define DM_GB_PAGE_NARROW_FOR(lanes) ((lanes) > DM_GB_PAGE_WIDE_MACHINES)

/* An entry of 32 bits counts units from DM_GB_PAGE_BELOW bytes below the lowest address of plain memory, since it says
 * where address 0 of the Game Boy would be (0 is NULL). All plain memory has to lie in DM_GB_PAGE_SPAN bytes. */
#define DM_GB_PAGE_UNIT 32u
#define DM_GB_PAGE_BELOW 0x40000u
#define DM_GB_PAGE_SPAN ((1ull << 32) * DM_GB_PAGE_UNIT - DM_GB_PAGE_BELOW)

/* Page attributes (smem.h) say which accesses to a page are not plain: writes, all while VRAM is not open, or all. The
 * bits that matter to an instruction are in dm_gb_uop.mask. */
#define DM_GB_PAGE_NO_WRITES 2u
#define DM_GB_PAGE_IS_VRAM 4u
#define DM_GB_PAGE_NO_ACCESS 8u

/* Threads of the one block that sorts machines (rebalance.h). */
#define DM_SIMT_SORTERS 1024u

#endif
