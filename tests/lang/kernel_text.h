/* SPDX-License-Identifier: MIT */
/* kernel_text.h - texts of the dialect in tests: compile and run them. */
#ifndef DM_TESTS_LANG_KERNEL_TEXT_H
#define DM_TESTS_LANG_KERNEL_TEXT_H

#include "lang/compile.h"

#include <dotmatrix/base.h>

#include <stdint.h>

/* Compile all kernels of a source to one C text and one CUDA text, and those with the C compiler
 * (warnings are errors, but for functions that nothing uses) and NVRTC, where it is there. Files go
 * to the test's folder (DM_TEST_IN_DIR). With the backward passes where asked. Fails the test with
 * the compiler's words. */
void dm_test_compiles(void **state, const char *source, bool backward);

/* Run the only kernel of a source, `count` threads, on one CPU: k(y: wp.array(dtype=float)). */
void dm_test_run_kernel(const char *source, float *y, int count);

typedef struct dm_test_array {
    const char *name;
    void *data;
    int64_t shape[2];
} dm_test_array;

/* Run a kernel, given without the import and the decorator, on two CPUs, and compile it as dm_test_compiles does. `$`
 * in the text is `type`; the list of arrays ends with one without a name. With `launched`, indices are checked and
 * *launched is what the launch said; without, the launch must succeed. */
void dm_test_run_arrays(void **state, const char *text, const char *type,
                        const dm_test_array *arrays, int threads, dm_error *launched);

/* All diagnostics of a source, its kernels compiled; the caller frees it. */
char *dm_test_diagnostics(const char *source);

#endif
