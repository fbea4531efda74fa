/* SPDX-License-Identifier: MIT */
/* gb_device.c - how many frames a second many machines make on a device.
 *
 *   dm-bench-gb-device [--device cuda:0|cpu] [--roms DIR] [--frames N] [--machines N,...]
 *                      [--block 32|64|96|128]
 *
 * One thread per machine, each with other keys that change at every step of ten frames; nothing is
 * drawn in the first figure and every tenth frame in the second. Memory is laid out machine after
 * machine, the plainest way there is: these are the figures that other layouts have to beat. */
#include "base/philox.h"
#include "base/thread.h"
#include "gb/host/core.h"
#include "gb/simt/kernel_args.h"
#include "gb/simt/predecode.h"
#include "gb/simt/uop_decode.h"

#include <dotmatrix/device.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_FRAMES 10u
#define COUNTS_MAX 16

static const char *const rom_names[] = {"ALU_LOOP", "STARFALL"};

typedef struct bench {
    dm_device *device;
    dm_stream *stream;
    dm_function *run, *make_words;
    dm_device_buffer *rom, *words, *uops, *machines, *memory, *frames, *keys;
    uint32_t count, stride, block_threads;
} bench;

static void destroy_buffers(bench *b)
{
    dm_device_buffer_destroy(b->rom);
    dm_device_buffer_destroy(b->words);
    dm_device_buffer_destroy(b->uops);
    dm_device_buffer_destroy(b->machines);
    dm_device_buffer_destroy(b->memory);
    dm_device_buffer_destroy(b->frames);
    dm_device_buffer_destroy(b->keys);
    b->rom = b->words = b->uops = b->machines = b->memory = b->frames = b->keys = NULL;
}

static dm_status create_buffers(bench *b, const dm_gb_rom *rom, dm_error *err)
{
    dm_status status = dm_device_buffer_create(b->device, rom->size, &b->rom, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(
            b->device, dm_gb_predecoded_size(rom->size) * sizeof(uint32_t), &b->words, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, DM_GB_UOPS * sizeof(dm_gb_uop), &b->uops, err);
    if (status == DM_OK)
        status =
            dm_device_buffer_create(b->device, b->count * sizeof(dm_gb_machine), &b->machines, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, (size_t)b->count * b->stride, &b->memory, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, (size_t)b->count * DM_GB_FRAMES_SIZE,
                                         &b->frames, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(b->device, b->count, &b->keys, err);
    return status;
}

/* All machines as after power-on. */
static dm_status start(bench *b, const dm_gb_rom *rom, dm_error *err)
{
    dm_gb_machine *machines = calloc(b->count, sizeof *machines);
    if (machines == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < b->count; i++)
        dm_gb_start_machine(&machines[i], rom, DM_GB_START_POST_BOOT);
    dm_status status =
        dm_stream_upload(b->stream, b->machines, 0, machines, b->count * sizeof *machines, err);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->rom, 0, rom->bytes, rom->size, err);
    if (status == DM_OK)
        status = dm_stream_fill(b->stream, b->memory, 0, 0, (size_t)b->count * b->stride, err);
    dm_gb_uop uops[DM_GB_UOPS];
    for (uint32_t i = 0; i < DM_GB_UOPS; i++)
        uops[i] = dm_gb_uop_table_at(i);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->uops, 0, uops, sizeof uops, err);
    dm_gb_predecode_args args = {dm_device_buffer_address(b->rom),
                                 dm_device_buffer_address(b->words), rom->size};
    if (status == DM_OK)
        status = dm_function_launch(b->make_words, b->stream, dm_grid_for(rom->size, 256), &args,
                                    sizeof args, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(b->stream, err);
    free(machines);
    return status;
}

/* Seconds for `frames` of every machine. */
static dm_status measure(bench *b, uint32_t frames, bool draw, double *seconds, dm_error *err)
{
    dm_gb_run_args args = {
        .machines = dm_device_buffer_address(b->machines),
        .memory = dm_device_buffer_address(b->memory),
        .rom = dm_device_buffer_address(b->rom),
        .predecoded = dm_device_buffer_address(b->words),
        .uops = dm_device_buffer_address(b->uops),
        .frames = draw ? dm_device_buffer_address(b->frames) : NULL,
        .keys = dm_device_buffer_address(b->keys),
        .memory_stride = b->stride,
        .count = b->count,
        .cycles = STEP_FRAMES * DM_GB_FRAME_CYCLES,
        .draw = DM_GB_DRAW_LAST,
        .skip_idle = 1,
    };
    uint8_t *keys = malloc(b->count);
    if (keys == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = DM_OK;
    *seconds = 0;
    for (uint32_t step = 0; step * STEP_FRAMES < frames && status == DM_OK; step++) {
        for (uint32_t i = 0; i < b->count; i++)
            keys[i] = (uint8_t)dm_random4(0x6B657973, i, step).v[0];
        status = dm_stream_upload(b->stream, b->keys, 0, keys, b->count, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(b->stream, err);
        uint64_t begin = dm_time_ns();
        if (status == DM_OK)
            status = dm_function_launch(b->run, b->stream, dm_grid_for(b->count, b->block_threads),
                                        &args, sizeof args, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(b->stream, err);
        *seconds += 1e-9 * (double)(dm_time_ns() - begin);
    }
    free(keys);
    return status;
}

/* One row: frames per second of all machines together, drawing off and on. */
static dm_status bench_rom(bench *b, const char *folder, const char *name, uint32_t frames,
                           dm_error *err)
{
    char path[4096];
    dm_gb_rom rom;
    double seconds[2] = {0};
    snprintf(path, sizeof path, "%s/%s.gb", folder, name);
    dm_status status = dm_gb_rom_load(&rom, path, err);
    if (status != DM_OK)
        return status;
    b->stride = (dm_gb_memory_size(rom.ram_size) + 15u) & ~15u;
    status = create_buffers(b, &rom, err);
    for (int draw = 0; draw < 2 && status == DM_OK; draw++) {
        status = start(b, &rom, err);
        double warm_up;
        if (status == DM_OK)
            status = measure(b, STEP_FRAMES, draw, &warm_up, err);
        if (status == DM_OK)
            status = measure(b, frames, draw, &seconds[draw], err);
    }
    if (status == DM_OK) {
        double all = (double)b->count * frames;
        printf("%-12s %8u %14.0f %14.0f\n", name, b->count, all / seconds[0], all / seconds[1]);
        fflush(stdout);
    }
    destroy_buffers(b);
    dm_gb_rom_deinit(&rom);
    return status;
}

static dm_status run(bench *b, const char *id, const char *folder, uint32_t frames,
                     const uint32_t *counts, size_t count, dm_error *err)
{
    dm_module *module = NULL;
    dm_status status = dm_device_open(id, &b->device, err);
    if (status != DM_OK)
        return status;
    b->stream = dm_device_stream(b->device);
    status = dm_module_create(b->device, &(dm_module_desc){.name = "gb/simt/kernel_run.h"}, &module,
                              err);
    if (status == DM_OK)
        status = dm_module_function(module, "dm_gb_run_machines", &b->run, err);
    if (status == DM_OK)
        status = dm_module_function(module, "dm_gb_predecode_rom", &b->make_words, err);
    dm_function_properties p = {0};
    if (status == DM_OK)
        status = dm_function_get_properties(b->run, &p, err);
    if (status == DM_OK)
        printf("%s: %d registers, %llu bytes of stack; %u frames each, blocks of %u\n"
               "%-12s %8s %14s %14s\n",
               dm_device_get_properties(b->device)->name, p.registers,
               (unsigned long long)p.local_bytes, frames, b->block_threads, "ROM", "machines",
               "frames/s", "every 10th drawn");
    for (size_t r = 0; r < sizeof rom_names / sizeof rom_names[0] && status == DM_OK; r++) {
        for (size_t i = 0; i < count && status == DM_OK; i++) {
            b->count = counts[i];
            status = bench_rom(b, folder, rom_names[r], frames, err);
        }
    }
    dm_module_destroy(module);
    dm_device_close(b->device);
    return status;
}

static size_t read_counts(const char *text, uint32_t counts[COUNTS_MAX])
{
    size_t count = 0;
    while (*text != 0 && count < COUNTS_MAX) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || value == 0 || value > 1u << 24 || (*end != 0 && *end != ','))
            return 0;
        counts[count++] = (uint32_t)value;
        text = end + (*end == ',');
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *id = "cuda:0", *folder = "build/roms";
    uint32_t counts[COUNTS_MAX] = {1024, 16384, 65536};
    size_t count = 3;
    int frames = 60, block_threads = 64;
    bool good = argc % 2 == 1; /* each option has a value */
    for (int i = 1; i + 1 < argc && good; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--device") == 0)
            id = value;
        else if (strcmp(argv[i], "--roms") == 0)
            folder = value;
        else if (strcmp(argv[i], "--frames") == 0)
            frames = atoi(value);
        else if (strcmp(argv[i], "--block") == 0)
            block_threads = atoi(value);
        else if (strcmp(argv[i], "--machines") == 0)
            count = read_counts(value, counts);
        else
            good = false;
    }
    if (!good || frames < 1 || frames > 100000 || count == 0 || block_threads < 32 ||
        block_threads > 128 || block_threads % 32 != 0) {
        fprintf(stderr, "usage: dm-bench-gb-device [--device ID] [--roms DIR] [--frames N] "
                        "[--machines N,...] [--block 32|64|96|128]\n");
        return 2;
    }
    frames = (frames + (int)STEP_FRAMES - 1) / (int)STEP_FRAMES * (int)STEP_FRAMES;
    dm_error err = {0};
    bench b = {.block_threads = (uint32_t)block_threads};
    dm_status status = run(&b, id, folder, (uint32_t)frames, counts, count, &err);
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-gb-device: %s\n", err.message);
    return status == DM_OK ? 0 : 1;
}
