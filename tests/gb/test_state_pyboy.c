/* SPDX-License-Identifier: MIT */
/* States that PyBoy wrote. Files made here, byte by byte, show what is refused; the proof that the
 * layout is right are files of the real thing (pyboy_state.py, where .venv has PyBoy): registers
 * and all memory right after loading, then both go on. */
#include "base/file.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "gb/host/state_pyboy.h"
#include "romtools/asm.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROMS DM_TEST_SOURCE_ROOT "/roms"

/* ---- Files made here ---- */

enum { SIZE = 153524, CPU_AT = 6, LCD_AT = 45, SAMPLES_AT = 45 + 9116 + 8, SAMPLES = 804 };

static dm_gb *make(unsigned type, unsigned ram_code)
{
    static uint8_t rom[0x8000];
    dm_gb *gb = NULL;
    memset(rom, 0, sizeof rom);
    memcpy(rom + 0x134, "PYSTATE", 7);
    rom[0x147] = (uint8_t)type;
    rom[0x149] = (uint8_t)ram_code;
    assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
    return gb;
}

static uint8_t *make_state(size_t size)
{
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    bytes[0] = DM_GB_PYBOY_VERSION;
    bytes[SAMPLES_AT] = SAMPLES & 0xFF;
    bytes[SAMPLES_AT + 1] = SAMPLES >> 8;
    return bytes;
}

/* The call fails with this reason, and nothing has changed. */
static void expect_refused(dm_gb *gb, const void *bytes, size_t size, const char *reason)
{
    dm_gb_machine before = gb->machine;
    uint8_t *ram = malloc(gb->ram_size);
    assert_non_null(ram);
    memcpy(ram, gb->ram, gb->ram_size);
    dm_error err = {0};
    assert_int_equal(dm_gb_load_pyboy_state(gb, bytes, size, &err), DM_EINVAL);
    if (strstr(err.message, reason) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.message, reason);
    assert_null(strchr(err.message, '\n'));
    assert_memory_equal(&gb->machine, &before, sizeof before);
    assert_memory_equal(gb->ram, ram, gb->ram_size);
    free(ram);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    dm_gb *gb = make(0x00, 0);
    dm_gb_run_frames(gb, 2, DM_GB_DRAW_NEVER);
    uint8_t *bytes = make_state(SIZE);
    expect_refused(gb, bytes, 0, "version 0");
    expect_refused(gb, bytes, 1, "truncated: 1 bytes");
    expect_refused(gb, bytes, SIZE - 1, "153523 bytes, but 153524 for \"PYSTATE\"");
    expect_refused(gb, bytes, SIZE / 2, "truncated");
    const unsigned versions[] = {0, 1, 2, 28, 30, 255};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        bytes[0] = (uint8_t)versions[i];
        expect_refused(gb, bytes, SIZE, "and 29 (PyBoy 2.8.1) can be read");
    }
    bytes[0] = DM_GB_PYBOY_VERSION;
    bytes[5] = 1;
    expect_refused(gb, bytes, SIZE, "Game Boy Color");
    bytes[5] = 0;
    bytes[1] = 1;
    expect_refused(gb, bytes, SIZE, "boot ROM");
    bytes[1] = 0;
    bytes[SAMPLES_AT + 7] = 0x80;
    expect_refused(gb, bytes, SIZE, "sound samples");
    bytes[SAMPLES_AT + 7] = 0;
    bytes[SAMPLES_AT]++;
    expect_refused(gb, bytes, SIZE, "153524 bytes, but 153526");
    bytes[SAMPLES_AT]--;
    assert_ok(dm_gb_load_pyboy_state(gb, bytes, SIZE, err));
    dm_gb_destroy(gb);

    gb = make(0x13, 3); /* 32 KiB, where the file has 8 */
    expect_refused(gb, bytes, SIZE, "MBC3+RAM+BATTERY, 32 KiB of RAM): of another ROM");
    dm_gb_destroy(gb);
    free(bytes);
}

/* Any contents of the right size give a machine that runs. */
static void any_contents_run(void **state)
{
    (void)state;
    static const struct {
        unsigned type, ram_code;
        size_t size;
    } cartridges[] = {{0x00, 0, SIZE},
                      {0x03, 3, SIZE + 3 * 0x2000 + 2},
                      {0x06, 0, SIZE},
                      {0x10, 3, SIZE + 3 * 0x2000 + 33},
                      {0x1B, 4, SIZE + 15 * 0x2000 + 1},
                      {0x1E, 2, SIZE + 2}};
    uint32_t random = 7;
    for (unsigned round = 0; round < 120; round++) {
        unsigned kind = round % 6;
        dm_gb *gb = make(cartridges[kind].type, cartridges[kind].ram_code);
        uint8_t *bytes = make_state(cartridges[kind].size);
        for (size_t i = CPU_AT; i < cartridges[kind].size; i++) {
            random = random * 1664525u + 1013904223u;
            if (i < SAMPLES_AT || i >= SAMPLES_AT + 8)
                bytes[i] = (uint8_t)(random >> 24);
        }
        if (cartridges[kind].type == 0x1E) /* says that there is a motor */
            bytes[cartridges[kind].size - 10379 - 38 - 2] = 1;
        assert_ok(dm_gb_load_pyboy_state(gb, bytes, cartridges[kind].size, err));
        /* Our own format, which looks at every field's range, takes it. */
        dm_buffer ours = DM_BUFFER_EMPTY;
        dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, &ours);
        assert_ok(dm_gb_state_load(&gb->machine, gb->ram, &gb->rom, ours.data, ours.size, err));
        dm_buffer_deinit(&ours);
        dm_gb_run_frames(gb, 3, DM_GB_DRAW_ALWAYS);
        assert_true(dm_gb_get_counters(gb).cycles != 0);
        free(bytes);
        dm_gb_destroy(gb);
    }
}

/* The LCD is on; `cycles` into the frame. */
static void put_lcd(uint8_t *bytes, uint8_t stat, uint32_t cycles)
{
    uint8_t *lcd = bytes + LCD_AT + 0x2000 + 160, *clock = lcd + 12 + 720 + 6 + 8;
    lcd[0] = 0x91; /* LCDC */
    lcd[4] = stat;
    lcd[5] = (uint8_t)(cycles / 456); /* LY */
    clock[0] = (uint8_t)cycles;
    clock[1] = (uint8_t)(cycles >> 8);
}

/* After loading in mode 3 it is known when that ends, whether an interrupt hangs on it or not. */
static void mode3_is_known(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        dm_gb *gb = make(0x00, 0);
        uint8_t *bytes = make_state(SIZE);
        put_lcd(bytes, i == 0 ? 0 : 8, 456 * 100 + 192);
        assert_ok(dm_gb_load_pyboy_state(gb, bytes, SIZE, err));
        assert_int_equal(gb->machine.ppu.line, 100);
        assert_int_equal(gb->machine.ppu.mode0_dot, 256);
        assert_int_equal(gb->machine.ppu.next_dot, 257);
        free(bytes);
        dm_gb_destroy(gb);
    }
}

static void registers_and_keys_arrive(void **state)
{
    (void)state;
    dm_gb *gb = make(0x00, 0);
    uint8_t *bytes = make_state(SIZE);
    const uint8_t cpu[] = {0x11, 0xF0, 0x22, 0x33, 0x44, 0x55,       /* A F B C D E */
                           0x77, 0x66, 0xF0, 0xDF, 0x34, 0x12,       /* HL SP PC */
                           1,    0,    1,    0,    0x05, 0,    0x02, /* IME, halted, IE, IF */
                           0x10, 0x20, 0x30, 0,    0,    0,    0,    0};
    memcpy(bytes + CPU_AT, cpu, sizeof cpu);
    uint8_t *tail = bytes + SIZE - 10379 - 38; /* joypad, serial, SGB */
    tail[0] = 0x0E;                            /* right */
    tail[1] = 0x07;                            /* start */
    const uint32_t cycles = 456 * 100 + 20;
    put_lcd(bytes, 0, cycles);
    assert_ok(dm_gb_load_pyboy_state(gb, bytes, SIZE, err));
    dm_gb_registers r = dm_gb_get_registers(gb);
    assert_int_equal(r.a << 8 | r.f, 0x11F0);
    assert_int_equal(r.b << 8 | r.c, 0x2233);
    assert_int_equal(r.d << 8 | r.e, 0x4455);
    assert_int_equal(r.h << 8 | r.l, 0x6677);
    assert_int_equal(r.sp, 0xDFF0);
    assert_int_equal(r.pc, 0x1235); /* behind the HALT */
    assert_true(r.ime && r.halted && !r.stopped);
    assert_int_equal(dm_gb_peek(gb, 0xFFFF), 0x05);
    assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xE2);
    assert_int_equal(gb->machine.joypad.keys, DM_GB_KEY_RIGHT | DM_GB_KEY_START);
    assert_int_equal(dm_gb_get_counters(gb).cycles, 0x302010);
    assert_int_equal(dm_gb_peek(gb, 0xFF44), 100);
    assert_int_equal(dm_gb_peek(gb, 0xFF41) & 3, 2);
    /* VBlank is as far away as it was there. */
    uint32_t left = 456 * 144 - cycles;
    dm_gb_run_cycles(gb, left - 4, DM_GB_DRAW_NEVER);
    assert_false(dm_gb_peek(gb, 0xFF0F) & 1);
    dm_gb_run_cycles(gb, 8, DM_GB_DRAW_NEVER);
    assert_true(gb->machine.ppu.line == 144 && gb->machine.ppu.frames == 1);
    free(bytes);
    dm_gb_destroy(gb);
}

/* ---- Files of PyBoy's ---- */

static const char *const sources[] = {
    "game/STARFALL",        "micro/ALU16_SP",       "micro/ALU_FLAGS",
    "micro/ALU_LOOP",       "micro/BG_SCROLL_ANIM", "micro/BG_SCROLL_SIGNED",
    "micro/BG_STATIC",      "micro/CB_BITOPS",      "micro/DMA_OAM_COPY",
    "micro/EI_DELAY",       "micro/FLOW_STACK",     "micro/JOY_DIVERGE_PERSIST",
    "micro/LOADS_BASIC",    "micro/MBC1_RAM",       "micro/MBC1_SWITCH",
    "micro/MBC3_RAM",       "micro/MBC3_SWITCH",    "micro/MBC5_SWITCH",
    "micro/MEM_RWB",        "micro/PPU_SPRITES",    "micro/PPU_STAT_IRQ",
    "micro/PPU_WINDOW",     "micro/SERIAL_HELLO",   "micro/TIMER_DIV_BASIC",
    "micro/TIMER_IRQ_HALT",
};
enum { SOURCES = sizeof sources / sizeof sources[0], MORE_FRAMES = 60 };
#define FRAMES "200"
#define MORE "60"

static void assemble(const char *source, const char *path)
{
    char name[DM_PATH_MAX];
    dm_gb_asm_result rom;
    const dm_gb_asm_options options = {.include_dir = ROMS "/include"};
    snprintf(name, sizeof name, ROMS "/%s.asm", source);
    assert_ok(dm_gb_asm_file(name, &options, &rom, err));
    assert_ok(dm_file_write(path, rom.rom, rom.rom_size, err));
    dm_gb_asm_result_deinit(&rom);
}

static const char *name_with(const char *rom, const char *ending)
{
    static char path[DM_PATH_MAX + 16];
    assert_true((size_t)snprintf(path, sizeof path, "%s.%s", rom, ending) < sizeof path);
    return path;
}

static uint8_t *read_dump(const char *rom, const char *ending)
{
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(name_with(rom, ending), 0, &bytes, &size, err));
    assert_int_equal(size, 12 + 0x10000);
    return (uint8_t *)bytes;
}

static void compare_registers(const char *name, dm_gb *gb, const uint8_t *dump)
{
    dm_gb_registers r = dm_gb_get_registers(gb);
    uint16_t pc = (uint16_t)(r.pc - (r.halted ? 1 : 0));
    const uint8_t ours[12] = {r.a,           r.f,
                              r.b,           r.c,
                              r.d,           r.e,
                              r.h,           r.l,
                              (uint8_t)pc,   (uint8_t)(pc >> 8),
                              (uint8_t)r.sp, (uint8_t)(r.sp >> 8)};
    for (int i = 0; i < 12; i++)
        if (ours[i] != dump[i])
            fail_msg("%s: register byte %d: %02X, PyBoy %02X", name, i, ours[i], dump[i]);
}

/* Registers that PyBoy keeps in another way. */
static bool comparable(unsigned address)
{
    if (address >= 0xFEA0 && address < 0xFF00)
        return false; /* memory there */
    if (address >= 0xFF4C && address < 0xFF80)
        return false;
    return address != 0xFF00 && address != 0xFF03 && !(address >= 0xFF08 && address <= 0xFF0E);
}

static void compare_memory(const char *name, dm_gb *gb, const uint8_t *dump, unsigned from,
                           unsigned to)
{
    for (unsigned address = from; address < to; address++) {
        unsigned ours = dm_gb_peek(gb, (uint16_t)address), theirs = dump[12 + address];
        if (comparable(address) && ours != theirs)
            fail_msg("%s: %04X is %02X, PyBoy %02X", name, address, ours, theirs);
    }
}

static void real_states_load_and_go_on(void **state)
{
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/.venv/bin/python"))
        dm_test_skip("PyBoy is not installed in .venv: tools/bootstrap");
    char roms[SOURCES][DM_PATH_MAX];
    const char *argv[5 + SOURCES + 1] = {DM_TEST_SOURCE_ROOT "/.venv/bin/python",
                                         DM_TEST_SOURCE_ROOT "/tests/gb/pyboy_state.py", FRAMES,
                                         MORE};
    for (int i = 0; i < SOURCES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.gb", i);
        snprintf(roms[i], sizeof roms[i], "%s", dm_test_path(state, name));
        assemble(sources[i], roms[i]);
        argv[4 + i] = roms[i];
    }
    dm_test_result result;
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 300}, &result);
    if (result.exit_code != 0 && strstr(result.err, "No module named 'pyboy'") != NULL) {
        dm_test_result_free(&result);
        dm_test_skip("PyBoy is not installed in .venv: tools/bootstrap --again");
    }
    dm_test_expect_exit(&result, 0);
    dm_test_result_free(&result);

    for (int i = 0; i < SOURCES; i++) {
        dm_gb *gb = NULL;
        uint8_t *before = read_dump(roms[i], "before"), *after = read_dump(roms[i], "after");
        assert_ok(dm_gb_create_file(roms[i], NULL, &gb, err));
        assert_ok(dm_gb_load_state(gb, name_with(roms[i], "state"), err));
        compare_registers(sources[i], gb, before);
        compare_memory(sources[i], gb, before, 0, 0x10000);
        dm_gb_run_frames(gb, MORE_FRAMES, DM_GB_DRAW_NEVER);
        compare_memory(sources[i], gb, after, 0xA000, 0xE000);
        free(before);
        free(after);
        dm_gb_destroy(gb);
    }
}

/* The command takes them too. */
static void the_command_loads_them(void **state)
{
    const char *rom = dm_test_path(state, "rom.gb"), *file = dm_test_path(state, "x.state");
    assemble("micro/ALU_LOOP", rom);
    uint8_t *bytes = make_state(SIZE);
    assert_ok(dm_file_write(file, bytes, SIZE, err));
    dm_test_result result;
    dm_test_dotmatrix(&result, "run", "--rom", rom, "--frames", "2", "--load", file);
    dm_test_expect_exit(&result, 0);
    dm_test_result_free(&result);
    bytes[0] = 13;
    assert_ok(dm_file_write(file, bytes, SIZE, err));
    dm_test_dotmatrix(&result, "run", "--rom", rom, "--frames", "2", "--load", file);
    assert_int_not_equal(result.exit_code, 0);
    assert_non_null(strstr(result.err, "PyBoy state: version 13; versions 7 to 12"));
    dm_test_result_free(&result);
    free(bytes);
}

/* ---- Versions 7 to 12, made here ---- */

/* Offsets in a state of a cartridge without a mapper. PyBoy 1.4.7, 1.6.14 and 2.4.1 write 118,010, 118,034 and 141,098
 * bytes (versions 7, 9 and 12). */
typedef struct old_format {
    unsigned version;
    size_t size, cpu, lcd, wram;
} old_format;
static const old_format OLD[] = {
    {7, 118010, 2, 18, 18 + 9083 + 92160},   {8, 118034, 5, 23, 23 + 9102 + 92160},
    {9, 118034, 5, 23, 23 + 9102 + 92160},   {10, 141074, 5, 23, 23 + 9102 + 115200},
    {11, 141074, 5, 23, 23 + 9102 + 115200}, {12, 141098, 5, 31, 31 + 9110 + 115200},
};
#define OLD_COUNT (sizeof OLD / sizeof OLD[0])

static uint8_t *make_old(const old_format *old, size_t more)
{
    uint8_t *bytes = calloc(1, old->size + more);
    assert_non_null(bytes);
    bytes[0] = (uint8_t)old->version;
    return bytes;
}

static void old_files_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OLD_COUNT; i++) {
        const old_format *old = &OLD[i];
        dm_gb *gb = make(0x00, 0), *large = make(0x13, 3);
        uint8_t *bytes = make_old(old, 1);
        char reason[80];
        snprintf(reason, sizeof reason, "but a version %u has %zu", old->version, old->size);
        for (size_t size = 1; size < old->size; size += 4099)
            expect_refused(gb, bytes, size, reason);
        expect_refused(gb, bytes, old->size - 1, reason);
        expect_refused(gb, bytes, old->size + 1, reason);
        expect_refused(large, bytes, old->size, "of another ROM");
        bytes[1] = 1;
        expect_refused(gb, bytes, old->size, "boot ROM");
        bytes[1] = 0;
        if (old->version >= 8) {
            bytes[4] = 1;
            expect_refused(gb, bytes, old->size, "Game Boy Color");
            bytes[4] = 0;
        }
        assert_ok(dm_gb_load_state_bytes(gb, bytes, old->size, err));
        free(bytes);
        dm_gb_destroy(gb);
        dm_gb_destroy(large);
    }
}

static void old_files_with_any_contents_run(void **state)
{
    (void)state;
    static const struct {
        unsigned type, ram_code;
        size_t more;
    } cartridges[] = {{0x00, 0, 0},           {0x03, 3, 3 * 0x2000 + 2},
                      {0x06, 0, 0},           {0x10, 3, 3 * 0x2000 + 6},
                      {0x1B, 4, 15 * 0x2000}, {0x1E, 2, 0}};
    uint32_t random = 9;
    for (unsigned round = 0; round < 120; round++) {
        unsigned kind = round % 6;
        const old_format *old = &OLD[round / 6 % OLD_COUNT];
        size_t size = old->size + cartridges[kind].more;
        dm_gb *gb = make(cartridges[kind].type, cartridges[kind].ram_code);
        uint8_t *bytes = make_old(old, cartridges[kind].more);
        for (size_t i = old->cpu; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(random >> 24);
        }
        assert_ok(dm_gb_load_pyboy_state(gb, bytes, size, err));
        dm_buffer ours = DM_BUFFER_EMPTY;
        dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, &ours);
        assert_ok(dm_gb_state_load(&gb->machine, gb->ram, &gb->rom, ours.data, ours.size, err));
        dm_buffer_deinit(&ours);
        dm_gb_run_frames(gb, 3, DM_GB_DRAW_ALWAYS);
        free(bytes);
        dm_gb_destroy(gb);
    }
}

static void put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* What the file holds is what the machine shows. */
static void contents_of_old_files_arrive(void **state)
{
    (void)state;
    static const struct {
        uint8_t ly, mode;
        unsigned left;
    } places[] = {{0, 2, 80},   {10, 2, 40},   {20, 3, 100}, {50, 0, 100},
                  {143, 0, 60}, {144, 1, 456}, {150, 1, 200}};
    for (size_t i = 0; i < OLD_COUNT; i++)
        for (size_t n = 0; n < sizeof places / sizeof places[0]; n++) {
            const old_format *old = &OLD[i];
            dm_gb *gb = make(0x00, 0);
            uint8_t *bytes = make_old(old, 0);
            bool clocks = old->version >= 8, vblank = places[n].mode == 1;
            const uint8_t cpu[] = {0x11, 0xF0, 0x22, 0x33, 0x44, 0x55, 0x77, 0x66,
                                   0xF0, 0xDF, 0x34, 0x12, 1,    0,    0,    0x05};
            memcpy(bytes + old->cpu, cpu, sizeof cpu);
            bytes[old->cpu + 17] = clocks ? 0x04 : bytes[old->cpu + 17];
            uint8_t *lcd = bytes + old->lcd, *registers = lcd + 0x2000 + 160;
            lcd[5] = 0x5A;          /* VRAM */
            lcd[0x2000 + 7] = 0x5B; /* OAM */
            registers[0] = 0x91;    /* LCDC */
            registers[1] = 0xE4;    /* BGP */
            registers[4] = (uint8_t)(0xC0 | places[n].mode);
            registers[5] = (uint8_t)(places[n].ly + (vblank && !clocks));
            registers[6] = 200;  /* LYC */
            registers[8] = 0x31; /* SCX */
            if (clocks) {
                uint8_t *clock =
                    registers + 11 + (old->version >= 11 ? 720 : 0) + (old->version >= 12 ? 10 : 2);
                put64(clock, 5000);
                put64(clock + 8, 5000 + places[n].left);
            }
            uint8_t *wram = bytes + old->wram, *hram = wram + 0x2000 + 0x60 + 0x4C;
            wram[0x123] = 0x5C;
            hram[9] = 0x5D;
            uint8_t *timer = hram + 0x7F + 0x34;
            const uint8_t counts[] = {0x77, 0x42, 0x13, 0, 0x0B, 0, 0x21, 0x05};
            memcpy(timer, counts, sizeof counts); /* DIV TIMA, how far in each, TMA TAC */
            bytes[old->size - 2] = 0x0E;          /* right */
            bytes[old->size - 1] = 0x07;          /* start */
            assert_ok(dm_gb_load_state_bytes(gb, bytes, old->size, err));
            dm_gb_registers r = dm_gb_get_registers(gb);
            assert_true(r.a == 0x11 && r.f == 0xF0 && r.b == 0x22 && r.c == 0x33 && r.d == 0x44 &&
                        r.e == 0x55);
            assert_true(r.h == 0x66 && r.l == 0x77 && r.sp == 0xDFF0 && r.pc == 0x1234 && r.ime &&
                        !r.halted);
            assert_int_equal(dm_gb_peek(gb, 0xFFFF), 0x05);
            /* Version 7 has no IF, but ends its frames when VBlank is requested. */
            uint8_t requests = clocks ? 0x04 : vblank && places[n].ly == 144 ? 0x01 : 0;
            assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xE0 | requests);
            assert_int_equal(dm_gb_peek(gb, 0xFF44), places[n].ly);
            if (clocks || vblank)
                assert_int_equal(dm_gb_peek(gb, 0xFF41) & 3, places[n].mode);
            assert_int_equal(dm_gb_peek(gb, 0xFF47), 0xE4);
            assert_int_equal(dm_gb_peek(gb, 0xFF43), 0x31);
            assert_int_equal(gb->ram[DM_GB_VRAM + 5], 0x5A);
            assert_int_equal(gb->ram[DM_GB_OAM + 7], 0x5B);
            assert_int_equal(gb->ram[DM_GB_WRAM + 0x123], 0x5C);
            assert_int_equal(gb->ram[DM_GB_HRAM + 9], 0x5D);
            assert_int_equal(dm_gb_peek(gb, 0xFF04), 0x77);
            assert_int_equal(dm_gb_peek(gb, 0xFF05), 0x42);
            assert_int_equal(dm_gb_peek(gb, 0xFF06), 0x21);
            assert_int_equal(gb->machine.joypad.keys, DM_GB_KEY_RIGHT | DM_GB_KEY_START);
            free(bytes);
            dm_gb_destroy(gb);
        }
}

DM_TESTS("gb/state_pyboy", DM_TEST(wrong_files_are_refused), DM_TEST(any_contents_run),
         DM_TEST(registers_and_keys_arrive), DM_TEST(mode3_is_known),
         DM_TEST(old_files_that_do_not_fit_are_refused), DM_TEST(old_files_with_any_contents_run),
         DM_TEST(contents_of_old_files_arrive), DM_TEST_IN_DIR(real_states_load_and_go_on),
         DM_TEST_IN_DIR(the_command_loads_them))
