/* SPDX-License-Identifier: MIT */
/* fake_open.c - find the stand-in driver beside the test program and have the library use it. */
#include "tests/device/fake_cuda.h"

#include "base/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library beside the test program; false: it is not known where that is. */
static bool beside(char path[DM_PATH_MAX], const char *file)
{
    ssize_t length = readlink("/proc/self/exe", path, DM_PATH_MAX - 64);
    if (length <= 0)
        return false;
    path[length] = '\0';
    snprintf(strrchr(path, '/'), 64, "/%s", file);
    return true;
}

bool dm_test_fake_nvrtc(void)
{
    char path[DM_PATH_MAX];
    return beside(path, "libfake-nvrtc.so") && setenv("DM_NVRTC", path, 1) == 0;
}

const fake_cuda *dm_test_fake_cuda(void)
{
    char path[DM_PATH_MAX];
    if (!beside(path, "libfake-cuda.so"))
        return NULL;
    setenv("DM_LIBCUDA", path, 1);
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library == NULL ? NULL : dlsym(library, "fake_cuda_get");
    const fake_cuda *(*get)(void);
    if (symbol == NULL)
        return NULL;
    memcpy(&get, &symbol, sizeof symbol);
    return get();
}
