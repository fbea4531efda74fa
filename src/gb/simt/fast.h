/* SPDX-License-Identifier: MIT */
/* fast.h - the short road: one instruction that touches only plain memory; kernel text.
 *
 * Lanes of a warp that execute different instructions should take the same way through the code,
 * and that way should be short. So here every instruction is the same straight line of arithmetic,
 * steered by its row (uop.h): pick the source's bytes, at most one place in memory, one
 * adder, put the result's bytes back. Time moves once, since nothing that is done here depends on
 * the exact moment:
 *
 *   plain memory             ROM, WRAM, HRAM, cartridge RAM that is mapped
 *   VRAM                     while nobody else looks at it (hot.vram_until)
 *   the register read last   while it cannot change (hot.io_until)
 *   some registers           whose answer follows from what is known (predict.h)
 *
 * An instruction with one access of another kind stops before anything has changed; when a read
 * has been made for it, it is begun again and goes through; a write is all that was left of it.
 * What this road does not know at all takes the long one (sm83.h with bus.h), which does everything
 * and is the reference: tests/gb/test_quick.c compares the two. Where plain memory is, says
 * page_table.h. */
#ifndef DM_SIMT_FAST_H
#define DM_SIMT_FAST_H

#include "gb/cpu/idle.h"
#include "gb/simt/predict.h"
#include "gb/simt/page_table.h"
#include "gb/machine/sm83.h"

#if DM_GB_GPU_FORM

/* `dec r / jr nz` at PC, about to be repeated: all passes but the last, up to the next event. */
DM_FN void dm_gb_quick_count_down(dm_gb_hot *hot, const dm_gb_quick_place *place)
{
    uint32_t word = dm_gb_quick_fetch(*place, hot->pc);
    if ((word & 0xFFFFC7u) != 0xFD2005u)
        return;
    uint32_t number = word >> 3 & 7u;
    if (number == DM_GB_ARG_MEM)
        return;
    if (!dm_gb_before(hot->clock, hot->next_event))
        return;
    uint32_t value = dm_gb_reg8(hot, number);
    uint32_t room = (hot->next_event - 1u - hot->clock) / 16u;
    uint32_t passes = ((value - 1u) & 0xFFu) < room ? (value - 1u) & 0xFFu : room;
    if (passes == 0)
        return;
    value -= passes;
    dm_gb_set_reg8(hot, number, value);
    hot->zc = (hot->zc & DM_GB_CARRY) | (value & 0xFFu);
    hot->hn = ((value ^ (value + 1u)) & DM_GB_H) | DM_GB_N;
    hot->clock += passes * 16u;
    hot->count += passes * 2u;
}

/* `value` is written to `address`, or there and to the next. What a pass of a loop writes is mixed
 * into two words, which are the same when it writes the same again, and but for one chance in 2^64
 * only then. (They are turned since a product carries a difference only upwards, and addresses are
 * at the top.) */
DM_FN void dm_gb_quick_note_write(dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    const uint32_t both = (address << 16) | (value & 0xFFFFu);
    hot->written[0] = dm_rotl_u32(hot->written[0], 7) * 0x9E3779B1u + both;
    hot->written[1] = dm_rotl_u32(hot->written[1], 19) * 0x85EBCA77u + both;
}

/* `ldh a,[rSTAT] / and n / jr cc` or `ldh a,[rLY] / cp n / jr cc` is at PC and about to be
 * repeated, as it waits for a mode or a line. A and the flags are made anew by every pass, so
 * passes can be left out as long as one more is executed before the wait is over or anybody could
 * see them. */
#define DM_GB_WAIT_STAT 0xFFE641F0u /* the first three bytes, */
#define DM_GB_WAIT_LY 0xFFFE44F0u
#define DM_GB_WAIT_BOTH(word) (((word)&0xE7FAFFu) == 0xE640F0u) /* what they have in common */
#define DM_GB_WAIT_PASS 32u                                     /* T-cycles, */
#define DM_GB_WAIT_READ 8u                                      /* of them before the access */
DM_FN_SLOW uint32_t dm_gb_quick_wait_passes(dm_gb_machine *m, dm_gb_quick_place where,
                                            uint32_t clock, uint32_t next_event, uint32_t pc,
                                            uint32_t jump)
{
    const dm_gb_slate *slate = dm_gb_quick_slate(&where);
    const uint32_t word = dm_gb_quick_fetch(where, pc);
    const uint32_t operand = dm_gb_quick_fetch(where, pc + 1u), number = operand >> 16 & 0xFFu;
    uint32_t until = clock; /* what is left out reads up to here */
    if (slate->skip_polls == 0 || operand == DM_GB_NO_WORD)
        return 0;
    if (word == DM_GB_WAIT_LY)
        until = dm_gb_look_line_until(m, clock, number, jump);
    else if (word == DM_GB_WAIT_STAT && (jump & 0x10u) == 0 && dm_gb_later_settled(slate))
        until = dm_gb_look_mode_until(m, dm_gb_quick_ram(&where), clock, number, jump == 0x28u);
    /* An executed pass comes before the next event. */
    const uint32_t reads = until + DM_GB_WAIT_PASS - DM_GB_WAIT_READ;
    const uint32_t end = dm_gb_earlier(reads, next_event - 2u * DM_GB_WAIT_PASS);
    return until != clock && dm_gb_before(clock, end) ? (end - clock) / DM_GB_WAIT_PASS : 0u;
}

/* A jump backwards was taken, PC is its target. When the registers are as they were when it was
 * here last, it looks like a polling loop. */
DM_FN void dm_gb_quick_loop(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_quick_place *place,
                            uint32_t word)
{
    const uint32_t sum =
        (hot->low * 0x9E3779B1u) ^ (hot->high * 0x85EBCA77u) ^ hot->zc ^ hot->hn ^ (hot->sp << 16);
    const bool here = (hot->poll_pc & ~DM_GB_POLL_NOTES) == hot->pc;
    const bool polling = here & (hot->poll_sum == sum) & ((hot->poll_pc & DM_GB_POLL_VAIN) == 0);
    hot->poll_sum = sum;
    if (!polling) {
        /* What is remembered is not of the last pass: another one lies between. */
        hot->poll_pc = hot->pc | (here ? hot->poll_pc & DM_GB_POLL_VAIN : 0u);
        hot->written[0] = hot->written[1] = 0;
    }
    if ((word & 0xFFFFu) == 0xFD20u)
        dm_gb_quick_count_down(hot, place);
    if (DM_LIKELY(!polling)) {
        /* In later passes of the same wait this comes as polling. */
        if (DM_UNLIKELY(DM_GB_WAIT_BOTH(hot->word) && (word & 0xFFE7u) == 0xFA20u)) {
            const uint32_t passes = dm_gb_quick_wait_passes(m, *place, hot->clock, hot->next_event,
                                                            hot->pc, word & 0xFFu);
            hot->clock += passes * DM_GB_WAIT_PASS;
            hot->count += passes * 3u;
        }
        return;
    }
    dm_gb_slate *slate = dm_gb_quick_slate(place);
    if (dm_gb_poll_again(slate, hot))
        dm_gb_poll_skip(slate, hot, dm_gb_earlier(slate->poll_limit, hot->next_event));
}

/* Sources that the selectors cannot name. */
DM_FN uint32_t dm_gb_quick_odd_source(const dm_gb_hot *hot, const dm_gb_quick_row *row,
                                      uint32_t value)
{
    if ((row->flags & DM_GB_Q_ODD) == 0)
        return value;
    if (DM_GB_Q_OPERATION(*row) == DM_GB_DO_RST)
        return row->numbers >> 16 & 0xFFu;
    if (DM_GB_Q_OPERATION(*row) == DM_GB_DO_PUSH)
        return dm_gb_reg16(hot, DM_GB_ARG_AF);
    return hot->sp;
}

/* Rotates and shifts but SLA and RL: a window of eight bits over the value, twice or with a bit
 * before it. Those of A clear Z. */
DM_FN uint32_t dm_gb_quick_rotate(dm_gb_hot *hot, uint32_t operation, uint32_t value, bool clear_z)
{
    const uint32_t carry = hot->zc >> 8 & 1u;
    uint32_t top = value, shift = 1, out = value & 1u;
    top = operation == DM_GB_DO_RR ? carry : top;
    top = operation == DM_GB_DO_SRA ? value >> 7 : top;
    top = operation == DM_GB_DO_SRL ? 0u : top;
    const bool left = operation == DM_GB_DO_RLC || operation == DM_GB_DO_RL;
    shift = left ? 7u : shift;
    shift = operation == DM_GB_DO_SWAP ? 4u : shift;
    out = left ? value >> 7 : out;
    out = operation == DM_GB_DO_SWAP ? 0u : out;
    uint32_t result = (value | (top << 8)) >> shift & 0xFFu;
    result = operation == DM_GB_DO_RL ? (result & 0xFEu) | carry : result; /* RLA */
    hot->zc = (out << 8) | (clear_z ? 1u : result);
    hot->hn = 0;
    return result;
}

/* Operations that the adder cannot do, and results that go where the selectors cannot put them;
 * `sum` is the adder's. */
DM_FN uint32_t dm_gb_quick_odd_result(dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t value,
                                      uint32_t sum)
{
    const uint32_t operation = DM_GB_Q_OPERATION(*row);
    if ((row->flags & DM_GB_Q_TO_SP) != 0) {
        hot->sp = sum & 0xFFFFu;
        return sum;
    }
    if (operation == DM_GB_DO_LD16) {
        dm_gb_set_reg16(hot, DM_GB_ARG_AF, value);
        return value;
    }
    if (operation <= DM_GB_DO_SRL)
        return dm_gb_quick_rotate(hot, operation, value, (row->mask & DM_GB_Q_CLEAR_Z) != 0);
    return dm_gb_alu_one(hot, operation, value, 0);
}

/* What a machine needs next. */
enum dm_gb_need {
    DM_GB_NEED_NOTHING, /* the instruction is done, the next one can follow */
    DM_GB_NEED_GRANTED, /* nothing; the read that the instruction at PC waited for was made */
    /* Turns: */
    DM_GB_NEED_EVENT, /* something is due first */
    /* The instruction waits, nothing has changed yet: */
    DM_GB_NEED_READ,    /* of hot.io_address at time hot.io_until, by dm_gb_slow_read */
    DM_GB_NEED_WRITE,   /* of hot.io_value there, by dm_gb_slow_write */
    DM_GB_NEED_LONG,    /* the long road */
    DM_GB_NEED_CONTROL, /* the instruction is done but for what HALT, EI and the like do */
    DM_GB_NEED_OVER     /* nothing any more: the run is over */
};

/* Can it execute an instruction? */
DM_FN bool dm_gb_need_none(enum dm_gb_need need)
{
    return (uint32_t)need <= (uint32_t)DM_GB_NEED_GRANTED;
}

/* Does it wait for a turn? */
DM_FN bool dm_gb_need_turn(enum dm_gb_need need)
{
    return (uint32_t)need - DM_GB_NEED_EVENT <= (uint32_t)DM_GB_NEED_CONTROL - DM_GB_NEED_EVENT;
}

/* The rest of an instruction whose write was made: it may have changed what is at PC. */
DM_FN void dm_gb_quick_written(dm_gb_slate *slate, dm_gb_hot *hot)
{
    uint32_t high = hot->high + (uint32_t)((int32_t)slate->io_next >> 30);
    hot->high = dm_byte_pick(high, hot->high, 0x7610);
    hot->pc = slate->io_next & 0xFFFFu;
    hot->clock = hot->io_until + 4u;
    hot->count++;
    hot->poll_pc = DM_GB_NO_POLL;
    hot->io_address = DM_GB_NO_ADDRESS;
}

/* A write that chooses another ROM bank; false: not that, and nothing happened. */
DM_FN bool dm_gb_quick_bank(dm_gb_machine *m, const dm_gb_quick_place *place, uint32_t address,
                            uint32_t value)
{
    dm_gb_cart *cart = dm_gb_cart_by(m);
    const uint8_t *low = dm_gb_quick_slot(place, DM_GB_QUICK_ROM);
    const uint8_t *words = dm_gb_quick_slot(place, DM_GB_QUICK_CODE);
    if (address >> 13 != 1u || low == 0)
        return false;
    uint32_t bank = dm_gb_look_bank(cart, address, value);
    if (bank == DM_GB_LOOK_NO_BANK)
        return false;
    cart->rom_high = (bank << 14) & cart->rom_mask;
    const int64_t by = (int64_t)cart->rom_high - 0x4000 - (int64_t)cart->rom_low;
    dm_gb_quick_set_slot(place, DM_GB_QUICK_ROM + 1u, low + by);
    dm_gb_quick_set_slot(place, DM_GB_QUICK_CODE + 1u, words + 4 * by);
    return true;
}

/* An access that does not look like one to plain memory. */
typedef struct dm_gb_quick_access {
    uint32_t address;
    uint32_t value;    /* to be written, then: read */
    const uint8_t *at; /* then: the place, if it is plain memory, else NULL */
    bool granted;      /* it has been made */
} dm_gb_quick_access;

/* Anything but DM_GB_NEED_NOTHING: nothing has changed yet, and the instruction, which is followed
 * by that at `pc`, waits. */
DM_FN enum dm_gb_need dm_gb_quick_strange(dm_gb_machine *m, dm_gb_hot *hot,
                                          const dm_gb_quick_place *place, dm_gb_quick_row row,
                                          uint32_t pc, dm_gb_quick_access *access)
{
    const uint32_t both = DM_GB_Q_READS | DM_GB_Q_WRITES, address = access->address;
    const uint32_t two = (row.flags & DM_GB_Q_TWO) != 0 ? 1u : 0u;
    const bool writes = (row.flags & DM_GB_Q_WRITES) != 0, one = (row.flags & both) != both;
    const uint32_t now = hot->clock + DM_GB_Q_CYCLES(row) - 4u;
    if (access->granted || (!writes && two == 0 && address == hot->io_address &&
                            dm_gb_before(hot->clock + 24u, hot->io_until))) {
        access->value = hot->io_value;
        return DM_GB_NEED_NOTHING;
    }
    dm_gb_slate *slate = dm_gb_quick_slate(place);
    if (address >> 13 == 4u && (address & 0x1FFFu) + two < 0x2000u) {
        const uint8_t *at = dm_gb_quick_slot(place, DM_GB_QUICK_VRAM);
        hot->poll_pc = DM_GB_NO_POLL; /* nobody notes how long that holds */
        if (at != 0 && dm_gb_later_settled(slate) &&
            dm_gb_look_vram(m, dm_gb_quick_ram(place), hot->clock, &hot->vram_until)) {
            access->at = at + address;
            access->value =
                dm_gb_quick_load(access->at) | dm_gb_quick_load_if(two != 0, access->at + two) << 8;
            return DM_GB_NEED_NOTHING;
        }
    }
    /* Of two bytes the last one counts: PUSH writes the low one last, LD [n16],SP the high one. */
    const bool high_last = writes && two != 0 && (row.flags & DM_GB_Q_STACK) == 0;
    uint32_t value = high_last ? access->value >> 8 : access->value;
    uint32_t until = dm_gb_never(now); /* keys and most registers stay as they are */
    if (one && dm_gb_look_access(m, slate, dm_gb_quick_ram(place), hot->clock, now, address, writes,
                                 two, &value, &until)) {
        access->value = value;
        if (writes && address != 0xFF00u)
            hot->poll_pc = DM_GB_NO_POLL;
        slate->poll_limit = dm_gb_earlier(slate->poll_limit, until);
        hot->io_address = writes ? DM_GB_NO_ADDRESS : address;
        hot->io_value = value;
        hot->io_until = until;
        return DM_GB_NEED_NOTHING;
    }
    if (one && writes && two == 0 && dm_gb_quick_bank(m, place, address, access->value)) {
        hot->poll_pc = DM_GB_NO_POLL;
        return DM_GB_NEED_NOTHING;
    }
    if (two != 0 || !one)
        return DM_GB_NEED_LONG;
    if (writes && dm_gb_later_write(m, slate, now, address, access->value)) {
        if (address == DM_GB_LATER_DMA_ADDRESS) {
            dm_gb_quick_unmap(place);
            hot->next_event = dm_gb_earlier(hot->next_event, now + DM_GB_DMA_CYCLES);
        }
        hot->poll_pc = DM_GB_NO_POLL;
        hot->io_address = DM_GB_NO_ADDRESS;
        hot->vram_until = hot->clock;
        return DM_GB_NEED_NOTHING;
    }
    hot->io_address = address;
    hot->io_value = access->value;
    hot->io_until = now;
    if (!writes)
        return DM_GB_NEED_READ;
    slate->io_next = (pc & 0xFFFFu) | (row.put & 0xC0000000u);
    return DM_GB_NEED_WRITE;
}

/* The source, if it is not in memory; of a short jump with its sign in 16 bits. */
DM_FN uint32_t dm_gb_quick_source(const dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t registers = dm_byte_pick(hot->low, hot->high, row->source);
    return dm_byte_pick(registers, word, row->source >> 16);
}

/* Where in memory, if the instruction has an access. A push writes where SP will be. */
DM_FN uint32_t dm_gb_quick_address(const dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t word)
{
    const uint32_t registers = dm_byte_pick(hot->low, hot->high, row->address);
    const uint32_t address = dm_byte_pick(registers, word, row->address >> 16);
    const uint32_t change = (row->flags & DM_GB_Q_WRITES) != 0 ? DM_GB_Q_SP_CHANGE(*row) : 0u;
    return (row->flags & DM_GB_Q_STACK) != 0 ? (hot->sp + change) & 0xFFFFu : address;
}

/* Does it jump, call or return, if it is one that may? Others are always "taken". */
DM_FN bool dm_gb_quick_taken(const dm_gb_hot *hot, const dm_gb_quick_row *row)
{
    const uint32_t nonzero = (hot->zc & 0xFFu) != 0 ? DM_GB_Q_IF_NONZERO : 0u;
    const uint32_t met = ((hot->zc & DM_GB_CARRY) | nonzero) ^ row->mask;
    return (met & DM_GB_Q_CONDITIONS & row->flags) != 0;
}

/* Is the access to plain memory of kind `kind`, in `slot`? VRAM is while nobody else looks at
 * it; the last byte, IE, is read like memory but not written. (Conditions are joined by & and |:
 * && and || would be branches.) */
DM_FN bool dm_gb_quick_plain(const dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t kind,
                             dm_gb_quick_unit slot, uint32_t address)
{
    const uint32_t last = address + ((row->flags & DM_GB_Q_TWO) != 0 ? 1u : 0u);
    const uint32_t shut = dm_gb_before(hot->clock + 24u, hot->vram_until) ? 0u : DM_GB_KIND_VRAM;
    const bool to_ie = ((row->flags & DM_GB_Q_WRITES) != 0) & (last >= 0xFFFFu);
    return (slot != 0) & ((kind & (row->mask | shut)) == 0) & (((last ^ address) & 0x2000u) == 0) &
           !to_ie;
}

/* The adder: x + y, x - y; and, or, exclusive or come with it. Sets the flags. What is not `simple`
 * may have SP for x. */
DM_FN uint32_t dm_gb_quick_add(dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t value,
                               const bool simple)
{
    const uint32_t flags = row->flags;
    uint32_t x = dm_byte_pick(hot->high, value, row->adder);
    x = !simple && (flags & DM_GB_Q_X_SP) != 0 ? hot->sp : x;
    const uint32_t y = dm_byte_pick(value, row->numbers, row->adder >> 16);
    /* All ones or none, from the tops of bytes. */
    const uint32_t subtracts = dm_byte_pick(flags, 0, 0x8888u);
    const uint32_t exclusive = dm_byte_pick(flags, 0, 0x9999u);
    const uint32_t both = dm_byte_pick(flags, 0, 0xAAAAu);
    const uint32_t carry = hot->zc >> 8 & flags >> 21 & 1u;
    const uint32_t sum = x + (y ^ subtracts) + (carry ^ (subtracts & 1u));
    const uint32_t differ = x ^ y;
    const uint32_t result = (sum & ~exclusive & ~both) | ((x & y & both) ^ (differ & exclusive));
    const uint32_t carries = differ ^ result; /* into each bit, whatever x and y are */
    const uint32_t shift = flags & DM_GB_Q_WIDE;
    const uint32_t half = flags | (flags >> 21 & carries >> shift);
    hot->hn = (flags & DM_GB_Q_SETS_HN) != 0 ? half & (DM_GB_Q_SETS_H | DM_GB_Q_SETS_N) : hot->hn;
    const uint32_t zc = ((result & ~0x10100u) | (carries & 0x10100u)) >> shift;
    hot->zc = (hot->zc & ~row->changes) | (zc & row->changes);
    if (!simple)
        hot->zc |= row->mask & DM_GB_Q_CLEAR_Z;
    return result;
}

/* Put it where it goes among the registers but SP; what is not `simple` may move HL. */
DM_FN void dm_gb_quick_put(dm_gb_hot *hot, const dm_gb_quick_row *row, uint32_t result,
                           const bool simple)
{
    uint32_t high = hot->high;
    if (!simple)
        high = dm_byte_pick(high + DM_GB_Q_HL_CHANGE(*row), high, 0x7610);
    hot->low = dm_byte_pick(hot->low, result, row->put);
    hot->high = dm_byte_pick(high, result, row->put >> 16);
}

/* So many simple instructions may follow another one in the same round. */
#ifndef DM_GB_QUICK_MORE
#define DM_GB_QUICK_MORE 2
#endif

/* One of them, if the instruction at PC is one and no event is due. */
DM_FN bool dm_gb_quick_simple(dm_gb_hot *hot, const dm_gb_quick_place *place)
{
    const uint32_t word = hot->word;
    const dm_gb_quick_row row = dm_gb_quick_row_at(place, word);
    const uint32_t value = dm_gb_quick_source(hot, &row, word);
    const bool damages =
        ((row.flags & DM_GB_Q_ADJUST) != 0) & ((value & 0xFF00u) == 0xFE00u); /* oam_bug.h */
    /* (DM_GB_NO_WORD is not.) */
    if (((row.flags & DM_GB_Q_SIMPLE) == 0) | damages | !dm_gb_before(hot->clock, hot->next_event))
        return false;
    hot->pc = (hot->pc + DM_GB_Q_LENGTH(row)) & 0xFFFFu;
    hot->word = dm_gb_quick_ahead(place, hot->pc);
    const uint32_t result = dm_gb_quick_add(hot, &row, value, true);
    dm_gb_quick_put(hot, &row, result, true);
    hot->clock += DM_GB_Q_CYCLES(row);
    hot->count++;
    return true;
}

/* Execute the instruction at PC, if it is of the plain kind; if it was not fetched, fetch it. One
 * that waited for a read, which was `granted` (its answer is in hot.io_value), goes through. */
DM_FN enum dm_gb_need dm_gb_quick(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_quick_place *place,
                                  const bool granted)
{
    const uint32_t word = hot->word;
    const dm_gb_quick_row row = dm_gb_quick_row_at(place, word);
    const uint32_t flags = row.flags;
    const uint32_t pc = hot->pc + DM_GB_Q_LENGTH(row);

    /* The source, if it is not in memory. */
    uint32_t value = dm_gb_quick_source(hot, &row, word);
    const uint32_t odd = (value & 0xFF00u) == 0xFE00u ? DM_GB_Q_ODD | DM_GB_Q_ADJUST : DM_GB_Q_ODD;
    if (DM_UNLIKELY((flags & odd) != 0)) {
        if (word == DM_GB_NO_WORD) {
            hot->word = dm_gb_quick_fetch(*place, hot->pc);
            return hot->word == DM_GB_NO_WORD ? DM_GB_NEED_LONG
                   : granted                  ? DM_GB_NEED_GRANTED
                                              : DM_GB_NEED_NOTHING;
        }
        value = dm_gb_quick_odd_source(hot, &row, value);
        if ((flags & DM_GB_Q_LONG) != 0 ||
            ((flags & DM_GB_Q_ADJUST) != 0 && (value & 0xFF00u) == 0xFE00u))
            return DM_GB_NEED_LONG;
    }

    const bool taken = dm_gb_quick_taken(hot, &row);

    /* Only plain memory, or what was granted. */
    const bool reads = (flags & DM_GB_Q_READS) != 0, writes = (flags & DM_GB_Q_WRITES) != 0;
    const uint32_t address = dm_gb_quick_address(hot, &row, word);
    const uint8_t *at = 0;
    if ((reads | writes) & taken) {
        const uint32_t kind = dm_gb_quick_kind(place, address);
        const dm_gb_quick_unit slot = dm_gb_quick_unit_of(place, kind);
        const bool plain = dm_gb_quick_plain(hot, &row, kind, slot, address) & !granted;
        at = dm_gb_quick_at(place, slot, address);
        const bool two = (flags & DM_GB_Q_TWO) != 0;
        /* (The source of one that reads was 0.) */
        value |= dm_gb_quick_load_if(reads & plain, at) |
                 dm_gb_quick_load_if(reads & plain & two, at + 1) << 8;
        if (DM_UNLIKELY(!plain)) {
            dm_gb_quick_access access = {address, (flags & DM_GB_Q_CALLS) != 0 ? pc : value, 0,
                                         granted};
            const enum dm_gb_need need = dm_gb_quick_strange(m, hot, place, row, pc, &access);
            if (need != DM_GB_NEED_NOTHING)
                return need;
            value = reads ? access.value : value;
            at = access.at;
        }
    }

    /* What comes next, on its way while the rest is done. */
    const bool jumps = ((flags & DM_GB_Q_JUMPS) != 0) & taken;
    const uint32_t to = ((flags & DM_GB_Q_RELATIVE) != 0 ? pc : 0u) + value;
    const uint32_t next = (jumps ? to : pc) & 0xFFFFu;
    hot->pc = next;
    hot->word = dm_gb_quick_ahead(place, next);

    uint32_t result = dm_gb_quick_add(hot, &row, value, false);
    hot->sp = taken ? (hot->sp + DM_GB_Q_SP_CHANGE(row)) & 0xFFFFu : hot->sp;
    if (DM_UNLIKELY((flags & DM_GB_Q_ODD_RESULT) != 0))
        result = dm_gb_quick_odd_result(hot, &row, value, result);
    dm_gb_quick_put(hot, &row, result, false);
    if (writes & taken) {
        const uint32_t stored = (flags & DM_GB_Q_CALLS) != 0 ? pc : result;
        const bool two = (flags & DM_GB_Q_TWO) != 0;
        dm_gb_quick_store_if(at != 0, at, stored);
        dm_gb_quick_store_if((at != 0) & two, at + 1, stored >> 8);
        dm_gb_quick_note_write(hot, address, two ? stored : stored & 0xFFu);
    }

    hot->count++;
    /* DM_GB_Q_CYCLES_TAKEN or DM_GB_Q_CYCLES: its second byte or its first */
    hot->clock += dm_byte_pick(row.numbers, 0, taken ? 0x4441u : 0x4440u);
    if (jumps & ((flags & DM_GB_Q_LOOPS) != 0) & (next < pc))
        dm_gb_quick_loop(m, hot, place, word);
    if (DM_UNLIKELY((flags & DM_GB_Q_CONTROL) != 0)) {
        const uint8_t *high_ram = dm_gb_quick_slot(place, DM_GB_QUICK_HRAM);
        const dm_gb_slate *slate = dm_gb_quick_slate(place);
        if ((slate->later_kinds & DM_GB_LATER_URGENT) != 0)
            hot->next_event =
                dm_gb_earlier(hot->next_event, dm_gb_look_urgent(m, slate, hot->clock));
        if (dm_gb_look_control(m, slate, DM_GB_Q_OPERATION(row),
                               dm_gb_quick_load(high_ram + 0xFFFF),
                               dm_gb_before(hot->clock, hot->next_event))) {
            hot->poll_pc = DM_GB_NO_POLL;
            return DM_GB_NEED_NOTHING;
        }
        hot->io_value = DM_GB_Q_OPERATION(row);
        hot->io_address = DM_GB_NO_ADDRESS;
        return DM_GB_NEED_CONTROL;
    }
    DM_NO_UNROLL
    for (int i = 0; i < DM_GB_QUICK_MORE && dm_gb_quick_simple(hot, place); i++) {
    }
    return DM_GB_NEED_NOTHING;
}

/* The next instruction of a machine that needs nothing, unless an event is due. */
DM_FN enum dm_gb_need dm_gb_quick_next(dm_gb_machine *m, dm_gb_hot *hot,
                                       const dm_gb_quick_place *place, enum dm_gb_need need)
{
    const bool granted = need == DM_GB_NEED_GRANTED;
    if (!dm_gb_before(hot->clock, hot->next_event) & !granted)
        return DM_GB_NEED_EVENT;
    return dm_gb_quick(m, hot, place, granted);
}

#endif
#endif
