/* SPDX-License-Identifier: MIT */
/* corrector.h - what is added to a predicted loss, from how wrong earlier predictions were.
 *
 *     stored     mean of the 10 nearest residuals, weights 0.95^(age / 100) * confidence
 *     linear     a linear model of the normalised features, taught each residual (rate 0.01)
 *     correction (0.7 stored + 0.3 linear) * (0.5 + min(mean |residual| of the nearest, 1)),
 *                within +-20% of the predicted loss
 *
 * Features are divided by their running root mean square, so that one large feature does not decide
 * the linear model. Plain state without pointers. */
#ifndef DM_TRAIN_PREDICT_CORRECTOR_H
#define DM_TRAIN_PREDICT_CORRECTOR_H

#include "train/predict/residual.h"
#include "train/predict/rules.h"

typedef struct dm_corrector {
    double weights[DM_DYNAMICS_ENCODER_FEATURES + 1]; /* the last: bias */
    double squares[DM_DYNAMICS_ENCODER_FEATURES];     /* running mean of the features' squares */
    uint64_t taught;
} dm_corrector;

void dm_corrector_init(dm_corrector *corrector);
/* Normalised least mean squares: one step towards the residual. */
void dm_corrector_teach(dm_corrector *corrector, const dm_predict_rules *rules,
                        const float features[DM_DYNAMICS_ENCODER_FEATURES], double residual);
double dm_corrector_linear(const dm_corrector *corrector,
                           const float features[DM_DYNAMICS_ENCODER_FEATURES]);
double dm_corrector_correction(const dm_corrector *corrector, const dm_predict_rules *rules,
                               const dm_residual_store *store, uint64_t step,
                               const float features[DM_DYNAMICS_ENCODER_FEATURES],
                               double predicted);

#endif
