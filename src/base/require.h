/* SPDX-License-Identifier: MIT */
/* require.h - checks at the top of a public function for pointers that may not be NULL: DM_EINVAL with the names of the
 * function and the argument. */
#ifndef DM_BASE_REQUIRE_H
#define DM_BASE_REQUIRE_H

#include <dotmatrix/base.h>

#define DM_REQUIRE(err, pointer)                                                                   \
    do {                                                                                           \
        if ((pointer) == NULL)                                                                     \
            return dm_fail(err, DM_EINVAL, "%s: %s is NULL", __func__, #pointer);                  \
    } while (0)

/* For arrays that may be NULL when they are empty. */
#define DM_REQUIRE_SOME(err, pointer, count)                                                       \
    do {                                                                                           \
        if ((pointer) == NULL && (count) != 0)                                                     \
            return dm_fail(err, DM_EINVAL, "%s: %s is NULL", __func__, #pointer);                  \
    } while (0)

#endif
