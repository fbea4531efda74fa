/* SPDX-License-Identifier: MIT */
/* report.c - the report: reads figures from artifacts and writes its folder. Tables: table.c, plots: plot.c. */
#include "lab/report/report.h"
#include "base/file.h"
#include "base/host/gnuplot.h"
#include "base/json.h"
#include "base/temp.h"
#include "lab/bench/bench.h"
#include "lab/report/plot.h"
#include "lab/report/table.h"
#include "lab/verify/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARTIFACTS_MAX 64
#define ARTIFACT_BYTES (64u << 20)

typedef struct report {
    json_t *artifacts[ARTIFACTS_MAX];
    const char *const *paths;
    size_t artifact_count;
    dm_lab_figures figures;
    char folder[DM_PATH_MAX]; /* being written */
    bool partial;
} report;

/* ---- Reading ---- */

static bool read_name(const json_t *row, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(row, key));
    if (text == NULL || text[0] == 0 || strlen(text) >= size)
        return false;
    snprintf(out, size, "%s", text);
    /* Names become parts of file names and of scripts. */
    for (char *c = out; *c != 0; c++)
        if (strchr("'\"\\/`$", *c) != NULL || (unsigned char)*c < ' ')
            *c = '_';
    return true;
}

static dm_status read_row(report *r, size_t artifact, const json_t *row, dm_error *err)
{
    const char *path = r->paths[artifact];
    dm_lab_figure f = {.artifact = artifact,
                       .is_reference = json_is_true(json_object_get(row, "is_reference")),
                       .envs = (uint64_t)json_integer_value(json_object_get(row, "envs")),
                       .threads = (int)json_integer_value(json_object_get(row, "threads")),
                       .machines = (uint64_t)json_integer_value(json_object_get(row, "machines")),
                       .fps = json_number_value(json_object_get(row, "fps")),
                       .low = json_number_value(json_object_get(row, "fps_low")),
                       .high = json_number_value(json_object_get(row, "fps_high"))};
    if (!read_name(row, "backend", f.backend, sizeof f.backend) ||
        !read_name(row, "rom", f.rom, sizeof f.rom) ||
        !read_name(row, "folder", f.folder, sizeof f.folder) ||
        !read_name(row, "stage", f.stage, sizeof f.stage))
        return dm_fail(err, DM_EFORMAT, "%s: a result without backend, rom, folder or stage", path);
    if (json_object_get(row, "skipped") != NULL)
        return DM_OK;
    if (!json_is_true(json_object_get(row, "synchronized")))
        return dm_fail(err, DM_EFORMAT, "%s: a figure of %s whose window was not synchronised",
                       path, f.backend);
    const json_t *receipt = json_object_get(row, "divergence");
    f.different = (uint64_t)json_integer_value(json_object_get(receipt, "different_states"));
    f.seen = (uint64_t)json_integer_value(json_object_get(receipt, "machines_seen"));
    f.instructions = json_number_value(json_object_get(row, "instructions_per_frame"));
    if ((f.is_reference ? f.threads < 1 : f.envs == 0) || !(f.fps > 0) || !(f.low > 0) ||
        !(f.high > 0))
        return dm_fail(err, DM_EFORMAT, "%s: a result of %s without figures", path, f.backend);
    char *dot = strrchr(f.rom, '.');
    if (dot != NULL)
        *dot = 0;
    return dm_lab_figures_add(&r->figures, &f, err);
}

static dm_status read_artifact(report *r, size_t i, dm_error *err)
{
    dm_status status = dm_json_load(r->paths[i], &r->artifacts[i], err);
    if (status != DM_OK)
        return status;
    const char *schema = json_string_value(json_object_get(r->artifacts[i], "schema"));
    if (schema == NULL || strcmp(schema, DM_LAB_BENCH_SCHEMA) != 0)
        return dm_fail(err, DM_EFORMAT, "%s: schema '%.64s', this program reads %s", r->paths[i],
                       schema != NULL ? schema : "", DM_LAB_BENCH_SCHEMA);
    r->partial |= json_is_true(json_object_get(r->artifacts[i], "partial"));
    const json_t *rows = json_object_get(r->artifacts[i], "results"), *row;
    size_t k;
    json_array_foreach(rows, k, row)
    {
        status = read_row(r, i, row, err);
        if (status != DM_OK)
            return status;
    }
    return DM_OK;
}

/* ---- Writing ---- */

static dm_status put(const report *r, const char *name, const void *bytes, size_t size,
                     dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, r->folder, name, err);
    return status != DM_OK ? status : dm_file_write(path, bytes, size, err);
}

static void put_escaped(dm_buffer *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '<')
            dm_buffer_puts(out, "&lt;");
        else if (*text == '&')
            dm_buffer_puts(out, "&amp;");
        else
            dm_buffer_putc(out, *text);
    }
}

/* The picture's text, from its <svg on. */
static dm_status put_picture(const report *r, const char *name, dm_buffer *out, dm_error *err)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size;
    dm_status status = dm_path_join(path, r->folder, name, err);
    if (status == DM_OK)
        status = dm_file_read(path, ARTIFACT_BYTES, &text, &size, err);
    if (status != DM_OK)
        return status;
    const char *svg = strstr(text, "<svg");
    dm_buffer_puts(out, svg != NULL ? svg : "");
    free(text);
    return DM_OK;
}

/* A mean always has a plot, a game where there are enough points for a curve. */
#define POINTS_OF_CURVE 3

static dm_status put_plots(const report *r, const dm_lab_group *g, dm_buffer *page, dm_error *err)
{
    static const char *const names[] = {"fps", "speedup"};
    dm_status status = dm_lab_plot(g, r->folder, err);
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        char name[192];
        snprintf(name, sizeof name, "%s_%s_%s.svg", names[i], g->first->rom, g->first->stage);
        if (i == 0 || dm_lab_plot_has_speedup(g))
            status = put_picture(r, name, page, err);
    }
    return status;
}

/* In both documents. */
static void put_table(dm_buffer *table, dm_buffer *page, const dm_lab_group *g, const char *title,
                      bool games)
{
    dm_buffer *out[] = {table, page};
    dm_buffer_printf(table, "%s:\n\n", title);
    dm_buffer_puts(page, "<h2>");
    put_escaped(page, title);
    dm_buffer_puts(page, "</h2>\n<div class=\"wide\"><table>\n");
    for (int i = 0; i < 2; i++) {
        dm_lab_markup markup = i == 0 ? DM_LAB_MARKDOWN : DM_LAB_HTML;
        if (games)
            dm_lab_table_put_games(out[i], g, g->envs[g->env_count - 1], markup);
        else
            dm_lab_table_put(out[i], g, markup);
    }
    dm_buffer_putc(table, '\n');
    dm_buffer_puts(page, "</table></div>\n");
}

static bool has_mean(const report *r, const dm_lab_figure *f)
{
    for (size_t i = 0; i < r->figures.count; i++) {
        const dm_lab_figure *mean = &r->figures.items[i];
        if (mean->members > 0 && strcmp(mean->folder, f->folder) == 0 &&
            strcmp(mean->stage, f->stage) == 0)
            return true;
    }
    return false;
}

static dm_status put_group(const report *r, const dm_lab_group *g, dm_buffer *table,
                           dm_buffer *page, dm_error *err)
{
    bool mean = g->first->members > 0, curve = g->env_count >= POINTS_OF_CURVE;
    char title[256], about[320];
    if (!mean && !curve && has_mean(r, g->first))
        return DM_OK; /* a row of the games' table is enough */
    dm_lab_table_title(g, title, sizeof title);
    put_table(table, page, g, title, false);
    dm_status status = mean || curve || !has_mean(r, g->first) ? put_plots(r, g, page, err) : DM_OK;
    if (mean) {
        snprintf(about, sizeof about, "the games (%s), %s, %llu machines", g->first->folder,
                 g->first->stage, (unsigned long long)g->envs[g->env_count - 1]);
        put_table(table, page, g, about, true);
    }
    return status;
}

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
    "content=\"width=device-width\">\n<title>dotmatrix "
    "benchmark</title>\n<style>\nbody { font-family: sans-serif; max-width: 62rem; margin: 2rem "
    "auto; padding: 0 1rem; color: #222; }\ntable { border-collapse: collapse; margin: 1rem 0; "
    "font-variant-numeric: tabular-nums; }\nth, td { border: 1px solid #bbb; padding: .25rem "
    ".6rem; text-align: right; }\nth { background: #eee; font-weight: normal; }\nsvg { max-width: "
    "100%; height: auto; }\n.wide { overflow-x: auto; }\n.facts th, .facts td { text-align: left; "
    "overflow-wrap: anywhere; }\n.facts th { white-space: nowrap; }\nh3 { font-weight: normal; "
    "margin-bottom: 0; "
    "}\n</style></head><body>\n<h1>Frames per second over the number of machines</h1>\n";

static const char page_notes[] =
    "<p>FPS are emulated frames per second over all machines: the median of windows in which the "
    "backends took turns, each ended by a wait for all work; &plusmn; is half the range. A "
    "reference is measured once per number of threads, since what it does for one machine does not "
    "depend on how many others wait; beside N machines stands its figure for N threads, or for the "
    "most that were measured. A mean counts the games that every backend of the run could play; "
    "behind its ratios stands their range over the games.</p>\n";

/* "machine.cpu: AMD EPYC": a row for each value that there is, with the keys that lead to it. */
static void put_values(dm_buffer *page, const char *keys, const json_t *value)
{
    const char *key;
    json_t *item;
    char name[256];
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, item)
        {
            snprintf(name, sizeof name, "%s%s%s", keys, keys[0] != 0 ? "." : "", key);
            put_values(page, name, item);
        }
        return;
    }
    if (json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0))
        return;
    char *text = json_is_string(value)
                     ? NULL
                     : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    dm_buffer_puts(page, "<tr><th>");
    put_escaped(page, keys);
    dm_buffer_puts(page, "</th><td>");
    put_escaped(page, text != NULL ? text : json_is_string(value) ? json_string_value(value) : "");
    dm_buffer_puts(page, "</td></tr>\n");
    free(text);
}

static dm_status put_page(const report *r, dm_buffer *page, dm_error *err)
{
    static const char *const parts[][2] = {{"configuration", "how it was measured"},
                                           {"provenance", "where"}};
    for (size_t i = 0; i < r->artifact_count; i++) {
        dm_buffer_printf(page,
                         "<h2>Run %zu</h2>\n<p>The artifact with every window: "
                         "<a href=\"artifact-%zu.json\">artifact-%zu.json</a></p>\n",
                         i + 1, i + 1, i + 1);
        for (size_t k = 0; k < 2; k++) {
            dm_buffer_printf(page,
                             "<h3>Run %zu: %s</h3>\n<div class=\"wide\"><table class=\"facts\">\n",
                             i + 1, parts[k][1]);
            put_values(page, "", json_object_get(r->artifacts[i], parts[k][0]));
            dm_buffer_puts(page, "</table></div>\n");
        }
    }
    dm_buffer_puts(page, "</body></html>\n");
    dm_status status = dm_buffer_check(page, err);
    return status != DM_OK ? status : put(r, "index.html", page->data, page->size, err);
}

static dm_status write_all(const report *r, dm_error *err)
{
    dm_buffer page = DM_BUFFER_EMPTY, table = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    dm_buffer_puts(&page, page_head);
    if (r->partial)
        dm_buffer_puts(&page, "<p><strong>Partial: a run was interrupted.</strong></p>\n");
    dm_buffer_puts(&page, page_notes);
    for (size_t i = 0; i < r->figures.count && status == DM_OK; i++) {
        dm_lab_group g;
        if (dm_lab_group_at(&r->figures, i, &g))
            status = put_group(r, &g, &table, &page, err);
    }
    if (status == DM_OK)
        status = dm_buffer_check(&table, err);
    if (status == DM_OK)
        status = put(r, "table.md", dm_buffer_text(&table), table.size, err);
    if (status == DM_OK)
        status = put_page(r, &page, err);
    for (size_t i = 0; i < r->artifact_count && status == DM_OK; i++) {
        char name[64], *text = NULL;
        size_t size;
        snprintf(name, sizeof name, "artifact-%zu.json", i + 1);
        status = dm_file_read(r->paths[i], ARTIFACT_BYTES, &text, &size, err);
        if (status == DM_OK)
            status = put(r, name, text, size, err);
        free(text);
    }
    dm_buffer_deinit(&page);
    dm_buffer_deinit(&table);
    return status;
}

/* A folder beside `out`, which gets its name when everything is in it. */
static dm_status write_folder(report *r, const char *out, dm_error *err)
{
    char bare[DM_PATH_MAX], parent[DM_PATH_MAX];
    snprintf(bare, sizeof bare, "%s", out);
    for (size_t n = strlen(bare); n > 1 && bare[n - 1] == '/';)
        bare[--n] = 0;
    snprintf(parent, sizeof parent, "%s", bare);
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        snprintf(parent, sizeof parent, ".");
    else
        slash[slash == parent ? 1 : 0] = 0;
    dm_status status = dm_dir_create(parent, err);
    if (status == DM_OK)
        status = dm_temp_folder(r->folder, parent, err);
    if (status != DM_OK)
        return status;
    chmod(r->folder, 0755);
    status = write_all(r, err);
    if (status == DM_OK)
        status = dm_temp_folder_keep(r->folder, bare, err);
    if (status != DM_OK)
        dm_dir_remove(r->folder, NULL);
    return status;
}

dm_status dm_lab_report(const char *const *artifacts, size_t count, const char *out, dm_error *err)
{
    report r = {.paths = artifacts, .artifact_count = count};
    if (count == 0 || count > ARTIFACTS_MAX)
        return dm_fail(err, DM_EINVAL, "1 to %d artifacts", ARTIFACTS_MAX);
    dm_status status = dm_gnuplot_check(err);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = read_artifact(&r, i, err);
    if (status == DM_OK && r.figures.count == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: there are no figures", artifacts[0]);
    if (status == DM_OK)
        status = dm_lab_figures_add_means(&r.figures, err);
    if (status == DM_OK)
        status = dm_lab_folder_check(out, err);
    if (status == DM_OK)
        status = write_folder(&r, out, err);
    for (size_t i = 0; i < count; i++)
        json_decref(r.artifacts[i]);
    dm_lab_figures_deinit(&r.figures);
    return status;
}
