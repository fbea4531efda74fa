/* SPDX-License-Identifier: MIT */
/* kernel_run.h - run many machines, one thread each; kernel text.
 *
 * Memory lies machine after machine (kernel_args.h). */
#ifndef DM_SIMT_KERNEL_RUN_H
#define DM_SIMT_KERNEL_RUN_H

/* Machines of a block at most, so few that slots are of 64 bits (smem.h). */
#define DM_GB_QUICK_LANES 128

#include "gb/simt/kernel_args.h"
#include "gb/cpu/run.h"

/* Blocks are of whole warps. */
DM_KERNEL_BOUNDS(dm_gb_run_machines, dm_gb_run_args, DM_GB_QUICK_LANES, 1)
{
#if DM_ON_CUDA
    const dm_gb_quick_place place = dm_gb_quick_open(0);
#endif
    for (uint64_t i = dm_thread_index(); i < args.count; i += dm_thread_count()) {
        dm_gb_lane lane = {0};
#if DM_ON_CUDA
        lane.place = place;
#endif
#if DM_GB_GPU_FORM
        dm_gb_kept kept;
        lane.kept = &kept;
#endif
        dm_gb_lane_set(&lane, args.machines + i);
        lane.ram = args.memory + i * args.memory_stride;
        lane.rom = args.rom;
        lane.rom_words = args.rom_words;
        lane.frames = args.frames == 0 ? 0 : args.frames + i * DM_GB_FRAMES_SIZE;
        lane.draw = (uint8_t)(args.frames == 0 ? (uint32_t)DM_GB_DRAW_NEVER : args.draw);
        lane.single_frame = 1;
        lane.skip_polls = args.skip_polls != 0;
        if (args.keys != 0)
            dm_gb_joypad_set(lane.m, lane.m->joypad.select, args.keys[i]);
        dm_gb_map(&lane);
        dm_gb_drop_picture(&lane, args.cycles);
        dm_gb_run(&lane, args.cycles);
    }
}

/* The instructions of a ROM as words (predecode.h). */
DM_KERNEL(dm_gb_make_rom_words, dm_gb_rom_words_args)
{
    for (uint64_t i = dm_thread_index(); i < dm_gb_rom_words(args.size); i += dm_thread_count())
        args.words[i] = dm_gb_rom_word(args.rom, args.size, i);
}

#endif
