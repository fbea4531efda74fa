/* SPDX-License-Identifier: MIT */
/* produce_wave.c - slots become records, wave by wave.
 *
 * A wave is a stretch of slots of one shard that threads work on together:
 *
 *   make      generate, compile and print, on all threads
 *   decide    in the order of slots: a form that is there already is made anew (plan.h)
 *   verify    in batches, on all threads (verify.h)
 *   replace   in the order of slots: what failed is set aside and another attempt takes its place
 *   write     lines and counts on all threads, then one append
 *
 * A line that an earlier run wrote is made again here, too, and compared. */
#include "base/file.h"
#include "synth/check/reject.h"
#include "synth/lesson/rewrite.h"
#include "synth/produce_internal.h"
#include "synth/store/canonical.h"
#include "synth/store/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots that a thread takes at a time: with verification, where the time to make them does not matter,
 * and for writing lines. */
#define MAKE_SLOTS 16
#define REPLACE_TRIES 200000 /* of one slot; a shard of a thousand finds its own in a thousand */

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
static dm_status generate(dm_synth_producer *p, dm_synth_produce_worker *w,
                          dm_synth_produce_slot *s, uint64_t number)
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
static dm_status compile(dm_synth_producer *p, dm_synth_produce_worker *w, dm_synth_produce_slot *s)
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

static void write_line(dm_synth_produce_slot *s)
{
    dm_buffer_clear(&s->line);
    dm_synth_record_write(&s->record, &s->line);
    s->written = true;
}

static dm_status make(dm_synth_producer *p, dm_synth_produce_worker *w, dm_synth_produce_slot *s,
                      uint64_t number)
{
    dm_status status = generate(p, w, s, number);
    return status == DM_OK ? compile(p, w, s) : status;
}

/* Without verification a record is complete now. Its line is written at once, so that the next
 * record's texts reuse memory that is in the cache. */
static dm_status compile_to_line(dm_synth_producer *p, dm_synth_produce_worker *w,
                                 dm_synth_produce_slot *s)
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
    dm_synth_producer *p = user;
    dm_synth_produce_worker *w = &p->workers[number];
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
static dm_status check_workers(dm_synth_producer *p, dm_error *err)
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
static dm_status decide(dm_synth_producer *p, dm_error *err)
{
    dm_synth_produce_worker *w = &p->workers[0];
    for (int i = 0; i < p->count; i++) {
        dm_synth_produce_slot *s = &p->slots[i];
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

static void verify_slots(dm_synth_producer *p, dm_synth_produce_worker *w,
                         dm_synth_produce_slot **slots, int count)
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
    dm_synth_producer *p = user;
    dm_synth_produce_slot *slots[64];
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
static dm_status set_aside(dm_synth_producer *p, const dm_synth_produce_slot *s, dm_error *err)
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

static bool is_replaced(const dm_synth_producer *p, dm_hash128 form)
{
    for (size_t i = 0; i < p->replaced_count; i++)
        if (p->replaced[i].low == form.low && p->replaced[i].high == form.high)
            return true;
    return false;
}

static dm_status remember(dm_synth_producer *p, dm_hash128 form, dm_error *err)
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
static dm_status replace(dm_synth_producer *p, dm_synth_produce_slot *s, uint64_t number,
                         dm_error *err)
{
    dm_synth_produce_worker *w = &p->workers[0];
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

static dm_status write_rejected(dm_synth_producer *p, dm_synth_produce_worker *w,
                                dm_synth_produce_slot *s)
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
    dm_synth_producer *p = user;
    dm_synth_produce_worker *w = &p->workers[number];
    for (uint64_t i = begin; i < end && w->status == DM_OK; i++) {
        dm_synth_produce_slot *s = &p->slots[i];
        if (!s->written)
            write_line(s);
        dm_synth_tally_add(&w->pairs, &s->record);
        w->status = dm_buffer_check(&s->line, &w->err);
        if (p->options->rejected && w->status == DM_OK)
            w->status = write_rejected(p, w, s);
    }
}

static dm_status append(dm_synth_producer *p, dm_error *err)
{
    int count = 0;
    dm_status status = DM_OK;
    for (int i = 0; i < p->threads; i++) {
        dm_synth_produce_worker *w = &p->workers[i];
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

/* ---- The wave ---- */

dm_status dm_synth_produce_wave(dm_synth_producer *p, uint64_t first, int count, dm_error *err)
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
    dm_pool_run(p->pool, (uint64_t)count, verify ? MAKE_SLOTS : DM_SYNTH_WAVE_SLOTS, make_range, p);
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
dm_status dm_synth_produce_check_line(void *user, const dm_synth_record *record, const char *line,
                                      size_t size, dm_error *err)
{
    dm_synth_producer *p = user;
    const dm_synth_produce_options *o = p->options;
    dm_synth_produce_worker *w = &p->workers[0];
    dm_synth_produce_slot *s = &p->slots[0];
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
