/* SPDX-License-Identifier: MIT */
/* A program's memory is part of snapshots, resets, saves and states, bit for bit; another layout is refused. */
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <dotmatrix/program.h>

#include <stdlib.h>
#include <string.h>

#define MACHINES 6

/* Memory that grows with each step, and that the first look at a machine leaves as it is. */
static const char growing[] = "import dotmatrix as dm\n"
                              "@dm.memory\n"
                              "class Memory:\n"
                              "    steps: int\n"
                              "    odd: bool\n"
                              "    seen: dm.Bitmap(1000)\n"
                              "    sum: dm.float64\n"
                              "@dm.program\n"
                              "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
                              "    if m.step > 0:\n"
                              "        mem.steps += 1\n"
                              "        mem.odd = not mem.odd\n"
                              "        dm.visit(mem.seen, (m.pc + m.number) % 1000)\n"
                              "        mem.sum += dm.float64(0.1) * dm.float64(m.number + 1)\n"
                              "    out.reward = float(mem.steps)\n"
                              "    out.metric(\"steps\", float(mem.steps))\n";

static const char other[] = "import dotmatrix as dm\n"
                            "@dm.memory\n"
                            "class Memory:\n"
                            "    steps: float\n"
                            "@dm.program\n"
                            "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
                            "    mem.steps += 1.0\n";

typedef struct fixture {
    dm_device *device;
    dm_program *program;
    dm_swarm *swarm;
    size_t size; /* of a machine's memory, as it lies */
} fixture;

static void start(fixture *f, const char *text)
{
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    memset(f, 0, sizeof *f);
    assert_ok(dm_device_open("cpu", &f->device, err));
    assert_ok(dm_program_create("reward.py", text, strlen(text), NULL, &f->program, err));
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = MACHINES,
                                .frames_per_step = 4,
                                .generator = DM_SWARM_STRIPED,
                                .snapshots = 2,
                                .program = f->program};
    f->swarm = dm_case_swarm(f->device, &desc);
    f->size = f->swarm->args.program_stride;
}

static void end(fixture *f)
{
    dm_swarm_destroy(f->swarm);
    dm_program_destroy(f->program);
    dm_device_close(f->device);
}

static uint8_t *memory_of(const fixture *f, uint32_t machine)
{
    return f->swarm->args.program_memory + machine * f->size;
}

static void reset_zeroes_and_a_snapshot_brings_back(void **state)
{
    (void)state;
    fixture f;
    start(&f, growing);
    uint8_t *zero = calloc(1, f.size), *kept = malloc(f.size);
    assert_memory_equal(memory_of(&f, 2), zero, f.size);
    dm_case_step(f.swarm, 5);
    memcpy(kept, memory_of(&f, 2), f.size);
    assert_memory_not_equal(kept, zero, f.size);
    assert_ok(dm_swarm_snapshot(f.swarm, 2, 1, err));
    dm_case_step(f.swarm, 3);
    const uint32_t machines[2] = {4, 5}, snapshots[2] = {1, 0};
    assert_ok(dm_swarm_reset_host(f.swarm, machines, snapshots, 2, err));
    assert_memory_equal(memory_of(&f, 4), kept, f.size);
    assert_memory_equal(memory_of(&f, 5), zero, f.size);
    float rewards[MACHINES];
    dm_case_step(f.swarm, 1);
    assert_ok(dm_swarm_download(f.swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    assert_true(rewards[0] == 9.0f && rewards[4] == 6.0f && rewards[5] == 1.0f);
    free(zero);
    free(kept);
    end(&f);
}

static void a_saved_swarm_goes_on_with_the_same_bits(void **state)
{
    fixture a, b;
    const char *path = dm_test_path(state, "swarm");
    start(&a, growing);
    start(&b, growing);
    dm_case_step(a.swarm, 7);
    assert_ok(dm_swarm_save(a.swarm, path, err));
    assert_ok(dm_swarm_load(b.swarm, path, err));
    dm_case_step(a.swarm, 3);
    dm_case_step(b.swarm, 3);
    assert_memory_equal(memory_of(&a, 0), memory_of(&b, 0), a.size * MACHINES);
    dm_swarm_metric_sums x, y;
    assert_ok(dm_swarm_get_metrics(a.swarm, &x, 1, false, err));
    assert_ok(dm_swarm_get_metrics(b.swarm, &y, 1, false, err));
    assert_true(x.step == 10.0 && y.step == 10.0);
    end(&a);
    end(&b);
}

static void states_of_machines_carry_it(void **state)
{
    fixture f;
    const char *path = dm_test_path(state, "one.state");
    start(&f, growing);
    dm_case_step(f.swarm, 4);
    const uint32_t from = 1, to = 3;
    const size_t size = dm_swarm_state_bytes(f.swarm);
    uint8_t *bytes = malloc(size), *kept = malloc(f.size);
    memcpy(kept, memory_of(&f, 1), f.size);
    assert_ok(dm_swarm_save_states(f.swarm, &from, 1, bytes, size, err));
    assert_ok(dm_swarm_save_machine(f.swarm, 1, path, err));
    dm_case_step(f.swarm, 2);
    assert_ok(dm_swarm_load_states(f.swarm, &to, 1, bytes, size, err));
    assert_memory_equal(memory_of(&f, 3), kept, f.size);
    /* The file as a start, and for a machine that knows nothing of programs. */
    const uint32_t snapshot = 2;
    assert_ok(dm_swarm_snapshot_load(f.swarm, 0, path, snapshot, err));
    assert_ok(dm_swarm_reset_host(f.swarm, &from, &snapshot, 1, err));
    assert_memory_equal(memory_of(&f, 1), kept, f.size);
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create(rom.bytes, rom.size, NULL, &gb, err));
    assert_ok(dm_gb_load_state(gb, path, err));
    /* A state without memory leaves zeros. */
    memset(bytes, 0, size);
    assert_ok(dm_gb_save_state_bytes(gb, bytes, dm_gb_state_bytes(gb), err));
    assert_ok(dm_swarm_load_states(f.swarm, &to, 1, bytes, size, err));
    memset(kept, 0, f.size);
    assert_memory_equal(memory_of(&f, 3), kept, f.size);
    dm_gb_destroy(gb);
    free(bytes);
    free(kept);
    end(&f);
}

/* A machine of the user's own keeps it in its file, too; swarms and machines read each other's files. */
static void a_machine_alone_saves_it(void **state)
{
    fixture f;
    const char *path = dm_test_path(state, "one.state");
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_gb *gb = NULL;
    dm_program_single *single = NULL, *second = NULL;
    dm_program_outcome outcome;
    bool found;
    start(&f, growing);
    const size_t size = dm_program_get_info(f.program).memory_bytes;
    assert_ok(dm_gb_create(rom.bytes, rom.size, NULL, &gb, err));
    assert_ok(dm_program_single_create(f.program, gb, 0, 0, &single, err));
    for (int i = 0; i < 3; i++) {
        dm_gb_run_frames(gb, 4, DM_GB_DRAW_NEVER);
        assert_ok(dm_program_single_step(single, 0, &outcome, err));
    }
    assert_ok(dm_program_single_save_state(single, path, err));
    assert_ok(dm_gb_load_state(gb, path, err));
    assert_ok(dm_program_single_create(f.program, gb, 0, 0, &second, err));
    assert_ok(dm_program_single_load_memory(second, path, &found, err));
    assert_true(found);
    assert_memory_equal(dm_program_single_memory(second), dm_program_single_memory(single), size);
    assert_ok(dm_program_single_step(second, 0, &outcome, err));
    assert_true(outcome.reward == 4.0f);
    const uint32_t machine = 1, snapshot = 2;
    assert_ok(dm_swarm_snapshot_load(f.swarm, 0, path, snapshot, err));
    assert_ok(dm_swarm_reset_host(f.swarm, &machine, &snapshot, 1, err));
    assert_memory_equal(memory_of(&f, 1), dm_program_single_memory(single), size);
    /* A state without memory says so. */
    assert_ok(dm_gb_save_state(gb, path, err));
    assert_ok(dm_program_single_load_memory(second, path, &found, err));
    assert_false(found);
    dm_program_single_destroy(single);
    dm_program_single_destroy(second);
    dm_gb_destroy(gb);
    end(&f);
}

/* More machines than are put back together; one is named twice: its last state counts. */
static void states_of_many_come_back(void **state)
{
    (void)state;
    enum { COUNT = 1300, CHOSEN = COUNT / 2 + 500 };
    const dm_swarm_rom_source roms[2] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_RAM")};
    fixture f = {0};
    static uint32_t machines[CHOSEN + 1];
    assert_ok(dm_device_open("cpu", &f.device, err));
    assert_ok(dm_program_create("reward.py", growing, sizeof growing - 1, NULL, &f.program, err));
    const dm_swarm_desc desc = {.roms = roms,
                                .rom_count = 2,
                                .count = COUNT,
                                .frames_per_step = 1,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .observations = DM_SWARM_OBS_PACKED,
                                .program = f.program};
    f.swarm = dm_case_swarm(f.device, &desc);
    f.size = f.swarm->args.program_stride;
    dm_case_step(f.swarm, 2);
    const size_t each = dm_swarm_state_bytes(f.swarm);
    uint8_t *bytes = malloc((CHOSEN + 1) * each), *kept = malloc(COUNT * f.size),
            *picture = malloc(DM_GB_PICTURE_SIZE), *again = malloc(CHOSEN * each);
    for (uint32_t i = 0; i < CHOSEN; i++)
        machines[i] = i * 7 % COUNT; /* 7 and COUNT have no factor in common */
    assert_ok(dm_swarm_save_states(f.swarm, machines, CHOSEN, bytes, CHOSEN * each, err));
    memcpy(kept, memory_of(&f, 0), COUNT * f.size);
    dm_case_step(f.swarm, 3);
    const uint32_t before = (machines[CHOSEN - 1] + 7) % COUNT; /* the first one not chosen */
    const uint64_t untouched = dm_case_machine_hash(f.swarm, before);
    /* The second of these is named first with another's state, which must not count. */
    machines[CHOSEN] = machines[2];
    memcpy(bytes + CHOSEN * each, bytes + 2 * each, each);
    memcpy(bytes + 2 * each, bytes + 4 * each, each);
    assert_ok(dm_swarm_load_states(f.swarm, machines, CHOSEN + 1, bytes, (CHOSEN + 1) * each, err));
    memcpy(bytes + 2 * each, bytes + CHOSEN * each, each);
    assert_ok(dm_swarm_save_states(f.swarm, machines, CHOSEN, again, CHOSEN * each, err));
    assert_memory_equal(again, bytes, CHOSEN * each);
    for (uint32_t i = 0; i < CHOSEN; i++)
        assert_memory_equal(memory_of(&f, machines[i]), kept + machines[i] * f.size, f.size);
    assert_true(dm_case_machine_hash(f.swarm, before) == untouched);
    /* Pictures are not part of a state. */
    assert_ok(dm_swarm_get_picture(f.swarm, machines[3], picture, err));
    for (size_t i = 0; i < DM_GB_PICTURE_SIZE; i++)
        assert_int_equal(picture[i], 0);
    free(bytes);
    free(kept);
    free(again);
    free(picture);
    end(&f);
}

static void a_damaged_memory_is_refused(void **state)
{
    fixture f;
    const char *path = dm_test_path(state, "one.state");
    const uint32_t machine = 2;
    dm_error why = {0};
    char *file = NULL;
    size_t file_size = 0;
    start(&f, growing);
    dm_case_step(f.swarm, 4);
    const size_t size = dm_swarm_state_bytes(f.swarm);
    const size_t block = size - dm_program_block_size(f.program);
    uint8_t *bytes = malloc(size);
    assert_ok(dm_swarm_save_machine(f.swarm, 2, path, err));
    assert_ok(dm_file_read(path, 0, &file, &file_size, err));
    const size_t file_block = file_size - dm_program_block_size(f.program);
    assert_ok(dm_swarm_save_states(f.swarm, &machine, 1, bytes, size, err));
    const uint64_t hash = dm_case_machine_hash(f.swarm, 2);
    for (size_t at = 0; at < size - block; at += at < 40 ? 1 : 29) {
        bytes[block + at] ^= 0x10;
        file[file_block + at] ^= 0x10;
        assert_ok(dm_file_write(path, file, file_size, err));
        assert_int_not_equal(dm_swarm_load_states(f.swarm, &machine, 1, bytes, size, &why), DM_OK);
        assert_int_not_equal(dm_swarm_snapshot_load(f.swarm, 0, path, 1, &why), DM_OK);
        bytes[block + at] ^= 0x10;
        file[file_block + at] ^= 0x10;
    }
    assert_ok(dm_file_write(path, file, file_size - 1, err));
    assert_int_not_equal(dm_swarm_snapshot_load(f.swarm, 0, path, 1, &why), DM_OK);
    assert_true(dm_case_machine_hash(f.swarm, 2) == hash);
    assert_ok(dm_swarm_load_states(f.swarm, &machine, 1, bytes, size, err));
    free(bytes);
    free(file);
    end(&f);
}

static void another_layout_is_refused(void **state)
{
    fixture a, b;
    dm_error why = {0};
    start(&a, growing);
    start(&b, other);
    const char *whole = dm_test_path(state, "swarm"), *one = dm_test_path(state, "one.state");
    assert_ok(dm_swarm_save(a.swarm, whole, err));
    assert_ok(dm_swarm_save_machine(a.swarm, 0, one, err));
    assert_int_equal(dm_swarm_load(b.swarm, whole, &why), DM_EINVAL);
    assert_non_null(strstr(why.message, "another reward program"));
    assert_int_equal(dm_swarm_snapshot_load(b.swarm, 0, one, 1, &why), DM_EINVAL);
    assert_non_null(strstr(why.message, "other fields"));
    end(&a);
    end(&b);
}

static void another_program_begins_with_zeros(void **state)
{
    (void)state;
    fixture f;
    start(&f, growing);
    dm_case_step(f.swarm, 3);
    dm_program *program = NULL;
    float count;
    assert_ok(dm_program_create("reward.py", other, sizeof other - 1, NULL, &program, err));
    assert_ok(dm_swarm_set_program(f.swarm, program, err));
    dm_program_destroy(program);
    dm_case_step(f.swarm, 2);
    memcpy(&count, f.swarm->args.program_memory, sizeof count);
    assert_true(count == 3.0f); /* the first look and two steps */
    end(&f);
}

/* With a set of starts, out.start says where the next episode begins. */
static void a_program_chooses_the_next_start(void **state)
{
    (void)state;
    static const char text[] = "import dotmatrix as dm\n"
                               "@dm.program\n"
                               "def step(m: dm.Machine, out: dm.Out):\n"
                               "    out.terminated = m.frames >= 60\n"
                               "    out.start = m.number % 2 + 1\n"
                               "    out.reward = float(m.frames)\n";
    fixture f;
    float rewards[MACHINES], after[3];
    const uint32_t snapshots[3] = {0, 1, 2};
    start(&f, text);
    for (uint32_t i = 1; i <= 2; i++) {
        dm_case_step(f.swarm, 5);
        assert_ok(dm_swarm_snapshot(f.swarm, 0, i, err));
        assert_ok(dm_swarm_download(f.swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
        after[i] = rewards[0] + 4.0f;
    }
    assert_ok(dm_swarm_set_starts(f.swarm, snapshots, NULL, 3, err));
    do {
        dm_case_step(f.swarm, 1);
        assert_ok(dm_swarm_download(f.swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    } while (rewards[0] < 60.0f);
    dm_case_step(f.swarm, 2); /* the reset, and a step */
    assert_ok(dm_swarm_download(f.swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    for (uint32_t i = 0; i < MACHINES; i++)
        assert_true(rewards[i] == after[i % 2 + 1]);
    end(&f);
}

DM_TESTS("program/memory", DM_TEST(a_program_chooses_the_next_start),
         DM_TEST(reset_zeroes_and_a_snapshot_brings_back),
         DM_TEST_IN_DIR(a_saved_swarm_goes_on_with_the_same_bits),
         DM_TEST_IN_DIR(states_of_machines_carry_it), DM_TEST_IN_DIR(a_machine_alone_saves_it),
         DM_TEST(states_of_many_come_back), DM_TEST_IN_DIR(a_damaged_memory_is_refused),
         DM_TEST_IN_DIR(another_layout_is_refused), DM_TEST(another_program_begins_with_zeros));
