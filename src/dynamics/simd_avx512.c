/* SPDX-License-Identifier: MIT */
/* simd_avx512.c - the vectorised loops for AVX-512. */
#define SIMD_NAME dm_simd_avx512
#define SIMD_LABEL "avx512"
#include "dynamics/simd_text.h"
