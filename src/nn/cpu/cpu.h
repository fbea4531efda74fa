/* SPDX-License-Identifier: MIT */
/* cpu.h - the tables of operations for the CPU, one per set of vector instructions. */
#ifndef DM_NN_CPU_H
#define DM_NN_CPU_H

#include "nn/ops.h"

extern const dm_nn_ops dm_nn_cpu_portable;
#if defined(__x86_64__)
extern const dm_nn_ops dm_nn_cpu_avx2, dm_nn_cpu_avx512;
#endif

#endif
