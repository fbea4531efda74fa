/* SPDX-License-Identifier: MIT */
/* test_gpu_store.c - the same on a GPU. */
#include "tests/device/gpu.h"
#include "tests/nn/store_case.h"

static void copies_moves_and_products(void **state)
{
    (void)state;
    dm_test_gpu();
    store_case_compare("cuda:0");
}

static void a_model_s_parts_and_moments(void **state)
{
    (void)state;
    dm_test_gpu();
    store_case_model("cuda:0");
}

DM_TESTS("gpu/store", DM_TEST(copies_moves_and_products), DM_TEST(a_model_s_parts_and_moments))
