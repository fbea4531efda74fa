/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "agent/report.h"

#include "base/file.h"
#include "base/host/gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The curve ---- */

/* "million-steps mean" a line, where episodes ended; the mean is over about the last 200 episodes. */
static dm_status read_curve(const char *path, dm_buffer *points, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    double mean = NAN;
    dm_status status = dm_file_read(path, 0, &text, &size, err);
    for (const char *at = text, *end; status == DM_OK && at < text + size; at = end + 1) {
        json_t *line = NULL;
        if ((end = memchr(at, '\n', (size_t)(text + size - at))) == NULL)
            break;
        if (dm_json_parse(at, (size_t)(end - at), path, &line, NULL) != DM_OK)
            status = dm_fail(err, DM_EFORMAT, "%s: has a line that is none of metrics", path);
        const json_t *score = json_object_get(line, "score");
        double ended = json_number_value(json_object_get(line, "episodes"));
        if (json_is_number(score) && ended > 0) {
            double keep = isnan(mean) ? 0 : exp(-ended / 200);
            mean = (isnan(mean) ? 0 : keep * mean) + (1 - keep) * json_number_value(score);
            dm_buffer_printf(points, "%.6g %.6g\n",
                             json_number_value(json_object_get(line, "steps")) / 1e6, mean);
        }
        json_decref(line);
    }
    free(text);
    return status;
}

static dm_status draw(const dm_agent_summary *s, const dm_buffer *points, const char *name,
                      const char *terminal, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer script = DM_BUFFER_EMPTY;
    dm_status status = dm_path_join(path, s->folder, name, err);
    if (status != DM_OK)
        return status;
    dm_buffer_printf(&script, "set terminal %s size 760,420\nset output ", terminal);
    dm_gnuplot_quote(&script, path);
    dm_buffer_printf(
        &script,
        "\nset grid\nset xlabel 'million steps'\nset ylabel 'score of a game'\n"
        "set key bottom right\n$score << EOD\n%sEOD\n"
        "plot $score using 1:2 with lines lw 2 lc rgb '#2060c0' title 'while it learns'",
        dm_buffer_text(points));
    if (s->has_scores)
        dm_buffer_printf(&script,
                         ", %.9g with lines lw 1.5 dt 2 lc rgb '#c05020' title "
                         "'greedy on held-out starts, at the end', "
                         "%.9g with lines lw 1.5 dt 3 lc rgb '#707070' title 'random keys'",
                         s->held_out.mean, s->random.mean);
    dm_buffer_puts(&script, "\n");
    status = dm_gnuplot_run(&script, name, err);
    if (status == DM_OK)
        status = dm_gnuplot_check_file(path, err);
    dm_buffer_deinit(&script);
    return status;
}

static dm_status write_curves(const dm_agent_summary *s, dm_error *err)
{
    char metrics[DM_PATH_MAX];
    dm_buffer points = DM_BUFFER_EMPTY;
    dm_status status = dm_gnuplot_check(err);
    if (status == DM_OK)
        status = dm_path_join(metrics, s->folder, "metrics.jsonl", err);
    if (status == DM_OK)
        status = read_curve(metrics, &points, err);
    if (status == DM_OK && points.size == 0)
        status = dm_fail(err, DM_EUNAVAILABLE, "no game has ended yet");
    if (status == DM_OK)
        status = draw(s, &points, "curve.png", "pngcairo", err);
    if (status == DM_OK)
        status = draw(s, &points, "curve.svg", "svg", err);
    dm_buffer_deinit(&points);
    return status;
}

/* ---- Figures ---- */

static dm_status put(const dm_agent_summary *s, const char *name, const dm_buffer *text,
                     dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        status = dm_path_join(path, s->folder, name, err);
    return status == DM_OK ? dm_file_write(path, text->data, text->size, err) : status;
}

static void json_score(dm_json *json, const char *name, const dm_agent_score *score)
{
    dm_json_begin_object(json, name);
    dm_json_uint(json, "games", score->games);
    dm_json_uint(json, "frames", score->frames);
    dm_json_double(json, "mean", score->mean);
    dm_json_double(json, "median", score->median);
    dm_json_double(json, "lowest", score->lowest);
    dm_json_double(json, "highest", score->highest);
    dm_json_double(json, "alive", score->alive);
    dm_json_end_object(json);
}

static dm_status write_json(const dm_agent_summary *s, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "device", s->device);
    dm_json_uint(&json, "steps", s->steps);
    dm_json_double(&json, "seconds", s->seconds);
    dm_json_double(&json, "steps_per_second",
                   s->seconds > 0 ? (double)s->steps_of_sitting / s->seconds : 0);
    dm_json_double(&json, "share_game", s->shares[0]);
    dm_json_double(&json, "share_acting", s->shares[1]);
    dm_json_double(&json, "share_learning", s->shares[2]);
    dm_json_uint(&json, "starts", s->config->starts);
    dm_json_uint(&json, "different_starts", s->different_starts);
    if (s->has_scores) {
        json_score(&json, "training", &s->training);
        json_score(&json, "held_out", &s->held_out);
        json_score(&json, "random", &s->random);
    }
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_buffer_putc(&text, '\n');
    dm_status status = put(s, "report.json", &text, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- The page ---- */

static void put_text(dm_buffer *page, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            dm_buffer_printf(page, "&#%d;", *text);
        else
            dm_buffer_putc(page, *text);
}

static void put_film(dm_buffer *page, const char *name, const char *what,
                     const dm_agent_filmed *film)
{
    if (name != NULL)
        dm_buffer_printf(
            page,
            "<figure><img src=\"%s\" alt=\"%s\"><figcaption>%s<br>score %.0f, %s after "
            "%" PRIu64 " frames</figcaption></figure>\n",
            name, what, what, film->score, film->over ? "over" : "still alive", film->frames);
}

/* 1,234,567 */
static void put_count(dm_buffer *page, uint64_t n)
{
    if (n >= 1000)
        put_count(page, n / 1000);
    dm_buffer_printf(page, n >= 1000 ? ",%03u" : "%u", (unsigned)(n % 1000));
}

static void put_score(dm_buffer *page, const char *name, const dm_agent_score *s)
{
    dm_buffer_printf(page,
                     "<tr><td>%s</td><td>%" PRIu64 "</td><td>%.1f</td><td>%.1f</td><td>%.0f to %.0f"
                     "</td><td>%.0f%%</td></tr>\n",
                     name, s->games, s->mean, s->median, s->lowest, s->highest, 100 * s->alive);
}

static dm_status write_page(const dm_agent_summary *s, bool curve, dm_error *err)
{
    dm_buffer page = DM_BUFFER_EMPTY;
    const char *rom = strrchr(s->config->rom, '/');
    dm_buffer_puts(
        &page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>An agent"
               "</title>\n<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;"
               "padding:0 1em}figure{display:inline-block;margin:.5em 1em .5em 0}img{image-"
               "rendering:pixelated;max-width:100%}table{border-collapse:collapse}td,th{padding:"
               ".2em .8em;border-bottom:1px solid #ccc;text-align:left}</style></head><body>\n<h1>"
               "An agent that plays ");
    put_text(&page, rom != NULL ? rom + 1 : s->config->rom);
    dm_buffer_puts(&page, "</h1>\n");
    put_film(&page, s->before, "Before: random keys, the end of a game", &s->before_film);
    put_film(&page, s->after, "After: the agent on a start that it never trained from, the end",
             &s->after_film);
    if (curve)
        dm_buffer_puts(&page, "<p><img src=\"curve.svg\" alt=\"the score over the steps\"></p>\n");
    if (s->has_scores) {
        dm_buffer_printf(
            &page,
            "<h2>Scores</h2>\n<p>The agent plays greedily; games are cut off after %" PRIu64
            " frames. Games of the curve are not, and are those of training.</p>\n"
            "<table><tr><th>player</th><th>games</th><th>mean</th>"
            "<th>median</th><th>range</th><th>still alive</th></tr>\n",
            s->held_out.frames);
        put_score(&page, "the agent, held-out starts", &s->held_out);
        put_score(&page, "the agent, starts to train from", &s->training);
        put_score(&page, "random keys, held-out starts", &s->random);
        dm_buffer_puts(&page, "</table>\n");
    }
    dm_buffer_puts(&page, "<h2>Figures</h2>\n<table>\n<tr><td>steps</td><td>");
    put_count(&page, s->steps);
    dm_buffer_puts(&page, "</td></tr>\n<tr><td>steps a second</td><td>");
    put_count(&page, s->seconds > 0 ? (uint64_t)((double)s->steps_of_sitting / s->seconds) : 0);
    dm_buffer_printf(
        &page,
        " (game %.0f%%, acting %.0f%%, learning %.0f%%)</td></tr>\n<tr><td>seconds</td>"
        "<td>%.1f</td></tr>\n<tr><td>machines</td><td>%" PRIu64 " on ",
        100 * s->shares[0], 100 * s->shares[1], 100 * s->shares[2], s->seconds,
        s->config->machines);
    put_text(&page, s->device);
    dm_buffer_puts(&page, "</td></tr>\n");
    if (s->different_starts > 0)
        dm_buffer_printf(&page,
                         "<tr><td>starts to train from</td><td>%" PRIu64 ", %" PRIu64
                         " different games</td></tr>\n",
                         s->config->starts, s->different_starts);
    dm_buffer_puts(&page,
                   "</table>\n<p>The fields are in <a href=\"config.json\">config.json</a>, the "
                   "figures of each update in <a href=\"metrics.jsonl\">metrics.jsonl</a>.</p>\n"
                   "</body></html>\n");
    dm_status status = put(s, "index.html", &page, err);
    dm_buffer_deinit(&page);
    return status;
}

dm_status dm_agent_report(const dm_agent_summary *s, dm_error *err)
{
    dm_status curves = write_curves(s, err);
    if (curves != DM_OK && curves != DM_EUNAVAILABLE)
        return curves;
    dm_status status = write_json(s, curves == DM_OK ? err : NULL);
    if (status == DM_OK)
        status = write_page(s, curves == DM_OK, curves == DM_OK ? err : NULL);
    return status == DM_OK ? curves : status;
}
