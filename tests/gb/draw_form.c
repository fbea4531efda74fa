/* SPDX-License-Identifier: MIT */
/* The lanes of the warp are coroutines that take turns: each goes on to the next of the functions
 * below, leaves its value there and waits until all others have come to it too. */
#include "tests/gb/draw_form.h"
#define DM_GB_GPU_FORM 1
#include "base/port.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { LANES = 32, STACK = 256 * 1024 };

static struct warp {
    ucontext_t outside, lanes[LANES];
    char *stacks;
    uint32_t lane, met, values[LANES], earlier[LANES];
    const uint8_t *ram;
    uint8_t *picture, *packed;
    const struct dm_gb_line_log *kept;
} warp;

/* The values of all lanes. */
static const uint32_t *meet(uint32_t value)
{
    uint32_t lane = warp.lane;
    warp.values[lane] = value;
    warp.met++;
    swapcontext(&warp.lanes[lane], &warp.outside);
    return warp.earlier;
}

static uint32_t warp_ballot(bool value)
{
    const uint32_t *values = meet(value);
    uint32_t ballot = 0;
    for (uint32_t i = 0; i < LANES; i++)
        ballot |= values[i] << i;
    return ballot;
}

static uint32_t warp_from_lane(uint32_t value, uint32_t lane)
{
    return meet(value)[lane];
}

#undef DM_LANES
#define DM_LANES 32
#define dm_lane() (warp.lane)
#define dm_ballot warp_ballot
#define dm_any(value) (warp_ballot(value) != 0)
#define dm_all(value) (warp_ballot(value) == 0xFFFFFFFFu)
#define dm_from_lane warp_from_lane
#define dm_warp_sync() ((void)meet(0))
#include "swarm/pixels.h"

static void run_lane(void)
{
    dm_simt_render_picture(warp.ram, warp.picture, warp.kept, warp.packed);
}

static __attribute__((noinline)) void begin_lane(ucontext_t *lane, char *stack)
{
    getcontext(lane);
    lane->uc_stack.ss_sp = stack;
    lane->uc_stack.ss_size = STACK;
    lane->uc_link = &warp.outside;
    makecontext(lane, run_lane, 0);
}

/* Take the notes of lines first..end-1 out of the picture. */
static void log_pictured(dm_gb_line_log *kept, uint8_t *picture, uint32_t first, uint32_t end)
{
    kept->count = kept->spilled = 0;
    for (uint32_t line = first; line < end; line++) {
        uint8_t *at = picture + line * DM_GB_SCREEN_W;
        const uint64_t registers = dm_load_u64(at);
        if (!dm_gb_logged(registers))
            continue;
        memset(at, 1, sizeof registers);
        dm_gb_log_lines(kept, picture, registers & ~(uint64_t)DM_GB_LINE_WINDOW, line, line + 1u,
                        line + (dm_gb_registers_have(registers, DM_GB_LINE_WINDOW) ? 0u : 1u));
    }
}

void dm_test_draw_warp(uint8_t *ram, uint8_t *picture, uint8_t *packed)
{
    dm_gb_line_log kept;
    log_pictured(&kept, picture, 0, DM_GB_SCREEN_H);
    warp.kept = &kept;
    warp.ram = ram;
    warp.picture = picture;
    warp.packed = packed;
    warp.stacks = malloc((size_t)LANES * STACK);
    if (warp.stacks == NULL)
        abort();
    for (uint32_t i = 0; i < LANES; i++)
        begin_lane(&warp.lanes[i], warp.stacks + (size_t)i * STACK);
    do {
        warp.met = 0;
        for (warp.lane = 0; warp.lane < LANES; warp.lane++)
            swapcontext(&warp.outside, &warp.lanes[warp.lane]);
        memcpy(warp.earlier, warp.values, sizeof warp.earlier);
    } while (warp.met == LANES);
    if (warp.met != 0)
        abort(); /* some have ended, others wait for them */
    free(warp.stacks);
}

void dm_test_draw_alone(uint8_t *ram, uint8_t *picture, uint32_t first, uint32_t end)
{
    dm_gb_machine machine = {0};
    dm_gb_line_log kept;
    dm_gb_context context = {.m = &machine,
                             .ram = ram,
                             .line_log = &kept,
                             .frames = picture,
                             .log_next = (uint8_t)first,
                             .log_end = (uint8_t)end};
    machine.ppu.front = 1; /* the other one is drawn to */
    log_pictured(&kept, picture, first, end);
    dm_gb_render_logged(&context);
}
