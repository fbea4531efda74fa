/* SPDX-License-Identifier: MIT */
/* attention.h - causal attention of one head at a time. K and V are packed once; queries are taken
 * in blocks of a few rows, whose scores with all keys up to the last of them are one product:
 *
 *     keys   0 . . . . . . . T         a block of ATTENTION_ROWS queries computes the scores left
 *     queries x x                      of its last one; what lies above the diagonal is cleared
 *             x x x x
 *             x x x x x x
 *
 * The backward pass keeps P and dS of ATTENTION_STRIP queries, so that dK and dV are products over
 * many queries. For the keys before the strip these are whole; within it, each block of keys takes
 * the queries from its first on. */

enum { ATTENTION_ROWS = 16, ATTENTION_STRIP = 256 };

static size_t attention_strip(const dm_nn_attention *op)
{
    return op->T < ATTENTION_STRIP ? op->T : ATTENTION_STRIP;
}

/* Floats: K^T, K, V or V^T, dy packed; P and dS of a strip. */
static size_t attention_floats(const dm_nn_attention *op)
{
    size_t T = op->T, D = op->C / op->H, strip = attention_strip(op);
    return 2 * packed_floats(D, T) + 2 * packed_floats(T, D) + 2 * strip * T;
}

static size_t attention_scratch(const dm_nn_exec *exec, const dm_nn_attention *op)
{
    (void)exec;
    return product_scratch() + attention_floats(op) * sizeof(float);
}

/* One head of a packed array: rows are `step` apart. */
typedef struct head {
    size_t D, step;
    float scale;
    strided q, k, v; /* [T][D] */
} head;

static head head_of(const dm_nn_attention *op, const float *qkv, size_t b, size_t h)
{
    size_t D = op->C / op->H, step = 3 * (size_t)op->C;
    const float *at = qkv + b * op->T * step + h * D;
    return (head){.D = D,
                  .step = step,
                  .scale = 1 / sqrtf((float)D),
                  .q = {at, step, 1},
                  .k = {at + op->C, step, 1},
                  .v = {at + 2 * (size_t)op->C, step, 1}};
}

static strided transposed(strided a)
{
    return (strided){a.at, a.column, a.row};
}

static strided from_row(strided a, size_t row)
{
    return (strided){a.at + row * a.row, a.row, a.column};
}

static dm_status attention(dm_nn_exec *exec, const dm_nn_attention *op, const void *qkv, void *y,
                           void *lse, dm_error *err)
{
    (void)err;
    size_t T = op->T, C = op->C, D = C / op->H;
    float *room = scratch_after_product(exec);
    float *room_v = room + packed_floats(D, T), *scores = room_v + packed_floats(T, D);
    for (size_t bh = 0; bh < (size_t)op->B * op->H; bh++) {
        size_t b = bh / op->H, h = bh % op->H;
        head at = head_of(op, qkv, b, h);
        packed keys = pack_b(transposed(at.k), D, T, room), values = pack_b(at.v, T, D, room_v);
        for (size_t t0 = 0; t0 < T; t0 += ATTENTION_ROWS) {
            size_t rows = T - t0 < ATTENTION_ROWS ? T - t0 : ATTENTION_ROWS, seen = t0 + rows;
            product_packed(exec, rows, seen, D, from_row(at.q, t0), keys, scores, seen,
                           &(product_end){0});
            for (size_t r = 0; r < rows; r++) {
                float *row = scores + r * seen;
                size_t own = t0 + r + 1;
                float most = at.scale * most_of(row, own);
                float total = exp_all(row, own, at.scale, most);
                ((float *)lse)[bh * T + t0 + r] = most + logf(total);
                scale_all(row, own, 1 / total);
                memset(row + own, 0, (seen - own) * sizeof(float));
            }
            product_packed(exec, rows, D, seen, (strided){scores, seen, 1}, values,
                           (float *)y + (b * T + t0) * C + h * D, C, &(product_end){0});
        }
    }
    return DM_OK;
}

/* p[n] are scores, then probabilities; dp[n], the gradient of those, becomes that of the scores. */
static void attention_row(float *p, float *dp, size_t n, float scale, float lse, float own)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t some = n - i < LANES ? n - i : LANES;
        bool whole = some == LANES;
        vec s = whole ? vec_load(p + i) : vec_load_some(p + i, some);
        vec d = whole ? vec_load(dp + i) : vec_load_some(dp + i, some);
        vec e = vec_exp(vec_fma(s, vec_all(scale), vec_all(-lse)));
        d = (d - vec_all(own)) * e * vec_all(scale);
        if (whole) {
            vec_store(p + i, e);
            vec_store(dp + i, d);
        } else {
            vec_store_some(p + i, e, some);
            vec_store_some(dp + i, d, some);
        }
    }
}

static float dot(const float *a, const float *b, size_t n)
{
    vec total = vec_all(0);
    for (size_t i = 0; i < n; i += LANES) {
        size_t some = n - i < LANES ? n - i : LANES;
        total = vec_fma(vec_load_some(a + i, some), vec_load_some(b + i, some), total);
    }
    return vec_sum(total);
}

/* out[keys up to the strip's end][D] += p^T d, where p[rows][seen] begins at query t0 and d holds
 * the strip's rows, packed. */
static void attention_sums(dm_nn_exec *exec, const float *p, size_t t0, size_t rows, size_t seen,
                           strided d, size_t D, float *room, float *out, size_t step)
{
    product_end add = {.add = true};
    packed whole = pack_b(d, rows, D, room);
    if (t0 > 0)
        product_packed(exec, t0, D, rows, (strided){p, 1, seen}, whole, out, step, &add);
    for (size_t s0 = 0; s0 < rows; s0 += 2 * (size_t)ATTENTION_ROWS) {
        size_t keys = rows - s0 < 2 * ATTENTION_ROWS ? rows - s0 : 2 * ATTENTION_ROWS;
        packed rest = {whole.at, rows, D, s0};
        product_packed(exec, keys, D, rows - s0, (strided){p + s0 * seen + t0 + s0, 1, seen}, rest,
                       out + (t0 + s0) * step, step, &add);
    }
}

static dm_status attention_backward(dm_nn_exec *exec, const dm_nn_attention *op, const void *qkv,
                                    const void *y, const void *lse, const void *dy, void *dqkv,
                                    dm_error *err)
{
    (void)err;
    size_t T = op->T, C = op->C, H = op->H, D = C / H, strip = attention_strip(op);
    float *room_kt = scratch_after_product(exec), *room_vt = room_kt + packed_floats(D, T);
    float *room_k = room_vt + packed_floats(D, T), *room_d = room_k + packed_floats(T, D);
    float *p = room_d + packed_floats(T, D), *dp = p + strip * T;
    memset(dqkv, 0, op->B * T * 3 * C * sizeof(float));
    for (size_t bh = 0; bh < op->B * H; bh++) {
        size_t b = bh / H, h = bh % H;
        head at = head_of(op, qkv, b, h);
        strided d = {(const float *)dy + b * T * C + h * D, C, 1};
        const float *o = (const float *)y + b * T * C + h * D;
        float *dq = (float *)dqkv + b * T * at.step + h * D;
        packed keys_t = pack_b(transposed(at.k), D, T, room_kt);
        packed values_t = pack_b(transposed(at.v), D, T, room_vt);
        packed keys = pack_b(at.k, T, D, room_k);
        for (size_t t0 = 0; t0 < T; t0 += strip) {
            size_t rows = T - t0 < strip ? T - t0 : strip, seen = t0 + rows;
            for (size_t i = 0; i < rows; i += ATTENTION_ROWS) {
                size_t some = rows - i < ATTENTION_ROWS ? rows - i : ATTENTION_ROWS;
                size_t t = t0 + i, last = t + some;
                float *pi = p + i * seen, *dpi = dp + i * seen;
                product_packed(exec, some, last, D, from_row(at.q, t), keys_t, pi, seen,
                               &(product_end){0});
                product_packed(exec, some, last, D, from_row(d, t), values_t, dpi, seen,
                               &(product_end){0});
                for (size_t r = 0; r < some; r++) {
                    size_t own = t + r + 1;
                    attention_row(pi + r * seen, dpi + r * seen, own, at.scale,
                                  ((const float *)lse)[bh * T + t + r],
                                  dot(d.at + (t + r) * C, o + (t + r) * C, D));
                    memset(pi + r * seen + own, 0, (seen - own) * sizeof(float));
                    memset(dpi + r * seen + own, 0, (seen - own) * sizeof(float));
                }
                product_packed(exec, some, D, last, (strided){dpi, seen, 1}, keys, dq + t * at.step,
                               at.step, &(product_end){0});
            }
            attention_sums(exec, dp, t0, rows, seen, from_row(at.q, t0), D, room_d, dq + C,
                           at.step);
            attention_sums(exec, p, t0, rows, seen, from_row(d, t0), D, room_d, dq + 2 * C,
                           at.step);
        }
    }
    return DM_OK;
}
