/* SPDX-License-Identifier: MIT */
/* Where a run stops changes nothing: whole frames, single steps and odd pieces end in the same
 * state, also when HALT, its wake-up and idle loop lie across the stops. */
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <stdlib.h>
#include <string.h>

/* A timer whose period drifts against frames and lines, STAT interrupts at HBlank, and a main loop
 * that halts, polls LY, and halts with interrupts off. C000.. count what happened. */
static const char program[] = "HEADER \"SPLIT\", ROM\n"
                              "SECTION \"stat\", ROM0[$48]\n"
                              "    jp Stat\n"
                              "SECTION \"timer\", ROM0[$50]\n"
                              "    jp Timer\n"
                              "SECTION \"entry\", ROM0[$100]\n"
                              "    nop\n"
                              "    jp Start\n"
                              "SECTION \"main\", ROM0[$150]\n"
                              "Start:\n"
                              "    ld sp, $FFFE\n"
                              "    ld a, $91\n"
                              "    ldh [$FF06], a\n"
                              "    ld a, 5\n"
                              "    ldh [$FF07], a\n"
                              "    ld a, 8\n"
                              "    ldh [$FF41], a\n"
                              "    ld a, 6\n"
                              "    ldh [$FFFF], a\n"
                              "    ei\n"
                              ".loop\n"
                              "    halt\n"
                              "    nop\n"
                              "    ld hl, $C002\n"
                              "    inc [hl]\n"
                              "    ldh a, [$FF44]\n"
                              "    ldh [$FF43], a\n"
                              "    cp 100\n"
                              "    jr nz, .loop\n"
                              ".poll\n"
                              "    ldh a, [$FF44]\n"
                              "    cp 130\n"
                              "    jr nz, .poll\n"
                              "    di\n"
                              "    halt\n"
                              "    inc [hl]\n"
                              "    ei\n"
                              "    jr .loop\n"
                              "Stat:\n"
                              "    push hl\n"
                              "    ld hl, $C000\n"
                              "    inc [hl]\n"
                              "    pop hl\n"
                              "    reti\n"
                              "Timer:\n"
                              "    push af\n"
                              "    ldh a, [$FF04]\n"
                              "    ld [$C001], a\n"
                              "    pop af\n"
                              "    reti\n";

static dm_gb *create(void)
{
    dm_gb_asm_result result;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("split", program, strlen(program), NULL, &result, err));
    assert_ok(dm_gb_create(result.rom, result.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&result);
    return gb;
}

static void assert_same(dm_gb *a, dm_gb *b, unsigned frame)
{
    dm_gb_counters x = dm_gb_get_counters(a), y = dm_gb_get_counters(b);
    dm_gb_registers r = dm_gb_get_registers(a), s = dm_gb_get_registers(b);
    if (x.cycles != y.cycles || x.instructions != y.instructions || x.halted != y.halted)
        fail_msg("frame %u: cycles %llu and %llu, instructions %llu and %llu, halted %llu and %llu",
                 frame, (unsigned long long)x.cycles, (unsigned long long)y.cycles,
                 (unsigned long long)x.instructions, (unsigned long long)y.instructions,
                 (unsigned long long)x.halted, (unsigned long long)y.halted);
    assert_int_equal(r.pc, s.pc);
    assert_int_equal(r.a, s.a);
    assert_int_equal(r.f, s.f);
    for (unsigned address = 0x8000; address < 0x10000; address++)
        if (dm_gb_peek(a, (uint16_t)address) != dm_gb_peek(b, (uint16_t)address))
            fail_msg("frame %u: %04X differs", frame, address);
}

static void steps_are_the_same_as_frames(void **state)
{
    (void)state;
    dm_gb *whole = create(), *stepped = create();
    uint64_t start = dm_gb_get_counters(stepped).cycles;
    for (unsigned frame = 1; frame <= 120; frame++) {
        dm_gb_run_frames(whole, 1, DM_GB_DRAW_NEVER);
        while (dm_gb_get_counters(stepped).cycles < start + (uint64_t)frame * DM_GB_FRAME_CYCLES)
            dm_gb_step(stepped);
        assert_same(whole, stepped, frame);
    }
    assert_true(dm_gb_get_counters(whole).halted > 0);
    assert_int_not_equal(dm_gb_peek(whole, 0xC001), 0);
    dm_gb_destroy(whole);
    dm_gb_destroy(stepped);
}

static void odd_pieces_are_the_same_as_frames(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 17, 456, 1001, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        dm_gb *whole = create(), *pieces = create();
        dm_gb_run_frames(whole, 12, DM_GB_DRAW_NEVER);
        for (uint32_t left = 12 * DM_GB_FRAME_CYCLES; left > 0;) {
            uint32_t now = left < sizes[i] ? left : sizes[i];
            dm_gb_run_cycles(pieces, now, DM_GB_DRAW_ALWAYS);
            left -= now;
        }
        assert_same(whole, pieces, 12);
        dm_gb_destroy(whole);
        dm_gb_destroy(pieces);
    }
}

DM_TESTS("gb/run", DM_TEST(steps_are_the_same_as_frames),
         DM_TEST(odd_pieces_are_the_same_as_frames))
