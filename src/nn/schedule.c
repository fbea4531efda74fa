/* SPDX-License-Identifier: MIT */
/* schedule.c - learning rates over the steps of a run. */
#include <dotmatrix/nn.h>

#include <math.h>

float dm_nn_schedule_rate(const dm_nn_schedule *s, uint64_t step)
{
    if (s == NULL)
        return 0;
    if (step < s->warmup)
        return s->rate * (float)((double)(step + 1) / (double)s->warmup);
    if (s->kind == DM_NN_SCHEDULE_CONSTANT)
        return s->rate;
    if (step >= s->steps)
        return s->last;
    /* From 0 after the warm-up to 1 at the end. */
    double done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    double left = s->kind == DM_NN_SCHEDULE_LINEAR ? 1 - done
                                                   : 0.5 * (1 + cos(3.14159265358979323846 * done));
    return s->last + (float)left * (s->rate - s->last);
}
