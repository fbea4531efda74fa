/* SPDX-License-Identifier: MIT */
/* page.c - see page.h. */
#include "train/sweep/page.h"
#include "base/file.h"
#include "base/host/gnuplot.h"
#include "base/terminal/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void put_escaped(dm_buffer *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '<')
            dm_buffer_puts(out, "&lt;");
        else if (*text == '>')
            dm_buffer_puts(out, "&gt;");
        else if (*text == '&')
            dm_buffer_puts(out, "&amp;");
        else
            dm_buffer_putc(out, *text);
    }
}

/* ---- The picture ---- */

enum { STOPPED, COMPLETE, WINNER, KINDS };

static int kind_of(const dm_decider *d, size_t run)
{
    if (run == dm_decider_winner(d))
        return WINNER;
    return d->runs[run].state == DM_SWEEP_DONE ? COMPLETE : STOPPED;
}

/* Curves with a blank line between two; then where the stopped ones end. */
static void put_points(const dm_sweep_spec *spec, const dm_decider *d, dm_buffer *script)
{
    static const char *const names[KINDS] = {"stopped", "complete", "winner"};
    for (int kind = 0; kind < KINDS; kind++) {
        dm_buffer_printf(script, "$%s << EOD\n", names[kind]);
        for (size_t i = 0; i < d->count; i++) {
            if (kind_of(d, i) != kind || d->runs[i].reached == 0)
                continue;
            for (size_t c = 0; c < d->runs[i].reached; c++)
                dm_buffer_printf(script, "%" PRIu64 " %.6g\n", (uint64_t)(c + 1) * spec->stride,
                                 d->runs[i].values[c]);
            dm_buffer_putc(script, '\n');
        }
        dm_buffer_puts(script, "EOD\n");
    }
    dm_buffer_puts(script, "$ends << EOD\n");
    for (size_t i = 0; i < d->count; i++)
        if (kind_of(d, i) == STOPPED && d->runs[i].reached > 0)
            dm_buffer_printf(script, "%" PRIu64 " %.6g\n",
                             (uint64_t)d->runs[i].reached * spec->stride,
                             d->runs[i].values[d->runs[i].reached - 1]);
    dm_buffer_puts(script, "EOD\n");
}

static dm_status draw(const dm_sweep_spec *spec, const dm_decider *d, const char *path,
                      dm_error *err)
{
    dm_buffer script = DM_BUFFER_EMPTY;
    double low = INFINITY, high = 0, median_first = 0;
    for (size_t i = 0; i < d->count; i++)
        for (size_t c = 0; c < d->runs[i].reached; c++) {
            low = fmin(low, d->runs[i].values[c]);
            high = fmax(high, d->runs[i].values[c]);
        }
    /* A few that diverge do not flatten all others. */
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->runs[i].reached > 0) {
            median_first += log(d->runs[i].values[0]);
            n++;
        }
    high = n > 0 ? fmin(high, 2 * exp(median_first / (double)n)) : high;
    dm_buffer_puts(&script, "set terminal svg noenhanced size 960,560 font 'sans,14' background "
                            "'#ffffff'\nset output ");
    dm_gnuplot_quote(&script, path);
    dm_buffer_puts(&script, "\nset grid\nset logscale y\nset xlabel 'step'\nset ylabel ");
    dm_gnuplot_quote(&script, spec->metric);
    dm_buffer_printf(&script, "\nset yrange [%.6g:%.6g]\nset key outside bottom horizontal\n",
                     low * 0.97, fmax(high, low * 1.1));
    put_points(spec, d, &script);
    dm_buffer_puts(
        &script, "plot $stopped using 1:2 with lines lc rgb '#b0b0b0' title 'stopped', $ends using "
                 "1:2 with points pt 7 ps 0.4 lc rgb '#d06030' title 'stopped here', $complete "
                 "using 1:2 with lines lw 1.5 lc rgb '#4070c0' title 'complete', $winner using 1:2 "
                 "with lines lw 3 lc rgb '#107010' title 'winner'\n");
    dm_status status = dm_gnuplot_run(&script, path, err);
    if (status == DM_OK)
        status = dm_gnuplot_check_file(path, err);
    dm_buffer_deinit(&script);
    return status;
}

static void put_picture(const dm_sweep_spec *spec, const dm_decider *d, const char *folder,
                        dm_buffer *page)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_error reason = {0};
    dm_status status = dm_path_join(path, folder, "curves.svg", &reason);
    if (status == DM_OK)
        status = draw(spec, d, path, &reason);
    if (status == DM_OK)
        status = dm_file_read(path, (size_t)64 << 20, &text, &size, &reason);
    const char *svg = status == DM_OK ? strstr(text, "<svg") : NULL;
    if (svg != NULL) {
        dm_buffer_puts(page, svg);
    } else {
        dm_buffer_puts(page, "<p>No picture: ");
        put_escaped(page, reason.message);
        dm_buffer_puts(page, "</p>\n");
    }
    free(text);
}

/* ---- The text ---- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>dotmatrix "
    "sweep</title>\n<style>\nbody { font-family: sans-serif; max-width: 68rem; margin: 2rem auto; "
    "padding: 0 1rem; color: #222; }\ntable { border-collapse: collapse; margin: 1rem 0; "
    "font-size: .9rem; font-variant-numeric: tabular-nums; }\nth, td { border: 1px solid #bbb; "
    "padding: .2rem .5rem; text-align: right; }\ntd.why { text-align: left; }\nth { background: "
    "#eee; font-weight: normal; }\ntr.winner { background: #e3f3e3; }\nsvg { max-width: 100%; "
    "height: auto; }\n</style></head><body>\n";

static void put_value(const json_t *value, dm_buffer *page)
{
    if (json_is_string(value))
        put_escaped(page, json_string_value(value));
    else
        dm_buffer_printf(page, "%.6g", json_number_value(value));
}

static void put_row(const dm_sweep_spec *spec, const dm_decider *d, const json_t *parameters,
                    size_t run, dm_buffer *page)
{
    const dm_sweep_run *r = &d->runs[run];
    bool winner = run == dm_decider_winner(d);
    dm_buffer_printf(page, "<tr%s><td>%zu</td>", winner ? " class=\"winner\"" : "", run);
    for (size_t i = 0; i < spec->space.parameter_count; i++) {
        dm_buffer_puts(page, "<td>");
        put_value(json_object_get(parameters, spec->space.parameters[i].name), page);
        dm_buffer_puts(page, "</td>");
    }
    uint64_t step = (uint64_t)r->reached * spec->stride;
    dm_buffer_printf(page, "<td>%" PRIu64 "</td><td>", step < spec->steps ? step : spec->steps);
    if (r->reached > 0)
        dm_buffer_printf(page, "%.5g", r->values[r->reached - 1]);
    dm_buffer_puts(page, "</td><td class=\"why\">");
    put_escaped(page, winner                         ? "winner"
                      : r->state == DM_SWEEP_DONE    ? "complete"
                      : r->state == DM_SWEEP_STOPPED ? r->reason
                      : r->state == DM_SWEEP_FAILED  ? r->reason
                                                     : "not finished");
    dm_buffer_puts(page, "</td></tr>\n");
}

static void put_summary(const dm_sweep *sweep, const dm_sweep_spec *spec, const dm_decider *d,
                        dm_buffer *page)
{
    size_t winner = dm_decider_winner(d), complete = 0, failed = 0;
    for (size_t i = 0; i < d->count; i++) {
        complete += d->runs[i].state == DM_SWEEP_DONE;
        failed += d->runs[i].state == DM_SWEEP_FAILED;
    }
    dm_buffer_puts(page, "<h1>Sweep of ");
    put_escaped(page, spec->task != NULL ? spec->task : "a command");
    dm_buffer_printf(
        page,
        ": %zu configurations</h1>\n<p>Rule: %s. %zu runs are complete, %zu failed, "
        "the others were stopped. The cost is that of %.1f full runs (%.0f%% of all). ",
        d->count, dm_sweep_rule_names[d->rule], complete, failed, dm_sweep_cost(sweep),
        100 * dm_sweep_cost(sweep) / (double)d->count);
    if (winner < d->count) {
        dm_buffer_printf(page, "The winner is run %zu with ", winner);
        put_escaped(page, spec->metric);
        dm_buffer_printf(page, " %.6g.", d->runs[winner].values[d->checks - 1]);
    }
    dm_buffer_puts(page, "</p>\n");
    if (d->rule == DM_SWEEP_FORECAST)
        dm_buffer_printf(page,
                         "<p>Forecasts were %s at the end; sweep.jsonl has the calibration "
                         "(\"switch\").</p>\n",
                         d->forecasts ? "used" : "not used");
}

typedef struct order {
    const dm_decider *decider;
    size_t run;
} order;

/* Complete ones by their final metric; then the others by how far they came, then by their metric. */
static int by_end(const void *a, const void *b)
{
    const order *x = a, *y = b;
    const dm_sweep_run *r = &x->decider->runs[x->run], *q = &y->decider->runs[y->run];
    if (r->reached != q->reached)
        return r->reached > q->reached ? -1 : 1;
    double v = r->reached > 0 ? r->values[r->reached - 1] : 0,
           w = q->reached > 0 ? q->values[q->reached - 1] : 0;
    return v != w ? (v > w) - (v < w) : (x->run > y->run) - (x->run < y->run);
}

dm_status dm_sweep_page(const dm_sweep *sweep, json_t *const *parameters, const char *folder,
                        dm_error *err)
{
    const dm_sweep_spec *spec = dm_sweep_spec_of(sweep);
    const dm_decider *d = dm_sweep_decider(sweep);
    char path[DM_PATH_MAX];
    dm_buffer page = DM_BUFFER_EMPTY;
    order *runs = calloc(d->count, sizeof *runs);
    if (runs == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < d->count; i++)
        runs[i] = (order){d, i};
    qsort(runs, d->count, sizeof *runs, by_end);
    dm_buffer_puts(&page, head);
    put_summary(sweep, spec, d, &page);
    put_picture(spec, d, folder, &page);
    dm_buffer_puts(&page, "<table>\n<tr><th>run</th>");
    for (size_t i = 0; i < spec->space.parameter_count; i++) {
        dm_buffer_puts(&page, "<th>");
        put_escaped(&page, spec->space.parameters[i].name);
        dm_buffer_puts(&page, "</th>");
    }
    dm_buffer_puts(&page, "<th>steps</th><th>");
    put_escaped(&page, spec->metric);
    dm_buffer_puts(&page, "</th><th>why it ended</th></tr>\n");
    for (size_t i = 0; i < d->count; i++)
        put_row(spec, d, parameters[runs[i].run], runs[i].run, &page);
    dm_buffer_puts(&page, "</table>\n</body></html>\n");
    free(runs);
    dm_status status = dm_buffer_check(&page, err);
    if (status == DM_OK)
        status = dm_path_join(path, folder, "index.html", err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(&page), page.size, err);
    dm_buffer_deinit(&page);
    return status;
}
