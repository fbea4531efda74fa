/* SPDX-License-Identifier: MIT */
/* The public face of one machine (dotmatrix/gb.h). */
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <string.h>

#define ROMS DM_TEST_SOURCE_ROOT "/roms"
enum { PIXELS = DM_GB_SCREEN_W * DM_GB_SCREEN_H };

static dm_gb *make_text(const char *source, const dm_gb_options *options)
{
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("core", source, strlen(source), NULL, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, options, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

static dm_gb *make_rom(const char *path)
{
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    const dm_gb_asm_options options = {.include_dir = ROMS "/include"};
    assert_ok(dm_gb_asm_file(path, &options, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

/* Counts in B, and in memory at C000; never ends. */
static const char counting[] = "HEADER \"COUNT\", MBC1_RAM_BATTERY, 8\n"
                               "SECTION \"entry\", ROM0[$100]\n jp Main\n"
                               "SECTION \"main\", ROM0[$150]\n"
                               "Main: ld hl, $C000\n"   /* 0150 */
                               "Loop: inc b\n"          /* 0153 */
                               " call Add\n"            /* 0154 */
                               " jr Loop\n"             /* 0157 */
                               "Add: inc [hl]\n ret\n"; /* 0159 */

/* ---- Creation ---- */

static void creation_errors_say_why(void **state)
{
    (void)state;
    static const uint8_t rom[0x8000], boot[257];
    static const struct {
        dm_gb_options options;
        const char *reason;
    } cases[] = {
        {{.start = DM_GB_START_BOOT_ROM}, "boot ROM: a DMG's has 256 bytes, this one 0"},
        {{.start = DM_GB_START_BOOT_ROM, .boot_rom = boot, .boot_rom_size = 255}, "255"},
        {{.start = DM_GB_START_BOOT_ROM, .boot_rom = boot, .boot_rom_size = 257}, "257"},
        {{.start = DM_GB_START_BOOT_ROM, .boot_rom_size = 256}, "boot ROM"},
        {{.start = (enum dm_gb_start)3}, "no such way to start: 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_gb *gb = (dm_gb *)&gb;
        dm_error err = {0};
        assert_int_equal(dm_gb_create(rom, sizeof rom, &cases[i].options, &gb, &err), DM_EINVAL);
        assert_null(gb);
        assert_non_null(strstr(err.message, cases[i].reason));
    }
    dm_gb *gb = NULL;
    dm_error err = {0};
    assert_int_not_equal(dm_gb_create(rom, 0, NULL, &gb, &err), DM_OK);
    assert_null(gb);
    assert_int_not_equal(dm_gb_create_file("no/such/file.gb", NULL, &gb, &err), DM_OK);
    assert_non_null(strstr(err.message, "no/such/file.gb"));
    assert_null(gb);
    dm_gb_destroy(NULL);
}

static void a_boot_rom_runs_first(void **state)
{
    (void)state;
    uint8_t boot[256] = {0x3E, 0x42,                /* ld a,$42 */
                         0xEA, 0x00, 0xC1,          /* ld [$C100],a */
                         0xC3, 0xFC, 0x00};         /* jp $00FC */
    const uint8_t end[] = {0x3E, 0x01, 0xE0, 0x50}; /* ld a,1; ldh [$FF50],a */
    memcpy(boot + 0xFC, end, sizeof end);
    dm_gb *gb = make_text(counting, &(dm_gb_options){.start = DM_GB_START_BOOT_ROM,
                                                     .boot_rom = boot,
                                                     .boot_rom_size = sizeof boot});
    memset(boot, 0, sizeof boot); /* it was copied */
    assert_int_equal(dm_gb_get_registers(gb).pc, 0);
    assert_int_equal(dm_gb_peek(gb, 0), 0x3E);
    const uint16_t entry = 0x0100;
    assert_true(dm_gb_run_to(gb, &entry, 1, 1000));
    assert_int_equal(dm_gb_peek(gb, 0xC100), 0x42);
    assert_int_equal(dm_gb_peek(gb, 0), 0x00);
    dm_gb_reset(gb);
    assert_int_equal(dm_gb_peek(gb, 0), 0x3E);
    dm_gb_destroy(gb);
}

/* A boot ROM of so many NOPs that then reads a register into A. */
static uint8_t read_at_power_on(uint32_t nops, uint8_t reg)
{
    uint8_t boot[256] = {0};
    const uint8_t read[] = {0xF0, reg, 0x18, 0xFE}; /* ldh a,[reg]; jr @ */
    memcpy(boot + nops, read, sizeof read);
    dm_gb *gb = make_text(counting, &(dm_gb_options){.start = DM_GB_START_BOOT_ROM,
                                                     .boot_rom = boot,
                                                     .boot_rom_size = sizeof boot});
    for (uint32_t i = 0; i < nops + 1; i++)
        dm_gb_step(gb);
    uint8_t value = dm_gb_get_registers(gb).a;
    dm_gb_destroy(gb);
    return value;
}

/* The values are SameBoy's: it counts DIV from 8. The read is the third M-cycle of its LDH. */
static void a_boot_rom_finds_the_registers_of_power_on(void **state)
{
    (void)state;
    static const struct {
        uint32_t nops;
        uint8_t reg, value;
    } cases[] = {
        {0, 0x04, 0},    {59, 0x04, 0},   {60, 0x04, 1},   {123, 0x04, 1},
        {124, 0x04, 2},  {187, 0x04, 2},  {188, 0x04, 3},  {0, 0x46, 0xFF},
        {0, 0x48, 0xFF}, {0, 0x49, 0xFF}, {0, 0x47, 0x00}, {0, 0x40, 0x00},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t value = read_at_power_on(cases[i].nops, cases[i].reg);
        if (value != cases[i].value)
            fail_msg("FF%02X after %u NOPs: %02X, expected %02X", cases[i].reg, cases[i].nops,
                     value, cases[i].value);
    }
}

static void reset_keeps_only_the_battery(void **state)
{
    (void)state;
    static const char *const types[] = {"MBC1_RAM_BATTERY", "MBC1_RAM"};
    for (int battery = 1; battery >= 0; battery--) {
        char source[200] = "HEADER \"RESET\", ";
        strcat(source, types[1 - battery]);
        strcat(source, ", 8\nSECTION \"e\", ROM0[$100]\n jr @\n");
        dm_gb *gb = make_text(source, NULL);
        dm_gb_registers start = dm_gb_get_registers(gb);
        dm_gb_poke(gb, 0x0000, 0x0A);
        dm_gb_poke(gb, 0xA123, 0x77);
        dm_gb_poke(gb, 0xC123, 0x77);
        dm_gb_poke(gb, 0xFF90, 0x77);
        dm_gb_poke(gb, 0x8000, 0x77);
        dm_gb_run_frames(gb, 3, DM_GB_DRAW_NEVER);
        dm_gb_reset(gb);
        assert_int_equal(dm_gb_peek(gb, 0xA123), 0xFF); /* switched off again */
        dm_gb_poke(gb, 0x0000, 0x0A);
        assert_int_equal(dm_gb_peek(gb, 0xA123), battery ? 0x77 : 0);
        assert_int_equal(dm_gb_peek(gb, 0xC123), 0);
        assert_int_equal(dm_gb_peek(gb, 0xFF90), 0);
        assert_int_equal(dm_gb_peek(gb, 0x8000), 0);
        assert_int_equal(dm_gb_get_counters(gb).cycles, 0);
        dm_gb_registers again = dm_gb_get_registers(gb);
        assert_int_equal(again.pc, start.pc);
        assert_int_equal(again.sp, start.sp);
        dm_gb_destroy(gb);
    }
}

/* ---- Running ---- */

static void two_frames_are_one_and_one(void **state)
{
    (void)state;
    dm_gb *a = make_rom(ROMS "/game/STARFALL.asm"), *b = make_rom(ROMS "/game/STARFALL.asm");
    for (int i = 0; i < 60; i++) {
        dm_gb_run_frames(a, 2, DM_GB_DRAW_ALWAYS);
        dm_gb_run_frames(b, 1, DM_GB_DRAW_ALWAYS);
        dm_gb_run_frames(b, 1, DM_GB_DRAW_ALWAYS);
        assert_memory_equal(dm_gb_frame(a), dm_gb_frame(b), PIXELS);
    }
    dm_gb_run_frames(a, 0, DM_GB_DRAW_ALWAYS);
    for (unsigned address = 0x8000; address < 0x10000; address++)
        assert_int_equal(dm_gb_peek(a, (uint16_t)address), dm_gb_peek(b, (uint16_t)address));
    dm_gb_counters x = dm_gb_get_counters(a), y = dm_gb_get_counters(b);
    assert_memory_equal(&x, &y, sizeof x);
    /* A run ends with the instruction that reaches its end. */
    assert_in_range(x.cycles, 120 * DM_GB_FRAME_CYCLES, 120 * DM_GB_FRAME_CYCLES + 24);
    dm_gb_destroy(a);
    dm_gb_destroy(b);
}

static void run_cycles_goes_on_from_its_last_end(void **state)
{
    (void)state;
    dm_gb *gb = make_text(counting, NULL);
    for (uint64_t i = 1; i <= 1000; i++) {
        dm_gb_run_cycles(gb, 100, DM_GB_DRAW_NEVER);
        uint64_t cycles = dm_gb_get_counters(gb).cycles;
        assert_in_range(cycles, 100 * i, 100 * i + 23);
    }
    dm_gb_destroy(gb);
}

static void run_to_stops_at_addresses(void **state)
{
    (void)state;
    dm_gb *gb = make_text(counting, NULL);
    const uint16_t loop = 0x0153, add = 0x0159, never = 0x4000, both[] = {never, 0x0157};
    assert_true(dm_gb_run_to(gb, &loop, 1, 1000));
    uint8_t b = dm_gb_get_registers(gb).b;
    /* The instruction at PC is executed first, so this goes once round. */
    assert_true(dm_gb_run_to(gb, &loop, 1, 1000));
    assert_int_equal(dm_gb_get_registers(gb).b, b + 1);
    assert_int_equal(dm_gb_peek(gb, 0xC000), 1);
    assert_true(dm_gb_run_to(gb, &add, 1, 1000));
    assert_int_equal(dm_gb_get_registers(gb).pc, add);
    assert_true(dm_gb_run_to(gb, both, 2, 1000));
    assert_int_equal(dm_gb_get_registers(gb).pc, 0x0157);
    uint64_t before = dm_gb_get_counters(gb).cycles;
    assert_false(dm_gb_run_to(gb, &never, 1, 1000));
    assert_in_range(dm_gb_get_counters(gb).cycles, before + 1000, before + 1024);
    assert_false(dm_gb_run_to(gb, NULL, 0, 100));
    dm_gb_destroy(gb);
}

/* ---- Memory ---- */

static void peek_and_poke_reach_everything(void **state)
{
    (void)state;
    dm_gb *gb = make_text(counting, NULL);
    static const uint16_t memory[] = {0x8000, 0x9FFF, 0xC000, 0xDFFF,
                                      0xFE00, 0xFE9F, 0xFF80, 0xFFFE};
    /* In every mode of the picture unit. */
    for (int i = 0; i < 500; i++) {
        for (size_t j = 0; j < sizeof memory / sizeof memory[0]; j++) {
            dm_gb_poke(gb, memory[j], (uint8_t)(i + (int)j));
            assert_int_equal(dm_gb_peek(gb, memory[j]), (uint8_t)(i + (int)j));
        }
        dm_gb_run_cycles(gb, 52, DM_GB_DRAW_NEVER);
    }
    dm_gb_poke(gb, 0xC123, 0x42);
    assert_int_equal(dm_gb_peek(gb, 0xE123), 0x42);
    dm_gb_poke(gb, 0xFDFF, 0x43);
    assert_int_equal(dm_gb_peek(gb, 0xDDFF), 0x43);
    dm_gb_poke(gb, 0xFEA0, 1);
    assert_int_equal(dm_gb_peek(gb, 0xFEA0), 0);
    dm_gb_poke(gb, 0x0150, 0xFF); /* a mapper register, not ROM */
    assert_int_equal(dm_gb_peek(gb, 0x0150), 0x21);
    dm_gb_poke(gb, 0xFF42, 0x12);
    assert_int_equal(dm_gb_peek(gb, 0xFF42), 0x12);
    dm_gb_poke(gb, 0xFF07, 0xFD);
    assert_int_equal(dm_gb_peek(gb, 0xFF07), 0xFD);
    dm_gb_poke(gb, 0xFF04, 0x99); /* as the CPU: clears */
    assert_int_equal(dm_gb_peek(gb, 0xFF04), 0);
    dm_gb_destroy(gb);
}

static void serial_output_is_kept(void **state)
{
    (void)state;
    dm_gb *gb = make_text(counting, NULL);
    size_t size = 1;
    dm_gb_serial_output(gb, &size);
    assert_int_equal(size, 0);
    for (const char *c = "hello"; *c != '\0'; c++) {
        dm_gb_poke(gb, 0xFF01, (uint8_t)*c);
        dm_gb_poke(gb, 0xFF02, 0x81);
        dm_gb_run_cycles(gb, 5000, DM_GB_DRAW_NEVER);
    }
    const uint8_t *out = dm_gb_serial_output(gb, &size);
    assert_int_equal(size, 5);
    assert_memory_equal(out, "hello", 5);
    dm_gb_serial_clear(gb);
    dm_gb_serial_output(gb, &size);
    assert_int_equal(size, 0);
    dm_gb_destroy(gb);
}

/* ---- Pictures ---- */

/* Drawing only the last frame shows the same as drawing all, from any place in the frame. */
static void the_last_picture_is_the_same(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 24, 1023, 1024, 1025, 2049};
    static const uint32_t offsets[] = {0, 404, 30000, 66000};
    for (size_t i = 0; i < 4 * sizeof counts / sizeof counts[0]; i++) {
        uint32_t count = counts[i / 4], offset = offsets[i % 4];
        dm_gb *all = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
        dm_gb *last = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
        dm_gb_run_cycles(all, 30 * DM_GB_FRAME_CYCLES + offset, DM_GB_DRAW_ALWAYS);
        dm_gb_run_cycles(last, 30 * DM_GB_FRAME_CYCLES + offset, DM_GB_DRAW_ALWAYS);
        int moved = 0;
        for (int run = 0; run < 4; run++) {
            uint8_t before[PIXELS];
            memcpy(before, dm_gb_frame(all), PIXELS);
            dm_gb_run_frames(all, count, DM_GB_DRAW_ALWAYS);
            dm_gb_run_frames(last, count, DM_GB_DRAW_LAST);
            if (memcmp(dm_gb_frame(all), dm_gb_frame(last), PIXELS) != 0)
                fail_msg("run %d of %u frames from %u on: not the same picture", run, count,
                         offset);
            moved += memcmp(dm_gb_frame(all), before, PIXELS) != 0;
        }
        /* Or an old picture would not be noticed. */
        if (count < 24)
            assert_true(moved > 0);
        dm_gb_destroy(all);
        dm_gb_destroy(last);
    }
}

/* The same with calls of many lengths, one after the other. */
static void the_last_picture_after_any_call(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {DM_GB_FRAME_CYCLES,
                                       1000,
                                       5 * DM_GB_FRAME_CYCLES,
                                       66000,
                                       30000,
                                       2 * DM_GB_FRAME_CYCLES,
                                       100000,
                                       1};
    dm_gb *all = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
    dm_gb *last = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
    uint32_t random = 1;
    for (int run = 0; run < 400; run++) {
        random = random * 1664525u + 1013904223u;
        uint32_t cycles = lengths[random >> 29];
        dm_gb_run_cycles(all, cycles, DM_GB_DRAW_ALWAYS);
        dm_gb_run_cycles(last, cycles, DM_GB_DRAW_LAST);
        if (memcmp(dm_gb_frame(all), dm_gb_frame(last), PIXELS) != 0)
            fail_msg("run %d of %u cycles: not the same picture", run, cycles);
    }
    dm_gb_destroy(all);
    dm_gb_destroy(last);
}

static void not_drawing_leaves_the_picture(void **state)
{
    (void)state;
    dm_gb *gb = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
    uint8_t before[PIXELS];
    dm_gb_run_frames(gb, 30, DM_GB_DRAW_ALWAYS);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER); /* one that was begun is finished */
    memcpy(before, dm_gb_frame(gb), PIXELS);
    dm_gb_run_frames(gb, 13, DM_GB_DRAW_NEVER);
    assert_memory_equal(dm_gb_frame(gb), before, PIXELS);
    dm_gb_run_frames(gb, 2, DM_GB_DRAW_LAST);
    assert_true(memcmp(dm_gb_frame(gb), before, PIXELS) != 0);
    dm_gb_destroy(gb);
}

static void without_lcd_the_screen_is_blank(void **state)
{
    (void)state;
    static const uint8_t blank[PIXELS];
    dm_gb *gb = make_rom(ROMS "/micro/BG_SCROLL_ANIM.asm");
    dm_gb_run_frames(gb, 30, DM_GB_DRAW_ALWAYS);
    assert_true(memcmp(dm_gb_frame(gb), blank, PIXELS) != 0);
    uint8_t lcdc = dm_gb_peek(gb, 0xFF40);
    dm_gb_poke(gb, 0xFF40, lcdc & 0x7F);
    assert_memory_equal(dm_gb_frame(gb), blank, PIXELS);
    dm_gb_run_cycles(gb, 5000, DM_GB_DRAW_ALWAYS);
    assert_memory_equal(dm_gb_frame(gb), blank, PIXELS);
    /* The first frame after switching on is not shown. */
    dm_gb_poke(gb, 0xFF40, lcdc);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_ALWAYS);
    assert_memory_equal(dm_gb_frame(gb), blank, PIXELS);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_ALWAYS);
    assert_true(memcmp(dm_gb_frame(gb), blank, PIXELS) != 0);
    dm_gb_destroy(gb);
}

DM_TESTS("gb/core", DM_TEST(creation_errors_say_why), DM_TEST(a_boot_rom_runs_first),
         DM_TEST(a_boot_rom_finds_the_registers_of_power_on), DM_TEST(reset_keeps_only_the_battery),
         DM_TEST(two_frames_are_one_and_one), DM_TEST(run_cycles_goes_on_from_its_last_end),
         DM_TEST(run_to_stops_at_addresses), DM_TEST(peek_and_poke_reach_everything),
         DM_TEST(serial_output_is_kept), DM_TEST(the_last_picture_is_the_same),
         DM_TEST(the_last_picture_after_any_call), DM_TEST(not_drawing_leaves_the_picture),
         DM_TEST(without_lcd_the_screen_is_blank))
