/* SPDX-License-Identifier: MIT */
/* staging.h - where a lane's machine is: in the batch, or in a staged copy of it; kernel text.
 *
 * Kernels of a swarm work on copies of machines in nearer memory:
 *
 *   local memory    of the thread, for the time of a service (staging_local.h)
 *   shared memory   for a whole step, where a warp has one machine
 *
 * The compiler knows the address space of a copy and so avoids generic loads, which cost a fifth of the instructions of
 * a service. Sound and the cartridge, the last parts of a machine, are seldom accessed and not copied. */
#ifndef DM_SIMT_STAGING_H
#define DM_SIMT_STAGING_H

/* context.h includes this after its struct. */

/* Bytes that are copied: those before `apu` (NVRTC has no offsetof). */
#define DM_GB_STAGE_SIZE (sizeof(dm_gb_machine) - sizeof(dm_gb_apu) - sizeof(dm_gb_cart))

/* A copy, as words of 16 bytes and the rest. */
typedef struct dm_gb_stage {
    dm_u32x4 words[DM_GB_STAGE_SIZE / sizeof(dm_u32x4)];
    uint32_t rest[DM_GB_STAGE_SIZE % sizeof(dm_u32x4) / sizeof(uint32_t)];
} dm_gb_stage;

DM_STATIC_ASSERT(DM_GB_STAGE_SIZE % sizeof(uint32_t) == 0 &&
                     DM_GB_STAGE_SIZE % sizeof(dm_u32x4) != 0,
                 "what is copied are words");

/* Copy word by word: an assignment may also copy the padding of dm_gb_stage, which is no part of the machine. */
DM_FN void dm_gb_stage_words(void *to, const void *from)
{
    dm_gb_stage *out = (dm_gb_stage *)to;
    const dm_gb_stage *in = (const dm_gb_stage *)from;
    dm_gb_stage words;
    for (uint32_t i = 0; i < sizeof words.words / sizeof words.words[0]; i++)
        words.words[i] = in->words[i];
    for (uint32_t i = 0; i < sizeof words.rest / sizeof words.rest[0]; i++)
        words.rest[i] = in->rest[i];
    for (uint32_t i = 0; i < sizeof words.words / sizeof words.words[0]; i++)
        out->words[i] = words.words[i];
    for (uint32_t i = 0; i < sizeof words.rest / sizeof words.rest[0]; i++)
        out->rest[i] = words.rest[i];
}

#if DM_GB_STAGE_SHARED

typedef struct dm_gb_stage_shared {
    dm_gb_stage copy;
    dm_gb_cart *cart; /* the machine's */
} dm_gb_stage_shared;

/* One for each machine of a block; DM_GB_BLOCK_SLOT says which is whose. */
static DM_SHARED dm_gb_stage_shared dm_gb_stages[DM_GB_BLOCK_MACHINES];

#endif

#if DM_GB_STAGE_LOCAL
/* In a service the copy follows the context (dm_gb_staged), so that the compiler sees local memory. */
#define DM_GB_STAGED_AT                                                                            \
    ((sizeof(dm_gb_context) + DM_U32X4_ALIGNMENT - 1u) / DM_U32X4_ALIGNMENT * DM_U32X4_ALIGNMENT)
#endif

DM_FN void dm_gb_context_set(dm_gb_context *context, dm_gb_machine *m)
{
#if !DM_GB_STAGE_SHARED && !DM_GB_STAGE_LOCAL
    context->m = m;
#endif
    context->home = m;
}

/* The machine, or the copy of it that is worked on. */
DM_FN dm_gb_machine *dm_gb_m(const dm_gb_context *context)
{
#if DM_GB_STAGE_SHARED
    return (dm_gb_machine *)(void *)((uint8_t *)dm_gb_stages + context->at);
#elif DM_GB_STAGE_LOCAL
    return (dm_gb_machine *)(void *)((uint8_t *)(void *)context + DM_GB_STAGED_AT);
#else
    return context->m;
#endif
}

/* Sound and the cartridge, which are not copied. */
DM_FN dm_gb_apu *dm_gb_apu_of(const dm_gb_context *context)
{
    return &context->home->apu;
}

DM_FN dm_gb_cart *dm_gb_cart_of(const dm_gb_context *context)
{
    return &context->home->cart;
}

/* The cartridge of the machine that dm_gb_m returned, for the fast path, which has no context. */
DM_FN dm_gb_cart *dm_gb_cart_by(dm_gb_machine *m)
{
#if DM_GB_STAGE_SHARED
    return ((dm_gb_stage_shared *)(void *)m)->cart;
#else
    return &m->cart;
#endif
}

#if DM_GB_STAGE_SHARED

/* Give the context its place among the copies, also in a thread without a machine. */
DM_FN void dm_gb_stage_slot(dm_gb_context *context)
{
    context->at = DM_GB_BLOCK_SLOT * (uint32_t)sizeof(dm_gb_stage_shared);
}

/* Copy the machine in before a step, and out after it. */
DM_FN void dm_gb_stage_begin(dm_gb_context *context)
{
    dm_gb_stage_shared *copy = (dm_gb_stage_shared *)(void *)dm_gb_m(context);
    dm_gb_stage_words(copy, context->home);
    copy->cart = dm_gb_cart_of(context);
}

DM_FN void dm_gb_stage_end(dm_gb_context *context)
{
    dm_gb_stage_words(context->home, dm_gb_m(context));
}

#endif
#endif
