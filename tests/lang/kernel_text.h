/* SPDX-License-Identifier: MIT */
/* kernel_text.h - texts of the dialect in tests: compile and run them. */
#ifndef DM_TESTS_LANG_KERNEL_TEXT_H
#define DM_TESTS_LANG_KERNEL_TEXT_H

#include "lang/compile.h"

/* Compile all kernels of a source to one C text and one CUDA text, and those with the C compiler
 * (warnings are errors, but for functions that nothing uses) and NVRTC, where it is there. Files go
 * to the test's folder (DM_TEST_IN_DIR). With the backward passes where asked. Fails the test with
 * the compiler's words. */
void dm_test_compiles(void **state, const char *source, bool backward);

/* Run the only kernel of a source, `count` threads, on one CPU: k(y: wp.array(dtype=float)). */
void dm_test_run_kernel(const char *source, float *y, int count);

/* All diagnostics of a source, its kernels compiled; the caller frees it. */
char *dm_test_diagnostics(const char *source);

#endif
