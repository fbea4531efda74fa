/* SPDX-License-Identifier: MIT */
/* test.h - the test of a record: a Python program that needs NumPy alone.
 *
 *     KERNEL, ENTRY    its name, and that of its entry points in C
 *     PARAMETERS       name, rank (0: no array), dtype, written
 *     FLOATS           of each array: the columns that carry a gradient
 *     CASES            launch, size, inputs, outputs, gradients (None: not compared)
 *     ...              harness.py, the same in every test
 *
 * Its check() takes a function; from the command line it takes a module or a shared library. */
#ifndef DM_SYNTH_TEST_H
#define DM_SYNTH_TEST_H

#include "lang/ir/ir.h"
#include "synth/check/trial.h"

/* How far numbers may be off: |got - want| <= PART * |want| + SCALE * largest |want| + LEAST. The same
 * figures are in harness.py. */
#define DM_SYNTH_TEST_PART 1e-4
#define DM_SYNTH_TEST_SCALE 2e-5
#define DM_SYNTH_TEST_LEAST 1e-6

/* The adjoint of number `number` of a result's column. */
static inline double dm_synth_test_weight(size_t number)
{
    return ((double)(number * 37 % 16) - 7.5) / 8;
}

/* Write the part before the cases; the compilation is not needed afterwards. `entry`: the name of its
 * entry points in C, without "_forward". */
void dm_synth_test_begin(const dm_ir_function *forward, const char *entry, const dm_trial *trial,
                         dm_buffer *out);

typedef struct dm_synth_test_case {
    const char *name;
    const dm_trial *trial;
    const uint8_t *block, *before, *outputs; /* images; block: of parameters that are no arrays */
    const uint8_t *gradients;                /* NULL: not compared */
} dm_synth_test_case;
void dm_synth_test_write(const dm_synth_test_case *cases, int count, dm_buffer *out);

#endif
