/* SPDX-License-Identifier: MIT */
/* state.c - save states, through one table of fields.
 *
 * Each row of FIELDS is a member of dm_gb_machine; saving, loading, checking and the documented
 * layout all walk the same rows, so they cannot disagree. A member that has no row is found by the
 * size assert below and by the coverage test. */
#include "gb/host/state.h"

#include "base/file.h"
#include "gb/cpu/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = {'D', 'M', 'G', 'B', 'S', 'T', 'A', 'T'};

/* Offsets in the file. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_SIZE = 12,
    AT_HASH = 16, /* XXH3-64 of everything from AT_ROM_HASH on */
    AT_ROM_HASH = 24,
    AT_TITLE = 40,
    AT_CART_RAM = 56,
    AT_FIELDS_SIZE = 60,
    AT_FIELDS = 64,
};

enum field_kind {
    SAVED,
    DERIVED, /* follows from the ROM and from saved fields */
    UNUSED,  /* padding; zero */
};

typedef struct field {
    const char *name;
    uint32_t offset; /* in dm_gb_machine */
    uint8_t kind;    /* enum field_kind */
    uint8_t size;    /* of one element: 1, 2 or 4 */
    uint16_t count;
    uint32_t limit; /* largest value that makes sense */
} field;

#define ANY 0xFFFFFFFFu
#define MEMBER(member) ((dm_gb_machine *)0)->member
#define FIELD(member, limit)                                                                       \
    {                                                                                              \
#member, offsetof(dm_gb_machine, member), SAVED, sizeof MEMBER(member), 1, limit           \
    }
#define ARRAY(member, limit)                                                                       \
    {                                                                                              \
#member, offsetof(dm_gb_machine, member), SAVED, sizeof MEMBER(member[0]),                 \
            sizeof MEMBER(member) / sizeof MEMBER(member[0]), limit                                \
    }
#define OTHER(kind, member)                                                                        \
    {                                                                                              \
#member, offsetof(dm_gb_machine, member), kind, 1, sizeof MEMBER(member), ANY              \
    }

static const field FIELDS[] = {
    FIELD(clock, ANY),
    FIELD(next_event, ANY),
    FIELD(target, ANY),
    FIELD(cycles_low, ANY),
    FIELD(cycles_high, ANY),
    FIELD(instructions_low, ANY),
    FIELD(instructions_high, ANY),
    FIELD(halted_low, ANY),
    FIELD(halted_high, ANY),
    FIELD(counted_at, ANY),

    FIELD(cpu.b, ANY),
    FIELD(cpu.c, ANY),
    FIELD(cpu.d, ANY),
    FIELD(cpu.e, ANY),
    FIELD(cpu.h, ANY),
    FIELD(cpu.l, ANY),
    FIELD(cpu.f, 0xF0),
    FIELD(cpu.a, ANY),
    FIELD(cpu.pc, ANY),
    FIELD(cpu.sp, ANY),
    FIELD(cpu.ime, 1),
    FIELD(cpu.ei_delay, 2),
    FIELD(cpu.mode, DM_GB_LOCKED),
    FIELD(cpu.halt_bug, 1),
    FIELD(cpu.waking, 1),
    OTHER(UNUSED, cpu.pad),
    FIELD(cpu.halted_at, ANY),
    FIELD(cpu.wake_at, ANY),

    FIELD(int_flags, 0x1F),
    FIELD(boot_mapped, 1),
    FIELD(profile, ANY),
    OTHER(UNUSED, pad),

    FIELD(timer.div_base, ANY),
    FIELD(timer.synced, ANY),
    FIELD(timer.reload_at, ANY),
    FIELD(timer.tima, ANY),
    FIELD(timer.tma, ANY),
    FIELD(timer.tac, ANY),
    FIELD(timer.overflowed, 1),

    FIELD(serial.sb, ANY),
    FIELD(serial.sc, ANY),
    FIELD(serial.bits_left, 8),
    FIELD(serial.turned, 1),
    FIELD(serial.next_bit, ANY),

    FIELD(dma.start, ANY),
    FIELD(dma.source, ANY),
    FIELD(dma.reg, ANY),
    FIELD(dma.active, 1),
    FIELD(dma.next, 160),
    FIELD(dma.restarted, 160),
    OTHER(UNUSED, dma.pad),

    FIELD(ppu.lcdc, ANY),
    FIELD(ppu.stat, ANY),
    FIELD(ppu.scy, ANY),
    FIELD(ppu.scx, ANY),
    FIELD(ppu.lyc, ANY),
    FIELD(ppu.bgp, ANY),
    FIELD(ppu.obp0, ANY),
    FIELD(ppu.obp1, ANY),
    FIELD(ppu.wy, ANY),
    FIELD(ppu.wx, ANY),
    FIELD(ppu.line, 153),
    FIELD(ppu.first_line, 1),
    FIELD(ppu.line_start, ANY),
    FIELD(ppu.next_dot, 456),
    FIELD(ppu.mode0_dot, 456),
    FIELD(ppu.edge, 8),
    FIELD(ppu.mode_int, ANY),
    FIELD(ppu.compare, ANY),
    FIELD(ppu.lyc_bit, 1),
    FIELD(ppu.lyc_line, 1),
    FIELD(ppu.stat_line, 1),
    FIELD(ppu.window_on, 1),
    FIELD(ppu.window_line, ANY),
    FIELD(ppu.closed, 1),
    FIELD(ppu.drawn, DM_GB_SCREEN_W),
    FIELD(ppu.drawing, 1),
    FIELD(ppu.new_screen, 1),
    FIELD(ppu.blank, 1),
    FIELD(ppu.front, 1),
    FIELD(ppu.sprites, 10),
    ARRAY(ppu.sprite, 39),
    ARRAY(ppu.sprite_x, ANY),
    ARRAY(ppu.sprite_y, ANY),
    FIELD(ppu.scanned, 40),
    FIELD(ppu.window_carry, 1),
    OTHER(UNUSED, ppu.pad),
    FIELD(ppu.fifo.dot, DM_GB_FIFO_LATEST),
    FIELD(ppu.fifo.address, 0x1FFF),
    FIELD(ppu.fifo.x, ANY),
    FIELD(ppu.fifo.out, DM_GB_SCREEN_W),
    FIELD(ppu.fifo.step, DM_GB_FETCH_PUSH),
    FIELD(ppu.fifo.tile, ANY),
    FIELD(ppu.fifo.low, ANY),
    FIELD(ppu.fifo.high, ANY),
    FIELD(ppu.fifo.queue_low, ANY),
    FIELD(ppu.fifo.queue_high, ANY),
    FIELD(ppu.fifo.queue, 8),
    FIELD(ppu.fifo.sprite_low, ANY),
    FIELD(ppu.fifo.sprite_high, ANY),
    FIELD(ppu.fifo.sprite_palette, ANY),
    FIELD(ppu.fifo.sprite_behind, ANY),
    FIELD(ppu.fifo.sprite, 10),
    FIELD(ppu.fifo.state, DM_GB_FIFO_FINISHED),
    FIELD(ppu.fifo.wait, 1),
    FIELD(ppu.fifo.sprite_tile, ANY),
    FIELD(ppu.fifo.sprite_flags, ANY),
    FIELD(ppu.fifo.sprite_data, ANY),
    FIELD(ppu.fifo.flags, ANY),
    FIELD(ppu.fifo.window_tile, 31),
    FIELD(ppu.fifo.windows, ANY),
    OTHER(UNUSED, ppu.fifo.pad),
    FIELD(ppu.frames, ANY),

    FIELD(joypad.select, ANY),
    FIELD(joypad.keys, ANY),
    OTHER(UNUSED, joypad.pad),

    FIELD(apu.synced, ANY),
    FIELD(apu.wave_next, ANY),
    FIELD(apu.wave_read, ANY),
    ARRAY(apu.length, 256),
    FIELD(apu.sweep_shadow, 0x7FF),
    FIELD(apu.sweep_addend, 0x7FF),
    ARRAY(apu.regs, ANY),
    FIELD(apu.power, 1),
    FIELD(apu.active, 15),
    FIELD(apu.length_on, 15),
    FIELD(apu.step, 7),
    FIELD(apu.skip, DM_GB_APU_SKIPPED),
    FIELD(apu.sweep_count, 7),
    FIELD(apu.wave_position, 31),
    FIELD(apu.wave_started, 1),

    OTHER(DERIVED, cart.mapper),
    OTHER(DERIVED, cart.has_rtc),
    OTHER(DERIVED, cart.has_rumble),
    OTHER(DERIVED, cart.has_battery),
    OTHER(DERIVED, cart.rom_mask),
    OTHER(DERIVED, cart.ram_size),
    OTHER(DERIVED, cart.rom_low),
    OTHER(DERIVED, cart.rom_high),
    OTHER(DERIVED, cart.ram_window),
    FIELD(cart.rom_bank, 0x1FF),
    FIELD(cart.ram_bank, 15),
    FIELD(cart.mode, 1),
    FIELD(cart.ram_enabled, 1),
    FIELD(cart.rumble, 1),
    ARRAY(cart.rtc_latched, ANY),
    ARRAY(cart.rtc, ANY),
    FIELD(cart.rtc_fraction, (1u << DM_GB_RTC_SECOND_SHIFT) - 1),
    FIELD(cart.rtc_synced, ANY),
};

#define FIELD_COUNT (sizeof FIELDS / sizeof FIELDS[0])

/* When the size changes, FIELDS needs another row, and docs/save-state.md and the version change. */
_Static_assert(sizeof(dm_gb_machine) == 340, "dm_gb_machine changed: bring FIELDS up to date");

/* ---- Bytes ---- */

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* ---- Fields ---- */

static uint32_t element_load(const dm_gb_machine *m, const field *f, unsigned index)
{
    const uint8_t *at = (const uint8_t *)m + f->offset + (size_t)f->size * index;
    uint8_t v8;
    uint16_t v16;
    uint32_t v32;
    switch (f->size) {
    case 1:
        memcpy(&v8, at, 1);
        return v8;
    case 2:
        memcpy(&v16, at, 2);
        return v16;
    default:
        memcpy(&v32, at, 4);
        return v32;
    }
}

static void element_store(dm_gb_machine *m, const field *f, unsigned index, uint32_t value)
{
    uint8_t *at = (uint8_t *)m + f->offset + (size_t)f->size * index;
    uint8_t v8 = (uint8_t)value;
    uint16_t v16 = (uint16_t)value;
    memcpy(at, f->size == 1 ? (void *)&v8 : f->size == 2 ? (void *)&v16 : (void *)&value, f->size);
}

static size_t fields_size(void)
{
    size_t size = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (FIELDS[i].kind == SAVED)
            size += (size_t)FIELDS[i].size * FIELDS[i].count;
    return size;
}

static void save_fields(const dm_gb_machine *m, uint8_t *at)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        for (unsigned n = 0; FIELDS[i].kind == SAVED && n < FIELDS[i].count; n++) {
            put(at, element_load(m, &FIELDS[i], n), FIELDS[i].size);
            at += FIELDS[i].size;
        }
}

/* A sprite that is being fetched is one of the line's. */
static dm_status check_fifo(const dm_gb_ppu *ppu, dm_error *err)
{
    if (ppu->fifo.state >= DM_GB_FIFO_SPRITE_WAIT && ppu->fifo.state <= DM_GB_FIFO_SPRITE_DONE &&
        ppu->fifo.sprite >= ppu->sprites)
        return dm_fail(err, DM_EFORMAT, "state: ppu.fifo.sprite is %u, at most %d",
                       ppu->fifo.sprite, ppu->sprites - 1);
    return DM_OK;
}

/* The lines have their edges at fixed dots, but for the end of mode 3. */
static bool edge_fits(dm_gb_machine *m)
{
    const dm_gb_ppu *ppu = &m->ppu;
    dm_gb_context context = {.m = m};
    if (ppu->edge == 3 && ppu->line < DM_GB_VBLANK_LINE)
        return ppu->next_dot > 84;
    if (ppu->first_line)
        return ppu->line == 0 && (ppu->edge == 2 ? ppu->next_dot == 86 : ppu->edge == 4);
    return ppu->next_dot == dm_gb_edge_dot(&context, ppu->edge);
}

static dm_status check_ppu(dm_gb_machine *m, dm_error *err)
{
    const dm_gb_ppu *ppu = &m->ppu;
    bool on = dm_gb_lcd_on(m);
    if (on && !edge_fits(m))
        return dm_fail(err, DM_EFORMAT, "state: ppu.next_dot is %u at edge %u of line %u",
                       ppu->next_dot, ppu->edge, ppu->line);
    if (ppu->fifo.dot != 0 && !dm_gb_in_picture(m))
        return dm_fail(err, DM_EFORMAT, "state: ppu.fifo.dot is %u while no line is made",
                       ppu->fifo.dot);
    if (ppu->drawing && !(on && ppu->line <= DM_GB_VBLANK_LINE))
        return dm_fail(err, DM_EFORMAT, "state: ppu.drawing is 1 while no picture is made");
    return check_fifo(ppu, err);
}

/* How far the times in a state may lie before the clock (T-cycles): far more than a run leaves behind, and
 * few enough that a damaged state cannot keep a run busy. */
#define LATELY 4096u

/* At the end of a run every device is synced, so all times that a machine remembers are near its clock.
 * Times without a meaning at the moment are not checked. */
static dm_status check_times(const dm_gb_machine *m, dm_error *err)
{
    bool halted = m->cpu.mode == DM_GB_HALTED;
    const struct {
        const char *name;
        bool matters;
        uint32_t time, ago, ahead; /* at most so long before and after the clock */
    } times[] = {
        {"target", true, m->target, LATELY, 0},
        {"cpu.wake_at", halted && m->cpu.waking, m->cpu.wake_at, 0, 16},
        {"timer.synced", true, m->timer.synced, LATELY, 0},
        {"timer.reload_at", m->timer.overflowed, m->timer.reload_at, 0, 4},
        {"serial.next_bit", m->serial.bits_left != 0, m->serial.next_bit, 0, DM_GB_SERIAL_BIT},
        {"dma.start", m->dma.active, m->dma.start, DM_GB_DMA_CYCLES + DM_GB_HALT_KNOWN, 0},
        {"ppu.line_start", dm_gb_lcd_on(m), m->ppu.line_start, DM_GB_LINE_CYCLES, 0},
        {"apu.synced", true, m->apu.synced, LATELY, 0},
        {"cart.rtc_synced", true, m->cart.rtc_synced, LATELY, 0},
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (times[i].matters &&
            times[i].time - (m->clock - times[i].ago) > times[i].ago + times[i].ahead)
            return dm_fail(err, DM_EFORMAT, "state: %s is %" PRId32 " cycles from the clock",
                           times[i].name, (int32_t)(times[i].time - m->clock));
    return DM_OK;
}

/* The hash proves that the bytes were not damaged; the checks here, that they are a possible machine. */
static dm_status load_fields(dm_gb_machine *m, const uint8_t *at, dm_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        for (unsigned n = 0; FIELDS[i].kind == SAVED && n < FIELDS[i].count; n++) {
            uint32_t value = (uint32_t)get(at, FIELDS[i].size);
            if (value > FIELDS[i].limit)
                return dm_fail(err, DM_EFORMAT, "state: %s is %u, at most %u", FIELDS[i].name,
                               value, FIELDS[i].limit);
            element_store(m, &FIELDS[i], n, value);
            at += FIELDS[i].size;
        }
    dm_gb_halt_forget(m);
    dm_status status = check_times(m, err);
    return status == DM_OK ? check_ppu(m, err) : status;
}

void dm_gb_state_coverage(uint8_t covered[sizeof(dm_gb_machine)])
{
    memset(covered, 0, sizeof(dm_gb_machine));
    for (size_t i = 0; i < FIELD_COUNT; i++)
        for (size_t n = 0; n < (size_t)FIELDS[i].size * FIELDS[i].count; n++)
            /* Twice is as bad as never. */
            covered[FIELDS[i].offset + n] = covered[FIELDS[i].offset + n] != 0 ? 0
                                            : FIELDS[i].kind == SAVED          ? 1
                                                                               : 2;
}

void dm_gb_state_layout(dm_buffer *out)
{
    unsigned at = AT_FIELDS;
    dm_buffer_puts(out, "| offset | bytes | field |\n|---:|---:|---|\n");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (FIELDS[i].kind != SAVED)
            continue;
        dm_buffer_printf(out, "| %u | %u", at, FIELDS[i].size);
        if (FIELDS[i].count > 1)
            dm_buffer_printf(out, " x %u", FIELDS[i].count);
        dm_buffer_printf(out, " | `%s` |\n", FIELDS[i].name);
        at += (unsigned)FIELDS[i].size * FIELDS[i].count;
    }
    dm_buffer_printf(out, "| %u | %u | machine memory: VRAM, WRAM, OAM, HRAM and IE |\n", at,
                     DM_GB_CART_RAM);
    dm_buffer_printf(out, "| %u | as many as offset %u says | cartridge RAM |\n",
                     at + DM_GB_CART_RAM, AT_CART_RAM);
}

/* ---- Save states ---- */

size_t dm_gb_state_size(const dm_gb_rom *rom)
{
    return AT_FIELDS + fields_size() + DM_GB_CART_RAM + rom->ram_size;
}

void dm_gb_state_write(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                       uint8_t *bytes)
{
    size_t size = dm_gb_state_size(rom);
    memset(bytes, 0, AT_FIELDS);
    memcpy(bytes + AT_MAGIC, MAGIC, sizeof MAGIC);
    put(bytes + AT_VERSION, DM_GB_STATE_VERSION, 4);
    put(bytes + AT_SIZE, size, 4);
    put(bytes + AT_ROM_HASH, rom->hash.low, 8);
    put(bytes + AT_ROM_HASH + 8, rom->hash.high, 8);
    memcpy(bytes + AT_TITLE, rom->title, strnlen(rom->title, DM_GB_TITLE_MAX));
    put(bytes + AT_CART_RAM, rom->ram_size, 4);
    put(bytes + AT_FIELDS_SIZE, fields_size(), 4);
    save_fields(m, bytes + AT_FIELDS);
    memcpy(bytes + AT_FIELDS + fields_size(), ram, DM_GB_CART_RAM + rom->ram_size);
    put(bytes + AT_HASH, dm_hash64(bytes + AT_ROM_HASH, size - AT_ROM_HASH), 8);
}

void dm_gb_state_save(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                      dm_buffer *out)
{
    size_t size = dm_gb_state_size(rom);
    uint8_t *bytes = malloc(size);
    if (bytes == NULL) {
        out->failed = true;
        return;
    }
    dm_gb_state_write(m, ram, rom, bytes);
    dm_buffer_append(out, bytes, size);
    free(bytes);
}

static dm_status check_rom(const uint8_t *bytes, const dm_gb_rom *rom, dm_error *err)
{
    dm_hash128 hash = {get(bytes + AT_ROM_HASH, 8), get(bytes + AT_ROM_HASH + 8, 8)};
    if (hash.low == rom->hash.low && hash.high == rom->hash.high)
        return DM_OK;
    char title[DM_GB_TITLE_MAX + 1] = "", theirs[DM_HASH_HEX_SIZE], ours[DM_HASH_HEX_SIZE];
    for (int i = 0; i < DM_GB_TITLE_MAX && bytes[AT_TITLE + i] != 0; i++) {
        char c = (char)bytes[AT_TITLE + i];
        title[i] = c >= 0x20 && c < 0x7F ? c : '?';
    }
    dm_hash128_hex(hash, theirs);
    dm_hash128_hex(rom->hash, ours);
    return dm_fail(err, DM_EINVAL,
                   "state: made with another ROM: \"%s\" (%s), this one is \"%s\" (%s)", title,
                   theirs, rom->title, ours);
}

static dm_status check_envelope(const uint8_t *bytes, size_t size, const dm_gb_rom *rom,
                                dm_error *err)
{
    if (size < sizeof MAGIC || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return dm_fail(err, DM_EFORMAT, "state: not a save state");
    if (size < AT_FIELDS)
        return dm_fail(err, DM_EFORMAT, "state: truncated: %zu bytes, the header alone has %d",
                       size, AT_FIELDS);
    uint32_t version = (uint32_t)get(bytes + AT_VERSION, 4);
    if (version != DM_GB_STATE_VERSION)
        return dm_fail(err, DM_EUNSUPPORTED, "state: version %u, this build reads version %u",
                       version, DM_GB_STATE_VERSION);
    uint32_t stated = (uint32_t)get(bytes + AT_SIZE, 4);
    if (size != stated)
        return dm_fail(err, DM_EFORMAT, "state: %s: header says %u bytes, file has %zu",
                       size < stated ? "truncated" : "too long", stated, size);
    if (get(bytes + AT_HASH, 8) != dm_hash64(bytes + AT_ROM_HASH, size - AT_ROM_HASH))
        return dm_fail(err, DM_EFORMAT, "state: damaged: the content does not match its hash");
    dm_status status = check_rom(bytes, rom, err);
    if (status != DM_OK)
        return status;
    if (get(bytes + AT_CART_RAM, 4) != rom->ram_size ||
        get(bytes + AT_FIELDS_SIZE, 4) != fields_size() || size != dm_gb_state_size(rom))
        return dm_fail(err, DM_EFORMAT, "state: sizes do not fit the ROM: %zu bytes, expected %zu",
                       size, dm_gb_state_size(rom));
    return DM_OK;
}

dm_status dm_gb_state_load(dm_gb_machine *m, uint8_t *ram, const dm_gb_rom *rom, const void *bytes,
                           size_t size, dm_error *err)
{
    const uint8_t *at = bytes;
    dm_status status = check_envelope(at, size, rom, err);
    if (status != DM_OK)
        return status;
    dm_gb_machine loaded;
    memset(&loaded, 0, sizeof loaded);
    dm_gb_rom_cart(rom, 0, &loaded.cart);
    status = load_fields(&loaded, at + AT_FIELDS, err);
    if (status != DM_OK)
        return status;
    dm_gb_cart_update_windows(&loaded.cart);
    *m = loaded;
    memcpy(ram, at + AT_FIELDS + fields_size(), DM_GB_CART_RAM + rom->ram_size);
    return DM_OK;
}

dm_status dm_gb_state_save_file(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                                const char *path, dm_error *err)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_state_save(m, ram, rom, &out);
    dm_status status = dm_buffer_check(&out, err);
    if (status == DM_OK)
        status = dm_file_write(path, out.data, out.size, err);
    dm_buffer_deinit(&out);
    return status;
}

/* ---- Battery saves ---- */

/* After the RAM: five clock registers and their latched copies, 4 bytes each, then the time of
 * saving as Unix seconds, 8 bytes (4 in older files). */
enum { RTC_TRAILER = 48, RTC_TRAILER_OLD = 44, RTC_TIME_AT = 40 };

/* Bits that a register has. */
static const uint8_t RTC_MASK[DM_GB_RTC_REGISTERS] = {0x3F, 0x3F, 0x1F, 0xFF, 0xC1};

size_t dm_gb_battery_size(const dm_gb_rom *rom)
{
    if (!rom->has_battery)
        return 0;
    return rom->ram_size + (rom->has_rtc ? RTC_TRAILER : 0u);
}

void dm_gb_battery_save(dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                        int64_t unix_time, dm_buffer *out)
{
    if (!rom->has_battery)
        return;
    dm_buffer_append(out, ram + DM_GB_CART_RAM, rom->ram_size);
    if (!rom->has_rtc)
        return;
    dm_gb_cart_sync(&m->cart, m->clock);
    uint8_t trailer[RTC_TRAILER];
    for (unsigned i = 0; i < DM_GB_RTC_REGISTERS; i++) {
        put(trailer + 4u * i, m->cart.rtc[i], 4);
        put(trailer + 4u * (i + DM_GB_RTC_REGISTERS), m->cart.rtc_latched[i], 4);
    }
    put(trailer + RTC_TIME_AT, unix_time == DM_GB_NO_TIME ? 0 : (uint64_t)unix_time, 8);
    dm_buffer_append(out, trailer, sizeof trailer);
}

static void load_clock(dm_gb_cart *cart, const uint8_t *trailer, size_t size, int64_t unix_time)
{
    for (unsigned i = 0; i < DM_GB_RTC_REGISTERS; i++) {
        cart->rtc[i] = trailer[4u * i] & RTC_MASK[i];
        cart->rtc_latched[i] = trailer[4u * (i + DM_GB_RTC_REGISTERS)] & RTC_MASK[i];
    }
    cart->rtc_fraction = 0;
    uint64_t saved = get(trailer + RTC_TIME_AT, (unsigned)size - RTC_TIME_AT);
    if (unix_time == DM_GB_NO_TIME || unix_time < 0 || saved == 0 || saved > (uint64_t)unix_time ||
        (cart->rtc[DM_GB_RTC_DAYS_HIGH] & DM_GB_RTC_HALT))
        return;
    /* A day counter of 512 days has overflowed long before 2^31 seconds. */
    uint64_t passed = (uint64_t)unix_time - saved;
    dm_gb_cart_advance_clock(cart, passed > 0x80000000u ? 0x80000000u : (uint32_t)passed);
}

dm_status dm_gb_battery_load(dm_gb_machine *m, uint8_t *ram, const dm_gb_rom *rom,
                             const void *bytes, size_t size, int64_t unix_time, dm_error *err)
{
    if (!rom->has_battery)
        return dm_fail(err, DM_EINVAL, "battery: \"%s\" (%s) has no battery", rom->title,
                       rom->type_name);
    size_t trailer = size > rom->ram_size ? size - rom->ram_size : 0;
    bool fits = size == rom->ram_size ||
                (rom->has_rtc && (trailer == RTC_TRAILER || trailer == RTC_TRAILER_OLD));
    if (!fits)
        return dm_fail(err, DM_EFORMAT, "battery: the file has %zu bytes, the cartridge %u%s", size,
                       rom->ram_size, rom->has_rtc ? " and a clock of 48" : "");
    const uint8_t *at = bytes;
    if (rom->ram_size != 0)
        memcpy(ram + DM_GB_CART_RAM, at, rom->ram_size);
    if (trailer != 0) {
        dm_gb_cart_sync(&m->cart, m->clock);
        load_clock(&m->cart, at + rom->ram_size, trailer, unix_time);
    }
    return DM_OK;
}
