/* SPDX-License-Identifier: MIT */
/* metrics.jsonl and TensorBoard's event files. */
#include "base/file.h"
#include "base/host/gnuplot.h"
#include "tests/support/tmpdir.h"
#include "train/metrics.h"
#include "train/plot.h"
#include "train/tensorboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_steps(const char *path, uint64_t keep, uint64_t first, uint64_t last)
{
    dm_metrics *metrics = NULL;
    assert_ok(dm_metrics_open(path, keep, &metrics, err));
    for (uint64_t step = first; step <= last; step++)
        assert_ok(dm_metrics_write(metrics, step, (const dm_metric[]){{"loss", 1.0 / (double)step}},
                                   1, err));
    dm_metrics_close(metrics);
}

static char *text_of(const char *path, size_t *size)
{
    char *text = NULL;
    assert_ok(dm_file_read(path, 0, &text, size, err));
    return text;
}

static void resumed_metrics_equal_uninterrupted_ones(void **state)
{
    const char *whole = dm_test_path(state, "whole"), *cut = dm_test_path(state, "cut");
    size_t size = 0, cut_size = 0;
    write_steps(whole, 0, 1, 20);
    write_steps(cut, 0, 1, 13);
    char *text = text_of(cut, &cut_size);
    assert_ok(dm_file_write(cut, text, cut_size - 3, err)); /* killed within a line */
    free(text);
    write_steps(cut, 10, 11, 20);
    char *a = text_of(whole, &size), *b = text_of(cut, &cut_size);
    assert_string_equal(a, b);
    free(a);
    free(b);
    write_steps(cut, 0, 1, 1); /* a new run begins anew */
    b = text_of(cut, &cut_size);
    assert_string_equal(b, "{\"step\":1,\"loss\":1.0}\n");
    free(b);
}

static void files_that_are_no_metrics_are_refused(void **state)
{
    const char *path = dm_test_path(state, "m");
    dm_metrics *metrics = NULL;
    dm_error err = {0};
    assert_ok(dm_file_write(path, "{\"step\":1}\nhello\n", 17, err));
    assert_int_equal(dm_metrics_open(path, 5, &metrics, &err), DM_EFORMAT);
    assert_int_equal(err.line, 2);
    assert_ok(dm_file_write(path, "{\"loss\":1}\n", 11, err));
    assert_int_equal(dm_metrics_open(path, 5, &metrics, &err), DM_EFORMAT);
}

static void crc32c_known_answers(void **state)
{
    (void)state;
    assert_int_equal(dm_crc32c("123456789", 9), 0xE3069283);
    assert_int_equal(dm_crc32c("", 0), 0);
    const char zeros[32] = {0}; /* RFC 3720 */
    assert_int_equal(dm_crc32c(zeros, 32), 0x8A9136AA);
}

static uint64_t number(const char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return value;
}

/* The record at `*at` with both check sums right. */
static const char *record(const char *file, size_t size, size_t *at, size_t *length)
{
    assert_true(*at + 16 <= size);
    *length = (size_t)number(file + *at, 8);
    assert_true(*at + 16 + *length <= size);
    const char *parts[2] = {file + *at, file + *at + 12};
    const size_t sizes[2] = {8, *length};
    for (int i = 0; i < 2; i++) {
        uint32_t crc = (uint32_t)number(parts[i] + sizes[i], 4) - UINT32_C(0xA282EAD8);
        assert_int_equal((uint32_t)(crc << 15 | crc >> 17), dm_crc32c(parts[i], sizes[i]));
    }
    *at += 16 + *length;
    return parts[1];
}

static void event_files_hold_the_scalars(void **state)
{
    dm_tensorboard *board = NULL;
    assert_ok(dm_tensorboard_open(dm_test_dir(state), &board, err));
    assert_ok(
        dm_tensorboard_write(board, 300, (const dm_metric[]){{"loss", 1.5}, {"lr", -2}}, 2, err));
    char path[DM_PATH_MAX];
    strcpy(path, dm_tensorboard_path(board));
    dm_tensorboard_close(board);
    size_t size = 0, at = 0, length = 0;
    char *file = text_of(path, &size);
    const char *event = record(file, size, &at, &length);
    assert_int_equal(length, 9 + 2 + 15);
    assert_memory_equal(event + 9,
                        "\x10\x00\x1a\x0d"
                        "brain.Event:2",
                        17);
    event = record(file, size, &at, &length);
    assert_int_equal(event[0], 0x09);
    static const char rest[] = "\x10\xac\x02"                             /* step 300 */
                               "\x2a\x18"                                 /* summary of 24 bytes */
                               "\x0a\x0b\x0a\x04loss\x15\x00\x00\xc0\x3f" /* 1.5f */
                               "\x0a\x09\x0a\x02lr\x15\x00\x00\x00\xc0";  /* -2.0f */
    assert_int_equal(length, 9 + sizeof rest - 1);
    assert_memory_equal(event + 9, rest, sizeof rest - 1);
    assert_int_equal(at, size);
    free(file);
}

static void losses_are_drawn(void **state)
{
    const char *metrics = dm_test_path(state, "m.jsonl"), *picture = dm_test_path(state, "l.svg");
    dm_error err = {0};
    if (dm_gnuplot_check(&err) != DM_OK)
        dm_test_skip("%s", err.message);
    assert_ok(dm_file_write(metrics, "{\"step\":1,\"lr\":1.0}\n", 20, err));
    assert_int_equal(dm_plot_losses(metrics, picture, &err), DM_EFORMAT);
    write_steps(metrics, 0, 1, 20);
    assert_ok(dm_plot_losses(metrics, picture, err));
    size_t size = 0;
    char *text = text_of(picture, &size);
    assert_non_null(strstr(text, "training"));
    assert_null(strstr(text, "validation"));
    free(text);
}

DM_TESTS("train/metrics", DM_TEST_IN_DIR(resumed_metrics_equal_uninterrupted_ones),
         DM_TEST_IN_DIR(files_that_are_no_metrics_are_refused), DM_TEST(crc32c_known_answers),
         DM_TEST_IN_DIR(event_files_hold_the_scalars), DM_TEST_IN_DIR(losses_are_drawn))
