/* SPDX-License-Identifier: MIT */
/* verify_suite.c - many verifications from one file; what verify and replay say of a mismatch (dm_verify_tell).
 *
 *   {"schema": "dotmatrix-suite-1",
 *    "roms": [{"rom": "ALU_LOOP", "profile": {"steps": 1024, ...},
 *              "references": {"mgba_single": {}, "pyboy_single": {"settle": 20, "why": "..."}}}]}
 *
 * A reference's object changes the profile (lab/verify/profile.h) for it. Everything left out of a
 * comparison (`ignore`, `settle`), and a skipped reference (`skip`), has its reason beside it. */
#include "cli/lab/verify_suite.h"
#include "base/file.h"
#include "base/json.h"
#include "base/terminal/stop.h"
#include "lab/verify/bundle.h"
#include "lab/verify/profile.h"
#include "lab/verify/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA "dotmatrix-suite-1"
#define ROM_MAX (16u << 20)

void dm_verify_left_out(const dm_lab_verify *v, const dm_lab_verdict *verdict, char *out,
                        size_t size)
{
    char fields[128];
    out[0] = 0;
    dm_lab_fields_text(v->ignore, fields, sizeof fields);
    if (fields[0] != 0)
        snprintf(out, size, "not compared: %s", fields);
    size_t used = strlen(out);
    if (v->settle > 0)
        snprintf(out + used, size - used, "%sfirst compared after %" PRIu64 " steps",
                 used > 0 ? "; " : "", v->settle);
    used = strlen(out);
    if (verdict->met > 0)
        snprintf(out + used, size - used, "%s%" PRIu64 " met only later, up to %" PRIu64 " cycles",
                 used > 0 ? "; " : "", verdict->met, verdict->met_most);
}

void dm_verify_bundle_name(char *out, size_t size, const char *folder, const char *rom)
{
    const char *slash = strrchr(rom, '/'), *base = slash != NULL ? slash + 1 : rom;
    const char *dot = strrchr(base, '.');
    int length = dot != NULL ? (int)(dot - base) : (int)strlen(base);
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    snprintf(out, size, "%s/%.*s-%s", folder, length, base, when);
    for (int i = 2; access(out, F_OK) == 0 && i < 100; i++)
        snprintf(out, size, "%s/%.*s-%s-%d", folder, length, base, when, i);
}

dm_status dm_verify_tell(const dm_lab_verify *v, const dm_lab_verdict *verdict, const char *path,
                         dm_error *err)
{
    dm_buffer trace = DM_BUFFER_EMPTY;
    printf("MISMATCH after step %" PRIu64 ", machine %" PRIu64 " (%s against %s):\n%s",
           verdict->step, verdict->machine, v->dut->name, v->reference->name,
           dm_buffer_text(&verdict->diff));
    dm_status status = dm_lab_trace_explain(v, verdict, &trace, err);
    if (status == DM_OK)
        status = dm_buffer_check(&trace, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(&trace), stdout);
    if (status == DM_OK && path != NULL) {
        status = dm_lab_bundle_write(path, v, verdict, dm_buffer_text(&trace), err);
        if (status == DM_OK)
            printf("bundle: %s (%s/repro.sh shows it again)\n", path, path);
    }
    dm_buffer_deinit(&trace);
    return status;
}

typedef struct suite_run {
    const dm_verify_suite *suite;
    const dm_lab_kind *own; /* a backend of ours as the reference: everything is compared */
    uint64_t agreed, differ, skipped, missing;
    dm_error missing_error;
} suite_run;

/* `no_picture`: the ROM's profile compares it, this one does not; `why` has the reason for what is
 * left out, or is NULL. */
static dm_status run_row(suite_run *s, const char *rom, const char *name, const dm_lab_verify *v,
                         bool no_picture, const char *why, dm_error *err)
{
    char left_out[320];
    char reference[64];
    snprintf(reference, sizeof reference, "%s%s", v->recording != NULL ? "rec. " : "", name);
    dm_lab_verdict verdict;
    dm_status status = dm_lab_verify_run(v, NULL, &verdict, err);
    if (status == DM_EUNAVAILABLE && v->reference->install != NULL) {
        printf("%-22s %-18s missing  %s\n", rom, reference, err->message);
        s->missing++;
        s->missing_error = *err;
        return DM_OK;
    }
    if (status != DM_OK) {
        dm_error_prefix(err, "%s, %s", rom, reference);
        return status;
    }
    dm_verify_left_out(v, &verdict, left_out, sizeof left_out);
    size_t used = strlen(left_out);
    if (no_picture)
        snprintf(left_out + used, sizeof left_out - used, "%spicture not compared",
                 used > 0 ? "; " : "");
    if (verdict.interrupted)
        dm_stop_kept("%" PRIu64 " verifications were finished", s->agreed + s->differ);
    else
        printf("%-22s %-18s %-8s %" PRIu64 " steps of %" PRIu32 ", %" PRIu64
               " comparisons%s%s%s%s\n",
               rom, reference, verdict.matched ? "ok" : "DIFFERS", verdict.steps_done,
               v->frames_per_step, verdict.compared, left_out[0] != 0 ? "; " : "", left_out,
               why != NULL ? ": " : "", why != NULL ? why : "");
    fflush(stdout);
    if (status == DM_OK && !verdict.interrupted && !verdict.matched) {
        char path[DM_PATH_MAX];
        dm_verify_bundle_name(path, sizeof path, s->suite->bundles, rom);
        status = dm_verify_tell(v, &verdict, path, err);
        s->differ++;
    } else if (status == DM_OK && !verdict.interrupted) {
        s->agreed++;
    }
    dm_lab_verdict_deinit(&verdict);
    return status;
}

/* FOLDER/ROM-REFERENCE.rec, where the suite is recorded or played back. */
static dm_status place_recording(const suite_run *s, const char *rom, const char *name,
                                 dm_lab_verify *v, char path[DM_PATH_MAX], dm_error *err)
{
    const dm_verify_suite *suite = s->suite;
    const char *folder = suite->record != NULL ? suite->record : suite->recorded;
    if (folder == NULL)
        return DM_OK;
    char file[160];
    snprintf(file, sizeof file, "%s-%s.rec", rom, name);
    dm_status status = dm_path_join(path, folder, file, err);
    if (status == DM_OK && suite->record != NULL) {
        status = dm_dir_create(folder, err);
        v->record = path;
    } else {
        v->recording = path;
        v->reference = &dm_lab_recorded;
    }
    return status;
}

/* One reference of one ROM; `v` has the ROM's profile. */
static dm_status run_reference(suite_run *s, const char *rom, const char *name,
                               const json_t *changes, dm_lab_verify v, dm_error *err)
{
    const char *why = json_string_value(json_object_get(changes, "why"));
    const char *skip = json_string_value(json_object_get(changes, "skip"));
    bool framed = v.compare_frame;
    if (s->suite->reference != NULL && strcmp(s->suite->reference, name) != 0)
        return DM_OK;
    if (skip != NULL) {
        printf("%-22s %-18s skipped  %s\n", rom, name, skip);
        s->skipped++;
        return DM_OK;
    }
    json_t *rest = json_copy((json_t *)(uintptr_t)changes);
    json_object_del(rest, "why");
    dm_status status = dm_lab_kind_find(name, &v.reference, err);
    if (status == DM_OK)
        status = dm_lab_profile_read(rest, s->suite->file, &v, err);
    json_decref(rest);
    if (status == DM_OK && why == NULL &&
        (v.ignore != 0 || v.settle > 0 || v.slack > 0 || framed != v.compare_frame))
        status = dm_fail(err, DM_EFORMAT, "%s: %s against %s leaves something out without a 'why'",
                         s->suite->file, rom, name);
    char path[DM_PATH_MAX];
    if (status == DM_OK)
        status = place_recording(s, rom, name, &v, path, err);
    return status != DM_OK ? status
                           : run_row(s, rom, name, &v, framed && !v.compare_frame, why, err);
}

static dm_status run_rom(suite_run *s, const json_t *entry, dm_error *err)
{
    const char *rom = json_string_value(json_object_get(entry, "rom"));
    json_t *references = json_object_get(entry, "references");
    if (rom == NULL || !json_is_object(references) || json_object_size(references) == 0)
        return dm_fail(err, DM_EFORMAT, "%s: an entry without 'rom' or 'references'",
                       s->suite->file);
    if (s->suite->only != NULL && strcmp(s->suite->only, rom) != 0)
        return DM_OK;
    char path[DM_PATH_MAX], name[128], *bytes = NULL;
    dm_lab_verify v = dm_lab_profile_default();
    v.dut = s->suite->dut;
    snprintf(name, sizeof name, "%s.gb", rom);
    dm_status status = dm_path_join(path, s->suite->roms, name, err);
    if (status == DM_OK)
        status = dm_file_read(path, ROM_MAX, &bytes, &v.rom_size, err);
    if (status == DM_OK)
        status = dm_lab_profile_read(json_object_get(entry, "profile"), s->suite->file, &v, err);
    v.rom = (const uint8_t *)bytes;
    if (status == DM_OK && s->own != NULL) {
        v.reference = s->own;
        status = run_row(s, rom, s->own->name, &v, false, NULL, err);
        references = NULL;
    }
    for (void *at = json_object_iter(references); at != NULL && status == DM_OK;
         at = json_object_iter_next(references, at))
        status =
            run_reference(s, rom, json_object_iter_key(at), json_object_iter_value(at), v, err);
    free(bytes);
    return status;
}

static dm_status run_all(suite_run *s, const json_t *root, dm_error *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *roms = json_object_get(root, "roms"), *entry;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0 || !json_is_array(roms))
        return dm_fail(err, DM_EFORMAT, "%s: not a suite of schema %s", s->suite->file, SCHEMA);
    dm_status status = DM_OK;
    size_t i;
    json_array_foreach(roms, i, entry)
    {
        if (dm_stop_requested())
            return DM_OK;
        status = run_rom(s, entry, err);
        if (status != DM_OK)
            return status;
    }
    if (s->agreed + s->differ + s->missing + s->skipped == 0)
        return dm_fail(err, DM_EINVAL, "%s: nothing to run%s%s", s->suite->file,
                       s->suite->only != NULL ? "; there is no ROM " : "",
                       s->suite->only != NULL ? s->suite->only : "");
    return DM_OK;
}

dm_status dm_verify_suite_run(const dm_verify_suite *suite, bool *negative, dm_error *err)
{
    suite_run s = {.suite = suite};
    json_t *root = NULL;
    char version[128];
    const dm_lab_kind *reference = NULL;
    dm_status status = suite->dut->version(suite->dut, version, sizeof version, err);
    if (status == DM_OK && suite->reference != NULL)
        status = dm_lab_kind_find(suite->reference, &reference, err);
    if (reference != NULL && !reference->is_reference)
        s.own = reference;
    if (status == DM_OK)
        status = dm_json_load(suite->file, &root, err);
    if (status == DM_OK)
        status = run_all(&s, root, err);
    json_decref(root);
    if (s.agreed + s.differ > 0)
        printf("%s: %" PRIu64 " agree, %" PRIu64 " differ, %" PRIu64 " skipped, %" PRIu64
               " missing\n",
               suite->dut->name, s.agreed, s.differ, s.skipped, s.missing);
    *negative = s.differ > 0;
    if (status == DM_OK && s.missing > 0 && s.differ == 0) {
        *err = s.missing_error;
        return DM_EUNAVAILABLE;
    }
    return status;
}
