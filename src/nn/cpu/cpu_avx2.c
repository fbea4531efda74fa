/* SPDX-License-Identifier: MIT */
/* cpu_avx2.c - the operations for AVX2 and FMA. */
#define CPU_TABLE dm_nn_cpu_avx2
#define CPU_NAME "cpu-avx2"

#include "nn/cpu/table.h"
