/* SPDX-License-Identifier: MIT */
/* kernel_gru_matrix.h - one step of the cell for a large batch, on the matrix units; compute
 * capability 8.0.
 *
 * A float32 number is, to 16 bits, the sum of two bfloat16 numbers: a = ah + al, b = bh + bl. Then
 * a b = ah bh + ah bl + al bh with an error of 2^-17. The three products run on units that are some
 * fifteen times as fast as float32's, with sums in float32. The weights are split when they are
 * uploaded, x and h on their way to shared memory.
 *
 *   block: BM vectors of the batch x 48 WN rows of weights; G gates of 48 WN / G units
 *   warp:  16 MT vectors x 48 rows = 6 tiles of 8 rows: all gates of its units, so that one thread
 *          has z, r and n of a unit
 *
 * Columns come in chunks of 32, first those of W, then those of U. G = 3: DM_DYNAMICS_GRU_RESET_LAST, one
 * kernel. G = 2: z and q = r * h; then G = 1: n from q, and the result. */
#include "dynamics/device/cuda_math.h"
#include "dynamics/device/gru_args.h"

#define CHUNK 32 /* columns */
#define PITCH 40 /* of a row in shared memory: 80 bytes, so that 8 rows touch all banks once */
#define TILES 6  /* of 8 rows, per warp */
#define WARP_ROWS (8 * TILES)

DM_FN uint32_t matrix_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

DM_FN void load_fragments(uint32_t (&f)[4], const uint16_t *at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(matrix_address(at)));
}

DM_FN void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Two floats as two bfloat16: the nearest, and the nearest to what is left. Numbers that bfloat16
 * cannot hold become its largest; NaN stays. */
DM_FN void split2(float x, float y, uint32_t &high, uint32_t &low)
{
    const float most = 3.38e38f;
    x = x > most ? most : x < -most ? -most : x;
    y = y > most ? most : y < -most ? -most : y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(high) : "f"(y), "f"(x));
    float x_left = x - __uint_as_float(high << 16),
          y_left = y - __uint_as_float(high & 0xFFFF0000u);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(low) : "f"(y_left), "f"(x_left));
}

template <int WM, int WN, int MT> struct matrix_stage {
    uint16_t a_high[WM * MT * 16][PITCH], a_low[WM * MT * 16][PITCH];
    uint16_t b_high[WN * WARP_ROWS][PITCH], b_low[WN * WARP_ROWS][PITCH];
};

extern __shared__ __align__(16) char matrix_memory[];

/* Four columns of vector `row` from column j on; zeros outside. */
DM_FN float4 load_vector(const float *from, uint32_t batch, uint32_t n, uint32_t row, uint32_t j)
{
    float4 v = make_float4(0, 0, 0, 0);
    if (row >= batch || j >= n)
        return v;
    const float *p = from + (uint64_t)row * n + j;
    if ((n & 3) == 0)
        return *(const float4 *)p;
    v.x = p[0];
    if (j + 1 < n)
        v.y = p[1];
    if (j + 2 < n)
        v.z = p[2];
    if (j + 3 < n)
        v.w = p[3];
    return v;
}

template <int WM, int WN, int MT, int G> struct matrix_gru {
    static const int THREADS = WM * WN * 32, BM = WM * MT * 16;
    static const int WARP_UNITS = WARP_ROWS / G, UNITS = WN * WARP_UNITS;
    static const int STAGES = BM >= 128 ? 3 : BM >= 64 ? 4 : 5; /* as in gru.c */
    static const int LOADS = BM * CHUNK / 4 / THREADS; /* float4s of x or h per thread and chunk */
    typedef matrix_stage<WM, WN, MT> stage_type;

    const dm_gru_args &args;
    const int thread, lane, warp_m, warp_n;
    const uint32_t first_row, first_unit, chunks;
    const float *recurrent; /* h or q */
    float acc[MT][TILES][4];
    float4 next[LOADS]; /* of x or h, on their way */

    __device__ __forceinline__ matrix_gru(const dm_gru_args &a, uint32_t m_block, uint32_t n_block)
        : args(a), thread(threadIdx.x), lane(threadIdx.x & 31), warp_m((threadIdx.x >> 5) % WM),
          warp_n((threadIdx.x >> 5) / WM), first_row(m_block * BM), first_unit(n_block * UNITS),
          chunks((a.input_p + a.hidden_p) / CHUNK), recurrent(G == 1 ? a.q : a.h)
    {
    }

    /* The row of the weights that row `i` of the block's tile is. */
    __device__ __forceinline__ uint32_t weight_row(int i) const
    {
        int tile = i % WARP_ROWS / 8, gate = tile / (TILES / G);
        uint32_t unit = first_unit + i / WARP_ROWS * WARP_UNITS + tile % (TILES / G) * 8 + i % 8;
        unit = unit < args.hidden ? unit : args.hidden - 1;
        return (G == 1 ? 2 : gate) * args.hidden + unit;
    }

    /* Start copying the weights of a chunk. */
    __device__ __forceinline__ void copy_weights(stage_type &stage, uint32_t chunk) const
    {
        uint64_t row_size = args.input_p + args.hidden_p;
        for (int i = thread; i < WN * WARP_ROWS * 8; i += THREADS) {
            int row = i / 8, part = i % 8; /* 4 pieces of 16 bytes each of high and low */
            const uint16_t *from = (part < 4 ? args.high : args.low) + weight_row(row) * row_size +
                                   chunk * CHUNK + part % 4 * 8;
            uint16_t *to = (part < 4 ? stage.b_high : stage.b_low)[row] + part % 4 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(matrix_address(to)),
                         "l"(from)
                         : "memory");
        }
    }

    __device__ __forceinline__ void read_vectors(uint32_t chunk)
    {
        bool from_x = chunk * CHUNK < args.input_p;
        const float *from = from_x ? args.x : recurrent;
        uint32_t n = from_x ? args.input : args.hidden;
        uint32_t column = chunk * CHUNK - (from_x ? 0 : args.input_p);
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int at = i * THREADS + thread;
            next[i] = load_vector(from, args.batch, n, first_row + at / 8, column + at % 8 * 4);
        }
    }

    __device__ __forceinline__ void write_vectors(stage_type &stage) const
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int at = i * THREADS + thread;
            uint2 high, low;
            split2(next[i].x, next[i].y, high.x, low.x);
            split2(next[i].z, next[i].w, high.y, low.y);
            *(uint2 *)(stage.a_high[at / 8] + at % 8 * 4) = high;
            *(uint2 *)(stage.a_low[at / 8] + at % 8 * 4) = low;
        }
    }

    __device__ __forceinline__ void multiply(const stage_type &stage)
    {
#pragma unroll
        for (int k = 0; k < CHUNK; k += 16) {
            uint32_t a_high[MT][4], a_low[MT][4];
#pragma unroll
            for (int m = 0; m < MT; m++) {
                int row = (warp_m * MT + m) * 16 + lane % 16, column = k + lane / 16 * 8;
                load_fragments(a_high[m], stage.a_high[row] + column);
                load_fragments(a_low[m], stage.a_low[row] + column);
            }
#pragma unroll
            for (int j = 0; j < TILES; j += 2) {
                uint32_t b_high[4], b_low[4];
                int row = warp_n * WARP_ROWS + j * 8 + lane / 16 * 8 + lane % 8;
                int column = k + lane / 8 % 2 * 8;
                load_fragments(b_high, stage.b_high[row] + column);
                load_fragments(b_low, stage.b_low[row] + column);
#pragma unroll
                for (int m = 0; m < MT; m++) {
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        float(&d)[4] = acc[m][j + half];
                        multiply_add(d, a_low[m], b_high[2 * half], b_high[2 * half + 1]);
                        multiply_add(d, a_high[m], b_low[2 * half], b_low[2 * half + 1]);
                        multiply_add(d, a_high[m], b_high[2 * half], b_high[2 * half + 1]);
                    }
                }
            }
        }
    }

    /* One vector's gates of one unit: s has the sums of G gates, `from_x` what W gave to n. */
    __device__ __forceinline__ void finish(uint32_t row, uint32_t unit, const float (&s)[G],
                                           float from_x) const
    {
        if (row >= args.batch || unit >= args.hidden)
            return;
        uint64_t H = args.hidden, at = row * H + unit;
        float h = args.h[at];
        if (G == 3) {
            float z = dyn_sigmoid(s[0] + args.b[unit]);
            float r = dyn_sigmoid(s[G > 1 ? 1 : 0] + args.b[H + unit]);
            float v = s[G - 1] + args.c[unit];
            float n = dyn_tanh(dm_fmaf(r, v, from_x + args.b[2 * H + unit]));
            args.out[at] = dm_fmaf(z, h - n, n);
        } else if (G == 2) {
            args.z[at] = dyn_sigmoid(s[0] + args.b[unit]);
            args.q[at] = dyn_sigmoid(s[G - 1] + args.b[H + unit]) * h;
        } else {
            float n = dyn_tanh(s[0] + args.b[2 * H + unit]);
            args.out[at] = dm_fmaf(args.z[at], n - h, h);
        }
    }

    __device__ __forceinline__ void run(void)
    {
        stage_type *stages = (stage_type *)matrix_memory;
        float from_x[MT][G == 3 ? TILES / 3 : 1][4] = {};
#pragma unroll
        for (int m = 0; m < MT; m++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    acc[m][j][i] = 0;
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < chunks) {
                copy_weights(stages[s], s);
                read_vectors(s);
                write_vectors(stages[s]);
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        if (STAGES - 1 < chunks)
            read_vectors(STAGES - 1);
        for (uint32_t c = 0; c < chunks; c++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncthreads();
            /* What was read one chunk ago goes to the stage that has just become free. */
            uint32_t ahead = c + STAGES - 1;
            if (ahead < chunks) {
                write_vectors(stages[ahead % STAGES]);
                copy_weights(stages[ahead % STAGES], ahead);
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            if (ahead + 1 < chunks)
                read_vectors(ahead + 1);
            if (G == 3 && c * CHUNK == args.input_p) { /* from here on n's sums are those of U */
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int j = 0; j < TILES / G; j++)
#pragma unroll
                        for (int i = 0; i < 4; i++) {
                            from_x[m][G == 3 ? j : 0][i] = acc[m][TILES - TILES / G + j][i];
                            acc[m][TILES - TILES / G + j][i] = 0;
                        }
            }
            multiply(stages[c % STAGES]);
        }
#pragma unroll
        for (int m = 0; m < MT; m++)
#pragma unroll
            for (int j = 0; j < TILES / G; j++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float s[G];
#pragma unroll
                    for (int g = 0; g < G; g++)
                        s[g] = acc[m][g * (TILES / G) + j][i];
                    finish(first_row + (warp_m * MT + m) * 16 + lane / 4 + i / 2 * 8,
                           first_unit + warp_n * WARP_UNITS + j * 8 + lane % 4 * 2 + i % 2, s,
                           from_x[m][G == 3 ? j : 0][i]);
                }
    }
};

template <int WM, int WN, int MT, int G> DM_FN void matrix_run(const dm_gru_args &args)
{
    uint32_t m_blocks = (args.batch + WM * MT * 16 - 1) / (WM * MT * 16);
    matrix_gru<WM, WN, MT, G> gru(args, blockIdx.x % m_blocks, blockIdx.x / m_blocks);
    gru.run();
}

/* Names end with the vectors of a block and the gates. */
#define MATRIX_KERNEL(vectors, wm, wn, mt, gates, blocks)                                          \
    DM_KERNEL_BOUNDS(dm_gru_matrix_##vectors##_##gates, dm_gru_args, (wm) * (wn)*32, blocks)       \
    {                                                                                              \
        matrix_run<wm, wn, mt, gates>(args);                                                       \
    }
MATRIX_KERNEL(128, 4, 2, 2, 3, 2)
MATRIX_KERNEL(128, 4, 2, 2, 2, 2)
MATRIX_KERNEL(128, 4, 2, 2, 1, 2)
MATRIX_KERNEL(64, 2, 2, 2, 3, 3)
MATRIX_KERNEL(64, 2, 2, 2, 2, 3)
MATRIX_KERNEL(64, 2, 2, 2, 1, 3)
MATRIX_KERNEL(32, 2, 1, 1, 3, 4)
MATRIX_KERNEL(32, 2, 1, 1, 2, 4)
MATRIX_KERNEL(32, 2, 1, 1, 1, 4)
