/* SPDX-License-Identifier: MIT */
/* reference.c - reference_text.h in float and in double. */
#include "dynamics/reference.h"

#include <math.h>

#define REAL float
#define MATH(function) function##f
#define REF(name) dm_ref32_##name
#include "dynamics/reference_text.h"
#undef REAL
#undef MATH
#undef REF

#define REAL double
#define MATH(function) function
#define REF(name) dm_ref64_##name
#include "dynamics/reference_text.h"
#undef REAL
#undef MATH
#undef REF
