/* SPDX-License-Identifier: MIT */
/* kernel_run.c - run a kernel on arrays from files, check kernels; see kernel_run.h. */
#include "cli/kernel/kernel_run.h"

#include "base/file.h"
#include "base/json.h"
#include "base/terminal/color.h"
#include "device/nvrtc.h"
#include "kernel/check.h"
#include "kernel/internal.h"
#include "kernel/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAYS_MAX 64
#define GRADIENT_TOLERANCE 1e-4
#define DEVICE_TOLERANCE 1e-4

typedef struct array {
    const dm_kernel_param *param;
    dm_npy npy, grad;
    void *after; /* from_inputs: what the forward pass left */
    bool has_grad;
    dm_device_buffer *data_buffer, *grad_buffer;
} array;

typedef struct runner {
    const dm_kernel_run *run;
    dm_kernel_file *file;
    dm_kernel *kernel;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
    array arrays[ARRAYS_MAX];
    int array_count;
    bool backward;
} runner;

static void close_runner(runner *r)
{
    for (int i = 0; i < r->array_count; i++) {
        dm_npy_deinit(&r->arrays[i].npy);
        dm_npy_deinit(&r->arrays[i].grad);
        free(r->arrays[i].after);
        dm_device_buffer_destroy(r->arrays[i].data_buffer);
        dm_device_buffer_destroy(r->arrays[i].grad_buffer);
    }
    dm_kernel_args_destroy(r->args);
    dm_kernel_program_destroy(r->program);
    dm_device_close(r->device);
    dm_kernel_file_destroy(r->file);
}

/* ---- Arguments ---- */

/* The text behind "NAME=", or NULL. */
static const char *value_of(const dm_strings *list, const char *name)
{
    size_t length = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=')
            found = list->items[i] + length + 1;
    return found;
}

static dm_status check_names(const char *option, const dm_strings *list, const dm_kernel *kernel,
                             dm_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *equals = strchr(text, '=');
        bool known = false;
        for (size_t p = 0; equals != NULL && p < dm_kernel_param_count(kernel); p++) {
            const char *name = dm_kernel_param_get(kernel, p)->name;
            known |=
                strlen(name) == (size_t)(equals - text) && strncmp(name, text, strlen(name)) == 0;
        }
        if (!known)
            return dm_fail(err, DM_EINVAL, "--%s '%s': the kernel has no such parameter", option,
                           text);
        for (size_t k = 0; k < i; k++)
            if (strncmp(list->items[k], text, (size_t)(equals - text) + 1) == 0)
                return dm_fail(err, DM_EINVAL, "--%s: '%.*s' has two values", option,
                               (int)(equals - text), text);
    }
    return DM_OK;
}

static dm_status parse_ints(const char *text, const char *separators, int64_t *out, int most,
                            int *count, dm_error *err)
{
    *count = 0;
    for (const char *at = text;;) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at || value < 0 || value > INT32_MAX || *count == most)
            return dm_fail(err, DM_EINVAL, "'%s' is no list of up to %d sizes", text, most);
        out[(*count)++] = value;
        if (*end == '\0')
            return DM_OK;
        if (strchr(separators, *end) == NULL)
            return dm_fail(err, DM_EINVAL, "'%s' is no list of up to %d sizes", text, most);
        at = end + 1;
    }
}

/* The array's own dimensions, then those of its elements: (n, 3) for vec3, (n, 3, 3) or (n, 9) for
 * mat33. */
static dm_status check_shape(const array *a, const dm_npy *npy, const char *what, dm_error *err)
{
    const dm_kernel_param *p = a->param;
    int64_t rest = 1;
    if (npy->scalar != p->scalar)
        return dm_fail(err, DM_EINVAL, "%s '%s' holds %s, not %s", what, p->name,
                       dm_npy_scalar_name(p->scalar), dm_npy_scalar_name(npy->scalar));
    for (int i = p->ndim; i < npy->ndim; i++)
        rest *= npy->shape[i];
    if (npy->ndim < p->ndim || rest != p->components)
        return dm_fail(err, DM_EINVAL, "%s '%s' is %s: its file has the wrong shape", what, p->name,
                       p->type);
    return DM_OK;
}

static dm_status make_constant(array *a, const int64_t *shape, int ndim, double value, dm_npy *out,
                               dm_error *err)
{
    *out = (dm_npy){.scalar = a->param->scalar, .count = 1};
    for (int i = 0; i < ndim; i++)
        out->shape[out->ndim++] = shape[i];
    if (ndim == a->param->ndim && a->param->components > 1)
        out->shape[out->ndim++] = a->param->components;
    for (int i = 0; i < out->ndim; i++) {
        if (out->shape[i] > 0 && out->count > ((size_t)1 << 34) / (size_t)out->shape[i])
            return dm_fail(err, DM_EINVAL, "'%s': the array is too large", a->param->name);
        out->count *= (size_t)out->shape[i];
    }
    out->bytes = out->count * dm_npy_scalar_bytes(out->scalar);
    out->data = calloc(1, out->bytes + 1);
    if (out->data == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; value != 0 && i < out->count; i++) {
        if (out->scalar == DM_KERNEL_FLOAT32)
            ((float *)out->data)[i] = (float)value;
        else if (out->scalar == DM_KERNEL_FLOAT64)
            ((double *)out->data)[i] = value;
        else if (out->scalar == DM_KERNEL_FLOAT16)
            ((uint16_t *)out->data)[i] = 0x3C00;
    }
    return DM_OK;
}

static dm_status read_array(array *a, const char *text, dm_npy *out, const char *what,
                            dm_error *err)
{
    dm_status status;
    if (strncmp(text, "zeros:", 6) == 0) { /* the array's shape, or with that of its elements */
        int64_t shape[6], components = 1;
        int ndim;
        status = parse_ints(text + 6, "x,", shape, 6, &ndim, err);
        for (int i = a->param->ndim; status == DM_OK && i < ndim; i++)
            components *= shape[i] < 10000 ? shape[i] : 10000;
        if (status == DM_OK && ndim != a->param->ndim &&
            (ndim < a->param->ndim || components != a->param->components))
            return dm_fail(err, DM_EINVAL, "'%s' is %s: it has %d dimensions, not %d",
                           a->param->name, a->param->type, a->param->ndim, ndim);
        return status == DM_OK ? make_constant(a, shape, ndim, 0, out, err) : status;
    }
    status = dm_npy_read(text, out, err);
    return status == DM_OK ? check_shape(a, out, what, err) : status;
}

static dm_status read_grad(runner *r, array *a, dm_error *err)
{
    const char *text = value_of(r->run->grads, a->param->name);
    bool floats = a->param->scalar >= DM_KERNEL_FLOAT16 && a->param->scalar <= DM_KERNEL_FLOAT64;
    if (!r->backward || !floats)
        return text == NULL ? DM_OK
                            : dm_fail(err, DM_EINVAL, "'%s' has no gradient", a->param->name);
    a->has_grad = true;
    if (text != NULL && strcmp(text, "ones") != 0) {
        dm_status status = read_array(a, text, &a->grad, "the gradient of", err);
        if (status == DM_OK && a->grad.bytes != a->npy.bytes)
            status =
                dm_fail(err, DM_EINVAL, "the gradient of '%s' has another shape than the array",
                        a->param->name);
        return status;
    }
    return make_constant(a, a->npy.shape, a->npy.ndim, text != NULL, &a->grad, err);
}

static dm_status bind_array(runner *r, const dm_kernel_param *param, const char *text,
                            dm_error *err)
{
    if (r->array_count == ARRAYS_MAX)
        return dm_fail(err, DM_EUNSUPPORTED, "more than %d arrays", ARRAYS_MAX);
    array *a = &r->arrays[r->array_count++];
    a->param = param;
    if (param->scalar == DM_KERNEL_STRUCT)
        return dm_fail(err, DM_EUNSUPPORTED, "'%s': arrays of structs have no .npy form",
                       param->name);
    dm_stream *stream = dm_device_stream(r->device);
    dm_status status = read_array(a, text, &a->npy, "the array", err);
    if (status == DM_OK)
        status = read_grad(r, a, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(r->device, a->npy.bytes + 16, &a->data_buffer, err);
    if (status == DM_OK && a->npy.bytes > 0)
        status = dm_stream_upload(stream, a->data_buffer, 0, a->npy.data, a->npy.bytes, err);
    if (status == DM_OK && a->has_grad)
        status = dm_device_buffer_create(r->device, a->npy.bytes + 16, &a->grad_buffer, err);
    if (status == DM_OK && a->has_grad && a->npy.bytes > 0)
        status = dm_stream_upload(stream, a->grad_buffer, 0, a->grad.data, a->npy.bytes, err);
    if (status != DM_OK)
        return status;
    dm_kernel_array bound = {.data = dm_device_buffer_address(a->data_buffer)};
    if (a->has_grad)
        bound.grad = dm_device_buffer_address(a->grad_buffer);
    for (int i = 0; i < param->ndim; i++)
        bound.shape[i] = a->npy.shape[i];
    return dm_kernel_args_array(r->args, param->name, &bound, err);
}

/* Is it a list of numbers, "0,-9.8,0"? */
static bool is_list(const char *text)
{
    bool commas = false;
    while (*text != '\0') {
        char *end;
        strtod(text, &end);
        if (end == text)
            return false;
        commas |= *end == ',';
        text = end + (*end == ',');
        if (*end != ',' && *end != '\0')
            return false;
    }
    return commas;
}

/* As many numbers as the parameter has components. */
static dm_status bind_list(runner *r, const dm_kernel_param *param, const char *text, dm_error *err)
{
    size_t each = param->element_size / (size_t)(param->components < 1 ? 1 : param->components);
    uint8_t *bytes = calloc(1, param->element_size + 1);
    int count = 0;
    dm_status status = bytes == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (const char *at = text; status == DM_OK && *at != '\0'; count++) {
        char *end;
        double value = strtod(at, &end);
        if (count < param->components && !dm_kernel_number_fits(param->scalar, value))
            status = dm_fail(err, DM_EINVAL, "'%s': %g does not fit a component of %s", param->name,
                             value, param->type);
        else if (count < param->components)
            dm_kernel_store_number(bytes + each * (size_t)count, param->scalar, value);
        at = end + (*end == ',');
    }
    if (status == DM_OK && (count != param->components || param->scalar == DM_KERNEL_STRUCT))
        status = dm_fail(err, DM_EINVAL, "'%s' is %s, which has %d components, not %d", param->name,
                         param->type, param->components, count);
    if (status == DM_OK)
        status = dm_kernel_args_bytes(r->args, param->name, bytes, param->element_size, err);
    free(bytes);
    return status;
}

/* A number, several, or a file with as many as the parameter has components. */
static dm_status bind_value(runner *r, const dm_kernel_param *param, const char *text,
                            dm_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return dm_kernel_args_number(r->args, param->name, text[0] == 'T', err);
    if (is_list(text) || (end != text && *end == '\0' && param->components > 1))
        return bind_list(r, param, text, err);
    if (end != text && *end == '\0')
        return dm_kernel_args_number(r->args, param->name, value, err);
    dm_npy npy;
    dm_status status = dm_npy_read(text, &npy, err);
    if (status == DM_OK && npy.scalar != param->scalar)
        status = dm_fail(err, DM_EINVAL, "'%s' is %s: its file holds %s", param->name, param->type,
                         dm_npy_scalar_name(npy.scalar));
    if (status == DM_OK)
        status = dm_kernel_args_bytes(r->args, param->name, npy.data, npy.bytes, err);
    dm_npy_deinit(&npy);
    return status;
}

static dm_status bind_all(runner *r, dm_error *err)
{
    dm_status status = check_names("arg", r->run->args, r->kernel, err);
    if (status == DM_OK)
        status = check_names("grad", r->run->grads, r->kernel, err);
    for (size_t i = 0; i < dm_kernel_param_count(r->kernel) && status == DM_OK; i++) {
        const dm_kernel_param *param = dm_kernel_param_get(r->kernel, i);
        const char *text = value_of(r->run->args, param->name);
        if (text == NULL)
            return dm_fail(err, DM_EINVAL, "--arg %s=... is missing (%s)", param->name,
                           param->type);
        if (!param->is_array && value_of(r->run->grads, param->name) != NULL)
            return dm_fail(err, DM_EINVAL, "--grad: '%s' is no array, its gradient has no start",
                           param->name);
        status =
            param->is_array ? bind_array(r, param, text, err) : bind_value(r, param, text, err);
    }
    return status;
}

/* ---- Results ---- */

static void summarize(const char *name, const dm_npy *npy)
{
    double low = INFINITY, high = -INFINITY, total = 0;
    size_t each = dm_npy_scalar_bytes(npy->scalar), nans = 0, infinite = 0;
    for (size_t i = 0; i < npy->count; i++) {
        double v = dm_kernel_load_number((const uint8_t *)npy->data + i * each, npy->scalar);
        nans += isnan(v) != 0;
        infinite += isinf(v) != 0;
        if (isfinite(v)) {
            low = fmin(low, v);
            high = fmax(high, v);
            total += v;
        }
    }
    printf("%-16s %-8s %zu numbers", name, dm_npy_scalar_name(npy->scalar), npy->count);
    if (nans > 0)
        printf(", %zu NaN", nans);
    if (infinite > 0)
        printf(", %zu infinite", infinite);
    if (npy->count > nans + infinite)
        printf(nans + infinite > 0 ? ", the others %.6g to %.6g, sum %.9g"
                                   : ", %.6g to %.6g, sum %.9g",
               low, high, total);
    printf("\n");
}

static dm_status save(runner *r, const char *name, const char *suffix, const dm_npy *npy,
                      dm_error *err)
{
    char file[512], path[DM_PATH_MAX];
    snprintf(file, sizeof file, "%.400s%s", name, suffix);
    summarize(file, npy);
    if (r->run->out == NULL)
        return DM_OK;
    snprintf(file, sizeof file, "%.400s%s.npy", name, suffix);
    dm_status status = dm_path_join(path, r->run->out, file, err);
    return status == DM_OK ? dm_npy_write(path, npy, err) : status;
}

static dm_status fetch_results(runner *r, dm_error *err)
{
    dm_stream *stream = dm_device_stream(r->device);
    dm_status status = r->run->out == NULL ? DM_OK : dm_dir_create(r->run->out, err);
    for (int i = 0; i < r->array_count && status == DM_OK; i++) {
        array *a = &r->arrays[i];
        if (a->after != NULL)
            memcpy(a->npy.data, a->after, a->npy.bytes);
        else if (a->npy.bytes > 0)
            status = dm_stream_download(stream, a->data_buffer, 0, a->npy.data, a->npy.bytes, err);
        if (status == DM_OK && a->has_grad && a->npy.bytes > 0)
            status = dm_stream_download(stream, a->grad_buffer, 0, a->grad.data, a->npy.bytes, err);
    }
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    for (int i = 0; i < r->array_count && status == DM_OK; i++) {
        array *a = &r->arrays[i];
        status = save(r, a->param->name, "", &a->npy, err);
        if (status == DM_OK && a->has_grad)
            status = save(r, a->param->name, ".grad", &a->grad, err);
    }
    return status;
}

/* Keep what the forward pass left and give the arrays their contents of before again. */
static dm_status restore_inputs(runner *r, dm_stream *stream, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < r->array_count && status == DM_OK; i++) {
        array *a = &r->arrays[i];
        if (a->npy.bytes == 0)
            continue;
        a->after = malloc(a->npy.bytes);
        if (a->after == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        status = dm_stream_download(stream, a->data_buffer, 0, a->after, a->npy.bytes, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(stream, err);
        if (status == DM_OK)
            status = dm_stream_upload(stream, a->data_buffer, 0, a->npy.data, a->npy.bytes, err);
    }
    return status;
}

/* ---- Run ---- */

static dm_status choose_kernel(dm_kernel_file *file, const char *name, dm_kernel **out,
                               dm_error *err)
{
    if (name == NULL && dm_kernel_file_count(file) != 1)
        return dm_fail(err, DM_EINVAL, "the file has %zu kernels: give --kernel NAME",
                       dm_kernel_file_count(file));
    *out = name == NULL ? dm_kernel_file_get(file, 0) : dm_kernel_file_find(file, name);
    return *out != NULL ? DM_OK : dm_fail(err, DM_ENOENT, "no kernel is called '%s'", name);
}

static dm_status run_all(runner *r, dm_error *err)
{
    int64_t sizes[4];
    int dim[4], ndim;
    dm_kernel_options options = {.imports = true,
                                 .warp_compat = r->run->warp_compat,
                                 .from_inputs = r->run->from_inputs,
                                 .bounds = r->run->bounds,
                                 .defines = r->run->defines};
    dm_status status = parse_ints(r->run->dim, ",x", sizes, 4, &ndim, err);
    if (status == DM_OK)
        status = dm_kernel_file_create(r->run->file, r->run->text, r->run->size, &options, &r->file,
                                       err);
    if (status == DM_OK)
        status = choose_kernel(r->file, r->run->kernel, &r->kernel, err);
    if (status == DM_OK)
        status = dm_kernel_compile(r->kernel, err);
    if (r->file != NULL && status == DM_ECOMPILE)
        dm_color_print_diagnostics(stderr, dm_kernel_file_messages(r->file));
    if (status == DM_OK)
        status = dm_device_open(r->run->device, &r->device, err);
    if (status == DM_OK)
        status = dm_kernel_program_create(r->kernel, r->device, &r->program, err);
    if (status == DM_OK)
        status = dm_kernel_args_create(r->kernel, &r->args, err);
    if (status == DM_OK)
        status = bind_all(r, err);
    for (int i = 0; i < 4; i++)
        dim[i] = status == DM_OK && i < ndim ? (int)sizes[i] : 1;
    dm_stream *stream = r->device == NULL ? NULL : dm_device_stream(r->device);
    if (status == DM_OK)
        status = dm_kernel_launch(r->program, stream, DM_KERNEL_FORWARD, dim, ndim, r->args, err);
    if (status == DM_OK && r->backward && r->run->from_inputs)
        status = restore_inputs(r, stream, err);
    if (status == DM_OK && r->backward)
        status = dm_kernel_launch(r->program, stream, DM_KERNEL_BACKWARD, dim, ndim, r->args, err);
    return status == DM_OK ? fetch_results(r, err) : status;
}

dm_status dm_cli_kernel_run(const dm_kernel_run *run, dm_error *err)
{
    runner r = {.run = run, .backward = run->grads->count > 0};
    if (run->dim == NULL)
        return dm_fail(err, DM_EINVAL, "run: --dim N or N,M ... is missing");
    dm_status status = run_all(&r, err);
    close_runner(&r);
    return status;
}

/* ---- Check ---- */

/* Does the CUDA text compile? Empty when it does or when NVRTC is not there. */
static void compile_cuda(dm_kernel *kernel, char *out, size_t size)
{
    char path[DM_PATH_MAX], *code = NULL, *log = NULL;
    size_t bytes;
    bool cached;
    dm_error err = {0};
    out[0] = '\0';
    const char *text = dm_kernel_source(kernel, DM_KERNEL_CUDA, &err);
    if (text == NULL || dm_nvrtc_find(path, NULL) != DM_OK)
        return;
    dm_module_desc desc = {.name = "kernel.cu", .text = text, .log = &log};
    if (dm_nvrtc_compile(&desc, "compute_80", &code, &bytes, &cached, &err) != DM_OK)
        snprintf(out, size, "NVRTC: %.200s", err.message);
    free(code);
    free(log);
}

static void show_result(const char *name, const dm_check_result *result, const char *problem,
                        bool devices, dm_json *json)
{
    if (json != NULL) {
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "kernel", name);
        dm_json_bool(json, "ok", problem[0] == '\0');
        dm_json_string(json, "problem", problem[0] == '\0' ? NULL : problem);
        dm_json_bool(json, "has_backward", result->has_backward);
        dm_json_int(json, "compared", result->compared);
        dm_json_string(json, "outside", result->outside[0] == '\0' ? NULL : result->outside);
        dm_json_double(json, "gradient_error", result->gradient_error);
        if (devices) {
            dm_json_double(json, "value_error", result->value_error);
            dm_json_double(json, "device_gradient_error", result->device_gradient_error);
        }
        dm_json_end_object(json);
        return;
    }
    printf("%-4s %-32s ", problem[0] == '\0' ? "ok" : "FAIL", name);
    if (problem[0] != '\0')
        printf("%s", problem);
    else if (result->checked)
        printf("gradients of %d elements, off by %.2g at most", result->compared,
               result->gradient_error);
    else
        printf("runs; no backward pass%s%s", result->reason[0] == '\0' ? "" : ": ", result->reason);
    if (problem[0] == '\0' && devices)
        printf("; CPU and GPU differ by %.2g, gradients by %.2g", result->value_error,
               result->device_gradient_error);
    if (problem[0] == '\0' && result->outside[0] != '\0')
        printf("; with arrays as long as the launch, %s", result->outside);
    printf("\n");
}

/* Errors that say nothing of the kernel: it could not be checked. */
static bool is_of_machine(dm_status status)
{
    return status == DM_EUNAVAILABLE || status == DM_EIO || status == DM_ENOMEM ||
           status == DM_EDEVICE || status == DM_EINTERNAL;
}

static dm_status check_one(const dm_kernel_check_run *run, dm_kernel *kernel, dm_device *gpu,
                           char *problem, size_t size, dm_check_result *result, dm_error *fatal)
{
    dm_error err = {0};
    dm_check_options options = {.seed = run->seed,
                                .size = run->extent,
                                .other = gpu,
                                .imports = true,
                                .warp_compat = run->warp_compat,
                                .from_inputs = run->from_inputs,
                                .indices = true,
                                .defines = run->defines};
    memset(result, 0, sizeof *result);
    problem[0] = '\0';
    if (dm_kernel_compile(kernel, &err) != DM_OK) {
        snprintf(problem, size, "line %d: %.480s", err.line, err.message);
        return DM_OK;
    }
    compile_cuda(kernel, problem, size);
    if (problem[0] != '\0')
        return DM_OK;
    dm_status status = dm_kernel_check(run->file, run->text, run->size, dm_kernel_name(kernel),
                                       &options, result, &err);
    if (is_of_machine(status)) {
        *fatal = err;
        return status;
    }
    if (status == DM_EUNSUPPORTED)
        snprintf(result->reason, sizeof result->reason, "%.250s", err.message);
    else if (status != DM_OK)
        snprintf(problem, size, "%.500s", err.message);
    else if (result->checked && result->compared == 0)
        snprintf(problem, size, "no gradient was compared: all differences are infinite or NaN");
    else if (!(result->gradient_error < GRADIENT_TOLERANCE))
        snprintf(problem, size, "gradient off by %.3g at %s", result->gradient_error,
                 result->worst);
    else if (!(result->value_error < DEVICE_TOLERANCE))
        snprintf(problem, size, "CPU and GPU differ by %.3g", result->value_error);
    else if (!(result->device_gradient_error < DEVICE_TOLERANCE))
        snprintf(problem, size, "gradients on CPU and GPU differ by %.3g",
                 result->device_gradient_error);
    return DM_OK;
}

dm_status dm_cli_kernel_check(const dm_kernel_check_run *run, bool *failed, dm_error *err)
{
    dm_kernel_options options = {.imports = true,
                                 .warp_compat = run->warp_compat,
                                 .from_inputs = run->from_inputs,
                                 .defines = run->defines};
    dm_kernel_file *file;
    dm_device *gpu = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_json json;
    dm_status status = dm_kernel_file_create(run->file, run->text, run->size, &options, &file, err);
    if (status != DM_OK) {
        if (file != NULL)
            dm_color_print_diagnostics(stderr, dm_kernel_file_messages(file));
        dm_kernel_file_destroy(file);
        return status;
    }
    if (run->kernel != NULL && dm_kernel_file_find(file, run->kernel) == NULL) {
        dm_kernel_file_destroy(file);
        return dm_fail(err, DM_EINVAL, "--kernel: %s has no kernel '%.100s'", run->file,
                       run->kernel);
    }
    if (dm_kernel_file_count(file) == 0) {
        dm_kernel_file_destroy(file);
        return dm_fail(err, DM_EFORMAT, "%s: the file has no kernels", run->file);
    }
    if (run->need_gpu || dm_device_count(DM_DEVICE_CUDA) > 0)
        status = dm_device_open("cuda:0", &gpu, err);
    if (run->json) {
        dm_json_init(&json, &out, DM_JSON_PRETTY);
        dm_json_begin_array(&json, NULL);
    }
    for (size_t i = 0; i < dm_kernel_file_count(file) && status == DM_OK; i++) {
        dm_kernel *kernel = dm_kernel_file_get(file, i);
        char problem[512];
        dm_check_result result;
        if (run->kernel != NULL && strcmp(run->kernel, dm_kernel_name(kernel)) != 0)
            continue;
        status = check_one(run, kernel, gpu, problem, sizeof problem, &result, err);
        if (status != DM_OK)
            break;
        *failed |= problem[0] != '\0';
        show_result(dm_kernel_name(kernel), &result, problem, gpu != NULL,
                    run->json ? &json : NULL);
    }
    if (run->json && status == DM_OK) {
        dm_json_end_array(&json);
        dm_json_finish(&json);
        fputs(dm_buffer_text(&out), stdout);
    }
    dm_buffer_deinit(&out);
    dm_device_close(gpu);
    dm_kernel_file_destroy(file);
    return status;
}
