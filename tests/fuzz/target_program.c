/* SPDX-License-Identifier: MIT */
/* target_program.c - reward programs with their symbol files; some of those that load are compiled and run. */
#include "base/hash.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

#include <dotmatrix/program.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_EACH 61u /* a compiler takes a hundred times as long as the rest */

/* A cartridge without anything: an endless loop at 0100. */
static dm_gb *machine(void)
{
    static uint8_t rom[0x8000];
    dm_error err = {0};
    dm_gb *gb = NULL;
    rom[0x100] = 0x18; /* JR -2 */
    rom[0x101] = 0xFE;
    const dm_status status = dm_gb_create(rom, sizeof rom, NULL, &gb, &err);
    fuzz_need(status, &err);
    return gb;
}

/* Whatever the program does, a step gives a result or one line. */
static void run(const dm_program *program)
{
    dm_gb *gb = machine();
    dm_program_single *single = NULL;
    dm_program_outcome outcome;
    dm_error err = {0};
    const dm_program_info info = dm_program_get_info(program);
    dm_status status = dm_program_single_create(program, gb, 1, 2, &single, &err);
    fuzz_done(status, &err);
    for (int step = 0; step < 3 && status == DM_OK; step++) {
        dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER);
        status = dm_program_single_step(single, 3, &outcome, &err);
        fuzz_done(status, &err);
        if (status == DM_OK)
            fuzz_touch(outcome.observations, info.observation_size * sizeof(float));
    }
    if (single != NULL)
        fuzz_touch(dm_program_single_memory(single), info.memory_bytes);
    dm_program_single_destroy(single);
    dm_gb_destroy(gb);
}

void fuzz_run_reward(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"reward.py", "game.sym", NULL};
    char path[DM_PATH_MAX];
    dm_error err = {0};
    dm_program *program = NULL;
    snprintf(path, sizeof path, "%s/reward.py", fuzz_folder_of(data, size, names));
    const dm_status status = dm_program_load(path, NULL, &program, &err);
    fuzz_done(status, &err);
    fuzz_touch(dm_program_messages(program), strlen(dm_program_messages(program)));
    if (status == DM_OK) {
        const dm_program_info info = dm_program_get_info(program);
        fuzz_expect(dm_program_source(program, false) != NULL &&
                        dm_program_source(program, true) != NULL,
                    "a program that loads has both texts");
        fuzz_expect(info.memory_bytes <= DM_PROGRAM_MEMORY_MAX &&
                        info.hook_count <= DM_PROGRAM_HOOKS_MAX &&
                        info.metric_count <= DM_PROGRAM_METRICS_MAX,
                    "a program keeps to its limits");
        for (size_t i = 0; i < info.metric_count; i++)
            fuzz_touch(info.metrics[i], strlen(info.metrics[i]));
        for (size_t i = 0; i < info.hook_count; i++)
            fuzz_touch(info.hooks[i].name, strlen(info.hooks[i].name));
        for (size_t i = 0; i < info.symbol_count; i++)
            fuzz_touch(info.symbols[i].name, strlen(info.symbols[i].name));
        if (dm_hash64(data, size) % RUN_EACH == 0)
            run(program);
    }
    dm_program_destroy(program);
}

static const char everything[] =
    "=== reward.py\n"
    "import dotmatrix as dm\n\nN = 8 * 8\n\n@dm.memory\nclass Memory:\n    score: int\n    seen: "
    "dm.Bitmap(N * 4)\n"
    "    places: dm.HashSet(32)\n    last: dm.Array(4, float)\n    at: dm.vec2\n    odd: bool\n\n"
    "@dm.func\ndef gain(m: dm.Machine, mem: Memory, k: int):\n    return float(dm.u8(m, \"wX\") * "
    "k - mem.score)\n\n"
    "@dm.program(symbols=\"game.sym\", hooks=[\"GameOver\", \"01:4A2F\"], obs=8)\n"
    "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n    score = dm.u16(m, \"wScore\")\n"
    "    if dm.visit(mem.seen, m.pc & 255):\n        out.reward += 1.0\n"
    "    for i in range(3):\n        mem.last[i] = gain(m, mem, i)\n"
    "    while score > 3:\n        score = score // 2\n"
    "    out.terminated = dm.hit(m, \"GameOver\") or not dm.seen(mem.places, score)\n"
    "    dm.one_hot(out, 1, 4, m.action & 3)\n    dm.observe(out, 5, m, 0xC000, 3)\n"
    "    out.metric(\"score\", float(score))\n    mem.score, mem.odd = score, not mem.odd\n"
    "    mem.at.x += dm.random(m)\n    dm.poke(m, 0xC000, m.a)\n"
    "=== game.sym\n00:c103 wScore\n00:c105 wX\n01:4a2f GameOver\n";

void fuzz_seeds_reward(void)
{
    fuzz_seed_text("everything", everything);
    fuzz_seed_text("small", "=== reward.py\nimport dotmatrix as dm\n@dm.program\ndef step(m: "
                            "dm.Machine, out: dm.Out):\n"
                            "    out.reward = float(dm.bcd(m, 0xC000, 2) - dm.i8(m, 0xFF80))\n");
    fuzz_seed_text(
        "wrong",
        "=== reward.py\nimport dotmatrix as dm\n@dm.program(obs=2)\n"
        "def step(m: dm.Machine, out: dm.Out):\n    out.obs[m.step] = 1.0 / float(m.a % m.b)\n");
}
