/* SPDX-License-Identifier: MIT */
/* median.h - figures in order of size, and the one in the middle. */
#ifndef DM_BASE_MEDIAN_H
#define DM_BASE_MEDIAN_H

#include <stdlib.h>

/* For qsort of doubles, the smallest first. */
static inline int dm_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void dm_sort_values(double *values, size_t count)
{
    qsort(values, count, sizeof *values, dm_by_value);
}

/* Sorts the values. Of an even number it is the mean of the two in the middle; of none 0. */
static inline double dm_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    dm_sort_values(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
