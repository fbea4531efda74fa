/* SPDX-License-Identifier: MIT */
/* staging_local.h - a copy of a machine for a service; kernel text of the GPU's form.
 *
 * A service goes over most of a machine, a few bytes at a time, and the machines of a warp lie far
 * apart: each access is one for every lane. Copies in memory of the threads' own lie side by side,
 * so that an access is one for the warp. */
#ifndef DM_SIMT_STAGING_LOCAL_H
#define DM_SIMT_STAGING_LOCAL_H

#include "gb/machine/context.h"

#if !DM_GB_STAGE_SHARED

/* A machine and its lane while a thread works on its devices. */
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

/* What else a service changes of the lane, each service sets anew. */
DM_FN void dm_gb_staged_end(const dm_gb_staged *staged, dm_gb_context *context)
{
    dm_gb_stage_words(context->home, &staged->copy);
    context->log_next = staged->context.log_next;
    context->log_end = staged->context.log_end;
    context->scan_height = staged->context.scan_height;
}

#endif
#endif
