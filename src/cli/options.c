/* SPDX-License-Identifier: MIT */
/* options.c - parsing by table, and help text. */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 80
#define HELP_NAME_WIDTH_MAX 28 /* a longer name has its text on the next line */
#define WORD_MAX 64            /* of a misspelt option that is quoted */

static void *value_of(const dm_option_set *set, const dm_option *row)
{
    return (char *)set->values + row->offset;
}

static dm_status parse_int(const dm_option *row, const char *text, int64_t *out, dm_error *err)
{
    char *end;
    errno = 0;
    bool hex = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
    int64_t value = strtoll(text, &end, hex ? 16 : 10);
    if (end == text || *end != 0 || text[0] == ' ')
        return dm_fail(err, DM_EINVAL, "--%s: '%s' is not a whole number", row->name, text);
    if (errno == ERANGE || value < row->low || value > row->high) {
        if (row->high == INT64_MAX)
            return dm_fail(err, DM_EINVAL, "--%s: %s is out of range, at least %" PRId64, row->name,
                           text, row->low);
        return dm_fail(err, DM_EINVAL, "--%s: %s is out of range %" PRId64 " to %" PRId64,
                       row->name, text, row->low, row->high);
    }
    *out = value;
    return DM_OK;
}

static dm_status parse_double(const dm_option *row, const char *text, double *out, dm_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(value))
        return dm_fail(err, DM_EINVAL, "--%s: '%s' is not a number", row->name, text);
    *out = value;
    return DM_OK;
}

static dm_status parse_choice(const dm_option *row, const char *text, int *out, dm_error *err)
{
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *out = i;
            return DM_OK;
        }
        int n =
            snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", row->choices[i]);
        used += n > 0 && used + (size_t)n < sizeof list ? (size_t)n : 0;
    }
    return dm_fail(err, DM_EINVAL, "--%s: '%s' is not one of %s", row->name, text, list);
}

/* `capacity` is enough for every occurrence on the command line. */
static dm_status add_string(dm_strings *list, size_t capacity, const char *text, dm_error *err)
{
    if (list->items == NULL)
        list->items = calloc(capacity, sizeof *list->items);
    if (list->items == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    list->items[list->count++] = text;
    return DM_OK;
}

/* No file or folder has an empty name. */
static dm_status check_name(const dm_option *row, const char *text, dm_error *err)
{
    bool names = strcmp(row->metavar, "FILE") == 0 || strcmp(row->metavar, "DIR") == 0;
    if (names && text[0] == 0)
        return dm_fail(err, DM_EINVAL, "--%s: the name is empty", row->name);
    return DM_OK;
}

static dm_status set_value(const dm_option_set *set, const dm_option *row, const char *text,
                           size_t capacity, dm_error *err)
{
    void *value = value_of(set, row);
    switch (row->type) {
    case DM_OPTION_TYPE_FLAG:
        *(bool *)value = true;
        return DM_OK;
    case DM_OPTION_TYPE_STRING:
        *(const char **)value = text;
        return check_name(row, text, err);
    case DM_OPTION_TYPE_STRINGS:
        return check_name(row, text, err) == DM_OK ? add_string(value, capacity, text, err)
                                                   : DM_EINVAL;
    case DM_OPTION_TYPE_GIVEN:
        return add_string(value, capacity, text, err);
    case DM_OPTION_TYPE_INT:
        return parse_int(row, text, value, err);
    case DM_OPTION_TYPE_DOUBLE:
        return parse_double(row, text, value, err);
    case DM_OPTION_TYPE_CHOICE:
        return parse_choice(row, text, value, err);
    }
    return dm_fail(err, DM_EINTERNAL, "--%s: unknown option type", row->name);
}

static dm_status set_defaults(const dm_option_set *sets, size_t set_count, dm_error *err)
{
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            const dm_option *row = &sets[s].rows[i];
            dm_status status =
                row->initial == NULL ? DM_OK : set_value(&sets[s], row, row->initial, 1, err);
            if (status != DM_OK)
                return status;
        }
    }
    return DM_OK;
}

/* Add the name of an option to the list of those that were given, where its table has one. */
static dm_status note_given(const dm_option_set *set, const dm_option *row, size_t capacity,
                            dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < set->count && status == DM_OK; i++)
        if (set->rows[i].type == DM_OPTION_TYPE_GIVEN)
            status = set_value(set, &set->rows[i], row->name, capacity, err);
    return status;
}

/* The row whose name is the first `length` characters of `name`. */
static const dm_option *find(const dm_option_set *sets, size_t set_count, const char *name,
                             size_t length, const dm_option_set **set)
{
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            const char *candidate = sets[s].rows[i].name;
            if (length > 0 && strlen(candidate) == length && memcmp(candidate, name, length) == 0) {
                *set = &sets[s];
                return &sets[s].rows[i];
            }
        }
    }
    return NULL;
}

/* Is a word one of the options, so that it is hardly meant as the value of the one before it? */
static bool names_option(const dm_option_set *sets, size_t set_count, const char *word)
{
    const dm_option_set *set = NULL;
    return strncmp(word, "--", 2) == 0 &&
           find(sets, set_count, word + 2, strcspn(word + 2, "="), &set) != NULL;
}

static dm_status fail_unknown(const dm_option_set *sets, size_t set_count, const char *argument,
                              int length, dm_error *err)
{
    const char *names[128];
    size_t count = 0;
    for (size_t s = 0; s < set_count; s++)
        for (size_t i = 0; i < sets[s].count && count < 127; i++)
            names[count++] = sets[s].rows[i].name;
    names[count] = NULL;
    char word[WORD_MAX];
    snprintf(word, sizeof word, "%.*s", length, argument);
    const char *guess = dm_closest(word + strspn(word, "-"), names);
    if (guess != NULL)
        return dm_fail(err, DM_EINVAL, "unknown option '%.*s'; did you mean --%s?", length,
                       argument, guess);
    return dm_fail(err, DM_EINVAL, "unknown option '%.*s'; --help lists them", length, argument);
}

dm_status dm_options_parse(const dm_option_set *sets, size_t set_count, int argc, char **argv,
                           dm_strings *positional, dm_error *err)
{
    *positional = (dm_strings){0};
    dm_status status = set_defaults(sets, set_count, err);
    size_t capacity = argc > 0 ? (size_t)argc : 1;
    bool only_positional = false;
    for (int i = 0; i < argc && status == DM_OK; i++) {
        const char *argument = argv[i];
        if (only_positional || argument[0] != '-' || argument[1] == 0) {
            status = add_string(positional, capacity, argument, err);
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(argument, "-h") == 0)
            argument = "--help";
        if (strcmp(argument, "-o") == 0)
            argument = "--out";
        size_t length = strcspn(argument, "=");
        bool attached = argument[length] == '=';
        const dm_option_set *set = NULL;
        const dm_option *row = NULL;
        if (strncmp(argument, "--", 2) == 0)
            row = find(sets, set_count, argument + 2, length - 2, &set);
        if (row == NULL) {
            int shown = length < INT_MAX ? (int)length : INT_MAX;
            status = fail_unknown(sets, set_count, argument, shown, err);
        } else if (row->type == DM_OPTION_TYPE_FLAG && attached) {
            status = dm_fail(err, DM_EINVAL, "--%s takes no value", row->name);
        } else if (row->type == DM_OPTION_TYPE_FLAG) {
            status = set_value(set, row, NULL, capacity, err);
        } else if (attached) {
            status = set_value(set, row, argument + length + 1, capacity, err);
        } else if (i + 1 < argc && names_option(sets, set_count, argv[i + 1])) {
            status = dm_fail(err, DM_EINVAL,
                             "--%s needs a value, and %s is an option; --%s=%s if "
                             "that is the value",
                             row->name, argv[i + 1], row->name, argv[i + 1]);
        } else if (i + 1 < argc) {
            status = set_value(set, row, argv[++i], capacity, err);
        } else {
            status = dm_fail(err, DM_EINVAL, "--%s needs a value", row->name);
        }
        if (status == DM_OK)
            status = note_given(set, row, capacity, err);
    }
    return status;
}

dm_status dm_options_check_list(const char *option, const char *list, dm_error *err)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (strspn(at, " \t") >= length)
            return dm_fail(err, DM_EINVAL, "--%s: '%.200s' has an empty place", option, list);
        at += length;
        if (*at == 0)
            return DM_OK;
    }
}

void dm_options_deinit(const dm_option_set *sets, size_t set_count, dm_strings *positional)
{
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            dm_option_type type = sets[s].rows[i].type;
            if (type == DM_OPTION_TYPE_STRINGS || type == DM_OPTION_TYPE_GIVEN) {
                dm_strings *list = value_of(&sets[s], &sets[s].rows[i]);
                free(list->items);
                *list = (dm_strings){0};
            }
        }
    }
    free(positional->items);
    *positional = (dm_strings){0};
}

/* "--frames N", "--log-level error|warn|info|debug" */
static void append_name(dm_buffer *out, const dm_option *row)
{
    dm_buffer_printf(out, "--%s", row->name);
    if (row->type == DM_OPTION_TYPE_CHOICE) {
        for (int i = 0; row->choices[i] != NULL; i++)
            dm_buffer_printf(out, "%s%s", i > 0 ? "|" : " ", row->choices[i]);
    } else if (row->type != DM_OPTION_TYPE_FLAG && row->type != DM_OPTION_TYPE_GIVEN) {
        dm_buffer_printf(out, " %s", row->metavar);
    }
}

/* Words of `text` from column `indent` on, which is where the output stands now. */
static void append_wrapped(dm_buffer *out, const char *text, int indent)
{
    int column = indent;
    while (*text != 0) {
        int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > HELP_WIDTH) {
            dm_buffer_printf(out, "\n%*s", indent, "");
            column = indent;
        }
        dm_buffer_printf(out, "%s%.*s", column > indent ? " " : "", word, text);
        column += word + (column > indent);
        text += word;
        text += strspn(text, " ");
    }
}

void dm_options_help(dm_buffer *out, const dm_option_set *sets, size_t set_count)
{
    dm_options_help_titled(out, sets, NULL, set_count);
}

void dm_options_help_titled(dm_buffer *out, const dm_option_set *sets, const char *const *titles,
                            size_t set_count)
{
    dm_buffer name = DM_BUFFER_EMPTY;
    int width = 0;
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            dm_buffer_clear(&name);
            append_name(&name, &sets[s].rows[i]);
            if ((int)name.size > width && name.size <= HELP_NAME_WIDTH_MAX)
                width = (int)name.size;
        }
    }
    for (size_t s = 0; s < set_count; s++) {
        if (titles != NULL)
            dm_buffer_printf(out, "\n%s:\n", titles[s]);
        for (size_t i = 0; i < sets[s].count; i++) {
            const dm_option *row = &sets[s].rows[i];
            if (row->type == DM_OPTION_TYPE_GIVEN)
                continue;
            dm_buffer_clear(&name);
            append_name(&name, row);
            int padding = (int)name.size <= width ? width - (int)name.size + 2 : -1;
            dm_buffer_printf(out, "  %s", dm_buffer_text(&name));
            dm_buffer_printf(out, padding < 0 ? "\n%*s" : "%*s", padding < 0 ? width + 4 : padding,
                             "");
            dm_buffer_clear(&name);
            dm_buffer_puts(&name, row->help);
            if (row->initial != NULL)
                dm_buffer_printf(&name, " [%s]", row->initial);
            append_wrapped(out, dm_buffer_text(&name), width + 4);
            dm_buffer_putc(out, '\n');
        }
    }
    dm_buffer_deinit(&name);
}
