/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

static const float weights[] = {1, -2, 3}, moments[] = {0.5f, 0, 0};
static const dm_safetensor tensors[] = {{"w", DM_SAFETENSORS_F32, 1, {3}, weights},
                                        {"adam.m", DM_SAFETENSORS_F32, 1, {3}, moments}};
static const dm_checkpoint here = {"gpt", "{\"layers\":4}", 120, UINT64_MAX, 3, 77};

static void a_checkpoint_comes_back(void **state)
{
    const char *path = dm_test_path(state, "c.safetensors");
    dm_checkpoint got = {0};
    dm_safetensors *file = NULL;
    dm_error err = {0};
    float w[3];
    assert_ok(dm_checkpoint_save(path, &here, tensors, 2, err));
    assert_ok(dm_checkpoint_load(path, "gpt", &got, &file, err));
    assert_string_equal(got.model, "gpt");
    assert_string_equal(got.config, here.config);
    assert_true(got.step == 120 && got.seed == UINT64_MAX && got.epoch == 3 && got.position == 77);
    assert_ok(dm_safetensors_floats(file, "w", w, 3, err));
    assert_memory_equal(w, weights, sizeof w);
    dm_safetensors_close(file);
    assert_int_equal(dm_checkpoint_load(path, "cnn", &got, &file, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "a checkpoint of gpt, not of cnn"));
}

/* Whatever byte changes, the file is refused; spaces that pad the header are no content. */
static void every_damaged_byte_is_seen(void **state)
{
    const char *path = dm_test_path(state, "c.safetensors");
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_checkpoint_save(path, &here, tensors, 2, err));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    for (size_t i = 0; i < size; i++) {
        dm_checkpoint got;
        dm_safetensors *file = NULL;
        char kept = bytes[i];
        bytes[i] = (char)(bytes[i] ^ 1);
        assert_ok(dm_file_write(path, bytes, size, err));
        dm_status status = dm_checkpoint_load(path, NULL, &got, &file, NULL);
        if (status != DM_EFORMAT && kept != ' ')
            fail_msg("byte %zu of %zu ('%c') was changed: %s", i, size, kept,
                     dm_status_name(status));
        bytes[i] = kept;
    }
    for (size_t cut = 0; cut < size; cut += 7) {
        dm_checkpoint got;
        dm_safetensors *file = NULL;
        assert_ok(dm_file_write(path, bytes, cut, err));
        assert_int_equal(dm_checkpoint_load(path, NULL, &got, &file, NULL), DM_EFORMAT);
    }
    free(bytes);
}

DM_TESTS("train/checkpoint", DM_TEST_IN_DIR(a_checkpoint_comes_back),
         DM_TEST_IN_DIR(every_damaged_byte_is_seen))
