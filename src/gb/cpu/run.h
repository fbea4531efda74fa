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
DM_FN void dm_gb_sync_all(dm_gb_context *context, uint32_t now)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (dm_gb_dma_sync(context, now))
        dm_gb_map(context);
    dm_gb_ppu_sync(context, now);
    dm_gb_timer_sync(m, now);
    dm_gb_serial_sync(context, now);
}

DM_FN void dm_gb_count64(uint32_t *low, uint32_t *high, uint32_t amount)
{
    *low += amount;
    *high += *low < amount ? 1u : 0u;
}

DM_FN void dm_gb_push_byte(dm_gb_context *context, uint32_t now, uint32_t address, uint32_t value)
{
    if (address - 0xFF80u < 0x7Fu)
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
    else if (DM_GB_GPU_FORM && address - 0xC000u < 0x3E00u && !dm_gb_m(context)->dma.active)
        dm_gb_ram_store(context, DM_GB_WRAM + (address & 0x1FFFu), value);
    else
        dm_gb_slow_write(context, now, address, value);
}

/* Interrupt dispatch, five M-cycles. Which interrupt it is, is decided after the high byte of PC
 * was pushed: when that push goes to IE it may service out to be another one, or none (mooneye:
 * interrupts/ie_push). */
DM_FN_SLOW void dm_gb_dispatch(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t now = m->clock + 4u; /* the opcode at PC is fetched and dropped */
    if (DM_UNLIKELY((cpu->pc & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(context, now);
    now += 4u;
    if (DM_UNLIKELY((cpu->sp & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(context, now);
    now += 4u;
    dm_gb_push_byte(context, now, --cpu->sp, cpu->pc >> 8);
    now += 4u;
    uint32_t enabled = dm_gb_ram_load(context, DM_GB_IE);
    dm_gb_sync_all(context, now);
    uint32_t requests = m->int_flags;
    dm_gb_push_byte(context, now, --cpu->sp, cpu->pc & 0xFFu);
    uint32_t pending = enabled & requests & 0x1Fu;
    cpu->pc = 0;
    if (pending != 0) {
        uint32_t bit = dm_ffs_u32(pending) - 1u;
        /* Acknowledged in the middle of the M-cycle: a request that comes before that is lost. */
        dm_gb_sync_all(context, now + 2u);
        m->int_flags &= (uint8_t) ~(1u << bit);
        cpu->pc = (uint16_t)(0x40u + 8u * bit);
    }
    cpu->ime = 0;
    m->clock = now + 4u;
}

/* The earliest T-cycle at which a device will request an enabled interrupt, or do other work of its
 * own. */
DM_FN uint32_t dm_gb_next_request(dm_gb_context *context, uint32_t enabled)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint32_t next = dm_gb_earlier(dm_gb_ppu_next(context, enabled), dm_gb_dma_next(m, m->clock));
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
DM_FN void dm_gb_halted(dm_gb_context *context, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    uint32_t enabled = dm_gb_ram_load(context, DM_GB_IE);
    uint32_t from = m->clock;
    uint32_t last = from - 8u;
    /* Requests in the M-cycle that crosses `until` count here, while their moment is known. */
    uint32_t stop = (until + 3u) & ~3u;
    while (!cpu->waking) {
        uint32_t event = m->clock - 1u;
        if ((m->int_flags & enabled & 0x1Fu) == 0) {
            event = dm_gb_next_request(context, enabled);
            /* Only a state that no machine ever wrote can stand still. */
            if (!dm_gb_before(last, event))
                event = last + 4u;
            last = event;
            if (!dm_gb_before(event, stop))
                break;
            dm_gb_sync_all(context, event + 1u);
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
        dm_gb_dma_wake(context, m->clock, m->clock - cpu->halted_at - 4u);
        cpu->waking = 0;
        cpu->halted_at = 0;
        cpu->mode = DM_GB_RUNNING;
    } else if (dm_gb_before(m->clock, stop)) {
        m->clock = stop;
    }
    dm_gb_count64(&m->halted_low, &m->halted_high, m->clock - from);
}

/* Add `cycles` to every time a device remembers: the oscillator stood still. */
DM_FN_SLOW void dm_gb_shift_time(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_machine *m = dm_gb_m(context);
    m->timer.div_base += cycles;
    m->timer.synced += cycles;
    m->timer.reload_at += cycles;
    m->serial.next_bit += cycles;
    m->dma.start += cycles;
    m->ppu.line_start += cycles;
    dm_gb_apu_shift_time(dm_gb_apu_of(context), cycles);
    dm_gb_cart_sync(dm_gb_cart_of(context), m->clock);
}

/* STOP and lock-up: nothing moves until a selected key is down (STOP), or ever. */
DM_FN void dm_gb_stopped(dm_gb_context *context, uint32_t until)
{
    dm_gb_machine *m = dm_gb_m(context);
    if (m->cpu.mode == DM_GB_STOPPED && dm_gb_joypad_lines(&m->joypad) != 0x0Fu) {
        m->cpu.mode = DM_GB_RUNNING;
        return;
    }
    uint32_t stop = (until + 3u) & ~3u;
    if (m->cpu.mode == DM_GB_STOPPED)
        dm_gb_shift_time(context, stop - m->clock);
    m->clock = stop;
}

/* Everything that is not executing instructions. The CPU's registers are in m. */
DM_FN_SLOW enum dm_gb_next dm_gb_event(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cpu *cpu = &m->cpu;
    for (;;) {
        if (!dm_gb_before(m->clock, m->target))
            return DM_GB_NEXT_STOP;
        if (cpu->mode == DM_GB_HALTED) {
            dm_gb_halted(context, m->target);
            continue;
        }
        if (DM_UNLIKELY(cpu->mode != DM_GB_RUNNING)) {
            dm_gb_stopped(context, m->target);
            continue;
        }
        dm_gb_sync_all(context, m->clock);
        if (DM_UNLIKELY(cpu->ei_delay != 0)) {
            /* One more instruction runs before an interrupt can. */
            cpu->ei_delay = 0;
            cpu->ime = 1;
            if (dm_gb_pending(context))
                m->next_event = m->clock + 1u;
            else
                dm_gb_schedule(context, m->clock);
            return DM_GB_NEXT_RUN;
        }
        if (cpu->ime && dm_gb_pending(context)) {
            dm_gb_dispatch(context);
            continue;
        }
        bool halt_bug = cpu->halt_bug != 0;
        cpu->halt_bug = 0;
        dm_gb_schedule(context, m->clock);
        if (!halt_bug && dm_gb_idle_probe_due(context))
            continue;
        return halt_bug ? DM_GB_NEXT_HALT_BUG : DM_GB_NEXT_RUN;
    }
}

#if DM_GB_GPU_FORM

/* An instruction by the slow path; `twice`: its opcode byte is read twice (HALT's bug). */
DM_FN_SLOW void dm_gb_service_slow(dm_gb_context *context, dm_gb_hot *copy, bool twice)
{
    dm_gb_hot hot = *copy;
    uint32_t opcode = dm_gb_fetch(context, &hot);
    if (twice)
        hot.pc = (hot.pc - 1u) & 0xFFFFu;
    hot.count++;
    uint32_t row = dm_gb_rows[opcode];
    if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
        row = dm_gb_rows[256u + dm_gb_bus_fetch8(context, &hot)];
    dm_gb_exec(context, &hot, row);
    *copy = hot;
}

/* Give a machine what it needs to go on by the fast path; DM_GB_TRAP_OVER: m is up to date.
 * Callers hand in a copy of their registers, so that those themselves need not be memory. */
DM_FN_SLOW enum dm_gb_trap dm_gb_service(dm_gb_context *context, dm_gb_hot *hot,
                                         enum dm_gb_trap trap)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_cold *cold = context->cold;
    bool slow = trap == DM_GB_TRAP_SLOW, twice = false;
    const bool replayed = trap == DM_GB_TRAP_READ;
    const bool halts = trap == DM_GB_TRAP_CONTROL && hot->io_value == DM_GB_DO_HALT;
    context->idle_limit = dm_gb_never(hot->clock);
    dm_gb_queue_apply(context, hot, halts || trap == DM_GB_TRAP_EVENT);
    if (trap == DM_GB_TRAP_READ || trap == DM_GB_TRAP_WRITE) {
        const uint32_t now = hot->io_until, address = hot->io_address;
        if (trap == DM_GB_TRAP_READ) {
            hot->io_value = dm_gb_slow_read(context, now, address);
            if (address >= 0xFF00u)
                hot->io_until = context->steady;
        } else {
            dm_gb_slow_write(context, now, address, hot->io_value);
            hot->next_event = m->next_event;
            hot->vram_until = now;
            dm_gb_fast_written(cold, hot);
        }
        if (address >> 13 == 4u && !dm_gb_vram_blocked(context, now, trap == DM_GB_TRAP_WRITE)) {
            hot->vram_until = dm_gb_vram_steady(context, now);
            context->idle_limit = dm_gb_earlier(context->idle_limit, hot->vram_until);
        }
    }
    if (trap == DM_GB_TRAP_CONTROL) {
        hot->idle_pc = DM_GB_NO_IDLE;
        hot->pc = (hot->pc + dm_gb_control(context, hot->clock, hot->io_value)) & 0xFFFFu;
        dm_gb_hot_reload(context, hot);
    }
    /* What was done may have made something due: better now than by a service of its own. */
    if (trap == DM_GB_TRAP_EVENT ||
        (!slow && !replayed && !dm_gb_before(hot->clock, hot->next_event))) {
        dm_gb_hot_pause(hot, m);
        enum dm_gb_next next = dm_gb_event(context);
        if (next == DM_GB_NEXT_STOP) {
            dm_gb_hot_save(hot, m);
            /* On the way to the end of the run: for a picture, whose last lines are kept now. */
            if (m->target != context->run_end && !m->dma.active)
                dm_gb_ppu_sync(context, m->target);
            return DM_GB_TRAP_OVER;
        }
        dm_gb_hot_resume(hot, m);
        slow = twice = next == DM_GB_NEXT_HALT_BUG;
    }
    if (slow)
        dm_gb_service_slow(context, hot, twice);
    cold->idle_limit = dm_gb_earlier(cold->idle_limit, context->idle_limit);
    hot->word = DM_GB_NO_WORD;
    return replayed ? DM_GB_TRAP_REPLAY : DM_GB_TRAP_NONE;
}

/* The same, and the context's place gets a new map if that has changed. */
DM_FN enum dm_gb_trap dm_gb_service_mapped(dm_gb_context *context, dm_gb_hot *hot,
                                           enum dm_gb_trap trap)
{
    context->remap = false;
    trap = dm_gb_service(context, hot, trap);
    if (context->remap)
        dm_gb_page_table_fill(context, dm_gb_m(context), &context->smem);
    return trap;
}

/* A run begins. */
DM_FN void dm_gb_service_begin(dm_gb_context *context, dm_gb_machine *m, dm_gb_hot *hot)
{
    context->cold->skip_idle = context->skip_idle;
    context->cold->queued = context->cold->queued_kinds = 0;
    m->next_event = m->clock;
    dm_gb_hot_load(hot, m, context);
    dm_gb_page_table_fill(context, m, &context->smem);
}

/* Run until the first instruction boundary at or after m->target. */
DM_FN_SLOW void dm_gb_loop(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_smem smem = context->smem;
    dm_gb_cold cold;
    dm_gb_hot hot;
    enum dm_gb_trap trap = DM_GB_TRAP_NONE;
    /* cppcheck-suppress autoVariables ; it is taken back at the end */
    context->cold = &cold;
    dm_gb_service_begin(context, m, &hot);
    while (trap != DM_GB_TRAP_OVER) {
        trap = dm_gb_fast_next(m, &hot, &smem, trap);
        if (dm_gb_trap_runs(trap))
            continue;
        dm_gb_hot copy = hot;
        trap = dm_gb_service_mapped(context, &copy, trap);
        hot = copy;
    }
    context->cold = 0;
}

#else

/* The code is not where it was, or a loop may count. True when time may have passed. */
DM_FN bool dm_gb_find_code(dm_gb_context *context, dm_gb_hot *hot)
{
    dm_gb_hot_remap(hot, context);
    if (hot->pc >= 0xFF80u) {
        hot->code = context->ram + DM_GB_HRAM - 0xFF80;
        context->code_limit = 0xFFFD;
    }
    if (!context->idle_counts)
        return false;
    context->idle_counts = false;
    dm_gb_idle_count(context, hot);
    dm_gb_idle_remember(context, hot);
    return true;
}

#if DM_GB_SMALL_LOOP

/* Run until the first instruction boundary at or after m->target. Sanitizer builds take this loop:
 * 512 copies of an instrumented path compile for minutes. */
DM_FN_SLOW void dm_gb_loop(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_hot hot;
    m->next_event = m->clock;
    dm_gb_hot_load(&hot, m, context);
    for (;;) {
        enum dm_gb_next next = DM_GB_NEXT_RUN;
        if ((int64_t)hot.time >= 0) {
            dm_gb_hot_store(&hot, m);
            next = dm_gb_event(context);
            if (next == DM_GB_NEXT_STOP)
                return;
            dm_gb_hot_load(&hot, m, context);
        }
        dm_gb_careful_step(context, &hot, next == DM_GB_NEXT_HALT_BUG);
        dm_gb_find_code(context, &hot);
    }
}

#else

DM_FN_SLOW void dm_gb_careful(dm_gb_context *context, bool halt_bug)
{
    dm_gb_hot hot;
    dm_gb_hot_load(&hot, dm_gb_m(context), context);
    dm_gb_careful_step(context, &hot, halt_bug);
    dm_gb_hot_store(&hot, dm_gb_m(context));
}

/* The same with a dispatch at the end of every instruction's code (labels as values, a GNU
 * extension), so that the host predicts each successor by itself. */
DM_FN_SLOW void dm_gb_loop(dm_gb_context *context)
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
    dm_gb_machine *m = dm_gb_m(context);
    dm_gb_hot hot;
    m->next_event = m->clock;
    dm_gb_hot_load(&hot, m, context);

#define DM_GB_DISPATCH()                                                                           \
    do {                                                                                           \
        if (DM_UNLIKELY((int64_t)hot.time >= 0))                                                   \
            goto event;                                                                            \
        if (DM_UNLIKELY(hot.pc >= context->code_limit))                                            \
            goto elsewhere;                                                                        \
        goto *base_labels[hot.code[hot.pc]];                                                       \
    } while (0)

event:
    dm_gb_hot_store(&hot, m);
    enum dm_gb_next next = dm_gb_event(context);
    if (next == DM_GB_NEXT_STOP)
        return;
    if (next == DM_GB_NEXT_HALT_BUG)
        dm_gb_careful(context, true);
    dm_gb_hot_load(&hot, m, context);
    if (next == DM_GB_NEXT_HALT_BUG)
        DM_GB_DISPATCH();

elsewhere:
    if (dm_gb_find_code(context, &hot) && (int64_t)hot.time >= 0)
        goto event;
    if (hot.pc < context->code_limit)
        goto *base_labels[hot.code[hot.pc]];
    dm_gb_hot_store(&hot, m);
    dm_gb_careful(context, false);
    dm_gb_hot_load(&hot, m, context);
    DM_GB_DISPATCH();

#define OP(row, mnemonic, length, cycles, taken, operation, source, destination, address, extra)   \
    op_##row : hot.pc++;                                                                           \
    if (DM_GB_DO_##operation == DM_GB_DO_PREFIX)                                                   \
        goto *prefix_labels[hot.code[hot.pc]];                                                     \
    hot.time += DM_GB_TIME_CYCLE + 1u;                                                             \
    dm_gb_exec(context, &hot, DM_GB_ROW(operation, source, destination, address, length, extra));  \
    DM_GB_DISPATCH();
#define CB(row, mnemonic, length, cycles, taken, operation, source, destination, address, extra)   \
    cb_##row : hot.pc++;                                                                           \
    hot.time += 2u * DM_GB_TIME_CYCLE + 1u;                                                        \
    dm_gb_exec(context, &hot, DM_GB_ROW(operation, source, destination, address, length, extra));  \
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
DM_FN void dm_gb_sync_end(dm_gb_context *context)
{
    dm_gb_machine *m = dm_gb_m(context);
    uint32_t now = m->clock;
    dm_gb_sync_all(context, now);
    dm_gb_render_logged(context);
    dm_gb_apu_sync(dm_gb_apu_of(context), now, (uint16_t)dm_gb_div(m, now));
    dm_gb_cart_sync(dm_gb_cart_of(context), now);
    if (dm_gb_in_picture(m) && dm_gb_ppu_dot(m, now) > 84u) {
        dm_gb_mode0_dot(context);
        dm_gb_sprite_count(context);
        dm_gb_mode0_settle(context, now);
    }
    dm_gb_scan_until(context, now);
    dm_gb_draw_advance(context, now);
    for (uint32_t i = m->ppu.sprites; i < 10; i++)
        m->ppu.sprite[i] = m->ppu.sprite_x[i] = m->ppu.sprite_y[i] = 0;
    dm_gb_halt_forget(m);
    dm_gb_count64(&m->cycles_low, &m->cycles_high, now - m->counted_at);
    m->counted_at = now;
    m->next_event = now;
}

/* Run `cycles` T-cycles past the last target and settle. The context has been mapped (dm_gb_map) since
 * its machine was last changed from outside. */
DM_FN void dm_gb_run(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_move_target(context, dm_gb_m(context), cycles);
    dm_gb_loop(context);
    dm_gb_sync_end(context);
}

#endif
