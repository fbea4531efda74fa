/* SPDX-License-Identifier: MIT */
/* table.c - a table of a group, row by row. */
#include "lab/report/table.h"

#include <stdio.h>
#include <string.h>

typedef struct cell_style {
    const char *row, *head, *cell, *end_head, *end_cell, *end_row;
} cell_style;
static const cell_style styles[] = {
    [DM_LAB_MARKDOWN] = {"|", " ", " ", " |", " |", "\n"},
    [DM_LAB_HTML] = {"<tr>", "<th>", "<td>", "</th>", "</td>", "</tr>\n"},
};

/* 1234567 as 1,234,567; three digits matter. */
static void put_count(dm_buffer *out, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", value);
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            dm_buffer_putc(out, ',');
        dm_buffer_putc(out, digits[i]);
    }
}

static void put_ratio(dm_buffer *out, double value)
{
    dm_buffer_printf(out, value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

void dm_lab_table_title(const dm_lab_group *g, char *out, size_t size)
{
    if (g->first->members > 0)
        snprintf(out, size, "geometric mean of %zu games (%s), %s", g->first->members,
                 g->first->folder, g->first->stage);
    else
        snprintf(out, size, "%s, %s", g->first->rom, g->first->stage);
}

/* ---- Columns that both kinds of table have ---- */

static void put_heads(dm_buffer *out, const dm_lab_group *g, const cell_style *style)
{
    for (size_t b = 0; b < g->backend_count; b++)
        dm_buffer_printf(out, "%s%s, FPS%s", style->head, g->backends[b], style->end_head);
    for (size_t b = 0; b < g->backend_count; b++)
        for (size_t k = 0; k < g->backend_count; k++)
            if (dm_lab_group_compares(g, b, k))
                dm_buffer_printf(out, "%s%s / %s%s", style->head, g->backends[b], g->backends[k],
                                 style->end_head);
    dm_buffer_puts(out, style->end_row);
}

static void put_rule(dm_buffer *out, const dm_lab_group *g, size_t columns)
{
    columns += g->backend_count;
    for (size_t i = 0; i < g->backend_count * g->backend_count; i++)
        columns += dm_lab_group_compares(g, i / g->backend_count, i % g->backend_count);
    for (size_t i = 0; i < columns; i++)
        dm_buffer_puts(out, "|---:");
    dm_buffer_puts(out, "|\n");
}

static void put_figure(dm_buffer *out, const dm_lab_figure *f)
{
    put_count(out, f->fps);
    dm_buffer_printf(out, " \xC2\xB1%.0f%%", 50 * (f->high - f->low) / f->fps);
}

static void put_comparison(dm_buffer *out, const dm_lab_group *g, const dm_lab_figure *f,
                           const dm_lab_figure *base)
{
    dm_lab_ratio ratio = dm_lab_group_ratio(g, f, base);
    put_ratio(out, ratio.value);
    if (ratio.high > 0) {
        dm_buffer_puts(out, " (");
        put_ratio(out, ratio.low);
        dm_buffer_puts(out, " to ");
        put_ratio(out, ratio.high);
        dm_buffer_puts(out, ")");
    }
    if (base->artifact != f->artifact)
        dm_buffer_puts(out, " (other run)");
}

static void put_cells(dm_buffer *out, const dm_lab_group *g, uint64_t envs, const cell_style *style)
{
    for (size_t b = 0; b < g->backend_count; b++) {
        const dm_lab_figure *f = dm_lab_group_find(g, g->backends[b], envs, SIZE_MAX);
        dm_buffer_puts(out, style->cell);
        if (f != NULL)
            put_figure(out, f);
        dm_buffer_puts(out, style->end_cell);
    }
    for (size_t b = 0; b < g->backend_count; b++)
        for (size_t k = 0; k < g->backend_count; k++) {
            if (!dm_lab_group_compares(g, b, k))
                continue;
            const dm_lab_figure *f = dm_lab_group_find(g, g->backends[b], envs, SIZE_MAX);
            const dm_lab_figure *base =
                f == NULL ? NULL : dm_lab_group_find(g, g->backends[k], envs, f->artifact);
            dm_buffer_puts(out, style->cell);
            if (base != NULL)
                put_comparison(out, g, f, base);
            dm_buffer_puts(out, style->end_cell);
        }
    dm_buffer_puts(out, style->end_row);
}

/* ---- Tables ---- */

void dm_lab_table_put(dm_buffer *out, const dm_lab_group *g, dm_lab_markup markup)
{
    const cell_style *style = &styles[markup];
    dm_buffer_printf(out, "%s%smachines%s", style->row, style->head, style->end_head);
    put_heads(out, g, style);
    if (markup == DM_LAB_MARKDOWN)
        put_rule(out, g, 1);
    for (size_t e = 0; e < g->env_count; e++) {
        dm_buffer_printf(out, "%s%s", style->row, style->cell);
        put_count(out, (double)g->envs[e]);
        dm_buffer_puts(out, style->end_cell);
        put_cells(out, g, g->envs[e], style);
    }
}

/* What the first of ours was measured on. */
static const dm_lab_figure *first_of_ours(const dm_lab_group *g, uint64_t envs)
{
    for (size_t b = 0; b < g->backend_count; b++)
        if (!g->is_reference[b])
            return dm_lab_group_find(g, g->backends[b], envs, SIZE_MAX);
    return NULL;
}

static void put_game(dm_buffer *out, const dm_lab_group *g, uint64_t envs, const cell_style *style)
{
    const dm_lab_figure *ours = first_of_ours(g, envs);
    dm_buffer_printf(out, "%s%s%s%s", style->row, style->cell, g->first->rom, style->end_cell);
    dm_buffer_puts(out, style->cell);
    if (ours != NULL && ours->instructions > 0)
        put_count(out, ours->instructions);
    dm_buffer_printf(out, "%s%s", style->end_cell, style->cell);
    if (ours != NULL && ours->seen > 0) {
        put_count(out, (double)ours->different);
        dm_buffer_puts(out, " of ");
        put_count(out, (double)ours->seen);
    }
    dm_buffer_puts(out, style->end_cell);
    put_cells(out, g, envs, style);
}

void dm_lab_table_put_games(dm_buffer *out, const dm_lab_group *mean, uint64_t envs,
                            dm_lab_markup markup)
{
    const cell_style *style = &styles[markup];
    const dm_lab_figures *list = mean->list;
    static const char *const heads[] = {"game", "instructions a frame", "different states"};
    dm_buffer_puts(out, style->row);
    for (size_t i = 0; i < 3; i++)
        dm_buffer_printf(out, "%s%s%s", style->head, heads[i], style->end_head);
    put_heads(out, mean, style);
    if (markup == DM_LAB_MARKDOWN)
        put_rule(out, mean, 3);
    for (size_t i = 0; i < list->count; i++) {
        const dm_lab_figure *f = &list->items[i];
        dm_lab_group game;
        if (f->members > 0 || strcmp(f->folder, mean->first->folder) != 0 ||
            strcmp(f->stage, mean->first->stage) != 0 || !dm_lab_group_at(list, i, &game))
            continue;
        /* The columns are the mean's, also where a game lacks one. */
        memcpy(game.backends, mean->backends, sizeof game.backends);
        memcpy(game.is_reference, mean->is_reference, sizeof game.is_reference);
        game.backend_count = mean->backend_count;
        put_game(out, &game, envs, style);
    }
}
