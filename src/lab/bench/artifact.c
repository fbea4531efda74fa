/* SPDX-License-Identifier: MIT */
/* artifact.c - the figures of a run, how they were measured and where, as JSON. */
#include "lab/bench/bench.h"
#include "lab/provenance.h"

#include <assert.h>
#include <stdio.h>

static void write_hash(dm_json *json, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    dm_json_string(json, key, text);
}

static void write_launch(dm_json *json, const dm_lab_launch *l)
{
    if (l->bytes_per_machine == 0)
        return;
    dm_json_uint(json, "bytes_per_machine", l->bytes_per_machine);
    if (l->block_threads == 0)
        return;
    dm_json_begin_object(json, "kernel");
    dm_json_uint(json, "lanes_per_warp", l->lanes_per_warp);
    dm_json_uint(json, "block_threads", l->block_threads);
    dm_json_int(json, "registers", l->registers);
    dm_json_uint(json, "local_bytes", l->local_bytes);
    dm_json_end_object(json);
}

static void write_row(dm_json *json, const dm_lab_bench *b, const dm_lab_bench_row *r)
{
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "backend", r->kind->name);
    dm_json_bool(json, "is_reference", r->kind->is_reference);
    dm_json_string(json, "rom", r->rom);
    dm_json_string(json, "folder", r->folder);
    dm_json_string(json, "stage", dm_swarm_stage_name(r->stage));
    if (r->kind->is_reference)
        dm_json_int(json, "threads", r->workers);
    else
        dm_json_uint(json, "envs", r->machines);
    if (r->skipped[0] != 0) {
        dm_json_string(json, "skipped", r->skipped);
        dm_json_end_object(json);
        return;
    }
    assert(r->synchronized);
    double steps = r->fps / b->frames_per_step;
    dm_json_string(json, "rom_sha256", r->rom_sha256);
    dm_json_uint(json, "machines", r->machines);
    dm_json_begin_object(json, "settings");
    dm_json_string(json, "sound", r->kind->sound);
    dm_json_string(json, "draws",
                   r->kind->always_draws ? "every picture; it cannot leave one out"
                   : !r->draws           ? "nothing"
                   : b->draw_every       ? "every picture"
                                         : "the last picture of each step");
    dm_json_string(json, "start",
                   b->state != NULL ? "the save state of the configuration" : "its own");
    if (r->workers > 0)
        dm_json_int(json, "workers", r->workers);
    dm_json_end_object(json);
    dm_json_int(json, "sync_every", r->sync_every);
    dm_json_bool(json, "synchronized", r->synchronized);
    dm_json_double(json, "build_seconds", r->build_seconds);
    dm_json_begin_array(json, "window_seconds");
    for (size_t i = 0; i < r->count; i++)
        dm_json_double(json, NULL, r->seconds[i]);
    dm_json_end_array(json);
    dm_json_begin_array(json, "window_steps");
    for (size_t i = 0; i < r->count; i++)
        dm_json_uint(json, NULL, r->window_steps[i]);
    dm_json_end_array(json);
    dm_json_double(json, "fps", r->fps);
    dm_json_double(json, "fps_low", r->fps_low);
    dm_json_double(json, "fps_high", r->fps_high);
    dm_json_double(json, "steps_per_second", steps);
    dm_json_double(json, "steps_per_second_per_machine", steps / (double)r->machines);
    if (r->seen > 0) {
        dm_json_begin_object(json, "divergence");
        dm_json_uint(json, "machines_seen", r->seen);
        dm_json_uint(json, "different_states", r->different);
        dm_json_uint(json, "unique_pcs", r->unique_pcs);
        dm_json_double(json, "lanes_same_pc", r->lanes_same_pc);
        dm_json_end_object(json);
    }
    dm_json_begin_object(json, "after_warmup");
    dm_json_uint(json, "machines", r->hashed);
    write_hash(json, "work_ram", r->memory_hash);
    if (r->draws)
        write_hash(json, "pictures", r->picture_hash);
    if (r->seen > 0)
        write_hash(json, "states", r->state_hash);
    dm_json_end_object(json);
    if (r->draws)
        dm_json_uint(json, "blank_at_the_end", r->blank);
    if (r->instructions_per_frame > 0) {
        dm_json_double(json, "instructions_per_frame", r->instructions_per_frame);
        dm_json_double(json, "halt_share", r->halt_share);
    }
    write_launch(json, &r->launch);
    dm_json_end_object(json);
}

static void write_configuration(dm_json *json, const dm_lab_bench *b)
{
    dm_json_begin_object(json, "configuration");
    dm_json_uint(json, "frames_per_step", b->frames_per_step);
    dm_json_uint(json, "release_after_frames", b->release_after_frames);
    dm_json_begin_array(json, "observations");
    for (uint32_t bit = 1; bit != 0; bit <<= 1)
        if (b->observations & bit)
            dm_json_string(json, NULL, dm_swarm_observation_name(bit));
    dm_json_end_array(json);
    dm_json_int(json, "sync_every", b->sync_every);
    dm_json_double(json, "window_seconds", b->seconds);
    dm_json_uint(json, "window_steps", b->steps);
    dm_json_uint(json, "warmup_steps", b->warmup);
    dm_json_double(json, "warmup_seconds", b->warmup_seconds);
    dm_json_uint(json, "rounds", b->rounds);
    dm_json_uint(json, "diverge_frames", b->diverge_frames);
    dm_json_uint(json, "diverge_machines", b->few);
    dm_json_uint(json, "reference_machines", b->reference_machines);
    dm_json_string(json, "action_gen", dm_swarm_generator_name(DM_SWARM_SEEDED_RANDOM));
    dm_json_string(json, "codec", dm_swarm_codec_name(b->codec));
    dm_json_uint(json, "seed", b->seed);
    dm_json_string(json, "state", b->state);
    dm_json_uint(json, "hooks", b->hooks);
    dm_json_bool(json, "keep_idle_loops", b->keep_idle_loops);
    dm_json_end_object(json);
}

dm_status dm_lab_bench_json(const dm_lab_bench *b, const dm_lab_bench_results *results,
                            dm_buffer *out, dm_error *err)
{
    dm_json json;
    dm_json_init(&json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "schema", DM_LAB_BENCH_SCHEMA);
    dm_json_bool(&json, "partial", results->partial);
    write_configuration(&json, b);
    dm_json_begin_array(&json, "results");
    for (size_t i = 0; i < results->count; i++)
        write_row(&json, b, &results->rows[i]);
    dm_json_end_array(&json);
    dm_lab_provenance(&json, b->kinds, b->kind_count);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return dm_buffer_check(out, err);
}
