/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A ROM, a machine and its memory. */
typedef struct rig {
    dm_gb_rom rom;
    dm_gb_machine m;
    uint8_t *ram;
    size_t ram_size;
} rig;

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static rig make(unsigned type, unsigned ram_code, unsigned salt)
{
    static uint8_t bytes[0x8000];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + 0x134, "STATE TEST", 10);
    bytes[0x147] = (uint8_t)type;
    bytes[0x149] = (uint8_t)ram_code;
    bytes[0x1000] = (uint8_t)salt;
    rig r;
    memset(&r, 0, sizeof r);
    assert_ok(dm_gb_rom_init(&r.rom, bytes, sizeof bytes, err));
    r.ram_size = DM_GB_CART_RAM + r.rom.ram_size;
    r.ram = calloc(1, r.ram_size);
    assert_non_null(r.ram);
    dm_gb_rom_cart(&r.rom, 0, &r.m.cart);
    return r;
}

static void drop(rig *r)
{
    dm_gb_rom_deinit(&r->rom);
    free(r->ram);
}

/* Contents that a machine could have: anything in range, padding zero. */
static void fill(rig *r, uint32_t random)
{
    dm_gb_machine *m = &r->m;
    dm_gb_cart cart = m->cart;
    uint8_t covered[sizeof *m];
    dm_gb_state_coverage(covered);
    for (size_t i = 0; i < sizeof *m; i++)
        ((uint8_t *)m)[i] = covered[i] == 1 ? (uint8_t)next_random(&random) : 0;
    m->cpu.f &= 0xF0;
    m->cpu.ime &= 1, m->cpu.ei_delay &= 1, m->cpu.mode &= 3, m->cpu.halt_bug &= 1;
    m->cpu.waking &= 1;
    m->int_flags &= 0x1F, m->boot_mapped &= 1;
    m->timer.overflowed &= 1;
    m->serial.bits_left &= 7, m->serial.turned &= 1;
    m->dma.active &= 1, m->dma.next = (uint8_t)(m->dma.next % 161), m->dma.restarted &= 127;
    dm_gb_ppu *ppu = &m->ppu;
    ppu->line = (uint8_t)(ppu->line % 154), ppu->first_line &= 1;
    ppu->next_dot = (uint16_t)(ppu->next_dot % 457);
    ppu->mode0_dot = (uint16_t)(ppu->mode0_dot % 457);
    ppu->edge &= 3, ppu->lyc_bit &= 1, ppu->lyc_line &= 1, ppu->stat_line &= 1;
    ppu->window_on &= 1, ppu->closed &= 1, ppu->window_carry &= 1;
    ppu->drawn = (uint8_t)(ppu->drawn % 161);
    ppu->fifo.dot = (uint16_t)(ppu->fifo.dot % 456), ppu->fifo.address &= 0x1FFF;
    ppu->fifo.out = (uint8_t)(ppu->fifo.out % 161), ppu->fifo.step &= 3, ppu->fifo.queue &= 7;
    ppu->fifo.sprite = (uint8_t)(ppu->fifo.sprite % 10), ppu->fifo.wait &= 1;
    ppu->fifo.state &= 1, ppu->fifo.window_tile &= 31;
    ppu->drawing &= 1, ppu->new_screen &= 1, ppu->blank &= 1, ppu->front &= 1;
    ppu->sprites = (uint8_t)(ppu->sprites % 11);
    ppu->scanned = (uint8_t)(ppu->scanned % 41);
    for (int i = 0; i < 10; i++)
        ppu->sprite[i] = (uint8_t)(ppu->sprite[i] % 40);
    dm_gb_apu *apu = &m->apu;
    for (int i = 0; i < 4; i++)
        apu->length[i] = (uint16_t)(apu->length[i] % 257);
    apu->sweep_shadow &= 0x7FF, apu->sweep_addend &= 0x7FF;
    apu->power &= 1, apu->active &= 15, apu->length_on &= 15, apu->step &= 7;
    apu->skip = (uint8_t)(apu->skip % 3), apu->sweep_count &= 7;
    apu->wave_position &= 31, apu->wave_started &= 1;
    m->cart.mapper = cart.mapper, m->cart.has_rtc = cart.has_rtc;
    m->cart.has_rumble = cart.has_rumble, m->cart.has_battery = cart.has_battery;
    m->cart.rom_mask = cart.rom_mask, m->cart.ram_size = cart.ram_size;
    m->cart.rom_bank &= 0x1FF, m->cart.ram_bank &= 15, m->cart.mode &= 1;
    m->cart.ram_enabled &= 1, m->cart.rumble &= 1;
    m->cart.rtc_fraction &= 0x3FFFFF;
    /* Times near the clock; a line with its edges in order. */
    m->target = m->clock - (m->target & 15u);
    m->cpu.halted_at = m->clock - 12u;
    m->cpu.wake_at = m->clock + (m->cpu.wake_at & 7u);
    m->timer.synced = m->clock;
    m->timer.reload_at = m->clock + (m->timer.reload_at & 3u);
    m->serial.next_bit = m->clock + (m->serial.next_bit & 511u);
    m->dma.start = m->clock - (m->dma.start & 511u);
    m->apu.synced = m->cart.rtc_synced = m->clock;
    ppu->lcdc |= 0x80, ppu->line &= 127, ppu->first_line = 0;
    ppu->line_start = m->clock - (ppu->line_start & 255u);
    ppu->edge = 3, ppu->next_dot = (uint16_t)(256 + (ppu->next_dot & 127));
    dm_gb_cart_update_windows(&m->cart);
    for (size_t i = 0; i < r->ram_size; i++)
        r->ram[i] = (uint8_t)next_random(&random);
}

static dm_buffer save(const rig *r)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_state_save(&r->m, r->ram, &r->rom, &out);
    assert_false(out.failed);
    assert_int_equal(out.size, dm_gb_state_size(&r->rom));
    return out;
}

/* Loading must fail so, and leave the machine and its memory alone. */
static void refused(rig *r, const void *bytes, size_t size, dm_status status, const char *message)
{
    dm_gb_machine m = r->m;
    uint8_t *ram = malloc(r->ram_size);
    assert_non_null(ram);
    memcpy(ram, r->ram, r->ram_size);
    dm_error error = {0};
    dm_status got = dm_gb_state_load(&r->m, r->ram, &r->rom, bytes, size, &error);
    if (got != status || strstr(error.message, message) == NULL || strchr(error.message, '\n'))
        fail_msg("%s: '%s', expected '%s'", dm_status_name(got), error.message, message);
    assert_memory_equal(&r->m, &m, sizeof m);
    assert_memory_equal(r->ram, ram, r->ram_size);
    free(ram);
}

/* Write a changed byte and make the hash right again. */
static void rehash(dm_buffer *state)
{
    uint64_t hash = dm_hash64(state->data + 24, state->size - 24);
    for (int i = 0; i < 8; i++)
        state->data[16 + i] = (char)(hash >> (8 * i));
}

/* ---- the format ---- */

static void every_byte_is_accounted_for(void **state)
{
    (void)state;
    uint8_t covered[sizeof(dm_gb_machine)];
    dm_gb_state_coverage(covered);
    for (size_t i = 0; i < sizeof covered; i++)
        if (covered[i] == 0)
            fail_msg("byte %zu of dm_gb_machine has no row in state.c, or two", i);
}

static void document_shows_the_layout(void **state)
{
    (void)state;
    dm_buffer layout = DM_BUFFER_EMPTY;
    dm_gb_state_layout(&layout);
    char *document = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(DM_TEST_SOURCE_ROOT "/docs/save-state.md", 0, &document, &size, err));
    if (strstr(document, dm_buffer_text(&layout)) == NULL)
        fail_msg("docs/save-state.md does not hold this table:\n%s", dm_buffer_text(&layout));
    free(document);
    dm_buffer_deinit(&layout);
}

static void numbers_are_little_endian(void **state)
{
    (void)state;
    rig r = make(0, 0, 0);
    r.m.clock = 0x12345678;
    r.m.next_event = 0x9ABCDEF0;
    dm_buffer out = save(&r);
    static const uint8_t expected[] = {0x78, 0x56, 0x34, 0x12, 0xF0, 0xDE, 0xBC, 0x9A};
    assert_memory_equal(out.data + 64, expected, sizeof expected);
    assert_memory_equal(out.data, "DMGBSTAT\3\0\0\0", 12);
    assert_memory_equal(out.data + 40, "STATE TEST\0\0\0\0\0\0", 16);
    dm_buffer_deinit(&out);
    drop(&r);
}

static void round_trips(void **state)
{
    (void)state;
    static const struct {
        unsigned type, ram_code;
    } cases[] = {{0x00, 0}, {0x03, 3}, {0x06, 0}, {0x10, 3}, {0x1E, 4}, {0x1B, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint32_t seed = 0; seed < 40; seed++) {
            rig r = make(cases[c].type, cases[c].ram_code, 0);
            rig other = make(cases[c].type, cases[c].ram_code, 0);
            fill(&r, seed);
            fill(&other, seed + 1000);
            dm_buffer out = save(&r);
            assert_ok(dm_gb_state_load(&other.m, other.ram, &other.rom, out.data, out.size, err));
            assert_memory_equal(&other.m, &r.m, sizeof r.m);
            assert_memory_equal(other.ram, r.ram, r.ram_size);
            dm_buffer again = save(&other);
            assert_memory_equal(again.data, out.data, out.size);
            dm_buffer_deinit(&again);
            dm_buffer_deinit(&out);
            drop(&other);
            drop(&r);
        }
}

/* ---- what is refused ---- */

static void truncation_is_refused_at_every_length(void **state)
{
    (void)state;
    rig r = make(0x06, 0, 0);
    fill(&r, 5);
    dm_buffer out = save(&r);
    for (size_t size = 0; size < out.size; size++) {
        /* a copy of its own, so that the sanitizer sees a read past the end */
        char *cut = malloc(size == 0 ? 1 : size);
        assert_non_null(cut);
        memcpy(cut, out.data, size);
        dm_error error = {0};
        dm_gb_machine m = r.m;
        assert_int_equal(dm_gb_state_load(&r.m, r.ram, &r.rom, cut, size, &error), DM_EFORMAT);
        assert_non_null(strstr(error.message, size < 8 ? "not a save state" : "truncated"));
        assert_memory_equal(&r.m, &m, sizeof m);
        free(cut);
    }
    dm_buffer_putc(&out, 0);
    refused(&r, out.data, out.size, DM_EFORMAT, "too long");
    dm_buffer_deinit(&out);
    drop(&r);
}

static void damage_is_refused_at_every_byte(void **state)
{
    (void)state;
    rig r = make(0x06, 0, 0);
    fill(&r, 6);
    dm_buffer out = save(&r);
    uint32_t random = 9;
    for (size_t at = 0; at < out.size; at++) {
        char old = out.data[at];
        out.data[at] = (char)(old ^ (1 << (next_random(&random) & 7)));
        dm_error error = {0};
        dm_gb_machine m = r.m;
        assert_int_not_equal(dm_gb_state_load(&r.m, r.ram, &r.rom, out.data, out.size, &error),
                             DM_OK);
        assert_true(error.message[0] != '\0');
        assert_memory_equal(&r.m, &m, sizeof m);
        out.data[at] = old;
    }
    assert_ok(dm_gb_state_load(&r.m, r.ram, &r.rom, out.data, out.size, err));
    dm_buffer_deinit(&out);
    drop(&r);
}

static void reasons_are_named(void **state)
{
    (void)state;
    rig r = make(0x10, 3, 0);
    rig other = make(0x10, 3, 1);
    fill(&r, 7);
    dm_buffer out = save(&r);
    refused(&r, "hello", 5, DM_EFORMAT, "state: not a save state");
    refused(&other, out.data, out.size, DM_EINVAL,
            "state: made with another ROM: \"STATE TEST\" (");
    out.data[100] ^= 1;
    refused(&r, out.data, out.size, DM_EFORMAT,
            "state: damaged: the content does not match its hash");
    out.data[100] ^= 1;
    out.data[8] = 9;
    refused(&r, out.data, out.size, DM_EUNSUPPORTED,
            "state: version 9, this build reads version 3");
    out.data[8] = DM_GB_STATE_VERSION;
    out.data[57] ^= 1;
    rehash(&out);
    refused(&r, out.data, out.size, DM_EFORMAT, "state: sizes do not fit the ROM");
    dm_buffer_deinit(&out);
    drop(&other);
    drop(&r);
}

/* The hash is right, the contents are not: nothing that would index out of a table gets in. */
static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        uint8_t value;
        const char *message;
    } cases[] = {
        {offsetof(dm_gb_machine, ppu.line), 154, "state: ppu.line is 154, at most 153"},
        {offsetof(dm_gb_machine, ppu.drawn), 161, "state: ppu.drawn is 161, at most 160"},
        {offsetof(dm_gb_machine, ppu.front), 2, "state: ppu.front is 2, at most 1"},
        {offsetof(dm_gb_machine, ppu.sprites), 11, "state: ppu.sprites is 11, at most 10"},
        {offsetof(dm_gb_machine, ppu.sprite) + 9, 40, "state: ppu.sprite is 40, at most 39"},
        {offsetof(dm_gb_machine, dma.next), 161, "state: dma.next is 161, at most 160"},
        {offsetof(dm_gb_machine, cpu.mode), 4, "state: cpu.mode is 4, at most 3"},
        {offsetof(dm_gb_machine, apu.wave_position), 32, "state: apu.wave_position is 32"},
        {offsetof(dm_gb_machine, cart.ram_bank), 16, "state: cart.ram_bank is 16, at most 15"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = make(0x10, 3, 0);
        fill(&r, 8);
        rig good = make(0x10, 3, 0);
        fill(&good, 8);
        ((uint8_t *)&r.m)[cases[i].offset] = cases[i].value;
        dm_buffer out = save(&r);
        refused(&good, out.data, out.size, DM_EFORMAT, cases[i].message);
        dm_buffer_deinit(&out);
        drop(&good);
        drop(&r);
    }
}

/* Random contents under a right hash: loaded or refused, and the windows stay inside the ROM. */
static void random_contents_are_safe(void **state)
{
    (void)state;
    rig r = make(0x1B, 4, 0);
    fill(&r, 9);
    dm_buffer out = save(&r);
    size_t end = out.size - r.ram_size;
    uint32_t random = 77;
    int loaded = 0;
    for (int n = 0; n < 20000; n++) {
        size_t at = 64 + next_random(&random) % (end - 64);
        char old = out.data[at];
        out.data[at] = (char)next_random(&random);
        rehash(&out);
        if (dm_gb_state_load(&r.m, r.ram, &r.rom, out.data, out.size, NULL) == DM_OK)
            loaded++;
        assert_true(r.m.cart.rom_low <= r.m.cart.rom_mask);
        assert_true(r.m.cart.rom_high <= r.m.cart.rom_mask);
        assert_true(r.m.cart.ram_window == DM_GB_NO_RAM ||
                    r.m.cart.ram_window + 0x2000 <= r.m.cart.ram_size);
        out.data[at] = old;
    }
    assert_true(loaded > 1000 && loaded < 20000);
    dm_buffer_deinit(&out);
    drop(&r);
}

static void a_file_is_the_bytes(void **state)
{
    rig r = make(0x10, 3, 0), other = make(0x10, 3, 0);
    fill(&r, 10);
    const char *path = dm_test_path(state, "s.state");
    assert_ok(dm_gb_state_save_file(&r.m, r.ram, &r.rom, path, err));
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(path, 1u << 20, &bytes, &size, err));
    assert_ok(dm_gb_state_load(&other.m, other.ram, &other.rom, bytes, size, err));
    free(bytes);
    assert_memory_equal(&other.m, &r.m, sizeof r.m);
    drop(&other);
    drop(&r);
}

/* ---- machines that run ---- */

/* A cartridge full of random bytes: programs that touch everything. */
static dm_gb *random_machine(uint32_t seed)
{
    static uint8_t bytes[0x8000];
    /* without STOP and the opcodes that lock up */
    static const uint8_t bad[] = {0x10, 0xD3, 0xDB, 0xDD, 0xE3, 0xE4,
                                  0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD};
    for (size_t i = 0; i < sizeof bytes; i++) {
        do
            bytes[i] = (uint8_t)next_random(&seed);
        while (memchr(bad, bytes[i], sizeof bad) != NULL);
    }
    memcpy(bytes + 0x100, "\x00\xC3\x50\x01", 4);
    /* with the LCD, timer, serial and sound at work whatever follows */
    static const uint8_t start[] = {0x3E, 0x1F, 0xE0, 0xFF, 0x3E, 0x05, 0xE0, 0x07, 0x3E, 0x81,
                                    0xE0, 0x02, 0x3E, 0x78, 0xE0, 0x41, 0x3E, 0xF7, 0xE0, 0x40,
                                    0x3E, 0xC1, 0xE0, 0x46, 0x3E, 0xC7, 0xE0, 0x1E, 0xFB};
    memcpy(bytes + 0x150, start, sizeof start);
    bytes[0x147] = 0x10;
    bytes[0x148] = 0;
    bytes[0x149] = 3;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create(bytes, sizeof bytes, NULL, &gb, err));
    return gb;
}

/* What dm_gb_save_state writes, without its wait for the disk. */
static void save_quickly(const dm_gb *gb, const char *path)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, &out);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(out.data, 1, out.size, file), out.size);
    assert_int_equal(fclose(file), 0);
    dm_buffer_deinit(&out);
}

/* Save at any moment, go on; load elsewhere, go on: the same machine. */
static void a_loaded_machine_goes_on_alike(void **state)
{
    const char *path = dm_test_path(state, "s");
    int lively = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        dm_gb *a = random_machine(seed), *b = random_machine(seed);
        uint32_t random = seed;
        for (int n = 0; n < 4; n++) {
            dm_gb_set_keys(a, (uint8_t)next_random(&random));
            dm_gb_run_cycles(a, next_random(&random) % 200000 + 1,
                             n & 1 ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER);
            if (seed == 1)
                assert_ok(dm_gb_save_state(a, path, err));
            else
                save_quickly(a, path);
            assert_ok(dm_gb_load_state(b, path, err));
            assert_memory_equal(&a->machine, &b->machine, sizeof a->machine);
            uint32_t more = next_random(&random) % 300000 + 1;
            dm_gb_run_cycles(a, more, DM_GB_DRAW_ALWAYS);
            dm_gb_run_cycles(b, more, DM_GB_DRAW_ALWAYS);
            assert_memory_equal(&a->machine, &b->machine, sizeof a->machine);
            assert_memory_equal(a->ram, b->ram, a->ram_size);
        }
        lively += a->machine.cpu.mode == DM_GB_RUNNING;
        dm_gb_destroy(a);
        dm_gb_destroy(b);
    }
    assert_true(lively > 20); /* else this proves little */
}

static void states_in_memory_are_those_in_files(void **state)
{
    const char *path = dm_test_path(state, "memory.state");
    dm_gb *a = random_machine(4), *b = random_machine(4);
    size_t size = dm_gb_state_bytes(a), length = 0;
    uint8_t *bytes = malloc(size + 1), *before = malloc(size);
    assert_true(bytes != NULL && before != NULL);
    dm_gb_run_cycles(a, 123456, DM_GB_DRAW_NEVER);
    assert_ok(dm_gb_save_state_bytes(a, bytes, size, err));
    assert_ok(dm_gb_save_state(a, path, err));
    char *file = NULL;
    assert_ok(dm_file_read(path, 0, &file, &length, err));
    assert_int_equal(length, size);
    assert_memory_equal(file, bytes, size);
    free(file);

    /* Refused at every length and with a change every so often; b stays as it is. */
    dm_error error = {0};
    assert_int_equal(dm_gb_save_state_bytes(b, before, size - 1, &error), DM_EINVAL);
    assert_int_equal(dm_gb_save_state_bytes(b, before, size + 1, &error), DM_EINVAL);
    assert_ok(dm_gb_save_state_bytes(b, before, size, err));
    for (size_t at = 0; at <= size; at += at < 400 ? 1 : 997) {
        error.message[0] = '\0';
        assert_int_not_equal(dm_gb_load_state_bytes(b, bytes, at == size ? size + 1 : at, &error),
                             DM_OK);
        assert_true(error.message[0] != '\0');
        if (at == size)
            break;
        bytes[at] ^= 0x40;
        assert_int_not_equal(dm_gb_load_state_bytes(b, bytes, size, &error), DM_OK);
        bytes[at] ^= 0x40;
    }
    assert_int_equal(dm_gb_load_state_bytes(b, bytes, size + 1, &error), DM_EFORMAT);
    uint8_t *after = malloc(size);
    assert_non_null(after);
    assert_ok(dm_gb_save_state_bytes(b, after, size, err));
    assert_memory_equal(after, before, size);

    assert_ok(dm_gb_load_state_bytes(b, bytes, size, err));
    dm_gb_run_cycles(a, 200000, DM_GB_DRAW_NEVER);
    dm_gb_run_cycles(b, 200000, DM_GB_DRAW_NEVER);
    assert_ok(dm_gb_save_state_bytes(a, before, size, err));
    assert_ok(dm_gb_save_state_bytes(b, after, size, err));
    assert_memory_equal(after, before, size);
    free(bytes);
    free(before);
    free(after);
    dm_gb_destroy(a);
    dm_gb_destroy(b);
}

static void battery_files_work(void **state)
{
    const char *path = dm_test_path(state, "a.sav");
    dm_gb *a = random_machine(3), *b = random_machine(3);
    memset(a->ram + DM_GB_CART_RAM, 0x5A, 0x8000);
    assert_ok(dm_gb_save_battery(a, path, 5000, err));
    assert_ok(dm_gb_load_battery(b, path, 5061, err));
    assert_memory_equal(a->ram + DM_GB_CART_RAM, b->ram + DM_GB_CART_RAM, 0x8000);
    assert_int_equal(b->machine.cart.rtc[DM_GB_RTC_SECONDS], 1);
    assert_int_equal(b->machine.cart.rtc[DM_GB_RTC_MINUTES], 1);
    assert_ok(dm_file_write(path, "x", 1, err));
    dm_error error = {0};
    assert_int_equal(dm_gb_load_battery(b, path, DM_GB_NO_TIME, &error), DM_EFORMAT);
    assert_non_null(strstr(error.message, path));
    dm_gb_destroy(a);
    dm_gb_destroy(b);
}

/* ---- battery saves ---- */

static void battery_round_trips(void **state)
{
    (void)state;
    static const struct {
        unsigned type, ram_code;
        size_t size;
    } cases[] = {{0x03, 3, 0x8000}, {0x06, 0, 512},     {0x10, 3, 0x8000 + 48},
                 {0x0F, 0, 48},     {0x1B, 4, 0x20000}, {0x00, 0, 0},
                 {0x02, 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = make(cases[i].type, cases[i].ram_code, 0);
        rig other = make(cases[i].type, cases[i].ram_code, 0);
        fill(&r, 11);
        for (int n = 0; n < DM_GB_RTC_REGISTERS; n++)
            r.m.cart.rtc[n] = (uint8_t)(n * 5), r.m.cart.rtc_latched[n] = (uint8_t)(n * 3);
        r.m.cart.rtc[DM_GB_RTC_DAYS_HIGH] = 0x81;
        r.m.cart.rtc_latched[DM_GB_RTC_DAYS_HIGH] = 0x40;
        r.m.cart.rtc_synced = r.m.clock;
        assert_int_equal(dm_gb_battery_size(&r.rom), cases[i].size);
        dm_buffer out = DM_BUFFER_EMPTY;
        dm_gb_battery_save(&r.m, r.ram, &r.rom, 1000000, &out);
        assert_int_equal(out.size, cases[i].size);
        dm_error error = {0};
        dm_status status = dm_gb_battery_load(&other.m, other.ram, &other.rom, out.data, out.size,
                                              DM_GB_NO_TIME, &error);
        if (cases[i].size == 0) {
            assert_int_equal(status, DM_EINVAL);
            assert_non_null(strstr(error.message, "has no battery"));
        } else {
            assert_int_equal(status, DM_OK);
            assert_memory_equal(other.ram + DM_GB_CART_RAM, r.ram + DM_GB_CART_RAM, r.rom.ram_size);
            if (r.rom.has_rtc) {
                assert_memory_equal(other.m.cart.rtc, r.m.cart.rtc, DM_GB_RTC_REGISTERS);
                assert_memory_equal(other.m.cart.rtc_latched, r.m.cart.rtc_latched,
                                    DM_GB_RTC_REGISTERS);
            }
        }
        dm_buffer_deinit(&out);
        drop(&other);
        drop(&r);
    }
}

static void clock_runs_while_away(void **state)
{
    (void)state;
    rig r = make(0x0F, 0, 0);
    static const struct {
        uint8_t high;
        int64_t saved, loaded;
        uint8_t seconds, minutes;
    } cases[] = {
        {0, 1000, 1075, 25, 1},              /* 10 + 75 s */
        {0, 1000, 1000, 10, 0},              /* none */
        {0, 1000, 900, 10, 0},               /* a clock set back */
        {0, 1000, DM_GB_NO_TIME, 10, 0},     /* repeatable */
        {DM_GB_RTC_HALT, 1000, 1075, 10, 0}, /* halted */
        {0, DM_GB_NO_TIME, 1075, 10, 0},     /* saved without a time */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(r.m.cart.rtc, 0, DM_GB_RTC_REGISTERS);
        r.m.cart.rtc[DM_GB_RTC_SECONDS] = 10;
        r.m.cart.rtc[DM_GB_RTC_DAYS_HIGH] = cases[i].high;
        dm_buffer out = DM_BUFFER_EMPTY;
        dm_gb_battery_save(&r.m, r.ram, &r.rom, cases[i].saved, &out);
        assert_ok(
            dm_gb_battery_load(&r.m, r.ram, &r.rom, out.data, out.size, cases[i].loaded, err));
        if (r.m.cart.rtc[0] != cases[i].seconds || r.m.cart.rtc[1] != cases[i].minutes)
            fail_msg("case %zu: %u:%u", i, r.m.cart.rtc[1], r.m.cart.rtc[0]);
        /* the older form with a time of 4 bytes */
        assert_ok(dm_gb_battery_load(&r.m, r.ram, &r.rom, out.data, 44, cases[i].loaded, err));
        assert_int_equal(r.m.cart.rtc[0], cases[i].seconds);
        dm_buffer_deinit(&out);
    }
    drop(&r);
}

static void battery_of_another_size_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned type, ram_code;
        size_t size;
        const char *message;
    } cases[] = {
        {0x03, 2, 0x1FFF, "battery: the file has 8191 bytes, the cartridge 8192"},
        {0x03, 2, 0x2030, "battery: the file has 8240 bytes, the cartridge 8192"},
        {0x10, 2, 0x2001, "the cartridge 8192 and a clock of 48"},
        {0x06, 0, 0, "battery: the file has 0 bytes, the cartridge 512"},
    };
    uint8_t *bytes = calloc(1, 0x4000);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r = make(cases[i].type, cases[i].ram_code, 0);
        fill(&r, 12);
        dm_gb_machine m = r.m;
        dm_error error = {0};
        assert_int_equal(dm_gb_battery_load(&r.m, r.ram, &r.rom, bytes, cases[i].size, 0, &error),
                         DM_EFORMAT);
        assert_non_null(strstr(error.message, cases[i].message));
        assert_memory_equal(&r.m, &m, sizeof m);
        drop(&r);
    }
    free(bytes);
}

DM_TESTS("gb/state", DM_TEST(every_byte_is_accounted_for), DM_TEST(document_shows_the_layout),
         DM_TEST(numbers_are_little_endian), DM_TEST(round_trips),
         DM_TEST(truncation_is_refused_at_every_length), DM_TEST(damage_is_refused_at_every_byte),
         DM_TEST(reasons_are_named), DM_TEST(values_out_of_range_are_refused),
         DM_TEST(random_contents_are_safe), DM_TEST_IN_DIR(a_file_is_the_bytes),
         DM_TEST_IN_DIR(a_loaded_machine_goes_on_alike),
         DM_TEST_IN_DIR(states_in_memory_are_those_in_files), DM_TEST_IN_DIR(battery_files_work),
         DM_TEST(battery_round_trips), DM_TEST(clock_runs_while_away),
         DM_TEST(battery_of_another_size_is_refused))
