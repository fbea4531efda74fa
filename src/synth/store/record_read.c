/* SPDX-License-Identifier: MIT */
/* record_read.c - a dataset's record from its line of JSON.
 *
 * Every field is checked for its type and against the rest of the record, and none may be left over. */
#include "synth/store/record.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One object being taken apart: every field is asked for once, and none may be left. */
typedef struct reader {
    json_t *object;
    size_t taken;
    const char *file;
    int number;
    dm_status status;
    dm_error *err;
} reader;

static void complain(reader *r, const char *key, const char *what)
{
    if (r->status == DM_OK)
        r->status = dm_fail_at(r->err, DM_EFORMAT, r->file, r->number, "%s: %s", key, what);
}

static json_t *take(reader *r, const char *key, bool needed)
{
    json_t *value = json_object_get(r->object, key);
    if (value != NULL)
        r->taken++;
    else if (needed)
        complain(r, key, "missing");
    return value;
}

static const char *take_string(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_string(value))
        complain(r, key, "not a string");
    return json_is_string(value) ? json_string_value(value) : "";
}

static void take_text(reader *r, const char *key, dm_buffer *out, bool needed)
{
    json_t *value = take(r, key, needed);
    if (json_is_string(value) && json_string_length(value) > 0)
        dm_buffer_append(out, json_string_value(value), json_string_length(value));
    else if (value != NULL && !json_is_null(value))
        complain(r, key, "not a text");
}

/* A part that is kept as JSON, as dotmatrix writes it. */
static void take_json(reader *r, const char *key, dm_buffer *out)
{
    json_t *value = take(r, key, false);
    char *text = value == NULL ? NULL : json_dumps(value, JSON_PRESERVE_ORDER);
    if (value != NULL && !json_is_object(value))
        complain(r, key, "not an object");
    if (text != NULL)
        dm_buffer_puts(out, text);
    free(text);
}

static bool take_bool(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_boolean(value))
        complain(r, key, "not true or false");
    return json_is_true(value);
}

static int take_int(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (value != NULL && (number < 0 || number > INT32_MAX))
        complain(r, key, "not a count");
    return (int)number;
}

static double take_figure(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_null(value) &&
        !(json_is_number(value) && json_number_value(value) >= 0))
        complain(r, key, "not a figure");
    return json_is_number(value) ? json_number_value(value) : -1;
}

static void take_name(reader *r, const char *key, char *out, size_t size)
{
    const char *text = take_string(r, key);
    if (strlen(text) >= size)
        complain(r, key, "too long");
    else
        memcpy(out, text, strlen(text) + 1);
}

static int take_choice(reader *r, const char *key, const char *const *names)
{
    int found = dm_synth_name_find(names, take_string(r, key));
    if (found < 0)
        complain(r, key, "not one of the values that there are");
    return found < 0 ? 0 : found;
}

static void take_hash(reader *r, const char *key, dm_hash128 *out)
{
    const char *text = take_string(r, key);
    char again[DM_HASH_HEX_SIZE] = "";
    unsigned long long high, low;
    if (strlen(text) == DM_HASH_HEX_SIZE - 1 && sscanf(text, "%16llx%16llx", &high, &low) == 2) {
        *out = (dm_hash128){.low = low, .high = high};
        dm_hash128_hex(*out, again);
    }
    if (strcmp(text, again) != 0)
        complain(r, key, "not a hash");
}

static reader enter(reader *r, const char *key)
{
    reader inner = *r;
    inner.object = take(r, key, true);
    inner.taken = 0;
    if (inner.object != NULL && !json_is_object(inner.object))
        complain(&inner, key, "not an object");
    return inner;
}

static void leave(reader *r, const char *name)
{
    if (json_is_object(r->object) && r->taken != json_object_size(r->object))
        complain(r, name, "fields that are not known");
}

static void expect(reader *r, const char *key, const char *should)
{
    if (strcmp(take_string(r, key), should) != 0)
        complain(r, key, "does not fit the rest of the record");
}

/* Needs `canonical`, which splits depend on. */
static void read_lesson(reader *outer, dm_synth_record *record)
{
    json_t *idiom = take(outer, "idiom", true);
    if (json_is_string(idiom) && json_string_length(idiom) > 0 &&
        json_string_length(idiom) < sizeof record->idiom)
        memcpy(record->idiom, json_string_value(idiom), json_string_length(idiom) + 1);
    else if (idiom != NULL && !json_is_null(idiom))
        complain(outer, "idiom", "not a name");
    record->difficulty = take_int(outer, "difficulty");
    reader split = enter(outer, "split");
    expect(&split, "record", dm_synth_part_names[dm_synth_part_by_record(record)]);
    expect(&split, "idiom", dm_synth_part_names[dm_synth_part_by_idiom(record->idiom)]);
    leave(&split, "split");
    outer->status = split.status;
    if (json_is_null(json_object_get(outer->object, "description"))) {
        outer->taken++;
        return;
    }
    reader words = enter(outer, "description");
    take_text(&words, "line", &record->line, true);
    take_text(&words, "paragraph", &record->paragraph, true);
    take_text(&words, "specification", &record->specification, true);
    if (record->line.size == 0)
        complain(&words, "description", "without a line");
    leave(&words, "description");
    outer->status = words.status;
}

static void read_repair(reader *outer, dm_synth_record *record)
{
    static const char *const finders[] = {"compiler", "test", NULL};
    reader r = enter(outer, "repair");
    take_name(&r, "mutation", record->mutation, sizeof record->mutation);
    if (record->mutation[0] == '\0')
        complain(&r, "mutation", "empty");
    record->found_by_test = take_choice(&r, "found_by", finders) == 1;
    take_text(&r, "broken_source", &record->broken, true);
    take_text(&r, "symptom", &record->symptom, true);
    leave(&r, "repair");
    outer->status = r.status;
}

static void read_form(reader *outer, const char *key, dm_buffer *text, double *cost,
                      const char *other, double *other_cost)
{
    if (json_object_get(outer->object, key) == NULL)
        return;
    reader r = enter(outer, key);
    take_text(&r, "python_source", text, true);
    *cost = take_int(&r, "cost");
    *other_cost = take_int(&r, other);
    leave(&r, key);
    outer->status = r.status;
}

static void read_power(reader *outer, dm_synth_verification *v)
{
    reader r = enter(outer, "test_power");
    v->cheats = take_int(&r, "cheats");
    v->mutants = take_int(&r, "mutants");
    v->noticed = take_int(&r, "noticed");
    v->edges = take_int(&r, "edges");
    v->edges_noticed = take_int(&r, "edges_noticed");
    if (v->cheats <= 0 || v->noticed > v->mutants || v->edges_noticed > v->edges)
        complain(&r, "test_power", "more was noticed than was planted");
    leave(&r, "test_power");
    outer->status = r.status;
}

static void read_extras(reader *outer, dm_synth_record *record)
{
    if (json_object_get(outer->object, "test_power") != NULL)
        read_power(outer, &record->verification);
    if (json_object_get(outer->object, "repair") != NULL)
        read_repair(outer, record);
    read_form(outer, "slower", &record->slower, &record->slower_cost, "faster_cost", &record->cost);
    read_form(outer, "unfused", &record->unfused, &record->unfused_cost, "faster_cost",
              &record->cost);
    read_form(outer, "unrolled", &record->unrolled, &record->unrolled_cost, "slower_cost",
              &record->cost);
    if (json_object_get(outer->object, "warp_cuda_forward") != NULL) {
        take_text(outer, "warp_cuda_forward", &record->warp_forward, true);
        take_text(outer, "warp_cuda_backward", &record->warp_backward, true);
        take_name(outer, "warp_version", record->warp_version, sizeof record->warp_version);
    }
    if (json_object_get(outer->object, "ptx") != NULL) {
        take_text(outer, "ptx", &record->ptx, true);
        reader r = enter(outer, "resources");
        record->registers = take_int(&r, "registers");
        record->shared_bytes = take_int(&r, "shared_bytes");
        leave(&r, "resources");
        outer->status = r.status;
    }
}

static void read_metadata(reader *outer, dm_synth_record *record)
{
    reader r = enter(outer, "metadata");
    const char *device = take_string(&r, "device");
    if (strcmp(device, dm_synth_record_device(record)) != 0)
        complain(&r, "device", "does not fit the texts");
    record->has_backward = take_bool(&r, "has_backward");
    record->forward_lines = take_int(&r, "forward_lines");
    record->backward_lines = take_int(&r, "backward_lines");
    record->generation_time_ms = take_figure(&r, "generation_time_ms");
    record->attempt = take_int(&r, "attempt");
    leave(&r, "metadata");
    outer->status = r.status;
}

static void read_verification(reader *outer, dm_synth_verification *v)
{
    reader r = enter(outer, "verification");
    v->level = (dm_synth_level)take_choice(&r, "level", dm_synth_level_names);
    v->c_compiled = take_bool(&r, "c_compiled");
    v->cuda_compiled = take_bool(&r, "cuda_compiled");
    v->ran = take_bool(&r, "ran");
    v->compared = take_int(&r, "compared");
    v->gradient_error = take_figure(&r, "gradient_error");
    v->output_magnitude = take_figure(&r, "output_magnitude");
    leave(&r, "verification");
    outer->status = r.status;
}

dm_status dm_synth_record_read(dm_synth_record *record, const char *line, size_t size,
                               const char *file, int number, dm_error *err)
{
    reader r = {.file = file, .number = number, .err = err};
    dm_synth_record_clear(record);
    dm_status status = dm_json_parse(line, size, file, &r.object, err);
    if (status != DM_OK) {
        if (err != NULL)
            err->line = number;
        return status;
    }
    if (!json_is_object(r.object))
        complain(&r, "record", "not an object");
    take_name(&r, "id", record->id, sizeof record->id);
    record->kind = (dm_synth_kind)take_choice(&r, "kind", dm_synth_kind_names);
    take_name(&r, "kernel_name", record->kernel_name, sizeof record->kernel_name);
    record->category = take_choice(&r, "category", dm_synth_category_names);
    take_text(&r, "python_source", &record->python_source, true);
    take_hash(&r, "canonical", &record->canonical);
    if (record->kind == DM_SYNTH_PAIR) {
        read_lesson(&r, record);
        take_text(&r, "cuda_forward", &record->cuda_forward, true);
        take_text(&r, "cuda_backward", &record->cuda_backward, true);
        take_text(&r, "c_forward", &record->c_forward, false);
        take_text(&r, "c_backward", &record->c_backward, record->c_forward.size > 0);
        take_text(&r, "ir", &record->ir, false);
        take_json(&r, "program", &record->program);
        take_text(&r, "reference", &record->reference, true);
        take_text(&r, "test", &record->test, true);
        read_extras(&r, record);
        expect(&r, "device", dm_synth_record_device(record));
        read_metadata(&r, record);
        read_verification(&r, &record->verification);
    } else {
        take_text(&r, "diagnostics", &record->diagnostics, true);
    }
    leave(&r, "record");
    json_decref(r.object);
    if (r.status != DM_OK)
        return r.status;
    return dm_synth_record_check(record, err);
}
