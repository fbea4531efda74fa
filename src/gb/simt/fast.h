/* SPDX-License-Identifier: MIT */
/* fast.h - the fast path: one instruction that touches only plain memory; kernel text.
 *
 * Lanes of a warp that execute different instructions should share one short piece of code. So here every instruction
 * is the same straight line of arithmetic, steered by its uop (uop.h): pick the bytes of the source, access at most one
 * address, add once, put the bytes of the result back. The clock moves once for the whole instruction, since nothing
 * that is accessed here depends on the exact moment:
 *
 *   plain memory             ROM, WRAM, HRAM, cartridge RAM that is mapped (page_table.h)
 *   VRAM                     while the picture unit does not read it (hot.vram_until)
 *   the register read last   while it cannot change (hot.io_until)
 *   some registers           whose value can be predicted (predict.h)
 *
 * An instruction with an access of another kind traps before anything has changed. A read is serviced and the
 * instruction replayed with its value; a write is its last effect. Instructions that the fast path does not have take
 * the slow path (sm83.h with bus.h). tests/gb/test_fast.c compares all of this with the CPU's loop.
 *
 * Start with dm_gb_fast, which lists the steps of an instruction; dm_gb_fast_special has the accesses to devices,
 * dm_gb_fast_loop the backward jumps of loops that wait or count, which are skipped here. */
#ifndef DM_SIMT_FAST_H
#define DM_SIMT_FAST_H

#include "gb/simt/idle.h"
#include "gb/simt/page_table.h"
#include "gb/simt/predict.h"

/* `dec r / jr nz` at PC, about to be repeated: skip all passes but the last, up to the next event. */
DM_FN void dm_gb_fast_count_down(dm_gb_hot *hot, const dm_gb_smem *smem)
{
    uint32_t word = dm_gb_fetch_word(*smem, hot->pc);
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

/* A loop writes `value` to `address`, or to two bytes there. All writes of a pass are hashed into two
 * words, so that two passes with equal words wrote the same, but for one chance in 2^64. (The words
 * are rotated since a product carries a difference only upwards, and addresses are at the top.) */
DM_FN void dm_gb_fast_mix_write(dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    const uint32_t both = (address << 16) | (value & 0xFFFFu);
    hot->written[0] = dm_rotl_u32(hot->written[0], 7) * 0x9E3779B1u + both;
    hot->written[1] = dm_rotl_u32(hot->written[1], 19) * 0x85EBCA77u + both;
}

/* How many passes of `ldh a,[rSTAT] / and n / jr cc` or `ldh a,[rLY] / cp n / jr cc` at PC, which wait
 * for a mode or a line, can be skipped. Every pass sets A and the flags anew, so the skipped ones
 * leave no trace if one more is executed before the wait ends or an event comes. */
#define DM_GB_WAIT_STAT 0xFFE641F0u /* the first three bytes, */
#define DM_GB_WAIT_LY 0xFFFE44F0u
#define DM_GB_WAIT_BOTH(word) (((word)&0xE7FAFFu) == 0xE640F0u) /* what they have in common */
#define DM_GB_WAIT_PASS 32u                                     /* T-cycles, */
#define DM_GB_WAIT_READ 8u                                      /* of them before the access */
DM_FN_SLOW uint32_t dm_gb_fast_wait_passes(dm_gb_machine *m, dm_gb_smem where, uint32_t clock,
                                           uint32_t next_event, uint32_t pc, uint32_t jump)
{
    const dm_gb_cold *cold = dm_gb_smem_cold(&where);
    const uint32_t word = dm_gb_fetch_word(where, pc);
    const uint32_t operand = dm_gb_fetch_word(where, pc + 1u), number = operand >> 16 & 0xFFu;
    uint32_t until = clock; /* skipped passes read before this time */
    if (cold->skip_idle == 0 || operand == DM_GB_NO_WORD)
        return 0;
    if (word == DM_GB_WAIT_LY)
        until = dm_gb_predict_line_until(m, clock, number, jump);
    else if (word == DM_GB_WAIT_STAT && (jump & 0x10u) == 0 && dm_gb_queue_has_no_picture(cold))
        until =
            dm_gb_predict_mode_until(m, dm_gb_page_table_ram(&where), clock, number, jump == 0x28u);
    /* An executed pass comes before the next event. */
    const uint32_t reads = until + DM_GB_WAIT_PASS - DM_GB_WAIT_READ;
    const uint32_t end = dm_gb_earlier(reads, next_event - 2u * DM_GB_WAIT_PASS);
    return until != clock && dm_gb_before(clock, end) ? (end - clock) / DM_GB_WAIT_PASS : 0u;
}

/* A jump backwards was taken, and PC is its target. If the registers are the same as at the last jump
 * to it, this may be an idle loop. */
DM_FN void dm_gb_fast_loop(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem, uint32_t word)
{
    const uint32_t sum =
        (hot->low * 0x9E3779B1u) ^ (hot->high * 0x85EBCA77u) ^ hot->zc ^ hot->hn ^ (hot->sp << 16);
    const bool here = (hot->idle_pc & ~DM_GB_IDLE_MARKS) == hot->pc;
    const bool idle = here & (hot->idle_sum == sum) & ((hot->idle_pc & DM_GB_IDLE_VAIN) == 0);
    hot->idle_sum = sum;
    if (!idle) {
        /* What `cold` remembers of the loop is older than one pass. */
        hot->idle_pc = hot->pc | (here ? hot->idle_pc & DM_GB_IDLE_VAIN : 0u);
        hot->written[0] = hot->written[1] = 0;
    }
    if ((word & 0xFFFFu) == 0xFD20u)
        dm_gb_fast_count_down(hot, smem);
    if (DM_LIKELY(!idle)) {
        /* The first pass of a wait comes here; later ones have the same registers and are idle. */
        if (DM_UNLIKELY(DM_GB_WAIT_BOTH(hot->word) && (word & 0xFFE7u) == 0xFA20u)) {
            const uint32_t passes = dm_gb_fast_wait_passes(m, *smem, hot->clock, hot->next_event,
                                                           hot->pc, word & 0xFFu);
            hot->clock += passes * DM_GB_WAIT_PASS;
            hot->count += passes * 3u;
        }
        return;
    }
    dm_gb_cold *cold = dm_gb_smem_cold(smem);
    if (dm_gb_idle_again(cold, hot))
        dm_gb_idle_skip(cold, hot, dm_gb_earlier(cold->idle_limit, hot->next_event));
}

/* Sources that the selectors cannot name. */
DM_FN uint32_t dm_gb_fast_odd_source(const dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t value)
{
    if ((uop->flags & DM_GB_UOP_ODD) == 0)
        return value;
    if (DM_GB_UOP_OPERATION(*uop) == DM_GB_DO_RST)
        return uop->numbers >> 16 & 0xFFu;
    if (DM_GB_UOP_OPERATION(*uop) == DM_GB_DO_PUSH)
        return dm_gb_reg16(hot, DM_GB_ARG_AF);
    return hot->sp;
}

/* Rotates and shifts but SLA and RL: eight bits taken out of the value repeated twice, or out of the
 * value and a bit above it. Those of A clear Z. */
DM_FN uint32_t dm_gb_fast_rotate(dm_gb_hot *hot, uint32_t operation, uint32_t value, bool clear_z)
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
DM_FN uint32_t dm_gb_fast_odd_result(dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t value,
                                     uint32_t sum)
{
    const uint32_t operation = DM_GB_UOP_OPERATION(*uop);
    if ((uop->flags & DM_GB_UOP_TO_SP) != 0) {
        hot->sp = sum & 0xFFFFu;
        return sum;
    }
    if (operation == DM_GB_DO_LD16) {
        dm_gb_set_reg16(hot, DM_GB_ARG_AF, value);
        return value;
    }
    if (operation <= DM_GB_DO_SRL)
        return dm_gb_fast_rotate(hot, operation, value, (uop->mask & DM_GB_UOP_CLEAR_Z) != 0);
    return dm_gb_alu_one(hot, operation, value, 0);
}

/* Why the fast path stopped. With the first two it can go on, with the last the run is over; all others
 * need a service. */
enum dm_gb_trap {
    DM_GB_TRAP_NONE,   /* the instruction is done, the next one can follow */
    DM_GB_TRAP_REPLAY, /* the read of the instruction at PC was serviced: replay it */
    DM_GB_TRAP_EVENT,  /* an event is due before the instruction */
    /* The instruction at PC has changed nothing yet: */
    DM_GB_TRAP_READ,    /* it reads hot.io_address at time hot.io_until (dm_gb_slow_read), */
    DM_GB_TRAP_WRITE,   /* it writes hot.io_value there (dm_gb_slow_write), */
    DM_GB_TRAP_SLOW,    /* or it needs the slow path */
    DM_GB_TRAP_CONTROL, /* HALT, DI, EI or RETI was executed, but for its effect (dm_gb_control) */
    DM_GB_TRAP_OVER     /* the run is over */
};

/* Can the lane execute an instruction? */
DM_FN bool dm_gb_trap_runs(enum dm_gb_trap trap)
{
    return (uint32_t)trap <= (uint32_t)DM_GB_TRAP_REPLAY;
}

/* Does the lane wait for a service? */
DM_FN bool dm_gb_trap_waits(enum dm_gb_trap trap)
{
    return (uint32_t)trap - DM_GB_TRAP_EVENT <= (uint32_t)DM_GB_TRAP_CONTROL - DM_GB_TRAP_EVENT;
}

/* Finish an instruction whose write a service has made. */
DM_FN void dm_gb_fast_written(dm_gb_cold *cold, dm_gb_hot *hot)
{
    uint32_t high = hot->high + (uint32_t)((int32_t)cold->io_next >> 30);
    hot->high = dm_byte_pick(high, hot->high, 0x7610);
    hot->pc = cold->io_next & 0xFFFFu;
    hot->clock = hot->io_until + 4u;
    hot->count++;
    hot->idle_pc = DM_GB_NO_IDLE;
    hot->io_address = DM_GB_NO_ADDRESS;
}

/* Make a write that selects another ROM bank; false: it does not select one, and nothing has changed. */
DM_FN bool dm_gb_fast_bank(dm_gb_machine *m, const dm_gb_smem *smem, uint32_t address,
                           uint32_t value)
{
    dm_gb_cart *cart = dm_gb_cart_by(m);
    const uint8_t *low = dm_gb_page_address(smem, DM_GB_PAGE_ROM);
    const uint8_t *words = dm_gb_page_address(smem, DM_GB_PAGE_CODE);
    if (address >> 13 != 1u || low == 0)
        return false;
    uint32_t bank = dm_gb_predict_bank(cart, address, value);
    if (bank == DM_GB_PREDICT_NO_BANK)
        return false;
    cart->rom_high = (bank << 14) & cart->rom_mask;
    const int64_t by = (int64_t)cart->rom_high - 0x4000 - (int64_t)cart->rom_low;
    dm_gb_page_set(smem, DM_GB_PAGE_ROM + 1u, low + by);
    dm_gb_page_set(smem, DM_GB_PAGE_CODE + 1u, words + 4 * by);
    return true;
}

/* A special access: one that the page table cannot serve. */
typedef struct dm_gb_special_access {
    uint32_t address;
    uint32_t value;    /* to be written; after the call the one that was read */
    const uint8_t *at; /* after the call: the bytes, if they are plain memory now, else NULL */
    bool replayed;     /* a service has made the read */
} dm_gb_special_access;

/* Make a special access without a service if that is possible: DM_GB_TRAP_NONE. With any other trap
 * nothing has changed yet. `pc` is the address of the following instruction. */
DM_FN enum dm_gb_trap dm_gb_fast_special(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                         dm_gb_uop uop, uint32_t pc, dm_gb_special_access *access)
{
    const uint32_t both = DM_GB_UOP_READS | DM_GB_UOP_WRITES, address = access->address;
    const uint32_t two = (uop.flags & DM_GB_UOP_TWO) != 0 ? 1u : 0u;
    const bool writes = (uop.flags & DM_GB_UOP_WRITES) != 0, one = (uop.flags & both) != both;
    const uint32_t now = hot->clock + DM_GB_UOP_CYCLES(uop) - 4u;
    if (access->replayed || (!writes && two == 0 && address == hot->io_address &&
                             dm_gb_before(hot->clock + DM_GB_INSTRUCTION_MOST, hot->io_until))) {
        access->value = hot->io_value;
        return DM_GB_TRAP_NONE;
    }
    dm_gb_cold *cold = dm_gb_smem_cold(smem);
    if (address >> 13 == 4u && (address & 0x1FFFu) + two < 0x2000u) {
        const uint8_t *at = dm_gb_page_address(smem, DM_GB_PAGE_VRAM);
        hot->idle_pc = DM_GB_NO_IDLE; /* the loop's limit does not include vram_until */
        if (at != 0 && dm_gb_queue_has_no_picture(cold) &&
            dm_gb_predict_vram(m, dm_gb_page_table_ram(smem), hot->clock, &hot->vram_until)) {
            access->at = at + address;
            access->value = dm_global_load_u8(access->at) |
                            dm_global_load_u8_if(two != 0, access->at + two) << 8;
            return DM_GB_TRAP_NONE;
        }
    }
    /* Of two bytes the last one counts: PUSH writes the low one last, LD [n16],SP the high one. */
    const bool high_last = writes && two != 0 && (uop.flags & DM_GB_UOP_STACK) == 0;
    uint32_t value = high_last ? access->value >> 8 : access->value;
    uint32_t until = dm_gb_never(now); /* keys and most registers stay as they are */
    if (one && dm_gb_predict_access(m, cold, dm_gb_page_table_ram(smem), hot->clock, now, address,
                                    writes, two, &value, &until)) {
        access->value = value;
        if (writes && address != 0xFF00u)
            hot->idle_pc = DM_GB_NO_IDLE;
        cold->idle_limit = dm_gb_earlier(cold->idle_limit, until);
        hot->io_address = writes ? DM_GB_NO_ADDRESS : address;
        hot->io_value = value;
        hot->io_until = until;
        return DM_GB_TRAP_NONE;
    }
    if (one && writes && two == 0 && dm_gb_fast_bank(m, smem, address, access->value)) {
        hot->idle_pc = DM_GB_NO_IDLE;
        return DM_GB_TRAP_NONE;
    }
    if (two != 0 || !one)
        return DM_GB_TRAP_SLOW;
    if (writes && dm_gb_queue_write(m, cold, now, address, access->value)) {
        if (address == DM_GB_QUEUE_DMA_ADDRESS) {
            dm_gb_page_table_unmap(smem);
            hot->next_event = dm_gb_earlier(hot->next_event, now + DM_GB_DMA_CYCLES);
        }
        hot->idle_pc = DM_GB_NO_IDLE;
        hot->io_address = DM_GB_NO_ADDRESS;
        hot->vram_until = hot->clock;
        return DM_GB_TRAP_NONE;
    }
    hot->io_address = address;
    hot->io_value = access->value;
    hot->io_until = now;
    if (!writes)
        return DM_GB_TRAP_READ;
    cold->io_next = (pc & 0xFFFFu) | (uop.put & 0xC0000000u);
    return DM_GB_TRAP_WRITE;
}

/* The source, if it is not in memory; the offset of a relative jump is sign-extended to 16 bits. */
DM_FN uint32_t dm_gb_fast_source(const dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t word)
{
    const uint32_t registers = dm_byte_pick(hot->low, hot->high, uop->source);
    return dm_byte_pick(registers, word, uop->source >> 16);
}

/* The address of the access, if the instruction has one. A push writes where SP will be. */
DM_FN uint32_t dm_gb_fast_address(const dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t word)
{
    const uint32_t registers = dm_byte_pick(hot->low, hot->high, uop->address);
    const uint32_t address = dm_byte_pick(registers, word, uop->address >> 16);
    const uint32_t change = (uop->flags & DM_GB_UOP_WRITES) != 0 ? DM_GB_UOP_SP_CHANGE(*uop) : 0u;
    return (uop->flags & DM_GB_UOP_STACK) != 0 ? (hot->sp + change) & 0xFFFFu : address;
}

/* Does it jump, call or return, if it is one that may? Others are always "taken". */
DM_FN bool dm_gb_fast_taken(const dm_gb_hot *hot, const dm_gb_uop *uop)
{
    const uint32_t nonzero = (hot->zc & 0xFFu) != 0 ? DM_GB_UOP_IF_NONZERO : 0u;
    const uint32_t met = ((hot->zc & DM_GB_CARRY) | nonzero) ^ uop->mask;
    return (met & DM_GB_UOP_CONDITIONS & uop->flags) != 0;
}

/* Is the access to plain memory, of a page with these attributes and this entry? VRAM is plain while the picture unit
 * does not read it. The last byte, IE, can be read but not written. (Conditions are joined by & and |, since && and ||
 * would be branches.) */
DM_FN bool dm_gb_fast_plain(const dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t attributes,
                            dm_gb_page_entry entry, uint32_t address)
{
    const uint32_t last = address + ((uop->flags & DM_GB_UOP_TWO) != 0 ? 1u : 0u);
    const uint32_t shut = dm_gb_before(hot->clock + DM_GB_INSTRUCTION_MOST, hot->vram_until)
                              ? 0u
                              : DM_GB_PAGE_IS_VRAM;
    const bool to_ie = ((uop->flags & DM_GB_UOP_WRITES) != 0) & (last >= 0xFFFFu);
    return (entry != 0) & ((attributes & (uop->mask | shut)) == 0) &
           (((last ^ address) & 0x2000u) == 0) & !to_ie;
}

/* The adder: x + y or x - y, also and, or, exclusive or. Sets the flags. An instruction that is not
 * `simple` may have SP for x. */
DM_FN uint32_t dm_gb_fast_add(dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t value,
                              const bool simple)
{
    const uint32_t flags = uop->flags;
    uint32_t x = dm_byte_pick(hot->high, value, uop->adder);
    x = !simple && (flags & DM_GB_UOP_X_SP) != 0 ? hot->sp : x;
    const uint32_t y = dm_byte_pick(value, uop->numbers, uop->adder >> 16);
    /* All ones or none, from the tops of bytes. */
    const uint32_t subtracts = dm_byte_pick(flags, 0, 0x8888u);
    const uint32_t exclusive = dm_byte_pick(flags, 0, 0x9999u);
    const uint32_t both = dm_byte_pick(flags, 0, 0xAAAAu);
    const uint32_t carry = hot->zc >> 8 & flags >> 21 & 1u;
    const uint32_t sum = x + (y ^ subtracts) + (carry ^ (subtracts & 1u));
    const uint32_t differ = x ^ y;
    const uint32_t result = (sum & ~exclusive & ~both) | ((x & y & both) ^ (differ & exclusive));
    const uint32_t carries = differ ^ result; /* into each bit, whatever x and y are */
    const uint32_t shift = flags & DM_GB_UOP_WIDE;
    const uint32_t half = flags | (flags >> 21 & carries >> shift);
    hot->hn =
        (flags & DM_GB_UOP_SETS_HN) != 0 ? half & (DM_GB_UOP_SETS_H | DM_GB_UOP_SETS_N) : hot->hn;
    const uint32_t zc = ((result & ~0x10100u) | (carries & 0x10100u)) >> shift;
    hot->zc = (hot->zc & ~uop->changes) | (zc & uop->changes);
    if (!simple)
        hot->zc |= uop->mask & DM_GB_UOP_CLEAR_Z;
    return result;
}

/* Put the result into registers other than SP. An instruction that is not `simple` may move HL. */
DM_FN void dm_gb_fast_put(dm_gb_hot *hot, const dm_gb_uop *uop, uint32_t result, const bool simple)
{
    uint32_t high = hot->high;
    if (!simple)
        high = dm_byte_pick(high + DM_GB_UOP_HL_CHANGE(*uop), high, 0x7610);
    hot->low = dm_byte_pick(hot->low, result, uop->put);
    hot->high = dm_byte_pick(high, result, uop->put >> 16);
}

/* How many simple instructions may follow another instruction in the same round. */
#ifndef DM_GB_FAST_MORE
#define DM_GB_FAST_MORE 2
#endif

/* Execute the instruction at PC if it is simple and no event is due. */
DM_FN bool dm_gb_fast_simple(dm_gb_hot *hot, const dm_gb_smem *smem)
{
    const uint32_t word = hot->word;
    const dm_gb_uop uop = dm_gb_uop_at(smem, word);
    const uint32_t value = dm_gb_fast_source(hot, &uop, word);
    const bool damages =
        ((uop.flags & DM_GB_UOP_ADJUST) != 0) & ((value & 0xFF00u) == 0xFE00u); /* oam_bug.h */
    /* (The uop of DM_GB_NO_WORD is not simple.) */
    if (((uop.flags & DM_GB_UOP_SIMPLE) == 0) | damages |
        !dm_gb_before(hot->clock, hot->next_event))
        return false;
    hot->pc = (hot->pc + DM_GB_UOP_LENGTH(uop)) & 0xFFFFu;
    hot->word = dm_gb_fetch_ahead(smem, hot->pc);
    const uint32_t result = dm_gb_fast_add(hot, &uop, value, true);
    dm_gb_fast_put(hot, &uop, result, true);
    hot->clock += DM_GB_UOP_CYCLES(uop);
    hot->count++;
    return true;
}

/* Execute the instruction at PC, if the fast path can; if it was not fetched ahead, only fetch it. `replayed`: a
 * service has made its read, and the answer is in hot.io_value. */
DM_FN enum dm_gb_trap dm_gb_fast(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                 const bool replayed)
{
    const uint32_t word = hot->word;
    const dm_gb_uop uop = dm_gb_uop_at(smem, word);
    const uint32_t flags = uop.flags;
    const uint32_t pc = hot->pc + DM_GB_UOP_LENGTH(uop);

    uint32_t value = dm_gb_fast_source(hot, &uop, word);
    const uint32_t odd =
        (value & 0xFF00u) == 0xFE00u ? DM_GB_UOP_ODD | DM_GB_UOP_ADJUST : DM_GB_UOP_ODD;
    if (DM_UNLIKELY((flags & odd) != 0)) {
        if (DM_GB_IS_NO_WORD(word)) {
#if DM_GB_HOOKS
            hot->word = dm_gb_fetch_hooked(*smem, hot->pc, word);
#else
            hot->word = dm_gb_fetch_word(*smem, hot->pc);
#endif
            return hot->word == DM_GB_NO_WORD ? DM_GB_TRAP_SLOW
                   : replayed                 ? DM_GB_TRAP_REPLAY
                                              : DM_GB_TRAP_NONE;
        }
        value = dm_gb_fast_odd_source(hot, &uop, value);
        if ((flags & DM_GB_UOP_LONG) != 0 ||
            ((flags & DM_GB_UOP_ADJUST) != 0 && (value & 0xFF00u) == 0xFE00u))
            return DM_GB_TRAP_SLOW;
    }

    const bool taken = dm_gb_fast_taken(hot, &uop);

    /* Only plain memory, or the read that is replayed. */
    const bool reads = (flags & DM_GB_UOP_READS) != 0, writes = (flags & DM_GB_UOP_WRITES) != 0;
    const uint32_t address = dm_gb_fast_address(hot, &uop, word);
    const uint8_t *at = 0;
    if ((reads | writes) & taken) {
        const uint32_t attributes = dm_gb_page_attributes(smem, address);
        const dm_gb_page_entry entry = dm_gb_page_entry_of(smem, attributes);
        const bool plain = dm_gb_fast_plain(hot, &uop, attributes, entry, address) & !replayed;
        at = dm_gb_page_byte(smem, entry, address);
        const bool two = (flags & DM_GB_UOP_TWO) != 0;
        /* (`value` is 0 where the instruction reads.) */
        value |= dm_global_load_u8_if(reads & plain, at) |
                 dm_global_load_u8_if(reads & plain & two, at + 1) << 8;
        if (DM_UNLIKELY(!plain)) {
            dm_gb_special_access access = {address, (flags & DM_GB_UOP_CALLS) != 0 ? pc : value, 0,
                                           replayed};
            const enum dm_gb_trap trap = dm_gb_fast_special(m, hot, smem, uop, pc, &access);
            if (trap != DM_GB_TRAP_NONE)
                return trap;
            value = reads ? access.value : value;
            at = access.at;
        }
    }

    /* Fetch the next instruction now, so that the load overlaps with the rest of this one. */
    const bool jumps = ((flags & DM_GB_UOP_JUMPS) != 0) & taken;
    const uint32_t to = ((flags & DM_GB_UOP_RELATIVE) != 0 ? pc : 0u) + value;
    const uint32_t next = (jumps ? to : pc) & 0xFFFFu;
    hot->pc = next;
    hot->word = dm_gb_fetch_ahead(smem, next);

    uint32_t result = dm_gb_fast_add(hot, &uop, value, false);
    hot->sp = taken ? (hot->sp + DM_GB_UOP_SP_CHANGE(uop)) & 0xFFFFu : hot->sp;
    if (DM_UNLIKELY((flags & DM_GB_UOP_ODD_RESULT) != 0))
        result = dm_gb_fast_odd_result(hot, &uop, value, result);
    dm_gb_fast_put(hot, &uop, result, false);
    if (writes & taken) {
        const uint32_t stored = (flags & DM_GB_UOP_CALLS) != 0 ? pc : result;
        const bool two = (flags & DM_GB_UOP_TWO) != 0;
        dm_global_store_u8_if(at != 0, at, stored);
        dm_global_store_u8_if((at != 0) & two, at + 1, stored >> 8);
        dm_gb_fast_mix_write(hot, address, two ? stored : stored & 0xFFu);
    }

    hot->count++;
    /* the second byte of uop.numbers (DM_GB_UOP_CYCLES_TAKEN) or the first (DM_GB_UOP_CYCLES) */
    hot->clock += dm_byte_pick(uop.numbers, 0, taken ? 0x4441u : 0x4440u);
    if (jumps & ((flags & DM_GB_UOP_LOOPS) != 0) & (next < pc))
        dm_gb_fast_loop(m, hot, smem, word);
    if (DM_UNLIKELY((flags & DM_GB_UOP_CONTROL) != 0)) {
        const uint8_t *high_ram = dm_gb_page_address(smem, DM_GB_PAGE_HRAM);
        const dm_gb_cold *cold = dm_gb_smem_cold(smem);
        if ((cold->queued_kinds & DM_GB_QUEUE_URGENT) != 0)
            hot->next_event =
                dm_gb_earlier(hot->next_event, dm_gb_predict_urgent(m, cold, hot->clock));
        if (dm_gb_predict_control(m, cold, DM_GB_UOP_OPERATION(uop),
                                  dm_global_load_u8(high_ram + 0xFFFF),
                                  dm_gb_before(hot->clock, hot->next_event))) {
            hot->idle_pc = DM_GB_NO_IDLE;
            return DM_GB_TRAP_NONE;
        }
        hot->io_value = DM_GB_UOP_OPERATION(uop);
        hot->io_address = DM_GB_NO_ADDRESS;
        return DM_GB_TRAP_CONTROL;
    }
    DM_NO_UNROLL
    for (int i = 0; i < DM_GB_FAST_MORE && dm_gb_fast_simple(hot, smem); i++) {
    }
    return DM_GB_TRAP_NONE;
}

/* Execute the next instruction of a lane that needs no service, unless an event is due. */
DM_FN enum dm_gb_trap dm_gb_fast_next(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                      enum dm_gb_trap trap)
{
    const bool replayed = trap == DM_GB_TRAP_REPLAY;
    if (!dm_gb_before(hot->clock, hot->next_event) & !replayed)
        return DM_GB_TRAP_EVENT;
    return dm_gb_fast(m, hot, smem, replayed);
}

#endif
