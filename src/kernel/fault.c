/* SPDX-License-Identifier: MIT */
/* fault.c - a recorded fault as a message. */
#include "kernel/fault.h"

#include <stdio.h>
#include <string.h>

static void put_list(char *out, size_t size, const int *numbers, int count)
{
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i > 0 ? ", %d" : "%d", numbers[i]);
}

bool dm_kernel_fault_text(const dm_kernel_fault *fault, char out[DM_KERNEL_FAULT_TEXT])
{
    char index[64], shape[64], array[sizeof fault->array];
    if (fault->set == 0)
        return false;
    memcpy(array, fault->array, sizeof array);
    array[sizeof array - 1] = '\0';
    int count = fault->count < 0 || fault->count > 4 ? 4 : fault->count, ndim = 4;
    put_list(index, sizeof index, fault->index, count);
    while (ndim > count && fault->shape[ndim - 1] == 0)
        ndim--;
    put_list(shape, sizeof shape, fault->shape, ndim);
    if (count == 0)
        snprintf(out, DM_KERNEL_FAULT_TEXT, "%s", array);
    else if (array[0] == '\0')
        snprintf(out, DM_KERNEL_FAULT_TEXT, "%d is outside of 0 to %d", fault->index[0],
                 fault->shape[0] - 1);
    else
        snprintf(out, DM_KERNEL_FAULT_TEXT, "%s[%s] is out of bounds, its shape is (%s)", array,
                 index, shape);
    return true;
}
