/* SPDX-License-Identifier: MIT */
/* state_pyboy.c - reading PyBoy's save states: the current version, and what all versions share.
 *
 * The file is a stream of little-endian integers without names or tags, in the order in which the
 * parts are read below; only the sound buffer and cartridge RAM vary in length. The layout was
 * learnt by reading PyBoy's public sources and from files it wrote.
 *
 * Both emulators stand between two instructions when they save, so time is easy to carry over:
 * every device is placed by how far it is from its next event. Our picture unit keeps more than
 * PyBoy's (edges of the line, the STAT line, lines of the window); that is worked out by letting
 * the unit run from the top of the frame to where the file stands, with the registers of the file.
 */
#include "gb/host/state_pyboy.h"

#include "gb/cpu/run.h"
#include "gb/host/state_pyboy_read.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_SIZE = 6,
    CPU_SIZE = 27,
    DMA_SIZE = 12,
    LCD_SIZE = 0x2000 + 160 + 12 + 144 * 5 + 6 + 3 * 8 + 2,
    SOUND_SIZE = 3 * 8 + 1 + 3 * 8 + 4 * 8 + 3 + 8 + 1, /* without the buffer */
    TONE_SIZE = 60,
    SWEEP_SIZE = TONE_SIZE + 45,
    WAVE_SIZE = 74,
    NOISE_SIZE = 90,
    SCREEN_SIZE = 144 * 160 * 5 + 1,
    RAM_SIZE = 0x2000 + 0x60 + 0x4C + 0x7F + 1,
    TIMER_SIZE = 25,
    CLOCK_SIZE = 33,
    SERIAL_SIZE = 36,
    SGB_SIZE = 11 + 0x2000 + 0x800 + 0x80,
    FIXED_SIZE = HEADER_SIZE + CPU_SIZE + DMA_SIZE + LCD_SIZE + SOUND_SIZE + SWEEP_SIZE +
                 TONE_SIZE + WAVE_SIZE + NOISE_SIZE + SCREEN_SIZE + RAM_SIZE + TIMER_SIZE +
                 DM_PYBOY_CART_SIZE + DM_PYBOY_JOYPAD_SIZE + SERIAL_SIZE + SGB_SIZE,
    /* Sound samples in a frame, from which follows the length of the buffer. */
    SAMPLES_AT = HEADER_SIZE + CPU_SIZE + DMA_SIZE + LCD_SIZE + 8
};
#define SAMPLES_MOST 0x10000u /* a frame of 3.9 MHz sound */

/* ---- Reading; the size was checked before ---- */

uint8_t dm_pyboy_get8(dm_pyboy_reader *r)
{
    return *r->at++;
}

uint16_t dm_pyboy_get16(dm_pyboy_reader *r)
{
    uint16_t low = dm_pyboy_get8(r);
    return (uint16_t)(low | dm_pyboy_get8(r) << 8);
}

uint64_t dm_pyboy_get64(dm_pyboy_reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 64; i += 8)
        value |= (uint64_t)dm_pyboy_get8(r) << i;
    return value;
}

void dm_pyboy_get_bytes(dm_pyboy_reader *r, uint8_t *out, size_t size)
{
    memcpy(out, r->at, size);
    r->at += size;
}

void dm_pyboy_skip(dm_pyboy_reader *r, size_t size)
{
    r->at += size;
}

uint32_t dm_pyboy_distance(uint64_t cycles, uint32_t most)
{
    return cycles < most ? (uint32_t)cycles : most;
}

/* ---- The parts ---- */

void dm_pyboy_read_registers(dm_gb_cpu *cpu, dm_pyboy_reader *r)
{
    cpu->a = dm_pyboy_get8(r);
    cpu->f = dm_pyboy_get8(r) & 0xF0;
    cpu->b = dm_pyboy_get8(r);
    cpu->c = dm_pyboy_get8(r);
    cpu->d = dm_pyboy_get8(r);
    cpu->e = dm_pyboy_get8(r);
    uint16_t hl = dm_pyboy_get16(r);
    cpu->h = (uint8_t)(hl >> 8);
    cpu->l = (uint8_t)hl;
    cpu->sp = dm_pyboy_get16(r);
    cpu->pc = dm_pyboy_get16(r);
    cpu->ime = dm_pyboy_get8(r) != 0;
}

void dm_pyboy_read_halt(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_cpu *cpu = &in->m->cpu;
    if (dm_pyboy_get8(r) != 0) {
        /* PC stays at the HALT there. */
        cpu->mode = DM_GB_HALTED;
        cpu->pc++;
        cpu->halted_at = in->m->clock - 4u;
    }
    dm_pyboy_skip(r, 1); /* STOP is never in effect */
    in->ram[DM_GB_IE] = dm_pyboy_get8(r);
}

static void read_cpu(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_machine *m = in->m;
    dm_gb_cpu *cpu = &m->cpu;
    dm_pyboy_read_registers(cpu, r);
    cpu->ei_delay = dm_pyboy_get8(r) != 0 && !cpu->ime;
    dm_pyboy_read_halt(in, r);
    dm_pyboy_skip(r, 1);
    m->int_flags = dm_pyboy_get8(r) & 0x1F;
    in->cycles = dm_pyboy_get64(r);
    m->cycles_low = (uint32_t)in->cycles;
    m->cycles_high = (uint32_t)(in->cycles >> 32);
    m->counted_at = m->clock;
}

static void read_dma(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_dma *dma = &in->m->dma;
    bool active = dm_pyboy_get8(r) != 0;
    dm_pyboy_skip(r, 1);
    dma->reg = dm_pyboy_get8(r);
    dma->source = (uint16_t)(dma->reg << 8);
    dm_pyboy_skip(r, 1);
    /* Its count begins one M-cycle after ours. */
    uint64_t elapsed = in->cycles - dm_pyboy_get64(r) + 4u;
    if (!active || elapsed >= DM_GB_DMA_CYCLES)
        return;
    dma->active = 1;
    dma->start = in->m->clock - (uint32_t)elapsed;
    dma->next = (uint8_t)dm_gb_dma_done(in->m, in->m->clock);
}

uint8_t dm_pyboy_read_picture_registers(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_ppu *ppu = &in->m->ppu;
    dm_pyboy_get_bytes(r, in->ram + DM_GB_VRAM, 0x2000);
    dm_pyboy_get_bytes(r, in->ram + DM_GB_OAM, 160);
    ppu->lcdc = dm_pyboy_get8(r);
    ppu->bgp = dm_pyboy_get8(r);
    ppu->obp0 = dm_pyboy_get8(r);
    ppu->obp1 = dm_pyboy_get8(r);
    uint8_t stat = dm_pyboy_get8(r);
    ppu->stat = stat & 0x78;
    ppu->lyc_bit = (stat & 4) != 0;
    in->ly = dm_pyboy_get8(r);
    ppu->lyc = dm_pyboy_get8(r);
    ppu->scy = dm_pyboy_get8(r);
    ppu->scx = dm_pyboy_get8(r);
    ppu->wy = dm_pyboy_get8(r);
    ppu->wx = dm_pyboy_get8(r);
    return stat & 3;
}

static void read_lcd(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_pyboy_read_picture_registers(in, r);
    dm_pyboy_skip(r, 1 + 144 * 5 + 4); /* scroll registers by line, flags of the colour model */
    in->first_frame = dm_pyboy_get8(r) != 0;
    dm_pyboy_skip(r, 1 + 8);
    in->frame_cycles =
        dm_pyboy_distance(dm_pyboy_get64(r), DM_GB_FRAME_CYCLES - 1u) & ~3u; /* as accesses are */
    dm_pyboy_skip(r, 8 + 2);
}

/* NRx1 to NRx4 of a square channel, at `reg`; gives the channel's frequency. */
static uint16_t read_tone(dm_gb_apu *apu, dm_pyboy_reader *r, uint32_t channel)
{
    uint8_t *reg = apu->regs + 5u * channel;
    uint8_t bit = (uint8_t)(1u << channel);
    uint8_t duty = dm_pyboy_get8(r);
    reg[1] = (uint8_t)(duty << 6 | (dm_pyboy_get8(r) & 0x3F));
    uint8_t volume = dm_pyboy_get8(r), direction = dm_pyboy_get8(r);
    reg[2] = (uint8_t)(volume << 4 | (direction & 1) << 3 | (dm_pyboy_get8(r) & 7));
    uint16_t frequency = dm_pyboy_get16(r) & 0x7FF;
    bool length_on = dm_pyboy_get8(r) != 0;
    reg[3] = (uint8_t)frequency;
    reg[4] = (uint8_t)((length_on ? 0x40 : 0) | frequency >> 8);
    apu->length_on |= length_on ? bit : 0;
    apu->active |= dm_pyboy_get8(r) != 0 ? bit : 0;
    apu->length[channel] = (uint16_t)dm_pyboy_distance(dm_pyboy_get64(r), 64);
    dm_pyboy_skip(r, 5 * 8 + 3);
    return frequency;
}

static void read_sweep(dm_gb_apu *apu, dm_pyboy_reader *r)
{
    read_tone(apu, r, 0);
    uint8_t pace = dm_pyboy_get8(r) & 7, down = dm_pyboy_get8(r) & 1, shift = dm_pyboy_get8(r) & 7;
    apu->regs[DM_GB_NR10] = (uint8_t)(pace << 4 | down << 3 | shift);
    apu->sweep_count = (uint8_t)(7u - dm_pyboy_distance(dm_pyboy_get64(r), 7));
    dm_pyboy_skip(r, 3 * 8 + 1);
    bool on = dm_pyboy_get8(r) != 0;
    uint16_t shadow = (uint16_t)(dm_pyboy_get64(r) & 0x7FF);
    if (on && shift != 0) {
        apu->sweep_shadow = shadow;
        apu->sweep_addend = (uint16_t)(shadow >> shift ^ (down ? 0x7FF : 0));
    }
}

static void read_wave(dm_gb_apu *apu, dm_pyboy_reader *r, uint32_t now)
{
    dm_pyboy_get_bytes(r, apu->regs + DM_GB_WAVE, 16);
    apu->regs[DM_GB_NR30] = (uint8_t)(dm_pyboy_get8(r) << 7);
    apu->regs[DM_GB_NR31] = dm_pyboy_get8(r);
    apu->regs[DM_GB_NR32] = (uint8_t)((dm_pyboy_get8(r) & 3) << 5);
    uint16_t frequency = dm_pyboy_get16(r) & 0x7FF;
    bool length_on = dm_pyboy_get8(r) != 0;
    apu->regs[DM_GB_NR33] = (uint8_t)frequency;
    apu->regs[DM_GB_NR34] = (uint8_t)((length_on ? 0x40 : 0) | frequency >> 8);
    apu->length_on |= length_on ? 4 : 0;
    apu->active |= dm_pyboy_get8(r) != 0 ? 4 : 0;
    apu->length[2] = (uint16_t)dm_pyboy_distance(dm_pyboy_get64(r), 256);
    uint32_t period = dm_gb_apu_wave_period(apu);
    uint32_t wait = dm_pyboy_distance(dm_pyboy_get64(r), period);
    dm_pyboy_skip(r, 8);
    uint8_t position = (uint8_t)(dm_pyboy_get64(r) & 31);
    if ((apu->active & 4) != 0) {
        apu->wave_next = now + wait;
        apu->wave_read = apu->wave_next - period;
        apu->wave_position = position;
        apu->wave_started = 1;
    }
    dm_pyboy_skip(r, 1 + 8 + 2 + 8);
}

static void read_noise(dm_gb_apu *apu, dm_pyboy_reader *r)
{
    apu->regs[DM_GB_NR41] = dm_pyboy_get8(r) & 0x3F;
    uint8_t volume = dm_pyboy_get8(r), direction = dm_pyboy_get8(r);
    apu->regs[DM_GB_NR42] = (uint8_t)(volume << 4 | (direction & 1) << 3 | (dm_pyboy_get8(r) & 7));
    uint8_t shift = dm_pyboy_get8(r), narrow = dm_pyboy_get8(r);
    apu->regs[DM_GB_NR43] = (uint8_t)(shift << 4 | (narrow & 1) << 3 | (dm_pyboy_get8(r) & 7));
    bool length_on = dm_pyboy_get8(r) != 0;
    apu->regs[DM_GB_NR44] = length_on ? 0x40 : 0;
    apu->length_on |= length_on ? 8 : 0;
    apu->active |= dm_pyboy_get8(r) != 0 ? 8 : 0;
    apu->length[3] = (uint16_t)dm_pyboy_distance(dm_pyboy_get64(r), 64);
    dm_pyboy_skip(r, 9 * 8 + 1);
}

static void read_sound(dm_pyboy_import *in, dm_pyboy_reader *r, uint32_t buffer)
{
    dm_gb_apu *apu = &in->m->apu;
    memset(apu, 0, sizeof *apu);
    apu->synced = in->m->clock;
    dm_pyboy_skip(r, 3 * 8 + buffer + 1 + 5 * 8);
    uint64_t skipping = dm_pyboy_get64(r);
    /* PyBoy codes "the next edge is skipped" as 2 and 5, and "the last edge was skipped" as 1. */
    apu->skip = skipping == 2 || skipping == 5 ? DM_GB_APU_SKIP_NEXT
                : skipping == 1                ? DM_GB_APU_SKIPPED
                                               : DM_GB_APU_STEPS;
    apu->step = (uint8_t)(dm_pyboy_get64(r) & 7);
    dm_pyboy_skip(r, 1);
    apu->power = dm_pyboy_get8(r) != 0;
    dm_pyboy_skip(r, 1);
    for (int i = 0; i < 8; i++)
        apu->regs[DM_GB_NR51] |= dm_pyboy_get8(r);
    apu->regs[DM_GB_NR50] = dm_pyboy_get8(r);
    read_sweep(apu, r);
    read_tone(apu, r, 1);
    read_wave(apu, r, in->m->clock);
    read_noise(apu, r);
}

/* The picture is not taken, nor what PyBoy keeps at FEA0..FEFF, where a DMG has nothing. */
static void read_ram(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_pyboy_skip(r, SCREEN_SIZE - 1);
    in->window_on = dm_pyboy_get8(r) != 0;
    dm_pyboy_get_bytes(r, in->ram + DM_GB_WRAM, 0x2000);
    dm_pyboy_skip(r, 0x60);
    uint8_t p1 = dm_pyboy_get8(r);
    /* Selecting neither row is kept as CF, which selecting both also gives, rarely. */
    in->m->joypad.select = p1 == 0xCF ? 0x30 : p1 & 0x30;
    dm_pyboy_skip(r, 0x4C - 1);
    dm_pyboy_get_bytes(r, in->ram + DM_GB_HRAM, 0x7F);
    dm_pyboy_skip(r, 1);
}

static void read_timer(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_timer *timer = &in->m->timer;
    uint32_t now = in->m->clock;
    enum { COUNTING, OVERFLOWED, RELOADED };
    dm_pyboy_skip(r, 1);
    timer->tima = dm_pyboy_get8(r);
    timer->div_base = now - dm_pyboy_get16(r);
    timer->synced = now;
    uint32_t wait = dm_pyboy_distance(dm_pyboy_get16(r), 4);
    timer->tma = dm_pyboy_get8(r);
    timer->tac = dm_pyboy_get8(r) & 7;
    timer->reload_at = now + 1u; /* no access happens then */
    uint8_t reload = dm_pyboy_get8(r);
    if (reload == OVERFLOWED) {
        timer->overflowed = 1;
        timer->tima = 0;
        timer->reload_at = now + wait;
    } else if (reload == RELOADED) {
        timer->reload_at = now + wait - 4u;
    }
    dm_pyboy_skip(r, 2 * 8);
}

uint32_t dm_pyboy_ram_banks(const dm_gb_rom *rom)
{
    switch (rom->ram_code) {
    case 3:
        return 4;
    case 4:
        return 16;
    case 5:
        return 8;
    default:
        return 1;
    }
}

static void read_clock(dm_gb_cart *cart, dm_pyboy_reader *r, uint32_t now)
{
    dm_pyboy_skip(r, 8 + 2);
    uint8_t *rtc = cart->rtc;
    rtc[DM_GB_RTC_SECONDS] = dm_pyboy_get8(r) & 0x3F;
    rtc[DM_GB_RTC_MINUTES] = dm_pyboy_get8(r) & 0x3F;
    rtc[DM_GB_RTC_HOURS] = dm_pyboy_get8(r) & 0x1F;
    rtc[DM_GB_RTC_DAYS_LOW] = dm_pyboy_get8(r);
    rtc[DM_GB_RTC_DAYS_HIGH] = dm_pyboy_get8(r) & 1;
    rtc[DM_GB_RTC_DAYS_HIGH] |= dm_pyboy_get8(r) != 0 ? DM_GB_RTC_HALT : 0;
    rtc[DM_GB_RTC_DAYS_HIGH] |= dm_pyboy_get8(r) != 0 ? DM_GB_RTC_CARRY : 0;
    cart->rtc_fraction = (uint32_t)(dm_pyboy_get64(r) & ((1u << DM_GB_RTC_SECOND_SHIFT) - 1u));
    cart->rtc_synced = now;
    /* The latched copy is not in the file. */
    memcpy(cart->rtc_latched, rtc, sizeof cart->rtc_latched);
    dm_pyboy_skip(r, 8);
}

void dm_pyboy_read_cart(dm_pyboy_import *in, dm_pyboy_reader *r, bool old)
{
    const dm_gb_rom *rom = &in->gb->rom;
    dm_gb_cart *cart = &in->m->cart;
    uint32_t now = in->m->clock;
    uint8_t rom_bank = dm_pyboy_get8(r), ram_bank = dm_pyboy_get8(r);
    bool ram_enabled = dm_pyboy_get8(r) != 0;
    uint8_t mode = dm_pyboy_get8(r);
    memcpy(in->ram + DM_GB_CART_RAM, r->at, rom->ram_size);
    for (uint32_t i = 0; i < rom->ram_size; i++)
        in->ram[DM_GB_CART_RAM + i] |= dm_gb_cart_open_bits(cart);
    dm_pyboy_skip(r, (size_t)dm_pyboy_ram_banks(rom) * 0x2000);
    if (rom->has_rtc && old)
        dm_pyboy_read_old_clock(cart, r, now);
    else if (rom->has_rtc)
        read_clock(cart, r, now);
    bool mbc1 = rom->mapper == DM_GB_MAPPER_MBC1 || rom->mapper == DM_GB_MAPPER_MBC1_MULTI;
    if (mbc1) {
        rom_bank = dm_pyboy_get8(r);
        ram_bank = dm_pyboy_get8(r);
    } else if (!old && rom->mapper == DM_GB_MAPPER_MBC5 && dm_pyboy_get8(r) != 0) {
        ram_bank |= dm_pyboy_get8(r) != 0 ? 8 : 0;
    }
    /* As a program would have set them. */
    dm_gb_cart_write(cart, now, 0x0000, ram_enabled ? 0x0A : 0x00);
    dm_gb_cart_write(cart, now, 0x2100, rom_bank);
    if (rom->mapper != DM_GB_MAPPER_MBC2)
        dm_gb_cart_write(cart, now, 0x4000, ram_bank);
    if (mbc1)
        dm_gb_cart_write(cart, now, 0x6000, mode);
}

static void read_joypad_and_serial(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_serial *serial = &in->m->serial;
    uint8_t directions = dm_pyboy_get8(r), buttons = dm_pyboy_get8(r); /* a pressed key is 0 */
    in->m->joypad.keys = (uint8_t)((~directions & 0x0F) | (~buttons & 0x0F) << 4);
    serial->sb = dm_pyboy_get8(r);
    serial->sc = dm_pyboy_get8(r) & 0x81;
    bool transferring = dm_pyboy_get8(r) != 0;
    bool internal = dm_pyboy_get8(r) != 0;
    dm_pyboy_skip(r, 2 * 8);
    uint64_t clock = dm_pyboy_get64(r);
    uint64_t left = dm_pyboy_get64(r) - clock;
    if (transferring && internal) {
        /* Its transfers are shorter; this one ends when it would have there. */
        uint32_t wait = dm_pyboy_distance(left, 8u * DM_GB_SERIAL_BIT);
        serial->bits_left = (uint8_t)(1u + (wait > 0 ? wait - 1u : 0u) / DM_GB_SERIAL_BIT);
        serial->next_bit = in->m->clock + wait - (serial->bits_left - 1u) * DM_GB_SERIAL_BIT;
    }
}

/* ---- Together ---- */

/* Bring the picture unit to where the file's stands. PyBoy's line begins 8 dots later than ours,
 * and in the first frame after switching on its lines come 4 cycles earlier, VBlank 8. */
static void place_picture(dm_pyboy_import *in)
{
    dm_gb_machine *m = in->m;
    dm_gb_ppu *ppu = &m->ppu;
    uint8_t requests = m->int_flags;
    ppu->mode_int = DM_GB_NONE;
    if (!dm_gb_lcd_on(m)) {
        bool lyc_bit = ppu->lyc_bit != 0;
        dm_gb_lcd_stop(m);
        ppu->lyc_line = ppu->lyc_bit = lyc_bit;
        return;
    }
    dm_gb_context context = in->gb->context;
    context.m = m;
    context.ram = in->ram;
    context.frames = NULL;
    context.draw = DM_GB_DRAW_NEVER;
    uint32_t into_frame = in->frame_cycles + 8u;
    if (in->first_frame) {
        into_frame += in->ly >= DM_GB_VBLANK_LINE ? 8u : 4u;
        dm_gb_lcd_start(&context, m->clock - into_frame + 8u);
    } else {
        ppu->line_start = m->clock - into_frame;
        ppu->next_dot = 3;
        ppu->mode_int = 1;
        dm_gb_start_frame(&context);
        dm_gb_stat_update(m);
        ppu->blank = 0;
    }
    dm_gb_ppu_sync(&context, m->clock);
    dm_gb_mode0_sync(&context, m->clock);
    if (ppu->line < DM_GB_VBLANK_LINE)
        ppu->window_on = in->window_on;
    ppu->frames = 0;
    m->int_flags = requests;
}

bool dm_gb_is_pyboy_state(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    if (size < FIXED_SIZE / 2 || at[0] < 2 || at[0] >= ' ')
        return false;
    if (at[0] >= DM_PYBOY_OLDEST && at[0] <= DM_PYBOY_OLD_NEWEST)
        return at[1] <= 1 && (at[0] == DM_PYBOY_OLDEST || at[4] <= 1);
    return at[1] <= 1 && at[5] <= 1; /* the boot ROM is on, it is a Game Boy Color */
}

static dm_status check(const dm_gb *gb, const uint8_t *bytes, size_t size, dm_error *err)
{
    const dm_gb_rom *rom = &gb->rom;
    if (size > 0 && bytes[0] >= DM_PYBOY_OLDEST && bytes[0] <= DM_PYBOY_OLD_NEWEST)
        return dm_pyboy_check_old(gb, bytes, size, err);
    if (size < 1 || bytes[0] != DM_GB_PYBOY_VERSION)
        return dm_fail(err, DM_EINVAL,
                       "PyBoy state: version %u; versions %u to %u (PyBoy 1.4.1 to 2.4.1) and %u "
                       "(PyBoy 2.8.1) can be read",
                       size < 1 ? 0u : (unsigned)bytes[0], DM_PYBOY_OLDEST, DM_PYBOY_OLD_NEWEST,
                       DM_GB_PYBOY_VERSION);
    if (size < FIXED_SIZE)
        return dm_fail(err, DM_EINVAL, "PyBoy state: truncated: %zu bytes of at least %d", size,
                       FIXED_SIZE);
    if (bytes[5] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: of a Game Boy Color, this machine is a DMG");
    if (bytes[1] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: saved while the boot ROM was running");
    dm_pyboy_reader r = {bytes + SAMPLES_AT};
    uint64_t samples = dm_pyboy_get64(&r);
    if (samples > SAMPLES_MOST)
        return dm_fail(err, DM_EINVAL, "PyBoy state: damaged: %llu sound samples in a frame",
                       (unsigned long long)samples);
    uint32_t ram = dm_pyboy_ram_banks(rom) * 0x2000u;
    size_t extra = rom->has_rtc ? CLOCK_SIZE : 0;
    if (rom->mapper == DM_GB_MAPPER_MBC1 || rom->mapper == DM_GB_MAPPER_MBC1_MULTI)
        extra += 2;
    else if (rom->mapper == DM_GB_MAPPER_MBC5)
        extra += rom->has_rumble ? 2 : 1;
    size_t wanted = FIXED_SIZE + 2u * ((size_t)samples + 1u) + ram + extra;
    if (size != wanted || rom->ram_size > ram)
        return dm_fail(err, DM_EINVAL,
                       "PyBoy state: %zu bytes, but %zu for \"%s\" (%s, %u KiB of RAM): of another "
                       "ROM, or damaged",
                       size, wanted, rom->title, rom->type_name, rom->ram_size / 1024u);
    return DM_OK;
}

dm_status dm_gb_load_pyboy_state(dm_gb *gb, const void *bytes, size_t size, dm_error *err)
{
    dm_status status = check(gb, bytes, size, err);
    if (status != DM_OK)
        return status;
    uint8_t *ram = calloc(1, gb->ram_size);
    if (ram == NULL)
        return dm_fail(err, DM_ENOMEM, "PyBoy state: no memory for %u bytes", gb->ram_size);
    dm_gb_machine m;
    dm_gb_start_machine(&m, &gb->rom, DM_GB_START_ZERO);
    m.profile = gb->machine.profile;
    m.target = m.clock;
    m.next_event = m.clock;
    dm_pyboy_import in = {.gb = gb, .m = &m, .ram = ram};
    unsigned version = *(const uint8_t *)bytes;
    dm_pyboy_reader r = {bytes};
    if (version <= DM_PYBOY_OLD_NEWEST) {
        dm_pyboy_read_old(&in, &r, version);
    } else {
        r.at += SAMPLES_AT;
        uint32_t buffer = 2u * ((uint32_t)dm_pyboy_get64(&r) + 1u);
        r.at = (const uint8_t *)bytes + HEADER_SIZE;
        read_cpu(&in, &r);
        read_dma(&in, &r);
        read_lcd(&in, &r);
        read_sound(&in, &r, buffer);
        read_ram(&in, &r);
        read_timer(&in, &r);
        dm_pyboy_read_cart(&in, &r, false);
        read_joypad_and_serial(&in, &r);
    }
    place_picture(&in);
    gb->machine = m;
    memcpy(gb->ram, ram, gb->ram_size);
    free(ram);
    dm_gb_map(&gb->context);
    return DM_OK;
}
