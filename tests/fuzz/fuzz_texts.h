/* SPDX-License-Identifier: MIT */
/* fuzz_texts.h - texts for the kernel compiler. Text i of a seed is always the same: random bytes, a soup of tokens,
 * one of the given files with lines, tokens and bytes changed, something nested deeply, or something that grows (giant
 * constants, loops to unroll, functions that call each other twice). */
#ifndef DM_TESTS_FUZZ_TEXTS_H
#define DM_TESTS_FUZZ_TEXTS_H

#include "tests/fuzz/fuzz_cases.h"
#include "tests/support/random.h"

#define FUZZ_TEXT_MAX ((size_t)2 << 20)

typedef struct fuzz_text {
    dm_test_random random;
    char *text; /* FUZZ_TEXT_MAX */
    size_t size;
    const fuzz_given *given;
} fuzz_text;

void fuzz_text_make(fuzz_text *text, uint64_t seed, uint64_t index);

#endif
