/* SPDX-License-Identifier: MIT */
/* twin.h - a machine run by the stage kernel full_step as a GPU runs it, in blocks of lanes on the host
 * (tests/swarm/block_modes.h), beside one of the CPU. */
#ifndef DM_TESTS_GB_BLOCK_TWIN_H
#define DM_TESTS_GB_BLOCK_TWIN_H

#include "gb/host/core.h"
#include "gb/simt/uop.h"
#include "swarm/args.h"
#include "tests/swarm/block_modes.h"

/* A machine beside the one of the CPU, with all that a kernel is given. Machine memory, ROM and words lie side by
 * side, as large blocks want them. */
typedef struct dm_twin {
    dm_gb_machine m;
    uint8_t *memory, *ram, *rom;
    uint32_t *words;
    uint8_t pictures[2][DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    uint64_t packed[DM_SWARM_PACKED / sizeof(uint64_t)],
        lane_context[DM_SIMT_LANE_CONTEXT_HOOKED / sizeof(uint64_t)];
    dm_swarm_progress progress;
    float reward;
    uint8_t terminated, truncated, keys;
    dm_gb_batch_rom roms;
    dm_gb_hook_table hooks;
    dm_gb_uop uops[DM_GB_UOPS];
    uint64_t hook_bits; /* of the last run */
    dm_swarm_fault_counts faults;
    dm_swarm_args args;
} dm_twin;

/* The machine of `gb` as it is now; `known`: its instructions are predecoded. */
dm_twin *dm_twin_create(const dm_gb *gb, const dm_block_mode *mode, bool known);
/* For modes whose kernels have hooks. */
void dm_twin_set_hooks(dm_twin *t, const dm_gb *gb, const dm_gb_hook *hooks, size_t count);
void dm_twin_destroy(dm_twin *t);

/* As dm_gb_run_cycles, by the stage kernel. */
void dm_twin_run(dm_twin *t, const dm_block_mode *mode, uint32_t cycles, uint8_t draw,
                 uint8_t keys);

#endif
