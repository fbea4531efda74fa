/* SPDX-License-Identifier: MIT */
/* read.c - chosen machines seen from the host: registers, counters, memory, pictures, poke.
 *
 * A machine is copied to the host, into the dm_gb that the swarm keeps for its ROM (its view), so that
 * one implementation answers for single machines and swarms. Of machine memory, up to 144 KiB, only the
 * bytes that were asked for are copied. */
#include "base/file.h"
#include "base/require.h"
#include "gb/cpu/run.h"
#include "gb/host/state.h"
#include "swarm/internal.h"
#include "swarm/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

dm_status dm_swarm_check_machine(const dm_swarm *swarm, uint32_t machine, dm_error *err)
{
    if (machine < swarm->desc.count)
        return DM_OK;
    return dm_fail(err, DM_EINVAL, "swarm: machine %u; there are 0 to %" PRIu64, machine,
                   swarm->desc.count - 1);
}

static dm_status queue_machine(dm_swarm *swarm, uint32_t machine, dm_gb_machine *out, dm_error *err)
{
    dm_status status = dm_swarm_check_machine(swarm, machine, err);
    if (status == DM_OK)
        status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_MACHINES],
                                    machine * swarm->layout.machine_stride, out, sizeof *out, err);
    return status;
}

dm_status dm_swarm_fetch(dm_swarm *swarm, uint32_t machine, dm_gb **view, dm_error *err)
{
    dm_status status = dm_swarm_check_machine(swarm, machine, err);
    if (status != DM_OK)
        return status;
    dm_gb *gb = swarm->views[machine % swarm->desc.rom_count];
    status = queue_machine(swarm, machine, &gb->machine, err);
    if (status == DM_OK)
        status =
            dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_MEMORY],
                               machine * swarm->layout.memory_stride, gb->ram, gb->ram_size, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK) {
        dm_gb_map(&gb->context);
        *view = gb;
    }
    return status;
}

/* Copy one machine's dm_gb_machine, without its memory, into the view of its ROM. */
static dm_status fetch_machine(dm_swarm *swarm, uint32_t machine, dm_gb **view, dm_error *err)
{
    dm_status status = dm_swarm_check_machine(swarm, machine, err);
    if (status != DM_OK)
        return status;
    *view = swarm->views[machine % swarm->desc.rom_count];
    status = queue_machine(swarm, machine, &(*view)->machine, err);
    return status != DM_OK ? status : dm_stream_synchronize(swarm->stream, err);
}

/* What is read of a machine: into element i of an array. */
typedef void read_one(const dm_gb *view, void *out, size_t i);

static void read_registers(const dm_gb *view, void *out, size_t i)
{
    ((dm_gb_registers *)out)[i] = dm_gb_get_registers(view);
}

static void read_counters(const dm_gb *view, void *out, size_t i)
{
    ((dm_gb_counters *)out)[i] = dm_gb_get_counters(view);
}

static dm_status read_each(dm_swarm *swarm, const uint32_t *machines, size_t count, read_one *read,
                           void *out, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        dm_gb *view = NULL;
        status = fetch_machine(swarm, machines[i], &view, err);
        if (status == DM_OK)
            read(view, out, i);
    }
    return status;
}

dm_status dm_swarm_get_registers(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                 dm_gb_registers *out, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, out, count);
    return read_each(swarm, machines, count, read_registers, out, err);
}

dm_status dm_swarm_get_counters(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                dm_gb_counters *out, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, out, count);
    return read_each(swarm, machines, count, read_counters, out, err);
}

/* Queue the copy of what is behind these addresses into the view's memory: few runs of bytes, since
 * only echoes and mapped windows break one. */
static dm_status queue_range(dm_swarm *swarm, uint32_t machine, const dm_gb *view, uint32_t begin,
                             uint32_t end, dm_error *err)
{
    uint64_t base = machine * swarm->layout.memory_stride;
    dm_status status = DM_OK;
    for (uint32_t at = begin; at < end && status == DM_OK;) {
        uint32_t first = dm_swarm_memory_offset(&view->machine.cart, at), size = 1;
        if (first == DM_SWARM_NO_MEMORY) {
            at++;
            continue;
        }
        while (at + size < end &&
               dm_swarm_memory_offset(&view->machine.cart, at + size) == first + size)
            size++;
        status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_MEMORY], base + first,
                                    view->ram + first, size, err);
        at += size;
    }
    return status;
}

/* Make a view valid for addresses begin .. end - 1; no other memory is copied. Registers need all of it,
 * since the PPU's mode depends on sprites and IE. */
static dm_status fetch_range(dm_swarm *swarm, uint32_t machine, uint32_t begin, uint32_t end,
                             dm_gb **view, dm_error *err)
{
    if (begin < 0xFF80 && end > 0xFF00)
        return dm_swarm_fetch(swarm, machine, view, err);
    dm_status status = fetch_machine(swarm, machine, view, err); /* knows which banks are mapped */
    if (status == DM_OK)
        status = queue_range(swarm, machine, *view, begin, end, err);
    return status != DM_OK ? status : dm_stream_synchronize(swarm->stream, err);
}

dm_status dm_swarm_read(dm_swarm *swarm, uint32_t machine, uint16_t address, void *to, size_t size,
                        dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, to, size);
    dm_gb *view;
    if (address + size > 0x10000u)
        return dm_fail(err, DM_EINVAL, "swarm: %zu bytes from %04X end beyond FFFF", size, address);
    dm_status status = fetch_range(swarm, machine, address, address + (uint32_t)size, &view, err);
    for (size_t i = 0; i < size && status == DM_OK; i++)
        ((uint8_t *)to)[i] = dm_gb_peek(view, (uint16_t)(address + i));
    return status;
}

dm_status dm_swarm_poke(dm_swarm *swarm, uint32_t machine, uint16_t address, uint8_t value,
                        dm_error *err)
{
    DM_REQUIRE(err, swarm);
    dm_gb *view;
    dm_status status = dm_swarm_fetch(swarm, machine, &view, err);
    if (status != DM_OK)
        return status;
    dm_gb_poke(view, address, value);
    status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_MACHINES],
                              machine * swarm->layout.machine_stride, &view->machine,
                              sizeof view->machine, err);
    if (status == DM_OK)
        status =
            dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_MEMORY],
                             machine * swarm->layout.memory_stride, view->ram, view->ram_size, err);
    return status != DM_OK ? status : dm_stream_synchronize(swarm->stream, err);
}

dm_status dm_swarm_get_picture(dm_swarm *swarm, uint32_t machine, uint8_t *shades, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, shades);
    const dm_device_buffer *frames = swarm->arrays[DM_SWARM_A_FRAMES];
    if (frames == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: no pictures were asked for");
    dm_gb *view = NULL;
    dm_status status = fetch_machine(swarm, machine, &view, err);
    if (status != DM_OK)
        return status;
    if (view->machine.ppu.blank) {
        memset(shades, 0, DM_SWARM_PICTURE);
        return DM_OK;
    }
    size_t at = (size_t)machine * DM_GB_FRAMES_SIZE + view->machine.ppu.front * DM_SWARM_PICTURE;
    status = dm_stream_download(swarm->stream, frames, at, shades, DM_SWARM_PICTURE, err);
    return status != DM_OK ? status : dm_stream_synchronize(swarm->stream, err);
}

dm_status dm_swarm_save_machine(dm_swarm *swarm, uint32_t machine, const char *path, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, path);
    const uint32_t stride = swarm->args.program_stride;
    dm_gb *view;
    dm_status status = dm_swarm_fetch(swarm, machine, &view, err);
    if (status != DM_OK || stride == 0)
        return status != DM_OK ? status : dm_gb_save_state(view, path, err);
    uint8_t *memory = malloc(stride);
    if (memory == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_PROGRAM_MEMORY],
                                (size_t)machine * stride, memory, stride, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK)
        status = dm_program_save_file(swarm->program, view, memory, path, err);
    free(memory);
    return status;
}
