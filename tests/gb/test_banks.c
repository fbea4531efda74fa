/* SPDX-License-Identifier: MIT */
/* Memory by bank (gb/host/banks.c). */
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <string.h>

/* Writes 5A to A000 of RAM bank 2, shows ROM bank 3 and stays there. */
static const char source[] = "HEADER \"BANKS\", MBC5_RAM, 32\n"
                             "SECTION \"entry\", ROM0[$100]\n jp Main\n"
                             "SECTION \"main\", ROM0[$150]\n"
                             "Main: ld a, $0A\n ld [$0000], a\n ld a, 2\n ld [$4000], a\n"
                             " ld a, $5A\n ld [$A000], a\n ld a, 3\n ld [$2000], a\n"
                             "Loop: jr Loop\n"
                             "SECTION \"one\", ROMX[$4000], BANK[1]\n db $11\n"
                             "SECTION \"three\", ROMX[$4000], BANK[3]\n db $33\n"
                             "SECTION \"seven\", ROMX[$7FFF], BANK[7]\n db $77\n";

static dm_gb *make(void)
{
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("banks", source, strlen(source), NULL, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

static uint8_t read_one(const dm_gb *gb, uint32_t bank, uint16_t address)
{
    uint8_t byte = 0;
    assert_ok(dm_gb_read_bank(gb, bank, address, &byte, 1, err));
    return byte;
}

static void banks_are_those_that_the_mapper_shows(void **state)
{
    (void)state;
    dm_gb *gb = make();
    assert_int_equal(dm_gb_bank(gb, 0x4000), 1);
    assert_int_equal(dm_gb_bank(gb, 0xA000), -1); /* RAM is disabled */
    dm_gb_run_cycles(gb, 1000, DM_GB_DRAW_NEVER);
    assert_int_equal(dm_gb_bank(gb, 0x0000), 0);
    assert_int_equal(dm_gb_bank(gb, 0x3FFF), 0);
    assert_int_equal(dm_gb_bank(gb, 0x4000), 3);
    assert_int_equal(dm_gb_bank(gb, 0x7FFF), 3);
    assert_int_equal(dm_gb_bank(gb, 0xBFFF), 2);
    assert_int_equal(dm_gb_bank(gb, 0xC000), 0);
    assert_int_equal(dm_gb_bank(gb, 0xFF80), 0);
    dm_gb_destroy(gb);
}

static void any_bank_is_read(void **state)
{
    (void)state;
    dm_gb *gb = make();
    dm_gb_run_cycles(gb, 1000, DM_GB_DRAW_NEVER);
    assert_int_equal(read_one(gb, 1, 0x4000), 0x11);
    assert_int_equal(read_one(gb, 3, 0x4000), 0x33);
    assert_int_equal(read_one(gb, 3, 0x0000), 0x33); /* a bank is the same at both places */
    assert_int_equal(read_one(gb, 7, 0x7FFF), 0x77);
    assert_int_equal(read_one(gb, 0, 0x0100), dm_gb_peek(gb, 0x0100));
    assert_int_equal(read_one(gb, 2, 0xA000), 0x5A);
    assert_int_equal(read_one(gb, 1, 0xA000), 0);
    dm_gb_destroy(gb);
}

static void ram_of_any_bank_is_written(void **state)
{
    (void)state;
    dm_gb *gb = make();
    dm_gb_run_cycles(gb, 1000, DM_GB_DRAW_NEVER);
    static const struct {
        uint32_t bank;
        uint16_t address, seen; /* where the CPU sees it; 0: nowhere now */
    } cases[] = {{0, 0x8000, 0x8000}, {0, 0xC123, 0xC123}, {1, 0xD123, 0xD123},
                 {0, 0xD124, 0xD124}, {2, 0xBFF0, 0xBFF0}, {3, 0xA010, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t bytes[2] = {(uint8_t)(0x40 + i), (uint8_t)(0x80 + i)};
        assert_ok(dm_gb_write_bank(gb, cases[i].bank, cases[i].address, bytes, 2, err));
        assert_int_equal(read_one(gb, cases[i].bank, (uint16_t)(cases[i].address + 1)), bytes[1]);
        if (cases[i].seen != 0)
            assert_int_equal(dm_gb_peek(gb, cases[i].seen), bytes[0]);
    }
    assert_int_equal(dm_gb_peek(gb, 0xA010), 0); /* bank 2 is shown */
    dm_gb_destroy(gb);
}

static void what_is_not_there_is_an_error(void **state)
{
    (void)state;
    dm_gb *gb = make();
    static const struct {
        uint32_t bank;
        uint16_t address, size;
        const char *reason;
    } cases[] = {
        {8, 0x4000, 1, "ROM at 4000 has 8 banks, there is no number 8"},
        {0, 0x3FFF, 2, "ROM ends at 3FFF: 2 bytes from 3FFF do not fit"},
        {1, 0x8000, 1, "video RAM at 8000 has 1 banks"},
        {4, 0xA000, 1, "cartridge RAM at A000 has 4 banks, there is no number 4"},
        {1, 0xC000, 1, "work RAM at C000 has 1 banks"},
        {2, 0xD000, 1, "work RAM at D000 has 2 banks"},
        {0, 0xFF80, 1, "FF80 has no banks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[2];
        dm_error err = {0};
        assert_int_equal(
            dm_gb_read_bank(gb, cases[i].bank, cases[i].address, bytes, cases[i].size, &err),
            DM_EINVAL);
        assert_non_null(strstr(err.message, cases[i].reason));
        assert_int_equal(
            dm_gb_write_bank(gb, cases[i].bank, cases[i].address, "xy", cases[i].size, &err),
            DM_EINVAL);
    }
    dm_error err = {0};
    assert_int_equal(dm_gb_write_bank(gb, 1, 0x4000, "x", 1, &err), DM_EUNSUPPORTED);
    assert_int_equal(dm_gb_read_bank(NULL, 0, 0, &err, 1, &err), DM_EINVAL);
    dm_gb_destroy(gb);
}

DM_TESTS("gb/banks", DM_TEST(banks_are_those_that_the_mapper_shows), DM_TEST(any_bank_is_read),
         DM_TEST(ram_of_any_bank_is_written), DM_TEST(what_is_not_there_is_an_error))
