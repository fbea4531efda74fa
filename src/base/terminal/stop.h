/* SPDX-License-Identifier: MIT */
/* stop.h - Ctrl-C and SIGTERM, the same for every command.
 *
 * The first signal sets a flag and kills the processes that were registered. Long work looks at the
 * flag between its steps, keeps what is finished, says so with dm_stop_kept and returns; main.c
 * then prints one line and exits with DM_STOP_EXIT_CODE. Work that does not look is ended after
 * DM_STOP_SECONDS: registered temporary folders are removed and the process exits with the same
 * code. A second signal ends the process at once.
 *
 *     for (i = 0; i < count && !dm_stop_requested(); i++)
 *         finish_one(i);
 *     if (dm_stop_requested())
 *         dm_stop_kept("%d of %d files are in %s", i, count, folder);
 */
#ifndef DM_BASE_TERMINAL_STOP_H
#define DM_BASE_TERMINAL_STOP_H

#include <dotmatrix/base.h>

#include <stdbool.h>
#include <sys/types.h>

#define DM_STOP_EXIT_CODE 130 /* docs/cli.md */
#define DM_STOP_SECONDS 0.8   /* from the signal to the end of work that does not look at it */

/* From now on SIGINT and SIGTERM are handled as above: call it before there are other threads. They
 * are blocked in all threads; a forked child gets them as usual, a spawned one wants an empty mask
 * (POSIX_SPAWN_SETSIGMASK). Without it they end the process, and dm_stop_requested is always false. */
void dm_stop_install(void);
bool dm_stop_requested(void);

/* Between these two the process is not ended by the clock (up to ten seconds): a file is being
 * replaced. Nest. dm_file_write does it by itself. */
void dm_stop_hold(void);
void dm_stop_release(void);

/* A child with a process group of its own, killed by the first signal; removed when it was reaped.
 */
void dm_stop_child_add(pid_t pid);
void dm_stop_child_remove(pid_t pid);

/* A temporary folder, locked until it is removed, also when the clock ends the process;
 * dm_dir_remove forgets it. */
void dm_stop_folder_add(const char *path);
void dm_stop_folder_remove(const char *path);

/* What was kept, for the line that tells of the interruption: "the 3 figures until then are in a".
 */
void dm_stop_kept(const char *format, ...) DM_PRINTF(1, 2);

/* Writes that line, once: whichever comes first, the command's end (main.c) or the clock ("": no command's name). */
void dm_stop_tell(const char *command);

#endif
