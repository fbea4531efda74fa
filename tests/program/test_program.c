/* SPDX-License-Identifier: MIT */
/* Reward programs: what loading tells, and a program on a swarm beside the same computed in plain C on machines
 * that are played alone. */
#include "base/file.h"
#include "device/nvrtc.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <dotmatrix/program.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "import dotmatrix as dm\n"
#define STEP "@dm.program\ndef step(m: dm.Machine, out: dm.Out):\n"

static dm_program *load(const char *text)
{
    dm_program *program = NULL;
    dm_error why = {0};
    if (dm_program_create("reward.py", text, strlen(text), NULL, &program, &why) != DM_OK)
        fail_msg("%s\n%s", why.message, dm_program_messages(program));
    return program;
}

static dm_program *load_file(const char *name)
{
    char path[1024];
    dm_program *program = NULL;
    dm_error why = {0};
    snprintf(path, sizeof path, "%s/rewards/%s", dm_test_source_root(), name);
    if (dm_program_load(path, NULL, &program, &why) != DM_OK)
        fail_msg("%s\n%s", why.message, dm_program_messages(program));
    return program;
}

static void info_tells_sizes_metrics_hooks_and_symbols(void **state)
{

    static const char sym[] = "00:c103 wScore\n01:4a2f GameOver\n";
    assert_ok(dm_file_write(dm_test_path(state, "game.sym"), sym, sizeof sym - 1, err));
    static const char text[] =
        HEAD "N = 32 * 8\n"
             "@dm.memory\nclass Memory:\n    score: int\n    seen: dm.Bitmap(N)\n    last: "
             "dm.Array(3, dm.float64)\n"
             "@dm.program(symbols=\"game.sym\", hooks=[\"GameOver\"])\n"
             "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
             "    out.reward = float(dm.u16(m, \"wScore\"))\n"
             "    out.obs[6] = float(dm.u8(m, 0xC000))\n"
             "    out.terminated = dm.hit(m, \"GameOver\") or dm.hit(m, \"02:4100\")\n"
             "    out.metric(\"score\", 1.0)\n    out.metric(\"other\", 2.0)\n";
    dm_program *program = NULL;
    assert_ok(dm_program_create(dm_test_path(state, "reward.py"), text, sizeof text - 1, NULL,
                                &program, err));
    dm_program_info info = dm_program_get_info(program);
    assert_string_equal(info.function, "step");
    assert_int_equal(info.observation_size, 7);
    assert_int_equal(info.memory_bytes, 4 + 32 + 4 + 24);
    assert_int_equal(info.metric_count, 2);
    assert_string_equal(info.metrics[1], "other");
    assert_int_equal(info.hook_count, 2);
    assert_string_equal(info.hooks[1].name, "02:4100");
    assert_int_equal(info.hooks[1].bank, 2);
    assert_int_equal(info.hooks[1].address, 0x4100);
    assert_int_equal(info.symbol_count, 1);
    assert_int_equal(info.symbols[0].address, 0xC103);
    assert_string_equal(dm_program_messages(program), "");
    dm_program_destroy(program);
}

static void another_layout_has_another_hash(void **state)
{
    (void)state;

    static const char one[] =
        HEAD "@dm.memory\nclass K:\n    a: int\n"
             "@dm.program\ndef step(m: dm.Machine, k: K, out: dm.Out):\n    k.a = 1\n";
    static const char two[] =
        HEAD "@dm.memory\nclass K:\n    a: float\n"
             "@dm.program\ndef step(m: dm.Machine, k: K, out: dm.Out):\n    k.a = 1.0\n";
    dm_program *a = load(one), *b = load(two), *c = load(one);
    assert_string_not_equal(dm_program_get_info(a).memory_hash, dm_program_get_info(b).memory_hash);
    assert_string_equal(dm_program_get_info(a).memory_hash, dm_program_get_info(c).memory_hash);
    dm_program_destroy(a);
    dm_program_destroy(b);
    dm_program_destroy(c);
}

/* ---- STARFALL's reward, in plain C ---- */

typedef struct player {
    dm_gb *gb;
    uint8_t *start;
    int score, lives;
    uint32_t steps;
    bool done;
    float reward;
    uint8_t terminated, truncated;
} player;

static void look(player *p, bool fresh)
{
    int score = dm_gb_peek(p->gb, 0xC001) | dm_gb_peek(p->gb, 0xC002) << 8,
        lives = dm_gb_peek(p->gb, 0xC003);
    p->reward = fresh ? 0.0f : (float)(score - p->score) + 2.0f * (float)(lives - p->lives);
    p->terminated = !fresh && dm_gb_peek(p->gb, 0xC000) == 2;
    p->score = score;
    p->lives = lives;
}

static void start_over(player *p)
{
    assert_ok(dm_gb_load_state_bytes(p->gb, p->start, dm_gb_state_bytes(p->gb), err));
    p->steps = 0;
    p->score = p->lives = 0;
    look(p, true);
}

static void player_init(player *p, const dm_swarm_rom_source *rom)
{
    memset(p, 0, sizeof *p);
    assert_ok(dm_gb_create(rom->bytes, rom->size, NULL, &p->gb, err));
    p->start = malloc(dm_gb_state_bytes(p->gb));
    assert_non_null(p->start);
    assert_ok(dm_gb_save_state_bytes(p->gb, p->start, dm_gb_state_bytes(p->gb), err));
    start_over(p);
}

static void player_step(player *p, const dm_swarm_desc *desc, uint64_t machine, uint64_t step)
{
    if (desc->autoreset == DM_SWARM_NEXT_STEP && p->done) {
        start_over(p);
        p->done = false;
        p->truncated = 0;
        return;
    }
    dm_gb_set_keys(p->gb, dm_swarm_codec_keys(desc->codec, dm_case_action(desc, machine, step)));
    dm_gb_run_frames(p->gb, 8, DM_GB_DRAW_NEVER);
    dm_gb_set_keys(p->gb, 0);
    dm_gb_run_frames(p->gb, desc->frames_per_step - 8, DM_GB_DRAW_NEVER);
    p->steps++;
    look(p, false);
    p->truncated = desc->step_limit != 0 && p->steps >= desc->step_limit;
    p->done = p->terminated || p->truncated;
    if (desc->autoreset == DM_SWARM_SAME_STEP && p->done) {
        float reward = p->reward;
        uint8_t terminated = p->terminated;
        start_over(p);
        p->reward = reward;
        p->terminated = terminated;
    }
}

#define MACHINES 24

static bool same_bits(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(float)) == 0;
}

static void compare(dm_swarm *swarm, const player *players, uint32_t step)
{
    float rewards[MACHINES];
    uint8_t terminated[MACHINES], truncated[MACHINES];
    assert_ok(dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    assert_ok(dm_swarm_download(swarm, DM_SWARM_TERMINATED, terminated, sizeof terminated, err));
    assert_ok(dm_swarm_download(swarm, DM_SWARM_TRUNCATED, truncated, sizeof truncated, err));
    for (uint32_t i = 0; i < MACHINES; i++)
        if (!same_bits(&rewards[i], &players[i].reward) || terminated[i] != players[i].terminated ||
            truncated[i] != players[i].truncated)
            fail_msg("step %u, machine %u: %g %d %d, and in plain C %g %d %d", step, i,
                     (double)rewards[i], terminated[i], truncated[i], (double)players[i].reward,
                     players[i].terminated, players[i].truncated);
}

static void check_starfall(dm_swarm_autoreset autoreset, uint32_t steps)
{
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu", &device, err));
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_program *program = load_file("starfall.py");
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = MACHINES,
                                .frames_per_step = 60,
                                .stage = DM_SWARM_REWARD_ONLY,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .seed = 7,
                                .step_limit = 90,
                                .autoreset = autoreset,
                                .program = program};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    dm_program_destroy(program);
    player players[MACHINES];
    uint32_t ended = 0, paid = 0;
    for (uint32_t i = 0; i < MACHINES; i++)
        player_init(&players[i], &rom);
    for (uint32_t step = 0; step < steps; step++) {
        dm_case_step(swarm, 1);
        for (uint32_t i = 0; i < MACHINES; i++) {
            player_step(&players[i], &desc, i, step);
            ended += players[i].terminated;
            paid += players[i].reward > 0.0f && players[i].reward < 3.0f;
        }
        compare(swarm, players, step);
    }
    assert_true(ended > 0 && paid > 0);
    dm_swarm_metric_sums score;
    assert_ok(dm_swarm_get_metrics(swarm, &score, 1, true, err));
    assert_string_equal(score.name, "score");
    assert_true(score.episodes >= ended);
    assert_ok(dm_swarm_get_metrics(swarm, &score, 1, false, err));
    assert_int_equal(score.episodes, 0);
    for (uint32_t i = 0; i < MACHINES; i++) {
        dm_gb_destroy(players[i].gb);
        free(players[i].start);
    }
    dm_swarm_destroy(swarm);
    dm_device_close(device);
}

static void starfall_is_as_in_plain_c_with_next_step_autoreset(void **state)
{
    (void)state;

    check_starfall(DM_SWARM_NEXT_STEP, 120);
}

static void starfall_is_as_in_plain_c_with_same_step_autoreset(void **state)
{
    (void)state;

    check_starfall(DM_SWARM_SAME_STEP, 120);
}

static void starfall_is_as_in_plain_c_without_autoreset(void **state)
{
    (void)state;

    check_starfall(DM_SWARM_DISABLED, 100);
}

/* ---- Hooks ---- */

static void a_hook_is_hit_when_its_bit_is_set(void **state)
{
    (void)state;
    static const char text[] =
        HEAD STEP "    out.reward = float(dm.hit(m, \"0150\")) + 2.0 * float(dm.hit(m, \"7FF0\"))\n"
                  "    out.metric(\"bits\", float(int(m.hooks)))\n";
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu", &device, err));
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_program *program = load(text);
    const dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 2, .program = program};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    for (int step = 0; step < 3; step++) {
        uint64_t bits[2];
        float rewards[2];
        dm_case_step(swarm, 1);
        assert_ok(dm_swarm_get_hooks(swarm, bits, 2, err));
        assert_ok(dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
        assert_int_equal(bits[1], step == 0 ? 1 : 0); /* the game's first instruction */
        assert_true(rewards[1] == (float)bits[1]);
    }
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
    dm_device_close(device);
}

/* ---- What is built in, as a program ---- */

static void reward_v0_has_the_same_bits(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    dm_swarm_rom_source roms[25];
    dm_device *device = NULL;
    static float built_in[COUNT * 32], own[COUNT * 32];
    assert_ok(dm_device_open("cpu", &device, err));
    for (size_t i = 0; i < 25; i++)
        roms[i] = dm_case_rom(dm_case_rom_names[i]);
    dm_program *program = load_file("reward_v0.py");
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 25,
                          .count = COUNT,
                          .frames_per_step = 3,
                          .generator = DM_SWARM_STRIPED,
                          .step_limit = 7,
                          .observations = DM_SWARM_OBS_VECTOR};
    dm_swarm *usual = dm_case_swarm(device, &desc);
    desc.program = program;
    dm_swarm *with = dm_case_swarm(device, &desc);
    for (int step = 0; step < 20; step++) {
        assert_ok(dm_swarm_download(usual, DM_SWARM_VECTORS, built_in, sizeof built_in, err));
        assert_ok(dm_swarm_download(with, DM_SWARM_VECTORS, own, sizeof own, err));
        assert_memory_equal(built_in, own, sizeof own);
        assert_ok(dm_swarm_download(usual, DM_SWARM_REWARDS, built_in, COUNT * sizeof(float), err));
        assert_ok(dm_swarm_download(with, DM_SWARM_REWARDS, own, COUNT * sizeof(float), err));
        assert_memory_equal(built_in, own, COUNT * sizeof(float));
        dm_case_step(usual, 1);
        dm_case_step(with, 1);
    }
    assert_true(dm_case_fingerprint(usual) == dm_case_fingerprint(with));
    dm_swarm_destroy(usual);
    dm_swarm_destroy(with);
    dm_program_destroy(program);
    dm_device_close(device);
}

/* ---- Memory as dm_gb_peek has it ---- */

static void u8_is_peek_whatever_the_cartridge(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "@dm.program(obs=1024)\ndef step(m: dm.Machine, out: dm.Out):\n"
             "    for i in range(1024):\n"
             "        out.obs[i] = float(dm.u8(m, i * 64 + (m.step * 17 & 63)))\n";
    dm_device *device = NULL;
    static float bytes[25 * 1024];
    dm_swarm_rom_source roms[25];
    uint32_t seen = 0;
    assert_ok(dm_device_open("cpu", &device, err));
    for (size_t i = 0; i < 25; i++)
        roms[i] = dm_case_rom(dm_case_rom_names[i]);
    dm_program *program = load(text);
    const dm_swarm_desc desc = {.roms = roms,
                                .rom_count = 25,
                                .count = 25,
                                .frames_per_step = 7,
                                .observations = DM_SWARM_OBS_VECTOR,
                                .program = program};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    for (uint32_t step = 1; step < 9; step++) {
        dm_case_step(swarm, 1);
        assert_ok(dm_swarm_download(swarm, DM_SWARM_VECTORS, bytes, sizeof bytes, err));
        for (uint32_t machine = 0; machine < 25; machine++)
            for (uint32_t i = 0; i < 1024; i++) {
                const uint16_t at = (uint16_t)(i * 64 + (step * 17 & 63));
                uint8_t byte;
                if (at >= 0xFEA0 && at < 0xFF80)
                    continue; /* registers read FF */
                assert_ok(dm_swarm_read(swarm, machine, at, &byte, 1, err));
                seen += byte != 0 && byte != 0xFF;
                if (bytes[machine * 1024 + i] != (float)byte)
                    fail_msg("%s, step %u: %04X is %02X, and the program read %g",
                             dm_case_rom_names[machine], step, at, byte,
                             (double)bytes[machine * 1024 + i]);
            }
    }
    assert_true(seen > 1000);
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
    dm_device_close(device);
}

/* ---- CUDA ---- */

static void every_ready_program_compiles_for_a_gpu(void **state)
{
    static const char *const names[] = {"starfall.py",  "reward_v0.py",     "novel_screens.py",
                                        "novel_ram.py", "renegade_rush.py", "merge_2048.py",
                                        "rex_runner.py"};
    char path[DM_PATH_MAX], *code = NULL;
    dm_error why = {0};
    (void)state;
    if (dm_nvrtc_find(path, &why) != DM_OK)
        dm_test_skip("%s", why.message);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size = 0;
        bool cached;
        dm_program *program = load_file(names[i]);
        static const char *const options[] = {"--fmad=false", NULL};
        const dm_module_desc desc = {
            .name = "program", .text = dm_program_source(program, true), .cuda_options = options};
        assert_ok(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, err));
        free(code);
        dm_program_destroy(program);
    }
}

DM_TESTS("program/program", DM_TEST_IN_DIR(info_tells_sizes_metrics_hooks_and_symbols),
         DM_TEST(another_layout_has_another_hash),
         DM_TEST(starfall_is_as_in_plain_c_with_next_step_autoreset),
         DM_TEST(starfall_is_as_in_plain_c_with_same_step_autoreset),
         DM_TEST(starfall_is_as_in_plain_c_without_autoreset),
         DM_TEST(a_hook_is_hit_when_its_bit_is_set), DM_TEST(reward_v0_has_the_same_bits),
         DM_TEST(u8_is_peek_whatever_the_cartridge),
         DM_TEST(every_ready_program_compiles_for_a_gpu))
