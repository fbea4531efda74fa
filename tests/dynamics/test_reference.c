/* SPDX-License-Identifier: MIT */
/* test_reference.c - the plain cell against values worked out by hand, and all gradients against
 * finite differences, in float64. */
#include "tests/dynamics/dynamics_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static dm_dynamics *make(uint32_t hidden, uint32_t input, dm_dynamics_gru_kind kind,
                         bool projection)
{
    dm_dynamics_config config = {2, hidden, 3, input, kind, projection};
    dm_dynamics *model = NULL;
    assert_ok(dm_dynamics_create(&config, 11, &model, err));
    return model;
}

static void set(dm_dynamics *model, dm_dynamics_part part, const float *values)
{
    size_t count;
    float *to = dm_dynamics_weights(model, 0, part, &count);
    assert_non_null(to);
    memcpy(to, values, count * sizeof *to);
}

/* Two units, one input, by hand; the two kinds differ only in n and in what z weighs. */
static void two_units_by_hand(void **state)
{
    (void)state;
    static const float W[6] = {0.5f, -0.25f, 1, 2, -1, 0.75f};
    static const float U[12] = {0.1f, 0.2f, 0.3f,  -0.4f, 0.5f, -0.6f,
                                0.7f, 0.8f, -0.9f, 1,     1.1f, -1.2f};
    static const float b[6] = {0.01f, 0.02f, 0.03f, 0.04f, 0.05f, 0.06f};
    static const float c[2] = {0.3f, -0.2f};
    const float x[1] = {0.5f}, h[2] = {0.25f, -0.75f};
    double z[2], r[2];
    for (int i = 0; i < 2; i++) {
        z[i] = sigmoid((double)W[i] * 0.5 + (double)U[2 * i] * 0.25 - (double)U[2 * i + 1] * 0.75 +
                       (double)b[i]);
        r[i] = sigmoid((double)W[2 + i] * 0.5 + (double)U[4 + 2 * i] * 0.25 -
                       (double)U[5 + 2 * i] * 0.75 + (double)b[2 + i]);
    }
    for (int kind = 0; kind < 2; kind++) {
        dm_dynamics *model = make(2, 1, (dm_dynamics_gru_kind)kind, false);
        double got[2];
        set(model, DM_DYNAMICS_W, W);
        set(model, DM_DYNAMICS_U, U);
        set(model, DM_DYNAMICS_B, b);
        if (kind == DM_DYNAMICS_GRU_RESET_LAST)
            set(model, DM_DYNAMICS_C, c);
        assert_ok(dm_reference_gru(model, 0, 1, x, h, got, err));
        for (int i = 0; i < 2; i++) {
            double a = (double)W[4 + i] * 0.5 + (double)b[4 + i], u0 = (double)U[8 + 2 * i],
                   u1 = (double)U[9 + 2 * i], old = (double)h[i];
            double n = kind == DM_DYNAMICS_GRU_RESET_FIRST
                           ? tanh(a + u0 * r[0] * 0.25 - u1 * r[1] * 0.75)
                           : tanh(a + r[i] * (u0 * 0.25 - u1 * 0.75 + (double)c[i]));
            double want = kind == DM_DYNAMICS_GRU_RESET_FIRST ? (1 - z[i]) * old + z[i] * n
                                                              : (1 - z[i]) * n + z[i] * old;
            assert_true(fabs(got[i] - want) < 1e-14);
        }
        dm_dynamics_destroy(model);
    }
}

/* ---- Gradients ---- */

/* A sequence with all its memory; `weights` is the member's. */
typedef struct problem {
    dm_dynamics *model;
    dyn_member64 m;
    dm_ref64_sequence q;
    double *x, *h0, *memory, *factors; /* factors: of each step's loss in the objective */
} problem;

static void problem_init(problem *p, dm_dynamics_gru_kind kind, bool projection, uint32_t steps,
                         uint32_t forced)
{
    p->model = make(5, 4, kind, projection);
    p->model->shift[0] = 0.3f;
    p->model->scale[0] = 0.7f;
    float *b = dm_dynamics_weights(p->model, 0, DM_DYNAMICS_B, NULL);
    for (int i = 0; i < 15; i++)
        b[i] = 0.05f * (float)(i - 7);
    float *c = dm_dynamics_weights(p->model, 0, DM_DYNAMICS_C, NULL);
    for (int i = 0; c != NULL && i < 5; i++)
        c[i] = 0.1f * (float)(i - 2);
    dyn_member64_init(&p->m, p->model, 0);
    float *x = dyn_random(forced * 4, 1, 1), *h = dyn_random(5, 2, 1), *f = dyn_random(steps, 3, 1);
    p->x = dyn_to_double(x, forced * 4);
    p->h0 = dyn_to_double(h, 5);
    p->factors = dyn_to_double(f, steps);
    free(x);
    free(h);
    free(f);
    size_t Y = steps;
    p->memory = malloc((Y + (Y + 1) * 5 + Y * 4 + Y * 20 + Y * 3) * sizeof(double));
    assert_non_null(p->memory);
    p->q = (dm_ref64_sequence){.steps = steps, .forced = forced, .x = p->x, .h0 = p->h0};
    p->q.loss = p->memory;
    p->q.h = p->q.loss + Y;
    p->q.inputs = p->q.h + (Y + 1) * 5;
    p->q.gates = p->q.inputs + Y * 4;
    p->q.s = p->q.gates + Y * 20;
}

static void problem_deinit(problem *p)
{
    dyn_member64_deinit(&p->m);
    dm_dynamics_destroy(p->model);
    free(p->x);
    free(p->h0);
    free(p->memory);
    free(p->factors);
}

static double objective(problem *p)
{
    double sum = 0;
    dm_ref64_sequence_forward(&p->m.member, &p->q);
    for (uint32_t t = 0; t < p->q.steps; t++)
        sum += p->factors[t] * p->q.loss[t];
    return sum;
}

static void check_by_differences(problem *p, const char *what, double *values, const double *grad,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double kept = values[i], step = 1e-6;
        values[i] = kept + step;
        double above = objective(p);
        values[i] = kept - step;
        double below = objective(p);
        values[i] = kept;
        double want = (above - below) / (2 * step);
        if (fabs(grad[i] - want) > 1e-7 * fmax(1, fabs(want)))
            fail_msg("%s[%zu]: gradient %.12g, by differences %.12g", what, i, grad[i], want);
    }
}

static void check_gradients(dm_dynamics_gru_kind kind, bool projection, uint32_t steps,
                            uint32_t forced)
{
    problem p;
    problem_init(&p, kind, projection, steps, forced);
    size_t total = p.model->layout.total;
    double *grad = calloc(total, sizeof *grad), dh0[5], *dx = malloc(forced * 4 * sizeof *dx);
    double scratch[8 * 5 + 4 + 3];
    assert_true(grad != NULL && dx != NULL);
    objective(&p);
    dm_ref64_sequence_backward(&p.m.member, &p.q, p.factors, grad, dh0, dx, scratch);
    check_by_differences(&p, "weights", p.m.weights, grad, total);
    check_by_differences(&p, "h0", p.h0, dh0, 5);
    check_by_differences(&p, "x", p.x, dx, (size_t)forced * 4);
    free(grad);
    free(dx);
    problem_deinit(&p);
}

static void gradients_by_finite_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int projection = 0; projection < 2; projection++) {
            check_gradients((dm_dynamics_gru_kind)kind, projection != 0, 1,
                            1); /* one step of the cell */
            check_gradients((dm_dynamics_gru_kind)kind, projection != 0, 6,
                            6); /* all inputs given */
            check_gradients((dm_dynamics_gru_kind)kind, projection != 0, 6, 1); /* a rollout */
            check_gradients((dm_dynamics_gru_kind)kind, projection != 0, 7,
                            3); /* first one, then the other */
        }
    }
}

/* Outside +-10 the head is flat. */
static void no_gradient_through_the_clamp(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, DM_DYNAMICS_GRU_RESET_FIRST, false, 3, 1);
    double *head = p.m.weights + p.model->layout.offset[DM_DYNAMICS_HEAD];
    for (int i = 0; i < 5; i++)
        head[i] = 0;
    for (int i = 5; i < 8; i++)
        head[i] = 30; /* the stochastic state sums to 1 */
    double *grad = calloc(p.model->layout.total, sizeof *grad), scratch[8 * 5 + 4 + 3];
    assert_non_null(grad);
    objective(&p);
    assert_true(fabs(p.q.loss[0] - exp(10)) < 1e-9);
    dm_ref64_sequence_backward(&p.m.member, &p.q, p.factors, grad, NULL, NULL, scratch);
    for (size_t i = 0; i < p.model->layout.total; i++)
        assert_true(grad[i] == 0);
    free(grad);
    problem_deinit(&p);
}

DM_TESTS("dynamics/reference", DM_TEST(two_units_by_hand), DM_TEST(gradients_by_finite_differences),
         DM_TEST(no_gradient_through_the_clamp))
