/* SPDX-License-Identifier: MIT */
/* actions.c - see actions.h. */
#include "cli/actions.h"
#include "base/closest.h"
#include "cli/command.h"

#include <string.h>

#define ACTIONS_MAX 32 /* of a command: a row's takers are bits of a word */
#define ROWS_MAX 128

const dm_action *dm_action_find(const dm_command *command, const char *name)
{
    for (size_t i = 0; i < command->action_count; i++)
        if (strcmp(command->actions[i].name, name) == 0)
            return &command->actions[i];
    return NULL;
}

/* Whether `name` is one of the words of `list`. */
static bool has_word(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at != 0; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word;
    }
    return false;
}

/* Bit i: action i takes the option. An option that no action lists is for all of them. */
static uint32_t takers(const dm_command *command, const char *option)
{
    uint32_t found = 0;
    for (size_t i = 0; i < command->action_count && i < ACTIONS_MAX; i++)
        if (has_word(command->actions[i].takes, option))
            found |= 1u << i;
    return found != 0 ? found : UINT32_MAX;
}

bool dm_action_takes(const dm_command *command, const dm_action *action, const char *option)
{
    return (takers(command, option) >> (action - command->actions) & 1) != 0;
}

/* "check", "check and run", "check, list and run" */
static void append_names(dm_buffer *out, const dm_command *command, uint32_t which)
{
    size_t total = 0, n = 0;
    for (size_t i = 0; i < command->action_count; i++)
        total += which >> i & 1;
    for (size_t i = 0; i < command->action_count; i++)
        if ((which >> i & 1) != 0)
            dm_buffer_printf(out, "%s%s",
                             n++ == 0     ? ""
                             : n == total ? " and "
                                          : ", ",
                             command->actions[i].name);
}

/* ---- Checks ---- */

static dm_status fail_unknown(const dm_command *command, const char *name, dm_error *err)
{
    const char *names[ACTIONS_MAX + 1] = {NULL};
    dm_buffer list = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < command->action_count && i < ACTIONS_MAX; i++)
        names[i] = command->actions[i].name;
    const char *meant = dm_closest(name, names);
    append_names(&list, command, UINT32_MAX);
    dm_status status =
        meant != NULL
            ? dm_fail(err, DM_EINVAL, "unknown action '%.64s'; did you mean %s?", name, meant)
            : dm_fail(err, DM_EINVAL, "unknown action '%.64s'; there are %s", name,
                      dm_buffer_text(&list));
    dm_buffer_deinit(&list);
    return status;
}

static dm_status fail_option(const dm_command *command, const dm_action *action, const char *option,
                             dm_error *err)
{
    dm_buffer list = DM_BUFFER_EMPTY;
    append_names(&list, command, takers(command, option));
    dm_status status = dm_fail(err, DM_EINVAL, "--%s is for %s, not for %s", option,
                               dm_buffer_text(&list), action->name);
    dm_buffer_deinit(&list);
    return status;
}

dm_status dm_action_check(const dm_command *command, const dm_strings *arguments,
                          const dm_strings *given, dm_error *err)
{
    if (arguments->count == 0)
        return dm_fail(err, DM_EINVAL, "missing argument; usage: dotmatrix %s [OPTIONS] %s",
                       command->name, command->arguments);
    const dm_action *action = dm_action_find(command, arguments->items[0]);
    if (action == NULL)
        return fail_unknown(command, arguments->items[0], err);
    size_t count = arguments->count - 1;
    if (count > action->arguments_max)
        return dm_fail(err, DM_EINVAL, "unexpected argument '%.200s'",
                       arguments->items[action->arguments_max + 1]);
    if (count < action->arguments_min)
        return dm_fail(err, DM_EINVAL, "missing argument; usage: dotmatrix %s %s [OPTIONS] %s",
                       command->name, action->name, action->arguments);
    for (size_t i = 0; i < given->count; i++)
        if (!dm_action_takes(command, action, given->items[i]))
            return fail_option(command, action, given->items[i], err);
    return DM_OK;
}

bool dm_options_is_given(const dm_strings *given, const char *name)
{
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->items[i], name) == 0)
            return true;
    return false;
}

dm_status dm_options_check_needs(const dm_strings *given, const dm_option_need *needs, size_t count,
                                 dm_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (dm_options_is_given(given, needs[i].name) &&
            !dm_options_is_given(given, needs[i].needs))
            return dm_fail(err, DM_EINVAL, "--%s does nothing without --%s", needs[i].name,
                           needs[i].needs);
    return DM_OK;
}

/* ---- Help ---- */

static void usage_line(dm_buffer *out, const dm_command *command, const dm_action *action)
{
    dm_buffer_printf(out, "dotmatrix %s %s [OPTIONS]%s%s", command->name, action->name,
                     action->arguments[0] != 0 ? " " : "", action->arguments);
}

static void append_usage(dm_buffer *out, const dm_command *command, const dm_action *only)
{
    if (only != NULL) {
        dm_buffer_puts(out, "usage: ");
        usage_line(out, command, only);
        dm_buffer_printf(out, "\n\n%s.\n", only->summary);
        return;
    }
    for (size_t i = 0; i < command->action_count; i++) {
        dm_buffer_puts(out, i == 0 ? "usage: " : "       ");
        usage_line(out, command, &command->actions[i]);
        dm_buffer_putc(out, '\n');
    }
    dm_buffer_printf(out, "\n%s.\n\nactions:\n", command->summary);
    for (size_t i = 0; i < command->action_count; i++)
        dm_buffer_printf(out, "  %-10s  %s\n", command->actions[i].name,
                         command->actions[i].summary);
}

static void append_examples(dm_buffer *out, const dm_command *command, const dm_action *only)
{
    bool first = true;
    for (size_t i = 0; i < command->action_count; i++) {
        const dm_action *action = &command->actions[i];
        if ((only != NULL && only != action) || action->example == NULL)
            continue;
        dm_buffer_printf(out, "%s  %s\n", first ? "\nexamples:\n" : "", action->example);
        first = false;
    }
}

/* Group the rows by the set of actions that take them, keeping their order: a set and a title each. */
void dm_action_help(dm_buffer *out, const dm_command *command, const dm_action *only,
                    const dm_option *common, size_t common_count)
{
    dm_option rows[ROWS_MAX];
    dm_option_set sets[ROWS_MAX];
    dm_buffer titles[ROWS_MAX];
    const char *title_texts[ROWS_MAX];
    size_t row_count = 0, set_count = 0;
    bool done[ROWS_MAX] = {false};
    uint32_t everybody = (uint32_t)(((uint64_t)1 << command->action_count) - 1);
    append_usage(out, command, only);
    for (size_t i = 0; i < command->option_count && i < ROWS_MAX; i++) {
        uint32_t of = takers(command, command->options[i].name) & everybody;
        if (done[i] || command->options[i].type == DM_OPTION_TYPE_GIVEN ||
            (only != NULL && !dm_action_takes(command, only, command->options[i].name)))
            continue;
        if (only == NULL || set_count == 0) {
            titles[set_count] = (dm_buffer)DM_BUFFER_EMPTY;
            dm_buffer_puts(&titles[set_count], "options");
            if (only == NULL && of != everybody) {
                dm_buffer_puts(&titles[set_count], " of ");
                append_names(&titles[set_count], command, of);
            }
            sets[set_count++] = (dm_option_set){&rows[row_count], 0, NULL};
        }
        for (size_t k = i; k < command->option_count && k < ROWS_MAX; k++) {
            const char *name = command->options[k].name;
            if (done[k] || command->options[k].type == DM_OPTION_TYPE_GIVEN ||
                (only != NULL ? !dm_action_takes(command, only, name)
                              : (takers(command, name) & everybody) != of))
                continue;
            done[k] = true;
            rows[row_count++] = command->options[k];
            sets[set_count - 1].count++;
        }
    }
    for (size_t i = 0; i < set_count; i++)
        title_texts[i] = dm_buffer_text(&titles[i]);
    title_texts[set_count] = "options of every command";
    sets[set_count] = (dm_option_set){common, common_count, NULL};
    dm_options_help_titled(out, sets, title_texts, set_count + 1);
    append_examples(out, command, only);
    for (size_t i = 0; i < set_count; i++)
        dm_buffer_deinit(&titles[i]);
}
