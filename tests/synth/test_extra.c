/* SPDX-License-Identifier: MIT */
/* Repairs, slower forms and machine code in records: they are what they say. */
#include "device/nvrtc.h"
#include "synth/audit/validate.h"
#include "synth/check/compile.h"
#include "synth/check/reject.h"
#include "synth/lesson/rewrite.h"
#include "synth/produce.h"
#include "synth/store/dataset.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <stdlib.h>
#include <string.h>

static void produce(const char *folder, int count, bool ptx)
{
    dm_synth_produced made;
    dm_synth_produce_options o = {.folder = folder,
                                  .count = (uint64_t)count,
                                  .seed = 3,
                                  .texts = ptx ? DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_REFERENCE
                                               : DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE,
                                  .repairs = true,
                                  .slower = true,
                                  .ptx = ptx,
                                  .level = DM_SYNTH_VERIFY_RUN,
                                  .style = DM_SYNTH_STYLE_NATURAL,
                                  .shard_lines = 100,
                                  .jobs = 2,
                                  .ranks = 1,
                                  .quiet = true};
    every_category(&o);
    assert_ok(dm_synth_produce(&o, &made, err));
}

static void check_record(const dm_synth_record *r, int *by_test, int *slower, int *unrolled,
                         int *split)
{
    assert_true(r->mutation[0] != '\0' && r->broken.size > 0 && r->symptom.size > 0);
    assert_true(r->broken.size != r->python_source.size ||
                memcmp(r->broken.data, r->python_source.data, r->broken.size) != 0);
    dm_synth_record broken;
    bool compiles;
    dm_synth_record_init(&broken);
    memcpy(broken.kernel_name, r->kernel_name, sizeof broken.kernel_name);
    dm_buffer_append(&broken.python_source, r->broken.data, r->broken.size);
    assert_ok(dm_synth_diagnose(&broken, &broken.diagnostics, &compiles, err));
    assert_true(compiles == r->found_by_test);
    if (r->found_by_test)
        assert_true(strncmp(r->symptom.data, "case ", 5) == 0 ||
                    strncmp(r->symptom.data, "crashes", 7) == 0);
    else
        assert_string_equal(r->symptom.data, dm_buffer_text(&broken.diagnostics));
    *by_test += r->found_by_test;
    *slower += r->slower.size > 0;
    *unrolled += r->unrolled.size > 0;
    *split += r->unfused.size > 0;
    assert_true(r->unrolled.size == 0 || r->unrolled_cost * 1.01 <= r->cost);
    assert_true(r->unfused.size == 0 || r->unfused_cost >= r->cost * 1.05);
    if (r->slower.size > 0)
        assert_true(r->slower_cost > r->cost && r->cost > 0);
    dm_synth_record_deinit(&broken);
}

static void broken_forms_are_broken_and_slower_ones_cost_more(void **state)
{
    enum { COUNT = 60 };
    const char *folder = dm_test_path(state, "set");
    dm_synth_dataset set;
    dm_synth_file file;
    dm_synth_record r;
    int by_test = 0, slower = 0, unrolled = 0, split = 0;
    produce(folder, COUNT, false);
    assert_ok(dm_synth_dataset_open(&set, folder, err));
    assert_ok(dm_synth_file_read(&file, &set, 0, err));
    assert_int_equal(file.count, COUNT);
    dm_synth_record_init(&r);
    for (size_t i = 0; i < file.count; i++) {
        assert_ok(dm_synth_record_read(&r, file.lines[i], dm_synth_file_line(&file, i), "pairs",
                                       (int)i + 1, err));
        check_record(&r, &by_test, &slower, &unrolled, &split);
    }
    assert_true(by_test > COUNT / 4 && by_test < COUNT * 3 / 4);
    assert_true(slower > 0 && unrolled > 0);
    dm_synth_record_deinit(&r);
    dm_synth_file_free(&file);
    dm_synth_dataset_close(&set);
    dm_synth_report report;
    dm_synth_validate_options options = {
        .path = folder, .level = DM_SYNTH_VERIFY_RUN, .jobs = 2, .quiet = true};
    assert_ok(dm_synth_validate(&options, &report, err));
    assert_int_equal(report.problem_count, 0);
    dm_synth_report_free(&report);
}

static void machine_code_has_registers(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_synth_dataset set;
    dm_synth_record r;
    dm_error err_nvrtc = {0};
    char path[DM_PATH_MAX];
    if (dm_nvrtc_find(path, &err_nvrtc) != DM_OK)
        dm_test_skip("NVRTC is not on this machine");
    produce(folder, 4, true);
    assert_ok(dm_synth_dataset_open(&set, folder, err));
    dm_synth_record_init(&r);
    assert_ok(dm_synth_dataset_find(&set, "3-00000001", &r, err));
    assert_non_null(strstr(dm_buffer_text(&r.ptx), ".entry"));
    assert_true(r.registers >= 8 && r.registers <= 255 && r.shared_bytes == 0);
    dm_synth_record_deinit(&r);
    dm_synth_dataset_close(&set);
}

#define LOOP_HEAD                                                                                  \
    "@wp.kernel\ndef k(x: wp.array2d(dtype=float), n: int, y: wp.array(dtype=float)):\n"           \
    "    i = wp.tid()\n    total = float(0.0)\n    square = float(0.0)\n"
#define LOOP_TAIL "    y[i] = total + square\n"

static void loops_are_rewritten(void **state)
{
    static const struct {
        bool (*rewrite)(const char *, size_t, dm_buffer *);
        const char *loop, *becomes; /* NULL: it cannot be */
    } cases[] = {
        {dm_synth_unroll, "    for j in range(n):\n        total += x[i, j] * float(j)\n",
         "    # four at a time\n    whole = n - n % 4\n    for j in range(0, whole, 4):\n"
         "        total += x[i, j] * float(j)\n        total += x[i, j + 1] * float(j + 1)\n"
         "        total += x[i, j + 2] * float(j + 2)\n        total += x[i, j + 3] * float(j + "
         "3)\n"
         "    # what is left\n    for j in range(whole, n):\n"
         "        total += x[i, j] * float(j)\n"},
        {dm_synth_unroll,
         "    for j in range(-1, 1):\n        w = 2 * j\n        total += x[i, j] + float(w)\n",
         "    w = 2 * (-1)\n    total += x[i, -1] + float(w)\n    w = 2 * 0\n"
         "    total += x[i, 0] + float(w)\n"},
        {dm_synth_unroll,
         "    for j in range(n):\n        if x[i, j] < 0.0:\n            break\n"
         "        total += 1.0\n",
         NULL},
        {dm_synth_unroll, "    for j in range(n):\n        j += 1\n        total += 1.0\n", NULL},
        {dm_synth_unroll, "    for j in range(0, n, 2):\n        total += 1.0\n", NULL},
        {dm_synth_unfuse,
         "    for j in range(n):\n        v = x[i, j]\n        total += v\n"
         "        square += v * v\n",
         "    for j in range(n):\n        v = x[i, j]\n        total += v\n"
         "    for j in range(n):\n        v = x[i, j]\n        square += v * v\n"},
        {dm_synth_unfuse,
         "    for j in range(n):\n        total += x[i, j]\n"
         "        square += total\n",
         NULL},
        {dm_synth_unfuse,
         "    for j in range(n):\n        total += x[i, j]\n        y[j] = 1.0\n"
         "        square += x[i, j]\n",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_buffer text = DM_BUFFER_EMPTY, out = DM_BUFFER_EMPTY, should = DM_BUFFER_EMPTY;
        dm_buffer_printf(&text, "%s%s%s", LOOP_HEAD, cases[i].loop, LOOP_TAIL);
        bool made = cases[i].rewrite(dm_buffer_text(&text), text.size, &out);
        assert_int_equal(made, cases[i].becomes != NULL);
        if (made) {
            dm_buffer_printf(&should, "%s%s%s", LOOP_HEAD, cases[i].becomes, LOOP_TAIL);
            assert_string_equal(dm_buffer_text(&out), dm_buffer_text(&should));
        } else {
            assert_int_equal(out.size, 0);
        }
        dm_buffer_deinit(&text);
        dm_buffer_deinit(&out);
        dm_buffer_deinit(&should);
    }
}

DM_TESTS("synth/extra", DM_TEST(loops_are_rewritten),
         DM_TEST_IN_DIR(broken_forms_are_broken_and_slower_ones_cost_more),
         DM_TEST_IN_DIR(machine_code_has_registers))
