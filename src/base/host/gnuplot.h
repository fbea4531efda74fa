/* SPDX-License-Identifier: MIT */
/* gnuplot.h - plots: a script with its data goes to gnuplot's standard input. */
#ifndef DM_BASE_HOST_GNUPLOT_H
#define DM_BASE_HOST_GNUPLOT_H

#include "base/buffer.h"

/* DM_EUNAVAILABLE with what to install when there is none. */
dm_status dm_gnuplot_check(dm_error *err);
/* A file's name as the script quotes it. */
void dm_gnuplot_quote(dm_buffer *script, const char *path);
/* Run a script; `what` it draws is for the message. */
dm_status dm_gnuplot_run(const dm_buffer *script, const char *what, dm_error *err);
/* Is the picture that a script wrote complete? gnuplot does not report a full disk. A truncated picture is
 * removed and DM_EIO; so is a path that is no regular file. */
dm_status dm_gnuplot_check_file(const char *path, dm_error *err);

#endif
