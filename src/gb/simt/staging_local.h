/* SPDX-License-Identifier: MIT */
/* staging_local.h - a copy of a machine for a turn; kernel text of the GPU's form.
 *
 * A turn goes over most of a machine, a few bytes at a time, and the machines of a warp lie far
 * apart: each access is one for every lane. Copies in memory of the threads' own lie side by side,
 * so that an access is one for the warp. */
#ifndef DM_SIMT_STAGING_LOCAL_H
#define DM_SIMT_STAGING_LOCAL_H

#include "gb/machine/context.h"

#if DM_GB_GPU_FORM && !DM_GB_SHARED_COPIES

#if !DM_ON_CUDA
#include <string.h>
#endif

/* A machine and its lane while a thread works on its devices. */
typedef struct dm_gb_visit {
    dm_gb_lane lane;
    dm_gb_copy copy;
} dm_gb_visit;

#if DM_GB_LOCAL_COPIES
DM_STATIC_ASSERT(sizeof(dm_gb_visit) == DM_GB_VISIT_COPY + sizeof(dm_gb_copy), "it is found there");
#endif

DM_FN void dm_gb_visit_begin(dm_gb_visit *visit, const dm_gb_lane *lane)
{
#if !DM_ON_CUDA
    memset(&visit->copy, 0xA5, sizeof visit->copy);
#endif
    visit->lane = *lane;
    dm_gb_copy_words(&visit->copy, lane->home);
#if !DM_GB_LOCAL_COPIES
    visit->lane.m = (dm_gb_machine *)(void *)&visit->copy;
#endif
}

/* What else a visit changes of the lane, each turn sets anew. */
DM_FN void dm_gb_visit_end(const dm_gb_visit *visit, dm_gb_lane *lane)
{
    dm_gb_copy_words(lane->home, &visit->copy);
    lane->kept_next = visit->lane.kept_next;
    lane->kept_end = visit->lane.kept_end;
    lane->scan_height = visit->lane.scan_height;
}

#endif
#endif
