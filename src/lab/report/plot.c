/* SPDX-License-Identifier: MIT */
/* plot.c - plots by gnuplot.
 *
 * Both axes are logarithmic: the figures span four orders of magnitude, and a straight line of
 * slope one is what perfect scaling looks like. Backends differ in colour, in line and in the shape
 * of their points, so that a print without colour can be read, too. */
#include "lab/report/plot.h"
#include "base/host/gnuplot.h"
#include "base/host/machine.h"
#include "lab/report/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool dm_lab_plot_has_speedup(const dm_lab_group *g)
{
    for (size_t b = 0; b < g->backend_count; b++)
        for (size_t k = 0; k < g->backend_count; k++)
            if (dm_lab_group_compares(g, b, k))
                return true;
    return false;
}

static void put_style(dm_buffer *out, const dm_lab_group *g, const char *title, const char *y)
{
    static const char *const colours[] = {"#0b3c8c", "#d1580a", "#1b7f4d", "#7b3294",
                                          "#444444", "#b8860b", "#008b8b", "#a52a2a"};
    static const int points[] = {7, 5, 9, 13, 6, 4, 8, 12};
    dm_buffer_printf(out,
                     "set title '%s'\nset xlabel 'machines'\nset ylabel '%s'\n"
                     "set logscale xy\nset grid xtics ytics lc rgb '#bbbbbb' lt 1 lw 1\n"
                     "set key outside top center horizontal\nset border 3\nset tics nomirror\n"
                     "set format y '%%.0s%%c'\nset xtics (",
                     title, y);
    for (size_t i = 0; i < g->env_count; i++)
        dm_buffer_printf(out, "%s'%" PRIu64 "' %" PRIu64, i > 0 ? ", " : "", g->envs[i],
                         g->envs[i]);
    dm_buffer_printf(out, ")\nset xrange [%g:%g]\n", (double)g->envs[0] * 0.7,
                     (double)g->envs[g->env_count - 1] * 1.4);
    for (int i = 0; i < 8; i++)
        dm_buffer_printf(out, "set style line %d lc rgb '%s' lw 2 dt %d pt %d ps 1\n", i + 1,
                         colours[i], i % 5 + 1, points[i]);
}

static void put_fps(dm_buffer *out, const dm_lab_group *g)
{
    for (size_t b = 0; b < g->backend_count; b++) {
        dm_buffer_printf(out, "$b%zu << END\n", b);
        for (size_t e = 0; e < g->env_count && !g->is_reference[b]; e++) {
            const dm_lab_figure *f = dm_lab_group_find(g, g->backends[b], g->envs[e], SIZE_MAX);
            if (f != NULL)
                dm_buffer_printf(out, "%" PRIu64 " %.6g %.6g %.6g\n", f->envs, f->fps, f->low,
                                 f->high);
        }
        dm_buffer_puts(out, "END\n");
    }
    dm_buffer_puts(out, "plot ");
    for (size_t b = 0; b < g->backend_count; b++) {
        dm_buffer_puts(out, b > 0 ? ", " : "");
        if (g->is_reference[b]) {
            /* Waiting machines cost a reference nothing: one figure, whatever their number. */
            const dm_lab_figure *f = dm_lab_group_find(g, g->backends[b], UINT64_MAX, SIZE_MAX);
            dm_buffer_printf(out, "%.6g with lines ls %zu title \"%s, %d threads\"", f->fps,
                             b % 8 + 1, g->backends[b], f->threads);
        } else {
            dm_buffer_printf(out, "$b%zu using 1:2:3:4 with yerrorlines ls %zu title \"%s\"", b,
                             b % 8 + 1, g->backends[b]);
        }
    }
    dm_buffer_puts(out, "\n");
}

static void put_speedup(dm_buffer *out, const dm_lab_group *g)
{
    size_t lines = 0;
    dm_buffer plot = DM_BUFFER_EMPTY;
    for (size_t b = 0; b < g->backend_count; b++)
        for (size_t k = 0; k < g->backend_count; k++) {
            if (!dm_lab_group_compares(g, b, k))
                continue;
            dm_buffer_printf(out, "$s%zu << END\n", lines);
            size_t count = 0;
            for (size_t e = 0; e < g->env_count; e++) {
                const dm_lab_figure *f = dm_lab_group_find(g, g->backends[b], g->envs[e], SIZE_MAX);
                const dm_lab_figure *base =
                    f == NULL ? NULL
                              : dm_lab_group_find(g, g->backends[k], g->envs[e], f->artifact);
                if (base != NULL && ++count > 0)
                    dm_buffer_printf(out, "%" PRIu64 " %.6g\n", f->envs, f->fps / base->fps);
            }
            dm_buffer_puts(out, "END\n");
            if (count == 0)
                continue;
            dm_buffer_printf(&plot, "%s$s%zu using 1:2 with linespoints ls %zu title \"",
                             lines > 0 ? ", " : "plot ", lines, lines % 8 + 1);
            dm_buffer_printf(&plot, "%s / %s\"", g->backends[b], g->backends[k]);
            lines++;
        }
    out->failed |= plot.failed;
    dm_buffer_printf(out, "%s\n", dm_buffer_text(&plot));
    dm_buffer_deinit(&plot);
}

/* The script's pictures: NAME_ROM_STAGE.png and .svg. */
static void put_plot(dm_buffer *out, const dm_lab_group *g, const char *folder, const char *name,
                     const char *y, const char *about,
                     void (*put)(dm_buffer *, const dm_lab_group *))
{
    static const char *const terminals[2][2] = {
        {"png", "pngcairo noenhanced size 960,600 font 'sans,12' background '#ffffff'"},
        {"svg", "svg noenhanced size 960,600 font 'sans,14' background '#ffffff'"}};
    for (int i = 0; i < 2; i++) {
        char of[256], title[320], path[DM_PATH_MAX];
        dm_lab_table_title(g, of, sizeof of);
        snprintf(title, sizeof title, "%s: %s", of, about);
        dm_buffer_printf(out, "reset\nset terminal %s\nset output ", terminals[i][1]);
        snprintf(path, sizeof path, "%s/%s_%s_%s.%s", folder, name, g->first->rom, g->first->stage,
                 terminals[i][0]);
        dm_gnuplot_quote(out, path);
        dm_buffer_puts(out, "\n");
        put_style(out, g, title, y);
        put(out, g);
        dm_buffer_puts(out, "unset output\n");
    }
}

dm_status dm_lab_plot(const dm_lab_group *g, const char *folder, dm_error *err)
{
    dm_buffer script = DM_BUFFER_EMPTY;
    put_plot(&script, g, folder, "fps", "frames per second, all machines", "speed", put_fps);
    if (dm_lab_plot_has_speedup(g))
        put_plot(&script, g, folder, "speedup", "times the reference", "ratio to the references",
                 put_speedup);
    char what[256];
    dm_lab_table_title(g, what, sizeof what);
    dm_status status = dm_gnuplot_run(&script, what, err);
    dm_buffer_deinit(&script);
    return status;
}
