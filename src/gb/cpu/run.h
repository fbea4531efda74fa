/* SPDX-License-Identifier: MIT */
/* run.h - the loop that runs a machine; kernel text.
 *
 *   for (;;) {
 *       if (clock has reached next_event)   devices, interrupts, HALT, the end of the run (machine/event.h)
 *       fetch an opcode and execute it
 *   }
 *
 * A run stops at the first instruction boundary at or after its target. Where it stops does not
 * change what happens: running 2 frames is the same as running 1 frame twice. */
#ifndef DM_GB_CPU_RUN_H
#define DM_GB_CPU_RUN_H

#include "gb/cpu/idle_watch.h"
#include "gb/cpu/spans.h"
#include "gb/machine/event.h"

#ifndef DM_GB_SMALL_LOOP
#define DM_GB_SMALL_LOOP 0
#endif

/* Is PC on a page of RAM with hooks? */
DM_FN bool dm_gb_in_hooked_ram(const dm_gb_context *context, uint32_t pc)
{
    return context->hooks != 0 && (context->hooks->ram_pages >> (pc >> 12) & 1u) != 0;
}

/* Find the code at PC anew, or skip a loop that counts. True when time may have passed. On a page with hooks the limit
 * stays 0, so that every instruction comes here; `code` is set all the same where it is plain memory, up to `end`. */
DM_FN bool dm_gb_find_code(dm_gb_context *context, dm_gb_hot *hot)
{
    dm_gb_hot_remap(hot, context);
    const bool hooked = dm_gb_in_hooked_ram(context, hot->pc);
    uint32_t end = context->code_limit;
    if (hot->pc >= 0xFF80u) {
        hot->code = context->ram + DM_GB_HRAM - 0xFF80;
        end = 0xFFFD;
        context->code_limit = hooked ? 0 : end;
    } else if (hooked && context->read_page[hot->pc >> 12] != 0) {
        end = (hot->pc & 0xF000u) + 0xFFEu;
    }
    if (!context->idle_counts)
        return false;
    context->idle_counts = false;
    dm_gb_idle_count(hot, end);
    dm_gb_idle_remember(context, hot);
    return true;
}

/* After dm_gb_find_code: is this an instruction of plain RAM on a page with hooks? Then set the bits of its hooks. */
DM_FN bool dm_gb_find_hooked_ram(dm_gb_context *context, const dm_gb_hot *hot)
{
    const dm_gb_hook_table *hooks = context->hooks;
    const uint32_t pc = hot->pc;
    if (!dm_gb_in_hooked_ram(context, pc) ||
        (pc >= 0xFF80u ? pc >= 0xFFFDu
                       : context->read_page[pc >> 12] == 0 || (pc & 0xFFFu) >= 0xFFEu))
        return false;
    if ((hooks->ram_filter >> (pc & 63u) & 1u) != 0)
        dm_gb_hooks_meet(hooks, context->hook_bits, pc, dm_gb_bank_at(dm_gb_cart_of(context), pc));
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
#define OP(code, ...) (code) == DM_GB_HOOK_MARK ? &&marked : &&op_##code,
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
    if (hot.pc < context->code_limit || dm_gb_find_hooked_ram(context, &hot))
        goto *base_labels[hot.code[hot.pc]];

    /* by way of the machine: `hot` is in registers, and its address is not taken here */
    dm_gb_hot_store(&hot, m);
    dm_gb_careful(context, false);
    dm_gb_hot_load(&hot, m, context);
    DM_GB_DISPATCH();

marked:
    if (context->hooks == 0 || hot.pc >= 0x8000u)
        goto op_0xD3; /* which is in the program itself */
    {                 /* a block of its own: C++ allows no jump past a declaration */
        const dm_gb_hook_table *hooks = context->hooks;
        const uint64_t at = (uint64_t)(hot.code + hot.pc - hooks->marked);
        const uint32_t number = hooks->numbers[at], opcode = context->rom[at];
        if (number < DM_GB_HOOK_OPERANDS) {
            if (opcode == DM_GB_HOOK_MARK)
                goto op_0xD3;
            dm_gb_hooks_meet_number(hooks, context->hook_bits, &m->cart, hot.pc, number);
            goto *base_labels[opcode];
        }
        /* This instruction alone comes from the ROM. */
        hot.code = context->read_page[hot.pc >> 12];
        context->code_limit = 0;
        if (number != DM_GB_HOOK_OPERANDS)
            dm_gb_hooks_meet_number(hooks, context->hook_bits, &m->cart, hot.pc,
                                    number & DM_GB_HOOK_NUMBER);
        goto *base_labels[opcode];
    }

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

/* Run `cycles` T-cycles past the last target and sync everything. The context has been mapped (dm_gb_map) since
 * its machine was last changed from outside. */
DM_FN void dm_gb_run(dm_gb_context *context, uint32_t cycles)
{
    dm_gb_move_target(context, dm_gb_m(context), cycles);
    dm_gb_loop(context);
    dm_gb_sync_end(context);
}

#endif
