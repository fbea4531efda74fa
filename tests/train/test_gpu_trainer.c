/* SPDX-License-Identifier: MIT */
/* Runs of training on a GPU: what is learned, and that bits repeat, also after going on from a
 * checkpoint. */
#include "tests/device/gpu.h"
#include "tests/support/tmpdir.h"
#include "tests/train/trainer_case.h"

static void xor_is_solved_and_bits_repeat(void **state)
{
    (void)state;
    dm_test_gpu();
    trainer_solves_xor("cuda:0");
}

static void images_are_learned(void **state)
{
    dm_test_gpu();
    trainer_learns_images(state, "cuda:0");
}

static void text_is_learned(void **state)
{
    dm_test_gpu();
    trainer_learns_text(state, "cuda:0");
}

static void resumed_runs_have_the_same_bits(void **state)
{
    dm_test_gpu();
    trainer_resumes(state, "cuda:0", "cuda:0");
}

static void refused_proposals_leave_a_plain_run(void **state)
{
    dm_test_gpu();
    trainer_refused_is_plain(state, "cuda:0");
}

DM_TESTS("gpu/trainer", DM_TEST(xor_is_solved_and_bits_repeat), DM_TEST_IN_DIR(images_are_learned),
         DM_TEST_IN_DIR(text_is_learned), DM_TEST_IN_DIR(resumed_runs_have_the_same_bits),
         DM_TEST_IN_DIR(refused_proposals_leave_a_plain_run))
