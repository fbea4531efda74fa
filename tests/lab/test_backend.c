/* SPDX-License-Identifier: MIT */
/* Backends as the harness sees them. What needs a reference that is not installed is skipped. */
#include "base/file.h"
#include "lab/actions.h"
#include "lab/backend.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE ((size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H)

static uint8_t *rom;
static size_t rom_size;

static int load(const char *name)
{
    char path[DM_PATH_MAX], *bytes;
    free(rom);
    snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, name);
    assert_ok(dm_file_read(path, 0, &bytes, &rom_size, err));
    rom = (uint8_t *)bytes;
    return 0;
}

static void create(const dm_lab_kind *kind, const dm_lab_desc *desc, dm_lab_backend *out)
{
    char version[64];
    dm_error why;
    if (kind->version(kind, version, sizeof version, &why) != DM_OK)
        dm_test_skip("%s: %s", kind->name, why.message);
    assert_ok(dm_lab_backend_create(kind, desc, out, err));
}

/* As fast as it goes, and still the picture of the step's last frame. */
static void draws_when_fast(const dm_lab_kind *kind)
{
    load("BG_STATIC");
    dm_lab_desc desc = {.rom = rom,
                        .rom_size = rom_size,
                        .count = 1,
                        .frames_per_step = 24,
                        .release_after_frames = 8,
                        .start = DM_LAB_START_GAME,
                        .draw = true};
    dm_lab_backend theirs, ours;
    static uint8_t a[PICTURE], b[PICTURE];
    uint8_t keys = 0;
    create(kind, &desc, &theirs);
    create(&dm_lab_single, &desc, &ours);
    for (int i = 0; i < 3; i++) {
        assert_ok(dm_lab_backend_step(&theirs, &keys, err));
        assert_ok(dm_lab_backend_step(&ours, &keys, err));
    }
    assert_ok(theirs.kind->picture(theirs.self, 0, a, err));
    assert_ok(ours.kind->picture(ours.self, 0, b, err));
    assert_memory_equal(a, b, sizeof a);
    assert_non_null(memchr(a, 3, sizeof a)); /* it is not blank */
    dm_lab_backend_destroy(&theirs);
    dm_lab_backend_destroy(&ours);
}

static void mgba_draws_when_fast(void **state)
{
    (void)state;
    draws_when_fast(&dm_lab_mgba_single);
}

static void pyboy_draws_when_fast(void **state)
{
    (void)state;
    draws_when_fast(&dm_lab_pyboy_single);
}

/* Keys that a reference is given are those that a swarm makes up for itself. */
static void keys_are_the_same_for_all(void **state)
{
    (void)state;
    load("JOY_DIVERGE_PERSIST");
    enum { MACHINES = 9 };
    for (int g = 0; g < DM_SWARM_GENERATORS; g++) {
        dm_lab_actions actions = {.generator = (dm_swarm_generator)g, .seed = 77};
        dm_lab_desc desc = {.rom = rom,
                            .rom_size = rom_size,
                            .count = MACHINES,
                            .frames_per_step = 3,
                            .release_after_frames = 2,
                            .generator = (dm_swarm_generator)g,
                            .seed = 77};
        dm_lab_backend made, given;
        create(&dm_lab_vec_cpu, &desc, &made);
        desc.generator = DM_SWARM_NOOP;
        create(&dm_lab_vec_cpu, &desc, &given);
        for (uint64_t step = 0; step < 20; step++) {
            uint8_t keys[MACHINES];
            dm_lab_actions_keys(&actions, 0, MACHINES, step, keys);
            assert_ok(dm_lab_backend_step(&made, NULL, err));
            assert_ok(dm_lab_backend_step(&given, keys, err));
        }
        for (uint64_t i = 0; i < MACHINES; i++) {
            uint8_t a[64], b[64];
            assert_ok(made.kind->read(made.self, i, 0xC000, a, sizeof a, err));
            assert_ok(given.kind->read(given.self, i, 0xC000, b, sizeof b, err));
            assert_memory_equal(a, b, sizeof a);
        }
        dm_lab_backend_destroy(&made);
        dm_lab_backend_destroy(&given);
    }
}

/* A fork goes on where its machine is, and leaves that alone. */
static void forks_go_on(const dm_lab_kind *kind)
{
    load("MEM_RWB");
    dm_lab_desc desc = {.rom = rom,
                        .rom_size = rom_size,
                        .count = 1,
                        .frames_per_step = 1,
                        .release_after_frames = 1,
                        .exact = true};
    dm_lab_backend backend, fork;
    dm_lab_view before, after, forked;
    uint8_t keys = 0;
    create(kind, &desc, &backend);
    for (int i = 0; i < 5; i++)
        assert_ok(dm_lab_backend_step(&backend, &keys, err));
    assert_ok(backend.kind->look(backend.self, 0, &before, err));
    assert_ok(kind->fork(backend.self, 0, &desc, &fork, err));
    assert_ok(fork.kind->look(fork.self, 0, &forked, err));
    assert_int_equal(forked.cycles, before.cycles);
    assert_int_equal(forked.registers.pc, before.registers.pc);
    while (forked.cycles < 6 * (uint64_t)DM_GB_FRAME_CYCLES) {
        fork.kind->step_instruction(fork.self);
        assert_ok(fork.kind->look(fork.self, 0, &forked, err));
    }
    assert_ok(backend.kind->look(backend.self, 0, &after, err));
    assert_int_equal(after.cycles, before.cycles);
    assert_ok(dm_lab_backend_step(&backend, &keys, err));
    assert_ok(backend.kind->look(backend.self, 0, &after, err));
    assert_int_equal(after.cycles, forked.cycles);
    assert_memory_equal(&after.registers, &forked.registers, 8); /* A to L */
    assert_int_equal(after.registers.pc, forked.registers.pc);
    dm_lab_backend_destroy(&fork);
    dm_lab_backend_destroy(&backend);
}

static void forks_of_ours_go_on(void **state)
{
    (void)state;
    forks_go_on(&dm_lab_single);
    forks_go_on(&dm_lab_vec_cpu);
}

static void forks_of_mgba_go_on(void **state)
{
    (void)state;
    forks_go_on(&dm_lab_mgba_single);
}

static void impossible_backends_are_refused(void **state)
{
    (void)state;
    load("ALU_LOOP");
    dm_lab_backend out;
    dm_error err;
    dm_lab_desc desc = {.rom = rom, .rom_size = rom_size, .count = 2, .frames_per_step = 1};
    assert_int_equal(dm_lab_backend_create(&dm_lab_single, &desc, &out, &err), DM_EINVAL);
    desc.count = 0;
    assert_int_equal(dm_lab_backend_create(&dm_lab_vec_cpu, &desc, &out, &err), DM_EINVAL);
    desc.count = 1;
    desc.release_after_frames = 2;
    assert_int_equal(dm_lab_backend_create(&dm_lab_single, &desc, &out, &err), DM_EINVAL);
    desc.release_after_frames = 1;
    desc.rom_size = 100;
    assert_int_not_equal(dm_lab_backend_create(&dm_lab_single, &desc, &out, &err), DM_OK);
    assert_int_not_equal(dm_lab_backend_create(&dm_lab_vec_cpu, &desc, &out, &err), DM_OK);
}

DM_TESTS("lab/backend", DM_TEST(mgba_draws_when_fast), DM_TEST(pyboy_draws_when_fast),
         DM_TEST(keys_are_the_same_for_all), DM_TEST(forks_of_ours_go_on),
         DM_TEST(forks_of_mgba_go_on), DM_TEST(impossible_backends_are_refused));
