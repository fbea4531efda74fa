/* SPDX-License-Identifier: MIT */
/* page.h - a dataset as a web page in one file: counts, distributions, results of the verification, and an
 * example of each idiom (of each category in the random style). */
#ifndef DM_SYNTH_PAGE_H
#define DM_SYNTH_PAGE_H

#include "base/buffer.h"

#include <dotmatrix/base.h>

/* `path`: a folder or a file of records. */
dm_status dm_synth_page(const char *path, dm_buffer *out, dm_error *err);

#endif
