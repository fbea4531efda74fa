/* SPDX-License-Identifier: MIT */
/* target_data.c - arrays, tensors and training data: .npy, safetensors, IDX, gzip, CSV, token
 * files, byte-pair vocabularies, checkpoints, metrics, models of dynamics. */
#include "base/buffer.h"
#include "base/hash.h"
#include "base/safetensors.h"
#include "dynamics/curve/forecast.h"
#include "kernel/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "train/checkpoint.h"
#include "train/config.h"
#include "train/data/bpe.h"
#include "train/data/csv.h"
#include "train/data/gz.h"
#include "train/data/idx.h"
#include "train/data/tokens.h"
#include "train/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *in_folder(const char *folder, const char *name)
{
    static char paths[2][256];
    static int turn;
    turn ^= 1;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

/* ---- .npy ---- */

void fuzz_run_npy(const uint8_t *data, size_t size)
{
    dm_npy npy, again;
    dm_error err = {0};
    dm_status status = dm_npy_read(fuzz_file(0, data, size), &npy, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    fuzz_touch(npy.data, npy.bytes);
    fuzz_expect(npy.bytes == npy.count * dm_npy_scalar_bytes(npy.scalar), "bytes are not count");
    /* What is written from it reads back equal. */
    const char *path = in_folder(fuzz_folder(), "a.npy");
    fuzz_need(dm_npy_write(path, &npy, &err), &err);
    fuzz_need(dm_npy_read(path, &again, &err), &err);
    fuzz_expect(again.bytes == npy.bytes && again.ndim == npy.ndim &&
                    (npy.bytes == 0 || memcmp(again.data, npy.data, npy.bytes) == 0),
                "an array changes when it is written");
    dm_npy_deinit(&again);
    dm_npy_deinit(&npy);
}

void fuzz_seeds_npy(void)
{
    static const float floats[] = {0, 1.5f, -2, 3e38f, 4, 5};
    static const int64_t longs[] = {-1, INT64_MAX};
    static const uint8_t bools[] = {0, 1, 1};
    const dm_npy arrays[] = {
        {DM_KERNEL_FLOAT32, 2, {2, 3}, 6, sizeof floats, (void *)(uintptr_t)floats},
        {DM_KERNEL_INT64, 1, {2}, 2, sizeof longs, (void *)(uintptr_t)longs},
        {DM_KERNEL_BOOL, 3, {1, 3, 1}, 3, sizeof bools, (void *)(uintptr_t)bools},
        {DM_KERNEL_FLOAT32, 1, {0}, 0, 0, (void *)(uintptr_t)floats}};
    static const char *const names[] = {"float32-2x3", "int64-2", "bool-1x3x1", "empty"};
    for (int i = 0; i < 4; i++) {
        dm_error err;
        const char *path = in_folder(fuzz_folder(), "a.npy");
        fuzz_need(dm_npy_write(path, &arrays[i], &err), &err);
        fuzz_seed_file(names[i], path);
    }
}

/* ---- safetensors, checkpoints, models ---- */

static uint64_t tensor_bytes(const dm_safetensor *t)
{
    static const uint64_t sizes[DM_SAFETENSORS_TYPES] = {4, 8, 2, 8, 1};
    uint64_t bytes = sizes[t->type];
    for (int d = 0; d < t->dimensions; d++)
        bytes *= t->shape[d];
    return bytes;
}

static void touch_tensors(const dm_safetensors *file)
{
    for (size_t i = 0; i < dm_safetensors_count(file); i++) {
        const dm_safetensor *t = dm_safetensors_at(file, i);
        fuzz_touch(t->name, strlen(t->name));
        fuzz_touch(t->data, (size_t)tensor_bytes(t));
        fuzz_expect(dm_safetensors_find(file, t->name) == t, "a tensor is not found by its name");
        float values[4];
        dm_error err = {0};
        fuzz_done(dm_safetensors_floats(file, t->name, values, 4, &err), &err);
    }
}

void fuzz_run_safetensors(const uint8_t *data, size_t size)
{
    dm_safetensors *file = NULL;
    dm_error err = {0};
    dm_status status = dm_safetensors_load(fuzz_file(0, data, size), &file, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    touch_tensors(file);
    dm_safetensors_metadata(file, "format");
    dm_safetensors_close(file);
}

static const float weights[] = {1, -2, 3, 0.5f};
static const uint8_t few[] = {1, 2, 3};
static const int64_t ids[] = {7, -7};
static const dm_safetensor tensors[] = {{"w", DM_SAFETENSORS_F32, 2, {2, 2}, weights},
                                        {"b", DM_SAFETENSORS_BF16, 1, {4}, weights},
                                        {"ids", DM_SAFETENSORS_I64, 1, {2}, ids},
                                        {"mask", DM_SAFETENSORS_U8, 1, {3}, few},
                                        {"scale", DM_SAFETENSORS_F64, 0, {0}, ids}};

void fuzz_seeds_safetensors(void)
{
    dm_error err;
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    const char *path = in_folder(fuzz_folder(), "a.safetensors");
    fuzz_need(dm_safetensors_save(path, tensors, 5, metadata, &err), &err);
    fuzz_seed_file("five-types", path);
    fuzz_need(dm_safetensors_save(path, tensors, 1, NULL, &err), &err);
    fuzz_seed_file("one", path);
    json_decref(metadata);
}

void fuzz_run_checkpoint(const uint8_t *data, size_t size)
{
    dm_checkpoint where;
    dm_safetensors *file = NULL;
    dm_error err = {0};
    dm_status status = dm_checkpoint_load(fuzz_file(0, data, size), NULL, &where, &file, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    touch_tensors(file);
    fuzz_touch(where.model, strlen(where.model));
    fuzz_touch(where.config, strlen(where.config));
    dm_safetensors_close(file);
}

void fuzz_seeds_checkpoint(void)
{
    dm_error err;
    const dm_checkpoint where = {"gpt", "{\"layers\":4}", 120, UINT64_MAX, 3, 77};
    const char *path = in_folder(fuzz_folder(), "c.safetensors");
    fuzz_need(dm_checkpoint_save(path, &where, tensors, 2, &err), &err);
    fuzz_seed_file("gpt", path);
}

void fuzz_run_dynamics_model(const uint8_t *data, size_t size)
{
    dm_dynamics *model = NULL;
    dm_error err = {0};
    dm_status status = dm_dynamics_load(fuzz_file(0, data, size), &model, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    const dm_dynamics_config *config = dm_dynamics_get_config(model);
    for (uint32_t m = 0; m < config->members; m++)
        for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++) {
            size_t count = 0;
            const float *w = dm_dynamics_weights(model, m, (dm_dynamics_part)part, &count);
            for (size_t i = 0; i < count; i++)
                fuzz_expect(isfinite(w[i]), "a weight that is no number was accepted");
        }
    for (uint32_t i = 0; i < config->input; i++)
        fuzz_expect(isfinite(dm_dynamics_shift(model)[i]) && isfinite(dm_dynamics_scale(model)[i]),
                    "a scale that is no number was accepted");
    dm_dynamics_destroy(model);
}

void fuzz_seeds_dynamics_model(void)
{
    static const dm_dynamics_config configs[] = {{1, 2, 1, 3, DM_DYNAMICS_GRU_RESET_FIRST, false},
                                                 {2, 3, 2, 2, DM_DYNAMICS_GRU_RESET_LAST, true}};
    for (int i = 0; i < 2; i++) {
        dm_dynamics *model = NULL;
        dm_error err;
        const char *path = in_folder(fuzz_folder(), "m.safetensors");
        fuzz_need(dm_dynamics_create(&configs[i], 1, &model, &err), &err);
        fuzz_need(dm_dynamics_save(model, path, &err), &err);
        dm_dynamics_destroy(model);
        fuzz_seed_file(i == 0 ? "reset-first" : "reset-last", path);
    }
    const dm_dynamics_config config = {1,    1, 1, DM_VIEW_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST,
                                       false};
    const dm_curve_rules rules = {.view = dm_view_rules_default()};
    dm_dynamics *model = NULL;
    dm_error err;
    const char *path = in_folder(fuzz_folder(), "m.safetensors");
    fuzz_need(dm_dynamics_create(&config, 1, &model, &err), &err);
    fuzz_need(dm_curve_rules_set(model, &rules, &err), &err);
    fuzz_need(dm_dynamics_save(model, path, &err), &err);
    dm_dynamics_destroy(model);
    fuzz_seed_file("curve", path);
}

/* What is accepted can be forecast, to finite losses. */
void fuzz_run_curve(const uint8_t *data, size_t size)
{
    static dm_dynamics *model;
    const dm_dynamics_config config = {2,    4, 2, DM_VIEW_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST,
                                       false};
    const dm_curve_rules rules = {.view = dm_view_rules_default(), .shrink = {1}, .high = {1}};
    dm_curve curve;
    dm_dynamics_curve_forecast *f = NULL;
    dm_error err = {0};
    if (model == NULL) {
        fuzz_need(dm_dynamics_create(&config, 1, &model, &err), &err);
        fuzz_need(dm_curve_rules_set(model, &rules, &err), &err);
    }
    dm_status status = dm_curve_read(fuzz_file(0, data, size), 2, &curve, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    fuzz_need(dm_dynamics_curve_forecast_create(model, curve.samples, curve.count, 60, &f, &err),
              &err);
    for (uint32_t t = 0; t < f->steps; t++) {
        fuzz_expect(isfinite(f->mean[t]) && isfinite(f->low[t]) && isfinite(f->high[t]),
                    "a forecast that is no number");
        for (int k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
            fuzz_expect(isfinite(f->baseline[k][t]), "a plain forecast that is no number");
    }
    dm_dynamics_curve_forecast_destroy(f);
    dm_curve_deinit(&curve);
}

void fuzz_seeds_curve(void)
{
    fuzz_seed_text("metrics", "{\"step\": 1, \"loss\": 2.5, \"norm\": 1, \"rate\": 1e-3}\n"
                              "{\"step\": 2, \"val_loss\": 2}\n{\"step\": 3, \"loss\": 2}\n");
    fuzz_seed_text("csv", "step,loss,norm,rate,first_mean,phase\n1,2.5,1,0.1,0,1\n2,2,1,0.1,0,1\n"
                          "7,1.5,nan,0.1,,1\n");
    fuzz_seed_text("numbers", "2.5\n2\n1.5\nnan\n1e30\n1e-30\n0\n-1\n2\n1.5\n1.2\n1.1\n1\n");
}

/* ---- IDX, gzip, CSV ---- */

void fuzz_run_idx(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"images", "labels", NULL};
    const char *folder = fuzz_folder_of(data, size, names);
    dm_images images = {0};
    dm_error err = {0};
    dm_status status = dm_images_load_idx(in_folder(folder, "images"), in_folder(folder, "labels"),
                                          10, &images, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    fuzz_touch(images.pixels, (size_t)images.count * images.height * images.width);
    for (uint32_t i = 0; i < images.count; i++)
        fuzz_expect(images.labels[i] < 10, "a label that is no class was accepted");
    dm_images_deinit(&images);
}

void fuzz_seeds_idx(void)
{
    static const char two[] = "=== images\n\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\2\1\2\3\4"
                              "\n=== labels\n\0\0\x08\x01\0\0\0\2\x09\0";
    fuzz_seed("two", two, sizeof two - 1);
}

static void gzip(dm_buffer *out, const char *text, size_t size)
{
    uint8_t bytes[512];
    z_stream z = {0};
    fuzz_expect(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK, "no deflate");
    z.next_in = (uint8_t *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    z.next_out = bytes;
    z.avail_out = sizeof bytes;
    fuzz_expect(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate did not end");
    dm_buffer_append(out, bytes, sizeof bytes - z.avail_out);
    deflateEnd(&z);
}

void fuzz_run_gzip(const uint8_t *data, size_t size)
{
    char *bytes = NULL;
    size_t count = 0, limit = (size_t)1 << 20;
    dm_error err = {0};
    dm_status status = dm_gz_read(fuzz_file(0, data, size), limit, &bytes, &count, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    fuzz_expect(count <= limit && bytes[count] == '\0', "more than the limit, or no end");
    fuzz_touch(bytes, count);
    free(bytes);
}

void fuzz_seeds_gzip(void)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text);
    gzip(&out, "the same the same the same", 26);
    fuzz_seed("text", out.data, out.size);
    dm_buffer_clear(&out);
    gzip(&out, long_text, sizeof long_text);
    fuzz_seed("one-letter", out.data, out.size);
    dm_buffer_deinit(&out);
}

void fuzz_run_csv(const uint8_t *data, size_t size)
{
    for (int header = DM_CSV_HEADER_AUTO; header <= DM_CSV_HEADER_YES; header++) {
        dm_csv csv = {0};
        dm_error err = {0};
        dm_status status = dm_csv_load(fuzz_file(0, data, size), (dm_csv_header)header, &csv, &err);
        fuzz_done(status, &err);
        if (status != DM_OK)
            continue;
        for (size_t i = 0; i < csv.rows * csv.columns; i++)
            fuzz_expect(isfinite(csv.values[i]), "a value that is no number was accepted");
        const char *name = csv.names;
        for (size_t i = 0; i < csv.columns && name != NULL; i++, name += strlen(name) + 1) {
            size_t column;
            fuzz_done(dm_csv_column(&csv, name, &column, &err), &err);
        }
        dm_csv_deinit(&csv);
    }
    dm_images images = {0};
    dm_error err = {0};
    dm_status status = dm_images_load_csv(fuzz_file(0, data, size), 2, 1, 16, 10, &images, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        fuzz_touch(images.pixels, (size_t)images.count * 2);
    dm_images_deinit(&images);
}

void fuzz_seeds_csv(void)
{
    fuzz_seed_text("header", "x,y,\"label\"\n1,2,3\n 4 ,\"5.5\",-6e2\r\n\n7,8,9\n");
    fuzz_seed_text("plain", "0,16,1\n8,4,9\n");
}

/* ---- Tokens ---- */

static void run_tokens(const uint8_t *data, size_t size)
{
    dm_tokens tokens = {0};
    dm_error err = {0};
    dm_status status = dm_tokens_load(fuzz_file(0, data, size), &tokens, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    for (size_t i = 0; i < tokens.count; i++)
        fuzz_expect(tokens.data[i] < tokens.vocabulary, "a token outside the vocabulary");
    dm_tokens_deinit(&tokens);
}

void fuzz_run_tokens(const uint8_t *data, size_t size)
{
    run_tokens(data, size);
    if (size < 32)
        return;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "out of memory");
    memcpy(copy, data, size);
    uint64_t hash = dm_hash64(copy + 32, size - 32);
    memcpy(copy + 24, &hash, 8);
    run_tokens(copy, size);
    free(copy);
}

void fuzz_seeds_tokens(void)
{
    static uint16_t values[] = {0, 1, 299, 7};
    const dm_tokens tokens = {values, 4, 300};
    dm_error err;
    const char *path = in_folder(fuzz_folder(), "t.bin");
    fuzz_need(dm_tokens_save(&tokens, path, &err), &err);
    fuzz_seed_file("ours", path);
    static uint8_t llmc[1024 + 8] = {0xD8, 0xF6, 0x34, 0x01, 1, 0, 0, 0, 4};
    memcpy(llmc + 1024, values, sizeof values);
    fuzz_seed("llmc", llmc, sizeof llmc);
}

/* ---- Byte-pair encoding ---- */

void fuzz_run_bpe(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"vocab.bpe", "encoder.json", "text", NULL};
    const char *folder = fuzz_folder_of(data, size, names);
    dm_bpe *bpe = NULL;
    dm_error err = {0};
    char *merges = NULL, *text = NULL;
    size_t merges_size = 0, text_size = 0;
    if (dm_file_exists(in_folder(folder, "encoder.json"))) {
        fuzz_done(dm_bpe_load(folder, &bpe, &err), &err);
        dm_bpe_destroy(bpe);
        bpe = NULL;
    }
    dm_status status = dm_file_read(in_folder(folder, "vocab.bpe"), 0, &merges, &merges_size, &err);
    if (status == DM_OK) {
        status = dm_bpe_create(merges, merges_size, "vocab.bpe", &bpe, &err);
        fuzz_done(status, &err);
    }
    if (status == DM_OK &&
        dm_file_read(in_folder(folder, "text"), 0, &text, &text_size, NULL) == DM_OK) {
        dm_buffer tokens = DM_BUFFER_EMPTY, back = DM_BUFFER_EMPTY;
        fuzz_need(dm_bpe_encode(bpe, text, text_size, &tokens, &err), &err);
        fuzz_need(dm_bpe_decode(bpe, (const uint16_t *)(const void *)tokens.data, tokens.size / 2,
                                &back, &err),
                  &err);
        fuzz_expect(back.size == text_size &&
                        (text_size == 0 || memcmp(back.data, text, text_size) == 0),
                    "a text does not decode to itself");
        dm_buffer_deinit(&tokens);
        dm_buffer_deinit(&back);
    }
    dm_bpe_destroy(bpe);
    free(merges);
    free(text);
}

void fuzz_seeds_bpe(void)
{
    fuzz_seed_text("merges", "=== vocab.bpe\n#version: 0.2\nt h\nth e\n\xC4\xA0 the\n"
                             "\n=== text\nthe other the then\n 's 12\xC3\xA9\xFF!");
}

/* ---- Metrics ---- */

void fuzz_run_metrics(const uint8_t *data, size_t size)
{
    const char *path = in_folder(fuzz_folder(), "metrics.jsonl");
    dm_error err = {0};
    fuzz_need(dm_file_write(path, data, size, &err), &err);
    dm_metrics *metrics = NULL;
    dm_status status = dm_metrics_open(path, 2, &metrics, &err);
    fuzz_done(status, &err);
    if (status != DM_OK)
        return;
    const dm_metric value = {"loss", 0.5};
    fuzz_need(dm_metrics_write(metrics, 3, &value, 1, &err), &err);
    dm_metrics_close(metrics);
    /* What is left is a file of metrics, whole. */
    metrics = NULL;
    fuzz_need(dm_metrics_open(path, 3, &metrics, &err), &err);
    dm_metrics_close(metrics);
}

void fuzz_seeds_metrics(void)
{
    fuzz_seed_text("three", "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":null}\n"
                            "{\"step\":3,\"val_loss\":1e-3}\n{\"step\":4,\"lo");
}

/* ---- Configurations and states of training ---- */

void fuzz_run_train_config(const uint8_t *data, size_t size)
{
    for (int task = 0; dm_train_task_names[task] != NULL; task++) {
        dm_train_config config, again;
        dm_error err = {0};
        fuzz_need(dm_train_config_preset((dm_train_task)task, NULL, &config, &err), &err);
        fuzz_need(dm_train_config_preset((dm_train_task)task, NULL, &again, &err), &err);
        dm_status status = dm_train_config_file(&config, fuzz_file(0, data, size), &err);
        fuzz_done(status, &err);
        if (status != DM_OK)
            continue;
        /* Written and read again it is the same. */
        dm_buffer first = DM_BUFFER_EMPTY, second = DM_BUFFER_EMPTY;
        for (int i = 0; i < 2; i++) {
            dm_json json;
            dm_json_init(&json, i == 0 ? &first : &second, DM_JSON_COMPACT);
            dm_json_begin_object(&json, NULL);
            dm_train_config_write(i == 0 ? &config : &again, &json);
            dm_json_end_object(&json);
            dm_json_finish(&json);
            if (i == 0)
                fuzz_need(dm_train_config_file(&again, fuzz_file(1, first.data, first.size), &err),
                          &err);
        }
        fuzz_expect(strcmp(dm_buffer_text(&first), dm_buffer_text(&second)) == 0,
                    "a configuration changes when it is written");
        dm_buffer_deinit(&first);
        dm_buffer_deinit(&second);
    }
}

void fuzz_seeds_train_config(void)
{
    for (int task = 0; dm_train_task_names[task] != NULL; task++) {
        dm_train_config config;
        dm_error err;
        dm_json json;
        dm_buffer out = DM_BUFFER_EMPTY;
        fuzz_need(dm_train_config_preset((dm_train_task)task, NULL, &config, &err), &err);
        dm_json_init(&json, &out, DM_JSON_COMPACT);
        dm_json_begin_object(&json, NULL);
        dm_train_config_write(&config, &json);
        dm_json_end_object(&json);
        dm_json_finish(&json);
        fuzz_seed(dm_train_task_names[task], out.data, out.size);
        dm_buffer_deinit(&out);
    }
}

static void feed(dm_dynamics_encoder *encoder, int count)
{
    for (int i = 0; i < count; i++) {
        const dm_dynamics_sample sample = {.loss = 2.0f / (float)(i + 1), .gradient_norm = 1};
        float features[DM_DYNAMICS_ENCODER_FEATURES];
        dm_dynamics_encoder_update(encoder, &sample, features);
        fuzz_touch(features, sizeof features);
    }
}

/* The input over the state of an encoder that has seen some samples. */
void fuzz_run_encoder_state(const uint8_t *data, size_t size)
{
    dm_dynamics_encoder *encoder = NULL;
    dm_error err = {0};
    fuzz_need(dm_dynamics_encoder_create(16, 8, &encoder, &err), &err);
    feed(encoder, 20);
    fuzz_done(dm_dynamics_encoder_state_set(encoder, data, size, &err), &err);
    size_t whole = dm_dynamics_encoder_state_size(encoder);
    uint8_t *bytes = malloc(whole);
    fuzz_expect(bytes != NULL, "out of memory");
    dm_dynamics_encoder_state_get(encoder, bytes);
    memcpy(bytes, data, size < whole ? size : whole);
    dm_status status = dm_dynamics_encoder_state_set(encoder, bytes, whole, &err);
    fuzz_done(status, &err);
    feed(encoder, 20);
    free(bytes);
    dm_dynamics_encoder_destroy(encoder);
}

void fuzz_seeds_encoder_state(void)
{
    dm_dynamics_encoder *encoder = NULL;
    dm_error err;
    fuzz_need(dm_dynamics_encoder_create(16, 8, &encoder, &err), &err);
    feed(encoder, 20);
    size_t whole = dm_dynamics_encoder_state_size(encoder);
    uint8_t *bytes = malloc(whole);
    fuzz_expect(bytes != NULL, "out of memory");
    dm_dynamics_encoder_state_get(encoder, bytes);
    fuzz_seed("windows-16-8", bytes, whole);
    free(bytes);
    dm_dynamics_encoder_destroy(encoder);
}
