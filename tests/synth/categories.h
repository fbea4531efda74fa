/* SPDX-License-Identifier: MIT */
/* categories.h - datasets of every category, for tests. */
#ifndef DM_TESTS_SYNTH_CATEGORIES_H
#define DM_TESTS_SYNTH_CATEGORIES_H

#include "synth/produce.h"

static inline void every_category(dm_synth_produce_options *options)
{
    options->category_count = DM_SYNTH_CATEGORY_COUNT;
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        options->categories[i] = i;
}

#endif
