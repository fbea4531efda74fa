/* SPDX-License-Identifier: MIT */
/* gru.h - the recurrent part of a GRU, and MinGRU. A step of all B sequences is two products whose
 * weights are packed once for all steps; the gradient of the weights is a product over all steps of
 * a sequence. Letters as in ops.h. */

/* Floats: packed weights; the states before a step, r * state and its gradient for B sequences or
 * T steps. */
static size_t gru_floats(const dm_nn_gru *op)
{
    size_t H = op->H, rows = op->B > op->T ? op->B : op->T;
    size_t forward = packed_floats(H, 2 * H) + packed_floats(H, H);
    size_t backward = packed_floats(2 * H, H) + packed_floats(H, H);
    return (forward > backward ? forward : backward) + 3 * rows * H;
}

static size_t gru_scratch(const dm_nn_exec *exec, const dm_nn_gru *op)
{
    (void)exec;
    return product_scratch() + gru_floats(op) * sizeof(float);
}

/* The state before step t of sequence b; NULL stands for zeros. */
static const float *gru_last(const dm_nn_gru *op, const float *h, const float *h0,
                             const uint8_t *starts, size_t b, size_t t)
{
    if (starts && starts[b * op->T + t])
        return NULL;
    if (t > 0)
        return h + (b * op->T + t - 1) * op->H;
    return h0 ? h0 + b * op->H : NULL;
}

/* The same, copied to to[H]. */
static void gru_before(const dm_nn_gru *op, const float *h, const float *h0, const uint8_t *starts,
                       size_t b, size_t t, float *to)
{
    const float *last = gru_last(op, h, h0, starts, b, t);
    if (last)
        memcpy(to, last, op->H * sizeof(float));
    else
        memset(to, 0, op->H * sizeof(float));
}

static dm_status gru(dm_nn_exec *exec, const dm_nn_gru *op, const void *a_, const void *u_,
                     const void *h0, const uint8_t *starts, void *h_, void *tape_, dm_error *err)
{
    (void)err;
    const float *a = a_, *u = u_;
    float *h = h_, *tape = tape_;
    size_t B = op->B, T = op->T, H = op->H;
    product_end add = {.add = true};
    float *room = scratch_after_product(exec), *room_n = room + packed_floats(H, 2 * H);
    float *last = room_n + packed_floats(H, H), *held = last + B * H;
    packed gates = pack_b((strided){u, 1, H}, H, 2 * H, room);
    packed candidate = pack_b((strided){u + 2 * H * H, 1, H}, H, H, room_n);
    memcpy(tape, a, B * T * 3 * H * sizeof(float));
    for (size_t t = 0; t < T; t++) {
        float *step = tape + t * 3 * H; /* z, r, n of the first sequence */
        for (size_t b = 0; b < B; b++)
            gru_before(op, h, h0, starts, b, t, last + b * H);
        product_packed(exec, B, 2 * H, H, (strided){last, H, 1}, gates, step, T * 3 * H, &add);
        for (size_t b = 0; b < B; b++)
            for (size_t i = 0; i < H; i += LANES) {
                float *z = step + b * T * 3 * H, *r = z + H;
                vec gate = vec_sigmoid(row_load(r, i, H));
                row_store(z, i, H, vec_sigmoid(row_load(z, i, H)));
                row_store(r, i, H, gate);
                row_store(held + b * H, i, H, gate * row_load(last + b * H, i, H));
            }
        product_packed(exec, B, H, H, (strided){held, H, 1}, candidate, step + 2 * H, T * 3 * H,
                       &add);
        for (size_t b = 0; b < B; b++)
            for (size_t i = 0; i < H; i += LANES) {
                float *z = step + b * T * 3 * H, *n = z + 2 * H;
                vec to = vec_tanh(row_load(n, i, H)), from = row_load(last + b * H, i, H);
                row_store(n, i, H, to);
                row_store(h + (b * T + t) * H, i, H, vec_fma(row_load(z, i, H), to - from, from));
            }
    }
    return DM_OK;
}

/* The gradients of the gates of step t of sequence b, but for r's product with the weights. */
static void gru_slopes(const float *d, const float *gates, const float *last, float *da, size_t H)
{
    for (size_t i = 0; i < H; i += LANES) {
        vec z = row_load(gates, i, H), n = row_load(gates + 2 * H, i, H), dh = row_load(d, i, H);
        row_store(da, i, H, dh * (n - row_load(last, i, H)) * z * (vec_all(1) - z));
        row_store(da + 2 * H, i, H, dh * z * (vec_all(1) - n * n));
    }
}

/* dheld is the gradient of r * last: gives da's r and that of the state before, so far. */
static void gru_reset(const float *d, const float *gates, const float *last, const float *dheld,
                      float *da, float *dlast, size_t H)
{
    for (size_t i = 0; i < H; i += LANES) {
        vec r = row_load(gates + H, i, H), q = row_load(dheld, i, H);
        vec keep = vec_all(1) - row_load(gates, i, H);
        row_store(da + H, i, H, q * row_load(last, i, H) * r * (vec_all(1) - r));
        row_store(dlast, i, H, vec_fma(q, r, row_load(d, i, H) * keep));
    }
}

static dm_status gru_backward(dm_nn_exec *exec, const dm_nn_gru *op, const void *u_, const void *h0,
                              const uint8_t *starts, const void *h_, const void *tape_, void *dh_,
                              void *da_, void *du_, void *dh0, dm_error *err)
{
    (void)err;
    const float *u = u_, *h = h_, *tape = tape_;
    float *dh = dh_, *da = da_, *du = du_;
    size_t B = op->B, T = op->T, H = op->H, step = 3 * H;
    product_end add = {.add = true};
    float *room = scratch_after_product(exec), *room_n = room + packed_floats(2 * H, H);
    float *last = room_n + packed_floats(H, H), *dheld = last + (B > T ? B : T) * H;
    float *dlast = dheld + (B > T ? B : T) * H;
    packed gates = pack_b((strided){u, H, 1}, 2 * H, H, room);
    packed candidate = pack_b((strided){u + 2 * H * H, H, 1}, H, H, room_n);
    if (dh0)
        memset(dh0, 0, B * H * sizeof(float));
    for (size_t t = T; t-- > 0;) {
        for (size_t b = 0; b < B; b++) {
            size_t row = b * T + t;
            gru_before(op, h, h0, starts, b, t, last + b * H);
            gru_slopes(dh + row * H, tape + row * step, last + b * H, da + row * step, H);
        }
        float *first = da + t * step;
        product_packed(exec, B, H, H, (strided){first + 2 * H, T * step, 1}, candidate, dheld, H,
                       &(product_end){0});
        for (size_t b = 0; b < B; b++) {
            size_t row = b * T + t;
            gru_reset(dh + row * H, tape + row * step, last + b * H, dheld + b * H, da + row * step,
                      dlast + b * H, H);
        }
        product_packed(exec, B, H, 2 * H, (strided){first, T * step, 1}, gates, dlast, H, &add);
        for (size_t b = 0; b < B; b++) { /* a step that starts an episode passes nothing on */
            float *to = t > 0 ? dh + (b * T + t - 1) * H : h0 && dh0 ? (float *)dh0 + b * H : NULL;
            if (to && !(starts && starts[b * T + t]))
                add_all(to, dlast + b * H, to, H);
        }
    }
    float *held = dheld; /* r * last, of all steps of one sequence */
    for (size_t b = 0; b < B; b++) {
        const float *d = da + b * T * step;
        for (size_t t = 0; t < T; t++) {
            const float *r = tape + (b * T + t) * step + H;
            gru_before(op, h, h0, starts, b, t, last + t * H);
            for (size_t i = 0; i < H; i += LANES)
                row_store(held + t * H, i, H, row_load(r, i, H) * row_load(last + t * H, i, H));
        }
        product(exec, 2 * H, H, T, (strided){d, 1, step}, (strided){last, H, 1}, du, H, add);
        product(exec, H, H, T, (strided){d + 2 * H, 1, step}, (strided){held, H, 1}, du + 2 * H * H,
                H, add);
    }
    return DM_OK;
}

static dm_status mingru(dm_nn_exec *exec, const dm_nn_mingru *op, const void *a_, const void *h0,
                        const uint8_t *starts, void *h_, dm_error *err)
{
    (void)exec, (void)err;
    float *h = h_;
    size_t H = op->H;
    for (size_t row = 0; row < (size_t)op->B * op->T; row++) {
        const float *a = (const float *)a_ + row * 2 * H;
        const float *last = gru_last(op, h, h0, starts, row / op->T, row % op->T);
        for (size_t i = 0; i < H; i += LANES) {
            vec from = last ? row_load(last, i, H) : vec_all(0);
            vec z = vec_sigmoid(row_load(a, i, H));
            row_store(h + row * H, i, H, vec_fma(z, row_load(a + H, i, H) - from, from));
        }
    }
    return DM_OK;
}

static dm_status mingru_backward(dm_nn_exec *exec, const dm_nn_mingru *op, const void *a_,
                                 const void *h0, const uint8_t *starts, const void *h, void *dh_,
                                 void *da_, void *dh0, dm_error *err)
{
    (void)exec, (void)err;
    float *dh = dh_;
    size_t T = op->T, H = op->H;
    if (dh0)
        memset(dh0, 0, op->B * H * sizeof(float));
    for (size_t row = (size_t)op->B * T; row-- > 0;) {
        const float *a = (const float *)a_ + row * 2 * H, *d = dh + row * H;
        float *da = (float *)da_ + row * 2 * H;
        const float *last = gru_last(op, h, h0, starts, row / T, row % T);
        float *to = !last ? NULL : row % T > 0 ? dh + (row - 1) * H : NULL;
        if (last && row % T == 0 && dh0)
            to = (float *)dh0 + row / T * H;
        for (size_t i = 0; i < H; i += LANES) {
            vec z = vec_sigmoid(row_load(a, i, H)), n = row_load(a + H, i, H);
            vec di = row_load(d, i, H), from = last ? row_load(last, i, H) : vec_all(0);
            row_store(da, i, H, di * (n - from) * z * (vec_all(1) - z));
            row_store(da + H, i, H, di * z);
            if (to)
                row_store(to, i, H, vec_fma(di, vec_all(1) - z, row_load(to, i, H)));
        }
    }
    return DM_OK;
}
