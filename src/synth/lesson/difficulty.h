/* SPDX-License-Identifier: MIT */
/* difficulty.h - how hard a kernel is, from 1 to 5, by what its IR has.
 *
 *   points
 *     1, 2   loops; loops in loops
 *     1      a loop of unknown length (while, break)
 *     1, 2   branches; four and more
 *     1      atomic operations
 *     1      functions of its own
 *     1      structs
 *     1      matrices, quaternions, transforms
 *     1      random numbers
 *     1      a launch or an array of two dimensions and more
 *     1, 2   thirty operations; seventy
 *
 *   difficulty = points, from 1 to 5 */
#ifndef DM_SYNTH_DIFFICULTY_H
#define DM_SYNTH_DIFFICULTY_H

#include "lang/ir/ir.h"

int dm_synth_difficulty(const dm_ir_function *forward);

#endif
