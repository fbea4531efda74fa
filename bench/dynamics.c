/* SPDX-License-Identifier: MIT */
/* dynamics.c - how fast and how right the dynamics kernels are.
 *
 *   dm-bench-dynamics [--device cpu|cuda:0] [--only PART,...] [--json FILE] [--dump FOLDER]
 * [--quick]
 *
 * Parts: check (values against the float64 reference, over sizes and roads), rollout (few:
 * latency), batch (many rollouts), gru (one step over the grid of sizes). On the CPU every time
 * stands beside that of the plain loops; on CUDA beside PyTorch's, if bench/dynamics_torch.py runs
 * this program.
 * --dump writes inputs, weights and our results of a few GRU steps for that script to compare with
 * PyTorch's.
 *
 * Device times are those of launches recorded in a graph and replayed, between two events: no host
 * in between. Medians. Exit code 1 when a value is wrong or something failed. */
#include "base/buffer.h"
#include "base/build.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/philox.h"
#include "base/thread.h"
#include "dynamics/device.h"
#include "dynamics/reference_model.h"
#include "dynamics/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 9
#define INPUT 64 /* of the GRU grid */

typedef struct bench {
    dm_device *device;
    bool cuda, quick;
    const char *dump;
    dm_json json;
    int wrong; /* values outside the tolerance */
} bench;

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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* ---- Timing ---- */

typedef dm_status (*work)(void *user, dm_error *err);

/* Median microseconds of a call on the host. */
static dm_status time_host(work run, void *user, double least_us, double *us, dm_error *err)
{
    double samples[SAMPLES];
    dm_status status = run(user, err);
    for (int i = 0; i < SAMPLES && status == DM_OK; i++) {
        int calls = 0;
        uint64_t start = dm_time_ns();
        do {
            status = run(user, err);
            calls++;
            samples[i] = 1e-3 * (double)(dm_time_ns() - start);
        } while (status == DM_OK && samples[i] < least_us);
        samples[i] /= calls;
    }
    *us = median(samples, SAMPLES);
    return status;
}

/* Median microseconds of what `launch` queues, on the device: a graph of `count` of it. */
static dm_status time_device(bench *b, work launch, void *user, int count, double *us,
                             dm_error *err)
{
    dm_stream *stream = dm_device_stream(b->device);
    dm_graph *graph = NULL;
    dm_event *begin = NULL, *end = NULL;
    double samples[SAMPLES];
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
    *us = status == DM_OK ? median(samples, SAMPLES) : 0;
    return status;
}

/* ---- Models ---- */

typedef struct subject {
    dm_dynamics *model;
    dm_dynamics_device *on;
    float *features, *hidden;
    dm_rollout *rollout;
    dm_dyn_rollout staged;
    dm_dyn_gru gru;
    float *x, *h, *out;
    size_t batch;
} subject;

static void subject_deinit(subject *s)
{
    dm_dynamics_device_destroy(s->on);
    dm_rollout_destroy(s->rollout);
    dm_dynamics_destroy(s->model);
    free(s->features);
    free(s->hidden);
    free(s->x);
    free(s->h);
    free(s->out);
}

static dm_status subject_init(bench *b, subject *s, dm_dynamics_config config, dm_error *err)
{
    *s = (subject){0};
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

static dm_status add_rollout(subject *s, uint32_t rollouts, uint32_t steps, dm_error *err)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    size_t cells = (size_t)rollouts * c->members;
    s->features = random_floats((size_t)rollouts * c->input, 3, 1);
    s->hidden = random_floats(cells * c->hidden, 4, 1);
    if (s->features == NULL || s->hidden == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_rollout_create(s->model, rollouts, steps, &s->rollout, err);
}

static dm_status add_gru(subject *s, size_t batch, dm_error *err)
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

static dm_status run_rollout(void *user, dm_error *err)
{
    subject *s = user;
    return dm_dynamics_device_rollout(s->on, s->features, s->hidden, s->rollout, err);
}

static dm_status run_plain_rollout(void *user, dm_error *err)
{
    subject *s = user;
    return dm_plain_rollout(s->model, s->features, s->hidden, s->rollout, err);
}

static dm_status launch_rollout(void *user, dm_error *err)
{
    subject *s = user;
    return dm_dyn_rollout_launch(s->on, &s->staged, err);
}

static dm_status run_gru(void *user, dm_error *err)
{
    subject *s = user;
    return dm_dynamics_device_gru(s->on, 0, s->batch, s->x, s->h, s->out, err);
}

static dm_status run_plain_gru(void *user, dm_error *err)
{
    subject *s = user;
    return dm_plain_gru(s->model, 0, s->batch, s->x, s->h, s->out, err);
}

static dm_status launch_gru(void *user, dm_error *err)
{
    subject *s = user;
    return dm_dyn_gru_launch(s->on, &s->gru, err);
}

/* ---- Values ---- */

static void report_distance(bench *b, const char *what, double distance)
{
    bool good = distance <= DM_DYNAMICS_TOLERANCE;
    b->wrong += !good;
    printf("  %-52s %9.2e%s\n", what, distance, good ? "" : "   WRONG");
    dm_json_begin_object(&b->json, NULL);
    dm_json_string(&b->json, "what", what);
    dm_json_double(&b->json, "distance", distance);
    dm_json_end_object(&b->json);
}

typedef struct rollout_case {
    dm_dynamics_config config;
    uint32_t rollouts, steps;
    dm_dyn_road road;
    uint32_t cluster_blocks, tile;
} rollout_case;

static dm_status check_rollout(bench *b, const rollout_case *k, dm_error *err)
{
    static const char *const roads[] = {"auto", "cluster", "batch", "stream"};
    subject s;
    dm_reference_results want = {0};
    char what[128];
    dm_status status = subject_init(b, &s, k->config, err);
    if (status == DM_OK)
        status = add_rollout(&s, k->rollouts, k->steps, err);
    if (status == DM_OK) {
        s.on->road = k->road;
        s.on->cluster_blocks = k->cluster_blocks;
        s.on->tile_rollouts = k->tile;
        status = run_rollout(&s, err);
    }
    if (status == DM_OK)
        status =
            dm_reference_rollout(s.model, s.features, s.hidden, k->rollouts, k->steps, &want, err);
    snprintf(what, sizeof what, "rollout %ux%ux%u h%u s%u i%u %s%s %s %u/%u", k->rollouts,
             k->config.members, k->steps, k->config.hidden, k->config.stochastic, k->config.input,
             k->config.kind == DM_GRU_RESET_LAST ? "last" : "first",
             k->config.projection ? "+proj" : "", roads[k->road], k->cluster_blocks, k->tile);
    if (status == DM_OK)
        report_distance(b, what, dm_reference_rollout_distance(s.rollout, &want));
    else
        dm_error_prefix(err, "%s", what);
    if (status == DM_OK) {
        /* The same bits again. */
        size_t bytes = (size_t)k->rollouts * k->config.members * k->steps * sizeof(float);
        float *first = malloc(bytes);
        if (first != NULL) {
            memcpy(first, s.rollout->loss, bytes);
            status = run_rollout(&s, err);
            if (memcmp(first, s.rollout->loss, bytes) != 0) {
                printf("  %-52s other bits the second time   WRONG\n", what);
                b->wrong++;
            }
        }
        free(first);
    }
    dm_reference_results_deinit(&want);
    subject_deinit(&s);
    return status;
}

static dm_status check_gru(bench *b, uint32_t hidden, uint32_t input, size_t batch,
                           dm_gru_kind kind, int block, dm_error *err)
{
    subject s;
    char what[128];
    dm_status status =
        subject_init(b, &s, (dm_dynamics_config){1, hidden, 1, input, kind, false}, err);
    double *want = malloc(batch * hidden * sizeof *want);
    if (status == DM_OK)
        status = want != NULL ? add_gru(&s, batch, err) : dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        s.on->gru_block = block;
        status = run_gru(&s, err);
    }
    if (status == DM_OK)
        status = dm_reference_gru(s.model, 0, batch, s.x, s.h, want, err);
    snprintf(what, sizeof what, "gru h%u i%u batch %zu %s %d", hidden, input, batch,
             kind == DM_GRU_RESET_LAST ? "last" : "first", block);
    if (status == DM_OK)
        report_distance(b, what, dm_reference_distance(s.out, want, batch * hidden));
    else
        dm_error_prefix(err, "%s", what);
    free(want);
    subject_deinit(&s);
    return status;
}

static dm_status check_rollouts(bench *b, const char *key, const rollout_case *cases, size_t count,
                                dm_error *err)
{
    dm_status status = DM_OK;
    printf("values: distance from float64, of the largest magnitude (limit %g)\n",
           DM_DYNAMICS_TOLERANCE);
    dm_json_begin_array(&b->json, key);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = check_rollout(b, &cases[i], err);
    dm_json_end_array(&b->json);
    return status;
}

#define FIRST DM_GRU_RESET_FIRST
#define LAST DM_GRU_RESET_LAST

static dm_status part_check_cluster(bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{5, 256, 32, 64, LAST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{3, 100, 40, 70, FIRST, false}, 3, 21, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{2, 300, 7, 5, LAST, false}, 2, 20, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{2, 512, 32, 1100, FIRST, false}, 2, 20, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{1, 1, 1, 1, FIRST, false}, 1, 1, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 20, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
    };
    return check_rollouts(b, "check_cluster", cases, sizeof cases / sizeof cases[0], err);
}

static dm_status part_check_batch(bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 45, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{5, 256, 32, 64, LAST, false}, 45, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{2, 256, 32, 64, FIRST, false}, 9, 20, DM_DYN_ROAD_BATCH, 0, 2},
        {{2, 200, 19, 3, FIRST, false}, 23, 20, DM_DYN_ROAD_BATCH, 0, 5},
        {{2, 50, 9, 64, FIRST, false}, 41, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{1, 500, 32, 64, FIRST, false}, 21, 10, DM_DYN_ROAD_BATCH, 0, 5},
        {{1, 500, 32, 64, LAST, false}, 21, 10, DM_DYN_ROAD_BATCH, 0, 5},
        {{2, 256, 32, 64, FIRST, true}, 2, 20, DM_DYN_ROAD_STREAM, 0, 0},
        {{2, 130, 32, 64, LAST, true}, 2, 20, DM_DYN_ROAD_STREAM, 0, 0},
        {{1, 1500, 32, 64, FIRST, false}, 1, 10, DM_DYN_ROAD_AUTO, 0, 0},
        {{5, 256, 32, 64, FIRST, false}, 300, 5, DM_DYN_ROAD_AUTO, 0, 0},
    };
    return check_rollouts(b, "check_batch", cases, sizeof cases / sizeof cases[0], err);
}

static dm_status part_check_gru(bench *b, dm_error *err)
{
    static const struct {
        uint32_t hidden, input;
        size_t batch;
        int block;
    } cases[] = {{256, 64, 1, 0},    {256, 64, 2, 0},    {255, 63, 3, 0},    {64, 64, 8, 0},
                 {100, 5, 13, -1},   {4096, 64, 4, 0},   {1, 1, 1, 0},       {256, 64, 70, 32},
                 {100, 7, 33, 32},   {256, 64, 200, 64}, {333, 65, 150, 64}, {512, 64, 300, 128},
                 {99, 33, 257, 128}, {4100, 64, 24, 0},  {1, 1, 50, 128}};
    dm_status status = DM_OK;
    printf("values: distance from float64, of the largest magnitude (limit %g)\n",
           DM_DYNAMICS_TOLERANCE);
    dm_json_begin_array(&b->json, "check_gru");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && status == DM_OK; i++)
        for (int kind = 0; kind < 2 && status == DM_OK; kind++)
            status = check_gru(b, cases[i].hidden, cases[i].input, cases[i].batch,
                               (dm_gru_kind)kind, cases[i].block, err);
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Few rollouts ---- */

static dm_status measure_rollout(bench *b, dm_dynamics_config config, uint32_t rollouts,
                                 uint32_t steps, dm_dyn_road road, uint32_t cluster_blocks,
                                 uint32_t tile, bool plain, dm_error *err)
{
    static const char *const roads[] = {"cpu", "cluster", "batch", "stream"};
    subject s;
    double wall = 0, device = 0, reference = 0;
    dm_status status = subject_init(b, &s, config, err);
    if (status == DM_OK)
        status = add_rollout(&s, rollouts, steps, err);
    if (status == DM_OK) {
        s.on->road = road;
        s.on->cluster_blocks = cluster_blocks;
        s.on->tile_rollouts = tile;
        status = time_host(run_rollout, &s, 5000, &wall, err);
    }
    if (status == DM_OK && b->cuda) {
        status = dm_dyn_rollout_stage(s.on, s.features, NULL, s.hidden, s.rollout, &s.staged, err);
        if (status == DM_OK)
            status = time_device(b, launch_rollout, &s, rollouts > 64 ? 1 : 10, &device, err);
    }
    if (status == DM_OK && plain)
        status = time_host(run_plain_rollout, &s, 5000, &reference, err);
    const char *name = status == DM_OK ? roads[b->cuda ? s.staged.road : 0] : "";
    if (status == DM_OK) {
        printf("  %5u x %u x %3u h%-4u %-8s %2u %10.1f us", rollouts, config.members, steps,
               config.hidden, name, b->cuda ? s.staged.launch.cluster_blocks : 1, wall);
        if (b->cuda)
            printf("  device %9.1f us  %8.3f us each", device, device / rollouts);
        if (plain)
            printf("  plain %10.1f us  %5.1fx", reference, reference / wall);
        printf("\n");
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "rollouts", rollouts);
        dm_json_uint(&b->json, "members", config.members);
        dm_json_uint(&b->json, "steps", steps);
        dm_json_uint(&b->json, "hidden", config.hidden);
        dm_json_string(&b->json, "road", name);
        dm_json_uint(&b->json, "cluster_blocks", b->cuda ? s.staged.launch.cluster_blocks : 1);
        dm_json_double(&b->json, "wall_us", wall);
        if (b->cuda)
            dm_json_double(&b->json, "device_us", device);
        if (plain)
            dm_json_double(&b->json, "plain_us", reference);
        dm_json_end_object(&b->json);
    }
    subject_deinit(&s);
    return status;
}

static dm_status part_rollout(bench *b, dm_error *err)
{
    static const uint32_t steps[] = {10, 25, 50, 100};
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    dm_status status = DM_OK;
    printf("rollouts: rollouts x members x steps\n");
    dm_json_begin_array(&b->json, "rollout");
    for (size_t i = 0; i < 4 && status == DM_OK; i++)
        status = measure_rollout(b, config, 1, steps[i], DM_DYN_ROAD_AUTO, 0, 0, !b->cuda, err);
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_ROAD_CLUSTER, 16, 0, false, err);
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_ROAD_STREAM, 0, 0, false, err);
    static const uint32_t hidden[] = {64, 128, 512, 1024};
    for (size_t i = 0; i < 4 && status == DM_OK; i++) {
        config.hidden = hidden[i];
        status = measure_rollout(b, config, 1, 50, DM_DYN_ROAD_AUTO, 0, 0,
                                 !b->cuda && hidden[i] <= 512, err);
    }
    config.hidden = 256;
    config.kind = DM_GRU_RESET_LAST;
    if (status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_ROAD_AUTO, 0, 0, false, err);
    config.kind = DM_GRU_RESET_FIRST;
    config.members = 10;
    if (status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_ROAD_AUTO, 0, 0, false, err);
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Many rollouts ---- */

static dm_status part_batch(bench *b, dm_error *err)
{
    static const uint32_t counts[] = {4, 16, 64, 256, 1024, 4096, 16384};
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    size_t most = !b->cuda ? 3 : b->quick ? 5 : 7;
    dm_status status = DM_OK;
    printf("many rollouts\n");
    dm_json_begin_array(&b->json, "batch");
    for (size_t i = 0; i < most && status == DM_OK; i++)
        status = measure_rollout(b, config, counts[i], 50, DM_DYN_ROAD_AUTO, 0, 0, false, err);
    if (b->cuda) {
        static const uint32_t tiles[] = {10, 5, 2};
        for (size_t i = 0; i < 3 && status == DM_OK; i++)
            status =
                measure_rollout(b, config, 1024, 50, DM_DYN_ROAD_BATCH, 0, tiles[i], false, err);
        if (status == DM_OK)
            status = measure_rollout(b, config, 64, 50, DM_DYN_ROAD_BATCH, 0, 2, false, err);
        if (status == DM_OK)
            status = measure_rollout(b, config, 64, 50, DM_DYN_ROAD_CLUSTER, 8, 0, false, err);
    }
    dm_json_end_array(&b->json);
    return status;
}

/* ---- One step ---- */

static dm_status dump_file(const char *folder, const char *name, const void *data, size_t count,
                           dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, name, err);
    return status != DM_OK ? status : dm_file_write(path, data, count * sizeof(float), err);
}

/* Ours beside PyTorch's: weights in our order of gates. */
static dm_status dump_gru(bench *b, subject *s, dm_error *err)
{
    static const struct {
        const char *name;
        dm_dynamics_part part;
    } parts[] = {
        {"W", DM_DYNAMICS_W}, {"U", DM_DYNAMICS_U}, {"b", DM_DYNAMICS_B}, {"c", DM_DYNAMICS_C}};
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    char name[64];
    dm_status status = dm_dir_create(b->dump, err);
    for (size_t i = 0; i < 4 && status == DM_OK; i++) {
        size_t count;
        const float *data = dm_dynamics_weights(s->model, 0, parts[i].part, &count);
        snprintf(name, sizeof name, "gru_%u_%zu_%s.f32", c->hidden, s->batch, parts[i].name);
        status = dump_file(b->dump, name, data, count, err);
    }
    const struct {
        const char *name;
        const float *data;
        size_t count;
    } arrays[] = {{"x", s->x, s->batch * c->input},
                  {"h", s->h, s->batch * c->hidden},
                  {"out", s->out, s->batch * c->hidden}};
    for (size_t i = 0; i < 3 && status == DM_OK; i++) {
        snprintf(name, sizeof name, "gru_%u_%zu_%s.f32", c->hidden, s->batch, arrays[i].name);
        status = dump_file(b->dump, name, arrays[i].data, arrays[i].count, err);
    }
    return status;
}

static dm_status measure_gru(bench *b, subject *s, size_t batch, dm_gru_kind kind, int block,
                             dm_error *err)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    double wall = 0, device = 0, plain = 0;
    dm_status status = add_gru(s, batch, err);
    s->on->gru_block = block;
    if (status == DM_OK && !b->cuda)
        status = time_host(run_gru, s, 3000, &wall, err);
    if (status == DM_OK && !b->cuda && (double)batch * c->hidden * c->hidden < 2e7)
        status = time_host(run_plain_gru, s, 3000, &plain, err);
    if (status == DM_OK && b->cuda) {
        status = dm_dyn_gru_stage(s->on, 0, batch, s->x, s->h, &s->gru, err);
        double work_size = (double)batch * c->hidden * c->hidden;
        if (status == DM_OK)
            status = time_device(b, launch_gru, s, work_size > 1e9 ? 3 : 20, &device, err);
    }
    if (status == DM_OK && b->dump != NULL && kind == DM_GRU_RESET_LAST && block == 0 &&
        c->hidden == 256 && batch <= 64) {
        status = run_gru(s, err);
        if (status == DM_OK)
            status = dump_gru(b, s, err);
    }
    if (status != DM_OK)
        return status;
    double macs = (double)batch * 3 * c->hidden * (c->hidden + (double)c->input);
    double us = b->cuda ? device : wall;
    printf("  h%-5u batch %-5zu %-5s %4d %10.1f us %8.2f TFLOP/s", c->hidden, batch,
           kind == DM_GRU_RESET_LAST ? "last" : "first", block, us, 2e-6 * macs / us);
    if (plain > 0)
        printf("  plain %10.1f us %6.1fx", plain, plain / us);
    printf("\n");
    dm_json_begin_object(&b->json, NULL);
    dm_json_uint(&b->json, "hidden", c->hidden);
    dm_json_uint(&b->json, "batch", batch);
    dm_json_string(&b->json, "kind", kind == DM_GRU_RESET_LAST ? "last" : "first");
    dm_json_int(&b->json, "block", block);
    dm_json_double(&b->json, b->cuda ? "device_us" : "wall_us", us);
    if (plain > 0)
        dm_json_double(&b->json, "plain_us", plain);
    dm_json_end_object(&b->json);
    return DM_OK;
}

static dm_status part_gru(bench *b, dm_error *err)
{
    static const uint32_t hidden[] = {64, 128, 256, 512, 1024, 2048, 4096};
    static const size_t batches[] = {1, 8, 16, 64, 256, 1024, 4096};
    static const int blocks[] = {-1, 32, 64, 128};
    dm_status status = DM_OK;
    printf("one step of a batch, input %d\n", INPUT);
    dm_json_begin_array(&b->json, "gru");
    for (size_t i = 0; i < 7 && status == DM_OK; i++) {
        if (!b->cuda && hidden[i] > 1024)
            break;
        for (int kind = 1; kind >= 0 && status == DM_OK; kind--) {
            subject s;
            dm_dynamics_config config = {1, hidden[i], 1, INPUT, (dm_gru_kind)kind, false};
            status = subject_init(b, &s, config, err);
            for (size_t k = 0; k < 7 && status == DM_OK; k++) {
                if (!b->cuda && batches[k] * hidden[i] > 1u << 16)
                    break;
                status = measure_gru(b, &s, batches[k], (dm_gru_kind)kind, 0, err);
                /* Other shapes, to see whether the choice by size is right. */
                for (size_t m = 0; m < 4 && b->cuda && kind == 1 && !b->quick && status == DM_OK;
                     m++)
                    if ((batches[k] >= 16 || blocks[m] == -1) &&
                        (blocks[m] != -1 || batches[k] <= 64))
                        status = measure_gru(b, &s, batches[k], (dm_gru_kind)kind, blocks[m], err);
            }
            subject_deinit(&s);
        }
    }
    dm_json_end_array(&b->json);
    return status;
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

static dm_status run(bench *b, const char *id, const char *only, dm_buffer *out, dm_error *err)
{
    static const struct {
        const char *name;
        dm_status (*run)(bench *, dm_error *);
    } parts[] = {{"check_gru", part_check_gru},
                 {"check_batch", part_check_batch},
                 {"check_cluster", part_check_cluster},
                 {"rollout", part_rollout},
                 {"batch", part_batch},
                 {"gru", part_gru}};
    dm_status status = dm_device_open(id, &b->device, err);
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
        if (!wanted(only, parts[i].name))
            continue;
        status = parts[i].run(b, err);
        fflush(stdout);
        fprintf(stderr, "%s: %.1f s\n", parts[i].name, 1e-9 * (double)(dm_time_ns() - start));
    }
    if (status == DM_OK) {
        dm_json_end_object(&b->json);
        dm_json_finish(&b->json);
    }
    dm_device_close(b->device);
    return status;
}

int main(int argc, char **argv)
{
    const char *id = "cpu:1", *json_path = NULL, *only = NULL;
    bench b = {0};
    dm_error err = {0};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--device") == 0 && more) {
            id = argv[++i];
        } else if (strcmp(argv[i], "--only") == 0 && more) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0 && more) {
            json_path = argv[++i];
        } else if (strcmp(argv[i], "--dump") == 0 && more) {
            b.dump = argv[++i];
        } else if (strcmp(argv[i], "--quick") == 0) {
            b.quick = true;
        } else {
            fprintf(stderr,
                    "usage: dm-bench-dynamics [--device ID] [--only PART,...] [--json FILE] "
                    "[--dump FOLDER] [--quick]\n");
            return 2;
        }
    }
    dm_buffer json = DM_BUFFER_EMPTY;
    dm_status status = run(&b, id, only, &json, &err);
    if (status == DM_OK && json_path != NULL)
        status = dm_file_write(json_path, json.data, json.size, &err);
    dm_buffer_deinit(&json);
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-dynamics: %s\n", err.message);
    if (b.wrong > 0)
        printf("%d values WRONG\n", b.wrong);
    return status == DM_OK && b.wrong == 0 ? 0 : 1;
}
