/* SPDX-License-Identifier: MIT */
/* places.h - files that come with the program, found from where the program lies: a build folder or
 * an installation (bin/dotmatrix beside share/dotmatrix), wherever it was moved to. */
#ifndef DM_CLI_PLACES_H
#define DM_CLI_PLACES_H

#include "base/file.h"

#include <stdbool.h>

/* The first of `names` (relative paths that end with NULL) that exists in a folder above the
 * running program, the nearest folder first. */
bool dm_place_find(char out[DM_PATH_MAX], const char *const *names);
/* The curve model that comes with the program (docs/dynamics.md). */
bool dm_place_curve_model(char out[DM_PATH_MAX]);

#endif
