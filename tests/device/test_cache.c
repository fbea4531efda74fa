/* SPDX-License-Identifier: MIT */
#include "device/cache.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/device.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    unsetenv("DM_CACHE_MAX");
    return 0;
}

static void store(const char *name, size_t size, char fill)
{
    char path[DM_PATH_MAX], *bytes = malloc(size);
    memset(bytes, fill, size);
    assert_true(dm_cache_store(name, bytes, size, path));
    free(bytes);
}

static bool has(const char *name)
{
    char path[DM_PATH_MAX], *bytes;
    size_t size;
    bool found = dm_cache_load(name, &bytes, &size, path);
    free(bytes);
    return found;
}

static void gives_back_what_was_stored(void **state)
{
    (void)state;
    char path[DM_PATH_MAX], stored[DM_PATH_MAX], *bytes, name[DM_CACHE_NAME_MAX];
    size_t size;
    dm_cache_name(name, (dm_hash128){1, 2}, "cubin");
    assert_false(has(name));
    assert_true(dm_cache_store(name, "code", 4, stored));
    assert_true(dm_cache_load(name, &bytes, &size, path));
    assert_string_equal(path, stored);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "code", 4);
    free(bytes);
    /* Storing again replaces. */
    assert_true(dm_cache_store(name, "other", 5, stored));
    assert_true(dm_cache_load(name, &bytes, &size, path));
    assert_memory_equal(bytes, "other", 5);
    free(bytes);
}

/* In place and without a flush, as a disk would spoil it. */
static void overwrite(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Any single flipped bit, any cut, any addition, and another entry's bytes are noticed. */
static void notices_damage(void **state)
{
    (void)state;
    char path[DM_PATH_MAX], *bytes;
    size_t size;
    assert_true(dm_cache_store("a.so", "0123456789", 10, path));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x04;
        overwrite(path, bytes, size);
        assert_false(has("a.so"));
        bytes[i] ^= 0x04;
    }
    for (size_t cut = 0; cut < size; cut++) {
        overwrite(path, bytes, cut);
        assert_false(has("a.so"));
    }
    char longer[256];
    memcpy(longer, bytes, size);
    longer[size] = 0;
    overwrite(path, longer, size + 1);
    assert_false(has("a.so"));
    overwrite(path, bytes, size);
    assert_true(has("a.so"));
    *strrchr(path, '/') = '\0';
    char other[DM_PATH_MAX];
    assert_ok(dm_path_join(other, path, "b.so", err));
    overwrite(other, bytes, size);
    assert_false(has("b.so"));
    free(bytes);
}

static void set_age(const char *name, int seconds_ago)
{
    char folder[DM_PATH_MAX], path[DM_PATH_MAX];
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds_ago;
    times[1] = times[0];
    assert_ok(dm_cache_folder(folder, err));
    assert_ok(dm_path_join(path, folder, name, err));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void oldest_go_first(void **state)
{
    (void)state;
    setenv("DM_CACHE_MAX", "1M", 1);
    char name[16];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%d.so", i);
        store(name, 200 << 10, 'x');
        set_age(name, 100 - i);
    }
    assert_true(has("0.so")); /* used now, so 1.so is the oldest */
    store("4.so", 300 << 10, 'x');
    assert_false(has("1.so"));
    assert_true(has("0.so"));
    assert_true(has("2.so"));
    assert_true(has("3.so"));
    assert_true(has("4.so"));
    setenv("DM_CACHE_MAX", "300K", 1);
    store("5.so", 10, 'x');
    assert_true(has("5.so"));
    /* What alone is larger than the limit is not kept, and pushes nothing out. */
    char path[DM_PATH_MAX], *big = calloc(1, 400 << 10);
    assert_false(dm_cache_store("6.so", big, 400 << 10, path));
    free(big);
    assert_true(has("5.so"));
    setenv("DM_CACHE_MAX", "0", 1);
    assert_false(dm_cache_store("7.so", "x", 1, path));
    unsetenv("DM_CACHE_MAX");
}

static void sizes(void **state)
{
    (void)state;
    uint64_t size;
    static const struct {
        const char *text;
        uint64_t size;
    } good[] = {{"0", 0}, {"12", 12}, {"3K", 3072}, {"64M", 64u << 20}, {"2G", (uint64_t)2 << 30}};
    static const char *const bad[] = {"", "M", "-1", "1T", "1.5G", "1 G", "99999999999999G", "x"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(dm_cache_parse_size(good[i].text, &size));
        assert_int_equal(size, good[i].size);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(dm_cache_parse_size(bad[i], &size));
}

/* Several processes start with an empty cache and want the same kernel at once; meanwhile another
 * throws entries away. All must get working code. */
static void many_processes_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 3, ROUNDS = 2 };
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            int bad = 0;
            char folder[DM_PATH_MAX];
            for (int r = 0; r < ROUNDS && bad == 0; r++) {
                dm_device *device = NULL;
                dm_selftest_report report = {0};
                bad |= dm_device_open("cpu:1", &device, NULL) != DM_OK ? 1 : 0;
                bad |= dm_device_selftest(device, &report, NULL) != DM_OK || !report.passed ? 2 : 0;
                dm_device_close(device);
                if (i == 0 && dm_cache_folder(folder, NULL) == DM_OK)
                    dm_cache_trim(folder, 0, NULL);
            }
            _exit(bad);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, dm_test_dir_teardown)
DM_TESTS("device/cache", T(gives_back_what_was_stored), T(notices_damage), T(oldest_go_first),
         T(sizes), T(many_processes_at_once))
