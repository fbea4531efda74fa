/* SPDX-License-Identifier: MIT */
/* bulk.c - bytes of many machines or snapshots in one call, and chosen machines as a whole (bulk.h has the kernels).
 *
 * Numbers and addresses come from host memory and are checked first; then one launch does all machines. The kernels are
 * compiled at their first use. */
#include "swarm/bulk.h"
#include "base/require.h"
#include "swarm/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_THREADS 256u
#define BLOCKS_MAX 4096u

static const dm_builtin_kernel builtins[DM_SWARM_BULK_KERNELS] = {
    [DM_SWARM_BULK_READ] = {"dm_swarm_bulk_read", dm_swarm_bulk_read, sizeof(dm_swarm_bulk_args)},
    [DM_SWARM_BULK_POKE] = {"dm_swarm_bulk_poke", dm_swarm_bulk_poke, sizeof(dm_swarm_bulk_args)},
    [DM_SWARM_BULK_GATHER] = {"dm_swarm_bulk_gather", dm_swarm_bulk_gather,
                              sizeof(dm_swarm_bulk_args)},
    [DM_SWARM_BULK_SCATTER] = {"dm_swarm_bulk_scatter", dm_swarm_bulk_scatter,
                               sizeof(dm_swarm_bulk_args)},
};

static dm_status prepare(dm_swarm *swarm, dm_error *err)
{
    if (swarm->bulk_module != NULL)
        return DM_OK;
    const dm_module_desc desc = {
        .name = "swarm/bulk.h", .builtins = builtins, .builtin_count = DM_SWARM_BULK_KERNELS};
    dm_status status = dm_module_create(swarm->device, &desc, &swarm->bulk_module, err);
    for (int i = 0; i < DM_SWARM_BULK_KERNELS && status == DM_OK; i++)
        status = dm_module_function(swarm->bulk_module, builtins[i].name, &swarm->bulk[i], err);
    return status;
}

static dm_status launch(dm_swarm *swarm, int kernel, uint64_t work, const dm_swarm_bulk_args *args,
                        dm_error *err)
{
    const uint64_t blocks = (work + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const dm_grid grid = {(uint32_t)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), BLOCK_THREADS, 0};
    return dm_function_launch(swarm->bulk[kernel], swarm->stream, grid, args, sizeof *args, err);
}

/* ---- A request ---- */

/* Numbers, addresses and bytes, on the device in one buffer. */
typedef struct request {
    dm_device_buffer *buffer;
    size_t addresses_at, bytes_at, bytes;
    dm_swarm_bulk_args args;
} request;

static dm_swarm_bulk_args machines_of(const dm_swarm *swarm)
{
    const dm_gb_batch *b = &swarm->args.batch;
    return (dm_swarm_bulk_args){.machines = b->machines,
                                .memory = b->memory,
                                .roms = b->roms,
                                .machine_stride = b->machine_stride,
                                .memory_stride = b->memory_stride,
                                .rom_count = b->rom_count};
}

static dm_swarm_bulk_args snapshots_of(const dm_swarm *swarm)
{
    dm_swarm_bulk_args args = machines_of(swarm);
    args.machines = swarm->args.snapshot_machines;
    args.memory = swarm->args.snapshot_memory;
    args.rom_of = swarm->args.snapshot_roms;
    return args;
}

/* Upload what is known; `which` may be NULL. */
static dm_status request_init(dm_swarm *swarm, request *r, const uint32_t *which, size_t count,
                              const uint16_t *addresses, size_t address_count,
                              const uint8_t *values, dm_error *err)
{
    const size_t numbers = which != NULL ? count * sizeof *which : 0;
    r->addresses_at = numbers;
    r->bytes_at = numbers + (address_count * sizeof *addresses + 7) / 8 * 8;
    r->bytes = count * address_count;
    dm_status status = prepare(swarm, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(swarm->device, r->bytes_at + r->bytes, &r->buffer, err);
    if (status != DM_OK)
        return status;
    uint8_t *at = dm_device_buffer_address(r->buffer);
    r->args.which = which != NULL ? (const uint32_t *)(const void *)at : NULL;
    r->args.addresses = (const uint16_t *)(const void *)(at + r->addresses_at);
    r->args.bytes = at + r->bytes_at;
    r->args.count = (uint32_t)count;
    r->args.address_count = (uint32_t)address_count;
    if (which != NULL)
        status = dm_stream_upload(swarm->stream, r->buffer, 0, which, numbers, err);
    if (status == DM_OK)
        status = dm_stream_upload(swarm->stream, r->buffer, r->addresses_at, addresses,
                                  address_count * sizeof *addresses, err);
    if (status == DM_OK && values != NULL)
        status = dm_stream_upload(swarm->stream, r->buffer, r->bytes_at, values, r->bytes, err);
    return status;
}

static dm_status check(const dm_swarm *swarm, const uint32_t *machines, size_t count,
                       const uint16_t *addresses, size_t address_count, bool pokes, dm_error *err)
{
    dm_status status = DM_OK;
    if (machines == NULL && count != swarm->desc.count)
        return dm_fail(err, DM_EINVAL, "swarm: %zu machines without numbers; all are %" PRIu64,
                       count, swarm->desc.count);
    for (size_t i = 0; i < count && machines != NULL && status == DM_OK; i++)
        status = dm_swarm_check_machine(swarm, machines[i], err);
    if (status == DM_OK && address_count > UINT16_MAX)
        status =
            dm_fail(err, DM_EINVAL, "swarm: %zu addresses; at most %u", address_count, UINT16_MAX);
    for (size_t i = 0; i < address_count && status == DM_OK; i++) {
        const uint16_t at = addresses[i];
        if (at >= 0xFF00 && at < 0xFF80)
            status = dm_fail(err, DM_EINVAL,
                             "swarm: %04X is a register; memory is 0000-FEFF and "
                             "FF80-FFFF",
                             at);
        else if (pokes && (at < 0x8000 || at == 0xFFFF || (at >= 0xFEA0 && at < 0xFF00)))
            status = dm_fail(err, DM_EINVAL,
                             "swarm: %04X is not RAM; that is 8000-FE9F and FF80-FFFE", at);
    }
    return status;
}

static dm_status run(dm_swarm *swarm, request *r, int kernel, uint64_t work, uint8_t *to,
                     dm_error *err)
{
    dm_status status = launch(swarm, kernel, work, &r->args, err);
    if (status == DM_OK && to != NULL)
        status = dm_stream_download(swarm->stream, r->buffer, r->bytes_at, to, r->bytes, err);
    /* Wait also when it only wrote: the request's buffers are freed next. */
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

dm_status dm_swarm_read_many(dm_swarm *swarm, const uint32_t *machines, size_t count,
                             const uint16_t *addresses, size_t address_count, uint8_t *to,
                             dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, addresses, address_count);
    DM_REQUIRE_SOME(err, to, count * address_count);
    request r = {.args = machines_of(swarm)};
    dm_status status = check(swarm, machines, count, addresses, address_count, false, err);
    if (status != DM_OK || count == 0 || address_count == 0)
        return status;
    status = request_init(swarm, &r, machines, count, addresses, address_count, NULL, err);
    if (status == DM_OK)
        status = run(swarm, &r, DM_SWARM_BULK_READ, r.bytes, to, err);
    dm_device_buffer_destroy(r.buffer);
    return status;
}

dm_status dm_swarm_poke_many(dm_swarm *swarm, const uint32_t *machines, size_t count,
                             const uint16_t *addresses, size_t address_count, const uint8_t *values,
                             dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, addresses, address_count);
    DM_REQUIRE_SOME(err, values, count * address_count);
    request r = {.args = machines_of(swarm)};
    dm_status status = check(swarm, machines, count, addresses, address_count, true, err);
    if (status != DM_OK || count == 0 || address_count == 0)
        return status;
    status = request_init(swarm, &r, machines, count, addresses, address_count, values, err);
    if (status == DM_OK)
        status = run(swarm, &r, DM_SWARM_BULK_POKE, count, NULL, err);
    dm_device_buffer_destroy(r.buffer);
    return status;
}

dm_status dm_swarm_poke_snapshots(dm_swarm *swarm, const uint32_t *snapshots, size_t count,
                                  const uint16_t *addresses, size_t address_count,
                                  const uint8_t *values, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, snapshots, count);
    DM_REQUIRE_SOME(err, addresses, address_count);
    DM_REQUIRE_SOME(err, values, count * address_count);
    static const uint32_t first = 0;
    request r = {.args = snapshots_of(swarm)};
    dm_status status = check(swarm, &first, 1, addresses, address_count, true, err);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = dm_swarm_check_snapshot_used(swarm, snapshots[i], err);
    if (status != DM_OK || count == 0 || address_count == 0)
        return status;
    status = request_init(swarm, &r, snapshots, count, addresses, address_count, values, err);
    if (status == DM_OK)
        status = run(swarm, &r, DM_SWARM_BULK_POKE, count, NULL, err);
    dm_device_buffer_destroy(r.buffer);
    return status;
}

/* ---- Whole machines ---- */

#define AT_A_TIME 1024u /* machines that are put back together: a bounded buffer on the device */

/* Numbers and machines side by side, in one buffer on the device. */
typedef struct whole {
    dm_device_buffer *buffer;
    size_t at[3], size[3]; /* states, memories, the program's memories: of one machine */
    dm_swarm_bulk_args args;
} whole;

static dm_status whole_init(dm_swarm *swarm, whole *w, size_t most, dm_error *err)
{
    const size_t sizes[3] = {swarm->layout.machine_stride, swarm->layout.memory_stride,
                             swarm->args.program_stride};
    size_t end = (most * sizeof(uint32_t) + 63) / 64 * 64;
    for (int i = 0; i < 3; i++) {
        w->size[i] = sizes[i];
        w->at[i] = end;
        end += most * sizes[i];
    }
    dm_status status = prepare(swarm, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(swarm->device, end, &w->buffer, err);
    if (status != DM_OK)
        return status;
    uint8_t *at = dm_device_buffer_address(w->buffer);
    w->args = machines_of(swarm);
    w->args.which = (const uint32_t *)(const void *)at;
    w->args.states = at + w->at[0];
    w->args.memories = at + w->at[1];
    w->args.kept = at + w->at[2];
    w->args.program_memory = swarm->args.program_memory;
    w->args.program_stride = swarm->args.program_stride;
    w->args.frames = swarm->args.batch.frames;
    return DM_OK;
}

/* Launch for `count` machines, whose numbers are uploaded first. */
static dm_status whole_run(dm_swarm *swarm, whole *w, int kernel, const uint32_t *machines,
                           size_t count, dm_error *err)
{
    w->args.count = (uint32_t)count;
    dm_status status =
        dm_stream_upload(swarm->stream, w->buffer, 0, machines, count * sizeof *machines, err);
    return status == DM_OK
               ? launch(swarm, kernel, dm_swarm_bulk_word_count(&w->args), &w->args, err)
               : status;
}

dm_status dm_swarm_gather(dm_swarm *swarm, const uint32_t *machines, size_t count,
                          const dm_swarm_whole *to, dm_error *err)
{
    uint8_t *const parts[3] = {to->states, to->memories, to->kept};
    whole w = {0};
    dm_status status = whole_init(swarm, &w, count, err);
    if (status == DM_OK)
        status = whole_run(swarm, &w, DM_SWARM_BULK_GATHER, machines, count, err);
    for (int i = 0; i < 3 && status == DM_OK; i++)
        if (w.size[i] != 0)
            status = dm_stream_download(swarm->stream, w.buffer, w.at[i], parts[i],
                                        count * w.size[i], err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    dm_device_buffer_destroy(w.buffer);
    return status;
}

static dm_status scatter_some(dm_swarm *swarm, whole *w, const uint32_t *machines, size_t first,
                              size_t count, const dm_swarm_whole *from, dm_error *err)
{
    const uint8_t *const parts[3] = {from->states, from->memories, from->kept};
    dm_status status = DM_OK;
    for (int i = 0; i < 3 && status == DM_OK; i++)
        if (w->size[i] != 0)
            status = dm_stream_upload(swarm->stream, w->buffer, w->at[i],
                                      parts[i] + first * w->size[i], count * w->size[i], err);
    return status == DM_OK
               ? whole_run(swarm, w, DM_SWARM_BULK_SCATTER, machines + first, count, err)
               : status;
}

dm_status dm_swarm_scatter(dm_swarm *swarm, const uint32_t *machines, size_t count,
                           const dm_swarm_whole *from, dm_error *err)
{
    const size_t most = count < AT_A_TIME ? count : AT_A_TIME;
    whole w = {0};
    dm_status status = whole_init(swarm, &w, most, err);
    for (size_t first = 0; first < count && status == DM_OK; first += most)
        status = scatter_some(swarm, &w, machines, first,
                              count - first < most ? count - first : most, from, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    dm_device_buffer_destroy(w.buffer);
    return status;
}
