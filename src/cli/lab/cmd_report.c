/* SPDX-License-Identifier: MIT */
/* cmd_report.c - `dotmatrix report`: tables, plots and a page from benchmark artifacts. */
#include "cli/command.h"
#include "lab/report/report.h"

#include <stdint.h>
#include <stdio.h>

typedef struct report_options {
    const char *out;
} report_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(report_options, out, "out", "DIR", NULL,
                     "the folder for the report; must not exist"),
};

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const report_options *o = values;
    (void)negative;
    if (o->out == NULL)
        return dm_fail(err, DM_EINVAL, "--out is missing: where should the report go?");
    dm_status status =
        dm_lab_report((const char *const *)arguments->items, arguments->count, o->out, err);
    if (status == DM_OK)
        printf("report: %s/index.html\n", o->out);
    return status;
}

const dm_command dm_command_report = {
    .name = "report",
    .summary = "Make tables, plots and a page from benchmark artifacts",
    .arguments = "ARTIFACT...",
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(report_options),
    .run = run,
    .examples = "dotmatrix report cpu.json gpu.json --out report\n",
};
