/* SPDX-License-Identifier: MIT */
/* Programs of several kernels: how their launches are read, what they compile to, what is refused; every one
 * of the library passes the verifier. */
#include "synth/audit/validate.h"
#include "synth/check/compile.h"
#include "synth/check/unit.h"
#include "synth/check/verify.h"
#include "synth/produce.h"
#include "tests/support/tmpdir.h"

#include <string.h>

#define KERNELS                                                                                    \
    "import warp as wp\n\n\n@wp.kernel\ndef square(x: wp.array(dtype=float), y: "                  \
    "wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i] * x[i]\n\n\n@wp.kernel\n"          \
    "def total(y: wp.array(dtype=float), s: wp.array(dtype=float)):\n    i = wp.tid()\n"           \
    "    wp.atomic_add(s, 0, y[i])\n\n\n@wp.kernel\ndef divide(y: wp.array(dtype=float), s: "      \
    "wp.array(dtype=float), factor: float, z: wp.array(dtype=float)):\n    i = wp.tid()\n"         \
    "    z[i] = factor * y[i] / s[0]\n\n\n"
#define HEAD                                                                                       \
    "def shares(x: wp.array(dtype=float), factor: float, z: wp.array(dtype=float)):\n"             \
    "    \"\"\"Squares as shares of their sum.\"\"\"\n"
#define BODY                                                                                       \
    "    y = wp.zeros_like(x)\n    s = wp.zeros(1, dtype=float)\n"                                 \
    "    wp.launch(square, dim=x.shape, inputs=[x], outputs=[y])\n"                                \
    "    wp.launch(total, dim=x.shape[0], inputs=[y], outputs=[s])\n"                              \
    "    wp.launch(\n        divide,\n        dim=x.shape,\n        inputs=[y, s, factor],\n"      \
    "        outputs=[z],\n    )\n"

static dm_status open_unit(dm_compilation *c, const char *text, dm_unit *unit, dm_error *error)
{
    dm_compile_options options = {.module.keep_loops = true};
    dm_status status = dm_compilation_init(c, "program.py", text, strlen(text), &options, error);
    return status == DM_OK ? dm_unit_open(unit, c, text, "shares", error) : status;
}

static void launches_are_read(void **state)
{
    (void)state;
    dm_compilation c;
    dm_unit u;
    dm_buffer text = DM_BUFFER_EMPTY;
    assert_ok(open_unit(&c, KERNELS HEAD BODY, &u, err));
    assert_int_equal(u.param_count, 3);
    assert_int_equal(u.array_count, 5);
    assert_int_equal(u.launch_count, 3);
    assert_true(u.has_backward && u.kernel < 0 && u.forward->tid_count == 1);
    dm_unit_put_launches(&u, &text);
    assert_string_equal(
        dm_buffer_text(&text),
        "{\"temporaries\": [{\"name\": \"y\", \"element\": \"float32\", \"dimensions\": 1, "
        "\"like\": \"x\"}, {\"name\": \"s\", \"element\": \"float32\", \"dimensions\": 1, "
        "\"like\": null}], \"launches\": [{\"kernel\": \"square\", \"dim\": \"x.shape\", "
        "\"arguments\": [\"x\", \"y\"]}, {\"kernel\": \"total\", \"dim\": \"x.shape[0]\", "
        "\"arguments\": [\"y\", \"s\"]}, {\"kernel\": \"divide\", \"dim\": \"x.shape\", "
        "\"arguments\": [\"y\", \"s\", \"factor\", \"z\"]}]}");
    dm_buffer_deinit(&text);
    dm_compilation_deinit(&c);
}

static void wrong_launches_are_refused(void **state)
{
    static const struct {
        const char *body, *says;
    } cases[] = {
        {"    wp.launch(cube, dim=x.shape, inputs=[x], outputs=[z])\n", "no kernel of that name"},
        {"    wp.launch(square, dim=x.shape, inputs=[w], outputs=[z])\n", "an unknown name"},
        {"    wp.launch(square, dim=x.shape, inputs=[x])\n", "takes 2 arguments, not 1"},
        {"    wp.launch(square, dim=x.shape, inputs=[x], outputs=[factor])\n",
         "no kernel takes 'z'"},
        {"    wp.launch(square, dim=x.shape, inputs=[x], outputs=[z])\n",
         "no kernel takes 'factor'"},
        {"    x = wp.zeros_like(z)\n", "a name twice"},
        {"    y = wp.ones_like(x)\n", "is missing"},
        {"    y = wp.zeros_like(x)\n", "nothing is launched"},
        {"    for k in range(3):\n        pass\n", "is missing"},
        {"    y = wp.zeros_like(factor)\n"
         "    wp.launch(square, dim=x.shape, inputs=[x], outputs=[y])\n"
         "    wp.launch(divide, dim=x.shape, inputs=[y, x, factor], outputs=[z])\n",
         "the shape of 'y'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_compilation c;
        dm_unit u;
        dm_error error = {0};
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_printf(&text, "%s%s%s", KERNELS, HEAD, cases[i].body);
        assert_int_equal(open_unit(&c, dm_buffer_text(&text), &u, &error), DM_ECOMPILE);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%zu: '%s' does not say '%s'", i, error.message, cases[i].says);
        dm_compilation_deinit(&c);
        dm_buffer_deinit(&text);
    }
}

/* Its own C, gradients against differences, and the reference, by way of the verifier. */
static void a_program_is_verified(void **state)
{
    dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_FULL, .seed = 1};
    dm_synth_verifier *verifier;
    dm_synth_compiler *compiler;
    dm_synth_record r, *list[] = {&r};
    dm_synth_result result;
    (void)state;
    assert_ok(dm_synth_verifier_create(&options, &verifier, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    dm_synth_record_init(&r);
    strcpy(r.kernel_name, "shares");
    dm_buffer_puts(&r.python_source, KERNELS HEAD BODY);
    assert_ok(dm_synth_compile(compiler, &r, DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE, err));
    assert_ok(dm_synth_verify_batch(verifier, list, 1, &result, err));
    assert_string_equal(result.reason, "");
    assert_true(r.has_backward && r.verification.compared > 3);
    assert_int_equal(r.verification.mutants, r.verification.noticed);
    assert_true(r.verification.mutants >= 4);
    assert_non_null(strstr(dm_buffer_text(&r.reference), "def shares(launch, x, factor, z):"));
    dm_synth_record_deinit(&r);
    dm_synth_compiler_destroy(compiler);
    dm_synth_verifier_destroy(verifier);
}

/* One of each category, and what is made of them validates. */
static void programs_are_produced_and_validated(void **state)
{
    dm_synth_produced made;
    dm_synth_report report;
    dm_synth_produce_options o = {.folder = dm_test_path(state, "set"),
                                  .count = 24,
                                  .seed = 6,
                                  .category_count = DM_SYNTH_CATEGORY_COUNT,
                                  .texts =
                                      DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_IR | DM_SYNTH_TEXT_REFERENCE,
                                  .programs = 100,
                                  .repairs = true,
                                  .slower = true,
                                  .level = DM_SYNTH_VERIFY_FULL,
                                  .style = DM_SYNTH_STYLE_NATURAL,
                                  .shard_lines = 100,
                                  .jobs = 2,
                                  .ranks = 1,
                                  .quiet = true};
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        o.categories[i] = i;
    assert_ok(dm_synth_produce(&o, &made, err));
    dm_synth_validate_options v = {
        .path = o.folder, .level = DM_SYNTH_VERIFY_FULL, .jobs = 2, .quiet = true};
    assert_ok(dm_synth_validate(&v, &report, err));
    if (report.problem_count > 0)
        fail_msg("%s", report.problems[0]);
    assert_int_equal(report.verified, 24);
    dm_synth_report_free(&report);
}

DM_TESTS("synth/unit", DM_TEST(launches_are_read), DM_TEST(wrong_launches_are_refused),
         DM_TEST(a_program_is_verified), DM_TEST_IN_DIR(programs_are_produced_and_validated))
