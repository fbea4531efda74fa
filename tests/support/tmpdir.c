/* SPDX-License-Identifier: MIT */
/* tmpdir.c - see tmpdir.h. */
#include "tests/support/tmpdir.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct path_text {
    struct path_text *next;
    char text[DM_PATH_MAX];
} path_text;

typedef struct test_dir {
    char path[DM_PATH_MAX];
    path_text *names; /* what dm_test_path handed out */
} test_dir;

int dm_test_dir_setup(void **state)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == 0)
        parent = "/tmp";
    test_dir *dir = calloc(1, sizeof *dir);
    dm_error err;
    if (dir == NULL || dm_path_join(dir->path, parent, "dm-test-XXXXXX", &err) != DM_OK ||
        mkdtemp(dir->path) == NULL) {
        print_error("no temporary folder under %s: %s\n", parent, strerror(errno));
        free(dir);
        return -1;
    }
    *state = dir;
    return 0;
}

int dm_test_dir_teardown(void **state)
{
    test_dir *dir = *state;
    dm_error err = {0};
    int failed = 0;
    if (getenv("DM_KEEP_TMP") != NULL) {
        print_message("kept %s\n", dir->path);
    } else if (dm_dir_exists(dir->path) && dm_dir_remove(dir->path, &err) != DM_OK) {
        print_error("%s\n", err.message);
        failed = -1;
    }
    while (dir->names != NULL) {
        path_text *next = dir->names->next;
        free(dir->names);
        dir->names = next;
    }
    free(dir);
    return failed;
}

const char *dm_test_dir(void **state)
{
    return ((test_dir *)*state)->path;
}

const char *dm_test_path(void **state, const char *name)
{
    test_dir *dir = *state;
    path_text *path = malloc(sizeof *path);
    assert_non_null(path);
    assert_ok(dm_path_join(path->text, dir->path, name, err));
    path->next = dir->names;
    dir->names = path;
    return path->text;
}
