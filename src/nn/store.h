/* SPDX-License-Identifier: MIT */
/* store.h - copies of a model's arrays beside it, in its device's memory, and what is computed from them there.
 *
 *     model: weights, moments, average ──take──► slots [slot][room] ──put──► model
 *                                                  │
 *                      sums, products of differences, moves (store_text.h: one text for both kinds of device)
 *
 * A slot has the model's own layout: all parameters with their padding, which stays 0. Calls are queued on the device's
 * stream, in order with the model's steps. Only calls that return numbers to the host wait. */
#ifndef DM_NN_STORE_H
#define DM_NN_STORE_H

#include <dotmatrix/nn.h>

typedef struct dm_nn_store dm_nn_store;

/* `slots` arrays of `room` numbers, all 0. */
dm_status dm_nn_store_create(dm_device *device, size_t room, size_t slots, dm_nn_store **out,
                             dm_error *err);
void dm_nn_store_destroy(dm_nn_store *store);
/* What a slot of this model needs. */
size_t dm_nn_store_room(const dm_nn_model *model);

/* Slot `to` = a part of all parameters, and back. */
dm_status dm_nn_store_take(dm_nn_store *store, size_t to, dm_nn_model *model, dm_nn_part part,
                           dm_error *err);
dm_status dm_nn_store_put(dm_nn_store *store, size_t from, dm_nn_model *model, dm_nn_part part,
                          dm_error *err);
dm_status dm_nn_store_copy(dm_nn_store *store, size_t to, size_t from, dm_error *err);

/* To and from the host: room numbers, or with a model its parameters one after the other. Waits. */
dm_status dm_nn_store_read(dm_nn_store *store, size_t slot, const dm_nn_model *model, float *to,
                           dm_error *err);
dm_status dm_nn_store_write(dm_nn_store *store, size_t slot, const dm_nn_model *model,
                            const float *from, dm_error *err);

/* Mean and deviation over all numbers of a part of the model. Waits. */
dm_status dm_nn_store_moments(dm_nn_store *store, dm_nn_model *model, dm_nn_part part, float out[2],
                              dm_error *err);
/* The sum over (a1 - a0) (b1 - b0) of four slots. Waits. */
dm_status dm_nn_store_product(dm_nn_store *store, size_t a1, size_t a0, size_t b1, size_t b0,
                              double *out, dm_error *err);

/* A move of an average and of weights, which are slots:
 *     by = sum of factor[k] * slot[k];  average += by;  weights += by, or = the new average
 * The slots that `by` is made from are others, or the average itself. */
typedef struct dm_nn_move {
    size_t terms; /* at most 33 */
    const size_t *slot;
    const double *factor;
    size_t average, weights;
    bool onto_average;
} dm_nn_move;
/* *finite: whether all results are numbers. Waits. */
dm_status dm_nn_store_move(dm_nn_store *store, const dm_nn_move *move, bool *finite, dm_error *err);

#endif
