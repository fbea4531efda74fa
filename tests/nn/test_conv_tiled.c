/* SPDX-License-Identifier: MIT */
/* test_conv_tiled.c - the kernels of nn/cuda/conv_tiled.h and conv_mma.h on the host, a block of fibers at a time, with
 * the sizes that their launches have on a GPU, beside the plain convolution. */
#include "tests/nn/conv_host.h"

DM_FN float nn_slope(uint32_t kind, float y, float pre)
{
    (void)pre;
    return kind == DM_NN_RELU && y <= 0 ? 0 : 1;
}

#include "nn/cuda/conv_mma.h"
#include "nn/cuda/conv_tiled_plan.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 3, MMA = 0 }; /* places of a thread; MMA: conv_mma.h */

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

static bool plan_of(const dm_nn_conv *s, nn_conv_pass pass, uint32_t places, nn_conv_plan *out)
{
    return places == MMA ? dm_nn_conv_mma_plan(s, pass, MULTIPROCESSORS, sizeof nn_conv_memory, out)
                         : dm_nn_conv_plan(s, pass, pass == NN_CONV_DW ? 0 : places,
                                           MULTIPROCESSORS, sizeof nn_conv_memory, out);
}

static void run(nn_conv_pass pass, uint32_t places, nn_conv_plan *p)
{
    if (places == MMA)
        launch(pass == NN_CONV_FORWARD ? nn_conv_mma
               : pass == NN_CONV_DX    ? nn_conv_mma_dx
                                       : nn_conv_mma_dw,
               p);
    else if (pass == NN_CONV_FORWARD)
        launch(places == 4 ? nn_conv_tiled_4 : nn_conv_tiled, p);
    else if (pass == NN_CONV_DX)
        launch(places == 4 ? nn_conv_tiled_dx_4 : nn_conv_tiled_dx, p);
    else
        launch(nn_conv_tiled_dw, p);
}

static void compare(const char *what, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 2e-5f * (1 + fabsf(b[i]))))
            fail_msg("%s[%zu] is %g, not %g", what, i, (double)a[i], (double)b[i]);
}

/* Which passes there were, as bits: conv_mma.h does not take all. */
static unsigned check(const dm_nn_conv *s, uint32_t places)
{
    dm_nn_exec plain = {.ops = &dm_nn_plain_f32, .type = DM_NN_F32};
    nn_conv_plan p;
    unsigned done = 0;
    assert_true(dm_nn_conv_args(s, NN_CONV_FORWARD, &p.args));
    size_t X = (size_t)s->B * s->I * s->H * s->W, Y = (size_t)s->B * s->O * p.args.OH * p.args.OW;
    size_t taps = (size_t)s->I * s->K * s->K, W = s->O * taps;
    float *x = numbers(X, 1), *w = numbers(W, 2), *b = numbers(s->O, 3), *dy = numbers(Y, 4);
    float *y = numbers(Y, 5), *ours = numbers(Y, 6), *dx = numbers(X, 7), *our_dx = malloc(X * 4);
    float *dw = calloc(W, 4), *db = calloc(s->O, 4), *our_dw = calloc(W, 4),
          *our_db = calloc(s->O, 4);
    memcpy(our_dx, dx, X * sizeof *dx);

    assert_ok(plain.ops->conv(&plain, s, x, w, b, y, err));
    if (plan_of(s, NN_CONV_FORWARD, places, &p)) {
        p.args.x = x, p.args.w = w, p.args.b = b, p.args.out = ours;
        run(NN_CONV_FORWARD, places, &p);
        compare("y", ours, y, Y);
        done |= 1u << NN_CONV_FORWARD;
    }
    dm_nn_conv linear = *s; /* the slope of the activation is another kernel's */
    linear.activation = DM_NN_LINEAR;
    float *scratch = numbers(Y, 4);
    assert_ok(plain.ops->conv_backward(&plain, &linear, x, w, y, scratch, dx, dw, db, err));
    if (plan_of(s, NN_CONV_DX, places, &p)) {
        p.args.w = w, p.args.y = dy, p.args.out = our_dx;
        run(NN_CONV_DX, places, &p);
        compare("dx", our_dx, dx, X);
        done |= 1u << NN_CONV_DX;
    }
    float *partial = NULL, *biases = NULL;
    if (plan_of(s, NN_CONV_DW, places, &p)) {
        partial = calloc(p.args.groups * W, 4), biases = calloc(p.args.groups * s->O, 4);
        p.args.x = x, p.args.y = dy, p.args.dw = partial, p.args.db = biases;
        if (places == MMA && s->activation != DM_NN_LINEAR) { /* with the slope, as plain has it */
            p.args.results = y;
            memset(dw, 0, W * sizeof *dw);
            memset(db, 0, s->O * sizeof *db);
            memcpy(scratch, dy, Y * sizeof *dy);
            assert_ok(plain.ops->conv_backward(&plain, s, x, w, y, scratch, NULL, dw, db, err));
        }
        run(NN_CONV_DW, places, &p);
        for (uint32_t c = 0; c < p.args.groups; c++) {
            for (size_t i = 0; i < W; i++)
                our_dw[i] += partial[c * W + i];
            for (size_t i = 0; i < s->O; i++)
                our_db[i] += biases[c * s->O + i];
        }
        compare("dw", our_dw, dw, W);
        compare("db", our_db, db, s->O);
        done |= 1u << NN_CONV_DW;
    }
    float *all[] = {x,  w,  b,      dy,     y,       ours,    dx,    our_dx,
                    dw, db, our_dw, our_db, scratch, partial, biases};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    return done;
}

static void tiled_convolutions_are_the_plain_ones(void **state)
{
    (void)state;
#define SIZE(b, i, h, w, o, k, s, act, add)                                                        \
    {                                                                                              \
        .B = b, .I = i, .H = h, .W = w, .O = o, .K = k, .stride = s, .activation = act,            \
        .add_dx = add                                                                              \
    }
    static const dm_nn_conv sizes[] = {
        SIZE(1, 1, 20, 24, 16, 8, 4, DM_NN_RELU, false),
        SIZE(5, 16, 17, 19, 32, 4, 2, DM_NN_RELU, true),
        SIZE(3, 3, 9, 11, 5, 3, 1, DM_NN_LINEAR, false),
        SIZE(4, 2, 13, 7, 19, 3, 2, DM_NN_RELU, true),
        SIZE(1, 4, 72, 80, 16, 8, 4, DM_NN_RELU, false),
        SIZE(7, 20, 6, 5, 33, 3, 3, DM_NN_LINEAR, false),
        SIZE(260, 1, 4, 5, 3, 2, 1, DM_NN_RELU, false),
        SIZE(2, 17, 10, 10, 20, 5, 3, DM_NN_RELU, false),
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint32_t places = sizes[i].H > 50 ? 4 : 2; places <= 4; places += 2)
            assert_int_equal(check(&sizes[i], places), 7);
    unsigned done = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned now = check(&sizes[i], MMA);
        /* dw: eight warps have 16 channels and 64 taps each, or 32 and 32. */
        uint32_t taps = sizes[i].I * sizes[i].K * sizes[i].K, most = sizes[i].O > 16 ? 256 : 512;
        assert_int_equal(now, sizes[i].O > 32 || taps > most ? 3 : 7);
        done += now == 7;
    }
    assert_int_equal(done, 6);
}

/* Bytes of four pixels, some of the pictures in another order, are those pictures. */
static void check_packed(uint32_t stride, uint32_t places)
{
    enum { PICTURES = 9, B = 5, I = 2, H = 12, W = 32, O = 7, K = 4, OUT = 5 * 15 };
    static const int32_t rows[B] = {3, 8, 0, 3, 5};
    static uint8_t packed[PICTURES][I * H * W / 4] __attribute__((aligned(4)));
    static float x[B][I * H * W], y[2][B * O * OUT], dw[2][O * I * K * K];
    static float partial[B * O * I * K * K];
    float *w = numbers(O * I * K * K, 2), *dy = numbers(B * O * OUT, 3);
    dm_nn_conv s = SIZE(B, I, H, W, O, K, stride, DM_NN_RELU, false);
    dm_nn_exec plain = {.ops = &dm_nn_plain_f32, .type = DM_NN_F32};
    nn_conv_plan p;
    for (size_t i = 0; i < sizeof packed; i++)
        ((uint8_t *)packed)[i] = (uint8_t)dm_random4(4, 1, i).v[0];
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < I * H * W; i++)
            x[b][i] = (float)(packed[rows[b]][i / 4] >> (i % 4 * 2) & 3) / 3.0f;
    assert_ok(plain.ops->conv(&plain, &s, x, w, NULL, y[0], err));
    s.packed = true;
    assert_true(plan_of(&s, NN_CONV_FORWARD, places, &p));
    const size_t count = (size_t)B * O * p.args.OH * p.args.OW;
    assert_true(count <= B * O * OUT);
    p.args.x = packed, p.args.w = w, p.args.out = y[1], p.args.packed = 1, p.args.rows = rows;
    run(NN_CONV_FORWARD, places, &p);
    compare("y", y[1], y[0], count);
    assert_true(plan_of(&s, NN_CONV_DW, places, &p));
    p.args.x = packed, p.args.y = dy, p.args.dw = partial, p.args.packed = 1, p.args.rows = rows;
    run(NN_CONV_DW, places, &p);
    memset(dw, 0, sizeof dw);
    for (uint32_t c = 0; c < p.args.groups; c++)
        for (size_t i = 0; i < O * I * K * K; i++)
            dw[1][i] += partial[c * O * I * K * K + i];
    s.activation = DM_NN_LINEAR;
    s.packed = false;
    assert_ok(plain.ops->conv_backward(&plain, &s, x, w, y[0], dy, NULL, dw[0], NULL, err));
    compare("dw", dw[1], dw[0], O * I * K * K);
    free(w);
    free(dy);
}

static void packed_pictures_are_unpacked(void **state)
{
    (void)state;
    check_packed(2, 2);
    check_packed(4, 4);
    check_packed(4, MMA);
}

static void images_that_do_not_fit_are_left_to_others(void **state)
{
    (void)state;
    nn_conv_plan p;
    dm_nn_conv large = SIZE(2, 4, 144, 160, 16, 8, 4, DM_NN_RELU, false);
    assert_false(dm_nn_conv_plan(&large, NN_CONV_FORWARD, 0, 132, 232448, &p));
    large.H = 72;
    assert_true(dm_nn_conv_plan(&large, NN_CONV_FORWARD, 0, 132, 232448, &p));
}

DM_TESTS("nn/conv-tiled", DM_TEST(tiled_convolutions_are_the_plain_ones),
         DM_TEST(packed_pictures_are_unpacked), DM_TEST(images_that_do_not_fit_are_left_to_others));
