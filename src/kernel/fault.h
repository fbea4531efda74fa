/* SPDX-License-Identifier: MIT */
/* fault.h - the record that a kernel fills in when one of its checks fails (src/lang/emit/print_bounds.c). */
#ifndef DM_KERNEL_FAULT_H
#define DM_KERNEL_FAULT_H

#include <stdbool.h>

/* As print_bounds.c declares it in a text. */
typedef struct dm_kernel_fault {
    int set, line, count, index[4],
        shape[4]; /* count 0: `array` says all; no array: an index alone */
    char array[64];
} dm_kernel_fault;

#define DM_KERNEL_FAULT_TEXT 192

/* The fault as text, without file and line; false: nothing was recorded. */
bool dm_kernel_fault_text(const dm_kernel_fault *fault, char out[DM_KERNEL_FAULT_TEXT]);

#endif
