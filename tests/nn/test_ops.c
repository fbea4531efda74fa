/* SPDX-License-Identifier: MIT */
/* test_ops.c - the plain operations against finite differences, every CPU table against the plain
 * ones. */
#include "tests/nn/op_case.h"

#include "tests/support/test.h"

#include <math.h>

static double loss_with(const op_case *c, dm_nn_exec *exec, uint64_t seed, int array, size_t at,
                        double by)
{
    op_result result = {{NULL}};
    op_run run = {.exec = exec, .seed = seed, .changed = array, .at = at, .by = by};
    op_case_run(c, &run, &result);
    double loss = op_result_loss(c, &result, seed);
    op_result_free(&result);
    return loss;
}

/* The gradient that the backward pass gave for element i of `array`. */
static bool gradient_of(const op_case *c, const op_result *result, const op_result *start,
                        int array, size_t i, double *out)
{
    if (c->in_place && array == 0) {
        *out = result->value[0][i];
        return true;
    }
    for (int k = 0; k < c->count; k++) {
        op_role role = c->arrays[k].role;
        if ((role == ROLE_GRAD || role == ROLE_GRAD_ADD) && c->arrays[k].of == array) {
            *out = result->value[k][i] - (role == ROLE_GRAD_ADD ? start->value[k][i] : 0);
            return true;
        }
    }
    return false;
}

static void check_differences(const op_case *c, uint64_t seed)
{
    dm_nn_exec exec = {.ops = &dm_nn_plain_f64, .type = DM_NN_F64};
    op_result result = {{NULL}}, start = {{NULL}};
    op_run run = {.exec = &exec, .seed = seed, .changed = -1};
    op_case_run(c, &run, &start); /* forward only: gradients still hold what they began with */
    run.backward = true;
    op_case_run(c, &run, &result);
    size_t compared = 0;
    for (int k = 0; k < c->count; k++) {
        size_t count = c->arrays[k].count, step = count / 11 + 1;
        if (c->arrays[k].role != ROLE_INPUT)
            continue;
        for (size_t i = 0; i < count; i += step) {
            double given, by = 1e-5;
            if (!gradient_of(c, &result, &start, k, i, &given))
                continue;
            double up = loss_with(c, &exec, seed, k, i, by);
            double down = loss_with(c, &exec, seed, k, i, -by);
            double want = (up - down) / (2 * by);
            if (!(fabs(given - want) <= 1e-6 + 1e-6 * fabs(want)))
                fail_msg("%s: array %d, element %zu: gradient %.9g, difference %.9g", c->name, k, i,
                         given, want);
            compared++;
        }
    }
    assert_true(compared > 0);
    op_result_free(&result);
    op_result_free(&start);
}

static void gradients_equal_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < op_case_count(); i++)
        if (op_case_get(i)->arrays[0].count < 3000) /* each element costs two runs */
            check_differences(op_case_get(i), 100 + i);
}

static void check_table(const dm_nn_ops *ops)
{
    dm_nn_exec exec = {.ops = ops, .type = DM_NN_F32};
    for (size_t i = 0; i < op_case_count(); i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            op_case_compare(op_case_get(i), &exec, NULL, seed, 3e-6);
}

static void plain_floats_follow_doubles(void **state)
{
    (void)state;
    check_table(&dm_nn_plain_f32);
}

static void vectors_follow_doubles(void **state)
{
    (void)state;
    static const char *const names[] = {"portable", "avx2", "avx512"};
    for (int i = 0; i < 3; i++)
        if (dm_nn_cpu_named(names[i]))
            check_table(dm_nn_cpu_named(names[i]));
}

DM_TESTS("nn/ops", DM_TEST(gradients_equal_finite_differences),
         DM_TEST(plain_floats_follow_doubles), DM_TEST(vectors_follow_doubles));
