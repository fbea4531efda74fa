/* SPDX-License-Identifier: MIT */
/* reference.h - the reference functions of reference_text.h: dm_ref32_* in float, dm_ref64_* in double. */
#ifndef DM_DYNAMICS_REFERENCE_H
#define DM_DYNAMICS_REFERENCE_H

#include "dynamics/internal.h"

#define REAL float
#define REF(name) dm_ref32_##name
#include "dynamics/reference_decl.h"
#undef REAL
#undef REF

#define REAL double
#define REF(name) dm_ref64_##name
#include "dynamics/reference_decl.h"
#undef REAL
#undef REF

#endif
