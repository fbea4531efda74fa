/* SPDX-License-Identifier: MIT */
/* test_peer.c - whole models beside JAX's from the same weights: the losses of ten steps. Skipped
 * where no Python has jax (dm_test_python_with). */
#include "tests/nn/peer_case.h"

#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 10 };

static void *read_case(void **state, const char *name, size_t size)
{
    char *bytes = NULL;
    size_t found = 0;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, &bytes, &found, err));
    assert_int_equal(found, size);
    return bytes;
}

static void compare(void **state, const char *name, const char *const *words, int count,
                    double tolerance)
{
    char script[DM_PATH_MAX];
    const char *python = dm_test_python_with("jax");
    dm_test_result r;
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/nn/peer_models.py", err));
    const char *argv[16] = {python, script, "--out", dm_test_dir(state), name};
    assert_true(count < 10);
    for (int i = 0; i < count; i++)
        argv[5 + i] = words[i];
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);

    peer_case c;
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    assert_ok(peer_case_init(&c, name, words, count, err));
    assert_ok(dm_device_open("cpu:2", &device, err));
    assert_ok(dm_nn_model_create(device, &c.desc, &model, err));
    assert_ok(peer_case_load(model, dm_test_path(state, "weights.f32"), err));
    void *input = read_case(state, "input.bin", c.input_size);
    void *target = read_case(state, "target.bin", c.target_size);
    float *want = read_case(state, "losses.f32", STEPS * sizeof(float));
    for (int i = 0; i < STEPS; i++) {
        float loss = 0;
        assert_ok(dm_nn_model_step(model, input, target, &loss, err));
        if (!(fabsf(loss - want[i]) <= tolerance * fabsf(want[i]))) /* NaN fails */
            fail_msg("%s: the loss of step %d is %.7g, JAX's is %.7g", name, i, loss, want[i]);
    }
    assert_true(want[STEPS - 1] < want[0]);
    free(input);
    free(target);
    free(want);
    dm_nn_model_destroy(model);
    dm_device_close(device);
}

static void xor_as_in_jax(void **state)
{
    compare(state, "xor", NULL, 0, 1e-5);
}

static void cnn_as_in_jax(void **state)
{
    compare(state, "cnn", (const char *const[]){"batch=24"}, 1, 1e-5);
}

static void gpt_as_in_jax(void **state)
{
    static const char *const words[] = {"batch=4", "time=37",  "width=24",
                                        "heads=3", "layers=2", "vocabulary=61"};
    compare(state, "gpt", words, 6, 1e-5);
}

static void gru_as_in_jax(void **state)
{
    compare(state, "gru", (const char *const[]){"batch=6", "time=19", "width=23"}, 3, 5e-5);
}

DM_TESTS("nn/peer", DM_TEST_IN_DIR(xor_as_in_jax), DM_TEST_IN_DIR(cnn_as_in_jax),
         DM_TEST_IN_DIR(gpt_as_in_jax), DM_TEST_IN_DIR(gru_as_in_jax));
