/* SPDX-License-Identifier: MIT */
/* run_swarm.c - run a swarm from the command line, with a progress bar and a mosaic of pictures. */
#include "cli/game/run_swarm.h"
#include "base/file.h"
#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/thread.h"
#include "cli/game/hooks.h"
#include "cli/game/mosaic.h"
#include "cli/game/reward.h"
#include "cli/game/starts.h"
#include "cli/options.h"
#include "cli/report.h"
#include "gb/host/picture.h"
#include "lab/actions.h"
#include "romtools/key_list.h"

#include <dotmatrix/swarm.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_QUEUED 16 /* between waits, so that the bar tells the truth */

typedef struct session {
    const dm_run_swarm *options;
    dm_device *device;
    dm_swarm *swarm;
    dm_swarm_desc desc;
    dm_gb_gif *gif;
    dm_mosaic mosaic;
    dm_run_hooks hooks;
    dm_gb_key_list keys; /* own actions */
    dm_run_starts starts;
    uint64_t *hook_bits; /* of each machine; NULL: no hooks */
    dm_program *program; /* NULL: no reward program */
    dm_program_info info;
    dm_reward_watch watch;
    dm_lab_actions actions;
    dm_swarm_metric_sums metrics[DM_PROGRAM_METRICS_MAX];
    uint8_t *picture; /* of the mosaic; NULL: nothing is recorded */
    double seconds;
} session;

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static dm_status parse_obs(const char *list, uint32_t *out, dm_error *err)
{
    char words[256], *save;
    if (strcmp(list, "none") == 0)
        return DM_OK;
    dm_status status = dm_options_check_list("obs", list, err);
    if (status != DM_OK)
        return status;
    snprintf(words, sizeof words, "%s", list);
    for (char *w = strtok_r(words, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save)) {
        uint32_t bit = 0;
        status = dm_swarm_observation_parse(w, &bit, err);
        if (status != DM_OK) {
            dm_error_prefix(err, "--obs: ");
            return status;
        }
        *out |= bit;
    }
    return DM_OK;
}

static dm_status read_options(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    dm_swarm_desc *d = &s->desc;
    if (o->rom == NULL)
        return dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
    if (o->record != NULL && !ends_with(o->record, ".gif") && !ends_with(o->record, ".png"))
        return dm_fail(err, DM_EINVAL, "--record: '%s' is neither .gif nor .png", o->record);
    dm_status status = dm_mosaic_parse(o->mosaic, &s->mosaic, err);
    if (status == DM_OK && s->mosaic.count > o->envs)
        status =
            dm_fail(err, DM_EINVAL, "--mosaic: %u machines, and there are %" PRId64 " (--envs)",
                    s->mosaic.count, o->envs);
    if (status == DM_OK)
        status = dm_swarm_stage_parse(o->stage, &d->stage, err);
    if (status == DM_OK)
        status = dm_swarm_generator_parse(o->action_gen, &d->generator, err);
    if (status == DM_OK)
        status = parse_obs(o->obs, &d->observations, err);
    if (status == DM_OK && o->record != NULL)
        d->observations |= DM_SWARM_OBS_SHADES; /* or nothing would be drawn */
    d->count = (uint64_t)o->envs;
    d->frames_per_step = (uint32_t)o->frames_per_step;
    d->seed = (uint64_t)o->seed;
    s->actions.codec = d->codec;
    if (status == DM_OK && o->actions_file != NULL)
        status =
            dm_lab_actions_load(&s->actions, o->actions_file, (uint64_t)o->steps, d->count, err);
    if (status == DM_OK)
        status = dm_run_hooks_parse(&s->hooks, o->hooks, o->symbols, err);
    if (status == DM_OK && o->actions != NULL && o->actions_file != NULL)
        status = dm_fail(err, DM_EINVAL,
                         "--actions-file has actions of the codec; --actions makes others");
    if (status == DM_OK && o->actions != NULL)
        status = dm_gb_key_list_load(&s->keys, o->actions, err);
    d->action_keys = s->keys.keys;
    d->action_key_count = s->keys.count;
    if (status == DM_OK)
        status = dm_run_starts_parse(&s->starts, o->states, o->random, d, err);
    d->hooks = s->hooks.places;
    d->hook_count = o->hooks->count;
    if (status == DM_OK && d->hook_count != 0) {
        s->hook_bits = calloc(d->count, sizeof *s->hook_bits);
        if (s->hook_bits == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
    }
    return status;
}

static dm_status look(session *s, dm_error *err)
{
    uint8_t screen[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_status status = DM_OK;
    for (uint32_t i = 0; i < s->mosaic.count && status == DM_OK; i++) {
        status = dm_swarm_get_picture(s->swarm, i, screen, err);
        if (status == DM_OK)
            dm_mosaic_place(&s->mosaic, i, screen, s->picture);
    }
    return status;
}

static dm_status look_for_hooks(session *s, uint64_t step, dm_error *err)
{
    dm_status status = dm_swarm_get_hooks(s->swarm, s->hook_bits, s->desc.count, err);
    for (uint64_t i = 0; i < s->desc.count && status == DM_OK; i++)
        dm_run_hooks_note(&s->hooks, s->hook_bits[i] >> s->info.hook_count, step);
    return status;
}

static dm_status start_record(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    s->picture = malloc((size_t)s->mosaic.width * s->mosaic.height);
    if (s->picture == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_mosaic_clear(&s->mosaic, s->picture);
    if (!ends_with(o->record, ".gif"))
        return DM_OK;
    return dm_gb_gif_create_sized(s->mosaic.width, s->mosaic.height, (unsigned)o->scale, &s->gif,
                                  err);
}

static dm_status steps(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    uint64_t frames = (uint64_t)o->envs * (uint64_t)o->frames_per_step;
    dm_progress *bar = dm_progress_start("run", "frames", frames * (uint64_t)o->steps);
    dm_status status = DM_OK;
    uint64_t start = dm_time_ns(), queued = 0;
    for (int64_t i = 0; i < o->steps && status == DM_OK; i++) {
        if (s->actions.given == NULL)
            status = dm_swarm_step(s->swarm, NULL, err);
        else
            status = dm_swarm_step_host(s->swarm, s->actions.given + (uint64_t)i * s->desc.count,
                                        s->desc.count, err);
        queued++;
        if (status == DM_OK && s->hook_bits != NULL)
            status = look_for_hooks(s, (uint64_t)i, err);
        if (status == DM_OK && s->program != NULL)
            status = dm_reward_watch_step(&s->watch, s->swarm, err);
        if (status == DM_OK && s->gif != NULL) {
            status = look(s, err);
            if (status == DM_OK)
                status = dm_gb_gif_add(s->gif, s->picture, (uint32_t)o->frames_per_step, err);
        }
        if (status == DM_OK && (queued == STEPS_QUEUED || i + 1 == o->steps)) {
            status = dm_stream_synchronize(dm_swarm_stream(s->swarm), err);
            dm_progress_add(bar, queued * frames);
            queued = 0;
        }
    }
    s->seconds = (double)(dm_time_ns() - start) * 1e-9;
    dm_progress_finish(bar);
    return status;
}

static dm_status write_record(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    dm_buffer bytes = DM_BUFFER_EMPTY;
    dm_status status = s->gif != NULL ? dm_gb_gif_finish(s->gif, &bytes, err) : look(s, err);
    if (status == DM_OK && s->gif == NULL)
        status = dm_gb_picture_png_sized(s->picture, s->mosaic.width, s->mosaic.height,
                                         (unsigned)o->scale, &bytes, err);
    if (status == DM_OK)
        status = dm_file_write(o->record, bytes.data, bytes.size, err);
    dm_buffer_deinit(&bytes);
    return status;
}

static dm_status report(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    dm_swarm_info info = dm_swarm_get_info(s->swarm);
    const char *name = dm_device_get_properties(s->device)->name;
    double frames = (double)o->envs * (double)o->steps * (double)o->frames_per_step;
    double fps = s->seconds > 0 ? frames / s->seconds : 0;
    if (!o->json) {
        printf("%" PRId64 " machines of %" PRIu64 " bytes on %s, %s: %" PRId64 " steps of %" PRId64
               " frames, %.0f frames/s\n",
               o->envs, info.bytes_per_machine, name, o->stage, o->steps, o->frames_per_step, fps);
        dm_run_starts_print(&s->starts, (uint64_t)o->envs);
        dm_run_hooks_print(&s->hooks, "step", (uint64_t)o->envs);
        if (s->program != NULL)
            dm_reward_tally_print(&s->watch.tally, s->metrics, s->info.metric_count);
        return DM_OK;
    }
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "backend", o->cuda ? "vec_cuda" : "vec_cpu");
    dm_json_string(&json, "device", name);
    dm_json_int(&json, "envs", o->envs);
    dm_json_int(&json, "steps", o->steps);
    dm_json_int(&json, "frames_per_step", o->frames_per_step);
    dm_json_string(&json, "stage", o->stage);
    dm_json_string(&json, o->actions_file != NULL ? "actions_file" : "action_gen",
                   o->actions_file != NULL ? o->actions_file : o->action_gen);
    dm_json_int(&json, "seed", o->seed);
    dm_json_uint(&json, "bytes_per_machine", info.bytes_per_machine);
    dm_json_double(&json, "seconds", s->seconds);
    dm_json_double(&json, "fps", fps);
    dm_run_starts_json(&s->starts, &json);
    dm_run_hooks_json(&s->hooks, "step", &json);
    if (s->program != NULL)
        dm_reward_tally_json(&s->watch.tally, s->metrics, s->info.metric_count, &json);
    return dm_report_print(&json, &text, err);
}

static dm_status load_reward(session *s, dm_error *err)
{
    const dm_run_swarm *o = s->options;
    if (s->desc.stage != DM_SWARM_FULL_STEP && s->desc.stage != DM_SWARM_REWARD_ONLY)
        return dm_fail(err, DM_EINVAL,
                       "--reward: --stage %s writes no rewards; there is reward_only", o->stage);
    dm_status status = dm_reward_load(o->reward, o->symbols, &s->program, err);
    s->info = dm_program_get_info(s->program);
    s->desc.program = s->program;
    return status == DM_OK ? dm_reward_watch_init(&s->watch, s->desc.count, err) : status;
}

dm_status dm_run_swarm_run(const dm_run_swarm *options, dm_error *err)
{
    session s = {.options = options};
    const dm_swarm_rom_source rom = {.path = options->rom};
    s.desc.roms = &rom;
    s.desc.rom_count = 1;
    s.desc.force_dmg = options->force_dmg;
    dm_status status = read_options(&s, err);
    if (status == DM_OK && options->reward != NULL)
        status = load_reward(&s, err);
    if (status == DM_OK)
        status = dm_device_open(options->cuda ? "cuda" : "cpu", &s.device, err);
    if (status == DM_OK)
        status = dm_swarm_create(s.device, &s.desc, &s.swarm, err);
    if (status == DM_OK)
        status = dm_run_starts_prepare(&s.starts, s.swarm, &s.desc, err);
    if (status == DM_OK && options->record != NULL)
        status = start_record(&s, err);
    if (status == DM_OK)
        status = steps(&s, err);
    if (status == DM_OK && options->record != NULL)
        status = write_record(&s, err);
    if (status == DM_OK && s.info.metric_count != 0)
        status = dm_swarm_get_metrics(s.swarm, s.metrics, s.info.metric_count, false, err);
    if (status == DM_OK)
        status = report(&s, err);
    dm_reward_watch_deinit(&s.watch);
    dm_gb_gif_destroy(s.gif);
    free(s.picture);
    free(s.hook_bits);
    dm_program_destroy(s.program);
    dm_lab_actions_deinit(&s.actions);
    dm_swarm_destroy(s.swarm);
    dm_device_close(s.device);
    return status;
}
