/* SPDX-License-Identifier: MIT */
/* extent.h - how long arrays must be for a launch, where that can be said before it: a kernel that
 * reaches `x[i]` in every thread, i = wp.tid(), needs an x as long as the launch. */
#ifndef DM_KERNEL_EXTENT_H
#define DM_KERNEL_EXTENT_H

#include "lang/compile.h"

#define DM_EXTENTS_MAX 32

/* Dimension `axis` of parameter `param` is at least as long as dimension `coordinate` of a launch. */
typedef struct dm_extent {
    int param, axis, coordinate;
    int line; /* of the access */
} dm_extent;

/* The extents that a kernel asks for, up to DM_EXTENTS_MAX; how many. */
int dm_extents_find(const dm_ir_function *f, dm_extent *out);

#endif
