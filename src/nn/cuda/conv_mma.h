/* SPDX-License-Identifier: MIT */
/* conv_mma.h - convolutions whose images fit in shared memory, on the matrix units: float products as three products of
 * tf32 (a float is its upper 11 bits and the rest, which again has 11: what is left out is below 2^-20 of a product).
 *
 *     nn_conv_mma       y     M: places of the output    N: channels   K: taps (input channel, row, column)
 *     nn_conv_mma_dx    dx    M: places of the input     N: channels   K: output channel, taps that hit the place
 *     nn_conv_mma_dw    dw    M: channels                N: taps       K: places; blocks sum chunks of the samples
 *
 * Images lie in shared memory as in conv_tiled.h. The input value for a place and a tap is at the place's address plus
 * the tap's offset, and fragments are read from there. Weights lie split into upper and lower parts, in the order in
 * which lanes read them. Shades of packed pictures are whole numbers, which tf32 holds exactly, so two products do. On
 * the host, where tests run this text too, the matrix unit is a loop (tests/nn/conv_host.h). */

#include "nn/cuda/conv_tiled.h"

/* The upper 11 bits; what is left of it is x less that. */
DM_FN float nn_upper(float x)
{
    return dm_bits_f32(dm_f32_bits(x) & 0xFFFFE000u);
}

/* Tiles of a lane: d[i * columns + n] += the products of a's tiles i and b's tiles n, small products last. `exact`:
 * the lower parts of that side are 0. */
DM_FN void nn_mma_tiles(float (*d)[4], const int rows, const int columns, float (*a)[2][4],
                        float (*b)[2][2], const bool exact_a, const bool exact_b)
{
    NN_UNROLL
    for (int part = 0; part < 3; part++) {
        const int of_a = part == 1, of_b = part == 2;
        if ((of_a && exact_a) || (of_b && exact_b))
            continue;
        NN_UNROLL
        for (int n = 0; n < columns; n++) {
            NN_UNROLL
            for (int i = 0; i < rows; i++)
                nn_mma_tf32(d[i * columns + n], a[i][of_a], b[n][of_b][0], b[n][of_b][1]);
        }
    }
}

/* A warp's d += two tiles of 16 places times two of eight channels. base: of places g, g + 8, g + 16, g + 24. w: of a
 * step of eight taps `pitch` floats. */
DM_FN void nn_mma_taps(float (*d)[4], const bool exact, const float *image, const uint32_t *base,
                       const float *w, uint32_t pitch, const uint32_t *offsets, uint32_t steps)
{
    const uint32_t lane = DM_BLOCK_THREAD % 32u;
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t near = offsets[8u * step + lane % 4u];
        const uint32_t far = offsets[8u * step + lane % 4u + 4u];
        float a[2][2][4], b[2][2][2];
        NN_UNROLL
        for (int i = 0; i < 2; i++) {
            NN_UNROLL
            for (int k = 0; k < 4; k++) {
                const float x = image[base[2 * i + k % 2] + (k < 2 ? near : far)];
                a[i][0][k] = exact ? x : nn_upper(x);
                a[i][1][k] = x - a[i][0][k];
            }
        }
        NN_UNROLL
        for (int n = 0; n < 2; n++) {
            float four[4];
            nn_conv_4(four, w + step * pitch + (uint32_t)n * 128u + lane * 4u);
            b[n][0][0] = four[0];
            b[n][0][1] = four[1];
            b[n][1][0] = four[2];
            b[n][1][1] = four[3];
        }
        nn_mma_tiles(d, 2, 2, a, b, exact, false);
    }
}

/* Where weights of (tap, channel) lie among those of a lane, for i of [steps][channels / 8][32][4]. */
DM_FN void nn_mma_weight(uint32_t i, uint32_t columns, uint32_t *tap, uint32_t *channel)
{
    const uint32_t lane = i / 4u % 32u;
    *tap = i / 128u / columns * 8u + lane % 4u + i % 2u * 4u;
    *channel = i / 128u % columns * 8u + lane / 4u;
}

DM_FN float nn_mma_part(uint32_t i, float v)
{
    return i % 4u < 2u ? nn_upper(v) : v - nn_upper(v);
}

/* Sixteen shades in a row of images of stride 4, whose columns of a phase lie together: four floats of each phase. */
DM_FN void nn_mma_load_shades(const nn_conv_tiled_args *s, float *to, uint64_t first,
                              uint32_t samples)
{
    const uint32_t words = s->I * s->H * s->W / 16u, count = samples * words, across = s->W / 16u;
    for (uint32_t i = DM_BLOCK_THREAD; i < count; i += DM_BLOCK_THREADS) {
        const uint32_t b = nn_conv_div(i, s->of_words), at = i - b * words;
        const uint64_t sample = s->rows != 0 ? (uint64_t)(uint32_t)s->rows[first + b] : first + b;
        const uint32_t pixels = ((const uint32_t *)s->x)[sample * words + at];
        const uint32_t row = i / across;
        float *place = to + row * s->row + (i - row * across) * 4u;
        NN_UNROLL
        for (uint32_t phase = 0; phase < 4u; phase++) {
            float four[4];
            NN_UNROLL
            for (uint32_t k = 0; k < 4u; k++)
                four[k] =
                    dm_bits_f32(0x4B000000u | (pixels >> (8u * k + 2u * phase) & 3u)) - 8388608.0f;
            nn_conv_put_4(place + phase * s->Wp, four);
        }
    }
}

DM_FN void nn_mma_load(const nn_conv_tiled_args *s, float *to, uint64_t first, uint32_t samples)
{
    if (s->packed)
        nn_mma_load_shades(s, to, first, samples);
    else
        nn_conv_load(s, to, first, samples);
}

/* ---- Forward ---- */

/* Shared memory: weights [steps][tiles 2][32][4], offsets, images. A warp has 32 places and 16 channels at a time. */
DM_FN void nn_mma_forward(const nn_conv_tiled_args *s, const bool exact)
{
    const uint32_t taps = s->I * s->K * s->K, steps = (taps + 7u) / 8u, columns = 2u * s->tiles;
    const uint32_t P = s->OH * s->OW, lane = DM_BLOCK_THREAD % 32u, pitch = columns * 128u;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory;
    uint32_t *offsets = (uint32_t *)(void *)(w + steps * pitch);
    float *image = (float *)(void *)(offsets + 8u * steps);
    for (uint32_t i = DM_BLOCK_THREAD; i < steps * pitch; i += DM_BLOCK_THREADS) {
        uint32_t tap, o;
        nn_mma_weight(i, columns, &tap, &o);
        const float v = tap < taps && o < s->O ? nn_get(s->w, (uint64_t)o * taps + tap) : 0.0f;
        w[i] = nn_mma_part(i, exact ? v * 0.33333334f : v);
    }
    for (uint32_t i = taps + DM_BLOCK_THREAD; i < 8u * steps; i += DM_BLOCK_THREADS)
        offsets[i] = 0;
    nn_conv_offsets(s, offsets);
    for (uint32_t g = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS); g < s->groups;
         g += blocks) {
        const uint64_t first = (uint64_t)g * s->group;
        const uint32_t samples = s->B - first < s->group ? (uint32_t)(s->B - first) : s->group;
        const uint32_t all = samples * P, units = (all + 31u) / 32u * s->tiles;
        dm_block_sync();
        nn_mma_load(s, image, first, samples);
        dm_block_sync();
        for (uint32_t unit = DM_BLOCK_THREAD / 32u; unit < units; unit += DM_BLOCK_THREADS / 32u) {
            const uint32_t tile = unit % s->tiles, place = unit / s->tiles * 32u + lane / 4u;
            const uint32_t o = tile * NN_CONV_TILE + lane % 4u * 2u;
            uint32_t base[4];
            float d[4][4];
            NN_UNROLL
            for (uint32_t i = 0; i < 4u; i++) {
                const uint32_t q = place + 8u * i < all ? place + 8u * i : 0u;
                const uint32_t b = nn_conv_div(q, s->of_P), at = q - b * P;
                const uint32_t y = nn_conv_div(at, s->of_OW);
                base[i] = (b * s->I * s->H + y * s->stride) * s->row + at - y * s->OW;
            }
            NN_UNROLL
            for (int n = 0; n < 2; n++) {
                NN_UNROLL
                for (uint32_t k = 0; k < 4u; k++) {
                    const uint32_t c = o + (uint32_t)n * 8u + k % 2u;
                    d[n][k] = s->b != 0 && c < s->O ? nn_get(s->b, c) : 0.0f;
                    d[2 + n][k] = d[n][k];
                }
            }
            nn_mma_taps(d, exact, image, base, w + tile * 256u, pitch, offsets, steps);
            NN_UNROLL
            for (uint32_t i = 0; i < 4u; i++) {
                const uint32_t q = place + 8u * i, b = nn_conv_div(q, s->of_P);
                if (q >= all)
                    continue;
                NN_UNROLL
                for (int n = 0; n < 2; n++) {
                    NN_UNROLL
                    for (uint32_t k = 0; k < 2u; k++) {
                        const uint32_t c = o + (uint32_t)n * 8u + k;
                        if (c < s->O)
                            nn_put(s->out, ((first + b) * s->O + c) * P + q - b * P,
                                   nn_activate(s->activation,
                                               d[(int)(i / 2u) * 2 + n][i % 2u * 2u + k]));
                    }
                }
            }
        }
    }
}

DM_KERNEL_BOUNDS(nn_conv_mma, nn_conv_tiled_args, 256u, 2)
{
    if (args.packed)
        nn_mma_forward(&args, true);
    else
        nn_mma_forward(&args, false);
}

/* ---- dx ---- */

/* Places of the input with the same rest by the stride are hit by the same J x J of the kernel's weights, as in
 * nn_conv_dx. Shared memory: weights [rests][steps][tiles 2][32][4], offsets, dy with a border of zeros. */
DM_KERNEL_BOUNDS(nn_conv_mma_dx, nn_conv_tiled_args, 256u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t J = (s->K + s->stride - 1u) / s->stride, JJ = J * J, taps = s->O * JJ;
    const uint32_t steps = (taps + 7u) / 8u, columns = 2u * s->tiles;
    const uint32_t rests = s->stride * s->stride, pitch = columns * 128u;
    const uint32_t HQ = (s->H + s->stride - 1u) / s->stride, WQ = s->Wp, Q = HQ * WQ;
    const uint32_t PH = HQ + J - 1u, PW = WQ + J - 1u, image_size = s->O * PH * PW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    const uint32_t lane = DM_BLOCK_THREAD % 32u;
    float *w = nn_conv_memory;
    uint32_t *offsets = (uint32_t *)(void *)(w + rests * steps * pitch);
    float *image = (float *)(void *)(offsets + 8u * steps);
    for (uint32_t i = DM_BLOCK_THREAD; i < rests * steps * pitch; i += DM_BLOCK_THREADS) {
        const uint32_t rest = i / (steps * pitch);
        uint32_t tap, c;
        nn_mma_weight(i - rest * steps * pitch, columns, &tap, &c);
        const uint32_t ky = rest / s->stride + tap % JJ / J * s->stride;
        const uint32_t kx = rest % s->stride + tap % J * s->stride;
        const float v =
            tap < taps && c < s->I && ky < s->K && kx < s->K
                ? nn_get(s->w, (((uint64_t)(tap / JJ) * s->I + c) * s->K + ky) * s->K + kx)
                : 0.0f;
        w[i] = nn_mma_part(i, v);
    }
    for (uint32_t tap = DM_BLOCK_THREAD; tap < 8u * steps; tap += DM_BLOCK_THREADS)
        offsets[tap] =
            tap < taps ? (tap / JJ * PH + (J - 1u - tap % JJ / J)) * PW + (J - 1u - tap % J) : 0u;
    for (uint32_t i = DM_BLOCK_THREAD; i < s->group * image_size; i += DM_BLOCK_THREADS)
        image[i] = 0.0f;
    for (uint32_t g = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS); g < s->groups;
         g += blocks) {
        const uint64_t first = (uint64_t)g * s->group;
        const uint32_t samples = s->B - first < s->group ? (uint32_t)(s->B - first) : s->group;
        const uint32_t all = samples * Q, shares = (all + 31u) / 32u;
        dm_block_sync();
        nn_conv_load_bordered(s, image, first, samples);
        dm_block_sync();
        for (uint32_t unit = DM_BLOCK_THREAD / 32u; unit < rests * s->tiles * shares;
             unit += DM_BLOCK_THREADS / 32u) {
            const uint32_t part = unit / shares, place = (unit - part * shares) * 32u + lane / 4u;
            const uint32_t rest = part / s->tiles, tile = part - rest * s->tiles;
            const uint32_t rest_y = rest / s->stride, rest_x = rest - rest_y * s->stride;
            const uint32_t c0 = tile * NN_CONV_TILE + lane % 4u * 2u;
            float d[4][4];
            uint32_t base[4];
            NN_UNROLL
            for (uint32_t i = 0; i < 4u; i++) {
                const uint32_t q = place + 8u * i < all ? place + 8u * i : 0u;
                const uint32_t b = nn_conv_div(q, s->of_Q), at = q - b * Q;
                const uint32_t y = nn_conv_div(at, s->of_Wp);
                base[i] = b * image_size + y * PW + at - y * WQ;
            }
            NN_UNROLL
            for (int n = 0; n < 4; n++) {
                NN_UNROLL
                for (int k = 0; k < 4; k++)
                    d[n][k] = 0.0f;
            }
            nn_mma_taps(d, false, image, base, w + rest * steps * pitch + tile * 256u, pitch,
                        offsets, steps);
            NN_UNROLL
            for (uint32_t i = 0; i < 4u; i++) {
                const uint32_t q = place + 8u * i, b = nn_conv_div(q, s->of_Q);
                const uint32_t at = q - b * Q, row = nn_conv_div(at, s->of_Wp);
                const uint32_t y = row * s->stride + rest_y;
                const uint32_t x = (at - row * WQ) * s->stride + rest_x;
                if (q >= all || y >= s->H || x >= s->W)
                    continue;
                NN_UNROLL
                for (int n = 0; n < 2; n++) {
                    NN_UNROLL
                    for (uint32_t k = 0; k < 2u; k++) {
                        const uint32_t c = c0 + (uint32_t)n * 8u + k;
                        const uint64_t to = (((first + b) * s->I + c) * s->H + y) * s->W + x;
                        if (c < s->I)
                            nn_put(s->out, to,
                                   d[(int)(i / 2u) * 2 + n][i % 2u * 2u + k] +
                                       (s->add_dx ? nn_get(s->out, to) : 0.0f));
                    }
                }
            }
        }
    }
}

/* ---- dw ---- */

/* y is dy, before the slope of the activation where `results` is given. A warp has `rows` tiles of 16 channels and
 * 8 / rows tiles of eight taps; `item_blocks` warps share out the taps, and as many groups of warps as there are take
 * turns at eight places. Shared memory: offsets, places, a sample's x, its dy [tiles 16][pitch] with zeros behind; at
 * the end the groups' sums. */
DM_FN void nn_mma_dw(const nn_conv_tiled_args *s, const int rows, const bool exact)
{
    const uint32_t taps = s->I * s->K * s->K, P = s->OH * s->OW, steps = (P + 7u) / 8u;
    const uint32_t pitch = 8u * steps + 4u, channels = 16u * (uint32_t)rows;
    const uint32_t lane = DM_BLOCK_THREAD % 32u, warp = DM_BLOCK_THREAD / 32u;
    const uint32_t chunk = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS);
    const uint32_t turns = DM_BLOCK_THREADS / 32u / s->item_blocks, turn = warp / s->item_blocks;
    const int columns = 8 / rows;
    const uint32_t tap0 = warp % s->item_blocks * (uint32_t)columns * 8u;
    uint32_t *offsets = (uint32_t *)nn_conv_memory, *places = offsets + (taps + 7u) / 8u * 8u;
    float *image = (float *)(void *)(places + 8u * steps);
    float *dy = image + (s->I * s->H * s->row + 3u) / 4u * 4u, *room = nn_conv_memory;
    const uint64_t first = (uint64_t)chunk * s->group;
    const uint64_t last = first + s->group < s->B ? first + s->group : s->B;
    float d[8][4], bias = 0.0f;
    uint32_t offset[8];
    nn_conv_offsets(s, offsets);
    for (uint32_t p = DM_BLOCK_THREAD; p < 8u * steps; p += DM_BLOCK_THREADS) {
        const uint32_t y = nn_conv_div(p, s->of_OW);
        places[p] = p < P ? y * s->stride * s->row + p - y * s->OW : 0u;
    }
    for (uint32_t i = DM_BLOCK_THREAD; i < channels * pitch; i += DM_BLOCK_THREADS)
        dy[i] = 0.0f;
    dm_block_sync();
    NN_UNROLL
    for (int n = 0; n < 8; n++) {
        NN_UNROLL
        for (int k = 0; k < 4; k++)
            d[n][k] = 0.0f;
    }
    NN_UNROLL
    for (int n = 0; n < columns; n++) {
        const uint32_t tap = tap0 + (uint32_t)n * 8u + lane / 4u;
        offset[n] = offsets[tap < taps ? tap : 0u];
    }
    for (uint64_t b = first; b < last; b++) {
        dm_block_sync();
        nn_mma_load(s, image, b, 1);
        for (uint32_t i = DM_BLOCK_THREAD; i < s->O * P; i += NN_CONV_AHEAD * DM_BLOCK_THREADS) {
            float ahead[NN_CONV_AHEAD];
            NN_UNROLL
            for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
                const uint32_t at = i + k * DM_BLOCK_THREADS;
                ahead[k] = at < s->O * P ? nn_get(s->y, b * s->O * P + at) : 0.0f;
                if (s->results != 0 && at < s->O * P) {
                    const float result = nn_get(s->results, b * s->O * P + at);
                    ahead[k] *= nn_slope(s->activation, result, result);
                }
            }
            NN_UNROLL
            for (uint32_t k = 0; k < NN_CONV_AHEAD; k++) {
                const uint32_t at = i + k * DM_BLOCK_THREADS, o = nn_conv_div(at, s->of_P);
                if (at < s->O * P)
                    dy[o * pitch + at - o * P] = ahead[k];
            }
        }
        dm_block_sync();
        if (s->db != 0) { /* 8 or 16 threads share a channel */
            const uint32_t mates = DM_BLOCK_THREADS / channels;
            const uint32_t o = DM_BLOCK_THREAD / mates;
            for (uint32_t p = DM_BLOCK_THREAD % mates; p < P; p += mates)
                bias += dy[o * pitch + p];
        }
        for (uint32_t step = turn; step < steps; step += turns) {
            float a[2][2][4], x[8][2][2];
            const uint32_t p = 8u * step + lane % 4u;
            const uint32_t near = places[p], far = places[p + 4u];
            NN_UNROLL
            for (int i = 0; i < rows; i++) {
                NN_UNROLL
                for (uint32_t k = 0; k < 4u; k++) {
                    const float v =
                        dy[((uint32_t)i * 16u + lane / 4u + k % 2u * 8u) * pitch + p + k / 2u * 4u];
                    a[i][0][k] = nn_upper(v);
                    a[i][1][k] = v - a[i][0][k];
                }
            }
            NN_UNROLL
            for (int n = 0; n < columns; n++) {
                NN_UNROLL
                for (int k = 0; k < 2; k++) {
                    const float v = image[(k == 0 ? near : far) + offset[n]];
                    x[n][0][k] = exact ? v : nn_upper(v);
                    x[n][1][k] = v - x[n][0][k];
                }
            }
            nn_mma_tiles(d, rows, columns, a, x, false, exact);
        }
    }
    /* Sums of the turns, in their order. */
    dm_block_sync();
    NN_UNROLL
    for (int n = 0; n < 8; n++) {
        NN_UNROLL
        for (uint32_t k = 0; k < 4u; k++)
            room[(warp * 32u + (uint32_t)n * 4u + k) * 32u + lane] = d[n][k];
    }
    dm_block_sync();
    if (turn == 0) {
        NN_UNROLL
        for (int n = 0; n < 8; n++) {
            NN_UNROLL
            for (uint32_t k = 0; k < 4u; k++) {
                const uint32_t o = (uint32_t)(n / columns) * 16u + lane / 4u + k / 2u * 8u;
                const uint32_t tap = tap0 + (uint32_t)(n % columns) * 8u + lane % 4u * 2u + k % 2u;
                float total = 0.0f;
                for (uint32_t i = 0; i < turns; i++)
                    total += room[((warp + i * s->item_blocks) * 32u + (uint32_t)n * 4u + k) * 32u +
                                  lane];
                if (o < s->O && tap < taps)
                    s->dw[((uint64_t)chunk * s->O + o) * taps + tap] =
                        exact ? total * 0.33333334f : total;
            }
        }
    }
    dm_block_sync();
    room[DM_BLOCK_THREAD] = bias;
    dm_block_sync();
    if (s->db != 0 && DM_BLOCK_THREAD < s->O) {
        const uint32_t mates = DM_BLOCK_THREADS / channels;
        float total = 0.0f;
        for (uint32_t i = 0; i < mates; i++)
            total += room[DM_BLOCK_THREAD * mates + i];
        s->db[(uint64_t)chunk * s->O + DM_BLOCK_THREAD] = total;
    }
}

DM_KERNEL_BOUNDS(nn_conv_mma_dw, nn_conv_tiled_args, 256u, 2)
{
    if (args.packed && args.tiles == 1u)
        nn_mma_dw(&args, 1, true);
    else if (args.packed)
        nn_mma_dw(&args, 2, true);
    else if (args.tiles == 1u)
        nn_mma_dw(&args, 1, false);
    else
        nn_mma_dw(&args, 2, false);
}
