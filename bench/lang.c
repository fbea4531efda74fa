/* SPDX-License-Identifier: MIT */
/* lang.c - how long the kernel compiler takes, from source to text.
 *
 *   dm-bench-lang [--kernels N] [--write FILE]
 *
 * First N (1000) kernels of ten lines, each compiled by itself: forward and backward, C and CUDA;
 * then CUDA alone, in one piece and as a text for each pass, as the dataset's producer has it. Then
 * kernels of 10 to 10,000 lines: the time of a line must not grow. --write puts the N kernels
 * into one file, for bench/lang_warp.py, which times Warp's code generation on them. */
#include "base/file.h"
#include "lang/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 3 /* the best of */

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* ---- Texts ---- */

/* Ten lines: loads, a loop that carries a value, a branch, vectors; no two are alike. */
static void put_kernel(dm_buffer *out, int k)
{
    static const char *const functions[] = {"wp.sin", "wp.cos", "wp.exp", "wp.tanh", "wp.sqrt"};
    static const char *const vectors[] = {"wp.cross(p, v[i])", "p * a", "wp.normalize(p)",
                                          "wp.cw_mul(p, p)"};
    dm_buffer_printf(out, "\n\n@wp.kernel\ndef k%d(x: wp.array(dtype=float), n: int, ", k);
    dm_buffer_puts(out, "v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):\n");
    dm_buffer_puts(out, "    i = wp.tid()\n");
    dm_buffer_printf(out, "    a = x[i] * %d.5 + %s(x[i])\n", k, functions[k % 5]);
    dm_buffer_printf(out, "    p = v[i] + wp.vec3(a, %d.0, 2.0)\n", k % 17);
    dm_buffer_puts(out, "    s = float(0.0)\n");
    dm_buffer_puts(out, "    for j in range(n):\n");
    dm_buffer_printf(out, "        s += %s(x[j]) * a\n", functions[k / 5 % 5]);
    dm_buffer_printf(out, "    if s > %d.0:\n", k % 7);
    dm_buffer_puts(out, "        s = wp.length(p) / s\n");
    dm_buffer_printf(out, "    q = %s\n", vectors[k % 4]);
    dm_buffer_puts(out, "    out[i] = s * wp.dot(p, q) + a\n");
}

static void put_long_kernel(dm_buffer *out, int lines)
{
    dm_buffer_puts(out, "import warp as wp\n\n\n@wp.kernel\ndef long(x: wp.array(dtype=float), "
                        "n: int, out: wp.array(dtype=float)):\n    i = wp.tid()\n"
                        "    a0 = x[i]\n    s = float(0.0)\n");
    for (int l = 3, k = 1; l < lines - 1; k++) {
        dm_buffer_printf(out, "    a%d = a%d * x[i + %d] + wp.sin(a%d)\n", k, k - 1, k, k / 2);
        l++;
        if (k % 5 == 0) {
            dm_buffer_printf(out, "    if a%d > 0.5:\n        s = s + a%d\n", k, k - 1);
            l += 2;
        }
        if (k % 50 == 0) {
            dm_buffer_printf(out, "    for j%d in range(n):\n        s += a%d * x[j%d]\n", k, k, k);
            l += 2;
        }
        if (l >= lines - 1)
            dm_buffer_printf(out, "    out[i] = s + a%d\n", k);
    }
}

/* ---- Times ---- */

typedef struct result {
    double ms;
    size_t bytes;
} result;

/* Which texts are written. */
typedef enum texts { BOTH_TARGETS, CUDA_ALONE, CUDA_BY_PASS } texts;

/* Kept from one compilation to the next. */
typedef struct kept {
    dm_workspace workspace;
    dm_buffer out[2];
} kept;

static bool print_texts(dm_compilation *c, int k, texts which, dm_buffer *out, dm_error *err)
{
    if (which == CUDA_BY_PASS)
        return dm_compilation_print_pass(c, k, DM_TARGET_CUDA, DM_PASS_FORWARD, &out[0], err) ==
                   DM_OK &&
               dm_compilation_print_pass(c, k, DM_TARGET_CUDA, DM_PASS_BACKWARD, &out[1], err) ==
                   DM_OK;
    return (which == CUDA_ALONE ||
            dm_compilation_print(c, k, DM_TARGET_C, &out[0], err) == DM_OK) &&
           dm_compilation_print(c, k, DM_TARGET_CUDA, &out[1], err) == DM_OK;
}

static bool compile_text(const char *text, size_t size, texts which, kept *memory, result *r)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {.workspace = &memory->workspace};
    double start = now_ms();
    dm_buffer_clear(&memory->out[0]);
    dm_buffer_clear(&memory->out[1]);
    bool good = dm_compilation_init(&c, "bench.py", text, size, &options, &err) == DM_OK;
    for (int k = 0; good && k < c.kernel_count; k++)
        good = dm_compilation_kernel(&c, k, &err) == DM_OK && c.kernels[k].backward != NULL &&
               print_texts(&c, k, which, memory->out, &err);
    dm_compilation_deinit(&c);
    r->ms = now_ms() - start;
    r->bytes = memory->out[0].size + memory->out[1].size;
    if (!good)
        fprintf(stderr, "lang: %s\n", err.message);
    return good;
}

static bool best_of(const dm_buffer *text, texts which, kept *memory, result *best)
{
    best->ms = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        result r = {0};
        if (!compile_text(text->data, text->size, which, memory, &r))
            return false;
        if (r.ms < best->ms)
            *best = r;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool small_kernels(int count, texts which, kept *memory)
{
    static const char *const names[] = {"C and CUDA", "CUDA", "CUDA by pass"};
    double *times = calloc((size_t)count, sizeof *times), sum = 0;
    size_t bytes = 0;
    bool good = times != NULL;
    for (int k = 0; good && k < count; k++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        result r = {0};
        dm_buffer_puts(&text, "import warp as wp\n");
        put_kernel(&text, k);
        good = best_of(&text, which, memory, &r);
        times[k] = r.ms;
        sum += r.ms;
        bytes += r.bytes;
        dm_buffer_deinit(&text);
    }
    if (good) {
        qsort(times, (size_t)count, sizeof *times, compare);
        printf("%d kernels of ten lines, both passes, %s: mean %.4f ms, median %.4f, "
               "99%% %.4f, most %.4f; %.1f kB of text each\n",
               count, names[which], sum / count, times[count / 2], times[count * 99 / 100],
               times[count - 1], (double)bytes / count * 1e-3);
    }
    free(times);
    return good;
}

static bool long_kernels(kept *memory)
{
    for (int lines = 10; lines <= 10000; lines *= 10) {
        dm_buffer text = DM_BUFFER_EMPTY;
        result r = {0};
        put_long_kernel(&text, lines);
        bool good = best_of(&text, BOTH_TARGETS, memory, &r);
        dm_buffer_deinit(&text);
        if (!good)
            return false;
        printf("%6d lines  %9.3f ms  %7.2f us per line\n", lines, r.ms, r.ms * 1e3 / lines);
    }
    return true;
}

int main(int argc, char **argv)
{
    int count = 1000;
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--kernels") == 0 && i + 1 < argc)
            count = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--write") == 0 && i + 1 < argc)
            file = argv[++i];
        else
            count = 0;
    }
    if (count < 1) {
        fprintf(stderr, "usage: dm-bench-lang [--kernels N] [--write FILE]\n");
        return 2;
    }
    if (file != NULL) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_error err = {0};
        dm_buffer_puts(&text, "import warp as wp\n");
        for (int k = 0; k < count; k++)
            put_kernel(&text, k);
        if (dm_file_write(file, text.data, text.size, &err) != DM_OK) {
            fprintf(stderr, "lang: %s\n", err.message);
            return 1;
        }
        dm_buffer_deinit(&text);
    }
    kept memory = {0};
    dm_workspace_init(&memory.workspace);
    bool good = small_kernels(count, BOTH_TARGETS, &memory) &&
                small_kernels(count, CUDA_ALONE, &memory) &&
                small_kernels(count, CUDA_BY_PASS, &memory) && long_kernels(&memory);
    dm_buffer_deinit(&memory.out[0]);
    dm_buffer_deinit(&memory.out[1]);
    dm_workspace_deinit(&memory.workspace);
    return good ? 0 : 1;
}
