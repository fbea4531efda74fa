/* SPDX-License-Identifier: MIT */
/* swarm.c - dm-bench-swarm: frames per second of many machines on one device.
 *
 *   dm-bench-swarm [--device cuda|cpu] [--roms FILE-or-folder ...] [--envs 1024,4096] ...
 *
 * For each ROM and each number of machines: all machines are driven apart by --diverge-frames of
 * seeded random input, some steps warm up, then steps of --frames-per-step frames are queued until
 * the window is full, with one wait at its end. The divergence receipt says what the figure was
 * measured on: how many different PCs there are, and how many lanes of a warp share one on average.
 */
#include "base/arena.h"
#include "base/file.h"
#include "base/host/build.h"
#include "base/host/machine.h"
#include "base/json.h"
#include "base/thread.h"
#include "cli/command.h"
#include "lab/bench/rom_list.h"
#include "swarm/internal.h"

#include <dotmatrix/swarm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ENVS_MAX 32

typedef struct settings {
    const char *device, *envs, *stages, *obs, *json;
    dm_strings roms;
    int64_t diverge, apart, frames, warmup, seed, lanes, block, blocks, steps, hooks;
    double seconds;
    bool help;
} settings;

static const dm_option rows[] = {
    DM_OPTION_STRING(settings, device, "device", "ID", "cpu", "cpu, cpu:THREADS, cuda, cuda:N"),
    DM_OPTION_STRINGS(settings, roms, "roms", "PATH",
                      "a ROM or a folder of them; repeatable (default: STARFALL of the build)"),
    DM_OPTION_STRING(settings, envs, "envs", "N,...", "1024", "numbers of machines"),
    DM_OPTION_STRING(settings, stages, "stage", "NAME,...", "emulate_only", "stages"),
    DM_OPTION_STRING(settings, obs, "obs", "NAME,...", "packed",
                     "observations of stages that have some: vector, shades, small, packed"),
    DM_OPTION_INT(settings, diverge, "diverge-frames", "N", 0, 1000000, "1800",
                  "random input before measuring"),
    DM_OPTION_INT(settings, apart, "diverge-machines", "N", 0, 1000000, "0",
                  "drive only N machines apart and copy them to the others (0: all)"),
    DM_OPTION_INT(settings, frames, "frames-per-step", "N", 1, 1024, "24", "frames of a step"),
    DM_OPTION_INT(settings, warmup, "warmup", "N", 0, 1000, "2", "steps before the window"),
    DM_OPTION_DOUBLE(settings, seconds, "seconds", "S", "2", "length of the window, about"),
    DM_OPTION_INT(settings, steps, "steps", "N", 0, 1000000, "0",
                  "steps of the window instead of its length"),
    DM_OPTION_INT(settings, seed, "seed", "N", 0, INT64_MAX, "1", "of the random actions"),
    DM_OPTION_INT(settings, lanes, "lanes", "N", 0, 32, "0", "machines per warp (0: by count)"),
    DM_OPTION_INT(settings, block, "block", "N", 0, 1024, "0", "threads per block (0: default)"),
    DM_OPTION_INT(settings, blocks, "blocks", "N", 0, 32, "0",
                  "blocks per multiprocessor promised to the compiler"),
    DM_OPTION_INT(settings, hooks, "hooks", "N", 0, 64, "0",
                  "watch N functions of the program (gb/hooks.h)"),
    DM_OPTION_STRING(settings, json, "json", "FILE", NULL, "write all figures there"),
    DM_OPTION_FLAG(settings, help, "help", "show this text"),
};

typedef struct result {
    const char *rom;
    dm_swarm_stage stage;
    uint64_t envs, steps, bytes_per_machine;
    uint32_t lanes, block;
    int registers;
    uint64_t local_bytes;
    double seconds, fps, build_seconds, instructions_per_frame, halted;
    uint64_t unique_pcs;
    double lanes_same_pc; /* mean over warps of 32 of the lanes per different PC */
    uint64_t checksum;    /* of all machines' PCs and cycles: equal between devices */
} result;

typedef struct bench {
    settings set;
    dm_arena arena;
    dm_device *device;
    dm_rom_list roms;
    uint64_t envs[ENVS_MAX];
    size_t env_count;
    dm_swarm_stage stages[DM_SWARM_STAGES];
    size_t stage_count;
    uint32_t observations;
    result *results;
    size_t count;
    dm_swarm *few; /* of few_rom, driven apart */
    const char *few_rom;
} bench;

/* ---- What to measure ---- */

/* Calls `add` for each word of "a,b,c". */
static dm_status each_word(bench *b, const char *list,
                           dm_status (*add)(bench *b, const char *word, dm_error *err),
                           dm_error *err)
{
    char words[512], *save;
    snprintf(words, sizeof words, "%s", list);
    dm_status status = DM_OK;
    for (char *w = strtok_r(words, ",", &save); w != NULL && status == DM_OK;
         w = strtok_r(NULL, ",", &save))
        status = add(b, w, err);
    return status;
}

static dm_status add_envs(bench *b, const char *word, dm_error *err)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    if (*end != '\0' || value == 0 || b->env_count == ENVS_MAX)
        return dm_fail(err, DM_EINVAL, "--envs: '%s' is no number of machines", word);
    b->envs[b->env_count++] = value;
    return DM_OK;
}

static dm_status add_stage(bench *b, const char *word, dm_error *err)
{
    if (b->stage_count == DM_SWARM_STAGES)
        return dm_fail(err, DM_EINVAL, "--stage: there are only %d", DM_SWARM_STAGES);
    return dm_swarm_stage_parse(word, &b->stages[b->stage_count++], err);
}

static dm_status add_obs(bench *b, const char *word, dm_error *err)
{
    static const char *const names[] = {"vector", "shades", "small", "packed"};
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(word, names[i]) == 0) {
            b->observations |= DM_SWARM_OBS_VECTOR << i;
            return DM_OK;
        }
    }
    return dm_fail(err, DM_EINVAL, "--obs: '%s' is unknown; vector, shades, small, packed", word);
}

static dm_status gather(bench *b, dm_error *err)
{
    const settings *s = &b->set;
    dm_status status = DM_OK;
    if (s->roms.count == 0)
        status = dm_rom_list_add_built(&b->roms, "STARFALL.gb", err);
    for (size_t i = 0; i < s->roms.count && status == DM_OK; i++)
        status = dm_rom_list_add(&b->roms, s->roms.items[i], err);
    if (status == DM_OK && b->roms.count == 0)
        status = dm_fail(err, DM_EINVAL, "--roms: no ROM was found");
    if (status == DM_OK)
        status = each_word(b, s->envs, add_envs, err);
    if (status == DM_OK)
        status = each_word(b, s->stages, add_stage, err);
    if (status == DM_OK)
        status = each_word(b, s->obs, add_obs, err);
    if (status != DM_OK)
        return status;
    b->results = calloc(b->roms.count * b->env_count * b->stage_count + 1, sizeof *b->results);
    return b->results == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
}

/* ---- Measuring ---- */

static int compare_pcs(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static size_t unique(uint16_t *pcs, size_t count)
{
    size_t different = count > 0;
    qsort(pcs, count, sizeof *pcs, compare_pcs);
    for (size_t i = 1; i < count; i++)
        different += pcs[i] != pcs[i - 1];
    return different;
}

typedef struct totals {
    uint64_t cycles, instructions, halted;
} totals;

/* All machines' registers at once; the receipt, where `r` is given. */
static dm_status inspect(dm_swarm *swarm, totals *sum, result *r, dm_error *err)
{
    size_t count = swarm->desc.count, stride = swarm->layout.machine_stride;
    uint8_t *bytes = malloc(count * stride);
    uint16_t *pcs = malloc(count * sizeof *pcs);
    dm_status status = DM_OK;
    if (bytes == NULL || pcs == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK)
        status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_MACHINES], 0, bytes,
                                    count * stride, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        dm_gb_machine m;
        memcpy(&m, bytes + i * stride, sizeof m);
        pcs[i] = m.cpu.pc;
        sum->cycles += (uint64_t)m.cycles_high << 32 | m.cycles_low;
        sum->instructions += (uint64_t)m.instructions_high << 32 | m.instructions_low;
        sum->halted += (uint64_t)m.halted_high << 32 | m.halted_low;
        if (r != NULL) {
            uint64_t word[2] = {m.cpu.pc | (uint64_t)m.cpu.sp << 16 | (uint64_t)m.cpu.a << 32,
                                (uint64_t)m.instructions_high << 32 | m.instructions_low};
            r->checksum = r->checksum * 31 + dm_hash64(word, sizeof word);
        }
    }
    if (r != NULL && status == DM_OK) {
        uint64_t groups = 0;
        for (size_t i = 0; i < count; i += 32)
            groups += unique(pcs + i, count - i < 32 ? count - i : 32);
        r->lanes_same_pc = (double)count / (double)groups;
        r->unique_pcs = unique(pcs, count);
    }
    free(bytes);
    free(pcs);
    return status;
}

static double now(void)
{
    return (double)dm_time_ns() * 1e-9;
}

static dm_status steps(dm_swarm *swarm, uint64_t count, dm_error *err)
{
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < count && status == DM_OK; i++)
        status = dm_swarm_step(swarm, NULL, err);
    return status == DM_OK ? dm_stream_synchronize(dm_swarm_stream(swarm), err) : status;
}

/* The machines of `few`, again and again, as those of `swarm`. */
static dm_status copy_machines(dm_swarm *few, dm_swarm *swarm, dm_error *err)
{
    static const int arrays[] = {DM_SWARM_A_MACHINES, DM_SWARM_A_MEMORY, DM_SWARM_A_PROGRESS};
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++) {
        size_t each = few->layout.per_machine[arrays[i]], part = each * few->desc.count;
        size_t total = each * swarm->desc.count;
        uint8_t *bytes = malloc(part);
        if (bytes == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        status = dm_stream_download(few->stream, few->arrays[arrays[i]], 0, bytes, part, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(few->stream, err);
        for (size_t at = 0; at < total && status == DM_OK; at += part)
            status = dm_stream_upload(swarm->stream, swarm->arrays[arrays[i]], at, bytes,
                                      total - at < part ? total - at : part, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(swarm->stream, err);
        free(bytes);
    }
    return status;
}

/* Machines of this ROM that were driven apart; made once for all numbers and stages. */
static dm_status make_few(bench *b, const dm_swarm_desc *all, uint64_t count, dm_error *err)
{
    if (b->few != NULL && b->few_rom == all->roms->path)
        return DM_OK;
    dm_swarm_destroy(b->few);
    b->few = NULL;
    dm_swarm_desc desc = *all;
    desc.count = (uint64_t)b->set.apart;
    desc.lanes_per_warp = desc.block_threads = desc.blocks_per_multiprocessor = 0;
    desc.stage = DM_SWARM_EMULATE_ONLY;
    desc.observations = 0;
    desc.hook_count = 0;
    b->few_rom = all->roms->path;
    dm_status status = dm_swarm_create(b->device, &desc, &b->few, err);
    return status == DM_OK ? steps(b->few, count, err) : status;
}

/* Random input until the machines are in different places. */
static dm_status drive_apart(bench *b, const dm_swarm_desc *all, dm_swarm *swarm, dm_error *err)
{
    const settings *s = &b->set;
    uint64_t count = (uint64_t)((s->diverge + s->frames - 1) / s->frames);
    if (s->apart == 0 || (uint64_t)s->apart > all->count)
        return steps(swarm, count, err);
    dm_status status = make_few(b, all, count, err);
    return status == DM_OK ? copy_machines(b->few, swarm, err) : status;
}

static dm_status measure(bench *b, const dm_swarm_desc *desc, dm_swarm *swarm, result *r,
                         dm_error *err)
{
    const settings *s = &b->set;
    totals before, after;
    dm_status status = drive_apart(b, desc, swarm, err);
    double start = now();
    if (status == DM_OK)
        status = steps(swarm, (uint64_t)s->warmup, err);
    double one = s->warmup > 0 ? (now() - start) / (double)s->warmup : s->seconds;
    if (status == DM_OK)
        status = inspect(swarm, &before, NULL, err);
    if (status != DM_OK)
        return status;
    r->steps = (uint64_t)s->steps;
    if (r->steps == 0)
        r->steps = one > 0 && s->seconds / one > 1 ? (uint64_t)(s->seconds / one) : 1;
    start = now();
    status = steps(swarm, r->steps, err);
    r->seconds = now() - start;
    if (status == DM_OK)
        status = inspect(swarm, &after, r, err);
    if (status != DM_OK)
        return status;
    double frames = (double)r->steps * (double)s->frames * (double)r->envs;
    r->fps = frames / r->seconds;
    r->instructions_per_frame = (double)(after.instructions - before.instructions) / frames;
    r->halted = (double)(after.halted - before.halted) / (double)(after.cycles - before.cycles);
    return DM_OK;
}

#define HOOK_FRAMES 600 /* a program is followed for so long to find its functions */
#define FUNCTIONS_MAX 4096

/* Functions that the ROM calls, `count` of them, spread evenly over those found in their order. */
static dm_status find_functions(const char *path, size_t count, dm_gb_hook *out, dm_error *err)
{
    static uint16_t found[FUNCTIONS_MAX];
    static bool known[0x10000];
    size_t functions = 0;
    dm_gb *gb;
    if (count == 0)
        return DM_OK;
    dm_status status = dm_gb_create_file(path, NULL, &gb, err);
    if (status != DM_OK)
        return status;
    memset(known, 0, sizeof known);
    while (dm_gb_get_counters(gb).cycles < (uint64_t)HOOK_FRAMES * DM_GB_FRAME_CYCLES) {
        const dm_gb_registers before = dm_gb_get_registers(gb);
        const uint8_t opcode = dm_gb_peek(gb, before.pc);
        dm_gb_set_keys(gb, (dm_gb_get_counters(gb).frames / 30) % 2 != 0 ? DM_GB_KEY_START : 0);
        dm_gb_step(gb);
        const dm_gb_registers after = dm_gb_get_registers(gb);
        const bool call = (opcode & 0xE7u) == 0xC4 || opcode == 0xCD; /* CALL, taken */
        if (call && after.sp == (uint16_t)(before.sp - 2u) && !known[after.pc] &&
            functions < FUNCTIONS_MAX) {
            known[after.pc] = true;
            found[functions++] = after.pc;
        }
    }
    dm_gb_destroy(gb);
    if (functions == 0)
        return dm_fail(err, DM_EINVAL, "%s: it calls no function", path);
    for (size_t i = 0; i < count; i++)
        out[i] = (dm_gb_hook){found[i * functions / count], DM_GB_HOOK_EVERY_BANK};
    return DM_OK;
}

static dm_status bench_one(bench *b, const char *path, uint64_t envs, dm_swarm_stage stage,
                           dm_error *err)
{
    const settings *s = &b->set;
    result *r = &b->results[b->count];
    dm_swarm_rom_source rom = {.path = path};
    bool observes = stage == DM_SWARM_FULL_STEP || stage == DM_SWARM_OBS_ONLY;
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = envs,
                          .frames_per_step = (uint32_t)s->frames,
                          .stage = stage,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .seed = (uint64_t)s->seed,
                          .observations = observes ? b->observations : 0,
                          .lanes_per_warp = (uint32_t)s->lanes,
                          .block_threads = (uint32_t)s->block,
                          .blocks_per_multiprocessor = (uint32_t)s->blocks};
    dm_swarm *swarm;
    dm_gb_hook hooks[DM_GB_HOOK_COUNT_MAX];
    dm_status status = find_functions(path, (size_t)s->hooks, hooks, err);
    if (status != DM_OK)
        return status;
    desc.hooks = hooks;
    desc.hook_count = (size_t)s->hooks;
    double start = now();
    status = dm_swarm_create(b->device, &desc, &swarm, err);
    if (status != DM_OK)
        return status;
    const char *slash = strrchr(path, '/');
    dm_swarm_info info = dm_swarm_get_info(swarm);
    dm_function_properties properties = {0};
    dm_swarm_kernel_properties(swarm, &properties, NULL);
    *r = (result){.rom = slash == NULL ? path : slash + 1,
                  .stage = stage,
                  .envs = envs,
                  .bytes_per_machine = info.bytes_per_machine,
                  .lanes = info.lanes_per_warp,
                  .block = info.block_threads,
                  .registers = properties.registers,
                  .local_bytes = properties.local_bytes,
                  .build_seconds = now() - start};
    status = measure(b, &desc, swarm, r, err);
    dm_swarm_destroy(swarm);
    if (status != DM_OK)
        return status;
    b->count++;
    printf(
        "%-24.24s %-12s %8llu %12.0f %6.2f %8llu %6.2f %7.0f %5.1f%% %5u %5u %4d %5llu  %016llx\n",
        r->rom, dm_swarm_stage_name(stage), (unsigned long long)envs, r->fps, r->seconds,
        (unsigned long long)r->unique_pcs, r->lanes_same_pc, r->instructions_per_frame,
        100 * r->halted, r->lanes, r->block, r->registers, (unsigned long long)r->local_bytes,
        (unsigned long long)r->checksum);
    fflush(stdout);
    return DM_OK;
}

/* ---- The artifact ---- */

static void write_result(dm_json *json, const result *r)
{
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "rom", r->rom);
    dm_json_string(json, "stage", dm_swarm_stage_name(r->stage));
    dm_json_uint(json, "envs", r->envs);
    dm_json_uint(json, "steps", r->steps);
    dm_json_double(json, "seconds", r->seconds);
    dm_json_double(json, "fps", r->fps);
    dm_json_double(json, "steps_per_second", (double)(r->steps * r->envs) / r->seconds);
    dm_json_double(json, "build_seconds", r->build_seconds);
    dm_json_uint(json, "bytes_per_machine", r->bytes_per_machine);
    dm_json_uint(json, "lanes_per_warp", r->lanes);
    dm_json_uint(json, "block_threads", r->block);
    dm_json_uint(json, "registers", (uint64_t)r->registers);
    dm_json_uint(json, "local_bytes", r->local_bytes);
    dm_json_double(json, "instructions_per_frame", r->instructions_per_frame);
    dm_json_double(json, "halt_share", r->halted);
    dm_json_uint(json, "unique_pcs", r->unique_pcs);
    dm_json_double(json, "lanes_same_pc", r->lanes_same_pc);
    char checksum[20];
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)r->checksum);
    dm_json_string(json, "checksum", checksum);
    dm_json_end_object(json);
}

static dm_status write_json(const bench *b, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    const dm_device_properties *p = dm_device_get_properties(b->device);
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "benchmark", "swarm");
    dm_json_string(&json, "device", p->id);
    dm_json_string(&json, "device_name", p->name);
    dm_json_string(&json, "arch", p->arch);
    dm_json_int(&json, "multiprocessors", p->multiprocessors);
    dm_json_string(&json, "version", dm_version_string());
    dm_json_int(&json, "frames_per_step", b->set.frames);
    dm_json_int(&json, "diverge_frames", b->set.diverge);
    dm_json_int(&json, "diverge_machines", b->set.apart);
    dm_json_int(&json, "seed", b->set.seed);
    dm_json_int(&json, "hooks", b->set.hooks);
    dm_json_begin_array(&json, "results");
    for (size_t i = 0; i < b->count; i++)
        write_result(&json, &b->results[i]);
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_file_write(b->set.json, text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status run(bench *b, dm_error *err)
{
    dm_status status = gather(b, err);
    if (status == DM_OK)
        status = dm_device_open(b->set.device, &b->device, err);
    if (status != DM_OK)
        return status;
    printf("%s\n%-24s %-12s %8s %12s %6s %8s %6s %7s %6s %5s %5s %4s %5s  %s\n",
           dm_device_get_properties(b->device)->name, "rom", "stage", "envs", "FPS", "s", "PCs",
           "same", "instr", "HALT", "lanes", "block", "regs", "local", "checksum");
    for (size_t i = 0; i < b->roms.count && status == DM_OK; i++)
        for (size_t k = 0; k < b->stage_count && status == DM_OK; k++)
            for (size_t j = 0; j < b->env_count && status == DM_OK; j++)
                status = bench_one(b, b->roms.paths[i], b->envs[j], b->stages[k], err);
    /* What was measured before a failure is kept. */
    if (b->set.json != NULL && b->count > 0) {
        dm_status written = write_json(b, status == DM_OK ? err : NULL);
        status = status == DM_OK ? written : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    bench b = {0};
    dm_error err = {0};
    dm_option_set set = {rows, sizeof rows / sizeof rows[0], &b.set};
    dm_strings arguments = {0};
    dm_arena_init(&b.arena, 0);
    b.roms.arena = &b.arena;
    dm_status status = dm_options_parse(&set, 1, argc - 1, argv + 1, &arguments, &err);
    if (status == DM_OK && arguments.count > 0)
        status = dm_fail(&err, DM_EINVAL, "'%s': ROMs are given with --roms", arguments.items[0]);
    if (status == DM_OK && b.set.help) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_options_help(&text, &set, 1);
        printf("usage: dm-bench-swarm [options]\n\n%s", dm_buffer_text(&text));
        dm_buffer_deinit(&text);
    } else if (status == DM_OK) {
        status = run(&b, &err);
    }
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-swarm: %s\n", err.message);
    dm_swarm_destroy(b.few);
    free(b.results);
    dm_device_close(b.device);
    dm_arena_deinit(&b.arena);
    dm_options_deinit(&set, 1, &arguments);
    return dm_cli_exit_code(status);
}
