/* SPDX-License-Identifier: MIT */
/* curve.h - the recorded course of a training run, and how it is read.
 *
 *   curve_file.c   metrics.jsonl, CSV, plain losses ──┐
 *   family.c       synthetic families ────────────────┤
 *                                                     ▼
 *   baseline.c     last value, mean, trends, power law: forecasts without learning
 *   view.c         a run at a moment: baselines, their track record, their combination, features
 *   forecast.c     the ensemble corrects the combination; the band
 *   learn.c        teaches an ensemble from many curves and calibrates its band
 *   evaluate.c     errors of all methods and coverage of the band on curves
 *
 * Everything works on the logarithm of the loss. "Steps ahead" are counted in samples of the curve:
 * a run that is logged every 10 steps is forecast in units of 10 steps. */
#ifndef DM_DYNAMICS_CURVE_H
#define DM_DYNAMICS_CURVE_H

#include <dotmatrix/dynamics.h>

#define DM_CURVE_LOSS_MAX 1e30f       /* beyond it a loss is passed over, as by the encoder */
#define DM_CURVE_LOSS_MIN 1e-30f      /* below it (0, negative) there is no logarithm to forecast */
#define DM_CURVE_FILE_MAX (64u << 20) /* bytes */
#define DM_CURVE_POINTS_MAX 1000000u

typedef struct dm_curve {
    char name[96];
    size_t count;
    size_t skipped; /* samples without a usable loss */
    size_t room;
    dm_dynamics_sample *samples; /* [count], their losses within the bounds above */
} dm_curve;

void dm_curve_deinit(dm_curve *curve);
/* A sample whose loss is not finite, not positive or out of bounds is counted in `skipped`. Other
 * values that are not finite become 0, which means "not known". */
dm_status dm_curve_append(dm_curve *curve, const dm_dynamics_sample *sample, dm_error *err);

/* Read a file; what it holds is told from its first line.
 *   {"step": 1, "loss": 2.3, "norm": 0.9, "rate": 1e-3}   metrics.jsonl; lines without "loss" pass
 *   step,loss,norm,rate                                   CSV with a header of the names below
 *   2.3                                                   one loss a line
 * Names: step, loss, norm, rate, first_mean, first_std, second_mean, second_std, beta1, beta2,
 * phase, phase_step. Steps must increase. Fewer than `least` usable losses are DM_EFORMAT. */
dm_status dm_curve_read(const char *path, size_t least, dm_curve *out, dm_error *err);

#endif
