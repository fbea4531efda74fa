/* SPDX-License-Identifier: MIT */
/* simd.c - which of the vectorised loops this machine can run. */
#include "dynamics/simd.h"

#include <stdlib.h>
#include <string.h>

const dm_simd *dm_simd_named(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                   ? &dm_simd_avx512
                   : NULL;
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &dm_simd_avx2
                                                                               : NULL;
#endif
    return strcmp(name, "portable") == 0 ? &dm_simd_portable : NULL;
}

const dm_simd *dm_simd_best(void)
{
    static const char *const names[] = {"avx512", "avx2", "portable"};
    const char *chosen = getenv("DM_SIMD");
    const dm_simd *found = chosen != NULL ? dm_simd_named(chosen) : NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == NULL; i++)
        found = dm_simd_named(names[i]);
    return found;
}
