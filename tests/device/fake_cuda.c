/* SPDX-License-Identifier: MIT */
/* fake_cuda.c - see fake_cuda.h. Built as a shared library with the driver's names in it. */
#include "tests/device/fake_cuda.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define HANDLES_MAX 1024
#define KERNELS_MAX 256
#define ARGS_MAX 4096

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600
};
enum kind { FREE, MEMORY, HOST, STREAM, EVENT, MODULE, GRAPH, EXEC };

typedef struct op {
    enum { OP_COPY, OP_FILL, OP_LAUNCH } what;
    void *to;
    const void *from;
    size_t size;
    unsigned char value;
    fake_loop loop;
    uint64_t count;
    unsigned char args[ARGS_MAX];
} op;

typedef struct graph {
    int count, room;
    op *ops;
} graph;

typedef struct kernel {
    char name[128];
    fake_loop loop;
    size_t args_size;
} kernel;

static struct {
    enum kind kind;
    void *handle;
} handles[HANDLES_MAX];
static kernel kernels[KERNELS_MAX];
static int kernel_count;
static struct {
    char name[64];
    int calls, fail;
} functions[64];
static int function_count, error_count, retain_count;
static int the_context;
static _Thread_local void *current;
static void *capturing; /* the stream */
static graph *captured;

static size_t free_bytes = 1000; /* as cuMemGetInfo says */

/* ---- Bookkeeping ---- */

static int slot_of(const char *name)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return i;
    strncpy(functions[function_count].name, name, sizeof functions[0].name - 1);
    return function_count++;
}

/* Count the call; what it must return at once, or 0. */
static int begin(const char *name, bool needs_context)
{
    int i = slot_of(name), code = functions[i].fail;
    functions[i].calls++;
    functions[i].fail = 0;
    if (code == 0 && needs_context && current == NULL) {
        error_count++;
        return INVALID_CONTEXT;
    }
    return code;
}
#define BEGIN(needs_context)                                                                       \
    do {                                                                                           \
        int code_ = begin(__func__, needs_context);                                                \
        if (code_ != 0)                                                                            \
            return code_;                                                                          \
    } while (0)

static void *add(enum kind kind, size_t size)
{
    for (int i = 0; i < HANDLES_MAX; i++) {
        if (handles[i].kind == FREE) {
            handles[i].kind = kind;
            /* Aligned as the driver's memory is; a size that is none still has an address. */
            const size_t room = (size / 256 + 1) * 256;
            handles[i].handle = aligned_alloc(256, room);
            return handles[i].handle == NULL ? NULL : memset(handles[i].handle, 0, room);
        }
    }
    return NULL;
}

static bool known(enum kind kind, const void *handle)
{
    for (int i = 0; i < HANDLES_MAX; i++)
        if (handles[i].kind == kind && handles[i].handle == handle)
            return true;
    error_count++;
    return false;
}

static int drop(enum kind kind, void *handle)
{
    for (int i = 0; i < HANDLES_MAX; i++) {
        if (handles[i].kind == kind && handles[i].handle == handle) {
            handles[i].kind = FREE;
            if (kind == GRAPH || kind == EXEC)
                free(((graph *)handle)->ops);
            free(handle);
            return 0;
        }
    }
    error_count++;
    return INVALID_HANDLE;
}

static bool good_stream(void *stream)
{
    return stream == NULL || known(STREAM, stream);
}

static void run(const op *o)
{
    if (o->what == OP_COPY)
        memcpy(o->to, o->from, o->size);
    else if (o->what == OP_FILL)
        memset(o->to, o->value, o->size);
    else
        o->loop(o->args, 0, o->count, o->count);
}

static int queue(const op *o, void *stream)
{
    if (!good_stream(stream))
        return INVALID_HANDLE;
    if (stream == NULL || stream != capturing) {
        run(o);
        return 0;
    }
    if (captured->count == captured->room) {
        int room = captured->room > 0 ? 2 * captured->room : 16;
        op *ops = realloc(captured->ops, (size_t)room * sizeof *ops);
        if (ops == NULL)
            return OUT_OF_MEMORY;
        captured->ops = ops;
        captured->room = room;
    }
    captured->ops[captured->count++] = *o;
    return 0;
}

static void fake_add_kernel(const char *name, fake_loop loop, size_t args_size)
{
    int at = 0;
    while (at < kernel_count && strcmp(kernels[at].name, name) != 0)
        at++;
    strncpy(kernels[at].name, name, sizeof kernels[0].name - 1);
    kernels[at].loop = loop;
    kernels[at].args_size = args_size;
    kernel_count += at == kernel_count ? 1 : 0;
}

static void fake_fail_next(const char *function, int code)
{
    functions[slot_of(function)].fail = code;
}

static int fake_calls(const char *function)
{
    return functions[slot_of(function)].calls;
}

static int fake_live(void)
{
    int count = 0;
    for (int i = 0; i < HANDLES_MAX; i++)
        count += handles[i].kind != FREE;
    return count;
}

static int fake_errors(void)
{
    return error_count;
}

static int fake_retained(void)
{
    return retain_count;
}

static int fake_all_calls(void)
{
    int sum = 0;
    for (int i = 0; i < function_count; i++)
        sum += functions[i].calls;
    return sum;
}

static void fake_set_free(size_t bytes)
{
    free_bytes = bytes;
}

EXPORT const fake_cuda *fake_cuda_get(void)
{
    static const fake_cuda control = {fake_add_kernel, fake_fail_next, fake_calls,
                                      fake_live,       fake_errors,    fake_retained,
                                      fake_all_calls,  fake_set_free};
    return &control;
}

/* ---- The driver's names ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    BEGIN(false);
    return 0;
}
EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}
EXPORT int cuGetErrorName(int code, const char **text)
{
    *text = code == OUT_OF_MEMORY ? "FAKE_OUT_OF_MEMORY"
            : code == 700         ? "FAKE_ILLEGAL_ADDRESS"
                                  : NULL;
    return *text == NULL ? INVALID_VALUE : 0;
}
EXPORT int cuGetErrorString(int code, const char **text)
{
    *text = code == 700 ? "an illegal memory access was encountered" : NULL;
    return *text == NULL ? INVALID_VALUE : 0;
}
EXPORT int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = 10 + ordinal;
    return 0;
}
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    strncpy(name, device == 10 ? "Fake GPU 0" : "Fake GPU 1", (size_t)size);
    return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 1    ? 1024
             : attribute == 10 ? 32
             : attribute == 16 ? 132
             : attribute == 75 ? 9
             : attribute == 97 ? 232448
                               : 0;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    BEGIN(false);
    retain_count++;
    *context = &the_context;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    BEGIN(false);
    retain_count--;
    return 0;
}
EXPORT int cuCtxGetCurrent(void **context)
{
    *context = current;
    return 0;
}
EXPORT int cuCtxSetCurrent(void *context)
{
    BEGIN(false);
    current = context;
    return 0;
}
EXPORT int cuMemGetInfo_v2(size_t *bytes, size_t *total)
{
    BEGIN(true);
    *bytes = free_bytes;
    *total = (size_t)1 << 30;
    return 0;
}
EXPORT int cuMemAlloc_v2(void **address, size_t size)
{
    BEGIN(true);
    if (size > (size_t)1 << 30)
        return OUT_OF_MEMORY;
    *address = add(MEMORY, size);
    return *address == NULL ? OUT_OF_MEMORY : 0;
}
EXPORT int cuMemFree_v2(void *address)
{
    BEGIN(true);
    return drop(MEMORY, address);
}
EXPORT int cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
    (void)flags;
    BEGIN(true);
    *memory = add(HOST, size);
    return 0;
}
EXPORT int cuMemFreeHost(void *memory)
{
    BEGIN(true);
    return drop(HOST, memory);
}
static int copy(void *to, const void *from, size_t size, void *stream)
{
    op o = {.what = OP_COPY, .to = to, .from = from, .size = size};
    return queue(&o, stream);
}
EXPORT int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, void *stream)
{
    BEGIN(true);
    return copy(to, from, size, stream);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, void *stream)
{
    BEGIN(true);
    return copy(to, from, size, stream);
}
EXPORT int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t size, void *stream)
{
    BEGIN(true);
    return copy(to, from, size, stream);
}
EXPORT int cuMemsetD8Async(void *to, unsigned char value, size_t size, void *stream)
{
    BEGIN(true);
    op o = {.what = OP_FILL, .to = to, .value = value, .size = size};
    return queue(&o, stream);
}
EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    BEGIN(true);
    *stream = add(STREAM, 16);
    return 0;
}
EXPORT int cuStreamDestroy_v2(void *stream)
{
    BEGIN(true);
    return drop(STREAM, stream);
}
EXPORT int cuStreamSynchronize(void *stream)
{
    BEGIN(true);
    return good_stream(stream) ? 0 : INVALID_HANDLE;
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    BEGIN(true);
    return good_stream(stream) && known(EVENT, event) ? 0 : INVALID_HANDLE;
}
EXPORT int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    BEGIN(true);
    *event = add(EVENT, sizeof(double));
    return 0;
}
EXPORT int cuEventDestroy_v2(void *event)
{
    BEGIN(true);
    return drop(EVENT, event);
}
EXPORT int cuEventRecord(void *event, void *stream)
{
    BEGIN(true);
    struct timespec t;
    if (!good_stream(stream) || !known(EVENT, event))
        return INVALID_HANDLE;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *(double *)event = 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
    return 0;
}
EXPORT int cuEventSynchronize(void *event)
{
    BEGIN(true);
    return known(EVENT, event) ? 0 : INVALID_HANDLE;
}
EXPORT int cuEventElapsedTime(float *ms, void *start, void *end)
{
    BEGIN(true);
    if (*(double *)start == 0 || *(double *)end == 0)
        return INVALID_HANDLE;
    *ms = (float)(*(double *)end - *(double *)start);
    return 0;
}
EXPORT int cuModuleLoadData(void **module, const void *image)
{
    BEGIN(true);
    if (memcmp(image, "\177ELF", 4) != 0)
        return INVALID_VALUE;
    *module = add(MODULE, 16);
    return 0;
}
EXPORT int cuModuleUnload(void *module)
{
    BEGIN(true);
    return drop(MODULE, module);
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    BEGIN(true);
    if (!known(MODULE, module))
        return INVALID_HANDLE;
    for (int i = 0; i < kernel_count; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            *function = &kernels[i];
            return 0;
        }
    }
    return NOT_FOUND;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function;
    BEGIN(true);
    *value = attribute == 0 ? 1024 : attribute == 4 ? 24 : 0;
    return 0;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function;
    BEGIN(true);
    return (attribute == 8 && value <= 232448) || (attribute == 14 && value == 1) ? 0
                                                                                  : INVALID_VALUE;
}
EXPORT int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size)
{
    BEGIN(true);
    *offset = 0;
    *size = ((kernel *)function)->args_size;
    return index == 0 ? 0 : INVALID_VALUE;
}
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                          void **extra)
{
    (void)shared;
    BEGIN(true);
    const kernel *k = function;
    op o = {.what = OP_LAUNCH, .loop = k->loop};
    if (params != NULL || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != NULL ||
        gy != 1 || gz != 1 || by != 1 || bz != 1 || *(size_t *)extra[3] > ARGS_MAX) {
        error_count++;
        return INVALID_VALUE;
    }
    memcpy(o.args, extra[1], *(size_t *)extra[3]);
    o.count = (uint64_t)gx * bx;
    return queue(&o, stream);
}
/* The layout of the driver's structs, written down apart from src/device/cuda_api.h. */
typedef struct launch_config {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void *stream;
    const struct {
        int id;
        char padding[4];
        union {
            char bytes[64];
            unsigned cluster[3];
        } value;
    } * attributes;
    unsigned count;
} launch_config;
EXPORT int cuLaunchKernelEx(const launch_config *c, void *function, void **params, void **extra)
{
    BEGIN(true);
    if (c->count != 1 || c->attributes[0].id != 4 || c->attributes[0].value.cluster[0] > 16 ||
        c->gx % c->attributes[0].value.cluster[0] != 0 || c->attributes[0].value.cluster[1] != 1 ||
        c->attributes[0].value.cluster[2] != 1) {
        error_count++;
        return INVALID_VALUE;
    }
    return cuLaunchKernel(function, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, c->stream,
                          params, extra);
}
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)mode;
    BEGIN(true);
    if (!known(STREAM, stream))
        return INVALID_HANDLE;
    capturing = stream;
    captured = add(GRAPH, sizeof *captured);
    return 0;
}
EXPORT int cuStreamEndCapture(void *stream, void **out)
{
    BEGIN(true);
    if (stream != capturing)
        return INVALID_VALUE;
    *out = captured;
    capturing = NULL;
    return 0;
}
EXPORT int cuGraphInstantiateWithFlags(void **exec, void *from, unsigned long long flags)
{
    (void)flags;
    BEGIN(true);
    const graph *g = from;
    graph *copy = add(EXEC, sizeof *copy);
    *exec = copy;
    copy->ops = malloc((size_t)(g->count > 0 ? g->count : 1) * sizeof *copy->ops);
    if (copy->ops == NULL)
        return OUT_OF_MEMORY;
    copy->count = copy->room = g->count;
    if (g->count > 0)
        memcpy(copy->ops, g->ops, (size_t)g->count * sizeof *copy->ops);
    return 0;
}
EXPORT int cuGraphLaunch(void *exec, void *stream)
{
    BEGIN(true);
    if (!known(EXEC, exec) || !good_stream(stream))
        return INVALID_HANDLE;
    const graph *g = exec;
    for (int i = 0; i < g->count; i++)
        run(&g->ops[i]);
    return 0;
}
EXPORT int cuGraphExecDestroy(void *exec)
{
    BEGIN(true);
    return drop(EXEC, exec);
}
EXPORT int cuGraphDestroy(void *old)
{
    BEGIN(true);
    return drop(GRAPH, old);
}
