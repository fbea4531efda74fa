/* SPDX-License-Identifier: MIT */
/* context.h - the machine context of an executor that runs many machines on a GPU; kernel text.
 *
 * machine/context.h says what the text in gb/machine asks of it. Where the machine is depends on how it is staged
 * (staging.h). */
#ifndef DM_SIMT_CONTEXT_H
#define DM_SIMT_CONTEXT_H

#include "gb/hooks.h"
#include "gb/machine/machine.h"

/* Where the fast path (fast.h) finds page tables and uops: in shared memory, which has addresses of 32 bits.
 * In large blocks page table entries count from `base`, the same for all machines (smem.h). */
typedef struct dm_gb_smem {
    uint64_t base;
    uint32_t pages, tables;
} dm_gb_smem;

/* A lane's state beside its hot registers, which the fast path and services seldom need. */
typedef struct dm_gb_line_log dm_gb_line_log; /* line_log.h */
#define DM_GB_QUEUE_SIZE 20u
typedef struct dm_gb_cold {
    /* The idle loop being watched (idle.h). */
    uint32_t skip_idle;  /* the context's */
    uint32_t idle_limit; /* everything read in it stays the same for accesses up to this time */
    uint32_t idle_regs[5];
    uint32_t idle_clock, idle_count;
    uint32_t idle_written[2];
    uint32_t io_next; /* after the write that is being serviced: PC, and the change of HL on top */
    /* Queued writes to devices (write_queue.h). */
    uint32_t queued;       /* how many */
    uint32_t queued_kinds; /* DM_GB_QUEUE_* */
    uint32_t when[DM_GB_QUEUE_SIZE], what[DM_GB_QUEUE_SIZE];
#if DM_GB_HOOKS
    const dm_gb_hook_table *hooks; /* the context's */
    uint64_t *hook_bits;
#endif
} dm_gb_cold;

/* Do machines run as copies in shared memory (staging.h)? Only blocks of few machines have room for them. */
#ifndef DM_GB_STAGE_SHARED
#define DM_GB_STAGE_SHARED 0
#endif

/* Or does a service work on a copy in the thread's local memory (staging_local.h)? */
#ifndef DM_GB_STAGE_LOCAL
#define DM_GB_STAGE_LOCAL 0
#endif

/* First what machine/context.h wants of every executor, then what this one needs. */
typedef struct dm_gb_context {
#if DM_GB_STAGE_SHARED
    uint32_t at; /* where in dm_gb_stages the machine's copy is */
#elif !DM_GB_STAGE_LOCAL
    dm_gb_machine *m; /* dm_gb_m is for reading this */
#endif
    uint8_t *ram;               /* machine memory */
    const uint8_t *rom;         /* a power of two in size */
    const uint32_t *predecoded; /* its instructions (predecode.h) */
    const uint8_t *boot;        /* 256 bytes while a boot ROM may be mapped, else NULL */
    uint8_t
        *frames; /* two pictures of 160 x 144 shades (ppu.front is complete); NULL: none wanted */
    dm_gb_serial_log *serial;
    uint8_t draw;         /* enum dm_gb_draw */
    uint8_t single_frame; /* DM_GB_DRAW_LAST: the next run may be of one frame, so the picture that
                             is under way at the end of this one is drawn too */
    uint8_t skip_idle;    /* idle loops may be skipped */
    uint8_t trace;        /* stop after each instruction */
    dm_gb_machine *home;  /* the machine itself; dm_gb_m may be a copy of it (staging.h) */
    bool remap;           /* the memory map may have changed in this service (page_table.h) */
    uint32_t steady;      /* until when the register read last stays the same */
    uint32_t idle_limit;  /* everything read in this service stays the same up to this time */
    dm_gb_smem smem;
    dm_gb_cold *cold;
#if DM_GB_HOOKS
    const dm_gb_hook_table *hooks; /* NULL: none */
    uint64_t *hook_bits;
#endif
    uint32_t run_end;  /* where the run stops: m.target may be on the way there */
    uint32_t complete; /* dm_gb_complete_key of the last picture that a warp drew to its end */
    /* Finished scanlines that are not rendered yet (render.h): their registers, the first of them and the line
     * after the last; end 0: none. */
    dm_gb_line_log *line_log;
    uint8_t log_next, log_end;
    uint8_t
        scan_height; /* of sprites when OAM was searched for ppu.line all at once; 0: it was not */
} dm_gb_context;

#include "gb/simt/staging.h"

DM_FN void dm_gb_context_set_rom(dm_gb_context *context, const uint8_t *rom,
                                 const uint32_t *predecoded)
{
    context->rom = rom;
    context->predecoded = predecoded;
}

/* The machine will run `cycles` T-cycles past its last target. */
DM_FN void dm_gb_move_target(dm_gb_context *context, dm_gb_machine *m, uint32_t cycles)
{
    m->target += cycles;
    context->run_end = m->target;
}

DM_FN uint32_t dm_gb_run_end(const dm_gb_context *context)
{
    return context->run_end;
}

DM_FN uint64_t dm_gb_ram_load64(const dm_gb_context *context, uint32_t offset)
{
    return *(const uint64_t *)(const void *)(context->ram + offset);
}

/* A whole OAM DMA transfer from a page of WRAM. Memory is far from a GPU's lane, so the accesses are wide
 * and ten of them are on their way at a time. */
DM_FN void dm_gb_ram_copy160(const dm_gb_context *context, uint32_t to, uint32_t from)
{
    uint64_t *out = (uint64_t *)(void *)(context->ram + to);
    const uint64_t *in = (const uint64_t *)(const void *)(context->ram + from);
    DM_NO_UNROLL
    for (uint32_t half = 0; half < 2u; half++, in += 10, out += 10) {
        uint64_t words[10];
        for (uint32_t i = 0; i < 10u; i++)
            words[i] = in[i];
        for (uint32_t i = 0; i < 10u; i++)
            out[i] = words[i];
    }
}

DM_FN void dm_gb_scanned_for(dm_gb_context *context, uint32_t height)
{
    context->scan_height = (uint8_t)height;
}

DM_FN void dm_gb_read_holds(dm_gb_context *context, uint32_t until)
{
    context->idle_limit = dm_gb_earlier(context->idle_limit, until);
    context->steady = until;
}

/* Nothing to do: the bus (bus.h) sets hot.idle_pc. */
DM_FN void dm_gb_idle_break(dm_gb_context *context)
{
    (void)context;
}

#endif
