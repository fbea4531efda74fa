/* SPDX-License-Identifier: MIT */
/* States of single machines in and out of a swarm, reading and writing their memory, and the whole swarm as a file. */
#include "base/file.h"
#include "tests/swarm/cpu_swarm.h"

#include <stdlib.h>
#include <string.h>

static void states_in_and_out(void **state)
{
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_dir(state), "one.state", err));
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 4, .snapshots = 1));
    dm_case_step(swarm, 5);
    assert_ok(dm_swarm_save_machine(swarm, 2, path, err));
    assert_ok(dm_swarm_snapshot_load(swarm, 0, path, 1, err));
    const uint32_t machine = 0, slot = 1;
    assert_ok(dm_swarm_reset_host(swarm, &machine, &slot, 1, err));
    dm_gb_counters a, b;
    const uint32_t two = 2;
    assert_ok(dm_swarm_get_counters(swarm, &machine, 1, &a, err));
    assert_ok(dm_swarm_get_counters(swarm, &two, 1, &b, err));
    assert_memory_equal(&a, &b, sizeof a);
    /* A swarm may also begin with it. */
    dm_swarm_rom_source rom = game;
    rom.state = path;
    dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 2};
    dm_swarm *from = dm_case_swarm(device, &desc);
    assert_ok(dm_swarm_get_counters(from, &machine, 1, &a, err));
    assert_memory_equal(&a, &b, sizeof a);
    dm_error err = {0};
    assert_int_equal(dm_swarm_snapshot_load(swarm, 1, path, 1, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_snapshot_load(swarm, 0, path, 2, &err), DM_EINVAL);
    desc.roms = &joy;
    dm_swarm *other = dm_case_swarm(device, &desc);
    assert_int_not_equal(dm_swarm_snapshot_load(other, 0, path, 0, &err), DM_OK);
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(from);
    dm_swarm_destroy(other);
}

/* Two machines go on from where a third is, and do the same as it from there; one bad state among
 * them changes none. */
static void states_in_memory(void **state)
{
    (void)state;
    dm_swarm_rom_source roms[] = {game, joy};
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 2,
                          .count = 8,
                          .generator = DM_SWARM_NOOP,
                          .observations = DM_SWARM_OBS_SHADES};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    uint8_t actions[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 12; i++)
        assert_ok(dm_swarm_step_host(swarm, actions, 8, err));
    const uint32_t from[] = {4, 3}, to[] = {0, 1};
    size_t size = dm_swarm_state_bytes(swarm);
    uint8_t *states = malloc(2 * size);
    assert_non_null(states);
    assert_ok(dm_swarm_save_states(swarm, from, 2, states, 2 * size, err));

    /* What a swarm gives, a single machine takes, and the other way round. */
    dm_gb *alone = NULL;
    assert_ok(dm_gb_create(game.bytes, game.size, NULL, &alone, err));
    uint8_t *again = malloc(dm_gb_state_bytes(alone));
    assert_non_null(again);
    assert_true(dm_gb_state_bytes(alone) <= size);
    assert_ok(dm_gb_load_state_bytes(alone, states, dm_gb_state_bytes(alone), err));
    assert_ok(dm_gb_save_state_bytes(alone, again, dm_gb_state_bytes(alone), err));
    assert_memory_equal(again, states, dm_gb_state_bytes(alone));
    dm_gb_counters mine = dm_gb_get_counters(alone), theirs;
    assert_ok(dm_swarm_get_counters(swarm, from, 1, &theirs, err));
    assert_memory_equal(&mine, &theirs, sizeof mine);

    /* Refused whole: the second state is damaged, cut off, or of another machine's ROM. */
    uint64_t before = dm_case_fingerprint(swarm);
    dm_error err = {0};
    states[size + 200] ^= 1;
    assert_int_equal(dm_swarm_load_states(swarm, to, 2, states, 2 * size, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "the state for machine 1: "));
    assert_non_null(strstr(err.message, "damaged"));
    states[size + 200] ^= 1;
    const uint32_t swapped[] = {1, 0}, missing[] = {0, 8};
    assert_int_equal(dm_swarm_load_states(swarm, to, 2, states, 2 * size - 1, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_load_states(swarm, to, 2, states, size, &err), DM_EINVAL);
    assert_int_not_equal(dm_swarm_load_states(swarm, swapped, 2, states, 2 * size, &err), DM_OK);
    assert_int_equal(dm_swarm_load_states(swarm, missing, 2, states, 2 * size, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_save_states(swarm, missing, 2, states, 2 * size, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_save_states(swarm, to, 2, states, size, &err), DM_EINVAL);
    assert_true(dm_case_fingerprint(swarm) == before);

    assert_ok(dm_swarm_load_states(swarm, NULL, 0, NULL, 0, err));
    assert_ok(dm_swarm_load_states(swarm, to, 2, states, 2 * size, err));
    memset(actions, 1, sizeof actions);
    for (int i = 0; i < 5; i++)
        assert_ok(dm_swarm_step_host(swarm, actions, 8, err));
    static uint8_t pictures[2][DM_SWARM_PICTURE];
    for (int i = 0; i < 2; i++) {
        dm_gb_counters other;
        assert_ok(dm_swarm_get_counters(swarm, &from[i], 1, &mine, err));
        assert_ok(dm_swarm_get_counters(swarm, &to[i], 1, &other, err));
        assert_memory_equal(&mine, &other, sizeof mine);
        assert_ok(dm_swarm_get_picture(swarm, from[i], pictures[0], err));
        assert_ok(dm_swarm_get_picture(swarm, to[i], pictures[1], err));
        assert_memory_equal(pictures[0], pictures[1], sizeof pictures[0]);
        uint8_t memory[2][0x2000];
        assert_ok(dm_swarm_read(swarm, from[i], 0xC000, memory[0], sizeof memory[0], err));
        assert_ok(dm_swarm_read(swarm, to[i], 0xC000, memory[1], sizeof memory[1], err));
        assert_memory_equal(memory[0], memory[1], sizeof memory[0]);
    }
    dm_gb_destroy(alone);
    free(again);
    free(states);
    dm_swarm_destroy(swarm);
}

static void poke_and_read(void **state)
{
    (void)state;
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 3));
    dm_case_step(swarm, 2);
    uint64_t other = dm_case_machine_hash(swarm, 0);
    uint8_t byte = 0;
    assert_ok(dm_swarm_poke(swarm, 1, 0xDE00, 0x5A, err));
    assert_ok(dm_swarm_read(swarm, 1, 0xDE00, &byte, 1, err));
    assert_int_equal(byte, 0x5A);
    assert_true(dm_case_machine_hash(swarm, 0) == other);
    dm_error err = {0};
    assert_int_equal(dm_swarm_read(swarm, 3, 0, &byte, 1, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_read(swarm, 0, 0xFFFF, &byte, 2, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_get_picture(swarm, 0, &byte, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_poke(swarm, 5, 0, 0, &err), DM_EINVAL);
    dm_swarm_destroy(swarm);
}

/* A read copies what is behind its addresses and nothing else, and gives what a copy of the whole
 * machine gives. */
static void reads_copy_no_more_than_asked(void **state)
{
    static const dm_swarm_region ranges[] = {
        {0xC000, 16},   {0xDFF0, 32},   {0x8000, 0x2000}, {0xA000, 0x2000}, {0xFE00, 0x100},
        {0xFF80, 0x80}, {0xFF00, 0x80}, {0x3FF0, 32},     {0xFDF0, 32},     {0x9FFF, 0x4003}};
    static uint8_t all[0x10000], some[0x10000];
    (void)state;
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 3));
    dm_case_step(swarm, 12);
    dm_gb *view;
    assert_ok(dm_swarm_fetch(swarm, 1, &view, err));
    for (uint32_t at = 0; at < sizeof all; at++)
        all[at] = dm_gb_peek(view, (uint16_t)at);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        dm_swarm_region r = ranges[i];
        memset(view->ram, 0xA5, view->ram_size);
        assert_ok(dm_swarm_read(swarm, 1, r.address, some, r.size, err));
        if (memcmp(some, all + r.address, r.size) != 0)
            fail_msg("%04X: a byte differs", r.address);
        size_t kept = 0;
        for (size_t at = 0; at < view->ram_size; at++)
            kept += view->ram[at] == 0xA5;
        if (r.address != 0xFF00 && kept + r.size < view->ram_size)
            fail_msg("%04X: %zu bytes were copied for %u", r.address, view->ram_size - kept,
                     r.size);
    }
    dm_swarm_destroy(swarm);
}

/* ---- Files ---- */

/* A byte of a picture that is no shade: such a file says that it is whole, and is loaded without
 * it. */
static void load_takes_only_shades(void **state)
{
    static const int pictures[] = {DM_SWARM_A_FRAMES, DM_SWARM_A_SNAP_FRAMES};
    const size_t at = 5 * DM_GB_SCREEN_W;
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_dir(state), "forged", err));
    dm_swarm_desc desc = {
        .roms = &game, .rom_count = 1, .count = 2, .observations = DM_SWARM_OBS_PACKED};
    dm_swarm *swarm = dm_case_swarm(device, &desc), *again = dm_case_swarm(device, &desc);
    for (int i = 0; i < 2; i++) {
        uint8_t byte = 0x91;
        assert_ok(dm_stream_upload(swarm->stream, swarm->arrays[pictures[i]], at, &byte, 1, err));
        assert_ok(dm_stream_synchronize(swarm->stream, err));
        assert_ok(dm_swarm_save(swarm, path, err));
        assert_ok(dm_swarm_load(again, path, err));
        assert_ok(dm_stream_download(again->stream, again->arrays[pictures[i]], at, &byte, 1, err));
        assert_ok(dm_stream_synchronize(again->stream, err));
        assert_int_equal(byte, 1);
    }
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(again);
}

static void save_and_load(void **state)
{
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_dir(state), "swarm", err));
    dm_swarm_rom_source roms[] = {game, joy};
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 2,
                          .count = 7,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .step_limit = 9,
                          .snapshots = 2,
                          .observations = DM_SWARM_OBS_PACKED,
                          .frame_stack = 3};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    dm_case_step(swarm, 3);
    assert_ok(dm_swarm_snapshot(swarm, 4, 2, err));
    const uint32_t machine = 4, slot = 2;
    assert_ok(dm_swarm_reset_host(swarm, &machine, &slot, 1, err));
    dm_case_step(swarm, 2);
    assert_ok(dm_swarm_save(swarm, path, err));
    dm_case_step(swarm, 9); /* past a reset of every machine */
    dm_swarm *again = dm_case_swarm(device, &desc);
    assert_ok(dm_swarm_load(again, path, err));
    dm_case_step(again, 9);
    assert_true(dm_case_fingerprint(swarm) == dm_case_fingerprint(again));
    size_t size = 7 * dm_swarm_output_size(swarm, DM_SWARM_PACKEDS);
    assert_memory_equal(bytes_of(swarm, DM_SWARM_PACKEDS), bytes_of(again, DM_SWARM_PACKEDS), size);

    /* Everything that does not fit is refused and changes nothing. */
    uint64_t before = dm_case_fingerprint(again);
    char *bytes = NULL;
    size_t length = 0;
    dm_error err = {0};
    assert_ok(dm_file_read(path, 0, &bytes, &length, err));
    for (size_t at = 1; at < length; at += length / 13) {
        bytes[at] ^= 0x10;
        assert_ok(dm_file_write(path, bytes, length, err));
        assert_int_equal(dm_swarm_load(again, path, &err), DM_EFORMAT);
        bytes[at] ^= 0x10;
        assert_ok(dm_file_write(path, bytes, at, err));
        assert_int_equal(dm_swarm_load(again, path, &err), DM_EFORMAT);
    }
    assert_true(dm_case_fingerprint(again) == before);
    assert_ok(dm_file_write(path, bytes, length, err));
    free(bytes);
    dm_swarm_destroy(again);
    static const struct {
        int what;
        const char *message;
    } cases[] = {{0, "7 machines; this one has 6"},
                 {1, "other observations"},
                 {2, "ROM 0 is another one"},
                 {3, "snapshots"}};
    for (int i = 0; i < 4; i++) {
        dm_swarm_desc d = desc;
        dm_swarm_rom_source swapped[] = {joy, game};
        d.count -= i == 0;
        d.frame_stack -= i == 1;
        d.roms = i == 2 ? swapped : roms;
        d.snapshots += i == 3;
        again = dm_case_swarm(device, &d);
        assert_int_equal(dm_swarm_load(again, path, &err), DM_EINVAL);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("%s", err.message);
        dm_swarm_destroy(again);
    }
    dm_swarm_destroy(swarm);
}

DM_TESTS("swarm/states", SWARM_TEST(states_in_and_out), SWARM_TEST(states_in_memory),
         SWARM_TEST(poke_and_read), SWARM_TEST(reads_copy_no_more_than_asked),
         SWARM_TEST(save_and_load), SWARM_TEST(load_takes_only_shades));
