/* SPDX-License-Identifier: MIT */
/* command.h - what a subcommand is.
 *
 *   argv ─► main.c: which subcommand ─► options.h: rows fill its struct ─► cmd_<name>.c: run() ─► stdout
 *                                                                            └─ dm_error ─► exit code
 *
 * A subcommand is one file, cmd_<name>.c, that defines one `const dm_command`, and one row of the
 * table in commands.c. main.c prints its error and picks the exit code; the command itself writes its
 * answer to stdout and returns.
 *
 *   cli/           what every command shares: option rows, help, man page, outputs, reports, places
 *   cli/game/      Game Boys: run (one machine, a swarm, pictures), ram, reward, roms
 *   cli/kernel/    kernels: compile, run, check
 *   cli/synth/     datasets of kernels
 *   cli/dynamics/  models of training runs: forecasts, learning, plots, check, bench
 *   cli/train/     training, agents, sweeps and their data
 *   cli/lab/       measurements and comparisons: info, bench, verify, replay, report */
#ifndef DM_CLI_COMMAND_H
#define DM_CLI_COMMAND_H

#include "base/terminal/stop.h"
#include "cli/actions.h"
#include "cli/options.h"

/* Exit codes (docs/cli.md). Errors get theirs from dm_cli_exit_code. */
enum {
    DM_EXIT_OK = 0,
    DM_EXIT_NEGATIVE = 1, /* the command worked and its answer is no */
    DM_EXIT_USAGE = 2,
    DM_EXIT_MISSING = 3,
    DM_EXIT_INPUT = 4,
    DM_EXIT_IO = 5,
    DM_EXIT_MEMORY = 6,
    DM_EXIT_COMPILE = 7,
    DM_EXIT_DEVICE = 8,
    DM_EXIT_INTERNAL = 70,
    DM_EXIT_INTERRUPTED = DM_STOP_EXIT_CODE,
};

int dm_cli_exit_code(dm_status status);

typedef struct dm_command {
    const char *name;
    const char *summary;   /* one line, no full stop */
    const char *arguments; /* the positional ones as the usage line shows them; "" when none */
    size_t arguments_min, arguments_max;
    const dm_option *options;
    size_t option_count;
    size_t options_size; /* of the struct that the rows point into */
    /* Set `*negative` for an answer of "no" (a mismatch, a failed check): exit code 1. */
    dm_status (*run)(const void *options, const dm_strings *arguments, bool *negative,
                     dm_error *err);
    const char *examples; /* whole command lines, each ended by a newline; NULL: the actions' */
    /* Of a command whose first argument is an action: actions.h. Its table has a GIVEN row. */
    const dm_action *actions;
    size_t action_count;
} dm_command;

/* In the order the help shows them. */
extern const dm_command *const dm_commands[];
extern const size_t dm_command_count;

extern const dm_command dm_command_bench;
extern const dm_command dm_command_dynamics;
extern const dm_command dm_command_info;
extern const dm_command dm_command_kernel;
extern const dm_command dm_command_ram;
extern const dm_command dm_command_replay;
extern const dm_command dm_command_report;
extern const dm_command dm_command_reward;
extern const dm_command dm_command_roms;
extern const dm_command dm_command_run;
extern const dm_command dm_command_synth;
extern const dm_command dm_command_train;
extern const dm_command dm_command_verify;

#endif
