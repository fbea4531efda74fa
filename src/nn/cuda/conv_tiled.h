/* SPDX-License-Identifier: MIT */
/* conv_tiled.h - convolutions whose images fit in shared memory: a block takes some samples at a time, a thread 2 or 4
 * places and 16 channels, so that a value read from shared memory is used 16 or more times.
 *
 *     nn_conv_tiled       y     places of the output     taps: input channel, row, column of the kernel
 *     nn_conv_tiled_dx    dx    places of the input      taps: output channel, and the kernel's that hit the place
 *     nn_conv_tiled_dw    dw    four taps a thread; blocks sum chunks of the samples, nn_partials adds them up
 *
 * An image lies in shared memory with the columns of a step apart: column x at x % stride * ceil(W / stride) + x /
 * stride. Neighbouring threads then read neighbouring words. Global memory is read eight words ahead of what is stored,
 * since the compiler may not move a read before a store. Packed pictures (a byte has four pixels) are unpacked as they
 * are read.
 *
 * This text and conv_mma.h are for both kinds of device. conv_cuda.h defines for GPUs what they need of a device, and
 * tests/nn/conv_host.h for the host: nn_get, nn_put, nn_activate, nn_conv_memory, nn_conv_16, nn_conv_4, nn_conv_put_4,
 * nn_mma_tf32, NN_UNROLL and NN_UNROLL_SOME. tests/nn/test_conv_tiled.c compares the kernels with the plain
 * convolution. */
#include "nn/cuda/args.h"

#define NN_CONV_TILE 16u /* channels of a thread */
#define NN_CONV_AHEAD 8u /* words that are read before they are stored */

/* n / d by a multiplication; the host computes d.magic (divisor in conv_tiled.c). */
DM_FN uint32_t nn_conv_div(uint32_t n, nn_divisor d)
{
    return d.magic == 0 ? n : dm_mulhi_u32(n, d.magic);
}

/* sums[places][16] += over taps: image[base + offset] w[16]; taps' weights lie `pitch` apart. */
DM_FN void nn_conv_taps(float (*sums)[16], int places, const float *image, const uint32_t *base,
                        const float *w, uint32_t pitch, const uint32_t *offsets, uint32_t taps)
{
    NN_UNROLL_SOME
    for (uint32_t tap = 0; tap < taps; tap++) {
        const uint32_t offset = offsets[tap];
        float weights[16], x[4];
        NN_UNROLL
        for (int i = 0; i < places; i++)
            x[i] = image[base[i] + offset];
        nn_conv_16(weights, w + tap * pitch);
        NN_UNROLL
        for (int i = 0; i < places; i++)
            NN_UNROLL
        for (int k = 0; k < 16; k++)
            sums[i][k] = dm_fmaf(x[i], weights[k], sums[i][k]);
    }
}

/* Where element i of images [..][H][W] lies. */
DM_FN uint32_t nn_conv_place(const nn_conv_tiled_args *s, uint32_t i)
{
    const uint32_t row = nn_conv_div(i, s->of_W), x = i - row * s->W;
    const uint32_t at = nn_conv_div(x, s->of_stride);
    return row * s->row + (x - at * s->stride) * s->Wp + at;
}

DM_FN void nn_conv_load_packed(const nn_conv_tiled_args *s, float *to, uint64_t first,
                               uint32_t samples)
{
    const uint32_t words = s->I * s->H * s->W / 16u, count = samples * words;
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += DM_BLOCK_THREADS) {
        const uint32_t b = nn_conv_div(i, s->of_words), at = i - b * words;
        const uint64_t sample = s->rows != 0 ? (uint64_t)(uint32_t)s->rows[first + b] : first + b;
        const uint32_t pixels = ((const uint32_t *)s->x)[sample * words + at];
        NN_UNROLL
        for (uint32_t k = 0; k < 16u; k++) {
            const uint32_t shade = pixels >> (2u * k) & 3u;
            const float value = shade == 0   ? 0.0f
                                : shade == 1 ? 0.33333334f
                                : shade == 2 ? 0.6666667f
                                             : 1.0f;
            to[nn_conv_place(s, 16u * i + k)] = value;
        }
    }
}

DM_FN void nn_conv_load(const nn_conv_tiled_args *s, float *to, uint64_t first, uint32_t samples)
{
    const uint32_t size = s->I * s->H * s->W, count = samples * size;
    if (s->packed) {
        nn_conv_load_packed(s, to, first, samples);
        return;
    }
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += NN_CONV_AHEAD * DM_BLOCK_THREADS) {
        float ahead[NN_CONV_AHEAD];
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
            const uint32_t at = i + k * DM_BLOCK_THREADS;
            ahead[k] = at < count ? nn_get(s->x, first * size + at) : 0.0f;
        }
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
            const uint32_t at = i + k * DM_BLOCK_THREADS;
            if (at < count)
                to[nn_conv_place(s, at)] = ahead[k];
        }
    }
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

/* Shared memory: weights [taps][tiles][16], offsets, images. `places` of a thread: 2 or 4. */
DM_FN void nn_conv_forward(const nn_conv_tiled_args *s, const int places)
{
    const uint32_t taps = s->I * s->K * s->K, pitch = s->tiles * NN_CONV_TILE, P = s->OH * s->OW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory, *image;
    uint32_t *offsets = (uint32_t *)(void *)(w + taps * pitch);
    image = (float *)(void *)(offsets + (taps + 3u) / 4u * 4u);
    for (uint32_t i = DM_BLOCK_THREAD; i < taps * pitch; i += DM_BLOCK_THREADS) {
        const uint32_t tap = nn_conv_div(i, s->of_pitch), o = i - tap * pitch;
        w[i] = o < s->O ? nn_get(s->w, (uint64_t)o * taps + tap) : 0.0f;
    }
    nn_conv_offsets(s, offsets);
    for (uint32_t g = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS); g < s->groups;
         g += blocks) {
        const uint64_t first = (uint64_t)g * s->group;
        const uint32_t samples = s->B - first < s->group ? (uint32_t)(s->B - first) : s->group;
        const uint32_t all = samples * P, shares = (all + (uint32_t)places - 1u) / (uint32_t)places;
        dm_block_sync();
        nn_conv_load(s, image, first, samples);
        dm_block_sync();
        for (uint32_t work = DM_BLOCK_THREAD; work < shares * s->tiles; work += DM_BLOCK_THREADS) {
            const uint32_t tile = work / shares, p = work - tile * shares;
            uint32_t base[4];
            float sums[4][16];
            NN_UNROLL
            for (int i = 0; i < places; i++) {
                const uint32_t q = p + (uint32_t)i * shares < all ? p + (uint32_t)i * shares : p;
                const uint32_t b = nn_conv_div(q, s->of_P), at = q - b * P;
                const uint32_t y = nn_conv_div(at, s->of_OW);
                base[i] = (b * s->I * s->H + y * s->stride) * s->row + at - y * s->OW;
            }
            NN_UNROLL
            for (uint32_t k = 0; k < 16u; k++) {
                const uint32_t o = tile * NN_CONV_TILE + k;
                sums[0][k] = s->b != 0 && o < s->O ? nn_get(s->b, o) : 0.0f;
                NN_UNROLL
                for (int i = 1; i < places; i++)
                    sums[i][k] = sums[0][k];
            }
            nn_conv_taps(sums, places, image, base, w + tile * NN_CONV_TILE, pitch, offsets, taps);
            NN_UNROLL
            for (int i = 0; i < places; i++) {
                const uint32_t q = p + (uint32_t)i * shares, b = nn_conv_div(q, s->of_P);
                if (q >= all)
                    continue;
                NN_UNROLL
                for (uint32_t k = 0; k < 16u; k++) {
                    const uint32_t o = tile * NN_CONV_TILE + k;
                    if (o < s->O)
                        nn_put(s->out, ((first + b) * s->O + o) * P + q - b * P,
                               nn_activate(s->activation, sums[i][k]));
                }
            }
        }
    }
}

DM_KERNEL_BOUNDS(nn_conv_tiled, nn_conv_tiled_args, 192u, 2)
{
    nn_conv_forward(&args, 2);
}

DM_KERNEL_BOUNDS(nn_conv_tiled_4, nn_conv_tiled_args, 192u, 3)
{
    nn_conv_forward(&args, 4);
}

/* dy of some samples into images with a border of J - 1 zeros, which are there already. */
DM_FN void nn_conv_load_bordered(const nn_conv_tiled_args *s, float *image, uint64_t first,
                                 uint32_t samples)
{
    const uint32_t J = (s->K + s->stride - 1u) / s->stride,
                   HQ = (s->H + s->stride - 1u) / s->stride;
    const uint32_t PH = HQ + J - 1u, PW = s->Wp + J - 1u;
    const uint32_t P = s->OH * s->OW, count = samples * s->O * P;
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += NN_CONV_AHEAD * DM_BLOCK_THREADS) {
        float ahead[NN_CONV_AHEAD];
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
            const uint32_t at = i + k * DM_BLOCK_THREADS;
            ahead[k] = at < count ? nn_get(s->y, first * s->O * P + at) : 0.0f;
        }
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
            const uint32_t n = i + k * DM_BLOCK_THREADS, plane = nn_conv_div(n, s->of_P);
            const uint32_t at = n - plane * P, y = nn_conv_div(at, s->of_OW);
            if (n < count)
                image[(plane * PH + y + J - 1u) * PW + at - y * s->OW + J - 1u] = ahead[k];
        }
    }
}

/* The places of the input with the same rest by the stride are hit by the same J x J of the kernel's weights (0 where
 * the kernel has none). Shared memory: weights [rests][taps][tiles][16], offsets, dy with a border of zeros. */
DM_FN void nn_conv_dx(const nn_conv_tiled_args *s, const int places)
{
    const uint32_t J = (s->K + s->stride - 1u) / s->stride, JJ = J * J, taps = s->O * JJ;
    const uint32_t rests = s->stride * s->stride, pitch = s->tiles * NN_CONV_TILE;
    const uint32_t HQ = (s->H + s->stride - 1u) / s->stride, WQ = s->Wp, Q = HQ * WQ;
    const uint32_t PH = HQ + J - 1u, PW = WQ + J - 1u, image_size = s->O * PH * PW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory, *image;
    uint32_t *offsets = (uint32_t *)(void *)(w + rests * taps * pitch);
    image = (float *)(void *)(offsets + (taps + 3u) / 4u * 4u);
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
        const uint32_t all = samples * Q, shares = (all + (uint32_t)places - 1u) / (uint32_t)places;
        dm_block_sync();
        nn_conv_load_bordered(s, image, first, samples);
        dm_block_sync();
        for (uint32_t work = DM_BLOCK_THREAD; work < rests * s->tiles * shares;
             work += DM_BLOCK_THREADS) {
            const uint32_t part = work / shares, p = work - part * shares;
            const uint32_t rest = part / s->tiles, tile = part - rest * s->tiles;
            const uint32_t rest_y = rest / s->stride, rest_x = rest - rest_y * s->stride;
            float sums[4][16];
            uint32_t base[4];
            NN_UNROLL
            for (int i = 0; i < places; i++) {
                const uint32_t q = p + (uint32_t)i * shares < all ? p + (uint32_t)i * shares : p;
                const uint32_t b = nn_conv_div(q, s->of_Q), at = q - b * Q;
                const uint32_t y = nn_conv_div(at, s->of_Wp);
                base[i] = b * image_size + y * PW + at - y * WQ;
                NN_UNROLL
                for (int k = 0; k < 16; k++)
                    sums[i][k] = 0.0f;
            }
            nn_conv_taps(sums, places, image, base, w + rest * taps * pitch + tile * NN_CONV_TILE,
                         pitch, offsets, taps);
            NN_UNROLL
            for (int i = 0; i < places; i++) {
                const uint32_t q = p + (uint32_t)i * shares, b = nn_conv_div(q, s->of_Q);
                const uint32_t at = q - b * Q, row = nn_conv_div(at, s->of_Wp);
                const uint32_t y = row * s->stride + rest_y;
                const uint32_t x = (at - row * WQ) * s->stride + rest_x;
                if (q >= all || y >= s->H || x >= s->W)
                    continue;
                NN_UNROLL
                for (uint32_t k = 0; k < 16u; k++) {
                    const uint32_t c = tile * NN_CONV_TILE + k;
                    const uint64_t to = (((first + b) * s->I + c) * s->H + y) * s->W + x;
                    if (c < s->I)
                        nn_put(s->out, to, sums[i][k] + (s->add_dx ? nn_get(s->out, to) : 0.0f));
                }
            }
        }
    }
}

DM_KERNEL_BOUNDS(nn_conv_tiled_dx, nn_conv_tiled_args, 192u, 2)
{
    nn_conv_dx(&args, 2);
}

DM_KERNEL_BOUNDS(nn_conv_tiled_dx_4, nn_conv_tiled_args, 192u, 2)
{
    nn_conv_dx(&args, 4);
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

/* dy of a sample to [P][tiles][16] with 4 words between: eight places of four channels at a time, which are 32
 * different banks. */
DM_FN void nn_conv_load_dy(const nn_conv_tiled_args *s, float *dy, uint64_t b)
{
    const uint32_t P = s->OH * s->OW, O16 = s->tiles * NN_CONV_TILE, pitch = O16 + 4u;
    const uint32_t eights = (P + 7u) / 8u, count = eights * 8u * O16;
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += NN_CONV_AHEAD * DM_BLOCK_THREADS) {
        float ahead[NN_CONV_AHEAD];
        uint32_t to[NN_CONV_AHEAD];
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
            const uint32_t n = i + k * DM_BLOCK_THREADS, four = nn_conv_div(n / 32u, s->of_eights);
            const uint32_t o = four * 4u + n / 8u % 4u, p = (n / 32u - four * eights) * 8u + n % 8u;
            to[k] = n < count && p < P ? p * pitch + o : 0xFFFFFFFFu;
            ahead[k] = n < count && p < P && o < s->O ? nn_get(s->y, (b * s->O + o) * P + p) : 0.0f;
        }
        NN_UNROLL
        for (uint32_t k = 0; k < NN_CONV_AHEAD; k++)
            if (to[k] != 0xFFFFFFFFu)
                dy[to[k]] = ahead[k];
    }
}

/* y is dy. Blocks: chunks of samples, and of each `item_blocks` parts of the items (four taps and 16 channels). The
 * threads that are left over share the places of an item. Shared memory: offsets, a sample's x, its dy, and a word for
 * each thread. */
DM_KERNEL_BOUNDS(nn_conv_tiled_dw, nn_conv_tiled_args, 256u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t taps = s->I * s->K * s->K, quarter = (taps + 3u) / 4u;
    const uint32_t items = quarter * s->tiles;
    const uint32_t P = s->OH * s->OW, O16 = s->tiles * NN_CONV_TILE, pitch = O16 + 4u;
    const uint32_t block = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS);
    const uint32_t chunk = block / s->item_blocks, part = block % s->item_blocks;
    const uint32_t left = items - part * DM_BLOCK_THREADS;
    const uint32_t span = left < DM_BLOCK_THREADS ? left : DM_BLOCK_THREADS;
    const uint32_t parts = DM_BLOCK_THREADS / span, mine = DM_BLOCK_THREAD / span;
    const uint32_t item = part * DM_BLOCK_THREADS + DM_BLOCK_THREAD % span;
    const uint32_t tile = item / quarter;
    uint32_t *offsets = (uint32_t *)nn_conv_memory, tap[4], base[4];
    float *image = (float *)(void *)(offsets + (taps + 3u) / 4u * 4u);
    float *dy = image + (s->I * s->H * s->row + 3u) / 4u * 4u;
    float *room = dy + P * pitch, sums[4][16], bias = 0.0f;
    const uint64_t first = (uint64_t)chunk * s->group;
    const uint64_t last = first + s->group < s->B ? first + s->group : s->B;
    nn_conv_offsets(s, offsets);
    dm_block_sync();
    NN_UNROLL
    for (uint32_t i = 0; i < 4u; i++) {
        tap[i] = item - tile * quarter + i * quarter;
        base[i] = offsets[tap[i] < taps ? tap[i] : 0];
        NN_UNROLL
        for (int k = 0; k < 16; k++)
            sums[i][k] = 0.0f;
    }
    for (uint64_t b = first; b < last; b++) {
        dm_block_sync();
        nn_conv_load(s, image, b, 1);
        nn_conv_load_dy(s, dy, b);
        dm_block_sync();
        if (part == 0 && s->db != 0 && DM_BLOCK_THREAD / O16 < DM_BLOCK_THREADS / O16)
            for (uint32_t p = DM_BLOCK_THREAD / O16; p < P; p += DM_BLOCK_THREADS / O16)
                bias += dy[p * pitch + DM_BLOCK_THREAD % O16];
        if (mine < parts) {
            uint32_t y = mine / s->OW, x = mine % s->OW;
            for (uint32_t p = mine; p < P; p += parts) {
                const uint32_t at = y * s->stride * s->row + x;
                float slopes[16];
                nn_conv_16(slopes, dy + p * pitch + tile * NN_CONV_TILE);
                NN_UNROLL
                for (uint32_t i = 0; i < 4u; i++) {
                    const float value = image[base[i] + at];
                    NN_UNROLL
                    for (int k = 0; k < 16; k++)
                        sums[i][k] = dm_fmaf(value, slopes[k], sums[i][k]);
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
    for (uint32_t i = 0; i < 4u; i++) {
        NN_UNROLL
        for (uint32_t k = 0; k < 16u; k++) {
            const float total = nn_conv_join(mine < parts ? sums[i][k] : 0.0f, room, span, parts);
            const uint32_t o = tile * NN_CONV_TILE + k;
            if (mine == 0 && o < s->O && tap[i] < taps)
                s->dw[((uint64_t)chunk * s->O + o) * taps + tap[i]] = total;
        }
    }
    if (part == 0 && s->db != 0) {
        const float total = nn_conv_join(bias, room, O16, DM_BLOCK_THREADS / O16);
        if (DM_BLOCK_THREAD < s->O)
            s->db[(uint64_t)chunk * s->O + DM_BLOCK_THREAD] = total;
    }
}
