/* SPDX-License-Identifier: MIT */
/* log.h - messages for the person at the terminal, on stderr.
 *
 * The level is $DM_LOG (error, warn, info, debug; default warn) or dm_log_set_level. A message is
 * "dotmatrix: LEVEL: text" and a newline, written with one system call, so that lines of several
 * threads do not mix; control characters in it are shown as '?'. While a progress bar is shown the
 * line goes above it. */
#ifndef DM_BASE_TERMINAL_LOG_H
#define DM_BASE_TERMINAL_LOG_H

#include <dotmatrix/base.h>

#include <stdbool.h>

typedef enum dm_log_level { DM_LOG_ERROR, DM_LOG_WARN, DM_LOG_INFO, DM_LOG_DEBUG } dm_log_level;

void dm_log_set_level(dm_log_level level);
dm_log_level dm_log_get_level(void);
/* "warn" -> DM_LOG_WARN; false when it is no level. */
bool dm_log_parse_level(const char *name, dm_log_level *out);

void dm_log(dm_log_level level, const char *format, ...) DM_PRINTF(2, 3);

/* For progress.c. The status line is the last line on a terminal, below all messages and without a
 * newline; each call replaces it, "" removes it. A line is plain text that goes above it. */
#define DM_LOG_STATUS_MAX 512
void dm_log_status(const char *text);
void dm_log_line(const char *text);

#endif
