/* SPDX-License-Identifier: MIT */
/* op_case.h - every operation of src/nn as a case that any table of operations can run.
 *
 * A case lists its arrays with what they are for, and two calls. The same arrays, rounded to float,
 * go to the table under test; what it gives is compared with the plain operations in double.
 * Outputs and gradients that are written are poisoned before, gradients that are added to begin
 * with random numbers. */
#ifndef DM_TESTS_NN_OP_CASE_H
#define DM_TESTS_NN_OP_CASE_H

#include "nn/ops.h"

typedef enum op_role {
    ROLE_INPUT,    /* random numbers; differentiated where the case has a gradient of it */
    ROLE_CONSTANT, /* random numbers between 0 and 1, not differentiated */
    ROLE_INDEX,    /* int32 in [0, bound), or from -1 on when `with_none` */
    ROLE_FLAG,     /* bytes 0 or 1, mostly 0 */
    ROLE_OUTPUT,   /* the loss is the sum of this, weighted */
    ROLE_SAVED,    /* written by the forward pass for the backward pass */
    ROLE_BYTES,    /* the same, uint8 */
    ROLE_SEED,     /* the gradient of the output: the weights; the backward pass may overwrite it */
    ROLE_GRAD,     /* gradient of array `of`, written by the backward pass */
    ROLE_GRAD_ADD, /* gradient of array `of`, added to */
    ROLE_ABSENT,   /* NULL */
} op_role;

typedef struct op_array {
    op_role role;
    size_t count;
    int of;           /* GRAD: the index of the array; INDEX: the bound */
    bool stays_float; /* float with bfloat16 too */
} op_array;

#define OP_ARRAYS 16

typedef struct op_case {
    const char *name;
    op_array arrays[OP_ARRAYS];
    int count;
    bool in_place; /* a loss: the backward pass turns array 0 into its gradient; all weights are
                      equal */
    bool with_none;
    uint32_t steps; /* of a recurrent operation; 0: none */
    dm_status (*forward)(dm_nn_exec *exec, const struct op_case *c, void **p, dm_error *err);
    dm_status (*backward)(dm_nn_exec *exec, const struct op_case *c, void **p, dm_error *err);
    size_t (*scratch)(const dm_nn_exec *exec, const struct op_case *c);
    union {
        dm_nn_linear linear;
        dm_nn_conv conv;
        dm_nn_pool pool;
        dm_nn_embed embed;
        dm_nn_norm norm;
        dm_nn_attention attention;
        dm_nn_gru gru;
        dm_nn_softmax_loss softmax;
        dm_nn_value_loss value;
    } size;
} op_case;

size_t op_case_count(void);
const op_case *op_case_get(size_t index);

/* What a run gave: arrays in double, whatever the type was. */
typedef struct op_result {
    double *value[OP_ARRAYS];
} op_result;

/* Run forward and backward (or only forward) on the inputs of `seed`. With `changed` >= 0, element
 * `at` of that array is changed by `by` first. `device` is NULL for tables that run on host memory.
 */
typedef struct op_run {
    dm_nn_exec *exec;
    dm_device *device;
    uint64_t seed;
    bool backward;
    int changed;
    size_t at;
    double by;
} op_run;
void op_case_run(const op_case *c, const op_run *run, op_result *out);
void op_result_free(op_result *result);
/* The loss that is differentiated. */
double op_result_loss(const op_case *c, const op_result *result, uint64_t seed);

/* All outputs and gradients of `exec` beside the plain ones in double: the array that is off most,
 * relative to its norm. */
typedef struct op_distance {
    int array;
    double distance; /* infinite when there is something that is no number */
} op_distance;
op_distance op_case_distance(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed);

/* Is the case right on this table: within 1e-5 in float32? What is off is printed; `worst` keeps the largest distance
 * and may be NULL.
 *
 * How far a table that stores bfloat16 may be off: a stored number is off by at most u = 2^-8 of itself, and no
 * operation rounds more than five times between an input and a gradient (attention: probabilities, output, their two
 * gradients, dq): 5 u. A recurrent operation goes on from what the step before rounded; errors of T steps that neither
 * grow nor fade add as the root of T. (Rounding what nn/cuda/gru.h rounds in a model of it gives a GRU of 11 steps and
 * 64 units with such weights 0.021 in the middle of 60 seeds, but 0.2 where the recurrence expands: the seeds are
 * fixed.) */
bool op_case_is_right(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed,
                      double *worst);

/* Fails the test with the case's name when it is off by more than `tolerance`. */
void op_case_compare(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed,
                     double tolerance);

#endif
