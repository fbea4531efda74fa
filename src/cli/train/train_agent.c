/* SPDX-License-Identifier: MIT */
/* train_agent.c - dotmatrix train agent: train, measure (--eval) and film (--play) an agent. */
#include "agent/report.h"
#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "cli/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Configuration ---- */

/* A reward that a configuration names without a path lies beside it, or else here. */
static dm_status find_reward(const char *config_path, dm_agent_config *config, dm_error *err)
{
    char path[DM_PATH_MAX], folder[DM_PATH_MAX];
    const char *slash = strrchr(config_path, '/');
    if (config->reward[0] == 0 || config->reward[0] == '/' || slash == NULL)
        return DM_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - config_path), config_path);
    dm_status status = dm_path_join(path, folder, config->reward, err);
    if (status != DM_OK || !dm_file_exists(path))
        return status;
    if (strlen(path) >= sizeof config->reward)
        return dm_fail(err, DM_EINVAL, "agent: path too long: %s", path);
    memcpy(config->reward, path, strlen(path) + 1);
    return DM_OK;
}

static dm_status set_text(char to[DM_AGENT_TEXT_MAX], const char *option, const char *from,
                          dm_error *err)
{
    if (from == NULL)
        return DM_OK;
    if (snprintf(to, DM_AGENT_TEXT_MAX, "%s", from) >= DM_AGENT_TEXT_MAX)
        return dm_fail(err, DM_EINVAL, "%s: longer than %d letters", option, DM_AGENT_TEXT_MAX - 1);
    return DM_OK;
}

/* An option that stands for --set FIELD=VALUE. */
static dm_status set_field(dm_agent_config *config, const char *option, const char *field,
                           const char *value, dm_error *err)
{
    char setting[DM_AGENT_TEXT_MAX];
    if (value == NULL)
        return DM_OK;
    snprintf(setting, sizeof setting, "%s=%s", field, value);
    dm_status status = dm_agent_config_set(config, setting, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", option);
    return status;
}

static dm_status read_config(const dm_train_options *o, dm_agent_config *config, dm_error *err)
{
    *config = dm_agent_config_default;
    dm_status status = DM_OK;
    if (o->config != NULL)
        status = dm_agent_config_file(config, o->config, err);
    if (status == DM_OK && o->config != NULL)
        status = find_reward(o->config, config, err);
    for (size_t i = 0; i < o->set.count && status == DM_OK; i++)
        status = dm_agent_config_set(config, o->set.items[i], err);
    if (status == DM_OK)
        status = set_field(config, "--obs", "obs", o->obs, err);
    if (status == DM_OK)
        status = set_field(config, "--policy", "policy", o->policy, err);
    if (status == DM_OK)
        status = set_field(config, "--envs", "machines", o->envs, err);
    if (status == DM_OK)
        status = set_text(config->rom, "--rom", o->rom, err);
    if (status == DM_OK)
        status = set_text(config->reward, "--reward", o->reward, err);
    if (dm_train_given(o, "steps"))
        config->steps = (uint64_t)o->steps;
    if (dm_train_given(o, "seed"))
        config->seed = (uint64_t)o->seed;
    return status;
}

enum { LIVES_MAX = 64 };

/* --lives 0,7 */
static dm_status read_lives(const char *list, uint64_t most, uint32_t machines[LIVES_MAX],
                            size_t *out, dm_error *err)
{
    size_t count = 0;
    if (list != NULL && *list == 0)
        return dm_fail(err, DM_EINVAL, "--lives: an empty list; machines by number, as in 0,7");
    for (const char *at = list; at != NULL && *at != 0;) {
        char *end = NULL;
        unsigned long machine = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || machine >= UINT32_MAX || (*end != 0 && *end != ','))
            return dm_fail(err, DM_EINVAL, "--lives: '%.32s' is no number of a machine", at);
        if (count == LIVES_MAX)
            return dm_fail(err, DM_EINVAL, "--lives: more than %zu machines", count);
        if (machine >= most)
            return dm_fail(err, DM_EINVAL, "--lives: %lu; there are %" PRIu64 ", the first is 0",
                           machine, most);
        machines[count++] = (uint32_t)machine;
        at = *end == ',' ? end + 1 : end;
    }
    *out = count;
    return DM_OK;
}

static dm_status keep_lives(const dm_train_options *o, dm_agent_run *run, dm_error *err)
{
    uint32_t machines[LIVES_MAX];
    size_t count = 0;
    uint64_t most = o->eval > 0 ? (uint64_t)o->eval : dm_agent_run_config(run)->machines;
    dm_status status = read_lives(o->lives, most, machines, &count, err);
    return status == DM_OK ? dm_agent_run_keep(run, machines, count, err) : status;
}

static void say_lives(const dm_agent_run *run, const char *folder)
{
    uint64_t count = dm_agent_run_lives(run);
    if (count > 0)
        printf("%" PRIu64 " episode%s in %s/lives; dotmatrix replay FILE shows one\n", count,
               count == 1 ? "" : "s", folder);
}

/* ---- Watching ---- */

typedef struct watcher {
    dm_progress *progress;
    uint64_t steps;
    double score;
    double seconds[3]; /* world, acting, learning */
} watcher;

static bool watch(void *user, const dm_agent_news *news)
{
    watcher *w = user;
    const dm_agent_figures *f = &news->figures;
    char label[96];
    /* Few episodes end in a round, so what is shown is a mean over the last ones. */
    if (f->episodes > 0) {
        double keep = isnan(w->score) ? 0 : exp(-(double)f->episodes / 100);
        w->score = (isnan(w->score) ? 0 : keep * w->score) + (1 - keep) * f->score;
    }
    w->seconds[0] += f->seconds_world;
    w->seconds[1] += f->seconds_act;
    w->seconds[2] += f->seconds_learn;
    if (isnan(w->score))
        snprintf(label, sizeof label, "agent");
    else
        snprintf(label, sizeof label, "agent  score %.1f", w->score);
    dm_progress_label(w->progress, label);
    dm_progress_add(w->progress, f->steps - w->steps);
    w->steps = f->steps;
    return !dm_stop_requested();
}

static void print_score(const char *what, const dm_agent_score *s)
{
    printf("%s: mean score %.1f, median %.1f, %.0f to %.0f in %" PRIu64 " games of at most %" PRIu64
           " frames, greedy; %.0f%% were still alive\n",
           what, s->mean, s->median, s->lowest, s->highest, s->games, s->frames, 100 * s->alive);
}

static dm_status say_score(const dm_train_options *o, dm_agent_run *run, dm_error *err)
{
    dm_agent_score s;
    uint64_t games = (uint64_t)o->eval;
    dm_status status = keep_lives(o, run, err);
    if (status == DM_OK)
        status = dm_agent_run_measure(run, DM_AGENT_GREEDY, false, games, &s, err);
    if (status == DM_OK)
        print_score("held out", &s);
    if (status == DM_OK)
        status = dm_agent_run_measure(run, DM_AGENT_RANDOM, false, games, &s, err);
    if (status == DM_OK)
        printf("random keys on these starts: mean score %.1f\n", s.mean);
    if (status == DM_OK)
        say_lives(run, o->resume);
    return status;
}

static dm_status say_starts(dm_agent_run *run, uint64_t *out, dm_error *err)
{
    const dm_agent_config *c = dm_agent_run_config(run);
    uint64_t different = 0;
    dm_status status = dm_agent_run_count_starts(run, &different, err);
    *out = different;
    if (status != DM_OK)
        return status;
    printf("agent: %" PRIu64 " machines; %" PRIu64 " starts, %" PRIu64 " different games\n",
           c->machines, c->starts, different);
    if (different * 2 < c->starts || different < 16)
        fprintf(stderr,
                "warning: the %" PRIu64 " starts are only %" PRIu64 " different games: the agent "
                "may learn these by heart (the field random names bytes that differ)\n",
                c->starts, different);
    return DM_OK;
}

/* ---- Training ---- */

enum { FILM_FRAMES = 1800, FILM_SCALE = 2 };

static dm_status film_into(dm_agent_run *run, const char *folder, const char *name,
                           dm_agent_player player, dm_agent_filmed *out, dm_error *err)
{
    char path[DM_PATH_MAX];
    const dm_agent_film film = {.frames = FILM_FRAMES, .scale = FILM_SCALE, .path = path};
    dm_status status = dm_path_join(path, folder, name, err);
    return status == DM_OK ? dm_agent_run_film_end(run, player, &film, out, err) : status;
}

/* Scores, animations and the report at the end. */
static dm_status conclude(dm_agent_run *run, dm_agent_summary *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = DM_OK;
    uint64_t games = s->config->held_out;
    if (games > 0) {
        s->has_scores = true;
        status = dm_agent_run_measure(run, DM_AGENT_GREEDY, false, games, &s->held_out, err);
        if (status == DM_OK)
            status = dm_agent_run_measure(run, DM_AGENT_GREEDY, true, games, &s->training, err);
        if (status == DM_OK)
            status = dm_agent_run_measure(run, DM_AGENT_RANDOM, false, games, &s->random, err);
        if (status == DM_OK)
            status = film_into(run, s->folder, "after.gif", DM_AGENT_GREEDY, &s->after_film, err);
        if (status == DM_OK)
            status = film_into(run, s->folder, "before.gif", DM_AGENT_RANDOM, &s->before_film, err);
        if (status != DM_OK)
            return status;
        s->before = "before.gif";
        s->after = "after.gif";
        print_score("held out", &s->held_out);
        printf("starts that it trained from: mean score %.1f, median %.1f; random keys on held-out "
               "starts: %.1f\n",
               s->training.mean, s->training.median, s->random.mean);
    }
    dm_error why = {0};
    status = dm_agent_report(s, &why);
    if (status == DM_EUNAVAILABLE)
        fprintf(stderr, "dotmatrix train: no curve: %s\n", why.message);
    else if (status != DM_OK)
        return dm_fail(err, status, "%s", why.message);
    status = dm_path_join(path, s->folder, "index.html", err);
    if (status == DM_OK)
        printf("%s shows the run\n", path);
    return status;
}

static dm_status train(const dm_train_options *o, dm_agent_run *run, const char *folder,
                       dm_error *err)
{
    const dm_agent_config *c = dm_agent_run_config(run);
    uint64_t round = c->machines * c->horizon, different = 0;
    uint64_t done = dm_agent_learner_updates(dm_agent_run_learner(run)) * round;
    uint64_t until = o->until > 0 ? (uint64_t)o->until : c->steps;
    watcher w = {.steps = done, .score = NAN};
    dm_status status = keep_lives(o, run, err);
    if (status == DM_OK)
        status = say_starts(run, &different, err);
    fflush(stdout);
    if (status != DM_OK)
        return status;
    w.progress = dm_progress_start("agent", "steps", until > done ? until - done : 0);
    status = dm_agent_run_train(run, until, watch, &w, err);
    dm_progress_finish(w.progress);
    if (status != DM_OK)
        return status;
    double all = w.seconds[0] + w.seconds[1] + w.seconds[2];
    if (w.steps > done)
        printf("agent: %" PRIu64 " steps, %.0f a second: game %.0f%%, acting %.0f%%, learning "
               "%.0f%%; %s\n",
               w.steps, (double)(w.steps - done) / all, 100 * w.seconds[0] / all,
               100 * w.seconds[1] / all, 100 * w.seconds[2] / all, folder);
    say_lives(run, folder);
    (void)dm_agent_run_keep(run, NULL, 0, NULL); /* not of the games that are measured now */
    if (dm_stop_requested()) {
        dm_stop_kept("%s has the run until then; --resume %s goes on", folder, folder);
        return DM_OK;
    }
    dm_agent_summary s = {.folder = folder,
                          .device = o->device,
                          .config = c,
                          .steps = w.steps,
                          .steps_of_sitting = w.steps - done,
                          .different_starts = different,
                          .seconds = all};
    for (int i = 0; i < 3 && all > 0; i++)
        s.shares[i] = w.seconds[i] / all;
    return conclude(run, &s, err);
}

static dm_status film(const dm_train_options *o, dm_error *err)
{
    dm_agent_run *run = NULL;
    dm_agent_filmed filmed;
    const dm_agent_film what = {.skip = (uint32_t)o->skip,

                                .frames = (uint32_t)o->frames,
                                .scale = (unsigned)o->scale,
                                .path = o->gif};
    if (o->gif == NULL)
        return dm_fail(err, DM_EINVAL, "--play wants --gif: the file of the animation");
    dm_status status = dm_agent_run_open(o->device, o->play, &run, err);
    if (status == DM_OK)
        status = dm_agent_run_film(run, DM_AGENT_GREEDY, &what, &filmed, err);
    if (status == DM_OK)
        printf("%s: score %.0f\n", o->gif, filmed.score);
    dm_agent_run_close(run);
    return status;
}

static dm_status print_fields(const dm_agent_config *config, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_agent_config_help(config, &text);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
    return status;
}

/* Options that what was asked for has no use for. */
static dm_status check_use(const dm_train_options *o, dm_error *err)
{
    static const char *const film_only[] = {"gif", "scale", "frames", "skip", NULL};
    static const char *const not_film[] = {"rom",    "reward", "obs",   "policy", "envs", "set",
                                           "config", "fields", "steps", "seed",   "out",  "resume",
                                           "until",  "eval",   "lives", NULL};
    static const char *const fixed[] = {"set",    "config", "steps",  "seed", "out", "rom",
                                        "reward", "obs",    "policy", "envs", NULL};
    static const char *const for_beginning[] = {"fields", NULL};
    static const char *const for_training[] = {"until", NULL};
    static const char *const not_listed[] = {"until", "lives", "out", NULL};
    if (o->play != NULL)
        return dm_train_refuse(o, not_film, "does nothing with --play", err);
    dm_status status = dm_train_refuse(o, film_only, "does nothing without --play", err);
    if (status == DM_OK && o->resume != NULL)
        status = dm_train_refuse(o, fixed, "is the run's own with --resume", err);
    if (status == DM_OK && o->resume != NULL)
        status =
            dm_train_refuse(o, for_beginning, "is for a run that begins: leave --resume out", err);
    if (status == DM_OK && dm_train_given(o, "eval"))
        status = dm_train_refuse(o, for_training, "does nothing with --eval", err);
    if (status == DM_OK && o->fields)
        status = dm_train_refuse(o, not_listed, "does nothing with --fields", err);
    return status;
}

dm_status dm_train_agent(const dm_train_options *o, dm_error *err)
{
    dm_agent_config config;
    dm_agent_run *run = NULL;
    char folder[DM_PATH_MAX];
    dm_status status = check_use(o, err);
    if (status != DM_OK)
        return status;
    if (o->play != NULL)
        return film(o, err);
    if (o->resume != NULL) {
        snprintf(folder, sizeof folder, "%s", o->resume);
        status = dm_train_given(o, "eval") ? dm_agent_run_open(o->device, folder, &run, err)
                                           : dm_agent_run_resume(o->device, folder, &run, err);
        if (status == DM_OK)
            status =
                dm_train_given(o, "eval") ? say_score(o, run, err) : train(o, run, folder, err);
        dm_agent_run_close(run);
        return status;
    }
    if (dm_train_given(o, "eval"))
        return dm_fail(err, DM_EINVAL, "--eval wants --resume DIR: which agent?");
    status = read_config(o, &config, err);
    if (status == DM_OK && o->fields)
        return print_fields(&config, err);
    uint32_t machines[LIVES_MAX];
    size_t count = 0;
    if (status == DM_OK) /* before a folder is made */
        status = read_lives(o->lives, config.machines, machines, &count, err);
    if (status == DM_OK && o->out == NULL)
        status = dm_train_choose_folder("agent", folder, err);
    else if (status == DM_OK)
        snprintf(folder, sizeof folder, "%s", o->out);
    if (status == DM_OK)
        status = dm_agent_run_begin(o->device, &config, folder, &run, err);
    if (status == DM_OK)
        status = train(o, run, folder, err);
    dm_agent_run_close(run);
    return status;
}
