/* SPDX-License-Identifier: MIT */
/* cases.c - see cases.h. */
#include "tests/device/cases.h"

#include "base/philox.h"
#include "base/thread.h"
#include "device/selftest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels' argument blocks; the library's copy of the text defines the kernels themselves. */
typedef struct saxpy_args {
    uint64_t n;
    const float *x;
    float *y;
    float a;
    uint32_t unused;
} saxpy_args;

typedef struct philox_args {
    uint64_t n, seed;
    uint32_t *out;
} philox_args;

typedef struct hash_args {
    uint64_t n;
    const uint32_t *in;
    uint32_t *out, *bins, *minmax;
    uint64_t *sum;
    uint32_t rounds, unused;
} hash_args;

#define BINS 64
static const uint64_t sizes[] = {1, 2, 31, 32, 33, 255, 256, 257, 1000, 4097, 65537, 300001};
#define SIZE_COUNT (sizeof sizes / sizeof sizes[0])
#define SIZE_MAX_ITEMS 300001u

dm_device_buffer *dm_case_buffer(dm_device *device, size_t size)
{
    dm_device_buffer *buffer;
    assert_ok(dm_device_buffer_create(device, size, &buffer, err));
    assert_int_equal(dm_device_buffer_size(buffer), size);
    return buffer;
}

void dm_case_upload(dm_device *device, dm_device_buffer *to, const void *from, size_t size)
{
    assert_ok(dm_stream_upload(dm_device_stream(device), to, 0, from, size, err));
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
}

void dm_case_download(dm_device *device, dm_device_buffer *from, void *to, size_t size)
{
    assert_ok(dm_stream_download(dm_device_stream(device), from, 0, to, size, err));
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
}

static dm_function *own_function(dm_device *device, const char *name, dm_module **module)
{
    dm_function *function;
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
    assert_ok(dm_module_create(device, &desc, module, err));
    assert_ok(dm_module_function(*module, name, &function, err));
    return function;
}

/* ---- Numbers ---- */

void dm_case_saxpy(dm_device *device)
{
    dm_module *module;
    dm_function *function = own_function(device, "dm_selftest_saxpy", &module);
    size_t bytes = SIZE_MAX_ITEMS * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes), *got = malloc(bytes);
    dm_device_buffer *dx = dm_case_buffer(device, bytes), *dy = dm_case_buffer(device, bytes);
    uint64_t seed = dm_time_ns();
    print_message("saxpy: seed %llu\n", (unsigned long long)seed);
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        uint64_t n = sizes[s];
        for (uint64_t i = 0; i < n; i++) {
            dm_philox4 draw = dm_random4(seed, s, i);
            x[i] = dm_random_unit(draw.v[0]) * 2e3f - 1e3f;
            y[i] = dm_random_unit(draw.v[1]) * 2e-2f - 1e-2f;
        }
        dm_case_upload(device, dx, x, n * sizeof *x);
        dm_case_upload(device, dy, y, n * sizeof *y);
        saxpy_args args = {n, dm_device_buffer_address(dx), dm_device_buffer_address(dy), -0.37f,
                           0};
        assert_ok(dm_function_launch(function, dm_device_stream(device), dm_grid_for(n, 128), &args,
                                     sizeof args, err));
        dm_case_download(device, dy, got, n * sizeof *got);
        for (uint64_t i = 0; i < n; i++) {
            float expected = __builtin_fmaf(-0.37f, x[i], y[i]);
            if (dm_selftest_ulp(got[i], expected) > 1)
                fail_msg("n %llu: element %llu is %.9g, expected %.9g", (unsigned long long)n,
                         (unsigned long long)i, (double)got[i], (double)expected);
        }
    }
    dm_device_buffer_destroy(dx);
    dm_device_buffer_destroy(dy);
    dm_module_destroy(module);
    free(x);
    free(y);
    free(got);
}

void dm_case_philox(dm_device *device)
{
    dm_module *module;
    dm_function *function = own_function(device, "dm_selftest_philox", &module);
    size_t bytes = SIZE_MAX_ITEMS * sizeof(uint32_t);
    uint32_t *got = malloc(bytes + 4);
    dm_device_buffer *out = dm_case_buffer(device, bytes + 4);
    uint64_t seed = dm_time_ns();
    print_message("philox: seed %llu\n", (unsigned long long)seed);
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        uint64_t n = sizes[s];
        philox_args args = {n, seed + s, dm_device_buffer_address(out)};
        /* Poison, to see that all of it and no more is written. */
        assert_ok(dm_stream_fill(dm_device_stream(device), out, 0, 0xEE, bytes + 4, err));
        assert_ok(dm_function_launch(function, dm_device_stream(device),
                                     dm_grid_for((n + 3) / 4, 64), &args, sizeof args, err));
        dm_case_download(device, out, got, (n + 1) * sizeof *got);
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(got[i], dm_random4(seed + s, 1, i / 4).v[i % 4]);
        assert_int_equal(got[n], 0xEEEEEEEEu);
    }
    dm_device_buffer_destroy(out);
    dm_module_destroy(module);
    free(got);
}

void dm_case_hash(dm_device *device)
{
    dm_module *module;
    dm_function *function = own_function(device, "dm_selftest_hash", &module);
    size_t bytes = SIZE_MAX_ITEMS * sizeof(uint32_t);
    uint32_t *in = malloc(bytes), *got = malloc(bytes), *expected = malloc(bytes);
    dm_device_buffer *din = dm_case_buffer(device, bytes), *dout = dm_case_buffer(device, bytes);
    dm_device_buffer *dsum = dm_case_buffer(device, 8 + (8 + BINS) * 4);
    uint64_t seed = dm_time_ns();
    print_message("hash: seed %llu\n", (unsigned long long)seed);
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        uint64_t n = sizes[s];
        struct {
            uint64_t sum;
            uint32_t minmax[8], bins[BINS];
        } want = {0, {UINT32_MAX, 0, 0, 0, UINT32_MAX, 0, 0, 0}, {0}}, have;
        for (uint64_t i = 0; i < n; i++)
            in[i] = dm_random4(seed, s, i).v[2];
        dm_case_upload(device, din, in, n * sizeof *in);
        dm_case_upload(device, dsum, &want, sizeof want);
        char *sums = dm_device_buffer_address(dsum);
        hash_args args = {n,
                          dm_device_buffer_address(din),
                          dm_device_buffer_address(dout),
                          (uint32_t *)(void *)(sums + 8 + 32),
                          (uint32_t *)(void *)(sums + 8),
                          (uint64_t *)(void *)sums,
                          17,
                          0};
        assert_ok(dm_function_launch(function, dm_device_stream(device), dm_grid_for(n, 256), &args,
                                     sizeof args, err));
        dm_case_download(device, dout, got, n * sizeof *got);
        dm_case_download(device, dsum, &have, sizeof have);
        hash_args reference = {n, in, expected, want.bins, want.minmax, &want.sum, 17, 0};
        dm_selftest_builtins[2].loop(&reference, 0, 1, 1);
        assert_memory_equal(got, expected, n * sizeof *got);
        assert_memory_equal(&have, &want, sizeof want);
    }
    dm_device_buffer_destroy(din);
    dm_device_buffer_destroy(dout);
    dm_device_buffer_destroy(dsum);
    dm_module_destroy(module);
    free(in);
    free(got);
    free(expected);
}

void dm_case_selftest(dm_device *device)
{
    dm_selftest_report report;
    assert_ok(dm_device_selftest(device, &report, err));
    assert_int_equal(report.count, 3);
    for (size_t i = 0; i < report.count; i++)
        if (!report.results[i].passed)
            fail_msg("%s: %s", report.results[i].name, report.results[i].detail);
    assert_true(report.passed);
}

/* Each helper of the port header, with the answers worked out by hand. */
static const char port_text[] =
    "#include \"base/port.h\"\n"
    "typedef struct port_args { uint32_t *out; } port_args;\n"
    "DM_KERNEL(port, port_args)\n"
    "{\n"
    "    if (dm_thread_index() != 0) return;\n"
    "    uint32_t *o = args.out; int k = 0;\n"
    "    o[k++] = dm_byte_perm(0x33221100u, 0x77665544u, 0x7531u);\n"
    "    o[k++] = dm_byte_perm(0x33221100u, 0x77665544u, 0xF0C8u);\n" /* bit 3 of a nibble is
                                                                         ignored */
    "    o[k++] = dm_popcount_u32(0xF0F0F0F1u);\n"
    "    o[k++] = dm_ffs_u32(0); o[k++] = dm_ffs_u32(0x80000000u); o[k++] = dm_ffs_u32(6);\n"
    "    o[k++] = dm_clz_u32(0); o[k++] = dm_clz_u32(1); o[k++] = dm_clz_u32(0xFFFFFFFFu);\n"
    "    o[k++] = dm_mulhi_u32(0xFFFFFFFFu, 0xFFFFFFFFu);\n"
    "    o[k++] = dm_rotl_u32(0x80000001u, 4); o[k++] = dm_rotl_u32(0x12345678u, 0);\n"
    "    o[k++] = dm_reverse_u32(0x12345678u);\n"
    "    o[k++] = dm_funnel_u32(0x12345678u, 0x9ABCDEF0u, 0);\n"
    "    o[k++] = dm_funnel_u32(0x12345678u, 0x9ABCDEF0u, 4);\n"
    "    o[k++] = dm_choose_u32(0xF0u, 0xCCu, 0xAAu);\n"
    "    o[k++] = dm_byte_pick(0x00800080u, 0, 0x8888u);\n" /* the byte's sign, */
    "    o[k++] = dm_byte_pick(0x00800080u, 0, 0x9810u);\n"
    "    o[k++] = *(const uint32_t *)dm_element(o, 1, 4);\n"
    "    dm_store_u32x4((uint8_t *)&o[48], 1, 2, 3, 4);\n"
    "    o[k++] = o[48] + 10 * o[49] + 100 * o[50] + 1000 * o[51];\n"
    "    o[k++] = dm_f32_bits(dm_fmaf(3.0f, 5.0f, -15.5f));\n"
    "    o[k++] = dm_f32_bits(dm_bits_f32(0x7F800000u));\n"
    "    uint32_t w = 10;\n"
    "    o[52] = 10;\n"
    "    uint32_t *m = &o[52];\n"
    "    o[k++] = dm_atomic_add_u32(m, 5);\n"    /* 10 -> 15 */
    "    o[k++] = dm_atomic_min_u32(m, 20);\n"   /* 15 */
    "    o[k++] = dm_atomic_min_u32(m, 3);\n"    /* 15 -> 3 */
    "    o[k++] = dm_atomic_max_u32(m, 2);\n"    /* 3 */
    "    o[k++] = dm_atomic_max_u32(m, 0xF0);\n" /* 3 -> F0 */
    "    o[k++] = dm_atomic_and_u32(m, 0x3C);\n" /* F0 -> 30 */
    "    o[k++] = dm_atomic_or_u32(m, 0x03);\n"  /* 30 -> 33 */
    "    o[k++] = dm_atomic_xor_u32(m, 0xFF);\n" /* 33 -> CC */
    "    o[k++] = dm_atomic_exch_u32(m, 7);\n"   /* CC -> 7 */
    "    o[k++] = dm_atomic_cas_u32(m, 8, 1);\n" /* 7, stays */
    "    o[k++] = dm_atomic_cas_u32(m, 7, 9);\n" /* 7 -> 9 */
    "    o[k++] = *m + w - 10;\n"
    "    uint64_t *l = (uint64_t *)(void *)&o[54]; *l = 0xFFFFFFFFull;\n"
    "    o[k++] = (uint32_t)(dm_atomic_add_u64(l, 1) >> 32);\n"
    "    o[k++] = (uint32_t)(*l >> 32);\n"
    "    o[k++] = (uint32_t)dm_atomic_max_u64(l, 5);\n"
    "    o[k++] = (uint32_t)(dm_atomic_cas_u64(l, 0x100000000ull, 77) >> 32);\n"
    "    o[k++] = (uint32_t)*l;\n"
    "    float *f = (float *)(void *)&o[56]; *f = 1.5f;\n"
    "    o[k++] = dm_f32_bits(dm_atomic_add_f32(f, 2.0f));\n"
    "    o[k++] = dm_f32_bits(*f);\n"
    "    o[k++] = (uint32_t)k;\n"
    "}\n";

void dm_case_port(dm_device *device)
{
    static const uint32_t expected[] = {
        0x77553311u, 0x77004400u, 17,          0,           32,          2,           32,
        31,          0,           0xFFFFFFFEu, 0x00000018u, 0x12345678u, 0x1E6A2C48u, 0x12345678u,
        0x23456789u, 0xCA,        0xFFFFFFFFu, 0x00FF0080u, 0x77004400u, 4321,        0xBF000000u,
        0x7F800000u, 10,          15,          15,          3,           3,           0xF0,
        0x30,        0x33,        0xCC,        7,           7,           9,           0,
        1,           0,           1,           77,          0x3FC00000u, 0x40600000u};
    uint32_t got[64];
    size_t count = sizeof expected / sizeof expected[0];
    dm_module *module;
    dm_function *function;
    assert_ok(dm_module_create(device, &(dm_module_desc){.name = "port", .text = port_text},
                               &module, err));
    assert_ok(dm_module_function(module, "port", &function, err));
    dm_device_buffer *out = dm_case_buffer(device, sizeof got);
    void *args = dm_device_buffer_address(out);
    assert_ok(dm_function_launch(function, dm_device_stream(device), (dm_grid){1, 32, 0}, &args,
                                 sizeof args, err));
    dm_case_download(device, out, got, sizeof got);
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("value %zu is %08x, expected %08x", i, got[i], expected[i]);
    dm_device_buffer_destroy(out);
    dm_module_destroy(module);
}

/* ---- Memory ---- */

void dm_case_slices(dm_device *device)
{
    enum { SIZE = 1000 };
    dm_stream *stream = dm_device_stream(device);
    dm_device_buffer *a = dm_case_buffer(device, SIZE), *b = dm_case_buffer(device, SIZE);
    uint8_t bytes[SIZE], got[SIZE + 2], expected[SIZE];
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    assert_ok(dm_stream_fill(stream, a, 0, 0x11, SIZE, err));
    assert_ok(dm_stream_upload(stream, a, 13, bytes, 501, err));
    assert_ok(dm_stream_fill(stream, a, 100, 0x22, 3, err));
    assert_ok(dm_stream_fill(stream, b, 0, 0x33, SIZE, err));
    assert_ok(dm_stream_copy(stream, b, 1, a, 10, 700, err));
    memset(got, 0x44, sizeof got);
    assert_ok(dm_stream_download(stream, b, 5, got + 1, 900, err));
    assert_ok(dm_stream_synchronize(stream, err));

    uint8_t model_a[SIZE];
    memset(model_a, 0x11, SIZE);
    memcpy(model_a + 13, bytes, 501);
    memset(model_a + 100, 0x22, 3);
    memset(expected, 0x33, SIZE);
    memcpy(expected + 1, model_a + 10, 700);
    assert_int_equal(got[0], 0x44);
    assert_memory_equal(got + 1, expected + 5, 900);
    assert_int_equal(got[901], 0x44);
    /* Within one buffer, apart. */
    assert_ok(dm_stream_copy(stream, a, 0, a, 500, 500, err));
    dm_case_download(device, a, got, SIZE);
    assert_memory_equal(got, model_a + 500, 500);
    dm_device_buffer_destroy(a);
    dm_device_buffer_destroy(b);
}

void dm_case_ranges(dm_device *device)
{
    dm_stream *stream = dm_device_stream(device);
    dm_device_buffer *a = dm_case_buffer(device, 64), *b = dm_case_buffer(device, 32), *none;
    uint8_t bytes[64] = {0}, got[64];
    static const struct {
        size_t offset, size;
    } bad[] = {
        {0, 65}, {64, 1}, {65, 0}, {63, 2}, {SIZE_MAX, 1}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}};
    assert_ok(dm_stream_fill(stream, a, 0, 0x5A, 64, err));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t offset = bad[i].offset, size = bad[i].size;
        dm_error err = {0};
        assert_int_equal(dm_stream_upload(stream, a, offset, bytes, size, &err), DM_EINVAL);
        assert_non_null(strstr(err.message, "64 bytes"));
        assert_int_equal(dm_stream_download(stream, a, offset, bytes, size, NULL), DM_EINVAL);
        assert_int_equal(dm_stream_fill(stream, a, offset, 1, size, NULL), DM_EINVAL);
        assert_int_equal(dm_stream_copy(stream, a, offset, b, 0, size, NULL), DM_EINVAL);
        assert_int_equal(dm_stream_copy(stream, b, 0, a, offset, size, NULL), DM_EINVAL);
    }
    assert_int_equal(dm_stream_copy(stream, a, 0, a, 16, 32, NULL), DM_EINVAL); /* overlap */
    assert_int_equal(dm_device_buffer_create(device, 0, &none, NULL), DM_EINVAL);
    assert_null(none);
    /* Nothing, at the very end, is fine. */
    assert_ok(dm_stream_upload(stream, a, 64, bytes, 0, err));
    dm_case_download(device, a, got, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], 0x5A);
    dm_device_buffer_destroy(a);
    dm_device_buffer_destroy(b);
    dm_device_buffer_destroy(NULL);
}

void dm_case_import_buffer(dm_device *device)
{
    dm_stream *stream = dm_device_stream(device);
    dm_device_buffer *whole = dm_case_buffer(device, 4096), *part, *none;
    uint8_t got[4096];
    assert_ok(dm_stream_fill(stream, whole, 0, 1, 4096, err));
    assert_ok(dm_device_buffer_import(device, (char *)dm_device_buffer_address(whole) + 1024, 100,
                                      &part, err));
    assert_ok(dm_stream_fill(stream, part, 0, 2, 100, err));
    assert_int_equal(dm_stream_fill(stream, part, 0, 2, 101, NULL), DM_EINVAL);
    dm_device_buffer_destroy(part); /* must not free the memory */
    dm_case_download(device, whole, got, 4096);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(got[i], i >= 1024 && i < 1124 ? 2 : 1);
    assert_int_equal(dm_device_buffer_import(device, NULL, 100, &none, NULL), DM_EINVAL);
    dm_device_buffer_destroy(whole);
}

void dm_case_host_memory(dm_device *device)
{
    enum { SIZE = 1 << 20 };
    dm_stream *stream = dm_device_stream(device);
    void *memory;
    assert_ok(dm_device_host_alloc(device, SIZE, &memory, err));
    memset(memory, 0x77, SIZE);
    dm_device_buffer *buffer = dm_case_buffer(device, SIZE);
    assert_ok(dm_stream_upload(stream, buffer, 0, memory, SIZE, err));
    assert_ok(dm_stream_fill(stream, buffer, SIZE - 1, 0x78, 1, err));
    assert_ok(dm_stream_download(stream, buffer, 0, memory, SIZE, err));
    assert_ok(dm_stream_synchronize(stream, err));
    assert_int_equal(((uint8_t *)memory)[SIZE - 2], 0x77);
    assert_int_equal(((uint8_t *)memory)[SIZE - 1], 0x78);
    dm_device_host_free(device, memory);
    dm_device_host_free(device, NULL);
    dm_device_buffer_destroy(buffer);
}

/* ---- Streams and events ---- */

void dm_case_streams(dm_device *device)
{
    /* One stream makes, the other waits and copies: the event orders them. */
    enum { WORDS = 1 << 20 };
    dm_stream *maker, *taker;
    dm_event *made;
    dm_module *module;
    dm_function *function = own_function(device, "dm_selftest_philox", &module);
    dm_device_buffer *a = dm_case_buffer(device, WORDS * 4), *b = dm_case_buffer(device, WORDS * 4);
    uint32_t *got = malloc(WORDS * 4);
    assert_ok(dm_stream_create(device, &maker, err));
    assert_ok(dm_stream_create(device, &taker, err));
    assert_ok(dm_event_create(device, &made, err));
    for (uint64_t seed = 1; seed < 6; seed++) {
        philox_args args = {WORDS, seed, dm_device_buffer_address(a)};
        assert_ok(
            dm_function_launch(function, maker, (dm_grid){4, 64, 0}, &args, sizeof args, err));
        assert_ok(dm_event_record(made, maker, err));
        assert_ok(dm_stream_wait(taker, made, err));
        assert_ok(dm_stream_copy(taker, b, 0, a, 0, WORDS * 4, err));
        assert_ok(dm_stream_download(taker, b, 0, got, WORDS * 4, err));
        assert_ok(dm_stream_synchronize(taker, err));
        assert_int_equal(got[0], dm_random4(seed, 1, 0).v[0]);
        assert_int_equal(got[WORDS - 1], dm_random4(seed, 1, WORDS / 4 - 1).v[3]);
    }
    dm_event_destroy(made);
    dm_stream_destroy(maker);
    dm_stream_destroy(taker);
    dm_stream_destroy(NULL);
    dm_stream_destroy(dm_device_stream(device)); /* not ours to destroy: does nothing */
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
    dm_device_buffer_destroy(a);
    dm_device_buffer_destroy(b);
    dm_module_destroy(module);
    free(got);
}

void dm_case_events(dm_device *device)
{
    dm_stream *stream = dm_device_stream(device);
    dm_event *begin, *end;
    double ms = -1;
    dm_device_buffer *buffer = dm_case_buffer(device, 64 << 20);
    assert_ok(dm_event_create(device, &begin, err));
    assert_ok(dm_event_create(device, &end, err));
    assert_int_not_equal(dm_event_elapsed(begin, end, &ms, NULL), DM_OK); /* never recorded */
    uint64_t start = dm_time_ns();
    assert_ok(dm_event_record(begin, stream, err));
    assert_ok(dm_stream_fill(stream, buffer, 0, 1, 64 << 20, err));
    assert_ok(dm_event_record(end, stream, err));
    assert_ok(dm_event_synchronize(end, err));
    double wall = 1e-6 * (double)(dm_time_ns() - start);
    assert_ok(dm_event_elapsed(begin, end, &ms, err));
    print_message("64 MiB filled in %.3f ms (%.3f ms seen by the host)\n", ms, wall);
    assert_true(ms > 0 && ms <= wall + 0.1);
    dm_event_destroy(begin);
    dm_event_destroy(end);
    dm_event_destroy(NULL);
    dm_device_buffer_destroy(buffer);
}

/* ---- Modules ---- */

void dm_case_headers_and_defines(dm_device *device)
{
    static const dm_source headers[] = {
        {"mine/a.h", "#include \"mine/b.h\"\n#define A (B + 1)\n"},
        {"mine/b.h", "#define B 40\n"},
        {"mine/unused.h", "#error not included\n"},
    };
    static const char *const defines[] = {"EXTRA=1", "FLAG", NULL};
    static const char text[] = "#include \"base/port.h\"\n"
                               "#include \"mine/a.h\"\n"
                               "typedef struct answer_args { uint32_t *out; } answer_args;\n"
                               "#ifdef FLAG\n"
                               "DM_KERNEL(answer, answer_args)\n"
                               "{ if (dm_thread_index() == 0) args.out[0] = A + EXTRA; }\n"
                               "#endif\n";
    dm_module_desc desc = {
        .name = "answer", .text = text, .headers = headers, .header_count = 3, .defines = defines};
    dm_module *module;
    dm_function *function, *again;
    assert_ok(dm_module_create(device, &desc, &module, err));
    assert_ok(dm_module_function(module, "answer", &function, err));
    assert_ok(dm_module_function(module, "answer", &again, err));
    assert_ptr_equal(function, again);
    dm_device_buffer *out = dm_case_buffer(device, 4);
    void *args = dm_device_buffer_address(out);
    assert_ok(dm_function_launch(function, dm_device_stream(device), (dm_grid){1, 1, 0}, &args,
                                 sizeof args, err));
    uint32_t got = 0;
    dm_case_download(device, out, &got, 4);
    assert_int_equal(got, 42);
    dm_function_properties properties;
    assert_ok(dm_function_get_properties(function, &properties, err));
    assert_true(properties.block_threads_max >= 32);
    dm_device_buffer_destroy(out);
    dm_module_destroy(module);
    dm_module_destroy(NULL);
}

void dm_case_bad_text(dm_device *device)
{
    dm_module *module = NULL;
    dm_error err = {0};
    char *log = NULL;
    dm_module_desc desc = {.name = "my kernel.py",
                           .text = "#include \"base/port.h\"\n"
                                   "\n"
                                   "DM_FN int good(int x) { return x; }\n"
                                   "DM_FN int bad(int x) { return undefined_name + x; }\n",
                           .log = &log};
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_ECOMPILE);
    assert_null(module);
    assert_int_equal(err.line, 4);
    assert_string_equal(err.file, "my kernel.py");
    assert_non_null(strstr(err.message, "undefined_name"));
    assert_non_null(log);
    assert_non_null(strstr(log, "undefined_name"));
    free(log);
}

void dm_case_bad_header(dm_device *device)
{
    dm_module *module;
    dm_error err = {0};
    dm_source header = {"mine/broken.h", "#include \"base/port.h\"\n\n\nint broken = ;\n"};
    dm_source escape = {"../outside.h", ""};
    dm_module_desc desc = {.name = "user",
                           .text = "#include \"mine/broken.h\"\n",
                           .headers = &header,
                           .header_count = 1};
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_ECOMPILE);
    assert_int_equal(err.line, 4);
    assert_string_equal(err.file, "mine/broken.h");
    desc = (dm_module_desc){.name = "user", .text = "\n#include \"no/such.h\"\n"};
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_ECOMPILE);
    assert_int_equal(err.line, 2);
    assert_non_null(strstr(err.message, "no/such.h"));
    desc = (dm_module_desc){.name = "user", .text = "\n", .headers = &escape, .header_count = 1};
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_EINVAL);
}

void dm_case_unknown_names(dm_device *device)
{
    dm_module *module;
    dm_function *function;
    dm_error err = {0};
    assert_int_equal(
        dm_module_create(device, &(dm_module_desc){.name = "no/such_text.h"}, &module, &err),
        DM_ENOENT);
    assert_non_null(strstr(err.message, "no/such_text.h"));
    assert_int_equal(dm_module_create(device, &(dm_module_desc){.text = "\n"}, &module, &err),
                     DM_EINVAL);
    own_function(device, "dm_selftest_empty", &module);
    assert_int_equal(dm_module_function(module, "no_such_kernel", &function, &err), DM_ENOENT);
    assert_null(function);
    assert_non_null(strstr(err.message, "no_such_kernel"));
    dm_module_destroy(module);
}

void dm_case_bad_launch(dm_device *device)
{
    dm_module *module;
    dm_error err = {0};
    dm_function *function = own_function(device, "dm_selftest_empty", &module);
    dm_stream *stream = dm_device_stream(device);
    uint64_t args[2] = {0};
    static const dm_grid bad[] = {{0, 32, 0}, {1, 0, 0}, {0x80000000u, 1, 0}, {1, 100000, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(dm_function_launch(function, stream, bad[i], args, 8, &err), DM_EINVAL);
    assert_int_equal(dm_function_launch(function, stream, (dm_grid){1, 1, 0}, args, 16, &err),
                     DM_EINVAL);
    assert_non_null(strstr(err.message, "8 bytes"));
    assert_int_equal(dm_function_launch(function, stream, (dm_grid){1, 1, 0}, NULL, 0, &err),
                     DM_EINVAL);
    assert_ok(dm_function_launch(function, stream, (dm_grid){1, 1, 0}, args, 8, err));
    /* Clusters: of a number that divides the blocks, and only where there are some. */
    dm_grid four = {4, 32, 0};
    assert_int_equal(dm_function_launch_clusters(function, stream, four, 3, args, 8, &err),
                     DM_EINVAL);
    assert_int_equal(dm_function_launch_clusters(function, stream, four, 2, args, 16, &err),
                     DM_EINVAL);
    if (dm_device_get_properties(device)->kind == DM_DEVICE_CPU)
        assert_int_equal(dm_function_launch_clusters(function, stream, four, 2, args, 8, &err),
                         DM_EUNSUPPORTED);
    assert_ok(dm_function_launch_clusters(function, stream, four, 1, args, 8, err));
    assert_ok(dm_stream_synchronize(stream, err));
    dm_module_destroy(module);
}

void dm_case_cache(dm_device *device)
{
    /* A text of its own, so that no earlier test has it in the cache. */
    char text[256];
    snprintf(text, sizeof text,
             "#include \"base/port.h\"\n/* %llu */\ntypedef struct a { uint64_t x; } a;\n"
             "DM_KERNEL(k, a) { (void)args; (void)dm_thread_index(); }\n",
             (unsigned long long)dm_time_ns());
    for (int round = 0; round < 3; round++) {
        dm_module *module;
        dm_module_desc desc = {.name = "cached", .text = text};
        uint64_t start = dm_time_ns();
        assert_ok(dm_module_create(device, &desc, &module, err));
        print_message("module: %.2f ms\n", 1e-6 * (double)(dm_time_ns() - start));
        assert_int_equal(dm_module_was_cached(module), round > 0);
        dm_module_destroy(module);
    }
}

typedef struct thread_job {
    dm_device *device;
    dm_module *module;
    uint64_t seed;
    bool right;
} thread_job;

#define THREAD_WORDS 5003

/* No assertions here: cmocka's belong to the main thread. */
static void *thread_body(void *user)
{
    thread_job *job = user;
    static const size_t size = THREAD_WORDS * sizeof(uint32_t);
    uint32_t *got = malloc(size);
    dm_stream *stream = NULL;
    dm_device_buffer *out = NULL;
    dm_function *function = NULL;
    job->right = got != NULL && dm_stream_create(job->device, &stream, NULL) == DM_OK &&
                 dm_device_buffer_create(job->device, size, &out, NULL) == DM_OK &&
                 dm_module_function(job->module, "dm_selftest_philox", &function, NULL) == DM_OK;
    for (uint64_t round = 0; round < 20 && job->right; round++) {
        philox_args args = {THREAD_WORDS, job->seed + round, dm_device_buffer_address(out)};
        job->right = dm_function_launch(function, stream, dm_grid_for(1300, 64), &args, sizeof args,
                                        NULL) == DM_OK &&
                     dm_stream_download(stream, out, 0, got, size, NULL) == DM_OK &&
                     dm_stream_synchronize(stream, NULL) == DM_OK;
        for (uint64_t i = 0; i < THREAD_WORDS && job->right; i++)
            job->right = got[i] == dm_random4(job->seed + round, 1, i / 4).v[i % 4];
    }
    dm_device_buffer_destroy(out);
    dm_stream_destroy(stream);
    free(got);
    return NULL;
}

void dm_case_threads(dm_device *device)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    thread_job jobs[THREADS];
    dm_module *module;
    assert_ok(dm_module_create(device, &(dm_module_desc){.name = DM_SELFTEST_TEXT}, &module, err));
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (thread_job){device, module, (uint64_t)i * 1000, false};
        assert_int_equal(pthread_create(&threads[i], NULL, thread_body, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_true(jobs[i].right);
    dm_module_destroy(module);
}

void dm_case_object_outlives_close(const char *id)
{
    dm_device *device;
    uint32_t word = 0;
    assert_ok(dm_device_open(id, &device, err));
    dm_device_buffer *buffer = dm_case_buffer(device, 4);
    dm_stream *stream;
    assert_ok(dm_stream_create(device, &stream, err));
    dm_device_close(device);
    assert_ok(dm_stream_fill(stream, buffer, 0, 0x21, 4, err));
    assert_ok(dm_stream_download(stream, buffer, 0, &word, 4, err));
    assert_ok(dm_stream_synchronize(stream, err));
    assert_int_equal(word, 0x21212121);
    dm_stream_destroy(stream);
    dm_device_buffer_destroy(buffer);
    dm_device_close(NULL);
}
