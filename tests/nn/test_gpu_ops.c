/* SPDX-License-Identifier: MIT */
/* test_gpu_ops.c - every operation on a GPU against the plain ones in double: in float32 and
 * bfloat16, with cuBLASLt and with our own products; activations and losses against their texts. */
#include "tests/device/gpu.h"
#include "tests/nn/muon_case.h"
#include "tests/nn/op_case.h"
#include "tests/nn/text_case.h"

#include <string.h>

/* With the library's products where it is there, or with ours. */
static void create(dm_nn_type type, bool library, dm_nn_exec *exec)
{
    if (!library)
        setenv("DM_CUBLASLT", "/nonexistent", 1);
    dm_status made = dm_nn_cuda_create(dm_test_gpu_device, type, exec, NULL);
    unsetenv("DM_CUBLASLT");
    assert_int_equal(made, DM_OK);
}

/* All cases are run, so that one log shows everything that is wrong. */
static void check_all(dm_nn_type type, bool library)
{
    dm_test_gpu();
    dm_nn_exec exec;
    create(type, library, &exec);
    bool found = strncmp(dm_nn_cuda_products(&exec), "own", 3) != 0;
    if (!library)
        assert_false(found);
    int wrong = 0;
    double worst = 0;
    for (size_t i = 0; i < op_case_count(); i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            wrong += !op_case_is_right(op_case_get(i), &exec, dm_test_gpu_device, seed, &worst);
    print_message("%s, %s: at most %g off\n", type == DM_NN_BF16 ? "bfloat16" : "float32",
                  dm_nn_cuda_products(&exec), worst);
    dm_nn_cuda_destroy(&exec);
    assert_int_equal(wrong, 0);
    if (library && !found)
        dm_test_skip("%s", "cuBLASLt is not here: only our own products were tested");
}

static void float32_with_the_library(void **state)
{
    (void)state;
    check_all(DM_NN_F32, true);
}

static void float32_alone(void **state)
{
    (void)state;
    check_all(DM_NN_F32, false);
}

static void bfloat16_with_the_library(void **state)
{
    (void)state;
    check_all(DM_NN_BF16, true);
}

static void bfloat16_alone(void **state)
{
    (void)state;
    check_all(DM_NN_BF16, false);
}

/* The attention of GPUs without warpgroup products. */
static void bfloat16_without_wgmma(void **state)
{
    (void)state;
    setenv("DM_NN_FLASH", "mma", 1);
    check_all(DM_NN_BF16, true);
    unsetenv("DM_NN_FLASH");
}

/* Convolutions of GPUs without tf32. */
static void float32_without_matrix_units(void **state)
{
    (void)state;
    setenv("DM_NN_CONV", "tiled", 1);
    check_all(DM_NN_F32, true);
    unsetenv("DM_NN_CONV");
}

static void hand_written_equals_texts(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_nn_exec exec;
    assert_ok(dm_nn_cuda_create(dm_test_gpu_device, DM_NN_F32, &exec, err));
    text_case_activations(dm_test_gpu_device, &exec);
    text_case_losses(dm_test_gpu_device, &exec);
    dm_nn_cuda_destroy(&exec);
}

static void check_matrices(dm_nn_type type, bool library, double tolerance)
{
    dm_nn_exec exec;
    create(type, library, &exec);
    muon_case_compare(dm_test_gpu_device, &exec, tolerance);
    dm_nn_cuda_destroy(&exec);
}

/* Muon's, with the library's products where it is there, and with ours. In bfloat16 small singular
 * values are lost in what rounding adds. */
static void matrices_become_orthogonal(void **state)
{
    (void)state;
    dm_test_gpu();
    for (int library = 0; library < 2; library++) {
        check_matrices(DM_NN_F32, library == 1, 5e-5);
        check_matrices(DM_NN_BF16, library == 1, 0.1);
    }
}

DM_TESTS("gpu/nn_ops", DM_TEST(float32_alone), DM_TEST(bfloat16_alone),
         DM_TEST(float32_with_the_library), DM_TEST(bfloat16_with_the_library),
         DM_TEST(bfloat16_without_wgmma), DM_TEST(float32_without_matrix_units),
         DM_TEST(hand_written_equals_texts), DM_TEST(matrices_become_orthogonal));
