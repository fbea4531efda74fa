/* SPDX-License-Identifier: MIT */
/* compose.h - the text of a stage's kernels, made from the template skeleton.h. Used by the build
 * (compose_main.c) for the CPU's ready-made kernels and by builder.c at run time. */
#ifndef DM_SWARM_COMPOSE_H
#define DM_SWARM_COMPOSE_H

#include "base/buffer.h"

#include <dotmatrix/swarm.h>

/* Floats of obs_v0; epilog.h has the same number for kernel text. */
#define DM_SWARM_VECTOR_DEFAULT 32u
#define DM_SWARM_VECTOR_MAX 1024u

typedef struct dm_swarm_variant {
    dm_swarm_stage stage;
    uint32_t vector_size; /* floats of the vector observation */
    const char *epilog;   /* a function's body (epilog.h); NULL: reward_v0 and obs_v0 */
    /* The epilog writes into a copy with room around it; what it writes there is counted and goes
     * nowhere. For the CPU: on a GPU the copy would cost registers. */
    bool guard;
    bool hooks;  /* GPU: with hooks (gb/hooks.h), which the CPU's text has in any case */
    bool finals; /* likewise, with final observations (finish.h) */
} dm_swarm_variant;

/* Append the text. DM_EINVAL when the template does not have each of its two sites once, or when a
 * site is left over in the result. */
dm_status dm_swarm_compose(const char *skeleton, const dm_swarm_variant *variant, dm_buffer *out,
                           dm_error *err);

/* "full_step" ...; NULL for a number that is no stage. */
const char *dm_swarm_stage_text(int stage);

#endif
