/* SPDX-License-Identifier: MIT */
/* Loaders of images, tables and tokens: what is good is read, what is damaged is refused with the
 * file and the place. */
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "train/data/csv.h"
#include "train/data/gz.h"
#include "train/data/idx.h"
#include "train/data/order.h"
#include "train/data/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const uint8_t good_images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4};
static const uint8_t good_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 9, 0};

static void write_file(void **state, const char *name, const void *bytes, size_t size)
{
    assert_ok(dm_file_write(dm_test_path(state, name), bytes, size, err));
}

static void write_gz(void **state, const char *name, const void *bytes, size_t size)
{
    gzFile file = gzopen(dm_test_path(state, name), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* The call fails with DM_EFORMAT and says this. */
static void expect_refused(dm_status status, const dm_error *err, const char *what)
{
    if (status != DM_EFORMAT || strstr(err->message, what) == NULL)
        fail_msg("%s: expected '%s', got '%s'", dm_status_name(status), what, err->message);
}

static void idx_is_read_plain_and_gzip(void **state)
{
    dm_images images = {0};
    write_file(state, "i", good_images, sizeof good_images);
    write_gz(state, "l.gz", good_labels, sizeof good_labels);
    assert_ok(dm_images_load_idx(dm_test_path(state, "i"), dm_test_path(state, "l.gz"), 10, &images,
                                 err));
    assert_int_equal(images.count, 2);
    assert_int_equal(images.height, 1);
    assert_int_equal(images.width, 2);
    assert_memory_equal(images.pixels, good_images + 16, 4);
    assert_memory_equal(images.labels, good_labels + 8, 2);
    assert_ok(
        dm_images_save_idx(&images, dm_test_path(state, "i2"), dm_test_path(state, "l2"), err));
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(dm_test_path(state, "i2"), 0, &bytes, &size, err));
    assert_int_equal(size, sizeof good_images);
    assert_memory_equal(bytes, good_images, size);
    free(bytes);
    dm_images_deinit(&images);
}

static void damaged_idx_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        size_t size;
        const char *what;
    } cases[] = {
        {0, 1, 20, "at offset 0"},
        {2, 0x0d, 20, "type 0x0d at offset 2"},
        {3, 1, 20, "1 dimensions at offset 3"},
        {7, 3, 20, "truncated: its header asks for 22 bytes, the file has 20 (offset 20)"},
        {7, 1, 20, "bytes after the end: its header asks for 18 bytes"},
        {7, 0, 20, "a dimension of 0 at offset 4"},
        {4, 0xff, 20, "truncated"},
        {0, 0, 19, "truncated"},
        {0, 0, 10, "within its header"},
        {0, 0, 3, "too few"},
    };
    write_file(state, "l", good_labels, sizeof good_labels);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[sizeof good_images];
        memcpy(bytes, good_images, sizeof bytes);
        bytes[cases[i].at] = cases[i].value;
        write_file(state, "i", bytes, cases[i].size);
        dm_error err = {0};
        dm_images images = {0};
        dm_status status = dm_images_load_idx(dm_test_path(state, "i"), dm_test_path(state, "l"),
                                              10, &images, &err);
        expect_refused(status, &err, cases[i].what);
        assert_non_null(strstr(err.message, dm_test_path(state, "i")));
    }
}

static void wrong_labels_are_refused(void **state)
{
    dm_error err = {0};
    dm_images images = {0};
    write_file(state, "i", good_images, sizeof good_images);
    write_file(state, "l", good_labels, sizeof good_labels);
    expect_refused(
        dm_images_load_idx(dm_test_path(state, "i"), dm_test_path(state, "l"), 9, &images, &err),
        &err, "label 9 at offset 8; there are 9 classes");
    const uint8_t three[] = {0, 0, 8, 1, 0, 0, 0, 3, 1, 1, 1};
    write_file(state, "l", three, sizeof three);
    expect_refused(
        dm_images_load_idx(dm_test_path(state, "i"), dm_test_path(state, "l"), 10, &images, &err),
        &err, "2 images");
}

static void damaged_gzip_is_refused(void **state)
{
    char text[4000], *bytes = NULL, *got = NULL;
    size_t size = 0, got_size = 0;
    dm_error err = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * i >> 3);
    write_gz(state, "a.gz", text, sizeof text);
    assert_ok(dm_gz_read(dm_test_path(state, "a.gz"), 4000, &got, &got_size, err));
    assert_int_equal(got_size, sizeof text);
    assert_memory_equal(got, text, sizeof text);
    free(got);
    expect_refused(dm_gz_read(dm_test_path(state, "a.gz"), 3999, &got, &got_size, &err), &err,
                   "3999 bytes");
    assert_ok(dm_file_read(dm_test_path(state, "a.gz"), 0, &bytes, &size, err));
    write_file(state, "b.gz", bytes, size - 5);
    expect_refused(dm_gz_read(dm_test_path(state, "b.gz"), 1 << 20, &got, &got_size, &err), &err,
                   "ends early");
    bytes[size - 6] ^= 1; /* the check sum */
    write_file(state, "b.gz", bytes, size);
    expect_refused(dm_gz_read(dm_test_path(state, "b.gz"), 1 << 20, &got, &got_size, &err), &err,
                   "damaged");
    bytes[size - 6] ^= 1;
    char *longer = malloc(size + 3);
    memcpy(longer, bytes, size);
    memcpy(longer + size, "abc", 3);
    write_file(state, "b.gz", longer, size + 3);
    expect_refused(dm_gz_read(dm_test_path(state, "b.gz"), 1 << 20, &got, &got_size, &err), &err,
                   "3 bytes after the end");
    memcpy(longer, bytes, size);
    free(longer);
    free(bytes);
}

static void csv_is_read_with_and_without_header(void **state)
{
    dm_csv csv = {0};
    size_t column = 9;
    const char *text = "x, y ,label\r\n1,-2.5,0\r\n\r\n\"3\",4e2,1\r\n";
    write_file(state, "a.csv", text, strlen(text));
    assert_ok(dm_csv_load(dm_test_path(state, "a.csv"), DM_CSV_HEADER_AUTO, &csv, err));
    assert_int_equal(csv.rows, 2);
    assert_int_equal(csv.columns, 3);
    const float values[] = {1, -2.5f, 0, 3, 400, 1};
    assert_memory_equal(csv.values, values, sizeof values);
    assert_ok(dm_csv_column(&csv, "y", &column, err));
    assert_int_equal(column, 1);
    assert_ok(dm_csv_column(&csv, "-1", &column, err));
    assert_int_equal(column, 2);
    assert_int_equal(dm_csv_column(&csv, "z", &column, NULL), DM_EINVAL);
    assert_int_equal(dm_csv_column(&csv, "3", &column, NULL), DM_EINVAL);
    dm_csv_deinit(&csv);
}

static void bad_csv_is_refused(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"1,2\n3,x\n", ":2: column 2: 'x' is not a finite number"},
        {"1,2\n3\n", ":2: 1 fields, where other lines have 2"},
        {"1,2\n3,4,5\n", ":2: 3 fields"},
        {"1,\n", ":1: column 2"},
        {"1,nan\n", "finite"},
        {"1,1e99\n", "finite"},
        {"a,b\n", "no rows"},
        {"", "no rows"},
        {"1,2 3\n", "column 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_error err = {0};
        dm_csv csv = {0};
        write_file(state, "a.csv", cases[i].text, strlen(cases[i].text));
        expect_refused(dm_csv_load(dm_test_path(state, "a.csv"), DM_CSV_HEADER_AUTO, &csv, &err),
                       &err, cases[i].what);
    }
    dm_error err = {0};
    dm_csv csv = {0};
    write_file(state, "a.csv", "1,\0002", 4);
    expect_refused(dm_csv_load(dm_test_path(state, "a.csv"), DM_CSV_HEADER_NO, &csv, &err), &err,
                   "zero byte at offset 2");
}

static void images_come_from_csv(void **state)
{
    dm_error err = {0};
    dm_images images = {0};
    write_file(state, "a.csv", "0,16,3\n8,1,9\n", 13);
    assert_ok(dm_images_load_csv(dm_test_path(state, "a.csv"), 1, 2, 16, 10, &images, err));
    const uint8_t pixels[] = {0, 255, 128, 16}, labels[] = {3, 9};
    assert_memory_equal(images.pixels, pixels, 4);
    assert_memory_equal(images.labels, labels, 2);
    dm_images_deinit(&images);
    const char *path = dm_test_path(state, "a.csv");
    expect_refused(dm_images_load_csv(path, 1, 2, 15, 10, &images, &err), &err, ":1: column 2: 16");
    expect_refused(dm_images_load_csv(path, 1, 2, 16, 9, &images, &err), &err, ":2: label 9");
    expect_refused(dm_images_load_csv(path, 2, 2, 16, 10, &images, &err), &err, "3 columns");
}

static void tokens_are_written_and_read(void **state)
{
    uint16_t data[] = {5, 0, 299};
    dm_tokens tokens = {data, 3, 300}, got = {0};
    const char *path = dm_test_path(state, "a.tok");
    dm_error err = {0};
    assert_ok(dm_tokens_save(&tokens, path, err));
    assert_ok(dm_tokens_load(path, &got, err));
    assert_int_equal(got.count, 3);
    assert_int_equal(got.vocabulary, 300);
    assert_memory_equal(got.data, data, sizeof data);
    dm_tokens_deinit(&got);
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    /* Any bit of the file matters. */
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        write_file(state, "b.tok", bytes, size);
        /* A larger vocabulary only allows more. */
        dm_status status = dm_tokens_load(dm_test_path(state, "b.tok"), &got, &err);
        if (status == DM_OK) {
            assert_true(bit / 8 >= 8 && bit / 8 < 12 && got.vocabulary > 299);
            dm_tokens_deinit(&got);
        } else {
            assert_int_equal(status, DM_EFORMAT);
        }
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t cut = 0; cut < size; cut++) {
        write_file(state, "b.tok", bytes, cut);
        assert_int_equal(dm_tokens_load(dm_test_path(state, "b.tok"), &got, &err), DM_EFORMAT);
    }
    free(bytes);
}

static void llmc_tokens_are_read(void **state)
{
    struct {
        int32_t header[256];
        uint16_t tokens[4];
    } file = {{20240520, 1, 4}, {1, 50256, 3, 4}};
    dm_tokens got = {0};
    dm_error err = {0};
    const char *path = dm_test_path(state, "a.bin");
    write_file(state, "a.bin", &file, sizeof file);
    assert_ok(dm_tokens_load(path, &got, err));
    assert_int_equal(got.count, 4);
    assert_memory_equal(got.data, file.tokens, 8);
    dm_tokens_deinit(&got);
    write_file(state, "a.bin", &file, sizeof file - 1);
    expect_refused(dm_tokens_load(path, &got, &err), &err, "4 tokens by its header, 7 bytes");
    file.tokens[2] = 50257;
    write_file(state, "a.bin", &file, sizeof file);
    expect_refused(dm_tokens_load(path, &got, &err), &err, "token 50257 at offset 1028");
    file.header[1] = 2;
    write_file(state, "a.bin", &file, sizeof file);
    expect_refused(dm_tokens_load(path, &got, &err), &err, "version 2 at offset 4");
}

static void characters_are_tokens(void **state)
{
    (void)state;
    dm_tokens tokens = {0};
    dm_alphabet alphabet;
    assert_ok(dm_tokens_from_text("cab\nb", 5, &tokens, &alphabet, err));
    const uint16_t expected[] = {3, 1, 2, 0, 2};
    assert_int_equal(tokens.vocabulary, 4);
    assert_memory_equal(alphabet.byte, "\nabc", 4);
    assert_memory_equal(tokens.data, expected, sizeof expected);
    dm_tokens_deinit(&tokens);
    assert_int_equal(dm_tokens_from_text("", 0, &tokens, &alphabet, NULL), DM_EFORMAT);
}

static void order_is_a_permutation(void **state)
{
    (void)state;
    for (uint64_t count = 1; count < 300; count += 1 + count / 16)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            uint8_t seen[300] = {0};
            for (uint64_t i = 0; i < count; i++) {
                uint64_t at = dm_order_at(7, epoch, count, i);
                assert_true(at < count);
                assert_int_equal(seen[at]++, 0);
            }
        }
}

/* Every element is equally often at every place, within five standard deviations. */
static void order_is_uniform(void **state)
{
    (void)state;
    enum { N = 7, RUNS = 7000 };
    int places[N][N] = {{0}}, same = 0;
    for (uint64_t epoch = 0; epoch < RUNS; epoch++) {
        int inner = 0;
        for (uint64_t i = 0; i < N; i++) {
            uint64_t at = dm_order_at(3, epoch, N, i);
            places[i][at]++;
            inner += at == i;
        }
        same += inner == N;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_in_range(places[i][j], 1000 - 147, 1000 + 147);
    assert_true(same < 12); /* of 5,040 orders one is the identity */
}

DM_TESTS("train/data", DM_TEST_IN_DIR(idx_is_read_plain_and_gzip),
         DM_TEST_IN_DIR(damaged_idx_is_refused), DM_TEST_IN_DIR(wrong_labels_are_refused),
         DM_TEST_IN_DIR(damaged_gzip_is_refused),
         DM_TEST_IN_DIR(csv_is_read_with_and_without_header), DM_TEST_IN_DIR(bad_csv_is_refused),
         DM_TEST_IN_DIR(images_come_from_csv), DM_TEST_IN_DIR(tokens_are_written_and_read),
         DM_TEST_IN_DIR(llmc_tokens_are_read), DM_TEST(characters_are_tokens),
         DM_TEST(order_is_a_permutation), DM_TEST(order_is_uniform))
