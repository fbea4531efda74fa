/* SPDX-License-Identifier: MIT */
/* family.h - synthetic training runs to learn from: families of curves with random parameters and noise. */
#ifndef DM_DYNAMICS_FAMILY_H
#define DM_DYNAMICS_FAMILY_H

#include "dynamics/curve/curve.h"

#define DM_FAMILY_COUNT 18

const char *dm_family_name(size_t family);
/* -1: there is none of that name. */
int dm_family_find(const char *name);
/* Curve `index` of a family: a pure function of (family, seed, index), of 160 to 640 samples. */
dm_status dm_family_draw(size_t family, uint64_t seed, uint64_t index, dm_curve *out,
                         dm_error *err);

#endif
