/* SPDX-License-Identifier: MIT */
/* targets.h - the functions of every target in targets.def. */
#ifndef DM_TESTS_FUZZ_TARGETS_H
#define DM_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#define TARGET(name, limit, words)                                                                 \
    void fuzz_run_##name(const uint8_t *data, size_t size);                                        \
    void fuzz_seeds_##name(void);
#include "tests/fuzz/targets.def"
#undef TARGET

#endif
