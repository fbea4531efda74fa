/* SPDX-License-Identifier: MIT */
/* dynamics.c - watch a training run, learn its course, forecast it; from the public API.
 *
 *   example-dynamics [DEVICE]      (cpu:1)
 *
 * The run is made up: a noisy power law. An ensemble of three follows it for 300 steps, then
 * forecasts 25 more; beside it what really came. */
#include <dotmatrix/dynamics.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEN 300
#define AHEAD 25

static float loss_at(int t)
{
    return (float)((3 * pow(t + 1, -0.4) + 0.3) * (1 + 0.02 * sin(17.0 * t * t)));
}

static dm_dynamics_sample sample_at(int t)
{
    return (dm_dynamics_sample){.step = (uint64_t)t + 1,
                                .loss = loss_at(t),
                                .gradient_norm = 2 * loss_at(t),
                                .learning_rate = 1e-3f,
                                .beta1 = 0.9f,
                                .beta2 = 0.999f,
                                .phase = 1,
                                .phase_step = (uint32_t)t};
}

int main(int argc, char **argv)
{
    static float features[SEEN][DM_DYNAMICS_ENCODER_FEATURES];
    const dm_dynamics_config config = {
        3, 64, 16, DM_DYNAMICS_ENCODER_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST, false};
    const dm_dynamics_trainer_config learning = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_error err;
    dm_device *device = NULL;
    dm_dynamics *model = NULL;
    dm_dynamics_encoder *encoder = NULL;
    dm_dynamics_trainer *trainer = NULL;
    dm_dynamics_device *on = NULL;
    dm_dynamics_forecast *rollout = NULL;
    int result = 1;

    if (dm_device_open(argc > 1 ? argv[1] : "cpu:1", &device, &err) != DM_OK ||
        dm_dynamics_create(&config, 1, &model, &err) != DM_OK ||
        dm_dynamics_encoder_create(DM_DYNAMICS_ENCODER_LOSSES, DM_DYNAMICS_ENCODER_NORMS, &encoder,
                                   &err) != DM_OK ||
        dm_dynamics_trainer_create(model, &learning, &trainer, &err) != DM_OK)
        goto failed;
    for (int t = 0; t < SEEN; t++) {
        dm_dynamics_sample sample = sample_at(t);
        dm_dynamics_encoder_update(encoder, &sample, features[t]);
    }
    if (dm_dynamics_fit_scaling(model, features[0], SEEN, &err) != DM_OK)
        goto failed;
    for (int pass = 0; pass < 10; pass++) {
        float objective = 0;
        dm_dynamics_trainer_restart(trainer);
        for (int t = 0; t < SEEN; t++)
            if (dm_dynamics_trainer_observe(trainer, features[t], &objective, &err) != DM_OK)
                goto failed;
    }
    if (dm_dynamics_device_create(device, model, &on, &err) != DM_OK ||
        dm_dynamics_forecast_create(model, 1, AHEAD, &rollout, &err) != DM_OK ||
        dm_dynamics_device_rollout(on, features[SEEN - 1], dm_dynamics_trainer_hidden(trainer),
                                   rollout, &err) != DM_OK)
        goto failed;
    for (int t = 0; t < AHEAD; t += 6)
        printf("%2d steps ahead: %.4f +- %.4f, came %.4f\n", t + 1, (double)rollout->mean[t],
               (double)rollout->total[t], (double)loss_at(SEEN + t));
    result = 0;
failed:
    if (result != 0)
        fprintf(stderr, "%s\n", err.message);
    dm_dynamics_forecast_destroy(rollout);
    dm_dynamics_device_destroy(on);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_encoder_destroy(encoder);
    dm_dynamics_destroy(model);
    dm_device_close(device);
    return result;
}
