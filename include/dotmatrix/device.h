/* SPDX-License-Identifier: MIT */
/* device.h - run kernels from source text on the CPU and on NVIDIA GPUs.
 *
 *   device ──► stream ──► copies, fills, launches run in the order they were queued
 *     │  └───► buffer      memory of the device
 *     └──────► module ──► function     kernels compiled from text, cached on disk
 *
 * A kernel is written once (src/base/port.h gives the dialect) and runs on both:
 *
 *     dm_device_open("cuda:0", &device, err);                  // or "cpu"
 *     dm_module_create(device, &(dm_module_desc){.name = "saxpy", .text = text}, &module, err);
 *     dm_module_function(module, "saxpy", &function, err);
 *     dm_device_buffer_create(device, n * sizeof(float), &y, err);
 *     dm_stream *stream = dm_device_stream(device);
 *     dm_stream_upload(stream, y, 0, host, n * sizeof(float), err);
 *     saxpy_args args = {n, 2.0f, dm_device_buffer_address(x), dm_device_buffer_address(y)};
 *     dm_function_launch(function, stream, dm_grid_for(n, 256), &args, sizeof args, err);
 *     dm_stream_download(stream, y, 0, host, n * sizeof(float), err);
 *     dm_stream_synchronize(stream, err);
 *
 * Ownership: what `create`, `open`, `import` or `capture_end` gives is the caller's to destroy, in
 * any order: every object keeps its device alive. Functions belong to their module. Destroying NULL
 * does nothing. An imported stream or pointer stays the caller's.
 *
 * Threads: every call may be made from any thread; a stream, event or graph by one thread at a
 * time. CUDA work uses the device's primary context, the one that PyTorch and the CUDA runtime use,
 * and leaves the caller's current context as it was (a thread that had none keeps ours).
 *
 * Time: on CUDA, copies, fills and launches are queued and return at once; host memory given to
 * them must stay valid and untouched until the stream has passed them (copies of pageable memory
 * may wait inside the driver: dm_device_host_alloc gives memory that never does). On the CPU
 * everything is finished when the call returns. A kernel's fault on CUDA shows up in a later call,
 * at the latest in dm_stream_synchronize, as DM_EDEVICE with the driver's text. */
#ifndef DOTMATRIX_DEVICE_H
#define DOTMATRIX_DEVICE_H

#include <dotmatrix/base.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dm_device dm_device;
typedef struct dm_device_buffer dm_device_buffer;
typedef struct dm_stream dm_stream;
typedef struct dm_event dm_event;
typedef struct dm_module dm_module;
typedef struct dm_function dm_function;
typedef struct dm_graph dm_graph;

/* ---- Devices ---- */

typedef enum dm_device_kind { DM_DEVICE_CPU, DM_DEVICE_CUDA } dm_device_kind;

typedef struct dm_device_properties {
    dm_device_kind kind;
    int index;             /* CUDA ordinal; 0 for the CPU */
    char id[32];           /* what dm_device_open takes: "cpu", "cuda:0" */
    char name[128];        /* "NVIDIA H200" */
    char arch[16];         /* "sm_90"; "x86_64" */
    uint64_t memory_bytes; /* total */
    int multiprocessors;   /* the CPU: threads a launch is spread over */
    int lanes;             /* threads per warp; the CPU: 1 */
    int block_threads_max;
    uint64_t shared_bytes_max; /* shared memory a block may ask for; the CPU: 0 */
    uint64_t l2_bytes;         /* 0: unknown */
    int clock_khz;             /* 0: unknown */
} dm_device_properties;

/* "cpu" (all threads), "cpu:N" (N threads), "cuda" (the first), "cuda:N". */
DM_API dm_status dm_device_open(const char *id, dm_device **out, dm_error *err);
DM_API void dm_device_close(dm_device *device);
DM_API const dm_device_properties *dm_device_get_properties(const dm_device *device);
/* Bytes free now. */
DM_API dm_status dm_device_memory_free(dm_device *device, uint64_t *out, dm_error *err);

/* Describe every device without opening one: the CPU, then CUDA's. At most `capacity` are written;
 * returns how many there are. */
DM_API size_t dm_device_list(dm_device_properties *out, size_t capacity);
DM_API size_t dm_device_count(dm_device_kind kind);

/* What kernels can be built and run with here. A `reason` is one line, empty when the part was
 * found. */
typedef struct dm_device_tools {
    bool cuda;               /* a driver with at least one device */
    int cuda_version;        /* CUDA version the driver supports, 13000 for 13.0; 0: no driver */
    char driver_version[64]; /* the kernel driver's, "580.159.04"; empty: unknown */
    char driver_path[512];   /* the libcuda that was opened */
    char cuda_reason[256];
    bool nvrtc;
    int nvrtc_version; /* 13000 for 13.0 */
    char nvrtc_path[512];
    char nvrtc_origin[512]; /* "wheel nvidia-cuda-nvrtc 13.0.88 from ...", "toolkit ..." */
    char nvrtc_reason[256];
    bool cc;
    char cc_path[512];
    char cc_version[256]; /* first line of --version */
    char cc_reason[256];
    char cache_path[512]; /* where compiled kernels are kept */
} dm_device_tools;
DM_API void dm_device_tools_find(dm_device_tools *out);

/* ---- Memory ---- */

/* Uninitialised memory; DM_ENOMEM when it does not fit. `size` must not be 0. */
DM_API dm_status dm_device_buffer_create(dm_device *device, size_t size, dm_device_buffer **out,
                                         dm_error *err);
/* Wrap `size` bytes of the caller's device memory (for the CPU: host memory). */
DM_API dm_status dm_device_buffer_import(dm_device *device, void *address, size_t size,
                                         dm_device_buffer **out, dm_error *err);
/* Waits for nothing: synchronise first if work on it may still be queued. */
DM_API void dm_device_buffer_destroy(dm_device_buffer *buffer);
DM_API size_t dm_device_buffer_size(const dm_device_buffer *buffer);
/* The address as kernels see it, for argument blocks. */
DM_API void *dm_device_buffer_address(const dm_device_buffer *buffer);

/* Host memory that the device copies from and to without waiting (page-locked on CUDA). */
DM_API dm_status dm_device_host_alloc(dm_device *device, size_t size, void **out, dm_error *err);
DM_API void dm_device_host_free(dm_device *device, void *memory);

/* Copies and fills name their offset and size, in bytes; one that does not lie inside its buffer is
 * DM_EINVAL and copies nothing. */
DM_API dm_status dm_stream_upload(dm_stream *stream, dm_device_buffer *to, size_t to_offset,
                                  const void *from, size_t size, dm_error *err);
DM_API dm_status dm_stream_download(dm_stream *stream, const dm_device_buffer *from,
                                    size_t from_offset, void *to, size_t size, dm_error *err);
/* Between two buffers of one device; ranges that overlap are DM_EINVAL. */
DM_API dm_status dm_stream_copy(dm_stream *stream, dm_device_buffer *to, size_t to_offset,
                                const dm_device_buffer *from, size_t from_offset, size_t size,
                                dm_error *err);
DM_API dm_status dm_stream_fill(dm_stream *stream, dm_device_buffer *to, size_t to_offset,
                                uint8_t value, size_t size, dm_error *err);

/* ---- Streams and events ---- */

/* The device's own stream: no need to destroy it, gone with the device. On CUDA neither it nor a
 * created one waits for CUDA's default stream. */
DM_API dm_stream *dm_device_stream(dm_device *device);
DM_API dm_status dm_stream_create(dm_device *device, dm_stream **out, dm_error *err);
/* Queue on the caller's stream: a CUstream or cudaStream_t (NULL is CUDA's default stream). On the
 * CPU `native` must be NULL. */
DM_API dm_status dm_stream_import(dm_device *device, void *native, dm_stream **out, dm_error *err);
DM_API void dm_stream_destroy(dm_stream *stream);
DM_API void *dm_stream_native(const dm_stream *stream);
DM_API dm_status dm_stream_synchronize(dm_stream *stream, dm_error *err);
/* What is queued on `stream` from now on waits until `event` has happened. */
DM_API dm_status dm_stream_wait(dm_stream *stream, const dm_event *event, dm_error *err);

DM_API dm_status dm_event_create(dm_device *device, dm_event **out, dm_error *err);
DM_API void dm_event_destroy(dm_event *event);
DM_API dm_status dm_event_record(dm_event *event, dm_stream *stream, dm_error *err);
DM_API dm_status dm_event_synchronize(dm_event *event, dm_error *err);
/* Milliseconds between two events that have happened (synchronise on `end` first). */
DM_API dm_status dm_event_elapsed(const dm_event *begin, const dm_event *end, double *ms,
                                  dm_error *err);

/* ---- Modules ---- */

typedef struct dm_source {
    const char *name; /* as it stands in #include "name" */
    const char *text;
} dm_source;

/* A kernel compiled ahead of time into the program, for the CPU. */
typedef struct dm_builtin_kernel {
    const char *name;
    void (*loop)(const void *args, uint64_t first, uint64_t last, uint64_t count);
    size_t args_size;
} dm_builtin_kernel;

typedef struct dm_module_desc {
    const char *name; /* shown in messages */
    const char *text; /* NULL: the library's own source called `name` */
    /* Headers of the caller; looked up before the library's own. */
    const dm_source *headers;
    size_t header_count;
    /* "NAME" or "NAME=VALUE", ended by NULL; may be NULL, as may the next two. */
    const char *const *defines;
    const char *const *cuda_options; /* for NVRTC, after ours */
    const char *const *cpu_options;  /* for the C compiler, after ours */
    const char *arch;                /* "sm_90a" ...; NULL: the device's own */
    /* When given and the device is a CPU, these are used and nothing is compiled. */
    const dm_builtin_kernel *builtins;
    size_t builtin_count;
    /* Set to the compiler's whole output (free() it) when it had something to say, else to NULL. */
    char **log;
} dm_module_desc;

/* Compile (or take from the cache) and load. DM_ECOMPILE: the error has the compiler's message and
 * the file and line of `text` or a header; DM_EUNAVAILABLE: there is no compiler. The description
 * and all it points to may go once this returns. */
DM_API dm_status dm_module_create(dm_device *device, const dm_module_desc *desc, dm_module **out,
                                  dm_error *err);
/* No kernel of the module may still be running. */
DM_API void dm_module_destroy(dm_module *module);
/* True when the code came from the cache on disk or was built in. */
DM_API bool dm_module_was_cached(const dm_module *module);
/* DM_ENOENT when the module has no such kernel. */
DM_API dm_status dm_module_function(dm_module *module, const char *name, dm_function **out,
                                    dm_error *err);

typedef struct dm_function_properties {
    size_t args_size; /* 0: unknown */
    int registers;    /* per thread; the CPU: 0, as are the next three */
    int block_threads_max;
    uint64_t local_bytes;  /* per thread: spills and stack */
    uint64_t shared_bytes; /* per block, static */
} dm_function_properties;
DM_API dm_status dm_function_get_properties(const dm_function *function,
                                            dm_function_properties *out, dm_error *err);

/* ---- Launches ---- */

typedef struct dm_grid {
    uint32_t blocks;
    uint32_t block_threads;
    uint32_t shared_bytes; /* dynamic shared memory per block; the CPU ignores it */
} dm_grid;

/* Enough blocks for one thread per item, and at least one. */
static inline dm_grid dm_grid_for(uint64_t items, uint32_t block_threads)
{
    uint64_t blocks = block_threads == 0 ? 0 : (items + block_threads - 1) / block_threads;
    dm_grid grid = {0, block_threads, 0};
    grid.blocks = blocks == 0 ? 1 : blocks > 0x7FFFFFFF ? 0x7FFFFFFF : (uint32_t)blocks;
    return grid;
}

/* Queue one launch; `args` (copied before the call returns) is what the kernel sees as its block. A
 * size other than the kernel's is DM_EINVAL. */
DM_API dm_status dm_function_launch(const dm_function *function, dm_stream *stream, dm_grid grid,
                                    const void *args, size_t args_size, dm_error *err);
/* The same with the blocks in clusters of `cluster_blocks`, which must divide their number: blocks
 * of a cluster run at the same time and reach each other's shared memory. At most 8; up to 16 where
 * the GPU allows it. DM_EUNSUPPORTED on the CPU and on GPUs before compute capability 9.0. */
DM_API dm_status dm_function_launch_clusters(const dm_function *function, dm_stream *stream,
                                             dm_grid grid, uint32_t cluster_blocks,
                                             const void *args, size_t args_size, dm_error *err);

/* Record what is queued on `stream` between begin and end instead of running it; replay it with one
 * call. CUDA only: the CPU says DM_EUNSUPPORTED. */
DM_API dm_status dm_graph_capture_begin(dm_stream *stream, dm_error *err);
DM_API dm_status dm_graph_capture_end(dm_stream *stream, dm_graph **out, dm_error *err);
DM_API dm_status dm_graph_launch(dm_graph *graph, dm_stream *stream, dm_error *err);
DM_API void dm_graph_destroy(dm_graph *graph);

/* ---- Self-test ---- */

typedef struct dm_selftest_result {
    const char *name; /* "saxpy" ... */
    bool passed;
    uint64_t items;
    uint32_t ulp_max; /* largest difference of a float, in units in the last place */
    char detail[128]; /* the first mismatch */
} dm_selftest_result;

#define DM_SELFTEST_MAX 8
typedef struct dm_selftest_report {
    size_t count;
    bool passed; /* all of them */
    dm_selftest_result results[DM_SELFTEST_MAX];
} dm_selftest_report;

/* Run the test kernels and compare with plain C on the host: integers must be equal, floats within
 * 1 ulp. DM_OK means that they ran; whether they were right is in the report. */
DM_API dm_status dm_device_selftest(dm_device *device, dm_selftest_report *report, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
