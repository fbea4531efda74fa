/* SPDX-License-Identifier: MIT */
/* cpu_portable.c - the operations for any processor: vectors of 4 floats. */
#define CPU_TABLE dm_nn_cpu_portable
#define CPU_NAME "cpu-portable"

#include "nn/cpu/table.h"
