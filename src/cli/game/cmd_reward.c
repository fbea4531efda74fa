/* SPDX-License-Identifier: MIT */
/* cmd_reward.c - `dotmatrix reward check`: does a reward program do what its author means? It is compiled for both
 * kinds of device and run on random play and on a key script. The memory it read and the rewards it gave are shown, and
 * CPU and CUDA are compared where there is a GPU. */
#include "base/thread.h"
#include "cli/command.h"
#include "cli/game/play.h"
#include "cli/game/reward.h"
#include "cli/outputs.h"
#include "cli/report.h"
#include "device/nvrtc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reward_options {
    const char *rom, *symbols, *input, *load;
    int64_t envs, steps, frames_per_step, seed;
    bool json, force_dmg;
    dm_strings given;
} reward_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(reward_options, rom, "rom", "FILE", NULL, "the game"),
    DM_OPTION_STRING(reward_options, symbols, "symbols", "FILE", NULL,
                     "a .sym, .noi or .map instead of the one that the program names"),
    DM_OPTION_STRING(reward_options, input, "input", "FILE", NULL,
                     "a key script to run as well: lines of a frame and A,B,START ... or -"),
    DM_OPTION_STRING(reward_options, load, "load", "FILE", NULL, "begin with a saved state"),
    DM_OPTION_INT(reward_options, envs, "envs", "N", 1, 65536, "64", "machines of random play"),
    DM_OPTION_INT(reward_options, steps, "steps", "N", 1, 1000000, "200",
                  "steps of it, and of the script"),
    DM_OPTION_INT(reward_options, frames_per_step, "frames-per-step", "N", 1, 1024, "24",
                  "frames of a step"),
    DM_OPTION_INT(reward_options, seed, "seed", "N", 0, INT64_MAX, "0", "of the random actions"),
    DM_OPTION_FLAG(reward_options, force_dmg, "force-dmg",
                   "run a ROM for the Game Boy Color only as on a DMG"),
    DM_OPTION_FLAG(reward_options, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(reward_options, given),
};

typedef struct check {
    const reward_options *options;
    const char *path;
    dm_program *program;
    dm_program_info info;
    double seconds; /* from the text to the first finished step */
    char cuda[512]; /* what came of compiling it for CUDA */
    bool cuda_compiled;
    dm_swarm_metric_sums metrics[DM_PROGRAM_METRICS_MAX];
    dm_reward_watch random;
    dm_reward_single script;
    uint64_t script_frames;
    enum { NOT_COMPARED, EQUAL, DIFFERENT } compared;
    char difference[160];
} check;

/* ---- For CUDA ---- */

static void compile_for_cuda(check *c)
{
    static const char *const options[] = {"--fmad=false", NULL};
    char path[DM_PATH_MAX], *code = NULL;
    dm_error err = {0};
    size_t size = 0;
    bool cached = false;
    const dm_module_desc desc = {
        .name = "program", .text = dm_program_source(c->program, true), .cuda_options = options};
    if (dm_nvrtc_find(path, &err) != DM_OK) {
        snprintf(c->cuda, sizeof c->cuda, "not compiled: %.400s", err.message);
        return;
    }
    c->cuda_compiled = dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, &err) == DM_OK;
    if (c->cuda_compiled)
        snprintf(c->cuda, sizeof c->cuda, "compiled for sm_90, %zu bytes", size);
    else
        snprintf(c->cuda, sizeof c->cuda, "does not compile: %.400s", err.message);
    free(code);
}

/* ---- Random play ---- */

static dm_swarm_desc describe(const check *c, const dm_swarm_rom_source *rom)
{
    const reward_options *o = c->options;
    return (dm_swarm_desc){.roms = rom,
                           .rom_count = 1,
                           .count = (uint64_t)o->envs,
                           .frames_per_step = (uint32_t)o->frames_per_step,
                           .generator = DM_SWARM_SEEDED_RANDOM,
                           .seed = (uint64_t)o->seed,
                           .observations = c->info.observation_size != 0 ? DM_SWARM_OBS_VECTOR : 0,
                           .force_dmg = o->force_dmg,
                           .program = c->program};
}

static dm_status random_play(check *c, dm_device *cpu, uint64_t start, dm_error *err)
{
    const reward_options *o = c->options;
    const dm_swarm_rom_source rom = {.path = o->rom, .state = o->load};
    const dm_swarm_desc desc = describe(c, &rom);
    dm_swarm *swarm = NULL;
    dm_status status = dm_swarm_create(cpu, &desc, &swarm, err);
    if (status == DM_OK)
        status = dm_reward_watch_init(&c->random, desc.count, err);
    for (int64_t i = 0; i < o->steps && status == DM_OK; i++) {
        status = dm_swarm_step(swarm, NULL, err);
        if (status == DM_OK)
            status = dm_reward_watch_step(&c->random, swarm, err);
        if (i == 0)
            c->seconds = (double)(dm_time_ns() - start) * 1e-9;
    }
    if (status == DM_OK && c->info.metric_count != 0)
        status = dm_swarm_get_metrics(swarm, c->metrics, c->info.metric_count, false, err);
    dm_swarm_destroy(swarm);
    return status;
}

/* ---- CPU beside CUDA ---- */

/* The first machine of which an output differs, in `difference`. */
static dm_status compare_output(check *c, dm_swarm *here, dm_swarm *there,
                                dm_swarm_output_kind kind, const char *name, int64_t step,
                                dm_error *err)
{
    const size_t each = dm_swarm_output_size(here, kind), size = each * (size_t)c->options->envs;
    uint8_t *a = malloc(size + 1), *b = malloc(size + 1);
    dm_status status = a == NULL || b == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    if (status == DM_OK && size > 0)
        status = dm_swarm_download(here, kind, a, size, err);
    if (status == DM_OK && size > 0)
        status = dm_swarm_download(there, kind, b, size, err);
    for (size_t i = 0; i < size && status == DM_OK && c->compared == EQUAL; i++)
        if (a[i] != b[i]) {
            c->compared = DIFFERENT;
            snprintf(c->difference, sizeof c->difference, "%s of machine %zu in step %" PRId64,
                     name, i / each, step);
        }
    free(a);
    free(b);
    return status;
}

static dm_status compare_devices(check *c, dm_device *cpu, dm_device *cuda, dm_error *err)
{
    static const struct {
        dm_swarm_output_kind kind;
        const char *name;
    } outputs[] = {{DM_SWARM_REWARDS, "the reward"},
                   {DM_SWARM_TERMINATED, "the termination"},
                   {DM_SWARM_TRUNCATED, "the truncation"},
                   {DM_SWARM_VECTORS, "an observation"}};
    const dm_swarm_rom_source rom = {.path = c->options->rom, .state = c->options->load};
    const dm_swarm_desc desc = describe(c, &rom);
    dm_swarm *here = NULL, *there = NULL;
    dm_status status = dm_swarm_create(cpu, &desc, &here, err);
    if (status == DM_OK)
        status = dm_swarm_create(cuda, &desc, &there, err);
    c->compared = EQUAL;
    for (int64_t i = 0; i < c->options->steps && status == DM_OK && c->compared == EQUAL; i++) {
        status = dm_swarm_step(here, NULL, err);
        if (status == DM_OK)
            status = dm_swarm_step(there, NULL, err);
        for (size_t k = 0; k < 4 && status == DM_OK; k++)
            status = compare_output(c, here, there, outputs[k].kind, outputs[k].name, i, err);
    }
    dm_swarm_destroy(here);
    dm_swarm_destroy(there);
    return status;
}

static dm_status compare(check *c, dm_device *cpu, dm_error *err)
{
    dm_device *cuda = NULL;
    dm_error why = {0};
    if (dm_device_open("cuda", &cuda, &why) != DM_OK) {
        snprintf(c->difference, sizeof c->difference, "%.150s", why.message);
        return DM_OK;
    }
    dm_status status = compare_devices(c, cpu, cuda, err);
    dm_device_close(cuda);
    return status;
}

/* ---- A key script ---- */

static dm_status play_script(check *c, dm_error *err)
{
    const reward_options *o = c->options;
    const dm_gb_options options = {.force_dmg = o->force_dmg};
    dm_gb_script script = {0};
    dm_play play = {.frames = (uint64_t)(o->steps * o->frames_per_step),
                    .every = 1,
                    .script = &script,
                    .reward = &c->script};
    dm_status status = dm_gb_script_load(&script, o->input, err);
    if (status == DM_OK)
        status = dm_gb_create_file(o->rom, &options, &play.gb, err);
    if (status == DM_OK && o->load != NULL)
        status = dm_gb_load_state(play.gb, o->load, err);
    if (status == DM_OK)
        status = dm_reward_single_init(&c->script, c->program, play.gb,
                                       (uint32_t)o->frames_per_step, err);
    c->script.says = !o->json;
    if (status == DM_OK && !o->json)
        printf("\n%s\n", o->input);
    if (status == DM_OK)
        status = dm_play_run(&play, err);
    c->script_frames = play.done;
    dm_buffer_deinit(&play.sent);
    dm_gb_destroy(play.gb);
    dm_gb_script_deinit(&script);
    return status;
}

/* ---- The answer ---- */

static void print_program(const check *c)
{
    const dm_program_info *info = &c->info;
    printf("program    %s in %s\n", info->function, c->path);
    printf("memory     %u bytes a machine, layout %s\n", info->memory_bytes, info->memory_hash);
    printf("observes   %u floats\n", info->observation_size);
    for (size_t i = 0; i < info->symbol_count; i++)
        printf("symbol     %s is %04X\n", info->symbols[i].name, info->symbols[i].address);
    for (size_t i = 0; i < info->hook_count; i++)
        if (info->hooks[i].any_bank)
            printf("hook       %s at %04X\n", info->hooks[i].name, info->hooks[i].address);
        else
            printf("hook       %s at %02X:%04X\n", info->hooks[i].name, info->hooks[i].bank,
                   info->hooks[i].address);
}

/* What is likely a mistake. */
static const char *doubt(const dm_reward_tally *t)
{
    if (t->paid == 0)
        return "no step was rewarded: longer play (--steps), a state to begin with (--load) or a "
               "script (--input) may "
               "reach one, or an address is another";
    if (t->terminated == t->steps)
        return "every step terminates the episode";
    if (t->paid == t->steps && t->low == t->high)
        return "every step has the same reward";
    return NULL;
}

static void print_random(const check *c)
{
    const reward_options *o = c->options;
    printf("CPU        compiled; from the text to the first step of %" PRId64 " machines %.2f s\n",
           o->envs, c->seconds);
    printf("CUDA       %s\n", c->cuda);
    if (c->compared == EQUAL)
        printf("devices    CPU and CUDA gave the same bits\n");
    else if (c->compared == DIFFERENT)
        printf("devices    CPU and CUDA differ: %s\n", c->difference);
    else
        printf("devices    not compared: %s\n", c->difference);
    printf("\nrandom play: %" PRId64 " machines, %" PRId64 " steps of %" PRId64 " frames\n",
           o->envs, o->steps, o->frames_per_step);
    dm_reward_tally_print(&c->random.tally, c->metrics, c->info.metric_count);
    if (doubt(&c->random.tally) != NULL)
        printf("doubtful   %s\n", doubt(&c->random.tally));
}

static void json_program(const check *c, dm_json *json)
{
    const dm_program_info *info = &c->info;
    char place[16];
    dm_json_string(json, "program", c->path);
    dm_json_string(json, "function", info->function);
    dm_json_uint(json, "memory_bytes", info->memory_bytes);
    dm_json_string(json, "memory_hash", info->memory_hash);
    dm_json_uint(json, "observation_size", info->observation_size);
    dm_json_begin_object(json, "symbols");
    for (size_t i = 0; i < info->symbol_count; i++)
        dm_json_uint(json, info->symbols[i].name, info->symbols[i].address);
    dm_json_end_object(json);
    dm_json_begin_object(json, "hooks");
    for (size_t i = 0; i < info->hook_count; i++) {
        snprintf(place, sizeof place, info->hooks[i].any_bank ? "%04X" : "%04X in %02X",
                 info->hooks[i].address, info->hooks[i].bank);
        dm_json_string(json, info->hooks[i].name, place);
    }
    dm_json_end_object(json);
}

static dm_status print_json(const check *c, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    json_program(c, &json);
    dm_json_double(&json, "first_step_seconds", c->seconds);
    dm_json_bool(&json, "cuda_compiled", c->cuda_compiled);
    dm_json_string(&json, "cuda", c->cuda);
    if (c->compared != NOT_COMPARED)
        dm_json_bool(&json, "devices_equal", c->compared == EQUAL);
    if (c->compared != EQUAL)
        dm_json_string(&json, c->compared == DIFFERENT ? "difference" : "not_compared",
                       c->difference);
    dm_json_begin_object(&json, "random_play");
    dm_json_int(&json, "envs", c->options->envs);
    dm_json_int(&json, "steps", c->options->steps);
    dm_reward_tally_json(&c->random.tally, c->metrics, c->info.metric_count, &json);
    if (doubt(&c->random.tally) != NULL)
        dm_json_string(&json, "doubtful", doubt(&c->random.tally));
    dm_json_end_object(&json);
    if (c->options->input != NULL) {
        dm_json_begin_object(&json, "script");
        dm_json_uint(&json, "frames", c->script_frames);
        dm_reward_tally_json(&c->script.tally, c->script.metrics, c->info.metric_count, &json);
        dm_json_end_object(&json);
    }
    return dm_report_print(&json, &text, err);
}

/* ---- The whole ---- */

static dm_status run_check(check *c, dm_error *err)
{
    const reward_options *o = c->options;
    const uint64_t start = dm_time_ns();
    dm_device *cpu = NULL;
    dm_status status = dm_reward_load(c->path, o->symbols, &c->program, err);
    c->info = dm_program_get_info(c->program);
    if (status == DM_OK && !o->json)
        print_program(c);
    if (status == DM_OK)
        status = dm_device_open("cpu", &cpu, err);
    if (status == DM_OK)
        status = random_play(c, cpu, start, err);
    if (status == DM_OK)
        compile_for_cuda(c);
    if (status == DM_OK)
        status = compare(c, cpu, err);
    if (status == DM_OK && !o->json)
        print_random(c);
    if (status == DM_OK && o->input != NULL)
        status = play_script(c, err);
    if (status == DM_OK && o->input != NULL && !o->json)
        dm_reward_tally_print(&c->script.tally, c->script.metrics, c->info.metric_count);
    if (status == DM_OK && o->json)
        status = print_json(c, err);
    dm_device_close(cpu);
    return status;
}

static const dm_action actions[] = {
    {"check", "FILE", 1, 1, "Compile a reward program for both devices and show what it gives",
     "rom symbols input load envs steps frames-per-step seed force-dmg json",
     "dotmatrix reward check reward.py --rom game.gb"},
};

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const reward_options *o = values;
    check c = {.options = o};
    dm_status status = dm_action_check(&dm_command_reward, arguments, &o->given, err);
    if (status != DM_OK)
        return status;
    c.path = arguments->items[1];
    if (o->rom == NULL)
        return dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
    const dm_output files[] = {{"rom", o->rom, true},
                               {"symbols", o->symbols, true},
                               {"input", o->input, true},
                               {"load", o->load, true}};
    status = dm_outputs_check(files, sizeof files / sizeof files[0], err);
    if (status == DM_OK)
        status = run_check(&c, err);
    *negative = c.compared == DIFFERENT || (status == DM_OK && c.cuda[0] == 'd');
    dm_reward_watch_deinit(&c.random);
    dm_reward_single_deinit(&c.script);
    dm_program_destroy(c.program);
    return status;
}

const dm_command dm_command_reward = {
    .name = "reward",
    .summary = "Check reward programs",
    .arguments = "check FILE",
    .arguments_min = 1,
    .arguments_max = 2,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(reward_options),
    .run = run,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
};
