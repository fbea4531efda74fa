/* SPDX-License-Identifier: MIT */
/* Examples that readers copy compile: those in the first comment of each public header, and the program in README.md.
 *
 * In a header, an example is a paragraph that is indented by five columns or more and has a semicolon. Paragraphs of
 * one header are one function, which gets the variables that they use from the table below. */
#include "base/buffer.h"
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *header;
    int lines;             /* of the examples, at least */
    const char *variables; /* what an example takes for granted */
} headers[] = {
    {"base.h", 5, ""},
    {"device.h", 9,
     "dm_error *err = 0; dm_device *device; dm_module *module; dm_function *function; "
     "dm_device_buffer *x = 0, *y;"
     "const char *text = \"\"; unsigned long n = 4; float host[4];"
     "typedef struct { unsigned long n; float a; const float *x; float *y; } saxpy_args;"},
    {"dynamics.h", 6, "dm_error *err = 0; unsigned long seed = 1; const float *features = 0;"},
    {"gb.h", 8, "int fail(const dm_error *);"},
    {"kernel.h", 12,
     "dm_error *err = 0; const char *text = \"\"; unsigned long size = 0; dm_device *device = 0; "
     "dm_stream *stream = 0;"
     "dm_device_buffer *x = 0; int n = 4;"},
    {"nn.h", 12,
     "dm_error *err = 0; dm_device *device = 0; float x[4][2], y[4][1], outputs[4], loss;"},
    {"program.h", 5,
     "dm_error err; dm_device *device = 0; dm_swarm *swarm; dm_swarm_rom_source rom = {.path = "
     "\"\"};"},
    {"swarm.h", 9,
     "dm_error err; dm_device *device; dm_swarm *swarm; unsigned char *actions = 0; float "
     "rewards[1024];"},
};

static void read_text(const char *path, char **text)
{
    size_t size;
    assert_ok(dm_file_read(path, 1 << 20, text, &size, err));
}

/* A line of a comment without what begins it. */
static const char *inside(const char *line)
{
    while (*line == ' ' || *line == '/' || *line == '*')
        if (*line++ == '*' && *line != '*')
            break;
    return line;
}

/* Append the first comment's examples; returns how many lines they have. */
static int take_examples(const char *text, dm_buffer *out)
{
    dm_buffer paragraph = DM_BUFFER_EMPTY;
    int lines = 0, of_paragraph = 0;
    const char *comment = strstr(text, "\n/*");
    assert_non_null(comment);
    const char *end = strstr(comment, "*/");
    assert_non_null(end);
    for (const char *at = comment + 1; at < end;) {
        const char *stop = strchr(at, '\n');
        const char *from = inside(at);
        const size_t indent = strspn(from, " ");
        const bool code = stop < end && indent >= 5 && from[indent] != '\n';
        if (code) {
            dm_buffer_append(&paragraph, from, (size_t)(stop - from) + 1);
            of_paragraph++;
        }
        /* An empty line within an example belongs to it. */
        if (!code && of_paragraph > 0) {
            if (memchr(paragraph.data, ';', paragraph.size) != NULL) {
                dm_buffer_append(out, paragraph.data, paragraph.size);
                lines += of_paragraph;
            }
            dm_buffer_deinit(&paragraph);
            of_paragraph = 0;
        }
        at = stop + 1;
    }
    dm_buffer_deinit(&paragraph);
    return lines;
}

static void compile(void **state, const char *name, const dm_buffer *text)
{
    dm_test_result r;
    assert_ok(dm_file_write(dm_test_path(state, name), text->data, text->size, err));
    setenv("file", dm_test_path(state, name), 1);
    setenv("root", DM_TEST_SOURCE_ROOT, 1);
    dm_test_run(
        &(dm_test_command){
            .argv =
                (const char *const[]){
                    "sh", "-ec",
                    "${CC:-cc} -std=c17 -Wall -Wextra -Werror -Wno-unused -Wno-maybe-uninitialized "
                    "-fsyntax-only -I \"$root/include\" \"$file\"",
                    NULL}},
        &r);
    if (r.exit_code != 0)
        print_message("%s\n", r.err);
    assert_int_equal(r.exit_code, 0);
    dm_test_result_free(&r);
}

static void those_of_headers_compile(void **state)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        char path[DM_PATH_MAX], name[64];
        char *text = NULL;
        snprintf(path, sizeof path, DM_TEST_SOURCE_ROOT "/include/dotmatrix/%s", headers[i].header);
        read_text(path, &text);
        dm_buffer out = DM_BUFFER_EMPTY;
        dm_buffer_printf(
            &out,
            "#include <dotmatrix/%s>\n#include <dotmatrix/swarm.h>\n#include <stdio.h>\n"
            "int example(void);\nint example(void)\n{\n%s\n",
            headers[i].header, headers[i].variables);
        const int lines = take_examples(text, &out);
        if (lines < headers[i].lines)
            print_message("%s: %d lines of examples\n", headers[i].header, lines);
        assert_true(lines >= headers[i].lines);
        dm_buffer_puts(&out, "return 0;\n}\n");
        snprintf(name, sizeof name, "%s.c", headers[i].header);
        compile(state, name, &out);
        dm_buffer_deinit(&out);
        free(text);
    }
}

/* Every public header is in the table. */
static void no_header_is_missing(void **state)
{
    (void)state;
    size_t count = 0;
    char *list = NULL;
    read_text(DM_TEST_SOURCE_ROOT "/include/meson.build", &list);
    for (const char *at = list; (at = strstr(at, "'dotmatrix/")) != NULL; at++) {
        const char *quote = strchr(at + 1, '\'');
        count += quote != NULL && strncmp(quote - 2, ".h", 2) == 0;
    }
    assert_int_equal(count, sizeof headers / sizeof headers[0]);
    free(list);
}

static void the_program_of_the_readme_compiles(void **state)
{
    char *text = NULL;
    read_text(DM_TEST_SOURCE_ROOT "/README.md", &text);
    const char *begin = strstr(text, "\n```c\n"),
               *end = begin == NULL ? NULL : strstr(begin + 6, "\n```");
    assert_non_null(end);
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_buffer_append(&out, begin + 6, (size_t)(end - begin) - 5);
    compile(state, "readme.c", &out);
    dm_buffer_deinit(&out);
    free(text);
}

DM_TESTS("tools/examples", DM_TEST_IN_DIR(those_of_headers_compile), DM_TEST(no_header_is_missing),
         DM_TEST_IN_DIR(the_program_of_the_readme_compiles))
