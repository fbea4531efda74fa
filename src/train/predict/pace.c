/* SPDX-License-Identifier: MIT */
/* pace.c - see pace.h. */
#include "train/predict/pace.h"

#include <math.h>

void dm_pace_stand(dm_pace *p, uint64_t progress, double loss)
{
    p->begun = loss > 0 && isfinite(loss);
    p->at = progress;
    p->loss = loss;
}

void dm_pace_see(dm_pace *p, uint64_t progress, double loss)
{
    if (!(loss > 0) || !isfinite(loss))
        return;
    if (p->begun && progress < p->at + DM_PACE_LEAST)
        return; /* too early: the older look stays */
    if (p->begun) {
        double now = log(p->loss / loss) / (double)(progress - p->at);
        p->pace = p->known ? 0.5 * (p->pace + now) : now;
        p->known = 1;
    }
    dm_pace_stand(p, progress, loss);
}

void dm_pace_back(dm_pace *p, uint64_t progress)
{
    if (p->at > progress)
        p->begun = 0;
}

uint64_t dm_pace_worth(const dm_pace *p, double before, double after, uint64_t length)
{
    if (!p->known || !(after > 0) || !(after < before))
        return 0;
    double steps = p->pace > 0 ? log(before / after) / p->pace : (double)length;
    return steps < (double)length ? (uint64_t)steps : length;
}
