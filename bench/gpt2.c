/* SPDX-License-Identifier: MIT */
/* gpt2.c - dm-bench-gpt2: a GPT-2 trains on a token file; its losses, its speed, the time of each
 * kernel. bench/gpt2_peers.py puts PyTorch and llm.c beside it.
 *
 *     dm-bench-gpt2 --tokens FILE --batch 64 --steps 20 --precision bf16 --json OUT.json
 *
 * Batch i is the file's next batch x time tokens, from the beginning again at its end. */
#include "base/file.h"
#include "base/philox.h"
#include "base/safetensors.h"
#include "base/thread.h"
#include "nn/cuda/internal.h"
#include "nn/model.h"
#include "train/data/tokens.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *device, *precision, *tokens, *json, *read_weights, *write_weights;
    long layers, heads, width, vocabulary, time, batch, microbatches, steps, every, seed, warmup,
        profile, products;
    double rate, decay, clip;
} options;

static int usage(const char *wrong)
{
    fprintf(stderr,
            "dm-bench-gpt2: %s\n"
            "usage: dm-bench-gpt2 --tokens FILE [--device cuda|cpu] [--precision bf16|f32] "
            "[--layers 12] [--heads 12]\n"
            "  [--width 768] [--vocabulary 50257] [--time 1024] [--batch 64] [--microbatches 1] "
            "[--steps 20] [--every 1]\n"
            "  [--rate 3e-4] [--warmup 0] [--decay 0.1] [--clip 1] [--seed 1] [--profile 1] "
            "[--products 1] [--json FILE]\n"
            "  [--read-weights FILE] [--write-weights FILE]\n"
            "every: steps between two looks at the loss; each look is a measurement of speed\n",
            wrong);
    return 2;
}

static bool parse(options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        const char **text;
        long *whole;
        double *number;
    } rows[] = {{"--device", &o->device, 0, 0},
                {"--precision", &o->precision, 0, 0},
                {"--tokens", &o->tokens, 0, 0},
                {"--json", &o->json, 0, 0},
                {"--read-weights", &o->read_weights, 0, 0},
                {"--write-weights", &o->write_weights, 0, 0},
                {"--layers", 0, &o->layers, 0},
                {"--heads", 0, &o->heads, 0},
                {"--width", 0, &o->width, 0},
                {"--vocabulary", 0, &o->vocabulary, 0},
                {"--time", 0, &o->time, 0},
                {"--batch", 0, &o->batch, 0},
                {"--microbatches", 0, &o->microbatches, 0},
                {"--steps", 0, &o->steps, 0},
                {"--every", 0, &o->every, 0},
                {"--seed", 0, &o->seed, 0},
                {"--warmup", 0, &o->warmup, 0},
                {"--profile", 0, &o->profile, 0},
                {"--products", 0, &o->products, 0},
                {"--rate", 0, 0, &o->rate},
                {"--decay", 0, 0, &o->decay},
                {"--clip", 0, 0, &o->clip}};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof rows / sizeof rows[0] && strcmp(rows[k].name, argv[i]) != 0)
            k++;
        if (k == sizeof rows / sizeof rows[0] || i + 1 == argc)
            return false;
        char *end = argv[i + 1] + strlen(argv[i + 1]);
        if (rows[k].text)
            *rows[k].text = argv[i + 1];
        else if (rows[k].whole)
            *rows[k].whole = strtol(argv[i + 1], &end, 10);
        else
            *rows[k].number = strtod(argv[i + 1], &end);
        if (*end != '\0' || (rows[k].whole && *rows[k].whole < 0))
            return false;
    }
    return o->tokens && o->layers > 0 && o->heads > 0 && o->batch > 0 && o->time > 0 &&
           o->steps > 0 && o->every > 0;
}

/* 9 layers a block: norm, qkv, attention, projection, sum; norm, up, down, sum. */
static dm_nn_layer *make_layers(const options *o, size_t *count)
{
    dm_nn_layer *layers = calloc((size_t)o->layers * 9 + 3, sizeof *layers);
    uint32_t C = (uint32_t)o->width, n = 0, stream = 0;
    float init = 0.02f, small = 0.02f / sqrtf(2 * (float)o->layers);
    if (!layers)
        return NULL;
    layers[n++] = (dm_nn_layer){
        .kind = DM_NN_LAYER_EMBED, .size = (uint32_t)o->vocabulary, .width = C, .init = init};
    for (long i = 0; i < o->layers; i++) {
        const dm_nn_layer block[9] = {
            {.kind = DM_NN_LAYER_NORM},
            {.kind = DM_NN_LAYER_LINEAR, .size = 3 * C, .init = init},
            {.kind = DM_NN_LAYER_ATTENTION, .size = (uint32_t)o->heads},
            {.kind = DM_NN_LAYER_LINEAR, .size = C, .init = small},
            {.kind = DM_NN_LAYER_RESIDUAL, .from = stream},
            {.kind = DM_NN_LAYER_NORM},
            {.kind = DM_NN_LAYER_LINEAR, .size = 4 * C, .init = init, .activation = DM_NN_GELU},
            {.kind = DM_NN_LAYER_LINEAR, .size = C, .init = small},
            {.kind = DM_NN_LAYER_RESIDUAL, .from = n + 4}};
        memcpy(layers + n, block, sizeof block);
        n += 9;
        stream = n - 1;
    }
    layers[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_NORM};
    layers[n++] =
        (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = (uint32_t)o->vocabulary, .tied = true};
    *count = n;
    return layers;
}

/* ---- Weights ---- */

static dm_status read_weights(dm_nn_model *model, const char *path, dm_error *err)
{
    dm_safetensors *file = NULL;
    dm_status status = dm_safetensors_load(path, &file, err);
    for (size_t k = 0; k < dm_nn_model_parameter_count(model) && status == DM_OK; k++) {
        const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
        float *values = malloc(p->count * sizeof *values);
        status = values ? dm_safetensors_floats(file, p->name, values, p->count, err)
                        : dm_fail(err, DM_ENOMEM, "no memory for %s", p->name);
        if (status == DM_OK)
            status = dm_nn_model_write(model, k, DM_NN_VALUE, values, err);
        free(values);
    }
    dm_safetensors_close(file);
    return status;
}

static dm_status write_weights(dm_nn_model *model, const char *path, dm_error *err)
{
    size_t count = dm_nn_model_parameter_count(model);
    dm_safetensor *tensors = calloc(count, sizeof *tensors);
    dm_status status = tensors ? DM_OK : dm_fail(err, DM_ENOMEM, "no memory");
    for (size_t k = 0; k < count && status == DM_OK; k++) {
        const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
        float *values = malloc(p->count * sizeof *values);
        tensors[k] = (dm_safetensor){.name = p->name, .type = DM_SAFETENSORS_F32, .data = values};
        for (int d = 0; d < 4 && p->shape[d] != 0; d++)
            tensors[k].shape[tensors[k].dimensions++] = p->shape[d];
        status = values ? dm_nn_model_read(model, k, DM_NN_VALUE, values, err)
                        : dm_fail(err, DM_ENOMEM, "no memory for %s", p->name);
    }
    if (status == DM_OK)
        status = dm_safetensors_save(path, tensors, count, NULL, err);
    for (size_t k = 0; tensors && k < count; k++)
        free((void *)tensors[k].data);
    free(tensors);
    return status;
}

/* ---- Training ---- */

typedef struct batches {
    dm_tokens tokens;
    size_t size, at;
    int32_t *x, *y;
} batches;

static void next_batch(batches *b)
{
    if (b->at + b->size + 1 > b->tokens.count)
        b->at = 0;
    for (size_t i = 0; i < b->size; i++) {
        b->x[i] = b->tokens.data[b->at + i];
        b->y[i] = b->tokens.data[b->at + i + 1];
    }
    b->at += b->size;
}

static dm_status train(const options *o, dm_nn_model *model, batches *b, json_t *report,
                       dm_error *err)
{
    json_t *losses = json_array(), *norms = json_array(), *times = json_array();
    json_object_set_new(report, "losses", losses);
    json_object_set_new(report, "norms", norms);
    json_object_set_new(report, "ms", times);
    dm_nn_schedule schedule = {.rate = (float)o->rate, .warmup = (uint64_t)o->warmup};
    dm_status status = DM_OK;
    uint64_t began = dm_time_ns();
    for (long i = 0; i < o->steps && status == DM_OK; i++) {
        bool look = (i + 1) % o->every == 0;
        float loss = 0, norm = 0;
        next_batch(b);
        dm_nn_model_set_rate(model, dm_nn_schedule_rate(&schedule, (uint64_t)i));
        status = dm_nn_model_step(model, b->x, b->y, look ? &loss : NULL, err);
        if (!look || status != DM_OK)
            continue;
        uint64_t now = dm_time_ns();
        status = dm_nn_model_loss(model, NULL, &norm, err);
        json_array_append_new(losses, json_real((double)loss));
        json_array_append_new(norms, json_real((double)norm));
        json_array_append_new(times, json_real((double)(now - began) * 1e-6 / (double)o->every));
        printf("step %ld: loss %.6f, norm %.4f, %.3f ms a step\n", i + 1, (double)loss,
               (double)norm, (double)(now - began) * 1e-6 / (double)o->every);
        fflush(stdout);
        began = dm_time_ns();
    }
    return status;
}

/* One step call by call, with events around every kernel. */
static dm_status profile(dm_nn_model *model, batches *b, json_t *report, dm_error *err)
{
    enum { ROWS = 256 };
    static dm_nn_profile_row rows[ROWS];
    size_t count = 0;
    double total = 0;
    dm_status status = dm_nn_profile_start(&model->exec, 4096, err);
    next_batch(b);
    if (status == DM_OK) {
        model->call_by_call = true;
        status = dm_nn_model_step(model, b->x, b->y, NULL, err);
        model->call_by_call = false;
    }
    if (status == DM_OK)
        status = dm_nn_profile_stop(&model->exec, rows, ROWS, &count, err);
    json_t *all = json_array();
    json_object_set_new(report, "kernels", all);
    printf("%-52s %6s %9s %9s %9s\n", "kernel", "calls", "ms", "TFLOP/s", "GB/s");
    for (size_t i = 0; i < count; i++) {
        const dm_nn_profile_row *r = &rows[i];
        total += r->ms;
        printf("%-52s %6u %9.3f %9.1f %9.1f\n", r->name, r->calls, r->ms, r->flops / r->ms * 1e-9,
               r->bytes / r->ms * 1e-6);
        json_array_append_new(all, json_pack("{s:s, s:i, s:f, s:f, s:f}", "name", r->name, "calls",
                                             (int)r->calls, "ms", r->ms, "flops", r->flops, "bytes",
                                             r->bytes));
    }
    printf("%-52s %6s %9.3f\n", "all", "", total);
    return status;
}

/* A buffer of random bfloat16 numbers between -1 and 1, the same 32 MiB again and again. */
static dm_status random_buffer(dm_device *device, size_t size, dm_device_buffer **out,
                               dm_error *err)
{
    enum { PIECE = 32 << 20 };
    dm_stream *stream = dm_device_stream(device);
    uint16_t *piece = malloc(PIECE);
    dm_status status = piece ? dm_device_buffer_create(device, size, out, err)
                             : dm_fail(err, DM_ENOMEM, "no memory");
    for (size_t i = 0; piece && i < PIECE / 2; i++) {
        uint32_t r = dm_random4(7, 0, i).v[0];
        piece[i] = (uint16_t)((r & 0x807F) | (0x3F00 - (r >> 16 & 3) * 0x80));
    }
    for (size_t at = 0; at < size && status == DM_OK; at += PIECE)
        status =
            dm_stream_upload(stream, *out, at, piece, size - at < PIECE ? size - at : PIECE, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    free(piece);
    return status;
}

/* Each product of a step by each algorithm that the library proposes; the gradients also with the sums
 * that the gradient of a bias is. */
static dm_status products(const options *o, dm_nn_model *model, json_t *report, dm_error *err)
{
    enum { ALGORITHMS = 24 };
    const dm_nn_cuda *state = model->exec.state;
    uint32_t N = (uint32_t)(o->batch * o->time), C = (uint32_t)o->width,
             V = ((uint32_t)o->vocabulary + 127) / 128 * 128;
    const uint32_t linear[5][3] = {
        {3 * C, C, 0}, {C, C, 0}, {4 * C, C, 1}, {C, 4 * C, 2}, {V, C, 3}}; /* outputs, inputs */
    dm_device_buffer *x = NULL, *y = NULL, *aux = NULL, *w = NULL;
    size_t wide = (size_t)N * (V > 4 * C ? V : 4 * C) * 2;
    static const char *const names[5] = {"y", "dx", "dw", "dx + db", "dw + db"};
    json_t *all = json_array();
    json_object_set_new(report, "algorithms", all);
    if (!state->products)
        return dm_fail(err, DM_EUNAVAILABLE, "there is no cuBLASLt");
    dm_status status = random_buffer(model->device, wide, &x, err);
    if (status == DM_OK)
        status = random_buffer(model->device, wide, &y, err);
    if (status == DM_OK)
        status = random_buffer(model->device, (size_t)N * 4 * C * 2, &aux, err);
    if (status == DM_OK)
        status = random_buffer(model->device, (size_t)V * C * 4, &w, err);
    for (int j = 0; j < 25 && status == DM_OK; j++) {
        /* 0 y, 1 dx, 2 dw, 3 dx with sums, 4 dw with sums */
        uint32_t O = linear[j / 5][0], K = linear[j / 5][1], kind = linear[j / 5][2];
        int what = j % 5 < 3 ? j % 5 : j % 5 - 2;
        bool with_sums = j % 5 > 2;
        void *px = dm_device_buffer_address(x), *py = dm_device_buffer_address(y),
             *pw = dm_device_buffer_address(w), *pa = dm_device_buffer_address(aux);
        dm_cublaslt_product p = {.bf16 = true, .lda = K, .ldb = K};
        if (with_sums && (kind == 3 || (what == 1 && kind != 2)))
            continue;
        if (what == 0) { /* y = x w^T */
            p.transpose_a = true, p.m = O, p.n = N, p.k = K, p.a = pw, p.b = px, p.d = py;
            p.bias = kind == 3 ? NULL : pa;
            p.gelu_aux = kind == 1 ? pa : NULL;
        } else if (what == 1) { /* dx = dy w */
            p.m = K, p.n = N, p.k = O, p.ldb = O, p.a = pw, p.b = px, p.d = py;
            p.dgelu_aux = kind == 2 ? pa : NULL;
        } else { /* dw += dy^T x */
            p.transpose_b = true, p.m = K, p.n = O, p.k = N, p.ldb = O, p.a = py, p.b = px;
            p.d = pw, p.add = p.d_float = true;
        }
        p.sums = with_sums ? pa : NULL;
        double ms[ALGORITHMS];
        int count = 0, best = 0;
        dm_error refused = {0};
        status =
            dm_cublaslt_candidates(state->products, model->exec.stream, &p, model->exec.scratch, ms,
                                   ALGORITHMS, &count, with_sums ? &refused : err);
        if (status == DM_EUNSUPPORTED && with_sums)
            status = DM_OK;
        json_t *times = json_array();
        for (int k = 0; k < count; k++) {
            best = ms[k] > 0 && (ms[k] < ms[best] || ms[best] <= 0) ? k : best;
            json_array_append_new(times, json_real(ms[k]));
        }
        if (count > 0)
            printf("%5u x %5u x %5u %-7s: first %.4f ms, %.0f TFLOP/s; best is number %d of %d: "
                   "%.4f ms, %.0f TFLOP/s\n",
                   p.m, p.n, p.k, names[j % 5], ms[0], 2e-9 * p.m * p.n * p.k / ms[0], best, count,
                   ms[best], 2e-9 * p.m * p.n * p.k / ms[best]);
        json_array_append_new(all, json_pack("{s:i, s:i, s:i, s:o}", "m", (int)p.m, "n", (int)p.n,
                                             "k", (int)p.k, "ms", times));
    }
    dm_device_buffer_destroy(x);
    dm_device_buffer_destroy(y);
    dm_device_buffer_destroy(aux);
    dm_device_buffer_destroy(w);
    return status;
}

static dm_status run(const options *o, json_t *report, dm_error *err)
{
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    size_t layer_count = 0;
    dm_nn_layer *layers = make_layers(o, &layer_count);
    batches b = {.size = (size_t)(o->batch * o->time)};
    b.x = calloc(b.size, sizeof *b.x);
    b.y = calloc(b.size, sizeof *b.y);
    dm_status status = dm_tokens_load(o->tokens, &b.tokens, err);
    if (status == DM_OK && b.tokens.count < b.size + 1)
        status = dm_fail(err, DM_EINVAL, "%s: %zu tokens are less than a batch of %zu", o->tokens,
                         b.tokens.count, b.size);
    if (status == DM_OK)
        status = dm_device_open(o->device, &device, err);
    dm_nn_model_desc desc = {.layers = layers,
                             .layer_count = layer_count,
                             .input = {(uint32_t)o->time},
                             .batch = (uint32_t)o->batch,
                             .microbatches = (uint32_t)o->microbatches,
                             .loss = DM_NN_LOSS_SOFTMAX,
                             .seed = (uint64_t)o->seed,
                             .precision =
                                 strcmp(o->precision, "bf16") == 0 ? DM_NN_BFLOAT16 : DM_NN_FLOAT32,
                             .optimiser = {.kind = DM_NN_ADAMW,
                                           .rate = (float)o->rate,
                                           .beta1 = 0.9f,
                                           .beta2 = 0.95f,
                                           .decay = (float)o->decay,
                                           .clip = (float)o->clip}};
    dm_nn_memory memory = {0};
    uint64_t began = dm_time_ns();
    if (status == DM_OK)
        status = dm_nn_model_memory(device, &desc, &memory, err);
    if (status == DM_OK)
        status = dm_nn_model_create(device, &desc, &model, err);
    if (status == DM_OK && o->read_weights)
        status = read_weights(model, o->read_weights, err);
    if (status == DM_OK && o->write_weights)
        status = write_weights(model, o->write_weights, err);
    if (status == DM_OK) {
        printf("%zu parameters on %s, %s; %.2f GiB of activations, %.2f GiB in all; made in %.1f "
               "s\n",
               dm_nn_model_size(model), dm_device_get_properties(device)->name,
               dm_nn_model_products(model), (double)memory.activations / (1 << 30),
               (double)memory.total / (1 << 30), (double)(dm_time_ns() - began) * 1e-9);
        json_object_set_new(report, "parameters",
                            json_integer((json_int_t)dm_nn_model_size(model)));
        json_object_set_new(report, "products", json_string(dm_nn_model_products(model)));
        json_object_set_new(report, "bytes", json_integer((json_int_t)memory.total));
        status = train(o, model, &b, report, err);
    }
    if (status == DM_OK && o->profile && model->exec.stream)
        status = profile(model, &b, report, err);
    if (status == DM_OK && o->products && model->exec.stream)
        status = products(o, model, report, err);
    dm_nn_model_destroy(model);
    dm_device_close(device);
    dm_tokens_deinit(&b.tokens);
    free(b.x);
    free(b.y);
    free(layers);
    return status;
}

int main(int argc, char **argv)
{
    options o = {.device = "cuda",
                 .precision = "bf16",
                 .layers = 12,
                 .heads = 12,
                 .width = 768,
                 .vocabulary = 50257,
                 .time = 1024,
                 .batch = 64,
                 .microbatches = 1,
                 .steps = 20,
                 .every = 1,
                 .seed = 1,
                 .rate = 3e-4,
                 .decay = 0.1,
                 .clip = 1};
    if (!parse(&o, argc, argv))
        return usage("wrong options");
    json_t *report = json_object();
    dm_error err = {0};
    dm_status status = run(&o, report, &err);
    if (status == DM_OK && o.json && json_dump_file(report, o.json, JSON_INDENT(1)) != 0)
        status = dm_fail(&err, DM_EIO, "%s cannot be written", o.json);
    json_decref(report);
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-gpt2: %s\n", err.message);
    return status == DM_OK ? 0 : 1;
}
