/* SPDX-License-Identifier: MIT */
/* run.c - kernels that run machines, in blocks of lanes on the host. */
#define DM_HOST_BLOCK 1
#include "gb/simt/kernel_run.h"
#include "tests/gb/block/kernels.h"

const dm_builtin_kernel dm_gb_block_run[2] = {
    {"dm_gb_run_machines", dm_gb_run_machines, sizeof(dm_gb_run_args)},
    {"dm_gb_predecode_rom", dm_gb_predecode_rom, sizeof(dm_gb_predecode_args)}};
