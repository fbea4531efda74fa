/* SPDX-License-Identifier: MIT */
/* curve_case.c - see curve_case.h. */
#include "tests/dynamics/curve_case.h"
#include "dynamics/curve/family.h"
#include "tests/support/test.h"

#include <stdlib.h>

const dm_curve_learning curve_small = {.members = 3,
                                       .hidden = 16,
                                       .stochastic = 4,
                                       .seed = 5,
                                       .recorded = 2,
                                       .updates = 1500,
                                       .rate = 2e-3f,
                                       .device = "cpu:1"};

dm_curve *curve_make(uint64_t seed, size_t count)
{
    dm_curve *curves = calloc(count, sizeof *curves);
    for (size_t i = 0; i < count; i++)
        assert_ok(dm_family_draw(i % 4, seed, i / 4, &curves[i], err));
    return curves;
}

void curve_free(dm_curve *curves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dm_curve_deinit(&curves[i]);
    free(curves);
}

void curve_check_batches(const char *device)
{
    dm_curve *curves = curve_make(2, CURVE_COUNT);
    dm_curve_learning how = curve_small;
    dm_curve_learnt learnt;
    dm_dynamics *model = NULL;
    how.device = device;
    how.batches = true;
    how.members = 2;
    how.updates = 3200;
    assert_ok(dm_curve_learn(curves, CURVE_COUNT, &how, &model, &learnt, err));
    assert_true(dm_dynamics_forecasts_curves(model));
    assert_true(learnt.error < learnt.combination_error);
    dm_dynamics_destroy(model);
    curve_free(curves, CURVE_COUNT);
}
