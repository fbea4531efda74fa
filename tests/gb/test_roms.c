/* SPDX-License-Identifier: MIT */
/* Our own ROMs: every source assembles without a word, and every run ends as the source says,
 * however the machine was started. */
#include "base/file.h"
#include "romtools/asm.h"
#include "romtools/notes.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROMS DM_TEST_SOURCE_ROOT "/roms"

static const dm_gb_options ways[] = {
    {.start = DM_GB_START_POST_BOOT},
    {.start = DM_GB_START_POST_BOOT, .keep_idle_loops = true},
    {.start = DM_GB_START_ZERO},
};
static const char *const way_names[] = {"post-boot", "keep-polling", "zero"};

static dm_status check_source(const char *root, const dm_dir_entry *entry, void *user,
                              dm_error *err)
{
    unsigned *seen = user;
    size_t length = strlen(entry->path);
    if (entry->is_dir || length < 4 || strcmp(entry->path + length - 4, ".asm") != 0)
        return DM_OK;
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, root, entry->path, err));
    dm_gb_asm_result result;
    const dm_gb_asm_options options = {.include_dir = ROMS "/include"};
    if (dm_gb_asm_file(path, &options, &result, err) != DM_OK || result.messages.size > 0)
        fail_msg("%s", dm_buffer_text(&result.messages));

    char *text;
    size_t size;
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    dm_gb_notes notes;
    assert_ok(dm_gb_notes_parse(entry->path, text, size, &notes, err));
    assert_true(notes.proves[0] != 0);
    assert_true(notes.expect_count > 0);
    for (size_t i = 0; i < notes.expect_count; i++) {
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            dm_buffer differences = DM_BUFFER_EMPTY;
            unsigned count;
            assert_ok(dm_gb_expect_check(&notes.expects[i], result.rom, result.rom_size, &ways[way],
                                         &differences, &count, err));
            if (count > 0) {
                print_error("%s:%d (%s):\n%s", entry->path, notes.expects[i].line, way_names[way],
                            dm_buffer_text(&differences));
                seen[1]++;
            }
            dm_buffer_deinit(&differences);
        }
    }
    dm_gb_notes_deinit(&notes);
    dm_gb_asm_result_deinit(&result);
    free(text);
    seen[0]++;
    return DM_OK;
}

static void every_rom_ends_as_expected(void **state)
{
    (void)state;
    unsigned seen[2] = {0};
    assert_ok(dm_dir_walk(ROMS, check_source, seen, err));
    assert_true(seen[0] >= 24);
    assert_int_equal(seen[1], 0);
}

/* A wrong expectation has to be noticed, in every part of one. */
static void wrong_expectations_are_found(void **state)
{
    (void)state;
    static const char source[] = "SECTION \"e\",ROM0[$100]\n jp Main\nSECTION \"m\",ROM0[$150]\n"
                                 "Main: ld a,5\n ld [$C000],a\n ld a,'X'\n ldh [$01],a\n ld a,$81\n"
                                 " ldh [$02],a\n.wait: jr .wait\n";
    static const struct {
        const char *note;
        const char *difference; /* NULL: none */
    } cases[] = {
        {"; expect frames=2 A=$81 [$C000]=05 serial=\"X\"\n", NULL},
        {"; expect frames=2 A=$82\n", "A is $81, expected $82\n"},
        {"; expect frames=2 [$C000]=06\n", "[$C000] is $05, expected $06\n"},
        {"; expect frames=2 serial=\"Y\"\n", "serial output is \"X\", expected \"Y\"\n"},
        {"; expect frames=2 frame=0000000000000001\n", ", expected 0000000000000001\n"},
    };
    dm_gb_asm_result rom;
    assert_ok(dm_gb_asm_text("t.asm", source, sizeof source - 1, NULL, &rom, err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_gb_notes notes;
        unsigned count;
        dm_buffer differences = DM_BUFFER_EMPTY;
        assert_ok(dm_gb_notes_parse("t", cases[i].note, strlen(cases[i].note), &notes, err));
        assert_ok(dm_gb_expect_check(&notes.expects[0], rom.rom, rom.rom_size, NULL, &differences,
                                     &count, err));
        assert_int_equal(count, cases[i].difference ? 1 : 0);
        if (cases[i].difference && !strstr(differences.data, cases[i].difference))
            fail_msg("%s", differences.data);
        dm_buffer_deinit(&differences);
        dm_gb_notes_deinit(&notes);
    }
    dm_gb_asm_result_deinit(&rom);
}

static void notes_are_read(void **state)
{
    (void)state;
    static const char text[] = "; NAME\n; proves: one thing\n;         and another.\n"
                               "; expect frames=7 keys=2*NONE,3*RIGHT+A,START A=$3C SP=$DFFE\n"
                               "; and    [$C000]=01 aB [$C010..$C012]=FF serial=\"a b\"\n"
                               "; and so on is not one of ours? it is, so it must parse\n";
    dm_gb_notes notes;
    assert_int_equal(dm_gb_notes_parse("n", text, sizeof text - 1, &notes, NULL), DM_EFORMAT);
    dm_gb_notes_deinit(&notes);
    size_t size = (size_t)(strstr(text, "; and so") - text);
    assert_ok(dm_gb_notes_parse("n", text, size, &notes, err));
    assert_string_equal(notes.proves, "one thing and another.");
    assert_int_equal(notes.expect_count, 1);
    const dm_gb_expect *e = &notes.expects[0];
    assert_int_equal(e->frames, 7);
    assert_int_equal(e->register_mask, 1 << DM_GB_NOTE_A | 1 << DM_GB_NOTE_SP);
    assert_int_equal(e->registers[DM_GB_NOTE_SP], 0xDFFE);
    assert_int_equal(e->byte_count, 5);
    assert_int_equal(e->bytes[1].value, 0xAB);
    assert_int_equal(e->bytes[4].address, 0xC012);
    assert_string_equal(e->serial, "a b");
    static const uint8_t keys[] = {0, 0, 0x11, 0x11, 0x11, 0x80, 0x80};
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(dm_gb_expect_keys(e, i), keys[i]);
    dm_gb_notes_deinit(&notes);
}

static void bad_notes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "; expect A=$00\n",
        "; expect frames=\n",
        "; expect frames=1 A=$100\n",
        "; expect frames=1 Q=1\n",
        "; expect frames=1 [$C000]=\n",
        "; expect frames=1 [$C000]=1\n",
        "; expect frames=1 [$FFFF]=01 02\n",
        "; expect frames=1 [$C002..$C001]=00\n",
        "; expect frames=1 serial=\"x\n",
        "; expect frames=1 frame=12\n",
        "; expect frames=1 keys=JUMP\n",
        "; expect frames=1 keys=0*A,B\n",
        "; expect frames=1 [$0000..$FFFF]=00\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dm_gb_notes notes;
        dm_error err = {0};
        if (dm_gb_notes_parse("n", bad[i], strlen(bad[i]), &notes, &err) != DM_EFORMAT)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.line, 1);
        dm_gb_notes_deinit(&notes);
    }
}

/* Damaged notes are refused or read, nothing else. */
static void survives_damaged_notes(void **state)
{
    (void)state;
    static const char good[] = "; proves: a\n;   b\n; expect frames=7 keys=2*NONE,3*RIGHT+A,START "
                               "A=$3C SP=$DFFE\n; and [$C000]=01 aB [$C010..$C012]=FF "
                               "serial=\"a b\" frame=0123456789abcdef\n";
    uint32_t seed = 99;
    unsigned refused = 0;
    for (int round = 0; round < 5000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (int change = 0; change < 3; change++) {
            seed = seed * 1664525u + 1013904223u;
            text[(seed >> 8) % (sizeof good - 1)] =
                change == 0 ? (char)(seed >> 24) : good[(seed >> 16) % (sizeof good - 1)];
        }
        dm_gb_notes notes;
        dm_error err = {0};
        dm_status status = dm_gb_notes_parse("n", text, sizeof good - 1, &notes, &err);
        assert_true(status == DM_OK || (status == DM_EFORMAT && err.message[0]));
        refused += status != DM_OK;
        dm_gb_notes_deinit(&notes);
    }
    assert_in_range(refused, 500, 4900);
}

DM_TESTS("gb/roms", DM_TEST(every_rom_ends_as_expected), DM_TEST(wrong_expectations_are_found),
         DM_TEST(notes_are_read), DM_TEST(bad_notes_are_refused), DM_TEST(survives_damaged_notes));
