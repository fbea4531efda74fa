/* SPDX-License-Identifier: MIT */
/* produce.c - slots become records, wave by wave.
 *
 * A wave is a stretch of slots of one shard that threads work on together:
 *
 *   make      generate, compile and print, on all threads
 *   decide    in the order of slots: a form that is there already is made anew (plan.h)
 *   verify    in batches, on all threads (verify.h)
 *   replace   in the order of slots: what failed is set aside and another attempt takes its place
 *   write     lines and counts on all threads, then one append */
#include "synth/produce.h"

#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "synth/check/compile.h"
#include "synth/check/reject.h"
#include "synth/check/verify.h"
#include "synth/lesson/rewrite.h"
#include "synth/store/canonical.h"
#include "synth/store/compress.h"
#include "synth/store/folder.h"
#include "synth/store/manifest.h"
#include "synth/store/plan.h"
#include "synth/store/shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slots that a thread takes at a time. Without verification: ten of each category, whose lines are a
 * megabyte and still in the cache when they are written to the file. With verification the time to
 * make them does not matter. */
#define WAVE_SLOTS 120
#define MAKE_SLOTS 16
/* With verification the first wave is small, and each next one twice as large, up to whole batches:
 * so the pace is known after a second, and the progress bar can move while compilers work. */
#define FIRST_SLOTS 8        /* of a thread */
#define REPLACE_TRIES 200000 /* of one slot; a shard of a thousand finds its own in a thousand */

/* One slot of a wave. */
typedef struct slot {
    dm_synth_record record, rejected;
    bool has_rejected;
    bool fresh;   /* the record is to be made: attempt `attempt` */
    bool written; /* its line is of this record */
    int attempt;
    dm_synth_result result;
    dm_buffer line, rejected_line;
} slot;

typedef struct worker {
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_verifier *verifier;
    dm_synth_record texts; /* lends its buffers to one record after the other */
    dm_buffer scratch;
    dm_synth_tally pairs, rejected; /* of this wave */
    dm_status status;
    dm_error err;
} worker;

typedef struct producer {
    const dm_synth_produce_options *options;
    dm_synth_profile *profile;
    dm_synth_plan *plan;
    dm_pool *pool;
    worker *workers;
    int threads, batch;
    slot *slots;
    const dm_buffer **lines; /* of the slots, for one append */
    int capacity;            /* of slots: the largest wave */
    int wave;                /* slots of the next wave */
    double slot_seconds;     /* by the last wave; 0: not known yet */
    uint64_t first;          /* slot of slots[0] */
    int count;
    dm_synth_shard pairs, rejected;
    dm_hash128 *replaced; /* forms that took the place of others in this shard */
    size_t replaced_count, replaced_capacity;
    dm_progress *progress;
    bool replacing; /* only between waves, on one thread */
    int lock;
} producer;

/* ---- Making ---- */

/* Its other forms, as far as its text says; those that do not hold are left out by the verifier. */
static void add_forms(const dm_synth_produce_options *o, dm_synth_record *r)
{
    if (!o->slower || o->level < DM_SYNTH_VERIFY_RUN)
        return;
    dm_synth_unroll(dm_buffer_text(&r->python_source), r->python_source.size, &r->unrolled);
    dm_synth_unfuse(dm_buffer_text(&r->python_source), r->python_source.size, &r->unfused);
}

/* The program of a slot. */
static dm_status generate(producer *p, worker *w, slot *s, uint64_t number)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t start = o->timing ? dm_time_ns() : 0;
    dm_status status =
        dm_synth_generate(w->generator, o->seed, number, s->attempt,
                          dm_synth_plan_category(p->plan, number), &s->record, &w->err);
    if (status != DM_OK)
        return status;
    s->written = false;
    add_forms(o, &s->record);
    if (o->timing)
        s->record.generation_time_ms = (double)(dm_time_ns() - start) / 1e6;
    return DM_OK;
}

/* Its other texts and its form. A kernel that the compiler refuses has not passed; that is no error
 * here. */
static dm_status compile(producer *p, worker *w, slot *s)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t start = o->timing ? dm_time_ns() : 0;
    dm_error why = {0};
    dm_status status = dm_synth_compile(w->compiler, &s->record, o->texts | DM_SYNTH_FORM, &why);
    s->result = (dm_synth_result){.passed = status == DM_OK};
    s->fresh = false;
    if (status != DM_OK && status != DM_ECOMPILE) {
        w->err = why;
        return status;
    }
    if (status == DM_ECOMPILE)
        snprintf(s->result.reason, sizeof s->result.reason, "line %d: %.400s", why.line,
                 why.message);
    else if (o->refuse != NULL && o->refuse(&s->record))
        s->result = (dm_synth_result){.reason = "refused"};
    if (o->timing)
        s->record.generation_time_ms += (double)(dm_time_ns() - start) / 1e6;
    return DM_OK;
}

static void write_line(slot *s)
{
    dm_buffer_clear(&s->line);
    dm_synth_record_write(&s->record, &s->line);
    s->written = true;
}

static dm_status make(producer *p, worker *w, slot *s, uint64_t number)
{
    dm_status status = generate(p, w, s, number);
    return status == DM_OK ? compile(p, w, s) : status;
}

/* Without verification a record is complete now. Its line is written at once, so that the next
 * record's texts reuse memory that is in the cache. */
static dm_status compile_to_line(producer *p, worker *w, slot *s)
{
    dm_synth_record_swap_texts(&s->record, &w->texts);
    dm_status status = compile(p, w, s);
    write_line(s);
    dm_synth_record_swap_texts(&s->record, &w->texts);
    return status;
}

/* First all programs, then all texts, one category after the other: similar kernels find code and
 * tables in the cache, and their branches predicted. */
static void make_range(void *user, uint64_t begin, uint64_t end, int number)
{
    producer *p = user;
    worker *w = &p->workers[number];
    uint64_t step = (uint64_t)p->options->category_count; /* they take turns, see plan.h */
    for (uint64_t first = begin; first < begin + step; first++)
        for (uint64_t i = first; i < end && w->status == DM_OK; i += step)
            if (p->slots[i].fresh)
                w->status = generate(p, w, &p->slots[i], p->first + i);
    for (uint64_t first = begin; first < begin + step; first++)
        for (uint64_t i = first; i < end && w->status == DM_OK; i += step)
            if (p->slots[i].fresh)
                w->status = w->verifier == NULL ? compile_to_line(p, w, &p->slots[i])
                                                : compile(p, w, &p->slots[i]);
}

/* The first thing that went wrong on a thread. */
static dm_status check_workers(producer *p, dm_error *err)
{
    for (int i = 0; i < p->threads; i++)
        if (p->workers[i].status != DM_OK) {
            if (err != NULL)
                *err = p->workers[i].err;
            return p->workers[i].status;
        }
    return DM_OK;
}

/* Forms that earlier slots have are made anew, until each slot has its own. */
static dm_status decide(producer *p, dm_error *err)
{
    worker *w = &p->workers[0];
    for (int i = 0; i < p->count; i++) {
        slot *s = &p->slots[i];
        if (p->first + (uint64_t)i < dm_synth_plan_decided(p->plan))
            continue;
        while (!dm_synth_plan_offer(p->plan, s->attempt, s->record.canonical)) {
            if (++s->attempt == DM_SYNTH_ATTEMPT_SPARE)
                return dm_fail(err, DM_EUNSUPPORTED, "no new kernel for slot %llu in %d attempts",
                               (unsigned long long)p->first + (unsigned)i, s->attempt);
            w->status = make(p, w, s, p->first + (uint64_t)i);
            dm_status status = check_workers(p, err);
            if (status != DM_OK)
                return status;
        }
    }
    return DM_OK;
}

/* ---- Verifying ---- */

static void verify_slots(producer *p, worker *w, slot **slots, int count)
{
    dm_synth_record *records[64];
    dm_synth_result results[64];
    for (int from = 0; from < count && w->status == DM_OK; from += 64) {
        int n = count - from < 64 ? count - from : 64;
        for (int i = 0; i < n; i++)
            records[i] = &slots[from + i]->record;
        w->status = dm_synth_verify_batch(w->verifier, records, n, results, &w->err);
        for (int i = 0; i < n && w->status == DM_OK; i++)
            slots[from + i]->result = results[i];
    }
    (void)p;
}

static void verify_range(void *user, uint64_t begin, uint64_t end, int number)
{
    producer *p = user;
    slot *slots[64];
    int count = 0;
    for (uint64_t i = begin; i < end; i++) {
        if (p->slots[i].result.passed)
            slots[count++] = &p->slots[i];
        else
            dm_progress_add(p->progress, 1);
        if (count == 64 || i + 1 == end) {
            verify_slots(p, &p->workers[number], slots, count);
            count = 0;
        }
    }
}

/* ---- Replacing ---- */

/* failed/<id>-<attempt>.json: the reason and the record. */
static dm_status set_aside(producer *p, const slot *s, dm_error *err)
{
    char name[DM_SYNTH_ID_MAX + 32], path[DM_PATH_MAX];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "failed_at", dm_synth_level_names[s->result.failed_at]);
    dm_json_string(&json, "reason", s->result.reason);
    dm_json_string(&json, "id", s->record.id);
    dm_json_int(&json, "attempt", s->attempt);
    dm_json_string(&json, "kernel_name", s->record.kernel_name);
    dm_json_string(&json, "category", dm_synth_category_names[s->record.category]);
    dm_json_string(&json, "python_source", dm_buffer_text(&s->record.python_source));
    dm_json_end_object(&json);
    dm_json_finish(&json);
    snprintf(name, sizeof name, "failed/%s-%d.json", s->record.id, s->attempt);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_path_join(path, p->options->folder, "failed", err);
    if (status == DM_OK)
        status = dm_dir_create(path, err);
    if (status == DM_OK)
        status = dm_path_join(path, p->options->folder, name, err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(&text), text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

static bool is_replaced(const producer *p, dm_hash128 form)
{
    for (size_t i = 0; i < p->replaced_count; i++)
        if (p->replaced[i].low == form.low && p->replaced[i].high == form.high)
            return true;
    return false;
}

static dm_status remember(producer *p, dm_hash128 form, dm_error *err)
{
    if (p->replaced_count == p->replaced_capacity) {
        size_t capacity = p->replaced_capacity * 2 + 16;
        dm_hash128 *grown = realloc(p->replaced, capacity * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        p->replaced = grown;
        p->replaced_capacity = capacity;
    }
    p->replaced[p->replaced_count++] = form;
    return DM_OK;
}

/* Another kernel for a slot, that belongs to this shard and passes. */
static dm_status replace(producer *p, slot *s, uint64_t number, dm_error *err)
{
    worker *w = &p->workers[0];
    const dm_synth_produce_options *o = p->options;
    uint64_t shard = p->pairs.number, shards = dm_synth_shard_count(o);
    dm_status status = set_aside(p, s, err);
    if (status == DM_OK)
        status = dm_synth_plan_extend(p->plan, o->count, p->pool, err);
    s->attempt = DM_SYNTH_ATTEMPT_SPARE;
    for (int tries = 0; tries < REPLACE_TRIES && status == DM_OK; tries++, s->attempt++) {
        status = dm_synth_generate(w->generator, o->seed, number, s->attempt,
                                   dm_synth_plan_category(p->plan, number), &s->record, err);
        if (status != DM_OK)
            break;
        dm_hash128 form = dm_synth_canonical_hash(dm_buffer_text(&s->record.python_source),
                                                  s->record.python_source.size, &w->scratch);
        if (!dm_synth_plan_spare(p->plan, form, shard, shards) || is_replaced(p, form))
            continue;
        w->status = make(p, w, s, number);
        p->replacing = true;
        if (o->level > DM_SYNTH_VERIFY_NONE && s->result.passed && w->status == DM_OK)
            verify_slots(p, w, &s, 1);
        p->replacing = false;
        status = check_workers(p, err);
        if (status == DM_OK && s->result.passed)
            return remember(p, form, err);
        if (status == DM_OK)
            status = set_aside(p, s, err);
    }
    if (status == DM_OK)
        status = dm_fail(err, DM_EUNSUPPORTED, "slot %llu: no attempt passes",
                         (unsigned long long)number);
    return status;
}

/* ---- Writing ---- */

static dm_status write_rejected(producer *p, worker *w, slot *s)
{
    s->has_rejected = false;
    dm_status status =
        dm_synth_reject(&s->record, p->options->seed, &s->rejected, &s->has_rejected, &w->err);
    if (status != DM_OK || !s->has_rejected)
        return status;
    s->rejected.canonical = dm_synth_canonical_hash(dm_buffer_text(&s->rejected.python_source),
                                                    s->rejected.python_source.size, &w->scratch);
    dm_buffer_clear(&s->rejected_line);
    dm_synth_record_write(&s->rejected, &s->rejected_line);
    dm_synth_tally_add(&w->rejected, &s->rejected);
    return dm_buffer_check(&s->rejected_line, &w->err);
}

static void write_range(void *user, uint64_t begin, uint64_t end, int number)
{
    producer *p = user;
    worker *w = &p->workers[number];
    for (uint64_t i = begin; i < end && w->status == DM_OK; i++) {
        slot *s = &p->slots[i];
        if (!s->written)
            write_line(s);
        dm_synth_tally_add(&w->pairs, &s->record);
        w->status = dm_buffer_check(&s->line, &w->err);
        if (p->options->rejected && w->status == DM_OK)
            w->status = write_rejected(p, w, s);
    }
}

static dm_status append(producer *p, dm_error *err)
{
    int count = 0;
    dm_status status = DM_OK;
    for (int i = 0; i < p->threads; i++) {
        worker *w = &p->workers[i];
        dm_synth_tally_merge(&p->rejected.tally, &w->rejected);
        dm_synth_tally_merge(&p->pairs.tally, &w->pairs);
        w->rejected = w->pairs = (dm_synth_tally){0};
    }
    for (int i = 0; p->options->rejected && i < p->count; i++)
        if (p->slots[i].has_rejected)
            p->lines[count++] = &p->slots[i].rejected_line;
    if (count > 0)
        status = dm_synth_shard_append(&p->rejected, p->lines, count, err);
    for (int i = 0; i < p->count; i++)
        p->lines[i] = &p->slots[i].line;
    if (status == DM_OK)
        status = dm_synth_shard_append(&p->pairs, p->lines, p->count, err);
    return status;
}

/* ---- Waves and shards ---- */

static dm_status wave(producer *p, uint64_t first, int count, dm_error *err)
{
    bool verify = p->options->level > DM_SYNTH_VERIFY_NONE;
    p->first = first;
    p->count = count;
    for (int i = 0; i < count; i++) {
        uint64_t number = first + (uint64_t)i;
        p->slots[i].fresh = true;
        p->slots[i].attempt =
            number < dm_synth_plan_decided(p->plan) ? dm_synth_plan_attempt(p->plan, number) : 0;
    }
    uint64_t start = dm_time_ns();
    if (verify)
        dm_progress_expect(p->progress, (uint64_t)count, count * p->slot_seconds);
    dm_pool_run(p->pool, (uint64_t)count, verify ? MAKE_SLOTS : WAVE_SLOTS, make_range, p);
    dm_status status = check_workers(p, err);
    if (status == DM_OK)
        status = decide(p, err);
    if (status == DM_OK && verify) {
        int batch = (count + p->threads - 1) / p->threads;
        batch = batch < p->batch ? batch : p->batch;
        dm_pool_run(p->pool, (uint64_t)count, (uint64_t)batch, verify_range, p);
        status = check_workers(p, err);
    }
    for (int i = 0; i < count && status == DM_OK; i++)
        if (!p->slots[i].result.passed)
            status = replace(p, &p->slots[i], first + (uint64_t)i, err);
    if (status == DM_OK) {
        dm_pool_run(p->pool, (uint64_t)count, MAKE_SLOTS, write_range, p);
        status = check_workers(p, err);
    }
    if (status == DM_OK)
        status = append(p, err);
    if (!verify)
        dm_progress_add(p->progress, (uint64_t)count);
    p->slot_seconds = (double)(dm_time_ns() - start) / 1e9 / count;
    p->wave = 2 * p->wave < p->capacity ? 2 * p->wave : p->capacity;
    return status;
}

/* ---- Resuming ---- */

/* A line that an earlier run wrote: everything but what was measured is made again and compared.
 * The rejected program of a pair follows from it and is written anew. */
static dm_status check_line(void *user, const dm_synth_record *record, const char *line,
                            size_t size, dm_error *err)
{
    producer *p = user;
    const dm_synth_produce_options *o = p->options;
    worker *w = &p->workers[0];
    slot *s = &p->slots[0];
    const dm_buffer *rejected = &s->rejected_line;
    if (record->kind != DM_SYNTH_PAIR || record->attempt < 0 ||
        record->attempt >= DM_SYNTH_ATTEMPT_SPARE + REPLACE_TRIES ||
        record->verification.level != o->level || (record->generation_time_ms >= 0) != o->timing)
        return dm_fail(err, DM_EFORMAT, "no record of this dataset");
    s->attempt = record->attempt;
    dm_status status = make(p, w, s, p->first + p->pairs.lines);
    s->record.verification = record->verification;
    dm_synth_record_take_found(&s->record, record);
    s->record.generation_time_ms = record->generation_time_ms;
    write_line(s);
    if (status == DM_OK)
        status = dm_buffer_check(&s->line, &w->err);
    if (status == DM_OK && (s->line.size != size || memcmp(s->line.data, line, size) != 0))
        return dm_fail(err, DM_EFORMAT, "not what its seed, slot and attempt give");
    if (status == DM_OK && o->rejected)
        status = write_rejected(p, w, s);
    if (status != DM_OK) {
        *err = w->err;
        return status;
    }
    if (o->rejected && s->has_rejected)
        status = dm_synth_shard_append(&p->rejected, &rejected, 1, err);
    if (status == DM_OK && record->attempt >= DM_SYNTH_ATTEMPT_SPARE)
        status = remember(p, record->canonical, err);
    dm_progress_add(p->progress, 1);
    return status;
}

static dm_status open_shard(producer *p, uint64_t number, uint64_t begin, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    dm_synth_shard_lines lines = {.seed = o->seed, .first = begin, .check = check_line, .user = p};
    dm_status status = DM_OK;
    p->first = begin;
    p->replaced_count = 0;
    p->pairs.file = p->rejected.file = -1;
    if (o->rejected)
        status = dm_synth_shard_open_anew(&p->rejected, o->folder, "rejected", number, o->compress,
                                          o->seed, err);
    if (status == DM_OK)
        status =
            dm_synth_shard_open(&p->pairs, o->folder, "pairs", number, o->compress, &lines, err);
    dm_synth_tally_merge(&p->rejected.tally, &p->workers[0].rejected);
    p->workers[0].rejected = (dm_synth_tally){0};
    if (status == DM_OK)
        status = dm_synth_plan_extend(p->plan, begin + p->pairs.lines, p->pool, err);
    return status;
}

/* Is the shard complete as its state says, with its rejected programs? *seconds: time spent so far. */
static dm_status find_shard(producer *p, uint64_t number, bool *whole, double *seconds,
                            dm_error *err)
{
    static const char *const kinds[] = {"pairs", "rejected"};
    const dm_synth_produce_options *o = p->options;
    dm_status status = DM_OK;
    *whole = true;
    *seconds = 0;
    for (int k = 0; k < (o->rejected ? 2 : 1) && status == DM_OK; k++) {
        dm_synth_shard_state state;
        dm_synth_shard_condition condition;
        char name[DM_SYNTH_SHARD_NAME_MAX];
        status =
            dm_synth_shard_check(o->folder, kinds[k], number, o->compress, &state, &condition, err);
        if (status != DM_OK)
            break;
        *whole = *whole && condition == DM_SYNTH_SHARD_WHOLE;
        *seconds += condition != DM_SYNTH_SHARD_NONE ? state.seconds : 0;
        dm_synth_shard_name(name, kinds[k], number, o->compress);
        if (condition == DM_SYNTH_SHARD_CUT)
            dm_log(DM_LOG_WARN, "%s/%s is shorter than it was made; what is missing is made again",
                   o->folder, name);
    }
    return status;
}

static dm_status produce_shard(producer *p, uint64_t number, double seconds, uint64_t *shipped,
                               dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t begin = number * (uint64_t)o->shard_lines, end = begin + (uint64_t)o->shard_lines;
    uint64_t start = dm_time_ns();
    end = end < o->count ? end : o->count;
    dm_status status = open_shard(p, number, begin, err);
    while (status == DM_OK && begin + p->pairs.lines < end && !dm_stop_requested()) {
        uint64_t first = begin + p->pairs.lines, left = end - first;
        int count = left < (uint64_t)p->wave ? (int)left : p->wave;
        status = wave(p, first, count, err);
        *shipped += status == DM_OK ? (uint64_t)count : 0;
    }
    seconds += (double)(dm_time_ns() - start) / 1e9;
    if (status == DM_OK && begin + p->pairs.lines < end) { /* the next run goes on with it */
        dm_synth_shard_close(&p->pairs);
        dm_synth_shard_close(&p->rejected);
        return DM_OK;
    }
    if (status == DM_OK && o->rejected)
        status = dm_synth_shard_finish(&p->rejected, 0, o->rank, err);
    if (status == DM_OK)
        status = dm_synth_shard_finish(&p->pairs, seconds, o->rank, err);
    dm_synth_shard_close(&p->pairs);
    dm_synth_shard_close(&p->rejected);
    return status;
}

static uint64_t slots_of(const dm_synth_produce_options *o, uint64_t shard)
{
    uint64_t left = o->count - shard * (uint64_t)o->shard_lines;
    return left < (uint64_t)o->shard_lines ? left : (uint64_t)o->shard_lines;
}

static dm_status produce_all(producer *p, dm_synth_produced *produced, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t shards = dm_synth_shard_count(o), own = 0, start = dm_time_ns();
    dm_status status = DM_OK;
    for (uint64_t i = (uint64_t)o->rank; i < shards; i += (uint64_t)o->ranks)
        own += slots_of(o, i);
    if (!o->quiet)
        p->progress = dm_progress_start("produce", "pairs", own);
    for (uint64_t i = (uint64_t)o->rank; i < shards && status == DM_OK && !dm_stop_requested();
         i += (uint64_t)o->ranks) {
        bool whole;
        double seconds;
        status = find_shard(p, i, &whole, &seconds, err);
        if (status == DM_OK && whole)
            dm_progress_add(p->progress, slots_of(o, i));
        else if (status == DM_OK)
            status = produce_shard(p, i, seconds, &produced->shipped, err);
    }
    dm_progress_finish(p->progress);
    produced->seconds = (double)(dm_time_ns() - start) / 1e9;
    return status;
}

/* ---- Set-up ---- */

static void add_progress(void *user, uint64_t pairs)
{
    producer *p = user;
    if (!p->replacing) /* another attempt at a pair that was counted */
        dm_progress_add(p->progress, pairs);
}

static dm_status set_up_workers(producer *p, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    dm_status status = dm_pool_create(o->jobs, &p->pool, err);
    if (status != DM_OK)
        return status;
    p->threads = dm_pool_threads(p->pool);
    p->workers = calloc((size_t)p->threads, sizeof *p->workers);
    if (p->workers == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_synth_verify_options verify = {.level = o->level,
                                      .seed = o->seed,
                                      .repairs = o->repairs,
                                      .warp = o->warp,
                                      .ptx = o->ptx,
                                      .warp_names = (o->texts & DM_SYNTH_WARP_NAMES) != 0,
                                      .progress = add_progress,
                                      .user = p};
    for (int i = 0; i < p->threads && status == DM_OK; i++) {
        worker *w = &p->workers[i];
        dm_synth_record_init(&w->texts);
        status = dm_synth_generator_create(p->profile, &w->generator, err);
        if (status == DM_OK)
            status = dm_synth_compiler_create(&w->compiler, err);
        if (status == DM_OK && o->level > DM_SYNTH_VERIFY_NONE)
            status = dm_synth_verifier_create(&verify, &w->verifier, err);
    }
    if (status != DM_OK)
        return status;
    p->batch = p->workers[0].verifier == NULL ? 1 : dm_synth_verifier_batch(p->workers[0].verifier);
    p->capacity = p->threads * (p->workers[0].verifier == NULL ? WAVE_SLOTS : p->batch);
    p->wave = p->workers[0].verifier == NULL ? p->capacity : p->threads * FIRST_SLOTS;
    p->slots = calloc((size_t)p->capacity, sizeof *p->slots);
    p->lines = calloc((size_t)p->capacity, sizeof(const dm_buffer *));
    if (p->slots == NULL || p->lines == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < p->capacity; i++) {
        dm_synth_record_init(&p->slots[i].record);
        dm_synth_record_init(&p->slots[i].rejected);
    }
    return DM_OK;
}

static void tear_down(producer *p)
{
    for (int i = 0; p->slots != NULL && i < p->capacity; i++) {
        dm_synth_record_deinit(&p->slots[i].record);
        dm_synth_record_deinit(&p->slots[i].rejected);
        dm_buffer_deinit(&p->slots[i].line);
        dm_buffer_deinit(&p->slots[i].rejected_line);
    }
    for (int i = 0; p->workers != NULL && i < p->threads; i++) {
        dm_synth_generator_destroy(p->workers[i].generator);
        dm_synth_compiler_destroy(p->workers[i].compiler);
        dm_synth_verifier_destroy(p->workers[i].verifier);
        dm_synth_record_deinit(&p->workers[i].texts);
        dm_buffer_deinit(&p->workers[i].scratch);
    }
    free(p->slots);
    free(p->lines);
    free(p->workers);
    free(p->replaced);
    dm_synth_plan_destroy(p->plan);
    dm_pool_destroy(p->pool);
    dm_synth_profile_destroy(p->profile);
    if (p->lock >= 0)
        close(p->lock);
}

/* Two processes may not write the same shards. The lock goes with the process: a child that runs
 * kernels does not have it, and may outlive a killed parent for a moment. */
static dm_status take_lock(producer *p, dm_error *err)
{
    char name[64], path[DM_PATH_MAX];
    snprintf(name, sizeof name, "state/lock-%d-of-%d", p->options->rank, p->options->ranks);
    dm_status status = dm_path_join(path, p->options->folder, name, err);
    if (status != DM_OK)
        return status;
    p->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->lock < 0)
        return dm_fail(err, DM_EIO, "cannot open %s: %s", path, strerror(errno));
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(p->lock, F_SETLK, &whole) != 0)
        return dm_fail(err, DM_EINVAL, "%s is being produced by another process",
                       p->options->folder);
    return DM_OK;
}

static dm_status check_options(const dm_synth_produce_options *o, dm_error *err)
{
    if (o->count == 0 || o->shard_lines <= 0 || o->category_count <= 0)
        return dm_fail(err, DM_EINVAL, "nothing to produce");
    if ((o->texts & (DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_C)) == 0)
        return dm_fail(err, DM_EINVAL, "records need texts for a device");
    if (o->compress && dm_synth_compress_check(err) != DM_OK)
        return DM_EUNSUPPORTED;
    if (o->warp != NULL && o->level == DM_SYNTH_VERIFY_NONE)
        return dm_fail(err, DM_EINVAL, "--warp-text needs --verify compile at least");
    if (o->rank < 0 || o->ranks <= 0 || o->rank >= o->ranks)
        return dm_fail(err, DM_EINVAL, "rank %d of %d", o->rank, o->ranks);
    return DM_OK;
}

dm_status dm_synth_produce(const dm_synth_produce_options *options, dm_synth_produced *produced,
                           dm_error *err)
{
    char state[DM_PATH_MAX];
    producer p = {.options = options, .lock = -1};
    *produced = (dm_synth_produced){0};
    dm_status status = check_options(options, err);
    if (status == DM_OK)
        status = dm_path_join(state, options->folder, "state", err);
    if (status == DM_OK)
        status = dm_synth_profile_create(options->profile, &p.profile, err);
    if (status == DM_OK) {
        p.profile->style = options->style;
        p.profile->slower = options->slower;
        p.profile->programs = options->programs;
    }
    if (status == DM_OK)
        status = dm_synth_folder_check(options->folder, err);
    if (status == DM_OK)
        status = dm_synth_manifest_compare(options, p.profile, err);
    if (status == DM_OK)
        status = dm_dir_create(state, err);
    if (status == DM_OK)
        status = take_lock(&p, err);
    if (status == DM_OK && options->ranks == 1) /* else another rank may be writing */
        status = dm_synth_folder_sweep(options->folder, err);
    if (status == DM_OK)
        status = dm_synth_manifest_begin(options, p.profile, err);
    if (status == DM_OK)
        status = set_up_workers(&p, err);
    if (status == DM_OK) {
        dm_synth_plan_options plan = {.seed = options->seed,
                                      .slots = options->count,
                                      .categories = options->categories,
                                      .category_count = options->category_count,
                                      .profile = p.profile};
        status = dm_synth_plan_create(&plan, &p.plan, err);
    }
    if (status == DM_OK)
        status = produce_all(&p, produced, err);
    if (status == DM_OK && dm_stop_requested())
        dm_stop_kept("%llu pairs are in %s; the same call goes on with them",
                     (unsigned long long)produced->shipped, options->folder);
    else if (status == DM_OK)
        status = dm_synth_manifest_finish(options, p.profile, produced, err);
    tear_down(&p);
    return status;
}

void dm_synth_ranks(int *rank, int *ranks)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    *rank = 0;
    *ranks = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *own = getenv(names[i][0]), *all = getenv(names[i][1]);
        if (own == NULL || all == NULL || atoi(all) < 1 || atoi(own) < 0 || atoi(own) >= atoi(all))
            continue;
        *rank = atoi(own);
        *ranks = atoi(all);
        return;
    }
}
