/* SPDX-License-Identifier: MIT */
/* file.h - whole files, paths and folders.
 *
 * Errors name the path and the system's reason. Writing is atomic: bytes go to a temporary name in
 * the same folder, are flushed to disk, and replace the target by rename, so that a reader or a
 * kill at any moment sees the old file or the new one. */
#ifndef DM_BASE_FILE_H
#define DM_BASE_FILE_H

#include "base/buffer.h"

#include <dotmatrix/base.h>

#include <stdbool.h>

#define DM_PATH_MAX 4096

/* Read all of a file; `*bytes` is malloc'ed, has a NUL after its end, and is the caller's to free.
 * A file larger than `limit` (0: none) is refused with DM_EINVAL, before it is read where its size
 * is known (pipes and /proc files are read up to the limit; without one up to 1 GiB). */
dm_status dm_file_read(const char *path, size_t limit, char **bytes, size_t *size, dm_error *err);
/* Replace or create a file. An existing file keeps its mode; through a link the file it leads to is
 * replaced (a link that leads nowhere is refused). What is not a regular file (a pipe, /dev/stdout)
 * is written to directly. */
dm_status dm_file_write(const char *path, const void *bytes, size_t size, dm_error *err);
/* Write the contents of `text`, and free it, also on failure. */
dm_status dm_file_write_buffer(const char *path, dm_buffer *text, dm_error *err);

bool dm_file_exists(const char *path); /* anything but a folder */
bool dm_dir_exists(const char *path);
/* Create a folder and its parents; one that exists is fine. */
dm_status dm_dir_create(const char *path, dm_error *err);
/* Delete a folder and everything under it, without following links; `path` itself may not be one.
 */
dm_status dm_dir_remove(const char *path, dm_error *err);

typedef struct dm_dir_entry {
    const char *path; /* from the walk's root, '/' separated */
    bool is_dir;      /* a link is never a folder here, whatever it leads to */
    bool is_link;
    uint64_t size; /* of a regular file, else 0 */
    int64_t modified_ns;
} dm_dir_entry;

/* Visit everything under `root` in sorted order (bytes of the name), folders before what they hold,
 * links not followed. A visitor that returns something other than DM_OK ends the walk with that
 * status. It may delete the entry it was given; what disappears meanwhile is passed over. */
typedef dm_status (*dm_dir_visitor)(const char *root, const dm_dir_entry *entry, void *user,
                                    dm_error *err);
dm_status dm_dir_walk(const char *root, dm_dir_visitor visit, void *user, dm_error *err);

/* "a/b" from "a" and "b", also from "a/" and "b"; "b" from "" and "b". DM_EINVAL when it does not
 * fit DM_PATH_MAX. */
dm_status dm_path_join(char out[DM_PATH_MAX], const char *folder, const char *name, dm_error *err);
/* Where this user's cache lives: $DM_CACHE_DIR, else $XDG_CACHE_HOME/dotmatrix, else
 * $HOME/.cache/dotmatrix. Not created. */
dm_status dm_path_cache(char out[DM_PATH_MAX], dm_error *err);

#endif
