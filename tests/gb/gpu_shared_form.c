/* SPDX-License-Identifier: MIT */
/* gpu_shared_form.c - the GPU's form for machines that are in shared memory while they run. */
#define DM_GB_GPU_FORM 1
#define DM_GB_SHARED_COPIES 1
#define DM_GB_QUICK_LANES 2
#define DM_GB_QUICK_SEAT 1u
#include "gb/cpu/run.h"
#include "tests/gb/gpu_form.h"

void dm_test_gpu_shared_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    dm_gb_kept kept;
    dm_gb_lane lane = {DM_TEST_GPU_LANE(form), .kept = &kept};
    dm_gb_shared_seat(&lane);
    dm_gb_shared_begin(&lane);
    dm_gb_drop_picture(&lane, cycles);
    dm_gb_move_target(&lane, dm_gb_m(&lane), cycles);
    dm_gb_loop(&lane);
    dm_gb_settle(&lane);
    dm_gb_shared_end(&lane);
}
