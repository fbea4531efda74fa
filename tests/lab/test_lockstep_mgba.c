/* SPDX-License-Identifier: MIT */
/* Instruction by instruction beside mGBA. DM_FUZZ_SEEDS=N runs N generated programs of each kind.
 */
#include "tests/support/test.h"

#if DM_HAVE_MGBA

#include "base/file.h"
#include "tests/support/lockstep.h"
#include "tests/support/program_gen.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS 200
#define STEPS_MAX 60000

static unsigned seeds(void)
{
    const char *text = getenv("DM_FUZZ_SEEDS");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : SEEDS;
}

static bool run_program(uint64_t seed, enum dm_program_kind kind, char *why, size_t why_size,
                        uint64_t *steps)
{
    static dm_program program;
    dm_lockstep pair;
    dm_program_make(&program, seed, kind);
    assert_ok(dm_lockstep_create(&pair, program.rom, program.size, false, err));
    dm_lockstep_align(&pair);
    bool same = true;
    while (same && pair.steps < STEPS_MAX) {
        uint16_t pc = dm_gb_get_registers(pair.ours).pc;
        if (pc == program.end)
            break;
        if (program.rom[pc & 0x3FFFu] == 0x76 && pc < 0x4000) {
            /* mGBA passes a HALT and what follows in one call: meet again behind it. */
            same = dm_lockstep_pass(&pair, (uint16_t)(pc + DM_PROGRAM_HALT_SIZE));
            if (!same)
                snprintf(why, why_size, "HALT at %04X: no end", pc);
        } else {
            same = dm_lockstep_step(&pair, why, why_size);
        }
    }
    if (same)
        same = dm_lockstep_same_memory(&pair, why, why_size);
    *steps += pair.steps;
    dm_lockstep_destroy(&pair);
    return same;
}

static void run_kind(enum dm_program_kind kind)
{
    unsigned failed = 0, count = seeds();
    uint64_t steps = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        char why[512];
        if (run_program(seed, kind, why, sizeof why, &steps))
            continue;
        printf("seed %llu: %s\n", (unsigned long long)seed, why);
        failed++;
    }
    printf("%u programs, %llu instructions\n", count, (unsigned long long)steps);
    assert_int_equal(failed, 0);
}

static void plain_programs_agree(void **state)
{
    (void)state;
    run_kind(DM_PROGRAM_PLAIN);
}

static void timing_programs_agree(void **state)
{
    (void)state;
    run_kind(DM_PROGRAM_TIMING);
}

/* Our own ROMs that neither HALT nor look at what mGBA has at another moment (docs/accuracy.md). */
static const char *const micro_roms[] = {
    "ALU16_SP",  "ALU_FLAGS",    "ALU_LOOP",    "BG_SCROLL_SIGNED", "BG_STATIC",
    "CB_BITOPS", "DMA_OAM_COPY", "EI_DELAY",    "FLOW_STACK",       "JOY_DIVERGE_PERSIST",
    "MBC1_RAM",  "MBC1_SWITCH",  "MBC3_RAM",    "MBC3_SWITCH",      "MBC5_SWITCH",
    "MEM_RWB",   "LOADS_BASIC",  "PPU_SPRITES", "TIMER_DIV_BASIC",
};

static void micro_roms_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof micro_roms / sizeof micro_roms[0]; i++) {
        char path[DM_PATH_MAX], why[512] = "";
        char *bytes;
        size_t size;
        dm_lockstep pair;
        snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, micro_roms[i]);
        assert_ok(dm_file_read(path, 0, &bytes, &size, err));
        assert_ok(dm_lockstep_create(&pair, bytes, size, false, err));
        dm_lockstep_align(&pair);
        while (pair.steps < STEPS_MAX)
            if (!dm_lockstep_step(&pair, why, sizeof why))
                break;
        if (why[0] == '\0')
            dm_lockstep_same_memory(&pair, why, sizeof why);
        if (why[0] != '\0')
            fail_msg("%s: %s", micro_roms[i], why);
        dm_lockstep_destroy(&pair);
        free(bytes);
    }
}

/* A benchmark beside ours would otherwise be won by leaving the sound out. */
static void no_sound_samples_are_made(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    dm_mgba *mgba;
    assert_ok(dm_file_read(DM_TEST_BUILD_ROOT "/roms/STARFALL.gb", 0, &bytes, &size, err));
    assert_ok(dm_mgba_create(bytes, size, DM_MGBA_NO_PICTURES, &mgba, err));
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 60; i++)
            dm_mgba_run_frame(mgba);
        assert_int_equal(dm_mgba_samples(mgba), 0);
        dm_mgba_reset(mgba);
    }
    dm_mgba_destroy(mgba);
    free(bytes);
}

DM_TESTS("lab/lockstep_mgba", DM_TEST(micro_roms_agree), DM_TEST(no_sound_samples_are_made),
         DM_TEST(plain_programs_agree), DM_TEST(timing_programs_agree));

#else

static void agrees_with_mgba(void **state)
{
    (void)state;
    dm_test_skip("libmgba is not installed (apt install libmgba-dev)");
}

DM_TESTS("lab/lockstep_mgba", DM_TEST(agrees_with_mgba));

#endif
