/* SPDX-License-Identifier: MIT */
/* flash.h - causal attention in bfloat16 on the matrix units (mma.sync), for heads of 32, 64 and 128
 * numbers. Nothing of size T x T leaves the registers; attention.h does other heads (up to 256)
 * and float; tests compare all of them with nn/plain/attention.h in double.
 *
 * Four warps share a tile of rows, 16 MT for each warp (MT: fragments of 16 rows; two share each
 * load of the other operand), and walk over the other side of the T x T square:
 *
 *     forward   tiles of queries; keys and values stream through two buffers; online softmax
 *     dq        tiles of queries again: s and ds = p (dp - delta) are computed anew, dq += ds k
 *     dkv       tiles of keys; queries and dy stream by, transposed: dv += p' dy, dk += ds' q
 *
 * The gradients take seven products where one pass with atomic additions would take five; in
 * exchange every sum has one order, so that the bits are the same every time.
 *
 * Fragments (D = A B, 16 x 8 x 16): lane l holds rows g = l / 4 and g + 8, columns 2 (l % 4) and the
 * next. Two neighbouring results are, rounded, the A fragment of the next product. */
#include "nn/cuda/flash_common.h"

#define THREADS 128

/* Rows in shared memory are 8 numbers longer than a head, so that the eight rows of a matrix load
 * lie in different banks. */
#define PITCH (D + 8)

/* Wait until at most `later` of the newest groups are on their way. */
template <int later> DM_FN void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(later));
}

/* R rows of D numbers from row `first` on, which lie `stride` apart; rows from T on become zero. */
template <int D, int R>
DM_FN void tile_load(uint16_t *tile, const void *p, uint64_t stride, uint32_t first, uint32_t T)
{
    constexpr int PARTS = D / 8;
#pragma unroll
    for (int i = 0; i < R * PARTS / THREADS; i++) {
        uint32_t k = (uint32_t)i * THREADS + threadIdx.x, row = k / PARTS, part = k % PARTS;
        bool there = first + row < T;
        const uint16_t *from = (const uint16_t *)p + (there ? first + row : 0) * stride + part * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         nn_shared(tile + row * PITCH + part * 8)),
                     "l"(from), "r"(there ? 16 : 0));
    }
}

/* Rows r..r+15, columns k..k+15 of a tile as an A fragment. */
template <int D> DM_FN void load_a(uint32_t (&f)[4], const uint16_t *tile, int r, int k)
{
    int lane = threadIdx.x & 31;
    nn_ldmatrix(f, tile + (r + (lane & 15)) * PITCH + k + (lane >> 4) * 8);
}

/* The product with the tile transposed: rows n..n+15 are columns of B. f[0..1] and f[2..3]. */
template <int D> DM_FN void load_b_rows(uint32_t (&f)[4], const uint16_t *tile, int n, int k)
{
    int lane = threadIdx.x & 31;
    nn_ldmatrix(f, tile + (n + (lane & 7) + (lane >> 4) * 8) * PITCH + k + ((lane >> 3) & 1) * 8);
}

/* The product with the tile as it lies: columns n..n+15 are columns of B. */
template <int D> DM_FN void load_b_columns(uint32_t (&f)[4], const uint16_t *tile, int k, int n)
{
    int lane = threadIdx.x & 31;
    nn_ldmatrix_trans(f, tile + (k + (lane & 15)) * PITCH + n + (lane >> 4) * 8);
}

template <int MT, int N> DM_FN void clear(float (&s)[MT][N][4])
{
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[m][n][i] = 0;
}

/* s[MT][N/8] += columns k..k+15 of A times those of the tile's rows from n0 on; row(m) is A's m-th fragment. */
template <int D, int MT, int N, typename Row>
DM_FN void product_step(float (&s)[MT][N / 8][4], const Row &row, const uint16_t *tile, int n0,
                        int k)
{
#pragma unroll
    for (int n = 0; n < N / 16; n++) {
        uint32_t b[4];
        load_b_rows<D>(b, tile, n0 + n * 16, k);
#pragma unroll
        for (int m = 0; m < MT; m++) {
            nn_mma(s[m][2 * n], row(m), b[0], b[1]);
            nn_mma(s[m][2 * n + 1], row(m), b[2], b[3]);
        }
    }
}

/* s[MT][N/8] = a[MT] times rows n0.. of the tile, transposed. */
template <int D, int MT, int N>
DM_FN void product_rows(float (&s)[MT][N / 8][4], const uint32_t (&a)[MT][D / 16][4],
                        const uint16_t *tile, int n0)
{
    clear(s);
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        auto row = [&](int m) -> const uint32_t(&)[4] { return a[m][k]; };
        product_step<D, MT, N>(s, row, tile, n0, k * 16);
    }
}

/* The same with the rows r0.. of tile `at` as A, loaded as needed. */
template <int D, int MT, int N>
DM_FN void product_tiles(float (&s)[MT][N / 8][4], const uint16_t *at, int r0, const uint16_t *tile,
                         int n0)
{
    clear(s);
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t a[MT][4];
#pragma unroll
        for (int m = 0; m < MT; m++)
            load_a<D>(a[m], at, r0 + m * 16, k * 16);
        auto row = [&](int m) -> const uint32_t(&)[4] { return a[m]; };
        product_step<D, MT, N>(s, row, tile, n0, k * 16);
    }
}

/* out[MT][D/8] += p[MT][N/8], rounded, times rows k0..k0+N-1 of the tile. */
template <int D, int MT, int N>
DM_FN void product_add(float (&out)[MT][D / 8][4], const float (&p)[MT][N / 8][4],
                       const uint16_t *tile, int k0)
{
#pragma unroll
    for (int k = 0; k < N / 16; k++) {
        uint32_t a[MT][4];
#pragma unroll
        for (int m = 0; m < MT; m++) {
            a[m][0] = nn_pack(p[m][2 * k][0], p[m][2 * k][1]);
            a[m][1] = nn_pack(p[m][2 * k][2], p[m][2 * k][3]);
            a[m][2] = nn_pack(p[m][2 * k + 1][0], p[m][2 * k + 1][1]);
            a[m][3] = nn_pack(p[m][2 * k + 1][2], p[m][2 * k + 1][3]);
        }
#pragma unroll
        for (int n = 0; n < D / 16; n++) {
            uint32_t b[4];
            load_b_columns<D>(b, tile, k0 + k * 16, n * 16);
#pragma unroll
            for (int m = 0; m < MT; m++) {
                nn_mma(out[m][2 * n], a[m], b[0], b[1]);
                nn_mma(out[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* The warp's MT * 16 rows from `first` on, times a factor per row, to rows `stride` apart. */
template <int D, int MT>
DM_FN void rows_store(void *p, uint64_t stride, uint32_t first, uint32_t T,
                      const float (&v)[MT][D / 8][4], const float (&factor)[MT][2])
{
    int lane = threadIdx.x & 31;
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t row = first + m * 16 + half * 8 + lane / 4;
            if (row >= T)
                continue;
            uint16_t *to = (uint16_t *)p + row * stride + 2 * (lane & 3);
#pragma unroll
            for (int n = 0; n < D / 8; n++)
                *(uint32_t *)(to + n * 8) = nn_pack(v[m][n][2 * half] * factor[m][half],
                                                    v[m][n][2 * half + 1] * factor[m][half]);
        }
}

extern __shared__ __align__(16) uint16_t flash_memory[];

/* Tile j of the keys and of the values to one of two buffers, in turns. */
template <int D, int KEYS> DM_FN void keys_load(const flash_place &at, uint32_t j, uint32_t T)
{
    constexpr int TILE = KEYS * PITCH;
    uint16_t *to = flash_memory + (j & 1) * 2 * TILE;
    tile_load<D, KEYS>(to, at.k, at.qkv_stride, j * KEYS, T);
    tile_load<D, KEYS>(to + TILE, at.v, at.qkv_stride, j * KEYS, T);
}

template <int D, int MT, int KEYS> DM_FN void flash_forward(const nn_attention_args &args)
{
    constexpr int ROWS = 64 * MT, TILE = KEYS * PITCH;
    const flash_place at = queries_of(args, D, ROWS, KEYS);
    const uint32_t T = args.T, lane = threadIdx.x & 31;
    const uint32_t local = (threadIdx.x >> 5) * 16 * MT; /* the warp's first row */
    const uint32_t mine = at.first + local;

    uint32_t q[MT][D / 16][4];
    tile_load<D, ROWS>(flash_memory, at.q, at.qkv_stride, at.first, T);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int k = 0; k < D / 16; k++)
            load_a<D>(q[m][k], flash_memory, (int)local + m * 16, k * 16);
    __syncthreads();
    keys_load<D, KEYS>(at, 0, T);
    copy_commit();

    float y[MT][D / 8][4] = {}, high[MT][2], sum[MT][2] = {};
#pragma unroll
    for (int m = 0; m < MT; m++)
        high[m][0] = high[m][1] = -NN_INFINITY;
    for (uint32_t j = 0; j < at.end; j++) {
        uint16_t *k = flash_memory + (j & 1) * 2 * TILE, *v = k + TILE;
        if (j + 1 < at.end)
            keys_load<D, KEYS>(at, j + 1, T);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        if (j * KEYS < mine + 16 * MT) {
            float s[MT][KEYS / 8][4];
            product_rows<D, MT, KEYS>(s, q, k, 0);
            if ((j + 1) * KEYS > mine) { /* some keys come after a query */
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            if (j * KEYS + n * 8 + 2 * (lane & 3) + (i & 1) >
                                mine + m * 16 + lane / 4 + (i >> 1) * 8)
                                s[m][n][i] = -NN_INFINITY;
            }
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float top = high[m][half], total = 0;
#pragma unroll
                    for (int n = 0; n < KEYS / 8; n++)
                        top = fmaxf(top, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
                    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
                    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
                    /* The first tile has key 0, so top is a number. */
                    float keep = exp2_fast((high[m][half] - top) * at.scale),
                          shift = top * at.scale;
                    high[m][half] = top;
#pragma unroll
                    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                        for (int i = 2 * half; i < 2 * half + 2; i++) {
                            s[m][n][i] = exp2_fast(s[m][n][i] * at.scale - shift);
                            total += s[m][n][i];
                        }
                    sum[m][half] = sum[m][half] * keep + total;
#pragma unroll
                    for (int n = 0; n < D / 8; n++) {
                        y[m][n][2 * half] *= keep;
                        y[m][n][2 * half + 1] *= keep;
                    }
                }
            product_add<D, MT, KEYS>(y, s, v, 0);
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float total = sum[m][half];
            total += __shfl_xor_sync(0xFFFFFFFFu, total, 1);
            total += __shfl_xor_sync(0xFFFFFFFFu, total, 2);
            uint32_t row = mine + m * 16 + half * 8 + lane / 4;
            if ((lane & 3) == 0 && row < T)
                args.lse[at.rows_at + row] = (high[m][half] * at.scale + log2f(total)) / LOG2E;
            sum[m][half] = 1.0f / total;
        }
    rows_store<D, MT>((uint16_t *)args.out + at.y_at, at.y_stride, mine, T, y, sum);
}

/* Writes dq and delta[B][H][T] = the sum over a head of y dy, which dkv needs. */
template <int D, int MT, int KEYS> DM_FN void flash_dq(const nn_attention_args &args)
{
    constexpr int ROWS = 64 * MT, TILE = KEYS * PITCH, STEP = 32;
    const flash_place at = queries_of(args, D, ROWS, KEYS);
    const uint32_t T = args.T, lane = threadIdx.x & 31;
    const uint32_t local = (threadIdx.x >> 5) * 16 * MT, mine = at.first + local;
    __shared__ float deltas[ROWS];

    uint16_t *dys = flash_memory + ROWS * PITCH;
    tile_load<D, ROWS>(flash_memory, at.q, at.qkv_stride, at.first, T);
    tile_load<D, ROWS>(dys, (const uint16_t *)args.dy + at.y_at, at.y_stride, at.first, T);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    uint32_t q[MT][D / 16][4], dy[MT][D / 16][4];
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int k = 0; k < D / 16; k++) {
            load_a<D>(q[m][k], flash_memory, (int)local + m * 16, k * 16);
            load_a<D>(dy[m][k], dys, (int)local + m * 16, k * 16);
        }
    if (threadIdx.x < ROWS) {
        uint32_t row = at.first + threadIdx.x;
        float delta = 0;
        for (int part = 0; part < D / 8 && row < T; part++) {
            float a[8], b[8];
            nn_load(a, args.y, at.y_at + row * at.y_stride + part * 8);
            nn_load(b, dys, threadIdx.x * PITCH + part * 8);
#pragma unroll
            for (int i = 0; i < 8; i++)
                delta += a[i] * b[i];
        }
        deltas[threadIdx.x] = delta;
        if (row < T)
            args.delta[at.rows_at + row] = delta;
    }
    __syncthreads();
    float lse[MT][2], delta[MT][2];
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t row = m * 16 + half * 8 + lane / 4;
            lse[m][half] = mine + row < T ? args.lse[at.rows_at + mine + row] * LOG2E : 0.0f;
            delta[m][half] = deltas[local + row];
        }
    keys_load<D, KEYS>(at, 0, T);
    copy_commit();

    float dq[MT][D / 8][4] = {};
    for (uint32_t j = 0; j < at.end; j++) {
        uint16_t *k = flash_memory + (j & 1) * 2 * TILE, *v = k + TILE;
        if (j + 1 < at.end)
            keys_load<D, KEYS>(at, j + 1, T);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
#pragma unroll
        for (int c = 0; c < KEYS; c += STEP) {
            uint32_t first = j * KEYS + c;
            if (first >= mine + 16 * MT)
                continue;
            float s[MT][STEP / 8][4], dp[MT][STEP / 8][4];
            product_rows<D, MT, STEP>(s, q, k, c);
            product_rows<D, MT, STEP>(dp, dy, v, c);
            bool masked = first + STEP > mine;
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        float p = exp2_fast(s[m][n][i] * at.scale - lse[m][i >> 1]);
                        if (masked && first + n * 8 + 2 * (lane & 3) + (i & 1) >
                                          mine + m * 16 + lane / 4 + (i >> 1) * 8)
                            p = 0;
                        s[m][n][i] = p * (dp[m][n][i] - delta[m][i >> 1]);
                    }
            product_add<D, MT, STEP>(dq, s, k, c);
        }
        __syncthreads();
    }
    float factor[MT][2];
#pragma unroll
    for (int m = 0; m < MT; m++)
        factor[m][0] = factor[m][1] = rsqrtf((float)D);
    uint16_t *out = (uint16_t *)args.out + (at.q - (const uint16_t *)args.qkv);
    rows_store<D, MT>(out, at.qkv_stride, mine, T, dq, factor);
}

/* Keys are the rows here: s' = k q', a column for each query. */
template <int D, int MT, int QUERIES> DM_FN void flash_dkv(const nn_attention_args &args)
{
    constexpr int ROWS = 64 * MT, TILE = QUERIES * PITCH, STEP = 32;
    const flash_place at = keys_of(args, D, ROWS, QUERIES);
    const uint32_t T = args.T, lane = threadIdx.x & 31;
    const uint32_t local = (threadIdx.x >> 5) * 16 * MT, mine = at.first + local;
    const uint16_t *dys = (const uint16_t *)args.dy + at.y_at;
    uint16_t *ks = flash_memory, *vs = ks + ROWS * PITCH, *queries = vs + ROWS * PITCH;
    __shared__ float rows[2][2][QUERIES]; /* lse, delta of the queries */

    tile_load<D, ROWS>(ks, at.k, at.qkv_stride, at.first, T);
    tile_load<D, ROWS>(vs, at.v, at.qkv_stride, at.first, T);
    auto load = [&](uint32_t j) {
        uint16_t *to = queries + (j & 1) * 2 * TILE;
        tile_load<D, QUERIES>(to, at.q, at.qkv_stride, j * QUERIES, T);
        tile_load<D, QUERIES>(to + TILE, dys, at.y_stride, j * QUERIES, T);
        for (uint32_t i = threadIdx.x; i < QUERIES; i += THREADS) {
            uint32_t t = j * QUERIES + i;
            /* A row that is not there: p = exp2(0 - infinity) = 0. */
            rows[j & 1][0][i] = t < T ? args.lse[at.rows_at + t] * LOG2E : NN_INFINITY;
            rows[j & 1][1][i] = t < T ? args.delta[at.rows_at + t] : 0.0f;
        }
    };
    load(at.begin);
    copy_commit();

    float dk[MT][D / 8][4] = {}, dv[MT][D / 8][4] = {};
    for (uint32_t j = at.begin; j < at.end; j++) {
        uint16_t *q = queries + (j & 1) * 2 * TILE, *dy = q + TILE;
        if (j + 1 < at.end)
            load(j + 1);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
#pragma unroll 1
        for (int c = 0; c < QUERIES; c += STEP) {
            uint32_t first = j * QUERIES + c;
            if (first + STEP <= mine)
                continue;
            bool masked = first < mine + 16 * MT;
            float s[MT][STEP / 8][4], dp[MT][STEP / 8][4];
            product_tiles<D, MT, STEP>(s, ks, (int)local, q, c);
#pragma unroll
            for (int n = 0; n < STEP / 8; n++) {
                float2 lse = *(float2 *)&rows[j & 1][0][c + n * 8 + 2 * (lane & 3)];
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        float p = exp2_fast(s[m][n][i] * at.scale - (i & 1 ? lse.y : lse.x));
                        if (masked && first + n * 8 + 2 * (lane & 3) + (i & 1) <
                                          mine + m * 16 + lane / 4 + (i >> 1) * 8)
                            p = 0;
                        s[m][n][i] = p;
                    }
            }
            product_add<D, MT, STEP>(dv, s, dy, c);
            product_tiles<D, MT, STEP>(dp, vs, (int)local, dy, c);
#pragma unroll
            for (int n = 0; n < STEP / 8; n++) {
                float2 delta = *(float2 *)&rows[j & 1][1][c + n * 8 + 2 * (lane & 3)];
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        s[m][n][i] *= dp[m][n][i] - (i & 1 ? delta.y : delta.x);
            }
            product_add<D, MT, STEP>(dk, s, q, c);
        }
        __syncthreads();
    }
    float one[MT][2], factor[MT][2];
#pragma unroll
    for (int m = 0; m < MT; m++) {
        one[m][0] = one[m][1] = 1.0f;
        factor[m][0] = factor[m][1] = rsqrtf((float)D);
    }
    uint16_t *out = (uint16_t *)args.out + (at.k - (const uint16_t *)args.qkv);
    rows_store<D, MT>(out, at.qkv_stride, mine, T, dk, factor);
    rows_store<D, MT>(out + at.y_stride, at.qkv_stride, mine, T, dv, one);
}

/* FLASH(D, MT, KEYS): the head, fragments of rows for each warp, rows of a streamed tile; the host
 * knows the same (attention.c). */
#define FLASH(D, MT, KEYS)                                                                         \
    DM_KERNEL_BOUNDS(nn_flash_##D, nn_attention_args, THREADS, 2)                                  \
    {                                                                                              \
        flash_forward<D, MT, KEYS>(args);                                                          \
    }                                                                                              \
    DM_KERNEL_BOUNDS(nn_flash_dq_##D, nn_attention_args, THREADS, 2)                               \
    {                                                                                              \
        flash_dq<D, MT, KEYS>(args);                                                               \
    }                                                                                              \
    DM_KERNEL_BOUNDS(nn_flash_dkv_##D, nn_attention_args, THREADS, 2)                              \
    {                                                                                              \
        flash_dkv<D, MT, KEYS>(args);                                                              \
    }

FLASH(32, 2, 64)
FLASH(64, 2, 64)
FLASH(128, 1, 32)
