/* SPDX-License-Identifier: MIT */
/* mutant.h - a kernel with one operator changed, for each operator. A good test notices each of them.
 *
 *     a + b <-> a - b    a * b <-> a / b    a < b <-> a >= b    a == b <-> a != b    and <-> or
 *     min <-> max        sin <-> cos        a << b <-> a >> b   -a -> a              %, // -> *
 *     atomic add <-> sub, min <-> max       clamp with one of its two ends turned around
 *
 * In the IR of the kernel and of the functions of its program. Edges (a < b to a <= b) are made as
 * well and marked, since for numbers that are never equal they change nothing. A mutant whose text is
 * the kernel's own is none. */
#ifndef DM_SYNTH_MUTANT_H
#define DM_SYNTH_MUTANT_H

#include "synth/check/unit.h"

#define DM_MUTANTS_MAX 192

typedef struct dm_mutant {
    dm_buffer text; /* C, the forward pass */
    char what[32];  /* "add to sub" */
    int line;       /* of the source */
    bool edge;
} dm_mutant;

typedef struct dm_mutant_list {
    dm_mutant *mutants;
    int count;
} dm_mutant_list;

/* Of a program that has been compiled; it is put back as it was. */
dm_status dm_mutants_make(const dm_unit *unit, dm_mutant_list *out, dm_error *err);
void dm_mutants_clear(dm_mutant_list *list);

#endif
