/* SPDX-License-Identifier: MIT */
/* sample.h - text from a GPT, token after token. */
#ifndef DM_TRAIN_SAMPLE_H
#define DM_TRAIN_SAMPLE_H

#include <dotmatrix/base.h>

typedef struct dm_sample_options {
    const char *device;
    const char *prompt; /* "": the model begins by itself */
    uint64_t tokens;    /* to write */
    double temperature; /* 0: always the likeliest token */
    uint64_t top_k;     /* of the likeliest tokens one is drawn; 0: of all */
    uint64_t seed;
} dm_sample_options;

/* Text as it comes, not cut at characters. */
typedef void (*dm_sample_write)(void *user, const char *text, size_t size);

/* The model in a run's folder writes on from the prompt: the same bytes for the same options. It
 * sees the last `context` tokens. Ends early when dm_stop_requested. */
dm_status dm_sample(const char *folder, const dm_sample_options *options, dm_sample_write write,
                    void *user, dm_error *err);

/* One token of `count` logits, by a random word; apart, so that it can be tested. `order` is scratch
 * for `count` numbers. */
uint32_t dm_sample_token(const float *logits, uint32_t count, double temperature, uint64_t top_k,
                         uint32_t random, uint32_t *order);

#endif
