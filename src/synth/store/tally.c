/* SPDX-License-Identifier: MIT */
/* tally.c - counting records. */
#include "synth/store/tally.h"

#include "synth/store/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_STEP 8

/* What is counted of Python texts. */
enum {
    IF,
    ELSE,
    FOR,
    WHILE,
    BREAK,
    CONTINUE,
    EARLY_RETURN,
    TERNARY,
    AUGMENTED,
    FUNCTION,
    STRUCT,
    CONSTANT,
    ARRAY_1D,
    ARRAY_2D,
    ARRAY_3D,
    ARRAY_4D,
    VECTOR,
    MATRIX,
    QUATERNION,
    FLOAT64,
    FLOAT16,
    ATOMIC,
    WHERE,
    RANDOM,
    FEATURE_COUNT
};
_Static_assert(FEATURE_COUNT == DM_SYNTH_TALLY_FEATURES && FEATURE_COUNT <= 32, "a bit for each");

static const char *const feature_names[FEATURE_COUNT] = {
    [IF] = "if",
    [ELSE] = "else",
    [FOR] = "for",
    [WHILE] = "while",
    [BREAK] = "break",
    [CONTINUE] = "continue",
    [EARLY_RETURN] = "early_return",
    [TERNARY] = "ternary",
    [AUGMENTED] = "augmented",
    [FUNCTION] = "function",
    [STRUCT] = "struct",
    [CONSTANT] = "constant",
    [ARRAY_1D] = "array_1d",
    [ARRAY_2D] = "array_2d",
    [ARRAY_3D] = "array_3d",
    [ARRAY_4D] = "array_4d",
    [VECTOR] = "vector",
    [MATRIX] = "matrix",
    [QUATERNION] = "quaternion",
    [FLOAT64] = "float64",
    [FLOAT16] = "float16",
    [ATOMIC] = "atomic",
    [WHERE] = "where",
    [RANDOM] = "random",
};

/* A feature's bit if a text begins like this. */
static uint32_t bit_if(const char *at, const char *begin, int feature)
{
    return strncmp(at, begin, strlen(begin)) == 0 ? 1u << feature : 0;
}

/* What a line begins with, behind its indentation. */
static uint32_t at_line(const char *at, size_t indent)
{
    switch (*at) {
    case 'i':
        return bit_if(at, "if ", IF);
    case 'e':
        return bit_if(at, "else:", ELSE);
    case 'f':
        return bit_if(at, "for ", FOR);
    case 'w':
        return bit_if(at, "while ", WHILE);
    case 'b':
        return bit_if(at, "break\n", BREAK);
    case 'c':
        return bit_if(at, "continue\n", CONTINUE);
    case 'r':
        return indent < 8 ? 0 : bit_if(at, "return\n", EARLY_RETURN);
    case '@':
        return bit_if(at, "@wp.func\n", FUNCTION) | bit_if(at, "@wp.struct", STRUCT);
    default:
        return 0;
    }
}

/* What is said of wp. */
static uint32_t at_builtin(const char *at)
{
    switch (*at) {
    case 'a':
        return bit_if(at, "array(dtype", ARRAY_1D) | bit_if(at, "array2d", ARRAY_2D) |
               bit_if(at, "array3d", ARRAY_3D) | bit_if(at, "array4d", ARRAY_4D) |
               bit_if(at, "atomic_", ATOMIC);
    case 'c':
        return bit_if(at, "constant(", CONSTANT);
    case 'v':
        return bit_if(at, "vec", VECTOR);
    case 'm':
        return bit_if(at, "mat", MATRIX);
    case 'q':
        return bit_if(at, "quat", QUATERNION);
    case 'f':
        return bit_if(at, "float64", FLOAT64) | bit_if(at, "float16", FLOAT16);
    case 'w':
        return bit_if(at, "where(", WHERE);
    case 'r':
        return bit_if(at, "rand", RANDOM);
    default:
        return 0;
    }
}

/* What a text has, a bit for each feature. */
static uint32_t features_of(const char *text)
{
    uint32_t found = 0;
    const char *line = text;
    do {
        line += *line == '\n';
        size_t indent = strspn(line, " ");
        found |= at_line(line + indent, indent);
    } while ((line = strchr(line, '\n')) != NULL);
    for (const char *dot = text; (dot = strchr(dot, '.')) != NULL; dot++)
        if (dot - text >= 2 && dot[-1] == 'p' && dot[-2] == 'w')
            found |= at_builtin(dot + 1);
    for (const char *sign = text; (sign = strstr(sign, "= ")) != NULL; sign++)
        if (sign > text && strchr("+-*/%", sign[-1]) != NULL) {
            found |= 1u << AUGMENTED;
            break;
        }
    return found | (strstr(text, " else ") != NULL ? 1u << TERNARY : 0);
}

/* By the three digits that the record has, so that reading it gives the same step. */
static int error_step(double error)
{
    char text[32];
    double limit = 1e-12;
    snprintf(text, sizeof text, "%.2e", error);
    error = strtod(text, NULL);
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
    uint32_t has = features_of(dm_buffer_text(&record->python_source));
    for (int i = 0; i < DM_SYNTH_TALLY_FEATURES; i++)
        t->features[i] += has >> i & 1;
    t->programs += record->program.size > 0;
    t->cheats += (uint64_t)record->verification.cheats;
    t->mutants += (uint64_t)record->verification.mutants;
    t->noticed += (uint64_t)record->verification.noticed;
    t->edges += (uint64_t)record->verification.edges;
    t->edges_noticed += (uint64_t)record->verification.edges_noticed;
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
    write_counts(json, "features", feature_names, t->features, DM_SYNTH_TALLY_FEATURES);
    write_counts(json, "gradient_errors", error_names, t->errors, DM_SYNTH_TALLY_ERRORS);
    dm_json_uint(json, "programs", t->programs);
    dm_json_uint(json, "cheats", t->cheats);
    dm_json_uint(json, "mutants", t->mutants);
    dm_json_uint(json, "mutants_noticed", t->noticed);
    dm_json_uint(json, "edges", t->edges);
    dm_json_uint(json, "edges_noticed", t->edges_noticed);
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
    bool good = read_count(object, "total_pairs", &t->pairs) &&
                read_count(object, "rejected", &t->rejected) &&
                read_count(object, "with_backward", &t->with_backward) &&
                read_count(object, "duplicates", &t->duplicates) &&
                read_count(object, "replaced", &t->replaced) &&
                read_count(object, "python_lines", &t->python_lines) &&
                read_count(object, "forward_lines", &t->forward_lines) &&
                read_count(object, "backward_lines", &t->backward_lines) &&
                read_count(object, "programs", &t->programs) &&
                read_count(object, "cheats", &t->cheats) &&
                read_count(object, "mutants", &t->mutants) &&
                read_count(object, "mutants_noticed", &t->noticed) &&
                read_count(object, "edges", &t->edges) &&
                read_count(object, "edges_noticed", &t->edges_noticed);
    return read_counts(object, "by_category", dm_synth_category_names, t->by_category,
                       DM_SYNTH_CATEGORY_COUNT) &&
           read_counts(object, "by_level", dm_synth_level_names, t->by_level,
                       DM_SYNTH_VERIFY_FULL + 1) &&
           read_counts(object, "lengths", length_names, t->lengths, DM_SYNTH_TALLY_LINES) &&
           read_counts(object, "features", feature_names, t->features, DM_SYNTH_TALLY_FEATURES) &&
           read_counts(object, "gradient_errors", error_names, t->errors, DM_SYNTH_TALLY_ERRORS) &&
           good;
}
