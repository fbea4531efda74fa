/* SPDX-License-Identifier: MIT */
/* encoder.c - one encoder on the CPU, and features of mean 0 and deviation 1. */
#include "dynamics/encoder.h"
#include "base/require.h"

#include "dynamics/device/kernel_encode.h"
#include "dynamics/internal.h"

#include <stdlib.h>
#include <string.h>

dm_status dm_dynamics_encoder_create(uint32_t losses, uint32_t norms, dm_dynamics_encoder **out,
                                     dm_error *err)
{
    DM_REQUIRE(err, out);
    if (losses < 1 || losses > DM_DYNAMICS_ENCODER_LOSSES || norms < 1 ||
        norms > DM_DYNAMICS_ENCODER_NORMS)
        return dm_fail(
            err, DM_EINVAL,
            "encoder: windows of %u losses and %u norms; 1 to %d and 1 to %d are possible", losses,
            norms, DM_DYNAMICS_ENCODER_LOSSES, DM_DYNAMICS_ENCODER_NORMS);
    dm_dynamics_encoder *encoder = malloc(sizeof *encoder);
    if (encoder == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_enc_init(&encoder->state, losses, norms);
    *out = encoder;
    return DM_OK;
}

void dm_dynamics_encoder_destroy(dm_dynamics_encoder *encoder)
{
    free(encoder);
}

void dm_dynamics_encoder_reset(dm_dynamics_encoder *encoder)
{
    if (encoder == NULL)
        return;
    dm_enc_init(&encoder->state, encoder->state.losses.size, encoder->state.norms.size);
}

void dm_dynamics_encoder_update(dm_dynamics_encoder *encoder, const dm_dynamics_sample *sample,
                                float features[DM_DYNAMICS_ENCODER_FEATURES])
{
    if (encoder == NULL || sample == NULL || features == NULL)
        return;
    dm_enc_update(&encoder->state, sample, features);
}

uint64_t dm_dynamics_encoder_passed(const dm_dynamics_encoder *encoder)
{
    if (encoder == NULL)
        return 0;
    return encoder->state.passed;
}

size_t dm_dynamics_encoder_state_size(const dm_dynamics_encoder *encoder)
{
    if (encoder == NULL)
        return 0;
    return sizeof encoder->state;
}

void dm_dynamics_encoder_state_get(const dm_dynamics_encoder *encoder, void *bytes)
{
    if (encoder == NULL || bytes == NULL)
        return;
    memcpy(bytes, &encoder->state, sizeof encoder->state);
}

/* Are all positions within the window? A loaded state that fails this would be read out of bounds. */
static bool queue_fits(const dm_enc_queue *q, uint32_t size)
{
    bool fits = q->first < DM_ENC_WINDOW_MAX && q->count <= DM_ENC_WINDOW_MAX;
    for (uint32_t i = 0; fits && i < q->count; i++)
        fits = q->at[(q->first + i) % DM_ENC_WINDOW_MAX] < size;
    return fits;
}

static bool window_fits(const dm_enc_window *w, uint32_t size)
{
    return w->size == size && w->count <= size && w->next < size && queue_fits(&w->low, size) &&
           queue_fits(&w->high, size);
}

dm_status dm_dynamics_encoder_state_set(dm_dynamics_encoder *encoder, const void *bytes,
                                        size_t size, dm_error *err)
{
    DM_REQUIRE(err, encoder);
    DM_REQUIRE(err, bytes);
    dm_enc_state state;
    if (size != sizeof state)
        return dm_fail(err, DM_EFORMAT, "encoder: a state of %zu bytes, not %zu", size,
                       sizeof state);
    memcpy(&state, bytes, sizeof state);
    if (!window_fits(&state.losses, encoder->state.losses.size) ||
        !window_fits(&state.norms, encoder->state.norms.size))
        return dm_fail(err, DM_EFORMAT, "encoder: a state of other windows, or a damaged one");
    encoder->state = state;
    return DM_OK;
}

dm_status dm_dynamics_fit_scaling(dm_dynamics *model, const float *features, size_t count,
                                  dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE_SOME(err, features, count);
    size_t I = model->config.input, rows = 0;
    double *sums = calloc(2 * I, sizeof *sums);
    if (sums == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t pass = 0; pass < 2; pass++) {
        rows = 0;
        for (size_t k = 0; k < count; k++) {
            bool finite = true;
            for (size_t i = 0; i < I && finite; i++)
                finite = dm_enc_finite(features[k * I + i]);
            rows += finite;
            for (size_t i = 0; i < I && finite; i++) {
                double x = (double)features[k * I + i], d = x - sums[i];
                sums[pass * I + i] += pass == 0 ? x : d * d;
            }
        }
        for (size_t i = 0; i < I && rows > 0; i++)
            sums[pass * I + i] /= (double)rows;
    }
    for (size_t i = 0; i < I && rows > 0; i++) {
        double deviation = sqrt(sums[I + i]);
        model->shift[i] = (float)sums[i];
        model->scale[i] = deviation > 1e-6 * (fabs(sums[i]) + 1e-6) ? (float)(1 / deviation) : 1;
    }
    free(sums);
    return rows > 0 ? DM_OK : dm_fail(err, DM_EINVAL, "dynamics: no finite features to scale by");
}
