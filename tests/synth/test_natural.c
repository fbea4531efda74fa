/* SPDX-License-Identifier: MIT */
/* The library of idioms: every kernel that it composes compiles, the same for ever. */
#include "synth/gen/generate.h"
#include "synth/store/canonical.h"
#include "tests/synth/natural_tools.h"

#include <stdlib.h>
#include <string.h>

static void compose(tools *t, uint64_t slot, int attempt, int category)
{
    dm_synth_record_clear(&t->record);
    assert_ok(dm_natural_generate(t->natural, 1, slot, attempt, category, &t->record, err));
}

static void everything_compiles_with_gradients(void **state)
{
    (void)state;
    tools t;
    set_up(&t);
    for (int c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++)
        for (uint64_t slot = 0; dm_natural_count(t.natural, c) > 0 && slot < 150; slot++) {
            dm_error err = {0};
            compose(&t, slot, 0, c);
            const char *text = dm_buffer_text(&t.record.python_source);
            if (dm_synth_compile(t.compiler, &t.record, DM_SYNTH_TEXT_CUDA, &err) != DM_OK)
                fail_msg("line %d: %s\n%s", err.line, err.message, text);
        }
    tear_down(&t);
}

static void no_line_is_longer_than_120(void **state)
{
    (void)state;
    tools t;
    set_up(&t);
    for (int c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++)
        for (uint64_t slot = 0; dm_natural_count(t.natural, c) > 0 && slot < 300; slot++) {
            compose(&t, slot, 0, c);
            const char *line = dm_buffer_text(&t.record.python_source);
            while (*line != '\0') {
                size_t length = strcspn(line, "\n");
                if (length > 120 || (length > 0 && line[length - 1] == ' '))
                    fail_msg("'%.*s' in\n%s", (int)length, line,
                             dm_buffer_text(&t.record.python_source));
                line += length + (line[length] == '\n');
            }
        }
    tear_down(&t);
}

static void depends_on_its_arguments_alone(void **state)
{
    (void)state;
    tools a, b;
    int same = 0, count = 0;
    set_up(&a);
    set_up(&b);
    for (int c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++)
        for (uint64_t slot = 0; dm_natural_count(a.natural, c) > 0 && slot < 40; slot++) {
            compose(&a, slot, 0, c);
            compose(&b, slot + 7, 3, c); /* another history */
            compose(&b, slot, 0, c);
            assert_string_equal(dm_buffer_text(&a.record.python_source),
                                dm_buffer_text(&b.record.python_source));
            assert_string_equal(a.record.kernel_name, b.record.kernel_name);
            compose(&b, slot, 1, c);
            same += strcmp(dm_buffer_text(&a.record.python_source),
                           dm_buffer_text(&b.record.python_source)) == 0;
            count++;
        }
    assert_true(count > 0 && same * 10 < count);
    tear_down(&a);
    tear_down(&b);
}

/* 60 idioms, five of each category at least, each of which is drawn. */
static void there_are_many_idioms(void **state)
{
    (void)state;
    tools t;
    int total = 0;
    set_up(&t);
    for (int c = 0; c < DM_SYNTH_CATEGORY_COUNT; c++) {
        assert_true(dm_natural_count(t.natural, c) >= 5);
        total += dm_natural_count(t.natural, c);
    }
    assert_true(total >= 60);
    tear_down(&t);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(dm_hash128));
}

/* Before anything is dropped. */
static void most_forms_are_distinct(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    tools t;
    dm_buffer form = DM_BUFFER_EMPTY;
    int same = 0;
    dm_hash128 *forms = calloc(COUNT, sizeof *forms);
    assert_non_null(forms);
    set_up(&t);
    for (uint64_t slot = 0; slot < COUNT; slot++) {
        compose(&t, slot, 0, (int)(slot % DM_SYNTH_CATEGORY_COUNT));
        forms[slot] = dm_synth_canonical_hash(dm_buffer_text(&t.record.python_source),
                                              t.record.python_source.size, &form);
    }
    qsort(forms, COUNT, sizeof *forms, compare_hashes);
    for (int i = 1; i < COUNT; i++)
        same += memcmp(&forms[i], &forms[i - 1], sizeof *forms) == 0;
    if (same > COUNT * 4 / 10)
        fail_msg("%d of %d forms are there before", same, COUNT);
    tear_down(&t);
    dm_buffer_deinit(&form);
    free(forms);
}

DM_TESTS("synth/natural", DM_TEST(everything_compiles_with_gradients),
         DM_TEST(there_are_many_idioms), DM_TEST(most_forms_are_distinct),
         DM_TEST(no_line_is_longer_than_120), DM_TEST(depends_on_its_arguments_alone))
