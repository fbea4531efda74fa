/* SPDX-License-Identifier: MIT */
/* hooks.h - places in a program that are watched for: a bit each, set when an instruction begins there; kernel text.
 *
 * It costs nothing elsewhere, since a hook is marked where instructions are fetched, as a debugger sets breakpoints:
 *
 *   CPU   a second copy of the ROM, from which opcodes are taken, has DM_GB_HOOK_MARK there, an opcode that does not
 *         exist; cpu/run.h then executes the instruction byte by byte from the ROM itself (dm_gb_careful_step)
 *   GPU   the predecoded ROM has DM_GB_HOOK_WORD there, so that the fast path fetches slowly (simt/page_table.h);
 *         kernels are compiled with hooks only for batches that have some
 *
 * A mark only says "look here": bits are set by dm_gb_hooks_meet, which compares address and bank. Code outside of ROM
 * cannot be marked; pages with hooks are executed carefully there. Where idle loops are skipped a whole pass has been
 * executed in the same run, so its bits are set. tests/gb/test_hooks.c compares with a trace of every instruction. */
#ifndef DM_GB_HOOKS_H
#define DM_GB_HOOKS_H

#include "gb/machine/machine.h"

#define DM_GB_HOOKS_MAX 64u
#define DM_GB_HOOK_ANY_BANK 0xFFFFu /* also outside of ROM and cartridge RAM, which have no banks */
#define DM_GB_HOOK_MARK 0xD3u

/* Is this text compiled with hooks? On a CPU they are there in any case. */
#ifndef DM_GB_HOOKS
#define DM_GB_HOOKS (!DM_MANY_LANES)
#endif

typedef struct dm_gb_hook_place {
    uint16_t address, bank;
} dm_gb_hook_place;

/* The hooks of a ROM. */
typedef struct dm_gb_hook_table {
    const uint8_t *marked;      /* CPU: the ROM with marks */
    const uint32_t *predecoded; /* GPU: its instructions as words, with marks (simt/predecode.h) */
    uint32_t count, ram_pages; /* a bit for each 4 KiB of addresses outside of ROM that has hooks */
    dm_gb_hook_place places[DM_GB_HOOKS_MAX];
    uint64_t together
        [DM_GB_HOOKS_MAX]; /* GPU: the bits of all hooks where this one is (simt/predecode.h) */
} dm_gb_hook_table;

/* The bank of ROM or cartridge RAM that is mapped at an address; 0 for other memory. */
DM_FN uint32_t dm_gb_bank_at(const dm_gb_cart *cart, uint32_t address)
{
    if (address < 0x8000u)
        return (address < 0x4000u ? cart->rom_low : cart->rom_high) >> 14;
    return address >> 13 == 5u && cart->ram_window != DM_GB_NO_RAM ? cart->ram_window >> 13 : 0u;
}

/* An instruction begins at this address. */
DM_FN void dm_gb_hooks_meet(const dm_gb_hook_table *table, uint64_t *bits, uint32_t address,
                            uint32_t bank)
{
    uint64_t met = 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < table->count; i++) {
        const dm_gb_hook_place place = table->places[i];
        if (place.address == address && (place.bank == bank || place.bank == DM_GB_HOOK_ANY_BANK))
            met |= 1ull << i;
    }
    if (met != 0)
        *bits |= met;
}

/* The same, where the machine is at hand. The boot ROM has no hooks. */
DM_FN void dm_gb_hooks_meet_pc(const dm_gb_hook_table *table, uint64_t *bits,
                               const dm_gb_machine *m, const dm_gb_cart *cart, uint32_t pc)
{
    if (pc >= 0x100u || !m->boot_mapped)
        dm_gb_hooks_meet(table, bits, pc, dm_gb_bank_at(cart, pc));
}

#endif
