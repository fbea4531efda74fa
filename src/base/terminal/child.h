/* SPDX-License-Identifier: MIT */
/* child.h - another program, run to its end. */
#ifndef DM_BASE_TERMINAL_CHILD_H
#define DM_BASE_TERMINAL_CHILD_H

#include <dotmatrix/base.h>

/* Run `program` with argv (ended by NULL), an empty stdin, and its output in the file `log`. env: its environment, NULL
 * for ours. folder: where it runs, NULL for here. It has a process group of its own, which Ctrl-C ends (stop.h). If a
 * signal ended it *exit_code is 128 plus the signal's number. */
dm_status dm_child_run(const char *program, char *const argv[], char *const env[],
                       const char *folder, const char *log, int *exit_code, dm_error *err);

#endif
