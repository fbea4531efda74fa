/* SPDX-License-Identifier: MIT */
/* cuda_api.c - open libcuda. */
#include "device/cuda_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the loader's own search fails: containers, WSL, NixOS. */
static const char *const places[] = {
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/local/nvidia/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
};

static struct {
    pthread_once_t once;
    dm_cuda_api api;
    dm_status status;
    dm_error error;
} driver = {.once = PTHREAD_ONCE_INIT};

static void *open_library(void)
{
    const char *chosen = getenv("DM_LIBCUDA");
    if (chosen != NULL)
        return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && library == NULL; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static dm_status find_functions(void *library, dm_cuda_api *api, dm_error *err)
{
    void *symbol;
#define OPTIONAL(field, name, parameters)                                                          \
    symbol = dlsym(library, name);                                                                 \
    memcpy(&api->field, &symbol, sizeof symbol);
#define REQUIRED(field, name, parameters)                                                          \
    OPTIONAL(field, name, parameters)                                                              \
    if (symbol == NULL)                                                                            \
        return dm_fail(err, DM_EUNAVAILABLE, "the NVIDIA driver is too old: it has no %s", name);
    DM_CUDA_FUNCTIONS(REQUIRED, OPTIONAL)
#undef OPTIONAL
#undef REQUIRED
    Dl_info info;
    memcpy(&symbol, &api->init, sizeof symbol);
    if (dladdr(symbol, &info) != 0 && info.dli_fname != NULL)
        snprintf(api->path, sizeof api->path, "%s", info.dli_fname);
    return DM_OK;
}

static dm_status start(dm_cuda_api *api, dm_error *err)
{
    void *library = open_library();
    const char *chosen = getenv("DM_LIBCUDA");
    if (library == NULL && chosen != NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVIDIA driver: $DM_LIBCUDA (%s) does not load",
                       chosen);
    if (library == NULL)
        return dm_fail(err, DM_EUNAVAILABLE,
                       "no NVIDIA driver: libcuda.so.1 is not on this machine");
    dm_status status = find_functions(library, api, err);
    if (status != DM_OK)
        return status;
    int code = api->init(0);
    api->driver_version(&api->version);
    if (code == CU_SUCCESS)
        code = api->device_count(&api->count);
    if (code != CU_SUCCESS && code != CU_NO_DEVICE) {
        dm_cuda_fail(api, code, err, "the NVIDIA driver does not start");
        if (err != NULL)
            err->status = DM_EUNAVAILABLE;
        return DM_EUNAVAILABLE;
    }
    if (api->count == 0)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVIDIA GPU: the driver shows none%s",
                       getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES is set)"
                                                              : "");
    return DM_OK;
}

static void start_once(void)
{
    driver.status = start(&driver.api, &driver.error);
}

dm_status dm_cuda_api_get(const dm_cuda_api **out, dm_error *err)
{
    pthread_once(&driver.once, start_once);
    *out = &driver.api;
    if (driver.status != DM_OK && err != NULL)
        *err = driver.error;
    return driver.status;
}

static dm_status status_of(int code)
{
    switch (code) {
    case CU_OUT_OF_MEMORY:
        return DM_ENOMEM;
    case CU_NO_DEVICE:
    case CU_INVALID_DEVICE:
        return DM_EUNAVAILABLE;
    case CU_NOT_FOUND:
        return DM_ENOENT;
    default:
        return DM_EDEVICE;
    }
}

dm_status dm_cuda_fail(const dm_cuda_api *api, int code, dm_error *err, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *name = NULL, *text = NULL;
    api->error_name(code, &name);
    api->error_string(code, &text);
    /* After a fault in a kernel every call in this process fails: say so. */
    bool lost = code >= CU_ILLEGAL_ADDRESS && code <= CU_LAUNCH_FAILED && code != 701 &&
                code != 704 && code != 708 && code != 711 && code != 712 && code != 713;
    return dm_fail(err, status_of(code), "%s: %s: %s%s", what,
                   name == NULL ? "unknown CUDA error" : name, text == NULL ? "no text" : text,
                   lost ? " (the GPU context is lost; this program must be started again)" : "");
}
