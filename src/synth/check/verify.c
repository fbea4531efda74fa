/* SPDX-License-Identifier: MIT */
/* verify.c - do records hold what they say? See verify.h.
 *
 * Stages, each for what passed the one before:
 *
 *   CUDA     the CUDA texts of all records as one unit through NVRTC, to PTX
 *   C        level compile: the C texts as one unit through cc, warnings as errors
 *   library  above it: the C texts, and those of the same kernel in float64, as a shared library;
 *            the kernels in it are examined (examine.c)
 *
 * A unit that does not compile is halved until the records that break it stand alone. Alone, texts
 * are compiled as they are. */
#include "synth/check/verify.h"

#include "base/file.h"
#include "device/cc.h"
#include "device/nvrtc.h"
#include "lang/compile.h"
#include "synth/check/bundle.h"
#include "synth/check/examine.h"
#include "synth/check/extra.h"
#include "synth/check/mutant.h"
#include "synth/check/warp_name.h"
#include "synth/check/warp_text.h"
#include "synth/lesson/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 96
#define TRIAL_SIZE 5 /* elements per dimension */

/* A record on its way through the stages. */
typedef struct item {
    dm_synth_record *record;
    dm_synth_result *result;
    char entry[256]; /* what the entry points of our own text are called, before "_forward" */
    char entries[2][DM_WARP_NAME_MAX]; /* and those of the record's C and CUDA */
    dm_buffer forward[2];              /* C, as written and in float64; level run and above */
    dm_buffer backward[2];             /* empty: there is none */
    char symbols[2][2][300];           /* of the library: [width][pass] */
    dm_trial *trials[2];               /* as written, in float64 */
    dm_trial
        *cases[2][DM_CHEAT_CASES]; /* of the test: as written, in float64; NULL: none is wanted */
    dm_buffer test;                /* its beginning */
    dm_mutant_list mutants;        /* that the test has to notice */
    dm_cheat_mutant *mutant_entries;
    char (*mutant_symbols)[300];     /* of their own library */
    dm_extra extras[DM_EXTRA_COUNT]; /* other forms of the program */
    char extra_symbols[DM_EXTRA_COUNT][300];
    uint64_t seed;
} item;

struct dm_synth_verifier {
    dm_synth_verify_options options;
    dm_cc cc;
    char folder[DM_PATH_MAX];
    dm_bundle *bundle, *mutants;
    const char *cuda_options[8]; /* empty: not asked yet what this NVRTC knows */
    unsigned units;              /* libraries made, for their names */
};

enum { SINGLE, WIDE };

/* ---- Life ---- */

dm_status dm_synth_verifier_create(const dm_synth_verify_options *options, dm_synth_verifier **out,
                                   dm_error *err)
{
    dm_synth_verifier *v = *out = calloc(1, sizeof *v);
    if (v == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    v->options = *options;
    dm_status status = dm_bundle_create(&v->bundle, err);
    if (status == DM_OK)
        status = dm_bundle_create(&v->mutants, err);
    if (status == DM_OK && options->level > DM_SYNTH_VERIFY_NONE) {
        status = dm_cc_find(&v->cc, err);
        if (status == DM_OK)
            status = dm_cc_folder(v->folder, err);
        if (status != DM_OK)
            v->folder[0] = '\0';
    }
    if (status != DM_OK) {
        dm_synth_verifier_destroy(v);
        *out = NULL;
    }
    return status;
}

void dm_synth_verifier_destroy(dm_synth_verifier *v)
{
    if (v == NULL)
        return;
    if (v->folder[0] != '\0')
        dm_dir_remove(v->folder, NULL);
    dm_bundle_destroy(v->bundle);
    dm_bundle_destroy(v->mutants);
    free(v);
}

int dm_synth_verifier_batch(const dm_synth_verifier *v)
{
    return v->options.level == DM_SYNTH_VERIFY_NONE ? 1 : BATCH;
}

/* ---- Failing ---- */

/* One line, without what differs from run to run. */
static void fail_item(item *it, dm_synth_level level, const char *format, ...) DM_PRINTF(3, 4);
static void fail_item(item *it, dm_synth_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(it->result->reason, sizeof it->result->reason, format, args);
    va_end(args);
    for (char *p = it->result->reason; *p != '\0'; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    it->result->passed = false;
    it->result->failed_at = level;
}

/* ---- Compilers ---- */

/* Options that make NVRTC fast, as far as this version has them. The front end finds all errors, so
 * optimisation is not needed. Level compile stops at NVVM code (9 ms for a pair); above it PTX is
 * made (50 ms). */
static dm_status choose_cuda_options(dm_synth_verifier *v, dm_error *err)
{
    static const char *const wanted[] = {"--gpu-architecture=compute_90", "--std=c++17",
                                         "--diag-suppress=177",           "--minimal",
                                         "--Ofast-compile=max",           "-dlto"};
    size_t wanted_count = v->options.level > DM_SYNTH_VERIFY_COMPILE ? 5 : 6;
    int count = 0;
    for (size_t i = 0; i < wanted_count; i++) {
        v->cuda_options[count] = wanted[i];
        v->cuda_options[count + 1] = NULL;
        dm_status status = dm_nvrtc_check("probe", "", v->cuda_options, err);
        if (status == DM_OK)
            count++;
        else if (status != DM_EINVAL)
            return status;
        else
            v->cuda_options[count] = NULL;
    }
    return DM_OK;
}

static dm_status compile_cuda(dm_synth_verifier *v, const char *name, const char *text,
                              dm_error *err)
{
    dm_status status = v->cuda_options[0] == NULL ? choose_cuda_options(v, err) : DM_OK;
    return status == DM_OK ? dm_nvrtc_check(name, text, v->cuda_options, err) : status;
}

static dm_status write_file(const char *folder, const char *name, const char *head,
                            const char *text, size_t size, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, name, err);
    if (status != DM_OK)
        return status;
    FILE *file = fopen(path, "w");
    bool fine = file != NULL && fputs(head, file) >= 0 && fwrite(text, 1, size, file) == size;
    if (file != NULL)
        fine &= fclose(file) == 0;
    return fine ? DM_OK : dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
}

/* The first message, of the first line that says "error"; DM_ECOMPILE. */
static dm_status report(const char *path, dm_error *err)
{
    char *log = NULL;
    size_t size;
    dm_status status = dm_file_read(path, 1 << 20, &log, &size, err);
    if (status != DM_OK)
        return status;
    const char *at = strstr(log, "error");
    const char *begin = at == NULL ? log : at;
    while (begin > log && begin[-1] != '\n')
        begin--;
    status = dm_fail(err, DM_ECOMPILE, "%.*s", (int)strcspn(begin, "\n"), begin);
    free(log);
    return status;
}

/* `library`: the file to make; NULL: the text is only checked. `quietly`: warnings are none. */
static dm_status compile_c(dm_synth_verifier *v, const char *name, const char *text, size_t size,
                           const char *library, bool quietly, dm_error *err)
{
    /* Integers wrap, as on a GPU. */
    static const char *const check[] = {"-std=gnu17", "-Wall",          "-Wextra",
                                        "-Werror",    "-Wfatal-errors", "-fdiagnostics-color=never",
                                        "-fwrapv",    "-fsyntax-only",  "unit.c",
                                        NULL};
    const char *const build[] = {"-std=gnu17",
                                 quietly ? "-w" : "-Wall",
                                 quietly ? "-w" : "-Wextra",
                                 quietly ? "-w" : "-Werror",
                                 "-Wfatal-errors",
                                 "-fdiagnostics-color=never",
                                 "-fwrapv",
                                 "-O0",
                                 "-ffp-contract=off",
                                 "-fno-math-errno",
                                 "-fPIC",
                                 "-shared",
                                 "-fvisibility=hidden",
                                 "unit.c",
                                 "-o",
                                 library,
                                 "-lm",
                                 NULL};
    char log[DM_PATH_MAX], head[64];
    int code = 0;
    snprintf(head, sizeof head, "#line 1 \"%.40s\"\n", name);
    dm_status status = write_file(v->folder, "unit.c", head, text, size, err);
    if (status == DM_OK)
        status = dm_path_join(log, v->folder, "log", err);
    if (status == DM_OK)
        status = dm_cc_run(&v->cc, library == NULL ? check : build, v->folder, log, &code, err);
    return status == DM_OK && code != 0 ? report(log, err) : status;
}

/* ---- Halving ---- */

/* Try items [begin, end) as one unit: DM_ECOMPILE with a message when they do not compile. */
typedef dm_status (*stage)(dm_synth_verifier *v, item *items, int begin, int end, dm_error *err);

static dm_status halve(dm_synth_verifier *v, item *items, int begin, int end, stage try_unit,
                       dm_error *err)
{
    dm_error message = {0};
    while (begin < end && !items[begin].result->passed)
        begin++;
    while (begin < end && !items[end - 1].result->passed)
        end--;
    if (begin == end)
        return DM_OK;
    dm_status status = try_unit(v, items, begin, end, &message);
    if (status == DM_ECOMPILE || status == DM_EUNSUPPORTED) {
        if (end - begin == 1) {
            fail_item(&items[begin], DM_SYNTH_VERIFY_COMPILE, "%s", message.message);
            return DM_OK;
        }
        int middle = begin + (end - begin) / 2;
        status = halve(v, items, begin, middle, try_unit, err);
        return status == DM_OK ? halve(v, items, middle, end, try_unit, err) : status;
    }
    if (status != DM_OK && err != NULL)
        *err = message;
    return status;
}

/* ---- Texts as they are ---- */

typedef struct text_list {
    const dm_buffer *texts[2];
    const char *names[2];
} text_list;

static text_list cuda_texts(const item *it)
{
    return (text_list){{&it->record->cuda_forward, &it->record->cuda_backward},
                       {"cuda_forward", "cuda_backward"}};
}

static text_list c_texts(const item *it)
{
    return (text_list){{&it->record->c_forward, &it->record->c_backward},
                       {"c_forward", "c_backward"}};
}

static dm_status compile_text(dm_synth_verifier *v, bool cuda, const char *name, const char *text,
                              size_t size, dm_error *err)
{
    return cuda ? compile_cuda(v, name, text, err)
                : compile_c(v, name, text, size, NULL, false, err);
}

static dm_status try_texts(dm_synth_verifier *v, item *items, int begin, int end, bool cuda,
                           dm_error *err)
{
    dm_status status = DM_OK;
    size_t size;
    bool alone = end - begin == 1;
    dm_bundle_clear(v->bundle);
    for (int i = begin; i < end && status == DM_OK; i++) {
        text_list list = cuda ? cuda_texts(&items[i]) : c_texts(&items[i]);
        for (int k = 0; k < 2 && status == DM_OK && items[i].result->passed; k++) {
            const dm_buffer *text = list.texts[k];
            if (text->size > 0 && memchr(text->data, '\0', text->size) != NULL)
                status = dm_fail(err, DM_ECOMPILE, "%s: a byte 0", list.names[k]);
            else if (text->size > 0 && alone)
                status = compile_text(v, cuda, list.names[k], text->data, text->size, err);
            else if (text->size > 0)
                status = dm_bundle_add(v->bundle, text->data, text->size, err);
        }
    }
    const char *unit = dm_bundle_text(v->bundle, &size);
    if (status == DM_OK && !alone && size > 0)
        status = compile_text(v, cuda, "unit", unit, size, err);
    return status;
}

static dm_status try_cuda(dm_synth_verifier *v, item *items, int begin, int end, dm_error *err)
{
    return try_texts(v, items, begin, end, true, err);
}

static dm_status try_c(dm_synth_verifier *v, item *items, int begin, int end, dm_error *err)
{
    return try_texts(v, items, begin, end, false, err);
}

/* ---- Kernels to run ---- */

static void clear_item(item *it)
{
    for (int width = 0; width < 2; width++) {
        dm_buffer_deinit(&it->forward[width]);
        dm_buffer_deinit(&it->backward[width]);
        dm_trial_destroy(it->trials[width]);
        for (int i = 0; i < DM_CHEAT_CASES; i++)
            dm_trial_destroy(it->cases[width][i]);
    }
    dm_buffer_deinit(&it->test);
    dm_mutants_clear(&it->mutants);
    free(it->mutant_entries);
    free(it->mutant_symbols);
    for (int i = 0; i < DM_EXTRA_COUNT; i++)
        dm_extra_deinit(&it->extras[i]);
}

/* Arguments for the cases of its test, which are drawn when it runs. */
static dm_status take_cases(item *it, const dm_unit *unit, int width, uint64_t seed, dm_error *err)
{
    const dm_ir_function *forward = unit->forward;
    dm_status status = DM_OK;
    it->seed = seed;
    for (int i = 0; i < DM_CHEAT_CASES && status == DM_OK; i++)
        status = dm_trial_create(forward, dm_cheat_case_sizes[i], seed, &it->cases[width][i], err);
    if (status != DM_OK || width == WIDE)
        return status;
    dm_synth_test_begin(forward, it->entries[0], it->cases[SINGLE][0], &it->test);
    status = dm_mutants_make(unit, &it->mutants, err);
    it->mutant_entries = calloc((size_t)it->mutants.count + 1, sizeof *it->mutant_entries);
    it->mutant_symbols = calloc((size_t)it->mutants.count + 1, sizeof *it->mutant_symbols);
    if (status == DM_OK && (it->mutant_entries == NULL || it->mutant_symbols == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    return status;
}

/* Texts and arguments of one width from an open compilation. */
static dm_status take_kernel(item *it, dm_compilation *c, int width, bool warp_names, uint64_t seed,
                             dm_error *err)
{
    dm_unit unit;
    const dm_synth_record *r = it->record;
    dm_status status =
        dm_unit_open(&unit, c, dm_buffer_text(&r->python_source), r->kernel_name, err);
    if (status != DM_OK)
        return status;
    const dm_ir_function *forward = unit.forward;
    status = dm_unit_print(&unit, DM_TARGET_C, DM_PASS_FORWARD, &it->forward[width], err);
    if (status == DM_OK && unit.has_backward)
        status = dm_unit_print(&unit, DM_TARGET_C, DM_PASS_BACKWARD, &it->backward[width], err);
    if (status != DM_OK)
        return status;
    snprintf(it->entry, sizeof it->entry, "%.250s", forward->entry_name); /* printing chose it */
    for (int cuda = 0; cuda < 2; cuda++)
        if (warp_names)
            dm_warp_name_put(r, it->entry, cuda == 1, it->entries[cuda]);
        else
            snprintf(it->entries[cuda], sizeof it->entries[cuda], "%s", it->entry);
    if (width == SINGLE && r->c_forward.size > 0) {
        dm_buffer_clear(&it->forward[width]);
        dm_buffer_clear(&it->backward[width]);
        dm_buffer_append(&it->forward[width], r->c_forward.data, r->c_forward.size);
        dm_buffer_append(&it->backward[width], dm_buffer_text(&r->c_backward), r->c_backward.size);
    }
    if (r->reference.size > 0)
        status = take_cases(it, &unit, width, seed, err);
    return status == DM_OK ? dm_trial_create(forward, TRIAL_SIZE, seed, &it->trials[width], err)
                           : status;
}

static dm_status take_extras(const dm_synth_verifier *v, item *it, uint64_t seed, dm_error *err)
{
    dm_status status = DM_OK;
    bool runs = it->cases[SINGLE][0] != NULL;
    it->seed = seed;
    if (v->options.repairs)
        status = dm_extra_break(it->record, seed, runs, &it->extras[DM_EXTRA_BROKEN], err);
    if (status == DM_OK && runs)
        dm_extra_forms(it->record, it->extras);
    return status;
}

static dm_status prepare(const dm_synth_verifier *v, item *it, dm_error *err)
{
    const dm_buffer *text = &it->record->python_source;
    uint64_t seed = v->options.seed ^ dm_hash64(dm_buffer_text(text), text->size);
    int widths = v->options.level >= DM_SYNTH_VERIFY_GRAD ? 2 : 1;
    dm_status status = DM_OK;
    for (int width = 0; width < widths && status == DM_OK; width++) {
        dm_compilation c;
        dm_error message = {0};
        dm_compile_options options = {.all_double = width == WIDE, .module.keep_loops = true};
        status = dm_compilation_init(&c, "python_source", dm_buffer_text(text), text->size,
                                     &options, &message);
        if (status == DM_OK)
            status = take_kernel(it, &c, width, v->options.warp_names, seed, &message);
        dm_compilation_deinit(&c);
        if (status == DM_ENOMEM) {
            if (err != NULL)
                *err = message;
            return status;
        }
        if (status != DM_OK)
            fail_item(it, width == SINGLE ? DM_SYNTH_VERIFY_COMPILE : DM_SYNTH_VERIFY_GRAD, "%s",
                      message.message);
    }
    return it->result->passed ? take_extras(v, it, seed, err) : DM_OK;
}

/* ---- Libraries ---- */

static dm_status add_item(dm_synth_verifier *v, item *it, dm_error *err)
{
    static const char *const ends[2] = {"_forward", "_backward"};
    dm_status status = DM_OK;
    for (int width = 0; width < 2; width++)
        for (int pass = 0; pass < 2 && status == DM_OK; pass++) {
            char name[300];
            const dm_buffer *text = pass == 0 ? &it->forward[width] : &it->backward[width];
            it->symbols[width][pass][0] = '\0';
            if (text->size == 0)
                continue;
            if (memchr(text->data, '\0', text->size) != NULL)
                return dm_fail(err, DM_ECOMPILE, "C: a byte 0");
            status = dm_bundle_add(v->bundle, text->data, text->size, err);
            bool shipped = width == SINGLE && it->record->c_forward.size > 0;
            snprintf(name, sizeof name, "%.285s%s", shipped ? it->entries[0] : it->entry,
                     ends[pass]);
            snprintf(it->symbols[width][pass], sizeof it->symbols[width][pass], "%s",
                     dm_bundle_name(v->bundle, name));
        }
    for (int i = 0; i < DM_EXTRA_COUNT && status == DM_OK; i++) {
        char name[300];
        it->extra_symbols[i][0] = '\0';
        if (it->extras[i].c_text.size == 0)
            continue;
        status =
            dm_bundle_add(v->bundle, it->extras[i].c_text.data, it->extras[i].c_text.size, err);
        snprintf(name, sizeof name, "%.250s_forward", it->entry);
        snprintf(it->extra_symbols[i], sizeof it->extra_symbols[i], "%s",
                 dm_bundle_name(v->bundle, name));
    }
    return status;
}

static bool find_entry(void *library, const char *symbol, dm_examine_entry *out)
{
    void *address = symbol[0] == '\0' ? NULL : dlsym(library, symbol);
    memcpy(out, &address, sizeof address);
    return symbol[0] == '\0' || address != NULL;
}

static void take_outcome(item *it, const dm_examine_outcome *o)
{
    dm_synth_verification *found = &it->record->verification;
    if (!o->passed)
        fail_item(it, o->failed_at, "%s", o->reason);
    found->ran = o->passed || o->failed_at > DM_SYNTH_VERIFY_RUN;
    found->compared = o->compared;
    found->gradient_error = o->gradient_error;
    found->output_magnitude = o->output_magnitude;
    found->cheats = o->found.cheats;
    found->mutants = o->found.mutants;
    found->noticed = o->found.noticed;
    found->edges = o->found.edges;
    found->edges_noticed = o->found.edges_noticed;
}

/* The memory in which the cases of all jobs are left. */
static dm_status share_cases(dm_examine_job *jobs, int count, uint8_t **memory, size_t *size,
                             dm_error *err)
{
    size_t offset = 0;
    *size = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < DM_CHEAT_CASES && jobs[i].cases[k].trial != NULL; k++)
            *size += (dm_cheat_size(jobs[i].cases[k].trial) + 63) & ~(size_t)63;
    *memory = NULL;
    if (*size == 0)
        return DM_OK;
    void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    *memory = mapped;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < DM_CHEAT_CASES && jobs[i].cases[k].trial != NULL; k++) {
            jobs[i].cases[k].kept = *memory + offset;
            offset += (dm_cheat_size(jobs[i].cases[k].trial) + 63) & ~(size_t)63;
        }
    return DM_OK;
}

static void write_test(item *it, const dm_examine_job *job, const dm_cheat_found *found)
{
    dm_synth_test_case cases[DM_CHEAT_CASES];
    dm_buffer *test = &it->record->test;
    for (int i = 0; i < found->case_count; i++) {
        const dm_trial *t = job->cases[i].trial;
        const uint8_t *block = job->cases[i].kept, *before = block + t->block_size;
        const uint8_t *outputs = before + t->image_size, *gradients = outputs + t->image_size;
        bool has = job->single.backward != NULL && dm_cheat_has_gradients(i);
        cases[i] = (dm_synth_test_case){dm_cheat_case_names[i], t, block, before, outputs,
                                        has ? gradients : NULL};
    }
    dm_buffer_clear(test);
    dm_buffer_append(test, dm_buffer_text(&it->test), it->test.size);
    dm_synth_test_write(cases, found->case_count, test);
}

/* Other forms of the programs that passed, on the cases of their tests. */
static dm_status examine_extras(const dm_synth_verifier *v, item *items, const int *which,
                                const dm_examine_job *jobs, const dm_examine_outcome *outcomes,
                                int count, void *library, dm_error *err)
{
    int extra_count = 0;
    dm_examine_job *extra = calloc((size_t)count * DM_EXTRA_COUNT + 1, sizeof *extra);
    dm_examine_outcome *found = calloc((size_t)count * DM_EXTRA_COUNT + 1, sizeof *found);
    dm_status status =
        extra == NULL || found == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (int i = 0; i < count && status == DM_OK; i++)
        for (int k = 0; k < DM_EXTRA_COUNT; k++) {
            dm_examine_job *job = &extra[extra_count];
            *job = jobs[i];
            job->case_count = outcomes[i].found.case_count;
            if (outcomes[i].passed &&
                find_entry(library, items[which[i]].extra_symbols[k], &job->compared) &&
                job->compared != NULL)
                extra_count++;
        }
    if (status == DM_OK && extra_count > 0)
        status = dm_examine(extra, extra_count, found, err);
    extra_count = 0;
    for (int i = 0; i < count && status == DM_OK; i++) {
        item *it = &items[which[i]];
        const char *symptoms[DM_EXTRA_COUNT] = {NULL};
        for (int k = 0; k < DM_EXTRA_COUNT && outcomes[i].passed; k++)
            if (it->extra_symbols[k][0] != '\0')
                symptoms[k] = found[extra_count++].reason;
        if (outcomes[i].passed)
            status = dm_extra_settle(it->record, it->extras, symptoms, it->seed, v->options.repairs,
                                     err);
    }
    free(extra);
    free(found);
    return status;
}

static dm_status examine_library(const dm_synth_verifier *v, item *items, int begin, int end,
                                 void *library, dm_error *err)
{
    uint8_t *memory = NULL;
    size_t size = 0;
    int count = 0, *which = calloc((size_t)(end - begin) + 1, sizeof *which);
    dm_examine_job *jobs = calloc((size_t)(end - begin) + 1, sizeof *jobs);
    dm_examine_outcome *outcomes = calloc((size_t)(end - begin) + 1, sizeof *outcomes);
    dm_status status = DM_OK;
    if (which == NULL || jobs == NULL || outcomes == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = begin; i < end && status == DM_OK; i++) {
        item *it = &items[i];
        dm_examine_job *job = &jobs[count];
        if (!it->result->passed)
            continue;
        *job = (dm_examine_job){.level = v->options.level,
                                .single.trial = it->trials[SINGLE],
                                .wide.trial = it->trials[WIDE],
                                .seed = it->seed};
        for (int k = 0; k < DM_CHEAT_CASES; k++) {
            job->cases[k].trial = it->cases[SINGLE][k];
            job->cases[k].wide = it->cases[WIDE][k];
        }
        job->mutants = it->mutant_entries;
        job->mutant_count = it->mutants.count;
        if (find_entry(library, it->symbols[SINGLE][0], &job->single.forward) &&
            find_entry(library, it->symbols[SINGLE][1], &job->single.backward) &&
            find_entry(library, it->symbols[WIDE][0], &job->wide.forward) &&
            find_entry(library, it->symbols[WIDE][1], &job->wide.backward))
            which[count++] = i;
        else
            fail_item(it, DM_SYNTH_VERIFY_RUN, "the C text has no function %s_forward or _backward",
                      it->entries[0]);
    }
    if (status == DM_OK && count > 0)
        status = share_cases(jobs, count, &memory, &size, err);
    if (status == DM_OK && count > 0)
        status = dm_examine(jobs, count, outcomes, err);
    for (int i = 0; i < count && status == DM_OK; i++) {
        take_outcome(&items[which[i]], &outcomes[i]);
        if (outcomes[i].passed && jobs[i].cases[0].trial != NULL)
            write_test(&items[which[i]], &jobs[i], &outcomes[i].found);
    }
    if (status == DM_OK && count > 0)
        status = examine_extras(v, items, which, jobs, outcomes, count, library, err);
    if (memory != NULL)
        munmap(memory, size);
    free(which);
    free(jobs);
    free(outcomes);
    return status;
}

/* ---- Mutants ---- */

static dm_status add_mutants(dm_synth_verifier *v, item *it, dm_error *err)
{
    char name[300];
    dm_status status = DM_OK;
    snprintf(name, sizeof name, "%.250s_forward", it->entry);
    for (int i = 0; i < it->mutants.count && status == DM_OK; i++) {
        const dm_buffer *text = &it->mutants.mutants[i].text;
        status = dm_bundle_add(v->mutants, text->data, text->size, err);
        snprintf(it->mutant_symbols[i], sizeof it->mutant_symbols[i], "%s",
                 dm_bundle_name(v->mutants, name));
    }
    return status == DM_EUNSUPPORTED ? DM_EINTERNAL : status; /* they are our own texts */
}

static dm_status find_mutants(item *it, void *library, dm_error *err)
{
    for (int i = 0; i < it->mutants.count; i++) {
        void *address = dlsym(library, it->mutant_symbols[i]);
        it->mutant_entries[i].edge = it->mutants.mutants[i].edge;
        memcpy(&it->mutant_entries[i].entry, &address, sizeof address);
        if (address == NULL)
            return dm_fail(err, DM_EINTERNAL, "%s: a mutant has no entry", it->entry);
    }
    return DM_OK;
}

/* The mutants of all items as one library; NULL: there are none. */
static dm_status load_mutants(dm_synth_verifier *v, item *items, int begin, int end, void **library,
                              dm_error *err)
{
    char name[32], path[DM_PATH_MAX];
    size_t size;
    dm_status status = DM_OK;
    *library = NULL;
    dm_bundle_clear(v->mutants);
    for (int i = begin; i < end && status == DM_OK; i++)
        if (items[i].result->passed)
            status = add_mutants(v, &items[i], err);
    const char *unit = dm_bundle_text(v->mutants, &size);
    if (status != DM_OK || size == 0)
        return status;
    snprintf(name, sizeof name, "mutants%u.so", v->units);
    status = dm_path_join(path, v->folder, name, err);
    if (status == DM_OK)
        status = compile_c(v, "mutants", unit, size, name, true, err);
    if (status != DM_OK)
        return status == DM_ECOMPILE ? DM_EINTERNAL : status;
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (*library == NULL)
        return dm_fail(err, DM_EINTERNAL, "cannot load the compiled mutants: %s", dlerror());
    for (int i = begin; i < end && status == DM_OK; i++)
        if (items[i].result->passed)
            status = find_mutants(&items[i], *library, err);
    return status;
}

static dm_status try_library(dm_synth_verifier *v, item *items, int begin, int end, dm_error *err)
{
    char name[32], path[DM_PATH_MAX];
    size_t size;
    dm_status status = DM_OK;
    dm_bundle_clear(v->bundle);
    for (int i = begin; i < end && status == DM_OK; i++)
        if (items[i].result->passed)
            status = add_item(v, &items[i], err);
    const char *unit = dm_bundle_text(v->bundle, &size);
    snprintf(name, sizeof name, "unit%u.so", v->units++);
    if (status == DM_OK)
        status = dm_path_join(path, v->folder, name, err);
    if (status == DM_OK)
        status = compile_c(v, "unit", unit, size, name, false, err);
    if (status != DM_OK)
        return status;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (library == NULL)
        return dm_fail(err, DM_ECOMPILE, "cannot load the compiled kernels: %s", dlerror());
    void *mutants = NULL;
    status = load_mutants(v, items, begin, end, &mutants, err);
    if (status == DM_OK)
        status = examine_library(v, items, begin, end, library, err);
    if (mutants != NULL)
        dlclose(mutants);
    dlclose(library);
    return status;
}

/* ---- The whole ---- */

static void tell(const dm_synth_verifier *v, uint64_t pairs)
{
    if (v->options.progress != NULL)
        v->options.progress(v->options.user, pairs);
}

static dm_status run_stages(dm_synth_verifier *v, item *items, int count, dm_error *err)
{
    dm_synth_level level = v->options.level;
    dm_status status = DM_OK;
    if (level >= DM_SYNTH_VERIFY_COMPILE)
        status = halve(v, items, 0, count, try_cuda, err);
    tell(v, (uint64_t)count / 3);
    if (status == DM_OK && level == DM_SYNTH_VERIFY_COMPILE)
        status = halve(v, items, 0, count, try_c, err);
    if (level < DM_SYNTH_VERIFY_RUN) {
        tell(v, (uint64_t)(count - count / 3));
        return status;
    }
    for (int i = 0; i < count && status == DM_OK; i++)
        if (items[i].result->passed)
            status = prepare(v, &items[i], err);
    if (status == DM_OK)
        status = halve(v, items, 0, count, try_library, err);
    for (int i = 0; i < count && status == DM_OK && v->options.ptx; i++)
        if (items[i].result->passed && items[i].record->cuda_forward.size > 0)
            status = dm_extra_machine_code(items[i].record, items[i].entries[1], err);
    tell(v, (uint64_t)(count - count / 3));
    return status;
}

/* Warp's texts of all that passed; what Warp refuses fails. */
static dm_status add_warp_texts(const dm_synth_verifier *v, item *items, int count, dm_error *err)
{
    dm_synth_record **records = calloc((size_t)count + 1, sizeof(dm_synth_record *));
    item **of = calloc((size_t)count + 1, sizeof(item *));
    char(*reasons)[256] = calloc((size_t)count + 1, sizeof *reasons);
    int passed = 0;
    dm_status status = DM_OK;
    if (records == NULL || of == NULL || reasons == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < count && status == DM_OK; i++)
        if (items[i].result->passed) {
            of[passed] = &items[i];
            records[passed++] = items[i].record;
        }
    if (status == DM_OK && passed > 0)
        status = dm_synth_warp_texts(v->options.warp, records, passed, reasons, err);
    for (int i = 0; i < passed && status == DM_OK; i++)
        if (reasons[i][0] != '\0')
            fail_item(of[i], DM_SYNTH_VERIFY_COMPILE, "Warp: %s", reasons[i]);
        else if (v->options.warp_names)
            dm_warp_name_take_hashes(records[i]);
    free(records);
    free(of);
    free(reasons);
    return status;
}

static void note(const dm_synth_verifier *v, item *it)
{
    dm_synth_verification *found = &it->record->verification;
    dm_synth_level level = v->options.level;
    bool compiled = level >= DM_SYNTH_VERIFY_COMPILE &&
                    (it->result->passed || it->result->failed_at > DM_SYNTH_VERIFY_COMPILE);
    found->level = it->result->passed ? level
                   : it->result->failed_at > DM_SYNTH_VERIFY_NONE
                       ? (dm_synth_level)(it->result->failed_at - 1)
                       : DM_SYNTH_VERIFY_NONE;
    found->cuda_compiled = compiled && it->record->cuda_forward.size > 0;
    found->c_compiled =
        compiled && (it->record->c_forward.size > 0 || level >= DM_SYNTH_VERIFY_RUN);
}

dm_status dm_synth_verify_batch(dm_synth_verifier *v, dm_synth_record *const *records, int count,
                                dm_synth_result *results, dm_error *err)
{
    if (count <= 0)
        return DM_OK;
    item *items = calloc((size_t)count, sizeof *items);
    if (items == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < count; i++) {
        items[i].record = records[i];
        items[i].result = &results[i];
        results[i] = (dm_synth_result){.passed = true};
        records[i]->verification = (dm_synth_verification){0};
        dm_buffer_clear(&records[i]->test);
        dm_extra_clear(records[i]);
    }
    dm_status status = run_stages(v, items, count, err);
    if (status == DM_OK && v->options.warp != NULL)
        status = add_warp_texts(v, items, count, err);
    for (int i = 0; i < count; i++) {
        if (status == DM_OK)
            note(v, &items[i]);
        clear_item(&items[i]);
    }
    free(items);
    return status;
}
