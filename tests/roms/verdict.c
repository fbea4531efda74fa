/* SPDX-License-Identifier: MIT */
/* verdict.c - run one test ROM and judge it.
 *
 * Each protocol is a function that looks at the machine between two frames and says whether there
 * is a result yet. The protocols are those that the suites document: blargg's readme, mooneye's
 * "LD B,B" breakpoint, gbmicrotest's three bytes of HRAM. */
#include "tests/roms/verdict.h"

#include "gb/host/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS (DM_GB_SCREEN_W * DM_GB_SCREEN_H)
#define FRAMES_PER_SECOND (4194304.0 / DM_GB_FRAME_CYCLES)

const char *dm_rom_verdict_name(enum dm_rom_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "skip"};
    return names[verdict];
}

static void decide(dm_rom_result *result, enum dm_rom_verdict verdict, const char *format, ...)
    DM_PRINTF(3, 4);

static void decide(dm_rom_result *result, enum dm_rom_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    result->verdict = verdict;
    vsnprintf(result->how, sizeof result->how, format, args);
    va_end(args);
}

/* ---- blargg ---- */

/* Printable characters with runs of anything else as one blank; keeps the end when it is long. */
static void tidy(const char *text, char out[DM_ROM_TEXT_MAX])
{
    const size_t most = 60;
    size_t used = 0;
    char line[2048] = "";
    for (; *text != 0 && used + 1 < sizeof line; text++) {
        bool blank = *text <= ' ' || *text > '~';
        if (!blank)
            line[used++] = *text;
        else if (used > 0 && line[used - 1] != ' ')
            line[used++] = ' ';
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = 0;
    snprintf(out, DM_ROM_TEXT_MAX, "%.60s", line + (used > most ? used - most : 0));
}

/* True when the text has a final word. */
static bool judge_text(const char *text, const char *where, dm_rom_result *result)
{
    char said[DM_ROM_TEXT_MAX];
    bool failed = strstr(text, "Failed") != NULL;
    if (!failed && strstr(text, "Passed") == NULL)
        return false;
    tidy(text, said);
    decide(result, failed ? DM_ROM_FAIL : DM_ROM_PASS, "%s: %s", where, failed ? said : "Passed");
    return true;
}

static bool judge_blargg_memory(dm_gb *gb, bool *present, dm_rom_result *result)
{
    *present = dm_gb_peek(gb, 0xA001) == 0xDE && dm_gb_peek(gb, 0xA002) == 0xB0 &&
               dm_gb_peek(gb, 0xA003) == 0x61;
    unsigned status = dm_gb_peek(gb, 0xA000);
    if (!*present || status == 0x80)
        return false;
    char text[1024], said[DM_ROM_TEXT_MAX];
    size_t used = 0;
    while (used + 1 < sizeof text &&
           (text[used] = (char)dm_gb_peek(gb, (uint16_t)(0xA004 + used))) != 0)
        used++;
    text[used] = 0;
    tidy(text, said);
    if (status == 0)
        decide(result, DM_ROM_PASS, "memory: 0");
    else
        decide(result, DM_ROM_FAIL, "memory: %u: %s", status, said);
    return true;
}

/* The text on the background map: blargg's tiles are numbered by character. */
static bool judge_blargg_map(dm_gb *gb, dm_rom_result *result)
{
    char text[32 * 33 + 1];
    size_t used = 0;
    for (uint16_t i = 0; i < 32 * 32; i++) {
        if (i % 32 == 0)
            text[used++] = '\n';
        uint8_t c = dm_gb_peek(gb, (uint16_t)(0x9800 + i));
        text[used++] = c >= ' ' && c <= '~' ? (char)c : ' ';
    }
    text[used] = 0;
    return judge_text(text, "screen", result);
}

static bool judge_blargg(dm_gb *gb, dm_rom_result *result)
{
    size_t size = 0;
    const uint8_t *bytes = dm_gb_serial_output(gb, &size);
    if (size > 0) {
        char text[2048];
        snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1),
                 (const char *)bytes);
        if (judge_text(text, "serial", result))
            return true;
    }
    bool present = false;
    if (judge_blargg_memory(gb, &present, result))
        return true;
    return !present && judge_blargg_map(gb, result);
}

/* ---- mooneye and those who took its protocol over ---- */

static bool holds(const dm_gb_registers *r, const uint8_t want[6])
{
    return r->b == want[0] && r->c == want[1] && r->d == want[2] && r->e == want[3] &&
           r->h == want[4] && r->l == want[5];
}

/* Whether PC is in a loop that does nothing for ever, HALT, NOP and one JR back. */
static bool is_idle_loop(dm_gb *gb, uint16_t pc)
{
    for (uint16_t at = pc; at < pc + 3u; at++) {
        uint8_t opcode = dm_gb_peek(gb, at);
        if (opcode == 0x18) {
            int8_t offset = (int8_t)dm_gb_peek(gb, (uint16_t)(at + 1));
            return offset >= -5 && offset <= -2;
        }
        if (opcode != 0x00 && opcode != 0x76)
            return false;
    }
    return false;
}

static bool follows_breakpoint(dm_gb *gb, uint16_t pc)
{
    for (uint16_t back = 0; back <= 6; back++)
        if (dm_gb_peek(gb, (uint16_t)(pc - back)) == 0x40)
            return true;
    return false;
}

/* Locked; or asleep where nothing can wake it; or in an idle loop that no interrupt leaves; or LD
 * B,B just behind it with registers that say something. */
static bool is_final(dm_gb *gb, const dm_gb_registers *r, bool signature)
{
    if (r->locked || (r->halted && (dm_gb_peek(gb, 0xFFFF) & 0x1F) == 0))
        return true;
    bool idle = is_idle_loop(gb, r->pc), behind = follows_breakpoint(gb, r->pc);
    return (idle && !r->ime) || (idle && (behind || signature)) || (behind && signature);
}

static bool judge_registers(dm_gb *gb, dm_rom_result *result)
{
    static const uint8_t passed[6] = {3, 5, 8, 13, 21, 34};
    static const uint8_t failed[6] = {0x42, 0x42, 0x42, 0x42, 0x42, 0x42};
    dm_gb_registers r = dm_gb_get_registers(gb);
    bool pass = holds(&r, passed), fail = holds(&r, failed);
    if (!is_final(gb, &r, pass || fail))
        return false;
    if (pass)
        decide(result, DM_ROM_PASS, "registers");
    else if (fail)
        decide(result, DM_ROM_FAIL, "registers");
    else
        decide(result, DM_ROM_FAIL, "registers: B..L = %02X %02X %02X %02X %02X %02X at %04X%s",
               r.b, r.c, r.d, r.e, r.h, r.l, r.pc, r.locked ? ", locked" : "");
    return true;
}

/* ---- gbmicrotest ---- */

static bool judge_hram(dm_gb *gb, dm_rom_result *result)
{
    unsigned flag = dm_gb_peek(gb, 0xFF82);
    if (flag != 0x01 && flag != 0xFF)
        return false;
    decide(result, flag == 1 ? DM_ROM_PASS : DM_ROM_FAIL, "memory: %02X, expected %02X",
           dm_gb_peek(gb, 0xFF80), dm_gb_peek(gb, 0xFF81));
    return true;
}

/* ROMs of this suite that never store to FF82 only make signals for an oscilloscope. */
static bool stores_result(const uint8_t *rom, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++)
        if ((rom[i] == 0xE0 && rom[i + 1] == 0x82) ||
            (rom[i] == 0xEA && rom[i + 1] == 0x82 && rom[i + 2] == 0xFF))
            return true;
    return false;
}

/* ---- pictures ---- */

/* False when the reference cannot be read, which decides. */
static bool compare_picture(const char *path, dm_rom_result *result, size_t *different)
{
    uint8_t shades[PIXELS];
    dm_error err;
    if (dm_rom_picture_read(path, shades, &err) != DM_OK) {
        decide(result, DM_ROM_SKIP, "%.100s", err.message);
        return false;
    }
    *different = 0;
    for (size_t p = 0; p < PIXELS; p++)
        *different += shades[p] != result->frame[p];
    return true;
}

static void judge_picture(const dm_rom_plan *plan, dm_rom_result *result)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < plan->reference_count; i++) {
        size_t different;
        if (!compare_picture(plan->references[i], result, &different))
            return;
        if (different < best)
            best = different;
    }
    if (best == 0)
        decide(result, DM_ROM_PASS, "picture");
    else
        decide(result, DM_ROM_FAIL, "picture: %zu pixels differ", best);
}

static void press(dm_gb *gb, uint8_t keys)
{
    dm_gb_set_keys(gb, keys);
    dm_gb_run_frames(gb, 4, DM_GB_DRAW_NEVER);
    dm_gb_set_keys(gb, 0);
    dm_gb_run_frames(gb, 10, DM_GB_DRAW_NEVER);
}

/* Item i is reached by pressing Down i times and chosen by A, each after a reset. */
static void judge_menu(const dm_rom_plan *plan, dm_gb *gb, dm_rom_result *result)
{
    decide(result, DM_ROM_PASS, "%zu pictures", plan->reference_count);
    for (size_t i = 0; i < plan->reference_count; i++) {
        dm_gb_reset(gb);
        dm_gb_run_frames(gb, 60, DM_GB_DRAW_NEVER);
        for (size_t down = 0; down < i; down++)
            press(gb, DM_GB_KEY_DOWN);
        press(gb, DM_GB_KEY_A);
        dm_gb_run_frames(gb, plan->frames, DM_GB_DRAW_LAST);
        memcpy(result->frame, dm_gb_frame(gb), PIXELS);
        size_t different;
        if (!compare_picture(plan->references[i], result, &different))
            return;
        if (different > 0) {
            decide(result, DM_ROM_FAIL, "picture of menu item %zu: %zu pixels differ", i + 1,
                   different);
            return;
        }
    }
}

/* ---- digits ---- */

/* gambatte's ROMs draw each digit with the tile of its number. What is on the screen must be those
 * tiles; a tile without a mark means that nothing was drawn. */
static bool shows_digit(dm_gb *gb, const uint8_t *frame, unsigned column, unsigned digit)
{
    uint8_t palette = dm_gb_peek(gb, 0xFF47);
    unsigned marks = 0;
    for (unsigned y = 0; y < 8; y++) {
        unsigned low = dm_gb_peek(gb, (uint16_t)(0x8000 + 16 * digit + 2 * y));
        unsigned high = dm_gb_peek(gb, (uint16_t)(0x8000 + 16 * digit + 2 * y + 1));
        for (unsigned x = 0; x < 8; x++) {
            unsigned colour = (low >> (7 - x) & 1u) | (high >> (7 - x) & 1u) << 1;
            unsigned shade = palette >> (2 * colour) & 3u;
            if (frame[y * DM_GB_SCREEN_W + 8 * column + x] != shade)
                return false;
            marks += colour != 0;
        }
    }
    return marks > 0;
}

static void judge_digits(const dm_rom_plan *plan, dm_gb *gb, dm_rom_result *result)
{
    char shown[20];
    unsigned count = 0;
    bool equal = true;
    for (; plan->text[count] != 0; count++) {
        char text[2] = {plan->text[count], 0};
        equal &= shows_digit(gb, result->frame, count, (unsigned)strtoul(text, NULL, 16));
        unsigned digit = 0;
        while (digit < 16 && !shows_digit(gb, result->frame, count, digit))
            digit++;
        shown[count] = "0123456789ABCDEF?"[digit];
    }
    shown[count] = 0;
    decide(result, equal ? DM_ROM_PASS : DM_ROM_FAIL, "digits: %s, expected %s", shown, plan->text);
}

/* ---- cartridge RAM ---- */

static uint32_t count_different(dm_gb *gb, const uint8_t *bytes, size_t size)
{
    uint32_t different = 0;
    for (uint32_t i = 0; i < size; i++)
        different += dm_gb_ram_load(&gb->context, DM_GB_CART_RAM + i) != bytes[i];
    return different;
}

/* A capture of real cartridge RAM may be cut at its last byte that says something. */
static void judge_save(const dm_rom_plan *plan, dm_gb *gb, dm_rom_result *result)
{
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    if (dm_file_read(plan->references[0], 1u << 20, &bytes, &size, &err) != DM_OK) {
        decide(result, DM_ROM_SKIP, "%.100s", err.message);
        return;
    }
    if (size == 0 || size > gb->rom.ram_size) {
        decide(result, DM_ROM_SKIP, "the capture has %zu bytes, the cartridge %u", size,
               (unsigned)gb->rom.ram_size);
        free(bytes);
        return;
    }
    const uint32_t step = 8;
    uint32_t different = UINT32_MAX;
    for (uint32_t frame = 0; frame < plan->frames && different > 0; frame += step) {
        dm_gb_run_frames(gb, step, DM_GB_DRAW_NEVER);
        different = count_different(gb, (const uint8_t *)bytes, size);
    }
    if (different == 0)
        decide(result, DM_ROM_PASS, "cartridge RAM");
    else
        decide(result, DM_ROM_FAIL, "cartridge RAM: %u of %zu bytes differ", (unsigned)different,
               size);
    free(bytes);
}

/* ---- running ---- */

static bool look(const dm_rom_plan *plan, dm_gb *gb, dm_rom_result *result)
{
    switch (plan->protocol) {
    case DM_ROM_BLARGG:
        return judge_blargg(gb, result);
    case DM_ROM_REGISTERS:
        return judge_registers(gb, result);
    case DM_ROM_HRAM:
        return judge_hram(gb, result);
    default:
        return false;
    }
}

static void run(const dm_rom_plan *plan, dm_gb *gb, dm_rom_result *result)
{
    if (plan->protocol == DM_ROM_PICTURE || plan->protocol == DM_ROM_DIGITS) {
        dm_gb_run_frames(gb, plan->frames, DM_GB_DRAW_LAST);
        memcpy(result->frame, dm_gb_frame(gb), PIXELS);
        if (plan->protocol == DM_ROM_PICTURE)
            judge_picture(plan, result);
        else
            judge_digits(plan, gb, result);
        return;
    }
    if (plan->protocol == DM_ROM_SAVE || plan->protocol == DM_ROM_MENU) {
        (plan->protocol == DM_ROM_SAVE ? judge_save : judge_menu)(plan, gb, result);
        return;
    }
    bool decided = false;
    for (uint32_t frame = 0; frame < plan->frames && !decided; frame++) {
        dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER);
        decided = look(plan, gb, result);
    }
    if (!decided) {
        dm_gb_registers r = dm_gb_get_registers(gb);
        decide(result, DM_ROM_FAIL, "no result in %.1f s; PC = %04X",
               plan->frames / FRAMES_PER_SECOND, r.pc);
    }
}

void dm_rom_judge(const dm_rom_plan *plan, const void *rom, size_t size, dm_rom_result *result)
{
    const uint8_t *bytes = rom;
    memset(result, 0, sizeof *result);
    if (plan->protocol == DM_ROM_NOT_RUN) {
        decide(result, DM_ROM_SKIP, "%s", plan->text);
        return;
    }
    if (!plan->runs_cgb && size > 0x143 && bytes[0x143] == 0xC0) {
        decide(result, DM_ROM_SKIP, "needs a CGB");
        return;
    }
    if (plan->protocol == DM_ROM_HRAM && !stores_result(bytes, size)) {
        decide(result, DM_ROM_SKIP, "says no result");
        return;
    }
    dm_gb *gb = NULL;
    dm_error err;
    const dm_gb_options options = {.force_dmg = plan->runs_cgb};
    if (dm_gb_create(rom, size, &options, &gb, &err) != DM_OK) {
        decide(result, DM_ROM_FAIL, "%.120s", err.message);
        return;
    }
    if (plan->random_ram)
        for (uint32_t i = 0, value = 1; i < 0x2000; i++, value = value * 1664525u + 1013904223u)
            dm_gb_poke(gb, (uint16_t)(0xC000 + i), (uint8_t)(value >> 24));
    run(plan, gb, result);
    result->seconds = (double)dm_gb_get_counters(gb).cycles / 4194304.0;
    if (result->verdict == DM_ROM_FAIL && plan->protocol != DM_ROM_PICTURE &&
        plan->protocol != DM_ROM_DIGITS && plan->protocol != DM_ROM_MENU) {
        dm_gb_run_frames(gb, 2, DM_GB_DRAW_LAST);
        memcpy(result->frame, dm_gb_frame(gb), PIXELS);
    }
    dm_gb_destroy(gb);
}
