/* SPDX-License-Identifier: MIT */
/* gains.c - what prediction gained: each predictive method beside the plain one of its schedule.
 *
 * The measure is the loss of a predictive run after as many backward passes as a plain run makes in all. Whole runs do
 * not compare: one that went back has made more by its end, and one whose jumps were kept has made fewer. */
#include "train/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NEAR 1.01 /* of the plain run's loss */

static size_t method_named(const dm_report_plan *plan, const char *name)
{
    size_t m = 0;
    while (m + 1 < plan->method_count && strcmp(plan->methods[m].name, name) != 0)
        m++;
    return m;
}

/* The last point of a run with at most so many backward passes; NULL: none. */
static const dm_report_point *last_within(const dm_report_run *run, double passes)
{
    const dm_report_point *last = NULL;
    for (size_t i = 0; i < run->count; i++)
        if ((double)run->points[i].backward <= passes)
            last = &run->points[i];
    return last;
}

dm_report_gain dm_report_gain_of(const dm_report *r, size_t task, size_t method)
{
    const dm_report_plan *plan = &r->plan;
    bool constant = strstr(plan->methods[method].name, "constant") != NULL;
    dm_report_gain g = {.plain = method_named(plan, constant ? "constant rate" : "linear decay")};
    double losses[DM_REPORT_SEEDS_MAX], reached[DM_REPORT_SEEDS_MAX];
    double passes = dm_report_passes(r, task, g.plain).median,
           wanted = dm_report_finals(r, task, g.plain).median;
    size_t seeds = plan->tasks[task].seeds, count = 0;
    for (size_t i = 0; i < seeds; i++) {
        const dm_report_run *run = &r->results[task][method].runs[i];
        const dm_report_point *last = last_within(run, passes),
                              *first = dm_report_run_reached(run, NEAR * wanted);
        losses[i] = last != NULL && run->failed[0] == 0 ? last->loss : (double)INFINITY;
        if (first != NULL && (double)first->backward <= passes)
            reached[count++] = (double)first->backward;
        g.proposed += run->proposed;
        g.accepted += run->accepted;
        g.undone += run->undone;
        g.rollbacks += run->rollbacks;
        g.plainly += run->plain_from > 0;
    }
    g.loss = dm_report_spread_of(losses, seeds);
    g.passes = dm_report_spread_of(reached, count);
    g.off = g.loss.median / wanted - 1;
    g.holds = g.loss.median <= NEAR * wanted;
    return g;
}

/* ---- As many backward passes as a plain run ---- */

static void put_gain_row(const dm_report *r, size_t task, size_t m, dm_buffer *out)
{
    const dm_report_plan *plan = &r->plan;
    dm_report_gain g = dm_report_gain_of(r, task, m);
    dm_buffer_printf(out, "| %s, %s |", plan->tasks[task].key, plan->methods[m].name);
    dm_report_put_spread(out, dm_report_finals(r, task, g.plain), 1);
    dm_report_put_spread(out, dm_report_passes(r, task, g.plain), 1);
    dm_report_put_spread(out, g.loss, 1);
    if (isfinite(g.off))
        dm_buffer_printf(out, " %+.1f%%: **%s** |", 100 * g.off, g.holds ? "yes" : "no");
    else
        dm_buffer_puts(out, " **no** |");
    dm_buffer_printf(out, " %zu of %" PRIu64 " |", g.passes.count, plan->tasks[task].seeds);
    dm_report_put_spread(out, g.passes, 1);
    dm_report_put_spread(out, dm_report_finals(r, task, m), 1);
    dm_report_put_spread(out, dm_report_passes(r, task, m), 1);
    dm_buffer_putc(out, '\n');
}

/* "Within 1% in 5 of 6 cases; not in cnn, predictive, constant (+2.1%)." */
static void put_sum(const dm_report *r, dm_buffer *out)
{
    size_t cases = 0, held = 0;
    dm_buffer missed = DM_BUFFER_EMPTY;
    for (size_t t = 0; t < r->plan.task_count; t++)
        for (size_t m = 0; m < r->plan.method_count; m++) {
            if (!r->plan.methods[m].predicts)
                continue;
            dm_report_gain g = dm_report_gain_of(r, t, m);
            cases++;
            held += g.holds;
            if (!g.holds)
                dm_buffer_printf(&missed, "%s %s, %s (%+.1f%%)", missed.size > 0 ? ";" : "",
                                 r->plan.tasks[t].key, r->plan.methods[m].name, 100 * g.off);
        }
    dm_buffer_printf(out, "Within 1%% of the plain run's loss in %zu of %zu cases", held, cases);
    if (held < cases)
        dm_buffer_printf(out, "; not in%s", dm_buffer_text(&missed));
    dm_buffer_puts(out, ".\n\n");
    dm_buffer_deinit(&missed);
}

static void put_gain_table(const dm_report *r, dm_buffer *out)
{
    dm_buffer_puts(
        out,
        "Each predictive method beside the plain run of the same schedule: its loss once it has "
        "made as many backward passes as a plain run makes in all. Medians of seeds (ranges); "
        "\"reached\": seeds whose loss is within 1% of the plain runs' median in as many "
        "passes, and after how many it first is.\n\n"
        "| | plain: final loss | passes | predictive: loss in as many passes | off, within 1% | "
        "reached | after passes | final loss | passes in all |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t t = 0; t < r->plan.task_count; t++)
        for (size_t m = 0; m < r->plan.method_count; m++)
            if (r->plan.methods[m].predicts)
                put_gain_row(r, t, m, out);
    dm_buffer_putc(out, '\n');
}

/* ---- Until the target of linear decay ---- */

/* "3% more" */
static void put_ratio(dm_buffer *out, double of, double to)
{
    double change = 100 * (of / to - 1);
    dm_buffer_printf(out, "%.0f%% %s", fabs(change), change < 0 ? "fewer" : "more");
}

static void put_target(const dm_report *r, size_t task, size_t m, dm_buffer *out)
{
    static const char *const names[DM_REPORT_COSTS] = {
        " backward passes, ", " FLOPs with all checks, and ", " seconds than linear decay"};
    const dm_report_plan *plan = &r->plan;
    size_t decay = method_named(plan, "linear decay");
    dm_report_spread own = dm_report_cost(r, task, m, DM_REPORT_BACKWARD),
                     its = dm_report_cost(r, task, decay, DM_REPORT_BACKWARD);
    dm_buffer_printf(out,
                     "- **%s, %s**: the target of linear decay is reached by %zu of %" PRIu64
                     " seeds (linear decay: %zu)",
                     plan->tasks[task].key, plan->methods[m].name, own.count,
                     plan->tasks[task].seeds, its.count);
    for (int c = 0; c < DM_REPORT_COSTS && own.count > 0 && its.count > 0; c++) {
        dm_buffer_puts(out, c == 0 ? ", by these with " : "");
        put_ratio(out, dm_report_cost(r, task, m, c).median,
                  dm_report_cost(r, task, decay, c).median);
        dm_buffer_puts(out, names[c]);
    }
    dm_buffer_puts(out, ".\n");
}

/* The method that reaches the target for the fewest FLOPs with most seeds. */
static void put_best(const dm_report *r, size_t task, dm_buffer *out)
{
    const dm_report_plan *plan = &r->plan;
    size_t best = plan->method_count;
    for (size_t m = 0; m < plan->method_count; m++) {
        dm_report_spread cost = dm_report_cost(r, task, m, DM_REPORT_FLOPS);
        if (cost.count == 0)
            continue;
        dm_report_spread old = best < plan->method_count
                                   ? dm_report_cost(r, task, best, DM_REPORT_FLOPS)
                                   : (dm_report_spread){0};
        if (cost.count > old.count || (cost.count == old.count && cost.median < old.median))
            best = m;
    }
    if (best < plan->method_count)
        dm_buffer_printf(
            out,
            "- %s: the target is reached by most seeds and then for the fewest FLOPs by **%s**.\n",
            plan->tasks[task].key, plan->methods[best].name);
}

void dm_report_put_gains(const dm_report *r, dm_buffer *out)
{
    dm_buffer_puts(out, "## What prediction did not gain\n\n");
    put_sum(r, out);
    put_gain_table(r, out);
    for (size_t t = 0; t < r->plan.task_count; t++) {
        for (size_t m = 0; m < r->plan.method_count; m++)
            if (r->plan.methods[m].predicts)
                put_target(r, t, m, out);
        put_best(r, t, out);
    }
    dm_buffer_putc(out, '\n');
}
