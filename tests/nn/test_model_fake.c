/* SPDX-License-Identifier: MIT */
/* test_model_fake.c - a model's host side on a stand-in driver whose kernels do nothing: what a step
 * calls, and that nothing is left behind. */
#include "base/file.h"
#include "nn/ops.h"
#include "tests/nn/fake_kernels.h"
#include "tests/nn/model_case.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fake_cuda *fake_with_kernels(void)
{
    static const char *const optimisers[] = {"adamw_forward", "muon_momentum_forward",
                                             "muon_update_forward", "average_forward"};
    return dm_test_fake_kernels(optimisers, sizeof optimisers / sizeof optimisers[0]);
}

/* Of a model with one block; a step makes at most `most` launches besides its graphs. */
static void steps_allocate_nothing(dm_nn_optimiser optimiser, int most)
{
    const fake_cuda *fake = fake_with_kernels();
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    int32_t ids[BATCH * T], next[BATCH * T];
    float room[V * C], loss = 1;
    text(ids, next);
    assert_ok(dm_device_open("cuda:0", &device, err));
    dm_nn_model_desc desc = gpt_desc(0, optimiser);
    desc.precision = DM_NN_BFLOAT16;
    desc.microbatches = 2;
    assert_ok(dm_nn_model_create(device, &desc, &model, err));
    for (int i = 0; i < 4; i++) {
        int launches = fake->calls("cuLaunchKernel"), graphs = fake->calls("cuGraphLaunch"),
            memory = fake->calls("cuMemAlloc_v2") + fake->calls("cuMemHostAlloc");
        assert_ok(dm_nn_model_step(model, ids, next, &loss, err));
        assert_int_equal(fake->calls("cuMemAlloc_v2") + fake->calls("cuMemHostAlloc"), memory);
        if (i == 0) /* the first pass goes call by call, the second is recorded */
            continue;
        assert_int_equal(fake->calls("cuGraphLaunch") - graphs, 2);
        assert_true(fake->calls("cuLaunchKernel") - launches <= most);
    }
    assert_int_equal(dm_nn_model_steps(model), 4);
    assert_ok(dm_nn_model_read(model, 0, DM_NN_AVERAGE, room, err));
    assert_ok(dm_nn_model_swap_average(model, err));
    assert_ok(dm_nn_model_evaluate(model, ids, NULL, NULL, NULL, err));
    dm_nn_model_destroy(model);
    dm_device_close(device);
    assert_int_equal(fake->live(), 0);
    assert_int_equal(fake->errors(), 0);
    assert_int_equal(fake->retained(), 0);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    steps_allocate_nothing((dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 0.1f, .average = 0.5f},
                           11);
}

/* Four matrices: 3 launches each and 5 for a step of it, or 7 for those that are tall. */
static void a_step_of_muon_allocates_nothing(void **state)
{
    (void)state;
    steps_allocate_nothing((dm_nn_optimiser){.kind = DM_NN_MUON, .rate = 0.1f, .average = 0.5f},
                           11 + 3 + 4 * 3 + 4 * 5 * 5 + 2 * 5 * 2);
}

/* `dotmatrix info` asks this, of devices that nobody opened. */
static void products_are_named_without_a_device(void **state)
{
    if (dm_test_fake_cuda() == NULL)
        dm_test_skip("%s", "the stand-in driver is not here");
    char text[DM_PATH_MAX + 600], wanted[DM_PATH_MAX + 600];
    assert_ok(dm_nn_products("cpu", text, sizeof text, err));
    assert_string_equal(text, dm_nn_cpu()->name);
    setenv("DM_CUBLASLT", "/nonexistent", 1);
    assert_ok(dm_nn_products("cuda:0", text, sizeof text, err));
    assert_non_null(strstr(text, "own kernels (no cuBLASLt"));
    assert_non_null(strstr(text, "/nonexistent"));
    const char *library = dm_test_path(state, "libcublasLt.so.13");
    assert_ok(dm_file_write(library, "", 0, err)); /* it is not opened */
    setenv("DM_CUBLASLT", library, 1);
    assert_ok(dm_nn_products("cuda:0", text, sizeof text, err));
    snprintf(wanted, sizeof wanted, "cuBLASLt: %s", library);
    assert_string_equal(text, wanted);
    unsetenv("DM_CUBLASLT");
}

DM_TESTS("nn/model-fake", DM_TEST(a_step_allocates_nothing),
         DM_TEST(a_step_of_muon_allocates_nothing),
         DM_TEST_IN_DIR(products_are_named_without_a_device));
