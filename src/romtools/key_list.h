/* SPDX-License-Identifier: MIT */
/* key_list.h - a list of actions, each the keys that it presses, from a text file.
 *
 *   # one action a line, numbered from 0
 *   -
 *   A
 *   A,RIGHT
 *   0x11          # a mask of DM_GB_KEY_...
 *
 * Case does not matter; # begins a comment. */
#ifndef DM_ROMTOOLS_KEY_LIST_H
#define DM_ROMTOOLS_KEY_LIST_H

#include <dotmatrix/base.h>

#define DM_GB_KEY_LIST_MAX 256u
#define DM_GB_KEY_LIST_SIZE_MAX (1u << 20) /* of a file */

typedef struct dm_gb_key_list {
    uint8_t keys[DM_GB_KEY_LIST_MAX];
    size_t count;
} dm_gb_key_list;

/* The error names file and line. */
dm_status dm_gb_key_list_parse(dm_gb_key_list *list, const char *name, const char *text,
                               size_t size, dm_error *err);
dm_status dm_gb_key_list_load(dm_gb_key_list *list, const char *path, dm_error *err);

#endif
