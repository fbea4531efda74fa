/* SPDX-License-Identifier: MIT */
/* weights.h - a model's parameters as named tensors, as PyTorch's users know them.
 *
 * xor and cnn have the names of a torch.nn.Sequential ("0.weight"), gpt those of Hugging Face's
 * GPT2LMHeadModel ("transformer.h.0.attn.c_attn.weight", linear weights as [inputs][outputs]). A
 * checkpoint has the optimiser's state beside them ("optimiser.first.NAME", "optimiser.second.NAME")
 * and, where there is one, the average of the weights ("average.NAME"). */
#ifndef DM_TRAIN_WEIGHTS_H
#define DM_TRAIN_WEIGHTS_H

#include "train/checkpoint.h"
#include "train/task/task.h"

/* The weights alone; `average`: the averaged ones. */
dm_status dm_weights_save(const char *path, const dm_task *task, dm_nn_model *model, bool average,
                          dm_error *err);
/* Read the weights of a file into a model. Names may lack "transformer."; other tensors of such files
 * (masks, an lm_head that is the embedding) are ignored. float64 and bfloat16 are converted, and
 * positions beyond the model's are dropped. Anything else that does not fit is DM_EFORMAT. */
dm_status dm_weights_load(const char *path, const dm_task *task, dm_nn_model *model, dm_error *err);

/* A checkpoint of where the model is, with `more` tensors (may be NULL), and back to the same bits.
 * `step` is the model's own count. */
dm_status dm_weights_checkpoint(const char *path, const dm_checkpoint *where, const dm_task *task,
                                dm_nn_model *model, const dm_safetensor *more, size_t more_count,
                                dm_error *err);
dm_status dm_weights_restore(const dm_safetensors *file, const char *path, const dm_task *task,
                             dm_nn_model *model, uint64_t step, dm_error *err);
/* The weights of a checkpoint's file, or the averaged ones, as a file of their own. */
dm_status dm_weights_export(const char *checkpoint, bool average, const char *path, dm_error *err);
/* Only the weights of a checkpoint, or the averaged ones where it has them: for a model that is to
 * be used. */
dm_status dm_weights_take(const dm_safetensors *file, const char *path, const dm_task *task,
                          bool average, dm_nn_model *model, dm_error *err);

#endif
