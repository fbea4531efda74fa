/* SPDX-License-Identifier: MIT */
/* dynamics_case.c - see dynamics_case.h. */
#include "tests/dynamics/dynamics_case.h"

#include "base/philox.h"

#include <stdlib.h>

float *dyn_random(size_t n, uint64_t seed, float bound)
{
    float *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (2 * dm_random_unit(dm_random4(seed, 77, i).v[0]) - 1) * bound;
    return out;
}

double *dyn_to_double(const float *from, size_t n)
{
    double *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)from[i];
    return out;
}

dm_dynamics *dyn_model(dm_dynamics_config config, uint64_t seed)
{
    dm_dynamics *model = NULL;
    assert_ok(dm_dynamics_create(&config, seed, &model, err));
    size_t count;
    for (uint32_t e = 0; e < config.members; e++) {
        float *b = dm_dynamics_weights(model, e, DM_DYNAMICS_B, &count);
        for (size_t i = 0; i < count; i++)
            b[i] = 0.02f * (float)((int)(i % 11) - 5);
        float *c = dm_dynamics_weights(model, e, DM_DYNAMICS_C, &count);
        for (size_t i = 0; i < count; i++)
            c[i] = 0.03f * (float)((int)(i % 7) - 3);
    }
    return model;
}

void dyn_member64_init(dyn_member64 *m, const dm_dynamics *model, uint32_t member)
{
    m->weights = dyn_to_double(dm_dynamics_member(model, member), model->layout.total);
    m->member = (dm_ref64_member){&model->config, &model->layout, m->weights,
                                  (double)model->shift[0], (double)model->scale[0]};
}

void dyn_member64_deinit(dyn_member64 *m)
{
    free(m->weights);
}
