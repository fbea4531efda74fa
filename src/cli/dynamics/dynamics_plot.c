/* SPDX-License-Identifier: MIT */
/* dynamics_plot.c - see dynamics_plot.h. The script, with its data, goes to gnuplot's standard input. */
#include "cli/dynamics/dynamics_plot.h"

#include "base/file.h"
#include "base/host/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- gnuplot ---- */

static dm_status run_script(const dm_buffer *script, const char *path, dm_error *err)
{
    dm_status status = dm_gnuplot_run(script, path, err);
    return status == DM_OK ? dm_gnuplot_check_file(path, err) : status;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), own = strlen(end);
    return length > own && strcmp(path + length - own, end) == 0;
}

dm_status dm_dyn_plot_check_name(const char *path, dm_error *err)
{
    if (!ends_with(path, ".png") && !ends_with(path, ".svg"))
        return dm_fail(err, DM_EINVAL, "%s: a plot is a .png or a .svg", path);
    return DM_OK;
}

static dm_status begin(dm_buffer *script, const char *path, dm_error *err)
{
    bool png = ends_with(path, ".png");
    dm_status status = dm_dyn_plot_check_name(path, err);
    if (status != DM_OK)
        return status;
    dm_buffer_printf(script, "set terminal %s size 1100,600\nset output '",
                     png ? "pngcairo" : "svg");
    for (const char *c = path; *c != 0; c++) { /* a quote inside quotes is doubled */
        if (*c == '\'')
            dm_buffer_putc(script, '\'');
        dm_buffer_putc(script, *c);
    }
    dm_buffer_puts(script, "'\nset grid\nset key outside right top\n");
    return DM_OK;
}

/* ---- A rollout ---- */

static void rollout_data(dm_buffer *script, const dm_dynamics_forecast *r, const float *seen,
                         size_t seen_count)
{
    size_t Y = r->steps;
    size_t first = seen_count > 4 * Y ? seen_count - 4 * Y : 0; /* the forecast is to be seen */
    dm_buffer_puts(script, "$seen << EOD\n");
    for (size_t t = first; t < seen_count; t++)
        dm_buffer_printf(script, "%ld %.9g\n", (long)t + 1 - (long)seen_count, (double)seen[t]);
    dm_buffer_puts(script, "EOD\n$rollout << EOD\n");
    for (size_t t = 0; t < Y; t++) {
        dm_buffer_printf(script, "%zu %.9g %.9g %.9g", t + 1, (double)r->mean[t],
                         (double)r->mean[t] - (double)r->total[t],
                         (double)r->mean[t] + (double)r->total[t]);
        for (size_t e = 0; e < r->members; e++)
            dm_buffer_printf(script, " %.9g", (double)r->loss[e * Y + t]);
        dm_buffer_puts(script, "\n");
    }
    dm_buffer_puts(script, "EOD\n");
}

/* The band with its edges, then every member, then the mean: each is seen on what is behind it. */
static void rollout_lines(dm_buffer *script, const dm_dynamics_forecast *r)
{
    dm_buffer_puts(script, "plot $rollout using 1:3:4 with filledcurves fc rgb '#c6dbef' title "
                           "'mean +- total', $rollout using 1:3 with lines lc rgb '#6baed6' "
                           "notitle, $rollout using 1:4 with lines lc rgb '#6baed6' notitle");
    for (size_t e = 0; e < r->members; e++)
        dm_buffer_printf(script, ", $rollout using 1:%zu with lines lw 1 lc rgb '#888888' %s",
                         e + 5, e == 0 ? "title 'members'" : "notitle");
    dm_buffer_puts(script, ", $rollout using 1:2 with lines lw 3 lc rgb 'black' title 'mean'");
}

dm_status dm_dyn_plot_rollout(const dm_dynamics_forecast *r, const float *seen, size_t seen_count,
                              const char *path, dm_error *err)
{
    dm_buffer script = DM_BUFFER_EMPTY;
    dm_status status = begin(&script, path, err);
    if (status == DM_OK) {
        rollout_data(&script, r, seen, seen_count);
        dm_buffer_puts(&script, "set key inside top right opaque\nset xlabel 'steps ahead'\n"
                                "set ylabel 'loss'\nset autoscale noextend\nset offsets 0,0,"
                                "graph 0.05,graph 0.05\n");
        if (seen_count > 0) {
            dm_buffer_printf(&script,
                             "set multiplot layout 1,2 title 'Forecast of the loss, %u steps ahead "
                             "of %zu'\nset title 'the run and its forecast'\n",
                             r->steps, seen_count);
            rollout_lines(&script, r);
            dm_buffer_puts(&script, ", $seen using 1:2 with lines lw 2 lc rgb '#0060ad' title "
                                    "'run'\nunset key\nset title 'the forecast alone'\n");
            rollout_lines(&script, r);
            dm_buffer_puts(&script, "\nunset multiplot\n");
        } else {
            dm_buffer_printf(
                &script,
                "set key outside right top\nset title 'Forecast of the loss, %u steps ahead'\n",
                r->steps);
            rollout_lines(&script, r);
            dm_buffer_puts(&script, "\n");
        }
        dm_buffer_puts(&script, "unset output\n");
        status = run_script(&script, path, err);
    }
    dm_buffer_deinit(&script);
    return status;
}

/* ---- A curve model's forecast ---- */

static void forecast_data(dm_buffer *script, const dm_dynamics_curve_forecast *f,
                          const dm_dynamics_sample *seen, size_t first, size_t count, double *low,
                          double *high)
{
    *low = INFINITY;
    *high = 0;
    dm_buffer_puts(script, "$seen << EOD\n");
    for (size_t t = first; t < count; t++) {
        dm_buffer_printf(script, "%ld %.9g\n", (long)t + 1 - (long)count, (double)seen[t].loss);
        *low = fmin(*low, (double)seen[t].loss);
        *high = fmax(*high, (double)seen[t].loss);
    }
    dm_buffer_puts(script, "EOD\n$forecast << EOD\n");
    for (size_t t = 0; t < f->steps; t++) {
        dm_buffer_printf(script, "%zu %.9g %.9g %.9g", t + 1, (double)f->mean[t], (double)f->low[t],
                         (double)f->high[t]);
        for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
            dm_buffer_printf(script, " %.9g", (double)f->baseline[k][t]);
        dm_buffer_puts(script, "\n");
        *low = fmin(*low, (double)f->low[t]);
        *high = fmax(*high, (double)f->high[t]);
    }
    dm_buffer_puts(script, "EOD\n");
}

/* Logarithmic where the losses span more than a factor of 5; with 1, 2 and 5 of every decade up to a
 * few decades, which gnuplot itself does not label. */
static void loss_axis(dm_buffer *script, double low, double high)
{
    if (high < 5 * low)
        return;
    dm_buffer_puts(script, "set logscale y\nset format y '%g'\n");
    if (high > 1e3 * low)
        return;
    int first = (int)floor(log10(low)), last = (int)ceil(log10(high));
    dm_buffer_puts(script, "set ytics (");
    for (int decade = first; decade <= last; decade++)
        dm_buffer_printf(script, "%s1e%d, 2e%d, 5e%d", decade > first ? ", " : "", decade, decade,
                         decade);
    dm_buffer_puts(script, ")\n");
}

dm_status dm_dyn_plot_forecast(const dm_dynamics_curve_forecast *f, const dm_dynamics_sample *seen,
                               size_t seen_count, const char *title, const char *path,
                               dm_error *err)
{
    static const char *const names[DM_DYNAMICS_CURVE_BASELINES] = {"last value", "mean of 16",
                                                                   "linear trend", "power law"};
    static const char *const colours[DM_DYNAMICS_CURVE_BASELINES] = {"#888888", "#2ca02c",
                                                                     "#ff7f0e", "#9467bd"};
    dm_buffer script = DM_BUFFER_EMPTY;
    double low, high;
    size_t shown = 2 * (size_t)f->steps, first = seen_count > shown ? seen_count - shown : 0;
    dm_status status = begin(&script, path, err);
    if (status == DM_OK) {
        forecast_data(&script, f, seen, first, seen_count, &low, &high);
        loss_axis(&script, low, high);
        dm_buffer_puts(&script, "set title ");
        dm_gnuplot_quote(&script, title);
        dm_buffer_printf(&script,
                         " . ': %u steps ahead of %zu losses' noenhanced\n"
                         "set xlabel 'samples from now'\nset ylabel 'loss'\nset xrange "
                         "[%ld:%u]\nset yrange [%.9g:%.9g]\n"
                         "set arrow from 0, graph 0 to 0, graph 1 nohead dt 3 lc rgb '#888888'\n"
                         "plot $forecast using 1:3:4 with filledcurves fc rgb '#d0e0f4' "
                         "title '90%% band'",
                         f->steps, f->seen, (long)first + 1 - (long)seen_count, f->steps,
                         low / 1.02, high * 1.02);
        for (int k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
            dm_buffer_printf(&script,
                             ", $forecast using 1:%d with lines dt 2 lc rgb '%s' title '%s'", k + 5,
                             colours[k], names[k]);
        dm_buffer_puts(&script, ", $seen using 1:2 with lines lw 1 lc rgb '#0060ad' title 'run', "
                                "$forecast using 1:2 with lines lw 3 lc rgb 'black' title "
                                "'forecast'\n");
        status = run_script(&script, path, err);
    }
    dm_buffer_deinit(&script);
    return status;
}

/* ---- Benchmarks ---- */

/* One plot: rows of an array of the artifact, y over x, a line for every value of `series`. */
typedef struct figure {
    const char *name, *part, *x, *series, *title, *xlabel, *ylabel;
    const char *ys[3]; /* keys; each is a line of its own when there is no series */
} figure;

static const figure figures[] = {
    {"rollout",
     "rollout",
     "steps",
     NULL,
     "one rollout of the ensemble",
     "steps",
     "microseconds",
     {"wall_us", "device_us", "plain_us"}},
    {"batch",
     "batch",
     "rollouts",
     NULL,
     "many rollouts of 50 steps",
     "rollouts",
     "microseconds",
     {"wall_us", "device_us", NULL}},
    {"gru_cpu",
     "gru",
     "hidden",
     "batch",
     "one step of a batch",
     "hidden units",
     "microseconds",
     {"wall_us", NULL, NULL}},
    {"gru_device",
     "gru",
     "hidden",
     "batch",
     "one step of a batch",
     "hidden units",
     "microseconds",
     {"device_us", NULL, NULL}},
    {"encoder",
     "encoder",
     "history",
     NULL,
     "one update of the encoder",
     "samples before it",
     "microseconds",
     {"update_us", "scratch_us", NULL}},
    {"memory",
     "memory",
     "hidden",
     "members",
     "weights",
     "hidden units",
     "bytes",
     {"total_bytes", NULL, NULL}},
    {"budget",
     "memory",
     "hidden",
     NULL,
     "on-chip memory of a block",
     "hidden units",
     "bytes",
     {"block_register_bytes", "block_shared_bytes", NULL}},
    {"upload",
     "memory",
     "hidden",
     "members",
     "upload of the weights",
     "hidden units",
     "microseconds",
     {"upload_us", NULL, NULL}},
};

/* Rows that a figure does not show: other shapes and kinds than the chosen ones. */
static bool shown(const json_t *row)
{
    const char *kind = json_string_value(json_object_get(row, "kind"));
    const json_t *hidden = json_object_get(row, "hidden"), *steps = json_object_get(row, "steps");
    bool other_size = steps != NULL && hidden != NULL && json_integer_value(hidden) != 256;
    return json_integer_value(json_object_get(row, "block")) == 0 && !other_size &&
           (kind == NULL || strcmp(kind, "first") == 0);
}

/* A data block of the rows whose `series` is `value`; false when there are none. */
static bool add_block(dm_buffer *script, const json_t *rows, const figure *f, const char *y,
                      json_int_t value, int number)
{
    size_t count = 0;
    dm_buffer_printf(script, "$d%d << EOD\n", number);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *x = json_object_get(row, f->x),
                     *at = json_object_get(row, y);
        bool mine =
            f->series == NULL || json_integer_value(json_object_get(row, f->series)) == value;
        if (x == NULL || at == NULL || !mine || !shown(row))
            continue;
        dm_buffer_printf(script, "%.9g %.9g\n", json_number_value(x), json_number_value(at));
        count++;
    }
    dm_buffer_puts(script, "EOD\n");
    return count > 0;
}

static bool seen_before(const json_t *rows, const char *series, size_t row)
{
    json_int_t value = json_integer_value(json_object_get(json_array_get(rows, row), series));
    for (size_t i = 0; i < row; i++)
        if (json_integer_value(json_object_get(json_array_get(rows, i), series)) == value)
            return true;
    return false;
}

/* Data blocks and the list of lines for `plot`; gives the number of lines. */
static int add_lines(dm_buffer *script, dm_buffer *lines, const json_t *rows, const figure *f)
{
    int number = 0;
    for (int k = 0; k < 3 && f->ys[k] != NULL; k++) {
        for (size_t i = 0; i < (f->series != NULL ? json_array_size(rows) : 1); i++) {
            if (f->series != NULL && seen_before(rows, f->series, i))
                continue;
            json_int_t value =
                f->series != NULL
                    ? json_integer_value(json_object_get(json_array_get(rows, i), f->series))
                    : 0;
            if (!add_block(script, rows, f, f->ys[k], value, number))
                continue;
            dm_buffer_printf(lines, "%s$d%d smooth unique with linespoints title '",
                             lines->size > 0 ? ", " : "", number);
            if (f->series != NULL)
                dm_buffer_printf(lines, "%s %lld'", f->series, (long long)value);
            else
                dm_buffer_printf(lines, "%.*s'", (int)strcspn(f->ys[k], "_"), f->ys[k]);
            number++;
        }
    }
    return number;
}

static dm_status plot_figure(const json_t *artifact, const figure *f, const char *folder,
                             const char *form, dm_error *err)
{
    const json_t *rows = json_object_get(artifact, f->part);
    dm_buffer script = DM_BUFFER_EMPTY, lines = DM_BUFFER_EMPTY;
    char path[DM_PATH_MAX], name[64];
    snprintf(name, sizeof name, "dynamics_%s.%s", f->name, form);
    dm_status status = dm_path_join(path, folder, name, err);
    if (status == DM_OK)
        status = begin(&script, path, err);
    if (status == DM_OK && add_lines(&script, &lines, rows, f) > 0) {
        dm_buffer_printf(&script, "set title '%s'\nset xlabel '%s'\nset ylabel '%s'\n%splot %s\n",
                         f->title, f->xlabel, f->ylabel,
                         strcmp(f->x, "history") == 0 ? "set logscale y 10\n"
                                                      : "set logscale x 2\nset logscale y 10\n",
                         dm_buffer_text(&lines));
        status = run_script(&script, path, err);
    }
    dm_buffer_deinit(&script);
    dm_buffer_deinit(&lines);
    return status;
}

dm_status dm_dyn_plot_bench(const json_t *artifact, const char *folder, dm_error *err)
{
    static const char *const forms[] = {"png", "svg"};
    dm_status status = dm_dir_create(folder, err);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0] && status == DM_OK; i++)
        for (size_t k = 0; k < 2 && status == DM_OK; k++)
            status = plot_figure(artifact, &figures[i], folder, forms[k], err);
    return status;
}
