/* SPDX-License-Identifier: MIT */
/* conv_mma.c - how a convolution is cut for conv_mma.h. */
#include "nn/cuda/conv_tiled_plan.h"

enum { THREADS = 256, WARPS = THREADS / 32, GROUP_MAX = 8, ROOM = WARPS * 1024 };
/* Two blocks share a multiprocessor's shared memory, of which CUDA reserves 1 KiB more for each. */
#define SHARED_OF_TWO ((uint64_t)112 * 1024)

/* The worst bank conflict: how many different words lanes of a warp read from one of 32 banks. A fragment's lanes
 * differ in four of one and eight of the other of places, which lie side by side, and taps, whose columns of a phase
 * lie side by side. */
static uint32_t conflicts(const nn_conv_tiled_args *a, uint32_t Wp, bool four_places)
{
    uint32_t seen[32][8], counts[32] = {0}, worst = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t place = four_places ? lane % 4 : lane / 4, tap = four_places ? lane / 4 : lane % 4;
        uint32_t x = tap % a->K,
                 word = place + tap / a->K * a->stride * Wp + x % a->stride * Wp + x / a->stride;
        uint32_t bank = word % 32, i = 0;
        while (i < counts[bank] && seen[bank][i] != word)
            i++;
        if (i == counts[bank] && i < 8)
            seen[bank][counts[bank]++] = word;
        worst = counts[bank] > worst ? counts[bank] : worst;
    }
    return worst;
}

/* The narrowest rows with the fewest conflicts; shades are stored four at a time. */
static void space_out(nn_conv_tiled_args *a, bool four_places, uint32_t step)
{
    uint32_t first = (a->Wp + step - 1) / step * step, best = first;
    for (uint32_t Wp = first; Wp < first + 8; Wp += step)
        if (conflicts(a, Wp, four_places) < conflicts(a, best, four_places))
            best = Wp;
    dm_nn_conv_set_row(a, best);
}

/* Words of shared memory for a block and for a sample; a sample's places, and a block's passes over them. */
typedef struct sizes {
    uint64_t fixed, per_sample, places, rounds;
} sizes;

static sizes sizes_of(const nn_conv_tiled_args *a, nn_conv_pass pass)
{
    uint64_t P = (uint64_t)a->OH * a->OW, image = (uint64_t)a->I * a->H * a->row;
    uint64_t steps = ((uint64_t)a->I * a->K * a->K + 7) / 8;
    if (pass == NN_CONV_FORWARD)
        return (sizes){steps * (a->tiles * 256 + 8), image, P, a->tiles};
    if (pass == NN_CONV_DW) {
        uint64_t eights = (P + 7) / 8 * 8;
        uint64_t all = steps * 8 + eights + (image + 3) / 4 * 4 + a->tiles * 16 * (eights + 4);
        return (sizes){all > ROOM ? all : ROOM, 0, P, 1};
    }
    uint64_t J = (a->K + a->stride - 1) / a->stride, rests = (uint64_t)a->stride * a->stride;
    uint64_t HQ = (a->H + a->stride - 1) / a->stride;
    steps = (a->O * J * J + 7) / 8;
    return (sizes){steps * (rests * a->tiles * 256 + 8), a->O * (HQ + J - 1) * (a->Wp + J - 1),
                   HQ * a->Wp, rests * a->tiles};
}

/* As many samples at a time as keep warps busiest. */
static uint32_t group_for(const sizes *z, uint32_t B)
{
    double best = 0;
    uint32_t group = 1;
    for (uint32_t g = 1; g <= GROUP_MAX && g <= B; g++) {
        uint64_t units = (g * z->places + 31) / 32 * z->rounds;
        uint64_t places =
            (units + WARPS - 1) / WARPS * WARPS * 32; /* of all lanes, idle ones too */
        double use = (double)(g * z->places * z->rounds) / (double)places;
        if ((g == 1 || (z->fixed + g * z->per_sample) * 4 <= SHARED_OF_TWO) && use > best * 1.03) {
            best = use;
            group = g;
        }
    }
    return group;
}

bool dm_nn_conv_mma_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t multiprocessors,
                         uint64_t shared_bytes, nn_conv_plan *out)
{
    nn_conv_tiled_args a;
    if (!dm_nn_conv_args(s, pass, &a) || (s->packed && (s->stride != 4 || s->W % 16 != 0)))
        return false;
    if (pass != NN_CONV_DX)
        space_out(&a, pass == NN_CONV_DW, s->packed ? 4 : 1);
    sizes z = sizes_of(&a, pass);
    if ((z.fixed + z.per_sample) * 4 > shared_bytes)
        return false;
    uint32_t blocks;
    if (pass == NN_CONV_DW) {
        uint32_t taps = a.I * a.K * a.K, warps = 1;
        while (a.tiles <= 2 && warps < WARPS && warps * 64 / a.tiles < taps)
            warps *= 2;
        if (a.tiles > 2 || warps * 64 / a.tiles < taps)
            return false;
        a.item_blocks = warps;
        dm_nn_conv_chunks(&a);
        blocks = a.groups;
    } else {
        a.group = group_for(&z, s->B);
        a.groups = (s->B + a.group - 1) / a.group;
        blocks = a.groups < multiprocessors * 2 ? a.groups : multiprocessors * 2;
    }
    uint64_t words = z.fixed + (pass == NN_CONV_DW ? 0 : a.group * z.per_sample);
    *out = (nn_conv_plan){.args = a, .grid = {blocks, THREADS, (uint32_t)(words * 4)}, .places = 2};
    return true;
}
