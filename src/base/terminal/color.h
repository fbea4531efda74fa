/* SPDX-License-Identifier: MIT */
/* color.h - colours for a person at a terminal: none for pipes, files, TERM=dumb or when $NO_COLOR
 * is set (https://no-color.org). */
#ifndef DM_BASE_TERMINAL_COLOR_H
#define DM_BASE_TERMINAL_COLOR_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdio.h>

#define DM_COLOR_BOLD "\033[1m"
#define DM_COLOR_RED "\033[1;31m"
#define DM_COLOR_GREEN "\033[1;32m"
#define DM_COLOR_YELLOW "\033[1;33m"
#define DM_COLOR_CYAN "\033[36m"
#define DM_COLOR_OFF "\033[0m"

bool dm_color_wanted(int fd);

/* `color` when the stream wants one, else "". */
const char *dm_color(int fd, const char *color);

/* Diagnostics as compilers print them ("file:3:5: error: ...", the line, a caret, hints), with
 * place, severity and caret coloured. */
void dm_color_diagnostics(const char *text, dm_buffer *out);
/* Write them, coloured when the stream is a terminal that wants it. */
void dm_color_print_diagnostics(FILE *to, const char *text);

#endif
