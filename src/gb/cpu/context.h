/* SPDX-License-Identifier: MIT */
/* context.h - a machine context and where its machine is, as a CPU runs it; kernel text.
 *
 * machine/context.h says what the text in gb/machine asks of it. */
#ifndef DM_GB_CPU_CONTEXT_H
#define DM_GB_CPU_CONTEXT_H

#include "gb/hooks.h"
#include "gb/machine/machine.h"

/* Writes to P1 before a first watch, and how often that number is doubled after watches that found
 * nothing (idle_watch.h). */
#define DM_GB_IDLE_WATCH_AFTER 64u
#define DM_GB_IDLE_WATCH_LEVELS 5u

/* Bytes of WRAM that a watched pass has written, with their values before (idle_watch.h). */
#define DM_GB_JOURNAL 32u
typedef struct dm_gb_journal {
    uint32_t count;
    uint16_t at[DM_GB_JOURNAL]; /* in WRAM */
    uint8_t was[DM_GB_JOURNAL];
} dm_gb_journal;

#define DM_GB_NO_IDLE 0xFFFFFFFFu /* for idle_pc */

enum dm_gb_watch { DM_GB_NOT_WATCHING, DM_GB_WATCHING, DM_GB_WATCH_OVER };

/* First what machine/context.h wants of every executor, then what this one needs. */
typedef struct dm_gb_context {
    dm_gb_machine *m;    /* dm_gb_m is for reading this */
    uint8_t *ram;        /* machine memory */
    const uint8_t *rom;  /* a power of two in size */
    const uint8_t *boot; /* 256 bytes while a boot ROM may be mapped, else NULL */
    uint8_t
        *frames; /* two pictures of 160 x 144 shades (ppu.front is complete); NULL: none wanted */
    dm_gb_serial_log *serial;
    uint8_t draw;         /* enum dm_gb_draw */
    uint8_t single_frame; /* DM_GB_DRAW_LAST: the next run may be of one frame, so the picture that
                             is under way at the end of this one is drawn too */
    uint8_t skip_idle;    /* idle loops may be skipped */
    uint8_t trace;        /* stop after each instruction */
    /* Pages of 4 KiB that are plain memory now, indexed by full address; NULL: ask the slow path.
     */
    const uint8_t *read_page[16];
    uint8_t *write_page[16];
    /* Where their instructions are fetched from: as read_page, or the ROM with hooks marked (hooks.h). */
    const uint8_t *code_page[16];
    const dm_gb_hook_table *hooks; /* NULL: none */
    uint64_t *hook_bits;
    /* By page: instructions that begin before this address are plain memory with all their bytes;
     * 0: none are. */
    uint16_t code_end[16];
    uint32_t
        code_limit; /* code_end for hot.code; here it does not take one of the host's registers */
    /* The idle loop being watched (idle.h). */
    uint32_t idle_limit; /* everything read in it stays the same for accesses up to this time */
    uint32_t idle_regs[7];
    uint64_t idle_time;
    uint32_t idle_pc;    /* head of that loop; DM_GB_NO_IDLE: none */
    bool idle_counts;    /* it may be one that only counts */
    uint8_t idle_passes; /* 1: the registers at its head are known */
    /* Loops that write nothing new (idle_watch.h). */
    uint8_t watch;          /* enum dm_gb_watch */
    bool watch_next;        /* watch the instructions that come next */
    uint8_t watch_level;    /* watches that found nothing, up to DM_GB_IDLE_WATCH_LEVELS */
    uint32_t pad_writes;    /* writes to P1 since the last watch */
    dm_gb_journal *journal; /* while watching */
} dm_gb_context;

DM_FN void dm_gb_context_set(dm_gb_context *context, dm_gb_machine *m)
{
    context->m = m;
}

/* `predecoded` is for GPUs. */
DM_FN void dm_gb_context_set_rom(dm_gb_context *context, const uint8_t *rom,
                                 const uint32_t *predecoded)
{
    (void)predecoded;
    context->rom = rom;
}

DM_FN dm_gb_machine *dm_gb_m(const dm_gb_context *context)
{
    return context->m;
}

DM_FN dm_gb_apu *dm_gb_apu_of(const dm_gb_context *context)
{
    return &context->m->apu;
}

DM_FN dm_gb_cart *dm_gb_cart_of(const dm_gb_context *context)
{
    return &context->m->cart;
}

/* The machine will run `cycles` T-cycles past its last target. */
DM_FN void dm_gb_move_target(dm_gb_context *context, dm_gb_machine *m, uint32_t cycles)
{
    (void)context;
    m->target += cycles;
}

DM_FN uint32_t dm_gb_run_end(const dm_gb_context *context)
{
    return context->m->target;
}

DM_FN uint64_t dm_gb_ram_load64(const dm_gb_context *context, uint32_t offset)
{
    return dm_load_u64(context->ram + offset);
}

DM_FN void dm_gb_ram_copy160(const dm_gb_context *context, uint32_t to, uint32_t from)
{
    __builtin_memcpy(context->ram + to, context->ram + from, 160);
}

DM_FN void dm_gb_scanned_for(dm_gb_context *context, uint32_t height)
{
    (void)context;
    (void)height;
}

DM_FN void dm_gb_read_holds(dm_gb_context *context, uint32_t until)
{
    context->idle_limit = dm_gb_earlier(context->idle_limit, until);
}

/* A loop that does this does not only wait. */
DM_FN void dm_gb_idle_break(dm_gb_context *context)
{
    context->idle_pc = DM_GB_NO_IDLE;
    if (context->watch == DM_GB_WATCHING)
        context->watch = DM_GB_WATCH_OVER;
}

#endif
