/* SPDX-License-Identifier: MIT */
/* pace.h - how fast real steps lower the held-out loss of the average, and so how many of them a proposal is worth.
 *
 * It is not enough that a proposal lowers the held-out loss at all: a step along the average may lower it by a
 * ten-thousandth, stand for 40 steps, and leave the run behind one that made them. Each check also measures the
 * average before the proposal, so two checks tell how far the real steps between them lowered the loss. A proposal
 * stands for as many real steps as would have lowered it as far. */
#ifndef DM_TRAIN_PREDICT_PACE_H
#define DM_TRAIN_PREDICT_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { DM_PACE_LEAST = 10 }; /* steps between two looks that tell something */

typedef struct dm_pace {
    uint64_t begun, at; /* is there a look, and at which progress was it */
    double loss;        /* then */
    uint64_t known;
    double
        pace; /* fall of the loss's logarithm in a step; the mean of the last one and those before */
} dm_pace;

/* The held-out loss of the average at this progress, after real steps alone. */
void dm_pace_see(dm_pace *pace, uint64_t progress, double loss);
/* The run stands at this progress with this loss, in whatever way it came there. */
void dm_pace_stand(dm_pace *pace, uint64_t progress, double loss);
/* It went back to this progress: a look after that does not count. */
void dm_pace_back(dm_pace *pace, uint64_t progress);
/* How many of `length` steps a fall from `before` to `after` is worth: 0 while the pace is not known, all where real
 * steps lower nothing. */
uint64_t dm_pace_worth(const dm_pace *pace, double before, double after, uint64_t length);

#endif
