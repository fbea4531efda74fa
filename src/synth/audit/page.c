/* SPDX-License-Identifier: MIT */
/* page.c - a dataset as a web page; see page.h. */
#include "synth/audit/page.h"

#include "synth/audit/summary.h"
#include "synth/store/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES_MAX 512

/* One idiom, with the shortest of its programs. */
typedef struct family {
    char name[DM_SYNTH_NAME_MAX];
    int category;
    uint64_t count, difficulty; /* sums */
    dm_synth_record example;
} family;

typedef struct page {
    family *families;
    int count;
    uint64_t pairs, tested, described, backward, repairs, slower, unrolled, unfused, programs;
    uint64_t cheats, mutants, noticed;
    uint64_t by_difficulty[6], by_part[3], by_idiom_part[3], by_level[DM_SYNTH_VERIFY_FULL + 1];
    double worst_gradient;
} page;

/* ---- Reading ---- */

static family *find_family(page *p, const dm_synth_record *r)
{
    const char *name = r->idiom[0] != '\0' ? r->idiom
                       : r->category < 0   ? "other"
                                           : dm_synth_category_names[r->category];
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->families[i].name, name) == 0)
            return &p->families[i];
    if (p->count == FAMILIES_MAX)
        return NULL;
    family *f = &p->families[p->count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->category = r->category;
    dm_synth_record_init(&f->example);
    return f;
}

static dm_status add_record(page *p, const dm_synth_record *r, const char *line, size_t size,
                            dm_error *err)
{
    family *f = find_family(p, r);
    p->pairs++;
    p->tested += r->test.size > 0;
    p->described += r->line.size > 0;
    p->backward += r->has_backward;
    p->repairs += r->mutation[0] != '\0';
    p->slower += r->slower.size > 0;
    p->programs += r->program.size > 0;
    p->unrolled += r->unrolled.size > 0;
    p->unfused += r->unfused.size > 0;
    p->cheats += (uint64_t)r->verification.cheats;
    p->mutants += (uint64_t)r->verification.mutants;
    p->noticed += (uint64_t)r->verification.noticed;
    p->by_difficulty[r->difficulty <= 5 ? r->difficulty : 0]++;
    p->by_part[dm_synth_part_by_record(r)]++;
    p->by_idiom_part[dm_synth_part_by_idiom(r->idiom)]++;
    p->by_level[r->verification.level]++;
    if (r->verification.compared > 0 && r->verification.gradient_error > p->worst_gradient)
        p->worst_gradient = r->verification.gradient_error;
    if (f == NULL)
        return DM_OK;
    f->count++;
    f->difficulty += (uint64_t)r->difficulty;
    if (f->count == 1 || r->python_source.size < f->example.python_source.size)
        return dm_synth_record_read(&f->example, line, size, "record", 1, err);
    return DM_OK;
}

static dm_status read_all(page *p, const char *path, dm_error *err)
{
    dm_synth_dataset set;
    dm_synth_record record;
    dm_status status = dm_synth_dataset_open(&set, path, err);
    if (status != DM_OK)
        return status;
    dm_synth_record_init(&record);
    for (size_t i = 0; i < set.file_count && status == DM_OK; i++) {
        dm_synth_file file;
        status = dm_synth_file_read(&file, &set, i, err);
        for (size_t k = 0; status == DM_OK && k < file.count; k++) {
            size_t size = dm_synth_file_line(&file, k);
            status =
                dm_synth_record_read(&record, file.lines[k], size, set.files[i], (int)k + 1, err);
            if (status == DM_OK && record.kind == DM_SYNTH_PAIR)
                status = add_record(p, &record, file.lines[k], size, err);
        }
        dm_synth_file_free(&file);
    }
    dm_synth_record_deinit(&record);
    dm_synth_dataset_close(&set);
    if (status == DM_OK && p->pairs == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: no records", path);
    return status;
}

/* ---- Writing ---- */

static void put_escaped(dm_buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<')
            dm_buffer_puts(out, "&lt;");
        else if (text[i] == '>')
            dm_buffer_puts(out, "&gt;");
        else if (text[i] == '&')
            dm_buffer_puts(out, "&amp;");
        else
            dm_buffer_putc(out, text[i]);
    }
}

static void put_bars(dm_buffer *out, const char *title, const char *const *labels,
                     const uint64_t *counts, int count)
{
    uint64_t most = 1;
    for (int i = 0; i < count; i++)
        most = counts[i] > most ? counts[i] : most;
    dm_buffer_printf(out, "<div class=\"chart\"><h3>%s</h3><table>\n", title);
    for (int i = 0; i < count; i++)
        dm_buffer_printf(out,
                         "<tr><td>%s</td><td class=\"bar\"><i style=\"width:%.1f%%\"></i></td>"
                         "<td class=\"n\">%llu</td></tr>\n",
                         labels[i], 100.0 * (double)counts[i] / (double)most,
                         (unsigned long long)counts[i]);
    dm_buffer_puts(out, "</table></div>\n");
}

static void put_histogram(dm_buffer *out, const dm_synth_histogram *h)
{
    if (h->total > 0)
        put_bars(out, h->title, h->labels, h->counts, h->bins);
}

static void put_text(dm_buffer *out, const char *title, const dm_buffer *text)
{
    if (text->size == 0)
        return;
    dm_buffer_printf(out, "<details><summary>%s</summary><pre>", title);
    put_escaped(out, text->data, text->size);
    dm_buffer_puts(out, "</pre></details>\n");
}

static void put_family(dm_buffer *out, const family *f)
{
    const dm_synth_record *r = &f->example;
    dm_buffer_printf(out,
                     "<section><h3>%s <small>%s, %llu records, difficulty %.1f, split by idiom: %s"
                     "</small></h3>\n<p>",
                     f->name, f->category < 0 ? "-" : dm_synth_category_names[f->category],
                     (unsigned long long)f->count, (double)f->difficulty / (double)f->count,
                     dm_synth_part_names[dm_synth_part_by_idiom(r->idiom)]);
    put_escaped(out, dm_buffer_text(&r->paragraph), r->paragraph.size);
    dm_buffer_puts(out, "</p>\n<pre>");
    put_escaped(out, dm_buffer_text(&r->python_source), r->python_source.size);
    dm_buffer_puts(out, "</pre>\n");
    put_text(out, "specification", &r->specification);
    put_text(out, "cuda_forward", &r->cuda_forward);
    put_text(out, "cuda_backward", &r->cuda_backward);
    put_text(out, "c_forward", &r->c_forward);
    put_text(out, "reference", &r->reference);
    dm_buffer_puts(out, "</section>\n");
}

static void put_page(const page *p, const char *path, const dm_synth_summary *s, dm_buffer *out)
{
    static const char style[] =
        "body{font:15px/1.45 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
        "pre{background:#f5f5f2;padding:.8em;overflow:auto;font-size:13px}small{color:#777;"
        "font-weight:normal}.charts{display:flex;flex-wrap:wrap;gap:2em}.chart table{width:300px}"
        ".bar{width:170px}.bar i{display:block;height:.8em;background:#4a7}.n{text-align:right}"
        "td{padding:0 .4em}summary{cursor:pointer;color:#36c}";
    static const char *const levels[] = {"1", "2", "3", "4", "5"};
    dm_buffer_puts(
        out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kernels: ");
    put_escaped(out, path, strlen(path));
    dm_buffer_printf(out, "</title><style>%s</style></head><body>\n<h1>Kernels: ", style);
    put_escaped(out, path, strlen(path));
    dm_buffer_printf(
        out,
        "</h1>\n<p>%llu pairs of %d families, %llu of them programs of several kernels; %llu with "
        "a backward pass, %llu with "
        "descriptions, %llu with a reference and a test, %llu with a repair, %llu with a "
        "slower form, %llu with an unfused one, %llu with an unrolled one. Worst gradient error "
        "%.2e. "
        "The tests notice %llu planted cheats and %llu of %llu mutants.</p>\n<div "
        "class=\"charts\">\n",
        (unsigned long long)p->pairs, p->count, (unsigned long long)p->programs,
        (unsigned long long)p->backward, (unsigned long long)p->described,
        (unsigned long long)p->tested, (unsigned long long)p->repairs,
        (unsigned long long)p->slower, (unsigned long long)p->unfused,
        (unsigned long long)p->unrolled, p->worst_gradient, (unsigned long long)p->cheats,
        (unsigned long long)p->noticed, (unsigned long long)p->mutants);
    put_bars(out, "verified to level", dm_synth_level_names, p->by_level, DM_SYNTH_VERIFY_FULL + 1);
    put_bars(out, "difficulty", levels, p->by_difficulty + 1, 5);
    put_bars(out, "split by record", dm_synth_part_names, p->by_part, 3);
    put_bars(out, "split by idiom", dm_synth_part_names, p->by_idiom_part, 3);
    put_histogram(out, &s->categories);
    put_histogram(out, &s->python);
    put_histogram(out, &s->forward);
    put_histogram(out, &s->backward);
    put_histogram(out, &s->errors);
    dm_buffer_puts(out, "</div>\n<h2>An example of each family</h2>\n");
    for (int i = 0; i < p->count; i++)
        put_family(out, &p->families[i]);
    dm_buffer_puts(out, "</body></html>\n");
}

static int compare_families(const void *a, const void *b)
{
    const family *x = a, *y = b;
    return x->category != y->category ? x->category - y->category : strcmp(x->name, y->name);
}

dm_status dm_synth_page(const char *path, dm_buffer *out, dm_error *err)
{
    dm_synth_summary summary;
    page p = {.families = calloc(FAMILIES_MAX, sizeof *p.families)};
    dm_status status = p.families == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    if (status == DM_OK)
        status = read_all(&p, path, err);
    if (status == DM_OK)
        status = dm_synth_summarise(path, &summary, err);
    if (status == DM_OK) {
        qsort(p.families, (size_t)p.count, sizeof *p.families, compare_families);
        put_page(&p, path, &summary, out);
        status = dm_buffer_check(out, err);
    }
    for (int i = 0; i < p.count; i++)
        dm_synth_record_deinit(&p.families[i].example);
    free(p.families);
    return status;
}
