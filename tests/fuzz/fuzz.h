/* SPDX-License-Identifier: MIT */
/* fuzz.h - fuzz targets: one for each parser of files and texts.
 *
 *   targets.def        a row for each target
 *   target_*.c         what a target does with its bytes, and its first corpus
 *   driver.c           libFuzzer's entry, or a main of its own that changes a corpus at random
 *   corpus/NAME/       the kept inputs of a target, written by `dm-fuzz --write-seeds`
 *
 * A target gives the bytes to its parser and, when they are accepted, reads all of what came out,
 * so that the sanitizers see it. Whatever the bytes, the parser gives a result or a status with one
 * line of reason (fuzz_done); anything else aborts. Where a file ends with a hash of itself the
 * target makes the hash right in a copy as well, or nothing behind it would ever be reached. */
#ifndef DM_TESTS_FUZZ_H
#define DM_TESTS_FUZZ_H

#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name;
    size_t size_max; /* longer inputs are cut */
    void (*run)(const uint8_t *data, size_t size);
    void (*seeds)(void); /* calls fuzz_seed for each */
    const char *words;   /* what the mutator of driver.c puts in, separated by spaces */
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const size_t fuzz_target_count;
const fuzz_target *fuzz_target_find(const char *name); /* NULL: there is none */

/* A parser has returned: the status goes with its message, which is one line. */
void fuzz_done(dm_status status, const dm_error *err);
/* What must hold whatever the input; aborts with the reason. */
void fuzz_expect(bool holds, const char *what);
/* Something of ours that cannot fail, such as the ROM that states are of. */
void fuzz_need(dm_status status, const dm_error *err);
/* Read every byte. */
void fuzz_touch(const void *bytes, size_t size);

/* The bytes as a file in memory, until the next call; `which` is 0 to 3. */
const char *fuzz_file(int which, const void *data, size_t size);
/* A folder of this process, empty; removed when it ends. */
const char *fuzz_folder(void);
/* Inputs of several files: "=== NAME\n" begins each, of the names given (a list that ends with
 * NULL); what has no such line before it is the first. Written into fuzz_folder(). */
const char *fuzz_folder_of(const uint8_t *data, size_t size, const char *const *names);

/* An input of the first corpus of the target whose `seeds` runs. */
void fuzz_seed(const char *name, const void *bytes, size_t size);
void fuzz_seed_text(const char *name, const char *text);
/* The same from a file that our code wrote. */
void fuzz_seed_file(const char *name, const char *path);

#endif
