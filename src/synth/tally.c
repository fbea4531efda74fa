/* SPDX-License-Identifier: MIT */
/* tally.c - counting records. */
#include "synth/tally.h"

#include "synth/plan.h"

#include <string.h>

#define LINES_STEP 8

/* A feature is a piece of Python text. */
static const struct {
    const char *name, *text;
} features[DM_SYNTH_TALLY_FEATURES] = {
    {"if", "    if "},
    {"else", "else:"},
    {"for", "for "},
    {"while", "while "},
    {"break", "break\n"},
    {"continue", "continue\n"},
    {"early_return", "        return\n"},
    {"ternary", " else "},
    {"augmented", "= "},
    {"function", "@wp.func\n"},
    {"struct", "@wp.struct"},
    {"constant", "wp.constant("},
    {"array_1d", "wp.array(dtype"},
    {"array_2d", "array2d"},
    {"array_3d", "array3d"},
    {"array_4d", "array4d"},
    {"vector", "wp.vec"},
    {"matrix", "wp.mat"},
    {"quaternion", "wp.quat"},
    {"float64", "wp.float64"},
    {"float16", "wp.float16"},
    {"atomic", "wp.atomic_"},
    {"where", "wp.where("},
    {"random", "wp.rand"},
};

/* "a += b" and its kin; "=" alone says nothing. */
static bool has_augmented(const char *text)
{
    for (const char *at = text; (at = strstr(at, "= ")) != NULL; at += 2)
        if (at > text && strchr("+-*/%", at[-1]) != NULL)
            return true;
    return false;
}

static int error_step(double error)
{
    double limit = 1e-12;
    if (error == 0)
        return 0;
    int step = 1;
    while (step < DM_SYNTH_TALLY_ERRORS - 1 && error >= limit) {
        limit *= 10;
        step++;
    }
    return step;
}

void dm_synth_tally_add(dm_synth_tally *t, const dm_synth_record *record)
{
    if (record->kind == DM_SYNTH_REJECTED) {
        t->rejected++;
        return;
    }
    const char *text = dm_buffer_text(&record->python_source);
    int lines = dm_synth_lines(&record->python_source), step = lines / LINES_STEP;
    t->pairs++;
    t->with_backward += record->has_backward;
    t->duplicates += record->attempt > 0 && record->attempt < DM_SYNTH_ATTEMPT_SPARE;
    t->replaced += record->attempt >= DM_SYNTH_ATTEMPT_SPARE;
    t->by_category[record->category]++;
    t->by_level[record->verification.level]++;
    t->python_lines += (uint64_t)lines;
    t->forward_lines += (uint64_t)record->forward_lines;
    t->backward_lines += (uint64_t)record->backward_lines;
    t->lengths[step < DM_SYNTH_TALLY_LINES ? step : DM_SYNTH_TALLY_LINES - 1]++;
    for (int i = 0; i < DM_SYNTH_TALLY_FEATURES; i++)
        t->features[i] += strcmp(features[i].name, "augmented") == 0
                              ? has_augmented(text)
                              : strstr(text, features[i].text) != NULL;
    if (record->verification.compared > 0)
        t->errors[error_step(record->verification.gradient_error)]++;
}

/* ---- All counts alike ---- */

/* The struct is counts only, so that adding and copying need not name them. */
_Static_assert(sizeof(dm_synth_tally) % sizeof(uint64_t) == 0, "counts only");

void dm_synth_tally_merge(dm_synth_tally *into, const dm_synth_tally *other)
{
    uint64_t a[sizeof *into / sizeof(uint64_t)], b[sizeof *into / sizeof(uint64_t)];
    memcpy(a, into, sizeof a);
    memcpy(b, other, sizeof b);
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)
        a[i] += b[i];
    memcpy(into, a, sizeof a);
}

/* ---- JSON ---- */

static const char *const error_names[DM_SYNTH_TALLY_ERRORS] = {
    "0",     "<1e-12", "<1e-11", "<1e-10", "<1e-9", "<1e-8", "<1e-7",
    "<1e-6", "<1e-5",  "<1e-4",  "<1e-3",  "<1e-2", ">=1e-2"};
static const char *const length_names[DM_SYNTH_TALLY_LINES] = {"0-7",   "8-15",  "16-23", "24-31",
                                                               "32-39", "40-47", "48-55", "56-63",
                                                               "64-71", "72-79", "80-87", "88-"};

static void write_counts(dm_json *json, const char *key, const char *const *names,
                         const uint64_t *counts, int count)
{
    dm_json_begin_object(json, key);
    for (int i = 0; i < count; i++)
        dm_json_uint(json, names[i], counts[i]);
    dm_json_end_object(json);
}

void dm_synth_tally_write(const dm_synth_tally *t, dm_json *json)
{
    const char *names[DM_SYNTH_TALLY_FEATURES];
    for (int i = 0; i < DM_SYNTH_TALLY_FEATURES; i++)
        names[i] = features[i].name;
    dm_json_uint(json, "total_pairs", t->pairs);
    dm_json_uint(json, "rejected", t->rejected);
    dm_json_uint(json, "with_backward", t->with_backward);
    dm_json_uint(json, "duplicates", t->duplicates);
    dm_json_uint(json, "replaced", t->replaced);
    write_counts(json, "by_category", dm_synth_category_names, t->by_category,
                 DM_SYNTH_CATEGORY_COUNT);
    write_counts(json, "by_level", dm_synth_level_names, t->by_level, DM_SYNTH_VERIFY_FULL + 1);
    dm_json_uint(json, "python_lines", t->python_lines);
    dm_json_uint(json, "forward_lines", t->forward_lines);
    dm_json_uint(json, "backward_lines", t->backward_lines);
    write_counts(json, "lengths", length_names, t->lengths, DM_SYNTH_TALLY_LINES);
    write_counts(json, "features", names, t->features, DM_SYNTH_TALLY_FEATURES);
    write_counts(json, "gradient_errors", error_names, t->errors, DM_SYNTH_TALLY_ERRORS);
}

static bool read_count(json_t *object, const char *key, uint64_t *out)
{
    json_t *value = json_object_get(object, key);
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool read_counts(json_t *object, const char *key, const char *const *names, uint64_t *counts,
                        int count)
{
    json_t *inner = json_object_get(object, key);
    bool good = json_is_object(inner);
    for (int i = 0; i < count; i++)
        good = read_count(inner, names[i], &counts[i]) && good;
    return good;
}

bool dm_synth_tally_read(dm_synth_tally *t, json_t *object)
{
    const char *names[DM_SYNTH_TALLY_FEATURES];
    for (int i = 0; i < DM_SYNTH_TALLY_FEATURES; i++)
        names[i] = features[i].name;
    bool good = read_count(object, "total_pairs", &t->pairs) &&
                read_count(object, "rejected", &t->rejected) &&
                read_count(object, "with_backward", &t->with_backward) &&
                read_count(object, "duplicates", &t->duplicates) &&
                read_count(object, "replaced", &t->replaced) &&
                read_count(object, "python_lines", &t->python_lines) &&
                read_count(object, "forward_lines", &t->forward_lines) &&
                read_count(object, "backward_lines", &t->backward_lines);
    return read_counts(object, "by_category", dm_synth_category_names, t->by_category,
                       DM_SYNTH_CATEGORY_COUNT) &&
           read_counts(object, "by_level", dm_synth_level_names, t->by_level,
                       DM_SYNTH_VERIFY_FULL + 1) &&
           read_counts(object, "lengths", length_names, t->lengths, DM_SYNTH_TALLY_LINES) &&
           read_counts(object, "features", names, t->features, DM_SYNTH_TALLY_FEATURES) &&
           read_counts(object, "gradient_errors", error_names, t->errors, DM_SYNTH_TALLY_ERRORS) &&
           good;
}
