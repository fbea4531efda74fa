/* SPDX-License-Identifier: MIT */
#include "cli/options.h"
#include "tests/support/test.h"

#include <string.h>

typedef struct values {
    bool fast;
    const char *rom;
    dm_strings regions;
    int64_t frames;
    double rate;
    int mode;
} values;

static const char *const modes[] = {"slow", "medium", "quick", NULL};
static const dm_option rows[] = {
    DM_OPTION_FLAG(values, fast, "fast", "draw nothing"),
    DM_OPTION_STRING(values, rom, "rom", "FILE", NULL, "what to run"),
    DM_OPTION_STRINGS(values, regions, "mem-region", "LO:HI", "compare this; repeatable"),
    DM_OPTION_INT(values, frames, "frames", "N", 1, 1000, "60", "frames to run"),
    DM_OPTION_DOUBLE(values, rate, "rate", "X", "0.5", "learning rate"),
    DM_OPTION_CHOICE(values, mode, "mode", modes, "medium", "how"),
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

typedef struct parsed {
    values v;
    dm_strings rest;
    dm_error err;
    dm_status status;
} parsed;

static void parse(parsed *p, const char *const *argv)
{
    *p = (parsed){0};
    dm_option_set set = {rows, ROW_COUNT, &p->v};
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    p->status = dm_options_parse(&set, 1, argc, (char **)argv, &p->rest, &p->err);
}

static void done(parsed *p)
{
    dm_option_set set = {rows, ROW_COUNT, &p->v};
    dm_options_deinit(&set, 1, &p->rest);
}

#define PARSE(p, ...) parse(p, (const char *const[]){__VA_ARGS__, NULL})

static void defaults_are_set(void **state)
{
    (void)state;
    parsed p;
    parse(&p, (const char *const[]){NULL});
    assert_int_equal(p.status, DM_OK);
    assert_false(p.v.fast);
    assert_null(p.v.rom);
    assert_int_equal(p.v.regions.count, 0);
    assert_int_equal(p.v.frames, 60);
    assert_true(p.v.rate == 0.5);
    assert_int_equal(p.v.mode, 1);
    assert_int_equal(p.rest.count, 0);
    done(&p);
}

static void both_spellings_and_any_order(void **state)
{
    (void)state;
    parsed p;
    PARSE(&p, "one", "--frames=0x10", "--rom", "a=b.gb", "two", "--fast", "--rate", "-2e-3",
          "--mode=quick", "-");
    assert_int_equal(p.status, DM_OK);
    assert_true(p.v.fast);
    assert_string_equal(p.v.rom, "a=b.gb");
    assert_int_equal(p.v.frames, 16);
    assert_true(p.v.rate == -2e-3);
    assert_int_equal(p.v.mode, 2);
    assert_int_equal(p.rest.count, 3);
    assert_string_equal(p.rest.items[1], "two");
    assert_string_equal(p.rest.items[2], "-");
    done(&p);
}

static void repeatable_options_gather(void **state)
{
    (void)state;
    parsed p;
    PARSE(&p, "--mem-region", "0:1", "--mem-region=2:3", "--mem-region", "");
    assert_int_equal(p.status, DM_OK);
    assert_int_equal(p.v.regions.count, 3);
    assert_string_equal(p.v.regions.items[0], "0:1");
    assert_string_equal(p.v.regions.items[1], "2:3");
    assert_string_equal(p.v.regions.items[2], "");
    done(&p);
}

static void the_last_one_counts(void **state)
{
    (void)state;
    parsed p;
    PARSE(&p, "--frames", "2", "--frames", "3");
    assert_int_equal(p.v.frames, 3);
    done(&p);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    parsed p;
    PARSE(&p, "--fast", "--", "--frames", "--");
    assert_int_equal(p.status, DM_OK);
    assert_int_equal(p.v.frames, 60);
    assert_int_equal(p.rest.count, 2);
    assert_string_equal(p.rest.items[0], "--frames");
    assert_string_equal(p.rest.items[1], "--");
    done(&p);
}

static void bad_lines_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *argv[3];
        const char *message;
    } cases[] = {
        {{"--farmes", "3"}, "unknown option '--farmes'; did you mean --frames?"},
        {{"--mem-regoin=1"}, "unknown option '--mem-regoin'; did you mean --mem-region?"},
        {{"--mem"}, "unknown option '--mem'; did you mean --mem-region?"},
        {{"--zzzzzz"}, "unknown option '--zzzzzz'; --help lists them"},
        {{"-x"}, "unknown option '-x'; --help lists them"},
        {{"-fast"}, "unknown option '-fast'; did you mean --fast?"},
        {{"--=3"}, "unknown option '--'; --help lists them"},
        {{"--frames"}, "--frames needs a value"},
        {{"--mode", "--fast"},
         "--mode needs a value, and --fast is an option; --mode=--fast if that is the value"},
        {{"--fast=yes"}, "--fast takes no value"},
        {{"--frames", "ten"}, "--frames: 'ten' is not a whole number"},
        {{"--frames", "1.5"}, "--frames: '1.5' is not a whole number"},
        {{"--frames", ""}, "--frames: '' is not a whole number"},
        {{"--frames", " 7"}, "--frames: ' 7' is not a whole number"},
        {{"--frames", "0"}, "--frames: 0 is out of range 1 to 1000"},
        {{"--frames", "99999999999999999999"},
         "--frames: 99999999999999999999 is out of range 1 to 1000"},
        {{"--rate", "fast"}, "--rate: 'fast' is not a number"},
        {{"--rate", "nan"}, "--rate: 'nan' is not a number"},
        {{"--rate", "1e999"}, "--rate: '1e999' is not a number"},
        {{"--mode", "fsat"}, "--mode: 'fsat' is not one of slow, medium, quick"},
        {{"--mode="}, "--mode: '' is not one of slow, medium, quick"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parsed p;
        parse(&p, cases[i].argv);
        assert_int_equal(p.status, DM_EINVAL);
        assert_string_equal(p.err.message, cases[i].message);
        done(&p);
    }
}

static void very_long_words_are_no_trouble(void **state)
{
    (void)state;
    static char word[100000];
    memset(word, 'a', sizeof word - 1);
    word[0] = word[1] = '-';
    parsed p;
    PARSE(&p, word);
    assert_int_equal(p.status, DM_EINVAL);
    done(&p);
    memcpy(word, "--mode=", 7);
    PARSE(&p, word);
    assert_int_equal(p.status, DM_EINVAL);
    done(&p);
}

static void help_names_every_option_and_stays_narrow(void **state)
{
    (void)state;
    static const char *const long_choices[] = {"emulate_only", "reward_only", "obs_only",
                                               "full_step", NULL};
    static const dm_option wide[] = {
        DM_OPTION_CHOICE(values, mode, "stage", long_choices, "full_step",
                         "which of the compiled variants is stepped, what it does not own being "
                         "left as it was"),
    };
    dm_option_set sets[] = {{rows, ROW_COUNT, NULL}, {wide, 1, NULL}};
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_options_help(&text, sets, 2);
    assert_non_null(strstr(dm_buffer_text(&text), "  --frames N  "));
    assert_non_null(strstr(dm_buffer_text(&text), "frames to run [60]\n"));
    assert_non_null(strstr(dm_buffer_text(&text), "--mode slow|medium|quick  how [medium]"));
    assert_non_null(strstr(dm_buffer_text(&text), "reward_only|obs_only|full_step\n    "));
    for (const char *line = dm_buffer_text(&text); *line != 0;) {
        size_t length = strcspn(line, "\n");
        assert_in_range(length, 1, 80);
        assert_int_not_equal(line[length - 1], ' ');
        line += length + 1;
    }
    dm_buffer_deinit(&text);
}

static void closest_finds_typing_errors_only(void **state)
{
    (void)state;
    static const char *const words[] = {"info", "run", "roms", "help", "verify", NULL};
    static const char *const functions[] = {"sign", "sin", "asin", NULL};
    assert_string_equal(dm_closest("sinn", functions), "sin"); /* a letter too many */
    assert_string_equal(dm_closest("inof", words), "info");
    assert_string_equal(dm_closest("rusn", words), "run");
    assert_string_equal(dm_closest("veryfi", words), "verify");
    assert_string_equal(dm_closest("ver", words), "verify");
    assert_null(dm_closest("x", words));
    assert_null(dm_closest("", words));
    assert_null(dm_closest("benchmark", words));
}

DM_TESTS("cli/options", DM_TEST(defaults_are_set), DM_TEST(both_spellings_and_any_order),
         DM_TEST(repeatable_options_gather), DM_TEST(the_last_one_counts),
         DM_TEST(two_dashes_end_the_options), DM_TEST(bad_lines_are_refused_with_a_reason),
         DM_TEST(very_long_words_are_no_trouble), DM_TEST(help_names_every_option_and_stays_narrow),
         DM_TEST(closest_finds_typing_errors_only))
