/* SPDX-License-Identifier: MIT */
/* Facts about time, one small program or table each, that otherwise only public test ROMs check:
 * mooneye's acceptance set found them on hardware; the programs here are our own. */
#include "gb/host/core.h"
#include "gb/machine/decode.h"
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* ---- Programs: what they leave at C000.. ---- */

/* Timer off, TIMA = FF, TMA = 80; then DIV is cleared at T-cycle 0 and TAC = 6 written at 12, so
 * that TIMA overflows at 64 and reloads at 68. A is 6. The next access with LDH is at 24. */
#define OVERFLOW_AT_64                                                                             \
    " xor a\n ldh [$FF07], a\n ld a, $FF\n ldh [$FF05], a\n ld a, $80\n ldh [$FF06], a\n"          \
    " xor a\n ldh [$FF0F], a\n ld a, 6\n ldh [$FF04], a\n ldh [$FF07], a\n"
#define NOPS(n) " REPT " #n "\n nop\n ENDR\n"
#define READ_TIMA_AND_IF " ldh a, [$FF05]\n ld [$C000], a\n ldh a, [$FF0F]\n ld [$C001], a\n"
/* Likewise with TIMA = 0 and TAC = 5, which counts at 16, 32, ... */
#define COUNT_BY_16                                                                                \
    " xor a\n ldh [$FF07], a\n ldh [$FF05], a\n ld a, 5\n ldh [$FF04], a\n ldh [$FF07], a\n"
/* A timer interrupt waits; its handler leaves B at C000. */
#define TIMER_WAITS                                                                                \
    "SECTION \"timer\", ROM0[$50]\n ld a, b\n ld [$C000], a\n jp Done\n"                           \
    "SECTION \"main\", ROM0[$150]\nMain: ld sp, $DFFE\n"                                           \
    " ld a, $EE\n ld [$C000], a\n ld a, 4\n ldh [$FFFF], a\n ldh [$FF0F], a\n ld b, 0\n"
/* The dispatch of a timer interrupt from page 2 with SP as given. Each vector leaves its number at
 * C000, then come IF and IE. */
#define PUSH_TO_IE(sp, requests)                                                                   \
    "SECTION \"v0\", ROM0[$00]\n ld a, $11\n jp Save\n"                                            \
    "SECTION \"v48\", ROM0[$48]\n ld a, $48\n jp Save\n"                                           \
    "SECTION \"v50\", ROM0[$50]\n ld a, $50\n jp Save\n"                                           \
    "SECTION \"main\", ROM0[$200]\nMain: ld sp, " sp "\n ld a, 4\n ldh [$FFFF], a\n"               \
    " ld a, " requests "\n ldh [$FF0F], a\n ei\n nop\n nop\n jp Done\n"                            \
    "Save: ld sp, $DFFE\n ld [$C000], a\n ldh a, [$FF0F]\n ld [$C001], a\n ldh a, [$FFFF]\n"       \
    " ld [$C002], a\n"
/* A STAT interrupt is asked for by hand, `n` M-cycles after the LCD was switched on; LYC = 1 asks
 * for the same one 113 M-cycles after that. The handler leaves IF. */
#define ASK_TWICE(n)                                                                               \
    "SECTION \"stat\", ROM0[$48]\n ldh a, [$FF0F]\n ld [$C000], a\n jp Done\n"                     \
    "SECTION \"main\", ROM0[$150]\nMain: ld sp, $DFFE\n xor a\n ldh [$FF0F], a\n"                  \
    " ld a, 1\n ldh [$FF45], a\n ld a, $40\n ldh [$FF41], a\n ld a, 2\n ldh [$FFFF], a\n"          \
    " ei\n ld a, $82\n ldh [$FF40], a\n REPT " #n " - 3\n nop\n ENDR\n ldh [$FF0F], a\n nop\n"
/* OAM is read from HRAM, `wait` M-cycles after the first M-cycle in which DMA holds it. */
#define DMA_READ(wait)                                                                             \
    " ld a, $5A\n ld [$C100], a\n ld sp, $FFFE\n ld hl, Code\n ld c, $80\n ld b, Code.end - "      \
    "Code\n"                                                                                       \
    ".copy\n ld a, [hl+]\n ldh [c], a\n inc c\n dec b\n jr nz, .copy\n"                            \
    " ld hl, $FE00\n ld a, $C1\n call $FF80\n ldh a, [$FFF0]\n ld [$C000], a\n jp Done\n"          \
    "Code: ldh [$FF46], a\n" wait " ld a, [hl]\n ldh [$FFF0], a\n"                                 \
    " ld b, 50\n.last dec b\n jr nz, .last\n ret\n.end\n"

typedef struct program {
    const char *name;
    const char *source; /* with a SECTION "main" of its own, or only what stands in it */
    uint8_t wanted[3];  /* at C000 */
    uint8_t count;
} program;

static const program programs[] = {
    {"TIMA before the overflow", OVERFLOW_AT_64 NOPS(9) READ_TIMA_AND_IF, {0xFF}, 1},
    {"TIMA reads 0 for an M-cycle", OVERFLOW_AT_64 NOPS(10) READ_TIMA_AND_IF, {0x00}, 1},
    {"then TMA", OVERFLOW_AT_64 NOPS(11) READ_TIMA_AND_IF, {0x80, 0xE4}, 2},
    {"no request in the first M-cycle",
     OVERFLOW_AT_64 NOPS(10) " ldh a, [$FF0F]\n ld [$C000], a\n",
     {0xE0},
     1},
    {"a request with the reload",
     OVERFLOW_AT_64 NOPS(11) " ldh a, [$FF0F]\n ld [$C000], a\n",
     {0xE4},
     1},
    {"TIMA written before",
     OVERFLOW_AT_64 NOPS(9) " ldh [$FF05], a\n" READ_TIMA_AND_IF,
     {0x07, 0xE0},
     2},
    {"TIMA written at the overflow: no reload",
     OVERFLOW_AT_64 NOPS(10) " ldh [$FF05], a\n" READ_TIMA_AND_IF,
     {0x06, 0xE0},
     2},
    {"TIMA written at the reload: lost",
     OVERFLOW_AT_64 NOPS(11) " ldh [$FF05], a\n" READ_TIMA_AND_IF,
     {0x80, 0xE4},
     2},
    {"TIMA written after the reload",
     OVERFLOW_AT_64 NOPS(12) " ldh [$FF05], a\n" READ_TIMA_AND_IF,
     {0x06, 0xE4},
     2},
    {"TMA written at the overflow",
     OVERFLOW_AT_64 NOPS(10) " ldh [$FF06], a\n" READ_TIMA_AND_IF,
     {0x06, 0xE4},
     2},
    {"TMA written at the reload",
     OVERFLOW_AT_64 NOPS(11) " ldh [$FF06], a\n" READ_TIMA_AND_IF,
     {0x06, 0xE4},
     2},
    {"TMA written after the reload",
     OVERFLOW_AT_64 NOPS(12) " ldh [$FF06], a\n" READ_TIMA_AND_IF,
     {0x80, 0xE4},
     2},
    {"DIV cleared with its bit low",
     COUNT_BY_16 NOPS(3) " ldh [$FF04], a\n" READ_TIMA_AND_IF,
     {2},
     1},
    {"DIV cleared with its bit high",
     COUNT_BY_16 NOPS(4) " ldh [$FF04], a\n" READ_TIMA_AND_IF,
     {3},
     1},
    {"timer stopped with its bit low",
     COUNT_BY_16 " xor a\n" NOPS(2) " ldh [$FF07], a\n" READ_TIMA_AND_IF,
     {2},
     1},
    {"timer stopped with its bit high",
     COUNT_BY_16 " xor a\n" NOPS(3) " ldh [$FF07], a\n" READ_TIMA_AND_IF,
     {3},
     1},
    {"EI acts after the next instruction", TIMER_WAITS " ei\n inc b\n inc b\n inc b\n", {1}, 1},
    {"EI, DI: no interrupt", TIMER_WAITS " ei\n di\n inc b\n inc b\n", {0xEE}, 1},
    {"a second EI does not wait again", TIMER_WAITS " ei\n ei\n inc b\n inc b\n", {0}, 1},
    {"the HALT bug", TIMER_WAITS " halt\n inc b\n ld a, b\n ld [$C000], a\n", {2}, 1},
    {"HALT ends without IME",
     TIMER_WAITS " xor a\n ldh [$FF0F], a\n ld a, 5\n ldh [$FF07], a\n halt\n inc b\n ld a, b\n"
                 " ld [$C000], a\n ldh a, [$FF0F]\n ld [$C001], a\n",
     {1, 0xE4},
     2},
    {"IE pushed over: cancelled", PUSH_TO_IE("$0000", "4"), {0x11, 0xE4, 0x02}, 3},
    {"IE pushed over: another one", PUSH_TO_IE("$0000", "6"), {0x48, 0xE4, 0x02}, 3},
    {"the low byte comes too late", PUSH_TO_IE("$0001", "6"), {0x50, 0xE2}, 2},
    {"a request after the acknowledgement stays", ASK_TWICE(107), {0xE2}, 1},
    {"one in its M-cycle is lost", ASK_TWICE(108), {0xE0}, 1},
    {"one before it too", ASK_TWICE(109), {0xE0}, 1},
    {"DMA holds OAM at once", DMA_READ(""), {0xFF}, 1},
    {"DMA holds OAM to its end",
     DMA_READ(" ld b, 39\n.wait dec b\n jr nz, .wait\n nop\n nop\n"),
     {0xFF},
     1},
    {"OAM is back after 160 M-cycles",
     DMA_READ(" ld b, 39\n.wait dec b\n jr nz, .wait\n nop\n nop\n nop\n"),
     {0x5A},
     1},
};

static void programs_leave_what_they_should(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        const program *p = &programs[i];
        char source[2000];
        bool whole = strstr(p->source, "\"main\"") != NULL;
        snprintf(source, sizeof source,
                 "HEADER \"TIMING\", ROM\nSECTION \"entry\", ROM0[$100]\n jp Main\n%s%s\n"
                 "Done: jr Done\n",
                 whole ? "" : "SECTION \"main\", ROM0[$150]\nMain: ld sp, $DFFE\n", p->source);
        dm_gb_asm_result rom;
        dm_gb *gb = NULL;
        assert_ok(dm_gb_asm_text(p->name, source, strlen(source), NULL, &rom, err));
        assert_ok(dm_gb_create(rom.rom, rom.rom_size, &(dm_gb_options){.start = DM_GB_START_ZERO},
                               &gb, err));
        uint16_t done = dm_gb_asm_find(&rom, "Done")->address;
        dm_gb_asm_result_deinit(&rom);
        if (!dm_gb_run_to(gb, &done, 1, 20000)) {
            print_message("%s: does not end\n", p->name);
            failed++;
        }
        for (uint16_t j = 0; j < p->count; j++) {
            unsigned got = dm_gb_peek(gb, (uint16_t)(0xC000 + j));
            if (got != p->wanted[j]) {
                print_message("%s: C00%u is %02X, not %02X\n", p->name, j, got, p->wanted[j]);
                failed++;
            }
        }
        dm_gb_destroy(gb);
    }
    assert_int_equal(failed, 0);
}

/* ---- Readings, M-cycle by M-cycle ---- */

/* A ROM of NOPs, everything off: each step is an M-cycle, and peek reads as an access would. */
static dm_gb *nops(void)
{
    static const uint8_t rom[0x8000];
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create(rom, sizeof rom, &(dm_gb_options){.start = DM_GB_START_ZERO}, &gb, err));
    return gb;
}

static void go(dm_gb *gb, unsigned m_cycles)
{
    while (m_cycles-- > 0)
        dm_gb_step(gb);
}

/* After switching the LCD on: `m` M-cycles after the write, LY and STAT with LYC = 0 and 1
 * (mooneye: ppu/lcdon_timing-GS, whose count is two less). */
static void lcd_on_readings(void **state)
{
    (void)state;
    static const struct {
        unsigned m;
        uint8_t ly, stat0, stat1;
    } rows[] = {{2, 0, 0x84, 0x80},   {19, 0, 0x84, 0x80},  {20, 0, 0x87, 0x83},
                {62, 0, 0x87, 0x83},  {63, 0, 0x84, 0x80},  {112, 0, 0x84, 0x80},
                {113, 1, 0x80, 0x80}, {114, 1, 0x82, 0x86}, {132, 1, 0x82, 0x86},
                {133, 1, 0x82, 0x86}, {134, 1, 0x83, 0x87}, {176, 1, 0x83, 0x87},
                {177, 1, 0x80, 0x84}, {226, 1, 0x80, 0x84}, {227, 2, 0x80, 0x80},
                {228, 2, 0x82, 0x82}, {247, 2, 0x82, 0x82}, {248, 2, 0x83, 0x83}};
    for (uint8_t lyc = 0; lyc < 2; lyc++) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF45, lyc);
        dm_gb_poke(gb, 0xFF40, 0x81);
        unsigned at = 0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            go(gb, rows[i].m - at);
            at = rows[i].m;
            unsigned ly = dm_gb_peek(gb, 0xFF44), stat = dm_gb_peek(gb, 0xFF41);
            unsigned wanted = lyc == 0 ? rows[i].stat0 : rows[i].stat1;
            if (ly != rows[i].ly || stat != wanted)
                fail_msg("LYC %u, M-cycle %u: LY %u STAT %02X, not %u and %02X", lyc, at, ly, stat,
                         rows[i].ly, wanted);
        }
        dm_gb_destroy(gb);
    }
}

/* Line 153 shows as LY for one M-cycle; then LY is 0, which LYC meets two M-cycles later. */
static void line_153_is_short(void **state)
{
    (void)state;
    static const struct {
        uint8_t lyc, ly[6], coincides[6];
    } rows[] = {{153, {152, 153, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}},
                {0, {152, 153, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 1}},
                {152, {152, 153, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF45, rows[i].lyc);
        dm_gb_poke(gb, 0xFF40, 0x81);
        go(gb, (153 * 456 - 8) / 4); /* dot 0 of line 153 */
        for (int m = 0; m < 6; m++, go(gb, 1)) {
            assert_int_equal(dm_gb_peek(gb, 0xFF44), rows[i].ly[m]);
            assert_int_equal(dm_gb_peek(gb, 0xFF41) >> 2 & 1, rows[i].coincides[m]);
        }
        dm_gb_destroy(gb);
    }
}

/* How many STAT interrupts a frame has; sources that follow each other without a gap count once. */
static void stat_sources_block_each_other(void **state)
{
    (void)state;
    static const struct {
        uint8_t stat;
        unsigned count;
    } rows[] = {{0x08, 144}, {0x10, 1}, {0x20, 145}, {0x28, 145}, {0x18, 144}, {0x40, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF45, 10);
        dm_gb_poke(gb, 0xFF41, rows[i].stat);
        dm_gb_poke(gb, 0xFF40, 0x81);
        go(gb, 20); /* into the first line, which has no mode 2 */
        unsigned count = 0;
        bool before = false;
        for (unsigned m = 0; m < DM_GB_FRAME_CYCLES / 4; m++) {
            if (gb->machine.cpu.pc >= 0x7000)
                gb->machine.cpu.pc = 0x0100;
            /* Two M-cycles running are one request: nobody can take it in between. */
            bool now = (dm_gb_peek(gb, 0xFF0F) & 2) != 0;
            count += now && !before;
            before = now;
            dm_gb_poke(gb, 0xFF0F, 0);
            go(gb, 1);
        }
        if (count != rows[i].count)
            fail_msg("STAT %02X: %u interrupts a frame, not %u", rows[i].stat, count,
                     rows[i].count);
        dm_gb_destroy(gb);
    }
}

/* A bit moves at each falling edge of bit 8 of the divider, eight of them make a transfer. */
static void serial_takes_eight_bits_of_512(void **state)
{
    (void)state;
    for (unsigned early = 0; early < 512; early += 64) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF04, 0);
        go(gb, early / 4);
        dm_gb_poke(gb, 0xFF01, 0xA5);
        dm_gb_poke(gb, 0xFF02, 0x81);
        go(gb, (512 - early % 256) / 4 - 1);
        assert_int_equal(dm_gb_peek(gb, 0xFF01), 0xA5);
        go(gb, 1);
        assert_int_equal(dm_gb_peek(gb, 0xFF01), 0x4B);
        go(gb, 7 * 128 - 1);
        assert_int_equal(dm_gb_peek(gb, 0xFF02), 0xFF);
        assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xE0);
        go(gb, 1);
        assert_int_equal(dm_gb_peek(gb, 0xFF02), 0x7F);
        assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xE8);
        assert_int_equal(dm_gb_peek(gb, 0xFF01), 0xFF);
        dm_gb_destroy(gb);
    }
}

/* Clearing DIV in a transfer is an edge where its bit 7 is set: gambatte's serial tests with a late
 * write to DIV, and the capture of a DMG for gbc-hw-tests' sio_irq_delay. */
static void clearing_div_moves_the_serial_clock(void **state)
{
    (void)state;
    static const struct {
        unsigned cleared, first; /* T-cycles after the start: DIV is cleared, the first bit moves */
    } rows[] = {{64, 576}, {192, 448}, {320, 576}, {448, 448}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF04, 0);
        dm_gb_poke(gb, 0xFF01, 0xA5);
        dm_gb_poke(gb, 0xFF02, 0x81);
        go(gb, rows[i].cleared / 4);
        dm_gb_poke(gb, 0xFF04, 0);
        unsigned at = rows[i].cleared;
        for (; dm_gb_peek(gb, 0xFF01) == 0xA5 && at < 2000; at += 4)
            go(gb, 1);
        assert_int_equal(at, rows[i].first);
        dm_gb_destroy(gb);
    }
}

/* ---- Keys ---- */

static void keys_interrupt_where_selected(void **state)
{
    (void)state;
    static const struct {
        uint8_t p1, keys, read, flags;
    } rows[] = {{0x30, 0xFF, 0xFF, 0xE0},           {0x20, DM_GB_KEY_LEFT, 0xED, 0xF0},
                {0x20, DM_GB_KEY_A, 0xEF, 0xE0},    {0x10, DM_GB_KEY_START, 0xD7, 0xF0},
                {0x10, DM_GB_KEY_DOWN, 0xDF, 0xE0}, {0x00, DM_GB_KEY_UP | DM_GB_KEY_B, 0xC9, 0xF0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_gb *gb = nops();
        dm_gb_poke(gb, 0xFF00, rows[i].p1);
        dm_gb_set_keys(gb, rows[i].keys);
        assert_int_equal(dm_gb_peek(gb, 0xFF00), rows[i].read);
        assert_int_equal(dm_gb_peek(gb, 0xFF0F), rows[i].flags);
        dm_gb_poke(gb, 0xFF0F, 0);
        dm_gb_set_keys(gb, 0); /* letting go is no reason */
        assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xE0);
        dm_gb_destroy(gb);
    }
    dm_gb *gb = nops(); /* selecting the row of a held key is one */
    dm_gb_poke(gb, 0xFF00, 0x30);
    dm_gb_set_keys(gb, DM_GB_KEY_A);
    dm_gb_poke(gb, 0xFF00, 0x10);
    assert_int_equal(dm_gb_peek(gb, 0xFF0F), 0xF0);
    dm_gb_destroy(gb);
}

static void stop_waits_for_a_key(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    dm_gb *gb = NULL;
    memset(rom, 0, sizeof rom);
    const uint8_t code[] = {0x10, 0x00, 0x04, 0x18, 0xFE}; /* stop; inc b; jr @ */
    memcpy(rom + 0x100, code, sizeof code);
    assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
    dm_gb_poke(gb, 0xFF00, 0x10); /* the buttons */
    dm_gb_step(gb);
    dm_gb_run_frames(gb, 5, DM_GB_DRAW_NEVER);
    assert_true(dm_gb_get_registers(gb).stopped);
    assert_int_equal(dm_gb_get_registers(gb).b, 0);
    assert_int_equal(dm_gb_peek(gb, 0xFF04), 0); /* and time stands still */
    dm_gb_set_keys(gb, DM_GB_KEY_LEFT);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER);
    assert_true(dm_gb_get_registers(gb).stopped);
    dm_gb_set_keys(gb, DM_GB_KEY_START);
    dm_gb_run_frames(gb, 1, DM_GB_DRAW_NEVER);
    assert_false(dm_gb_get_registers(gb).stopped);
    assert_int_equal(dm_gb_get_registers(gb).b, 1);
    dm_gb_destroy(gb);
}

/* ---- Opcodes ---- */

static void illegal_opcodes_lock(void **state)
{
    (void)state;
    static const uint8_t illegal[] = {0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB,
                                      0xEC, 0xED, 0xF4, 0xFC, 0xFD};
    for (size_t i = 0; i < sizeof illegal; i++) {
        static uint8_t rom[0x8000];
        dm_gb *gb = NULL;
        memset(rom, 0, sizeof rom);
        rom[0x100] = 0xFB; /* ei; the opcode; inc b */
        rom[0x101] = illegal[i];
        rom[0x102] = 0x04;
        rom[0x40] = 0x04;
        assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
        dm_gb_poke(gb, 0xFF0F, 0);
        dm_gb_poke(gb, 0xFFFF, 0x1F);
        dm_gb_run_frames(gb, 3, DM_GB_DRAW_NEVER);
        dm_gb_registers r = dm_gb_get_registers(gb);
        assert_true(r.locked);
        assert_int_equal(r.pc, 0x102);
        assert_int_equal(r.b, 0);
        dm_gb_reset(gb);
        assert_false(dm_gb_get_registers(gb).locked);
        dm_gb_destroy(gb);
    }
}

typedef struct columns {
    const char *mnemonic;
    uint8_t code, cycles, taken, operation, extra;
    bool prefixed;
} columns;

static const columns table[] = {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    {mnemonic, code, cycles, taken, DM_GB_DO_##operation, extra, false},
#define CB(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    {mnemonic, code, cycles, taken, DM_GB_DO_##operation, extra, true},
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
};

static bool is_jump(uint8_t operation)
{
    return operation == DM_GB_DO_JP || operation == DM_GB_DO_JR || operation == DM_GB_DO_CALL ||
           operation == DM_GB_DO_RET_IF;
}

/* Every opcode takes the cycles that its row says, with all flags off and on. */
static void opcodes_take_their_cycles(void **state)
{
    (void)state;
    dm_gb *gb = nops();
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const columns *row = &table[i];
        if (row->operation == DM_GB_DO_PREFIX)
            continue;
        for (int flags = 0; flags < 2; flags++) {
            dm_gb_reset(gb);
            uint16_t at = 0xC100;
            if (row->prefixed)
                dm_gb_poke(gb, at++, 0xCB);
            dm_gb_poke(gb, at++, row->code);
            dm_gb_poke(gb, at++, 0x80); /* FF80, C280 or 128 back */
            dm_gb_poke(gb, at++, 0xC2);
            dm_gb_cpu *cpu = &gb->machine.cpu;
            cpu->pc = 0xC100;
            cpu->sp = 0xDFF0;
            cpu->b = cpu->d = cpu->h = 0xC3;
            cpu->c = cpu->e = cpu->l = 0x80;
            cpu->f = flags ? 0xF0 : 0x00;
            bool holds = row->extra == DM_GB_IF_NZ || row->extra == DM_GB_IF_NC ? !flags : flags;
            unsigned wanted = is_jump(row->operation) && holds ? row->taken : row->cycles;
            dm_gb_step(gb);
            uint64_t took = dm_gb_get_counters(gb).cycles;
            if (took != wanted)
                fail_msg("%s, flags %s: %u cycles, the table says %u", row->mnemonic,
                         flags ? "on" : "off", (unsigned)took, wanted);
            seen++;
        }
    }
    assert_int_equal(seen, 2 * 511);
    dm_gb_destroy(gb);
}

DM_TESTS("gb/timing", DM_TEST(programs_leave_what_they_should), DM_TEST(lcd_on_readings),
         DM_TEST(line_153_is_short), DM_TEST(stat_sources_block_each_other),
         DM_TEST(serial_takes_eight_bits_of_512), DM_TEST(clearing_div_moves_the_serial_clock),
         DM_TEST(keys_interrupt_where_selected), DM_TEST(stop_waits_for_a_key),
         DM_TEST(illegal_opcodes_lock), DM_TEST(opcodes_take_their_cycles))
