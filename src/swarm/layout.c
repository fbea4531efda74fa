/* SPDX-License-Identifier: MIT */
/* layout.c - how much device memory a swarm takes, array by array. */
#include "gb/simt/predecode.h"
#include "gb/simt/uop.h"
#include "swarm/internal.h"

#include <inttypes.h>

/* Machines do not share cache lines. */
#define STRIDE 64u

static uint64_t round_up(uint64_t size)
{
    return (size + STRIDE - 1) / STRIDE * STRIDE;
}

static bool wants(const dm_swarm *swarm, uint32_t observations)
{
    return (swarm->desc.observations & observations) != 0;
}

static void output_sizes(const dm_swarm *swarm, dm_swarm_layout *l)
{
    const dm_swarm_desc *d = &swarm->desc;
    l->output[DM_SWARM_REWARDS] = sizeof(float);
    l->output[DM_SWARM_TERMINATED] = 1;
    l->output[DM_SWARM_TRUNCATED] = 1;
    if (wants(swarm, DM_SWARM_OBS_VECTOR))
        l->output[DM_SWARM_VECTORS] = d->observation_size * sizeof(float);
    if (wants(swarm, DM_SWARM_OBS_SHADES))
        l->output[DM_SWARM_SHADES] = (uint64_t)d->frame_stack * DM_SWARM_PICTURE;
    if (wants(swarm, DM_SWARM_OBS_SMALL))
        l->output[DM_SWARM_SMALLS] = (uint64_t)d->frame_stack * DM_SWARM_SMALL;
    if (wants(swarm, DM_SWARM_OBS_PACKED))
        l->output[DM_SWARM_PACKEDS] = (uint64_t)d->frame_stack * DM_SWARM_PACKED;
    if (wants(swarm, DM_SWARM_OBS_REGIONS))
        l->output[DM_SWARM_REGION_BYTES] = swarm->args.region_bytes;
    for (int i = DM_SWARM_VECTORS; i <= DM_SWARM_REGION_BYTES && d->finals; i++)
        l->output[i - DM_SWARM_VECTORS + DM_SWARM_FINAL_VECTORS] = l->output[i];
    if (d->episodes) {
        l->output[DM_SWARM_RETURNS] = sizeof(float);
        l->output[DM_SWARM_LENGTHS] = sizeof(uint32_t);
    }
}

void dm_swarm_layout_of(const dm_swarm *swarm, dm_swarm_layout *out)
{
    dm_swarm_layout l = {0};
    bool cuda = dm_device_get_properties(swarm->device)->kind == DM_DEVICE_CUDA;
    uint64_t rom_bytes = 0, predecoded = 0;
    uint32_t ram_most = 0;
    for (size_t i = 0; i < swarm->desc.rom_count; i++) {
        const dm_gb_rom *rom = &swarm->views[i]->rom;
        rom_bytes += rom->size;
        predecoded += dm_gb_predecoded_size(rom->size);
        ram_most = rom->ram_size > ram_most ? rom->ram_size : ram_most;
    }
    l.machine_stride = round_up(sizeof(dm_gb_machine));
    l.memory_stride = round_up(dm_gb_memory_size(ram_most));
    l.per_machine[DM_SWARM_A_MACHINES] = l.machine_stride;
    l.per_machine[DM_SWARM_A_MEMORY] = l.memory_stride;
    l.per_machine[DM_SWARM_A_FRAMES] = wants(swarm, DM_SWARM_OBS_PIXELS) ? DM_GB_FRAMES_SIZE : 0;
    l.per_machine[DM_SWARM_A_PROGRESS] = sizeof(dm_swarm_progress);
    l.per_machine[DM_SWARM_A_STARTS] = sizeof(uint32_t);
    l.per_machine[DM_SWARM_A_START_CHOICES] = sizeof(uint32_t);
    l.per_machine[DM_SWARM_A_START_DRAWS] = sizeof(uint32_t);
    if (cuda) {
        l.per_machine[DM_SWARM_A_ORDER] = sizeof(uint32_t);
        l.per_machine[DM_SWARM_A_LOADS] = sizeof(uint32_t);
        l.per_machine[DM_SWARM_A_SERVICES] = sizeof(uint32_t);
        l.per_machine[DM_SWARM_A_LANE_CONTEXTS] =
            swarm->desc.hook_count != 0 ? DM_SIMT_LANE_CONTEXT_HOOKED : DM_SIMT_LANE_CONTEXT_PLAIN;
    }
    if (swarm->desc.hook_count != 0) {
        l.per_machine[DM_SWARM_A_HOOK_BITS] = sizeof(uint64_t);
        l.shared[DM_SWARM_A_HOOK_TABLES] = swarm->desc.rom_count * sizeof(dm_gb_hook_table);
        l.shared[DM_SWARM_A_MARKED_ROMS] = cuda ? 0 : 2 * rom_bytes; /* marks, numbers */
    }
    l.per_machine[DM_SWARM_A_ACTIONS] = 1;
    l.per_machine[DM_SWARM_A_MASK] = 1;
    l.per_machine[DM_SWARM_A_RESET_SNAPSHOTS] = sizeof(uint32_t);
    l.shared[DM_SWARM_A_ROM_BYTES] = rom_bytes;
    l.shared[DM_SWARM_A_PREDECODED] =
        cuda ? predecoded * sizeof(uint32_t) + DM_GB_UOPS * sizeof(dm_gb_uop) : 0;
    l.shared[DM_SWARM_A_ROMS] = swarm->desc.rom_count * sizeof(dm_gb_batch_rom);
    l.shared[DM_SWARM_A_BOOT] = 256;
    l.shared[DM_SWARM_A_FAULTS] = sizeof(dm_swarm_fault_counts);
    uint64_t snapshots = swarm->snapshot_count;
    l.shared[DM_SWARM_A_SNAP_MACHINES] = snapshots * l.machine_stride;
    l.shared[DM_SWARM_A_SNAP_MEMORY] = snapshots * l.memory_stride;
    l.shared[DM_SWARM_A_SNAP_FRAMES] = snapshots * l.per_machine[DM_SWARM_A_FRAMES];
    l.shared[DM_SWARM_A_SNAP_ROMS] = snapshots * sizeof(uint32_t);
    l.shared[DM_SWARM_A_START_FIRST] = (swarm->desc.rom_count + 1) * sizeof(uint32_t);
    l.shared[DM_SWARM_A_START_SNAPSHOTS] = snapshots * sizeof(uint32_t);
    l.shared[DM_SWARM_A_START_LIMITS] = snapshots * sizeof(uint32_t);
    dm_swarm_program_layout(swarm, &l);
    output_sizes(swarm, &l);
    for (int i = 0; i < DM_SWARM_ARRAYS; i++) {
        l.machine_total += l.per_machine[i];
        l.shared_total += l.shared[i];
    }
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++)
        if (swarm->desc.outputs[i] == NULL)
            l.machine_total += l.output[i];
    *out = l;
}

dm_status dm_swarm_check_room(const dm_swarm *swarm, dm_error *err)
{
    const dm_swarm_layout *l = &swarm->layout;
    uint64_t count = swarm->desc.count, room;
    if (dm_device_memory_free(swarm->device, &room, NULL) != DM_OK)
        return DM_OK; /* unknown: allocating will tell */
    uint64_t fit = room < l->shared_total ? 0 : (room - l->shared_total) / l->machine_total;
    if (fit > INT32_MAX) /* the kernels count in 32 bits */
        fit = INT32_MAX;
    if (count <= fit)
        return DM_OK;
    return dm_fail(err, DM_ENOMEM,
                   "swarm: %" PRIu64 " machines do not fit: each takes %" PRIu64
                   " bytes and %" PRIu64 " are free on %s, enough for %" PRIu64,
                   count, l->machine_total, room, dm_device_get_properties(swarm->device)->id, fit);
}
