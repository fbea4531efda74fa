/* SPDX-License-Identifier: MIT */
/* staging_local.h - a copy of a machine in local memory, for a service; kernel text for many lanes.
 *
 * A service accesses most of a machine, a few bytes at a time. The machines of a warp lie far apart, so each access
 * costs a memory transaction for every lane. Local memory interleaves the lanes: there it costs one for the warp. */
#ifndef DM_SIMT_STAGING_LOCAL_H
#define DM_SIMT_STAGING_LOCAL_H

#include "gb/machine/context.h"

#if !DM_GB_STAGE_SHARED

/* A machine's context and the copy that it works on. */
typedef struct dm_gb_staged {
    dm_gb_context context;
    dm_gb_stage copy;
} dm_gb_staged;

#if DM_GB_STAGE_LOCAL
DM_STATIC_ASSERT(sizeof(dm_gb_staged) - DM_GB_STAGED_AT - sizeof(dm_gb_stage) < 8u,
                 "it is found there");
#endif

DM_FN void dm_gb_staged_begin(dm_gb_staged *staged, const dm_gb_context *context)
{
    staged->context = *context;
    dm_gb_stage_words(&staged->copy, context->home);
#if !DM_GB_STAGE_LOCAL
    staged->context.m = (dm_gb_machine *)(void *)&staged->copy;
#endif
}

/* Copy the machine back, and the context's fields that outlive a service; the others are set by each service. */
DM_FN void dm_gb_staged_end(const dm_gb_staged *staged, dm_gb_context *context)
{
    dm_gb_stage_words(context->home, &staged->copy);
    context->log_next = staged->context.log_next;
    context->log_end = staged->context.log_end;
    context->scan_height = staged->context.scan_height;
}

#endif
#endif
