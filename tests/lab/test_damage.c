/* SPDX-License-Identifier: MIT */
/* Files of the lab with bytes changed, cut off or doubled: each is read or refused, and nothing is
 * left behind. The sanitizers see the rest. */
#include "base/file.h"
#include "base/hash.h"
#include "lab/actions.h"
#include "lab/verify/bundle.h"
#include "lab/verify/profile.h"
#include "lab/verify/recording.h"
#include "tests/support/random.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 100

/* Change a few bytes, or the length. The result is malloc'ed and has a NUL after it. */
static char *damage(dm_test_random *random, const char *bytes, size_t size, size_t *out_size)
{
    static const char likely[] = "{}[]\",:0129-eE.truefalsnu\n# \\";
    char *copy = malloc(size + 1 + sizeof(uint64_t)); /* room for a hash */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    *out_size = size;
    if (dm_test_random_chance(random, 15))
        *out_size = dm_test_random_below(random, (uint32_t)size + 1);
    uint32_t changes = 1 + dm_test_random_below(random, 4);
    for (uint32_t i = 0; i<changes && * out_size> 0; i++) {
        uint32_t at = dm_test_random_below(random, (uint32_t)*out_size);
        copy[at] = dm_test_random_chance(random, 60)
                       ? likely[dm_test_random_below(random, sizeof likely - 1)]
                       : (char)dm_test_random_byte(random);
    }
    copy[*out_size] = 0;
    return copy;
}

static void damaged_action_files(void **state)
{
    static const char good[] = "A B\n# comment\nNOOP NOOP\n3\nRIGHT LEFT\n8 0\n\n1 2\n";
    dm_test_random random = dm_test_random_make(1, 1);
    const char *path = dm_test_path(state, "a.txt");
    unsigned read = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size;
        char *text = damage(&random, good, sizeof good - 1, &size);
        dm_lab_actions actions = {0};
        dm_error err = {0};
        assert_ok(dm_file_write(path, text, size, err));
        dm_status status = dm_lab_actions_load(&actions, path, 4, 2, &err);
        if (status == DM_OK) {
            read++;
            for (uint64_t k = 0; k < 8; k++)
                assert_true(dm_lab_action(&actions, k % 2, k / 2) <= 8);
            dm_lab_actions_deinit(&actions);
        } else {
            assert_int_equal(status, DM_EFORMAT);
            assert_null(actions.given);
            assert_true(err.message[0] != 0);
        }
        free(text);
    }
    assert_true(read > 0 && read < ROUNDS);
}

/* What a bundle asks for beside a short file takes no memory: 2^40 steps, 2^32 machines. */
static void short_action_files_take_little_memory(void **state)
{
    const char *path = dm_test_path(state, "a.txt");
    dm_lab_actions actions = {0};
    dm_error err = {0};
    assert_ok(dm_file_write(path, "A\nB\n", 4, err));
    assert_int_equal(dm_lab_actions_load(&actions, path, UINT64_MAX, 2, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "actions for 2 steps"));
    assert_int_equal(dm_lab_actions_load(&actions, path, (uint64_t)1 << 40, 1, &err), DM_EFORMAT);
    assert_int_equal(dm_lab_actions_load(&actions, path, 2, UINT32_MAX, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "more than 1 GiB of actions"));
    assert_null(actions.given);
}

static dm_lab_verify make_profile(const uint8_t *rom, size_t size)
{
    dm_lab_verify v = dm_lab_profile_default();
    v.reference = &dm_lab_single;
    v.dut = &dm_lab_wrong;
    v.rom = rom;
    v.rom_size = size;
    v.release_after_frames = 1;
    v.steps = 4;
    v.compare_frame = true;
    v.regions[v.region_count++] = (dm_swarm_region){0xC000, 0x100};
    return v;
}

static uint8_t *load_rom(size_t *size)
{
    char *bytes;
    assert_ok(dm_file_read(DM_TEST_BUILD_ROOT "/roms/ALU_LOOP.gb", 0, &bytes, size, err));
    return (uint8_t *)bytes;
}

static void damaged_bundles(void **state)
{
    size_t rom_size, meta_size;
    uint8_t *rom = load_rom(&rom_size);
    dm_lab_verify v = make_profile(rom, rom_size);
    dm_lab_verdict verdict;
    char *meta;
    const char *path = dm_test_path(state, "b/meta.json");
    assert_ok(dm_lab_verify_run(&v, NULL, &verdict, err));
    assert_false(verdict.matched);
    assert_ok(dm_lab_bundle_write(dm_test_path(state, "b"), &v, &verdict, "", err));
    dm_lab_verdict_deinit(&verdict);
    assert_ok(dm_file_read(path, 0, &meta, &meta_size, err));
    dm_test_random random = dm_test_random_make(2, 1);
    for (int i = 0; i < ROUNDS; i++) {
        size_t size;
        char *text = damage(&random, meta, meta_size, &size);
        dm_lab_bundle bundle;
        dm_error err = {0};
        assert_ok(dm_file_write(path, text, size, err));
        dm_status status = dm_lab_bundle_load(dm_test_path(state, "b"), &bundle, &err);
        if (status == DM_OK) {
            assert_true(bundle.v.frames_per_step >= 1 && bundle.v.frames_per_step <= 1024);
            assert_true(bundle.v.release_after_frames <= bundle.v.frames_per_step);
            assert_true(bundle.v.region_count <= DM_LAB_REGIONS_MAX);
            dm_lab_bundle_deinit(&bundle);
        } else {
            assert_true(err.message[0] != 0);
        }
        free(text);
    }
    free(meta);
    free(rom);
}

/* The first line break of a file whose hash is right may lie in the hash. */
static void a_recording_without_a_head(void **state)
{
    const char *path = dm_test_path(state, "a.rec"), *head = DM_LAB_RECORDING_SCHEMA "\n";
    uint8_t rom[0x8000] = {0};
    dm_lab_verify v = make_profile(rom, sizeof rom);
    char file[256], name[64];
    unsigned tried = 0;
    for (int i = 0; tried < 3 && i < 100000; i++) {
        size_t size = (size_t)snprintf(file, sizeof file, "%s{\"a\":%d}", head, i);
        uint64_t hash = dm_hash64(file, size);
        memcpy(file + size, &hash, sizeof hash);
        if (memchr(file + size, '\n', sizeof hash) == NULL)
            continue;
        dm_error err = {0};
        assert_ok(dm_file_write(path, file, size + sizeof hash, err));
        assert_int_equal(dm_lab_recording_check(path, &v, name, sizeof name, &err), DM_EFORMAT);
        assert_non_null(strstr(err.message, "without a head"));
        tried++;
    }
    assert_int_equal(tried, 3);
}

/* With a right hash, too: what is inside is checked. */
static void damaged_recordings(void **state)
{
    size_t rom_size, good_size;
    uint8_t *rom = load_rom(&rom_size);
    dm_lab_verify v = make_profile(rom, rom_size);
    dm_lab_verdict verdict;
    char *good;
    const char *path = dm_test_path(state, "a.rec");
    v.dut = &dm_lab_single;
    v.record = path;
    assert_ok(dm_lab_verify_run(&v, NULL, &verdict, err));
    assert_true(verdict.matched);
    dm_lab_verdict_deinit(&verdict);
    assert_ok(dm_file_read(path, 0, &good, &good_size, err));
    dm_test_random random = dm_test_random_make(3, 1);
    v.record = NULL;
    v.recording = path;
    v.reference = &dm_lab_recorded;
    unsigned agreed = 0, refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size;
        char *bytes = damage(&random, good, good_size - 8, &size);
        uint64_t hash = dm_hash64(bytes, size);
        memcpy(bytes + size, &hash, sizeof hash);
        assert_ok(dm_file_write(path, bytes, size + 8, err));
        dm_error err = {0};
        dm_status status = dm_lab_verify_run(&v, NULL, &verdict, &err);
        agreed += status == DM_OK && verdict.matched;
        refused += status != DM_OK;
        if (status == DM_OK)
            dm_lab_verdict_deinit(&verdict);
        else
            assert_true(err.message[0] != 0);
        free(bytes);
    }
    assert_true(refused > 0 && agreed + refused < ROUNDS); /* some only differ */
    free(good);
    free(rom);
}

DM_TESTS("lab/damage", DM_TEST_IN_DIR(damaged_action_files),
         DM_TEST_IN_DIR(short_action_files_take_little_memory),
         DM_TEST_IN_DIR(a_recording_without_a_head), DM_TEST_IN_DIR(damaged_bundles),
         DM_TEST_IN_DIR(damaged_recordings));
