/* SPDX-License-Identifier: MIT */
/* xor.c - a network that learns exclusive or; from the public API.
 *
 *   example-xor [DEVICE]      (cpu:1) */
#include <dotmatrix/nn.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    static const float x[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, y[4] = {0, 1, 1, 0};
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH},
        {.kind = DM_NN_LAYER_LINEAR, .size = 1},
    };
    const dm_nn_model_desc desc = {.layers = layers,
                                   .layer_count = 2,
                                   .input = {2},
                                   .batch = 4,
                                   .loss = DM_NN_LOSS_SIGMOID,
                                   .optimiser = {.kind = DM_NN_SGD, .rate = 0.2f, .momentum = 0.9f},
                                   .seed = 1};
    dm_error err;
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    float loss = 0, out[4];
    dm_status status = dm_device_open(argc > 1 ? argv[1] : "cpu:1", &device, &err);
    if (status == DM_OK)
        status = dm_nn_model_create(device, &desc, &model, &err);
    for (int step = 0; step < 1000 && status == DM_OK; step++)
        status = dm_nn_model_step(model, x, y, &loss, &err);
    if (status == DM_OK)
        status = dm_nn_model_evaluate(model, x, NULL, out, NULL, &err); /* before the sigmoid */
    for (int i = 0; i < 4 && status == DM_OK; i++)
        printf("%g xor %g = %d\n", (double)x[i][0], (double)x[i][1], out[i] > 0);
    if (status != DM_OK)
        fprintf(stderr, "%s\n", err.message);
    dm_nn_model_destroy(model);
    dm_device_close(device);
    return status == DM_OK ? 0 : 1;
}
