/* SPDX-License-Identifier: MIT */
/* dataset.h - a dataset on disk, for reading: files of records, one a line, and the producer's files
 * beside them.
 *
 * A folder with a manifest.json is ours: its shards are what the manifest lists. Any other folder,
 * or a single file, is taken as others' data: every .jsonl and .json file under it. */
#ifndef DM_SYNTH_DATASET_H
#define DM_SYNTH_DATASET_H

#include "base/file.h"
#include "base/json.h"
#include "synth/store/record.h"

typedef struct dm_synth_dataset {
    char folder[DM_PATH_MAX];
    char **files; /* names in the folder, in order */
    size_t file_count;
    json_t *manifest; /* NULL: not ours */
} dm_synth_dataset;

dm_status dm_synth_dataset_open(dm_synth_dataset *dataset, const char *path, dm_error *err);
void dm_synth_dataset_close(dm_synth_dataset *dataset);

/* One file in memory, cut into its lines. */
typedef struct dm_synth_file {
    char *bytes;
    size_t size;
    const char **lines; /* each ends where the next begins */
    size_t count;
} dm_synth_file;

dm_status dm_synth_file_read(dm_synth_file *file, const dm_synth_dataset *dataset, size_t number,
                             dm_error *err);
void dm_synth_file_free(dm_synth_file *file);
/* A line's bytes, with its newline where it has one. */
static inline size_t dm_synth_file_line(const dm_synth_file *f, size_t i)
{
    return (size_t)((i + 1 < f->count ? f->lines[i + 1] : f->bytes + f->size) - f->lines[i]);
}

/* The record of an id; DM_ENOENT when there is none. */
dm_status dm_synth_dataset_find(const dm_synth_dataset *dataset, const char *id,
                                dm_synth_record *record, dm_error *err);

#endif
