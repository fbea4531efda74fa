/* SPDX-License-Identifier: MIT */
/* gz.h - a whole file, inflated when it is gzip. */
#ifndef DM_TRAIN_GZ_H
#define DM_TRAIN_GZ_H

#include <dotmatrix/base.h>

/* Read a file; one that begins with gzip's two bytes is inflated, whatever its name. `*bytes` is
 * malloc'ed, has a NUL after its end and is the caller's to free. DM_EFORMAT when the stream is
 * damaged, ends early, has bytes after its end, or inflates to more than `limit` bytes. */
dm_status dm_gz_read(const char *path, size_t limit, char **bytes, size_t *size, dm_error *err);

#endif
