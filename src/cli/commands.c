/* SPDX-License-Identifier: MIT */
/* commands.c - the table of subcommands, and the exit code of each error. */
#include "cli/command.h"

const dm_command *const dm_commands[] = {
    &dm_command_run,    &dm_command_verify, &dm_command_replay, &dm_command_bench,
    &dm_command_report, &dm_command_info,   &dm_command_roms,   &dm_command_dynamics,
    &dm_command_kernel, &dm_command_synth,  &dm_command_train,  &dm_command_reward,
    &dm_command_ram,
};
const size_t dm_command_count = sizeof dm_commands / sizeof dm_commands[0];

int dm_cli_exit_code(dm_status status)
{
    switch (status) {
    case DM_OK:
        return DM_EXIT_OK;
    case DM_EINVAL:
        return DM_EXIT_USAGE;
    case DM_EUNAVAILABLE:
        return DM_EXIT_MISSING;
    case DM_ENOENT:
    case DM_EFORMAT:
    case DM_EUNSUPPORTED:
        return DM_EXIT_INPUT;
    case DM_EIO:
        return DM_EXIT_IO;
    case DM_ENOMEM:
        return DM_EXIT_MEMORY;
    case DM_ECOMPILE:
        return DM_EXIT_COMPILE;
    case DM_EDEVICE:
        return DM_EXIT_DEVICE;
    case DM_EINTERNAL:
    case DM_STATUS_COUNT:
        break;
    }
    return DM_EXIT_INTERNAL;
}
