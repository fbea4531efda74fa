/* SPDX-License-Identifier: MIT */
/* activation.h - activations on arrays, in vectors. kernels/nn has them as texts of the kernel
 * dialect. */

VEC_FN vec vec_gelu_inner(vec x)
{
    vec cube = x * x * x;
    return vec_tanh(vec_all(0.79788456f) * vec_fma(vec_all(0.044715f), cube, x));
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
        return vec_all(0.5f) * x * (vec_all(1) + vec_gelu_inner(x));
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
        vec t = vec_gelu_inner(pre);
        vec inner = vec_all(0.79788456f) * vec_fma(vec_all(3 * 0.044715f), pre * pre, vec_all(1));
        return d * (vec_all(0.5f) * (vec_all(1) + t) +
                    vec_all(0.5f) * pre * (vec_all(1) - t * t) * inner);
    }
    case DM_NN_LINEAR:
    default:
        return d;
    }
}

/* y = act(x); y may be x. */
static void activate_all(dm_nn_activation activation, const float *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, activate_vec(activation, vec_load(x + i)));
    if (i < n)
        vec_store_some(y + i, activate_vec(activation, vec_load_some(x + i, n - i)), n - i);
}

/* dy *= act'; pre is NULL but for GELU. */
static void slope_all(dm_nn_activation activation, const float *y, const float *pre, float *dy,
                      size_t n)
{
    if (activation == DM_NN_LINEAR)
        return;
    if (!pre)
        pre = y;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(dy + i,
                  slope_vec(activation, vec_load(dy + i), vec_load(y + i), vec_load(pre + i)));
    if (i < n)
        vec_store_some(dy + i,
                       slope_vec(activation, vec_load_some(dy + i, n - i),
                                 vec_load_some(y + i, n - i), vec_load_some(pre + i, n - i)),
                       n - i);
}

/* sums[j] += the sum over rows of x[rows][n], row after row. */
static void add_column_sums(const float *x, size_t rows, size_t n, float *sums)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < n; j++)
            sums[j] += x[r * n + j];
}
