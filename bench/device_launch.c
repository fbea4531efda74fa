/* SPDX-License-Identifier: MIT */
/* device_launch.c - what the device layer costs.
 *
 *   device_launch [--device cuda:0|cpu] [--rounds N] [--json FILE]
 *
 * Empty launches through dm_function_launch and through the bare driver call (for the CPU: the bare
 * thread pool), in turns in one process so that clocks and caches are shared: the time in which the
 * host queues a batch, and until the batch has run. Then a warm start: in a fresh process with
 * an open device, load a cached kernel, launch it and wait. Medians over the rounds.
 *
 * Exit code 1 when the device is missing or something failed, 0 otherwise: judging the figures is
 * the caller's business (tools/gpu-check). */
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/median.h"
#include "base/thread.h"
#include "device/cuda_api.h"
#include "device/internal.h"
#include "device/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 500
#define ROUNDS_MAX 1000
#define STARTS 7

typedef struct figures {
    double ours_queue_us, bare_queue_us; /* per launch, host time until queued */
    double ours_run_us, bare_run_us;     /* per launch, until the batch has run */
    double graph_run_us; /* per launch of a replayed graph; NaN where there is none */
    double warm_start_ms, open_ms;
    double cold_ms; /* module from source, with the compiler's start */
} figures;

typedef struct subject {
    dm_device *device;
    dm_stream *stream;
    dm_module *module;
    dm_function *function;
    const dm_cuda_api *cu; /* NULL for the CPU */
} subject;

static double ms_since(uint64_t start)
{
    return 1e-6 * (double)(dm_time_ns() - start);
}

static dm_status launch_ours(subject *s, dm_error *err)
{
    uint64_t args = 0;
    return dm_function_launch(s->function, s->stream, (dm_grid){1, 32, 0}, &args, sizeof args, err);
}

static void bare_part(void *user, uint64_t first, uint64_t last, int worker)
{
    (void)worker;
    uint64_t args = 0;
    ((dm_function *)user)->loop(&args, first, last, 32);
}

/* The least that a program without our layer would do; the context is current. */
static dm_status launch_bare(subject *s, dm_error *err)
{
    uint64_t args = 0;
    if (s->cu == NULL) {
        dm_pool_run(s->device->state, 32, 0, bare_part, s->function);
        return DM_OK;
    }
    void *params[] = {&args};
    int code =
        s->cu->launch(s->function->native, 1, 1, 1, 32, 1, 1, 0, s->stream->native, params, NULL);
    return code == 0 ? DM_OK : dm_cuda_fail(s->cu, code, err, "bare launch");
}

/* One batch; per-launch microseconds. */
static dm_status time_batch(subject *s, dm_status (*launch)(subject *, dm_error *),
                            double *queue_us, double *run_us, dm_error *err)
{
    uint64_t start = dm_time_ns();
    dm_status status = DM_OK;
    for (int i = 0; i < BATCH && status == DM_OK; i++)
        status = launch(s, err);
    *queue_us = 1e3 * ms_since(start) / BATCH;
    if (status == DM_OK)
        status = dm_stream_synchronize(s->stream, err);
    *run_us = 1e3 * ms_since(start) / BATCH;
    return status;
}

static dm_status measure_launches(subject *s, int rounds, figures *f, dm_error *err)
{
    static double queue[2][ROUNDS_MAX], run[2][ROUNDS_MAX];
    dm_status status = DM_OK;
    double ignored;
    for (int i = 0; i < 3 && status == DM_OK; i++) { /* warm up */
        status = time_batch(s, launch_bare, &ignored, &ignored, err);
        if (status == DM_OK)
            status = time_batch(s, launch_ours, &ignored, &ignored, err);
    }
    for (int i = 0; i < rounds && status == DM_OK; i++) {
        /* Who goes first alternates. */
        for (int k = 0; k < 2 && status == DM_OK; k++) {
            int which = (i + k) & 1;
            status = time_batch(s, which == 0 ? launch_ours : launch_bare, &queue[which][i],
                                &run[which][i], err);
        }
    }
    f->ours_queue_us = dm_median(queue[0], (size_t)rounds);
    f->bare_queue_us = dm_median(queue[1], (size_t)rounds);
    f->ours_run_us = dm_median(run[0], (size_t)rounds);
    f->bare_run_us = dm_median(run[1], (size_t)rounds);
    return status;
}

static dm_status measure_graph(subject *s, int rounds, figures *f, dm_error *err)
{
    static double run[ROUNDS_MAX];
    dm_graph *graph;
    f->graph_run_us = NAN;
    if (s->cu == NULL)
        return DM_OK;
    dm_status status = dm_graph_capture_begin(s->stream, err);
    for (int i = 0; i < BATCH && status == DM_OK; i++)
        status = launch_ours(s, err);
    if (status != DM_OK)
        return status;
    status = dm_graph_capture_end(s->stream, &graph, err);
    for (int i = -2; i < rounds && status == DM_OK; i++) {
        uint64_t start = dm_time_ns();
        status = dm_graph_launch(graph, s->stream, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(s->stream, err);
        if (i >= 0)
            run[i] = 1e3 * ms_since(start) / BATCH;
    }
    if (status == DM_OK) {
        f->graph_run_us = dm_median(run, (size_t)rounds);
        dm_graph_destroy(graph);
    }
    return status;
}

static dm_status load(subject *s, dm_error *err)
{
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
    dm_status status = dm_module_create(s->device, &desc, &s->module, err);
    return status != DM_OK ? status
                           : dm_module_function(s->module, "dm_selftest_empty", &s->function, err);
}

/* In a process of its own (--start): prints milliseconds to open the device, and from there to a
 * finished launch. */
static dm_status run_start(const char *id, dm_error *err)
{
    subject s = {0};
    uint64_t start = dm_time_ns();
    dm_status status = dm_device_open(id, &s.device, err);
    if (status != DM_OK)
        return status;
    double open_ms = ms_since(start);
    s.stream = dm_device_stream(s.device);
    start = dm_time_ns();
    status = load(&s, err);
    if (status == DM_OK)
        status = launch_ours(&s, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(s.stream, err);
    if (status != DM_OK)
        return status;
    printf("%.6f %.6f %d\n", open_ms, ms_since(start), dm_module_was_cached(s.module));
    dm_module_destroy(s.module);
    dm_device_close(s.device);
    return DM_OK;
}

static dm_status measure_starts(const char *id, figures *f, dm_error *err)
{
    double opens[STARTS], starts[STARTS];
    char program[DM_PATH_MAX], command[DM_PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return dm_fail(err, DM_EIO, "/proc/self/exe cannot be read");
    program[length] = '\0';
    snprintf(command, sizeof command, "'%s' --start --device %s", program, id);
    for (int i = 0; i < STARTS; i++) {
        int cached = 0;
        FILE *child = popen(command, "r");
        int fields =
            child == NULL ? 0 : fscanf(child, "%lf %lf %d", &opens[i], &starts[i], &cached);
        if (child == NULL || pclose(child) != 0 || fields != 3)
            return dm_fail(err, DM_EIO, "the start in a fresh process failed");
        if (!cached)
            return dm_fail(err, DM_EINTERNAL, "the kernel was not taken from the cache");
    }
    f->open_ms = dm_median(opens, STARTS);
    f->warm_start_ms = dm_median(starts, STARTS);
    return DM_OK;
}

/* A text that no cache has. */
static dm_status measure_cold(dm_device *device, figures *f, dm_error *err)
{
    char text[256];
    dm_module *module;
    snprintf(text, sizeof text, "/* %llu */\n#include \"%s\"\n", (unsigned long long)dm_time_ns(),
             DM_SELFTEST_TEXT);
    uint64_t start = dm_time_ns();
    dm_status status =
        dm_module_create(device, &(dm_module_desc){.name = "cold", .text = text}, &module, err);
    f->cold_ms = ms_since(start);
    if (status == DM_OK)
        dm_module_destroy(module);
    return status;
}

static dm_status measure(const char *id, int rounds, figures *f, dm_device_properties *properties,
                         dm_error *err)
{
    subject s = {0};
    dm_status status = dm_device_open(id, &s.device, err);
    if (status != DM_OK)
        return status;
    *properties = *dm_device_get_properties(s.device);
    s.stream = dm_device_stream(s.device);
    if (properties->kind == DM_DEVICE_CUDA)
        status = dm_cuda_api_get(&s.cu, err);
    if (status == DM_OK)
        status = measure_cold(s.device, f, err);
    if (status == DM_OK)
        status = load(&s, err);
    if (status == DM_OK)
        status = measure_launches(&s, rounds, f, err);
    if (status == DM_OK)
        status = measure_graph(&s, rounds, f, err);
    if (status == DM_OK)
        status = measure_starts(id, f, err);
    dm_module_destroy(s.module);
    dm_device_close(s.device);
    return status;
}

static void print_table(const figures *f, const dm_device_properties *p)
{
    printf("%s (%s)\n", p->name, p->id);
    printf("  empty launch           dotmatrix      bare   ratio\n");
    printf("    queued by the host  %7.3f us %7.3f us %7.3f\n", f->ours_queue_us, f->bare_queue_us,
           f->ours_queue_us / f->bare_queue_us);
    printf("    run                 %7.3f us %7.3f us %7.3f\n", f->ours_run_us, f->bare_run_us,
           f->ours_run_us / f->bare_run_us);
    if (!isnan(f->graph_run_us))
        printf("    run in a graph      %7.3f us\n", f->graph_run_us);
    printf("  warm start            %7.3f ms (after %.1f ms to open the device)\n",
           f->warm_start_ms, f->open_ms);
    printf("  cold start            %7.1f ms (compiled)\n", f->cold_ms);
}

static void make_json(dm_buffer *out, const figures *f, const dm_device_properties *p, int rounds)
{
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    dm_json json;
    dm_json_init(&json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "benchmark", "device_launch");
    dm_json_string(&json, "device", p->name);
    dm_json_string(&json, "arch", p->arch);
    dm_json_string(&json, "driver", tools.driver_version);
    dm_json_int(&json, "nvrtc", tools.nvrtc_version);
    dm_json_string(&json, "cc", tools.cc_version);
    dm_json_int(&json, "rounds", rounds);
    dm_json_int(&json, "batch", BATCH);
    dm_json_double(&json, "launch_queue_us", f->ours_queue_us);
    dm_json_double(&json, "bare_queue_us", f->bare_queue_us);
    dm_json_double(&json, "queue_ratio", f->ours_queue_us / f->bare_queue_us);
    dm_json_double(&json, "launch_run_us", f->ours_run_us);
    dm_json_double(&json, "bare_run_us", f->bare_run_us);
    dm_json_double(&json, "run_ratio", f->ours_run_us / f->bare_run_us);
    dm_json_double(&json, "graph_run_us", f->graph_run_us);
    dm_json_double(&json, "open_ms", f->open_ms);
    dm_json_double(&json, "warm_start_ms", f->warm_start_ms);
    dm_json_double(&json, "cold_start_ms", f->cold_ms);
    dm_json_end_object(&json);
    dm_buffer_putc(out, '\n');
}

int main(int argc, char **argv)
{
    const char *id = "cuda:0", *json_path = NULL;
    int rounds = 101;
    bool start = false;
    dm_error err = {0};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--device") == 0 && more) {
            id = argv[++i];
        } else if (strcmp(argv[i], "--rounds") == 0 && more) {
            rounds = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--json") == 0 && more) {
            json_path = argv[++i];
        } else if (strcmp(argv[i], "--start") == 0) {
            start = true;
        } else {
            fprintf(stderr, "usage: device_launch [--device ID] [--rounds N] [--json FILE]\n");
            return 2;
        }
    }
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "device_launch: --rounds: 1 to %d\n", ROUNDS_MAX);
        return 2;
    }
    figures f = {0};
    dm_device_properties properties;
    dm_status status = start ? run_start(id, &err) : measure(id, rounds, &f, &properties, &err);
    if (status == DM_OK && !start) {
        dm_buffer json = DM_BUFFER_EMPTY;
        print_table(&f, &properties);
        make_json(&json, &f, &properties, rounds);
        if (json_path != NULL)
            status = dm_file_write(json_path, json.data, json.size, &err);
        else
            printf("%s", dm_buffer_text(&json));
        dm_buffer_deinit(&json);
    }
    if (status != DM_OK)
        fprintf(stderr, "device_launch: %s\n", err.message);
    return status == DM_OK ? 0 : 1;
}
