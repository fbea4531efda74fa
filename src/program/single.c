/* SPDX-License-Identifier: MIT */
/* single.c - a program beside one dm_gb: the same kernel as a swarm's, launched for one machine. */
#include "base/require.h"
#include "gb/host/core.h"
#include "program/internal.h"

#include <stdlib.h>
#include <string.h>

/* What the kernel reads and writes; the progress of a swarm's machine in its first 16 bytes. */
typedef struct single_state {
    uint64_t steps;
    uint32_t episode_steps, done;
    uint64_t hooks;
    uint32_t turn, action, rom_start;
    int32_t start; /* written by the kernel and not used: the caller resets its machine itself */
    dm_program_answer answer;
} single_state;

struct dm_program_single {
    dm_gb *gb;
    dm_device *device;
    dm_program *program;
    dm_program_kernel *kernel;
    dm_program_info info;
    dm_program_places places;
    single_state state;
};

static dm_status set_hooks(const dm_program_info *info, dm_gb *gb, dm_error *err)
{
    dm_gb_hook hooks[DM_PROGRAM_HOOKS_MAX];
    for (size_t i = 0; i < info->hook_count; i++) {
        hooks[i].address = info->hooks[i].address;
        hooks[i].bank =
            info->hooks[i].any_bank ? (uint16_t)DM_GB_HOOK_EVERY_BANK : info->hooks[i].bank;
    }
    return dm_gb_set_hooks(gb, hooks, info->hook_count, err);
}

/* One allocation holds memory, observations and metrics; at least a byte of each. */
static dm_status make_room(dm_program_single *s, const dm_program *program, dm_error *err)
{
    dm_program_places *p = &s->places;
    p->kept = calloc(1, dm_program_stride(program) + 16);
    p->observations = calloc(s->info.observation_size + 1, sizeof(float));
    p->metrics = calloc(s->info.metric_count + 1, sizeof(dm_program_metric));
    return p->kept != NULL && p->observations != NULL && p->metrics != NULL
               ? DM_OK
               : dm_fail(err, DM_ENOMEM, "program: out of memory");
}

static void fill_places(dm_program_single *s, uint64_t seed, uint64_t number)
{
    dm_program_places *p = &s->places;
    dm_gb *gb = s->gb;
    p->count = p->rom_count = 1;
    p->machines = &gb->machine;
    p->memory = gb->ram;
    p->roms = gb->rom.bytes;
    p->machine_stride = sizeof gb->machine;
    p->memory_stride = gb->ram_size;
    p->rom_bytes = gb->rom.size;
    p->rom_starts = &s->state.rom_start;
    p->turns = &s->state.turn;
    p->actions = &s->state.action;
    p->progress = &s->state;
    p->hooks = &s->state.hooks;
    p->answers = &s->state.answer;
    p->starts = &s->state.start;
    p->seed = seed;
    p->first_machine = number;
}

dm_status dm_program_single_create(const dm_program *program, dm_gb *gb, uint64_t seed,
                                   uint64_t number, dm_program_single **out, dm_error *err)
{
    DM_REQUIRE(err, program);
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (dm_program_source(program, false) == NULL)
        return dm_fail(err, DM_EINVAL, "program: it did not compile");
    dm_program_single *s = calloc(1, sizeof *s);
    if (s == NULL)
        return dm_fail(err, DM_ENOMEM, "program: out of memory");
    s->gb = gb;
    s->program = dm_program_share((dm_program *)program);
    s->info = dm_program_get_info(program);
    fill_places(s, seed, number);
    dm_status status = make_room(s, program, err);
    if (status == DM_OK)
        status = dm_device_open("cpu:1", &s->device, err);
    if (status == DM_OK)
        status = dm_program_kernel_create(program, s->device, &s->kernel, err);
    if (status == DM_OK && s->info.hook_count > 0)
        status = set_hooks(&s->info, gb, err);
    if (status == DM_OK)
        status = dm_program_single_reset(s, err);
    if (status != DM_OK) {
        dm_program_single_destroy(s);
        return status;
    }
    *out = s;
    return DM_OK;
}

void dm_program_single_destroy(dm_program_single *single)
{
    if (single == NULL)
        return;
    dm_program_kernel_destroy(single->kernel);
    dm_device_close(single->device);
    dm_program_destroy(single->program);
    free(single->places.kept);
    free(single->places.observations);
    free(single->places.metrics);
    free(single);
}

static dm_status run(dm_program_single *s, enum dm_program_turn turn, dm_error *err)
{
    s->state.turn = turn;
    dm_stream *stream = dm_device_stream(s->device);
    dm_status status = dm_program_kernel_launch(s->kernel, stream, &s->places, err);
    return status == DM_OK ? dm_program_kernel_check(s->kernel, stream, err) : status;
}

dm_status dm_program_single_step(dm_program_single *single, uint32_t action,
                                 dm_program_outcome *out, dm_error *err)
{
    DM_REQUIRE(err, single);
    DM_REQUIRE(err, out);
    single_state *state = &single->state;
    state->action = action;
    state->hooks = single->info.hook_count > 0 ? dm_gb_take_hooks(single->gb) : 0;
    dm_status status = run(single, DM_PROGRAM_STEP, err);
    state->steps++;
    state->episode_steps++;
    *out = (dm_program_outcome){.reward = state->answer.reward,
                                .terminated = state->answer.terminated != 0,
                                .truncated = state->answer.truncated != 0,
                                .observations = single->places.observations};
    return status;
}

dm_status dm_program_single_reset(dm_program_single *single, dm_error *err)
{
    DM_REQUIRE(err, single);
    memset(single->places.kept, 0, single->info.memory_bytes);
    single->state.episode_steps = 0;
    if (single->info.hook_count > 0)
        dm_gb_take_hooks(single->gb);
    return run(single, DM_PROGRAM_FRESH, err);
}

dm_status dm_program_single_save_state(dm_program_single *single, const char *path, dm_error *err)
{
    DM_REQUIRE(err, single);
    DM_REQUIRE(err, path);
    return dm_program_save_file(single->program, single->gb, single->places.kept, path, err);
}

dm_status dm_program_single_load_memory(dm_program_single *single, const char *path, bool *found,
                                        dm_error *err)
{
    DM_REQUIRE(err, single);
    DM_REQUIRE(err, path);
    DM_REQUIRE(err, found);
    return dm_program_load_file(single->program, path, single->places.kept, found, err);
}

float dm_program_single_metric(const dm_program_single *single, size_t metric)
{
    return single == NULL || metric >= single->info.metric_count
               ? 0.0f
               : single->places.metrics[metric].value;
}

void *dm_program_single_memory(dm_program_single *single)
{
    return single == NULL ? NULL : single->places.kept;
}
