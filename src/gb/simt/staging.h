/* SPDX-License-Identifier: MIT */
/* staging.h - where a lane's machine is: in its own place, or in a copy of it; kernel text.
 *
 * Swarms on a GPU work on copies of machines in memory that is nearer: each thread's own, for the
 * time of a turn (staging_local.h), or the multiprocessor's shared memory, for a whole step, in kernels
 * that have few machines at a time. The compiler sees that those are there, so that it need not
 * load a descriptor for each access, as it does for pointers to just anywhere: a fifth of the
 * instructions of a turn. Sound and the cartridge, the last parts of a machine, are seldom asked
 * and not copied.
 */
#ifndef DM_SIMT_STAGING_H
#define DM_SIMT_STAGING_H

/* Included by context.h, where lanes are. */

#if DM_GB_GPU_FORM

/* What is copied; the kernels' compiler does not know offsetof. */
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
#endif

#if DM_GB_SHARED_COPIES

typedef struct dm_gb_shared_copy {
    dm_gb_copy copy;
    dm_gb_cart *cart; /* the machine's */
} dm_gb_shared_copy;

/* One for each machine of a block; DM_GB_QUICK_SEAT says which is whose. */
#if DM_ON_CUDA
static __shared__ dm_gb_shared_copy dm_gb_copies[DM_GB_QUICK_LANES];
#else
static dm_gb_shared_copy dm_gb_copies[DM_GB_QUICK_LANES]; /* for tests */
#endif

#endif

#if DM_GB_LOCAL_COPIES
/* In a visit the copy follows the lane, which is memory of the thread's own for all to see. */
#define DM_GB_VISIT_COPY ((sizeof(dm_gb_lane) + 15u) / 16u * 16u)
#endif

DM_FN void dm_gb_lane_set(dm_gb_lane *lane, dm_gb_machine *m)
{
#if !DM_GB_SHARED_COPIES && !DM_GB_LOCAL_COPIES
    lane->m = m;
#endif
#if DM_GB_GPU_FORM
    lane->home = m;
#endif
}

/* The lane's machine, or the copy of it that is worked on. */
DM_FN dm_gb_machine *dm_gb_m(const dm_gb_lane *lane)
{
#if DM_GB_SHARED_COPIES
    return (dm_gb_machine *)(void *)((uint8_t *)dm_gb_copies + lane->at);
#elif DM_GB_LOCAL_COPIES
    return (dm_gb_machine *)(void *)((uint8_t *)(void *)lane + DM_GB_VISIT_COPY);
#else
    return lane->m;
#endif
}

/* Sound and the cartridge, which are not copied. */
DM_FN dm_gb_apu *dm_gb_apu_of(const dm_gb_lane *lane)
{
#if DM_GB_GPU_FORM
    return &lane->home->apu;
#else
    return &lane->m->apu;
#endif
}

DM_FN dm_gb_cart *dm_gb_cart_of(const dm_gb_lane *lane)
{
#if DM_GB_GPU_FORM
    return &lane->home->cart;
#else
    return &lane->m->cart;
#endif
}

/* The cartridge, for who has only what dm_gb_m said before a turn began. */
DM_FN dm_gb_cart *dm_gb_cart_by(dm_gb_machine *m)
{
#if DM_GB_SHARED_COPIES
    return ((dm_gb_shared_copy *)(void *)m)->cart;
#else
    return &m->cart;
#endif
}

#if DM_GB_SHARED_COPIES

/* The thread's copy, whether there is a machine for it or not. */
DM_FN void dm_gb_shared_seat(dm_gb_lane *lane)
{
    lane->at = DM_GB_QUICK_SEAT * (uint32_t)sizeof(dm_gb_shared_copy);
}

/* The machine is worked on there from now on; and it is up to date again. */
DM_FN void dm_gb_shared_begin(dm_gb_lane *lane)
{
    dm_gb_shared_copy *copy = (dm_gb_shared_copy *)(void *)dm_gb_m(lane);
#if !DM_ON_CUDA /* for tests: what is not copied looks right, but what is written to it is lost */
    copy->copy.m = *lane->home;
#endif
    dm_gb_copy_words(copy, lane->home);
    copy->cart = dm_gb_cart_of(lane);
}

DM_FN void dm_gb_shared_end(dm_gb_lane *lane)
{
    dm_gb_copy_words(lane->home, dm_gb_m(lane));
}

#endif
#endif
