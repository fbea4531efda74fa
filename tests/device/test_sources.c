/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "device/sources.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void embedded_texts(void **state)
{
    (void)state;
    assert_true(dm_embedded_source_count >= 3);
    for (size_t i = 0; i < dm_embedded_source_count; i++) {
        const dm_source *s = &dm_embedded_sources[i];
        assert_ptr_equal(dm_embedded_text(s->name), s->text);
        if (i > 0)
            assert_true(strcmp(dm_embedded_sources[i - 1].name, s->name) < 0);
    }
    assert_null(dm_embedded_text(""));
    assert_null(dm_embedded_text("zzz"));
    assert_null(dm_embedded_text("base/port"));
}

/* What is embedded is what the files say, byte for byte. */
static void embedded_texts_are_the_files(void **state)
{
    (void)state;
    char path[DM_PATH_MAX], *bytes;
    size_t size;
    assert_ok(dm_path_join(path, dm_test_source_root(), "src/base/port.h", err));
    if (!dm_file_exists(path))
        dm_test_skip("the source tree is not at %s", dm_test_source_root());
    for (size_t i = 0; i < dm_embedded_source_count; i++) {
        const char *name = dm_embedded_sources[i].name;
        const char *folder = strncmp(name, "dotmatrix/", 10) == 0 ? "include/"
                             : strncmp(name, "kernels/", 8) == 0  ? ""
                                                                  : "src/";
        char inside[DM_PATH_MAX];
        snprintf(inside, sizeof(inside), "%s%s", folder, name);
        assert_ok(dm_path_join(path, dm_test_source_root(), inside, err));
        assert_ok(dm_file_read(path, 0, &bytes, &size, err));
        assert_string_equal(bytes, dm_embedded_sources[i].text);
        free(bytes);
    }
}

static void collects_headers_once(void **state)
{
    (void)state;
    static const dm_source mine[] = {
        {"x/a.h",
         "  #  include \"x/b.h\" // twice\n#include \"x/b.h\"\n#include \"base/philox.h\"\n"},
        {"x/b.h", "#include \"x/a.h\"\n#include \"missing.h\"\n#include <stdio.h>\n#include "
                  "<x/c.h> \n"}, /* a cycle */
        {"x/not.h", ""},
        {"x/c.h", "#include \"x/not.h>\n"},
        {"base/port.h", "/* ours comes first */\n"},
    };
    dm_source_set set;
    dm_module_desc desc = {.name = "n",
                           .text = "int x; #include \"x/not.h\"\n#include \"x/a.h\"",
                           .headers = mine,
                           .header_count = 5};
    assert_ok(dm_source_set_init(&set, &desc, err));
    assert_int_equal(set.count, 5);
    assert_string_equal(set.headers[0].name, "x/a.h");
    assert_string_equal(set.headers[1].name, "x/b.h");
    assert_string_equal(set.headers[2].name, "base/philox.h");
    assert_string_equal(set.headers[3].name, "x/c.h");
    assert_string_equal(set.headers[4].text, "/* ours comes first */\n");
    dm_source_set_deinit(&set);
}

static void refuses_names_that_leave(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "/etc/x", "../x", "a/../../x", "a/..",
                                      "a\nb.h", "a b",    "$(x)", "a\\b"};
    static const char *const good[] = {"a", "a/b.h", "..a/b..", "a-b_c+d.h"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dm_source_set set;
        dm_source header = {bad[i], ""};
        dm_module_desc desc = {.name = "n", .text = "", .headers = &header, .header_count = 1};
        assert_int_equal(dm_source_set_init(&set, &desc, NULL), DM_EINVAL);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        dm_source_set set;
        dm_source header = {good[i], ""};
        dm_module_desc desc = {.name = "n", .text = "", .headers = &header, .header_count = 1};
        assert_ok(dm_source_set_init(&set, &desc, err));
        dm_source_set_deinit(&set);
    }
}

static dm_hash128 key_of(const dm_module_desc *desc)
{
    dm_source_set set;
    assert_ok(dm_source_set_init(&set, desc, err));
    dm_hasher *hasher = dm_hasher_create();
    dm_source_set_hash(&set, desc, hasher);
    dm_hash128 hash = dm_hasher_finish(hasher);
    dm_hasher_destroy(hasher);
    dm_source_set_deinit(&set);
    return hash;
}

/* Everything that the compiler sees changes the key; headers that it does not see do not. */
static void key_depends_on_all_of_it(void **state)
{
    (void)state;
    dm_source one = {"h.h", "1"}, two = {"h.h", "2"}, unused[] = {{"h.h", "1"}, {"u.h", "x"}};
    const char *define[] = {"A", NULL}, *defines[] = {"A", "B", NULL};
    dm_module_desc base = {
        .name = "n", .text = "#include \"h.h\"\n", .headers = &one, .header_count = 1};
    dm_module_desc variants[5] = {base, base, base, base, base};
    variants[0].name = "m";
    variants[1].text = "#include \"h.h\"\n\n";
    variants[2].headers = &two;
    variants[3].defines = define;
    variants[4].defines = defines;
    dm_hash128 keys[6];
    keys[5] = key_of(&base);
    for (int i = 0; i < 5; i++) {
        keys[i] = key_of(&variants[i]);
        for (int k = 0; k < i; k++)
            assert_true(keys[i].low != keys[k].low);
        assert_true(keys[i].low != keys[5].low);
    }
    dm_module_desc same = base;
    same.headers = unused;
    same.header_count = 2;
    dm_hash128 again = key_of(&same);
    assert_memory_equal(&again, &keys[5], sizeof again);
}

static void reads_compiler_messages(void **state)
{
    (void)state;
    static const struct {
        const char *log, *file;
        int line;
        const char *text;
    } cases[] = {
        {"a b.py: In function 'f':\na b.py:12:3: error: no x\n  12 | x\n", "a b.py", 12, "no x"},
        {"x.h:7: error: old style\n", "x.h", 7, "old style"},
        {"In file included from m:1:\nd/x.h:2:10: fatal error: y.h: No such file\n", "d/x.h", 2,
         "y.h: No such"},
        {"kern(31): warning: w\nkern(32): error: identifier \"q\" is undefined\n", "kern", 32,
         "identifier"},
        {"k(v)(3): error: e\n", "k(v)", 3, "e"},
        {"k(2): catastrophic error: cannot open source file \"z\"\n", "k", 2, "cannot open"},
        {"odd text only", "name", 0, "odd text only"},
        {"", "name", 0, "does not compile"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_error err = {0};
        char *log = NULL;
        dm_module_desc desc = {.name = "name", .log = &log};
        assert_int_equal(dm_compile_fail(&desc, cases[i].log, &err), DM_ECOMPILE);
        assert_string_equal(err.file, cases[i].file);
        assert_int_equal(err.line, cases[i].line);
        assert_non_null(strstr(err.message, cases[i].text));
        assert_string_equal(log, cases[i].log);
        free(log);
    }
}

DM_TESTS("device/sources", DM_TEST(embedded_texts), DM_TEST(embedded_texts_are_the_files),
         DM_TEST(collects_headers_once), DM_TEST(refuses_names_that_leave),
         DM_TEST(key_depends_on_all_of_it), DM_TEST(reads_compiler_messages))
