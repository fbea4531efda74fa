/* SPDX-License-Identifier: MIT */
/* synth.c - how fast pairs of a dataset are made on one thread, without verification.
 *
 *   dm-bench-synth [--count N] [--warp PYTHON]
 *
 * N (20000) kernels are generated, compiled to CUDA C++ with both passes and brought to their
 * canonical form on the way, and written as lines of JSON, sixteen at a time as the producer does
 * it; processor time by step, and how many forms are distinct. With --warp the first 200 kernels
 * also go through Warp's code generation for CUDA, by bench/synth_warp.py and the Python that is
 * named. */
#include "base/buffer.h"
#include "base/file.h"
#include "device/cc.h"
#include "synth/compile.h"
#include "synth/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARP_KERNELS 200
#define BATCH 16

enum { GENERATE, COMPILE, WRITE, STEPS };

typedef struct bench {
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_record records[BATCH];
    dm_buffer line;
    dm_hash128 *forms;
    double seconds[STEPS];
    double python_bytes, lines, text_bytes;
} bench;

/* Of this thread: the machine may have other work. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Slots from `first` on, BATCH at most. */
static dm_status make(bench *b, uint64_t first, uint64_t count, dm_error *err)
{
    dm_status status = DM_OK;
    double start = now();
    for (uint64_t i = 0; i < count && status == DM_OK; i++)
        status = dm_synth_generate(b->generator, 1, first + i, 0,
                                   (dm_synth_category)((first + i) % DM_SYNTH_CATEGORY_COUNT),
                                   &b->records[i], err);
    b->seconds[GENERATE] += now() - start;
    for (uint64_t i = 0; i < count && status == DM_OK; i++) {
        dm_synth_record *record = &b->records[i];
        double begun = now();
        status = dm_synth_compile(b->compiler, record, DM_SYNTH_TEXT_CUDA | DM_SYNTH_FORM, err);
        double compiled = now();
        dm_buffer_clear(&b->line);
        dm_synth_record_write(record, &b->line);
        b->seconds[COMPILE] += compiled - begun;
        b->seconds[WRITE] += now() - compiled;
        b->forms[first + i] = record->canonical;
        b->python_bytes += (double)record->python_source.size;
        b->lines += dm_synth_lines(&record->python_source);
        b->text_bytes += (double)(record->cuda_forward.size + record->cuda_backward.size);
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

static dm_status run(bench *b, int count, const char *python, dm_error *err)
{
    for (int i = 0; i < BATCH; i++)
        dm_synth_record_init(&b->records[i]);
    b->forms = calloc((size_t)count, sizeof *b->forms);
    if (b->forms == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_synth_profile_create(NULL, &b->profile, err);
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
    const char *python = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--warp") == 0)
            python = argv[i + 1];
    }
    bench b = {0};
    dm_error err = {0};
    dm_status status = run(&b, count > 0 ? count : 1, python, &err);
    if (status != DM_OK)
        fprintf(stderr, "%s\n", err.message);
    for (int i = 0; i < BATCH; i++)
        dm_synth_record_deinit(&b.records[i]);
    dm_synth_generator_destroy(b.generator);
    dm_synth_compiler_destroy(b.compiler);
    dm_synth_profile_destroy(b.profile);
    dm_buffer_deinit(&b.line);
    free(b.forms);
    return status == DM_OK ? 0 : 1;
}
