/* SPDX-License-Identifier: MIT */
/* model_file.c - models as safetensors files (base/safetensors.h), with our configuration under "__metadata__".
 * Chosen over .npz because it needs no archive format, every tensor can be found without reading the others, and
 * Python reads it with one call. */
#include "base/json.h"
#include "base/require.h"
#include "base/safetensors.h"
#include "dynamics/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "dotmatrix-dynamics-1"

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

/* NULL: out of memory. */
static json_t *make_metadata(const dm_dynamics_config *c, bool curve)
{
    /* safetensors allows text only. */
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"members", c->members},       {"hidden", c->hidden},
                   {"stochastic", c->stochastic}, {"input", c->input},
                   {"kind", (uint32_t)c->kind},   {"projection", c->projection},
                   {"curve", CURVE_FORM}};
    json_t *metadata = json_object();
    bool good = json_object_set_new(metadata, "format", json_string(FORMAT)) == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] - (curve ? 0 : 1); i++)
        good = good && json_object_set_new(metadata, numbers[i].key,
                                           json_sprintf("%" PRIu32, numbers[i].value)) == 0;
    if (good)
        return metadata;
    json_decref(metadata);
    return NULL;
}

dm_status dm_dynamics_save(const dm_dynamics *model, const char *path, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, path);
    const size_t room = (size_t)model->config.members * DM_DYNAMICS_PART_COUNT + 3;
    tensor *tensors = calloc(room, sizeof *tensors);
    dm_safetensor *entries = calloc(room, sizeof *entries);
    json_t *metadata = make_metadata(&model->config, model->curve != NULL);
    dm_status status = DM_OK;
    size_t count = 0;
    if (tensors == NULL || entries == NULL || metadata == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; status == DM_OK && tensor_at(model, i, &tensors[count]); i++) {
        const tensor *t = &tensors[count];
        if (t->count == 0)
            continue;
        entries[count] = (dm_safetensor){.name = t->name,
                                         .type = DM_SAFETENSORS_F32,
                                         .dimensions = t->dimensions,
                                         .shape = {t->shape[0], t->shape[1], t->shape[2]},
                                         .data = t->data};
        count++;
    }
    if (status == DM_OK)
        status = dm_safetensors_save(path, entries, count, metadata, err);
    json_decref(metadata);
    free(entries);
    free(tensors);
    return status;
}

/* ---- Reading ---- */

static dm_status read_number(const dm_safetensors *file, const char *key, const char *path,
                             uint32_t *out, dm_error *err)
{
    const char *text = dm_safetensors_metadata(file, key);
    char *end = NULL;
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || text[0] < '0' || text[0] > '9' || *end != '\0' || value > UINT32_MAX)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: no number '%s' in its metadata", path,
                          key);
    *out = (uint32_t)value;
    return DM_OK;
}

static dm_status read_config(const dm_safetensors *file, const char *path, dm_dynamics_config *c,
                             uint32_t *curve, dm_error *err)
{
    const char *format = dm_safetensors_metadata(file, "format");
    uint32_t kind = 0, projection = 0;
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: not a model of this kind (%s)", path,
                          FORMAT);
    dm_status status = read_number(file, "members", path, &c->members, err);
    if (status == DM_OK)
        status = read_number(file, "hidden", path, &c->hidden, err);
    if (status == DM_OK)
        status = read_number(file, "stochastic", path, &c->stochastic, err);
    if (status == DM_OK)
        status = read_number(file, "input", path, &c->input, err);
    if (status == DM_OK)
        status = read_number(file, "kind", path, &kind, err);
    if (status == DM_OK)
        status = read_number(file, "projection", path, &projection, err);
    if (status == DM_OK && dm_safetensors_metadata(file, "curve") != NULL) {
        status = read_number(file, "curve", path, curve, err);
        if (status == DM_OK && *curve != CURVE_FORM)
            status = dm_fail_at(err, DM_EFORMAT, path, 0,
                                "%s: a curve model of form %u; this version reads form %d", path,
                                *curve, CURVE_FORM);
    }
    c->kind = (dm_dynamics_gru_kind)kind;
    c->projection = projection != 0;
    return status;
}

static dm_status read_tensor(const dm_safetensors *file, const tensor *t, const char *path,
                             dm_error *err)
{
    const dm_safetensor *entry = dm_safetensors_find(file, t->name);
    bool good = entry != NULL && entry->dimensions == t->dimensions;
    for (int d = 0; d < t->dimensions && good; d++)
        good = entry->shape[d] == t->shape[d];
    if (!good)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: tensor %s is missing or of another shape",
                          path, t->name);
    return dm_safetensors_floats(file, t->name, t->data, t->count, err);
}

/* Check that the file holds the configuration's weights before memory is allocated for them. */
static dm_status check_total(const dm_dynamics_config *config, const dm_safetensors *file,
                             const char *path, dm_error *err)
{
    dm_dynamics_layout layout;
    dm_error inner = {0};
    uint64_t weights = 0;
    if (dm_dynamics_layout_make(config, &layout, &inner) != DM_OK)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: %s", path, inner.message);
    for (size_t i = 0; i < dm_safetensors_count(file); i++) {
        const dm_safetensor *t = dm_safetensors_at(file, i);
        uint64_t count = 1;
        for (int d = 0; d < t->dimensions; d++)
            count *= t->shape[d];
        weights += count;
    }
    if (layout.total > weights / config->members)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "%s: too short for its %u members", path,
                          config->members);
    return DM_OK;
}

static dm_status read_model(const dm_safetensors *file, const char *path, dm_dynamics **out,
                            dm_error *err)
{
    dm_dynamics_config config = {0};
    dm_dynamics *model = NULL;
    uint32_t curve = 0;
    size_t used = 0;
    tensor t;
    dm_status status = read_config(file, path, &config, &curve, err);
    if (status == DM_OK)
        status = check_total(&config, file, path, err);
    if (status == DM_OK)
        status = dm_dynamics_create(&config, 0, &model, err);
    if (status == DM_OK && curve != 0)
        status = dm_dynamics_curve_reserve(model, err);
    for (size_t i = 0; status == DM_OK && tensor_at(model, i, &t); i++)
        if (t.count > 0) {
            status = read_tensor(file, &t, path, err);
            used++;
        }
    if (status == DM_OK && used != dm_safetensors_count(file))
        status = dm_fail_at(err, DM_EFORMAT, path, 0, "%s: %zu tensors that are no part of a model",
                            path, dm_safetensors_count(file) - used);
    if (status == DM_OK && curve != 0 && dm_dynamics_curve_check(model, err) != DM_OK) {
        dm_error_prefix(err, "%s", path);
        status = DM_EFORMAT;
    }
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
    dm_safetensors *file = NULL;
    dm_status status = dm_safetensors_load(path, &file, err);
    if (status == DM_OK)
        status = read_model(file, path, out, err);
    dm_safetensors_close(file);
    return status;
}
