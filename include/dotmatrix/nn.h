/* SPDX-License-Identifier: MIT */
/* nn.h - small neural networks that train: a list of layers, a loss, an optimiser.
 *
 *     static const dm_nn_layer layers[] = {
 *         {.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH},
 *         {.kind = DM_NN_LAYER_LINEAR, .size = 1},
 *     };
 *     dm_nn_model_desc desc = {.layers = layers, .layer_count = 2, .input = {2}, .batch = 4,
 * .shards = 1, .loss = DM_NN_LOSS_SIGMOID, .seed = 1, .optimiser = {.kind = DM_NN_ADAMW, .rate =
 * 0.05f}}; dm_nn_model *model; dm_nn_model_create(device, &desc, &model, err); for (int step = 0;
 * step < 500; step++) dm_nn_model_step(model, x, y, &loss, err);          // x[4][2], y[4][1]
 *     dm_nn_model_evaluate(model, x, y, outputs, &loss, err); // outputs[4][1], before the sigmoid
 *
 * Memory for everything (parameters, gradients, moments, activations) is taken at creation; a step
 * allocates nothing. A batch is cut into `shards` parts whose gradients are summed in order:
 * threads take whole shards, so that the same seed gives the same bits for any number of threads.
 *
 * Devices: the CPU. Ownership: what `create` gives is the caller's to destroy; it keeps its device
 * alive. Threads: a model by one thread at a time. */
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
} dm_nn_layer_kind;

typedef struct dm_nn_layer {
    dm_nn_layer_kind kind;
    uint32_t size, width, kernel, stride;
    dm_nn_activation activation; /* LINEAR, CONV */
    uint32_t from;               /* RESIDUAL */
    bool tied;                   /* LINEAR: weights are those of the embedding, no bias */
    float init; /* standard deviation of the first weights; 0: 1 / sqrt(inputs), uniform */
} dm_nn_layer;

typedef enum dm_nn_loss {
    DM_NN_LOSS_SOFTMAX, /* cross-entropy; targets are int32, one per row, -1 for none */
    DM_NN_LOSS_SQUARE,  /* targets are floats, as many as outputs */
    DM_NN_LOSS_SIGMOID, /* likewise, cross-entropy of each with the output's sigmoid */
} dm_nn_loss;

typedef enum dm_nn_optimiser_kind { DM_NN_SGD, DM_NN_ADAMW } dm_nn_optimiser_kind;

typedef struct dm_nn_optimiser {
    dm_nn_optimiser_kind kind;
    float rate;
    float momentum;              /* SGD */
    float beta1, beta2, epsilon; /* ADAMW; 0: 0.9, 0.999, 1e-8 */
    float decay; /* of weights with two or more dimensions, not of biases and gains */
    float clip;  /* largest norm of all gradients together; 0: any */
} dm_nn_optimiser;

typedef struct dm_nn_model_desc {
    const dm_nn_layer *layers;
    size_t layer_count;
    uint32_t input[3]; /* one sample: {C}, or an image {C, H, W}, or with EMBED {T} tokens */
    uint32_t batch;    /* samples in a step */
    uint32_t
        shards; /* parts of a batch, which it must divide; 0: the largest of 8, 4, 2, 1 that does */
    dm_nn_loss loss;
    dm_nn_optimiser optimiser;
    uint64_t seed; /* of the first weights */
} dm_nn_model_desc;

typedef struct dm_nn_model dm_nn_model;

DM_API dm_status dm_nn_model_create(dm_device *device, const dm_nn_model_desc *desc,
                                    dm_nn_model **out, dm_error *err);
DM_API void dm_nn_model_destroy(dm_nn_model *model);

/* One step of training on a batch: input[batch][...] (floats, or int32 tokens), target as the loss
 * says. *loss is the mean over rows that count, before the step; NULL when not wanted. A loss that
 * is no number is DM_EINVAL, names the step and the first layer with such an output, and leaves the
 * parameters as they were. */
DM_API dm_status dm_nn_model_step(dm_nn_model *model, const void *input, const void *target,
                                  float *loss, dm_error *err);
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
    float *value, *first, *second; /* the weights; the optimiser's moments */
} dm_nn_parameter;
DM_API size_t dm_nn_model_parameter_count(const dm_nn_model *model);
DM_API const dm_nn_parameter *dm_nn_model_parameter(dm_nn_model *model, size_t index);
DM_API size_t dm_nn_model_size(const dm_nn_model *model); /* numbers in all parameters */
DM_API uint64_t dm_nn_model_steps(const dm_nn_model *model);
/* After loading parameters and moments: how many steps they have had. */
DM_API void dm_nn_model_set_steps(dm_nn_model *model, uint64_t steps);
DM_API size_t dm_nn_model_rows(const dm_nn_model *model);    /* of the output, in a batch */
DM_API size_t dm_nn_model_outputs(const dm_nn_model *model); /* numbers in a row */

#ifdef __cplusplus
}
#endif

#endif
