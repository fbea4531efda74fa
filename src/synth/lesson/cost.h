/* SPDX-License-Identifier: MIT */
/* cost.h - what a thread of a kernel costs, by its IR alone: for comparing two forms of one program.
 *
 *   1    an operation on numbers, for each component
 *   4    a load or a store
 *   8    a quotient, a root, an elementary function
 *   16   an atomic operation
 *
 * Loops count as often as they run where that is known, else as for 32 elements, and 2 more each time
 * for counting and the jump; both sides of a branch count half. */
#ifndef DM_SYNTH_COST_H
#define DM_SYNTH_COST_H

#include "lang/ir/ir.h"

double dm_synth_cost(const dm_ir_function *forward);

#endif
