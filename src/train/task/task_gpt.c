/* SPDX-License-Identifier: MIT */
/* task_gpt.c - GPT-2 of any depth and width, and the text it learns.
 *
 *     embed ─► [ norm ─► qkv ─► attention ─► projection ─(+)─► norm ─► 4C, GELU ─► C ─(+)─ ] x L
 *           ─► norm ─► logits, by the embedding's weights
 *
 * An epoch goes through the text once in windows of `context` tokens, in a shuffled order; where
 * the first window begins is drawn anew for each epoch. */
#include "base/file.h"
#include "train/data/gz.h"
#include "train/data/order.h"
#include "train/data/prepare.h"
#include "train/data/tokens.h"
#include "train/task/gpt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define TEXT_MAX ((size_t)4 << 30)
#define SHIFT_STREAM UINT64_C(0x7368696674) /* of random numbers: "shift" */

enum { FIRST = 1, BLOCK = 9 }; /* layers before the blocks, layers of a block */

typedef struct text_data {
    dm_tokens tokens;
    size_t train, test; /* how many are trained on; how many come after them to measure with */
    size_t held;        /* where the windows for checks of proposals begin, when there are some */
} text_data;

/* ---- The model ---- */

static void put_layer(dm_task *task, size_t at, dm_nn_layer layer, const char *name)
{
    task->layers[at] = layer;
    snprintf(task->names[at], DM_TASK_NAME_MAX, "transformer.%.50s", name);
}

static void put_block(dm_task *task, unsigned block)
{
    const dm_train_config *c = &task->config;
    uint32_t C = (uint32_t)c->width, at = FIRST + BLOCK * block;
    float init = 0.02f, last = 0.02f / sqrtf(2 * (float)c->layers);
    const struct {
        dm_nn_layer layer;
        const char *name;
    } rows[BLOCK] = {
        {{.kind = DM_NN_LAYER_NORM}, "ln_1"},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 3 * C, .init = init}, "attn.c_attn"},
        {{.kind = DM_NN_LAYER_ATTENTION, .size = (uint32_t)c->heads}, "attn"},
        {{.kind = DM_NN_LAYER_LINEAR, .size = C, .init = last}, "attn.c_proj"},
        {{.kind = DM_NN_LAYER_RESIDUAL, .from = at - 1}, "attn.residual"},
        {{.kind = DM_NN_LAYER_NORM}, "ln_2"},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 4 * C, .activation = DM_NN_GELU, .init = init},
         "mlp.c_fc"},
        {{.kind = DM_NN_LAYER_LINEAR, .size = C, .init = last}, "mlp.c_proj"},
        {{.kind = DM_NN_LAYER_RESIDUAL, .from = at + 4}, "mlp.residual"},
    };
    for (unsigned i = 0; i < BLOCK; i++) {
        char name[DM_TASK_NAME_MAX];
        snprintf(name, sizeof name, "h.%u.%s", block, rows[i].name);
        put_layer(task, at + i, rows[i].layer, name);
    }
}

static dm_status describe(dm_task *task, dm_error *err)
{
    const dm_train_config *c = &task->config;
    uint32_t C = (uint32_t)c->width;
    if (c->width % c->heads != 0)
        return dm_fail(err, DM_EINVAL, "gpt: %u heads do not divide a width of %u",
                       (unsigned)c->heads, C);
    dm_status status = dm_task_take_layers(task, FIRST + BLOCK * c->layers + 2, err);
    if (status != DM_OK)
        return status;
    put_layer(task, 0,
              (dm_nn_layer){
                  .kind = DM_NN_LAYER_EMBED, .size = task->vocabulary, .width = C, .init = 0.02f},
              "wte");
    for (unsigned b = 0; b < c->layers; b++)
        put_block(task, b);
    put_layer(task, task->layer_count - 2, (dm_nn_layer){.kind = DM_NN_LAYER_NORM}, "ln_f");
    put_layer(task, task->layer_count - 1,
              (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = task->vocabulary, .tied = true},
              "lm_head");
    task->position_name = "transformer.wpe";
    task->transposed = true;
    task->input[0] = (uint32_t)c->context;
    task->loss = DM_NN_LOSS_SOFTMAX;
    task->input_size = task->target_size = c->context * sizeof(int32_t);
    task->units = c->context;
    return DM_OK;
}

/* ---- Text and tokens ---- */

dm_status dm_gpt_bpe(dm_bpe **out, dm_error *err)
{
    char cache[DM_PATH_MAX], folder[DM_PATH_MAX], file[DM_PATH_MAX];
    dm_status status = dm_data_folder(cache, err);
    if (status == DM_OK)
        status = dm_path_join(folder, cache, "gpt2", err);
    if (status == DM_OK)
        status = dm_path_join(file, folder, "vocab.bpe", err);
    if (status == DM_OK && !dm_file_exists(file))
        status = dm_fail(err, DM_ENOENT,
                         "gpt: GPT-2's vocabulary is not here; dotmatrix train data --set gpt2 "
                         "brings it");
    return status == DM_OK ? dm_bpe_load(folder, out, err) : status;
}

dm_status dm_gpt_encode(const dm_task *task, dm_bpe *bpe, const char *text, size_t size,
                        dm_buffer *tokens, dm_error *err)
{
    if (bpe != NULL)
        return dm_bpe_encode(bpe, text, size, tokens, err);
    for (size_t i = 0; i < size; i++) {
        uint16_t token = 0;
        while (token < task->alphabet_size && task->alphabet[token] != (uint8_t)text[i])
            token++;
        if (token == task->alphabet_size)
            return dm_fail(err, DM_EINVAL,
                           "gpt: byte %zu of the text (0x%02x) is none of the %u characters that "
                           "the model knows",
                           i, (uint8_t)text[i], task->alphabet_size);
        dm_buffer_append(tokens, &token, sizeof token);
    }
    return dm_buffer_check(tokens, err);
}

dm_status dm_gpt_decode(const dm_task *task, const dm_bpe *bpe, const uint16_t *tokens,
                        size_t count, dm_buffer *text, dm_error *err)
{
    if (bpe != NULL)
        return dm_bpe_decode(bpe, tokens, count, text, err);
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] >= task->alphabet_size)
            return dm_fail(err, DM_EINVAL, "gpt: token %u is no character", tokens[i]);
        dm_buffer_putc(text, (char)task->alphabet[tokens[i]]);
    }
    return dm_buffer_check(text, err);
}

/* ---- Loading ---- */

static bool is_token_file(const char *path)
{
    static const unsigned char llmc[4] = {0x88, 0xd8, 0x34, 0x01}; /* 20240520 */
    unsigned char first[8] = {0};
    FILE *file = fopen(path, "rbe");
    size_t got = file != NULL ? fread(first, 1, sizeof first, file) : 0;
    if (file != NULL)
        fclose(file);
    return (got == 8 && memcmp(first, "DMTOKEN1", 8) == 0) ||
           (got >= 4 && memcmp(first, llmc, 4) == 0);
}

/* Append tokens. Their number was checked when they were read. */
static dm_status append_tokens(dm_tokens *to, const uint16_t *from, size_t count, dm_error *err)
{
    uint16_t *data = realloc(to->data, (to->count + count) * sizeof *data);
    if (data == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for %zu tokens", to->count + count);
    memcpy(data + to->count, from, count * sizeof *data);
    to->data = data;
    to->count += count;
    return DM_OK;
}

static dm_status load_token_files(dm_task *task, const char *const *paths, size_t count,
                                  size_t *ends, dm_error *err)
{
    text_data *data = task->data;
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        dm_tokens one = {0};
        status = dm_tokens_load(paths[i], &one, err);
        if (status == DM_OK && i > 0 && one.vocabulary != data->tokens.vocabulary)
            status = dm_fail(err, DM_EFORMAT, "%s has a vocabulary of %" PRIu32 ", %s of %" PRIu32,
                             paths[0], data->tokens.vocabulary, paths[i], one.vocabulary);
        if (status == DM_OK)
            status = append_tokens(&data->tokens, one.data, one.count, err);
        data->tokens.vocabulary = one.vocabulary;
        ends[i] = data->tokens.count;
        dm_tokens_deinit(&one);
    }
    return status;
}

static dm_status load_characters(dm_task *task, const char *text, size_t size, dm_error *err)
{
    text_data *data = task->data;
    dm_alphabet alphabet;
    dm_status status = dm_tokens_from_text(text, size, &data->tokens, &alphabet, err);
    if (status != DM_OK)
        return status;
    task->alphabet_size = alphabet.count;
    memcpy(task->alphabet, alphabet.byte, sizeof task->alphabet);
    return DM_OK;
}

static dm_status load_texts(dm_task *task, const char *const *paths, size_t count, size_t *ends,
                            dm_error *err)
{
    text_data *data = task->data;
    bool characters = task->config.tokenizer == DM_TOKENIZER_CHARACTERS;
    dm_buffer all = DM_BUFFER_EMPTY, tokens = DM_BUFFER_EMPTY;
    dm_bpe *bpe = NULL;
    dm_status status = characters ? DM_OK : dm_gpt_bpe(&bpe, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        char *text = NULL;
        size_t size = 0;
        status = dm_gz_read(paths[i], TEXT_MAX, &text, &size, err);
        if (status == DM_OK && size == 0)
            status = dm_fail(err, DM_EFORMAT, "%s: an empty text", paths[i]);
        if (status == DM_OK && characters)
            dm_buffer_append(&all, text, size);
        else if (status == DM_OK)
            status = dm_bpe_encode(bpe, text, size, &tokens, err);
        ends[i] = characters ? all.size : tokens.size / sizeof(uint16_t);
        free(text);
    }
    if (status == DM_OK)
        status = dm_buffer_check(&all, err);
    if (status == DM_OK && characters)
        status = load_characters(task, all.data, all.size, err);
    if (status == DM_OK && !characters) {
        status = append_tokens(&data->tokens, (const uint16_t *)(const void *)tokens.data,
                               tokens.size / sizeof(uint16_t), err);
        data->tokens.vocabulary = dm_bpe_vocabulary(bpe);
    }
    dm_bpe_destroy(bpe);
    dm_buffer_deinit(&all);
    dm_buffer_deinit(&tokens);
    return status;
}

/* Windows for checks of proposals: those of the validation text behind the ones that evaluations look at, so that a run
 * trains on the same text with proposals and without. Where it is too short for both, the end of what is trained on. */
static dm_status hold_out(dm_task *task, dm_error *err)
{
    text_data *data = task->data;
    uint64_t T = task->config.context, seen = task->config.eval_windows;
    uint64_t checked = task->config.rules.proposal_checked;
    uint64_t windows = data->test > 0 ? (data->test - 1) / T : 0;
    task->held = checked;
    if (seen > 0 && seen + checked <= windows) {
        data->held = data->train + seen * T;
        return DM_OK;
    }
    if (checked * T + 1 > data->train - 2 * T)
        return dm_fail(err, DM_EINVAL,
                       "gpt: %llu held-out windows of %zu tokens leave too few of %zu to train "
                       "on (predict.proposal_checked)",
                       (unsigned long long)checked, (size_t)T, data->train);
    data->held = data->train - (checked * T + 1);
    task->samples = (data->held - T) / T;
    return DM_OK;
}

/* Where training ends: the first file's end, or by the share that is kept for validation. */
static dm_status split(dm_task *task, size_t files, const size_t *ends, dm_error *err)
{
    text_data *data = task->data;
    size_t all = data->tokens.count, T = task->config.context;
    data->train = files > 1 ? ends[0] : all - (size_t)((double)all * task->config.validation);
    data->test = all - data->train;
    if (data->train < 2 * T)
        return dm_fail(
            err, DM_EINVAL,
            "gpt: %zu tokens to train on are too few for a context of %zu (%zu at least)",
            data->train, T, 2 * T);
    if (data->test > 0 && data->test < T + 1)
        return dm_fail(err, DM_EINVAL,
                       "gpt: %zu tokens of validation are too few for a context of %zu", data->test,
                       T);
    task->samples = (data->train - T) / T;
    return task->config.predict ? hold_out(task, err) : DM_OK;
}

static void hash_data(dm_task *task)
{
    const text_data *data = task->data;
    dm_hasher *hasher = dm_hasher_create();
    const uint64_t sizes[3] = {data->train, data->test, data->tokens.vocabulary};
    if (hasher == NULL)
        return;
    dm_hasher_part(hasher, sizes, sizeof sizes);
    dm_hasher_part(hasher, task->alphabet, task->alphabet_size);
    dm_hasher_part(hasher, data->tokens.data, data->tokens.count * sizeof(uint16_t));
    dm_hash128_hex(dm_hasher_finish(hasher), task->hash);
    dm_hasher_destroy(hasher);
}

static dm_status default_text(char path[DM_PATH_MAX], dm_error *err)
{
    char cache[DM_PATH_MAX];
    dm_status status = dm_data_folder(cache, err);
    if (status == DM_OK)
        status = dm_path_join(path, cache, "bible/text.txt", err);
    if (status == DM_OK && !dm_file_exists(path))
        status = dm_fail(err, DM_ENOENT,
                         "gpt: no text: give one with --data FILE; dotmatrix train data --set "
                         "bible brings one");
    return status;
}

static dm_status load(dm_task *task, const char *const *paths, size_t count, dm_error *err)
{
    char text[DM_PATH_MAX];
    const char *only = text;
    size_t ends[2] = {0, 0};
    text_data *data = task->data = calloc(1, sizeof *data);
    if (data == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    if (count > 2)
        return dm_fail(err, DM_EINVAL,
                       "gpt: --data is a text, or one to train on and one for "
                       "validation");
    dm_status status = count == 0 ? default_text(text, err) : DM_OK;
    if (count == 0) {
        paths = &only;
        count = 1;
    }
    if (status != DM_OK)
        return status;
    bool tokens = is_token_file(paths[0]);
    if (count == 2 && is_token_file(paths[1]) != tokens)
        return dm_fail(err, DM_EINVAL, "gpt: of %.400s and %.400s one is a token file, one is not",
                       paths[0], paths[1]);
    status = tokens ? load_token_files(task, paths, count, ends, err)
                    : load_texts(task, paths, count, ends, err);
    if (status == DM_OK)
        status = split(task, count, ends, err);
    if (status != DM_OK)
        return status;
    task->vocabulary = data->tokens.vocabulary;
    hash_data(task);
    snprintf(task->about, sizeof task->about,
             "%zu %s to train on, %zu for validation, a vocabulary of %u", data->train,
             task->alphabet_size > 0 ? "characters" : "tokens", data->test, task->vocabulary);
    return DM_OK;
}

static void unload(dm_task *task)
{
    text_data *data = task->data;
    if (data == NULL)
        return;
    dm_tokens_deinit(&data->tokens);
    free(data);
    task->data = NULL;
}

/* ---- Samples ---- */

static void put_window(const dm_task *task, size_t at, void *input, void *target)
{
    const uint16_t *tokens = ((const text_data *)task->data)->tokens.data + at;
    for (size_t t = 0; t < task->config.context; t++) {
        ((int32_t *)input)[t] = tokens[t];
        ((int32_t *)target)[t] = tokens[t + 1];
    }
}

static void sample(const dm_task *task, uint64_t position, void *input, void *target)
{
    uint64_t seed = task->config.seed, T = task->config.context, epoch = position / task->samples;
    uint64_t window = dm_order_at(seed, epoch, task->samples, position % task->samples);
    uint32_t shift = dm_random_below(dm_random4(seed, SHIFT_STREAM, epoch).v[0], (uint32_t)T);
    put_window(task, shift + window * T, input, target);
}

static void fill_test(const dm_task *task, uint64_t index, void *input, void *target)
{
    const text_data *data = task->data;
    put_window(task, data->train + index * task->config.context, input, target);
}

static void fill_held(const dm_task *task, uint64_t index, void *input, void *target)
{
    const text_data *data = task->data;
    put_window(task, data->held + index * task->config.context, input, target);
}

static dm_status held_out(const dm_task *task, dm_nn_model *model, double *loss, dm_error *err)
{
    return dm_task_measure(task, model, task->held, fill_held, loss, NULL, err);
}

static dm_status evaluate(const dm_task *task, dm_nn_model *model, dm_metric *metrics,
                          size_t *count, dm_error *err)
{
    const text_data *data = task->data;
    uint64_t windows = data->test > 0 ? (data->test - 1) / task->config.context : 0;
    double loss = 0;
    *count = 0;
    if (windows == 0)
        return DM_OK;
    if (task->config.eval_windows > 0 && windows > task->config.eval_windows)
        windows = task->config.eval_windows;
    dm_status status = dm_task_measure(task, model, windows, fill_test, &loss, NULL, err);
    metrics[0] = (dm_metric){"val_loss", loss};
    *count = 1;
    return status;
}

const dm_task_kind dm_task_gpt = {
    .name = "gpt",
    .unit = "tokens",
    .describe = describe,
    .load = load,
    .unload = unload,
    .sample = sample,
    .evaluate = evaluate,
    .held_out = held_out,
};
