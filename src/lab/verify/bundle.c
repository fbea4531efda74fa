/* SPDX-License-Identifier: MIT */
/* bundle.c - writes and reads the folder of a mismatch; see bundle.h. */
#include "lab/verify/bundle.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/temp.h"
#include "gb/host/picture.h"
#include "lab/provenance.h"
#include "lab/verify/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DUMP_MAX 1024u
#define ROM_MAX (16u << 20)
#define RECORDING "recording.rec"
#define STATE "start.state"

static void parent_of(const char *path, char out[DM_PATH_MAX])
{
    if (out != path)
        snprintf(out, DM_PATH_MAX, "%s", path);
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        out[--length] = 0;
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, DM_PATH_MAX, ".");
    else
        slash[slash == out ? 1 : 0] = 0;
}

dm_status dm_lab_folder_check(const char *path, dm_error *err)
{
    char parent[DM_PATH_MAX], probe[DM_PATH_MAX];
    if (path[0] == 0)
        return dm_fail(err, DM_EINVAL, "a folder without a name");
    struct stat st;
    if (lstat(path, &st) == 0)
        return dm_fail(err, DM_EIO, "%.800s: exists already", path);
    if (errno != ENOENT)
        return dm_fail(err, DM_EIO, "%.800s: %s", path, strerror(errno));
    /* The first of its parents that is there must take a new folder; nothing is left in it. */
    parent_of(path, parent);
    while (lstat(parent, &st) != 0 && errno == ENOENT && strcmp(parent, ".") != 0)
        parent_of(parent, parent);
    dm_status status = dm_temp_folder(probe, parent, err);
    return status == DM_OK ? dm_dir_remove(probe, err) : status;
}

/* ---- Writing ---- */

typedef struct writer {
    char folder[DM_PATH_MAX];
    dm_status status;
    dm_error *err;
} writer;

static void put(writer *w, const char *name, const void *bytes, size_t size)
{
    char path[DM_PATH_MAX];
    if (w->status == DM_OK)
        w->status = dm_path_join(path, w->folder, name, w->err);
    if (w->status == DM_OK)
        w->status = dm_file_write(path, bytes, size, w->err);
}

/* And release it. */
static void put_buffer(writer *w, const char *name, dm_buffer *text)
{
    if (w->status == DM_OK)
        w->status = dm_buffer_check(text, w->err);
    put(w, name, dm_buffer_text(text), text->size);
    dm_buffer_deinit(text);
}

static void put_meta(writer *w, const dm_lab_verify *v, const dm_lab_verdict *verdict)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    char hash[DM_HASH_HEX_SIZE];
    const dm_lab_kind *kinds[2] = {v->reference, v->dut};
    dm_hash128_hex(dm_hash128_of(v->rom, v->rom_size), hash);
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "schema", DM_LAB_BUNDLE_SCHEMA);
    dm_json_uint(&json, "step", verdict->step);
    dm_json_uint(&json, "machine", verdict->machine);
    dm_json_uint(&json, "last_good_step", verdict->last_good);
    dm_json_string(&json, "rom_hash", hash);
    dm_json_bool(&json, "actions_given", v->actions.given != NULL);
    dm_lab_profile_write(&json, "verify", v);
    dm_lab_provenance(&json, kinds, 2);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    put_buffer(w, "meta.json", &text);
}

static void put_view(writer *w, const char *name, const dm_lab_verify *v, const dm_lab_kind *kind,
                     const dm_lab_side *side)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    const dm_gb_registers *r = &side->view.registers;
    const struct {
        const char *name;
        unsigned value;
    } values[] = {{"pc", r->pc}, {"sp", r->sp}, {"a", r->a}, {"f", r->f}, {"b", r->b},
                  {"c", r->c},   {"d", r->d},   {"e", r->e}, {"h", r->h}, {"l", r->l}};
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    for (size_t i = 0; i < sizeof values / sizeof values[0] && kind->look != NULL; i++)
        dm_json_uint(&json, values[i].name, values[i].value);
    if (side->view.has_cycles)
        dm_json_uint(&json, "cycles", side->view.cycles);
    if (side->view.has_instructions)
        dm_json_uint(&json, "instructions", side->view.instructions);
    dm_json_begin_object(&json, "regions");
    for (size_t i = 0; i < v->region_count; i++) {
        char key[16], hash[20];
        snprintf(key, sizeof key, "%04X:%04X", v->regions[i].address,
                 (unsigned)v->regions[i].address + v->regions[i].size);
        snprintf(hash, sizeof hash, "%016llx",
                 (unsigned long long)dm_hash64(side->regions[i], v->regions[i].size));
        dm_json_string(&json, key, hash);
    }
    dm_json_end_object(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    put_buffer(w, name, &text);
}

/* Where the dump of a region begins: the first difference is in its middle. */
static size_t dump_begin(const dm_swarm_region *r, const uint8_t *a, const uint8_t *b)
{
    size_t size = r->size, first = 0;
    while (first < size && a[first] == b[first])
        first++;
    if (size <= DUMP_MAX || first == size || first < DUMP_MAX / 2)
        return 0;
    return first - DUMP_MAX / 2 < size - DUMP_MAX ? first - DUMP_MAX / 2 : size - DUMP_MAX;
}

static void put_regions(writer *w, const dm_lab_verify *v, const dm_lab_verdict *verdict)
{
    for (size_t i = 0; i < v->region_count; i++) {
        const dm_swarm_region *r = &v->regions[i];
        const uint8_t *a = verdict->reference.regions[i], *b = verdict->dut.regions[i];
        size_t begin = dump_begin(r, a, b), left = r->size - begin;
        size_t size = left < DUMP_MAX ? left : DUMP_MAX;
        char name[64];
        snprintf(name, sizeof name, "reference_%04zX.bin", r->address + begin);
        put(w, name, a + begin, size);
        snprintf(name, sizeof name, "dut_%04zX.bin", r->address + begin);
        put(w, name, b + begin, size);
    }
}

static void put_side(writer *w, const char *side_name, const dm_lab_verify *v,
                     const dm_lab_kind *kind, const dm_lab_side *side)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", side_name);
    put_view(w, name, v, kind, side);
    snprintf(name, sizeof name, "%s.state", side_name);
    if (side->state.size > 0)
        put(w, name, side->state.data, side->state.size);
    if (side->picture == NULL || w->status != DM_OK)
        return;
    dm_buffer png = DM_BUFFER_EMPTY;
    w->status = dm_gb_picture_png(side->picture, 2, &png, w->err);
    snprintf(name, sizeof name, "%s.png", side_name);
    put_buffer(w, name, &png);
}

static void put_actions(writer *w, const dm_lab_verify *v, const dm_lab_verdict *verdict)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    char action[DM_LAB_ACTION_SIZE];
    bool all = v->actions.given != NULL;
    uint64_t first = all ? 0 : verdict->machine, count = all ? v->actions.machines : 1;
    if (!all)
        dm_buffer_printf(&text, "# machine %llu; made up by %s, seed %llu\n",
                         (unsigned long long)verdict->machine,
                         dm_swarm_generator_name(v->actions.generator),
                         (unsigned long long)v->actions.seed);
    for (uint64_t step = 0; step < verdict->step; step++) {
        for (uint64_t i = 0; i < count; i++)
            dm_buffer_printf(&text, "%s%s", i > 0 ? " " : "",
                             dm_lab_action_text(v->actions.codec,
                                                dm_lab_action(&v->actions, first + i, step),
                                                action));
        dm_buffer_putc(&text, '\n');
    }
    put_buffer(w, "actions.txt", &text);
}

/* A file that the verification needs, under a name of the bundle's. */
static void put_copy(writer *w, const char *name, const char *path)
{
    char *bytes = NULL;
    size_t size;
    if (w->status == DM_OK)
        w->status = dm_file_read(path, 0, &bytes, &size, w->err);
    if (w->status == DM_OK)
        put(w, name, bytes, size);
    free(bytes);
}

static void put_script(writer *w)
{
    char program[DM_PATH_MAX] = "dotmatrix", path[DM_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0)
        program[length] = 0;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, "#!/bin/sh\n"
                          "# Shows the mismatch again: exit code 1 when it is still there, 0 when "
                          "both sides agree.\n"
                          "# $DOTMATRIX names another program than the one that found it.\n"
                          "here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 70\n");
    dm_buffer_puts(&text, "program=${DOTMATRIX:-'");
    for (const char *c = program; *c != 0; c++)
        if (*c != '\'')
            dm_buffer_putc(&text, *c);
    dm_buffer_puts(&text, "'}\n"
                          "[ -x \"$program\" ] || program=dotmatrix\n"
                          "exec \"$program\" replay \"$here\"\n");
    put_buffer(w, "repro.sh", &text);
    if (w->status == DM_OK)
        w->status = dm_path_join(path, w->folder, "repro.sh", w->err);
    if (w->status == DM_OK && chmod(path, 0755) != 0)
        w->status = dm_fail(w->err, DM_EIO, "%s: %s", path, strerror(errno));
}

dm_status dm_lab_bundle_write(const char *path, const dm_lab_verify *v,
                              const dm_lab_verdict *verdict, const char *trace, dm_error *err)
{
    char parent[DM_PATH_MAX];
    writer w = {.err = err};
    w.status = dm_lab_folder_check(path, err);
    if (w.status != DM_OK)
        return w.status;
    parent_of(path, parent);
    w.status = dm_dir_create(parent, err);
    if (w.status == DM_OK)
        w.status = dm_temp_folder(w.folder, parent, err);
    if (w.status != DM_OK)
        return w.status;
    put(&w, "rom.gb", v->rom, v->rom_size);
    put(&w, "diff.txt", dm_buffer_text(&verdict->diff), verdict->diff.size);
    put(&w, "trace.txt", trace, strlen(trace));
    put_meta(&w, v, verdict);
    put_actions(&w, v, verdict);
    put_side(&w, "reference", v, v->reference, &verdict->reference);
    put_side(&w, "dut", v, v->dut, &verdict->dut);
    put_regions(&w, v, verdict);
    if (v->recording != NULL)
        put_copy(&w, RECORDING, v->recording);
    if (v->start == DM_LAB_START_STATE)
        put_copy(&w, STATE, v->state);
    put_script(&w);
    chmod(w.folder, 0755);
    if (w.status == DM_OK)
        w.status = dm_temp_folder_keep(w.folder, path, err);
    if (w.status != DM_OK)
        dm_dir_remove(w.folder, NULL);
    return w.status;
}

/* ---- Reading ---- */

static dm_status read_meta(const json_t *meta, const char *path, dm_lab_bundle *out,
                           bool *actions_given, dm_error *err)
{
    const char *schema = json_string_value(json_object_get(meta, "schema"));
    if (schema == NULL || strcmp(schema, DM_LAB_BUNDLE_SCHEMA) != 0)
        return dm_fail(err, DM_EFORMAT, "%s: schema '%.64s', this program reads %s", path,
                       schema != NULL ? schema : "", DM_LAB_BUNDLE_SCHEMA);
    const json_t *step = json_object_get(meta, "step"), *machine = json_object_get(meta, "machine");
    if (!json_is_integer(step) || !json_is_integer(machine) || json_integer_value(step) < 0 ||
        json_integer_value(machine) < 0)
        return dm_fail(err, DM_EFORMAT, "%s: step or machine is missing", path);
    out->step = (uint64_t)json_integer_value(step);
    out->machine = (uint64_t)json_integer_value(machine);
    *actions_given = json_is_true(json_object_get(meta, "actions_given"));
    out->v = dm_lab_profile_default();
    return dm_lab_profile_read(json_object_get(meta, "verify"), path, &out->v, err);
}

/* The path of one of the bundle's own files. */
static dm_status name_copy(const char *folder, const char *name, char **out, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, name, err);
    *out = status == DM_OK ? strdup(path) : NULL;
    return status != DM_OK || *out != NULL ? status : dm_fail(err, DM_ENOMEM, "out of memory");
}

dm_status dm_lab_bundle_load(const char *path, dm_lab_bundle *out, dm_error *err)
{
    char file[DM_PATH_MAX];
    json_t *meta = NULL;
    bool actions_given = false;
    *out = (dm_lab_bundle){0};
    if (!dm_dir_exists(path))
        return dm_fail(err, DM_ENOENT, "%s: there is no such folder", path);
    dm_status status = dm_path_join(file, path, "meta.json", err);
    if (status == DM_OK)
        status = dm_json_load(file, &meta, err);
    if (status == DM_OK)
        status = read_meta(meta, file, out, &actions_given, err);
    json_decref(meta);
    if (status == DM_OK)
        status = dm_path_join(file, path, "rom.gb", err);
    if (status == DM_OK)
        status = dm_file_read(file, ROM_MAX, &out->rom, &out->v.rom_size, err);
    if (status == DM_OK) {
        out->v.rom = (const uint8_t *)out->rom;
        if (out->step > 0 && out->step < out->v.steps)
            out->v.steps = out->step;
        status = dm_path_join(file, path, "actions.txt", err);
    }
    if (status == DM_OK && out->v.reference == &dm_lab_recorded)
        status = name_copy(path, RECORDING, &out->recording, err);
    if (status == DM_OK && out->v.start == DM_LAB_START_STATE)
        status = name_copy(path, STATE, &out->state, err);
    out->v.recording = out->recording;
    out->v.state = out->state;
    if (status == DM_OK && actions_given)
        status = dm_lab_actions_load(&out->v.actions, file, out->step, out->v.envs, err);
    if (status != DM_OK)
        dm_lab_bundle_deinit(out);
    return status;
}

void dm_lab_bundle_deinit(dm_lab_bundle *bundle)
{
    free(bundle->rom);
    free(bundle->recording);
    free(bundle->state);
    dm_lab_actions_deinit(&bundle->v.actions);
    *bundle = (dm_lab_bundle){0};
}
