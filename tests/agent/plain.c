/* SPDX-License-Identifier: MIT */
/* plain.c - sums by the definitions, without the recurrences that the kernels use. */
#include "tests/agent/plain.h"

#include <math.h>

/* V-trace's sum for step t: temporal differences of the later steps, each times the discounts and
 * traces of the steps between. With ratios of 1 this is GAE. */
static double later_sum(const dm_agent_plain_rollout *r, size_t t, size_t n)
{
    double sum = 0, weight = 1;
    for (size_t s = t; s < r->T; s++) {
        size_t i = s * r->N + n;
        if (r->flags[i] & DM_AGENT_BEGINS)
            break;
        double ratio = r->ratios ? r->ratios[i] : 1;
        double after = r->flags[i] & DM_AGENT_TERMINATED ? 0 : r->values[i + r->N];
        double used = r->ratios ? fmin(ratio, r->ratio_max) : 1;
        sum += weight * used * (r->rewards[i] + r->gamma * after - r->values[i]);
        weight *= r->gamma * r->decay * (r->ratios ? fmin(ratio, r->trace_max) : 1);
        if (r->flags[i] & (DM_AGENT_TERMINATED | DM_AGENT_TRUNCATED))
            break;
    }
    return sum;
}

void dm_agent_plain_advantages(const dm_agent_plain_rollout *r, double *advantages, double *returns)
{
    for (size_t t = 0; t < r->T; t++)
        for (size_t n = 0; n < r->N; n++) {
            size_t i = t * r->N + n;
            double sum = later_sum(r, t, n);
            returns[i] = r->values[i] + sum;
            advantages[i] = sum;
            if (!r->ratios || (r->flags[i] & DM_AGENT_BEGINS))
                continue;
            /* V-trace's policy gradient: reward and the next step's return, less this value. */
            double next = r->values[i + r->N];
            if (r->flags[i] & DM_AGENT_TERMINATED)
                next = 0;
            else if (!(r->flags[i] & DM_AGENT_TRUNCATED) && t + 1 < r->T)
                next += later_sum(r, t + 1, n);
            advantages[i] =
                fmin(r->ratios[i], r->ratio_max) * (r->rewards[i] + r->gamma * next - r->values[i]);
        }
}

double dm_agent_plain_ppo(const dm_agent_plain_sample *s, double parts[5], double *dlogits,
                          double *dvalue)
{
    double most = s->logits[0], entropy = 0;
    for (size_t a = 1; a < s->actions; a++)
        most = fmax(most, s->logits[a]);
    double total = exp(s->logits[0] - most);
    for (size_t a = 1; a < s->actions; a++)
        total += exp(s->logits[a] - most);
    double norm = most + log(total);
    for (size_t a = 0; a < s->actions; a++)
        entropy -= exp(s->logits[a] - norm) * (s->logits[a] - norm);

    double change = s->logits[s->action] - norm - s->chance, ratio = exp(change);
    double near = fmin(fmax(ratio, 1 - s->clip), 1 + s->clip);
    double free_loss = -s->advantage * ratio, near_loss = -s->advantage * near;
    double policy = fmax(free_loss, near_loss);

    double off = s->value - s->target, value = off * off, slope = 2 * off;
    if (s->value_clip > 0) {
        double moved = s->value - s->old_value;
        double held = s->old_value + fmin(fmax(moved, -s->value_clip), s->value_clip) - s->target;
        if (held * held > value) {
            value = held * held;
            slope = fabs(moved) < s->value_clip ? 2 * held : 0;
        }
    }
    parts[0] = policy;
    parts[1] = 0.5 * value;
    parts[2] = entropy;
    parts[3] = ratio - 1 - change;
    parts[4] = ratio != near;

    double dratio = free_loss >= near_loss ? -s->advantage : 0;
    for (size_t a = 0; a < s->actions; a++) {
        double chance = exp(s->logits[a] - norm);
        dlogits[a] = dratio * ratio * ((a == s->action) - chance) +
                     s->entropy_scale * chance * (s->logits[a] - norm + entropy);
    }
    *dvalue = s->value_scale * 0.5 * slope;
    return policy + s->value_scale * 0.5 * value - s->entropy_scale * entropy;
}
