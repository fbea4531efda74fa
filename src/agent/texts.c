/* SPDX-License-Identifier: MIT */
/* texts.c - see texts.h. */
#include "agent/texts.h"

#include "device/sources.h"

#include <string.h>

dm_status dm_agent_text_open(dm_device *device, const char *path, const char *name, bool backward,
                             dm_agent_text *out, dm_error *err)
{
    const char *text = dm_embedded_text(path);
    dm_kernel_file *file = NULL;
    *out = (dm_agent_text){.stream = dm_device_stream(device)};
    if (text == NULL)
        return dm_fail(err, DM_EINTERNAL, "agent: no text %s", path);
    dm_kernel_options options = {.no_backward = !backward};
    dm_status status = dm_kernel_file_create(path, text, strlen(text), &options, &file, err);
    dm_kernel *kernel = status == DM_OK ? dm_kernel_file_find(file, name) : NULL;
    if (status == DM_OK && kernel == NULL)
        status = dm_fail(err, DM_EINTERNAL, "agent: %s has no kernel %s", path, name);
    if (status == DM_OK)
        status = dm_kernel_compile(kernel, err);
    if (status == DM_OK)
        status = dm_kernel_program_create(kernel, device, &out->program, err);
    if (status == DM_OK)
        status = dm_kernel_args_create(kernel, &out->args, err);
    dm_kernel_file_destroy(file);
    if (status != DM_OK)
        dm_agent_text_close(out);
    return status;
}

void dm_agent_text_close(dm_agent_text *text)
{
    dm_kernel_args_destroy(text->args);
    dm_kernel_program_destroy(text->program);
    text->args = NULL;
    text->program = NULL;
}

static void keep(dm_agent_text *text, dm_status status, const dm_error *error)
{
    if (status != DM_OK && text->failed == DM_OK) {
        text->failed = status;
        text->error = *error;
    }
}

void dm_agent_text_array(dm_agent_text *text, const char *name, const dm_kernel_array *array)
{
    dm_error error = {0};
    keep(text, dm_kernel_args_array(text->args, name, array, &error), &error);
}

void dm_agent_text_vector(dm_agent_text *text, const char *name, void *data, void *grad,
                          uint64_t count)
{
    dm_kernel_array array = {.data = data, .grad = grad, .shape = {(int64_t)count}};
    dm_agent_text_array(text, name, &array);
}

void dm_agent_text_matrix(dm_agent_text *text, const char *name, void *data, void *grad,
                          uint64_t rows, uint64_t columns)
{
    dm_kernel_array array = {
        .data = data, .grad = grad, .shape = {(int64_t)rows, (int64_t)columns}};
    dm_agent_text_array(text, name, &array);
}

void dm_agent_text_number(dm_agent_text *text, const char *name, double value)
{
    dm_error error = {0};
    keep(text, dm_kernel_args_number(text->args, name, value, &error), &error);
}

dm_status dm_agent_text_launch(dm_agent_text *text, dm_kernel_pass pass, uint64_t rows,
                               uint64_t columns, dm_error *err)
{
    if (text->failed != DM_OK)
        return dm_fail(err, text->failed, "%s", text->error.message);
    int dim[2] = {(int)rows, (int)columns};
    return dm_kernel_launch(text->program, text->stream, pass, dim, columns > 0 ? 2 : 1, text->args,
                            err);
}
