/* SPDX-License-Identifier: MIT */
/* The verifier: good kernels pass, each kind of bad one fails at its level and alone. */
#include "base/file.h"
#include "synth/check/compile.h"
#include "synth/check/verify.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/device.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(name, parameters, body)                                                             \
    "import warp as wp\n\n\n@wp.kernel\ndef " name "(" parameters "):\n    i = wp.tid()\n" body
#define X "x: wp.array(dtype=float)"
#define OUT "out: wp.array(dtype=float)"

typedef struct sample {
    const char *name, *text;
    dm_synth_level fails_at; /* 0: passes */
    const char *reason;      /* part of it */
} sample;

static const sample samples[] = {
    {"scale", KERNEL("scale", X ", s: float, " OUT, "    out[i] = x[i] * s\n"), 0, NULL},
    {"blend",
     KERNEL("blend", X ", y: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)",
            "    out[i] = wp.normalize(y[i]) * wp.sin(x[i])\n"),
     0, NULL},
    {"total", KERNEL("total", X ", " OUT, "    wp.atomic_add(out, 0, x[i] * x[i])\n"), 0, NULL},
    {"half",
     KERNEL("half", "x: wp.array(dtype=wp.float16), out: wp.array(dtype=wp.float16)",
            "    out[i] = x[i] * x[i]\n"),
     0, NULL},
    {"counts",
     KERNEL("counts", "n: wp.array(dtype=int), out: wp.array(dtype=int)",
            "    wp.atomic_add(out, n[i], 1)\n"),
     0, NULL},
    {"grid",
     "import warp as wp\n\n@wp.func\ndef twice(v: float):\n    return v + v\n\n@wp.kernel\ndef "
     "grid(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n"
     "    out[i, j] = twice(x[j, i])\n",
     0, NULL},
    /* Questions whose answer is known, which a C compiler warns of. */
    {"below",
     KERNEL("below",
            "n: wp.array(dtype=wp.uint64), b: wp.array(dtype=wp.uint8), out: "
            "wp.array(dtype=wp.uint64)",
            "    if n[i] + n[i] < wp.uint64(0) or wp.uint64(0) > n[i]:\n        return\n"
            "    if n[i] >= wp.uint64(0) and wp.uint8(0) <= b[i] and b[i] < wp.uint8(3):\n"
            "        out[i] = n[i] + wp.uint64(1)\n"),
     0, NULL},
    /* Same names, other meanings. */
    {"scale", KERNEL("scale", X ", s: float, " OUT, "    out[i] = x[i] + s * x[i]\n"), 0, NULL},
    {"grid",
     "import warp as wp\n\n@wp.func\ndef twice(v: float):\n    return v * 2.0\n\n@wp.kernel\ndef "
     "grid(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n"
     "    out[i, j] = twice(x[j, i])\n",
     0, NULL},
    /* Structs in and out, an array changed in place, an edge exactly where it is tried. */
    {"move",
     "import warp as wp\n\n@wp.struct\nclass Body:\n    place: wp.vec3\n    fixed: wp.bool\n    "
     "mass: float\n\n@wp.kernel\ndef move(b: wp.array(dtype=Body), dt: float, out: "
     "wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n    one = b[i]\n    if one.fixed:\n        "
     "out[i] = one.place * one.mass\n    else:\n        out[i] = one.place * dt\n",
     0, NULL},
    {"grow", KERNEL("grow", X ", y: wp.array(dtype=float)", "    y[i] = y[i] + x[i] * 2.0\n"), 0,
     NULL},
    {"edge", KERNEL("edge", X ", " OUT, "    out[i] = wp.abs(x[i] - x[i]) + x[i]\n"), 0, NULL},
    {"endless",
     KERNEL("endless", X ", " OUT,
            "    v = x[i]\n    while v > 0.0:\n        v = v + 1.0\n        if v > 100.0:\n"
            "            v = 1.0\n    out[i] = v\n"),
     DM_SYNTH_VERIFY_RUN, "does not end"},
    {"far", KERNEL("far", X ", " OUT, "    out[i + 1000000000] = x[i]\n"), DM_SYNTH_VERIFY_RUN,
     "crashes"},
    {"beside", KERNEL("beside", X ", " OUT, "    out[i + 3] = x[i]\n"), DM_SYNTH_VERIFY_RUN,
     "writes outside"},
    {"peek", KERNEL("peek", X ", " OUT, "    out[i] = x[i] + x[i + 3]\n"), DM_SYNTH_VERIFY_RUN,
     "reads outside"},
    {"nothing", KERNEL("nothing", X ", " OUT, "    if x[i] > 100.0:\n        out[i] = x[i]\n"),
     DM_SYNTH_VERIFY_RUN, "changes none"},
    {"infinite", KERNEL("infinite", X ", " OUT, "    out[i] = x[i] / (x[i] - x[i])\n"),
     DM_SYNTH_VERIFY_RUN, "'out' is not finite"},
    {"spare", KERNEL("spare", X ", unused: float, " OUT, "    out[i] = x[i]\n"),
     DM_SYNTH_VERIFY_RUN, "no output depends on 'unused'"},
    {"race", KERNEL("race", X ", " OUT, "    out[i % 2] = x[i]\n"), DM_SYNTH_VERIFY_RUN,
     "'out' depends on the order of the threads"},
    {"queue",
     KERNEL("queue", X ", n: wp.array(dtype=int), " OUT,
            "    k = wp.atomic_add(n, 0, 1)\n    out[k] = x[i]\n"),
     DM_SYNTH_VERIFY_RUN, "'out' depends on the order of the threads"},
    {"wrong",
     "import warp as wp\n\n@wp.func\ndef square(v: float):\n    return v * v\n\n"
     "@wp.func_grad(square)\ndef adj_square(v: float, adj_ret: float):\n"
     "    wp.adjoint[v] += 3.0 * v * adj_ret\n\n@wp.kernel\ndef wrong(x: wp.array(dtype=float), "
     "out: wp.array(dtype=float)):\n    i = wp.tid()\n    out[i] = square(x[i])\n",
     DM_SYNTH_VERIFY_GRAD, "gradient of 'x', element 0"},
    {"flat",
     KERNEL("flat", X ", y: wp.array(dtype=float), " OUT,
            "    out[i] = x[i] + wp.floor(y[i] * 8.0)\n"),
     DM_SYNTH_VERIFY_FULL, "gradient of 'y' is zero"},
};
#define SAMPLE_COUNT ((int)(sizeof samples / sizeof samples[0]))

static dm_synth_record records[SAMPLE_COUNT];
static bool have_nvrtc;

static int make_records(void **state)
{
    (void)state;
    dm_synth_compiler *compiler;
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    have_nvrtc = tools.nvrtc;
    if (dm_synth_compiler_create(&compiler, NULL) != DM_OK)
        return -1;
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        dm_synth_record_init(&records[i]);
        snprintf(records[i].kernel_name, sizeof records[i].kernel_name, "%s", samples[i].name);
        dm_buffer_puts(&records[i].python_source, samples[i].text);
        dm_error err = {0};
        int texts = DM_SYNTH_TEXT_C | (have_nvrtc ? DM_SYNTH_TEXT_CUDA : 0);
        /* A warning, about an array that is changed in place, does not matter here. */
        if (dm_synth_compile(compiler, &records[i], texts, &err) != DM_OK) {
            dm_buffer_clear(&records[i].c_forward);
            dm_buffer_clear(&records[i].c_backward);
        }
    }
    dm_synth_compiler_destroy(compiler);
    return 0;
}

static int drop_records(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLE_COUNT; i++)
        dm_synth_record_deinit(&records[i]);
    return 0;
}

static void need_cc(void)
{
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
}

static void verify(dm_synth_record *const *some, int count, dm_synth_level level,
                   dm_synth_result *results)
{
    dm_synth_verifier *verifier;
    dm_synth_verify_options options = {.level = level};
    assert_ok(dm_synth_verifier_create(&options, &verifier, err));
    assert_true(dm_synth_verifier_batch(verifier) > 0);
    assert_ok(dm_synth_verify_batch(verifier, some, count, results, err));
    dm_synth_verifier_destroy(verifier);
}

static void check_result(int i, dm_synth_level level, const dm_synth_result *result)
{
    const sample *s = &samples[i];
    if (s->fails_at == 0 || s->fails_at > level) {
        if (!result->passed)
            fail_msg("%s: %s", s->name, result->reason);
        assert_int_equal(records[i].verification.level, level);
        return;
    }
    if (result->passed)
        fail_msg("%s passes level %s", s->name, dm_synth_level_names[level]);
    if (strstr(result->reason, s->reason) == NULL)
        fail_msg("%s: %s", s->name, result->reason);
    assert_int_equal(result->failed_at, s->fails_at);
    assert_int_equal(records[i].verification.level, s->fails_at - 1);
}

/* The endless kernel takes its seconds: it runs where everything does. */
static int choose(dm_synth_record **all, int *used, bool with_endless)
{
    int count = 0;
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (with_endless || strcmp(samples[i].name, "endless") != 0) {
            used[count] = i;
            all[count++] = &records[i];
        }
    return count;
}

static void check_level(dm_synth_level level)
{
    dm_synth_record *all[SAMPLE_COUNT];
    dm_synth_result results[SAMPLE_COUNT];
    int used[SAMPLE_COUNT];
    need_cc();
    int count = choose(all, used, level == DM_SYNTH_VERIFY_FULL);
    verify(all, count, level, results);
    for (int i = 0; i < count; i++)
        check_result(used[i], level, &results[i]);
}

static void nothing_is_checked(void **state)
{
    (void)state;
    check_level(DM_SYNTH_VERIFY_NONE);
    assert_false(records[0].verification.c_compiled);
}

static void compiles(void **state)
{
    (void)state;
    check_level(DM_SYNTH_VERIFY_COMPILE);
    assert_true(records[0].verification.c_compiled);
    assert_int_equal(records[0].verification.cuda_compiled, have_nvrtc);
    assert_false(records[0].verification.ran);
}

static void grad(void **state)
{
    (void)state;
    check_level(DM_SYNTH_VERIFY_GRAD);
}

static void full(void **state)
{
    (void)state;
    check_level(DM_SYNTH_VERIFY_FULL);
    const dm_synth_verification *v = &records[0].verification;
    assert_true(v->ran && v->compared >= 10);
    assert_true(v->gradient_error < 1e-7);
    assert_true(v->output_magnitude > 0.5 && v->output_magnitude < 2);
    /* No floats, no gradients. */
    assert_int_equal(records[4].verification.compared, 0);
    assert_true(records[4].verification.ran);
}

/* Figures and reasons are the same alone, in pairs and in another order. */
static void batches_do_not_matter(void **state)
{
    (void)state;
    dm_synth_record *all[SAMPLE_COUNT];
    dm_synth_result together[SAMPLE_COUNT], apart[SAMPLE_COUNT];
    dm_synth_verification found[SAMPLE_COUNT];
    int used[SAMPLE_COUNT];
    need_cc();
    int count = choose(all, used, false);
    verify(all, count, DM_SYNTH_VERIFY_FULL, together);
    for (int i = 0; i < count; i++)
        found[i] = records[used[i]].verification;
    for (int i = 0; i < count; i++)
        all[count - 1 - i] = &records[used[i]];
    for (int i = 0; i < count; i += 3)
        verify(all + i, i + 3 <= count ? 3 : count - i, DM_SYNTH_VERIFY_FULL, apart + i);
    for (int i = 0; i < count; i++) {
        const dm_synth_verification *v = &records[used[i]].verification;
        assert_string_equal(together[i].reason, apart[count - 1 - i].reason);
        assert_true(v->gradient_error == found[i].gradient_error);
        assert_true(v->output_magnitude == found[i].output_magnitude);
        assert_int_equal(v->compared, found[i].compared);
    }
}

static void damage(dm_buffer *text, const char *what, const char *with)
{
    char *at = strstr(text->data, what);
    assert_non_null(at);
    assert_int_equal(strlen(what), strlen(with));
    memcpy(at, with, strlen(with));
}

/* A text that does not compile takes no other record with it, and the message names its place. */
static void broken_texts_stand_alone(void **state)
{
    (void)state;
    dm_synth_record *all[8];
    dm_synth_result results[8];
    need_cc();
    for (int i = 0; i < 8; i++)
        all[i] = &records[i];
    damage(&records[1].c_backward, "return", "retorn");
    damage(&records[7].c_forward, "float s", "float z");
    verify(all, 8, DM_SYNTH_VERIFY_COMPILE, results);
    for (int i = 0; i < 8; i++)
        assert_int_equal(results[i].passed, i != 1 && i != 7);
    if (strstr(results[1].reason, "c_backward:") == NULL)
        fail_msg("%s", results[1].reason);
    assert_non_null(strstr(results[7].reason, "c_forward:"));
    assert_false(records[1].verification.c_compiled);
    assert_true(records[2].verification.c_compiled);
    verify(all, 8, DM_SYNTH_VERIFY_RUN, results);
    for (int i = 0; i < 8; i++)
        assert_int_equal(results[i].passed, i != 1 && i != 7);
    damage(&records[1].c_backward, "retorn", "return");
    damage(&records[7].c_forward, "float z", "float s");
}

/* One that is only missing a helper which another text has. */
static void broken_cuda_stands_alone(void **state)
{
    (void)state;
    dm_synth_record *all[8];
    dm_synth_result results[8];
    need_cc();
    if (!have_nvrtc)
        dm_test_skip("no NVRTC");
    for (int i = 0; i < 8; i++)
        all[i] = &records[i];
    damage(&records[5].cuda_forward, "float *array2_f32_at(", "float *array2_f32_ax(");
    verify(all, 8, DM_SYNTH_VERIFY_COMPILE, results);
    for (int i = 0; i < 8; i++)
        assert_int_equal(results[i].passed, i != 5);
    if (strstr(results[5].reason, "array2_f32_at") == NULL)
        fail_msg("%s", results[5].reason);
    damage(&records[5].cuda_forward, "float *array2_f32_ax(", "float *array2_f32_at(");
}

static void python_that_does_not_compile(void **state)
{
    (void)state;
    dm_synth_record bad, *all[2] = {&bad, &records[0]};
    dm_synth_result results[2];
    need_cc();
    dm_synth_record_init(&bad);
    snprintf(bad.kernel_name, sizeof bad.kernel_name, "k");
    dm_buffer_puts(&bad.python_source, KERNEL("k", X, "    x[i] = y\n"));
    verify(all, 2, DM_SYNTH_VERIFY_RUN, results);
    assert_false(results[0].passed);
    assert_true(results[1].passed);
    assert_int_equal(results[0].failed_at, DM_SYNTH_VERIFY_COMPILE);
    snprintf(bad.kernel_name, sizeof bad.kernel_name, "other");
    verify(all, 2, DM_SYNTH_VERIFY_RUN, results);
    assert_non_null(strstr(results[0].reason, "no kernel 'other'"));
    dm_synth_record_deinit(&bad);
}

static void *verify_in_thread(void *user)
{
    dm_synth_record mine[6], *all[6];
    dm_synth_result results[6];
    dm_synth_verifier *verifier = NULL;
    dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_GRAD};
    bool *fine = user;
    *fine = dm_synth_verifier_create(&options, &verifier, NULL) == DM_OK;
    for (int i = 0; i < 6; i++) {
        mine[i] = records[i]; /* texts are only read */
        all[i] = &mine[i];
    }
    for (int round = 0; *fine && round < 2; round++) {
        *fine = dm_synth_verify_batch(verifier, all, 6, results, NULL) == DM_OK;
        for (int i = 0; i < 6; i++)
            *fine &= results[i].passed;
    }
    dm_synth_verifier_destroy(verifier);
    return NULL;
}

static void several_at_once(void **state)
{
    (void)state;
    pthread_t threads[3];
    bool fine[3];
    need_cc();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, verify_in_thread, &fine[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(fine[0] && fine[1] && fine[2]);
}

static dm_status count_entry(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root;
    (void)entry;
    (void)err;
    ++*(int *)user;
    return DM_OK;
}

static void nothing_is_left_behind(void **state)
{
    assert_int_equal(make_records(NULL), 0);
    const char *folder = dm_test_dir(state);
    int left = 0;
    dm_synth_record *all[2] = {&records[0], &records[13]};
    dm_synth_result results[2];
    need_cc();
    const char *before = getenv("TMPDIR");
    char *kept = before == NULL ? NULL : strdup(before);
    setenv("TMPDIR", folder, 1);
    verify(all, 2, DM_SYNTH_VERIFY_FULL, results);
    if (kept == NULL)
        unsetenv("TMPDIR");
    else
        setenv("TMPDIR", kept, 1);
    free(kept);
    assert_true(results[0].passed && !results[1].passed);
    assert_ok(dm_dir_walk(folder, count_entry, &left, err));
    assert_int_equal(left, 0);
    drop_records(NULL);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, make_records, drop_records)
DM_TESTS("synth/verify", CASE(nothing_is_checked), CASE(compiles), CASE(grad), CASE(full),
         CASE(batches_do_not_matter), CASE(broken_texts_stand_alone),
         CASE(broken_cuda_stands_alone), CASE(python_that_does_not_compile), CASE(several_at_once),
         DM_TEST_IN_DIR(nothing_is_left_behind))
