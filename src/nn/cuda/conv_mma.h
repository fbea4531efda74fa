/* SPDX-License-Identifier: MIT */
/* conv_mma.h - convolutions whose images fit in shared memory, on the matrix units: a float is the sum of three
 * bfloat16, and a product of floats six of theirs (what is left out is below 2^-23 of it).
 *
 *     nn_conv_mma       y     M: places of the output    N: channels   K: taps (input channel, row, column)
 *     nn_conv_mma_dx    dx    M: places of the input     N: channels   K: output channel, taps that hit the place
 *     nn_conv_mma_dw    dw    M: channels                N: taps       K: places; blocks sum chunks of the samples
 *
 * Images lie in shared memory as conv_tiled.h has them, so the factor of a place and a tap lies at the place's address
 * plus the tap's offset, and a fragment is read from there. Weights lie split, in the order in which lanes take them.
 * Shades of packed pictures are whole numbers, which bfloat16 has exactly: three products do. On the host, where tests
 * run this text too, the matrix unit is a loop (tests/nn/conv_host.h). */

#include "nn/cuda/conv_tiled.h"

/* A bfloat16 that is the upper half of x, and x less that. */
DM_FN uint32_t nn_split(float *x)
{
    const uint32_t upper = dm_f32_bits(*x) & 0xFFFF0000u;
    *x -= dm_bits_f32(upper);
    return upper;
}

/* The three parts of two neighbours in K, the first in the low halves. `exact`: both are their first parts. */
DM_FN void nn_split_pair(uint32_t *parts, uint32_t step, float x, float y, const bool exact)
{
    NN_UNROLL
    for (uint32_t i = 0; i < 3u; i++) {
        if (exact && i > 0u)
            break;
        const uint32_t low = nn_split(&x), high = nn_split(&y);
        parts[i * step] = low >> 16 | high;
    }
}

/* Tiles of a lane: d[i * columns + n] += the products of a's tiles i and b's tiles n, large products first; those of
 * parts that are 2^-24 of the whole and less are left out. `exact`: that side has its first parts alone. */
DM_FN void nn_mma_tiles(float (*d)[4], const int rows, const int columns, uint32_t (*a)[3][4],
                        uint32_t (*b)[3][2], const bool exact_a, const bool exact_b)
{
    NN_UNROLL
    for (int part = 0; part < 6; part++) {
        const int of_a = part == 2 || part == 3 ? 1 : part == 5 ? 2 : 0;
        const int of_b = part == 1 || part == 3 ? 1 : part == 4 ? 2 : 0;
        if ((of_a > 0 && exact_a) || (of_b > 0 && exact_b))
            continue;
        NN_UNROLL
        for (int n = 0; n < columns; n++)
            NN_UNROLL
        for (int i = 0; i < rows; i++)
            nn_mma_bf16(d[i * columns + n], a[i][of_a], b[n][of_b][0], b[n][of_b][1]);
    }
}

/* A warp's d += two tiles of 16 places times two of eight channels. base: of places g, g + 8, g + 16, g + 24. w: of a
 * step of sixteen taps `pitch` words. */
DM_FN void nn_mma_taps(float (*d)[4], const bool exact, const float *image, const uint32_t *base,
                       const float *w, uint32_t pitch, const uint32_t *offsets, uint32_t steps)
{
    const uint32_t lane = DM_BLOCK_THREAD % 32u;
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t *taps = offsets + 16u * step + lane % 4u * 2u;
        const uint32_t offset[4] = {taps[0], taps[1], taps[8], taps[9]};
        uint32_t a[2][3][4], b[2][3][2];
        NN_UNROLL
        for (int i = 0; i < 2; i++)
            NN_UNROLL
        for (int k = 0; k < 4; k++) {
            const float *at = image + base[2 * i + k % 2];
            nn_split_pair(&a[i][0][k], 4u, at[offset[k / 2 * 2]], at[offset[k / 2 * 2 + 1]], exact);
        }
        NN_UNROLL
        for (int n = 0; n < 2; n++) {
            float words[8];
            nn_conv_4(words, w + step * pitch + (uint32_t)n * 256u + lane * 8u);
            nn_conv_4(words + 4, w + step * pitch + (uint32_t)n * 256u + lane * 8u + 4u);
            NN_UNROLL
            for (int k = 0; k < 6; k++)
                b[n][k / 2][k % 2] = dm_f32_bits(words[k]);
        }
        nn_mma_tiles(d, 2, 2, a, b, exact, false);
    }
}

/* Of which taps (the first of two) and channel lane's words are, for i of [steps][channels / 8][32][2]; the words of a
 * part are two, and there is room for four parts. */
DM_FN void nn_mma_weight(uint32_t i, uint32_t columns, uint32_t *tap, uint32_t *channel)
{
    const uint32_t lane = i / 2u % 32u;
    *tap = i / 64u / columns * 16u + lane % 4u * 2u + i % 2u * 8u;
    *channel = i / 64u % columns * 8u + lane / 4u;
}

/* The parts of two weights, for that i. */
DM_FN void nn_mma_put_weight(float *w, uint32_t i, float x, float y)
{
    uint32_t parts[3];
    nn_split_pair(parts, 1u, x, y, false);
    NN_UNROLL
    for (uint32_t part = 0; part < 3u; part++)
        ((uint32_t *)w)[i / 2u * 8u + part * 2u + i % 2u] = parts[part];
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

/* Shared memory: weights [steps][tiles 2][32][8], offsets, images. A warp has 32 places and 16 channels at a time. */
DM_FN void nn_mma_forward(const nn_conv_tiled_args *s, const bool exact)
{
    const uint32_t taps = s->I * s->K * s->K, steps = (taps + 15u) / 16u, columns = 2u * s->tiles;
    const uint32_t P = s->OH * s->OW, lane = DM_BLOCK_THREAD % 32u, pitch = columns * 256u;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    float *w = nn_conv_memory;
    uint32_t *offsets = (uint32_t *)(w + steps * pitch);
    float *image = (float *)(offsets + 16u * steps);
    for (uint32_t i = DM_BLOCK_THREAD; i < steps * pitch / 4u; i += DM_BLOCK_THREADS) {
        uint32_t tap, o;
        float v[2];
        nn_mma_weight(i, columns, &tap, &o);
        NN_UNROLL
        for (uint32_t k = 0; k < 2u; k++)
            v[k] = tap + k < taps && o < s->O
                       ? nn_get(s->w, (uint64_t)o * taps + tap + k) * (exact ? 0.33333334f : 1.0f)
                       : 0.0f;
        nn_mma_put_weight(w, i, v[0], v[1]);
    }
    for (uint32_t i = taps + DM_BLOCK_THREAD; i < 16u * steps; i += DM_BLOCK_THREADS)
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
            for (int n = 0; n < 2; n++)
                NN_UNROLL
            for (uint32_t k = 0; k < 4u; k++) {
                const uint32_t c = o + (uint32_t)n * 8u + k % 2u;
                d[n][k] = s->b != 0 && c < s->O ? nn_get(s->b, c) : 0.0f;
                d[2 + n][k] = d[n][k];
            }
            nn_mma_taps(d, exact, image, base, w + tile * 512u, pitch, offsets, steps);
            NN_UNROLL
            for (uint32_t i = 0; i < 4u; i++) {
                const uint32_t q = place + 8u * i, b = nn_conv_div(q, s->of_P);
                if (q >= all)
                    continue;
                NN_UNROLL
                for (int n = 0; n < 2; n++)
                    NN_UNROLL
                for (uint32_t k = 0; k < 2u; k++) {
                    const uint32_t c = o + (uint32_t)n * 8u + k;
                    if (c < s->O)
                        nn_put(
                            s->out, ((first + b) * s->O + c) * P + q - b * P,
                            nn_activate(s->activation, d[(int)(i / 2u) * 2 + n][i % 2u * 2u + k]));
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
 * nn_conv_dx. Shared memory: weights [rests][steps][tiles 2][32][8], offsets, dy with a border of zeros. */
DM_KERNEL_BOUNDS(nn_conv_mma_dx, nn_conv_tiled_args, 256u, 2)
{
    const nn_conv_tiled_args *s = &args;
    const uint32_t J = (s->K + s->stride - 1u) / s->stride, JJ = J * J, taps = s->O * JJ;
    const uint32_t steps = (taps + 15u) / 16u, columns = 2u * s->tiles;
    const uint32_t rests = s->stride * s->stride, pitch = columns * 256u;
    const uint32_t HQ = (s->H + s->stride - 1u) / s->stride, WQ = s->Wp, Q = HQ * WQ;
    const uint32_t PH = HQ + J - 1u, PW = WQ + J - 1u, image_size = s->O * PH * PW;
    const uint32_t blocks = (uint32_t)(dm_thread_count() / DM_BLOCK_THREADS);
    const uint32_t lane = DM_BLOCK_THREAD % 32u;
    float *w = nn_conv_memory;
    uint32_t *offsets = (uint32_t *)(w + rests * steps * pitch);
    float *image = (float *)(offsets + 16u * steps);
    for (uint32_t i = DM_BLOCK_THREAD; i < rests * steps * pitch / 4u; i += DM_BLOCK_THREADS) {
        const uint32_t rest = i / (steps * pitch / 4u);
        uint32_t first, c;
        float v[2];
        nn_mma_weight(i - rest * (steps * pitch / 4u), columns, &first, &c);
        NN_UNROLL
        for (uint32_t k = 0; k < 2u; k++) {
            const uint32_t tap = first + k;
            const uint32_t ky = rest / s->stride + tap % JJ / J * s->stride;
            const uint32_t kx = rest % s->stride + tap % J * s->stride;
            v[k] = tap < taps && c < s->I && ky < s->K && kx < s->K
                       ? nn_get(s->w, (((uint64_t)(tap / JJ) * s->I + c) * s->K + ky) * s->K + kx)
                       : 0.0f;
        }
        nn_mma_put_weight(w + rest * steps * pitch, i - rest * (steps * pitch / 4u), v[0], v[1]);
    }
    for (uint32_t tap = DM_BLOCK_THREAD; tap < 16u * steps; tap += DM_BLOCK_THREADS)
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
            for (int n = 0; n < 4; n++)
                NN_UNROLL
            for (int k = 0; k < 4; k++)
                d[n][k] = 0.0f;
            nn_mma_taps(d, false, image, base, w + rest * steps * pitch + tile * 512u, pitch,
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
                for (int n = 0; n < 2; n++)
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

/* ---- dw ---- */

/* y is dy, before the slope of the activation where `results` is given. A warp has `rows` tiles of 16 channels and 8
 * / rows tiles of eight taps; `item_blocks` warps share out the taps, and as many groups of warps as there are take
 * turns at sixteen places. Shared memory: offsets, places, a sample's x, its dy [tiles 16][pitch] with zeros behind;
 * at the end the groups' sums. */
DM_FN void nn_mma_dw(const nn_conv_tiled_args *s, const int rows, const bool exact)
{
    const uint32_t taps = s->I * s->K * s->K, P = s->OH * s->OW, steps = (P + 15u) / 16u;
    const uint32_t pitch = 16u * steps + 8u, channels = 16u * (uint32_t)rows;
    const uint32_t lane = DM_BLOCK_THREAD % 32u, warp = DM_BLOCK_THREAD / 32u;
    const uint32_t chunk = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS);
    const uint32_t turns = DM_BLOCK_THREADS / 32u / s->item_blocks, turn = warp / s->item_blocks;
    const int columns = 8 / rows;
    const uint32_t tap0 = warp % s->item_blocks * (uint32_t)columns * 8u;
    uint32_t *offsets = (uint32_t *)nn_conv_memory, *places = offsets + (taps + 15u) / 16u * 16u;
    float *image = (float *)(places + 16u * steps);
    float *dy = image + (s->I * s->H * s->row + 3u) / 4u * 4u, *room = nn_conv_memory;
    const uint64_t first = (uint64_t)chunk * s->group;
    const uint64_t last = first + s->group < s->B ? first + s->group : s->B;
    float d[8][4], bias = 0.0f;
    uint32_t offset[8];
    nn_conv_offsets(s, offsets);
    for (uint32_t p = DM_BLOCK_THREAD; p < 16u * steps; p += DM_BLOCK_THREADS) {
        const uint32_t y = nn_conv_div(p, s->of_OW);
        places[p] = p < P ? y * s->stride * s->row + p - y * s->OW : 0u;
    }
    for (uint32_t i = DM_BLOCK_THREAD; i < channels * pitch; i += DM_BLOCK_THREADS)
        dy[i] = 0.0f;
    dm_block_sync();
    NN_UNROLL
    for (int n = 0; n < 8; n++)
        NN_UNROLL
    for (int k = 0; k < 4; k++)
        d[n][k] = 0.0f;
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
            uint32_t a[2][3][4], x[8][3][2];
            const uint32_t p = 16u * step + lane % 4u * 2u;
            const uint32_t place[4] = {places[p], places[p + 1u], places[p + 8u], places[p + 9u]};
            NN_UNROLL
            for (uint32_t i = 0; i < (uint32_t)rows; i++)
                NN_UNROLL
            for (uint32_t k = 0; k < 4u; k++) {
                const float *at =
                    dy + (i * 16u + lane / 4u + k % 2u * 8u) * pitch + p + k / 2u * 8u;
                nn_split_pair(&a[i][0][k], 4u, at[0], at[1], false);
            }
            NN_UNROLL
            for (int n = 0; n < columns; n++)
                NN_UNROLL
            for (int k = 0; k < 2; k++)
                nn_split_pair(&x[n][0][k], 2u, image[place[2 * k] + offset[n]],
                              image[place[2 * k + 1] + offset[n]], exact);
            nn_mma_tiles(d, rows, columns, a, x, false, exact);
        }
    }
    /* Sums of the turns, in their order. */
    dm_block_sync();
    NN_UNROLL
    for (int n = 0; n < 8; n++)
        NN_UNROLL
    for (uint32_t k = 0; k < 4u; k++)
        room[(warp * 32u + (uint32_t)n * 4u + k) * 32u + lane] = d[n][k];
    dm_block_sync();
    if (turn == 0)
        NN_UNROLL
    for (int n = 0; n < 8; n++)
        NN_UNROLL
    for (uint32_t k = 0; k < 4u; k++) {
        const uint32_t o = (uint32_t)(n / columns) * 16u + lane / 4u + k / 2u * 8u;
        const uint32_t tap = tap0 + (uint32_t)(n % columns) * 8u + lane % 4u * 2u + k % 2u;
        float total = 0.0f;
        for (uint32_t i = 0; i < turns; i++)
            total += room[((warp + i * s->item_blocks) * 32u + (uint32_t)n * 4u + k) * 32u + lane];
        if (o < s->O && tap < taps)
            s->dw[((uint64_t)chunk * s->O + o) * taps + tap] = exact ? total * 0.33333334f : total;
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
