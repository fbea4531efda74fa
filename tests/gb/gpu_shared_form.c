/* SPDX-License-Identifier: MIT */
/* gpu_shared_form.c - the GPU's form for machines that are in shared memory while they run. */
#define DM_GB_GPU_FORM 1
#define DM_GB_STAGE_SHARED 1
#define DM_GB_BLOCK_MACHINES 2
#define DM_GB_BLOCK_SLOT 1u
#include "gb/cpu/run.h"
#include "tests/gb/gpu_form.h"

void dm_test_gpu_shared_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    dm_gb_line_log line_log;
    dm_gb_context context = {DM_TEST_GPU_LANE(form), .line_log = &line_log};
    dm_gb_stage_slot(&context);
    dm_gb_stage_begin(&context);
    dm_gb_drop_picture(&context, cycles);
    dm_gb_move_target(&context, dm_gb_m(&context), cycles);
    dm_gb_loop(&context);
    dm_gb_sync_end(&context);
    dm_gb_stage_end(&context);
}
