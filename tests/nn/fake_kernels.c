/* SPDX-License-Identifier: MIT */
#include "tests/nn/fake_kernels.h"

#include "base/file.h"
#include "device/nvrtc.h"
#include "nn/cuda/internal.h"
#include "tests/support/test.h"

#include <stdlib.h>

static void nothing(const void *args, uint64_t first, uint64_t last, uint64_t count)
{
    (void)args, (void)first, (void)last, (void)count;
}

const fake_cuda *dm_test_fake_kernels(const char *const *others, size_t count)
{
    static const char *const names[] = {
#define NAME(text, name) "nn_" #name,
        NN_KERNELS(NAME)
#undef NAME
    };
    const fake_cuda *fake = dm_test_fake_cuda();
    char path[DM_PATH_MAX];
    dm_error reason = {0};
    assert_non_null(fake);
    if (dm_nvrtc_find(path, &reason) != DM_OK)
        dm_test_skip("%s", reason.message);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        fake->add_kernel(names[i], nothing, 0);
    for (size_t i = 0; i < count; i++)
        fake->add_kernel(others[i], nothing, 0);
    fake->set_free((size_t)1 << 30);
    setenv("DM_CUBLASLT", "/nonexistent", 1);
    return fake;
}
