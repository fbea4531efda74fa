/* SPDX-License-Identifier: MIT */
/* The generator: the same for ever, all distinct, and all of it compiles. */
#include "base/file.h"
#include "synth/check/compile.h"
#include "synth/gen/gen.h"
#include "synth/store/canonical.h"
#include "synth/store/plan.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tools {
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_record record;
    dm_buffer scratch;
} tools;

static void set_up(tools *t)
{
    memset(t, 0, sizeof *t);
    assert_ok(dm_synth_profile_create(NULL, &t->profile, err));
    assert_ok(dm_synth_generator_create(t->profile, &t->generator, err));
    assert_ok(dm_synth_compiler_create(&t->compiler, err));
    dm_synth_record_init(&t->record);
}

static void tear_down(tools *t)
{
    dm_synth_generator_destroy(t->generator);
    dm_synth_compiler_destroy(t->compiler);
    dm_synth_profile_destroy(t->profile);
    dm_synth_record_deinit(&t->record);
    dm_buffer_deinit(&t->scratch);
}

static void generate(tools *t, uint64_t seed, uint64_t slot, int attempt)
{
    int category = (int)(slot % DM_SYNTH_CATEGORY_COUNT);
    assert_ok(dm_synth_generate(t->generator, seed, slot, attempt, (dm_synth_category)category,
                                &t->record, err));
}

static void depends_on_its_arguments_alone(void **state)
{
    (void)state;
    tools a, b;
    set_up(&a);
    set_up(&b);
    for (uint64_t slot = 0; slot < 200; slot++) {
        generate(&a, 3, slot, 0);
        if (slot % 3 == 0) /* another history */
            generate(&b, 9, slot + 1, 5);
        generate(&b, 3, slot, 0);
        assert_string_equal(dm_buffer_text(&a.record.python_source),
                            dm_buffer_text(&b.record.python_source));
        assert_string_equal(a.record.id, b.record.id);
        generate(&b, 3, slot, 1);
        assert_string_not_equal(dm_buffer_text(&a.record.python_source),
                                dm_buffer_text(&b.record.python_source));
        generate(&b, 4, slot, 0);
        assert_string_not_equal(dm_buffer_text(&a.record.python_source),
                                dm_buffer_text(&b.record.python_source));
    }
    tear_down(&a);
    tear_down(&b);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(dm_hash128));
}

static void forms_are_distinct(void **state)
{
    (void)state;
    enum { COUNT = 12000 };
    dm_hash128 *forms = calloc(COUNT, sizeof *forms);
    tools t;
    int same = 0;
    assert_non_null(forms);
    set_up(&t);
    for (uint64_t slot = 0; slot < COUNT; slot++) {
        generate(&t, 1, slot, 0);
        forms[slot] = dm_synth_canonical_hash(dm_buffer_text(&t.record.python_source),
                                              t.record.python_source.size, &t.scratch);
    }
    qsort(forms, COUNT, sizeof *forms, compare_hashes);
    for (int i = 1; i < COUNT; i++)
        same += memcmp(&forms[i], &forms[i - 1], sizeof *forms) == 0;
    if (same > COUNT / 100)
        fail_msg("%d of %d forms are there twice", same, COUNT);
    tear_down(&t);
    free(forms);
}

/* No floats in any parameter: then there is no backward pass. */
static bool has_floats(const char *text)
{
    return strstr(text, "float") != NULL || strstr(text, "wp.vec") != NULL ||
           strstr(text, "wp.mat") != NULL || strstr(text, "wp.quat") != NULL;
}

static void everything_compiles_with_gradients(void **state)
{
    (void)state;
    int floats[DM_SYNTH_CATEGORY_COUNT] = {0};
    tools t;
    set_up(&t);
    for (uint64_t slot = 0; slot < 1800; slot++) {
        dm_error err = {0};
        generate(&t, 11, slot, 0);
        const char *text = dm_buffer_text(&t.record.python_source);
        if (dm_synth_compile(t.compiler, &t.record, DM_SYNTH_TEXT_CUDA, &err) != DM_OK)
            fail_msg("slot %d, line %d: %s\n%s", (int)slot, err.line, err.message, text);
        floats[t.record.category] += t.record.has_backward;
        if (t.record.has_backward != has_floats(text))
            fail_msg("slot %d: backward %d:\n%s", (int)slot, t.record.has_backward, text);
        assert_true(t.record.forward_lines > 5);
        assert_int_equal(t.record.backward_lines > 5, t.record.has_backward);
    }
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        assert_true(floats[i] > 1800 / DM_SYNTH_CATEGORY_COUNT / 2);
    tear_down(&t);
}

/* What a category is named after is in it. */
static void categories_keep_their_word(void **state)
{
    (void)state;
    static const struct {
        int category;
        const char *text;
        int percent;
    } cases[] = {{DM_SYNTH_VECTOR, "wp.vec", 95},
                 {DM_SYNTH_MATRIX, "wp.mat", 60},
                 {DM_SYNTH_CONTROL_FLOW, ":\n        ", 100},
                 {DM_SYNTH_ATOMIC, "", 100},
                 {DM_SYNTH_REDUCTION, "    for ", 100},
                 {DM_SYNTH_STRUCT, "@wp.struct", 100},
                 {DM_SYNTH_FUNCTION, "@wp.func", 100},
                 {DM_SYNTH_MULTI_DIM, ", ", 100},
                 {DM_SYNTH_RANDOM, "wp.rand_init(", 100}};
    tools t;
    set_up(&t);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int found = 0;
        for (uint64_t slot = 0; slot < 200; slot++) {
            assert_ok(dm_synth_generate(t.generator, 2, slot, 0,
                                        (dm_synth_category)cases[i].category, &t.record, err));
            found += strstr(dm_buffer_text(&t.record.python_source), cases[i].text) != NULL;
        }
        if (found < 2 * cases[i].percent)
            fail_msg("%s: %d of 200 have '%s'", dm_synth_category_names[cases[i].category], found,
                     cases[i].text);
    }
    tear_down(&t);
}

/* Every function that is declared is called. */
static void functions_are_called(void **state)
{
    (void)state;
    tools t;
    set_up(&t);
    for (uint64_t slot = 0; slot < 300; slot++) {
        assert_ok(dm_synth_generate(t.generator, 8, slot, 0, DM_SYNTH_FUNCTION, &t.record, err));
        const char *text = dm_buffer_text(&t.record.python_source), *at = text;
        while ((at = strstr(at, "@wp.func\ndef ")) != NULL) {
            char name[64];
            at += strlen("@wp.func\ndef ");
            snprintf(name, sizeof name, "%.*s(", (int)strcspn(at, "("), at);
            if (strstr(at + strlen(name), name) == NULL)
                fail_msg("%s) is not called:\n%s", name, text);
        }
    }
    tear_down(&t);
}

/* Whoever changes what a seed gives raises DM_SYNTH_GENERATOR, and this hash. */
static void kernels_stay_what_they_are(void **state)
{
    (void)state;
    tools t;
    char hash[DM_HASH_HEX_SIZE];
    set_up(&t);
    dm_hasher *hasher = dm_hasher_create();
    for (uint64_t slot = 0; slot < 240; slot++) {
        generate(&t, 11, slot, (int)(slot % 3));
        dm_hasher_text(hasher, dm_buffer_text(&t.record.python_source));
    }
    dm_hash128_hex(dm_hasher_finish(hasher), hash);
    assert_int_equal(DM_SYNTH_GENERATOR, 3);
    assert_string_equal(hash, "4252d7297c8ff4952d795edeebfa6556");
    dm_hasher_destroy(hasher);
    tear_down(&t);
}

/* The generator has its own form of it. */
static void random_numbers_are_those_of_philox(void **state)
{
    (void)state;
    tools t;
    uint64_t seed = 0xFEDCBA9876543210u, slot = 0x123456789ABCDEFu;
    set_up(&t);
    for (int attempt = 0; attempt < 3; attempt++) {
        dm_gen_seed(t.generator, seed, slot, attempt);
        for (uint64_t i = 0; i < 20; i++) {
            dm_philox4 block = dm_random4(seed, slot, ((uint64_t)attempt << 32) + i);
            for (int k = 3; k >= 0; k--)
                assert_int_equal(dm_gen_word(t.generator), block.v[k]);
        }
    }
    tear_down(&t);
}

/* Names are compared by address. */
static void words_have_one_role(void **state)
{
    (void)state;
    for (int a = 0; a < DM_GEN_ROLE_KINDS; a++)
        for (int i = 0; i < dm_gen_vocabulary_count[a]; i++)
            for (int b = a; b < DM_GEN_ROLE_KINDS; b++)
                for (int k = b == a ? i + 1 : 0; k < dm_gen_vocabulary_count[b]; k++)
                    if (memcmp(&dm_gen_vocabulary[a][i], &dm_gen_vocabulary[b][k],
                               sizeof(dm_gen_text)) == 0)
                        fail_msg("'%s' is there twice", dm_gen_vocabulary[a][i].bytes);
}

static int longest(dm_gen_role role)
{
    int most = 0;
    assert_true(dm_gen_vocabulary_count[role] <= DM_GEN_WORDS_MAX);
    for (int i = 0; i < dm_gen_vocabulary_count[role]; i++)
        if (dm_gen_vocabulary[role][i].length > most)
            most = dm_gen_vocabulary[role][i].length;
    return most;
}

/* A word, a number that tells it from another and a field's name are one text. */
static void names_that_are_put_together_fit(void **state)
{
    (void)state;
    for (int role = 0; role < DM_GEN_ROLE_KINDS; role++) {
        int field = role == DM_GEN_ROLE_VERB || role == DM_GEN_ROLE_FIELD ? DM_GEN_ROLE_NOUN
                                                                          : DM_GEN_ROLE_FIELD;
        int most = longest((dm_gen_role)role) + 3 + 1 + longest((dm_gen_role)field);
        if (most > DM_GEN_TEXT_MAX)
            fail_msg("names of role %d can have %d letters", role, most);
    }
}

/* `, "key": [0, 0, 5, 0 ...]`: all have one size. */
static void put_sizes(dm_buffer *text, const char *key, int count, int size)
{
    dm_buffer_printf(text, ", \"%s\": [", key);
    for (int i = 1; i <= count; i++)
        dm_buffer_printf(text, "%s%d", i > 1 ? ", " : "", i == size ? 5 : 0);
    dm_buffer_puts(text, "]");
}

static void write_profile(const char *path, int lines, int parameters, int operations)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, "{\"operators\": {\"Add\": 1}, \"builtins\": {\"sin\": 100}, "
                          "\"scalars\": {\"float64\": 1}");
    put_sizes(&text, "lines", DM_SYNTH_LINES_MAX, lines);
    put_sizes(&text, "parameters", DM_SYNTH_PARAMETERS_MAX, parameters);
    put_sizes(&text, "operations", DM_SYNTH_OPERATIONS_MAX, operations);
    dm_buffer_puts(&text, "}");
    assert_ok(dm_file_write(path, text.data, text.size, err));
    dm_buffer_deinit(&text);
}

static void another_profile_gives_other_kernels(void **state)
{
    const char *path = dm_test_path(state, "profile.json");
    dm_synth_profile *profile;
    tools t;
    set_up(&t);
    write_profile(path, 10, 3, 1);
    assert_ok(dm_synth_profile_create(path, &profile, err));
    assert_true(profile->hash.low != t.profile->hash.low);
    assert_true(profile->scalars[1] > 10 * profile->scalars[0]);
    dm_synth_profile_destroy(profile);
    write_profile(path, 10, 3, 0); /* no size at all */
    assert_int_equal(dm_synth_profile_create(path, &profile, NULL), DM_EFORMAT);
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"operators\": 3}",
        "{",
        "",
        "{\"operators\": {\"Add\": -1}, \"builtins\": {}, \"scalars\": {}, \"lines\": []}",
        "{\"operators\": {\"Add\": 1, \"Sub\": 9223372036854775807}}",
        "{\"operators\": {}, \"builtins\": {}, \"scalars\": {}, \"lines\": [1, 2]}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dm_error err = {0};
        assert_ok(dm_file_write(path, bad[i], strlen(bad[i]), err));
        assert_int_equal(dm_synth_profile_create(path, &profile, &err), DM_EFORMAT);
        assert_null(profile);
    }
    assert_int_equal(dm_synth_profile_create("/no/such/file", &profile, NULL), DM_ENOENT);
    tear_down(&t);
}

/* Lines of the kernel's body: the indented ones at the end of the text. */
static int body_lines(const dm_synth_record *record)
{
    const char *body = strstr(dm_buffer_text(&record->python_source), "@wp.kernel");
    int lines = 0;
    for (body = strstr(body, "):\n") + 2; body != NULL; body = strchr(body + 1, '\n'))
        lines += strncmp(body, "\n    ", 5) == 0;
    return lines;
}

/* What a category must have may take more lines: a loop, a struct, a function that is called. */
static void bodies_are_as_long_as_the_profile_says(void **state)
{
    const char *path = dm_test_path(state, "profile.json");
    static const int wanted[] = {2, 6, 20};
    tools t;
    set_up(&t);
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        dm_synth_profile *profile;
        dm_synth_generator *generator;
        int exact = 0;
        write_profile(path, wanted[k], 2, 1);
        assert_ok(dm_synth_profile_create(path, &profile, err));
        assert_ok(dm_synth_generator_create(profile, &generator, err));
        for (uint64_t slot = 0; slot < 100; slot++) {
            assert_ok(dm_synth_generate(generator, 1, slot, 0, DM_SYNTH_STENCIL, &t.record, err));
            int lines = body_lines(&t.record);
            assert_true(lines >= wanted[k] && lines <= wanted[k] + 6);
            exact += lines == wanted[k];
        }
        assert_true(exact >= 70);
        dm_synth_generator_destroy(generator);
        dm_synth_profile_destroy(profile);
    }
    tear_down(&t);
}

/* Names in the kernel's head that an array or a number is declared with. */
static int parameters(const dm_synth_record *record)
{
    const char *head = strstr(dm_buffer_text(&record->python_source), "@wp.kernel");
    const char *end = strstr(head, "):\n");
    int count = 0;
    for (; head < end; head++)
        count += *head == ':';
    return count;
}

/* As many inputs as there, at most; then indices, a seed or a number of threads, and outputs. */
static void parameters_are_as_many_as_the_profile_says(void **state)
{
    const char *path = dm_test_path(state, "profile.json");
    tools t;
    set_up(&t);
    for (int wanted = 1; wanted <= DM_SYNTH_PARAMETERS_MAX; wanted += 5) {
        dm_synth_profile *profile;
        dm_synth_generator *generator;
        int most = 0;
        write_profile(path, 24, wanted, 3);
        assert_ok(dm_synth_profile_create(path, &profile, err));
        assert_ok(dm_synth_generator_create(profile, &generator, err));
        for (uint64_t slot = 0; slot < 240; slot++) {
            int category = (int)(slot % DM_SYNTH_CATEGORY_COUNT);
            assert_ok(dm_synth_generate(generator, 1, slot, 0, (dm_synth_category)category,
                                        &t.record, err));
            int found = parameters(&t.record);
            assert_true(found >= 2 && found <= wanted + 6 && found <= DM_GEN_PARAMS_MAX);
            most = found > most ? found : most;
            assert_ok(dm_synth_compile(t.compiler, &t.record, DM_SYNTH_TEXT_CUDA, err));
        }
        assert_true(most > wanted || most == DM_GEN_PARAMS_MAX);
        dm_synth_generator_destroy(generator);
        dm_synth_profile_destroy(profile);
    }
    tear_down(&t);
}

/* ---- The plan ---- */

static void plan_is_the_same_in_pieces(void **state)
{
    (void)state;
    static const int categories[] = {DM_SYNTH_MATH, DM_SYNTH_ATOMIC};
    tools t;
    dm_pool *pool;
    dm_synth_plan *whole, *pieces;
    set_up(&t);
    dm_synth_plan_options options = {.seed = 5,
                                     .slots = 3000,
                                     .categories = categories,
                                     .category_count = 2,
                                     .profile = t.profile};
    assert_ok(dm_pool_create(2, &pool, err));
    assert_ok(dm_synth_plan_create(&options, &whole, err));
    assert_ok(dm_synth_plan_create(&options, &pieces, err));
    assert_ok(dm_synth_plan_extend(whole, 3000, pool, err));
    for (uint64_t slots = 100; slots <= 3000; slots += 290)
        assert_ok(dm_synth_plan_extend(pieces, slots, pool, err));
    for (uint64_t slot = 0; slot < 3000; slot++)
        assert_int_equal(dm_synth_plan_attempt(whole, slot), dm_synth_plan_attempt(pieces, slot));
    assert_int_equal(dm_synth_plan_category(whole, 7), DM_SYNTH_ATOMIC);
    /* Replacements: never a form of the plan, and of one shard only. */
    generate(&t, 5, 0, 0);
    int shards = 0;
    dm_hash128 form = {.low = 123, .high = 4567};
    for (uint64_t shard = 0; shard < 7; shard++)
        shards += dm_synth_plan_spare(whole, form, shard, 7);
    assert_int_equal(shards, 1);
    assert_ok(dm_synth_generate(t.generator, 5, 0, 0, DM_SYNTH_MATH, &t.record, err));
    form = dm_synth_canonical_hash(dm_buffer_text(&t.record.python_source),
                                   t.record.python_source.size, &t.scratch);
    for (uint64_t shard = 0; shard < 7; shard++)
        assert_false(dm_synth_plan_spare(whole, form, shard, 7));
    dm_synth_plan_destroy(whole);
    dm_synth_plan_destroy(pieces);
    dm_pool_destroy(pool);
    tear_down(&t);
}

static void plan_takes_a_form_once(void **state)
{
    (void)state;
    static const int categories[] = {DM_SYNTH_MATH};
    tools t;
    dm_synth_plan *plan;
    set_up(&t);
    dm_synth_plan_options options = {
        .seed = 5, .slots = 4, .categories = categories, .category_count = 1, .profile = t.profile};
    assert_ok(dm_synth_plan_create(&options, &plan, err));
    assert_true(dm_synth_plan_offer(plan, 0, (dm_hash128){.low = 7, .high = 1}));
    assert_false(dm_synth_plan_offer(plan, 0, (dm_hash128){.low = 7, .high = 1}));
    assert_true(dm_synth_plan_offer(plan, 1, (dm_hash128){.low = 7, .high = 2}));
    assert_int_equal(dm_synth_plan_decided(plan), 2);
    assert_int_equal(dm_synth_plan_attempt(plan, 1), 1);
    dm_synth_plan_destroy(plan);
    tear_down(&t);
}

DM_TESTS("synth/generate", DM_TEST(depends_on_its_arguments_alone), DM_TEST(forms_are_distinct),
         DM_TEST(everything_compiles_with_gradients), DM_TEST(categories_keep_their_word),
         DM_TEST(functions_are_called), DM_TEST(kernels_stay_what_they_are),
         DM_TEST(random_numbers_are_those_of_philox), DM_TEST(words_have_one_role),
         DM_TEST(names_that_are_put_together_fit),
         DM_TEST_IN_DIR(another_profile_gives_other_kernels),
         DM_TEST_IN_DIR(bodies_are_as_long_as_the_profile_says),
         DM_TEST_IN_DIR(parameters_are_as_many_as_the_profile_says),
         DM_TEST(plan_is_the_same_in_pieces), DM_TEST(plan_takes_a_form_once))
