/* SPDX-License-Identifier: MIT */
/* activation.h - activations on arrays, in vectors. kernels/nn/activations.py has them as texts of
 * the kernel dialect, which tests/nn/test_texts.c compares with these. */

/* GELU's x/2 (1 + tanh(u)) is x sigmoid(2u): one exponential and one division. */
VEC_FN vec vec_gelu_gate(vec x)
{
    vec inner = vec_fma(x * x, vec_all(2 * 0.79788456f * 0.044715f), vec_all(2 * 0.79788456f));
    return vec_sigmoid(x * inner);
}

VEC_FN vec activate_vec(dm_nn_activation activation, vec x)
{
    switch (activation) {
    case DM_NN_RELU:
        return vec_max(vec_all(0), x);
    case DM_NN_TANH:
        return vec_tanh(x);
    case DM_NN_SIGMOID:
        return vec_sigmoid(x);
    case DM_NN_GELU:
        return x * vec_gelu_gate(x);
    case DM_NN_LINEAR:
    default:
        return x;
    }
}

/* d times the derivative, from the result y, or for GELU from the sum before it. */
VEC_FN vec slope_vec(dm_nn_activation activation, vec d, vec y, vec pre)
{
    switch (activation) {
    case DM_NN_RELU:
        return (vec)((ivec)d & (y > vec_all(0)));
    case DM_NN_TANH:
        return d * (vec_all(1) - y * y);
    case DM_NN_SIGMOID:
        return d * y * (vec_all(1) - y);
    case DM_NN_GELU: {
        vec s = vec_gelu_gate(pre);
        vec inner = vec_fma(pre * pre, vec_all(6 * 0.79788456f * 0.044715f),
                            vec_all(2 * 0.79788456f)); /* the derivative of 2u */
        return d * vec_fma(pre * inner, s * (vec_all(1) - s), s);
    }
    case DM_NN_LINEAR:
    default:
        return d;
    }
}

/* Four vectors of the rows at a time, whose sums stay in registers. */
VEC_FN void slope_rows_of_four(dm_nn_activation activation, const float *y, float *dy, size_t rows,
                               size_t n, float *sums)
{
    vec total[4];
    for (size_t i = 0; i < 4; i++)
        total[i] = vec_load(sums + i * LANES);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < 4; i++) {
            size_t at = r * n + i * LANES;
            vec d = vec_load(dy + at);
            if (activation != DM_NN_LINEAR) {
                vec v = vec_load(y + at);
                d = slope_vec(activation, d, v, v);
                vec_store(dy + at, d);
            }
            total[i] += d;
        }
    for (size_t i = 0; i < 4; i++)
        vec_store(sums + i * LANES, total[i]);
}

/* The rows of dy *= act', and sums[j] += the sum over rows of that, row after row. Either may be
 * missing: LINEAR, or NULL sums. pre is NULL but for GELU. */
VEC_FN void slope_rows_of(dm_nn_activation activation, const float *y, const float *pre, float *dy,
                          size_t rows, size_t n, float *sums)
{
    size_t first = 0;
    if (sums)
        for (; first + 4 * LANES <= n; first += 4 * LANES)
            slope_rows_of_four(activation, (activation == DM_NN_GELU ? pre : y) + first, dy + first,
                               rows, n, sums + first);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = first; j < n; j += LANES) {
            size_t at = r * n + j, some = n - j < LANES ? n - j : LANES;
            bool whole = some == LANES;
            vec d = whole ? vec_load(dy + at) : vec_load_some(dy + at, some);
            if (activation != DM_NN_LINEAR) {
                const float *from = activation == DM_NN_GELU ? pre : y;
                vec v = whole ? vec_load(from + at) : vec_load_some(from + at, some);
                d = slope_vec(activation, d, v, v);
                if (whole)
                    vec_store(dy + at, d);
                else
                    vec_store_some(dy + at, d, some);
            }
            if (sums && whole)
                vec_store(sums + j, vec_load(sums + j) + d);
            else if (sums)
                vec_store_some(sums + j, vec_load_some(sums + j, some) + d, some);
        }
}

static void slope_rows(dm_nn_activation activation, const float *y, const float *pre, float *dy,
                       size_t rows, size_t n, float *sums)
{
    switch (activation) { /* one loop for each */
    case DM_NN_RELU:
        slope_rows_of(DM_NN_RELU, y, pre, dy, rows, n, sums);
        break;
    case DM_NN_TANH:
        slope_rows_of(DM_NN_TANH, y, pre, dy, rows, n, sums);
        break;
    case DM_NN_SIGMOID:
        slope_rows_of(DM_NN_SIGMOID, y, pre, dy, rows, n, sums);
        break;
    case DM_NN_GELU:
        slope_rows_of(DM_NN_GELU, y, pre, dy, rows, n, sums);
        break;
    case DM_NN_LINEAR:
    default:
        if (sums)
            slope_rows_of(DM_NN_LINEAR, y, pre, dy, rows, n, sums);
    }
}
