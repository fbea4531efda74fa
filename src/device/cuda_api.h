/* SPDX-License-Identifier: MIT */
/* cuda_api.h - the part of NVIDIA's driver API that we use, opened at run time.
 *
 * Our own declarations: handles and device addresses (64-bit integers in NVIDIA's headers) are
 * `void *`, results are ints. A name with a version suffix is the one that every driver since CUDA 11
 * exports. Reference: NVIDIA, "CUDA Driver API". */
#ifndef DM_DEVICE_CUDA_API_H
#define DM_DEVICE_CUDA_API_H

#include <dotmatrix/base.h>

/* CUlaunchConfig, with CUlaunchAttribute for the size of clusters. */
typedef struct dm_cuda_attribute {
    int id;
    int padding;
    unsigned value[16];
} dm_cuda_attribute;
typedef struct dm_cuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    dm_cuda_attribute *attributes;
    unsigned attribute_count;
} dm_cuda_launch;

/*  F(field, exported name, parameters) : every driver has it
 *  O(...)                              : may be missing, the field is then NULL */
#define DM_CUDA_FUNCTIONS(F, O)                                                                    \
    F(init, "cuInit", (unsigned flags))                                                            \
    F(driver_version, "cuDriverGetVersion", (int *version))                                        \
    F(error_name, "cuGetErrorName", (int code, const char **text))                                 \
    F(error_string, "cuGetErrorString", (int code, const char **text))                             \
    F(device_count, "cuDeviceGetCount", (int *count))                                              \
    F(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    F(device_name, "cuDeviceGetName", (char *name, int size, int device))                          \
    F(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                          \
    F(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    F(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    F(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    F(context_get, "cuCtxGetCurrent", (void **context))                                            \
    F(context_set, "cuCtxSetCurrent", (void *context))                                             \
    F(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                             \
    F(memory_alloc, "cuMemAlloc_v2", (void **address, size_t size))                                \
    F(memory_free, "cuMemFree_v2", (void *address))                                                \
    F(host_alloc, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))                  \
    F(host_free, "cuMemFreeHost", (void *memory))                                                  \
    F(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                      \
      (void *to, const void *from, size_t size, void *stream))                                     \
    F(copy_to_host, "cuMemcpyDtoHAsync_v2",                                                        \
      (void *to, const void *from, size_t size, void *stream))                                     \
    F(copy_on_device, "cuMemcpyDtoDAsync_v2",                                                      \
      (void *to, const void *from, size_t size, void *stream))                                     \
    F(fill_bytes, "cuMemsetD8Async", (void *to, unsigned char value, size_t size, void *stream))   \
    F(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    F(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                        \
    F(stream_synchronize, "cuStreamSynchronize", (void *stream))                                   \
    F(stream_wait, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))               \
    F(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    F(event_destroy, "cuEventDestroy_v2", (void *event))                                           \
    F(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    F(event_synchronize, "cuEventSynchronize", (void *event))                                      \
    F(event_elapsed, "cuEventElapsedTime", (float *ms, void *begin, void *end))                    \
    F(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    F(module_unload, "cuModuleUnload", (void *module))                                             \
    F(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    F(function_get, "cuFuncGetAttribute", (int *value, int attribute, void *function))             \
    F(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))              \
    O(function_param, "cuFuncGetParamInfo",                                                        \
      (void *function, size_t index, size_t *offset, size_t *size))                                \
    F(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params,     \
       void **extra))                                                                              \
    O(launch_ex, "cuLaunchKernelEx",                                                               \
      (const dm_cuda_launch *config, void *function, void **params, void **extra))                 \
    F(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                          \
    F(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                             \
    O(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (void **exec, void *graph, unsigned long long flags))                                        \
    F(graph_launch, "cuGraphLaunch", (void *exec, void *stream))                                   \
    F(graph_exec_destroy, "cuGraphExecDestroy", (void *exec))                                      \
    F(graph_destroy, "cuGraphDestroy", (void *graph))

typedef struct dm_cuda_api {
#define DM_CUDA_FIELD(field, symbol, parameters) int(*field) parameters;
    DM_CUDA_FUNCTIONS(DM_CUDA_FIELD, DM_CUDA_FIELD)
#undef DM_CUDA_FIELD
    int version; /* 13000 for CUDA 13.0 */
    int count;   /* devices */
    char path[512];
} dm_cuda_api;

enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_FAILED = 719,
};

enum {
    CU_ATTRIBUTE_BLOCK_THREADS = 1,
    CU_ATTRIBUTE_WARP_SIZE = 10,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_SHARED_OPTIN = 97,
};

enum {
    CU_FUNCTION_BLOCK_THREADS = 0,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_DYNAMIC_SHARED = 8,
    CU_FUNCTION_LARGE_CLUSTERS = 14,
};

#define CU_LAUNCH_CLUSTER 4 /* an attribute of a launch */
#define CU_STREAM_NON_BLOCKING 1u
#define CU_CAPTURE_THREAD_LOCAL 1
#define CU_LAUNCH_END ((void *)0)
#define CU_LAUNCH_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_BUFFER_SIZE ((void *)2)

/* Open the driver and initialise it, once per process; the same answer every time. DM_EUNAVAILABLE
 * with the reason when there is no driver or no device. $DM_LIBCUDA names another library file. */
dm_status dm_cuda_api_get(const dm_cuda_api **out, dm_error *err);

/* "<what>: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered". */
dm_status dm_cuda_fail(const dm_cuda_api *api, int code, dm_error *err, const char *format, ...)
    DM_PRINTF(4, 5);

#endif
