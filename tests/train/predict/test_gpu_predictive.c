/* SPDX-License-Identifier: MIT */
/* Runs that predict on a GPU: what holds on the CPU holds there, with copies, averages and proposals in the device's
 * memory. */
#include "tests/device/gpu.h"
#include "tests/train/predict/predictive_case.h"

static void rejected_proposals_leave_every_bit(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_rejects("cuda:0", 100);
}

static void a_jump_that_was_wrong_is_undone_to_the_bit(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_undoes("cuda:0");
}

static void an_accepted_proposal_changes_weights_and_stands_for_steps(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_accepts("cuda:0");
}

static void refused_proposals_make_the_next_ones_rarer(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_refuses_rarer("cuda:0");
}

static void a_strange_batch_costs_one_look(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_looks_again("cuda:0");
}

static void a_planted_divergence_is_rolled_back(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_rolls_back("cuda:0", 5);
}

static void a_resumed_run_makes_the_same_bits(void **state)
{
    (void)state;
    dm_test_gpu();
    predictive_resumes("cuda:0");
}

DM_TESTS("gpu/predictive", DM_TEST(rejected_proposals_leave_every_bit),
         DM_TEST(a_jump_that_was_wrong_is_undone_to_the_bit),
         DM_TEST(an_accepted_proposal_changes_weights_and_stands_for_steps),
         DM_TEST(refused_proposals_make_the_next_ones_rarer),
         DM_TEST(a_strange_batch_costs_one_look), DM_TEST(a_planted_divergence_is_rolled_back),
         DM_TEST(a_resumed_run_makes_the_same_bits))
