/* SPDX-License-Identifier: MIT */
/* Many kernel texts as one compilation unit: what is shared, what is renamed, what is refused. */
#include "synth/check/bundle.h"
#include "tests/support/test.h"

#include <string.h>

static dm_bundle *bundle;

static int make(void **state)
{
    (void)state;
    return dm_bundle_create(&bundle, NULL) == DM_OK ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    dm_bundle_destroy(bundle);
    bundle = NULL;
    return 0;
}

static void add(const char *text)
{
    assert_ok(dm_bundle_add(bundle, text, strlen(text), err));
}

static const char *unit(void)
{
    size_t size;
    return dm_bundle_text(bundle, &size);
}

#define PAIR "typedef struct pair { float c[2]; } pair;\n\n"
#define FIRST "static inline float first(pair p)\n{\n    return p.c[0];\n}\n\n"

static void equal_declarations_are_written_once(void **state)
{
    (void)state;
    add("/* Kernel one. */\n#include <math.h>\n\n" PAIR FIRST "void one(pair p) { first(p); }\n");
    add("/* Kernel two. */\n#include <math.h>\n\n" PAIR FIRST "void two(pair p) { first(p); }\n");
    assert_string_equal(unit(), "#include <math.h>\n"
                                "typedef struct pair { float c[2]; } pair;\n"
                                "static inline float first(pair p)\n{\n    return p.c[0];\n}\n"
                                "void one(pair p) { first(p); }\n"
                                "void two(pair p) { first(p); }\n");
}

static void other_declarations_get_other_names(void **state)
{
    (void)state;
    add("static float f(float x) { return x; }\nvoid k(float x) { f(x); }\n");
    assert_string_equal(dm_bundle_name(bundle, "k"), "k");
    add("static float f(float x) { return -x; }\nvoid k(float x) { f(x); }\n");
    assert_string_equal(dm_bundle_name(bundle, "k"), "k__b2");
    add("static float f(float x) { return x; }\nvoid k(float x) { f(x); }\n");
    assert_string_equal(dm_bundle_name(bundle, "k"), "k");
    assert_string_equal(unit(), "static float f(float x) { return x; }\n"
                                "void k(float x) { f(x); }\n"
                                "static float f__b2(float x) { return -x; }\n"
                                "void k__b2(float x) { f__b2(x); }\n");
}

/* The same words that name another type are another function. */
static void what_is_named_counts(void **state)
{
    (void)state;
    add("typedef struct s { float a; } s;\nstatic s same(s v) { return v; }\n");
    add("typedef struct s { double a; } s;\nstatic s same(s v) { return v; }\n");
    assert_non_null(strstr(unit(), "typedef struct s__b2 { double a; } s__b2;\n"));
    assert_non_null(strstr(unit(), "static s__b2 same__b2(s__b2 v) { return v; }\n"));
}

static void a_missing_helper_stays_missing(void **state)
{
    (void)state;
    add("static float helper(float x) { return x; }\nvoid a(float x) { helper(x); }\n");
    add("void b(float x) { helper(x); }\n");
    assert_non_null(strstr(unit(), "void b(float x) { helper__b2(x); }"));
}

/* A prototype alone says nothing: it goes with its function. */
static void prototypes_go_with_their_functions(void **state)
{
    (void)state;
    add("__attribute__((visibility(\"default\"))) void k(int n);\nvoid k(int n) { n = 1; }\n");
    add("__attribute__((visibility(\"default\"))) void k(int n);\nvoid k(int n) { n = 2; }\n");
    assert_string_equal(unit(), "__attribute__((visibility(\"default\"))) void k(int n);\n"
                                "void k(int n) { n = 1; }\n"
                                "__attribute__((visibility(\"default\"))) void k__b2(int n);\n"
                                "void k__b2(int n) { n = 2; }\n");
}

static void forward_references(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        add("float later(float x);\nfloat use(float x) { return later(x); }\n"
            "float later(float x) { return x; }\n");
    assert_non_null(strstr(unit(), "float use__b2(float x) { return later(x); }"));
}

static void words_in_quotes_comments_and_numbers(void **state)
{
    (void)state;
    add("static int e5(void) { return 1; }\n");
    add("static int e5(void) { const char *t = \"e5\\\" e5\"; /* e5 */ return 'e' + 0x1e5 + 1e5 + "
        "t; "
        "// e5\n}\n");
    assert_non_null(strstr(unit(), "static int e5__b2(void) { const char *t = \"e5\\\" e5\"; /* e5 "
                                   "*/ return 'e' + 0x1e5 + 1e5 + t; // e5\n}\n"));
}

static void variables_and_values(void **state)
{
    (void)state;
    add("extern const long size_of;\nconst long size_of = sizeof(int);\n"
        "static const float table[2] = {1.0f, 2.0f};\n");
    add("extern const long size_of;\nconst long size_of = sizeof(long);\n"
        "static const float table[2] = {1.0f, 3.0f};\n");
    assert_non_null(strstr(unit(), "const long size_of__b2 = sizeof(long);"));
    assert_non_null(strstr(unit(), "table__b2[2] = {1.0f, 3.0f};"));
}

static void what_cannot_be_taken_apart_changes_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"#define X 1\nint x = X;\n",
                                        "void f(void) { ",
                                        "void f(void) } {",
                                        "int f(void)",
                                        "#include <a.h>\nint ",
                                        "void f(void) {\n#define X\n}\n",
                                        ";",
                                        "\\",
                                        "struct a {int x;} b; }"};
    add("int kept;\n");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(dm_bundle_add(bundle, texts[i], strlen(texts[i]), NULL), DM_EUNSUPPORTED);
    add("");
    add("int next;\n");
    assert_string_equal(unit(), "int kept;\nint next;\n");
}

static void cleared_it_is_new(void **state)
{
    (void)state;
    add("int a;\n");
    dm_bundle_clear(bundle);
    add("long a;\n");
    assert_string_equal(unit(), "long a;\n");
}

/* The tables grow. */
static void many_texts(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_printf(&text,
                         "static int common(void) { return 1; }\nint f%d(int a%d) { return "
                         "a%d + common(); }\n",
                         i, i, i);
        add(text.data);
        dm_buffer_deinit(&text);
    }
    assert_null(strstr(unit(), "__b"));
    assert_non_null(strstr(unit(), "int f2999(int a2999) { return a2999 + common(); }"));
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, make, unmake)
DM_TESTS("synth/bundle", CASE(equal_declarations_are_written_once),
         CASE(other_declarations_get_other_names), CASE(what_is_named_counts),
         CASE(a_missing_helper_stays_missing), CASE(prototypes_go_with_their_functions),
         CASE(forward_references), CASE(words_in_quotes_comments_and_numbers),
         CASE(variables_and_values), CASE(what_cannot_be_taken_apart_changes_nothing),
         CASE(cleared_it_is_new), CASE(many_texts))
