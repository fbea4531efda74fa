/* SPDX-License-Identifier: MIT */
/* curve_case.h - small curves to learn from, and learning from them on any device. */
#ifndef DM_TESTS_DYNAMICS_CURVE_CASE_H
#define DM_TESTS_DYNAMICS_CURVE_CASE_H

#include "dynamics/curve/learn.h"

enum { CURVE_COUNT = 60 };
extern const dm_curve_learning curve_small;

/* `count` curves of four families; curve_free releases them. */
dm_curve *curve_make(uint64_t seed, size_t count);
void curve_free(dm_curve *curves, size_t count);
/* Members that learn from common batches on a device become better than the combination. */
void curve_check_batches(const char *device);

#endif
