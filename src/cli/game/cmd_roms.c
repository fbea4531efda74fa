/* SPDX-License-Identifier: MIT */
/* cmd_roms.c - `dotmatrix roms`: build our ROMs or a source of the user's, list them, check that
 * they end as their sources say, show a ROM's header.
 *
 * A name stands for the source of that name in one of the folders under roms/. */
#include "base/file.h"
#include "base/terminal/color.h"
#include "cli/command.h"
#include "cli/places.h"
#include "cli/report.h"
#include "gb/host/rom.h"
#include "romtools/asm.h"
#include "romtools/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct roms_options {
    const char *out;
    const char *source;
    const char *include;
    bool json;
    dm_strings given;
} roms_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(roms_options, out, "out", "DIR", ".", "where the .gb and .sym files go"),
    DM_OPTION_STRING(roms_options, source, "source", "DIR", NULL, "where our sources are"),
    DM_OPTION_STRING(roms_options, include, "include", "DIR", NULL,
                     "look for included files here too"),
    DM_OPTION_FLAG(roms_options, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(roms_options, given),
};

/* ---- finding sources ---- */

typedef struct source_list {
    dm_buffer paths;  /* NUL-terminated, one after the other */
    const char *only; /* a name, or NULL for all */
} source_list;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "ALU_LOOP" from "micro/ALU_LOOP.asm" */
static void rom_name(char out[256], const char *path)
{
    const char *base = base_name(path), *dot = strrchr(base, '.');
    snprintf(out, 256, "%.*s", (int)(dot ? dot - base : (ptrdiff_t)strlen(base)), base);
}

static bool is_source(const char *path)
{
    size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".asm") == 0;
}

static dm_status add_source(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    source_list *list = user;
    char path[DM_PATH_MAX], name[256];
    if (entry->is_dir || !is_source(entry->path))
        return DM_OK;
    rom_name(name, entry->path);
    if (list->only && strcasecmp(name, list->only) != 0)
        return DM_OK;
    dm_status status = dm_path_join(path, root, entry->path, err);
    if (status == DM_OK)
        dm_buffer_append(&list->paths, path, strlen(path) + 1);
    return status;
}

/* Where roms/ is: --source, $DM_ROMS, here, or above the program (a build folder in the source
 * tree, or share/dotmatrix of an installation). */
static dm_status find_folder(char out[DM_PATH_MAX], const roms_options *options, dm_error *err)
{
    const char *given = options->source ? options->source : getenv("DM_ROMS");
    if (given && given[0]) {
        if (!dm_dir_exists(given))
            return dm_fail(err, DM_ENOENT, "there is no folder %.800s", given);
        return dm_path_join(out, "", given, err);
    }
    if (dm_dir_exists("roms/micro"))
        return dm_path_join(out, "", "roms", err);
    static const char *const names[] = {"roms/micro", "share/dotmatrix/roms/micro", NULL};
    if (dm_place_find(out, names)) {
        *strrchr(out, '/') = 0;
        return DM_OK;
    }
    return dm_fail(err, DM_ENOENT, "cannot find the folder roms; --source names it");
}

/* The sources that the arguments behind the verb name: all of ours when there are none. */
static dm_status find_sources(source_list *list, const roms_options *options,
                              const dm_strings *arguments, dm_error *err)
{
    char folder[DM_PATH_MAX];
    dm_status status = DM_OK;
    for (size_t i = 1; status == DM_OK && (i < arguments->count || i == 1); i++) {
        const char *argument = i < arguments->count ? arguments->items[i] : NULL;
        size_t before = list->paths.size;
        if (argument && (strchr(argument, '/') || is_source(argument))) {
            dm_buffer_append(&list->paths, argument, strlen(argument) + 1);
            continue;
        }
        list->only = argument;
        status = find_folder(folder, options, err);
        if (status == DM_OK)
            status = dm_dir_walk(folder, add_source, list, err);
        if (status == DM_OK && list->paths.size == before)
            status = argument ? dm_fail(err, DM_ENOENT,
                                        "there is no ROM called %.200s in %.400s; dotmatrix roms "
                                        "list shows them",
                                        argument, folder)
                              : dm_fail(err, DM_ENOENT,
                                        "there is no source (.asm) in the folder %.400s; --source "
                                        "names another",
                                        folder);
    }
    return status == DM_OK ? dm_buffer_check(&list->paths, err) : status;
}

/* ---- one source ---- */

static dm_status assemble(const char *path, const roms_options *options, dm_gb_asm_result *result,
                          dm_error *err)
{
    char folder[DM_PATH_MAX] = "", include[DM_PATH_MAX];
    dm_gb_asm_options how = {.include_dir = options->include};
    if (!options->include && find_folder(folder, options, NULL) == DM_OK &&
        dm_path_join(include, folder, "include", NULL) == DM_OK)
        how.include_dir = include;
    dm_status status = dm_gb_asm_file(path, &how, result, err);
    if (result->messages.size > 0)
        dm_color_print_diagnostics(stderr, dm_buffer_text(&result->messages));
    if (status == DM_ECOMPILE)
        return dm_fail(err, status, "%.800s: %u error%s", path, result->errors,
                       result->errors == 1 ? "" : "s");
    return status;
}

static dm_status load_notes(const char *path, dm_gb_notes *notes, dm_error *err)
{
    char *text = NULL;
    size_t size;
    memset(notes, 0, sizeof *notes);
    dm_status status = dm_file_read(path, 4 << 20, &text, &size, err);
    if (status == DM_OK)
        status = dm_gb_notes_parse(path, text, size, notes, err);
    free(text);
    return status;
}

static dm_status write_output(const char *folder, const char *name, const char *extension,
                              const void *bytes, size_t size, dm_error *err)
{
    char file[300], path[DM_PATH_MAX];
    snprintf(file, sizeof file, "%s.%s", name, extension);
    dm_status status = dm_path_join(path, folder, file, err);
    return status == DM_OK ? dm_file_write(path, bytes, size, err) : status;
}

static dm_status build_one(const char *path, const roms_options *options, dm_error *err)
{
    dm_gb_asm_result result;
    dm_buffer symbols = DM_BUFFER_EMPTY;
    char name[256];
    rom_name(name, path);
    dm_status status = assemble(path, options, &result, err);
    if (status == DM_OK) {
        dm_gb_asm_write_symbols(&result, &symbols);
        status = dm_buffer_check(&symbols, err);
    }
    if (status == DM_OK)
        status = dm_dir_create(options->out, err);
    if (status == DM_OK)
        status = write_output(options->out, name, "gb", result.rom, result.rom_size, err);
    if (status == DM_OK)
        status =
            write_output(options->out, name, "sym", dm_buffer_text(&symbols), symbols.size, err);
    if (status == DM_OK)
        printf("%-20s %4zu KiB\n", name, result.rom_size / 1024);
    dm_buffer_deinit(&symbols);
    dm_gb_asm_result_deinit(&result);
    return status;
}

static dm_status check_one(const char *path, const roms_options *options, bool *negative,
                           dm_error *err)
{
    dm_gb_asm_result result;
    dm_gb_notes notes = {0};
    char name[256];
    unsigned failed = 0;
    rom_name(name, path);
    dm_status status = assemble(path, options, &result, err);
    if (status == DM_OK)
        status = load_notes(path, &notes, err);
    for (size_t i = 0; status == DM_OK && i < notes.expect_count; i++) {
        dm_buffer differences = DM_BUFFER_EMPTY;
        unsigned count = 0;
        status = dm_gb_expect_check(&notes.expects[i], result.rom, result.rom_size, NULL,
                                    &differences, &count, err);
        if (status == DM_OK && count > 0) {
            failed++;
            fprintf(stderr, "%s:%d:\n%s", path, notes.expects[i].line,
                    dm_buffer_text(&differences));
        }
        dm_buffer_deinit(&differences);
    }
    if (status == DM_OK) {
        printf("%-20s %zu of %zu as expected\n", name, notes.expect_count - failed,
               notes.expect_count);
        *negative |= failed > 0;
    }
    dm_gb_notes_deinit(&notes);
    dm_gb_asm_result_deinit(&result);
    return status;
}

static dm_status list_one(const char *path, dm_report *report, dm_error *err)
{
    dm_gb_notes notes;
    char name[256];
    rom_name(name, path);
    dm_status status = load_notes(path, &notes, err);
    if (status == DM_OK && report->as_json) {
        dm_report_item(report, NULL);
        dm_report_string(report, "name", name);
        dm_report_string(report, "path", path);
        dm_report_string(report, "proves", notes.proves);
        dm_report_uint(report, "expectations", notes.expect_count);
        dm_report_item_end(report);
    } else if (status == DM_OK) {
        printf("%-20s %s\n", name, notes.proves);
    }
    dm_gb_notes_deinit(&notes);
    return status;
}

/* ---- the verbs ---- */

static dm_status run_info(const roms_options *options, const dm_strings *arguments, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    if (options->json) {
        dm_json_init(&json, &text, DM_JSON_PRETTY);
        dm_json_begin_array(&json, NULL);
    }
    dm_status status = DM_OK;
    for (size_t i = 1; status == DM_OK && i < arguments->count; i++) {
        dm_gb_rom rom;
        status = dm_gb_rom_load(&rom, arguments->items[i], err);
        if (status != DM_OK)
            break;
        if (options->json)
            dm_gb_rom_report_json(&rom, arguments->items[i], &json);
        else
            dm_gb_rom_report(&rom, &text);
        dm_gb_rom_deinit(&rom);
    }
    if (status == DM_OK && options->json) {
        dm_json_end_array(&json);
        dm_buffer_putc(&text, '\n');
    }
    if (status == DM_OK)
        status = dm_buffer_check(&text, err);
    /* What was read before a bad file is still shown, unless it would be half a JSON text. */
    if (status == DM_OK || !options->json)
        fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status list_all(const source_list *list, bool json, dm_error *err)
{
    dm_report report;
    dm_status status = DM_OK;
    dm_report_begin(&report, json);
    dm_report_list(&report, "roms");
    for (size_t at = 0; status == DM_OK && at < list->paths.size;
         at += strlen(list->paths.data + at) + 1)
        status = list_one(list->paths.data + at, &report, err);
    dm_report_list_end(&report);
    if (status == DM_OK)
        return dm_report_end(&report, err);
    dm_buffer_deinit(&report.text);
    return status;
}

static dm_status run_sources(const char *verb, const roms_options *options,
                             const dm_strings *arguments, bool *negative, dm_error *err)
{
    source_list list = {.paths = DM_BUFFER_EMPTY};
    dm_status status = find_sources(&list, options, arguments, err);
    if (status == DM_OK && strcmp(verb, "list") == 0) {
        status = list_all(&list, options->json, err);
    } else {
        for (size_t at = 0; status == DM_OK && at < list.paths.size;
             at += strlen(list.paths.data + at) + 1)
            status = strcmp(verb, "build") == 0
                         ? build_one(list.paths.data + at, options, err)
                         : check_one(list.paths.data + at, options, negative, err);
    }
    dm_buffer_deinit(&list.paths);
    return status;
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const char *verb = arguments->items[0];
    return strcmp(verb, "info") == 0 ? run_info(values, arguments, err)
                                     : run_sources(verb, values, arguments, negative, err);
}

#define MANY 999
static const dm_action actions[] = {
    {"build", "[NAME|FILE.asm]...", 0, MANY, "Assemble: NAME.gb, and the labels in NAME.sym",
     "out source include", "dotmatrix roms build STARFALL --out build/roms"},
    {"list", "[NAME]...", 0, MANY, "Our ROMs and what each proves", "source json",
     "dotmatrix roms list"},
    {"check", "[NAME|FILE.asm]...", 0, MANY,
     "Assemble, run and compare with what the source expects", "source include",
     "dotmatrix roms check ALU_LOOP"},
    {"info", "ROM.gb...", 1, MANY, "What a ROM's header says", "json",
     "dotmatrix roms info game.gb"},
};

const dm_command dm_command_roms = {
    .name = "roms",
    .summary = "Build, list and check our ROMs, show a ROM's header",
    .arguments = "build|list|check|info [NAME|FILE]...",
    .arguments_min = 1,
    .arguments_max = 1 + MANY,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(roms_options),
    .run = run,
};
