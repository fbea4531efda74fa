/* SPDX-License-Identifier: MIT */
/* store.c - see store.h. */
#include "nn/store.h"
#include "nn/model.h"
#include "nn/store_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS, PRODUCT, MOVE, KERNELS, BLOCK_THREADS = 256, BLOCKS_MAX = 4096 };

struct dm_nn_store {
    dm_stream *stream;
    size_t room, slots, parts;
    dm_device_buffer *values;  /* [slots][room] */
    dm_device_buffer *partial; /* double [parts][2]; then the flag of a move */
    double *host;              /* the same, on the host */
    dm_module *module;
    dm_function *kernels[KERNELS];
};

/* ---- Making one ---- */

static dm_status load(dm_nn_store *s, dm_device *device, dm_error *err)
{
    static const dm_builtin_kernel builtins[KERNELS] = {
        [SUMS] = {"dm_store_sums", dm_store_sums, sizeof(dm_store_sums_args)},
        [PRODUCT] = {"dm_store_product", dm_store_product, sizeof(dm_store_product_args)},
        [MOVE] = {"dm_store_move", dm_store_move, sizeof(dm_store_move_args)},
    };
    dm_module_desc desc = {
        .name = "nn/store_text.h", .builtins = builtins, .builtin_count = KERNELS};
    dm_status status = dm_module_create(device, &desc, &s->module, err);
    for (int k = 0; k < KERNELS && status == DM_OK; k++)
        status = dm_module_function(s->module, builtins[k].name, &s->kernels[k], err);
    return status;
}

static size_t partial_bytes(const dm_nn_store *s)
{
    return 2 * s->parts * sizeof(double);
}

dm_status dm_nn_store_create(dm_device *device, size_t room, size_t slots, dm_nn_store **out,
                             dm_error *err)
{
    if (room == 0 || slots == 0)
        return dm_fail(err, DM_EINVAL, "nn: a store of %zu arrays of %zu numbers", slots, room);
    dm_nn_store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return dm_fail(err, DM_ENOMEM, "nn: no memory");
    size_t bytes = slots * room * sizeof(float);
    s->stream = dm_device_stream(device);
    s->room = room;
    s->slots = slots;
    s->parts = room < DM_STORE_PARTS ? room : DM_STORE_PARTS;
    s->host = malloc(partial_bytes(s));
    dm_status status = s->host == NULL ? dm_fail(err, DM_ENOMEM, "nn: no memory")
                                       : dm_device_buffer_create(device, bytes, &s->values, err);
    if (status == DM_ENOMEM)
        status =
            dm_fail(err, DM_ENOMEM, "nn: no memory on %s for %zu copies of %zu numbers: %.0f MiB",
                    dm_device_get_properties(device)->id, slots, room, (double)bytes / (1 << 20));
    if (status == DM_OK)
        status =
            dm_device_buffer_create(device, partial_bytes(s) + sizeof(uint32_t), &s->partial, err);
    if (status == DM_OK)
        status = dm_stream_fill(s->stream, s->values, 0, 0, bytes, err);
    if (status == DM_OK)
        status = load(s, device, err);
    if (status != DM_OK)
        dm_nn_store_destroy(s);
    else
        *out = s;
    return status;
}

void dm_nn_store_destroy(dm_nn_store *s)
{
    if (s == NULL)
        return;
    (void)dm_stream_synchronize(s->stream, NULL);
    dm_module_destroy(s->module);
    dm_device_buffer_destroy(s->values);
    dm_device_buffer_destroy(s->partial);
    free(s->host);
    free(s);
}

size_t dm_nn_store_room(const dm_nn_model *model)
{
    return model->plan.parameter_room;
}

/* ---- Copies ---- */

static size_t slot_at(const dm_nn_store *s, size_t slot)
{
    return slot * s->room * sizeof(float);
}

static float *slot_address(const dm_nn_store *s, size_t slot)
{
    return (float *)dm_device_buffer_address(s->values) + slot * s->room;
}

static dm_status check(const dm_nn_store *s, size_t slot, const dm_nn_model *model, dm_error *err)
{
    if (slot >= s->slots || (model != NULL && model->plan.parameter_room != s->room))
        return dm_fail(err, DM_EINVAL, "nn: slot %zu of a store of %zu of another size", slot,
                       s->slots);
    return DM_OK;
}

dm_status dm_nn_store_take(dm_nn_store *s, size_t to, dm_nn_model *model, dm_nn_part part,
                           dm_error *err)
{
    size_t at = 0;
    dm_status status = check(s, to, model, err);
    if (status != DM_OK)
        return status;
    dm_device_buffer *arrays = model->runner->arrays(model, part, &at);
    return dm_stream_copy(s->stream, s->values, slot_at(s, to), arrays, at, s->room * sizeof(float),
                          err);
}

dm_status dm_nn_store_put(dm_nn_store *s, size_t from, dm_nn_model *model, dm_nn_part part,
                          dm_error *err)
{
    size_t at = 0;
    dm_status status = check(s, from, model, err);
    if (status != DM_OK)
        return status;
    dm_device_buffer *arrays = model->runner->arrays(model, part, &at);
    status = dm_stream_copy(s->stream, arrays, at, s->values, slot_at(s, from),
                            s->room * sizeof(float), err);
    return status == DM_OK && part == DM_NN_VALUE ? model->runner->changed(model, err) : status;
}

dm_status dm_nn_store_copy(dm_nn_store *s, size_t to, size_t from, dm_error *err)
{
    dm_status status = check(s, to, NULL, err);
    if (status == DM_OK)
        status = check(s, from, NULL, err);
    return status != DM_OK || to == from
               ? status
               : dm_stream_copy(s->stream, s->values, slot_at(s, to), s->values, slot_at(s, from),
                                s->room * sizeof(float), err);
}

/* Each parameter's place in a slot and in an array without padding; the whole slot without a model. */
typedef struct piece {
    size_t at, flat, count;
} piece;

static bool next_piece(const dm_nn_store *s, const dm_nn_model *model, size_t k, piece *p)
{
    if (model == NULL) {
        *p = (piece){0, 0, s->room};
        return k == 0;
    }
    if (k >= model->plan.parameter_count)
        return false;
    *p = (piece){model->plan.offsets[k], p->flat + p->count, model->plan.parameters[k].count};
    return true;
}

dm_status dm_nn_store_read(dm_nn_store *s, size_t slot, const dm_nn_model *model, float *to,
                           dm_error *err)
{
    piece p = {0, 0, 0};
    dm_status status = check(s, slot, model, err);
    for (size_t k = 0; status == DM_OK && next_piece(s, model, k, &p); k++)
        status = dm_stream_download(s->stream, s->values, slot_at(s, slot) + p.at * sizeof(float),
                                    to + p.flat, p.count * sizeof(float), err);
    return status != DM_OK ? status : dm_stream_synchronize(s->stream, err);
}

dm_status dm_nn_store_write(dm_nn_store *s, size_t slot, const dm_nn_model *model,
                            const float *from, dm_error *err)
{
    piece p = {0, 0, 0};
    dm_status status = check(s, slot, model, err);
    for (size_t k = 0; status == DM_OK && next_piece(s, model, k, &p); k++)
        status = dm_stream_upload(s->stream, s->values, slot_at(s, slot) + p.at * sizeof(float),
                                  from + p.flat, p.count * sizeof(float), err);
    return status != DM_OK ? status : dm_stream_synchronize(s->stream, err);
}

/* ---- Arithmetic ---- */

static dm_status launch(dm_nn_store *s, int kernel, uint64_t items, const void *args, size_t size,
                        dm_error *err)
{
    dm_grid grid = dm_grid_for(items, BLOCK_THREADS);
    grid.blocks = grid.blocks > BLOCKS_MAX ? BLOCKS_MAX : grid.blocks;
    return dm_function_launch(s->kernels[kernel], s->stream, grid, args, size, err);
}

static dm_status fetch(dm_nn_store *s, size_t at, void *to, size_t bytes, dm_error *err)
{
    dm_status status = dm_stream_download(s->stream, s->partial, at, to, bytes, err);
    return status != DM_OK ? status : dm_stream_synchronize(s->stream, err);
}

dm_status dm_nn_store_moments(dm_nn_store *s, dm_nn_model *model, dm_nn_part part, float out[2],
                              dm_error *err)
{
    size_t at = 0;
    dm_status status = check(s, 0, model, err);
    if (status != DM_OK)
        return status;
    dm_device_buffer *arrays = model->runner->arrays(model, part, &at);
    dm_store_sums_args args = {.x = (const float *)dm_device_buffer_address(arrays) +
                                    at / sizeof(float),
                               .partial = dm_device_buffer_address(s->partial),
                               .n = s->room,
                               .parts = s->parts};
    status = launch(s, SUMS, s->parts, &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(s, 0, s->host, partial_bytes(s), err);
    double sum = 0, squares = 0, count = (double)dm_nn_model_size(model);
    for (size_t p = 0; p < s->parts && status == DM_OK; p++) {
        sum += s->host[2 * p];
        squares += s->host[2 * p + 1];
    }
    double mean = sum / count, variance = squares / count - mean * mean;
    out[0] = (float)mean;
    out[1] = (float)sqrt(variance > 0 ? variance : 0);
    return status;
}

dm_status dm_nn_store_product(dm_nn_store *s, size_t a1, size_t a0, size_t b1, size_t b0,
                              double *out, dm_error *err)
{
    const size_t slots[] = {a1, a0, b1, b0};
    dm_status status = DM_OK;
    for (int i = 0; i < 4 && status == DM_OK; i++)
        status = check(s, slots[i], NULL, err);
    if (status != DM_OK)
        return status;
    dm_store_product_args args = {.a0 = slot_address(s, a0),
                                  .a1 = slot_address(s, a1),
                                  .b0 = slot_address(s, b0),
                                  .b1 = slot_address(s, b1),
                                  .partial = dm_device_buffer_address(s->partial),
                                  .n = s->room,
                                  .parts = s->parts};
    status = launch(s, PRODUCT, s->parts, &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(s, 0, s->host, s->parts * sizeof(double), err);
    *out = 0;
    for (size_t p = 0; p < s->parts && status == DM_OK; p++)
        *out += s->host[p];
    return status;
}

dm_status dm_nn_store_move(dm_nn_store *s, const dm_nn_move *move, bool *finite, dm_error *err)
{
    size_t flag_at = partial_bytes(s);
    uint32_t bad = 0;
    dm_store_move_args args = {
        .average = slot_address(s, move->average),
        .weights = slot_address(s, move->weights),
        .bad = (uint32_t *)(void *)((char *)dm_device_buffer_address(s->partial) + flag_at),
        .n = s->room,
        .terms = (uint32_t)move->terms,
        .onto_average = move->onto_average};
    dm_status status = check(s, move->average, NULL, err);
    if (status == DM_OK)
        status = check(s, move->weights, NULL, err);
    if (status == DM_OK && (move->terms > DM_STORE_TERMS || move->average == move->weights))
        status = dm_fail(err, DM_EINVAL, "nn: a move of %zu terms", move->terms);
    for (size_t k = 0; k < move->terms && status == DM_OK; k++) {
        status = check(s, move->slot[k], NULL, err);
        args.term[k] = slot_address(s, move->slot[k]);
        args.factor[k] = move->factor[k];
    }
    if (status == DM_OK)
        status = dm_stream_fill(s->stream, s->partial, flag_at, 0, sizeof bad, err);
    if (status == DM_OK)
        status = launch(s, MOVE, s->room, &args, sizeof args, err);
    if (status == DM_OK)
        status = fetch(s, flag_at, &bad, sizeof bad, err);
    *finite = status == DM_OK && bad == 0;
    return status;
}
