/* SPDX-License-Identifier: MIT */
/* natural_tools.h - what tests of the natural style begin with: generator, compiler and a record. */
#ifndef DM_TESTS_SYNTH_NATURAL_TOOLS_H
#define DM_TESTS_SYNTH_NATURAL_TOOLS_H

#include "synth/check/compile.h"
#include "synth/natural/natural.h"
#include "tests/support/test.h"

#include <string.h>

typedef struct tools {
    dm_natural *natural;
    dm_synth_compiler *compiler;
    dm_synth_record record;
} tools;

static inline void set_up(tools *t)
{
    memset(t, 0, sizeof *t);
    assert_ok(dm_natural_create(&t->natural, err));
    assert_ok(dm_synth_compiler_create(&t->compiler, err));
    dm_synth_record_init(&t->record);
}

static inline void tear_down(tools *t)
{
    dm_natural_destroy(t->natural);
    dm_synth_compiler_destroy(t->compiler);
    dm_synth_record_deinit(&t->record);
}

#endif
