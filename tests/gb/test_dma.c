/* SPDX-License-Identifier: MIT */
/* OAM DMA: when it copies, what it reads, what the CPU sees meanwhile. Facts: Pan Docs ("OAM DMA
 * Transfer"), mooneye's oam_dma tests, gambatte's oamdma tests; dma.h says them shortly.
 *
 * A few instructions in HRAM start the transfer; behind them HRAM is zero, which is NOPs. */
#include "gb/host/core.h"
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* The byte at offset i of any page we copy from. */
static uint8_t pattern(uint32_t page, uint32_t i)
{
    return (uint8_t)(page * 7u + i * 3u + 1u);
}

static void fill(dm_gb *gb, uint32_t page)
{
    for (uint32_t i = 0; i < 256; i++)
        dm_gb_poke(gb, (uint16_t)(page << 8 | i), pattern(page, i));
}

/* A machine with the LCD off whose code at FF80 is `code`; the ROM's page 20 holds its pattern. It
 * stands before the first instruction. */
static dm_gb *make(const char *code)
{
    char source[2048];
    snprintf(source, sizeof source,
             "HEADER \"DMA\", MBC1_RAM, 8\n"
             "SECTION \"entry\", ROM0[$100]\n di\n jp Main\n"
             "SECTION \"main\", ROM0[$150]\nMain: ld sp, $FFFE\n xor a\n ldh [$FF40], a\n"
             " ld hl, Code\n ld c, $80\n ld b, Code.end - Code\n"
             ".copy\n ld a, [hl+]\n ldh [c], a\n inc c\n dec b\n jr nz, .copy\n"
             " ld a, $C1\n jp $FF80\n"
             "Code:\n%s\n.end\n",
             code);
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("dma", source, strlen(source), NULL, &rom, err));
    for (uint32_t i = 0; i < 256; i++)
        rom.rom[0x2000 + i] = pattern(0x20, i);
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    const uint16_t start = 0xFF80;
    assert_true(dm_gb_run_to(gb, &start, 1, 100000));
    dm_gb_poke(gb, 0x0000, 0x0A); /* cartridge RAM on */
    static const uint8_t pages[] = {0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xD0, 0xDE, 0xDF};
    for (size_t i = 0; i < sizeof pages; i++)
        fill(gb, pages[i]);
    for (uint32_t i = 0; i < 160; i++)
        dm_gb_poke(gb, (uint16_t)(0xFE00 + i), 0xEE);
    return gb;
}

static void steps(dm_gb *gb, int count)
{
    for (int i = 0; i < count; i++)
        dm_gb_step(gb);
}

/* So many NOPs. */
static void pass(dm_gb *gb, uint32_t m_cycles)
{
    for (uint32_t i = 0; i < m_cycles; i++) {
        if (gb->machine.cpu.pc > 0xFFF0)
            gb->machine.cpu.pc = 0xFFA0;
        dm_gb_step(gb);
    }
}

/* Bytes of OAM that hold what page `page` has there, from the first on. */
static uint32_t copied(dm_gb *gb, uint32_t page)
{
    uint32_t i = 0;
    while (i < 160 && dm_gb_peek(gb, (uint16_t)(0xFE00 + i)) == pattern(page, i))
        i++;
    for (uint32_t k = i; k < 160; k++)
        assert_int_equal(dm_gb_peek(gb, (uint16_t)(0xFE00 + k)), 0xEE);
    return i;
}

/* ---- Time ---- */

/* Byte i is under way 2 + i M-cycles after the write, which is the last M-cycle of LDH. */
static void one_byte_each_m_cycle(void **state)
{
    (void)state;
    dm_gb *gb = make(" ldh [$FF46], a\n");
    steps(gb, 1);
    for (uint32_t n = 1; n <= 170; n++) {
        /* The next access is n M-cycles after the write. */
        uint32_t wanted = n - 1 < 160 ? n - 1 : 160;
        if (copied(gb, 0xC1) != wanted)
            fail_msg("%u M-cycles after the write: %u bytes, not %u", n, copied(gb, 0xC1), wanted);
        pass(gb, 1);
    }
    assert_int_equal(dm_gb_peek(gb, 0xFF46), 0xC1);
    dm_gb_destroy(gb);
}

/* What the CPU reads at FE00: FF from the second M-cycle after the write on, for 160 M-cycles, then
 * the first byte. */
static void oam_is_closed_while_it_runs(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 170; n++) {
        dm_gb *gb = make(" ld hl, $FE00\n ldh [$FF46], a\n");
        steps(gb, 2);
        pass(gb, n - 2);
        dm_gb_poke(gb, gb->machine.cpu.pc, 0x7E); /* ld a,[hl]: its second M-cycle reads */
        steps(gb, 1);
        uint8_t a = dm_gb_get_registers(gb).a, wanted = n < 162 ? 0xFF : pattern(0xC1, 0);
        if (a != wanted)
            fail_msg("%u M-cycles after the write: %02X, not %02X", n, a, wanted);
        dm_gb_destroy(gb);
    }
}

/* A write to FF46 during a transfer starts it over from the new page. The one byte that the old one
 * still copies comes from there too. */
static void a_second_start_takes_over(void **state)
{
    (void)state;
    dm_gb *gb = make(" ldh [$FF46], a\n ld a, $D0\n ldh [$FF46], a\n");
    steps(gb, 3); /* the second write is 5 M-cycles after the first, with byte 3 */
    for (uint32_t i = 0; i < 160; i++) {
        uint8_t byte = dm_gb_peek(gb, (uint16_t)(0xFE00 + i));
        uint8_t wanted = i < 4 ? pattern(0xC1, i) : i == 4 ? pattern(0xD0, i) : 0xEE;
        if (byte != wanted)
            fail_msg("byte %u is %02X, not %02X", i, byte, wanted);
    }
    pass(gb, 161);
    assert_int_equal(copied(gb, 0xD0), 160);
    dm_gb_destroy(gb);
}

/* HALT holds the transfer from its second M-cycle on, however long it lasts; then it goes on. */
static void halt_holds_it(void **state)
{
    (void)state;
    dm_gb *gb = make(" ldh [$FF46], a\n ld a, $10\n ldh [$FFFF], a\n xor a\n ldh [$FF0F], a\n"
                     " ldh [$FF00], a\n halt\n");
    steps(gb, 7);
    assert_true(dm_gb_get_registers(gb).halted);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER);
    uint32_t held = copied(gb, 0xC1);
    assert_true(held >= 13 && held <= 15);
    /* Longer than the clock counts. */
    for (int i = 0; i < 20; i++) {
        dm_gb_run_cycles(gb, 1u << 28, DM_GB_DRAW_NEVER);
        assert_int_equal(copied(gb, 0xC1), held);
    }
    assert_true(dm_gb_get_counters(gb).cycles > UINT32_MAX);
    dm_gb_set_keys(gb, DM_GB_KEY_A);
    while (dm_gb_get_registers(gb).halted)
        steps(gb, 1);
    uint32_t before = copied(gb, 0xC1);
    assert_true(before >= held && before < held + 3);
    pass(gb, 10);
    assert_int_equal(copied(gb, 0xC1), before + 10);
    pass(gb, 150);
    assert_int_equal(copied(gb, 0xC1), 160);
    assert_false(gb->machine.dma.active);
    dm_gb_destroy(gb);
}

/* ---- Sources ---- */

static void every_page_can_be_read(void **state)
{
    (void)state;
    static const struct {
        uint8_t written, read;
    } cases[] = {{0x20, 0x20}, {0x80, 0x80}, {0x9F, 0x9F}, {0xA0, 0xA0}, {0xBF, 0xBF},
                 {0xC0, 0xC0}, {0xD0, 0xD0}, {0xDF, 0xDF}, /* and WRAM again above it */
                 {0xE0, 0xC0}, {0xE1, 0xC1}, {0xF0, 0xD0}, {0xFE, 0xDE}, {0xFF, 0xDF}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[200];
        snprintf(code, sizeof code, " ld a, $%02X\n ldh [$FF46], a\n", cases[i].written);
        dm_gb *gb = make(code);
        steps(gb, 2);
        pass(gb, 165);
        if (copied(gb, cases[i].read) != 160)
            fail_msg("from page %02X: not page %02X", cases[i].written, cases[i].read);
        assert_int_equal(dm_gb_peek(gb, 0xFF46), cases[i].written);
        dm_gb_destroy(gb);
    }
}

/* ---- The CPU meanwhile ---- */

/* LD A,[HL] 12 M-cycles after the write meets the byte that is under way on its own bus, and its
 * own byte on another. */
static void reads_meet_the_transfer(void **state)
{
    (void)state;
    enum { OWN, TRANSFER };
    static const struct {
        uint8_t page;
        uint16_t address;
        int wanted;
    } cases[] = {
        {0xC1, 0x2055, TRANSFER}, {0xC1, 0xA055, TRANSFER}, {0xC1, 0xC055, TRANSFER},
        {0xC1, 0xFD55, TRANSFER}, {0xC1, 0x8055, OWN},      {0xC1, 0xFF85, OWN},
        {0x20, 0xC055, TRANSFER}, {0x20, 0x9F55, OWN},      {0xA0, 0x2055, TRANSFER},
        {0xA0, 0x8055, OWN},      {0x80, 0x9F55, TRANSFER}, {0x80, 0x2055, OWN},
        {0x80, 0xA055, OWN},      {0x80, 0xC055, OWN},      {0x9F, 0x8055, TRANSFER},
        {0xFF, 0x2055, TRANSFER}, {0xFF, 0x8055, OWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[200];
        snprintf(
            code, sizeof code,
            " ld hl, $%04X\n ld a, $%02X\n ldh [$FF46], a\n REPT 10\n nop\n ENDR\n ld a, [hl]\n",
            cases[i].address, cases[i].page);
        dm_gb *gb = make(code);
        uint8_t own = dm_gb_peek(gb, cases[i].address);
        steps(gb, 3 + 10 + 1);
        uint32_t source = cases[i].page >= 0xE0 ? cases[i].page - 0x20u : cases[i].page;
        uint8_t wanted = cases[i].wanted == OWN ? own : pattern(source, 10);
        if (dm_gb_get_registers(gb).a != wanted)
            fail_msg("DMA from %02X00, read of %04X: %02X, not %02X", cases[i].page,
                     cases[i].address, dm_gb_get_registers(gb).a, wanted);
        /* Looking from outside is not disturbed. */
        assert_int_equal(dm_gb_peek(gb, cases[i].address), own);
        dm_gb_destroy(gb);
    }
}

/* A write on the transfer's bus goes to OAM in the byte's place, from WRAM both pull; on another
 * bus it goes where it should. */
static void writes_meet_the_transfer(void **state)
{
    (void)state;
    static const struct {
        uint8_t page;
        uint16_t address;
        bool lost;
    } cases[] = {{0xC1, 0xC055, true}, {0xC1, 0x8055, false}, {0xC1, 0xFFF0, false},
                 {0x20, 0xC055, true}, {0x80, 0xC055, false}, {0x80, 0x9F55, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[200];
        snprintf(
            code, sizeof code,
            " ld hl, $%04X\n ld a, $%02X\n ldh [$FF46], a\n REPT 10\n nop\n ENDR\n ld [hl], a\n",
            cases[i].address, cases[i].page);
        dm_gb *gb = make(code);
        uint8_t own = dm_gb_peek(gb, cases[i].address);
        steps(gb, 3 + 10 + 1);
        uint8_t oam = dm_gb_peek(gb, 0xFE0A), byte = pattern(cases[i].page, 10);
        uint8_t mixed = cases[i].page >= 0xC0 ? byte & cases[i].page : cases[i].page;
        assert_int_equal(dm_gb_peek(gb, cases[i].address), cases[i].lost ? own : cases[i].page);
        if (oam != (cases[i].lost ? mixed : byte))
            fail_msg("DMA from %02X00, write to %04X: OAM has %02X", cases[i].page,
                     cases[i].address, oam);
        dm_gb_destroy(gb);
    }
}

DM_TESTS("gb/dma", DM_TEST(one_byte_each_m_cycle), DM_TEST(oam_is_closed_while_it_runs),
         DM_TEST(a_second_start_takes_over), DM_TEST(halt_holds_it),
         DM_TEST(every_page_can_be_read), DM_TEST(reads_meet_the_transfer),
         DM_TEST(writes_meet_the_transfer))
