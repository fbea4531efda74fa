/* SPDX-License-Identifier: MIT */
/* Where a run stops does not change the picture: a machine that runs for a frame at once and one
 * that runs as long in pieces are equal in every byte of state and memory, in the picture that is
 * shown and in all complete lines of the one that is being drawn. */
#include "gb/host/core.h"
#include "romtools/asm.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/snippets.h"
#include "tests/support/test.h"

#include <string.h>

#define SEEDS 100
#define FRAMES 6
#define TEXT_FRAMES 200

/* Sprites on all lines, and transfers of two tables to OAM that begin everywhere in a frame, also
 * while mode 2 looks for sprites. */
static const char transfers[] = "HEADER \"TRANSFERS\", ROM\n"
                                "SECTION \"entry\", ROM0[$100]\n"
                                "    nop\n"
                                "    jp Start\n"
                                "SECTION \"main\", ROM0[$150]\n"
                                "Start:\n"
                                "    ld sp, $DFFE\n"
                                "    xor a\n"
                                "    ldh [$FF40], a\n"
                                "    ld hl, $8000\n"
                                ".tiles\n"
                                "    ld a, l\n"
                                "    xor h\n"
                                "    ld [hl+], a\n"
                                "    ld a, h\n"
                                "    cp $90\n"
                                "    jr nz, .tiles\n"
                                "    ld hl, $C000\n"
                                ".tables\n"
                                "    ld a, h\n"
                                "    add a, a\n"
                                "    add a, a\n"
                                "    add a, a\n"
                                "    add a, l\n"
                                "    ld [hl+], a\n"
                                "    ld a, h\n"
                                "    cp $C2\n"
                                "    jr nz, .tables\n"
                                "    ld hl, Routine\n"
                                "    ld de, $FF80\n"
                                ".copy\n"
                                "    ld a, [hl+]\n"
                                "    ld [de], a\n"
                                "    inc e\n"
                                "    ld a, e\n"
                                "    cp $90\n"
                                "    jr nz, .copy\n"
                                "    ld a, $E4\n"
                                "    ldh [$FF47], a\n"
                                "    ldh [$FF48], a\n"
                                "    ld a, $1B\n"
                                "    ldh [$FF49], a\n"
                                "    ld a, $93\n"
                                "    ldh [$FF40], a\n"
                                "    ld b, 1\n"
                                ".loop\n"
                                "    ld a, b\n"
                                "    and 1\n"
                                "    add a, $C0\n"
                                "    call $FF80\n"
                                "    ld a, b\n"
                                ".wait\n"
                                "    dec a\n"
                                "    jr nz, .wait\n"
                                "    inc b\n"
                                "    jr nz, .loop\n"
                                "    inc b\n"
                                "    jr .loop\n"
                                "Routine:\n"
                                "    ldh [$FF46], a\n"
                                "    ld a, 40\n"
                                ".busy\n"
                                "    dec a\n"
                                "    jr nz, .busy\n"
                                "    ret\n";

/* The LCD is switched off everywhere in a line, and stays off for a while. */
static const char switches[] = "HEADER \"SWITCHES\", ROM\n"
                               "SECTION \"entry\", ROM0[$100]\n"
                               "    nop\n"
                               "    jp Start\n"
                               "SECTION \"main\", ROM0[$150]\n"
                               "Start:\n"
                               "    ld b, 1\n"
                               ".loop\n"
                               "    ld a, $91\n"
                               "    ldh [$FF40], a\n"
                               "    ld a, b\n"
                               ".on\n"
                               "    dec a\n"
                               "    jr nz, .on\n"
                               "    ld a, $11\n"
                               "    ldh [$FF40], a\n"
                               "    ld a, b\n"
                               ".off\n"
                               "    dec a\n"
                               "    jr nz, .off\n"
                               "    inc b\n"
                               "    jr nz, .loop\n"
                               "    inc b\n"
                               "    jr .loop\n";

static void compare_pictures(const char *name, unsigned frame, const dm_gb *whole,
                             const dm_gb *parts)
{
    const dm_gb_ppu *ppu = &whole->machine.ppu;
    const size_t picture = sizeof whole->frames / 2;
    const uint8_t *a = (const uint8_t *)whole->frames, *b = (const uint8_t *)parts->frames;
    const size_t shown = ppu->front * picture, other = (ppu->front ^ 1u) * picture;
    if (memcmp(a + shown, b + shown, picture) != 0)
        fail_msg("%s, frame %u: the picture differs", name, frame);
    /* One that is not going to be shown may be left as it is. */
    if (!ppu->drawing)
        return;
    const size_t complete = ppu->line < DM_GB_SCREEN_H ? ppu->line : DM_GB_SCREEN_H;
    if (memcmp(a + other, b + other, complete * DM_GB_SCREEN_W) != 0)
        fail_msg("%s, frame %u: a line before %u differs", name, frame, ppu->line);
}

/* A machine that has stopped knows where mode 3 of its line ends, and whether it has. */
static void check_mode3(const char *name, unsigned frame, const dm_gb_machine *m)
{
    const dm_gb_ppu *ppu = &m->ppu;
    const uint32_t dot = m->clock - ppu->line_start;
    if ((ppu->lcdc & 0x80u) == 0 || ppu->line >= DM_GB_SCREEN_H || dot <= 86u)
        return;
    const bool over = dot > ppu->mode0_dot + 1u;
    if (ppu->mode0_dot == 0 || ppu->edge != (over ? 4 : 3) || (over && ppu->mode_int != 0))
        fail_msg("%s, frame %u: mode 3 ends at %u, edge %u at dot %u", name, frame, ppu->mode0_dot,
                 ppu->edge, dot);
}

static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *whole, *parts;
    dm_test_random random = dm_test_random_make(seed, 12);
    assert_ok(dm_gb_create(rom, size, NULL, &whole, err));
    assert_ok(dm_gb_create(rom, size, NULL, &parts, err));
    for (uint32_t i = 0; i < frames; i++) {
        const uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(whole, keys);
        dm_gb_set_keys(parts, keys);
        const uint32_t cycles = DM_GB_FRAME_CYCLES + dm_test_random_below(&random, 20000);
        dm_gb_run_cycles(whole, cycles, DM_GB_DRAW_ALWAYS);
        for (uint32_t done = 0; done < cycles;) {
            const uint32_t most = dm_test_random_chance(&random, 50) ? 700 : 9000;
            uint32_t part = 1u + dm_test_random_below(&random, most);
            part = part < cycles - done ? part : cycles - done;
            dm_gb_run_cycles(parts, part, DM_GB_DRAW_ALWAYS);
            done += part;
        }
        if (memcmp(&whole->machine, &parts->machine, sizeof whole->machine) != 0)
            fail_msg("%s, frame %u: the states differ", name, i);
        if (memcmp(whole->ram, parts->ram, whole->ram_size) != 0)
            fail_msg("%s, frame %u: memory differs", name, i);
        compare_pictures(name, i, whole, parts);
        check_mode3(name, i, &whole->machine);
    }
    dm_gb_destroy(whole);
    dm_gb_destroy(parts);
}

static void our_roms(void **state)
{
    (void)state;
    dm_each_own_rom(compare, FRAMES);
}

static void programs(void **state)
{
    (void)state;
    dm_each_program(compare, FRAMES, SEEDS);
    dm_each_device_program(compare, FRAMES, SEEDS);
    dm_each_waiting_program(compare, FRAMES, SEEDS);
    dm_each_picture_program(compare, FRAMES, SEEDS);
    dm_each_transfer_program(compare, FRAMES, SEEDS);
}

static void compare_text(const char *name, const char *text)
{
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text(name, text, strlen(text), NULL, &result, err));
    compare(name, result.rom, result.rom_size, TEXT_FRAMES, 1);
    dm_gb_asm_result_deinit(&result);
}

static void transfers_begin_anywhere(void **state)
{
    (void)state;
    compare_text("transfers", transfers);
}

static void lcd_goes_off_anywhere(void **state)
{
    (void)state;
    compare_text("switches", switches);
}

DM_TESTS("gb/pieces", DM_TEST(our_roms), DM_TEST(programs), DM_TEST(transfers_begin_anywhere),
         DM_TEST(lcd_goes_off_anywhere))
