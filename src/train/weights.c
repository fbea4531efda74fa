/* SPDX-License-Identifier: MIT */
/* weights.c - see weights.h. */
#include "train/weights.h"
#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_MAX_ 128
#define AVERAGE "average."
static const char prefix[] = "transformer.";

/* ---- Names and shapes ---- */

/* A parameter as files have it. */
typedef struct tensor_form {
    char name[NAME_MAX_];
    int dimensions;
    uint64_t shape[4];
    bool transposed, position;
} tensor_form;

/* nn calls parameters "LAYER.weight", "LAYER.bias", and "LAYER.position" of an embedding. */
static tensor_form form_of(const dm_task *task, const dm_nn_parameter *p)
{
    tensor_form form = {0};
    char *what = NULL;
    size_t layer = strtoul(p->name, &what, 10);
    form.position = strcmp(what, ".position") == 0;
    snprintf(form.name, sizeof form.name, "%s%s",
             form.position ? task->position_name : task->names[layer],
             form.position ? ".weight" : what);
    while (form.dimensions < 4 && p->shape[form.dimensions] != 0) {
        form.shape[form.dimensions] = p->shape[form.dimensions];
        form.dimensions++;
    }
    form.transposed =
        task->transposed && form.dimensions == 2 && task->layers[layer].kind == DM_NN_LAYER_LINEAR;
    if (form.transposed) {
        form.shape[0] = p->shape[1];
        form.shape[1] = p->shape[0];
    }
    return form;
}

/* to[columns][rows] = from[rows][columns] */
static void transpose(float *to, const float *from, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

/* ---- Writing ---- */

/* Tensors that are being gathered: memory for all of their numbers, names and rows. */
typedef struct gathering {
    dm_safetensor *tensors;
    char (*names)[NAME_MAX_];
    float *values;
    size_t count, used;
} gathering;

static void gathering_deinit(gathering *g)
{
    free(g->tensors);
    free(g->names);
    free(g->values);
}

static dm_status gathering_init(gathering *g, dm_nn_model *model, size_t parts, dm_error *err)
{
    size_t parameters = dm_nn_model_parameter_count(model);
    *g = (gathering){.tensors = calloc(parts * parameters, sizeof *g->tensors),
                     .names = calloc(parts * parameters, sizeof *g->names),
                     .values = malloc(parts * dm_nn_model_size(model) * sizeof(float))};
    if (g->tensors != NULL && g->names != NULL && g->values != NULL)
        return DM_OK;
    gathering_deinit(g);
    *g = (gathering){0};
    return dm_fail(err, DM_ENOMEM, "out of memory for a copy of %zu weights",
                   dm_nn_model_size(model));
}

/* Add one part of every parameter, its names after `before`. */
static dm_status gather(gathering *g, const dm_task *task, dm_nn_model *model, dm_nn_part part,
                        const char *before, dm_error *err)
{
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
        const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
        tensor_form form = form_of(task, p);
        float *to = g->values + g->used, *plain = form.transposed ? NULL : to;
        if (form.transposed && (plain = malloc(p->count * sizeof *plain)) == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory for %s", form.name);
        dm_status status = dm_nn_model_read(model, k, part, plain, err);
        if (status == DM_OK && form.transposed)
            transpose(to, plain, p->shape[0], p->shape[1]);
        if (form.transposed)
            free(plain);
        if (status != DM_OK)
            return status;
        snprintf(g->names[g->count], NAME_MAX_, "%s%s", before, form.name);
        dm_safetensor *t = &g->tensors[g->count];
        *t = (dm_safetensor){g->names[g->count], DM_SAFETENSORS_F32, form.dimensions, {0}, to};
        memcpy(t->shape, form.shape, sizeof form.shape);
        g->count++;
        g->used += p->count;
    }
    return DM_OK;
}

dm_status dm_weights_save(const char *path, const dm_task *task, dm_nn_model *model, bool average,
                          dm_error *err)
{
    gathering g = {0};
    json_t *metadata = json_pack("{s:s}", "format", "pt"); /* what PyTorch's loaders look for */
    dm_status status = metadata == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                        : gathering_init(&g, model, 1, err);
    if (status == DM_OK)
        status = gather(&g, task, model, average ? DM_NN_AVERAGE : DM_NN_VALUE, "", err);
    if (status == DM_OK)
        status = dm_safetensors_save(path, g.tensors, g.count, metadata, err);
    json_decref(metadata);
    gathering_deinit(&g);
    return status;
}

/* What a checkpoint has besides the weights, by the optimiser. */
typedef struct kept_part {
    dm_nn_part part;
    const char *before;
    bool kept;
} kept_part;

enum { PARTS = 4 };
static void kept_parts(const dm_task *task, kept_part parts[PARTS])
{
    parts[0] = (kept_part){DM_NN_VALUE, "", true};
    parts[1] = (kept_part){DM_NN_FIRST, "optimiser.first.", true};
    parts[2] = (kept_part){DM_NN_SECOND, "optimiser.second.", task->config.optimiser != DM_NN_SGD};
    parts[3] = (kept_part){DM_NN_AVERAGE, AVERAGE, task->config.average > 0};
}

dm_status dm_weights_checkpoint(const char *path, const dm_checkpoint *where, const dm_task *task,
                                dm_nn_model *model, const dm_safetensor *more, size_t more_count,
                                dm_error *err)
{
    kept_part parts[PARTS];
    gathering g = {0};
    kept_parts(task, parts);
    dm_status status = gathering_init(&g, model, PARTS, err);
    if (status == DM_OK && more_count > 0) {
        size_t rows = PARTS * dm_nn_model_parameter_count(model) + more_count;
        dm_safetensor *tensors = realloc(g.tensors, rows * sizeof *tensors);
        if (tensors == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory for a checkpoint's rows");
        else
            g.tensors = tensors;
    }
    for (int i = 0; i < PARTS && status == DM_OK; i++)
        if (parts[i].kept)
            status = gather(&g, task, model, parts[i].part, parts[i].before, err);
    for (size_t i = 0; status == DM_OK && i < more_count; i++)
        g.tensors[g.count++] = more[i];
    if (status == DM_OK)
        status = dm_checkpoint_save(path, where, g.tensors, g.count, err);
    gathering_deinit(&g);
    return status;
}

/* ---- Reading ---- */

static dm_status fail_shape(const char *path, const tensor_form *form, const dm_safetensor *t,
                            dm_error *err)
{
    char wanted[96] = "", found[192] = "";
    for (int d = 0, n = 0; d < form->dimensions; d++)
        n += snprintf(wanted + n, sizeof wanted - (size_t)n, "%s%" PRIu64, d > 0 ? "x" : "",
                      form->shape[d]);
    for (int d = 0, n = 0; d < t->dimensions; d++)
        n += snprintf(found + n, sizeof found - (size_t)n, "%s%" PRIu64, d > 0 ? "x" : "",
                      t->shape[d]);
    return dm_fail(err, DM_EFORMAT, "%.400s: %.128s is %s, the model's is %s", path, t->name, found,
                   wanted);
}

/* The numbers of a tensor as floats: `count` from its beginning. */
static dm_status as_floats(const dm_safetensor *t, const char *path, float *to, size_t count,
                           dm_error *err)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        uint32_t bits;
        double wide;
        switch (t->type) {
        case DM_SAFETENSORS_F32:
            memcpy(&to[i], (const char *)t->data + 4 * i, 4);
            break;
        case DM_SAFETENSORS_F64:
            memcpy(&wide, (const char *)t->data + 8 * i, 8);
            to[i] = (float)wide;
            break;
        case DM_SAFETENSORS_BF16:
            memcpy(&half, (const char *)t->data + 2 * i, 2);
            bits = (uint32_t)half << 16;
            memcpy(&to[i], &bits, 4);
            break;
        case DM_SAFETENSORS_I64:
        case DM_SAFETENSORS_U8:
        case DM_SAFETENSORS_TYPES:
        default:
            return dm_fail(err, DM_EFORMAT, "%.400s: %.128s holds whole numbers, not weights", path,
                           t->name);
        }
        if (!isfinite(to[i]))
            return dm_fail(err, DM_EFORMAT, "%.400s: %.128s: value %zu is not finite", path,
                           t->name, i);
    }
    return DM_OK;
}

/* One tensor into a part of parameter k. Models of GPT may have fewer positions than the file. */
static dm_status put_tensor(const dm_safetensor *t, const char *path, const dm_task *task,
                            dm_nn_model *model, size_t k, dm_nn_part part, dm_error *err)
{
    const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
    tensor_form form = form_of(task, p);
    bool fits = t->dimensions == form.dimensions;
    for (int d = 0; d < form.dimensions && fits; d++)
        fits = t->shape[d] == form.shape[d] ||
               (d == 0 && form.position && t->shape[d] > form.shape[d]);
    if (!fits)
        return fail_shape(path, &form, t, err);
    float *values = malloc(p->count * sizeof *values), *turned = NULL;
    if (form.transposed)
        turned = malloc(p->count * sizeof *turned);
    dm_status status = values == NULL || (form.transposed && turned == NULL)
                           ? dm_fail(err, DM_ENOMEM, "out of memory for %s", form.name)
                           : as_floats(t, path, values, p->count, err);
    if (status == DM_OK && form.transposed)
        transpose(turned, values, p->shape[1], p->shape[0]);
    if (status == DM_OK)
        status = dm_nn_model_write(model, k, part, form.transposed ? turned : values, err);
    free(values);
    free(turned);
    return status;
}

static dm_status put_part(const dm_safetensors *file, const char *path, const dm_task *task,
                          dm_nn_model *model, dm_nn_part part, const char *before, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t k = 0; k < dm_nn_model_parameter_count(model) && status == DM_OK; k++) {
        char name[NAME_MAX_ + 32];
        tensor_form form = form_of(task, dm_nn_model_parameter(model, k));
        snprintf(name, sizeof name, "%s%s", before, form.name);
        const dm_safetensor *t = dm_safetensors_find(file, name);
        status = t == NULL ? dm_fail(err, DM_EFORMAT, "%.400s: there is no %s", path, name)
                           : put_tensor(t, path, task, model, k, part, err);
    }
    return status;
}

dm_status dm_weights_restore(const dm_safetensors *file, const char *path, const dm_task *task,
                             dm_nn_model *model, uint64_t step, dm_error *err)
{
    kept_part parts[PARTS];
    dm_status status = DM_OK;
    kept_parts(task, parts);
    for (int i = 0; i < PARTS && status == DM_OK; i++)
        if (parts[i].kept)
            status = put_part(file, path, task, model, parts[i].part, parts[i].before, err);
    if (status == DM_OK)
        dm_nn_model_set_steps(model, step);
    return status;
}

dm_status dm_weights_take(const dm_safetensors *file, const char *path, const dm_task *task,
                          bool average, dm_nn_model *model, dm_error *err)
{
    return put_part(file, path, task, model, DM_NN_VALUE, average ? AVERAGE : "", err);
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The tensors of a checkpoint that are weights, with the names that they have in a file of weights;
 * how many there are. */
static size_t choose_weights(const dm_safetensors *file, bool average, dm_safetensor *out)
{
    size_t count = 0;
    for (size_t i = 0; i < dm_safetensors_count(file); i++) {
        dm_safetensor t = *dm_safetensors_at(file, i);
        bool averaged = begins_with(t.name, AVERAGE);
        if (averaged != average || begins_with(t.name, "optimiser.") ||
            begins_with(t.name, "predict."))
            continue;
        t.name += averaged ? strlen(AVERAGE) : 0;
        out[count++] = t;
    }
    return count;
}

dm_status dm_weights_export(const char *checkpoint, bool average, const char *path, dm_error *err)
{
    dm_checkpoint where;
    dm_safetensors *file = NULL;
    if (!dm_file_exists(checkpoint))
        return dm_fail(err, DM_ENOENT, "%.900s: there is no checkpoint", checkpoint);
    dm_status status = dm_checkpoint_load(checkpoint, NULL, &where, &file, err);
    if (status != DM_OK)
        return status;
    dm_safetensor *weights = calloc(dm_safetensors_count(file) + 1, sizeof *weights);
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    size_t count = 0;
    if (weights == NULL || metadata == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    else if ((count = choose_weights(file, average, weights)) == 0)
        status = dm_fail(err, DM_EINVAL, "%.900s has no averaged weights", checkpoint);
    if (status == DM_OK)
        status = dm_safetensors_save(path, weights, count, metadata, err);
    json_decref(metadata);
    free(weights);
    dm_safetensors_close(file);
    return status;
}

/* ---- Other people's files ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The name without the prefix that GPT2Model's files lack. */
static const char *bare(const char *name)
{
    return begins_with(name, prefix) ? name + sizeof prefix - 1 : name;
}

static bool is_passed_over(const char *name)
{
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias") ||
           strcmp(name, "lm_head.weight") == 0;
}

/* The parameter of a tensor's name, or SIZE_MAX. */
static size_t find_parameter(const dm_task *task, dm_nn_model *model, const char *name)
{
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
        tensor_form form = form_of(task, dm_nn_model_parameter(model, k));
        if (strcmp(bare(form.name), bare(name)) == 0)
            return k;
    }
    return SIZE_MAX;
}

static dm_status check_head(const dm_safetensors *file, const char *path, dm_error *err)
{
    const dm_safetensor *head = dm_safetensors_find(file, "lm_head.weight");
    const dm_safetensor *token = dm_safetensors_find(file, "transformer.wte.weight");
    if (head == NULL)
        return DM_OK;
    static const size_t sizes[DM_SAFETENSORS_TYPES] = {4, 8, 2, 8, 1};
    bool same = token != NULL && head->type == token->type && head->dimensions == 2 &&
                token->dimensions == 2 && head->shape[0] == token->shape[0] &&
                head->shape[1] == token->shape[1];
    if (same && memcmp(head->data, token->data,
                       (size_t)(head->shape[0] * head->shape[1]) * sizes[head->type]) == 0)
        return DM_OK;
    return dm_fail(err, DM_EFORMAT,
                   "%.400s: lm_head.weight differs from transformer.wte.weight; only tied weights "
                   "are read",
                   path);
}

dm_status dm_weights_load(const char *path, const dm_task *task, dm_nn_model *model, dm_error *err)
{
    size_t parameters = dm_nn_model_parameter_count(model);
    bool *found = calloc(parameters, sizeof *found);
    dm_safetensors *file = NULL;
    dm_status status = found == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                     : dm_safetensors_load(path, &file, err);
    if (status == DM_OK)
        status = check_head(file, path, err);
    for (size_t i = 0; status == DM_OK && i < dm_safetensors_count(file); i++) {
        const dm_safetensor *t = dm_safetensors_at(file, i);
        size_t k = find_parameter(task, model, t->name);
        if (k == SIZE_MAX && is_passed_over(t->name))
            continue;
        if (k == SIZE_MAX || found[k]) {
            status = dm_fail(err, DM_EFORMAT, "%.400s: %.128s is %s", path, t->name,
                             k == SIZE_MAX ? "no parameter of this model" : "there twice");
        } else {
            found[k] = true;
            status = put_tensor(t, path, task, model, k, DM_NN_VALUE, err);
        }
    }
    for (size_t k = 0; status == DM_OK && k < parameters; k++)
        if (!found[k])
            status = dm_fail(err, DM_EFORMAT, "%.400s: there is no %s", path,
                             form_of(task, dm_nn_model_parameter(model, k)).name);
    dm_safetensors_close(file);
    free(found);
    return status;
}
