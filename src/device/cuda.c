/* SPDX-License-Identifier: MIT */
/* cuda.c - NVIDIA GPUs as devices, through the driver API.
 *
 * Every operation makes the device's primary context current, calls the driver, and puts back the
 * context that the calling thread had, if it had another. The queries that this needs are a few
 * nanoseconds; a launch adds no allocation and no synchronisation of its own. */
#include "device/cuda_api.h"
#include "device/internal.h"
#include "device/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_SIZE_MAX 4096         /* of a kernel's parameters, on every GPU */
#define SHARED_BYTES_DEFAULT 49152 /* more dynamic shared memory must be asked for */
#define PORTABLE_CLUSTER 8         /* blocks that every GPU with clusters takes */

/* ---- Description ---- */

static const dm_cuda_api *cu; /* set by the first successful call of api() */

static dm_status api(dm_error *err)
{
    const dm_cuda_api *found;
    dm_status status = dm_cuda_api_get(&found, err);
    if (status == DM_OK)
        __atomic_store_n(&cu, found, __ATOMIC_RELEASE);
    return status;
}

size_t dm_cuda_count(void)
{
    return api(NULL) == DM_OK ? (size_t)cu->count : 0;
}

static int attribute(int device, int which)
{
    int value = 0;
    return cu->device_attribute(&value, which, device) == CU_SUCCESS ? value : 0;
}

dm_status dm_cuda_describe(int index, dm_device_properties *out, dm_error *err)
{
    memset(out, 0, sizeof *out);
    dm_status status = api(err);
    if (status != DM_OK)
        return status;
    if (index >= cu->count)
        return dm_fail(err, DM_EUNAVAILABLE, "cuda:%d: there %s only %d NVIDIA GPU%s", index,
                       cu->count == 1 ? "is" : "are", cu->count, cu->count == 1 ? "" : "s");
    int device, code;
    size_t bytes = 0;
    code = cu->device_get(&device, index);
    if (code == CU_SUCCESS)
        code = cu->device_name(out->name, (int)sizeof out->name, device);
    if (code == CU_SUCCESS)
        code = cu->device_memory(&bytes, device);
    if (code != CU_SUCCESS)
        return dm_cuda_fail(cu, code, err, "cuda:%d", index);
    out->kind = DM_DEVICE_CUDA;
    out->index = index;
    snprintf(out->id, sizeof out->id, "cuda:%d", index);
    snprintf(out->arch, sizeof out->arch, "sm_%d%d", attribute(device, CU_ATTRIBUTE_MAJOR),
             attribute(device, CU_ATTRIBUTE_MINOR));
    out->memory_bytes = bytes;
    out->multiprocessors = attribute(device, CU_ATTRIBUTE_MULTIPROCESSORS);
    out->lanes = attribute(device, CU_ATTRIBUTE_WARP_SIZE);
    out->block_threads_max = attribute(device, CU_ATTRIBUTE_BLOCK_THREADS);
    out->shared_bytes_max = (uint64_t)attribute(device, CU_ATTRIBUTE_SHARED_OPTIN);
    out->l2_bytes = (uint64_t)attribute(device, CU_ATTRIBUTE_L2_BYTES);
    out->clock_khz = attribute(device, CU_ATTRIBUTE_CLOCK_KHZ);
    return DM_OK;
}

/* ---- The context ---- */

/* Make `device`'s context current; `*previous` goes to leave(). */
static int enter(const dm_device *device, void **previous)
{
    int code = cu->context_get(previous);
    if (code == CU_SUCCESS && *previous != device->state)
        code = cu->context_set(device->state);
    return code;
}

static void leave(const dm_device *device, void *previous)
{
    if (previous != NULL && previous != device->state)
        cu->context_set(previous);
}

/* Run one driver call in the device's context; `code` gets its result. */
#define IN_CONTEXT(device, code, call)                                                             \
    do {                                                                                           \
        void *previous_ = NULL;                                                                    \
        (code) = enter((device), &previous_);                                                      \
        if ((code) == CU_SUCCESS) {                                                                \
            (code) = (call);                                                                       \
            leave((device), previous_);                                                            \
        }                                                                                          \
    } while (0)

static dm_status result(const dm_device *device, int code, const char *what, dm_error *err)
{
    if (code == CU_SUCCESS)
        return DM_OK;
    return dm_cuda_fail(cu, code, err, "%s: %s", device->properties.id, what);
}

static void cuda_close(dm_device *device)
{
    int code, handle;
    (void)code;
    if (device->stream.native != NULL)
        IN_CONTEXT(device, code, cu->stream_destroy(device->stream.native));
    if (cu->device_get(&handle, device->properties.index) == CU_SUCCESS) {
        void *current = NULL;
        /* The thread must not be left in a context that may go away. */
        if (cu->context_get(&current) == CU_SUCCESS && current == device->state)
            cu->context_set(NULL);
        cu->primary_release(handle);
    }
}

static dm_status cuda_memory_free(dm_device *device, uint64_t *out, dm_error *err)
{
    size_t bytes = 0, total = 0;
    int code;
    IN_CONTEXT(device, code, cu->memory_info(&bytes, &total));
    *out = bytes;
    return result(device, code, "free memory", err);
}

/* ---- Memory ---- */

static dm_status cuda_alloc(dm_device *device, size_t size, void **out, dm_error *err)
{
    int code;
    IN_CONTEXT(device, code, cu->memory_alloc(out, size));
    if (code == CU_SUCCESS)
        return DM_OK;
    return dm_cuda_fail(cu, code, err, "%s: allocating %zu bytes", device->properties.id, size);
}

static void cuda_free(dm_device *device, void *address)
{
    int code;
    (void)code;
    IN_CONTEXT(device, code, cu->memory_free(address));
}

static dm_status cuda_host_alloc(dm_device *device, size_t size, void **out, dm_error *err)
{
    int code;
    IN_CONTEXT(device, code, cu->host_alloc(out, size, 0));
    if (code == CU_SUCCESS)
        return DM_OK;
    return dm_cuda_fail(cu, code, err, "%s: allocating %zu bytes of page-locked host memory",
                        device->properties.id, size);
}

static void cuda_host_free(dm_device *device, void *memory)
{
    int code;
    (void)code;
    IN_CONTEXT(device, code, cu->host_free(memory));
}

static dm_status cuda_upload(dm_stream *stream, void *to, const void *from, size_t size,
                             dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->copy_to_device(to, from, size, stream->native));
    return result(stream->device, code, "upload", err);
}

static dm_status cuda_download(dm_stream *stream, void *to, const void *from, size_t size,
                               dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->copy_to_host(to, from, size, stream->native));
    return result(stream->device, code, "download", err);
}

static dm_status cuda_copy(dm_stream *stream, void *to, const void *from, size_t size,
                           dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->copy_on_device(to, from, size, stream->native));
    return result(stream->device, code, "copy", err);
}

static dm_status cuda_fill(dm_stream *stream, void *to, uint8_t value, size_t size, dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->fill_bytes(to, value, size, stream->native));
    return result(stream->device, code, "fill", err);
}

/* ---- Streams and events ---- */

static dm_status cuda_stream_create(dm_device *device, void **out, dm_error *err)
{
    int code;
    IN_CONTEXT(device, code, cu->stream_create(out, CU_STREAM_NON_BLOCKING));
    return result(device, code, "creating a stream", err);
}

static void cuda_stream_destroy(dm_device *device, void *native)
{
    int code;
    (void)code;
    IN_CONTEXT(device, code, cu->stream_destroy(native));
}

static dm_status cuda_stream_synchronize(dm_stream *stream, dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->stream_synchronize(stream->native));
    return result(stream->device, code, "queued work failed", err);
}

static dm_status cuda_stream_wait(dm_stream *stream, const dm_event *event, dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->stream_wait(stream->native, event->native, 0));
    return result(stream->device, code, "waiting for an event", err);
}

static dm_status cuda_event_create(dm_event *event, dm_error *err)
{
    int code;
    IN_CONTEXT(event->device, code, cu->event_create(&event->native, 0));
    return result(event->device, code, "creating an event", err);
}

static void cuda_event_destroy(dm_event *event)
{
    int code;
    (void)code;
    IN_CONTEXT(event->device, code, cu->event_destroy(event->native));
}

static dm_status cuda_event_record(dm_event *event, dm_stream *stream, dm_error *err)
{
    int code;
    IN_CONTEXT(event->device, code, cu->event_record(event->native, stream->native));
    return result(event->device, code, "recording an event", err);
}

static dm_status cuda_event_synchronize(dm_event *event, dm_error *err)
{
    int code;
    IN_CONTEXT(event->device, code, cu->event_synchronize(event->native));
    return result(event->device, code, "queued work failed", err);
}

static dm_status cuda_event_elapsed(const dm_event *begin, const dm_event *end, double *ms,
                                    dm_error *err)
{
    float value = 0;
    int code;
    IN_CONTEXT(begin->device, code, cu->event_elapsed(&value, begin->native, end->native));
    *ms = (double)value;
    if (code == CU_NOT_READY)
        return dm_fail(err, DM_EINVAL, "the event has not happened yet");
    return result(begin->device, code, "time between events", err);
}

/* ---- Modules and launches ---- */

static dm_status cuda_module_load(dm_module *module, const dm_module_desc *desc, dm_error *err)
{
    dm_device *device = module->device;
    const char *arch = desc->arch != NULL ? desc->arch : device->properties.arch;
    char *image = NULL;
    size_t size;
    dm_status status = dm_nvrtc_compile(desc, arch, &image, &size, &module->was_cached, err);
    if (status != DM_OK)
        return status;
    int code;
    IN_CONTEXT(device, code, cu->module_load(&module->native, image));
    free(image);
    if (code == CU_SUCCESS)
        return DM_OK;
    return dm_cuda_fail(cu, code, err, "%s: loading %s built for %s", device->properties.id,
                        desc->name, arch);
}

static void cuda_module_unload(dm_module *module)
{
    int code;
    (void)code;
    IN_CONTEXT(module->device, code, cu->module_unload(module->native));
}

static dm_status cuda_function_find(dm_function *function, dm_error *err)
{
    const dm_module *module = function->module;
    int code;
    IN_CONTEXT(module->device, code,
               cu->module_function(&function->native, module->native, function->name));
    if (code == CU_NOT_FOUND)
        return dm_fail(err, DM_ENOENT, "%s: no kernel is called '%s'", module->name,
                       function->name);
    if (code != CU_SUCCESS)
        return result(module->device, code, function->name, err);
    size_t offset = 0, size = 0;
    if (cu->function_param != NULL) {
        IN_CONTEXT(module->device, code, cu->function_param(function->native, 0, &offset, &size));
        function->args_size = code == CU_SUCCESS ? size : 0;
    }
    return DM_OK;
}

static dm_status cuda_function_properties(const dm_function *function, dm_function_properties *out,
                                          dm_error *err)
{
    static const int which[4] = {CU_FUNCTION_REGISTERS, CU_FUNCTION_BLOCK_THREADS,
                                 CU_FUNCTION_LOCAL_BYTES, CU_FUNCTION_SHARED_BYTES};
    const dm_device *device = function->module->device;
    int values[4] = {0}, code = CU_SUCCESS;
    for (int i = 0; i < 4 && code == CU_SUCCESS; i++)
        IN_CONTEXT(device, code, cu->function_get(&values[i], which[i], function->native));
    out->registers = values[0];
    out->block_threads_max = values[1];
    out->local_bytes = (uint64_t)values[2];
    out->shared_bytes = (uint64_t)values[3];
    return result(device, code, function->name, err);
}

/* More than the default amount of dynamic shared memory is enabled once per function. */
static int allow_shared(dm_function *function, uint32_t bytes)
{
    if (bytes <= SHARED_BYTES_DEFAULT || bytes <= atomic_load(&function->shared_allowed))
        return CU_SUCCESS;
    int code = cu->function_set(function->native, CU_FUNCTION_DYNAMIC_SHARED, (int)bytes);
    if (code == CU_SUCCESS)
        atomic_store(&function->shared_allowed, bytes);
    return code;
}

static bool has_clusters(const dm_device *device)
{
    return strtol(device->properties.arch + strlen("sm_"), NULL, 10) >= 90;
}

/* Clusters of more than 8 blocks are not on every GPU and are asked for once per function. */
static int launch_clusters(dm_function *function, const dm_stream *stream, dm_grid grid,
                           uint32_t cluster_blocks, void **block)
{
    if (cluster_blocks > PORTABLE_CLUSTER && !atomic_load(&function->large_clusters)) {
        int code = cu->function_set(function->native, CU_FUNCTION_LARGE_CLUSTERS, 1);
        if (code != CU_SUCCESS)
            return code;
        atomic_store(&function->large_clusters, true);
    }
    dm_cuda_attribute cluster = {.id = CU_LAUNCH_CLUSTER, .value = {cluster_blocks, 1, 1}};
    dm_cuda_launch config = {.grid = {grid.blocks, 1, 1},
                             .block = {grid.block_threads, 1, 1},
                             .shared_bytes = grid.shared_bytes,
                             .stream = stream->native,
                             .attributes = &cluster,
                             .attribute_count = 1};
    return cu->launch_ex(&config, function->native, NULL, block);
}

static dm_status cuda_launch(const dm_function *function, dm_stream *stream, dm_grid grid,
                             uint32_t cluster_blocks, const void *args, size_t args_size,
                             dm_error *err)
{
    const dm_device *device = function->module->device;
    if (args_size > ARGS_SIZE_MAX)
        return dm_fail(err, DM_EINVAL, "%s: an argument block has at most %d bytes, not %zu",
                       function->name, ARGS_SIZE_MAX, args_size);
    if (cluster_blocks > 1 && (cu->launch_ex == NULL || !has_clusters(device)))
        return dm_fail(err, DM_EUNSUPPORTED, "%s: clusters need compute capability 9.0, %s is %s",
                       function->name, device->properties.id, device->properties.arch);
    void *block[] = {CU_LAUNCH_BUFFER_POINTER, (void *)args, CU_LAUNCH_BUFFER_SIZE, &args_size,
                     CU_LAUNCH_END};
    void *previous = NULL;
    int code = enter(device, &previous);
    if (code == CU_SUCCESS) {
        if (grid.shared_bytes > SHARED_BYTES_DEFAULT)
            code = allow_shared((dm_function *)function, grid.shared_bytes);
        if (code == CU_SUCCESS && cluster_blocks > 1)
            code = launch_clusters((dm_function *)function, stream, grid, cluster_blocks, block);
        else if (code == CU_SUCCESS)
            code = cu->launch(function->native, grid.blocks, 1, 1, grid.block_threads, 1, 1,
                              grid.shared_bytes, stream->native, NULL, block);
        leave(device, previous);
    }
    if (code == CU_SUCCESS)
        return DM_OK;
    return dm_cuda_fail(cu, code, err, "%s: launching %s on %u blocks of %u threads",
                        device->properties.id, function->name, grid.blocks, grid.block_threads);
}

static dm_status cuda_capture_begin(dm_stream *stream, dm_error *err)
{
    int code;
    IN_CONTEXT(stream->device, code, cu->capture_begin(stream->native, CU_CAPTURE_THREAD_LOCAL));
    return result(stream->device, code, "starting a capture", err);
}

static dm_status cuda_capture_end(dm_stream *stream, void **exec, dm_error *err)
{
    void *graph = NULL, *previous = NULL;
    int code = enter(stream->device, &previous);
    if (code != CU_SUCCESS)
        return result(stream->device, code, "ending a capture", err);
    code = cu->capture_end(stream->native, &graph);
    if (code == CU_SUCCESS && cu->graph_instantiate == NULL) {
        cu->graph_destroy(graph);
        leave(stream->device, previous);
        return dm_fail(err, DM_EUNSUPPORTED, "graphs need a driver for CUDA 11.4 or newer");
    }
    if (code == CU_SUCCESS) {
        code = cu->graph_instantiate(exec, graph, 0);
        cu->graph_destroy(graph);
    }
    leave(stream->device, previous);
    return result(stream->device, code, "ending a capture", err);
}

static dm_status cuda_graph_launch(dm_graph *graph, dm_stream *stream, dm_error *err)
{
    int code;
    IN_CONTEXT(graph->device, code, cu->graph_launch(graph->native, stream->native));
    return result(graph->device, code, "launching a graph", err);
}

static void cuda_graph_destroy(dm_graph *graph)
{
    int code;
    (void)code;
    IN_CONTEXT(graph->device, code, cu->graph_exec_destroy(graph->native));
}

static const dm_device_ops cuda_ops = {
    .close = cuda_close,
    .memory_free = cuda_memory_free,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_synchronize = cuda_stream_synchronize,
    .stream_wait = cuda_stream_wait,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_synchronize = cuda_event_synchronize,
    .event_elapsed = cuda_event_elapsed,
    .module_load = cuda_module_load,
    .module_unload = cuda_module_unload,
    .function_find = cuda_function_find,
    .function_properties = cuda_function_properties,
    .launch = cuda_launch,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .graph_launch = cuda_graph_launch,
    .graph_destroy = cuda_graph_destroy,
};

dm_status dm_cuda_open(dm_device *device, int number, dm_error *err)
{
    int index = number < 0 ? 0 : number, handle = 0;
    dm_status status = dm_cuda_describe(index, &device->properties, err);
    if (status != DM_OK)
        return status;
    int code = cu->device_get(&handle, index);
    if (code == CU_SUCCESS)
        code = cu->primary_retain(&device->state, handle);
    if (code != CU_SUCCESS)
        return result(device, code, "creating a context", err);
    device->ops = &cuda_ops;
    status = cuda_stream_create(device, &device->stream.native, err);
    if (status != DM_OK)
        cu->primary_release(handle);
    return status;
}
