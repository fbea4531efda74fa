/* SPDX-License-Identifier: MIT */
/* profile.c - a verification as JSON. */
#include "lab/verify/profile.h"

#include <stdio.h>
#include <string.h>

dm_lab_verify dm_lab_profile_default(void)
{
    return (dm_lab_verify){.reference = &dm_lab_mgba_single,
                           .dut = &dm_lab_vec_cpu,
                           .envs = 1,
                           .frames_per_step = 1,
                           .steps = 1024,
                           .compare_every = 1};
}

void dm_lab_profile_write(dm_json *json, const char *key, const dm_lab_verify *v)
{
    char ignore[128];
    dm_lab_fields_text(v->ignore, ignore, sizeof ignore);
    dm_json_begin_object(json, key);
    dm_json_string(json, "reference", v->reference->name);
    dm_json_string(json, "dut", v->dut->name);
    dm_json_uint(json, "envs", v->envs);
    dm_json_uint(json, "frames_per_step", v->frames_per_step);
    dm_json_uint(json, "release_after_frames", v->release_after_frames);
    dm_json_uint(json, "steps", v->steps);
    dm_json_uint(json, "compare_every", v->compare_every);
    dm_json_uint(json, "settle", v->settle);
    dm_json_string(json, "start", dm_lab_start_names[v->start]);
    dm_json_bool(json, "force_dmg", v->force_dmg);
    dm_json_begin_array(json, "regions");
    for (size_t i = 0; i < v->region_count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%04X:%04X", v->regions[i].address,
                 (unsigned)v->regions[i].address + v->regions[i].size);
        dm_json_string(json, NULL, text);
    }
    dm_json_end_array(json);
    dm_json_bool(json, "compare_frame", v->compare_frame);
    dm_json_string(json, "by", v->by_instruction ? "instruction" : "frame");
    dm_json_string(json, "ignore", ignore);
    dm_json_uint(json, "slack", v->slack);
    dm_json_string(json, "codec", dm_swarm_codec_name(v->actions.codec));
    dm_json_string(json, "action_gen", dm_swarm_generator_name(v->actions.generator));
    dm_json_uint(json, "actions_seed", v->actions.seed);
    dm_json_end_object(json);
}

static dm_status read_number(const json_t *value, const char *key, int64_t low, int64_t high,
                             uint64_t *out, dm_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return dm_fail(err, DM_EFORMAT, "%s: a whole number from %lld to %lld", key, (long long)low,
                       (long long)high);
    *out = (uint64_t)json_integer_value(value);
    return DM_OK;
}

static dm_status read_start(const char *text, dm_lab_verify *v, dm_error *err)
{
    for (int i = 0; i < DM_LAB_STARTS; i++) {
        if (strcmp(dm_lab_start_names[i], text) == 0) {
            v->start = (dm_lab_start)i;
            return DM_OK;
        }
    }
    return dm_fail(err, DM_EFORMAT, "start: '%.32s' is neither zero nor post-boot", text);
}

static dm_status read_text(const char *key, const char *text, dm_lab_verify *v, dm_error *err)
{
    if (strcmp(key, "reference") == 0)
        return dm_lab_kind_find(text, &v->reference, err);
    if (strcmp(key, "dut") == 0)
        return dm_lab_kind_find(text, &v->dut, err);
    if (strcmp(key, "start") == 0)
        return read_start(text, v, err);
    if (strcmp(key, "ignore") == 0)
        return dm_lab_fields_parse(text, &v->ignore, err);
    if (strcmp(key, "action_gen") == 0)
        return dm_swarm_generator_parse(text, &v->actions.generator, err);
    if (strcmp(key, "codec") == 0)
        return dm_swarm_codec_parse(text, &v->actions.codec, err);
    if (strcmp(key, "by") == 0) {
        v->by_instruction = strcmp(text, "instruction") == 0;
        if (!v->by_instruction && strcmp(text, "frame") != 0)
            return dm_fail(err, DM_EFORMAT, "by: '%.32s' is neither frame nor instruction", text);
        return DM_OK;
    }
    return dm_fail(err, DM_EFORMAT, "unknown key '%.32s'", key);
}

static dm_status read_regions(const json_t *list, dm_lab_verify *v, dm_error *err)
{
    dm_status status = DM_OK;
    size_t i;
    const json_t *item;
    v->region_count = 0;
    if (json_array_size(list) > DM_LAB_REGIONS_MAX)
        return dm_fail(err, DM_EFORMAT, "regions: at most %d", DM_LAB_REGIONS_MAX);
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return dm_fail(err, DM_EFORMAT, "regions: texts such as \"C000:C100\"");
        status = dm_lab_region_parse(json_string_value(item), &v->regions[v->region_count], err);
        if (status != DM_OK)
            return status;
        v->region_count++;
    }
    return DM_OK;
}

static dm_status read_member(const char *key, const json_t *value, dm_lab_verify *v, dm_error *err)
{
    uint64_t number = 0;
    const struct {
        const char *key;
        int64_t low, high;
        uint64_t *wide;
        uint32_t *narrow;
    } numbers[] = {
        {"envs", 1, UINT32_MAX, &v->envs, NULL},
        {"frames_per_step", 1, 1024, NULL, &v->frames_per_step},
        {"release_after_frames", 0, 1024, NULL, &v->release_after_frames},
        {"slack", 0, 70224, NULL, &v->slack},
        {"steps", 1, INT64_MAX, &v->steps, NULL},
        {"compare_every", 1, INT64_MAX, &v->compare_every, NULL},
        {"settle", 0, INT64_MAX, &v->settle, NULL},
        {"actions_seed", 0, INT64_MAX, &v->actions.seed, NULL},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(numbers[i].key, key) != 0)
            continue;
        dm_status status = read_number(value, key, numbers[i].low, numbers[i].high, &number, err);
        if (status == DM_OK && numbers[i].wide != NULL)
            *numbers[i].wide = number;
        else if (status == DM_OK)
            *numbers[i].narrow = (uint32_t)number;
        return status;
    }
    if (strcmp(key, "compare_frame") == 0 && json_is_boolean(value)) {
        v->compare_frame = json_is_true(value);
        return DM_OK;
    }
    if (strcmp(key, "force_dmg") == 0 && json_is_boolean(value)) {
        v->force_dmg = json_is_true(value);
        return DM_OK;
    }
    if (strcmp(key, "regions") == 0 && json_is_array(value))
        return read_regions(value, v, err);
    if (json_is_string(value))
        return read_text(key, json_string_value(value), v, err);
    return dm_fail(err, DM_EFORMAT, "unknown key '%.32s', or a value of the wrong kind", key);
}

dm_status dm_lab_profile_read(const json_t *object, const char *name, dm_lab_verify *v,
                              dm_error *err)
{
    dm_status status = DM_OK;
    if (!json_is_object(object))
        return dm_fail(err, DM_EFORMAT, "%s: an object is missing", name);
    /* Jansson walks a table that it does not change, but asks for it writable. */
    json_t *table = json_incref((json_t *)(uintptr_t)object);
    for (void *at = json_object_iter(table); at != NULL && status == DM_OK;
         at = json_object_iter_next(table, at))
        status = read_member(json_object_iter_key(at), json_object_iter_value(at), v, err);
    json_decref(table);
    if (status == DM_OK && v->release_after_frames > v->frames_per_step)
        status = dm_fail(err, DM_EFORMAT, "release_after_frames: more than frames_per_step");
    if (status != DM_OK) {
        if (err != NULL)
            err->status = DM_EFORMAT;
        dm_error_prefix(err, "%s", name);
        return DM_EFORMAT;
    }
    return DM_OK;
}
