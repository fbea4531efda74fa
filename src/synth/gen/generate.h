/* SPDX-License-Identifier: MIT */
/* generate.h - random kernels: a seed, a slot and an attempt always give the same kernel.
 *
 * Programs are not templates: statements and expressions are drawn from the dialect's grammar by type,
 * within a budget that the category and the profile set. The range of every value is tracked, so that
 * roots, logarithms, quotients and exponents are safe and outputs are finite for inputs in
 * DM_SYNTH_INPUT_LOW .. DM_SYNTH_INPUT_HIGH.
 *
 *   gen.h          the state of a kernel being grown; node.h, expression.h: parts of it
 *   vocabulary.c   names                  type.h       types of the dialect
 *   profile.c      how often what         category.c   what each category asks for
 *   node.c ...     expressions            expression.c, leaf.c ... which ones, by type
 *   statement.c    blocks, loops, branches
 *   declare.c      functions, structs     input.c, output.c  parameters
 *   generate.c     one kernel: what it is made of, its body, its text
 *
 * A generator keeps memory between kernels and serves one thread; what it makes depends on its
 * arguments alone. */
#ifndef DM_SYNTH_GENERATE_H
#define DM_SYNTH_GENERATE_H

#include "synth/gen/profile/profile.h"
#include "synth/store/record.h"

/* Bump when the same seed gives another kernel. */
#define DM_SYNTH_GENERATOR 3

/* What inputs the kernels are made for: floats in this range, integer array elements in
 * 0 .. size - 1, integer scalars in 1 .. size, all arrays of `size` elements in each dimension, at
 * least DM_SYNTH_SIZE_LEAST; the launch has `size` threads in each dimension. Outputs start as 0.
 */
#define DM_SYNTH_INPUT_LOW 0.6
#define DM_SYNTH_INPUT_HIGH 1.4
#define DM_SYNTH_SIZE_LEAST 4

typedef struct dm_synth_generator dm_synth_generator;

/* The profile must outlive the generator. */
dm_status dm_synth_generator_create(const dm_synth_profile *profile, dm_synth_generator **out,
                                    dm_error *err);
void dm_synth_generator_destroy(dm_synth_generator *generator);

/* The id of a slot's record. */
void dm_synth_id(char id[DM_SYNTH_ID_MAX], uint64_t seed, uint64_t slot);
/* Fill python_source, kernel_name, category, id and attempt; the rest of the record is cleared. */
dm_status dm_synth_generate(dm_synth_generator *generator, uint64_t seed, uint64_t slot,
                            int attempt, dm_synth_category category, dm_synth_record *record,
                            dm_error *err);

#endif
