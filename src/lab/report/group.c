/* SPDX-License-Identifier: MIT */
/* group.c - figures that belong together, and their geometric means.
 *
 * A game counts in a mean only if every backend of the run could play it, so that all means of a
 * folder are over the same games and the ratio of two of them is the mean of the games' ratios. */
#include "lab/bench/bench.h"
#include "lab/report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dm_status dm_lab_figures_add(dm_lab_figures *list, const dm_lab_figure *figure, dm_error *err)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        dm_lab_figure *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *figure;
    return DM_OK;
}

void dm_lab_figures_deinit(dm_lab_figures *list)
{
    free(list->items);
    *list = (dm_lab_figures){0};
}

/* ---- Means ---- */

static bool same_set(const dm_lab_figure *a, const dm_lab_figure *b)
{
    return a->artifact == b->artifact && a->members == 0 && b->members == 0 &&
           strcmp(a->folder, b->folder) == 0 && strcmp(a->stage, b->stage) == 0;
}

static bool same_subject(const dm_lab_figure *a, const dm_lab_figure *b)
{
    return a->envs == b->envs && a->threads == b->threads && strcmp(a->backend, b->backend) == 0;
}

static bool has_backend(const dm_lab_figures *list, const dm_lab_figure *like, const char *rom,
                        const char *backend)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_set(&list->items[i], like) && strcmp(list->items[i].rom, rom) == 0 &&
            strcmp(list->items[i].backend, backend) == 0)
            return true;
    return false;
}

/* Can every backend of the set play it? */
static bool is_member(const dm_lab_figures *list, const dm_lab_figure *like, const char *rom)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_set(&list->items[i], like) &&
            !has_backend(list, like, rom, list->items[i].backend))
            return false;
    return true;
}

/* The members of the set: how many games. */
static size_t members(const dm_lab_figures *list, const dm_lab_figure *like)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool first = same_set(&list->items[i], like);
        for (size_t k = 0; k < i && first; k++)
            first = !same_set(&list->items[k], like) ||
                    strcmp(list->items[k].rom, list->items[i].rom) != 0;
        count += first && is_member(list, like, list->items[i].rom);
    }
    return count;
}

/* The mean of all games' figures like this one; false where a game has none. */
static bool mean_of(const dm_lab_figures *list, const dm_lab_figure *like, size_t games,
                    dm_lab_figure *out)
{
    double sums[3] = {0};
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const dm_lab_figure *f = &list->items[i];
        if (!same_set(f, like) || !same_subject(f, like) || !is_member(list, like, f->rom))
            continue;
        sums[0] += log(f->fps);
        sums[1] += log(f->low);
        sums[2] += log(f->high);
        count++;
    }
    if (games < 2 || count != games)
        return false;
    *out = *like;
    snprintf(out->rom, sizeof out->rom, "%s-mean-of-%zu", like->folder, games);
    out->fps = exp(sums[0] / (double)count);
    out->low = exp(sums[1] / (double)count);
    out->high = exp(sums[2] / (double)count);
    out->instructions = 0;
    out->different = out->seen = 0;
    out->members = count;
    return true;
}

dm_status dm_lab_figures_add_means(dm_lab_figures *list, dm_error *err)
{
    dm_lab_figures all = {0};
    dm_status status = DM_OK;
    for (size_t i = 0; i < list->count && status == DM_OK; i++) {
        const dm_lab_figure *f = &list->items[i];
        dm_lab_figure mean;
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !same_set(&list->items[k], f) || !same_subject(&list->items[k], f);
        if (first && mean_of(list, f, members(list, f), &mean))
            status = dm_lab_figures_add(&all, &mean, err);
    }
    for (size_t i = 0; i < list->count && status == DM_OK; i++)
        status = dm_lab_figures_add(&all, &list->items[i], err);
    if (status != DM_OK) {
        dm_lab_figures_deinit(&all);
        return status;
    }
    free(list->items);
    *list = all;
    return DM_OK;
}

/* ---- Groups ---- */

static bool same_group(const dm_lab_figure *a, const dm_lab_figure *b)
{
    return strcmp(a->rom, b->rom) == 0 && strcmp(a->folder, b->folder) == 0 &&
           strcmp(a->stage, b->stage) == 0;
}

static void add_backend(dm_lab_group *g, const dm_lab_figure *f)
{
    size_t b = 0;
    while (b < g->backend_count && strcmp(g->backends[b], f->backend) != 0)
        b++;
    if (b == g->backend_count && b < DM_LAB_GROUP_BACKENDS) {
        g->is_reference[b] = f->is_reference;
        g->backends[g->backend_count++] = f->backend;
    }
}

static void add_envs(dm_lab_group *g, uint64_t envs)
{
    size_t e = 0;
    while (e < g->env_count && g->envs[e] < envs)
        e++;
    if ((e == g->env_count || g->envs[e] != envs) && g->env_count < DM_LAB_GROUP_ENVS) {
        memmove(&g->envs[e + 1], &g->envs[e], (g->env_count - e) * sizeof g->envs[0]);
        g->envs[e] = envs;
        g->env_count++;
    }
}

bool dm_lab_group_at(const dm_lab_figures *list, size_t at, dm_lab_group *out)
{
    const dm_lab_figure *f = &list->items[at];
    *out = (dm_lab_group){.list = list, .first = f};
    for (size_t i = 0; i < at; i++)
        if (same_group(&list->items[i], f))
            return false;
    for (size_t i = at; i < list->count; i++) {
        if (!same_group(&list->items[i], f))
            continue;
        add_backend(out, &list->items[i]);
        if (!list->items[i].is_reference)
            add_envs(out, list->items[i].envs);
    }
    if (out->env_count == 0) /* of references alone */
        add_envs(out, 1);
    return true;
}

/* Is `f` a better answer than `found`? Threads count most, then the run. */
static bool is_better(const dm_lab_figure *f, const dm_lab_figure *found, uint64_t envs,
                      size_t artifact)
{
    bool fits = (uint64_t)f->threads <= envs, found_fits = (uint64_t)found->threads <= envs;
    if (fits != found_fits)
        return fits;
    if (f->threads != found->threads)
        return fits == (f->threads > found->threads);
    return f->artifact == artifact;
}

const dm_lab_figure *dm_lab_group_find(const dm_lab_group *g, const char *backend, uint64_t envs,
                                       size_t artifact)
{
    const dm_lab_figure *found = NULL;
    for (size_t i = 0; i < g->list->count; i++) {
        const dm_lab_figure *f = &g->list->items[i];
        if (!same_group(f, g->first) || strcmp(f->backend, backend) != 0 ||
            (!f->is_reference && f->envs != envs))
            continue;
        if (found == NULL || is_better(f, found, envs, artifact))
            found = f;
    }
    return found;
}

bool dm_lab_group_compares(const dm_lab_group *g, size_t b, size_t k)
{
    bool gpu = strcmp(g->backends[b], dm_lab_vec_cuda.name) == 0;
    return !g->is_reference[b] &&
           (g->is_reference[k] || (gpu && strcmp(g->backends[k], dm_lab_vec_cpu.name) == 0));
}

/* The game's figure where `like` is a mean. */
static const dm_lab_figure *of_game(const dm_lab_figures *list, const dm_lab_figure *like,
                                    const char *rom)
{
    for (size_t i = 0; i < list->count; i++) {
        const dm_lab_figure *f = &list->items[i];
        if (f->members == 0 && f->artifact == like->artifact && same_subject(f, like) &&
            strcmp(f->rom, rom) == 0 && strcmp(f->folder, like->folder) == 0 &&
            strcmp(f->stage, like->stage) == 0)
            return f;
    }
    return NULL;
}

dm_lab_ratio dm_lab_group_ratio(const dm_lab_group *g, const dm_lab_figure *figure,
                                const dm_lab_figure *base)
{
    dm_lab_ratio out = {.value = figure->fps / base->fps};
    for (size_t i = 0; i < g->list->count && figure->members > 0; i++) {
        const char *rom = g->list->items[i].rom;
        const dm_lab_figure *a = of_game(g->list, figure, rom), *b = of_game(g->list, base, rom);
        if (a == NULL || b == NULL || a != &g->list->items[i] || !is_member(g->list, a, rom))
            continue;
        double ratio = a->fps / b->fps;
        out.low = out.low == 0 || ratio < out.low ? ratio : out.low;
        out.high = ratio > out.high ? ratio : out.high;
    }
    return out;
}
