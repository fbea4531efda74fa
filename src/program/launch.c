/* SPDX-License-Identifier: MIT */
/* launch.c - a program's kernel on a device: a module of its own, the argument block, faults. */
#include "program/internal.h"

#include "gb/machine/machine.h"
#include "kernel/fault.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_THREADS 128u
#define FIXED_BYTES 1024u /* of the block without the memory's fields */
#define FIELD_BYTES 40u
#define BLOCK_BYTES (FIXED_BYTES + DM_PROGRAM_FIELDS_MAX * FIELD_BYTES)

struct dm_program_kernel {
    dm_program *program;
    dm_module *module;
    dm_function *function;
    dm_device_buffer *fault;
    bool on_host;
};

/* ---- Compiling ---- */

dm_status dm_program_kernel_create(const dm_program *program, dm_device *device,
                                   dm_program_kernel **out, dm_error *err)
{
    /* Integers wrap and floats are rounded after each operation, on both devices. */
    static const char *const cpu_options[] = {"-fwrapv", "-ffp-contract=off", NULL};
    static const char *const cuda_options[] = {"--fmad=false", NULL};
    const bool cuda = dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    *out = NULL;
    dm_program_kernel *kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL)
        return dm_fail(err, DM_ENOMEM, "program: out of memory");
    kernel->program = dm_program_share((dm_program *)program);
    kernel->on_host = !cuda;
    dm_module_desc desc = {.name = "program",
                           .text = program->texts[cuda ? 1 : 0],
                           .cpu_options = cpu_options,
                           .cuda_options = cuda_options};
    dm_status status = dm_module_create(device, &desc, &kernel->module, err);
    if (status == DM_OK)
        status = dm_module_function(kernel->module, program->entries[cuda ? 1 : 0],
                                    &kernel->function, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, sizeof(dm_kernel_fault), &kernel->fault, err);
    if (status == DM_OK)
        status = dm_stream_fill(dm_device_stream(device), kernel->fault, 0, 0,
                                sizeof(dm_kernel_fault), err);
    if (status == DM_OK)
        status = dm_stream_synchronize(dm_device_stream(device), err);
    if (status != DM_OK) {
        dm_program_kernel_destroy(kernel);
        return status;
    }
    *out = kernel;
    return DM_OK;
}

void dm_program_kernel_destroy(dm_program_kernel *kernel)
{
    if (kernel == NULL)
        return;
    dm_device_buffer_destroy(kernel->fault);
    dm_module_destroy(kernel->module);
    dm_program_destroy(kernel->program);
    free(kernel);
}

/* ---- The argument block ----
 * int dim[1], then the parameters as C lays them out. An array is {data, gradient, strides in bytes, shape}. */

typedef struct block {
    uint8_t bytes[BLOCK_BYTES];
    size_t size;
} block;

static void put(block *b, const void *from, size_t size, size_t align)
{
    b->size = (b->size + align - 1) / align * align;
    memcpy(b->bytes + b->size, from, size);
    b->size += size;
}

static void put_address(block *b, const void *address)
{
    put(b, &address, sizeof address, 8);
}

static void put_long(block *b, uint64_t value)
{
    put(b, &value, sizeof value, 8);
}

static void put_int(block *b, uint64_t value)
{
    const int32_t narrow = value > INT32_MAX ? INT32_MAX : (int32_t)value;
    put(b, &narrow, sizeof narrow, 4);
}

static void put_array(block *b, const void *data, uint64_t stride, uint64_t length)
{
    put_address(b, data);
    put_address(b, NULL);
    put_long(b, stride);
    put_int(b, data == NULL ? 0 : length);
    b->size = (b->size + 7) / 8 * 8;
}

static void put_table(block *b, const void *data, uint64_t row, uint64_t stride, uint64_t rows,
                      uint64_t columns)
{
    put_address(b, data);
    put_address(b, NULL);
    put_long(b, row);
    put_long(b, stride);
    put_int(b, rows);
    put_int(b, columns);
}

static void fill_block(const dm_program_kernel *kernel, const dm_program_places *p, block *b)
{
    const dm_program *program = kernel->program;
    const uint64_t n = p->count, answer = sizeof(dm_program_answer);
    const size_t metrics = program->info.metric_count;
    const uint32_t stride = dm_program_stride(program);
    uint8_t *answers = p->answers;
    uint8_t *progress = p->progress;
    b->size = 0;
    put_int(b, n);
    put_table(b, p->machines, p->machine_stride, 1, n, sizeof(dm_gb_machine));
    put_table(b, p->memory, p->memory_stride, 1, n, p->memory_stride);
    put_array(b, p->roms, 1, p->rom_bytes);
    put_array(b, p->rom_starts, sizeof(uint32_t), p->rom_count);
    put_array(b, p->turns, sizeof(uint32_t), n);
    put_array(b, p->actions, sizeof(uint32_t), n);
    put_array(b, progress, 16, n);
    put_array(b, progress + 8, 16, n);
    put_array(b, p->hooks, sizeof(uint64_t), n);
    put_table(b, answers + offsetof(dm_program_answer, reward), answer, 4, n, 1);
    put_table(b, answers + offsetof(dm_program_answer, terminated), answer, 1, n, 1);
    put_table(b, answers + offsetof(dm_program_answer, truncated), answer, 1, n, 1);
    put_table(b, p->starts, sizeof(int32_t), sizeof(int32_t), n, 1);
    put_table(b, p->observations, program->info.observation_size * sizeof(float), sizeof(float), n,
              program->info.observation_size);
    put_table(b, p->metrics, metrics * sizeof(dm_program_metric), sizeof(dm_program_metric), n,
              metrics);
    for (uint32_t i = 0; i < program->field_count; i++) {
        const dm_program_field *f = &program->fields[i];
        put_table(b, p->kept + f->offset, stride, f->size, n, f->elements);
    }
    put_long(b, p->seed);
    put_long(b, p->first_machine);
    put_address(b, dm_device_buffer_address(kernel->fault));
}

dm_status dm_program_kernel_launch(dm_program_kernel *kernel, dm_stream *stream,
                                   const dm_program_places *places, dm_error *err)
{
    block b;
    fill_block(kernel, places, &b);
    return dm_function_launch(kernel->function, stream, dm_grid_for(places->count, BLOCK_THREADS),
                              b.bytes, b.size, err);
}

/* ---- Faults ---- */

dm_status dm_program_kernel_check(dm_program_kernel *kernel, dm_stream *stream, dm_error *err)
{
    dm_kernel_fault fault;
    char text[DM_KERNEL_FAULT_TEXT];
    dm_status status = DM_OK;
    if (kernel->on_host) {
        memcpy(&fault, dm_device_buffer_address(kernel->fault), sizeof fault);
    } else {
        status = dm_stream_download(stream, kernel->fault, 0, &fault, sizeof fault, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(stream, err);
    }
    if (status == DM_OK && dm_kernel_fault_text(&fault, text))
        status = dm_fail_at(err, DM_EINVAL, kernel->program->name, fault.line, "%s", text);
    return status;
}
