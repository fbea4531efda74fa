/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"
#include "base/file.h"
#include "tests/support/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    assert_ok(dm_file_write(path, text, strlen(text), err));
}

static void assert_text(const char *path, const char *expected)
{
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    assert_int_equal(size, strlen(expected));
    assert_string_equal(bytes, expected);
    free(bytes);
}

static dm_status count_entry(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root, (void)entry, (void)err;
    ++*(int *)user;
    return DM_OK;
}

/* How many entries a folder has: shows a temporary file left behind. */
static int entries(const char *folder)
{
    int count = 0;
    assert_ok(dm_dir_walk(folder, count_entry, &count, err));
    return count;
}

static void refused(dm_status got, dm_status expected, const dm_error *err, const char *path)
{
    assert_int_equal(got, expected);
    if (strstr(err->message, path) == NULL)
        fail_msg("'%s' does not name '%s'", err->message, path);
}

/* ---- reading ---- */

static void reads_back_what_was_written(void **state)
{
    const char *path = dm_test_path(state, "f");
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 65537, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *bytes = malloc(sizes[i] + 1), *got = NULL;
        size_t size = 0;
        for (size_t j = 0; j < sizes[i]; j++)
            bytes[j] = (char)(j * 7 + j / 256);
        assert_ok(dm_file_write(path, bytes, sizes[i], err));
        assert_ok(dm_file_read(path, 0, &got, &size, err));
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(got, bytes, size);
        assert_int_equal(got[size], 0);
        free(got);
        free(bytes);
    }
    assert_int_equal(entries(dm_test_dir(state)), 1);
}

static void read_limit_is_exact(void **state)
{
    const char *path = dm_test_path(state, "ten");
    write_text(path, "0123456789");
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    assert_ok(dm_file_read(path, 10, &bytes, &size, err));
    assert_int_equal(size, 10);
    free(bytes);
    assert_ok(dm_file_read(path, SIZE_MAX, &bytes, &size, err));
    free(bytes);
    bytes = NULL;
    refused(dm_file_read(path, 9, &bytes, &size, &err), DM_EINVAL, &err, path);
    assert_null(bytes);
}

static void missing_and_wrong_kinds_are_named(void **state)
{
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    const char *missing = dm_test_path(state, "missing");
    refused(dm_file_read(missing, 0, &bytes, &size, &err), DM_ENOENT, &err, missing);
    assert_non_null(strstr(err.message, strerror(ENOENT)));
    refused(dm_file_read(dm_test_dir(state), 0, &bytes, &size, &err), DM_EIO, &err,
            dm_test_dir(state));
    write_text(dm_test_path(state, "file"), "");
    const char *below = dm_test_path(state, "file/below");
    refused(dm_file_read(below, 0, &bytes, &size, &err), DM_EIO, &err, below);
    assert_non_null(strstr(err.message, strerror(ENOTDIR)));
    assert_int_equal(dm_file_read("", 0, &bytes, &size, NULL), DM_ENOENT);
}

/* /proc files say they are empty. */
static void reads_proc_files(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    assert_ok(dm_file_read("/proc/self/status", 0, &bytes, &size, err));
    assert_true(size > 100);
    assert_non_null(strstr(bytes, "Pid:"));
    free(bytes);
    refused(dm_file_read("/proc/self/status", 50, &bytes, &size, &err), DM_EINVAL, &err,
            "/proc/self/status");
}

typedef struct pipe_writer {
    const char *path;
    size_t size;
} pipe_writer;

static void *feed_pipe(void *argument)
{
    pipe_writer *w = argument;
    int fd = open(w->path, O_WRONLY);
    for (size_t i = 0; i < w->size; i += 1000) {
        char block[1000];
        memset(block, 'a' + (int)(i / 1000 % 26), sizeof block);
        if (write(fd, block, sizeof block) < 0)
            break;
    }
    close(fd);
    return NULL;
}

static void reads_pipes_with_limit(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    const char *path = dm_test_path(state, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int limited = 0; limited < 2; limited++) {
        pipe_writer w = {path, 300000};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &w), 0);
        char *bytes = NULL;
        size_t size = 0;
        dm_error err;
        dm_status status = dm_file_read(path, limited ? 299999 : 300000, &bytes, &size, &err);
        pthread_join(thread, NULL);
        assert_int_equal(status, limited ? DM_EINVAL : DM_OK);
        if (!limited) {
            assert_int_equal(size, 300000);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], 'a' + i / 1000 % 26);
            free(bytes);
        }
    }
}

/* ---- writing ---- */

static void write_keeps_mode_and_links(void **state)
{
    const char *path = dm_test_path(state, "script"), *link = dm_test_path(state, "link");
    write_text(path, "old");
    assert_int_equal(chmod(path, 0751), 0);
    assert_int_equal(symlink("script", link), 0);
    write_text(link, "new");
    assert_text(path, "new");
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0751);
    assert_int_equal(entries(dm_test_dir(state)), 2);
}

static void write_follows_umask(void **state)
{
    const char *path = dm_test_path(state, "f");
    mode_t before = umask(027);
    write_text(path, "x");
    umask(before);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void write_to_a_relative_name(void **state)
{
    char before[DM_PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dm_test_dir(state)), 0);
    write_text("here", "1");
    assert_text("./here", "1");
    assert_int_equal(chdir(before), 0);
    assert_text(dm_test_path(state, "here"), "1");
}

static void bad_targets_are_refused(void **state)
{
    dm_error err;
    const char *no_folder = dm_test_path(state, "none/f");
    refused(dm_file_write(no_folder, "x", 1, &err), DM_ENOENT, &err, no_folder);
    write_text(dm_test_path(state, "file"), "kept");
    const char *below = dm_test_path(state, "file/below");
    refused(dm_file_write(below, "x", 1, &err), DM_EIO, &err, below);
    refused(dm_file_write(dm_test_dir(state), "x", 1, &err), DM_EIO, &err, dm_test_dir(state));
    const char *slash = dm_test_path(state, "new/");
    assert_int_not_equal(dm_file_write(slash, "x", 1, &err), DM_OK);
    assert_int_equal(dm_file_write("", "x", 1, &err), DM_ENOENT);
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(dm_file_write(dm_test_path(state, name), "x", 1, &err), DM_EIO);
    assert_non_null(strstr(err.message, strerror(ENAMETOOLONG)));
    /* the longest name that a file system takes still works: the temporary's is short */
    name[255] = 0;
    write_text(dm_test_path(state, name), "long");
    assert_text(dm_test_path(state, "file"), "kept");
    assert_int_equal(entries(dm_test_dir(state)), 2);
}

static void unwritable_folder_is_an_error(void **state)
{
    if (geteuid() == 0)
        dm_test_skip("root ignores a folder's permissions");
    const char *folder = dm_test_path(state, "locked"), *file = dm_test_path(state, "locked/f");
    assert_ok(dm_dir_create(folder, err));
    assert_int_equal(chmod(folder, 0555), 0);
    dm_error err;
    dm_status status = dm_file_write(file, "x", 1, &err);
    chmod(folder, 0755);
    refused(status, DM_EIO, &err, file);
}

/* A limit on file size makes write() give a short count and then fail: what a full disk does, but
 * on the path through the temporary. The old file stays whole and no temporary is left. */
static void failed_write_leaves_the_old_file(void **state)
{
    const char *path = dm_test_path(state, "data");
    write_text(path, "the old file");
    size_t size = 100000;
    char *bytes = malloc(size);
    memset(bytes, 'n', size);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 50000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    dm_error err;
    dm_status status = dm_file_write(path, bytes, size, &err);
    dm_status fresh = dm_file_write(dm_test_path(state, "other"), bytes, size, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    refused(status, DM_EIO, &err, path);
    assert_non_null(strstr(err.message, strerror(EFBIG)));
    assert_int_equal(fresh, DM_EIO);
    assert_text(path, "the old file");
    assert_int_equal(entries(dm_test_dir(state)), 1);
    free(bytes);
}

enum { DISK_GOOD, DISK_WRONG, DISK_NONE };

static bool put_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Leave for a mount namespace of our own; who is not root becomes it in a user namespace first. */
static bool enter_own_mounts(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
    if (unshare(CLONE_NEWNS) != 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !put_text("/proc/self/uid_map", users) ||
         !put_text("/proc/self/setgroups", "deny") || !put_text("/proc/self/gid_map", groups)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* In a child with mounts of its own: a disk of 64 KiB with an old file, and a new one too large. */
static int write_to_small_disk(const char *folder, const char *path)
{
    if (!enter_own_mounts() || mount("tmpfs", folder, "tmpfs", 0, "size=64k") != 0)
        return DISK_NONE;
    static char large[200000];
    char *bytes = NULL;
    size_t size = 0;
    int count = 0;
    dm_error err = {0};
    bool good = dm_file_write(path, "old", 3, NULL) == DM_OK &&
                dm_file_write(path, large, sizeof large, &err) == DM_EIO &&
                strstr(err.message, strerror(ENOSPC)) != NULL &&
                dm_file_read(path, 0, &bytes, &size, NULL) == DM_OK && size == 3 &&
                memcmp(bytes, "old", 3) == 0 &&
                dm_dir_walk(folder, count_entry, &count, NULL) == DM_OK && count == 1 &&
                dm_file_write(path, "new", 3, NULL) == DM_OK;
    free(bytes);
    return good ? DISK_GOOD : DISK_WRONG;
}

static void full_disk_leaves_the_old_file(void **state)
{
    const char *folder = dm_test_dir(state), *path = dm_test_path(state, "f");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(write_to_small_disk(folder, path));
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == DISK_NONE)
        dm_test_skip("no small disk can be mounted here");
    assert_int_equal(WEXITSTATUS(status), DISK_GOOD);
}

static void devices_are_written_directly(void **state)
{
    (void)state;
    dm_error err;
    struct stat st;
    if (stat("/dev/full", &st) != 0)
        dm_test_skip("no /dev/full here");
    refused(dm_file_write("/dev/full", "x", 1, &err), DM_EIO, &err, "/dev/full");
    assert_non_null(strstr(err.message, strerror(ENOSPC)));
    assert_ok(dm_file_write("/dev/null", "x", 1, err));
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode)); /* not replaced by a file */
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

typedef struct writer {
    const char *path;
    char letter;
} writer;

static void *write_often(void *argument)
{
    writer *w = argument;
    char bytes[5000];
    memset(bytes, w->letter, sizeof bytes);
    for (int i = 0; i < 40; i++)
        if (dm_file_write(w->path, bytes, sizeof bytes, NULL) != DM_OK)
            return argument;
    return NULL;
}

/* Whoever reads sees one writer's file, whole. */
static void concurrent_writers_do_not_mix(void **state)
{
    const char *path = dm_test_path(state, "shared");
    write_text(path, "");
    writer writers[3] = {{path, 'a'}, {path, 'b'}, {path, 'c'}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, &writers[i]), 0);
    for (int i = 0; i < 200; i++) {
        char *bytes = NULL;
        size_t size = 0;
        assert_ok(dm_file_read(path, 0, &bytes, &size, err));
        assert_true(size == 0 || size == 5000);
        for (size_t j = 1; j < size; j++)
            assert_int_equal(bytes[j], bytes[0]);
        free(bytes);
    }
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(entries(dm_test_dir(state)), 1);
}

/* ---- folders ---- */

static void creates_parents(void **state)
{
    const char *deep = dm_test_path(state, "a/b//c/");
    assert_ok(dm_dir_create(deep, err));
    assert_ok(dm_dir_create(deep, err));
    assert_true(dm_dir_exists(dm_test_path(state, "a/b/c")));
    assert_false(dm_file_exists(dm_test_path(state, "a/b/c")));
    assert_ok(dm_dir_create("/", err));
    write_text(dm_test_path(state, "file"), "");
    assert_true(dm_file_exists(dm_test_path(state, "file")));
    assert_false(dm_dir_exists(dm_test_path(state, "file")));
    dm_error err;
    const char *on_file = dm_test_path(state, "file");
    refused(dm_dir_create(on_file, &err), DM_EIO, &err, on_file);
    assert_int_equal(dm_dir_create(dm_test_path(state, "file/x"), &err), DM_EIO);
    assert_int_equal(dm_dir_create("", &err), DM_ENOENT);
    /* through a link to a folder */
    assert_int_equal(symlink("a", dm_test_path(state, "link")), 0);
    assert_ok(dm_dir_create(dm_test_path(state, "link/new"), err));
    assert_true(dm_dir_exists(dm_test_path(state, "a/new")));
}

static void removal_does_not_follow_links(void **state)
{
    const char *outside = dm_test_path(state, "outside"), *tree = dm_test_path(state, "tree");
    assert_ok(dm_dir_create(outside, err));
    write_text(dm_test_path(state, "outside/precious"), "p");
    assert_ok(dm_dir_create(dm_test_path(state, "tree/sub/deeper"), err));
    write_text(dm_test_path(state, "tree/sub/f"), "f");
    assert_int_equal(symlink(outside, dm_test_path(state, "tree/to_folder")), 0);
    assert_int_equal(symlink("../outside/precious", dm_test_path(state, "tree/to_file")), 0);
    assert_int_equal(symlink("nowhere", dm_test_path(state, "tree/sub/dangling")), 0);
    assert_int_equal(mkfifo(dm_test_path(state, "tree/pipe"), 0600), 0);
    assert_ok(dm_dir_remove(tree, err));
    assert_false(dm_dir_exists(tree));
    assert_text(dm_test_path(state, "outside/precious"), "p");

    dm_error err;
    const char *link = dm_test_path(state, "link");
    assert_int_equal(symlink("outside", link), 0);
    refused(dm_dir_remove(link, &err), DM_EIO, &err, link);
    assert_int_equal(dm_dir_remove(dm_test_path(state, "link//"), &err), DM_EIO);
    assert_text(dm_test_path(state, "outside/precious"), "p");
}

static void removal_refuses_what_is_no_folder(void **state)
{
    dm_error err;
    const char *missing = dm_test_path(state, "missing"), *file = dm_test_path(state, "file");
    refused(dm_dir_remove(missing, &err), DM_ENOENT, &err, missing);
    write_text(file, "kept");
    refused(dm_dir_remove(file, &err), DM_EIO, &err, file);
    assert_text(file, "kept");
    const char *inside = dm_test_path(state, ".");
    refused(dm_dir_remove(inside, &err), DM_EINVAL, &err, inside);
    assert_int_equal(dm_dir_remove(dm_test_path(state, ".."), &err), DM_EINVAL);
    assert_int_equal(dm_dir_remove("", &err), DM_EINVAL);
    assert_int_equal(dm_dir_remove("/", &err), DM_EINVAL);
    assert_int_equal(dm_dir_remove("///", &err), DM_EINVAL);
    assert_text(file, "kept");
}

static void removes_a_deep_tree(void **state)
{
    dm_buffer path = DM_BUFFER_EMPTY;
    dm_buffer_puts(&path, dm_test_path(state, "deep"));
    for (int i = 0; i < 200; i++)
        dm_buffer_printf(&path, "/%d", i);
    assert_ok(dm_dir_create(dm_buffer_text(&path), err));
    dm_buffer_deinit(&path);
    assert_ok(dm_dir_remove(dm_test_path(state, "deep"), err));
    assert_int_equal(entries(dm_test_dir(state)), 0);
}

/* ---- walking ---- */

static dm_status list_entry(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root, (void)err;
    dm_buffer_printf(user, "%s%s %llu\n", entry->path,
                     entry->is_dir    ? "/"
                     : entry->is_link ? "@"
                                      : "",
                     (unsigned long long)(entry->is_dir ? 0 : entry->size));
    return entry->modified_ns > INT64_C(1000000000000000000) ? DM_OK : DM_EINTERNAL;
}

static void walk_is_sorted_and_stays_inside(void **state)
{
    static const char *const folders[] = {"b", "b/z", "a", "empty", "b/a"};
    static const char *const files[] = {"b/m", "b/z/1", "c", "a.txt", "B", "a/2", "a/10"};
    const char *root = dm_test_path(state, "root");
    assert_ok(dm_dir_create(root, err));
    char path[DM_PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        assert_ok(dm_path_join(path, root, folders[i], err));
        assert_ok(dm_dir_create(path, err));
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_ok(dm_path_join(path, root, files[i], err));
        write_text(path, files[i]);
    }
    assert_ok(dm_path_join(path, root, "up", err));
    assert_int_equal(symlink("..", path), 0);
    dm_buffer list = DM_BUFFER_EMPTY;
    assert_ok(dm_dir_walk(root, list_entry, &list, err));
    assert_string_equal(dm_buffer_text(&list), "B 1\n"
                                               "a/ 0\n"
                                               "a/10 4\n"
                                               "a/2 3\n"
                                               "a.txt 5\n"
                                               "b/ 0\n"
                                               "b/a/ 0\n"
                                               "b/m 3\n"
                                               "b/z/ 0\n"
                                               "b/z/1 5\n"
                                               "c 1\n"
                                               "empty/ 0\n"
                                               "up@ 0\n");
    dm_buffer_deinit(&list);
}

static dm_status stop_at_two(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root;
    if (++*(int *)user == 2)
        return dm_fail(err, DM_EFORMAT, "stopped at %s", entry->path);
    return DM_OK;
}

static dm_status remove_it(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)user;
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, root, entry->path, err);
    if (status == DM_OK && entry->is_dir)
        return dm_dir_remove(path, err);
    if (status == DM_OK && unlink(path) != 0)
        status = DM_EIO;
    return status;
}

static void walk_can_stop_and_delete(void **state)
{
    assert_ok(dm_dir_create(dm_test_path(state, "d/e"), err));
    write_text(dm_test_path(state, "a"), "");
    write_text(dm_test_path(state, "b"), "");
    int seen = 0;
    dm_error err;
    assert_int_equal(dm_dir_walk(dm_test_dir(state), stop_at_two, &seen, &err), DM_EFORMAT);
    assert_string_equal(err.message, "stopped at b");
    assert_int_equal(seen, 2);
    assert_ok(dm_dir_walk(dm_test_dir(state), remove_it, NULL, err));
    assert_int_equal(entries(dm_test_dir(state)), 0);
    const char *missing = dm_test_path(state, "missing");
    refused(dm_dir_walk(missing, stop_at_two, &seen, &err), DM_ENOENT, &err, missing);
}

/* ---- paths ---- */

static void joins_paths(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {"a", "", "a/"},
    };
    char out[DM_PATH_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_ok(dm_path_join(out, cases[i][0], cases[i][1], err));
        assert_string_equal(out, cases[i][2]);
    }
    char name[DM_PATH_MAX];
    memset(name, 'x', sizeof name);
    name[DM_PATH_MAX - 3] = 0; /* with "a/" just fits */
    assert_ok(dm_path_join(out, "a", name, err));
    name[DM_PATH_MAX - 3] = 'x';
    name[DM_PATH_MAX - 2] = 0;
    dm_error err;
    assert_int_equal(dm_path_join(out, "a", name, &err), DM_EINVAL);
}

static void cache_place_follows_the_environment(void **state)
{
    (void)state;
    char out[DM_PATH_MAX];
    setenv("DM_CACHE_DIR", "/x/cache", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/u", 1);
    assert_ok(dm_path_cache(out, err));
    assert_string_equal(out, "/x/cache");
    unsetenv("DM_CACHE_DIR");
    assert_ok(dm_path_cache(out, err));
    assert_string_equal(out, "/xdg/dotmatrix");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_ok(dm_path_cache(out, err));
    assert_string_equal(out, "/home/u/.cache/dotmatrix");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "", 1);
    dm_error err;
    assert_int_equal(dm_path_cache(out, &err), DM_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "DM_CACHE_DIR"));
}

DM_TESTS("base/file", DM_TEST_IN_DIR(reads_back_what_was_written),
         DM_TEST_IN_DIR(read_limit_is_exact), DM_TEST_IN_DIR(missing_and_wrong_kinds_are_named),
         DM_TEST(reads_proc_files), DM_TEST_IN_DIR(reads_pipes_with_limit),
         DM_TEST_IN_DIR(write_keeps_mode_and_links), DM_TEST_IN_DIR(write_follows_umask),
         DM_TEST_IN_DIR(write_to_a_relative_name), DM_TEST_IN_DIR(bad_targets_are_refused),
         DM_TEST_IN_DIR(unwritable_folder_is_an_error),
         DM_TEST_IN_DIR(failed_write_leaves_the_old_file),
         DM_TEST_IN_DIR(full_disk_leaves_the_old_file), DM_TEST(devices_are_written_directly),
         DM_TEST_IN_DIR(concurrent_writers_do_not_mix), DM_TEST_IN_DIR(creates_parents),
         DM_TEST_IN_DIR(removal_does_not_follow_links),
         DM_TEST_IN_DIR(removal_refuses_what_is_no_folder), DM_TEST_IN_DIR(removes_a_deep_tree),
         DM_TEST_IN_DIR(walk_is_sorted_and_stays_inside), DM_TEST_IN_DIR(walk_can_stop_and_delete),
         DM_TEST(joins_paths), DM_TEST(cache_place_follows_the_environment))
