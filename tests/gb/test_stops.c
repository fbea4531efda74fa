/* SPDX-License-Identifier: MIT */
/* Running up to places in a program (gb/host/stops.c). */
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls a routine of banks 1 and 2 in turns, both at 4000; then sleeps until VBlank. */
static const char calling[] = "HEADER \"CALLS\", MBC5\n"
                              "SECTION \"entry\", ROM0[$100]\n jp Main\n"
                              "SECTION \"vblank\", ROM0[$40]\n reti\n"
                              "SECTION \"main\", ROM0[$150]\n"
                              "Main: ld a, 1\n ldh [$FF], a\n ei\n"
                              "Loop: ld a, 1\n ld [$2000], a\n call $4000\n"
                              " ld a, 2\n ld [$2000], a\n call $4000\n halt\n nop\n jr Loop\n"
                              "SECTION \"one\", ROMX[$4000], BANK[1]\n inc b\n ret\n"
                              "SECTION \"two\", ROMX[$4000], BANK[2]\n inc c\n ret\n";

static dm_gb *make(void)
{
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("calling", calling, strlen(calling), NULL, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

/* Run `frames` frames and count what each stop saw. */
static void count(dm_gb *gb, uint32_t frames, const dm_gb_hook *stops, size_t n, unsigned *hits)
{
    size_t which = 99;
    for (; dm_gb_run_stops(gb, frames, DM_GB_DRAW_LAST, stops, n, &which); frames = 0) {
        assert_in_range(which, 0, n - 1);
        assert_int_equal(dm_gb_get_registers(gb).pc, stops[which].address);
        hits[which]++;
    }
}

static void stops_tell_banks_apart(void **state)
{
    (void)state;
    dm_gb *gb = make();
    const dm_gb_hook stops[] = {{0x4000, 2}, {0x4000, 3}};
    unsigned hits[2] = {0};
    size_t which;
    assert_true(dm_gb_run_stops(gb, 4, DM_GB_DRAW_NEVER, stops, 2, &which));
    assert_int_equal(which, 0);
    const dm_gb_registers r = dm_gb_get_registers(gb);
    assert_int_equal(dm_gb_bank(gb, r.pc), 2);
    assert_int_equal(r.b, 1); /* bank 1's routine has run */
    count(gb, 0, stops, 2, hits);
    const dm_gb_registers after = dm_gb_get_registers(gb);
    assert_int_equal(hits[0] + 1u, after.c - r.c); /* one call a frame */
    assert_in_range(hits[0], 3, 5);
    assert_int_equal(hits[1], 0);
    dm_gb_destroy(gb);
}

static void any_bank_sees_all(void **state)
{
    (void)state;
    dm_gb *gb = make();
    const dm_gb_hook stops[] = {{0x4000, DM_GB_HOOK_EVERY_BANK}};
    const uint32_t before = dm_gb_get_registers(gb).b + dm_gb_get_registers(gb).c;
    unsigned hits[1] = {0};
    count(gb, 8, stops, 1, hits);
    assert_int_equal(hits[0], dm_gb_get_registers(gb).b + dm_gb_get_registers(gb).c - before);
    assert_true(hits[0] >= 14);
    dm_gb_destroy(gb);
}

/* Frames end at the same cycle as without stops, tick by tick, with the same picture. */
static void frames_end_where_they_do_without_stops(void **state)
{
    (void)state;
    dm_gb *with = make(), *without = make();
    const dm_gb_hook stops[] = {{0x4000, 1}, {0x0040, DM_GB_HOOK_EVERY_BANK}};
    unsigned hits[2] = {0};
    for (uint32_t i = 0; i < 6; i++) {
        count(with, 1 + i % 3, stops, 2, hits);
        dm_gb_run_frames(without, 1 + i % 3, DM_GB_DRAW_LAST);
        const dm_gb_counters a = dm_gb_get_counters(with), b = dm_gb_get_counters(without);
        assert_true(a.cycles == b.cycles && a.instructions == b.instructions);
        assert_memory_equal(dm_gb_frame(with), dm_gb_frame(without),
                            DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    }
    assert_true(hits[0] > 10 && hits[1] > 10);
    dm_gb_destroy(with);
    dm_gb_destroy(without);
}

/* Runs through HALT are as exact as those of one cycle: interrupts of all kinds end it, in games and micro-ROMs. */
static void sleeping_changes_nothing(void **state)
{
    (void)state;
    static const char *const roms[] = {"STARFALL", "TIMER_IRQ_HALT", "PPU_STAT_IRQ", "SWITCHBACK",
                                       "EI_DELAY"};
    for (size_t r = 0; r < sizeof roms / sizeof roms[0]; r++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, roms[r]);
        dm_gb *with = NULL, *without = NULL;
        assert_ok(dm_gb_create_file(path, NULL, &with, err));
        assert_ok(dm_gb_create_file(path, NULL, &without, err));
        const dm_gb_hook nowhere = {0x7FF7, 0};
        for (uint32_t i = 0; i < 40; i++) {
            const uint8_t keys = (uint8_t)(1u << (i % 8));
            dm_gb_set_keys(with, keys);
            dm_gb_set_keys(without, keys);
            assert_false(dm_gb_run_stops(with, 3, DM_GB_DRAW_NEVER, &nowhere, 1, NULL));
            dm_gb_run_frames(without, 3, DM_GB_DRAW_NEVER);
            const size_t size = dm_gb_state_bytes(with);
            void *a = malloc(size), *b = malloc(size);
            assert_ok(dm_gb_save_state_bytes(with, a, size, err));
            assert_ok(dm_gb_save_state_bytes(without, b, size, err));
            assert_memory_equal(a, b, size);
            free(a);
            free(b);
        }
        dm_gb_destroy(with);
        dm_gb_destroy(without);
    }
}

/* An instruction at which a run begins is told of; one at which it ended is, in the next run. */
static void a_run_that_begins_at_a_stop_tells_it(void **state)
{
    (void)state;
    dm_gb *gb = make();
    const dm_gb_hook entry = {0x0100, 0};
    size_t which;
    assert_true(dm_gb_run_stops(gb, 1, DM_GB_DRAW_NEVER, &entry, 1, &which));
    assert_int_equal(dm_gb_get_registers(gb).pc, 0x0100);
    assert_false(dm_gb_run_stops(gb, 0, DM_GB_DRAW_NEVER, &entry, 1, &which));
    assert_false(dm_gb_run_stops(gb, 1, DM_GB_DRAW_NEVER, NULL, 0, NULL));
    assert_false(dm_gb_run_stops(gb, 1, DM_GB_DRAW_NEVER, NULL, 1, NULL));
    assert_false(dm_gb_run_stops(NULL, 1, DM_GB_DRAW_NEVER, &entry, 1, &which));
    dm_gb_destroy(gb);
}

DM_TESTS("gb/stops", DM_TEST(stops_tell_banks_apart), DM_TEST(any_bank_sees_all),
         DM_TEST(frames_end_where_they_do_without_stops), DM_TEST(sleeping_changes_nothing),
         DM_TEST(a_run_that_begins_at_a_stop_tells_it))
