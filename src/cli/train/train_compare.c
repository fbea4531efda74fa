/* SPDX-License-Identifier: MIT */
/* train_compare.c - dotmatrix train report without a task: the report of train/report. */
#include "base/terminal/stop.h"
#include "cli/places.h"
#include "cli/train/train.h"
#include "lab/provenance.h"
#include "train/report/report.h"

#include <stdio.h>

static void put_provenance(dm_json *json)
{
    dm_lab_provenance(json, NULL, 0);
}

dm_status dm_train_compare(const dm_train_options *o, dm_error *err)
{
    static const char *const others[] = {"set", "config", "steps", "seeds", "twice", "json"};
    char folder[DM_PATH_MAX], forecaster[DM_PATH_MAX];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (dm_train_given(o, others[i]))
            return dm_fail(err, DM_EINVAL, "--%s is for the report of one task: train report xor",
                           others[i]);
    if (o->workers > 64)
        return dm_fail(err, DM_EINVAL, "--workers: at most 64 runs at a time");
    dm_status status = o->out != NULL ? dm_path_join(folder, "", o->out, err)
                                      : dm_train_choose_folder("report", folder, err);
    dm_device *device = NULL; /* said here, not by the first run */
    if (status == DM_OK)
        status = dm_device_open(o->device, &device, err);
    dm_device_close(device);
    const dm_report_options options = {.folder = folder,
                                       .device = o->device,
                                       .data = o->data.items,
                                       .data_count = o->data.count,
                                       .tasks = o->tasks,
                                       .quick = o->quick,
                                       .workers = (int)o->workers,
                                       .forecaster =
                                           dm_place_curve_model(forecaster) ? forecaster : NULL,
                                       .pools = o->replay.items,
                                       .pool_count = o->replay.count,
                                       .provenance = put_provenance};
    if (status == DM_OK)
        status = dm_report_make(&options, err);
    if (status == DM_OK && !dm_stop_requested())
        printf("%s/index.html is the report; report.md and report.json have the same\n", folder);
    return status;
}
