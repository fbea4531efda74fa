/* SPDX-License-Identifier: MIT */
/* run.h - a service, and the loop of a machine by itself; kernel text.
 *
 * The fast path executes instructions until it traps (fast.h). dm_gb_service then does what the fast path could not:
 * queued writes, due events, the access or the instruction that trapped. Swarms call it from simt/service.h and
 * simt/mode; dm_gb_loop and dm_gb_run are for kernels without a swarm (kernel_run.h). */
#ifndef DM_SIMT_RUN_H
#define DM_SIMT_RUN_H

#include "gb/machine/event.h"
#include "gb/simt/fast_scalar.h"
#include "gb/simt/render.h"

/* An instruction by the slow path; `twice`: its opcode byte is read twice (HALT's bug). */
DM_FN_SLOW void dm_gb_service_slow(dm_gb_context *context, dm_gb_hot *copy, bool twice)
{
    dm_gb_hot hot = *copy;
#if DM_GB_HOOKS
    if (context->hooks != 0)
        dm_gb_hooks_meet_pc(context->hooks, context->hook_bits, dm_gb_m(context),
                            dm_gb_cart_of(context), hot.pc);
#endif
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

/* Do what a trap asks for; DM_GB_TRAP_OVER: the run is over, and all registers are in m. Callers pass a
 * copy of their hot registers: the address of those themselves would force them into memory. */
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
    /* The access may have made an event due: handle it now, and save a service of its own. */
    if (trap == DM_GB_TRAP_EVENT ||
        (!slow && !replayed && !dm_gb_before(hot->clock, hot->next_event))) {
        dm_gb_hot_pause(hot, m);
        enum dm_gb_next next = dm_gb_event(context);
        if (next == DM_GB_NEXT_STOP) {
            dm_gb_hot_save(hot, m);
            /* The first half of a run ends at a picture (simt.h): log its last lines now. */
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

/* The same, and the page table is filled anew if the memory map has changed. */
DM_FN enum dm_gb_trap dm_gb_service_mapped(dm_gb_context *context, dm_gb_hot *hot,
                                           enum dm_gb_trap trap)
{
    context->remap = false;
    trap = dm_gb_service(context, hot, trap);
    if (context->remap)
        dm_gb_page_table_fill(context, dm_gb_m(context), &context->smem);
    return trap;
}

/* A run begins: load the registers and fill the page table. */
DM_FN void dm_gb_service_begin(dm_gb_context *context, dm_gb_machine *m, dm_gb_hot *hot)
{
    context->cold->skip_idle = context->skip_idle;
    context->cold->queued = context->cold->queued_kinds = 0;
#if DM_GB_HOOKS
    context->cold->hooks = context->hooks;
    context->cold->hook_bits = context->hook_bits;
#endif
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

/* Run `cycles` T-cycles past the last target and sync everything. (The run fills the page table itself; on a CPU
 * the context must have been mapped, dm_gb_map.) */
DM_FN void dm_gb_run(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_move_target(context, dm_gb_m(context), cycles);
    dm_gb_loop(context);
    dm_gb_sync_end(context);
}

#endif
