/* SPDX-License-Identifier: MIT */
/* fast_scalar.h - the fast path for a machine that is alone in its warp; kernel text.
 *
 * Lanes with different instructions share one straight line of code (fast.h). A lane that is alone is
 * faster when it branches to the part that its instruction needs, as long as the code stays in the
 * instruction cache. So there are a few kinds of instructions, each with its part of the fast path, all
 * together not longer than the fast path itself:
 *
 *   moves     from registers and constants into registers
 *   simple    with the adder, from registers to registers
 *   jumps     JR and JP
 *   loads     of one byte from plain memory, also through the adder
 *   stores    of one byte to plain memory
 *   stacks    PUSH, POP, CALL and RET
 *
 * All other instructions take the fast path, and so do accesses that are not plain. */
#ifndef DM_SIMT_FAST_SCALAR_H
#define DM_SIMT_FAST_SCALAR_H

#include "gb/simt/fast.h"

/* The instruction is done. The next one is at `pc` and has the word `ahead`. */
DM_FN void dm_gb_scalar_done(dm_gb_hot *hot, uint32_t pc, uint32_t ahead, uint32_t cycles)
{
    hot->pc = pc;
    hot->word = ahead;
    hot->clock += cycles;
    hot->count++;
}

DM_FN void dm_gb_scalar_jump(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                             const dm_gb_uop *uop, uint32_t word)
{
    const uint32_t after = hot->pc + DM_GB_UOP_LENGTH(*uop);
    const uint32_t value = dm_gb_fast_source(hot, uop, word);
    const bool taken = dm_gb_fast_taken(hot, uop);
    uint32_t next = ((uop->flags & DM_GB_UOP_RELATIVE) != 0 ? after : 0u) + value;
    next = (taken ? next : after) & 0xFFFFu;
    const uint32_t ahead = dm_gb_fetch_ahead(smem, next);
    dm_gb_scalar_done(hot, next, ahead,
                      taken ? DM_GB_UOP_CYCLES_TAKEN(*uop) : DM_GB_UOP_CYCLES(*uop));
    if (taken && (uop->flags & DM_GB_UOP_LOOPS) != 0 && next < after)
        dm_gb_fast_loop(m, hot, smem, word);
}

DM_FN bool dm_gb_scalar_load(dm_gb_hot *hot, const dm_gb_smem *smem, const dm_gb_uop *uop,
                             uint32_t word)
{
    const uint32_t address = dm_gb_fast_address(hot, uop, word);
    const uint32_t attributes = dm_gb_page_attributes(smem, address);
    const dm_gb_page_entry entry = dm_gb_page_entry_of(smem, attributes);
    if (!dm_gb_fast_plain(hot, uop, attributes, entry, address))
        return false;
    const uint8_t *at = dm_gb_page_byte(smem, entry, address);
    const uint32_t value = dm_global_load_u8(at);
    const uint32_t after = (hot->pc + DM_GB_UOP_LENGTH(*uop)) & 0xFFFFu;
    const uint32_t ahead = dm_gb_fetch_ahead(smem, after);
    const uint32_t result = dm_gb_fast_add(hot, uop, value, true);
    dm_gb_fast_put(hot, uop, result, false);
    dm_gb_scalar_done(hot, after, ahead, DM_GB_UOP_CYCLES(*uop));
    return true;
}

DM_FN bool dm_gb_scalar_store(dm_gb_hot *hot, const dm_gb_smem *smem, const dm_gb_uop *uop,
                              uint32_t word)
{
    const uint32_t address = dm_gb_fast_address(hot, uop, word);
    const uint32_t attributes = dm_gb_page_attributes(smem, address);
    const dm_gb_page_entry entry = dm_gb_page_entry_of(smem, attributes);
    if (!dm_gb_fast_plain(hot, uop, attributes, entry, address))
        return false;
    const uint8_t *at = dm_gb_page_byte(smem, entry, address);
    const uint32_t after = (hot->pc + DM_GB_UOP_LENGTH(*uop)) & 0xFFFFu;
    const uint32_t ahead = dm_gb_fetch_ahead(smem, after);
    const uint32_t value = dm_gb_fast_source(hot, uop, word);
    dm_global_store_u8_if(true, at, value);
    dm_gb_fast_mix_write(hot, address, value & 0xFFu);
    dm_gb_fast_put(hot, uop, 0, false);
    dm_gb_scalar_done(hot, after, ahead, DM_GB_UOP_CYCLES(*uop));
    return true;
}

DM_FN bool dm_gb_scalar_stack(dm_gb_hot *hot, const dm_gb_smem *smem, const dm_gb_uop *uop,
                              uint32_t word)
{
    const uint32_t flags = uop->flags;
    const uint32_t after = (hot->pc + DM_GB_UOP_LENGTH(*uop)) & 0xFFFFu;
    if (!dm_gb_fast_taken(hot, uop)) {
        dm_gb_scalar_done(hot, after, dm_gb_fetch_ahead(smem, after), DM_GB_UOP_CYCLES(*uop));
        return true;
    }
    const bool writes = (flags & DM_GB_UOP_WRITES) != 0, jumps = (flags & DM_GB_UOP_JUMPS) != 0;
    const uint32_t moved = (hot->sp + DM_GB_UOP_SP_CHANGE(*uop)) & 0xFFFFu;
    const uint32_t address = writes ? moved : hot->sp;
    const uint32_t attributes = dm_gb_page_attributes(smem, address);
    const dm_gb_page_entry entry = dm_gb_page_entry_of(smem, attributes);
    if (!dm_gb_fast_plain(hot, uop, attributes, entry, address))
        return false;
    const uint8_t *at = dm_gb_page_byte(smem, entry, address);
    uint32_t value = dm_gb_fast_source(hot, uop, word);
    if (writes) {
        const uint32_t stored = (flags & DM_GB_UOP_CALLS) != 0 ? after : value;
        dm_global_store_u8_if(true, at, stored);
        dm_global_store_u8_if(true, at + 1, stored >> 8);
        dm_gb_fast_mix_write(hot, address, stored);
    } else {
        value = dm_global_load_u8(at) | dm_global_load_u8(at + 1) << 8;
    }
    const uint32_t next = jumps ? value : after;
    const uint32_t ahead = dm_gb_fetch_ahead(smem, next);
    dm_gb_fast_put(hot, uop, value, true);
    hot->sp = moved;
    dm_gb_scalar_done(hot, next, ahead, DM_GB_UOP_CYCLES_TAKEN(*uop));
    return true;
}

/* The instruction at PC, if it is one of these kinds and no event is due; false: nothing has
 * changed. */
DM_FN bool dm_gb_scalar(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem)
{
    const uint32_t word = hot->word;
    const dm_gb_uop uop = dm_gb_uop_at(smem, word);
    const uint32_t flags = uop.flags;
    if ((flags & DM_GB_UOP_SIMPLE) != 0) {
        const uint32_t value = dm_gb_fast_source(hot, &uop, word);
        if (DM_UNLIKELY(((flags & DM_GB_UOP_ADJUST) != 0) & ((value & 0xFF00u) == 0xFE00u)))
            return false;
        const uint32_t after = (hot->pc + DM_GB_UOP_LENGTH(uop)) & 0xFFFFu;
        const uint32_t ahead = dm_gb_fetch_ahead(smem, after);
        uint32_t result = value;
        if ((flags & DM_GB_UOP_ADDS) != 0)
            result = dm_gb_fast_add(hot, &uop, value, true);
        dm_gb_fast_put(hot, &uop, result, true);
        dm_gb_scalar_done(hot, after, ahead, DM_GB_UOP_CYCLES(uop));
        return true;
    }
    if ((flags & DM_GB_UOP_NOT_SCALAR) != 0)
        return false;
    if ((flags & DM_GB_UOP_STACK) != 0)
        return dm_gb_scalar_stack(hot, smem, &uop, word);
    if ((flags & DM_GB_UOP_JUMPS) != 0) {
        dm_gb_scalar_jump(m, hot, smem, &uop, word);
        return true;
    }
    switch (flags & (DM_GB_UOP_READS | DM_GB_UOP_WRITES | DM_GB_UOP_TWO)) {
    case DM_GB_UOP_READS:
        return dm_gb_scalar_load(hot, smem, &uop, word);
    case DM_GB_UOP_WRITES:
        return dm_gb_scalar_store(hot, smem, &uop, word);
    default:
        return false;
    }
}

/* Execute instructions until one traps; `*executed` counts them. */
DM_FN enum dm_gb_trap dm_gb_fast_scalar(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                        enum dm_gb_trap trap, uint32_t *executed)
{
    uint32_t count = 0;
    while (dm_gb_trap_runs(trap)) {
        const bool replayed = trap == DM_GB_TRAP_REPLAY; /* only the fast path replays */
        trap = DM_GB_TRAP_NONE;
        if (!replayed && !dm_gb_before(hot->clock, hot->next_event)) {
            trap = DM_GB_TRAP_EVENT;
        } else {
            count++;
            if (replayed || !dm_gb_scalar(m, hot, smem))
                trap = dm_gb_fast(m, hot, smem, replayed);
        }
    }
    *executed += count;
    return trap;
}

#endif
