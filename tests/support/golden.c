/* SPDX-License-Identifier: MIT */
/* golden.c - see golden.h. */
#include "tests/support/golden.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 160 /* bytes of a line */

/* The line that starts at `at`, printable and cut. */
static void show_line(dm_buffer *report, const char *title, const char *text, size_t size,
                      size_t at)
{
    dm_buffer_printf(report, "  %s: ", title);
    if (at >= size)
        dm_buffer_puts(report, "(end of text)");
    for (size_t i = at; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (i - at == SHOWN_MAX) {
            dm_buffer_puts(report, "...");
            break;
        }
        if (c == '\n') {
            dm_buffer_puts(report, "\\n");
            break;
        }
        if (c < 0x20 || c >= 0x7F)
            dm_buffer_printf(report, "\\x%02x", c);
        else
            dm_buffer_putc(report, (char)c);
    }
    dm_buffer_putc(report, '\n');
}

bool dm_golden_compare(const char *path, const void *bytes, size_t size, bool is_text,
                       dm_buffer *report)
{
    char *golden = NULL;
    size_t golden_size = 0;
    dm_error err;
    if (dm_file_read(path, 0, &golden, &golden_size, &err) != DM_OK) {
        dm_buffer_printf(report, "%s\n", err.message);
        return false;
    }
    const char *actual = bytes;
    size_t at = 0, line_start = 0;
    int line = 1;
    while (at < size && at < golden_size && actual[at] == golden[at]) {
        if (actual[at++] == '\n') {
            line_start = at;
            line++;
        }
    }
    bool same = at == size && at == golden_size;
    if (!same && is_text) {
        dm_buffer_printf(report, "%s: differs at line %d\n", path, line);
        show_line(report, "golden", golden, golden_size, line_start);
        show_line(report, "actual", actual, size, line_start);
    } else if (!same) {
        dm_buffer_printf(report, "%s: differs at byte 0x%zx; %zu bytes golden, %zu actual\n", path,
                         at, golden_size, size);
    }
    free(golden);
    return same;
}

/* Create the folder that `path` is in. */
static void create_parent(const char *path)
{
    char folder[DM_PATH_MAX];
    assert_ok(dm_path_join(folder, "", path, err));
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return;
    *slash = 0;
    assert_ok(dm_dir_create(folder, err));
}

static void check(const char *name, const void *bytes, size_t size, bool is_text)
{
    const char *folder = getenv("DM_TEST_GOLDEN");
    const char *update = getenv("DM_UPDATE_GOLDEN");
    char path[DM_PATH_MAX];
    if (folder == NULL || *folder == 0)
        folder = DM_TEST_SOURCE_ROOT "/tests/golden";
    assert_ok(dm_path_join(path, folder, name, err));
    if (update != NULL && strcmp(update, "1") == 0) {
        create_parent(path);
        assert_ok(dm_file_write(path, bytes, size, err));
        return;
    }
    dm_buffer report = DM_BUFFER_EMPTY;
    bool same = dm_golden_compare(path, bytes, size, is_text, &report);
    if (!same)
        print_error("%s(DM_UPDATE_GOLDEN=1 accepts the new one)\n", dm_buffer_text(&report));
    dm_buffer_deinit(&report);
    assert_true(same);
}

void dm_golden_text(const char *name, const char *text)
{
    check(name, text, strlen(text), true);
}

void dm_golden_bytes(const char *name, const void *bytes, size_t size)
{
    check(name, bytes, size, false);
}
