/* SPDX-License-Identifier: MIT */
#define DM_GB_GPU_FORM 1
#include "tests/gb/gpu_form.h"
#include "gb/run.h"

/* What swarm/warp.h does, with the lanes of a warp one after the other. */
static void first_half(dm_gb_lane *lane)
{
    dm_gb_machine *m = lane->m;
    const uint32_t lanes = 32;
    m->target = dm_gb_last_picture(lane);
    dm_gb_loop(lane);
    if (!m->dma.active)
        dm_gb_ppu_sync(lane, m->target);
    for (uint32_t i = 0; lane->kept_end != 0 && i < lanes; i++) {
        dm_gb_lane other = {.m = m, .ram = lane->ram, .frames = lane->frames};
        dm_gb_draw_part(&other, i, lanes);
    }
    lane->kept_end = 0;
    m->target = lane->run_end;
}

void dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    dm_gb_lane lane = {.m = form->m,
                       .ram = form->ram,
                       .rom = form->rom,
                       .rom_words = form->rom_words,
                       .frames = form->frames,
                       .draw = form->draw,
                       .single_frame = 1,
                       .skip_polls = form->skip_polls};
    dm_gb_drop_picture(&lane, cycles);
    dm_gb_move_target(&lane, cycles);
    if (form->halves)
        first_half(&lane);
    dm_gb_loop(&lane);
    dm_gb_settle(&lane);
}
