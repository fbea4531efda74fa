/* SPDX-License-Identifier: MIT */
/* References and tests of records: every kernel of the library has them, the tests notice cheats, and
 * (where Python has NumPy) references pass and changed operators fail. */
#include "base/file.h"
#include "synth/check/compile.h"
#include "synth/check/verify.h"
#include "synth/natural/natural.h"
#include "synth/produce.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_kernel_has_a_reference(void **state)
{
    (void)state;
    dm_natural *natural;
    dm_synth_compiler *compiler;
    dm_synth_record r;
    assert_ok(dm_natural_create(&natural, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    dm_synth_record_init(&r);
    for (uint64_t slot = 0; slot < 3000; slot++) {
        dm_error err = {0};
        dm_synth_record_clear(&r);
        assert_int_equal(dm_natural_generate(natural, 4, slot, 0,
                                             (int)(slot % DM_SYNTH_CATEGORY_COUNT), &r, &err),
                         DM_OK);
        if (dm_synth_compile(compiler, &r, DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE, &err) !=
            DM_OK)
            fail_msg("%s\n%s", err.message, dm_buffer_text(&r.python_source));
        assert_non_null(strstr(dm_buffer_text(&r.reference), "(launch, "));
    }
    dm_synth_record_deinit(&r);
    dm_synth_compiler_destroy(compiler);
    dm_natural_destroy(natural);
}

#define HEAD                                                                                       \
    "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), s: float, "                \
    "y: wp.array(dtype=float)):\n    i = wp.tid()\n"

/* The kernel k, with its C text and its reference. */
static void record_of(dm_synth_record *r, dm_synth_compiler *compiler, const char *text)
{
    dm_synth_record_init(r);
    strcpy(r->kernel_name, "k");
    dm_buffer_puts(&r->python_source, text);
    assert_ok(dm_synth_compile(compiler, r, DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE, err));
}

/* What the tests of these kernels cannot tell. */
static void a_kernel_that_its_test_cannot_tell_fails(void **state)
{
    static const struct {
        const char *text, *says; /* NULL: fine */
    } cases[] = {
        {HEAD "    y[i] = s * x[i]\n", NULL},
        {HEAD "    y[i] += s * x[i]\n", NULL},
        {HEAD "    y[i] = 0.5 * wp.max(x[i], 0.5) + 1.0e-6 * wp.min(s, 1.4)\n",
         "an argument is ignored: 's'"},
        {HEAD "    y[i] = 1.0 + 1.0e-6 * wp.min(x[i], 1.4) + s\n", "an argument is ignored: 'x'"},
        {HEAD "    y[i] += 1.0e-6 * wp.min(s, 1.4) * wp.min(x[i], 1.4)\n", "that nothing is done"},
        {HEAD "    y[i] = 1.0e-7 * wp.min(s, 1.4) * wp.min(x[i], 1.4)\n", "zeros"},
        {HEAD "    y[i] = x[i] + 1.0e-6 * wp.min(s, 1.4)\n", "copy of 'x'"}};
    dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_RUN, .seed = 1};
    dm_synth_verifier *verifier;
    dm_synth_compiler *compiler;
    (void)state;
    assert_ok(dm_synth_verifier_create(&options, &verifier, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_synth_record r, *list[] = {&r};
        dm_synth_result result;
        record_of(&r, compiler, cases[i].text);
        assert_ok(dm_synth_verify_batch(verifier, list, 1, &result, err));
        if (cases[i].says == NULL) {
            assert_string_equal(result.reason, "");
            assert_non_null(strstr(dm_buffer_text(&r.test), "def check(forward, backward=None):"));
        } else if (result.passed || strstr(result.reason, cases[i].says) == NULL) {
            fail_msg("%zu: '%s' does not say '%s'", i, result.reason, cases[i].says);
        }
        dm_synth_record_deinit(&r);
    }
    dm_synth_compiler_destroy(compiler);
    dm_synth_verifier_destroy(verifier);
}

/* Edges that only equal numbers tell, and an argument that matters little. */
static void a_test_notices_mutants(void **state)
{
    static const struct {
        const char *text;
        int mutants, noticed, edges, edges_noticed;
    } cases[] = {
        {HEAD "    y[i] = s * x[i] + 1.0\n", 2, 2, 0, 0},
        {HEAD "    if x[i] < 0.25:\n        y[i] = s\n    else:\n        y[i] = x[i] - s\n", 2, 2,
         1, 1},
        {HEAD "    y[i] = s * wp.clamp(x[i], 0.5, 40.0)\n", 3, 3, 0, 0},
        {HEAD "    wp.atomic_add(y, i, s / (wp.abs(x[i] - s) + 1.0e-3))\n", 4, 4, 0, 0},
        /* a sum over both signs: nothing can tell */
        {HEAD "    total = float(0.0)\n    for k in range(-1, 2):\n"
              "        total += x[(i + k + x.shape[0]) % x.shape[0]]\n    y[i] = s * total\n",
         5, 3, 0, 0},
    };
    dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_FULL, .seed = 1};
    dm_synth_verifier *verifier;
    dm_synth_compiler *compiler;
    (void)state;
    assert_ok(dm_synth_verifier_create(&options, &verifier, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_synth_record r, *list[] = {&r};
        dm_synth_result result;
        record_of(&r, compiler, cases[i].text);
        assert_ok(dm_synth_verify_batch(verifier, list, 1, &result, err));
        assert_string_equal(result.reason, "");
        const dm_synth_verification *v = &r.verification;
        if (v->cheats < 6 || v->mutants != cases[i].mutants || v->noticed != cases[i].noticed ||
            v->edges != cases[i].edges || v->edges_noticed != cases[i].edges_noticed)
            fail_msg("%zu: %d cheats, %d of %d mutants, %d of %d edges", i, v->cheats, v->noticed,
                     v->mutants, v->edges_noticed, v->edges);
        dm_synth_record_deinit(&r);
    }
    dm_synth_compiler_destroy(compiler);
    dm_synth_verifier_destroy(verifier);
}

static void produce(const char *folder, int count, int programs)
{
    dm_synth_produced made;
    dm_synth_produce_options o = {.folder = folder,
                                  .count = (uint64_t)count,
                                  .seed = 9,
                                  .texts = DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE,
                                  .level = DM_SYNTH_VERIFY_RUN,
                                  .style = DM_SYNTH_STYLE_NATURAL,
                                  .programs = programs,
                                  .shard_lines = 100,
                                  .jobs = 2,
                                  .ranks = 1,
                                  .quiet = true};
    every_category(&o);
    assert_ok(dm_synth_produce(&o, &made, err));
}

/* The interpreter with NumPy: .venv's, $DM_PYTHON or python3; NULL: none has it. */
static const char *find_python(char path[DM_PATH_MAX])
{
    assert_ok(dm_path_join(path, dm_test_source_root(), ".venv/bin/python", err));
    const char *candidates[] = {getenv("DM_PYTHON"), path, "python3"};
    for (size_t i = 0; i < 3; i++) {
        const char *const argv[] = {candidates[i], "-c", "import numpy", NULL};
        dm_test_result r;
        if (candidates[i] == NULL || (candidates[i] == path && !dm_file_exists(path)))
            continue;
        dm_test_run(&(dm_test_command){.argv = argv, .seconds = 30}, &r);
        bool has = r.exit_code == 0;
        dm_test_result_free(&r);
        if (has)
            return candidates[i];
    }
    return NULL;
}

/* In NumPy a matrix without an inverse is an error, in a kernel it gives zeros. */
static void a_reference_inverts_as_the_kernel(void **state)
{
    char path[DM_PATH_MAX];
    const char *python = find_python(path), *file = dm_test_path(state, "reference.py");
    if (python == NULL)
        dm_test_skip("no Python with NumPy: .venv, $DM_PYTHON or python3");
    dm_synth_compiler *compiler;
    dm_synth_record r;
    dm_test_result result;
    assert_ok(dm_synth_compiler_create(&compiler, err));
    record_of(&r, compiler,
              HEAD "    m = wp.mat22(x[i], s, s, x[i])\n    y[i] = wp.inverse(m)[0, 0]\n");
    dm_buffer_puts(&r.reference, "\nx, y = np.array([1, 3], np.float32), np.zeros(2, np.float32)\n"
                                 "k((2,), x, 1.0, y)\nprint(y.tolist())\n");
    assert_ok(dm_file_write(file, dm_buffer_text(&r.reference), r.reference.size, err));
    dm_test_run(
        &(dm_test_command){.argv = (const char *const[]){python, file, NULL}, .seconds = 30},
        &result);
    dm_test_expect_exit(&result, 0);
    assert_string_equal(result.out, "[0.0, 0.375]\n");
    dm_test_result_free(&result);
    dm_synth_record_deinit(&r);
    dm_synth_compiler_destroy(compiler);
}

static void references_pass_and_cheats_fail(void **state)
{
    char script[DM_PATH_MAX], path[DM_PATH_MAX];
    dm_test_result r;
    const char *folder = dm_test_path(state, "set"), *python = find_python(path);
    if (python == NULL)
        dm_test_skip("no Python with NumPy: .venv, $DM_PYTHON or python3");
    produce(folder, 48, 0);
    assert_ok(dm_path_join(script, dm_test_source_root(), "tests/synth/cheat_audit.py", err));
    const char *const argv[] = {python, script, folder, "--mutations", "2", NULL};
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 120}, &r);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "48 tests: 0 references fail"));
    dm_test_result_free(&r);
}

/* A record's test against its own C texts, as a compiled library: both passes, kernels and programs of several. */
static void a_library_is_tested(void **state)
{
    char path[DM_PATH_MAX];
    static const char program[] =
        "import json, subprocess, sys\n"
        "folder = sys.argv[1]\n"
        "count = 0\n"
        "for line in open(folder + '/pairs-00000.jsonl'):\n"
        "    r = json.loads(line)\n"
        "    open(folder + '/test.py', 'w').write(r['test'])\n"
        "    for wrong in (False, True):\n"
        "        text = r['c_forward'] + (r['c_backward'] or '')\n"
        "        if wrong:\n"
        "            text = r['c_forward'].replace(' + ', ' - ').replace(' * ', ' / ')\n"
        "        for name, part in (('f', text if wrong else r['c_forward']), ('b', "
        "r['c_backward'])):\n"
        "            open(f'{folder}/{name}.c', 'w').write(part or '')\n"
        "        subprocess.run(['cc', '-shared', '-fPIC', '-o', folder + "
        "f'/lib{count}{wrong}.so', folder + '/f.c',\n"
        "                        folder + '/b.c', '-lm', '-w'], check=True)\n"
        "        found = subprocess.run([sys.executable, folder + '/test.py', folder + "
        "f'/lib{count}{wrong}.so'],\n"
        "                               capture_output=True, text=True)\n"
        "        if wrong and text != r['c_forward']:\n"
        "            assert found.returncode != 0, r['id']\n"
        "        elif not wrong:\n"
        "            assert found.returncode == 0, r['id'] + found.stdout + found.stderr\n"
        "            count += 1\n"
        "print(count, 'libraries')\n";
    dm_test_result r;
    const char *folder = dm_test_path(state, "set"), *python = find_python(path);
    if (python == NULL)
        dm_test_skip("no Python with NumPy: .venv, $DM_PYTHON or python3");
    produce(folder, 6, 50);
    const char *const argv[] = {python, "-c", program, folder, NULL};
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 120}, &r);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "6 libraries"));
    dm_test_result_free(&r);
}

DM_TESTS("synth/lesson", DM_TEST(every_kernel_has_a_reference),
         DM_TEST(a_kernel_that_its_test_cannot_tell_fails), DM_TEST(a_test_notices_mutants),
         DM_TEST_IN_DIR(a_reference_inverts_as_the_kernel),
         DM_TEST_IN_DIR(references_pass_and_cheats_fail), DM_TEST_IN_DIR(a_library_is_tested))
