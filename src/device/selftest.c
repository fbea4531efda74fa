/* SPDX-License-Identifier: MIT */
/* selftest.c - run the test kernels on a device and compare with the same text compiled here as
 * plain C. Odd sizes, so that the last block is not full. */
#include "device/selftest.h"
#include "base/port.h"
#include "base/require.h"
#include "device/internal.h"
#include "device/selftest_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 100003u
#define BLOCK 256u
#define ULP_MAX 1u

/* Shared by the steps of one self-test; `word` and `real` name the same sizes. */
typedef struct bench {
    dm_device *device;
    dm_stream *stream;
    dm_module *module;
    dm_device_buffer *in, *out, *extra;
    uint32_t *host_in, *host_out, *expected; /* ITEMS words each */
} bench;

const dm_builtin_kernel dm_selftest_builtins[DM_SELFTEST_KERNELS] = {
    {"dm_selftest_saxpy", dm_selftest_saxpy, sizeof(dm_selftest_saxpy_args)},
    {"dm_selftest_philox", dm_selftest_philox, sizeof(dm_selftest_philox_args)},
    {"dm_selftest_hash", dm_selftest_hash, sizeof(dm_selftest_hash_args)},
    {"dm_selftest_empty", dm_selftest_empty, sizeof(dm_selftest_empty_args)},
};

uint32_t dm_selftest_ulp(float a, float b)
{
    if (a != a || b != b)
        return a != a && b != b ? 0 : UINT32_MAX;
    /* Negative floats count down from zero, so that the order of the integers is that of the
     * floats. */
    int64_t x = (int64_t)(dm_f32_bits(a) & 0x7FFFFFFFu),
            y = (int64_t)(dm_f32_bits(b) & 0x7FFFFFFFu);
    x = (dm_f32_bits(a) >> 31) != 0 ? -x : x;
    y = (dm_f32_bits(b) >> 31) != 0 ? -y : y;
    return (uint32_t)(x > y ? x - y : y - x);
}

static dm_status launch(bench *b, const char *name, const void *args, size_t size, dm_error *err)
{
    dm_function *function;
    dm_status status = dm_module_function(b->module, name, &function, err);
    if (status != DM_OK)
        return status;
    return dm_function_launch(function, b->stream, dm_grid_for(ITEMS / 3, BLOCK), args, size, err);
}

static dm_status fetch(bench *b, dm_device_buffer *from, void *to, size_t size, dm_error *err)
{
    dm_status status = dm_stream_download(b->stream, from, 0, to, size, err);
    return status != DM_OK ? status : dm_stream_synchronize(b->stream, err);
}

static void compare_words(dm_selftest_result *r, const char *what, const uint32_t *got,
                          const uint32_t *expected, size_t count)
{
    for (size_t i = 0; i < count && r->passed; i++) {
        if (got[i] != expected[i]) {
            r->passed = false;
            snprintf(r->detail, sizeof r->detail, "%s %zu is %08x, expected %08x", what, i, got[i],
                     expected[i]);
        }
    }
}

static void compare_floats(dm_selftest_result *r, const uint32_t *got, const uint32_t *expected,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float x = dm_bits_f32(got[i]), y = dm_bits_f32(expected[i]);
        uint32_t ulp = dm_selftest_ulp(x, y);
        if (ulp > r->ulp_max)
            r->ulp_max = ulp;
        if (ulp > ULP_MAX && r->passed) {
            r->passed = false;
            snprintf(r->detail, sizeof r->detail, "element %zu is %.9g, expected %.9g", i,
                     (double)x, (double)y);
        }
    }
}

static dm_status test_philox(bench *b, dm_selftest_result *r, dm_error *err)
{
    const size_t size = ITEMS * sizeof(uint32_t);
    dm_selftest_philox_args args = {ITEMS, 0x0123456789ABCDEFull, b->expected};
    dm_selftest_philox(&args, 0, 1, 1);
    args.out = dm_device_buffer_address(b->out);
    dm_status status = dm_stream_fill(b->stream, b->out, 0, 0xA5, size, err);
    if (status == DM_OK)
        status = launch(b, "dm_selftest_philox", &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(b, b->out, b->host_out, size, err);
    if (status == DM_OK)
        compare_words(r, "word", b->host_out, b->expected, ITEMS);
    return status;
}

static dm_status test_saxpy(bench *b, dm_selftest_result *r, dm_error *err)
{
    const size_t size = ITEMS * sizeof(float);
    float *x = (float *)(void *)b->host_in, *y = (float *)(void *)b->expected;
    for (uint32_t i = 0; i < ITEMS; i++) {
        dm_philox4 draw = dm_random4(7, 2, i);
        x[i] = dm_random_unit(draw.v[0]) * 200.0f - 100.0f;
        y[i] = dm_random_unit(draw.v[1]) * 2.0f - 1.0f;
    }
    dm_status status = dm_stream_upload(b->stream, b->in, 0, x, size, err);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->out, 0, y, size, err);
    if (status == DM_OK) /* y is overwritten by the reference below */
        status = dm_stream_synchronize(b->stream, err);
    if (status != DM_OK)
        return status;
    dm_selftest_saxpy_args args = {ITEMS, x, y, 1.7f, 0};
    dm_selftest_saxpy(&args, 0, 1, 1);
    args.x = dm_device_buffer_address(b->in);
    args.y = dm_device_buffer_address(b->out);
    status = launch(b, "dm_selftest_saxpy", &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(b, b->out, b->host_out, size, err);
    if (status == DM_OK)
        compare_floats(r, b->host_out, b->expected, ITEMS);
    return status;
}

/* The hash kernel's sums lie in one block of words, so that one copy brings them. */
typedef struct sums {
    uint64_t sum;
    uint32_t minmax[6];
    uint32_t bins[DM_SELFTEST_BINS];
} sums;

static dm_status test_hash(bench *b, dm_selftest_result *r, dm_error *err)
{
    const size_t size = ITEMS * sizeof(uint32_t);
    sums expected = {0, {UINT32_MAX, 0, 0, 0, UINT32_MAX, 0}, {0}}, got;
    for (uint32_t i = 0; i < ITEMS; i++)
        b->host_in[i] = dm_random4(11, 3, i).v[0];
    dm_status status = dm_stream_upload(b->stream, b->in, 0, b->host_in, size, err);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->extra, 0, &expected, sizeof expected, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(b->stream, err);
    if (status != DM_OK)
        return status;
    dm_selftest_hash_args args = {ITEMS,           b->host_in,    b->expected, expected.bins,
                                  expected.minmax, &expected.sum, 50,          0};
    dm_selftest_hash(&args, 0, 1, 1);
    char *extra = dm_device_buffer_address(b->extra);
    args.in = dm_device_buffer_address(b->in);
    args.out = dm_device_buffer_address(b->out);
    args.sum = (uint64_t *)(void *)(extra + offsetof(sums, sum));
    args.minmax = (uint32_t *)(void *)(extra + offsetof(sums, minmax));
    args.bins = (uint32_t *)(void *)(extra + offsetof(sums, bins));
    status = launch(b, "dm_selftest_hash", &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(b, b->out, b->host_out, size, err);
    if (status == DM_OK)
        status = fetch(b, b->extra, &got, sizeof got, err);
    if (status == DM_OK) {
        compare_words(r, "hash", b->host_out, b->expected, ITEMS);
        compare_words(r, "bin", got.bins, expected.bins, DM_SELFTEST_BINS);
        compare_words(r, "atomic result", got.minmax, expected.minmax, 5);
        if (r->passed && got.sum != expected.sum) {
            r->passed = false;
            snprintf(r->detail, sizeof r->detail, "the 64-bit sum differs");
        }
    }
    return status;
}

static dm_status setup(bench *b, const dm_module_desc *desc, dm_error *err)
{
    const size_t size = ITEMS * sizeof(uint32_t);
    b->stream = dm_device_stream(b->device);
    b->host_in = malloc(size);
    b->host_out = malloc(size);
    b->expected = malloc(size);
    if (b->host_in == NULL || b->host_out == NULL || b->expected == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_module_create(b->device, desc, &b->module, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, size, &b->in, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, size, &b->out, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, sizeof(sums), &b->extra, err);
    return status;
}

dm_status dm_selftest_run(dm_device *device, const dm_module_desc *desc, dm_selftest_report *report,
                          dm_error *err)
{
    static const struct {
        const char *name;
        dm_status (*run)(bench *b, dm_selftest_result *r, dm_error *err);
    } tests[] = {{"saxpy", test_saxpy}, {"philox", test_philox}, {"hash", test_hash}};
    bench b = {.device = device};
    memset(report, 0, sizeof *report);
    report->passed = true;
    dm_status status = setup(&b, desc, err);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && status == DM_OK; i++) {
        dm_selftest_result *r = &report->results[report->count++];
        r->name = tests[i].name;
        r->items = ITEMS;
        r->passed = true;
        status = tests[i].run(&b, r, err);
        report->passed = report->passed && r->passed && status == DM_OK;
    }
    dm_device_buffer_destroy(b.in);
    dm_device_buffer_destroy(b.out);
    dm_device_buffer_destroy(b.extra);
    dm_module_destroy(b.module);
    free(b.host_in);
    free(b.host_out);
    free(b.expected);
    return status;
}

dm_status dm_device_selftest(dm_device *device, dm_selftest_report *report, dm_error *err)
{
    DM_REQUIRE(err, device);
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
    dm_error cause;
    dm_status status = dm_selftest_run(device, &desc, report, &cause);
    if (status == DM_EUNAVAILABLE && device->properties.kind == DM_DEVICE_CPU) {
        /* No C compiler: what was built into the library still runs. */
        desc.builtins = dm_selftest_builtins;
        desc.builtin_count = DM_SELFTEST_KERNELS;
        status = dm_selftest_run(device, &desc, report, &cause);
    }
    if (status != DM_OK) {
        report->passed = false;
        if (err != NULL)
            *err = cause;
    }
    return status;
}
