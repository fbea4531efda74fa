/* SPDX-License-Identifier: MIT */
/* nn.h - neural networks that train: a list of layers, a loss, an optimiser.
 *
 *     static const dm_nn_layer layers[] = {
 *         {.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH},
 *         {.kind = DM_NN_LAYER_LINEAR, .size = 1},
 *     };
 *     dm_nn_model_desc desc = {.layers = layers, .layer_count = 2, .input = {2}, .batch = 4,
 *         .shards = 1, .loss = DM_NN_LOSS_SIGMOID, .seed = 1,
 *         .optimiser = {.kind = DM_NN_ADAMW, .rate = 0.05f}};
 *     dm_nn_model *model;
 *     dm_nn_model_create(device, &desc, &model, err);
 *     for (int step = 0; step < 500; step++)
 *         dm_nn_model_step(model, x, y, &loss, err);          // x[4][2], y[4][1]
 *     dm_nn_model_evaluate(model, x, y, outputs, &loss, err); // outputs[4 * 1], before the sigmoid
 *
 * Memory for everything (parameters, gradients, moments, activations) is taken at creation; a step
 * allocates nothing. A batch may be cut twice: into microbatches, which run one after the other, so
 * that only one of them needs memory; and each of these, on the CPU, into shards, of which threads
 * take whole ones. Gradients are summed in a fixed order: the same seed gives the same bits on the
 * same kind of device, for any number of threads.
 *
 * Devices: the CPU and CUDA. Inputs, targets and outputs are host memory on both.
 *
 * Ownership: what `create` gives is the caller's to destroy; it keeps its device alive. Threads: a
 * model by one thread at a time. */
#ifndef DOTMATRIX_NN_H
#define DOTMATRIX_NN_H

#include <dotmatrix/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dm_nn_activation {
    DM_NN_LINEAR, /* none */
    DM_NN_RELU,
    DM_NN_TANH,
    DM_NN_SIGMOID,
    DM_NN_GELU, /* GPT-2's: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
} dm_nn_activation;

typedef enum dm_nn_layer_kind {
    DM_NN_LAYER_LINEAR, /* size outputs for each row */
    DM_NN_LAYER_CONV,   /* size channels, kernel x kernel, stride (0: 1); the input is an image */
    DM_NN_LAYER_POOL,   /* the largest of each kernel x kernel square */
    DM_NN_LAYER_EMBED,  /* first layer only: tokens of a vocabulary of `size` to `width` numbers,
                           with positions */
    DM_NN_LAYER_NORM,   /* layer norm of each row */
    DM_NN_LAYER_ATTENTION, /* causal, `size` heads; the layer before gives 3 x C numbers for each
                              row */
    DM_NN_LAYER_RESIDUAL,  /* adds the output of layer `from` */
    /* Recurrent over the rows of a sample, from a state of zeros; the layer before gives 3 x size
     * numbers for each row: h' = (1 - z) h + z n, z = sigmoid(a + U h), r likewise, n = tanh(a + U
     * (r h)). The weights are the three U. */
    DM_NN_LAYER_GRU,
    DM_NN_LAYER_MINGRU, /* the same with z = sigmoid(a), n = a: 2 x size numbers, no weights */
} dm_nn_layer_kind;

typedef struct dm_nn_layer {
    dm_nn_layer_kind kind;
    uint32_t size, width, kernel, stride;
    dm_nn_activation activation; /* LINEAR, CONV */
    uint32_t from;               /* RESIDUAL */
    bool tied;                   /* LINEAR: weights are those of the embedding, no bias */
    float init;       /* standard deviation of the first weights; 0: 1 / sqrt(inputs), uniform */
    const char *name; /* for messages, living as long as the model; NULL: its number alone */
} dm_nn_layer;

typedef enum dm_nn_loss {
    DM_NN_LOSS_SOFTMAX, /* cross-entropy; targets are int32, one per row, -1 for none */
    DM_NN_LOSS_SQUARE,  /* targets are floats, as many as outputs */
    DM_NN_LOSS_SIGMOID, /* likewise, cross-entropy of each with the output's sigmoid */
} dm_nn_loss;

typedef enum dm_nn_optimiser_kind {
    DM_NN_SGD,   /* decay is added to the gradient */
    DM_NN_ADAMW, /* decay shrinks the weights */
    DM_NN_ADAM,  /* decay is added to the gradient */
    DM_NN_MUON,  /* the weights of linear layers: momentum, then orthogonalised by Newton-Schulz;
                    all other parameters (and tied weights): AdamW */
} dm_nn_optimiser_kind;

typedef struct dm_nn_optimiser {
    dm_nn_optimiser_kind kind;
    float rate;
    float momentum;              /* SGD; MUON, where 0 is 0.95 */
    float beta1, beta2, epsilon; /* ADAM, ADAMW, MUON; 0: 0.9, 0.999, 1e-8 */
    float decay;   /* of weights with two or more dimensions, not of biases and gains */
    float clip;    /* largest norm of all gradients together; 0: any */
    float average; /* a running average of the weights keeps so much of itself in a step: 0.999;
                      0: there is none */
    float others;  /* MUON: the rate of AdamW's parameters is so many times `rate`; 0: 0.1 */
} dm_nn_optimiser;

/* Learning rates: a pure function of the step. */
typedef enum dm_nn_schedule_kind {
    DM_NN_SCHEDULE_CONSTANT,
    DM_NN_SCHEDULE_LINEAR, /* straight down to `last` at step `steps` */
    DM_NN_SCHEDULE_COSINE, /* half a cosine down to it */
} dm_nn_schedule_kind;

typedef struct dm_nn_schedule {
    dm_nn_schedule_kind kind;
    float rate;      /* the highest */
    float last;      /* the lowest, at the end */
    uint64_t warmup; /* steps from rate/warmup up to rate, in a straight line */
    uint64_t steps;  /* in all, warm-up included */
} dm_nn_schedule;

/* The rate of a step, counted from 0; `last` after the end. */
DM_API float dm_nn_schedule_rate(const dm_nn_schedule *schedule, uint64_t step);

typedef enum dm_nn_precision {
    DM_NN_FLOAT32,
    DM_NN_BFLOAT16, /* CUDA: activations and products in bfloat16, weights and moments in float32 */
} dm_nn_precision;

typedef struct dm_nn_model_desc {
    const dm_nn_layer *layers;
    size_t layer_count;
    /* One sample: {C}, T rows {C, T}, an image {C, H, W}, or with EMBED {T} tokens. */
    uint32_t input[3];
    uint32_t batch;        /* samples in a step */
    uint32_t microbatches; /* parts of a batch, which it must divide; 0: 1 */
    /* Parts of a microbatch on the CPU; 0: the largest of 8, 4, 2, 1 that divides it. */
    uint32_t shards;
    dm_nn_loss loss;
    dm_nn_optimiser optimiser;
    dm_nn_precision precision;
    uint64_t seed; /* of the first weights */
} dm_nn_model_desc;

/* Bytes on the device. */
typedef struct dm_nn_memory {
    uint64_t parameters;  /* weights, gradients, moments, averages */
    uint64_t activations; /* of a microbatch, with their gradients */
    uint64_t scratch;
    uint64_t total;
    uint64_t numbers; /* no bytes: how many weights there are */
} dm_nn_memory;

/* What a model would take, without making it. */
DM_API dm_status dm_nn_model_memory(dm_device *device, const dm_nn_model_desc *desc,
                                    dm_nn_memory *out, dm_error *err);

typedef struct dm_nn_model dm_nn_model;

/* DM_ENOMEM says what it takes, what is free, and which number of microbatches would fit. */
DM_API dm_status dm_nn_model_create(dm_device *device, const dm_nn_model_desc *desc,
                                    dm_nn_model **out, dm_error *err);
DM_API void dm_nn_model_destroy(dm_nn_model *model);

/* One step of training on a batch: input[batch][...] (floats, or int32 tokens), target as the loss
 * says; both are copied. *loss is the mean over rows that count, before the step. With NULL the
 * call does not wait for the device: dm_nn_model_loss waits. A loss that is no number is DM_EINVAL,
 * names the step and the first layer with such an output, and leaves the parameters as they were;
 * so do gradients whose norm is no number. */
DM_API dm_status dm_nn_model_step(dm_nn_model *model, const void *input, const void *target,
                                  float *loss, dm_error *err);
/* Of the last step, when it is done; the norm is that of all gradients before clipping. Each may be
 * NULL. */
DM_API dm_status dm_nn_model_loss(dm_nn_model *model, float *loss, float *norm, dm_error *err);
/* The same without learning; output[batch][...] may be NULL, as may target (then there is no loss).
 */
DM_API dm_status dm_nn_model_evaluate(dm_nn_model *model, const void *input, const void *target,
                                      float *output, float *loss, dm_error *err);
DM_API void dm_nn_model_set_rate(dm_nn_model *model, float rate);

/* Parameters, in the order of the layers: named as PyTorch would ("0.weight", "0.bias"). */
typedef struct dm_nn_parameter {
    char name[32];
    uint32_t shape[4]; /* 0 after the last */
    size_t count;
    /* The weights; the optimiser's moments (SGD and MUON use the first). On CUDA NULL: read and
     * write copy. */
    float *value, *first, *second;
} dm_nn_parameter;
DM_API size_t dm_nn_model_parameter_count(const dm_nn_model *model);
DM_API const dm_nn_parameter *dm_nn_model_parameter(dm_nn_model *model, size_t index);

/* Copies of a parameter's arrays: `count` floats of host memory. */
typedef enum dm_nn_part {
    DM_NN_VALUE,
    DM_NN_FIRST,
    DM_NN_SECOND,
    DM_NN_AVERAGE,  /* DM_EINVAL without optimiser.average; begins as the weights */
    DM_NN_GRADIENT, /* of the last step, read only: the mean over rows, before clipping */
} dm_nn_part;
DM_API dm_status dm_nn_model_read(dm_nn_model *model, size_t index, dm_nn_part part, float *to,
                                  dm_error *err);
DM_API dm_status dm_nn_model_write(dm_nn_model *model, size_t index, dm_nn_part part,
                                   const float *from, dm_error *err);
/* Exchange weights and averages, so as to evaluate with these; a second time: as before. */
DM_API dm_status dm_nn_model_swap_average(dm_nn_model *model, dm_error *err);
DM_API size_t dm_nn_model_size(const dm_nn_model *model); /* numbers in all parameters */
DM_API uint64_t dm_nn_model_steps(const dm_nn_model *model);
/* After loading parameters and moments: how many steps they have had. */
DM_API void dm_nn_model_set_steps(dm_nn_model *model, uint64_t steps);
DM_API size_t dm_nn_model_rows(const dm_nn_model *model);    /* of the output, in a batch */
DM_API size_t dm_nn_model_outputs(const dm_nn_model *model); /* numbers in a row */
/* What computes its products: "cpu-avx2", "cublasLt 13.0 (path)", "own kernels (reason)". */
DM_API const char *dm_nn_model_products(const dm_nn_model *model);
/* What would compute them on a device ("cpu", "cuda:0"), found without opening it: the CPU's table,
 * "cuBLASLt: path" or "own kernels (reason)". */
DM_API dm_status dm_nn_products(const char *device, char *text, size_t size, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
