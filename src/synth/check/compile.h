/* SPDX-License-Identifier: MIT */
/* compile.h - from a record's Python text to its other texts, by the kernel compiler.
 *
 * The producer makes records with it, the validator makes them again and compares. A compiler keeps
 * memory between records; one thread at a time. */
#ifndef DM_SYNTH_COMPILE_H
#define DM_SYNTH_COMPILE_H

#include "synth/store/record.h"

typedef struct dm_synth_compiler dm_synth_compiler;

/* Which texts. */
enum {
    DM_SYNTH_TEXT_CUDA = 1,
    DM_SYNTH_TEXT_C = 2,
    DM_SYNTH_TEXT_IR = 4,
    DM_SYNTH_FORM = 8, /* the hash of the canonical form as well */
    DM_SYNTH_TEXT_REFERENCE = 16,
    DM_SYNTH_WARP_NAMES = 32, /* functions named as in warp_name.h; by record->canonical */
};

dm_status dm_synth_compiler_create(dm_synth_compiler **out, dm_error *err);
void dm_synth_compiler_destroy(dm_synth_compiler *compiler);

/* Fill the texts of `record` that `texts` asks for, has_backward, difficulty and the counts of lines,
 * from its python_source and kernel_name; its descriptions are checked and get their preconditions. A warning of the
 * compiler is an error here (DM_ECOMPILE): what is shipped compiles silently. */
dm_status dm_synth_compile(dm_synth_compiler *compiler, dm_synth_record *record, int texts,
                           dm_error *err);

#endif
