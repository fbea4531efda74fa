/* SPDX-License-Identifier: MIT */
/* trial.h - arguments for one kernel, made up: what the verifier runs it on.
 *
 * All arrays lie in one piece of memory, the image, with guards between them:
 *
 *     | guard | array 0 | guard | array 1 | ... | guard |
 *
 * and there are four such images: contents before a run, now, gradients, and the weights of a loss
 * sum(weight * element) over the arrays that the kernel writes. A launch has `size` threads and an
 * array `size` elements in each dimension. Floats are drawn from DM_SYNTH_INPUT_LOW .. HIGH,
 * integers in arrays from 0 .. size - 1, integers by themselves from 1 .. size; arrays that are
 * only written start as zero. Numbers depend on the seed alone: a trial in float32 and one in
 * float64 of the same kernel have the same. */
#ifndef DM_SYNTH_TRIAL_H
#define DM_SYNTH_TRIAL_H

#include "base/arena.h"
#include "lang/ir/ir.h"

#include <dotmatrix/kernel.h>

#define DM_TRIAL_GUARD 256 /* bytes */
#define DM_TRIAL_EDGES 8

/* A number inside of an element. */
typedef struct dm_trial_leaf {
    size_t offset;
    dm_kernel_scalar scalar;
    bool is_float;
} dm_trial_leaf;

/* Leaves of an element that belong together: all of a vector, or a field of a struct. */
typedef struct dm_trial_column {
    const char *path; /* "position", "frame.origin"; "": the element itself */
    int first, count; /* leaves */
} dm_trial_column;

typedef struct dm_trial_param {
    const char *name;
    bool is_array;
    bool reads, writes;  /* what the kernel does with an array */
    bool floats;         /* has numbers that carry a gradient */
    int ndim;            /* of an array */
    size_t block_offset; /* in the argument block */
    size_t offset;       /* of an array in the image */
    size_t step, count;  /* bytes of an element, elements; a plain parameter is one element */
    dm_trial_leaf *leaves;
    int leaf_count; /* of one element */
    dm_trial_column *columns;
    int column_count;
} dm_trial_param;

typedef struct dm_trial_range {
    size_t offset, size;
} dm_trial_range;

typedef struct dm_trial {
    dm_arena arena;
    int size, dimensions;
    dm_trial_param *params;
    int param_count;
    uint8_t *block; /* arguments; its arrays are `now` and `grad` */
    size_t block_size;
    uint8_t *before, *now, *grad, *weights;
    size_t image_size;
    dm_trial_range *guards; /* all that is not in an array */
    int guard_count;
    double edges[DM_TRIAL_EDGES]; /* numbers that the kernel compares with */
    int edge_count;
} dm_trial;

/* For a compiled kernel, which is not needed afterwards. DM_EUNSUPPORTED for parameters that
 * nothing is known about: arrays inside of structs. */
dm_status dm_trial_create(const dm_ir_function *forward, int size, uint64_t seed, dm_trial **out,
                          dm_error *err);
void dm_trial_destroy(dm_trial *trial);

/* Draw one parameter's contents (`before`, or the block) again. */
void dm_trial_draw(dm_trial *trial, int param, uint64_t seed);
/* The argument block for images that lie elsewhere, on a device for instance. */
void dm_trial_bind(const dm_trial *trial, uint8_t *block, void *now, void *grad);
/* Where an element's number lies in an image (arrays) or in the block. */
static inline size_t dm_trial_at(const dm_trial_param *p, size_t element, int leaf)
{
    return (p->is_array ? p->offset : p->block_offset) + element * p->step + p->leaves[leaf].offset;
}
double dm_trial_number(const uint8_t *image, const dm_trial_param *p, size_t element, int leaf);

/* Contents for a case of a test (lesson/test.h) in place of those that were drawn: three decimals,
 * so that they are short to write; arrays that are only written hold numbers, too. */
typedef enum dm_trial_kind {
    DM_TRIAL_ORDINARY,
    DM_TRIAL_ENDS,   /* the ends of the ranges: integers 0 and size - 1, one alone is 1 */
    DM_TRIAL_FULL,   /* integers by themselves are `size` */
    DM_TRIAL_SIGNED, /* some floats are negative */
    DM_TRIAL_KINDS,
    /* Each parameter in its own way: few values that are often equal, numbers that the kernel
     * compares with, zeros, small or large numbers, both signs, indices that are all the same. Many kernels are not
     * made for that. */
    DM_TRIAL_MIXED = DM_TRIAL_KINDS
} dm_trial_kind;
/* `percent` of the parameters of a SIGNED case have numbers of both signs. */
void dm_trial_draw_case(dm_trial *trial, dm_trial_kind kind, int percent, uint64_t seed);

void dm_trial_fill_guards(const dm_trial *trial, uint8_t *image, uint8_t byte);
bool dm_trial_guards_hold(const dm_trial *trial, const uint8_t *image, uint8_t byte);

#endif
