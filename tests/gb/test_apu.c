/* SPDX-License-Identifier: MIT */
#include "gb/machine/apu.h"
#include "tests/support/test.h"

#include <string.h>

/* A clock, the counter behind DIV and the APU; accesses are four T-cycles apart as on the bus. */
typedef struct rig {
    dm_gb_apu apu;
    uint32_t now, div_base;
} rig;

#define NR10 0xFF10
#define NR11 0xFF11
#define NR12 0xFF12
#define NR13 0xFF13
#define NR14 0xFF14
#define NR21 0xFF16
#define NR22 0xFF17
#define NR24 0xFF19
#define NR30 0xFF1A
#define NR31 0xFF1B
#define NR33 0xFF1D
#define NR34 0xFF1E
#define NR41 0xFF20
#define NR42 0xFF21
#define NR44 0xFF23
#define NR52 0xFF26
#define WAVE 0xFF30

#define STEP DM_GB_APU_STEP_CYCLES

static uint16_t counter(const rig *r)
{
    return (uint16_t)(r->now - r->div_base);
}

static void poke(rig *r, uint32_t address, unsigned value)
{
    dm_gb_apu_write(&r->apu, r->now, counter(r), address, (uint8_t)value);
}

static uint8_t peek(rig *r, uint32_t address)
{
    return dm_gb_apu_read(&r->apu, r->now, counter(r), address);
}

static void wait(rig *r, uint32_t cycles)
{
    r->now += cycles;
}

/* Power just switched on, with the counter at `div`; the clock is about to wrap. */
static rig powered(uint16_t div)
{
    rig r;
    memset(&r, 0, sizeof r);
    r.now = 0xFFFFF000u;
    r.div_base = r.now - div;
    dm_gb_apu_reset(&r.apu, r.now, false);
    poke(&r, NR52, 0x80);
    return r;
}

static const uint16_t CONTROL[4] = {NR14, NR24, NR34, NR44};
static const uint16_t LENGTH[4] = {NR11, NR21, NR31, NR41};

static void dacs_on(rig *r)
{
    poke(r, NR12, 0x08), poke(r, NR22, 0x08), poke(r, NR30, 0x80), poke(r, NR42, 0x08);
}

static void load_length(rig *r, int channel, unsigned length)
{
    poke(r, LENGTH[channel], 0u - length); /* the top bits are the duty */
}

static bool on(rig *r, int channel)
{
    return (peek(r, NR52) >> channel) & 1;
}

/* ---- registers ---- */

static void registers_read_through_their_masks(void **state)
{
    (void)state;
    /* FF10..FF2F, as blargg's test 01 lists them too */
    static const uint8_t masks[] = {0x80, 0x3F, 0x00, 0xFF, 0xBF, 0xFF, 0x3F, 0x00,
                                    0xFF, 0xBF, 0x7F, 0xFF, 0x9F, 0xFF, 0xBF, 0xFF,
                                    0xFF, 0x00, 0x00, 0xBF, 0x00, 0x00};
    rig r = powered(0);
    for (unsigned value = 0; value < 256; value++)
        for (uint32_t i = 0; i < sizeof masks; i++) {
            poke(&r, 0xFF10 + i, value);
            assert_int_equal(peek(&r, 0xFF10 + i), value | masks[i]);
            /* stop the wave channel, or it would hide wave RAM */
            poke(&r, NR30, 0);
        }
    for (uint32_t address = 0xFF27; address < 0xFF30; address++) {
        poke(&r, address, 0);
        assert_int_equal(peek(&r, address), 0xFF);
    }
    for (uint32_t i = 0; i < 16; i++)
        poke(&r, WAVE + i, i * 17);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(peek(&r, WAVE + i), i * 17);
}

static void post_boot_values(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x80, 0xBF, 0xF3, 0xFF, 0xBF, 0xFF, 0x3F, 0x00,
                                       0xFF, 0xBF, 0x7F, 0xFF, 0x9F, 0xFF, 0xBF, 0xFF,
                                       0xFF, 0x00, 0x00, 0xBF, 0x77, 0xF3, 0xF1, 0xFF};
    rig r;
    memset(&r, 0xAA, sizeof r);
    r.now = 1234;
    r.div_base = r.now - 0xABCC;
    dm_gb_apu_reset(&r.apu, r.now, true);
    for (uint32_t i = 0; i < sizeof expected; i++)
        assert_int_equal(peek(&r, 0xFF10 + i), expected[i]);
    /* nothing ends the note by itself */
    wait(&r, 0x30000000u);
    assert_int_equal(peek(&r, NR52), 0xF1);
    dm_gb_apu_reset(&r.apu, r.now, false);
    assert_int_equal(peek(&r, NR52), 0x70);
}

static void power_off_clears_and_locks(void **state)
{
    (void)state;
    rig r = powered(0);
    for (uint32_t i = 0; i < 16; i++)
        poke(&r, WAVE + i, 0xA0 + i);
    for (uint32_t address = NR10; address < NR52; address++)
        poke(&r, address, 0xFF);
    assert_int_equal(peek(&r, NR52), 0xFF);
    poke(&r, NR52, 0x7F);
    assert_int_equal(peek(&r, NR52), 0x70);
    for (uint32_t address = NR10; address < NR52; address++) {
        poke(&r, address, 0xFF);
        assert_int_equal(peek(&r, address), dm_gb_apu_read_mask[address - NR10]);
    }
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(peek(&r, WAVE + i), 0xA0 + i);
    poke(&r, WAVE, 0x12); /* wave RAM needs no power */
    assert_int_equal(peek(&r, WAVE), 0x12);
    poke(&r, NR52, 0x80);
    assert_int_equal(peek(&r, NR52), 0xF0);
    assert_int_equal(peek(&r, NR11), 0x3F); /* the duty was not written either */
}

/* ---- the DACs ---- */

static void dac_decides(void **state)
{
    (void)state;
    static const struct {
        int channel;
        uint16_t dac;
        uint8_t off, on;
    } cases[] = {{0, NR12, 0x07, 0x08},
                 {0, NR12, 0x00, 0x10},
                 {1, NR22, 0x07, 0xF0},
                 {2, NR30, 0x7F, 0x80},
                 {3, NR42, 0x07, 0x08}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = powered(0);
        int c = cases[i].channel;
        poke(&r, cases[i].dac, cases[i].off);
        poke(&r, CONTROL[c], 0x80);
        assert_false(on(&r, c)); /* no trigger without a DAC */
        poke(&r, cases[i].dac, cases[i].on);
        assert_false(on(&r, c));
        poke(&r, CONTROL[c], 0x80);
        assert_true(on(&r, c));
        assert_int_equal(peek(&r, NR52), 0xF0 | 1 << c);
        poke(&r, cases[i].dac, cases[i].off);
        assert_false(on(&r, c));
        poke(&r, cases[i].dac, cases[i].on); /* does not come back by itself */
        assert_false(on(&r, c));
    }
}

/* ---- length counters ---- */

/* Steps 1, 3, 5, 7 after power-on clock lengths. The channel goes off exactly at the edge. */
static void length_ends_a_channel_at_its_step(void **state)
{
    (void)state;
    static const unsigned lengths[] = {1, 2, 3, 63, 64, 255, 256};
    for (int c = 0; c < 4; c++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            if (lengths[i] > (c == 2 ? 256u : 64u))
                continue;
            rig r = powered(0);
            dacs_on(&r);
            load_length(&r, c, lengths[i]);
            poke(&r, CONTROL[c], 0xC0);
            wait(&r, STEP * (2 * lengths[i] - 1) - 4);
            assert_true(on(&r, c));
            wait(&r, 4);
            assert_false(on(&r, c));
        }
}

static void length_needs_its_bit(void **state)
{
    (void)state;
    rig r = powered(0);
    dacs_on(&r);
    load_length(&r, 0, 1);
    poke(&r, NR14, 0x80);
    wait(&r, STEP * 100);
    assert_true(on(&r, 0));
}

/* Many small syncs, one large one: the same. */
static void lazy_equals_eager(void **state)
{
    (void)state;
    rig lazy = powered(0x0FF0), eager;
    dacs_on(&lazy);
    for (int c = 0; c < 4; c++) {
        load_length(&lazy, c, 7 + (unsigned)c * 11);
        poke(&lazy, CONTROL[c], 0xC1);
    }
    poke(&lazy, NR10, 0x23);
    poke(&lazy, NR14, 0xC1);
    eager = lazy;
    uint32_t random = 3;
    for (int n = 0; n < 400; n++) {
        random = random * 1664525u + 1013904223u;
        uint32_t span = (random >> 16) * 4;
        for (uint32_t t = 0; t < span; t += 364) {
            eager.now = lazy.now + t;
            dm_gb_apu_sync(&eager.apu, eager.now, counter(&eager));
        }
        lazy.now += span;
        eager.now = lazy.now;
        dm_gb_apu_sync(&lazy.apu, lazy.now, counter(&lazy));
        dm_gb_apu_sync(&eager.apu, eager.now, counter(&eager));
        assert_memory_equal(&lazy.apu, &eager.apu, sizeof lazy.apu);
    }
}

/* With the counters idle, whole spans are skipped: the sequencer and the sweep keep their phase. */
static void idle_steps_keep_the_phase(void **state)
{
    (void)state;
    for (uint32_t steps = 0; steps < 70; steps++) {
        rig skipping = powered(0), stepping = powered(0);
        wait(&skipping, STEP * steps);
        dm_gb_apu_sync(&skipping.apu, skipping.now, counter(&skipping));
        for (uint32_t i = 0; i < steps; i++)
            dm_gb_apu_step(&stepping.apu);
        assert_int_equal(skipping.apu.step, stepping.apu.step);
        assert_int_equal(skipping.apu.sweep_count, stepping.apu.sweep_count);
    }
}

/* Enabling the counter when the next step does not clock it costs one at once. */
static void enabling_late_clocks_once_more(void **state)
{
    (void)state;
    static const struct {
        uint32_t steps;        /* since power-on */
        uint8_t before, value; /* NRx4 first and then */
        unsigned length, expected;
        bool on;
    } cases[] = {
        {0, 0x80, 0x40, 5, 5, true}, /* first half: the next step clocks */
        {1, 0x80, 0x40, 5, 4, true}, /* second half */
        {2, 0x80, 0x40, 5, 5, true},
        {3, 0x80, 0x40, 5, 4, true},
        {1, 0x80, 0x40, 1, 0, false}, /* down to zero: off */
        {1, 0x80, 0xC0, 1, 63, true}, /* with a trigger: full, less one */
        {0, 0x80, 0xC0, 1, 1, true},
        {1, 0xC0, 0x40, 5, 4, true}, /* 0xC0 took one already; on to on takes none */
        {1, 0x80, 0x00, 5, 5, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = powered(0);
        dacs_on(&r);
        wait(&r, STEP * cases[i].steps + 100);
        load_length(&r, 1, cases[i].length);
        poke(&r, NR24, cases[i].before);
        poke(&r, NR24, cases[i].value);
        if (r.apu.length[1] != cases[i].expected || on(&r, 1) != cases[i].on)
            fail_msg("case %zu: length %u, channel %d", i, r.apu.length[1], on(&r, 1));
    }
}

static void trigger_reloads_an_empty_counter(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        unsigned full = c == 2 ? 256 : 64;
        for (uint32_t steps = 1; steps <= 2; steps++)
            for (unsigned enable = 0; enable <= 0x40; enable += 0x40) {
                rig r = powered(0);
                dacs_on(&r);
                load_length(&r, c, 1);
                poke(&r, CONTROL[c], 0xC0);
                wait(&r, STEP * steps);
                assert_false(on(&r, c));
                poke(&r, CONTROL[c], 0x80 | enable);
                assert_true(on(&r, c));
                unsigned extra = enable && steps == 1;
                assert_int_equal(r.apu.length[c], full - extra);
            }
    }
}

static void length_survives_power_off(void **state)
{
    (void)state;
    rig r = powered(0);
    dacs_on(&r);
    load_length(&r, 0, 20);
    load_length(&r, 2, 200);
    poke(&r, NR14, 0xC0);
    poke(&r, NR52, 0);
    wait(&r, STEP * 64); /* not clocked meanwhile */
    assert_int_equal(peek(&r, NR52), 0x70);
    load_length(&r, 3, 30); /* and can be written */
    poke(&r, NR52, 0x80);
    assert_int_equal(r.apu.length[0], 20);
    assert_int_equal(r.apu.length[2], 200);
    assert_int_equal(r.apu.length[3], 30);
    dacs_on(&r);
    poke(&r, NR14, 0xC0);
    wait(&r, STEP * 39 - 4);
    assert_true(on(&r, 0));
    wait(&r, 4);
    assert_false(on(&r, 0));
}

/* ---- the sequencer and DIV ---- */

static void div_reset_may_step(void **state)
{
    (void)state;
    for (int high = 0; high < 2; high++) {
        rig r = powered(0);
        dacs_on(&r);
        load_length(&r, 0, 1);
        poke(&r, NR14, 0xC0);
        wait(&r, high ? 0x1000 : 0x0FFC);
        dm_gb_apu_div_reset(&r.apu, r.now, counter(&r));
        r.div_base = r.now;
        assert_int_equal(on(&r, 0), !high); /* bit 12 fell: a step */
        wait(&r, STEP - 4);
        assert_int_equal(on(&r, 0), !high);
        wait(&r, 4);
        assert_false(on(&r, 0)); /* a whole period after the reset */
    }
}

static void power_on_with_the_bit_high_skips_one(void **state)
{
    (void)state;
    rig r = powered(0x1000);
    dacs_on(&r);
    load_length(&r, 0, 1);
    poke(&r, NR14, 0x80); /* no length bit, so no extra clock */
    assert_int_equal(r.apu.step, 1);
    r.apu.length_on = 1;
    wait(&r, 0x1000);
    assert_true(on(&r, 0)); /* the first edge does nothing */
    wait(&r, STEP - 4);
    assert_true(on(&r, 0));
    wait(&r, 4);
    assert_false(on(&r, 0)); /* the second clocks lengths */
    wait(&r, STEP);
    dm_gb_apu_sync(&r.apu, r.now, counter(&r));
    assert_int_equal(r.apu.step, 2);
}

static void no_steps_without_power(void **state)
{
    (void)state;
    rig r = powered(0);
    poke(&r, NR52, 0);
    wait(&r, STEP * 5 + 0x1000);
    dm_gb_apu_div_reset(&r.apu, r.now, counter(&r));
    assert_int_equal(r.apu.step, 0);
}

/* ---- sweep ---- */

/* Steps 3, 7, 11 ... after power-on clock the sweep. */
static void sweep_overflows(void **state)
{
    (void)state;
    static const struct {
        uint8_t nr10;
        uint16_t frequency;
        uint32_t steps; /* after power-on until the channel is off; 0: at once; 99: never */
    } cases[] = {
        {0x01, 0x555, 0},                    /* 555 + 2AA = 7FF: fits */
        {0x01, 0x556, 0},                    /* 556 + 2AB = 801 */
        {0x07, 0x7FF, 0},  {0x10, 0x400, 3}, /* no shift: nothing at the trigger, doubled at the
                                                sweep */
        {0x10, 0x3FF, 99}, {0x20, 0x400, 7},  {0x70, 0x400, 27},
        {0x11, 0x400, 3}, /* 600 at the sweep, whose second look sees 900 */
        {0x11, 0x300, 7}, /* 480, then 6C0, whose second look sees A20 */
        {0x11, 0x200, 11}, {0x00, 0x7FF, 99}, {0x08, 0x7FF, 99},
        {0x19, 0x7FF, 99}, /* downwards */
        {0x1F, 0x7FF, 99},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = powered(0);
        poke(&r, NR12, 0x08);
        poke(&r, NR10, cases[i].nr10);
        poke(&r, NR13, cases[i].frequency & 0xFF);
        poke(&r, NR14, 0x80 | cases[i].frequency >> 8);
        uint32_t off = 99;
        for (uint32_t s = 0; s < 60 && off == 99; s++) {
            if (!on(&r, 0))
                off = s;
            wait(&r, STEP);
        }
        uint32_t expected = i == 0 ? 99 : cases[i].steps;
        if (off != expected)
            fail_msg("case %zu: off at step %u, expected %u", i, off, expected);
    }
}

static void sweep_moves_the_frequency(void **state)
{
    (void)state;
    static const struct {
        uint8_t nr10;
        uint16_t start, after[3];
    } cases[] = {
        {0x12, 0x100, {0x140, 0x190, 0x1F4}},
        {0x1A, 0x100, {0x0C0, 0x090, 0x06C}},
        {0x19, 0x001, {0x001, 0x001, 0x001}},
        {0x1F, 0x7FF, {0x7F0, 0x7E1, 0x7D2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = powered(0);
        poke(&r, NR12, 0x08);
        poke(&r, NR10, cases[i].nr10);
        poke(&r, NR13, cases[i].start & 0xFF);
        poke(&r, NR14, 0x80 | cases[i].start >> 8);
        for (int n = 0; n < 3; n++) {
            wait(&r, n == 0 ? 3 * STEP : 4 * STEP);
            dm_gb_apu_sync(&r.apu, r.now, counter(&r));
            assert_int_equal(dm_gb_apu_frequency(&r.apu, DM_GB_NR13), cases[i].after[n]);
        }
    }
}

static void sweep_keeps_a_copy_of_the_frequency(void **state)
{
    (void)state;
    rig r = powered(0);
    poke(&r, NR12, 0x08);
    poke(&r, NR10, 0x12);
    poke(&r, NR13, 0x00);
    poke(&r, NR14, 0x81);
    poke(&r, NR13, 0xFF);
    wait(&r, 3 * STEP);
    dm_gb_apu_sync(&r.apu, r.now, counter(&r));
    assert_int_equal(dm_gb_apu_frequency(&r.apu, DM_GB_NR13), 0x140);
}

static void leaving_negate_mode(void **state)
{
    (void)state;
    static const struct {
        uint8_t first, second;
        bool trigger_between;
        bool on;
    } cases[] = {
        {0x09, 0x10, false, false}, /* used at the trigger, since there is a shift */
        {0x09, 0x09, false, true},  {0x09, 0x79, false, true},
        {0x18, 0x10, false, true}, /* not used yet */
        {0x01, 0x10, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = powered(0);
        poke(&r, NR12, 0x08);
        poke(&r, NR10, cases[i].first);
        poke(&r, NR13, 0x00);
        poke(&r, NR14, 0x80);
        poke(&r, NR10, cases[i].second);
        if (on(&r, 0) != cases[i].on)
            fail_msg("case %zu", i);
    }
    /* without a shift it is used at the first sweep */
    rig r = powered(0);
    poke(&r, NR12, 0x08);
    poke(&r, NR10, 0x18);
    poke(&r, NR14, 0x80);
    wait(&r, 3 * STEP);
    poke(&r, NR10, 0x10);
    assert_false(on(&r, 0));
}

/* ---- wave RAM ---- */

static rig playing(unsigned frequency)
{
    rig r = powered(0);
    for (uint32_t i = 0; i < 16; i++)
        poke(&r, WAVE + i, i * 17);
    poke(&r, NR30, 0x80);
    poke(&r, NR33, frequency & 0xFF);
    poke(&r, NR34, 0x80 | frequency >> 8);
    return r;
}

/* The first read comes 6 cycles and a period after the trigger, of the second sample of byte 0. */
static void wave_is_open_only_when_read(void **state)
{
    (void)state;
    for (unsigned frequency = 0x7F0; frequency < 0x800; frequency++) {
        uint32_t period = 2 * (2048 - frequency);
        rig r = playing(frequency);
        uint32_t start = r.now;
        for (uint32_t t = 0; t < 40 * period; t += 4) {
            r.now = start + t;
            uint8_t expected = 0xFF;
            if (t >= 6 + period && (t - 6) % period < 2)
                expected = (uint8_t)(((t - 6) / period % 32 / 2) * 17);
            assert_int_equal(peek(&r, WAVE + 5), expected);
        }
    }
}

static void wave_writes_land_where_it_reads(void **state)
{
    (void)state;
    rig r = playing(0x7FF); /* period 2: read in every cycle that the CPU sees */
    wait(&r, 8);
    poke(&r, WAVE + 9, 0x5A);
    poke(&r, NR30, 0);
    assert_int_equal(peek(&r, WAVE), 0x5A);
    assert_int_equal(peek(&r, WAVE + 9), 9 * 17);
    r = playing(0x700);
    wait(&r, 8);
    poke(&r, WAVE, 0x5A); /* lost */
    poke(&r, NR30, 0);
    assert_int_equal(peek(&r, WAVE), 0);
}

static void a_new_period_waits_for_the_next_read(void **state)
{
    (void)state;
    rig r = playing(0x700); /* period 512, first read at 518 */
    wait(&r, 100);
    poke(&r, NR33, 0xFE);
    poke(&r, NR34, 0x07);
    dm_gb_apu_sync(&r.apu, r.now, counter(&r));
    assert_int_equal(r.apu.wave_next - r.now, 418);
    wait(&r, 420);
    dm_gb_apu_sync(&r.apu, r.now, counter(&r));
    assert_int_equal(r.apu.wave_next - r.apu.wave_read, 4);
}

static void retrigger_corrupts(void **state)
{
    (void)state;
    /* Trigger two cycles before sample n is read, for each n. */
    for (uint32_t n = 1; n < 64; n++) {
        rig r = playing(0x7F0); /* period 32 */
        r.now += 6 + 32 * n - 2;
        poke(&r, NR34, 0x87);
        poke(&r, NR30, 0);
        uint32_t byte = n % 32 / 2;
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t from = i;
            if (byte < 4 && i == 0)
                from = byte;
            else if (byte >= 4 && i < 4)
                from = (byte & ~3u) + i;
            assert_int_equal(peek(&r, WAVE + i), from * 17);
        }
        /* at any other distance nothing happens */
        for (uint32_t distance = 4; distance < 32; distance += 2) {
            r = playing(0x7F0);
            r.now += 6 + 32 * n - distance;
            poke(&r, NR34, 0x87);
            poke(&r, NR30, 0);
            for (uint32_t i = 0; i < 16; i++)
                assert_int_equal(peek(&r, WAVE + i), i * 17);
        }
    }
}

/* ---- time ---- */

static void shifted_time_changes_nothing(void **state)
{
    (void)state;
    rig a = playing(0x7A5), b;
    load_length(&a, 2, 9);
    poke(&a, NR34, 0xC7);
    b = a;
    b.now += 123456;
    b.div_base += 123456;
    dm_gb_apu_shift_time(&b.apu, 123456);
    for (int n = 0; n < 3000; n++) {
        assert_int_equal(peek(&a, WAVE), peek(&b, WAVE));
        assert_int_equal(peek(&a, NR52), peek(&b, NR52));
        wait(&a, 52), wait(&b, 52);
    }
    assert_false(on(&a, 2));
}

DM_TESTS("gb/apu", DM_TEST(registers_read_through_their_masks), DM_TEST(post_boot_values),
         DM_TEST(power_off_clears_and_locks), DM_TEST(dac_decides),
         DM_TEST(length_ends_a_channel_at_its_step), DM_TEST(length_needs_its_bit),
         DM_TEST(lazy_equals_eager), DM_TEST(idle_steps_keep_the_phase),
         DM_TEST(enabling_late_clocks_once_more), DM_TEST(trigger_reloads_an_empty_counter),
         DM_TEST(length_survives_power_off), DM_TEST(div_reset_may_step),
         DM_TEST(power_on_with_the_bit_high_skips_one), DM_TEST(no_steps_without_power),
         DM_TEST(sweep_overflows), DM_TEST(sweep_moves_the_frequency),
         DM_TEST(sweep_keeps_a_copy_of_the_frequency), DM_TEST(leaving_negate_mode),
         DM_TEST(wave_is_open_only_when_read), DM_TEST(wave_writes_land_where_it_reads),
         DM_TEST(a_new_period_waits_for_the_next_read), DM_TEST(retrigger_corrupts),
         DM_TEST(shifted_time_changes_nothing))
