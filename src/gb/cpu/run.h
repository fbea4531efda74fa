/* SPDX-License-Identifier: MIT */
/* run.h - the loop that runs a machine; kernel text.
 *
 *   for (;;) {
 *       if (clock has reached next_event)   devices, interrupts, HALT, the end of the run
 *       fetch an opcode and execute it
 *   }
 *
 * A run stops at the first instruction boundary at or after its target. Where it stops does not
 * change what happens: running 2 frames is the same as running 1 frame twice. */
#ifndef DM_GB_CPU_RUN_H
#define DM_GB_CPU_RUN_H

#include "gb/cpu/idle_probe.h"
#include "gb/simt/fast_scalar.h"

#ifndef DM_GB_SMALL_LOOP
#define DM_GB_SMALL_LOOP 0
#endif

enum dm_gb_next { DM_GB_NEXT_STOP, DM_GB_NEXT_RUN, DM_GB_NEXT_HALT_BUG };

/* Bring every device up to accesses at `now`. */
DM_FN void dm_gb_sync_all(dm_gb_lane *lane, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(lane);
    if (dm_gb_dma_sync(lane, now))
        dm_gb_map(lane);
    dm_gb_ppu_sync(lane, now);
    dm_gb_timer_sync(m, now);
    dm_gb_serial_sync(lane, now);
}

DM_FN void dm_gb_count64(uint32_t *low, uint32_t *high, uint32_t amount)
{
    *low += amount;
    *high += *low < amount ? 1u : 0u;
}

DM_FN void dm_gb_push_byte(dm_gb_lane *lane, uint32_t now, uint32_t address, uint32_t value)
{
    if (address - 0xFF80u < 0x7Fu)
        dm_gb_ram_store(lane, DM_GB_HRAM + address - 0xFF80u, value);
    else if (DM_GB_GPU_FORM && address - 0xC000u < 0x3E00u && !dm_gb_m(lane)->dma.active)
        dm_gb_ram_store(lane, DM_GB_WRAM + (address & 0x1FFFu), value);
    else
        dm_gb_slow_write(lane, now, address, value);
}

/* Interrupt dispatch, five M-cycles. Which interrupt it is, is decided after the high byte of PC
 * was pushed: when that push goes to IE it may turn out to be another one, or none (mooneye:
 * interrupts/ie_push). */
DM_FN_SLOW void dm_gb_dispatch(dm_gb_lane *lane)
{
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t now = m->clock + 4u; /* the opcode at PC is fetched and dropped */
    if (DM_UNLIKELY((cpu->pc & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(lane, now);
    now += 4u;
    if (DM_UNLIKELY((cpu->sp & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(lane, now);
    now += 4u;
    dm_gb_push_byte(lane, now, --cpu->sp, cpu->pc >> 8);
    now += 4u;
    uint32_t enabled = dm_gb_ram_load(lane, DM_GB_IE);
    dm_gb_sync_all(lane, now);
    uint32_t requests = m->int_flags;
    dm_gb_push_byte(lane, now, --cpu->sp, cpu->pc & 0xFFu);
    uint32_t pending = enabled & requests & 0x1Fu;
    cpu->pc = 0;
    if (pending != 0) {
        uint32_t bit = dm_ffs_u32(pending) - 1u;
        /* Acknowledged in the middle of the M-cycle: a request that comes before that is lost. */
        dm_gb_sync_all(lane, now + 2u);
        m->int_flags &= (uint8_t) ~(1u << bit);
        cpu->pc = (uint16_t)(0x40u + 8u * bit);
    }
    cpu->ime = 0;
    m->clock = now + 4u;
}

/* The earliest T-cycle at which a device will request an enabled interrupt, or do other work of its
 * own. */
DM_FN uint32_t dm_gb_next_request(dm_gb_lane *lane, uint32_t enabled)
{
    dm_gb_machine *m = dm_gb_m(lane);
    uint32_t next = dm_gb_earlier(dm_gb_ppu_next(lane, enabled), dm_gb_dma_next(m, m->clock));
    if ((enabled & DM_GB_INT_TIMER) != 0)
        next = dm_gb_earlier(next, dm_gb_timer_next(m, m->clock));
    if ((enabled & DM_GB_INT_SERIAL) != 0)
        next = dm_gb_earlier(next, dm_gb_serial_next(m, m->clock));
    return next;
}

/* Pass time in HALT until `until` at most. A request at T-cycle e is noticed in the middle of an
 * M-cycle and ends the HALT at the end of it, at the earliest two M-cycles after it began (mooneye:
 * halt_ime0_nointr_timing, halt_ime1_timing2; the half M-cycle: intr_2_mode0_timing and
 * hblank_ly_scx_timing). */
DM_FN void dm_gb_halted(dm_gb_lane *lane, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t enabled = dm_gb_ram_load(lane, DM_GB_IE);
    uint32_t from = m->clock;
    uint32_t last = from - 8u;
    /* Requests in the M-cycle that crosses `until` count here, while their moment is known. */
    uint32_t stop = (until + 3u) & ~3u;
    while (!cpu->waking) {
        uint32_t event = m->clock - 1u;
        if ((m->int_flags & enabled & 0x1Fu) == 0) {
            event = dm_gb_next_request(lane, enabled);
            /* Only a state that no machine ever wrote can stand still. */
            if (!dm_gb_before(last, event))
                event = last + 4u;
            last = event;
            if (!dm_gb_before(event, stop))
                break;
            dm_gb_sync_all(lane, event + 1u);
            if (dm_gb_before(m->clock, event & ~3u))
                m->clock = event & ~3u;
            if ((m->int_flags & enabled & 0x1Fu) == 0)
                continue;
        }
        uint32_t wake = ((event + 2u) & ~3u) + 4u;
        uint32_t earliest = cpu->halted_at + 8u;
        cpu->wake_at = dm_gb_before(wake, earliest) ? earliest : wake;
        cpu->waking = 1;
    }
    if (cpu->waking && !dm_gb_before(stop, cpu->wake_at)) {
        m->clock = cpu->wake_at;
        dm_gb_dma_wake(lane, m->clock, m->clock - cpu->halted_at - 4u);
        cpu->waking = 0;
        cpu->halted_at = 0;
        cpu->mode = DM_GB_RUNNING;
    } else if (dm_gb_before(m->clock, stop)) {
        m->clock = stop;
    }
    dm_gb_count64(&m->halted_low, &m->halted_high, m->clock - from);
}

/* Add `cycles` to every time a device remembers: the oscillator stood still. */
DM_FN_SLOW void dm_gb_shift_time(dm_gb_lane *lane, uint32_t cycles)
{
    dm_gb_machine *m = dm_gb_m(lane);
    m->timer.div_base += cycles;
    m->timer.synced += cycles;
    m->timer.reload_at += cycles;
    m->serial.next_bit += cycles;
    m->dma.start += cycles;
    m->ppu.line_start += cycles;
    dm_gb_apu_shift_time(dm_gb_apu_of(lane), cycles);
    dm_gb_cart_sync(dm_gb_cart_of(lane), m->clock);
}

/* STOP and lock-up: nothing moves until a selected key is down (STOP), or ever. */
DM_FN void dm_gb_stopped(dm_gb_lane *lane, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(lane);
    if (m->cpu.mode == DM_GB_STOPPED && dm_gb_joypad_lines(&m->joypad) != 0x0Fu) {
        m->cpu.mode = DM_GB_RUNNING;
        return;
    }
    uint32_t stop = (until + 3u) & ~3u;
    if (m->cpu.mode == DM_GB_STOPPED)
        dm_gb_shift_time(lane, stop - m->clock);
    m->clock = stop;
}

/* Everything that is not executing instructions. The CPU's registers are in m. */
DM_FN_SLOW enum dm_gb_next dm_gb_event(dm_gb_lane *lane)
{
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_cpu *cpu = &m->cpu;
    for (;;) {
        if (!dm_gb_before(m->clock, m->target))
            return DM_GB_NEXT_STOP;
        if (cpu->mode == DM_GB_HALTED) {
            dm_gb_halted(lane, m->target);
            continue;
        }
        if (DM_UNLIKELY(cpu->mode != DM_GB_RUNNING)) {
            dm_gb_stopped(lane, m->target);
            continue;
        }
        dm_gb_sync_all(lane, m->clock);
        if (DM_UNLIKELY(cpu->ei_delay != 0)) {
            /* One more instruction runs before an interrupt can. */
            cpu->ei_delay = 0;
            cpu->ime = 1;
            if (dm_gb_pending(lane))
                m->next_event = m->clock + 1u;
            else
                dm_gb_schedule(lane, m->clock);
            return DM_GB_NEXT_RUN;
        }
        if (cpu->ime && dm_gb_pending(lane)) {
            dm_gb_dispatch(lane);
            continue;
        }
        bool halt_bug = cpu->halt_bug != 0;
        cpu->halt_bug = 0;
        dm_gb_schedule(lane, m->clock);
        if (!halt_bug && dm_gb_probe_due(lane))
            continue;
        return halt_bug ? DM_GB_NEXT_HALT_BUG : DM_GB_NEXT_RUN;
    }
}

#if DM_GB_GPU_FORM

/* An instruction by the long road; `twice`: its opcode byte is read twice (HALT's bug). */
DM_FN_SLOW void dm_gb_long_turn(dm_gb_lane *lane, dm_gb_hot *kept, bool twice)
{
    dm_gb_hot hot = *kept;
    uint32_t opcode = dm_gb_fetch(lane, &hot);
    if (twice)
        hot.pc = (hot.pc - 1u) & 0xFFFFu;
    hot.count++;
    uint32_t row = dm_gb_rows[opcode];
    if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
        row = dm_gb_rows[256u + dm_gb_bus_fetch8(lane, &hot)];
    dm_gb_exec(lane, &hot, row);
    *kept = hot;
}

/* Give a machine what it needs to go on by the short road; DM_GB_NEED_OVER: m is up to date.
 * Callers hand in a copy of their registers, so that those themselves need not be memory. */
DM_FN_SLOW enum dm_gb_need dm_gb_turn(dm_gb_lane *lane, dm_gb_hot *hot, enum dm_gb_need need)
{
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_slate *slate = lane->slate;
    bool by_long_road = need == DM_GB_NEED_LONG, twice = false;
    const bool granted = need == DM_GB_NEED_READ;
    const bool halts = need == DM_GB_NEED_CONTROL && hot->io_value == DM_GB_DO_HALT;
    lane->poll_limit = dm_gb_never(hot->clock);
    dm_gb_later_make(lane, hot, halts || need == DM_GB_NEED_EVENT);
    if (need == DM_GB_NEED_READ || need == DM_GB_NEED_WRITE) {
        const uint32_t now = hot->io_until, address = hot->io_address;
        if (need == DM_GB_NEED_READ) {
            hot->io_value = dm_gb_slow_read(lane, now, address);
            if (address >= 0xFF00u)
                hot->io_until = lane->steady;
        } else {
            dm_gb_slow_write(lane, now, address, hot->io_value);
            hot->next_event = m->next_event;
            hot->vram_until = now;
            dm_gb_quick_written(slate, hot);
        }
        if (address >> 13 == 4u && !dm_gb_vram_blocked(lane, now, need == DM_GB_NEED_WRITE)) {
            hot->vram_until = dm_gb_vram_steady(lane, now);
            lane->poll_limit = dm_gb_earlier(lane->poll_limit, hot->vram_until);
        }
    }
    if (need == DM_GB_NEED_CONTROL) {
        hot->poll_pc = DM_GB_NO_POLL;
        hot->pc = (hot->pc + dm_gb_control(lane, hot->clock, hot->io_value)) & 0xFFFFu;
        dm_gb_hot_reload(lane, hot);
    }
    /* What was done may have made something due: better now than by a turn of its own. */
    if (need == DM_GB_NEED_EVENT ||
        (!by_long_road && !granted && !dm_gb_before(hot->clock, hot->next_event))) {
        dm_gb_hot_pause(hot, m);
        enum dm_gb_next next = dm_gb_event(lane);
        if (next == DM_GB_NEXT_STOP) {
            dm_gb_hot_keep(hot, m);
            /* On the way to the end of the run: for a picture, whose last lines are kept now. */
            if (m->target != lane->run_end && !m->dma.active)
                dm_gb_ppu_sync(lane, m->target);
            return DM_GB_NEED_OVER;
        }
        dm_gb_hot_resume(hot, m);
        by_long_road = twice = next == DM_GB_NEXT_HALT_BUG;
    }
    if (by_long_road)
        dm_gb_long_turn(lane, hot, twice);
    slate->poll_limit = dm_gb_earlier(slate->poll_limit, lane->poll_limit);
    hot->word = DM_GB_NO_WORD;
    return granted ? DM_GB_NEED_GRANTED : DM_GB_NEED_NOTHING;
}

/* The same, and the lane's place gets a new map if that has changed. */
DM_FN enum dm_gb_need dm_gb_mapped_turn(dm_gb_lane *lane, dm_gb_hot *hot, enum dm_gb_need need)
{
    lane->remap = false;
    need = dm_gb_turn(lane, hot, need);
    if (lane->remap)
        dm_gb_quick_map(lane, dm_gb_m(lane), &lane->place);
    return need;
}

/* A run begins. */
DM_FN void dm_gb_turns_begin(dm_gb_lane *lane, dm_gb_machine *m, dm_gb_hot *hot)
{
    lane->slate->skip_polls = lane->skip_polls;
    lane->slate->later = lane->slate->later_kinds = 0;
    m->next_event = m->clock;
    dm_gb_hot_load(hot, m, lane);
    dm_gb_quick_map(lane, m, &lane->place);
}

/* Run until the first instruction boundary at or after m->target. */
DM_FN_SLOW void dm_gb_loop(dm_gb_lane *lane)
{
    dm_gb_machine *m = dm_gb_m(lane);
#if !DM_ON_CUDA
    const uint8_t *slots[DM_GB_QUICK_SLOTS + 1u];
    lane->place.slots = slots;
#endif
    const dm_gb_quick_place place = lane->place;
    dm_gb_slate slate;
    dm_gb_hot hot;
    enum dm_gb_need need = DM_GB_NEED_NOTHING;
    /* cppcheck-suppress autoVariables ; it is taken back at the end */
    lane->slate = &slate;
    dm_gb_turns_begin(lane, m, &hot);
    while (need != DM_GB_NEED_OVER) {
#if DM_ON_CUDA /* lanes of a warp share the road */
        need = dm_gb_quick_next(m, &hot, &place, need);
        if (dm_gb_need_none(need))
            continue;
#else
        uint32_t executed = 0;
        need = dm_gb_quick_alone(m, &hot, &place, need, &executed);
#endif
        dm_gb_hot kept = hot;
        need = dm_gb_mapped_turn(lane, &kept, need);
        hot = kept;
    }
    lane->slate = 0;
}

#else

/* The code is not where it was, or a loop may count. True when time may have passed. */
DM_FN bool dm_gb_find_code(dm_gb_lane *lane, dm_gb_hot *hot)
{
    dm_gb_hot_remap(hot, lane);
    if (hot->pc >= 0xFF80u) {
        hot->code = lane->ram + DM_GB_HRAM - 0xFF80;
        lane->code_limit = 0xFFFD;
    }
    if (!lane->poll_counts)
        return false;
    lane->poll_counts = false;
    dm_gb_poll_count(lane, hot);
    dm_gb_poll_remember(lane, hot);
    return true;
}

#if DM_GB_SMALL_LOOP

/* Run until the first instruction boundary at or after m->target. Sanitizer builds take this loop:
 * 512 copies of an instrumented road compile for minutes. */
DM_FN_SLOW void dm_gb_loop(dm_gb_lane *lane)
{
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_hot hot;
    m->next_event = m->clock;
    dm_gb_hot_load(&hot, m, lane);
    for (;;) {
        enum dm_gb_next next = DM_GB_NEXT_RUN;
        if ((int64_t)hot.time >= 0) {
            dm_gb_hot_store(&hot, m);
            next = dm_gb_event(lane);
            if (next == DM_GB_NEXT_STOP)
                return;
            dm_gb_hot_load(&hot, m, lane);
        }
        dm_gb_careful_step(lane, &hot, next == DM_GB_NEXT_HALT_BUG);
        dm_gb_find_code(lane, &hot);
    }
}

#else

DM_FN_SLOW void dm_gb_careful(dm_gb_lane *lane, bool halt_bug)
{
    dm_gb_hot hot;
    dm_gb_hot_load(&hot, dm_gb_m(lane), lane);
    dm_gb_careful_step(lane, &hot, halt_bug);
    dm_gb_hot_store(&hot, dm_gb_m(lane));
}

/* The same with a dispatch at the end of every instruction's code (labels as values, a GNU
 * extension), so that the host predicts each successor by itself. */
DM_FN_SLOW void dm_gb_loop(dm_gb_lane *lane)
{
#define OP(code, ...) &&op_##code,
#define CB(code, ...)
    static const void *const base_labels[256] = {
#include "gb/machine/opcodes.def"
    };
#undef OP
#undef CB
#define OP(code, ...)
#define CB(code, ...) &&cb_##code,
    static const void *const prefix_labels[256] = {
#include "gb/machine/opcodes.def"
    };
#undef OP
#undef CB
    dm_gb_machine *m = dm_gb_m(lane);
    dm_gb_hot hot;
    m->next_event = m->clock;
    dm_gb_hot_load(&hot, m, lane);

#define DM_GB_DISPATCH()                                                                           \
    do {                                                                                           \
        if (DM_UNLIKELY((int64_t)hot.time >= 0))                                                   \
            goto event;                                                                            \
        if (DM_UNLIKELY(hot.pc >= lane->code_limit))                                               \
            goto elsewhere;                                                                        \
        goto *base_labels[hot.code[hot.pc]];                                                       \
    } while (0)

event:
    dm_gb_hot_store(&hot, m);
    enum dm_gb_next next = dm_gb_event(lane);
    if (next == DM_GB_NEXT_STOP)
        return;
    if (next == DM_GB_NEXT_HALT_BUG)
        dm_gb_careful(lane, true);
    dm_gb_hot_load(&hot, m, lane);
    if (next == DM_GB_NEXT_HALT_BUG)
        DM_GB_DISPATCH();

elsewhere:
    if (dm_gb_find_code(lane, &hot) && (int64_t)hot.time >= 0)
        goto event;
    if (hot.pc < lane->code_limit)
        goto *base_labels[hot.code[hot.pc]];
    dm_gb_hot_store(&hot, m);
    dm_gb_careful(lane, false);
    dm_gb_hot_load(&hot, m, lane);
    DM_GB_DISPATCH();

#define OP(row, mnemonic, length, cycles, taken, operation, source, destination, address, extra)   \
    op_##row : hot.pc++;                                                                           \
    if (DM_GB_DO_##operation == DM_GB_DO_PREFIX)                                                   \
        goto *prefix_labels[hot.code[hot.pc]];                                                     \
    hot.time += DM_GB_TIME_CYCLE + 1u;                                                             \
    dm_gb_exec(lane, &hot, DM_GB_ROW(operation, source, destination, address, length, extra));     \
    DM_GB_DISPATCH();
#define CB(row, mnemonic, length, cycles, taken, operation, source, destination, address, extra)   \
    cb_##row : hot.pc++;                                                                           \
    hot.time += 2u * DM_GB_TIME_CYCLE + 1u;                                                        \
    dm_gb_exec(lane, &hot, DM_GB_ROW(operation, source, destination, address, length, extra));     \
    DM_GB_DISPATCH();
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
#undef DM_GB_DISPATCH
}

#endif
#endif

/* Everything lazy is made definite, so that two machines that did the same are equal byte for byte.
 */
DM_FN void dm_gb_settle(dm_gb_lane *lane)
{
    dm_gb_machine *m = dm_gb_m(lane);
    uint32_t now = m->clock;
    dm_gb_sync_all(lane, now);
    dm_gb_draw_kept(lane);
    dm_gb_apu_sync(dm_gb_apu_of(lane), now, (uint16_t)dm_gb_div(m, now));
    dm_gb_cart_sync(dm_gb_cart_of(lane), now);
    if (dm_gb_in_picture(m) && dm_gb_ppu_dot(m, now) > 84u) {
        dm_gb_mode0_dot(lane);
        dm_gb_sprite_count(lane);
        dm_gb_mode0_look(lane, now);
    }
    dm_gb_scan_until(lane, now);
    dm_gb_draw_advance(lane, now);
    for (uint32_t i = m->ppu.sprites; i < 10; i++)
        m->ppu.sprite[i] = m->ppu.sprite_x[i] = m->ppu.sprite_y[i] = 0;
    dm_gb_halt_forget(m);
    dm_gb_count64(&m->cycles_low, &m->cycles_high, now - m->counted_at);
    m->counted_at = now;
    m->next_event = now;
}

/* Run `cycles` T-cycles past the last target and settle. The lane has been mapped (dm_gb_map) since
 * its machine was last changed from outside. */
DM_FN void dm_gb_run(dm_gb_lane *lane, uint32_t cycles)
{
    dm_gb_move_target(lane, dm_gb_m(lane), cycles);
    dm_gb_loop(lane);
    dm_gb_settle(lane);
}

#endif
