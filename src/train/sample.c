/* SPDX-License-Identifier: MIT */
/* sample.c - see sample.h.
 *
 * A model is made for a batch of one, with no longer a context than will be needed. Attention is
 * causal, so tokens after the last one of the window do not matter. */
#include "train/sample.h"
#include "base/philox.h"
#include "base/terminal/stop.h"
#include "train/task/gpt.h"
#include "train/trainer.h"
#include "train/weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define TOKEN_STREAM UINT64_C(0x746f6b656e) /* of random numbers: "token" */

/* Bring the `top` largest of the logits to the front of `order`, in falling order; ties by number. */
static void put_largest_first(const float *logits, uint32_t count, uint32_t top, uint32_t *order)
{
    assert(top > 0 && top <= count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = 0; i < top; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < count; j++) {
            float a = logits[order[j]], b = logits[order[best]];
            best = a > b || (a == b && order[j] < order[best]) ? j : best;
        }
        uint32_t token = order[i];
        order[i] = order[best];
        order[best] = token;
    }
}

uint32_t dm_sample_token(const float *logits, uint32_t count, double temperature, uint64_t top_k,
                         uint32_t random, uint32_t *order)
{
    uint32_t top = top_k > 0 && top_k < count ? (uint32_t)top_k : count;
    if (!(temperature > 0))
        top = 1;
    put_largest_first(logits, count, top < count ? top : 1, order);
    if (top == 1)
        return order[0];
    double most = (double)logits[order[0]], total = 0;
    for (uint32_t i = 0; i < top; i++)
        total += exp(((double)logits[order[i]] - most) / temperature);
    double left = total * ((double)random / 4294967296.0);
    for (uint32_t i = 0; i < top; i++) {
        left -= exp(((double)logits[order[i]] - most) / temperature);
        if (left < 0)
            return order[i];
    }
    return order[top - 1];
}

typedef struct writer {
    const dm_sample_options *options;
    dm_task task;
    dm_bpe *bpe;
    dm_device *device;
    dm_nn_model *model;
    dm_buffer tokens; /* u16: the prompt and what was written */
    int32_t *window;
    float *logits; /* of every place in the window */
    uint32_t *order;
} writer;

static size_t token_count(const writer *w)
{
    return w->tokens.size / sizeof(uint16_t);
}

static uint16_t token_at(const writer *w, size_t index)
{
    uint16_t token;
    memcpy(&token, w->tokens.data + index * sizeof token, sizeof token);
    return token;
}

/* Without a prompt GPT-2 begins after the end of a text, a model of characters after a line. */
static dm_status begin_text(writer *w, dm_error *err)
{
    const char *prompt = w->options->prompt;
    dm_status status = DM_OK;
    if (w->task.alphabet_size == 0)
        status = dm_gpt_bpe(&w->bpe, err);
    if (status == DM_OK && w->bpe != NULL && dm_bpe_vocabulary(w->bpe) != w->task.vocabulary)
        status = dm_fail(err, DM_EUNSUPPORTED,
                         "the model's vocabulary of %u is not GPT-2's: its tokens are no text",
                         w->task.vocabulary);
    if (status == DM_OK)
        status = dm_gpt_encode(&w->task, w->bpe, prompt, strlen(prompt), &w->tokens, err);
    if (status == DM_OK && token_count(w) == 0) {
        uint16_t first = w->bpe != NULL ? dm_bpe_end_of_text(w->bpe) : 0;
        for (uint32_t i = 0; w->bpe == NULL && i < w->task.alphabet_size; i++)
            if (w->task.alphabet[i] == '\n')
                first = (uint16_t)i;
        dm_buffer_append(&w->tokens, &first, sizeof first);
        status = dm_buffer_check(&w->tokens, err);
    }
    return status;
}

static dm_status make_model(writer *w, const char *folder, const dm_safetensors *file,
                            dm_error *err)
{
    uint64_t needed = token_count(w) + w->options->tokens, context = w->task.config.context;
    size_t T = (size_t)(needed < context ? needed : context);
    w->task.input[0] = (uint32_t)T;
    dm_nn_model_desc desc = dm_task_model(&w->task, 1);
    desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_SGD};
    dm_status status = dm_device_open(w->options->device, &w->device, err);
    if (status == DM_OK)
        status = dm_nn_model_create(w->device, &desc, &w->model, err);
    if (status == DM_OK)
        status = dm_weights_take(file, folder, &w->task, w->task.config.average > 0, w->model, err);
    w->window = calloc(T, sizeof *w->window);
    w->logits = malloc(T * w->task.vocabulary * sizeof *w->logits);
    w->order = calloc(w->task.vocabulary, sizeof *w->order);
    if (status == DM_OK && (w->window == NULL || w->logits == NULL || w->order == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory for %zu tokens", T);
    return status;
}

static dm_status next_token(writer *w, uint64_t number, uint16_t *token, dm_error *err)
{
    size_t T = w->task.input[0], count = token_count(w), seen = count < T ? count : T;
    for (size_t t = 0; t < seen; t++)
        w->window[t] = token_at(w, count - seen + t);
    dm_status status = dm_nn_model_evaluate(w->model, w->window, NULL, w->logits, NULL, err);
    if (status != DM_OK)
        return status;
    *token = (uint16_t)dm_sample_token(
        w->logits + (seen - 1) * w->task.vocabulary, w->task.vocabulary, w->options->temperature,
        w->options->top_k, dm_random4(w->options->seed, TOKEN_STREAM, number).v[0], w->order);
    dm_buffer_append(&w->tokens, token, sizeof *token);
    return dm_buffer_check(&w->tokens, err);
}

static dm_status write_text(writer *w, dm_sample_write write, void *user, dm_error *err)
{
    dm_status status = DM_OK;
    write(user, w->options->prompt, strlen(w->options->prompt));
    for (uint64_t i = 0; i < w->options->tokens && status == DM_OK && !dm_stop_requested(); i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        uint16_t token = 0;
        status = next_token(w, i, &token, err);
        if (status == DM_OK)
            status = dm_gpt_decode(&w->task, w->bpe, &token, 1, &text, err);
        if (status == DM_OK)
            write(user, dm_buffer_text(&text), text.size);
        dm_buffer_deinit(&text);
    }
    return status;
}

dm_status dm_sample(const char *folder, const dm_sample_options *options, dm_sample_write write,
                    void *user, dm_error *err)
{
    writer w = {.options = options};
    dm_safetensors *file = NULL;
    uint64_t step;
    dm_status status = dm_training_open(folder, &w.task, &file, &step, err);
    if (status != DM_OK)
        return status;
    status = begin_text(&w, err);
    if (status == DM_OK)
        status = make_model(&w, folder, file, err);
    if (status == DM_OK)
        status = write_text(&w, write, user, err);
    dm_nn_model_destroy(w.model);
    dm_device_close(w.device);
    dm_bpe_destroy(w.bpe);
    dm_buffer_deinit(&w.tokens);
    free(w.window);
    free(w.logits);
    free(w.order);
    dm_safetensors_close(file);
    dm_task_deinit(&w.task);
    return status;
}
