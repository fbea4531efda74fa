/* SPDX-License-Identifier: MIT */
/* cases.c - our ROMs by the kernel on a device and by the core on the host, side by side. */
#include "tests/gb/device/cases.h"

#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "gb/host/core.h"
#include "gb/simt/kernel_args.h"
#include "gb/simt/predecode.h"
#include "gb/simt/uop_decode.h"
#include "tests/device/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROMS_MAX 256
#define BLOCK_THREADS 32

/* ---- The ROMs ---- */

typedef struct rom_list {
    const char *only;
    char *paths[ROMS_MAX];
    size_t count;
} rom_list;

static bool is_wanted(const char *only, const char *name, size_t length)
{
    if (only == NULL)
        return true;
    for (const char *p = only; *p != 0; p += *p == ' ') {
        size_t word = strcspn(p, " ");
        if (word == length && memcmp(p, name, length) == 0)
            return true;
        p += word;
    }
    return false;
}

static dm_status add_rom(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    rom_list *list = user;
    size_t length = strlen(entry->path);
    if (entry->is_dir || length < 4 || strcmp(entry->path + length - 3, ".gb") != 0 ||
        !is_wanted(list->only, entry->path, length - 3))
        return DM_OK;
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, root, entry->path, err);
    if (status != DM_OK)
        return status;
    assert_true(list->count < ROMS_MAX);
    list->paths[list->count] = strdup(path);
    assert_non_null(list->paths[list->count++]);
    return DM_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_roms(rom_list *list, const char *only)
{
    char folder[DM_PATH_MAX];
    const char *other = getenv("DM_TEST_BUILT_ROMS");
    if (other != NULL) {
        snprintf(folder, sizeof folder, "%s", other);
    } else {
        /* BUILD/tests/dm-tests: the folder may have moved since it was built. */
        ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 64);
        assert_true(length > 0);
        folder[length] = 0;
        *strrchr(folder, '/') = 0;
        strcpy(strrchr(folder, '/'), "/roms");
    }
    memset(list, 0, sizeof *list);
    list->only = only;
    assert_ok(dm_dir_walk(folder, add_rom, list, err));
    if (list->count == 0)
        fail_msg("no ROMs in %s", folder);
    qsort(list->paths, list->count, sizeof list->paths[0], by_text);
}

/* ---- Both sides ---- */

/* T-cycles of each step, 0 to 20 frames: whole frames, and stops in the middle of one. */
#define F DM_GB_FRAME_CYCLES
static const uint32_t step_cycles[] = {F,     7 * F,  12346,  20 * F,     3 * F,      10 * F,
                                       1 * F, 20 * F, 15 * F, 2 * F + 77, 20 * F + 1, 20 * F};
#undef F
static const uint8_t step_draw[] = {DM_GB_DRAW_ALWAYS, DM_GB_DRAW_LAST, DM_GB_DRAW_NEVER,
                                    DM_GB_DRAW_LAST, DM_GB_DRAW_LAST};

/* The machines on the device, once with idle loop skipped and once without. */
typedef struct device_side {
    dm_device_buffer *machines, *memory, *frames;
    const char *name;
    bool skip_idle;
    double seconds;
} device_side;

typedef struct comparison {
    dm_device *device;
    dm_function *run, *make_words;
    const char *rom_name;
    uint32_t count, stride;
    dm_gb **host;
    dm_device_buffer *rom, *words, *no_words, *uops, *keys;
    uint8_t *key_masks;
    device_side sides[2];
    uint8_t *bytes; /* room for any of the buffers */
} comparison;

static dm_gb_machine *machine_of(const comparison *c, uint32_t i)
{
    return &c->host[i]->machine;
}

static void start_host(comparison *c, const char *path)
{
    c->host = calloc(c->count, sizeof(dm_gb *));
    c->key_masks = calloc(c->count, 1);
    assert_true(c->host != NULL && c->key_masks != NULL);
    for (uint32_t i = 0; i < c->count; i++) {
        dm_gb_options options = {.start = i % 4 == 3 ? DM_GB_START_ZERO : DM_GB_START_POST_BOOT};
        assert_ok(dm_gb_create_file(path, &options, &c->host[i], err));
    }
    c->stride = (c->host[0]->ram_size + 15u) & ~15u;
    size_t room = c->count * (size_t)(c->stride + DM_GB_FRAMES_SIZE + sizeof(dm_gb_machine));
    c->bytes = calloc(1, room);
    assert_non_null(c->bytes);
}

/* A buffer whose part i is `size` bytes at `from(c, i)`. */
static dm_device_buffer *upload_parts(comparison *c, size_t stride, size_t size,
                                      const void *(*from)(const comparison *, uint32_t))
{
    dm_device_buffer *buffer = dm_case_buffer(c->device, c->count * stride);
    memset(c->bytes, 0, c->count * stride);
    for (uint32_t i = 0; i < c->count; i++)
        memcpy(c->bytes + i * stride, from(c, i), size);
    dm_case_upload(c->device, buffer, c->bytes, c->count * stride);
    return buffer;
}

static void compare_parts(comparison *c, const device_side *side, uint32_t step, const char *what,
                          dm_device_buffer *buffer, size_t stride, size_t size,
                          const void *(*from)(const comparison *, uint32_t))
{
    dm_case_download(c->device, buffer, c->bytes, c->count * stride);
    for (uint32_t i = 0; i < c->count; i++) {
        const uint8_t *got = c->bytes + i * stride, *want = from(c, i);
        if (memcmp(got, want, size) == 0)
            continue;
        size_t at = 0;
        while (got[at] == want[at])
            at++;
        fail_msg("%s, %s: machine %u differs after step %u: %s + %zu is %02X, on the host %02X (PC "
                 "%04X)",
                 c->rom_name, side->name, i, step, what, at, got[at], want[at],
                 machine_of(c, i)->cpu.pc);
    }
}

static const void *machine_part(const comparison *c, uint32_t i)
{
    return &c->host[i]->machine;
}

static const void *memory_part(const comparison *c, uint32_t i)
{
    return c->host[i]->ram;
}

static const void *frames_part(const comparison *c, uint32_t i)
{
    return c->host[i]->frames;
}

static void start_device(comparison *c)
{
    const dm_gb_rom *rom = &c->host[0]->rom;
    c->rom = dm_case_buffer(c->device, rom->size);
    dm_case_upload(c->device, c->rom, rom->bytes, rom->size);
    c->words = dm_case_buffer(c->device, dm_gb_predecoded_size(rom->size) * sizeof(uint32_t));
    dm_gb_predecode_args args = {dm_device_buffer_address(c->rom),
                                 dm_device_buffer_address(c->words), rom->size};
    assert_ok(dm_function_launch(c->make_words, dm_device_stream(c->device),
                                 dm_grid_for(rom->size, 256), &args, sizeof args, err));
    const size_t count = dm_gb_predecoded_size(rom->size);
    uint32_t *none = malloc(count * sizeof *none);
    assert_non_null(none);
    for (size_t i = 0; i < count; i++)
        none[i] = DM_GB_NO_WORD;
    c->no_words = dm_case_buffer(c->device, count * sizeof *none);
    dm_case_upload(c->device, c->no_words, none, count * sizeof *none);
    free(none);
    dm_gb_uop uops[DM_GB_UOPS];
    for (uint32_t i = 0; i < DM_GB_UOPS; i++)
        uops[i] = dm_gb_uop_table_at(i);
    c->uops = dm_case_buffer(c->device, sizeof uops);
    dm_case_upload(c->device, c->uops, uops, sizeof uops);
    c->keys = dm_case_buffer(c->device, c->count);
    for (int s = 0; s < 2; s++) {
        device_side *side = &c->sides[s];
        side->skip_idle = s == 0;
        side->name = s == 0 ? "idle loops skipped" : "idle loops run";
        side->machines =
            upload_parts(c, sizeof(dm_gb_machine), sizeof(dm_gb_machine), machine_part);
        side->memory = upload_parts(c, c->stride, c->host[0]->ram_size, memory_part);
        side->frames = upload_parts(c, DM_GB_FRAMES_SIZE, DM_GB_FRAMES_SIZE, frames_part);
    }
}

static void stop(comparison *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        dm_gb_destroy(c->host[i]);
    for (int s = 0; s < 2; s++) {
        dm_device_buffer_destroy(c->sides[s].machines);
        dm_device_buffer_destroy(c->sides[s].memory);
        dm_device_buffer_destroy(c->sides[s].frames);
    }
    dm_device_buffer_destroy(c->rom);
    dm_device_buffer_destroy(c->words);
    dm_device_buffer_destroy(c->no_words);
    dm_device_buffer_destroy(c->uops);
    dm_device_buffer_destroy(c->keys);
    free(c->host);
    free(c->key_masks);
    free(c->bytes);
}

static void run_device(comparison *c, device_side *side, uint32_t cycles, uint32_t draw)
{
    dm_gb_run_args args = {
        .machines = dm_device_buffer_address(side->machines),
        .memory = dm_device_buffer_address(side->memory),
        .rom = dm_device_buffer_address(c->rom),
        /* Each side reads instructions in one of the two ways. */
        .predecoded = dm_device_buffer_address(side->skip_idle ? c->words : c->no_words),
        .uops = dm_device_buffer_address(c->uops),
        .frames = dm_device_buffer_address(side->frames),
        .keys = dm_device_buffer_address(c->keys),
        .memory_stride = c->stride,
        .count = c->count,
        .cycles = cycles,
        .draw = draw,
        .skip_idle = side->skip_idle,
    };
    dm_stream *stream = dm_device_stream(c->device);
    uint64_t start = dm_time_ns();
    assert_ok(dm_function_launch(c->run, stream, dm_grid_for(c->count, BLOCK_THREADS), &args,
                                 sizeof args, err));
    assert_ok(dm_stream_synchronize(stream, err));
    side->seconds += 1e-9 * (double)(dm_time_ns() - start);
}

static void compare_rom(comparison *c, const char *path, uint32_t steps)
{
    double host_seconds = 0, frames = 0;
    c->rom_name = strrchr(path, '/') + 1;
    start_host(c, path);
    start_device(c);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t cycles = step_cycles[step % (sizeof step_cycles / sizeof step_cycles[0])];
        uint32_t draw = step_draw[step % sizeof step_draw];
        for (uint32_t i = 1; i < c->count; i++) /* nobody touches the first */
            c->key_masks[i] = (uint8_t)dm_random4(0x6B657973, i, step).v[0];
        dm_case_upload(c->device, c->keys, c->key_masks, c->count);
        uint64_t start = dm_time_ns();
        for (uint32_t i = 0; i < c->count; i++) {
            dm_gb_set_keys(c->host[i], c->key_masks[i]);
            dm_gb_run_cycles(c->host[i], cycles, (enum dm_gb_draw)draw);
        }
        host_seconds += 1e-9 * (double)(dm_time_ns() - start);
        frames += (double)cycles / DM_GB_FRAME_CYCLES * c->count;
        for (int s = 0; s < 2; s++) {
            device_side *side = &c->sides[s];
            run_device(c, side, cycles, draw);
            compare_parts(c, side, step, "machine", side->machines, sizeof(dm_gb_machine),
                          sizeof(dm_gb_machine), machine_part);
            compare_parts(c, side, step, "memory", side->memory, c->stride, c->host[0]->ram_size,
                          memory_part);
            compare_parts(c, side, step, "pictures", side->frames, DM_GB_FRAMES_SIZE,
                          DM_GB_FRAMES_SIZE, frames_part);
        }
    }
    print_message(
        "%-24s %u machines, %5.0f frames: host %.2f s, device %.2f s, %.2f s with idle loops\n",
        c->rom_name, c->count, frames, host_seconds, c->sides[0].seconds, c->sides[1].seconds);
    stop(c);
}

void dm_case_gb_roms(dm_device *device, const dm_gb_case *gb_case)
{
    rom_list list;
    dm_module *module;
    dm_function *run, *make_words;
    find_roms(&list, gb_case->only);
    dm_module_desc desc = {.name = "gb/simt/kernel_run.h", .defines = gb_case->defines};
    uint64_t start = dm_time_ns();
    assert_ok(dm_module_create(device, &desc, &module, err));
    print_message("gb/simt/kernel_run.h: %.1f s to compile\n",
                  1e-9 * (double)(dm_time_ns() - start));
    assert_ok(dm_module_function(module, "dm_gb_run_machines", &run, err));
    assert_ok(dm_module_function(module, "dm_gb_predecode_rom", &make_words, err));
    for (size_t i = 0; i < list.count; i++) {
        comparison c = {
            .device = device, .run = run, .make_words = make_words, .count = gb_case->machines};
        compare_rom(&c, list.paths[i], gb_case->steps);
        free(list.paths[i]);
    }
    dm_module_destroy(module);
}

void dm_case_gb_resources(dm_device *device)
{
    static const struct {
        const char *text, *kernel;
        uint64_t local_bytes_max; /* a picture's line is put together in half a KiB */
    } kernels[] = {{"gb/simt/kernel_run.h", "dm_gb_run_machines", 2048},
                   {"gb/machine/kernel_vectors.h", "dm_gb_vectors", 256}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        dm_module *module;
        dm_function *function;
        dm_function_properties p;
        dm_module_desc desc = {.name = kernels[i].text};
        assert_ok(dm_module_create(device, &desc, &module, err));
        assert_ok(dm_module_function(module, kernels[i].kernel, &function, err));
        assert_ok(dm_function_get_properties(function, &p, err));
        print_message("%s: %d registers, %llu bytes of stack, blocks of up to %d threads\n",
                      kernels[i].kernel, p.registers, (unsigned long long)p.local_bytes,
                      p.block_threads_max);
        assert_true(p.local_bytes <= kernels[i].local_bytes_max);
        dm_module_destroy(module);
    }
}
