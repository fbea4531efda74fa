/* SPDX-License-Identifier: MIT */
/* cpu_avx512.c - the operations for AVX-512. */
#define CPU_TABLE dm_nn_cpu_avx512
#define CPU_NAME "cpu-avx512"

#include "nn/cpu/table.h"
