/* SPDX-License-Identifier: MIT */
/* create.c - what a swarm is made of: its description with the defaults filled in, its arrays, the argument block of
 * its kernels, and the first states. */
#include "base/require.h"
#include "gb/simt/limits.h"
#include "swarm/internal.h"
#include "swarm/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Threads of a block at most: shared memory has room for the page tables of so many machines
 * (gb/simt/smem.h). Where each warp has one machine a block may have more threads. */
#define BLOCK_THREADS 256u
#define BLOCK_THREADS_ALONE 1024u

/* ---- The description ---- */

static dm_status check_regions(dm_swarm *swarm, const dm_swarm_desc *d, dm_error *err)
{
    if (((d->observations & DM_SWARM_OBS_REGIONS) != 0) != (d->region_count != 0))
        return dm_fail(err, DM_EINVAL,
                       "swarm: regions and DM_SWARM_OBS_REGIONS go together; %zu regions are given",
                       d->region_count);
    if (d->region_count > DM_SWARM_REGIONS)
        return dm_fail(err, DM_EINVAL, "swarm: at most %u regions, not %zu", DM_SWARM_REGIONS,
                       d->region_count);
    for (size_t i = 0; i < d->region_count; i++) {
        dm_swarm_region r = d->regions[i];
        uint32_t end = (uint32_t)r.address + r.size;
        if (r.size == 0 || end > 0x10000u || (r.address < 0xFF80u && end > 0xFF00u))
            return dm_fail(err, DM_EINVAL,
                           "swarm: region %04X + %u bytes: must lie in 0000-FEFF or FF80-FFFF",
                           r.address, r.size);
        swarm->args.spans[i] = (dm_swarm_span){r.address, r.size};
        swarm->args.region_bytes += r.size;
    }
    swarm->args.region_count = (uint32_t)d->region_count;
    return DM_OK;
}

static dm_status check_choices(const dm_swarm_desc *d, dm_error *err)
{
    if ((unsigned)d->stage >= DM_SWARM_STAGES)
        return dm_fail(err, DM_EINVAL, "swarm: there is no stage %d", (int)d->stage);
    if ((unsigned)d->codec >= DM_SWARM_CODECS)
        return dm_fail(err, DM_EINVAL, "swarm: there is no action codec %d", (int)d->codec);
    if ((unsigned)d->generator >= DM_SWARM_GENERATORS)
        return dm_fail(err, DM_EINVAL, "swarm: there is no action generator %d", (int)d->generator);
    if ((unsigned)d->autoreset >= DM_SWARM_AUTORESETS)
        return dm_fail(err, DM_EINVAL, "swarm: there is no autoreset mode %d", (int)d->autoreset);
    if ((d->observations & ~(DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PIXELS | DM_SWARM_OBS_REGIONS)) !=
        0)
        return dm_fail(err, DM_EINVAL, "swarm: observations %#x: unknown bits", d->observations);
    if (d->finals && d->autoreset != DM_SWARM_SAME_STEP)
        return dm_fail(err, DM_EINVAL,
                       "swarm: final observations are for autoreset same_step; with %s the last "
                       "step's observation is the final one",
                       dm_swarm_autoreset_name(d->autoreset));
    return DM_OK;
}

/* Check the description's own actions, and the bytes that are random at each reset. */
static dm_status check_lists(const dm_swarm_desc *d, dm_error *err)
{
    if (d->action_key_count > 256)
        return dm_fail(err, DM_EINVAL, "swarm: %zu actions of key masks; at most 256",
                       d->action_key_count);
    if (d->action_key_count != 0 && d->action_keys == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: %zu actions, but no key masks", d->action_key_count);
    if (d->random_count > DM_SWARM_RANDOM_BYTES)
        return dm_fail(err, DM_EINVAL, "swarm: %zu random bytes; at most %u", d->random_count,
                       DM_SWARM_RANDOM_BYTES);
    if (d->random_count != 0 && d->random_bytes == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: %zu random bytes, but no addresses",
                       d->random_count);
    for (size_t i = 0; i < d->random_count; i++) {
        const uint16_t at = d->random_bytes[i];
        if (at < 0xC000 || (at >= 0xFE00 && at < 0xFF80) || at == 0xFFFF)
            return dm_fail(err, DM_EINVAL,
                           "swarm: random byte %04X; they are in C000-FDFF and FF80-FFFE", at);
    }
    return DM_OK;
}

/* Check and complete a copy of the description. */
static dm_status take_desc(dm_swarm *swarm, const dm_swarm_desc *given, dm_error *err)
{
    dm_swarm_desc *d = &swarm->desc;
    *d = *given;
    if (d->count == 0)
        return dm_fail(err, DM_EINVAL, "swarm: 0 machines; at least 1");
    if (d->rom_count == 0 || d->roms == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: no ROM is given");
    if (d->rom_count > d->count)
        return dm_fail(err, DM_EINVAL, "swarm: %zu ROMs, but only %" PRIu64 " machines",
                       d->rom_count, d->count);
    dm_status status = check_choices(d, err);
    if (status != DM_OK)
        return status;
    if (d->frames_per_step == 0)
        d->frames_per_step = DM_SWARM_FRAMES_PER_STEP;
    if (d->frames_per_step > DM_SWARM_STEP_FRAMES_MAX)
        return dm_fail(err, DM_EINVAL, "swarm: %u frames a step; at most %u", d->frames_per_step,
                       DM_SWARM_STEP_FRAMES_MAX);
    if (d->release_after_frames == 0)
        d->release_after_frames =
            d->frames_per_step < DM_SWARM_RELEASE ? d->frames_per_step : DM_SWARM_RELEASE;
    if (d->release_after_frames > d->frames_per_step)
        return dm_fail(err, DM_EINVAL, "swarm: keys cannot be released after %u frames of %u",
                       d->release_after_frames, d->frames_per_step);
    if (d->frame_stack == 0)
        d->frame_stack = 1;
    if (d->frame_stack > DM_SWARM_STACK_MAX)
        return dm_fail(err, DM_EINVAL, "swarm: a stack of %u pictures; at most %u", d->frame_stack,
                       DM_SWARM_STACK_MAX);
    status = dm_swarm_program_take(swarm, err);
    if (status != DM_OK)
        return status;
    if (d->epilog == NULL && d->program == NULL && d->observation_size != 0 &&
        d->observation_size != DM_SWARM_VECTOR_DEFAULT)
        return dm_fail(err, DM_EINVAL, "swarm: obs_v0 has %u floats; another size needs an epilog",
                       DM_SWARM_VECTOR_DEFAULT);
    if (d->observation_size == 0)
        d->observation_size = DM_SWARM_VECTOR_DEFAULT;
    if ((uint64_t)d->rom_count + d->snapshots > UINT32_MAX)
        return dm_fail(err, DM_EINVAL, "swarm: %u snapshots are too many", d->snapshots);
    if (d->lanes_per_warp > 32)
        return dm_fail(err, DM_EINVAL, "swarm: a warp has 32 lanes, not %u", d->lanes_per_warp);
    const uint32_t most = d->lanes_per_warp == 1 ? BLOCK_THREADS_ALONE : BLOCK_THREADS;
    if (d->block_threads % 32 != 0 || d->block_threads > most)
        return dm_fail(err, DM_EINVAL, "swarm: %u threads a block: a multiple of 32 up to %u%s",
                       d->block_threads, most,
                       d->lanes_per_warp == 1 ? "" : ", or to 1024 with one lane a warp");
    status = check_lists(d, err);
    if (status != DM_OK)
        return status;
    if (d->hook_count != 0 && d->hooks == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: %zu hooks, but none is given", d->hook_count);
    return check_regions(swarm, d, err);
}

/* ---- Arrays ---- */

static dm_status allocate(dm_swarm *swarm, dm_error *err)
{
    const dm_swarm_layout *l = &swarm->layout;
    uint64_t count = swarm->desc.count;
    dm_status status = DM_OK;
    for (int i = 0; i < DM_SWARM_ARRAYS && status == DM_OK; i++) {
        uint64_t size = l->per_machine[i] * count + l->shared[i];
        if (size > 0)
            status = dm_device_buffer_create(swarm->device, size, &swarm->arrays[i], err);
    }
    for (int i = 0; i < DM_SWARM_OUTPUTS && status == DM_OK; i++) {
        dm_device_buffer *given = swarm->desc.outputs[i];
        if (given != NULL) {
            status = dm_swarm_check_output(swarm, (dm_swarm_output_kind)i, given, err);
        } else if (l->output[i] > 0) {
            uint64_t size = l->output[i] * count;
            status = dm_device_buffer_create(swarm->device, size, &swarm->own[i], err);
            if (status == DM_OK)
                status = dm_stream_fill(swarm->stream, swarm->own[i], 0, 0, size, err);
        }
        swarm->bound[i] = given != NULL ? given : swarm->own[i];
    }
    if (status == DM_ENOMEM)
        dm_error_prefix(err, "swarm: %" PRIu64 " machines of %" PRIu64 " bytes", count,
                        l->machine_total);
    return status;
}

/* The step is two runs, with the keys and without. The picture that is on the screen at the end
 * begins less than two frames before it, so the first run draws only when the second is one
 * frame; and when a step is one frame its end draws for the next. */
static void plan_runs(dm_swarm *swarm)
{
    const dm_swarm_desc *d = &swarm->desc;
    dm_gb_batch *b = &swarm->args.batch;
    uint32_t rest = d->frames_per_step - d->release_after_frames;
    bool pictures = (d->observations & DM_SWARM_OBS_PIXELS) != 0;
    b->cycles[0] = d->release_after_frames * DM_GB_FRAME_CYCLES;
    b->cycles[1] = rest * DM_GB_FRAME_CYCLES;
    b->draw[0] = pictures && rest <= 1 ? DM_GB_DRAW_LAST : DM_GB_DRAW_NEVER;
    b->draw[1] = pictures ? DM_GB_DRAW_LAST : DM_GB_DRAW_NEVER;
    b->single_frame[0] = rest == 1 || d->frames_per_step == 1;
    b->single_frame[1] = 0;
}

static void fill_args(dm_swarm *swarm)
{
    const dm_swarm_desc *d = &swarm->desc;
    dm_swarm_args *a = &swarm->args;
    dm_gb_batch *b = &a->batch;
    dm_device_buffer *const *arrays = swarm->arrays;
    b->machines = dm_swarm_address(arrays[DM_SWARM_A_MACHINES]);
    b->memory = dm_swarm_address(arrays[DM_SWARM_A_MEMORY]);
    b->frames = dm_swarm_address(arrays[DM_SWARM_A_FRAMES]);
    a->progress = dm_swarm_address(arrays[DM_SWARM_A_PROGRESS]);
    a->starts = dm_swarm_address(arrays[DM_SWARM_A_STARTS]);
    b->order = dm_swarm_address(arrays[DM_SWARM_A_ORDER]);
    b->loads = dm_swarm_address(arrays[DM_SWARM_A_LOADS]);
    b->services = dm_swarm_address(arrays[DM_SWARM_A_SERVICES]);
    b->lane_contexts = dm_swarm_address(arrays[DM_SWARM_A_LANE_CONTEXTS]);
    b->roms = dm_swarm_address(arrays[DM_SWARM_A_ROMS]);
    b->boot = dm_swarm_address(arrays[DM_SWARM_A_BOOT]);
    b->hook_bits = dm_swarm_address(arrays[DM_SWARM_A_HOOK_BITS]);
    a->faults = dm_swarm_address(arrays[DM_SWARM_A_FAULTS]);
    a->snapshot_machines = dm_swarm_address(arrays[DM_SWARM_A_SNAP_MACHINES]);
    a->snapshot_memory = dm_swarm_address(arrays[DM_SWARM_A_SNAP_MEMORY]);
    a->snapshot_frames = dm_swarm_address(arrays[DM_SWARM_A_SNAP_FRAMES]);
    a->snapshot_roms = dm_swarm_address(arrays[DM_SWARM_A_SNAP_ROMS]);
    a->start_snapshots = dm_swarm_address(arrays[DM_SWARM_A_START_SNAPSHOTS]);
    a->start_limits = dm_swarm_address(arrays[DM_SWARM_A_START_LIMITS]);
    a->start_choices = dm_swarm_address(arrays[DM_SWARM_A_START_CHOICES]);
    a->start_draws = dm_swarm_address(arrays[DM_SWARM_A_START_DRAWS]);
    a->random_count = (uint32_t)d->random_count;
    for (size_t i = 0; i < d->random_count; i++)
        a->random_offsets[i] = (uint16_t)dm_swarm_own_offset(d->random_bytes[i]);
    dm_swarm_point_outputs(swarm);
    b->machine_stride = swarm->layout.machine_stride;
    b->memory_stride = swarm->layout.memory_stride;
    a->seed = d->seed;
    a->first_machine = d->first_machine;
    b->count = (uint32_t)d->count;
    b->rom_count = (uint32_t)d->rom_count;
    a->snapshot_count = swarm->snapshot_count;
    b->lanes_per_warp = d->lanes_per_warp;
    const dm_swarm_blocks blocks =
        dm_swarm_blocks_over(dm_device_get_properties(swarm->device)->multiprocessors, d);
    b->block_machines = blocks.block_machines;
    b->short_blocks = blocks.short_blocks;
    swarm->blocks = blocks.count;
    plan_runs(swarm);
    a->step_limit = d->step_limit;
    a->vector_size = d->observation_size;
    a->stack = d->frame_stack;
    const bool own = d->action_key_count != 0;
    a->action_count = own ? (uint32_t)d->action_key_count : dm_swarm_codec_actions(d->codec);
    a->raw_keys = !own && d->codec == DM_SWARM_RAW_KEYS;
    for (uint32_t i = 0; i < a->action_count; i++)
        a->keys[i] = own ? d->action_keys[i] : dm_swarm_codec_keys(d->codec, i);
    a->generator = (uint8_t)d->generator;
    a->autoreset = (uint8_t)d->autoreset;
    a->finals = d->finals;
    b->skip_idle = !d->keep_idle_loops;
}

/* ---- Creating ---- */

/* Find the lowest address of plain memory, from which the page tables of large blocks count (gb/simt/limits.h). */
static dm_status find_lowest(dm_swarm *swarm, dm_error *err)
{
    const dm_swarm_desc *d = &swarm->desc;
    static const int plain[] = {DM_SWARM_A_MEMORY, DM_SWARM_A_ROM_BYTES, DM_SWARM_A_PREDECODED};
    uint64_t lowest = UINT64_MAX, end = 0;
    if (dm_device_get_properties(swarm->device)->kind == DM_DEVICE_CPU)
        return DM_OK;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        dm_device_buffer *array = swarm->arrays[plain[i]];
        if (array == NULL)
            continue;
        const uint64_t at = (uint64_t)(uintptr_t)dm_device_buffer_address(array);
        const uint64_t after = at + dm_device_buffer_size(array);
        lowest = at < lowest ? at : lowest;
        end = after > end ? after : end;
    }
    swarm->args.batch.lowest = lowest;
    const uint32_t block_machines = d->block_threads / 32u * d->lanes_per_warp;
    if (DM_GB_PAGE_NARROW_FOR(block_machines) && end - lowest > DM_GB_PAGE_SPAN)
        return dm_fail(err, DM_ENOMEM,
                       "swarm: memory and ROMs lie %" PRIu64
                       " bytes apart, too far for blocks of %u machines; use blocks of up to %u",
                       end - lowest, block_machines, DM_GB_PAGE_WIDE_MACHINES);
    return DM_OK;
}

/* Every machine in its own place, until the first step. */
static dm_status first_order(dm_swarm *swarm, dm_error *err)
{
    dm_device_buffer *order = swarm->arrays[DM_SWARM_A_ORDER];
    size_t count = swarm->desc.count;
    if (order == NULL)
        return DM_OK;
    uint32_t *identity = malloc(count * sizeof *identity);
    if (identity == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    for (size_t i = 0; i < count; i++)
        identity[i] = (uint32_t)i;
    dm_status status =
        dm_stream_upload(swarm->stream, order, 0, identity, count * sizeof *identity, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(identity);
    return status;
}

static dm_status first_states(dm_swarm *swarm, dm_error *err)
{
    uint64_t count = swarm->desc.count;
    dm_stream *stream = swarm->stream;
    dm_device_buffer **arrays = swarm->arrays;
    dm_status status = first_order(swarm, err);
    const int costs[] = {DM_SWARM_A_LOADS, DM_SWARM_A_SERVICES};
    for (size_t i = 0; i < 2; i++)
        if (status == DM_OK && arrays[costs[i]] != NULL)
            status = dm_stream_fill(stream, arrays[costs[i]], 0, 0, count * sizeof(uint32_t), err);
    if (status == DM_OK)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_FAULTS], 0, 0,
                                sizeof(dm_swarm_fault_counts), err);
    if (status == DM_OK)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_PROGRESS], 0, 0,
                                count * sizeof(dm_swarm_progress), err);
    if (status == DM_OK)
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_START_DRAWS], 0, 0,
                                count * sizeof(uint32_t), err);
    if (status == DM_OK) /* DM_SWARM_NO_SNAPSHOT */
        status = dm_stream_fill(stream, arrays[DM_SWARM_A_START_CHOICES], 0, 0xFF,
                                count * sizeof(uint32_t), err);
    if (status == DM_OK)
        status = dm_stream_upload(stream, arrays[DM_SWARM_A_SNAP_ROMS], 0, swarm->snapshot_roms,
                                  swarm->snapshot_count * sizeof(uint32_t), err);
    for (uint64_t i = 0; i < count; i++)
        swarm->host_snapshots[i] = (uint32_t)(i % swarm->desc.rom_count);
    if (status == DM_OK)
        status = dm_stream_upload(stream, arrays[DM_SWARM_A_STARTS], 0, swarm->host_snapshots,
                                  count * sizeof(uint32_t), err);
    for (uint32_t i = 0; i < swarm->desc.rom_count && status == DM_OK; i++)
        status = dm_swarm_snapshot_put(swarm, i, i, err);
    if (status == DM_OK)
        status = dm_swarm_reset(swarm, NULL, NULL, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    return status == DM_OK ? dm_swarm_program_check(swarm, true, err) : status;
}

static dm_status host_memory(dm_swarm *swarm, dm_error *err)
{
    swarm->snapshot_roms = malloc(swarm->snapshot_count * sizeof *swarm->snapshot_roms);
    swarm->host_mask = malloc(swarm->desc.count);
    swarm->host_snapshots = malloc(swarm->desc.count * sizeof *swarm->host_snapshots);
    if (swarm->snapshot_roms == NULL || swarm->host_mask == NULL || swarm->host_snapshots == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    memset(swarm->snapshot_roms, 0xFF, swarm->snapshot_count * sizeof *swarm->snapshot_roms);
    return DM_OK;
}

static dm_status build(dm_device *device, const dm_swarm_desc *d, dm_swarm_kernels *out,
                       dm_error *err)
{
    bool cpu = dm_device_get_properties(device)->kind == DM_DEVICE_CPU;
    /* A program has observations of its own, so the kernels beside it are the default ones. */
    dm_swarm_variant variant = {.stage = d->stage,
                                .vector_size = d->program != NULL ? DM_SWARM_VECTOR_DEFAULT
                                                                  : d->observation_size,
                                .epilog = d->epilog,
                                .guard = cpu && d->epilog != NULL,
                                .hooks = !cpu && d->hook_count != 0,
                                .finals = !cpu && d->finals};
    dm_swarm_tuning tuning = {d->block_threads, d->blocks_per_multiprocessor, d->lanes_per_warp};
    if (cpu)
        tuning = (dm_swarm_tuning){0, 0, 0};
    return dm_swarm_build(device, &variant, &tuning, out, err);
}

static dm_status setup(dm_swarm *swarm, const dm_swarm_desc *desc, dm_error *err)
{
    dm_status status = take_desc(swarm, desc, err);
    if (status == DM_OK)
        status = dm_swarm_open_roms(swarm, err);
    if (status != DM_OK)
        return status;
    dm_swarm_choose_threads(swarm->device, &swarm->desc);
    swarm->snapshot_count = (uint32_t)swarm->desc.rom_count + swarm->desc.snapshots;
    dm_swarm_layout_of(swarm, &swarm->layout);
    status = dm_swarm_check_room(swarm, err);
    if (status == DM_OK)
        status = build(swarm->device, &swarm->desc, &swarm->kernels, err);
    if (status == DM_OK)
        status = host_memory(swarm, err);
    if (status == DM_OK)
        status = allocate(swarm, err);
    if (status != DM_OK)
        return status;
    fill_args(swarm);
    swarm->by_parts = dm_swarm_sorts_often(&swarm->desc) && swarm->args.batch.cycles[0] != 0 &&
                      swarm->args.batch.cycles[1] != 0;
    status = find_lowest(swarm, err);
    if (status == DM_OK)
        status = dm_swarm_upload_roms(swarm, err);
    if (status == DM_OK)
        status = dm_swarm_program_start(swarm, err);
    return status == DM_OK ? first_states(swarm, err) : status;
}

dm_status dm_swarm_create(dm_device *device, const dm_swarm_desc *desc, dm_swarm **out,
                          dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, desc);
    DM_REQUIRE(err, out);
    *out = NULL;
    dm_swarm *swarm = calloc(1, sizeof *swarm);
    if (swarm == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    swarm->device = device;
    swarm->stream = dm_device_stream(device);
    dm_status status = setup(swarm, desc, err);
    if (status != DM_OK) {
        dm_swarm_destroy(swarm);
        return status;
    }
    *out = swarm;
    return DM_OK;
}

void dm_swarm_destroy(dm_swarm *swarm)
{
    if (swarm == NULL)
        return;
    dm_stream_synchronize(swarm->stream, NULL);
    for (int i = 0; i < DM_SWARM_ARRAYS; i++)
        dm_device_buffer_destroy(swarm->arrays[i]);
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++)
        dm_device_buffer_destroy(swarm->own[i]);
    for (size_t i = 0; i < swarm->desc.rom_count && swarm->views != NULL; i++)
        dm_gb_destroy(swarm->views[i]);
    free(swarm->views);
    free(swarm->snapshot_roms);
    free(swarm->host_mask);
    free(swarm->host_snapshots);
    dm_swarm_kernels_release(&swarm->kernels);
    dm_module_destroy(swarm->bulk_module);
    dm_program_kernel_destroy(swarm->program_kernel);
    dm_program_destroy(swarm->program);
    free(swarm);
}

dm_status dm_swarm_warm_up(dm_device *device, const dm_swarm_desc *desc, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, desc);
    dm_swarm_desc d = *desc;
    dm_swarm_kernels kernels;
    if (d.observation_size == 0)
        d.observation_size = DM_SWARM_VECTOR_DEFAULT;
    d.hook_count += dm_program_get_info(d.program).hook_count;
    dm_status status = check_choices(&d, err);
    dm_swarm_choose_threads(device, &d);
    if (status == DM_OK)
        status = build(device, &d, &kernels, err);
    if (status == DM_OK)
        dm_swarm_kernels_release(&kernels);
    return status;
}
