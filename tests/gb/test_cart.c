/* SPDX-License-Identifier: MIT */
#include "gb/machine/cart.h"
#include "tests/support/test.h"

#include <string.h>

#define KIB 0x400u
#define SECOND (1u << DM_GB_RTC_SECOND_SHIFT)

static dm_gb_cart make(enum dm_gb_mapper mapper, uint32_t rom_size, uint32_t ram_size)
{
    dm_gb_cart cart = {.mapper = (uint8_t)mapper, .rom_mask = rom_size - 1, .ram_size = ram_size};
    dm_gb_cart_reset(&cart, 0);
    return cart;
}

static dm_gb_cart make_clock(void)
{
    dm_gb_cart cart = {
        .mapper = DM_GB_MAPPER_MBC3, .has_rtc = 1, .rom_mask = 0x7FFF, .ram_size = 32 * KIB};
    dm_gb_cart_reset(&cart, 0);
    dm_gb_cart_write(&cart, 0, 0x0000, 0x0A);
    return cart;
}

static void poke(dm_gb_cart *cart, uint32_t address, unsigned value)
{
    dm_gb_cart_write(cart, 0, address, (uint8_t)value);
}

/* Which 16 KiB banks are seen. */
static uint32_t low_bank(const dm_gb_cart *cart)
{
    return cart->rom_low >> 14;
}
static uint32_t high_bank(const dm_gb_cart *cart)
{
    return cart->rom_high >> 14;
}

/* ---- start ---- */

static void starts_at_bank_one_with_ram_off(void **state)
{
    (void)state;
    for (int mapper = 0; mapper < DM_GB_MAPPER_COUNT; mapper++) {
        dm_gb_cart cart = make((enum dm_gb_mapper)mapper, 128 * KIB, 8 * KIB);
        assert_int_equal(low_bank(&cart), 0);
        assert_int_equal(high_bank(&cart), 1);
        bool on = mapper == DM_GB_MAPPER_NONE;
        assert_int_equal(cart.ram_window, on ? 0 : DM_GB_NO_RAM);
        assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA123), on ? 0x123 : DM_GB_NO_RAM);
        assert_int_equal(dm_gb_cart_special_read(&cart, 0xA000), 0xFF);
    }
}

static void rom_only_ignores_writes(void **state)
{
    (void)state;
    dm_gb_cart cart = make(DM_GB_MAPPER_NONE, 32 * KIB, 0);
    for (uint32_t address = 0; address < 0x8000; address += 0x100)
        assert_false(dm_gb_cart_write(&cart, 0, address, 0xFF));
    assert_int_equal(cart.rom_high, 0x4000);
    assert_int_equal(cart.ram_window, DM_GB_NO_RAM);
}

/* ---- banks: what a sequence of writes gives ---- */

typedef struct bank_case {
    enum dm_gb_mapper mapper;
    uint32_t rom_kib, ram_kib;
    struct {
        uint16_t address;
        uint8_t value;
    } writes[4];
    uint32_t low, high;
    int32_t ram; /* 8 KiB bank, -1: none */
} bank_case;

#define ON                                                                                         \
    {                                                                                              \
        0x0000, 0x0A                                                                               \
    }

static const bank_case BANKS[] = {
    /* MBC1: 5 bits, 0 becomes 1, also in the upper quarters */
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 0x00}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x3FFF, 0x1F}}, 0, 0x1F, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 0xE0}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 0x00}, {0x4000, 0x01}}, 0, 0x21, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 0x12}, {0x5FFF, 0xFF}}, 0, 0x72, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 5}, {0x4000, 2}, {0x6000, 1}}, 0x40, 0x45, -1},
    {DM_GB_MAPPER_MBC1, 2048, 0, {{0x2000, 5}, {0x4000, 2}, {0x6000, 0xFE}}, 0, 0x45, -1},
    /* the zero check sees five bits although a small ROM uses fewer */
    {DM_GB_MAPPER_MBC1, 256, 0, {{0x2000, 0x10}}, 0, 0, -1},
    {DM_GB_MAPPER_MBC1, 512, 0, {{0x2000, 3}, {0x4000, 3}, {0x6000, 1}}, 0, 3, -1},
    /* MBC1 RAM: banked in mode 1 only */
    {DM_GB_MAPPER_MBC1, 64, 32, {ON, {0x4000, 3}}, 0, 1, 0},
    {DM_GB_MAPPER_MBC1, 64, 32, {ON, {0x4000, 3}, {0x6000, 1}}, 0, 1, 3},
    {DM_GB_MAPPER_MBC1, 64, 8, {ON, {0x4000, 3}, {0x6000, 1}}, 0, 1, 0},
    {DM_GB_MAPPER_MBC1, 64, 32, {{0x1FFF, 0xFA}}, 0, 1, 0},
    {DM_GB_MAPPER_MBC1, 64, 32, {ON, {0x0000, 0xAB}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC1, 64, 0, {ON}, 0, 1, -1},
    /* multicart: BANK2 is shifted by four */
    {DM_GB_MAPPER_MBC1_MULTI, 1024, 0, {{0x2000, 0x12}, {0x4000, 3}}, 0, 0x32, -1},
    {DM_GB_MAPPER_MBC1_MULTI, 1024, 0, {{0x2000, 0x10}, {0x4000, 1}}, 0, 0x10, -1},
    {DM_GB_MAPPER_MBC1_MULTI, 1024, 0, {{0x2000, 0x00}, {0x4000, 1}}, 0, 0x11, -1},
    {DM_GB_MAPPER_MBC1_MULTI, 1024, 0, {{0x4000, 2}, {0x6000, 1}}, 0x20, 0x21, -1},
    /* MBC2: A8 tells the registers apart; nothing at 4000 */
    {DM_GB_MAPPER_MBC2, 256, 0, {{0x0100, 0x05}}, 0, 5, -1},
    {DM_GB_MAPPER_MBC2, 256, 0, {{0x3E00, 0x05}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC2, 256, 0, {{0x2100, 0xF0}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC2, 256, 0, {{0x2100, 0xFE}, {0x4100, 3}}, 0, 14, -1},
    /* MBC3: 7 bits, 0 becomes 1; MBC30 has eight bits */
    {DM_GB_MAPPER_MBC3, 2048, 0, {{0x2000, 0x00}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC3, 2048, 0, {{0x2000, 0x80}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC3, 2048, 0, {{0x2000, 0x20}}, 0, 0x20, -1},
    {DM_GB_MAPPER_MBC3, 4096, 0, {{0x2000, 0x80}}, 0, 0x80, -1},
    {DM_GB_MAPPER_MBC3, 64, 32, {ON, {0x4000, 2}}, 0, 1, 2},
    {DM_GB_MAPPER_MBC3, 64, 32, {ON, {0x4000, 7}}, 0, 1, 3},
    {DM_GB_MAPPER_MBC3, 64, 64, {ON, {0x4000, 7}}, 0, 1, 7},
    {DM_GB_MAPPER_MBC3, 64, 32, {{0x0000, 0x3A}}, 0, 1, 0},
    /* MBC5: nine bits, bank 0 is allowed, all of RAMG counts */
    {DM_GB_MAPPER_MBC5, 8192, 0, {{0x2000, 0x00}}, 0, 0, -1},
    {DM_GB_MAPPER_MBC5, 8192, 0, {{0x2FFF, 0x34}, {0x3000, 0xFF}}, 0, 0x134, -1},
    {DM_GB_MAPPER_MBC5, 8192, 0, {{0x3FFF, 0x01}, {0x2000, 0}, {0x3000, 2}}, 0, 0, -1},
    {DM_GB_MAPPER_MBC5, 64, 0, {{0x2000, 0xFF}}, 0, 3, -1},
    {DM_GB_MAPPER_MBC5, 64, 128, {ON, {0x4000, 0xFF}}, 0, 1, 15},
    {DM_GB_MAPPER_MBC5, 64, 32, {ON, {0x4000, 0x06}}, 0, 1, 2},
    {DM_GB_MAPPER_MBC5, 64, 8, {{0x0000, 0x1A}}, 0, 1, -1},
    {DM_GB_MAPPER_MBC5, 64, 8, {ON, {0x6000, 0xFF}}, 0, 1, 0},
};

static void switches_banks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BANKS / sizeof BANKS[0]; i++) {
        const bank_case *c = &BANKS[i];
        dm_gb_cart cart = make(c->mapper, c->rom_kib * KIB, c->ram_kib * KIB);
        /* An unused row is a write of 0 to 0000, which would switch the RAM off. */
        for (int w = 0; w < 4; w++)
            if (c->writes[w].address != 0 || c->writes[w].value != 0)
                poke(&cart, c->writes[w].address, c->writes[w].value);
        uint32_t ram = c->ram < 0 ? DM_GB_NO_RAM : (uint32_t)c->ram * 0x2000u;
        if (low_bank(&cart) != c->low || high_bank(&cart) != c->high || cart.ram_window != ram)
            fail_msg("row %zu: low %X high %X ram %X", i, low_bank(&cart), high_bank(&cart),
                     cart.ram_window);
        uint32_t offset = dm_gb_cart_ram_offset(&cart, 0xBFFF);
        assert_int_equal(offset, c->ram < 0 ? DM_GB_NO_RAM : ram + 0x1FFF);
    }
}

/* Every value of every register: offsets never leave the ROM or the RAM. */
static void offsets_stay_inside(void **state)
{
    (void)state;
    static const uint32_t rams[] = {0, 512, 2 * KIB, 8 * KIB, 32 * KIB, 64 * KIB, 128 * KIB};
    for (int mapper = 0; mapper < DM_GB_MAPPER_COUNT; mapper++)
        for (uint32_t rom = 32 * KIB; rom <= 8192 * KIB; rom *= 2)
            for (size_t r = 0; r < sizeof rams / sizeof rams[0]; r++) {
                dm_gb_cart cart = make((enum dm_gb_mapper)mapper, rom, rams[r]);
                uint32_t random = rom + (uint32_t)r;
                for (int n = 0; n < 400; n++) {
                    random = random * 1664525u + 1013904223u;
                    poke(&cart, (random >> 8) & 0x7FFF, random >> 24);
                    assert_true(cart.rom_low + 0x3FFF < rom);
                    assert_true(cart.rom_high + 0x3FFF < rom);
                    if (cart.ram_window != DM_GB_NO_RAM)
                        assert_true(cart.ram_window + 0x1FFF < rams[r]);
                    uint32_t offset = dm_gb_cart_ram_offset(&cart, 0xA000 | (random & 0x1FFF));
                    assert_true(offset == DM_GB_NO_RAM || offset < rams[r]);
                }
            }
}

static void says_when_windows_move(void **state)
{
    (void)state;
    dm_gb_cart cart = make(DM_GB_MAPPER_MBC1, 128 * KIB, 8 * KIB);
    assert_true(dm_gb_cart_write(&cart, 0, 0x2000, 2));
    assert_false(dm_gb_cart_write(&cart, 0, 0x2000, 2));
    assert_true(dm_gb_cart_write(&cart, 0, 0x0000, 0x0A));
    assert_false(dm_gb_cart_write(&cart, 0, 0x0000, 0xFA));
    assert_true(dm_gb_cart_write(&cart, 0, 0x0000, 0x00));
}

static void small_ram_is_mirrored(void **state)
{
    (void)state;
    dm_gb_cart cart = make(DM_GB_MAPPER_MBC5, 64 * KIB, 2 * KIB);
    poke(&cart, 0x0000, 0x0A);
    assert_int_equal(cart.ram_window, DM_GB_NO_RAM);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA7FF), 0x7FF);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA800), 0);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xBFFF), 0x7FF);
    assert_int_equal(dm_gb_cart_open_bits(&cart), 0);
}

static void mbc2_ram_is_nibbles(void **state)
{
    (void)state;
    dm_gb_cart cart = make(DM_GB_MAPPER_MBC2, 64 * KIB, 512);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA000), DM_GB_NO_RAM);
    poke(&cart, 0x3E00, 0x0A);
    assert_int_equal(cart.ram_window, DM_GB_NO_RAM);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA1FF), 0x1FF);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xA200), 0);
    assert_int_equal(dm_gb_cart_ram_offset(&cart, 0xBFFF), 0x1FF);
    assert_int_equal(dm_gb_cart_open_bits(&cart), 0xF0);
}

static void rumble_bit_is_not_a_bank_bit(void **state)
{
    (void)state;
    dm_gb_cart cart = make(DM_GB_MAPPER_MBC5, 64 * KIB, 128 * KIB);
    cart.has_rumble = 1;
    poke(&cart, 0x0000, 0x0A);
    poke(&cart, 0x4000, 0x0A);
    assert_int_equal(cart.ram_window, 2 * 0x2000);
    assert_int_equal(cart.rumble, 1);
    poke(&cart, 0x4000, 0x02);
    assert_int_equal(cart.rumble, 0);
}

/* ---- the clock ---- */

static void set_clock(dm_gb_cart *cart, uint32_t now, const uint8_t values[DM_GB_RTC_REGISTERS])
{
    for (unsigned i = 0; i < DM_GB_RTC_REGISTERS; i++) {
        dm_gb_cart_write(cart, now, 0x4000, (uint8_t)(8 + i));
        dm_gb_cart_special_write(cart, now, 0xA000, values[i]);
    }
}

/* What a program reads after latching at `now`. */
static void read_clock(dm_gb_cart *cart, uint32_t now, uint8_t values[DM_GB_RTC_REGISTERS])
{
    dm_gb_cart_write(cart, now, 0x6000, 0);
    dm_gb_cart_write(cart, now, 0x6000, 1);
    for (unsigned i = 0; i < DM_GB_RTC_REGISTERS; i++) {
        dm_gb_cart_write(cart, now, 0x4000, (uint8_t)(8 + i));
        assert_int_equal(cart->ram_window, DM_GB_NO_RAM);
        values[i] = dm_gb_cart_special_read(cart, 0xA000);
    }
}

static void clock_counts(void **state)
{
    (void)state;
    static const struct {
        uint8_t set[DM_GB_RTC_REGISTERS];
        uint32_t seconds;
        uint8_t expected[DM_GB_RTC_REGISTERS];
    } cases[] = {
        {{0, 0, 0, 0, 0}, 0, {0, 0, 0, 0, 0}},
        {{0, 0, 0, 0, 0}, 59, {59, 0, 0, 0, 0}},
        {{0, 0, 0, 0, 0}, 60, {0, 1, 0, 0, 0}},
        {{59, 59, 23, 0xFF, 0}, 1, {0, 0, 0, 0, 1}},
        {{59, 59, 23, 0xFF, 1}, 1, {0, 0, 0, 0, 0x80}},
        {{59, 59, 23, 0xFF, 0x81}, 1, {0, 0, 0, 0, 0x80}},
        {{30, 59, 23, 5, 0x80}, 30, {0, 0, 0, 6, 0x80}},
        {{0, 0, 0, 0, 0}, 700, {40, 11, 0, 0, 0}},
        /* out of range: up to the width, then zero without a carry */
        {{60, 0, 0, 0, 0}, 1, {61, 0, 0, 0, 0}},
        {{63, 0, 0, 0, 0}, 1, {0, 0, 0, 0, 0}},
        {{63, 0, 0, 0, 0}, 61, {0, 1, 0, 0, 0}},
        {{59, 63, 0, 0, 0}, 1, {0, 0, 0, 0, 0}},
        {{59, 60, 0, 0, 0}, 1, {0, 61, 0, 0, 0}},
        {{59, 59, 24, 0, 0}, 1, {0, 0, 25, 0, 0}},
        {{59, 59, 31, 7, 0}, 1, {0, 0, 0, 7, 0}},
        /* bits that do not exist read back as zero */
        {{0xFF, 0xFF, 0xFF, 0xFF, 0xBF}, 0, {0x3F, 0x3F, 0x1F, 0xFF, 0x81}},
        /* halted */
        {{59, 59, 23, 0xFF, 0x41}, 500, {59, 59, 23, 0xFF, 0x41}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_gb_cart cart = make_clock();
        uint32_t now = 0xFFFFF000u; /* across the wrap of the machine's clock */
        dm_gb_cart_sync(&cart, 0x40000000u), dm_gb_cart_sync(&cart, 0x80000000u);
        dm_gb_cart_sync(&cart, 0xC0000000u), dm_gb_cart_sync(&cart, now);
        set_clock(&cart, now, cases[i].set);
        uint8_t got[DM_GB_RTC_REGISTERS];
        read_clock(&cart, now + cases[i].seconds * SECOND, got);
        for (int r = 0; r < DM_GB_RTC_REGISTERS; r++)
            if (got[r] != cases[i].expected[r])
                fail_msg("case %zu register %d: %02X, expected %02X", i, r, got[r],
                         cases[i].expected[r]);
    }
}

/* One jump and many small steps give the same clock, from any start. */
static void clock_steps_add_up(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int n = 0; n < 300; n++) {
        uint8_t start[DM_GB_RTC_REGISTERS];
        for (int r = 0; r < DM_GB_RTC_REGISTERS; r++) {
            random = random * 1664525u + 1013904223u;
            start[r] = (uint8_t)(random >> 24);
        }
        start[DM_GB_RTC_DAYS_HIGH] &= 0xBF;
        dm_gb_cart one = make_clock(), many = make_clock();
        set_clock(&one, 0, start);
        set_clock(&many, 0, start);
        uint32_t seconds = 100000 + (random >> 8) % 100000;
        dm_gb_cart_advance_clock(&one, seconds);
        for (uint32_t i = 0; i < seconds; i++)
            dm_gb_cart_advance_clock(&many, 1);
        assert_memory_equal(one.rtc, many.rtc, sizeof one.rtc);
    }
}

static void second_begins_with_a_write_to_seconds(void **state)
{
    (void)state;
    dm_gb_cart cart = make_clock();
    uint8_t got[DM_GB_RTC_REGISTERS];
    read_clock(&cart, SECOND - 4, got);
    assert_int_equal(got[0], 0);
    read_clock(&cart, SECOND, got);
    assert_int_equal(got[0], 1);
    /* half a second later seconds are written: the next is a whole one away */
    uint32_t now = SECOND + SECOND / 2;
    dm_gb_cart_write(&cart, now, 0x4000, 8);
    dm_gb_cart_special_write(&cart, now, 0xA000, 10);
    read_clock(&cart, now + SECOND - 4, got);
    assert_int_equal(got[0], 10);
    read_clock(&cart, now + SECOND, got);
    assert_int_equal(got[0], 11);
    /* a write to minutes keeps the fraction */
    now += SECOND + SECOND / 2;
    dm_gb_cart_write(&cart, now, 0x4000, 9);
    dm_gb_cart_special_write(&cart, now, 0xA000, 3);
    read_clock(&cart, now + SECOND / 2, got);
    assert_int_equal(got[0], 12);
    assert_int_equal(got[1], 3);
}

static void halt_keeps_the_fraction(void **state)
{
    (void)state;
    dm_gb_cart cart = make_clock();
    uint8_t got[DM_GB_RTC_REGISTERS];
    uint32_t now = SECOND / 4 * 3;
    dm_gb_cart_write(&cart, now, 0x4000, 12);
    dm_gb_cart_special_write(&cart, now, 0xA000, DM_GB_RTC_HALT);
    now += 5 * SECOND;
    read_clock(&cart, now, got);
    assert_int_equal(got[0], 0);
    dm_gb_cart_write(&cart, now, 0x4000, 12);
    dm_gb_cart_special_write(&cart, now, 0xA000, 0);
    read_clock(&cart, now + SECOND / 4 - 4, got);
    assert_int_equal(got[0], 0);
    read_clock(&cart, now + SECOND / 4, got);
    assert_int_equal(got[0], 1);
}

static void latch_holds_the_time(void **state)
{
    (void)state;
    dm_gb_cart cart = make_clock();
    uint8_t got[DM_GB_RTC_REGISTERS];
    read_clock(&cart, 3 * SECOND, got);
    assert_int_equal(got[0], 3);
    dm_gb_cart_write(&cart, 9 * SECOND, 0x4000, 8);
    dm_gb_cart_sync(&cart, 9 * SECOND);
    assert_int_equal(dm_gb_cart_special_read(&cart, 0xA000), 3);
    /* a write goes to the running clock, not to the latch */
    dm_gb_cart_special_write(&cart, 9 * SECOND, 0xA000, 30);
    assert_int_equal(dm_gb_cart_special_read(&cart, 0xA000), 3);
    read_clock(&cart, 9 * SECOND, got);
    assert_int_equal(got[0], 30);
}

static void clock_needs_ram_enabled_and_a_register(void **state)
{
    (void)state;
    dm_gb_cart cart = make_clock();
    cart.rtc_latched[0] = 7;
    for (unsigned bank = 0; bank < 16; bank++) {
        dm_gb_cart_write(&cart, 0, 0x4000, (uint8_t)bank);
        assert_int_equal(cart.ram_window, bank < 4 ? bank * 0x2000 : DM_GB_NO_RAM);
        uint8_t expected = bank == 8 ? 7 : bank > 8 && bank < 13 ? 0 : 0xFF;
        assert_int_equal(dm_gb_cart_special_read(&cart, 0xA000), expected);
    }
    dm_gb_cart_write(&cart, 0, 0x4000, 8);
    dm_gb_cart_write(&cart, 0, 0x0000, 0);
    assert_int_equal(dm_gb_cart_special_read(&cart, 0xA000), 0xFF);
    dm_gb_cart_special_write(&cart, 0, 0xA000, 9);
    assert_int_equal(cart.rtc[0], 0);
}

static void reset_keeps_the_time(void **state)
{
    (void)state;
    dm_gb_cart cart = make_clock();
    static const uint8_t set[DM_GB_RTC_REGISTERS] = {1, 2, 3, 4, 1};
    set_clock(&cart, 0, set);
    dm_gb_cart_reset(&cart, 77);
    assert_memory_equal(cart.rtc, set, sizeof set);
    assert_int_equal(cart.ram_enabled, 0);
}

/* What a write is said to do beforehand, it does: for each mapper, address and value, after some others. */
static void ignored_writes_change_nothing(void **state)
{
    (void)state;
    static const struct {
        enum dm_gb_mapper mapper;
        uint8_t has_rtc, has_rumble;
    } carts[] = {{DM_GB_MAPPER_NONE, 0, 0},       {DM_GB_MAPPER_MBC1, 0, 0},
                 {DM_GB_MAPPER_MBC1_MULTI, 0, 0}, {DM_GB_MAPPER_MBC2, 0, 0},
                 {DM_GB_MAPPER_MBC3, 0, 0},       {DM_GB_MAPPER_MBC3, 1, 0},
                 {DM_GB_MAPPER_MBC5, 0, 0},       {DM_GB_MAPPER_MBC5, 0, 1}};
    for (size_t i = 0; i < sizeof carts / sizeof carts[0]; i++) {
        dm_gb_cart cart = make(carts[i].mapper, 512 * KIB, 32 * KIB);
        cart.has_rtc = carts[i].has_rtc;
        cart.has_rumble = carts[i].has_rumble;
        uint32_t ignored = 0;
        for (uint32_t n = 0; n < 40000; n++) {
            const uint32_t random = n * 2654435761u, address = random >> 17;
            const uint32_t value = (n & 3u) == 0 ? 0x0Au : (random >> 4 & 0xFFu);
            const bool says = dm_gb_cart_ignores(&cart, address, value);
            const bool latches = dm_gb_cart_decode(&cart, address, value).which == DM_GB_CART_LATCH;
            const dm_gb_cart before = cart;
            dm_gb_cart_write(&cart, 0, address, (uint8_t)value);
            const bool same = memcmp(&before, &cart, sizeof cart) == 0;
            assert_true(!says || same);
            /* A write of a bank and the motor is not said to be ignored when it is. */
            assert_true(says || !same || latches || carts[i].has_rumble);
            ignored += says ? 1u : 0u;
        }
        assert_in_range(ignored, 1, carts[i].mapper == DM_GB_MAPPER_NONE ? 40000 : 39999);
    }
}

DM_TESTS("gb/cart", DM_TEST(ignored_writes_change_nothing),
         DM_TEST(starts_at_bank_one_with_ram_off), DM_TEST(rom_only_ignores_writes),
         DM_TEST(switches_banks), DM_TEST(offsets_stay_inside), DM_TEST(says_when_windows_move),
         DM_TEST(small_ram_is_mirrored), DM_TEST(mbc2_ram_is_nibbles),
         DM_TEST(rumble_bit_is_not_a_bank_bit), DM_TEST(clock_counts), DM_TEST(clock_steps_add_up),
         DM_TEST(second_begins_with_a_write_to_seconds), DM_TEST(halt_keeps_the_fraction),
         DM_TEST(latch_holds_the_time), DM_TEST(clock_needs_ram_enabled_and_a_register),
         DM_TEST(reset_keeps_the_time))
