/* SPDX-License-Identifier: MIT */
/* muon_case.c - see muon_case.h. */
#include "tests/nn/muon_case.h"

#include "base/philox.h"
#include "nn/muon.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* y[n][m] = a[n][k] b[k][m] */
static void times(const double *a, const double *b, double *y, int n, int k, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += a[i * k + p] * b[p * m + j];
            y[i * m + j] = sum;
        }
}

static void transpose(const double *a, double *y, int n, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[j * n + i] = a[i * m + j];
}

static void newton_schulz(double *x, int n, int m)
{
    size_t count = (size_t)n * (size_t)m, square = (size_t)n * (size_t)n;
    double *t = calloc(2 * count + 3 * square, sizeof *t), *bx = t + count, *a = bx + count,
           *aa = a + square, *b = aa + square, norm = 0;
    assert_non_null(t);
    for (size_t i = 0; i < count; i++)
        norm += x[i] * x[i];
    for (size_t i = 0; i < count; i++)
        x[i] /= sqrt(norm) + 1e-7;
    for (int step = 0; step < 5; step++) {
        transpose(x, t, n, m);
        times(x, t, a, n, m, n);
        times(a, a, aa, n, n, n);
        for (size_t i = 0; i < square; i++)
            b[i] = -4.7750 * a[i] + 2.0315 * aa[i];
        times(b, x, bx, n, n, m);
        for (size_t i = 0; i < count; i++)
            x[i] = 3.4445 * x[i] + bx[i];
    }
    free(t);
}

void muon_plain(double *u, int rows, int columns)
{
    size_t count = (size_t)rows * (size_t)columns;
    double *t = malloc(count * sizeof *t);
    assert_non_null(t);
    if (rows > columns) {
        transpose(u, t, rows, columns);
        newton_schulz(t, columns, rows);
        transpose(t, u, columns, rows);
    } else {
        newton_schulz(u, rows, columns);
    }
    for (size_t i = 0; i < count; i++)
        u[i] *= sqrt(fmax(1, (double)rows / columns));
    free(t);
}

void muon_plain_step(const muon_rule *rule, int rows, int columns, double *w, double *m,
                     const double *g)
{
    size_t count = (size_t)rows * (size_t)columns;
    double *u = malloc(count * sizeof *u);
    assert_non_null(u);
    for (size_t i = 0; i < count; i++) {
        m[i] = rule->momentum * m[i] + g[i];
        u[i] = g[i] + rule->momentum * m[i];
    }
    muon_plain(u, rows, columns);
    for (size_t i = 0; i < count; i++)
        w[i] -= rule->rate * rule->decay * w[i] + rule->rate * u[i];
    free(u);
}

static dm_device_buffer *buffer_of(dm_device *device, size_t bytes)
{
    dm_device_buffer *buffer = NULL;
    assert_ok(dm_device_buffer_create(device, bytes, &buffer, err));
    return buffer;
}

static void compare(dm_device *device, dm_nn_exec *exec, int rows, int columns, double size,
                    double tolerance)
{
    bool wide = exec->type == DM_NN_F64;
    size_t count = (size_t)rows * (size_t)columns, bytes = count * (wide ? 8 : 4);
    uint32_t R = (uint32_t)rows, C = (uint32_t)columns;
    double *want = malloc(count * sizeof *want), off = 0, norm = 0;
    void *host = malloc(bytes);
    assert_true(want != NULL && host != NULL);
    for (size_t i = 0; i < count; i++) {
        float x = (float)size * (dm_random_unit(dm_random4(9, 1, i).v[0]) - 0.5f);
        want[i] = (double)x;
        if (wide)
            ((double *)host)[i] = (double)x;
        else
            ((float *)host)[i] = x;
    }
    exec->scratch_size = dm_nn_orthogonalise_scratch(exec, R, C);
    dm_device_buffer *scratch = buffer_of(device, exec->scratch_size + 1), /* at least one */
        *work = buffer_of(device, dm_nn_orthogonalise_bytes(exec->type, R, C)),
                     *u = buffer_of(device, bytes);
    dm_stream *stream = exec->stream ? exec->stream : dm_device_stream(device);
    exec->scratch = dm_device_buffer_address(scratch);
    /* What is left there by others must not matter. */
    assert_ok(
        dm_stream_fill(stream, work, 0, 0xFF, dm_nn_orthogonalise_bytes(exec->type, R, C), err));
    assert_ok(dm_stream_upload(stream, u, 0, host, bytes, err));
    assert_ok(dm_nn_orthogonalise(exec, R, C, dm_device_buffer_address(u),
                                  dm_device_buffer_address(work), err));
    assert_ok(dm_stream_download(stream, u, 0, host, bytes, err));
    assert_ok(dm_stream_synchronize(stream, err));
    muon_plain(want, rows, columns);
    for (size_t i = 0; i < count; i++) {
        double got = wide ? ((double *)host)[i] : (double)((float *)host)[i];
        off += (got - want[i]) * (got - want[i]);
        norm += want[i] * want[i];
    }
    if (!(sqrt(off) <= tolerance * sqrt(norm))) /* NaN fails */
        fail_msg("%s: %d x %d: off by %g of %g", exec->ops->name, rows, columns, sqrt(off),
                 sqrt(norm));
    assert_true(size == 0 || norm > 0);
    dm_device_buffer_destroy(scratch);
    dm_device_buffer_destroy(work);
    dm_device_buffer_destroy(u);
    free(want);
    free(host);
}

void muon_case_compare(dm_device *device, dm_nn_exec *exec, double tolerance)
{
    static const int shapes[][2] = {{1, 1},   {1, 37},   {37, 1},  {13, 5},   {5, 13},  {9, 9},
                                    {67, 31}, {31, 129}, {64, 64}, {192, 64}, {64, 256}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        compare(device, exec, shapes[i][0], shapes[i][1], 1e-4, tolerance);
        compare(device, exec, shapes[i][0], shapes[i][1], 0, tolerance);
    }
}
