/* SPDX-License-Identifier: MIT */
/* world_swarm.c - see world_swarm.h. */
#include "agent/world_swarm.h"

#include "base/file.h"
#include "base/philox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reward text's observation: the policy's numbers, then the game's score, then what the reward
 * is the change of. */
enum { TAIL = 2 };

typedef struct machine {
    uint32_t snapshots[2]; /* its own; the older first */
    uint32_t kept;         /* how many of them hold a state of this episode */
    uint32_t age;          /* steps of the episode */
    float potential;
    uint8_t over, practice;
} machine;

/* All that a checkpoint needs besides the swarm's own file. */
typedef struct progress {
    uint64_t step, archived; /* steps of the world; states that ever went to the archive */
} progress;

typedef struct swarm_world {
    dm_agent_world world;
    dm_agent_config config;
    dm_agent_swarm_desc desc;
    dm_swarm *swarm;
    uint32_t width; /* floats of the swarm's observation */
    uint8_t keys_of[DM_AGENT_ACTIONS_MAX];
    uint32_t archive_room;
    uint32_t *archive; /* snapshot numbers */
    machine *machines;
    progress progress;
    uint8_t *keys, *mask;
    uint32_t *numbers;
    float *vectors;
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
    uint8_t *states = calloc(at_a_time, room);
    dm_status status = states ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory for starts");
    for (uint64_t first = 0; first < w->desc.starts && status == DM_OK; first += at_a_time) {
        uint64_t some = w->desc.starts - first < at_a_time ? w->desc.starts - first : at_a_time;
        for (uint64_t i = 0; i < some && status == DM_OK; i++) {
            w->numbers[i] = (uint32_t)i;
            status = dm_agent_game_start(game, w->config.seed, w->desc.held_out,
                                         w->desc.first + first + i, states + i * room, err);
        }
        if (status == DM_OK)
            status = dm_swarm_load_states(w->swarm, w->numbers, some, states, some * room, err);
        for (uint64_t i = 0; i < some && status == DM_OK; i++)
            status = dm_swarm_snapshot(w->swarm, (uint32_t)i, (uint32_t)(1 + first + i), err);
    }
    free(states);
    return status;
}

static dm_status take_memory(swarm_world *w, dm_error *err)
{
    uint64_t N = w->world.count;
    w->machines = calloc(N, sizeof *w->machines);
    w->keys = calloc(N, 1);
    w->mask = calloc(N, 1);
    w->numbers = calloc(N > 64 ? N : 64, sizeof *w->numbers);
    w->vectors = calloc(N * w->width, sizeof *w->vectors);
    w->archive = calloc(w->archive_room + 1u, sizeof *w->archive);
    if (!w->machines || !w->keys || !w->mask || !w->numbers || !w->vectors || !w->archive)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t n = 0; n < N; n++)
        for (uint32_t i = 0; i < 2; i++)
            w->machines[n].snapshots[i] = first_own(w) + (uint32_t)(2 * n + i);
    for (uint32_t i = 0; i < w->archive_room; i++)
        w->archive[i] = first_own(w) + (uint32_t)(2 * N + i);
    return DM_OK;
}

static void destroy(dm_agent_world *world)
{
    swarm_world *w = world->user;
    dm_swarm_destroy(w->swarm);
    free(w->machines);
    free(w->keys);
    free(w->mask);
    free(w->numbers);
    free(w->vectors);
    free(w->archive);
    free(w);
}

/* ---- Starting ---- */

enum { STREAM_STARTS = (1 << 20) + 16 };

/* Where machine n's next episode begins. */
static uint32_t choose_start(swarm_world *w, uint64_t n)
{
    machine *m = &w->machines[n];
    m->practice = 0;
    if (w->desc.held_out)
        return (uint32_t)(1 + n % w->desc.starts);
    dm_philox4 r = dm_random4(w->config.seed, STREAM_STARTS + n, w->progress.step);
    uint64_t have = w->progress.archived < w->archive_room ? w->progress.archived : w->archive_room;
    if (have > 0 && (double)dm_random_unit(r.v[0]) < w->config.curriculum) {
        m->practice = 1;
        return w->archive[dm_random_below(r.v[1], (uint32_t)have)];
    }
    return 1 + dm_random_below(r.v[2], (uint32_t)w->desc.starts);
}

/* Machines whose mask is set begin an episode, and are marked as they do. */
static dm_status begin_masked(swarm_world *w, dm_error *err)
{
    for (uint64_t n = 0; n < w->world.count; n++)
        if (w->mask[n]) {
            w->numbers[n] = choose_start(w, n);
            w->machines[n].kept = w->machines[n].age = w->machines[n].over = 0;
        }
    return dm_swarm_reset(w->swarm, w->mask, w->numbers, err);
}

static dm_status look(swarm_world *w, dm_error *err)
{
    return dm_swarm_download(w->swarm, DM_SWARM_VECTORS, w->vectors,
                             w->world.count * w->width * sizeof(float), err);
}

static void observe(const swarm_world *w, float *observations)
{
    size_t C = w->width - TAIL;
    for (uint64_t n = 0; n < w->world.count; n++)
        memcpy(observations + n * C, w->vectors + n * w->width, C * sizeof(float));
}

static dm_status reset(dm_agent_world *world, float *observations, dm_error *err)
{
    swarm_world *w = world->user;
    memset(w->mask, 1, w->world.count);
    dm_status status = begin_masked(w, err);
    if (status == DM_OK)
        status = look(w, err);
    for (uint64_t n = 0; n < w->world.count; n++)
        w->machines[n].potential = w->vectors[n * w->width + w->width - 1];
    observe(w, observations);
    return status;
}

/* ---- The archive ---- */

static dm_status keep(swarm_world *w, uint64_t n, dm_error *err)
{
    machine *m = &w->machines[n];
    if (m->kept == 2) { /* the older one is overwritten, and becomes the newer */
        uint32_t older = m->snapshots[0];
        m->snapshots[0] = m->snapshots[1];
        m->snapshots[1] = older;
    } else {
        m->kept++;
    }
    return dm_swarm_snapshot(w->swarm, (uint32_t)n, m->snapshots[m->kept - 1], err);
}

static void archive(swarm_world *w, uint64_t n)
{
    machine *m = &w->machines[n];
    if (m->kept < 2)
        return;
    uint32_t *slot = &w->archive[w->progress.archived++ % w->archive_room];
    uint32_t oldest = *slot;
    *slot = m->snapshots[0];
    m->snapshots[0] = oldest;
    m->kept = 0;
}

/* ---- A step ---- */

static dm_status after_step(swarm_world *w, uint64_t n, float *reward, float *score, uint8_t *flag,
                            bool terminated, dm_error *err)
{
    machine *m = &w->machines[n];
    const float *tail = w->vectors + n * w->width + w->width - TAIL;
    float before = m->potential;
    m->potential = tail[1];
    *score = tail[0];
    if (w->mask[n]) {
        *reward = 0;
        *flag = (uint8_t)(DM_AGENT_BEGINS | (m->practice ? DM_AGENT_PRACTICE : 0));
        return DM_OK;
    }
    uint64_t limit = m->practice ? w->config.practice : w->config.limit;
    *reward = tail[1] - before;
    *flag = terminated ? DM_AGENT_TERMINATED : 0;
    m->age++;
    if (*flag == 0 && limit > 0 && m->age >= limit)
        *flag = DM_AGENT_TRUNCATED;
    m->over = *flag != 0;
    if (!has_curriculum(w))
        return DM_OK;
    if (terminated)
        archive(w, n);
    return !m->over && m->age % w->config.before == 0 ? keep(w, n, err) : DM_OK;
}

static dm_status step(dm_agent_world *world, const int32_t *actions, float *observations,
                      float *rewards, float *scores, uint8_t *flags, dm_error *err)
{
    swarm_world *w = world->user;
    const uint8_t *over = NULL;
    bool some = false;
    for (uint64_t n = 0; n < world->count; n++) {
        w->keys[n] = w->keys_of[actions[n]];
        w->mask[n] = w->machines[n].over;
        some = some || w->mask[n];
    }
    w->progress.step++;
    dm_status status = dm_swarm_step(w->swarm, w->keys, err);
    if (status == DM_OK)
        over = dm_device_buffer_address(dm_swarm_output(w->swarm, DM_SWARM_TERMINATED));
    if (status == DM_OK && some && !w->desc.held_out)
        status = begin_masked(w, err);
    if (status == DM_OK)
        status = look(w, err);
    for (uint64_t n = 0; n < world->count && status == DM_OK; n++)
        status = after_step(w, n, &rewards[n], &scores[n], &flags[n], over[n] != 0, err);
    if (status == DM_OK)
        observe(w, observations);
    return status;
}

/* ---- Checkpoints: the swarm's file with ours behind its name ---- */

static dm_status own_path(char out[DM_PATH_MAX], const char *path, dm_error *err)
{
    int length = snprintf(out, DM_PATH_MAX, "%s.starts", path);
    return length < DM_PATH_MAX ? DM_OK : dm_fail(err, DM_EINVAL, "agent: path too long");
}

static dm_status save(dm_agent_world *world, const char *path, dm_error *err)
{
    swarm_world *w = world->user;
    char own[DM_PATH_MAX];
    dm_buffer bytes = DM_BUFFER_EMPTY;
    dm_buffer_append(&bytes, &w->progress, sizeof w->progress);
    dm_buffer_append(&bytes, w->machines, w->world.count * sizeof *w->machines);
    dm_buffer_append(&bytes, w->archive, w->archive_room * sizeof *w->archive);
    dm_status status = own_path(own, path, err);
    if (status == DM_OK)
        status = dm_buffer_check(&bytes, err);
    if (status == DM_OK)
        status = dm_swarm_save(w->swarm, path, err);
    if (status == DM_OK)
        status = dm_file_write(own, bytes.data, bytes.size, err);
    dm_buffer_deinit(&bytes);
    return status;
}

static dm_status load(dm_agent_world *world, const char *path, dm_error *err)
{
    swarm_world *w = world->user;
    char own[DM_PATH_MAX], *bytes = NULL;
    size_t size = 0, machines = w->world.count * sizeof *w->machines;
    size_t numbers = w->archive_room * sizeof *w->archive;
    dm_status status = own_path(own, path, err);
    if (status == DM_OK)
        status = dm_file_read(own, 0, &bytes, &size, err);
    if (status == DM_OK && size != sizeof w->progress + machines + numbers)
        status = dm_fail(err, DM_EFORMAT, "%s: starts of another run", own);
    if (status == DM_OK)
        status = dm_swarm_load(w->swarm, path, err);
    if (status == DM_OK) {
        memcpy(&w->progress, bytes, sizeof w->progress);
        memcpy(w->machines, bytes + sizeof w->progress, machines);
        memcpy(w->archive, bytes + sizeof w->progress + machines, numbers);
    }
    free(bytes);
    return status;
}

/* ---- The world ---- */

static dm_status create(dm_device *device, swarm_world *w, dm_agent_game *game, dm_error *err)
{
    const dm_agent_config *c = &w->config;
    if (dm_device_get_properties(device)->kind != DM_DEVICE_CPU)
        return dm_fail(err, DM_EUNSUPPORTED, "agent: games on CUDA are not there yet");
    if (c->observation == 0)
        return dm_fail(err, DM_EINVAL,
                       "agent: observation is 0; it is how many floats of the "
                       "reward text's observation the policy sees");
    w->width = (uint32_t)c->observation + TAIL;
    w->archive_room = has_curriculum(w) ? (uint32_t)c->archive : 0;
    memcpy(w->keys_of, game->keys, sizeof w->keys_of);
    w->world = (dm_agent_world){.user = w,
                                .count = w->desc.machines,
                                .actions = game->actions,
                                .observation = {(uint32_t)c->observation},
                                .has_scores = true,
                                .reset = reset,
                                .step = step,
                                .save = save,
                                .load = load,
                                .destroy = destroy};
    dm_swarm_rom_source rom = {.path = NULL, .bytes = game->rom, .size = game->rom_size};
    uint64_t own = has_curriculum(w) ? 2 * w->desc.machines + w->archive_room : 0;
    dm_swarm_desc desc = {
        .roms = &rom,
        .rom_count = 1,
        .count = w->desc.machines,
        .frames_per_step = (uint32_t)c->frames,
        .release_after_frames = (uint32_t)(c->release > 0 ? c->release : c->frames),
        .stage = DM_SWARM_FULL_STEP,
        .codec = DM_SWARM_RAW_KEYS,
        .autoreset = DM_SWARM_DISABLED,
        .observations = DM_SWARM_OBS_VECTOR | (w->desc.pictures ? DM_SWARM_OBS_SHADES : 0),
        .snapshots = (uint32_t)(w->desc.starts + own),
        .epilog = game->reward,
        .observation_size = w->width};
    dm_status status = dm_swarm_create(device, &desc, &w->swarm, err);
    if (status == DM_OK)
        status = take_memory(w, err);
    return status == DM_OK ? load_starts(w, game, err) : status;
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
    dm_status status = create(device, w, game, err);
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

/* ---- Do the starts differ? ---- */

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static dm_status play_starts(swarm_world *w, uint64_t first, uint64_t count, uint32_t steps,
                             uint64_t *hashes, dm_error *err)
{
    uint64_t N = w->world.count, C = w->width - TAIL;
    memset(w->mask, 1, N);
    for (uint64_t n = 0; n < N; n++)
        w->numbers[n] = (uint32_t)(1 + first + (n < count ? n : 0));
    dm_status status = dm_swarm_reset(w->swarm, w->mask, w->numbers, err);
    for (uint32_t s = 0; s < steps && status == DM_OK; s++) {
        uint32_t action = dm_random_below(dm_random4(1, 2, s / 4).v[0], w->world.actions);
        memset(w->keys, w->keys_of[action], N);
        status = dm_swarm_step(w->swarm, w->keys, err);
        if (status == DM_OK)
            status = look(w, err);
        for (uint64_t n = 0; n < count; n++) {
            const float *seen = w->vectors + n * w->width;
            for (uint64_t c = 0; c < C; c++) {
                uint32_t bits;
                memcpy(&bits, &seen[c], sizeof bits);
                hashes[first + n] = (hashes[first + n] ^ bits) * UINT64_C(0x100000001B3);
            }
        }
    }
    return status;
}

dm_status dm_agent_swarm_count_starts(dm_agent_world *world, uint32_t steps, uint64_t *different,
                                      dm_error *err)
{
    swarm_world *w = world->user;
    uint64_t *hashes = calloc(w->desc.starts, sizeof *hashes);
    dm_status status = hashes ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < w->desc.starts && status == DM_OK; i += world->count) {
        uint64_t some = w->desc.starts - i < world->count ? w->desc.starts - i : world->count;
        status = play_starts(w, i, some, steps, hashes, err);
    }
    if (status == DM_OK) {
        qsort(hashes, w->desc.starts, sizeof *hashes, compare_hashes);
        *different = 1;
        for (uint64_t i = 1; i < w->desc.starts; i++)
            *different += hashes[i] != hashes[i - 1];
    }
    free(hashes);
    return status;
}
