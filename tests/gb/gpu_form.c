/* SPDX-License-Identifier: MIT */
#define DM_GB_GPU_FORM 1
#include "tests/gb/gpu_form.h"
#include "gb/run.h"

void dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    dm_gb_lane lane = {.m = form->m,
                       .ram = form->ram,
                       .rom = form->rom,
                       .rom_words = form->rom_words,
                       .frames = form->frames,
                       .draw = form->frames != NULL ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER,
                       .skip_polls = form->skip_polls};
    dm_gb_run(&lane, cycles);
}
