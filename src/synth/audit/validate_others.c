/* SPDX-License-Identifier: MIT */
/* validate_others.c - data that this program did not write: pairs of Python and CUDA text as JSON
 * lines, or as files with one object or a list of them.
 *
 * Only fields that are present are checked, of these: id, kernel_name, category, python_source,
 * cuda_forward, cuda_backward, c_forward, c_backward, and in metadata has_backward.
 * CUDA text that needs headers of another project is not compiled; the notes say how many. */
#include "synth/audit/validate_internal.h"
#include "synth/store/canonical.h"

#include "base/terminal/progress.h"
#include "lang/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 96

typedef struct others {
    const dm_synth_validate_options *options;
    dm_synth_report *report;
    dm_synth_verifier *compiles; /* level compile; NULL at level none */
    dm_synth_verifier *runs;     /* above it; NULL up to level compile */
    dm_progress *progress;
    dm_synth_record records[BATCH_MAX];
    char places[BATCH_MAX][160];
    int count; /* records that wait for the verifier */
    dm_buffer scratch;
    dm_hash128 *forms;
    size_t form_count, form_capacity;
    uint64_t with_cuda, foreign_cuda, with_backward, no_python;
    uint64_t taken; /* by the verifier */
} others;

static const char *text_of(const json_t *object, const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *text = json_string_value(json_object_get(object, *names));
        if (text != NULL && text[0] != '\0')
            return text;
    }
    return NULL;
}

/* Text that stands alone: no headers but the system's, no names of Warp's own library. */
static bool stands_alone(const char *text)
{
    return strstr(text, "#include \"") == NULL && strstr(text, "wp::") == NULL &&
           strstr(text, "builtin_tid") == NULL;
}

static void problem(others *o, const char *place, const char *id, const char *what)
{
    dm_synth_report_problem(o->report, "%s: %s%s%s", place, id, id[0] == '\0' ? "" : ": ", what);
}

/* The kernel that the text is about: by name, else the first. */
static bool find_kernel(others *o, const char *place, dm_synth_record *r)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {0};
    dm_status status = dm_compilation_init(&c, "python_source", dm_buffer_text(&r->python_source),
                                           r->python_source.size, &options, &err);
    int found = status != DM_OK             ? -1
                : r->kernel_name[0] == '\0' ? 0
                                            : dm_compilation_find(&c, r->kernel_name);
    if (status == DM_OK && found < 0 && c.kernel_count == 1)
        found = 0; /* some datasets call the record, not the kernel, by that name */
    if (status == DM_OK && (found < 0 || c.kernel_count == 0))
        status = dm_fail(&err, DM_ECOMPILE, "no kernel in it");
    if (status == DM_OK)
        snprintf(r->kernel_name, sizeof r->kernel_name, "%.60s", c.kernels[found].decl->name);
    if (status == DM_OK)
        status = dm_compilation_kernel(&c, found, &err);
    if (status != DM_OK) {
        char text[DM_ERROR_MESSAGE_MAX + 64];
        snprintf(text, sizeof text, "python_source: line %d: %s", err.line, err.message);
        problem(o, place, r->id, text);
    }
    dm_compilation_deinit(&c);
    return status == DM_OK;
}

/* Those of the batch that pass go to the front. */
static dm_status verify(others *o, dm_synth_verifier *verifier, int *list, int *count,
                        dm_error *err)
{
    dm_synth_record *records[BATCH_MAX];
    dm_synth_result results[BATCH_MAX] = {0};
    int kept = 0;
    for (int i = 0; i < *count; i++)
        records[i] = &o->records[list[i]];
    dm_status status = dm_synth_verify_batch(verifier, records, *count, results, err);
    for (int i = 0; i < *count && status == DM_OK; i++) {
        char text[640];
        if (results[i].passed) {
            list[kept++] = list[i];
            continue;
        }
        snprintf(text, sizeof text, "fails at %s: %s", dm_synth_level_names[results[i].failed_at],
                 results[i].reason);
        problem(o, o->places[list[i]], records[i]->id, text);
    }
    *count = kept;
    return status;
}

/* Others' C and CUDA texts are compiled but never run. Only the C compiled here from the Python text
 * is run. */
static dm_status flush(others *o, dm_error *err)
{
    int list[BATCH_MAX], count = o->count;
    dm_status status = DM_OK;
    for (int i = 0; i < count; i++)
        list[i] = i;
    if (o->compiles != NULL)
        status = verify(o, o->compiles, list, &count, err);
    for (int i = 0; i < count; i++) {
        dm_synth_record *r = &o->records[list[i]];
        dm_buffer *texts[] = {&r->cuda_forward, &r->cuda_backward, &r->c_forward, &r->c_backward};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            dm_buffer_clear(texts[k]);
    }
    if (status == DM_OK && o->runs != NULL)
        status = verify(o, o->runs, list, &count, err);
    o->count = 0;
    return status;
}

static dm_status note_form(others *o, const dm_synth_record *r, dm_error *err)
{
    if (o->form_count == o->form_capacity) {
        size_t more = o->form_capacity == 0 ? 1024 : 2 * o->form_capacity;
        dm_hash128 *grown = realloc(o->forms, more * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        o->forms = grown;
        o->form_capacity = more;
    }
    o->forms[o->form_count++] =
        dm_synth_canonical_hash(r->python_source.data, r->python_source.size, &o->scratch);
    return DM_OK;
}

static void take_cuda(others *o, const json_t *object, dm_synth_record *r)
{
    static const char *const forward[] = {"cuda_forward", "cuda_code", "cuda_source", NULL};
    static const char *const backward[] = {"cuda_backward", NULL};
    const char *texts[2] = {text_of(object, forward), text_of(object, backward)};
    dm_buffer *to[2] = {&r->cuda_forward, &r->cuda_backward};
    o->with_cuda += texts[0] != NULL;
    o->with_backward += texts[1] != NULL;
    bool alone = true;
    for (int i = 0; i < 2; i++)
        alone &= texts[i] == NULL || stands_alone(texts[i]);
    o->foreign_cuda += !alone;
    for (int i = 0; alone && i < 2; i++)
        if (texts[i] != NULL)
            dm_buffer_puts(to[i], texts[i]);
}

static dm_status check_object(others *o, const char *place, const json_t *object, dm_error *err)
{
    static const char *const python[] = {"python_source", "python_code", "python", NULL};
    static const char *const ids[] = {"id", NULL}, *const names[] = {"kernel_name", "name", NULL};
    static const char *const c_forward[] = {"c_forward", NULL};
    static const char *const c_backward[] = {"c_backward", NULL};
    dm_synth_record *r = &o->records[o->count];
    dm_synth_record_clear(r);
    o->report->records++;
    if (!json_is_object(object)) {
        problem(o, place, "", "not an object");
        return DM_OK;
    }
    const char *id = text_of(object, ids), *name = text_of(object, names);
    const char *source = text_of(object, python), *text;
    snprintf(r->id, sizeof r->id, "%.60s", id == NULL ? "" : id);
    snprintf(r->kernel_name, sizeof r->kernel_name, "%.60s", name == NULL ? "" : name);
    const char *category = json_string_value(json_object_get(object, "category"));
    r->category = category == NULL ? -1 : dm_synth_category_find(category);
    if (r->category >= 0)
        o->report->by_category[r->category]++;
    take_cuda(o, object, r);
    if ((text = text_of(object, c_forward)) != NULL)
        dm_buffer_puts(&r->c_forward, text);
    if ((text = text_of(object, c_backward)) != NULL)
        dm_buffer_puts(&r->c_backward, text);
    const json_t *has_backward =
        json_object_get(json_object_get(object, "metadata"), "has_backward");
    const char *backward = json_string_value(json_object_get(object, "cuda_backward"));
    if (json_is_boolean(has_backward) &&
        json_is_true(has_backward) != (backward != NULL && backward[0] != '\0'))
        problem(o, place, r->id, "has_backward does not fit cuda_backward");
    if (source == NULL) {
        o->no_python++;
        problem(o, place, r->id, "no python_source");
        return DM_OK;
    }
    o->report->pairs++;
    dm_buffer_puts(&r->python_source, source);
    dm_status status = dm_buffer_check(&r->python_source, err);
    if (status == DM_OK)
        status = note_form(o, r, err);
    bool wanted = o->options->sample == 0 || o->taken < o->options->sample;
    if (status != DM_OK || !wanted || !find_kernel(o, place, r))
        return status;
    o->taken++;
    o->report->verified += o->compiles != NULL;
    memcpy(o->places[o->count], place, sizeof o->places[0]);
    return ++o->count == BATCH_MAX ? flush(o, err) : DM_OK;
}

/* ---- Files ---- */

static dm_status check_list(others *o, const char *file, const json_t *list, dm_error *err)
{
    size_t i;
    const json_t *object;
    dm_status status = DM_OK;
    json_array_foreach(list, i, object)
    {
        char place[160];
        snprintf(place, sizeof place, "%.120s[%zu]", file, i);
        status = check_object(o, place, object, err);
        if (status != DM_OK)
            break;
    }
    return status;
}

/* One JSON value: a record, a list of them, or an object with such a list. */
static dm_status check_document(others *o, const char *file, const json_t *root, dm_error *err)
{
    static const char *const lists[] = {"pairs", "data", "records", "kernels", "samples"};
    if (json_is_array(root))
        return check_list(o, file, root, err);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (json_is_array(json_object_get(root, lists[i])))
            return check_list(o, file, json_object_get(root, lists[i]), err);
    char place[160];
    snprintf(place, sizeof place, "%.150s", file);
    return check_object(o, place, root, err);
}

static dm_status check_each_line(others *o, const char *file, const dm_synth_file *f, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < f->count && status == DM_OK; i++) {
        char place[160];
        json_t *object = NULL;
        dm_error message = {0};
        size_t size = dm_synth_file_line(f, i);
        if (size == strspn(f->lines[i], " \t\r\n"))
            continue;
        snprintf(place, sizeof place, "%.120s:%zu", file, i + 1);
        if (dm_json_parse(f->lines[i], size, file, &object, &message) != DM_OK)
            problem(o, place, "", message.message);
        else
            status = check_object(o, place, object, err);
        json_decref(object);
    }
    return status;
}

static dm_status check_file(others *o, const dm_synth_dataset *dataset, size_t number,
                            dm_error *err)
{
    dm_synth_file f;
    json_t *root = NULL;
    const char *file = dataset->files[number];
    dm_status status = dm_synth_file_read(&f, dataset, number, err);
    if (status != DM_OK)
        return status;
    if (f.count > 0 && dm_json_parse(f.bytes, f.size, file, &root, NULL) == DM_OK &&
        (json_is_array(root) || json_is_object(root)))
        status = check_document(o, file, root, err);
    else
        status = check_each_line(o, file, &f, err);
    json_decref(root);
    dm_synth_file_free(&f);
    return status;
}

/* ---- The whole ---- */

static int by_hash(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(dm_hash128));
}

static void write_notes(others *o)
{
    dm_buffer *notes = &o->report->notes;
    if (o->form_count > 0)
        qsort(o->forms, o->form_count, sizeof *o->forms, by_hash);
    for (size_t i = 0; i < o->form_count; i++)
        o->report->distinct +=
            i == 0 || memcmp(&o->forms[i], &o->forms[i - 1], sizeof *o->forms) != 0;
    dm_buffer_puts(notes, "no manifest.json: no sums, no statistics, and texts are not compared "
                          "with what this compiler makes\n");
    dm_buffer_printf(notes,
                     "%" PRIu64 " of %" PRIu64 " records have Python text, %" PRIu64
                     " CUDA text, %" PRIu64 " a backward text\n",
                     o->report->pairs, o->report->records, o->with_cuda, o->with_backward);
    if (o->foreign_cuda > 0)
        dm_buffer_printf(notes,
                         "CUDA text of %" PRIu64
                         " records needs headers that are not here, and was not compiled\n",
                         o->foreign_cuda);
    dm_buffer_printf(notes, "%" PRIu64 " of %" PRIu64 " canonical forms are distinct\n",
                     o->report->distinct, o->report->pairs);
}

dm_status dm_synth_validate_others(const dm_synth_validate_options *options,
                                   const dm_synth_dataset *dataset, dm_synth_report *report,
                                   dm_error *err)
{
    others *o = calloc(1, sizeof *o);
    dm_synth_verify_options compile = {.level = DM_SYNTH_VERIFY_COMPILE};
    dm_synth_verify_options run = {.level = options->level};
    if (o == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    o->options = options;
    o->report = report;
    dm_status status = DM_OK;
    if (options->level > DM_SYNTH_VERIFY_NONE)
        status = dm_synth_verifier_create(&compile, &o->compiles, err);
    if (status == DM_OK && options->level > DM_SYNTH_VERIFY_COMPILE)
        status = dm_synth_verifier_create(&run, &o->runs, err);
    for (int i = 0; i < BATCH_MAX; i++)
        dm_synth_record_init(&o->records[i]);
    if (status == DM_OK && !options->quiet)
        o->progress = dm_progress_start("validate", "files", dataset->file_count);
    for (size_t i = 0; i < dataset->file_count && status == DM_OK; i++) {
        status = check_file(o, dataset, i, err);
        dm_progress_add(o->progress, 1);
    }
    if (status == DM_OK)
        status = flush(o, err);
    dm_progress_finish(o->progress);
    if (status == DM_OK)
        write_notes(o);
    for (int i = 0; i < BATCH_MAX; i++)
        dm_synth_record_deinit(&o->records[i]);
    dm_synth_verifier_destroy(o->compiles);
    dm_synth_verifier_destroy(o->runs);
    dm_buffer_deinit(&o->scratch);
    free(o->forms);
    free(o);
    return status;
}
