/* SPDX-License-Identifier: MIT */
/* synth.c - how fast pairs of a dataset are made on one thread, without verification.
 *
 *   dm-bench-synth [--count N] [--style natural|random] [--warp PYTHON]
 *
 * N (20000) kernels are generated, compiled to CUDA C++ with both passes and brought to their
 * canonical form on the way, and written as lines of JSON, in the producer's order; processor time
 * by step, and how many forms are distinct. With --warp the first 200 kernels also go through
 * Warp's code generation for CUDA, by bench/synth_warp.py and the Python that is named. */
#include "base/buffer.h"
#include "base/file.h"
#include "device/cc.h"
#include "synth/check/compile.h"
#include "synth/gen/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARP_KERNELS 200
#define BATCH 120       /* as produce.c has it: ten kernels of each category */
#define WRITE_SAMPLE 13 /* the line of every so manieth kernel is timed by itself */

enum { GENERATE, COMPILE, WRITE, STEPS };

typedef struct bench {
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_record records[BATCH];
    dm_synth_record texts; /* whose buffers the records take in turn */
    dm_buffer line;
    dm_hash128 *forms;
    double seconds[STEPS];
    int timed_lines;
    double python_bytes, lines, text_bytes;
} bench;

/* Of this thread: the machine may have other work. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Compile one and write its line. Reading this clock is a system call, so few lines are timed by
 * themselves; the others count as part of the compilation until report() takes them out. */
static dm_status make_line(bench *b, dm_synth_record *record, bool timed, dm_error *err)
{
    dm_synth_record_swap_texts(record, &b->texts);
    dm_status status =
        dm_synth_compile(b->compiler, record, DM_SYNTH_TEXT_CUDA | DM_SYNTH_FORM, err);
    double compiled = timed ? now() : 0;
    dm_buffer_clear(&b->line);
    dm_synth_record_write(record, &b->line);
    if (timed) {
        b->seconds[WRITE] += now() - compiled;
        b->timed_lines++;
    }
    b->text_bytes += (double)(record->cuda_forward.size + record->cuda_backward.size);
    dm_synth_record_swap_texts(record, &b->texts);
    return status;
}

/* Slots from `first` on, BATCH at most: one category after the other, as produce.c does it. */
static dm_status make(bench *b, uint64_t first, uint64_t count, dm_error *err)
{
    dm_status status = DM_OK;
    double start = now();
    for (uint64_t c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++)
        for (uint64_t i = c; i < count && status == DM_OK; i += DM_SYNTH_CATEGORY_COUNT)
            status = dm_synth_generate(b->generator, 1, first + i, 0,
                                       (dm_synth_category)((first + i) % DM_SYNTH_CATEGORY_COUNT),
                                       &b->records[i], err);
    double generated = now();
    for (uint64_t c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++)
        for (uint64_t i = c; i < count && status == DM_OK; i += DM_SYNTH_CATEGORY_COUNT)
            status = make_line(b, &b->records[i], i % WRITE_SAMPLE == 0, err);
    b->seconds[GENERATE] += generated - start;
    b->seconds[COMPILE] += now() - generated;
    for (uint64_t i = 0; i < count; i++) {
        b->forms[first + i] = b->records[i].canonical;
        b->python_bytes += (double)b->records[i].python_source.size;
        b->lines += dm_synth_lines(&b->records[i].python_source);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(dm_hash128));
}

static void report(bench *b, int count)
{
    static const char *const names[] = {"generate", "compile, both passes, and form",
                                        "line of JSON"};
    double total = 0;
    int distinct = 1;
    b->seconds[WRITE] *= (double)count / b->timed_lines;
    b->seconds[COMPILE] -= b->seconds[WRITE];
    for (int i = 0; i < STEPS; i++) {
        printf("  %-30s %8.2f us\n", names[i], b->seconds[i] * 1e6 / count);
        total += b->seconds[i];
    }
    qsort(b->forms, (size_t)count, sizeof *b->forms, compare);
    for (int i = 1; i < count; i++)
        distinct += compare(&b->forms[i], &b->forms[i - 1]) != 0;
    printf("  %-30s %8.2f us, %.0f pairs a second\n", "together", total * 1e6 / count,
           count / total);
    printf("  %.1f lines and %.0f bytes of Python, %.1f kB of CUDA each; %.3f %% distinct forms\n",
           b->lines / count, b->python_bytes / count, b->text_bytes / count * 1e-3,
           100.0 * distinct / count);
}

/* Each kernel as a file of its own, as Warp wants it. */
static dm_status run_warp(bench *b, const char *python, dm_error *err)
{
    char folder[DM_PATH_MAX], path[DM_PATH_MAX + 32], command[3 * DM_PATH_MAX];
    dm_status status = dm_cc_folder(folder, err);
    if (status != DM_OK)
        return status;
    for (int i = 0; i < WARP_KERNELS && status == DM_OK; i++) {
        status = dm_synth_generate(b->generator, 1, (uint64_t)i, 0,
                                   (dm_synth_category)(i % DM_SYNTH_CATEGORY_COUNT), &b->records[0],
                                   err);
        snprintf(path, sizeof path, "%s/bench_%03d.py", folder, i);
        if (status == DM_OK)
            status = dm_file_write(path, dm_buffer_text(&b->records[0].python_source),
                                   b->records[0].python_source.size, err);
    }
    snprintf(command, sizeof command, "%s %s/bench/synth_warp.py %s", python, DM_BENCH_SOURCE_ROOT,
             folder);
    fflush(stdout);
    if (status == DM_OK && system(command) != 0)
        status = dm_fail(err, DM_EUNAVAILABLE, "%s did not run; it needs warp-lang", python);
    dm_dir_remove(folder, NULL);
    return status;
}

static dm_status run(bench *b, int count, dm_synth_style style, const char *python, dm_error *err)
{
    for (int i = 0; i < BATCH; i++)
        dm_synth_record_init(&b->records[i]);
    dm_synth_record_init(&b->texts);
    b->forms = calloc((size_t)count, sizeof *b->forms);
    if (b->forms == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_synth_profile_create(NULL, &b->profile, err);
    if (status == DM_OK)
        b->profile->style = style;
    if (status == DM_OK)
        status = dm_synth_generator_create(b->profile, &b->generator, err);
    if (status == DM_OK)
        status = dm_synth_compiler_create(&b->compiler, err);
    for (int i = 0; i < count && status == DM_OK; i += BATCH)
        status = make(b, (uint64_t)i, (uint64_t)(count - i < BATCH ? count - i : BATCH), err);
    if (status == DM_OK) {
        printf("%d kernels, one thread:\n", count);
        report(b, count);
    }
    if (status == DM_OK && python != NULL)
        status = run_warp(b, python, err);
    return status;
}

int main(int argc, char **argv)
{
    int count = 20000;
    dm_synth_style style = DM_SYNTH_STYLE_RANDOM;
    const char *python = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--style") == 0)
            style = strcmp(argv[i + 1], "natural") == 0 ? DM_SYNTH_STYLE_NATURAL
                                                        : DM_SYNTH_STYLE_RANDOM;
        else if (strcmp(argv[i], "--warp") == 0)
            python = argv[i + 1];
    }
    bench b = {0};
    dm_error err = {0};
    dm_status status = run(&b, count > 0 ? count : 1, style, python, &err);
    if (status != DM_OK)
        fprintf(stderr, "%s\n", err.message);
    for (int i = 0; i < BATCH; i++)
        dm_synth_record_deinit(&b.records[i]);
    dm_synth_record_deinit(&b.texts);
    dm_synth_generator_destroy(b.generator);
    dm_synth_compiler_destroy(b.compiler);
    dm_synth_profile_destroy(b.profile);
    dm_buffer_deinit(&b.line);
    free(b.forms);
    return status == DM_OK ? 0 : 1;
}
