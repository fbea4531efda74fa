/* SPDX-License-Identifier: MIT */
/* kernel_run.h - a kernel that runs machines without a swarm, a thread each, and one that predecodes a ROM;
 * kernel text.
 *
 * Tests launch them (tests/gb/device, tests/gb/block). A thread calls the executor's dm_gb_run. Memory lies machine
 * after machine (kernel_args.h). */
#ifndef DM_SIMT_KERNEL_RUN_H
#define DM_SIMT_KERNEL_RUN_H

/* Machines of a block at most, so few that page table entries have 64 bits (limits.h): memory may lie anywhere. */
#define DM_GB_BLOCK_MACHINES 128

#include "gb/run.h"
#include "gb/simt/kernel_args.h"
#include "gb/simt/predecode.h"

/* Blocks are of whole warps. */
DM_KERNEL_BOUNDS(dm_gb_run_machines, dm_gb_run_args, DM_GB_BLOCK_MACHINES, 1)
{
#if DM_MANY_LANES
    const dm_gb_smem smem = dm_gb_smem_open(0, args.uops);
#endif
    for (uint64_t i = dm_thread_index(); i < args.count; i += dm_thread_count()) {
        dm_gb_context context = {0};
#if DM_MANY_LANES
        context.smem = smem;
#endif
#if DM_MANY_LANES
        dm_gb_line_log line_log;
        context.line_log = &line_log;
#endif
        dm_gb_context_set(&context, args.machines + i);
        context.ram = args.memory + i * args.memory_stride;
        dm_gb_context_set_rom(&context, args.rom, args.predecoded);
        context.frames = args.frames == 0 ? 0 : args.frames + i * DM_GB_FRAMES_SIZE;
        context.draw = (uint8_t)(args.frames == 0 ? (uint32_t)DM_GB_DRAW_NEVER : args.draw);
        context.single_frame = 1;
        context.skip_idle = args.skip_idle != 0;
        if (args.keys != 0)
            dm_gb_joypad_set(context.m, context.m->joypad.select, args.keys[i]);
        dm_gb_map(&context);
        dm_gb_drop_picture(&context, args.cycles);
        dm_gb_run(&context, args.cycles);
    }
}

/* The instructions of a ROM as words (predecode.h). */
DM_KERNEL(dm_gb_predecode_rom, dm_gb_predecode_args)
{
    for (uint64_t i = dm_thread_index(); i < dm_gb_predecoded_size(args.size);
         i += dm_thread_count())
        args.words[i] = dm_gb_predecode_at(args.rom, args.size, i);
}

#endif
