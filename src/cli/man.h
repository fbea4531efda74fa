/* SPDX-License-Identifier: MIT */
/* man.h - the manual page and the bash completion, made from the option rows that make `--help`.
 * The build runs `dotmatrix --man` and `dotmatrix --completion`. */
#ifndef DM_CLI_MAN_H
#define DM_CLI_MAN_H

#include "cli/command.h"

/* roff text for man(1). `common` are the options of every command. */
void dm_man_page(dm_buffer *out, const dm_option *common, size_t common_count);
void dm_man_completion(dm_buffer *out, const dm_option *common, size_t common_count);

#endif
