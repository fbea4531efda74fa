/* SPDX-License-Identifier: MIT */
/* pool.h - max pooling: squares of 2 in vectors, the plain loops for other sizes. */

#if LANES == 16
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif LANES == 8
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES 1, 3, 5, 7
#endif

/* `some` places of a row: 2 * some numbers of two rows below each other. With `room`, bytes behind
 * those places may be written: the next places overwrite them. */
VEC_FN void pool_places(const float *top, const float *bottom, size_t some, bool room, float *y,
                        uint8_t *from)
{
    size_t first = some < LANES / 2 ? 2 * some : LANES, second = 2 * some - first;
    vec a = vec_load_some(top, first), b = vec_load_some(top + first, second);
    vec c = vec_load_some(bottom, first), d = vec_load_some(bottom + first, second);
    vec value[4] = {
        __builtin_shufflevector(a, b, EVEN_LANES), __builtin_shufflevector(a, b, ODD_LANES),
        __builtin_shufflevector(c, d, EVEN_LANES), __builtin_shufflevector(c, d, ODD_LANES)};
    vec best = value[0];
    ivec which = {0};
    for (int32_t k = 1; k < 4; k++) {
        ivec above = value[k] > best;
        best = vec_pick(above, value[k], best);
        which = (above & k) | (~above & which);
    }
    vec_store_some(y, best, some);
    if (room) {
        ivec_store_bytes(from, which);
    } else {
        uint8_t bytes[LANES];
        ivec_store_bytes(bytes, which);
        memcpy(from, bytes, some);
    }
}

static dm_status pool(dm_nn_exec *exec, const dm_nn_pool *op, const void *x, void *y, uint8_t *from,
                      dm_error *err)
{
    if (op->K != 2)
        return pool_plain(exec, op, x, y, from, err);
    size_t W = op->W, P = op->H / 2, Q = W / 2, all = (size_t)op->B * op->C * P * Q;
    for (size_t n = 0; n < (size_t)op->B * op->C; n++)
        for (size_t p = 0; p < P; p++) {
            const float *top = (const float *)x + (n * op->H + 2 * p) * W;
            size_t to = (n * P + p) * Q;
            for (size_t q = 0; q < Q; q += LANES)
                pool_places(top + 2 * q, top + W + 2 * q, Q - q < LANES ? Q - q : LANES,
                            to + q + LANES <= all, (float *)y + to + q, from + to + q);
        }
    return DM_OK;
}

VEC_FN void pool_give(float *to, vec d, size_t some, bool add)
{
    if (add)
        d += vec_load_some(to, some);
    vec_store_some(to, d, some);
}

static dm_status pool_backward(dm_nn_exec *exec, const dm_nn_pool *op, const uint8_t *from,
                               const void *dy, void *dx, dm_error *err)
{
    if (op->K != 2)
        return pool_backward_plain(exec, op, from, dy, dx, err);
    size_t W = op->W, P = op->H / 2, Q = W / 2, all = (size_t)op->B * op->C * P * Q;
    if (!op->add_dx && (op->H % 2 != 0 || W % 2 != 0)) /* else every element is in a square */
        memset(dx, 0, (size_t)op->B * op->C * op->H * W * sizeof(float));
    for (size_t n = 0; n < (size_t)op->B * op->C; n++)
        for (size_t p = 0; p < P; p++)
            for (size_t q = 0; q < Q; q += LANES) {
                size_t some = Q - q < LANES ? Q - q : LANES, at = (n * P + p) * Q + q;
                size_t first = some < LANES / 2 ? 2 * some : LANES, second = 2 * some - first;
                float *to = (float *)dx + (n * op->H + 2 * p) * W + 2 * q;
                ivec which;
                if (at + LANES <= all) {
                    which = ivec_load_bytes(from + at);
                } else {
                    uint8_t bytes[LANES] = {0};
                    memcpy(bytes, from + at, some);
                    which = ivec_load_bytes(bytes);
                }
                vec d = vec_load_some((const float *)dy + at, some), row[2];
                for (int32_t k = 0; k < 4; k += 2) {
                    vec_interleave((vec)((ivec)d & (which == k)), (vec)((ivec)d & (which == k + 1)),
                                   &row[0], &row[1]);
                    pool_give(to, row[0], first, op->add_dx);
                    pool_give(to + first, row[1], second, op->add_dx);
                    to += W;
                }
            }
    return DM_OK;
}
