/* SPDX-License-Identifier: MIT */
/* target_lab.c - files of the lab: profiles, suites, mismatch bundles, action files, recordings and
 * the artifacts that reports are made from. */
#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli/lab/verify_suite.h"
#include "lab/actions.h"
#include "lab/report/report.h"
#include "lab/verify/bundle.h"
#include "lab/verify/profile.h"
#include "lab/verify/recording.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint8_t *rom_bytes(void)
{
    static uint8_t rom[0x8000];
    memcpy(rom + 0x100, "\x00\x34\x18\xFC", 4); /* NOP; INC [HL]; JR back */
    return rom;
}

static dm_lab_verify profile(void)
{
    dm_lab_verify v = dm_lab_profile_default();
    v.reference = v.dut = &dm_lab_single;
    v.rom = rom_bytes();
    v.rom_size = 0x8000;
    v.release_after_frames = 1;
    v.steps = 3;
    v.regions[v.region_count++] = (dm_swarm_region){0xC000, 0x10};
    return v;
}

/* ---- Profiles ---- */

void fuzz_run_lab_profile(const uint8_t *data, size_t size)
{
    json_t *root = NULL;
    dm_error err = {0};
    dm_status status = dm_json_parse((const char *)data, size, "profile.json", &root, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    dm_lab_verify v = dm_lab_profile_default();
    status = dm_lab_profile_read(root, "profile.json", &v, &err);
    fuzz_done(status, &err);
    json_decref(root);
    if (status != DM_OK)
        return;
    fuzz_expect(v.region_count <= DM_LAB_REGIONS_MAX && v.frames_per_step >= 1 &&
                    v.release_after_frames <= v.frames_per_step && v.compare_every >= 1 &&
                    v.envs >= 1,
                "a profile out of its limits");
    if (v.reference == NULL || v.dut == NULL)
        return;
    /* Written and read again it is the same. */
    dm_buffer first = DM_BUFFER_EMPTY, second = DM_BUFFER_EMPTY;
    dm_lab_verify again = dm_lab_profile_default();
    for (int i = 0; i < 2; i++) {
        dm_buffer *out = i == 0 ? &first : &second;
        dm_json json;
        dm_json_init(&json, out, DM_JSON_COMPACT);
        dm_lab_profile_write(&json, NULL, i == 0 ? &v : &again);
        dm_json_finish(&json);
        if (i == 0) {
            fuzz_need(dm_json_parse(first.data, first.size, "again", &root, &err), &err);
            fuzz_need(dm_lab_profile_read(root, "again", &again, &err), &err);
            json_decref(root);
        }
    }
    fuzz_expect(strcmp(dm_buffer_text(&first), dm_buffer_text(&second)) == 0,
                "a profile changes when it is written");
    dm_buffer_deinit(&first);
    dm_buffer_deinit(&second);
}

static void profile_text(dm_buffer *out)
{
    dm_json json;
    dm_lab_verify v = profile();
    dm_json_init(&json, out, DM_JSON_COMPACT);
    dm_lab_profile_write(&json, NULL, &v);
    dm_json_finish(&json);
}

void fuzz_seeds_lab_profile(void)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    profile_text(&out);
    fuzz_seed("all", out.data, out.size);
    fuzz_seed_text("few", "{\"steps\": 8, \"regions\": [\"C000:C100\", \"8000:A000\"], \"ignore\": "
                          "\"cycles,f\", \"by\": \"instruction\"}");
    dm_buffer_deinit(&out);
}

/* ---- Suites ---- */

void fuzz_run_lab_suite(const uint8_t *data, size_t size)
{
    static bool quiet;
    if (!quiet) /* a suite prints its table */
        fuzz_expect(freopen("/dev/null", "w", stdout) != NULL, "no /dev/null");
    quiet = true;
    char path[256];
    dm_error err = {0};
    const char *folder = fuzz_folder();
    snprintf(path, sizeof path, "%s/FUZZ.gb", folder);
    fuzz_need(dm_file_write(path, rom_bytes(), 0x8000, &err), &err);
    /* Played back from recordings that are not there: everything but the verification runs. */
    const dm_verify_suite suite = {.file = fuzz_file(0, data, size),
                                   .roms = folder,
                                   .dut = &dm_lab_single,
                                   .recorded = folder,
                                   .bundles = folder};
    bool negative = false;
    fuzz_done(dm_verify_suite_run(&suite, &negative, &err), &err);
}

void fuzz_seeds_lab_suite(void)
{
    fuzz_seed_text("two", "{\"schema\": \"dotmatrix-suite-1\", \"roms\": [{\"rom\": \"FUZZ\", "
                          "\"profile\": {\"steps\": 2}, \"references\": {\"pyboy_single\": "
                          "{\"skip\": \"because\"}, \"mgba_single\": {\"settle\": 1, \"why\": "
                          "\"starts late\"}}}, {\"rom\": \"FUZZ\", \"references\": "
                          "{\"mgba_single\": {}}}]}");
}

/* ---- Bundles ---- */

void fuzz_run_lab_bundle(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"meta.json", "rom.gb", "actions.txt", "recording.rec",
                                        NULL};
    dm_lab_bundle bundle;
    dm_error err = {0};
    dm_status status = dm_lab_bundle_load(fuzz_folder_of(data, size, names), &bundle, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    fuzz_touch(bundle.v.rom, bundle.v.rom_size);
    if (bundle.v.actions.given != NULL)
        for (uint64_t step = 0; step < bundle.v.actions.steps; step++) /* the first and the last */
            for (uint64_t m = 0; m < 2; m++)
                fuzz_expect(dm_lab_action(&bundle.v.actions, m * (bundle.v.actions.machines - 1),
                                          step) <= 8,
                            "no such action");
    dm_lab_bundle_deinit(&bundle);
}

void fuzz_seeds_lab_bundle(void)
{
    dm_buffer out = DM_BUFFER_EMPTY, text = DM_BUFFER_EMPTY;
    profile_text(&text);
    for (int given = 0; given < 2; given++) {
        dm_buffer_clear(&out);
        dm_buffer_printf(&out,
                         "{\"schema\": \"%s\", \"step\": 2, \"machine\": 0, \"actions_given\": "
                         "%s, \"verify\": %s}\n=== rom.gb\n1234\n=== actions.txt\nA\nNOOP\n",
                         DM_LAB_BUNDLE_SCHEMA, given ? "true" : "false", dm_buffer_text(&text));
        fuzz_seed(given ? "actions" : "plain", out.data, out.size);
    }
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&out);
}

/* ---- Actions ---- */

void fuzz_run_lab_actions(const uint8_t *data, size_t size)
{
    static const struct {
        uint64_t steps, machines;
    } shapes[] = {{4, 2}, {1, 1}, {2, 300}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        dm_lab_actions actions = {0};
        dm_error err = {0};
        dm_status status = dm_lab_actions_load(&actions, fuzz_file(0, data, size), shapes[i].steps,
                                               shapes[i].machines, &err);
        fuzz_done(status, &err);
        if (status != DM_OK)
            continue;
        for (uint64_t k = 0; k < shapes[i].steps * shapes[i].machines; k++)
            fuzz_expect(dm_lab_action(&actions, k % shapes[i].machines, k / shapes[i].machines) <=
                            8,
                        "no such action");
        dm_lab_actions_deinit(&actions);
    }
}

void fuzz_seeds_lab_actions(void)
{
    fuzz_seed_text("two-machines", "A B\n# comment\nNOOP NOOP\n3\nRIGHT LEFT\n8 0\n\n1 2\n");
    fuzz_seed_text("one", "up\n5\n");
}

/* ---- Recordings ---- */

static void play(const uint8_t *data, size_t size)
{
    dm_lab_verify v = profile();
    dm_lab_verdict verdict;
    dm_error err = {0};
    char name[64];
    v.recording = fuzz_file(0, data, size);
    v.reference = &dm_lab_recorded;
    fuzz_done(dm_lab_recording_check(v.recording, &v, name, sizeof name, &err), &err);
    dm_status status = dm_lab_verify_run(&v, NULL, &verdict, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        dm_lab_verdict_deinit(&verdict);
}

void fuzz_run_lab_recording(const uint8_t *data, size_t size)
{
    play(data, size);
    if (size < 8)
        return;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "out of memory");
    memcpy(copy, data, size);
    uint64_t hash = dm_hash64(copy, size - 8);
    memcpy(copy + size - 8, &hash, 8);
    play(copy, size);
    free(copy);
}

void fuzz_seeds_lab_recording(void)
{
    dm_lab_verify v = profile();
    dm_lab_verdict verdict;
    dm_error err;
    char path[256];
    snprintf(path, sizeof path, "%s/a.rec", fuzz_folder());
    v.record = path;
    fuzz_need(dm_lab_verify_run(&v, NULL, &verdict, &err), &err);
    fuzz_expect(verdict.matched, "a machine differs from itself");
    dm_lab_verdict_deinit(&verdict);
    fuzz_seed_file("three-steps", path);
}

/* ---- Artifacts ---- */

void fuzz_run_lab_artifact(const uint8_t *data, size_t size)
{
    /* A gnuplot that draws nothing: reports are read, compared and written, and end there. */
    static const char script[] = "#!/bin/sh\nexec cat >/dev/null\n";
    char path[256], out[256], search[512];
    dm_error err = {0};
    const char *folder = fuzz_folder();
    snprintf(path, sizeof path, "%s/gnuplot", folder);
    snprintf(out, sizeof out, "%s/report", folder);
    snprintf(search, sizeof search, "%s:/usr/bin:/bin", folder);
    fuzz_need(dm_file_write(path, script, sizeof script - 1, &err), &err);
    chmod(path, 0755);
    setenv("PATH", search, 1);
    fuzz_done(dm_lab_report(&(const char *){fuzz_file(0, data, size)}, 1, out, &err), &err);
    fuzz_expect(!dm_dir_exists(out), "a report without its pictures");
}

void fuzz_seeds_lab_artifact(void)
{
    fuzz_seed_text(
        "two",
        "{\"schema\": \"dotmatrix-bench-1\", \"results\": [{\"backend\": \"vec_cpu\", \"rom\": "
        "\"FUZZ\", \"stage\": \"full_step\", \"is_reference\": false, \"envs\": 8, \"machines\": "
        "8, "
        "\"fps\": 1000.5, \"fps_low\": 900, \"fps_high\": 1100, \"synchronized\": true},"
        "{\"backend\": \"mgba_vec_mt\", \"rom\": \"FUZZ\", \"stage\": \"full_step\", "
        "\"is_reference\": true, \"envs\": 8, \"machines\": 8, \"fps\": 10, \"fps_low\": 9, "
        "\"fps_high\": 11, \"synchronized\": true}, {\"backend\": \"vec_cuda\", \"rom\": \"FUZZ\", "
        "\"stage\": \"full_step\", \"skipped\": \"no GPU\"}]}");
}
