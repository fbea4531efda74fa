/* SPDX-License-Identifier: MIT */
/* cpu.c - which table this machine can run. */
#include "nn/cpu/cpu.h"

#include "dynamics/simd.h"

#include <string.h>

const dm_nn_ops *dm_nn_cpu_named(const char *name)
{
    if (dm_simd_named(name) == NULL)
        return NULL;
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0)
        return &dm_nn_cpu_avx512;
    if (strcmp(name, "avx2") == 0)
        return &dm_nn_cpu_avx2;
#endif
    return &dm_nn_cpu_portable;
}

const dm_nn_ops *dm_nn_cpu(void)
{
    return dm_nn_cpu_named(dm_simd_best()->name);
}
