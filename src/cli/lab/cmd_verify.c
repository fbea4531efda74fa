/* SPDX-License-Identifier: MIT */
/* cmd_verify.c - `dotmatrix verify`: a backend beside a reference, in lockstep. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/lab/verify_suite.h"
#include "cli/outputs.h"
#include "cli/report.h"
#include "lab/provenance.h"
#include "lab/verify/bundle.h"
#include "lab/verify/profile.h"
#include "lab/verify/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROM_MAX (16u << 20)
#define BUNDLES "runs/mismatch"

typedef struct verify_options {
    const char *rom, *reference, *dut, *actions_file, *action_gen, *ignore, *bundle, *suite, *roms,
        *only, *record, *recorded, *state, *codec;
    int64_t envs, frames_per_step, release, steps, compare_every, settle, slack, seed;
    dm_strings regions;
    int start, by;
    bool compare_frame, json, force_dmg;
    dm_strings given;
} verify_options;

static const char *const by_names[] = {"frame", "instruction", NULL};
static const char *const start_names[] = {"zero", "post-boot", NULL};

static const dm_option rows[] = {
    DM_OPTION_STRING(verify_options, rom, "rom", "FILE", NULL, "the game"),
    DM_OPTION_STRING(verify_options, reference, "ref-backend", "NAME", NULL,
                     "the reference (default mgba_single; with --suite all that it names)"),
    DM_OPTION_STRING(verify_options, dut, "dut-backend", "NAME", "vec_cpu", "who is under test"),
    DM_OPTION_INT(verify_options, envs, "envs", "N", 1, 1000000, "1", "machines"),
    DM_OPTION_INT(verify_options, frames_per_step, "frames-per-step", "N", 1, 1024, "1",
                  "frames of a step"),
    DM_OPTION_INT(verify_options, release, "release-after-frames", "N", 0, 1024, "0",
                  "the keys are up after so many frames (0: 8, or all)"),
    DM_OPTION_INT(verify_options, steps, "verify-steps", "N", 1, INT64_MAX, "1024", "steps to run"),
    DM_OPTION_INT(verify_options, compare_every, "compare-every", "N", 1, INT64_MAX, "1",
                  "steps from one comparison to the next"),
    DM_OPTION_STRINGS(verify_options, regions, "mem-region", "LO:HI",
                      "compare memory from LO to before HI; repeatable"),
    DM_OPTION_FLAG(verify_options, compare_frame, "compare-frame", "compare the picture"),
    DM_OPTION_STRING(verify_options, codec, "codec", "NAME", "buttons_v1",
                     "what an action stands for: buttons_v1, pokemon_v1 or raw"),
    DM_OPTION_STRING(verify_options, actions_file, "actions-file", "FILE", NULL,
                     "actions, a line for each step"),
    DM_OPTION_STRING(verify_options, action_gen, "action-gen", "NAME", "noop",
                     "made-up actions: noop, seeded_random or striped"),
    DM_OPTION_INT(verify_options, seed, "actions-seed", "N", 0, INT64_MAX, "0",
                  "of the random actions"),
    DM_OPTION_CHOICE(verify_options, start, "start", start_names, "zero",
                     "the state in which both begin"),
    DM_OPTION_STRING(verify_options, state, "state", "FILE", NULL,
                     "begin both at this save state instead (backends of ours)"),
    DM_OPTION_CHOICE(verify_options, by, "by", by_names, "frame",
                     "compare after steps of frames, or after each instruction"),
    DM_OPTION_INT(verify_options, settle, "settle", "N", 0, INT64_MAX, "0",
                  "steps before the first comparison"),
    DM_OPTION_STRING(verify_options, ignore, "ignore", "LIST", NULL,
                     "leave out: registers such as f, or cycles"),
    DM_OPTION_INT(verify_options, slack, "slack", "CYCLES", 0, 70224, "0",
                  "where they differ one side may get to the other's place so much later"),
    DM_OPTION_FLAG(verify_options, force_dmg, "force-dmg",
                   "run a ROM for the Game Boy Color only as on a DMG"),
    DM_OPTION_STRING(verify_options, bundle, "bundle", "DIR", NULL,
                     "where a mismatch goes (default: a new folder in " BUNDLES
                     "; with --suite the folder that holds them)"),
    DM_OPTION_STRING(verify_options, suite, "suite", "FILE", NULL,
                     "run all verifications of this file instead"),
    DM_OPTION_STRING(verify_options, roms, "roms", "DIR", "build/roms",
                     "with --suite: where the ROMs are"),
    DM_OPTION_STRING(verify_options, only, "only", "NAME", NULL, "with --suite: only this ROM"),
    DM_OPTION_STRING(verify_options, record, "record", "FILE", NULL,
                     "write the reference's side down (with --suite: a folder)"),
    DM_OPTION_STRING(verify_options, recorded, "recorded", "FILE", NULL,
                     "compare with what was recorded instead (with --suite: a folder)"),
    DM_OPTION_FLAG(verify_options, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(verify_options, given),
};

/* Refuse options that have no effect beside the others, and files that cannot be written. */
static dm_status check_use(const verify_options *o, dm_error *err)
{
    static const dm_option_need needs[] = {
        {"roms", "suite"}, {"only", "suite"}, {"actions-seed", "action-gen"}};
    static const char *const of_suite[] = {"suite",       "roms",        "only",
                                           "ref-backend", "dut-backend", "record",
                                           "recorded",    "bundle",      "log-level"};
    dm_status status =
        dm_options_check_needs(&o->given, needs, sizeof needs / sizeof needs[0], err);
    for (size_t i = 0; i < o->given.count && o->suite != NULL && status == DM_OK; i++) {
        bool fine = false;
        for (size_t k = 0; k < sizeof of_suite / sizeof of_suite[0]; k++)
            fine |= strcmp(o->given.items[i], of_suite[k]) == 0;
        if (!fine)
            status =
                dm_fail(err, DM_EINVAL, "--%s is for --rom; a suite says it for each of its own",
                        o->given.items[i]);
    }
    if (status == DM_OK && o->actions_file != NULL && dm_options_is_given(&o->given, "action-gen"))
        status = dm_fail(err, DM_EINVAL, "--actions-file and --action-gen: one of them");
    if (status == DM_OK && o->state != NULL && dm_options_is_given(&o->given, "start"))
        status = dm_fail(err, DM_EINVAL, "--state and --start: one of them");
    if (status == DM_OK && o->ignore != NULL)
        status = dm_options_check_list("ignore", o->ignore, err);
    if (status != DM_OK || o->suite != NULL)
        return status;
    const dm_output files[] = {{"rom", o->rom, true},
                               {"actions-file", o->actions_file, true},
                               {"recorded", o->recorded, true},
                               {"state", o->state, true},
                               {"record", o->record, false}};
    return dm_outputs_check(files, sizeof files / sizeof files[0], err);
}

static dm_status read_options(const verify_options *o, dm_lab_verify *v, dm_error *err)
{
    *v = dm_lab_profile_default();
    if (o->rom == NULL)
        return dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
    dm_status status = DM_OK;
    if (o->reference != NULL)
        status = dm_lab_kind_find(o->reference, &v->reference, err);
    if (status == DM_OK)
        status = dm_lab_kind_find(o->dut, &v->dut, err);
    if (status == DM_OK)
        status = dm_swarm_generator_parse(o->action_gen, &v->actions.generator, err);
    if (status == DM_OK)
        status = dm_swarm_codec_parse(o->codec, &v->actions.codec, err);
    if (status == DM_OK && o->ignore != NULL)
        status = dm_lab_fields_parse(o->ignore, &v->ignore, err);
    if (status == DM_OK && o->regions.count > DM_LAB_REGIONS_MAX)
        status = dm_fail(err, DM_EINVAL, "--mem-region: at most %d", DM_LAB_REGIONS_MAX);
    for (size_t i = 0; i < o->regions.count && status == DM_OK; i++)
        status = dm_lab_region_parse(o->regions.items[i], &v->regions[v->region_count++], err);
    if (status == DM_OK && o->release > o->frames_per_step)
        status = dm_fail(err, DM_EINVAL, "--release-after-frames: a step has only %" PRId64,
                         o->frames_per_step);
    if (status == DM_OK && o->settle > o->steps)
        status = dm_fail(err, DM_EINVAL, "--settle: nothing would be compared");
    v->envs = (uint64_t)o->envs;
    v->frames_per_step = (uint32_t)o->frames_per_step;
    v->release_after_frames = (uint32_t)o->release;
    v->steps = (uint64_t)o->steps;
    v->compare_every = (uint64_t)o->compare_every;
    v->settle = (uint64_t)o->settle;
    v->slack = (uint32_t)o->slack;
    v->start = o->state != NULL ? DM_LAB_START_STATE : (dm_lab_start)o->start;
    v->state = o->state;
    v->ignore |= dm_lab_fields_unseen(v->reference, v->dut);
    v->force_dmg = o->force_dmg;
    v->compare_frame = o->compare_frame;
    v->by_instruction = o->by == 1;
    v->actions.seed = (uint64_t)o->seed;
    v->record = o->record;
    v->recording = o->recorded;
    if (o->recorded != NULL)
        v->reference = &dm_lab_recorded;
    if (status == DM_OK && o->recorded != NULL && (o->record != NULL || o->reference != NULL))
        status = dm_fail(err, DM_EINVAL, "--recorded stands in the place of a reference");
    return status;
}

static dm_status print_json(const dm_lab_verify *v, const dm_lab_verdict *verdict,
                            const char *bundle, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    const dm_lab_kind *kinds[2] = {v->reference, v->dut};
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_bool(&json, "matched", verdict->matched);
    dm_json_uint(&json, "steps", verdict->steps_done);
    dm_json_uint(&json, "comparisons", verdict->compared);
    dm_json_uint(&json, "instructions", verdict->instructions);
    dm_json_uint(&json, "met_later", verdict->met);
    dm_json_uint(&json, "met_later_cycles", verdict->met_most);
    if (!verdict->matched) {
        dm_json_uint(&json, "step", verdict->step);
        dm_json_uint(&json, "machine", verdict->machine);
        dm_json_string(&json, "diff", dm_buffer_text(&verdict->diff));
        dm_json_string(&json, "bundle", bundle);
    }
    dm_lab_profile_write(&json, "verify", v);
    dm_lab_provenance(&json, kinds, 2);
    return dm_report_print(&json, &text, err);
}

static dm_status answer(const verify_options *o, const dm_lab_verify *v,
                        const dm_lab_verdict *verdict, const char *bundle, dm_error *err)
{
    char left_out[320], instructions[64] = "";
    if (o->json) {
        dm_buffer trace = DM_BUFFER_EMPTY;
        dm_status status = DM_OK;
        if (!verdict->matched)
            status = dm_lab_trace_explain(v, verdict, &trace, err);
        if (status == DM_OK && !verdict->matched)
            status = dm_lab_bundle_write(bundle, v, verdict, dm_buffer_text(&trace), err);
        dm_buffer_deinit(&trace);
        return status != DM_OK ? status : print_json(v, verdict, bundle, err);
    }
    if (!verdict->matched)
        return dm_verify_tell(v, verdict, bundle, err);
    dm_verify_left_out(v, verdict, left_out, sizeof left_out);
    if (v->by_instruction)
        snprintf(instructions, sizeof instructions, ", %" PRIu64 " instructions",
                 verdict->instructions);
    printf("%s agrees with %s: %" PRIu64 " steps of %" PRIu32 " frames%s, %" PRIu64
           " comparisons%s%s%s\n",
           v->dut->name, v->reference->name, verdict->steps_done, v->frames_per_step, instructions,
           verdict->compared, left_out[0] != 0 ? " (" : "", left_out, left_out[0] != 0 ? ")" : "");
    return DM_OK;
}

static dm_status run_one(const verify_options *o, bool *negative, dm_error *err)
{
    dm_lab_verify v;
    dm_lab_verdict verdict = {0};
    char bundle[DM_PATH_MAX], *rom = NULL;
    dm_status status = read_options(o, &v, err);
    if (status != DM_OK)
        return status;
    if (o->bundle != NULL)
        snprintf(bundle, sizeof bundle, "%s", o->bundle);
    else
        dm_verify_bundle_name(bundle, sizeof bundle, BUNDLES, o->rom);
    if (v.release_after_frames == 0)
        v.release_after_frames = v.frames_per_step < 8 ? v.frames_per_step : 8;
    /* A run may be long: check first that its result can be written. */
    status = o->bundle != NULL ? dm_lab_folder_check(bundle, err) : DM_OK;
    if (status == DM_OK)
        status = dm_file_read(o->rom, ROM_MAX, &rom, &v.rom_size, err);
    v.rom = (const uint8_t *)rom;
    if (status == DM_OK && o->actions_file != NULL)
        status = dm_lab_actions_load(&v.actions, o->actions_file, v.steps, v.envs, err);
    if (status == DM_OK)
        status = dm_lab_verify_run(&v, "verify", &verdict, err);
    if (status == DM_OK && verdict.interrupted)
        dm_stop_kept("%" PRIu64 " steps until then agree", verdict.steps_done);
    else if (status == DM_OK) {
        *negative = !verdict.matched;
        status = answer(o, &v, &verdict, bundle, err);
    }
    dm_lab_verdict_deinit(&verdict);
    dm_lab_actions_deinit(&v.actions);
    free(rom);
    return status;
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    const verify_options *o = values;
    (void)arguments;
    dm_status status = check_use(o, err);
    if (status != DM_OK)
        return status;
    if (o->suite == NULL)
        return run_one(o, negative, err);
    dm_verify_suite suite = {.file = o->suite,
                             .roms = o->roms,
                             .only = o->only,
                             .reference = o->reference,
                             .record = o->record,
                             .recorded = o->recorded,
                             .bundles = o->bundle != NULL ? o->bundle : BUNDLES};
    status = dm_lab_kind_find(o->dut, &suite.dut, err);
    return status != DM_OK ? status : dm_verify_suite_run(&suite, negative, err);
}

const dm_command dm_command_verify = {
    .name = "verify",
    .summary = "Run a backend and a reference in lockstep and compare them",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(verify_options),
    .run = run,
    .examples = "dotmatrix verify --rom game.gb --mem-region C000:C100 --verify-steps 1024\n"
                "dotmatrix verify --suite roms/suite.json --roms build/roms\n",
};
