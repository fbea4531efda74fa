/* SPDX-License-Identifier: MIT */
/* residual.c - see residual.h. */
#include "train/predict/residual.h"

#include <math.h>
#include <stdlib.h>

dm_status dm_residual_store_init(dm_residual_store *store, dm_error *err)
{
    *store = (dm_residual_store){.entries = calloc(DM_RESIDUALS_MAX, sizeof *store->entries)};
    return store->entries != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

void dm_residual_store_deinit(dm_residual_store *store)
{
    free(store->entries);
    *store = (dm_residual_store){0};
}

size_t dm_residual_store_count(const dm_residual_store *store)
{
    return store->added < DM_RESIDUALS_MAX ? (size_t)store->added : DM_RESIDUALS_MAX;
}

bool dm_residual_store_add(dm_residual_store *store, const dm_residual *residual)
{
    bool finite = isfinite(residual->residual) && isfinite(residual->confidence);
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
        finite = finite && isfinite(residual->features[i]);
    if (finite)
        store->entries[store->added++ % DM_RESIDUALS_MAX] = *residual;
    return finite;
}

/* 0 when either has no length. */
static double cosine(const float *a, const float *b)
{
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
}

size_t dm_residual_store_nearest(const dm_residual_store *store,
                                 const float features[DM_DYNAMICS_ENCODER_FEATURES],
                                 dm_residual_match *matches, size_t most)
{
    size_t count = dm_residual_store_count(store), found = 0;
    for (size_t age = 0; age < count && most > 0; age++) { /* newest first */
        const dm_residual *entry = &store->entries[(store->added - 1 - age) % DM_RESIDUALS_MAX];
        dm_residual_match match = {entry, cosine(entry->features, features)};
        if (found == most && !(match.cosine > matches[found - 1].cosine))
            continue;
        size_t at = found < most ? found++ : found - 1;
        for (; at > 0 && match.cosine > matches[at - 1].cosine; at--)
            matches[at] = matches[at - 1];
        matches[at] = match;
    }
    return found;
}
