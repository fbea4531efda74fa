/* SPDX-License-Identifier: MIT */
/* roles.h - what a kernel does with the arrays that it is given. */
#ifndef DM_SYNTH_ROLES_H
#define DM_SYNTH_ROLES_H

#include "lang/ir/ir.h"

enum { DM_SYNTH_READS = 1, DM_SYNTH_WRITES = 2 };
#define DM_SYNTH_PARAMS_MAX 256

/* For each parameter, through the functions that it calls; `roles` starts as zeros. */
void dm_synth_find_roles(const dm_ir_function *f, uint8_t roles[DM_SYNTH_PARAMS_MAX]);
/* The parameter that an array is a view of; -1: none that is known. */
int dm_synth_root_of(const dm_ir_function *f, dm_val v);

#endif
