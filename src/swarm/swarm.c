/* SPDX-License-Identifier: MIT */
/* swarm.c - a swarm at work (dotmatrix/swarm.h): steps, resets, hooks, and its outputs. */
#include "base/require.h"
#include "gb/simt/limits.h"
#include "swarm/internal.h"

#include <inttypes.h>
#include <string.h>

dm_swarm_info dm_swarm_get_info(const dm_swarm *swarm)
{
    if (swarm == NULL)
        return (dm_swarm_info){0};
    const dm_swarm_desc *d = &swarm->desc;
    dm_swarm_info info = {.count = d->count,
                          .rom_count = (uint32_t)d->rom_count,
                          .frames_per_step = d->frames_per_step,
                          .release_after_frames = d->release_after_frames,
                          .frame_stack = d->frame_stack,
                          .snapshots = swarm->snapshot_count,
                          .stage = d->stage,
                          .codec = d->codec,
                          .bytes_per_machine = swarm->layout.machine_total,
                          .bytes_shared = swarm->layout.shared_total,
                          .lanes_per_warp = d->lanes_per_warp,
                          .block_threads = d->block_threads,
                          .kernels_were_cached = swarm->kernels.was_cached};
    dm_hash128_hex(swarm->kernels.key, info.kernel_key);
    return info;
}

dm_status dm_swarm_kernel_properties(const dm_swarm *swarm, dm_function_properties *out,
                                     dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, out);
    return dm_function_get_properties(swarm->kernels.step, out, err);
}

dm_status dm_swarm_set_stream(dm_swarm *swarm, dm_stream *stream, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    (void)err;
    swarm->stream = stream != NULL ? stream : dm_device_stream(swarm->device);
    return DM_OK;
}

dm_stream *dm_swarm_stream(const dm_swarm *swarm)
{
    if (swarm == NULL)
        return NULL;
    return swarm->stream;
}

/* ---- Stepping ---- */

dm_status dm_swarm_launch(dm_swarm *swarm, const dm_function *function, dm_error *err)
{
    const dm_grid grid = {swarm->blocks, swarm->desc.block_threads, 0};
    return dm_function_launch(function, swarm->stream, grid, &swarm->args, sizeof swarm->args, err);
}

/* On the CPU faults can be looked at without waiting. */
static dm_status check_epilog(const dm_swarm *swarm, dm_error *err)
{
    if (swarm->desc.epilog == NULL ||
        dm_device_get_properties(swarm->device)->kind != DM_DEVICE_CPU)
        return DM_OK;
    const dm_swarm_fault_counts *counts = dm_swarm_address(swarm->arrays[DM_SWARM_A_FAULTS]);
    return counts->observations == 0
               ? DM_OK
               : dm_fail(err, DM_EINVAL, "swarm: the epilog writes outside of its %u observations",
                         swarm->desc.observation_size);
}

dm_status dm_swarm_step(dm_swarm *swarm, const uint8_t *actions, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    dm_status status = check_epilog(swarm, err);
    if (status != DM_OK)
        return status;
    dm_swarm_args *args = &swarm->args;
    const uint32_t parts = swarm->by_parts ? 1u : 2u; /* of one launch */
    args->actions = actions;
    for (uint32_t part = 0; part < 2u && status == DM_OK; part += parts) {
        args->batch.part_begin = part;
        args->batch.part_end = part + parts;
        if (swarm->kernels.rebalance != NULL)
            status = dm_function_launch(swarm->kernels.rebalance, swarm->stream,
                                        (dm_grid){1, DM_SIMT_SORTERS, 0}, args, sizeof *args, err);
        if (status == DM_OK)
            status = dm_swarm_launch(swarm, swarm->kernels.step, err);
    }
    return status == DM_OK ? dm_swarm_program_judge(swarm, err) : status;
}

dm_status dm_swarm_step_host(dm_swarm *swarm, const uint8_t *actions, size_t count, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, actions, count);
    if (count != swarm->desc.count)
        return dm_fail(err, DM_EINVAL, "swarm: %zu actions for %" PRIu64 " machines", count,
                       swarm->desc.count);
    for (size_t i = 0; i < count; i++)
        if (actions[i] >= swarm->args.action_count)
            return dm_fail(
                err, DM_EINVAL, "swarm: action %u of machine %zu; %s has 0 to %u", actions[i], i,
                swarm->desc.action_key_count != 0 ? "the list of key masks"
                                                  : dm_swarm_codec_name(swarm->desc.codec),
                swarm->args.action_count - 1);
    dm_device_buffer *buffer = swarm->arrays[DM_SWARM_A_ACTIONS];
    dm_status status = dm_stream_upload(swarm->stream, buffer, 0, actions, count, err);
    return status != DM_OK ? status : dm_swarm_step(swarm, dm_swarm_address(buffer), err);
}

dm_status dm_swarm_reset(dm_swarm *swarm, const uint8_t *mask, const uint32_t *snapshots,
                         dm_error *err)
{
    DM_REQUIRE(err, swarm);
    swarm->args.reset_mask = mask;
    swarm->args.reset_snapshots = snapshots;
    dm_status status = dm_swarm_launch(swarm, swarm->kernels.reset, err);
    return status == DM_OK ? dm_swarm_program_begin(swarm, err) : status;
}

static dm_status check_resets(const dm_swarm *swarm, const uint32_t *machines,
                              const uint32_t *snapshots, size_t count, dm_error *err)
{
    for (size_t i = 0; i < count; i++) {
        dm_status status = dm_swarm_check_machine(swarm, machines[i], err);
        if (status != DM_OK)
            return status;
        if (snapshots == NULL)
            continue;
        uint32_t number = snapshots[i], rom = machines[i] % (uint32_t)swarm->desc.rom_count;
        if (number >= swarm->snapshot_count)
            return dm_fail(err, DM_EINVAL, "swarm: snapshot %u; there are 0 to %u", number,
                           swarm->snapshot_count - 1);
        if (swarm->snapshot_roms[number] == DM_SWARM_NO_SNAPSHOT)
            return dm_fail(err, DM_EINVAL, "swarm: snapshot %u is empty", number);
        if (swarm->snapshot_roms[number] != rom)
            return dm_fail(err, DM_EINVAL,
                           "swarm: snapshot %u is of ROM %u, machine %u runs ROM %u", number,
                           swarm->snapshot_roms[number], machines[i], rom);
    }
    return DM_OK;
}

dm_status dm_swarm_reset_host(dm_swarm *swarm, const uint32_t *machines, const uint32_t *snapshots,
                              size_t count, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    dm_status status = check_resets(swarm, machines, snapshots, count, err);
    if (status != DM_OK)
        return status;
    /* The copies of the last reset may still read host_mask. */
    status = dm_stream_synchronize(swarm->stream, err);
    if (status != DM_OK)
        return status;
    memset(swarm->host_mask, 0, swarm->desc.count);
    for (size_t i = 0; i < count; i++) {
        swarm->host_mask[machines[i]] = 1;
        if (snapshots != NULL)
            swarm->host_snapshots[machines[i]] = snapshots[i];
    }
    dm_device_buffer *mask = swarm->arrays[DM_SWARM_A_MASK];
    dm_device_buffer *starts = swarm->arrays[DM_SWARM_A_RESET_SNAPSHOTS];
    status = dm_stream_upload(swarm->stream, mask, 0, swarm->host_mask, swarm->desc.count, err);
    if (status == DM_OK && snapshots != NULL)
        status = dm_stream_upload(swarm->stream, starts, 0, swarm->host_snapshots,
                                  swarm->desc.count * sizeof(uint32_t), err);
    if (status == DM_OK)
        status = dm_swarm_reset(swarm, dm_swarm_address(mask),
                                snapshots == NULL ? NULL : dm_swarm_address(starts), err);
    return status;
}

dm_status dm_swarm_get_faults(dm_swarm *swarm, dm_swarm_faults *out, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, out);
    dm_swarm_fault_counts counts = {0};
    dm_status status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_FAULTS], 0,
                                          &counts, sizeof counts, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK)
        *out = (dm_swarm_faults){counts.actions, counts.resets, counts.observations};
    return status == DM_OK ? dm_swarm_program_check(swarm, true, err) : status;
}

dm_status dm_swarm_get_hooks(dm_swarm *swarm, uint64_t *bits, size_t count, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, bits, count);
    const dm_device_buffer *from = swarm->arrays[DM_SWARM_A_HOOK_BITS];
    if (from == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: it has no hooks");
    if (count != swarm->desc.count)
        return dm_fail(err, DM_EINVAL, "swarm: room for %zu machines' hooks; there are %" PRIu64,
                       count, swarm->desc.count);
    dm_status status = dm_stream_download(swarm->stream, from, 0, bits, count * sizeof *bits, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

dm_device_buffer *dm_swarm_hook_bits(const dm_swarm *swarm)
{
    return swarm == NULL ? NULL : swarm->arrays[DM_SWARM_A_HOOK_BITS];
}

/* ---- Outputs ---- */

dm_status dm_swarm_check_output(const dm_swarm *swarm, dm_swarm_output_kind kind,
                                const dm_device_buffer *buffer, dm_error *err)
{
    uint64_t wanted = swarm->layout.output[kind] * swarm->desc.count;
    if (wanted == 0)
        return dm_fail(err, DM_EINVAL, "swarm: output %d was not asked for", (int)kind);
    if (dm_device_buffer_size(buffer) != wanted)
        return dm_fail(err, DM_EINVAL,
                       "swarm: output %d takes %" PRIu64 " bytes, the buffer has %zu", (int)kind,
                       wanted, dm_device_buffer_size(buffer));
    return DM_OK;
}

void dm_swarm_point_outputs(dm_swarm *swarm)
{
    dm_swarm_args *a = &swarm->args;
    a->rewards = dm_swarm_address(swarm->bound[DM_SWARM_REWARDS]);
    a->terminated = dm_swarm_address(swarm->bound[DM_SWARM_TERMINATED]);
    a->truncated = dm_swarm_address(swarm->bound[DM_SWARM_TRUNCATED]);
    a->vectors = dm_swarm_address(swarm->bound[DM_SWARM_VECTORS]);
    a->shades = dm_swarm_address(swarm->bound[DM_SWARM_SHADES]);
    a->small = dm_swarm_address(swarm->bound[DM_SWARM_SMALLS]);
    a->packed = dm_swarm_address(swarm->bound[DM_SWARM_PACKEDS]);
    a->regions = dm_swarm_address(swarm->bound[DM_SWARM_REGION_BYTES]);
    a->final_vectors = dm_swarm_address(swarm->bound[DM_SWARM_FINAL_VECTORS]);
    a->final_shades = dm_swarm_address(swarm->bound[DM_SWARM_FINAL_SHADES]);
    a->final_small = dm_swarm_address(swarm->bound[DM_SWARM_FINAL_SMALLS]);
    a->final_packed = dm_swarm_address(swarm->bound[DM_SWARM_FINAL_PACKEDS]);
    a->final_regions = dm_swarm_address(swarm->bound[DM_SWARM_FINAL_REGION_BYTES]);
    a->returns = dm_swarm_address(swarm->bound[DM_SWARM_RETURNS]);
    a->lengths = dm_swarm_address(swarm->bound[DM_SWARM_LENGTHS]);
    dm_swarm_program_point(swarm);
}

size_t dm_swarm_output_size(const dm_swarm *swarm, dm_swarm_output_kind kind)
{
    if (swarm == NULL)
        return 0;
    return (unsigned)kind < DM_SWARM_OUTPUTS ? (size_t)swarm->layout.output[kind] : 0;
}

dm_device_buffer *dm_swarm_output(const dm_swarm *swarm, dm_swarm_output_kind kind)
{
    if (swarm == NULL)
        return NULL;
    return (unsigned)kind < DM_SWARM_OUTPUTS ? swarm->bound[kind] : NULL;
}

dm_status dm_swarm_bind(dm_swarm *swarm, dm_swarm_output_kind kind, dm_device_buffer *buffer,
                        dm_error *err)
{
    DM_REQUIRE(err, swarm);
    if ((unsigned)kind >= DM_SWARM_OUTPUTS)
        return dm_fail(err, DM_EINVAL, "swarm: there is no output %d", (int)kind);
    if (buffer == NULL)
        buffer = swarm->own[kind];
    if (buffer == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: output %d has no buffer of its own", (int)kind);
    dm_status status = dm_swarm_check_output(swarm, kind, buffer, err);
    if (status == DM_OK) {
        swarm->bound[kind] = buffer;
        dm_swarm_point_outputs(swarm);
    }
    return status;
}

dm_status dm_swarm_download(dm_swarm *swarm, dm_swarm_output_kind kind, void *to, size_t size,
                            dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, to, size);
    const dm_device_buffer *buffer = dm_swarm_output(swarm, kind);
    if (buffer == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: output %d was not asked for", (int)kind);
    if (size != dm_device_buffer_size(buffer))
        return dm_fail(err, DM_EINVAL, "swarm: output %d has %zu bytes, not %zu", (int)kind,
                       dm_device_buffer_size(buffer), size);
    dm_status status = dm_stream_download(swarm->stream, buffer, 0, to, size, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK)
        status = dm_swarm_program_check(swarm, true, err);
    return status != DM_OK ? status : check_epilog(swarm, err);
}
