/* SPDX-License-Identifier: MIT */
/* run.c - see run.h. */
#include "agent/run.h"

#include "agent/checkpoint.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "gb/host/picture.h"
#include "train/tensorboard.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT "checkpoint.safetensors"

struct dm_agent_run {
    dm_device *device;
    dm_agent_config config;
    dm_agent_game game;
    dm_agent_world *world;
    dm_agent_learner *learner;
    dm_metrics *metrics;
    dm_tensorboard *board; /* opened by the first figures */
    char folder[DM_PATH_MAX], *config_text;
    uint64_t saved; /* the update whose world file lies there; UINT64_MAX: none */
    const char *device_name;
    dm_agent_lives *lives; /* of the training's machines */
    uint32_t *kept;        /* whose episodes are wanted */
    size_t kept_count;
    uint64_t lives_written;
};

/* ---- The folder ---- */

static dm_status path_in(const dm_agent_run *run, const char *name, char out[DM_PATH_MAX],
                         dm_error *err)
{
    return dm_path_join(out, run->folder, name, err);
}

static dm_status world_path(const dm_agent_run *run, uint64_t update, char out[DM_PATH_MAX],
                            dm_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "world-%" PRIu64 ".swarm", update);
    return path_in(run, name, out, err);
}

static dm_status config_text(dm_agent_run *run, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_agent_config_write(&run->config, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    run->config_text = status == DM_OK ? dm_buffer_take(&text) : NULL;
    dm_buffer_deinit(&text);
    return status;
}

static const char *reward_name(const dm_agent_run *run)
{
    return dm_agent_is_program(run->config.reward) ? "reward.py" : "reward.c";
}

/* The configuration and the reward's text, which the run takes from there from now on. */
static dm_status write_folder(dm_agent_run *run, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_dir_create(run->folder, err);
    if (status == DM_OK)
        status = path_in(run, reward_name(run), path, err);
    if (status == DM_OK)
        status = dm_file_write(path, run->game.reward, run->game.reward_size, err);
    if (status == DM_OK)
        status = path_in(run, "config.json", path, err);
    if (status == DM_OK)
        status = dm_file_write(path, run->config_text, strlen(run->config_text), err);
    return status;
}

/* ---- Opening ---- */

/* `reward`: NULL, or where the folder has its text. */
static dm_status open_game(dm_agent_run *run, const char *device, const char *reward, dm_error *err)
{
    if (run->config.rom[0] == 0)
        return dm_fail(err, DM_EINVAL, "agent: which game? --rom names a ROM");
    if (run->config.reward[0] == 0)
        return dm_fail(err, DM_EINVAL,
                       "agent: what is good play? --reward names a file that says so "
                       "(docs/agent.md)");
    run->device_name = device;
    dm_status status = dm_device_open(device, &run->device, err);
    if (status == DM_OK)
        status = dm_agent_game_open(&run->config, reward, &run->game, err);
    return status;
}

static dm_status open_learner(dm_agent_run *run, dm_error *err)
{
    dm_agent_swarm_desc desc = {.machines = run->config.machines, .starts = run->config.starts};
    dm_status status =
        dm_agent_swarm_create(run->device, &run->config, &run->game, &desc, &run->world, err);
    return status == DM_OK
               ? dm_agent_learner_create(run->device, run->world, &run->config, &run->learner, err)
               : status;
}

static dm_status make_run(const char *folder, dm_agent_run **out, dm_error *err)
{
    dm_agent_run *run = calloc(1, sizeof *run);
    if (!run)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    run->saved = UINT64_MAX;
    if (snprintf(run->folder, sizeof run->folder, "%s", folder) >= (int)sizeof run->folder) {
        free(run);
        return dm_fail(err, DM_EINVAL, "agent: path too long");
    }
    *out = run;
    return DM_OK;
}

static dm_status open_metrics(dm_agent_run *run, uint64_t keep, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = path_in(run, "metrics.jsonl", path, err);
    return status == DM_OK ? dm_metrics_open(path, keep, &run->metrics, err) : status;
}

dm_status dm_agent_run_begin(const char *device, const dm_agent_config *config, const char *folder,
                             dm_agent_run **out, dm_error *err)
{
    dm_agent_run *run = NULL;
    char path[DM_PATH_MAX];
    dm_status status = make_run(folder, &run, err);
    if (status != DM_OK)
        return status;
    run->config = *config;
    status = path_in(run, CHECKPOINT, path, err);
    if (status == DM_OK && dm_file_exists(path))
        status = dm_fail(err, DM_EINVAL, "%s: has a run already; --resume goes on with it", folder);
    if (status == DM_OK)
        status = open_game(run, device, NULL, err);
    memcpy(run->config.rom_sha256, run->game.rom_sha256, sizeof run->game.rom_sha256);
    if (status == DM_OK)
        status = config_text(run, err);
    if (status == DM_OK)
        status = open_learner(run, err);
    if (status == DM_OK) /* once all that may be wrong has been seen */
        status = write_folder(run, err);
    if (status == DM_OK)
        status = open_metrics(run, 0, err);
    if (status != DM_OK) {
        dm_agent_run_close(run);
        return status;
    }
    *out = run;
    return DM_OK;
}

static dm_status load(dm_agent_run *run, bool world, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = path_in(run, CHECKPOINT, path, err);
    if (status != DM_OK || !dm_file_exists(path))
        return status;
    status = dm_agent_checkpoint_load(run->learner, path, err);
    if (status != DM_OK || !world)
        return status;
    run->saved = dm_agent_learner_updates(run->learner);
    status = world_path(run, run->saved, path, err);
    return status == DM_OK ? run->world->load(run->world, path, err) : status;
}

static dm_status go_on(const char *device, const char *folder, bool trains, dm_agent_run **out,
                       dm_error *err)
{
    dm_agent_run *run = NULL;
    char path[DM_PATH_MAX];
    dm_status status = make_run(folder, &run, err);
    if (status != DM_OK)
        return status;
    run->config = dm_agent_config_default;
    status = path_in(run, "config.json", path, err);
    if (status == DM_OK && !dm_file_exists(path))
        status = dm_fail(err, DM_ENOENT, "%s: no run of train agent lies there", folder);
    if (status == DM_OK)
        status = dm_agent_config_file(&run->config, path, err);
    if (status == DM_OK)
        status = config_text(run, err);
    if (status == DM_OK)
        status = path_in(run, reward_name(run), path, err);
    if (status == DM_OK)
        status = open_game(run, device, path, err);
    if (status == DM_OK)
        status = open_learner(run, err);
    if (status == DM_OK)
        status = load(run, trains, err);
    if (status == DM_OK && trains)
        status = open_metrics(run, dm_agent_learner_updates(run->learner), err);
    if (status != DM_OK) {
        dm_agent_run_close(run);
        return status;
    }
    *out = run;
    return DM_OK;
}

dm_status dm_agent_run_resume(const char *device, const char *folder, dm_agent_run **out,
                              dm_error *err)
{
    return go_on(device, folder, true, out, err);
}

dm_status dm_agent_run_open(const char *device, const char *folder, dm_agent_run **out,
                            dm_error *err)
{
    return go_on(device, folder, false, out, err);
}

void dm_agent_run_close(dm_agent_run *run)
{
    if (!run)
        return;
    dm_metrics_close(run->metrics);
    dm_tensorboard_close(run->board);
    dm_agent_learner_destroy(run->learner);
    if (run->world)
        run->world->destroy(run->world);
    dm_agent_lives_destroy(run->lives);
    free(run->kept);
    dm_agent_game_close(&run->game);
    dm_device_close(run->device);
    free(run->config_text);
    free(run);
}

const dm_agent_config *dm_agent_run_config(const dm_agent_run *run)
{
    return &run->config;
}

dm_agent_learner *dm_agent_run_learner(dm_agent_run *run)
{
    return run->learner;
}

/* ---- Lives ---- */

dm_status dm_agent_run_keep(dm_agent_run *run, const uint32_t *machines, size_t count,
                            dm_error *err)
{
    free(run->kept);
    run->kept = calloc(count + 1, sizeof *run->kept);
    if (!run->kept)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (size_t i = 0; i < count; i++)
        run->kept[i] = machines[i];
    run->kept_count = count;
    return DM_OK;
}

uint64_t dm_agent_run_lives(const dm_agent_run *run)
{
    return run->lives_written + (run->lives ? dm_agent_lives_written(run->lives) : 0);
}

/* Start keeping the chosen machines' episodes of a world; NULL: none are chosen. `begun`: all have just begun. */
static dm_status keep_lives(dm_agent_run *run, dm_agent_world *world, bool measured, bool begun,
                            dm_agent_lives **out, dm_error *err)
{
    char folder[DM_PATH_MAX];
    dm_agent_lives_desc desc = {.folder = folder,
                                .name = measured ? "held-out" : "machine",
                                .once = measured,
                                .device = run->device_name,
                                .config = &run->config,
                                .game = &run->game,
                                .machines = run->kept,
                                .count = run->kept_count};
    if (run->kept_count == 0)
        return DM_OK;
    for (size_t i = 0; i < run->kept_count; i++)
        if (run->kept[i] >= world->count)
            return dm_fail(err, DM_EINVAL, "agent: machine %" PRIu32 " is to be kept, of %" PRIu64,
                           run->kept[i], world->count);
    dm_status status = path_in(run, "lives", folder, err);
    if (status == DM_OK)
        status = dm_agent_lives_create(&desc, out, err);
    return status == DM_OK ? dm_agent_swarm_keep_lives(world, *out, begun, err) : status;
}

/* ---- Training ---- */

static void remove_world(const dm_agent_run *run, uint64_t update)
{
    char path[DM_PATH_MAX], starts[DM_PATH_MAX + 16];
    if (world_path(run, update, path, NULL) != DM_OK)
        return;
    snprintf(starts, sizeof starts, "%s.starts", path);
    (void)remove(path);
    (void)remove(starts);
}

static dm_status save(dm_agent_run *run, dm_error *err)
{
    char path[DM_PATH_MAX];
    uint64_t now = dm_agent_learner_updates(run->learner);
    if (now == run->saved)
        return DM_OK;
    dm_status status = world_path(run, now, path, err);
    if (status == DM_OK)
        status = run->world->save(run->world, path, err);
    if (status == DM_OK)
        status = path_in(run, CHECKPOINT, path, err);
    if (status == DM_OK)
        status = dm_agent_checkpoint_save(run->learner, path, run->config_text, err);
    if (status != DM_OK)
        return status;
    if (run->saved != UINT64_MAX)
        remove_world(run, run->saved);
    run->saved = now;
    return DM_OK;
}

static dm_status write_metrics(dm_agent_run *run, const dm_agent_figures *f, dm_error *err)
{
    const dm_metric metrics[] = {
        {"steps", (double)f->steps},     {"score", f->score},
        {"length", f->length},           {"episodes", (double)f->episodes},
        {"reward", f->reward},           {"loss", f->loss},
        {"policy_loss", f->policy_loss}, {"value_loss", f->value_loss},
        {"entropy", f->entropy},         {"divergence", f->divergence},
        {"clipped", f->clipped},         {"norm", f->norm},
        {"explained", f->explained},     {"rate", f->rate},
    };
    size_t count = sizeof metrics / sizeof metrics[0], some = 0;
    dm_metric shown[sizeof metrics / sizeof metrics[0]]; /* those that are numbers */
    for (size_t i = 0; i < count; i++)
        if (isfinite(metrics[i].value))
            shown[some++] = metrics[i];
    dm_status status = dm_metrics_write(run->metrics, f->updates, metrics, count, err);
    if (status == DM_OK && run->board == NULL)
        status = dm_tensorboard_open(run->folder, &run->board, err);
    return status == DM_OK ? dm_tensorboard_write(run->board, f->steps, shown, some, err) : status;
}

/* Save the machine whose reward was no number, in its state at the end of the round. */
static dm_status explain(dm_agent_run *run, dm_status status, dm_error *err)
{
    int64_t machine = dm_agent_learner_bad_machine(run->learner);
    char path[DM_PATH_MAX], said[sizeof err->message];
    if (machine < 0 || err == NULL || path_in(run, "bad-reward.state", path, NULL) != DM_OK)
        return status;
    snprintf(said, sizeof said, "%s", err->message);
    if (dm_swarm_save_machine(dm_agent_swarm_of(run->world), (uint32_t)machine, path, NULL) !=
        DM_OK)
        return status;
    return dm_fail(err, status, "%.300s; %.600s has its state after that round", said, path);
}

dm_status dm_agent_run_train(dm_agent_run *run, uint64_t until, dm_agent_watch watch, void *user,
                             dm_error *err)
{
    const dm_agent_config *c = &run->config;
    uint64_t begin = dm_time_ns(), last = begin, round = c->machines * c->horizon;
    dm_agent_news news = {0};
    dm_status status = DM_OK;
    bool on = true;
    if (run->lives == NULL)
        status = keep_lives(run, run->world, false, dm_agent_learner_updates(run->learner) == 0,
                            &run->lives, err);
    while (on && status == DM_OK && dm_agent_learner_updates(run->learner) * round < until) {
        status = dm_agent_learner_round(run->learner, &news.figures, err);
        if (status == DM_OK)
            status = write_metrics(run, &news.figures, err);
        uint64_t now = dm_time_ns();
        news.seconds = (double)(now - begin) / 1e9;
        on = status == DM_OK && (!watch || watch(user, &news));
        if (status == DM_OK && c->checkpoint_seconds > 0 &&
            (double)(now - last) / 1e9 >= c->checkpoint_seconds) {
            status = save(run, err);
            last = now;
        }
    }
    if (status == DM_OK && run->lives)
        status = dm_agent_lives_finish(run->lives, dm_agent_swarm_of(run->world), err);
    return status == DM_OK ? save(run, err) : explain(run, status, err);
}

dm_status dm_agent_run_count_starts(dm_agent_run *run, uint64_t *different, dm_error *err)
{
    dm_agent_world *world = NULL;
    dm_agent_swarm_desc desc = {.machines = run->config.starts < 1024 ? run->config.starts : 1024,
                                .starts = run->config.starts};
    dm_status status =
        dm_agent_swarm_create(run->device, &run->config, &run->game, &desc, &world, err);
    if (status == DM_OK)
        status = dm_agent_swarm_count_starts(world, 96, different, err);
    if (world)
        world->destroy(world);
    return status;
}

/* ---- Measuring ---- */

typedef struct games {
    dm_agent_world *world;
    dm_agent_lives *lives; /* NULL: none are kept */
    dm_stream *stream;
    dm_device_buffer *observations, *states, *actions, *rewards, *scores, *flags;
    float *host_scores;
    int32_t *host_actions;
    uint8_t *host_flags, *over;
    double *final;
    uint64_t count, left, steps;
    dm_agent_player player;
} games;

static void games_close(games *g)
{
    if (g->world)
        g->world->destroy(g->world);
    dm_agent_lives_destroy(g->lives);
    dm_device_buffer *const buffers[] = {g->observations, g->states, g->actions,
                                         g->rewards,      g->scores, g->flags};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        dm_device_buffer_destroy(buffers[i]);
    free(g->host_scores);
    free(g->host_actions);
    free(g->host_flags);
    free(g->over);
    free(g->final);
}

/* Observations and actions have room for whole shards. */
static dm_status games_open(dm_agent_run *run, const dm_agent_swarm_desc *what,
                            dm_agent_player player, games *g, dm_error *err)
{
    uint64_t count = what->machines;
    uint64_t rows = dm_agent_learner_rows(run->learner), room = (count + rows - 1) / rows * rows;
    *g = (games){
        .count = count, .left = count, .player = player, .stream = dm_device_stream(run->device)};
    dm_status status =
        dm_agent_swarm_create(run->device, &run->config, &run->game, what, &g->world, err);
    if (status != DM_OK)
        return status;
    const struct {
        dm_device_buffer **at;
        uint64_t bytes;
    } buffers[] = {{&g->observations, room * dm_agent_world_row_bytes(g->world)},
                   {&g->states, room * dm_agent_learner_state_bytes(run->learner) + 1},
                   {&g->actions, room * sizeof(int32_t)},
                   {&g->rewards, count * sizeof(float)},
                   {&g->scores, count * sizeof(float)},
                   {&g->flags, count}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0] && status == DM_OK; i++) {
        status = dm_device_buffer_create(run->device, buffers[i].bytes, buffers[i].at, err);
        if (status == DM_OK)
            status = dm_stream_fill(g->stream, *buffers[i].at, 0, 0, buffers[i].bytes, err);
    }
    if (status != DM_OK)
        return status;
    g->host_scores = calloc(count, sizeof(float));
    g->host_actions = calloc(count, sizeof(int32_t));
    g->host_flags = calloc(count, 1);
    g->over = calloc(count, 1);
    g->final = calloc(count, sizeof(double));
    if (!g->host_scores || !g->host_actions || !g->host_flags || !g->over || !g->final)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    return g->world->reset(g->world, dm_device_buffer_address(g->observations), err);
}

/* What the player does, into g->actions. */
static dm_status games_choose(dm_agent_run *run, games *g, dm_error *err)
{
    uint64_t rows = dm_agent_learner_rows(run->learner);
    if (g->player == DM_AGENT_GREEDY)
        return dm_agent_learner_greedy(run->learner, dm_device_buffer_address(g->observations),
                                       (g->count + rows - 1) / rows * rows,
                                       dm_device_buffer_address(g->states),
                                       dm_device_buffer_address(g->actions), err);
    for (uint64_t n = 0; n < g->count; n++)
        g->host_actions[n] =
            (int32_t)dm_random_below(dm_random4(3, n, g->steps).v[0], g->world->actions);
    return dm_stream_upload(g->stream, g->actions, 0, g->host_actions, g->count * sizeof(int32_t),
                            err);
}

static dm_status games_step(dm_agent_run *run, games *g, dm_error *err)
{
    void *observations = dm_device_buffer_address(g->observations);
    int32_t *actions = dm_device_buffer_address(g->actions);
    dm_status status = games_choose(run, g, err);
    g->steps++;
    if (status == DM_OK)
        status = g->world->step(
            g->world, actions, observations, dm_device_buffer_address(g->rewards),
            dm_device_buffer_address(g->scores), dm_device_buffer_address(g->flags), err);
    if (status == DM_OK)
        status = dm_stream_download(g->stream, g->world->has_scores ? g->scores : g->rewards, 0,
                                    g->host_scores, g->count * sizeof(float), err);
    if (status == DM_OK)
        status = dm_stream_download(g->stream, g->flags, 0, g->host_flags, g->count, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(g->stream, err);
    for (uint64_t n = 0; n < g->count && status == DM_OK; n++) {
        if (g->over[n])
            continue;
        g->final[n] = (double)g->host_scores[n] + (g->world->has_scores ? 0 : g->final[n]);
        if (g->host_flags[n] & (DM_AGENT_TERMINATED | DM_AGENT_TRUNCATED)) {
            g->over[n] = 1;
            g->left--;
        }
    }
    return status;
}

static int compare_scores(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

dm_status dm_agent_run_measure(dm_agent_run *run, dm_agent_player player, bool trained,
                               uint64_t count, dm_agent_score *out, dm_error *err)
{
    dm_agent_swarm_desc what = {
        .machines = count, .starts = count, .held_out = true, .trained = trained};
    const dm_agent_config *c = &run->config;
    uint64_t steps = (c->eval_frames + c->frames - 1) / c->frames;
    games g;
    *out = (dm_agent_score){.games = count, .frames = steps * c->frames};
    if (count == 0)
        return dm_fail(err, DM_EINVAL, "agent: no games to measure on");
    dm_status status = games_open(run, &what, player, &g, err);
    if (status == DM_OK && player == DM_AGENT_GREEDY && !trained)
        status = keep_lives(run, g.world, true, true, &g.lives, err);
    for (uint64_t s = 0; s < steps && g.left > 0 && status == DM_OK; s++)
        status = games_step(run, &g, err);
    if (status == DM_OK && g.lives) {
        status = dm_agent_lives_finish(g.lives, dm_agent_swarm_of(g.world), err);
        run->lives_written += dm_agent_lives_written(g.lives);
    }
    if (status == DM_OK) {
        qsort(g.final, count, sizeof *g.final, compare_scores);
        for (uint64_t n = 0; n < count; n++)
            out->mean += g.final[n] / (double)count;
        out->lowest = g.final[0];
        out->highest = g.final[count - 1];
        out->median = (g.final[(count - 1) / 2] + g.final[count / 2]) / 2;
        out->alive = (double)g.left / (double)count;
    }
    games_close(&g);
    return status;
}

static dm_status write_film(dm_gb_gif *gif, const char *path, dm_error *err)
{
    dm_buffer bytes = DM_BUFFER_EMPTY;
    dm_status status = dm_gb_gif_finish(gif, &bytes, err);
    if (status == DM_OK)
        status = dm_file_write(path, bytes.data, bytes.size, err);
    dm_buffer_deinit(&bytes);
    return status;
}

dm_status dm_agent_run_film(dm_agent_run *run, dm_agent_player player, const dm_agent_film *film,
                            dm_agent_filmed *out, dm_error *err)
{
    dm_agent_swarm_desc what = {.machines = 1,
                                .starts = 1,
                                .held_out = true,
                                .pictures = film->path != NULL,
                                .first = film->index};
    uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_gb_gif *gif = NULL;
    games g;
    uint32_t per_step = (uint32_t)run->config.frames;
    uint64_t end = (uint64_t)film->skip + film->frames;
    *out = (dm_agent_filmed){0};
    dm_status status = games_open(run, &what, player, &g, err);
    if (status == DM_OK && film->path != NULL)
        status = dm_gb_gif_create(film->scale, &gif, err);
    for (; out->frames < end && g.left > 0 && status == DM_OK; out->frames += per_step) {
        status = games_step(run, &g, err);
        if (gif == NULL || out->frames < film->skip)
            continue;
        if (status == DM_OK)
            status = dm_swarm_get_picture(dm_agent_swarm_of(g.world), 0, shades, err);
        if (status == DM_OK)
            status = dm_gb_gif_add(gif, shades, per_step, err);
    }
    if (status == DM_OK && gif != NULL)
        status = write_film(gif, film->path, err);
    if (status == DM_OK) {
        out->score = g.final[0];
        out->over = g.left == 0;
    }
    dm_gb_gif_destroy(gif);
    games_close(&g);
    return status;
}

dm_status dm_agent_run_film_end(dm_agent_run *run, dm_agent_player player,
                                const dm_agent_film *film, dm_agent_filmed *out, dm_error *err)
{
    uint64_t most = run->config.eval_frames;
    dm_agent_film last = {.index = film->index,
                          .frames = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX};
    dm_status status = dm_agent_run_film(run, player, &last, out, err);
    if (status != DM_OK)
        return status;
    last = *film;
    last.skip = out->frames > film->frames ? (uint32_t)(out->frames - film->frames) : 0;
    return dm_agent_run_film(run, player, &last, out, err);
}
