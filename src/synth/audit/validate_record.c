/* SPDX-License-Identifier: MIT */
/* validate_record.c - one line of a dataset of ours: schema, structure, texts made again. */
#include "synth/audit/validate_internal.h"
#include "synth/check/reject.h"
#include "synth/lesson/describe.h"
#include "synth/lesson/rewrite.h"
#include "synth/store/canonical.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dm_synth_entry_problem(dm_synth_entry *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    dm_buffer_printf(&e->problems, "%s:%d: ", e->file, e->number);
    if (e->record.id[0] != '\0')
        dm_buffer_printf(&e->problems, "%s: ", e->record.id);
    dm_buffer_vprintf(&e->problems, format, args);
    dm_buffer_putc(&e->problems, '\n');
    va_end(args);
}

/* Where two texts part, as a line of them. */
static int first_difference(const dm_buffer *a, const dm_buffer *b)
{
    int line = 1;
    const char *p = dm_buffer_text(a), *q = dm_buffer_text(b);
    for (size_t i = 0; i < a->size && i < b->size && p[i] == q[i]; i++)
        line += p[i] == '\n';
    return line;
}

static void compare_text(dm_synth_entry *e, const char *name, const dm_buffer *is,
                         const dm_buffer *should)
{
    if (is->size == should->size &&
        memcmp(dm_buffer_text(is), dm_buffer_text(should), is->size) == 0)
        return;
    dm_synth_entry_problem(e, "%s is not what python_source compiles to (line %d)", name,
                           first_difference(is, should));
}

static dm_status check_texts(dm_synth_worker *w, const dm_synth_claims *c, dm_synth_entry *e,
                             dm_error *err)
{
    const dm_synth_record *r = &e->record;
    dm_synth_record *again = &w->again;
    dm_error message = {0};
    int texts = (r->cuda_forward.size > 0 ? DM_SYNTH_TEXT_CUDA : 0) |
                (r->c_forward.size > 0 ? DM_SYNTH_TEXT_C : 0) |
                (r->ir.size > 0 ? DM_SYNTH_TEXT_IR : 0) |
                (r->reference.size > 0 ? DM_SYNTH_TEXT_REFERENCE : 0) |
                (c->warp_names ? DM_SYNTH_WARP_NAMES : 0);
    dm_synth_record_clear(again);
    memcpy(again->kernel_name, r->kernel_name, sizeof again->kernel_name);
    dm_buffer_append(&again->python_source, dm_buffer_text(&r->python_source),
                     r->python_source.size);
    dm_buffer_append(&again->line, dm_buffer_text(&r->line), r->line.size);
    dm_buffer_append(&again->paragraph, dm_buffer_text(&r->paragraph), r->paragraph.size);
    dm_buffer_append(&again->specification, dm_buffer_text(&r->specification),
                     r->specification.size);
    again->canonical = r->canonical; /* the names of functions are by these two */
    if (c->warp_names)
        dm_buffer_append(&again->warp_forward, dm_buffer_text(&r->warp_forward),
                         r->warp_forward.size);
    if ((texts & (DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_C)) == 0) {
        dm_synth_entry_problem(e, "neither CUDA nor C texts");
        return DM_OK;
    }
    dm_status status = dm_synth_compile(w->compiler, again, texts, &message);
    if (status == DM_ENOMEM) {
        if (err != NULL)
            *err = message;
        return status;
    }
    if (status != DM_OK) {
        dm_synth_entry_problem(e, "python_source: line %d: %s", message.line, message.message);
        return DM_OK;
    }
    compare_text(e, "cuda_forward", &r->cuda_forward, &again->cuda_forward);
    compare_text(e, "cuda_backward", &r->cuda_backward, &again->cuda_backward);
    compare_text(e, "c_forward", &r->c_forward, &again->c_forward);
    compare_text(e, "c_backward", &r->c_backward, &again->c_backward);
    compare_text(e, "ir", &r->ir, &again->ir);
    compare_text(e, "program", &r->program, &again->program);
    compare_text(e, "reference", &r->reference, &again->reference);
    compare_text(e, "specification", &r->specification, &again->specification);
    if (r->difficulty != again->difficulty)
        dm_synth_entry_problem(e, "difficulty is %d, not %d", again->difficulty, r->difficulty);
    if (r->has_backward != again->has_backward)
        dm_synth_entry_problem(e, "has_backward is wrong");
    if (r->forward_lines != again->forward_lines || r->backward_lines != again->backward_lines)
        dm_synth_entry_problem(e, "%d and %d lines, but the texts have %d and %d", r->forward_lines,
                               r->backward_lines, again->forward_lines, again->backward_lines);
    return DM_OK;
}

static dm_status check_rejected(dm_synth_worker *w, dm_synth_entry *e, dm_error *err)
{
    bool compiles = false;
    dm_status status = dm_synth_diagnose(&e->record, &w->scratch, &compiles, err);
    if (status != DM_OK)
        return status;
    if (compiles)
        dm_synth_entry_problem(e, "a rejected program that compiles");
    else if (w->scratch.size != e->record.diagnostics.size ||
             memcmp(w->scratch.data, e->record.diagnostics.data, w->scratch.size) != 0)
        dm_synth_entry_problem(e, "diagnostics are not what the compiler says");
    return DM_OK;
}

/* Does the record hold what the manifest says all records do? */
static void check_claims(const dm_synth_claims *c, dm_synth_entry *e)
{
    const dm_synth_record *r = &e->record;
    const dm_synth_verification *v = &r->verification;
    bool pair = r->kind == DM_SYNTH_PAIR;
    if (pair && ((r->cuda_forward.size > 0) != c->cuda || (r->c_forward.size > 0) != c->c ||
                 (r->ir.size > 0) != c->ir || (r->reference.size > 0) != c->reference ||
                 (r->test.size > 0) != (c->reference && c->level >= DM_SYNTH_VERIFY_RUN)))
        dm_synth_entry_problem(e, "has not the texts that the manifest says");
    if (pair && (r->warp_forward.size > 0) != c->warp)
        dm_synth_entry_problem(e, "has not the texts of Warp's that the manifest says");
    if (pair &&
        ((r->ptx.size > 0) != (c->ptx && c->level >= DM_SYNTH_VERIFY_RUN) ||
         (r->mutation[0] != '\0' && !c->repairs) ||
         ((r->slower.size > 0 || r->unrolled.size > 0 || r->unfused.size > 0) && !c->slower)))
        dm_synth_entry_problem(e, "has not the kinds that the manifest says");
    if (pair && c->timing != (r->generation_time_ms >= 0))
        dm_synth_entry_problem(e, "generation_time_ms is not as the manifest says");
    if (pair && v->level != c->level)
        dm_synth_entry_problem(e, "verified to level %s, not %s", dm_synth_level_names[v->level],
                               dm_synth_level_names[c->level]);
    if (pair && (v->c_compiled != (c->level >= DM_SYNTH_VERIFY_RUN ||
                                   (c->c && c->level >= DM_SYNTH_VERIFY_COMPILE)) ||
                 v->cuda_compiled != (c->cuda && c->level >= DM_SYNTH_VERIFY_COMPILE) ||
                 v->ran != (c->level >= DM_SYNTH_VERIFY_RUN) ||
                 (v->compared > 0 && c->level < DM_SYNTH_VERIFY_GRAD)))
        dm_synth_entry_problem(e, "verification does not fit its level");
}

/* "<seed>-<slot>", and an 'r' behind it for a rejected program. */
bool dm_synth_claims_slot(const dm_synth_claims *c, const dm_synth_record *r, uint64_t *slot)
{
    char *end;
    const char *dash = strchr(r->id, '-');
    if (dash == NULL)
        return false;
    *slot = strtoull(dash + 1, &end, 10);
    return strcmp(end, r->kind == DM_SYNTH_PAIR ? "" : "r") == 0 && *slot < c->count;
}

static bool same_text(const dm_buffer *a, const dm_buffer *b, size_t size)
{
    return a->size >= size && b->size >= size &&
           memcmp(dm_buffer_text(a), dm_buffer_text(b), size) == 0;
}

static void check_form(dm_synth_entry *e, const char *name, const dm_buffer *is,
                       bool (*make)(const char *, size_t, dm_buffer *))
{
    const dm_buffer *source = &e->record.python_source;
    dm_buffer should = DM_BUFFER_EMPTY;
    bool made = is->size == 0 || make(dm_buffer_text(source), source->size, &should);
    if (is->size > 0 && (!made || is->size != should.size || !same_text(is, &should, is->size)))
        dm_synth_entry_problem(e, "%s is not that form of python_source", name);
    dm_buffer_deinit(&should);
}

static void check_forms(dm_synth_entry *e)
{
    check_form(e, "unrolled", &e->record.unrolled, dm_synth_unroll);
    check_form(e, "unfused", &e->record.unfused, dm_synth_unfuse);
}

/* The preconditions are not the generator's. */
static void check_words(dm_synth_entry *e, const dm_synth_record *again)
{
    const dm_synth_record *r = &e->record;
    if (r->line.size != again->line.size || r->paragraph.size != again->paragraph.size ||
        !same_text(&r->line, &again->line, r->line.size) ||
        !same_text(&r->paragraph, &again->paragraph, r->paragraph.size) ||
        !same_text(&r->specification, &again->specification, again->specification.size) ||
        (r->specification.size > 0 &&
         strncmp(r->specification.data + again->specification.size, DM_SYNTH_PRECONDITIONS,
                 strlen(DM_SYNTH_PRECONDITIONS)) != 0))
        dm_synth_entry_problem(e, "description is not what the generator makes");
    if (r->slower.size > 0 && (r->slower.size != again->slower.size ||
                               !same_text(&r->slower, &again->slower, r->slower.size)))
        dm_synth_entry_problem(e, "slower is not what the generator makes");
    check_forms(e);
    if (strcmp(r->idiom, again->idiom) != 0)
        dm_synth_entry_problem(e, "its idiom is '%s'", again->idiom);
}

/* A pair is what the generator makes of seed, slot and attempt, and a rejected program that pair,
 * broken. Pairs are read before rejected programs. */
static dm_status make_again(dm_synth_worker *w, const dm_synth_claims *c, dm_synth_entry *e,
                            uint64_t slot, const dm_synth_record **made, dm_error *err)
{
    const dm_synth_record *r = &e->record;
    int category = c->categories[slot % (uint64_t)c->category_count];
    int attempt = r->kind == DM_SYNTH_PAIR ? r->attempt : c->attempts[slot];
    bool broken = false;
    *made = &w->again;
    if (attempt < 0) {
        dm_synth_entry_problem(e, "its pair is missing");
        *made = NULL;
        return DM_OK;
    }
    dm_status status = dm_synth_generate(w->generator, c->seed, slot, attempt,
                                         (dm_synth_category)category, &w->again, err);
    if (status != DM_OK || r->kind == DM_SYNTH_PAIR)
        return status;
    *made = &w->broken;
    return dm_synth_reject(&w->again, c->seed, &w->broken, &broken, err);
}

static dm_status check_generated(dm_synth_worker *w, const dm_synth_claims *c, dm_synth_entry *e,
                                 dm_error *err)
{
    const dm_synth_record *r = &e->record, *again;
    uint64_t slot = 0;
    if (!dm_synth_claims_slot(c, r, &slot)) {
        dm_synth_entry_problem(e, "no id of this dataset");
        return DM_OK;
    }
    int category = c->categories[slot % (uint64_t)c->category_count];
    if (r->category != category)
        dm_synth_entry_problem(e, "its category is %s", dm_synth_category_names[category]);
    if (w->generator == NULL)
        return DM_OK;
    dm_status status = make_again(w, c, e, slot, &again, err);
    if (status != DM_OK || again == NULL)
        return status;
    if (strcmp(again->id, r->id) != 0)
        dm_synth_entry_problem(e, "its id is %s", again->id);
    if (r->kind == DM_SYNTH_PAIR)
        check_words(e, again);
    if (strcmp(again->kernel_name, r->kernel_name) != 0 ||
        again->python_source.size != r->python_source.size ||
        memcmp(dm_buffer_text(&again->python_source), dm_buffer_text(&r->python_source),
               r->python_source.size) != 0)
        dm_synth_entry_problem(e, "python_source is not what the generator makes (line %d)",
                               first_difference(&again->python_source, &r->python_source));
    return DM_OK;
}

dm_status dm_synth_check_line(dm_synth_worker *w, const dm_synth_claims *claims, dm_synth_entry *e,
                              dm_error *err)
{
    dm_error message = {0};
    dm_status status =
        dm_synth_record_read(&e->record, e->line, e->size, e->file, e->number, &message);
    e->readable = status == DM_OK;
    if (!e->readable) {
        if (status == DM_ENOMEM) {
            if (err != NULL)
                *err = message;
            return status;
        }
        e->record.id[0] = '\0';
        dm_synth_entry_problem(e, "%s", message.message);
        return DM_OK;
    }
    dm_buffer_clear(&w->scratch);
    dm_synth_record_write(&e->record, &w->scratch);
    if (w->scratch.size != e->size || memcmp(w->scratch.data, e->line, e->size) != 0)
        dm_synth_entry_problem(e, "not written as this version writes it");
    dm_hash128 hash = dm_synth_canonical_hash(dm_buffer_text(&e->record.python_source),
                                              e->record.python_source.size, &w->scratch);
    if (memcmp(&hash, &e->record.canonical, sizeof hash) != 0)
        dm_synth_entry_problem(e, "canonical is not the hash of python_source's form");
    check_claims(claims, e);
    status = check_generated(w, claims, e, err);
    if (status != DM_OK)
        return status;
    return e->record.kind == DM_SYNTH_PAIR ? check_texts(w, claims, e, err)
                                           : check_rejected(w, e, err);
}
