/* SPDX-License-Identifier: MIT */
/* render.c - the renderer of pictures, by a lane alone and by a warp, in blocks of lanes on the host. */
#define DM_HOST_BLOCK 1
#include "tests/gb/block/kernels.h"
#define DM_SIMT_THREADS 128
#include "gb/simt/lanes.h"
#include "gb/simt/render_packed.h"

typedef struct render_args {
    const uint8_t *ram;
    uint8_t *picture, *packed;
    const dm_gb_line_log *log;
} render_args;

DM_KERNEL(render, render_args)
{
    dm_simt_render_picture(args.ram, args.picture, args.log, args.packed);
}

/* Move the line registers of lines first..end-1 from the picture to a log. */
static void log_lines(dm_gb_line_log *log, uint8_t *picture, uint32_t first, uint32_t end)
{
    log->count = log->spilled = 0;
    for (uint32_t line = first; line < end; line++) {
        uint8_t *at = picture + line * DM_GB_SCREEN_W;
        const uint64_t registers = dm_load_u64(at);
        if (!dm_gb_logged(registers))
            continue;
        memset(at, 1, sizeof registers);
        dm_gb_log_lines(log, picture, registers & ~(uint64_t)DM_GB_LINE_WINDOW, line, line + 1u,
                        line + (dm_gb_registers_have(registers, DM_GB_LINE_WINDOW) ? 0u : 1u));
    }
}

void dm_test_render_warp(uint8_t *ram, uint8_t *picture, uint8_t *packed)
{
    dm_gb_line_log log;
    log_lines(&log, picture, 0, DM_GB_SCREEN_H);
    const render_args args = {ram, picture, packed, &log};
    render(&args, 0, 32, 32);
}

void dm_test_render_alone(uint8_t *ram, uint8_t *picture, uint32_t first, uint32_t end)
{
    dm_gb_line_log log;
    dm_gb_machine machine = {0};
    dm_gb_context context = {.home = &machine,
                             .ram = ram,
                             .line_log = &log,
                             .frames = picture,
                             .log_next = (uint8_t)first,
                             .log_end = (uint8_t)end};
    machine.ppu.front = 1; /* the other one is drawn to */
    struct {
        dm_gb_context context;
        dm_gb_stage copy;
    } alone; /* as the machine is found from its context where it is staged */
    memset(&alone, 0, sizeof alone);
    alone.context = context;
    dm_gb_stage_words(dm_gb_m(&alone.context), &machine);
    log_lines(&log, picture, first, end);
    dm_gb_render_logged(&alone.context);
}
