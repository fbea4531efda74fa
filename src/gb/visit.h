/* SPDX-License-Identifier: MIT */
/* visit.h - a copy of a machine, to work on its devices; kernel text of the GPU's form.
 *
 * A turn goes over most of a machine, a few bytes at a time, and the machines of a warp lie far
 * apart: each access is one for every lane. Copies in memory of the threads' own lie side by side,
 * so that an access is one for the warp. Sound and the cartridge, the last parts of a machine, are
 * seldom asked and stay where they are (dm_gb_apu_of, dm_gb_cart_of). */
#ifndef DM_GB_VISIT_H
#define DM_GB_VISIT_H

#include "gb/memory.h"

#if DM_GB_GPU_FORM

/* Up to them; the kernels' compiler does not know offsetof. */
#define DM_GB_COPIED (sizeof(dm_gb_machine) - sizeof(dm_gb_apu) - sizeof(dm_gb_cart))

#if DM_ON_CUDA

/* In words that are as large as can be, and the few bytes that they leave. */
typedef struct dm_gb_copy {
    uint4 words[DM_GB_COPIED / sizeof(uint4)];
    uint32_t rest[DM_GB_COPIED % sizeof(uint4) / sizeof(uint32_t)];
} dm_gb_copy;

DM_STATIC_ASSERT(DM_GB_COPIED % sizeof(uint32_t) == 0 && DM_GB_COPIED % sizeof(uint4) != 0,
                 "what is copied are words");

/* Not by assignment, which may take what follows the last word with it. */
DM_FN void dm_gb_copy_words(void *to, const void *from)
{
    dm_gb_copy *out = (dm_gb_copy *)to;
    const dm_gb_copy *in = (const dm_gb_copy *)from;
    dm_gb_copy words;
    for (uint32_t i = 0; i < sizeof words.words / sizeof words.words[0]; i++)
        words.words[i] = in->words[i];
    for (uint32_t i = 0; i < sizeof words.rest / sizeof words.rest[0]; i++)
        words.rest[i] = in->rest[i];
    for (uint32_t i = 0; i < sizeof words.words / sizeof words.words[0]; i++)
        out->words[i] = words.words[i];
    for (uint32_t i = 0; i < sizeof words.rest / sizeof words.rest[0]; i++)
        out->rest[i] = words.rest[i];
}

#else

#include <stddef.h>
#include <string.h>

DM_STATIC_ASSERT(DM_GB_COPIED == offsetof(dm_gb_machine, apu), "the rest is not copied");

/* For tests: what is not copied is noise. */
typedef struct dm_gb_copy {
    dm_gb_machine m;
} dm_gb_copy;

DM_FN void dm_gb_copy_words(void *to, const void *from)
{
    memcpy(to, from, DM_GB_COPIED);
}

#endif

/* A machine and its lane while a thread works on its devices. */
typedef struct dm_gb_visit {
    dm_gb_lane lane;
    dm_gb_copy copy;
} dm_gb_visit;

DM_FN void dm_gb_visit_begin(dm_gb_visit *visit, const dm_gb_lane *lane)
{
#if !DM_ON_CUDA
    memset(&visit->copy, 0xA5, sizeof visit->copy);
#endif
    visit->lane = *lane;
    dm_gb_copy_words(&visit->copy, lane->m);
    visit->lane.m = (dm_gb_machine *)(void *)&visit->copy;
}

/* What else a visit changes of the lane, each turn sets anew. */
DM_FN void dm_gb_visit_end(const dm_gb_visit *visit, dm_gb_lane *lane)
{
    dm_gb_copy_words(lane->m, &visit->copy);
    lane->kept_next = visit->lane.kept_next;
    lane->kept_end = visit->lane.kept_end;
    lane->scan_height = visit->lane.scan_height;
}

#endif
#endif
