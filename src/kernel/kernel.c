/* SPDX-License-Identifier: MIT */
/* kernel.c - include/dotmatrix/kernel.h: the compiler (src/lang) and the devices (src/device)
 * together. */
#include "base/buffer.h"
#include "base/require.h"
#include "kernel/extent.h"
#include "kernel/fault.h"
#include "kernel/internal.h"
#include "lang/compile.h"

#include <dotmatrix/kernel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_THREADS 256
#define DEFINES_MAX 64

struct dm_kernel_file {
    char *name, *text;
    dm_compilation c;
    dm_kernel *kernels;
    size_t count;
    dm_define defines[DEFINES_MAX];
    char *define_texts[DEFINES_MAX];
    int define_count;
    char *messages;
};

struct dm_kernel_program {
    char *name;
    dm_module *module;
    dm_function *functions[2]; /* backward may be NULL */
    size_t block_size;
    int dimensions;
    dm_device_buffer *fault; /* NULL: indices are not checked */
    dm_extent extents[DM_EXTENTS_MAX];
    int extent_count;
};

/* ---- Files ---- */

static dm_status take_defines(dm_kernel_file *file, const char *const *defines, dm_error *err)
{
    for (; defines != NULL && *defines != NULL; defines++) {
        const char *equals = strchr(*defines, '=');
        if (equals == NULL || equals == *defines)
            return dm_fail(err, DM_EINVAL, "kernel: a define is NAME=VALUE, not '%s'", *defines);
        if (file->define_count == DEFINES_MAX)
            return dm_fail(err, DM_EINVAL, "kernel: more than %d defines", DEFINES_MAX);
        char *copy = strdup(*defines);
        if (copy == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        copy[equals - *defines] = '\0';
        file->define_texts[file->define_count] = copy;
        file->defines[file->define_count++] =
            (dm_define){.name = copy, .text = copy + (equals - *defines) + 1};
    }
    return DM_OK;
}

dm_status dm_kernel_file_create(const char *name, const char *text, size_t size,
                                const dm_kernel_options *options, dm_kernel_file **out,
                                dm_error *err)
{
    DM_REQUIRE_SOME(err, text, size);
    DM_REQUIRE(err, out);
    static const dm_kernel_options none;
    if (out == NULL || name == NULL || (text == NULL && size > 0))
        return dm_fail(err, DM_EINVAL, "kernel file: the name, text or result is NULL");
    if (options == NULL)
        options = &none;
    *out = NULL;
    dm_kernel_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_lang_init(&file->c.lang);
    file->name = strdup(name);
    file->text = malloc(size + 1);
    dm_status status = take_defines(file, options->defines, err);
    if (status == DM_OK && (file->name == NULL || file->text == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status != DM_OK) {
        dm_kernel_file_destroy(file);
        return status;
    }
    if (size > 0)
        memcpy(file->text, text, size);
    file->text[size] = '\0';
    dm_compile_options compile = {.no_backward = options->no_backward,
                                  .lines = options->lines,
                                  .bounds = options->bounds,
                                  .all_double = options->all_double};
    compile.module.warp_compat = options->warp_compat;
    compile.module.from_inputs = options->from_inputs;
    compile.module.imports = options->imports;
    compile.module.defines = file->defines;
    compile.module.define_count = file->define_count;
    status = dm_compilation_init(&file->c, file->name, file->text, size, &compile, err);
    *out = file;
    if (status != DM_OK)
        return status;
    file->kernels = calloc((size_t)file->c.kernel_count + 1, sizeof *file->kernels);
    if (file->kernels == NULL) {
        dm_kernel_file_destroy(file);
        *out = NULL;
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    file->count = (size_t)file->c.kernel_count;
    for (size_t i = 0; i < file->count; i++) {
        file->kernels[i].file = file;
        file->kernels[i].index = (int)i;
    }
    return DM_OK;
}

void dm_kernel_file_destroy(dm_kernel_file *file)
{
    if (file == NULL)
        return;
    for (size_t i = 0; file->kernels != NULL && i < file->count; i++) {
        free(file->kernels[i].texts[0]);
        free(file->kernels[i].texts[1]);
        free(file->kernels[i].params);
    }
    for (int i = 0; i < file->define_count; i++)
        free(file->define_texts[i]);
    dm_compilation_deinit(&file->c);
    free(file->kernels);
    free(file->messages);
    free(file->text);
    free(file->name);
    free(file);
}

const char *dm_kernel_file_messages(dm_kernel_file *file)
{
    if (file == NULL)
        return NULL;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_lang_print_diags(&file->c.lang, &text);
    free(file->messages);
    file->messages = text.size == 0 ? NULL : dm_buffer_take(&text);
    return file->messages == NULL ? "" : file->messages;
}

size_t dm_kernel_file_count(const dm_kernel_file *file)
{
    if (file == NULL)
        return 0;
    return file->count;
}

dm_kernel *dm_kernel_file_get(dm_kernel_file *file, size_t index)
{
    if (file == NULL)
        return NULL;
    return index < file->count ? &file->kernels[index] : NULL;
}

dm_kernel *dm_kernel_file_find(dm_kernel_file *file, const char *name)
{
    if (file == NULL)
        return NULL;
    int index = dm_compilation_find(&file->c, name);
    return index < 0 ? NULL : &file->kernels[index];
}

/* ---- Kernels ---- */

static const dm_compile_kernel *compiled(const dm_kernel *kernel)
{
    return &kernel->file->c.kernels[kernel->index];
}

static size_t align_up(size_t offset, size_t align)
{
    return (offset + align - 1) / align * align;
}

/* The argument block as print.h describes it: int dim[n], then the parameters as C lays them out.
 */
static void describe_params(dm_kernel *kernel, const dm_ir_function *f)
{
    size_t offset = sizeof(int) * (size_t)kernel->dimensions, align = sizeof(int);
    for (size_t i = 0; i < kernel->param_count; i++) {
        const dm_ir_value *value = &f->values[f->body->params[i]];
        const dm_type *type = value->type;
        const dm_type *element = type->kind == DM_TYPE_ARRAY ? type->element : type;
        size_t own = (size_t)dm_type_align(type);
        bool numbers = dm_type_is_scalar(element) || dm_type_is_numeric(element);
        offset = align_up(offset, own);
        align = own > align ? own : align;
        kernel->params[i] = (dm_kernel_param){
            .name = value->name,
            .type = type->name,
            .is_array = type->kind == DM_TYPE_ARRAY,
            .ndim = type->kind == DM_TYPE_ARRAY ? type->ndim : 0,
            .scalar = numbers ? (dm_kernel_scalar)element->scalar : DM_KERNEL_STRUCT,
            .components = dm_type_components(element),
            .element_size = (size_t)dm_type_bytes(element),
            .offset = offset,
        };
        offset += (size_t)dm_type_bytes(type);
    }
    if (kernel->file->c.options.bounds) { /* the address of the record stands last */
        offset = align_up(offset, sizeof(void *)) + sizeof(void *);
        align = align > sizeof(void *) ? align : sizeof(void *);
    }
    kernel->block_size = align_up(offset, align);
}

dm_status dm_kernel_compile(dm_kernel *kernel, dm_error *err)
{
    DM_REQUIRE(err, kernel);
    if (kernel->compiled)
        return DM_OK;
    dm_status status = dm_compilation_kernel(&kernel->file->c, kernel->index, err);
    if (status != DM_OK)
        return status;
    const dm_ir_function *f = compiled(kernel)->forward;
    kernel->param_count = (size_t)f->body->param_count;
    kernel->params = calloc(kernel->param_count + 1, sizeof *kernel->params);
    if (kernel->params == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    kernel->dimensions = f->tid_count < 1 ? 1 : f->tid_count;
    describe_params(kernel, f);
    kernel->compiled = true;
    return DM_OK;
}

const char *dm_kernel_name(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return NULL;
    return compiled(kernel)->decl->name;
}

int dm_kernel_line(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return 0;
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(&kernel->file->c.lang, compiled(kernel)->decl->ast->pos, &source, &line,
                   &column);
    return line;
}

bool dm_kernel_has_backward(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return false;
    return compiled(kernel)->backward != NULL;
}

const char *dm_kernel_no_backward(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return NULL;
    const dm_compile_kernel *k = compiled(kernel);
    return k->forward == NULL || k->backward != NULL ? NULL : k->forward->no_backward;
}

const char *dm_kernel_source(dm_kernel *kernel, dm_kernel_target target, dm_error *err)
{
    if (kernel == NULL)
        return NULL;
    if (!kernel->compiled) {
        dm_fail(err, DM_EINVAL, "%s: not compiled yet", dm_kernel_name(kernel));
        return NULL;
    }
    if (kernel->texts[target] == NULL) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_status status =
            dm_compilation_print(&kernel->file->c, kernel->index,
                                 target == DM_KERNEL_C ? DM_TARGET_C : DM_TARGET_CUDA, &text, err);
        if (status == DM_OK)
            kernel->texts[target] = dm_buffer_take(&text);
        dm_buffer_deinit(&text);
    }
    return kernel->texts[target];
}

int dm_kernel_dimensions(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return 0;
    return kernel->dimensions;
}

size_t dm_kernel_param_count(const dm_kernel *kernel)
{
    if (kernel == NULL)
        return 0;
    return kernel->param_count;
}

const dm_kernel_param *dm_kernel_param_get(const dm_kernel *kernel, size_t index)
{
    if (kernel == NULL)
        return NULL;
    return index < kernel->param_count ? &kernel->params[index] : NULL;
}

const dm_type *dm_kernel_param_type(const dm_kernel *kernel, size_t index)
{
    const dm_ir_function *f = compiled(kernel)->forward;
    return f->values[f->body->params[index]].type;
}

dm_lang *dm_kernel_lang(const dm_kernel *kernel)
{
    return &kernel->file->c.lang;
}

/* ---- Programs ---- */

dm_status dm_kernel_program_create(dm_kernel *kernel, dm_device *device, dm_kernel_program **out,
                                   dm_error *err)
{
    DM_REQUIRE(err, kernel);
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    if (out == NULL || kernel == NULL || device == NULL)
        return dm_fail(err, DM_EINVAL, "program: the kernel, device or result is NULL");
    bool cuda = dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    *out = NULL;
    dm_status status = dm_kernel_compile(kernel, err);
    if (status != DM_OK)
        return status;
    const char *text = dm_kernel_source(kernel, cuda ? DM_KERNEL_CUDA : DM_KERNEL_C, err);
    if (text == NULL)
        return DM_EINTERNAL;
    dm_kernel_program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    const char *name = compiled(kernel)->forward->entry_name;
    static const char *const cpu_options[] = {"-fwrapv", NULL}; /* integers wrap, as on a GPU */
    dm_module_desc desc = {.name = name, .text = text, .cpu_options = cpu_options};
    program->name = strdup(name);
    program->block_size = kernel->block_size;
    program->dimensions = kernel->dimensions;
    program->extent_count = dm_extents_find(compiled(kernel)->forward, program->extents);
    if (program->name == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK)
        status = dm_module_create(device, &desc, &program->module, err);
    for (int pass = 0; pass < 2 && status == DM_OK; pass++) {
        char entry[512];
        if (pass == 1 && !dm_kernel_has_backward(kernel))
            break;
        snprintf(entry, sizeof entry, "%.400s_%s", name, pass == 0 ? "forward" : "backward");
        status = dm_module_function(program->module, entry, &program->functions[pass], err);
    }
    if (status == DM_OK && kernel->file->c.options.bounds)
        status = dm_device_buffer_create(device, sizeof(dm_kernel_fault), &program->fault, err);
    if (status != DM_OK) {
        dm_kernel_program_destroy(program);
        return status;
    }
    *out = program;
    return DM_OK;
}

void dm_kernel_program_destroy(dm_kernel_program *program)
{
    if (program == NULL)
        return;
    dm_device_buffer_destroy(program->fault);
    dm_module_destroy(program->module);
    free(program->name);
    free(program);
}

/* ---- Launching ---- */

static void put_list(char *out, size_t size, const int *numbers, int count)
{
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i > 0 ? ", %d" : "%d", numbers[i]);
}

/* The launch of a program that checks its indices: did one leave its array? */
static dm_status check_fault(const dm_kernel_program *program, dm_stream *stream, dm_error *err)
{
    dm_kernel_fault fault;
    dm_status status = dm_stream_download(stream, program->fault, 0, &fault, sizeof fault, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    char text[DM_KERNEL_FAULT_TEXT];
    if (status == DM_OK && dm_kernel_fault_text(&fault, text))
        status = dm_fail(err, DM_EINVAL, "%s: line %d: %s", program->name, fault.line, text);
    return status;
}

/* Arrays that are too short for the launch, where that is known and the text does not check. */
static dm_status check_extents(const dm_kernel_program *program, const int *dim,
                               const dm_kernel_args *args, dm_error *err)
{
    for (int i = 0; i < program->extent_count; i++) {
        const dm_extent *e = &program->extents[i];
        const dm_kernel_arg *a = &args->params[e->param];
        int shape[4] = {0};
        memcpy(shape, args->block + a->param.offset + 16 + 8 * (size_t)a->param.ndim,
               sizeof shape[0] * (size_t)a->param.ndim);
        if (shape[e->axis] >= dim[e->coordinate])
            continue;
        char text[64];
        put_list(text, sizeof text, shape, a->param.ndim);
        return dm_fail(err, DM_EINVAL,
                       "%s: line %d: '%s' is too short for this launch: dimension %d of its shape "
                       "(%s) must be %d",
                       program->name, e->line, a->name, e->axis, text, dim[e->coordinate]);
    }
    return DM_OK;
}

dm_status dm_kernel_launch(const dm_kernel_program *program, dm_stream *stream, dm_kernel_pass pass,
                           const int *dim, int ndim, const dm_kernel_args *args, dm_error *err)
{
    DM_REQUIRE(err, program);
    if (program == NULL || stream == NULL || dim == NULL || args == NULL)
        return dm_fail(err, DM_EINVAL, "launch: a program, stream, size or arguments are NULL");
    if (program->functions[pass] == NULL)
        return dm_fail(err, DM_EUNSUPPORTED, "%s has no backward pass", program->name);
    if (args->size != program->block_size || args->dimensions != program->dimensions)
        return dm_fail(err, DM_EINVAL, "%s: these are another kernel's arguments", program->name);
    if (ndim < program->dimensions || ndim > 4)
        return dm_fail(err, DM_EINVAL, "%s: a launch of %d to 4 dimensions is wanted, not %d",
                       program->name, program->dimensions, ndim);
    uint64_t tasks = 1, again = 1;
    for (int i = 0; i < ndim; i++) {
        if (dim[i] < 0)
            return dm_fail(err, DM_EINVAL, "%s: a dimension of %d", program->name, dim[i]);
        if (i < program->dimensions)
            tasks *= (uint64_t)dim[i];
        else
            again *= (uint64_t)dim[i];
        if (tasks > INT64_MAX / ((uint64_t)INT32_MAX + 1))
            return dm_fail(err, DM_EINVAL, "%s: the launch is too large", program->name);
    }
    if (tasks == 0 || again == 0)
        return DM_OK;
    dm_status status = program->fault == NULL ? check_extents(program, dim, args, err) : DM_OK;
    if (status != DM_OK)
        return status;
    memcpy(args->block, dim, sizeof(int) * (size_t)program->dimensions);
    if (program->fault != NULL) {
        void *address = dm_device_buffer_address(program->fault);
        memcpy(args->block + args->size - sizeof address, &address, sizeof address);
        dm_status filled =
            dm_stream_fill(stream, program->fault, 0, 0, sizeof(dm_kernel_fault), err);
        if (filled != DM_OK)
            return filled;
    }
    /* Tasks that differ only in coordinates that the kernel does not ask for execute the same. */
    for (uint64_t i = 0; i < again && status == DM_OK; i++)
        status =
            dm_function_launch(program->functions[pass], stream, dm_grid_for(tasks, BLOCK_THREADS),
                               args->block, args->size, err);
    return status == DM_OK && program->fault != NULL ? check_fault(program, stream, err) : status;
}
