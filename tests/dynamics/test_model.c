/* SPDX-License-Identifier: MIT */
/* test_model.c - configurations, initial weights, files. */
#include "base/file.h"
#include "tests/dynamics/dynamics_case.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    const struct {
        dm_dynamics_config config;
        const char *named;
    } cases[] = {
        {{0, 8, 4, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "members"},
        {{1025, 8, 4, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "members"},
        {{1, 0, 4, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "hidden"},
        {{1, 65537, 4, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "hidden"},
        {{1, UINT32_MAX, 4, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "hidden"},
        {{1, 8, 0, 4, DM_DYNAMICS_GRU_RESET_FIRST, false}, "stochastic"},
        {{1, 8, 4, 0, DM_DYNAMICS_GRU_RESET_FIRST, false}, "input"},
        {{1, 8, 4, UINT32_MAX, DM_DYNAMICS_GRU_RESET_FIRST, false}, "input"},
        {{1, 8, 4, 4, (dm_dynamics_gru_kind)2, false}, "kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_dynamics *model = NULL;
        dm_error err = {0};
        assert_int_equal(dm_dynamics_create(&cases[i].config, 1, &model, &err), DM_EINVAL);
        assert_null(model);
        assert_non_null(strstr(err.message, cases[i].named));
    }
    /* Countable, but more than any machine has. */
    dm_dynamics_config huge = {1024, 65536, 4, 65536, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_dynamics *model = NULL;
    assert_int_equal(dm_dynamics_create(&huge, 1, &model, NULL), DM_ENOMEM);
    dm_dynamics_destroy(NULL);
}

static void weights_follow_the_seed(void **state)
{
    (void)state;
    dm_dynamics_config small = {2, 16, 4, 8, DM_DYNAMICS_GRU_RESET_FIRST, true}, large = small;
    large.members = 4;
    dm_dynamics *a = NULL, *b = NULL, *c = NULL;
    assert_ok(dm_dynamics_create(&small, 5, &a, err));
    assert_ok(dm_dynamics_create(&large, 5, &b, err));
    assert_ok(dm_dynamics_create(&small, 6, &c, err));
    assert_memory_equal(a->weights, b->weights, 2 * a->layout.stride * sizeof(float));
    size_t count = 0;
    const float *U0 = dm_dynamics_weights(a, 0, DM_DYNAMICS_U, &count);
    assert_int_equal(count, 3 * 16 * 16);
    assert_memory_not_equal(U0, dm_dynamics_weights(a, 1, DM_DYNAMICS_U, NULL), count * 4);
    assert_memory_not_equal(U0, dm_dynamics_weights(c, 0, DM_DYNAMICS_U, NULL), count * 4);
    double bound = sqrt(2.0 / 32), largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)U0[i]));
        sum += (double)U0[i];
    }
    assert_true(largest <= bound && largest > 0.95 * bound);
    assert_true(fabs(sum / (double)count) < 0.05 * bound);
    const float *biases = dm_dynamics_weights(a, 1, DM_DYNAMICS_B, &count);
    for (size_t i = 0; i < count; i++)
        assert_true(biases[i] == 0);
    assert_null(dm_dynamics_weights(a, 0, DM_DYNAMICS_C, &count));
    assert_int_equal(count, 0);
    assert_null(dm_dynamics_weights(a, 2, DM_DYNAMICS_W, NULL));
    dm_dynamics_destroy(a);
    dm_dynamics_destroy(b);
    dm_dynamics_destroy(c);
}

static void saved_models_come_back_equal(void **state)
{
    const char *path = dm_test_path(state, "model.safetensors");
    for (int kind = 0; kind < 2; kind++) {
        dm_dynamics_config config = {3, 7, 5, 9, (dm_dynamics_gru_kind)kind, kind == 1};
        dm_dynamics *model = NULL, *loaded = NULL;
        assert_ok(dm_dynamics_create(&config, 3, &model, err));
        dm_dynamics_shift(model)[2] = 4.5f;
        dm_dynamics_scale(model)[8] = 0.125f;
        assert_ok(dm_dynamics_save(model, path, err));
        assert_ok(dm_dynamics_load(path, &loaded, err));
        const dm_dynamics_config *got = dm_dynamics_get_config(loaded);
        assert_true(got->members == 3 && got->hidden == 7 && got->stochastic == 5 &&
                    got->input == 9);
        assert_true(got->kind == config.kind && got->projection == config.projection);
        assert_memory_equal(model->weights, loaded->weights,
                            3 * model->layout.stride * sizeof(float));
        assert_memory_equal(model->shift, loaded->shift, 9 * sizeof(float));
        assert_memory_equal(model->scale, loaded->scale, 9 * sizeof(float));
        dm_dynamics_destroy(model);
        dm_dynamics_destroy(loaded);
    }
}

static void damaged_files_are_refused(void **state)
{
    const char *path = dm_test_path(state, "damaged.safetensors");
    char *bytes = NULL;
    size_t size = 0;
    dm_dynamics_config config = {1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_dynamics *model = NULL, *loaded = NULL;
    assert_ok(dm_dynamics_create(&config, 3, &model, err));
    assert_int_equal(dm_dynamics_load(path, &loaded, NULL), DM_ENOENT);
    assert_ok(dm_dynamics_save(model, path, err));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    /* Cut anywhere. */
    for (size_t cut = 0; cut < size; cut += cut < 16 ? 1 : 37) {
        assert_ok(dm_file_write(path, bytes, cut, err));
        assert_int_equal(dm_dynamics_load(path, &loaded, NULL), DM_EFORMAT);
    }
    /* Words of the header replaced by others of the same length. */
    static const char *const changes[][2] = {{"\"F32\"", "\"F16\""},
                                             {"\"hidden\":\"4\"", "\"hidden\":\"5\""},
                                             {"\"hidden\":\"4\"", "\"hidden\":\"0\""},
                                             {"\"members\":\"1\"", "\"members\":\"9\""},
                                             {"\"members\":\"1\"", "\"members\":\"x\""},
                                             {"\"kind\":\"0\"", "\"kind\":\"5\""},
                                             {"dotmatrix-dynamics-1", "dotmatrix-dynamics-2"},
                                             {"member.0.U", "member.0.u"},
                                             {"\"shape\":[3,4,3]", "\"shape\":[4,3,3]"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        char *at = memmem(copy, size, changes[i][0], strlen(changes[i][0]));
        assert_non_null(at);
        memcpy(at, changes[i][1], strlen(changes[i][1]));
        assert_ok(dm_file_write(path, copy, size, err));
        dm_error err = {0};
        assert_int_equal(dm_dynamics_load(path, &loaded, &err), DM_EFORMAT);
        assert_int_equal(err.status, DM_EFORMAT);
        assert_non_null(strstr(err.message, "damaged.safetensors"));
        free(copy);
    }
    /* Tensors that share bytes, or have three offsets: texts of the same length. */
    static const char *const offsets[][2] = {
        {"\"data_offsets\":[144,336]", "\"data_offsets\":[  0,192]"},
        {"\"data_offsets\":[144,336]", "\"data_offsets\":[9,4,336]"}};
    for (size_t i = 0; i < 2; i++) {
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        char *at = memmem(copy, size, offsets[i][0], strlen(offsets[i][0]));
        assert_non_null(at);
        memcpy(at, offsets[i][1], strlen(offsets[i][1]));
        assert_ok(dm_file_write(path, copy, size, err));
        dm_error err = {0};
        assert_int_equal(dm_dynamics_load(path, &loaded, &err), DM_EFORMAT);
        assert_non_null(
            strstr(err.message, i == 0 ? "overlaps another" : "data_offsets are damaged"));
        free(copy);
    }
    /* A weight that is no number, bytes behind the last tensor. */
    float nan_weight = NAN;
    char *longer = malloc(size + 4);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    memcpy(longer + size, bytes, 4);
    assert_ok(dm_file_write(path, longer, size + 4, err));
    assert_int_equal(dm_dynamics_load(path, &loaded, NULL), DM_EFORMAT);
    memcpy(longer + size - 4, &nan_weight, 4);
    assert_ok(dm_file_write(path, longer, size, err));
    assert_int_equal(dm_dynamics_load(path, &loaded, NULL), DM_EFORMAT);
    free(longer);
    assert_null(loaded);
    free(bytes);
    dm_dynamics_destroy(model);
}

/* PyTorch's order is r, z, n and it has two biases. */
static void torch_weights_are_put_in_our_order(void **state)
{
    (void)state;
    dm_dynamics_config config = {1, 2, 1, 1, DM_DYNAMICS_GRU_RESET_LAST, false};
    dm_dynamics *model = NULL;
    assert_ok(dm_dynamics_create(&config, 1, &model, err));
    const float ih[6] = {1, 2, 3, 4, 5, 6};
    const float hh[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const float bi[6] = {1, 2, 3, 4, 5, 6}, bh[6] = {10, 20, 30, 40, 50, 60};
    assert_ok(dm_dynamics_import_torch(model, 0, ih, hh, bi, bh, err));
    const float W[6] = {3, 4, 1, 2, 5, 6}, b[6] = {33, 44, 11, 22, 5, 6}, c[2] = {50, 60};
    const float U[12] = {5, 6, 7, 8, 1, 2, 3, 4, 9, 10, 11, 12};
    assert_memory_equal(dm_dynamics_weights(model, 0, DM_DYNAMICS_W, NULL), W, sizeof W);
    assert_memory_equal(dm_dynamics_weights(model, 0, DM_DYNAMICS_U, NULL), U, sizeof U);
    assert_memory_equal(dm_dynamics_weights(model, 0, DM_DYNAMICS_B, NULL), b, sizeof b);
    assert_memory_equal(dm_dynamics_weights(model, 0, DM_DYNAMICS_C, NULL), c, sizeof c);
    assert_int_equal(dm_dynamics_import_torch(model, 1, ih, hh, bi, bh, NULL), DM_EINVAL);
    dm_dynamics_destroy(model);
    config.kind = DM_DYNAMICS_GRU_RESET_FIRST;
    assert_ok(dm_dynamics_create(&config, 1, &model, err));
    assert_int_equal(dm_dynamics_import_torch(model, 0, ih, hh, NULL, NULL, NULL), DM_EINVAL);
    dm_dynamics_destroy(model);
}

DM_TESTS("dynamics/model", DM_TEST(impossible_sizes_are_refused), DM_TEST(weights_follow_the_seed),
         DM_TEST_IN_DIR(saved_models_come_back_equal), DM_TEST_IN_DIR(damaged_files_are_refused),
         DM_TEST(torch_weights_are_put_in_our_order))
