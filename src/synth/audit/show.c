/* SPDX-License-Identifier: MIT */
/* show.c - a record's texts side by side; see show.h.
 *
 *   1-17  kernel blend_fields  category stencil  full: 24 gradients within 3.1e-10
 *   python_source             | cuda_forward              | cuda_backward
 *   --------------------------+---------------------------+--------------------------
 *   import warp as wp         | typedef struct ...        | typedef struct ... */
#include "synth/audit/show.h"

#include "synth/audit/paint.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 15
#define COLUMN_LEAST 56

typedef struct column {
    const char *title, *begin, *at, *end;
    uint8_t *paint; /* of each byte; NULL: no colours */
    int used;       /* of the current line, by the part that was written */
} column;

static size_t line_size(const column *c)
{
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    return (size_t)((newline == NULL ? c->end : newline) - c->at);
}

/* One part of a line that fits `width`, padded; the rest stays for the next row. */
static void put_part(dm_buffer *out, column *c, int width, bool last)
{
    int room = c->used > 0 ? width - 2 : width, written = 0;
    size_t size = c->at == c->end ? 0 : line_size(c);
    size_t part = size > (size_t)room ? (size_t)room : size;
    if (c->used > 0 && c->at != c->end) {
        dm_buffer_puts(out, "  "); /* continued */
        written = 2;
    }
    int before = DM_PAINT_PLAIN;
    for (size_t i = 0; i < part; i++) {
        int paint = c->paint == NULL ? DM_PAINT_PLAIN : c->paint[c->at + i - c->begin];
        if (paint != before)
            dm_buffer_puts(out, dm_paint_codes[paint]);
        before = paint;
        dm_buffer_putc(out, (unsigned char)c->at[i] < ' ' ? ' ' : c->at[i]);
    }
    if (before != DM_PAINT_PLAIN)
        dm_buffer_puts(out, dm_paint_codes[DM_PAINT_PLAIN]);
    written += (int)part;
    c->at += part;
    c->used += (int)part;
    if (c->at < c->end && *c->at == '\n') {
        c->at++;
        c->used = 0;
    } else if (c->at == c->end) {
        c->used = 0;
    }
    if (!last)
        dm_buffer_printf(out, "%*s", width - written, "");
}

static void trim_line(dm_buffer *out, size_t from)
{
    while (out->size > from && out->data[out->size - 1] == ' ')
        out->size--;
    dm_buffer_putc(out, '\n');
}

static void put_rule(dm_buffer *out, int count, int width)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < width + (i > 0); k++)
            dm_buffer_putc(out, '-');
        dm_buffer_puts(out, i + 1 < count ? "-+" : "\n");
    }
}

static void put_columns(dm_buffer *out, column *columns, int count, int width)
{
    for (int i = 0; i < count; i++)
        dm_buffer_printf(out, "%-*s%s", i + 1 < count ? width : 0, columns[i].title,
                         i + 1 < count ? " | " : "");
    dm_buffer_putc(out, '\n');
    put_rule(out, count, width);
    for (bool more = true; more;) {
        size_t from = out->size;
        more = false;
        for (int i = 0; i < count; i++) {
            put_part(out, &columns[i], width, i + 1 == count);
            if (i + 1 < count)
                dm_buffer_puts(out, " | ");
            more |= columns[i].at < columns[i].end;
        }
        trim_line(out, from);
    }
}

static void put_head(const dm_synth_record *r, dm_buffer *out)
{
    const dm_synth_verification *v = &r->verification;
    dm_buffer_printf(out, "%s  %s %s  category %s", r->id,
                     r->kind != DM_SYNTH_PAIR ? "rejected kernel"
                     : r->program.size > 0    ? "kernels"
                                              : "kernel",
                     r->kernel_name, r->category < 0 ? "-" : dm_synth_category_names[r->category]);
    if (r->kind == DM_SYNTH_PAIR) {
        dm_buffer_printf(out, "  verified: %s", dm_synth_level_names[v->level]);
        if (v->compared > 0)
            dm_buffer_printf(out, ", %d gradients within %.1e", v->compared, v->gradient_error);
        if (v->cheats > 0)
            dm_buffer_printf(out, "; its test notices %d cheats, %d of %d mutants", v->cheats,
                             v->noticed, v->mutants);
        if (r->mutation[0] != '\0')
            dm_buffer_printf(out, "\nbroken: %s, found by the %s", r->mutation,
                             r->found_by_test ? "test" : "compiler");
        if (r->cost > 0)
            dm_buffer_printf(out, "\ncost %.0f", r->cost);
        if (r->slower.size > 0)
            dm_buffer_printf(out, ", slower form %.0f", r->slower_cost);
        if (r->unfused.size > 0)
            dm_buffer_printf(out, ", unfused form %.0f", r->unfused_cost);
        if (r->unrolled.size > 0)
            dm_buffer_printf(out, ", unrolled form %.0f", r->unrolled_cost);
    }
    dm_buffer_puts(out, "\n\n");
}

void dm_synth_show(const dm_synth_record *r, int columns, bool colors, dm_buffer *out)
{
    static const char *const titles[] = {
        "python_source", "cuda_forward",  "cuda_backward", "c_forward", "c_backward",  "ir",
        "diagnostics",   "specification", "reference",     "test",      "broken form", "symptom",
        "slower form",   "unfused form",  "unrolled form"};
    const dm_buffer *texts[] = {&r->python_source, &r->cuda_forward,  &r->cuda_backward,
                                &r->c_forward,     &r->c_backward,    &r->ir,
                                &r->diagnostics,   &r->specification, &r->reference,
                                &r->test,          &r->broken,        &r->symptom,
                                &r->slower,        &r->unfused,       &r->unrolled};
    column list[TEXTS_MAX];
    int count = 0;
    for (int i = 0; i < TEXTS_MAX; i++)
        if (texts[i]->size > 0) {
            column *c = &list[count++];
            *c = (column){.title = titles[i],
                          .begin = texts[i]->data,
                          .at = texts[i]->data,
                          .end = texts[i]->data + texts[i]->size};
            c->paint = colors ? malloc(texts[i]->size) : NULL;
            if (c->paint != NULL)
                dm_paint(c->at, texts[i]->size,
                         strchr(titles[i], '_') == NULL || titles[i][0] == 'p', c->paint);
        }
    columns = columns < 40 ? 40 : columns;
    int across = columns / COLUMN_LEAST < 1 ? 1 : columns / COLUMN_LEAST;
    put_head(r, out);
    for (int i = 0; i < count; i += across) {
        int row = count - i < across ? count - i : across;
        put_columns(out, list + i, row, (columns - 3 * (row - 1)) / row);
        dm_buffer_putc(out, '\n');
    }
    for (int i = 0; i < count; i++)
        free(list[i].paint);
}
