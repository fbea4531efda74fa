/* SPDX-License-Identifier: MIT */
/* target_gb.c - what machines are made of and saved as: ROMs, states of ours and of PyBoy, battery
 * saves, saved swarms, key scripts, assembler sources and the notes in them.
 *
 * A state is long and mostly memory, so that an input is its beginning only: the rest comes from a
 * good state of the same machine, and the hash is made right. */
#include "base/buffer.h"
#include "base/hash.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "gb/host/state_pyboy.h"
#include "romtools/asm.h"
#include "romtools/key_list.h"
#include "romtools/notes.h"
#include "romtools/ram_search.h"
#include "romtools/script.h"
#include "romtools/symbols.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

#include <dotmatrix/swarm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 32 KiB that count in a loop and write to memory; type MBC3 with a clock, 8 KiB of RAM. */
static const uint8_t *rom_bytes(void)
{
    static uint8_t rom[0x8000];
    static const uint8_t code[] = {0x21, 0x00, 0xC0, 0x34, 0x7E, 0xE0, 0x43, 0x18, 0xFA};
    memcpy(rom + 0x100, "\x00\xC3\x50\x01", 4);
    memcpy(rom + 0x134, "FUZZ", 4);
    rom[0x147] = 0x10;
    rom[0x149] = 2;
    memcpy(rom + 0x150, code, sizeof code);
    return rom;
}

static dm_gb *machine(void)
{
    dm_gb *gb = NULL;
    dm_error err;
    fuzz_need(dm_gb_create(rom_bytes(), 0x8000, NULL, &gb, &err), &err);
    return gb;
}

/* A machine lives a little, whatever its state. */
static void live(dm_gb *gb)
{
    dm_gb_run_cycles(gb, 8000, DM_GB_DRAW_LAST);
    fuzz_touch(dm_gb_frame(gb), (size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H);
}

/* A copy of the good bytes that begins as the input does. */
static uint8_t *laid_over(const dm_buffer *good, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(good->size);
    fuzz_expect(copy != NULL, "out of memory");
    memcpy(copy, good->data, good->size);
    memcpy(copy, data, size < good->size ? size : good->size);
    return copy;
}

/* ---- ROMs ---- */

void fuzz_run_gb_rom(const uint8_t *data, size_t size)
{
    dm_gb_rom rom;
    dm_error err = {0};
    dm_status status = dm_gb_rom_init(&rom, data, size, &err);
    fuzz_done(status, &err);
    if (status == DM_OK) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_json json;
        dm_gb_rom_report(&rom, &text);
        dm_json_init(&json, &text, DM_JSON_COMPACT);
        dm_gb_rom_report_json(&rom, NULL, &json);
        dm_json_finish(&json);
        dm_buffer_deinit(&text);
        dm_gb_rom_deinit(&rom);
    }
    dm_gb *gb = NULL;
    const dm_gb_options options = {.force_dmg = true};
    status = dm_gb_create(data, size, &options, &gb, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        live(gb);
    dm_gb_destroy(gb);
}

void fuzz_seeds_gb_rom(void)
{
    fuzz_seed("header", rom_bytes(), 0x160);
    fuzz_seed_text("zip", "PK\x03\x04");
}

/* ---- States ---- */

static void run_state(dm_gb *gb, const uint8_t *bytes, size_t size)
{
    dm_error err = {0};
    dm_gb_machine before = gb->machine;
    dm_status status = dm_gb_load_state_bytes(gb, bytes, size, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        live(gb);
    else
        fuzz_expect(memcmp(&before, &gb->machine, sizeof before) == 0,
                    "a state that was refused has changed the machine");
}

/* The state of a machine after three frames. */
static void good_state(dm_buffer *out)
{
    dm_gb *gb = machine();
    dm_gb_run_frames(gb, 3, DM_GB_DRAW_NEVER);
    dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, out);
    dm_gb_destroy(gb);
}

static void mend_state(uint8_t *state, size_t size)
{
    uint64_t hash = dm_hash64(state + 24, size - 24);
    memcpy(state + 16, &hash, sizeof hash);
}

void fuzz_run_gb_state(const uint8_t *data, size_t size)
{
    static dm_gb *gb;
    static dm_buffer good;
    if (gb == NULL) {
        gb = machine();
        good_state(&good);
    }
    run_state(gb, data, size);
    uint8_t *copy = laid_over(&good, data, size);
    mend_state(copy, good.size);
    run_state(gb, copy, good.size);
    free(copy);
}

void fuzz_seeds_gb_state(void)
{
    dm_buffer good = DM_BUFFER_EMPTY;
    good_state(&good);
    fuzz_seed("fields", good.data, 1536);
    dm_buffer_deinit(&good);
}

void fuzz_run_gb_battery(const uint8_t *data, size_t size)
{
    static dm_gb *gb;
    if (gb == NULL)
        gb = machine();
    const char *path = fuzz_file(0, data, size);
    for (int now = 0; now < 2; now++) {
        dm_error err = {0};
        dm_status status =
            dm_gb_load_battery(gb, path, now == 0 ? DM_GB_NO_TIME : 1700000000, &err);
        fuzz_done(status, &err);
    }
    live(gb);
    if (size < 96) { /* the clock alone, behind memory that is all there */
        static uint8_t whole[0x2000 + 48];
        memcpy(whole + 0x2000, data, size < 48 ? size : 48);
        dm_error err = {0};
        fuzz_done(dm_gb_load_battery(gb, fuzz_file(0, whole, sizeof whole), 1700000000, &err),
                  &err);
        live(gb);
    }
}

void fuzz_seeds_gb_battery(void)
{
    dm_gb *gb = machine();
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_battery_save(&gb->machine, gb->ram, &gb->rom, 1700000000, &out);
    fuzz_seed("clock", out.data + 0x2000, 48);
    fuzz_seed("memory", out.data, 0x2000);
    dm_buffer_deinit(&out);
    dm_gb_destroy(gb);
}

enum { PYBOY_SIZE = 153524, PYBOY_SAMPLES_AT = 45 + 9116 + 8, PYBOY_SAMPLES = 804 };

static void good_pyboy(dm_buffer *out)
{
    static uint8_t bytes[2 * PYBOY_SIZE];
    bytes[0] = DM_GB_PYBOY_VERSION;
    bytes[PYBOY_SAMPLES_AT] = PYBOY_SAMPLES & 0xFF;
    bytes[PYBOY_SAMPLES_AT + 1] = PYBOY_SAMPLES >> 8;
    dm_buffer_append(out, bytes, sizeof bytes);
}

void fuzz_run_pyboy_state(const uint8_t *data, size_t size)
{
    static dm_gb *gb;
    static dm_buffer good;
    if (gb == NULL) {
        gb = machine();
        good_pyboy(&good);
    }
    dm_error err = {0};
    fuzz_done(dm_gb_load_pyboy_state(gb, data, size, &err), &err);
    uint8_t *copy = laid_over(&good, data, size);
    size_t length = PYBOY_SIZE;
    for (int turn = 0; turn < 2; turn++) { /* the second time with the length that it asks for */
        dm_status status = dm_gb_load_pyboy_state(gb, copy, length, &err);
        fuzz_done(status, &err);
        const char *but = status == DM_OK ? NULL : strstr(err.message, " bytes, but ");
        if (status == DM_OK)
            live(gb);
        length = but == NULL ? 0 : strtoull(but + strlen(" bytes, but "), NULL, 10);
        if (length == 0 || length > good.size)
            break;
    }
    free(copy);
}

void fuzz_seeds_pyboy_state(void)
{
    dm_buffer good = DM_BUFFER_EMPTY;
    good_pyboy(&good);
    for (unsigned version = 7; version <= 12; version++) {
        char name[32];
        uint8_t start[256] = {(uint8_t)version};
        snprintf(name, sizeof name, "version-%u", version);
        fuzz_seed(name, start, sizeof start);
    }
    fuzz_seed("to-samples", good.data, PYBOY_SAMPLES_AT + 8);
    dm_buffer_deinit(&good);
}

/* ---- Swarms ---- */

static dm_swarm *swarm(void)
{
    static dm_device *device; /* for all of them */
    dm_swarm *made = NULL;
    dm_error err;
    const dm_swarm_rom_source source = {.bytes = rom_bytes(), .size = 0x8000};
    const dm_swarm_desc desc = {
        .roms = &source, .rom_count = 1, .count = 1, .frames_per_step = 1, .snapshots = 1};
    if (device == NULL)
        fuzz_need(dm_device_open("cpu:1", &device, &err), &err);
    fuzz_need(dm_swarm_create(device, &desc, &made, &err), &err);
    fuzz_need(dm_swarm_step(made, NULL, &err), &err);
    return made;
}

static void good_swarm(dm_swarm *from, dm_buffer *out)
{
    char *bytes = NULL;
    size_t size;
    dm_error err;
    char path[256];
    snprintf(path, sizeof path, "%s/swarm", fuzz_folder());
    fuzz_need(dm_swarm_save(from, path, &err), &err);
    fuzz_need(dm_file_read(path, 0, &bytes, &size, &err), &err);
    dm_buffer_append(out, bytes, size);
    free(bytes);
}

static void load_swarm(dm_swarm *into, const uint8_t *bytes, size_t size)
{
    dm_error err = {0};
    dm_status status = dm_swarm_load(into, fuzz_file(0, bytes, size), &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        fuzz_need(dm_swarm_step(into, NULL, &err), &err);
}

void fuzz_run_swarm_save(const uint8_t *data, size_t size)
{
    static dm_swarm *into;
    static dm_buffer good;
    static size_t states[4];
    static int count;
    if (into == NULL) {
        into = swarm();
        good_swarm(into, &good);
        for (size_t at = 0; at + 64 < good.size && count < 4; at++)
            if (memcmp(good.data + at, "DMGBSTAT", 8) == 0)
                states[count++] = at;
        fuzz_expect(count >= 1, "a saved swarm without a state");
    }
    load_swarm(into, data, size);
    uint8_t *copy = laid_over(&good, data, size);
    for (int i = 0; i < count; i++) {
        dm_gb_rom rom;
        dm_error err;
        fuzz_need(dm_gb_rom_init(&rom, rom_bytes(), 0x8000, &err), &err);
        mend_state(copy + states[i], dm_gb_state_size(&rom));
        dm_gb_rom_deinit(&rom);
    }
    dm_hash128 hash = dm_hash128_of(copy, good.size - sizeof hash);
    memcpy(copy + good.size - sizeof hash, &hash, sizeof hash);
    load_swarm(into, copy, good.size);
    free(copy);
}

void fuzz_seeds_swarm_save(void)
{
    dm_swarm *from = swarm();
    dm_buffer good = DM_BUFFER_EMPTY;
    good_swarm(from, &good);
    fuzz_seed("head-and-machine", good.data, 2048);
    dm_buffer_deinit(&good);
    dm_swarm_destroy(from);
}

/* ---- Texts ---- */

void fuzz_run_gb_script(const uint8_t *data, size_t size)
{
    dm_gb_script script;
    dm_error err = {0};
    dm_status status = dm_gb_script_parse(&script, "keys.txt", (const char *)data, size, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        for (size_t i = 1; i < script.count; i++)
            fuzz_expect(script.lines[i].frame > script.lines[i - 1].frame, "frames do not go up");
    dm_gb_script_deinit(&script);
}

void fuzz_seeds_gb_script(void)
{
    fuzz_seed_text("keys",
                   "# frame  keys\n0 -\n120 START\n124 -\n200 A,right\r\n300 b , up # held");
}

void fuzz_run_gb_asm(const uint8_t *data, size_t size)
{
    dm_gb_asm_result result;
    dm_error err = {0};
    const dm_gb_asm_options options = {.line_limit = 5000};
    dm_status status =
        dm_gb_asm_text("fuzz.asm", (const char *)data, size, &options, &result, &err);
    fuzz_done(status, &err);
    if (status == DM_OK) {
        dm_buffer symbols = DM_BUFFER_EMPTY;
        fuzz_touch(result.rom, result.rom_size);
        dm_gb_asm_write_symbols(&result, &symbols);
        dm_buffer_deinit(&symbols);
    }
    dm_gb_asm_result_deinit(&result);
}

void fuzz_seeds_gb_asm(void)
{
    fuzz_seed_text("program",
                   "DEF LAST EQU $1F\nDEF TEXT EQUS \"\\\"HI\\\"\"\n"
                   "SECTION \"Entry\", ROM0[$100]\n  nop\n  jp Main\n"
                   "  HEADER \"FUZZ\", MBC1_RAM_BATTERY, 8\n"
                   "MACRO put\n  ld a, \\1\n  ld [\\2], a\n.skip\\@:\n  SHIFT\nENDM\n"
                   "SECTION \"Main\", ROM0\nMain:\n  put LAST, $C000\n.loop\n  dec b\n"
                   "  jr nz, .loop\n  REPT 3\n    inc a\n  ENDR\n  IF LAST > 3 && DEF(TEXT)\n"
                   "    db TEXT, LOW(Main), HIGH(Main), BANK(Main)\n  ELSE\n    FAIL \"no\"\n"
                   "  ENDC\n  halt\nSECTION \"Ram\", WRAM0, ALIGN[8]\nvalue: ds 4\n");
    fuzz_seed_text("load", "CHARMAP \"a\", 5\nRSRESET\nDEF one RB 1\nDEF two RW 2\n"
                           "SECTION \"Code\", ROMX, BANK[2]\nstart:\nLOAD \"Run\", HRAM\nRun: ret\n"
                           "ENDL\nPUSHS\nSECTION \"B\", VRAM\nPOPS\n db \"aab\", STRLEN(\"abc\")\n"
                           " ASSERT one + two == 1\n dw SIZEOF(\"Run\"), STARTOF(\"Code\")\n");
}

void fuzz_run_gb_notes(const uint8_t *data, size_t size)
{
    dm_gb_notes notes;
    dm_error err = {0};
    dm_status status = dm_gb_notes_parse("fuzz.asm", (const char *)data, size, &notes, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        for (size_t i = 0; i < notes.expect_count; i++) {
            const dm_gb_expect *e = &notes.expects[i];
            fuzz_touch(e->bytes, e->byte_count * sizeof *e->bytes);
            if (e->serial != NULL)
                fuzz_touch(e->serial, strlen(e->serial));
            for (uint32_t frame = 0; frame < 50; frame++)
                dm_gb_expect_keys(e, frame);
        }
    dm_gb_notes_deinit(&notes);
}

void fuzz_seeds_gb_notes(void)
{
    fuzz_seed_text("expects",
                   "; proves: one sentence, which may go on\n;         in more lines\n"
                   "; expect frames=10 A=$3C F=$80 SP=$DFFE [$C000]=12 34 [$C010..$C01F]=00 "
                   "serial=\"HELLO\"\n; and    frame=0123456789abcdef\n"
                   "; expect frames=40 keys=20*NONE,5*RIGHT+A,LEFT B=$01\n nop\n");
}

/* ---- Symbols: found again by name, and written as they were read ---- */

void fuzz_run_symbols(const uint8_t *data, size_t size)
{
    dm_symbols symbols, again;
    dm_symbol place;
    dm_error err = {0};
    dm_status status = dm_symbols_parse(&symbols, "game.sym", (const char *)data, size, &err);
    fuzz_done(status, &err);
    for (size_t i = 0; status == DM_OK && i < symbols.count; i++) {
        const dm_symbol *s = dm_symbols_find(&symbols, symbols.items[i].name);
        fuzz_expect(s == &symbols.items[i], "a symbol is not found again");
        fuzz_expect(s->bank <= 0x1FF, "a bank is too large");
        if (dm_symbols_resolve(&symbols, s->name, &place, &err) == DM_OK)
            fuzz_expect(place.address == s->address, "a symbol resolves to another address");
    }
    if (status == DM_OK) {
        dm_buffer text = DM_BUFFER_EMPTY;
        fuzz_need(dm_symbols_write(symbols.items, symbols.count, "all", &text, &err), &err);
        fuzz_need(dm_symbols_parse(&again, "again.sym", text.data, text.size, &err), &err);
        fuzz_expect(again.count == symbols.count, "symbols are lost");
        dm_symbols_deinit(&again);
        dm_buffer_deinit(&text);
    }
    dm_symbols_deinit(&symbols);
}

void fuzz_seeds_symbols(void)
{
    fuzz_seed_text("sym",
                   "; made by hand\n00:C0A0 wScore\n01:4A2F GameOver ; hook\nBOOT:0000 Boot\n");
    fuzz_seed_text("noi", "DEF _main 0x200\nDEF _far 0x14A2F\nLOAD game.ihx\n");
    fuzz_seed_text("map", "     0000C0A0  _score   game\nROMX bank #3:\n\t $4010 = Draw\n");
}

void fuzz_run_ram_search(const uint8_t *data, size_t size)
{
    static dm_ram_search search, again;
    dm_error err = {0};
    dm_status status = dm_ram_search_parse(&search, "s.ram", (const char *)data, size, &err);
    fuzz_done(status, &err);
    if (status == DM_OK) {
        dm_buffer text = DM_BUFFER_EMPTY;
        fuzz_expect(dm_ram_search_write(&search, &text, &err) == DM_OK, "it cannot be written");
        fuzz_expect(dm_ram_search_parse(&again, "again", text.data, text.size, &err) == DM_OK,
                    "what was written cannot be read");
        fuzz_expect(memcmp(search.keep, again.keep, DM_RAM_SIZE) == 0 &&
                        search.mark_count == again.mark_count &&
                        search.name_count == again.name_count,
                    "what was written is another search");
        dm_ram_search_deinit(&again);
        dm_buffer_deinit(&text);
    }
    dm_ram_search_deinit(&search);
}

void fuzz_seeds_ram_search(void)
{
    fuzz_seed_text("search", "dotmatrix ram search 1\nrom 0123456789abcdef0123456789abcdef\n"
                             "frames 660 # so far\nstate 646d00\nkeep C000-C0FF C1A3\n"
                             "keep FF80\nname C1A3 wScore\n");
}

void fuzz_run_key_list(const uint8_t *data, size_t size)
{
    static dm_gb_key_list list;
    dm_error err = {0};
    dm_status status = dm_gb_key_list_parse(&list, "keys.txt", (const char *)data, size, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        fuzz_expect(list.count > 0 && list.count <= DM_GB_KEY_LIST_MAX, "a number of actions");
}

void fuzz_seeds_key_list(void)
{
    fuzz_seed_text("actions", "# actions\n-\nA\na,right\n0x11 # A and right\nSTART\n");
}
