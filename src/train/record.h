/* SPDX-License-Identifier: MIT */
/* record.h - what a checkpoint says of its run, as JSON: configuration, data, vocabulary.
 *
 *     {"config": {"task": "gpt", ...}, "data": ["/path/text.txt"], "data_hash": "...",
 *      "vocabulary": 65, "alphabet": "0a2021..."} */
#ifndef DM_TRAIN_RECORD_H
#define DM_TRAIN_RECORD_H

#include "train/task/task.h"

typedef struct dm_run_record {
    char **data; /* absolute paths; none: what the cache folder has */
    size_t data_count;
    char hash[DM_HASH_HEX_SIZE]; /* of the data that the run was begun with */
} dm_run_record;

/* The paths that the user gave, replacing those there are; each must exist. */
dm_status dm_run_record_data(dm_run_record *record, const char *const *paths, size_t count,
                             dm_error *err);
void dm_run_record_deinit(dm_run_record *record);

/* With the task's configuration, hash, vocabulary and alphabet. */
void dm_run_record_write(const dm_run_record *record, const dm_task *task, dm_buffer *out);
/* Back: the task is initialised, with vocabulary and alphabet. `model` is the checkpoint's own word
 * for the task. On failure there is nothing to release. */
dm_status dm_run_record_read(const char *text, const char *model, const char *path, dm_task *task,
                             dm_run_record *record, dm_error *err);

#endif
