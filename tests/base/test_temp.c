/* SPDX-License-Identifier: MIT */
/* Temporary folders: removed by their process, or by the next one when it was killed. */
#include "base/temp.h"
#include "base/terminal/stop.h"
#include "tests/support/tmpdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As if the folder had been made a minute ago. */
static void make_old(const char *path)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
    assert_int_equal(utimensat(0, path, times, 0), 0);
}

static void a_folder_is_made_and_removed(void **state)
{
    char path[DM_PATH_MAX], file[DM_PATH_MAX];
    assert_ok(dm_temp_folder(path, dm_test_dir(state), err));
    assert_true(dm_dir_exists(path));
    assert_ok(dm_path_join(file, path, "a", err));
    assert_ok(dm_file_write(file, "a", 1, err));
    assert_ok(dm_dir_remove(path, err));
    assert_false(dm_dir_exists(path));
}

static void a_folder_in_use_is_left_alone(void **state)
{
    char path[DM_PATH_MAX], other[DM_PATH_MAX];
    assert_ok(dm_temp_folder(path, dm_test_dir(state), err));
    make_old(path);
    assert_ok(dm_temp_folder(other, dm_test_dir(state), err));
    assert_true(dm_dir_exists(path));
    assert_ok(dm_dir_remove(path, err));
    assert_ok(dm_dir_remove(other, err));
}

static void what_a_killed_process_left_is_removed(void **state)
{
    int ends[2];
    char path[DM_PATH_MAX] = "", other[DM_PATH_MAX];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char made[DM_PATH_MAX] = "";
        bool good = dm_temp_folder(made, dm_test_dir(state), NULL) == DM_OK &&
                    write(ends[1], made, sizeof made) == (ssize_t)sizeof made;
        if (good)
            pause();
        _exit(1);
    }
    size_t got = 0;
    while (got < sizeof path) {
        ssize_t n = read(ends[0], path + got, sizeof path - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    make_old(path);
    dm_temp_sweep(dm_test_dir(state));
    assert_true(dm_dir_exists(path)); /* it lives */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_ok(dm_temp_folder(other, dm_test_dir(state), err));
    assert_false(dm_dir_exists(path));
    assert_ok(dm_dir_remove(other, err));
    close(ends[0]);
    close(ends[1]);
}

static void only_names_of_ours_are_swept(void **state)
{
    static const char *const names[] = {".dotmatrix-temp-abc", ".dotmatrix-temp-abcdefg",
                                        ".dotmatrix-temp-ab.def", "dotmatrix-temp-abcdef",
                                        ".dotmatrix-temp-"};
    char file[DM_PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(mkdir(dm_test_path(state, names[i]), 0700), 0);
        make_old(dm_test_path(state, names[i]));
    }
    assert_ok(dm_path_join(file, dm_test_dir(state), ".dotmatrix-temp-FILE00", err));
    assert_ok(dm_file_write(file, "", 0, err));
    assert_int_equal(symlink("..", dm_test_path(state, ".dotmatrix-temp-LINK00")), 0);
    dm_temp_sweep(dm_test_dir(state));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(dm_dir_exists(dm_test_path(state, names[i])));
    assert_true(dm_file_exists(file));
    assert_true(dm_dir_exists(dm_test_path(state, ".dotmatrix-temp-LINK00")));
}

static void a_kept_folder_has_its_name(void **state)
{
    char path[DM_PATH_MAX], name[DM_PATH_MAX];
    assert_ok(dm_temp_folder(path, dm_test_dir(state), err));
    assert_ok(dm_path_join(name, dm_test_dir(state), "kept", err));
    assert_ok(dm_temp_folder_keep(path, name, err));
    assert_true(dm_dir_exists(name));
    assert_false(dm_dir_exists(path));
}

static void a_place_that_is_not_there_is_told(void **state)
{
    char path[DM_PATH_MAX];
    dm_error err;
    (void)state;
    assert_int_equal(dm_temp_folder(path, "/nowhere", &err), DM_EIO);
    assert_non_null(strstr(err.message, "in /nowhere"));
}

DM_TESTS("base/temp", DM_TEST_IN_DIR(a_folder_is_made_and_removed),
         DM_TEST_IN_DIR(a_folder_in_use_is_left_alone),
         DM_TEST_IN_DIR(what_a_killed_process_left_is_removed),
         DM_TEST_IN_DIR(only_names_of_ours_are_swept), DM_TEST_IN_DIR(a_kept_folder_has_its_name),
         DM_TEST(a_place_that_is_not_there_is_told))
