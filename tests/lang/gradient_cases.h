/* SPDX-License-Identifier: MIT */
/* gradient_cases.h - kernels that cover the dialect's statements; their gradients are compared with
 * differences (test_gradients.c), and CPU and GPU with each other (test_gpu_kernels.c). */
#ifndef DM_TESTS_LANG_GRADIENT_CASES_H
#define DM_TESTS_LANG_GRADIENT_CASES_H

#include <stddef.h>

typedef struct dm_gradient_case {
    const char *name; /* of the kernel, the last in the text */
    const char *text; /* behind "import warp as wp" */
} dm_gradient_case;

extern const dm_gradient_case dm_gradient_cases[];
extern const size_t dm_gradient_case_count;

#endif
