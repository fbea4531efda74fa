/* SPDX-License-Identifier: MIT */
/* plot.h - the losses of a metrics.jsonl as a picture. */
#ifndef DM_TRAIN_PLOT_H
#define DM_TRAIN_PLOT_H

#include <dotmatrix/base.h>

/* A line for each of "loss" and "val_loss" that the file has, over the step, to a .png or .svg.
 * DM_EUNAVAILABLE without gnuplot; DM_EFORMAT when there is nothing to draw. */
dm_status dm_plot_losses(const char *metrics, const char *picture, dm_error *err);

#endif
