/* SPDX-License-Identifier: MIT */
/* trainer_case.h - what runs of training do on every device. */
#ifndef DM_TESTS_TRAIN_TRAINER_CASE_H
#define DM_TESTS_TRAIN_TRAINER_CASE_H

#include "train/trainer.h"

/* A configuration that trains in a moment. */
dm_train_config trainer_config(dm_train_task task);
dm_training_options trainer_options(const char *device, const char *const *data,
                                    const char *folder);
/* To its end; `out` may be NULL. */
void trainer_whole(const dm_train_config *config, const dm_training_options *options,
                   dm_training_state *out);

/* The preset's XOR with 20 seeds, twice each: at least 19 solved, the same weights both times. */
void trainer_solves_xor(const char *device);
void trainer_learns_images(void **state, const char *device);
void trainer_learns_text(void **state, const char *device);
/* Every task, also predicting: a run resumed from a checkpoint in its middle, on the other device
 * of the same kind, ends with the same files. */
void trainer_resumes(void **state, const char *device, const char *other_device);
/* A GPT's run whose proposals are all refused ends with the bits of a plain one that keeps the same average. */
void trainer_refused_is_plain(void **state, const char *device);

#endif
