/* SPDX-License-Identifier: MIT */
/* product.h - the matrix product that linear, conv, attention and GRU are made of.
 *
 *     C[M][N] = act((C +) A[M][K] B[K][N] + bias)
 *
 * B is packed: cut into blocks of KC rows, each block into panels of NR columns (a last one of
 * LANES columns where that is enough), so that the inner loop reads it in order from the first
 * cache. A is read where it lies when its rows are contiguous, and packed in panels of MR rows
 * when they are not.
 *
 *            NR    NR   LANES             A: MR rows
 *     KC  |  p0  |  p1  | p2 |              ----
 *     KC  |  p3  |  p4  | p5 |              ----   x one panel = MR x NR sums in registers
 *
 * A product whose B serves several calls packs it once (pack_b) and calls product_packed.
 *
 * Each result is one chain of K fused multiply-adds per block of KC, blocks in order: bits depend
 * on K and on the instruction set only, not on M, N, strides or threads. */

#define NR (2 * LANES)
#if LANES == 16
#define MR 12
#elif LANES == 8
#define MR 6
#else
#define MR 4
#endif
enum { PRODUCT_KC = 256, PRODUCT_MC = 20 * MR, PRODUCT_NC = 512 };
/* Floats of scratch. */
#define PRODUCT_SCRATCH ((size_t)PRODUCT_KC * (PRODUCT_MC + PRODUCT_NC))

/* A matrix with any strides, in elements. */
typedef struct strided {
    const float *at;
    size_t row, column;
} strided;

/* B in panels. Fewer rows and columns than were packed may be used; `first` rows of a B of at most
 * KC rows may be left out. */
typedef struct packed {
    const float *at;
    size_t K, N, first;
} packed;

/* What happens to the sums. All zero: they are stored. */
typedef struct product_end {
    bool add;                     /* to what is in C */
    const float *bias, *row_bias; /* [N]; [M] */
    dm_nn_activation activation;
    float *pre; /* laid out as C: the sums before the activation; NULL: not wanted */
} product_end;

static size_t whole_lanes(size_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static size_t packed_floats(size_t K, size_t N)
{
    return K * whole_lanes(N);
}

static size_t panel_width(size_t N, size_t j)
{
    return whole_lanes(N) - j >= NR ? NR : LANES;
}

/* to[k][width] from columns that lie `column` apart and rows that are contiguous. */
static void pack_panel_transposed(const float *from, size_t column, size_t k, size_t n,
                                  size_t width, float *to)
{
    for (size_t c = 0; c < width; c += LANES)
        for (size_t p = 0; p < k; p += LANES) {
            size_t rows = k - p < LANES ? k - p : LANES;
            vec x[LANES];
            for (size_t i = 0; i < LANES; i++) {
                const float *at = from + (c + i) * column + p;
                x[i] = c + i >= n      ? vec_all(0)
                       : rows == LANES ? vec_load(at)
                                       : vec_load_some(at, rows);
            }
            vec_transpose(x);
            for (size_t i = 0; i < rows; i++)
                vec_store(to + (p + i) * width + c, x[i]);
        }
}

static void pack_panel(strided b, size_t k, size_t n, size_t width, float *to)
{
    if (b.row == 1 && k > 1) {
        pack_panel_transposed(b.at, b.column, k, n, width, to);
        return;
    }
    for (size_t p = 0; p < k; p++, to += width) {
        const float *from = b.at + p * b.row;
        if (b.column == 1 && n >= width) {
            for (size_t c = 0; c < width; c += LANES)
                vec_store(to + c, vec_load(from + c));
        } else {
            for (size_t c = 0; c < width; c++)
                to[c] = c < n ? from[c * b.column] : 0;
        }
    }
}

static packed pack_b(strided b, size_t K, size_t N, float *to)
{
    packed out = {to, K, N, 0};
    for (size_t k0 = 0; k0 < K; k0 += PRODUCT_KC) {
        size_t k = K - k0 < PRODUCT_KC ? K - k0 : PRODUCT_KC;
        for (size_t j = 0, width; j < N; j += width, to += k * width) {
            width = panel_width(N, j);
            pack_panel((strided){b.at + k0 * b.row + j * b.column, b.row, b.column}, k,
                       N - j < width ? N - j : width, width, to);
        }
    }
    return out;
}

/* As many rows as one tile takes of m that are left. */
static size_t tile_rows(size_t m)
{
    if (m >= MR)
        return MR;
    return m >= 8 ? 8 : m >= 4 ? 4 : m >= 2 ? 2 : 1;
}

/* Some columns of A into panels of what a tile takes: to[k][rows] each. */
static void pack_a_columns(strided a, size_t m, size_t k, size_t first, size_t last, float *to)
{
    size_t i = 0;
    for (; a.row == 1 && i + MR <= m; i += MR)
        for (size_t p = first; p < last; p++) /* MR <= LANES */
            vec_store_some(to + i * k + p * MR, vec_load_some(a.at + p * a.column + i, MR), MR);
    for (size_t rows; i < m; i += rows) {
        rows = tile_rows(m - i);
        for (size_t p = first; p < last; p++)
            for (size_t r = 0; r < rows; r++)
                to[i * k + p * rows + r] = a.at[p * a.column + (i + r) * a.row];
    }
}

/* A few columns at a time: they may be far apart, and so may the panels. */
static void pack_a(strided a, size_t m, size_t k, float *to)
{
    enum { COLUMNS = 16 };
    for (size_t p = 0; p < k; p += COLUMNS)
        pack_a_columns(a, m, k, p, k - p < COLUMNS ? k : p + COLUMNS, to);
}

/* to[rows][vecs * LANES], rows `step` apart, = (to +) the product of rows of A and a panel of B
 * (+ bias[vecs * LANES], which may be NULL). */
VEC_FN void product_tile(const size_t rows, const size_t vecs, const float *a, size_t row,
                         size_t column, const float *b, size_t k, float *to, size_t step, bool add,
                         const float *bias)
{
    vec sum[MR][2];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = vec_all(0);
    for (size_t p = 0; p < k; p++) {
        vec b0 = vec_load(b), b1 = vecs > 1 ? vec_load(b + LANES) : b0;
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            vec x = vec_all(a[r * row]);
            sum[r][0] = vec_fma(x, b0, sum[r][0]);
            if (vecs > 1)
                sum[r][1] = vec_fma(x, b1, sum[r][1]);
        }
        a += column;
        b += vecs * LANES;
    }
    if (add) {
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            sum[r][0] += vec_load(to + r * step);
            if (vecs > 1)
                sum[r][1] += vec_load(to + r * step + LANES);
        }
    }
    if (bias) {
        vec b0 = vec_load(bias), b1 = vecs > 1 ? vec_load(bias + LANES) : b0;
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            sum[r][0] += b0;
            if (vecs > 1)
                sum[r][1] += b1;
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        vec_store(to + r * step, sum[r][0]);
        if (vecs > 1)
            vec_store(to + r * step + LANES, sum[r][1]);
    }
}

VEC_FN vec activate_vec(dm_nn_activation activation, vec x);

VEC_FN void end_vec(const product_end *end, bool add, bool last, vec sum, size_t row, size_t at,
                    size_t n, float *c, size_t ldc)
{
    float *to = c + row * ldc + at;
    bool whole = n == LANES;
    if (add)
        sum += whole ? vec_load(to) : vec_load_some(to, n);
    if (last && end->bias)
        sum += whole ? vec_load(end->bias + at) : vec_load_some(end->bias + at, n);
    if (last && end->row_bias)
        sum += vec_all(end->row_bias[row]);
    if (last && end->pre) {
        float *pre = end->pre + row * ldc + at;
        if (whole)
            vec_store(pre, sum);
        else
            vec_store_some(pre, sum, n);
    }
    if (last && end->activation != DM_NN_LINEAR)
        sum = activate_vec(end->activation, sum);
    if (whole)
        vec_store(to, sum);
    else
        vec_store_some(to, sum, n);
}

/* The usual end of a layer: a whole tile, bias, activation, and nothing else. */
VEC_FN void put_whole(dm_nn_activation activation, const float *tile, size_t rows, size_t width,
                      float *c, size_t ldc, const float *bias)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j += LANES) {
            vec sum = vec_load(tile + r * width + j);
            if (bias)
                sum += vec_load(bias + j);
            vec_store(c + r * ldc + j, activate_vec(activation, sum));
        }
}

/* Sums of one block of K into C. `end` points at column 0 of the tile. */
static void put_tile(const float *tile, size_t rows, size_t n, size_t width, float *c, size_t ldc,
                     bool add, bool last, const product_end *end)
{
    bool usual = last && !add && n == width && !end->pre && !end->row_bias;
    if (usual && end->activation == DM_NN_TANH) {
        put_whole(DM_NN_TANH, tile, rows, width, c, ldc, end->bias);
        return;
    }
    if (usual && end->activation == DM_NN_RELU) {
        put_whole(DM_NN_RELU, tile, rows, width, c, ldc, end->bias);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < n; j += LANES)
            end_vec(end, add, last, vec_load(tile + r * width + j), r, j,
                    n - j < LANES ? n - j : LANES, c, ldc);
}

#define TILE(rows)                                                                                 \
    static void tile_##rows(const float *a, size_t row, const float *b, size_t k, size_t width,    \
                            float *to, size_t step, bool add, const float *bias)                   \
    {                                                                                              \
        if (width == NR && row == 0)                                                               \
            product_tile(rows, 2, a, 1, rows, b, k, to, step, add, bias);                          \
        else if (width == NR)                                                                      \
            product_tile(rows, 2, a, row, 1, b, k, to, step, add, bias);                           \
        else if (row == 0)                                                                         \
            product_tile(rows, 1, a, 1, rows, b, k, to, step, add, bias);                          \
        else                                                                                       \
            product_tile(rows, 1, a, row, 1, b, k, to, step, add, bias);                           \
    }
#if LANES == 16
TILE(12)
TILE(8)
#elif LANES == 8
TILE(6)
#endif
TILE(4)
TILE(2)
TILE(1)

/* row == 0: a is packed. */
static void tile_of(size_t rows, const float *a, size_t row, const float *b, size_t k, size_t width,
                    float *to, size_t step, bool add, const float *bias)
{
    switch (rows) {
#if LANES == 16
    case 12:
        tile_12(a, row, b, k, width, to, step, add, bias);
        break;
    case 8:
        tile_8(a, row, b, k, width, to, step, add, bias);
        break;
#elif LANES == 8
    case 6:
        tile_6(a, row, b, k, width, to, step, add, bias);
        break;
#endif
    case 4:
        tile_4(a, row, b, k, width, to, step, add, bias);
        break;
    case 2:
        tile_2(a, row, b, k, width, to, step, add, bias);
        break;
    default:
        tile_1(a, row, b, k, width, to, step, add, bias);
    }
}

/* One block of K (k rows of a packed block of `packed_k`) for m rows of A. */
static void product_block(dm_nn_exec *exec, size_t m, size_t N, size_t k, strided a,
                          const float *panels, const packed *b, size_t packed_k, float *c,
                          size_t ldc, bool add, bool last, const product_end *end)
{
    float *room = exec->scratch, tile[MR * NR];
    bool in_place = a.column == 1;
    bool ends = end->row_bias || end->pre || end->activation != DM_NN_LINEAR;
    if (!in_place)
        pack_a(a, m, k, room);
    for (size_t j = 0, width; j < N; j += width) {
        width = panel_width(b->N, j);
        const float *panel = panels + j * packed_k + b->first * width;
        size_t n = N - j < width ? N - j : width;
        bool direct = n == width && !(last && ends); /* from registers to C */
        const float *bias = last && end->bias ? end->bias + j : NULL;
        for (size_t i = 0, rows; i < m; i += rows) {
            rows = tile_rows(m - i);
            const float *from = in_place ? a.at + i * a.row : room + i * k;
            size_t step = in_place ? a.row : 0;
            float *to = c + i * ldc + j;
            if (direct) {
                tile_of(rows, from, step, panel, k, width, to, ldc, add, bias);
                continue;
            }
            product_end here = *end;
            here.bias = bias;
            here.row_bias = end->row_bias ? end->row_bias + i : NULL;
            here.pre = end->pre ? end->pre + i * ldc + j : NULL;
            tile_of(rows, from, step, panel, k, width, tile, width, false, NULL);
            put_tile(tile, rows, n, width, to, ldc, add, last, &here);
        }
    }
}

static product_end end_of_rows(const product_end *end, size_t row, size_t ldc)
{
    product_end out = *end;
    out.row_bias = end->row_bias ? end->row_bias + row : NULL;
    out.pre = end->pre ? end->pre + row * ldc : NULL;
    return out;
}

/* Rows of c are ldc apart. */
static void product_packed(dm_nn_exec *exec, size_t M, size_t N, size_t K, strided a, packed b,
                           float *c, size_t ldc, const product_end *end)
{
    for (size_t k0 = 0; k0 < K; k0 += PRODUCT_KC) {
        size_t k = K - k0 < PRODUCT_KC ? K - k0 : PRODUCT_KC;
        size_t packed_k = b.K - k0 < PRODUCT_KC ? b.K - k0 : PRODUCT_KC;
        for (size_t m0 = 0; m0 < M; m0 += PRODUCT_MC) {
            product_end here = end_of_rows(end, m0, ldc);
            product_block(exec, M - m0 < PRODUCT_MC ? M - m0 : PRODUCT_MC, N, k,
                          (strided){a.at + m0 * a.row + k0 * a.column, a.row, a.column},
                          b.at + k0 * whole_lanes(b.N), &b, packed_k, c + m0 * ldc, ldc,
                          end->add || k0 > 0, k0 + k == K, &here);
        }
    }
}

/* B is packed in the scratch memory, a block of columns at a time. */
static void product(dm_nn_exec *exec, size_t M, size_t N, size_t K, strided a, strided b, float *c,
                    size_t ldc, product_end end)
{
    float *room = (float *)exec->scratch + (size_t)PRODUCT_KC * PRODUCT_MC;
    for (size_t n0 = 0; n0 < N; n0 += PRODUCT_NC) {
        size_t n = N - n0 < PRODUCT_NC ? N - n0 : PRODUCT_NC;
        for (size_t k0 = 0; k0 < K; k0 += PRODUCT_KC) {
            size_t k = K - k0 < PRODUCT_KC ? K - k0 : PRODUCT_KC;
            strided bb = {b.at + k0 * b.row + n0 * b.column, b.row, b.column};
            packed block = pack_b(bb, k, n, room);
            bool last = k0 + k == K;
            product_end here = {end.add || k0 > 0, last && end.bias ? end.bias + n0 : NULL,
                                last ? end.row_bias : NULL, last ? end.activation : DM_NN_LINEAR,
                                last && end.pre ? end.pre + n0 : NULL};
            product_packed(exec, M, n, k, (strided){a.at + k0 * a.column, a.row, a.column}, block,
                           c + n0, ldc, &here);
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
