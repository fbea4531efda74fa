/* SPDX-License-Identifier: MIT */
/* page.h - a sweep as one page: all curves, the winner, every run with its end and the reason. */
#ifndef DM_TRAIN_SWEEP_PAGE_H
#define DM_TRAIN_SWEEP_PAGE_H

#include "train/sweep/sweep.h"

/* index.html in `folder`, with the picture inside it. Without gnuplot the page has no picture. */
dm_status dm_sweep_page(const dm_sweep *sweep, json_t *const *parameters, const char *folder,
                        dm_error *err);

#endif
