/* SPDX-License-Identifier: MIT */
/* Where episodes start: sets of snapshots, chosen and drawn; random bytes; own actions; many machines in one call. */
#include "base/file.h"
#include "base/philox.h"
#include "swarm/reset.h"
#include "tests/support/random.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <stdlib.h>
#include <string.h>

#define MACHINES 60u
#define LEVELS 4u /* snapshots besides the ROM's start */

static dm_device *device;

static int begin(void **state)
{
    return dm_test_dir_setup(state) == 0 && dm_device_open("cpu:2", &device, NULL) == DM_OK ? 0
                                                                                            : -1;
}

static int end(void **state)
{
    dm_device_close(device);
    return dm_test_dir_teardown(state);
}

static dm_swarm_desc desc_of(const dm_swarm_rom_source *rom)
{
    return (dm_swarm_desc){.roms = rom,
                           .rom_count = 1,
                           .count = MACHINES,
                           .frames_per_step = 3,
                           .release_after_frames = 1,
                           .generator = DM_SWARM_SEEDED_RANDOM,
                           .seed = 7,
                           .step_limit = 5,
                           .autoreset = DM_SWARM_SAME_STEP,
                           .snapshots = LEVELS};
}

/* Machine 0's game every few steps; C100 says which. */
static void take_levels(dm_swarm *swarm)
{
    for (uint32_t i = 1; i <= LEVELS; i++) {
        const uint16_t address = 0xC100;
        const uint8_t name = (uint8_t)i;
        dm_case_step(swarm, 2);
        assert_ok(dm_swarm_snapshot(swarm, 0, i, err));
        assert_ok(dm_swarm_poke_snapshots(swarm, &i, 1, &address, 1, &name, err));
    }
}

static void starts_of(dm_swarm *swarm, uint32_t *out)
{
    assert_ok(dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_STARTS], 0, out,
                                 swarm->desc.count * sizeof *out, err));
    assert_ok(dm_stream_synchronize(swarm->stream, err));
}

/* Each machine has the memory of the snapshot that it says it started from. */
static void check_names(dm_swarm *swarm, const uint32_t *starts)
{
    const uint16_t address = 0xC100;
    uint8_t names[MACHINES];
    assert_ok(dm_swarm_read_many(swarm, NULL, MACHINES, &address, 1, names, err));
    for (uint32_t i = 0; i < MACHINES; i++)
        assert_int_equal(names[i], starts[i]);
}

static uint32_t word_of(uint64_t seed, uint64_t machine, uint64_t draw)
{
    return dm_random4(seed ^ DM_SWARM_SEED_STARTS, machine, draw).v[0];
}

/* Draws are those of the seed, by weight, and the same again after all are reset. */
static void sets_are_drawn_from(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = desc_of(&rom);
    const uint32_t levels[] = {4, 1, 2};
    const float weights[] = {6, 1, 1};
    uint32_t starts[MACHINES], counts[LEVELS + 1] = {0}, first[MACHINES];
    desc.step_limit = 0;
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    take_levels(swarm);
    assert_ok(dm_swarm_set_starts(swarm, levels, weights, 3, err));
    for (uint64_t draw = 0; draw < 40; draw++) {
        uint8_t mask[MACHINES];
        memset(mask, 1, sizeof mask);
        assert_ok(dm_swarm_reset(swarm, draw == 0 ? NULL : mask, NULL, err));
        starts_of(swarm, starts);
        check_names(swarm, starts);
        for (uint32_t i = 0; i < MACHINES; i++) {
            const double place = (double)word_of(7, i, draw) / 4294967296.0 * 8.0;
            assert_int_equal(starts[i], place < 1.0 ? 1 : place < 2.0 ? 2 : 4);
            counts[starts[i]]++;
        }
        if (draw == 0)
            memcpy(first, starts, sizeof first);
    }
    assert_int_equal(counts[3], 0);
    assert_in_range(counts[4], 40 * MACHINES * 7 / 10, 40 * MACHINES * 8 / 10);
    assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
    starts_of(swarm, starts);
    assert_memory_equal(starts, first, sizeof first);
    /* No set: each from where it was. */
    assert_ok(dm_swarm_set_starts(swarm, NULL, NULL, 0, err));
    assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
    starts_of(swarm, starts);
    assert_memory_equal(starts, first, sizeof first);
    dm_swarm_destroy(swarm);
}

/* Both kinds of autoreset draw; what is chosen for a machine is taken, and a snapshot that there is not is a fault. */
static void autoreset_draws(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    const uint32_t levels[] = {1, 2, 3};
    uint32_t starts[MACHINES], before[MACHINES], choices[MACHINES];
    for (int mode = DM_SWARM_NEXT_STEP; mode <= DM_SWARM_SAME_STEP; mode++) {
        dm_swarm_desc desc = desc_of(&rom);
        desc.autoreset = (dm_swarm_autoreset)mode;
        desc.step_limit = 2 * LEVELS + 1;
        dm_swarm *swarm = dm_case_swarm(device, &desc);
        take_levels(swarm);
        assert_ok(dm_swarm_set_starts(swarm, levels, NULL, 3, err));
        assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
        starts_of(swarm, before);
        dm_case_step(swarm, desc.step_limit + (mode == DM_SWARM_NEXT_STEP ? 1u : 0u));
        starts_of(swarm, starts);
        check_names(swarm, starts);
        uint32_t moved = 0;
        for (uint32_t i = 0; i < MACHINES; i++) {
            assert_int_equal(starts[i], 1 + word_of(7, i, 1) / (UINT32_MAX / 3u + 1u));
            moved += starts[i] != before[i] ? 1u : 0u;
        }
        assert_in_range(moved, MACHINES / 3, MACHINES);
        for (uint32_t i = 0; i < MACHINES; i++)
            choices[i] = i % 3 == 0 ? 4 : i % 3 == 1 ? UINT32_MAX : 99;
        assert_ok(dm_stream_upload(swarm->stream, dm_swarm_start_choices(swarm), 0, choices,
                                   sizeof choices, err));
        assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
        starts_of(swarm, starts);
        for (uint32_t i = 0; i < MACHINES; i++)
            assert_int_equal(starts[i], i % 3 == 0 ? 4 : before[i]);
        dm_swarm_faults faults;
        assert_ok(dm_swarm_get_faults(swarm, &faults, err));
        assert_int_equal(faults.resets, MACHINES / 3);
        dm_swarm_destroy(swarm);
    }
}

static void wrong_sets_are_refused(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    const dm_swarm_desc desc = desc_of(&rom);
    const uint32_t empty = 2, beyond = 77, good = 0;
    const float none = 0;
    dm_error err = {0};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    assert_int_equal(dm_swarm_set_starts(swarm, &empty, NULL, 1, &err), DM_EINVAL);
    assert_string_equal(err.message, "swarm: snapshot 2 is empty");
    assert_int_equal(dm_swarm_set_starts(swarm, &beyond, NULL, 1, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_set_starts(swarm, &good, &none, 1, &err), DM_EINVAL);
    dm_swarm_destroy(swarm);
}

/* Random bytes are those of the seed, others at each reset; a saved swarm goes on with the same ones. */
static void random_bytes(void **state)
{
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = desc_of(&rom);
    static const uint16_t addresses[] = {0xC009, 0xC00A, 0xFF90};
    uint8_t bytes[MACHINES * 3];
    char path[DM_PATH_MAX];
    desc.random_bytes = addresses;
    desc.random_count = 3;
    desc.frames_per_step = desc.release_after_frames = 1;
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    for (uint64_t draw = 0; draw < 3; draw++) {
        uint8_t mask[MACHINES];
        memset(mask, 1, sizeof mask);
        if (draw != 0)
            assert_ok(dm_swarm_reset(swarm, mask, NULL, err));
        assert_ok(dm_swarm_read_many(swarm, NULL, MACHINES, addresses, 3, bytes, err));
        for (uint32_t i = 0; i < MACHINES * 3; i++) {
            const uint64_t index = draw * DM_SWARM_RANDOM_BYTES + i % 3;
            const uint32_t word = dm_random4(7 ^ DM_SWARM_SEED_BYTES, i / 3, index).v[0];
            assert_int_equal(bytes[i], 1 + dm_random_below(word, 255));
        }
    }
    assert_ok(dm_path_join(path, dm_test_dir(state), "swarm", err));
    assert_ok(dm_swarm_save(swarm, path, err));
    dm_swarm *again = dm_case_swarm(device, &desc);
    assert_ok(dm_swarm_load(again, path, err));
    dm_case_step(swarm, 12);
    dm_case_step(again, 12);
    assert_true(dm_case_fingerprint(swarm) == dm_case_fingerprint(again));
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(again);
}

/* One snapshot is one game; with the game's random generator set at random it is many. */
static void games_are_counted(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = desc_of(&rom);
    static const uint16_t seeds[] = {0xC009, 0xC00A};
    const uint32_t played = 1;
    size_t different = 0;
    dm_error err = {0};
    desc.frames_per_step = 24;
    desc.release_after_frames = 8;
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    assert_int_equal(dm_swarm_count_starts(swarm, 2, &different, &err), DM_EINVAL);
    dm_swarm_destroy(swarm);
    desc.observations = DM_SWARM_OBS_PACKED;
    for (int random = 0; random < 2; random++) {
        desc.random_bytes = random != 0 ? seeds : NULL;
        desc.random_count = random != 0 ? 2 : 0;
        swarm = dm_case_swarm(device, &desc);
        uint8_t start[MACHINES];
        memset(start, 3, sizeof start); /* START leaves the title */
        for (int i = 0; i < 4; i++) {
            assert_ok(dm_swarm_step_host(swarm, start, MACHINES, err));
            dm_case_step(swarm, 0);
        }
        assert_ok(dm_swarm_snapshot(swarm, 0, 1, err));
        assert_ok(dm_swarm_set_starts(swarm, &played, NULL, 1, err));
        assert_ok(dm_swarm_count_starts(swarm, 30, &different, err));
        if (random == 0)
            assert_int_equal(different, 1);
        else
            assert_in_range(different, MACHINES / 2, MACHINES);
        dm_swarm_destroy(swarm);
    }
}

/* A list of key masks is what actions press, given and made up. */
static void own_actions(void **state)
{
    (void)state;
    static const uint8_t keys[] = {0, DM_GB_KEY_A | DM_GB_KEY_RIGHT, DM_GB_KEY_START};
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = desc_of(&rom), raw = desc;
    uint8_t actions[MACHINES], masks[MACHINES];
    dm_error err = {0};
    desc.action_keys = keys;
    desc.action_key_count = 3;
    raw.codec = DM_SWARM_RAW_KEYS;
    desc.step_limit = raw.step_limit = 0;
    dm_swarm *own = dm_case_swarm(device, &desc), *plain = dm_case_swarm(device, &raw);
    for (uint64_t step = 0; step < 20; step++) {
        for (uint32_t i = 0; i < MACHINES; i++) {
            actions[i] = (uint8_t)((i + step) % 3);
            if (step % 2 != 0)
                actions[i] = (uint8_t)dm_random_below(dm_random4(7, i, step).v[0], 3);
            masks[i] = keys[actions[i]];
        }
        if (step % 2 != 0)
            dm_case_step(own, 1);
        else
            assert_ok(dm_swarm_step_host(own, actions, MACHINES, err));
        assert_ok(dm_swarm_step_host(plain, masks, MACHINES, err));
    }
    assert_true(dm_case_fingerprint(own) == dm_case_fingerprint(plain));
    actions[3] = 3;
    assert_int_equal(dm_swarm_step_host(own, actions, MACHINES, &err), DM_EINVAL);
    assert_string_equal(err.message,
                        "swarm: action 3 of machine 3; the list of key masks has 0 to 2");
    dm_swarm_destroy(own);
    dm_swarm_destroy(plain);
    desc.action_key_count = 257;
    assert_int_equal(dm_swarm_create(device, &desc, &own, &err), DM_EINVAL);
}

/* Many machines in one call are as one by one, of several cartridges with banks and RAM. */
static void bulk_is_as_one_by_one(void **state)
{
    (void)state;
    const dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_RAM"),
                                        dm_case_rom("MBC3_RAM")};
    dm_swarm_desc desc = desc_of(roms);
    dm_test_random random = dm_test_random_make(3, 3);
    enum { SOME = 20, ADDRESSES = 200 };
    uint16_t addresses[ADDRESSES];
    uint32_t machines[SOME];
    static uint8_t bytes[SOME * ADDRESSES], values[SOME * ADDRESSES];
    dm_error err = {0};
    desc.rom_count = 3;
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    for (int round = 0; round < 3; round++) {
        dm_case_step(swarm, 7);
        for (uint32_t i = 0; i < ADDRESSES; i++)
            do
                addresses[i] = (uint16_t)dm_test_random_below(&random, 0x10000);
            while ((round != 0 && addresses[i] < 0x8000) || addresses[i] >= 0xFE90);
        for (uint32_t i = 0; i < SOME; i++)
            machines[i] = dm_test_random_below(&random, MACHINES);
        if (round != 0) {
            for (uint32_t i = 0; i < SOME * ADDRESSES; i++)
                values[i] = dm_test_random_byte(&random);
            assert_ok(dm_swarm_poke_many(swarm, machines, SOME, addresses, ADDRESSES, values, err));
        }
        assert_ok(dm_swarm_read_many(swarm, machines, SOME, addresses, ADDRESSES, bytes, err));
        for (uint32_t i = 0; i < SOME * ADDRESSES; i++) {
            uint8_t one;
            assert_ok(dm_swarm_read(swarm, machines[i / ADDRESSES], addresses[i % ADDRESSES], &one,
                                    1, err));
            if (bytes[i] != one)
                fail_msg("machine %u, %04X: %02X, and %02X alone", machines[i / ADDRESSES],
                         addresses[i % ADDRESSES], bytes[i], one);
        }
    }
    addresses[5] = 0xFF44;
    assert_int_equal(dm_swarm_read_many(swarm, machines, SOME, addresses, ADDRESSES, bytes, &err),
                     DM_EINVAL);
    addresses[5] = 0x1234;
    assert_int_equal(dm_swarm_poke_many(swarm, machines, SOME, addresses, ADDRESSES, values, &err),
                     DM_EINVAL);
    dm_swarm_destroy(swarm);
}

#define T(function) cmocka_unit_test_setup_teardown(function, begin, end)
DM_TESTS("swarm/starts", T(sets_are_drawn_from), T(autoreset_draws), T(wrong_sets_are_refused),
         T(random_bytes), T(games_are_counted), T(own_actions), T(bulk_is_as_one_by_one))
