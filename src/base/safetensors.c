/* SPDX-License-Identifier: MIT */
/* safetensors.c - see safetensors.h. */
#include "base/safetensors.h"
#include "base/file.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HEADER_MAX (64u << 20)

static const struct {
    const char *name;
    size_t size;
} types[DM_SAFETENSORS_TYPES] = {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"I64", 8}, {"U8", 1}};

typedef struct entry {
    dm_safetensor tensor;
    uint64_t first, last; /* bytes of the data */
} entry;

struct dm_safetensors {
    char path[DM_PATH_MAX];
    char *bytes;
    json_t *header; /* owns the names */
    entry *entries; /* in the order of their places */
    size_t count;
};

/* Bytes of a tensor; false when that is more than 64 bits hold. */
static bool bytes_of(const dm_safetensor *t, uint64_t *out)
{
    uint64_t total = types[t->type].size;
    for (int d = 0; d < t->dimensions; d++) {
        if (t->shape[d] != 0 && total > UINT64_MAX / 2 / t->shape[d])
            return false;
        total *= t->shape[d];
    }
    *out = total;
    return true;
}

/* ---- Writing ---- */

static void write_metadata(dm_json *json, const json_t *metadata)
{
    const char *key;
    json_t *value;
    if (metadata == NULL)
        return;
    dm_json_begin_object(json, "__metadata__");
    json_object_foreach((json_t *)metadata, key, value)
    {
        dm_json_string(json, key, json_string_value(value));
    }
    dm_json_end_object(json);
}

dm_status dm_safetensors_save(const char *path, const dm_safetensor *tensors, size_t count,
                              const json_t *metadata, dm_error *err)
{
    dm_buffer header = DM_BUFFER_EMPTY, file = DM_BUFFER_EMPTY;
    dm_json json;
    uint64_t place = 0, size = 0;
    dm_json_init(&json, &header, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    write_metadata(&json, metadata);
    for (size_t i = 0; i < count; i++) {
        dm_json_begin_object(&json, tensors[i].name);
        dm_json_string(&json, "dtype", types[tensors[i].type].name);
        dm_json_begin_array(&json, "shape");
        for (int d = 0; d < tensors[i].dimensions; d++)
            dm_json_uint(&json, NULL, tensors[i].shape[d]);
        dm_json_end_array(&json);
        dm_json_begin_array(&json, "data_offsets");
        dm_json_uint(&json, NULL, place);
        place += bytes_of(&tensors[i], &size) ? size : 0;
        dm_json_uint(&json, NULL, place);
        dm_json_end_array(&json);
        dm_json_end_object(&json);
    }
    dm_json_end_object(&json);
    while (header.size % 8 != 0 && !header.failed) /* the data begins at a multiple of 8 */
        dm_buffer_putc(&header, ' ');
    for (int i = 0; i < 8; i++)
        dm_buffer_putc(&file, (char)((uint64_t)header.size >> (8 * i)));
    dm_buffer_append(&file, dm_buffer_text(&header), header.size);
    for (size_t i = 0; i < count; i++)
        if (bytes_of(&tensors[i], &size) && size > 0)
            dm_buffer_append(&file, tensors[i].data, (size_t)size);
    dm_status status = dm_buffer_check(&header, err);
    if (status == DM_OK)
        status = dm_buffer_check(&file, err);
    if (status == DM_OK)
        status = dm_file_write(path, file.data, file.size, err);
    dm_buffer_deinit(&header);
    dm_buffer_deinit(&file);
    return status;
}

/* ---- Reading ---- */

static bool get_number(const json_t *value, uint64_t *out)
{
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static dm_status read_entry(const char *path, const char *name, const json_t *object, entry *e,
                            dm_error *err)
{
    const char *type = json_string_value(json_object_get(object, "dtype"));
    const json_t *shape = json_object_get(object, "shape");
    const json_t *offsets = json_object_get(object, "data_offsets");
    uint64_t size = 0;
    int known = 0;
    while (known < DM_SAFETENSORS_TYPES && (type == NULL || strcmp(type, types[known].name) != 0))
        known++;
    if (known == DM_SAFETENSORS_TYPES)
        return dm_fail(err, DM_EFORMAT, "%s: tensor %s: type %s is not read", path, name,
                       type != NULL ? type : "(none)");
    bool good = json_is_array(shape) && json_array_size(shape) <= DM_SAFETENSORS_DIMENSIONS &&
                json_array_size(offsets) == 2 &&
                get_number(json_array_get(offsets, 0), &e->first) &&
                get_number(json_array_get(offsets, 1), &e->last) && e->last >= e->first;
    e->tensor = (dm_safetensor){.name = name,
                                .type = (dm_safetensors_type)known,
                                .dimensions = good ? (int)json_array_size(shape) : 0};
    for (int d = 0; d < e->tensor.dimensions && good; d++)
        good = get_number(json_array_get(shape, (size_t)d), &e->tensor.shape[d]);
    if (!good)
        return dm_fail(err, DM_EFORMAT, "%s: tensor %s: its shape or data_offsets are damaged",
                       path, name);
    if (!bytes_of(&e->tensor, &size) || size != e->last - e->first)
        return dm_fail(err, DM_EFORMAT,
                       "%s: tensor %s: %" PRIu64 " bytes, which is not what its shape says", path,
                       name, e->last - e->first);
    return DM_OK;
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->last < y->last ? -1 : x->last > y->last;
}

static dm_status read_entries(dm_safetensors *f, const char *data, uint64_t size, dm_error *err)
{
    const char *key;
    json_t *value;
    dm_status status = DM_OK;
    f->entries = calloc(json_object_size(f->header) + 1, sizeof *f->entries);
    if (f->entries == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    json_object_foreach(f->header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0)
            continue;
        status = read_entry(f->path, key, value, &f->entries[f->count++], err);
        if (status != DM_OK)
            return status;
    }
    qsort(f->entries, f->count, sizeof *f->entries, by_place);
    uint64_t place = 0;
    for (size_t i = 0; i < f->count; i++) {
        entry *e = &f->entries[i];
        if (e->first != place)
            return dm_fail(err, DM_EFORMAT, "%s: tensor %s begins at %" PRIu64 "; %s", f->path,
                           e->tensor.name, e->first,
                           e->first < place ? "it overlaps another" : "there is a gap before it");
        if (e->last > size)
            return dm_fail(err, DM_EFORMAT,
                           "%s: tensor %s ends at %" PRIu64 ", the data at %" PRIu64, f->path,
                           e->tensor.name, e->last, size);
        e->tensor.data = data + e->first;
        place = e->last;
    }
    if (place != size)
        return dm_fail(err, DM_EFORMAT, "%s: %" PRIu64 " bytes after the last tensor", f->path,
                       size - place);
    return DM_OK;
}

static dm_status read_file(dm_safetensors *f, size_t size, dm_error *err)
{
    uint64_t length = 0;
    for (int i = 0; i < 8 && size >= 8; i++)
        length |= (uint64_t)(unsigned char)f->bytes[i] << (8 * i);
    if (size < 8 || length > size - 8 || length > HEADER_MAX)
        return dm_fail(err, DM_EFORMAT, "%s: not a safetensors file", f->path);
    dm_status status = dm_json_parse(f->bytes + 8, (size_t)length, f->path, &f->header, err);
    if (status != DM_OK)
        return DM_EFORMAT;
    const json_t *metadata = json_object_get(f->header, "__metadata__");
    if (!json_is_object(f->header) || (metadata != NULL && !json_is_object(metadata)))
        return dm_fail(err, DM_EFORMAT, "%s: its header is no object", f->path);
    return read_entries(f, f->bytes + 8 + length, size - 8 - length, err);
}

dm_status dm_safetensors_load(const char *path, dm_safetensors **out, dm_error *err)
{
    size_t size = 0;
    dm_safetensors *f = calloc(1, sizeof *f);
    if (f == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    snprintf(f->path, sizeof f->path, "%s", path);
    struct stat about;
    dm_status status = DM_OK;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        status = dm_fail(err, DM_EINVAL, "%s: no regular file", path); /* it may never end */
    if (status == DM_OK)
        status = dm_file_read(path, 0, &f->bytes, &size, err);
    if (status == DM_OK)
        status = read_file(f, size, err);
    if (status == DM_OK)
        *out = f;
    else
        dm_safetensors_close(f);
    return status;
}

void dm_safetensors_close(dm_safetensors *f)
{
    if (f == NULL)
        return;
    json_decref(f->header);
    free(f->entries);
    free(f->bytes);
    free(f);
}

size_t dm_safetensors_count(const dm_safetensors *f)
{
    return f->count;
}

const dm_safetensor *dm_safetensors_at(const dm_safetensors *f, size_t index)
{
    return index < f->count ? &f->entries[index].tensor : NULL;
}

const dm_safetensor *dm_safetensors_find(const dm_safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->entries[i].tensor.name, name) == 0)
            return &f->entries[i].tensor;
    return NULL;
}

const char *dm_safetensors_metadata(const dm_safetensors *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}

dm_status dm_safetensors_floats(const dm_safetensors *f, const char *name, float *to, size_t count,
                                dm_error *err)
{
    const dm_safetensor *t = dm_safetensors_find(f, name);
    uint64_t size = 0;
    if (t == NULL || t->type != DM_SAFETENSORS_F32 || !bytes_of(t, &size) || size / 4 != count)
        return dm_fail(err, DM_EFORMAT, "%s: no float32 tensor %s of %zu values", f->path, name,
                       count);
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, (const char *)t->data + 4 * i, 4);
        if (!isfinite(value))
            return dm_fail(err, DM_EFORMAT, "%s: tensor %s: value %zu is not finite", f->path, name,
                           i);
    }
    if (count > 0)
        memcpy(to, t->data, count * 4);
    return DM_OK;
}
