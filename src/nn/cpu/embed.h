/* SPDX-License-Identifier: MIT */
/* embed.h - token and position embeddings: rows added in vectors. */

static dm_status embed(dm_nn_exec *exec, const dm_nn_embed *op, const int32_t *ids,
                       const void *token, const void *position, void *y, dm_error *err)
{
    (void)exec, (void)err;
    size_t C = op->C;
    for (size_t i = 0; i < (size_t)op->B * op->T; i++) {
        const float *row = (const float *)token + (size_t)ids[i] * C;
        float *to = (float *)y + i * C;
        if (position)
            add_all(row, (const float *)position + i % op->T * C, to, C);
        else
            memcpy(to, row, C * sizeof(float));
    }
    return DM_OK;
}

static dm_status embed_backward(dm_nn_exec *exec, const dm_nn_embed *op, const int32_t *ids,
                                const void *dy, void *dtoken, void *dposition, dm_error *err)
{
    (void)exec, (void)err;
    size_t C = op->C;
    for (size_t i = 0; i < (size_t)op->B * op->T; i++) {
        const float *d = (const float *)dy + i * C;
        float *row = (float *)dtoken + (size_t)ids[i] * C;
        add_all(row, d, row, C);
        if (dposition) {
            row = (float *)dposition + i % op->T * C;
            add_all(row, d, row, C);
        }
    }
    return DM_OK;
}
