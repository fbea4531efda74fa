/* SPDX-License-Identifier: MIT */
/* model_file.c - models as safetensors files.
 *
 * Eight bytes (little-endian) give the length of a JSON header; then the header, then the bytes of
 * all tensors one after the other. The header has for every tensor its type, shape and place, and
 * under "__metadata__" our configuration. Chosen over .npz because it needs no archive format,
 * every tensor can be found without reading the others, and Python reads it with one call. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/require.h"
#include "dynamics/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "dotmatrix-dynamics-1"
#define HEADER_MAX (64u << 20)

/* A tensor of the file: where it is in memory. */
typedef struct tensor {
    char name[48];
    float *data;
    size_t count;
    size_t shape[3];
    int dimensions;
} tensor;

/* Tensor `index` of a model, in the order of the file; false after the last. */
static bool tensor_at(const dm_dynamics *m, size_t index, tensor *t)
{
    size_t I = m->config.input, H = m->config.hidden, S = m->config.stochastic;
    const size_t shapes[DM_DYNAMICS_PART_COUNT][3] = {{3, H, I}, {3, H, H}, {3, H, 0},
                                                      {H, 0, 0}, {S, H, 0}, {H + S, 0, 0}};
    size_t parts = (size_t)m->config.members * DM_DYNAMICS_PART_COUNT;
    if (index < parts) {
        size_t member = index / DM_DYNAMICS_PART_COUNT, part = index % DM_DYNAMICS_PART_COUNT;
        snprintf(t->name, sizeof t->name, "member.%zu.%s", member, dm_dynamics_part_names[part]);
        t->data = m->weights + member * m->layout.stride + m->layout.offset[part];
        t->count = m->layout.count[part];
        memcpy(t->shape, shapes[part], sizeof t->shape);
    } else if (index < parts + 2) {
        snprintf(t->name, sizeof t->name, "%s", index == parts ? "shift" : "scale");
        t->data = index == parts ? m->shift : m->scale;
        t->count = I;
        memcpy(t->shape, (const size_t[3]){I, 0, 0}, sizeof t->shape);
    } else if (index == parts + 2 && m->curve != NULL) {
        snprintf(t->name, sizeof t->name, "curve");
        t->data = m->curve;
        t->count = dm_dynamics_curve_count();
        memcpy(t->shape, (const size_t[3]){t->count, 0, 0}, sizeof t->shape);
    } else {
        return false;
    }
    t->dimensions = t->shape[1] == 0 ? 1 : t->shape[2] == 0 ? 2 : 3;
    return true;
}

/* ---- Writing ---- */

/* Present in a curve model; the number of the form of its rules. */
#define CURVE_FORM 1

static void write_metadata(dm_json *json, const dm_dynamics_config *c, bool curve)
{
    /* safetensors allows text only. */
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"members", c->members},       {"hidden", c->hidden},
                   {"stochastic", c->stochastic}, {"input", c->input},
                   {"kind", (uint32_t)c->kind},   {"projection", c->projection},
                   {"curve", CURVE_FORM}};
    dm_json_begin_object(json, "__metadata__");
    dm_json_string(json, "format", FORMAT);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] - (curve ? 0 : 1); i++) {
        char text[16];
        snprintf(text, sizeof text, "%" PRIu32, numbers[i].value);
        dm_json_string(json, numbers[i].key, text);
    }
    dm_json_end_object(json);
}

static void write_header(dm_buffer *header, const dm_dynamics *model)
{
    dm_json json;
    tensor t;
    uint64_t place = 0;
    dm_json_init(&json, header, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    write_metadata(&json, &model->config, model->curve != NULL);
    for (size_t i = 0; tensor_at(model, i, &t); i++) {
        if (t.count == 0)
            continue;
        dm_json_begin_object(&json, t.name);
        dm_json_string(&json, "dtype", "F32");
        dm_json_begin_array(&json, "shape");
        for (int d = 0; d < t.dimensions; d++)
            dm_json_uint(&json, NULL, t.shape[d]);
        dm_json_end_array(&json);
        dm_json_begin_array(&json, "data_offsets");
        dm_json_uint(&json, NULL, place);
        place += t.count * sizeof(float);
        dm_json_uint(&json, NULL, place);
        dm_json_end_array(&json);
        dm_json_end_object(&json);
    }
    dm_json_end_object(&json);
    /* Spaces, so that the data begins at a multiple of 8. */
    while (header->size % 8 != 0 && !header->failed)
        dm_buffer_putc(header, ' ');
}

dm_status dm_dynamics_save(const dm_dynamics *model, const char *path, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, path);
    dm_buffer header = DM_BUFFER_EMPTY, file = DM_BUFFER_EMPTY;
    tensor t;
    write_header(&header, model);
    for (int i = 0; i < 8; i++)
        dm_buffer_putc(&file, (char)((uint64_t)header.size >> (8 * i)));
    dm_buffer_append(&file, header.data, header.size);
    for (size_t i = 0; tensor_at(model, i, &t); i++)
        if (t.count > 0)
            dm_buffer_append(&file, t.data, t.count * sizeof(float));
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

static dm_status read_number(const json_t *metadata, const char *key, const char *path,
                             uint32_t *out, dm_error *err)
{
    const char *text = json_string_value(json_object_get(metadata, key));
    char *end = NULL;
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || text[0] < '0' || text[0] > '9' || *end != '\0' || value > UINT32_MAX)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: no number '%s' in its metadata", path,
                          key);
    *out = (uint32_t)value;
    return DM_OK;
}

static dm_status read_config(const json_t *header, const char *path, dm_dynamics_config *c,
                             uint32_t *curve, dm_error *err)
{
    const json_t *metadata = json_object_get(header, "__metadata__");
    const char *format = json_string_value(json_object_get(metadata, "format"));
    uint32_t kind = 0, projection = 0;
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: not a model of this kind (%s)", path,
                          FORMAT);
    dm_status status = read_number(metadata, "members", path, &c->members, err);
    if (status == DM_OK)
        status = read_number(metadata, "hidden", path, &c->hidden, err);
    if (status == DM_OK)
        status = read_number(metadata, "stochastic", path, &c->stochastic, err);
    if (status == DM_OK)
        status = read_number(metadata, "input", path, &c->input, err);
    if (status == DM_OK)
        status = read_number(metadata, "kind", path, &kind, err);
    if (status == DM_OK)
        status = read_number(metadata, "projection", path, &projection, err);
    if (status == DM_OK && json_object_get(metadata, "curve") != NULL) {
        status = read_number(metadata, "curve", path, curve, err);
        if (status == DM_OK && *curve != CURVE_FORM)
            status = dm_fail_at(err, DM_EFORMAT, path, 0,
                                "%s: a curve model of form %u; this version reads form %d", path,
                                *curve, CURVE_FORM);
    }
    c->kind = (dm_dynamics_gru_kind)kind;
    c->projection = projection != 0;
    return status;
}

/* Read one tensor of the model from the file's data. `taken` has a byte for each of the
 * data, 1 where a tensor lies; `*bytes` is how many those are. */
static dm_status read_tensor(const json_t *header, const tensor *t, const char *data, size_t size,
                             const char *path, char *taken, uint64_t *bytes, dm_error *err)
{
    const json_t *entry = json_object_get(header, t->name);
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    json_int_t first = json_integer_value(json_array_get(offsets, 0));
    json_int_t last = json_integer_value(json_array_get(offsets, 1));
    bool good = type != NULL && strcmp(type, "F32") == 0 && first >= 0 && last >= first &&
                (uint64_t)last <= size && (uint64_t)(last - first) == t->count * sizeof(float) &&
                json_array_size(shape) == (size_t)t->dimensions && json_array_size(offsets) == 2 &&
                json_is_integer(json_array_get(offsets, 0));
    for (int d = 0; d < t->dimensions && good; d++)
        good = json_integer_value(json_array_get(shape, (size_t)d)) == (json_int_t)t->shape[d];
    if (!good)
        return dm_fail_at(err, DM_EFORMAT, path, 0,
                          "%s: tensor %s is missing, of another shape, or outside the file", path,
                          t->name);
    memcpy(t->data, data + first, t->count * sizeof(float));
    for (size_t i = 0; i < t->count; i++)
        if (!isfinite(t->data[i]))
            return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: tensor %s: weight %zu is not finite",
                              path, t->name, i);
    if (memchr(taken + first, 1, (size_t)(last - first)) != NULL)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: tensor %s overlaps another", path,
                          t->name);
    memset(taken + first, 1, (size_t)(last - first));
    *bytes += (uint64_t)(last - first);
    return DM_OK;
}

/* The weights that a configuration asks for must be in the file before memory is taken for them. */
static dm_status check_total(const dm_dynamics_config *config, size_t size, const char *path,
                             dm_error *err)
{
    dm_dynamics_layout layout;
    dm_error inner = {0};
    if (dm_dynamics_layout_make(config, &layout, &inner) != DM_OK)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: %s", path, inner.message);
    if (layout.total > size / sizeof(float) / config->members)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: too short for its %u members", path,
                          config->members);
    return DM_OK;
}

static dm_status read_model(const char *bytes, size_t size, const char *path, dm_dynamics **out,
                            dm_error *err)
{
    uint64_t length = 0;
    for (int i = 0; i < 8 && size >= 8; i++)
        length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    if (size < 8 || length > size - 8 || length > HEADER_MAX)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: not a safetensors file", path);
    json_t *header = NULL;
    dm_dynamics_config config = {0};
    dm_dynamics *model = NULL;
    const char *data = bytes + 8 + length;
    size_t data_size = size - 8 - (size_t)length;
    uint64_t used = 0;
    uint32_t curve = 0;
    char *taken = calloc(data_size + 1, 1);
    tensor t;
    dm_status status = taken == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    if (status == DM_OK)
        status = dm_json_parse(bytes + 8, (size_t)length, path, &header, err);
    if (status == DM_OK)
        status = read_config(header, path, &config, &curve, err);
    if (status == DM_OK)
        status = check_total(&config, data_size, path, err);
    if (status == DM_OK)
        status = dm_dynamics_create(&config, 0, &model, err);
    if (status == DM_OK && curve != 0)
        status = dm_dynamics_curve_reserve(model, err);
    for (size_t i = 0; status == DM_OK && tensor_at(model, i, &t); i++)
        if (t.count > 0)
            status = read_tensor(header, &t, data, data_size, path, taken, &used, err);
    if (status == DM_OK && used != data_size)
        status = dm_fail_at(err, DM_EFORMAT, path, 0, "%s: %zu bytes that belong to no tensor",
                            path, data_size - (size_t)used);
    if (status == DM_OK && curve != 0 && dm_dynamics_curve_check(model, err) != DM_OK) {
        dm_error_prefix(err, "%s", path);
        status = DM_EFORMAT;
    }
    json_decref(header);
    free(taken);
    if (status != DM_OK)
        dm_dynamics_destroy(model);
    else
        *out = model;
    return status;
}

dm_status dm_dynamics_load(const char *path, dm_dynamics **out, dm_error *err)
{
    DM_REQUIRE(err, path);
    DM_REQUIRE(err, out);
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 0, &bytes, &size, err);
    if (status == DM_OK)
        status = read_model(bytes, size, path, out, err);
    free(bytes);
    return status;
}
