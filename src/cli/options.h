/* SPDX-License-Identifier: MIT */
/* options.h - command lines described by tables.
 *
 * A command declares a struct for its values and one row per option; parsing, defaults, range
 * checks, `--help` text and error messages all come from the rows:
 *
 *     typedef struct run_options { int64_t frames; bool fast; dm_strings regions; } run_options;
 *     static const dm_option rows[] = {
 *         DM_OPTION_INT(run_options, frames, "frames", "N", 1, INT64_MAX, "60", "frames to run"),
 *         DM_OPTION_FLAG(run_options, fast, "fast", "draw nothing"),
 *         DM_OPTION_STRINGS(run_options, regions, "mem-region", "LO:HI", "compare this; repeatable"),
 *     };
 *
 * Accepted are `--name value`, `--name=value`, options and positional arguments in any order, and
 * `--` after which everything is positional. When an option is given twice the last one counts.
 * Strings point into argv. */
#ifndef DM_CLI_OPTIONS_H
#define DM_CLI_OPTIONS_H

#include "base/buffer.h"
#include "base/closest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dm_option_type {
    DM_OPTION_TYPE_FLAG,    /* bool, set by its presence */
    DM_OPTION_TYPE_STRING,  /* const char *; NULL without a default */
    DM_OPTION_TYPE_STRINGS, /* dm_strings; may be given many times */
    DM_OPTION_TYPE_INT,     /* int64_t, decimal or 0x..., within [low, high] */
    DM_OPTION_TYPE_DOUBLE,  /* double, finite */
    DM_OPTION_TYPE_CHOICE,  /* int, the index in `choices` */
    DM_OPTION_TYPE_GIVEN,   /* no option: dm_strings, the names that stood on the command line */
} dm_option_type;

typedef struct dm_strings {
    const char **items;
    size_t count;
} dm_strings;

typedef struct dm_option {
    const char *name; /* without the dashes */
    dm_option_type type;
    size_t offset;       /* of the value in the command's struct */
    const char *metavar; /* what the help calls the value; unused for flags and choices */
    const char *initial; /* the default as it would be typed; NULL: zero */
    const char *help;
    const char *const *choices; /* ends with NULL */
    int64_t low, high;
} dm_option;

#define DM_OPTION_FLAG(type_, field, name_, help_)                                                 \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_FLAG, .offset = offsetof(type_, field),              \
        .help = help_                                                                              \
    }
#define DM_OPTION_STRING(type_, field, name_, metavar_, initial_, help_)                           \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_STRING, .offset = offsetof(type_, field),            \
        .metavar = metavar_, .initial = initial_, .help = help_                                    \
    }
#define DM_OPTION_STRINGS(type_, field, name_, metavar_, help_)                                    \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_STRINGS, .offset = offsetof(type_, field),           \
        .metavar = metavar_, .help = help_                                                         \
    }
#define DM_OPTION_INT(type_, field, name_, metavar_, low_, high_, initial_, help_)                 \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_INT, .offset = offsetof(type_, field),               \
        .metavar = metavar_, .initial = initial_, .help = help_, .low = low_, .high = high_        \
    }
#define DM_OPTION_DOUBLE(type_, field, name_, metavar_, initial_, help_)                           \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_DOUBLE, .offset = offsetof(type_, field),            \
        .metavar = metavar_, .initial = initial_, .help = help_                                    \
    }
#define DM_OPTION_CHOICE(type_, field, name_, choices_, initial_, help_)                           \
    {                                                                                              \
        .name = name_, .type = DM_OPTION_TYPE_CHOICE, .offset = offsetof(type_, field),            \
        .choices = choices_, .initial = initial_, .help = help_                                    \
    }

#define DM_OPTION_GIVEN(type_, field)                                                              \
    {                                                                                              \
        .name = "", .type = DM_OPTION_TYPE_GIVEN, .offset = offsetof(type_, field)                 \
    }

/* A table with the struct that its values go to. */
typedef struct dm_option_set {
    const dm_option *rows;
    size_t count;
    void *values;
} dm_option_set;

/* Set the defaults, then parse argv[0..argc). Positional arguments are gathered in `positional`.
 * Fails with DM_EINVAL and one line that names the culprit and, for a misspelt option, the closest
 * one. What was allocated is released by dm_options_deinit, also after a failure. */
dm_status dm_options_parse(const dm_option_set *sets, size_t set_count, int argc, char **argv,
                           dm_strings *positional, dm_error *err);
void dm_options_deinit(const dm_option_set *sets, size_t set_count, dm_strings *positional);

/* "--obs: ..." when "a,b,c" has no words or an empty one. */
dm_status dm_options_check_list(const char *option, const char *list, dm_error *err);

/* Append one entry per row, aligned, at most 80 columns wide: "  --frames N   frames to run [60]". */
void dm_options_help(dm_buffer *out, const dm_option_set *sets, size_t set_count);
/* The same with a blank line and a title above each set. */
void dm_options_help_titled(dm_buffer *out, const dm_option_set *sets, const char *const *titles,
                            size_t set_count);

#endif
