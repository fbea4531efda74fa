/* SPDX-License-Identifier: MIT */
/* args.c - the argument block of a kernel's launch: dm_kernel_args_* set parameters by name. */
#include "base/require.h"
#include "kernel/internal.h"

#include <stdlib.h>
#include <string.h>

dm_status dm_kernel_args_create(const dm_kernel *kernel, dm_kernel_args **out, dm_error *err)
{
    DM_REQUIRE(err, kernel);
    DM_REQUIRE(err, out);
    *out = NULL;
    if (!kernel->compiled)
        return dm_fail(err, DM_EINVAL, "%s: not compiled yet", dm_kernel_name(kernel));
    dm_kernel_args *args = calloc(1, sizeof *args);
    if (args == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    args->params = calloc(kernel->param_count + 1, sizeof *args->params);
    args->block = calloc(1, kernel->block_size + 8);
    args->size = kernel->block_size;
    args->dimensions = kernel->dimensions;
    bool fine = args->params != NULL && args->block != NULL;
    for (size_t i = 0; fine && i < kernel->param_count; i++) {
        args->params[i].param = kernel->params[i];
        args->params[i].name = strdup(kernel->params[i].name);
        args->count = i + 1;
        fine = args->params[i].name != NULL;
    }
    if (!fine) {
        dm_kernel_args_destroy(args);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    *out = args;
    return DM_OK;
}

void dm_kernel_args_destroy(dm_kernel_args *args)
{
    if (args == NULL)
        return;
    for (size_t i = 0; i < args->count; i++)
        free(args->params[i].name);
    free(args->params);
    free(args->block);
    free(args);
}

static dm_status find_param(dm_kernel_args *args, const char *name, const dm_kernel_param **out,
                            dm_error *err)
{
    for (size_t i = 0; i < args->count; i++)
        if (strcmp(args->params[i].name, name) == 0) {
            *out = &args->params[i].param;
            return DM_OK;
        }
    return dm_fail(err, DM_ENOENT, "the kernel has no parameter '%s'", name);
}

dm_status dm_kernel_args_array(dm_kernel_args *args, const char *name, const dm_kernel_array *array,
                               dm_error *err)
{
    DM_REQUIRE(err, args);
    DM_REQUIRE(err, name);
    DM_REQUIRE(err, array);
    const dm_kernel_param *param = NULL;
    dm_status status = find_param(args, name, &param, err);
    if (status != DM_OK)
        return status;
    if (!param->is_array)
        return dm_fail(err, DM_EINVAL, "'%s' is no array", name);
    long long strides[4] = {0};
    int shape[4] = {0};
    bool contiguous = true;
    for (int i = 0; i < param->ndim; i++)
        contiguous &= array->strides[i] == 0;
    long long stride = (long long)param->element_size;
    for (int i = param->ndim - 1; i >= 0; i--) {
        if (array->shape[i] < 0 || array->shape[i] > INT32_MAX)
            return dm_fail(err, DM_EINVAL, "'%s': %lld elements in a dimension are too many", name,
                           (long long)array->shape[i]);
        shape[i] = (int)array->shape[i];
        strides[i] = contiguous ? stride : (long long)array->strides[i];
        stride *= shape[i];
    }
    uint8_t *to = args->block + param->offset;
    memcpy(to, &array->data, sizeof array->data);
    memcpy(to + 8, &array->grad, sizeof array->grad);
    memcpy(to + 16, strides, sizeof strides[0] * (size_t)param->ndim);
    memcpy(to + 16 + sizeof strides[0] * (size_t)param->ndim, shape,
           sizeof shape[0] * (size_t)param->ndim);
    return DM_OK;
}

dm_status dm_kernel_args_number(dm_kernel_args *args, const char *name, double value, dm_error *err)
{
    DM_REQUIRE(err, args);
    DM_REQUIRE(err, name);
    const dm_kernel_param *param = NULL;
    dm_status status = find_param(args, name, &param, err);
    if (status != DM_OK)
        return status;
    if (param->is_array || param->scalar == DM_KERNEL_STRUCT || param->components != 1)
        return dm_fail(err, DM_EINVAL, "'%s' is %s, no number", name, param->type);
    if (!dm_kernel_number_fits(param->scalar, value))
        return dm_fail(err, DM_EINVAL, "'%s': %g does not fit %s", name, value, param->type);
    dm_kernel_store_number(args->block + param->offset, param->scalar, value);
    return DM_OK;
}

dm_status dm_kernel_args_bytes(dm_kernel_args *args, const char *name, const void *bytes,
                               size_t size, dm_error *err)
{
    DM_REQUIRE(err, args);
    DM_REQUIRE(err, name);
    DM_REQUIRE_SOME(err, bytes, size);
    const dm_kernel_param *param = NULL;
    dm_status status = find_param(args, name, &param, err);
    if (status != DM_OK)
        return status;
    if (param->is_array || size != param->element_size)
        return dm_fail(err, DM_EINVAL, "'%s' is %s of %zu bytes, not %zu", name, param->type,
                       param->element_size, size);
    memcpy(args->block + param->offset, bytes, size);
    return DM_OK;
}
