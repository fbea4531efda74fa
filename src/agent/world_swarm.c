/* SPDX-License-Identifier: MIT */
/* world_swarm.c - see world_swarm.h. */
#include "agent/world_swarm.h"

#include "agent/texts.h"
#include "base/file.h"
#include "base/philox.h"
#include "device/internal.h"
#include "swarm/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An epilog's observation: the policy's numbers, then the game's score, then what the reward is the
 * change of. A program's is the policy's alone. */
enum { TAIL = 2 };

/* Per-machine state of kernels/agent/world.py, in device memory. A checkpoint stores all of it but the first array,
 * besides the swarm's own file. */
enum {
    KEYS,
    MASK,
    ENDED,
    KEEP_IN,
    ACTION_KEYS,
    SEEDS,
    NUMBERS,
    POTENTIAL,
    OVER,
    PRACTICE,
    AGE,
    KEPT,
    STIRRED,
    FORCED,
    OWN,
    ARCHIVE,
    FILLED,
    ARRAYS
};
#define FIRST_SAVED NUMBERS

typedef struct swarm_world {
    dm_agent_world world;
    dm_agent_config config;
    dm_agent_swarm_desc desc;
    dm_device *device, *texts_device; /* the CPU: of one thread */
    dm_swarm *swarm;
    dm_stream *stream;
    bool cuda;
    bool programmed; /* the reward is a program's */
    uint32_t width;  /* floats of the swarm's observation */
    int metric;      /* the program's that is called score; -1: none */
    uint32_t seen;   /* those of them that the policy sees */
    uint32_t archive_room;
    dm_device_buffer *buffers[ARRAYS];
    void *at[ARRAYS]; /* their addresses */
    dm_agent_text begin, after, archive, observe, potential, keep;
    uint64_t step;           /* steps of the world, those that are prepared included */
    uint64_t next, prepared; /* the next step's place among the prepared ones; how many those are */
    dm_agent_lives *lives;   /* NULL: none are kept */
    uint8_t action_keys[DM_AGENT_ACTIONS_MAX];
} swarm_world;

/* ---- Creation ---- */

static uint32_t first_own(const swarm_world *w)
{
    return (uint32_t)(1 + w->desc.starts);
}

static bool has_curriculum(const swarm_world *w)
{
    return !w->desc.held_out && w->config.curriculum > 0;
}

/* The starts into snapshots, as many at a time as there are machines. */
static dm_status load_starts(swarm_world *w, dm_agent_game *game, dm_error *err)
{
    size_t room = dm_swarm_state_bytes(w->swarm);
    uint64_t at_a_time = w->world.count < 64 ? w->world.count : 64;
    uint32_t machines[64];
    uint8_t *states = calloc(at_a_time, room);
    dm_status status = states ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory for starts");
    for (uint64_t first = 0; first < w->desc.starts && status == DM_OK; first += at_a_time) {
        uint64_t some = w->desc.starts - first < at_a_time ? w->desc.starts - first : at_a_time;
        for (uint64_t i = 0; i < some && status == DM_OK; i++) {
            machines[i] = (uint32_t)i;
            status = dm_agent_game_start(game, w->config.seed, w->desc.held_out && !w->desc.trained,
                                         w->desc.first + first + i, states + i * room, err);
        }
        if (status == DM_OK)
            status = dm_swarm_load_states(w->swarm, machines, some, states, some * room, err);
        for (uint64_t i = 0; i < some && status == DM_OK; i++)
            status = dm_swarm_snapshot(w->swarm, (uint32_t)i, (uint32_t)(1 + first + i), err);
    }
    free(states);
    return status;
}

static uint64_t array_bytes(const swarm_world *w, int array)
{
    uint64_t N = w->world.count;
    switch (array) {
    case KEYS:
    case MASK:
    case ENDED:
    case OVER:
    case PRACTICE:
        return N;
    case ACTION_KEYS:
        return DM_AGENT_ACTIONS_MAX;
    case SEEDS:
        return w->config.horizon * sizeof(int32_t);
    case OWN:
        return 2 * N * sizeof(int32_t);
    case ARCHIVE:
        return (w->archive_room + 1u) * sizeof(int32_t);
    case FILLED:
        return 2 * sizeof(int32_t);
    default:
        return N * sizeof(int32_t);
    }
}

static dm_status upload(swarm_world *w, int array, const void *from, dm_error *err)
{
    dm_status status =
        dm_stream_upload(w->stream, w->buffers[array], 0, from, array_bytes(w, array), err);
    return status == DM_OK ? dm_stream_synchronize(w->stream, err) : status;
}

static dm_status take_memory(swarm_world *w, const dm_agent_game *game, dm_error *err)
{
    uint64_t N = w->world.count;
    dm_status status = DM_OK;
    for (int i = 0; i < ARRAYS && status == DM_OK; i++) {
        status = dm_device_buffer_create(w->device, array_bytes(w, i), &w->buffers[i], err);
        if (status == DM_OK)
            status = dm_stream_fill(w->stream, w->buffers[i], 0, 0, array_bytes(w, i), err);
        if (status == DM_OK)
            w->at[i] = dm_device_buffer_address(w->buffers[i]);
    }
    if (status != DM_OK)
        return status;
    int32_t *own = calloc(2 * N, sizeof *own);
    int32_t *archive = calloc(w->archive_room + 1u, sizeof *archive);
    if (!own || !archive)
        status = dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < 2 * N && status == DM_OK; i++)
        own[i] = (int32_t)(first_own(w) + i);
    for (uint64_t i = 0; i < w->archive_room && status == DM_OK; i++)
        archive[i] = (int32_t)(first_own(w) + 2 * N + i);
    if (status == DM_OK)
        status = upload(w, OWN, own, err);
    if (status == DM_OK)
        status = upload(w, ARCHIVE, archive, err);
    if (status == DM_OK)
        status = upload(w, ACTION_KEYS, game->keys, err);
    free(own);
    free(archive);
    return status;
}

static void destroy(dm_agent_world *world)
{
    swarm_world *w = world->user;
    dm_agent_text *const texts[] = {&w->begin,   &w->after,     &w->archive,
                                    &w->observe, &w->potential, &w->keep};
    dm_swarm_destroy(w->swarm);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        dm_agent_text_close(texts[i]);
    for (int i = 0; i < ARRAYS; i++)
        dm_device_buffer_destroy(w->buffers[i]);
    if (w->texts_device != w->device)
        dm_device_close(w->texts_device);
    free(w);
}

static void *output(const swarm_world *w, dm_swarm_output_kind kind)
{
    return dm_device_buffer_address(dm_swarm_output(w->swarm, kind));
}

/* The texts, and those of their arguments that stay. */
static dm_status open_texts(swarm_world *w, dm_error *err)
{
    const struct {
        dm_agent_text *text;
        const char *name;
    } texts[] = {{&w->begin, "begin"},
                 {&w->after, "after"},
                 {&w->archive, "archive"},
                 {&w->observe, "observe"},
                 {&w->potential, "first_potential"},
                 {&w->keep, "keep"}};
    dm_status status = DM_OK;
    uint64_t N = w->world.count;
    w->texts_device = w->device;
    if (!w->cuda)
        status = dm_device_open("cpu:1", &w->texts_device, err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == DM_OK; i++)
        status = dm_agent_text_open(w->texts_device, "kernels/agent/world.py", texts[i].name, false,
                                    texts[i].text, err);
    if (status != DM_OK)
        return status;
    const struct {
        int array;
        const char *name;
        bool begin, after, archive;
    } shared[] = {
        {OVER, "over", true, true, false},
        {MASK, "mask", true, true, false},
        {PRACTICE, "practice", true, true, false},
        {KEPT, "kept", true, true, true},
        {AGE, "age", true, true, false},
        {STIRRED, "stirred", true, true, false},
        {FORCED, "forced", true, true, false},
        {FILLED, "filled", true, false, true},
        {ARCHIVE, "archive", true, false, false},
        {ARCHIVE, "places", false, false, true},
        {KEYS, "keys", true, false, false},
        {NUMBERS, "numbers", true, false, false},
        {ENDED, "ended", false, true, true},
        {KEEP_IN, "keep_in", false, true, false},
        {POTENTIAL, "potential", false, true, false},
    };
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        int a = shared[i].array;
        uint64_t count = a == FILLED ? 2 : a == ARCHIVE ? w->archive_room : N;
        if (shared[i].begin)
            dm_agent_text_vector(&w->begin, shared[i].name, w->at[a], NULL, count);
        if (shared[i].after)
            dm_agent_text_vector(&w->after, shared[i].name, w->at[a], NULL, count);
        if (shared[i].archive)
            dm_agent_text_vector(&w->archive, shared[i].name, w->at[a], NULL, count);
    }
    dm_agent_text_vector(&w->begin, "keys_of", w->at[ACTION_KEYS], NULL, DM_AGENT_ACTIONS_MAX);
    dm_agent_text_number(&w->begin, "starts", (double)w->desc.starts);
    dm_agent_text_number(&w->begin, "held_out", w->desc.held_out);
    dm_agent_text_number(&w->begin, "curriculum", has_curriculum(w) ? w->config.curriculum : 0);
    dm_agent_text_number(&w->begin, "choices", w->world.actions);
    dm_agent_text_number(&w->begin, "stir", (double)w->config.stir);
    dm_agent_text_matrix(&w->after, "own", w->at[OWN], NULL, N, 2);
    dm_agent_text_matrix(&w->archive, "own", w->at[OWN], NULL, N, 2);
    dm_agent_text_vector(&w->after, "given", output(w, DM_SWARM_REWARDS), NULL, N);
    dm_agent_text_number(&w->after, "programmed", w->programmed);
    /* A metric's values lie apart; without one any array does. */
    const dm_swarm_args *args = &w->swarm->args;
    dm_kernel_array metric = {.data = w->at[POTENTIAL], .shape = {(int64_t)N}};
    if (w->metric >= 0) {
        metric.data = &args->metrics[w->metric].value;
        metric.strides[0] = (int64_t)(args->metric_count * sizeof(dm_swarm_metric));
    }
    dm_agent_text_array(&w->after, "metric", &metric);
    dm_agent_text_number(&w->after, "has_metric", w->metric >= 0);
    dm_agent_text_vector(&w->after, "terminated", output(w, DM_SWARM_TERMINATED), NULL, N);
    dm_agent_text_vector(&w->after, "truncated", output(w, DM_SWARM_TRUNCATED), NULL, N);
    dm_agent_text_number(&w->after, "limit", (double)(w->desc.held_out ? 0 : w->config.limit));
    dm_agent_text_number(&w->after, "practice_limit", (double)w->config.practice);
    dm_agent_text_number(&w->after, "before", (double)w->config.before);
    dm_agent_text_number(&w->after, "keeps", has_curriculum(w));
    dm_agent_text *const seeing[] = {&w->after, &w->observe, &w->potential};
    for (size_t i = 0; i < 3 && w->width > 0; i++)
        dm_agent_text_matrix(seeing[i], "vectors", output(w, DM_SWARM_VECTORS), NULL, N, w->width);
    if (w->width == 0) /* nobody reads it */
        dm_agent_text_matrix(&w->after, "vectors", w->at[POTENTIAL], NULL, N, 1);
    dm_agent_text_vector(&w->potential, "potential", w->at[POTENTIAL], NULL, N);
    return DM_OK;
}

/* ---- Starting ---- */

enum { STREAM_STARTS = (1 << 20) + 16 };

/* Seeds of steps first .. to the device. */
static dm_status upload_seeds(swarm_world *w, uint64_t first, uint64_t count, dm_error *err)
{
    int32_t *seeds = malloc(count * sizeof *seeds);
    if (!seeds)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < count; i++)
        seeds[i] = (int32_t)dm_random4(w->config.seed, STREAM_STARTS, first + i).v[0];
    dm_status status =
        dm_stream_upload(w->stream, w->buffers[SEEDS], 0, seeds, count * sizeof *seeds, err);
    free(seeds);
    return status;
}

static dm_status prepare(dm_agent_world *world, uint64_t steps, dm_error *err)
{
    swarm_world *w = world->user;
    if (steps > w->config.horizon)
        return dm_fail(err, DM_EINTERNAL, "agent: more steps than a horizon");
    dm_status status = upload_seeds(w, w->step + 1, steps, err);
    w->step += steps;
    w->next = 0;
    w->prepared = steps;
    return status;
}

static dm_status begin(swarm_world *w, const int32_t *actions, dm_error *err)
{
    dm_agent_text *k = &w->begin;
    dm_agent_text_vector(k, "actions", (void *)(uintptr_t)actions, NULL, w->world.count);
    dm_agent_text_vector(k, "seeds", w->at[SEEDS], NULL, w->config.horizon);
    dm_agent_text_number(k, "step", (double)w->next);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, w->world.count, 0, err);
}

/* Machines whose mask is set begin an episode. The CPU leaves the call out where there are none. */
static dm_status begin_masked(swarm_world *w, dm_error *err)
{
    if (w->desc.held_out && w->step > 0)
        return DM_OK;
    if (!w->cuda && memchr(w->at[MASK], 1, w->world.count) == NULL)
        return DM_OK;
    return dm_swarm_reset(w->swarm, w->at[MASK], w->at[NUMBERS], err);
}

static dm_status observe(swarm_world *w, void *observations, dm_error *err)
{
    uint64_t N = w->world.count;
    if (w->world.packed)
        return w->device->ops->copy(w->stream, observations, output(w, DM_SWARM_PACKEDS),
                                    N * dm_agent_world_row_bytes(&w->world), err);
    dm_agent_text_matrix(&w->observe, "observations", observations, NULL, N, w->seen);
    return dm_agent_text_launch(&w->observe, DM_KERNEL_FORWARD, N, w->seen, err);
}

/* All machines are over, so all begin. */
static dm_status reset(dm_agent_world *world, void *observations, dm_error *err)
{
    swarm_world *w = world->user;
    dm_status status = dm_stream_fill(w->stream, w->buffers[OVER], 0, 1, world->count, err);
    w->next = w->prepared = 0;
    if (status == DM_OK)
        status = upload_seeds(w, w->step, 1, err);
    /* Any actions do: nothing is stepped. */
    if (status == DM_OK)
        status = dm_stream_fill(w->stream, w->buffers[KEEP_IN], 0, 0,
                                world->count * sizeof(int32_t), err);
    if (status == DM_OK)
        status = begin(w, w->at[KEEP_IN], err);
    if (status == DM_OK)
        status = dm_swarm_reset(w->swarm, w->at[MASK], w->at[NUMBERS], err);
    if (status == DM_OK && !w->programmed)
        status = dm_agent_text_launch(&w->potential, DM_KERNEL_FORWARD, world->count, 0, err);
    if (status == DM_OK)
        status = observe(w, observations, err);
    const dm_agent_lives_step first = {.swarm = w->swarm, .number = w->step};
    return status == DM_OK && w->lives ? dm_agent_lives_begin(w->lives, &first, err) : status;
}

/* ---- The archive ---- */

/* On CUDA a state is copied word by word where `numbers` says; all that dm_swarm_snapshot copies. */
static dm_status keep_on_cuda(swarm_world *w, dm_error *err)
{
    const dm_swarm *swarm = w->swarm;
    const struct {
        int from, to;
        uint64_t bytes;
    } parts[] = {
        {DM_SWARM_A_MACHINES, DM_SWARM_A_SNAP_MACHINES, swarm->layout.machine_stride},
        {DM_SWARM_A_MEMORY, DM_SWARM_A_SNAP_MEMORY, swarm->layout.memory_stride},
        {DM_SWARM_A_FRAMES, DM_SWARM_A_SNAP_FRAMES, DM_GB_FRAMES_SIZE},
        {DM_SWARM_A_PROGRAM_MEMORY, DM_SWARM_A_SNAP_PROGRAM_MEMORY, swarm->args.program_stride},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == DM_OK; i++) {
        dm_device_buffer *from = swarm->arrays[parts[i].from], *to = swarm->arrays[parts[i].to];
        uint64_t words = parts[i].bytes / 4;
        if (from == NULL || to == NULL || words == 0)
            continue;
        if (parts[i].bytes % 4 != 0)
            return dm_fail(err, DM_EINTERNAL, "agent: a state of %llu bytes",
                           (unsigned long long)parts[i].bytes);
        dm_agent_text_matrix(&w->keep, "words", dm_device_buffer_address(from), NULL,
                             w->world.count, words);
        dm_agent_text_vector(&w->keep, "numbers", w->at[KEEP_IN], NULL, w->world.count);
        dm_agent_text_matrix(&w->keep, "snapshots", dm_device_buffer_address(to), NULL,
                             swarm->snapshot_count, words);
        status = dm_agent_text_launch(&w->keep, DM_KERNEL_FORWARD, w->world.count, words, err);
    }
    return status;
}

/* All snapshots hold a state of the game, so that the swarm knows whose they are. */
static dm_status fill_snapshots(swarm_world *w, dm_error *err)
{
    dm_status status = DM_OK;
    uint64_t count = has_curriculum(w) && w->cuda ? 2 * w->world.count + w->archive_room : 0;
    for (uint64_t i = 0; i < count && status == DM_OK; i++)
        status = dm_swarm_snapshot(w->swarm, 0, first_own(w) + (uint32_t)i, err);
    return status;
}

/* Machines that were due are kept, then those of ended episodes go to the archive. */
static dm_status keep(swarm_world *w, dm_error *err)
{
    dm_status status = w->cuda ? keep_on_cuda(w, err) : DM_OK;
    const int32_t *numbers = w->at[KEEP_IN];
    for (uint64_t n = 0; n < w->world.count && !w->cuda && status == DM_OK; n++)
        if (numbers[n] >= 0)
            status = dm_swarm_snapshot(w->swarm, (uint32_t)n, (uint32_t)numbers[n], err);
    return status == DM_OK ? dm_agent_text_launch(&w->archive, DM_KERNEL_FORWARD, 1, 0, err)
                           : status;
}

/* ---- A step ---- */

static dm_status step(dm_agent_world *world, const int32_t *actions, void *observations,
                      float *rewards, float *scores, uint8_t *flags, dm_error *err)
{
    swarm_world *w = world->user;
    uint64_t N = world->count;
    dm_status status = w->next == w->prepared ? prepare(world, 1, err) : DM_OK;
    if (status == DM_OK)
        status = begin(w, actions, err);
    w->next++;
    if (status == DM_OK)
        status = dm_swarm_step(w->swarm, w->at[KEYS], err);
    if (status == DM_OK)
        status = begin_masked(w, err);
    dm_agent_text_vector(&w->after, "rewards", rewards, NULL, N);
    dm_agent_text_vector(&w->after, "scores", scores, NULL, N);
    dm_agent_text_vector(&w->after, "flags", flags, NULL, N);
    if (status == DM_OK)
        status = dm_agent_text_launch(&w->after, DM_KERNEL_FORWARD, N, 0, err);
    if (status == DM_OK && has_curriculum(w))
        status = keep(w, err);
    if (status == DM_OK)
        status = observe(w, observations, err);
    const dm_agent_lives_step done = {.swarm = w->swarm,
                                      .stream = w->stream,
                                      .number = w->step - w->prepared + w->next,
                                      .keys = w->at[KEYS],
                                      .flags = flags,
                                      .practice = w->at[PRACTICE],
                                      .rewards = rewards};
    return status == DM_OK && w->lives ? dm_agent_lives_add(w->lives, &done, err) : status;
}

/* ---- Checkpoints: the swarm's file with ours behind its name ---- */

static dm_status own_path(char out[DM_PATH_MAX], const char *path, dm_error *err)
{
    int length = snprintf(out, DM_PATH_MAX, "%s.starts", path);
    return length < DM_PATH_MAX ? DM_OK : dm_fail(err, DM_EINVAL, "agent: path too long");
}

static uint64_t own_bytes(const swarm_world *w)
{
    uint64_t bytes = sizeof w->step;
    for (int i = FIRST_SAVED; i < ARRAYS; i++)
        bytes += array_bytes(w, i);
    return bytes;
}

static dm_status save(dm_agent_world *world, const char *path, dm_error *err)
{
    swarm_world *w = world->user;
    char own[DM_PATH_MAX], *bytes = malloc(own_bytes(w));
    uint64_t at = sizeof w->step;
    dm_status status =
        bytes ? own_path(own, path, err) : dm_fail(err, DM_ENOMEM, "agent: no memory");
    if (status == DM_OK)
        memcpy(bytes, &w->step, sizeof w->step);
    for (int i = FIRST_SAVED; i < ARRAYS && status == DM_OK; i++) {
        status =
            dm_stream_download(w->stream, w->buffers[i], 0, bytes + at, array_bytes(w, i), err);
        at += array_bytes(w, i);
    }
    if (status == DM_OK)
        status = dm_stream_synchronize(w->stream, err);
    if (status == DM_OK)
        status = dm_swarm_save(w->swarm, path, err);
    if (status == DM_OK)
        status = dm_file_write(own, bytes, at, err);
    free(bytes);
    return status;
}

static dm_status load(dm_agent_world *world, const char *path, dm_error *err)
{
    swarm_world *w = world->user;
    char own[DM_PATH_MAX], *bytes = NULL;
    size_t size = 0;
    uint64_t at = sizeof w->step;
    dm_status status = own_path(own, path, err);
    if (status == DM_OK)
        status = dm_file_read(own, 0, &bytes, &size, err);
    if (status == DM_OK && size != own_bytes(w))
        status = dm_fail(err, DM_EFORMAT, "%s: starts of another run", own);
    if (status == DM_OK)
        status = dm_swarm_load(w->swarm, path, err);
    if (status == DM_OK)
        memcpy(&w->step, bytes, sizeof w->step);
    for (int i = FIRST_SAVED; i < ARRAYS && status == DM_OK; i++) {
        status = upload(w, i, bytes + at, err);
        at += array_bytes(w, i);
    }
    free(bytes);
    if (w->lives)
        dm_agent_lives_forget(w->lives);
    return status;
}

/* ---- The world ---- */

/* Each machine of a curriculum keeps two states beside its own: how many would fit with these? */
static dm_status tell_how_many_fit(const swarm_world *w, dm_swarm_desc desc, dm_error *err)
{
    dm_swarm_info one[2];
    uint64_t left = 0;
    dm_status status = dm_device_memory_free(w->device, &left, NULL);
    desc.count = 1;
    for (uint32_t i = 0; i < 2 && status == DM_OK; i++) {
        dm_swarm *swarm = NULL;
        desc.snapshots = i;
        status = dm_swarm_create(w->device, &desc, &swarm, NULL);
        if (status == DM_OK)
            one[i] = dm_swarm_get_info(swarm);
        dm_swarm_destroy(swarm);
    }
    if (status != DM_OK) /* what the swarm said stays */
        return DM_ENOMEM;
    uint64_t state = one[1].bytes_shared - one[0].bytes_shared;
    uint64_t each = one[0].bytes_per_machine + 2 * state;
    uint64_t rest = one[0].bytes_shared + (w->desc.starts + w->archive_room) * state;
    return dm_fail(err, DM_ENOMEM,
                   "agent: %llu machines do not fit: each takes %llu bytes, with the two states "
                   "that it keeps for the curriculum, and %llu are free, enough for %llu",
                   (unsigned long long)w->desc.machines, (unsigned long long)each,
                   (unsigned long long)left,
                   (unsigned long long)(left > rest ? (left - rest) / each : 0));
}

static dm_status create(swarm_world *w, dm_agent_game *game, dm_error *err)
{
    const dm_agent_config *c = &w->config;
    bool packed = c->obs == DM_AGENT_PACKED;
    w->programmed = game->program != NULL;
    w->metric = -1;
    for (size_t i = 0; w->programmed && i < dm_program_get_info(game->program).metric_count; i++)
        if (strcmp(dm_program_get_info(game->program).metrics[i], "score") == 0)
            w->metric = (int)i;
    w->seen = w->programmed ? dm_program_get_info(game->program).observation_size
                            : (uint32_t)c->observation;
    w->width = w->programmed ? w->seen : w->seen + TAIL;
    if (w->seen == 0 && !packed)
        return dm_fail(err, DM_EINVAL,
                       w->programmed
                           ? "agent: the reward program observes nothing (out.obs); or obs=packed"
                           : "agent: observation is 0; it is how many floats of the reward text's "
                             "observation the policy sees");
    memcpy(w->action_keys, game->keys, sizeof w->action_keys);
    w->archive_room = has_curriculum(w) ? (uint32_t)c->archive : 0;
    w->world = (dm_agent_world){.user = w,
                                .count = w->desc.machines,
                                .actions = game->actions,
                                .packed = packed,
                                .observation = {w->seen},
                                .has_scores = !w->programmed || w->metric >= 0,
                                .reset = reset,
                                .step = step,
                                .prepare = prepare,
                                .save = save,
                                .load = load,
                                .destroy = destroy};
    if (packed)
        memcpy(w->world.observation, (uint32_t[]){(uint32_t)c->stack, 72, 80},
               sizeof w->world.observation);
    dm_swarm_rom_source rom = {.path = NULL, .bytes = game->rom, .size = game->rom_size};
    uint64_t own = has_curriculum(w) ? 2 * w->desc.machines + w->archive_room : 0;
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = w->desc.machines,
                          .frames_per_step = (uint32_t)c->frames,
                          .release_after_frames =
                              (uint32_t)(c->release > 0 ? c->release : c->frames),
                          .stage = DM_SWARM_FULL_STEP,
                          .codec = DM_SWARM_RAW_KEYS,
                          .autoreset = DM_SWARM_DISABLED,
                          .observations = (w->width > 0 ? DM_SWARM_OBS_VECTOR : 0) |
                                          (w->desc.pictures ? DM_SWARM_OBS_SHADES : 0) |
                                          (packed ? DM_SWARM_OBS_PACKED : 0),
                          .frame_stack = packed ? (uint32_t)c->stack : 1,
                          .snapshots = (uint32_t)(w->desc.starts + own),
                          .epilog = w->programmed ? NULL : game->reward,
                          .program = game->program,
                          .observation_size = w->width};
    dm_status status = dm_swarm_create(w->device, &desc, &w->swarm, err);
    if (status == DM_ENOMEM && own > 0)
        return tell_how_many_fit(w, desc, err);
    if (status == DM_OK)
        status = take_memory(w, game, err);
    if (status == DM_OK)
        status = open_texts(w, err);
    if (has_curriculum(w) && w->config.stir > 0)
        w->world.forced = w->at[FORCED];
    if (status == DM_OK)
        status = load_starts(w, game, err);
    return status == DM_OK ? fill_snapshots(w, err) : status;
}

dm_status dm_agent_swarm_create(dm_device *device, const dm_agent_config *config,
                                dm_agent_game *game, const dm_agent_swarm_desc *desc,
                                dm_agent_world **out, dm_error *err)
{
    swarm_world *w = calloc(1, sizeof *w);
    if (!w)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    w->world.user = w;
    w->config = *config;
    w->desc = *desc;
    w->device = device;
    w->stream = dm_device_stream(device);
    w->cuda = dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    w->world.count = desc->machines;
    dm_status status = create(w, game, err);
    if (status != DM_OK) {
        destroy(&w->world);
        return status;
    }
    *out = &w->world;
    return DM_OK;
}

dm_swarm *dm_agent_swarm_of(dm_agent_world *world)
{
    return ((swarm_world *)world->user)->swarm;
}

dm_status dm_agent_swarm_keep_lives(dm_agent_world *world, dm_agent_lives *lives, bool begun,
                                    dm_error *err)
{
    swarm_world *w = world->user;
    const dm_agent_lives_step first = {.swarm = w->swarm, .number = w->step};
    w->lives = lives;
    world->watched = lives != NULL;
    return lives && begun ? dm_agent_lives_begin(lives, &first, err) : DM_OK;
}

/* ---- Do the starts differ? ---- */

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* Machines 0 .. count - 1 play starts first .. from which all get the same keys. */
static dm_status play_starts(swarm_world *w, uint64_t first, uint64_t count, uint32_t steps,
                             uint8_t *keys, uint8_t *seen, uint64_t *hashes, dm_error *err)
{
    uint64_t N = w->world.count;
    dm_swarm_output_kind kind = w->world.packed ? DM_SWARM_PACKEDS : DM_SWARM_VECTORS;
    size_t row = dm_swarm_output_size(w->swarm, kind);
    size_t of_row = w->world.packed ? row : w->seen * sizeof(float);
    uint32_t *machines = calloc(2 * N, sizeof *machines);
    if (!machines)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t n = 0; n < N; n++) {
        machines[n] = (uint32_t)n;
        machines[N + n] = (uint32_t)(1 + first + (n < count ? n : 0));
    }
    dm_status status = dm_swarm_reset_host(w->swarm, machines, machines + N, N, err);
    for (uint32_t s = 0; s < steps && status == DM_OK; s++) {
        uint32_t action = dm_random_below(dm_random4(1, 2, s / 4).v[0], w->world.actions);
        memset(keys, w->action_keys[action], N);
        status = dm_swarm_step_host(w->swarm, keys, N, err);
        if (status == DM_OK)
            status = dm_swarm_download(w->swarm, kind, seen, N * row, err);
        for (uint64_t n = 0; n < count && status == DM_OK; n++)
            hashes[first + n] = hash_bytes(hashes[first + n], seen + n * row, of_row);
    }
    free(machines);
    return status;
}

dm_status dm_agent_swarm_count_starts(dm_agent_world *world, uint32_t steps, uint64_t *different,
                                      dm_error *err)
{
    swarm_world *w = world->user;
    size_t row =
        dm_swarm_output_size(w->swarm, w->world.packed ? DM_SWARM_PACKEDS : DM_SWARM_VECTORS);
    uint64_t *hashes = calloc(w->desc.starts, sizeof *hashes);
    uint8_t *keys = malloc(world->count), *seen = malloc(world->count * row);
    dm_status status = hashes && keys && seen ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < w->desc.starts && status == DM_OK; i += world->count) {
        uint64_t some = w->desc.starts - i < world->count ? w->desc.starts - i : world->count;
        status = play_starts(w, i, some, steps, keys, seen, hashes, err);
    }
    if (status == DM_OK) {
        qsort(hashes, w->desc.starts, sizeof *hashes, compare_hashes);
        *different = 1;
        for (uint64_t i = 1; i < w->desc.starts; i++)
            *different += hashes[i] != hashes[i - 1];
    }
    free(hashes);
    free(keys);
    free(seen);
    return status;
}
