/* SPDX-License-Identifier: MIT */
/* snapshot.c - start states on the device: from a machine, from a file, and the ROMs' own. */
#include "base/file.h"
#include "base/require.h"
#include "gb/host/state.h"
#include "swarm/internal.h"

#include <stdlib.h>
#include <string.h>

#define STATE_FILE_MAX (4u << 20)

static dm_status check_snapshot(const dm_swarm *swarm, uint32_t snapshot, dm_error *err)
{
    if (snapshot < swarm->snapshot_count)
        return DM_OK;
    return dm_fail(err, DM_EINVAL, "swarm: snapshot %u; there are 0 to %u", snapshot,
                   swarm->snapshot_count - 1);
}

dm_status dm_swarm_check_snapshot_used(const dm_swarm *swarm, uint32_t snapshot, dm_error *err)
{
    dm_status status = check_snapshot(swarm, snapshot, err);
    if (status == DM_OK && swarm->snapshot_roms[snapshot] == DM_SWARM_NO_SNAPSHOT)
        status = dm_fail(err, DM_EINVAL, "swarm: snapshot %u is empty", snapshot);
    return status;
}

/* The snapshot's ROM, on the host and on the device. */
static dm_status name_snapshot(dm_swarm *swarm, uint32_t snapshot, uint32_t rom, dm_error *err)
{
    swarm->snapshot_roms[snapshot] = rom;
    return dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_SNAP_ROMS],
                            snapshot * sizeof(uint32_t), &swarm->snapshot_roms[snapshot],
                            sizeof(uint32_t), err);
}

dm_status dm_swarm_snapshot_put(dm_swarm *swarm, uint32_t rom, uint32_t snapshot, dm_error *err)
{
    const dm_swarm_layout *l = &swarm->layout;
    const dm_gb *view = swarm->views[rom];
    dm_device_buffer **arrays = swarm->arrays;
    dm_stream *stream = swarm->stream;
    dm_status status =
        dm_stream_upload(stream, arrays[DM_SWARM_A_SNAP_MACHINES], snapshot * l->machine_stride,
                         &view->machine, sizeof view->machine, err);
    /* What the ROM's cartridge has no RAM for stays zero. */
    if (status == DM_OK)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_SNAP_MEMORY], snapshot * l->memory_stride,
                                0, l->memory_stride, err);
    if (status == DM_OK)
        status = dm_stream_upload(stream, arrays[DM_SWARM_A_SNAP_MEMORY],
                                  snapshot * l->memory_stride, view->ram, view->ram_size, err);
    if (status == DM_OK && arrays[DM_SWARM_A_SNAP_FRAMES] != NULL)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_SNAP_FRAMES],
                                (size_t)snapshot * DM_GB_FRAMES_SIZE, 0, DM_GB_FRAMES_SIZE, err);
    if (status == DM_OK && arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY] != NULL)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY],
                                (size_t)snapshot * swarm->args.program_stride, 0,
                                swarm->args.program_stride, err);
    if (status == DM_OK)
        status = name_snapshot(swarm, snapshot, rom, err);
    if (status == DM_OK) /* the view is used again */
        status = dm_stream_synchronize(stream, err);
    return status;
}

dm_status dm_swarm_snapshot(dm_swarm *swarm, uint32_t machine, uint32_t snapshot, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    const dm_swarm_layout *l = &swarm->layout;
    dm_device_buffer **arrays = swarm->arrays;
    dm_stream *stream = swarm->stream;
    dm_status status = dm_swarm_check_machine(swarm, machine, err);
    if (status == DM_OK)
        status = check_snapshot(swarm, snapshot, err);
    if (status == DM_OK)
        status = dm_stream_copy(stream, arrays[DM_SWARM_A_SNAP_MACHINES],
                                snapshot * l->machine_stride, arrays[DM_SWARM_A_MACHINES],
                                machine * l->machine_stride, l->machine_stride, err);
    if (status == DM_OK)
        status = dm_stream_copy(stream, arrays[DM_SWARM_A_SNAP_MEMORY], snapshot * l->memory_stride,
                                arrays[DM_SWARM_A_MEMORY], machine * l->memory_stride,
                                l->memory_stride, err);
    if (status == DM_OK && arrays[DM_SWARM_A_FRAMES] != NULL)
        status = dm_stream_copy(stream, arrays[DM_SWARM_A_SNAP_FRAMES],
                                (size_t)snapshot * DM_GB_FRAMES_SIZE, arrays[DM_SWARM_A_FRAMES],
                                (size_t)machine * DM_GB_FRAMES_SIZE, DM_GB_FRAMES_SIZE, err);
    const size_t kept = swarm->args.program_stride;
    if (status == DM_OK && kept != 0)
        status = dm_stream_copy(stream, arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY], snapshot * kept,
                                arrays[DM_SWARM_A_PROGRAM_MEMORY], machine * kept, kept, err);
    if (status == DM_OK)
        status = name_snapshot(swarm, snapshot, machine % (uint32_t)swarm->desc.rom_count, err);
    return status;
}

/* The program's memory of a state's file. */
static dm_status put_memory(dm_swarm *swarm, const uint8_t *block, uint32_t snapshot, dm_error *err)
{
    const uint32_t stride = swarm->args.program_stride;
    if (stride == 0)
        return DM_OK;
    uint8_t *memory = malloc(stride);
    if (memory == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    dm_program_block_read(swarm->program, block, memory);
    dm_status status =
        dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY],
                         (size_t)snapshot * stride, memory, stride, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(memory);
    return status;
}

dm_status dm_swarm_snapshot_load(dm_swarm *swarm, uint32_t rom, const char *path, uint32_t snapshot,
                                 dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, path);
    dm_status status = check_snapshot(swarm, snapshot, err);
    if (status == DM_OK && rom >= swarm->desc.rom_count)
        status = dm_fail(err, DM_EINVAL, "swarm: ROM %u; there are 0 to %zu", rom,
                         swarm->desc.rom_count - 1);
    char *bytes = NULL;
    size_t size = 0, extra_size;
    const uint8_t *extra = NULL;
    if (status == DM_OK)
        status = dm_file_read(path, STATE_FILE_MAX, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    dm_gb_state_split(bytes, size, &extra, &extra_size);
    status = dm_program_block_check(swarm->program, extra, extra_size, err);
    if (status == DM_OK)
        status = dm_gb_load_state_bytes(swarm->views[rom], bytes, size, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    if (status == DM_OK) {
        /* Its pictures are not in the file: the one under way is not to be shown half. */
        swarm->views[rom]->machine.ppu.drawing = 0;
        status = dm_swarm_snapshot_put(swarm, rom, snapshot, err);
    }
    if (status == DM_OK && extra != NULL)
        status = put_memory(swarm, extra, snapshot, err);
    free(bytes);
    return status;
}
