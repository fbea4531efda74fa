/* SPDX-License-Identifier: MIT */
/* The verdicts on public test ROMs (tests/roms), tried on small programs that say their result in
 * each of the ways those ROMs do, rightly, wrongly or not at all. */
#include "romtools/asm.h"
#include "tests/roms/verdict.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <string.h>

static dm_rom_result result;

/* Assemble `body` as the program at $0150 and judge it. */
static void judge(const dm_rom_plan *plan, const char *body)
{
    dm_buffer source = DM_BUFFER_EMPTY;
    dm_buffer_printf(&source,
                     "HEADER \"TEST\", MBC1_RAM, 8\nSECTION \"entry\", ROM0[$100]\n jp Main\n"
                     "SECTION \"main\", ROM0[$150]\nMain:\n%s\n",
                     body);
    dm_gb_asm_result rom;
    dm_error err = {0};
    if (dm_gb_asm_text("t.asm", source.data, source.size, NULL, &rom, &err) != DM_OK)
        fail_msg("%s", dm_buffer_text(&rom.messages));
    dm_rom_judge(plan, rom.rom, rom.rom_size, &result);
    dm_gb_asm_result_deinit(&rom);
    dm_buffer_deinit(&source);
}

static void judge_by(enum dm_rom_protocol protocol, const char *body)
{
    static dm_rom_plan plan;
    plan = (dm_rom_plan){.suite = "test", .protocol = protocol, .frames = 20};
    judge(&plan, body);
}

#define assert_verdict(verdict_, part)                                                             \
    do {                                                                                           \
        if (result.verdict != (verdict_) || strstr(result.how, part) == NULL)                      \
            fail_msg("%s: %s", dm_rom_verdict_name(result.verdict), result.how);                   \
    } while (0)

#define FIBONACCI " ld bc, $0305\n ld de, $080D\n ld hl, $1522\n"
#define FORTY_TWO " ld bc, $4242\n ld de, $4242\n ld hl, $4242\n"

/* ---- registers ---- */

static void registers_behind_a_breakpoint(void **state)
{
    (void)state;
    judge_by(DM_ROM_REGISTERS, " di\n" FIBONACCI " ld b, b\n jr @\n");
    assert_verdict(DM_ROM_PASS, "registers");
    assert_true(result.seconds < 0.1);
    judge_by(DM_ROM_REGISTERS, " di\n" FORTY_TWO " ld b, b\n.stay: halt\n nop\n jr .stay\n");
    assert_verdict(DM_ROM_FAIL, "registers");
    judge_by(DM_ROM_REGISTERS, " di\n" FIBONACCI " inc l\n ld b, b\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "03 05 08 0D 15 23");
}

static void registers_without_a_breakpoint(void **state)
{
    (void)state;
    judge_by(DM_ROM_REGISTERS, " di\n" FIBONACCI ".stay: nop\n jr .stay\n");
    assert_verdict(DM_ROM_PASS, "registers");
    judge_by(DM_ROM_REGISTERS, " di\n ld hl, $1234\n.stay: nop\n jr .stay\n");
    assert_verdict(DM_ROM_FAIL, "12 34");
    judge_by(DM_ROM_REGISTERS, " di\n" FIBONACCI " db $ED\n");
    assert_verdict(DM_ROM_PASS, "registers");
    judge_by(DM_ROM_REGISTERS, " di\n" FORTY_TWO " db $ED\n");
    assert_verdict(DM_ROM_FAIL, "registers");
    judge_by(DM_ROM_REGISTERS, " di\n db $ED\n");
    assert_verdict(DM_ROM_FAIL, "locked");
    /* Asleep with nothing enabled: over, whatever stands behind it. */
    judge_by(DM_ROM_REGISTERS,
             FIBONACCI " xor a\n ldh [$FFFF], a\n ei\n nop\n halt\n nop\n jp Main\n");
    assert_verdict(DM_ROM_PASS, "registers");
}

/* Right registers in a program that is still at work are no result. */
static void registers_of_a_running_program(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        " di\n" FIBONACCI ".wait: ldh a, [$FF44]\n inc a\n jr .wait\n",
        " di\n" FIBONACCI ".wait: ldh a, [$FF44]\n cp $FF\n jr nz, .wait\n ld b, b\n jr @\n",
        /* waits in an idle loop, but an interrupt leads out of it */
        (" xor a\n ldh [$FF0F], a\n ld a, 1\n ldh [$FFFF], a\n ei\n jr @\n"
         "SECTION \"vblank\", ROM0[$40]\n pop hl\n jp Main\n")};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        judge_by(DM_ROM_REGISTERS, bodies[i]);
        assert_verdict(DM_ROM_FAIL, "no result in 0.3 s");
        assert_true(result.seconds > 0.3);
    }
}

/* ---- blargg ---- */

#define SIGNATURE                                                                                  \
    " ld a, $0A\n ld [$0000], a\n ld a, $80\n ld [$A000], a\n ld a, $DE\n ld [$A001], a\n"         \
    " ld a, $B0\n ld [$A002], a\n ld a, $61\n ld [$A003], a\n"
#define SEND                                                                                       \
    " ld hl, Text\n.next: ld a, [hl+]\n or a\n jr z, @\n ldh [$FF01], a\n ld a, $81\n"             \
    " ldh [$FF02], a\n.wait: ldh a, [$FF02]\n bit 7, a\n jr nz, .wait\n jr .next\n"

static void blargg_by_memory(void **state)
{
    (void)state;
    judge_by(DM_ROM_BLARGG, SIGNATURE " xor a\n ld [$A000], a\n jr @\n");
    assert_verdict(DM_ROM_PASS, "memory: 0");
    judge_by(DM_ROM_BLARGG, SIGNATURE " ld a, 'N'\n ld [$A004], a\n ld a, 'o'\n ld [$A005], a\n"
                                      " ld a, 3\n ld [$A000], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "memory: 3: No");
    judge_by(DM_ROM_BLARGG, SIGNATURE " jr @\n");
    assert_verdict(DM_ROM_FAIL, "no result");
    judge_by(DM_ROM_BLARGG, SIGNATURE " xor a\n ld [$A003], a\n ld [$A000], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "no result");
}

static void blargg_by_serial(void **state)
{
    (void)state;
    judge_by(DM_ROM_BLARGG, SEND "Text: db \"01:ok\\n\\nPassed\", 0\n");
    assert_verdict(DM_ROM_PASS, "serial: Passed");
    judge_by(DM_ROM_BLARGG, SEND "Text: db \"03:01\\n\\nFailed 1 tests\", 0\n");
    assert_verdict(DM_ROM_FAIL, "serial: 03:01 F");
    judge_by(DM_ROM_BLARGG, SEND "Text: db \"01:ok\", 0\n");
    assert_verdict(DM_ROM_FAIL, "no result");
}

#define PRINT                                                                                      \
    " xor a\n ldh [$FF40], a\n ld hl, Text\n ld de, $9842\n.next: ld a, [hl+]\n or a\n jr z, @\n"  \
    " ld [de], a\n inc de\n jr .next\n"

static void blargg_by_screen(void **state)
{
    (void)state;
    judge_by(DM_ROM_BLARGG, PRINT "Text: db \"Passed\", 0\n");
    assert_verdict(DM_ROM_PASS, "screen");
    judge_by(DM_ROM_BLARGG, PRINT "Text: db \"Failed #2\", 0\n");
    assert_verdict(DM_ROM_FAIL, "screen: ");
    judge_by(DM_ROM_BLARGG, PRINT "Text: db \"Pass\", 0\n");
    assert_verdict(DM_ROM_FAIL, "no result");
}

/* ---- gbmicrotest ---- */

static void bytes_in_hram(void **state)
{
    (void)state;
    judge_by(DM_ROM_HRAM,
             " ld a, $55\n ldh [$FF80], a\n ldh [$FF81], a\n ld a, 1\n ldh [$FF82], a\n"
             " jr @\n");
    assert_verdict(DM_ROM_PASS, "55, expected 55");
    judge_by(DM_ROM_HRAM, " ld a, $54\n ldh [$FF80], a\n inc a\n ldh [$FF81], a\n ld a, $FF\n"
                          " ldh [$FF82], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "54, expected 55");
    judge_by(DM_ROM_HRAM, " xor a\n ldh [$FF82], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "no result");
    judge_by(DM_ROM_HRAM, " jr @\n");
    assert_verdict(DM_ROM_SKIP, "says no result");
}

/* ---- pictures and digits ---- */

/* The whole background in shade 2. */
#define GREY " ld a, $02\n ldh [$FF47], a\n jr @\n"

static void compares_pictures(void **state)
{
    static dm_rom_plan plan;
    static uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    plan = (dm_rom_plan){.suite = "test", .protocol = DM_ROM_PICTURE, .frames = 5};
    snprintf(plan.references[0], DM_PATH_MAX, "%s", dm_test_path(state, "a.png"));
    snprintf(plan.references[1], DM_PATH_MAX, "%s", dm_test_path(state, "b.png"));
    memset(shades, 2, sizeof shades);
    for (size_t i = 0; i < 4; i++)
        shades[i] = (uint8_t)i;
    assert_ok(dm_rom_picture_write(plan.references[0], shades, err));
    uint8_t back[sizeof shades];
    assert_ok(dm_rom_picture_read(plan.references[0], back, err));
    assert_memory_equal(back, shades, sizeof shades);

    plan.reference_count = 1;
    judge(&plan, GREY);
    assert_verdict(DM_ROM_FAIL, "picture: 3 pixels differ");
    memset(shades, 2, sizeof shades);
    assert_ok(dm_rom_picture_write(plan.references[1], shades, err));
    plan.reference_count = 2;
    judge(&plan, GREY);
    assert_verdict(DM_ROM_PASS, "picture");
    assert_ok(dm_file_write(plan.references[0], "no PNG", 6, err));
    judge(&plan, GREY);
    assert_verdict(DM_ROM_SKIP, "a.png");
}

/* Counts presses of Down and shows the count as a shade once A is pressed. */
#define MENU                                                                                       \
    " xor a\n ldh [$FF47], a\n ld b, a\n.up: call Keys\n jr nz, .up\n.wait: call Keys\n"           \
    " jr z, .wait\n bit 3, a\n jr nz, .down\n ld a, b\n ldh [$FF47], a\n jr @\n"                   \
    ".down: inc b\n jr .up\n"                                                                      \
    "Keys: ld a, $20\n ldh [$FF00], a\n ldh a, [$FF00]\n ldh a, [$FF00]\n cpl\n and $0F\n"         \
    " ret nz\n ld a, $10\n ldh [$FF00], a\n ldh a, [$FF00]\n ldh a, [$FF00]\n cpl\n and 1\n ret\n"

static void walks_a_menu(void **state)
{
    static dm_rom_plan plan;
    static uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    plan = (dm_rom_plan){.protocol = DM_ROM_MENU, .frames = 5, .reference_count = 3};
    for (size_t i = 0; i < 3; i++) {
        char name[] = {(char)('a' + i), '.', 'p', 'n', 'g', 0};
        snprintf(plan.references[i], DM_PATH_MAX, "%s", dm_test_path(state, name));
        memset(shades, (int)i, sizeof shades);
        assert_ok(dm_rom_picture_write(plan.references[i], shades, err));
    }
    judge(&plan, MENU);
    assert_verdict(DM_ROM_PASS, "3 pictures");
    shades[7] = 0;
    assert_ok(dm_rom_picture_write(plan.references[2], shades, err));
    judge(&plan, MENU);
    assert_verdict(DM_ROM_FAIL, "menu item 3: 1 pixels");
}

/* Tile n has n in each row; the map begins with tiles A and F. */
#define TILES                                                                                      \
    " xor a\n ldh [$FF40], a\n ld hl, $8000\n.tile: ld c, 16\n.row: ld [hl+], a\n dec c\n"         \
    " jr nz, .row\n inc a\n cp 16\n jr nz, .tile\n ld a, $F\n"                                     \
    " ld [$9801], a\n ld a, $A\n ld [$9800], a\n"

static void reads_digits(void **state)
{
    (void)state;
    static dm_rom_plan plan;
    plan = (dm_rom_plan){.protocol = DM_ROM_DIGITS, .frames = 5, .text = "AF"};
    judge(&plan, TILES " ld a, $91\n ldh [$FF40], a\n jr @\n");
    assert_verdict(DM_ROM_PASS, "digits: AF");
    snprintf(plan.text, sizeof plan.text, "BF");
    judge(&plan, TILES " ld a, $91\n ldh [$FF40], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "digits: AF, expected BF");
    /* A blank screen shows no digit, not even 0. */
    snprintf(plan.text, sizeof plan.text, "0");
    judge(&plan, " xor a\n ldh [$FF40], a\n jr @\n");
    assert_verdict(DM_ROM_FAIL, "digits: ?");
}

/* ---- cartridge RAM ---- */

static void compares_cartridge_ram(void **state)
{
    static dm_rom_plan plan;
    static const char body[] = " ld a, $0A\n ld [$0000], a\n ld a, $12\n ld [$A000], a\n"
                               " inc a\n ld [$A002], a\n xor a\n ld [$0000], a\n jr @\n";
    plan = (dm_rom_plan){.protocol = DM_ROM_SAVE, .frames = 20, .reference_count = 1};
    snprintf(plan.references[0], DM_PATH_MAX, "%s", dm_test_path(state, "real_gb.sav"));
    assert_ok(dm_file_write(plan.references[0], "\x12\0\x13", 3, err));
    judge(&plan, body);
    assert_verdict(DM_ROM_PASS, "cartridge RAM");
    assert_ok(dm_file_write(plan.references[0], "\x12\1\x14", 3, err));
    judge(&plan, body);
    assert_verdict(DM_ROM_FAIL, "2 of 3 bytes differ");
    static const char large[8193];
    assert_ok(dm_file_write(plan.references[0], large, sizeof large, err));
    judge(&plan, body);
    assert_verdict(DM_ROM_SKIP, "8193");
    assert_ok(dm_file_write(plan.references[0], "", 0, err));
    judge(&plan, body);
    assert_verdict(DM_ROM_SKIP, "0 bytes");
}

/* ---- what is not run ---- */

static void refuses_other_machines_and_damage(void **state)
{
    (void)state;
    static dm_rom_plan plan;
    static uint8_t rom[0x8000];
    plan = (dm_rom_plan){.protocol = DM_ROM_REGISTERS, .frames = 5};
    rom[0x143] = 0xC0;
    dm_rom_judge(&plan, rom, sizeof rom, &result);
    assert_verdict(DM_ROM_SKIP, "needs a CGB");
    dm_rom_judge(&plan, rom, 100, &result);
    assert_int_equal(result.verdict, DM_ROM_FAIL);
    plan.protocol = DM_ROM_NOT_RUN;
    snprintf(plan.text, sizeof plan.text, "for an MGB");
    dm_rom_judge(&plan, rom, sizeof rom, &result);
    assert_verdict(DM_ROM_SKIP, "for an MGB");
}

static void plans_by_path(void **state)
{
    static const struct {
        const char *path, *suite;
        enum dm_rom_protocol protocol;
        const char *text;
    } cases[] = {
        {"blargg/cpu_instrs/cpu_instrs.gb", "blargg", DM_ROM_BLARGG, ""},
        {"v7/blargg/halt_bug.gb", "blargg", DM_ROM_BLARGG, ""},
        {"mooneye/acceptance/di_timing-GS.gb", "mooneye", DM_ROM_REGISTERS, ""},
        {"mooneye/acceptance/boot_regs-dmgABC.gb", "mooneye", DM_ROM_REGISTERS, ""},
        {"mooneye/acceptance/boot_div-dmgABCmgb.gb", "mooneye", DM_ROM_REGISTERS, ""},
        {"mooneye/acceptance/boot_regs-dmg0.gb", "mooneye", DM_ROM_NOT_RUN, "dmg0"},
        {"mooneye/acceptance/boot_regs-mgb.gb", "mooneye", DM_ROM_NOT_RUN, "mgb"},
        {"mooneye/acceptance/boot_div-S.gb", "mooneye", DM_ROM_NOT_RUN, "S"},
        {"mooneye/misc/boot_hwio-C.gb", "mooneye", DM_ROM_NOT_RUN, "CGB"},
        {"mooneye-wilbertpol/acceptance/gpu/ly_lyc-C.gb", "mooneye-wilbertpol", DM_ROM_NOT_RUN,
         "C"},
        {"mooneye-wilbertpol/acceptance/gpu/ly_lyc-GS.gb", "mooneye-wilbertpol", DM_ROM_REGISTERS,
         ""},
        {"age-test-roms/dmg/ly-dmgC-cgbBC.gb", "age", DM_ROM_REGISTERS, ""},
        {"age-test-roms/x/ly-ncmBC.gb", "age", DM_ROM_NOT_RUN, "ncmBC"},
        {"samesuite/apu/channel_1/channel_1_align.gb", "samesuite", DM_ROM_NOT_RUN, "CGB"},
        {"samesuite/interrupt/ei_delay_halt.gb", "samesuite", DM_ROM_REGISTERS, ""},
        {"gambatte/a/x_1_dmg08_out1F_cgb04c_out2.gbc", "gambatte", DM_ROM_DIGITS, "1F"},
        {"gambatte/a/x_1_dmg08_cgb04c_outE0.gbc", "gambatte", DM_ROM_DIGITS, "E0"},
        {"gambatte/a/x_1_dmg08_cgb04c_outaudio1.gbc", "gambatte", DM_ROM_NOT_RUN, "sound"},
        {"gambatte/a/x_1_cgb04c_out1.gbc", "gambatte", DM_ROM_NOT_RUN, "DMG"},
        {"gbmicrotest/timer_div.gb", "gbmicrotest", DM_ROM_HRAM, ""},
        {"dmg-acid2/dmg-acid2.gb", "dmg-acid2", DM_ROM_NOT_RUN, "no reference"},
        {"games/blargg.gb", "other", DM_ROM_NOT_RUN, "no suite"},
    };
    static dm_rom_plan plan;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_rom_plan_make(&plan, dm_test_dir(state), cases[i].path);
        if (strcmp(plan.suite, cases[i].suite) != 0 || plan.protocol != cases[i].protocol ||
            strstr(plan.text, cases[i].text) == NULL)
            fail_msg("%s: %s, %d, %s", cases[i].path, plan.suite, (int)plan.protocol, plan.text);
    }
}

static void finds_reference_pictures(void **state)
{
    static const char *const names[] = {"daid/p_0.dmg.png", "daid/p_2.dmg.png", "daid/q.gbc.png",
                                        "mealybug-tearoom-tests/expected/DMG-blob/m.png"};
    assert_ok(dm_dir_create(dm_test_path(state, "daid"), err));
    assert_ok(dm_dir_create(dm_test_path(state, "mealybug-tearoom-tests/expected/DMG-blob"), err));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_ok(dm_file_write(dm_test_path(state, names[i]), "x", 1, err));
    static dm_rom_plan plan;
    dm_rom_plan_make(&plan, dm_test_dir(state), "daid/p.gb");
    assert_int_equal(plan.protocol, DM_ROM_PICTURE);
    assert_int_equal(plan.reference_count, 2);
    assert_non_null(strstr(plan.references[1], "daid/p_2.dmg.png"));
    dm_rom_plan_make(&plan, dm_test_dir(state), "daid/q.gb");
    assert_int_equal(plan.protocol, DM_ROM_NOT_RUN);
    dm_rom_plan_make(&plan, dm_test_dir(state), "mealybug-tearoom-tests/m.gb");
    assert_int_equal(plan.reference_count, 1);
}

DM_TESTS("roms/verdict", DM_TEST(registers_behind_a_breakpoint),
         DM_TEST(registers_without_a_breakpoint), DM_TEST(registers_of_a_running_program),
         DM_TEST(blargg_by_memory), DM_TEST(blargg_by_serial), DM_TEST(blargg_by_screen),
         DM_TEST(bytes_in_hram), DM_TEST_IN_DIR(compares_pictures), DM_TEST_IN_DIR(walks_a_menu),
         DM_TEST(reads_digits), DM_TEST_IN_DIR(compares_cartridge_ram),
         DM_TEST(refuses_other_machines_and_damage), DM_TEST_IN_DIR(plans_by_path),
         DM_TEST_IN_DIR(finds_reference_pictures));
