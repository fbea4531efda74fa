/* SPDX-License-Identifier: MIT */
/* validate.c - is a dataset what it says it is? See validate.h.
 *
 * Shard by shard: the file is read and cut into lines; threads take batches of lines (schema, texts,
 * verifier); then, in the order of the lines, findings go into the report, and ids and forms into
 * tables that find duplicates. */
#include "synth/audit/validate.h"

#include "base/terminal/progress.h"
#include "base/thread.h"
#include "synth/audit/validate_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The report ---- */

void dm_synth_report_problem(dm_synth_report *report, const char *format, ...)
{
    va_list args;
    if (report->problem_count++ >= DM_SYNTH_PROBLEMS_MAX)
        return;
    va_start(args, format);
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_vprintf(&text, format, args);
    report->problems[report->problem_count - 1] = dm_buffer_take(&text);
    va_end(args);
}

void dm_synth_report_free(dm_synth_report *report)
{
    for (int i = 0; i < DM_SYNTH_PROBLEMS_MAX; i++)
        free(report->problems[i]);
    dm_buffer_deinit(&report->notes);
    memset(report, 0, sizeof *report);
}

/* ---- Tables of what was seen ---- */

typedef struct hash_set {
    dm_hash128 *slots; /* all zero: empty */
    size_t capacity, count;
} hash_set;

/* False when it was there, or when memory ran out (then *failed). */
static bool set_add(hash_set *set, dm_hash128 key, bool *failed)
{
    if (key.low == 0 && key.high == 0)
        key.low = 1;
    if (2 * set->count >= set->capacity) {
        hash_set wider = {.capacity = set->capacity == 0 ? 4096 : 2 * set->capacity};
        wider.slots = calloc(wider.capacity, sizeof *wider.slots);
        if (wider.slots == NULL) {
            *failed = true;
            return false;
        }
        for (size_t i = 0; i < set->capacity; i++)
            if (set->slots[i].low != 0 || set->slots[i].high != 0)
                set_add(&wider, set->slots[i], failed);
        free(set->slots);
        *set = wider;
    }
    size_t slot = key.low & (set->capacity - 1);
    for (; set->slots[slot].low != 0 || set->slots[slot].high != 0;
         slot = (slot + 1) & (set->capacity - 1))
        if (set->slots[slot].low == key.low && set->slots[slot].high == key.high)
            return false;
    set->slots[slot] = key;
    set->count++;
    return true;
}

/* ---- The run ---- */

typedef struct validation {
    const dm_synth_validate_options *options;
    dm_synth_report *report;
    dm_synth_dataset dataset;
    dm_pool *pool;
    dm_synth_worker *workers;
    int worker_count;
    hash_set ids, forms;
    dm_progress *progress;
    dm_synth_profile *profile;
    dm_synth_claims claims;
    uint64_t lines_left, sample_left; /* of the sampling */
    uint64_t random;
    bool no_memory;
    /* The shard being read. */
    const char *file;
    dm_synth_file lines;
    dm_synth_entry *entries;
    pthread_mutex_t lock; /* of the first error */
    dm_status status;
    dm_error error;
} validation;

static void keep_error(validation *v, dm_status status, const dm_error *err)
{
    pthread_mutex_lock(&v->lock);
    if (v->status == DM_OK) {
        v->status = status;
        v->error = *err;
    }
    pthread_mutex_unlock(&v->lock);
}

/* Figures of a record may differ a little on another machine, whose functions round otherwise. */
static bool near(double recorded, double found, double ignored)
{
    double most = fmax(fabs(recorded), fabs(found));
    return most <= ignored || fabs(recorded - found) <= 0.05 * most;
}

static void compare_figures(dm_synth_entry *e, const dm_synth_verification *recorded,
                            const dm_synth_verification *found, dm_synth_level level)
{
    if (recorded->ran && level >= DM_SYNTH_VERIFY_RUN &&
        !near(recorded->output_magnitude, found->output_magnitude, 1e-30))
        dm_synth_entry_problem(e, "output_magnitude is %.2e, not %.2e", found->output_magnitude,
                               recorded->output_magnitude);
    if (recorded->cheats > 0 && level >= DM_SYNTH_VERIFY_RUN &&
        (recorded->cheats != found->cheats || recorded->mutants != found->mutants ||
         recorded->noticed != found->noticed || recorded->edges != found->edges ||
         recorded->edges_noticed != found->edges_noticed))
        dm_synth_entry_problem(e,
                               "test_power: %d cheats, %d of %d mutants and %d of %d edges are "
                               "noticed, not %d, %d of %d and %d of %d",
                               found->cheats, found->noticed, found->mutants, found->edges_noticed,
                               found->edges, recorded->cheats, recorded->noticed, recorded->mutants,
                               recorded->edges_noticed, recorded->edges);
    if (recorded->level < DM_SYNTH_VERIFY_GRAD || level < DM_SYNTH_VERIFY_GRAD)
        return;
    if (recorded->compared != found->compared)
        dm_synth_entry_problem(e, "%d gradients were compared, not %d", found->compared,
                               recorded->compared);
    else if (found->compared > 0 && !near(recorded->gradient_error, found->gradient_error, 1e-6))
        dm_synth_entry_problem(e, "gradient_error is %.2e, not %.2e", found->gradient_error,
                               recorded->gradient_error);
}

/* Texts that are the same but for their numbers, and these nearly so. */
static bool nearly_same(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        bool digits = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
        if (!digits) {
            if (*a++ != *b++)
                return false;
            continue;
        }
        char *a_end, *b_end;
        double x = strtod(a, &a_end), y = strtod(b, &b_end);
        if (fabs(x - y) > 2e-5 * fmax(fabs(x), fabs(y)) + 1e-6)
            return false;
        a = a_end;
        b = b_end;
    }
    return *a == *b;
}

static dm_status verify_entries(validation *v, dm_synth_worker *w, dm_synth_entry **chosen,
                                int count, dm_error *err)
{
    dm_synth_record **records = calloc((size_t)count + 1, sizeof(dm_synth_record *));
    dm_synth_result *results = calloc((size_t)count + 1, sizeof *results);
    dm_synth_verification *recorded = calloc((size_t)count + 1, sizeof *recorded);
    dm_status status = DM_OK;
    dm_buffer *tests = calloc((size_t)count + 1, sizeof *tests); /* as they were read */
    if (records == NULL || results == NULL || recorded == NULL || tests == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < count && status == DM_OK; i++) {
        records[i] = &chosen[i]->record;
        recorded[i] = records[i]->verification;
        tests[i] = records[i]->test;
        records[i]->test = DM_BUFFER_EMPTY;
    }
    if (status == DM_OK)
        status = dm_synth_verify_batch(w->verifier, records, count, results, err);
    for (int i = 0; i < count && status == DM_OK; i++) {
        if (!results[i].passed)
            dm_synth_entry_problem(chosen[i], "fails at %s: %s",
                                   dm_synth_level_names[results[i].failed_at], results[i].reason);
        else
            compare_figures(chosen[i], &recorded[i], &records[i]->verification, v->options->level);
        if (results[i].passed && v->options->level >= DM_SYNTH_VERIFY_RUN && tests[i].size > 0 &&
            !nearly_same(dm_buffer_text(&tests[i]), dm_buffer_text(&records[i]->test)))
            dm_synth_entry_problem(chosen[i], "test is not what the kernel gives");
        records[i]->verification = recorded[i];
    }
    for (int i = 0; tests != NULL && i < count; i++)
        dm_buffer_deinit(&tests[i]);
    free(tests);
    free(records);
    free(results);
    free(recorded);
    return status;
}

/* One batch of lines, by one thread. */
static void check_lines(void *user, uint64_t begin, uint64_t end, int worker)
{
    validation *v = user;
    dm_synth_worker *w = &v->workers[worker];
    dm_error err = {0};
    dm_synth_entry **chosen = calloc((size_t)(end - begin) + 1, sizeof(dm_synth_entry *));
    dm_status status = chosen == NULL ? dm_fail(&err, DM_ENOMEM, "out of memory") : v->status;
    int count = 0;
    for (uint64_t i = begin; i < end && status == DM_OK; i++) {
        dm_synth_entry *e = &v->entries[i];
        dm_synth_record_init(&e->record);
        status = dm_synth_check_line(w, &v->claims, e, &err);
        if (e->readable)
            dm_synth_tally_add(&w->tally, &e->record);
        /* Only C compiled here from the Python text is run, never C text of somebody else's dataset. */
        e->sampled =
            e->sampled && e->readable && e->problems.size == 0 && e->record.kind == DM_SYNTH_PAIR;
        if (e->sampled)
            chosen[count++] = e;
    }
    if (status == DM_OK && count > 0 && w->verifier != NULL)
        status = verify_entries(v, w, chosen, count, &err);
    for (uint64_t i = begin; i < end; i++) /* texts are needed no more */
        dm_synth_record_deinit(&v->entries[i].record);
    if (status != DM_OK && v->status == DM_OK)
        keep_error(v, status, &err);
    free(chosen);
    dm_progress_add(v->progress, end - begin);
}

/* ---- Folding ---- */

static void fold_entry(validation *v, dm_synth_entry *e)
{
    dm_synth_report *report = v->report;
    const dm_synth_record *r = &e->record;
    if (e->readable) {
        bool is_pair = r->kind == DM_SYNTH_PAIR;
        report->records++;
        report->pairs += is_pair;
        report->rejected += !is_pair;
        report->verified += is_pair && e->sampled && v->options->level > DM_SYNTH_VERIFY_NONE;
        if (!set_add(&v->ids, dm_hash128_of(r->id, strlen(r->id)), &v->no_memory))
            dm_synth_entry_problem(e, "another record has this id");
        if (is_pair) {
            uint64_t slot;
            if (dm_synth_claims_slot(&v->claims, r, &slot))
                v->claims.attempts[slot] = r->attempt;
            report->by_category[r->category]++;
            if (set_add(&v->forms, r->canonical, &v->no_memory))
                report->distinct++;
            else
                dm_synth_entry_problem(e, "another pair has this canonical form");
        }
    }
    const char *at = dm_buffer_text(&e->problems);
    while (*at != '\0') {
        int size = (int)strcspn(at, "\n");
        dm_synth_report_problem(report, "%.*s", size, at);
        at += size + (at[size] == '\n');
    }
    dm_buffer_deinit(&e->problems);
}

/* The sample is one of pairs. */
static bool holds_pairs(const validation *v, size_t file)
{
    return strncmp(v->dataset.files[file], "pairs-", 6) == 0;
}

/* Draw a uniform sample of exactly so many lines. */
static bool sample_line(validation *v)
{
    if (v->options->sample == 0)
        return true;
    v->random = v->random * 6364136223846793005u + 1442695040888963407u;
    double unit = (double)(v->random >> 11) * 0x1p-53;
    bool taken = v->lines_left > 0 && unit * (double)v->lines_left < (double)v->sample_left;
    v->lines_left -= v->lines_left > 0;
    v->sample_left -= taken && v->sample_left > 0;
    return taken;
}

static dm_status check_file(validation *v, size_t number, dm_error *err)
{
    dm_error message = {0};
    dm_status status = dm_synth_file_read(&v->lines, &v->dataset, number, &message);
    if (status == DM_ENOENT || status == DM_EIO) {
        dm_synth_report_problem(v->report, "%s", message.message);
        return DM_OK;
    }
    if (status != DM_OK) {
        if (err != NULL)
            *err = message;
        return status;
    }
    v->file = v->dataset.files[number];
    dm_synth_check_shard(v->dataset.manifest, number, &v->lines, v->report);
    v->entries = calloc(v->lines.count + 1, sizeof *v->entries);
    if (v->entries == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < v->lines.count && status == DM_OK; i++)
        v->entries[i] = (dm_synth_entry){.file = v->file,
                                         .line = v->lines.lines[i],
                                         .size = dm_synth_file_line(&v->lines, i),
                                         .number = (int)i + 1,
                                         .sampled = holds_pairs(v, number) && sample_line(v)};
    if (status == DM_OK) {
        dm_synth_verifier *verifier = v->workers[0].verifier;
        uint64_t grain = verifier == NULL ? 64 : (uint64_t)dm_synth_verifier_batch(verifier);
        dm_pool_run(v->pool, v->lines.count, grain, check_lines, v);
        status = v->status;
        if (status != DM_OK && err != NULL)
            *err = v->error;
    }
    for (size_t i = 0; v->entries != NULL && i < v->lines.count; i++)
        fold_entry(v, &v->entries[i]);
    free(v->entries);
    v->entries = NULL;
    dm_synth_file_free(&v->lines);
    if (status == DM_OK && v->no_memory)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    return status;
}

/* ---- The whole ---- */

static dm_status count_lines(validation *v, uint64_t *count, dm_error *err)
{
    dm_status status = DM_OK;
    *count = v->lines_left = 0;
    for (size_t i = 0; i < v->dataset.file_count && status == DM_OK; i++) {
        dm_synth_file file;
        status = dm_synth_file_read(&file, &v->dataset, i, err);
        if (status == DM_ENOENT)
            status = DM_OK; /* said later */
        else if (status == DM_OK)
            *count += file.count;
        if (status == DM_OK && holds_pairs(v, i))
            v->lines_left += file.count;
        dm_synth_file_free(&file);
    }
    return status;
}

static dm_status make_workers(validation *v, dm_error *err)
{
    dm_status status = dm_pool_create(v->options->jobs, &v->pool, err);
    if (status != DM_OK)
        return status;
    v->worker_count = dm_pool_threads(v->pool);
    v->workers = calloc((size_t)v->worker_count, sizeof *v->workers);
    if (v->workers == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    /* The producer's arguments, for figures that can be compared. */
    dm_synth_verify_options verify = {.level = v->options->level,
                                      .seed = v->claims.seed,
                                      .repairs = v->claims.repairs,
                                      .ptx = v->claims.ptx,
                                      .warp_names = v->claims.warp_names};
    for (int i = 0; i < v->worker_count && status == DM_OK; i++) {
        dm_synth_record_init(&v->workers[i].again);
        dm_synth_record_init(&v->workers[i].broken);
        status = dm_synth_compiler_create(&v->workers[i].compiler, err);
        if (status == DM_OK && v->claims.generates)
            status = dm_synth_generator_create(v->profile, &v->workers[i].generator, err);
        if (status == DM_OK && verify.level > DM_SYNTH_VERIFY_NONE)
            status = dm_synth_verifier_create(&verify, &v->workers[i].verifier, err);
    }
    return status;
}

static void drop(validation *v)
{
    for (int i = 0; v->workers != NULL && i < v->worker_count; i++) {
        dm_synth_record_deinit(&v->workers[i].again);
        dm_synth_record_deinit(&v->workers[i].broken);
        dm_buffer_deinit(&v->workers[i].scratch);
        dm_synth_compiler_destroy(v->workers[i].compiler);
        dm_synth_verifier_destroy(v->workers[i].verifier);
        dm_synth_generator_destroy(v->workers[i].generator);
    }
    dm_synth_profile_destroy(v->profile);
    free(v->workers);
    dm_pool_destroy(v->pool);
    free(v->claims.attempts);
    free(v->ids.slots);
    free(v->forms.slots);
    dm_synth_dataset_close(&v->dataset);
    pthread_mutex_destroy(&v->lock);
}

/* No category under half of the mean, of those that the dataset is to have. */
static void check_balance(const validation *v)
{
    dm_synth_report *report = v->report;
    uint64_t wanted = (uint64_t)v->claims.category_count;
    if (report->pairs < 2 * wanted)
        return;
    for (int i = 0; i < v->claims.category_count; i++) {
        int category = v->claims.categories[i];
        if (2 * report->by_category[category] * wanted < report->pairs)
            dm_synth_report_problem(
                report, "category %s has %" PRIu64 " pairs, less than half of the mean",
                dm_synth_category_names[category], report->by_category[category]);
    }
}

static dm_status check_ours(validation *v, dm_error *err)
{
    uint64_t lines = 0;
    dm_status status = count_lines(v, &lines, err);
    v->sample_left = v->options->sample;
    v->random = v->options->seed;
    if (status == DM_OK)
        status = dm_synth_profile_create(NULL, &v->profile, err);
    if (status != DM_OK ||
        !dm_synth_claims_read(v->dataset.manifest, v->profile, &v->claims, v->report))
        return status;
    v->claims.attempts = malloc((v->claims.count + 1) * sizeof *v->claims.attempts);
    if (v->claims.attempts == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    memset(v->claims.attempts, 0xFF, (v->claims.count + 1) * sizeof *v->claims.attempts);
    status = make_workers(v, err);
    if (status == DM_OK && !v->options->quiet)
        v->progress = dm_progress_start("validate", "records", lines);
    for (size_t i = 0; i < v->dataset.file_count && status == DM_OK; i++)
        status = check_file(v, i, err);
    dm_progress_finish(v->progress);
    if (status != DM_OK)
        return status;
    dm_synth_tally all = {0};
    for (int i = 0; i < v->worker_count; i++)
        dm_synth_tally_merge(&all, &v->workers[i].tally);
    check_balance(v);
    dm_synth_check_meta(&v->dataset, &v->claims, &all, v->report);
    return DM_OK;
}

dm_status dm_synth_validate(const dm_synth_validate_options *options, dm_synth_report *report,
                            dm_error *err)
{
    validation v = {.options = options, .report = report};
    memset(report, 0, sizeof *report);
    pthread_mutex_init(&v.lock, NULL);
    dm_status status = dm_synth_dataset_open(&v.dataset, options->path, err);
    if (status == DM_OK) {
        report->ours = v.dataset.manifest != NULL;
        status = report->ours ? check_ours(&v, err)
                              : dm_synth_validate_others(options, &v.dataset, report, err);
    }
    if (status == DM_OK && report->records == 0 && report->problem_count == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: no records: nothing was checked", options->path);
    drop(&v);
    return status;
}
