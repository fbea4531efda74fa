/* SPDX-License-Identifier: MIT */
/* closest.h - what a misspelt name was probably meant to be. */
#ifndef DM_BASE_CLOSEST_H
#define DM_BASE_CLOSEST_H

/* The candidate (a NULL-terminated list) that `word` was probably meant to be, or NULL when none is
 * near. */
const char *dm_closest(const char *word, const char *const *candidates);

#endif
