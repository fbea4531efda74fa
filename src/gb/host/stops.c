/* SPDX-License-Identifier: MIT */
/* stops.c - running one machine up to places in its program.
 *
 * The machine runs instruction by instruction, each as a run of one cycle (HALT as one run up to what may end it).
 * After each the target is set back to the end of the frames, so that a stop does not change where they end. */
#include "gb/host/core.h"

#include "gb/cpu/run.h"

static bool reached(const dm_gb *gb, const dm_gb_hook *stops, size_t count, size_t *which)
{
    const uint16_t pc = gb->machine.cpu.pc;
    if (gb->machine.cpu.mode != DM_GB_RUNNING)
        return false;
    for (size_t i = 0; i < count; i++)
        if (stops[i].address == pc &&
            (stops[i].bank == DM_GB_HOOK_EVERY_BANK || stops[i].bank == dm_gb_bank(gb, pc))) {
            if (which != NULL)
                *which = i;
            return true;
        }
    return false;
}

/* T-cycles that may pass in one run without an instruction: 1, or more where the machine sleeps and nothing can wake it
 * before. */
static uint32_t piece(dm_gb *gb, uint32_t end)
{
    dm_gb_machine *m = &gb->machine;
    if (m->cpu.mode != DM_GB_HALTED || m->cpu.waking)
        return 1;
    const uint32_t enabled = dm_gb_ram_load(&gb->context, DM_GB_IE);
    if ((m->int_flags & enabled & 0x1Fu) != 0)
        return 1;
    const uint32_t until = dm_gb_earlier(dm_gb_next_request(&gb->context, enabled), end);
    return dm_gb_before(m->clock + 16u, until) ? until - m->clock - 16u : 1;
}

bool dm_gb_run_stops(dm_gb *gb, uint32_t frames, enum dm_gb_draw draw, const dm_gb_hook *stops,
                     size_t count, size_t *which)
{
    if (gb == NULL || (stops == NULL && count != 0))
        return false;
    dm_gb_machine *m = &gb->machine;
    bool going_on = frames == 0; /* the stop at PC was reported already */
    gb->context.draw = (uint8_t)(draw == DM_GB_DRAW_NEVER ? draw : DM_GB_DRAW_ALWAYS);
    gb->context.single_frame = 1;
    /* Times are compared modulo 2^32. */
    if (frames > DM_GB_STOP_FRAMES)
        frames = DM_GB_STOP_FRAMES;
    const uint32_t end = m->target + frames * DM_GB_FRAME_CYCLES;
    m->target = end;
    while (dm_gb_before(m->clock, end)) {
        if (!going_on && reached(gb, stops, count, which))
            return true;
        going_on = false;
        const uint32_t cycles = piece(gb, end);
        m->target = m->clock;
        dm_gb_run(&gb->context, cycles);
        m->target = end;
    }
    return false;
}
