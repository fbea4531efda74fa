/* SPDX-License-Identifier: MIT */
/* check.h - is a kernel right? Random arguments, then
 *
 *   gradients   the backward pass in float64 on a device against central differences of the
 *               forward pass
 *   devices     both passes as written, on the CPU and on another device
 *
 * The kernel is taken as a map from all its arrays before to all its arrays after. With random
 * weights w on what is there after, L = sum(w * after), the backward pass started with w as the
 * gradient of every array must leave dL/d(before) in them. That holds for outputs, inputs and
 * arrays that are both. */
#ifndef DM_KERNEL_CHECK_H
#define DM_KERNEL_CHECK_H

#include <dotmatrix/kernel.h>

typedef struct dm_check_number {
    const char *name;
    double value;
} dm_check_number;

typedef struct dm_check_options {
    uint64_t seed;
    int size;         /* elements per dimension of each array and of the launch; 0: 6 */
    int elements_max; /* differences taken at most; 0: 48 */
    double low, high; /* range of floats; both 0: 0.6 to 1.4 */
    const dm_check_number *numbers; /* scalar arguments that are given */
    size_t number_count;
    dm_device *device; /* where gradients are checked; NULL: the CPU */
    dm_device *other;  /* compare the CPU with this one too; may be NULL */
    const char *const *defines;
    bool imports, warp_compat, from_inputs; /* as in dm_kernel_options */
    bool indices; /* run it once more on the CPU with its indices checked */
} dm_check_options;

typedef struct dm_check_result {
    bool has_backward;
    char reason[256];      /* why there is no backward pass, or why nothing could be checked */
    bool checked;          /* gradients were compared */
    int compared;          /* differences taken */
    double gradient_error; /* |difference - gradient| / max(1, |difference|), the worst */
    char worst[128];       /* where: "x[3]" */
    char outside[256];     /* `indices`: the access outside of its array; empty: none */
    double value_error;    /* between the devices, relative to max(1, |value|) */
    double device_gradient_error; /* likewise */
} dm_check_result;

/* Check one kernel of a text. DM_OK means that the check could be made; what it found is in
 * `result`. */
dm_status dm_kernel_check(const char *name, const char *text, size_t size, const char *kernel,
                          const dm_check_options *options, dm_check_result *result, dm_error *err);

#endif
