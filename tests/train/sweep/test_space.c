/* SPDX-License-Identifier: MIT */
/* test_space.c - configurations that a sweep's file names: grids, draws, Sobol's points, refusals. */
#include "base/json.h"
#include "tests/support/test.h"
#include "train/sweep/space.h"
#include "train/sweep/spec.h"

#include <math.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t *object = NULL;
    assert_ok(dm_json_parse(text, strlen(text), "spec", &object, err));
    return object;
}

static void a_grid_has_every_combination_once(void **state)
{
    (void)state;
    json_t *spec =
        parse("{\"search\": \"grid\", \"parameters\": {\"a\": [1, 2, 3], \"b\": [\"x\", "
              "\"y\"], \"c\": {\"low\": 0.01, \"high\": 1, \"log\": true, \"points\": 3}}}");
    dm_sweep_space space;
    bool seen[3][2][3] = {{{false}}};
    assert_ok(dm_sweep_space_read(spec, "spec", &space, err));
    assert_int_equal(space.count, 18);
    for (size_t i = 0; i < 18; i++) {
        json_t *one = dm_sweep_space_draw(&space, i);
        json_int_t a = json_integer_value(json_object_get(one, "a")) - 1;
        int b = json_string_value(json_object_get(one, "b"))[0] - 'x';
        double c = log10(json_real_value(json_object_get(one, "c"))) + 2;
        assert_true(fabs(c - round(c)) < 1e-9);
        assert_false(seen[a][b][(int)round(c)]);
        seen[a][b][(int)round(c)] = true;
        json_decref(one);
    }
    json_decref(spec);
}

static void draws_lie_in_their_ranges_and_repeat(void **state)
{
    (void)state;
    static const char *const searches[] = {"random", "sobol"};
    for (int s = 0; s < 2; s++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "{\"search\": \"%s\", \"count\": 400, \"seed\": 3, \"parameters\": {\"rate\": "
            "{\"low\": 1e-4, \"high\": 0.1, \"log\": true}, \"width\": {\"low\": 3, \"high\": 6, "
            "\"integer\": true}, \"batch\": [16, 32]}}",
            searches[s]);
        json_t *spec = parse(text);
        dm_sweep_space space;
        size_t widths[7] = {0}, small = 0;
        assert_ok(dm_sweep_space_read(spec, "spec", &space, err));
        for (size_t i = 0; i < 400; i++) {
            json_t *one = dm_sweep_space_draw(&space, i), *two = dm_sweep_space_draw(&space, i);
            double rate = json_real_value(json_object_get(one, "rate"));
            json_int_t width = json_integer_value(json_object_get(one, "width"));
            assert_true(json_equal(one, two));
            assert_true(rate >= 1e-4 && rate <= 0.1);
            assert_in_range(width, 3, 6);
            widths[width]++;
            small += rate < 3.1623e-3; /* half of them, by the logarithm */
            json_decref(one);
            json_decref(two);
        }
        assert_in_range(small, 170, 230);
        for (int w = 3; w <= 6; w++)
            assert_in_range(widths[w], 70, 130);
        json_decref(spec);
    }
}

/* The first 2^k points have one in each of 2^k equal intervals, in every dimension. */
static void sobol_is_stratified_in_every_dimension(void **state)
{
    (void)state;
    for (size_t dimension = 0; dimension < DM_SWEEP_PARAMETERS_MAX; dimension++) {
        bool seen[256] = {false};
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t cell = dm_sobol(dimension, i) >> 24;
            assert_false(seen[cell]);
            seen[cell] = true;
        }
    }
    /* Two dimensions together: 256 points, one in each of 16 x 16 squares. */
    bool seen[256] = {false};
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t cell = (dm_sobol(0, i) >> 28) * 16 + (dm_sobol(1, i) >> 28);
        assert_false(seen[cell]);
        seen[cell] = true;
    }
}

static void bad_files_are_refused_with_the_reason(void **state)
{
    (void)state;
#define PARAMETERS "\"parameters\": {\"rate\": {\"low\": 0.1, \"high\": 0.2}}"
#define CNN "{\"task\": \"cnn\", \"steps\": 10, "
    static const char *const cases[][2] = {
        {"[]", "not a JSON object"},
        {CNN "\"search\": \"random\", \"count\": 4, " PARAMETERS ", \"metrik\": \"loss\"}",
         "a sweep has no 'metrik'; did you mean metric?"},
        {"{\"steps\": 10, \"search\": \"random\", \"count\": 4, " PARAMETERS "}",
         "a sweep has either a task or a command"},
        {CNN "\"search\": \"best\", \"count\": 4, " PARAMETERS "}",
         "search is grid, random or sobol"},
        {CNN "\"search\": \"random\", " PARAMETERS "}", "count is a whole number of 1 to 4096"},
        {CNN "\"search\": \"grid\", " PARAMETERS "}", "a range of a grid has 1 to 4096 points"},
        {CNN
         "\"search\": \"random\", \"count\": 4, \"parameters\": {\"rate\": {\"low\": 0, \"high\": "
         "1, \"log\": true}}}",
         "low must be above 0"},
        {CNN "\"search\": \"random\", \"count\": 4, \"parameters\": {\"rats\": [0.1]}}",
         "cnn has no field 'rats'; did you mean rate?"},
        {CNN "\"search\": \"random\", \"count\": 4, \"parameters\": {\"batch\": [0]}}",
         "batch is 0; it is a whole number of 1 to 65536"},
        {CNN "\"search\": \"random\", \"count\": 4, \"parameters\": {\"steps\": [5]}}",
         "the sweep itself says steps"},
        {CNN "\"search\": \"random\", \"count\": 4, \"rules\": {\"eta\": 1}, " PARAMETERS "}",
         "eta is not a whole number of 2 to 100"},
        {"{\"command\": [\"train\", \"{rate}\"], \"metric\": \"loss\", \"steps\": 10, \"search\": "
         "\"random\", \"count\": 4, " PARAMETERS "}",
         "the command needs {until}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_sweep_spec spec;
        dm_error err = {0};
        assert_int_not_equal(dm_sweep_spec_read(parse(cases[i][0]), "spec", &spec, &err), DM_OK);
        if (strstr(err.message, cases[i][1]) == NULL)
            fail_msg("'%s', not '%s'", err.message, cases[i][1]);
    }
}

DM_TESTS("train/sweep/space", DM_TEST(a_grid_has_every_combination_once),
         DM_TEST(draws_lie_in_their_ranges_and_repeat),
         DM_TEST(sobol_is_stratified_in_every_dimension),
         DM_TEST(bad_files_are_refused_with_the_reason))
