/* SPDX-License-Identifier: MIT */
/* dynamics_bench.c - see dynamics_bench.h. */
#include "cli/dynamics/dynamics_bench.h"

#include "base/host/machine.h"
#include "base/median.h"
#include "base/philox.h"
#include "base/thread.h"
#include "dynamics/simd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 9

static float *random_floats(size_t n, uint64_t seed, float bound)
{
    float *out = malloc((n + 4) * sizeof *out);
    for (size_t i = 0; out != NULL && i < n; i += 4) {
        dm_philox4 words = dm_random4(seed, 99, i);
        for (size_t k = 0; k < 4; k++)
            out[i + k] = (2 * dm_random_unit(words.v[k]) - 1) * bound;
    }
    return out;
}

/* ---- Timing ---- */

dm_status dm_bench_time_host(dm_bench_work run, void *user, double least_us, double *us,
                             dm_error *err)
{
    dm_status status = run(user, err);
    *us = 0;
    for (int i = 0; i < SAMPLES && status == DM_OK; i++) {
        int calls = 0;
        double taken;
        uint64_t start = dm_time_ns();
        do {
            status = run(user, err);
            calls++;
            taken = 1e-3 * (double)(dm_time_ns() - start);
        } while (status == DM_OK && taken < least_us);
        *us = i == 0 || taken / calls < *us ? taken / calls : *us;
    }
    return status;
}

/* Median microseconds of what `launch` queues, on the device: a graph of `count` of it. */
dm_status dm_bench_time_device(dm_dyn_bench *b, dm_bench_work launch, void *user, int count,
                               double *us, dm_error *err)
{
    dm_stream *stream = dm_device_stream(b->device);
    dm_graph *graph = NULL;
    dm_event *begin = NULL, *end = NULL;
    double samples[SAMPLES] = {0};
    dm_status status = launch(user, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    if (status == DM_OK)
        status = dm_graph_capture_begin(stream, err);
    for (int i = 0; i < count && status == DM_OK; i++)
        status = launch(user, err);
    if (status == DM_OK)
        status = dm_graph_capture_end(stream, &graph, err);
    if (status == DM_OK)
        status = dm_event_create(b->device, &begin, err);
    if (status == DM_OK)
        status = dm_event_create(b->device, &end, err);
    for (int i = -2; i < SAMPLES && status == DM_OK; i++) {
        double ms = 0;
        status = dm_event_record(begin, stream, err);
        if (status == DM_OK)
            status = dm_graph_launch(graph, stream, err);
        if (status == DM_OK)
            status = dm_event_record(end, stream, err);
        if (status == DM_OK)
            status = dm_event_synchronize(end, err);
        if (status == DM_OK)
            status = dm_event_elapsed(begin, end, &ms, err);
        if (i >= 0)
            samples[i] = 1e3 * ms / count;
    }
    dm_event_destroy(begin);
    dm_event_destroy(end);
    dm_graph_destroy(graph);
    *us = status == DM_OK ? dm_median(samples, SAMPLES) : 0;
    return status;
}

/* ---- Models ---- */

void dm_bench_model_deinit(dm_bench_model *s)
{
    dm_dynamics_device_destroy(s->on);
    dm_dynamics_forecast_destroy(s->rollout);
    dm_dynamics_destroy(s->model);
    free(s->features);
    free(s->hidden);
    free(s->x);
    free(s->h);
    free(s->out);
}

dm_status dm_bench_model_init(dm_dyn_bench *b, dm_bench_model *s, dm_dynamics_config config,
                              dm_error *err)
{
    *s = (dm_bench_model){0};
    dm_status status = dm_dynamics_create(&config, 7, &s->model, err);
    for (uint32_t e = 0; e < config.members && status == DM_OK; e++) {
        size_t count;
        float *bias = dm_dynamics_weights(s->model, e, DM_DYNAMICS_B, &count);
        for (size_t i = 0; i < count; i++)
            bias[i] = 0.02f * (float)((int)(i % 11) - 5);
        float *recurrent = dm_dynamics_weights(s->model, e, DM_DYNAMICS_C, &count);
        for (size_t i = 0; i < count; i++)
            recurrent[i] = 0.03f * (float)((int)(i % 7) - 3);
    }
    return status != DM_OK ? status : dm_dynamics_device_create(b->device, s->model, &s->on, err);
}

dm_status dm_bench_model_rollout(dm_bench_model *s, uint32_t rollouts, uint32_t steps,
                                 dm_error *err)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    size_t cells = (size_t)rollouts * c->members;
    s->features = random_floats((size_t)rollouts * c->input, 3, 1);
    s->hidden = random_floats(cells * c->hidden, 4, 1);
    if (s->features == NULL || s->hidden == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_dynamics_forecast_create(s->model, rollouts, steps, &s->rollout, err);
}

dm_status dm_bench_model_gru(dm_bench_model *s, size_t batch, dm_error *err)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    free(s->x);
    free(s->h);
    free(s->out);
    s->batch = batch;
    s->x = random_floats(batch * c->input, 1, 2);
    s->h = random_floats(batch * c->hidden, 2, 1);
    s->out = random_floats(batch * c->hidden, 5, 1e9f); /* whatever stays unwritten shows */
    return s->x != NULL && s->h != NULL && s->out != NULL
               ? DM_OK
               : dm_fail(err, DM_ENOMEM, "out of memory");
}

dm_status dm_bench_rollout(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_dynamics_device_rollout(s->on, s->features, s->hidden, s->rollout, err);
}

dm_status dm_bench_gru(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_dynamics_device_gru(s->on, 0, s->batch, s->x, s->h, s->out, err);
}

/* ---- The program ---- */

static void write_provenance(dm_json *json, const dm_device_properties *p)
{
    dm_machine machine;
    dm_device_tools tools;
    dm_machine_query(&machine);
    dm_device_tools_find(&tools);
    dm_json_string(json, "benchmark", "dynamics");
    dm_json_string(json, "version", dm_version_string());
    dm_json_string(json, "device", p->name);
    dm_json_string(json, "arch", p->arch);
    dm_json_string(json, "cpu", machine.cpu_model);
    dm_json_string(json, "simd", dm_simd_best()->name);
    dm_json_string(json, "driver", tools.driver_version);
    dm_json_int(json, "nvrtc", tools.nvrtc_version);
    dm_json_string(json, "nvrtc_path", tools.nvrtc ? tools.nvrtc_path : NULL);
    dm_json_string(json, "nvrtc_origin", tools.nvrtc ? tools.nvrtc_origin : NULL);
}

static bool wanted(const char *only, const char *part)
{
    size_t length = strlen(part);
    for (const char *p = only; p != NULL && *p != '\0'; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, part, length) == 0 && (p[length] == '\0' || p[length] == ','))
            return true;
    }
    return only == NULL;
}

typedef struct bench_part {
    const char *name;
    dm_status (*run)(dm_dyn_bench *, dm_error *);
} bench_part;

static const bench_part parts[] = {{"check_gru", dm_bench_check_gru},
                                   {"check_batch", dm_bench_check_batch},
                                   {"check_cluster", dm_bench_check_cluster},
                                   {"check_train", dm_bench_check_train},
                                   {"profile", dm_bench_part_profile},
                                   {"rollout", dm_bench_part_rollout},
                                   {"batch", dm_bench_part_batch},
                                   {"gru", dm_bench_part_gru},
                                   {"train", dm_bench_part_train},
                                   {"encoder", dm_bench_part_encoder},
                                   {"memory", dm_bench_part_memory}};

dm_status dm_dyn_bench_check_parts(const char *only, dm_error *err)
{
    for (const char *p = only; p != NULL;) {
        size_t length = strcspn(p, ",");
        bool known = false;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            known |= strlen(parts[i].name) == length && strncmp(p, parts[i].name, length) == 0;
        if (!known)
            return dm_fail(err, DM_EINVAL,
                           "no part is called '%.*s' (there are: rollout, batch, gru, train, "
                           "encoder, memory, profile, check_gru, check_batch, check_cluster, "
                           "check_train)",
                           (int)length, p);
        p = p[length] == ',' ? p + length + 1 : NULL;
    }
    return DM_OK;
}

dm_status dm_dyn_bench_run(dm_dyn_bench *b, dm_buffer *out, dm_error *err)
{
    dm_status status = dm_dyn_bench_check_parts(b->only, err);
    if (status == DM_OK)
        status = dm_device_open(b->device_id, &b->device, err);
    if (status != DM_OK)
        return status;
    const dm_device_properties *p = dm_device_get_properties(b->device);
    b->cuda = p->kind == DM_DEVICE_CUDA;
    dm_json_init(&b->json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&b->json, NULL);
    write_provenance(&b->json, p);
    printf("%s (%s), %s\n", p->name, p->id, b->cuda ? p->arch : dm_simd_best()->name);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == DM_OK; i++) {
        uint64_t start = dm_time_ns();
        if (!wanted(b->only, parts[i].name))
            continue;
        status = parts[i].run(b, err);
        fflush(stdout);
        fprintf(stderr, "%s: %.1f s\n", parts[i].name, 1e-9 * (double)(dm_time_ns() - start));
    }
    if (status == DM_OK) {
        dm_json_double(&b->json, "few_device_us", b->few_us);
        dm_json_double(&b->json, "few_wall_us", b->few_wall_us);
        dm_json_double(&b->json, "many_device_us_each", b->many_us);
        dm_json_end_object(&b->json);
        dm_json_finish(&b->json);
    }
    dm_device_close(b->device);
    return status;
}
