/* SPDX-License-Identifier: MIT */
/* program.c - a reward program beside a swarm's kernels (src/program).
 *
 *   step kernel ─► program ─► answered kernel ─┬─► outputs
 *   (machines)     (judges)   (ends of         └─► program once more, for machines that same-step autoreset
 *                              episodes)           put back: their first observation
 *   reset kernel ─► program, for the machines that were reset
 *
 * `turns` says what a launch of the program does for each machine. For a machine that was reset the program is run with
 * the memory that the snapshot has, zero for the start of a ROM; reward and ends of that run are dropped. */
#include "base/require.h"
#include "swarm/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(dm_swarm_answer) == sizeof(dm_program_answer), "what a program answers");
static_assert(sizeof(dm_swarm_metric) == sizeof(dm_program_metric), "a program's metric");
static_assert((int)DM_SWARM_TURN_SKIP == (int)DM_PROGRAM_SKIP, "a program's turns");
static_assert(sizeof(dm_swarm_progress) == 16, "the program reads steps and episode_steps");

/* ---- Creating ---- */

/* The program's hooks come first, so that their bits are as it counts them. */
static dm_status take_hooks(dm_swarm *swarm, const dm_program_info *info, dm_error *err)
{
    dm_swarm_desc *d = &swarm->desc;
    const size_t own = info->hook_count;
    if (own == 0)
        return DM_OK;
    if (d->hook_count > DM_GB_HOOK_COUNT_MAX - own)
        return dm_fail(err, DM_EINVAL, "swarm: %zu hooks and %zu of the program; at most %d in all",
                       d->hook_count, own, DM_GB_HOOK_COUNT_MAX);
    if (d->hook_count != 0 && d->hooks == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: %zu hooks, but none is given", d->hook_count);
    for (size_t i = 0; i < own; i++) {
        const dm_program_hook *hook = &info->hooks[i];
        swarm->hooks[i].address = hook->address;
        swarm->hooks[i].bank = hook->any_bank ? (uint16_t)DM_GB_HOOK_EVERY_BANK : hook->bank;
    }
    for (size_t i = 0; i < d->hook_count; i++)
        swarm->hooks[own + i] = d->hooks[i];
    d->hooks = swarm->hooks;
    d->hook_count += own;
    return DM_OK;
}

static bool same_hooks(const dm_program_info *a, const dm_program_info *b)
{
    bool same = a->hook_count == b->hook_count;
    for (size_t i = 0; same && i < a->hook_count; i++)
        same = a->hooks[i].address == b->hooks[i].address && a->hooks[i].bank == b->hooks[i].bank &&
               a->hooks[i].any_bank == b->hooks[i].any_bank;
    return same;
}

dm_status dm_swarm_program_take(dm_swarm *swarm, dm_error *err)
{
    dm_swarm_desc *d = &swarm->desc;
    if (d->program == NULL)
        return DM_OK;
    if (d->epilog != NULL)
        return dm_fail(err, DM_EINVAL,
                       "swarm: a program and an epilog are given; it takes one of them");
    const dm_program_info info = dm_program_get_info(d->program);
    if (dm_program_source(d->program, false) == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: the program did not compile");
    if ((d->observations & DM_SWARM_OBS_VECTOR) != 0 && info.observation_size == 0)
        return dm_fail(err, DM_EINVAL,
                       "swarm: vector observations are wanted, and the program writes no out.obs");
    if (d->observation_size != 0 && d->observation_size != info.observation_size)
        return dm_fail(err, DM_EINVAL,
                       "swarm: observation_size is %u, and the program observes %u floats",
                       d->observation_size, info.observation_size);
    dm_status status = take_hooks(swarm, &info, err);
    if (status != DM_OK)
        return status;
    d->observation_size = info.observation_size;
    swarm->program = dm_program_share((dm_program *)d->program);
    return dm_program_kernel_create(swarm->program, swarm->device, &swarm->program_kernel, err);
}

static bool observes(const dm_swarm *swarm)
{
    return swarm->desc.stage == DM_SWARM_FULL_STEP || swarm->desc.stage == DM_SWARM_OBS_ONLY;
}

void dm_swarm_program_layout(const dm_swarm *swarm, dm_swarm_layout *l)
{
    if (swarm->program == NULL)
        return;
    const dm_program_info info = dm_program_get_info(swarm->program);
    const uint64_t stride = dm_program_stride(swarm->program);
    const bool hidden = (swarm->desc.observations & DM_SWARM_OBS_VECTOR) == 0 || !observes(swarm);
    l->per_machine[DM_SWARM_A_ANSWERS] = sizeof(dm_swarm_answer);
    l->per_machine[DM_SWARM_A_TURNS] = sizeof(uint32_t);
    l->per_machine[DM_SWARM_A_TURN_ACTIONS] = sizeof(uint32_t);
    l->per_machine[DM_SWARM_A_METRICS] = info.metric_count * sizeof(dm_swarm_metric);
    l->per_machine[DM_SWARM_A_EPISODES] = sizeof(uint32_t);
    l->per_machine[DM_SWARM_A_PROGRAM_MEMORY] = stride;
    l->per_machine[DM_SWARM_A_PROGRAM_VECTORS] = hidden ? info.observation_size * sizeof(float) : 0;
    l->shared[DM_SWARM_A_ROM_STARTS] = swarm->desc.rom_count * sizeof(uint32_t);
    l->shared[DM_SWARM_A_SNAP_PROGRAM_MEMORY] = swarm->snapshot_count * stride;
}

static dm_status zero(dm_swarm *swarm, int array, dm_error *err)
{
    dm_device_buffer *buffer = swarm->arrays[array];
    return buffer == NULL
               ? DM_OK
               : dm_stream_fill(swarm->stream, buffer, 0, 0, dm_device_buffer_size(buffer), err);
}

static dm_status zero_all(dm_swarm *swarm, dm_error *err)
{
    static const int arrays[] = {DM_SWARM_A_ANSWERS,         DM_SWARM_A_TURNS,
                                 DM_SWARM_A_TURN_ACTIONS,    DM_SWARM_A_METRICS,
                                 DM_SWARM_A_EPISODES,        DM_SWARM_A_PROGRAM_MEMORY,
                                 DM_SWARM_A_PROGRAM_VECTORS, DM_SWARM_A_SNAP_PROGRAM_MEMORY};
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++)
        status = zero(swarm, arrays[i], err);
    return status;
}

static dm_status upload_starts(dm_swarm *swarm, dm_error *err)
{
    const size_t count = swarm->desc.rom_count;
    uint32_t *starts = malloc(count * sizeof *starts);
    uint64_t at = 0;
    if (starts == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    for (size_t i = 0; i < count; i++) {
        starts[i] = (uint32_t)at;
        at += swarm->views[i]->rom.size;
    }
    dm_status status = at > INT32_MAX
                           ? dm_fail(err, DM_EINVAL, "swarm: a program reads ROMs of 2 GiB at most")
                           : DM_OK;
    if (status == DM_OK)
        status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_ROM_STARTS], 0, starts,
                                  count * sizeof *starts, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(starts);
    return status;
}

void dm_swarm_program_point(dm_swarm *swarm)
{
    if (swarm->program == NULL)
        return;
    const dm_device_buffer *hidden = swarm->arrays[DM_SWARM_A_PROGRAM_VECTORS];
    swarm->places.observations =
        dm_swarm_address(hidden != NULL ? hidden : swarm->bound[DM_SWARM_VECTORS]);
}

/* Where everything lies, for the swarm's kernels and for the program's. */
static void fill_places(dm_swarm *swarm)
{
    dm_device_buffer *const *arrays = swarm->arrays;
    dm_swarm_args *a = &swarm->args;
    a->answers = dm_swarm_address(arrays[DM_SWARM_A_ANSWERS]);
    a->turns = dm_swarm_address(arrays[DM_SWARM_A_TURNS]);
    a->turn_actions = dm_swarm_address(arrays[DM_SWARM_A_TURN_ACTIONS]);
    a->program_memory = dm_swarm_address(arrays[DM_SWARM_A_PROGRAM_MEMORY]);
    a->snapshot_program_memory = dm_swarm_address(arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY]);
    a->metrics = dm_swarm_address(arrays[DM_SWARM_A_METRICS]);
    a->episodes = dm_swarm_address(arrays[DM_SWARM_A_EPISODES]);
    a->program_stride = dm_program_stride(swarm->program);
    a->metric_count = (uint32_t)dm_program_get_info(swarm->program).metric_count;
    swarm->places = (dm_program_places){
        .count = swarm->desc.count,
        .machines = a->batch.machines,
        .memory = a->batch.memory,
        .roms = dm_swarm_address(arrays[DM_SWARM_A_ROM_BYTES]),
        .machine_stride = a->batch.machine_stride,
        .memory_stride = a->batch.memory_stride,
        .rom_bytes = dm_device_buffer_size(arrays[DM_SWARM_A_ROM_BYTES]),
        .rom_starts = dm_swarm_address(arrays[DM_SWARM_A_ROM_STARTS]),
        .rom_count = (uint32_t)swarm->desc.rom_count,
        .turns = a->turns,
        .actions = a->turn_actions,
        .progress = a->progress,
        .hooks = dm_swarm_address(arrays[DM_SWARM_A_HOOK_BITS]),
        .answers = dm_swarm_address(arrays[DM_SWARM_A_ANSWERS]),
        .starts = dm_swarm_address(arrays[DM_SWARM_A_START_CHOICES]),
        .metrics = dm_swarm_address(arrays[DM_SWARM_A_METRICS]),
        .kept = a->program_memory,
        .seed = swarm->desc.seed,
        .first_machine = swarm->desc.first_machine,
    };
    dm_swarm_program_point(swarm);
}

dm_status dm_swarm_program_start(dm_swarm *swarm, dm_error *err)
{
    if (swarm->program == NULL)
        return DM_OK;
    fill_places(swarm);
    dm_status status = upload_starts(swarm, err);
    return status == DM_OK ? zero_all(swarm, err) : status;
}

/* ---- Stepping ---- */

dm_status dm_swarm_program_check(dm_swarm *swarm, bool waits, dm_error *err)
{
    bool cpu = dm_device_get_properties(swarm->device)->kind == DM_DEVICE_CPU;
    if (swarm->program == NULL || (!cpu && !waits))
        return DM_OK;
    return dm_program_kernel_check(swarm->program_kernel, swarm->stream, err);
}

static dm_status run(dm_swarm *swarm, dm_error *err)
{
    dm_status status =
        dm_program_kernel_launch(swarm->program_kernel, swarm->stream, &swarm->places, err);
    return status == DM_OK ? dm_swarm_program_check(swarm, false, err) : status;
}

dm_status dm_swarm_program_judge(dm_swarm *swarm, dm_error *err)
{
    if (swarm->program == NULL)
        return DM_OK;
    dm_status status = run(swarm, err);
    if (status == DM_OK)
        status = dm_swarm_launch(swarm, swarm->kernels.answered, err);
    if (status == DM_OK && swarm->desc.autoreset == DM_SWARM_SAME_STEP)
        status = run(swarm, err);
    return status;
}

dm_status dm_swarm_program_begin(dm_swarm *swarm, dm_error *err)
{
    return swarm->program == NULL ? DM_OK : run(swarm, err);
}

/* ---- Another program ---- */

/* The arrays whose size depends on the program, made anew. */
static dm_status reallocate(dm_swarm *swarm, dm_error *err)
{
    static const int arrays[] = {DM_SWARM_A_METRICS, DM_SWARM_A_PROGRAM_MEMORY,
                                 DM_SWARM_A_PROGRAM_VECTORS, DM_SWARM_A_SNAP_PROGRAM_MEMORY};
    const dm_swarm_layout *l = &swarm->layout;
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++) {
        const int k = arrays[i];
        const uint64_t size = l->per_machine[k] * swarm->desc.count + l->shared[k];
        if (swarm->arrays[k] != NULL && dm_device_buffer_size(swarm->arrays[k]) == size)
            continue;
        dm_device_buffer_destroy(swarm->arrays[k]);
        swarm->arrays[k] = NULL;
        if (size > 0)
            status = dm_device_buffer_create(swarm->device, size, &swarm->arrays[k], err);
    }
    return status;
}

/* Run the program for every machine as after a reset. */
static dm_status show_all(dm_swarm *swarm, dm_error *err)
{
    const size_t count = swarm->desc.count;
    uint32_t *turns = malloc(count * sizeof *turns);
    if (turns == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    for (size_t i = 0; i < count; i++)
        turns[i] = DM_SWARM_TURN_FRESH;
    dm_status status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_TURNS], 0, turns,
                                        count * sizeof *turns, err);
    if (status == DM_OK)
        status = run(swarm, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(turns);
    return status == DM_OK ? dm_swarm_program_check(swarm, true, err) : status;
}

dm_status dm_swarm_set_program(dm_swarm *swarm, const dm_program *program, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, program);
    const dm_program_info info = dm_program_get_info(program);
    if (swarm->program == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: it was created without a program");
    if (dm_program_source(program, false) == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: the program did not compile");
    const dm_program_info before = dm_program_get_info(swarm->program);
    if (swarm->layout.output[DM_SWARM_VECTORS] != 0 &&
        info.observation_size != before.observation_size)
        return dm_fail(
            err, DM_EINVAL,
            "swarm: the program observes %u floats, the last one %u; create the swarm anew",
            info.observation_size, before.observation_size);
    if (!same_hooks(&info, &before))
        return dm_fail(
            err, DM_EINVAL,
            "swarm: the program has other hooks than the last one; create the swarm anew");
    dm_program_kernel *kernel = NULL;
    dm_status status = dm_program_kernel_create(program, swarm->device, &kernel, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status != DM_OK) {
        dm_program_kernel_destroy(kernel);
        return status;
    }
    dm_program_kernel_destroy(swarm->program_kernel);
    dm_program_destroy(swarm->program);
    swarm->program_kernel = kernel;
    swarm->program = dm_program_share((dm_program *)program);
    dm_swarm_layout_of(swarm, &swarm->layout);
    status = reallocate(swarm, err);
    if (status == DM_OK) {
        fill_places(swarm);
        status = zero_all(swarm, err);
    }
    return status == DM_OK ? show_all(swarm, err) : status;
}

/* ---- Metrics ---- */

static void add_up(const dm_swarm_metric *metrics, const uint32_t *episodes, uint64_t machines,
                   size_t count, dm_swarm_metric_sums *out)
{
    for (uint64_t i = 0; i < machines; i++)
        for (size_t k = 0; k < count; k++) {
            const dm_swarm_metric *metric = metrics + i * count + k;
            out[k].step += (double)metric->value;
            out[k].last += metric->last_sum;
            out[k].sum += metric->sum_sum;
            out[k].episodes += episodes[i];
        }
    for (size_t k = 0; k < count; k++) {
        const double ended = out[k].episodes == 0 ? 1 : (double)out[k].episodes;
        out[k].step /= (double)machines;
        out[k].last /= ended;
        out[k].sum /= ended;
    }
}

/* Sums over the episodes back to zero; the values of the running ones stay. */
static dm_status restart_metrics(dm_swarm *swarm, dm_swarm_metric *metrics, size_t all,
                                 dm_error *err)
{
    for (size_t i = 0; i < all; i++)
        metrics[i].last_sum = metrics[i].sum_sum = 0;
    dm_status status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_METRICS], 0,
                                        metrics, all * sizeof *metrics, err);
    if (status == DM_OK)
        status = zero(swarm, DM_SWARM_A_EPISODES, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

dm_status dm_swarm_get_metrics(dm_swarm *swarm, dm_swarm_metric_sums *out, size_t count,
                               bool restart, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, out, count);
    const dm_program_info info = dm_program_get_info(swarm->program);
    if (count != info.metric_count)
        return dm_fail(err, DM_EINVAL, "swarm: %zu metrics, and the program has %zu", count,
                       info.metric_count);
    if (count == 0)
        return DM_OK;
    const size_t machines = swarm->desc.count;
    dm_swarm_metric *metrics = malloc(machines * count * sizeof *metrics);
    uint32_t *episodes = malloc(machines * sizeof *episodes);
    dm_status status = metrics == NULL || episodes == NULL
                           ? dm_fail(err, DM_ENOMEM, "swarm: out of memory")
                           : DM_OK;
    if (status == DM_OK)
        status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_METRICS], 0, metrics,
                                    machines * count * sizeof *metrics, err);
    if (status == DM_OK)
        status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_EPISODES], 0, episodes,
                                    machines * sizeof *episodes, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK) {
        memset(out, 0, count * sizeof *out);
        for (size_t k = 0; k < count; k++)
            out[k].name = info.metrics[k];
        add_up(metrics, episodes, machines, count, out);
        if (restart)
            status = restart_metrics(swarm, metrics, machines * count, err);
    }
    free(metrics);
    free(episodes);
    return status == DM_OK ? dm_swarm_program_check(swarm, true, err) : status;
}
