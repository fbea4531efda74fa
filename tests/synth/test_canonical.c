/* SPDX-License-Identifier: MIT */
/* The canonical form: names, constants, comments and spacing do not count, everything else does. */
#include "base/philox.h"
#include "synth/check/compile.h"
#include "synth/gen/generate.h"
#include "synth/store/canonical.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char kernel[] =
    "import warp as wp\n\n\n@wp.kernel\ndef scale(x: wp.array(dtype=float), s: float, "
    "y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i] * s + 2.0\n";

static bool alike(const char *a, const char *b)
{
    dm_buffer scratch = DM_BUFFER_EMPTY;
    dm_hash128 first = dm_synth_canonical_hash(a, strlen(a), &scratch);
    dm_hash128 second = dm_synth_canonical_hash(b, strlen(b), &scratch);
    dm_buffer_deinit(&scratch);
    return first.low == second.low && first.high == second.high;
}

static void names_and_constants_do_not_count(void **state)
{
    (void)state;
    static const char *const same[] = {
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * b + 17.25e-3\n",
        "import warp as wp\n@wp.kernel\ndef f(\n    a: wp.array(dtype=float),\n    b: float,\n    "
        "c: wp.array(dtype=float),\n):\n"
        "    k = wp.tid()\n    c[k]=a[k]*b+1\n",
        "import warp as wp\n# a comment\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    \"\"\"A docstring: with = signs.\"\"\"\n\n    k = wp.tid()  # thread\n    c[k] = a[k] "
        "* b + 0x1F\n"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!alike(kernel, same[i]))
            fail_msg("text %zu has another form", i);
}

static void everything_else_counts(void **state)
{
    (void)state;
    static const char *const other[] = {
        /* an operator, a builtin, a type, an order of names, a block */
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] - b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = wp.sin(a[k]) * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=wp.float64), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = b * a[k] + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    if b > 2.0:\n        c[k] = a[k] * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * (b + 2.0)\n"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (alike(kernel, other[i]))
            fail_msg("text %zu has the same form", i);
    /* Blocks are told apart by their indentation. */
    assert_false(alike("if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n"));
    assert_false(alike("returnx\n", "return x\n"));
}

static void any_bytes_end(void **state)
{
    (void)state;
    static const char *const odd[] = {"",    "\n", "\"", "'''", "\"\\",  "1e",      ".",
                                      "(((", ")",  "\\", "#",   "1.5e+", "\xff\xfe"};
    dm_buffer out = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        dm_buffer_clear(&out);
        dm_synth_canonical_form(odd[i], strlen(odd[i]), &out);
        assert_true(out.size <= 3 * strlen(odd[i]) + 2);
    }
    /* Names beyond those that are numbered are written out. */
    dm_buffer text = DM_BUFFER_EMPTY;
    for (int i = 0; i < 400; i++)
        dm_buffer_printf(&text, "name%d ", i);
    dm_buffer_clear(&out);
    dm_synth_canonical_form(text.data, text.size, &out);
    assert_non_null(strstr(dm_buffer_text(&out), "name399"));
    assert_null(strstr(dm_buffer_text(&out), "name7 "));
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&out);
}

/* ---- The form, byte by byte: slow and plain ---- */

typedef struct plain {
    const char *text;
    size_t at, size;
    dm_buffer out;
    dm_buffer names[300];
    int count, brackets;
    bool line_begun;
} plain;

static char peek(const plain *p, size_t ahead)
{
    return p->at + ahead < p->size ? p->text[p->at + ahead] : '\0';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80) != 0;
}

static bool has_end(const plain *p, const char *end)
{
    size_t length = strlen(end);
    return p->out.size >= length && memcmp(p->out.data + p->out.size - length, end, length) == 0;
}

static void plain_name(plain *p)
{
    static const char kept[] =
        " if in or as is wp def for and not int len abs min max elif else from bool pass ndim "
        "class "
        "while break range float print round dtype shape return import assert length continue ";
    char name[256] = " ";
    size_t length = 0;
    for (; is_name(peek(p, 0)); p->at++)
        name[1 + length++] = peek(p, 0);
    name[1 + length] = '\0';
    if (strcmp(name, " True") == 0 || strcmp(name, " False") == 0) {
        dm_buffer_putc(&p->out, '#');
        return;
    }
    bool component = length == 1 && strchr("xyzw", name[1]) != NULL && has_end(p, ".");
    strcat(name, " ");
    bool word = strstr(kept, name) != NULL;
    name[1 + length] = '\0';
    int number = 0;
    while (number < p->count && strcmp(dm_buffer_text(&p->names[number]), name) != 0)
        number++;
    if (word || component || has_end(p, "wp.") || number == 256) {
        if (p->out.size > 0 && is_name(p->out.data[p->out.size - 1]) &&
            !isdigit(p->out.data[p->out.size - 1]))
            dm_buffer_putc(&p->out, ' ');
        dm_buffer_puts(&p->out, name + 1);
        return;
    }
    if (number == p->count)
        dm_buffer_puts(&p->names[p->count++], name);
    dm_buffer_putc(&p->out, '$');
    dm_buffer_putc(&p->out, (char)(0x40 + number / 64));
    dm_buffer_putc(&p->out, (char)(0x40 + number % 64));
}

static void plain_string(plain *p)
{
    char quotes[4] = {peek(p, 0), peek(p, 1), peek(p, 2)};
    bool triple = quotes[0] == quotes[1] && quotes[0] == quotes[2];
    quotes[triple ? 3 : 1] = '\0';
    for (p->at += strlen(quotes); p->at < p->size; p->at++) {
        if (peek(p, 0) == '\\' && p->at + 1 < p->size)
            p->at++;
        else if (p->size - p->at >= strlen(quotes) &&
                 memcmp(p->text + p->at, quotes, strlen(quotes)) == 0) {
            p->at += strlen(quotes);
            break;
        }
    }
    if (p->line_begun)
        dm_buffer_putc(&p->out, '#');
}

static void plain_line(plain *p)
{
    int columns = 0;
    for (; peek(p, 0) == ' ' || peek(p, 0) == '\t'; p->at++)
        columns++;
    if (p->at == p->size || strchr("\n\r#\"'", peek(p, 0)) != NULL)
        return;
    dm_buffer_putc(&p->out, '\n');
    if (columns > 0)
        dm_buffer_putc(&p->out, (char)(columns < 100 ? columns : 100));
    p->line_begun = true;
}

static void plain_token(plain *p)
{
    char c = peek(p, 0);
    if (c == '\n') {
        p->line_begun &= p->brackets > 0;
        p->at++;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\\') {
        p->at++;
    } else if (isdigit(c) || (c == '.' && isdigit(peek(p, 1)))) {
        do
            p->at++;
        while (is_name(peek(p, 0)) || peek(p, 0) == '.' ||
               (p->at < p->size && strchr("+-", peek(p, 0)) != NULL &&
                strchr("eE", p->text[p->at - 1]) != NULL));
        dm_buffer_putc(&p->out, '#');
    } else if (is_name(c)) {
        plain_name(p);
    } else if (c == '#') {
        while (p->at < p->size && peek(p, 0) != '\n')
            p->at++;
    } else if (c == '"' || c == '\'') {
        plain_string(p);
    } else {
        p->brackets += strchr("([{", c) != NULL;
        if (strchr(")]}", c) != NULL) {
            p->brackets--;
            p->out.size -= has_end(p, ",");
        }
        dm_buffer_putc(&p->out, c);
        p->at++;
    }
}

static void expect_plain(const char *text, size_t size, dm_buffer *form)
{
    plain p = {.text = text, .size = size};
    while (p.at < size) {
        if (!p.line_begun && p.brackets <= 0)
            plain_line(&p);
        if (p.at < size)
            plain_token(&p);
    }
    dm_buffer_clear(form);
    dm_synth_canonical_form(text, size, form);
    if (form->size != p.out.size ||
        memcmp(dm_buffer_text(form), dm_buffer_text(&p.out), p.out.size) != 0)
        fail_msg("'%.*s' has the form '%s' and not '%s'", (int)size, text, dm_buffer_text(form),
                 dm_buffer_text(&p.out));
    for (int i = 0; i < p.count; i++)
        dm_buffer_deinit(&p.names[i]);
    dm_buffer_deinit(&p.out);
}

static void kernels_have_the_plain_form(void **state)
{
    (void)state;
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_record record;
    dm_buffer form = DM_BUFFER_EMPTY;
    dm_synth_record_init(&record);
    assert_ok(dm_synth_profile_create(NULL, &profile, err));
    assert_ok(dm_synth_generator_create(profile, &generator, err));
    for (uint64_t slot = 0; slot < 600; slot++) {
        dm_synth_category category = (dm_synth_category)(slot % DM_SYNTH_CATEGORY_COUNT);
        assert_ok(dm_synth_generate(generator, 5, slot, 0, category, &record, err));
        expect_plain(record.python_source.data, record.python_source.size, &form);
    }
    dm_synth_record_deinit(&record);
    dm_synth_generator_destroy(generator);
    dm_synth_profile_destroy(profile);
    dm_buffer_deinit(&form);
}

/* Pieces in any order, on memory that ends where the text ends. */
static void any_text_has_the_plain_form(void **state)
{
    (void)state;
    static const char *const pieces[] = {"wp",
                                         ".",
                                         "x",
                                         "w",
                                         "wp.",
                                         "wp.sin",
                                         "swp",
                                         "True",
                                         "False",
                                         "if",
                                         "return",
                                         "a",
                                         "b1",
                                         "_",
                                         "lengthy_name_of",
                                         "lengthy_name_of_",
                                         "lengthy_name_of_17",
                                         "a_name_that_is_longer_than_two_keys_are",
                                         " ",
                                         "  ",
                                         "    ",
                                         "        ",
                                         "\t",
                                         "\n",
                                         "\n",
                                         "\r",
                                         "\\",
                                         "\"",
                                         "'",
                                         "'''",
                                         "\"\"\"",
                                         "#",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ",",
                                         ",",
                                         "1",
                                         "2.5",
                                         "e",
                                         "E",
                                         "+",
                                         "-",
                                         ":",
                                         "=",
                                         "\x80\xff",
                                         "\x01",
                                         "$",
                                         "wp.True",
                                         "wp.\n"};
    dm_buffer text = DM_BUFFER_EMPTY, form = DM_BUFFER_EMPTY;
    uint32_t count = sizeof pieces / sizeof pieces[0];
    for (uint64_t i = 0; i < 6000; i++) {
        dm_buffer_deinit(&text); /* a new block each time, so that reading beyond is found */
        uint32_t length = dm_random_below(dm_random4(1, i, 0).v[0], 60);
        for (uint32_t k = 0; k < length; k++)
            dm_buffer_puts(&text, pieces[dm_random_below(dm_random4(1, i, k + 1).v[0], count)]);
        char *exact = malloc(text.size + 1);
        memcpy(exact, dm_buffer_text(&text), text.size);
        expect_plain(exact, text.size, &form);
        free(exact);
    }
    dm_buffer_clear(&text);
    for (int i = 0; i < 700; i++) /* more names than are numbered, and again */
        dm_buffer_printf(&text, "name%d if swp.x ", i % 290);
    expect_plain(text.data, text.size, &form);
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&form);
}

/* The form that a compiler gives, from tokens, is that of the text. */
static void expect_same_form(dm_synth_compiler *compiler, dm_synth_record *record)
{
    dm_buffer form = DM_BUFFER_EMPTY;
    const dm_buffer *text = &record->python_source;
    record->canonical = (dm_hash128){0};
    dm_synth_compile(compiler, record, DM_SYNTH_FORM, NULL);
    dm_hash128 expected = dm_synth_canonical_hash(dm_buffer_text(text), text->size, &form);
    if (memcmp(&expected, &record->canonical, sizeof expected) != 0)
        fail_msg("'%s' has another form after compiling", dm_buffer_text(text));
    dm_buffer_deinit(&form);
}

static void expect_same_form_of_text(dm_synth_compiler *compiler, dm_synth_record *record,
                                     const char *text)
{
    dm_buffer_clear(&record->python_source);
    dm_buffer_puts(&record->python_source, text);
    expect_same_form(compiler, record);
}

/* More names than are numbered, blocks deeper than are counted, and so many names that the compiler
 * forgets them and begins anew. */
static void expect_same_form_of_large(dm_synth_compiler *compiler, dm_synth_record *record)
{
    dm_buffer *text = &record->python_source;
    for (int names = 250; names < 263; names++) {
        dm_buffer_clear(text);
        for (int i = 0; i < 2 * names; i++)
            dm_buffer_printf(text, "name%d = 1\n", i % names);
        expect_same_form(compiler, record);
    }
    dm_buffer_clear(text);
    for (int i = 0; i < 80; i++)
        dm_buffer_printf(text, "%*sif x:\n", i, "");
    dm_buffer_printf(text, "%80sy = 1\n", "");
    expect_same_form(compiler, record);
    for (int round = 0; round < 6; round++) {
        dm_buffer_clear(text);
        for (int i = 0; i < 20000; i++)
            dm_buffer_printf(text, "name_%d_%d = 1\n", round, i);
        expect_same_form(compiler, record);
        expect_same_form_of_text(compiler, record, "x = wp.sin(y) + name_0_1 + name_1_1 + x\n");
    }
}

static void compilers_give_the_same_form(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",
        "\n\n",
        "x = 1",
        "if x:\n\ty = 2\n\tif y:\n\t\tz = 3\nw = 4\n",
        "if x: # why\n  # because\n    y = (1,\n2, )\n",
        "x = 1 + \\\n  2\n",
        "'''doc'''\nx = 'a'\n",
        "@wp.func\ndef f(a: float, b: wp.vec3,):\n    \"\"\"doc\"\"\"\n    return a,\n",
        "x = wp . sin(True) + wp.True + swp.x.y + v.x + v.xy + None\n",
        "x = a_name_of_more_than_sixteen_bytes + wp.a_name_of_more_than_sixteen_bytes\n",
        "x = n\xC3\xA9 + 1.5e-3 + .5 + 0x1F + 1..real + ...\n",
        "x **= 2; y //= 3; z = a <= b != c\n",
        "x = [lambda a: a, {1: 2}, not b, a if b else c]\n",
        "def f(:\n",
        "  x = 1\n",
        "$ ? !\n",
    };
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_record record;
    dm_synth_record_init(&record);
    assert_ok(dm_synth_profile_create(NULL, &profile, err));
    assert_ok(dm_synth_generator_create(profile, &generator, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    for (uint64_t slot = 0; slot < 3000; slot++) {
        dm_synth_category category = (dm_synth_category)(slot % DM_SYNTH_CATEGORY_COUNT);
        assert_ok(dm_synth_generate(generator, 6, slot, 0, category, &record, err));
        expect_same_form(compiler, &record);
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        expect_same_form_of_text(compiler, &record, odd[i]);
    expect_same_form_of_large(compiler, &record);
    dm_synth_record_deinit(&record);
    dm_synth_compiler_destroy(compiler);
    dm_synth_generator_destroy(generator);
    dm_synth_profile_destroy(profile);
}

DM_TESTS("synth/canonical", DM_TEST(names_and_constants_do_not_count),
         DM_TEST(everything_else_counts), DM_TEST(any_bytes_end),
         DM_TEST(kernels_have_the_plain_form), DM_TEST(any_text_has_the_plain_form),
         DM_TEST(compilers_give_the_same_form))
