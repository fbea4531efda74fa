/* SPDX-License-Identifier: MIT */
/* outputs.h - checks the files that a command is to write, before it runs: each must have a folder to
 * go to, and none may overwrite another output or an input. */
#ifndef DM_CLI_OUTPUTS_H
#define DM_CLI_OUTPUTS_H

#include "base/file.h"

#include <stdbool.h>

typedef struct dm_output {
    const char *option; /* "png"; of an argument its words: "the kernels" */
    const char *path;   /* NULL: not asked for */
    bool is_read;       /* the command reads this one */
} dm_output;

/* DM_EIO: no such folder, or a folder itself; DM_EINVAL: two outputs, or an output and an input,
 * are one file, whatever way its name is written. */
dm_status dm_outputs_check(const dm_output *outputs, size_t count, dm_error *err);

#endif
