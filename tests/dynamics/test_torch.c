/* SPDX-License-Identifier: MIT */
/* test_torch.c - our cell with PyTorch's weights gives PyTorch's results, where torch is installed.
 */
#include "tests/dynamics/dynamics_case.h"

#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT = 13, HIDDEN = 37, BATCH = 5 };

static float *read_floats(void **state, const char *name, size_t count)
{
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, &bytes, &size, err));
    assert_int_equal(size, count * sizeof(float));
    return (float *)(void *)bytes;
}

static void same_as_torch(void **state)
{
    char script[DM_PATH_MAX];
    dm_test_result r;
    dm_test_run(
        &(dm_test_command){.argv = (const char *const[]){"python3", "-c", "import torch", NULL}},
        &r);
    bool there = r.exit_code == 0;
    dm_test_result_free(&r);
    if (!there)
        dm_test_skip("python3 has no torch");
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/dynamics/torch_gru.py", err));
    const char *const argv[] = {"python3", script, dm_test_dir(state), "13", "37", "5", NULL};
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    float *wih = read_floats(state, "wih.f32", 3 * HIDDEN * INPUT),
          *whh = read_floats(state, "whh.f32", 3 * HIDDEN * HIDDEN);
    float *bih = read_floats(state, "bih.f32", 3 * HIDDEN),
          *bhh = read_floats(state, "bhh.f32", 3 * HIDDEN);
    float *x = read_floats(state, "x.f32", BATCH * INPUT),
          *h = read_floats(state, "h.f32", BATCH * HIDDEN);
    float *out = read_floats(state, "out.f32", BATCH * HIDDEN), got[BATCH * HIDDEN];
    double *want = dyn_to_double(out, BATCH * HIDDEN);
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){1, HIDDEN, 1, INPUT, DM_DYNAMICS_GRU_RESET_LAST, false}, 1);
    assert_ok(dm_dynamics_import_torch(model, 0, wih, whh, bih, bhh, err));
    assert_ok(dm_dynamics_gru(model, 0, BATCH, x, h, got, err));
    assert_true(dm_reference_distance(got, want, BATCH * HIDDEN) < 1e-5);
    dm_dynamics_destroy(model);
    free(wih);
    free(whh);
    free(bih);
    free(bhh);
    free(x);
    free(h);
    free(out);
    free(want);
}

DM_TESTS("dynamics/torch", DM_TEST_IN_DIR(same_as_torch))
