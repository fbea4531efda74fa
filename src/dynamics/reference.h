/* SPDX-License-Identifier: MIT */
/* reference.h - the plain versions of everything, in float and in double. */
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
