/* SPDX-License-Identifier: MIT */
/* machine.c - dm-bench-machine: one machine on one thread, next to other emulators.
 *
 *   dm-bench-machine [options] ROM-or-folder ...      (default: the micro-ROMs of the build)
 *
 * For each ROM, for each round: drawing on, then off; in each, every emulator gives one sample
 * (peers.h says what a pass is; a sample is as many passes as fill --sample seconds), so that what
 * slows the host down for a while slows all of them. A figure is the median of the rounds, its best
 * stands beside it in the JSON artifact.
 *
 * For a profile of ours alone:  perf record dm-bench-machine --only ours --draw off ROM */
#include "base/host/machine.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/host/build.h"
#include "base/json.h"
#include "base/philox.h"
#include "bench/peers.h"
#include "lab/bench/rom_list.h"
#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { OURS, MGBA, GAMBATTE, PYBOY, PEERS };
static const dm_bench_peer *const peers[PEERS] = {&dm_bench_ours, &dm_bench_mgba,
                                                  &dm_bench_gambatte, &dm_bench_pyboy};
enum { OFF, ON, MODES };
static const char *const mode_names[MODES] = {"drawing_off", "drawing_on"};

#define PASSES_MAX 200 /* of a sample: a game that has stopped takes no time at all */
#define ROUNDS_MAX 101

typedef struct settings {
    dm_strings only;
    int64_t frames, warmup, rounds, seed;
    double sample;
    int draw;
    bool quick, keep_idle_loops, help;
    const char *json, *python;
} settings;

static const char *const draw_names[] = {"off", "on", "both", NULL};

static const dm_option rows[] = {
    DM_OPTION_STRINGS(settings, only, "only", "NAME",
                      "only this one of ours, libmgba, gambatte, pyboy; repeatable"),
    DM_OPTION_CHOICE(settings, draw, "draw", draw_names, "both", "measure with drawing"),
    DM_OPTION_INT(settings, frames, "frames", "N", 8, 1000000, NULL,
                  "frames of a pass (default 1800, quick 600)"),
    DM_OPTION_INT(settings, warmup, "warmup", "N", 0, 1000000, "304", "frames before those"),
    DM_OPTION_INT(settings, rounds, "rounds", "N", 1, ROUNDS_MAX, NULL,
                  "samples of each figure (default 5, quick 3)"),
    DM_OPTION_DOUBLE(settings, sample, "sample", "SECONDS", NULL,
                     "repeat the pass until a sample has so much processor time (default 0.3, "
                     "quick 0.1)"),
    DM_OPTION_INT(settings, seed, "seed", "N", 0, INT64_MAX, "1", "of the keys pressed"),
    DM_OPTION_FLAG(settings, quick, "quick", "a first impression"),
    DM_OPTION_FLAG(settings, keep_idle_loops, "keep-idle-loops",
                   "ours executes polling loops pass by pass instead of skipping ahead"),
    DM_OPTION_STRING(settings, json, "json", "FILE", NULL, "write all figures there"),
    DM_OPTION_STRING(settings, python, "python", "PROGRAM", NULL,
                     "the Python that has PyBoy (default: the one in .venv)"),
    DM_OPTION_FLAG(settings, help, "help", "show this text"),
};

/* Frames per second of one emulator in one mode; count 0: not measured. */
typedef struct series {
    double fps[ROUNDS_MAX];
    int count;
    double median, best;
} series;

typedef struct result {
    char name[64];
    size_t rom_size;
    series of[MODES][PEERS];
    bool blank[PEERS];                     /* the screen was empty at the end */
    double instructions_per_frame, halted; /* the latter a share of time */
} result;

typedef struct bench {
    settings set;
    bool used[PEERS];
    char versions[PEERS][64];
    uint8_t *keys;
    dm_arena arena; /* of the paths */
    dm_rom_list roms;
    result *results;
    int count;
} bench;

/* ---- What to measure ---- */

static dm_status gather(bench *b, const dm_strings *arguments, dm_error *err)
{
    dm_status status = DM_OK;
    if (arguments->count == 0)
        status = dm_rom_list_add_built(&b->roms, "", err);
    for (size_t i = 0; i < arguments->count && status == DM_OK; i++)
        status = dm_rom_list_add(&b->roms, arguments->items[i], err);
    if (status == DM_OK && b->roms.count == 0)
        status = dm_fail(err, DM_ENOENT, "no ROMs found; name .gb files or folders of them");
    return status;
}

/* One button, or none, for each block of frames. */
static dm_status make_keys(bench *b, dm_error *err)
{
    size_t blocks = (size_t)(b->set.warmup + b->set.frames) / DM_BENCH_KEY_FRAMES;
    b->keys = malloc(blocks + 1);
    if (b->keys == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < blocks; i++) {
        uint32_t choice = dm_random_below(dm_random4((uint64_t)b->set.seed, 0, i).v[0], 9);
        b->keys[i] = choice == 8 ? 0 : (uint8_t)(1u << choice);
    }
    return DM_OK;
}

static bool is_wanted(const dm_strings *only, const char *name)
{
    for (size_t i = 0; i < only->count; i++)
        if (strcmp(only->items[i], name) == 0)
            return true;
    return only->count == 0;
}

static dm_status open_peers(bench *b, dm_error *err)
{
    for (size_t i = 0; i < b->set.only.count; i++) {
        int known = 0;
        for (int p = 0; p < PEERS; p++)
            known |= strcmp(b->set.only.items[i], peers[p]->name) == 0;
        if (!known)
            return dm_fail(err, DM_EINVAL, "--only: no emulator is called '%s'",
                           b->set.only.items[i]);
    }
    dm_bench_python = b->set.python;
    for (int p = 0; p < PEERS; p++) {
        if (!is_wanted(&b->set.only, peers[p]->name))
            continue;
        dm_error why;
        b->used[p] = peers[p]->open(b->versions[p], sizeof b->versions[p], &why) == DM_OK;
        if (!b->used[p])
            printf("%s is left out: %s (%s)\n", peers[p]->name, why.message, peers[p]->install);
    }
    return DM_OK;
}

/* ---- Measuring ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void finish_series(series *s)
{
    if (s->count == 0)
        return;
    double sorted[ROUNDS_MAX];
    memcpy(sorted, s->fps, (size_t)s->count * sizeof sorted[0]);
    qsort(sorted, (size_t)s->count, sizeof sorted[0], compare_doubles);
    s->best = sorted[s->count - 1];
    s->median = (sorted[(s->count - 1) / 2] + sorted[s->count / 2]) / 2;
}

static dm_status take_sample(const bench *b, int peer, const dm_bench_job *job, result *r,
                             dm_error *err)
{
    series *s = &r->of[job->draw ? ON : OFF][peer];
    double seconds = 0;
    int passes = 0;
    do {
        dm_bench_pass pass = {0};
        dm_status status = peers[peer]->pass(job, &pass, err);
        if (status != DM_OK)
            return status;
        seconds += pass.seconds;
        r->blank[peer] = job->draw ? pass.blank : r->blank[peer];
        passes++;
        if (peer == OURS) {
            r->instructions_per_frame = (double)pass.instructions / job->frames;
            r->halted = (double)pass.halted / (double)(pass.cycles > 0 ? pass.cycles : 1);
        }
    } while (seconds < b->set.sample && passes < PASSES_MAX);
    s->fps[s->count++] = (double)job->frames * passes / seconds;
    return DM_OK;
}

/* An emulator that cannot run this ROM is left out of its row; if that is ours, so is the ROM. */
static dm_status measure(const bench *b, const char *path, result *r, dm_error *err)
{
    char *bytes = NULL;
    dm_bench_job job = {.path = path,
                        .keys = b->keys,
                        .warmup = (uint32_t)b->set.warmup,
                        .frames = (uint32_t)b->set.frames};
    dm_status status = dm_file_read(path, 16u << 20, &bytes, &job.rom_size, err);
    if (status != DM_OK)
        return status;
    job.rom = (const uint8_t *)bytes;
    r->rom_size = job.rom_size;
    bool failed[PEERS] = {false};
    for (int round = 0; round < b->set.rounds && !failed[OURS]; round++) {
        for (int mode = ON; mode >= OFF && !failed[OURS]; mode--) {
            if ((mode == ON && b->set.draw == 0) || (mode == OFF && b->set.draw == 1))
                continue;
            job.draw = mode == ON;
            for (int p = 0; p < PEERS && !failed[OURS]; p++) {
                if (!b->used[p] || failed[p] || (mode == OFF && peers[p]->always_draws))
                    continue;
                dm_error why;
                status = take_sample(b, p, &job, r, &why);
                failed[p] = status != DM_OK;
                if (failed[p] && p == OURS && err != NULL)
                    *err = why;
                else if (failed[p])
                    printf("  %s\n", why.message);
            }
        }
    }
    free(bytes);
    for (int mode = 0; mode < MODES; mode++)
        for (int p = 0; p < PEERS; p++)
            finish_series(&r->of[mode][p]);
    if (!failed[OURS] && b->used[OURS] && r->instructions_per_frame < 1)
        return dm_fail(err, DM_EUNSUPPORTED, "it stops by itself: there is nothing to measure");
    return failed[OURS] ? err->status : DM_OK;
}

/* ---- Ratios and targets ---- */

static double figure(const result *r, int mode, int peer, bool best)
{
    const series *s = &r->of[mode][peer];
    return s->count == 0 ? 0 : best ? s->best : s->median;
}

/* Ours over the fastest of a set of peers (bits); 0 when one side was not measured. */
static double ratio(const result *r, int mode, unsigned others, bool best)
{
    double fastest = 0;
    for (int p = 0; p < PEERS; p++)
        if (others >> p & 1u)
            fastest = fmax(fastest, figure(r, mode, p, best));
    return fastest > 0 ? figure(r, mode, OURS, best) / fastest : 0;
}

typedef struct target {
    const char *name;
    int mode;
    unsigned others;
    double least;
} target;

static const target targets[] = {
    {"drawing on, ours / libmgba", ON, 1u << MGBA, 5},
    {"drawing on, ours / gambatte", ON, 1u << GAMBATTE, 3},
    {"drawing off, ours / faster of libmgba, pyboy", OFF, 1u << MGBA | 1u << PYBOY, 6},
};
#define TARGETS (sizeof targets / sizeof targets[0])

typedef struct summary {
    int count, met; /* ROMs measured, ROMs that alone meet the target */
    double mean, best_mean;
    double lowest;
    const char *lowest_name;
} summary;

static summary summarise(const bench *b, const target *t)
{
    summary s = {0};
    double sum = 0, best_sum = 0;
    for (int i = 0; i < b->count; i++) {
        double x = ratio(&b->results[i], t->mode, t->others, false);
        if (x <= 0)
            continue;
        sum += log(x);
        best_sum += log(ratio(&b->results[i], t->mode, t->others, true));
        s.met += x >= t->least;
        if (s.count == 0 || x < s.lowest) {
            s.lowest = x;
            s.lowest_name = b->results[i].name;
        }
        s.count++;
    }
    if (s.count > 0) {
        s.mean = exp(sum / s.count);
        s.best_mean = exp(best_sum / s.count);
    }
    return s;
}

/* ---- Text ---- */

/* The columns of the table, and what they show. */
static const struct {
    int mode, peer;
} columns[] = {{ON, OURS},  {ON, MGBA},  {ON, GAMBATTE}, {ON, PYBOY},
               {OFF, OURS}, {OFF, MGBA}, {OFF, PYBOY}};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void print_number(double value, int width, int digits)
{
    if (value > 0)
        printf(" %*.*f", width, digits, value);
    else
        printf(" %*s", width, "-");
}

static void print_header(const bench *b)
{
    for (int p = 0; p < PEERS; p++)
        if (b->used[p])
            printf("%-8s  %s; sound: %s\n", peers[p]->name, b->versions[p], peers[p]->sound);
    printf("median of %d rounds, %d frames after %d of warm-up, processor time, one thread\n\n",
           (int)b->set.rounds, (int)b->set.frames, (int)b->set.warmup);
    printf("%-24s %-35s %-14s %-26s %-8s\n", "", "frames/s, drawing on", "ours is faster",
           "frames/s, drawing off", "ours is");
    printf("%-24s %8s %8s %8s %8s %6s %7s %8s %8s %8s %8s %8s %8s %5s\n", "ROM", "ours", "libmgba",
           "gambatte", "pyboy", "x mgba", "x gamb", "ours", "libmgba", "pyboy", "x faster",
           "ins/fr", "Mins/s", "HALT");
}

static void print_row(const result *r)
{
    printf("%-24.24s", r->name);
    for (size_t c = 0; c < COLUMNS; c++) {
        print_number(figure(r, columns[c].mode, columns[c].peer, false), 8, 0);
        if (c == 3) {
            print_number(ratio(r, ON, targets[0].others, false), 6, 2);
            print_number(ratio(r, ON, targets[1].others, false), 7, 2);
        }
    }
    print_number(ratio(r, OFF, targets[2].others, false), 8, 2);
    double fps = fmax(figure(r, OFF, OURS, false), figure(r, ON, OURS, false));
    print_number(r->instructions_per_frame, 8, 0);
    print_number(r->instructions_per_frame * fps * 1e-6, 8, 1);
    if (fps > 0)
        printf(" %4.0f%%", r->halted * 100);
    printf("\n");
    fflush(stdout);
}

/* An emulator that hangs early may be fast: name those whose last screen is empty where that of
 * another is not. */
static void print_blanks(const result *r)
{
    int drawn = 0, blank = 0;
    for (int p = 0; p < PEERS; p++) {
        drawn += r->of[ON][p].count > 0;
        blank += r->of[ON][p].count > 0 && r->blank[p];
    }
    if (blank == 0 || blank == drawn)
        return;
    printf("  empty screen at the end:");
    for (int p = 0; p < PEERS; p++)
        if (r->of[ON][p].count > 0 && r->blank[p])
            printf(" %s", peers[p]->name);
    printf("\n");
}

static void print_means(const bench *b)
{
    printf("%-24s", "geometric mean");
    for (size_t c = 0; c < COLUMNS; c++) {
        double sum = 0;
        int count = 0;
        for (int i = 0; i < b->count; i++) {
            double x = figure(&b->results[i], columns[c].mode, columns[c].peer, false);
            if (x > 0) {
                sum += log(x);
                count++;
            }
        }
        print_number(count > 0 ? exp(sum / count) : 0, 8, 0);
        if (c == 3) {
            print_number(summarise(b, &targets[0]).mean, 6, 2);
            print_number(summarise(b, &targets[1]).mean, 7, 2);
        }
    }
    print_number(summarise(b, &targets[2]).mean, 8, 2);
    printf("\n\nInstructions count those of polling passes that ours skips%s.\n",
           b->set.keep_idle_loops ? "; none are skipped now"
                                  : " (--keep-idle-loops executes them)");
}

static void print_targets(const bench *b)
{
    for (size_t i = 0; i < TARGETS; i++) {
        summary s = summarise(b, &targets[i]);
        if (s.count == 0)
            printf("%-46s not measured\n", targets[i].name);
        else
            printf("%-46s target %.0f: %s with %.2f (of best samples %.2f); %d of %d ROMs; lowest "
                   "%.2f (%s)\n",
                   targets[i].name, targets[i].least, s.mean >= targets[i].least ? "met" : "MISSED",
                   s.mean, s.best_mean, s.met, s.count, s.lowest, s.lowest_name);
    }
}

/* ---- JSON ---- */

static void write_setting(const bench *b, dm_json *json)
{
    dm_machine machine;
    dm_machine_query(&machine);
    dm_json_string(json, "kind", "dotmatrix.bench.machine");
    dm_json_int(json, "version", 1);
    dm_json_begin_object(json, "build");
    dm_json_string(json, "version", dm_version_string());
    dm_json_string(json, "commit", dm_build_commit);
    dm_json_string(json, "type", dm_build_type);
    dm_json_string(json, "compiler", dm_build_compiler);
    dm_json_end_object(json);
    dm_json_begin_object(json, "machine");
    dm_json_string(json, "cpu", machine.cpu_model);
    dm_json_int(json, "cores", machine.cores);
    dm_json_string(json, "os", machine.os);
    dm_json_end_object(json);
    dm_json_begin_object(json, "configuration");
    dm_json_int(json, "frames", b->set.frames);
    dm_json_int(json, "warmup", b->set.warmup);
    dm_json_int(json, "rounds", b->set.rounds);
    dm_json_double(json, "sample_seconds", b->set.sample);
    dm_json_int(json, "seed", b->set.seed);
    dm_json_bool(json, "keep_idle_loops", b->set.keep_idle_loops);
    dm_json_int(json, "frames_per_key", DM_BENCH_KEY_FRAMES);
    dm_json_end_object(json);
    dm_json_begin_array(json, "emulators");
    for (int p = 0; p < PEERS; p++) {
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "name", peers[p]->name);
        dm_json_bool(json, "used", b->used[p]);
        dm_json_string(json, "version", b->used[p] ? b->versions[p] : NULL);
        dm_json_string(json, "sound", peers[p]->sound);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

static void write_series(dm_json *json, const char *key, const series *s)
{
    dm_json_begin_object(json, key);
    dm_json_double(json, "fps_median", s->median);
    dm_json_double(json, "fps_best", s->best);
    dm_json_begin_array(json, "fps");
    for (int i = 0; i < s->count; i++)
        dm_json_double(json, NULL, s->fps[i]);
    dm_json_end_array(json);
    dm_json_end_object(json);
}

static void write_result(dm_json *json, const result *r)
{
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "name", r->name);
    dm_json_uint(json, "size", r->rom_size);
    dm_json_double(json, "instructions_per_frame", r->instructions_per_frame);
    dm_json_double(json, "halt_share", r->halted);
    dm_json_begin_array(json, "blank_at_the_end");
    for (int p = 0; p < PEERS; p++)
        if (r->blank[p])
            dm_json_string(json, NULL, peers[p]->name);
    dm_json_end_array(json);
    for (int mode = 0; mode < MODES; mode++) {
        dm_json_begin_object(json, mode_names[mode]);
        for (int p = 0; p < PEERS; p++)
            if (r->of[mode][p].count > 0)
                write_series(json, peers[p]->name, &r->of[mode][p]);
        dm_json_end_object(json);
    }
    dm_json_end_object(json);
}

static void write_targets(const bench *b, dm_json *json)
{
    dm_json_begin_array(json, "targets");
    for (size_t i = 0; i < TARGETS; i++) {
        summary s = summarise(b, &targets[i]);
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "name", targets[i].name);
        dm_json_double(json, "least", targets[i].least);
        dm_json_int(json, "roms", s.count);
        dm_json_int(json, "roms_met", s.met);
        if (s.count > 0) {
            dm_json_double(json, "geometric_mean", s.mean);
            dm_json_double(json, "geometric_mean_of_best", s.best_mean);
            dm_json_double(json, "lowest", s.lowest);
            dm_json_string(json, "lowest_rom", s.lowest_name);
            dm_json_bool(json, "met", s.mean >= targets[i].least);
        }
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

static dm_status write_json(const bench *b, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    write_setting(b, &json);
    dm_json_begin_array(&json, "roms");
    for (int i = 0; i < b->count; i++)
        write_result(&json, &b->results[i]);
    dm_json_end_array(&json);
    write_targets(b, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_file_write(b->set.json, text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- The whole ---- */

static dm_status run(bench *b, const dm_strings *arguments, dm_error *err)
{
    bool quick = b->set.quick;
    if (b->set.rounds == 0)
        b->set.rounds = quick ? 3 : 5;
    if (b->set.frames == 0)
        b->set.frames = quick ? 600 : 1800;
    if (b->set.sample <= 0)
        b->set.sample = quick ? 0.1 : 0.3;
    dm_bench_keep_idle_loops = b->set.keep_idle_loops;
    b->set.frames -= b->set.frames % DM_BENCH_KEY_FRAMES;
    b->set.warmup -= b->set.warmup % DM_BENCH_KEY_FRAMES;
    dm_status status = gather(b, arguments, err);
    if (status == DM_OK)
        status = make_keys(b, err);
    if (status == DM_OK)
        status = open_peers(b, err);
    if (status != DM_OK)
        return status;
    b->results = calloc(b->roms.count, sizeof b->results[0]);
    if (b->results == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    if (strcmp(dm_build_type, "release") != 0)
        printf("this is a %s build: its figures mean little\n", dm_build_type);
    print_header(b);
    for (size_t i = 0; i < b->roms.count; i++) {
        result *r = &b->results[b->count];
        const char *slash = strrchr(b->roms.paths[i], '/');
        snprintf(r->name, sizeof r->name, "%s", slash != NULL ? slash + 1 : b->roms.paths[i]);
        dm_error why = {0};
        if (measure(b, b->roms.paths[i], r, &why) == DM_OK) {
            print_row(r);
            print_blanks(r);
            b->count++;
        } else {
            printf("%-24.24s left out: %s\n", r->name, why.message);
            *r = (result){0};
        }
    }
    print_means(b);
    print_targets(b);
    return b->set.json != NULL ? write_json(b, err) : DM_OK;
}

static void deinit(bench *b)
{
    for (int p = 0; p < PEERS; p++)
        if (b->used[p])
            peers[p]->close();
    dm_arena_deinit(&b->arena);
    free(b->keys);
    free(b->results);
}

int main(int argc, char **argv)
{
    bench b = {0};
    dm_arena_init(&b.arena, 0);
    b.roms.arena = &b.arena;
    dm_strings arguments;
    dm_error err = {0};
    dm_option_set set = {rows, sizeof rows / sizeof rows[0], &b.set};
    dm_status status = dm_options_parse(&set, 1, argc - 1, argv + 1, &arguments, &err);
    if (status == DM_OK && b.set.help) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_puts(&text,
                       "usage: dm-bench-machine [OPTIONS] [ROM or folder ...]\n\noptions:\n");
        dm_options_help(&text, &set, 1);
        fputs(dm_buffer_text(&text), stdout);
        dm_buffer_deinit(&text);
    } else if (status == DM_OK) {
        status = run(&b, &arguments, &err);
    }
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-machine: %s\n", err.message);
    deinit(&b);
    dm_options_deinit(&set, 1, &arguments);
    return dm_cli_exit_code(status);
}
