/* SPDX-License-Identifier: MIT */
/* simd_avx2.c - the vectorised loops for AVX2 and FMA. */
#define SIMD_NAME dm_simd_avx2
#define SIMD_LABEL "avx2"
#include "dynamics/simd_text.h"
