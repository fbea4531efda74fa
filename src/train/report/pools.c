/* SPDX-License-Identifier: MIT */
/* pools.c - what the rules of a sweep would have cost and found on recorded pools, beside the report's tables.
 *
 * Pools of one task are those whose runs have the same parameters. Each is replayed with the others of its task as
 * history, and with all pools of the other tasks, which the calibration has to notice. */
#include "base/buffer.h"
#include "train/report/report.h"
#include "train/sweep/replay.h"

#include <stdlib.h>
#include <string.h>

enum { POOLS_MAX = 64 };

/* The names of the first run's parameters. */
static void kind_of(const dm_sweep_curves *pool, char *out, size_t size)
{
    const char *key;
    json_t *value;
    size_t used = 0;
    out[0] = 0;
    if (pool->count == 0)
        return;
    json_object_foreach(pool->items[0].parameters, key, value)
    {
        (void)value;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", key);
    }
}

typedef struct summary {
    double share, regret; /* sum of the shares; largest regret */
    double high;          /* largest share */
    size_t good, pools, used;
} summary;

static dm_status add_all(dm_sweep_curves *to, const dm_sweep_curves *from, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < from->count && status == DM_OK; i++)
        status = dm_sweep_curves_add(to, &from->items[i], err);
    return status;
}

/* Pool p by one rule; history from the pools of its own kind, or from all others. */
static dm_status replay(const dm_sweep_curves *pools, const size_t *kinds, size_t count, size_t p,
                        const dm_replay_trial *t, bool own, summary *s, dm_error *err)
{
    dm_sweep_curves history = {0};
    dm_sweep_rules rules = dm_sweep_rules_default;
    dm_replay_result r = {0};
    dm_status status = DM_OK;
    for (size_t q = 0; q < count && status == DM_OK; q++)
        if (q != p && (kinds[q] == kinds[p]) == own)
            status = add_all(&history, &pools[q], err);
    rules.first = t->first;
    rules.z = t->z;
    if (status == DM_OK)
        status = dm_sweep_replay(&pools[p], t->rule, &rules, &history, &r, err);
    dm_sweep_curves_deinit(&history);
    s->pools++;
    s->share += r.share;
    s->high = r.share > s->high ? r.share : s->high;
    s->regret = r.regret > s->regret ? r.regret : s->regret;
    s->good += r.regret < 0.01;
    s->used += r.forecasts;
    return status;
}

static void put_row(dm_buffer *out, const char *name, const summary *s, size_t runs)
{
    dm_buffer_printf(out, "| %s | %.1f (%.0f%%; at most %.0f%%) | %zu of %zu | %.1f%% |\n", name,
                     s->share / (double)s->pools * (double)runs, 100 * s->share / (double)s->pools,
                     100 * s->high, s->good, s->pools, 100 * s->regret);
}

static dm_status put_kind(const dm_sweep_curves *pools, const size_t *kinds, size_t count,
                          size_t kind, const char *name, size_t kind_count, dm_buffer *out,
                          dm_error *err)
{
    dm_status status = DM_OK;
    size_t runs = 0, own = 0;
    for (size_t p = 0; p < count; p++)
        if (kinds[p] == kind) {
            runs = pools[p].count;
            own++;
        }
    dm_buffer_printf(
        out,
        "**%zu pools of %zu runs** (%s). Cost in full runs; regret: final metric of the "
        "chosen run over the best of all.\n\n| rule | cost | regret below 1%% | largest "
        "regret |\n|---|---|---|---|\n",
        own, runs, name);
    for (size_t t = 0; t < DM_REPLAY_TRIALS && status == DM_OK; t++) {
        summary s = {0};
        for (size_t p = 0; p < count && status == DM_OK; p++)
            if (kinds[p] == kind)
                status = replay(pools, kinds, count, p, &dm_replay_trials[t], true, &s, err);
        put_row(out, dm_replay_trials[t].name, &s, runs);
    }
    if (kind_count > 1 && status == DM_OK) {
        summary s = {0};
        for (size_t p = 0; p < count && status == DM_OK; p++)
            if (kinds[p] == kind)
                status = replay(pools, kinds, count, p, &dm_replay_trials[DM_REPLAY_FORECAST],
                                false, &s, err);
        put_row(out, "forecast, z = 2, history of the other task", &s, runs);
        dm_buffer_printf(out, "\nThe history of the other task was refused in %zu of %zu pools.\n",
                         s.pools - s.used, s.pools);
    }
    dm_buffer_putc(out, '\n');
    return status;
}

dm_status dm_report_pools_check(const dm_report_options *options, dm_error *err)
{
    dm_status status = DM_OK;
    if (options->pool_count > POOLS_MAX)
        return dm_fail(err, DM_EINVAL, "--replay: at most %d pools", POOLS_MAX);
    for (size_t i = 0; i < options->pool_count && status == DM_OK; i++) {
        dm_sweep_curves pool = {0};
        status = dm_sweep_curves_read(options->pools[i], &pool, err);
        dm_sweep_curves_deinit(&pool);
    }
    return status;
}

dm_status dm_report_pools(const dm_report_options *options, dm_buffer *out, dm_error *err)
{
    dm_sweep_curves pools[POOLS_MAX] = {{0}};
    size_t kinds[POOLS_MAX], kind_count = 0;
    char names[POOLS_MAX][256];
    dm_status status = DM_OK;
    for (size_t i = 0; i < options->pool_count && status == DM_OK; i++) {
        status = dm_sweep_curves_read(options->pools[i], &pools[i], err);
        kind_of(&pools[i], names[kind_count], sizeof names[0]);
        kinds[i] = 0;
        while (strcmp(names[kinds[i]], names[kind_count]) != 0)
            kinds[i]++;
        kind_count += kinds[i] == kind_count;
    }
    for (size_t k = 0; k < kind_count && status == DM_OK; k++)
        status = put_kind(pools, kinds, options->pool_count, k, names[k], kind_count, out, err);
    for (size_t i = 0; i < options->pool_count; i++)
        dm_sweep_curves_deinit(&pools[i]);
    return status;
}
