/* SPDX-License-Identifier: MIT */
/* context.h - a machine context: everything a machine needs while it runs; kernel text.
 *
 * The context is made for a run and never saved. Machine memory is reached only through the two accessors
 * here, so that its layout can change in one place. */
#ifndef DM_GB_CONTEXT_H
#define DM_GB_CONTEXT_H

#include "gb/machine/machine.h"

/* What the machine sent over the serial port, for whoever wants to read it. */
typedef struct dm_gb_serial_log {
    uint8_t *bytes;
    uint32_t size, capacity; /* bytes past capacity are counted, not kept */
} dm_gb_serial_log;

/* Which pictures are wanted: the public enum dm_gb_draw, for kernel text. */
#if DM_HAS_HEADERS
#include <dotmatrix/gb.h>
#else
enum dm_gb_draw { DM_GB_DRAW_NEVER, DM_GB_DRAW_LAST, DM_GB_DRAW_ALWAYS };
#endif

/* Where the fast path (simt/fast.h) finds page tables and uops: in shared memory, which has addresses of 32 bits.
 * In large blocks page table entries count from `base`, the same for all machines (simt/smem.h). */
typedef struct dm_gb_smem {
    uint64_t base;
    uint32_t pages, tables;
} dm_gb_smem;

/* Writes to P1 before a first probe, and how often that number is doubled after probes that found
 * nothing (idle_probe.h). */
#define DM_GB_IDLE_PROBE_AFTER 64u
#define DM_GB_IDLE_PROBE_LEVELS 5u

/* Bytes of WRAM that a watched pass has stored to, as they were. */
#define DM_GB_JOURNAL 32u
typedef struct dm_gb_journal {
    uint32_t count;
    uint16_t at[DM_GB_JOURNAL]; /* in WRAM */
    uint8_t was[DM_GB_JOURNAL];
} dm_gb_journal;

#if DM_GB_GPU_FORM
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
    uint32_t io_next; /* what follows a write that is waited for: PC, and the change of HL on top */
    /* Writes to devices that are still to be made (write_queue.h). */
    uint32_t queued;       /* how many */
    uint32_t queued_kinds; /* DM_GB_QUEUE_* */
    uint32_t when[DM_GB_QUEUE_SIZE], what[DM_GB_QUEUE_SIZE];
} dm_gb_cold;
#endif

#define DM_GB_NO_IDLE 0xFFFFFFFFu /* for idle_pc */

enum dm_gb_watch { DM_GB_NOT_WATCHING, DM_GB_WATCHING, DM_GB_WATCH_OVER };

/* Do machines run as copies in shared memory (staging.h)? For kernels that have room for them. */
#ifndef DM_GB_STAGE_SHARED
#define DM_GB_STAGE_SHARED 0
#endif

/* Or is everything done on copies in memory of the threads' own (staging_local.h)? */
#ifndef DM_GB_STAGE_LOCAL
#define DM_GB_STAGE_LOCAL 0
#endif

typedef struct dm_gb_context {
#if DM_GB_STAGE_SHARED
    uint32_t at; /* where in dm_gb_stages the machine's copy is */
#elif !DM_GB_STAGE_LOCAL
    dm_gb_machine *m; /* dm_gb_m is for reading this */
#endif
    uint8_t *ram;               /* machine memory */
    const uint8_t *rom;         /* a power of two in size */
    const uint32_t *predecoded; /* the GPU's form: its instructions (predecode.h) */
    const uint8_t *boot;        /* 256 bytes while a boot ROM may be mapped, else NULL */
    uint8_t
        *frames; /* two pictures of 160 x 144 shades (ppu.front is complete); NULL: none wanted */
    dm_gb_serial_log *serial;
    uint8_t draw;         /* enum dm_gb_draw */
    uint8_t single_frame; /* DM_GB_DRAW_LAST: the next run may be of one frame, so the picture that
                             is under way at the end of this one is drawn too */
    uint8_t skip_idle;    /* idle loops may be skipped */
    uint8_t trace;        /* stop after each instruction */
#if DM_GB_GPU_FORM
    dm_gb_machine *home; /* the machine itself, where another is a copy of it (staging.h) */
    bool remap;          /* the memory map may have changed in this service (page_table.h) */
    uint32_t steady;     /* until when the register read last stays the same */
    uint32_t idle_limit; /* of what was read in this service */
    dm_gb_smem smem;
    dm_gb_cold *cold;
    uint32_t run_end;  /* where the run stops: m.target may be on the way there */
    uint32_t complete; /* dm_gb_complete_key of the last picture that a warp drew to its end */
    /* Finished scanlines that are not rendered yet (render.h): their registers, the first of them and the line
     * after the last; end 0: none. */
    dm_gb_line_log *line_log;
    uint8_t log_next, log_end;
    uint8_t
        scan_height; /* of sprites when OAM was searched for ppu.line all at once; 0: it was not */
#else
    /* Pages of 4 KiB that are plain memory now, indexed by full address; NULL: ask the slow path.
     */
    const uint8_t *read_page[16];
    uint8_t *write_page[16];
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
    /* Loops that write nothing new (idle_probe.h). */
    uint8_t watch;          /* enum dm_gb_watch */
    bool probe;             /* watch the instructions that come next */
    uint8_t probe_level;    /* probes that found nothing, up to DM_GB_IDLE_PROBE_LEVELS */
    uint32_t pad_writes;    /* writes to P1 since the last probe */
    dm_gb_journal *journal; /* while watching */
#endif
} dm_gb_context;

#include "gb/simt/staging.h"

/* Something happens that a loop that writes nothing new does not do (idle_probe.h). */
DM_FN void dm_gb_watch_over(dm_gb_context *context)
{
#if DM_GB_GPU_FORM
    (void)context;
#else
    if (context->watch == DM_GB_WATCHING)
        context->watch = DM_GB_WATCH_OVER;
#endif
}

DM_FN uint8_t dm_gb_ram_load(const dm_gb_context *context, uint32_t offset)
{
    return context->ram[offset];
}

DM_FN void dm_gb_ram_store(const dm_gb_context *context, uint32_t offset, uint32_t value)
{
    context->ram[offset] = (uint8_t)value;
}

/* Cartridge RAM and what else answers at A000..BFFF. */
DM_FN uint8_t dm_gb_cart_ram_read(dm_gb_context *context, uint32_t address)
{
    dm_gb_cart *cart = dm_gb_cart_of(context);
    uint32_t offset = dm_gb_cart_ram_offset(cart, address);
    if (offset == DM_GB_NO_RAM)
        return dm_gb_cart_special_read(cart, address);
    return (uint8_t)(dm_gb_ram_load(context, DM_GB_CART_RAM + offset) | dm_gb_cart_open_bits(cart));
}

DM_FN void dm_gb_cart_ram_write(dm_gb_context *context, uint32_t now, uint32_t address,
                                uint8_t value)
{
    dm_gb_cart *cart = dm_gb_cart_of(context);
    uint32_t offset = dm_gb_cart_ram_offset(cart, address);
    if (offset == DM_GB_NO_RAM)
        dm_gb_cart_special_write(cart, now, address, value);
    else
        dm_gb_ram_store(context, DM_GB_CART_RAM + offset, value | dm_gb_cart_open_bits(cart));
}

/* Is time a before time b? */
DM_FN bool dm_gb_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

DM_FN uint32_t dm_gb_earlier(uint32_t a, uint32_t b)
{
    return dm_gb_before(a, b) ? a : b;
}

/* The machine will run `cycles` T-cycles past its last target. */
DM_FN void dm_gb_move_target(dm_gb_context *context, dm_gb_machine *m, uint32_t cycles)
{
    m->target += cycles;
#if DM_GB_GPU_FORM
    context->run_end = m->target;
#else
    (void)context;
#endif
}

/* Where that ends. */
DM_FN uint32_t dm_gb_run_end(const dm_gb_context *context)
{
#if DM_GB_GPU_FORM
    return context->run_end;
#else
    return dm_gb_m(context)->target;
#endif
}

/* Further away than any event; rescheduled long before it is reached. */
DM_FN uint32_t dm_gb_never(uint32_t now)
{
    return now + 0x20000000u;
}

#endif
