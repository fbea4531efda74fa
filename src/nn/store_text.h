/* SPDX-License-Identifier: MIT */
/* store_text.h - sums over a model's arrays and the moves of proposals; kernel text for both kinds of device. All sums
 * are in float64 and in one order, so that the same arrays give the same bits on both. */
#ifndef DM_NN_STORE_TEXT_H
#define DM_NN_STORE_TEXT_H

#include "nn/store_args.h"

DM_KERNEL(dm_store_sums, dm_store_sums_args)
{
    for (uint64_t p = dm_thread_index(); p < args.parts; p += dm_thread_count()) {
        double sum = 0, squares = 0;
        for (uint64_t i = p; i < args.n; i += args.parts) {
            double x = (double)args.x[i];
            sum = sum + x;
            squares = squares + x * x;
        }
        args.partial[2 * p] = sum;
        args.partial[2 * p + 1] = squares;
    }
}

DM_KERNEL(dm_store_product, dm_store_product_args)
{
    for (uint64_t p = dm_thread_index(); p < args.parts; p += dm_thread_count()) {
        double sum = 0;
        for (uint64_t i = p; i < args.n; i += args.parts)
            sum = sum + ((double)args.a1[i] - (double)args.a0[i]) *
                            ((double)args.b1[i] - (double)args.b0[i]);
        args.partial[p] = sum;
    }
}

DM_FN bool dm_store_is_finite(float x)
{
    return (dm_f32_bits(x) & 0x7F800000u) != 0x7F800000u;
}

DM_KERNEL(dm_store_move, dm_store_move_args)
{
    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count()) {
        double by = 0;
        for (uint32_t k = 0; k < args.terms; k++)
            by = by + args.factor[k] * (double)args.term[k][i];
        float average = (float)((double)args.average[i] + by);
        float weight = args.onto_average ? average : (float)((double)args.weights[i] + by);
        if (!dm_store_is_finite(average) || !dm_store_is_finite(weight))
            *args.bad = 1;
        args.average[i] = average;
        args.weights[i] = weight;
    }
}

#endif
