/* SPDX-License-Identifier: MIT */
/* flash90.h - causal attention in bfloat16 for heads of 64 numbers on sm_90a: the products are
 * warpgroup instructions (wgmma), whose operands come from shared memory. flash.h is the same for
 * other heads and GPUs, explains the passes, and gives nearly the same numbers.
 *
 * A block is 2 or 3 warpgroups of 64 rows each, which share tiles of 64 rows of the other side:
 *
 *     forward   rows are queries; keys and values stream by
 *     dq        rows are queries; keys and values stream by
 *     dkv       rows are keys; queries and dy stream by
 *
 * Tiles are 64 rows of 128 bytes, in the layout that the matrix units call "128-byte swizzle": piece c
 * of 16 bytes of row r lies at r * 128 + (c ^ r % 8) * 16. Three of them turn round, so that a tile is
 * used while the next two arrive, with one barrier for each. */
#include "nn/cuda/flash_common.h"

#define HEAD 64
#define TILE (64 * HEAD) /* numbers of a tile */
#define STAGES 3

/* Wait until at most `later` of the newest groups are on their way; what arrived is for the matrix
 * units, which see shared memory by another way than threads do. */
template <int later> DM_FN void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Rows first .. first + 64 N - 1 of a matrix into N tiles; rows from T on become zero. */
template <int THREADS, int N>
DM_FN void tiles_load(uint16_t *to, const uint16_t *from, uint64_t stride, uint32_t first,
                      uint32_t T)
{
    for (uint32_t k = threadIdx.x; k < 512 * N; k += THREADS) {
        uint32_t row = k / 8, part = k % 8;
        bool there = first + row < T;
        const uint16_t *at = from + (there ? first + row : 0) * stride + part * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         nn_shared(to + row * HEAD + ((part ^ (row & 7)) * 8))),
                     "l"(at), "r"(there ? 16 : 0)
                     : "memory");
    }
}

/* ---- Products of a warpgroup: d[64][64] (+)= a[64][64] b ---- */

/* A tile as an operand: groups of 8 rows lie 1,024 bytes apart, 128-byte swizzle. */
DM_FN uint64_t operand(const uint16_t *tile)
{
    return (uint64_t)((nn_shared(tile) & 0x3FFFF) >> 4) | 64ull << 16 | 64ull << 32 | 1ull << 62;
}

/* Begin, and end, a batch of products: the compiler must have every register in its place. */
DM_FN void products_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
DM_FN void products_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int later> DM_FN void products_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(later) : "memory");
}
template <int N> DM_FN void hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D32 D4(0), D4(4), D4(8), D4(12), D4(16), D4(20), D4(24), D4(28)
#define D32_TEXT                                                                                   \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "  \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

/* One step of 16. d = a b (add: += ), a and b tiles of which 16 columns are used. */
DM_FN void step_tiles(float (&d)[32], uint64_t a, uint64_t b, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " D32_TEXT
                 ", %32, %33, p, 1, 1, 0, 0;\n}"
                 : D32
                 : "l"(a), "l"(b), "r"(add));
}

/* d += a b with a in registers and 16 rows of tile b. */
DM_FN void step_transposed(float (&d)[32], const uint32_t *a, uint64_t b)
{
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " D32_TEXT
                 ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
                 : D32
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/* d = a b^T, both tiles. */
DM_FN void product_tiles(float (&d)[32], const uint16_t *a, const uint16_t *b)
{
    uint64_t at = operand(a), bt = operand(b);
#pragma unroll
    for (int k = 0; k < 4; k++)
        step_tiles(d, at + 2 * k, bt + 2 * k, k > 0);
    products_commit();
}

/* d += a b, a in registers. */
DM_FN void product_add(float (&d)[32], const uint32_t (&a)[16], const uint16_t *b)
{
    uint64_t bt = operand(b);
#pragma unroll
    for (int k = 0; k < 4; k++)
        step_transposed(d, a + 4 * k, bt + 128 * k);
    products_commit();
}

/* Results of a product as operand a of the next. */
DM_FN void pack(uint32_t (&a)[16], const float (&d)[32])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        a[i] = nn_pack(d[2 * i], d[2 * i + 1]);
}

/* Where number i of a thread's 32 lies in its warpgroup's 64 x 64. */
DM_FN uint32_t row_of(int i)
{
    return (threadIdx.x >> 5 & 3) * 16 + (threadIdx.x & 31) / 4 + (i >> 1 & 1) * 8;
}
DM_FN uint32_t column_of(int i)
{
    return (uint32_t)(i >> 2) * 8 + 2 * (threadIdx.x & 3) + (i & 1);
}

/* The warpgroup's rows from `first` on, times a factor per row, to rows `stride` apart. */
DM_FN void rows_store(uint16_t *p, uint64_t stride, uint32_t first, uint32_t T,
                      const float (&v)[32], float low, float high)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint32_t row = first + row_of(2 * half);
        float factor = half ? high : low;
        if (row >= T)
            continue;
        uint16_t *to = p + row * stride + 2 * (threadIdx.x & 3);
#pragma unroll
        for (int n = 0; n < 8; n++)
            *(uint32_t *)(to + n * 8) =
                nn_pack(v[4 * n + 2 * half] * factor, v[4 * n + 2 * half + 1] * factor);
    }
}

/* Tiles must lie at multiples of 1,024 bytes; the host asks for so much more. */
extern __shared__ uint16_t flash_memory[];
DM_FN uint16_t *first_tile(void)
{
    return flash_memory + ((1024 - (nn_shared(flash_memory) & 1023)) & 1023) / 2;
}

/* Begin to load tile j of the keys and of the values, where there is one, to its stage. */
template <int THREADS>
DM_FN void keys_load(uint16_t *stages, const flash_place &at, uint32_t j, uint32_t T)
{
    uint16_t *to = stages + j % STAGES * 2 * TILE;
    if (j < at.end) {
        tiles_load<THREADS, 1>(to, at.k, at.qkv_stride, j * 64, T);
        tiles_load<THREADS, 1>(to + TILE, at.v, at.qkv_stride, j * 64, T);
    }
    copy_commit();
}

/* GROUPS warpgroups; shared: [GROUPS] tiles of queries, then STAGES of keys and values. */
template <int GROUPS> DM_FN void flash_forward(const nn_attention_args &args)
{
    constexpr int THREADS = 128 * GROUPS, ROWS = 64 * GROUPS;
    const flash_place at = queries_of(args, HEAD, ROWS, 64);
    const uint32_t T = args.T, group = threadIdx.x >> 7, mine = at.first + group * 64;
    const uint32_t diagonal = mine / 64;
    uint16_t *qs = first_tile(), *stages = qs + GROUPS * TILE;

    auto load = [&](uint32_t j) { keys_load<THREADS>(stages, at, j, T); };
    tiles_load<THREADS, GROUPS>(qs, at.q, at.qkv_stride, at.first, T);
    load(0);
    load(1);

    float y[32] = {}, high[2] = {-NN_INFINITY, -NN_INFINITY}, sum[2] = {};
    for (uint32_t j = 0; j < at.end; j++) {
        uint16_t *k = stages + j % STAGES * 2 * TILE, *v = k + TILE;
        copy_wait<1>();
        __syncthreads(); /* tile j is there, and nobody reads the one before it any more */
        load(j + 2);
        if (j > diagonal)
            continue;
        float s[32];
        uint32_t p[16];
        hold(s);
        products_begin();
        product_tiles(s, qs + group * TILE, k);
        products_wait<0>();
        hold(s);
        if (j == diagonal) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (column_of(i) > row_of(i))
                    s[i] = -NN_INFINITY;
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float top = high[half], total = 0;
#pragma unroll
            for (int n = 0; n < 8; n++)
                top = fmaxf(top, fmaxf(s[4 * n + 2 * half], s[4 * n + 2 * half + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
            /* The first tile has key 0, so top is a number. */
            float keep = exp2_fast((high[half] - top) * at.scale), shift = top * at.scale;
            high[half] = top;
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 4 * n + 2 * half; i < 4 * n + 2 * half + 2; i++) {
                    s[i] = exp2_fast(s[i] * at.scale - shift);
                    total += s[i];
                    y[i] *= keep;
                }
            sum[half] = sum[half] * keep + total;
        }
        pack(p, s);
        hold(y);
        products_begin();
        product_add(y, p, v);
        products_wait<0>();
        hold(y);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float total = sum[half];
        total += __shfl_xor_sync(0xFFFFFFFFu, total, 1);
        total += __shfl_xor_sync(0xFFFFFFFFu, total, 2);
        uint32_t row = mine + row_of(2 * half);
        if ((threadIdx.x & 3) == 0 && row < T)
            args.lse[at.rows_at + row] = (high[half] * at.scale + log2f(total)) / LOG2E;
        sum[half] = 1.0f / total;
    }
    rows_store((uint16_t *)args.out + at.y_at, at.y_stride, mine, T, y, sum[0], sum[1]);
}

/* Writes dq and delta[B][H][T] = the sum over a head of y dy, which dkv needs.
 * Shared: [GROUPS] tiles of queries, [GROUPS] of dy, STAGES of keys and values. */
template <int GROUPS> DM_FN void flash_dq(const nn_attention_args &args)
{
    constexpr int THREADS = 128 * GROUPS, ROWS = 64 * GROUPS;
    const flash_place at = queries_of(args, HEAD, ROWS, 64);
    const uint32_t T = args.T, group = threadIdx.x >> 7, mine = at.first + group * 64;
    const uint32_t diagonal = mine / 64;
    uint16_t *qs = first_tile(), *dys = qs + GROUPS * TILE, *stages = dys + GROUPS * TILE;
    const uint16_t *dy = (const uint16_t *)args.dy + at.y_at;
    __shared__ float deltas[ROWS];

    auto load = [&](uint32_t j) { keys_load<THREADS>(stages, at, j, T); };
    tiles_load<THREADS, GROUPS>(qs, at.q, at.qkv_stride, at.first, T);
    tiles_load<THREADS, GROUPS>(dys, dy, at.y_stride, at.first, T);
    load(0);
    load(1);

    /* Two threads for a row. */
    uint32_t row = at.first + threadIdx.x / 2, half_at = threadIdx.x % 2 * 32;
    float part = 0;
    for (int i = 0; i < 4 && row < T; i++) {
        float a[8], b[8];
        uint64_t from = row * at.y_stride + half_at + i * 8;
        nn_load(a, args.y, at.y_at + from);
        nn_load(b, dy, from);
#pragma unroll
        for (int v = 0; v < 8; v++)
            part += a[v] * b[v];
    }
    part += __shfl_xor_sync(0xFFFFFFFFu, part, 1);
    if (half_at == 0) {
        deltas[threadIdx.x / 2] = part;
        if (row < T)
            args.delta[at.rows_at + row] = part;
    }
    __syncthreads();
    float lse[2], delta[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint32_t r = group * 64 + row_of(2 * half);
        lse[half] = at.first + r < T ? args.lse[at.rows_at + at.first + r] * LOG2E : 0.0f;
        delta[half] = deltas[r];
    }

    float dq[32] = {};
    for (uint32_t j = 0; j < at.end; j++) {
        uint16_t *k = stages + j % STAGES * 2 * TILE, *v = k + TILE;
        copy_wait<1>();
        __syncthreads();
        load(j + 2);
        if (j > diagonal)
            continue;
        float s[32], dp[32];
        uint32_t ds[16];
        hold(s);
        hold(dp);
        products_begin();
        product_tiles(s, qs + group * TILE, k);
        product_tiles(dp, dys + group * TILE, v);
        products_wait<1>();
        hold(s);
#pragma unroll
        for (int i = 0; i < 32; i++)
            s[i] = exp2_fast(s[i] * at.scale - lse[i >> 1 & 1]);
        if (j == diagonal) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (column_of(i) > row_of(i))
                    s[i] = 0;
        }
        products_wait<0>();
        hold(dp);
#pragma unroll
        for (int i = 0; i < 32; i++)
            s[i] *= dp[i] - delta[i >> 1 & 1];
        pack(ds, s);
        hold(dq);
        products_begin();
        product_add(dq, ds, k);
        products_wait<0>();
        hold(dq);
    }
    float factor = rsqrtf((float)HEAD);
    uint16_t *out = (uint16_t *)args.out + (at.q - (const uint16_t *)args.qkv);
    rows_store(out, at.qkv_stride, mine, T, dq, factor, factor);
}

/* Keys are the rows here: s' = k q', a column for each query.
 * Shared: [GROUPS] tiles of keys, [GROUPS] of values, STAGES of queries and dy. */
template <int GROUPS> DM_FN void flash_dkv(const nn_attention_args &args)
{
    constexpr int THREADS = 128 * GROUPS, ROWS = 64 * GROUPS;
    const flash_place at = keys_of(args, HEAD, ROWS, 64);
    const uint32_t T = args.T, group = threadIdx.x >> 7, mine = at.first + group * 64;
    const uint32_t diagonal = mine / 64;
    uint16_t *ks = first_tile(), *vs = ks + GROUPS * TILE, *stages = vs + GROUPS * TILE;
    const uint16_t *dys = (const uint16_t *)args.dy + at.y_at;
    __shared__ float rows[STAGES][2][64]; /* lse and delta of the queries */

    auto load = [&](uint32_t j) {
        uint16_t *to = stages + j % STAGES * 2 * TILE;
        if (j < at.end) {
            tiles_load<THREADS, 1>(to, at.q, at.qkv_stride, j * 64, T);
            tiles_load<THREADS, 1>(to + TILE, dys, at.y_stride, j * 64, T);
            if (threadIdx.x < 64) {
                uint32_t t = j * 64 + threadIdx.x;
                /* A row that is not there: p = exp2(0 - infinity) = 0. */
                rows[j % STAGES][0][threadIdx.x] =
                    t < T ? args.lse[at.rows_at + t] * LOG2E : NN_INFINITY;
                rows[j % STAGES][1][threadIdx.x] = t < T ? args.delta[at.rows_at + t] : 0.0f;
            }
        }
        copy_commit();
    };
    tiles_load<THREADS, GROUPS>(ks, at.k, at.qkv_stride, at.first, T);
    tiles_load<THREADS, GROUPS>(vs, at.v, at.qkv_stride, at.first, T);
    load(at.begin);
    load(at.begin + 1);

    float dk[32] = {}, dv[32] = {};
    for (uint32_t j = at.begin; j < at.end; j++) {
        uint16_t *q = stages + j % STAGES * 2 * TILE, *dy = q + TILE;
        const float *lse = rows[j % STAGES][0], *delta = rows[j % STAGES][1];
        copy_wait<1>();
        __syncthreads();
        load(j + 2);
        if (j < diagonal)
            continue;
        float s[32], dp[32];
        uint32_t p[16], ds[16];
        hold(s);
        hold(dp);
        products_begin();
        product_tiles(s, ks + group * TILE, q);
        product_tiles(dp, vs + group * TILE, dy);
        products_wait<1>();
        hold(s);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            float2 l = *(const float2 *)(lse + column_of(4 * n));
#pragma unroll
            for (int i = 4 * n; i < 4 * n + 4; i++) {
                s[i] = exp2_fast(s[i] * at.scale - (i & 1 ? l.y : l.x));
                if (j == diagonal && column_of(i) < row_of(i))
                    s[i] = 0;
            }
        }
        pack(p, s);
        products_wait<0>();
        hold(dp);
        hold(dv);
        products_begin();
        product_add(dv, p, dy);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            float2 d = *(const float2 *)(delta + column_of(4 * n));
#pragma unroll
            for (int i = 4 * n; i < 4 * n + 4; i++)
                s[i] *= dp[i] - (i & 1 ? d.y : d.x);
        }
        pack(ds, s);
        hold(dk);
        products_begin();
        product_add(dk, ds, q);
        products_wait<0>();
        hold(dk);
        hold(dv);
    }
    float factor = rsqrtf((float)HEAD);
    uint16_t *out = (uint16_t *)args.out + (at.k - (const uint16_t *)args.qkv);
    rows_store(out, at.qkv_stride, mine, T, dk, factor, factor);
    rows_store(out + at.y_stride, at.qkv_stride, mine, T, dv, 1.0f, 1.0f);
}

/* The warpgroups of a block and the blocks of a multiprocessor; attention.c knows the former. */
DM_KERNEL_BOUNDS(nn_flash90, nn_attention_args, 256, 2)
{
    flash_forward<2>(args);
}
DM_KERNEL_BOUNDS(nn_flash90_dq, nn_attention_args, 256, 2)
{
    flash_dq<2>(args);
}
DM_KERNEL_BOUNDS(nn_flash90_dkv, nn_attention_args, 384, 1)
{
    flash_dkv<3>(args);
}
