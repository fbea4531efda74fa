/* SPDX-License-Identifier: MIT */
/* proposal.c - see proposal.h. */
#include "train/predict/proposal.h"

#include <math.h>

enum { SNAPSHOTS_MAX = DM_SNAPSHOTS_MAX };

dm_status dm_snapshots_init(dm_snapshots *s, dm_nn_store *store, size_t first, uint64_t kept,
                            dm_error *err)
{
    *s = (dm_snapshots){.store = store, .first = first, .kept = kept};
    return kept >= 2 && kept <= SNAPSHOTS_MAX
               ? DM_OK
               : dm_fail(err, DM_EINVAL, "predict: 2 to %d snapshots", SNAPSHOTS_MAX);
}

size_t dm_snapshots_next(dm_snapshots *s)
{
    return s->first + (size_t)(s->taken++ % s->kept);
}

uint64_t dm_snapshots_held(const dm_snapshots *s)
{
    return s->taken < s->kept ? s->taken : s->kept;
}

size_t dm_snapshots_at(const dm_snapshots *s, uint64_t back)
{
    return s->first + (size_t)((s->taken - 1 - back) % s->kept);
}

void dm_snapshots_clear(dm_snapshots *s)
{
    s->taken = 0;
}

/* u_i . u_j of the differences u_i = s_{i+1} - s_i; 0 is the oldest. */
static dm_status product(const dm_snapshots *s, uint64_t k, uint64_t i, uint64_t j, double *out,
                         dm_error *err)
{
    return dm_nn_store_product(s->store, dm_snapshots_at(s, k - i - 1), dm_snapshots_at(s, k - i),
                               dm_snapshots_at(s, k - j - 1), dm_snapshots_at(s, k - j), out, err);
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

dm_status dm_extrapolation(const dm_snapshots *s, double regularise, double *g, bool *solved,
                           dm_error *err)
{
    uint64_t held = dm_snapshots_held(s);
    *solved = false;
    if (held < 3)
        return DM_OK;
    uint64_t k = held - 1;
    double m[SNAPSHOTS_MAX][SNAPSHOTS_MAX], trace = 0, sum = 0;
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < k; i++)
        for (uint64_t j = i; j < k && status == DM_OK; j++) {
            status = product(s, k, i, j, &m[i][j], err);
            m[j][i] = m[i][j];
        }
    if (status != DM_OK)
        return status;
    for (uint64_t i = 0; i < k; i++)
        trace += m[i][i];
    if (!(trace > 0) || !isfinite(trace))
        return DM_OK;
    for (uint64_t i = 0; i < k; i++)
        m[i][i] += regularise * trace / (double)k;
    if (!solve(m, g, k))
        return DM_OK;
    for (uint64_t i = 0; i < k; i++)
        sum += g[i];
    for (uint64_t i = 0; i < k; i++)
        g[i] /= sum;
    *solved = isfinite(sum) && fabs(sum) > 0;
    return DM_OK;
}

dm_status dm_proposal_make(dm_proposal_kind kind, const dm_predict_rules *rules, uint64_t steps,
                           const dm_snapshots *s, size_t average, size_t weights, bool *made,
                           dm_error *err)
{
    size_t slots[SNAPSHOTS_MAX + 1];
    double factors[SNAPSHOTS_MAX + 1];
    uint64_t held = dm_snapshots_held(s);
    dm_nn_move move = {.slot = slots,
                       .factor = factors,
                       .average = average,
                       .weights = weights,
                       .onto_average = kind == DM_PROPOSAL_NESTEROV};
    *made = false;
    if (kind <= DM_PROPOSAL_NONE || kind >= DM_PROPOSALS || held < 2)
        return DM_OK;
    if (kind == DM_PROPOSAL_EXTRAPOLATE) { /* the sum of g_i s_i, less the average */
        dm_status status = dm_extrapolation(s, rules->proposal_regularise, factors, made, err);
        if (status != DM_OK || !*made)
            return status;
        move.terms = (size_t)held;
        for (uint64_t i = 0; i + 1 < held; i++)
            slots[i] = dm_snapshots_at(s, held - 1 - i);
        slots[held - 1] = average;
        factors[held - 1] = -1;
    } else {
        double factor = kind == DM_PROPOSAL_SHIFT ? (double)steps / (double)rules->proposal_every
                                                  : rules->proposal_momentum;
        move.terms = 2;
        slots[0] = dm_snapshots_at(s, 0);
        slots[1] = dm_snapshots_at(s, 1);
        factors[0] = factor;
        factors[1] = -factor;
    }
    return dm_nn_store_move(s->store, &move, made, err);
}
