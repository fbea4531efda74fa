/* SPDX-License-Identifier: MIT */
/* Tallies: what is counted of a text, and that counts add up and are read back. */
#include "synth/store/tally.h"
#include "tests/support/test.h"

#include <string.h>

static json_t *written(const dm_synth_tally *tally)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    json_t *object;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_synth_tally_write(tally, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    assert_ok(dm_json_parse(text.data, text.size, NULL, &object, err));
    dm_buffer_deinit(&text);
    return object;
}

/* Exactly these features, by name with a space behind each. */
static void expect_features(const char *text, const char *expected)
{
    dm_synth_tally tally = {0};
    dm_synth_record record;
    char found[512] = "";
    const char *name;
    json_t *value;
    dm_synth_record_init(&record);
    dm_buffer_puts(&record.python_source, text);
    dm_synth_tally_add(&tally, &record);
    json_t *all = written(&tally);
    json_object_foreach(json_object_get(all, "features"), name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        strcat(found, name);
        strcat(found, " ");
    }
    if (strcmp(found, expected) != 0)
        fail_msg("'%s' has '%s', not '%s'", text, found, expected);
    json_decref(all);
    dm_synth_record_deinit(&record);
}

static void features_are_pieces_of_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *features;
    } cases[] = {
        {"", ""},
        {"import warp as wp\n", ""},
        {"    if a < b:\n        x = a\n    elif c:\n        pass\n", "if "},
        {"    elif a:\n", ""},
        {"    if a:\n        x = 1\n    else:\n        x = 2\n", "if else "},
        {"    x = a if b else c\n", "ternary "},
        {"    for k in range(3):\n        continue\n", "for continue "},
        {"    while a:\n        break\n", "while break "},
        {"    if i >= n:\n        return\n", "if early_return "},
        {"    return\n", ""},
        {"        return x\n", ""},
        {"    a += 1\n", "augmented "},
        {"    out[i] *= b\n", "augmented "},
        {"    a = b <= c\n    d = e == f\n    g = h != 2\n", ""},
        {"\n@wp.func\ndef f(a: float):\n", "function "},
        {"@wp.func\ndef f(a: float):\n", "function "},
        {"@wp.struct\nclass Body:\n    x: wp.vec3\n", "struct vector "},
        {"G = wp.constant(9.5)\n", "constant "},
        {"def f(a: wp.array(dtype=float), b: wp.array2d(dtype=wp.mat33)):\n",
         "array_1d array_2d matrix "},
        {"def f(a: wp.array3d(dtype=wp.float64), b: wp.array4d(dtype=wp.float16)):\n",
         "array_3d array_4d float64 float16 "},
        {"    q = wp.quat_inverse(p)\n    wp.atomic_add(o, 0, wp.where(c, a, b))\n",
         "quaternion atomic where "},
        {"    s = wp.rand_init(seed, i)\n    m = wp.max(a, wp.min(b, 0.5))\n", "random "},
        {"    v = swp.vec\n", "vector "}, /* what ends with wp. is as good */
        {"    v = my.vector + a.where(b)\n", ""},
        {"wp.", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_features(cases[i].text, cases[i].features);
}

static void counts_add_up_and_are_read_back(void **state)
{
    (void)state;
    dm_synth_tally one = {0}, sum = {0}, back = {0};
    dm_synth_record record;
    dm_synth_record_init(&record);
    dm_buffer_puts(&record.python_source, "    for i in range(3):\n        a += wp.sin(b)\n");
    record.has_backward = true;
    record.category = DM_SYNTH_REDUCTION;
    record.forward_lines = 20;
    record.backward_lines = 30;
    record.attempt = 3;
    record.verification = (dm_synth_verification){
        .level = DM_SYNTH_VERIFY_FULL, .compared = 4, .gradient_error = 3e-8};
    dm_synth_tally_add(&one, &record);
    dm_synth_tally_merge(&sum, &one);
    dm_synth_tally_merge(&sum, &one);
    assert_int_equal(sum.pairs, 2);
    assert_int_equal(sum.with_backward, 2);
    assert_int_equal(sum.duplicates, 2);
    assert_int_equal(sum.python_lines, 4);
    assert_int_equal(sum.backward_lines, 60);
    assert_int_equal(sum.by_category[DM_SYNTH_REDUCTION], 2);
    json_t *text = written(&sum);
    assert_true(dm_synth_tally_read(&back, text));
    assert_memory_equal(&back, &sum, sizeof sum);
    json_object_del(json_object_get(text, "features"), "where");
    assert_false(dm_synth_tally_read(&back, text));
    json_decref(text);
    dm_synth_record_deinit(&record);
}

DM_TESTS("synth/tally", DM_TEST(features_are_pieces_of_text),
         DM_TEST(counts_add_up_and_are_read_back))
