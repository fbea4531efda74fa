/* SPDX-License-Identifier: MIT */
/* test_curve.c - curves: how they are read, plain forecasts, synthetic families, and a run's view of
 * itself. */
#include "base/file.h"
#include "dynamics/curve/baseline.h"
#include "dynamics/curve/family.h"
#include "dynamics/curve/view.h"
#include "tests/support/random.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <string.h>

static void write_text(const char *path, const char *text)
{
    assert_ok(dm_file_write(path, text, strlen(text), err));
}

static void three_forms_are_read(void **state)
{
    const char *path = dm_test_path(state, "curve");
    static const char *const texts[] = {
        "{\"step\": 10, \"loss\": 2.5, \"norm\": 0.5, \"rate\": 0.01}\n"
        "{\"step\": 10, \"accuracy\": 0.5}\n\n"
        "{\"step\": 20, \"loss\": 1.5, \"norm\": 0.25, \"rate\": 0.02}\n{\"step\": 30, \"lo",
        "step, \"loss\" ,extra,norm,rate\r\n10,2.5,x,0.5,0.01\r\n20,1.5,,0.25,0.02\r\n",
    };
    for (size_t i = 0; i < 2; i++) {
        dm_curve c;
        write_text(path, texts[i]);
        assert_ok(dm_curve_read(path, 2, &c, err));
        assert_int_equal(c.count, 2);
        assert_int_equal(c.samples[1].step, 20);
        assert_true(c.samples[0].loss == 2.5f && c.samples[1].gradient_norm == 0.25f &&
                    c.samples[1].learning_rate == 0.02f);
        dm_curve_deinit(&c);
    }
    dm_curve c;
    write_text(path, "1.5\n\nnan\n 1.25 \n0\n-1\n1e38\n");
    assert_ok(dm_curve_read(path, 2, &c, err));
    assert_int_equal(c.count, 2);
    assert_int_equal(c.skipped, 4);
    assert_int_equal(c.samples[1].step, 3); /* lines that hold something are steps */
    assert_string_equal(c.name, "curve");
    dm_curve_deinit(&c);
}

static void bad_files_get_their_line(void **state)
{
    const char *path = dm_test_path(state, "bad");
    static const struct {
        const char *text, *says;
        int line;
    } cases[] = {
        {"", "0 of 0 losses", 0},
        {"1\n", "1 of 1 losses", 0},
        {"nan\ninf\n0\n", "0 of 3 losses", 0},
        {"1\n2\nthree\n", "one number", 3},
        {"1\n2 3\n", "one number", 2},
        {"a,b\n1,2\n", "no column 'loss'", 1},
        {"step,loss\n1,2\n2\n", "not 2 columns", 3},
        {"step,loss\n1,2\n2,3,4\n", "not 2 columns", 3},
        {"step,loss\n1,2\n2,x\n", "column 'loss'", 3},
        {"step,loss\n5,2\n5,1\n", "steps must increase", 3},
        {"step,loss\n5,nan\n4,1\n", "steps must increase", 3},
        {"step,loss\n1.5,2\n", "a step of 1.5", 2},
        {"step,loss\n-1,2\n", "a step of -1", 2},
        {"{\"step\": 1, \"loss\": 1}\nx\n{\"step\": 2, \"loss\": 1}\n", "not a JSON object", 2},
        {"{\"step\": 1, \"loss\": 1}\n[2]\n3\n", "not a JSON object", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_curve c;
        dm_error error = {0};
        write_text(path, cases[i].text);
        assert_int_equal(dm_curve_read(path, 2, &c, &error), DM_EFORMAT);
        assert_non_null(strstr(error.message, cases[i].says));
        assert_int_equal(error.line, cases[i].line);
        assert_null(c.samples);
    }
}

/* A power law is found again, also with outliers, and goes on as it does. */
static void power_laws_are_found(void **state)
{
    (void)state;
    static const double laws[][4] = {
        {3, 0.5, 0.5, 10}, {2, 1, 0.1, 1}, {1, 0.3, 0, 40}, {0, 1, 0.7, 1}};
    double y[300];
    for (size_t k = 0; k < 4; k++)
        for (int outliers = 0; outliers < 2; outliers++) {
            for (size_t i = 0; i < 300; i++)
                y[i] = log(laws[k][0] * pow((double)i + 1 + laws[k][3], -laws[k][1]) + laws[k][2]) +
                       (outliers && i % 37 == 5 ? 1.5 : 0);
            dm_power_law law = dm_power_law_fit(y, 0, 250);
            double truth = log(laws[k][0] * pow(300 + laws[k][3], -laws[k][1]) + laws[k][2]);
            assert_true(fabs(dm_power_law_at(&law, 300) - truth) < (outliers ? 0.06 : 0.01));
        }
}

static void lines_are_exact(void **state)
{
    (void)state;
    double y[80];
    for (int i = 0; i < 80; i++)
        y[i] = i < 20 ? 7 : 2 - 0.01 * i;
    dm_baselines b;
    dm_baselines_fit(&b, y, 80);
    assert_true(fabs(dm_baseline_at(&b, DM_BASELINE_LINEAR, 25) - (2 - 0.01 * 104)) < 1e-9);
    assert_true(dm_baseline_at(&b, DM_BASELINE_LAST, 25) == y[79]);
    assert_true(fabs(dm_baseline_at(&b, DM_BASELINE_MEAN, 25) - (2 - 0.01 * 71.5)) < 1e-9);
    assert_true(fabs(b.line.deviation) < 1e-9);
}

/* Whatever a run does, within the bounds of a curve's losses, is finite. */
static void hostile_runs_stay_finite(void **state)
{
    (void)state;
    dm_view_rules rules = dm_view_rules_default();
    for (uint64_t kind = 0; kind < 6; kind++)
        for (size_t n = 1; n < 140; n = n < 8 ? n + 1 : n * 2) {
            dm_curve c = {0};
            dm_history h;
            for (size_t i = 0; i < n; i++) {
                double unit = (double)dm_random_unit(dm_random4(kind, 1, i).v[0]);
                double loss = kind == 0   ? 1
                              : kind == 1 ? (i % 2 == 0 ? 1e30 : 1e-30)
                              : kind == 2 ? exp(138 * (unit - 0.5))
                              : kind == 3 ? (i < n / 2 ? 1e-30 : 1e30)
                              : kind == 4 ? 1e-30
                                          : exp((double)i);
                dm_dynamics_sample s = {.step = i + 1, .loss = (float)fmin(loss, 1e30)};
                s.gradient_norm = i % 3 == 0 ? INFINITY : 1e30f;
                s.learning_rate = i % 5 == 0 ? NAN : i % 2 == 0 ? -1e30f : 1e-30f;
                assert_ok(dm_curve_append(&c, &s, err));
            }
            assert_int_equal(c.count, n);
            assert_ok(dm_history_init(&h, &c, n, SIZE_MAX, err));
            dm_history_combine(&h, &rules);
            for (size_t i = 0; i < h.count; i++) {
                double sum = 0;
                for (size_t f = 0; f < DM_VIEW_FEATURES; f++)
                    assert_true(isfinite(h.views[i].features[f]));
                for (size_t k = 0; k < DM_BASELINE_COUNT; k++)
                    sum += h.views[i].share[k];
                assert_true(fabs(sum - 1) < 1e-9);
                assert_true(isfinite(dm_view_mean_at(&h.views[i], 1000)));
                assert_true(h.views[i].unit > 0 && isfinite(h.views[i].unit));
            }
            dm_history_deinit(&h);
            dm_curve_deinit(&c);
        }
}

/* Nothing after an origin changes what it sees. */
static void views_do_not_see_the_future(void **state)
{
    (void)state;
    dm_view_rules rules = dm_view_rules_default();
    dm_curve c;
    dm_history before, after;
    assert_ok(dm_family_draw(0, 3, 0, &c, err));
    assert_ok(dm_history_init(&before, &c, 100, 40, err));
    dm_history_combine(&before, &rules);
    for (size_t i = 100; i < c.count; i++)
        c.samples[i].loss = 7;
    assert_ok(dm_history_init(&after, &c, 100, 40, err));
    dm_history_combine(&after, &rules);
    assert_int_equal(before.count, after.count);
    for (size_t i = 0; i < before.count; i++)
        assert_memory_equal(&before.views[i], &after.views[i], sizeof before.views[i]);
    double truth;
    assert_true(dm_history_truth(&after, after.count - 1, 2, &truth));
    assert_true(fabs(truth - log(7)) < 1e-6);
    dm_history_deinit(&before);
    dm_history_deinit(&after);
    dm_curve_deinit(&c);
}

/* The better a baseline did on this run, the more it counts. */
static void track_records_decide(void **state)
{
    (void)state;
    dm_view_rules rules = dm_view_rules_default();
    dm_curve c = {0};
    dm_history h;
    for (size_t i = 0; i < 200; i++) { /* a straight line in the logarithm */
        dm_dynamics_sample s = {.step = i + 1, .loss = (float)exp(2 - 0.02 * (double)i)};
        assert_ok(dm_curve_append(&c, &s, err));
    }
    assert_ok(dm_history_init(&h, &c, 200, SIZE_MAX, err));
    dm_history_combine(&h, &rules);
    const dm_view *v = &h.views[h.count - 1];
    for (size_t k = 0; k < DM_BASELINE_COUNT; k++)
        assert_true(k == DM_BASELINE_LINEAR || v->share[k] < v->share[DM_BASELINE_LINEAR]);
    assert_true(v->share[DM_BASELINE_LINEAR] > 5 * v->share[DM_BASELINE_MEAN]);
    dm_history_deinit(&h);
    dm_curve_deinit(&c);
}

static void families_are_usable_and_repeat(void **state)
{
    (void)state;
    for (size_t f = 0; f < DM_FAMILY_COUNT; f++) {
        assert_int_equal(dm_family_find(dm_family_name(f)), f);
        for (uint64_t i = 0; i < 20; i++) {
            dm_curve a, b;
            assert_ok(dm_family_draw(f, 9, i, &a, err));
            assert_ok(dm_family_draw(f, 9, i, &b, err));
            assert_true(a.count >= 160 && a.skipped == 0 && a.count == b.count);
            assert_memory_equal(a.samples, b.samples, a.count * sizeof *a.samples);
            dm_curve_deinit(&b);
            assert_ok(dm_family_draw(f, 10, i, &b, err));
            assert_true(a.samples[50].loss != b.samples[50].loss);
            dm_curve_deinit(&a);
            dm_curve_deinit(&b);
        }
    }
    assert_int_equal(dm_family_find("nothing"), -1);
    assert_null(dm_family_name(DM_FAMILY_COUNT));
}

DM_TESTS("dynamics/curve", DM_TEST_IN_DIR(three_forms_are_read),
         DM_TEST_IN_DIR(bad_files_get_their_line), DM_TEST(power_laws_are_found),
         DM_TEST(lines_are_exact), DM_TEST(hostile_runs_stay_finite),
         DM_TEST(views_do_not_see_the_future), DM_TEST(track_records_decide),
         DM_TEST(families_are_usable_and_repeat))
