/* SPDX-License-Identifier: MIT */
/* gpt.h - what sampling needs of a GPT besides the trainer's view of it (task.h). */
#ifndef DM_TRAIN_GPT_H
#define DM_TRAIN_GPT_H

#include "train/data/bpe.h"
#include "train/task/task.h"

/* GPT-2's vocabulary from the cache folder; when it is not there the line says which command
 * brings it. */
dm_status dm_gpt_bpe(dm_bpe **out, dm_error *err);

/* Text to tokens (u16, appended) as the task's model reads them; `bpe` is NULL when it reads
 * characters. A character that the model does not know is DM_EINVAL. */
dm_status dm_gpt_encode(const dm_task *task, dm_bpe *bpe, const char *text, size_t size,
                        dm_buffer *tokens, dm_error *err);
/* Tokens to bytes, appended. */
dm_status dm_gpt_decode(const dm_task *task, const dm_bpe *bpe, const uint16_t *tokens,
                        size_t count, dm_buffer *text, dm_error *err);

#endif
