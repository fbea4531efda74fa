/* SPDX-License-Identifier: MIT */
/* tensorboard.h - scalars as TensorBoard event files.
 *
 * A file is a sequence of records: u64 length, masked CRC-32C of it, the bytes, masked CRC-32C of
 * them; each record is a protobuf message Event. Only the fields that scalars need are written:
 * Event {1: wall_time double, 2: step varint, 3: file_version string, 5: Summary {1: Value {1: tag,
 * 2: simple_value float}}}. A run that resumes begins a new file in the same folder; TensorBoard
 * drops what an older file has of later steps. */
#ifndef DM_TRAIN_TENSORBOARD_H
#define DM_TRAIN_TENSORBOARD_H

#include "train/metrics.h"

typedef struct dm_tensorboard dm_tensorboard;

/* A new file in `folder`, named after the time and the process. */
dm_status dm_tensorboard_open(const char *folder, dm_tensorboard **out, dm_error *err);
dm_status dm_tensorboard_write(dm_tensorboard *board, uint64_t step, const dm_metric *values,
                               size_t count, dm_error *err);
const char *dm_tensorboard_path(const dm_tensorboard *board);
void dm_tensorboard_close(dm_tensorboard *board);

uint32_t dm_crc32c(const void *bytes, size_t size);

#endif
