/* SPDX-License-Identifier: MIT */
/* texts.h - the dialect texts of kernels/agent, compiled for a device: set arguments, launch.
 *
 * Setting arguments fails only when they do not fit the text, which is a bug of ours: the first such
 * failure is kept and returned by the next launch, so that a call reads as a list of arguments. */
#ifndef DM_AGENT_TEXTS_H
#define DM_AGENT_TEXTS_H

#include <dotmatrix/kernel.h>

typedef struct dm_agent_text {
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_stream *stream;
    dm_status failed;
    dm_error error;
} dm_agent_text;

/* `path`: "kernels/agent/ppo.py", embedded in the library. */
dm_status dm_agent_text_open(dm_device *device, const char *path, const char *name, bool backward,
                             dm_agent_text *out, dm_error *err);
void dm_agent_text_close(dm_agent_text *text);

/* Contiguous arrays; `grad` may be NULL. */
void dm_agent_text_vector(dm_agent_text *text, const char *name, void *data, void *grad,
                          uint64_t count);
void dm_agent_text_matrix(dm_agent_text *text, const char *name, void *data, void *grad,
                          uint64_t rows, uint64_t columns);
/* Any array: shape and strides (bytes) as dm_kernel_array has them. */
void dm_agent_text_array(dm_agent_text *text, const char *name, const dm_kernel_array *array);
void dm_agent_text_number(dm_agent_text *text, const char *name, double value);

/* columns 0: a launch of one dimension. */
dm_status dm_agent_text_launch(dm_agent_text *text, dm_kernel_pass pass, uint64_t rows,
                               uint64_t columns, dm_error *err);

#endif
