/* SPDX-License-Identifier: MIT */
/* page.c - the report's words, tables and plots: report.md, index.html, report.json. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/host/gnuplot.h"
#include "base/terminal/log.h"
#include "train/report/markdown.h"
#include "train/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 80 };

/* ---- Plots ---- */

static const char *const colours[DM_REPORT_METHODS_MAX] = {
    "#808080", "#1f5fa8", "#30a0c0", "#7040a0", "#d06030", "#c02040", "#408030", "#000000"};

static double x_of(const dm_report_run *run, const dm_report_point *p, bool flops)
{
    return flops ? dm_report_run_flops(run, p) * 1e-9 : (double)p->backward;
}

/* The loss at the last evaluation that had cost no more than x; NaN before the first. */
static double loss_at(const dm_report_run *run, double x, bool flops)
{
    double loss = (double)NAN;
    for (size_t i = 0; i < run->count && x_of(run, &run->points[i], flops) <= x; i++)
        loss = run->points[i].loss;
    return loss;
}

static double largest_x(const dm_report *r, size_t task, bool flops)
{
    double largest = 0;
    for (size_t m = 0; m < r->plan.method_count; m++)
        for (size_t i = 0; i < r->plan.tasks[task].seeds; i++) {
            const dm_report_run *run = &r->results[task][m].runs[i];
            if (run->count > 0)
                largest = fmax(largest, x_of(run, &run->points[run->count - 1], flops));
        }
    return largest;
}

/* Lines "x median low high" where all seeds have a value. */
static void put_curve(const dm_report *r, size_t task, size_t method, bool flops, double largest,
                      dm_buffer *script)
{
    size_t seeds = r->plan.tasks[task].seeds;
    double *values = calloc(seeds, sizeof *values);
    dm_buffer_printf(script, "$m%zu << EOD\n", method);
    for (int g = 1; g <= GRID && values != NULL; g++) {
        double x = largest * g / GRID;
        size_t count = 0, running = 0;
        for (size_t i = 0; i < seeds; i++) {
            const dm_report_run *run = &r->results[task][method].runs[i];
            double loss = loss_at(run, x, flops);
            if (isfinite(loss))
                values[count++] = loss;
            running += run->count > 0 &&
                       x_of(run, &run->points[run->count - 1], flops) >= x - largest / GRID;
        }
        dm_report_spread s = dm_report_spread_of(values, count);
        if (count == seeds && running > 0)
            dm_buffer_printf(script, "%.6g %.6g %.6g %.6g\n", x, s.median, s.low, s.high);
    }
    free(values);
    dm_buffer_puts(script, "EOD\n");
}

static dm_status draw(const dm_report *r, size_t task, bool flops, const char *name, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer script = DM_BUFFER_EMPTY;
    double largest = largest_x(r, task, flops);
    dm_status status = dm_path_join(path, r->options->folder, name, err);
    dm_buffer_puts(&script, "set terminal svg noenhanced size 900,480 font 'sans,13' background "
                            "'#ffffff'\nset output ");
    dm_gnuplot_quote(&script, path);
    dm_buffer_printf(&script,
                     "\nset grid\nset logscale y\nset xlabel '%s'\nset ylabel 'validation loss'\n"
                     "set style fill transparent solid 0.15 noborder\nset key outside bottom "
                     "horizontal\nset xrange [0:%.6g]\n",
                     flops ? "GFLOP, checks counted" : "backward passes", largest);
    for (size_t m = 0; m < r->plan.method_count; m++)
        put_curve(r, task, m, flops, largest, &script);
    dm_buffer_printf(&script, "plot %.6g with lines dt 2 lc rgb '#404040' title 'target'",
                     r->target[task]);
    for (size_t m = 0; m < r->plan.method_count; m++)
        dm_buffer_printf(&script,
                         ", $m%zu using 1:3:4 with filledcurves lc rgb '%s' notitle, $m%zu using "
                         "1:2 with lines lw 2 lc rgb '%s' title '%s'",
                         m, colours[m], m, colours[m], r->plan.methods[m].name);
    dm_buffer_putc(&script, '\n');
    if (status == DM_OK)
        status = dm_gnuplot_run(&script, path, err);
    if (status == DM_OK)
        status = dm_gnuplot_check_file(path, err);
    dm_buffer_deinit(&script);
    return status;
}

static void put_plots(const dm_report *r, size_t task, dm_buffer *out)
{
    for (int flops = 1; flops >= 0; flops--) {
        char name[64];
        dm_error reason = {0};
        const char *of = flops ? "flops" : "passes";
        snprintf(name, sizeof name, "%s-%s.svg", r->plan.tasks[task].key, of);
        if (draw(r, task, flops, name, &reason) == DM_OK)
            dm_buffer_printf(out, "![%s by %s](%s)\n", r->plan.tasks[task].key, of, name);
        else
            dm_log(DM_LOG_WARN, "no %s: %s", name, reason.message);
    }
    dm_buffer_putc(out, '\n');
}

/* ---- Tables ---- */

void dm_report_put_spread(dm_buffer *out, dm_report_spread s, double scale)
{
    if (s.count == 0)
        dm_buffer_puts(out, " - |");
    else if (!isfinite(s.median))
        dm_buffer_puts(out, " diverged |");
    else if (s.low == s.high)
        dm_buffer_printf(out, " %.4g |", s.median * scale);
    else
        dm_buffer_printf(out, " %.4g (%.4g to %.4g) |", s.median * scale, s.low * scale,
                         s.high * scale);
}

static void put_table(const dm_report *r, size_t task, dm_buffer *out)
{
    const dm_report_plan *plan = &r->plan;
    dm_buffer_puts(out,
                   "| method | rate | final loss | backward passes in all | reached by | backward "
                   "passes until then | GFLOP | seconds |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t m = 0; m < plan->method_count; m++) {
        const dm_report_result *result = &r->results[task][m];
        bool edge = result->best == 0 || result->best + 1 == plan->tries;
        dm_report_spread reached = dm_report_cost(r, task, m, DM_REPORT_BACKWARD);
        dm_buffer_printf(out, "| %s | %g%s |", plan->methods[m].name,
                         dm_report_rate(plan, task, m, result->best), edge ? " (edge)" : "");
        dm_report_put_spread(out, dm_report_finals(r, task, m), 1);
        dm_report_put_spread(out, dm_report_passes(r, task, m), 1);
        dm_buffer_printf(out, " %zu of %" PRIu64 " |", reached.count, plan->tasks[task].seeds);
        dm_report_put_spread(out, reached, 1);
        dm_report_put_spread(out, dm_report_cost(r, task, m, DM_REPORT_FLOPS), 1e-9);
        dm_report_put_spread(out, dm_report_cost(r, task, m, DM_REPORT_SECONDS), 1);
        dm_buffer_putc(out, '\n');
    }
    dm_buffer_putc(out, '\n');
}

static void put_tries(const dm_report *r, size_t task, dm_buffer *out)
{
    const dm_report_plan *plan = &r->plan;
    dm_buffer_puts(out, "Tries on seed 1 (rate: final loss):\n\n| method |");
    for (size_t i = 0; i < plan->tries; i++)
        dm_buffer_printf(out, " try %zu |", i + 1);
    dm_buffer_puts(out, "\n|---|");
    for (size_t i = 0; i < plan->tries; i++)
        dm_buffer_puts(out, "---|");
    for (size_t m = 0; m < plan->method_count; m++) {
        dm_buffer_printf(out, "\n| %s |", plan->methods[m].name);
        for (size_t i = 0; i < plan->tries; i++) {
            double final = dm_report_run_final(&r->results[task][m].tries[i]);
            const char *mark = i == r->results[task][m].best ? "**" : "";
            dm_buffer_printf(out, " %s%g: ", mark, dm_report_rate(plan, task, m, i));
            if (isfinite(final))
                dm_buffer_printf(out, "%.4g%s |", final, mark);
            else
                dm_buffer_printf(out, "diverged%s |", mark);
        }
    }
    dm_buffer_puts(out, "\n\n");
}

static void put_predictions(const dm_report *r, size_t task, dm_buffer *out)
{
    for (size_t m = 0; m < r->plan.method_count; m++) {
        if (!r->plan.methods[m].predicts)
            continue;
        dm_report_gain g = dm_report_gain_of(r, task, m);
        dm_buffer_printf(out,
                         "- %s, all seeds together: %" PRIu64 " proposals, %" PRIu64
                         " accepted, of these %" PRIu64 " undone; %" PRIu64
                         " rollbacks of the monitor; %" PRIu64 " runs went on plainly.\n",
                         r->plan.methods[m].name, g.proposed, g.accepted, g.undone, g.rollbacks,
                         g.plainly);
    }
    dm_buffer_putc(out, '\n');
}

/* ---- The whole ---- */

static void put_fields(const dm_report_task *task, dm_buffer *out)
{
    char *text = json_dumps(json_object_get(task->object, "set"), JSON_REAL_PRECISION(6));
    dm_buffer_printf(out,
                     "`%s`, evaluated every %" PRIu64 " steps; averages keep %g of "
                     "themselves at each.\n\n",
                     text != NULL ? text : "", task->every, task->average);
    free(text);
}

/* The i-th run of a task: tries and seeds of all methods; NULL after the last. */
static const dm_report_run *run_of(const dm_report *r, size_t task, size_t i)
{
    size_t each = r->plan.tries + r->plan.tasks[task].seeds, m = i / each, k = i % each;
    if (m == r->plan.method_count)
        return NULL;
    const dm_report_result *result = &r->results[task][m];
    return k < r->plan.tries ? &result->tries[k] : &result->runs[k - r->plan.tries];
}

/* Runs of one device and build. */
typedef struct origin {
    const dm_report_origin *first;
    const char *from, *to; /* the earliest and latest end */
    size_t runs;
} origin;
enum { ORIGINS_MAX = 16 };

static size_t find_origins(const dm_report *r, size_t task, origin out[ORIGINS_MAX])
{
    const dm_report_run *run;
    size_t count = 0;
    for (size_t i = 0; (run = run_of(r, task, i)) != NULL; i++) {
        size_t k = 0;
        while (k < count && (strcmp(out[k].first->commit, run->made.commit) != 0 ||
                             strcmp(out[k].first->device, run->made.device) != 0))
            k++;
        if (k == ORIGINS_MAX)
            continue;
        if (k == count)
            out[count++] = (origin){&run->made, run->made.time, run->made.time, 0};
        out[k].runs++;
        out[k].from = strcmp(run->made.time, out[k].from) < 0 ? run->made.time : out[k].from;
        out[k].to = strcmp(run->made.time, out[k].to) > 0 ? run->made.time : out[k].to;
    }
    return count;
}

static void put_origins(const dm_report *r, size_t task, dm_buffer *out)
{
    origin all[ORIGINS_MAX];
    size_t count = find_origins(r, task, all);
    for (size_t i = 0; i < count; i++)
        dm_buffer_printf(out, "%s%zu runs on %s by build %s", i > 0 ? "; " : "", all[i].runs,
                         all[i].first->device, all[i].first->commit);
    dm_buffer_puts(out, ".\n\n");
}

static void put_json_origins(const dm_report *r, size_t task, dm_json *json)
{
    origin all[ORIGINS_MAX];
    size_t count = find_origins(r, task, all);
    dm_json_begin_array(json, "made");
    for (size_t i = 0; i < count; i++) {
        dm_json_begin_object(json, NULL);
        dm_json_uint(json, "runs", all[i].runs);
        dm_json_string(json, "device", all[i].first->device);
        dm_json_string(json, "commit", all[i].first->commit);
        dm_json_string(json, "from", all[i].from);
        dm_json_string(json, "to", all[i].to);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

static void put_method(const dm_report *r, dm_buffer *out)
{
    dm_buffer_printf(
        out,
        "## How it is measured\n\nEvery method has %zu tries of its rate on seed 1; the rate with "
        "the "
        "lowest final validation loss is trained with other seeds, on which all figures are: "
        "medians and ranges. \"edge\": the best try is the first or the last, so the optimum may "
        "lie outside. The target is the median final loss of linear decay plus 1%%. A backward "
        "pass "
        "counts as two forward passes; every forward pass of a proposal's check and of CORRECT is "
        "counted, and Muon's own products; the evaluations that find the moment are not, they are "
        "the same for all. Methods with averaged weights are evaluated with these. Seconds are "
        "those of the steps and checks: processor time of the one thread on a CPU, time of the "
        "clock "
        "on a GPU.\n",
        r->plan.tries);
}

static void put_json_spread(dm_json *json, const char *name, dm_report_spread s)
{
    dm_json_begin_object(json, name);
    dm_json_uint(json, "seeds", s.count);
    dm_json_double(json, "median", s.median);
    dm_json_double(json, "low", s.low);
    dm_json_double(json, "high", s.high);
    dm_json_end_object(json);
}

static void put_json_gain(const dm_report *r, size_t task, size_t method, dm_json *json)
{
    dm_report_gain g = dm_report_gain_of(r, task, method);
    dm_json_begin_object(json, "gain");
    dm_json_string(json, "plain", r->plan.methods[g.plain].name);
    put_json_spread(json, "loss_in_its_passes", g.loss);
    dm_json_double(json, "off", g.off);
    dm_json_bool(json, "holds", g.holds);
    put_json_spread(json, "passes_to_its_loss", g.passes);
    dm_json_uint(json, "proposed", g.proposed);
    dm_json_uint(json, "accepted", g.accepted);
    dm_json_uint(json, "undone", g.undone);
    dm_json_uint(json, "rollbacks", g.rollbacks);
    dm_json_uint(json, "went_on_plainly", g.plainly);
    dm_json_end_object(json);
}

static void put_json(const dm_report *r, dm_buffer *out)
{
    dm_json json;
    static const char *const costs[] = {"backward", "flops", "seconds"};
    dm_json_init(&json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_double(&json, "seconds", r->begun_seconds);
    for (size_t t = 0; t < r->plan.task_count; t++) {
        dm_json_begin_object(&json, r->plan.tasks[t].key);
        put_json_origins(r, t, &json);
        dm_json_double(&json, "target", r->target[t]);
        for (size_t m = 0; m < r->plan.method_count; m++) {
            const dm_report_result *result = &r->results[t][m];
            dm_json_begin_object(&json, r->plan.methods[m].name);
            dm_json_double(&json, "rate", dm_report_rate(&r->plan, t, m, result->best));
            dm_json_begin_array(&json, "final");
            for (size_t i = 0; i < r->plan.tasks[t].seeds; i++)
                dm_json_double(&json, NULL, dm_report_run_final(&result->runs[i]));
            dm_json_end_array(&json);
            put_json_spread(&json, "passes", dm_report_passes(r, t, m));
            for (int c = 0; c < DM_REPORT_COSTS; c++)
                put_json_spread(&json, costs[c], dm_report_cost(r, t, m, c));
            if (r->plan.methods[m].predicts)
                put_json_gain(r, t, m, &json);
            dm_json_end_object(&json);
        }
        dm_json_end_object(&json);
    }
    if (r->options->provenance != NULL)
        r->options->provenance(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
}

static dm_status write_file(const dm_report *r, const char *name, const dm_buffer *text,
                            dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        status = dm_path_join(path, r->options->folder, name, err);
    return status == DM_OK ? dm_file_write(path, dm_buffer_text(text), text->size, err) : status;
}

dm_status dm_report_write(const dm_report *r, dm_error *err)
{
    static const char title[] = "What training costs, with prediction and without";
    dm_buffer text = DM_BUFFER_EMPTY, filled = DM_BUFFER_EMPTY;
    dm_buffer page = DM_BUFFER_EMPTY, json = DM_BUFFER_EMPTY;
    dm_buffer_printf(&text, "# %s\n\n", title);
    if (r->options->quick)
        dm_buffer_puts(&text,
                       "**A quick report: sizes and seeds are too few to say anything.**\n\n");
    dm_report_put_gains(r, &text);
    dm_status status = DM_OK;
    if (r->options->pool_count > 0) {
        dm_buffer_puts(&text, "## What it is good for: which runs to continue\n\n");
        status = dm_report_pools(r->options, &text, err);
    }
    for (size_t t = 0; t < r->plan.task_count && status == DM_OK; t++) {
        dm_buffer_printf(&text, "## %s: until validation loss %.4g\n\n", r->plan.tasks[t].title,
                         r->target[t]);
        put_fields(&r->plan.tasks[t], &text);
        put_origins(r, t, &text);
        put_table(r, t, &text);
        put_plots(r, t, &text);
        put_predictions(r, t, &text);
        put_tries(r, t, &text);
    }
    put_method(r, &text);
    put_json(r, &json);
    if (status == DM_OK)
        status = dm_markdown_page(dm_buffer_text(&text), title, r->options->folder, &page, err);
    dm_markdown_fill(dm_buffer_text(&text), &filled);
    if (status == DM_OK)
        status = write_file(r, "report.md", &filled, err);
    if (status == DM_OK)
        status = write_file(r, "report.json", &json, err);
    if (status == DM_OK)
        status = write_file(r, "index.html", &page, err);
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&filled);
    dm_buffer_deinit(&page);
    dm_buffer_deinit(&json);
    return status;
}
