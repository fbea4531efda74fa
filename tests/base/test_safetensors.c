/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/safetensors.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <string.h>

static void files_are_read_as_written(void **state)
{
    const float weights[6] = {1, 2, 3, 4, 5, -6.5f}, one = 7;
    const int64_t step = 12;
    const dm_safetensor tensors[] = {
        {"w", DM_SAFETENSORS_F32, 2, {2, 3}, weights},
        {"b", DM_SAFETENSORS_F32, 0, {0}, &one},
        {"step", DM_SAFETENSORS_I64, 1, {1}, &step},
        {"none", DM_SAFETENSORS_F32, 1, {0}, NULL},
    };
    const char *path = dm_test_path(state, "a.safetensors");
    json_t *metadata = json_pack("{s:s}", "config", "{\"x\": \"\\u00e9\"}");
    dm_safetensors *file = NULL;
    float got[6];
    assert_ok(dm_safetensors_save(path, tensors, 4, metadata, err));
    assert_ok(dm_safetensors_load(path, &file, err));
    assert_int_equal(dm_safetensors_count(file), 4);
    assert_string_equal(dm_safetensors_metadata(file, "config"), "{\"x\": \"\\u00e9\"}");
    assert_null(dm_safetensors_metadata(file, "other"));
    assert_ok(dm_safetensors_floats(file, "w", got, 6, err));
    assert_memory_equal(got, weights, sizeof weights);
    assert_int_equal(dm_safetensors_find(file, "w")->shape[1], 3);
    assert_memory_equal(dm_safetensors_find(file, "step")->data, &step, 8);
    assert_int_equal(dm_safetensors_floats(file, "w", got, 5, NULL), DM_EFORMAT);
    assert_int_equal(dm_safetensors_floats(file, "step", got, 2, NULL), DM_EFORMAT);
    assert_null(dm_safetensors_find(file, "v"));
    dm_safetensors_close(file);
    json_decref(metadata);
}

static void values_that_are_not_finite_are_refused(void **state)
{
    const float values[2] = {1, NAN};
    float got[2];
    const dm_safetensor tensor = {"w", DM_SAFETENSORS_F32, 1, {2}, values};
    dm_safetensors *file = NULL;
    dm_error err = {0};
    assert_ok(dm_safetensors_save(dm_test_path(state, "a"), &tensor, 1, NULL, err));
    assert_ok(dm_safetensors_load(dm_test_path(state, "a"), &file, err));
    assert_int_equal(dm_safetensors_floats(file, "w", got, 2, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "value 1 is not finite"));
    dm_safetensors_close(file);
}

static void damaged_files_are_refused(void **state)
{
    static const struct {
        const char *header, *what;
        int data; /* bytes */
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "1 bytes after", 5},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "the data at 3", 3},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "shape says", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "a gap", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "overlaps", 4},
        {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}", "type Q4", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "damaged", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", "damaged", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}",
         "shape says", 0},
        {"[1]", "no object", 0},
        {"{\"a\":", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[512] = {0};
        size_t length = strlen(cases[i].header);
        dm_safetensors *file = NULL;
        dm_error err = {0};
        bytes[0] = (char)length;
        memcpy(bytes + 8, cases[i].header, length);
        assert_ok(dm_file_write(dm_test_path(state, "a"), bytes, 8 + length + (size_t)cases[i].data,
                                err));
        dm_status status = dm_safetensors_load(dm_test_path(state, "a"), &file, &err);
        if (status != DM_EFORMAT || strstr(err.message, cases[i].what) == NULL)
            fail_msg("case %zu: %s: %s", i, dm_status_name(status), err.message);
    }
    dm_safetensors *file = NULL;
    assert_ok(dm_file_write(dm_test_path(state, "a"), "\377\0\0\0\0\0\0\0{}", 10, err));
    assert_int_equal(dm_safetensors_load(dm_test_path(state, "a"), &file, NULL), DM_EFORMAT);
}

DM_TESTS("base/safetensors", DM_TEST_IN_DIR(files_are_read_as_written),
         DM_TEST_IN_DIR(values_that_are_not_finite_are_refused),
         DM_TEST_IN_DIR(damaged_files_are_refused))
