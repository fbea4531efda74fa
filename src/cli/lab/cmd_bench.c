/* SPDX-License-Identifier: MIT */
/* cmd_bench.c - `dotmatrix bench`: frames per second of backends over numbers of machines. */
#include "base/file.h"
#include "base/terminal/color.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/places.h"
#include "lab/bench/bench.h"
#include "lab/bench/rom_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 3600 /* of a window or a warm-up */

typedef struct bench_options {
    const char *backends, *envs, *stages, *obs, *out;
    const char *threads, *state, *codec;
    dm_strings roms, games;
    int64_t frames_per_step, release, sync_every, steps, warmup, rounds, diverge, few,
        reference_machines, seed, workers, lanes, block, blocks, hooks;
    double seconds, warmup_seconds;
    int draw;
    bool json, force_dmg, keep_idle_loops, details;
    dm_strings given;
} bench_options;

static const char *const draw_names[] = {"last", "every", NULL};

static const dm_option rows[] = {
    DM_OPTION_STRING(
        bench_options, backends, "backends", "NAME,...", "vec_cpu,mgba_vec_mt,pyboy_vec_mp",
        "who takes part, in turns (single, vec_cpu, vec_cuda, mgba_single, mgba_vec_mt, "
        "pyboy_single, pyboy_vec_mp, gambatte, libretro:PATH)"),
    DM_OPTION_STRINGS(bench_options, roms, "rom", "FILE",
                      "the game; repeatable (default: STARFALL of the build)"),
    DM_OPTION_STRINGS(bench_options, games, "games", "FOLDER",
                      "all .gb files in it and below, by name; repeatable"),
    DM_OPTION_STRING(bench_options, envs, "env-counts", "N,...", "1,8,64,512,2048,8192",
                     "numbers of machines of ours"),
    DM_OPTION_STRING(bench_options, threads, "ref-threads", "N,...", NULL,
                     "threads of references (default: 1, 2, 4, ... and one per CPU)"),
    DM_OPTION_STRING(bench_options, stages, "stages", "NAME,...", "emulate_only",
                     "emulate_only, reward_only, obs_only, full_step"),
    DM_OPTION_STRING(bench_options, obs, "obs", "NAME,...", "packed",
                     "observations of stages that have some: vector, shades, small, packed"),
    DM_OPTION_CHOICE(bench_options, draw, "draw", draw_names, "last",
                     "pictures of a step that stages with pictures draw"),
    DM_OPTION_INT(bench_options, frames_per_step, "frames-per-step", "N", 1, 1024, "24",
                  "frames of a step"),
    DM_OPTION_INT(bench_options, release, "release-after-frames", "N", 0, 1024, "0",
                  "the keys are up after so many frames (0: 8, or all)"),
    DM_OPTION_INT(bench_options, sync_every, "sync-every", "K", -1, 1000000, "-1",
                  "wait after every K steps; 0: only at the end of a window (-1: 64 on CUDA, else "
                  "0)"),
    DM_OPTION_DOUBLE(bench_options, seconds, "seconds", "S", "1",
                     "length of a window, at least, about"),
    DM_OPTION_INT(bench_options, steps, "steps", "N", 0, 1000000, "0",
                  "steps of a window instead of its length"),
    DM_OPTION_INT(bench_options, warmup, "warmup-steps", "N", 0, 1000000, "2",
                  "steps before the first window, not measured; machines are hashed after them"),
    DM_OPTION_DOUBLE(bench_options, warmup_seconds, "warmup-seconds", "S", "0.5",
                     "go on with them for so long"),
    DM_OPTION_INT(bench_options, rounds, "repeat", "N", 1, DM_LAB_BENCH_ROUNDS, "3",
                  "windows of each backend, in turns"),
    DM_OPTION_INT(bench_options, diverge, "diverge-frames", "N", 0, 1000000, "1800",
                  "random input that drives machines apart first"),
    DM_OPTION_INT(bench_options, few, "diverge-machines", "N", 1, 65536, "1536",
                  "machines driven apart; the others of a swarm begin as copies"),
    DM_OPTION_INT(bench_options, reference_machines, "ref-machines", "N", 1, 65536, "64",
                  "machines of a reference, driven apart likewise"),
    DM_OPTION_INT(bench_options, seed, "seed", "N", 0, INT64_MAX, "1", "of the random actions"),
    DM_OPTION_STRING(bench_options, codec, "codec", "NAME", "buttons_v1",
                     "what an action stands for: buttons_v1, pokemon_v1 or raw"),
    DM_OPTION_STRING(bench_options, state, "state", "FILE", NULL,
                     "begin at this save state (of one --rom; backends of ours)"),
    DM_OPTION_INT(bench_options, workers, "workers", "N", 0, 256, "0",
                  "threads or processes (0: one per CPU)"),
    DM_OPTION_FLAG(bench_options, force_dmg, "force-dmg",
                   "run a ROM for the Game Boy Color only as on a DMG"),
    DM_OPTION_FLAG(bench_options, keep_idle_loops, "keep-idle-loops",
                   "ours executes idle loops pass by pass instead of skipping ahead"),
    DM_OPTION_INT(bench_options, hooks, "hooks", "N", 0, DM_GB_HOOK_COUNT_MAX, "0",
                  "swarms watch N functions that the program calls"),
    DM_OPTION_INT(bench_options, lanes, "lanes", "N", 0, 32, "0",
                  "on CUDA: machines per warp (0: by their number)"),
    DM_OPTION_INT(bench_options, block, "block", "N", 0, 1024, "0",
                  "on CUDA: threads per block (0: by the number of machines)"),
    DM_OPTION_INT(bench_options, blocks, "blocks", "N", 0, 32, "0",
                  "on CUDA: blocks per multiprocessor promised to the compiler (0: none)"),
    DM_OPTION_FLAG(bench_options, details, "details",
                   "show memory per machine too, and on CUDA what the kernel is"),
    DM_OPTION_STRING(bench_options, out, "out", "FILE", NULL, "write the artifact there"),
    DM_OPTION_FLAG(bench_options, json, "json", "write the artifact to standard output instead"),
    DM_OPTION_GIVEN(bench_options, given),
};

/* Calls `add` for each word of "a,b,c". */
static dm_status each_word(dm_lab_bench *b, const char *list,
                           dm_status (*add)(dm_lab_bench *b, const char *word, dm_error *err),
                           dm_error *err)
{
    char words[1024], *save;
    snprintf(words, sizeof words, "%s", list);
    dm_status status = DM_OK;
    for (char *w = strtok_r(words, ", ", &save); w != NULL && status == DM_OK;
         w = strtok_r(NULL, ", ", &save))
        status = add(b, w, err);
    return status;
}

static dm_status add_kind(dm_lab_bench *b, const char *word, dm_error *err)
{
    if (b->kind_count == DM_LAB_BENCH_MAX)
        return dm_fail(err, DM_EINVAL, "--backends: too many");
    return dm_lab_kind_find(word, &b->kinds[b->kind_count++], err);
}

static dm_status add_envs(dm_lab_bench *b, const char *word, dm_error *err)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    if (*end != 0 || value == 0 || value > INT32_MAX || b->env_count == DM_LAB_BENCH_MAX)
        return dm_fail(err, DM_EINVAL, "--env-counts: '%.32s' is no number of machines", word);
    b->envs[b->env_count++] = value;
    return DM_OK;
}

static dm_status add_threads(dm_lab_bench *b, const char *word, dm_error *err)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    if (*end != 0 || value == 0 || value > 256 || b->thread_count == DM_LAB_BENCH_MAX)
        return dm_fail(err, DM_EINVAL, "--ref-threads: '%.32s' is no number of threads", word);
    b->threads[b->thread_count++] = (int)value;
    return DM_OK;
}

static dm_status add_stage(dm_lab_bench *b, const char *word, dm_error *err)
{
    if (b->stage_count == DM_SWARM_STAGES)
        return dm_fail(err, DM_EINVAL, "--stages: there are only %d", DM_SWARM_STAGES);
    return dm_swarm_stage_parse(word, &b->stages[b->stage_count++], err);
}

static dm_status add_obs(dm_lab_bench *b, const char *word, dm_error *err)
{
    uint32_t bit = 0;
    dm_status status = dm_swarm_observation_parse(word, &bit, err);
    if (status != DM_OK)
        dm_error_prefix(err, "--obs: ");
    b->observations |= bit;
    return status;
}

/* Of the build folder, or of the installation. */
static dm_status find_built_rom(char out[DM_PATH_MAX], dm_error *err)
{
    static const char *const names[] = {"roms/STARFALL.gb", "share/dotmatrix/roms/STARFALL.gb",
                                        NULL};
    return dm_place_find(out, names) ? DM_OK
                                     : dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Files as they are given, then those of folders by name. */
static dm_status gather_roms(const bench_options *o, dm_lab_bench *b, dm_arena *paths,
                             dm_error *err)
{
    static dm_rom_list list;
    list = (dm_rom_list){.arena = paths};
    dm_status status = DM_OK;
    for (size_t i = 0; i < o->roms.count && status == DM_OK; i++)
        status = dm_dir_exists(o->roms.items[i])
                     ? dm_fail(err, DM_EINVAL, "--rom %.800s: is a folder, which --games takes",
                               o->roms.items[i])
                     : dm_rom_list_add(&list, o->roms.items[i], err);
    size_t given = list.count;
    for (size_t i = 0; i < o->games.count && status == DM_OK; i++) {
        size_t before = list.count;
        status = dm_dir_exists(o->games.items[i])
                     ? dm_rom_list_add(&list, o->games.items[i], err)
                     : dm_fail(err, DM_ENOENT, "--games %.800s: there is no such folder",
                               o->games.items[i]);
        if (status == DM_OK && list.count == before)
            status = dm_fail(err, DM_ENOENT, "--games %s: there is no .gb file in it",
                             o->games.items[i]);
    }
    qsort(list.paths + given, list.count - given, sizeof list.paths[0], by_name);
    if (status == DM_OK && list.count > DM_LAB_BENCH_ROMS)
        status = dm_fail(err, DM_EINVAL, "--rom, --games: at most %d", DM_LAB_BENCH_ROMS);
    for (size_t i = 0; i < list.count && status == DM_OK; i++)
        b->roms[b->rom_count++] = list.paths[i];
    return status;
}

static dm_status read_options(const bench_options *o, dm_lab_bench *b, char built[DM_PATH_MAX],
                              dm_arena *paths, dm_error *err)
{
    *b = (dm_lab_bench){.frames_per_step = (uint32_t)o->frames_per_step,
                        .release_after_frames = (uint32_t)o->release,
                        .sync_every = o->sync_every,
                        .seconds = o->seconds,
                        .steps = (uint64_t)o->steps,
                        .warmup = (uint64_t)o->warmup,
                        .rounds = (uint32_t)o->rounds,
                        .warmup_seconds = o->warmup_seconds,
                        .diverge_frames = (uint64_t)o->diverge,
                        .reference_machines = (uint64_t)o->reference_machines,
                        .few = (uint64_t)o->few,
                        .seed = (uint64_t)o->seed,
                        .workers = (int)o->workers,
                        .draw_every = o->draw == 1,
                        .state = o->state,
                        .hooks = (size_t)o->hooks,
                        .lanes_per_warp = (uint32_t)o->lanes,
                        .block_threads = (uint32_t)o->block,
                        .blocks_per_multiprocessor = (uint32_t)o->blocks,
                        .keep_idle_loops = o->keep_idle_loops,
                        .force_dmg = o->force_dmg};
    if (b->release_after_frames == 0)
        b->release_after_frames = b->frames_per_step < 8 ? b->frames_per_step : 8;
    if (b->release_after_frames > b->frames_per_step)
        return dm_fail(err, DM_EINVAL, "--release-after-frames: a step has only %" PRIu32,
                       b->frames_per_step);
    if (!(o->seconds > 0 && o->seconds <= SECONDS_MAX))
        return dm_fail(err, DM_EINVAL, "--seconds: more than 0, and at most %d", SECONDS_MAX);
    if (!(o->warmup_seconds >= 0 && o->warmup_seconds <= SECONDS_MAX))
        return dm_fail(err, DM_EINVAL, "--warmup-seconds: from 0 to %d", SECONDS_MAX);
    dm_status status = gather_roms(o, b, paths, err);
    if (status == DM_OK && b->rom_count == 0) {
        status = find_built_rom(built, err);
        b->roms[b->rom_count++] = built;
    }
    if (status == DM_OK)
        status = each_word(b, o->backends, add_kind, err);
    if (status == DM_OK)
        status = each_word(b, o->envs, add_envs, err);
    if (status == DM_OK)
        status = each_word(b, o->threads != NULL ? o->threads : "", add_threads, err);
    if (status == DM_OK)
        status = each_word(b, o->stages, add_stage, err);
    if (status == DM_OK)
        status = each_word(b, o->obs, add_obs, err);
    if (status == DM_OK)
        status = dm_swarm_codec_parse(o->codec, &b->codec, err);
    if (status == DM_OK && o->state != NULL && b->rom_count != 1)
        status = dm_fail(err, DM_EINVAL, "--state: is of one game, here are %zu", b->rom_count);
    if (status == DM_OK && (b->kind_count == 0 || b->env_count == 0 || b->stage_count == 0))
        status = dm_fail(err, DM_EINVAL, "--backends, --env-counts or --stages is empty");
    return status;
}

/* A sweep takes long: check first that its result can be written. */
static dm_status check_use(const bench_options *o, dm_error *err)
{
    dm_output files[2 + DM_LAB_BENCH_MAX] = {{"out", o->out, false}, {"state", o->state, true}};
    size_t count = 2;
    for (size_t i = 0; i < o->roms.count && count < 2 + DM_LAB_BENCH_MAX; i++)
        files[count++] = (dm_output){"rom", o->roms.items[i], true};
    if (o->json && o->out != NULL)
        return dm_fail(err, DM_EINVAL,
                       "--json writes the artifact to standard output, --out to a file: one of "
                       "them");
    if (o->steps > 0 && dm_options_is_given(&o->given, "seconds"))
        return dm_fail(err, DM_EINVAL, "--steps and --seconds: one of them");
    dm_status status = dm_options_check_list("backends", o->backends, err);
    if (status == DM_OK)
        status = dm_options_check_list("env-counts", o->envs, err);
    if (status == DM_OK && o->threads != NULL)
        status = dm_options_check_list("ref-threads", o->threads, err);
    if (status == DM_OK)
        status = dm_options_check_list("stages", o->stages, err);
    if (status == DM_OK)
        status = dm_options_check_list("obs", o->obs, err);
    return status == DM_OK ? dm_outputs_check(files, count, err) : status;
}

typedef struct table {
    FILE *to;
    bool begun, details;
} table;

static void print_details(FILE *to, const dm_lab_launch *l)
{
    if (l->bytes_per_machine > 0)
        fprintf(to, "    %" PRIu64 " bytes a machine", l->bytes_per_machine);
    if (l->block_threads > 0)
        fprintf(to,
                ", %" PRIu32 " lanes a warp, %" PRIu32 " threads a block, %d registers, %" PRIu64
                " bytes of local memory a thread",
                l->lanes_per_warp, l->block_threads, l->registers, l->local_bytes);
    if (l->bytes_per_machine > 0)
        fputc('\n', to);
}

static void print_row(const dm_lab_bench_row *r, void *user)
{
    table *t = user;
    FILE *to = t->to;
    if (!t->begun)
        fprintf(to, "%s%-20s %-12s %-13s %8s %7s %12s %7s %7s %7s %6s %7s %5s%s\n",
                dm_color(fileno(to), DM_COLOR_BOLD), "rom", "stage", "backend", "machines",
                "threads", "FPS", "spread", "states", "PCs", "same", "instr", "HALT",
                dm_color(fileno(to), DM_COLOR_OFF));
    t->begun = true;
    char threads[16] = "-", seen[64] = "", counted[32] = "";
    if (r->workers > 0)
        snprintf(threads, sizeof threads, "%d", r->workers);
    if (r->seen > 0)
        snprintf(seen, sizeof seen, "%7" PRIu64 " %7" PRIu64 " %6.2f", r->different, r->unique_pcs,
                 r->lanes_same_pc);
    if (r->instructions_per_frame > 0)
        snprintf(counted, sizeof counted, "%7.0f %4.0f%%", r->instructions_per_frame,
                 100 * r->halt_share);
    fprintf(to, "%-20.20s %-12s %-13s %8" PRIu64 " %7s ", r->rom, dm_swarm_stage_name(r->stage),
            r->kind->name, r->machines, threads);
    if (r->skipped[0] != 0)
        fprintf(to, "not measured: %s\n", r->skipped);
    else
        fprintf(to, "%12.0f %6.1f%% %23s %13s%s\n", r->fps,
                100 * (r->fps_high - r->fps_low) / r->fps, seen, counted,
                r->draws && r->blank == r->hashed ? "  empty screen" : "");
    if (t->details && r->skipped[0] == 0)
        print_details(to, &r->launch);
    fflush(to);
}

static dm_status write_artifact(const bench_options *o, const dm_lab_bench *b,
                                const dm_lab_bench_results *results, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = dm_lab_bench_json(b, results, &text, err);
    if (status == DM_OK && o->out != NULL)
        status = dm_file_write(o->out, text.data, text.size, err);
    if (status == DM_OK && o->json)
        fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status measure(const bench_options *o, const dm_lab_bench *b, dm_error *err)
{
    dm_lab_bench_results results = {0};
    table out = {.to = o->json ? stderr : stdout, .details = o->details};
    dm_stop_hold(); /* after Ctrl-C a window may outlast the timeout; figures are written below */
    dm_status status = dm_lab_bench_run(b, &results, print_row, &out, err);
    /* What was measured before a failure or Ctrl-C is kept. */
    if (results.count > 0) {
        dm_status written = write_artifact(o, b, &results, status == DM_OK ? err : NULL);
        status = status == DM_OK ? written : status;
    }
    if (dm_stop_requested() && results.count > 0) {
        dm_stop_kept("the %zu figures until then are %s", results.count,
                     o->out != NULL ? "in the artifact, marked as partial" : "above");
    }
    dm_stop_release();
    dm_lab_bench_results_deinit(&results);
    return status;
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const bench_options *o = values;
    dm_lab_bench b;
    char built[DM_PATH_MAX];
    dm_arena paths;
    (void)arguments;
    (void)negative;
    dm_arena_init(&paths, 0);
    dm_status status = check_use(o, err);
    if (status == DM_OK)
        status = read_options(o, &b, built, &paths, err);
    if (status == DM_OK)
        status = measure(o, &b, err);
    dm_arena_deinit(&paths);
    return status;
}

const dm_command dm_command_bench = {
    .name = "bench",
    .summary = "Measure frames per second of backends over numbers of machines",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(bench_options),
    .run = run,
    .examples = "dotmatrix bench --backends vec_cpu,mgba_vec_mt --env-counts 1,64 --out cpu.json\n",
};
