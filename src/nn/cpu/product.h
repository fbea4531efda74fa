/* SPDX-License-Identifier: MIT */
/* product.h - the matrix product that linear, conv, attention and GRU are made of.
 *
 *     C[M][N] (+)= A[M][K] B[K][N]
 *
 * Blocks of A and B are packed so that the inner loop reads memory in order:
 *
 *     A: MC x KC as panels of MR rows     B: KC x NC as panels of NR columns
 *
 * and computes MR x NR results in registers. Sums over K are taken in blocks of KC, in order: the
 * result does not depend on anything but the sizes. A and B have any strides, so transposed
 * operands cost nothing more. */

#define NR (2 * LANES)
#if LANES == 16
#define MR 12
#elif LANES == 8
#define MR 6
#else
#define MR 4
#endif
enum { PRODUCT_KC = 256, PRODUCT_MC = 8 * MR, PRODUCT_NC = 512 };
/* Floats of scratch. */
#define PRODUCT_SCRATCH ((size_t)PRODUCT_KC * (PRODUCT_MC + PRODUCT_NC))

/* A matrix with any strides, in elements. */
typedef struct strided {
    const float *at;
    size_t row, column;
} strided;

static void pack_a(strided a, size_t m, size_t k, float *to)
{
    for (size_t i = 0; i < m; i += MR)
        for (size_t p = 0; p < k; p++)
            for (size_t r = 0; r < MR; r++)
                *to++ = i + r < m ? a.at[(i + r) * a.row + p * a.column] : 0;
}

static void pack_b(strided b, size_t k, size_t n, float *to)
{
    for (size_t j = 0; j < n; j += NR)
        for (size_t p = 0; p < k; p++) {
            const float *from = b.at + p * b.row + j * b.column;
            if (b.column == 1 && j + NR <= n) {
                memcpy(to, from, NR * sizeof(float));
            } else {
                for (size_t c = 0; c < NR; c++)
                    to[c] = j + c < n ? from[c * b.column] : 0;
            }
            to += NR;
        }
}

/* tile[MR][NR] = the product of a panel of A and a panel of B. */
static void product_tile(const float *a, const float *b, size_t k, float *tile)
{
    vec sum[MR][2];
    for (size_t r = 0; r < MR; r++)
        sum[r][0] = sum[r][1] = vec_all(0);
    for (size_t p = 0; p < k; p++) {
        vec b0 = vec_load(b + p * NR), b1 = vec_load(b + p * NR + LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < MR; r++) {
            vec x = vec_all(a[p * MR + r]);
            sum[r][0] = vec_fma(x, b0, sum[r][0]);
            sum[r][1] = vec_fma(x, b1, sum[r][1]);
        }
    }
    for (size_t r = 0; r < MR; r++) {
        vec_store(tile + r * NR, sum[r][0]);
        vec_store(tile + r * NR + LANES, sum[r][1]);
    }
}

static void put_tile(const float *tile, size_t m, size_t n, float *c, size_t ldc, bool add)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++)
            c[r * ldc + j] = add ? c[r * ldc + j] + tile[r * NR + j] : tile[r * NR + j];
}

/* Rows of c are ldc apart. */
static void product(dm_nn_exec *exec, size_t M, size_t N, size_t K, strided a, strided b, float *c,
                    size_t ldc, bool add)
{
    float *packed_a = exec->scratch, *packed_b = packed_a + (size_t)PRODUCT_KC * PRODUCT_MC;
    for (size_t k0 = 0; k0 < K; k0 += PRODUCT_KC) {
        size_t k = K - k0 < PRODUCT_KC ? K - k0 : PRODUCT_KC;
        for (size_t n0 = 0; n0 < N; n0 += PRODUCT_NC) {
            size_t n = N - n0 < PRODUCT_NC ? N - n0 : PRODUCT_NC;
            strided bb = {b.at + k0 * b.row + n0 * b.column, b.row, b.column};
            pack_b(bb, k, n, packed_b);
            for (size_t m0 = 0; m0 < M; m0 += PRODUCT_MC) {
                size_t m = M - m0 < PRODUCT_MC ? M - m0 : PRODUCT_MC;
                strided aa = {a.at + m0 * a.row + k0 * a.column, a.row, a.column};
                pack_a(aa, m, k, packed_a);
                for (size_t j = 0; j < n; j += NR)
                    for (size_t i = 0; i < m; i += MR) {
                        float tile[MR * NR];
                        product_tile(packed_a + i * k, packed_b + j * k, k, tile);
                        put_tile(tile, m - i < MR ? m - i : MR, n - j < NR ? n - j : NR,
                                 c + (m0 + i) * ldc + n0 + j, ldc, add || k0 > 0);
                    }
            }
        }
    }
}

static size_t product_scratch(void)
{
    return PRODUCT_SCRATCH * sizeof(float);
}

/* Scratch behind what products use. */
static float *scratch_after_product(const dm_nn_exec *exec)
{
    return (float *)exec->scratch + PRODUCT_SCRATCH;
}
