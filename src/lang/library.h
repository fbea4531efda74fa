/* SPDX-License-Identifier: MIT */
/* library.h - builtins written in the dialect: the texts of library/, embedded in the program.
 *
 * A function there is called as wp.<its name>. Its parameters are annotated with wildcards (Float,
 * Any, vec(length=Any, dtype=Float)) and it may use every builtin without "wp."; its gradient is
 * derived. Names that start with "_" are for the library itself. One whose first parameter is
 * called `state` changes the caller's variable: it returns (value, new state). */
#ifndef DM_LANG_LIBRARY_H
#define DM_LANG_LIBRARY_H

#include <stddef.h>

typedef struct dm_library_text {
    const char *name, *text;
} dm_library_text;

extern const dm_library_text dm_library_texts[];
extern const size_t dm_library_text_count;

#endif
