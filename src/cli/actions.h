/* SPDX-License-Identifier: MIT */
/* actions.h - commands that do several things: `dotmatrix synth produce`, `synth show` ...
 *
 * A command lists its actions as rows. From them come the usage lines, the options grouped by
 * action in --help (`synth show --help` has those of one action), the closest name for a misspelt
 * action, how many arguments one takes, and the refusal of an option that it does not:
 *
 *     static const dm_action actions[] = {
 *         {"show", "DIR [ID]", 1, 2, "records side by side", "in", "dotmatrix synth show data"},
 *     };
 *
 * An option that no action takes is for all of them. */
#ifndef DM_CLI_ACTIONS_H
#define DM_CLI_ACTIONS_H

#include "cli/options.h"

struct dm_command;

typedef struct dm_action {
    const char *name;
    const char *arguments; /* behind the name, as the usage line shows them; "" when none */
    size_t arguments_min, arguments_max;
    const char *summary; /* one line, no full stop */
    const char *takes;   /* names of options, separated by blanks */
    const char *example; /* a whole command line; NULL: none */
} dm_action;

const dm_action *dm_action_find(const struct dm_command *command, const char *name);
bool dm_action_takes(const struct dm_command *command, const dm_action *action, const char *option);

/* Whether arguments[0] is an action that takes the other arguments and the options in `given`. */
dm_status dm_action_check(const struct dm_command *command, const dm_strings *arguments,
                          const dm_strings *given, dm_error *err);

/* The help of a command with its options in groups, or of one of its actions (else NULL). */
void dm_action_help(dm_buffer *out, const struct dm_command *command, const dm_action *only,
                    const dm_option *common, size_t common_count);

/* "--name does nothing without --needs" when only the former is given. */
typedef struct dm_option_need {
    const char *name, *needs;
} dm_option_need;
dm_status dm_options_check_needs(const dm_strings *given, const dm_option_need *needs, size_t count,
                                 dm_error *err);
bool dm_options_is_given(const dm_strings *given, const char *name);

#endif
