/* SPDX-License-Identifier: MIT */
/* conv_tiled.h - convolutions whose images fit in shared memory: a block takes some samples at a time, a thread two
 * places and 16 channels, so that a value read from shared memory is used 16 or 32 times.
 *
 *     nn_conv_tiled       y     places of the output     taps: input channel, row, column of the kernel
 *     nn_conv_tiled_dx    dx    places of the input      taps: output channel, and the kernel's that hit the place
 *     nn_conv_tiled_dw    dw    two taps a thread; blocks sum chunks of the samples, nn_partials adds them up
 *
 * An image lies in shared memory with the columns of a step apart: column x at x % stride * ceil(W / stride) + x /
 * stride. Neighbouring threads then read neighbouring words. The text runs on the host too, where tests compare it
 * with the plain convolution (tests/nn/conv_block.c). */
#if defined(__CUDACC__)
#include "nn/cuda/common.h"
#define NN_UNROLL _Pragma("unroll")
#define NN_UNROLL_SOME _Pragma("unroll 4")
extern __shared__ float nn_conv_memory[];
#else
#include "nn/cuda/args.h"
#define NN_UNROLL
#define NN_UNROLL_SOME
#endif

/* Channels of a thread. */
#define NN_CONV_TILE 16u

DM_FN void nn_conv_16(float *to, const float *from)
{
#if DM_ON_CUDA
    NN_UNROLL
    for (int i = 0; i < 4; i++) {
        float4 v = ((const float4 *)from)[i];
        to[4 * i] = v.x;
        to[4 * i + 1] = v.y;
        to[4 * i + 2] = v.z;
        to[4 * i + 3] = v.w;
    }
#else
    for (int i = 0; i < 16; i++)
        to[i] = from[i];
#endif
}

/* a[16], b[16] += the sums over taps of image[at + offset] w[16]; taps' weights lie `pitch` apart. */
DM_FN void nn_conv_taps(float *a, float *b, const float *image, uint32_t at, uint32_t second,
                        const float *w, uint32_t pitch, const uint32_t *offsets, uint32_t taps)
{
    NN_UNROLL_SOME
    for (uint32_t tap = 0; tap < taps; tap++) {
        const uint32_t offset = offsets[tap];
        const float u = image[at + offset], v = image[second + offset];
        float weights[16];
        nn_conv_16(weights, w + tap * pitch);
        NN_UNROLL
        for (int k = 0; k < 16; k++) {
            a[k] = dm_fmaf(u, weights[k], a[k]);
            b[k] = dm_fmaf(v, weights[k], b[k]);
        }
    }
}

/* Where element i of images [..][H][W] lies. */
DM_FN uint32_t nn_conv_place(const nn_conv_tiled_args *s, uint32_t i)
{
    const uint32_t row = i / s->W, x = i - row * s->W;
    return row * s->row + x % s->stride * s->Wp + x / s->stride;
}

DM_FN void nn_conv_load(const nn_conv_tiled_args *s, float *to, uint64_t first, uint32_t samples)
{
    const uint32_t count = samples * s->I * s->H * s->W;
    const uint64_t from = first * s->I * s->H * s->W;
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += DM_BLOCK_THREADS)
        to[nn_conv_place(s, i)] = nn_get(s->x, from + i);
}

/* Offsets of the taps from the place of an output. */
DM_FN void nn_conv_offsets(const nn_conv_tiled_args *s, uint32_t *offsets)
{
    const uint32_t taps = s->I * s->K * s->K;
    for (uint32_t tap = DM_BLOCK_THREAD; tap < taps; tap += DM_BLOCK_THREADS) {
        const uint32_t kx = tap % s->K, ky = tap / s->K % s->K, c = tap / s->K / s->K;
        offsets[tap] = (c * s->H + ky) * s->row + kx % s->stride * s->Wp + kx / s->stride;
    }
}

/* Shared memory: weights [taps][tiles][16], offsets, images. */
DM_KERNEL_BOUNDS(nn_conv_tiled, nn_conv_tiled_args, 192u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t taps = s->I * s->K * s->K, pitch = s->tiles * NN_CONV_TILE, P = s->OH * s->OW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory, *image;
    uint32_t *offsets = (uint32_t *)(w + taps * pitch);
    image = (float *)(offsets + (taps + 3u) / 4u * 4u);
    for (uint32_t i = DM_BLOCK_THREAD; i < taps * pitch; i += DM_BLOCK_THREADS) {
        const uint32_t o = i % pitch, tap = i / pitch;
        w[i] = o < s->O ? nn_get(s->w, (uint64_t)o * taps + tap) : 0.0f;
    }
    nn_conv_offsets(s, offsets);
    for (uint32_t g = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS); g < s->groups;
         g += blocks) {
        const uint64_t first = (uint64_t)g * s->group;
        const uint32_t samples = s->B - first < s->group ? (uint32_t)(s->B - first) : s->group;
        const uint32_t places = samples * P, pairs = (places + 1u) / 2u;
        dm_block_sync();
        nn_conv_load(s, image, first, samples);
        dm_block_sync();
        for (uint32_t work = DM_BLOCK_THREAD; work < pairs * s->tiles; work += DM_BLOCK_THREADS) {
            const uint32_t tile = work / pairs, p = work - tile * pairs;
            const uint32_t q = p + pairs < places ? p + pairs : p;
            const uint32_t b[2] = {p / P, q / P}, at[2] = {p % P, q % P};
            uint32_t base[2];
            float sums[2][16];
            NN_UNROLL
            for (int i = 0; i < 2; i++)
                base[i] = b[i] * s->I * s->H * s->row + at[i] / s->OW * s->stride * s->row +
                          at[i] % s->OW;
            NN_UNROLL
            for (uint32_t k = 0; k < 16u; k++) {
                const uint32_t o = tile * NN_CONV_TILE + k;
                sums[0][k] = s->b != 0 && o < s->O ? nn_get(s->b, o) : 0.0f;
                sums[1][k] = sums[0][k];
            }
            nn_conv_taps(sums[0], sums[1], image, base[0], base[1], w + tile * NN_CONV_TILE, pitch,
                         offsets, taps);
            NN_UNROLL
            for (int i = 0; i < 2; i++)
                NN_UNROLL
            for (uint32_t k = 0; k < 16u; k++) {
                const uint32_t o = tile * NN_CONV_TILE + k;
                if (o < s->O && (i == 0 || q != p))
                    nn_put(s->out, ((first + b[i]) * s->O + o) * P + at[i],
                           nn_activate(s->activation, sums[i][k]));
            }
        }
    }
}

/* The places of the input with the same rest by the stride are hit by the same J x J of the kernel's weights (0 where
 * the kernel has none). Shared memory: weights [rests][taps][tiles][16], offsets, dy with a border of zeros. */
DM_KERNEL_BOUNDS(nn_conv_tiled_dx, nn_conv_tiled_args, 192u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t J = (s->K + s->stride - 1u) / s->stride, JJ = J * J, taps = s->O * JJ;
    const uint32_t rests = s->stride * s->stride, pitch = s->tiles * NN_CONV_TILE;
    const uint32_t HQ = (s->H + s->stride - 1u) / s->stride, WQ = s->Wp, Q = HQ * WQ;
    const uint32_t PH = HQ + J - 1u, PW = WQ + J - 1u, image_size = s->O * PH * PW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory, *image;
    uint32_t *offsets = (uint32_t *)(w + rests * taps * pitch);
    image = (float *)(offsets + (taps + 3u) / 4u * 4u);
    for (uint32_t i = DM_BLOCK_THREAD; i < rests * taps * pitch; i += DM_BLOCK_THREADS) {
        const uint32_t c = i % pitch, tap = i / pitch % taps, rest = i / pitch / taps;
        const uint32_t ky = rest / s->stride + tap % JJ / J * s->stride;
        const uint32_t kx = rest % s->stride + tap % J * s->stride;
        w[i] = c < s->I && ky < s->K && kx < s->K
                   ? nn_get(s->w, (((uint64_t)(tap / JJ) * s->I + c) * s->K + ky) * s->K + kx)
                   : 0.0f;
    }
    for (uint32_t tap = DM_BLOCK_THREAD; tap < taps; tap += DM_BLOCK_THREADS)
        offsets[tap] = (tap / JJ * PH + (J - 1u - tap % JJ / J)) * PW + (J - 1u - tap % J);
    for (uint32_t i = DM_BLOCK_THREAD; i < s->group * image_size; i += DM_BLOCK_THREADS)
        image[i] = 0.0f;
    for (uint32_t g = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS); g < s->groups;
         g += blocks) {
        const uint64_t first = (uint64_t)g * s->group;
        const uint32_t samples = s->B - first < s->group ? (uint32_t)(s->B - first) : s->group;
        const uint32_t places = samples * Q, pairs = (places + 1u) / 2u;
        const uint32_t P = s->OH * s->OW, count = samples * s->O * P;
        dm_block_sync();
        for (uint32_t i = DM_BLOCK_THREAD; i < count; i += DM_BLOCK_THREADS) {
            const uint32_t at = i % P;
            image[(i / P * PH + at / s->OW + J - 1u) * PW + at % s->OW + J - 1u] =
                nn_get(s->y, first * s->O * P + i);
        }
        dm_block_sync();
        for (uint32_t work = DM_BLOCK_THREAD; work < rests * s->tiles * pairs;
             work += DM_BLOCK_THREADS) {
            const uint32_t part = work / pairs, p = work - part * pairs;
            const uint32_t tile = part % s->tiles, rest = part / s->tiles;
            const uint32_t q = p + pairs < places ? p + pairs : p;
            const uint32_t b[2] = {p / Q, q / Q}, at[2] = {p % Q, q % Q};
            float sums[2][16];
            uint32_t base[2];
            NN_UNROLL
            for (int i = 0; i < 2; i++)
                base[i] = b[i] * image_size + at[i] / WQ * PW + at[i] % WQ;
            NN_UNROLL
            for (int k = 0; k < 16; k++)
                sums[0][k] = sums[1][k] = 0.0f;
            nn_conv_taps(sums[0], sums[1], image, base[0], base[1],
                         w + rest * taps * pitch + tile * NN_CONV_TILE, pitch, offsets, taps);
            NN_UNROLL
            for (int i = 0; i < 2; i++) {
                const uint32_t y = at[i] / WQ * s->stride + rest / s->stride;
                const uint32_t x = at[i] % WQ * s->stride + rest % s->stride;
                if (y >= s->H || x >= s->W || (i == 1 && q == p))
                    continue;
                NN_UNROLL
                for (uint32_t k = 0; k < 16u; k++) {
                    const uint32_t c = tile * NN_CONV_TILE + k;
                    const uint64_t to = (((first + b[i]) * s->I + c) * s->H + y) * s->W + x;
                    if (c < s->I)
                        nn_put(s->out, to, sums[i][k] + (s->add_dx ? nn_get(s->out, to) : 0.0f));
                }
            }
        }
    }
}

/* The sum of `value` over the parts that hold the same item; given to all of part 0. */
DM_FN float nn_conv_join(float value, float *room, uint32_t span, uint32_t parts)
{
    float total = 0.0f;
    dm_block_sync();
    room[DM_BLOCK_THREAD] = value;
    dm_block_sync();
    for (uint32_t i = 0; i < parts; i++)
        total += room[i * span + DM_BLOCK_THREAD % span];
    return total;
}

/* y is dy. Blocks: chunks of samples, and of each `item_blocks` parts of the items (two taps and 16 channels). The
 * threads that are left over share the places of an item. Shared memory: offsets, a sample's x, its dy [P][tiles][16]
 * with 4 words between, and a word for each thread. */
DM_KERNEL_BOUNDS(nn_conv_tiled_dw, nn_conv_tiled_args, 256u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t taps = s->I * s->K * s->K, half = (taps + 1u) / 2u, items = half * s->tiles;
    const uint32_t P = s->OH * s->OW, O16 = s->tiles * NN_CONV_TILE, pitch = O16 + 4u;
    const uint32_t block = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS);
    const uint32_t chunk = block / s->item_blocks, part = block % s->item_blocks;
    const uint32_t left = items - part * DM_BLOCK_THREADS;
    const uint32_t span = left < DM_BLOCK_THREADS ? left : DM_BLOCK_THREADS;
    const uint32_t parts = DM_BLOCK_THREADS / span, mine = DM_BLOCK_THREAD / span;
    const uint32_t item = part * DM_BLOCK_THREADS + DM_BLOCK_THREAD % span;
    const uint32_t tile = item / half, tap = item % half;
    const uint32_t second = tap + half < taps ? tap + half : tap;
    uint32_t *offsets = (uint32_t *)nn_conv_memory;
    float *image = (float *)(offsets + (taps + 3u) / 4u * 4u), *dy = image + s->I * s->H * s->row;
    float *room = dy + P * pitch, sums[2][16], bias = 0.0f;
    const uint64_t first = (uint64_t)chunk * s->group;
    const uint64_t last = first + s->group < s->B ? first + s->group : s->B;
    NN_UNROLL
    for (int k = 0; k < 16; k++)
        sums[0][k] = sums[1][k] = 0.0f;
    nn_conv_offsets(s, offsets);
    for (uint64_t b = first; b < last; b++) {
        dm_block_sync();
        nn_conv_load(s, image, b, 1);
        /* Eight places of four channels at a time: 32 different banks. */
        const uint32_t eights = (P + 7u) / 8u;
        for (uint32_t i = DM_BLOCK_THREAD; i < eights * 8u * O16; i += DM_BLOCK_THREADS) {
            const uint32_t o = i / 32u / eights * 4u + i / 8u % 4u;
            const uint32_t p = i / 32u % eights * 8u + i % 8u;
            if (p < P)
                dy[p * pitch + o] = o < s->O ? nn_get(s->y, (b * s->O + o) * P + p) : 0.0f;
        }
        dm_block_sync();
        if (part == 0 && s->db != 0 && DM_BLOCK_THREAD / O16 < DM_BLOCK_THREADS / O16)
            for (uint32_t p = DM_BLOCK_THREAD / O16; p < P; p += DM_BLOCK_THREADS / O16)
                bias += dy[p * pitch + DM_BLOCK_THREAD % O16];
        if (mine < parts) {
            const float *u = image + offsets[tap], *v = image + offsets[second];
            uint32_t y = mine / s->OW, x = mine % s->OW;
            NN_UNROLL_SOME
            for (uint32_t p = mine; p < P; p += parts) {
                const uint32_t at = y * s->stride * s->row + x;
                float slopes[16];
                nn_conv_16(slopes, dy + p * pitch + tile * NN_CONV_TILE);
                NN_UNROLL
                for (int k = 0; k < 16; k++) {
                    sums[0][k] = dm_fmaf(u[at], slopes[k], sums[0][k]);
                    sums[1][k] = dm_fmaf(v[at], slopes[k], sums[1][k]);
                }
                x += parts;
                while (x >= s->OW) {
                    x -= s->OW;
                    y++;
                }
            }
        }
    }
    NN_UNROLL
    for (uint32_t i = 0; i < 2u; i++)
        NN_UNROLL
    for (uint32_t k = 0; k < 16u; k++) {
        const float total = nn_conv_join(mine < parts ? sums[i][k] : 0.0f, room, span, parts);
        const uint32_t o = tile * NN_CONV_TILE + k, to = i == 0 ? tap : second;
        if (mine == 0 && o < s->O && (i == 0 || second != tap))
            s->dw[((uint64_t)chunk * s->O + o) * taps + to] = total;
    }
    if (part == 0 && s->db != 0) {
        const float total = nn_conv_join(bias, room, O16, DM_BLOCK_THREADS / O16);
        if (DM_BLOCK_THREAD < s->O)
            s->db[(uint64_t)chunk * s->O + DM_BLOCK_THREAD] = total;
    }
}
