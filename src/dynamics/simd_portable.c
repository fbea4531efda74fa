/* SPDX-License-Identifier: MIT */
/* simd_portable.c - the vectorised loops for vectors of four floats, which every machine has. */
#define SIMD_NAME dm_simd_portable
#define SIMD_LABEL "portable"
#include "dynamics/simd_text.h"
