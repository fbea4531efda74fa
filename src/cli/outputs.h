/* SPDX-License-Identifier: MIT */
/* outputs.h - files that a command was asked to write, looked at before it runs: that each has a
 * folder to go to, and that none would overwrite another or what the command reads. */
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
