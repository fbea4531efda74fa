/* SPDX-License-Identifier: MIT */
/* manifest.c - manifest.json (a dataset's options) and stats.json (its counts); see manifest.h. */
#include "synth/store/manifest.h"

#include "base/file.h"
#include "base/host/build.h"
#include "base/json.h"
#include "synth/check/compile.h"
#include "synth/gen/generate.h"
#include "synth/natural/natural.h"
#include "synth/store/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Settings ---- */

uint64_t dm_synth_generator_number(dm_synth_style style)
{
    static const uint64_t numbers[] = {[DM_SYNTH_STYLE_RANDOM] = DM_SYNTH_GENERATOR,
                                       [DM_SYNTH_STYLE_NATURAL] = DM_SYNTH_NATURAL_GENERATOR};
    return numbers[style];
}

static const char *device_name(int texts)
{
    bool cuda = (texts & DM_SYNTH_TEXT_CUDA) != 0, c = (texts & DM_SYNTH_TEXT_C) != 0;
    return cuda && c ? "both" : cuda ? "cuda" : "cpu";
}

static void write_settings(dm_json *json, const dm_synth_produce_options *o,
                           const dm_synth_profile *profile)
{
    char hash[DM_HASH_HEX_SIZE];
    dm_hash128_hex(profile->hash, hash);
    dm_json_string(json, "format", DM_SYNTH_FORMAT);
    dm_json_string(json, "version", dm_version_string());
    dm_json_string(json, "commit", dm_build_commit);
    dm_json_string(json, "style", dm_synth_style_names[profile->style]);
    dm_json_uint(json, "generator", dm_synth_generator_number(profile->style));
    dm_json_uint(json, "seed", o->seed);
    dm_json_uint(json, "count", o->count);
    dm_json_begin_array(json, "categories");
    for (int i = 0; i < o->category_count; i++)
        dm_json_string(json, NULL, dm_synth_category_names[o->categories[i]]);
    dm_json_end_array(json);
    dm_json_string(json, "device", device_name(o->texts));
    dm_json_bool(json, "ir", (o->texts & DM_SYNTH_TEXT_IR) != 0);
    dm_json_bool(json, "reference", (o->texts & DM_SYNTH_TEXT_REFERENCE) != 0);
    dm_json_bool(json, "rejected", o->rejected);
    dm_json_bool(json, "repairs", o->repairs);
    dm_json_bool(json, "slower", o->slower);
    dm_json_int(json, "programs", o->programs);
    dm_json_bool(json, "ptx", o->ptx);
    dm_json_bool(json, "warp_text", o->warp != NULL);
    if ((o->texts & DM_SYNTH_WARP_NAMES) != 0)
        dm_json_bool(json, "warp_names", true); /* else there is no such member */
    dm_json_bool(json, "timing", o->timing);
    dm_json_string(json, "verify", dm_synth_level_names[o->level]);
    dm_json_string(json, "profile", hash);
    dm_json_int(json, "shard_lines", o->shard_lines);
    dm_json_string(json, "compression", o->compress ? "zstd" : "none");
}

static dm_status write_file(const dm_synth_produce_options *o, const char *name, dm_buffer *text,
                            dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        status = dm_path_join(path, o->folder, name, err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(text), text->size, err);
    return status;
}

/* Compare the manifest with the options, setting by setting. */
static dm_status compare(json_t *there, json_t *asked, const char *path, dm_error *err)
{
    const char *key;
    json_t *value;
    if (json_is_true(json_object_get(there, "warp_names")) &&
        json_object_get(asked, "warp_names") == NULL)
        return dm_fail(err, DM_EINVAL, "%s was begun with another 'warp_names': true, now false",
                       path);
    json_object_foreach(asked, key, value)
    {
        json_t *other = json_object_get(there, key);
        if (strcmp(key, "complete") == 0 || strcmp(key, "shards") == 0 ||
            (other != NULL && json_equal(value, other)))
            continue;
        char *mine = json_dumps(value, JSON_ENCODE_ANY);
        char *theirs = other == NULL ? NULL : json_dumps(other, JSON_ENCODE_ANY);
        dm_status status =
            dm_fail(err, DM_EINVAL, "%s was begun with another '%s': %s, now %s", path, key,
                    theirs == NULL ? "none" : theirs, mine == NULL ? "?" : mine);
        free(mine);
        free(theirs);
        return status;
    }
    return DM_OK;
}

static void write_begun(dm_buffer *text, const dm_synth_produce_options *o,
                        const dm_synth_profile *profile)
{
    dm_json json;
    dm_json_init(&json, text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    write_settings(&json, o, profile);
    dm_json_bool(&json, "complete", false);
    dm_json_begin_array(&json, "shards");
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
}

dm_status dm_synth_manifest_compare(const dm_synth_produce_options *o,
                                    const dm_synth_profile *profile, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer text = DM_BUFFER_EMPTY;
    json_t *there = NULL, *asked = NULL;
    dm_status status = dm_path_join(path, o->folder, "manifest.json", err);
    if (status != DM_OK || !dm_file_exists(path))
        return status;
    write_begun(&text, o, profile);
    status = dm_json_load(path, &there, err);
    if (status == DM_OK)
        status = dm_json_parse(dm_buffer_text(&text), text.size, NULL, &asked, err);
    if (status == DM_OK)
        status = compare(there, asked, o->folder, err);
    json_decref(there);
    json_decref(asked);
    dm_buffer_deinit(&text);
    return status;
}

dm_status dm_synth_manifest_begin(const dm_synth_produce_options *o,
                                  const dm_synth_profile *profile, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = dm_path_join(path, o->folder, "manifest.json", err);
    if (status != DM_OK || dm_file_exists(path))
        return status == DM_OK ? dm_synth_manifest_compare(o, profile, err) : status;
    write_begun(&text, o, profile);
    status = write_file(o, "manifest.json", &text, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- The end ---- */

/* The last member of both files: the sum of all bytes before it. The validator looks at it. */
static void seal(dm_json *json, const dm_buffer *text)
{
    char hash[DM_HASH_HEX_SIZE];
    dm_hash128_hex(dm_hash128_of(dm_buffer_text(text), text->size), hash);
    dm_json_string(json, "checksum", hash);
}

#define RANKS_MAX 1000000

typedef struct summary {
    dm_synth_tally tally;
    double *seconds; /* of each rank */
    int rank_count;
} summary;

static dm_status add_shard(const dm_synth_produce_options *o, dm_json *json, const char *kind,
                           uint64_t number, summary *sum, bool *complete, dm_error *err)
{
    dm_synth_shard_state state;
    char name[DM_SYNTH_SHARD_NAME_MAX], hash[DM_HASH_HEX_SIZE];
    dm_status status =
        dm_synth_shard_load(o->folder, kind, number, o->compress, &state, complete, err);
    if (status != DM_OK || !*complete)
        return status;
    if (state.rank < 0 || state.rank > RANKS_MAX)
        return dm_fail(err, DM_EFORMAT, "shard %llu: no rank", (unsigned long long)number);
    if (state.rank >= sum->rank_count) {
        double *grown = realloc(sum->seconds, (size_t)(state.rank + 1) * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        for (int i = sum->rank_count; i <= state.rank; i++)
            grown[i] = 0;
        sum->seconds = grown;
        sum->rank_count = state.rank + 1;
    }
    sum->seconds[state.rank] += state.seconds;
    dm_synth_tally_merge(&sum->tally, &state.tally);
    dm_synth_shard_name(name, kind, number, o->compress);
    dm_hash128_hex(state.checksum, hash);
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "file", name);
    dm_json_string(json, "kind", strcmp(kind, "pairs") == 0 ? "pair" : "rejected");
    dm_json_uint(json, "lines", state.lines);
    dm_json_uint(json, "bytes", state.bytes);
    dm_json_string(json, "checksum", hash);
    dm_json_end_object(json);
    return DM_OK;
}

static double mean(uint64_t sum, uint64_t count)
{
    return count == 0 ? 0 : (double)sum / (double)count;
}

static dm_status write_stats(const dm_synth_produce_options *o, const summary *sum, uint64_t failed,
                             dm_error *err)
{
    const dm_synth_tally *t = &sum->tally;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    double seconds = 0; /* the ranks ran side by side */
    for (int i = 0; i < sum->rank_count; i++)
        seconds = sum->seconds[i] > seconds ? sum->seconds[i] : seconds;
    seconds = round(fmax(seconds, 0.001) * 1000) / 1000; /* no more is known */
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_synth_tally_write(t, &json);
    dm_json_double(&json, "avg_python_lines", mean(t->python_lines, t->pairs));
    dm_json_double(&json, "avg_forward_lines", mean(t->forward_lines, t->pairs));
    dm_json_double(&json, "avg_backward_lines", mean(t->backward_lines, t->with_backward));
    dm_json_uint(&json, "distinct_forms", t->pairs);
    dm_json_double(&json, "distinct_before_deduplication",
                   mean(t->pairs - t->duplicates, t->pairs));
    dm_json_uint(&json, "failed", failed);
    dm_json_double(&json, "generation_time_seconds", seconds);
    dm_json_double(&json, "pairs_per_second", (double)t->pairs / seconds);
    seal(&json, &text);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = write_file(o, "stats.json", &text, err);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status count_file(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root;
    (void)err;
    if (!entry->is_dir && entry->path[0] != '.')
        ++*(uint64_t *)user;
    return DM_OK;
}

static dm_status count_failed(const dm_synth_produce_options *o, uint64_t *failed, dm_error *err)
{
    char path[DM_PATH_MAX];
    *failed = 0;
    dm_status status = dm_path_join(path, o->folder, "failed", err);
    if (status == DM_OK && dm_dir_exists(path))
        status = dm_dir_walk(path, count_file, failed, err);
    return status;
}

dm_status dm_synth_manifest_finish(const dm_synth_produce_options *o,
                                   const dm_synth_profile *profile, dm_synth_produced *produced,
                                   dm_error *err)
{
    static const char *const kinds[] = {"pairs", "rejected"};
    dm_buffer text = DM_BUFFER_EMPTY;
    summary sum = {0};
    dm_json json;
    produced->shards = dm_synth_shard_count(o);
    produced->missing = 0;
    bool *missing = calloc(produced->shards + 1, sizeof *missing); /* pairs or rejected programs */
    if (missing == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    write_settings(&json, o, profile);
    dm_json_bool(&json, "complete", true);
    dm_json_begin_array(&json, "shards");
    dm_status status = count_failed(o, &produced->failed, err);
    for (int k = 0; k < (o->rejected ? 2 : 1); k++)
        for (uint64_t i = 0; i < produced->shards && status == DM_OK; i++) {
            bool complete;
            status = add_shard(o, &json, kinds[k], i, &sum, &complete, err);
            produced->missing += !complete && !missing[i];
            missing[i] |= !complete;
        }
    dm_json_end_array(&json);
    seal(&json, &text);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    if (status == DM_OK && produced->missing == 0) {
        status = write_stats(o, &sum, produced->failed, err);
        if (status == DM_OK)
            status = write_file(o, "manifest.json", &text, err);
    }
    free(missing);
    free(sum.seconds);
    dm_buffer_deinit(&text);
    return status;
}
