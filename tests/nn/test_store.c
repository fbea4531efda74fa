/* SPDX-License-Identifier: MIT */
/* test_store.c - copies of a model's arrays and their arithmetic, on the CPU with any number of threads. */
#include "tests/nn/store_case.h"
#include "tests/support/test.h"

static void copies_moves_and_products(void **state)
{
    (void)state;
    store_case_compare("cpu:1");
    store_case_compare("cpu:3");
}

static void a_model_s_parts_and_moments(void **state)
{
    (void)state;
    store_case_model("cpu:2");
}

DM_TESTS("nn/store", DM_TEST(copies_moves_and_products), DM_TEST(a_model_s_parts_and_moments))
