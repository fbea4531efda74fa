/* SPDX-License-Identifier: MIT */
/* summary.c - a dataset's distributions as text and picture; see summary.h. */
#include "synth/audit/summary.h"

#include "base/host/gnuplot.h"
#include "synth/store/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Counting ---- */

static void start(dm_synth_histogram *h, const char *title, const char *const *labels)
{
    *h = (dm_synth_histogram){.title = title, .least = UINT64_MAX};
    for (; labels[h->bins] != NULL && h->bins < DM_SYNTH_BINS_MAX; h->bins++)
        h->labels[h->bins] = labels[h->bins];
}

static void count_lines(dm_synth_histogram *h, uint64_t lines, uint64_t step)
{
    uint64_t bin = lines / step;
    h->counts[bin < (uint64_t)h->bins ? bin : (uint64_t)h->bins - 1]++;
    h->total += lines;
    h->least = lines < h->least ? lines : h->least;
    h->most = lines > h->most ? lines : h->most;
}

static void count_error(dm_synth_histogram *h, double error)
{
    int bin = 0;
    double limit = 1e-12;
    while (bin + 1 < h->bins && error >= limit) {
        bin++;
        limit *= 10;
    }
    h->counts[bin]++;
}

static void count_record(dm_synth_summary *s, const dm_synth_record *r)
{
    s->records++;
    if (r->kind == DM_SYNTH_REJECTED) {
        s->rejected++;
        return;
    }
    s->pairs++;
    s->with_backward += r->has_backward;
    s->categories.counts[r->category]++;
    count_lines(&s->python, (uint64_t)dm_synth_lines(&r->python_source), 8);
    count_lines(&s->forward, (uint64_t)r->forward_lines, 40);
    if (r->has_backward)
        count_lines(&s->backward, (uint64_t)r->backward_lines, 80);
    if (r->verification.compared > 0)
        count_error(&s->errors, r->verification.gradient_error);
}

static dm_status count_file(dm_synth_summary *s, const dm_synth_dataset *d, size_t number,
                            dm_synth_record *r, dm_error *err)
{
    dm_synth_file f;
    dm_status status = dm_synth_file_read(&f, d, number, err);
    for (size_t i = 0; status == DM_OK && i < f.count; i++) {
        status = dm_synth_record_read(r, f.lines[i], dm_synth_file_line(&f, i), d->files[number],
                                      (int)i + 1, err);
        if (status == DM_OK)
            count_record(s, r);
    }
    s->bytes += status == DM_OK ? f.size : 0;
    dm_synth_file_free(&f);
    return status;
}

dm_status dm_synth_summarise(const char *path, dm_synth_summary *s, dm_error *err)
{
    static const char *const eights[] = {"0-7",   "8-15",  "16-23", "24-31", "32-39", "40-47",
                                         "48-55", "56-63", "64-71", "72-79", "80-",   NULL};
    static const char *const forties[] = {"0-39",    "40-79",   "80-119",  "120-159",
                                          "160-199", "200-239", "240-279", "280-319",
                                          "320-359", "360-399", "400-",    NULL};
    static const char *const eighties[] = {"0-79",    "80-159",  "160-239", "240-319",
                                           "320-399", "400-479", "480-559", "560-639",
                                           "640-719", "720-799", "800-",    NULL};
    static const char *const tens[] = {"<1e-12", "<1e-11", "<1e-10", "<1e-9", "<1e-8", "<1e-7",
                                       "<1e-6",  "<1e-5",  "<1e-4",  "more",  NULL};
    dm_synth_dataset dataset;
    dm_synth_record record;
    memset(s, 0, sizeof *s);
    start(&s->categories, "pairs by category", dm_synth_category_names);
    start(&s->python, "lines of python_source", eights);
    start(&s->forward, "lines of the forward text", forties);
    start(&s->backward, "lines of the backward text", eighties);
    start(&s->errors, "worst gradient error of a pair", tens);
    dm_status status = dm_synth_dataset_open(&dataset, path, err);
    if (status != DM_OK)
        return status;
    dm_synth_record_init(&record);
    for (size_t i = 0; i < dataset.file_count && status == DM_OK; i++)
        status = count_file(s, &dataset, i, &record, err);
    dm_synth_record_deinit(&record);
    dm_synth_dataset_close(&dataset);
    return status;
}

/* ---- Bars ---- */

static void print_histogram(const dm_synth_histogram *h, uint64_t pairs, int columns,
                            dm_buffer *out)
{
    uint64_t most = 0, sum = 0;
    int width = 0, last = 0;
    for (int i = 0; i < h->bins; i++) {
        int size = (int)strlen(h->labels[i]);
        width = size > width ? size : width;
        most = h->counts[i] > most ? h->counts[i] : most;
        last = h->counts[i] > 0 ? i : last;
        sum += h->counts[i];
    }
    if (sum == 0)
        return;
    dm_buffer_printf(out, "\n%s", h->title);
    if (h->total > 0)
        dm_buffer_printf(out, " (%" PRIu64 " to %" PRIu64 ", mean %.1f)", h->least, h->most,
                         (double)h->total / (double)sum);
    dm_buffer_putc(out, '\n');
    int room = columns - width - 20;
    bool all = h->total == 0 && sum == pairs; /* categories: empty ones are shown, too */
    for (int i = 0; i <= (all ? h->bins - 1 : last); i++) {
        dm_buffer_printf(out, "  %-*s %8" PRIu64 " %5.1f%% ", width, h->labels[i], h->counts[i],
                         100.0 * (double)h->counts[i] / (double)sum);
        for (int k = 0; k < (int)((double)h->counts[i] / (double)most * (room < 8 ? 8 : room)); k++)
            dm_buffer_putc(out, '#');
        dm_buffer_putc(out, '\n');
    }
}

void dm_synth_summary_print(const dm_synth_summary *s, int columns, dm_buffer *out)
{
    dm_buffer_printf(out,
                     "%" PRIu64 " records: %" PRIu64 " pairs, %" PRIu64
                     " of them with a backward pass; %" PRIu64 " rejected programs; %.1f MB\n",
                     s->records, s->pairs, s->with_backward, s->rejected, (double)s->bytes / 1e6);
    const dm_synth_histogram *all[] = {&s->categories, &s->python, &s->forward, &s->backward,
                                       &s->errors};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        print_histogram(all[i], s->pairs, columns, out);
}

/* ---- The picture ---- */

static void put_histogram(dm_buffer *script, const dm_synth_histogram *h, int number)
{
    dm_buffer_printf(script, "$h%d << END\n", number);
    for (int i = 0; i < h->bins; i++)
        dm_buffer_printf(script, "\"%s\" %" PRIu64 "\n", h->labels[i], h->counts[i]);
    dm_buffer_printf(script,
                     "END\nset title '%s'\nplot $h%d using 2:xtic(1) with boxes lc rgb '#0b3c8c' "
                     "notitle\n",
                     h->title, number);
}

dm_status dm_synth_summary_plot(const dm_synth_summary *s, const char *png, dm_error *err)
{
    dm_buffer script = DM_BUFFER_EMPTY;
    dm_buffer_puts(&script, "set terminal pngcairo noenhanced size 1200,900 font 'sans,11' "
                            "background '#ffffff'\nset output ");
    dm_gnuplot_quote(&script, png);
    dm_buffer_puts(&script, "\nset style fill solid 0.8\nset boxwidth 0.8\nset yrange [0:*]\n"
                            "set border 3\nset tics nomirror\nset xtics rotate by -40\n"
                            "set grid ytics lc rgb '#bbbbbb' lt 1 lw 1\n"
                            "set multiplot layout 2,2\n");
    put_histogram(&script, &s->categories, 0);
    put_histogram(&script, &s->python, 1);
    put_histogram(&script, &s->forward, 2);
    put_histogram(&script, &s->backward, 3);
    dm_buffer_puts(&script, "unset multiplot\nunset output\n");
    dm_status status = dm_gnuplot_run(&script, png, err);
    if (status == DM_OK)
        status = dm_gnuplot_check_file(png, err);
    dm_buffer_deinit(&script);
    return status;
}
