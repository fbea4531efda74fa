/* SPDX-License-Identifier: MIT */
/* correct.c - a turn of CORRECT: the next batch without learning, beside the forecast. */
#include "train/predict/run/internal.h"

#include <math.h>

dm_status dm_predictive_correct(dm_predictive *p, dm_error *err)
{
    dm_predictive_core *c = &p->c;
    const dm_predict_pending *q = &c->proposal;
    dm_status status = p->run.peek(p->run.user, c->progress + c->correct_at, &p->turn.loss, err);
    if (status != DM_OK)
        return status;
    c->counts.forward += 1;
    /* After a jump the forecast of the steps that it stood for has come to its end; without one
     * the weights are those from which it was made. */
    uint64_t at = q->made ? q->length + c->correct_at : 0;
    if (q->forecast.steps > 0 && isfinite(p->turn.loss))
        dm_predictive_remember(
            p, p->turn.loss,
            (double)q->forecast.mean[at < q->forecast.steps ? at : q->forecast.steps - 1],
            (uint32_t)at + 1, p->c.confidence_now);
    c->correct_at++;
    dm_predict_phases_step(&c->phases);
    return DM_OK;
}
