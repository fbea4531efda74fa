/* SPDX-License-Identifier: MIT */
/* check.c - gradients against differences, devices against each other; see check.h. */
#include "kernel/check.h"

#include "kernel/internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 64
#define GUARD 65536 /* bytes before and behind each array, for indices that leave it a little */

/* One array: contents before, now and its gradient, in host memory; and its copies on the device.
 */
typedef struct cell {
    char name[64];
    const dm_type *element;
    size_t bytes, count;
    uint8_t *before, *after, *weights, *grad;
    dm_device_buffer *data_buffer, *grad_buffer;
} cell;

typedef struct checker {
    const dm_check_options *options;
    int size;
    dm_test_stream random;
    dm_kernel *kernel;
    cell cells[CELLS_MAX];
    int cell_count;
    bool unsupported;
} checker;

/* ---- Random contents ---- */

static double random_unit(checker *c)
{
    return (double)(dm_test_stream_next(&c->random) >> 11) * 0x1p-53;
}

static double random_float(checker *c)
{
    double low = c->options->low, high = c->options->high;
    if (low == 0 && high == 0) {
        low = 0.6;
        high = 1.4;
    }
    return low + (high - low) * random_unit(c);
}

static void fill_scalar(checker *c, const dm_type *type, uint8_t *at)
{
    double value = dm_type_is_float(type) ? random_float(c)
                   : type->scalar == DM_BOOL
                       ? (double)(dm_test_stream_next(&c->random) & 1)
                       : (double)(dm_test_stream_next(&c->random) % (uint64_t)c->size);
    dm_kernel_store_number(at, (dm_kernel_scalar)type->scalar, value);
}

/* Fill a value of any type; arrays inside of it get cells. */
static void fill(checker *c, const char *name, const dm_type *type, uint8_t *at)
{
    if (dm_type_is_scalar(type)) {
        fill_scalar(c, type, at);
    } else if (dm_type_is_numeric(type)) {
        const dm_type *part = dm_type_scalar(dm_kernel_lang(c->kernel), (dm_scalar)type->scalar);
        for (int i = 0; i < dm_type_components(type); i++)
            fill_scalar(c, part, at + i * dm_type_bytes(part));
    } else if (type->kind == DM_TYPE_STRUCT) {
        size_t offset = 0;
        for (int i = 0; i < type->field_count; i++) {
            const dm_type *field = type->fields[i].type;
            size_t align = (size_t)dm_type_align(field);
            offset = (offset + align - 1) / align * align;
            fill(c, type->fields[i].name, field, at + offset);
            offset += (size_t)dm_type_bytes(field);
        }
    } else {
        (void)name;
        c->unsupported = true; /* arrays in structs: nothing says how large */
    }
}

/* ---- Floats inside of types ---- */

typedef void (*float_visitor)(void *user, uint8_t *at, dm_scalar scalar);

static void visit_floats(const dm_type *type, uint8_t *at, float_visitor visit, void *user)
{
    if (dm_type_is_scalar(type) || dm_type_is_numeric(type)) {
        int step = dm_scalar_bytes((dm_scalar)type->scalar);
        if (dm_scalar_is_float((dm_scalar)type->scalar))
            for (int i = 0; i < dm_type_components(type); i++)
                visit(user, at + (ptrdiff_t)i * step, (dm_scalar)type->scalar);
        return;
    }
    size_t offset = 0;
    for (int i = 0; type->kind == DM_TYPE_STRUCT && i < type->field_count; i++) {
        const dm_type *field = type->fields[i].type;
        size_t align = (size_t)dm_type_align(field);
        offset = (offset + align - 1) / align * align;
        visit_floats(field, at + offset, visit, user);
        offset += (size_t)dm_type_bytes(field);
    }
}

static double load_float(const uint8_t *at, dm_scalar scalar)
{
    return dm_kernel_load_number(at, (dm_kernel_scalar)scalar);
}

static void set_weight(void *user, uint8_t *at, dm_scalar scalar)
{
    checker *c = user;
    dm_kernel_store_number(at, (dm_kernel_scalar)scalar, 2 * random_unit(c) - 1);
}

typedef struct sum {
    const uint8_t *base, *weights;
    double total;
} sum;

static void add_weighted(void *user, uint8_t *at, dm_scalar scalar)
{
    sum *s = user;
    s->total += load_float(at, scalar) * load_float(s->weights + (at - s->base), scalar);
}

typedef struct float_list {
    size_t *offsets;
    dm_scalar *scalars;
    size_t count;
    const uint8_t *base;
} float_list;

static void add_offset(void *user, uint8_t *at, dm_scalar scalar)
{
    float_list *list = user;
    if (list->offsets != NULL) {
        list->offsets[list->count] = (size_t)(at - list->base);
        list->scalars[list->count] = scalar;
    }
    list->count++;
}

static void each_element(cell *cell_, uint8_t *memory, float_visitor visit, void *user)
{
    size_t step = cell_->count == 0 ? 0 : cell_->bytes / cell_->count;
    for (size_t i = 0; i < cell_->count; i++)
        visit_floats(cell_->element, memory + i * step, visit, user);
}

/* ---- Set-up ---- */

static dm_status allocate(checker *c, cell *made, dm_error *err)
{
    uint8_t **all[] = {&made->before, &made->after, &made->weights, &made->grad};
    for (size_t i = 0; i < 4; i++) {
        *all[i] = calloc(1, made->bytes + 2 * GUARD);
        if (*all[i] == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < made->count; i++)
        fill(c, made->name, made->element, made->before + GUARD + i * (made->bytes / made->count));
    each_element(made, made->weights + GUARD, set_weight, c);
    return DM_OK;
}

static dm_status set_up(checker *c, dm_kernel_args *args, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < dm_kernel_param_count(c->kernel) && status == DM_OK; i++) {
        const dm_kernel_param *param = dm_kernel_param_get(c->kernel, i);
        const dm_type *type = dm_kernel_param_type(c->kernel, i);
        if (param->is_array) {
            if (c->cell_count == CELLS_MAX)
                return dm_fail(err, DM_EUNSUPPORTED, "more than %d arrays", CELLS_MAX);
            cell *made = &c->cells[c->cell_count++];
            snprintf(made->name, sizeof made->name, "%.63s", param->name);
            made->element = type->element;
            made->count = 1;
            for (int d = 0; d < param->ndim; d++)
                made->count *= (size_t)c->size;
            made->bytes = made->count * param->element_size;
            status = allocate(c, made, err);
            continue;
        }
        uint8_t *bytes = calloc(1, param->element_size + 8);
        if (bytes == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        fill(c, param->name, type, bytes);
        if (dm_type_is_int(type))
            dm_kernel_store_number(bytes, param->scalar, c->size - 1);
        status = dm_kernel_args_bytes(args, param->name, bytes, param->element_size, err);
        free(bytes);
        for (size_t n = 0; n < c->options->number_count && status == DM_OK; n++)
            if (strcmp(c->options->numbers[n].name, param->name) == 0)
                status =
                    dm_kernel_args_number(args, param->name, c->options->numbers[n].value, err);
    }
    return status;
}

static void tear_down(checker *c)
{
    for (int i = 0; i < c->cell_count; i++) {
        free(c->cells[i].before);
        free(c->cells[i].after);
        free(c->cells[i].weights);
        free(c->cells[i].grad);
        dm_device_buffer_destroy(c->cells[i].data_buffer);
        dm_device_buffer_destroy(c->cells[i].grad_buffer);
    }
    c->cell_count = 0;
}

/* ---- Running ---- */

static dm_status bind_arrays(checker *c, dm_device *device, dm_kernel_args *args, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < c->cell_count && status == DM_OK; i++) {
        cell *one = &c->cells[i];
        status = dm_device_buffer_create(device, one->bytes + 2 * GUARD, &one->data_buffer, err);
        if (status == DM_OK)
            status =
                dm_device_buffer_create(device, one->bytes + 2 * GUARD, &one->grad_buffer, err);
        if (status != DM_OK)
            break;
        dm_kernel_array array = {
            .data = (uint8_t *)dm_device_buffer_address(one->data_buffer) + GUARD,
            .grad = (uint8_t *)dm_device_buffer_address(one->grad_buffer) + GUARD};
        for (int d = 0; d < 4; d++)
            array.shape[d] = c->size;
        if (!one->element->floats)
            array.grad = NULL;
        status = dm_kernel_args_array(args, one->name, &array, err);
    }
    return status;
}

/* Forward from `before`; leaves `after`. With `backward` also the gradients, from the weights. */
static dm_status run(checker *c, dm_device *device, const dm_kernel_program *program,
                     const dm_kernel_args *args, bool backward, dm_error *err)
{
    dm_stream *stream = dm_device_stream(device);
    int dim[4] = {c->size, c->size, c->size, c->size}, ndim = dm_kernel_dimensions(c->kernel);
    dm_status status = DM_OK;
    for (int i = 0; i < c->cell_count && status == DM_OK; i++)
        status = dm_stream_upload(stream, c->cells[i].data_buffer, 0, c->cells[i].before,
                                  c->cells[i].bytes + 2 * GUARD, err);
    for (int i = 0; backward && i < c->cell_count && status == DM_OK; i++)
        status = dm_stream_upload(stream, c->cells[i].grad_buffer, 0, c->cells[i].weights,
                                  c->cells[i].bytes + 2 * GUARD, err);
    if (status == DM_OK)
        status = dm_kernel_launch(program, stream, DM_KERNEL_FORWARD, dim, ndim, args, err);
    for (int i = 0; i < c->cell_count && status == DM_OK; i++)
        status = dm_stream_download(stream, c->cells[i].data_buffer, 0, c->cells[i].after,
                                    c->cells[i].bytes + 2 * GUARD, err);
    for (int i = 0; backward && c->options->from_inputs && i < c->cell_count && status == DM_OK;
         i++)
        status = dm_stream_upload(stream, c->cells[i].data_buffer, 0, c->cells[i].before,
                                  c->cells[i].bytes + 2 * GUARD, err);
    if (backward && status == DM_OK)
        status = dm_kernel_launch(program, stream, DM_KERNEL_BACKWARD, dim, ndim, args, err);
    for (int i = 0; backward && i < c->cell_count && status == DM_OK; i++)
        status = dm_stream_download(stream, c->cells[i].grad_buffer, 0, c->cells[i].grad,
                                    c->cells[i].bytes + 2 * GUARD, err);
    return status == DM_OK ? dm_stream_synchronize(stream, err) : status;
}

static double loss(checker *c)
{
    double total = 0;
    for (int i = 0; i < c->cell_count; i++) {
        sum s = {.base = c->cells[i].after + GUARD, .weights = c->cells[i].weights + GUARD};
        each_element(&c->cells[i], c->cells[i].after + GUARD, add_weighted, &s);
        total += s.total;
    }
    return total;
}

/* ---- Gradients ---- */

static dm_status list_floats(cell *one, float_list *list, dm_error *err)
{
    *list = (float_list){.base = one->before + GUARD};
    each_element(one, one->before + GUARD, add_offset, list);
    size_t count = list->count;
    list->offsets = calloc(count + 1, sizeof *list->offsets);
    list->scalars = calloc(count + 1, sizeof *list->scalars);
    list->count = 0;
    if (list->offsets == NULL || list->scalars == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    each_element(one, one->before + GUARD, add_offset, list);
    return DM_OK;
}

static dm_status difference(checker *c, dm_device *device, const dm_kernel_program *program,
                            const dm_kernel_args *args, uint8_t *at, dm_scalar scalar, double *out,
                            double *noise, dm_error *err)
{
    const double h = 1e-6;
    double value = load_float(at, scalar), results[2];
    dm_status status = DM_OK;
    for (int side = 0; side < 2 && status == DM_OK; side++) {
        dm_kernel_store_number(at, (dm_kernel_scalar)scalar, side == 0 ? value - h : value + h);
        status = run(c, device, program, args, false, err);
        results[side] = loss(c);
    }
    dm_kernel_store_number(at, (dm_kernel_scalar)scalar, value);
    if (status == DM_OK) {
        *out = (results[1] - results[0]) / (2 * h);
        *noise = 8 * DBL_EPSILON * fmax(fabs(results[0]), fabs(results[1])) / h; /* rounding */
    }
    return status;
}

static dm_status compare_gradients(checker *c, dm_device *device, const dm_kernel_program *program,
                                   const dm_kernel_args *args, dm_check_result *result,
                                   dm_error *err)
{
    int most = c->options->elements_max > 0 ? c->options->elements_max : 48;
    dm_status status = run(c, device, program, args, true, err);
    int per_cell = c->cell_count == 0 ? 0 : most / c->cell_count + 1;
    for (int i = 0; i < c->cell_count && status == DM_OK; i++) {
        cell *one = &c->cells[i];
        float_list list;
        status = list_floats(one, &list, err);
        size_t step = list.count / (size_t)per_cell + 1;
        for (size_t n = 0; n < list.count && status == DM_OK; n += step) {
            double expected = 0, noise = 0;
            double found = load_float(one->grad + GUARD + list.offsets[n], list.scalars[n]);
            status = difference(c, device, program, args, one->before + GUARD + list.offsets[n],
                                list.scalars[n], &expected, &noise, err);
            if (status != DM_OK || !isfinite(expected))
                continue;
            double scale = fmax(1.0, fabs(expected)), off = fabs(expected - found);
            double error = isfinite(off) ? fmax(0, off - noise) / scale : INFINITY;
            result->compared++;
            if (error >= result->gradient_error) {
                result->gradient_error = error;
                snprintf(result->worst, sizeof result->worst, "%s+%zu: %.9g, difference %.9g",
                         one->name, list.offsets[n], found, expected);
            }
        }
        free(list.offsets);
        free(list.scalars);
    }
    result->checked = status == DM_OK;
    return status;
}

/* ---- Devices ---- */

typedef struct worst {
    const uint8_t *base, *other;
    double error;
} worst;

static void compare_float(void *user, uint8_t *at, dm_scalar scalar)
{
    worst *w = user;
    double a = load_float(at, scalar), b = load_float(w->other + (at - w->base), scalar);
    if (isnan(a) && isnan(b))
        return;
    double error = a == b ? 0 : fabs(a - b) / fmax(1.0, fabs(a));
    if (!(error <= w->error))
        w->error = isnan(error) ? INFINITY : error;
}

/* Run both and compare; integers must be equal bit for bit. */
static dm_status compare_devices(checker *a, checker *b, dm_check_result *result, bool backward)
{
    for (int i = 0; i < a->cell_count; i++) {
        cell *one = &a->cells[i], *two = &b->cells[i];
        worst w = {.base = one->after + GUARD, .other = two->after + GUARD};
        each_element(one, one->after + GUARD, compare_float, &w);
        result->value_error = fmax(result->value_error, w.error);
        if (!one->element->floats &&
            memcmp(one->after + GUARD, two->after + GUARD, one->bytes) != 0)
            result->value_error = INFINITY;
        if (!backward)
            continue;
        worst g = {.base = one->grad + GUARD, .other = two->grad + GUARD};
        each_element(one, one->grad + GUARD, compare_float, &g);
        result->device_gradient_error = fmax(result->device_gradient_error, g.error);
    }
    return DM_OK;
}

/* ---- The whole ---- */

typedef struct side {
    dm_kernel_file *file;
    dm_kernel_program *program;
    dm_kernel_args *args;
    checker c;
} side;

static void close_side(side *s)
{
    tear_down(&s->c);
    dm_kernel_args_destroy(s->args);
    dm_kernel_program_destroy(s->program);
    dm_kernel_file_destroy(s->file);
}

static dm_status open_side(side *s, dm_device *device, const char *name, const char *text,
                           size_t size, const char *kernel, bool all_double, bool bounds,
                           const dm_check_options *options, dm_error *err)
{
    dm_kernel_options compile = {.all_double = all_double,
                                 .bounds = bounds,
                                 .imports = options->imports,
                                 .warp_compat = options->warp_compat,
                                 .from_inputs = options->from_inputs,
                                 .defines = options->defines};
    memset(s, 0, sizeof *s);
    s->c.options = options;
    s->c.size = options->size > 0 ? options->size : 6;
    dm_test_stream_seed(&s->c.random, options->seed);
    dm_status status = dm_kernel_file_create(name, text, size, &compile, &s->file, err);
    if (status != DM_OK)
        return status;
    s->c.kernel = dm_kernel_file_find(s->file, kernel);
    if (s->c.kernel == NULL)
        return dm_fail(err, DM_ENOENT, "no kernel is called '%s'", kernel);
    status = dm_kernel_program_create(s->c.kernel, device, &s->program, err);
    if (status == DM_OK)
        status = dm_kernel_args_create(s->c.kernel, &s->args, err);
    if (status == DM_OK)
        status = set_up(&s->c, s->args, err);
    if (status == DM_OK && s->c.unsupported)
        return dm_fail(err, DM_EUNSUPPORTED, "%s has arrays inside of structs", kernel);
    return status == DM_OK ? bind_arrays(&s->c, device, s->args, err) : status;
}

static dm_status check_devices(const char *name, const char *text, size_t size, const char *kernel,
                               dm_device *cpu, const dm_check_options *options,
                               dm_check_result *result, dm_error *err)
{
    side a, b;
    dm_status status = open_side(&a, cpu, name, text, size, kernel, false, false, options, err);
    dm_status second = open_side(&b, options->other, name, text, size, kernel, false, false,
                                 options, status == DM_OK ? err : NULL);
    status = status == DM_OK ? second : status;
    bool backward = status == DM_OK && dm_kernel_has_backward(a.c.kernel);
    if (status == DM_OK)
        status = run(&a.c, cpu, a.program, a.args, backward, err);
    if (status == DM_OK)
        status = run(&b.c, options->other, b.program, b.args, backward, err);
    if (status == DM_OK)
        status = compare_devices(&a.c, &b.c, result, backward);
    close_side(&a);
    close_side(&b);
    return status;
}

/* Is there an index outside of its array? The arrays of a check have room on both sides, so that it
 * does no harm. It is reported but is no failure, since arrays of a real launch may be longer. */
static dm_status check_indices(const char *name, const char *text, size_t size, const char *kernel,
                               dm_device *cpu, const dm_check_options *options,
                               dm_check_result *result, dm_error *err)
{
    side s;
    dm_error fault = {0};
    dm_status status = open_side(&s, cpu, name, text, size, kernel, false, true, options, err);
    if (status == DM_OK)
        status = run(&s.c, cpu, s.program, s.args, false, &fault);
    if (status == DM_EINVAL && fault.status == DM_EINVAL) {
        const char *where = strstr(fault.message, ": ");
        snprintf(result->outside, sizeof result->outside, "%.250s",
                 where == NULL ? fault.message : where + 2);
        status = DM_OK;
    } else if (fault.status != DM_OK && err != NULL) {
        *err = fault;
    }
    close_side(&s);
    return status;
}

dm_status dm_kernel_check(const char *name, const char *text, size_t size, const char *kernel,
                          const dm_check_options *options, dm_check_result *result, dm_error *err)
{
    side s;
    dm_device *cpu, *device;
    memset(result, 0, sizeof *result);
    dm_status status = dm_device_open("cpu:1", &cpu, err);
    if (status != DM_OK)
        return status;
    device = options->device == NULL ? cpu : options->device;
    status = open_side(&s, device, name, text, size, kernel, true, false, options, err);
    if (status == DM_OK) {
        result->has_backward = dm_kernel_has_backward(s.c.kernel);
        const char *why = dm_kernel_no_backward(s.c.kernel);
        if (why != NULL)
            snprintf(result->reason, sizeof result->reason, "%s", why);
        if (result->has_backward)
            status = compare_gradients(&s.c, device, s.program, s.args, result, err);
        else
            status = run(&s.c, device, s.program, s.args, false, err);
    }
    close_side(&s);
    if (status == DM_OK && options->other != NULL)
        status = check_devices(name, text, size, kernel, cpu, options, result, err);
    if (status == DM_OK && options->indices)
        status = check_indices(name, text, size, kernel, cpu, options, result, err);
    dm_device_close(cpu);
    return status;
}
