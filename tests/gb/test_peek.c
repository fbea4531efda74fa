/* SPDX-License-Identifier: MIT */
/* Looking at memory changes nothing: a machine that is peeked at every address at many moments does
 * the same as one that never is. */
#include "gb/host/core.h"
#include "tests/support/program_gen.h"
#include "tests/support/random.h"
#include "tests/support/same_machine.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define MOMENTS 60

static uint32_t peek_all(dm_gb *gb)
{
    uint32_t sum = 0;
    for (uint32_t address = 0; address < 0x10000; address++)
        sum = sum * 31u + dm_gb_peek(gb, (uint16_t)address);
    return sum;
}

/* What the CPU sees of plain memory is not blocked for us: it is what stands in machine memory. */
static void check_memory(const char *name, dm_gb *gb)
{
    static const struct {
        uint16_t first, last;
        uint32_t offset;
    } areas[] = {{0x8000, 0x9FFF, DM_GB_VRAM},
                 {0xC000, 0xDFFF, DM_GB_WRAM},
                 {0xE000, 0xFDFF, DM_GB_WRAM},
                 {0xFE00, 0xFE9F, DM_GB_OAM},
                 {0xFF80, 0xFFFF, DM_GB_HRAM}};
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++)
        for (uint32_t a = areas[i].first; a <= areas[i].last; a++)
            if (dm_gb_peek(gb, (uint16_t)a) != gb->ram[areas[i].offset + a - areas[i].first])
                fail_msg("%s: %04X is not what memory holds", name, a);
    for (uint32_t a = gb->machine.boot_mapped ? 0x100 : 0; a < 0x4000; a++)
        if (dm_gb_peek(gb, (uint16_t)a) != gb->rom.bytes[gb->machine.cart.rom_low + a])
            fail_msg("%s: %04X is not what the ROM holds", name, a);
}

static void compare(const char *name, const void *rom, size_t size, uint64_t seed)
{
    dm_gb *peeked = NULL, *left = NULL;
    char why[256];
    dm_test_random random = dm_test_random_make(seed, 11);
    assert_ok(dm_gb_create(rom, size, NULL, &peeked, err));
    assert_ok(dm_gb_create(rom, size, NULL, &left, err));
    for (int i = 0; i < MOMENTS; i++) {
        /* Often within one instruction's time, so that transfers and mode 3 are met. */
        uint32_t cycles = 1u + dm_test_random_below(&random, i % 3 == 0 ? 100000 : 900);
        dm_gb_run_cycles(peeked, cycles, DM_GB_DRAW_ALWAYS);
        dm_gb_run_cycles(left, cycles, DM_GB_DRAW_ALWAYS);
        dm_gb_machine before = peeked->machine;
        uint32_t sum = peek_all(peeked);
        assert_memory_equal(&peeked->machine, &before, sizeof before);
        assert_int_equal(peek_all(peeked), sum);
        check_memory(name, peeked);
        if (!dm_same_machine(peeked, left, why, sizeof why))
            fail_msg("%s, moment %d: %s", name, i, why);
        if (memcmp(peeked->frames, left->frames, sizeof left->frames) != 0)
            fail_msg("%s, moment %d: the pictures differ", name, i);
    }
    dm_gb_destroy(peeked);
    dm_gb_destroy(left);
}

static void our_roms(void **state)
{
    (void)state;
    static const char *const names[] = {"DMA_OAM_COPY", "PPU_SPRITES",    "PPU_STAT_IRQ",
                                        "SERIAL_HELLO", "TIMER_IRQ_HALT", "STARFALL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, names[i]);
        dm_gb *gb = NULL;
        assert_ok(dm_gb_create_file(path, NULL, &gb, err));
        compare(names[i], gb->rom.bytes, gb->rom.size, i);
        dm_gb_destroy(gb);
    }
}

static void generated_programs(void **state)
{
    (void)state;
    static dm_program program;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        char name[32];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        dm_program_make(&program, seed, DM_PROGRAM_TIMING);
        compare(name, program.rom, program.size, seed);
    }
}

/* DMA from WRAM runs all the time: the CPU would read its bytes everywhere. */
static void not_disturbed_by_dma(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    static const uint8_t code[] = {0xF3,             /* di */
                                   0x21, 0x80, 0xFF, /* ld hl,$FF80 */
                                   0x36, 0xE0, 0x23, /* ld [hl],$E0; inc hl   ldh [$FF46],a */
                                   0x36, 0x46, 0x23, /* ld [hl],$46; inc hl */
                                   0x36, 0x18, 0x23, /* ld [hl],$18; inc hl   jr $FF80 */
                                   0x36, 0xFC,       /* ld [hl],$FC */
                                   0x3E, 0xC1,       /* ld a,$C1 */
                                   0xC3, 0x80, 0xFF};
    memcpy(rom + 0x150, code, sizeof code);
    memcpy(rom + 0x100, "\x00\xC3\x50\x01", 4);
    compare("DMA without end", rom, sizeof rom, 3);
}

DM_TESTS("gb/peek", DM_TEST(our_roms), DM_TEST(generated_programs), DM_TEST(not_disturbed_by_dma))
