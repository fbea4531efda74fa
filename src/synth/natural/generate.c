/* SPDX-License-Identifier: MIT */
/* generate.c - the library of idioms, and one kernel of it. */
#include "device/sources.h"
#include "synth/natural/idiom.h"

#include <stdlib.h>
#include <string.h>

static const char *const files[] = {
#define FILE_OF(name) "synth/natural/idioms/" #name ".idioms",
#include "synth/natural/files.def"
#undef FILE_OF
};

static dm_status sort_by_category(dm_natural *n, dm_error *err)
{
    for (const dm_natural_idiom *i = n->all; i != NULL; i = i->next) {
        if (i->category >= 0)
            n->count[i->category]++;
        if (i->program >= 0)
            n->program_count[i->program]++;
    }
    for (int c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++) {
        int place = n->count[c], program = n->program_count[c]; /* the list is in reverse */
        n->by_category[c] = dm_arena_alloc_array(&n->arena, (size_t)place + 1, sizeof(void *));
        n->programs[c] = dm_arena_alloc_array(&n->arena, (size_t)program + 1, sizeof(void *));
        if (n->by_category[c] == NULL || n->programs[c] == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        for (dm_natural_idiom *i = n->all; i != NULL; i = i->next) {
            if (i->category == c)
                n->by_category[c][--place] = i;
            if (i->program == c)
                n->programs[c][--program] = i;
        }
    }
    return DM_OK;
}

dm_status dm_natural_create(dm_natural **out, dm_error *err)
{
    static const char *const known[DM_NATURAL_KNOWN] = {"name",    "about", "detail",  "notes",
                                                        "helpers", "body",  "kernels", "launches"};
    dm_natural *n = *out = calloc(1, sizeof *n);
    if (n == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_arena_init(&n->arena, 0);
    for (int i = 0; i < DM_NATURAL_KNOWN; i++)
        n->names[n->name_count++] = known[i];
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == DM_OK; i++) {
        const char *text = dm_embedded_text(files[i]);
        status = text == NULL ? dm_fail(err, DM_EINTERNAL, "%s is not built in", files[i])
                              : dm_natural_parse(n, files[i], text, strlen(text), err);
    }
    if (status == DM_OK)
        status = sort_by_category(n, err);
    if (status != DM_OK) {
        dm_natural_destroy(n);
        *out = NULL;
    }
    return status;
}

void dm_natural_destroy(dm_natural *n)
{
    if (n == NULL)
        return;
    dm_buffer_deinit(&n->scratch);
    dm_arena_deinit(&n->arena);
    free(n);
}

int dm_natural_count(const dm_natural *n, int category)
{
    return n->count[category];
}

void dm_natural_set_slower(dm_natural *n, bool slower)
{
    n->wants_slower = slower;
}

void dm_natural_set_programs(dm_natural *n, int percent)
{
    n->programs_percent = percent;
}

/* The same draws, another rule for locals. */
static void write_slower(dm_natural *n, const dm_natural *before, dm_buffer *out)
{
    n->counter = before->counter;
    n->words_left = before->words_left;
    memcpy(n->words, before->words, sizeof n->words);
    n->all_in_place = true;
    dm_natural_write_program(n, out);
    n->all_in_place = false;
}

dm_status dm_natural_generate(dm_natural *n, uint64_t seed, uint64_t slot, int attempt,
                              int category, dm_synth_record *record, dm_error *err)
{
    n->key = ~seed; /* other numbers than the random style's */
    n->stream = slot;
    n->counter = (uint64_t)attempt << 32;
    n->words_left = 0;
    if (n->count[category] == 0)
        return dm_fail(err, DM_EUNSUPPORTED, "no idioms of category %s",
                       dm_synth_category_names[category]);
    const dm_natural_idiom *idiom =
        n->by_category[category][dm_natural_below(n, n->count[category])];
    bool several = n->programs_percent > 0 && n->program_count[category] > 0 &&
                   dm_natural_chance(n, n->programs_percent);
    if (several)
        idiom = n->programs[category][dm_natural_below(n, n->program_count[category])];
    dm_natural_compose(n, idiom);
    dm_natural before = {.counter = n->counter, .words_left = n->words_left};
    memcpy(before.words, n->words, sizeof before.words);
    if (several)
        dm_natural_write_launches(n, &record->python_source);
    else
        dm_natural_write_program(n, &record->python_source);
    if (n->wants_slower && !several)
        write_slower(n, &before, &record->slower);
    dm_natural_write_words(n, &record->line, &record->paragraph, &record->specification);
    dm_buffer_clear(&n->scratch);
    dm_natural_write_name(n, &n->scratch);
    if (n->scratch.size == 0 || n->scratch.size >= sizeof record->kernel_name)
        n->unknown = "a kernel's name that fits";
    if (n->unknown != NULL)
        return dm_fail(err, DM_EINTERNAL, "idiom %s: nothing is known of '%s'", idiom->name,
                       n->unknown);
    memcpy(record->kernel_name, dm_buffer_text(&n->scratch), n->scratch.size + 1);
    record->category = category;
    if (strlen(idiom->name) < sizeof record->idiom)
        memcpy(record->idiom, idiom->name, strlen(idiom->name) + 1);
    return dm_buffer_check(&record->python_source, err);
}
