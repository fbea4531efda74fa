/* SPDX-License-Identifier: MIT */
/* temp.h - temporary folders that do not outlive their process.
 *
 * A folder is locked (flock) as long as its process lives and uses it. It is removed by
 * dm_dir_remove, by the end of an interrupted process (stop.h), or, when that was killed, by the
 * next process that makes a folder at the same place: a folder without a lock has no process any more. */
#ifndef DM_BASE_TEMP_H
#define DM_BASE_TEMP_H

#include "base/file.h"

/* A new folder in `parent` (NULL: $TMPDIR, else /tmp). */
dm_status dm_temp_folder(char out[DM_PATH_MAX], const char *parent, dm_error *err);
/* Give a folder its final name; it is no temporary any more. DM_EIO names `path`. */
dm_status dm_temp_folder_keep(const char *folder, const char *path, dm_error *err);
/* Remove what killed runs left in `parent` (NULL: as above). dm_temp_folder does it by itself. */
void dm_temp_sweep(const char *parent);

#endif
