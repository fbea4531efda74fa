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
    return most + dm_program_block_size(swarm->program);
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

/* Host memory for so many machines; one allocation, which is `states`. */
static dm_status make_room(const dm_swarm *swarm, size_t count, dm_swarm_whole *out, dm_error *err)
{
    const uint64_t state = swarm->layout.machine_stride, memory = swarm->layout.memory_stride;
    *out = (dm_swarm_whole){0};
    if (count == 0)
        return DM_OK;
    out->states = calloc(count, state + memory + swarm->args.program_stride);
    if (out->states == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: no host memory for %zu machines", count);
    out->memories = out->states + count * state;
    out->kept = out->memories + count * memory;
    return DM_OK;
}

dm_status dm_swarm_save_states(dm_swarm *swarm, const uint32_t *machines, size_t count, void *to,
                               size_t size, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, to, count);
    const size_t each = dm_swarm_state_bytes(swarm), most = count < AT_A_TIME ? count : AT_A_TIME;
    const dm_swarm_layout *l = &swarm->layout;
    dm_swarm_whole host = {0};
    dm_status status = check_request(swarm, machines, count, size, err);
    if (status == DM_OK)
        status = make_room(swarm, most, &host, err);
    for (size_t first = 0; first < count && status == DM_OK; first += most) {
        const size_t some = count - first < most ? count - first : most;
        status = dm_swarm_gather(swarm, machines + first, some, &host, err);
        for (size_t i = 0; i < some && status == DM_OK; i++) {
            const dm_gb_rom *rom = &swarm->views[machines[first + i] % swarm->desc.rom_count]->rom;
            const size_t own = dm_gb_state_size(rom);
            uint8_t *at = (uint8_t *)to + (first + i) * each;
            memset(at + own, 0, each - own);
            dm_gb_state_write(
                (const dm_gb_machine *)(const void *)(host.states + i * l->machine_stride),
                host.memories + i * l->memory_stride, rom, at);
            dm_program_block_write(swarm->program, host.kept + i * swarm->args.program_stride,
                                   at + own);
        }
    }
    free(host.states);
    return status;
}

/* The block behind a state (NULL: there is none, zeros stand for it), checked. */
static dm_status find_block(const dm_swarm *swarm, const uint8_t *behind, const uint8_t **out,
                            dm_error *err)
{
    static const uint8_t none[sizeof DM_GB_STATE_EXTRA - 1];
    const size_t size = dm_program_block_size(swarm->program);
    *out = size == 0 || memcmp(behind, none, sizeof none) == 0 ? NULL : behind;
    return dm_program_block_check(swarm->program, *out, size, err);
}

/* Check one state and take it apart into a machine and its memory. */
static dm_status take_state(const dm_swarm *swarm, uint32_t machine, const uint8_t *from,
                            const dm_swarm_whole *host, size_t slot, dm_error *err)
{
    const dm_gb_rom *rom = &swarm->views[machine % swarm->desc.rom_count]->rom;
    const size_t own = dm_gb_state_size(rom);
    const uint8_t *block;
    dm_gb_machine *m =
        (dm_gb_machine *)(void *)(host->states + slot * swarm->layout.machine_stride);
    dm_status status = dm_gb_state_load(m, host->memories + slot * swarm->layout.memory_stride, rom,
                                        from, own, err);
    if (status == DM_OK)
        status = find_block(swarm, from + own, &block, err);
    if (status != DM_OK) {
        dm_error_prefix(err, "swarm: the state for machine %u", machine);
        return status;
    }
    m->ppu.drawing = 0; /* the picture under way is not in the state */
    if (swarm->program != NULL)
        dm_program_block_read(swarm->program, block,
                              host->kept + slot * swarm->args.program_stride);
    return DM_OK;
}

dm_status dm_swarm_load_states(dm_swarm *swarm, const uint32_t *machines, size_t count,
                               const void *states, size_t size, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, machines, count);
    DM_REQUIRE_SOME(err, states, count);
    const size_t each = dm_swarm_state_bytes(swarm);
    dm_swarm_whole host = {0};
    dm_status status = check_request(swarm, machines, count, size, err);
    if (status != DM_OK || count == 0)
        return status;
    /* A machine that is named twice has one slot: its last state counts. */
    uint32_t *slots = calloc(swarm->desc.count, sizeof *slots), slot_count = 0;
    uint32_t *which = malloc(count * sizeof *which);
    if (slots == NULL || which == NULL)
        status = dm_fail(err, DM_ENOMEM, "swarm: no host memory for %zu machines", count);
    if (status == DM_OK)
        status = make_room(swarm, count, &host, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        uint32_t *slot = &slots[machines[i]];
        if (*slot == 0) {
            which[slot_count++] = machines[i];
            *slot = slot_count;
        }
        status = take_state(swarm, machines[i], (const uint8_t *)states + i * each, &host,
                            *slot - 1u, err);
    }
    if (status == DM_OK)
        status = dm_swarm_scatter(swarm, which, slot_count, &host, err);
    free(host.states);
    free(which);
    free(slots);
    return status;
}
