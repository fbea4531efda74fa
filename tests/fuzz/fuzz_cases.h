/* SPDX-License-Identifier: MIT */
/* fuzz_cases.h - what fuzz_kernel.c and fuzz_rom.c share: files that are given, reasons of refusals, the clock, and the
 * line that names a case which hangs or dies. */
#ifndef DM_TESTS_FUZZ_CASES_H
#define DM_TESTS_FUZZ_CASES_H

#include <dotmatrix/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One reason, one line, no control characters. */
bool fuzz_reason_is_good(const dm_error *err);

/* Files to change. */
typedef struct fuzz_given {
    char **bytes;
    size_t *sizes;
    unsigned count;
} fuzz_given;

/* Files longer than `limit` and those that cannot be read are told and left out; false: out of memory. */
bool fuzz_given_read(char **paths, int count, size_t limit, fuzz_given *out);
void fuzz_given_free(fuzz_given *given);

/* Seconds on a clock that only goes on. */
double fuzz_now(void);

/* A case that takes so many seconds of CPU time from fuzz_watch on (the machine may be busy with other things), or
 * ends in abort() or a fault, ends the program with the line that `format` makes. */
void fuzz_watch_install(void);
void fuzz_watch(int seconds, const char *format, ...) DM_PRINTF(2, 3);
void fuzz_watch_end(void);

#endif
