/* SPDX-License-Identifier: MIT */
/* muon.c - Newton-Schulz steps by the products of a table of operations, the same on every device.
 *
 *     X = u / (|u| + 1e-7), five times:
 *         rows <= columns:  A = X X^T   X = a X + (b A + c A A) X
 *         rows >  columns:  A = X^T X   X = a X + X (b A + c A A)
 *
 * Each singular value s becomes a s + b s^3 + c s^5, which has a steep slope at 0 and stays near 1.
 * A is square and as small as it can be, and symmetric. */
#include "nn/muon.h"

#include <math.h>

enum { STEPS = 5 };
static const double A1 = 3.4445, A3 = -4.7750, A5 = 2.0315;

/* Where `work` is cut, in bytes. */
typedef struct layout {
    size_t x, y, gram, square, sum, sums, size;
} layout;

static size_t take(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + 255) / 256 * 256;
    return at;
}

static layout lay_out(dm_nn_type type, uint32_t rows, uint32_t columns)
{
    size_t side = rows < columns ? rows : columns, count = (size_t)rows * columns;
    size_t element = type == DM_NN_BF16 ? 2 : type == DM_NN_F64 ? 8 : 4;
    size_t wide = type == DM_NN_F64 ? 8 : 4;
    layout l = {0};
    l.x = take(&l.size, count * element);
    l.y = take(&l.size, count * element);
    l.gram = take(&l.size, side * side * element);
    l.square = take(&l.size, side * side * element);
    l.sum = take(&l.size, side * side * wide);
    l.sums = take(&l.size, 2 * wide);
    return l;
}

size_t dm_nn_orthogonalise_bytes(dm_nn_type type, uint32_t rows, uint32_t columns)
{
    return lay_out(type, rows, columns).size;
}

size_t dm_nn_orthogonalise_scratch(const dm_nn_exec *e, uint32_t rows, uint32_t columns)
{
    uint32_t side = rows < columns ? rows : columns;
    const dm_nn_linear products[] = {{.N = rows, .C = columns, .O = side},
                                     {.N = side, .C = side, .O = side}};
    size_t most = 0;
    for (size_t i = 0; e->ops->linear_scratch && i < sizeof products / sizeof products[0]; i++) {
        size_t bytes = e->ops->linear_scratch(e, &products[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* gram[side][side] = X X^T, or X^T X of a tall X. The latter is what a linear layer adds to the
 * gradient of its weights, in float: `sum`, which begins as zeros. */
static dm_status make_gram(dm_nn_exec *e, uint32_t rows, uint32_t columns, void *x, void *sum,
                           void *gram, dm_error *err)
{
    if (rows <= columns)
        return e->ops->linear(e, &(dm_nn_linear){.N = rows, .C = columns, .O = rows}, x, x, NULL,
                              gram, NULL, err);
    uint64_t count = (uint64_t)columns * columns; /* fewer than X has numbers */
    dm_status status = e->ops->widen(e, count, 0, x, sum, err);
    if (status == DM_OK)
        status = e->ops->linear_backward(e, &(dm_nn_linear){.N = rows, .C = columns, .O = columns},
                                         x, NULL, x, NULL, x, NULL, sum, NULL, err);
    return status != DM_OK ? status : e->ops->narrow(e, count, sum, NULL, gram, err);
}

dm_status dm_nn_orthogonalise(dm_nn_exec *e, uint32_t rows, uint32_t columns, void *u, void *work,
                              dm_error *err)
{
    const dm_nn_ops *ops = e->ops;
    layout l = lay_out(e->type, rows, columns);
    bool tall = rows > columns;
    uint32_t side = tall ? columns : rows;
    uint64_t count = (uint64_t)rows * columns, square = (uint64_t)side * side;
    char *at = work, *x = at + l.x, *y = at + l.y, *A = at + l.gram, *AA = at + l.square;
    const dm_nn_linear small = {.N = side, .C = side, .O = side};
    const dm_nn_linear large = {.N = rows, .C = columns, .O = side, .add_dx = true};
    dm_status status = ops->sums(e, count, u, at + l.sums, err);
    if (status == DM_OK)
        status = ops->narrow(e, count, u, at + l.sums, x, err);
    for (int step = 0; step < STEPS && status == DM_OK; step++) {
        status = make_gram(e, rows, columns, x, at + l.sum, A, err);
        if (status == DM_OK) /* A A^T */
            status = ops->linear(e, &small, A, A, NULL, AA, NULL, err);
        if (status == DM_OK)
            status = ops->blend(e, square, A3, A, A5, AA, A, err);
        if (status == DM_OK)
            status = ops->blend(e, count, A1, x, 0, NULL, y, err);
        void *left = tall ? x : A, *right = tall ? A : x; /* as the gradient of an input is made */
        if (status == DM_OK)
            status =
                ops->linear_backward(e, &large, NULL, right, left, NULL, left, y, NULL, NULL, err);
        char *next = y;
        y = x;
        x = next;
    }
    double scale = tall ? sqrt((double)rows / columns) : 1;
    return status != DM_OK ? status : ops->widen(e, count, scale, x, u, err);
}
