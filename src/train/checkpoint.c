/* SPDX-License-Identifier: MIT */
/* checkpoint.c - see checkpoint.h. */
#include "train/checkpoint.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "dotmatrix-checkpoint-1"

static uint64_t tensor_size(const dm_safetensor *t)
{
    static const uint64_t sizes[DM_SAFETENSORS_TYPES] = {4, 8, 2, 8, 1};
    uint64_t size = sizes[t->type];
    for (int d = 0; d < t->dimensions; d++)
        size *= t->shape[d];
    return size;
}

/* Of where the run is and of all tensors, names and bytes, in their order. */
static dm_status hash_all(const dm_checkpoint *c, const dm_safetensor *const *tensors, size_t count,
                          char hex[DM_HASH_HEX_SIZE], dm_error *err)
{
    dm_hasher *hasher = dm_hasher_create();
    const uint64_t numbers[4] = {c->step, c->seed, c->epoch, c->position};
    if (hasher == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_hasher_text(hasher, c->model);
    dm_hasher_text(hasher, c->config);
    dm_hasher_part(hasher, numbers, sizeof numbers);
    for (size_t i = 0; i < count; i++) {
        dm_hasher_text(hasher, tensors[i]->name);
        dm_hasher_part(hasher, tensors[i]->data, (size_t)tensor_size(tensors[i]));
    }
    dm_hash128_hex(dm_hasher_finish(hasher), hex);
    dm_hasher_destroy(hasher);
    return DM_OK;
}

static void put_number(json_t *metadata, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    json_object_set_new(metadata, key, json_string(text));
}

dm_status dm_checkpoint_save(const char *path, const dm_checkpoint *where,
                             const dm_safetensor *tensors, size_t count, dm_error *err)
{
    char hex[DM_HASH_HEX_SIZE];
    const dm_safetensor **list = calloc(count + 1, sizeof(const dm_safetensor *));
    json_t *metadata = json_object();
    dm_status status =
        list == NULL || metadata == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++)
        list[i] = &tensors[i];
    if (status == DM_OK)
        status = hash_all(where, list, count, hex, err);
    if (status == DM_OK) {
        json_object_set_new(metadata, "format", json_string(FORMAT));
        json_object_set_new(metadata, "model", json_string(where->model));
        json_object_set_new(metadata, "config", json_string(where->config));
        put_number(metadata, "step", where->step);
        put_number(metadata, "seed", where->seed);
        put_number(metadata, "epoch", where->epoch);
        put_number(metadata, "position", where->position);
        json_object_set_new(metadata, "hash", json_string(hex));
        status = dm_safetensors_save(path, tensors, count, metadata, err);
    }
    json_decref(metadata);
    free(list);
    return status;
}

static dm_status get_number(const dm_safetensors *file, const char *path, const char *key,
                            uint64_t *out, dm_error *err)
{
    const char *text = dm_safetensors_metadata(file, key);
    char *end = NULL;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return dm_fail(err, DM_EFORMAT, "%s: no number '%s' in its metadata", path, key);
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*end != 0 || errno != 0)
        return dm_fail(err, DM_EFORMAT, "%s: '%s' is no number: %s", path, key, text);
    return DM_OK;
}

static dm_status check_hash(const dm_safetensors *file, const char *path,
                            const dm_checkpoint *where, dm_error *err)
{
    char hex[DM_HASH_HEX_SIZE];
    size_t count = dm_safetensors_count(file);
    const char *said = dm_safetensors_metadata(file, "hash");
    const dm_safetensor **list = calloc(count + 1, sizeof(const dm_safetensor *));
    if (list == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        list[i] = dm_safetensors_at(file, i);
    dm_status status = hash_all(where, list, count, hex, err);
    if (status == DM_OK && (said == NULL || strcmp(said, hex) != 0))
        status =
            dm_fail(err, DM_EFORMAT, "%s: damaged: its hash is not that of its contents", path);
    free(list);
    return status;
}

dm_status dm_checkpoint_load(const char *path, const char *model, dm_checkpoint *where,
                             dm_safetensors **file, dm_error *err)
{
    dm_safetensors *f = NULL;
    dm_checkpoint c = {0};
    dm_status status = dm_safetensors_load(path, &f, err);
    if (status != DM_OK)
        return status;
    const char *format = dm_safetensors_metadata(f, "format");
    c.model = dm_safetensors_metadata(f, "model");
    c.config = dm_safetensors_metadata(f, "config");
    if (format == NULL || strcmp(format, FORMAT) != 0 || c.model == NULL || c.config == NULL)
        status = dm_fail(err, DM_EFORMAT, "%s: not a checkpoint (%s)", path, FORMAT);
    else if (model != NULL && strcmp(model, c.model) != 0)
        status =
            dm_fail(err, DM_EFORMAT, "%s: a checkpoint of %s, not of %s", path, c.model, model);
    if (status == DM_OK)
        status = get_number(f, path, "step", &c.step, err);
    if (status == DM_OK)
        status = get_number(f, path, "seed", &c.seed, err);
    if (status == DM_OK)
        status = get_number(f, path, "epoch", &c.epoch, err);
    if (status == DM_OK)
        status = get_number(f, path, "position", &c.position, err);
    if (status == DM_OK)
        status = check_hash(f, path, &c, err);
    if (status == DM_OK) {
        *where = c;
        *file = f;
    } else {
        dm_safetensors_close(f);
    }
    return status;
}
