/* SPDX-License-Identifier: MIT */
/* provenance.c - where a result comes from. */
#include "lab/provenance.h"
#include "base/host/build.h"
#include "base/host/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEVICES_MAX 16

static void write_build(dm_json *json)
{
    dm_json_begin_object(json, "build");
    dm_json_string(json, "version", dm_version_string());
    dm_json_string(json, "commit", dm_build_commit);
    dm_json_string(json, "type", dm_build_type);
    dm_json_string(json, "compiler", dm_build_compiler);
    dm_json_end_object(json);
}

static void write_machine(dm_json *json)
{
    dm_machine machine;
    dm_machine_query(&machine);
    dm_json_begin_object(json, "machine");
    dm_json_string(json, "os", machine.os);
    dm_json_string(json, "cpu", machine.cpu_model);
    dm_json_int(json, "cores", machine.cores);
    dm_json_uint(json, "memory", machine.memory_bytes);
    dm_json_end_object(json);
}

static void write_cuda(dm_json *json)
{
    dm_device_tools tools;
    dm_device_properties list[DEVICES_MAX];
    dm_device_tools_find(&tools);
    dm_json_begin_object(json, "cuda");
    dm_json_string(json, "driver", tools.cuda ? tools.driver_version : NULL);
    dm_json_string(json, "driver_path", tools.cuda ? tools.driver_path : NULL);
    dm_json_int(json, "version", tools.cuda_version);
    dm_json_int(json, "nvrtc", tools.nvrtc_version);
    dm_json_string(json, "nvrtc_path", tools.nvrtc ? tools.nvrtc_path : NULL);
    dm_json_string(json, "nvrtc_origin", tools.nvrtc ? tools.nvrtc_origin : NULL);
    dm_json_string(json, "visible_devices", getenv("CUDA_VISIBLE_DEVICES"));
    dm_json_begin_array(json, "devices");
    size_t count = tools.cuda ? dm_device_list(list, DEVICES_MAX) : 0;
    for (size_t i = 0; i < count && i < DEVICES_MAX; i++)
        if (list[i].kind == DM_DEVICE_CUDA)
            dm_json_string(json, NULL, list[i].name);
    dm_json_end_array(json);
    dm_json_end_object(json);
}

void dm_lab_provenance(dm_json *json, const dm_lab_kind *const *kinds, size_t count)
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    dm_json_begin_object(json, "provenance");
    dm_json_string(json, "time", when);
    write_build(json);
    write_machine(json);
    write_cuda(json);
    dm_json_begin_object(json, "backends");
    for (size_t i = 0; i < count; i++) {
        char version[128];
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= kinds[k] == kinds[i];
        if (twice)
            continue;
        if (kinds[i]->version(kinds[i], version, sizeof version, NULL) == DM_OK)
            dm_json_string(json, kinds[i]->name, version);
        else
            dm_json_null(json, kinds[i]->name);
    }
    dm_json_end_object(json);
    dm_json_end_object(json);
}
