/* SPDX-License-Identifier: MIT */
/* states.c - save states of chosen machines in the caller's memory, and back.
 *
 * States are checked and taken apart on the host; the device is touched when all of them are good.
 */
#include "base/require.h"
#include "gb/host/state.h"
#include "swarm/internal.h"

#include <stdlib.h>
#include <string.h>

#define AT_A_TIME 1024u /* machines that are copied to the host together */

size_t dm_swarm_state_bytes(const dm_swarm *swarm)
{
    if (swarm == NULL)
        return 0;
    size_t most = 0;
    for (size_t i = 0; i < swarm->desc.rom_count; i++) {
        size_t size = dm_gb_state_size(&swarm->views[i]->rom);
        most = size > most ? size : most;
    }
    return most + dm_swarm_program_extra_size(swarm);
}

static dm_status check_request(const dm_swarm *swarm, const uint32_t *machines, size_t count,
                               size_t size, dm_error *err)
{
    size_t each = dm_swarm_state_bytes(swarm);
    dm_status status = DM_OK;
    if (size / each != count || size % each != 0)
        return dm_fail(err, DM_EINVAL, "swarm: %zu bytes for %zu states of %zu bytes", size, count,
                       each);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = dm_swarm_check_machine(swarm, machines[i], err);
    return status;
}

dm_status dm_swarm_save_states(dm_swarm *swarm, const uint32_t *machines, size_t count, void *to,
                               size_t size, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, to, count);
    const size_t each = dm_swarm_state_bytes(swarm);
    const uint64_t state = swarm->layout.machine_stride, memory = swarm->layout.memory_stride;
    dm_status status = check_request(swarm, machines, count, size, err);
    const size_t most = count < AT_A_TIME ? count : AT_A_TIME;
    uint8_t *host = status == DM_OK && count != 0 ? malloc(most * (state + memory)) : NULL;
    if (status == DM_OK && count != 0 && host == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: no host memory for %zu machines", most);
    for (size_t first = 0; first < count && status == DM_OK; first += most) {
        const size_t some = count - first < most ? count - first : most;
        status = dm_swarm_gather(swarm, machines + first, some, host, host + some * state, err);
        for (size_t i = 0; i < some && status == DM_OK; i++) {
            const uint32_t machine = machines[first + i];
            const dm_gb_rom *rom = &swarm->views[machine % swarm->desc.rom_count]->rom;
            const size_t own = dm_gb_state_size(rom);
            uint8_t *at = (uint8_t *)to + (first + i) * each;
            dm_gb_state_write((const dm_gb_machine *)(const void *)(host + i * state),
                              host + some * state + i * memory, rom, at);
            memset(at + own, 0, each - own);
            status = dm_swarm_program_save_extra(swarm, machine, at + own, err);
        }
    }
    free(host);
    return status;
}

/* Machines on the host, each with its memory behind it. */
typedef struct staged {
    dm_gb_machine machine;
    uint8_t memory[];
} staged;

/* The block behind the i-th state; NULL where there is none. */
static const uint8_t *extra_of(const dm_swarm *swarm, const dm_gb_rom *rom, const void *states,
                               size_t i)
{
    const uint8_t *at =
        (const uint8_t *)states + i * dm_swarm_state_bytes(swarm) + dm_gb_state_size(rom);
    const bool has =
        dm_swarm_program_extra_size(swarm) != 0 && memcmp(at, DM_GB_STATE_EXTRA, 8) == 0;
    return has ? at : NULL;
}

static dm_status put_machine(dm_swarm *swarm, uint32_t machine, const staged *from, dm_error *err)
{
    const dm_swarm_layout *l = &swarm->layout;
    dm_device_buffer **arrays = swarm->arrays;
    dm_stream *stream = swarm->stream;
    dm_status status =
        dm_stream_upload(stream, arrays[DM_SWARM_A_MACHINES], machine * l->machine_stride,
                         &from->machine, sizeof from->machine, err);
    if (status == DM_OK)
        status = dm_stream_upload(stream, arrays[DM_SWARM_A_MEMORY], machine * l->memory_stride,
                                  from->memory, l->memory_stride, err);
    /* Shades of 0, and no lines that are still to be drawn. */
    if (status == DM_OK && arrays[DM_SWARM_A_FRAMES] != NULL)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_FRAMES],
                                (size_t)machine * DM_GB_FRAMES_SIZE, 0, DM_GB_FRAMES_SIZE, err);
    return status;
}

dm_status dm_swarm_load_states(dm_swarm *swarm, const uint32_t *machines, size_t count,
                               const void *states, size_t size, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, states, count);
    size_t each = dm_swarm_state_bytes(swarm);
    size_t stride = (sizeof(staged) + swarm->layout.memory_stride + 15) / 16 * 16;
    dm_status status = check_request(swarm, machines, count, size, err);
    if (status != DM_OK || count == 0)
        return status;
    uint8_t *host = calloc(count, stride);
    if (host == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: no host memory for %zu machines", count);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        const dm_gb_rom *rom = &swarm->views[machines[i] % swarm->desc.rom_count]->rom;
        staged *to = (staged *)(void *)(host + i * stride);
        status = dm_gb_state_load(&to->machine, to->memory, rom, (const uint8_t *)states + i * each,
                                  dm_gb_state_size(rom), err);
        if (status == DM_OK)
            status = dm_swarm_program_check_extra(swarm, extra_of(swarm, rom, states, i),
                                                  dm_swarm_program_extra_size(swarm), err);
        if (status != DM_OK)
            dm_error_prefix(err, "swarm: the state for machine %u", machines[i]);
        to->machine.ppu.drawing = 0; /* the picture under way is not in the state */
    }
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = put_machine(swarm, machines[i], (staged *)(void *)(host + i * stride), err);
    for (size_t i = 0; i < count && status == DM_OK && swarm->args.program_stride != 0; i++) {
        const dm_gb_rom *rom = &swarm->views[machines[i] % swarm->desc.rom_count]->rom;
        status = dm_swarm_program_load_extra(swarm, extra_of(swarm, rom, states, i),
                                             DM_SWARM_A_PROGRAM_MEMORY, machines[i], err);
    }
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(host);
    return status;
}
