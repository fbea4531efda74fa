/* SPDX-License-Identifier: MIT */
/* internal.h - what the files of this folder share: types behind the public kernel API, numbers in
 * memory, a small random stream.
 *
 *   kernel.c   files, kernels, programs and launches (include/dotmatrix/kernel.h): start here
 *   args.c     the argument block of a launch       number.c   scalars in memory
 *   check.c    is a kernel right?                   npy.c      arrays in .npy files
 *   extent.c   arrays too short for a launch        fault.c    indices out of range */
#ifndef DM_KERNEL_INTERNAL_H
#define DM_KERNEL_INTERNAL_H

#include "lang/sema/type.h"

#include <dotmatrix/kernel.h>

struct dm_kernel {
    dm_kernel_file *file;
    int index;
    bool compiled;
    char *texts[2];
    dm_kernel_param *params;
    size_t param_count;
    size_t block_size;
    int dimensions;
};

typedef struct dm_kernel_arg {
    char *name;
    dm_kernel_param param;
} dm_kernel_arg;

struct dm_kernel_args {
    dm_kernel_arg *params;
    size_t count;
    uint8_t *block;
    size_t size;
    int dimensions;
};

const dm_type *dm_kernel_param_type(const dm_kernel *kernel, size_t index);
dm_lang *dm_kernel_lang(const dm_kernel *kernel);

/* Is the number in the range of an integer type? Always, for floats. */
bool dm_kernel_number_fits(dm_kernel_scalar scalar, double value);
/* A scalar in memory from and to double. */
void dm_kernel_store_number(void *to, dm_kernel_scalar scalar, double value);
double dm_kernel_load_number(const void *from, dm_kernel_scalar scalar);

/* splitmix64: the same numbers everywhere for a seed. */
typedef struct dm_test_stream {
    uint64_t state;
} dm_test_stream;

static inline void dm_test_stream_seed(dm_test_stream *s, uint64_t seed)
{
    s->state = seed * 0x9E3779B97F4A7C15ull + 0x1234567;
}

static inline uint64_t dm_test_stream_next(dm_test_stream *s)
{
    uint64_t z = s->state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

#endif
