/* SPDX-License-Identifier: MIT */
/* test_conv_tiled.c - the kernels of nn/cuda/conv_tiled.h on the host, a block of fibers at a time, with the sizes that
 * their launches have on a GPU, beside the plain convolution. */
#define DM_HOST_BLOCK 1
#include "base/port.h"

#include "nn/ops.h"

static float nn_conv_memory[60000];

DM_FN float nn_get(const void *p, uint64_t i)
{
    return ((const float *)p)[i];
}

DM_FN void nn_put(void *p, uint64_t i, float x)
{
    ((float *)p)[i] = x;
}

DM_FN float nn_activate(uint32_t kind, float x)
{
    return kind == DM_NN_RELU && x < 0 ? 0 : x;
}

#include "nn/cuda/conv_tiled.h"
#include "nn/cuda/conv_tiled_plan.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 3 };

static float *numbers(size_t count, uint64_t stream)
{
    float *x = malloc(count * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = 2 * dm_random_unit(dm_random4(9, stream, i).v[0]) - 1;
    return x;
}

static void launch(void (*kernel)(const void *, uint64_t, uint64_t, uint64_t), nn_conv_plan *p)
{
    uint64_t threads = (uint64_t)p->grid.blocks * p->grid.block_threads;
    assert_true(p->grid.shared_bytes <= sizeof nn_conv_memory);
    /* What a block does not write must not matter. */
    for (size_t i = 0; i < sizeof nn_conv_memory / sizeof nn_conv_memory[0]; i++)
        nn_conv_memory[i] = NAN;
    kernel(&p->args, 0, threads, threads);
}

static void compare(const char *what, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 2e-5f * (1 + fabsf(b[i]))))
            fail_msg("%s[%zu] is %g, not %g", what, i, (double)a[i], (double)b[i]);
}

static void check(const dm_nn_conv *s)
{
    dm_nn_exec plain = {.ops = &dm_nn_plain_f32, .type = DM_NN_F32};
    nn_conv_plan p;
    assert_true(dm_nn_conv_plan(s, NN_CONV_FORWARD, MULTIPROCESSORS, sizeof nn_conv_memory, &p));
    size_t X = (size_t)s->B * s->I * s->H * s->W, Y = (size_t)s->B * s->O * p.args.OH * p.args.OW;
    size_t taps = (size_t)s->I * s->K * s->K, W = s->O * taps;
    float *x = numbers(X, 1), *w = numbers(W, 2), *b = numbers(s->O, 3), *dy = numbers(Y, 4);
    float *y = numbers(Y, 5), *ours = numbers(Y, 6), *dx = numbers(X, 7), *our_dx = malloc(X * 4);
    float *dw = calloc(W, 4), *db = calloc(s->O, 4), *our_dw = calloc(W, 4),
          *our_db = calloc(s->O, 4);
    memcpy(our_dx, dx, X * sizeof *dx);

    assert_ok(plain.ops->conv(&plain, s, x, w, b, y, err));
    p.args.x = x, p.args.w = w, p.args.b = b, p.args.out = ours;
    launch(nn_conv_tiled, &p);
    compare("y", ours, y, Y);

    dm_nn_conv linear = *s; /* the slope of the activation is another kernel's */
    linear.activation = DM_NN_LINEAR;
    float *scratch = numbers(Y, 4);
    assert_ok(plain.ops->conv_backward(&plain, &linear, x, w, y, scratch, dx, dw, db, err));
    assert_true(dm_nn_conv_plan(s, NN_CONV_DX, MULTIPROCESSORS, sizeof nn_conv_memory, &p));
    p.args.w = w, p.args.y = dy, p.args.out = our_dx;
    launch(nn_conv_tiled_dx, &p);
    compare("dx", our_dx, dx, X);

    assert_true(dm_nn_conv_plan(s, NN_CONV_DW, MULTIPROCESSORS, sizeof nn_conv_memory, &p));
    float *partial = calloc(p.args.groups * W, 4), *biases = calloc(p.args.groups * s->O, 4);
    p.args.x = x, p.args.y = dy, p.args.dw = partial, p.args.db = biases;
    launch(nn_conv_tiled_dw, &p);
    for (uint32_t c = 0; c < p.args.groups; c++) {
        for (size_t i = 0; i < W; i++)
            our_dw[i] += partial[c * W + i];
        for (size_t i = 0; i < s->O; i++)
            our_db[i] += biases[c * s->O + i];
    }
    compare("dw", our_dw, dw, W);
    compare("db", our_db, db, s->O);
    float *all[] = {x,  w,  b,      dy,     y,       ours,    dx,    our_dx,
                    dw, db, our_dw, our_db, scratch, partial, biases};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void tiled_convolutions_are_the_plain_ones(void **state)
{
    (void)state;
    static const dm_nn_conv sizes[] = {
        {1, 1, 20, 24, 16, 8, 4, DM_NN_RELU, false}, {5, 16, 17, 19, 32, 4, 2, DM_NN_RELU, true},
        {3, 3, 9, 11, 5, 3, 1, DM_NN_LINEAR, false}, {4, 2, 13, 7, 19, 3, 2, DM_NN_RELU, true},
        {2, 4, 72, 80, 16, 8, 4, DM_NN_RELU, false}, {7, 20, 6, 5, 33, 3, 3, DM_NN_LINEAR, false},
        {600, 1, 4, 5, 3, 2, 1, DM_NN_RELU, false},  {2, 17, 10, 10, 20, 5, 3, DM_NN_RELU, false},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check(&sizes[i]);
}

static void images_that_do_not_fit_are_left_to_others(void **state)
{
    (void)state;
    nn_conv_plan p;
    dm_nn_conv large = {2, 4, 144, 160, 16, 8, 4, DM_NN_RELU, false};
    assert_false(dm_nn_conv_plan(&large, NN_CONV_FORWARD, 132, 232448, &p));
    large.H = 72;
    assert_true(dm_nn_conv_plan(&large, NN_CONV_FORWARD, 132, 232448, &p));
}

DM_TESTS("nn/conv-tiled", DM_TEST(tiled_convolutions_are_the_plain_ones),
         DM_TEST(images_that_do_not_fit_are_left_to_others));
