/* SPDX-License-Identifier: MIT */
/* cmd_info.c - `dotmatrix info`: this build, this machine's devices, optional parts found or missing. */
#include "base/host/build.h"
#include "base/host/machine.h"
#include "cli/command.h"
#include "cli/report.h"

#include <dotmatrix/device.h>
#include <dotmatrix/nn.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct info_options {
    bool json;
    bool selftest;
} info_options;

static const dm_option rows[] = {
    DM_OPTION_FLAG(info_options, json, "json", "write JSON for programs"),
    DM_OPTION_FLAG(info_options, selftest, "selftest",
                   "also run the test kernels on every device; exit code 1 when one is wrong"),
};

#define DEVICES_MAX 64

/* Parts that are used when they are there. `found` writes where (or which version) it found it. */
typedef struct component {
    const char *name;
    const char *purpose;
    const char *install;
    bool (*found)(const char *const *names, char *where, size_t size);
    const char *names[3]; /* what `found` looks for, in this order; ends with NULL */
} component;

static bool find_file(const char *const *patterns, char *where, size_t size)
{
    for (; *patterns != NULL; patterns++) {
        glob_t matches;
        bool found = glob(*patterns, 0, NULL, &matches) == 0;
        if (found)
            snprintf(where, size, "%s", matches.gl_pathv[0]);
        globfree(&matches);
        if (found)
            return true;
    }
    return false;
}

/* Search where the dynamic linker does, without loading: a report must not run a library's start-up code. */
static bool find_library(const char *const *names, char *where, size_t size)
{
    static const char *const folders[] = {"/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64",
                                          "/usr/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char pattern[DM_PATH_MAX];
        const char *const one[] = {pattern, NULL};
        snprintf(pattern, sizeof pattern, "%s/%s", folders[i], names[0]);
        if (find_file(one, where, size))
            return true;
    }
    return false;
}

static bool find_program(const char *const *names, char *where, size_t size)
{
    char path[DM_PATH_MAX];
    for (; *names != NULL; names++) {
        if (dm_program_find(path, *names)) {
            snprintf(where, size, "%s", path);
            return true;
        }
    }
    return false;
}

/* In a .venv beside the working folder, or beside the folder of this program or one above it (a
 * build folder inside the source tree). */
static bool find_python_package(const char *const *patterns, char *where, size_t size)
{
    char folder[DM_PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    char pattern[DM_PATH_MAX + 128];
    const char *const one[] = {pattern, NULL};
    snprintf(pattern, sizeof pattern, ".venv/lib/python3*/site-packages/%s", patterns[0]);
    if (find_file(one, where, size))
        return true;
    for (char *slash; (slash = strrchr(folder, '/')) != NULL && slash != folder;) {
        *slash = 0;
        snprintf(pattern, sizeof pattern, "%s/.venv/lib/python3*/site-packages/%s", folder,
                 patterns[0]);
        if (find_file(one, where, size))
            return true;
    }
    return false;
}

static const component components[] = {
    {"libmgba",
     "reference emulator",
     "apt-get install libmgba-dev",
     find_library,
     {"libmgba.so.*"}},
    {"gambatte",
     "reference emulator",
     "apt-get install libretro-gambatte",
     find_file,
     {"/usr/lib/*/libretro/gambatte_libretro.so", "/usr/lib/libretro/gambatte_libretro.so"}},
    {"pyboy",
     "reference emulator",
     "tools/bootstrap --again",
     find_python_package,
     {"pyboy-*.dist-info"}},
    {"gnuplot", "plots", "apt-get install gnuplot-nox", find_program, {"gnuplot"}},
    {"mpi",
     "runs over several machines",
     "apt-get install openmpi-bin libopenmpi-dev",
     find_program,
     {"mpirun", "mpiexec"}},
    {"zstd", "compressed datasets", "apt-get install libzstd-dev", find_library, {"libzstd.so.*"}},
};

/* Text has one line for each: where it is, or how to get it. */
static void add_component_line(dm_report *report, const component *part, const char *where)
{
    char line[DM_PATH_MAX + 128];
    if (where != NULL)
        snprintf(line, sizeof line, "%s", where);
    else
        snprintf(line, sizeof line, "missing (%s): %s", part->purpose, part->install);
    dm_report_string(report, part->name, line);
}

static void add_component_object(dm_report *report, const component *part, const char *where)
{
    dm_report_item(report, NULL);
    dm_report_string(report, "name", part->name);
    dm_report_bool(report, "found", where != NULL);
    dm_report_string(report, "purpose", part->purpose);
    dm_report_string(report, "where", where);
    dm_report_string(report, "install", part->install);
    dm_report_item_end(report);
}

static void add_components(dm_report *report)
{
    dm_report_list(report, "components");
    for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
        const component *part = &components[i];
        char place[DM_PATH_MAX] = "";
        const char *where = part->found(part->names, place, sizeof place) ? place : NULL;
        if (report->as_json)
            add_component_object(report, part, where);
        else
            add_component_line(report, part, where);
    }
    dm_report_list_end(report);
}

static void add_build(dm_report *report)
{
    dm_report_section(report, "build");
    dm_report_string(report, "version", dm_version_string());
    dm_report_string(report, "commit", dm_build_commit);
    dm_report_string(report, "type", dm_build_type);
    dm_report_string(report, "compiler", dm_build_compiler);
    dm_report_section_end(report);
}

static void add_machine(dm_report *report)
{
    dm_machine machine;
    dm_machine_query(&machine);
    dm_report_section(report, "machine");
    dm_report_string(report, "os", machine.os);
    dm_report_string(report, "architecture", machine.architecture);
    dm_report_string(report, "cpu", machine.cpu_model);
    dm_report_words(report, "cpu_features", machine.cpu_features);
    dm_report_uint(report, "cores", (uint64_t)machine.cores);
    dm_report_bytes(report, "memory", machine.memory_bytes);
    dm_report_bytes(report, "memory_available", machine.memory_available_bytes);
    dm_report_section_end(report);
}

static void add_compiler(dm_report *report, const dm_device_tools *tools)
{
    dm_report_section(report, "compiler");
    dm_report_bool(report, "found", tools->cc);
    dm_report_string(report, "path", tools->cc_path);
    dm_report_string(report, "version", tools->cc_version);
    if (!tools->cc || report->as_json)
        dm_report_string(report, "reason", tools->cc_reason);
    dm_report_section_end(report);
}

/* 13000 is CUDA 13.0; 0 is no version. */
static void add_cuda_version(dm_report *report, const char *key, int version)
{
    char text[32] = "";
    if (version > 0)
        snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    dm_report_string(report, key, text);
}

static void add_cuda(dm_report *report, const dm_device_tools *tools)
{
    dm_report_section(report, "cuda");
    dm_report_bool(report, "found", tools->cuda);
    if (!tools->cuda || report->as_json)
        dm_report_string(report, "reason", tools->cuda_reason);
    if (tools->cuda || report->as_json) {
        dm_report_string(report, "driver", tools->driver_version);
        add_cuda_version(report, "version", tools->cuda_version);
        dm_report_string(report, "path", tools->driver_path);
    }
    dm_report_string(report, "visible_devices", getenv("CUDA_VISIBLE_DEVICES"));
    dm_report_section_end(report);

    dm_report_section(report, "nvrtc");
    dm_report_bool(report, "found", tools->nvrtc);
    if (!tools->nvrtc || report->as_json)
        dm_report_string(report, "reason", tools->nvrtc_reason);
    if (tools->nvrtc || report->as_json) {
        add_cuda_version(report, "version", tools->nvrtc_version);
        dm_report_string(report, "path", tools->nvrtc_path);
        dm_report_string(report, "origin", tools->nvrtc_origin);
    }
    dm_report_section_end(report);
}

static void add_selftest_result(dm_report *report, const dm_selftest_result *result)
{
    if (!report->as_json) {
        char key[64], line[256];
        snprintf(key, sizeof key, "selftest %s", result->name);
        snprintf(line, sizeof line, "%s%s%s", result->passed ? "ok" : "WRONG",
                 result->detail[0] ? ": " : "", result->detail);
        dm_report_string(report, key, line);
        return;
    }
    dm_report_item(report, NULL);
    dm_report_string(report, "name", result->name);
    dm_report_bool(report, "passed", result->passed);
    dm_report_uint(report, "items", result->items);
    dm_report_uint(report, "ulp_max", result->ulp_max);
    dm_report_string(report, "detail", result->detail);
    dm_report_item_end(report);
}

static dm_status add_selftest(dm_report *report, const char *id, bool *negative, dm_error *err)
{
    dm_device *device = NULL;
    dm_selftest_report results = {0};
    dm_status status = dm_device_open(id, &device, err);
    if (status == DM_OK)
        status = dm_device_selftest(device, &results, err);
    dm_device_close(device);
    if (status != DM_OK) {
        dm_error_prefix(err, "%s", id);
        dm_report_string(report, "error", err->message);
        return status;
    }
    if (report->as_json)
        dm_report_list(report, "selftest");
    for (size_t i = 0; i < results.count; i++)
        add_selftest_result(report, &results.results[i]);
    if (report->as_json)
        dm_report_list_end(report);
    *negative |= !results.passed;
    return DM_OK;
}

/* With the self-test, the first device that could not run it gives the error; the others are still
 * tried. */
static dm_status add_devices(dm_report *report, bool selftest, bool *negative, dm_error *err)
{
    dm_device_properties list[DEVICES_MAX];
    size_t count = dm_device_list(list, DEVICES_MAX);
    dm_status status = DM_OK;
    dm_report_list(report, "devices");
    for (size_t i = 0; i < count && i < DEVICES_MAX; i++) {
        const dm_device_properties *device = &list[i];
        char products[DM_PATH_MAX + 600];
        dm_report_item(report, device->id);
        if (report->as_json)
            dm_report_string(report, "id", device->id);
        dm_report_string(report, "name", device->name);
        dm_report_string(report, "arch", device->arch);
        dm_report_uint(report, "multiprocessors", (uint64_t)device->multiprocessors);
        dm_report_bytes(report, "memory", device->memory_bytes);
        if (dm_nn_products(device->id, products, sizeof products, NULL) == DM_OK)
            dm_report_string(report, "products", products);
        if (selftest) {
            dm_error other;
            dm_status one =
                add_selftest(report, device->id, negative, status == DM_OK ? err : &other);
            if (status == DM_OK)
                status = one;
        }
        dm_report_item_end(report);
    }
    dm_report_list_end(report);
    return status;
}

typedef struct folder_size {
    uint64_t files, bytes;
} folder_size;

static dm_status count_file(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root;
    (void)err;
    folder_size *total = user;
    if (!entry->is_dir) {
        total->files++;
        total->bytes += entry->size;
    }
    return DM_OK;
}

static void add_cache(dm_report *report)
{
    char path[DM_PATH_MAX] = "";
    folder_size total = {0};
    if (dm_path_cache(path, NULL) == DM_OK && dm_dir_exists(path))
        dm_dir_walk(path, count_file, &total,
                    NULL); /* a part that cannot be read counts as empty */
    dm_report_section(report, "cache");
    dm_report_string(report, "path", path);
    dm_report_uint(report, "files", total.files);
    dm_report_bytes(report, "bytes", total.bytes);
    dm_report_section_end(report);
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const info_options *options = values;
    (void)arguments;
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    dm_report report;
    dm_report_begin(&report, options->json);
    add_build(&report);
    add_machine(&report);
    add_compiler(&report, &tools);
    add_cuda(&report, &tools);
    dm_status status = add_devices(&report, options->selftest, negative, err);
    add_cache(&report);
    add_components(&report);
    dm_status printed = dm_report_end(&report, status == DM_OK ? err : NULL);
    return status != DM_OK ? status : printed;
}

const dm_command dm_command_info = {
    .name = "info",
    .summary = "Show this build, this machine and what is missing on it",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(info_options),
    .run = run,
    .examples = "dotmatrix info --selftest\n",
};
