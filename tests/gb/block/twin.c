/* SPDX-License-Identifier: MIT */
/* twin.c - see twin.h. */
#include "tests/gb/block/twin.h"
#include "gb/cpu/run.h"
#include "gb/host/hooks.h"
#include "gb/simt/predecode.h"
#include "gb/simt/uop_decode.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

dm_twin *dm_twin_create(const dm_gb *gb, const dm_block_mode *mode, bool known)
{
    dm_twin *t = calloc(1, sizeof *t);
    assert_non_null(t);
    const uint64_t words = dm_gb_predecoded_size(gb->rom.size),
                   room = (gb->ram_size + 63u) / 64u * 64u;
    t->memory =
        aligned_alloc(64, (room + gb->rom.size + words * sizeof(uint32_t) + 63u) / 64u * 64u);
    assert_non_null(t->memory);
    t->ram = t->memory;
    t->rom = t->memory + room;
    t->words = (uint32_t *)(void *)(t->rom + gb->rom.size);
    t->m = gb->machine;
    memcpy(t->ram, gb->ram, gb->ram_size);
    memcpy(t->rom, gb->rom.bytes, gb->rom.size);
    for (uint64_t i = 0; i < words; i++)
        t->words[i] = known ? dm_gb_predecode_at(gb->rom.bytes, gb->rom.size, i) : DM_GB_NO_WORD;
    t->roms = (dm_gb_batch_rom){t->rom, t->words, NULL};
    for (uint32_t i = 0; i < DM_GB_UOPS; i++)
        t->uops[i] = dm_gb_uop_table_at(i);
    t->args = (dm_swarm_args){.batch.machines = (uint8_t *)&t->m,
                              .batch.memory = t->ram,
                              .progress = &t->progress,
                              .batch.roms = &t->roms,
                              .faults = &t->faults,
                              .batch.lane_contexts = (uint8_t *)t->lane_context,
                              .batch.lowest = (uint64_t)(uintptr_t)t->memory,
                              .batch.uops = t->uops,
                              .rewards = &t->reward,
                              .terminated = &t->terminated,
                              .truncated = &t->truncated,
                              .batch.machine_stride = sizeof t->m,
                              .batch.memory_stride = room,
                              .batch.count = 1,
                              .batch.rom_count = 1,
                              .batch.lanes_per_warp = mode->lanes,
                              .batch.block_machines = mode->threads / 32u * mode->lanes,
                              .batch.short_blocks = UINT32_MAX,
                              .stack = 1,
                              .vector_size = 32,
                              .action_count = 256,
                              .raw_keys = 1,
                              .autoreset = DM_SWARM_RESET_DISABLED,
                              .batch.skip_idle = 1,
                              .batch.part_end = 2,
                              .actions = &t->keys};
    return t;
}

void dm_twin_set_hooks(dm_twin *t, const dm_gb *gb, const dm_gb_hook *hooks, size_t count)
{
    assert_ok(dm_gb_hook_table_init(&t->hooks, hooks, count, &gb->rom, err));
    dm_gb_hooks_mark_words(&t->hooks, &gb->rom, t->words);
    t->hooks.predecoded = t->words;
    t->roms.hooks = &t->hooks;
    t->args.batch.hook_bits = &t->hook_bits;
}

void dm_twin_destroy(dm_twin *t)
{
    free(t->memory);
    free(t);
}

void dm_twin_run(dm_twin *t, const dm_block_mode *mode, uint32_t cycles, uint8_t draw, uint8_t keys)
{
    dm_gb_context context = {.m = &t->m, .draw = draw};
    dm_gb_drop_picture(&context, cycles);
    t->keys = keys;
    uint32_t services = 0, load = 0, first = 0;
    t->args.batch.services = &services; /* nothing is known of the last step */
    t->args.batch.loads = &load;
    t->args.batch.order = &first;
    t->args.batch.cycles[0] = cycles;
    t->args.batch.draw[0] = draw;
    t->args.batch.single_frame[0] = 1;
    t->args.batch.frames = draw != DM_GB_DRAW_NEVER ? t->pictures[0] : NULL;
    t->args.packed = draw != DM_GB_DRAW_NEVER ? (uint8_t *)t->packed : NULL;
    /* Where warps do not work together, one is enough. */
    const uint32_t threads = mode->lanes < 16 ? 32u : mode->threads;
    mode->kernels[0].loop(&t->args, 0, threads, threads);
}
