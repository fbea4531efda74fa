/* SPDX-License-Identifier: MIT */
/* `dotmatrix run` from outside, on ROMs assembled here: what it writes is compared with what the
 * library does with the same ROM, keys and frames. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "romtools/asm.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/gb.h>

#include <gif_lib.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define W DM_GB_SCREEN_W
#define H DM_GB_SCREEN_H

/* Counts frames in C000 and scrolls by them, keeps the buttons in C001 (A B SELECT START, pressed
 * as 0), says "Hi" over the serial port, counts its starts in the cartridge's RAM. */
static const char program[] = "HEADER \"RUNTEST\", MBC1_RAM_BATTERY, 8\n"
                              "SECTION \"vblank\", ROM0[$40]\n"
                              "    jp VBlank\n"
                              "SECTION \"entry\", ROM0[$100]\n"
                              "    nop\n"
                              "    jp Start\n"
                              "SECTION \"main\", ROM0[$150]\n"
                              "Start:\n"
                              "    di\n"
                              "    ld sp, $FFFE\n"
                              "    xor a\n"
                              "    ldh [$FF40], a\n"
                              "    ld hl, $8000\n"
                              "    ld b, 16\n"
                              ".tile\n"
                              "    ld a, l\n"
                              "    add a, a\n"
                              "    add a, l\n"
                              "    xor $35\n"
                              "    ld [hl+], a\n"
                              "    dec b\n"
                              "    jr nz, .tile\n"
                              "    ld a, \"H\"\n"
                              "    call Send\n"
                              "    ld a, \"i\"\n"
                              "    call Send\n"
                              "    ld a, $1B\n"
                              "    call Send\n"
                              "    ld a, $0A\n"
                              "    ld [$0000], a\n"
                              "    ld a, [$A000]\n"
                              "    inc a\n"
                              "    ld [$A000], a\n"
                              "    xor a\n"
                              "    ld [$C000], a\n"
                              "    ld a, $E4\n"
                              "    ldh [$FF47], a\n"
                              "    ld a, $91\n"
                              "    ldh [$FF40], a\n"
                              "    ld a, 1\n"
                              "    ldh [$FFFF], a\n"
                              "    ei\n"
                              ".loop\n"
                              "    halt\n"
                              "    nop\n"
                              "    jr .loop\n"
                              "Send:\n"
                              "    ldh [$FF01], a\n"
                              "    ld a, $81\n"
                              "    ldh [$FF02], a\n"
                              ".busy\n"
                              "    ldh a, [$FF02]\n"
                              "    add a, a\n"
                              "    jr c, .busy\n"
                              "    ret\n"
                              "VBlank:\n"
                              "    push af\n"
                              "    ld a, [$C000]\n"
                              "    inc a\n"
                              "    ld [$C000], a\n"
                              "    ldh [$FF43], a\n"
                              "    ld a, $10\n"
                              "    ldh [$FF00], a\n"
                              "    ldh a, [$FF00]\n"
                              "    and $0F\n"
                              "    ld [$C001], a\n"
                              "    pop af\n"
                              "    reti\n";

static const char illegal[] = "HEADER \"ILLEGAL\", ROM\n"
                              "SECTION \"entry\", ROM0[$100]\n"
                              "    nop\n"
                              "    jp $0150\n"
                              "SECTION \"main\", ROM0[$150]\n"
                              "    db $D3\n";

/* Assemble into the test's folder; gives the path. */
static const char *assemble(void **state, const char *name, const char *text)
{
    const char *path = dm_test_path(state, name);
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text(name, text, strlen(text), NULL, &result, err));
    assert_ok(dm_file_write(path, result.rom, result.rom_size, err));
    dm_gb_asm_result_deinit(&result);
    return path;
}

static json_t *answer_of(const dm_test_result *r)
{
    dm_test_expect_exit(r, DM_EXIT_OK);
    json_t *json = NULL;
    assert_ok(dm_json_parse(r->out, r->out_size, "stdout", &json, err));
    return json;
}

static json_int_t number(json_t *json, const char *key)
{
    json_t *value = json_object_get(json, key);
    if (!json_is_integer(value))
        fail_msg("no number '%s' in the answer", key);
    return json_integer_value(value);
}

/* Byte i of the n-th --peek. */
static json_int_t byte_of(json_t *json, size_t n, size_t i)
{
    json_t *bytes = json_object_get(json_array_get(json_object_get(json, "memory"), n), "bytes");
    assert_true(json_array_size(bytes) > i);
    return json_integer_value(json_array_get(bytes, i));
}

static void answers_in_one_line(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "30");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_string_equal(r.err, "");
    assert_memory_equal(r.out, "30 frames, ", 11);
    assert_non_null(strstr(r.out, " in HALT, PC 0"));
    assert_ptr_equal(strchr(r.out, '\n'), r.out + r.out_size - 1);
    dm_test_result_free(&r);
}

static void json_says_the_same_as_the_library(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create_file(rom, NULL, &gb, err));
    dm_gb_run_frames(gb, 50, DM_GB_DRAW_NEVER);
    dm_gb_registers regs = dm_gb_get_registers(gb);
    dm_gb_counters counters = dm_gb_get_counters(gb);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames=50", "--json", "--serial", "--peek",
                      "C000:C002", "--peek", "$A000", "--peek", "0xFFF0:10000");
    json_t *json = answer_of(&r);
    assert_string_equal(json_string_value(json_object_get(json, "title")), "RUNTEST");
    assert_string_equal(json_string_value(json_object_get(json, "stopped")), "end");
    assert_string_equal(json_string_value(json_object_get(json, "serial")), "Hi\x1B");
    assert_int_equal(number(json, "frames"), 50);
    assert_int_equal(number(json, "instructions"), counters.instructions);
    assert_int_equal(number(json, "cycles"), counters.cycles);
    json_t *registers = json_object_get(json, "registers");
    assert_int_equal(number(registers, "pc"), regs.pc);
    assert_int_equal(number(registers, "sp"), regs.sp);
    assert_int_equal(number(registers, "a"), regs.a);
    assert_int_equal(byte_of(json, 0, 0), dm_gb_peek(gb, 0xC000));
    assert_in_range(byte_of(json, 0, 0), 45, 50); /* it does count frames */
    assert_int_equal(byte_of(json, 0, 1), 0x0F);
    assert_int_equal(byte_of(json, 1, 0), 1);
    assert_int_equal(byte_of(json, 2, 15), 1); /* IE */
    json_decref(json);
    dm_test_result_free(&r);
    dm_gb_destroy(gb);
}

static void keys_come_from_the_script(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *keys = dm_test_path(state, "keys.txt");
    static const char text[] = "# frame keys\n10 a,START\n20 -\n30 B\n";
    static const struct {
        const char *frames;
        int held; /* as the program reads it */
    } cases[] = {{"9", 0x0F}, {"15", 0x06}, {"25", 0x0F}, {"40", 0x0D}};
    assert_ok(dm_file_write(keys, text, strlen(text), err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", cases[i].frames, "--input", keys,
                          "--json", "--peek", "C001");
        json_t *json = answer_of(&r);
        assert_int_equal(byte_of(json, 0, 0), cases[i].held);
        json_decref(json);
        dm_test_result_free(&r);
    }
}

static void png_is_the_screen(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *path = dm_test_path(state, "a.png");
    /* 1 and 2 are shorter than what a picture takes to be drawn. */
    static const char *const frames[] = {"1", "2", "3", "37"};
    for (size_t i = 0; i < 4; i++) {
        dm_gb *gb = NULL;
        assert_ok(dm_gb_create_file(rom, NULL, &gb, err));
        dm_gb_run_frames(gb, (uint32_t)atoi(frames[i]), DM_GB_DRAW_ALWAYS);
        const uint8_t *shades = dm_gb_frame(gb);
        dm_test_result r;
        dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", frames[i], "--png", path, "--scale",
                          "2");
        dm_test_expect_exit(&r, DM_EXIT_OK);
        dm_test_result_free(&r);
        png_image image = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_file(&image, path));
        assert_int_equal(image.width, 2 * W);
        image.format = PNG_FORMAT_GRAY;
        uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
        assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
        unsigned used = 0;
        for (int y = 0; y < 2 * H; y++) {
            for (int x = 0; x < 2 * W; x++) {
                assert_int_equal(pixels[y * 2 * W + x], 255 - 85 * shades[y / 2 * W + x / 2]);
                used |= 1u << shades[y / 2 * W + x / 2];
            }
        }
        if (i == 3)
            assert_int_equal(used, 0xF); /* a picture with something on it */
        free(pixels);
        dm_gb_destroy(gb);
    }
}

static void gif_shows_every_kth_frame(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *path = dm_test_path(state, "a.gif");
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "40", "--gif", path, "--every", "3");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create_file(rom, NULL, &gb, err));
    int code = 0, shown = 0;
    GifFileType *gif = DGifOpenFileName(path, &code);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    uint8_t screen[W * H], before[W * H];
    for (int frame = 3; frame < 43; frame += 3) {
        dm_gb_run_frames(gb, frame <= 40 ? 3 : 1, DM_GB_DRAW_ALWAYS);
        const uint8_t *shades = dm_gb_frame(gb);
        if (frame > 3 && memcmp(before, shades, sizeof before) == 0)
            continue; /* it only lasts longer */
        memcpy(before, shades, sizeof before);
        assert_in_range(shown, 0, gif->ImageCount - 1);
        const SavedImage *image = &gif->SavedImages[shown++];
        const GifImageDesc *d = &image->ImageDesc;
        for (int y = 0; y < d->Height; y++)
            memcpy(screen + (d->Top + y) * W + d->Left, image->RasterBits + y * d->Width,
                   (size_t)d->Width);
        assert_memory_equal(screen, shades, sizeof screen);
    }
    assert_int_equal(shown, gif->ImageCount);
    assert_true(shown > 8);
    DGifCloseFile(gif, &code);
    dm_gb_destroy(gb);
}

static void trace_shows_each_instruction(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    static const char expected[] =
        "         0  0100  00        NOP                  A=01 F=Z-HC BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "         4  0101  C3 50 01  JP $0150             A=01 F=Z-HC BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "        20  0150  F3        DI                   A=01 F=Z-HC BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "        24  0151  31 FE FF  LD SP,$FFFE          A=01 F=Z-HC BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "        36  0154  AF        XOR A,A              A=01 F=Z-HC BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "        40  0155  E0 40     LDH [$FF40],A        A=00 F=Z--- BC=0013 DE=00D8 HL=014D "
        "SP=FFFE\n"
        "3 frames, ";
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "3", "--trace", "--trace-limit", "6");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    r.out[strlen(expected)] = 0;
    assert_string_equal(r.out, expected);
    dm_test_result_free(&r);
}

static void trace_tells_interrupts_from_instructions(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "20", "--trace");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    int interrupts = 0, halts = 0, returns = 0;
    for (const char *at = r.out; (at = strstr(at, "interrupt to $0040")) != NULL; at++)
        interrupts++;
    for (const char *at = r.out; (at = strstr(at, " HALT  ")) != NULL; at++)
        halts++;
    for (const char *at = r.out; (at = strstr(at, " RETI  ")) != NULL; at++)
        returns++;
    assert_in_range(interrupts, 15, 20);
    assert_int_equal(returns, interrupts);
    assert_in_range(halts, interrupts, interrupts + 1);
    dm_test_result_free(&r);
}

/* Stepping (a breakpoint that is never reached, a trace that ends early) changes nothing. */
static void stepping_ends_in_the_same_state(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *states[3] = {dm_test_path(state, "plain.state"), dm_test_path(state, "break.state"),
                             dm_test_path(state, "trace.state")};
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "25", "--save", states[0]);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "25", "--save", states[1], "--break",
                      "7FFF");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_null(strstr(r.out, "breakpoint"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "25", "--save", states[2], "--trace",
                      "--trace-limit", "40000");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    json_t *seen[3];
    for (int i = 0; i < 3; i++) {
        dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "10", "--load", states[i], "--json",
                          "--peek", "8000:A000", "--peek", "C000:E000", "--peek", "FF00:10000");
        seen[i] = answer_of(&r);
        json_object_del(seen[i], "seconds");
        json_object_del(seen[i], "fps");
        dm_test_result_free(&r);
    }
    assert_true(json_equal(seen[0], seen[1]));
    assert_true(json_equal(seen[0], seen[2]));
    for (int i = 0; i < 3; i++)
        json_decref(seen[i]);
}

static void breakpoints_stop_and_say_where(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "100", "--break", "1234", "--break",
                      "0x40");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_memory_equal(r.out, "breakpoint at 0040, cycle ", 26);
    assert_non_null(strstr(r.out, "PC 0040\n"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "100", "--break", "$0151", "--json");
    json_t *json = answer_of(&r);
    assert_string_equal(json_string_value(json_object_get(json, "stopped")), "breakpoint");
    assert_int_equal(number(json, "frames"), 0);
    assert_int_equal(number(json, "cycles"), 24);
    json_decref(json);
    dm_test_result_free(&r);
}

static void states_continue_where_they_were_saved(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *saved = dm_test_path(state, "a.state");
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "40", "--save", saved);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "60", "--load", saved, "--json",
                      "--peek", "C000:C002");
    json_t *json = answer_of(&r);
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create_file(rom, NULL, &gb, err));
    dm_gb_run_frames(gb, 100, DM_GB_DRAW_NEVER);
    assert_int_equal(number(json_object_get(json, "registers"), "pc"), dm_gb_get_registers(gb).pc);
    assert_int_equal(byte_of(json, 0, 0), dm_gb_peek(gb, 0xC000));
    assert_int_equal(number(json, "frames"), 60);
    dm_gb_destroy(gb);
    json_decref(json);
    dm_test_result_free(&r);
}

static void the_battery_keeps_ram_between_runs(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *battery = dm_test_path(state, "a.sav");
    for (int start = 1; start <= 3; start++) {
        dm_test_result r;
        dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "5", "--battery", battery, "--json",
                          "--peek", "A000");
        json_t *json = answer_of(&r);
        assert_int_equal(byte_of(json, 0, 0), start);
        json_decref(json);
        dm_test_result_free(&r);
    }
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(battery, 0, &bytes, &size, err));
    assert_int_equal(size, 8192);
    assert_int_equal(bytes[0], 3);
    free(bytes);
}

static void pokes_come_before_the_run(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "0", "--poke", "C123=2a", "--poke",
                      "$FF80=0x07", "--peek", "C122:C125", "--peek", "FF80");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_memory_equal(r.out, "C122  00 2A 00\nFF80  07\n0 frames, ", 34);
    dm_test_result_free(&r);
}

static void serial_shows_odd_bytes_escaped(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "30", "--serial");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_memory_equal(r.out, "Hi\\x1B\n30 frames, ", 18);
    dm_test_result_free(&r);
}

static void a_locked_machine_is_told(void **state)
{
    const char *rom = assemble(state, "i.gb", illegal);
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "1000000000");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "locked up by an illegal opcode at 015"));
    dm_test_result_free(&r);
}

static void starts_from_a_boot_rom(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    const char *path = dm_test_path(state, "boot.bin");
    uint8_t boot[256] = {0x3E, 0x42, 0xEA, 0x00, 0xC1, 0x18, 0xFE}; /* C100 = 42, for ever */
    assert_ok(dm_file_write(path, boot, sizeof boot, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "2", "--boot-rom", path, "--peek",
                      "C100");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_memory_equal(r.out, "C100  42\n", 9);
    assert_non_null(strstr(r.out, "PC 0005"));
    dm_test_result_free(&r);
    assert_ok(dm_file_write(path, boot, 255, err));
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--boot-rom", path);
    dm_test_expect_exit(&r, DM_EXIT_INPUT);
    assert_non_null(strstr(r.err, "a boot ROM has 256 bytes, this file 255"));
    dm_test_result_free(&r);
}

static void wrong_use_is_refused(void **state)
{
    const char *rom = assemble(state, "a.gb", program);
    static const struct {
        const char *arguments[4];
        const char *says;
    } cases[] = {
        {{"--frames", "-1"}, "--frames"},
        {{"--frames", "1000000001"}, "--frames"},
        {{"--frames", "99999999999999999999999"}, "--frames"},
        {{"--frames", "ten"}, "--frames"},
        {{"--scale", "0"}, "--scale"},
        {{"--scale", "17"}, "--scale"},
        {{"--every", "0"}, "--every"},
        {{"--trace-limit", "0"}, "--trace-limit"},
        {{"--start", "boot-rom"}, "--start boot-rom needs --boot-rom FILE"},
        {{"--start", "warm"}, "post-boot"},
        {{"--trace", "--json"}, "both write to standard output"},
        {{"--break", "10000"}, "--break: '10000' is no address"},
        {{"--break", "xyz"}, "--break: 'xyz' is no address"},
        {{"--break", ""}, "--break: '' is no address"},
        {{"--break", "0x"}, "--break: '0x' is no address"},
        {{"--peek", "C000:"}, "--peek: 'C000:' is no range"},
        {{"--peek", "C100:C000"}, "is no range"},
        {{"--peek", "C000:C000"}, "is no range"},
        {{"--peek", "C000:10001"}, "is no range"},
        {{"--peek", ":"}, "is no range"},
        {{"--poke", "C000"}, "is not of the form"},
        {{"--poke", "C000=100"}, "is not of the form"},
        {{"--poke", "=1"}, "is not of the form"},
        {{"--backend", "vec_tpu"}, "--backend"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *arguments[] = {
            "run", "--rom", rom, cases[i].arguments[0], cases[i].arguments[1], NULL};
        dm_test_result r;
        dm_test_run_dotmatrix(NULL, arguments, &r);
        dm_test_expect_exit(&r, DM_EXIT_USAGE);
        assert_string_equal(r.out, "");
        if (strstr(r.err, cases[i].says) == NULL)
            fail_msg("%s %s: %s", arguments[3], arguments[4], r.err);
        assert_ptr_equal(strchr(r.err, '\n'), r.err + r.err_size - 1);
        dm_test_result_free(&r);
    }
    dm_test_result r;
    dm_test_dotmatrix(&r, "run");
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    assert_non_null(strstr(r.err, "--rom is missing"));
    dm_test_result_free(&r);
}

/* Run with these arguments in the test's folder: one line on stderr that says so, and this code. */
static void expect_failure(void **state, const char *const *arguments, int code, const char *says)
{
    dm_test_result r;
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state)}, arguments, &r);
    dm_test_expect_exit(&r, code);
    assert_string_equal(r.out, "");
    if (strstr(r.err, says) == NULL)
        fail_msg("expected '%s' in: %s", says, r.err);
    assert_ptr_equal(strchr(r.err, '\n'), r.err + r.err_size - 1);
    dm_test_result_free(&r);
}
#define fails(code, says, ...)                                                                     \
    expect_failure(state, (const char *const[]){"run", __VA_ARGS__, NULL}, code, says)

static void bad_roms_are_refused(void **state)
{
    assemble(state, "a.gb", program);
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, "a.gb"), 0, &bytes, &size, err));
    assert_ok(dm_file_write(dm_test_path(state, "short.gb"), bytes, 0x14F, err));
    assert_ok(dm_file_write(dm_test_path(state, "empty.gb"), "", 0, err));
    bytes[0x147] = (char)0xFD;
    assert_ok(dm_file_write(dm_test_path(state, "tama.gb"), bytes, size, err));
    free(bytes);
    fails(DM_EXIT_INPUT, "nothing.gb", "--rom", "nothing.gb");
    fails(DM_EXIT_INPUT, "too few", "--rom", "short.gb");
    fails(DM_EXIT_INPUT, "too few", "--rom", "empty.gb");
    fails(DM_EXIT_INPUT, "TAMA5", "--rom", "tama.gb");
}

static void bad_scripts_are_refused_by_line(void **state)
{
    assemble(state, "a.gb", program);
    static const char text[] = "0 A\n5 JUMP\n";
    assert_ok(dm_file_write(dm_test_path(state, "keys.txt"), text, strlen(text), err));
    fails(DM_EXIT_INPUT, "keys.txt:2: 'JUMP' is no key", "--rom", "a.gb", "--input", "keys.txt");
    fails(DM_EXIT_INPUT, "none.txt", "--rom", "a.gb", "--input", "none.txt");
}

static void outputs_without_a_folder_are_refused_before_the_run(void **state)
{
    assemble(state, "a.gb", program);
    static const char *const options[] = {"--png", "--gif", "--save", "--battery"};
    assert_int_equal(mkdir(dm_test_path(state, "folder"), 0700), 0);
    for (size_t i = 0; i < 4; i++) {
        fails(DM_EXIT_IO, "there is no folder none", "--rom", "a.gb", "--frames", "1000000000",
              options[i], "none/file");
        fails(DM_EXIT_IO, "folder", "--rom", "a.gb", "--frames", "1000000000", options[i],
              "folder");
        fails(DM_EXIT_USAGE, "the name is empty", "--rom", "a.gb", options[i], "");
    }
    /* A file in the place of a folder. */
    fails(DM_EXIT_IO, "there is no folder a.gb", "--rom", "a.gb", "--png", "a.gb/b.png");
}

/* Exit code 0 and no file would be a lie. */
static void options_of_a_swarm_are_refused_for_one_machine(void **state)
{
    assemble(state, "a.gb", program);
    static const char *const cases[][3] = {
        {"--record", "x.gif",
         "--record is for a swarm, and --backend single runs one machine; there "
         "is --gif or --png"},
        {"--envs", "64", "--envs is for a swarm"},
        {"--steps", "100", "there is --frames"},
        {"--frames-per-step", "24", "--frames-per-step is for a swarm"},
        {"--stage", "full_step", "--stage is for a swarm"},
        {"--obs", "none", "--obs is for a swarm"},
        {"--action-gen", "noop", "there is --input"},
        {"--seed", "0", "--seed is for a swarm"},
        {"--mosaic", "4", "--mosaic is for a swarm"},
        {"--every", "2", "--every does nothing without --gif"},
        {"--trace-limit", "3", "--trace-limit does nothing without --trace"},
        {"--scale", "1", "--scale does nothing without --png or --gif"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fails(DM_EXIT_USAGE, cases[i][2], "--rom", "a.gb", cases[i][0], cases[i][1]);
    assert_false(dm_file_exists(dm_test_path(state, "x.gif")));
}

static void one_file_for_two_outputs_is_refused(void **state)
{
    assemble(state, "a.gb", program);
    fails(DM_EXIT_USAGE, "--png and --gif both write x", "--rom", "a.gb", "--png", "x", "--gif",
          "x");
    fails(DM_EXIT_USAGE, "--gif and --save both write", "--rom", "a.gb", "--gif", "x", "--save",
          "./x");
    fails(DM_EXIT_USAGE, "--save would overwrite the file of --rom", "--rom", "a.gb", "--save",
          ".//a.gb");
    fails(DM_EXIT_USAGE, "--record would overwrite the file of --rom", "--rom", "a.gb", "--backend",
          "vec_cpu", "--record", "a.gb");
    assert_false(dm_file_exists(dm_test_path(state, "x")));
}

static void a_full_disk_is_told(void **state)
{
    assemble(state, "a.gb", program);
    if (access("/dev/full", W_OK) != 0)
        dm_test_skip("there is no /dev/full");
    fails(DM_EXIT_IO, "/dev/full", "--rom", "a.gb", "--png", "/dev/full");
    fails(DM_EXIT_IO, "/dev/full", "--rom", "a.gb", "--gif", "/dev/full");
}

static void damaged_states_and_saves_are_refused(void **state)
{
    assemble(state, "a.gb", program);
    assemble(state, "i.gb", illegal);
    dm_test_result r;
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state)},
                          (const char *const[]){"run", "--rom", "a.gb", "--save", "a.state",
                                                "--battery", "a.sav", NULL},
                          &r);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, "a.state"), 0, &bytes, &size, err));
    assert_ok(dm_file_write(dm_test_path(state, "cut.state"), bytes, size - 1, err));
    bytes[size / 2] ^= 1;
    assert_ok(dm_file_write(dm_test_path(state, "bit.state"), bytes, size, err));
    assert_ok(dm_file_write(dm_test_path(state, "empty.state"), "", 0, err));
    free(bytes);
    fails(DM_EXIT_INPUT, "cut.state", "--rom", "a.gb", "--load", "cut.state");
    fails(DM_EXIT_INPUT, "bit.state", "--rom", "a.gb", "--load", "bit.state");
    fails(DM_EXIT_INPUT, "empty.state", "--rom", "a.gb", "--load", "empty.state");
    fails(DM_EXIT_INPUT, "none.state", "--rom", "a.gb", "--load", "none.state");
    fails(DM_EXIT_USAGE, "another ROM", "--rom", "i.gb", "--load", "a.state");
    fails(DM_EXIT_USAGE, "has no", "--rom", "i.gb", "--battery", "a.sav");
    fails(DM_EXIT_USAGE, "has no", "--rom", "i.gb", "--battery", "new.sav");
    assert_ok(dm_file_write(dm_test_path(state, "a.sav"), "short", 5, err));
    fails(DM_EXIT_INPUT, "a.sav", "--rom", "a.gb", "--battery", "a.sav");
    /* What was refused was not overwritten. */
    assert_ok(dm_file_read(dm_test_path(state, "a.sav"), 0, &bytes, &size, err));
    assert_int_equal(size, 5);
    free(bytes);
}

/* The keys of the picture in README.md still play the game well. */
static void the_readmes_picture_can_be_made_again(void **state)
{
    static const char rom[] = DM_TEST_BUILD_ROOT "/roms/STARFALL.gb";
    char keys[DM_PATH_MAX];
    assert_ok(dm_path_join(keys, dm_test_source_root(), "docs/images/starfall.keys", err));
    if (!dm_file_exists(rom) || !dm_file_exists(keys))
        dm_test_skip("the game or its keys are not here");
    const char *gif = dm_test_path(state, "starfall.gif");
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "900", "--input", keys, "--gif", gif,
                      "--scale", "2", "--json", "--peek", "C000:C004");
    json_t *json = answer_of(&r);
    assert_int_equal(byte_of(json, 0, 0), 1);  /* playing */
    assert_int_equal(byte_of(json, 0, 1), 10); /* stars caught */
    assert_int_equal(byte_of(json, 0, 3), 3);  /* lives */
    json_decref(json);
    dm_test_result_free(&r);
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(gif, 0, &bytes, &size, err));
    assert_in_range(size, 10000, 300000);
    free(bytes);
}

DM_TESTS("cli/run", DM_TEST_IN_DIR(answers_in_one_line),
         DM_TEST_IN_DIR(json_says_the_same_as_the_library),
         DM_TEST_IN_DIR(keys_come_from_the_script), DM_TEST_IN_DIR(png_is_the_screen),
         DM_TEST_IN_DIR(gif_shows_every_kth_frame), DM_TEST_IN_DIR(trace_shows_each_instruction),
         DM_TEST_IN_DIR(trace_tells_interrupts_from_instructions),
         DM_TEST_IN_DIR(stepping_ends_in_the_same_state),
         DM_TEST_IN_DIR(breakpoints_stop_and_say_where),
         DM_TEST_IN_DIR(states_continue_where_they_were_saved),
         DM_TEST_IN_DIR(the_battery_keeps_ram_between_runs),
         DM_TEST_IN_DIR(pokes_come_before_the_run), DM_TEST_IN_DIR(serial_shows_odd_bytes_escaped),
         DM_TEST_IN_DIR(a_locked_machine_is_told), DM_TEST_IN_DIR(starts_from_a_boot_rom),
         DM_TEST_IN_DIR(wrong_use_is_refused), DM_TEST_IN_DIR(bad_roms_are_refused),
         DM_TEST_IN_DIR(bad_scripts_are_refused_by_line),
         DM_TEST_IN_DIR(outputs_without_a_folder_are_refused_before_the_run),
         DM_TEST_IN_DIR(options_of_a_swarm_are_refused_for_one_machine),
         DM_TEST_IN_DIR(one_file_for_two_outputs_is_refused), DM_TEST_IN_DIR(a_full_disk_is_told),
         DM_TEST_IN_DIR(damaged_states_and_saves_are_refused),
         DM_TEST_IN_DIR(the_readmes_picture_can_be_made_again))
