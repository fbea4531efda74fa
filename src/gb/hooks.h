/* SPDX-License-Identifier: MIT */
/* hooks.h - hooks: places in a program, a bit each, which is set when an instruction begins there; kernel text.
 *
 * A hook is marked in the bytes that instructions are fetched from, as a debugger sets breakpoints. So instructions
 * without a hook cost nothing more:
 *
 *   CPU   a second copy of the ROM, from which instructions are taken, has DM_GB_HOOK_MARK there, an opcode that does
 *         not exist; a third has the number of the hook. cpu/run.h sets the bit and executes the ROM's own opcode.
 *         Where an instruction's operands are marked, it is executed from the ROM itself
 *   GPU   the predecoded ROM has DM_GB_HOOK_WORD there, so that the fast path fetches slowly (simt/page_table.h);
 *         kernels are compiled with hooks only for batches that have some
 *
 * A mark alone proves nothing: the address is compared before bits are set, and the bank where the mark does not tell
 * it. RAM cannot be marked; on its pages with hooks the address of every instruction is compared. A skipped idle loop
 * has executed a whole pass in the same run before, so its bits are set. tests/gb/test_hooks.c compares the bits with a
 * trace of every instruction. */
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
    const uint8_t *numbers;     /* CPU: for each of its bytes, DM_GB_HOOK_NUMBER and the like */
    const uint32_t *predecoded; /* GPU: its instructions as words, with marks (simt/predecode.h) */
    uint32_t count, ram_pages; /* a bit for each 4 KiB of addresses outside of ROM that has hooks */
    dm_gb_hook_place places[DM_GB_HOOKS_MAX];
    uint64_t together[DM_GB_HOOKS_MAX]; /* the bits of all hooks where this one is */
    uint64_t ram_filter; /* CPU: a bit for each address modulo 64 outside of ROM that has hooks */
} dm_gb_hook_table;

/* What `numbers` has for a marked byte: the number of a hook there from 1 on, whose `together` are met if the address
 * is right, or DM_GB_HOOK_SEVERAL, since places are at two addresses, or 0; and whether the operands of an instruction
 * there are marked. */
#define DM_GB_HOOK_NUMBER 0x7Fu
#define DM_GB_HOOK_SEVERAL 0x7Fu
#define DM_GB_HOOK_OPERANDS 0x80u

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

/* An instruction begins at this address of ROM, where the CPU's copy is marked. */
DM_FN void dm_gb_hooks_meet_number(const dm_gb_hook_table *table, uint64_t *bits,
                                   const dm_gb_cart *cart, uint32_t address, uint32_t number)
{
    if (DM_UNLIKELY(number == DM_GB_HOOK_SEVERAL))
        dm_gb_hooks_meet(table, bits, address, dm_gb_bank_at(cart, address));
    else if (number != 0 && table->places[number - 1u].address == address)
        *bits |= table->together[number - 1u];
}

/* An instruction begins at `pc`, in any memory. The boot ROM has no hooks. */
DM_FN void dm_gb_hooks_meet_pc(const dm_gb_hook_table *table, uint64_t *bits,
                               const dm_gb_machine *m, const dm_gb_cart *cart, uint32_t pc)
{
    if (pc >= 0x100u || !m->boot_mapped)
        dm_gb_hooks_meet(table, bits, pc, dm_gb_bank_at(cart, pc));
}

#endif
