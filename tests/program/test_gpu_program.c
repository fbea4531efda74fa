/* SPDX-License-Identifier: MIT */
/* Reward programs on a GPU: all that a swarm gives and keeps is as on the CPU, bit for bit. */
#include "tests/device/gpu.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <dotmatrix/program.h>

#include <stdlib.h>
#include <string.h>

/* Everything that a program may use, on a game that moves. */
static const char text[] =
    "import dotmatrix as dm\n"
    "@dm.memory\n"
    "class Memory:\n"
    "    score: int\n"
    "    sum: float\n"
    "    seen: dm.Bitmap(4096)\n"
    "    screens: dm.HashSet(256)\n"
    "    last: dm.Array(8, float)\n"
    "    at: dm.vec2\n"
    "@dm.func\n"
    "def gain(m: dm.Machine, mem: Memory):\n"
    "    return float(dm.u16(m, 0xC001) - mem.score)\n"
    "@dm.program(hooks=[\"0150\", \"01B5\"])\n"
    "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
    "    out.reward = gain(m, mem) + 0.1 * float(dm.visit(mem.seen, m.pc & 4095))\n"
    "    if dm.visit(mem.screens, dm.screen_hash(m)):\n"
    "        out.reward += 1.0 / 3.0\n"
    "    mem.score = dm.u16(m, 0xC001)\n"
    "    mem.last[m.step % 8] = dm.random(m) * float(m.action + 1)\n"
    "    for i in range(8):\n"
    "        mem.sum = mem.sum * 0.9 + mem.last[i]\n"
    "    mem.at.x = mem.at.x + wp.sqrt(float(m.frames)) if m.step > 3 else 0.5\n"
    "    if dm.hit(m, \"01B5\"):\n"
    "        dm.poke(m, 0xC050, m.step)\n"
    "    rng = dm.rng(m, 1)\n"
    "    out.terminated = dm.randi(rng, 0, 40) == 0\n"
    "    out.truncated = (m.clock // dm.int64(m.a + 1)) % dm.int64(50) == dm.int64(7)\n"
    "    out.obs[0] = mem.sum\n"
    "    out.obs[1] = float(dm.bcd(m, 0xC00F, 2)) + float(dm.u8(m, 0x0150 + m.step)) + dm.unit(m, "
    "0xA000)\n"
    "    dm.one_hot(out, 2, 4, m.action & 3)\n"
    "    dm.observe(out, 6, m, 0xC000, 8)\n"
    "    out.metric(\"sum\", mem.sum)\n"
    "    out.metric(\"hits\", float(int(m.hooks)))\n";

static dm_program *load(void)
{
    dm_program *program = NULL;
    dm_error why = {0};
    char *with = malloc(sizeof text + 32);
    strcpy(with, "import warp as wp\n");
    strcat(with, text);
    if (dm_program_create("reward.py", with, strlen(with), NULL, &program, &why) != DM_OK)
        fail_msg("%s\n%s", why.message, dm_program_messages(program));
    free(with);
    return program;
}

static void same_bytes(dm_swarm *a, dm_swarm *b, const dm_device_buffer *x,
                       const dm_device_buffer *y, const char *what)
{
    const size_t size = dm_device_buffer_size(x);
    uint8_t *p = malloc(size), *q = malloc(size);
    assert_int_equal(size, dm_device_buffer_size(y));
    assert_ok(dm_stream_download(a->stream, x, 0, p, size, err));
    assert_ok(dm_stream_download(b->stream, y, 0, q, size, err));
    assert_ok(dm_stream_synchronize(a->stream, err));
    assert_ok(dm_stream_synchronize(b->stream, err));
    for (size_t i = 0; i < size; i++)
        if (p[i] != q[i])
            fail_msg("%s differs at byte %zu of %zu a machine", what, i % (size / a->desc.count),
                     size / a->desc.count);
    free(p);
    free(q);
}

static void compare(uint64_t machines, dm_swarm_autoreset autoreset, uint32_t steps)
{
    dm_device *cpu = NULL;
    assert_ok(dm_device_open("cpu", &cpu, err));
    const dm_swarm_rom_source roms[2] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_RAM")};
    dm_program *program = load();
    const dm_swarm_desc desc = {.roms = roms,
                                .rom_count = 2,
                                .count = machines,
                                .frames_per_step = 12,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .seed = 3,
                                .autoreset = autoreset,
                                .observations = DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PACKED,
                                .finals = autoreset == DM_SWARM_SAME_STEP,
                                .episodes = true,
                                .program = program};
    dm_swarm *here = dm_case_swarm(cpu, &desc), *there = dm_case_swarm(dm_test_gpu_device, &desc);
    for (uint32_t step = 0; step < steps; step++) {
        dm_case_step(here, 1);
        dm_case_step(there, 1);
        for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++)
            if (here->bound[kind] != NULL)
                same_bytes(here, there, here->bound[kind], there->bound[kind], "an output");
        same_bytes(here, there, here->arrays[DM_SWARM_A_PROGRAM_MEMORY],
                   there->arrays[DM_SWARM_A_PROGRAM_MEMORY], "the memory");
        same_bytes(here, there, here->arrays[DM_SWARM_A_METRICS], there->arrays[DM_SWARM_A_METRICS],
                   "the metrics");
    }
    for (uint32_t i = 0; i < machines; i += 17)
        assert_true(dm_case_machine_hash(here, i) == dm_case_machine_hash(there, i));
    dm_swarm_destroy(here);
    dm_swarm_destroy(there);
    dm_program_destroy(program);
    dm_device_close(cpu);
}

static void next_step_is_as_on_the_cpu(void **state)
{
    (void)state;
    dm_test_gpu();
    compare(256, DM_SWARM_NEXT_STEP, 40);
}

static void same_step_is_as_on_the_cpu(void **state)
{
    (void)state;
    dm_test_gpu();
    compare(256, DM_SWARM_SAME_STEP, 40);
}

/* So many that warps are shared. */
static void many_are_as_on_the_cpu(void **state)
{
    (void)state;
    dm_test_gpu();
    compare(9000, DM_SWARM_NEXT_STEP, 5);
}

static void a_captured_step_judges(void **state)
{
    (void)state;
    dm_test_gpu();
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_program *program = load();
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = 64,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .autoreset = DM_SWARM_SAME_STEP,
                                .observations = DM_SWARM_OBS_VECTOR,
                                .program = program};
    dm_swarm *plain = dm_case_swarm(dm_test_gpu_device, &desc),
             *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_case_graph graph = dm_case_step_captured(dm_test_gpu_device, swarm, 2, 10);
    dm_case_step(plain, 20);
    for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++)
        if (plain->bound[kind] != NULL)
            same_bytes(plain, swarm, plain->bound[kind], swarm->bound[kind], "an output");
    same_bytes(plain, swarm, plain->arrays[DM_SWARM_A_PROGRAM_MEMORY],
               swarm->arrays[DM_SWARM_A_PROGRAM_MEMORY], "the memory");
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(plain);
    dm_case_graph_destroy(&graph);
    dm_program_destroy(program);
}

/* Snapshots, states and files made on one device are the other's. */
static void memory_moves_between_devices(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_device *cpu = NULL;
    assert_ok(dm_device_open("cpu", &cpu, err));
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_program *program = load();
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = 8,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .snapshots = 1,
                                .program = program};
    dm_swarm *here = dm_case_swarm(cpu, &desc), *there = dm_case_swarm(dm_test_gpu_device, &desc);
    const uint32_t machines[3] = {1, 4, 6}, snapshots[3] = {1, 1, 0};
    dm_swarm *both[2] = {here, there};
    dm_case_step(there, 9);
    const size_t size = dm_swarm_state_bytes(here);
    uint8_t *states = malloc(3 * size);
    assert_ok(dm_swarm_save_states(there, machines, 3, states, 3 * size, err));
    dm_case_step(here, 9);
    assert_ok(dm_swarm_load_states(here, machines, 3, states, 3 * size, err));
    for (int i = 0; i < 2; i++) {
        assert_ok(dm_swarm_snapshot(both[i], 3, 1, err));
        assert_ok(dm_swarm_reset_host(both[i], machines, snapshots, 3, err));
        dm_case_step(both[i], 5);
    }
    same_bytes(here, there, here->arrays[DM_SWARM_A_PROGRAM_MEMORY],
               there->arrays[DM_SWARM_A_PROGRAM_MEMORY], "the memory");
    assert_ok(dm_swarm_save(there, dm_test_path(state, "swarm"), err));
    assert_ok(dm_swarm_load(here, dm_test_path(state, "swarm"), err));
    dm_case_step(here, 3);
    dm_case_step(there, 3);
    same_bytes(here, there, here->arrays[DM_SWARM_A_PROGRAM_MEMORY],
               there->arrays[DM_SWARM_A_PROGRAM_MEMORY], "the memory");
    free(states);
    dm_swarm_destroy(here);
    dm_swarm_destroy(there);
    dm_program_destroy(program);
    dm_device_close(cpu);
}

static void an_index_out_of_range_is_told(void **state)
{
    (void)state;
    dm_test_gpu();
    static const char wrong[] =
        "import dotmatrix as dm\n@dm.program(obs=4)\n"
        "def step(m: dm.Machine, out: dm.Out):\n    out.obs[m.step] = 1.0\n";
    dm_program *program = NULL;
    assert_ok(dm_program_create("reward.py", wrong, sizeof wrong - 1, NULL, &program, err));
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    const dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 64, .program = program};
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_swarm_faults faults;
    dm_error why = {0};
    dm_case_step(swarm, 3);
    assert_ok(dm_swarm_get_faults(swarm, &faults, err));
    dm_case_step(swarm, 1);
    assert_int_equal(dm_swarm_get_faults(swarm, &faults, &why), DM_EINVAL);
    assert_non_null(strstr(why.message, "out of bounds"));
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
}

DM_TESTS("gpu/program", DM_TEST(next_step_is_as_on_the_cpu), DM_TEST(same_step_is_as_on_the_cpu),
         DM_TEST(many_are_as_on_the_cpu), DM_TEST(a_captured_step_judges),
         DM_TEST_IN_DIR(memory_moves_between_devices), DM_TEST(an_index_out_of_range_is_told));
