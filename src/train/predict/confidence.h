/* SPDX-License-Identifier: MIT */
/* confidence.h - how far the forecasts can be trusted, from 0 to 1.
 *
 *     confidence = 0.4 / (1 + spread) + 0.4 history + 0.2 stability
 *
 *     spread     the ensemble's `total` ten steps ahead, as a share of its mean
 *     history    0.7 below 10 errors of predictions, else min(0.99, 1 / (1 + mean of the last 50))
 *     stability  max(0.5, 1 / (1 + 2 |fast - slow| / slow)) of two averages of the loss
 *
 * Errors are |actual - predicted| of losses. Plain state without pointers. */
#ifndef DM_TRAIN_PREDICT_CONFIDENCE_H
#define DM_TRAIN_PREDICT_CONFIDENCE_H

#include "train/predict/rules.h"

enum { DM_CONFIDENCE_ERRORS = 50 };

typedef struct dm_predict_confidence {
    double errors[DM_CONFIDENCE_ERRORS]; /* a ring */
    uint64_t error_count;                /* so far */
    double fast, slow;
    uint64_t losses; /* so far */
} dm_predict_confidence;

void dm_predict_confidence_init(dm_predict_confidence *c);
/* A real loss; one that is not finite is passed over. */
void dm_predict_confidence_loss(dm_predict_confidence *c, const dm_predict_rules *rules,
                                double loss);
/* |actual - predicted| of one step. */
void dm_predict_confidence_error(dm_predict_confidence *c, double error);

double dm_predict_history(const dm_predict_confidence *c, const dm_predict_rules *rules);
double dm_predict_stability(const dm_predict_confidence *c);
double dm_predict_confidence_value(const dm_predict_confidence *c, const dm_predict_rules *rules,
                                   double spread);

#endif
