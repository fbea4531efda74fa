/* SPDX-License-Identifier: MIT */
/* view.h - a run as seen at moments of its course ("origins"), every 5 samples: the ensemble's input.
 *
 *   origin n - 5i ... n - 5, n:  baselines fitted to what came before it
 *                                track record: how far forecasts of earlier origins were off by now
 *                                combination: the baselines, weighted by their track record
 *                                features: what the ensemble sees, in units of the run's own errors
 *
 * Knots are the times 5, 10 .. 50 samples ahead; what comes true at a knot is the mean of the log
 * losses within 2 samples of it. Combining by past errors is Bates and Granger's, 1969. */
#ifndef DM_DYNAMICS_VIEW_H
#define DM_DYNAMICS_VIEW_H

#include "dynamics/curve/baseline.h"
#include "dynamics/curve/curve.h"

#include <stdbool.h>

enum {
    DM_VIEW_STRIDE = 5,
    DM_VIEW_KNOTS = 10,
    DM_VIEW_FEATURES = 36,
    DM_VIEW_PAST = 12,                                /* origins that the ensemble sees */
    DM_VIEW_ORIGINS = 64,                             /* that a forecast looks back on */
    DM_VIEW_STEPS = DM_VIEW_PAST - 1 + DM_VIEW_KNOTS, /* of a sequence to learn from */
};
#define DM_VIEW_GAIN 0.25 /* feature 0 and what the ensemble says are exp(gain * units) */
#define DM_VIEW_LIMIT 8   /* units beyond it count as so many */

/* How track records become weights: w_k is proportional to prior_k / error_k^sharpness. Fitted to
 * curves by dm_view_rules_fit. */
typedef struct dm_view_rules {
    float sharpness;
    float doubt; /* origins' worth of "all alike" in every record */
    float prior[DM_BASELINE_COUNT];
} dm_view_rules;
#define DM_RULES_SHARPNESS_MAX 8.0f
#define DM_RULES_LEAST 1e-4f /* of doubt and priors */
#define DM_RULES_MOST 1e4f

typedef struct dm_view {
    size_t n; /* losses seen */
    dm_baselines fits;
    double forecast[DM_BASELINE_COUNT][DM_VIEW_KNOTS]; /* within the bounds of the combination */
    double squares[DM_BASELINE_COUNT], weight; /* of the track record: sums of weighted squares */
    double share[DM_BASELINE_COUNT];           /* of the combination; sum 1 */
    double mean[DM_VIEW_KNOTS];                /* the combination */
    double noise;  /* deviation of one log loss around the recent trend */
    double track;  /* root mean square error of the combination so far */
    double spread; /* weighted deviation of the baselines at knot 5 */
    double unit;   /* of the features and of the ensemble's answers */
    float features[DM_VIEW_FEATURES];
} dm_view;

typedef struct dm_history {
    const dm_curve *curve;
    double *y;   /* [curve->count] log losses */
    float *peak; /* [curve->count] largest learning rate so far */
    size_t count;
    dm_view *views; /* [count], oldest first, 5 samples apart */
} dm_history;

/* Origins end, end - 5 ...; at most `origins` of them. end: 1 .. curve->count. The curve must
 * outlive it. */
dm_status dm_history_init(dm_history *h, const dm_curve *curve, size_t end, size_t origins,
                          dm_error *err);
void dm_history_deinit(dm_history *h);
/* Combination, units and features of all views. */
void dm_history_combine(dm_history *h, const dm_view_rules *rules);

/* One more origin, after the first n samples, with everything that the calls above make of it. The
 * views have room for it, y and peak are filled up to n. */
void dm_history_look(dm_history *h, size_t n, const dm_view_rules *rules);

/* The combination, any number of samples ahead. */
double dm_view_mean_at(const dm_view *view, double ahead);
/* What came true at knot 1 .. DM_VIEW_KNOTS after view i; false when the curve ends before. */
bool dm_history_truth(const dm_history *h, size_t i, size_t knot, double *out);
/* Features [DM_VIEW_PAST][DM_VIEW_FEATURES] up to view i; the first is repeated where there are
 * fewer. */
void dm_history_sequence(const dm_history *h, size_t i, float *out);
/* That sequence, and what an ensemble should have said: targets[DM_VIEW_STEPS], of which the first
 * DM_VIEW_PAST - 1 are not scored. Knots that the curve does not reach yet have no sensible target. */
void dm_history_example(const dm_history *h, size_t i, float *features, float *targets);

dm_view_rules dm_view_rules_default(void);
/* Coordinate descent on the mean over histories of the combination's root mean square error. */
void dm_view_rules_fit(dm_view_rules *rules, dm_history *histories, size_t count);

#endif
