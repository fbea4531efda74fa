/* SPDX-License-Identifier: MIT */
/* gru.h - the recurrent part of a GRU, and MinGRU, plain. */

/* The state before step t: NULL stands for zeros. */
static const REAL *PLAIN(before)(const dm_nn_gru *op, const REAL *h, const REAL *h0,
                                 const uint8_t *starts, size_t b, size_t t)
{
    if (starts && starts[b * op->T + t])
        return NULL;
    if (t > 0)
        return h + (b * op->T + t - 1) * op->H;
    return h0 ? h0 + b * op->H : NULL;
}

static dm_status PLAIN(gru)(dm_nn_exec *exec, const dm_nn_gru *op, const void *a_, const void *u_,
                            const void *h0, const uint8_t *starts, void *h_, void *tape_,
                            dm_error *err)
{
    (void)exec, (void)err;
    const REAL *a = a_, *u = u_;
    REAL *h = h_, *tape = tape_;
    size_t H = op->H;
    for (size_t b = 0; b < op->B; b++)
        for (size_t t = 0; t < op->T; t++) {
            size_t row = b * op->T + t;
            const REAL *in = a + row * 3 * H;
            REAL *z = tape + row * 3 * H, *r = z + H, *n = r + H;
            const REAL *last = PLAIN(before)(op, h, h0, starts, b, t);
            for (size_t i = 0; i < 2 * H; i++) { /* z, then r */
                REAL sum = in[i];
                for (size_t j = 0; last && j < H; j++)
                    sum += u[i * H + j] * last[j];
                z[i] = PLAIN(sigmoid)(sum);
            }
            for (size_t i = 0; i < H; i++) {
                REAL sum = in[2 * H + i];
                for (size_t j = 0; last && j < H; j++)
                    sum += u[(2 * H + i) * H + j] * r[j] * last[j];
                n[i] = MATH(tanh)(sum);
            }
            for (size_t i = 0; i < H; i++)
                h[row * H + i] = (1 - z[i]) * (last ? last[i] : 0) + z[i] * n[i];
        }
    return DM_OK;
}

static dm_status PLAIN(gru_backward)(dm_nn_exec *exec, const dm_nn_gru *op, const void *u_,
                                     const void *h0, const uint8_t *starts, const void *h_,
                                     const void *tape_, void *dh_, void *da_, void *du_, void *dh0_,
                                     dm_error *err)
{
    (void)exec, (void)err;
    const REAL *u = u_, *h = h_, *tape = tape_;
    REAL *dh = dh_, *da = da_, *du = du_, *dh0 = dh0_;
    size_t H = op->H;
    if (dh0)
        for (size_t i = 0; i < op->B * H; i++)
            dh0[i] = 0;
    for (size_t b = 0; b < op->B; b++)
        for (size_t t = op->T; t-- > 0;) {
            size_t row = b * op->T + t;
            const REAL *z = tape + row * 3 * H, *r = z + H, *n = r + H, *d = dh + row * H;
            REAL *az = da + row * 3 * H, *ar = az + H, *an = ar + H;
            const REAL *last = PLAIN(before)(op, h, h0, starts, b, t);
            /* Where the gradient of the state before goes. */
            REAL *dlast = !last ? NULL : t > 0 ? dh + (row - 1) * H : dh0 ? dh0 + b * H : NULL;
            for (size_t i = 0; i < H; i++) {
                az[i] = d[i] * (n[i] - (last ? last[i] : 0)) * z[i] * (1 - z[i]);
                an[i] = d[i] * z[i] * (1 - n[i] * n[i]);
            }
            for (size_t j = 0; j < H; j++) {
                REAL q = 0; /* the gradient of r[j] * last[j] */
                for (size_t i = 0; last && i < H; i++)
                    q += u[(2 * H + i) * H + j] * an[i];
                ar[j] = last ? q * last[j] * r[j] * (1 - r[j]) : 0;
                if (dlast)
                    dlast[j] += q * r[j] + d[j] * (1 - z[j]);
            }
            if (!last)
                continue;
            for (size_t i = 0; i < 3 * H; i++)
                for (size_t j = 0; j < H; j++)
                    du[i * H + j] += az[i] * (i < 2 * H ? last[j] : r[j] * last[j]);
            if (!dlast)
                continue;
            for (size_t j = 0; j < H; j++)
                for (size_t i = 0; i < 2 * H; i++)
                    dlast[j] += u[i * H + j] * az[i];
        }
    return DM_OK;
}

static dm_status PLAIN(mingru)(dm_nn_exec *exec, const dm_nn_mingru *op, const void *a_,
                               const void *h0, const uint8_t *starts, void *h_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *a = a_;
    REAL *h = h_;
    size_t H = op->H;
    for (size_t b = 0; b < op->B; b++)
        for (size_t t = 0; t < op->T; t++) {
            size_t row = b * op->T + t;
            const REAL *last = PLAIN(before)(op, h, h0, starts, b, t);
            for (size_t i = 0; i < H; i++) {
                REAL z = PLAIN(sigmoid)(a[row * 2 * H + i]);
                h[row * H + i] = (1 - z) * (last ? last[i] : 0) + z * a[row * 2 * H + H + i];
            }
        }
    return DM_OK;
}

static dm_status PLAIN(mingru_backward)(dm_nn_exec *exec, const dm_nn_mingru *op, const void *a_,
                                        const void *h0, const uint8_t *starts, const void *h_,
                                        void *dh_, void *da_, void *dh0_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *a = a_, *h = h_;
    REAL *dh = dh_, *da = da_, *dh0 = dh0_;
    size_t H = op->H;
    if (dh0)
        for (size_t i = 0; i < op->B * H; i++)
            dh0[i] = 0;
    for (size_t b = 0; b < op->B; b++)
        for (size_t t = op->T; t-- > 0;) {
            size_t row = b * op->T + t;
            const REAL *last = PLAIN(before)(op, h, h0, starts, b, t);
            REAL *dlast = !last ? NULL : t > 0 ? dh + (row - 1) * H : dh0 ? dh0 + b * H : NULL;
            for (size_t i = 0; i < H; i++) {
                REAL z = PLAIN(sigmoid)(a[row * 2 * H + i]), n = a[row * 2 * H + H + i];
                REAL d = dh[row * H + i];
                da[row * 2 * H + i] = d * (n - (last ? last[i] : 0)) * z * (1 - z);
                da[row * 2 * H + H + i] = d * z;
                if (dlast)
                    dlast[i] += d * (1 - z);
            }
        }
    return DM_OK;
}
