/* SPDX-License-Identifier: MIT */
/* validate_meta.c - manifest.json and stats.json of a dataset against what is there. */
#include "synth/audit/validate_internal.h"

#include "synth/natural/natural.h"
#include "synth/store/manifest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static bool read_count(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool read_flag(const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_categories(const json_t *manifest, dm_synth_claims *c)
{
    const json_t *list = json_object_get(manifest, "categories"), *name;
    size_t i;
    json_array_foreach(list, i, name)
    {
        int found = dm_synth_name_find(dm_synth_category_names, json_string_value(name));
        for (int k = 0; k < c->category_count; k++)
            if (c->categories[k] == found)
                return false;
        if (found < 0)
            return false;
        c->categories[c->category_count++] = found;
    }
    return c->category_count > 0;
}

static bool read_device(const json_t *manifest, dm_synth_claims *c)
{
    static const char *const devices[] = {"cuda", "cpu", "both", NULL};
    int device =
        dm_synth_name_find(devices, json_string_value(json_object_get(manifest, "device")));
    c->cuda = device == 0 || device == 2;
    c->c = device == 1 || device == 2;
    return device >= 0;
}

static bool is_hash(const char *text)
{
    return text != NULL && strlen(text) == DM_HASH_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == DM_HASH_HEX_SIZE - 1;
}

bool dm_synth_claims_read(const json_t *m, dm_synth_profile *profile, dm_synth_claims *c,
                          dm_synth_report *report)
{
    char own[DM_HASH_HEX_SIZE];
    uint64_t generator = 0, programs = 0;
    bool complete = false;
    memset(c, 0, sizeof *c);
    const char *format = json_string_value(json_object_get(m, "format"));
    const char *hash = json_string_value(json_object_get(m, "profile"));
    int style =
        dm_synth_name_find(dm_synth_style_names, json_string_value(json_object_get(m, "style")));
    const char *compression = json_string_value(json_object_get(m, "compression"));
    c->warp_names = json_is_true(json_object_get(m, "warp_names")); /* false when it is not there */
    c->compressed = compression != NULL && strcmp(compression, "zstd") == 0;
    int level =
        dm_synth_name_find(dm_synth_level_names, json_string_value(json_object_get(m, "verify")));
    c->level = level < 0 ? DM_SYNTH_VERIFY_NONE : (dm_synth_level)level;
    if (format == NULL || strcmp(format, DM_SYNTH_FORMAT) != 0) {
        dm_synth_report_problem(report, "manifest.json: format is not " DM_SYNTH_FORMAT);
        return false;
    }
    bool good = read_count(m, "seed", &c->seed) && read_count(m, "count", &c->count) &&
                read_count(m, "shard_lines", &c->shard_lines) &&
                read_count(m, "generator", &generator) && read_flag(m, "complete", &complete) &&
                read_flag(m, "ir", &c->ir) && read_flag(m, "reference", &c->reference) &&
                read_flag(m, "rejected", &c->rejected) && read_flag(m, "repairs", &c->repairs) &&
                read_flag(m, "slower", &c->slower) && read_flag(m, "ptx", &c->ptx) &&
                read_flag(m, "warp_text", &c->warp) && compression != NULL &&
                (c->compressed || strcmp(compression, "none") == 0) &&
                read_count(m, "programs", &programs) && programs <= 100 &&
                read_flag(m, "timing", &c->timing) && level >= 0 && style >= 0 && is_hash(hash);
    if (!good || !read_categories(m, c) || !read_device(m, c) || c->shard_lines == 0 ||
        c->count > 1000000000) {
        dm_synth_report_problem(report, "manifest.json: a setting is missing or of another type");
        return false;
    }
    if (!complete)
        dm_synth_report_problem(report, "manifest.json: the dataset is not complete");
    dm_hash128_hex(profile->hash, own);
    bool natural = style == DM_SYNTH_STYLE_NATURAL;
    profile->style = natural ? DM_SYNTH_STYLE_NATURAL : DM_SYNTH_STYLE_RANDOM;
    profile->slower = c->slower;
    profile->programs = (int)programs;
    c->generates = generator == dm_synth_generator_number(profile->style) &&
                   (natural || strcmp(hash, own) == 0);
    if (!c->generates)
        dm_buffer_puts(&report->notes, "made by another generator or profile: programs are not "
                                       "made again from the seed\n");
    return true;
}

/* ---- Shards ---- */

void dm_synth_check_shard(const json_t *manifest, size_t number, const dm_synth_file *file,
                          dm_synth_report *report)
{
    const json_t *shard = json_array_get(json_object_get(manifest, "shards"), number);
    const char *name = json_string_value(json_object_get(shard, "file"));
    const char *sum = json_string_value(json_object_get(shard, "checksum"));
    char found[DM_HASH_HEX_SIZE];
    uint64_t lines = 0, bytes = 0;
    bool good = read_count(shard, "lines", &lines) && read_count(shard, "bytes", &bytes);
    dm_hash128_hex(dm_hash128_of(file->bytes, file->size), found);
    if (!good || sum == NULL)
        dm_synth_report_problem(report, "manifest.json: shard %zu: something is missing", number);
    else if (bytes != file->size)
        dm_synth_report_problem(report, "%s: %zu bytes, not %" PRIu64, name, file->size, bytes);
    else if (strcmp(sum, found) != 0)
        dm_synth_report_problem(report, "%s: checksum %s, not %s", name, found, sum);
    if (good && lines != file->count)
        dm_synth_report_problem(report, "%s: %zu records, not %" PRIu64, name, file->count, lines);
}

/* The names and counts of shards follow from the settings. */
static void check_shard_list(const json_t *manifest, const dm_synth_claims *c,
                             dm_synth_report *report)
{
    const json_t *shards = json_object_get(manifest, "shards"), *shard;
    size_t i;
    uint64_t own = (c->count + c->shard_lines - 1) / c->shard_lines;
    if (json_array_size(shards) != own * (c->rejected ? 2 : 1))
        dm_synth_report_problem(report, "manifest.json: %zu shards, not %" PRIu64,
                                json_array_size(shards), own * (c->rejected ? 2 : 1));
    json_array_foreach(shards, i, shard)
    {
        char wanted[64];
        bool is_pairs = i < own;
        uint64_t number = is_pairs ? i : i - own, lines = 0;
        uint64_t most = c->count - number * c->shard_lines < c->shard_lines
                            ? c->count - number * c->shard_lines
                            : c->shard_lines;
        const char *name = json_string_value(json_object_get(shard, "file"));
        const char *kind = json_string_value(json_object_get(shard, "kind"));
        snprintf(wanted, sizeof wanted, "%s-%05" PRIu64 ".jsonl%s", is_pairs ? "pairs" : "rejected",
                 number, c->compressed ? ".zst" : "");
        if (name == NULL || kind == NULL || strcmp(name, wanted) != 0 ||
            strcmp(kind, is_pairs ? "pair" : "rejected") != 0)
            dm_synth_report_problem(report, "manifest.json: shard %zu is not %s", i, wanted);
        if (!read_count(shard, "lines", &lines) || (is_pairs ? lines != most : lines > most))
            dm_synth_report_problem(report, "manifest.json: %s has %" PRIu64 " lines", wanted,
                                    lines);
    }
}

/* ---- Files as a whole ---- */

/* The last member of both files is the sum of everything before it. */
static void check_seal(const char *name, const char *text, size_t size, dm_synth_report *report)
{
    static const char key[] = ",\n  \"checksum\": \"";
    const char *at = NULL;
    for (const char *p = text; (p = memmem(p, size - (size_t)(p - text), key, sizeof key - 1)); p++)
        at = p;
    char wanted[DM_HASH_HEX_SIZE + 8] = "", *end = NULL;
    if (at != NULL) {
        char hash[DM_HASH_HEX_SIZE];
        dm_hash128_hex(dm_hash128_of(text, (size_t)(at - text)), hash);
        snprintf(wanted, sizeof wanted, "%s\"\n}\n", hash);
        end = (char *)at + sizeof key - 1;
    }
    if (at == NULL || (size_t)(text + size - end) != strlen(wanted) ||
        memcmp(end, wanted, strlen(wanted)) != 0)
        dm_synth_report_problem(report, "%s: its checksum does not fit", name);
}

/* ---- stats.json ---- */

static double mean(uint64_t sum, uint64_t count)
{
    return count == 0 ? 0 : (double)sum / (double)count;
}

static void check_number(const json_t *stats, const char *key, double should,
                         dm_synth_report *report)
{
    const json_t *value = json_object_get(stats, key);
    double is = json_number_value(value);
    if (!json_is_number(value) || fabs(is - should) > 1e-9 * fmax(1, fabs(should)))
        dm_synth_report_problem(report, "stats.json: %s is %.17g, not %.17g", key, is, should);
}

/* Every member that counting again gives, by name. */
static void check_counts(const json_t *stats, const dm_synth_tally *tally, dm_synth_report *report)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    json_t *counted = NULL, *value;
    const char *key;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_synth_tally_write(tally, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    if (dm_json_parse(dm_buffer_text(&text), text.size, NULL, &counted, NULL) == DM_OK)
        json_object_foreach(counted, key, value)
        {
            if (!json_equal(value, json_object_get(stats, key)))
                dm_synth_report_problem(report, "stats.json: %s is not what the records give", key);
        }
    json_decref(counted);
    dm_buffer_deinit(&text);
}

static void check_stats(const dm_synth_dataset *dataset, const dm_synth_tally *t,
                        dm_synth_report *report)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    json_t *stats = NULL;
    dm_error err = {0};
    dm_status status = dm_path_join(path, dataset->folder, "stats.json", &err);
    if (status == DM_OK)
        status = dm_file_read(path, 1 << 24, &text, &size, &err);
    if (status == DM_OK)
        status = dm_json_parse(text, size, "stats.json", &stats, &err);
    if (status != DM_OK) {
        dm_synth_report_problem(report, "stats.json: %s", err.message);
    } else {
        double seconds = json_number_value(json_object_get(stats, "generation_time_seconds"));
        check_seal("stats.json", text, size, report);
        check_counts(stats, t, report);
        check_number(stats, "avg_python_lines", mean(t->python_lines, t->pairs), report);
        check_number(stats, "avg_forward_lines", mean(t->forward_lines, t->pairs), report);
        check_number(stats, "avg_backward_lines", mean(t->backward_lines, t->with_backward),
                     report);
        check_number(stats, "distinct_forms", (double)t->pairs, report);
        check_number(stats, "distinct_before_deduplication",
                     mean(t->pairs - t->duplicates, t->pairs), report);
        if (!json_is_number(json_object_get(stats, "generation_time_seconds")) || seconds < 0)
            dm_synth_report_problem(report, "stats.json: no generation_time_seconds");
        check_number(stats, "pairs_per_second", seconds > 0 ? (double)t->pairs / seconds : 0,
                     report);
    }
    json_decref(stats);
    free(text);
}

void dm_synth_check_meta(const dm_synth_dataset *dataset, const dm_synth_claims *c,
                         const dm_synth_tally *tally, dm_synth_report *report)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_error err = {0};
    dm_status status = dm_path_join(path, dataset->folder, "manifest.json", &err);
    if (status == DM_OK)
        status = dm_file_read(path, 1 << 26, &text, &size, &err);
    if (status == DM_OK)
        check_seal("manifest.json", text, size, report);
    else
        dm_synth_report_problem(report, "%s", err.message);
    free(text);
    check_shard_list(dataset->manifest, c, report);
    if (tally->pairs != c->count)
        dm_synth_report_problem(report, "%" PRIu64 " pairs, not %" PRIu64, tally->pairs, c->count);
    check_stats(dataset, tally, report);
}
