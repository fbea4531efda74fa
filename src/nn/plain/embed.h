/* SPDX-License-Identifier: MIT */
/* embed.h - token and position embeddings, plain. */

static dm_status PLAIN(embed)(dm_nn_exec *exec, const dm_nn_embed *op, const int32_t *ids,
                              const void *token_, const void *position_, void *y_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *token = token_, *position = position_;
    REAL *y = y_;
    for (size_t i = 0; i < (size_t)op->B * op->T; i++)
        for (size_t c = 0; c < op->C; c++)
            y[i * op->C + c] = token[(size_t)ids[i] * op->C + c] +
                               (position ? position[i % op->T * op->C + c] : 0);
    return DM_OK;
}

static dm_status PLAIN(embed_backward)(dm_nn_exec *exec, const dm_nn_embed *op, const int32_t *ids,
                                       const void *dy_, void *dtoken_, void *dposition_,
                                       dm_error *err)
{
    (void)exec, (void)err;
    const REAL *dy = dy_;
    REAL *dtoken = dtoken_, *dposition = dposition_;
    for (size_t i = 0; i < (size_t)op->B * op->T; i++)
        for (size_t c = 0; c < op->C; c++) {
            dtoken[(size_t)ids[i] * op->C + c] += dy[i * op->C + c];
            if (dposition)
                dposition[i % op->T * op->C + c] += dy[i * op->C + c];
        }
    return DM_OK;
}
