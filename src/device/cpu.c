/* SPDX-License-Identifier: MIT */
/* cpu.c - the CPU as a device: memory is the host's, streams do nothing, a launch spreads its grid
 * over a thread pool and is finished when it returns. */
#include "base/thread.h"
#include "device/cc.h"
#include "device/internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define THREADS_MAX 1024
#define ALIGNMENT 256 /* as much as cuMemAlloc promises */

/* ---- Description ---- */

/* The value after "key   : " in a file of such lines; empty when there is none. */
static void read_field(const char *path, const char *key, char *out, size_t size)
{
    char line[1024];
    out[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    while (out[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || colon == NULL)
            continue;
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
    fclose(file);
}

void dm_cpu_describe(dm_device_properties *out)
{
    memset(out, 0, sizeof *out);
    out->kind = DM_DEVICE_CPU;
    snprintf(out->id, sizeof out->id, "cpu");
    read_field("/proc/cpuinfo", "model name", out->name, sizeof out->name);
    struct utsname system;
    if (uname(&system) == 0)
        snprintf(out->arch, sizeof out->arch, "%.15s", system.machine);
    if (out->name[0] == '\0')
        snprintf(out->name, sizeof out->name, "%s CPU", out->arch);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    out->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    out->l2_bytes = l2 > 0 ? (uint64_t)l2 : 0;
    out->multiprocessors = dm_cpu_count();
    out->lanes = 1;
    out->block_threads_max = 1024;
}

static void cpu_close(dm_device *device)
{
    dm_pool_destroy(device->state);
}

static dm_status cpu_memory_free(dm_device *device, uint64_t *out, dm_error *err)
{
    (void)device;
    char text[64];
    read_field("/proc/meminfo", "MemAvailable", text, sizeof text);
    if (text[0] == '\0')
        return dm_fail(err, DM_EUNSUPPORTED, "free memory is unknown on this system");
    *out = strtoull(text, NULL, 10) * 1024;
    return DM_OK;
}

/* ---- Memory ---- */

static dm_status cpu_alloc(dm_device *device, size_t size, void **out, dm_error *err)
{
    (void)device;
    if (posix_memalign(out, ALIGNMENT, size) == 0)
        return DM_OK;
    *out = NULL;
    return dm_fail(err, DM_ENOMEM, "cpu: out of memory allocating %zu bytes", size);
}

static void cpu_free(dm_device *device, void *address)
{
    (void)device;
    free(address);
}

static dm_status cpu_copy(dm_stream *stream, void *to, const void *from, size_t size, dm_error *err)
{
    (void)stream;
    (void)err;
    memmove(to, from, size);
    return DM_OK;
}

static dm_status cpu_fill(dm_stream *stream, void *to, uint8_t value, size_t size, dm_error *err)
{
    (void)stream;
    (void)err;
    memset(to, value, size);
    return DM_OK;
}

/* ---- Streams and events ---- */

static dm_status cpu_stream_create(dm_device *device, void **out, dm_error *err)
{
    (void)device;
    (void)err;
    *out = NULL;
    return DM_OK;
}

static void cpu_stream_destroy(dm_device *device, void *native)
{
    (void)device;
    (void)native;
}

static dm_status cpu_stream_synchronize(dm_stream *stream, dm_error *err)
{
    (void)stream;
    (void)err;
    return DM_OK;
}

static dm_status cpu_stream_wait(dm_stream *stream, const dm_event *event, dm_error *err)
{
    (void)stream;
    (void)event;
    (void)err;
    return DM_OK;
}

static dm_status cpu_event_create(dm_event *event, dm_error *err)
{
    (void)event;
    (void)err;
    return DM_OK;
}

static void cpu_event_destroy(dm_event *event)
{
    (void)event;
}

static dm_status cpu_event_record(dm_event *event, dm_stream *stream, dm_error *err)
{
    (void)stream;
    (void)err;
    event->time_ns = dm_time_ns();
    return DM_OK;
}

static dm_status cpu_event_synchronize(dm_event *event, dm_error *err)
{
    (void)event;
    (void)err;
    return DM_OK;
}

static dm_status cpu_event_elapsed(const dm_event *begin, const dm_event *end, double *ms,
                                   dm_error *err)
{
    if (begin->time_ns == 0 || end->time_ns == 0)
        return dm_fail(err, DM_EINVAL, "the event was never recorded");
    *ms = 1e-6 * (double)(int64_t)(end->time_ns - begin->time_ns);
    return DM_OK;
}

/* ---- Modules and launches ---- */

static dm_status cpu_module_load(dm_module *module, const dm_module_desc *desc, dm_error *err)
{
    return dm_cc_load(desc, &module->native, &module->was_cached, err);
}

static void cpu_module_unload(dm_module *module)
{
    dlclose(module->native);
}

static dm_status cpu_function_find(dm_function *function, dm_error *err)
{
    const dm_module *module = function->module;
    for (size_t i = 0; i < module->builtin_count; i++) {
        if (strcmp(module->builtins[i].name, function->name) == 0) {
            function->loop = module->builtins[i].loop;
            function->args_size = module->builtins[i].args_size;
            return DM_OK;
        }
    }
    char size_name[256];
    const uint64_t *size = NULL;
    if (module->native != NULL && snprintf(size_name, sizeof size_name, "%s_args_size",
                                           function->name) < (int)sizeof size_name) {
        void *symbol = dlsym(module->native, function->name);
        memcpy(&function->loop, &symbol, sizeof symbol);
        size = dlsym(module->native, size_name);
    }
    /* Both, so that a plain function of the module is not taken for a kernel. */
    if (function->loop == NULL || size == NULL)
        return dm_fail(err, DM_ENOENT, "%s: no kernel is called '%s'", module->name,
                       function->name);
    function->args_size = (size_t)*size;
    return DM_OK;
}

static dm_status cpu_function_properties(const dm_function *function, dm_function_properties *out,
                                         dm_error *err)
{
    (void)err;
    out->block_threads_max = function->module->device->properties.block_threads_max;
    return DM_OK;
}

typedef struct cpu_launch {
    dm_kernel_loop loop;
    const void *args;
    uint64_t count;
} cpu_launch;

static void launch_part(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    const cpu_launch *launch = user;
    launch->loop(launch->args, begin, end, launch->count);
}

static dm_status cpu_function_launch(const dm_function *function, dm_stream *stream, dm_grid grid,
                                     uint32_t cluster_blocks, const void *args, size_t args_size,
                                     dm_error *err)
{
    (void)args_size;
    if (cluster_blocks > 1)
        return dm_fail(err, DM_EUNSUPPORTED, "%s: the CPU has no clusters of blocks",
                       function->name);
    cpu_launch launch = {function->loop, args, (uint64_t)grid.blocks * grid.block_threads};
    dm_pool_run(stream->device->state, launch.count, 0, launch_part, &launch);
    return DM_OK;
}

static dm_status no_graphs(dm_error *err)
{
    return dm_fail(err, DM_EUNSUPPORTED, "the CPU has no graphs to capture");
}

static dm_status cpu_capture_begin(dm_stream *stream, dm_error *err)
{
    (void)stream;
    return no_graphs(err);
}

static dm_status cpu_capture_end(dm_stream *stream, void **graph, dm_error *err)
{
    (void)stream;
    (void)graph;
    return no_graphs(err);
}

static dm_status cpu_graph_launch(dm_graph *graph, dm_stream *stream, dm_error *err)
{
    (void)graph;
    (void)stream;
    return no_graphs(err);
}

static void cpu_graph_destroy(dm_graph *graph)
{
    (void)graph;
}

static const dm_device_ops cpu_ops = {
    .close = cpu_close,
    .memory_free = cpu_memory_free,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_alloc = cpu_alloc,
    .host_free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .stream_synchronize = cpu_stream_synchronize,
    .stream_wait = cpu_stream_wait,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_synchronize = cpu_event_synchronize,
    .event_elapsed = cpu_event_elapsed,
    .module_load = cpu_module_load,
    .module_unload = cpu_module_unload,
    .function_find = cpu_function_find,
    .function_properties = cpu_function_properties,
    .launch = cpu_function_launch,
    .capture_begin = cpu_capture_begin,
    .capture_end = cpu_capture_end,
    .graph_launch = cpu_graph_launch,
    .graph_destroy = cpu_graph_destroy,
};

dm_status dm_cpu_open(dm_device *device, int number, dm_error *err)
{
    if (number > THREADS_MAX)
        return dm_fail(err, DM_EINVAL, "cpu:%d: at most %d threads", number, THREADS_MAX);
    dm_pool *pool;
    dm_status status = dm_pool_create(number < 0 ? 0 : number, &pool, err);
    if (status != DM_OK)
        return status;
    dm_cpu_describe(&device->properties);
    device->properties.multiprocessors = dm_pool_threads(pool);
    device->ops = &cpu_ops;
    device->state = pool;
    return DM_OK;
}
