/* SPDX-License-Identifier: MIT */
/* Descriptions: those of the library fit their kernels, and what does not fit is refused. */
#include "tests/synth/natural_tools.h"

#include <string.h>

static void those_of_the_library_fit(void **state)
{
    (void)state;
    tools t;
    int levels[6] = {0};
    set_up(&t);
    for (uint64_t slot = 0; slot < 2400; slot++) {
        dm_error err = {0};
        dm_synth_record *r = &t.record;
        dm_synth_record_clear(r);
        assert_ok(dm_natural_generate(t.natural, 2, slot, 0, (int)(slot % DM_SYNTH_CATEGORY_COUNT),
                                      r, err));
        if (dm_synth_compile(t.compiler, r, DM_SYNTH_TEXT_C, &err) != DM_OK)
            fail_msg("%s\n%s", err.message, dm_buffer_text(&r->specification));
        assert_true(r->line.size > 0 && r->paragraph.size > r->line.size &&
                    r->specification.size > r->paragraph.size);
        assert_true(r->difficulty >= 1 && r->difficulty <= 5 && r->idiom[0] != '\0');
        levels[r->difficulty]++;
    }
    for (int i = 1; i <= 5; i++)
        assert_true(levels[i] > 20);
    tear_down(&t);
}

static const char program[] =
    "import warp as wp\n\n\n@wp.kernel\n"
    "def scale(x: wp.array(dtype=float), at: wp.array(dtype=int), s: float,\n"
    "          y: wp.array(dtype=wp.vec3)):\n"
    "    i = wp.tid()\n"
    "    y[at[i]] = wp.vec3(x[i] / s, wp.sqrt(x[i]), 1.0)\n";

static const char right[] = "Scale.\n\nArguments:\n- `x` (array of float, 1 dimension): input\n"
                            "- `at` (array of int, 1 dimension): where\n- `s` (float): divisor\n\n"
                            "Results:\n- `y` (array of vec3, 1 dimension): output\n";

static dm_status describe(tools *t, const char *paragraph, const char *specification, dm_error *err)
{
    dm_synth_record *r = &t->record;
    dm_synth_record_clear(r);
    strcpy(r->kernel_name, "scale");
    dm_buffer_puts(&r->python_source, program);
    dm_buffer_puts(&r->line, "Scale.");
    dm_buffer_puts(&r->paragraph, paragraph);
    dm_buffer_puts(&r->specification, specification);
    return dm_synth_compile(t->compiler, r, DM_SYNTH_TEXT_C, err);
}

static void preconditions_are_derived(void **state)
{
    (void)state;
    tools t;
    set_up(&t);
    for (int again = 0; again < 2; again++) {
        dm_buffer given = DM_BUFFER_EMPTY; /* with its preconditions the second time */
        dm_buffer_puts(&given, again ? dm_buffer_text(&t.record.specification) : right);
        assert_ok(describe(&t, "Scale. All of `x`.", dm_buffer_text(&given), err));
        const char *text = dm_buffer_text(&t.record.specification);
        assert_non_null(strstr(text, "\nPreconditions:\n- Elements of `x` must not be negative"));
        assert_non_null(strstr(text, "- Elements of `at` must be indices into `y`"));
        assert_non_null(strstr(text, "- `s` must not be zero"));
        assert_true(!again || given.size == t.record.specification.size);
        dm_buffer_deinit(&given);
    }
    tear_down(&t);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"`x` (array of float", "`x` (array of int", "no entry of the next argument"},
        {"`s` (float)", "`t` (float)", "no entry of the next argument"},
        {"- `s` (float): divisor\n", "", "an argument without an entry"},
        {"Results:\n", "", "no argument that is only read"},
        {"- `y` (array of vec3, 1 dimension): output\n", "", "an argument without an entry"},
        {"output\n", "output\n- `z` (float): more\n", "no result of the kernel"},
        {"divisor", "divisor of `w`", "the kernel has no argument 'w'"},
        {"divisor", "divisor ` of", "not closed"}};
    (void)state;
    tools t;
    set_up(&t);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_error err = {0};
        dm_buffer text = DM_BUFFER_EMPTY;
        const char *at = strstr(right, cases[i].from);
        assert_non_null(at);
        dm_buffer_append(&text, right, (size_t)(at - right));
        dm_buffer_puts(&text, cases[i].to);
        dm_buffer_puts(&text, at + strlen(cases[i].from));
        assert_int_equal(describe(&t, "Scale.", dm_buffer_text(&text), &err), DM_ECOMPILE);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("%zu: '%s' does not say '%s'", i, err.message, cases[i].says);
        dm_buffer_deinit(&text);
    }
    dm_error err = {0};
    assert_int_equal(describe(&t, "Other.", right, &err), DM_ECOMPILE);
    assert_non_null(strstr(err.message, "does not begin with the line"));
    tear_down(&t);
}

DM_TESTS("synth/describe", DM_TEST(those_of_the_library_fit), DM_TEST(preconditions_are_derived),
         DM_TEST(what_does_not_fit_is_refused))
