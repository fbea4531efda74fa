/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "gb/host/rom.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/gb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A ROM with a right header and a wrong logo (the real one is not ours to hold). */
static uint8_t *make(size_t size, unsigned type, unsigned size_code, unsigned ram_code)
{
    uint8_t *bytes = calloc(1, size < 0x150 ? 0x150 : size);
    assert_non_null(bytes);
    memcpy(bytes + 0x134, "TEST ROM", 8);
    bytes[0x147] = (uint8_t)type;
    bytes[0x148] = (uint8_t)size_code;
    bytes[0x149] = (uint8_t)ram_code;
    uint8_t sum = 0;
    for (size_t i = 0x134; i < 0x14D; i++)
        sum = (uint8_t)(sum - bytes[i] - 1);
    bytes[0x14D] = sum;
    unsigned global = 0;
    for (size_t i = 0; i < size; i++)
        global += bytes[i];
    bytes[0x14E] = (uint8_t)(global >> 8);
    bytes[0x14F] = (uint8_t)global;
    return bytes;
}

static void reads_a_plain_header(void **state)
{
    (void)state;
    uint8_t *bytes = make(0x8000, 0x00, 0, 0);
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
    assert_string_equal(rom.title, "TEST ROM");
    assert_string_equal(rom.type_name, "ROM ONLY");
    assert_int_equal(rom.mapper, DM_GB_MAPPER_NONE);
    assert_int_equal(rom.size, 0x8000);
    assert_int_equal(rom.ram_size, 0);
    assert_int_equal(rom.warnings, DM_GB_ROM_BAD_LOGO);
    assert_memory_equal(rom.bytes, bytes, 0x8000);
    dm_gb_rom_deinit(&rom);
    assert_null(rom.bytes);
    free(bytes);
}

static void knows_the_types(void **state)
{
    (void)state;
    static const struct {
        uint8_t type, mapper;
        bool ram, battery, rtc, rumble;
    } cases[] = {
        {0x00, DM_GB_MAPPER_NONE, 0, 0, 0, 0}, {0x01, DM_GB_MAPPER_MBC1, 0, 0, 0, 0},
        {0x02, DM_GB_MAPPER_MBC1, 1, 0, 0, 0}, {0x03, DM_GB_MAPPER_MBC1, 1, 1, 0, 0},
        {0x08, DM_GB_MAPPER_NONE, 1, 0, 0, 0}, {0x09, DM_GB_MAPPER_NONE, 1, 1, 0, 0},
        {0x0F, DM_GB_MAPPER_MBC3, 0, 1, 1, 0}, {0x10, DM_GB_MAPPER_MBC3, 1, 1, 1, 0},
        {0x11, DM_GB_MAPPER_MBC3, 0, 0, 0, 0}, {0x12, DM_GB_MAPPER_MBC3, 1, 0, 0, 0},
        {0x13, DM_GB_MAPPER_MBC3, 1, 1, 0, 0}, {0x19, DM_GB_MAPPER_MBC5, 0, 0, 0, 0},
        {0x1A, DM_GB_MAPPER_MBC5, 1, 0, 0, 0}, {0x1B, DM_GB_MAPPER_MBC5, 1, 1, 0, 0},
        {0x1C, DM_GB_MAPPER_MBC5, 0, 0, 0, 1}, {0x1D, DM_GB_MAPPER_MBC5, 1, 0, 0, 1},
        {0x1E, DM_GB_MAPPER_MBC5, 1, 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = make(0x8000, cases[i].type, 0, 3);
        dm_gb_rom rom;
        assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
        dm_gb_cart cart;
        dm_gb_rom_cart(&rom, 12, &cart);
        assert_int_equal(cart.mapper, cases[i].mapper);
        assert_int_equal(cart.ram_size, cases[i].ram ? 0x8000 : 0);
        assert_int_equal(cart.has_battery, cases[i].battery);
        assert_int_equal(cart.has_rtc, cases[i].rtc);
        assert_int_equal(cart.has_rumble, cases[i].rumble);
        assert_int_equal(cart.rom_mask, 0x7FFF);
        assert_int_equal(cart.rom_high, 0x4000);
        assert_int_equal(cart.rtc_synced, 12);
        assert_int_equal(!!(rom.warnings & DM_GB_ROM_RAM_IGNORED), !cases[i].ram);
        dm_gb_rom_deinit(&rom);
        free(bytes);
    }
}

static void knows_the_ram_sizes(void **state)
{
    (void)state;
    static const struct {
        uint8_t type, code;
        uint32_t size, warnings;
    } cases[] = {
        {0x1B, 0, 0x2000, DM_GB_ROM_RAM_ASSUMED},
        {0x1B, 1, 0x800, 0},
        {0x1B, 2, 0x2000, 0},
        {0x1B, 3, 0x8000, 0},
        {0x1B, 4, 0x20000, 0},
        {0x1B, 5, 0x10000, 0},
        {0x1B, 6, 0x2000, DM_GB_ROM_RAM_UNKNOWN | DM_GB_ROM_RAM_ASSUMED},
        {0x19, 0xFF, 0, DM_GB_ROM_RAM_UNKNOWN | DM_GB_ROM_RAM_IGNORED},
        {0x05, 0, 512, 0},
        {0x06, 3, 512, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = make(0x8000, cases[i].type, 0, cases[i].code);
        dm_gb_rom rom;
        assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
        assert_int_equal(rom.ram_size, cases[i].size);
        assert_int_equal(rom.warnings, cases[i].warnings | DM_GB_ROM_BAD_LOGO);
        dm_gb_rom_deinit(&rom);
        free(bytes);
    }
}

static void pads_to_a_power_of_two(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint8_t code;
        uint32_t padded, warnings;
    } cases[] = {
        {0x8000, 0, 0x8000, 0},
        {0x8001, 0, 0x10000, DM_GB_ROM_LARGER},
        {0x10000, 0, 0x10000, DM_GB_ROM_LARGER},
        {0x10000, 1, 0x10000, 0},
        {0x150, 0x77, 0x8000, DM_GB_ROM_SIZE_UNKNOWN},
        {0x4000, 0x09, 0x8000, DM_GB_ROM_SIZE_UNKNOWN},
        {72 * 0x4000, 0x52, 0x200000, 0},
        {96 * 0x4000, 0x54, 0x200000, 0},
        {0x800000, 8, 0x800000, 0},
        {0x7FFF, 0, 0x8000, DM_GB_ROM_SHORTER},
        {0x150, 0, 0x8000, DM_GB_ROM_SHORTER},
        {0x8000, 6, 0x200000, DM_GB_ROM_SHORTER},
        {0x8000, 0x52, 0x200000, DM_GB_ROM_SHORTER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = make(cases[i].size, 0x19, cases[i].code, 0);
        dm_gb_rom rom;
        assert_ok(dm_gb_rom_init(&rom, bytes, cases[i].size, err));
        assert_int_equal(rom.size, cases[i].padded);
        assert_int_equal(rom.file_size, cases[i].size);
        assert_int_equal(rom.warnings, cases[i].warnings | DM_GB_ROM_BAD_LOGO);
        for (uint32_t at = rom.file_size; at < rom.size; at++)
            assert_int_equal(rom.bytes[at], 0xFF);
        dm_gb_rom_deinit(&rom);
        free(bytes);
    }
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint8_t type, code;
        dm_status status;
        const char *message;
    } cases[] = {
        {0, 0, 0, DM_EFORMAT, "rom: 0 bytes are too few, the header alone ends at 336"},
        {0x14F, 0, 0, DM_EFORMAT, "rom: 335 bytes are too few, the header alone ends at 336"},
        {0x800001, 0, 0, DM_EFORMAT, "rom: 8388609 bytes are too many, the largest ROM has 8 MiB"},
        {0x8000, 0x22, 0, DM_EUNSUPPORTED,
         "rom: cartridge type 0x22 (MBC7+SENSOR+RUMBLE+RAM+BATTERY) is not supported"},
        {0x8000, 0x0B, 0, DM_EUNSUPPORTED, "rom: cartridge type 0x0B (MMM01) is not supported"},
        {0x8000, 0x04, 0, DM_EUNSUPPORTED, "rom: cartridge type 0x04 is unknown"},
        {0x8000, 0xFD, 0, DM_EUNSUPPORTED,
         "rom: cartridge type 0xFD (BANDAI TAMA5) is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = make(cases[i].size, cases[i].type, cases[i].code, 0);
        dm_gb_rom rom;
        dm_error error = {0};
        assert_int_equal(dm_gb_rom_init(&rom, bytes, cases[i].size, &error), cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_null(rom.bytes);
        free(bytes);
    }
}

static void names_archives(void **state)
{
    (void)state;
    static const struct {
        const char *magic;
        size_t size;
        const char *name;
    } cases[] = {
        {"PK\x03\x04", 4, "ZIP"}, {"\x1F\x8B", 2, "gzip"}, {"7z\xBC\xAF", 4, "7z"},
        {"\xFD\x37zXZ", 5, "xz"}, {"BZh9", 4, "bzip2"},    {"Rar!", 4, "RAR"},
    };
    static const size_t sizes[] = {8, 0x150, 0x8000};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            uint8_t *bytes = make(sizes[j], 0, 0, 0);
            memcpy(bytes, cases[i].magic, cases[i].size);
            char text[80];
            snprintf(text, sizeof text, "rom: a %s archive, not a ROM: unpack it first",
                     cases[i].name);
            dm_gb_rom rom;
            dm_error error = {0};
            assert_int_equal(dm_gb_rom_init(&rom, bytes, sizes[j], &error), DM_EFORMAT);
            assert_string_equal(error.message, text);
            free(bytes);
        }
    }
}

/* Its header can be read, but a machine runs it only when told to. */
static void color_only_is_refused(void **state)
{
    uint8_t *bytes = make(0x8000, 0, 0, 0);
    const char *path = dm_test_path(state, "color.gb");
    static const struct {
        uint8_t flag;
        bool refused;
    } cases[] = {{0x00, false}, {0x80, false}, {0xC0, true}, {0xFF, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes[0x143] = cases[i].flag;
        assert_ok(dm_file_write(path, bytes, 0x8000, err));
        for (int forced = 0; forced < 2; forced++) {
            const dm_gb_options options = {.force_dmg = forced};
            const dm_status expected = cases[i].refused && !forced ? DM_EUNSUPPORTED : DM_OK;
            dm_error error = {0};
            dm_gb *gb = NULL;
            assert_int_equal(dm_gb_create(bytes, 0x8000, &options, &gb, &error), expected);
            assert_int_equal(gb != NULL, expected == DM_OK);
            dm_gb_destroy(gb);
            assert_int_equal(dm_gb_create_file(path, &options, &gb, &error), expected);
            if (expected != DM_OK) {
                assert_non_null(
                    strstr(error.message, "color.gb: rom: made for the Game Boy Color"));
                assert_null(strchr(error.message, '\n'));
            }
            dm_gb_destroy(gb);
        }
    }
    free(bytes);
}

static void title_is_printable(void **state)
{
    (void)state;
    static const struct {
        const char *bytes; /* 16 of them */
        const char *title;
    } cases[] = {
        {"ABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"},
        {"ABCDEFGHIJKLMNO\x80", "ABCDEFGHIJKLMNO"},
        {"ABCDEFGHIJKLMNO\xC0", "ABCDEFGHIJKLMNO"},
        {"A\nB\x7F\xFF         \0", "A?B??"},
        {"\0ABCDEFGHIJKLMNO", ""},
        {"                ", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = make(0x8000, 0, 0, 0);
        memcpy(bytes + 0x134, cases[i].bytes, 16);
        dm_gb_rom rom;
        assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
        assert_string_equal(rom.title, cases[i].title);
        assert_int_equal(!!(rom.warnings & DM_GB_ROM_CGB_ONLY), bytes[0x143] == 0xC0);
        dm_gb_rom_deinit(&rom);
        free(bytes);
    }
}

static void checksums_are_checked(void **state)
{
    (void)state;
    uint8_t *bytes = make(0x8000, 0, 0, 0);
    bytes[0x7000] ^= 1;
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
    assert_int_equal(rom.warnings, DM_GB_ROM_BAD_LOGO | DM_GB_ROM_BAD_GLOBAL_SUM);
    assert_int_equal(rom.global_checksum_right, rom.global_checksum + 1);
    dm_gb_rom_deinit(&rom);
    bytes[0x7000] ^= 1;
    bytes[0x14D] ^= 0xFF;
    assert_ok(dm_gb_rom_init(&rom, bytes, 0x8000, err));
    assert_true(rom.warnings & DM_GB_ROM_BAD_CHECKSUM);
    assert_int_equal(rom.header_checksum_right, rom.header_checksum ^ 0xFF);
    dm_gb_rom_deinit(&rom);
    free(bytes);
}

static void report_names_all(void **state)
{
    (void)state;
    uint8_t *bytes = make(0x10000, 0x10, 0, 3);
    bytes[0x14D] ^= 1;
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_init(&rom, bytes, 0x10000, err));
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_rom_report(&rom, &out);
    static const char *const parts[] = {
        "TEST ROM",
        "0x10 MBC3+TIMER+RAM+BATTERY (mapper: MBC3)",
        "64 KiB, 4 banks",
        "32 KiB, battery",
        "yes, no",
        "wrong: should be 0x",
        "warning: the file is larger than the header says",
        "warning: the logo is wrong",
        "warning: the header checksum is wrong",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(dm_buffer_text(&out), parts[i]) == NULL)
            fail_msg("'%s' is not in:\n%s", parts[i], dm_buffer_text(&out));
    for (int i = 0; i < DM_GB_ROM_WARNINGS; i++)
        assert_string_not_equal(dm_gb_rom_warning_text((enum dm_gb_rom_warning)(1 << i)),
                                "unknown warning");
    dm_buffer_deinit(&out);
    dm_gb_rom_deinit(&rom);
    free(bytes);
}

static void json_report_parses(void **state)
{
    (void)state;
    uint8_t *bytes = make(0x10000, 0x10, 0, 3);
    bytes[0x134] = 0x80; /* not ASCII */
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_init(&rom, bytes, 0x10000, err));
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &out, DM_JSON_COMPACT);
    dm_gb_rom_report_json(&rom, "a \"b\".gb", &json);
    json_t *parsed = NULL;
    assert_ok(dm_json_parse(out.data, out.size, "report", &parsed, err));
    assert_string_equal(json_string_value(json_object_get(parsed, "path")), "a \"b\".gb");
    assert_string_equal(json_string_value(json_object_get(parsed, "title")), "?EST ROM");
    assert_string_equal(json_string_value(json_object_get(parsed, "mapper")), "MBC3");
    assert_int_equal(json_integer_value(json_object_get(parsed, "rom_bytes")), 0x10000);
    assert_int_equal(json_integer_value(json_object_get(parsed, "ram_bytes")), 0x8000);
    assert_true(json_is_true(json_object_get(parsed, "clock")));
    assert_true(json_is_false(json_object_get(parsed, "header_checksum_right")));
    /* larger, logo, both checksums */
    assert_int_equal(json_array_size(json_object_get(parsed, "warnings")), 4);
    json_decref(parsed);
    dm_buffer_deinit(&out);
    dm_gb_rom_deinit(&rom);
    free(bytes);
}

/* Any bytes at all: a ROM or a reason. */
static void takes_random_bytes(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(0x20000);
    assert_non_null(bytes);
    uint32_t random = 7;
    int accepted = 0;
    for (int n = 0; n < 3000; n++) {
        size_t size = (random >> 7) % 0x20000;
        for (size_t i = 0; i < size && i < 0x400; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(random >> 24);
        }
        random = random * 1664525u + 1013904223u;
        if (n % 2 == 0) {
            bytes[0x147] = (uint8_t)((random >> 16) & 0x1F);
            bytes[0x148] &= 3;
        }
        dm_gb_rom rom;
        dm_error error = {0};
        if (dm_gb_rom_init(&rom, bytes, size, &error) == DM_OK) {
            accepted++;
            dm_buffer out = DM_BUFFER_EMPTY;
            dm_gb_rom_report(&rom, &out);
            assert_false(out.failed);
            dm_buffer_deinit(&out);
        } else {
            assert_true(error.message[0] != '\0' && strchr(error.message, '\n') == NULL);
        }
        dm_gb_rom_deinit(&rom);
    }
    assert_true(accepted > 100);
    free(bytes);
}

static void loads_from_a_file(void **state)
{
    uint8_t *bytes = make(0x8000, 0, 0, 0);
    const char *path = dm_test_path(state, "a.gb");
    assert_ok(dm_file_write(path, bytes, 0x8000, err));
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_load(&rom, path, err));
    assert_memory_equal(rom.bytes, bytes, 0x8000);
    dm_gb_rom_deinit(&rom);
    /* reasons name the file */
    dm_error error = {0};
    assert_ok(dm_file_write(path, bytes, 100, err));
    assert_int_equal(dm_gb_rom_load(&rom, path, &error), DM_EFORMAT);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "100 bytes are too few"));
    assert_true(dm_gb_rom_load(&rom, dm_test_path(state, "none.gb"), &error) != DM_OK);
    assert_non_null(strstr(error.message, "none.gb"));
    assert_null(rom.bytes);
    free(bytes);
}

/* With public ROMs at hand: logos are right, and the multicart is one. */
static void knows_real_roms(void **state)
{
    (void)state;
    const char *folder = getenv("DM_TEST_ROMS");
    if (folder == NULL)
        dm_test_skip("DM_TEST_ROMS names no folder");
    static const struct {
        const char *path;
        enum dm_gb_mapper mapper;
    } cases[] = {
        {"mooneye/emulator-only/mbc1/multicart_rom_8Mb.gb", DM_GB_MAPPER_MBC1_MULTI},
        {"mooneye/emulator-only/mbc1/rom_8Mb.gb", DM_GB_MAPPER_MBC1},
        {"mooneye/emulator-only/mbc1/rom_16Mb.gb", DM_GB_MAPPER_MBC1},
        {"mooneye/emulator-only/mbc2/ram.gb", DM_GB_MAPPER_MBC2},
        {"mooneye/emulator-only/mbc5/rom_16Mb.gb", DM_GB_MAPPER_MBC5},
    };
    int seen = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[DM_PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].path);
        if (!dm_file_exists(path))
            continue;
        dm_gb_rom rom;
        assert_ok(dm_gb_rom_load(&rom, path, err));
        assert_int_equal(rom.mapper, cases[i].mapper);
        assert_int_equal(rom.warnings & (DM_GB_ROM_BAD_LOGO | DM_GB_ROM_BAD_CHECKSUM), 0);
        dm_gb_rom_deinit(&rom);
        seen++;
    }
    if (seen == 0)
        dm_test_skip("none of mooneye's mapper tests in %s", folder);
}

DM_TESTS("gb/rom", DM_TEST(reads_a_plain_header), DM_TEST(knows_the_types),
         DM_TEST(knows_the_ram_sizes), DM_TEST(pads_to_a_power_of_two),
         DM_TEST(refuses_with_a_reason), DM_TEST(names_archives),
         DM_TEST_IN_DIR(color_only_is_refused), DM_TEST(title_is_printable),
         DM_TEST(checksums_are_checked), DM_TEST(report_names_all), DM_TEST(json_report_parses),
         DM_TEST(takes_random_bytes), DM_TEST_IN_DIR(loads_from_a_file), DM_TEST(knows_real_roms))
