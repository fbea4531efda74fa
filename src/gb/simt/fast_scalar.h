/* SPDX-License-Identifier: MIT */
/* fast_scalar.h - the short road for a machine that is alone in its warp; kernel text.
 *
 * Where lanes execute different instructions, one road for all is what they can share (fast.h). A
 * lane of its own does better by going only where its instruction leads, as long as that is not
 * far: jumps to code that is not at hand cost more than they save. So there are a few kinds, each
 * with the part of the road that it needs, all together not longer than the road itself:
 *
 *   moves     from registers and constants into registers
 *   simple    with the adder, from registers to registers
 *   jumps     JR and JP
 *   loads     of one byte from plain memory, also through the adder
 *   stores    of one byte to plain memory
 *   stacks    PUSH, POP, CALL and RET
 *
 * Everything else, and whatever meets a condition that its kind does not know, takes the road. */
#ifndef DM_SIMT_FAST_SCALAR_H
#define DM_SIMT_FAST_SCALAR_H

#include "gb/simt/fast.h"

#if DM_GB_GPU_FORM

/* The instruction is done and that at `pc` follows; it has the word `ahead`. */
DM_FN void dm_gb_alone_done(dm_gb_hot *hot, uint32_t pc, uint32_t ahead, uint32_t cycles)
{
    hot->pc = pc;
    hot->word = ahead;
    hot->clock += cycles;
    hot->count++;
}

DM_FN void dm_gb_alone_jump(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_quick_place *place,
                            const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t after = hot->pc + DM_GB_Q_LENGTH(*row);
    const uint32_t value = dm_gb_quick_source(hot, row, word);
    const bool taken = dm_gb_quick_taken(hot, row);
    uint32_t next = ((row->flags & DM_GB_Q_RELATIVE) != 0 ? after : 0u) + value;
    next = (taken ? next : after) & 0xFFFFu;
    const uint32_t ahead = dm_gb_quick_ahead(place, next);
    dm_gb_alone_done(hot, next, ahead, taken ? DM_GB_Q_CYCLES_TAKEN(*row) : DM_GB_Q_CYCLES(*row));
    if (taken && (row->flags & DM_GB_Q_LOOPS) != 0 && next < after)
        dm_gb_quick_loop(m, hot, place, word);
}

DM_FN bool dm_gb_alone_load(dm_gb_hot *hot, const dm_gb_quick_place *place,
                            const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t address = dm_gb_quick_address(hot, row, word);
    const uint32_t kind = dm_gb_quick_kind(place, address);
    const dm_gb_quick_unit slot = dm_gb_quick_unit_of(place, kind);
    if (!dm_gb_quick_plain(hot, row, kind, slot, address))
        return false;
    const uint8_t *at = dm_gb_quick_at(place, slot, address);
    const uint32_t value = dm_gb_quick_load(at);
    const uint32_t after = (hot->pc + DM_GB_Q_LENGTH(*row)) & 0xFFFFu;
    const uint32_t ahead = dm_gb_quick_ahead(place, after);
    const uint32_t result = dm_gb_quick_add(hot, row, value, true);
    dm_gb_quick_put(hot, row, result, false);
    dm_gb_alone_done(hot, after, ahead, DM_GB_Q_CYCLES(*row));
    return true;
}

DM_FN bool dm_gb_alone_store(dm_gb_hot *hot, const dm_gb_quick_place *place,
                             const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t address = dm_gb_quick_address(hot, row, word);
    const uint32_t kind = dm_gb_quick_kind(place, address);
    const dm_gb_quick_unit slot = dm_gb_quick_unit_of(place, kind);
    if (!dm_gb_quick_plain(hot, row, kind, slot, address))
        return false;
    const uint8_t *at = dm_gb_quick_at(place, slot, address);
    const uint32_t after = (hot->pc + DM_GB_Q_LENGTH(*row)) & 0xFFFFu;
    const uint32_t ahead = dm_gb_quick_ahead(place, after);
    const uint32_t value = dm_gb_quick_source(hot, row, word);
    dm_gb_quick_store_if(true, at, value);
    dm_gb_quick_note_write(hot, address, value & 0xFFu);
    dm_gb_quick_put(hot, row, 0, false);
    dm_gb_alone_done(hot, after, ahead, DM_GB_Q_CYCLES(*row));
    return true;
}

DM_FN bool dm_gb_alone_stack(dm_gb_hot *hot, const dm_gb_quick_place *place,
                             const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t flags = row->flags;
    const uint32_t after = (hot->pc + DM_GB_Q_LENGTH(*row)) & 0xFFFFu;
    if (!dm_gb_quick_taken(hot, row)) {
        dm_gb_alone_done(hot, after, dm_gb_quick_ahead(place, after), DM_GB_Q_CYCLES(*row));
        return true;
    }
    const bool writes = (flags & DM_GB_Q_WRITES) != 0, jumps = (flags & DM_GB_Q_JUMPS) != 0;
    const uint32_t moved = (hot->sp + DM_GB_Q_SP_CHANGE(*row)) & 0xFFFFu;
    const uint32_t address = writes ? moved : hot->sp;
    const uint32_t kind = dm_gb_quick_kind(place, address);
    const dm_gb_quick_unit slot = dm_gb_quick_unit_of(place, kind);
    if (!dm_gb_quick_plain(hot, row, kind, slot, address))
        return false;
    const uint8_t *at = dm_gb_quick_at(place, slot, address);
    uint32_t value = dm_gb_quick_source(hot, row, word);
    if (writes) {
        const uint32_t stored = (flags & DM_GB_Q_CALLS) != 0 ? after : value;
        dm_gb_quick_store_if(true, at, stored);
        dm_gb_quick_store_if(true, at + 1, stored >> 8);
        dm_gb_quick_note_write(hot, address, stored);
    } else {
        value = dm_gb_quick_load(at) | dm_gb_quick_load(at + 1) << 8;
    }
    const uint32_t next = jumps ? value : after;
    const uint32_t ahead = dm_gb_quick_ahead(place, next);
    dm_gb_quick_put(hot, row, value, true);
    hot->sp = moved;
    dm_gb_alone_done(hot, next, ahead, DM_GB_Q_CYCLES_TAKEN(*row));
    return true;
}

/* The instruction at PC, if it is one of these kinds and no event is due; false: nothing has
 * changed. */
DM_FN bool dm_gb_alone(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_quick_place *place)
{
    const uint32_t word = hot->word;
    const dm_gb_quick_row row = dm_gb_quick_row_at(place, word);
    const uint32_t flags = row.flags;
    if ((flags & DM_GB_Q_SIMPLE) != 0) {
        const uint32_t value = dm_gb_quick_source(hot, &row, word);
        if (DM_UNLIKELY(((flags & DM_GB_Q_ADJUST) != 0) & ((value & 0xFF00u) == 0xFE00u)))
            return false;
        const uint32_t after = (hot->pc + DM_GB_Q_LENGTH(row)) & 0xFFFFu;
        const uint32_t ahead = dm_gb_quick_ahead(place, after);
        uint32_t result = value;
        if ((flags & DM_GB_Q_ADDS) != 0)
            result = dm_gb_quick_add(hot, &row, value, true);
        dm_gb_quick_put(hot, &row, result, true);
        dm_gb_alone_done(hot, after, ahead, DM_GB_Q_CYCLES(row));
        return true;
    }
    if ((flags & DM_GB_Q_UNKIND) != 0)
        return false;
    if ((flags & DM_GB_Q_STACK) != 0)
        return dm_gb_alone_stack(hot, place, &row, word);
    if ((flags & DM_GB_Q_JUMPS) != 0) {
        dm_gb_alone_jump(m, hot, place, &row, word);
        return true;
    }
    switch (flags & (DM_GB_Q_READS | DM_GB_Q_WRITES | DM_GB_Q_TWO)) {
    case DM_GB_Q_READS:
        return dm_gb_alone_load(hot, place, &row, word);
    case DM_GB_Q_WRITES:
        return dm_gb_alone_store(hot, place, &row, word);
    default:
        return false;
    }
}

/* Execute instructions until something is needed; `*executed` counts them. */
DM_FN enum dm_gb_need dm_gb_quick_alone(dm_gb_machine *m, dm_gb_hot *hot,
                                        const dm_gb_quick_place *place, enum dm_gb_need need,
                                        uint32_t *executed)
{
    uint32_t count = 0;
    while (dm_gb_need_none(need)) {
        const bool granted = need == DM_GB_NEED_GRANTED; /* which only the road knows */
        need = DM_GB_NEED_NOTHING;
        if (!granted && !dm_gb_before(hot->clock, hot->next_event)) {
            need = DM_GB_NEED_EVENT;
        } else {
            count++;
            if (granted || !dm_gb_alone(m, hot, place))
                need = dm_gb_quick(m, hot, place, granted);
        }
    }
    *executed += count;
    return need;
}

#endif
#endif
