/* SPDX-License-Identifier: MIT */
/* internal.h - how the device layer is put together.
 *
 *   device.c    the public calls: checks arguments, counts references, dispatches by dm_device_ops
 *     cpu.c       the CPU's operations          cuda.c          CUDA's operations
 *     cc.c        text -> shared object         nvrtc.c         text -> cubin
 *                                               cuda_api.c      the driver, opened at run time
 *                                               library_find.c  where NVRTC and cuBLASLt are installed
 *                                               cublaslt.c      large matrix products
 *   sources.c   which headers a text includes; the library's own texts (embedded)
 *   cache.c     compiled code on disk
 *   tools.c     what is installed here          kernels.c       the list of our kernel texts
 *   selftest.c  does a device compute right?
 *
 * Start with device.c and cpu.c. The objects have the same few fields on both kinds of device; the
 * operations get pointers that device.c has checked. */
#ifndef DM_DEVICE_INTERNAL_H
#define DM_DEVICE_INTERNAL_H

#include <dotmatrix/device.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct dm_device_ops {
    void (*close)(dm_device *device);
    dm_status (*memory_free)(dm_device *device, uint64_t *out, dm_error *err);
    dm_status (*alloc)(dm_device *device, size_t size, void **out, dm_error *err);
    void (*free)(dm_device *device, void *address);
    dm_status (*host_alloc)(dm_device *device, size_t size, void **out, dm_error *err);
    void (*host_free)(dm_device *device, void *memory);
    dm_status (*upload)(dm_stream *stream, void *to, const void *from, size_t size, dm_error *err);
    dm_status (*download)(dm_stream *stream, void *to, const void *from, size_t size,
                          dm_error *err);
    dm_status (*copy)(dm_stream *stream, void *to, const void *from, size_t size, dm_error *err);
    dm_status (*fill)(dm_stream *stream, void *to, uint8_t value, size_t size, dm_error *err);
    dm_status (*stream_create)(dm_device *device, void **out, dm_error *err);
    void (*stream_destroy)(dm_device *device, void *native);
    dm_status (*stream_synchronize)(dm_stream *stream, dm_error *err);
    dm_status (*stream_wait)(dm_stream *stream, const dm_event *event, dm_error *err);
    dm_status (*event_create)(dm_event *event, dm_error *err);
    void (*event_destroy)(dm_event *event);
    dm_status (*event_record)(dm_event *event, dm_stream *stream, dm_error *err);
    dm_status (*event_synchronize)(dm_event *event, dm_error *err);
    dm_status (*event_elapsed)(const dm_event *begin, const dm_event *end, double *ms,
                               dm_error *err);
    dm_status (*module_load)(dm_module *module, const dm_module_desc *desc, dm_error *err);
    void (*module_unload)(dm_module *module);
    dm_status (*function_find)(dm_function *function, dm_error *err);
    dm_status (*function_properties)(const dm_function *function, dm_function_properties *out,
                                     dm_error *err);
    /* cluster_blocks is 1 for an ordinary launch. */
    dm_status (*launch)(const dm_function *function, dm_stream *stream, dm_grid grid,
                        uint32_t cluster_blocks, const void *args, size_t args_size, dm_error *err);
    dm_status (*capture_begin)(dm_stream *stream, dm_error *err);
    dm_status (*capture_end)(dm_stream *stream, void **graph, dm_error *err);
    dm_status (*graph_launch)(dm_graph *graph, dm_stream *stream, dm_error *err);
    void (*graph_destroy)(dm_graph *graph);
} dm_device_ops;

struct dm_stream {
    dm_device *device;
    void *native; /* CUstream */
    bool owned;
};

struct dm_device {
    const dm_device_ops *ops;
    dm_device_properties properties;
    atomic_int references; /* the opener's and one per object */
    dm_stream stream;      /* the device's own; holds no reference */
    void *state;           /* cpu: dm_pool; cuda: CUcontext */
};

struct dm_device_buffer {
    dm_device *device;
    void *address;
    size_t size;
    bool owned;
};

struct dm_event {
    dm_device *device;
    void *native;     /* CUevent */
    uint64_t time_ns; /* cpu: when it was recorded, 0 before */
};

typedef void (*dm_kernel_loop)(const void *args, uint64_t first, uint64_t last, uint64_t count);

struct dm_function {
    dm_module *module;
    char *name;
    void *native;               /* CUfunction */
    dm_kernel_loop loop;        /* cpu */
    size_t args_size;           /* 0: unknown */
    atomic_uint shared_allowed; /* cuda: dynamic shared memory enabled so far */
    atomic_bool large_clusters; /* cuda: clusters of more than 8 blocks are enabled */
    dm_function *next;
};

struct dm_module {
    dm_device *device;
    char *name;
    void *native; /* cpu: dlopen's handle; cuda: CUmodule */
    bool was_cached;
    const dm_builtin_kernel *builtins; /* a copy, owned */
    size_t builtin_count;
    pthread_mutex_t lock;   /* guards `functions` */
    dm_function *functions; /* found so far */
};

struct dm_graph {
    dm_device *device;
    void *native; /* CUgraphExec */
};

/* Fill a new device: properties, ops, state and its stream. `number` is what followed the colon, -1
 * when nothing did. */
dm_status dm_cpu_open(dm_device *device, int number, dm_error *err);
dm_status dm_cuda_open(dm_device *device, int number, dm_error *err);

/* Properties without opening. */
void dm_cpu_describe(dm_device_properties *out);
size_t dm_cuda_count(void);
dm_status dm_cuda_describe(int index, dm_device_properties *out, dm_error *err);

#endif
