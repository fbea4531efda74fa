/* SPDX-License-Identifier: MIT */
/* test_product_mma.c - the kernel of nn/cuda/product_mma.h on the host, a block of fibers at a time, beside sums in
 * double: each way that a and b may lie, bias and activation, adding, and parts of K. */
#include "tests/nn/conv_host.h"

#include "nn/cuda/conv_mma.h"
#include "nn/cuda/product_mma.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

static float *numbers(size_t count, uint64_t stream)
{
    float *x = NULL;
    assert_int_equal(posix_memalign((void **)&x, 16, count * sizeof *x), 0);
    for (size_t i = 0; i < count; i++)
        x[i] = 2 * dm_random_unit(dm_random4(10, stream, i).v[0]) - 1;
    return x;
}

static void check(nn_product_args args)
{
    const size_t M = args.M, N = args.N, K = args.K, splits = args.splits;
    float *a = numbers(M * K, 1), *b = numbers(N * K, 2), *bias = numbers(N, 3);
    float *c = numbers(M * N * splits, 4), *was = numbers(M * N * splits, 4);
    args.a = a, args.b = b, args.c = c;
    if (splits == 1 && !args.add)
        args.bias = bias;
    for (size_t i = 0; i < sizeof nn_conv_memory / sizeof nn_conv_memory[0]; i++)
        nn_conv_memory[i] = NAN;
    uint64_t threads = M / NN_PRODUCT_M * (N / NN_PRODUCT_N) * splits * NN_PRODUCT_THREADS;
    assert_true(NN_PRODUCT_STAGES * NN_PRODUCT_STAGE * sizeof(float) <= sizeof nn_conv_memory);
    nn_product_mma(&args, 0, threads, threads);
    for (size_t split = 0; split < splits; split++)
        for (size_t m = 0; m < M; m++)
            for (size_t n = 0; n < N; n++) {
                double sum = args.bias ? (double)bias[n] : 0;
                for (size_t k = split * (K / splits); k < (split + 1) * (K / splits); k++)
                    sum += (double)a[m * args.a_row + k * args.a_column] *
                           (double)b[n * args.b_row + k * args.b_column];
                sum = args.activation == DM_NN_RELU && sum < 0 ? 0 : sum;
                size_t at = (split * M + m) * N + n;
                sum += args.add ? (double)was[at] : 0;
                if (!(fabs((double)c[at] - sum) <= 2e-5 * (1 + fabs(sum))))
                    fail_msg("(%zu, %zu) of part %zu is %g, not %g", m, n, split, (double)c[at],
                             sum);
            }
    free(a);
    free(b);
    free(bias);
    free(c);
    free(was);
}

static void products_are_sums(void **state)
{
    (void)state;
    enum { M = 256, N = 128, K = 96 };
    check((nn_product_args){.M = M, /* y = x w^T + b */
                            .N = N,
                            .K = K,
                            .a_row = K,
                            .a_column = 1,
                            .b_row = K,
                            .b_column = 1,
                            .splits = 1,
                            .activation = DM_NN_RELU});
    check((nn_product_args){.M = M, /* dx = dy w */
                            .N = N,
                            .K = 32,
                            .a_row = 32,
                            .a_column = 1,
                            .b_row = 1,
                            .b_column = N,
                            .splits = 1,
                            .add = 1});
    check((nn_product_args){.M = 128, /* dw = dy^T x, in parts */
                            .N = N,
                            .K = 256,
                            .a_row = 1,
                            .a_column = 128,
                            .b_row = 1,
                            .b_column = N,
                            .splits = 4});
}

DM_TESTS("nn/product-mma", DM_TEST(products_are_sums));
