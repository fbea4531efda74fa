/* SPDX-License-Identifier: MIT */
/* model.c - configuration and weights of an ensemble. */
#include "base/philox.h"
#include "base/require.h"
#include "dynamics/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64u

const char *const dm_dynamics_part_names[DM_DYNAMICS_PART_COUNT] = {"W", "U",          "b",
                                                                    "c", "projection", "head"};

void *dm_dynamics_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, bytes);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

/* ---- Sizes ---- */

static dm_status check_size(const char *name, uint32_t value, uint32_t most, dm_error *err)
{
    if (value >= 1 && value <= most)
        return DM_OK;
    return dm_fail(err, DM_EINVAL, "dynamics: %s is %u; it must be 1 to %u", name, value, most);
}

dm_status dm_dynamics_layout_make(const dm_dynamics_config *c, dm_dynamics_layout *out,
                                  dm_error *err)
{
    dm_status status = check_size("members", c->members, DM_DYNAMICS_MEMBERS_MAX, err);
    if (status == DM_OK)
        status = check_size("hidden", c->hidden, DM_DYNAMICS_SIZE_MAX, err);
    if (status == DM_OK)
        status = check_size("stochastic", c->stochastic, DM_DYNAMICS_SIZE_MAX, err);
    if (status == DM_OK)
        status = check_size("input", c->input, DM_DYNAMICS_SIZE_MAX, err);
    if (status == DM_OK && c->kind != DM_DYNAMICS_GRU_RESET_FIRST &&
        c->kind != DM_DYNAMICS_GRU_RESET_LAST)
        status = dm_fail(err, DM_EINVAL, "dynamics: there is no kind %d of cell", (int)c->kind);
    if (status != DM_OK)
        return status;
    size_t I = c->input, H = c->hidden, S = c->stochastic;
    /* 65,536 squared, three times: no overflow in 64 bits. */
    out->count[DM_DYNAMICS_W] = 3 * H * I;
    out->count[DM_DYNAMICS_U] = 3 * H * H;
    out->count[DM_DYNAMICS_B] = 3 * H;
    out->count[DM_DYNAMICS_C] = c->kind == DM_DYNAMICS_GRU_RESET_LAST ? H : 0;
    out->count[DM_DYNAMICS_PROJECTION] = c->projection ? S * H : 0;
    out->count[DM_DYNAMICS_HEAD] = H + S;
    out->total = 0;
    for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++) {
        out->offset[part] = out->total;
        out->total += out->count[part];
    }
    out->stride = (out->total + 15) / 16 * 16;
    return DM_OK;
}

/* ---- Initialisation ---- */

/* Uniform within +-bound; element i is a function of (seed, stream, i) alone. */
static void draw(float *to, size_t count, uint64_t seed, uint64_t stream, double bound)
{
    for (size_t i = 0; i < count; i += 4) {
        dm_philox4 words = dm_random4(seed, stream, i / 4);
        for (size_t k = 0; k < 4 && i + k < count; k++)
            to[i + k] = (float)((2.0 * (double)dm_random_unit(words.v[k]) - 1.0) * bound);
    }
}

static void initialise(dm_dynamics *model, uint64_t seed)
{
    const dm_dynamics_config *c = &model->config;
    double I = c->input, H = c->hidden, S = c->stochastic;
    const double sizes[DM_DYNAMICS_PART_COUNT] = {I + H, H + H, 0, 0, H + S, H + S + 1};
    for (uint32_t e = 0; e < c->members; e++) {
        for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++) {
            if (sizes[part] == 0)
                continue; /* biases stay 0 */
            draw(model->weights + e * model->layout.stride + model->layout.offset[part],
                 model->layout.count[part], seed,
                 (uint64_t)e * DM_DYNAMICS_PART_COUNT + (unsigned)part, sqrt(2.0 / sizes[part]));
        }
    }
    for (uint32_t i = 0; i < c->input; i++)
        model->scale[i] = 1;
}

/* ---- The model ---- */

dm_status dm_dynamics_create(const dm_dynamics_config *config, uint64_t seed, dm_dynamics **out,
                             dm_error *err)
{
    DM_REQUIRE(err, config);
    DM_REQUIRE(err, out);
    dm_dynamics_layout layout;
    dm_status status = dm_dynamics_layout_make(config, &layout, err);
    if (status != DM_OK)
        return status;
    dm_dynamics *model = calloc(1, sizeof *model);
    if (model == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    model->config = *config;
    model->layout = layout;
    model->weights = dm_dynamics_alloc(config->members * layout.stride, sizeof(float));
    model->shift = dm_dynamics_alloc(config->input, sizeof(float));
    model->scale = dm_dynamics_alloc(config->input, sizeof(float));
    if (model->weights == NULL || model->shift == NULL || model->scale == NULL) {
        dm_dynamics_destroy(model);
        return dm_fail(err, DM_ENOMEM, "dynamics: no memory for %u members of %zu weights",
                       config->members, layout.total);
    }
    initialise(model, seed);
    *out = model;
    return DM_OK;
}

void dm_dynamics_destroy(dm_dynamics *model)
{
    if (model == NULL)
        return;
    free(model->weights);
    free(model->shift);
    free(model->scale);
    free(model->curve);
    free(model);
}

const dm_dynamics_config *dm_dynamics_get_config(const dm_dynamics *model)
{
    if (model == NULL)
        return NULL;
    return &model->config;
}

float *dm_dynamics_weights(dm_dynamics *model, uint32_t member, dm_dynamics_part part,
                           size_t *count)
{
    if (model == NULL)
        return NULL;
    bool there = member < model->config.members && (unsigned)part < DM_DYNAMICS_PART_COUNT &&
                 model->layout.count[part] > 0;
    if (count != NULL)
        *count = there ? model->layout.count[part] : 0;
    return there ? model->weights + member * model->layout.stride + model->layout.offset[part]
                 : NULL;
}

float *dm_dynamics_shift(dm_dynamics *model)
{
    if (model == NULL)
        return NULL;
    return model->shift;
}

float *dm_dynamics_scale(dm_dynamics *model)
{
    if (model == NULL)
        return NULL;
    return model->scale;
}

dm_status dm_dynamics_import_torch(dm_dynamics *model, uint32_t member, const float *weight_ih,
                                   const float *weight_hh, const float *bias_ih,
                                   const float *bias_hh, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, weight_ih);
    DM_REQUIRE(err, weight_hh);
    static const size_t theirs[3] = {1, 0, 2}; /* our z, r, n in their order r, z, n */
    if (model->config.kind != DM_DYNAMICS_GRU_RESET_LAST)
        return dm_fail(err, DM_EINVAL,
                       "dynamics: PyTorch's GRU is of the kind DM_DYNAMICS_GRU_RESET_LAST");
    if (member >= model->config.members)
        return dm_fail(err, DM_EINVAL, "dynamics: member %u of %u", member, model->config.members);
    size_t I = model->config.input, H = model->config.hidden;
    float *W = dm_dynamics_weights(model, member, DM_DYNAMICS_W, NULL);
    float *U = dm_dynamics_weights(model, member, DM_DYNAMICS_U, NULL);
    float *b = dm_dynamics_weights(model, member, DM_DYNAMICS_B, NULL);
    float *c = dm_dynamics_weights(model, member, DM_DYNAMICS_C, NULL);
    for (size_t gate = 0; gate < 3; gate++) {
        size_t from = theirs[gate];
        memcpy(W + gate * H * I, weight_ih + from * H * I, H * I * sizeof *W);
        memcpy(U + gate * H * H, weight_hh + from * H * H, H * H * sizeof *U);
        for (size_t i = 0; i < H; i++) {
            float ih = bias_ih != NULL ? bias_ih[from * H + i] : 0;
            float hh = bias_hh != NULL ? bias_hh[from * H + i] : 0;
            /* Two biases of z and r are always added; those of n are not. */
            b[gate * H + i] = gate < 2 ? ih + hh : ih;
            if (gate == 2)
                c[i] = hh;
        }
    }
    return DM_OK;
}
