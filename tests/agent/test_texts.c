/* SPDX-License-Identifier: MIT */
/* test_texts.c - the texts of kernels/agent on the CPU: against the plain loops of plain.h,
 * gradients against finite differences, and PPO's loss against PyTorch's figures. */
#include "base/file.h"
#include "base/philox.h"
#include "nn/ops.h"
#include "tests/agent/plain.h"
#include "tests/support/test.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Running a text: on the CPU device memory is the host's ---- */

typedef struct text {
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
} text;

static text text_open(const char *path, const char *name)
{
    char full[DM_PATH_MAX], *source = NULL;
    size_t size = 0;
    dm_kernel_file *file = NULL;
    text t = {0};
    assert_ok(dm_device_open("cpu:1", &t.device, err));
    assert_ok(dm_path_join(full, dm_test_source_root(), path, err));
    assert_ok(dm_file_read(full, 0, &source, &size, err));
    assert_ok(dm_kernel_file_create(path, source, size, NULL, &file, err));
    dm_kernel *kernel = dm_kernel_file_find(file, name);
    assert_non_null(kernel);
    assert_ok(dm_kernel_compile(kernel, err));
    assert_ok(dm_kernel_program_create(kernel, t.device, &t.program, err));
    assert_ok(dm_kernel_args_create(kernel, &t.args, err));
    dm_kernel_file_destroy(file);
    free(source);
    return t;
}

static void text_close(text *t)
{
    dm_kernel_args_destroy(t->args);
    dm_kernel_program_destroy(t->program);
    dm_device_close(t->device);
}

static void array(text *t, const char *name, void *data, void *grad, int64_t rows, int64_t columns,
                  int64_t depth)
{
    dm_kernel_array a = {.data = data, .grad = grad, .shape = {rows, columns, depth}};
    assert_ok(dm_kernel_args_array(t->args, name, &a, err));
}

static void number(text *t, const char *name, double value)
{
    assert_ok(dm_kernel_args_number(t->args, name, value, err));
}

static void launch(text *t, dm_kernel_pass pass, int rows, int columns)
{
    assert_ok(dm_kernel_launch(t->program, dm_device_stream(t->device), pass,
                               (int[]){rows, columns}, columns > 0 ? 2 : 1, t->args, err));
}

static double unit(uint64_t stream, uint64_t i)
{
    return (double)dm_random_unit(dm_random4(11, stream, i).v[0]);
}

/* ---- Advantages ---- */

enum { T = 23, N = 57 };

static void advantages_case(bool vtrace)
{
    float rewards[T * N], values[(T + 1) * N], ratios[T * N], advantages[T * N], returns[T * N];
    double rewards64[T * N], values64[(T + 1) * N], ratios64[T * N], want[2][T * N];
    uint8_t flags[T * N];
    for (size_t i = 0; i < (T + 1) * N; i++)
        values64[i] = values[i] = (float)(4 * unit(1, i) - 2);
    for (size_t i = 0; i < T * N; i++) {
        rewards64[i] = rewards[i] = (float)(2 * unit(2, i) - 1);
        ratios64[i] = ratios[i] = (float)(2 * unit(3, i));
        double end = unit(4, i);
        flags[i] = i >= N && (flags[i - N] & 3) ? DM_AGENT_BEGINS
                   : end < 0.08                 ? DM_AGENT_TERMINATED
                   : end < 0.16                 ? DM_AGENT_TRUNCATED
                                                : 0;
    }
    dm_agent_plain_rollout plain = {.T = T,
                                    .N = N,
                                    .rewards = rewards64,
                                    .values = values64,
                                    .flags = flags,
                                    .ratios = vtrace ? ratios64 : NULL,
                                    .gamma = 0.97,
                                    .decay = 0.9,
                                    .ratio_max = 1.2,
                                    .trace_max = 1};
    dm_agent_plain_advantages(&plain, want[0], want[1]);

    text t = text_open("kernels/agent/advantages.py", vtrace ? "vtrace" : "gae");
    array(&t, "rewards", rewards, NULL, T, N, 0);
    array(&t, "values", values, NULL, T + 1, N, 0);
    array(&t, "flags", flags, NULL, T, N, 0);
    array(&t, "advantages", advantages, NULL, T, N, 0);
    array(&t, "returns", returns, NULL, T, N, 0);
    number(&t, "gamma", plain.gamma);
    number(&t, "decay", plain.decay);
    if (vtrace) {
        array(&t, "ratios", ratios, NULL, T, N, 0);
        number(&t, "ratio_max", plain.ratio_max);
        number(&t, "trace_max", plain.trace_max);
    }
    launch(&t, DM_KERNEL_FORWARD, N, 0);
    text_close(&t);
    for (size_t i = 0; i < T * N; i++)
        if (!(fabs(advantages[i] - want[0][i]) < 1e-5) || !(fabs(returns[i] - want[1][i]) < 1e-5))
            fail_msg("step %zu of machine %zu: advantage %g, not %g; return %g, not %g", i / N,
                     i % N, (double)advantages[i], want[0][i], (double)returns[i], want[1][i]);
}

static void gae_equals_its_sum(void **state)
{
    (void)state;
    advantages_case(false);
}

static void vtrace_equals_its_sum(void **state)
{
    (void)state;
    advantages_case(true);
}

/* ---- PPO ---- */

enum { ROWS = 6, ACTIONS = 4, PARTS = 5 };

/* Loss, gradient of the value, gradients of the logits: printed by tests/agent/ppo_peer.py. */
static const double from_pytorch[ROWS][2 + ACTIONS] = {
    {-0.950762649, -0.400170840, -0.767359882, 0.653622811, 0.067657664, 0.046079406},
    {0.664401704, 1.028604110, 0.026040030, 0.016816933, -0.002835022, -0.040021941},
    {1.160712659, 0.135110887, 0.016592871, -0.006427058, -0.003888872, -0.006276941},
    {0.672633609, -1.063420698, 0.059035777, -0.084687157, -0.001112124, 0.026763503},
    {-1.414896011, 0.000000000, -0.864752092, 0.050084463, 0.080651008, 0.734016622},
    {2.366282389, 1.027622308, -0.348111500, -0.056635727, -0.240573330, 0.645320557},
};

typedef struct samples {
    float logits[ROWS * ACTIONS], values[ROWS], chances[ROWS], advantages[ROWS], returns[ROWS];
    float old[ROWS], weights[ROWS], losses[ROWS], parts[ROWS * PARTS];
    float dlogits[ROWS * ACTIONS], dvalues[ROWS], dlosses[ROWS];
    int32_t actions[ROWS];
} samples;

static const double clip = 0.2, value_clip = 0.3, value_scale = 0.7, entropy_scale = 0.05;

static double wave(int i)
{
    return sin(1.7 * i + 0.3) * 1.5;
}

static void samples_make(samples *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < ROWS * ACTIONS; i++)
        s->logits[i] = (float)wave(i);
    for (int n = 0; n < ROWS; n++) {
        s->values[n] = (float)wave(100 + n);
        s->actions[n] = n * 3 % ACTIONS;
        s->chances[n] = (float)(-1.4 + 0.3 * wave(200 + n));
        s->advantages[n] = (float)wave(300 + n);
        s->returns[n] = (float)wave(400 + n);
        s->old[n] = (float)(wave(100 + n) + 0.4 * wave(500 + n));
        s->weights[n] = 1;
        s->dlosses[n] = 1;
    }
}

static void samples_run(samples *s)
{
    text t = text_open("kernels/agent/ppo.py", "ppo");
    array(&t, "logits", s->logits, s->dlogits, ROWS, ACTIONS, 0);
    array(&t, "values", s->values, s->dvalues, ROWS, 0, 0);
    array(&t, "actions", s->actions, NULL, ROWS, 0, 0);
    array(&t, "chances", s->chances, NULL, ROWS, 0, 0);
    array(&t, "advantages", s->advantages, NULL, ROWS, 0, 0);
    array(&t, "returns", s->returns, NULL, ROWS, 0, 0);
    array(&t, "old_values", s->old, NULL, ROWS, 0, 0);
    array(&t, "weights", s->weights, NULL, ROWS, 0, 0);
    array(&t, "losses", s->losses, s->dlosses, ROWS, 0, 0);
    array(&t, "parts", s->parts, NULL, ROWS, PARTS, 0);
    number(&t, "clip", clip);
    number(&t, "value_clip", value_clip);
    number(&t, "value_scale", value_scale);
    float schedule[] = {(float)entropy_scale};
    array(&t, "schedule", schedule, NULL, 1, 0, 0);
    launch(&t, DM_KERNEL_FORWARD, ROWS, 0);
    launch(&t, DM_KERNEL_BACKWARD, ROWS, 0);
    text_close(&t);
}

static dm_agent_plain_sample plain_of(const samples *s, int n, double *logits)
{
    for (int a = 0; a < ACTIONS; a++)
        logits[a] = s->logits[n * ACTIONS + a];
    return (dm_agent_plain_sample){.logits = logits,
                                   .actions = ACTIONS,
                                   .action = (size_t)s->actions[n],
                                   .value = s->values[n],
                                   .chance = s->chances[n],
                                   .advantage = s->advantages[n],
                                   .target = s->returns[n],
                                   .old_value = s->old[n],
                                   .clip = clip,
                                   .value_clip = value_clip,
                                   .value_scale = value_scale,
                                   .entropy_scale = entropy_scale};
}

static void expect(const char *what, int n, double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%s of sample %d: %.9g, not %.9g", what, n, got, want);
}

static void ppo_equals_plain_and_pytorch(void **state)
{
    (void)state;
    samples s;
    samples_make(&s);
    samples_run(&s);
    for (int n = 0; n < ROWS; n++) {
        double logits[ACTIONS], parts[PARTS], dlogits[ACTIONS], dvalue;
        dm_agent_plain_sample plain = plain_of(&s, n, logits);
        double loss = dm_agent_plain_ppo(&plain, parts, dlogits, &dvalue);
        expect("plain loss", n, loss, from_pytorch[n][0], 1e-6);
        expect("plain gradient of the value", n, dvalue, from_pytorch[n][1], 1e-6);
        expect("loss", n, (double)s.losses[n], from_pytorch[n][0], 1e-5);
        expect("gradient of the value", n, (double)s.dvalues[n], from_pytorch[n][1], 1e-5);
        for (int a = 0; a < ACTIONS; a++) {
            expect("plain gradient of a logit", n, dlogits[a], from_pytorch[n][2 + a], 1e-6);
            expect("gradient of a logit", n, (double)s.dlogits[n * ACTIONS + a],
                   from_pytorch[n][2 + a], 1e-5);
        }
        for (int k = 0; k < PARTS; k++)
            expect("part", n, (double)s.parts[n * PARTS + k], parts[k], 1e-5);
    }
}

/* Central differences of the plain loss, away from its corners. */
static void gradients_equal_finite_differences(void **state)
{
    (void)state;
    samples s;
    samples_make(&s);
    samples_run(&s);
    const double h = 1e-5;
    for (int n = 0; n < ROWS; n++) {
        double logits[ACTIONS], parts[PARTS], dlogits[ACTIONS], dvalue, sides[2];
        dm_agent_plain_sample plain = plain_of(&s, n, logits);
        for (int a = 0; a < ACTIONS; a++) {
            double was = logits[a];
            for (int k = 0; k < 2; k++) {
                logits[a] = was + (k ? h : -h);
                sides[k] = dm_agent_plain_ppo(&plain, parts, dlogits, &dvalue);
            }
            logits[a] = was;
            expect("slope in a logit", n, (double)s.dlogits[n * ACTIONS + a],
                   (sides[1] - sides[0]) / (2 * h), 1e-4);
        }
        double was = plain.value;
        for (int k = 0; k < 2; k++) {
            plain.value = was + (k ? h : -h);
            sides[k] = dm_agent_plain_ppo(&plain, parts, dlogits, &dvalue);
        }
        expect("slope in the value", n, (double)s.dvalues[n], (sides[1] - sides[0]) / (2 * h),
               1e-4);
    }
}

static void a_sample_without_weight_teaches_nothing(void **state)
{
    (void)state;
    samples s;
    samples_make(&s);
    s.weights[2] = 0;
    samples_run(&s);
    assert_true(s.losses[2] == 0 && s.dvalues[2] == 0 && s.losses[1] != 0 && s.dvalues[1] != 0);
    for (int a = 0; a < ACTIONS; a++)
        assert_true(s.dlogits[2 * ACTIONS + a] == 0 && s.dlogits[ACTIONS + a] != 0);
}

/* ---- The CPU's own slopes ---- */

enum { SLOPES = 37, PITCH = 8, VALUE_PITCH = 4 };

static void check_table(const char *name, double with_value_clip)
{
    const dm_nn_ops *ops = dm_nn_cpu_named(name);
    static float logits[SLOPES * PITCH], values[SLOPES * VALUE_PITCH], chances[SLOPES],
        advantages[SLOPES], returns[SLOPES], old[SLOPES], weights[SLOPES], dlogits[SLOPES * PITCH],
        dvalues[SLOPES * VALUE_PITCH], parts[SLOPES * PARTS];
    static int32_t taken[SLOPES];
    for (size_t n = 0; n < SLOPES; n++) {
        float u[12];
        for (size_t i = 0; i < 12; i++)
            u[i] = 2 * dm_random_unit(dm_random4(8, n, i).v[0]) - 1;
        for (size_t a = 0; a < ACTIONS; a++)
            logits[n * PITCH + a] = 3 * u[a];
        values[n * VALUE_PITCH] = u[6], chances[n] = -1.5f + u[7], advantages[n] = 2 * u[8];
        returns[n] = u[9], old[n] = u[6] + 0.5f * u[10], weights[n] = n % 7 == 3 ? 0 : 1;
        taken[n] = (int32_t)(n % ACTIONS);
    }
    const dm_nn_ppo ppo = {.count = SLOPES,
                           .logits_pitch = PITCH,
                           .values_pitch = VALUE_PITCH,
                           .actions = ACTIONS,
                           .clip = (float)clip,
                           .value_clip = (float)with_value_clip,
                           .value_scale = (float)value_scale,
                           .entropy_scale = (float)entropy_scale,
                           .logits = logits,
                           .values = values,
                           .taken = taken,
                           .chances = chances,
                           .advantages = advantages,
                           .returns = returns,
                           .old_values = old,
                           .weights = weights,
                           .dlogits = dlogits,
                           .dvalues = dvalues,
                           .parts = parts};
    memset(dlogits, 0, sizeof dlogits);
    assert_ok(ops->ppo(&ppo, err));
    for (int n = 0; n < SLOPES; n++) {
        double row[ACTIONS], plain_parts[PARTS], plain_dlogits[ACTIONS], dvalue, w = weights[n];
        for (int a = 0; a < ACTIONS; a++)
            row[a] = logits[n * PITCH + a];
        const dm_agent_plain_sample plain = {.logits = row,
                                             .actions = ACTIONS,
                                             .action = (size_t)taken[n],
                                             .value = values[n * VALUE_PITCH],
                                             .chance = chances[n],
                                             .advantage = advantages[n],
                                             .target = returns[n],
                                             .old_value = old[n],
                                             .clip = clip,
                                             .value_clip = with_value_clip,
                                             .value_scale = value_scale,
                                             .entropy_scale = entropy_scale};
        (void)dm_agent_plain_ppo(&plain, plain_parts, plain_dlogits, &dvalue);
        expect("slope in the value", n, (double)dvalues[n * VALUE_PITCH], w * dvalue, 1e-5);
        for (int a = 0; a < ACTIONS; a++)
            expect("slope in a logit", n, (double)dlogits[n * PITCH + a], w * plain_dlogits[a],
                   1e-5);
        for (int a = ACTIONS; a < PITCH; a++)
            assert_true(dlogits[n * PITCH + a] == 0);
        for (int k = 0; k < PARTS; k++)
            expect("part", n, (double)parts[n * PARTS + k], w * plain_parts[k], 1e-5);
    }
}

static void slopes_of_each_table_equal_plain(void **state)
{
    (void)state;
    static const char *const names[] = {"portable", "avx2", "avx512"};
    int tables = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (dm_nn_cpu_named(names[i]) == NULL)
            continue;
        check_table(names[i], 0);
        check_table(names[i], value_clip);
        tables++;
    }
    assert_true(tables > 0);
}

/* ---- Sampling ---- */

static void samples_follow_their_chances(void **state)
{
    (void)state;
    enum { DRAWS = 40000 };
    static const float row[3] = {0.5f, -1, 1.25f};
    float *logits = calloc(DRAWS * 3, sizeof *logits), *chances = calloc(DRAWS, sizeof *chances);
    int32_t *actions = calloc(DRAWS, sizeof *actions), *again = calloc(DRAWS, sizeof *again);
    float *values = calloc(DRAWS, sizeof *values);
    assert_true(logits && chances && actions && again && values);
    for (size_t i = 0; i < DRAWS; i++)
        memcpy(logits + 3 * i, row, sizeof row);
    text t = text_open("kernels/agent/ppo.py", "sample");
    array(&t, "logits", logits, NULL, DRAWS, 3, 0);
    array(&t, "chances", chances, NULL, DRAWS, 0, 0);
    array(&t, "values", logits, NULL, DRAWS, 0, 0);
    array(&t, "forced", actions, NULL, DRAWS, 0, 0);
    number(&t, "has_forced", 0);
    array(&t, "to_values", values, NULL, DRAWS, 0, 0);
    array(&t, "actions", again, NULL, DRAWS, 0, 0);
    int32_t seeds[] = {3, 7};
    array(&t, "seeds", seeds, NULL, 2, 0, 0);
    number(&t, "step", 1);
    number(&t, "first", 0);
    launch(&t, DM_KERNEL_FORWARD, DRAWS, 0);
    array(&t, "actions", actions, NULL, DRAWS, 0, 0);
    launch(&t, DM_KERNEL_FORWARD, DRAWS, 0);
    assert_memory_equal(actions, again, DRAWS * sizeof *actions); /* the same seed: the same */
    number(&t, "first", 5); /* machines 5 .. draw what they drew before */
    launch(&t, DM_KERNEL_FORWARD, DRAWS - 5, 0);
    assert_memory_equal(actions, again + 5, (DRAWS - 5) * sizeof *actions);
    double total = 0, counts[3] = {0};
    for (int a = 0; a < 3; a++)
        total += exp((double)row[a]);
    for (size_t i = 0; i < DRAWS - 5; i++) {
        assert_in_range(actions[i], 0, 2);
        counts[actions[i]]++;
        expect("chance", (int)i, (double)chances[i], (double)row[actions[i]] - log(total), 1e-5);
    }
    for (int a = 0; a < 3; a++) { /* five standard deviations */
        double p = exp((double)row[a]) / total, n = DRAWS - 5;
        expect("frequency", a, counts[a] / n, p, 5 * sqrt(p * (1 - p) / n));
    }
    text_close(&t);
    free(logits);
    free(chances);
    free(actions);
    free(again);
    free(values);
}

/* ---- Means and variances ---- */

static void moments_equal_plain_sums(void **state)
{
    (void)state;
    enum { COUNT = 1000, COLUMNS = 3, PART = 77, MANY = (COUNT + PART - 1) / PART };
    float x[COUNT * COLUMNS], y[COUNT * COLUMNS], weights[COUNT], sums[MANY * COLUMNS * 3];
    float moments[COLUMNS * 3] = {0};
    for (size_t i = 0; i < COUNT * COLUMNS; i++)
        x[i] = (float)(100 + (double)(i % COLUMNS) + 3 * unit(8, i));
    for (size_t i = 0; i < COUNT; i++)
        weights[i] = i % 7 != 3;
    text part = text_open("kernels/agent/normalise.py", "part_sums");
    array(&part, "x", x, NULL, COUNT, COLUMNS, 0);
    array(&part, "weights", weights, NULL, COUNT, 0, 0);
    array(&part, "sums", sums, NULL, MANY, COLUMNS, 3);
    number(&part, "rows", PART);
    launch(&part, DM_KERNEL_FORWARD, MANY, COLUMNS);
    text_close(&part);
    text add = text_open("kernels/agent/normalise.py", "add_parts");
    array(&add, "sums", sums, NULL, MANY, COLUMNS, 3);
    array(&add, "state", moments, NULL, COLUMNS, 3, 0);
    launch(&add, DM_KERNEL_FORWARD, COLUMNS, 0);
    text_close(&add);
    text standard = text_open("kernels/agent/normalise.py", "standardise");
    array(&standard, "x", x, NULL, COUNT, COLUMNS, 0);
    array(&standard, "state", moments, NULL, COLUMNS, 3, 0);
    array(&standard, "y", y, NULL, COUNT, COLUMNS, 0);
    number(&standard, "limit", 1.5);
    launch(&standard, DM_KERNEL_FORWARD, COUNT, COLUMNS);
    text_close(&standard);
    for (size_t c = 0; c < COLUMNS; c++) {
        double count = 0, sum = 0, squares = 0;
        for (size_t i = 0; i < COUNT; i++)
            if (weights[i] > 0)
                count++, sum += (double)x[i * COLUMNS + c];
        for (size_t i = 0; i < COUNT; i++)
            if (weights[i] > 0)
                squares += pow((double)x[i * COLUMNS + c] - sum / count, 2);
        expect("count", (int)c, (double)moments[c * 3], count, 0);
        expect("mean", (int)c, (double)moments[c * 3 + 1], sum / count, 1e-4);
        expect("squares", (int)c, (double)moments[c * 3 + 2], squares, 1e-3 * squares);
        double deviation = sqrt(squares / count);
        for (size_t i = 0; i < COUNT; i++) {
            double v = ((double)x[i * COLUMNS + c] - sum / count) / deviation;
            expect("standard", (int)i, (double)y[i * COLUMNS + c], fmin(fmax(v, -1.5), 1.5), 1e-3);
        }
    }
}

DM_TESTS("agent/texts", DM_TEST(gae_equals_its_sum), DM_TEST(vtrace_equals_its_sum),
         DM_TEST(ppo_equals_plain_and_pytorch), DM_TEST(gradients_equal_finite_differences),
         DM_TEST(slopes_of_each_table_equal_plain),
         DM_TEST(a_sample_without_weight_teaches_nothing), DM_TEST(samples_follow_their_chances),
         DM_TEST(moments_equal_plain_sums));
