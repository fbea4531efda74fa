/* SPDX-License-Identifier: MIT */
/* progress.h - a progress bar with rate and time left, on stderr.
 *
 * On a terminal: one line redrawn at most ten times a second. Elsewhere: one line every five
 * seconds, so that a log stays short. `total` = 0 means unknown: count and rate only. Updating from
 * several threads is safe and costs an atomic add; a thread of its own draws. Of several bars at a
 * time on a terminal the one drawn last is seen. $DM_PROGRESS=off silences it, a number is the
 * seconds between the lines of a log. */
#ifndef DM_BASE_TERMINAL_PROGRESS_H
#define DM_BASE_TERMINAL_PROGRESS_H

#include <dotmatrix/base.h>

typedef struct dm_progress dm_progress;

/* `unit` names what is counted ("frames"; NULL: nothing). Returns NULL when out of memory or
 * silenced, which every call accepts. Label and unit are copied. */
dm_progress *dm_progress_start(const char *label, const char *unit, uint64_t total);
/* For one long call that reports no progress, such as a compiler's: "compiling k.py  12s". The
 * line appears after two seconds, and only in a program that asked for it: a library is silent. */
dm_progress *dm_progress_start_wait(const char *what, const char *name);
void dm_progress_show_waits(void);
void dm_progress_add(dm_progress *progress, uint64_t amount);
/* The next `amount` is one piece of work that will take about `seconds`: until it is added, the bar
 * moves on at that pace, and stands just before its end when it takes longer. For work whose parts
 * cannot be counted, such as a compiler's; the final line counts what was added alone. */
void dm_progress_expect(dm_progress *progress, uint64_t amount, double seconds);
/* Another label from the next line on: "step 120, loss 2.31". */
void dm_progress_label(dm_progress *progress, const char *label);
/* Draw the final state, end the line, free. */
void dm_progress_finish(dm_progress *progress);

/* The text of one line, apart so that it can be tested: "label  [=====>    ]   50%  1.2k/2.4k
 * frames 300 frames/s  4s left"; "in 8s" at the end when all is done. It is shorter than `columns`:
 * the bar goes first, then rate, time and the end of the text. columns = 0: no bar and no limit. */
void dm_progress_format(char *out, size_t size, const char *label, const char *unit, uint64_t done,
                        uint64_t total, double seconds, int columns);

#endif
