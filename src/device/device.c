/* SPDX-License-Identifier: MIT */
/* device.c - the public calls of <dotmatrix/device.h>.
 *
 * Each checks its arguments, so that the operations of cpu.c and cuda.c need not, and dispatches.
 * Objects are reference-counted through their device: closing a device that still has buffers only
 * drops the opener's reference. */
#include "base/require.h"
#include "device/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Devices ---- */

static dm_device *device_retain(dm_device *device)
{
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    return device;
}

static void device_release(dm_device *device)
{
    if (atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) == 1) {
        device->ops->close(device);
        free(device);
    }
}

/* "cuda:12" -> 12; "cuda" -> -1; false when the id does not start with `kind` or is malformed. */
static bool parse_id(const char *id, const char *kind, int *number)
{
    size_t length = strlen(kind);
    if (strncmp(id, kind, length) != 0)
        return false;
    *number = -1;
    if (id[length] == '\0')
        return true;
    const char *digits = id + length + 1;
    size_t count = strspn(digits, "0123456789");
    if (id[length] != ':' || count == 0 || count > 4 || digits[count] != '\0')
        return false;
    *number = atoi(digits);
    return true;
}

dm_status dm_device_open(const char *id, dm_device **out, dm_error *err)
{
    DM_REQUIRE(err, id);
    DM_REQUIRE(err, out);
    *out = NULL;
    int number;
    dm_status (*open)(dm_device *, int, dm_error *);
    if (parse_id(id, "cpu", &number) && number != 0)
        open = dm_cpu_open;
    else if (parse_id(id, "cuda", &number))
        open = dm_cuda_open;
    else
        return dm_fail(err, DM_EINVAL, "device '%s': expected cpu, cpu:THREADS, cuda or cuda:INDEX",
                       id);
    dm_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory opening device '%s'", id);
    atomic_init(&device->references, 1);
    device->stream.device = device;
    dm_status status = open(device, number, err);
    if (status != DM_OK) {
        free(device);
        return status;
    }
    *out = device;
    return DM_OK;
}

void dm_device_close(dm_device *device)
{
    if (device != NULL)
        device_release(device);
}

const dm_device_properties *dm_device_get_properties(const dm_device *device)
{
    if (device == NULL)
        return NULL;
    return &device->properties;
}

dm_status dm_device_memory_free(dm_device *device, uint64_t *out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    return device->ops->memory_free(device, out, err);
}

size_t dm_device_count(dm_device_kind kind)
{
    return kind == DM_DEVICE_CPU ? 1 : dm_cuda_count();
}

size_t dm_device_list(dm_device_properties *out, size_t capacity)
{
    if (out == NULL)
        capacity = 0;
    size_t count = 1;
    if (capacity > 0)
        dm_cpu_describe(&out[0]);
    size_t cuda = dm_cuda_count();
    for (size_t i = 0; i < cuda; i++, count++)
        if (count < capacity)
            dm_cuda_describe((int)i, &out[count], NULL);
    return count;
}

/* Two openings of one device may share objects. */
static bool same_device(const dm_device *a, const dm_device *b)
{
    return a == b ||
           (a->properties.kind == b->properties.kind && a->properties.index == b->properties.index);
}

static dm_status check_device(const dm_device *object, const dm_stream *stream, const char *what,
                              dm_error *err)
{
    if (same_device(object, stream->device))
        return DM_OK;
    return dm_fail(err, DM_EINVAL, "%s is of device %s, the stream of %s", what,
                   object->properties.id, stream->device->properties.id);
}

/* ---- Memory ---- */

static dm_status buffer_wrap(dm_device *device, void *address, size_t size, bool owned,
                             dm_device_buffer **out, dm_error *err)
{
    dm_device_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    buffer->device = device_retain(device);
    buffer->address = address;
    buffer->size = size;
    buffer->owned = owned;
    *out = buffer;
    return DM_OK;
}

dm_status dm_device_buffer_create(dm_device *device, size_t size, dm_device_buffer **out,
                                  dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    void *address = NULL;
    *out = NULL;
    if (size == 0)
        return dm_fail(err, DM_EINVAL, "a device buffer needs at least one byte");
    dm_status status = device->ops->alloc(device, size, &address, err);
    if (status != DM_OK)
        return status;
    status = buffer_wrap(device, address, size, true, out, err);
    if (status != DM_OK)
        device->ops->free(device, address);
    return status;
}

dm_status dm_device_buffer_import(dm_device *device, void *address, size_t size,
                                  dm_device_buffer **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (address == NULL || size == 0)
        return dm_fail(err, DM_EINVAL, "cannot import a null pointer or no bytes");
    return buffer_wrap(device, address, size, false, out, err);
}

void dm_device_buffer_destroy(dm_device_buffer *buffer)
{
    if (buffer == NULL)
        return;
    if (buffer->owned)
        buffer->device->ops->free(buffer->device, buffer->address);
    device_release(buffer->device);
    free(buffer);
}

size_t dm_device_buffer_size(const dm_device_buffer *buffer)
{
    if (buffer == NULL)
        return 0;
    return buffer->size;
}

void *dm_device_buffer_address(const dm_device_buffer *buffer)
{
    if (buffer == NULL)
        return NULL;
    return buffer->address;
}

dm_status dm_device_host_alloc(dm_device *device, size_t size, void **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (size == 0)
        return dm_fail(err, DM_EINVAL, "host memory: needs at least one byte");
    return device->ops->host_alloc(device, size, out, err);
}

void dm_device_host_free(dm_device *device, void *memory)
{
    if (device == NULL)
        return;
    if (memory != NULL)
        device->ops->host_free(device, memory);
}

static dm_status check_range(const dm_device_buffer *buffer, size_t offset, size_t size,
                             const dm_stream *stream, const char *what, dm_error *err)
{
    if (offset > buffer->size || size > buffer->size - offset)
        return dm_fail(err, DM_EINVAL, "%s: bytes %zu..%zu+%zu are outside a buffer of %zu bytes",
                       what, offset, offset, size, buffer->size);
    return check_device(buffer->device, stream, what, err);
}

static char *at(const dm_device_buffer *buffer, size_t offset)
{
    return (char *)buffer->address + offset;
}

dm_status dm_stream_upload(dm_stream *stream, dm_device_buffer *to, size_t to_offset,
                           const void *from, size_t size, dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, to);
    DM_REQUIRE_SOME(err, from, size);
    dm_status status = check_range(to, to_offset, size, stream, "upload", err);
    if (status != DM_OK || size == 0)
        return status;
    return stream->device->ops->upload(stream, at(to, to_offset), from, size, err);
}

dm_status dm_stream_download(dm_stream *stream, const dm_device_buffer *from, size_t from_offset,
                             void *to, size_t size, dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, from);
    DM_REQUIRE_SOME(err, to, size);
    dm_status status = check_range(from, from_offset, size, stream, "download", err);
    if (status != DM_OK || size == 0)
        return status;
    return stream->device->ops->download(stream, to, at(from, from_offset), size, err);
}

dm_status dm_stream_copy(dm_stream *stream, dm_device_buffer *to, size_t to_offset,
                         const dm_device_buffer *from, size_t from_offset, size_t size,
                         dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, to);
    DM_REQUIRE(err, from);
    dm_status status = check_range(to, to_offset, size, stream, "copy to", err);
    if (status == DM_OK)
        status = check_range(from, from_offset, size, stream, "copy from", err);
    if (status != DM_OK || size == 0)
        return status;
    uintptr_t target = (uintptr_t)at(to, to_offset), source = (uintptr_t)at(from, from_offset);
    if (target < source + size && source < target + size)
        return dm_fail(err, DM_EINVAL, "copy: the ranges overlap");
    return stream->device->ops->copy(stream, at(to, to_offset), at(from, from_offset), size, err);
}

dm_status dm_stream_fill(dm_stream *stream, dm_device_buffer *to, size_t to_offset, uint8_t value,
                         size_t size, dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, to);
    dm_status status = check_range(to, to_offset, size, stream, "fill", err);
    if (status != DM_OK || size == 0)
        return status;
    return stream->device->ops->fill(stream, at(to, to_offset), value, size, err);
}

/* ---- Streams and events ---- */

dm_stream *dm_device_stream(dm_device *device)
{
    if (device == NULL)
        return NULL;
    return &device->stream;
}

static dm_status stream_wrap(dm_device *device, void *native, bool owned, dm_stream **out,
                             dm_error *err)
{
    dm_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    stream->device = device_retain(device);
    stream->native = native;
    stream->owned = owned;
    *out = stream;
    return DM_OK;
}

dm_status dm_stream_create(dm_device *device, dm_stream **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    void *native = NULL;
    *out = NULL;
    dm_status status = device->ops->stream_create(device, &native, err);
    if (status != DM_OK)
        return status;
    status = stream_wrap(device, native, true, out, err);
    if (status != DM_OK)
        device->ops->stream_destroy(device, native);
    return status;
}

dm_status dm_stream_import(dm_device *device, void *native, dm_stream **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (device->properties.kind == DM_DEVICE_CPU && native != NULL)
        return dm_fail(err, DM_EINVAL, "the CPU has no native streams to import");
    return stream_wrap(device, native, false, out, err);
}

void dm_stream_destroy(dm_stream *stream)
{
    if (stream == NULL || stream == &stream->device->stream)
        return;
    if (stream->owned)
        stream->device->ops->stream_destroy(stream->device, stream->native);
    device_release(stream->device);
    free(stream);
}

void *dm_stream_native(const dm_stream *stream)
{
    if (stream == NULL)
        return NULL;
    return stream->native;
}

dm_status dm_stream_synchronize(dm_stream *stream, dm_error *err)
{
    DM_REQUIRE(err, stream);
    return stream->device->ops->stream_synchronize(stream, err);
}

dm_status dm_stream_wait(dm_stream *stream, const dm_event *event, dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, event);
    dm_status status = check_device(event->device, stream, "the event", err);
    return status != DM_OK ? status : stream->device->ops->stream_wait(stream, event, err);
}

dm_status dm_event_create(dm_device *device, dm_event **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    *out = NULL;
    dm_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    event->device = device;
    dm_status status = device->ops->event_create(event, err);
    if (status != DM_OK) {
        free(event);
        return status;
    }
    device_retain(device);
    *out = event;
    return DM_OK;
}

void dm_event_destroy(dm_event *event)
{
    if (event == NULL)
        return;
    event->device->ops->event_destroy(event);
    device_release(event->device);
    free(event);
}

dm_status dm_event_record(dm_event *event, dm_stream *stream, dm_error *err)
{
    DM_REQUIRE(err, event);
    DM_REQUIRE(err, stream);
    dm_status status = check_device(event->device, stream, "the event", err);
    return status != DM_OK ? status : event->device->ops->event_record(event, stream, err);
}

dm_status dm_event_synchronize(dm_event *event, dm_error *err)
{
    DM_REQUIRE(err, event);
    return event->device->ops->event_synchronize(event, err);
}

dm_status dm_event_elapsed(const dm_event *begin, const dm_event *end, double *ms, dm_error *err)
{
    DM_REQUIRE(err, begin);
    DM_REQUIRE(err, end);
    DM_REQUIRE(err, ms);
    if (!same_device(begin->device, end->device))
        return dm_fail(err, DM_EINVAL, "events of two devices cannot be compared");
    return begin->device->ops->event_elapsed(begin, end, ms, err);
}

/* ---- Modules ---- */

static dm_status copy_builtins(dm_module *module, const dm_module_desc *desc, dm_error *err)
{
    if (desc->builtin_count == 0 || module->device->properties.kind != DM_DEVICE_CPU)
        return DM_OK;
    dm_builtin_kernel *copy = calloc(desc->builtin_count, sizeof *copy);
    if (copy == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    memcpy(copy, desc->builtins, desc->builtin_count * sizeof *copy);
    module->builtins = copy;
    module->builtin_count = desc->builtin_count;
    return DM_OK;
}

static void module_free(dm_module *module)
{
    for (dm_function *f = module->functions, *next; f != NULL; f = next) {
        next = f->next;
        free(f->name);
        free(f);
    }
    pthread_mutex_destroy(&module->lock);
    free((void *)module->builtins);
    free(module->name);
    free(module);
}

dm_status dm_module_create(dm_device *device, const dm_module_desc *desc, dm_module **out,
                           dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, desc);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (desc->log != NULL)
        *desc->log = NULL;
    if (desc->name == NULL || desc->name[0] == '\0')
        return dm_fail(err, DM_EINVAL, "a module needs a name");
    dm_module *module = calloc(1, sizeof *module);
    if (module == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    module->device = device;
    pthread_mutex_init(&module->lock, NULL);
    module->name = strdup(desc->name);
    dm_status status = module->name == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                            : copy_builtins(module, desc, err);
    if (status == DM_OK) {
        if (module->builtins != NULL)
            module->was_cached = true;
        else
            status = device->ops->module_load(module, desc, err);
    }
    if (status != DM_OK) {
        module_free(module);
        return status;
    }
    device_retain(device);
    *out = module;
    return DM_OK;
}

void dm_module_destroy(dm_module *module)
{
    if (module == NULL)
        return;
    dm_device *device = module->device;
    if (module->native != NULL)
        device->ops->module_unload(module);
    module_free(module);
    device_release(device);
}

bool dm_module_was_cached(const dm_module *module)
{
    if (module == NULL)
        return false;
    return module->was_cached;
}

/* Asking twice for a name gives the same function. */
static dm_status find_function(dm_module *module, const char *name, dm_function **out,
                               dm_error *err)
{
    for (dm_function *f = module->functions; f != NULL; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return DM_OK;
        }
    }
    dm_function *function = calloc(1, sizeof *function);
    if (function == NULL || (function->name = strdup(name)) == NULL) {
        free(function);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    function->module = module;
    atomic_init(&function->shared_allowed, 0);
    dm_status status = module->device->ops->function_find(function, err);
    if (status != DM_OK) {
        free(function->name);
        free(function);
        return status;
    }
    function->next = module->functions;
    module->functions = function;
    *out = function;
    return DM_OK;
}

dm_status dm_module_function(dm_module *module, const char *name, dm_function **out, dm_error *err)
{
    DM_REQUIRE(err, module);
    DM_REQUIRE(err, name);
    DM_REQUIRE(err, out);
    *out = NULL;
    pthread_mutex_lock(&module->lock);
    dm_status status = find_function(module, name, out, err);
    pthread_mutex_unlock(&module->lock);
    return status;
}

dm_status dm_function_get_properties(const dm_function *function, dm_function_properties *out,
                                     dm_error *err)
{
    DM_REQUIRE(err, function);
    DM_REQUIRE(err, out);
    memset(out, 0, sizeof *out);
    out->args_size = function->args_size;
    return function->module->device->ops->function_properties(function, out, err);
}

/* ---- Launches ---- */

static dm_status check_launch(const dm_function *function, dm_stream *stream, dm_grid grid,
                              const void *args, size_t args_size, dm_error *err)
{
    dm_device *device = function->module->device;
    if (device != stream->device) {
        dm_status status = check_device(device, stream, function->name, err);
        if (status != DM_OK)
            return status;
    }
    if (grid.blocks == 0 || grid.blocks > INT_MAX || grid.block_threads == 0 ||
        grid.block_threads > (uint32_t)device->properties.block_threads_max)
        return dm_fail(err, DM_EINVAL,
                       "%s: a grid of %u blocks of %u threads: at least 1 of each, at most %d "
                       "blocks of %d threads",
                       function->name, grid.blocks, grid.block_threads, INT_MAX,
                       device->properties.block_threads_max);
    if (args == NULL || args_size == 0 ||
        (function->args_size != 0 && args_size != function->args_size))
        return dm_fail(err, DM_EINVAL, "%s: takes an argument block of %zu bytes, got %zu",
                       function->name, function->args_size, args_size);
    return DM_OK;
}

dm_status dm_function_launch(const dm_function *function, dm_stream *stream, dm_grid grid,
                             const void *args, size_t args_size, dm_error *err)
{
    DM_REQUIRE(err, function);
    DM_REQUIRE(err, stream);
    dm_status status = check_launch(function, stream, grid, args, args_size, err);
    if (status != DM_OK)
        return status;
    return stream->device->ops->launch(function, stream, grid, 1, args, args_size, err);
}

dm_status dm_function_launch_clusters(const dm_function *function, dm_stream *stream, dm_grid grid,
                                      uint32_t cluster_blocks, const void *args, size_t args_size,
                                      dm_error *err)
{
    DM_REQUIRE(err, function);
    DM_REQUIRE(err, stream);
    dm_status status = check_launch(function, stream, grid, args, args_size, err);
    if (status == DM_OK && (cluster_blocks == 0 || grid.blocks % cluster_blocks != 0))
        status = dm_fail(err, DM_EINVAL, "%s: %u blocks do not divide into clusters of %u",
                         function->name, grid.blocks, cluster_blocks);
    if (status != DM_OK)
        return status;
    return stream->device->ops->launch(function, stream, grid, cluster_blocks, args, args_size,
                                       err);
}

dm_status dm_graph_capture_begin(dm_stream *stream, dm_error *err)
{
    DM_REQUIRE(err, stream);
    return stream->device->ops->capture_begin(stream, err);
}

dm_status dm_graph_capture_end(dm_stream *stream, dm_graph **out, dm_error *err)
{
    DM_REQUIRE(err, stream);
    DM_REQUIRE(err, out);
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    (*out)->device = stream->device;
    dm_status status = stream->device->ops->capture_end(stream, &(*out)->native, err);
    if (status != DM_OK) {
        free(*out);
        *out = NULL;
        return status;
    }
    device_retain(stream->device);
    return DM_OK;
}

dm_status dm_graph_launch(dm_graph *graph, dm_stream *stream, dm_error *err)
{
    DM_REQUIRE(err, graph);
    DM_REQUIRE(err, stream);
    dm_status status = check_device(graph->device, stream, "the graph", err);
    return status != DM_OK ? status : graph->device->ops->graph_launch(graph, stream, err);
}

void dm_graph_destroy(dm_graph *graph)
{
    if (graph == NULL)
        return;
    graph->device->ops->graph_destroy(graph);
    device_release(graph->device);
    free(graph);
}
