/* SPDX-License-Identifier: MIT */
/* fuzz_kernel.c - texts of all kinds against the kernel compiler.
 *
 *   dm-fuzz-kernel [--seed S] [--seconds T] [--cases N] [--case I] [--dump FILE] [--cc] [FILE.py
 *                  ...]
 *
 * Case i of a seed is always the same (fuzz_texts.h). Every text either compiles, for both targets, or is refused with
 * a message of one line; in bounded time and memory. --cc passes what compiles to the C compiler too, with warnings as
 * errors. Built with -fsanitize=address,undefined it also finds what those find (make fuzz-kernel). */
#include "base/file.h"
#include "lang/compile.h"
#include "tests/fuzz/fuzz_texts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_SECONDS 20 /* of CPU time; longer is a hang */
#define KERNELS_MAX 40

typedef struct totals {
    uint64_t cases, refused, kernels, compiled, bytes, slowest;
    double slowest_seconds;
} totals;

typedef struct settings {
    uint64_t seed, cases, only_case;
    bool has_case, cc;
    double seconds;
    const char *dump;
} settings;

/* ---- What every text has to withstand ---- */

static bool cc_takes(const dm_buffer *text)
{
    FILE *pipe = popen("cc -std=c17 -Wall -Wextra -Werror -fsyntax-only -x c -", "w");
    if (pipe == NULL)
        return true;
    fwrite(text->data, 1, text->size, pipe);
    return pclose(pipe) == 0;
}

static bool run_kernel(dm_compilation *c, int kernel, bool cc, totals *total, dm_buffer *texts,
                       const char **why)
{
    dm_error err = {0};
    dm_buffer out = DM_BUFFER_EMPTY;
    bool good = true;
    total->kernels++;
    if (dm_compilation_kernel(c, kernel, &err) != DM_OK) {
        *why = "a kernel is refused without a good reason";
        return fuzz_reason_is_good(&err);
    }
    total->compiled++;
    for (int target = 0; good && target < 2; target++) {
        dm_buffer_clear(&out);
        good = dm_compilation_print(c, kernel, target == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &out,
                                    &err) == DM_OK ||
               fuzz_reason_is_good(&err);
        *why = "a kernel is not printed, without a good reason";
        dm_buffer_append(texts, dm_buffer_text(&out), out.size);
        if (good && target == 0 && cc && !cc_takes(&out)) {
            *why = "the C compiler refuses the text";
            good = false;
        }
    }
    dm_buffer_deinit(&out);
    return good;
}

/* What comes out goes to `texts`, diagnostics last. */
static bool compile_text(const char *text, size_t size, bool cc, dm_workspace *workspace,
                         totals *total, dm_buffer *texts, const char **why)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {.workspace = workspace};
    bool good = true;
    if (dm_compilation_init(&c, "case.py", text, size, &options, &err) != DM_OK) {
        total->refused++;
        *why = "refused without a good reason";
        good = fuzz_reason_is_good(&err);
    } else {
        int count = c.kernel_count < KERNELS_MAX ? c.kernel_count : KERNELS_MAX;
        for (int k = 0; good && k < count; k++)
            good = run_kernel(&c, k, cc, total, texts, why);
    }
    dm_lang_print_diags(&c.lang, texts);
    dm_compilation_deinit(&c);
    return good;
}

/* False with a reason when something is wrong. The text is also compiled with the memory of all
 * texts before it, of which nothing may show. */
static bool run_text(const char *text, size_t size, bool cc, totals *total, const char **why)
{
    static dm_workspace workspace;
    static bool started;
    if (!started)
        dm_workspace_init(&workspace);
    started = true;
    dm_buffer alone = DM_BUFFER_EMPTY, after = DM_BUFFER_EMPTY;
    totals ignored = {0};
    total->cases++;
    total->bytes += size;
    bool good = compile_text(text, size, cc, NULL, total, &alone, why) &&
                compile_text(text, size, false, &workspace, &ignored, &after, why);
    if (good && (alone.size != after.size ||
                 memcmp(dm_buffer_text(&alone), dm_buffer_text(&after), alone.size) != 0)) {
        *why = "what was compiled before shows";
        good = false;
    }
    dm_buffer_deinit(&alone);
    dm_buffer_deinit(&after);
    return good;
}

/* ---- The program ---- */

static bool read_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool read_settings(int argc, char **argv, settings *out, int *files)
{
    *out = (settings){.seed = 1, .cases = UINT64_MAX, .seconds = 10};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        uint64_t number = 0;
        if (strcmp(argv[i], "--cc") == 0) {
            out->cc = true;
            continue;
        }
        if (i + 1 >= argc)
            return false;
        const char *value = argv[++i];
        if (strcmp(argv[i - 1], "--dump") == 0) {
            out->dump = value;
            continue;
        }
        if (!read_number(value, &number))
            return false;
        if (strcmp(argv[i - 1], "--seed") == 0) {
            out->seed = number;
        } else if (strcmp(argv[i - 1], "--seconds") == 0) {
            out->seconds = (double)number;
        } else if (strcmp(argv[i - 1], "--cases") == 0) {
            out->cases = number;
            out->seconds = 1e9;
        } else if (strcmp(argv[i - 1], "--case") == 0) {
            out->only_case = number;
            out->has_case = true;
        } else {
            return false;
        }
    }
    *files = i;
    return true;
}

static int fuzz(const settings *s, fuzz_text *m)
{
    totals total = {0};
    double start = fuzz_now();
    uint64_t index = s->has_case ? s->only_case : 0;
    int code = 0;
    for (; code == 0 && index < s->cases && fuzz_now() - start < s->seconds; index++) {
        const char *why = "";
        fuzz_text_make(m, s->seed, index);
        if (s->dump != NULL) {
            dm_error err = {0};
            if (dm_file_write(s->dump, m->text, m->size, &err) != DM_OK)
                fprintf(stderr, "fuzz_kernel: %s\n", err.message);
        }
        fuzz_watch(CASE_SECONDS, "fuzz_kernel: died in --seed %llu --case %llu\n",
                   (unsigned long long)s->seed, (unsigned long long)index);
        m->text[m->size] = '\0';
        double before = fuzz_now();
        if (!run_text(m->text, m->size, s->cc, &total, &why)) {
            fprintf(stderr, "fuzz_kernel: %s: --seed %llu --case %llu\n", why,
                    (unsigned long long)s->seed, (unsigned long long)index);
            code = 1;
        }
        if (fuzz_now() - before > total.slowest_seconds) {
            total.slowest_seconds = fuzz_now() - before;
            total.slowest = index;
        }
        if (s->has_case)
            break;
    }
    double seconds = fuzz_now() - start;
    printf("%llu texts, %.1f MB, %llu refused as a whole; %llu of %llu kernels compiled; %.1f s, "
           "the slowest %.2f s (--case %llu)\n",
           (unsigned long long)total.cases, (double)total.bytes * 1e-6,
           (unsigned long long)total.refused, (unsigned long long)total.compiled,
           (unsigned long long)total.kernels, seconds, total.slowest_seconds,
           (unsigned long long)total.slowest);
    return code;
}

int main(int argc, char **argv)
{
    settings s;
    int files;
    fuzz_given given;
    if (!read_settings(argc, argv, &s, &files)) {
        fprintf(stderr, "usage: dm-fuzz-kernel [--seed S] [--seconds T] [--cases N] [--case I] "
                        "[--dump FILE] [--cc] [FILE.py ...]\n");
        return 2;
    }
    fuzz_text m = {.text = malloc(FUZZ_TEXT_MAX + 1), .given = &given};
    if (m.text == NULL || !fuzz_given_read(argv + files, argc - files, FUZZ_TEXT_MAX, &given) ||
        given.count != (unsigned)(argc - files))
        return 2;
    fuzz_watch_install();
    signal(SIGPIPE, SIG_IGN);
    int code = fuzz(&s, &m);
    fuzz_given_free(&given);
    free(m.text);
    return code;
}
