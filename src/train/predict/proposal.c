/* SPDX-License-Identifier: MIT */
/* proposal.c - see proposal.h. */
#include "train/predict/proposal.h"

#include <math.h>
#include <stdlib.h>

enum { SNAPSHOTS_MAX = 32 }; /* of rules.def */

dm_status dm_snapshots_init(dm_snapshots *s, size_t count, uint64_t kept, dm_error *err)
{
    *s = (dm_snapshots){.count = count, .kept = kept};
    if (count == 0 || kept < 2 || kept > SNAPSHOTS_MAX)
        return dm_fail(err, DM_EINVAL, "predict: 2 to %d snapshots of at least one number",
                       SNAPSHOTS_MAX);
    s->values = calloc(count * kept, sizeof *s->values);
    return s->values != NULL ? DM_OK
                             : dm_fail(err, DM_ENOMEM, "predict: no memory for %llu snapshots",
                                       (unsigned long long)kept);
}

void dm_snapshots_deinit(dm_snapshots *s)
{
    free(s->values);
    *s = (dm_snapshots){0};
}

float *dm_snapshots_next(dm_snapshots *s)
{
    return s->values + s->taken++ % s->kept * s->count;
}

uint64_t dm_snapshots_held(const dm_snapshots *s)
{
    return s->taken < s->kept ? s->taken : s->kept;
}

const float *dm_snapshots_at(const dm_snapshots *s, uint64_t back)
{
    return s->values + (s->taken - 1 - back) % s->kept * s->count;
}

void dm_snapshots_clear(dm_snapshots *s)
{
    s->taken = 0;
}

/* u_i . u_j of the differences u_i = s_{i+1} - s_i; 0 is the oldest. */
static double product(const dm_snapshots *s, uint64_t k, uint64_t i, uint64_t j)
{
    const float *a0 = dm_snapshots_at(s, k - i), *a1 = dm_snapshots_at(s, k - i - 1);
    const float *b0 = dm_snapshots_at(s, k - j), *b1 = dm_snapshots_at(s, k - j - 1);
    double sum = 0;
    for (size_t n = 0; n < s->count; n++)
        sum += ((double)a1[n] - a0[n]) * ((double)b1[n] - b0[n]);
    return sum;
}

/* Solve m[k][k] x = 1 by Gauss with pivots. */
static bool solve(double m[SNAPSHOTS_MAX][SNAPSHOTS_MAX], double *x, uint64_t k)
{
    for (uint64_t i = 0; i < k; i++)
        x[i] = 1;
    for (uint64_t c = 0; c < k; c++) {
        uint64_t pivot = c;
        for (uint64_t r = c + 1; r < k; r++)
            if (fabs(m[r][c]) > fabs(m[pivot][c]))
                pivot = r;
        if (!(fabs(m[pivot][c]) > 0))
            return false;
        for (uint64_t j = 0; j < k; j++) {
            double t = m[c][j];
            m[c][j] = m[pivot][j];
            m[pivot][j] = t;
        }
        double t = x[c];
        x[c] = x[pivot];
        x[pivot] = t;
        for (uint64_t r = c + 1; r < k; r++) {
            double f = m[r][c] / m[c][c];
            for (uint64_t j = c; j < k; j++)
                m[r][j] -= f * m[c][j];
            x[r] -= f * x[c];
        }
    }
    for (uint64_t c = k; c-- > 0;) {
        for (uint64_t j = c + 1; j < k; j++)
            x[c] -= m[c][j] * x[j];
        x[c] /= m[c][c];
    }
    return true;
}

bool dm_extrapolation(const dm_snapshots *s, double regularise, double *g)
{
    uint64_t held = dm_snapshots_held(s);
    if (held < 3)
        return false;
    uint64_t k = held - 1;
    double m[SNAPSHOTS_MAX][SNAPSHOTS_MAX], trace = 0, sum = 0;
    for (uint64_t i = 0; i < k; i++)
        for (uint64_t j = i; j < k; j++)
            m[i][j] = m[j][i] = product(s, k, i, j);
    for (uint64_t i = 0; i < k; i++)
        trace += m[i][i];
    if (!(trace > 0) || !isfinite(trace))
        return false;
    for (uint64_t i = 0; i < k; i++)
        m[i][i] += regularise * trace / (double)k;
    if (!solve(m, g, k))
        return false;
    for (uint64_t i = 0; i < k; i++)
        sum += g[i];
    for (uint64_t i = 0; i < k; i++)
        g[i] /= sum;
    return isfinite(sum) && fabs(sum) > 0;
}

/* E'[n] - E[n] of one number. */
static double movement(dm_proposal_kind kind, const dm_predict_rules *rules, double factor,
                       const dm_snapshots *s, const double *g, float average, size_t n)
{
    uint64_t k = dm_snapshots_held(s) - 1;
    if (kind == DM_PROPOSAL_EXTRAPOLATE) {
        double sum = 0;
        for (uint64_t i = 0; i < k; i++)
            sum += g[i] * dm_snapshots_at(s, k - i)[n];
        return sum - average;
    }
    double step = (double)dm_snapshots_at(s, 0)[n] - dm_snapshots_at(s, 1)[n];
    return (kind == DM_PROPOSAL_SHIFT ? factor : rules->proposal_momentum) * step;
}

bool dm_proposal_make(dm_proposal_kind kind, const dm_predict_rules *rules, uint64_t steps,
                      const dm_snapshots *s, float *average, float *weights)
{
    double g[SNAPSHOTS_MAX], factor = (double)steps / (double)rules->proposal_every;
    if (kind <= DM_PROPOSAL_NONE || kind >= DM_PROPOSALS || dm_snapshots_held(s) < 2)
        return false;
    if (kind == DM_PROPOSAL_EXTRAPOLATE && !dm_extrapolation(s, rules->proposal_regularise, g))
        return false;
    for (size_t n = 0; n < s->count; n++)
        if (!isfinite((float)(weights[n] + movement(kind, rules, factor, s, g, average[n], n))) ||
            !isfinite((float)(average[n] + movement(kind, rules, factor, s, g, average[n], n))))
            return false;
    for (size_t n = 0; n < s->count; n++) {
        double by = movement(kind, rules, factor, s, g, average[n], n);
        float moved = (float)(average[n] + by);
        weights[n] = kind == DM_PROPOSAL_NESTEROV ? moved : (float)(weights[n] + by);
        average[n] = moved;
    }
    return true;
}
