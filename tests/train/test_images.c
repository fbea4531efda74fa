/* SPDX-License-Identifier: MIT */
/* Images to train on and to test with: folders, tables, and images that are held out. */
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"
#include "train/task/images.h"

#include <stdlib.h>
#include <string.h>

static void write_text(void **state, const char *name, const char *text)
{
    assert_ok(dm_file_write(dm_test_path(state, name), text, strlen(text), err));
}

/* No set of the machine's own cache folder counts here. */
static dm_status load(void **state, const char *const *paths, size_t count, double validation,
                      dm_image_sets *out, dm_error *err)
{
    *out = (dm_image_sets){0};
    setenv("DM_CACHE_DIR", dm_test_path(state, "cache"), 1);
    return dm_image_sets_load(paths, count, 10, validation, out, err);
}

static void a_folder_has_both_kinds(void **state)
{
    dm_image_sets sets;
    small_images(state, "a", "train", 30);
    small_images(state, "a", "t10k", 7);
    small_images(state, "b", "train", 11); /* the first folder counts */
    const char *paths[2] = {dm_test_path(state, "a"), dm_test_path(state, "b")};
    assert_ok(load(state, paths, 2, 0.1, &sets, err));
    assert_int_equal(sets.train.count, 30);
    assert_int_equal(sets.test.count, 7);
    assert_true(sets.apart);
    dm_image_sets_deinit(&sets);
}

static void the_cache_folder_fills_in(void **state)
{
    dm_image_sets sets;
    small_images(state, "a", "t10k", 7);
    assert_ok(dm_dir_create(dm_test_path(state, "cache/data"), err));
    small_images(state, "cache/data/mnist5k", "train", 20);
    const char *path = dm_test_path(state, "a");
    assert_ok(load(state, &path, 1, 0.1, &sets, err));
    assert_int_equal(sets.train.count, 20);
    assert_int_equal(sets.test.count, 7);
    dm_image_sets_deinit(&sets);
}

/* Every image is in one of the two sets, in the file's order, with its label. */
static void images_are_held_out_evenly(void **state)
{
    dm_image_sets sets, whole;
    small_images(state, "a", "train", 50);
    const char *path = dm_test_path(state, "a");
    assert_ok(load(state, &path, 1, 0, &whole, err));
    assert_int_equal(whole.test.count, 0);
    assert_ok(load(state, &path, 1, 0.25, &sets, err));
    assert_false(sets.apart);
    assert_int_equal(sets.train.count, 38);
    assert_int_equal(sets.test.count, 12);
    size_t size = (size_t)whole.train.height * whole.train.width;
    uint32_t at[2] = {0, 0};
    for (uint32_t i = 0; i < 50; i++) {
        bool held = i % 4 == 3;
        const dm_images *set = held ? &sets.test : &sets.train;
        uint32_t j = at[held]++;
        assert_int_equal(set->labels[j], whole.train.labels[i]);
        assert_memory_equal(set->pixels + j * size, whole.train.pixels + i * size, size);
    }
    dm_image_sets_deinit(&sets);
    dm_image_sets_deinit(&whole);
}

static void tables_are_read(void **state)
{
    dm_image_sets sets;
    write_text(state, "a.csv", "a,b,c,d,label\n0,1,2,255,7\n3,4,5,6,0\n9,9,9,9,1\n");
    write_text(state, "b.csv", "1,1,1,1,2\n");
    const char *paths[2] = {dm_test_path(state, "a.csv"), dm_test_path(state, "b.csv")};
    assert_ok(load(state, paths, 2, 0.1, &sets, err));
    const uint8_t pixels[] = {0, 1, 2, 255}, labels[] = {7, 0, 1};
    assert_true(sets.train.count == 3 && sets.train.height == 2 && sets.train.width == 2);
    assert_memory_equal(sets.train.pixels, pixels, sizeof pixels);
    assert_memory_equal(sets.train.labels, labels, sizeof labels);
    assert_true(sets.test.count == 1 && sets.test.labels[0] == 2);
    dm_image_sets_deinit(&sets);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *paths[3], *what;
    } cases[] = {
        {{"wide.csv"}, "rows of 4 columns; a square image"},
        {{"one.csv"}, "rows of 1 columns"},
        {{"a.csv", "big.csv"}, "to train on are 2x2, to test with 3x3"},
        {{"a.csv", "a.csv", "a.csv"}, "images to test with already"},
        {{"loud.csv"}, "column 2: 256 is no pixel"},
        {{"wrong.csv"}, "label 10"},
        {{"empty"}, "no train-images-idx3-ubyte in"},
        {{"none"}, "none"},
    };
    write_text(state, "a.csv", "1,2,3,4,5\n");
    write_text(state, "wide.csv", "1,2,3,4\n");
    write_text(state, "one.csv", "1\n");
    write_text(state, "big.csv", "1,2,3,4,5,6,7,8,9,1\n");
    write_text(state, "loud.csv", "1,256,3,4,5\n");
    write_text(state, "wrong.csv", "1,2,3,4,10\n");
    assert_ok(dm_dir_create(dm_test_path(state, "empty"), err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *paths[3] = {NULL, NULL, NULL};
        size_t count = 0;
        for (; count < 3 && cases[i].paths[count] != NULL; count++)
            paths[count] = dm_test_path(state, cases[i].paths[count]);
        dm_image_sets sets;
        dm_error err = {0};
        if (load(state, paths, count, 0.1, &sets, &err) == DM_OK ||
            strstr(err.message, cases[i].what) == NULL)
            fail_msg("expected '%s', got '%s'", cases[i].what, err.message);
        dm_image_sets_deinit(&sets);
    }
}

DM_TESTS("train/images", DM_TEST_IN_DIR(a_folder_has_both_kinds),
         DM_TEST_IN_DIR(the_cache_folder_fills_in), DM_TEST_IN_DIR(images_are_held_out_evenly),
         DM_TEST_IN_DIR(tables_are_read), DM_TEST_IN_DIR(what_does_not_fit_is_refused))
