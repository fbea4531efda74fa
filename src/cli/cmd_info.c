/* SPDX-License-Identifier: MIT */
/* cmd_info.c - `dotmatrix info`: what this build is, what this machine offers, what could be added.
 */
#include "base/build.h"
#include "base/machine.h"
#include "cli/command.h"
#include "cli/report.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct info_options {
    bool json;
} info_options;

static const dm_option rows[] = {
    DM_OPTION_FLAG(info_options, json, "json", "write JSON for programs"),
};

/* Parts that are used when they are there. `found` writes where (or which version) it found it. */
typedef struct component {
    const char *name;
    const char *purpose;
    const char *install;
    bool (*found)(const char *const *names, char *where, size_t size);
    const char *names[4]; /* what `found` looks for, in this order; ends with NULL */
} component;

static bool find_library(const char *const *names, char *where, size_t size)
{
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL)
            continue;
        struct link_map *map = NULL;
        char path[DM_PATH_MAX] = "";
        if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) == NULL)
            path[0] = 0;
        snprintf(where, size, "%s", path[0] ? path : *names);
        dlclose(library);
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
     {"libmgba.so", "libmgba.so.0.10"}},
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
    {"zstd",
     "compressed datasets",
     "apt-get install libzstd-dev",
     find_library,
     {"libzstd.so.1", "libzstd.so"}},
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

/* The compiler that kernels are built with at run time: $CC, else cc. */
static void add_compiler(dm_report *report)
{
    char version[256];
    const char *cc = getenv("CC");
    bool found = dm_program_first_line(version, sizeof version, "${CC:-cc} --version 2>/dev/null");
    dm_report_section(report, "compiler");
    dm_report_string(report, "command", cc != NULL && cc[0] != 0 ? cc : "cc");
    dm_report_bool(report, "found", found);
    dm_report_string(report, "version", version);
    dm_report_section_end(report);
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
    (void)negative;
    dm_report report;
    dm_report_begin(&report, options->json);
    add_build(&report);
    add_machine(&report);
    add_compiler(&report);
    add_cache(&report);
    add_components(&report);
    return dm_report_end(&report, err);
}

const dm_command dm_command_info = {
    .name = "info",
    .summary = "Show this build, this machine and what is missing on it",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(info_options),
    .run = run,
};
