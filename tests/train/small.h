/* SPDX-License-Identifier: MIT */
/* small.h - data that models learn in a moment, for tests of training. */
#ifndef DM_TESTS_TRAIN_SMALL_H
#define DM_TESTS_TRAIN_SMALL_H

#include "train/config.h"

/* Images of four classes in the test's folder: a bright corner each, on noise. */
void small_images(void **state, const char *folder, const char *part, uint32_t count);
/* Some 6,000 characters of a few words. */
void small_text(void **state, const char *name);
/* Data for a task, and their path; NULL where there are none. */
const char *small_data(void **state, dm_train_task task);

#endif
