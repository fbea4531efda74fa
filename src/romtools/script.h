/* SPDX-License-Identifier: MIT */
/* script.h - which keys are held when, from a text file.
 *
 *   # frame  keys: A B START SELECT UP DOWN LEFT RIGHT, joined by commas; - is none
 *   0        -
 *   120      START
 *   124      -
 *   200      A,RIGHT
 *
 * A line holds from its frame until the next line's. Frames count from 0 at the beginning of a run
 * and only go up. Case does not matter; # begins a comment. */
#ifndef DM_GB_SCRIPT_H
#define DM_GB_SCRIPT_H

#include <dotmatrix/base.h>

#include <stdbool.h>

#define DM_GB_SCRIPT_FRAME_MAX 1000000000000u
#define DM_GB_SCRIPT_SIZE_MAX (64u << 20) /* of a file */

typedef struct dm_gb_script_line {
    uint64_t frame;
    uint8_t keys; /* DM_GB_KEY_... */
} dm_gb_script_line;

typedef struct dm_gb_script {
    dm_gb_script_line *lines;
    size_t count;
} dm_gb_script;

/* Both leave `script` empty when they fail; the error names file and line. */
dm_status dm_gb_script_parse(dm_gb_script *script, const char *name, const char *text, size_t size,
                             dm_error *err);
dm_status dm_gb_script_load(dm_gb_script *script, const char *path, dm_error *err);
/* "A,RIGHT" or "-"; false: these are no keys. */
bool dm_gb_script_keys(const char *text, size_t size, uint8_t *out);
void dm_gb_script_deinit(dm_gb_script *script);

#endif
